# SPDX-License-Identifier: MIT
"""packaging/quickstart.sh in a copy of the tree: what it says, its steps, and how they fail. The compiler is a script."""
import os
import re
import shutil
import subprocess
import tarfile

import harness

TREE = os.path.dirname(harness.EXAMPLES)

# Stands for cmake: what it "builds" is the executable under test.
CMAKE = """#!/bin/sh
echo "cmake $*"
[ "$1" = --build ] || exit 0
echo "[1/2] Building"
[ -z "$BREAKS" ] || { echo "main.cc: error: $BREAKS"; exit 1; }
mkdir -p build/release
touch build/release/build.ninja
printf '#!/bin/sh\\nexec %s "$@"\\n' >build/release/ndlfs
chmod +x build/release/ndlfs
"""


class QuickstartTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.tree = os.path.join(self.scratch, "tree")
        for folder in ("packaging", "examples"):
            shutil.copytree(os.path.join(TREE, folder), os.path.join(self.tree, folder))
        self.programs = os.path.join(self.scratch, "bin")
        os.mkdir(self.programs)
        harness.write(os.path.join(self.programs, "cmake"), CMAKE % harness.BINARY)
        os.chmod(os.path.join(self.programs, "cmake"), 0o755)
        # The packages of this machine are not the subject.
        harness.write(os.path.join(self.tree, "packaging", "install-deps.sh"), "#!/bin/sh\n")
        self.mount_point = os.path.join(self.scratch, "mnt")
        self.addCleanup(self.unmount)

    def unmount(self):
        if os.path.ismount(self.mount_point):
            subprocess.run([harness.BINARY, "umount", self.mount_point], check=True)

    def quickstart(self, *words, **more):
        environment = {**os.environ, "PATH": self.programs + ":" + os.environ["PATH"], **more}
        script = os.path.join(self.tree, "packaging", "quickstart.sh")
        return subprocess.run(["bash", script, *words], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def example(self):
        return os.path.join(self.tree, "examples", "data")

    def test_it_says_what_it_does_and_what_to_look_at(self):
        result = self.quickstart(self.example(), self.mount_point, NDLFS_JOBS="1")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        plan, steps = result.stdout.split("quickstart.log.\n", 1)
        self.assertIn("build ndlfs with 1 process (about 11 minutes)", plan)
        for step in ("configuring", "building", "mounting"):
            self.assertRegex(steps, rf"\n{step} \.\.\. +\d+ s *\n")
        self.assertNotIn("cmake --", result.stdout, "details are in the log")
        self.assertIn("-j 1", harness.read(self.tree, "build", "quickstart.log").decode())
        array = os.path.join(self.mount_point, "climate.zarr", "t2m")
        for path in (array + "/preview.png", os.path.dirname(array) + "/index.html", os.path.dirname(array) + "/data.nc",
                     array + "/data.txt", array + "/data[0,...].npy"):
            self.assertIn(path, result.stdout)
            self.assertTrue(os.path.exists(path), path)
        self.assertIn(f'export PATH="{self.tree}/build/release:$PATH"', result.stdout)
        self.assertLess(result.stdout.count("\n"), 60)

    def test_the_examples_that_it_shows_work(self):
        result = self.quickstart(self.example(), self.mount_point)
        commands = re.findall(r"^  ((?:ls|head|python3) .*)$", result.stdout, re.MULTILINE)
        self.assertGreaterEqual(len(commands), 2)
        for command in commands:
            self.run_ok("bash", "-c", command.replace("python3", "/usr/bin/python3"))

    def test_a_second_run_mounts_anew(self):
        for _ in range(2):
            self.assertEqual(self.quickstart(self.example(), self.mount_point).returncode, 0)
        self.assertTrue(os.path.ismount(self.mount_point))

    def test_an_archive_is_unpacked_and_nothing_is_built(self):
        archive = os.path.join(self.scratch, "ndlfs-1.0-linux.tar.gz")
        program = os.path.join(self.scratch, "ndlfs")
        harness.write(program, f'#!/bin/sh\nexec {harness.BINARY} "$@"\n')
        os.chmod(program, 0o755)
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(program, "ndlfs-1.0-linux/bin/ndlfs")
        result = self.quickstart("--package", archive, self.example(), self.mount_point)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("building", result.stdout)
        self.assertIn(f'export PATH="{self.tree}/build/quickstart/ndlfs-1.0-linux/bin:$PATH"', result.stdout)
        harness.write(archive, "no archive")
        broken = self.quickstart("--package", archive, self.example(), self.mount_point)
        self.assertEqual(broken.returncode, 1)
        self.assertIn("unpacking ndlfs-1.0-linux.tar.gz: failed; details: ", broken.stderr)

    def test_failures_are_one_line_and_the_end_of_the_log(self):
        result = self.quickstart(self.example(), self.mount_point, BREAKS="what is wrong")
        self.assertEqual(result.returncode, 1)
        self.assertIn("main.cc: error: what is wrong\n", result.stderr)
        self.assertTrue(result.stderr.endswith(f"quickstart.sh: building: failed; details: {self.tree}/build/quickstart.log\n"))
        full = self.quickstart(self.example(), self.mount_point, BREAKS="No space left on device")
        self.assertRegex(full.stderr, r"^quickstart.sh: building: the disk is full: \d+ MB are free in ")
        for words, message in ((["nothing"], "'nothing' is not a directory"), (["--package"], "--package needs a file"),
                               (["--quick"], "usage: "), (["--package", os.path.join(self.tree, "packaging", "apt.sh")], "neither a Debian package")):
            result = self.quickstart(*words)
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    harness.main()
