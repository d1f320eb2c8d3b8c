// SPDX-License-Identifier: MIT
#include "backends/format/icechunk/virtual_chunks.h"

#include <fmt/format.h>

#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/format/icechunk/ref.h"
#include "backends/store/keys.h"

namespace ndlfs::backends::icechunk {
namespace {

using model::Result;

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
