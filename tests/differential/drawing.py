# SPDX-License-Identifier: MIT
"""Descriptions of made-up stores, and smaller descriptions of what differs.

A maker asks a Draw for each thing that it decides, by name. What the description says of it counts; all else is drawn by
the seed and the name, and then stands in the description. A description is JSON. It makes the same store again, and one
decision can be changed without changing the others."""
import copy
import zlib

import numpy as np


class Draw:
    def __init__(self, seed, said=None, path="", simpler=None):
        self.seed, self.path = seed, path
        self.said = {} if said is None else said
        # What is simpler than a decision: (keys that lead to it, values, the simplest one first).
        self.simpler = {} if simpler is None else simpler

    def random(self, name):
        """Numbers that the description does not have."""
        return np.random.Generator(np.random.PCG64([zlib.crc32(f"{self.path}/{name}".encode()), self.seed]))

    def _decide(self, name, draw, simpler, fits):
        """What is said but does not fit belongs to another decision of that name."""
        if name not in self.said or not fits(self.said[name]):
            self.said[name] = draw(self.random(name))
        self.simpler[(*self.path.split("/")[1:], name)] = simpler(self.said[name])
        return self.said[name]

    def pick(self, name, *choices):
        """One of the choices; the first one is the simplest."""
        return self._decide(name, lambda r: choices[int(r.integers(len(choices)))],
                            lambda said: list(choices[:choices.index(said)]), lambda said: said in choices)

    def chance(self, name, probability):
        return self._decide(name, lambda r: bool(r.random() < probability), lambda said: [False] if said else [],
                            lambda said: isinstance(said, bool))

    def whole(self, name, least, most):
        """A whole number; small ones are simpler."""
        return self._decide(name, lambda r: int(r.integers(least, most + 1)),
                            lambda said: sorted({n for n in (least, (least + said) // 2, said - 1) if least <= n < said}),
                            lambda said: isinstance(said, int) and least <= said <= most)

    def part(self, name):
        return Draw(self.seed, self.said.setdefault(name, {}), f"{self.path}/{name}", self.simpler)

    def parts(self, name, least, most):
        """Parts of one kind, by name; a part may be left out."""
        if name not in self.said:
            count = int(self.random(name).integers(least, most + 1))
            self.said[name] = {f"{name}{number}": {} for number in range(count)}
        keys = (*self.path.split("/")[1:], name)
        found = self.said[name]
        self.simpler[keys] = [{key: part for key, part in found.items() if key != left_out} for left_out in found
                              if len(found) > least]
        return {key: Draw(self.seed, part, f"{self.path}/{name}/{key}", self.simpler) for key, part in found.items()}


def changed(said, keys, value):
    """The description with another decision."""
    found = copy.deepcopy(said)
    inside = found
    for key in keys[:-1]:
        inside = inside.get(key, {})
    inside[keys[-1]] = copy.deepcopy(value)
    return found


def asked(said, simpler):
    """What of a description a maker has asked for; the rest of it means nothing."""
    found = {}
    for keys in simpler:
        inside, given = found, said
        for key in keys[:-1]:
            inside, given = inside.setdefault(key, {}), given[key]
        if not isinstance(given[keys[-1]], dict):
            inside[keys[-1]] = given[keys[-1]]
        else:
            part = inside.setdefault(keys[-1], {})
            for key in given[keys[-1]]:
                part.setdefault(key, {})
    return found


def smallest(said, make, most=300):
    """The simplest description that still differs. make(description) says whether it does, and what has been decided:
    (True, Draw)."""
    differs, draw = make(said)
    assert differs, "it differs no more"
    said, simpler, tries, tried = asked(draw.said, draw.simpler), draw.simpler, 0, set()
    while tries < most:
        # Whole parts first.
        for keys, values in sorted(simpler.items(), key=lambda item: (not item[1] or not isinstance(item[1][0], dict), len(item[0]))):
            smaller = None
            for value in values:
                candidate = changed(said, keys, value)
                if repr(candidate) in tried or tries >= most:
                    continue
                tried.add(repr(candidate))
                tries += 1
                differs, draw = make(candidate)
                if differs:
                    smaller = asked(draw.said, draw.simpler), draw.simpler
                    break
            if smaller:
                said, simpler = smaller
                break
        else:
            return said
    return said
