// SPDX-License-Identifier: MIT
#include "backends/format/zarr/metadata_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backends/base/json_scan.h"
#include "backends/format/json_attributes.h"
#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/partial_listing.h"
#include "backends/store/source_clock.h"
#include "model/path_name.h"

namespace ndlfs::backends::zarr {
namespace {

// Documents may be large where a whole hierarchy is consolidated in them; what
// is parsed into a tree is one node's.
constexpr uint64_t kMaxFileSize = uint64_t{256} << 20;
constexpr uint64_t kMaxDocumentSize = uint64_t{16} << 20;
// An empty list takes three bytes of text, and forty of memory; a member of an object 150 while
// it is parsed. A grid may list the extents of many chunks.
constexpr size_t kMaxDocumentValues = size_t{512} << 10;
// Consolidated metadata stay text, with the places of what is in them.
constexpr uint64_t kBytesOfCopies = 3;

// A smaller zarr.json hardly has copies of others.
constexpr uint64_t kSmallestCopies = 1024;

constexpr std::string_view kV3Name = "zarr.json";
constexpr std::string_view kConsolidatedName = ".zmetadata";
constexpr std::string_view kAttributesName = ".zattrs";
constexpr std::string_view kNczarrName = ".nczarr";

// Directories that are looked into for a node, and what is in them, before one
// without metadata of its own is taken for no group.
constexpr int kMaxDirectories = 200;
constexpr size_t kMaxEntries = 20'000;
// As many times that much is looked at in vain before a listing takes all other
// directories without metadata for no groups.
constexpr int kMaxSearches = 10;

// "/a/b" -> "a/b"; "/" -> "".
std::string_view Relative(std::string_view path) { return path.substr(1); }

// "a/.zarray" -> "a/.zattrs".
std::string AttributesKey(std::string_view document) {
  return std::string(document.substr(0, document.find_last_of('/') + 1)) + ".zattrs";
}

// A document of v3, and the attributes that it had.
struct WithoutAttributes {
  std::string rest;
  std::string_view attributes;  // an object; in the text that was given
};

// nullopt if there are none, or two, or something is wrong with the text.
std::optional<WithoutAttributes> TakeAttributes(std::string_view text) {
  constexpr size_t kMostMembers = 10'000;
  const auto members = ScanJsonObject(text, kMostMembers);
  if (!members) return std::nullopt;
  const JsonMember* found = nullptr;
  for (const JsonMember& member : *members) {
    if (member.key != "attributes") continue;
    if (found != nullptr) return std::nullopt;
    found = &member;
  }
  if (found == nullptr || text[found->begin] != '{') return std::nullopt;
  std::string rest(text.substr(0, found->begin));
  rest += "{}";
  rest += text.substr(found->end);
  return WithoutAttributes{std::move(rest),
                           text.substr(found->begin, found->end - found->begin)};
}

// The documents that make a node, the one that counts first.
struct Document {
  std::string_view name;
  NodeFiles::Kind kind;
};
std::span<const Document> DocumentsOf(bool is_v3) {
  static constexpr std::array kV2 = {Document{".zarray", NodeFiles::Kind::kV2Array},
                                     Document{".zgroup", NodeFiles::Kind::kV2Group}};
  static constexpr std::array kV3 = {Document{kV3Name, NodeFiles::Kind::kV3}};
  return is_v3 ? std::span<const Document>(kV3) : kV2;
}

// The names of all files that tell of a node; those of documents come first.
std::span<const std::string_view> FilesOfNode(bool is_v3) {
  static constexpr std::array<std::string_view, 3> kV2 = {".zarray", ".zgroup",
                                                          kAttributesName};
  static constexpr std::array<std::string_view, 1> kV3 = {kV3Name};
  return is_v3 ? std::span<const std::string_view>(kV3) : kV2;
}

std::span<const std::string_view> NamesOfDocuments(bool is_v3) {
  return FilesOfNode(is_v3).first(DocumentsOf(is_v3).size());
}

// `files` as those of a group without a document; `prefix` is that of its keys.
void MakeImplicit(bool is_v3, std::string_view prefix, NodeFiles& files) {
  const Document& document = DocumentsOf(is_v3).back();
  files.kind = document.kind;
  files.is_implicit = true;
  files.document = JoinKey(prefix, document.name);
}

// Whether the file would get other times if a program wrote it again now. The clock of file
// times ticks in steps of some milliseconds. The clock of a server is unknown.
bool IsSettled(const ValueInfo& stamp, const Store& store) {
  return stamp.placed_ns != 0 &&
         IsOlderThan(stamp.placed_ns, std::chrono::seconds(2), store.ClockNs());
}

}  // namespace

bool IsReservedName(std::string_view name) {
  return name.find_first_not_of('.') == name.npos || name.starts_with("__") || name == kV3Name;
}

int64_t NodeFiles::mtime_ns() const {
  return std::max(stamp ? stamp->modified_ns : 0,
                  attributes_stamp ? attributes_stamp->modified_ns : 0);
}

std::string MetadataReader::Key(std::string_view path, std::string_view name) const {
  return JoinKey(JoinKey(prefix_, Relative(path)), name);
}

std::string MetadataReader::ConsolidatedKey(bool is_v3) const {
  return Key("/", is_v3 ? kV3Name : kConsolidatedName);
}

class MetadataReader::Look {
 public:
  Look(const Store& store, std::string_view prefix, std::span<const std::string_view> names) {
    Add(store, prefix, names);
  }

