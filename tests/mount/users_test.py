# SPDX-License-Identifier: MIT
"""Who may read what. Runs as root, to become other users; left out otherwise."""
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time

import h5py
import harness
import numpy as np

import make_data

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class UsersTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        shutil.copytree(harness.DATA, self.source)
        self.path = lambda *parts: os.path.join(self.source, *parts)
        # The folder of the build may be closed to others; a copy of the program is not.
        self.binary = os.path.join(self.scratch, "ndlfs")
        shutil.copy(harness.BINARY, self.binary)
        os.chmod(self.binary, 0o755)

    def as_nobody(self, *command):
        return harness.run(*AS_NOBODY, *command)

    def assert_denied(self, result):
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Permission denied", result.stderr)

    def open_device(self):
        """The device of FUSE is open to everybody, as udev leaves it."""
        mode = stat.S_IMODE(os.stat("/dev/fuse").st_mode)
        os.chmod("/dev/fuse", 0o666)
        self.addCleanup(os.chmod, "/dev/fuse", mode)


class OthersTest(UsersTest):
    """Root mounts, somebody else reads."""

    def test_others_see_nothing_unless_allowed(self):
        mounted = self.mount(self.source)
        self.assert_denied(self.as_nobody("ls", mounted.path))
        self.assert_denied(self.as_nobody("cat", mounted.join("notes.txt")))

    def test_others_read_what_they_may_read_in_the_source(self):
        mounted = self.mount(self.source, "--allow-other")
        shown = self.as_nobody("cat", mounted.join("notes.txt"))
        self.assertEqual(shown.stdout, make_data.NOTES)
        sums = [self.run_ok(*who, "sha256sum", mounted.join("climate.zarr/t2m/data.raw")) for who in ([], AS_NOBODY)]
        self.assertEqual(sums[0], sums[1])

    def test_others_do_not_read_what_is_closed_to_them_in_the_source(self):
        os.chmod(self.path("notes.txt"), 0o640)
        os.chmod(self.path("arrays", "c_order.npy"), 0o640)
        os.chmod(self.path("ocean.zarr"), 0o750)
        mounted = self.mount(self.source, "--allow-other")
        harness.digests(mounted.path)  # what root has read and is cached is no more open than before
        for name in ("notes.txt", "arrays/c_order.npy/data.npy", "arrays/c_order.npy/.source",
                     "ocean.zarr/.ndl.yaml", "ocean.zarr/surface/sst/data.npy"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        self.assertEqual(self.as_nobody("cat", mounted.join("arrays/big_endian.npy/data.raw")).returncode, 0)

    def test_trees_are_as_closed_as_the_files_of_their_arrays(self):
        os.chmod(self.path("arrays", "c_order.npy"), 0o640)
        os.chmod(self.path("ocean.zarr", "surface", "sst", "zarr.json"), 0o640)
        mounted = self.mount(self.source, "--allow-other")
        harness.digests(mounted.join("ocean.zarr/data.zarr"))
        harness.digests(mounted.join("arrays/c_order.npy/data.zarr"))
        for name in ("arrays/c_order.npy/data.zarr/zarr.json", "ocean.zarr/surface/sst/data.zarr/zarr.json",
                     "ocean.zarr/data.zarr/surface/sst/zarr.json"):
            with self.subTest(name):
                self.assertTrue(harness.read(mounted.join(name)))
                self.assertNotEqual(self.as_nobody("cat", mounted.join(name)).returncode, 0)
        shown = self.as_nobody("find", mounted.join("ocean.zarr/data.zarr"), "-name", "sst")
        self.assertEqual(shown.stdout, "")
        open_to_all = mounted.join("climate.zarr/data.zarr/t2m/zarr.json")
        self.assertEqual(self.as_nobody("cat", open_to_all).stdout, harness.read(open_to_all).decode())

    def test_array_is_as_closed_as_its_metadata(self):
        os.chmod(self.path("ocean.zarr", "surface", "sst", "zarr.json"), 0o640)
        os.chmod(self.path("climate.zarr", "t2m", ".zarray"), 0o640)
        os.chmod(self.path("climate.zarr", "rain"), 0o700)
        mounted = self.mount(self.source, "--allow-other")
        harness.digests(mounted.path)
        for name in ("ocean.zarr/surface/sst/data.npy", "climate.zarr/t2m/data.raw", "climate.zarr/t2m/.ndl.yaml",
                     "climate.zarr/rain/data.raw", "ocean.zarr/.ndl.yaml"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        for name in ("ocean.zarr/profiles/depth/data.npy", "climate.zarr/lat/data.raw", "ocean.zarr/profiles/.ndl.yaml"):
            with self.subTest(name):
                self.assertEqual(self.as_nobody("cat", mounted.join(name)).returncode, 0)

    def secret(self):
        """A file that everybody might read, in a folder that nobody but root may enter."""
        os.mkdir(self.path("private"), 0o700)
        with open(self.path("private", "secret"), "wb") as file:
            file.write(b"geheim!!")
        return self.path("private", "secret")

    def assert_not_shown(self, *paths):
        """Neither before root has read it nor after, when it is in the page cache."""
        for path in paths:
            for _ in range(2):
                with self.subTest(path):
                    shown = self.as_nobody("cat", path)
                    self.assertNotEqual(shown.returncode, 0)
                    self.assertNotIn("geheim", shown.stdout)
                    harness.run("cat", path)

    def test_stores_lead_nobody_to_files_that_are_closed_to_him(self):
        secret = self.secret()
        uncompressed = {"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
                        "fill_value": 0, "order": "C"}
        os.mkdir(self.path("by_link.zarr"))
        for store, reference in (("by_link.zarr", None), ("by_reference.json", [secret]),
                                 ("by_path.json", ["private/secret", 0, 8])):
            if reference is None:
                with open(self.path(store, ".zarray"), "w") as file:
                    json.dump(uncompressed, file)
                os.symlink("../private/secret", self.path(store, "0"))
            else:
                with open(self.path(store), "w") as file:
                    json.dump({"version": 1, "refs": {".zarray": json.dumps(uncompressed), "0": reference}}, file)
        with h5py.File(self.path("external.h5"), "w") as file:
            file.create_dataset("x", shape=(8,), dtype="u1", external=[(secret.encode(), 0, 8)])
        with h5py.File(self.path("private", "secret.h5"), "w") as file:
            file["x"] = np.frombuffer(b"geheim!!", "u1")
        os.chmod(self.path("private", "secret.h5"), 0o644)
        with h5py.File(self.path("virtual.h5"), "w") as file:
            layout = h5py.VirtualLayout(shape=(8,), dtype="u1")
            layout[:] = h5py.VirtualSource("private/secret.h5", "x", shape=(8,))
            file.create_virtual_dataset("x", layout)
        os.symlink("../private/secret", self.path("climate.zarr", "t2m", "secret.json"))
        paths = ("by_link.zarr/data.raw", "by_reference.json/data.raw", "by_path.json/data.raw", "external.h5/x/data.raw",
                 "virtual.h5/x/data.raw")
        alone = self.mount(self.source)
        for path in paths:
            self.assertEqual(harness.read(alone.join(path)), b"geheim!!", path)
        shared = self.mount(self.source, "--allow-other")
        self.assert_not_shown(*(shared.join(path) for path in paths))
        self.assertIn("by_link.zarr/0: open: Permission denied", harness.read(shared.path, ".ndlfs", "errors.log").decode())

    def test_metadata_do_not_come_from_files_that_are_closed(self):
        self.secret()
        with open(self.path("private", "notes.json"), "w") as file:
            json.dump({"note": "geheim"}, file)
        attributes = self.path("climate.zarr", "t2m", ".zattrs")
        os.remove(attributes)
        os.remove(self.path("climate.zarr", ".zmetadata"))
        os.symlink("../../private/notes.json", attributes)
        mounted = self.mount(self.source, "--allow-other")
        self.assertIn(b"geheim", harness.read(mounted.join("climate.zarr/t2m/.ndl.yaml")))
        for name in ("climate.zarr/.ndl.yaml", "climate.zarr/t2m/.ndl.yaml", "climate.zarr/t2m/data.raw"):
            with self.subTest(name):
                self.assert_denied(self.as_nobody("cat", mounted.join(name)))
        denied = self.as_nobody("getfattr", "-d", mounted.join("climate.zarr/t2m"))
        self.assertNotIn("geheim", denied.stdout)

    def test_chunk_that_is_closed_is_not_shown(self):
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o600)
        mounted = self.mount(self.source, "--allow-other", "--revalidate", "0")
        self.assert_not_shown(mounted.join("climate.zarr/t2m/data.raw"))
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o644)
        self.assertEqual(self.as_nobody("cat", mounted.join("climate.zarr/t2m/data.raw")).returncode, 0)


    def write_array(self, folder, attributes=None, data=b"geheim!!", **changes):
        metadata = {"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
                    "fill_value": 0, "order": "C", **changes}
        harness.write(self.path(folder, ".zarray"), json.dumps(metadata))
        if attributes is not None:
            harness.write(self.path(folder, ".zattrs"), json.dumps(attributes))
        if data is not None:
            harness.write(self.path(folder, ".".join("0" for _ in metadata["shape"]) or "0"), data)

    def test_who_is_named_in_an_access_control_list_is_denied_what_he_is_denied_there(self):
        none = 0xffffffff
        harness.write(self.path("by_user"), "geheim")
        harness.write(self.path("by_group"), "geheim")
        harness.write(self.path("by_folder", "file"), "geheim")
        harness.write(self.path("open_to_some"), "offen")
        self.write_array("chunk.zarr")
        for path in ("by_user", "by_folder", "chunk.zarr/0"):
            harness.set_access_list(self.path(path), (1, 7, none), (2, 0, NOBODY), (4, 5, none), (16, 5, none), (32, 5, none))
        # Its mode, 0640, shows what the list grants at most, not what the group has.
        os.chown(self.path("by_group"), 0, NOBODY)
        harness.set_access_list(self.path("by_group"), (1, 6, none), (2, 4, 1), (4, 0, none), (16, 4, none), (32, 0, none))
        harness.set_access_list(self.path("open_to_some"), (1, 6, none), (2, 6, 1), (4, 4, none), (16, 6, none), (32, 4, none))
        mounted = self.mount(self.source, "--allow-other")
        for path in ("by_user", "by_group", "by_folder/file"):
            self.assert_denied(self.as_nobody("cat", self.path(path)))
            self.assert_denied(self.as_nobody("cat", mounted.join(path)))
        self.assert_not_shown(mounted.join("chunk.zarr/data.raw"))
        self.assertEqual(self.as_nobody("cat", mounted.join("open_to_some")).stdout, "offen")

    def test_document_of_a_store_does_not_tell_of_what_is_in_a_closed_folder(self):
        harness.write(self.path("group.zarr", ".zgroup"), '{"zarr_format": 2}')
        self.write_array("group.zarr/closed", {"note": "geheim"}, None, shape=[], chunks=[], fill_value=42)
        self.write_array("group.zarr/open", {"note": "offen"})
        os.chmod(self.path("group.zarr", "closed"), 0o700)
        mounted = self.mount(self.source, "--allow-other")
        self.assertIn(b"geheim", harness.read(mounted.join("group.zarr/.ndl.yaml")))
        self.assert_denied(self.as_nobody("cat", mounted.join("group.zarr/.ndl.yaml")))
        self.assertEqual(self.as_nobody("cat", mounted.join("group.zarr/open/.ndl.yaml")).returncode, 0)
        os.chmod(self.path("group.zarr", "closed"), 0o755)
        harness.wait_until(lambda: self.as_nobody("cat", mounted.join("group.zarr/.ndl.yaml")).returncode == 0, "opening")
        os.chmod(self.path("group.zarr", "closed"), 0o700)
        harness.wait_until(lambda: self.as_nobody("cat", mounted.join("group.zarr/.ndl.yaml")).returncode != 0, "closing")

    def test_group_without_metadata_is_as_closed_as_its_folder(self):
        group, array = '{"zarr_format": 3, "node_type": "group"}', harness.read(self.path("ocean.zarr", "surface", "sst", "zarr.json"))
        for store, names in (("v3.zarr", ("zarr.json", "zarr.json")), ("v2.zarr", (".zgroup", ".zarray"))):
            harness.write(self.path(store, names[0]), group if names[0] == "zarr.json" else '{"zarr_format": 2}')
            for folder in ("closed", "open"):
                if names[1] == "zarr.json":
                    harness.write(self.path(store, folder, "geheim", names[1]), array)
                else:
                    self.write_array(os.path.join(store, folder, "geheim"))
            os.chmod(self.path(store, "closed"), 0o700)
            shutil.copytree(self.path(store, "open"), self.path("private", store))
            os.symlink(f"../private/{store}", self.path(store, "linked"))
        os.chmod(self.path("private"), 0o700)
        mounted = self.mount(self.source, "--allow-other")
        for store in ("v3.zarr", "v2.zarr"):
            with self.subTest(store):
                self.assertIn("geheim", os.listdir(mounted.join(store, "closed")))
                self.assertIn("geheim", self.as_nobody("ls", mounted.join(store, "open")).stdout)
                for command in (("ls", "closed"), ("cat", "closed/.ndl.yaml"), ("ls", "closed/geheim"),
                                ("ls", "linked"), ("cat", "linked/.ndl.yaml")):
                    shown = self.as_nobody(command[0], mounted.join(store, command[1]))
                    self.assert_denied(shown)
                    self.assertNotIn("geheim", shown.stdout)
                self.assertEqual(self.as_nobody("cat", mounted.join(store, "open/.ndl.yaml")).returncode, 0)
        os.chmod(self.path("v3.zarr", "closed"), 0o755)
        harness.wait_until(lambda: self.as_nobody("ls", mounted.join("v3.zarr/closed")).returncode == 0, "opening")

    def test_chunks_are_not_shown_once_their_folder_is_closed(self):
        self.secret()
        os.chmod(self.path("private"), 0o755)
        self.write_array("nested.zarr", shape=[8, 1], chunks=[8, 1], dimension_separator="/", data=None)
        harness.write(self.path("nested.zarr", "0", "0"), "geheim!!")
        with open(self.path("nested.zarr", ".zarray"), encoding="utf-8") as file:
            metadata = {**json.load(file), "shape": [8], "chunks": [8]}
        references = {".zarray": json.dumps(metadata), "0": ["private/secret", 0, 8]}
        harness.write(self.path("reference.json"), json.dumps({"version": 1, "refs": references}))
        mounted = self.mount(self.source, "--allow-other")
        paths = [mounted.join("nested.zarr/data.raw"), mounted.join("reference.json/data.raw")]
        for path in paths:
            self.assertEqual(self.as_nobody("cat", path).stdout, "geheim!!")
        os.chmod(self.path("nested.zarr", "0"), 0o700)
        os.chmod(self.path("private"), 0o700)
        for path in paths:
            harness.wait_until(lambda: self.as_nobody("cat", path).returncode != 0, "closing")
        self.assert_not_shown(*paths)

    def test_metadata_of_netcdf_do_not_come_from_files_that_are_closed(self):
        harness.write(self.path("private", "dims"), json.dumps({"dims": {"geheim": 4}, "vars": [], "groups": []}))
        os.chmod(self.path("private"), 0o700)
        harness.write(self.path("netcdf.zarr", ".nczarr"), '{"nczarr_version": "1.0.0"}')
        harness.write(self.path("netcdf.zarr", ".zgroup"), '{"zarr_format": 2}')
        os.symlink("../private/dims", self.path("netcdf.zarr", ".nczgroup"))
        mounted = self.mount(self.source, "--allow-other")
        self.assertIn(b"geheim", harness.read(mounted.join("netcdf.zarr/.ndl.yaml")))
        self.assert_denied(self.as_nobody("cat", mounted.join("netcdf.zarr/.ndl.yaml")))

    def test_folder_that_has_become_a_link_does_not_lead_to_what_is_closed(self):
        """The kernel still takes it for the folder that it was."""
        self.secret()
        os.mkdir(self.path("folder"))
        harness.write(self.path("store.zarr", ".zgroup"), '{"zarr_format": 2}')
        harness.write(self.path("private", "store.zarr", ".zgroup"), '{"zarr_format": 2}')
        harness.write(self.path("private", "store.zarr", ".zattrs"), '{"note": "geheim"}')
        mounted = self.mount(self.source, "--allow-other", "--revalidate", "60")
        for folder, target in (("folder", "private"), ("store.zarr", "private/store.zarr")):
            os.stat(mounted.join(folder))
            os.rename(self.path(folder), self.path(folder) + ".old")
            os.symlink(target, self.path(folder))
        self.assertNotIn("secret", self.as_nobody("ls", mounted.join("folder")).stdout)
        self.assert_denied(self.as_nobody("cat", mounted.join("folder/secret")))
        self.assertNotIn("geheim", self.as_nobody("cat", mounted.join("store.zarr/.ndl.yaml")).stdout)

    def test_folder_that_has_changed_places_with_a_closed_one_does_not_show_that(self):
        """Who may write to the folder above, may rename what belongs to others."""
        for folder, text in (("mine", "offen"), ("yours", "geheim")):
            harness.write(self.path(folder, "file"), text)
            harness.write(self.path(folder, "store.zarr", ".zgroup"), '{"zarr_format": 2}')
            harness.write(self.path(folder, "store.zarr", ".zattrs"), json.dumps({"note": text}))
            with open(self.path(folder, "array.npy"), "wb") as file:
                np.save(file, np.frombuffer(text.encode().ljust(8), "u1"))
        os.chmod(self.path("yours"), 0o700)
        mounted = self.mount(self.source, "--allow-other", "--revalidate", "2")
        paths = [mounted.join("mine", name) for name in ("file", "store.zarr/.ndl.yaml", "array.npy/data.raw")]
        for path in paths[1:]:
            os.stat(os.path.dirname(path))
        os.rename(self.path("mine"), self.path("other"))
        os.rename(self.path("yours"), self.path("mine"))
        for _ in range(8):
            for path in paths:
                self.assertNotIn("geheim", self.as_nobody("cat", path).stdout)
            time.sleep(0.5)
        os.chmod(self.path("mine"), 0o755)
        for path in paths:
            harness.wait_until(lambda: "geheim" in self.as_nobody("cat", path).stdout, "opening")

    def test_link_that_is_bent_while_it_is_read_never_leads_to_what_is_closed(self):
        """Who may read a file is asked of what was opened, not of where the link leads before or after."""
        secret = self.secret()
        harness.write(secret, json.dumps({"note": "geheim"}).ljust(64))
        harness.write(self.path("open"), json.dumps({"note": "offen"}).ljust(64))
        os.symlink("open", self.path("bent"))
        for number in range(100):
            self.write_array(f"a{number}.zarr", data=None, shape=[64], chunks=[64])
            os.symlink("../bent", self.path(f"a{number}.zarr", "0"))
            os.symlink("../bent", self.path(f"a{number}.zarr", ".zattrs"))
        bend = ("import os, sys\nwhile True:\n  for target in ('private/secret', 'open'):\n"
                "    os.symlink(target, sys.argv[1] + '/next'); os.rename(sys.argv[1] + '/next', sys.argv[1] + '/bent')")
        look = ("import os, sys\nseen = set()\nfor path in sys.argv[1:] * 8:\n"
                "  try: seen.add(open(path, 'rb').read())\n  except OSError: pass\n"
                "print(*(word for word in ('offen', 'geheim') if any(word.encode() in text for text in seen)))")
        mounted = self.mount(self.source, "--allow-other", "--revalidate", "0")
        paths = [mounted.join(f"a{number}.zarr", name) for number in range(100) for name in ("data.raw", ".ndl.yaml")]
        bending = subprocess.Popen([sys.executable, "-c", bend, self.source])
        try:
            seen = self.as_nobody(sys.executable, "-c", look, *paths).stdout
        finally:
            bending.kill()
            bending.wait()
        self.assertEqual(seen.split(), ["offen"])


