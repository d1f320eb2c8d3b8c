// SPDX-License-Identifier: MIT
#include "backends/format/ndl/ndl.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/ndl/array_of.h"
#include "backends/format/ndl/document.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/ndl/sourced_objects.h"
#include "backends/format/node_cache.h"
#include "backends/store/answer_age.h"
#include "backends/store/cancellation.h"
#include "backends/store/file_name.h"
#include "model/bounded_map.h"
#include "model/memory_budget.h"
#include "model/mutex.h"
#include "model/ndl/ndl_reader.h"
#include "model/path_name.h"
#include "model/recently_used.h"

namespace ndlfs::backends {
namespace ndl {
namespace {

using model::Result;

constexpr std::array<std::string_view, 2> kNdlExtensions = {".ndl.yaml", ".ndl.yml"};
constexpr std::array<std::string_view, 2> kYamlExtensions = {".yaml", ".yml"};

// Longer documents must be called .ndl.yaml: a program that looks at a file waits until its
// kind is known.
constexpr uint64_t kMaxBytesToLookAt = uint64_t{1} << 20;

// The extensions of stores in files and directories, behind the name that they share with their
// document.
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

// The paths where a store that the document at `path` describes may be: in the same folder,
// with the same name.
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

// Remembers which files are documents, while the files are the same.
class Verdicts {
 public:
  std::optional<bool> Find(const Generation& generation) {
    const model::MutexLock lock(mutex_);
    const bool* found = known_.Find(generation);
    return found != nullptr ? std::optional(*found) : std::nullopt;
  }

  void Keep(const Generation& generation, bool found) {
    const model::MutexLock lock(mutex_);
    known_.Put(generation, found);
  }

 private:
  static constexpr size_t kMost = 10'000;
  struct Hash {
    size_t operator()(const Generation& generation) const { return generation.hash(); }
  };
  model::Mutex mutex_;
  model::BoundedMap<Generation, bool, Hash> known_ GUARDED_BY(mutex_){kMost};
};

// Whether there is a document in `file` that `is_one`; `verdicts` are of that question. An
// error where the file cannot be read at this moment.
Result<bool> HoldsDocument(const Store& file, Verdicts& verdicts,
                           Result<bool> (*is_one)(std::string_view text)) {
  NDLFS_TRY(const auto stamp, file.Stat(""));
  if (!stamp || stamp->size > kMaxBytesToLookAt) return false;
  if (const auto known = verdicts.Find(stamp->generation)) return *known;
  NDLFS_TRY(const auto text, file.Get("", kMaxBytesToLookAt));
  if (!text) return false;
  NDLFS_TRY(const bool found, is_one(AsText(text->bytes.span())));
  verdicts.Keep(text->info.generation, found);
  return found;
}

// A file with a document. Keeps one version of it in memory while other documents do not need
// the room; then the file is read again.
class DocumentFile {
 public:
  DocumentFile(std::shared_ptr<const Source> source, std::string path, TextReader read)
      : source_(std::move(source)), path_(std::move(path)), read_(read) {}

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
        NDLFS_TRY(document, Document::Read(*file, FileNameOf(path_), read_));
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
  // Keeps the documents of all files.
  static void Keep(const std::shared_ptr<const Document>& document) {
    static model::RecentlyUsed<const Document> recent(model::MemoryBudget::Pool::kNdl);
    recent.Touch(document, document->memory());
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const TextReader read_;
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

// An array of values in memory.
class ListedArray final : public ArraySource {
 public:
  explicit ListedArray(ArrayValues values) : values_(std::move(values)) {}

  const ArraySpec& spec() const override { return values_.spec(); }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this, at = std::vector<uint64_t>(index.begin(), index.end())](
                            uint64_t /*limit*/) -> Result<Bytes> { return values_.Chunk(at); };
    return location;
  }

 private:
  const ArrayValues values_;
};

class NdlHierarchy final : public Hierarchy {
 public:
  NdlHierarchy(std::string_view format, std::shared_ptr<const DocumentFile> file,
               std::shared_ptr<const PartStores> stores)
      : format_(format), file_(std::move(file)), stores_(std::move(stores)) {}

