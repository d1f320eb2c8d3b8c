# SPDX-License-Identifier: MIT
"""--zarr-chunks stored: chunks of data.zarr are the stored bytes, and the documents name their codecs."""
import json
import os
import struct
import zlib

import h5py
import numpy as np
import zarr2 as zarr

import harness

try:
    import numcodecs
except ImportError:
    numcodecs = None

SHAPE = (7, 5, 9)
CHUNKS = (3, 2, 4)


def codec_of(word):
    """The codec of numcodecs for one of Zarr v3."""
    configuration = dict(word.get("configuration", {}))
    name = word["name"].removeprefix("numcodecs.")
    if name == "blosc":
        configuration["shuffle"] = ["noshuffle", "shuffle", "bitshuffle"].index(configuration["shuffle"])
        del configuration["typesize"]
    configuration.pop("checksum", None)
    return numcodecs.get_codec({"id": name, **configuration})


def read_zarr3(folder):
    """The array in `folder`, read as the specification says, with NumPy and numcodecs."""
    document = json.loads(harness.read(folder, "zarr.json"))
    words = document["codecs"]
    transposes = [word for word in words if word["name"] == "transpose"]
    rest = words[len(transposes):]
    assert rest[0]["name"] == "bytes", rest
    order = "<" if rest[0].get("configuration", {}).get("endian", "little") == "little" else ">"
    dtype = np.dtype(document["data_type"])
    shape, chunk = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
    array = np.full(shape, document["fill_value"], dtype)
    for index in np.ndindex(*[-(-extent // size) for extent, size in zip(shape, chunk)]):
        path = os.path.join(folder, "c", *map(str, index))
        if not os.path.exists(path):
            continue
        data = harness.read(path)
        assert len(data) == os.stat(path).st_size
        for word in reversed(rest[1:]):
            data = codec_of(word).decode(data)
        values = np.frombuffer(data, dtype.newbyteorder(order))
        if transposes:
            permutation = transposes[0]["configuration"]["order"]
            values = values.reshape([chunk[d] for d in permutation]).transpose(np.argsort(permutation))
        place = tuple(slice(i * size, min((i + 1) * size, extent)) for i, size, extent in zip(index, chunk, shape))
        array[place] = values.reshape(chunk)[tuple(slice(0, part.stop - part.start) for part in place)]
    return array


class ZarrStoredTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        if numcodecs is None or not zarr.IS_ZARR_PYTHON:
            self.skipTest("needs numcodecs and zarr-python 2")
        self.values = np.random.default_rng(8).integers(-300, 300, SHAPE).astype("i4")

    def mount_stored(self, *options):
        return self.mount(self.source, "--zarr-chunks", "stored", *options)

    def check(self, mounted, path, names=None):
        """Both versions hold what data.npy has. `names`: of the codecs of v3."""
        want = np.load(mounted.join(path, "data.npy"))
        found = zarr.open(mounted.join(path, "data.zarr2"), mode="r")
        np.testing.assert_array_equal(found[...], want, path)
        np.testing.assert_array_equal(read_zarr3(mounted.join(path, "data.zarr")), want, path)
        document = json.loads(harness.read(mounted.join(path, "data.zarr/zarr.json")))
        if names is not None:
            self.assertEqual([word["name"] for word in document["codecs"]], names, path)

    def test_chunks_of_zarr_are_passed(self):
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        cases = {"zlib": (numcodecs.Zlib(1), ["bytes", "numcodecs.zlib"]), "gzip": (numcodecs.GZip(1), ["bytes", "gzip"]),
                 "zstd": (numcodecs.Zstd(1), ["bytes", "zstd"]), "blosc": (numcodecs.Blosc("lz4", 5, -1), ["bytes", "blosc"]),
                 "lz4": (numcodecs.LZ4(), ["bytes", "numcodecs.lz4"]), "bz2": (numcodecs.BZ2(1), ["bytes", "numcodecs.bz2"]),
                 "lzma": (numcodecs.LZMA(), ["bytes", "numcodecs.lzma"]), "raw": (None, ["bytes"])}
        for name, (codec, _) in cases.items():
            for order in "CF":
                for kind in ("<i4", ">i4"):
                    array = group.create_dataset(name + order + kind[0], shape=SHAPE, chunks=CHUNKS, dtype=kind, order=order,
                                                 compressor=codec, fill_value=-1)
                    array[:5] = self.values[:5]
        shuffled = group.create_dataset("shuffled", data=self.values, chunks=CHUNKS, compressor=numcodecs.Zlib(1),
                                        filters=[numcodecs.Shuffle(4)])
        self.assertIsNotNone(shuffled)
        group.create_dataset("delta", data=self.values, chunks=CHUNKS, filters=[numcodecs.Delta("i4")])
        mounted = self.mount_stored()
        for name, (codec, words) in cases.items():
            for order in "CF":
                for kind in "<>":
                    array = name + order + kind
                    names = ["transpose"] + words if order == "F" and codec else words
                    self.check(mounted, "a.zarr/" + array, names)
                    if codec is None:
                        continue
                    self.assertEqual(harness.read(mounted.join("a.zarr", array, "data.zarr2/1.0.2")),
                                     harness.read(self.path("a.zarr", array, "1.0.2")))
                    self.assertFalse(os.path.exists(mounted.join("a.zarr", array, "data.zarr2/2.0.0")))
        self.check(mounted, "a.zarr/shuffled", ["bytes", "numcodecs.shuffle", "numcodecs.zlib"])
        # A filter that is more than a codec of bytes is said in v2 alone.
        self.check(mounted, "a.zarr/delta", ["bytes"])
        document = json.loads(harness.read(mounted.join("a.zarr/delta/data.zarr2/.zarray")))
        self.assertEqual(document["filters"][0]["id"], "delta")
        tree = zarr.open_consolidated(mounted.join("a.zarr/data.zarr2"), mode="r")
        np.testing.assert_array_equal(tree["lzmaF>"][:5], self.values[:5])
        # By default all is raw.
        raw = self.mount(self.source)
        self.assertEqual(json.loads(harness.read(raw.join("a.zarr/zlibC</data.zarr2/.zarray")))["compressor"], None)

    def test_fill_value_that_the_document_has_not(self):
        group = zarr.open_group(self.path("n.zarr"), mode="w")
        for name, codec in (("zlib", numcodecs.Zlib(1)), ("blosc", numcodecs.Blosc()), ("zstd", numcodecs.Zstd()),
                            ("gzip", numcodecs.GZip()), ("lz4", numcodecs.LZ4())):
            array = group.create_dataset(name, shape=SHAPE, chunks=CHUNKS, dtype="i4", compressor=codec, fill_value=None,
                                         filters=[numcodecs.Shuffle(4)])
            array[:3] = self.values[:3]
            array.attrs["_ARRAY_DIMENSIONS"] = list("tyx")
        turned = group.create_dataset("turned", shape=SHAPE, chunks=CHUNKS, dtype="i4", compressor=numcodecs.Zlib(1), order="F",
                                      fill_value=None)
        turned[:3] = self.values[:3]
        mounted = self.mount_stored()
        for name in ("zlib", "blosc", "zstd", "gzip", "lz4", "turned"):
            self.check(mounted, "n.zarr/" + name)

    def test_texts_are_passed(self):
        group = zarr.open_group(self.path("t.zarr"), mode="w")
        words = np.array(["\u00e9t\u00e9", "", "x", "yz"], object)
        group.create_dataset("words", data=words, chunks=2, dtype=str, compressor=numcodecs.Zlib(1))
        mounted = self.mount_stored()
        tree = mounted.join("t.zarr/words/data.zarr2")
        self.assertEqual(list(zarr.open(tree, mode="r")[...]), list(words))
        self.assertEqual(harness.read(tree, "1"), harness.read(self.path("t.zarr/words/1")))
        names = [word["name"] for word in json.loads(harness.read(mounted.join("t.zarr/words/data.zarr/zarr.json")))["codecs"]]
        self.assertEqual(names, ["vlen-utf8", "numcodecs.zlib"])

    def test_filters_of_hdf5(self):
        with h5py.File(self.path("h.h5"), "w") as file:
            file.create_dataset("gzip", data=self.values, chunks=CHUNKS, compression="gzip")
            file.create_dataset("shuffled", data=self.values.astype(">i4"), chunks=CHUNKS, compression=4, shuffle=True)
            file.create_dataset("summed", data=self.values, chunks=CHUNKS, compression=4, shuffle=True, fletcher32=True)
            file.create_dataset("only_summed", data=self.values, chunks=CHUNKS, fletcher32=True)
            file.create_dataset("lzf", data=self.values, chunks=CHUNKS, compression="lzf")
            file.create_dataset("whole", data=self.values[:6, :4, :8], chunks=CHUNKS, compression=4)
            hole = file.create_dataset("hole", shape=SHAPE, chunks=CHUNKS, dtype="i4", compression=4, fillvalue=-7)
            hole[0, 0, 0] = 1
        mounted = self.mount_stored()
        words = {"gzip": ["bytes", "numcodecs.zlib"], "shuffled": ["bytes", "numcodecs.shuffle", "numcodecs.zlib"],
                 "summed": ["bytes", "numcodecs.shuffle", "numcodecs.zlib"], "only_summed": ["bytes"], "lzf": ["bytes"],
                 "whole": ["bytes", "numcodecs.zlib"], "hole": ["bytes", "numcodecs.zlib"]}
        for name, names in words.items():
            self.check(mounted, "h.h5/" + name, names)
        self.assertEqual(os.listdir(mounted.join("h.h5/hole/data.zarr/c/0/0")), ["0"])
        with h5py.File(self.path("h.h5")) as file:
            for name, tail in (("whole", 0), ("summed", 4)):
                mask, stored = file[name].id.read_direct_chunk((3, 2, 4))
                self.assertEqual(mask, 0)
                self.assertEqual(harness.read(mounted.join("h.h5", name, "data.zarr/c/1/1/1")), stored[:len(stored) - tail])

    def test_chunks_without_some_filters(self):
        plain = self.values[:6, :4, :8]
        with h5py.File(self.path("m.h5"), "w") as file:
            for name, kind in (("little", "<i4"), ("big", ">i4")):
                data = file.create_dataset(name, shape=plain.shape, chunks=CHUNKS, dtype=kind, compression=4, shuffle=True)
                data[...] = plain
                chunk = plain[:3, :2, :4].astype(kind)
                data.id.write_direct_chunk((0, 0, 0), chunk.tobytes(), 3)
                shuffled = np.frombuffer(chunk.tobytes(), "u1").reshape(-1, 4).T.tobytes()
                data.id.write_direct_chunk((3, 0, 0), shuffled, 2)
                data.id.write_direct_chunk((0, 2, 0), zlib.compress(chunk.tobytes()), 1)
        mounted = self.mount_stored()
        for name in ("little", "big"):
            self.check(mounted, "m.h5/" + name, ["bytes", "numcodecs.shuffle", "numcodecs.zlib"])

    def test_damage_is_passed(self):
        array = zarr.open_array(self.path("d.zarr"), mode="w", shape=6, chunks=2, dtype="i4", compressor=numcodecs.Zlib(1))
        array[:] = 7
        harness.write(self.path("d.zarr/1"), b"no chunk")
        harness.write(self.path("d.zarr/2"), b"x" * 1000000)
        # Sizes in an index: larger than a chunk can be, and smaller than the chunk is.
        with h5py.File(self.path("i.h5"), "w") as file:
            file.create_dataset("x", data=np.arange(64, dtype="i4"), chunks=(32,), compression=4)
            file.create_dataset("y", data=np.zeros(100000))
            places = [file["x"].id.get_chunk_info(i) for i in range(2)]
        with open(self.path("i.h5"), "r+b") as file:
            content = file.read()
            for place, size in zip(places, (500000, 30)):
                file.seek(content.index(struct.pack("<II", place.size, 0)))
                file.write(struct.pack("<I", size))
        mounted = self.mount_stored()
        self.assertEqual(harness.read(mounted.join("d.zarr/data.zarr/c/1")), b"no chunk")
        with self.assertRaises(OSError):  # more than any chunk can have
            harness.read(mounted.join("d.zarr/data.zarr/c/2"))
        with self.assertRaises(OSError):
            harness.read(mounted.join("i.h5/x/data.zarr/c/0"))
        self.assertIn("chunk 0", harness.read(mounted.join("i.h5/x/error.txt")).decode())
        self.assertLess(os.stat(mounted.join("i.h5/x/data.zarr/c/0")).st_size, 1000)
        self.assertEqual(len(harness.read(mounted.join("i.h5/x/data.zarr/c/1"))), 30)

    def test_chunk_that_nobody_can_find_is_not_absent(self):
        with h5py.File(self.path("i.h5"), "w") as file:
            file.create_dataset("x", data=np.arange(64, dtype="i4"), chunks=(32,), compression=4)
            size = file["x"].id.get_chunk_info(1).size
        with open(self.path("i.h5"), "r+b") as file:  # beyond the end of the file
            file.seek(file.read().index(struct.pack("<II", size, 0)))
            file.write(struct.pack("<I", 1 << 30))
        for how in ("raw", "stored"):
            mounted = self.mount(self.source, "--zarr-chunks", how)
            for view in ("data.zarr/c/1", "data.zarr2/1"):
                self.assertTrue(os.path.isfile(mounted.join("i.h5/x", view)), view)
                with self.assertRaises(OSError):
                    harness.read(mounted.join("i.h5/x", view))
            with self.assertRaises(OSError):
                zarr.open(mounted.join("i.h5/x/data.zarr2"), mode="r")[...]

    def test_changed_chunk_is_seen(self):
        array = zarr.open_array(self.path("c.zarr"), mode="w", shape=4, chunks=2, dtype="i4", compressor=numcodecs.Zlib(1))
        array[:] = 7
        mounted = self.mount_stored("--revalidate", "0")
        tree = mounted.join("c.zarr/data.zarr2")
        self.assertEqual(list(zarr.open(tree, mode="r")[...]), [7] * 4)
        array[2:] = [123456, -99999]
        self.assertEqual(list(zarr.open(tree, mode="r")[...]), [7, 7, 123456, -99999])
        self.assertEqual(harness.read(tree, "1"), harness.read(self.path("c.zarr/1")))
        os.remove(self.path("c.zarr/0"))
        self.assertFalse(os.path.exists(os.path.join(tree, "0")))

    def test_blocks_of_n5(self):
        group = zarr.open_group(zarr.N5Store(self.path("b.n5")), mode="w")
        for name, codec in (("gzip", numcodecs.GZip(1)), ("zstd", numcodecs.Zstd(1)), ("blosc", numcodecs.Blosc())):
            group.create_dataset(name, data=self.values, chunks=CHUNKS, compressor=codec, fill_value=0)
        mounted = self.mount_stored()
        for name in ("gzip", "zstd", "blosc"):
            self.check(mounted, "b.n5/" + name, ["bytes", name])
        # Without the header.
        stored = harness.read(self.path("b.n5/gzip/0/0/0"))
        self.assertEqual(harness.read(mounted.join("b.n5/gzip/data.zarr/c/0/0/0")), stored[16:])

    def test_wrong_word_is_told(self):
        result = harness.run(harness.BINARY, "mount", self.source, self.source, "--zarr-chunks", "storde")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean stored", result.stderr if isinstance(result.stderr, str) else result.stderr.decode())


if __name__ == "__main__":
    harness.main()
