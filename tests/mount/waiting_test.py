# SPDX-License-Identifier: MIT
"""Requests that take long: nobody waits for those of others, every one is answered in time, and none goes on for a
caller that is gone. The source is slow because NDLFS_FAULTS_LIBRARY (faults.cc), preloaded into the daemon, sleeps. Runs
as root, to become other users."""
import ctypes
import errno
import itertools
import json
import multiprocessing
import os
import signal
import sys

import harness
import numpy as np

LIBRARY = os.environ["NDLFS_FAULTS_LIBRARY"]
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.pread.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long]
LIBC.pread.restype = ctypes.c_ssize_t
ANN, BOB, EVE = 5001, 5002, 5003
STORES = 80  # more than the requests that the kernel hands over by default
SOME_WAIT = 10  # of as many reads as there are stores: 48 of one user run at once if none gets on
VALUES = np.arange(4096, dtype="<i4")
SLOW = "values/0"  # what the path of each slow chunk ends in


class Worker:
    """A process of another user that runs `action`, and says what came of it: an errno, or 0."""

    def __init__(self, user, action):
        self.receiver, sender = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            try:
                action()
                result = 0
            except OSError as error:
                result = error.errno
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                result = 255
            os.write(sender, bytes([result]))
            os._exit(0)
        os.close(sender)
        self.answer = None

    def is_done(self):
        if self.pid is not None and os.waitpid(self.pid, os.WNOHANG) != (0, 0):
            self.pid = None
        return self.pid is None

    def result(self):
        """None if it was killed."""
        harness.wait_until(self.is_done, "an answer")
        if self.receiver is not None:
            said = os.read(self.receiver, 1)
            self.answer = said[0] if said else None
            self.close()
        return self.answer

    def end(self):
        if not self.is_done():
            os.kill(self.pid, signal.SIGKILL)
            harness.wait_until(self.is_done, "the end of a reader that was killed")
        self.close()

    def close(self):
        if self.receiver is not None:
            os.close(self.receiver)
        self.receiver = None


def read_direct(path, size=4096):
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        return os.pread(file, size, 0)
    finally:
        os.close(file)


