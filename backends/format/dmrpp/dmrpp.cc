// SPDX-License-Identifier: MIT
#include "backends/format/dmrpp/dmrpp.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/format/dmrpp/data_files.h"
#include "backends/format/dmrpp/document.h"
#include "backends/format/dmrpp/variable_source.h"
#include "backends/format/node_cache.h"
#include "backends/store/file_name.h"
#include "backends/store/metadata_turn.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace dmrpp {
namespace {

using model::Result;

// What reading a document takes in memory, in addition to it.
constexpr uint64_t kBytesOfDocument = 3;

Result<std::shared_ptr<const Document>> ReadFile(const Store& file, const ValueInfo& stamp) {
  if (stamp.size > kMaxDocumentBytes) {
    return model::Limit("a document of more than {} bytes", kMaxDocumentBytes);
  }
  NDLFS_TRY(const auto turn, MetadataTurn::Take((1 + kBytesOfDocument) * stamp.size));
  NDLFS_TRY(const auto text, file.Get("", kMaxDocumentBytes, {.if_match = stamp.generation}));
  if (!text) return model::NotFound("the file is gone");
  NDLFS_TRY(auto document, ReadDocument(AsText(text->bytes.span())));
  return std::make_shared<const Document>(std::move(document));
}

// Makes the nodes of a document.
class NodeBuilder {
 public:
  NodeBuilder(const Document& document, std::shared_ptr<const DataFiles> files,
              const OpenOptions& options)
      : document_(document), files_(std::move(files)), options_(options) {}

  Node Build(std::string_view path, const Object& object) const {
    Node node;
    node.error = object.error;
    if (object.variable) {
      BuildArray(path, object, node);
    } else {
      BuildGroup(path, object, node);
    }
    return node;
  }

 private:
  void BuildGroup(std::string_view path, const Object& object, Node& node) const {
    model::Group group;
    group.name = std::string(model::BaseName(path));
    group.attributes = object.attributes;
    for (const model::NamedDimension& dimension : object.dimensions) {
      if (document_.IsCoordinate(model::JoinPath(path, dimension.name))) continue;
      group.dimensions.push_back(dimension);
    }
    node.entity = std::move(group);
  }

  void BuildArray(std::string_view path, const Object& object, Node& node) const {
    const Variable& variable = *object.variable;
    model::Ndarray array;
    array.name = std::string(model::BaseName(path));
    array.type = NumberType(variable.type).value_or(model::Datatype::String());
    array.attributes = object.attributes;
    DescribeDimensions(path, variable, array);
    if (auto source = MakeSource(object, array)) {
      node.source = *std::move(source);
    } else {
      node.error = std::move(source).error();
    }
    if (document_.IsCoordinate(path)) {
      node.entity = model::DimCoord{std::move(array)};
    } else {
      node.entity = std::move(array);
    }
  }

  void DescribeDimensions(std::string_view path, const Variable& variable,
                          model::Ndarray& array) const {
    bool is_named = false;
    for (const DimensionReference& dimension : variable.dimensions) {
      model::Dimension made;
      made.size = dimension.size ? dimension.size : document_.SizeOf(dimension.path);
      if (dimension.path != path && document_.IsCoordinate(dimension.path)) {
        made.dimcoord = dimension.path;
      }
      if (!made.size) made.size = 0;  // unknown: an error of the array says so
      array.shape.push_back(std::move(made));
      array.dimension_names.emplace_back(model::BaseName(dimension.path));
      is_named = is_named || !dimension.path.empty();
    }
    if (!is_named) array.dimension_names.clear();
  }

  Result<std::shared_ptr<const ArraySource>> MakeSource(const Object& object,
                                                        model::Ndarray& array) const {
    const Variable& variable = *object.variable;
    if (variable.error) return model::Propagate(*variable.error);
    if (options_.shared && std::holds_alternative<ChunkList>(variable.data)) {
      return model::Unsupported(
          "the data are in other files; a mount for several users does not show them");
    }
    NDLFS_TRY(const auto resolved, Resolve(document_, object));
    array.type = resolved.type;
    DescribeStorage(variable, resolved, array.storage);
    return MakeVariableSource(variable, resolved, files_, options_.max_chunk_size);
  }

