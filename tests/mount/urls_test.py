# SPDX-License-Identifier: MIT
"""The file urls.yaml: settings by the beginnings of URLs, for mounts, commands and references."""
import json
import os

import numpy
import zarr2 as zarr

import harness
from azure_stub import ACCOUNT_KEY, AzureStub
from gs_stub import GsStub
from s3_stub import Denied, S3Stub
from stub_server import Directory

CHUNK = 1000


def chunk(number):
    return numpy.arange(number * CHUNK, (number + 1) * CHUNK, dtype="<i8")


class WebServer(S3Stub):
    """A plain web server that takes one token."""

    def verify(self, request):
        if request.headers.get("authorization") != "Bearer web-token":
            raise Denied(401, "Unauthorized")


class UrlsTest(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.source = os.path.join(self.scratch, "source")
        os.mkdir(self.source)
        for number in range(4):
            harness.write(os.path.join(self.source, f"chunk{number}"), chunk(number).tobytes())
        self.urls = os.path.join(self.scratch, "urls.yaml")
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))

    def start(self, kind):
        stub = self.enterContext(kind(Directory(self.source)))
        os.environ.update(stub.environment())
        return stub

    def write_urls(self, text):
        harness.write(self.urls, text)
        os.chmod(self.urls, 0o600)

    def refused(self, *command):
        result = harness.run(harness.BINARY, *command)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_chunks_in_four_clouds_are_read_with_four_sets_of_credentials(self):
        s3, gs, azure, web = (self.start(kind) for kind in (S3Stub, GsStub, AzureStub, WebServer))
        del os.environ["AWS_ENDPOINT_URL"]
        keys, token = (os.path.join(self.scratch, name) for name in ("keys.json", "token"))
        gs.make_user(keys)
        harness.write(token, "web-token")
        os.environ.update({"GOOGLE_APPLICATION_CREDENTIALS": keys, "AZURE_STORAGE_KEY": ACCOUNT_KEY})
        self.write_urls(f"s3://bucket/: {{endpoint: {s3.url}, region: {s3.region}, allow: true}}\n"
                        f"gs://bucket/: {{endpoint: {gs.url}, allow: true}}\n"
                        f"az://bucket/: {{endpoint: {azure.url}, allow: true}}\n"
                        f"{web.url}/bucket/: {{token-file: {token}, allow: true}}\n")
        urls = [f"{top}/chunk{number}" for number, top in
                enumerate(("s3://bucket", "gs://bucket", "az://bucket", web.url + "/bucket"))]
        array = {"zarr_format": 2, "shape": [4 * CHUNK], "chunks": [CHUNK], "dtype": "<i8", "compressor": None,
                 "fill_value": None, "filters": None, "order": "C"}
        references = {".zgroup": json.dumps({"zarr_format": 2}), "x/.zarray": json.dumps(array), "x/.zattrs": "{}",
                      **{f"x/{number}": [url] for number, url in enumerate(urls)}}
        folder = os.path.join(self.scratch, "local")
        os.mkdir(folder)
        harness.write(os.path.join(folder, "v.json"), json.dumps({"version": 1, "refs": references}))
        mount = self.mount(folder, "--urls", self.urls)
        numpy.testing.assert_array_equal(numpy.load(mount.join("v.json/x/data.npy")), numpy.arange(4 * CHUNK))
        self.assertEqual(gs.tokens_given, 1)
        said = self.run_ok(harness.BINARY, "check", os.path.join(folder, "v.json"), "--urls", self.urls)
        self.assertNotIn("web-token", said)
        without = harness.run(harness.BINARY, "check", os.path.join(folder, "v.json"))
        self.assertIn('the remote reference "s3://bucket/chunk0"', without.stdout + without.stderr)

    def test_commands_and_mounts_find_the_file_of_the_user(self):
        s3 = self.start(S3Stub)
        del os.environ["AWS_ENDPOINT_URL"], os.environ["AWS_REGION"]
        zarr.open_group(os.path.join(self.source, "a.zarr"), mode="w").create_dataset("t", data=numpy.arange(10), chunks=3)
        os.environ["XDG_CONFIG_HOME"] = os.path.join(self.scratch, "config")
        os.makedirs(os.path.join(self.scratch, "config/ndlfs"))
        self.urls = os.path.join(self.scratch, "config/ndlfs/urls.yaml")
        self.write_urls(f"s3://bucket/a.zarr: {{endpoint: {s3.url}}}\ns3://bucket: {{endpoint: http://127.0.0.1:1}}\n")
        self.assertIn("t:", self.run_ok(harness.BINARY, "describe", "s3://bucket/a.zarr"))
        self.assertIn("9", self.run_ok(harness.BINARY, "cat", "s3://bucket/a.zarr", "/t", "--view", "txt"))
        self.run_ok(harness.BINARY, "check", "s3://bucket/a.zarr")
        self.run_ok(harness.BINARY, "warm", "s3://bucket/a.zarr", "--block-cache", os.path.join(self.scratch, "blocks"))
        mount = self.mount("s3://bucket/a.zarr")
        numpy.testing.assert_array_equal(numpy.load(mount.join("t/data.npy")), numpy.arange(10))
        # An option counts more.
        self.assertIn("endpoint", self.refused("describe", "s3://bucket/a.zarr", "--endpoint", "ftp://x"))
        os.chmod(self.urls, 0o666)
        self.assertIn("other users may write to it", self.refused("describe", "s3://bucket/a.zarr"))

    def test_one_line_says_what_is_wrong_in_the_file(self):
        point = os.path.join(self.scratch, "point")
        os.mkdir(point)
        self.write_urls("s3://bucket/:\n  # a comment\n  regoin: x\n")
        self.assertIn("urls.yaml:3:3: unknown setting \"regoin\"",
                      self.refused("mount", "s3://bucket", point, "--urls", self.urls))
        self.write_urls("s3://bucket/:\n  secret-key: hush\n")
        said = self.refused("describe", "s3://bucket/a", "--urls", self.urls)
        self.assertIn("urls.yaml:2:3: a secret does not belong here", said)
        self.assertNotIn("hush", said)

    def test_a_redirect_to_an_allowed_server_has_no_credentials_and_is_asked_for_anew(self):
        web, store = self.start(WebServer), self.start(S3Stub)
        store.public = True
        token = os.path.join(self.scratch, "token")
        harness.write(token, "web-token")
        numpy.save(os.path.join(self.source, "a.npy"), numpy.arange(100_000))
        signatures = []

        def redirects(request):
            if request.key != "a.npy" or "authorization" not in request.headers:
                return None
            signatures.append(len(signatures))
            return 302, {"Location": f"{store.url}/bucket/a.npy?sig=hush{signatures[-1]}"}, b""

        def refuses(request):
            self.assertNotIn("authorization", request.headers)
            # Each signature is good for one request, and every third for none.
            return (403, {}, b"") if int(request.raw_query.removeprefix("sig=hush")) % 3 == 0 else None
        web.fault, store.fault = redirects, refuses
        self.write_urls(f"{web.url}/bucket/: {{token-file: {token}}}\n{store.url}/bucket/: {{allow: true}}\n")
        blocks = os.path.join(self.scratch, "blocks")
        mount = self.mount(web.url + "/bucket/a.npy", "--urls", self.urls, "--block-cache", blocks)
        numpy.testing.assert_array_equal(numpy.load(mount.join("data.npy")), numpy.arange(100_000))
        store.fault = lambda _: (403, {}, b"")
        said = self.refused("describe", web.url + "/bucket/a.npy", "--urls", self.urls)
        shown = said + harness.read(mount.path, ".ndlfs/errors.log").decode() + " ".join(harness.walk(blocks))
        self.assertNotIn("hush", shown)


if __name__ == "__main__":
    harness.main()
