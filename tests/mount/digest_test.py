# SPDX-License-Identifier: MIT
"""`ndlfs digest`, `user.ndl.digest` and `SHA256SUMS`: the digests of ndlfs-digest(5), which digest_reference.py
computes, in every format that a test can write."""
import os
import shutil
import signal
import subprocess

import h5py
import harness
import netCDF4
import numcodecs
import numpy as np
import zarr2 as zarr

import digest_reference as reference


def digest(*arguments, **more):
    return harness.run(harness.BINARY, "digest", *arguments, **more)


def put_variable(group, array, dimensions, **attributes):
    for name, size in zip(dimensions, array.shape):
        group.createDimension(name, size)
    harness.put_variable(group, "v", array, dimensions, **attributes)


class DigestTestCase(harness.SourceTestCase):
    def digests(self, *arguments):
        result = digest(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {line[66:]: line[:64] for line in result.stdout.splitlines()}

    def write_zarr(self, name, array, chunks, compressor=numcodecs.Zstd(1), **more):
        group = zarr.open_group(self.path(name), mode="w")
        group.create_dataset("v", shape=array.shape, chunks=chunks, dtype=array.dtype, compressor=compressor,
                             **more)[...] = array
        return group


class FormatsTest(DigestTestCase):
    """One array in many formats, chunkings and byte orders: one digest."""

    def setUp(self):
        super().setUp()
        values = np.random.default_rng(5).normal(size=(9, 210, 160)).astype("<f4")  # more than a block of the digest
        values.reshape(-1)[:4] = [-0.0, 0.0, np.nan, np.inf]
        self.values = values
        self.expected = reference.array_digest(values)

    def test_formats_and_chunkings_have_one_digest(self):
        values = self.values
        np.save(self.path("c.npy"), values)
        np.save(self.path("fortran.npy"), np.asfortranarray(values))
        np.save(self.path("big.npy"), values.astype(">f4"))
        np.savez_compressed(self.path("z.npz"), v=values)
        self.write_zarr("planes.zarr", values, (1, 210, 160))
        self.write_zarr("columns.zarr", values, (9, 7, 160), numcodecs.Blosc("lz4"))
        self.write_zarr("cubes.zarr", values.astype(">f4"), (4, 50, 33), None)
        self.write_zarr("order.zarr", values, (2, 100, 100), numcodecs.GZip(1), order="F")
        n5 = zarr.group(zarr.N5Store(self.path("x.n5")))
        n5.create_dataset("v", shape=values.shape, chunks=(3, 70, 70), dtype="<f4", compressor=numcodecs.GZip(1))[:] = values
        with h5py.File(self.path("x.h5"), "w") as file:
            file.create_dataset("v", data=values, chunks=(2, 64, 64), compression="gzip", shuffle=True)
            file.create_dataset("w", data=values.astype(">f4"))
        for name, form in (("3.nc", "NETCDF3_CLASSIC"), ("5.nc", "NETCDF3_64BIT_DATA"), ("4.nc", "NETCDF4")):
            with netCDF4.Dataset(self.path(name), "w", format=form) as file:
                put_variable(file, values, ("t", "y", "x"))
        values.tofile(self.path("flat.bin"))
        harness.write(self.path("flat.ndl.yaml"), "/:\n  ndarrays:\n    v: {shape: [9, 210, 160], type: float32, "
                                                  "x-source: {file: flat.bin}}\n")
        harness.write(self.path("join.ndl.yaml"), "/:\n  ndarrays:\n    v: {shape: [9, 210, 160], type: float32, x-source: "
                                                  "{join: [planes.zarr], path: /v, along: 0}}\n")
        for view in ("fits", "nii", "h5", "nc", "npy"):  # and as ndlfs itself converts it
            with open(self.path("view." + view), "wb") as file:
                subprocess.run([harness.BINARY, "cat", self.path("c.npy"), "--view", view], stdout=file, check=True)
        self.assertGreater(len(os.listdir(self.source)), 20)
        for name in sorted(os.listdir(self.source)):
            if name == "flat.bin":
                continue
            found = self.digests(self.path(name))
            arrays = [found[path] for path in found if path.rsplit("/", 1)[-1] in ("v", "w", "c", "")
                      and "//" not in path and (path != "/" or len(found) == 2)]
            if name == "view.nii":  # the first axis of NIfTI is the last one here, and a fits has a name of its own
                arrays = [text for path, text in found.items() if text == self.expected]
            elif name == "view.fits":
                arrays = [text for path, text in found.items() if text == self.expected]
            self.assertTrue(arrays and set(arrays) == {self.expected}, f"{name}: {found}")

    def test_one_bit_makes_another_digest(self):
        for at, flipped in ((0, 0x80000000), (2, 1), (self.values.size - 1, 1)):  # a sign of zero, a NaN, the last bit
            changed = self.values.copy()
            changed.reshape(-1).view("u4")[at] ^= flipped
            np.save(self.path("changed.npy"), changed)
            found = self.digests(self.path("changed.npy"))["/"]
            self.assertNotEqual(found, self.expected)
            self.assertEqual(found, reference.array_digest(changed))

    def test_shape_and_type_count(self):
        for array in (self.values.reshape(9, 160, 210), self.values.view("i4"), self.values[:0]):
            np.save(self.path("x.npy"), array)
            self.assertEqual(self.digests(self.path("x.npy"))["/"], reference.array_digest(array))


class DefinitionTest(DigestTestCase):
    def test_types(self):
        arrays = [np.arange(5, dtype=kind) for kind in ("i1", "u2", ">i4", "u8", "f2", ">f8", "c8", "c16")]
        struct = np.zeros(3, np.dtype([("a", "i1"), ("b", ">f8"), ("t", "S3"), ("n", [("u", "U2"), ("v", "i2", (2, 2))])],
                                      align=True))
        struct["a"], struct["t"], struct["n"]["u"], struct["b"] = [1, 2, 3], [b"a", b"", b"abc"], "\u00e9\U0001f600", -0.0
        arrays += [np.array([True, False]), np.array(["2020-01-01", "NaT"], "M8[25s]"), np.array([3, 4], "m8[D]"), struct,
                   np.array([b"ab", b"", b"a\0c"]), np.array(["\u00e4\u20ac", "x"]), np.array(7.5), np.zeros((2, 0, 3), "i2"),
                   np.frombuffer(b"abcdefgh", "V4"), np.zeros(2, [("x", "V2"), ("y", "?")])]
        for array in arrays:
            with self.subTest(dtype=array.dtype):
                np.save(self.path("a.npy"), array)
                self.assertEqual(self.digests(self.path("a.npy"))["/"], reference.array_digest(array))

    def test_padding_does_not_count(self):
        dtype = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24})
        array = np.zeros(4, dtype)
        np.save(self.path("a.npy"), array)
        array.view("u1").reshape(4, 24)[:, 1:8] = 7
        with h5py.File(self.path("a.h5"), "w") as file:
            file["a"] = array
        self.assertEqual(self.digests(self.path("a.npy"))["/"], self.digests(self.path("a.h5"))["/a"])

    def test_text_is_one_type(self):
        texts = ["K", "m s-1", "gr\u00f6\u00dfer", ""]
        np.save(self.path("a.npy"), np.array(texts))
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("v", data=texts, dtype=h5py.string_dtype())
            file.create_dataset("f", data=np.array([text.encode() for text in texts], h5py.string_dtype(length=20)))
        found = self.digests(self.path("a.h5"))
        expected = reference.array_digest(np.array(texts))
        self.assertEqual([found["/v"], found["/f"], self.digests(self.path("a.npy"))["/"]], [expected] * 3)

    def test_attributes_and_groups(self):
        group = zarr.open_group(self.path("a.zarr"), mode="w")
        group.attrs.update(title="x \"y\" \u00e9\n", history=["a"], flags=[1, 2], scale=0.5, many=[0.1, float("nan")], on=True)
        array = group.create_dataset("sub/v", shape=(2, 3), chunks=(1, 3), dtype="<i2")
        array.attrs.update(_ARRAY_DIMENSIONS=["y", "x"], units="K")
        found = self.digests(self.path("a.zarr"))
        elements = reference.array_digest(np.zeros((2, 3), "i2"))
        of_array = reference.attributes_digest({"units": "K"}, ["y", "x"])
        of_sub = reference.attributes_digest({})
        of_top = reference.attributes_digest({"title": "x \"y\" \u00e9\n", "history": "a", "flags": [1, 2], "scale": 0.5,
                                              "many": [0.1, float("nan")], "on": True})
        sub = reference.group_digest(of_sub, {"v": f'array "v" {elements} {of_array}'})
        self.assertEqual(found, {"/": reference.group_digest(of_top, {"sub": f'group "sub" {sub}'}), "//attributes": of_top,
                                 "/sub": sub, "/sub//attributes": of_sub, "/sub/v": elements, "/sub/v//attributes": of_array})
        with netCDF4.Dataset(self.path("a.nc"), "w") as file:  # lists of one item, and narrower numbers
            inner = file.createGroup("sub")
            put_variable(inner, np.zeros((2, 3), ">i2"), ("y", "x"), units="K")
            file.setncatts({"title": "x \"y\" \u00e9\n", "history": "a", "flags": np.array([1, 2], "i1"),
                            "scale": np.array([0.5], "f4"), "many": [0.1, float("nan")]})
        of_file = self.digests(self.path("a.nc"))
        self.assertEqual([of_file["/sub/v"], of_file["/sub/v//attributes"], of_file["/sub"]], [elements, of_array, sub])
        self.assertEqual(self.digests(self.path("a.zarr"), "sub/v"),
                         {"/sub/v": elements, "/sub/v//attributes": of_array})


