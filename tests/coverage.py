# SPDX-License-Identifier: MIT
"""Counts the ways of conditions that tests went, by room, of what packaging/coverage.sh has measured:

coverage.py UNIT.JSON MISSED.TXT [MOUNTED.JSON]

A column for the unit tests alone and, with MOUNTED.JSON, one with the tests that mount, too. MISSED.TXT gets each way that no
test goes, and why: the first line of coverage_reasons.txt that fits. What has no reason is counted.
"""
import collections
import fnmatch
import functools
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
NO_REASON = "none yet"


def reasons():
    """[(pattern of files, pattern of what is missed, reason)]"""
    found = []
    with open(os.path.join(HERE, "coverage_reasons.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                files, text, reason = (part.strip() for part in line.split(" | "))
                found.append((files, re.compile(text), reason))
    return found


def reason_of(name, text, rules):
    for files, pattern, reason in rules:
        if fnmatch.fnmatch(name, files) and pattern.search(text):
            return reason
    return NO_REASON


def is_constant(line, begin, end):
    """Whether the compiler decides: it counts neither way then."""
    return "if constexpr" in line or line[begin - 1:end - 1] in ("true", "false")


def ways_of(path):
    """{(file, line, column, which): how often}. A template or an inline function has the same condition several times."""
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["data"][0]["files"]
    found = collections.Counter()
    for entry in files:
        name = os.path.relpath(entry["filename"], TOP)
        lines = lines_of(name)
        for line, column, _, end, is_true, is_false, *_ in entry["branches"]:
            if not is_constant(lines[line - 1], column, end):
                found[name, line, column, "true"] += is_true
                found[name, line, column, "false"] += is_false
    return found


@functools.cache
def lines_of(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as source:
        return source.read().splitlines()


def print_table(columns):
    rooms = collections.defaultdict(lambda: [0] * len(columns))
    ways = collections.Counter()
    for way in columns[-1]:
        for room in (os.path.dirname(way[0]), "all"):
            ways[room] += 1
            for i, column in enumerate(columns):
                rooms[room][i] += column[way] > 0
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        shares = "".join(f"  {gone:6} {100 * gone / ways[room]:5.1f} %" for gone in rooms[room])
        print(f"{ways[room]:6}{shares}  {room}")


def main():
    unit, missed, *mounted = sys.argv[1:]
    columns = [ways_of(path) for path in [unit, *mounted]]
    print("  ways" + "".join(f"{title:>16}" for title in ("unit tests", "and mounts")[:len(columns)]) + "  room")
    print_table(columns)
    rules, numbers = reasons(), collections.Counter()
    with open(missed, "w", encoding="utf-8") as file:
        for (name, line, column, which), count in sorted(columns[-1].items()):
            if count:
                continue
            text = f"never {which}: {lines_of(name)[line - 1].strip()}"
            reason = reason_of(name, text, rules)
            numbers[reason] += 1
            file.write(f"{name}:{line}:{column}: {text} [{reason}]\n")
    print("no test goes:")
    for reason, number in sorted(numbers.items(), key=lambda pair: (pair[0] == NO_REASON, -pair[1])):
        print(f"{number:6}  {reason}")


if __name__ == "__main__":
    main()
