# SPDX-License-Identifier: MIT
"""Every way to change something is EROFS, and leaves source and mount as they were."""
import errno
import os
import shutil

import harness

TARGETS = [
    "notes.txt", "arrays", "arrays/c_order.npy", "arrays/c_order.npy/.source", "climate.zarr", "climate.zarr/.source",
    "climate.zarr/.ndl.yaml", "climate.zarr/t2m", "climate.zarr/t2m/data.npy", "climate.zarr/t2m/data.raw", ".ndlfs",
    ".ndlfs/stats.json",
]
FOLDERS = ["", "arrays", "arrays/c_order.npy", "climate.zarr", "climate.zarr/t2m", ".ndlfs"]

ON_ANYTHING = {
    "chmod": lambda path: os.chmod(path, 0o777),
    "chown": lambda path: os.chown(path, 1, 1),
    "utime": lambda path: os.utime(path, (1, 1)),
    "rename": lambda path: os.rename(path, path + ".renamed"),
    "setxattr": lambda path: os.setxattr(path, "user.ndl.path", b"x"),
    "removexattr": lambda path: os.removexattr(path, "user.ndl.path"),
}
ON_FILES = {
    "open for writing": lambda path: os.close(os.open(path, os.O_WRONLY)),
    "open for both": lambda path: os.close(os.open(path, os.O_RDWR)),
    "open to append": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)),
    "open and truncate": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_TRUNC)),
    "truncate": lambda path: os.truncate(path, 0),
    "unlink": os.unlink,
    "link": lambda path: os.link(path, path + ".linked"),
}
IN_FOLDERS = {
    "create": lambda path: os.close(os.open(path + "/new", os.O_CREAT | os.O_WRONLY)),
    "mkdir": lambda path: os.mkdir(path + "/new"),
    "mknod": lambda path: os.mknod(path + "/new", 0o100644),
    "mkfifo": lambda path: os.mkfifo(path + "/new"),
    "symlink": lambda path: os.symlink("target", path + "/new"),
}


class ReadOnlyTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        shutil.copytree(harness.DATA, self.source, dirs_exist_ok=True)
        self.mounted = self.mount(self.source)

    def assert_refused(self, name, change, path):
        with self.subTest(f"{name} {os.path.relpath(path, self.mounted.path)}"):
            with self.assertRaises(OSError) as caught:
                change(path)
            self.assertEqual(caught.exception.errno, errno.EROFS, caught.exception)

    def test_every_change_is_refused(self):
        before = harness.digests(self.mounted.path), harness.digests(self.source)
        for target in TARGETS:
            path = self.mounted.join(target)
            for name, change in ON_ANYTHING.items():
                if not os.path.islink(path):
                    self.assert_refused(name, change, path)
            for name, change in ON_FILES.items():
                if os.path.isfile(path) and not os.path.islink(path):
                    self.assert_refused(name, change, path)
        for folder in FOLDERS:
            for name, change in IN_FOLDERS.items():
                self.assert_refused(name, change, self.mounted.join(folder).rstrip("/"))
        for folder in FOLDERS[1:]:
            self.assert_refused("rmdir", os.rmdir, self.mounted.join(folder))
        self.assert_refused("unlink", os.unlink, self.mounted.join("climate.zarr/.source"))
        self.assertEqual((harness.digests(self.mounted.path), harness.digests(self.source)), before)

    def test_the_source_is_never_touched(self):
        def stamps():
            return {name: (status.st_mtime_ns, status.st_ctime_ns, status.st_size)
                    for name in harness.walk(self.source)
                    for status in [os.lstat(os.path.join(self.source, name))]}
        before = stamps()
        harness.digests(self.mounted.path)
        self.assertEqual(stamps(), before)


if __name__ == "__main__":
    harness.main()
