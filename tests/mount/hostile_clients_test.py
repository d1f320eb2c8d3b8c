# SPDX-License-Identifier: MIT
"""ndlfs serve and clients that send mutants of requests, requests that look small and ask for much, and requests that never end."""
import json
import os
import random
import re
import socket

import harness
import serve_test

MUTANTS = int(os.environ.get("NDLFS_MUTANTS", "150"))
# One request of each protocol.
SEEDS = [
    "GET /s.zarr/a/data.npy HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-9,20-29\r\nIf-Range: \"a\"\r\n",
    "GET /s.zarr/a/values[1:5,mean:x=2,axes:1,0].zarr/0.0 HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"a\", W/\"b\"\r\n",
    "GET /s.zarr.dods?a[0:1:3][0:2:9] HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n",
    "GET /s.zarr.dap?dap4.ce=/a[0:3][]&dap4.checksum=true HTTP/1.1\r\nHost: localhost\r\n",
    "GET /s.zarr.ascii?a HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; c=d\r\nAuthorization: Basic YTpi\r\n",
    "GET /bucket?list-type=2&prefix=s.zarr/&delimiter=/&max-keys=3&continuation-token=s HTTP/1.1\r\nHost: localhost\r\n",
    "GET /?q=a+b&format=json HTTP/1.1\r\nHost: localhost\r\nOrigin: http://a\r\nX-Forwarded-For: 10.0.0.1, ::1\r\n",
    "HEAD /dir/read%20me.txt HTTP/1.1\r\nHost: localhost\r\nIf-Modified-Since: Thu, 01 Jan 1970 00:00:07 GMT\r\n",
    "PROPFIND /s.zarr/ HTTP/1.1\r\nHost: localhost\r\nDepth: 1\r\nContent-Length: 0\r\n",
]
PIECES = ["/", "..", "%", "%00", "%2f", "\0", "\r", "\n", "[", "]", ",", ":", "-", "=", "&", "?", "#", "*", "~", "\\", "'", "9" * 25, "-1", "0",
          "a" * 300, "%25" * 9, "\u00e9", "mean:", "axes:", "data", ".", "{", "}", "bytes=", "\"", ";", " ", "\t", "W/", "values", "health"]
LONG = 12_000  # as long as requests may be, nearly
# What takes long if anything is tried twice at each character.
BOMBS = [f"/s.zarr{end}" for one in ("a.", "a,", "[0]", "a[0:1:2]", "%25", "../", "(", "*", "/a;", "a=1&") for end in
         (f".dods?{one * (LONG // len(one))}", f".dap?dap4.ce={one * (LONG // len(one))}")]
BOMBS += [f"/s.zarr/a/data[{one * (LONG // len(one))}].npy" for one in ("0,", "0:1,", "...,", "mean:x=2,", "[", "].", "x=", "#", "axes:", "order=F,")]
BOMBS += ["/" + "a/" * 6000, "/s.zarr/" + "a." * 6000, "/" + "%41" * 4000, "/?q=" + "a+" * 6000, "/bucket?list-type=2&prefix=" + "a/" * 5000]


def mutant(source):
    text = source.choice(SEEDS)
    for _ in range(source.randint(1, 4)):
        at, end = sorted(source.randint(0, len(text)) for _ in range(2))
        kind = source.randint(0, 3)
        if kind == 0:
            text = text[:at] + source.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[min(end, at + 8):]
        elif kind == 2:
            text = text[:end] + text[at:end][:40] * source.randint(1, 20) + text[end:]
        else:
            text = text[:at] + chr(source.randint(0, 255)) + text[at + 1:]
    return (text + "Connection: close\r\n\r\n").encode("latin-1", "replace")


class HostileCase(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        harness.write(os.path.join(self.scratch, "secret"), "SECRET")
        self.server = self.serve("--s3", "bucket")

    def requests(self):
        stats = json.loads(self.server.get("/.ndlfs/stats.json"))
        return stats["requests_running"] + stats["requests_waiting"]

    def check(self, answer, request):
        """An answer, if there is one, is an answer; no fault of the server, and nothing from elsewhere."""
        self.assertTrue(answer == b"" or re.match(rb"HTTP/1\.1 [1-5]\d\d ", answer), request)
        self.assertFalse(re.match(rb"HTTP/1\.1 5(?!0[35])", answer), request)
        self.assertNotIn(b"SECRET", answer)
        self.assertNotIn(b"root:", answer)

    def tearDown(self):
        self.assertEqual(self.server.get("/s.zarr/a/data.raw"), serve_test.VALUES.tobytes())
        harness.wait_until(lambda: self.requests() == 1, "only this request runs")
        super().tearDown()


class MutantsTest(HostileCase):
    def test_mutants(self):
        source = random.Random(52)
        for _ in range(MUTANTS):
            request = mutant(source)
            self.check(self.ask(request), request)

    def ask(self, request):
        """As far as it comes: a request without an end gets no answer."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=harness.DEADLINE) as client:
            try:
                client.sendall(request)
                answer = b""
                client.settimeout(0.3)
                while piece := client.recv(1 << 16):
                    answer += piece
                    client.settimeout(harness.DEADLINE)
            except OSError:
                pass
            return answer


class BombsTest(HostileCase):
    def test_long_names_are_read_once(self):
        for path in BOMBS:
            with self.subTest(path[:60]):
                self.assertIn(self.server.ask(path)[0], (200, 400, 404, 413, 414, 431))

    def test_requests_that_never_end_hold_nobody_up(self):
        clients = [socket.create_connection(("127.0.0.1", self.server.port), timeout=harness.DEADLINE) for _ in range(200)]
        for byte in b"GET /s.zarr/a/data.raw HTTP/1.1\r\nX: ":
            for client in clients:
                client.sendall(bytes([byte]))
        self.assertEqual(self.server.get("/s.zarr/a/data.raw"), serve_test.VALUES.tobytes())
        for client in clients:
            client.close()


if __name__ == "__main__":
    harness.main()