  std::string_view format() const override { return format_; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(const auto document, file_->Current());
    const auto objects = Objects(*document);
    const uint64_t version = VersionOf(document->stamp(), objects.get());
    if (auto node = nodes_.Find(path, version)) return node;
    NDLFS_TRY(auto node, Make(*document, objects.get(), path));
    if (objects && !node->is_group()) LinkDimensionsOf(*document, *objects, path, *node);
    return nodes_.Insert(path, version, std::move(node));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    NDLFS_TRY(const auto document, file_->Current());
    std::vector<std::string> names;
    const auto object = document->Find(path);
    if (object) {
      for (const auto& [name, child] : (*object)->children) names.push_back(name);
    }
    const auto objects = Objects(*document);
    if (!objects) {
      if (!object) return model::Propagate(object.error());
      return names;
    }
    const size_t own = names.size();
    bool found = object.has_value();
    for (const Origin& origin : OriginsOf(*document, path)) {
      auto listed = objects->ListBelow(*origin.source, origin.below);
      if (!listed && !IsAbsent(listed.error()) && !found) {
        return model::Propagate(std::move(listed).error(), "x-source");
      }
      if (!listed) continue;
      found = true;
      names.insert(names.end(), listed->begin(), listed->end());
    }
    if (!found) return model::NotFound("no {}", model::Quote(path));
    names.erase(std::remove_if(names.begin() + static_cast<ptrdiff_t>(own), names.end(),
                               [&](const std::string& name) {
                                 return document->LeavesOut(model::JoinPath(path, name));
                               }),
                names.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, file_->Stat());
    if (!stamp) return model::NotFound("the file is gone");
    NDLFS_TRY(const auto document, file_->Current());
    return VersionOf(document->stamp(), Objects(*document).get());
  }

 private:
  using ObjectsPtr = std::shared_ptr<const SourcedObjects>;
  using Clock = std::chrono::steady_clock;

  // A group with a source, whose object `below` may be the one in question.
  struct Origin {
    std::string group;
    model::ValueSourcePtr source;
    std::string below;
  };

  static bool IsAbsent(const model::Error& error) {
    return error.code() == model::ErrorCode::kNotFound;
  }

  static uint64_t VersionOf(const ValueInfo& stamp, const SourcedObjects* objects) {
    const std::optional<ValueInfo> info = stamp;
    const uint64_t version = HashVersions(std::span(&info, 1));
    return objects ? version ^ (objects->fingerprint() * 0x9e3779b97f4a7c15u) : version;
  }

  // The objects of other files; null if the document has none. Looks at the files again after
  // some time. As long as they have not changed, what was found out about them is kept.
  ObjectsPtr Objects(const Document& document) const {
    if (document.sources().empty()) return nullptr;
    ObjectsPtr before;
    {
      const model::MutexLock lock(mutex_);
      if (stamp_ == document.stamp()) before = objects_;
      constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24);
      const auto holds = std::min(stores_->options().search_holds, kLongest);
      if (before && Clock::now() - looked_at_ < holds) {
        AnswerAge::Note(looked_at_);
        return before;
      }
    }
    const AnswerAge age(Clock::now());
    ObjectsPtr made = SourcedObjects::Make(stores_, document.sources(), before.get());
    if (before && made->fingerprint() == before->fingerprint()) {
      made = before;
    } else if (before) {  // what is known of the parts holds no longer
      made = SourcedObjects::Make(stores_, document.sources());
    }
    // If the request has ended, the result may lack parts that it did not wait for.
    if (CancellationScope::IsCancelled()) return made;
    const model::MutexLock lock(mutex_);
    looked_at_ = age.since();
    const bool is_same = objects_ && stamp_ == document.stamp() &&
                         objects_->fingerprint() == made->fingerprint();
    if (!is_same) objects_ = std::move(made);
    stamp_ = document.stamp();
    return objects_;
  }

