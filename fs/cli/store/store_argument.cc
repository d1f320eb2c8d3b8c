// SPDX-License-Identifier: MIT
#include "fs/cli/store/store_argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "backends/detection.h"
#include "backends/store/keys.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/store/source_path.h"
#include "fs/serve/open_source.h"
#include "fs/serve/source_check.h"
#include "fs/view/all_views.h"
#include "fs/view/base/view_path.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Hierarchy;
using backends::Source;
using model::Result;

using Names = std::vector<std::string>;

// As many as the kernel follows.
constexpr int kMaxLinks = 40;

Names SplitNames(std::string_view path) {
  const auto parts = model::SplitPath(path);
  return {parts.begin(), parts.end()};
}

// Null where there is something else than a store.
Result<const backends::Format*> FormatAt(const Source& source, const std::string& path) {
  NDLFS_TRY(const auto status, source.Stat(path, backends::Follow::kYes));
  if (!status) return model::IoError(ENOENT, "open");
  return backends::DetectStore(source, path);
}

Result<OpenedStore> OpenAt(std::shared_ptr<const Source> source, const std::string& path,
                           const backends::Format& format, const std::string& ref = {}) {
  OpenedStore store;
  store.where = (std::filesystem::path(source->name()) / path).string();
  store.name = std::filesystem::path(path.empty() ? source->name() : path).filename();
  NDLFS_TRY(store.hierarchy, backends::OpenDetected(format, source, path, {.ref = ref}));
  store.source = std::move(source);
  store.path = path;
  return store;
}

// The name of the child of `group` whose folder is called `file_name`.
Result<std::string> NameOf(const Hierarchy& hierarchy, const std::string& group,
                           const std::string& file_name) {
  if (!model::IsShortenedFileName(file_name)) {
    std::string name = model::DecodeFileName(file_name);
    if (!name.empty()) return name;
  }
  NDLFS_TRY(const auto names, hierarchy.List(group));
  for (const std::string& name : names) {
    if (model::EncodeFileName(name) == file_name) return name;
  }
  return model::NotFound("{} has no folder {}", group, model::Quote(file_name));
}

