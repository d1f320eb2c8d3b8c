# SPDX-License-Identifier: MIT
"""What zarr-python of this machine writes, as the mount shows it, and zarr2_writer.py, which takes its place."""
import os
import unittest
import warnings

import harness
import numcodecs
import numpy as np
import zarr
import zarr2_writer

IS_3 = not zarr.__version__.startswith("2.")
VALUES = np.arange(60, dtype="<f4").reshape(4, 3, 5)
RECORD = np.dtype([("a", "<i4"), ("b", [("c", "<f8", (2,))])])


def write_with(module, path):
    """The same groups and arrays by zarr-python 2, or what has its interface."""
    group = module.open_group(path, mode="w")
    group.attrs.update({"title": "été", "list": [1.5, None, {"b": True}]})
    add = group.create_dataset
    add("plain", data=VALUES, chunks=(2, 2, 4), compressor=None)
    add("scalar", data=np.array(3.5), compressor=None)
    add("big", data=VALUES.astype(">i2"), chunks=(3, 3, 3), compressor=numcodecs.Zstd(1), order="F")
    add("deep/er/nested", data=VALUES, chunks=(4, 1, 1), compressor=numcodecs.Zlib(1), dimension_separator="/")
    add("filters", data=VALUES.astype("<i4"), chunks=(2, 3, 5), filters=[numcodecs.Delta("<i4")], compressor=numcodecs.BZ2())
    add("filters of F", data=VALUES.astype("<i4"), filters=[numcodecs.Shuffle(4)], compressor=None, order="F")
    add("text", data=np.array(["a", "été", ""], object), chunks=2, object_codec=numcodecs.VLenUTF8(), compressor=None)
    add("json", data=np.array([[1], {"a": None}, "x"], object), chunks=2, object_codec=numcodecs.JSON(), compressor=None)
    add("records", data=np.zeros(5, RECORD), chunks=2, compressor=None)
    add("dates", shape=(3,), dtype="M8[Y]", fill_value="NaT", compressor=None)
    add("fixed", data=np.array([b"a", b"bc"]), compressor=None, fill_value=b"??")
    add("letters", data=np.array(["a", "bé"]), compressor=None)
    for number, fill in enumerate((None, 0, np.nan, -np.inf, 1e5)):
        add(f"fill {number}", shape=(4, 4), chunks=(3, 3), dtype="f8", fill_value=fill, compressor=None)
    add("complex", data=np.array([1 + 2j]), fill_value=complex(0, np.inf), compressor=None)
    add("flags", data=np.array([True, False]), fill_value=True, compressor=None)
    part = add("part", shape=(5, 7), chunks=(2, 3), dtype="<i2", fill_value=-1, compressor=None)
    part[1:4, 2] = [10, 20, 30]
    part[-1] = 5
    part[..., 6:] = part[:, 2:3]
    part.attrs["units"] = "K"
    add("empty chunks", data=np.zeros((4, 4)), chunks=(2, 4), write_empty_chunks=False, fill_value=0, compressor=None)
    grown = add("grown", data=np.arange(10), chunks=3, compressor=None)
    grown.resize(4)
    grown.resize(8)
    grown.append(np.array([8, 9]))
    group["t"] = np.arange(5)
    del group["t"]
    module.consolidate_metadata(path)
    return group


def write_n5_with(module, path):
    group = module.group(module.N5Store(path), overwrite=True)
    group.attrs["a"] = 1
    group.create_dataset("raw", data=VALUES.astype("<i4"), chunks=(2, 3, 4), compressor=None)
    group.create_dataset("xz", data=VALUES, chunks=(4, 2, 5), compressor=numcodecs.LZMA(preset=1))
    group.create_dataset("g/zip", data=VALUES, chunks=(4, 2, 5), compressor=numcodecs.BZ2(1)).attrs["units"] = "m"
    return group