class ManifestTest(DigestTestCase):
    def setUp(self):
        super().setUp()
        group = self.write_zarr("a.zarr", np.arange(60, dtype="<i4").reshape(6, 10), (2, 10))
        group["v"].attrs["units"] = "K"
        group.create_dataset("w", shape=(4,), chunks=(4,), dtype="<f8", fill_value=1.5)
        self.store = self.path("a.zarr")
        self.manifest = self.store + ".ndl-digest"
        self.assertEqual(digest("--write", self.store).returncode, 0)

    def check(self, *arguments, status):
        result = digest("--check", self.store, *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stdout.splitlines()

    def test_a_manifest_is_what_the_command_prints(self):
        self.assertEqual(harness.read(self.manifest).decode(), digest(self.store).stdout)
        self.assertEqual(self.check(status=0), [f"{self.store}: 6 digests, as in {self.manifest}"])
        shutil.copytree(self.store, self.path("b.zarr"))
        result = digest("--check", self.path("b.zarr"), "--manifest", self.manifest)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_says_what_differs(self):
        group = zarr.open_group(self.store, mode="a")
        group["v"][3, 4] = 7
        group["w"].attrs["units"] = "m"
        group.create_dataset("x", shape=(1,), dtype="i1")
        self.assertEqual(self.check(status=1), ["/v: type, shape or values differ",
                                                "/w: attributes or names of dimensions differ",
                                                "/x: not in the manifest", f"{self.store}: differs from {self.manifest}"])
        self.assertEqual(self.check("w", status=1)[0], "/w: attributes or names of dimensions differ")
        shutil.rmtree(os.path.join(self.store, "v"))
        self.assertIn("/v: only in the manifest", self.check(status=1))

    def test_damage_is_trouble(self):
        harness.write(os.path.join(self.store, "v/1.0"), b"no zstd")
        result = digest(self.store)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^ndlfs: .*a\.zarr: /v: chunk 1\.0: ")
        self.assertEqual([line[66:] for line in result.stdout.splitlines()],
                         ["//attributes", "/v//attributes", "/w", "/w//attributes"])
        self.assertEqual(digest("--check", self.store).returncode, 2)
        before = harness.read(self.manifest)
        self.assertEqual(digest("--write", self.store).returncode, 2)
        self.assertEqual(harness.read(self.manifest), before)

    def test_wrong_manifests_and_options(self):
        harness.write(self.manifest, "no digest\n")
        result = digest("--check", self.store)
        self.assertEqual(result.returncode, 2)
        self.assertIn(".ndl-digest: line 1: expected 64 hexadecimal digits", result.stderr)
        for arguments in (["--check", self.path("none")], ["--write", "--check", self.store], ["--write", self.store, "v"],
                          ["--manifest", "x", self.store], [self.store, "nothing"], [self.path()], []):
            result = digest(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(digest(self.store, "/nothing").stderr.count("did you mean"), 0)

    def test_can_be_interrupted(self):
        """A store that takes for ever: 2^50 elements of fill value."""
        zarr.open_group(self.path("huge.zarr"), mode="w").create_dataset("v", shape=(2**50,), chunks=(2**24,), dtype="i1")
        process = subprocess.Popen([harness.BINARY, "digest", "--write", self.path("huge.zarr")], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        harness.wait_until(lambda: self.has_begun(process), "the command reads")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=harness.ENDING)[0], b"")
        self.assertEqual(process.returncode, 130)
        self.assertFalse(os.path.exists(self.path("huge.zarr.ndl-digest")))

    @staticmethod
    def has_begun(process):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            caught = next(line for line in file if line.startswith("SigCgt"))
        return int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1


class MountTest(DigestTestCase):
    def test_attribute_and_sums(self):
        values = np.arange(600, dtype="<f4").reshape(3, 200)
        group = self.write_zarr("a.zarr", values, (1, 200))
        group.create_dataset("SHA256SUMS", shape=(2,), dtype="i1")
        group.create_dataset("s", shape=(2,), dtype=object, object_codec=numcodecs.VLenUTF8())[:] = ["a", "bc"]
        mount = self.mount(self.source)
        array = mount.join("a.zarr", "v")
        self.assertEqual(os.getxattr(array, "user.ndl.digest").decode(), reference.array_digest(values))
        self.assertNotIn("user.ndl.digest", os.listxattr(array))
        self.assertEqual(os.getxattr(mount.join("a.zarr", "s"), "user.ndl.digest").decode(),
                         reference.array_digest(np.array(["a", "bc"])))
        with self.assertRaises(OSError):
            os.getxattr(mount.join("a.zarr"), "user.ndl.digest")
        for folder in (array, mount.join("a.zarr", "s"), mount.join("a.zarr"), mount.join("a.zarr", "%53HA256SUMS")):
            names = sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))
                           and name != ".source")
            self.assertNotIn("SHA256SUMS", names)
            sums = os.path.join(folder, "SHA256SUMS")
            size = os.stat(sums).st_size
            text = harness.read(sums).decode()
            self.assertEqual(len(text), size)
            self.assertEqual(sorted(line[66:] for line in text.splitlines()), names)
            self.run_ok("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=folder)
            with open(sums, "rb") as file:
                file.seek(70)
                self.assertEqual(file.read(40).decode(), text[70:110])
        # A change of a chunk changes both.
        values[2, 5] = -1
        zarr.open_group(self.path("a.zarr"), mode="a")["v"][2] = values[2]
        harness.wait_until(lambda: os.getxattr(array, "user.ndl.digest").decode() == reference.array_digest(values),
                           "the digest of the new values")
        self.run_ok("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", cwd=array)

    def test_large_arrays_need_the_command(self):
        self.write_zarr("a.zarr", np.zeros((64, 64), "<f8"), (64, 64))
        mount = self.mount(self.source, "--max-scan", "16KiB")
        with self.assertRaises(OSError) as raised:
            os.getxattr(mount.join("a.zarr", "v"), "user.ndl.digest")
        self.assertEqual(raised.exception.strerror, "File too large")
        # A folder in a mount is a store for the command.
        self.assertEqual(self.digests(mount.join("a.zarr", "v"))["/v"], reference.array_digest(np.zeros((64, 64))))


if __name__ == "__main__":
    harness.main()
