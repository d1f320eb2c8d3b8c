// SPDX-License-Identifier: MIT
#include "fs/tree/store_tree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>
#include <variant>

#include "fs/compare/array_digest.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store/store_attributes.h"
#include "fs/tree/store/store_views.h"
#include "fs/tree/store/versions_folder.h"
#include "fs/tree/view/folder_page.h"
#include "fs/tree/view/sums_file.h"
#include "fs/tree/view/view_file.h"
#include "fs/tree/view/view_folder.h"
#include "fs/tree/xattr.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using backends::FileStatus;
using backends::Permissions;
using model::IoError;
using StorePtr = std::shared_ptr<MountedStore>;

constexpr std::string_view kDocumentName = model::kDocumentFileName;
constexpr std::string_view kSourceName = model::kSourceLinkName;

size_t DepthOf(std::string_view path) {
  const auto parts = model::SplitPath(path.starts_with('/') ? path : "/" + std::string(path));
  return parts.size();
}

// "../" for each of `depth` folders.
std::string WayToTop(size_t depth) {
  std::string way;
  for (; depth > 0; --depth) way += "../";
  return way;
}

class DocumentHandle final : public FileHandle {
 public:
  explicit DocumentHandle(std::shared_ptr<const cache::SpilledBytes> text)
      : text_(std::move(text)) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    return text_->Read(offset, out);
  }
  KeptObjects kept() const override { return {{text_.get(), text_->held_bytes()}}; }

 private:
  const std::shared_ptr<const cache::SpilledBytes> text_;
};

// One text of a `.ndl.yaml`.
class DocumentFile final : public TreeNode {
 public:
  DocumentFile(MountContext& context, StorePtr store, std::string path, uint64_t hash,
               const Attributes& attributes)
      : context_(context),
        store_(std::move(store)),
        path_(std::move(path)),
        hash_(hash),
        attributes_(attributes) {}

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const DocumentFile*>(&fresh);
    const bool same = other != nullptr && other->hash_ == hash_ &&
                      other->attributes_.size == attributes_.size;
    return same ? Relation::kUpdated : Relation::kDifferent;
  }

  model::Result<Attributes> Stat() const override { return attributes_; }

  bool IsListedAs(const ListedVersion& version) const override {
    return version.contents == hash_;
  }
  uint64_t ListedFacts() const override { return hash_; }

  model::Result<OpenedFile> Open() override {
    NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
    auto document = context_.documents.Get(store, path_);
    if (!document && document.error().code() == model::ErrorCode::kNotFound) {
      return model::HasChanged(path_);
    }
    if (!document) return model::Propagate(std::move(document).error());
    if ((*document)->hash != hash_) return model::HasChanged(path_);
    return OpenedFile{std::make_shared<const DocumentHandle>((*document)->text), false};
  }
  std::optional<FileVersion> Version() const override {
    return FileVersion{hash_, *attributes_.size};
  }

 private:
  MountContext& context_;
  const StorePtr store_;
  const std::string path_;
  const uint64_t hash_;
  const Attributes attributes_;
};

// The entries of a folder of a store. There may be a million of them, and any
// number of programs that have the folder open: those that have not gone on for
// long have no list, and go on in a new one. A short list stays with its reader.
class ListingReader final : public DirectoryReader {
 public:
  using Listing = StoreServices::Listing;
  using Make = std::function<model::Result<Listing>()>;

  static model::Result<std::unique_ptr<DirectoryReader>> Open(StoreServices& services,
                                                              Make make) {
    std::unique_ptr<ListingReader> reader(new ListingReader(services, std::move(make)));
    NDLFS_RETURN_IF_ERROR(reader->Current());
    return reader;
  }

  model::Result<std::optional<DirectoryEntry>> Next() override {
    NDLFS_TRY(const auto listing, Current());
    if (next_ >= listing->size()) return std::nullopt;
    return (*listing)[next_++];
  }
  void Rewind() override { next_ = 0; }

 private:
  ListingReader(StoreServices& services, Make make)
      : services_(services), make_(std::move(make)) {}

