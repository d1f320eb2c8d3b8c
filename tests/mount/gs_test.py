# SPDX-License-Identifier: MIT
"""Mounts of gs:// URLs, behind a server with the habits of Google, which verifies tokens and signatures."""
import gzip
import json
import os

import numpy
import zarr2 as zarr

import harness
from bucket_case import BucketCase, BucketTests, values
from gs_stub import CLIENT_SECRET, REFRESH, GsStub, write_json
from s3_stub import KEY, SECRET, Directory

class GsTestCase(BucketCase):
    url = "gs://bucket"

    def make_stub(self):
        return GsStub(Directory(self.source))

    def setUp(self):
        super().setUp()
        self.stub.public = True
        self.keys = os.path.join(self.scratch, "keys.json")

    def mount_options(self):
        return "--endpoint", self.stub.url

    def refused(self, *options, url="gs://bucket/a.zarr", endpoint=None, timeout=20):
        point = os.path.join(self.scratch, "point")
        os.makedirs(point, exist_ok=True)
        result = harness.run(harness.BINARY, "mount", url, point, "--endpoint", endpoint or self.stub.url,
                             f"--timeout={timeout}", *options)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for secret in (SECRET, CLIENT_SECRET, REFRESH, "ya29"):
            self.assertNotIn(secret, result.stdout + result.stderr)
        return result.stderr


class TreeTest(GsTestCase, BucketTests):
    def test_emulator_of_the_environment_is_asked_without_credentials(self):
        self.write_store()
        os.environ["STORAGE_EMULATOR_HOST"] = self.stub.url.removeprefix("http://")
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = "/nonexistent"
        self.assertIn("small", self.run_ok(harness.BINARY, "describe", "gs://bucket/a.zarr"))

    def test_objects_that_google_would_decode_are_read_as_stored(self):
        path = os.path.join(self.source, "z.zarr")
        zarr.open_array(path, mode="w", shape=(4, 1000), chunks=(1, 1000), dtype="<i8", compressor=None)
        expected = numpy.random.default_rng(3).integers(0, 100, (4, 1000))
        document = json.loads(harness.read(path, ".zarray"))
        for number in range(4):
            harness.write(os.path.join(path, f"{number}.0"), gzip.compress(expected[number].tobytes()))
        harness.write(os.path.join(path, ".zarray"), gzip.compress(
            json.dumps({**document, "compressor": {"id": "gzip", "level": 5}}).encode()))
        self.stub.encoded = {"z.zarr/.zarray", *(f"z.zarr/{number}.0" for number in range(4))}
        mount = self.mount()
        numpy.testing.assert_array_equal(numpy.load(mount.join("z.zarr", "data.npy")), expected)

    def test_generations_are_versions(self):
        self.write_store()
        blocks = os.path.join(self.scratch, "blocks")
        for _ in range(2):
            self.stub.take_requests()
            with harness.Mount("gs://bucket", "--endpoint", self.stub.url, "--block-cache", blocks) as mount:
                self.assert_reads(mount, values())
            requests = self.stub.take_requests()
        self.assertEqual([request.key for request in requests if "/t/0" in request.key and request.method == "GET"], [])
        mount = self.mount()
        with open(mount.join("a.zarr/t/data.raw"), "rb", buffering=0) as file:
            file.read(10)
            self.assertTrue([request for request in self.stub.take_requests()
                             if "x-goog-if-generation-match" in request.headers or "/t/0" in request.key])


