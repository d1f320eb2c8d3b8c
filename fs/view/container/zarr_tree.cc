// SPDX-License-Identifier: MIT
#include "fs/view/container/zarr_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/store/cancellation.h"
#include "fs/view/elements/segmented_view.h"
#include "model/number_text.h"

namespace ndlfs::fs::zarr {
namespace {

using model::Result;
using StoredArrayPtr = std::shared_ptr<const StoredArray>;
using IndexOfChunk = std::vector<uint64_t>;

constexpr std::string_view kChunksName = "c";

// Empty if there is no document of that name.
std::optional<Segment> FindDocument(const std::vector<Document>& documents,
                                    std::string_view name) {
  for (const Document& document : documents) {
    if (document.name == name) return Literal(document.text, 0, document.text->size());
  }
  return std::nullopt;
}

uint64_t BytesOf(const std::vector<Document>& documents) {
  uint64_t bytes = 0;
  for (const Document& document : documents) bytes += document.text->capacity();
  return bytes;
}

// The number that `name` is, as Zarr writes numbers; nullopt if it is none below `end`.
std::optional<uint64_t> ParseNumber(std::string_view name, uint64_t end) {
  const auto number = model::ParseNumber<uint64_t>(name);
  if (!number || *number >= end || std::to_string(*number) != name) return std::nullopt;
  return number;
}

// The chunks whose first indices are `begin`, in C order: those that exist.
class ChunkListing final : public ViewListing {
 public:
  ChunkListing(StoredArrayPtr array, IndexOfChunk begin)
      : array_(std::move(array)), begin_(std::move(begin)), counts_(ChunkCounts(*array_)) {
    counts_.erase(counts_.begin(), counts_.begin() + static_cast<ptrdiff_t>(begin_.size()));
    total_ = backends::CheckedProduct(counts_, 1).value_or(UINT64_MAX);
  }

  Result<std::optional<ViewEntry>> Next() override {
    // Otherwise looking at the chunks one by one takes less than listing all of them.
    constexpr uint64_t kMany = uint64_t{1} << 20;
    if (total_ > kMany && !has_asked_) {
      has_asked_ = true;
      NDLFS_TRY(known_, ListSourceChunks(*array_));
    }
    for (; next_ < total_; ++next_) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      if (known_ && !SkipToKnown()) break;
      const IndexOfChunk index = IndexAt(next_);
      NDLFS_TRY(const bool is_there, HasChunk(*array_, index));
      if (!is_there) continue;
      ++next_;
      return ViewEntry{NameOf(index), false};
    }
    next_ = total_;
    return std::nullopt;
  }

 private:
  IndexOfChunk IndexAt(uint64_t number) const {
    IndexOfChunk index = begin_;
    index.resize(begin_.size() + counts_.size());
    for (size_t d = counts_.size(); d-- > 0; number /= counts_[d]) {
      index[begin_.size() + d] = number % counts_[d];
    }
    return index;
  }
  // Goes to the next chunk that may be there; false if there is none.
  bool SkipToKnown() {
    const uint64_t base = SourceNumber(*array_, IndexAt(0));
    const auto found = std::ranges::lower_bound(*known_, base + next_);
    if (found == known_->end() || *found - base >= total_) return false;
    next_ = *found - base;
    return true;
  }
  std::string NameOf(const IndexOfChunk& index) const {
    if (array_->version == Version::kV3) {
      return index.empty() ? std::string(kChunksName) : std::to_string(index.back());
    }
    return index.empty() ? "0" : fmt::format("{}", fmt::join(index, "."));
  }

  const StoredArrayPtr array_;
  const IndexOfChunk begin_;
  IndexOfChunk counts_;  // along the other dimensions
  uint64_t total_ = 0;
  uint64_t next_ = 0;
  bool has_asked_ = false;
  std::optional<std::vector<uint64_t>> known_;  // numbers in the source
};

// Folders for all indices along one dimension, whether chunks are in them or not.
class FolderListing final : public ViewListing {
 public:
  explicit FolderListing(uint64_t count) : count_(count) {}
  Result<std::optional<ViewEntry>> Next() override {
    if (next_ == count_) return std::nullopt;
    return ViewEntry{std::to_string(next_++), true};
  }