// `target`, relative to the folder of the store at `path`, as parts of a path
// below the root; nullopt if it leads out of that.
std::optional<Names> ResolveNextTo(const std::string& path, const std::string& target) {
  Names parts = SplitNames(path);
  for (std::string& part : SplitNames(target)) {
    if (part == ".") continue;
    if (part != "..") {
      parts.push_back(std::move(part));
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  return parts;
}

// Opens the first store on the way that `parts` are; what is left of them are
// folders in it.
Result<OpenedStore> OpenOnTheWay(const std::shared_ptr<const Source>& source,
                                 const Names& parts) {
  std::string path;
  for (size_t i = 0; i < parts.size(); ++i) {
    path = backends::JoinKey(path, parts[i]);
    NDLFS_TRY(const auto* format, FormatAt(*source, path), path);
    if (format == nullptr) continue;
    NDLFS_TRY(OpenedStore store, OpenAt(source, path, *format), path);
    NDLFS_TRY(store.object, PathNameOf(*store.hierarchy, std::span(parts).subspan(i + 1)));
    return store;
  }
  return model::NotFound("{}: not an array store", path);
}

// The store and object that the link at `store.object` leads to.
Result<OpenedStore> FollowLink(const OpenedStore& store, const std::string& target) {
  if (target.starts_with('/')) {
    OpenedStore same = store;
    same.object = NormalizePathName(target);
    return same;
  }
  const std::string link =
      fmt::format("{}: {}: the link to {}", store.where, store.object, model::Quote(target));
  const auto parts = ResolveNextTo(store.path, target);
  if (!parts) {
    return model::BadInput("{} leads out of {}", link, model::Quote(store.source->name()));
  }
  NDLFS_TRY(OpenedStore other, OpenOnTheWay(store.source, *parts), link);
  return other;
}

// Adds what may have been meant: a name in the same directory, or a path in a
// store as a word of its own.
model::Error WithProposal(const model::Error& error, const std::string& given) {
  namespace stdfs = std::filesystem;
  std::error_code ignored;
  stdfs::path parent = stdfs::path(given).parent_path();
  if (error.reason() == model::SystemReason::kNoSuchFile) {
    Names names;
    for (const auto& entry :
         stdfs::directory_iterator(parent.empty() ? "." : parent, ignored)) {
      names.push_back((parent / entry.path().filename()).string());
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    return error.WithMessage(error.message() + DidYouMean(given, candidates));
  }
  if (error.reason() != model::SystemReason::kNoDirectory) return error;
  while (parent.has_relative_path() && !stdfs::is_regular_file(parent, ignored)) {
    parent = parent.parent_path();
  }
  if (!stdfs::is_regular_file(parent, ignored)) return error;
  return error.WithMessage(fmt::format("{}; a path in a store is a word of its own: {} /{}",
                                       error.message(), parent.string(),
                                       stdfs::path(given).lexically_relative(parent).string()));
}

// Why there is no file `name` of `store.object`, if that is a slice or the like which makes no
// sense; nullopt if something else is the matter.
std::optional<model::Error> RefusalOf(const OpenedStore& store, std::string_view name) {
  constexpr uint64_t kCacheSize = uint64_t{64} << 20;
  const auto path = ViewPath::Parse(name);
  if (!path || !path->has_brackets()) return std::nullopt;
  const auto node = store.hierarchy->Load(store.object);
  if (!node) return std::nullopt;
  cache::ChunkCache cache(kCacheSize);
  std::optional<Resolution> found;
  if ((*node)->is_group()) {
    const auto group = MakeGroupInput(store.hierarchy, store.object, cache);
    if (group) found = GroupViews().Resolve(**group, name);
  } else if ((*node)->source) {
    const auto reader = std::make_shared<const cache::ArrayReader>((*node)->source, cache);
    ArrayInput input = MakeArrayInput(*node, reader, {});
    input.group = MakeGroupAround(store.hierarchy, store.object, cache);
    found = ArrayViews().Resolve(input, name);
  }
  if (!found) return std::nullopt;
  if (found->refusal) return model::Error(*found->refusal).In(name);
  return model::BadInput("{} is a file of {}: ndlfs cat writes it with --view and --slice",
                         name, store.object)
      .value();
}

// The same for a path in a mount.
std::optional<model::Error> RefusalAt(const std::filesystem::path& path,
                                      const RemoteAccess& access) {
  const auto file = ViewPath::Parse(path.filename().string());
  if (!file || !file->has_brackets()) return std::nullopt;
  const auto store = OpenStore(path.parent_path().string(), access);
  return store ? RefusalOf(*store, path.filename().string()) : std::nullopt;
}

std::string NotAStore(const Source& source, const std::string& path) {
  const std::string content = backends::DescribeOtherFile(source, path);
  return "not an array store" + (content.empty() ? "" : " (" + content + ")");
}

// The same for `name` on this machine, where it may also be a device or a pipe.
std::string NotALocalStore(const std::string& name, const Source& source,
                           const std::string& path) {
  struct ::stat status;
  std::string_view special;
  if (::stat(name.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      return "not an array store; `ndlfs describe` shows the stores in a folder";
    }
    special = SpecialKind(status.st_mode);
  }
  if (special.empty()) return NotAStore(source, path);
  return fmt::format("{}, and not an array store", special);
}

Result<OpenedStore> OpenStoreBehindUrl(const std::string& url, const RemoteAccess& access) {
  const std::string shown = ShownUrl(url);
  NDLFS_TRY(const auto place, OpenUrl(url, access));
  NDLFS_TRY(const auto* format, FormatAt(*place.source, place.file), shown);
  if (format == nullptr)
    return model::Unsupported("{}: {}", shown, NotAStore(*place.source, place.file));
  NDLFS_TRY(OpenedStore store, OpenAt(place.source, place.file, *format, access.ref));
  store.where = shown;
  return store;
}

}  // namespace

Result<OpenedStore> OpenStore(const std::string& path, const RemoteAccess& access) {
  if (IsUrl(path)) return OpenStoreBehindUrl(path, access);
  const auto found = FindSourcePath(path);
  if (!found) {
    if (const auto refusal = RefusalAt(path, access)) return model::Propagate(*refusal, path);
    return model::Propagate(WithProposal(found.error(), path));
  }
  SourcePath place = *found;
  NDLFS_TRY(RemotePlace opened, OpenLocal(place.root, false, access), path);
  const auto& source = opened.source;
  NDLFS_TRY(const auto* format, FormatAt(*source, place.path), path);
  if (format == nullptr)
    return model::Unsupported("{}: {}", path, NotALocalStore(path, *source, place.path));
  if (format->describes_others()) {
    place = WidenForDescription(std::move(place));
    NDLFS_TRY(opened, OpenLocal(place.root, false, access), path);
  }
  const std::string& ref = access.ref.empty() ? place.ref : access.ref;
  NDLFS_TRY(OpenedStore store, OpenAt(source, place.path, *format, ref));
  store.where = path;
  NDLFS_TRY(store.object, PathNameOf(*store.hierarchy, place.folders), path);
  return store;
}

Result<OpenedStore> FollowLinks(const OpenedStore& store, std::string_view path) {
  const std::string whole = NormalizePathName(store.object + "/" + std::string(path));
  OpenedStore at = store;
  Names left = SplitNames(whole);
  at.object = "/";
  int links = 0;
  while (!left.empty()) {
    at.object = model::JoinPath(at.object, left.front());
    left.erase(left.begin());
    const auto link = at.hierarchy->GetLink(at.object);
    if (!link) continue;
    if (++links > kMaxLinks) {
      return model::BadInput("{}: {}: more than {} links one after the other", store.where,
                             whole, kMaxLinks);
    }
    NDLFS_TRY(at, FollowLink(at, link->target));
    const Names target = SplitNames(at.object);
    left.insert(left.begin(), target.begin(), target.end());
    at.object = "/";
  }
  at.is_linked = links != 0;
  if (links != 0) {
    at.where = fmt::format("{}: {} is a link to {}{}", store.where, whole,
                           at.hierarchy == store.hierarchy ? "" : at.where + ":", at.object);
  }
  return at;
}

model::Error WithNearestName(const model::Error& error, const OpenedStore& store) {
  if (error.code() != model::ErrorCode::kNotFound) return error;
  const std::string group(model::ParentPath(store.object));
  OpenedStore around = store;
  around.object = group;
  if (const auto refusal = RefusalOf(around, model::BaseName(store.object))) return *refusal;
  const auto names = store.hierarchy->List(group);
  if (!names) return error;
  // A link that leads to the name is the question, and no answer.
  const auto leads_here = [&](const std::string& name) {
    const auto link = store.hierarchy->GetLink(model::JoinPath(group, name));
    return link && link->target.starts_with('/') &&
           NormalizePathName(link->target) == store.object;
  };
  std::vector<std::string_view> candidates;
  for (const std::string& name : *names) {
    if (!leads_here(name)) candidates.push_back(name);
  }
  const std::string_view nearest = Nearest(model::BaseName(store.object), candidates);
  if (nearest.empty()) {
    // If a link leads nowhere, the link is the mistake, and not the name of the array.
    const std::string arrays = store.is_linked ? "" : ArraysOf(store);
    if (arrays.empty()) return error;
    return error.WithMessage(fmt::format("{}; the store has {}", error.message(), arrays));
  }
  return error.WithMessage(fmt::format("{} (did you mean {}?)", error.message(),
                                       model::OneLine(model::JoinPath(group, nearest))));
}

namespace {

bool IsAnyArray(const backends::Node& node) { return !node.is_group(); }
bool IsNoCoordinate(const backends::Node& node) {
  return std::holds_alternative<model::Ndarray>(node.entity);
}

struct FoundArrays {
  std::vector<std::string> paths;
  bool are_all = true;
};

// Arrays that `counts` below the group `top`, at most one more than `most`: what is next to the
// top first.
FoundArrays FindArrays(const Hierarchy& hierarchy, const std::string& top, size_t most,
                       bool (*counts)(const backends::Node&)) {
  constexpr size_t kMostLooks = 100;
  std::vector<std::string> groups = {top};
  FoundArrays found;
  size_t looks = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto names = hierarchy.List(groups[i]);
    found.are_all = found.are_all && names;
    for (const std::string& name : names ? *names : Names()) {
      if (found.paths.size() > most || ++looks > kMostLooks) {
        found.are_all = false;
        break;
      }
      std::string path = model::JoinPath(groups[i], name);
      if (hierarchy.GetLink(path)) continue;
      const auto node = hierarchy.Load(path);
      found.are_all = found.are_all && node;
      if (!node) continue;
      if ((*node)->is_group()) {
        groups.push_back(std::move(path));
      } else if (counts(**node)) {
        found.paths.push_back(std::move(path));
      }
    }
  }
  return found;
}

}  // namespace

std::optional<std::string> OnlyArrayOf(const OpenedStore& store) {
  const std::string& top = store.object;
  const FoundArrays found = FindArrays(*store.hierarchy, top, 1, &IsNoCoordinate);
  if (!found.are_all || found.paths.size() != 1) return std::nullopt;
  return top == "/" ? found.paths[0] : found.paths[0].substr(top.size());
}

std::string ArraysOf(const OpenedStore& store) {
  constexpr size_t kMostShown = 8;
  std::vector<std::string> arrays =
      FindArrays(*store.hierarchy, "/", kMostShown, &IsAnyArray).paths;
  const bool has_more = arrays.size() > kMostShown;
  if (has_more) arrays.resize(kMostShown);
  for (std::string& array : arrays) array = model::OneLine(array);
  return fmt::format("{}{}", fmt::join(arrays, ", "), has_more ? " and others" : "");
}

Result<std::string> PathNameOf(const Hierarchy& hierarchy,
                               std::span<const std::string> folders) {
  std::string path = "/";
  for (const std::string& folder : folders) {
    NDLFS_TRY(const std::string name, NameOf(hierarchy, path, folder));
    path = model::JoinPath(path, name);
  }
  return path;
}

std::string NormalizePathName(std::string_view path) {
  std::string normalized = "/";
  for (const std::string_view part : model::SplitPath(path)) {
    normalized = model::JoinPath(normalized, part);
  }
  return normalized;
}

}  // namespace ndlfs::fs
