# SPDX-License-Identifier: MIT
"""What administrators see: dead mounts, mount(8), statistics, the log of problems, services, completion."""
import ctypes
import errno
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

import harness


def pid_of(mount_point):
    text = harness.read(mount_point, ".ndlfs", "config.yaml").decode()
    return int(re.search(r"^pid: (\d+)$", text, re.MULTILINE)[1])


class BackgroundTest(harness.TestCase):
    """Mounts at `mount_point`, by daemons in the background."""

    def setUp(self):
        super().setUp()
        self.mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(self.mount_point)
        self.addCleanup(self.clean_up)

    def clean_up(self):
        while harness.mount_type(self.mount_point) and harness.unmount(self.mount_point, lazy=True).returncode == 0:
            pass

    def ndlfs(self, *arguments, **more):
        return harness.run(harness.BINARY, *arguments, **more)

    def start(self, *options):
        self.run_ok(harness.BINARY, "mount", harness.DATA, self.mount_point, *options)
        return pid_of(self.mount_point)

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
        harness.wait_until(lambda: self.is_dead(), "the end of the daemon")

    def is_dead(self):
        try:
            os.listdir(self.mount_point)
        except OSError as error:
            return error.errno == errno.ENOTCONN
        return False


class DeadMountTest(BackgroundTest):
    def test_mounting_again_takes_its_place(self):
        for _ in range(3):
            self.kill(self.start())
            self.start()
            self.assertIn("notes.txt", os.listdir(self.mount_point))
            self.run_ok(harness.BINARY, "umount", self.mount_point)
            self.assertIsNone(harness.mount_type(self.mount_point), "the dead mount is still below")

    def test_it_makes_room_though_files_of_it_are_open(self):
        pid = self.start()
        with open(os.path.join(self.mount_point, "notes.txt"), "rb"):
            self.kill(pid)
            self.start()
            self.assertIn("notes.txt", os.listdir(self.mount_point))

    def test_statistics_say_that_it_is_dead(self):
        self.kill(self.start())
        result = self.ndlfs("stats", self.mount_point)
        self.assertEqual((result.returncode, result.stderr), (
            1, f'ndlfs: "{self.mount_point}": the mount there has died; ndlfs umount removes it\n'))


