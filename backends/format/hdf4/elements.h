// SPDX-License-Identifier: MIT
//
// A file of HDF4 is a list of elements. Each has a tag, which says what it is, and a reference,
// which tells it from others of its kind. Its bytes lie in the file as they are, or in the way
// that its description says ("special" elements): in linked blocks, in another file,
// compressed, or in chunks.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hdf4/coding.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::hdf4 {

// Reads big-endian numbers one after the other. Behind the end it reads zeros and nothing, and
// is not good any more.
class BigReader {
 public:
  explicit BigReader(ConstByteSpan bytes) : rest_(bytes) {}

  bool is_good() const { return is_good_; }
  size_t left() const { return rest_.size(); }
  ConstByteSpan Take(uint64_t count);
  uint64_t Number(size_t bytes);
  uint16_t Short() { return static_cast<uint16_t>(Number(2)); }
  // A text behind its length in two bytes. Ends at a NUL.
  std::string Text();

 private:
  ConstByteSpan rest_;
  bool is_good_ = true;
};

enum Tag : uint16_t {
  kBlockTag = 20,
  kCompressedTag = 40,
  kLabelTag = 104,
  kRemarkTag = 105,
  kNumberTypeTag = 106,
  kOldSetTag = 700,
  kSetTag = 720,
  kVdataTag = 1962,
  kRecordsTag = 1963,
  kVgroupTag = 1965,
};

struct ElementId {
  uint16_t tag = 0;
  uint16_t reference = 0;
  auto operator<=>(const ElementId&) const = default;
};

// Bytes of the file.
struct Piece {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// How an element is cut into chunks.
struct Chunking {
  std::vector<uint64_t> shape;  // of the grid's elements
  std::vector<uint64_t> chunk;
  uint64_t item_bytes = 0;
  std::string fill;  // an item, as it lies in the file
  ElementId table;   // a Vdata with a record for each chunk
};

// Where an element is.
struct Located {
  uint64_t bytes = 0;              // of the element, decoded
  std::string file = {};           // the pieces are in this one; empty: in the file itself
  std::vector<Piece> pieces = {};  // one after the other
  Coding coding = {};              // of the pieces, or of each chunk
  std::optional<Chunking> chunking = {};

  uint64_t held_bytes() const { return sizeof(*this) + pieces.size() * sizeof(Piece); }
};

// The elements of one version of a file. Thread-safe.
class Elements {
 public:
  // Reads the list, and the elements that describe others, in few reads. `turn` has to be kept
  // as long as these are there. kCorrupt if the list makes no sense.
  static model::Result<std::shared_ptr<Elements>> Open(std::shared_ptr<const Store> store,
                                                       std::optional<MetadataTurn>& turn);

  const ValueInfo& info() const { return info_; }
  // References of all elements with the tag, in the order of the list.
  std::vector<uint16_t> ReferencesOf(uint16_t tag) const;
  // Where the list says that the element, or its description, begins.
  std::optional<uint64_t> OffsetOf(ElementId id) const;

  // nullopt if nothing is stored. kCorrupt if the description makes no sense, or if something
  // is missing that it refers to; kUnsupported for what no reader knows.
  model::Result<std::optional<Located>> Locate(ElementId id) const;
  // The first bytes of an element, at most `most`; nullopt if nothing is stored. It may be
  // compressed, and not in chunks or in another file. All bytes that are read before Finish()
  // count: kLimit if they are too many.
  model::Result<std::optional<Bytes>> Read(ElementId id, uint64_t most) const;
  // Counts bytes of memory that a description takes.
  model::Result<void> Charge(uint64_t bytes) const;

  // Frees what only descriptions need.
  void Finish() {
    copies_.clear();
    is_finished_ = true;
  }
  uint64_t held_bytes() const { return list_.size() * sizeof(Entry); }

 private:
  struct Entry {
    uint16_t tag;  // without the bit of special elements
    uint16_t reference;
    uint32_t offset, bytes;
    uint32_t number;  // in the list
    bool is_special;
  };
  struct Copy {
    uint64_t offset = 0;
    Bytes bytes;
  };

  explicit Elements(std::shared_ptr<const Store> store) : store_(std::move(store)) {}
  model::Result<void> ReadList();
  model::Result<void> CopyDescriptions(std::optional<MetadataTurn>& turn);
  const Entry* Find(ElementId id) const;
  model::Result<Bytes> ReadAt(uint64_t offset, uint64_t bytes) const;
  // `is_part`: of an element that is compressed. It is neither that nor in chunks.
  model::Result<Located> LocateEntry(const Entry& entry, bool is_part) const;
  model::Result<void> FindBlocks(BigReader& description, Located& located) const;
  model::Result<void> FindCompressed(BigReader& description, Located& located) const;

  const std::shared_ptr<const Store> store_;
  ValueInfo info_;
  std::vector<Entry> list_;   // by tag and reference
  std::vector<Copy> copies_;  // by offset
  bool is_finished_ = false;
  mutable std::atomic<uint64_t> charged_ = 0;
};

// What an object lacks if an error is about the bytes of the file: nothing stops for it. Other
// errors are passed on.
template <typename T>
model::Result<std::optional<T>> Tolerate(model::Result<T> result) {
  using Code = model::ErrorCode;
  if (result) return std::optional<T>(*std::move(result));
  const Code code = result.error().code();
  if (code == Code::kCorrupt || code == Code::kUnsupported || code == Code::kBadInput) {
    return std::optional<T>();
  }
  return model::Propagate(std::move(result).error());
}

}  // namespace ndlfs::backends::hdf4
