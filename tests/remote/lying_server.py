# SPDX-License-Identifier: MIT
"""An HTTP server for tests: serves files of a directory, counts requests, and lies where it is told to.

HABITS are what honest servers do otherwise than nginx, each a function for Server.lie.
"""
import email.utils
import gzip
import html
import http.server
import json
import os
import socket
import struct
import threading
import time
import urllib.parse


def validators(status):
    return {"ETag": f'"{status.st_mtime_ns:x}-{status.st_size:x}"',
            "Last-Modified": email.utils.formatdate(status.st_mtime, usegmt=True)}


class Server:
    """Serves `directory` until stop(). `lie(path, handler)` is asked first: it returns True if it has answered."""

    def __init__(self, directory, port=0, lists=True):
        self.directory = directory
        self.lists = lists
        self.lie = None
        self.validators = validators  # what tells the versions of a file apart, from its status
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
    more_headers = {}  # of each answer

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
        for name, value in (headers | self.more_headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        if length is not None and length != len(body):
            self.close_connection = True

    def answer_unchanged(self, headers):
        self.send_response(304)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

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
        headers = self.owner.validators(status)
        if "If-Match" in self.headers and self.headers["If-Match"] != headers.get("ETag"):
            return self.answer(412)
        if "ETag" in headers and self.headers["If-None-Match"] == headers["ETag"]:
            return self.answer_unchanged(headers)
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


def _is_file(path, handler):
    return os.path.isfile(handler.owner.directory + path)


def _is_absent(path, handler):
    return not os.path.exists(handler.owner.directory + path)


def head_without_length(path, handler):
    if handler.command != "HEAD" or not _is_file(path, handler):
        return False
    handler.send_response(200)
    handler.end_headers()
    return True


def head_of_no_bytes(path, handler):
    return handler.command == "HEAD" and _is_file(path, handler) and (handler.answer(200), True)[1]


def no_head(_, handler):
    return handler.command == "HEAD" and (handler.answer(405), True)[1]


def no_length_at_all(path, handler):
    """As a proxy that sends everything in chunks, and knows no ranges."""
    if not _is_file(path, handler):
        return False
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    if handler.command != "HEAD":
        with open(handler.owner.directory + path, "rb") as file:
            while piece := file.read(1000):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        handler.wfile.write(b"0\r\n\r\n")
    return True


def refused_for_absent(path, handler):
    return _is_absent(path, handler) and (handler.answer(403, b"<Error><Code>AccessDenied</Code></Error>"), True)[1]


def page_for_absent(path, handler):
    page = b"<!doctype html><html><body>app</body></html>"
    return _is_absent(path, handler) and (handler.answer(200, page, Content_Type="text/html"), True)[1]


def gzip_of_documents(path, handler):
    if not _is_file(path, handler) or not os.path.basename(path).startswith(".z"):
        return False
    with open(handler.owner.directory + path, "rb") as file:
        handler.answer(200, gzip.compress(file.read()), Content_Encoding="gzip", ETag='"gzip"')
    return True


def refuses_all_versions(_, handler):
    return "If-Match" in handler.headers and (handler.answer(412), True)[1]


def aws_chunked(_, handler):
    handler.more_headers = {"Content-Encoding": "aws-chunked"}
    return False


HABITS = {habit.__name__: habit for habit in (head_without_length, head_of_no_bytes, no_head, no_length_at_all,
                                              refused_for_absent, page_for_absent, gzip_of_documents, aws_chunked, refuses_all_versions)}


def index_page(link):
    """Directories are pages of HTML; `link` makes the link to a name out of the path of the page and the name."""
    def habit(path, handler):
        folder = handler.owner.directory + path
        if not os.path.isdir(folder) or not path.endswith("/"):
            return False
        names = [name + "/" * os.path.isdir(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
        page = f"<html><head><title>Index of {html.escape(path)}</title></head><body><A HREF='../'>up</A>"
        page += "".join(f"<a {link(path, name)}>{html.escape(name)}</a>\n" for name in names)
        handler.answer(200, page.encode(), Content_Type="text/html; charset=utf-8")
        return True
    return habit