  model::Result<std::shared_ptr<const Listing>> Current() {
    auto listing = listing_.lock();
    if (listing) return listing;
    NDLFS_TRY(Listing made, make_());
    constexpr uint64_t kShort = 4096;
    const uint64_t bytes = HeldBytes(made);
    listing = std::make_shared<const Listing>(std::move(made));
    if (bytes <= kShort) {
      short_listing_ = listing;
    } else {
      services_.listings.Touch(listing, bytes);
    }
    listing_ = listing;
    return listing;
  }

  StoreServices& services_;
  const Make make_;
  std::weak_ptr<const Listing> listing_;
  std::shared_ptr<const Listing> short_listing_;
  size_t next_ = 0;
};

// Stands in place of an object that cannot be shown.
class ErrorFolder final : public DirectoryNode {
 public:
  ErrorFolder(std::string reason, const Attributes& folder, const Attributes& file)
      : reason_(std::move(reason)), folder_(folder), file_(file) {}

  model::Result<Attributes> Stat() const override { return folder_; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    // The reason is what the store said to one caller.
    if (caller_id_ != backends::CallerScope::CurrentId()) return model::HasChanged("lookup");
    if (name == kErrorName) return MakeTextNode(reason_ + "\n", file_);
    return model::NotFound("{}", name);
  }
  bool DependsOnCaller() const override { return caller_id_ != 0; }
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override {
    return MakeListReader({{std::string(kErrorName), S_IFREG}});
  }

 private:
  const std::string reason_;
  const Attributes folder_;
  const Attributes file_;
  const uint64_t caller_id_ = backends::CallerScope::CurrentId();
};

// The folder of a group, an array, or a whole store ("/").
class EntityFolder final : public DirectoryNode {
 public:
  EntityFolder(MountContext& context, StorePtr store, std::string path,
               const Attributes& attributes)
      : context_(context),
        store_(std::move(store)),
        path_(std::move(path)),
        attributes_(attributes) {}

  model::Result<Attributes> Stat() const override { return attributes_; }
  model::Result<TreeNodePtr> Lookup(std::string_view name) const override {
    NDLFS_TRY(const auto folder, OfCaller());
    return folder->Find(name);
  }
  bool MayChange(std::string_view name) const override;
  bool DependsOnCaller() const override { return store_->is_shared(); }
  bool ListsAttributesOf(mode_t type) const override;
  std::optional<ListedFile> FindListed(std::string_view name) const override;
  model::Result<std::unique_ptr<DirectoryReader>> OpenDirectory() const override;
  model::Result<ExtendedAttributes> GetExtendedAttributes() const override;
  model::Result<std::vector<std::string>> ListExtendedAttributes() const override;
  model::Result<std::optional<std::string>> GetExtendedAttribute(
      std::string_view name) const override;

 private:
  bool is_top() const { return path_ == "/"; }
  model::Result<std::string> FindDigest(const MountedStore& store, const Entity& entity) const;
  model::Result<TreeNodePtr> FindSums(const Entity& entity) const;
  // The same folder as the calling thread's caller sees it.
  model::Result<std::shared_ptr<const EntityFolder>> OfCaller() const;
  model::Result<TreeNodePtr> Find(std::string_view name) const;
  model::Failure Absent(std::string_view name, bool is_denied) const;
  std::string Place() const;
  TreeNodePtr MakeSource() const;
  TreeNodePtr MakeErrorPage(std::string_view reason) const;
  model::Result<ListedFile> DescribeDocument(const Entity& entity) const;
  model::Result<TreeNodePtr> FindError(const Entity& entity) const;
  model::Result<TreeNodePtr> FindByName(const EntityPtr& entity, std::string_view name) const;
  model::Result<TreeNodePtr> FindViewNode(const EntityPtr& entity, std::string_view name) const;
  std::string Stem() const;
  model::Result<TreeNodePtr> FindChild(std::string_view name) const;
  model::Result<std::string> NameOf(std::string_view file_name) const;
  bool IsGroupOfTrueName(const std::vector<std::string>& names,
                         std::string_view file_name) const;
  bool IsGroup(std::string_view true_name) const;
  FileStatus StatusOf(const std::string& path) const;
  TreeNodePtr MakeLink(const std::string& path, const backends::Link& link) const;
  model::Result<std::vector<DirectoryEntry>> ListEntries() const;
  void ListGroup(const backends::Hierarchy& hierarchy, const std::vector<std::string>& children,
                 std::vector<DirectoryEntry>& entries) const;

