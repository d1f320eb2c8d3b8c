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
import tempfile
import time

from s3_stub import BUCKET, Denied, Handler, S3Stub, verify
from stub_server import make_public, serve_by_hand

GOOGLE_WORDS = ("GOOG4", "storage", "goog4_request", "x-goog-")
EMAIL = "reader@project.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
REFRESH, CLIENT_SECRET = "1//refresh", "client/secret"
# Of workload identity federation.
AUDIENCE = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider"
SUBJECT, FEDERATED = "subject-token", "federated-token"
EXCHANGE = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "audience": AUDIENCE, "scope": SCOPE,
            "requested_token_type": "urn:ietf:params:oauth:token-type:access_token", "subject_token": SUBJECT,
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt"}
ACCOUNTS = "/v1/projects/-/serviceAccounts/"
METADATA = "/computeMetadata/v1/instance/service-accounts/default/token"


def generation(data):
    return str(int(hashlib.md5(data).hexdigest()[:14], 16) + 1)


def from_base64_url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class GoogleHandler(Handler):
    def do_POST(self):
        stub = self.server.stub
        if self.path == "/token":
            return self.reply(*stub.token_answer(self.read_form()))
        if self.path == "/sts":
            return self.reply(*stub.exchange(self.read_form()))
        if self.path == ACCOUNTS + EMAIL + ":generateAccessToken":
            return self.reply(*stub.act_as(self.headers.get("Authorization"), self.read_body()))
        return self.reply(404, "text/plain", b"")

    def do_GET(self):
        stub = self.server.stub
        if self.path == "/subject":
            good = self.headers.get("Metadata") == "True"
            return self.reply(*((200, "application/json", json.dumps({"value": SUBJECT}).encode()) if good else
                                (403, "text/html", b"<html>")))
        if self.path != METADATA:
            return super().do_GET()
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.reply(403, "text/html", b"<html>")
        return self.reply(*stub.give_token())

    def do_HEAD(self):
        return Handler.do_GET(self)

    def reply(self, status, kind, body):
        self.send(status, {"Content-Type": kind}, body)


class GsStub(S3Stub):
    """`life` is that of the tokens which it gives, in seconds. `token_fault` is an answer of the token endpoint instead:
    status, type and body, or a function for them. `payer` is the project that has to pay; `encoded` has the keys of
    objects with Content-Encoding gzip.

    `federated` is the token that the exchange of one of another cloud gives; None: one for storage. `cached` is a dict
    where caches answer for objects, however old their answers are: by URL, whatever the headers of the request are."""

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
        self.federated = None
        self.cached = None
        self.public_key = None  # PEM
        self.verified = {}

    def token_answer(self, form):
        if self.token_fault:
            return self.token_fault() if callable(self.token_fault) else self.token_fault
        right = {"grant_type": "refresh_token", "client_id": "client", "client_secret": CLIENT_SECRET,
                 "refresh_token": REFRESH}
        if form != right:
            return 400, "application/json", b'{"error": "invalid_grant", "error_description": "Bad Request"}'
        return self.give_token()

    def new_token(self):
        with self.lock:
            self.tokens_given += 1
            token = f"ya29.token-{self.tokens_given}"
            self.tokens[token] = time.time() + self.life
        return token

    def give_token(self):
        answer = {"access_token": self.new_token(), "expires_in": self.life, "token_type": "Bearer"}
        return 200, "application/json", json.dumps(answer).encode()

    def exchange(self, form):
        if self.token_fault:
            return self.token_fault() if callable(self.token_fault) else self.token_fault
        if form != EXCHANGE:
            code = b"invalid_target" if form.get("audience") != AUDIENCE else b"invalid_grant"
            return 400, "application/json", b'{"error": "%s", "error_description": "of the stub"}' % code
        if not self.federated:
            return self.give_token()
        answer = {"access_token": self.federated, "expires_in": self.life, "token_type": "Bearer"}
        return 200, "application/json", json.dumps(answer).encode()

    def act_as(self, authorization, body):
        given = (authorization or "").removeprefix("Bearer ")
        is_known = given == self.federated if self.federated else self.tokens.get(given, 0) > time.time()
        if not is_known or json.loads(body) != {"scope": [SCOPE], "lifetime": "3600s"}:
            error = {"error": {"code": 403, "message": "of the stub", "status": "PERMISSION_DENIED"}}
            return 403, "application/json", json.dumps(error).encode()
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.life))
        return 200, "application/json", json.dumps({"accessToken": self.new_token(), "expireTime": end}).encode()

    def contents(self, request):
        data = super().contents(request)
        if self.cached is None:
            return data
        with self.lock:
            return self.cached.setdefault((request.raw_path, request.raw_query), data)

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
        if request.query.get("generation") not in (None, headers["x-goog-generation"]):
            return Handler.error(404, "NoSuchKey")
        if request.headers.get("x-goog-if-generation-not-match") == headers["x-goog-generation"]:
            return 304, headers, b""
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

    def make_federated(self, path, source, **more):
        """Writes the file of an identity of another cloud."""
        write_json(path, {"type": "external_account", "audience": AUDIENCE, "token_url": self.url + "/sts",
                          "subject_token_type": EXCHANGE["subject_token_type"], "credential_source": source, **more})

    def account_url(self):
        return f"{self.url}{ACCOUNTS}{EMAIL}:generateAccessToken"

    def make_user(self, path, **more):
        """Writes the application default credentials of a user."""
        write_json(path, {"type": "authorized_user", "client_id": "client", "client_secret": CLIENT_SECRET,
                          "refresh_token": REFRESH, "token_uri": self.url + "/token", **more})


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


if __name__ == "__main__":
    serve_by_hand(GsStub, make_public)