class CredentialsTest(GsTestCase):
    def setUp(self):
        super().setUp()
        self.write_store()
        self.stub.public = False

    def test_service_account_signs_its_tokens(self):
        self.stub.make_service_account(self.keys)
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.assert_reads(self.mount(), values())
        self.assertEqual(len(self.stub.verified), 1, "one token for all requests")

    def test_user_gets_tokens_and_renews_them(self):
        os.mkdir(os.path.join(self.scratch, "gcloud"))
        self.stub.make_user(os.path.join(self.scratch, "gcloud/application_default_credentials.json"))
        os.environ["CLOUDSDK_CONFIG"] = os.path.join(self.scratch, "gcloud")
        mount = self.mount("gs://bucket", "--revalidate", "0")
        self.assertIn("a.zarr", os.listdir(mount.path))
        self.assertEqual(self.stub.tokens_given, 1)

        def ends_tokens(request):
            if "/t/2.0.0" in request.key and self.stub.tokens_given == 1:
                self.stub.tokens.clear()
        self.stub.fault = ends_tokens
        self.assert_reads(mount, values())
        self.assertEqual(self.stub.tokens_given, 2)

    def test_hmac_key(self):
        os.environ.update({"GS_ACCESS_KEY_ID": KEY, "GS_SECRET_ACCESS_KEY": SECRET, "GOOGLE_CLOUD_PROJECT": "payer"})
        self.stub.payer = "payer"
        self.assert_reads(self.mount("gs://bucket", "--requester-pays"), values())
        os.environ["GS_SECRET_ACCESS_KEY"] = SECRET + "x"
        self.assertIn("the secret of the HMAC key is wrong", self.refused("--requester-pays"))

    def test_token_file_is_read_again(self):
        token = os.path.join(self.scratch, "token")
        harness.write(token, "first\n")
        self.stub.tokens = {"first": 1 << 40}
        mount = self.mount("gs://bucket", "--token-file", token)
        self.assertIn("a.zarr", os.listdir(mount.path))
        self.stub.tokens = {"second": 1 << 40}
        harness.write(token, "second\n")
        self.assert_reads(mount, values())

    def test_metadata_server_only_where_the_user_asks_for_it(self):
        self.assertIn("asked without credentials", self.refused())
        self.assertEqual(self.stub.tokens_given, 0)
        os.environ["GCE_METADATA_HOST"] = self.stub.url.removeprefix("http://")
        self.assert_reads(self.mount(), values())
        self.assertEqual(self.stub.tokens_given, 1)

    def test_a_server_that_cannot_be_reached_is_named(self):
        self.assertRegex(self.refused(endpoint="http://127.0.0.1:1", timeout=2), harness.NO_CONNECTION)
        self.assertIn("Could not resolve host", self.refused(endpoint="http://host.invalid", timeout=2))
        # The server has to answer for that, which takes longer where much else runs.
        self.assertRegex(self.refused(endpoint=self.stub.url.replace("http:", "https:")), "SSL|TLS")

    def test_requester_pays_needs_a_project(self):
        self.stub.make_user(self.keys)
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.stub.payer = "payer"
        self.assertIn("see --requester-pays", self.refused())
        self.assertIn("GOOGLE_CLOUD_PROJECT", self.refused("--requester-pays"))
        self.stub.make_user(self.keys, quota_project_id="payer")
        self.assert_reads(self.mount("gs://bucket", "--requester-pays"), values())

    def test_one_line_says_what_is_wrong(self):
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.assertIn("No such file", self.refused())
        self.stub.make_service_account(self.keys)
        whole = json.loads(harness.read(self.scratch, "keys.json"))
        for text, says in (
                (json.dumps(whole)[:-300], "no valid JSON object"),
                (json.dumps({**whole, "private_key": whole["private_key"][:300]}), "no RSA key"),
                (json.dumps({**whole, "client_email": ""}), "no client_email"),
                (json.dumps({**whole, "type": "external_account"}), "external_account")):
            with self.subTest(says):
                harness.write(self.keys, text)
                self.assertIn(says, self.refused())
        self.stub.make_user(self.keys)
        answers = {"the answer is no JSON object": (200, "text/html", b"<html>Log in</html>"),
                   "status 400 (invalid_grant)": (400, "application/json", b'{"error": "invalid_grant"}'),
                   "the answer has no access_token": (200, "application/json", b'{"id_token": "ya29.x"}'),
                   "the token is wrong, or has ended": (
                       200, "application/json", b'{"access_token": "ya29.other", "expires_in": 3600}')}
        for says, self.stub.token_fault in answers.items():
            with self.subTest(says):
                self.assertIn(says, self.refused())
        write_json(self.keys, {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
                               "token_uri": "http://example.org/token"})
        self.assertIn("token_uri is not https", self.refused())
        del os.environ["GOOGLE_APPLICATION_CREDENTIALS"]
        self.stub.public = True
        self.assertIn("there is no such bucket", self.refused(url="gs://another"))
        self.assertIn("is not the name of a bucket", self.refused(url="gs://ab"))


if __name__ == "__main__":
    harness.main()