  MountContext& context_;
  const StorePtr store_;
  const std::string path_;  // NDL path name
  const Attributes attributes_;
};

// The reasons for which a store shows nothing but `error.txt`; what remains is
// for the caller to pass on: the path has to be looked up again.
bool IsShown(const model::Error& error) { return error.code() != model::ErrorCode::kStale; }

bool IsNotFound(const model::Result<TreeNodePtr>& found) {
  return !found && found.error().code() == model::ErrorCode::kNotFound;
}

bool IsFolder(const model::Result<TreeNodePtr>& found) {
  return found && std::dynamic_pointer_cast<const DirectoryNode>(*found) != nullptr;
}

model::Result<std::shared_ptr<const EntityFolder>> EntityFolder::OfCaller() const {
  NDLFS_TRY(StorePtr store, context_.catalog.OfCaller(store_));
  return std::make_shared<const EntityFolder>(context_, std::move(store), path_, attributes_);
}

// A file that there would be if the caller might read the metadata is not said to be missing.
model::Failure EntityFolder::Absent(std::string_view name, bool is_denied) const {
  if (is_denied && store_->is_shared()) return IoError(EACCES, std::string(name));
  return model::NotFound("{}", name);
}

model::Result<TreeNodePtr> EntityFolder::Find(std::string_view name) const {
  if (is_top() && name == kSourceName) return MakeSource();
  if (is_top() && name == model::kVersionsFolderName) {
    NDLFS_TRY(TreeNodePtr versions, FindVersionsFolder(context_, store_));
    if (versions) return versions;
  }
  const auto entity = store_->Get(path_);
  if (!entity) {
    if (!IsShown(entity.error())) return model::Propagate(entity.error());
    const std::string text = entity.error().message() + "\n";
    if (name == kErrorName) return MakeTextNode(text, FileAttributes(*store_));
    if (name == kPageName) return MakeErrorPage(text);
    return Absent(name, entity.error().code() == model::ErrorCode::kDenied);
  }
  if (name == kErrorName) return FindError(**entity);
  const bool has_page = (*entity)->is_group() || (*entity)->reader();
  if (name == kPageName && !has_page) return MakeErrorPage((*entity)->ErrorText());
  if ((*entity)->node() == nullptr) return Absent(name, (*entity)->facts().is_denied);
  if (name == kDocumentName) {
    NDLFS_TRY(const ListedFile document, DescribeDocument(**entity));
    return std::make_shared<DocumentFile>(context_, store_, path_, document.version.contents,
                                          document.attributes);
  }
  if (name == model::kSumsFileName) return FindSums(**entity);
  return FindByName(*entity, name);
}

// Has no more permissions than the files whose digests it shows. `error.txt` is left out: it
// may change when another file is read.
model::Result<TreeNodePtr> EntityFolder::FindSums(const Entity& entity) const {
  NDLFS_TRY(const auto entries, ListEntries());
  Attributes attributes = FileAttributes(*store_, entity);
  std::vector<SummedFile> files;
  for (const DirectoryEntry& entry : entries) {
    if (entry.type != S_IFREG || entry.name == kErrorName) continue;
    auto node = Find(entry.name);
    if (IsNotFound(node)) continue;
    if (!node) return model::Propagate(node.error());
    // Only a file whose size is not known takes time, and it is made of this entity alone.
    if ((*node)->StatCost() == TreeNode::Cost::kNothing) {
      NDLFS_TRY(const Attributes of_file, (*node)->StatWhenFound());
      const mode_t mode =
          CommonPermissions(PermissionsOf(attributes), PermissionsOf(of_file)).mode;
      attributes.mode = S_IFREG | (mode & 0444);
      attributes.mtime_ns = std::max(attributes.mtime_ns, of_file.mtime_ns);
    }
    files.push_back({entry.name, *std::move(node)});
  }
  attributes.ctime_ns = attributes.mtime_ns;
  return MakeSumsFile(std::move(files), attributes);
}

// The path of the folder of the store in the mount.
std::string EntityFolder::Place() const {
  std::string place(context_.PlaceOf(store_->path()));
  const std::string& version = store_->version().folder;
  if (!version.empty() && !place.empty()) place += '/';
  return place + version;
}

