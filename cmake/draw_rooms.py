#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the rooms and what they use: cmake/draw_rooms.py BUILD_DIRECTORY

Reads rooms.json, which CMake writes into the build directory, and writes rooms.dot and, by `dot`
of Graphviz, rooms.svg next to this script. An arrow that follows from others is left out.
"""

import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = ["model", "backends", "cache", "fs"]


def reached(rooms, start, without):
    """All rooms that `start` uses by way of others, without the arrow to `without`."""
    found, todo = set(), [r for r in rooms[start] if r != without]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += rooms[name]
    return found


def draw(described):
    rooms = {name: sorted(set(d["public"] + d["private"]) & set(described))
             for name, d in described.items()}
    lines = ["digraph rooms {", "  rankdir=BT;", "  ranksep=0.4;",
             '  node [shape=box, fontname="sans-serif", fontsize=10];']
    for layer in LAYERS:
        lines += [f"  subgraph cluster_{layer} {{", f'    label="{layer}";']
        for name, d in sorted(described.items()):
            if d["folder"].split("/")[0] == layer:
                lines.append(f'    {name} [label="{d["folder"]}"];')
        lines.append("  }")
    for name in sorted(rooms):
        for other in rooms[name]:
            if other not in reached(rooms, name, other):
                lines.append(f"  {name} -> {other};")
    return "\n".join(lines) + "\n}\n"


def main():
    with open(os.path.join(sys.argv[1], "rooms.json"), encoding="utf-8") as file:
        text = draw(json.load(file))
    dot = os.path.join(HERE, "rooms.dot")
    with open(dot, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["dot", "-Tsvg", "-o", os.path.join(HERE, "rooms.svg"), dot], check=True)


if __name__ == "__main__":
    main()
