# SPDX-License-Identifier: MIT
"""`ndlfs check`: what it finds, says and returns. It needs no mount."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time

import h5py
import harness
import numcodecs
import numpy as np
import zarr2 as zarr


def check(*arguments, **more):
    return harness.run(harness.BINARY, "check", *arguments, **more)


class CheckTest(harness.SourceTestCase):
    def setUp(self):
        super().setUp()
        self.values = np.arange(6 * 500, dtype="<i4").reshape(6, 500)
        group = zarr.open_group(self.path("runs/a.zarr"), mode="w")
        for name in ("t", "u"):
            array = group.create_dataset(name, shape=(6, 500), chunks=(1, 500), dtype="<i4",
                                         compressor=numcodecs.GZip(1))
            array[:5] = self.values[:5]  # the last chunk stays absent
        np.save(self.path("b.npy"), self.values)
        with h5py.File(self.path("c.h5"), "w") as file:
            file.create_dataset("x", data=self.values, chunks=(2, 500), compression="gzip", fletcher32=True)
        harness.write(self.path("notes.txt"), "no store")

    def damage(self, name, offset=20, content=b"\xff\x00\xff\x00"):
        with open(self.path(name), "r+b") as file:
            file.seek(offset)
            file.write(content)

    def report(self, *arguments, status=0):
        result = check("--format", "json", *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return json.loads(result.stdout)

    def test_sound_stores_are_counted(self):
        result = check(self.source)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, "")
        lines = result.stdout.splitlines()
        self.assertEqual(lines[:3], [f"{self.path('b.npy')}: ok, 1 array, 1 chunk, 11.7 KiB",
                                     f"{self.path('c.h5')}: ok, 1 array, 3 chunks, 11.7 KiB",
                                     f"{self.path('runs/a.zarr')}: ok, 2 arrays, 12 chunks, 19.5 KiB"])
        self.assertRegex(lines[3], r"^3 stores, 4 arrays, 16 chunks, 43\.0 KiB in 0:0\d \(.*iB/s\): no damage$")
        self.assertEqual(len(lines), 4)

    def test_damaged_chunks_are_named(self):
        self.damage("runs/a.zarr/t/3.0")
        result = check(self.source)
        self.assertEqual(result.returncode, 1)
        self.assertIn("a.zarr: damaged, 2 arrays, 12 chunks, 17.6 KiB, 1 damaged\n  /t: chunk 3.0: ", result.stdout)
        self.assertRegex(result.stdout, r"runs/a.zarr/t/3.0: .*gzip")
        self.assertRegex(result.stdout, r"1 damaged in 1 store\n$")

    def test_json_says_the_same(self):
        self.damage("runs/a.zarr/t/3.0")
        os.truncate(self.path("b.npy"), 1000)
        report = self.report(self.source, status=1)
        self.assertEqual([(store["store"], store["format"], store["state"], store["damaged"])
                          for store in report["stores"]],
                         [(self.path("b.npy"), "NPY", "damaged", 1), (self.path("c.h5"), "HDF5", "ok", 0),
                          (self.path("runs/a.zarr"), "Zarr v2", "damaged", 1)])
        self.assertEqual(report["stores"][2]["absent_chunks"], 2)
        (damage,) = report["stores"][2]["damage"]
        self.assertEqual(damage["path"], "/t")
        self.assertIn("chunk 3.0: ", damage["reason"])
        summary = report["summary"]
        self.assertEqual([summary[key] for key in ("stores", "chunks", "damaged", "damaged_stores", "complete",
                                                   "resume_at")], [3, 15, 2, 2, True, None])

    def test_checksums_of_hdf5_are_verified(self):
        with h5py.File(self.path("d.h5"), "w") as file:
            file.create_dataset("x", data=self.values, chunks=(2, 500), fletcher32=True)
            place = file["x"].id.get_chunk_info(1).byte_offset
        self.damage("d.h5", place + 8)
        report = self.report(self.path("d.h5"), status=1)
        self.assertRegex(report["stores"][0]["damage"][0]["reason"], r"chunk 1\.0: .*fletcher32")

    def test_stores_that_cannot_be_opened_are_damaged(self):
        harness.write(self.path("broken.nc"), "CDF\x01 and no more")
        harness.write(self.path("metadata.zarr/.zarray"), '{"zarr_format": 2, "shape": [')
        report = self.report(self.path("broken.nc"), self.path("metadata.zarr"), status=1)
        self.assertEqual([store["state"] for store in report["stores"]], ["damaged", "damaged"])
        self.assertIn(".zarray", report["stores"][1]["damage"][0]["reason"])

    def test_what_is_not_supported_is_named_and_no_damage(self):
        """And has an exit status of its own: not everything was checked."""
        metadata = json.loads(harness.read(self.path("runs/a.zarr/t/.zarray")))
        metadata["compressor"] = {"id": "pcodec9"}
        harness.write(self.path("runs/a.zarr/t/.zarray"), json.dumps(metadata))
        result = check(self.source)
        self.assertEqual(result.returncode, 4)
        self.assertIn("a.zarr: partly checked, 1 array, 6 chunks", result.stdout)
        self.assertIn(", 1 not checked\n  not checked: /t: ", result.stdout)
        self.assertIn("pcodec9", result.stdout)
        self.assertRegex(result.stdout, r": no damage, 1 not checked\n$")
        report = self.report(self.source, status=4)
        self.assertEqual([(store["state"], store["unsupported"]) for store in report["stores"]],
                         [("ok", 0), ("ok", 0), ("partly checked", 1)])
        self.assertEqual([report["summary"][key] for key in ("damaged", "unreadable", "unsupported")], [0, 0, 1])

    def test_every_chunk_of_a_shard_is_decoded(self):
        index = np.full((4, 2), 2**64 - 1, "<u8")
        inner = [np.full(250, number, "<i4").tobytes() for number in range(4)]
        inner[2] = inner[2][:-4]
        at = 0
        for number, chunk in enumerate(inner):
            index[number] = at, len(chunk)
            at += len(chunk)
        codecs = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [250], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]
        harness.write(self.path("s.zarr/zarr.json"), json.dumps({
            "zarr_format": 3, "node_type": "array", "shape": [1000], "data_type": "int32", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000]}}, "codecs": codecs,
            "chunk_key_encoding": {"name": "default"}}))
        harness.write(self.path("s.zarr/c/0"), b"".join(inner) + index.tobytes())
        (store,) = self.report(self.path("s.zarr"), status=1)["stores"]
        self.assertEqual((store["chunks"], store["damaged"]), (4, 1))
        self.assertIn("chunk 2: ", store["damage"][0]["reason"])

    def check_as_nobody(self, *arguments):
        """As a user who may not read everything, also where root runs the tests."""
        others = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
        binary = shutil.copy(harness.BINARY, os.path.join(self.scratch, "ndlfs"))
        return harness.run(*(others if os.getuid() == 0 else []), binary, "check", *arguments)

    def test_what_may_not_be_read_is_unreadable_and_no_damage(self):
        for name, line in (("runs/locked", r"runs/locked: unreadable, 1 unreadable\n  unreadable: /: "),
                           ("runs/a.zarr/t/3.0", r"a.zarr: unreadable, 2 arrays, 12 chunks, .*, 1 unreadable\n"
                                                 r"  unreadable: /t: chunk 3\.0: "),
                           ("runs/a.zarr/u/.zarray", r"a.zarr: unreadable, 1 array, .*\n  unreadable: /u: "),
                           ("c.h5", r"c\.h5: unreadable, 1 unreadable\n  unreadable: /: "),
                           ("b.npy", r"b\.npy: unreadable, 1 unreadable\n  unreadable: /: ")):
            with self.subTest(name):
                os.makedirs(self.path("runs/locked"), exist_ok=True)
                mode = os.stat(self.path(name)).st_mode
                os.chmod(self.path(name), 0)
                result = self.check_as_nobody(self.source)
                as_json = self.check_as_nobody(self.source, "--format", "json")
                os.chmod(self.path(name), mode)
                self.assertEqual(result.returncode, 3, result)
                self.assertRegex(result.stdout, line + ".*Permission denied")
                self.assertRegex(result.stdout, r": no damage, 1 unreadable\n$")
                self.assertEqual(as_json.returncode, 3)
                report = json.loads(as_json.stdout)
                (store,) = (store for store in report["stores"] if store["state"] == "unreadable")
                self.assertEqual((store["damaged"], store["unreadable"]), (0, 1))
                self.assertIn("Permission denied", store["not_read"][0]["reason"])
                self.assertEqual((report["summary"]["damaged"], report["summary"]["unreadable"]), (0, 1))

    def test_damage_counts_for_more_than_what_is_unreadable_or_not_checked(self):
        metadata = json.loads(harness.read(self.path("runs/a.zarr/u/.zarray")))
        metadata["compressor"] = {"id": "pcodec9"}
        harness.write(self.path("runs/a.zarr/u/.zarray"), json.dumps(metadata))
        os.chmod(self.path("runs/a.zarr/t/3.0"), 0)
        result = self.check_as_nobody(self.source)
        self.assertEqual(result.returncode, 3, result)
        self.assertRegex(result.stdout, r": no damage, 1 unreadable, 1 not checked\n$")
        self.damage("runs/a.zarr/t/2.0")
        result = self.check_as_nobody(self.source)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stdout, r": 1 damaged in 1 store, 1 unreadable, 1 not checked\n$")

    def test_source_that_may_not_be_entered_is_unreadable(self):
        os.chmod(self.path("runs"), 0)
        self.addCleanup(os.chmod, self.path("runs"), 0o755)
        result = self.check_as_nobody(self.path("runs/a.zarr"), self.path("b.npy"))
        self.assertEqual(result.returncode, 3, result)
        self.assertRegex(result.stderr, r"^ndlfs: .*runs/a\.zarr: Permission denied\n$")

    def test_links_are_not_followed(self):
        os.symlink("runs", self.path("runs-again"))
        os.symlink("..", self.path("up"))
        self.assertEqual(self.report(self.source)["summary"]["stores"], 3)
        os.symlink("source", os.path.join(self.scratch, "link"))  # but a SOURCE is
        self.assertEqual(self.report(os.path.join(self.scratch, "link"))["summary"]["stores"], 3)

    def test_a_directory_without_a_store_is_named_and_not_sound(self):
        os.mkdir(self.path("empty"))
        harness.write(self.path("empty/notes.txt"), "no store")
        result = check(self.path("empty"))
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stderr, f"ndlfs: no array store in {self.path('empty')}, so that nothing was checked\n")
        self.assertEqual(self.report(self.path("empty"), status=4)["summary"]["stores"], 0)

    def test_absent_chunks_of_a_listed_folder_are_counted_and_not_read(self):
        metadata = {"zarr_format": 2, "shape": [10**9, 1000], "chunks": [1, 1], "dtype": "<i4", "compressor": None,
                    "fill_value": 0, "order": "C", "filters": None}
        harness.write(self.path("huge.zarr/.zarray"), json.dumps(metadata))
        (store,) = self.report(self.path("huge.zarr"))["stores"]
        self.assertEqual((store["chunks"], store["absent_chunks"]), (10**12, 10**12))
        harness.write(self.path("huge.zarr/999999999.7"), b"\1\0\0\0")
        harness.write(self.path("huge.zarr/5.5"), b"short")
        (store,) = self.report(self.path("huge.zarr"), status=1)["stores"]
        self.assertEqual((store["chunks"], store["absent_chunks"], store["bytes"]), (10**12, 10**12 - 2, 4))
        self.assertIn("chunk 5.5", store["damage"][0]["reason"])

    def test_chunks_under_the_other_separator_are_noted(self):
        metadata = {"zarr_format": 2, "shape": [2, 2], "chunks": [1, 2], "dtype": "<i4", "compressor": None,
                    "fill_value": 0, "order": "C", "filters": None}
        harness.write(self.path("nested.zarr/.zarray"), json.dumps(metadata))
        for row in (0, 1):
            harness.write(self.path(f"nested.zarr/{row}/0"), np.array([row, 7], "<i4").tobytes())
        (store,) = self.report(self.path("nested.zarr"))["stores"]
        self.assertEqual((store["state"], store["absent_chunks"]), ("ok", 0))
        self.assertIn('keys with the separator "/"', store["notes"][0]["reason"])

    def test_what_other_readers_may_read_is_not_checked_and_no_damage(self):
        ncml = '<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2">{}</netcdf>'
        harness.write(self.path("d/explicit.ncml"), ncml.format("<explicit/>"))
        harness.write(self.path("d/out.ncml"), ncml.format(
            '<aggregation type="union"><netcdf location="/elsewhere/a.nc"/></aggregation>'))
        harness.write(self.path("d/refs.json"), json.dumps(
            {"version": 1, "refs": {".zarray": json.dumps({
                "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None, "fill_value": 0,
                "order": "C", "filters": None}), "0": ["/elsewhere/a.nc", 0, 8]}}))
        harness.write(self.path("d/labels.n5/attributes.json"), json.dumps(
            {"n5": "2.0.0", "dimensions": [2], "blockSize": [2], "dataType": "uint8",
             "compression": {"type": "raw"}, "isLabelMultiset": True}))
        harness.write(self.path("d/random.fits"), "".join(card.ljust(80) for card in (
            "SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 1", "NAXIS1  = 0", "GROUPS  = T",
            "PCOUNT  = 1", "GCOUNT  = 1", "END")).ljust(2880) + 2880 * " ")
        for store in self.report(self.path("d"), status=4)["stores"]:
            self.assertIn(store["state"], ("not checked", "partly checked"), store)
            self.assertEqual(store["damaged"], 0, store)

    def test_what_is_no_store_is_an_error(self):
        for path, words in ((self.path("notes.txt"), "not an array store"), (self.path("absent"), "No such file")):
            result = check(path)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, f"^ndlfs: {path}: {words}")
            self.assertEqual([result.stdout, result.stderr.count("\n")], ["", 1])

    def test_what_is_no_store_keeps_nothing_else_from_being_checked(self):
        result = check(self.path("absent"), self.path("c.h5"), self.path("notes.txt"))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"^.*c\.h5: ok, .*\n1 store, .*: no damage\n$")
        self.assertRegex(result.stderr, r"^ndlfs: .*absent: No such .*\nndlfs: .*notes\.txt: not an array store\n$")

    def test_from_passes_over_what_comes_before(self):
        report = self.report(self.source, "--from", self.path("c.h5"))
        self.assertEqual([store["store"] for store in report["stores"]],
                         [self.path("c.h5"), self.path("runs/a.zarr")])
        result = check(self.source, "--from", "nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertIn('--from: no store "nowhere"', result.stderr)

    def test_names_do_not_break_lines(self):
        np.save(self.path("new\nline.npy"), self.values)
        os.truncate(self.path("new\nline.npy"), 500)
        result = check(self.source)
        self.assertEqual(result.returncode, 1)
        self.assertIn("new\\x0aline.npy: damaged", result.stdout)


class LongCheckTest(harness.SourceTestCase):
    """A store that takes a while."""

    def setUp(self):
        super().setUp()
        metadata = {"zarr_format": 2, "shape": [3], "chunks": [1], "dtype": "<i4", "compressor": None,
                    "filters": None, "fill_value": 0, "order": "C"}
        harness.write(f"{self.source}/a.zarr/.zarray", json.dumps(metadata))
        for name in ("b.npy", "c.npy"):  # holes of 4 TiB, which take no room
            np.lib.format.open_memmap(f"{self.source}/{name}", mode="w+", dtype="<i4", shape=(1 << 40,))

    def test_interrupt_gives_the_summary_so_far(self):
        with subprocess.Popen([harness.BINARY, "check", self.source], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            time.sleep(1.5)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=harness.DEADLINE)
        self.assertEqual(process.returncode, 130, out + err)
        lines = out.splitlines()
        self.assertEqual(lines[0], f"{self.source}/a.zarr: ok, 1 array, 3 chunks, 0 B")
        self.assertRegex(lines[1], r"b\.npy: incomplete, 1 array, \d+ chunks")
        self.assertRegex(lines[2], r"^interrupted: 3 stores, .*: no damage$")
        self.assertEqual(lines[3], f'to go on: --from "{self.source}/b.npy"')

    def test_a_terminal_shows_progress_with_rate_and_time_left(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with subprocess.Popen([harness.BINARY, "check", self.source, "--format", "json"], stdout=subprocess.PIPE,
                              stderr=theirs, text=True) as process:
            os.close(theirs)
            shown = b""
            while b"left" not in shown:
                shown += os.read(ours, 65536)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=harness.DEADLINE)
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # how a terminal that is closed ends
            pass
        self.assertFalse(json.loads(out)["summary"]["complete"])
        lines = re.split(r"\r\x1b\[K", shown.decode())
        self.assertRegex(lines[-2], r"^0%, \d+ chunks, 3 stores, .*/s, \d+:\d\d:\d\d left$")
        self.assertEqual(lines[-1], "")  # nothing is left of it
        self.assertLess(len(lines), 100)


if __name__ == "__main__":
    harness.main()