TreeNodePtr EntityFolder::MakeSource() const {
  std::string target = WayToTop(DepthOf(Place())) + ".ndlfs/source";
  if (!store_->path().empty()) target += "/" + store_->path();
  return MakeSymlinkNode(std::move(target), AttributesOf(store_->status()));
}

TreeNodePtr EntityFolder::MakeErrorPage(std::string_view reason) const {
  const std::string store = store_->Describe();
  return MakeTextNode(WriteErrorPage(model::BaseName(is_top() ? store : path_), reason),
                      FileAttributes(*store_));
}

// A user who may read the data may also read why a part of them cannot be shown.
model::Result<TreeNodePtr> EntityFolder::FindError(const Entity& entity) const {
  std::string text = entity.ErrorText();
  if (text.empty()) return model::NotFound("{}", kErrorName);
  return MakeTextNode(std::move(text), entity.is_array() ? FileAttributes(*store_, entity)
                                                         : FileAttributes(*store_));
}

model::Result<ListedFile> EntityFolder::DescribeDocument(const Entity& entity) const {
  NDLFS_TRY(const auto document, context_.documents.Get(store_, path_));
  Attributes attributes = FileAttributes(*store_, entity);
  attributes.size = document->text->size();
  attributes.mtime_ns = attributes.ctime_ns = std::max(attributes.mtime_ns, document->mtime_ns);
  return ListedFile{attributes, {.contents = document->hash, .facts = document->hash}};
}

// A reserved name is that of a view. Any other is that of a child, or an alias
// of a view.
model::Result<TreeNodePtr> EntityFolder::FindByName(const EntityPtr& entity,
                                                    std::string_view name) const {
  if (model::IsReservedFileName(name)) {
    auto view = FindViewNode(entity, name);
    const bool may_be_child = IsNotFound(view) || (IsFolder(view) && IsGroup(name));
    if (!entity->is_group() || !may_be_child) return view;
    auto child = FindChild(name);
    // The view says why there is none.
    return IsNotFound(child) && IsNotFound(view) ? view : child;
  }
  model::Result<TreeNodePtr> child = model::NotFound("{}", name);
  if (entity->is_group()) child = FindChild(name);
  if (!IsNotFound(child)) return child;
  const std::string view =
      entity->is_group() ? ResolveGroupAlias(Stem(), name) : ResolveAlias(Stem(), name);
  return view.empty() ? child : FindViewNode(entity, view);
}

model::Result<TreeNodePtr> EntityFolder::FindViewNode(const EntityPtr& entity,
                                                      std::string_view name) const {
  // NAME_MAX; the kernel lets longer names through. A constraint of DAP comes out of a URL,
  // which may be longer.
  constexpr size_t kMostBytes = 255;
  constexpr size_t kMostOfConstraint = size_t{32} << 10;
  constexpr std::array<std::string_view, 6> kOfDap = {"].dds", "].dods", "].ascii",
                                                      "].dmr", "].dap",  "].checksums.dap"};
  const bool is_constraint = std::ranges::any_of(
      kOfDap, [&](std::string_view extension) { return name.ends_with(extension); });
  if (name.size() > (is_constraint ? kMostOfConstraint : kMostBytes))
    return IoError(ENAMETOOLONG, model::Quote(name));
  NDLFS_TRY(auto view, FindView(store_, entity, name));
  return MakeViewNode(context_, store_, entity, std::move(view));
}

// The name of this folder; at the top without the extension of the store.
std::string EntityFolder::Stem() const {
  if (!is_top()) return model::EncodeFileName(model::BaseName(path_));
  return std::string(StemOf(store_->place()->name));
}

// A read that fails says so in `error.txt`, although nothing in the source has
// changed, and files can turn out not to be there.
bool EntityFolder::MayChange(std::string_view name) const {
  if (name != kErrorName && name != ".") return false;
  const auto store = context_.catalog.OfCaller(store_);
  if (!store) return true;
  const auto entity = (*store)->Get(path_);
  // Views of arrays and of groups can fail.
  return entity && (*entity)->node() != nullptr;
}