class WaitingCase(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        for number in range(STORES):
            array = self.path(f"s{number}.zarr", "values")
            harness.write(f"{array}/.zarray", json.dumps({
                "zarr_format": 2, "shape": [4096], "chunks": [4096], "dtype": "<i4", "compressor": None, "filters": None,
                "fill_value": 0, "order": "C"}))
            harness.write(f"{array}/0", VALUES.tobytes())
        np.save(self.path("sound.npy"), VALUES)
        for number in range(30):
            os.makedirs(self.path(f"frozen{number}", "folder"))
        os.makedirs(self.path("plain"))
        harness.write(self.path("plain", "file.txt"), "plain")
        self.control = os.path.join(self.scratch, "faults")
        harness.write(self.control, "")

    def mount_slow(self, *options):
        os.environ.update(LD_PRELOAD=LIBRARY, NDLFS_FAULTS=self.control)
        try:
            self.mounted = self.mount(self.source, *options)
        finally:
            del os.environ["LD_PRELOAD"]
        self.addCleanup(self.inject)
        os.stat(self.slow(0))

    def inject(self, *lines):
        harness.write(self.control + ".new", "".join(line + "\n" for line in lines))
        os.rename(self.control + ".new", self.control)

    def slow(self, number):
        return self.mounted.join(f"s{number}.zarr", "values", "data.raw")

    def start(self, user, action, *arguments):
        worker = Worker(user, lambda: action(*arguments))
        self.addCleanup(worker.end)
        return worker

    def statistic(self, name):
        return json.loads(harness.read(self.mounted.path, ".ndlfs", "stats.json"))[name]


class OthersTest(WaitingCase):
    def test_nobody_waits_for_the_slow_requests_of_two_others(self):
        self.mount_slow("--allow-other", "--threads", "2")
        self.inject(f"wait 20000 {SLOW}")
        slow = [self.start(user, read_direct if number % 2 else harness.read, self.slow(number))
                for number in range(20) for user in [ANN if number < 10 else BOB]]
        harness.wait_until(lambda: self.statistic("requests_running") + self.statistic("requests_waiting") >= 20,
                           "twenty requests")

        def look_around():
            assert "plain" in os.listdir(self.mounted.path)
            assert os.listdir(self.mounted.join("plain")) == ["file.txt"]
            assert "data.raw" in os.listdir(self.mounted.join("s30.zarr", "values"))
            os.statvfs(self.mounted.path)
            assert os.stat(self.mounted.join("sound.npy", "data.npy")).st_size > VALUES.nbytes
            assert harness.read(self.mounted.join("plain", "file.txt")) == b"plain"
            assert read_direct(self.mounted.join("sound.npy", "data.raw")) == VALUES.tobytes()[:4096]
            assert harness.read(self.mounted.join("sound.npy", "data.raw")) == VALUES.tobytes()
            assert b"int32" in harness.read(self.mounted.join("s31.zarr", "values", ".ndl.yaml"))
        for user in (EVE, ANN):
            self.assertEqual(self.start(user, os.statvfs, self.mounted.path).result(), 0)
        self.assertEqual(self.start(EVE, look_around).result(), 0)
        self.assertFalse(any(worker.is_done() for worker in slow), "the slow ones should still wait")

    def test_eighty_slow_reads_of_one_user_keep_another_one_from_nothing(self):
        self.mount_slow("--allow-other", "--threads", "2", "--fetches", "4")
        self.inject(f"wait 20000 {SLOW}")
        slow = [self.start(BOB, harness.read, self.slow(number)) for number in range(STORES)]
        harness.wait_until(lambda: self.statistic("requests_running") + self.statistic("requests_waiting") >= STORES,
                           "all of them")
        sound = self.mounted.join("sound.npy", "data.raw")
        for read in (harness.read, read_direct):
            self.assertEqual(self.start(EVE, read, sound).result(), 0)
        self.assertFalse(any(worker.is_done() for worker in slow), "the slow ones should still wait")


class SlowRequestsTest(WaitingCase):
    def slow_paths(self):
        text = harness.read(self.mounted.path, ".ndlfs", "stats.json")
        return {request["path"] for request in json.loads(text)["slow_requests"]
                if request["kind"] == "read" and request["seconds"] >= 0.05}

    def test_each_user_sees_their_own_and_root_sees_all(self):
        self.mount_slow("--allow-other")
        self.inject(f"wait 50 {SLOW}")
        for user, number in ((ANN, 1), (BOB, 2)):
            self.assertEqual(self.start(user, harness.read, self.slow(number)).result(), 0)
        of_ann, of_bob = "/s1.zarr/values/data.raw", "/s2.zarr/values/data.raw"

        def ann_looks():
            assert self.slow_paths() == {of_ann}
        self.assertEqual(self.start(ANN, ann_looks).result(), 0)
        self.assertEqual(self.slow_paths(), {of_ann, of_bob})
        shown = self.run_ok(harness.BINARY, "stats", self.mounted.path, "--count=1")
        self.assertNotIn("s1.zarr", shown, "lines are for numbers")


class TimeoutTest(WaitingCase):
    def test_read_that_takes_too_long_fails_and_succeeds_later(self):
        self.mount_slow("--timeout", "1")
        self.inject(f"wait 8000 {SLOW}")
        for read in (read_direct, harness.read):
            with self.assertRaises(OSError) as caught:
                read(self.slow(0))
            self.assertEqual(caught.exception.errno, errno.ETIMEDOUT)
        log = harness.read(self.mounted.path, ".ndlfs", "errors.log").decode()
        self.assertIn("s0.zarr/values/data.raw: no answer within 1 s (--timeout)", log)
        self.assertGreaterEqual(self.statistic("requests_timed_out_total"), 2)
        self.assertEqual(harness.read(self.mounted.join("sound.npy", "data.raw")), VALUES.tobytes())
        self.assertNotIn("error.txt", os.listdir(os.path.dirname(self.slow(0))))
        self.inject()
        self.assertEqual(harness.read(self.slow(1)), VALUES.tobytes())

    def test_a_read_takes_no_longer_than_the_timeout(self):
        self.mount_slow("--timeout", "2")
        self.inject(f"wait 20000 {SLOW}")
        with open(self.slow(0), "rb", buffering=0) as file:
            for _ in range(2):  # the second one is another try, which has its own time
                before = self.statistic("requests_timed_out_total")
                with self.assertRaises(OSError) as caught:
                    file.read(4096)
                self.assertEqual(caught.exception.errno, errno.ETIMEDOUT)
                self.assertEqual(self.statistic("requests_timed_out_total"), before + 1)

    def test_folder_that_does_not_answer_fails_and_stops_nobody(self):
        self.mount_slow("--timeout", "1", "--revalidate", "0")
        self.inject("look 6000 frozen")
        with self.assertRaises(OSError) as caught:
            os.stat(self.mounted.join("frozen0", "folder"))
        self.assertEqual(caught.exception.errno, errno.ETIMEDOUT)
        self.assertEqual(os.listdir(self.mounted.join("plain")), ["file.txt"])
        self.inject()
        harness.wait_until(lambda: self.statistic("requests_abandoned") == 0, "the end of what was slow")
        self.assertEqual(os.listdir(self.mounted.join("frozen0")), ["folder"])

    def test_more_slow_looks_than_threads_stop_nobody(self):
        self.mount_slow("--allow-other", "--revalidate", "0", "--threads", "1")
        self.inject("look 20000 frozen")
        slow = [self.start(BOB, os.stat, self.mounted.join(f"frozen{number}")) for number in range(30)]
        harness.wait_until(lambda: self.statistic("requests_running") >= 10, "requests")
        self.assertEqual(self.start(EVE, os.listdir, self.mounted.join("plain")).result(), 0)
        self.assertFalse(any(worker.is_done() for worker in slow), "the slow ones should still wait")
        self.inject()
        self.assertEqual({worker.result() for worker in slow}, {0})


class ManyStoresTest(WaitingCase):
    def test_mounting_looks_at_no_store(self):
        """A look at each would take five minutes."""
        for number in range(3000):
            harness.write(self.path(f"{number:04}.zarr", ".zgroup"), '{"zarr_format": 2}')
        self.inject("look 100 .zarr")
        self.mount_slow()
        self.assertEqual(harness.read(self.mounted.join("1234.zarr", ".ndl.yaml")), b"/: {}\n")


class SignalTest(WaitingCase):
    def test_nothing_is_read_for_readers_that_were_killed_before_their_turn(self):
        self.mount_slow("--allow-other", "--threads", "1", "--fetches", "1")
        self.inject(f"wait 30000 {SLOW}")
        slow = [self.start(BOB, harness.read, self.slow(number)) for number in range(STORES)]
        harness.wait_until(lambda: self.statistic("requests_waiting") >= SOME_WAIT, "requests that wait")
        for worker in slow:
            worker.end()
        harness.wait_until(lambda: self.statistic("requests_waiting") == 0, "readers that are gone to be noticed")
        self.assertGreater(self.statistic("requests_interrupted_total"), 0)
        self.inject()
        harness.wait_until(lambda: self.statistic("requests_running") <= 1, "the reads under way")
        self.assertEqual(self.statistic("requests_abandoned"), 0)
        self.assertEqual(harness.read(self.slow(STORES - 1)), VALUES.tobytes())

    def read_with_handler(self, sent, number, flags):
        """The errno of a read (0: it was right) during which the signal `sent` comes, which has a handler."""
        buffer = ctypes.create_string_buffer(4096 * 2)
        aligned = ctypes.addressof(buffer) + -ctypes.addressof(buffer) % 4096
        file = os.open(self.slow(number), os.O_RDONLY | flags)
        signal.signal(sent, lambda *_: None)
        self.ready.set()
        count = LIBC.pread(file, aligned, 4096, 0)
        if count < 0:
            raise OSError(ctypes.get_errno(), "pread")
        assert ctypes.string_at(aligned, count) == VALUES.tobytes()[:4096]

    def signalled(self, *how):
        self.ready = multiprocessing.Event()
        worker = self.start(BOB, self.read_with_handler, *how)
        self.assertTrue(self.ready.wait(harness.DEADLINE))
        # The signal comes while the read waits, and not before it.
        harness.wait_until(lambda: self.waits_in_pread(worker.pid), "the read")
        os.kill(worker.pid, how[0])
        return worker

    def waits_in_pread(self, pid):
        """Of the call that the process waits in, the arguments are those of read_with_handler(): 4096 bytes from 0 on."""
        call = harness.read(f"/proc/{pid}/syscall").split()
        return call[3:5] == [b"0x1000", b"0x0"]

    def test_handled_signal_that_asks_to_stop_ends_the_wait(self):
        self.mount_slow("--allow-other")
        self.inject(f"wait 30000 {SLOW}")
        for number, (sent, flags) in enumerate(itertools.product((signal.SIGINT, signal.SIGTERM), (0, os.O_DIRECT))):
            self.assertEqual(self.signalled(sent, number, flags).result(), errno.EINTR)

    def test_other_handled_signals_do_not_disturb_a_read(self):
        """Profilers send them all the time."""
        self.mount_slow("--allow-other")
        self.inject(f"wait 1500 {SLOW}")
        for number, (sent, flags) in enumerate(itertools.product((signal.SIGALRM, signal.SIGURG), (0, os.O_DIRECT))):
            self.assertEqual(self.signalled(sent, number, flags).result(), 0)

    def test_daemon_ends_while_requests_wait(self):
        self.mount_slow("--allow-other", "--threads", "1", "--fetches", "1")
        self.inject(f"wait 15000 {SLOW}")
        slow = [self.start(BOB, read_direct, self.slow(number)) for number in range(STORES)]
        harness.wait_until(lambda: self.statistic("requests_waiting") >= SOME_WAIT, "requests that wait")
        self.mounted.process.send_signal(signal.SIGTERM)
        for worker in slow:
            self.assertIn(worker.result(), (errno.ENOTCONN, errno.ECONNABORTED))
        self.assertEqual(self.mounted.process.wait(harness.ENDING), 0)


if __name__ == "__main__":
    if os.getuid() != 0:
        print("left out: only root can become another user")
        sys.exit(harness.SKIPPED)
    harness.main()
