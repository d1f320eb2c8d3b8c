# SPDX-License-Identifier: MIT
"""ndlfs serve, sentence by sentence of RFC 9110 and RFC 9112: requests as raw bytes, and what has to come back."""
import email.utils
import os
import re
import socket
import time

import harness
import serve_test

RAW = serve_test.VALUES.tobytes()
PATH = "/s.zarr/a/data.raw"


class Answer:
    """One answer of a connection; `rest` is what follows it."""

    def __init__(self, text, method="GET"):
        head, _, rest = text.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        found = re.fullmatch(r"HTTP/1\.1 (\d{3}) [\x20-\x7e]*", lines[0])
        if not found:
            raise AssertionError(f"no status line: {lines[0]!r}")
        self.status = int(found[1])
        self.fields = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
                raise AssertionError(f"no field: {line!r}")
            self.fields[name.lower()] = value.strip()
        has_body = method != "HEAD" and self.status not in (204, 304) and self.status >= 200
        length = int(self.fields.get("content-length", 0)) if has_body else 0
        self.body, self.rest = rest[:length], rest[length:]


class ConformanceCase(serve_test.ServeCase):
    def setUp(self):
        super().setUp()
        # Files of this second have no strong date.
        for folder, _, names in os.walk(self.source):
            for name in [".", *names]:
                os.utime(os.path.join(folder, name), (1_700_000_000, 1_700_000_000))
        self.server = self.serve()

    def assert_bytes(self, got, expected, what=None):
        """Without the bytes in the message."""
        self.assertTrue(got == expected, f"{what}: {len(got)} bytes, {got[:60]!r}")

    def ask(self, *fields, method="GET", target=PATH, version="1.1", host="Host: localhost", body=b"", close=True):
        lines = [f"{method} {target} HTTP/{version}", *([host] if host else []), *fields, *(["Connection: close"] if close else [])]
        text = self.server.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        return Answer(text, method) if text else None

    def status(self, *fields, **more):
        answer = self.ask(*fields, **more)
        return answer.status if answer else None


