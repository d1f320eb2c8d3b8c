# SPDX-License-Identifier: MIT
"""A mount for others shows nobody what the kernel would not let him read in the source: each request reads as the process
that asks, and what was read for one is not told to another. Runs as root, to become others; left out otherwise.

NDLFS_SWAP_SECONDS says how long files are exchanged between a look and a read, for each format (1 unless set)."""
import contextlib
import ctypes
import errno
import json
import os
import stat
import subprocess
import sys
import threading
import zipfile

import h5py
import harness
import netCDF4
import numpy as np

ALICE, BOB, STAFF = 5001, 5002, 6001
SECRET = "GEHEIM"
NONE = 0xffffffff
SWAP_SECONDS = float(os.environ.get("NDLFS_SWAP_SECONDS", "1"))


def v2(**more):
    return json.dumps({"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
                       "fill_value": 0, "order": "C", **more})


def become(uid, groups=()):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"]


@contextlib.contextmanager
def as_user(uid):
    """This process, as far as files are concerned. It has no groups but its own."""
    before = os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(before)


class AccessCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        for uid, name in ((ALICE, "alice/private"), (BOB, "bob")):
            os.makedirs(self.path(name))
            os.chown(self.path(name), uid, uid)
        os.chown(self.path("alice"), ALICE, ALICE)
        os.chmod(self.path("alice", "private"), 0o700)

    def path(self, *parts):
        return os.path.join(self.source, *parts)

    def put(self, name, content, uid=0, mode=0o644):
        harness.write(self.path(name), content)
        os.chown(self.path(name), uid, uid)
        os.chmod(self.path(name), mode)

    def share(self, *options):
        return self.mount(self.source, "--allow-other", *options)

    def run_as(self, uid, *command, groups=()):
        return harness.run(*become(uid, groups), *command)

    def show(self, uid, *paths, groups=()):
        """All that `cat`, `ls` and `getfattr` show of these paths, and what they complain of."""
        shown = ""
        for path in paths:
            for command in (("cat", path), ("ls", "-A", path), ("getfattr", "-d", path)):
                result = self.run_as(uid, *command, groups=groups)
                shown += result.stdout + result.stderr
        return shown


class MetadataTest(AccessCase):
    def setUp(self):
        super().setUp()
        self.put("alice/private/config.json", json.dumps({"password": SECRET, "hosts": ["a", "b"]}), ALICE, 0o600)

    def test_link_does_not_lead_to_attributes_that_are_closed(self):
        self.put("bob/a.zarr/.zgroup", '{"zarr_format": 2}')
        os.symlink("../../alice/private/config.json", self.path("bob/a.zarr/.zattrs"))
        mounted = self.share()
        self.assertIn(SECRET, self.show(ALICE, mounted.join("bob/a.zarr")))
        self.assertIn(SECRET, self.show(0, mounted.join("bob/a.zarr/.ndl.yaml")))
        for _ in range(2):
            self.assertNotIn(SECRET, self.show(BOB, mounted.join("bob/a.zarr"), mounted.join("bob/a.zarr/.ndl.yaml"),
                                               mounted.join("bob/a.zarr/error.txt")))

    def test_reference_does_not_lead_to_attributes_that_are_closed(self):
        group, secret = '{"zarr_format": 2}', ["../alice/private/config.json"]
        refs = {".zgroup": group, ".zattrs": secret, "g/.zgroup": group, "g/.zattrs": secret}
        self.put("bob/k.json", json.dumps({"version": 1, "refs": refs}), BOB)
        mounted = self.share()
        paths = [mounted.join("bob/k.json", name) for name in ("", ".ndl.yaml", "error.txt", "g", "g/.ndl.yaml", "g/error.txt")]
        self.assertIn(SECRET, self.show(ALICE, *paths))
        self.assertNotIn(SECRET, self.show(BOB, *paths))

    def test_error_does_not_quote_what_is_closed(self):
        self.put("alice/private/secret.txt", SECRET, ALICE, 0o600)
        refs = {".zgroup": '{"zarr_format": 2}'}
        for k in range(len(SECRET)):
            refs[f"b{k}/.zarray"] = ["../alice/private/secret.txt", k, 1]
        self.put("bob/x.json", json.dumps({"version": 1, "refs": refs}), BOB)
        mounted = self.share()
        texts = {uid: [self.show(uid, mounted.join(f"bob/x.json/b{k}"), mounted.join(f"bob/x.json/b{k}/error.txt"))
                       for k in range(len(SECRET))] for uid in (ALICE, BOB)}
        for k, letter in enumerate(SECRET):
            self.assertIn(f"'{letter}'", texts[ALICE][k])
            self.assertEqual(texts[BOB][k].replace(f"/b{k}", "/b0"), texts[BOB][0])

    def test_log_has_for_each_user_what_they_have_met(self):
        self.put("alice/private/broken.npy", SECRET * 100, ALICE, 0o600)
        mounted = self.share()
        self.show(ALICE, mounted.join("alice/private/broken.npy"))
        log = mounted.join(".ndlfs/errors.log")
        self.assertIn("broken.npy", harness.read(log).decode())
        self.assertIn("broken.npy", self.run_as(ALICE, "cat", log).stdout)
        result = self.run_as(BOB, "cat", log)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertEqual(self.run_as(BOB, "stat", "-c", "%s", log).stdout, "0\n")

    def test_what_one_is_refused_is_not_missing_for_another(self):
        """What was found out as one caller stands for no other one."""
        for name in (".zmetadata", "t/.zarray", "t/.zattrs"):
            for first in (BOB, ALICE):
                with self.subTest(name=name, first=first):
                    store = f"{name.replace('/', '_')}{first}.zarr"
                    self.put(f"{store}/.zgroup", '{"zarr_format": 2}')
                    self.put(f"{store}/t/.zarray", v2())
                    self.put(f"{store}/t/.zattrs", json.dumps({"note": SECRET}))
                    self.put(f"{store}/.zmetadata", json.dumps({"zarr_consolidated_format": 1, "metadata": {}}))
                    os.chown(self.path(store, name), ALICE, ALICE)
                    os.chmod(self.path(store, name), 0o600)
                    with harness.Mount(self.source, "--allow-other") as mounted:
                        paths = [mounted.join(store, "t"), mounted.join(store, "t/.ndl.yaml")]
                        if first == BOB:
                            self.show(BOB, *paths)
                        self.assertEqual(self.show(ALICE, *paths).count(SECRET), 2)
                        self.assertEqual(self.run_as(ALICE, "cat", mounted.join(store, "t/data.raw")).returncode, 0)
                        self.assertEqual(SECRET in self.show(BOB, *paths), name == ".zmetadata")


