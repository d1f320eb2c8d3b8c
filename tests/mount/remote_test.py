# SPDX-License-Identifier: MIT
"""Mounts of URLs: what they show, what they ask the server for, and what they do with one that lies."""
import email.utils
import html
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse
from unittest import mock

import harness
import netCDF4
import numpy as np
import zarr2 as zarr

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "remote"))
import lying_server

VALUES = np.arange(64 * 48, dtype="<i4").reshape(64, 48)


class RemoteCase(harness.SourceTestCase):
    lists = True

    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.fill()
        self.server = lying_server.Server(self.source, lists=self.lists)
        self.addCleanup(self.server.stop)

    def fill(self):
        group = zarr.open_group(self.path("store.zarr"), "w")
        for name in ("a", "b"):
            group.create_dataset(name, data=VALUES, chunks=(16, 48))
        group.create_group("inner").create_dataset("c", data=VALUES[:, 0], chunks=(10,))

    def url(self, path=""):
        return f"{self.server.url}/{path}"

    def run_ndlfs(self, *words):
        return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)

    def array(self, *parts):
        return np.load(os.path.join(*parts, "data.npy"))

    def read_raw(self, *parts):
        with open(os.path.join(*parts, "data.raw"), "rb", buffering=0) as file:
            return file.read()


class TreeTest(RemoteCase):
    def fill(self):
        super().fill()
        np.save(self.path("x.npy"), VALUES)
        with netCDF4.Dataset(self.path("n.nc"), "w") as dataset:
            dataset.createDimension("y", 64)
            dataset.createDimension("x", 48)
            dataset.createVariable("v", "i4", ("y", "x"), zlib=True)[:] = VALUES
        os.mkdir(self.path("plain dir"))
        harness.write(self.path("plain dir", "read me.txt"), "text" * 1000)

    def test_shows_what_a_local_mount_shows(self):
        local = self.mount(self.source)
        remote = self.mount(self.url())
        self.assertEqual(sorted(os.listdir(remote.path)), [".ndlfs", "n.nc", "plain dir", "store.zarr", "x.npy"])
        for parts in (("store.zarr", "a"), ("store.zarr", "inner", "c"), ("x.npy",), ("n.nc", "v")):
            self.assertEqual(harness.read(remote.join(*parts, "data.npy")), harness.read(local.join(*parts, "data.npy")))
            self.assertEqual(harness.read(remote.join(*parts, ".ndl.yaml")), harness.read(local.join(*parts, ".ndl.yaml")))
        self.assertEqual(harness.read(remote.join("plain dir", "read me.txt")), b"text" * 1000)
        self.assertFalse(os.path.exists(remote.join("none")))
        servers = json.loads(harness.read(remote.path, ".ndlfs", "stats.json"))["servers"]
        self.assertGreater(servers[self.server.url]["requests"], 10)
        self.assertIn("ndlfs_server_bytes_total{", harness.read(remote.path, ".ndlfs", "metrics").decode())

    def test_url_of_a_store_and_of_a_file(self):
        for path, array in (("store.zarr", "a"), ("store.zarr/", "a"), ("n.nc", "v"), ("x.npy", "")):
            with harness.Mount(self.url(path)) as mount:
                np.testing.assert_array_equal(self.array(mount.path, array), VALUES)

    def test_other_commands(self):
        self.assertIn("/inner:", self.run_ok(harness.BINARY, "describe", self.url("store.zarr")))
        raw = subprocess.run([harness.BINARY, "cat", self.url("n.nc"), "/v", "--view", "raw"], capture_output=True)
        self.assertEqual(raw.stdout, VALUES.tobytes())
        self.assertIn("5 arrays", self.run_ok(harness.BINARY, "check", self.url()))

    def test_what_is_not_there_is_one_line(self):
        point = os.path.join(self.scratch, "point")
        os.mkdir(point)
        for words in (("describe", self.url("none")), ("mount", self.url("none"), point)):
            result = self.run_ndlfs(*words)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn("No such file", result.stderr)
        self.assertIn("not of gopher", self.run_ndlfs("describe", "gopher://host/x").stderr)

    def test_password_is_shown_nowhere(self):
        url = self.url("store.zarr").replace("//", "//me:sesame@") + "?sig=sesame"
        mount = self.mount(url)
        np.testing.assert_array_equal(self.array(mount.path, "a"), VALUES)
        with open("/proc/mounts", encoding="utf-8") as mounts:
            self.assertNotIn("sesame", mounts.read())
        for name in ("config.yaml", "stats.json", "errors.log"):
            self.assertNotIn("sesame", harness.read(mount.path, ".ndlfs", name).decode())
        self.assertNotIn("sesame", mount.log())
        self.assertNotIn("sesame", self.run_ndlfs("describe", url.replace("store", "none")).stderr)

    def test_passwords_of_netrc_follow_no_redirect_to_another_port(self):
        harness.write(os.path.join(self.scratch, ".netrc"), "machine 127.0.0.1 login me password sesame\n")
        other = lying_server.Server(self.source)
        self.addCleanup(other.stop)
        seen = {self.server: set(), other: set()}
        for server in seen:
            server.lie = lambda _, handler: seen[handler.owner].add(handler.headers.get("Authorization"))
        with mock.patch.dict(os.environ, HOME=self.scratch):
            self.run_ndlfs("cat", self.url("store.zarr"), "a", "--view", "txt")
            self.server.lie = lambda path, handler: "/a/" in path and (handler.answer(302, Location=other.url + path), True)[1]
            got = self.run_ndlfs("cat", self.url("store.zarr"), "a", "--view", "txt", "--allow-urls", other.url + "/")
        self.assertEqual(got.stdout, self.run_ndlfs("cat", self.path("store.zarr"), "a", "--view", "txt").stdout)
        self.assertEqual((len(seen[self.server] - {None}), seen[other]), (1, {None}))


