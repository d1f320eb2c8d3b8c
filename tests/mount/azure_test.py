# SPDX-License-Identifier: MIT
"""Mounts of az:// URLs, behind a server that speaks the Blob protocol and verifies keys, signatures and tokens."""
import os

import harness
from bucket_case import BucketCase, BucketTests, values
from azure_stub import ACCOUNT, ACCOUNT_KEY, ASSERTION, CLIENT_SECRET, AzureStub
from stub_server import Directory


class AzureTestCase(BucketCase):
    url = "az://bucket"
    secrets = (ACCOUNT_KEY, CLIENT_SECRET, ASSERTION, "sig=", "given")

    def make_stub(self):
        return AzureStub(Directory(self.source))

    def mount_options(self):
        return "--endpoint", self.stub.url


class TreeTest(AzureTestCase, BucketTests):
    def setUp(self):
        super().setUp()
        self.stub.public = "container"

    def test_empty_folders_of_hierarchical_accounts_are_shown(self):
        os.mkdir(os.path.join(self.source, "hierarchical"))
        self.stub.folders = {"hierarchical"}
        self.assertEqual(os.listdir(self.mount().join("hierarchical")), [])

    def test_long_lists_of_hierarchical_accounts_are_complete(self):
        names = ["a", "en", "en-GB", "en.d", "en0", "z"]
        for name in names:
            harness.write(os.path.join(self.source, name, "x"), b"1")
            harness.write(os.path.join(self.source, name + ".txt"), b"22")
        self.stub.is_hierarchical = True
        for self.stub.page in range(1, 5):
            with self.subTest(self.stub.page), harness.Mount(self.url, *self.mount_options()) as mount:
                self.assertEqual(sorted(set(os.listdir(mount.path)) - {".ndlfs"}),
                                 sorted([*names, *(name + ".txt" for name in names)]))
                self.assertEqual(os.listdir(mount.join("en")), ["x"])
                self.assertEqual(harness.read(mount.path, "en.txt"), b"22")

    def test_stores_are_found_by_name_where_nobody_may_list(self):
        self.write_store()
        self.stub.public = "blob"
        self.assert_reads(self.mount(), values())


