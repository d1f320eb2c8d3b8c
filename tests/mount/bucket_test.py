# SPDX-License-Identifier: MIT
"""Stores in a bucket whose chunks are parts of other objects: what they show, and how many requests that takes."""
import errno
import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
import zipfile

import numpy as np
import tifffile
from osgeo import gdal

import harness
import lying_server
import parquet
from icechunk_writer import GROUP, Repository, array_document, id_bytes, id_text, node
from s3_test import S3TestCase

FIRST = np.arange(40, dtype="<i4").reshape(10, 4)
SECOND = FIRST * 2
ROWS = 3  # of a chunk
MISSING = np.full((2, 1, 1, 1), -1)
gdal.UseExceptions()


class IcechunkCase(S3TestCase):
    """A repository with the tags v1 and v2, and with a commit after them."""

    def make(self, name="r", version=2):
        repository = Repository(os.path.join(self.source, name), version)
        repository.tags["v1"] = repository.commit(FIRST, ROWS)
        repository.tags["v2"] = repository.commit(SECOND, ROWS)
        repository.write_refs()
        return repository

    def asked(self):
        """The requests since the last call: for a list "LIST prefix", for all others the method and the key."""
        return [f"{request.method} {request.key}" if request.key else f"LIST {request.query['prefix']}"
                for request in self.stub.take_requests()]

    def assert_asked(self, *expected):
        self.assertEqual(sorted(self.asked()), sorted(expected))

    def read(self, *parts):
        return harness.read(*parts, "v/data.raw")


class IcechunkTest(IcechunkCase):
    def test_two_tags(self):
        self.make()
        for url, folder in ("s3://bucket/r", ""), ("s3://bucket", "r"):
            with self.subTest(url), harness.Mount(url) as mount:
                shown = mount.join(folder)
                versions = os.path.join(shown, ".versions")
                self.assertEqual(sorted(os.listdir(versions + "/tags")), ["v1", "v2"])
                self.assertEqual(self.read(versions, "tags/v1"), FIRST.tobytes())
                self.assertEqual(self.read(shown), SECOND.tobytes())
                for other, status in ("tags/v2", 1), ("../.versions/tags/v1", 0):
                    done = harness.run("cmp", f"{versions}/tags/v1/v/data.raw", f"{versions}/{other}/v/data.raw")
                    self.assertEqual(done.returncode, status, done.stderr)
                for tag, values in ("v1", FIRST), ("v2", SECOND):
                    self.assertIn(values.astype(">i4").tobytes(), harness.read(versions, "tags", tag, "data.nc"))
                self.run_ok("cp", "-r", f"{versions}/tags/v1", os.path.join(self.scratch, "copy" + folder))
                self.assertEqual(self.read(self.scratch, "copy" + folder), FIRST.tobytes())

    def test_commands(self):
        repository = self.make()
        ids = [id_text(snapshot[0]) for snapshot in repository.snapshots]
        log = self.run_ok(harness.BINARY, "describe", "--log", "s3://bucket/r")
        for line in (f"tag v1 -> {ids[0]}\n", f"tag v2 -> {ids[1]}\n", f"{ids[1]} 2023-11-14T22:13:21.000000Z snapshot 1\n"):
            self.assertIn(line, log)
        self.assertIn("4 chunks", self.run_ok(harness.BINARY, "check", "s3://bucket/r"))
        done = subprocess.run([harness.BINARY, "cat", "s3://bucket/r", "/v", "--view", "raw", "--ref", "tag=v1"],
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.assertEqual((done.stdout, done.stderr), (FIRST.tobytes(), b""))
        lost = os.path.join(repository.path, "chunks", sorted(os.listdir(os.path.join(repository.path, "chunks")))[0])
        os.remove(lost)
        self.run_ok(harness.BINARY, "check", "s3://bucket/r")
        said = harness.run(harness.BINARY, "check", "s3://bucket/r", "--ref", "tag=v1")
        self.assertIn("is not there", said.stdout + said.stderr)

    def test_a_commit_and_a_moved_branch_are_seen_and_never_mixed(self):
        repository = self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "0.1")
        versions = mount.join(".versions")
        with open(mount.join("v/data.raw"), "rb", buffering=0) as file:
            begin = file.read(48)
            repository.commit(FIRST + 100, ROWS)
            harness.wait_until(lambda: self.read(mount.path) == (FIRST + 100).tobytes(), "the commit")
            self.assertEqual(begin + file.read(), SECOND.tobytes())
        self.assertEqual(self.read(versions, "branches/main"), (FIRST + 100).tobytes())
        repository.branches["main"] = 0  # it was reset
        repository.write_refs()
        harness.wait_until(lambda: self.read(mount.path) == FIRST.tobytes(), "the moved branch")
        harness.wait_until(lambda: self.read(versions, "branches/main") == FIRST.tobytes(), "the moved branch")
        self.assertEqual(self.read(versions, "tags/v2"), SECOND.tobytes())

    def test_version_1(self):
        repository = self.make(version=1)
        mount = self.mount("s3://bucket/r", "--revalidate", "0.1")
        self.assertEqual(self.read(mount.path), SECOND.tobytes())
        self.assertEqual(self.read(mount.join(".versions/tags/v1")), FIRST.tobytes())
        repository.commit(FIRST + 100, ROWS)
        harness.wait_until(lambda: self.read(mount.path) == (FIRST + 100).tobytes(), "the commit")