  void Add(const Store& store, std::string_view prefix,
           std::span<const std::string_view> names) {
    std::vector<std::string> keys;
    for (const std::string_view name : names) keys.push_back(JoinKey(prefix, name));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    auto found = store.StatMany(views);
    names_.insert(names_.end(), names.begin(), names.end());
    found_.insert(found_.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
  }

  // nullopt also for a name that was not looked at.
  model::Result<std::optional<ValueInfo>> Find(std::string_view name) const {
    const auto at = std::find(names_.begin(), names_.end(), name) - names_.begin();
    const auto i = static_cast<size_t>(at);
    if (i >= found_.size()) return std::nullopt;
    // Remembered or not, the caller was refused it.
    if (!found_[i] && found_[i].error().code() == model::ErrorCode::kDenied) {
      CallerScope::CountDenial();
    }
    return found_[i];
  }
  // Whether a look has failed; it may succeed the next time.
  bool has_errors() const {
    return std::ranges::any_of(found_, [](const auto& found) { return !found; });
  }
  bool has_files() const {
    return std::ranges::any_of(found_, [](const auto& found) { return found && *found; });
  }

 private:
  std::vector<std::string_view> names_;
  std::vector<model::Result<std::optional<ValueInfo>>> found_;
};

// Absent files are looked for by each request, because they may be about to appear.
std::shared_ptr<const MetadataReader::Look> MetadataReader::LookInto(const std::string& prefix,
                                                                     bool is_v3) const {
  RequestScope* const scope = RequestScope::Current();
  if (scope == nullptr) return LookAtFiles(prefix, is_v3);
  const bool is_root = prefix == prefix_;
  const std::string memory_key = (is_root ? "" : is_v3 ? "3" : "2") + prefix;
  if (auto known = scope->Find<Look>(owner_, memory_key)) return known;
  if (!scope->looks_anew()) {
    if (auto known = KnownLook(memory_key)) return known;
  }
  const auto now = std::chrono::steady_clock::now();
  auto look = LookAtFiles(prefix, is_v3);
  if (!look->has_errors() && (is_root || look->has_files())) KeepLook(memory_key, look, now);
  scope->Keep(owner_, memory_key, look);
  return look;
}

// At the root all names may exist: together they tell the kind of the hierarchy.
std::shared_ptr<const MetadataReader::Look> MetadataReader::LookAtFiles(
    const std::string& prefix, bool is_v3) const {
  static constexpr std::array<std::string_view, 6> kAtRoot = {
      kV3Name, ".zarray", ".zgroup", kAttributesName, kConsolidatedName, kNczarrName};
  static constexpr std::array<std::string_view, 2> kV2Array = {".zarray", kAttributesName};
  static constexpr std::array<std::string_view, 1> kV2Group = {".zgroup"};
  if (prefix == prefix_ && trusts_copies_) {
    if (auto look = LookForCopies(prefix)) return look;
  }
  if (prefix == prefix_) return std::make_shared<const Look>(*store_, prefix, kAtRoot);
  if (is_v3 || trusts_copies_) {
    return std::make_shared<const Look>(*store_, prefix, FilesOfNode(is_v3));
  }
  // Most nodes are arrays: the document of a group would not count there.
  auto look = std::make_shared<Look>(*store_, prefix, kV2Array);
  const auto array = look->Find(kV2Array.front());
  if (array && !*array) look->Add(*store_, prefix, kV2Group);
  return look;
}

std::shared_ptr<const MetadataReader::Look> MetadataReader::KnownLook(
    std::string_view key) const {
  const model::MutexLock lock(mutex_);
  const KeptLook* kept = looks_.Find(key);
  if (kept == nullptr || kept->looked_at < looks_hold_from_) return nullptr;
  const bool holds = std::chrono::steady_clock::now() - kept->looked_at < search_holds_;
  return holds ? kept->look : nullptr;
}

// Another thread may have looked later, and kept that first.
void MetadataReader::KeepLook(const std::string& key, std::shared_ptr<const Look> look,
                              std::chrono::steady_clock::time_point looked_at) const {
  if (search_holds_.count() <= 0) return;
  const model::MutexLock lock(mutex_);
  const KeptLook* kept = looks_.Find(key);
  if (kept != nullptr && looked_at < kept->looked_at) return;
  looks_.Put(key, {std::move(look), looked_at});
}

void MetadataReader::ForgetKeptLooks() const {
  const model::MutexLock lock(mutex_);
  looks_hold_from_ = std::chrono::steady_clock::now();
}

// Where each look is a request: what spares all others, if it is there.
std::shared_ptr<const MetadataReader::Look> MetadataReader::LookForCopies(
    const std::string& prefix) const {
  static constexpr std::array<std::string_view, 2> kNames = {kV3Name, kConsolidatedName};
  auto look = std::make_shared<const Look>(*store_, prefix, kNames);
  const auto is_there = [&](std::string_view name) {
    const auto found = look->Find(name);
    return found && *found;
  };
  return is_there(kV3Name) || is_there(kConsolidatedName) ? look : nullptr;
}

void MetadataReader::ForgetLooks() const { RequestScope::ForgetAll(); }

model::Result<void> MetadataReader::LookForNczarrObjects() {
  NDLFS_TRY(const auto marker, LookInto(prefix_, false)->Find(kNczarrName));
  has_nczarr_objects_ = marker.has_value();
  return {};
}

model::Result<MetadataReader::Root> MetadataReader::LookAtRoot() const {
  NDLFS_TRY(const auto stamp, LookInto(prefix_, false)->Find(kV3Name));
  return Root{stamp};
}

model::Result<NodeFiles> MetadataReader::FindFiles(const Root& root,
                                                   std::string_view path) const {
  NodeFiles files;
  const auto look = LookInto(Key(path, ""), root.is_v3());
  bool found = false;
  for (const Document& document : DocumentsOf(root.is_v3())) {
    NDLFS_TRY(files.stamp, look->Find(document.name));
    found = files.stamp.has_value();
    if (!found) continue;
    files.kind = document.kind;
    files.document = Key(path, document.name);
    break;
  }
  if (!found && path != "/") {
    NDLFS_TRY(found, IsImplicitGroup(root, path));
    if (found) MakeImplicit(root.is_v3(), Key(path, ""), files);
  }
  if (found && !root.is_v3()) {
    NDLFS_TRY(files.attributes_stamp, look->Find(kAttributesName));
  }
  return files;
}

// Whether the directory at `path`, which has no metadata, is a group.
model::Result<bool> MetadataReader::IsImplicitGroup(const Root& root,
                                                    std::string_view path) const {
  if (root.is_v3() && IsReservedName(model::BaseName(path))) return false;
  const std::string prefix = Key(path, "");
  if (const auto known = KnownToHoldNodes(prefix)) return *known;
  // Many arrays may name the same dimension that has no coordinate.
  struct Nothing {};
  RequestScope* const scope = RequestScope::Current();
  const std::string memory_key = "/" + prefix;
  if (scope != nullptr && scope->Find<Nothing>(owner_, memory_key)) return false;
  NDLFS_TRY(const auto first, ListSome(*store_, prefix, 1));
  if (first.empty()) {
    if (scope != nullptr) scope->Keep(owner_, memory_key, std::make_shared<const Nothing>());
    return false;
  }
  NDLFS_TRY(const bool is_chunks, IsBelowArray(root, path));
  if (is_chunks) return false;
  Search search{kMaxDirectories, kMaxEntries, std::nullopt};
  return HoldsNodes(root, prefix, search);
}

// Whether the nearest node above `path` that has a document is an array; a root
// that is one is not looked at, as its document may be that of all others too.
model::Result<bool> MetadataReader::IsBelowArray(const Root& root,
                                                 std::string_view path) const {
  for (path = model::ParentPath(path); path != "/"; path = model::ParentPath(path)) {
    NDLFS_TRY(const auto key, FindDocument(root, Key(path, "")));
    if (!key) continue;
    if (!root.is_v3()) return key->ends_with(".zarray");
    NodeFiles files;
    files.kind = NodeFiles::Kind::kV3;
    files.document = *key;
    const auto text = ReadDocumentText(files, *key);
    if (!text) return false;
    const auto document = ParseJson(*text, kMaxDocumentValues);
    if (!document) return false;
    const auto type = RequireMember(*document, "node_type");
    return type && **type == "array";
  }
  return false;
}

// The document of a node right at `prefix`.
model::Result<std::optional<std::string>> MetadataReader::FindDocument(
    const Root& root, const std::string& prefix) const {
  const auto look = LookInto(prefix, root.is_v3());
  for (const Document& document : DocumentsOf(root.is_v3())) {
    NDLFS_TRY(const auto stamp, look->Find(document.name));
    if (stamp) return JoinKey(prefix, document.name);
  }
  return std::nullopt;
}

model::Result<std::optional<std::string>> MetadataReader::FindDocumentAlone(
    const Root& root, const std::string& prefix) const {
  for (const Document& document : DocumentsOf(root.is_v3())) {
    std::string key = JoinKey(prefix, document.name);
    NDLFS_TRY(const auto stamp, store_->Stat(key));
    if (stamp) return key;
  }
  return std::nullopt;
}

// A node that was found below `prefix` has to be still there, for all that can be seen.
std::optional<bool> MetadataReader::KnownToHoldNodes(const std::string& prefix) const {
  std::string document;
  {
    const model::MutexLock lock(witnesses_mutex_);
    const Witness* known = witnesses_.Find(prefix);
    if (known == nullptr) return std::nullopt;
    document = known->document;
    const auto age = std::chrono::steady_clock::now() - known->found_at;
    if (document.empty()) return age < search_holds_ ? std::optional(false) : std::nullopt;
  }
  const auto stamp = store_->Stat(document);
  return stamp && *stamp ? std::optional(true) : std::nullopt;
}

// Whether there is a node somewhere below `prefix`.
model::Result<bool> MetadataReader::HoldsNodes(const Root& root, const std::string& prefix,
                                               Search& search) const {
  if (const auto known = KnownToHoldNodes(prefix)) return *known;
  const auto now = std::chrono::steady_clock::now();
  const uint64_t denials = CallerScope::denials();
  const bool is_whole = search.directories >= kMaxDirectories && search.entries >= kMaxEntries;
  auto found = FindNodeBelow(root, prefix, search);
  const model::MutexLock lock(witnesses_mutex_);
  if (found) {
    witnesses_.Put(prefix, {*std::move(found), now});
    return true;
  }
  witnesses_.Erase(prefix);
  if (search.error) return model::Propagate(*search.error);
  // A refused directory may be permitted the next time, and the rest of a search is no whole
  // search.
  if (is_whole && CallerScope::denials() == denials) witnesses_.Put(prefix, {"", now});
  return false;
}

// The document of the first node that is found below `prefix`, level by level. A heap of other
// files is no group, and not all of it is searched. Directories that cannot be read are
// skipped, because others at the same level may have nodes.
std::optional<std::string> MetadataReader::FindNodeBelow(const Root& root,
                                                         const std::string& prefix,
                                                         Search& search) const {
  if (search.directories <= 0 || search.entries == 0) return std::nullopt;
  const auto entries = ListSome(*store_, prefix, search.entries);
  if (!entries) {
    if (!search.error) search.error = entries.error();
    return std::nullopt;
  }
  search.entries -= entries->size();
  std::vector<std::string> children;
  for (const StoreEntry& entry : *entries) {
    const bool may_be_node = entry.is_prefix && !(root.is_v3() && IsReservedName(entry.name));
    if (!may_be_node || --search.directories < 0) continue;
    children.push_back(JoinKey(prefix, entry.name));
    auto found = FindDocument(root, children.back());
    if (found && *found) return *std::move(found);
    if (!found && !search.error) search.error = found.error();
  }
  for (const std::string& child : children) {
    if (--search.directories < 0 || search.entries == 0) break;
    if (auto found = FindNodeBelow(root, child, search)) return found;
  }
  return std::nullopt;
}

model::Result<NodeFiles> MetadataReader::Find(const Root& root, std::string_view path) const {
  if (trusts_copies_ && path != "/") {
    NDLFS_TRY(NodeFiles copied, FindConsolidated(root, path));
    if (copied.kind != NodeFiles::Kind::kNone) return copied;
    return FindFiles(root, path);
  }
  NDLFS_TRY(NodeFiles files, FindFiles(root, path));
  if (files.kind != NodeFiles::Kind::kNone) return files;
  return FindConsolidated(root, path);
}

model::Result<NodeFiles> MetadataReader::FindConsolidated(const Root& root,
                                                          std::string_view path) const {
  NDLFS_TRY(const Consolidated consolidated, LoadConsolidated(root));
  NodeFiles files;
  if (!consolidated.metadata) {
    // At the root of v2, nothing else says what this is.
    if (path == "/" && consolidated.error) return model::Propagate(*consolidated.error);
    return files;
  }
  for (const Document& document : DocumentsOf(root.is_v3())) {
    const std::string key = JoinKey(Relative(path), document.name);
    if (files.kind != NodeFiles::Kind::kNone || !consolidated.metadata->Find(key)) continue;
    files.kind = document.kind;
    files.document = key;
  }
  NDLFS_TRY(const bool copies_only, HasCopiesOnly(root));
  if (files.kind == NodeFiles::Kind::kNone) {
    NDLFS_TRY(const bool is_implicit,
              IsImplicitInCopy(*consolidated.metadata, path, copies_only));
    if (is_implicit) MakeImplicit(root.is_v3(), Relative(path), files);
  }
  if (files.kind == NodeFiles::Kind::kNone) {
    if (path != "/" || !copies_only) return files;
    return model::BadInput("{}: there is no group or array in it",
                           store_->Describe(ConsolidatedKey(false)));
  }
  if (!copies_only) {
    NDLFS_TRY(const bool is_there, IsThere(path));
    if (!is_there) return NodeFiles();
  }
  files.consolidated = consolidated.metadata;
  files.stamp = consolidated.stamp;
  return files;
}

// Whether the directory at `path`, which is known to the copy, is a node by that.
bool MetadataReader::IsInCopy(const Root& root, const ConsolidatedMetadata& copy,
                              std::string_view path, bool copies_only) const {
  for (const Document& document : DocumentsOf(root.is_v3())) {
    if (copy.Find(JoinKey(Relative(path), document.name))) return true;
  }
  return IsImplicitInCopy(copy, path, copies_only).value_or(true);
}

// Whether this is a hierarchy of v2 that has no metadata but consolidated ones.
model::Result<bool> MetadataReader::HasCopiesOnly(const Root& root) const {
  if (trusts_copies_) {
    NDLFS_TRY(const Consolidated consolidated, LoadConsolidated(root));
    return consolidated.metadata != nullptr;
  }
  if (root.is_v3()) return false;
  NDLFS_TRY(const auto document, FindDocument(root, Key("/", "")));
  return !document;
}

// Where there are files, a consolidated copy does not count for a node that has
// been deleted since.
model::Result<bool> MetadataReader::IsThere(std::string_view path) const {
  NDLFS_TRY(const auto entries, ListSome(*store_, JoinKey(prefix_, Relative(path)), 1));
  return !entries.empty();
}

// Whether the copy shows that the directory at `path` is a group: by a node below
// it that has not been deleted since.
model::Result<bool> MetadataReader::IsImplicitInCopy(const ConsolidatedMetadata& copy,
                                                     std::string_view path,
                                                     bool copies_only) const {
  if (copies_only) return copy.HoldsNodes(Relative(path));
  for (const std::string& node : copy.NodesBelow(Relative(path), kMaxDirectories)) {
    NDLFS_TRY(const bool is_there, IsThere("/" + node));
    if (is_there) return true;
  }
  return false;
}

model::Result<MetadataReader::Consolidated> MetadataReader::LoadConsolidated(
    const Root& root) const {
  std::optional<ValueInfo> stamp = root.v3;
  if (!root.is_v3()) {
    NDLFS_TRY(stamp, LookInto(prefix_, false)->Find(kConsolidatedName));
  }
  if (!stamp) return Consolidated();
  if (auto known = KnownConsolidated(stamp)) return *std::move(known);
  // One thread reads and parses; others that need this version wait for it. Those that know
  // another version do not.
  const model::MutexLock parsing(parse_mutex_);
  if (auto known = KnownConsolidated(stamp)) return *std::move(known);
  if (root.is_v3() && stamp->size < kSmallestCopies) {
    store_->LookAhead(prefix_, FilesOfNode(true), FilesOfNode(true));
  }
  Consolidated consolidated{stamp, nullptr, std::nullopt};
  auto parsed = ParseConsolidated(root, *stamp);
  if (!parsed && parsed.error().is_transient()) {
    return model::Propagate(std::move(parsed).error());
  }
  // A zarr.json without copies is no consolidated metadata.
  if (parsed && root.is_v3() && parsed->empty()) {
    consolidated_bytes_ = 0;
  } else if (parsed) {
    consolidated.metadata = std::make_shared<const ConsolidatedMetadata>(*std::move(parsed));
    consolidated_bytes_ = consolidated.metadata->held_bytes();
  } else {
    consolidated.error =
        std::move(parsed).error().In(store_->Describe(ConsolidatedKey(root.is_v3())));
  }
  const model::MutexLock lock(mutex_);
  consolidated_ = consolidated;
  return consolidated;
}

// Where looks are requests: asks for the files of the root and of its children together, unless
// there are copies of them.
void MetadataReader::LookAhead(const NodeFiles& root) const {
  if (!trusts_copies_) return;
  const bool is_v3 = root.kind == NodeFiles::Kind::kV3;
  const auto copies = LoadConsolidated({is_v3 ? root.stamp : std::nullopt});
  if (!copies || copies->metadata) return;
  store_->LookAhead(prefix_, FilesOfNode(is_v3), FilesOfNode(is_v3));
}

std::optional<MetadataReader::Consolidated> MetadataReader::KnownConsolidated(
    const std::optional<ValueInfo>& stamp) const {
  const model::MutexLock lock(mutex_);
  if (consolidated_.stamp != stamp) return std::nullopt;
  return consolidated_;
}

model::Result<ConsolidatedMetadata> MetadataReader::ParseConsolidated(
    const Root& root, const ValueInfo& info) const {
  NDLFS_TRY(const auto reading,
            MetadataTurn::Take(MetadataTurn::ForReading(kBytesOfCopies * info.size)));
  NDLFS_TRY(const auto value, store_->Get(ConsolidatedKey(root.is_v3()), kMaxFileSize,
                                          {.if_match = info.generation}));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(kBytesOfCopies * info.size));
  if (!value) return model::Stale("it is gone");
  const std::string_view text = AsText(value->bytes.span());
  return root.is_v3() ? ConsolidatedMetadata::ParseV3(text)
                      : ConsolidatedMetadata::ParseV2(text);
}

// Reads the version that was found, because the places of copies hold for that version only.
model::Result<std::string> MetadataReader::ReadText(const NodeFiles& files,
                                                    std::string_view key) const {
  const auto read = [&](const std::string& from, ByteRange range,
                        const std::optional<ValueInfo>& info) -> model::Result<std::string> {
    ReadOptions options{.range = range};
    // A longer document includes the metadata of other nodes.
    const bool may_be_long = files.kind == NodeFiles::Kind::kV3;
    if (info && !may_be_long && !files.consolidated && info->size > kMaxDocumentSize) {
      return model::Limit("{} bytes of metadata, at most {} are accepted", info->size,
                          kMaxDocumentSize);
    }
    if (info) options.if_match = info->generation;
    NDLFS_TRY(const auto value, store_->Get(from, kMaxFileSize, options));
    if (!value && info) return model::Stale("it is gone");
    return value ? std::string(AsText(value->bytes.span())) : std::string();
  };
  if (files.consolidated) {
    const auto place = files.consolidated->Find(key);
    if (!place) return std::string();
    return read(ConsolidatedKey(files.kind == NodeFiles::Kind::kV3), *place, files.stamp);
  }
  return read(std::string(key), {},
              key == files.document ? files.stamp : files.attributes_stamp);
}

model::Result<std::string> MetadataReader::ReadDocumentText(const NodeFiles& files,
                                                            std::string_view key) const {
  NDLFS_TRY(std::string text, ReadText(files, key));
  if (files.kind == NodeFiles::Kind::kV3) text = WithoutConsolidated(std::move(text));
  if (text.size() > kMaxDocumentSize) {
    return model::Limit("{} bytes of metadata, at most {} are accepted", text.size(),
                        kMaxDocumentSize);
  }
  return text;
}

uint64_t MetadataReader::SizeOf(const NodeFiles& files, std::string_view key) {
  if (files.consolidated) {
    const auto place = files.consolidated->Find(key);
    return place ? place->length : 0;
  }
  const auto& stamp = key == files.document ? files.stamp : files.attributes_stamp;
  return stamp ? stamp->size : 0;
}

model::Result<Json> MetadataReader::ReadAttributes(
    const NodeFiles& files, std::string_view key, std::optional<model::Error>& left_out) const {
  const uint64_t bytes = BytesToParseJson(SizeOf(files, key));
  NDLFS_TRY(const auto reading, MetadataTurn::Take(MetadataTurn::ForReading(bytes)));
  NDLFS_TRY(const std::string text, ReadDocumentText(files, key));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(bytes));
  return ParseAttributeObject(text, &left_out);
}

