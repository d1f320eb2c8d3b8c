# SPDX-License-Identifier: MIT
"""Programs that know nothing of array stores, at work on a mount."""
import os
import struct
import tarfile

import harness
import numpy as np

import make_data

FORTRAN = """\
program read_raw
  implicit none
  real(4), allocatable :: t2m(:, :, :)
  character(len=4096) :: path
  integer :: unit
  call get_command_argument(1, path)
  allocate (t2m(90, 45, 24))
  open (newunit=unit, file=trim(path), access='stream', form='unformatted', status='old', action='read')
  read (unit) t2m
  close (unit)
  write (*, '(3z8.8)') t2m(1, 1, 1), t2m(90, 45, 24), t2m(7, 11, 13)
  write (*, '(f0.6)') sum(real(t2m, 8))
end program read_raw
"""

# Lines of one width are records of direct access.
FORTRAN_TEXT = """\
program read_text
  implicit none
  integer, parameter :: width = 15
  character(len=4096) :: path
  character(len=width) :: column
  real(4) :: value
  real(8) :: total
  integer :: unit, i, status
  call get_command_argument(1, path)
  open (newunit=unit, file=trim(path), access='direct', form='unformatted', recl=width + 1, status='old', action='read')
  read (unit, rec=90 * (45 * 12 + 10) + 7) column
  read (column, '(f15.0)') value
  write (*, '(z8.8)') value
  close (unit)
  open (newunit=unit, file=trim(path), form='formatted', status='old', action='read')
  total = 0
  do i = 1, 24 * 45 * 90
    read (unit, '(f15.0)') value
    total = total + value
  end do
  read (unit, '(f15.0)', iostat=status) value
  write (*, '(f0.6)') total
  write (*, '(l1)') is_iostat_end(status)
end program read_text
"""


class ProgramTest(harness.TestCase):
    def test_fortran_reads_data_raw(self):
        mounted = self.mount(harness.DATA)
        source, program = (os.path.join(self.scratch, name) for name in ("read_raw.f90", "read_raw"))
        harness.write(source, FORTRAN)
        self.run_ok("gfortran", "-o", program, source)
        lines = self.run_ok(program, mounted.join("climate.zarr/t2m/data.raw")).split()
        t2m = make_data.climate()["t2m"]
        corners = t2m[0, 0, 0], t2m[23, 44, 89], t2m[12, 10, 6]
        self.assertEqual(lines[0], "".join(struct.pack(">f", value).hex().upper() for value in corners))
        self.assertAlmostEqual(float(lines[1]), float(t2m.sum(dtype=np.float64)), places=4)

    def test_fortran_reads_data_txt_in_a_fixed_format(self):
        mounted = self.mount(harness.DATA)
        source, program = (os.path.join(self.scratch, name) for name in ("read_text.f90", "read_text"))
        harness.write(source, FORTRAN_TEXT)
        self.run_ok("gfortran", "-o", program, source)
        lines = self.run_ok(program, mounted.join("climate.zarr/t2m/data.txt")).split()
        t2m = make_data.climate()["t2m"]
        self.assertEqual(lines[0], struct.pack(">f", t2m[12, 10, 6]).hex().upper())
        self.assertAlmostEqual(float(lines[1]), float(t2m.sum(dtype=np.float64)), places=3)
        self.assertEqual(lines[2], "T")

    def test_awk_sort_wc_and_tail_work_on_data_txt(self):
        mounted = self.mount(harness.DATA)
        text = mounted.join("climate.zarr/t2m/data.txt")
        t2m = make_data.climate()["t2m"]
        self.assertEqual(self.run_ok("wc", "-l", text).split()[0], str(t2m.size))
        last = self.run_ok("tail", "-c", "16", text)
        self.assertEqual((len(last), np.float32(last)), (16, t2m[-1, -1, -1]))
        total = self.run_ok("awk", "{ s += $1 } END { printf \"%.6f\", s }", text)
        self.assertAlmostEqual(float(total), float(t2m.sum(dtype=np.float64)), places=2)
        in_order = self.run_ok("sort", "-g", text).split()
        np.testing.assert_array_equal(np.array(in_order, np.float32), np.sort(t2m, axis=None))
        self.assertEqual(self.run_ok("sed", "-n", "1000p", text).split(), [str(t2m.ravel()[999])])

    def test_od_shows_the_numbers(self):
        mounted = self.mount(harness.DATA)
        shown = self.run_ok("od", "-A", "n", "-v", "-w4", "-t", "d4", mounted.join("climate.zarr/time/data.raw"))
        self.assertEqual([int(line) for line in shown.split()], list(range(0, 144, 6)))

    def test_cmp_finds_views_equal(self):
        one, two = self.mount(harness.DATA), self.mount(harness.DATA)
        self.run_ok("cmp", one.join("ocean.zarr/surface/sst/data.npy"), two.join("ocean.zarr/surface/sst/data.npy"))

    def test_grep_searches_the_documents(self):
        mounted = self.mount(harness.DATA)
        found = self.run_ok("grep", "-rl", "--include=.ndl.yaml", "air_temperature", mounted.path).split()
        self.assertEqual(sorted(os.path.relpath(path, mounted.path) for path in found),
                         ["climate.zarr/.ndl.yaml", "climate.zarr/t2m/.ndl.yaml"])

    def test_find_ls_lists_everything(self):
        mounted = self.mount(harness.DATA)
        listed = self.run_ok("find", mounted.path, "-ls").splitlines()
        for name in harness.walk(mounted.path):
            self.assertTrue(any(mounted.join(name) in line for line in listed), name)

    def test_du_counts_what_the_views_hold(self):
        mounted = self.mount(harness.DATA)
        apparent = int(self.run_ok("du", "-sb", mounted.join("climate.zarr/t2m")).split()[0])
        self.assertGreater(apparent, 2 * make_data.climate()["t2m"].nbytes)
        self.run_ok("du", "-a", mounted.path)

    def test_statfs_answers(self):
        mounted = self.mount(harness.DATA)
        status = os.statvfs(mounted.path)
        self.assertEqual(status.f_namemax, 255)
        self.assertGreater(status.f_bsize, 0)
        self.assertTrue(status.f_flag & os.ST_RDONLY)
        self.run_ok("df", mounted.path)