class MessageTest(ConformanceCase):
    """RFC 9112."""

    def test_request_lines(self):
        for target in (PATH, "http://localhost" + PATH, f"HTTP://127.0.0.1:{self.server.port}" + PATH, PATH + "?x=1"):
            self.assert_bytes(self.ask(target=target).body, RAW, target)
        self.assertEqual(self.status(method="OPTIONS", target="*"), 204)
        self.assert_bytes(self.ask(version="1.0", host=None).body, RAW)
        for method in "get", "TRACE", "FOO", "PUT", "PATCH":
            self.assertIn(self.status(method=method), (400, 405, 501), method)
        # Empty lines before a request are skipped (section 2.2).
        text = self.server.raw(f"\r\nGET {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        self.assert_bytes(Answer(text).body, RAW)
        for line in (f"GET {PATH}", f"GET {PATH} HTTP/1.1 x", f"GET\t{PATH}\tHTTP/1.1", f"GET {PATH} HTTP/2.0", f"GET {PATH} http/1.1",
                     "GET", f"GET {PATH}\x01 HTTP/1.1"):
            status = self.server.status_of(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            self.assertIn(status, (400, 404, 505, None), line)

    def test_host(self):
        self.assertEqual(self.status(host=None), 400)
        self.assertEqual(self.status("Host: localhost"), 400)
        self.assertEqual(self.status(host="Host: evil.example"), 421)

    def test_fields(self):
        # Blanks around a value are no part of it (section 5.1).
        self.assertEqual(self.ask("Range: \t bytes=0-9 \t ").body, RAW[:10])
        self.assertEqual(self.ask("range:bytes=0-9").body, RAW[:10])
        self.assertEqual(self.status("X: " + "y" * 8192), 200)
        for line in "Range : bytes=0-9", "X Y: z", "X(: y":
            self.assertEqual(self.status(line), 400, line)
        self.assertIn(self.status(": x"), (200, 400))
        self.assertIn(self.status(" X: y"), (400, None))
        # A field over several lines is refused (section 5.2), and so is a NUL or a CR in a field (section 5).
        for line in ("X: a\r\n b", "X: a\r\n\tb", "Range: bytes=0-9,\r\n 20-29", "X:\r\n b", "Transfer-Encoding:\r\n chunked",
                     "X: a\0b", "X: \0", "X\0: a", "Range: bytes=0-1\0,5-6", "Content-Length: 0\0 5", "Host\0: x", "X: a\rb"):
            for place in ([line, "Y: z"], ["Y: z", line]):
                self.assertIn(self.status(*place), (400, 413, None), repr(line))
        for host in "localhost\0.evil.example", "localhost\r\n .evil.example":
            self.assertIn(self.status(host=f"Host: {host}"), (400, None), repr(host))
        self.assertIn(self.status(target=PATH + "\0x"), (400, None))

    def test_requests_in_pieces(self):
        fields = [f"X-{number}: {'y' * (number * 7 % 50)}" for number in range(150)]
        request = "\r\n".join([f"GET {PATH} HTTP/1.1", "Host: localhost", *fields, "Range: bytes=0-9", "Empty:", "Connection: close", "", ""])
        for size in 1, 100, 1460:
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=serve_test.DEADLINE) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for begin in range(0, len(request), size):
                    client.sendall(request[begin:begin + size].encode())
                answer = Answer(b"".join(iter(lambda: client.recv(1 << 16), b"")))
            self.assertEqual((answer.status, answer.body), (206, RAW[:10]), size)

    def test_lines_end_with_both(self):
        for head in f"GET {PATH} HTTP/1.1\nHost: localhost\n\n", f"GET {PATH} HTTP/1.1\r\nX: y\nHost: localhost\r\nConnection: close\r\n\r\n":
            self.assertIn(self.server.status_of(head.encode()), (400, None))

    def test_sizes(self):
        """What is too large is told as such (section 15 of RFC 9110)."""
        for request, status in ((f"GET /{'y' * 20_000} HTTP/1.1\r\nHost: x\r\n\r\n", 414),
                                (f"GET / HTTP/1.1\r\nHost: x\r\nX: {'y' * 20_000}\r\n\r\n", 431),
                                ("PROPFIND / HTTP/1.1\r\nHost: x\r\nDepth: 0\r\nContent-Length: 1000000\r\n\r\n", 413)):
            self.assertEqual(self.server.status_of(request.encode()), status)

    def test_lengths(self):
        for fields in (["Content-Length: 5", "Transfer-Encoding: chunked"], ["Content-Length: 1", "Content-Length: 2"],
                       ["Content-Length: 1, 2"], ["Content-Length: +1"], ["Content-Length: 0x1"], ["Transfer-Encoding: gzip, gzip"],
                       ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]):
            answer = self.server.raw(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n".encode() + "\r\n".join(fields).encode() +
                                     b"\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n")
            # The connection ends: what follows is never another request.
            self.assertIn(Answer(answer).status if answer else None, (400, 413, 501, None), fields)
            self.assertNotIn(b" 404 ", answer, fields)

    def test_chunked_bodies(self):
        question = b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/></propfind>'
        chunked = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in (question[:10], question[10:])) + b"0\r\nX: y\r\n\r\n"
        fields = "Depth: 0", "Transfer-Encoding: chunked"
        self.assertEqual(self.ask(*fields, method="PROPFIND", body=chunked).status, 207)
        for wrong in b"zz\r\n", b"-1\r\nx\r\n0\r\n\r\n", b"ffffffffffffffffff\r\n", b"1\r\nxy\r\n0\r\n\r\n":
            self.assertIn(self.status(*fields, method="PROPFIND", body=wrong), (400, 413, None), wrong)
        for encoding in "xchunked", "chunked, identity", "gzip":
            self.assertEqual(self.status(fields[0], f"Transfer-Encoding: {encoding}", method="PROPFIND", close=False), 400)

    def test_expectations(self):
        text = self.server.raw(b"PROPFIND / HTTP/1.1\r\nHost: localhost\r\nDepth: 0\r\nExpect: 100-continue\r\nConnection: close\r\n"
                               b"Content-Length: 2\r\n\r\nhi")
        if text.startswith(b"HTTP/1.1 100"):
            text = text.partition(b"\r\n\r\n")[2]
        self.assertEqual(Answer(text).status, 207)
        # A body that is not wanted is refused before it comes.
        self.assertIn(self.status("Expect: 100-continue", "Content-Length: 1000000", method="PUT"), (405, 413))
        self.assertIn(self.status("Expect: miracles"), (200, 417))

    def test_answers_in_a_row(self):
        tag = self.ask().fields["etag"]
        requests = [("HEAD", ""), ("GET", "Range: bytes=0-9\r\n"), ("GET", f"If-None-Match: {tag}\r\n"), ("GET", "Range: bytes=99999-\r\n"),
                    ("OPTIONS", ""), ("GET", "Connection: close\r\n")]
        rest = self.server.raw("".join(f"{method} {PATH} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n" for method, field in requests).encode())
        statuses = []
        for method, _ in requests:
            answer = Answer(rest, method)
            statuses.append(answer.status)
            rest = answer.rest
        self.assertEqual((statuses, rest), ([200, 206, 304, 416, 204, 200], b""))
        self.assert_bytes(answer.body, RAW)

    def test_connections(self):
        self.assertEqual(self.ask().fields["connection"].lower(), "close")
        old = self.server.raw(f"GET {PATH} HTTP/1.0\r\n\r\nGET {PATH} HTTP/1.0\r\n\r\n".encode())
        self.assertEqual(old.count(b" 200 OK"), 1)


