#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small server that speaks S3, for tests: a bucket in memory or of the files below a directory.

It verifies signatures (version 4) by itself, lists in pages, and answers ranges and If-Match. `fault` lets a test
tell it what to do instead:

    with S3Stub({"a/b": b"text"}) as stub:
        stub.fault = lambda request: (503, {}, b"") if request.key == "a/b" else None

By hand: s3_stub.py DIRECTORY [PORT] serves the bucket "bucket" to the key "test" with the secret "secret".
"""
import datetime
import email.utils
import hashlib
import hmac
import os
import time
import urllib.parse
import xml.sax.saxutils

from stub_server import Request, StubHandler, StubServer, serve_by_hand

KEY, SECRET, BUCKET, REGION = "test", "se/cret+", "bucket", "eu-test-1"
SKEW = 15 * 60  # seconds


def encoded(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class S3Request(Request):
    def __init__(self, handler):
        super().__init__(handler)
        self.bucket, self.key = self.path_parts(2)


class Denied(Exception):
    def __init__(self, status, code, more=""):
        super().__init__(code)
        self.status, self.code, self.more = status, code, more


AWS_WORDS = ("AWS4", "s3", "aws4_request", "x-amz-")


def verify(request, stub, words=AWS_WORDS):
    """Computes the signature of the request anew, by what the documentation of AWS (or Google) says."""
    name, service_name, scope_end, headers = words
    given = request.headers.get("authorization")
    if given is None:
        if stub.public:
            return
        raise Denied(403, "AccessDenied")
    algorithm, _, rest = given.partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    key, day, region, service, end = fields["Credential"].split("/")
    if (algorithm, service, end) != (name + "-HMAC-SHA256", service_name, scope_end):
        raise Denied(400, "AuthorizationHeaderMalformed")
    if region != stub.region:
        raise Denied(400, "AuthorizationHeaderMalformed", f"<Region>{stub.region}</Region>")
    if key not in stub.keys:
        raise Denied(403, "InvalidAccessKeyId")
    secret, token = stub.keys[key]
    if request.headers.get(headers + "security-token") != token:
        raise Denied(400, "InvalidToken")
    names = fields["SignedHeaders"].split(";")
    unsigned = [each for each in request.headers if each.startswith(headers) and each not in names]
    if "host" not in names or unsigned:
        raise Denied(403, "AccessDenied")
    if request.headers.get(headers + "content-sha256") != sha256(b""):
        raise Denied(400, "XAmzContentSHA256Mismatch")
    stamp = request.headers[headers + "date"]
    sent = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    now = time.time() + stub.clock_offset
    if abs(sent.timestamp() - now) > SKEW:
        server_time = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        raise Denied(403, "RequestTimeTooSkewed", f"<ServerTime>{server_time}</ServerTime>")
    parameters = sorted((encoded(name), encoded(value)) for name, value in
                        urllib.parse.parse_qsl(request.raw_query, keep_blank_values=True))
    # The path is decoded and encoded again: so a client that encodes in another way is found out.
    canonical = "\n".join([
        request.method,
        encoded(urllib.parse.unquote(request.raw_path, errors="surrogateescape").encode("utf-8", "surrogateescape"), "/"),
        "&".join(f"{name}={value}" for name, value in parameters),
        "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in names),
        ";".join(names),
        request.headers[headers + "content-sha256"]])
    to_sign = "\n".join([algorithm, stamp, f"{day}/{region}/{service}/{end}", sha256(canonical.encode())])
    signing_key = (name + secret).encode()
    for part in (day, region, service, end):
        signing_key = mac(signing_key, part)
    if not hmac.compare_digest(mac(signing_key, to_sign).hex(), fields["Signature"]) or day != stamp[:8]:
        raise Denied(403, "SignatureDoesNotMatch", f"<StringToSign>{to_sign}</StringToSign>")


class Handler(StubHandler):
    def do_GET(self):
        stub = self.server.stub
        request = S3Request(self)
        stub.note(request)
        if stub.delay:
            time.sleep(stub.delay)
        answer = stub.fault(request) if stub.fault else None
        if answer is None:
            try:
                stub.verify(request)
                answer = self.answer(stub, request)
            except Denied as denied:
                answer = self.error(denied.status, denied.code, denied.more)
        self.send_answer(answer)

    do_HEAD = do_GET

    @staticmethod
    def error(status, code, more=""):
        body = f"<Error><Code>{code}</Code><Message>so the stub says</Message>{more}</Error>".encode()
        return status, {"Content-Type": "application/xml"}, body

    def answer(self, stub, request):
        if request.bucket != stub.bucket:
            return self.error(404, "NoSuchBucket")
        if not request.key:
            return self.list(stub, request)
        if request.key not in stub.objects:
            return self.error(404, "NoSuchKey")
        data = stub.contents(request)
        headers = {"ETag": f'"{hashlib.md5(data).hexdigest()}"', "Accept-Ranges": "bytes",
                   "Last-Modified": email.utils.formatdate(stub.modified, usegmt=True), **stub.headers_of(request.key, data)}
        if request.headers.get("if-match") not in (None, headers["ETag"]):
            return self.error(412, "PreconditionFailed")
        if request.headers.get("if-none-match") == headers["ETag"]:
            return 304, headers, b""
        return stub.special(request, headers, data) or self.part(request, headers, data)

    @staticmethod
    def part(request, headers, data):
        if "range" not in request.headers:
            return 200, headers, data
        first, last = request.headers["range"].removeprefix("bytes=").split("-")
        begin = int(first) if first else max(0, len(data) - int(last))
        end = min(int(last) + 1, len(data)) if first and last else len(data)
        if begin >= len(data):
            return 416, {"Content-Range": f"bytes */{len(data)}"}, b""
        return 206, {**headers, "Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"}, data[begin:end]

    def list(self, stub, request):
        query = request.query
        if query.get("list-type") != "2":
            return self.error(400, "InvalidArgument")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token", "")
        most = min(int(query.get("max-keys", 1000)), stub.page)
        shown = []
        for key in sorted(stub.listed(prefix), key=lambda key: key.encode("utf-8", "surrogateescape")):
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if cut < 0 else key[:cut + 1]
            if name.encode("utf-8", "surrogateescape") > after.encode("utf-8", "surrogateescape") and \
                    (not shown or shown[-1][0] != name):
                shown.append((name, key if cut < 0 else None))
                if len(shown) > most:
                    break
        spelled = (lambda name: urllib.parse.quote_plus(name.encode("utf-8", "surrogateescape"), safe="/")) \
            if query.get("encoding-type") == "url" else xml.sax.saxutils.escape
        parts = ["<ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"]
        if query.get("encoding-type") == "url":
            parts.append("<EncodingType>url</EncodingType>")
        for name, key in shown[:most]:
            if key is None:
                parts.append(f"<CommonPrefixes><Prefix>{spelled(name)}</Prefix></CommonPrefixes>")
                continue
            data = stub.objects[key]
            time_text = datetime.datetime.fromtimestamp(stub.modified, datetime.timezone.utc)
            parts.append(f"<Contents><Key>{spelled(name)}</Key><Size>{len(data)}</Size>"
                         f"<ETag>&quot;{hashlib.md5(data).hexdigest()}&quot;</ETag>"
                         f"<LastModified>{time_text.strftime('%Y-%m-%dT%H:%M:%S.000Z')}</LastModified>"
                         f"{stub.listed_more(key, data)}</Contents>")
        if len(shown) > most:
            token = xml.sax.saxutils.escape(shown[most - 1][0])
            parts.append(f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>")
        parts.append("</ListBucketResult>")
        return 200, {"Content-Type": "application/xml"}, "".join(parts).encode("utf-8", "surrogateescape")


class S3Stub(StubServer):
    handler = Handler

    def __init__(self, objects, bucket=BUCKET, port=0):
        super().__init__(objects, port)
        self.bucket = bucket
        self.keys = {KEY: (SECRET, None)}  # to secret and session token
        self.region = REGION
        self.public = False
        self.page = 1000
        self.delay = 0

    def listed(self, prefix):
        return [key for key in self.objects if key.startswith(prefix)]

    def contents(self, request):
        """The bytes of the object that is asked for, which exists."""
        return self.objects[request.key]

    def verify(self, request):
        """Raises Denied for a request without the right to be answered."""
        verify(request, self)

    def headers_of(self, _key, _data):
        """More headers of an object."""
        return {}

    def special(self, _request, _headers, _data):
        """An answer to a request for an object, or None for the usual one."""
        return None

    def listed_more(self, _key, _data):
        """More elements of an object in a list."""
        return ""

    def environment(self):
        """The variables by which a client finds the server and its key, and nothing else."""
        others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        return {**others, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": self.region,
                "AWS_ENDPOINT_URL": self.url, "AWS_EC2_METADATA_DISABLED": "true",
                "AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}


if __name__ == "__main__":
    serve_by_hand(S3Stub)