class AutomountTest(BackgroundTest):
    """As with x-systemd.automount: autofs is at the mount point, and a program that looks there waits for the mount.
    This process is the automounter. autofs lets its process group pass, and nobody else."""

    READY = 0x9360  # AUTOFS_IOC_READY

    def setUp(self):
        super().setUp()
        with open("/proc/filesystems", encoding="ascii") as file:
            if os.getuid() != 0 or "autofs" not in file.read():
                self.skipTest("takes root and autofs")
        if os.getpgrp() == 0:  # its leader is in another PID namespace
            os.setpgrp()
        self.asked, asking = os.pipe()
        self.addCleanup(os.close, self.asked)
        options = f"fd={asking},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct".encode()
        mounted = ctypes.CDLL(None, use_errno=True).mount(b"test", self.mount_point.encode(), b"autofs", 0, options)
        problem = os.strerror(ctypes.get_errno())
        os.close(asking)
        self.assertEqual(mounted, 0, problem)
        self.place = os.open(self.mount_point, os.O_RDONLY)
        self.addCleanup(lambda: self.place is None or os.close(self.place))

    def is_asked(self):
        return bool(select.select([self.asked], [], [], 0)[0])

    def test_whoever_looks_first_gets_the_mount(self):
        looking = subprocess.Popen(["ls", self.mount_point], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(looking.kill)
        harness.wait_until(self.is_asked, "a question of autofs")
        token = struct.unpack_from("=iiI", os.read(self.asked, 4096))[2]
        self.start()
        fcntl.ioctl(self.place, self.READY, token)
        os.close(self.place)
        self.place = None
        self.assertIn("notes.txt", looking.communicate(timeout=harness.DEADLINE)[0].splitlines())

    def test_mounting_by_hand_does_not_ask_the_automounter(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, start_new_session=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertFalse(self.is_asked())
        self.assertEqual(harness.mount_type(self.mount_point), "fuse.ndlfs")


class SilentServerTest(BackgroundTest):
    def test_a_mount_that_does_not_answer_does_not_stay(self):
        url = "http://127.0.0.1:1/data/"  # nobody listens there
        result = self.ndlfs("mount", url, self.mount_point, "--timeout=0.2")
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result.stderr)
        self.assertIn(f"source: {url}: ", result.stderr)
        self.assertRegex(result.stderr, harness.NO_CONNECTION)
        self.assertIsNone(harness.mount_type(self.mount_point))


class GivenDeviceTest(harness.SourceTestCase):
    """A mount that another program has made, as Apptainer and CSI drivers do."""

    def test_a_mount_point_may_be_the_descriptor_of_a_mount(self):
        harness.write(self.path("a"), "text")
        libc = ctypes.CDLL(None, use_errno=True)
        place = tempfile.mkdtemp(prefix="ndlfs-mount-")
        self.addCleanup(os.rmdir, place)
        for options in ("--foreground",), ():
            device = os.open("/dev/fuse", os.O_RDWR)
            words = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
            self.assertEqual(libc.mount(b"any", place.encode(), b"fuse", 0, words), 0)
            try:
                command = subprocess.Popen([harness.BINARY, "mount", *options, self.source, f"/dev/fd/{device}"], pass_fds=[device])
                os.close(device)
                self.assertEqual(harness.read(place, "a"), b"text")
                if not options:
                    self.assertEqual(command.wait(harness.ENDING), 0)
            finally:
                libc.umount2(place.encode(), 0)
            if options:
                self.assertEqual(command.wait(harness.ENDING), 0, "it ends with the mount")

    def test_other_descriptors_are_refused(self):
        for name in "/dev/fd/0", "/dev/fd/999", "/dev/fd/x", "/dev/fd/":
            with self.subTest(name):
                refused = subprocess.run([harness.BINARY, "mount", self.source, name], stdin=subprocess.DEVNULL,
                                         capture_output=True, text=True)
                self.assertEqual((refused.returncode, refused.stderr),
                                 (1, f'ndlfs: mount point "{name}": not an open /dev/fuse\n'))


class MountCommandTest(BackgroundTest):
    """As mount(8) calls it."""

    def helper(self, *arguments):
        link = os.path.join(self.scratch, "mount.ndlfs")
        if not os.path.lexists(link):
            os.symlink(harness.BINARY, link)
        return harness.run(link, *arguments)

    def test_options_of_fstab_are_accepted(self):
        result = self.helper(harness.DATA, self.mount_point, "-o",
                             "rw,nofail,_netdev,x-systemd.automount,x-systemd.idle-timeout=1h,cache_size=1MiB")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.run_ok("findmnt", "-n", "-o", "FSTYPE,SOURCE", self.mount_point).split(),
                         ["fuse.ndlfs", os.path.realpath(harness.DATA)])

    def test_remount_is_refused_with_a_reason(self):
        self.start()
        result = self.helper(harness.DATA, self.mount_point, "-o", "remount,ro")
        self.assertEqual((result.returncode, result.stderr), (
            2, "ndlfs: mount option remount: the options of a mount of ndlfs cannot change; unmount it, and mount it "
               "again\n"))
        self.assertIn("notes.txt", os.listdir(self.mount_point))

    def test_df_is_that_of_the_source(self):
        self.start()
        columns = "--output=size"
        self.assertEqual(self.run_ok("df", columns, self.mount_point), self.run_ok("df", columns, harness.DATA))


