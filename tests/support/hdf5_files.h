// SPDX-License-Identifier: MIT
//
// HDF5 files that h5py writes, for tests.
#pragma once

#include <string>
#include <string_view>

#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hierarchy.h"
#include "backends/store/local/local_source.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::test {

// Runs Python with h5py as h5, NumPy as np, the C library as lib, and the
// current directory being `directory`.
inline std::string RunH5py(const TemporaryDirectory& directory, std::string_view script) {
  std::string all =
      "import ctypes, json, os, sys\n"
      "import h5py as h5, numpy as np\n"
      // That of h5py, whatever its version.
      "maps = (line.split()[-1] for line in open('/proc/self/maps'))\n"
      "lib = ctypes.CDLL(next(file for file in maps if '/libhdf5_serial.so' in file))\n"
      "for f in ('H5Pset_chunk_opts', 'H5Pset_szip', 'H5Pset_nbit'):\n"
      "    getattr(lib, f).argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 2\n"
      "lib.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]\n"
      "lib.H5Pset_nbit.argtypes = [ctypes.c_int64]\n"
      // HDF5 1.14 writes numbers that leave bits free only if it is told to.
      "files = sys.modules[h5.File.__module__]\n"
      "make_fapl = files.make_fapl\n"
      "def relaxed(*given, **named):\n"
      "    fapl = make_fapl(*given, **named)\n"
      "    lib.H5Pset_relax_file_integrity_checks(ctypes.c_int64(fapl.id), "
      "ctypes.c_uint64(1))\n"
      "    return fapl\n"
      "if hasattr(lib, 'H5Pset_relax_file_integrity_checks'): files.make_fapl = relaxed\n";
  all += "os.chdir('" + directory.path().string() + "')\n";
  all += script;
  return RunPython(all);
}

// The file `name` in `directory`, as the format opens it.
inline std::shared_ptr<const backends::Hierarchy> OpenHdf5(const TemporaryDirectory& directory,
                                                           const std::string& name) {
  auto root = backends::LocalSource::Open(directory.path()).value();
  auto opened = backends::Hdf5Format().Open(std::move(root), name, {});
  EXPECT_THAT(opened, IsOk());
  return opened.value_or(nullptr);
}

inline std::shared_ptr<const backends::Node> LoadNode(const backends::Hierarchy& hierarchy,
                                                      std::string_view path) {
  auto node = hierarchy.Load(path);
  EXPECT_THAT(node, IsOk()) << path;
  return node.value_or(std::make_shared<const backends::Node>());
}

}  // namespace ndlfs::test