// The kernel cannot keep attributes that hold for one caller alone, and a listing should not
// wait for a server. The files of a group depend on everything in it, and the document of a
// coordinate on its values.
bool EntityFolder::ListsAttributesOf(mode_t type) const {
  if (DependsOnCaller() || context_.source->looks_are_requests()) return false;
  if (type == S_IFDIR) return true;
  const auto entity = store_->Get(path_);
  return entity && (*entity)->is_array() &&
         !std::holds_alternative<model::DimCoord>((*entity)->node()->entity);
}

std::optional<ListedFile> EntityFolder::FindListed(std::string_view name) const {
  const auto entity = store_->Get(path_);
  if (!entity || !(*entity)->is_array()) return std::nullopt;
  if (name == kDocumentName) {
    auto document = DescribeDocument(**entity);
    if (!document || document->version.facts == 0) return std::nullopt;
    return *std::move(document);
  }
  if (name == kErrorName || !(*entity)->reader()) return std::nullopt;
  if (const auto size = FindViewSize(*store_, *entity, name)) {
    return DescribeViewFile(**entity, FileAttributes(*store_, **entity), *size);
  }
  const auto view = FindView(store_, *entity, name);
  if (!view) return std::nullopt;
  const ViewPtr file = FileOf((*view)->node);
  const FileSize size = file ? file->size() : FileSize();
  if (!size) return std::nullopt;
  return DescribeViewFile(**entity, FileAttributes(*store_, **entity, **view), *size,
                          view->get());
}

model::Result<TreeNodePtr> EntityFolder::FindChild(std::string_view file_name) const {
  NDLFS_TRY(const std::string name, NameOf(file_name));
  const std::string path = model::JoinPath(path_, name);
  NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
  if (const auto link = hierarchy->GetLink(path)) return MakeLink(path, *link);
  NDLFS_TRY(const auto look, store_->LookAtFolder(path));
  Attributes attributes = FolderAttributes(StatusOf(path), look.mtime_ns);
  // Listing it and its extended attributes tell what is in the metadata.
  Permissions metadata = look.permissions;
  metadata.mode |= 0111;
  attributes.mode = S_IFDIR | CommonPermissions(PermissionsOf(attributes), metadata).mode;
  return std::make_shared<EntityFolder>(context_, store_, path, attributes);
}

// The status of the directory where the store, if it is a directory, keeps the object at
// `path`; otherwise, or if there is no such directory, the status of the store. All directories
// of a server have the same status.
FileStatus EntityFolder::StatusOf(const std::string& path) const {
  if (store_->is_directory() && !context_.source->looks_are_requests()) {
    const std::string place = store_->path().empty() ? path.substr(1) : store_->path() + path;
    const auto status = context_.source->Stat(place, backends::Follow::kYes);
    if (status && *status && (*status)->is_directory()) return **status;
  }
  return store_->status();
}

// The name of the child whose folder is called `file_name`.
model::Result<std::string> EntityFolder::NameOf(std::string_view file_name) const {
  // A name with a slash in it makes a path that is another object's, too: it
  // has to be one that there is.
  if (!model::IsShortenedFileName(file_name)) {
    std::string name = model::DecodeFileName(file_name);
    if (!name.empty() && name.find('/') == std::string::npos) return name;
  }
  NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
  NDLFS_TRY(const auto names, hierarchy->List(path_));
  for (const std::string& name : names) {
    if (model::EncodeFileName(name) == file_name) return name;
  }
  if (IsGroupOfTrueName(names, file_name)) return std::string(file_name);
  return model::NotFound("{}", file_name);
}

// An archive of `data.zarr` has a group of that name. A lookup also finds it by this name: no
// file in the folder of a group can have the name, and the group comes before a view that is a
// folder. This does not hold for arrays, whose true name could be that of a view.
bool EntityFolder::IsGroupOfTrueName(const std::vector<std::string>& names,
                                     std::string_view file_name) const {
  if (std::find(names.begin(), names.end(), file_name) == names.end()) return false;
  const auto entity = store_->Get(model::JoinPath(path_, file_name));
  return entity && (*entity)->is_group();
}

bool EntityFolder::IsGroup(std::string_view true_name) const {
  const auto hierarchy = store_->Hierarchy();
  if (!hierarchy) return false;
  const auto names = (*hierarchy)->List(path_);
  return names && IsGroupOfTrueName(*names, true_name);
}

