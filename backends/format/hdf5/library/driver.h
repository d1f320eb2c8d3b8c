// SPDX-License-Identifier: MIT
//
// A virtual file driver for libhdf5 that opens files beneath a SourceRoot
// only: also those that a file makes the library open, as the sources of
// virtual datasets. It can also overhear where the library would read raw
// data, without reading.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/format/hdf5/library/handle.h"
#include "backends/store/local/source_root.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// A list of file access properties with this driver for files beneath `root`,
// which must outlive every file opened with it. Needs library_mutex.
model::Result<Handle> MakeAccessProperties(const SourceRoot& root);

// The name by which the driver knows the file at `path` beneath the root.
std::string DriverName(const std::string& path);

// The file that was opened as `file`, as it is now. Needs library_mutex.
model::Result<struct ::stat> StatusOfFile(hid_t file);

// Why a read of a file failed since the last call, if one did. Needs library_mutex.
std::optional<model::Error> TakeReadError();

// While one of these lives, reads of raw data through the driver do nothing
// but note their place. There is one at a time. Needs library_mutex.
class Eavesdropper {
 public:
  Eavesdropper();
  ~Eavesdropper();
  Eavesdropper(const Eavesdropper&) = delete;
  Eavesdropper& operator=(const Eavesdropper&) = delete;

  struct Read {
    uint64_t offset;  // in the file, user block included
    uint64_t bytes;
  };
  // The only read since the last call; nullopt where there was not exactly one.
  std::optional<Read> TakeRead();

 private:
  friend struct Driver;
  size_t reads_ = 0;
  Read last_ = {};
};

}  // namespace ndlfs::backends::hdf5
