// SPDX-License-Identifier: MIT
//
// The questions and answers of library.h as bytes, between two processes of the same build, and
// the requests of the helper to its parent meanwhile. The parent does not trust messages of the
// helper: a library that a file has led astray may say anything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/library/new_file.h"
#include "model/error.h"

namespace ndlfs::backends::hdf5 {

struct Request {
  enum class What : uint8_t {
    kOpen,
    kFind,
    kList,
    kDescribe,
    kDescribeDatasets,
    kLocateChunks,
    kRead,
    kWrite
  };
  What what = What::kOpen;
  uint64_t file = 0;                    // its InputFile::id()
  uint64_t file_size = 0;               // in bytes
  uint64_t head_bytes = 0;              // kOpen: as in NamedFile
  std::string file_path = {};           // beneath the source
  std::string path = {};                // in the file
  std::vector<std::string> names = {};  // kDescribeDatasets
  uint64_t first = 0;                   // kLocateChunks
  uint64_t count = 0;
  Block block = {};  // kRead
  uint64_t limit = 0;
  std::shared_ptr<const NewFile> new_file = {};  // kWrite, which is about no other file
};

// Bytes that the helper needs. They are put one range after the other into the
// memory that it shares with its parent; the reply is Done, or an error.
struct ReadRequest {
  struct Range {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  static constexpr size_t kMaxRanges = 1024;
  uint64_t file = 0;  // an InputFile::id() that the parent has sent
  std::vector<Range> ranges;
};

// The name of a file, see InputFiles::Open(). The reply is a NamedFile, or an
// error.
struct OpenRequest {
  static constexpr size_t kMaxName = 16 << 10;
  std::string name;
};

struct NamedFile {
  uint64_t id = 0;
  uint64_t size = 0;  // in bytes
  // How many bytes of its beginning are in the shared memory.
  uint64_t head_bytes = 0;
};

// The library reads the beginning of a file first. So the parent sends up to so many bytes of
// it when the file is opened.
inline constexpr uint64_t kMaxHeadBytes = 16 << 10;

// The answer to kOpen, and the reply to ReadRequest.
struct Done {};

std::vector<std::byte> Encode(const Request& request);
std::vector<std::byte> Encode(const ReadRequest& request);
std::vector<std::byte> Encode(const OpenRequest& request);
model::Result<Request> DecodeRequest(ConstByteSpan bytes);
// kInternal also if there are more ranges, or a longer name, than is allowed.
model::Result<ReadRequest> DecodeReadRequest(ConstByteSpan bytes);
model::Result<OpenRequest> DecodeOpenRequest(ConstByteSpan bytes);

// An answer or a reply is an error, or a value of the type that belongs to the question. Bytes
// are the result of File::Read().
template <typename T>
std::vector<std::byte> EncodeAnswer(const model::Result<T>& answer);
template <typename T>
model::Result<T> DecodeAnswer(ConstByteSpan bytes);

// Calls MACRO for each type of answer.
#define NDLFS_HDF5_ANSWERS(MACRO) \
  MACRO(Done)                     \
  MACRO(NamedFile)                \
  MACRO(Location)                 \
  MACRO(std::vector<Child>)       \
  MACRO(ObjectInfo)               \
  MACRO(ObjectInfos)              \
  MACRO(std::vector<ChunkRecord>) \
  MACRO(Elements)                 \
  MACRO(WrittenFile)
#define NDLFS_HDF5_DECLARE(T)                                                   \
  extern template std::vector<std::byte> EncodeAnswer(const model::Result<T>&); \
  extern template model::Result<T> DecodeAnswer(ConstByteSpan);
NDLFS_HDF5_ANSWERS(NDLFS_HDF5_DECLARE)
#undef NDLFS_HDF5_DECLARE

}  // namespace ndlfs::backends::hdf5