class DataTest(AccessCase):
    def write_store(self, name, chunk, uid=0, mode=0o644):
        self.put(f"{name}/.zarray", v2(shape=[16]))
        self.put(f"{name}/0", "offen!!!")
        self.put(f"{name}/1", chunk, uid, mode)

    def test_pages_that_another_has_read_are_not_shown(self):
        self.write_store("a.zarr", SECRET + "!!", ALICE, 0o600)
        mounted = self.share()
        path = mounted.join("a.zarr/data.raw")
        with as_user(BOB):
            mine = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, mine)
        with as_user(ALICE):
            hers = os.open(path, os.O_RDONLY)
            self.addCleanup(os.close, hers)
            self.assertEqual(os.pread(hers, 16, 0), b"offen!!!GEHEIM!!")
        for descriptor in (mine, None):
            with as_user(BOB), self.assertRaises(OSError):
                os.pread(descriptor, 16, 0) if descriptor else harness.read(path)
        self.assertNotIn(SECRET, self.show(BOB, path))
        with as_user(ALICE):
            self.assertEqual(harness.read(path), b"offen!!!GEHEIM!!")

    def test_reader_who_may_not_read_it_all_keeps_nobody_from_it(self):
        self.write_store("a.zarr", SECRET + "!!", ALICE, 0o600)
        mounted = self.share()
        for uid in (BOB, ALICE, BOB, 0, BOB, ALICE):
            result = self.run_as(uid, "cat", mounted.join("a.zarr/data.raw"))
            self.assertEqual(SECRET in result.stdout, uid != BOB, uid)

    def test_who_has_opened_a_file_reads_it_on(self):
        """As in the source, access is asked for when a file is opened; what is not open yet is opened as the one who has."""
        self.write_store("a.zarr", "offen!!!")
        mounted = self.share()
        with as_user(ALICE):
            descriptor = os.open(mounted.join("a.zarr/data.raw"), os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        with as_user(BOB):
            self.assertEqual(os.pread(descriptor, 16, 0), b"offen!!!offen!!!")

    def test_capabilities_of_a_user_namespace_open_nothing(self):
        self.put("secret.txt", SECRET, ALICE, 0o600)
        self.put("root.txt", SECRET, 0, 0o600)
        self.put("open.txt", "offen")
        self.write_store("a.zarr", SECRET + "!!", ALICE, 0o600)
        namespace = become(BOB) + ["unshare", "--user", "--map-root-user"]
        mounted = self.share()
        self.assertEqual(harness.run(*namespace, "id", "-u").stdout, "0\n")
        for name in ("secret.txt", "root.txt", "a.zarr/data.raw"):
            shown = harness.run(*namespace, "cat", mounted.join(name))
            self.assertNotEqual(shown.returncode, 0, name)
            self.assertNotIn(SECRET, shown.stdout)
        self.assertEqual(harness.run(*namespace, "cat", mounted.join("open.txt")).stdout, "offen")

    def test_supplementary_groups_count(self):
        self.put("staff.txt", SECRET)
        self.put("others.txt", SECRET)
        self.write_store("a.zarr", SECRET + "!!")
        for name, mode in (("staff.txt", 0o640), ("others.txt", 0o604), ("a.zarr/1", 0o640)):
            os.chown(self.path(name), 0, STAFF)
            os.chmod(self.path(name), mode)
        mounted = self.share()
        for groups, expected in (((), (False, True, False)), ((7, STAFF), (True, False, True)), ((7,), (False, True, False))):
            for name, readable in zip(("staff.txt", "others.txt", "a.zarr/data.raw"), expected):
                with self.subTest(name=name, groups=groups):
                    shown = self.run_as(BOB, "cat", mounted.join(name), groups=groups)
                    self.assertEqual(SECRET in shown.stdout, readable, shown.stderr)

    def test_access_lists_count(self):
        for name, permissions in (("denied", 0), ("granted", 4)):
            self.put(f"{name}.txt", SECRET)
            self.write_store(f"{name}.zarr", SECRET + "!!")
            for file in (f"{name}.txt", f"{name}.zarr/1"):
                harness.set_access_list(self.path(file), (1, 6, NONE), (2, permissions, BOB), (4, 4, NONE), (16, 4, NONE),
                                        (32, 4 - permissions, NONE))
        mounted = self.share()
        for uid, name, readable in ((BOB, "denied", False), (ALICE, "denied", True), (ALICE, "granted", False)):
            for file in (f"{name}.txt", f"{name}.zarr/data.raw"):
                with self.subTest(uid=uid, file=file):
                    if file.endswith(".txt") and readable:
                        continue  # the mode that is shown has no bit that the list may deny to somebody
                    self.assertEqual(SECRET in self.run_as(uid, "cat", mounted.join(file)).stdout, readable)
        self.assertIn(SECRET, self.run_as(BOB, "cat", mounted.join("granted.zarr/data.raw")).stdout)

    def test_no_thread_stays_somebody_else(self):
        self.write_store("a.zarr", "offen!!!")
        with h5py.File(self.path("a.h5"), "w") as file:
            file["x"] = np.arange(8)
        mounted = self.share()
        tasks = f"/proc/{mounted.process.pid}/task"

        def identity(task):
            with open(f"{tasks}/{task}/status", encoding="ascii") as file:
                return [line for line in file if line.startswith(("Uid:", "Gid:", "Groups:", "CapEff:"))]
        os.listdir(mounted.path)  # once it answers, it has given up what it does not need
        before = identity(mounted.process.pid)
        for uid in (ALICE, BOB):
            self.assertEqual(self.run_as(uid, "cp", "-r", mounted.path, f"/dev/null/{uid}", groups=(STAFF,)).returncode, 1)
            for name in ("a.zarr/data.raw", "a.zarr/data.jsonl", "a.h5/x/data.npy", "a.h5/.ndl.yaml"):
                self.assertEqual(self.run_as(uid, "cat", mounted.join(name), groups=(STAFF,)).returncode, 0, name)
        for task in os.listdir(tasks):
            self.assertEqual(identity(task), before)


class ChangesTest(AccessCase):
    def test_folder_that_is_a_working_directory_is_closed_like_any_other(self):
        self.put("z.zarr/.zgroup", '{"zarr_format": 2}')
        self.put("z.zarr/.zattrs", '{"note": "open"}')
        mounted = self.share("--revalidate", "0.2")
        look = ("import os, sys\nfor line in sys.stdin:\n  try: print(os.listdir('.'), os.getxattr('.', 'user.attr.note'), flush=True)\n"
                "  except OSError as e: print('error', e.errno, flush=True)")
        looking = subprocess.Popen([*become(BOB), sys.executable, "-c", look], cwd=mounted.join("z.zarr"), text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def seen():
            looking.stdin.write("\n")
            looking.stdin.flush()
            return looking.stdout.readline()
        try:
            self.assertIn("open", seen())
            os.chmod(self.path("z.zarr"), 0o700)
            self.put("z.zarr/.zattrs", json.dumps({"note": SECRET}), mode=0o600)
            self.put("z.zarr/new/.zgroup", '{"zarr_format": 2}')
            self.assertIn(SECRET, self.show(0, mounted.join("z.zarr")))
            harness.wait_until(lambda: "error" in seen(), "closing")
            self.assertEqual(seen(), f"error {errno.EACCES}\n")
        finally:
            looking.stdin.close()
            looking.wait()
            looking.stdout.close()

    def make_pair(self, extension):
        for name, text, uid, mode in (("mine", "open", BOB, 0o644), ("hers", SECRET, ALICE, 0o600)):
            path = self.path("pool", f"{name}.{extension}")
            if extension == "h5":
                with h5py.File(path, "w") as file:
                    file.attrs["note"] = text
                    file[f"{text}_var"] = np.arange(4)
                    file[f"{text}_var"].attrs["s"] = text
            elif extension == "nc":
                with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
                    file.note = text
                    file.createDimension(f"{text}_dim", 4)
                    file.createVariable(f"{text}_var", "i4", (f"{text}_dim",))[:] = [1, 2, 3, 4]
            elif extension == "npy":
                np.save(path, np.array([(0, 1)] * 4, dtype=[(f"{text}_a", "i4"), ("b", "i4")]))
            elif extension == "npz":
                np.savez(path, **{f"{text}_arr": np.arange(4)})
            elif extension == "zarr":
                for file, content in ((".zgroup", '{"zarr_format": 2}'), (".zattrs", json.dumps({"note": text})),
                                      (f"{text}_arr/.zarray", v2()), (f"{text}_arr/0", text.ljust(8))):
                    harness.write(os.path.join(path, file), content)
                mode |= stat.S_IXUSR | (mode & 0o044) >> 2
            elif extension == "zip":
                with zipfile.ZipFile(path, "w") as file:
                    file.writestr(".zgroup", '{"zarr_format": 2}')
                    file.writestr(".zattrs", json.dumps({"note": text}))
            elif extension == "yaml":
                harness.write(path, f"/:\n  attributes:\n    note: {text}\n  ndarrays:\n    {text}_arr: {{shape: [2], type: int32, value: [1, 2]}}\n")
            else:
                refs = {".zgroup": '{"zarr_format": 2}', ".zattrs": json.dumps({"note": text}), f"{text}_arr/.zarray": v2(),
                        f"{text}_arr/0": text.ljust(8)}
                harness.write(path, json.dumps({"version": 1, "refs": refs}))
            os.chown(path, uid, uid)
            os.chmod(path, mode)

    LOOK = """
import os, sys, time
base, end, secret = sys.argv[1], time.monotonic() + float(sys.argv[2]), sys.argv[3].encode()
def read(path):
    with open(path, "rb") as file: return file.read(65536)
def names(path): return "\\n".join(os.listdir(path)).encode()
def attributes(path): return b"\\n".join(os.getxattr(path, name) for name in os.listxattr(path))
ways = [(attributes, ""), (names, ""), (read, "/.ndl.yaml"), (attributes, "/GEHEIM_var"), (read, "/GEHEIM_var/.ndl.yaml"),
        (read, "/GEHEIM_var/data.raw"), (read, "/GEHEIM_arr/data.raw"), (read, "/data.npy"), (read, "/error.txt"), (read, "")]
looks = 0
# On a busy machine a few seconds may show nothing at all.
while time.monotonic() < (end if looks else end + 60):
    for way, name in ways:
        try: shown = way(base + name)
        except OSError: continue
        looks += 1
        if secret in shown: print("shown by", way.__name__, name, shown[:200], flush=True)
print("looks" if looks else "nothing was seen")
"""

    def exchange(self, a, b, stop):
        libc = ctypes.CDLL(None, use_errno=True)
        while not stop.is_set():
            if libc.renameat2(-100, a.encode(), -100, b.encode(), 2) != 0:
                raise OSError(ctypes.get_errno(), "renameat2")
            stop.wait(0.0003)

    def test_files_that_are_exchanged_between_a_look_and_a_read_are_not_shown(self):
        os.mkdir(self.path("pool"))
        os.chmod(self.path("pool"), 0o777)
        mounted = self.share()
        for extension in ("h5", "nc", "npy", "npz", "json", "zarr", "zip", "yaml"):
            with self.subTest(extension):
                self.make_pair(extension)
                mine, hers = (self.path("pool", f"{name}.{extension}") for name in ("mine", "hers"))
                stop = threading.Event()
                exchanging = threading.Thread(target=self.exchange, args=(mine, hers, stop))
                look = [sys.executable, "-c", self.LOOK, mounted.join("pool", f"mine.{extension}"), str(SWAP_SECONDS), SECRET]
                exchanging.start()
                try:
                    # Alice looks too, so that hers is in memory.
                    looking = [subprocess.Popen([*become(uid), *look], stdout=subprocess.PIPE, text=True) for uid in (BOB, ALICE, BOB)]
                    shown = [process.communicate(timeout=SWAP_SECONDS + harness.DEADLINE)[0] for process in looking]
                finally:
                    stop.set()
                    exchanging.join()
                self.assertEqual((shown[0], shown[2]), ("looks\n", "looks\n"))


if __name__ == "__main__":
    if os.getuid() != 0:
        print("left out: only root can become another user")
        sys.exit(harness.SKIPPED)
    harness.main()
