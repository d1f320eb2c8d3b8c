# SPDX-License-Identifier: MIT
"""ndlfs serve: what it sends, byte for byte, and what it does with clients that lie, stop or never read."""
import base64
import fcntl
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import xml.etree.ElementTree
import zlib

import harness
import netCDF4
import numpy as np
import zarr2 as zarr

VALUES = np.arange(64 * 48, dtype="<i4").reshape(64, 48)
DEADLINE = harness.DEADLINE


class Server:
    """`ndlfs serve`, as a context manager. `url` is what it has printed, `port` its port. Unless `closed`, it needs no token,
    and shows all files."""

    def __init__(self, source, *options, ends=signal.SIGTERM, listens=("--listen", "127.0.0.1:0"), closed=False, **more):
        open_options = () if closed else ("--dot-files",) if "--token" in options else ("--dot-files", "--no-token")
        self.command = [harness.BINARY, "serve", source, *listens, "--timeout", str(DEADLINE), *open_options, *options]
        self.ends = ends
        self.more = more

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **self.more)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise AssertionError(f"no server: {self.process.communicate()[1]}")
        self.port = urllib.parse.urlsplit(self.url).port
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(self.ends)
        try:
            _, self.log = self.process.communicate(timeout=harness.ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError("the server does not end") from None
        if any(report in self.log for report in harness.REPORTS):
            raise AssertionError(self.log)
        if kind is None and self.process.returncode != 0:
            raise AssertionError(f"exit status {self.process.returncode}: {self.log}")

    def ask(self, path, method="GET", body=None, **fields):
        """(status, fields, body) of a request; fields of it have '_' for '-'."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, body = self.ask(path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body}")
        return body

    def raw(self, request):
        """All that comes back for the bytes of `request` until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE) as client:
            pieces = []
            try:
                client.sendall(request)
                # A client that sends no more has left: only when nothing comes any more.
                while select.select([client], [], [], 2)[0]:
                    pieces.append(client.recv(1 << 16))
                    if not pieces[-1]:
                        return b"".join(pieces)
                client.shutdown(socket.SHUT_WR)
            except OSError:  # it has closed already
                pass
            while True:
                try:
                    piece = client.recv(1 << 16)
                except ConnectionResetError:
                    break
                if not piece:
                    break
                pieces.append(piece)
            return b"".join(pieces)

    def status_of(self, request):
        answer = self.raw(request)
        found = re.match(rb"HTTP/1\.[01] (\d+) ", answer)
        return int(found[1]) if found else None