class ReferenceTest(RemoteCase):
    def references(self):
        """A folder with references to the chunks on the server."""
        folder = os.path.join(self.scratch, "references")
        os.makedirs(folder)
        refs = {".zgroup": '{"zarr_format": 2}', "a/.zarray": harness.read(self.source, "store.zarr/a/.zarray").decode()}
        refs |= {f"a/{i}.0": [self.url(f"store.zarr/a/{i}.0")] for i in range(4)}
        harness.write(os.path.join(folder, "refs.json"), json.dumps({"version": 1, "refs": refs}))
        return folder

    def test_references_to_urls_are_read_if_they_are_allowed(self):
        folder = self.references()
        with harness.Mount(folder, "--allow-urls", self.url("store.zarr/")) as mount:
            np.testing.assert_array_equal(self.array(mount.path, "refs.json", "a"), VALUES)
            servers = json.loads(harness.read(mount.path, ".ndlfs", "stats.json"))["servers"]
            self.assertGreaterEqual(servers[self.server.url]["requests"], 4)
        for options in ([], ["--allow-urls", self.url("other/")], ["--allow-urls", "http://localhost:1/"]):
            self.server.taken()
            with self.subTest(options), harness.Mount(folder, *options) as mount:
                self.assertIn("the remote reference", harness.read(mount.path, "refs.json/a/error.txt").decode())
                self.assertEqual(self.server.taken(), [])

    def test_token_of_the_source_stays_with_it(self):
        token = os.path.join(self.scratch, "token")
        harness.write(token, "sesame")
        seen = []
        self.server.lie = lambda _, handler: seen.append(handler.headers.get("Authorization"))
        with harness.Mount(self.references(), "--allow-urls", self.url(), "--token-file", token) as mount:
            np.testing.assert_array_equal(self.array(mount.path, "refs.json", "a"), VALUES)
        self.assertEqual(set(seen), {None})