class CopyTest(harness.TestCase):
    """Every program that copies trees copies this one, byte for byte."""

    def setUp(self):
        super().setUp()
        self.mounted = self.mount(harness.DATA)
        self.copy = os.path.join(self.scratch, "copy")

    def assert_copied(self, copy):
        self.assertEqual(harness.walk(copy), harness.walk(self.mounted.path))
        self.assertEqual(harness.digests(copy), harness.digests(self.mounted.path))

    def test_cp_recursively(self):
        self.run_ok("cp", "-r", self.mounted.path, self.copy)
        self.assert_copied(self.copy)

    def test_cp_with_attributes(self):
        self.run_ok("cp", "-a", self.mounted.path, self.copy)
        self.assert_copied(self.copy)
        for name in harness.walk(self.copy):
            ours, theirs = os.lstat(self.mounted.join(name)), os.lstat(os.path.join(self.copy, name))
            self.assertEqual(ours.st_mtime_ns, theirs.st_mtime_ns, name)
        self.run_ok("chmod", "-R", "u+w", self.copy)

    def test_rsync(self):
        self.run_ok("rsync", "-a", f"{self.mounted.path}/", self.copy)
        self.assert_copied(self.copy)
        again = self.run_ok("rsync", "-a", "--itemize-changes", "--exclude=/.ndlfs", f"{self.mounted.path}/",
                            self.copy)
        self.assertEqual(again, "", "a second run finds something to copy")
        self.run_ok("chmod", "-R", "u+w", self.copy)

    def test_tar(self):
        archive = os.path.join(self.scratch, "archive.tar")
        self.run_ok("tar", "-C", self.mounted.path, "--exclude=./.ndlfs", "-cf", archive, ".")
        with tarfile.open(archive) as opened:
            names = sorted(os.path.relpath(name, ".") for name in opened.getnames())
            self.assertEqual(names, sorted([".", *harness.walk(self.mounted.path)]))
            for name in harness.digests(self.mounted.path):
                member = opened.extractfile(f"./{name}")
                self.assertEqual(member.read(), harness.read(self.mounted.path, name), name)


class AttributeTest(harness.TestCase):
    """Extended attributes."""

    def attributes(self, path):
        return {name: os.getxattr(path, name).decode() for name in os.listxattr(path)}

    def test_array_describes_itself(self):
        mounted = self.mount(harness.DATA)
        shown = self.attributes(mounted.join("climate.zarr/t2m"))
        self.assertEqual(shown["user.ndl.path"], "/t2m")
        self.assertEqual(shown["user.ndl.kind"], "ndarray")
        self.assertEqual(shown["user.ndl.type"], "float32")
        self.assertEqual(shown["user.ndl.shape"], "[24, 45, 90]")
        self.assertEqual(shown["user.ndl.chunk"], "[12, 45, 45]")
        self.assertEqual(shown["user.ndl.store"], "climate.zarr")
        self.assertEqual(shown["user.attr.units"], "K")
        self.assertEqual(shown["user.attr.valid_range"], "[180.0, 330.0]")

    def test_group_and_coordinate_describe_themselves(self):
        mounted = self.mount(harness.DATA)
        group = self.attributes(mounted.join("ocean.zarr/surface"))
        self.assertEqual((group["user.ndl.path"], group["user.ndl.kind"]), ("/surface", "group"))
        self.assertEqual(group["user.attr.source"], "satellite")
        coordinate = self.attributes(mounted.join("ocean.zarr/surface/lat"))
        self.assertEqual(coordinate["user.ndl.path"], "/surface/lat")
        self.assertEqual(coordinate["user.ndl.kind"], "dimcoord")

    def test_getfattr_reads_them(self):
        mounted = self.mount(harness.DATA)
        shown = self.run_ok("getfattr", "--absolute-names", "-d", mounted.join("climate.zarr/lat"))
        self.assertIn('user.attr.units="degrees_north"', shown)

    def test_absent_attribute_is_no_data(self):
        mounted = self.mount(harness.DATA)
        for name in ("user.attr.nothing", "user.other", "security.selinux", "security.capability"):
            with self.subTest(name), self.assertRaises(OSError) as caught:
                os.getxattr(mounted.join("climate.zarr/t2m"), name)
            self.assertIn(caught.exception.errno, (61, 95), name)


if __name__ == "__main__":
    harness.main()