// The arrays of a group mostly differ in their attributes alone. Without these they share a
// document of v3, as in v2. A document that cannot be parsed in this way is parsed as a whole,
// which tells the error.
model::Result<void> MetadataReader::ReadDocument(const NodeFiles& files,
                                                 NodeDocuments& documents) const {
  documents.document = KnownDocument(files);
  if (documents.document != nullptr) return {};
  const uint64_t bytes = BytesToParseJson(SizeOf(files, files.document));
  NDLFS_TRY(const auto reading, MetadataTurn::Take(MetadataTurn::ForReading(bytes)));
  NDLFS_TRY(const std::string text, ReadDocumentText(files, files.document));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(bytes));
  const auto apart = files.kind == NodeFiles::Kind::kV3 ? TakeAttributes(text) : std::nullopt;
  if (apart) {
    std::optional<model::Error> left_out;
    auto attributes = ParseAttributeObject(apart->attributes, &left_out);
    auto document = ParseDocument(apart->rest);
    if (attributes && document) {
      if (left_out) documents.attributes_error = std::move(*left_out).In(Describe(files));
      documents.attributes = *std::move(attributes);
      documents.document = *std::move(document);
      return {};
    }
  }
  NDLFS_TRY(documents.document, ParseDocument(text));
  if (text.size() > kLongestSharedText) return {};
  const model::MutexLock lock(mutex_);
  NoteDocument(files, documents.document);
  return {};
}