class WriterTest(harness.SourceTestCase):
    """zarr2_writer.py, held against the library."""

    def test_it_reads_what_it_wrote(self):
        group = write_with(zarr2_writer, self.path("own.zarr"))
        for name, values in {"plain": VALUES, "big": VALUES, "deep/er/nested": VALUES, "filters": VALUES, "filters of F": VALUES}.items():
            np.testing.assert_array_equal(group[name][...], values, name)
            np.testing.assert_array_equal(group[name][1:3, 2, :4], values[1:3, 2, :4], name)
        self.assertEqual(group["text"][...].tolist(), ["a", "été", ""])
        self.assertEqual(group["grown"][...].tolist(), [0, 1, 2, 3, 4, 5, 0, 0, 8, 9])
        self.assertEqual(group["part"][:, 2].tolist(), [-1, 10, 20, 30, 5])
        self.assertEqual(zarr2_writer.open_consolidated(self.path("own.zarr"))["part"].attrs["units"], "K")

    @unittest.skipIf(IS_3, "compares with zarr-python 2")
    def test_it_writes_what_zarr_python_2_writes(self):
        for module, folder in ((zarr, "theirs"), (zarr2_writer, "own")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of N5
                write_with(module, self.path(folder, "a.zarr"))
                write_n5_with(module, self.path(folder, "a.n5"))
                module.save_array(self.path(folder, "b.zarr"), VALUES)
        theirs, own = harness.digests(self.path("theirs")), harness.digests(self.path("own"))
        self.assertEqual(sorted(own), sorted(theirs))
        differ = [name for name in own if own[name] != theirs[name] and not name.endswith("attributes.json")]
        self.assertEqual(differ, [])
        theirs, own = zarr.group(zarr.N5Store(self.path("theirs/a.n5"))), zarr.group(zarr.N5Store(self.path("own/a.n5")))
        for name in ("raw", "g/zip"):
            np.testing.assert_array_equal(own[name][...], theirs[name][...])

    @unittest.skipUnless(IS_3, "reads with zarr-python 3")
    def test_zarr_python_3_reads_what_it_writes(self):
        own = write_with(zarr2_writer, self.path("own.zarr"))
        theirs = zarr.open_group(self.path("own.zarr"), mode="r", zarr_format=2, use_consolidated=False)
        self.assertEqual(theirs.attrs.asdict(), own.attrs.asdict())
        for name in ("plain", "scalar", "big", "deep/er/nested", "filters", "fill 1", "fill 2", "fill 4", "flags", "part", "grown",
                     "empty chunks"):
            np.testing.assert_array_equal(theirs[name][...], own[name][...], name)


@unittest.skipUnless(IS_3, "zarr-python 2 is what the other tests write with")
class ZarrPython3Test(harness.SourceTestCase):
    """Stores as zarr-python 3 writes them."""

    def write(self, zarr_format):
        group = zarr.open_group(self.path(f"{zarr_format}.zarr"), mode="w", zarr_format=zarr_format)
        group.attrs["title"] = "été"
        arrays = {"default": VALUES, "whole": np.arange(7), "flags": np.array([True, False, True]),
                  "complex": np.array([1 + 2j, 3 - 4j], "c16"), "scalar": np.array(3.5)}
        for name, values in arrays.items():
            group.create_array(name, shape=values.shape, dtype=values.dtype,
                               **({"chunks": (2, 3, 4)} if name == "default" else {}))[...] = values
        inner = group.create_group("deep").create_array("er", shape=(40, 50), chunks=(10, 20), dtype="i2", fill_value=-7)
        inner[5:15, 30:] = 3
        inner.attrs["units"] = "K"
        arrays["deep/er"] = inner[...]
        return group, arrays

    def compare(self, store, arrays):
        mounted = self.mount(self.source)
        for name, values in arrays.items():
            shown = np.load(mounted.join(store, name, "data.npy"))
            self.assertEqual(shown.dtype, values.dtype, name)
            np.testing.assert_array_equal(shown, values, name)
        self.assertEqual(os.getxattr(mounted.join(store), "user.attr.title").decode(), "été")
        return mounted

    def test_zarr_v2(self):
        self.compare("2.zarr", self.write(2)[1])

    def test_zarr_v3_with_shards_and_text(self):
        group, arrays = self.write(3)
        shards = group.create_array("shards", shape=(40, 50), chunks=(5, 5), shards=(20, 25), dtype="<i4", fill_value=1)
        shards[3:30, 20:] = np.arange(27 * 30).reshape(27, 30)
        arrays["shards"] = shards[...]
        words = ["a", "été", "", "€uro"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # text is not in the specification yet
            group.create_array("words", shape=(4,), chunks=(3,), dtype=str)[...] = np.array(words, object)
            zarr.consolidate_metadata(group.store)
        mounted = self.compare("3.zarr", arrays)
        lines = harness.read(mounted.join("3.zarr/words/data.jsonl")).decode().splitlines()
        self.assertEqual(lines, [f'"{word}"' for word in words])


if __name__ == "__main__":
    harness.main()
