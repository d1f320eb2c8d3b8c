// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "backends/format/node_cache.h"
#include "backends/format/npy/npy_array.h"
#include "backends/format/npy/npy_header.h"
#include "backends/format/npy/npz_names.h"
#include "backends/store/file_name.h"
#include "backends/store/zip/zip_store.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kNpyExtension = ".npy";

// One array, at "/".
class NpyHierarchy final : public Hierarchy {
 public:
  NpyHierarchy(std::shared_ptr<const Store> store, std::shared_ptr<const Node> array)
      : store_(std::move(store)), array_(std::move(array)) {}

  std::string_view format() const override { return "NPY"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    if (path == "/") return array_;
    return model::NotFound("{}: the file is one array, whose path is /", path);
  }

  model::Result<std::vector<std::string>> List(std::string_view) const override {
    return std::vector<std::string>();
  }

  model::Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    return HashVersions(std::array{stamp});
  }

 private:
  const std::shared_ptr<const Store> store_;
  const std::shared_ptr<const Node> array_;
};

class Npy final : public Format {
 public:
  std::string_view name() const override { return "NPY"; }

  bool ProbeContent(ConstByteSpan head) const override {
    return AsText(head).starts_with(kNpyMagic);
  }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, kNpyExtension);
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    const auto store = source->OpenFile(path);
    NDLFS_TRY(
        auto array,
        LoadNpyArray(store, "", StoreNameOf(path, kNpyExtension), FlatAccess::kRandom, options),
        store->Describe(""));
    return std::make_shared<NpyHierarchy>(store, std::move(array));
  }
};

constexpr std::string_view kNpzExtension = ".npz";
constexpr std::string_view kMemberExtension = ".npy";

// So many members whose names do not tell are looked into.
constexpr int kMaxLookedInto = 1000;

bool BeginsAsNpy(const ZipStore& store, std::string_view member) {
  std::array<std::byte, kNpyMagic.size()> head;
  const auto count = store.ReadInto(member, 0, head);
  return count && *count == head.size() && AsText(head) == kNpyMagic;
}

NpzNames FindArrays(const ZipStore& store) {
  std::vector<std::string> members;
  std::vector<std::string> folders;
  int looked_into = 0;
  const ZipDirectory& directory = store.directory();
  for (size_t i = 0; i < directory.size(); ++i) {
    const std::string_view name = directory.name(i);
    if (!members.empty() && members.back() == name) continue;
    if (name.ends_with('/')) {
      folders.emplace_back(name.substr(0, name.size() - 1));
    } else if (name.ends_with(kMemberExtension) ||
               (++looked_into <= kMaxLookedInto && BeginsAsNpy(store, name))) {
      members.emplace_back(name);
    }
  }
  return NameNpzMembers(members, folders);
}

class NpzHierarchy final : public Hierarchy {
 public:
  NpzHierarchy(std::shared_ptr<const ZipStore> store, const OpenOptions& options)
      : store_(std::move(store)), names_(FindArrays(*store_)), options_(options) {}

  std::string_view format() const override { return "NPZ"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(const auto stamp, store_->InfoNow(), store_->Describe(""));
    const uint64_t version = HashVersions(std::array{stamp});
    if (auto node = nodes_.Find(path, version)) return node;
    NDLFS_TRY(auto node, LoadNew(path, stamp ? stamp->modified_ns : 0));
    return nodes_.Insert(path, version, std::move(node));
  }

  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto group = names_.groups.find(std::string(path));
    if (group != names_.groups.end()) {
      return std::vector<std::string>(group->second.begin(), group->second.end());
    }
    if (names_.arrays.contains(std::string(path))) return std::vector<std::string>();
    return NoSuchObject(path);
  }

  // The names are kept a second time, in maps.
  uint64_t held_bytes() const override { return 4 * store_->held_bytes(); }

  // All is in one file.
  model::Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->InfoNow(), store_->Describe(""));
    return HashVersions(std::array{stamp});
  }

 private:
  static model::Failure NoSuchObject(std::string_view path) {
    return model::NotFound("there is no {}", model::Quote(path));
  }

  model::Result<std::shared_ptr<const Node>> LoadNew(std::string_view path,
                                                     int64_t mtime_ns) const {
    const auto array = names_.arrays.find(std::string(path));
    if (array != names_.arrays.end()) return LoadArray(path, array->second);
    if (!names_.groups.contains(std::string(path))) return NoSuchObject(path);
    auto node = std::make_shared<Node>();
    model::Group group;
    group.name = model::BaseName(path);
    node->entity = std::move(group);
    node->mtime_ns = mtime_ns;
    if (path == "/") node->notes = store_->directory().notes();
    return node;
  }

  model::Result<std::shared_ptr<const Node>> LoadArray(std::string_view path,
                                                       const std::string& member) const {
    const auto access =
        store_->IsStored(member) ? FlatAccess::kRandom : FlatAccess::kSequential;
    return LoadNpyArray(store_, member, std::string(model::BaseName(path)), access, options_)
        .map_error(
            [&](model::Error error) { return std::move(error).In(store_->Describe(member)); });
  }

  const std::shared_ptr<const ZipStore> store_;
  const NpzNames names_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
};

// An archive whose first member is called like an array, or is a folder.
bool BeginsAsNpz(ConstByteSpan head) {
  const std::string_view name = FirstZipName(AsText(head));
  return name.ends_with(kMemberExtension) || name.ends_with('/');
}

class Npz final : public Format {
 public:
  std::string_view name() const override { return "NPZ"; }

  bool ProbeContent(ConstByteSpan head) const override { return BeginsAsNpz(head); }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, kNpzExtension);
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }
  // Under another name, an archive of nothing but arrays, as NumPy writes it.
  model::Result<bool> ConfirmFile(std::string_view name, const Store& file) const override {
    if (HasExtension(name, kNpzExtension)) return true;
    size_t arrays = 0;
    const auto is_other = [&](std::string_view member) {
      const bool is_array = member.ends_with(kMemberExtension);
      arrays += is_array ? 1 : 0;
      return !is_array && !member.ends_with('/');
    };
    NDLFS_TRY(const bool has_others, ZipDirectory::AnyName(file, is_other));
    return arrays > 0 && !has_others;
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    NDLFS_TRY(auto store, ZipStore::Open(source->OpenFile(path)));
    return std::make_shared<NpzHierarchy>(std::move(store), options);
  }
};

}  // namespace

const Format& NpyFormat() {
  static const Npy format;
  return format;
}

const Format& NpzFormat() {
  static const Npz format;
  return format;
}

}  // namespace ndlfs::backends