class ConsolidatedTest(RemoteCase):
    lists = False

    def fill(self):
        super().fill()
        zarr.consolidate_metadata(self.path("store.zarr"))

    def test_first_listing_costs_three_requests(self):
        mount = self.mount(self.url("store.zarr/"), "--revalidate=60")
        self.server.taken()
        self.assertIn("a", os.listdir(mount.path))
        self.assertLessEqual(len(self.server.taken()), 3)
        self.assertEqual(sorted(os.listdir(mount.join("inner"))).count("c"), 1)
        np.testing.assert_array_equal(self.array(mount.path, "b"), VALUES)
        self.assertFalse([request for request in self.server.taken() if "/a/" in request])


class RoundsTest(RemoteCase):
    """What the first listing costs where each answer takes a while. Requests that are under way together are a round."""

    def fill(self):
        super().fill()
        zarr.open_group(self.path("copied.zarr"), "w").create_dataset("a", data=VALUES)
        zarr.consolidate_metadata(self.path("copied.zarr"))

    def cost(self, command, url, path=""):
        """Requests and rounds of the command in a new mount, and what it prints."""
        times = []

        def wait(_, handler):
            begin = time.monotonic()
            time.sleep(0.3)  # a round of requests takes less to begin, on a busy machine too
            times.append((begin, time.monotonic()))

        with harness.Mount(self.url(url), "--revalidate=60") as mount:
            self.server.lie = wait
            self.addCleanup(setattr, self.server, "lie", None)
            names = subprocess.run([*command, mount.join(path)], capture_output=True, text=True, check=True).stdout
            self.server.lie = None
        rounds, end = 0, 0.0
        for begin, finished in sorted(times):
            if begin >= end:
                rounds, end = rounds + 1, finished
        return len(times), rounds, names

    def test_consolidated_store_below_the_top_costs_three_requests(self):
        for lists in (True, False):
            self.server.lists = lists
            requests, rounds, names = self.cost(["ls"], "", "copied.zarr")
            self.assertIn("a\n", names)
            self.assertLessEqual((requests, rounds), (3, 1))

    def test_listing_of_stores_does_not_look_at_their_arrays(self):
        for store in range(8):
            for array in range(6):
                zarr.open_group(self.path("many", f"{store}.zarr"), "a").create_dataset(f"a{array}", data=VALUES)
        # ls of coreutils 9.6 asks for the extended attributes, which are those of the store.
        look = "import os, sys\nfor entry in os.scandir(sys.argv[1]): print(entry.name, os.stat(entry.path).st_mtime)"
        requests, _, names = self.cost([sys.executable, "-c", look], "many/")
        self.assertEqual(names.count(".zarr"), 8)
        self.assertLessEqual(requests, 98)  # 11 or 12 names in each of 8 directories

    def test_group_costs_three_rounds(self):
        for lists, command, url, path in ((True, ["ls"], "", "store.zarr"), (True, ["ls", "-l"], "store.zarr/", ""),
                                          (True, ["ls"], "store.zarr/", "inner"), (True, ["ls", "-l"], "store.zarr/inner/", ""),
                                          (False, ["ls"], "store.zarr/", "inner")):
            self.server.lists = lists
            with self.subTest(lists=lists, command=command, url=url, path=path):
                _, rounds, names = self.cost(command, url, path)
                self.assertEqual("data.nc" in names, lists)
                self.assertLessEqual(rounds, 3)