model::Result<std::shared_ptr<const SharedDocument>> MetadataReader::ParseDocument(
    const std::string& text) const {
  {
    const model::MutexLock lock(mutex_);
    if (const auto* known = documents_.Find(text)) return *known;
  }
  NDLFS_TRY(Json json, ParseJson(text, kMaxDocumentValues));
  auto document = std::make_shared<const SharedDocument>(std::move(json));
  if (text.size() > kLongestSharedText) return document;
  const model::MutexLock lock(mutex_);
  documents_.Put(text, document, text.size());
  return document;
}

// Hashes the name of the document and its version: all files of an archive have one version.
uint64_t MetadataReader::HashOf(const NodeFiles& files) const {
  return Generation::OfTag(files.document).hash(files.stamp->generation.hash(seed_));
}

// On a mount for others, each caller opens the file itself.
std::shared_ptr<const SharedDocument> MetadataReader::KnownDocument(
    const NodeFiles& files) const {
  if (!files.stamp || files.consolidated || CallerScope::Current() != nullptr) return nullptr;
  const model::MutexLock lock(mutex_);
  const auto known = known_documents_.find(HashOf(files));
  return known == known_documents_.end() ? nullptr : known->second.lock();
}

void MetadataReader::NoteDocument(const NodeFiles& files,
                                  const std::shared_ptr<const SharedDocument>& document) const {
  if (!files.stamp || files.consolidated || !IsSettled(*files.stamp, *store_)) return;
  if (known_documents_.size() >= kMostKnownDocuments) known_documents_.clear();
  known_documents_[HashOf(files)] = document;
}