class LimitsTest(UsersTest):
    """What one user has open leaves enough to others."""

    OPEN_ALL = """
import os, sys
held = []
try:
    while len(held) < 10_000:
        held.append(os.open(sys.argv[1 + len(held) % (len(sys.argv) - 1)], os.O_RDONLY))
except OSError as error:
    print(error.errno, len(held), flush=True)
else:
    print(0, len(held), flush=True)
sys.stdin.read()
"""

    def open_all(self, *paths):
        """A process of another user that opens `paths` until it gets an errno; that, and how many it has open."""
        greedy = subprocess.Popen(["setpriv", "--reuid=5002", "--regid=5002", "--clear-groups", "prlimit", "--nofile=20000",
                                   sys.executable, "-c", self.OPEN_ALL, *paths], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(greedy.communicate)
        error, count = map(int, greedy.stdout.readline().split())
        return greedy, error, count

    def assert_others_open(self, *paths):
        for path in paths:
            shown = self.as_nobody("ls" if os.path.isdir(path) else "cat", path)
            self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_open_files_of_one_user_leave_descriptors_to_others(self):
        mounted = self.mount(self.source, "--allow-other", prefix=("prlimit", "--nofile=1000"))
        for name in ("notes.txt", ".", "climate.zarr/t2m/data.raw"):
            with self.subTest(name):
                greedy, error, count = self.open_all(mounted.join(name))
                self.assertEqual(error, errno.EMFILE)
                self.assertGreater(count, 100)
                self.assert_others_open(mounted.path, mounted.join("notes.txt"), mounted.join("climate.zarr"),
                                        mounted.join("climate.zarr/t2m/data.raw"), mounted.join(".ndlfs/stats.json"))
                greedy.communicate()
        seen = json.loads(harness.read(mounted.join(".ndlfs/stats.json")))
        self.assertEqual(seen["opens_refused_total"], 3)
        self.assertEqual(harness.read(mounted.join(".ndlfs/errors.log")), b"")

    def test_memory_of_the_open_files_of_one_user_is_limited(self):
        text = "x" * (2 << 20)
        for number in range(30):
            harness.write(self.path(f"large{number}.zarr", ".zgroup"), '{"zarr_format": 2}')
            harness.write(self.path(f"large{number}.zarr", ".zattrs"), json.dumps({"text": text}))
        mounted = self.mount(self.source, "--allow-other", "--cache-size", "1MiB")
        greedy, error, count = self.open_all(*(mounted.join(f"large{number}.zarr/.ndl.yaml") for number in range(30)))
        self.assertEqual(error, errno.ENOMEM)
        # A text that is spilled counts as 1 MiB, and a user may have three quarters of 64 MiB.
        self.assertIn(count, range(40, 49))
        self.assert_others_open(mounted.join("large0.zarr/.ndl.yaml"), mounted.join("climate.zarr/t2m/data.raw"))
        greedy.communicate()
        harness.wait_until(lambda: json.loads(harness.read(mounted.join(".ndlfs/stats.json")))["open_files_bytes"] < 1 << 20,
                           "closing")


class OrdinaryUserTest(UsersTest):
    """Somebody without privileges mounts and reads."""

    def setUp(self):
        super().setUp()
        self.open_device()
        self.mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(self.mount_point)
        os.chown(self.mount_point, NOBODY, NOBODY)
        self.addCleanup(self.clean_up)

    def clean_up(self):
        if harness.mount_type(self.mount_point):
            harness.unmount(self.mount_point, lazy=True)

    def test_mounts_reads_and_unmounts(self):
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        program = "import sys, numpy as np; a = np.load(sys.argv[1], mmap_mode='r'); print(a.shape, a.dtype)"
        shown = self.as_nobody(sys.executable, "-c", program, os.path.join(self.mount_point, "climate.zarr/t2m/data.npy"))
        self.assertEqual(shown.stdout.strip(), "(24, 45, 90) float32", shown.stderr)
        raw = subprocess.run([*AS_NOBODY, "cat", os.path.join(self.mount_point, "climate.zarr/t2m/data.raw")],
                             capture_output=True, timeout=harness.DEADLINE)
        self.assertEqual(raw.stdout, harness.little_endian(make_data.climate()["t2m"]))
        result = self.as_nobody(self.binary, "umount", self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))

    def test_source_that_may_not_be_entered_is_refused(self):
        os.chmod(self.source, 0o700)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 1)
        self.assertIn(self.source, result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))

    def test_what_the_user_may_not_read_is_denied_and_the_rest_is_not(self):
        np.save(self.path("closed.npy"), np.arange(3))
        os.chmod(self.path("closed.npy"), 0o600)
        os.chmod(self.path("climate.zarr", "t2m", "0.0.0"), 0o600)
        os.chmod(self.path("ocean.zarr", "surface"), 0o700)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("closed.npy/data.npy", "closed.npy/.source", "climate.zarr/t2m/data.raw", "ocean.zarr/surface/sst/data.npy"):
            with self.subTest(name):
                self.assertNotEqual(self.as_nobody("cat", os.path.join(self.mount_point, name)).returncode, 0)
        for name in ("notes.txt", "climate.zarr/rain/data.raw", "ocean.zarr/profiles/depth/data.npy"):
            with self.subTest(name):
                self.assertEqual(self.as_nobody("cat", os.path.join(self.mount_point, name)).returncode, 0)

    def test_without_the_device_it_fails_with_the_reason(self):
        os.chmod("/dev/fuse", 0o600)
        result = self.as_nobody(self.binary, "mount", self.source, self.mount_point)
        self.assertEqual(result.returncode, 1)
        self.assertIn("/dev/fuse", result.stderr)
        self.assertIsNone(harness.mount_type(self.mount_point))


if __name__ == "__main__":
    if os.getuid() != 0:
        print("left out: only root can become another user")
        sys.exit(harness.SKIPPED)
    harness.main()