class HabitsTest(RemoteCase):
    """Servers that answer otherwise than nginx: a mount shows the same."""

    def fill(self):
        super().fill()
        group = zarr.open_group(self.path("store.zarr"), "a")
        group.create_dataset("sparse", data=VALUES, chunks=(16, 48), fill_value=7)
        os.unlink(self.path("store.zarr", "sparse", "1.0"))
        zarr.consolidate_metadata(self.path("store.zarr"))
        np.save(self.path("x.npy"), VALUES)
        harness.write(self.path("hello.txt"), "hello\n" * 40)
        harness.write(self.path("empty.bin"), "")

    def assert_shows_all(self, mount, has_absent=True):
        np.testing.assert_array_equal(self.array(mount.path, "store.zarr", "a"), VALUES)
        np.testing.assert_array_equal(self.array(mount.path, "x.npy"), VALUES)
        self.assertEqual(harness.read(mount.path, "hello.txt"), b"hello\n" * 40)
        self.assertEqual(harness.read(mount.path, "empty.bin"), b"")
        self.assertEqual(os.stat(mount.join("hello.txt")).st_size, 240)
        if has_absent:
            expected = VALUES.copy()
            expected[16:32] = 7
            np.testing.assert_array_equal(self.array(mount.path, "store.zarr", "sparse"), expected)

    def test_mount_shows_the_same(self):
        for name, habit in lying_server.HABITS.items():
            for lists in (True, False):
                with self.subTest(name, lists=lists):
                    self.server.lists, self.server.lie = lists, habit
                    with harness.Mount(self.url()) as mount:
                        # Nobody can tell that page from one to log in, which may hide a chunk.
                        self.assert_shows_all(mount, has_absent=name != "page_for_absent")
                        if name == "page_for_absent":
                            with self.assertRaises(OSError):
                                harness.read(mount.path, "store.zarr", "sparse", "data.raw")
                    self.assertIn("sparse:", self.run_ok(harness.BINARY, "describe", self.url("store.zarr")))

    def test_copies_have_all_bytes(self):
        copy = os.path.join(self.scratch, "copy")
        for name in ("head_without_length", "head_of_no_bytes", "no_length_at_all"):
            self.server.lie = lying_server.HABITS[name]
            with self.subTest(name), harness.Mount(self.url()) as mount:
                self.run_ok("cp", mount.join("hello.txt"), copy)
                self.assertEqual(harness.read(copy), b"hello\n" * 40)

    def test_refused_chunks_are_errors_where_nothing_can_be_read_any_more(self):
        self.server.lie = lying_server.HABITS["refused_for_absent"]
        mount = self.mount(self.url("store.zarr"), "--revalidate=0")
        self.assertEqual(np.load(mount.join("sparse", "data.npy"))[16, 0], 7)
        self.server.lie = lambda _, handler: (handler.answer(403), True)[1]
        time.sleep(5.5)  # for so long the server is not asked again whether it refuses all
        with self.assertRaises(OSError):
            harness.read(mount.path, "sparse", "data.raw")

    def test_chunk_that_may_not_be_read_is_an_error_and_no_fill_value(self):
        self.server.lie = lambda path, handler: path.endswith("/a/1.0") and (handler.answer(403), True)[1]
        for lists in (True, False):
            self.server.lists = lists
            with self.subTest(lists=lists), harness.Mount(self.url("store.zarr")) as mount:
                with self.assertRaises(PermissionError):
                    harness.read(mount.path, "a", "data.raw")

    def test_index_pages_of_any_kind(self):
        quote = urllib.parse.quote
        kinds = {
            "relative": lambda path, name: f'href="{quote(name)}"',
            "absolute": lambda path, name: f'href="{quote(path + name)}"',
            "with host": lambda path, name: f'href="{self.url(quote(path.lstrip("/") + name))}"',
            "single quotes": lambda path, name: f"  HREF = '{quote(name)}'",
            "no quotes": lambda path, name: f"href={quote(name)}",
            "raw": lambda path, name: f'href="{html.escape(name)}"'}
        os.mkdir(self.path("Now 100% better"))
        harness.write(self.path("Now 100% better", "a b.txt"), "text")
        for kind, link in kinds.items():
            self.server.lie = lying_server.index_page(link)
            with self.subTest(kind), harness.Mount(self.url()) as mount:
                self.assertEqual(sorted(os.listdir(mount.path)), sorted([".ndlfs", *os.listdir(self.source)]))
                self.assertEqual(harness.read(mount.path, "Now 100% better", "a b.txt"), b"text")