  // From the nearest group to the root.
  static std::vector<Origin> OriginsOf(const Document& document, std::string_view path) {
    std::vector<Origin> origins;
    std::string_view group = path;
    for (;;) {
      const auto object = document.Find(group);
      const auto* entity =
          object ? std::get_if<model::Group>(&(*object)->node.entity) : nullptr;
      if (entity != nullptr && entity->source) {
        std::string below(path.substr(group == "/" ? 0 : group.size()));
        origins.push_back({std::string(group), entity->source, below.empty() ? "/" : below});
      }
      if (group == "/") return origins;
      group = model::ParentPath(group);
    }
  }

  Result<std::shared_ptr<Node>> Make(const Document& document, const SourcedObjects* objects,
                                     std::string_view path) const {
    const auto found = document.Find(path);
    if (!objects) {
      if (!found) return model::Propagate(found.error());
      return MakeOwn(document, **found, path);
    }
    if (!found && document.LeavesOut(path)) return model::NotFound("no {}", model::Quote(path));
    if (found && !(*found)->node.is_group()) {
      if (TakesFormOfData((*found)->node.array())) {
        return MakeShaped(document, *objects, path, **found);
      }
      if ((*found)->node.array().source) return objects->LoadArray(path, (*found)->node);
      if (!(*found)->values) return MakeDescribed(document, *objects, path, **found);
      return MakeOwn(document, **found, path);
    }
    std::shared_ptr<Node> node = found ? MakeOwn(document, **found, path) : nullptr;
    for (const Origin& origin : OriginsOf(document, path)) {
      auto loaded = objects->LoadBelow(*origin.source, origin.group, origin.below);
      if (!loaded && IsAbsent(loaded.error()) && origin.below != "/") continue;
      if (!loaded && node == nullptr) return model::Propagate(std::move(loaded).error());
      if (node == nullptr) {
        node = *std::move(loaded);
        SetName(path, *node);
        DropLeftOut(document, path, *node);
      } else if (loaded) {
        DropLeftOut(document, path, **loaded);
        AddAttributes((*loaded)->attributes(), std::get<model::Group>(node->entity).attributes);
        // Objects may be missing because of it.
        if (!node->error && (*loaded)->error) node->error = (*loaded)->error;
      } else {
        node->error = std::move(loaded).error().In("x-source");
      }
    }
    if (node == nullptr) return model::NotFound("no {}", model::Quote(path));
    if (auto* group = std::get_if<model::Group>(&node->entity)) group->source = {};
    return node;
  }

  // An array without values in the document: that of the source of a group, with the attributes
  // of both.
  Result<std::shared_ptr<Node>> MakeDescribed(const Document& document,
                                              const SourcedObjects& objects,
                                              std::string_view path,
                                              const Document::Object& object) const {
    for (const Origin& origin : OriginsOf(document, path)) {
      auto loaded = objects.LoadBelow(*origin.source, origin.group, origin.below);
      if (!loaded && IsAbsent(loaded.error())) continue;
      if (!loaded) return model::Propagate(std::move(loaded).error());
      const std::shared_ptr<Node> node = *std::move(loaded);
      SetName(path, *node);
      DropLeftOut(document, path, *node);
      if (auto described = Describe(object.node.array(), *node); !described) {
        node->source = nullptr;
        node->error = std::move(described).error();
      }
      return node;
    }
    return MakeOwn(document, object, path);
  }

  // The array of the source of a group with the values that the document has.
  Result<std::shared_ptr<Node>> MakeShaped(const Document& document,
                                           const SourcedObjects& objects, std::string_view path,
                                           const Document::Object& object) const {
    Document::Object form = object;
    model::Ndarray& described = ArrayOf(form.node);
    const auto value = std::exchange(described.value, std::nullopt);
    described.source = {};
    described.type = model::Datatype();
    described.shape.clear();
    described.dimension_names.clear();
    NDLFS_TRY(auto node, MakeDescribed(document, objects, path, form));
    if (node->is_group()) return node;
    model::Ndarray& array = ArrayOf(*node);
    if (!node->source) {
      if (!node->error) {
        node->error =
            model::BadInput("values without a type and a shape, and no file has the array")
                .value();
      }
      return node;
    }
    auto values = ValuesInForm(*value->list(), node->source->spec(), array);
    if (values) {
      node->source = std::make_shared<ListedArray>(*std::move(values));
    } else {
      node->source = nullptr;
      node->error = std::move(values).error();
    }
    return node;
  }

