# SPDX-License-Identifier: MIT
"""`ndlfs run`: a command with a mount of its own."""
import os
import shutil
import signal
import subprocess
import unittest

import harness
import make_data

NOBODY = 65534
FUSE = os.makedev(10, 229)
# In a mount namespace of its own, $1 takes the place of /dev/fuse; the rest is run as nobody.
AS_NOBODY = ('mount --bind "$1" /dev/fuse && shift && '
             f'exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps=-all "$@"')


class RunTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        # Where the mount points are made: nothing may be left of them.
        self.temporary = os.path.join(self.scratch, "tmp")
        os.mkdir(self.temporary)
        os.chmod(self.temporary, 0o1777)
        self.environment = {**os.environ, "TMPDIR": self.temporary}

    def ndlfs(self, *arguments, **more):
        return harness.run(harness.BINARY, *arguments, env=self.environment, **more)

    def shell(self, script, *options, source=harness.DATA):
        return self.ndlfs("run", source, *options, "--", "sh", "-c", script)

    def assert_gone(self):
        self.assertEqual(os.listdir(self.temporary), [])
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            self.assertNotIn(self.temporary, file.read())


class CommandTest(RunTest):
    """As the user that the tests run as."""

    def test_the_command_sees_the_mount_and_nobody_else_does(self):
        result = self.shell('ls {}; cat "$NDLFS_MOUNTPOINT/notes.txt"')
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("climate.zarr\n", result.stdout)
        self.assertTrue(result.stdout.endswith(make_data.NOTES))
        self.assert_gone()

    def test_every_pair_of_braces_is_the_mount_point(self):
        result = self.ndlfs("run", harness.DATA, "--", "echo", "{}/a:{}/b", "-n", "{}")
        first, second = result.stdout.split()[0].split(":")
        self.assertEqual(os.path.dirname(first), os.path.dirname(second))
        self.assertTrue(first.startswith(self.temporary), first)
        self.assertEqual(result.stdout.split()[1:], ["-n", os.path.dirname(first)])

    def test_exit_status_is_that_of_the_command(self):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM)):
            with self.subTest(script):
                self.assertEqual(self.shell(script).returncode, status)
        self.assert_gone()

    def test_programs_that_cannot_be_run_have_the_statuses_of_shells(self):
        for program, status, message in (("no-such-program", 127, "there is no such program"),
                                         (os.path.join(harness.DATA, "notes.txt"), 126, "Permission denied")):
            with self.subTest(program):
                result = self.ndlfs("run", harness.DATA, "--", program)
                self.assertEqual((result.returncode, result.stderr), (status, f"ndlfs: {program}: {message}\n"))
        self.assert_gone()

    def test_options_are_those_of_mount(self):
        result = self.shell("cat {}/.ndlfs/config.yaml", "--cache-size=7MiB", "-o", "immutable")
        self.assertIn(f"cache-size: {7 << 20}\n", result.stdout)
        self.assertIn("immutable: true\n", result.stdout)
        self.assertEqual(self.shell("true", "--foreground").returncode, 2)

    def test_a_source_around_the_mount_point_is_no_loop(self):
        shutil.copy(os.path.join(harness.DATA, "arrays/c_order.npy"), self.scratch)
        result = self.shell("find {} -name data.raw; find {}/tmp -mindepth 1 -name notes.txt", source=self.scratch)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(result.stdout.endswith("/c_order.npy/data.raw\n"), result.stdout)

    def test_what_is_wrong_with_the_source_is_one_line(self):
        result = self.shell("true", source=os.path.join(self.scratch, "nowhere"))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, f'ndlfs: source "{self.scratch}/nowhere": No such file or directory\n')
        self.assert_gone()

    def test_problems_of_the_source_go_to_standard_error(self):
        source = os.path.join(self.scratch, "source")
        shutil.copytree(harness.DATA, source)
        harness.write(os.path.join(source, "climate.zarr/t2m/0.0.0"), b"damaged")
        result = self.shell("cat {}/climate.zarr/t2m/data.raw >/dev/null || echo failed", source=source)
        self.assertEqual(result.stdout, "failed\n")
        self.assertIn("t2m/0.0.0", result.stderr)

    def test_the_mount_stays_for_programs_in_the_background(self):
        fifo = os.path.join(self.scratch, "fifo")
        answer = os.path.join(self.scratch, "answer")
        os.mkfifo(fifo)
        script = (f"(cat {fifo}; cat {{}}/notes.txt >{answer}.new; mv {answer}.new {answer}) >/dev/null 2>&1 & "
                  "echo said; exit 3")
        # Standard error stays open for messages about the mount; nobody waits for the output.
        result = subprocess.run([harness.BINARY, "run", harness.DATA, "--", "sh", "-c", script],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=self.environment,
                                timeout=harness.DEADLINE)
        self.assertEqual((result.returncode, result.stdout), (3, b"said\n"))
        harness.write(fifo, "go on")
        harness.wait_until(lambda: os.path.exists(answer), "the program in the background")
        self.assertEqual(harness.read(answer), make_data.NOTES.encode())
        harness.wait_until(lambda: not os.listdir(self.temporary), "the end of the mount")

    def test_signals_are_passed_to_the_command(self):
        ready = os.path.join(self.scratch, "ready")
        process = subprocess.Popen(
            [harness.BINARY, "run", harness.DATA, "--", "sh", "-c",
             f"trap 'exit 9' TERM; touch {ready}; while :; do sleep 0.05; done"],
            stdin=subprocess.DEVNULL, env=self.environment)
        self.addCleanup(process.kill)
        harness.wait_until(lambda: os.path.exists(ready), "the command")
        process.terminate()
        self.assertEqual(process.wait(harness.ENDING), 9)
        harness.wait_until(lambda: not os.listdir(self.temporary), "the end of the mount")

    def test_a_loop_of_runs_leaves_nothing(self):
        for number in range(10):
            self.assertEqual(self.shell(f"exit {number}").returncode, number)
            self.assert_gone()


