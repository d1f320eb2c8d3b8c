# SPDX-License-Identifier: MIT
"""describe, cat and check: links in a store, paths inside a mount, terminals; and the copying that README.md proposes."""
import json
import os
import pty
import shutil
import signal
import subprocess
import time

import h5py
import harness
import numpy as np
import zarr2 as zarr


class CommandsTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("sub"))
        self.values = np.arange(6, dtype="<f8")
        with h5py.File(self.path("sub/a.h5"), "w") as file:
            group = file.create_group("g")
            group["x"] = self.values
            group["soft"] = h5py.SoftLink("/g/x")
            file["chain"] = h5py.SoftLink("/g/soft")
            file["group"] = h5py.SoftLink("/g")
            file["z"] = group["x"]  # a hard link: the second name of /g/x
            file["self"] = h5py.SoftLink("/self")
            file["round"] = h5py.ExternalLink("b.h5", "/round")
            file["gone"] = h5py.SoftLink("/no/where")
            file["beside"] = h5py.ExternalLink("b.h5", "/p/data.npy")
            file["to_group"] = h5py.ExternalLink("b.h5", "/p")
            file["above"] = h5py.ExternalLink("../c.h5", "/y")
            file["absent"] = h5py.ExternalLink("no.h5", "/y")
            file["words"] = np.array(["a", "bb"], h5py.string_dtype())
        with h5py.File(self.path("sub/b.h5"), "w") as file:
            file["p/data.npy"] = self.values + 100
            file["round"] = h5py.ExternalLink("a.h5", "/round")
        with h5py.File(self.path("c.h5"), "w") as file:
            file["y"] = self.values + 200
        store = zarr.open_group(self.path("era5.zarr"), mode="w")
        store.create_dataset("t2m", data=self.values, chunks=2, dtype="<f8")
        store.create_dataset("forecast/data.raw", data=self.values + 300, chunks=2, dtype="<f8")
        harness.write(self.path("notes.txt"), "no store")

    def ndlfs(self, *arguments, **more):
        return harness.run(harness.BINARY, *arguments, **more)

    def array(self, *arguments):
        """What cat writes as raw elements."""
        result = subprocess.run([harness.BINARY, "cat", *arguments, "--view", "raw"], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=harness.DEADLINE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return np.frombuffer(result.stdout, "<f8").tolist()

    def assert_refused(self, result, pattern):
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertRegex(result.stderr, f"^ndlfs: {pattern}\n$")


class LinksTest(CommandsTest):
    """In the store that is named on the command line."""

    def test_links_are_followed_wherever_they_stand_in_the_path(self):
        store = self.path("sub/a.h5")
        for name in ("/g/x", "/g/soft", "/chain", "/group/x", "group/soft/", "/z"):
            with self.subTest(name):
                self.assertEqual(self.array(store, name), self.values.tolist())
                self.assertEqual(self.ndlfs("describe", store, name).stdout, self.ndlfs("describe", store, "/z").stdout)

    def test_external_links_lead_to_stores_beside_and_below(self):
        self.assertEqual(self.array(self.path("sub/a.h5"), "/beside"), (self.values + 100).tolist())
        self.assertEqual(self.array(self.path("sub/a.h5"), "/to_group/data.npy"), (self.values + 100).tolist())
        self.assertRegex(self.ndlfs("describe", self.path("sub/a.h5"), "/to_group").stdout, r"^/p:\n  ndarrays:\n")

    def test_links_that_lead_nowhere_or_out_are_one_clear_line(self):
        store = self.path("sub/a.h5")
        for name, pattern in (("/self", '/?.*a link to "/self", in a loop of links'),
                              ("/round", 'a link to "/round", in a loop of links'),
                              ("/gone", '/gone is a link to /no/where: no object "no"'),
                              ("/group/no", '/group/no is a link to /g/no: no object "/g/no"'),
                              ("/above", '/above: the link to ".*c.h5" leads out of ".*/sub"'),
                              ("/absent", '/absent: the link to ".*no.h5/y": no.h5: .*No such file or directory')):
            with self.subTest(name):
                for command in ("describe", "cat"):
                    self.assert_refused(self.ndlfs(command, store, name), f"{store}: {pattern}")


class DamageTest(harness.SourceTestCase):
    """What is wrong with a store or is none, in one line."""

    def ndlfs(self, *arguments):
        return subprocess.run([harness.BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=harness.DEADLINE)

    def test_cat_writes_what_is_before_a_damaged_chunk(self):
        shutil.copytree(os.path.join(harness.DATA, "climate.zarr"), self.path("climate.zarr"))
        store = self.path("climate.zarr")
        for view, chunk in (("raw", "1.1.0"), ("npy", "3.0.1"), ("txt", "0.1.1")):
            with self.subTest(view):
                whole = self.ndlfs("cat", store, "/rain", "--view", view).stdout
                kept = harness.read(store, "rain", chunk)
                harness.write(os.path.join(store, "rain", chunk), b"damaged")
                result = self.ndlfs("cat", store, "/rain", "--view", view)
                harness.write(os.path.join(store, "rain", chunk), kept)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stdout, whole[:len(result.stdout)])
                self.assertIn(f"chunk {chunk}: ".encode(), result.stderr)
                self.assertIn(f"after {len(result.stdout)} bytes".encode(), result.stderr)
                # All of it: the next byte is the first of the chunk.
                time, lat, lon = (int(index) * size for index, size in zip(chunk.split("."), self.chunk(store)))
                element = (time * 45 + lat) * 90 + lon
                header = 128 if view == "npy" else 0
                width = (len(whole) - header) // (24 * 45 * 90)
                self.assertEqual(len(result.stdout), header + element * width)

    def chunk(self, store):
        return json.loads(harness.read(store, "rain", ".zarray"))["chunks"]

    def test_a_file_with_the_name_of_a_store_says_what_it_is(self):
        harness.write(self.path("empty.nc"), b"")
        harness.write(self.path("text.nc"), b"hello there, this is no store of arrays")
        harness.write(self.path("picture"), b"\x89PNG\r\n\x1a\n" + bytes(40))
        os.mkfifo(self.path("pipe.nc"))
        for name, words in (("empty.nc", "(the file is empty)"),
                            ("text.nc", '(it begins with "hello there, this is", like no array store)'),
                            ("picture", "(a PNG picture)"),
                            ("pipe.nc", "pipe.nc: a named pipe, and not an array store")):
            for command in (["describe"], ["cat", "/"]):
                with self.subTest(name, command=command):
                    result = self.ndlfs(command[0], self.path(name), *command[1:])
                    self.assertEqual((result.returncode, result.stdout), (1, b""))
                    self.assertEqual(result.stderr.count(b"\n"), 1)
                    self.assertIn(words, result.stderr.decode())
        mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(mount_point)
        self.assertEqual(self.ndlfs("mount", self.path("pipe.nc"), mount_point).stderr.decode(),
                         f'ndlfs: source "{self.path("pipe.nc")}": a named pipe, and not a directory\n')

    def test_a_link_that_leads_nowhere_does_not_propose_itself(self):
        with h5py.File(self.path("a.h5"), "w") as file:
            file["temperature"] = [1.0]
            file["sst2"] = h5py.SoftLink("/sst3")
        result = self.ndlfs("describe", self.path("a.h5"), "/sst2")
        self.assertEqual(result.stderr.decode(),
                         f'ndlfs: {self.path("a.h5")}: /sst2 is a link to /sst3: no object "/sst3"\n')


class InMountTest(CommandsTest):
    """A path inside a mount stands for what it shows of the source."""

    def setUp(self):
        super().setUp()
        self.mounted = self.mount(self.source, "--revalidate", "0")

    def test_describe_and_cat_of_a_folder_are_those_of_the_store(self):
        for folder, store, name in (("era5.zarr", "era5.zarr", "/"), ("era5.zarr/t2m", "era5.zarr", "/t2m"),
                                    ("era5.zarr/forecast", "era5.zarr", "/forecast"), ("sub/a.h5", "sub/a.h5", "/"),
                                    ("sub/a.h5/g", "sub/a.h5", "/g")):
            with self.subTest(folder):
                shown = self.ndlfs("describe", self.mounted.join(folder))
                wanted = self.ndlfs("describe", self.path(store), name)
                self.assertEqual((shown.returncode, shown.stdout), (wanted.returncode, wanted.stdout))
        self.assertEqual(self.array(self.mounted.join("era5.zarr/t2m"), "/"), self.values.tolist())
        self.assertEqual(self.array(self.mounted.join("era5.zarr"), "/t2m"), self.values.tolist())
        self.assertEqual(self.array(self.mounted.join("sub/a.h5/g"), "soft"), self.values.tolist())

    def test_names_of_folders_are_unescaped(self):
        self.assertEqual(self.array(self.mounted.join("era5.zarr/forecast/%64ata.raw"), "/"),
                         (self.values + 300).tolist())

    def test_relative_paths_and_links_of_the_mount_do_as_well(self):
        self.assertRegex(self.ndlfs("describe", ".", cwd=self.mounted.join("era5.zarr/t2m")).stdout, "t2m:")
        self.assertEqual(self.array(self.mounted.join("sub/a.h5/chain"), "/"), self.values.tolist())
        self.assertEqual(self.array(self.mounted.join("sub/a.h5/beside"), "/"), (self.values + 100).tolist())

    def test_external_links_lead_as_far_as_in_the_mount(self):
        self.assertEqual(self.array(self.mounted.join("sub/a.h5"), "/above"), (self.values + 200).tolist())

    def test_check_reads_the_source(self):
        result = self.ndlfs("check", self.mounted.path)
        names = [line.split(": ")[0] for line in result.stdout.splitlines() if line.startswith("/")]
        self.assertEqual(names, [self.mounted.join(name) for name in ("c.h5", "era5.zarr", "sub/a.h5", "sub/b.h5")])
        result = self.ndlfs("check", self.mounted.join("era5.zarr/t2m"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("era5.zarr/t2m: ok, 1 array, 3 chunks, 48 B\n", result.stdout)

    def test_store_that_cannot_be_opened_says_why(self):
        harness.write(self.path("broken.zarr/.zarray"), '{"zarr_format": 2, "shape": [')
        self.assert_refused(self.ndlfs("describe", self.mounted.join("broken.zarr")), ".*zarray: .*")

    def test_views_and_plain_files_are_files(self):
        self.assertIn("shape: [6]", self.ndlfs("describe", self.mounted.join("era5.zarr/t2m/data.npy")).stdout)
        self.assert_refused(self.ndlfs("describe", self.mounted.join("notes.txt")), r".*notes.txt: not an array store \(it begins with .*\)")
        listed = self.ndlfs("describe", self.mounted.join("sub"))
        stores = [self.mounted.join("sub", name) + "  (HDF5)" for name in ("a.h5", "b.h5")]
        self.assertEqual((listed.returncode, listed.stdout.splitlines()), (0, stores))

    def test_mount_that_has_died_is_one_clear_line(self):
        mount_point = os.path.join(self.scratch, "dead")
        os.mkdir(mount_point)
        self.run_ok(harness.BINARY, "mount", self.source, mount_point)
        self.addCleanup(harness.unmount, mount_point, lazy=True)
        config = harness.read(mount_point, ".ndlfs/config.yaml").decode()
        self.run_ok("ls", "-R", mount_point)  # the kernel knows attributes
        os.kill(int(config.split("\npid: ")[1].split()[0]), signal.SIGKILL)
        dead = "the mount there has died; remove it with: fusermount3 -u " + mount_point
        harness.wait_until(lambda: "died" in self.ndlfs("describe", mount_point).stderr, "the end of the mount")
        for arguments in (("describe", "era5.zarr/t2m"), ("cat", "era5.zarr", "t2m"), ("check", ""), ("check", "sub")):
            with self.subTest(arguments):
                path = os.path.join(mount_point, arguments[1])
                begun = time.monotonic()
                self.assert_refused(self.ndlfs(arguments[0], path, *arguments[2:]), f"{path}: {dead}")
                self.assertLess(time.monotonic() - begun, 30)


class CopyingTest(CommandsTest):
    """The recipes of README.md copy one form of each array."""

    def test_rsync(self):
        mounted, copy = self.mount(self.source), os.path.join(self.scratch, "copy")
        self.run_ok("rsync", "-a", "--exclude=/.ndlfs", "--exclude=.source", "--include=data.npy",
                    "--include=data.jsonl", "--exclude=data.*", "--exclude=index.html", "--exclude=preview.png", mounted.path + "/", copy)
        files = sorted({os.path.basename(name) for name in harness.digests(copy)})
        self.assertEqual(files, [".ndl.yaml", "data.jsonl", "data.npy", "error.txt", "notes.txt"])
        np.testing.assert_array_equal(np.load(os.path.join(copy, "era5.zarr/t2m/data.npy")), self.values)
        np.testing.assert_array_equal(np.load(os.path.join(copy, "era5.zarr/forecast/%64ata.raw/data.npy")),
                                      self.values + 300)

    def test_tar(self):
        mounted = self.mount(self.source)
        archive = os.path.join(self.scratch, "era5.tar")
        self.run_ok("tar", "--exclude=.source", "--exclude=data.[!jn]*", "--exclude=data.n[!p]*",
                    "--exclude=index.html", "--exclude=preview.png", "-C", mounted.path, "-cf", archive, "era5.zarr")
        names = self.run_ok("tar", "-tf", archive).splitlines()
        self.assertEqual(sorted(name for name in names if not name.endswith("/")),
                         ["era5.zarr/.ndl.yaml", "era5.zarr/forecast/%64ata.raw/.ndl.yaml",
                          "era5.zarr/forecast/%64ata.raw/data.npy", "era5.zarr/forecast/.ndl.yaml",
                          "era5.zarr/t2m/.ndl.yaml", "era5.zarr/t2m/data.npy"])


class TerminalTest(CommandsTest):
    def cat_to_terminal(self, *arguments):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(harness.BINARY, ["ndlfs", "cat", *arguments])
        shown = b""
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:  # how a terminal that is closed ends
            pass
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode().replace("\r\n", "\n")

    def test_binary_is_refused_with_what_to_do(self):
        store = self.path("era5.zarr")
        for view in ((), ("--view", "npy")):
            self.assertEqual(self.cat_to_terminal(store, "/t2m", *view),
                             (1, f"ndlfs: {store}: /t2m: npy is binary, and standard output is a terminal; "
                                 "redirect it, or use --view txt\n"))
        status, shown = self.cat_to_terminal(store, "/t2m", "--view", "raw")
        self.assertEqual(status, 1)
        self.assertIn("raw is binary, ", shown)

    def test_text_is_shown(self):
        status, shown = self.cat_to_terminal(self.path("era5.zarr"), "/t2m", "--view", "txt")
        self.assertEqual((status, [float(line) for line in shown.split()]), (0, self.values.tolist()))
        self.assertEqual(self.cat_to_terminal(self.path("sub/a.h5"), "/words"), (0, '"a"\n"bb"\n'))


if __name__ == "__main__":
    harness.main()
