# SPDX-License-Identifier: MIT
"""index.html of stores, groups, arrays and folders: links lead to what is there, text is text, and looking costs nothing."""
import html.parser
import json
import os
import re
import subprocess
import sys
import urllib.parse

import numpy as np
import zarr2 as zarr

import harness

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(html.parser.HTMLParser):
    """A page that is well-formed, with its links, its text and its blocks of code."""

    def __init__(self, content):
        super().__init__(convert_charrefs=True)
        self.open, self.links, self.text, self.blocks, self.scripts = [], [], "", [], []
        self.feed(content.decode("utf-8"))
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        assert tag not in ("iframe", "object", "base", "form"), tag
        # The search alone is a script: the same on every page.
        assert tag != "script" or not attributes, attributes
        # Readers for the blind say which heading a cell belongs to.
        assert tag != "th" or dict(attributes).get("scope") in ("row", "col"), attributes
        for name, value in attributes:
            assert not name.startswith("on"), name
            if name in ("href", "src"):
                self.links.append(value)
        if tag == "pre":
            self.blocks.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (self.open, tag)
        self.open.pop()

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts.append(data)
        elif "style" not in self.open:
            self.text += data
        if "pre" in self.open:
            self.blocks[-1] += data

    def local_links(self):
        return [link for link in self.links if "://" not in link]


