# SPDX-License-Identifier: MIT
"""Views against views: every file that a mount makes of an array, read by the program that it is for, says the same as the
software that wrote the store. The stores are made up by seeds (writers.py); those in kept.json once differed.

NDLFS_DIFFERENTIAL_STORES is how many of each format, NDLFS_DIFFERENTIAL_SEED the first one, NDLFS_DIFFERENTIAL_FORMATS
names formats (all), and NDLFS_DIFFERENTIAL_DESCRIPTION is a file with the description of one store, to make it again.
Of what differs, the simplest store that still does is looked for; NDLFS_DIFFERENTIAL_KEEP is the folder that gets it.
tests/differential/run.sh makes others until a time is over."""
import json
import os
import shutil
import tempfile
import warnings

import harness
import numpy as np
import serve_test
import writers
from drawing import smallest
from views import Comparison

TOP = os.path.dirname(os.path.abspath(__file__))
STORES = int(os.environ.get("NDLFS_DIFFERENTIAL_STORES", "3"))
SEED = int(os.environ.get("NDLFS_DIFFERENTIAL_SEED", "1"))
FORMATS = os.environ.get("NDLFS_DIFFERENTIAL_FORMATS", ",".join(writers.MAKERS)).split(",")
DESCRIPTION = os.environ.get("NDLFS_DIFFERENTIAL_DESCRIPTION")


def kept():
    """What differed before, or the one that is asked for."""
    with open(DESCRIPTION or os.path.join(TOP, "kept.json"), encoding="utf-8") as file:
        found = json.load(file)
    return [found] if DESCRIPTION else [one for one in found if one["format"] in writers.MAKERS]


class DifferentialTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.shrunk = set()

    def compare(self, stores):
        """Compares stores that are made, and looks for a smaller one of each format that differs."""
        mounted = self.mount(self.source)
        server = self.enterContext(serve_test.Server(self.source))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for made in stores:
                found = Comparison(made.name, made.arrays, mounted, server).differences
                if found and made.kind not in self.shrunk:
                    self.shrunk.add(made.kind)
                    self.shrink(made, found, mounted, server)
                for path, view, what in found:
                    with self.subTest(store=made.name, array=path, view=view):
                        self.fail(what)

    def shrink(self, made, differences, mounted, server):
        """Prints the simplest description whose store differs in a view that differed, and keeps that store."""
        views = {view.rpartition("/")[2] for _, view, _ in differences}
        count = 0

        def make(said):
            nonlocal count
            count += 1
            name = f"smaller-{count}{writers.MAKERS[made.kind][0]}"
            try:
                candidate = writers.Made(made.kind, made.seed, self.source, json.loads(json.dumps(said)), name)
                found = Comparison(name, candidate.arrays, mounted, server).differences
            except Exception:  # The writer cannot make it.
                return False, None
            return any(view.rpartition("/")[2] in views for _, view, _ in found), candidate.draw

        try:
            said = smallest(made.draw.said, make)
        except AssertionError as error:
            print(f"{made.name}: {error}")
            return
        folder = os.environ.get("NDLFS_DIFFERENTIAL_KEEP") or tempfile.mkdtemp(prefix="ndlfs-differs-")
        os.makedirs(folder, exist_ok=True)
        smaller = writers.Made(made.kind, made.seed, self.source, json.loads(json.dumps(said)),
                               f"smallest-{made.seed}{writers.MAKERS[made.kind][0]}")
        description = json.dumps({"format": made.kind, "seed": made.seed, "said": smaller.draw.said}, ensure_ascii=False)
        harness.write(os.path.join(folder, f"{made.kind}-{made.seed}.json"), description + "\n")
        for name in os.listdir(self.source):
            if name.split(".")[0] == smaller.name.split(".")[0]:  # with the data beside a header
                copy = shutil.copytree if os.path.isdir(self.path(name)) else shutil.copy
                copy(self.path(name), os.path.join(folder, name), **({"dirs_exist_ok": True} if copy is shutil.copytree else {}))
        print(f"{made.name}, smaller after {count} tries, in {folder}: {description}")
        for path, view, what in Comparison(smaller.name, smaller.arrays, mounted, server).differences:
            print(f"  {path}: {view}: {what}")

    def test_every_view_says_the_same(self):
        if not DESCRIPTION:
            self.compare([writers.Made(kind, seed, self.source) for kind in FORMATS if kind in writers.MAKERS
                          for seed in range(SEED, SEED + STORES)])

    def test_what_once_differed(self):
        self.compare([writers.Made(one["format"], one["seed"], self.source, one["said"], f"kept-{number}{writers.MAKERS[one['format']][0]}")
                      for number, one in enumerate(kept())])


if __name__ == "__main__":
    harness.main()
