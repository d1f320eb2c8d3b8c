// SPDX-License-Identifier: MIT
//
// A virtual file driver for libhdf5. It opens and reads every file through InputFiles, even
// those that a file makes the library open, such as the sources of virtual datasets. It makes
// no system call. It can also overhear where the library would read raw data, without reading.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/input_file.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// The file that the driver opens, and the files that it may open for that one.
struct DriverTarget {
  std::shared_ptr<InputFiles> files;
  std::shared_ptr<const InputFile> file;
  std::string name;  // the name by which the library asks for `file`
};

// A list of file access properties with this driver for `target`, which must
// outlive every file opened with it. Needs library_mutex.
model::Result<Handle> MakeAccessProperties(const DriverTarget& target);

// The name by which the driver knows the file at `path` beneath the source.
std::string DriverName(const std::string& path);

// The error of the first read that has failed since ClearReadError(), or the reason why a file
// that may exist could not be opened. The library does not reliably report either, and may go
// on as if nothing had happened. Needs library_mutex.
std::optional<model::Error> ReadError();
void ClearReadError();

// Tells the driver that the objects at these addresses of `file` will be
// opened soon. Needs library_mutex.
void PrefetchObjects(hid_t file, std::span<const haddr_t> addresses);

// While one of these exists, reads of raw data through the driver do nothing but note their
// place. There is one at a time. Needs library_mutex.
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
