# SPDX-License-Identifier: MIT
"""Mounts of gs:// URLs, behind a server with the habits of Google, which verifies tokens and signatures."""
import errno
import gzip
import json
import os
import threading
import urllib.request

import numpy
import zarr2 as zarr

import harness
from bucket_case import BucketCase, BucketTests, values
from gs_stub import AUDIENCE, CLIENT_SECRET, FEDERATED, REFRESH, SUBJECT, GsStub, write_json
from s3_stub import KEY, SECRET
from stub_server import Directory

class GsTestCase(BucketCase):
    url = "gs://bucket"
    secrets = (SECRET, CLIENT_SECRET, REFRESH, SUBJECT, FEDERATED, "ya29")

    def make_stub(self):
        return GsStub(Directory(self.source))

    def setUp(self):
        super().setUp()
        self.stub.public = True
        self.keys = os.path.join(self.scratch, "keys.json")

    def mount_options(self):
        return "--endpoint", self.stub.url


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
                             if "generation" in request.query or "/t/0" in request.key])


class CachesTest(GsTestCase):
    """Between the server and its clients are caches that never ask the server again."""

    def setUp(self):
        super().setUp()
        self.stub.cached = {}

    def plain(self, key):
        """What a client gets that takes no care."""
        with urllib.request.urlopen(f"{self.stub.url}/bucket/{key}") as answer:
            return answer.read()

    def test_changes_are_seen_nevertheless(self):
        self.write_store()
        keys = "a.zarr/t/0.0.0", "a.zarr/.zmetadata"
        old = [self.plain(key) for key in keys]
        BucketTests.test_a_changed_object_is_shown_and_never_mixed(self)
        self.assertEqual([self.plain(key) for key in keys], old)
        self.assertNotEqual(harness.read(self.source, keys[0]), old[0])

    def test_a_generation_that_is_gone_is_a_change(self):
        self.stub.cached = None  # a cache would still have it
        path = os.path.join(self.source, "big.bin")
        harness.write(path, b"a" * (8 << 20))
        mount = self.mount("gs://bucket", "--revalidate", "3600")
        with open(mount.join("big.bin"), "rb", buffering=0) as file:
            self.assertEqual(file.read(10), b"a" * 10)
            harness.write(path, b"b" * (8 << 20))
            with self.assertRaises(OSError) as raised:
                os.pread(file.fileno(), 4096, 7 << 20)
        self.assertEqual(raised.exception.errno, errno.ESTALE)
        self.assertTrue([request for request in self.stub.take_requests() if "generation" in request.query])

    def test_caches_may_answer_where_nothing_changes(self):
        self.write_store()
        self.assert_reads(self.mount("gs://bucket", "--immutable"), values())
        self.assertEqual([request for request in self.stub.take_requests() if "ndlfs" in request.query], [])


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
        self.assertIn("the secret of the HMAC key is wrong", self.refused_mount("--requester-pays"))

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
        self.assertIn("asked without credentials", self.refused_mount())
        self.assertEqual(self.stub.tokens_given, 0)
        os.environ["GCE_METADATA_HOST"] = self.stub.url.removeprefix("http://")
        self.assert_reads(self.mount(), values())
        self.assertEqual(self.stub.tokens_given, 1)

    def test_requester_pays_needs_a_project(self):
        self.stub.make_user(self.keys)
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.stub.payer = "payer"
        self.assertIn("see --requester-pays", self.refused_mount())
        self.assertIn("GOOGLE_CLOUD_PROJECT", self.refused_mount("--requester-pays"))
        self.stub.make_user(self.keys, quota_project_id="payer")
        self.assert_reads(self.mount("gs://bucket", "--requester-pays"), values())

    def federate(self, source, **more):
        self.stub.make_federated(self.keys, source, **more)
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys

    def write_subject(self):
        path = os.path.join(self.scratch, "subject")
        harness.write(path, SUBJECT + "\n")
        return {"file": path}

    def test_token_of_another_cloud_in_a_file(self):
        self.federate(self.write_subject())
        self.assert_reads(self.mount(), values())
        self.assertEqual(self.stub.tokens_given, 1)

    def test_token_of_another_cloud_acts_as_a_service_account(self):
        self.stub.federated = FEDERATED
        source = {"url": self.stub.url + "/subject", "headers": {"Metadata": "True"},
                  "format": {"type": "json", "subject_token_field_name": "value"}}
        self.federate(source, service_account_impersonation_url=self.stub.account_url())
        mount = self.mount("gs://bucket", "--revalidate", "0")
        self.assertIn("a.zarr", os.listdir(mount.path))

        def ends_tokens(request):
            if "/t/2.0.0" in request.key and self.stub.tokens_given == 1:
                self.stub.tokens.clear()
        self.stub.fault = ends_tokens
        self.assert_reads(mount, values())
        self.assertEqual(self.stub.tokens_given, 2)

    def test_token_of_a_command_that_the_user_allows(self):
        script = os.path.join(self.scratch, "token of.sh")
        answer = json.dumps({"version": 1, "success": True, "token_type": "urn:ietf:params:oauth:token-type:jwt",
                             "id_token": SUBJECT, "expiration_time": 1 << 40})
        harness.write(script, f"#!/bin/sh\n[ \"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE\" = {AUDIENCE} ] && echo '{answer}'\n")
        os.chmod(script, 0o700)
        self.federate({"executable": {"command": f"'{script}'"}})
        self.assertIn("only if GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 is set", self.refused_mount())
        os.environ["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1"
        self.assert_reads(self.mount(), values())

    def test_a_user_acts_as_a_service_account(self):
        self.stub.make_user(self.keys)
        write_json(self.keys, {"type": "impersonated_service_account", "delegates": [],
                               "service_account_impersonation_url": self.stub.account_url(),
                               "source_credentials": json.loads(harness.read(self.keys))})
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.assert_reads(self.mount(), values())
        self.assertEqual(self.stub.tokens_given, 2)

    def test_one_line_says_what_is_wrong_with_tokens_of_others(self):
        subject = self.write_subject()
        self.federate(subject, audience="//of/others")
        self.assertIn("status 400 (invalid_target)", self.refused_mount())
        self.federate({"environment_id": "aws1", "url": "http://169.254.169.254/"})
        self.assertIn("credentials of AWS", self.refused_mount())
        self.federate(subject, service_account_impersonation_url=self.stub.account_url())
        self.stub.token_fault = (200, "application/json", b'{"access_token": "other"}')
        self.assertIn("(PERMISSION_DENIED)", self.refused_mount())
        self.federate(subject)
        answers = {"the answer is no JSON object": (200, "text/html", b"<html>Log in</html>"),
                   "the token is wrong, or has ended": (200, "application/json", b'{"access_token": "ya29.other"}')}
        for says, self.stub.token_fault in answers.items():
            with self.subTest(says):
                self.assertIn(says, self.refused_mount())
        ends = threading.Event()
        self.addCleanup(ends.set)
        self.stub.token_fault = lambda: ends.wait(harness.DEADLINE) and (500, "text/plain", b"")
        self.assertRegex(self.refused_mount(timeout=1), "[Tt]imed? ?out|Timeout|no time is left")

    def test_one_line_says_what_is_wrong(self):
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = self.keys
        self.assertIn("No such file", self.refused_mount())
        self.stub.make_service_account(self.keys)
        whole = json.loads(harness.read(self.scratch, "keys.json"))
        for text, says in (
                (json.dumps(whole)[:-300], "no valid JSON object"),
                (json.dumps({**whole, "private_key": whole["private_key"][:300]}), "no RSA key"),
                (json.dumps({**whole, "client_email": ""}), "no client_email"),
                (json.dumps({**whole, "type": "gdch_service_account"}), "gdch_service_account")):
            with self.subTest(says):
                harness.write(self.keys, text)
                self.assertIn(says, self.refused_mount())
        self.stub.make_user(self.keys)
        answers = {"the answer is no JSON object": (200, "text/html", b"<html>Log in</html>"),
                   "status 400 (invalid_grant)": (400, "application/json", b'{"error": "invalid_grant"}'),
                   "the answer has no access_token": (200, "application/json", b'{"id_token": "ya29.x"}'),
                   "the token is wrong, or has ended": (
                       200, "application/json", b'{"access_token": "ya29.other", "expires_in": 3600}')}
        for says, self.stub.token_fault in answers.items():
            with self.subTest(says):
                self.assertIn(says, self.refused_mount())
        write_json(self.keys, {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r",
                               "token_uri": "http://example.org/token"})
        self.assertIn("token_uri is not https", self.refused_mount())
        del os.environ["GOOGLE_APPLICATION_CREDENTIALS"]
        self.stub.public = True
        self.assertIn("there is no such bucket", self.refused_mount(url="gs://another"))
        self.assertIn("is not the name of a bucket", self.refused_mount(url="gs://ab"))


if __name__ == "__main__":
    harness.main()
