# SPDX-License-Identifier: MIT
"""What the tests that mount have in common: a mount that always goes away, and ways to look at a tree.

A test is a script with unittest cases that ends with harness.main(). ctest sets

    NDLFS_BINARY        the executable under test
    NDLFS_EXAMPLES      the folder examples/

and calls it. Exit status 77 says that NDLFS_SKIP_MOUNT_TESTS=1 left it out.
"""
import ctypes
import hashlib
import os
import selectors
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ.get("NDLFS_BINARY", "")
EXAMPLES = os.environ.get("NDLFS_EXAMPLES", "")
DATA = os.path.join(EXAMPLES, "data")
SKIPPED = 77
NO_CONNECTION = "Could(n't| not) connect to server"  # as libcurl says it, before and after 8.9
DEADLINE = 240  # seconds for a mount to answer or a process to end; sanitizers on a busy machine are slow
ENDING = 60  # seconds for a daemon to end after its mount has gone, or a command that was told to

sys.path.insert(0, EXAMPLES)

# What stands in the folder of an array whose elements have a fixed size.
VIEWS = ["data.npy", "data.raw", "data.txt"]
ARRAY_FILES = [".ndl.yaml", *VIEWS]
# And beside it, where they fit.
HEADERS = {"data.raw.hdr", "data.nhdr", "data.mhd", "data.vrt", "data.xmf", "data.bov"}
BESIDE = {*HEADERS, "preview.png"}
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:")


def mount_type(path):
    """The type of the topmost file system mounted at `path`, or None. Asks the kernel, not the file system."""
    found = None
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            before, after = line.rstrip("\n").split(" - ")
            if before.split(" ")[4] == path.replace(" ", "\\040"):
                found = after.split(" ")[0]
    return found


def wait_until(condition, what, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def _end_with_parent():
    """The daemon of a test that is killed gets SIGTERM, and unmounts."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def unmount(path, lazy=False):
    """Takes down what is mounted at `path`, as root or as an ordinary user."""
    if os.getuid() == 0:
        command = ["umount", "-i", *(["-l"] if lazy else []), path]
    else:
        command = ["fusermount3", "-u", *(["-z"] if lazy else []), path]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


class Mount:
    """A mount of `source` by a daemon in the foreground, as a context manager.

    `path` is the mount point, `process` the daemon, and log() what it has written to standard error. Leaving the
    context unmounts and fails if the daemon does not end, ends badly, or a sanitizer has said something.
    """

    def __init__(self, source, *options, prefix=()):
        self.source = source
        self.command = [*prefix, BINARY, "mount", source]
        # A slow machine is no error: a read of a folder may take as long as a mount, unless `options` say less.
        self.options = options if "://" in source else ("--timeout", str(DEADLINE), *options)

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="ndlfs-mount-")
        os.chmod(self.path, 0o755)
        self.errors = tempfile.TemporaryFile()
        self.process = None
        try:
            self.process = subprocess.Popen([*self.command, self.path, "--foreground", *self.options],
                                            stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors,
                                            preexec_fn=_end_with_parent)
            wait_until(lambda: mount_type(self.path) or self.process.poll() is not None, "mounting")
            if self.process.poll() is not None:
                raise AssertionError(f"no mount, exit status {self.process.returncode}: {self.log()}")
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, kind, *_):
        result = unmount(self.path)
        try:
            self.process.wait(ENDING if result.returncode == 0 else 1)
        except subprocess.TimeoutExpired:
            self._kill()
            if kind is None:
                raise AssertionError(f"the daemon does not end: {result.stderr}{self.log()}") from None
            return
        log = self.log()
        self._kill()
        if any(report in log for report in REPORTS):
            raise AssertionError(log)
        if kind is None and self.process.returncode != 0:
            raise AssertionError(f"exit status {self.process.returncode} after unmounting: {log}")

    def _kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        while mount_type(self.path) and unmount(self.path, lazy=True).returncode == 0:
            pass
        self.errors.close()
        os.rmdir(self.path)

    def log(self):
        size = os.fstat(self.errors.fileno()).st_size
        return os.pread(self.errors.fileno(), size, 0).decode(errors="replace")

    def join(self, *parts):
        return os.path.join(self.path, *parts)


class TestCase(unittest.TestCase):
    """Cases with a temporary folder, `scratch`, which any user may enter."""

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="ndlfs-test-")
        os.chmod(self.scratch, 0o755)
        self.addCleanup(shutil.rmtree, self.scratch)

    def mount(self, source, *options, **more):
        return self.enterContext(Mount(source, *options, **more))

    def run_ok(self, *command, **more):
        """Runs a command that shall succeed; its standard output, as text."""
        result = run(*command, **more)
        self.assertEqual(result.returncode, 0, f"{command}: {result.stdout}{result.stderr}")
        return result.stdout


class SourceTestCase(TestCase):
    """Cases that mount an empty folder of their own, `source`, and fill it before or after."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)

    def path(self, *parts):
        return os.path.join(self.source, *parts)


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=DEADLINE * 2, **more)


def outputs_of(processes):
    """What `processes` write to their pipes until they end. However long that takes, something comes within DEADLINE."""
    outputs = {process.stdout: bytearray() for process in processes}
    with selectors.DefaultSelector() as selector:
        for pipe in outputs:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(DEADLINE)
            if not ready:
                for process in processes:
                    process.kill()
                    process.wait()
                raise AssertionError(f"nothing was written for {DEADLINE} s")
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 20)
                outputs[key.fileobj] += piece
                if not piece:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    for process in processes:
        process.wait(DEADLINE)
    return list(outputs.values())


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def set_access_list(path, *entries):
    """Entries are (tag, permissions, id), as in <linux/posix_acl_xattr.h>. Fails on a file system without such lists:
    TMPDIR can name a folder of another."""
    value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_access", value)


def put_variable(file, name, values, dimensions, **attributes):
    """A variable of a netCDF file, whose values are stored as they are."""
    variable = file.createVariable(name, values.dtype, dimensions, fill_value=False)
    variable.set_auto_maskandscale(False)
    variable.setncatts(attributes)
    variable[:] = values


def walk(top):
    """Every path below `top` but ndlfs's own control folder, relative to it, sorted."""
    found = []
    for folder, names, files in os.walk(top):
        if folder == top and ".ndlfs" in names:
            names.remove(".ndlfs")
        found += [os.path.relpath(os.path.join(folder, name), top) for name in names + files]
    return sorted(found)


def digests(top):
    """SHA-256 of every regular file below `top`, by relative path."""
    found = {}
    for name in walk(top):
        path = os.path.join(top, name)
        if stat.S_ISREG(os.lstat(path).st_mode):
            found[name] = hashlib.sha256(read(path)).hexdigest()
    return found


def digests_but_pages(top):
    """The same without index.html, which names the mount point."""
    return {name: digest for name, digest in digests(top).items() if os.path.basename(name) != "index.html"}


def little_endian(array):
    """The bytes that data.raw shall hold: C order, little-endian, as packed as the dtype is."""
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def main():
    if os.environ.get("NDLFS_SKIP_MOUNT_TESTS") == "1":
        print("left out: NDLFS_SKIP_MOUNT_TESTS=1")
        sys.exit(SKIPPED)
    if not os.path.exists("/dev/fuse"):
        sys.exit("there is no /dev/fuse; NDLFS_SKIP_MOUNT_TESTS=1 leaves out the tests that mount")
    unittest.main(verbosity=2)
