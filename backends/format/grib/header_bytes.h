// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/grib/message.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::grib {

// The bytes of a file that headers are in. Not thread-safe.
class HeaderBytes {
 public:
  static constexpr uint64_t kUsual = 512;  // headers of most messages

  // The file is the only value of `store`, and has `size` bytes.
  HeaderBytes(const Store& store, uint64_t size) : store_(store), size_(size) {}

  // Reads the headers at these places together. What cannot be read now is read later.
  void Fetch(std::vector<uint64_t> offsets);

  // Messages of about so many bytes follow each other, and are read in sequence.
  void NoteMessageSize(uint64_t bytes) { message_size_ = bytes; }

  // Fails with kChanged if the file has become shorter.
  model::Result<void> Read(uint64_t offset, ByteSpan out);

  // A reader of these bytes, which must stay.
  GribReader MakeReader() {
    return GribReader([this](uint64_t offset, ByteSpan out) { return Read(offset, out); },
                      size_, kUsual);
  }

  // How many bytes Read() was asked for.
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  bool TakeFrom(uint64_t offset, ByteSpan out) const;
  model::Result<void> ReadNow(uint64_t offset, ByteSpan out) const;

  const Store& store_;
  const uint64_t size_;
  uint64_t message_size_ = 0;
  uint64_t bytes_read_ = 0;
  std::map<uint64_t, Bytes> fetched_;
  uint64_t ahead_offset_ = 0;
  Bytes ahead_;
};

}  // namespace ndlfs::backends::grib
