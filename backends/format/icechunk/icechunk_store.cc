// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/icechunk_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/percent_encoding.h"
#include "backends/format/icechunk/metadata_file.h"
#include "backends/format/icechunk/ref.h"
#include "backends/store/caller.h"
#include "backends/store/keys.h"
#include "model/number_text.h"

namespace ndlfs::backends::icechunk {
namespace {

using model::Result;

constexpr std::string_view kDocument = "zarr.json";
constexpr std::string_view kEmptyGroup = R"({"zarr_format": 3, "node_type": "group"})";
constexpr size_t kMostDimensions = 64;

// "a/b/c/0/1": the path "/a/b" of an array, and the index of a chunk.
struct ChunkName {
  std::string path;
  std::vector<uint32_t> index;
};

// Only the usual spelling: "01" is no key.
std::optional<uint32_t> ParseIndex(std::string_view text) {
  const bool is_canonical = text == "0" || !text.starts_with('0');
  return is_canonical ? model::ParseNumber<uint32_t>(text) : std::nullopt;
}

std::optional<ChunkName> ParseChunkName(std::string_view key) {
  ChunkName chunk;
  for (;;) {
    const size_t slash = key.rfind('/');
    const std::string_view last = slash == key.npos ? key : key.substr(slash + 1);
    const std::string_view rest = slash == key.npos ? "" : key.substr(0, slash);
    if (last == "c") {
      std::ranges::reverse(chunk.index);
      chunk.path = "/" + std::string(rest);
      return chunk;
    }
    const auto number = ParseIndex(last);
    if (!number || slash == key.npos || chunk.index.size() == kMostDimensions) {
      return std::nullopt;
    }
    chunk.index.push_back(*number);
    key = rest;
  }
}

ObjectId CopyId(const fb::ObjectId12& id) {
  ObjectId copy;
  std::copy_n(id.bytes()->data(), copy.size(), copy.begin());
  return copy;
}

constexpr std::string_view kContainerScheme = "vcc://";
constexpr std::string_view kFileScheme = "file://";

// An ETag without its quotes; also of a generation that was made of one.
std::string_view BareTag(std::string_view tag) {
  if (tag.starts_with("W/")) tag.remove_prefix(2);
  if (!tag.starts_with('"')) return tag;
  tag.remove_prefix(1);
  return tag.substr(0, tag.find('"'));
}

Result<void> Check(const ValueInfo& info, const VirtualChunks::Checks& checks) {
  if (!checks.etag.empty()) {
    const std::string_view tag = info.generation.tag();
    if (tag.find('"') == tag.npos) {
      return model::Unsupported("the file has no ETag, and the repository has noted one");
    }
    if (BareTag(tag) != BareTag(checks.etag)) {
      return model::Corrupt("the file has the ETag {}, and the repository has noted {}",
                            model::Quote(BareTag(tag)), model::Quote(BareTag(checks.etag)));
    }
  }
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t modified_s = info.modified_ns / kSecond;
  if (checks.last_modified_s != 0 && modified_s > int64_t{checks.last_modified_s}) {
    constexpr uint64_t kUs = 1'000'000;
    return model::Corrupt("the file was modified at {}, and the repository has noted {}",
                          TimeText(static_cast<uint64_t>(modified_s) * kUs),
                          TimeText(checks.last_modified_s * kUs));
  }
  return {};
}

}  // namespace

IcechunkStore::IcechunkStore(std::shared_ptr<const Source> source, const std::string& path,
                             std::shared_ptr<const Repository> repository, const Pinned& pinned,
                             std::shared_ptr<const Snapshot> snapshot)
    : repository_(std::move(repository)),
      snapshot_(std::move(snapshot)),
      virtual_chunks_(source, path, pinned.containers),
      identity_(
          fmt::format("{}\n{}", JoinKey(source->identity(), path), CallerScope::CurrentId())) {}

std::optional<IcechunkStore::Document> IcechunkStore::FindDocument(std::string_view key) const {
  if (!key.ends_with(kDocument)) return std::nullopt;
  key.remove_suffix(kDocument.size());
  if (!key.empty() && !key.ends_with('/')) return std::nullopt;
  if (!key.empty()) key.remove_suffix(1);
  const auto* node = snapshot_->Find("/" + std::string(key));
  if (node != nullptr) return Document{BytesOf(node->user_data()), Snapshot::VersionOf(*node)};
  if (key.empty()) return Document{AsBytes(kEmptyGroup), 0};
  return std::nullopt;
}

ValueInfo IcechunkStore::InfoOf(const Document& document) const {
  constexpr uint64_t kNsPerUs = 1000;
  const auto written = CheckedMultiply(snapshot_->written_us(), kNsPerUs);
  ValueInfo info;
  info.size = document.text.size();
  info.generation = Generation::OfNumbers({document.version, info.size});
  info.modified_ns = written && *written <= INT64_MAX ? static_cast<int64_t>(*written) : 0;
  return info;
}

Result<std::optional<ValueInfo>> IcechunkStore::Stat(std::string_view key) const {
  if (const auto document = FindDocument(key)) return InfoOf(*document);
  if (!ParseChunkName(key)) return std::nullopt;
  NDLFS_TRY(const auto place, Resolve(key, nullptr));
  if (!place) return std::nullopt;
  if (place->bytes != nullptr) {
    ValueInfo info;
    info.size = place->bytes->size();
    info.generation = Generation::OfTag(IdText(snapshot_->id()));
    return info;
  }
  NDLFS_TRY(auto info, place->store->Stat(place->key));
  if (info) info->size = SizeOfPart(place->range, info->size);
  return info;
}

Result<std::vector<StoreEntry>> IcechunkStore::List(std::string_view prefix) const {
  const std::string begin = prefix.empty() ? "/" : "/" + std::string(prefix) + "/";
  std::map<std::string, bool> children;
  for (size_t i = snapshot_->LowerBound(begin); i < snapshot_->size();) {
    const std::string_view path = TextOf(snapshot_->node(i).path());
    if (!path.starts_with(begin)) break;
    const std::string_view rest = path.substr(begin.size());
    const size_t slash = rest.find('/');
    if (!rest.empty()) children.emplace(rest.substr(0, slash), true);
    // Goes on with the first path that is not below it: '0' comes after '/'.
    i = slash == rest.npos
            ? i + 1
            : snapshot_->LowerBound(begin + std::string(rest.substr(0, slash)) + '0');
  }
  if (FindDocument(JoinKey(prefix, kDocument))) children.emplace(kDocument, false);
  std::vector<StoreEntry> entries;
  for (const auto& [name, is_prefix] : children) entries.push_back({name, is_prefix});
  return entries;
}

Result<std::shared_ptr<const Manifest>> IcechunkStore::LoadManifest(const ObjectId& id,
                                                                    IndexCache* indexes) const {
  const auto load = [&]() -> Result<std::shared_ptr<const Manifest>> {
    NDLFS_TRY(Bytes payload, repository_->ReadManifest(id, snapshot_->LimitOf(id)));
    NDLFS_TRY(auto manifest, Manifest::Make(std::move(payload), id),
              Describe(Repository::ManifestKey(id)));
    return manifest;
  };
  return KnownManifests::Get().GetOrLoad(fmt::format("{}\n{}", identity_, IdText(id)), indexes,
                                         load);
}

Result<std::optional<ValuePlace>> IcechunkStore::Resolve(std::string_view key,
                                                         IndexCache* indexes) const {
  const auto chunk = ParseChunkName(key);
  if (!chunk) {
    return model::Unsupported("the chunk key {}: keys of Icechunk are c/0/1",
                              model::Quote(key));
  }
  const auto* node = snapshot_->Find(chunk->path);
  if (node == nullptr) return std::nullopt;
  NDLFS_TRY(const auto* reference, snapshot_->FindManifest(*node, chunk->index));
  if (reference == nullptr) return std::nullopt;
  NDLFS_TRY(const auto manifest, LoadManifest(CopyId(*reference->object_id()), indexes));
  const auto* found = manifest->Find(*node->id(), chunk->index);
  if (found == nullptr) return std::nullopt;
  return PlaceOf(*manifest, *found, key);
}

Result<std::optional<ValuePlace>> IcechunkStore::PlaceOf(const Manifest& manifest,
                                                         const fb::ChunkRef& chunk,
                                                         std::string_view key) const {
  const bool is_virtual = chunk.location() != nullptr || chunk.compressed_location() != nullptr;
  const int kinds = (chunk.inline_data() != nullptr ? 1 : 0) +
                    (chunk.chunk_id() != nullptr ? 1 : 0) + (is_virtual ? 1 : 0);
  if (kinds != 1) {
    return model::Corrupt("the reference of {} has {} places", model::Quote(key), kinds);
  }
  if (chunk.inline_data() != nullptr) {
    ValuePlace place{repository_->store(), std::string(key)};
    place.bytes = std::make_shared<const Bytes>(Bytes::Copy(BytesOf(chunk.inline_data())));
    place.never_changes = true;
    return place;
  }
  // So writers have recorded tiles that are not there.
  if (chunk.offset() == 0 && chunk.length() == 0) return std::nullopt;
  if (!CheckedAdd(chunk.offset(), chunk.length())) {
    return model::Corrupt("the reference of {} is out of range", model::Quote(key));
  }
  ValuePlace place;
  if (is_virtual) {
    NDLFS_TRY(place, VirtualPlace(manifest, chunk));
  } else {
    place.store = repository_->store();
    place.key = Repository::ChunkKey(CopyId(*chunk.chunk_id()));
    place.never_changes = true;
  }
  place.range = {chunk.offset(), chunk.length()};
  return place;
}

Result<ValuePlace> IcechunkStore::VirtualPlace(const Manifest& manifest,
                                               const fb::ChunkRef& chunk) const {
  NDLFS_TRY(const std::string location, manifest.LocationOf(chunk));
  return virtual_chunks_.Find(location, {.etag = TextOf(chunk.checksum_etag()),
                                         .last_modified_s = chunk.checksum_last_modified()});
}

Result<std::optional<ReadResult>> IcechunkStore::DoRead(std::string_view key,
                                                        const ReadOptions& options,
                                                        const Reserve& reserve) const {
  const auto copy = [&](ConstByteSpan value, const ValueInfo& info) -> Result<ReadResult> {
    NDLFS_TRY(const ByteSpan out, reserve(value.size()));
    const ByteRange range = options.Clip(value.size());
    const size_t count = std::min<uint64_t>(out.size(), range.length);
    std::copy_n(value.begin() + static_cast<ptrdiff_t>(range.offset), count, out.begin());
    return ReadResult{count, info};
  };
  if (const auto document = FindDocument(key)) return copy(document->text, InfoOf(*document));
  if (!ParseChunkName(key)) return std::nullopt;
  NDLFS_TRY(const auto place, Resolve(key, nullptr));
  if (!place) return std::nullopt;
  if (place->bytes != nullptr) {
    NDLFS_TRY(const auto info, Stat(key));
    return copy(place->bytes->span(), *info);
  }
  return ReadPlace(*place, options, reserve);
}

VirtualChunks::VirtualChunks(std::shared_ptr<const Source> source, std::string path,
                             Containers containers)
    : source_(std::move(source)),
      path_(std::move(path)),
      containers_(std::move(containers)),
      files_(source_->OpenStore("")) {}

// vcc://NAME/rest is what stands behind the URL of the container NAME.
Result<std::string> VirtualChunks::Expand(const std::string& location) const {
  if (!location.starts_with(kContainerScheme)) return location;
  const std::string_view rest = std::string_view(location).substr(kContainerScheme.size());
  const size_t slash = rest.find('/');
  const std::string_view name = rest.substr(0, slash);
  const auto found = containers_.find(name);
  if (found == containers_.end()) {
    return model::BadInput("the repository has no virtual chunk container {}",
                           model::Quote(name));
  }
  if (found->second.empty() || slash == rest.npos) {
    return model::BadInput("the virtual chunk container {} has no URL", model::Quote(name));
  }
  const std::string_view prefix = found->second;
  return fmt::format("{}{}", prefix, rest.substr(prefix.ends_with('/') ? slash + 1 : slash));
}

// That of the container with the longest one, or else the folder of the file.
std::string VirtualChunks::PrefixToAllow(std::string_view url) const {
  std::string_view best;
  for (const auto& [name, prefix] : containers_) {
    if (url.starts_with(prefix) && prefix.size() > best.size()) best = prefix;
  }
  return std::string(best.empty() ? url.substr(0, url.rfind('/') + 1) : best);
}

Result<StoreKey> VirtualChunks::OpenFile(std::string_view url) const {
  const std::string name = PercentDecodeLeniently(url.substr(kFileScheme.size()));
  const auto path = source_->Resolve(JoinKey(path_, "repo"), name);
  if (path && !path->empty() && CheckKey(*path)) return StoreKey{files_, *path};
  if (const auto* opener = dynamic_cast<const UrlOpener*>(source_.get()); opener != nullptr) {
    auto found = opener->FindUrl(url);
    if (found || found.error().code() != model::ErrorCode::kUnsupported) return found;
  }
  return model::Unsupported(
      "the virtual chunk {} is outside the source tree; --allow-urls {} "
      "allows it",
      model::Quote(url), model::OneLine(PrefixToAllow(url)));
}

Result<StoreKey> VirtualChunks::Open(const std::string& url) const {
  if (url.starts_with(kFileScheme)) return OpenFile(url);
  const size_t scheme = url.find("://");
  if (scheme == std::string::npos) {
    return model::BadInput("{} is no URL of a virtual chunk", model::Quote(url));
  }
  // The keys of buckets are written as they are, and these are encoded.
  const bool is_http = url.starts_with("http");
  std::string wanted = is_http ? url : PercentDecodeLeniently(url);
  if (wanted.starts_with("gcs://")) wanted.erase(1, 1);
  const auto* opener = dynamic_cast<const UrlOpener*>(source_.get());
  auto found = opener == nullptr ? model::Unsupported(
                                       "the virtual chunk {}, which "
                                       "--allow-urls does not name",
                                       model::Quote(wanted))
                                 : opener->FindUrl(wanted);
  if (!found && found.error().code() == model::ErrorCode::kUnsupported) {
    return model::Unsupported("{}; --allow-urls {} allows it", found.error().message(),
                              model::OneLine(PrefixToAllow(wanted)));
  }
  return found;
}

Result<ValuePlace> VirtualChunks::Find(const std::string& location,
                                       const Checks& checks) const {
  NDLFS_TRY(const std::string url, Expand(location));
  NDLFS_TRY(StoreKey file, Open(url));
  ValuePlace place{std::move(file.store), std::move(file.key)};
  if (checks.etag.empty() && checks.last_modified_s == 0) return place;
  const std::string memory_key =
      fmt::format("{}\n{}\n{}", url, checks.etag, checks.last_modified_s);
  {
    const model::MutexLock lock(mutex_);
    if (const auto* known = checked_.Find(memory_key)) {
      place.if_match = *known;
      return place;
    }
  }
  NDLFS_TRY(const auto info, place.store->Stat(place.key));
  if (!info) return model::Corrupt("the file {} is not there", model::Quote(url));
  NDLFS_RETURN_IF_ERROR(Check(*info, checks), url);
  place.if_match = info->generation;
  const model::MutexLock lock(mutex_);
  checked_.Put(memory_key, info->generation);
  return place;
}

}  // namespace ndlfs::backends::icechunk
