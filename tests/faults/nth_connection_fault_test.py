# SPDX-License-Identifier: MIT
"""The n-th fault of a connection: each call on a socket fails once, in its turn, in a command that reads from a server, and in
`ndlfs serve`. The command gives the same bytes, or an error that names the place. The client of the server sees the right
bytes, or that its connection has ended; the next one is answered, and no socket is left.

The environment is that of nth_fault_test.py."""
import os

import harness
import lying_server
import nth_fault_test as nth
import serve_test
from faulty_program import CALLS, CONNECTION_FAULTS, FAILED, OPEN, Control

STORES = [row for row in nth.STORES if row[0] in ("v3.zarr", "four.nc", "a.tif", "consolidated.zarr", "store.zarr.zip")]


class ConnectionCase(nth.FaultCase):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.control.close()
        self.control = Control(os.path.join(self.scratch, "control"), "connections")
        for name, write, _ in STORES:
            self.make(name, write)


class ClientTest(ConnectionCase):
    def judge(self, name, fault, wanted, seen):
        if seen == wanted:
            return None
        if CONNECTION_FAULTS[fault][2] and seen[0]:
            return "an error that should not be seen"
        wrong = nth.wrong_failure("cat", set(), wanted, seen)
        if wrong:
            return wrong
        lines = seen[2].splitlines()
        return None if len(lines) == 1 and name.split(".")[0] in lines[0] else f"{len(lines)} lines of errors"

    def test_every_call_of_a_command_fails_once(self):
        server = lying_server.Server(self.top)
        self.addCleanup(server.stop)
        rows = [(name, array, fault) for name, _, array in STORES for fault in CONNECTION_FAULTS]
        for name, array, fault in nth.chosen(rows, self.rng):
            words = ["cat", f"{server.url}/{name.replace('.', '_')}/{name}", *([array] if array else [])]
            self.control.arm(fault, 0)
            wanted = self.run_faulty(words)
            self.assertEqual(wanted[0], 0, (words, wanted))
            self.assertGreater(self.control.field(CALLS), 0)
            for at in self.places(self.control.field(CALLS)):
                self.control.arm(fault, at)
                seen, what = self.run_faulty(words), self.control.what()
                self.control.forget_open()
                with self.subTest(store=name, fault=fault, at=at, what=what):
                    wrong = self.judge(name, fault, wanted, seen)
                    self.assertIsNone(wrong, seen[2])
                self.found[(what.partition(" ")[0] or "nothing", "same" if seen == wanted else "error")] += 1
        print(dict(self.found))


class ServerTest(ConnectionCase):
    def check_page(self, page, fault, at, wanted):
        self.control.arm(fault, at)
        seen, what = self.ask(page), self.control.what()
        failed = self.control.field(FAILED)
        self.control.disarm()
        with self.subTest(page=page, fault=fault, at=at, what=what):
            self.assertEqual(self.ask(page), wanted, "the next try")
            if CONNECTION_FAULTS[fault][2] or not failed:
                self.assertEqual(seen, wanted, "an error that should not be seen")
            self.assertTrue(seen == wanted or (seen[0] == 0 and wanted[1].startswith(seen[1])), seen)
            harness.wait_until(lambda: self.control.field(OPEN) <= self.idle, "the end of the connections")
        self.found[(what.partition(" ")[0] or "nothing", "same" if seen == wanted else "error")] += 1

    def test_a_server_goes_on_after_every_fault(self):
        self.control.arm("EINTR", 0)  # from now on its sockets are known
        self.server = self.enterContext(serve_test.Server(self.top, "--revalidate", "60", env=self.environment))
        self.idle = self.control.field(OPEN)
        pages = [f"/{name.replace('.', '_')}/{name}/{array}{end}" for name, _, array in STORES for end in ("/", "/data.npy")]
        pages = [page for page in pages if self.ask(page)[0] == 200]
        self.assertGreater(len(pages), len(STORES))
        for page, fault in nth.chosen([(page, fault) for page in pages for fault in CONNECTION_FAULTS], self.rng):
            self.control.arm(fault, 0)
            wanted = self.ask(page)
            for at in self.places(self.control.field(CALLS)):
                self.check_page(page, fault, at, wanted)
        print(dict(self.found))


if __name__ == "__main__":
    harness.main()
