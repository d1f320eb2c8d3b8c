#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""DMR++ documents in a mount: alone, next to their files, behind a server, and after a change."""
import os
import shutil
import subprocess
import sys

import h5py
import netCDF4
import numpy as np

import dmrpp_writer
import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "remote"))
import lying_server

VALUES = np.random.default_rng(1).normal(size=(40, 30, 20)).astype("<f4")


class DmrppTest(harness.SourceTestCase):
    def make(self, name="x.nc", values=VALUES, **options):
        with netCDF4.Dataset(self.path(name), "w") as file:
            for dimension, size in zip("tyx", values.shape):
                file.createDimension(dimension, size)
            file.createVariable("y", "f8", ("y",))[:] = np.linspace(-60, 60, values.shape[1])
            variable = file.createGroup("g").createVariable("v", "f4", ("t", "y", "x"), zlib=True, fletcher32=True,
                                                            chunksizes=(7, 30, 11), fill_value=-9999)
            variable[:] = values
            variable.units = "°C"
            file.createVariable("flat", "i2", ("x",))[:] = np.arange(values.shape[2])
        dmrpp_writer.write(self.path(name), **options)
        return self.path(name)

    def alone(self):
        """The document in a folder without a file that is a store: its file has another name."""
        path = self.make()
        os.rename(path, self.path("granule"))
        dmrpp_writer.write(self.path("granule"), path + ".dmrpp", href="granule")
        # A file under any name is a store by its content.
        return path + ".dmrpp"

    def test_shows_what_the_file_shows(self):
        self.alone()
        mounted = self.mount(self.source)
        for array in ("g/v", "y", "flat"):
            for view in ("data.npy", "data.txt"):
                self.assertEqual(harness.read(mounted.join("x.nc.dmrpp", array, view)),
                                 harness.read(mounted.join("granule", array, view)), array)
        np.testing.assert_array_equal(np.load(mounted.join("x.nc.dmrpp/g/v/data.npy")), VALUES)
        description = harness.read(mounted.join("x.nc.dmrpp/g/v/.ndl.yaml")).decode()
        for words in ("units: °C", "chunk: [7, 30, 11]", "fletcher32", "_FillValue"):
            self.assertIn(words, description)
        with netCDF4.Dataset(mounted.join("x.nc.dmrpp/g/data.nc")) as file:
            np.testing.assert_array_equal(file["v"][:], VALUES)
            self.assertEqual(file["v"].dimensions, ("t", "y", "x"))

    def test_structures_and_enums_are_those_of_the_file(self):
        values = np.zeros(10, np.dtype({"names": ["a", "b", "c"], "formats": ["<f8", "<i2", ("<f4", (2,))],
                                        "offsets": [0, 8, 12], "itemsize": 24}))
        values["a"], values["b"], values["c"] = np.arange(10) / 3, np.arange(10), np.arange(20).reshape(10, 2)
        with h5py.File(self.path("granule"), "w") as file:
            dataset = file.create_dataset("s", data=values, chunks=(4,), compression="gzip", shuffle=True)
            colours = file.create_dataset("e", data=np.array([1, -1, 1], "<i2"),
                                          dtype=h5py.enum_dtype({"red": 1, "none": -1}, "<i2"))
            chunks = "".join(dmrpp_writer.chunk_elements(dataset))
            place = f'offset="{colours.id.get_offset()}" nBytes="{colours.id.get_storage_size()}"'
        head = 'dapVersion="4.0" name="x" dmrpp:href="granule" dmrpp:version="3.21.0"'
        harness.write(self.path("x.dmrpp"), f'''<Dataset {dmrpp_writer.NAMESPACES} {head}>
            <Enumeration name="colour" basetype="Int16">
              <EnumConst name="red" value="1"/><EnumConst name="none" value="-1"/></Enumeration>
            <Structure name="s"><Float64 name="a"/><Int16 name="b"/><Float32 name="c"><Dim size="2"/></Float32><Dim size="10"/>
              <dmrpp:chunks fillValue="0" byteOrder="LE" structOffset="8 12 24" compressionType="shuffle deflate">
                <dmrpp:chunkDimensionSizes>4</dmrpp:chunkDimensionSizes>{chunks}</dmrpp:chunks></Structure>
            <Enum name="e" enum="/colour"><Dim size="3"/>
              <dmrpp:chunks byteOrder="LE"><dmrpp:chunk {place}/></dmrpp:chunks></Enum></Dataset>'''.encode())
        mounted = self.mount(self.source)
        for array in ("s", "e"):
            for view in ("data.npy", "data.txt"):
                self.assertEqual(harness.read(mounted.join("x.dmrpp", array, view)),
                                 harness.read(mounted.join("granule", array, view)), array)
        np.testing.assert_array_equal(np.load(mounted.join("x.dmrpp/s/data.npy"))["c"], values["c"])

    def test_is_a_plain_file_next_to_a_store(self):
        path = self.make()
        mounted = self.mount(self.source)
        self.assertTrue(os.path.isdir(mounted.join("x.nc")))
        self.assertEqual(harness.read(mounted.join("x.nc.dmrpp")), harness.read(path + ".dmrpp"))

    def test_stale_document_shows_nothing_of_the_new_file(self):
        document = self.alone()
        with harness.Mount(self.source, "--revalidate", "0") as mounted:
            np.testing.assert_array_equal(np.load(mounted.join("x.nc.dmrpp/g/v/data.npy")), VALUES)
            with h5py.File(self.path("granule"), "r+") as file:
                file["g/v"][:] = VALUES[::-1]
            self.assertIn("was modified after the document",
                          harness.read(mounted.join("x.nc.dmrpp/g/v/error.txt")).decode())
            self.assertFalse(os.path.exists(mounted.join("x.nc.dmrpp/g/v/data.npy")))
            dmrpp_writer.write(self.path("granule"), document, href="granule")
            np.testing.assert_array_equal(np.load(mounted.join("x.nc.dmrpp/g/v/data.npy")), VALUES[::-1])

    def test_file_that_is_not_there(self):
        document = self.make()
        shutil.copy(document + ".dmrpp", self.path("y.nc.dmrpp"))
        mounted = self.mount(self.source)
        self.assertIn("y.nc is not there", harness.read(mounted.join("y.nc.dmrpp/y/error.txt")).decode())
        self.assertIn(b"size: 30", harness.read(mounted.join("y.nc.dmrpp/.ndl.yaml")))

    def serve(self):
        """A server of a file whose metadata lie between the data of its variables."""
        with netCDF4.Dataset(self.path("big.nc"), "w") as file:
            file.createDimension("x", 100_000)
            for number in range(20):
                variable = file.createVariable(f"v{number}", "f4", ("x",))
                variable.units = "m"
                variable[:] = np.arange(100_000) * number
        dmrpp_writer.write(self.path("big.nc"))
        os.environ["no_proxy"] = "*"
        server = lying_server.Server(self.source)
        self.addCleanup(server.stop)
        return server

    def requests_of(self, server, *words):
        """The answer of a command, and which requests for files it took."""
        server.taken()
        done = subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        return done.stdout, [request for request in server.taken() if request.split("/")[1] in ("big.nc", "big.nc.dmrpp")
                             and request.count("/") == 1]

    def test_behind_a_server_it_saves_requests(self):
        server = self.serve()
        described, of_document = self.requests_of(server, "describe", f"{server.url}/big.nc.dmrpp")
        _, of_file = self.requests_of(server, "describe", f"{server.url}/big.nc")
        self.assertEqual(described.count(b"units: m"), 20)
        # A look at each of the two, the beginning of each, and the whole document.
        self.assertEqual(sorted(of_document), ["GET /big.nc", "GET /big.nc.dmrpp", "GET /big.nc.dmrpp", "HEAD /big.nc",
                                               "HEAD /big.nc.dmrpp"])
        self.assertGreater(len(of_file), 2 * len(of_document), of_file)
        raw, of_array = self.requests_of(server, "cat", f"{server.url}/big.nc.dmrpp", "/v7", "--view", "raw")
        self.assertEqual(raw, (np.arange(100_000, dtype="<f4") * 7).tobytes())
        self.assertEqual(len(of_array), len(of_document) + 1, of_array)

    def test_both_are_stores_behind_a_server(self):
        server = self.serve()
        mounted = self.mount(server.url + "/")
        self.assertEqual(sorted(os.listdir(mounted.join("big.nc.dmrpp"))), sorted(os.listdir(mounted.join("big.nc"))))
        for name in ("big.nc", "big.nc.dmrpp"):
            np.testing.assert_array_equal(np.load(mounted.join(name, "v9/data.npy")), np.arange(100_000, dtype="f4") * 9)


if __name__ == "__main__":
    harness.main()