class MountErrorTest(RemoteCase):
    def refused(self, url, *options):
        point = os.path.join(self.scratch, "point")
        os.makedirs(point, exist_ok=True)
        for foreground in ([], ["--foreground"]):
            result = self.run_ndlfs("mount", url, point, "--timeout=2", *options, *foreground)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_one_line_says_what_is_wrong(self):
        self.assertRegex(self.refused("http://127.0.0.1:1/"), harness.NO_CONNECTION)
        self.assertIn("Could not resolve host", self.refused("http://host.invalid/"))
        # The server has to answer for that, which takes longer where much else runs.
        self.assertIn("SSL", self.refused(self.url().replace("http:", "https:"), "--timeout=20"))


class BlockCacheTest(RemoteCase):
    """What one mount has kept is not shown by another one when the file has changed, whatever the server tells."""

    YEAR = 365 * 86400

    def fill(self):
        zarr.open_group(self.path("store.zarr"), "w").create_dataset("a", data=VALUES, chunks=(16, 48), compressor=None)

    def write_value(self, value, age):
        zarr.open_group(self.path("store.zarr"), "a")["a"][:] = VALUES + value
        for chunk in range(4):
            path = self.path("store.zarr", "a", f"{chunk}.0")
            os.utime(path, (time.time() - age, time.time() - age))

    def assert_new_value_is_shown(self, validators, ages=(YEAR, YEAR - 1000)):
        self.server.validators = validators
        blocks = os.path.join(self.scratch, "blocks")
        for value, age in enumerate(ages):
            self.write_value(value, age)
            for _ in range(2):
                with harness.Mount(self.url("store.zarr"), "--block-cache", blocks, "--revalidate=0") as mount:
                    np.testing.assert_array_equal(self.array(mount.path, "a"), VALUES + value)
        kept = any("new." not in name and os.path.isfile(os.path.join(blocks, name)) and
                   os.path.getsize(os.path.join(blocks, name)) > 3000 for name in harness.walk(blocks))
        shutil.rmtree(blocks)
        return kept

    def test_validators_that_cannot_tell(self):
        def modified(status, ahead=0):
            return email.utils.formatdate(status.st_mtime + ahead, usegmt=True)
        kinds = {
            "good": (True, lying_server.validators),
            "constant weak tag": (True, lambda status: {"ETag": 'W/"x"', "Last-Modified": modified(status)}),
            "constant tag": (True, lambda status: {"ETag": '"x"', "Last-Modified": modified(status)}),
            "empty tag": (False, lambda status: {"ETag": '""'}),
            "weak tag alone": (False, lambda status: {"ETag": 'W/"x"'}),
            "nothing": (False, lambda status: {})}
        for kind, (is_kept, validators) in kinds.items():
            with self.subTest(kind):
                self.assertEqual(self.assert_new_value_is_shown(validators), is_kept)

    def test_young_by_the_clock_of_the_server(self):
        """A file that was written in this second may be written in it again, even if the second seems old here."""
        for behind in (0, 60):
            now = email.utils.formatdate(time.time() - behind, usegmt=True)

            def tell_time(_, handler, now=now):
                handler.date_time_string = lambda *_: now
                return False
            self.server.lie = tell_time
            with self.subTest(behind=behind):
                self.assertFalse(self.assert_new_value_is_shown(lambda status, now=now: {"Last-Modified": now}))


