// SPDX-License-Identifier: MIT
//
// The questions and answers of library.h as bytes, between two processes of
// the same build. What comes back is not trusted: a library that a file has
// led astray may say anything.
#pragma once

#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/library.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

struct Request {
  enum class What : uint8_t { kOpen, kFind, kList, kDescribe, kLocateChunks, kRead };
  What what = What::kOpen;
  std::string file_path = {};  // beneath the root
  Generation generation = {};  // the version that is meant; not for kOpen
  std::string path = {};       // in the file
  uint64_t first = 0;          // kLocateChunks
  uint64_t count = 0;
  Block block = {};  // kRead
  uint64_t limit = 0;
};

std::vector<std::byte> Encode(const Request& request);
model::Result<Request> DecodeRequest(ConstByteSpan bytes);

// An answer is an error, or a value of the type that the question has. Bytes
// are what File::Read() gives.
template <typename T>
std::vector<std::byte> EncodeAnswer(const model::Result<T>& answer);
template <typename T>
model::Result<T> DecodeAnswer(ConstByteSpan bytes);

#define NDLFS_HDF5_ANSWER(T)                                                    \
  extern template std::vector<std::byte> EncodeAnswer(const model::Result<T>&); \
  extern template model::Result<T> DecodeAnswer(ConstByteSpan);
NDLFS_HDF5_ANSWER(Generation)
NDLFS_HDF5_ANSWER(Location)
NDLFS_HDF5_ANSWER(std::vector<Child>)
NDLFS_HDF5_ANSWER(ObjectInfo)
NDLFS_HDF5_ANSWER(std::vector<ChunkRecord>)
NDLFS_HDF5_ANSWER(Elements)
#undef NDLFS_HDF5_ANSWER

}  // namespace ndlfs::backends::hdf5