 private:
  const uint64_t count_;
  uint64_t next_ = 0;
};

Result<ViewNode> FindChunk(const StoredArrayPtr& array, const IndexOfChunk& index,
                           std::string_view name) {
  // Looking for the stored bytes of a chunk tells whether it is there.
  NDLFS_TRY(const bool is_there,
            array->source.is_stored ? Result<bool>(true) : HasChunk(*array, index));
  if (!is_there) return model::NotFound("{}", name);
  return MakeChunk(array, index);
}

// v3: the chunks whose first indices are `begin`.
class ChunkDirectory final : public ViewDirectory {
 public:
  ChunkDirectory(StoredArrayPtr array, IndexOfChunk begin)
      : array_(std::move(array)), begin_(std::move(begin)) {}

  std::unique_ptr<ViewListing> List() const override {
    if (is_last()) return std::make_unique<ChunkListing>(array_, begin_);
    return std::make_unique<FolderListing>(count());
  }
  Result<ViewNode> Find(std::string_view name) const override {
    const auto number = ParseNumber(name, count());
    if (!number) return model::NotFound("{}", name);
    IndexOfChunk index = begin_;
    index.push_back(*number);
    if (is_last()) return FindChunk(array_, index, name);
    return std::make_shared<const ChunkDirectory>(array_, std::move(index));
  }

 private:
  bool is_last() const { return begin_.size() + 1 == array_->shape.size(); }
  uint64_t count() const { return ChunkCounts(*array_)[begin_.size()]; }

  const StoredArrayPtr array_;
  const IndexOfChunk begin_;
};

// Documents, and then what `rest` lists.
class ArrayListing final : public ViewListing {
 public:
  ArrayListing(StoredArrayPtr array, std::unique_ptr<ViewListing> rest)
      : array_(std::move(array)), rest_(std::move(rest)) {}
  Result<std::optional<ViewEntry>> Next() override {
    if (next_ < array_->documents.size()) {
      return ViewEntry{array_->documents[next_++].name, false};
    }
    return rest_->Next();
  }

 private:
  const StoredArrayPtr array_;
  const std::unique_ptr<ViewListing> rest_;
  size_t next_ = 0;
};

class ArrayDirectory : public ViewDirectory {
 public:
  explicit ArrayDirectory(StoredArray array)
      : array_(std::make_shared<const StoredArray>(std::move(array))) {}

  uint64_t held_bytes() const override {
    return BytesOf(array_->documents) + array_->begun->held_bytes() +
           (array_->elements ? array_->elements->held_bytes() : 0);
  }
  Result<std::optional<ReadCost>> FindCost() const override {
    if (array_->elements == nullptr) return std::nullopt;
    NDLFS_TRY(const ReadCost cost, CostOf(*array_->elements));
    return cost;
  }
  Result<ViewNode> Find(std::string_view name) const override {
    if (auto document = FindDocument(array_->documents, name)) {
      return MakeSegmentedView({*std::move(document)});
    }
    return FindChunks(name);
  }

 protected:
  const StoredArrayPtr& array() const { return array_; }

 private:
  virtual Result<ViewNode> FindChunks(std::string_view name) const = 0;

  const StoredArrayPtr array_;
};

class ArrayDirectoryV3 final : public ArrayDirectory {
 public:
  using ArrayDirectory::ArrayDirectory;

  std::unique_ptr<ViewListing> List() const override {
    if (array()->shape.empty()) {
      return std::make_unique<ArrayListing>(
          array(), std::make_unique<ChunkListing>(array(), IndexOfChunk()));
    }
    return std::make_unique<ArrayListing>(array(), ListOf({{std::string(kChunksName), true}}));
  }