TreeNodePtr EntityFolder::MakeLink(const std::string& path, const backends::Link& link) const {
  if (auto text = LinkText(Place(), path, link.target)) {
    return MakeSymlinkNode(*std::move(text), FileAttributes(*store_));
  }
  const std::string reason =
      fmt::format("{}{}: the link to {} leads out of what is mounted", store_->Describe(),
                  model::OneLine(path), model::Quote(link.target));
  return std::make_shared<ErrorFolder>(reason, FolderAttributes(store_->status(), 0),
                                       FileAttributes(*store_));
}

model::Result<std::unique_ptr<DirectoryReader>> EntityFolder::OpenDirectory() const {
  // This node may be gone before the program that has it open.
  NDLFS_TRY(auto self, OfCaller());
  return ListingReader::Open(context_.services,
                             [self = std::move(self)] { return self->ListEntries(); });
}

model::Result<std::vector<DirectoryEntry>> EntityFolder::ListEntries() const {
  std::vector<DirectoryEntry> entries;
  const auto add_file = [&](std::string_view name) {
    entries.push_back({std::string(name), S_IFREG});
  };
  const auto entity = store_->Get(path_);
  if (!entity && !IsShown(entity.error())) return model::Propagate(entity.error());
  const bool has_node = entity && (*entity)->node() != nullptr;
  if (has_node) add_file(kDocumentName);
  if (is_top()) {
    entries.push_back({std::string(kSourceName), S_IFLNK});
  }
  if (!entity || !(*entity)->ErrorText().empty()) add_file(kErrorName);
  if (has_node) {
    std::vector<std::string> children;
    NDLFS_TRY(const auto hierarchy, store_->Hierarchy());
    if ((*entity)->is_group()) {
      NDLFS_TRY(children, hierarchy->List(path_), store_->Describe() + path_);
    }
    for (const ViewName& file : ListShownViews(store_, *entity, children)) {
      if (file.refusal) continue;
      entries.push_back({file.name, file.is_directory ? mode_t{S_IFDIR} : mode_t{S_IFREG}});
    }
    ListGroup(*hierarchy, children, entries);
  }
  return entries;
}

void EntityFolder::ListGroup(const backends::Hierarchy& hierarchy,
                             const std::vector<std::string>& children,
                             std::vector<DirectoryEntry>& entries) const {
  entries.reserve(entries.size() + children.size());
  for (const std::string& name : children) {
    const std::string path = model::JoinPath(path_, name);
    const auto link = hierarchy.GetLink(path);
    const bool is_link = link && LinkText(Place(), path, link->target);
    entries.push_back(
        {model::EncodeFileName(name), is_link ? mode_t{S_IFLNK} : mode_t{S_IFDIR}});
  }
}

model::Result<ExtendedAttributes> EntityFolder::GetExtendedAttributes() const {
  NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
  const auto entity = store->Get(path_);
  if (!entity && !IsShown(entity.error())) return model::Propagate(entity.error());
  if (!entity || (*entity)->node() == nullptr) return ExtendedAttributes();
  return DescribeEntity(store->Describe(), path_, *(*entity)->node(),
                        ListViews(store, *entity));
}

model::Result<std::vector<std::string>> EntityFolder::ListExtendedAttributes() const {
  NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
  const auto entity = store->Get(path_);
  if (!entity && !IsShown(entity.error())) return model::Propagate(entity.error());
  if (!entity || (*entity)->node() == nullptr) return std::vector<std::string>();
  // Which views there are is not asked: a group would have to open the arrays in it. One that
  // is always there, if there are any, is the page.
  std::vector<ViewName> views;
  if ((*entity)->is_group() || (*entity)->reader()) views = {{.name = std::string(kPageName)}};
  return NamesOf(DescribeEntity(store->Describe(), path_, *(*entity)->node(), views));
}