std::vector<std::string> MetadataReader::Files(const NodeFiles& files) const {
  if (files.consolidated) return {ConsolidatedKey(files.kind == NodeFiles::Kind::kV3)};
  std::vector<std::string> keys;
  if (files.is_implicit) {
    // Only the entries of the directory are known, and whoever may list it knows them.
    keys.emplace_back(model::ParentPath("/" + files.document).substr(1));
  } else {
    keys.push_back(files.document);
  }
  if (files.attributes_stamp) {
    const size_t name = files.document.rfind('/') + 1;  // npos + 1 is 0
    keys.push_back(files.document.substr(0, name) + ".zattrs");
  }
  return keys;
}

std::string MetadataReader::Describe(const NodeFiles& files) const {
  if (!files.consolidated) return store_->Describe(files.document);
  return fmt::format("{}: {}",
                     store_->Describe(ConsolidatedKey(files.kind == NodeFiles::Kind::kV3)),
                     files.document);
}

// They are an addition to what Zarr needs: what cannot be read is left out.
Json MetadataReader::ReadSeparate(const NodeFiles& files, std::string_view path) const {
  struct Object {
    const char* role;
    const char* name;
  };
  static constexpr std::array kArrayObjects = {Object{"array", ".nczarray"},
                                               Object{"array", ".nczvar"}};
  static constexpr std::array kOtherObjects = {
      Object{"group", ".nczgroup"}, Object{"attr", ".nczattr"}, Object{"attr", ".nczattrs"}};
  Json separate = Json::object();
  const auto read = [&](const Object& object) {
    if (separate.contains(object.role)) return;
    const auto size = store_->Size(Key(path, object.name));
    if (!size || !*size) return;
    const uint64_t needed = BytesToParseJson(**size);
    const auto reading = MetadataTurn::Take(MetadataTurn::ForReading(needed));
    if (!reading) return;
    const auto bytes = store_->Read(Key(path, object.name), kMaxDocumentSize);
    if (!bytes || !*bytes) return;
    const auto turn = MetadataTurn::Take(needed);
    if (!turn) return;
    if (auto json = ParseJson(AsText((*bytes)->span()), kMaxDocumentValues))
      separate[object.role] = *json;
  };
  if (files.kind == NodeFiles::Kind::kV2Array) {
    for (const Object& object : kArrayObjects) read(object);
  }
  for (const Object& object : kOtherObjects) read(object);
  return separate;
}