class CredentialsTest(AzureTestCase):
    def setUp(self):
        super().setUp()
        self.write_store()

    def test_shared_key_signs_all_requests(self):
        os.environ["AZURE_STORAGE_KEY"] = ACCOUNT_KEY
        harness.write(os.path.join(self.source, "d e+%41ä.txt"), b"hello")
        self.stub.page = 1
        self.stub.clock_offset = 3600
        mount = self.mount()
        self.assertEqual(harness.read(mount.path, "d e+%41ä.txt"), b"hello")
        self.assert_reads(mount, values())

    def test_connection_string(self):
        del os.environ["AZURE_STORAGE_ACCOUNT"]
        os.environ["AZURE_STORAGE_CONNECTION_STRING"] = \
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};BlobEndpoint={self.stub.url};"
        self.assertIn("small", self.run_ok(harness.BINARY, "describe", "az://bucket/a.zarr"))
        sas, _ = self.stub.new_sas()
        os.environ["AZURE_STORAGE_CONNECTION_STRING"] = f"BlobEndpoint={self.stub.url};SharedAccessSignature={sas}"
        self.assertIn("small", self.run_ok(harness.BINARY, "describe", "az://bucket/a.zarr"))

    def test_signature_of_the_environment_and_of_a_file(self):
        os.environ["AZURE_STORAGE_SAS_TOKEN"], _ = self.stub.new_sas()
        self.assert_reads(self.mount(), values())
        del os.environ["AZURE_STORAGE_SAS_TOKEN"]
        token = os.path.join(self.scratch, "token")
        harness.write(token, self.stub.new_sas()[0])
        mount = self.mount("az://bucket", "--token-file", token)
        self.assertIn("a.zarr", os.listdir(mount.path))
        self.stub.signatures.clear()
        harness.write(token, self.stub.new_sas()[0])
        self.assert_reads(mount, values())

    def read_while_secrets_end(self):
        """All chunks, while the secret ends once."""
        mount = self.mount("az://bucket", "--revalidate", "0")
        self.assertIn("a.zarr", os.listdir(mount.path))
        self.assertEqual(self.stub.given, 1)

        def ends_secrets(request):
            if "/t/2.0.0" in request.key and self.stub.given == 1:
                self.stub.tokens.clear()
                self.stub.signatures.clear()
        self.stub.fault = ends_secrets
        self.assert_reads(mount, values())
        self.assertEqual(self.stub.given, 2)

    def test_signatures_of_a_server_are_renewed_in_the_middle_of_a_read(self):
        os.environ["PC_SDK_SAS_URL"] = self.stub.top + "/sas"
        self.read_while_secrets_end()

    def test_tokens_of_an_application_are_renewed_in_the_middle_of_a_read(self):
        os.environ.update({"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_CLIENT_SECRET": CLIENT_SECRET,
                           "AZURE_AUTHORITY_HOST": self.stub.top})
        self.read_while_secrets_end()

    def test_federated_token(self):
        token = os.path.join(self.scratch, "federated")
        harness.write(token, ASSERTION + "\n")
        os.environ.update({"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "client", "AZURE_FEDERATED_TOKEN_FILE": token,
                           "AZURE_AUTHORITY_HOST": self.stub.top})
        self.assert_reads(self.mount(), values())

    def test_managed_identity_only_where_the_user_asks_for_it(self):
        os.environ.update({"IDENTITY_ENDPOINT": self.stub.top + "/identity", "IDENTITY_HEADER": "identity"})
        self.assertIn("asked without credentials", self.refused_mount())
        self.assertEqual(self.stub.given, 0)
        os.environ["AZCOPY_AUTO_LOGIN_TYPE"] = "MSI"
        self.assert_reads(self.mount(), values())
        self.assertEqual(self.stub.given, 1)

    def test_one_line_says_what_is_wrong(self):
        os.environ["AZURE_STORAGE_KEY"] = ACCOUNT_KEY[4:]
        self.assertIn("AuthenticationFailed (so the stub says): the key", self.refused_mount())
        os.environ["AZURE_STORAGE_KEY"] = ACCOUNT_KEY + "?"
        self.assertIn("is not base64", self.refused_mount())
        os.environ["AZURE_STORAGE_KEY"] = ACCOUNT_KEY
        self.assertIn("there is no such container", self.refused_mount(url="az://another"))
        self.assertIn("is not the name of a container", self.refused_mount(url="az://UPPER"))
        self.assertIn("is not a host of Azure", self.refused_mount(url="abfs://bucket@example.org/x"))
        del os.environ["AZURE_STORAGE_KEY"]
        self.stub.life = -60
        os.environ["AZURE_STORAGE_SAS_TOKEN"], end = self.stub.new_sas()
        self.assertIn("has ended at " + end, self.refused_mount())
        del os.environ["AZURE_STORAGE_SAS_TOKEN"]
        os.environ["PC_SDK_SAS_URL"] = self.stub.top + "/sas/other"
        self.assertIn("status 404", self.refused_mount())
        os.environ["PC_SDK_SAS_URL"] = "http://example.org/sas"
        self.assertIn("is not https", self.refused_mount())
        del os.environ["PC_SDK_SAS_URL"]
        os.environ.update({"AZURE_CLIENT_SECRET": CLIENT_SECRET, "AZURE_AUTHORITY_HOST": self.stub.top})
        self.assertIn("AZURE_TENANT_ID is not set", self.refused_mount())
        os.environ.update({"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "other"})
        self.assertIn("invalid_client", self.refused_mount())
        self.assertIn("AZURE_STORAGE_ACCOUNT", self.refused_without_account())

    def refused_without_account(self):
        del os.environ["AZURE_STORAGE_ACCOUNT"]
        result = harness.run(harness.BINARY, "describe", "az://bucket/a.zarr")
        self.assertNotEqual(result.returncode, 0)
        return result.stderr


if __name__ == "__main__":
    harness.main()
