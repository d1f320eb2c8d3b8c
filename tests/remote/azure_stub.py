#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small server that speaks the Blob protocol of Azure, for tests.

It computes the signature of a shared key anew, by the string-to-sign of the documentation ("Authorize with Shared
Key"), takes shared access signatures of its own until they end, and tokens that its own endpoints have given. The
account is in the path, as with Microsoft's emulator.

By hand: azure_stub.py DIRECTORY [PORT] serves the container "bucket" of the account "account" to everybody.
"""
import base64
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

from s3_stub import Directory

ACCOUNT, CONTAINER = "account", "bucket"
ACCOUNT_KEY = base64.b64encode(b"the key of the account, se/cret+").decode()
CLIENT_SECRET, ASSERTION = "client/secret", "federated-assertion"
SIGNED = ("content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
          "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")


class Denied(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Request:
    """`key` is empty for the container. `query` has the decoded parameters, `headers` lower-case names."""

    def __init__(self, handler):
        self.method = handler.command
        self.raw_path, _, raw_query = handler.path.partition("?")
        self.query = dict(urllib.parse.parse_qsl(raw_query, keep_blank_values=True))
        self.headers = {name.lower(): value.strip() for name, value in handler.headers.items()}
        parts = [urllib.parse.unquote(part, errors="surrogateescape") for part in self.raw_path.lstrip("/").split("/", 2)]
        self.account, self.container, self.key = (parts + ["", "", ""])[:3]


def string_to_sign(request, account):
    parts = [request.method, *(request.headers.get(name, "") for name in SIGNED)]
    parts += [f"{name}:{value}" for name, value in sorted(request.headers.items()) if name.startswith("x-ms-")]
    parts.append(f"/{account}{request.raw_path}")
    parts += [f"{name.lower()}:{value}" for name, value in sorted(request.query.items())]
    return "\n".join(parts)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(timestamp or time.time() + self.server.stub.clock_offset, usegmt=True)

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
        right = {"grant_type": "client_credentials", "client_id": "client", "scope": "https://storage.azure.com/.default"}
        secret = {"client_secret": CLIENT_SECRET}
        assertion = {"client_assertion": ASSERTION,
                     "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
        good = self.path == "/tenant/oauth2/v2.0/token" and form in (right | secret, right | assertion)
        self.reply(*(self.server.stub.give_token() if good else (400, {}, b'{"error": "invalid_client"}')))

    def do_GET(self):
        stub = self.server.stub
        if self.path.startswith("/sas/"):
            return self.reply(*stub.give_sas(self.path.removeprefix("/sas/")))
        if self.path.startswith("/identity?"):
            good = self.headers.get("X-IDENTITY-HEADER") == "identity" and "storage.azure.com" in self.path
            return self.reply(*(stub.give_token() if good else (403, {}, b"")))
        request = Request(self)
        stub.note(request)
        answer = stub.fault(request) if stub.fault else None
        try:
            self.reply(*(answer or self.answer(stub, request)))
        except Denied as denied:
            self.reply(*self.error(denied.status, denied.code))

    do_HEAD = do_GET

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @staticmethod
    def error(status, code):
        body = f'\ufeff<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>so the stub says\n' \
               f"RequestId:1</Message></Error>"
        return status, {"Content-Type": "application/xml", "x-ms-error-code": code}, body.encode()

    def answer(self, stub, request):
        stub.verify(request)
        if request.container != stub.container:
            return self.error(404, "ContainerNotFound")
        if request.query.get("comp") == "list":
            return self.list(stub, request)
        if request.key in stub.folders:
            return 200, {"ETag": '"0x1"', "x-ms-resource-type": "directory"}, b""
        if request.key not in stub.objects:
            return self.error(404, "BlobNotFound")
        data = stub.objects[request.key]
        headers = {"ETag": f'"{stub.etag(data)}"', "Accept-Ranges": "bytes", "x-ms-blob-type": "BlockBlob",
                   "Last-Modified": email.utils.formatdate(stub.modified, usegmt=True)}
        if request.headers.get("if-match") not in (None, headers["ETag"]):
            return self.error(412, "ConditionNotMet")
        if "range" not in request.headers:
            return 200, headers, data
        first, last = request.headers["range"].removeprefix("bytes=").split("-")
        if not first:
            return self.error(400, "InvalidHeaderValue")  # Azure knows no ranges from the end
        end = min(int(last) + 1, len(data)) if last else len(data)
        if int(first) >= len(data):
            return 416, {"Content-Range": f"bytes */{len(data)}", "x-ms-error-code": "InvalidRange"}, b""
        return 206, {**headers, "Content-Range": f"bytes {first}-{end - 1}/{len(data)}"}, data[int(first):end]

    def list(self, stub, request):
        query = request.query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = base64.b64decode(query.get("marker", "")).decode()
        most = min(int(query.get("maxresults", 5000)), stub.page)
        shown = []
        for key in sorted({*stub.objects, *stub.folders}):
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if cut < 0 else key[:cut + 1]
            if name > after and (not shown or shown[-1][0] != name):
                shown.append((name, key if cut < 0 else None))
                if len(shown) > most:
                    break
        parts = ['\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="bucket"><Blobs>']
        for name, key in shown[:most]:
            spelled = f"<Name>{xml.sax.saxutils.escape(name)}</Name>"
            if any(ord(c) < 32 for c in name):
                spelled = f'<Name Encoded="true">{urllib.parse.quote(name)}</Name>'
            if key is None:
                parts.append(f"<BlobPrefix>{spelled}</BlobPrefix>")
                continue
            data = b"" if key in stub.folders else stub.objects[key]
            kind = "<ResourceType>directory</ResourceType>" if key in stub.folders else ""
            parts.append(f"<Blob>{spelled}<Properties><Last-Modified>"
                         f"{email.utils.formatdate(stub.modified, usegmt=True)}</Last-Modified>"
                         f"<Etag>{stub.etag(data)}</Etag><Content-Length>{len(data)}</Content-Length>{kind}"
                         f"</Properties></Blob>")
        marker = base64.b64encode(shown[most - 1][0].encode()).decode() if len(shown) > most else ""
        parts.append(f"</Blobs><NextMarker>{marker}</NextMarker></EnumerationResults>")
        return 200, {"Content-Type": "application/xml"}, "".join(parts).encode()

    def log_message(self, *_):
        pass


class AzureStub:
    """A server on a port of its own, as a context manager. All attributes may be changed while it runs.

    `public` is "" (nobody), "blob" (everybody reads, and nobody lists) or "container". `life` is that of tokens and
    signatures which the stub gives, in seconds. `fault(request)` is an answer instead, or None.
    """

    def __init__(self, objects, port=0):
        self.objects = objects
        self.folders = set()  # directories of a hierarchical namespace
        self.container = CONTAINER
        self.public = ""
        self.page = 5000
        self.modified = 1_500_000_000
        self.clock_offset = 0
        self.life = 3600
        self.tokens, self.signatures = {}, {}
        self.given = 0
        self.fault = None
        self.requests = []
        self.lock = threading.Lock()
        http.server.ThreadingHTTPServer.request_queue_size = 128
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.stub = self
        self.top = f"http://127.0.0.1:{self.server.server_port}"
        self.url = f"{self.top}/{ACCOUNT}"

    @staticmethod
    def etag(data):
        return "0x" + hashlib.md5(data).hexdigest()[:15].upper()

    def verify(self, request):
        """Raises Denied for a request without the right to be answered."""
        if not request.headers.get("x-ms-version"):
            raise Denied(400, "MissingRequiredHeader")
        given = request.headers.get("authorization", "")
        if given.startswith("SharedKey "):
            self.verify_key(request, given.removeprefix("SharedKey "))
        elif given.startswith("Bearer "):
            if self.tokens.get(given.removeprefix("Bearer "), 0) < time.time():
                raise Denied(401, "InvalidAuthenticationInfo")
        elif "sig" in request.query:
            if self.signatures.get(request.query["sig"], 0) < time.time():
                raise Denied(403, "AuthenticationFailed")
        elif self.public == "" or (self.public == "blob" and "comp" in request.query):
            raise Denied(404, "ResourceNotFound")

    def verify_key(self, request, given):
        account, _, signature = given.partition(":")
        text = string_to_sign(request, ACCOUNT)
        right = base64.b64encode(hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest())
        sent = email.utils.parsedate_to_datetime(request.headers["x-ms-date"]).timestamp()
        is_right = account == ACCOUNT and hmac.compare_digest(right, signature.encode())
        if not is_right or abs(sent - time.time() - self.clock_offset) > 15 * 60:
            raise Denied(403, "AuthenticationFailed")

    def new_secret(self):
        with self.lock:
            self.given += 1
            return f"given+{self.given}/="

    def give_token(self):
        token = self.new_secret()
        self.tokens[token] = time.time() + self.life
        return 200, {}, json.dumps({"access_token": token, "expires_in": str(self.life), "token_type": "Bearer"}).encode()

    def new_sas(self):
        """A shared access signature, and its end as a text."""
        signature = self.new_secret()
        end = time.time() + self.life
        self.signatures[signature] = end
        text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        return "sv=2023-11-03&sr=c&sp=rl&" + urllib.parse.urlencode({"se": text, "sig": signature}), text

    def give_sas(self, place):
        if place != f"{ACCOUNT}/{CONTAINER}":
            return 404, {}, b'{"error": "not_found"}'
        sas, end = self.new_sas()
        return 200, {}, json.dumps({"msft:expiry": end, "token": sas}).encode()

    def note(self, request):
        with self.lock:
            self.requests.append(request)

    def take_requests(self):
        with self.lock:
            requests, self.requests = self.requests, []
        return requests

    @staticmethod
    def environment():
        """The variables by which a client finds the account, and nothing else."""
        known = ("AZURE_", "AZCOPY_", "PC_SDK_", "IDENTITY_")
        others = {name: value for name, value in os.environ.items() if not name.startswith(known)}
        return {**others, "AZURE_STORAGE_ACCOUNT": ACCOUNT}

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


if __name__ == "__main__":
    with AzureStub(Directory(sys.argv[1]), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0) as running:
        running.public = "container"
        print(running.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
