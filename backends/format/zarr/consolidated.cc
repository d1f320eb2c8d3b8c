// SPDX-License-Identifier: MIT
#include "backends/format/zarr/consolidated.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/base/json.h"
#include "backends/base/json_scan.h"
#include "model/path_name.h"

namespace ndlfs::backends::zarr {
namespace {

using Members = std::vector<JsonMember>;

// The last member called `key`, as parsers take it; null if there is none.
const JsonMember* FindMember(const Members& members, std::string_view key) {
  const auto found = std::find_if(members.rbegin(), members.rend(),
                                  [&](const JsonMember& member) { return member.key == key; });
  return found == members.rend() ? nullptr : &*found;
}

std::string_view TextOf(std::string_view text, const JsonMember& member) {
  return text.substr(member.begin, member.end - member.begin);
}

// The members of the object that is the value of `member`, at their places in
// the whole text.
model::Result<Members> ScanMember(std::string_view text, const JsonMember& member) {
  NDLFS_TRY(Members members, ScanJsonObject(TextOf(text, member)), member.key);
  for (JsonMember& inner : members) {
    inner.begin += member.begin;
    inner.end += member.begin;
  }
  return members;
}

bool IsSoundPath(std::string_view path) {
  for (const std::string_view part : model::SplitPath(path)) {
    if (part.empty() || part == "." || part == ".." || part.find('\0') != part.npos) {
      return false;
    }
  }
  return !path.starts_with('/') && !path.ends_with('/') && path.find("//") == path.npos;
}

std::string_view FileName(std::string_view key) {
  return key.substr(key.find_last_of('/') + 1);  // npos + 1 is 0
}

// Attributes alone make no node.
bool MakesNode(std::string_view key) { return FileName(key) != ".zattrs"; }

bool IsV2Document(std::string_view key) {
  static constexpr std::array kNames = {".zarray", ".zgroup", ".zattrs"};
  return std::find(kNames.begin(), kNames.end(), FileName(key)) != kNames.end();
}

}  // namespace

model::Result<ConsolidatedMetadata> ConsolidatedMetadata::ParseV2(std::string_view text) {
  NDLFS_TRY(const Members top, ScanJsonObject(text));
  const JsonMember* format = FindMember(top, "zarr_consolidated_format");
  if (!format && FindMember(top, "record_size")) {
    return model::Unsupported("kerchunk references in Parquet files, which are not read");
  }
  if (!format || TextOf(text, *format) != "1") {
    return model::BadInput("zarr_consolidated_format: expected 1");
  }
  const JsonMember* metadata = FindMember(top, "metadata");
  if (!metadata) return model::BadInput("\"metadata\" is missing");
  NDLFS_TRY(const Members members, ScanMember(text, *metadata));
  std::vector<Document> documents;
  for (const JsonMember& member : members) {
    if (IsV2Document(member.key)) documents.push_back({member.key, member.begin, member.end});
  }
  return Make(std::move(documents));
}

model::Result<ConsolidatedMetadata> ConsolidatedMetadata::ParseV3(std::string_view text) {
  NDLFS_TRY(const Members top, ScanJsonObject(text));
  const JsonMember* member = FindMember(top, "consolidated_metadata");
  if (!member || TextOf(text, *member) == "null") return ConsolidatedMetadata();
  NDLFS_TRY(const Members consolidated, ScanMember(text, *member));
  const JsonMember* kind = FindMember(consolidated, "kind");
  if (!kind || TextOf(text, *kind) != "\"inline\"") {
    return model::BadInput("consolidated_metadata: kind: expected \"inline\"");
  }
  const JsonMember* metadata = FindMember(consolidated, "metadata");
  if (!metadata) return model::BadInput("consolidated_metadata: \"metadata\" is missing");
  NDLFS_TRY(const Members members, ScanMember(text, *metadata), "consolidated_metadata");
  std::vector<Document> documents;
  for (const JsonMember& node : members) {
    if (node.key.empty()) return model::BadInput("consolidated_metadata: an empty path");
    documents.push_back({node.key + "/zarr.json", node.begin, node.end});
  }
  return Make(std::move(documents));
}

model::Result<ConsolidatedMetadata> ConsolidatedMetadata::Make(
    std::vector<Document> documents) {
  for (const Document& document : documents) {
    if (!IsSoundPath(document.key)) {
      return model::BadInput("consolidated metadata: {} is no path of a node",
                             model::Quote(document.key));
    }
  }
  std::stable_sort(documents.begin(), documents.end(),
                   [](const Document& a, const Document& b) { return a.key < b.key; });
  // If a key occurs twice, the last one counts.
  std::vector<Document> unique;
  for (Document& document : documents) {
    if (!unique.empty() && unique.back().key == document.key) unique.pop_back();
    unique.push_back(std::move(document));
  }
  ConsolidatedMetadata metadata;
  metadata.documents_ = std::move(unique);
  return metadata;
}

uint64_t ConsolidatedMetadata::held_bytes() const {
  uint64_t bytes = documents_.capacity() * sizeof(Document);
  for (const Document& document : documents_) bytes += document.key.capacity();
  return bytes;
}

std::optional<ByteRange> ConsolidatedMetadata::Find(std::string_view key) const {
  const auto found =
      std::lower_bound(documents_.begin(), documents_.end(), key,
                       [](const Document& a, std::string_view b) { return a.key < b; });
  if (found == documents_.end() || found->key != key) return std::nullopt;
  return ByteRange{found->begin, found->end - found->begin};
}

std::vector<std::string> ConsolidatedMetadata::Children(std::string_view path) const {
  const std::string prefix = path.empty() ? "" : std::string(path) + "/";
  const auto before = [](const Document& a, std::string_view b) { return a.key < b; };
  std::vector<std::string> names;
  auto it = std::lower_bound(documents_.begin(), documents_.end(), prefix, before);
  while (it != documents_.end() && it->key.starts_with(prefix)) {
    const size_t slash = it->key.find('/', prefix.size());
    if (slash == std::string::npos) {  // a document of `path` itself
      ++it;
      continue;
    }
    const std::string name = it->key.substr(prefix.size(), slash - prefix.size());
    const auto end = std::lower_bound(it, documents_.end(), prefix + name + '0', before);
    const bool is_node =
        std::any_of(it, end, [&](const Document& document) { return MakesNode(document.key); });
    if (is_node) names.push_back(name);
    it = end;
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool ConsolidatedMetadata::HoldsNodes(std::string_view path) const {
  return !NodesBelow(path, 1).empty();
}

std::vector<std::string> ConsolidatedMetadata::NodesBelow(std::string_view path,
                                                          size_t limit) const {
  const std::string prefix = path.empty() ? "" : std::string(path) + "/";
  auto it = std::lower_bound(documents_.begin(), documents_.end(), prefix,
                             [](const Document& a, std::string_view b) { return a.key < b; });
  std::vector<std::string> nodes;
  for (; it != documents_.end() && it->key.starts_with(prefix); ++it) {
    if (nodes.size() >= limit) break;
    const size_t slash = it->key.rfind('/');
    const bool is_own = it->key.find('/', prefix.size()) == std::string::npos;
    if (!is_own && MakesNode(it->key)) nodes.push_back(it->key.substr(0, slash));
  }
  return nodes;
}

std::string WithoutConsolidated(std::string text) {
  constexpr std::string_view kName = "consolidated_metadata";
  // The name may be written otherwise where something is escaped.
  if (text.find(kName) == text.npos && text.find('\\') == text.npos) return text;
  const auto members = ScanJsonObject(text);
  if (!members) return text;  // parsing says what is wrong
  for (const JsonMember& member : *members) {
    if (member.key != kName) continue;
    return text.replace(member.begin, member.end - member.begin, "null");
  }
  return text;
}

}  // namespace ndlfs::backends::zarr
