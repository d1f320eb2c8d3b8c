# SPDX-License-Identifier: MIT
"""Counts the ways of conditions that tests went, by room: coverage.py COVERAGE.JSON MISSED.TXT, of packaging/coverage.sh."""
import collections
import json
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def ways_of(branches):
    """{(line, column, which): how often}. A template or an inline function has the same condition several times."""
    found = collections.Counter()
    for line, column, _, _, is_true, is_false, *_ in branches:
        found[line, column, "true"] += is_true
        found[line, column, "false"] += is_false
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        files = json.load(file)["data"][0]["files"]
    rooms = collections.defaultdict(lambda: [0, 0])
    with open(sys.argv[2], "w", encoding="utf-8") as missed:
        for entry in sorted(files, key=lambda entry: entry["filename"]):
            name = os.path.relpath(entry["filename"], TOP)
            room = rooms[os.path.dirname(name)]
            with open(entry["filename"], encoding="utf-8") as source:
                lines = source.read().splitlines()
            for (line, column, which), count in sorted(ways_of(entry["branches"]).items()):
                room[0] += count > 0
                room[1] += 1
                if not count:
                    missed.write(f"{name}:{line}:{column}: never {which}: {lines[line - 1].strip()}\n")
    for room, (gone, ways) in [*sorted(rooms.items()), ("all", map(sum, zip(*rooms.values())))]:
        print(f"{gone:6} of {ways:6}  {100 * gone / max(ways, 1):5.1f} %  {room}")


if __name__ == "__main__":
    main()
