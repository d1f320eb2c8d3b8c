// SPDX-License-Identifier: MIT
#include "backends/format/ndl/ndl.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/ndl/document.h"
#include "backends/format/node_cache.h"
#include "backends/store/file_name.h"
#include "model/bounded_map.h"
#include "model/mutex.h"
#include "model/ndl/ndl_reader.h"
#include "model/recently_used.h"

namespace ndlfs::backends {
namespace ndl {
namespace {

using model::Result;

constexpr std::array<std::string_view, 2> kNdlExtensions = {".ndl.yaml", ".ndl.yml"};
constexpr std::array<std::string_view, 2> kYamlExtensions = {".yaml", ".yml"};

// Longer ones have to be called .ndl.yaml: whoever looks at a file waits until
// it is known what it is.
constexpr uint64_t kMaxBytesToLookAt = uint64_t{1} << 20;

// Of all documents, but for the one that was used last.
constexpr uint64_t kKeptMemory = uint64_t{32} << 20;

// What stores in files and directories are called, behind the name that their
// document has as well.
constexpr std::array<std::string_view, 24> kStoreExtensions = {
    "",     ".nc",  ".nc3",  ".nc4",   ".nc5",  ".cdf",      ".netcdf", ".grd",
    ".h5",  ".he5", ".hdf",  ".hdf5",  ".h5ad", ".mat",      ".nxs",    ".loom",
    ".npy", ".npz", ".zarr", ".zarr2", ".zip",  ".zarr.zip", ".n5",     ".json"};

template <size_t kCount>
std::optional<std::string_view> ExtensionOf(
    std::string_view name, const std::array<std::string_view, kCount>& extensions) {
  for (const std::string_view extension : extensions) {
    if (HasExtension(name, extension)) return extension;
  }
  return std::nullopt;
}

bool IsNamedAsNdl(std::string_view name) {
  return ExtensionOf(name, kNdlExtensions).has_value();
}

// Where a store that the document at `path` describes would be: beside it, and
// with its name.
std::vector<std::string> StoresOfName(std::string_view path) {
  auto extension = ExtensionOf(path, kNdlExtensions);
  if (!extension) extension = ExtensionOf(path, kYamlExtensions);
  const std::string stem(path.substr(0, path.size() - extension.value_or("").size()));
  std::vector<std::string> stores;
  for (const std::string_view store_extension : kStoreExtensions) {
    std::string name = stem + std::string(store_extension);
    stores.push_back(name);
    std::transform(store_extension.begin(), store_extension.end(),
                   name.begin() + static_cast<ptrdiff_t>(stem.size()),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    if (!store_extension.empty()) stores.push_back(std::move(name));
  }
  return stores;
}

// What has been found out about files, as long as they are the same.
class Verdicts {
 public:
  std::optional<bool> Find(const Generation& generation) {
    const model::MutexLock lock(mutex_);
    const bool* found = known_.Find(generation);
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }

  void Keep(const Generation& generation, bool is_store) {
    const model::MutexLock lock(mutex_);
    known_.Put(generation, is_store);
  }

 private:
  static constexpr size_t kMost = 10'000;
  struct Hash {
    size_t operator()(const Generation& generation) const { return generation.hash(); }
  };
  model::Mutex mutex_;
  model::BoundedMap<Generation, bool, Hash> known_ GUARDED_BY(mutex_){kMost};
};

// Whether there is a document with values in `file`. An error where the file cannot
// be read at this moment.
Result<bool> HoldsDocumentWithValues(const Store& file) {
  static Verdicts verdicts;
  NDLFS_TRY(const auto stamp, file.Stat(""));
  if (!stamp || stamp->size > kMaxBytesToLookAt) return false;
  if (const auto known = verdicts.Find(stamp->generation)) return *known;
  NDLFS_TRY(const auto text, file.Get("", kMaxBytesToLookAt));
  if (!text) return false;
  const bool is_store = IsDocumentWithValues(AsText(text->bytes.span()));
  verdicts.Keep(text->info.generation, is_store);
  return is_store;
}

// A file with a document, of which one version is kept in memory for as long
// as others do not need the room; then it is read again.
class DocumentFile {
 public:
  DocumentFile(std::shared_ptr<const Source> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}

  Result<std::optional<ValueInfo>> Stat() const { return source_->OpenFile(path_)->Stat(""); }

  // The document as it is in the file now.
  Result<std::shared_ptr<const Document>> Current() const {
    const auto file = source_->OpenFile(path_);
    NDLFS_TRY(const auto stamp, file->Stat(""));
    if (!stamp) return model::NotFound("the file is gone");
    auto document = Known(*stamp);
    if (!document) {
      // One thread reads; others that need this version wait for it.
      const model::MutexLock reading(read_mutex_);
      document = Known(*stamp);
      if (!document) {
        NDLFS_TRY(document, Document::Read(*file, FileNameOf(path_)));
        const model::MutexLock lock(mutex_);
        document_ = document;
      }
    }
    Keep(document);
    return document;
  }

  // That version, or kStale.
  Result<std::shared_ptr<const Document>> Version(const ValueInfo& stamp) const {
    NDLFS_TRY(auto document, Current());
    if (document->stamp() != stamp) return model::Stale("the document has changed");
    return document;
  }

 private:
  // The document, if it is of that version and still in memory.
  std::shared_ptr<const Document> Known(const ValueInfo& stamp) const {
    const model::MutexLock lock(mutex_);
    auto document = document_.lock();
    return document && document->stamp() == stamp ? document : nullptr;
  }
  // What is kept of all files.
  static void Keep(const std::shared_ptr<const Document>& document) {
    static model::RecentlyUsed<const Document> recent(kKeptMemory);
    recent.Touch(document, document->memory());
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  mutable model::Mutex read_mutex_;  // taken before mutex_
  mutable model::Mutex mutex_;
  mutable std::weak_ptr<const Document> document_ GUARDED_BY(mutex_);
};

// An array of a document. The values stay with that.
class DocumentArray final : public ArraySource {
 public:
  DocumentArray(std::shared_ptr<const DocumentFile> file, const ValueInfo& stamp,
                std::string path, ArraySpec spec)
      : file_(std::move(file)), stamp_(stamp), path_(std::move(path)), spec_(std::move(spec)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this, at = std::vector<uint64_t>(index.begin(), index.end())](
                            uint64_t /*limit*/) { return Chunk(at); };
    return location;
  }

 private:
  Result<Bytes> Chunk(const std::vector<uint64_t>& index) const {
    NDLFS_TRY(const auto document, file_->Version(stamp_));
    NDLFS_TRY(const auto* object, document->Find(path_));
    return object->values->Chunk(index);  // as it had them when this was made
  }

  const std::shared_ptr<const DocumentFile> file_;
  const ValueInfo stamp_;
  const std::string path_;
  const ArraySpec spec_;
};

class NdlHierarchy final : public Hierarchy {
 public:
  explicit NdlHierarchy(std::shared_ptr<const DocumentFile> file) : file_(std::move(file)) {}

  std::string_view format() const override { return "NDL"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(const auto document, file_->Current());
    const std::optional<ValueInfo> stamp = document->stamp();
    const uint64_t version = HashVersions(std::span(&stamp, 1));
    if (auto node = nodes_.Find(path, version)) return node;
    NDLFS_TRY(const auto* object, document->Find(path));
    auto node = std::make_shared<Node>(object->node);
    if (object->values) {
      node->source = std::make_shared<DocumentArray>(file_, *stamp, std::string(path),
                                                     object->values->spec());
    }
    return nodes_.Insert(path, version, std::move(node));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    NDLFS_TRY(const auto document, file_->Current());
    NDLFS_TRY(const auto* object, document->Find(path));
    std::vector<std::string> names;
    for (const auto& [name, child] : object->children) names.push_back(name);
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, file_->Stat());
    return HashVersions(std::span(&stamp, 1));
  }

 private:
  const std::shared_ptr<const DocumentFile> file_;
  mutable NodeCache nodes_;
};

class NdlFormatImpl final : public Format {
 public:
  std::string_view name() const override { return "NDL"; }

  // A file that is called .ndl.yaml and no more describes its folder.
  bool MatchesFileName(std::string_view name) const override {
    if (std::find(kNdlExtensions.begin(), kNdlExtensions.end(), name) != kNdlExtensions.end()) {
      return false;
    }
    return ExtensionOf(name, kYamlExtensions).has_value();
  }

  bool ProbeFile(std::string_view name, ConstByteSpan head) const override {
    return IsNamedAsNdl(name) || model::LooksLikeNdl(AsText(head));
  }

  model::Result<bool> ConfirmFile(std::string_view name, const Store& file) const override {
    if (IsNamedAsNdl(name)) return true;
    return HoldsDocumentWithValues(file);
  }
  std::vector<std::string> StoresDescribedBy(std::string_view path) const override {
    return StoresOfName(path);
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions&) const override {
    auto file = std::make_shared<const DocumentFile>(std::move(source), path);
    NDLFS_RETURN_IF_ERROR(file->Current());
    return std::make_shared<NdlHierarchy>(std::move(file));
  }
};

}  // namespace
}  // namespace ndl

const Format& NdlFormat() {
  static const ndl::NdlFormatImpl format;
  return format;
}

}  // namespace ndlfs::backends
