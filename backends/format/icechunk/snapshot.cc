// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/snapshot.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "backends/format/icechunk/metadata_file.h"
#include "backends/store/keys.h"

namespace ndlfs::backends::icechunk {
namespace {

using model::Result;

// Limits on the size of a manifest: bytes that are no references, and bytes of a reference on
// average. A manifest may also hold small chunks.
constexpr uint64_t kLeastManifest = uint64_t{64} << 20;
constexpr uint64_t kMostPerReference = 4096;

template <typename Id>
bool IsId(const Id& stored, const ObjectId& id) {
  return std::equal(id.begin(), id.end(), stored.bytes()->begin());
}

Result<void> CheckPath(std::string_view path) {
  if (path == "/") return {};
  if (path.starts_with('/') && CheckKey(path.substr(1))) return {};
  return model::Corrupt("{} is no path of a node", model::Quote(path));
}

bool Holds(const fb::ManifestRef& manifest, std::span<const uint32_t> chunk) {
  for (size_t dim = 0; dim < chunk.size(); ++dim) {
    const auto* range = manifest.extents()->Get(static_cast<unsigned>(dim));
    if (chunk[dim] < range->from() || chunk[dim] >= range->to()) return false;
  }
  return true;
}

// Along which dimension the manifests begin at the most places.
size_t DimToSearch(const fb::ArrayNodeData& array, size_t rank) {
  size_t best = 0;
  size_t most = 0;
  for (size_t dim = 0; dim < rank; ++dim) {
    std::vector<uint32_t> from;
    for (const auto* manifest : *array.manifests()) {
      from.push_back(manifest->extents()->Get(static_cast<unsigned>(dim))->from());
    }
    std::ranges::sort(from);
    from.erase(std::unique(from.begin(), from.end()), from.end());
    const size_t count = from.size();
    if (count > most) {
      best = dim;
      most = count;
    }
  }
  return best;
}

}  // namespace

Result<ManifestIndex> ManifestIndex::Make(const fb::ArrayNodeData& array, size_t rank) {
  ManifestIndex index;
  index.rank_ = rank;
  for (const auto* manifest : *array.manifests()) {
    if (manifest->extents()->size() != rank) {
      return model::Corrupt("a manifest with extents of {} dimensions, expected {}",
                            manifest->extents()->size(), rank);
    }
  }
  index.dim_ = DimToSearch(array, rank);
  for (unsigned i = 0; i < array.manifests()->size(); ++i) {
    uint32_t from = 0;
    uint32_t to = 1;
    if (rank != 0) {
      const auto* range =
          array.manifests()->Get(i)->extents()->Get(static_cast<unsigned>(index.dim_));
      from = range->from();
      to = range->to();
    }
    index.entries_.push_back({from, to, i});
  }
  std::ranges::stable_sort(index.entries_, {}, &Entry::from);
  for (size_t i = 1; i < index.entries_.size(); ++i) {
    index.entries_[i].most_to =
        std::max(index.entries_[i].most_to, index.entries_[i - 1].most_to);
  }
  return index;
}

Result<std::optional<uint32_t>> ManifestIndex::Find(const fb::ArrayNodeData& array,
                                                    std::span<const uint32_t> chunk) const {
  if (chunk.size() != rank_) {
    return model::Corrupt("a chunk of {} dimensions in an array of {}", chunk.size(), rank_);
  }
  const uint32_t at = chunk.empty() ? 0 : chunk[dim_];
  auto entry = std::ranges::upper_bound(entries_, at, {}, &Entry::from);
  std::optional<uint32_t> found;
  while (entry != entries_.begin() && std::prev(entry)->most_to > at) {
    --entry;
    if (!Holds(*array.manifests()->Get(entry->number), chunk)) continue;
    if (found) return model::Corrupt("two manifests have the same chunk");
    found = entry->number;
  }
  return found;
}

Result<std::shared_ptr<const Snapshot>> Snapshot::Make(Bytes payload, const ObjectId& id) {
  NDLFS_TRY(const auto* root, VerifiedRoot<fb::Snapshot>(payload));
  if (!IsId(*root->id(), id))
    return model::Corrupt("it is another snapshot than its name says");
  std::string_view before;
  for (const auto* node : *root->nodes()) {
    const std::string_view path = TextOf(node->path());
    NDLFS_RETURN_IF_ERROR(CheckPath(path));
    if (!before.empty() && path <= before) {
      return model::Corrupt("the node {} stands after {}", model::Quote(path),
                            model::Quote(before));
    }
    before = path;
    const auto type = node->node_data_type();
    if (type != fb::NodeData_Array && type != fb::NodeData_Group) {
      return model::Unsupported("the node {} of type {}", model::Quote(path),
                                static_cast<int>(type));
    }
  }
  return std::shared_ptr<const Snapshot>(new Snapshot(std::move(payload), root, id));
}

size_t Snapshot::LowerBound(std::string_view path) const {
  size_t begin = 0;
  size_t end = size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (TextOf(node(middle).path()) < path) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

const fb::NodeSnapshot* Snapshot::Find(std::string_view path) const {
  const size_t at = LowerBound(path);
  return at < size() && TextOf(node(at).path()) == path ? &node(at) : nullptr;
}

uint64_t Snapshot::VersionOf(const fb::NodeSnapshot& node) {
  const std::hash<std::string_view> hash;
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t version = hash(AsText(BytesOf(node.user_data())));
  const auto add = [&](std::string_view bytes) {
    version = (version ^ (version >> 29)) * kOdd + hash(bytes);
  };
  add({reinterpret_cast<const char*>(node.id()), sizeof(*node.id())});
  const auto* array = node.node_data_as_Array();
  if (array == nullptr) return version;
  for (const auto* manifest : *array->manifests()) {
    add({reinterpret_cast<const char*>(manifest->object_id()), sizeof(fb::ObjectId12)});
    add({reinterpret_cast<const char*>(manifest->extents()->data()),
         manifest->extents()->size() * sizeof(fb::ChunkIndexRange)});
  }
  return version;
}

Result<const fb::ManifestRef*> Snapshot::FindManifest(const fb::NodeSnapshot& node,
                                                      std::span<const uint32_t> chunk) const {
  const auto* array = node.node_data_as_Array();
  if (array == nullptr) return nullptr;
  std::shared_ptr<const ManifestIndex> index;
  {
    const model::MutexLock lock(mutex_);
    auto& kept = indexes_[&node];
    if (kept == nullptr) {
      NDLFS_TRY(ManifestIndex made, ManifestIndex::Make(*array, chunk.size()));
      kept = std::make_shared<const ManifestIndex>(std::move(made));
      index_bytes_ += kept->held_bytes();
    }
    index = kept;
  }
  NDLFS_TRY(const auto number, index->Find(*array, chunk));
  return number ? array->manifests()->Get(*number) : nullptr;
}

uint64_t Snapshot::LimitOf(const ObjectId& manifest) const {
  uint64_t references = 0;
  const auto note = [&](const auto& info) {
    references = std::max<uint64_t>(references, info.num_chunk_refs());
  };
  if (root_->manifest_files_v2() != nullptr) {
    for (const auto* info : *root_->manifest_files_v2()) {
      if (info->id() != nullptr && IsId(*info->id(), manifest)) note(*info);
    }
  }
  for (const auto* info : *root_->manifest_files()) {
    if (IsId(info->id(), manifest)) note(*info);
  }
  return std::min(kMaxPayload, kLeastManifest + references * kMostPerReference);
}

uint64_t Snapshot::held_bytes() const {
  const model::MutexLock lock(mutex_);
  return payload_.size() + index_bytes_;
}

}  // namespace ndlfs::backends::icechunk
