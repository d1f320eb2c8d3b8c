# SPDX-License-Identifier: MIT
"""Holds every #include of the sources against what CMake links.

A source may include the headers of its own room, of the rooms that its room is
linked with, and of those that come with these as PUBLIC. A header may include
no room that is linked PRIVATE, for others include the header. Every source
belongs to the room of its folder, and no room is linked with one above it.
"""

import json
import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAYERS = ["model", "backends", "cache", "fs"]
INCLUDE = re.compile(r'^#include "((?:%s)/[^"]+)"' % "|".join(LAYERS), re.MULTILINE)


class Room:
    def __init__(self, name, described):
        self.name = name
        self.folder = described["folder"]
        self.linked = {"PUBLIC": described["public"], "PRIVATE": described["private"]}

    @property
    def layer(self):
        return LAYERS.index(self.folder.split("/")[0])


def read_rooms():
    """The rooms as CMake knows them, with the libraries that this build has."""
    with open(os.environ["NDLFS_ROOMS"], encoding="utf-8") as file:
        return {name: Room(name, described) for name, described in json.load(file).items()}


def sources():
    for layer in LAYERS:
        for folder, _, names in os.walk(os.path.join(TOP, layer)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    yield os.path.relpath(os.path.join(folder, name), TOP)


class RoomsTest(unittest.TestCase):
    maxDiff = None
    @classmethod
    def setUpClass(cls):
        cls.rooms = read_rooms()
        cls.folders = {room.folder: room for room in cls.rooms.values()}

    def room_of(self, path):
        folder = os.path.dirname(path)
        while folder and folder not in self.folders:
            folder = os.path.dirname(folder)
        return self.folders.get(folder)

    def with_public(self, names):
        found, todo = set(), list(names)
        while todo:
            name = todo.pop()
            if name in self.rooms and name not in found:
                found.add(name)
                todo += self.rooms[name].linked["PUBLIC"]
        return found

    def test_there_are_rooms(self):
        self.assertGreater(len(self.rooms), 20)

    def test_includes_point_downwards(self):
        wrong = []
        for path in sources():
            room = self.room_of(path)
            if not room:
                continue  # main.cc, which puts everything together
            kinds = ["PUBLIC"] if path.endswith(".h") else ["PUBLIC", "PRIVATE"]
            allowed = self.with_public(n for kind in kinds for n in room.linked[kind])
            with open(os.path.join(TOP, path), encoding="utf-8") as file:
                included = INCLUDE.findall(file.read())
            for header in included:
                # Made when ndlfs is built: headers, of schemas of FlatBuffers, and literals, of
                # the files that ndlfs_embed() names.
                made_of = header.replace("_generated.h", ".fbs")
                if re.search(r"\.\w+\.inc$", header):
                    made_of = header.removesuffix(".inc")
                if not os.path.exists(os.path.join(TOP, made_of)):
                    wrong.append(f"{path}: there is no {header}")
                    continue
                other = self.room_of(header)
                if other is not room and other.name not in allowed:
                    wrong.append(f"{path}: {header} is of the room {other.name}, "
                                 f"which {room.name} is not linked with"
                                 + (" as PUBLIC" if path.endswith(".h") else ""))
        self.assertEqual(wrong, [])

    def test_rooms_are_linked_downwards(self):
        def below(name, seen):
            for kind in ("PUBLIC", "PRIVATE"):
                for other in self.rooms[name].linked[kind]:
                    if other not in self.rooms:
                        continue
                    self.assertNotIn(other, seen, "rooms are linked in a circle")
                    self.assertLessEqual(self.rooms[other].layer, self.rooms[name].layer,
                                         f"{name} is linked with {other}")
                    below(other, seen + [other])
        for name in self.rooms:
            below(name, [name])

    def test_the_picture_shows_these_rooms(self):
        with open(os.path.join(TOP, "cmake", "rooms.dot"), encoding="utf-8") as file:
            drawn = set(re.findall(r'label="(\w+/[\w/]+|model|cache|backends)"\];', file.read()))
        missing = {room.folder for room in self.rooms.values()} - drawn
        self.assertEqual(missing, set(), "run cmake/draw_rooms.py")

    def test_formats_know_nothing_of_the_local_file_system(self):
        for name, room in self.rooms.items():
            if not room.folder.startswith("backends/") or name == "local_store":
                continue
            linked = self.with_public(room.linked["PUBLIC"] + room.linked["PRIVATE"])
            self.assertNotIn("local_store", linked, f"{name} is linked with it")

    def test_every_source_is_listed(self):
        listed = set()
        for folder, _, names in os.walk(TOP):
            if "CMakeLists.txt" in names and os.path.relpath(folder, TOP).split("/")[0] in LAYERS:
                with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
                    for word in re.findall(r"[\w/]+\.cc\b", file.read()):
                        listed.add(os.path.relpath(os.path.join(folder, word), TOP))
        found = {path for path in sources() if path.endswith(".cc")}
        self.assertEqual(found - listed, set())

    def test_every_table_is_included_by_a_source_of_its_folder(self):
        unused = []
        for layer in LAYERS:
            for folder, _, names in os.walk(os.path.join(TOP, layer)):
                texts = []
                for name in names:
                    if name.endswith((".h", ".cc")):
                        with open(os.path.join(folder, name), encoding="utf-8") as file:
                            texts.append(file.read())
                place = os.path.relpath(folder, TOP)
                unused += [f"{place}/{name}" for name in names if name.endswith(".inc")
                           and not any(f'#include "{place}/{name}"' in text for text in texts)]
        self.assertEqual(unused, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
