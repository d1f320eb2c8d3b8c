// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/hdf5.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "backends/format/cfa/cfa.h"
#include "backends/format/hdf5/dataset_source.h"
#include "backends/format/hdf5/external_store.h"
#include "backends/format/hdf5/file.h"
#include "backends/format/hdf5/node_builder.h"
#include "backends/format/hdf5/virtual_source.h"
#include "backends/format/node_cache.h"
#include "backends/store/file_name.h"
#include "backends/store/read_set.h"
#include "model/bounded_map.h"
#include "model/mutex.h"
#include "model/path_name.h"
#include "model/string_hash.h"

namespace ndlfs::backends {
namespace hdf5 {
namespace {

using model::Result;

// Bytes of listings that are kept: readdir asks GetLink() of every child, and a view that is
// made of all of them asks for their names again.
constexpr size_t kKeptListingBytes = size_t{32} << 20;
// More links than this one after the other are a loop.
constexpr int kMaxHops = 32;
// Sources of a virtual dataset that Version() looks at.
constexpr size_t kWatchedSources = 64;

std::string_view WithoutSlash(std::string_view path) {
  return path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

std::string Repeat(std::string_view text, size_t count) {
  std::string repeated;
  while (count-- > 0) repeated += text;
  return repeated;
}

class Hdf5Hierarchy final : public Hierarchy {
 public:
  Hdf5Hierarchy(std::shared_ptr<const Source> source, std::string path,
                const OpenOptions& options)
      : source_(std::move(source)),
        path_(std::move(path)),
        watch_(OpenOwn()),
        options_(options) {
    own_reads_->Add(watch_, "", ReadSet::Unknown());
  }

  std::string_view format() const override { return "HDF5"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    return WithFile<std::shared_ptr<const Node>>(
        [&](const OpenedFile& opened) { return LoadFrom(opened, path); });
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    return WithFile<std::vector<std::string>>([&](const OpenedFile& opened) {
      return ListFrom(opened, std::string(WithoutSlash(path)));
    });
  }

  std::optional<Link> GetLink(std::string_view path) const override {
    auto link = WithFile<std::optional<Link>>([&](const OpenedFile& opened) {
      return LinkFrom(opened, std::string(WithoutSlash(path)));
    });
    return link ? *std::move(link) : std::nullopt;
  }

  Result<uint64_t> Version(std::string_view path) const override {
    const auto reads = ReadsOf(path);
    return FingerprintNow(*reads);
  }

  uint64_t held_bytes() const override {
    const model::MutexLock lock(mutex_);
    return opened_ ? opened_->file->held_bytes() + listings_->total_weight() : 0;
  }

  // The file as it is now, opened.
  Result<OpenedFile> Current() const {
    auto opened = TryCurrent();
    for (int i = 0; i < 2 && !opened && opened.error().code() == model::ErrorCode::kStale;
         ++i) {
      opened = TryCurrent();
    }
    return opened;
  }

 private:
  Result<OpenedFile> TryCurrent() const {
    NDLFS_TRY(const auto stamp, watch_->Stat(""));
    if (!stamp) return model::NotFound("the file is gone");
    {
      const model::MutexLock lock(mutex_);
      if (opened_ && opened_->info.generation == stamp->generation) return *opened_;
    }
    // The store keeps to the version that it is opened in.
    const auto store = OpenOwn();
    NDLFS_TRY(auto file, File::Open(store, path_), path_);
    if (file->info().generation != stamp->generation) return model::HasChanged(path_);
    const OpenedFile opened{file, store, file->info(), source_, path_};
    const model::MutexLock lock(mutex_);
    opened_ = opened;
    listings_.emplace(kKeptListingBytes);
    return opened;
  }

  std::shared_ptr<const Store> OpenOwn() const { return source_->OpenFile(path_, Follow::kNo); }

  using Children = std::map<std::string, Child, std::less<>>;
  // The content of a group: the names that are shown, and all objects by their own names.
  struct Listing {
    std::vector<std::string> names;
    Children children;

    size_t held_bytes() const {
      constexpr size_t kOfMap = 64;
      size_t bytes = sizeof(*this) + kOfMap;
      for (const auto& [name, child] : children) {
        bytes += sizeof(child) + 2 * sizeof(name) + kOfMap + 3 * name.size() +
                 child.location.target.size() + child.location.target_file.size();
      }
      return bytes;
    }
  };

  // A file may change between a look at it and the next: then look again.
  template <typename T>
  Result<T> WithFile(const std::function<Result<T>(const OpenedFile&)>& use) const {
    for (int attempt = 0;; ++attempt) {
      NDLFS_TRY(const OpenedFile opened, Current());
      auto result = use(opened);
      if (result || result.error().code() != model::ErrorCode::kStale || attempt == 2)
        return result;
    }
  }

  Result<std::shared_ptr<const Node>> LoadFrom(const OpenedFile& opened,
                                               std::string_view shown_path) const {
    const std::string shown(WithoutSlash(shown_path));
    NDLFS_TRY(const uint64_t version, Version(shown));
    if (auto node = nodes_.Find(shown, version)) return node;
    std::string path = shown;
    std::optional<MetadataTurn> turn;
    NDLFS_TRY(const ObjectInfo info, Describe(opened, path, turn));
    auto node = BuildNode(opened, path, info, options_.max_chunk_size);
    if (options_.shared && info.dataset && HasOtherFiles(*info.dataset)) {
      node = WithoutData(*node);
    }
    if (info.dataset && !info.dataset->sources.empty()) {
      Watch(shown, info.dataset->sources);
      NDLFS_TRY(const uint64_t with_sources, Version(shown));
      return nodes_.Insert(shown, with_sources, std::move(node));
    }
    return nodes_.Insert(shown, version, std::move(node));
  }

  bool HasOtherFiles(const DatasetInfo& dataset) const {
    return std::any_of(dataset.sources.begin(), dataset.sources.end(),
                       [this](const std::string& name) { return !IsThisFile(name); });
  }
  // A dataset may name the file that it is in: "." or "./a.h5".
  bool IsThisFile(const std::string& name) const {
    return name == "." || source_->Resolve(path_, name) == path_;
  }

  // The sources of the dataset have sources of their own. Nobody can tell which users may read
  // all of them.
  static std::shared_ptr<const Node> WithoutData(Node node) {
    node.source = nullptr;
    node.error =
        model::Unsupported("a virtual dataset of other files, on a mount for others").value();
    return std::make_shared<const Node>(std::move(node));
  }

  // The object that is shown at `path`, which becomes its path in the file:
  // one more look, with netCDF-4's prefix, where nothing or only a dimension
  // has that name.
  static Result<ObjectInfo> Describe(const OpenedFile& opened, std::string& path,
                                     std::optional<MetadataTurn>& turn) {
    auto info = DescribeAt(opened, path, turn);
    const bool is_other = info ? info->dataset && info->dataset->is_dimension_only
                               : info.error().code() == model::ErrorCode::kNotFound;
    if (!is_other || path == "/") return info;
    const std::string prefixed =
        model::JoinPath(model::ParentPath(path), PrefixedName(model::BaseName(path)));
    auto variable = DescribeAt(opened, prefixed, turn);
    if (!variable || !variable->dataset) return info;
    path = prefixed;
    return variable;
  }

  static Result<ObjectInfo> DescribeAt(const OpenedFile& opened, const std::string& path,
                                       std::optional<MetadataTurn>& turn) {
    NDLFS_TRY(const Location location, opened.file->Find(path));
    switch (location.kind) {
      case ObjectKind::kGroup:
      case ObjectKind::kDataset: {
        NDLFS_TRY(auto info, opened.file->Describe(path, &turn));
        if (!info.dataset) return info;
        NDLFS_RETURN_IF_ERROR(CheckDatasetInfo(*info.dataset));
        NDLFS_RETURN_IF_ERROR(SetVirtualShape(opened, *info.dataset));
        NDLFS_RETURN_IF_ERROR(InspectElements(opened, *info.dataset));
        return info;
      }
      case ObjectKind::kSoftLink:
      case ObjectKind::kExternalLink:
      case ObjectKind::kAlias:
        // GetLink() names all other links.
        return model::Unsupported("a link to {}, in a loop of links",
                                  model::Quote(location.target));
      case ObjectKind::kNamedDatatype:
        return model::NotFound("{} is a datatype", model::Quote(path));
      case ObjectKind::kOther:
        break;
    }
    return model::Unsupported("a link of a kind that only its writer knows");
  }

  // Whether an error is one of what the file says.
  static bool IsOfContent(model::ErrorCode code) {
    return code == model::ErrorCode::kCorrupt || code == model::ErrorCode::kUnsupported ||
           code == model::ErrorCode::kLimit;
  }

  Result<std::vector<std::string>> ListFrom(const OpenedFile& opened,
                                            const std::string& path) const {
    if (auto kept = FindKeptNames(opened, path)) return *std::move(kept);
    auto list = opened.file->List(path);
    if (!list && IsOfContent(list.error().code())) {
      // The group itself is told to have the error, if that is known.
      const auto group = opened.file->Describe(path);
      if (group && group->error) return std::vector<std::string>();
    }
    if (!list) return model::Propagate(std::move(list).error());
    Children children;
    for (Child& child : *list) children.emplace(child.name, std::move(child));
    std::set<std::string> shown_names;
    for (const auto& [name, child] : children) {
      if (child.location.kind == ObjectKind::kNamedDatatype) continue;
      if (child.is_dimension_only) continue;
      const std::string shown(ShownName(name));
      const auto hidden = children.find(shown);
      const bool is_free = hidden == children.end() || hidden->second.is_dimension_only;
      shown_names.insert(is_free ? shown : name);
    }
    std::vector<std::string> names(shown_names.begin(), shown_names.end());
    Keep(opened, path, {names, std::move(children)});
    return names;
  }

  Result<std::optional<Link>> LinkFrom(const OpenedFile& opened,
                                       const std::string& path) const {
    if (path == "/") return std::nullopt;
    NDLFS_TRY(const Location location, Locate(opened, path));
    if (location.is_link() && IsLoop(opened, path)) return std::nullopt;
    switch (location.kind) {
      case ObjectKind::kAlias:
        return Link{location.target, Link::Kind::kHard};
      case ObjectKind::kSoftLink:
        return Link{ResolveInGroup(model::ParentPath(path), location.target)};
      case ObjectKind::kExternalLink:
        return Link{ExternalTarget(location), Link::Kind::kExternal, location.target_file,
                    location.target};
      default:
        return std::nullopt;
    }
  }

  Result<Location> Locate(const OpenedFile& opened, const std::string& path) const {
    if (const auto kept = FindKept(opened, path)) return *kept;
    return opened.file->Find(path);
  }

  // Whether following the link at `path` comes to no end.
  bool IsLoop(const OpenedFile& opened, const std::string& path) const {
    std::optional<Place> place = Place{opened.file, path_, path};
    for (int hops = 0; hops < kMaxHops; ++hops) {
      place = FollowFirstLink(*place);
      if (!place) return false;
    }
    return true;
  }

  struct Place {
    std::shared_ptr<const File> file;
    std::string file_path;
    std::string path;
  };

  // The path without its first link; nullopt where there is no link in it, or
  // it leads nowhere.
  std::optional<Place> FollowFirstLink(const Place& place) const {
    std::string prefix = "/";
    const auto names = model::SplitPath(place.path);
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string group = prefix;
      prefix = model::JoinPath(prefix, names[i]);
      const auto location = place.file->Find(prefix);
      if (!location) return std::nullopt;
      if (!location->is_link()) continue;
      Place next{place.file, place.file_path, ResolveInGroup(group, location->target)};
      if (location->kind == ObjectKind::kExternalLink && !EnterFile(*location, next)) {
        return std::nullopt;
      }
      for (size_t rest = i + 1; rest < names.size(); ++rest) {
        next.path = model::JoinPath(next.path, names[rest]);
      }
      return next;
    }
    return std::nullopt;
  }

  bool EnterFile(const Location& link, Place& place) const {
    const auto beneath = source_->Resolve(place.file_path, link.target_file);
    if (!beneath) return false;
    auto opened = File::Open(source_->OpenFile(*beneath, Follow::kYes), *beneath);
    if (!opened) return false;
    place = {*std::move(opened), *beneath, ResolveInGroup("/", link.target)};
    return true;
  }

  // Relative to the folder of this store; what is not beneath the root becomes
  // a path that leads out of the mount, too.
  std::string ExternalTarget(const Location& location) const {
    const size_t depth = model::SplitPath("/" + path_).size();
    const auto beneath = source_->Resolve(path_, location.target_file);
    if (!beneath) return Repeat("../", depth + 1) + location.target_file;
    std::string target = ResolveInGroup("/", location.target);
    if (*beneath == path_) return target;
    std::string text = Repeat("../", depth) + *beneath;
    for (const std::string_view name : model::SplitPath(target)) {
      text += "/" + model::EncodeFileName(name);
    }
    return text;
  }

  // The location of a path according to the last listings.
  std::optional<Location> FindKept(const OpenedFile& opened, const std::string& path) const {
    const model::MutexLock lock(mutex_);
    const Listing* listing = FindListing(opened, model::ParentPath(path));
    if (listing == nullptr) return std::nullopt;
    const auto child = listing->children.find(model::BaseName(path));
    if (child == listing->children.end()) return std::nullopt;
    return child->second.location;
  }

  std::optional<std::vector<std::string>> FindKeptNames(const OpenedFile& opened,
                                                        const std::string& group) const {
    const model::MutexLock lock(mutex_);
    const Listing* listing = FindListing(opened, group);
    if (listing == nullptr) return std::nullopt;
    return listing->names;
  }

  const Listing* FindListing(const OpenedFile& opened, std::string_view group) const
      REQUIRES(mutex_) {
    return IsCurrent(opened) ? listings_->Find(group) : nullptr;
  }

  void Keep(const OpenedFile& opened, const std::string& group, Listing listing) const {
    const size_t bytes = listing.held_bytes();
    const model::MutexLock lock(mutex_);
    if (!IsCurrent(opened) || bytes > kKeptListingBytes) return;
    listings_->Put(group, std::move(listing), bytes);
  }

  // Whether the file has not been opened again since, in another version: listings are of the
  // one that is open.
  bool IsCurrent(const OpenedFile& opened) const REQUIRES(mutex_) {
    return opened_ && opened_->file == opened.file;
  }

  void Watch(const std::string& path, const std::vector<std::string>& sources) const {
    auto reads = std::make_shared<ReadSet>();
    reads->Merge(*own_reads_);
    for (const std::string& name : sources) {
      if (IsThisFile(name) || reads->size() > kWatchedSources) continue;
      const auto beneath = source_->Resolve(path_, name);
      if (beneath) {
        reads->Add(source_->OpenFile(*beneath, Follow::kYes), "", ReadSet::Unknown());
      }
    }
    const model::MutexLock lock(mutex_);
    reads_[path] = std::move(reads);
  }

  // The files that the object at `path` is made of.
  std::shared_ptr<const ReadSet> ReadsOf(std::string_view path) const {
    const model::MutexLock lock(mutex_);
    const auto found = reads_.find(WithoutSlash(path));
    return found == reads_.end() ? own_reads_ : found->second;
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const std::shared_ptr<const Store> watch_;
  const OpenOptions options_;
  const std::shared_ptr<ReadSet> own_reads_ = std::make_shared<ReadSet>();
  mutable NodeCache nodes_;

  mutable model::Mutex mutex_;
  mutable std::optional<OpenedFile> opened_ GUARDED_BY(mutex_);
  // By group; of the version that is opened.
  mutable std::optional<model::BoundedMap<std::string, Listing, model::StringHash>> listings_
      GUARDED_BY(mutex_);
  // For each virtual dataset that was loaded: this file, and the other files with its data.
  mutable std::map<std::string, std::shared_ptr<const ReadSet>, std::less<>> reads_
      GUARDED_BY(mutex_);
};

// A user block of 512 bytes or more, each time doubled, may come first.
bool BeginsAsHdf5(ConstByteSpan head) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  constexpr size_t kLeastUserBlock = 512;
  const std::string_view text = AsText(head);
  if (text.starts_with(kSignature)) return true;
  for (size_t at = kLeastUserBlock; at < text.size(); at *= 2) {
    if (text.substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

class Hdf5FormatImpl final : public Format {
 public:
  std::string_view name() const override { return "HDF5"; }

  bool ProbeContent(ConstByteSpan head) const override { return BeginsAsHdf5(head); }

  bool MatchesFileName(std::string_view name) const override {
    return HasOneOf(name, kSureExtensions) || HasOneOf(name, kOtherExtensions);
  }

  bool ProbeFile(std::string_view name, ConstByteSpan head) const override {
    if (BeginsAsHdf5(head)) return true;
    return HasOneOf(name, kSureExtensions) && !AsText(head).starts_with("CDF");
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto hierarchy = std::make_shared<Hdf5Hierarchy>(source, path, options);
    NDLFS_RETURN_IF_ERROR(hierarchy->Current());
    return cfa::WithAggregations(std::move(hierarchy), std::move(source), path, options);
  }

 private:
  // Files of these names are meant to be HDF5, or netCDF.
  static constexpr std::array<std::string_view, 6> kSureExtensions = {".h5",   ".hdf5", ".he5",
                                                                      ".h5ad", ".nc",   ".nc4"};
  // Files of these may as well be something else.
  static constexpr std::array<std::string_view, 7> kOtherExtensions = {
      ".hdf", ".mat", ".cdf", ".netcdf", ".nxs", ".loom", ".grd"};

  template <size_t kCount>
  static bool HasOneOf(std::string_view name,
                       const std::array<std::string_view, kCount>& extensions) {
    return std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
      return HasExtension(name, extension);
    });
  }
};

}  // namespace
}  // namespace hdf5

const Format& Hdf5Format() {
  static const hdf5::Hdf5FormatImpl format;
  return format;
}

}  // namespace ndlfs::backends
