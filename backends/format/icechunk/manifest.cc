// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/manifest.h"

#include <algorithm>
#include <compare>
#include <cstring>
#include <utility>

#include "backends/codec/stream/zstd_context.h"
#include "backends/format/icechunk/metadata_file.h"

namespace ndlfs::backends::icechunk {
namespace {

using model::Result;

constexpr size_t kMaxLocation = size_t{64} << 10;
constexpr uint8_t kZstdLocations = 1;

std::strong_ordering CompareIndex(const flatbuffers::Vector<uint32_t>& a,
                                  std::span<const uint32_t> b) {
  const size_t common = std::min<size_t>(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    const uint32_t number = a[static_cast<unsigned>(i)];
    if (number != b[i]) return number <=> b[i];
  }
  return size_t{a.size()} <=> b.size();
}

int CompareNodes(const fb::ObjectId8& a, const fb::ObjectId8& b) {
  return std::memcmp(&a, &b, sizeof(a));
}

// The first element of a sorted vector that is not `is_less`; null if all are.
template <typename T, typename IsLess>
const T* FirstNot(const flatbuffers::Vector<flatbuffers::Offset<T>>& sorted,
                  const IsLess& is_less) {
  unsigned begin = 0;
  unsigned end = sorted.size();
  while (begin < end) {
    const unsigned middle = begin + (end - begin) / 2;
    if (is_less(*sorted[middle])) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin < sorted.size() ? sorted[begin] : nullptr;
}

// Out of order, a reference would not be found, and its chunk be shown as fill values.
Result<void> CheckReferences(const fb::ArrayManifest& array) {
  const flatbuffers::Vector<uint32_t>* before = nullptr;
  std::vector<uint32_t> index;
  for (const auto* chunk : *array.refs()) {
    index.assign(chunk->index()->begin(), chunk->index()->end());
    if (before != nullptr && before->size() != index.size()) {
      return model::Corrupt("references of {} and {} dimensions", before->size(), index.size());
    }
    if (before != nullptr && CompareIndex(*before, index) >= 0) {
      return model::Corrupt("references that are not sorted");
    }
    before = chunk->index();
  }
  return {};
}

}  // namespace

Manifest::Manifest(Bytes payload, const fb::Manifest* root)
    : payload_(std::move(payload)), root_(root) {
  const auto* dictionary = root_->location_dictionary();
  if (dictionary == nullptr || dictionary->size() == 0) return;
  dictionary_.reset(ZSTD_createDDict(dictionary->data(), dictionary->size()));
  dictionary_bytes_ = dictionary_ ? ZSTD_sizeof_DDict(dictionary_.get()) : 0;
}

Result<std::shared_ptr<const Manifest>> Manifest::Make(Bytes payload, const ObjectId& id) {
  NDLFS_TRY(const auto* root, VerifiedRoot<fb::Manifest>(payload));
  if (!std::equal(id.begin(), id.end(), root->id()->bytes()->begin())) {
    return model::Corrupt("it is another manifest than its name says");
  }
  const fb::ObjectId8* before = nullptr;
  // Several arrays may be one in the buffer.
  uint64_t most_references = payload.size() / sizeof(uint32_t);
  for (const auto* array : *root->arrays()) {
    if (before != nullptr && CompareNodes(*before, *array->node_id()) >= 0) {
      return model::Corrupt("arrays that are not sorted");
    }
    before = array->node_id();
    if (array->refs()->size() > most_references) return model::Corrupt("shared references");
    most_references -= array->refs()->size();
    NDLFS_RETURN_IF_ERROR(CheckReferences(*array));
  }
  return std::shared_ptr<const Manifest>(new Manifest(std::move(payload), root));
}

const fb::ChunkRef* Manifest::Find(const fb::ObjectId8& node,
                                   std::span<const uint32_t> chunk) const {
  const auto* array = FirstNot(*root_->arrays(), [&](const fb::ArrayManifest& other) {
    return CompareNodes(*other.node_id(), node) < 0;
  });
  if (array == nullptr || CompareNodes(*array->node_id(), node) != 0) return nullptr;
  const auto* found = FirstNot(*array->refs(), [&](const fb::ChunkRef& other) {
    return CompareIndex(*other.index(), chunk) < 0;
  });
  return found != nullptr && CompareIndex(*found->index(), chunk) == 0 ? found : nullptr;
}

Result<std::string> Manifest::LocationOf(const fb::ChunkRef& chunk) const {
  if (chunk.location() != nullptr) return std::string(TextOf(chunk.location()));
  if (root_->compression_algorithm() != kZstdLocations) {
    return model::Unsupported("a location with the compression {}",
                              root_->compression_algorithm());
  }
  ZSTD_DCtx* const context = ZstdContext();
  if (context == nullptr) return model::Limit("not enough memory for a decompressor");
  const ConstByteSpan frame = BytesOf(chunk.compressed_location());
  std::string location(kMaxLocation, '\0');
  const size_t size = ZSTD_decompress_usingDDict(context, location.data(), location.size(),
                                                 frame.data(), frame.size(), dictionary_.get());
  if (ZSTD_isError(size)) return model::Corrupt("location: zstd: {}", ZSTD_getErrorName(size));
  location.resize(size);
  return location;
}

KnownManifests& KnownManifests::Get() {
  static KnownManifests known;
  return known;
}

KnownManifests::Known KnownManifests::Find(const std::string& name) {
  const model::MutexLock lock(mutex_);
  if (const Known* known = known_.Find(name)) return *known;
  const Known added{NewId(), {}};
  known_.Put(name, added);
  return added;
}

Result<std::shared_ptr<const Manifest>> KnownManifests::GetOrLoad(const std::string& name,
                                                                  IndexCache* indexes,
                                                                  const Load& load) {
  const Known known = Find(name);
  if (indexes != nullptr) {
    NDLFS_TRY(auto manifest, indexes->GetOrLoad<Manifest>(id_, known.slot, load));
    const model::MutexLock lock(mutex_);
    known_.Put(name, {known.slot, manifest});
    return manifest;
  }
  if (auto manifest = known.manifest.lock()) return manifest;
  return load();
}

}  // namespace ndlfs::backends::icechunk
