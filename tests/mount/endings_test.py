# SPDX-License-Identifier: MIT
"""Work that nobody waits for ends, and keeps nobody else waiting: documents that refer to each other
without end, a server that falls silent, and an address space that is too small."""
import os
import resource
import signal
import subprocess
import unittest

import harness


class UnionTest(harness.TestCase):
    """Documents that are the union of others, which are unions."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        harness.write(f"{self.source}/plain.txt", "hello")
        for layer in range(7):  # each the union of all of the next layer
            names = ", ".join(f"w{layer + 1}_{number}.ndl.yaml" for number in range(10))
            for number in range(10):
                harness.write(f"{self.source}/w{layer}_{number}.ndl.yaml", f"/: {{x-source: {{union: [{names}]}}}}\n")
        for layer in range(17):  # each the union of ten times the next one
            names = ", ".join([f"u{layer + 1}.ndl.yaml"] * 10)
            harness.write(f"{self.source}/u{layer}.ndl.yaml", f"/: {{x-source: {{union: [{names}]}}}}\n")

    def test_too_many_are_refused_with_the_reason(self):
        mounted = self.mount(self.source)
        self.assertIn("documents refer to more than", harness.read(mounted.path, "w0_0.ndl.yaml/error.txt").decode())
        self.assertIn("documents refer to each other", harness.read(mounted.path, "u0.ndl.yaml/error.txt").decode())

    def test_killed_readers_hold_nobody(self):
        mounted = self.mount(self.source, "--timeout", "10")
        readers = [subprocess.Popen(["ls", "-lR", mounted.join(f"w{number % 4}_{number}.ndl.yaml")],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for number in range(10)]
        for reader in readers:
            reader.kill()
            reader.wait()
        self.assertEqual(harness.read(mounted.path, "plain.txt"), b"hello")


class AddressSpaceTest(harness.TestCase):
    @unittest.skipIf(os.environ.get("NDLFS_SANITIZED"), "sanitizers need their address space")
    def test_too_little_is_an_error_at_the_start(self):
        os.mkdir(os.path.join(self.scratch, "point"))
        limit = 220 << 20
        result = subprocess.run(
            [os.environ["NDLFS_BINARY"], "mount", self.scratch, os.path.join(self.scratch, "point")], check=False,
            capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertNotIn(result.returncode, (0, -signal.SIGSEGV, -signal.SIGABRT))
        self.assertIn("ulimit -v", result.stderr)


if __name__ == "__main__":
    harness.main()