class SemanticsTest(ConformanceCase):
    """RFC 9110."""

    def test_every_answer_has_its_fields(self):
        for more in ({}, {"target": "/none"}, {"target": "/"}, {"method": "HEAD"}, {"method": "PUT"}):
            answer = self.ask(**more)
            self.assertIsNotNone(email.utils.parsedate_to_datetime(answer.fields["date"]))
            self.assertIn("content-length", answer.fields)
        self.assertIn("GET", self.ask(method="PUT").fields["allow"])
        etag = self.ask().fields["etag"]
        self.assertEqual(self.ask(f"If-None-Match: {etag}").fields["etag"], etag)

    def test_ranges(self):
        size = len(RAW)
        for value, expected in (("bytes=0-0", RAW[:1]), ("Bytes=0-0", RAW[:1]), (f"bytes={size - 1}-{size + 9}", RAW[-1:]), ("bytes=-1", RAW[-1:]),
                                (f"bytes=-{size + 5}", RAW), ("bytes=1-1,", RAW[1:2])):
            answer = self.ask(f"Range: {value}")
            self.assertEqual(answer.status, 206, value)
            self.assert_bytes(answer.body, expected, value)
        for value in "items=0-1", "bytes=2-1", "bytes=", "bytes=x-1", "bytes=1", "bytes", "bytes=1--2":
            self.assertEqual(self.status(f"Range: {value}"), 200, value)
        for value in f"bytes={size}-", "bytes=-0", "bytes=99999999999999999999999-":
            answer = self.ask(f"Range: {value}")
            self.assertIn((answer.status, answer.fields.get("content-range")), {(416, f"bytes */{size}"), (200, None)}, value)
        # Only GET has ranges (section 14.2).
        answer = self.ask("Range: bytes=0-9", method="HEAD")
        self.assertEqual((answer.status, answer.fields["content-length"]), (200, str(size)))

    def test_conditions(self):
        first = self.ask()
        tag, modified = first.fields["etag"], first.fields["last-modified"]
        moment = time.gmtime(email.utils.parsedate_to_datetime(modified).timestamp())
        forms = (modified, time.strftime("%A, %d-%b-%y %H:%M:%S GMT", moment), time.strftime("%a %b %e %H:%M:%S %Y", moment))
        before = "Sun, 06 Nov 1994 08:49:37 GMT"
        olds = before, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"
        for fields, status in (
                ([f"If-None-Match: {tag}"], 304), ([f"If-None-Match: W/{tag}"], 304), (["If-None-Match: *"], 304),
                ([f'If-None-Match: "x", {tag}'], 304), (['If-None-Match: "x"'], 200), (['If-None-Match: "x"', f"If-None-Match: {tag}"], 304),
                ([f"If-Match: {tag}"], 200), ([f"If-Match: W/{tag}"], 412), (["If-Match: *"], 200), (['If-Match: "x"'], 412),
                # Two versions may have one date: where there is a tag, a date alone does not save the body.
                *(([f"If-Modified-Since: {form}"], 200) for form in (*forms, *olds)), (["If-Unmodified-Since: yesterday"], 200),
                *(([f"If-Unmodified-Since: {form}"], 200) for form in forms), *(([f"If-Unmodified-Since: {form}"], 412) for form in olds),
                # The tag comes before the date (section 13.2.2).
                (['If-None-Match: "x"', f"If-Modified-Since: {modified}"], 200), ([f"If-Match: {tag}", f"If-Unmodified-Since: {before}"], 200)):
            self.assertEqual(self.status(*fields), status, fields)
        for value, status in ((tag, 206), (f"W/{tag}", 200), ('"x"', 200), (before, 200)):
            self.assertEqual(self.status("Range: bytes=0-9", f"If-Range: {value}"), status, value)
        self.assertEqual(self.status("Range: bytes=0-9", f"If-None-Match: {tag}"), 304)
        self.assertEqual(self.status(f"If-None-Match: {tag}", method="HEAD"), 304)


if __name__ == "__main__":
    harness.main()
