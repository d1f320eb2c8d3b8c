# SPDX-License-Identifier: MIT
"""The n-th answer: each request of a command to the server of its source gets a wrong answer once, in its turn, or from its
turn on. A fault that passes is not seen. A lie, and a fault that lasts, are errors that name place and reason; what has come
before them is right.

NDLFS_ALL_FAULTS, NDLFS_FAULT_SEED and NDLFS_FAULT_STORES are those of nth_fault_test.py."""
import os
import re

import harness
import lying_server
import nth_fault_test as nth


def changed(change):
    """The answer that would be right, after change(status, body, headers), which returns the keywords of the answer."""
    def answer_once(handler):
        right = handler.answer

        def answer(status, body=b"", **headers):
            del handler.answer  # which a connection uses again
            right(status, **change(status, body, headers))
        handler.answer = answer
        return False
    return answer_once


def cut(_, body, headers):
    """The half of what it promises."""
    return {"body": body[:len(body) // 2], "length": len(body) + (not body), **headers}


def other_place(status, body, headers):
    """The bytes of another range than was asked for, which it says."""
    if status == 206:
        begin, end, size = map(int, re.findall(r"\d+", headers["Content_Range"]))
        headers["Content_Range"] = f"bytes {begin + 1}-{end + 1}/{size + 1}"
    return {"body": body, **headers}


def longer(status, body, headers):
    """More bytes than the range that it answers."""
    return {"body": body + b"x" * (status == 206), **headers}


def other_version(handler):
    """The tag of a file that has changed meanwhile."""
    handler.owner.validators = lambda status: lying_server.validators(status) | {"ETag": '"other"'}
    try:
        handler.serve(handler.place)
    finally:
        handler.owner.validators = lying_server.validators
    return True


def said(status, body=b"", **headers):
    return lambda handler: (handler.answer(status, body, **headers), True)[1]


def reset(handler):
    handler.reset()
    return True


# By name: the answer (true if all is said), and whether a client has to ask again.
ANSWERS = {
    "503": (said(503, Retry_After="0"), True),
    "429": (said(429, Retry_After="0"), True),
    "500": (said(500), True),
    "reset": (reset, True),
    "cut": (changed(cut), True),
    "418": (said(418), False),
    "encoded": (said(200, b"xx", Content_Encoding="br"), False),
    "redirect": (said(302, Location="http://169.254.169.254/latest"), False),
    "other place": (changed(other_place), False),
    "longer": (changed(longer), False),
    "other version": (other_version, False),
}
SAMPLES = 12  # groups of answers; those that last take their time
COMMANDS = ("describe", "cat", "check", "digest", "list")


class NthAnswerTest(nth.FaultCase):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.server = lying_server.Server(self.top)
        self.addCleanup(self.server.stop)

    def run_briefly(self, words):
        """Progress is told of what takes long; it is no error."""
        status, output, errors = self.run_faulty([*words, "--timeout", "1"])
        return status, output, re.sub(r"^ndlfs [a-z]+: [0-9]+%.*\n", "", errors, flags=re.MULTILINE)

    def arm(self, answer, at, lasts):
        """The answer to request `at`, counted from 1, is wrong, and those to all after it if the fault lasts."""
        count = 0

        def lie(path, handler):
            nonlocal count
            with self.server.lock:
                count += 1
                is_turn = count == at or (lasts and count > at)
            if not is_turn:
                return False
            handler.place = path
            self.wrong.append(f"{handler.command} {path}")
            return answer(handler)
        self.wrong = []
        self.server.lie = lie

    def judge(self, command, name, kind, lasts, wanted, seen):
        """What is wrong with the outcome `seen`; None if nothing is."""
        if seen == wanted:
            return None
        if ANSWERS[kind][1] and not lasts:
            return "an error that should not be seen"
        # An encoding is something that ndlfs does not know.
        wrong = nth.wrong_failure(command, {1, 4} if kind == "encoded" else {1}, wanted, seen)
        if wrong:
            return wrong
        lines = nth.error_lines(command, *seen[1:])
        # What lasts concerns one array after the other.
        if not lines or (len(lines) > 1 and not lasts):
            return f"{len(lines)} lines of errors"
        place = name.split(".")[0]
        return None if all(place in line for line in lines) or place in seen[1].decode(errors="replace") else "an error without a place"

    def check_answer(self, words, command, name, wanted, kind, at, lasts):
        self.arm(ANSWERS[kind][0], at, lasts)
        seen = self.run_briefly(words)
        self.server.lie = None
        wrong = self.judge(command, name, kind, lasts, wanted, seen)
        self.found["same" if seen == wanted else "error"] += 1
        if wrong:
            with self.subTest(store=name, command=command, answer=kind, at=at, lasts=lasts, what=self.wrong[:1]):
                self.fail(f"{wrong}: {seen[0]} {seen[2]}{seen[1].decode(errors='replace')[:300]}")

    def test_every_answer_is_wrong_once(self):
        # Behind a server only a name tells what a file is.
        stores = [row for row in nth.STORES if row[0] != "map"]
        rows = [(store, command, kind, lasts) for store in stores for command in COMMANDS for kind in ANSWERS for lasts in (False, True)]
        for (name, write, array), command, kind, lasts in (rows if nth.ALL else self.rng.sample(rows, SAMPLES)):
            folder = os.path.basename(self.make(name, write))
            words = nth.commands(f"{self.server.url}/{folder}", name, array)[command]
            self.server.taken()
            wanted = self.run_briefly(words)
            self.assertEqual(wanted[0], 0, (words, wanted))
            requests = len(self.server.taken())
            self.assertGreater(requests, 0)
            for at in self.places(requests):
                self.check_answer(words, command, name, wanted, kind, at, lasts)
        print(dict(self.found))


if __name__ == "__main__":
    harness.main()
