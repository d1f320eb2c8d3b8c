# SPDX-License-Identifier: MIT
"""An HTTP server for tests: serves files of a directory, counts requests, and lies where it is told to."""
import email.utils
import http.server
import json
import os
import socket
import struct
import threading
import time
import urllib.parse


class Server:
    """Serves `directory` until stop(). `lie(path, handler)` is asked first: it returns True if it has answered."""

    def __init__(self, directory, port=0, lists=True):
        self.directory = directory
        self.lists = lists
        self.lie = None
        self.requests = []  # "GET /path"
        self.under_way = 0
        self.most_under_way = 0
        self.delay = 0.0
        self.lock = threading.Lock()
        self.httpd = None
        self.start(port)

    def start(self, port):
        server = self

        class Handler(_Handler):
            owner = server

        class Threads(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that has gone, or a file that was removed

        self.httpd = Threads(("127.0.0.1", port), Handler)
        self.connections = []
        self.port = self.httpd.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        """Ends at once, with all connections."""
        self.httpd.shutdown()
        self.httpd.server_close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def restart(self):
        self.start(self.port)

    def taken(self):
        """The requests since the last call."""
        with self.lock:
            requests, self.requests = self.requests, []
        return requests


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner = None

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with self.owner.lock:
            self.owner.connections.append(self.connection)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        owner = self.owner
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        with owner.lock:
            owner.requests.append(f"{self.command} {path}")
            owner.under_way += 1
            owner.most_under_way = max(owner.most_under_way, owner.under_way)
        try:
            if owner.delay:
                time.sleep(owner.delay)
            if owner.lie is None or not owner.lie(path, self):
                self.serve(path)
        finally:
            with owner.lock:
                owner.under_way -= 1

    def answer(self, status, body=b"", length=None, **headers):
        """`length` is what the answer claims; a shorter body ends the connection."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        if length is not None and length != len(body):
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def serve(self, path):
        name = self.owner.directory + path
        if os.path.isdir(name):
            return self.serve_directory(name, path)
        try:
            with open(name, "rb") as file:
                data = file.read()
                status = os.fstat(file.fileno())
        except OSError:
            return self.answer(404)
        etag = f'"{status.st_mtime_ns:x}-{status.st_size:x}"'
        if self.headers.get("If-Match", etag) != etag:
            return self.answer(412)
        headers = {"ETag": etag, "Last-Modified": email.utils.formatdate(status.st_mtime, usegmt=True)}
        wanted = self.headers.get("Range")
        if not wanted:
            return self.answer(200, data, **headers)
        first, last = wanted.removeprefix("bytes=").split("-")
        begin = int(first) if first else max(0, len(data) - int(last))
        end = min(len(data), int(last) + 1) if first and last else len(data)
        if begin >= len(data):
            return self.answer(416, Content_Range=f"bytes */{len(data)}")
        return self.answer(206, data[begin:end], Content_Range=f"bytes {begin}-{end - 1}/{len(data)}", **headers)

    def serve_directory(self, name, path):
        if not path.endswith("/"):
            return self.answer(301, Location=urllib.parse.quote(path) + "/")
        if not self.owner.lists:
            return self.answer(403)
        entries = [{"name": entry.name, "type": "directory" if entry.is_dir() else "file"}
                   for entry in os.scandir(name) if not entry.name.startswith(".")]
        return self.answer(200, json.dumps(entries).encode(), Content_Type="application/json")