model::Result<NodeDocuments> MetadataReader::Read(const NodeFiles& files,
                                                  std::string_view path) const {
  if (path == "/" && !files.consolidated) LookAhead(files);
  NodeDocuments documents;
  if (files.is_implicit) {
    documents.document = std::make_shared<const SharedDocument>(
        files.kind == NodeFiles::Kind::kV3 ? Json{{"zarr_format", 3}, {"node_type", "group"}}
                                           : Json{{"zarr_format", 2}});
  } else {
    NDLFS_RETURN_IF_ERROR(ReadDocument(files, documents), Describe(files));
  }
  if (files.kind == NodeFiles::Kind::kV3) return documents;
  if (has_nczarr_objects_) {
    documents.separate = ReadSeparate(files, path);
    // Parts that were left out because nobody waits for this answer must not be missing for
    // others.
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  }
  const std::string key = AttributesKey(files.document);
  const bool has_attributes = files.consolidated ? files.consolidated->Find(key).has_value()
                                                 : files.attributes_stamp.has_value();
  if (!has_attributes) return documents;
  std::optional<model::Error> left_out;
  auto attributes = ReadAttributes(files, key, left_out);
  if (attributes && attributes->is_object()) {
    documents.attributes = *std::move(attributes);
    if (left_out) {
      documents.attributes_error =
          std::move(*left_out).In(store_->Describe(Key(path, kAttributesName)));
    }
    return documents;
  }
  if (!attributes && attributes.error().code() == model::ErrorCode::kStale) {
    return model::Propagate(std::move(attributes).error());
  }
  model::Error error =
      attributes
          ? model::BadInput("expected an object, found {}", DescribeJson(*attributes)).value()
          : std::move(attributes).error();
  documents.attributes_error = std::move(error).In(store_->Describe(Key(path, ".zattrs")));
  return documents;
}