# The kernel gives user namespaces to processes of one thread, and the thread sanitizer has its own.
@unittest.skipIf(os.environ.get("NDLFS_SANITIZED") == "thread", "the thread sanitizer forbids user namespaces")
@unittest.skipIf(os.getuid() != 0, "takes root, to become another user")
class OrdinaryUserTest(RunTest):
    def setUp(self):
        super().setUp()
        self.binary = os.path.join(self.scratch, "ndlfs")
        shutil.copy(harness.BINARY, self.binary)
        os.chmod(self.binary, 0o755)
        self.source = os.path.join(self.scratch, "source")
        shutil.copytree(harness.DATA, self.source)

    def device(self, mode):
        path = os.path.join(self.scratch, f"fuse{mode:o}")
        os.mknod(path, 0o020000 | mode, FUSE)
        os.chmod(path, mode)
        return path

    def run_as_nobody(self, *command, mode=0o666, before=()):
        return harness.run("unshare", "--mount", "--propagation", "private", "sh", "-c", AS_NOBODY, "sh",
                           self.device(mode), *before, self.binary, "run", self.source, "--", *command,
                           env={**self.environment, "PATH": "/nowhere:/usr/bin:/bin"})

    def test_mounts_without_privileges_and_without_fusermount3(self):
        result = self.run_as_nobody("sh", "-c", "id -u; cat {}/notes.txt; stat -c %u {}/notes.txt; ls / >&2; exit 5",
                                    before=("env", f"PATH={self.only_tools()}"))
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn(make_data.NOTES, result.stdout)
        self.assertTrue(result.stdout.startswith(f"{NOBODY}\n"))
        self.assert_gone()

    def only_tools(self):
        """A folder for $PATH with the programs that the test uses, and no fusermount3."""
        folder = os.path.join(self.scratch, "bin")
        os.mkdir(folder)
        for tool in ("sh", "id", "cat", "stat", "ls"):
            os.symlink(shutil.which(tool), os.path.join(folder, tool))
        return folder

    def test_the_command_has_no_capabilities(self):
        result = self.run_as_nobody("sh", "-c", "grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status; umount {} && echo gone")
        self.assertEqual(result.stdout, "".join(f"Cap{name}:\t{0:016x}\n" for name in ("Prm", "Eff", "Amb")))

    def test_files_closed_to_the_user_are_closed(self):
        os.chmod(os.path.join(self.source, "notes.txt"), 0o600)
        result = self.run_as_nobody("cat", "{}/notes.txt")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("Permission denied", result.stderr)

    def test_data_are_those_of_an_ordinary_mount(self):
        result = self.run_as_nobody("sh", "-c", "cd {} && find . -type f -name 'data.*' | sort | xargs sha256sum")
        mounted = self.mount(self.source)
        expected = harness.run("sh", "-c", "find . -type f -name 'data.*' | sort | xargs sha256sum", cwd=mounted.path)
        self.assertEqual(result.stdout, expected.stdout)
        self.assertGreater(len(result.stdout.splitlines()), 20)

    def test_a_closed_device_is_one_line(self):
        result = self.run_as_nobody("true", mode=0o600)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "ndlfs: /dev/fuse: Permission denied; mounting is not permitted here\n"))
        self.assert_gone()

    def mount_as_nobody(self, *before, mode=0o666):
        mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(mount_point)
        os.chown(mount_point, NOBODY, NOBODY)
        return harness.run("unshare", "--mount", "--propagation", "private", "sh", "-c", AS_NOBODY, "sh",
                           self.device(mode), *before, self.binary, "mount", self.source, mount_point,
                           env=self.environment)

    def test_mount_says_that_the_device_is_closed(self):
        result = self.mount_as_nobody(mode=0o600)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "ndlfs: /dev/fuse: Permission denied; mounting is not permitted here\n"))

    def test_mount_says_that_there_is_no_fusermount3(self):
        result = self.mount_as_nobody("env", f"PATH={self.only_tools()}")
        self.assertEqual((result.returncode, result.stderr), (
            1, "ndlfs: fusermount3 is not installed; without it only root can mount (Debian: apt install fuse3); "
               "`ndlfs run` does not need it\n"))

    def test_a_system_without_fuse_is_one_line(self):
        mount_point = os.path.join(self.scratch, "mnt")
        os.mkdir(mount_point)
        for arguments in (["mount", self.source, mount_point], ["run", self.source, "--", "true"]):
            with self.subTest(arguments[0]):
                result = harness.run("unshare", "--mount", "--propagation", "private", "sh", "-c",
                                     'mount -t tmpfs none /dev && exec "$@"', "sh", self.binary, *arguments,
                                     env=self.environment)
                self.assertEqual((result.returncode, result.stderr), (
                    1, "ndlfs: this system has no FUSE (/dev/fuse: No such file or directory); load it with: modprobe "
                       "fuse\n"))
        self.assert_gone()

    def test_user_namespaces_that_are_forbidden_are_one_line(self):
        # A chroot directory forbids them.
        root = os.path.join(self.scratch, "root")
        os.mkdir(root)
        script = ('mount --rbind / "$1" && mount --bind "$2" "$1/dev/fuse" && '
                  f'exec chroot --userspec={NOBODY}:{NOBODY} "$1" "$3" run "$4" -- true')
        result = harness.run("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", root,
                             self.device(0o666), self.binary, self.source, env=self.environment)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^ndlfs: the kernel gives no user namespace \(.*\); `ndlfs mount` .*\n$")
        self.assert_gone()

    def test_root_of_a_user_namespace_may_run_it_too(self):
        device = self.device(0o667)
        result = harness.run("unshare", "--mount", "--propagation", "private", "sh", "-c", AS_NOBODY, "sh", device,
                             "unshare", "--user", "--map-root-user", self.binary, "run", self.source, "--",
                             "sh", "-c", "id -u; cat {}/notes.txt", env=self.environment)
        self.assertEqual(result.stdout, "0\n" + make_data.NOTES, result.stderr)
        self.assert_gone()


if __name__ == "__main__":
    harness.main()