class ServeCase(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        group = zarr.open_group(self.path("s.zarr"), "w")
        group.create_dataset("a", data=VALUES, chunks=(16, 48))
        harness.write(self.path("dir", "read me.txt"), "text" * 1000)

    def serve(self, *options, **more):
        return self.enterContext(Server(self.source, *options, **more))


class HttpTest(ServeCase):
    def test_files_are_those_of_a_mount(self):
        mount = self.mount(self.source)
        server = self.serve()
        for name in ("data.npy", "data.raw", "data.txt", "data[0].npy", "data[16:40:3,::-1].raw", "../data.nc", ".ndl.yaml"):
            with self.subTest(name):
                path = os.path.normpath(f"/s.zarr/a/{name}")
                self.assertEqual(server.get(urllib.parse.quote(path)), harness.read(mount.path + path))
        self.assertEqual(server.get("/dir/read%20me.txt"), b"text" * 1000)
        self.assertEqual(server.get("/.ndlfs/source/s.zarr/.zgroup"), harness.read(self.path("s.zarr", ".zgroup")))
        self.assertIn("threads", server.get("/.ndlfs/config.yaml").decode())
        # Its names in a listing are those of the mount.
        listed = {entry["name"] for entry in json.loads(server.get("/s.zarr/a/?format=json"))}
        self.assertEqual(listed, set(os.listdir(mount.join("s.zarr", "a"))))

    def test_viewers_read_pyramids(self):
        np.save(self.path("p.npy"), VALUES.repeat(8, 0).repeat(8, 1))
        server = self.serve("--cors")
        status, fields, body = server.ask("/p.npy/data.ome.zarr/zarr.json", Origin="https://viewer.example")
        self.assertEqual((status, fields["Access-Control-Allow-Origin"]), (200, "*"))
        image, = json.loads(body)["attributes"]["ome"]["multiscales"]
        self.assertEqual([dataset["path"] for dataset in image["datasets"]], ["0", "1"])
        expected = np.zeros((256, 256), "<i4")
        expected[:256, :192] = VALUES.repeat(4, 0).repeat(4, 1)
        chunk = server.get("/p.npy/data.ome.zarr/1/c/0/0")
        self.assertEqual(len(chunk) % 4, 0)
        shape = json.loads(server.get("/p.npy/data.ome.zarr/1/zarr.json"))["chunk_grid"]["configuration"]["chunk_shape"]
        np.testing.assert_array_equal(np.frombuffer(chunk, "<i4").reshape(shape), expected[:shape[0], :shape[1]])
        status, _, body = server.ask("/p.npy/data.ome.zarr/1/c/0/0", Range="bytes=1000-1999")
        self.assertEqual((status, body), (206, chunk[1000:2000]))
        self.assertEqual(server.ask("/p.npy/data.ome.zarr/1/c/9/0")[0], 404)
        self.assertEqual(server.ask("/p.npy/data.ome.zarr/7/zarr.json")[0], 404)

    def test_ranges(self):
        server = self.serve()
        raw = VALUES.tobytes()
        for field, expected in (("bytes=0-9", raw[:10]), ("bytes=-7", raw[-7:]), ("bytes=4000-", raw[4000:])):
            status, fields, body = server.ask("/s.zarr/a/data.raw", Range=field)
            self.assertEqual((status, body), (206, expected))
            self.assertTrue(fields["Content-Range"].endswith(f"/{len(raw)}"))
        status, fields, body = server.ask("/s.zarr/a/data.raw", Range="bytes=5-9,9000-9001")
        self.assertEqual((status, int(fields["Content-Length"])), (206, len(body)))
        boundary = fields["Content-Type"].partition("boundary=")[2].encode()
        parts = body.split(b"--" + boundary)
        self.assertEqual([part.partition(b"\r\n\r\n")[2] for part in parts[1:3]],
                         [raw[5:10] + b"\r\n", raw[9000:9002] + b"\r\n"])
        status, fields, body = server.ask("/s.zarr/a/data.raw", Range=f"bytes={len(raw)}-")
        self.assertEqual((status, fields["Content-Range"], body), (416, f"bytes */{len(raw)}", b""))

    def test_head_says_what_get_sends(self):
        server = self.serve()
        _, got, _ = server.ask("/s.zarr/a/data.npy")
        status, fields, body = server.ask("/s.zarr/a/data.npy", "HEAD")
        self.assertEqual((status, body), (200, b""))
        for name in ("Content-Length", "ETag", "Last-Modified", "Content-Type", "Accept-Ranges"):
            self.assertEqual(fields[name], got[name], name)

    def test_tag_changes_with_the_source(self):
        server = self.serve("--revalidate", "0")
        _, fields, before = server.ask("/s.zarr/a/data.raw")
        tag = fields["ETag"]
        self.assertEqual(server.ask("/s.zarr/a/data.raw", If_None_Match=tag)[0], 304)
        zarr.open_group(self.path("s.zarr"), "a")["a"][:16] = 7
        _, fields, after = server.ask("/s.zarr/a/data.raw")
        self.assertNotEqual(before, after)
        self.assertNotEqual(fields["ETag"], tag)
        self.assertEqual(server.ask("/s.zarr/a/data.raw", If_None_Match=tag)[0], 200)
        self.assertEqual(server.ask("/s.zarr/a/data.raw", If_Match=tag)[0], 412)
        # A range of the old version is not continued with bytes of the new one.
        self.assertEqual(server.ask("/s.zarr/a/data.raw", If_Range=tag, Range="bytes=5-")[::2], (200, after))
        self.assertEqual(server.ask("/s.zarr/a/data.raw", If_Range=fields["ETag"], Range="bytes=5-")[::2],
                         (206, after[5:]))

    def test_a_file_that_is_known_is_looked_at_again(self):
        server = self.serve("--revalidate", "1")
        versions = {}
        for number in range(3):
            zarr.open_group(self.path("s.zarr"), "a")["a"][:16] = number
            end = time.monotonic() + 1.1
            while time.monotonic() < end:
                status, fields, body = server.ask("/s.zarr/a/data.raw", Range="bytes=0-63")
                self.assertEqual(status, 206)
                self.assertEqual(versions.setdefault(fields["ETag"], body), body)
            status, _, body = server.ask("/s.zarr/a/data.raw", Range="bytes=0-63")
            self.assertEqual(body, np.full(16, number, "<i4").tobytes())
        self.assertGreaterEqual(len(versions), 3)

    def test_folders(self):
        server = self.serve()
        status, fields, _ = server.ask("/s.zarr")
        self.assertEqual((status, fields["Location"]), (301, "./s.zarr/"))
        page = server.get("/s.zarr/").decode()
        self.assertIn("<title>Index of /s.zarr/</title>", page)
        self.assertIn('href="./a/"', page)
        self.assertNotIn('href="/', page)
        self.assertEqual(server.ask("/none")[0], 404)
        self.assertEqual(server.ask("/dir/._read me.txt".replace(" ", "%20"))[0], 404)

    def test_a_program_that_is_told_to_end_ends(self):
        for ends in (signal.SIGINT, signal.SIGTERM):
            with Server(self.source, ends=ends) as server:
                server.get("/s.zarr/a/data.raw")
                idle = socket.create_connection(("127.0.0.1", server.port))
            idle.close()
            self.assertEqual(server.process.returncode, 0)

    def test_one_store_is_the_root(self):
        np.save(self.path("x.npy"), VALUES)
        with Server(self.path("x.npy")) as server:
            self.assertEqual(server.get("/data.raw"), VALUES.tobytes())


class DamageTest(ServeCase):
    """Chunks of 1 MiB, of which one cannot be decoded."""

    def setUp(self):
        super().setUp()
        self.large = np.arange(4 << 18, dtype="<i4").reshape(4, 1 << 18)
        zarr.open_group(self.path("s.zarr"), "a").create_dataset("b", data=self.large, chunks=(1, 1 << 18))

    def damage(self, chunk):
        harness.write(self.path("s.zarr", "b", chunk), b"no chunk")

    def test_a_body_that_cannot_be_completed_ends_its_connection(self):
        self.damage("2.0")
        server = self.serve()
        for fields in ("", "Connection: close\r\n"):
            answer = server.raw(f"GET /s.zarr/b/data.raw HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
            head, _, body = answer.partition(b"\r\n\r\n")
            self.assertIn(b"200 OK", head)
            self.assertIn(f"Content-Length: {self.large.nbytes}".encode(), head)
            self.assertLess(len(body), self.large.nbytes)
            self.assertEqual(body, self.large.tobytes()[:len(body)])
        self.assertIn("b/2.0", server.get("/.ndlfs/errors.log").decode())

    def test_an_error_before_the_first_byte_is_told(self):
        self.damage("2.0")
        server = self.serve()
        for field in (f"bytes={2 << 20}-", f"bytes={(2 << 20) + 5}-{(2 << 20) + 6}"):
            status, fields, body = server.ask("/s.zarr/b/data.raw", Range=field)
            self.assertEqual((status, fields["Content-Type"]), (500, "text/plain; charset=utf-8"))
            self.assertIn(b"s.zarr/b/2.0", body)
            self.assertNotIn("ETag", fields)
        self.assertIn(b"s.zarr/b/2.0", server.get("/s.zarr/b/error.txt"))
        self.assertEqual(server.ask("/s.zarr/b/data.raw", Range="bytes=0-9")[2], self.large.tobytes()[:10])

    def test_a_broken_store_is_a_folder_with_the_reason(self):
        harness.write(self.path("bad.zarr", ".zgroup"), "{")
        server = self.serve()
        self.assertIn(b".zgroup", server.get("/bad.zarr/error.txt"))


class HostileTest(ServeCase):
    def test_requests_that_are_none(self):
        server = self.serve()
        get = "GET / HTTP/1.1\r\nHost: localhost\r\n"
        for request, statuses in (
                ("GET /\r\n\r\n", {505, 400, None}),
                ("GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", {505, 400, None}),
                ("nonsense\r\n\r\n", {505, 400, None}),
                ("GET / HTTP/1.1\r\n\r\n", {400}),
                ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", {400}),
                (get + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400, 413}),
                (get + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", {400}),
                (get + "Content-Length: -1\r\n\r\n", {400, 413}),
                (get + "Content-Length: 18446744073709551616\r\n\r\n", {400, 413}),
                (get + "Content-Length: 3\r\n\r\nabc", {413}),
                (get + "Transfer-Encoding: gzip\r\n\r\n", {400, 413}),
                (get + "X: " + "y" * 100_000 + "\r\n\r\n", {413, 414, 431, None}),
                (get + "X: y\r\n" * 20_000 + "\r\n", {413, 431, None}),
                ("GET /" + "a" * 100_000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n", {413, 414, 431, None}),
                ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", {405}),
                ("DELETE /s.zarr HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {405}),
                ("CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {405}),
                ("GET http://evil.org/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", {421}),
                ("GET / HTTP/1.1\r\nHost: evil.org:8080\r\nConnection: close\r\n\r\n", {421})):
            with self.subTest(request[:60]):
                self.assertIn(server.status_of(request.encode()), statuses)
        for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/s.zarr/..%2f..", "/s.zarr%2fa", "/a%00b", "//s.zarr", "/%",
                     "/.%2fs.zarr"):
            with self.subTest(path):
                request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                self.assertEqual(server.status_of(request.encode()), 400)
        # Encoded twice is another name.
        self.assertEqual(server.ask("/s%252ezarr/")[0], 404)
        self.assertEqual(server.ask("/s%2ezarr/")[0], 200)
        self.assertEqual(server.get("/s.zarr/a/data.raw"), VALUES.tobytes())

    def test_many_ranges(self):
        server = self.serve()
        status, _, _ = server.ask("/s.zarr/a/data.raw", Range="bytes=" + ",".join(["0-0"] * 65))
        self.assertEqual(status, 416)
        status, _, body = server.ask("/s.zarr/a/data.raw", Range="bytes=" + ",".join(["0-"] * 50))
        self.assertEqual((status, body), (206, VALUES.tobytes()))

    def test_requests_that_are_sent_together_are_answered_in_turn(self):
        server = self.serve()
        request = b"GET /s.zarr/a/data.raw HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answer = server.raw(request * 19 + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 20)
        self.assertEqual(answer.count(VALUES.tobytes()), 20)

    def test_clients_that_do_nothing_hold_nobody_up(self):
        large = np.zeros((64, 1 << 18), "<i4")  # 64 MiB
        zarr.open_group(self.path("s.zarr"), "a").create_dataset("z", data=large, chunks=(1, 1 << 18))
        server = self.serve()
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for start in [b"GET /s.zarr/z/data.raw HTTP/1.1\r\nHost: localhost\r\n\r\n"] * 40 + [b"GET / HT", b""] * 40:
            client = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE)
            clients.append(client)
            client.sendall(start)
        for client in clients[:40]:
            self.assertEqual(client.recv(1), b"H")  # and never more
        self.assertEqual(server.get("/s.zarr/a/data.raw"), VALUES.tobytes())
        threads = len(os.listdir(f"/proc/{server.process.pid}/task"))
        self.assertLess(threads, 60)

    def test_connections_are_limited(self):
        server = self.serve("--max-connections", "8")
        clients = [socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE) for _ in range(40)]
        answered = 0
        for client in clients:
            try:
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answered += client.recv(1) == b"H"
            except OSError:
                pass
        for client in clients:
            client.close()
        self.assertGreater(answered, 0)
        self.assertLessEqual(answered, 8)
        harness.wait_until(lambda: self.answers(server), "an answer")

    def answers(self, server):
        try:
            return server.ask("/")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


class AccessTest(ServeCase):
    TOKEN = "0123456789abcdef"

    def test_token(self):
        log = os.path.join(self.scratch, "log")
        server = self.serve("--token", self.TOKEN, "--log-level", "trace", "--log-file", log)
        self.assertNotIn(self.TOKEN, server.url)
        status, fields, body = server.ask("/s.zarr/a/data.raw")
        self.assertEqual((status, fields["WWW-Authenticate"]), (401, 'Basic realm="ndlfs"'))
        self.assertNotIn(self.TOKEN.encode(), body)
        self.assertEqual(server.ask("/?token=wrong")[0], 401)
        status, fields, _ = server.ask(f"/?token={self.TOKEN}")
        self.assertEqual(status, 200)
        cookie = fields["Set-Cookie"].partition(";")[0]
        self.assertNotIn(self.TOKEN, cookie)
        self.assertEqual(server.ask("/s.zarr/a/data.raw", Cookie=cookie)[2], VALUES.tobytes())
        for authorization in (f"Bearer {self.TOKEN}", "Basic " + base64.b64encode(f"{self.TOKEN}:".encode()).decode(),
                              "Basic " + base64.b64encode(f"me:{self.TOKEN}".encode()).decode()):
            self.assertEqual(server.ask("/", Authorization=authorization)[0], 200)
        # Whoever has the token may use any name for the server.
        self.assertEqual(server.ask(f"/?token={self.TOKEN}", Host="my.server")[0], 200)
        server.raw(f"GET /?token={self.TOKEN}&%zz HTTP/9.9\r\nHost: x\r\n\r\n".encode())
        server.ask(f"/none?token={self.TOKEN}")
        self.assertNotIn(self.TOKEN, harness.read(log).decode())
        self.assertNotIn(self.TOKEN, server.get(f"/.ndlfs/config.yaml?token={self.TOKEN}").decode())

    def test_every_address_needs_a_token(self):
        for address in "0.0.0.0:0", "127.0.0.1:0":
            with Server(self.source, listens=("--listen", address), closed=True) as server:
                token = server.url.partition("?token=")[2]
                self.assertRegex(token, "^[0-9a-f]{32}$")
                path = urllib.parse.urlsplit(server.process.stdout.readline().split()[0]).path
                self.assertEqual(path, f"/{token}/")
                self.assertEqual(server.ask("/")[0], 401)
                self.assertEqual(server.ask(f"/?token={token}")[0], 200)
                self.assertEqual(server.get(path + "s.zarr/a/data.raw"), VALUES.tobytes())
            self.assertNotIn(token, server.log)
            with Server(self.source, "--no-token", listens=("--listen", address), closed=True) as server:
                self.assertEqual(server.ask("/")[0], 200)
            self.assertIn("--no-token: every", server.log)

    def test_unix_socket(self):
        path = os.path.join(self.scratch, "socket")
        with Server(self.source, listens=("--socket", path)) as server:
            self.assertEqual(server.url, f"unix:{path}/")
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
            got = subprocess.run(["curl", "-sS", "--unix-socket", path, "http://localhost/s.zarr/a/data.raw"],
                                 capture_output=True, timeout=DEADLINE)
            self.assertEqual(got.stdout, VALUES.tobytes(), got.stderr)
        self.assertFalse(os.path.exists(path))
        with Server(self.source, "--proxy", "unix", listens=("--socket", path), closed=True) as server:
            self.assertTrue(server.url.startswith(f"unix:{path}/?token="), "a proxy passes on what strangers ask")

    def test_socket_of_systemd(self):
        with socket.create_server(("127.0.0.1", 0)) as opened, \
                socket.socket(fileno=fcntl.fcntl(opened, fcntl.F_DUPFD, 9)) as given:  # not 3, where it is passed on
            port = given.getsockname()[1]
            program = f"import os; os.dup2({given.fileno()}, 3); os.set_inheritable(3, True); " \
                      "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); " \
                      f"os.execv({harness.BINARY!r}, ['ndlfs', 'serve', '--no-token', {self.source!r}])"
            process = subprocess.Popen(["/usr/bin/python3", "-B", "-c", program], stdout=subprocess.PIPE,
                                       pass_fds=[given.fileno()], stderr=subprocess.DEVNULL, text=True)
            self.addCleanup(process.stdout.close)
            try:
                self.assertEqual(process.stdout.readline(), f"http://127.0.0.1:{port}/\n")
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
                connection.request("GET", "/s.zarr/a/data.raw")
                self.assertEqual(connection.getresponse().read(), VALUES.tobytes())
                connection.close()
            finally:
                process.terminate()
                self.assertEqual(process.wait(harness.ENDING), 0)

    def test_other_sites_read_on_demand(self):
        self.assertIsNone(self.serve().ask("/")[1]["Access-Control-Allow-Origin"])
        for options, allowed in ((["--cors"], "*"), (["--cors-origin=https://a.example", "--cors-origin=https://b.example"], "https://b.example"),
                                 (["--cors-origin=https://a.example"], None)):
            server = self.serve(*options, "--host", "my.server")
            status, fields, _ = server.ask("/", "OPTIONS", Origin="https://b.example", Host="my.server")
            self.assertEqual((status, fields["Access-Control-Allow-Origin"]), (204, allowed))

    def test_base(self):
        server = self.serve("--base", "/data/")
        self.assertTrue(server.url.endswith("/data/"))
        self.assertEqual(server.get("/data/s.zarr/a/data.raw"), VALUES.tobytes())
        self.assertEqual(server.ask("/s.zarr/")[0], 404)
        _, _, body = server.ask("/data/s.zarr/", "PROPFIND", Depth="0")
        self.assertIn(b"<D:href>/data/s.zarr/</D:href>", body)

    def test_wrong_command_lines(self):
        for options, words in ((("--listen", "nowhere"), "has no port"), (("--listen", "127.0.0.1:70000"), "has no port"),
                               (("--token", "short"), "at least 8"), (("--base", "a?b"), "no path of a URL"),
                               (("--socket", "x" * 200), "too long"), (("--cors-origin", "evil"), "no origin"), (("--cors-origin", "https://a/b"), "no origin"), (("--as-user", "no such"), "no user"),
                               (("--proxy", "10.0.0.0/33"), "no address or network"), (("--allow-other", ), "only a Unix socket"),
                               (("--socket-mode", "999", "--socket", "x"), "octal"), (("--listen", "192.0.2.1:1"), "assign")):
            result = harness.run(harness.BINARY, "serve", self.source, *options)
            self.assertEqual(result.returncode, 1, options)
            self.assertIn(words, result.stderr)
        result = harness.run(harness.BINARY, "serve", self.path("none"))
        self.assertIn("No such file", result.stderr)


class PagesTest(ServeCase):
    def setUp(self):
        super().setUp()
        zarr.open_group(self.path("s.zarr"), "a")["a"].attrs["long_name"] = "Wind <speed>"

    def test_search_finds_names_and_attributes(self):
        server = self.serve()
        for question, hit in (("wind+SPEED", './s.zarr/a/"'), ("read+me", './dir/read%20me.txt"'), ("long_name", "Wind &lt;speed&gt;")):
            page = server.get(f"/?q={question}").decode()
            self.assertIn(hit, page)
            self.assertIn("<p class=\"soft\">1 found</p>", page)
        self.assertIn("0 found", server.get("/?q=%3Cscript%3E").decode())
        self.assertNotIn("<script>", server.get("/?q=%3Cscript%3E").decode())
        self.assertIn("0 found", server.get("/dir/?q=").decode())
        self.assertIn('<form><input type="search" name="q"', server.get("/").decode())

    def test_search_for_programs(self):
        server = self.serve()
        for options in {"path": "/?q=wind&format=json"}, {"path": "/?q=wind", "Accept": "application/json"}:
            _, fields, body = server.ask(**options)
            self.assertEqual(fields["Content-Type"], "application/json")
            self.assertEqual(json.loads(body), {"complete": True, "hits": [
                {"path": "s.zarr/a", "type": "directory", "attribute": "long_name", "value": "Wind <speed>"}]})
        self.assertEqual(json.loads(server.get("/?q=nothing&format=json"))["hits"], [])

    def test_folders_show_pictures(self):
        page = self.serve().ask("/s.zarr/", Accept="text/html")[2].decode()
        self.assertIn('<img src="./a/thumbnail.png"', page)


class WebdavTest(ServeCase):
    def entries(self, server, path, depth):
        status, _, body = server.ask(path, "PROPFIND", b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/></propfind>',
                                     Depth=depth)
        self.assertEqual(status, 207)
        found = {}
        for response in xml.etree.ElementTree.fromstring(body):
            properties = response.find("{DAV:}propstat/{DAV:}prop")
            found[response.find("{DAV:}href").text] = (
                properties.find("{DAV:}resourcetype/{DAV:}collection") is not None,
                properties.findtext("{DAV:}getcontentlength"))
        return found

    def test_propfind_has_sizes_of_all_files(self):
        mount = self.mount(self.source)
        server = self.serve()
        for folder in ("/", "/s.zarr/", "/s.zarr/a/", "/dir/"):
            found = self.entries(server, folder, "1")
            self.assertEqual(found.pop(folder), (True, None))
            self.assertEqual(sorted(urllib.parse.unquote(name)[len(folder):].rstrip("/") for name in found),
                             sorted(entry.name for entry in os.scandir(mount.path + folder)
                                    if not (entry.is_symlink() and entry.is_dir())))
            for name, (is_folder, size) in found.items():
                path = mount.path + urllib.parse.unquote(name)
                self.assertEqual(is_folder, os.path.isdir(path))
                if not is_folder and "/.ndlfs" not in name and not name.endswith("index.html"):
                    self.assertEqual(int(size), os.path.getsize(path), name)
        self.assertEqual(self.entries(server, "/dir", "0"), {"/dir/": (True, None)})
        status, _, body = server.ask("/", "PROPFIND")
        self.assertEqual(status, 403)
        self.assertIn(b"propfind-finite-depth", body)

    def test_hostile_bodies(self):
        server = self.serve()
        status, fields, _ = server.ask("/", "OPTIONS")
        self.assertEqual((status, fields["DAV"]), (204, "1"))
        bomb = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]><a>&b;</a>'
        self.assertEqual(server.ask("/", "PROPFIND", bomb, Depth="0")[0], 207)
        request = b"PROPFIND / HTTP/1.1\r\nHost: localhost\r\nDepth: 0\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1_000_000
        self.assertIn(server.status_of(request), {400, 413, None})
        self.assertEqual(server.ask("/", "MKCOL")[0], 405)


class DapTest(ServeCase):
    """DAP 2, as netCDF-C and the program ncdump read it."""

    def setUp(self):
        super().setUp()
        group = zarr.open_group(self.path("d.zarr"), "w")
        group.attrs["title"] = 'say "hi" \\'
        for name, values in {"y": np.arange(3.), "x": np.arange(4, dtype="i8")}.items():
            group.create_dataset(name, data=values).attrs["_ARRAY_DIMENSIONS"] = [name]
        self.values = {"grid": np.arange(12, dtype="i2").reshape(3, 4), "u4": np.array([1, 2**32 - 1], "u4"),
                       "i1": np.array([-128, 127], "i1"), "u1": np.array([0, 255], "u1"), "f2": np.array([0.5, -2], "f2"),
                       "text": np.array(["ab", "c", "defgh"], "S5"), "scalar": np.array(7, "i2")}
        for name, values in self.values.items():
            group.create_dataset(name, data=values)
        group["grid"].attrs["_ARRAY_DIMENSIONS"] = ["y", "x"]

    def test_netcdf_reads_every_variable(self):
        server = self.serve()
        with netCDF4.Dataset(server.url + "d.zarr") as dataset:
            dataset.set_auto_mask(False)
            self.assertEqual(dataset.title, 'say "hi" \\')
            self.assertEqual(set(dataset.variables), {"x", "y", *self.values})
            for name, values in self.values.items():
                if values.dtype.kind != "S":
                    np.testing.assert_array_equal(dataset[name][...], values, name)
            self.assertEqual([bytes(row).rstrip(b"\0") for row in dataset["text"][...]], self.values["text"].tolist())
            np.testing.assert_array_equal(dataset["x"][...], np.arange(4))
            np.testing.assert_array_equal(dataset["grid"][2, ::3], self.values["grid"][2, ::3])

    def test_a_store_that_is_one_array_has_one_variable(self):
        np.save(self.path("one.npy"), VALUES)
        server = self.serve()
        with netCDF4.Dataset(server.url + "one.npy") as dataset:
            np.testing.assert_array_equal(dataset["one"][...], VALUES)
            np.testing.assert_array_equal(dataset["one"][3, 10:20:3], VALUES[3, 10:20:3])

    def test_ncdump(self):
        server = self.serve()
        header = self.run_ok("ncdump", "-h", server.url + "d.zarr")
        self.assertIn("short grid(y, x) ;", header)

    def test_a_slice_reads_its_chunks_only(self):
        zarr.open_group(self.path("d.zarr"), "a").create_dataset("b", data=VALUES, chunks=(16, 48))
        harness.write(self.path("d.zarr", "b", "1.0"), b"no chunk")
        server = self.serve()
        status, fields, body = server.ask("/d.zarr.dods?b%5B0:32:32%5D%5B0:1:1%5D")
        self.assertEqual((status, int(fields["Content-Length"])), (200, len(body)))
        self.assertEqual(body.partition(b"Data:\n")[2],
                         np.array([4, 4, *VALUES[[0, 32], :2].ravel()], ">i4").tobytes())
        self.assertEqual((fields["Content-Description"], fields["XDAP"]), ("dods-data", "2.0"))
        self.assertEqual(server.ask("/d.zarr.dods?b%5B16%5D%5B0%5D")[0], 500)

    def test_questions_that_make_no_sense(self):
        server = self.serve()
        for query, reason in (("nothing", r'no variable \"nothing\"; there are '), ("grid%5B0%5D", "grid has 2 dimensions, not 1"),
                              ("grid%5B0%5D%5B9%5D", "index 9 of dimension 1, which has the size 4"),
                              ("grid&x>1", "selections are not supported"), ("f(x)", "functions are not supported"),
                              ("%5B", "without a name"), (",", "without a name")):
            for extension in "dds", "dods", "ascii":
                status, fields, body = server.ask(f"/d.zarr.{extension}?{query}")
                self.assertEqual((status, fields["Content-Description"], fields["XDAP"]), (400, "dods-error", "2.0"), query)
                self.assertRegex(body.decode(), r'\AError \{\n    code = 1005;\n    message = ".*";\n\};\n\Z')
                self.assertIn(reason, body.decode())
        # A mistake of a client is none of the store.
        self.assertEqual(server.ask("/d.zarr/error.txt")[0], 404)
        self.assertEqual(server.ask("/none.dds")[0], 404)
        self.assertEqual(server.ask("/dir.dds")[0], 404)
        self.assertEqual(server.ask("/d.zarr.dds?" + ",".join(["scalar"] * 800))[0], 200)
        self.assertEqual(server.get("/d.zarr/data.nc.das"), server.get("/d.zarr.das"))
        harness.write(self.path("dir", "picture.dds"), b"DDS")
        _, fields, body = server.ask("/dir/picture.dds")
        self.assertEqual((fields["XDAP"], body), (None, b"DDS"))
        self.assertEqual(server.get("/d.zarr/d.nc.das"), server.get("/d.zarr.das"))


    def test_arrays_that_cannot_be_read_are_named(self):
        harness.write(self.path("d.zarr", "bad", ".zarray"), json.dumps({
            "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": {"id": "nosuch"}, "fill_value": 0, "order": "C",
            "filters": None}))
        server = self.serve()
        self.assertRegex(server.get("/d.zarr.das").decode(), 'String ndlfs_left_out ".*bad: .*nosuch')

    def test_text(self):
        server = self.serve()
        status, fields, body = server.ask("/d.zarr.ascii?grid%5B1:2%5D%5B0:3:3%5D,scalar,text,u4")
        self.assertEqual((status, int(fields["Content-Length"])), (200, len(body)))
        dds, _, text = body.decode().partition("-" * 45 + "\n")
        self.assertTrue(dds.startswith("Dataset {"))
        self.assertEqual(text, "grid.grid[2][2]\n[0], 4, 7\n[1], 8, 11\n\ngrid.y[2]\n1, 2\n\ngrid.x[2]\n0, 3\n\nscalar, 7\n\n"
                               'text[3]\n"ab", "c", "defgh"\n\nu4[2]\n1, 4294967295\n\n')


class Dap4Test(DapTest):
    """DAP 4, as netCDF-C and the program ncdump read it."""

    def setUp(self):
        super().setUp()
        group = zarr.open_group(self.path("d.zarr"), "a")
        self.values |= {"i8": np.array([-2**62 - 1, 2**62 + 1]), "flag": np.array([True, False])}
        for name in ("i8", "flag"):
            group.create_dataset(name, data=self.values[name])
        inner = group.create_group("inner")
        inner.create_dataset("v", data=VALUES, chunks=(16, 48))
        inner.attrs["note"] = 'a < "b"\n\\'

    def test_netcdf_reads_every_variable(self):
        server = self.serve()
        for query in ("", "?dap4.checksum=true"):
            with netCDF4.Dataset(f"{server.url}d.zarr{query}#dap4") as dataset:
                dataset.set_auto_mask(False)
                self.assertEqual(dataset.title, 'say "hi" \\')
                self.assertEqual(set(dataset.variables), {"x", "y", *self.values})
                for name, values in self.values.items():
                    if values.dtype.kind != "S":
                        np.testing.assert_array_equal(dataset[name][...], values, name)
                self.assertEqual([bytes(row).rstrip(b"\0") for row in dataset["text"][...]], self.values["text"].tolist())
                self.assertEqual(dataset["i8"].dtype, np.int64)
                self.assertEqual(dataset["grid"].dimensions, ("y", "x"))
                np.testing.assert_array_equal(dataset["inner"]["v"][...], VALUES)
                self.assertEqual(dataset["inner"].note, 'a < "b"\n\\')

    def test_ncdump(self):
        server = self.serve()
        header = self.run_ok("ncdump", "-h", server.url.replace("http", "dap4") + "d.zarr")
        self.assertIn("short grid(y, x) ;", header)
        self.assertIn("int64 i8(", header)
        self.assertIn("group: inner {", header)

    def test_a_slice_reads_its_chunks_only(self):
        harness.write(self.path("d.zarr", "inner", "v", "1.0"), b"no chunk")
        server = self.serve()
        status, fields, body = server.ask("/d.zarr.dap?dap4.checksum=true&dap4.ce=/inner/v%5B0:32:32%5D%5B0:1%5D")
        self.assertEqual((status, int(fields["Content-Length"])), (200, len(body)))
        values = VALUES[[0, 32], :2].tobytes()
        self.assertEqual(body[-20:], values + zlib.crc32(values).to_bytes(4, "little"))
        self.assertEqual(body[-24:-20], bytes([5, 0, 0, 20]))
        self.assertEqual(server.ask("/d.zarr.dap?dap4.ce=/inner/v%5B16%5D%5B0%5D")[0], 500)
        with netCDF4.Dataset(server.url + "d.zarr?dap4.ce=/inner/v[0:3][5]#dap4") as dataset:
            np.testing.assert_array_equal(dataset["inner"]["v"][...], VALUES[:4, 5:6])

    def test_questions_that_make_no_sense(self):
        server = self.serve()
        for query in ("/nothing", "/grid%5B0%5D", "/grid%5B0%5D%5B9%5D", "/grid|x>1", "x=%5B0%5D", "%5B", ";"):
            status, fields, body = server.ask("/d.zarr.dmr?dap4.ce=" + query)
            self.assertEqual((status, fields["Content-Type"]), (400, "application/vnd.opendap.dap4.error+xml"), query)
            error = xml.etree.ElementTree.fromstring(body)
            self.assertEqual((error.tag, error.get("httpcode")), ("{http://xml.opendap.org/ns/DAP/4.0#}Error", "400"))
            self.assertTrue(error[0].text)
        self.assertEqual(server.ask("/none.dmr")[0], 404)
        self.assertEqual(server.ask("/d.zarr.dmr?dap4.ce=" + ";".join(["/scalar"] * 800))[0], 200)
        self.assertEqual(server.get("/d.zarr/data.nc.dmr"), server.get("/d.zarr.dmr.xml"))
        self.assertEqual(server.get("/d.zarr/inner.dmr"), server.get("/d.zarr/inner/data.dmr"))

    def test_text(self):
        pass

    def test_names_of_any_characters(self):
        names = ["a.b@c", "x y", "q;r", "d\\e", "b[0]", "c{d}|e=f", "u<&>\"'", "\u00fc"]
        with netCDF4.Dataset(self.path("names.nc"), "w") as dataset:
            for size, name in enumerate(names, 2):
                dataset.createDimension(name, size)
                dataset.createVariable(name, "i4", (name,))[:] = np.arange(size)
        server = self.serve()
        with netCDF4.Dataset(server.url + "names.nc#dap4") as dataset:
            self.assertEqual(set(dataset.variables), set(names))
            for size, name in enumerate(names, 2):
                np.testing.assert_array_equal(dataset[name][...], np.arange(size))
        for size, name in enumerate(names, 2):
            escaped = urllib.parse.quote("/" + re.sub(r"([][\\;{}|=.@])", r"\\\1", name))
            with netCDF4.Dataset(f"{server.url}names.nc?dap4.ce={escaped}#dap4") as dataset:
                np.testing.assert_array_equal(dataset.variables[name][...], np.arange(size))
        with netCDF4.Dataset(server.url + "names.nc") as dataset:
            self.assertIn("_%C3%BC", dataset.variables)
            self.assertIn("x%20y", dataset.variables)


class MountOfServerTest(ServeCase):
    def test_stores_behind_the_server_are_as_they_are_here(self):
        np.save(self.path("x.npy"), VALUES)
        local = self.mount(self.source)
        server = self.serve()
        remote = self.mount(server.url + ".ndlfs/source/")
        self.assertEqual(harness.digests_but_pages(remote.path), harness.digests_but_pages(local.path))

    def test_a_mount_of_the_whole_tree_has_its_files(self):
        server = self.serve()
        remote = self.mount(server.url)
        for name in ("a/data.raw", "a/data.npy", "data.nc"):
            self.assertEqual(harness.read(remote.join(".ndlfs", "source", "s.zarr", name)), server.get(f"/s.zarr/{name}"))
        self.assertEqual(harness.read(remote.join("s.zarr", "a", "data.txt")), server.get("/s.zarr/a/data.txt"))


class S3Test(ServeCase):
    """The tree as a bucket: with ndlfs itself and curl as clients."""

    KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "a secret of someone"}

    def setUp(self):
        super().setUp()
        os.environ["NDLFS_S3_ACCESS_KEY"], os.environ["NDLFS_S3_SECRET_KEY"] = self.KEYS.values()
        self.server = self.serve("--s3", "tree")
        del os.environ["NDLFS_S3_ACCESS_KEY"], os.environ["NDLFS_S3_SECRET_KEY"]
        os.environ.update(self.KEYS)
        self.addCleanup(lambda: [os.environ.pop(name, None) for name in self.KEYS])

    def test_ndlfs_mounts_the_bucket(self):
        local = self.mount(self.source)
        remote = self.mount("s3://tree/.ndlfs/source", "--endpoint", self.server.url.rstrip("/"))
        self.assertEqual(harness.digests_but_pages(remote.path), harness.digests_but_pages(local.path))

    def test_curl_signs(self):
        def curl(path, key="someone"):
            return subprocess.run(["curl", "-sg", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", f"{key}:{self.KEYS['AWS_SECRET_ACCESS_KEY']}",
                                   self.server.url + path], capture_output=True, check=True, timeout=DEADLINE).stdout
        self.assertEqual(curl("tree/s.zarr/a/data.raw"), VALUES.tobytes())
        self.assertIn(b"<Key>dir/read me.txt</Key>", curl("tree?list-type=2&prefix=dir/"))
        self.assertIn(b"AccessDenied", curl("tree/s.zarr/a/data.raw", key="nobody"))

    def test_lists_have_the_tags_of_objects(self):
        with Server(self.source, "--s3", "tree") as server:
            listed = xml.etree.ElementTree.fromstring(server.get("/tree?list-type=2"))
            space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
            tags = {entry.findtext(space + "Key"): entry.findtext(space + "ETag") for entry in listed.findall(space + "Contents")}
            self.assertIn("s.zarr/a/data.npy", tags)
            for key, tag in tags.items():
                self.assertEqual(server.ask("/tree/" + urllib.parse.quote(key), "HEAD")[1]["ETag"], tag, key)
            self.assertNotIn("Content-Length", server.ask("/tree", "HEAD")[1])  # that of the list

    def test_writing(self):
        for method in "PUT", "DELETE", "POST":
            status, fields, body = self.server.ask("/tree/s.zarr/a/data.raw", method, b"bytes")
            self.assertEqual((status, fields["Content-Type"]), (405, "application/xml"))
            self.assertIn(b"<Code>MethodNotAllowed</Code>", body)

    def test_unsigned_requests(self):
        status, fields, body = self.server.ask("/tree/s.zarr/a/data.raw")
        self.assertEqual((status, fields["Content-Type"]), (403, "application/xml"))
        self.assertIn(b"<Code>AccessDenied</Code>", body)
        self.assertEqual(self.server.get("/s.zarr/a/data.raw"), VALUES.tobytes())


class ManualTest(ServeCase):
    """Every address of the server that the manual and README name leads somewhere."""

    def test_addresses(self):
        top = os.path.dirname(harness.EXAMPLES)
        shutil.copytree(os.path.join(harness.EXAMPLES, "data", "climate.zarr"), self.path("era5.zarr"))
        texts = [harness.read(top, "man/ndlfs.1").decode().replace("\\-", "-"), harness.read(top, "README.md").decode()]
        paths = re.findall(r"""://127\.0\.0\.1:8080(/[^\s'"`;]*)""", "\n".join(texts))
        self.assertGreater(len(paths), 10)
        with Server(self.source, "--token", "TOKENTOKEN") as server:
            for path in paths:
                with self.subTest(path):
                    path = path.replace("TOKEN", "TOKENTOKEN")
                    status, fields, _ = server.ask(path, Authorization="Bearer TOKENTOKEN")
                    if status == 301:
                        path = urllib.parse.urljoin(path, fields["Location"])
                        status, _, _ = server.ask(path, Authorization="Bearer TOKENTOKEN")
                    self.assertEqual(status, 200)


if __name__ == "__main__":
    harness.main()
