// SPDX-License-Identifier: MIT
//
// Where libhdf5 gets its bytes: its driver opens and reads files through these
// interfaces only. Behind them are stores, or another process that has them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

// One version of one file. Immutable for a caller; see the implementations for
// which threads may use it.
class InputFile {
 public:
  virtual ~InputFile() = default;

  // Two files with the same number hold the same bytes: the library takes them
  // for one file.
  virtual uint64_t id() const = 0;

  virtual uint64_t size() const = 0;

  // Fills `out` with the bytes from `offset` on; all of them must lie within
  // size(). kStale once the file has changed.
  virtual model::Result<void> Read(uint64_t offset, ByteSpan out) const = 0;

  // kStale if the file has changed since it was opened.
  virtual model::Result<void> CheckUnchanged() const = 0;

  // A hint: about `bytes` bytes from each of the offsets will be read soon.
  // Offsets beyond the end are ignored.
  virtual void Prefetch(std::span<const uint64_t> /*offsets*/, uint64_t /*bytes*/) const {}
};

// Opens files by the names that files have for each other.
class InputFiles {
 public:
  virtual ~InputFiles() = default;

  // `name` is "/" and a path beneath the source, or an absolute path into the source. If there
  // is no such file, or it is outside of the source, IsMissing() is true for the error.
  virtual model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) = 0;
};

// Whether an error of InputFiles::Open() says that there is no file of that
// name. Any other error means that the file may be there.
bool IsMissing(const model::Error& error);

}  // namespace ndlfs::backends::hdf5
