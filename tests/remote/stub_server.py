# SPDX-License-Identifier: MIT
"""What the stubs of object stores share: requests, the objects of a directory, a server that begins and ends."""
import http.server
import os
import sys
import threading
import urllib.parse


class Directory:
    """The files below a directory, as a mapping from keys to bytes."""

    def __init__(self, top):
        self.top = os.fsencode(top)

    def __iter__(self):
        for folder, _, names in os.walk(self.top):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    yield os.path.relpath(path, self.top).decode("utf-8", "surrogateescape")

    def __contains__(self, key):
        return os.path.isfile(os.path.join(self.top, key.encode("utf-8", "surrogateescape")))

    def __getitem__(self, key):
        with open(os.path.join(self.top, key.encode("utf-8", "surrogateescape")), "rb") as file:
            return file.read()


class Request:
    """What a fault sees of a request. `query` has the decoded parameters, `headers` lower-case names."""

    def __init__(self, handler):
        self.method = handler.command
        self.raw_path, _, self.raw_query = handler.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(self.raw_query, keep_blank_values=True))
        self.headers = {name.lower(): value.strip() for name, value in handler.headers.items()}

    def path_parts(self, count):
        """The decoded parts of the path, the last of which is the key; empty where there are fewer."""
        parts = [urllib.parse.unquote(part, errors="surrogateescape")
                 for part in self.raw_path.lstrip("/").split("/", count - 1)]
        return parts + [""] * (count - len(parts))


class StubHandler(http.server.BaseHTTPRequestHandler):
    """Answers for the stub at `self.server.stub`."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def read_form(self):
        """The fields of a form in the body."""
        return dict(urllib.parse.parse_qsl(self.read_body().decode()))

    def send_answer(self, answer):
        """Status, headers and body, or "reset"."""
        if answer == "reset":
            self.close_connection = True
            self.connection.close()
        else:
            self.send(*answer)

    def send(self, status, headers, body):
        self.send_response(status)
        length = {} if status == 304 else {"Content-Length": str(len(body))}
        for name, value in {**length, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        if len(body) < int(headers.get("Content-Length", 0)):
            self.close_connection = True


class StubServer:
    """A server on a port of its own, as a context manager. All attributes may be changed while it runs.

    `requests` has all requests so far. `fault(request)` is an answer instead (status, headers and body, or "reset"), or None.
    """

    handler = None  # a StubHandler

    def __init__(self, objects, port=0):
        self.objects = objects
        self.modified = 1_500_000_000
        self.clock_offset = 0
        self.fault = None
        self.requests = []
        self.lock = threading.Lock()
        http.server.ThreadingHTTPServer.request_queue_size = 128
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), self.handler)
        self.server.daemon_threads = True
        self.server.stub = self
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def note(self, request):
        with self.lock:
            self.requests.append(request)

    def take_requests(self):
        with self.lock:
            requests, self.requests = self.requests, []
        return requests

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def serve_by_hand(make, set_up=lambda stub: None):
    """Serves the directory and the port of the command line until Ctrl-C."""
    with make(Directory(sys.argv[1]), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0) as running:
        set_up(running)
        print(running.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


def make_public(stub):
    stub.public = True
