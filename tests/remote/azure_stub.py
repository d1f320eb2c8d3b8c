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
import json
import os
import time
import urllib.parse
import xml.sax.saxutils

from stub_server import Request, StubHandler, StubServer, serve_by_hand

ACCOUNT, CONTAINER = "account", "bucket"
ACCOUNT_KEY = base64.b64encode(b"the key of the account, se/cret+").decode()
CLIENT_SECRET, ASSERTION = "client/secret", "federated-assertion"
SIGNED = ("content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
          "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range")


class Denied(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class BlobRequest(Request):
    """`key` is empty for the container."""

    def __init__(self, handler):
        super().__init__(handler)
        self.account, self.container, self.key = self.path_parts(3)


def string_to_sign(request, account):
    parts = [request.method, *(request.headers.get(name, "") for name in SIGNED)]
    parts += [f"{name}:{value}" for name, value in sorted(request.headers.items()) if name.startswith("x-ms-")]
    parts.append(f"/{account}{request.raw_path}")
    parts += [f"{name.lower()}:{value}" for name, value in sorted(request.query.items())]
    return "\n".join(parts)


class Handler(StubHandler):
    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(timestamp or time.time() + self.server.stub.clock_offset, usegmt=True)

    def do_POST(self):
        form = self.read_form()
        right = {"grant_type": "client_credentials", "client_id": "client", "scope": "https://storage.azure.com/.default"}
        secret = {"client_secret": CLIENT_SECRET}
        assertion = {"client_assertion": ASSERTION,
                     "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
        good = self.path == "/tenant/oauth2/v2.0/token" and form in (right | secret, right | assertion)
        self.send(*(self.server.stub.give_token() if good else (400, {}, b'{"error": "invalid_client"}')))

    def do_GET(self):
        stub = self.server.stub
        if self.path.startswith("/sas/"):
            return self.send(*stub.give_sas(self.path.removeprefix("/sas/")))
        if self.path.startswith("/identity?"):
            good = self.headers.get("X-IDENTITY-HEADER") == "identity" and "storage.azure.com" in self.path
            return self.send(*(stub.give_token() if good else (403, {}, b"")))
        request = BlobRequest(self)
        stub.note(request)
        answer = stub.fault(request) if stub.fault else None
        try:
            self.send_answer(answer or self.answer(stub, request))
        except Denied as denied:
            self.send(*self.error(denied.status, denied.code))

    do_HEAD = do_GET

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
        if request.headers.get("if-none-match") == headers["ETag"]:
            return 304, headers, b""
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
        order = (lambda name: name.rstrip("/").split("/")) if stub.is_hierarchical else lambda name: name
        most = min(int(query.get("maxresults", 5000)), stub.page)
        shown = []
        for key in sorted({*stub.objects, *stub.folders}, key=order):
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if cut < 0 else key[:cut + 1]
            if (not after or order(name) > order(after)) and (not shown or shown[-1][0] != name):
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


class AzureStub(StubServer):
    """`public` is "" (nobody), "blob" (everybody reads, and nobody lists) or "container". `life` is that of tokens and
    signatures which the stub gives, in seconds. `folders` are directories of a hierarchical namespace; an
    account that `is_hierarchical` lists in the order of names: "en/" before "en-GB/".
    """

    handler = Handler

    def __init__(self, objects, port=0):
        super().__init__(objects, port)
        self.folders = set()
        self.is_hierarchical = False
        self.container = CONTAINER
        self.public = ""
        self.page = 5000
        self.life = 3600
        self.tokens, self.signatures = {}, {}
        self.given = 0
        self.top = self.url
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

    @staticmethod
    def environment():
        """The variables by which a client finds the account, and nothing else."""
        known = ("AZURE_", "AZCOPY_", "PC_SDK_", "IDENTITY_")
        others = {name: value for name, value in os.environ.items() if not name.startswith(known)}
        return {**others, "AZURE_STORAGE_ACCOUNT": ACCOUNT}


if __name__ == "__main__":
    def open_to_everybody(stub):
        stub.public = "container"
    serve_by_hand(AzureStub, open_to_everybody)
