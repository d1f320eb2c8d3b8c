# SPDX-License-Identifier: MIT
"""The command line: mounting in the background, refusals, exit statuses, and the end of a mount."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import harness
import make_data
import numpy as np


def daemons(mount_point):
    """Processes that have `mount_point` on their command line: ours alone, for it is a temporary folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                arguments = file.read().split(b"\0")
        except OSError:
            continue
        if mount_point.encode() in arguments and os.path.basename(arguments[0]).endswith(b"ndlfs"):
            found.append(int(pid))
    return found


class CommandTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(self.mount_point)
        self.addCleanup(self.clean_up)

    def clean_up(self):
        while harness.mount_type(self.mount_point):
            if harness.unmount(self.mount_point, lazy=True).returncode != 0:
                break
        for pid in daemons(self.mount_point):
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGKILL)

    def ndlfs(self, *arguments, **more):
        return harness.run(harness.BINARY, *arguments, **more)

    def assert_refused(self, result, status, *words):
        """One line on standard error with these words, nothing on standard output."""
        self.assertEqual(result.returncode, status, result)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertIsNone(harness.mount_type(self.mount_point))


class BackgroundTest(CommandTest):
    def test_returns_when_the_mount_answers(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(harness.mount_type(self.mount_point), "fuse.ndlfs")
        self.assertTrue(os.path.exists(os.path.join(self.mount_point, "climate.zarr/t2m/data.npy")))

    def test_daemon_lets_go_of_terminal_folder_and_pipes(self):
        reading, writing = os.pipe()
        result = subprocess.run([harness.BINARY, "mount", harness.DATA, self.mount_point], stdin=subprocess.DEVNULL,
                                stdout=writing, stderr=writing, cwd=self.scratch, timeout=harness.DEADLINE)
        os.close(writing)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(os.read(reading, 1), b"", "the daemon keeps the pipe of its starter open")
        os.close(reading)
        (pid,) = daemons(self.mount_point)
        self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), "/")
        self.assertNotEqual(os.getsid(pid), os.getsid(0))

    def test_relative_paths_are_those_of_the_caller(self):
        os.symlink(harness.DATA, os.path.join(self.scratch, "data"))
        result = self.ndlfs("mount", "data", "mnt", cwd=self.scratch)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.mount_point, "climate.zarr/t2m/data.npy")))

    def test_umount_leaves_no_process(self):
        for end in (["ndlfs"], ["umount"], ["fusermount3"]):
            with self.subTest(end):
                self.assertEqual(self.ndlfs("mount", harness.DATA, self.mount_point).returncode, 0)
                self.assertEqual(len(daemons(self.mount_point)), 1)
                command = {"ndlfs": [harness.BINARY, "umount"], "umount": ["umount"],
                           "fusermount3": ["fusermount3", "-u"]}[end[0]]
                self.run_ok(*command, self.mount_point)
                self.assertIsNone(harness.mount_type(self.mount_point))
                if end[0] == "ndlfs":  # returns when the daemon has ended
                    self.assertEqual(daemons(self.mount_point), [])
                harness.wait_until(lambda: not daemons(self.mount_point), "the end of the daemon")
                self.assertEqual(os.listdir(self.mount_point), [])

    def test_umount_of_a_mount_that_hangs_or_is_dead(self):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            with self.subTest(number):
                self.assertEqual(self.ndlfs("mount", harness.DATA, self.mount_point).returncode, 0)
                (pid,) = daemons(self.mount_point)
                os.kill(pid, number)
                self.run_ok(harness.BINARY, "umount", self.mount_point)
                self.assertIsNone(harness.mount_type(self.mount_point))
                if number == signal.SIGSTOP:
                    os.kill(pid, signal.SIGCONT)
                harness.wait_until(lambda: not daemons(self.mount_point), "the end of the daemon")

    def test_umount_where_proc_is_not_mounted(self):
        if os.getuid() != 0 or os.environ.get("NDLFS_SANITIZED"):
            self.skipTest("takes root, to hide /proc, and sanitizers need it")
        script = ('"$1" mount "$2" "$3" && mount -t tmpfs none /proc || exit 9; "$1" umount "$3" || exit 8; '
                  'ls "$3"; "$1" umount "$3"')
        result = harness.run("unshare", "--mount", "sh", "-c", script, "sh", harness.BINARY, harness.DATA,
                             self.mount_point)
        self.assertEqual((result.returncode, result.stdout), (1, ""), result)
        self.assertEqual(result.stderr, f'ndlfs: cannot unmount "{self.mount_point}": Invalid argument '
                         "(/proc/self/mountinfo cannot be read, which would say what is mounted)\n")
        harness.wait_until(lambda: not daemons(self.mount_point), "the end of the daemon")

    def test_signals_end_in_a_clean_unmount(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                self.assertEqual(self.ndlfs("mount", harness.DATA, self.mount_point).returncode, 0)
                (pid,) = daemons(self.mount_point)
                harness.digests(self.mount_point)
                os.kill(pid, number)
                harness.wait_until(lambda: not daemons(self.mount_point), "the end of the daemon")
                self.assertIsNone(harness.mount_type(self.mount_point))

    def test_mounts_again_at_the_same_place(self):
        for _ in range(5):
            self.assertEqual(self.ndlfs("mount", harness.DATA, self.mount_point).returncode, 0)
            self.assertIn("notes.txt", harness.walk(self.mount_point))
            self.run_ok(harness.BINARY, "umount", self.mount_point)


class OptionsTest(CommandTest):
    def configuration(self):
        return harness.read(self.mount_point, ".ndlfs", "config.yaml").decode()

    def test_long_options(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, "--cache-size", "64MiB", "--threads=3",
                            "--revalidate", "2.5", "--max-chunk-size", "16MiB", "--log-level", "debug",
                            "--log-file", os.path.join(self.scratch, "log"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(str(64 << 20), self.configuration())
        self.assertTrue(os.path.exists(os.path.join(self.scratch, "log")))

    def test_options_in_the_form_of_mount(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, "-o",
                            "ro,nosuid,nodev,cache_size=64MiB,threads=3,revalidate=2", "-o", "immutable")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(str(64 << 20), self.configuration())

    def test_as_mount_calls_it(self):
        helper = os.path.join(self.scratch, "mount.ndlfs")
        os.symlink(harness.BINARY, helper)
        result = harness.run(helper, harness.DATA, self.mount_point, "-o", "rw,noauto,_netdev,x-systemd.automount,"
                             "cache-size=64MiB")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(str(64 << 20), self.configuration())

    def test_owner_and_permissions_can_be_set(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, "--uid", "1234", "--gid", "4321", "--umask", "077")
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("notes.txt", "climate.zarr", "climate.zarr/t2m/data.npy"):
            status = os.stat(os.path.join(self.mount_point, name))
            self.assertEqual((status.st_uid, status.st_gid), (1234, 4321))
            self.assertEqual(status.st_mode & 0o077, 0)

    def test_unknown_option_is_refused_with_the_nearest_spelling(self):
        for wrong, right in (("--cache-siz=1GiB", "--cache-size"), ("--thread", "--threads"),
                             ("--imutable", "--immutable"), ("--revalidat=1", "--revalidate")):
            with self.subTest(wrong):
                result = self.ndlfs("mount", harness.DATA, self.mount_point, wrong)
                self.assert_refused(result, 2, wrong.split("=")[0], right)

    def test_unknown_mount_option_is_refused_with_the_nearest_spelling(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, "-o", "ro,cache_sise=1GiB")
        self.assert_refused(result, 2, "cache_sise", "cache_size")

    def test_bad_values_are_refused(self):
        for option, value in (("--cache-size", "lots"), ("--cache-size", "-1"), ("--cache-size", "99999999999GiB"),
                              ("--cache-size", ""), ("--threads", "two"), ("--threads", "-1"), ("--revalidate", "soon"),
                              ("--umask", "999"), ("--uid", "nobody at all"), ("--max-chunk-size", "1XB"),
                              ("--log-level", "loud")):
            with self.subTest(f"{option} {value}"):
                result = self.ndlfs("mount", harness.DATA, self.mount_point, f"{option}={value}")
                self.assert_refused(result, 2, option.lstrip("-"))

    def test_unknown_command_is_refused_with_the_nearest_spelling(self):
        self.assert_refused(self.ndlfs("mont", harness.DATA, self.mount_point), 2, "mont", "mount")
        self.assert_refused(self.ndlfs("unmount", self.mount_point), 2, "unmount", "umount")

    def test_missing_and_surplus_arguments_are_refused(self):
        for arguments in ((), ("mount",), ("mount", harness.DATA), ("umount",), ("describe",), ("cat",),
                          ("cat", os.path.join(harness.DATA, "climate.zarr")),
                          ("mount", harness.DATA, self.mount_point, "more")):
            with self.subTest(arguments):
                result = self.ndlfs(*arguments)
                self.assertEqual(result.returncode, 2, result)
                self.assertNotEqual(result.stderr, "")

    def test_help_and_version(self):
        version = self.run_ok(harness.BINARY, "--version")
        self.assertRegex(version, r"^ndlfs \d+\.\d+\.\d+")
        # Those that every build has, and those of the front ends and of servers.
        named = version.splitlines()[-1].removeprefix("libraries: ")
        for library in ("expat", "libcurl", "openssl", "utf8proc", "yaml-cpp", "zstd", "libfuse", "libmicrohttpd"):
            self.assertRegex(named, rf"(^|, ){library} \d+\.\d+")
        shown = self.run_ok(harness.BINARY, "--help")
        for command in ("mount", "umount", "describe", "cat"):
            self.assertIn(command, shown)
        self.assertIn("--cache-size", self.run_ok(harness.BINARY, "mount", "--help"))


class RefusalTest(CommandTest):
    """What cannot be mounted: one clear line, exit status 1, nothing mounted."""

    def mount_refused(self, source, mount_point, *words):
        self.assert_refused(self.ndlfs("mount", source, mount_point), 1, *words)

    def test_source_that_is_not_there(self):
        self.mount_refused(os.path.join(self.scratch, "nowhere"), self.mount_point, "nowhere")

    def test_source_that_is_a_file(self):
        self.mount_refused(os.path.join(harness.DATA, "notes.txt"), self.mount_point, "notes.txt", "directory")

    def test_mount_point_that_is_not_there(self):
        self.mount_refused(harness.DATA, os.path.join(self.scratch, "nowhere"), "nowhere")

    def test_mount_point_that_is_a_file(self):
        path = os.path.join(self.scratch, "file")
        harness.write(path, "")
        self.mount_refused(harness.DATA, path, path, "directory")

    def test_mount_point_that_is_not_empty(self):
        harness.write(os.path.join(self.mount_point, "file"), "")
        self.mount_refused(harness.DATA, self.mount_point, self.mount_point, "empty")

    def test_mount_point_that_is_mounted_already(self):
        mounted = self.mount(harness.DATA)
        result = self.ndlfs("mount", harness.DATA, mounted.path)
        self.assertEqual(result.returncode, 1)
        self.assertIn(mounted.path, result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1)
        self.assertEqual(harness.read(mounted.path, "notes.txt"), make_data.NOTES.encode())

    def test_mount_point_inside_the_source(self):
        self.mount_refused(self.scratch, self.mount_point, self.mount_point)
        deep = os.path.join(self.mount_point, "a", "b")
        os.makedirs(deep)
        self.mount_refused(self.scratch, deep, deep)

    def test_source_inside_the_mount_point(self):
        source = os.path.join(self.mount_point, "data")
        shutil.copytree(harness.DATA, source)
        self.mount_refused(source, self.mount_point, self.mount_point)

    def test_mount_point_that_is_the_source(self):
        self.mount_refused(self.mount_point, self.mount_point, self.mount_point)

    def test_nesting_is_seen_through_links_and_dots(self):
        link = os.path.join(self.scratch, "link")
        os.symlink(self.scratch, link)
        self.mount_refused(link, self.mount_point, "mnt")
        self.mount_refused(self.scratch, os.path.join(link, "mnt"), "mnt")
        self.mount_refused(os.path.join(self.mount_point, ".."), self.mount_point, "mnt")

    def test_log_file_in_a_directory_that_is_not_there(self):
        log = os.path.join(self.scratch, "logs", "ndlfs.log")
        for options in (["--log-file", log], ["--log-file", log, "--foreground"], ["-o", f"log_file={log}"]):
            with self.subTest(options):
                self.assert_refused(self.ndlfs("mount", harness.DATA, self.mount_point, *options), 1,
                                    f'log file "{log}": there is no directory "{os.path.dirname(log)}"')
        self.assertFalse(os.path.exists(os.path.dirname(log)), "made though nobody asked for it")

    def test_log_on_a_full_disk_is_said_once_and_the_mount_works(self):
        result = self.ndlfs("mount", harness.DATA, self.mount_point, "--log-file", "/dev/full")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"^ndlfs: the log cannot be written: .*No space left on device\n$")
        self.assertIn("notes.txt", os.listdir(self.mount_point))

    def test_umount_of_what_is_not_a_mount(self):
        result = self.ndlfs("umount", self.mount_point)
        self.assert_refused(result, 1, self.mount_point)

    def test_umount_of_somebody_elses_mount(self):
        self.assert_refused(self.ndlfs("umount", "/proc"), 1, "/proc")
        self.assertEqual(harness.mount_type("/proc"), "proc")

    def test_umount_of_a_busy_mount(self):
        mounted = self.mount(harness.DATA)
        with open(mounted.join("notes.txt"), "rb"):
            result = self.ndlfs("umount", mounted.path)
            self.assertEqual(result.returncode, 1)
            self.assertIn("busy: a program has a file open there", result.stderr)
        self.assertEqual(harness.mount_type(mounted.path), "fuse.ndlfs")


class WithoutMountingTest(CommandTest):
    """describe and cat."""

    def bytes_of(self, *arguments):
        result = subprocess.run([harness.BINARY, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=harness.DEADLINE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_describe_is_the_document_of_the_mount(self):
        mounted = self.mount(harness.DATA)
        for store, path in (("climate.zarr", ""), ("climate.zarr", "/t2m"), ("ocean.zarr", "/surface"),
                            ("arrays/c_order.npy", "")):
            with self.subTest(store + path):
                shown = self.bytes_of("describe", os.path.join(harness.DATA, store), *([path] if path else []))
                self.assertEqual(shown, harness.read(mounted.path, store, path.lstrip("/"), ".ndl.yaml"))

    def test_cat_is_the_view_of_the_mount(self):
        mounted = self.mount(harness.DATA)
        for store, path in (("climate.zarr", "/t2m"), ("ocean.zarr", "/stations/observations"),
                            ("arrays/fortran_order.npy", "/")):
            for view in ("npy", "raw"):
                with self.subTest(f"{store}{path} {view}"):
                    shown = self.bytes_of("cat", os.path.join(harness.DATA, store), path, "--view", view)
                    self.assertEqual(shown, harness.read(mounted.path, store, path.strip("/"), f"data.{view}"))

    def test_cat_without_path_takes_what_cannot_be_meant_otherwise(self):
        store = os.path.join(harness.DATA, "climate.zarr")
        self.assertEqual(self.bytes_of("cat", store, "--view", "nc"), self.bytes_of("cat", store, "/", "--view", "nc"))
        alone = os.path.join(self.scratch, "one array.npz")
        np.savez(alone, only=np.arange(3))
        self.assertEqual(self.bytes_of("cat", alone, "--view", "raw"), np.arange(3).tobytes())
        np.savez(alone, a=np.arange(3), b=np.arange(3))
        self.assert_refused(self.ndlfs("cat", alone), 2, f"ndlfs cat '{alone}' PATH")
        self.assert_refused(self.ndlfs("cat", alone, "/a", "--slice", "0", "--slice", "1"), 2,
                            "--slice is given more than once")

    def test_what_is_not_there_is_refused(self):
        store = os.path.join(harness.DATA, "climate.zarr")
        self.assert_refused(self.ndlfs("describe", os.path.join(self.scratch, "nowhere.zarr")), 1, "nowhere.zarr")
        self.assert_refused(self.ndlfs("describe", os.path.join(harness.DATA, "notes.txt")), 1, "notes.txt")
        self.assert_refused(self.ndlfs("describe", store, "/nothing"), 1, "/nothing")
        self.assert_refused(self.ndlfs("cat", store, "/nothing"), 1, "/nothing")
        self.assert_refused(self.ndlfs("cat", store, "/t2m", "--view", "bmp"), 2, "bmp")

    def test_cat_stops_when_nobody_reads_on(self):
        store = os.path.join(harness.DATA, "climate.zarr")
        result = subprocess.run(f"'{harness.BINARY}' cat '{store}' /t2m --view raw | head -c 100 | wc -c", shell=True,
                                capture_output=True, text=True, timeout=harness.DEADLINE)
        self.assertEqual(result.stdout.strip(), "100")


class ControlTest(harness.TestCase):
    """The files in .ndlfs."""

    def test_statistics_are_json_and_count(self):
        mounted = self.mount(harness.DATA)
        before = json.loads(harness.read(mounted.path, ".ndlfs", "stats.json"))
        harness.digests(mounted.path)
        after = json.loads(harness.read(mounted.path, ".ndlfs", "stats.json"))
        self.assertNotEqual(before, after)

    def test_metrics_are_lines_of_name_and_number(self):
        mounted = self.mount(harness.DATA)
        lines = harness.read(mounted.path, ".ndlfs", "metrics").decode().splitlines()
        values = [line for line in lines if not line.startswith("#")]
        self.assertGreater(len(values), 3)
        for line in values:
            self.assertRegex(line, r'^ndlfs_[a-z0-9_]+\{source="[^"]*",mountpoint="[^"]*"(,[^}]*)?\} [0-9.e+-]+$')

    def test_control_files_have_no_size_and_read_to_their_end(self):
        mounted = self.mount(harness.DATA)
        for name in os.listdir(mounted.join(".ndlfs")):
            path = mounted.join(".ndlfs", name)
            self.assertEqual(os.stat(path).st_size, 0)
            content = harness.read(path)
            self.assertEqual(content == b"", name == "errors.log", name)

    def test_configuration_names_the_source(self):
        mounted = self.mount(harness.DATA)
        self.assertIn(os.path.realpath(harness.DATA), harness.read(mounted.path, ".ndlfs/config.yaml").decode())


if __name__ == "__main__":
    harness.main()