class IcechunkRequestsTest(IcechunkCase):
    def test_listing_reads_no_manifest(self):
        """One request is that of detection."""
        for version, ref in (2, "repo"), (1, "refs/branch.main/ref.json"):
            name = f"v{version}"
            repository = self.make(name, version)
            with self.subTest(version), harness.Mount(f"s3://bucket/{name}", "--revalidate", "3600") as mount:
                self.asked()
                self.assertIn("v", os.listdir(mount.path))
                self.assert_asked(f"LIST {name}/", f"GET {name}/{ref}",
                                  f"GET {name}/snapshots/{id_text(repository.snapshots[-1][0])}")
                self.run_ok("ls", "-l", mount.path, mount.join("v"))
                self.assert_asked()

    def test_a_chunk_takes_its_manifest_and_one_request(self):
        self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "3600")
        os.listdir(mount.join("v"))
        self.asked()
        with open(mount.join("v/data.raw"), "rb", buffering=0) as file:
            file.read(16)
            asked = self.asked()
            self.assertEqual(asked[0].split("/")[1], "manifests")
            self.assertEqual({name.split("/")[1] for name in asked[1:]}, {"chunks"})
            file.read()
            asked += self.asked()
        self.assertEqual(len(asked), len(set(asked)))
        self.assertEqual(len(asked), 1 + -(-len(SECOND) // ROWS))
        self.read(mount.path)
        self.assert_asked()

    def test_revalidating_is_one_conditional_request(self):
        for version, pointer in (2, "repo"), (1, "refs/branch.main/ref.json"):
            name = f"v{version}"
            self.make(name, version)
            with self.subTest(version), harness.Mount(f"s3://bucket/{name}", "--revalidate", "0.4") as mount:
                self.read(mount.path)
                looks = [lambda: self.read(mount.path), lambda: self.read(mount.join(".versions/tags/v1")),
                         lambda: os.listdir(mount.path), lambda: os.stat(mount.join("v"))]
                for look in looks if version == 2 else looks[:1]:
                    look()
                    time.sleep(0.6)
                    self.stub.take_requests()
                    look()
                    asked = self.stub.take_requests()
                    # A look that takes long on a busy machine asks once more.
                    self.assertEqual({request.key for request in asked}, {f"{name}/{pointer}"})
                    self.assertTrue(all("if-none-match" in request.headers for request in asked))

    def test_nothing_is_asked_within_the_time(self):
        self.make()
        mount = self.mount("s3://bucket/r", "--revalidate", "3600")
        versions = [mount.path, *(mount.join(".versions", name) for name in ("tags/v1", "tags/v2", "branches/main"))]
        for _ in range(2):
            self.asked()
            for version in versions:
                self.read(version)
                os.listdir(os.path.join(version, "v"))
        self.assert_asked()

    def test_what_never_changes_comes_from_the_block_cache(self):
        self.make()
        options = ["--block-cache", os.path.join(self.scratch, "blocks"), "--revalidate", "3600"]
        for is_first in (True, False):
            with harness.Mount("s3://bucket/r", *options) as mount:
                self.asked()
                os.listdir(mount.path)
                self.assertEqual(self.read(mount.path), SECOND.tobytes())
                self.assertEqual(self.read(mount.join(".versions/tags/v1")), FIRST.tobytes())
                asked = self.asked()
                fixed = [name for name in asked if name.split("/")[1] in ("snapshots", "manifests", "chunks")]
                self.assertEqual(bool(fixed), is_first, fixed)
        self.assertEqual(asked, ["LIST r/"])


class IcechunkOverHttpTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        os.environ["no_proxy"] = "*"
        self.repository = Repository(self.path("r"))
        self.repository.commit(FIRST, ROWS)
        self.server = lying_server.Server(self.source)
        self.addCleanup(self.server.stop)

    def test_revalidating_is_one_conditional_request(self):
        self.assert_revalidates_by("GET /r/repo", (self.server.url + "/r", ""), (self.server.url, "r"))

    def test_revalidating_is_one_look_where_the_server_has_no_strong_tags(self):
        self.server.validators = lambda status: {
            name: value for name, value in lying_server.validators(status).items() if name != "ETag"}
        self.assert_revalidates_by("HEAD /r/repo", (self.server.url, "r"))

    def test_a_server_that_ignores_conditions_sends_the_file_once_more_only(self):
        conditional = []

        def ignores(path, handler):
            if "If-None-Match" in handler.headers:
                conditional.append(path)
            del handler.headers["If-None-Match"]
            return False
        self.server.lie = ignores
        with harness.Mount(self.server.url + "/r", "--revalidate", "0.3") as mount:
            for _ in range(4):
                self.assertEqual(harness.read(mount.path, "v/data.raw"), FIRST.tobytes())
                time.sleep(0.4)
        self.assertEqual(conditional, ["/r/repo"])

    def test_a_commit_comes_with_the_answer(self):
        with harness.Mount(self.server.url + "/r", "--revalidate", "0.3") as mount:
            self.assertEqual(harness.read(mount.path, "v/data.raw"), FIRST.tobytes())
            self.repository.commit(SECOND, ROWS)
            harness.wait_until(lambda: harness.read(mount.path, "v/data.raw") == SECOND.tobytes(), "the commit")
            self.assertNotIn("HEAD /r/repo", self.server.taken())

    def assert_revalidates_by(self, request, *places):
        server = self.server
        for url, folder in places:
            with self.subTest(url), harness.Mount(url, "--revalidate", "0.4") as mount:
                shown = mount.join(folder)
                os.listdir(mount.path)
                for look in (lambda: os.listdir(shown), lambda: os.stat(os.path.join(shown, "v")),
                             lambda: harness.read(shown, "v/data.raw")):
                    look()
                    time.sleep(0.6)
                    server.taken()
                    look()
                    self.assertEqual(set(server.taken()), {request})


class IcechunkChangesTest(IcechunkCase):
    def test_a_repository_that_is_rewritten_is_never_mixed(self):
        """Another repository takes its place again and again, with other ids."""
        def rewrite(version):
            beside = Repository(os.path.join(self.scratch, f"new-{version}"))
            beside.next = 1000 * version
            beside.commit(np.full((10, 4), version, "<i4"), ROWS)
            place = os.path.join(self.source, "r")
            shutil.rmtree(place, ignore_errors=True)
            os.rename(beside.path, place)
        rewrite(1)
        mount = self.mount("s3://bucket", "--revalidate", "0.05")
        seen, mixed, done = set(), [], threading.Event()

        def read():
            while not done.is_set():
                try:
                    shown = np.frombuffer(self.read(mount.join("r")), "<i4")
                except OSError:  # between two of them
                    continue
                seen.add(int(shown[0]))
                if (shown != shown[0]).any():
                    mixed.append(shown)
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for version in range(2, 8):
            rewrite(version)
            done.wait(0.1)
        harness.wait_until(lambda: 7 in seen, "the last one")
        done.set()
        for reader in readers:
            reader.join()
        self.assertEqual(mixed, [])

    def write_virtual(self, name, **checks):
        """A repository with one chunk, that is the object data.bin."""
        repository = Repository(os.path.join(self.source, name))
        manifest = repository.write_manifest([{"index": [0, 0], "location": "s3://bucket/data.bin", "offset": 16,
                                               "length": 160, **checks}])
        nodes = [node("/", 1, GROUP), node("/v", 2, array_document(FIRST, 10), [(manifest, [[0, 1], [0, 1]])])]
        repository.add(repository.write_snapshot(nodes))

    def test_virtual_chunks_are_of_the_version_that_was_noted(self):
        contents = b"sixteen bytes...".ljust(16) + FIRST.tobytes()
        harness.write(os.path.join(self.source, "data.bin"), contents)
        tag = hashlib.md5(contents).hexdigest()
        written = self.stub.modified
        checks = {"right": {"checksum_etag": tag}, "quoted": {"checksum_etag": f'"{tag}"'},
                  "in-time": {"checksum_last_modified": written}, "other": {"checksum_etag": "abc"},
                  "late": {"checksum_last_modified": written - 1}}
        for name, check in checks.items():
            self.write_virtual(name, **check)
        mount = self.mount("s3://bucket", "--allow-urls", "s3://bucket/", "--revalidate", "0.1")
        for name in ("right", "quoted", "in-time"):
            self.assertEqual(self.read(mount.join(name)), FIRST.tobytes(), name)
        read = [request for request in self.stub.take_requests() if request.key == "data.bin" and request.method == "GET"]
        self.assertEqual({request.headers.get("if-match") for request in read}, {f'"{tag}"'})
        reasons = {"other": f'has the ETag "{tag}", and the repository has noted "abc"',
                   "late": "was modified at 2017-07-14T02:40:00.000000Z, and the repository has noted 2017-07-14T02:39:59"}
        for name, reason in reasons.items():
            with self.assertRaises(OSError, msg=name):
                self.read(mount.join(name))
            said = harness.run(harness.BINARY, "check", f"s3://bucket/{name}", "--allow-urls", "s3://bucket/")
            self.assertIn(reason, said.stdout + said.stderr)
        harness.write(os.path.join(self.source, "data.bin"), contents[:-1] + b"x")
        harness.wait_until(lambda: not self.reads(mount.join("right")), "the change of the object")
        denied = harness.run(harness.BINARY, "check", "s3://bucket/right")
        self.assertIn("--allow-urls s3://bucket/ allows it", denied.stdout + denied.stderr)

    def reads(self, folder):
        try:
            return self.read(folder) == FIRST.tobytes()
        except OSError:
            return False


class PicturesTest(S3TestCase):
    """TIFF in a bucket."""
    TILE = 128  # 64 KiB

    def ranges(self):
        """The ranges of files that were asked for since the last call."""
        return [(request.key, request.headers["range"]) for request in self.stub.take_requests() if request.key]

    def test_cog_costs_one_request_and_each_tile_another(self):
        values = np.random.default_rng(5).integers(0, 1 << 32, (4 * self.TILE, 4 * self.TILE), dtype="u4")
        made = gdal.GetDriverByName("MEM").Create("", *values.shape, 1, gdal.GDT_UInt32)
        made.GetRasterBand(1).WriteArray(values)
        path = os.path.join(self.source, "a.tif")
        gdal.Translate(path, made, format="COG", creationOptions=["COMPRESS=NONE", f"BLOCKSIZE={self.TILE}"])
        self.assertGreater(os.path.getsize(path), 1 << 20)
        with harness.Mount("s3://bucket") as mount:
            folder = mount.join("a.tif/image")
            self.assertEqual(os.stat(f"{folder}/data.raw").st_size, values.nbytes)
            self.assertEqual(self.ranges(), [("a.tif", "bytes=0-131071")])
            for y, x in (3, 1), (2, 2):
                y, x = y * self.TILE, x * self.TILE
                tile = np.load(f"{folder}/data[{y}:{y + self.TILE},{x}:{x + self.TILE}].npy")
                np.testing.assert_array_equal(tile, values[y:y + self.TILE, x:x + self.TILE])
                self.assertEqual(len(self.ranges()), 1)
            np.testing.assert_array_equal(np.load(f"{folder}/data.npy"), values)

    def write_set(self, planes):
        """A set of OME-TIFF: each file has the planes of one time."""
        parts = "".join(f'<TiffData IFD="0" FirstT="{time}" PlaneCount="{len(planes[0])}"><UUID FileName="{name}.ome.tif">'
                        f"urn:uuid:{name}</UUID></TiffData>" for time, name in enumerate("ab"))
        height, width = planes.shape[2:]
        for name, part in zip("ab", planes):
            tifffile.imwrite(os.path.join(self.source, name + ".ome.tif"), part, photometric="minisblack", metadata=None, description=(
                f'<?xml version="1.0"?><OME UUID="urn:uuid:{name}"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" '
                f'Type="uint8" SizeX="{width}" SizeY="{height}" SizeZ="{len(part)}" SizeC="1" SizeT="2">{parts}</Pixels></Image></OME>'))

    def test_set_of_files_costs_one_request_a_file(self):
        planes = np.arange(2 * 3 * 8 * 9, dtype="u1").reshape(2, 3, 8, 9)
        self.write_set(planes)
        with harness.Mount("s3://bucket", "--revalidate", "1") as mount:
            data = mount.join("a.ome.tif/image/data.npy")
            np.testing.assert_array_equal(np.load(data), planes)
            self.assertEqual(self.ranges(), [("a.ome.tif", "bytes=0-131071"), ("b.ome.tif", "bytes=0-131071")])
            self.write_set(planes + 1)
            harness.wait_until(lambda: self.planes_now(data)[1, 0, 0, 0] == planes[1, 0, 0, 0] + 1, "a change of the other file")
            os.unlink(os.path.join(self.source, "b.ome.tif"))
            harness.wait_until(lambda: self.planes_now(data) is MISSING, "the loss of the other file")
            with self.assertRaises(OSError) as caught:
                np.load(data)
            self.assertEqual(caught.exception.errno, errno.EIO)
            self.assertIn(b"b.ome.tif: there is no such file", harness.read(mount.join("a.ome.tif/image"), "error.txt"))

    @staticmethod
    def planes_now(path):
        try:
            return np.load(path)
        except OSError:
            return MISSING


class ReadAheadTest(S3TestCase):
    """Chunks that are parts of objects are fetched as those of plain Zarr are, many at a time."""
    COUNT = 24  # chunks
    VALUES = np.arange(COUNT * 30_000, dtype="<i4").reshape(COUNT, -1)
    GROUP = {"zarr_format": 2}
    ARRAY = {"zarr_format": 2, "shape": list(VALUES.shape), "chunks": [1, VALUES.shape[1]], "dtype": "<i4", "order": "C",
             "compressor": None, "filters": None, "fill_value": 0}

    def put(self, name, contents):
        contents = contents if isinstance(contents, bytes) else json.dumps(contents).encode()
        harness.write(os.path.join(self.source, name), contents)

    def write_all(self):
        """The same array in stores of all kinds, and how many requests its chunks take besides one each."""
        rows = [row.tobytes() for row in self.VALUES]
        metadata = {".zgroup": self.GROUP, "v/.zarray": self.ARRAY}
        for name, document in metadata.items():
            self.put(f"plain.zarr/{name}", document)
        self.put("plain.zarr/.zmetadata", {"zarr_consolidated_format": 1, "metadata": metadata})
        with zipfile.ZipFile(os.path.join(self.source, "z.zarr.zip"), "w") as archive:
            for name, document in metadata.items():
                archive.writestr(name, json.dumps(document))
            for at, row in enumerate(rows):
                self.put(f"plain.zarr/v/{at}.0", row)
                archive.writestr(f"v/{at}.0", row)
        self.put("data.bin", b"".join(rows))
        size = len(rows[0])
        references = {f"v/{at}.0": ["data.bin", at * size, size] for at in range(self.COUNT)}
        self.put("k.json", {"version": 1, "refs": {**metadata, **references}})
        self.put("p.parq/.zmetadata", {"metadata": metadata, "record_size": 100})
        self.put("p.parq/v/refs.0.parq", parquet.table({
            "path": ("text", [b"s3://bucket/data.bin"] * self.COUNT), "raw": ("text", [None] * self.COUNT),
            "offset": ("i8", [at * size for at in range(self.COUNT)]), "size": ("i8", [size] * self.COUNT)}))
        Repository(os.path.join(self.source, "ice")).commit(self.VALUES, 1)
        table, manifest = 2, 1  # a look and a read
        return {"plain.zarr": 0, "z.zarr.zip": 0, "k.json": 0, "p.parq": table, "ice": manifest}

    def test_as_many_requests_at_once_as_for_plain_zarr(self):
        for name, more in self.write_all().items():
            with self.subTest(name), harness.Mount("s3://bucket", "--revalidate", "3600", "--allow-urls", "s3://bucket/") as mount:
                os.stat(mount.join(name, "v/data.raw"))
                self.assertEqual(harness.read(mount.join(name, ".ndl.yaml")).count(b"shape: [24, 30000]"), 1)
                self.assert_fetched_together(mount.join(name, "v/data.raw"), more)

    def assert_fetched_together(self, path, more):
        """Holds requests back until several are there: they would not come if each waited for the one before."""
        together, change, under_way, most = 4, threading.Condition(), [0], [0]

        def hold(request):
            is_chunk = "range" in request.headers or "/v/" in request.key and not request.key.endswith(".parq")
            if request.method != "GET" or not is_chunk:
                return None
            with change:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
                change.notify_all()
                change.wait_for(lambda: most[0] >= together, 20)
                under_way[0] -= 1
            return None
        self.stub.take_requests()
        self.stub.fault = hold
        contents = harness.read(path)
        self.stub.fault = None
        self.assertEqual(contents, self.VALUES.tobytes())
        self.assertGreaterEqual(most[0], together)
        self.assertLessEqual(len(self.stub.take_requests()), self.COUNT + more)


if __name__ == "__main__":
    harness.main()
