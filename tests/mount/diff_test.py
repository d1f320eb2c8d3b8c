# SPDX-License-Identifier: MIT
"""`ndlfs diff`: what it compares, says and returns. Random pairs of arrays are compared with NumPy; NDLFS_PAIRS says
how many there are."""
import os
import re
import signal
import subprocess

import h5py
import harness
import numcodecs
import numpy as np
import zarr2 as zarr

import icechunk_writer

PAIRS = int(os.environ.get("NDLFS_PAIRS", "160"))


def diff(*arguments, **more):
    return harness.run(harness.BINARY, "diff", *arguments, **more)


class DiffTestCase(harness.SourceTestCase):
    def diff(self, *arguments, status=1, stderr=""):
        result = diff(*arguments)
        self.assertEqual((result.returncode, result.stderr), (status, stderr), result.stdout)
        return result.stdout.splitlines()


class DiffTest(DiffTestCase):
    def setUp(self):
        super().setUp()
        self.values = np.arange(30, dtype="<f4").reshape(2, 3, 5) + 250
        self.a = self.path("a.zarr")
        group = zarr.open_group(self.a, mode="w")
        self.add(group, "t", self.values, chunks=(1, 3, 5))
        self.add(group, "sub/q", np.arange(4.0))
        group["t"].attrs.update(units="K", valid=[1, 2], _ARRAY_DIMENSIONS=["z", "y", "x"])
        group.attrs["title"] = "x"
        self.b = self.path("b.h5")
        self.write_b()

    @staticmethod
    def add(group, name, array, **more):
        group.create_dataset(name, shape=array.shape, dtype=array.dtype, compressor=numcodecs.Zstd(1), **more)[...] = array

    def write_b(self, values=None, change=None):
        with h5py.File(self.b, "w") as file:
            data = file.create_dataset("t", data=self.values if values is None else values, chunks=(2, 2, 2))
            data.attrs["units"] = "K"
            data.attrs["valid"] = np.array([1, 2], "i2")
            file["sub/q"] = np.arange(4.0)
            file.attrs["title"] = np.array(["x"], dtype=h5py.string_dtype())
            if change:
                change(file)

    def test_equal_stores_of_two_formats(self):
        self.assertEqual(self.diff(self.a, self.b, status=0), [])
        self.assertEqual(self.diff(self.a, self.b, "sub/q", status=0), [])
        self.assertEqual(self.diff(self.a, self.a, "--brief", status=0), [])

    def test_says_what_differs(self):
        def change(file):
            file["t"].attrs["units"] = "degC"
            file["new"] = np.arange(3)
            del file["sub/q"]
            file["sub/q"] = np.arange(5, dtype="f4")
        changed = self.values.copy()
        changed[1, 2, 3] += 0.25
        changed[0, 0, 1] = np.nan
        self.write_b(changed, change)
        self.assertEqual(self.diff(self.a, self.b), [
            f"{self.a} | {self.b}",
            "/new: only in the second",
            "/sub/q",
            "  type        float64 | float32",
            "  shape       [4] | [5]",
            "/t",
            "  attribute   units: K | degC",
            "  values      2 of 30 differ, first at [0, 0, 1]: 251.0 | .nan",
            "              largest difference 0.25 at [1, 2, 3], relative 0.000898473 at [1, 2, 3]",
            "              1 are NaN on one side only",
            "3 of 5 objects differ"])
        self.assertEqual(self.diff(self.a, self.b, "--brief"), [f"{self.a} and {self.b} differ"])
        self.assertEqual(self.diff(self.b, self.a)[1], "/new: only in the first")
        self.assertNotIn("units", "".join(self.diff(self.a, self.b, "--no-attributes")))
        self.assertEqual(self.diff(self.a, self.b, "/t", "--no-attributes", "--atol", "0.3")[2],
                         "  values      1 of 30 differ, first at [0, 0, 1]: 251.0 | .nan")

    def test_zeros_nans_and_bits(self):
        a = np.array([0.0, np.nan, 1.0])
        b = np.array([-0.0, -np.nan, 1.0])
        np.save(self.path("a.npy"), a)
        np.save(self.path("b.npy"), b)
        both = (self.path("a.npy"), self.path("b.npy"))
        self.assertEqual(self.diff(*both, status=0), [])
        self.assertIn("1 of 3 differ, first at [1]", self.diff(*both, "--nan-differs")[2])
        self.assertIn("1 of 3 differ, first at [1]", self.diff(both[0], both[0], "--nan-differs")[2])
        self.assertIn("2 of 3 differ, first at [0]: 0.0 | -0.0", self.diff(*both, "--bits")[2])

    def test_other_elements(self):
        struct = np.array([(1, b"ab"), (2, b"c")], [("k", "i2"), ("t", "S2")])
        large = np.array([2**63, 2**53 + 1], "u8")
        np.savez(self.path("a.npz"), s=struct, t=np.array(["x", "yy"]), i=large, m=np.array(["2020-01-01"], "M8[D]"))
        with h5py.File(self.path("c.h5"), "w") as file:
            struct["t"][1] = b"d"
            file["s"] = struct
            file.create_dataset("t", data=["x", "yz"], dtype=h5py.string_dtype())
            file["i"] = large.astype("f8")
            file["m"] = np.array([18262])
        lines = self.diff(self.path("a.npz"), self.path("c.h5"))
        self.assertEqual([line for line in lines if "values" in line], [
            "  values      1 of 2 differ, first at [1]: 9007199254740993 | 9007199254740992.0",
            "  values      1 of 2 differ, first at [1]: {k: 2, t: c} | {k: 2, t: d}",
            "  values      1 of 2 differ, first at [1]: yy | yz"])
        self.assertEqual(lines[lines.index("/m") + 1], '  type        "datetime64[D]" | "int64"')

    def test_a_store_that_is_an_array_is_compared_with_the_only_array(self):
        np.save(self.path("t.npy"), self.values)
        only = self.path("only.zarr")
        self.add(zarr.open_group(only, mode="w"), "x", self.values)
        self.assertEqual(self.diff(self.path("t.npy"), only, status=0), [])
        self.assertEqual(self.diff(self.path("t.npy"), self.a, "t", "--no-attributes", status=0), [])
        result = diff(self.path("t.npy"), self.a)
        self.assertEqual(result.returncode, 2)
        self.assertIn("PATH may name one: /t, /sub/q", result.stderr)

    def test_directories_of_stores(self):
        for name in ("1", "2"):
            os.mkdir(self.path(name))
            np.save(self.path(name, "same.npy"), self.values)
        np.save(self.path("1", "a.npy"), self.values)
        self.add(zarr.open_group(self.path("2", "a.zarr"), mode="w"), "a", self.values)
        np.save(self.path("1", "x.npy"), self.values)
        np.save(self.path("2", "y.npy"), self.values)
        lines = self.diff(self.path("1"), self.path("2"))
        self.assertIn(f"{self.path('1/x.npy')}: only in the first", lines)
        self.assertIn(f"{self.path('2/y.npy')}: only in the second", lines)
        os.remove(self.path("1", "x.npy"))
        os.remove(self.path("2", "y.npy"))
        os.remove(self.path("1", "a.npy"))
        self.add(zarr.open_group(self.path("1", "a.n5.zarr"), mode="w"), "a", self.values)
        os.rename(self.path("1", "a.n5.zarr"), self.path("1", "a.z"))
        self.assertEqual(self.diff(self.path("1"), self.path("2"), status=0), [])

    def test_damage_is_trouble_and_the_rest_is_compared(self):
        harness.write(os.path.join(self.a, "t/1.0.0"), b"no zstd")
        with h5py.File(self.b, "a") as file:
            file["sub/q"][2] = 7
        result = diff(self.a, self.b)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^ndlfs: \S*a\.zarr \| \S*b\.h5: /t: first: chunk 1\.0\.0: .*\n$")
        self.assertIn("  values      1 of 4 differ, first at [2]: 2.0 | 7.0", result.stdout)
        result = diff(self.b, self.a, "t")
        self.assertIn("/t: second: chunk 1.0.0: ", result.stderr)
        harness.write(os.path.join(self.a, "t/.zarray"), b"{")
        self.assertEqual(diff(self.a, self.b).returncode, 2)

    def test_wrong_command_lines(self):
        for arguments in ([self.a], [], [self.a, self.path("none")], [self.a, self.b, "none"], [self.a, self.b, "--rtol", "x"],
                          [self.a, self.b, "--atol", "-1"], [self.a, self.b, "--rtol", "nan"], [self.a, self.source],
                          [self.a, self.b, "--bits", "--atol", "1"], [self.a, self.b, "--ref-b", "tag=v1"]):
            result = diff(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), f"{arguments} {result.stderr}")
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_a_closed_pipe_and_an_interrupt(self):
        for name, value in (("c", 0), ("d", 1)):
            group = zarr.open_group(self.path(name + ".zarr"), mode="w")
            for i in range(300):
                group.create_dataset(f"v{i:03}", shape=(1,), dtype="i1", fill_value=value)
        process = subprocess.Popen([harness.BINARY, "diff", self.path("c.zarr"), self.path("d.zarr")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertNotEqual(process.wait(harness.ENDING), 0)
        for name in ("e", "f"):  # 2^50 elements
            zarr.open_group(self.path(name + ".zarr"), mode="w").create_dataset("v", shape=(2**50,), chunks=(2**24,), dtype="i1")
        process = subprocess.Popen([harness.BINARY, "diff", self.path("e.zarr"), self.path("f.zarr")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        harness.wait_until(lambda: self.catches_interrupts(process), "the command reads")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=harness.ENDING), (b"", b""))
        self.assertEqual(process.returncode, 130)

    @staticmethod
    def catches_interrupts(process):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            caught = next(line for line in file if line.startswith("SigCgt"))
        return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1

    def test_versions_of_a_repository(self):
        repository = icechunk_writer.Repository(self.path("r"))
        first = np.arange(40, dtype="<i4").reshape(10, 4)
        repository.tags["v1"] = repository.commit(first, 3)
        repository.commit(first * 2, 3)
        expected = "  values      39 of 40 differ, first at [0, 1]: 1 | 2"
        store = self.path("r")
        self.assertIn(expected, self.diff(store, store, "--ref", "tag=v1", "--ref-b", "branch=main"))
        self.assertEqual(self.diff(store, store, "--ref", "tag=v1", status=0), [])
        mount = self.mount(self.source)
        self.assertIn(expected, self.diff(mount.join("r/.versions/tags/v1"), mount.join("r")))

    def test_folders_of_a_mount(self):
        mount = self.mount(self.source)
        self.assertEqual(self.diff(mount.join("a.zarr", "t"), mount.join("b.h5", "t"), status=0), [])
        self.assertEqual(self.diff(mount.join("a.zarr"), self.b, status=0), [])


class RandomPairsTest(DiffTestCase):
    """Pairs of arrays of random types and shapes with random differences; the first is in an NPZ file, the second one
    in HDF5 with random chunks and byte orders."""
    TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "?"]

    def make_pair(self, random):
        shape = tuple(random.integers(1, 12, size=random.integers(1, 4)))
        first = np.dtype(random.choice(self.TYPES))
        a = self.make_array(random, shape, first)
        second = first
        if first.kind in "iuf" and random.random() < 0.4:
            second = np.dtype(random.choice([kind for kind in self.TYPES if np.dtype(kind).kind in "iuf"]))
        with np.errstate(all="ignore"):
            b = a.astype(second)
        for _ in range(random.choice([0, 0, 1, 3, 40])):
            place = tuple(random.integers(size) for size in shape)
            with np.errstate(all="ignore"):
                b[place] = self.make_array(random, (1,), second)[0] if random.random() < 0.5 or second.kind == "b" else \
                    np.asarray(b[place] * 1.001).astype(second)
        return a, b

    @staticmethod
    def make_array(random, shape, dtype):
        if dtype.kind == "b":
            return random.integers(0, 2, shape).astype("?")
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True) if random.random() < 0.5 else \
                random.integers(0, 100, shape).astype(dtype)
        values = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 2.5, 1e4, -3.25], shape)
        with np.errstate(all="ignore"):
            values = np.where(random.random(shape) < 0.7, random.normal(size=shape), values)
            return (values + 1j * random.normal(size=shape) if dtype.kind == "c" else values).astype(dtype)

    @staticmethod
    def exact(array):
        """Numbers that hold the values of any of the types exactly: Python's integers, or long doubles."""
        return array.astype("c16") if array.dtype.kind == "c" else array.astype("g") if array.dtype.kind == "f" else \
            array.astype(object) + 0 if array.dtype.kind != "b" else array.astype("g")

    def expected(self, a, b, rtol, atol):
        """The number of elements that differ, the first one, and the largest difference; the latter None if there is none."""
        if {a.dtype.kind, b.dtype.kind} <= set("iu"):
            a, b = self.exact(a), self.exact(b)
            sizes = np.array([abs(x - y) for x, y in zip(a.flat, b.flat)], dtype=object)
            limits = np.array([atol + rtol * float(abs(y)) for y in b.flat])
            differ = np.array([float(size) > limit if limit else size != 0 for size, limit in zip(sizes, limits)])
            sizes = sizes.astype("f8")
        else:
            kind = "c16" if a.dtype.kind == "c" else "g"
            a, b = a.astype(kind).reshape(-1), b.astype(kind).reshape(-1)
            with np.errstate(all="ignore"):
                sizes = np.abs(a - b).astype("f8")
                differ = ~((a == b) | (np.isnan(a) & np.isnan(b)))
                finite = np.isfinite(a) & np.isfinite(b)  # isclose() makes NaN of a complex infinity
                if rtol or atol:
                    differ[finite] = ~np.isclose(a[finite], b[finite], rtol=rtol, atol=atol)
            sizes[~(np.isfinite(a) & np.isfinite(b))] = -1
        found = np.flatnonzero(differ)
        largest = sizes[found].max() if found.size else -1
        return found.size, found[0] if found.size else None, largest if largest >= 0 else None

    def test_pairs_against_numpy(self):
        random = np.random.default_rng(20)
        for rtol, atol in ((0, 0), (0, 0.5), (1e-2, 0), (1e-3, 1e-3)):
            pairs = {f"p{i:04}": self.make_pair(random) for i in range(PAIRS // 4)}
            np.savez(self.path("a.npz"), **{name: a for name, (a, _) in pairs.items()})
            with h5py.File(self.path("b.h5"), "w") as file:
                for name, (_, b) in pairs.items():
                    chunks = tuple(int(random.integers(1, size + 1)) for size in b.shape)
                    file.create_dataset(name, data=b.astype(b.dtype.newbyteorder(">")) if random.random() < 0.5 else b,
                                        chunks=chunks)
            result = diff(self.path("a.npz"), self.path("b.h5"), "--rtol", str(rtol), "--atol", str(atol))
            self.assertEqual(result.stderr, "")
            found = {}
            for block in re.split(r"^/", result.stdout, flags=re.M)[1:]:
                found[block.split("\n")[0]] = block
            differing = 0
            for name, (a, b) in pairs.items():
                count, first, largest = self.expected(a, b, rtol, atol)
                block = found.get(name, "")
                differing += bool(count)
                self.assertEqual("  type " in block, a.dtype != b.dtype, block)
                match = re.search(r"values +(\d+) of (\d+) differ, first at \[(.*?)\]", block)
                with self.subTest(name=name, types=(a.dtype, b.dtype), tolerance=(rtol, atol), block=block):
                    self.assertEqual(int(match[1]) if match else 0, count)
                    if not count:
                        continue
                    self.assertEqual(int(match[2]), a.size)
                    self.assertEqual([int(index) for index in match[3].split(",")], list(np.unravel_index(first, a.shape)))
                    size = re.search(r"largest difference (\S+) at", block)
                    self.assertEqual(size is None, largest is None)
                    if size:
                        np.testing.assert_allclose(float(size[1]), largest, rtol=1e-5)
            self.assertGreater(differing, PAIRS // 16)
            self.assertLess(differing, PAIRS // 4)


if __name__ == "__main__":
    harness.main()