  static Result<ArrayValues> ValuesInForm(const model::Value::List& list, const ArraySpec& spec,
                                          const model::Ndarray& array) {
    model::Ndarray shaped;
    shaped.name = array.name;
    shaped.type = spec.dtype;
    for (const uint64_t extent : spec.shape) shaped.shape.push_back({extent, {}});
    NDLFS_TRY(shaped.value, ShapeValues(list, spec.dtype, spec.shape));
    return ArrayValues::Make(shaped, kMaxBytes);
  }

  // Attributes of the sources that the document leaves out.
  static void DropLeftOut(const Document& document, std::string_view path, Node& node) {
    auto& attributes = node.is_group() ? std::get<model::Group>(node.entity).attributes
                                       : ArrayOf(node).attributes;
    std::erase_if(attributes, [&](const model::Attribute& attribute) {
      return document.LeavesOut(path, attribute.name);
    });
  }

  std::shared_ptr<Node> MakeOwn(const Document& document, const Document::Object& object,
                                std::string_view path) const {
    auto node = std::make_shared<Node>(object.node);
    if (object.values) {
      node->source = std::make_shared<DocumentArray>(file_, document.stamp(), std::string(path),
                                                     object.values->spec());
    }
    return node;
  }

  static void SetName(std::string_view path, Node& node) {
    std::visit([&](auto& entity) { entity.name = std::string(model::BaseName(path)); },
               node.entity);
  }

  // Links the dimensions of an array whose shape is not in the document.
  void LinkDimensionsOf(const Document& document, const SourcedObjects& objects,
                        std::string_view path, Node& node) const {
    const auto object = document.Find(path);
    if (!object || (*object)->node.is_group()) return;
    const auto& source = (*object)->node.array().source;
    auto* array = std::get_if<model::Ndarray>(&node.entity);
    if (array == nullptr || !source || source->has_shape || TakesFormOfData(*array)) return;
    LinkDimensions(model::ParentPath(path), *array,
                   [&](std::string_view other) -> std::shared_ptr<const Node> {
                     return Make(document, &objects, other).value_or(nullptr);
                   });
  }

  const std::string_view format_;
  const std::shared_ptr<const DocumentFile> file_;
  const std::shared_ptr<const PartStores> stores_;
  mutable NodeCache nodes_;
  mutable model::Mutex mutex_;
  mutable ObjectsPtr objects_ GUARDED_BY(mutex_);
  mutable ValueInfo stamp_ GUARDED_BY(mutex_);  // of the document that they are of
  mutable Clock::time_point looked_at_ GUARDED_BY(mutex_);
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
    static Verdicts verdicts;
    return HoldsDocument(file, verdicts, &IsDocumentWithValues);
  }
  std::vector<std::string> StoresDescribedBy(std::string_view path,
                                             const Store&) const override {
    return StoresOfName(path);
  }
  bool describes_others() const override { return true; }
  model::Result<bool> SaysWhereDataAre(const Store& file) const override {
    static Verdicts verdicts;
    return HoldsDocument(file, verdicts, &IsDocumentWithSources);
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    return OpenDescription(std::move(source), path, options, {name(), model::ReadNdl});
  }
};

}  // namespace
}  // namespace ndl

model::Result<std::shared_ptr<const Hierarchy>> OpenDescription(
    std::shared_ptr<const Source> source, const std::string& path, const OpenOptions& options,
    const DescriptionLanguage& language) {
  NDLFS_TRY(auto stores, ndl::PartStores::Make(source, path, options));
  auto file = std::make_shared<const ndl::DocumentFile>(std::move(source), path, language.read);
  NDLFS_RETURN_IF_ERROR(file->Current());
  return std::make_shared<ndl::NdlHierarchy>(language.name, std::move(file), std::move(stores));
}

const Format& NdlFormat() {
  static const ndl::NdlFormatImpl format;
  return format;
}

}  // namespace ndlfs::backends