  static void DescribeStorage(const Variable& variable, const ResolvedVariable& resolved,
                              model::Storage& storage) {
    const auto* stored = std::get_if<ChunkList>(&variable.data);
    if (stored == nullptr) return;
    if (resolved.type.uniform_order()) storage.endian = stored->order;
    if (!stored->extents.empty()) storage.chunk = stored->extents;
    for (const std::string& filter : resolved.filters) {
      const bool is_deflate = filter == "deflate";
      model::Filter made{is_deflate ? "zlib" : filter, {}};
      if (is_deflate && stored->deflate_level) {
        made.parameters = {{"level", model::Value(*stored->deflate_level)}};
      }
      if (!storage.filter) storage.filter.emplace();
      storage.filter->push_back(std::move(made));
    }
    if (!resolved.fill) return;
    if (auto value = model::DecodeElement(resolved.type, *resolved.fill)) {
      storage.fillvalue = *std::move(value);
    }
  }

  const Document& document_;
  const std::shared_ptr<const DataFiles> files_;
  const OpenOptions& options_;
};

class DmrppHierarchy final : public Hierarchy {
 public:
  DmrppHierarchy(std::shared_ptr<const Source> source, std::string path, OpenOptions options)
      : source_(std::move(source)), path_(std::move(path)), options_(std::move(options)) {}

  std::string_view format() const override { return "DMR++"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(const auto snapshot, Current());
    const uint64_t version = snapshot.version();
    if (auto node = nodes_.Find(path, version)) return node;
    const Object* object = snapshot.document->Find(path);
    if (object == nullptr) return model::NotFound("no {}", model::Quote(path));
    auto node = std::make_shared<Node>(
        NodeBuilder(*snapshot.document, snapshot.files, options_).Build(path, *object));
    node->mtime_ns = snapshot.stamp.modified_ns;
    return nodes_.Insert(path, version, std::move(node));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    NDLFS_TRY(const auto snapshot, Current());
    const Object* object = snapshot.document->Find(path);
    if (object == nullptr || object->variable) {
      return model::NotFound("no group {}", model::Quote(path));
    }
    std::vector<std::string> names;
    for (const auto& [name, child] : object->children) names.push_back(name);
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto snapshot, Current());
    return snapshot.version();
  }

  uint64_t held_bytes() const override {
    const model::MutexLock lock(mutex_);
    return snapshot_.document ? snapshot_.document->held_bytes : 0;
  }

  // The document as it is now, and the files that it is about.
  struct Snapshot {
    std::shared_ptr<const Document> document;
    ValueInfo stamp;
    std::shared_ptr<const DataFiles> files;
    std::optional<ValueInfo> data;  // the facts about the data file; nullopt: none is there

    uint64_t version() const {
      const std::array<std::optional<ValueInfo>, 2> both = {stamp, data};
      return HashVersions(both);
    }
  };
  Result<Snapshot> Current() const {
    const auto store = source_->OpenFile(path_);
    NDLFS_TRY(const auto stamp, store->Stat(""));
    if (!stamp) return model::NotFound("the file is gone");
    const model::MutexLock lock(mutex_);
    const bool is_read = snapshot_.document && snapshot_.stamp == *stamp;
    if (!is_read) {
      NDLFS_TRY(snapshot_.document, ReadFile(*store, *stamp), store->Describe(""));
      snapshot_.stamp = *stamp;
    }
    if (!is_read || snapshot_.data != LookAtData(*snapshot_.files)) {
      snapshot_.files =
          std::make_shared<const DataFiles>(source_, path_, snapshot_.document->files, *stamp);
      snapshot_.data = LookAtData(*snapshot_.files);
    }
    return snapshot_;
  }

 private:
  // Callers of a shared source, which shows nothing of the file, may see different facts.
  std::optional<ValueInfo> LookAtData(const DataFiles& files) const {
    return options_.shared ? std::nullopt : files.Look();
  }

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
  mutable model::Mutex mutex_;
  mutable Snapshot snapshot_ GUARDED_BY(mutex_);
};

class Dmrpp final : public Format {
 public:
  std::string_view name() const override { return "DMR++"; }

  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, kExtension);
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }

  // Where reading costs little, the data file tells more about itself. Where each look is a
  // request, the document saves most of them, and is a store next to that of the file.
  std::vector<std::string> StoresDescribedBy(std::string_view path,
                                             const Store& file) const override {
    if (file.looks_are_requests()) return {};
    return {std::string(path.substr(0, path.size() - kExtension.size()))};
  }
  bool describes_others() const override { return true; }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto hierarchy = std::make_shared<DmrppHierarchy>(std::move(source), path, options);
    NDLFS_RETURN_IF_ERROR(hierarchy->Current());
    return hierarchy;
  }
};

}  // namespace
}  // namespace dmrpp

const Format& DmrppFormat() {
  static const dmrpp::Dmrpp format;
  return format;
}

}  // namespace ndlfs::backends
