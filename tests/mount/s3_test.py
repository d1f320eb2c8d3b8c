# SPDX-License-Identifier: MIT
"""Mounts of buckets, behind a server that verifies signatures and lies where it is told to."""
import json
import os
import shutil
import threading

import numpy
import zarr2 as zarr

import harness
from bucket_case import BucketCase, BucketTests, values
from s3_stub import SECRET, S3Stub
from stub_server import Directory


def write_groups(path, version, consolidates=False):
    """A store with the arrays t, g/t and g/u, of Zarr v2 or v3."""
    group = {"zarr_format": version, **({"node_type": "group", "attributes": {}} if version == 3 else {})}
    array = {"zarr_format": version, "shape": [4], "fill_value": 0}
    if version == 2:
        array |= {"chunks": [2], "dtype": "<i4", "order": "C", "compressor": None, "filters": None}
    else:
        array |= {"node_type": "array", "data_type": "int32", "attributes": {},
                  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
                  "chunk_key_encoding": {"name": "default"},
                  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
    nodes = {"": group, "g": group, "t": array, "g/t": array, "g/u": array}
    metadata = {name: node for name, node in nodes.items() if name}
    if version == 3 and consolidates:
        nodes[""] = {**group, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": metadata}}
    names = {name: "zarr.json" if version == 3 else ".zgroup" if node == group else ".zarray" for name, node in nodes.items()}
    for name, node in nodes.items():
        os.makedirs(os.path.join(path, name), exist_ok=True)
        harness.write(os.path.join(path, name, names[name]), json.dumps(node))
    if version == 2:
        harness.write(os.path.join(path, ".zattrs"), "{}")
    if version == 2 and consolidates:
        copies = {os.path.join(name, names[name]): node for name, node in nodes.items()}
        harness.write(os.path.join(path, ".zmetadata"), json.dumps({"zarr_consolidated_format": 1, "metadata": copies}))


class S3TestCase(BucketCase):
    url = "s3://bucket"
    secrets = (SECRET,)
    # Of several blocks of the block cache, and some of less than one.
    chunks = (2, 100, 1000)

    def make_stub(self):
        return S3Stub(Directory(self.source))

    def refused(self, *command):
        result = harness.run(harness.BINARY, *command)
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn(SECRET, result.stdout + result.stderr)
        return result.stderr


class TreeTest(S3TestCase, BucketTests):
    def test_first_listing_in_a_consolidated_store_costs_three_requests_from_the_top(self):
        write_groups(os.path.join(self.source, "a.zarr"), 2, consolidates=True)
        write_groups(os.path.join(self.source, "b.zarr"), 3, consolidates=True)
        for folder in ("a.zarr", "a.zarr/g", "b.zarr", "b.zarr/g"):
            for command in ("ls", "-1"), ("ls", "-l"):
                with self.subTest(folder, command=command), harness.Mount("s3://bucket") as mount:
                    self.stub.take_requests()
                    self.assertIn("t", self.run_ok(*command, mount.join(folder)))
                    self.assertLessEqual(len(self.stub.take_requests()), 3)

    def test_first_listing_of_an_unconsolidated_group_takes_three_rounds(self):
        documents = {2: (".zgroup", ".zattrs", ".zarray"), 3: ("zarr.json",)}
        for version, names in documents.items():
            store = f"{version}.zarr"
            write_groups(os.path.join(self.source, store), version)
            root = {f"{store}/{name}" for name in os.listdir(os.path.join(self.source, store)) if name in names}
            children = {f"{store}/{child}/{name}" for child in ("t", "g") for name in ("", *names)}
            grandchildren = {f"{store}/g/{child}/{name}" for child in ("t", "u") for name in names}
            self.assert_rounds(f"{store}/g", [{store, store + "/"}, root | children, grandchildren])

    def assert_rounds(self, folder, rounds):
        """Lists `folder` where each answer comes when all requests of its round are there; "a/" is that for a list."""
        asked, change = set(), threading.Condition()

        def hold(request):
            name = request.key or request.query["prefix"]
            together = next((names for names in rounds if name in names), set())
            with change:
                asked.add(name)
                change.notify_all()
                return None if change.wait_for(lambda: together <= asked, 20) else (403, {}, b"")
        with harness.Mount("s3://bucket") as mount:
            self.stub.fault = hold
            listed = os.listdir(mount.join(folder))
            self.stub.fault = None
        self.assertLessEqual({"t", "u"}, set(listed))
        self.assertEqual(asked, set.union(*rounds))

    def test_unconsolidated_stores_are_shown_as_by_a_local_mount(self):
        for version in (2, 3):
            write_groups(os.path.join(self.source, f"{version}.zarr"), version)
        with harness.Mount(self.source) as local:
            names = harness.walk(local.path)
        self.assertIn("3.zarr/g/u/data.npy", names)
        self.assertEqual(harness.walk(self.mount().path), names)

    def test_commands_take_urls(self):
        self.write_store()
        self.assertIn("a test", self.run_ok(harness.BINARY, "describe", "s3://bucket/a.zarr"))
        raw = harness.run(harness.BINARY, "cat", "s3://bucket/a.zarr", "/small", "--view", "txt").stdout
        self.assertEqual(raw.split(), [str(i) for i in range(10)])
        self.run_ok(harness.BINARY, "check", "s3://bucket")

    def test_keys_that_are_no_paths_are_not_shown(self):
        self.stub.objects = {"ok": b"1", "../up": b"1", "a//b": b"1", "d/./x": b"1", "d/": b"", "x": b"1", "x/y": b"2"}
        mount = self.mount()
        self.assertEqual(harness.walk(mount.path), ["a", "d", "ok", "x", "x/y"])


    def test_keys_in_urls_are_as_they_are(self):
        for number, name in enumerate(("sp%20ace.zarr", "sp ace.zarr", "h#a?q&=.zarr", "100% x.zarr", "ü+ä.zarr")):
            self.write_store(name, seed=number)
        for number, name in enumerate(("sp%20ace.zarr", "sp ace.zarr", "h#a?q&=.zarr", "100% x.zarr", "ü+ä.zarr")):
            for url in (f"s3://bucket/{name}", f"s3://bucket/{name}/"):
                with self.subTest(url), harness.Mount(url) as mount:
                    self.assert_reads(mount, values(number), "")
        self.assertIn("sp%2520ace.zarr: open: No such file", self.refused("describe", "s3://bucket/sp%2520ace.zarr"))


class MountErrorTest(S3TestCase):
    def refused_both_ways(self, url, **options):
        for foreground in ([], ["--foreground"]):
            said = self.refused_mount(*foreground, url=url, **options)
        return said

    def test_one_line_says_what_is_wrong(self):
        self.write_store()
        for url in ("s3://another", "s3://another/a.zarr"):
            self.assertIn("there is no such bucket", self.refused_both_ways(url))
        self.stub.region = "eu-test-2"  # the server names it, and so another one is no error
        self.assert_reads(self.mount(), values())
        self.stub.fault = lambda _: (400, {}, b"<Error><Code>AuthorizationHeaderMalformed</Code></Error>")
        self.assertIn("see --region", self.refused_both_ways("s3://bucket"))
        self.stub.fault = None
        for url in ("s3://bucket", "s3://bucket/a.zarr"):
            os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET + "x"
            self.assertIn("the secret key is wrong", self.refused_both_ways(url))
            os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET
        os.environ["AWS_ACCESS_KEY_ID"] = "unknown"
        self.assertIn("the access key is unknown there", self.refused_both_ways("s3://bucket"))
        self.assertRegex(self.refused_both_ways("s3://bucket", endpoint="http://127.0.0.1:1", timeout=2), harness.NO_CONNECTION)


class UnlistedTest(S3TestCase):
    """A bucket that may be read and not listed answers 403 for what it does not have."""

    def setUp(self):
        super().setUp()
        write_groups(os.path.join(self.source, "2.zarr"), 2)
        write_groups(os.path.join(self.source, "3.zarr"), 3)
        for chunk, path in enumerate(("2.zarr/t/0", "3.zarr/t/c/0")):
            os.makedirs(os.path.dirname(os.path.join(self.source, path)), exist_ok=True)
            numpy.array([1, 2], "<i4").tofile(os.path.join(self.source, path))
        self.stub.fault = lambda request: None if request.key in self.stub.objects else \
            (403, {}, b"<Error><Code>AccessDenied</Code></Error>")
        self.stub.public = True

    def test_stores_are_read_and_absent_chunks_are_the_fill_value(self):
        for options in ([], ["--no-sign-request"]):
            for store in ("2.zarr", "3.zarr"):
                for url in ("s3://bucket", f"s3://bucket/{store}"):
                    with self.subTest(url, options=options), harness.Mount(url, *options) as mount:
                        path = [store] if url == "s3://bucket" else []
                        numpy.testing.assert_array_equal(numpy.load(mount.join(*path, "t", "data.npy")), [1, 2, 0, 0])
                        numpy.testing.assert_array_equal(numpy.load(mount.join(*path, "g/u", "data.npy")), [0] * 4)


class AccessTest(S3TestCase):
    def test_what_is_refused_says_why_and_no_secret(self):
        self.write_store()
        describe = ["describe", "s3://bucket/a.zarr"]
        os.environ["AWS_SECRET_ACCESS_KEY"] = SECRET + "x"
        self.assertIn("SignatureDoesNotMatch", self.refused(*describe))
        os.environ["AWS_ACCESS_KEY_ID"] = "unknown"
        self.assertIn("InvalidAccessKeyId", self.refused(*describe))
        del os.environ["AWS_ACCESS_KEY_ID"]
        self.assertIn("no AWS credentials", self.refused(*describe))
        self.assertIn("AccessDenied", self.refused(*describe, "--no-sign-request"))
        os.environ.update(self.stub.environment())
        self.assertIn("NoSuchBucket", self.refused("describe", "s3://another/a.zarr"))

    def test_anonymous_access_to_a_public_bucket(self):
        self.write_store()
        self.stub.public = True
        del os.environ["AWS_ACCESS_KEY_ID"]
        self.assert_reads(self.mount("s3://bucket", "--no-sign-request"), values())

    def test_region_clock_and_session_token_are_corrected(self):
        self.write_store()
        os.environ["AWS_REGION"] = "us-east-1"  # the bucket is elsewhere
        self.stub.clock_offset = 3600
        self.assert_reads(self.mount(), values())

    def test_expired_credentials_are_renewed(self):
        self.write_store()
        answer = '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "s", "SessionToken": "t"}'
        keys = os.path.join(self.scratch, "keys.json")
        harness.write(keys, answer % "one")
        config = os.path.join(self.scratch, "config")
        harness.write(config, f"[default]\ncredential_process = cat {keys}\n")
        del os.environ["AWS_ACCESS_KEY_ID"]
        os.environ["AWS_CONFIG_FILE"] = config
        self.stub.keys = {"one": ("s", "t")}
        mount = self.mount()
        self.assertIn("a.zarr", os.listdir(mount.path))
        self.stub.keys = {"two": ("s", "t")}
        harness.write(keys, answer % "two")
        self.assert_reads(mount, values())


class FaultTest(S3TestCase):
    def test_errors_that_pass_are_not_seen(self):
        self.write_store()
        count = [0]

        def fault(_):
            count[0] += 1
            return (503, {}, b"<Error><Code>SlowDown</Code></Error>") if count[0] % 4 == 1 else None
        self.stub.fault = fault
        self.assert_reads(self.mount(), values())

    def test_answers_that_lie_are_errors_and_never_data(self):
        self.write_store()
        lies = {
            "another range": lambda data: (206, {"ETag": '"x"', "Content-Range": "bytes 1-10/99"}, data[:10]),
            "short": lambda data: (200, {"ETag": '"x"', "Content-Length": str(len(data))}, data[:-5]),
            "denied": lambda data: (403, {}, b"<Error><Code>AccessDenied</Code></Error>"),
            "gone wrong": lambda data: (500, {}, b"")}
        for what, lie in lies.items():
            with self.subTest(what), harness.Mount("s3://bucket", "--timeout", "1") as mount:
                self.stub.fault = lambda request, lie=lie: \
                    lie(b"x" * 1_600_000) if "/t/1.0.0" in request.raw_path else None
                with self.assertRaises(OSError):
                    harness.read(mount.path, "a.zarr/t/data.raw")
                self.stub.fault = None
                harness.wait_until(lambda mount=mount: self.reads_well(mount), "well again")

    def reads_well(self, mount):
        try:
            return harness.read(mount.path, "a.zarr/t/data.raw") == values().tobytes()
        except OSError:
            return False

    def test_a_changed_object_is_shown_and_never_mixed(self):
        self.write_store()
        mount = self.mount("s3://bucket", "--revalidate", "0.1")
        self.assert_reads(mount, values())
        path = os.path.join(self.source, "a.zarr")
        shutil.rmtree(path)
        self.write_store(seed=2)
        harness.wait_until(lambda: self.first_plane(mount) == values(2)[0].tobytes(), "the new content")
        self.assert_reads(mount, values(2))

    def test_objects_that_are_rewritten_under_two_mounts_are_never_mixed(self):
        chunk = (1, 100_000)
        path = os.path.join(self.source, "b.zarr")
        zarr.open_array(path, mode="w", shape=(4, chunk[1]), chunks=chunk, dtype="<i8", compressor=None)
        beside = os.path.join(self.scratch, "new")

        def rewrite(version):
            for number in range(4):
                harness.write(beside, numpy.full(chunk, version).tobytes())
                os.replace(beside, os.path.join(path, f"{number}.0"))
        rewrite(1)
        mounts = [self.mount("s3://bucket", "--revalidate", "0.02") for _ in range(2)]
        seen, mixed, done = set(), [], threading.Event()

        def shown_by(mount):
            """The versions of the chunks."""
            try:
                rows = numpy.frombuffer(harness.read(mount.path, "b.zarr/data.raw"), "<i8").reshape(4, -1)
            except OSError:
                return set()
            mixed.extend(row for row in rows if (row != row[0]).any())
            return {int(row[0]) for row in rows}

        def read(mount):
            while not done.is_set():
                seen.update(shown_by(mount))
        readers = [threading.Thread(target=read, args=[mount]) for mount in mounts * 2]
        for reader in readers:
            reader.start()
        for version in range(2, 12):
            rewrite(version)
            done.wait(0.1)
        done.set()
        for reader in readers:
            reader.join()
        self.assertEqual(mixed, [])
        self.assertGreater(len(seen), 1)
        for mount in mounts:
            harness.wait_until(lambda mount=mount: shown_by(mount) == {11}, "the last version")

    def first_plane(self, mount):
        try:
            with open(mount.join("a.zarr/t/data.raw"), "rb") as file:
                return file.read(values()[0].nbytes)
        except OSError:
            return None


class BlockCacheTest(S3TestCase):
    def setUp(self):
        super().setUp()
        self.blocks = os.path.join(self.scratch, "blocks")
        self.options = ["--block-cache", self.blocks]
        self.write_store()

    def chunk_bytes_fetched(self):
        return [request.key for request in self.stub.take_requests()
                if request.method == "GET" and "/t/" in request.key and not request.key.endswith("y")]

    def test_a_second_mount_fetches_no_chunk(self):
        with harness.Mount("s3://bucket", *self.options) as mount:
            self.assert_reads(mount, values())
        self.assertTrue(self.chunk_bytes_fetched())
        mount = self.mount("s3://bucket", *self.options)
        self.assert_reads(mount, values())
        self.assertEqual(self.chunk_bytes_fetched(), [])
        self.assertIn('"block_cache_hits_total"', harness.read(mount.path, ".ndlfs/stats.json").decode())

    def test_two_mounts_at_once_share_it(self):
        mounts = [self.mount("s3://bucket", *self.options) for _ in range(2)]
        failures = []

        def read(mount):
            try:
                self.assert_reads(mount, values())
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=read, args=[mount]) for mount in mounts * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_changed_object_is_fetched_again(self):
        with harness.Mount("s3://bucket", *self.options) as mount:
            self.assert_reads(mount, values())
        shutil.rmtree(os.path.join(self.source, "a.zarr"))
        self.write_store(seed=2)
        self.assert_reads(self.mount("s3://bucket", *self.options), values(2))

    def test_damaged_blocks_are_fetched_again(self):
        with harness.Mount("s3://bucket", *self.options) as mount:
            self.assert_reads(mount, values())
        for name in harness.walk(self.blocks):
            path = os.path.join(self.blocks, name)
            if os.path.isfile(path) and os.path.getsize(path) > 1000:
                with open(path, "r+b") as file:
                    file.seek(-1, os.SEEK_END)
                    file.write(b"\x55")
        self.assert_reads(self.mount("s3://bucket", *self.options), values())

    def test_commands_read_local_paths_through_it(self):
        for place, _, names in os.walk(self.source):
            for name in names:
                os.utime(os.path.join(place, name), (1e9, 1e9))  # what has just changed is not kept
        store = os.path.join(self.source, "a.zarr")
        for command in (["describe", store], ["cat", store, "/small", "--view", "txt"], ["check", store]):
            with self.subTest(command[0]):
                self.run_ok(harness.BINARY, *command, *self.options)
                self.assertTrue([name for name in harness.walk(self.blocks) if os.path.isfile(os.path.join(self.blocks, name))])
                shutil.rmtree(self.blocks)

    def test_warm_brings_what_a_mount_needs(self):
        said = self.run_ok(harness.BINARY, "warm", "s3://bucket/a.zarr", *self.options)
        self.assertIn("1 store", said)
        self.stub.take_requests()
        mount = self.mount("s3://bucket/a.zarr", *self.options)
        numpy.testing.assert_array_equal(numpy.load(mount.join("t/data.npy")), values())
        self.assertEqual(self.chunk_bytes_fetched(), [])

    def test_a_local_source_is_cached_too(self):
        for name in harness.walk(self.source):  # what was written just now is not kept
            os.utime(os.path.join(self.source, name), (1_500_000_000, 1_500_000_000))
        for _ in range(2):
            with harness.Mount(self.source, *self.options) as mount:
                self.assert_reads(mount, values())
        self.assertGreater(sum(os.path.getsize(os.path.join(self.blocks, name)) for name in harness.walk(self.blocks)
                               if os.path.isfile(os.path.join(self.blocks, name))), values().nbytes)

    def test_a_directory_that_others_may_enter_is_refused(self):
        os.mkdir(self.blocks)
        os.chmod(self.blocks, 0o755)
        where = os.path.join(self.scratch, "mnt")
        os.mkdir(where)
        self.assertIn("may be entered by other users",
                      self.refused("mount", "s3://bucket", where, *self.options))


if __name__ == "__main__":
    harness.main()