class LieTest(RemoteCase):
    def mounted(self, *options):
        return self.mount(self.url("store.zarr"), "--revalidate=0", "--timeout=3", *options)

    def lie_about(self, word, answer):
        self.server.lie = lambda path, handler: word in path and (answer(handler), True)[1]

    def assert_fails_alone(self, mount, expected):
        with self.assertRaises(OSError):
            self.read_raw(mount.path, "a")
        np.testing.assert_array_equal(self.array(mount.path, "b"), VALUES)
        text = harness.read(mount.path, "a", "error.txt").decode()
        self.assertIn(expected, text)
        self.server.lie = None

    def test_lies_are_errors_and_never_data(self):
        lies = {
            "page of HTML": lambda h: h.answer(200, b"<html>sorry</html>", Content_Type="text/html"),
            "content encoding": lambda h: h.answer(200, b"xx", Content_Encoding="br"),
            "not gzip": lambda h: h.answer(200, b"xx", Content_Encoding="gzip"),
            "status 418": lambda h: h.answer(418),
            "another server": lambda h: h.answer(302, Location="http://localhost:1/x"),
            "link-local": lambda h: h.answer(302, Location="http://169.254.169.254/latest"),
            "not http": lambda h: h.answer(302, Location="ftp://127.0.0.1/etc/passwd"),
            "is no URL": lambda h: h.answer(302, Location="file:///etc/passwd"),
            "redirects": lambda h: h.answer(302, Location=h.path),
            "": lambda h: h.answer(503),  # it may pass, and so error.txt does not tell of it
        }
        mount = self.mount(self.url("store.zarr"), "--revalidate=0", "--timeout=1")
        for expected, lie in lies.items():
            with self.subTest(expected or 'status 503'):
                self.lie_about("/a/0.0", lie)
                self.assert_fails_alone(mount, expected)

    def test_what_passes_is_tried_again(self):
        tries = {}
        size = os.path.getsize(self.path("store.zarr", "a", "0.0"))
        faults = [lambda h: h.answer(503, Retry_After="0"), lambda h: h.reset(), lambda h: h.answer(200, b"abc", length=size)]

        def lie(path, handler):
            if "/a/0.0" not in path or handler.command == "HEAD":
                return False
            count = tries[path] = tries.get(path, 0) + 1
            if count > len(faults):
                return False
            faults[count - 1](handler)
            return True

        mount = self.mount(self.url("store.zarr"), "--revalidate=60")
        self.server.lie = lie
        self.assertEqual(self.read_raw(mount.path, "a"), VALUES.tobytes())

    def test_object_that_changes_is_never_mixed(self):
        mount = self.mounted()
        self.assertEqual(self.read_raw(mount.path, "a"), VALUES.tobytes())
        group = zarr.open_group(self.path("store.zarr"), "a")
        group["a"][:] = VALUES + 1
        self.assertIn(self.read_raw(mount.path, "a"), ((VALUES + 1).tobytes(),))

    def test_constant_tag_beside_a_later_time_is_another_version(self):
        for tag in ('"x"', 'W/"x"'):
            self.server.validators = lambda status, tag=tag: lying_server.validators(status) | {"ETag": tag}
            zarr.open_group(self.path("store.zarr"), "a")["b"][:] = VALUES
            for chunk in range(4):
                os.utime(self.path("store.zarr", "b", f"{chunk}.0"), (10**9, 10**9))
            with self.subTest(tag), harness.Mount(self.url("store.zarr"), "--revalidate=0") as mount:
                np.testing.assert_array_equal(self.array(mount.path, "b"), VALUES)
                zarr.open_group(self.path("store.zarr"), "a")["b"][:] = VALUES + 1
                for chunk in range(4):
                    os.utime(self.path("store.zarr", "b", f"{chunk}.0"), (10**9 + 100, 10**9 + 100))
                np.testing.assert_array_equal(self.array(mount.path, "b"), VALUES + 1)

    def test_server_that_dies_and_comes_back(self):
        mount = self.mounted("--cache-size=0")
        wrong = []
        stop = threading.Event()

        def read():
            while not stop.is_set():
                try:
                    if self.read_raw(mount.path, "a") != VALUES.tobytes():
                        wrong.append("bytes")
                except OSError:
                    pass

        readers = [threading.Thread(target=read) for _ in range(8)]
        for reader in readers:
            reader.start()
        for _ in range(2):
            stop.wait(0.3)
            self.server.stop()
            stop.wait(0.3)
            self.server.restart()
        stop.wait(0.3)
        stop.set()
        for reader in readers:
            reader.join()
        self.assertEqual(wrong, [])
        harness.wait_until(lambda: self.is_well(mount), "well again")

    def is_well(self, mount):
        try:
            return self.read_raw(mount.path, "a") == VALUES.tobytes()
        except OSError:
            return False


if __name__ == "__main__":
    harness.main()
