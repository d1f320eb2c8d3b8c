// SPDX-License-Identifier: MIT
#include "backends/format/zarr/metadata_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "backends/base/json_scan.h"
#include "backends/format/json_attributes.h"
#include "backends/store/cancellation.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"
#include "backends/store/partial_listing.h"
#include "backends/store/request_scope.h"
#include "model/path_name.h"

namespace ndlfs::backends::zarr {
namespace {

// Documents may be large where a whole hierarchy is consolidated in them; what
// is parsed into a tree is one node's.
constexpr uint64_t kMaxFileSize = uint64_t{256} << 20;
constexpr uint64_t kMaxDocumentSize = uint64_t{16} << 20;
// Consolidated metadata stay text, with the places of the documents in it.
constexpr uint64_t kBytesOfCopies = 3;

// A smaller zarr.json hardly has copies of others.
constexpr uint64_t kSmallestCopies = 1024;

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

// `files` as those of a group without a document; `prefix` is that of its keys.
void MakeImplicit(bool is_v3, std::string_view prefix, NodeFiles& files) {
  const DocumentName& document = DocumentsOf(is_v3).back();
  files.kind = document.kind;
  files.is_implicit = true;
  files.document = JoinKey(prefix, document.name);
}

}  // namespace

std::string MetadataReader::Key(std::string_view path, std::string_view name) const {
  return JoinKey(JoinKey(prefix_, Relative(path)), name);
}

std::string MetadataReader::ConsolidatedKey(bool is_v3) const {
  return Key("/", is_v3 ? kV3Name : kConsolidatedName);
}

void MetadataReader::ForgetKeptLooks() const { looks_.ForgetKept(); }

void MetadataReader::ForgetLooks() const { RequestScope::ForgetAll(); }

model::Result<void> MetadataReader::LookForNczarrObjects() {
  NDLFS_TRY(const auto marker, looks_.LookInto(prefix_, false)->Find(kNczarrName));
  has_nczarr_objects_ = marker.has_value();
  return {};
}

model::Result<MetadataReader::Root> MetadataReader::LookAtRoot() const {
  NDLFS_TRY(const auto stamp, looks_.LookInto(prefix_, false)->Find(kV3Name));
  return Root{stamp};
}

model::Result<NodeFiles> MetadataReader::FindFiles(const Root& root,
                                                   std::string_view path) const {
  NodeFiles files;
  const auto look = looks_.LookInto(Key(path, ""), root.is_v3());
  bool found = false;
  for (const DocumentName& document : DocumentsOf(root.is_v3())) {
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
  if (const auto known = groups_.Known(prefix)) return *known;
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
  GroupSearch::Rest rest = GroupSearch::ForOne();
  return groups_.Holds(prefix, root.is_v3(), rest);
}

// Whether the nearest node above `path` that has a document is an array; a root
// that is one is not looked at, as its document may be that of all others too.
model::Result<bool> MetadataReader::IsBelowArray(const Root& root,
                                                 std::string_view path) const {
  for (path = model::ParentPath(path); path != "/"; path = model::ParentPath(path)) {
    NDLFS_TRY(const auto key, looks_.FindDocument(Key(path, ""), root.is_v3()));
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
  for (const DocumentName& document : DocumentsOf(root.is_v3())) {
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
  for (const DocumentName& document : DocumentsOf(root.is_v3())) {
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
  NDLFS_TRY(const auto document, looks_.FindDocument(Key("/", ""), root.is_v3()));
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
  for (const std::string& node :
       copy.NodesBelow(Relative(path), GroupSearch::kMaxDirectories)) {
    NDLFS_TRY(const bool is_there, IsThere("/" + node));
    if (is_there) return true;
  }
  return false;
}

model::Result<MetadataReader::Consolidated> MetadataReader::LoadConsolidated(
    const Root& root) const {
  std::optional<ValueInfo> stamp = root.v3;
  if (!root.is_v3()) {
    NDLFS_TRY(stamp, looks_.LookInto(prefix_, false)->Find(kConsolidatedName));
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
  documents.document = documents_.Find(files);
  if (documents.document != nullptr) return {};
  const uint64_t bytes = BytesToParseJson(SizeOf(files, files.document));
  NDLFS_TRY(const auto reading, MetadataTurn::Take(MetadataTurn::ForReading(bytes)));
  NDLFS_TRY(const std::string text, ReadDocumentText(files, files.document));
  NDLFS_TRY(const auto turn, MetadataTurn::Take(bytes));
  const auto apart = files.kind == NodeFiles::Kind::kV3 ? TakeAttributes(text) : std::nullopt;
  if (apart) {
    std::optional<model::Error> left_out;
    auto attributes = ParseAttributeObject(apart->attributes, &left_out);
    auto document = documents_.Parse(apart->rest);
    if (attributes && document) {
      if (left_out) documents.attributes_error = std::move(*left_out).In(Describe(files));
      documents.attributes = *std::move(attributes);
      documents.document = *std::move(document);
      return {};
    }
  }
  NDLFS_TRY(documents.document, documents_.Parse(text));
  documents_.Note(*store_, files, text, documents.document);
  return {};
}

std::vector<std::string> MetadataReader::Files(const NodeFiles& files) const {
  if (files.consolidated) return {ConsolidatedKey(files.kind == NodeFiles::Kind::kV3)};
  std::vector<std::string> keys;
  if (files.is_implicit) {
    // Only the entries of the directory are known. Every caller who may list it knows them.
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

// Zarr does not need these files, so those that cannot be read are left out.
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
                              GroupSearch::Rest& rest) const {
  const std::string prefix = Key(path, "");
  const auto document = keeps_looks ? looks_.FindDocument(prefix, root.is_v3())
                                    : looks_.FindDocumentAlone(prefix, root.is_v3());
  // A node that cannot be looked at is listed; loading it tells the reason.
  if (!document || *document) return true;
  if (root.is_v3() && IsReservedName(model::BaseName(path))) return false;
  return groups_.HoldsWithin(prefix, root.is_v3(), rest);
}

// Asks for the documents of all children at once: the store remembers the answers for a while.
void MetadataReader::LookTogether(const Root& root, std::string_view path,
                                  std::span<const StoreEntry> entries) const {
  std::vector<std::string> keys;
  for (const StoreEntry& entry : entries) {
    if (!entry.is_prefix) continue;
    const std::string prefix = Key(model::JoinPath(path, entry.name), "");
    for (const DocumentName& document : DocumentsOf(root.is_v3())) {
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
  GroupSearch::Rest rest = GroupSearch::ForListing();
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
    if (is_copied || IsListed(root, child, keeps_looks, rest)) names.push_back(entry.name);
  }
  if (!copies_only) return names;
  std::vector<std::string> all;
  std::set_union(names.begin(), names.end(), known.begin(), known.end(),
                 std::back_inserter(all));
  return all;
}

}  // namespace ndlfs::backends::zarr