model::Result<std::optional<std::string>> EntityFolder::GetExtendedAttribute(
    std::string_view name) const {
  if (name == kRefAttributeName) {
    const std::string& own = store_->version().ref;
    const std::string& ref = own.empty() ? context_.services.open_options.ref : own;
    return ref.empty() ? std::nullopt : std::optional(ref);
  }
  if (!name.starts_with(kOwnPrefix) && !name.starts_with(kAttributePrefix)) return std::nullopt;
  NDLFS_TRY(const StorePtr store, context_.catalog.OfCaller(store_));
  const auto entity = store->Get(path_);
  if (name != kLoadStatsName && name != kDigestName) {
    if (!entity && !IsShown(entity.error())) return model::Propagate(entity.error());
    if (!entity || (*entity)->node() == nullptr) return std::nullopt;
    const auto views = name == kViewsName ? ListViews(store, *entity) : std::vector<ViewName>();
    auto found = DescribeEntity(store->Describe(), path_, *(*entity)->node(), views, name);
    return found.empty() ? std::nullopt : std::optional(std::move(found[0].second));
  }
  if (!entity || (*entity)->reader() == nullptr) return std::nullopt;
  if (name == kLoadStatsName) return DescribeLoads((*entity)->reader()->counts());
  NDLFS_TRY(std::string digest, FindDigest(*store, **entity));
  return digest;
}

// Programs ask for the length of an attribute first, and then for its value.
model::Result<std::string> EntityFolder::FindDigest(const MountedStore& store,
                                                    const Entity& entity) const {
  if (auto known = entity.KnownDigest()) return *std::move(known);
  // Nobody knows how long elements of variable size are.
  constexpr uint64_t kSomeText = 16;
  const cache::ArrayReader& reader = *entity.reader();
  const uint64_t item = std::max<uint64_t>(reader.spec().dtype.size(), 1);
  const uint64_t each = reader.spec().dtype.is_fixed_size() ? item : kSomeText;
  if (reader.element_count() > context_.services.scan.max_bytes / each) {
    return IoError(EFBIG, store.Describe() + path_ + ": more than --max-scan");
  }
  const auto digest = DigestOf(entity.reader());
  if (!digest) {
    entity.NoteFailure(store.Describe() + path_, digest.error());
    return model::Propagate(digest.error());
  }
  std::string text = HexOf(*digest);
  entity.KeepDigest(text);
  return text;
}

// Whether a path that begins `depth` folders below the mount stays inside.
bool StaysInside(std::string_view path, size_t depth) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == "..") {
      if (depth == 0) return false;
      --depth;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
    begin = end + 1;
  }
  return true;
}

}  // namespace

TreeNodePtr MakeStoreFolder(MountContext& context, std::shared_ptr<MountedStore> store) {
  const FileStatus status = store->status();
  return std::make_shared<EntityFolder>(context, std::move(store), "/",
                                        FolderAttributes(status, 0));
}

model::Result<TreeNodePtr> MakeStoreFile(MountContext& context,
                                         std::shared_ptr<MountedStore> store,
                                         std::string_view object, std::string_view name) {
  NDLFS_TRY(auto entity, store->Get(object));
  if (entity->node() == nullptr) return model::NotFound("{}", object);
  auto view = FindView(store, entity, name);
  if (!view && view.error().code() == model::ErrorCode::kNotFound) {
    const std::string reasons = entity->ErrorText();
    if (!reasons.empty()) context.problems.Report(model::OneLine(reasons));
  }
  if (!view) return model::Propagate(std::move(view).error());
  return MakeViewNode(context, std::move(store), std::move(entity), *std::move(view));
}

TreeNodePtr MakeErrorFolder(std::string reason, const Attributes& folder) {
  Attributes file = folder;
  file.mode = S_IFREG | (folder.mode & 0444);
  return std::make_shared<ErrorFolder>(std::move(reason), folder, file);
}

std::optional<std::string> LinkText(std::string_view store_path, std::string_view path,
                                    std::string_view target) {
  if (target.empty() || target.find('\0') != std::string_view::npos) return std::nullopt;
  std::string text = WayToTop(DepthOf(model::ParentPath(path)));
  if (!target.starts_with('/')) {
    if (!StaysInside(target, DepthOf(store_path))) return std::nullopt;
    return text + std::string(target);
  }
  for (const std::string_view part : model::SplitPath(target)) {
    text += model::EncodeFileName(part) + '/';
  }
  if (text.empty()) return ".";
  text.pop_back();
  return text;
}

}  // namespace ndlfs::fs
