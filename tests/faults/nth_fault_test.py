# SPDX-License-Identifier: MIT
"""The n-th fault, for every n: each system call of a command that concerns a store fails once, in its turn, with each error
that it can have. The command then says what it could not do, and where and why; or it gives the same bytes as without the
fault. A server that goes on after the fault serves everything, and has lost no descriptor.

By default some faults are drawn by NDLFS_FAULT_SEED; with NDLFS_ALL_FAULTS=1 there are all of them, which takes long:
tests/faults/run.sh. NDLFS_FAULT_STORES=a.npy,four.nc makes these stores only. NDLFS_NTH_FAULT_LIBRARY is nth_fault.cc."""
import collections
import http.client
import os
import random
import re
import subprocess

import harness
import serve_test
import stores
from faulty_program import CALLS, FAILED, FAULTS, OPEN, Control

LIBRARY = os.environ["NDLFS_NTH_FAULT_LIBRARY"]
SEED = os.environ.get("NDLFS_FAULT_SEED", "1")
ALL = os.environ.get("NDLFS_ALL_FAULTS") == "1"
SAMPLES = int(os.environ.get("NDLFS_FAULT_SAMPLES", "30"))  # groups of faults of one store and command or page
FROM_EACH = 4
ONLY = os.environ.get("NDLFS_FAULT_STORES", "").split(",")
STORES = [row for row in stores.STORES if ONLY == [""] or row[0] in ONLY]
REASONS = "|".join([*{os.strerror(error) for _, error, _ in FAULTS.values() if error}, "cut short", "changed", "out of memory"])
KEPT_OPEN = 64  # DescriptorCache
# Exit statuses; 1 of the other commands. A file that is shorter than the system says is damaged; what lacks memory is not
# checked, or ends the command.
FAILURES = {"check": {3}, "digest": {2}}
MORE_FAILURES = {"end": {1}, "memory": {1, 4}}
# The metadata of these directories tell what they are only if they can be read; cut short, they are no metadata.
TOLD_BY_A_DOCUMENT = ("a.n5", "volume")


def commands(folder, name, array):
    """What is done to a store, by name."""
    store = os.path.join(folder, name)
    inside = [array] if array else []
    return {"describe": ["describe", store], "cat": ["cat", store, *inside], "check": ["check", store],
            "digest": ["digest", store], "list": ["describe", folder]}


def wrong_failure(command, statuses, wanted, seen):
    """What is wrong with a command that has failed, or should have, but for its message; None if nothing is. Besides those of
    FAILURES, it may end with one of the exit statuses."""
    if seen[0] == 0:
        return "other bytes, and no error"
    if seen[0] not in FAILURES.get(command, {1}) | statuses:
        return f"exit status {seen[0]}"
    return "wrong bytes before the error" if command == "cat" and not wanted[1].startswith(seen[1]) else None


def error_lines(command, output, errors):
    """The lines that tell of errors; the report of `check` may have them."""
    progress = f"ndlfs {command}: "  # of what takes long
    lines = [line for line in errors.splitlines() if " is a directory with " not in line and not line.startswith(progress)]
    if command == "check" and not lines:
        lines = [line for line in output.decode().splitlines() if line.startswith("  ")]
    return lines


def chosen(groups, rng):
    return groups if ALL else rng.sample(groups, min(SAMPLES, len(groups)))


class FaultCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        print(f"NDLFS_FAULT_SEED={SEED}", flush=True)
        self.rng = random.Random(SEED)
        self.found = collections.Counter()
        self.moment = 1_500_000_000
        self.top = os.path.join(self.scratch, "source")
        self.control = Control(os.path.join(self.scratch, "control"), self.top)
        self.addCleanup(self.control.close)
        self.environment = self.control.environment(LIBRARY)

    def make(self, name, write):
        folder = os.path.join(self.top, name.replace(".", "_"))
        if not os.path.exists(folder):
            os.makedirs(folder)
            write(os.path.join(folder, name))
        return folder

    def places(self, calls):
        """Which calls fail."""
        return range(1, calls + 1) if ALL else sorted(self.rng.sample(range(1, calls + 1), min(FROM_EACH, calls)))

    def run_faulty(self, words):
        """Exit status, output without what tells of time, and error output."""
        done = subprocess.run([harness.BINARY, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=harness.DEADLINE)
        output = re.sub(rb" in \d+:\d+ \([^)]*\)", b"", done.stdout)
        return done.returncode, output, done.stderr.decode()

    def touch(self, folder):
        """Nothing of it that is known holds any longer."""
        self.moment += 1
        for top, _, files in os.walk(folder):
            for file in files:
                os.utime(os.path.join(top, file), (self.moment, self.moment))

    def ask(self, page):
        """(status, body); what came of the body if the server ends it early, with the status 0."""
        try:
            status, _, body = self.server.ask(page)
            return status, body
        except http.client.IncompleteRead as error:
            return 0, error.partial
        except (ConnectionError, http.client.HTTPException):
            return 0, b""


class CommandTest(FaultCase):
    def judge(self, command, name, fault, wanted, seen):
        """What is wrong with the outcome `seen` of a command in which a call has failed; None if nothing is."""
        if fault == "end" and name in TOLD_BY_A_DOCUMENT:
            return None
        wrong = wrong_failure(command, MORE_FAILURES.get(fault, set()), wanted, seen)
        if wrong:
            return wrong
        _, output, errors = seen
        lines = error_lines(command, output, errors)
        if len(lines) != 1:
            return f"{len(lines)} lines of errors"
        place = name.split(".")[0]
        if not re.search(REASONS, lines[0]) or place not in (lines[0] + output.decode(errors="replace")):
            return "an error without place and reason"
        return None

    def check_fault(self, words, command, name, wanted, fault, at):
        self.control.arm(fault, at)
        seen = self.run_faulty(words)
        what = self.control.what().replace(self.top, "")
        wrong = None
        if self.control.field(OPEN) != 0:
            wrong = f"{self.control.field(OPEN)} descriptors are open at the end"
            self.control.forget_open()
        elif seen != wanted and (FAULTS[fault][2] or not self.control.field(FAILED)):
            wrong = "an error that should not be seen"
        elif seen != wanted:
            wrong = self.judge(command, name, fault, wanted, seen)
        self.found["same" if seen == wanted else "error"] += 1
        if wrong:
            with self.subTest(store=name, command=command, fault=fault, at=at, what=what):
                self.fail(f"{wrong}: {seen[0]} {seen[2]}{seen[1].decode(errors='replace')[:300]}")

    def test_every_call_fails_once(self):
        rows = [(store, command, fault) for store in STORES for command in ("describe", "cat", "check", "digest", "list")
                for fault in FAULTS]
        for (name, write, array), command, fault in chosen(rows, self.rng):
            words = commands(self.make(name, write), name, array)[command]
            self.control.arm(fault, 0)
            wanted = self.run_faulty(words)
            self.assertEqual(wanted[0], 0, (words, wanted))
            for at in self.places(self.control.field(CALLS)):
                self.check_fault(words, command, name, wanted, fault, at)
        print(dict(self.found))


class ServedTest(FaultCase):
    """A server of all the stores, in which one call after the other fails."""

    def pages(self, name, array):
        base = f"/{name.replace('.', '_')}/"
        folder = f"{base}{name}/" + (f"{array}/" if array else "")
        if self.ask(folder + "data.npy")[0] == 404:  # a store of named arrays that has only one
            folder += name.split(".")[0] + "/"
        return [base, f"{base}{name}/", f"{base}{name}/.ndl.yaml", folder + "data.npy", folder]

    def check_page(self, folder, page, fault, at):
        self.touch(folder)
        self.control.arm(fault, at)
        seen = self.ask(page)
        failed, what = self.control.field(FAILED), self.control.what().replace(self.top, "")
        self.control.disarm()
        wanted = self.ask(page)
        with self.subTest(page=page, fault=fault, at=at, what=what):
            self.assertEqual(wanted[0], 200, f"the next try: {wanted[1][:300]}")
            if FAULTS[fault][2] or not failed:
                self.assertEqual(seen, wanted, "an error that should not be seen")
            elif seen[0] == 200:
                self.assertEqual(seen[1], wanted[1], "other bytes, and no error")
            elif seen[0] == 0:
                self.assertTrue(wanted[1].startswith(seen[1]), "wrong bytes before the error")
            else:
                self.assertIn(seen[0], (500, 502, 503, 504), seen[1])
            self.assertLessEqual(self.control.field(OPEN), KEPT_OPEN)
        self.found["same" if seen == wanted else "error"] += 1

    def test_a_server_goes_on_after_every_fault(self):
        for name, write, _ in STORES:
            self.make(name, write)
        os.environ["no_proxy"] = "*"
        self.server = self.enterContext(serve_test.Server(self.top, "--revalidate", "0", "--threads", "1",
                                                          env=self.environment))
        groups = [(name, page, fault) for name, _, array in STORES for page in self.pages(name, array) for fault in FAULTS]
        for name, page, fault in chosen(groups, self.rng):
            folder = os.path.join(self.top, name.replace(".", "_"))
            self.touch(folder)
            self.control.arm(fault, 0)
            self.assertEqual(self.ask(page)[0], 200, page)
            for at in self.places(self.control.field(CALLS)):
                self.check_page(folder, page, fault, at)
        print(dict(self.found))


if __name__ == "__main__":
    harness.main()