class PagesTest(harness.SourceTestCase):
    HOSTILE = '<b>"x"&y<i> %41?#'

    def setUp(self):
        super().setUp()
        group = zarr.open_group(self.path("runs", "a.zarr"), mode="w")
        self.data = np.arange(24.0).reshape(4, 6)
        for name, values, dimensions in (("t", self.data, ["time", "x"]), ("time", np.arange(4), ["time"]), (self.HOSTILE, self.data, ["time", "x"])):
            array = group.create_dataset(name, data=values, chunks=(2, 3)[:values.ndim])
            array.attrs["_ARRAY_DIMENSIONS"] = dimensions
        group["time"].attrs["units"] = "days since 2020-01-01"
        group[self.HOSTILE].attrs["long_name"] = "<script>alert(1)</script>"
        group.attrs["title"] = "</title><script>alert(1)</script>"
        group.create_group("deep").create_dataset("deeper", data=np.arange(3), chunks=(3,))
        np.save(self.path("one.npy"), self.data)
        harness.write(self.path("notes & more.txt"), "text")
        harness.write(self.path("web", "index.html"), "my own")
        harness.write(self.path("bad.npy"), "no array")
        os.symlink("runs", self.path("link"))
        os.symlink("one.npy", self.path("latest.npy"))
        os.symlink("none.npy", self.path("gone.npy"))
        os.symlink(self.scratch, self.path("outside.npy"))

    def crawl(self, mounted, start):
        """Every page that links lead to, by its path below the mount; each link must lead to a file."""
        pages, waiting = {}, [start]
        while waiting:
            path = waiting.pop()
            if path in pages:
                continue
            full = mounted.join(path)
            content = harness.read(full)
            self.assertEqual(os.stat(full).st_size, len(content), path)
            if not content.startswith(b"<!DOCTYPE html>"):
                continue
            pages[path] = Page(content)
            for link in pages[path].local_links():
                self.assertNotIn(" ", link)
                target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(link)))
                self.assertFalse(target.startswith(".."), (path, link))
                self.assertTrue(os.path.lexists(mounted.join(target)), (path, link))
                if target.endswith("index.html"):
                    waiting.append(target)
        return pages

    def test_links_lead_through_the_whole_mount(self):
        with harness.Mount(self.source) as mounted:
            pages = self.crawl(mounted, "index.html")
        hostile = "runs/a.zarr/" + self.HOSTILE.replace("%41", "%2541")
        for path in ("index.html", "runs/index.html", "runs/a.zarr/index.html", "runs/a.zarr/t/index.html", "one.npy/index.html",
                     "runs/a.zarr/deep/index.html", "runs/a.zarr/deep/deeper/index.html", hostile + "/index.html"):
            self.assertIn(path, pages)
        self.assertIn(self.HOSTILE, pages[hostile + "/index.html"].text)
        self.assertIn("<script>alert(1)</script>", pages[hostile + "/index.html"].text)
        self.assertIn("time 4 × x 6", pages["runs/a.zarr/t/index.html"].text)
        self.assertIn("2020-01-01 … 2020-01-04", pages["runs/a.zarr/index.html"].text)
        self.assertIn("notes%20%26%20more.txt", pages["index.html"].links)
        self.assertIn("latest.npy/index.html", pages)
        scripts = {script for page in pages.values() for script in page.scripts}
        self.assertEqual(len(scripts), 1, "the search, in the longest list")
        self.assertTrue(pages["index.html"].scripts)
        self.assertNotIn("alert", scripts.pop())
        for name in ("gone.npy", "outside.npy"):
            self.assertIn(name, pages["index.html"].links)

    def test_a_folder_says_what_it_holds_and_how_large_it_is(self):
        with harness.Mount(self.source) as mounted:
            page = Page(harness.read(mounted.path, "runs/index.html")).text
            files = [os.path.join(folder, name) for folder, _, names in os.walk(self.path("runs", "a.zarr")) for name in names]
            kib = sum(map(os.path.getsize, files)) / 1024
            self.assertIn(f"{kib:.1f} KiB in {len(files)} files", page)
            self.assertIn("1 store of arrays", page)
            root = Page(harness.read(mounted.path, "index.html")).text
            self.assertIn(os.path.basename(self.source), root, "the name of the source, not of the mount point")
            self.assertNotIn(os.path.basename(mounted.path), root)

    def test_a_store_can_be_reached_as_it_is_stored(self):
        with harness.Mount(self.source) as mounted:
            for store, link in ("runs/a.zarr", ".source/"), ("one.npy", ".source"):
                self.assertIn(link, Page(harness.read(mounted.path, store, "index.html")).links)
            self.assertNotIn(".source", Page(harness.read(mounted.path, "runs/a.zarr/t/index.html")).links)

    def test_types_and_files_are_in_plain_words(self):
        dtype = np.dtype([("when", "M8[s]"), ("depth", "f4")])
        np.save(self.path("records.npy"), np.zeros(1234, dtype))
        with harness.Mount(self.source) as mounted:
            text = Page(harness.read(mounted.path, "records.npy/index.html")).text
        for words in ("records: when (date and time in steps of 1 s), depth (float32)", "1,234 elements"):
            self.assertIn(words, text)
        self.assertNotIn("found by name", text)
        self.assertNotIn("compound", text)

    def test_names_of_all_views_are_links(self):
        with harness.Mount(self.source) as mounted:
            for folder in ("runs/a.zarr/t", "runs/a.zarr", "one.npy"):
                views = os.getxattr(mounted.join(folder), "user.ndl.views").decode().strip("[]").split(", ")
                self.assertIn("index.html", views)
                links = Page(harness.read(mounted.path, folder, "index.html")).links
                if folder != "one.npy":  # which has the views of a group, too
                    self.assertEqual(set(views) - set(links), {"index.html"}, folder)

    def test_pages_are_listed_where_the_manual_says(self):
        with harness.Mount(self.source) as mounted:
            self.assertIn("index.html", os.listdir(mounted.join("runs/a.zarr")))
            self.assertIn("index.html", os.listdir(mounted.join("runs/a.zarr/deep")))
            for folder in (".", "runs", "runs/a.zarr/t", "one.npy"):
                self.assertNotIn("index.html", os.listdir(mounted.join(folder)), folder)
            self.assertEqual(harness.read(mounted.path, "web/index.html"), b"my own")
            self.assertFalse(os.path.exists(mounted.join(".ndlfs/source/index.html")))
        with harness.Mount(self.source, "--views", "npy,html") as mounted:
            self.assertIn("index.html", os.listdir(mounted.join("runs/a.zarr/t")))
        with harness.Mount(self.source, "--as", "nc") as mounted:
            self.assertFalse(os.path.exists(mounted.join("index.html")))

    def test_sizes_cost_no_decoding(self):
        with harness.Mount(self.source) as mounted:
            for folder, _, names in os.walk(mounted.path):
                if ".ndlfs" in folder:
                    continue
                for name in [*names, "index.html"]:
                    # Documents show the values of short coordinates.
                    if name != ".ndl.yaml" and os.path.lexists(os.path.join(folder, name)):
                        os.lstat(os.path.join(folder, name))
            stats = json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))
            self.assertEqual(stats["cache_misses_total"], 0)
            harness.read(mounted.path, "runs/a.zarr/index.html")
            stats = json.loads(harness.read(mounted.path, ".ndlfs/stats.json"))
            self.assertLessEqual(stats["cache_misses_total"], 2)
            self.assertGreater(stats["cache_misses_total"], 0)

    def test_a_page_follows_its_store(self):
        with harness.Mount(self.source, "--revalidate", "0") as mounted:
            page = mounted.join("runs/a.zarr/index.html")
            self.assertNotIn("later", Page(harness.read(page)).text)
            store = zarr.open_group(self.path("runs", "a.zarr"), mode="a")
            store.create_dataset("later", data=np.arange(3), chunks=(3,))
            self.assertIn("later", Page(harness.read(page)).text)
            store["time"][:] = np.arange(4) + 31
            self.assertIn("2020-02-01 … 2020-02-04", Page(harness.read(page)).text)
            store["t"].attrs["long_name"] = "another name"
            self.assertIn("another name", Page(harness.read(page)).text)
            self.assertNotIn("new.npy", Page(harness.read(mounted.join("index.html"))).text)
            np.save(self.path("new.npy"), self.data)
            self.assertIn("new.npy", Page(harness.read(mounted.join("index.html"))).text)

    def test_lines_do_what_they_say(self):
        with harness.Mount(self.source) as mounted:
            page = Page(harness.read(mounted.path, "runs/a.zarr", self.HOSTILE.replace("%41", "%2541"), "index.html"))
            python = next(block for block in page.blocks if "np.load" in block)
            found = subprocess.run([sys.executable, "-c", python + "\nprint(a.sum(), a.shape)"], capture_output=True, text=True, check=True)
            self.assertEqual(found.stdout, "276.0 (4, 6)\n")
            fortran = next(block for block in page.blocks if "iso_fortran_env" in block)
            lines = fortran.splitlines()
            program = "\n".join(["program p", lines[0], "implicit none", "integer :: u", *lines[1:], "print *, a(2, 1), shape(a)", "end program"])
            harness.write(os.path.join(self.scratch, "p.f90"), program)
            self.run_ok("gfortran", "-o", os.path.join(self.scratch, "p"), os.path.join(self.scratch, "p.f90"))
            self.assertEqual(self.run_ok(os.path.join(self.scratch, "p")).split(), ["1.0000000000000000", "6", "4"])

    def test_cat_writes_pages(self):
        for store, path, word in (("runs/a.zarr", "/", "3 arrays, 1 group"), ("runs/a.zarr", "t", "time 4 × x 6"), ("one.npy", "/", "4 × 6")):
            page = Page(self.run_ok(harness.BINARY, "cat", self.path(store), path, "--view", "html").encode())
            self.assertIn(word, re.sub(r"\s+", " ", page.text))

    def test_one_store_has_no_way_out(self):
        with harness.Mount(self.path("runs", "a.zarr")) as mounted:
            page = Page(harness.read(mounted.path, "index.html"))
            self.assertFalse([link for link in page.local_links() if link.startswith("../")])
            self.assertIn(mounted.join("data.nc"), "".join(page.blocks))


if __name__ == "__main__":
    harness.main()
