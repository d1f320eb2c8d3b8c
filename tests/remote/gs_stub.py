#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small server with the habits of Google Cloud Storage, for tests.

In addition to what s3_stub does, it has generations, decodes objects with Content-Encoding gzip for clients that do
not accept it, and takes tokens: those of a service account, whose signature it verifies, and those that its own
token endpoint and metadata server have given, until they end.

By hand: gs_stub.py DIRECTORY [PORT] serves the bucket "bucket" to everybody.
"""
import base64
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from s3_stub import BUCKET, Denied, Directory, Handler, S3Stub, verify

GOOGLE_WORDS = ("GOOG4", "storage", "goog4_request", "x-goog-")
EMAIL = "reader@project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
REFRESH, CLIENT_SECRET = "1//refresh", "client/secret"
METADATA = "/computeMetadata/v1/instance/service-accounts/default/token"


def generation(data):
    return str(int(hashlib.md5(data).hexdigest()[:14], 16) + 1)


def from_base64_url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class GoogleHandler(Handler):
    def do_POST(self):
        stub = self.server.stub
        length = int(self.headers.get("Content-Length", 0))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
        self.reply(*(stub.token_answer(form) if self.path == "/token" else (404, "text/plain", b"")))

    def do_GET(self):
        stub = self.server.stub
        if self.path != METADATA:
            return super().do_GET()
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.reply(403, "text/html", b"<html>")
        return self.reply(*stub.give_token())

    def do_HEAD(self):
        return Handler.do_GET(self)

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class GsStub(S3Stub):
    """`life` is that of the tokens which it gives, in seconds. `token_fault` is an answer of the token endpoint instead:
    status, type and body. `payer` is the project that has to pay; `encoded` has the keys of objects with
    Content-Encoding gzip."""

    handler = GoogleHandler

    def __init__(self, objects, bucket=BUCKET, port=0):
        super().__init__(objects, bucket, port)
        self.region = "auto"
        self.life = 3600
        self.tokens = {}
        self.tokens_given = 0
        self.token_fault = None
        self.payer = None
        self.encoded = set()
        self.public_key = None  # PEM
        self.verified = {}

    def token_answer(self, form):
        if self.token_fault:
            return self.token_fault
        right = {"grant_type": "refresh_token", "client_id": "client", "client_secret": CLIENT_SECRET,
                 "refresh_token": REFRESH}
        if form != right:
            return 400, "application/json", b'{"error": "invalid_grant", "error_description": "Bad Request"}'
        return self.give_token()

    def give_token(self):
        with self.lock:
            self.tokens_given += 1
            token = f"ya29.token-{self.tokens_given}"
            self.tokens[token] = time.time() + self.life
        answer = {"access_token": token, "expires_in": self.life, "token_type": "Bearer"}
        return 200, "application/json", json.dumps(answer).encode()

    def verify(self, request):
        given = request.headers.get("authorization", "")
        if given.startswith("Bearer "):
            token = given.removeprefix("Bearer ")
            end = self.tokens.get(token) or self.signed_until(token)
            if end < time.time():
                raise Denied(401, "AuthenticationRequired")
        else:
            verify(request, self, GOOGLE_WORDS)
        if self.payer and request.headers.get("x-goog-user-project") != self.payer:
            raise Denied(400, "UserProjectMissing")

    def signed_until(self, token):
        """The end of a token that a service account has signed; 0 if it is none."""
        if token in self.verified:
            return self.verified[token]
        parts = token.split(".")
        if len(parts) != 3 or not self.public_key:
            return 0
        header, claims = (json.loads(from_base64_url(part)) for part in parts[:2])
        now = time.time()
        right = header["alg"] == "RS256" and header["typ"] == "JWT" and claims["iss"] == claims["sub"] == EMAIL and \
            claims["scope"] == SCOPE and claims["iat"] <= now + 60 and claims["exp"] - claims["iat"] <= 3600
        end = claims["exp"] if right and self.is_signature(".".join(parts[:2]), from_base64_url(parts[2])) else 0
        self.verified[token] = end
        return end

    def is_signature(self, text, signature):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, name) for name in ("key", "text", "signature")]
            for name, content in zip(names, (self.public_key, text.encode(), signature)):
                with open(name, "wb") as file:
                    file.write(content)
            return subprocess.run(["openssl", "dgst", "-sha256", "-verify", names[0], "-signature", names[2], names[1]],
                                  capture_output=True, check=False).returncode == 0

    def headers_of(self, _key, data):
        return {"x-goog-generation": generation(data), "x-goog-metageneration": "1",
                "x-goog-stored-content-length": str(len(data))}

    def special(self, request, headers, data):
        wanted = request.headers.get("x-goog-if-generation-match")
        if wanted not in (None, headers["x-goog-generation"]):
            return Handler.error(412, "PreconditionFailed")
        if request.key not in self.encoded:
            return None
        headers["x-goog-stored-content-encoding"] = "gzip"
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return None
        return 200, {**headers, "Warning": "214 UploadServer gunzipped"}, gzip.decompress(data)

    def listed_more(self, _key, data):
        return f"<Generation>{generation(data)}</Generation><MetaGeneration>1</MetaGeneration>"

    def environment(self):
        """The variables by which a client finds nothing but what a test adds."""
        known = ("AWS_", "GS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST")
        others = {name: value for name, value in os.environ.items() if not name.startswith(known)}
        return {**others, "CLOUDSDK_CONFIG": "/nonexistent"}

    def make_service_account(self, path):
        """Writes the file of a service account whose tokens the stub takes."""
        made = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                              capture_output=True, check=True).stdout
        self.public_key = subprocess.run(["openssl", "pkey", "-pubout"], input=made, capture_output=True,
                                         check=True).stdout
        write_json(path, {"type": "service_account", "client_email": EMAIL, "private_key_id": "key1",
                          "private_key": made.decode(), "token_uri": "https://oauth2.googleapis.com/token"})

    def make_user(self, path, **more):
        """Writes the application default credentials of a user."""
        write_json(path, {"type": "authorized_user", "client_id": "client", "client_secret": CLIENT_SECRET,
                          "refresh_token": REFRESH, "token_uri": self.url + "/token", **more})


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


if __name__ == "__main__":
    with GsStub(Directory(sys.argv[1]), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0) as running:
        running.public = True
        print(running.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