 private:
  Result<ViewNode> FindChunks(std::string_view name) const override {
    if (name != kChunksName) return model::NotFound("{}", name);
    if (array()->shape.empty()) return FindChunk(array(), {}, name);
    return std::make_shared<const ChunkDirectory>(array(), IndexOfChunk());
  }
};

class ArrayDirectoryV2 final : public ArrayDirectory {
 public:
  using ArrayDirectory::ArrayDirectory;

  std::unique_ptr<ViewListing> List() const override {
    return std::make_unique<ArrayListing>(
        array(), std::make_unique<ChunkListing>(array(), IndexOfChunk()));
  }

 private:
  Result<ViewNode> FindChunks(std::string_view name) const override {
    const IndexOfChunk counts = ChunkCounts(*array());
    if (counts.empty() && name == "0") return FindChunk(array(), {}, name);
    IndexOfChunk index;
    std::string_view rest = name;
    while (index.size() < counts.size()) {
      const size_t end = std::min(rest.find('.'), rest.size());
      const auto number = ParseNumber(rest.substr(0, end), counts[index.size()]);
      const bool is_last = index.size() + 1 == counts.size();
      if (!number || is_last != (end == rest.size())) return model::NotFound("{}", name);
      index.push_back(*number);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (index.empty()) return model::NotFound("{}", name);
    return FindChunk(array(), index, name);
  }
};

class GroupDirectory final : public ViewDirectory {
 public:
  GroupDirectory(std::vector<Document> documents, Children children,
                 std::string consolidated_name, ViewPtr consolidated)
      : documents_(std::move(documents)),
        children_(std::move(children)),
        consolidated_name_(std::move(consolidated_name)),
        consolidated_(std::move(consolidated)) {}

  std::unique_ptr<ViewListing> List() const override {
    std::vector<ViewEntry> entries;
    if (consolidated_) entries.push_back({consolidated_name_, false});
    for (const Document& document : documents_) {
      if (document.name != consolidated_name_) entries.push_back({document.name, false});
    }
    for (const auto& [name, directory] : children_) entries.push_back({name, true});
    return ListOf(std::move(entries));
  }
  Result<ViewNode> Find(std::string_view name) const override {
    if (consolidated_ && name == consolidated_name_) return consolidated_;
    if (auto document = FindDocument(documents_, name)) {
      return MakeSegmentedView({*std::move(document)});
    }
    const auto child =
        std::ranges::lower_bound(children_, name, {}, &Children::value_type::first);
    if (child == children_.end() || child->first != name) return model::NotFound("{}", name);
    return child->second;
  }
  // What is not known costs nothing here.
  Result<std::optional<ReadCost>> FindCost() const override {
    ReadCost sum;
    for (const auto& [name, directory] : children_) {
      NDLFS_TRY(const auto cost, directory->FindCost());
      if (cost) AddCost(*cost, sum);
    }
    return sum;
  }
  // Counts the texts below a second time if they are consolidated.
  uint64_t held_bytes() const override {
    uint64_t bytes = BytesOf(documents_) + (consolidated_ ? consolidated_->held_bytes() : 0);
    for (const auto& [name, directory] : children_) {
      constexpr uint64_t kAlways = 512;
      bytes += kAlways + name.capacity() + directory->held_bytes();
    }
    return bytes;
  }

 private:
  const std::vector<Document> documents_;
  const Children children_;
  const std::string consolidated_name_;
  const ViewPtr consolidated_;
};

}  // namespace

ViewDirectoryPtr MakeArrayDirectory(StoredArray array) {
  if (array.version == Version::kV2) {
    return std::make_shared<const ArrayDirectoryV2>(std::move(array));
  }
  return std::make_shared<const ArrayDirectoryV3>(std::move(array));
}

ViewDirectoryPtr MakeGroupDirectory(std::vector<Document> documents, Children children,
                                    std::string consolidated_name, ViewPtr consolidated) {
  return std::make_shared<const GroupDirectory>(std::move(documents), std::move(children),
                                                std::move(consolidated_name),
                                                std::move(consolidated));
}

}  // namespace ndlfs::fs::zarr