// Whether a group lists the directory at `path`. Looking for nodes in directories
// that have none takes from `rest`, which is for all children of the group.
bool MetadataReader::IsListed(const Root& root, std::string_view path, bool keeps_looks,
                              Search& rest) const {
  const std::string prefix = Key(path, "");
  const auto document =
      keeps_looks ? FindDocument(root, prefix) : FindDocumentAlone(root, prefix);
  // A node that cannot be looked at is listed; loading it tells the reason.
  if (!document || *document) return true;
  if (root.is_v3() && IsReservedName(model::BaseName(path))) return false;
  const Search given{std::min(kMaxDirectories, std::max(rest.directories, 0)),
                     std::min(kMaxEntries, rest.entries), std::nullopt};
  Search search = given;
  if (HoldsNodes(root, prefix, search).value_or(false)) return true;
  rest.directories -= given.directories - std::max(search.directories, 0);
  rest.entries -= given.entries - search.entries;
  return false;
}

// Asks for the documents of all children at once: the store remembers the answers for a while.
void MetadataReader::LookTogether(const Root& root, std::string_view path,
                                  std::span<const StoreEntry> entries) const {
  std::vector<std::string> keys;
  for (const StoreEntry& entry : entries) {
    if (!entry.is_prefix) continue;
    const std::string prefix = Key(model::JoinPath(path, entry.name), "");
    for (const Document& document : DocumentsOf(root.is_v3())) {
      keys.push_back(JoinKey(prefix, document.name));
    }
    if (!root.is_v3()) keys.push_back(JoinKey(prefix, kAttributesName));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  (void)store_->StatMany(views);
}

model::Result<std::vector<std::string>> MetadataReader::Children(const Root& root,
                                                                 std::string_view path) const {
  NDLFS_TRY(const Consolidated consolidated, LoadConsolidated(root));
  NDLFS_TRY(const bool copies_only, HasCopiesOnly(root));
  std::vector<std::string> known;
  if (consolidated.metadata) {
    known = consolidated.metadata->Children(Relative(path));
  }
  if (trusts_copies_ && consolidated.metadata) return known;
  NDLFS_TRY(const auto entries, store_->List(JoinKey(prefix_, Relative(path))));
  if (trusts_copies_) LookTogether(root, path, entries);
  std::vector<std::string> names;
  const bool keeps_looks = trusts_copies_ || entries.size() < RequestScope::kMost;
  std::vector<bool> have_documents(entries.size());
  if (!keeps_looks) {
    have_documents = store_->KnownToHold(JoinKey(prefix_, Relative(path)), entries,
                                         NamesOfDocuments(root.is_v3()));
  }
  Search search{kMaxSearches * kMaxDirectories, kMaxSearches * kMaxEntries, std::nullopt};
  for (size_t i = 0; i < entries.size(); ++i) {
    const StoreEntry& entry = entries[i];
    if (!entry.is_prefix) continue;
    if (have_documents[i]) {
      names.push_back(entry.name);
      continue;
    }
    const bool is_known = std::binary_search(known.begin(), known.end(), entry.name);
    const std::string child = model::JoinPath(path, entry.name);
    const bool is_copied =
        is_known && IsInCopy(root, *consolidated.metadata, child, copies_only);
    if (is_copied || IsListed(root, child, keeps_looks, search)) names.push_back(entry.name);
  }
  if (!copies_only) return names;
  std::vector<std::string> all;
  std::set_union(names.begin(), names.end(), known.begin(), known.end(),
                 std::back_inserter(all));
  return all;
}

}  // namespace ndlfs::backends::zarr