class StatsTest(BackgroundTest):
    def test_a_pipe_gets_a_line_for_each_look(self):
        self.start()
        harness.digests(self.mount_point)
        lines = self.run_ok(harness.BINARY, "stats", self.mount_point, "--count=3", "--interval=0.1").splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines[0].split()[:3], ["read/s", "decoded/s", "reads/s"])
        self.assertRegex(lines[1], r"^ *[0-9.]+ [KM]?i?B +[0-9.]+ ")
        for line in lines[2:]:
            self.assertRegex(line, r"\b0$", "there are no problems")

    def test_a_terminal_gets_a_page_and_q_ends_it(self):
        self.start()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(harness.BINARY, ["ndlfs", "stats", self.mount_point])
        shown = b""
        deadline = time.monotonic() + harness.DEADLINE
        while b"q ends" not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                shown += os.read(terminal, 65536)
        os.write(terminal, b"q")
        while True:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        text = shown.decode()
        for word in ("requests", "memory", "lookup", self.mount_point):
            self.assertIn(word, text)
        self.assertTrue(text.startswith("\x1b[?1049h"), "a screen of its own")
        self.assertTrue(text.endswith("\x1b[?1049l"), "which is given back")

    def test_it_ends_with_the_mount(self):
        self.start()
        process = subprocess.Popen([harness.BINARY, "stats", self.mount_point, "--interval=0.1"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdout.readline()

        def is_unmounted():
            return self.ndlfs("umount", self.mount_point).returncode == 0
        harness.wait_until(is_unmounted, "unmounting while somebody looks")
        self.assertEqual(process.wait(harness.ENDING), 0)
        process.stdout.close()

    def test_what_is_no_mount_is_one_line(self):
        for path in (self.mount_point, os.path.join(self.scratch, "nowhere")):
            result = self.ndlfs("stats", path)
            self.assertEqual((result.returncode, result.stderr), (
                1, f'ndlfs: "{path}": ndlfs is not mounted there\n'))
        for option in ("--interval=0", "--interval=x", "--count=0", "--count=-1"):
            result = self.ndlfs("stats", self.mount_point, option)
            self.assertEqual(result.returncode, 2)
            self.assertIn("is not a number", result.stderr)

    def test_requests_are_counted_by_the_time_they_took(self):
        self.start()
        harness.digests(self.mount_point)
        stats = json.loads(harness.read(self.mount_point, ".ndlfs", "stats.json"))
        for kind in ("lookup", "open", "read", "readdir"):
            times = stats["requests"][kind]
            self.assertEqual(sum(times["classes"]), times["count"])
            self.assertGreater(times["count"], 10)
            self.assertGreater(times["seconds"], 0)

    def test_metrics_have_a_histogram(self):
        self.start()
        harness.digests(self.mount_point)
        text = harness.read(self.mount_point, ".ndlfs", "metrics").decode()
        self.assertEqual(text.count("# TYPE ndlfs_request_seconds histogram\n"), 1)
        buckets = re.findall(r'^ndlfs_request_seconds_bucket\{.*kind="read",le="([^"]*)"\} (\d+)$', text, re.MULTILINE)
        limits = [float(limit) for limit, _ in buckets]
        counts = [int(count) for _, count in buckets]
        self.assertEqual(limits, sorted(set(limits)))
        self.assertEqual(limits[-1], float("inf"))
        self.assertEqual(counts, sorted(counts))
        self.assertRegex(text, f'\nndlfs_request_seconds_count{{source="[^"]*",mountpoint="{self.mount_point}",kind="read"}} {counts[-1]}\n')
        self.assertGreater(counts[-1], 10)

    def test_each_codec_is_counted(self):
        self.start()
        path = os.path.join(self.mount_point, "climate.zarr", "t2m")
        harness.read(path, "data.raw")
        codecs = json.loads(harness.read(self.mount_point, ".ndlfs", "stats.json"))["codecs"]
        self.assertTrue(codecs)
        text = harness.read(self.mount_point, ".ndlfs", "metrics").decode()
        for codec, total in codecs.items():
            self.assertGreaterEqual(total["bytes"], 24 * 45 * 90 * 4)
            self.assertGreater(total["seconds"], 0)
            self.assertRegex(text, f'\nndlfs_codec_chunks_total{{.*,codec="{codec}"}} {total["chunks"]}\n')

    def test_an_array_tells_what_reading_it_has_taken(self):
        self.start()
        array = os.path.join(self.mount_point, "climate.zarr", "t2m")

        def stats():
            text = os.getxattr(array, "user.ndl.stats").decode()
            return {name: float(value) for name, value in re.findall(r"([a-z-]+): ([0-9.]+)", text)}
        self.assertEqual(set(stats().values()), {0})
        harness.read(array, "data.raw")
        self.assertEqual((stats()["decoded"], stats()["bytes"]), (2 * 1 * 2, 2 * 12 * 45 * 2 * 45 * 4))
        self.assertGreater(stats()["seconds"], 0)
        harness.read(array, "data.txt")
        self.assertGreater(stats()["hits"], 0)
        self.assertNotIn("user.ndl.stats", os.listxattr(array), "copies would find it changed each time")
        with self.assertRaises(OSError) as caught:
            os.getxattr(os.path.dirname(array), "user.ndl.stats")
        self.assertEqual(caught.exception.errno, errno.ENODATA)

    def test_there_are_no_attributes_of_other_namespaces(self):
        self.start()
        for name in ("security.selinux", "system.posix_acl_access"):
            with self.assertRaises(OSError) as caught:
                os.getxattr(os.path.join(self.mount_point, "climate.zarr"), name)
            self.assertEqual(caught.exception.errno, errno.EOPNOTSUPP, "ls -l would ask for each file")


class ErrorsLogTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        for name in ("a.npy", "b.npy"):
            harness.write(self.path(name), b"\x93NUMPY\x01\x00 no header at all" + b"." * 100)

    def test_tail_follows_it(self):
        mounted = self.mount(self.source, "--immutable")
        log = mounted.join(".ndlfs", "errors.log")
        os.listdir(mounted.join("a.npy"))
        self.assertEqual(os.stat(log).st_size, len(harness.read(log)))
        tail = subprocess.Popen(["tail", "-n", "+1", "-s", "0.1", "-f", log], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)
        try:
            self.assertIn("a.npy", tail.stdout.readline())
            os.listdir(mounted.join("b.npy"))
            self.assertTrue(select.select([tail.stdout], [], [], harness.DEADLINE)[0], "nothing new was seen")
            self.assertIn("b.npy", tail.stdout.readline())
        finally:
            tail.kill()
            tail.wait()
            tail.stdout.close()

    def test_a_copy_has_all_of_it(self):
        mounted = self.mount(self.source)
        for name in ("a.npy", "b.npy"):
            os.listdir(mounted.join(name))
        copy = os.path.join(self.scratch, "copy")
        shutil.copy(mounted.join(".ndlfs", "errors.log"), copy)
        self.assertEqual(len(harness.read(copy).splitlines()), 2)


class ServiceTest(BackgroundTest):
    def test_the_manager_is_told_when_the_mount_answers(self):
        path = os.path.join(self.scratch, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(harness.DEADLINE)
            process = subprocess.Popen([harness.BINARY, "mount", "--foreground", harness.DATA, self.mount_point],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "NOTIFY_SOCKET": path})
            self.addCleanup(process.kill)
            message = manager.recv(4096).decode()
        self.assertIn("READY=1", message.splitlines())
        self.assertIn("notes.txt", os.listdir(self.mount_point))
        process.terminate()
        self.assertEqual(process.wait(harness.ENDING), 0)
        self.assertIsNone(harness.mount_type(self.mount_point))


class CompletionTest(BackgroundTest):
    def complete(self, *words):
        """What bash proposes for the last word."""
        script = ('source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  "compopt() { :; }; _ndlfs; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return self.run_ok("bash", "-c", script, "bash", harness.BINARY, "ndlfs", *words).split("\n")[:-1]

    def test_commands_options_and_values(self):
        self.assertEqual(self.complete("mo"), ["mount"])
        self.assertIn("completion", self.complete(""))
        self.assertEqual(self.complete("mount", "--cache-s"), ["--cache-size"])
        self.assertEqual(self.complete("mount", "--detect", "c"), ["content"])
        self.assertEqual(self.complete("cat", "--view", "=", "js"), ["jsonl"])
        self.assertEqual(self.complete("mount", "--cache-size", "1"), [""])

    def test_mount_points_are_words_and_no_commands(self):
        self.mount_point = os.path.join(self.scratch, "$(touch evil)")
        os.mkdir(self.mount_point)
        self.start()
        self.assertIn(self.mount_point, self.complete("umount", self.scratch))
        self.assertEqual(self.complete("umount", self.mount_point[:-3]), [self.mount_point])
        self.assertFalse(os.path.exists("evil"))

    def test_every_option_of_help_is_completed(self):
        for command in ("mount", "run", "check", "stats"):
            shown = self.run_ok(harness.BINARY, command, "--help")
            options = set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", shown, re.MULTILINE))
            self.assertGreater(len(options), 2)
            self.assertEqual(options - set(self.complete(command, "--")), set())

    def test_scripts_for_other_shells_name_the_same(self):
        for shell, option in (("zsh", "--cache-size="), ("fish", "-l cache-size")):
            script = self.run_ok(harness.BINARY, "completion", shell)
            self.assertIn(option, script)
            if shutil.which(shell):
                self.run_ok(shell, "-n", "-c", script)


if __name__ == "__main__":
    harness.main()
