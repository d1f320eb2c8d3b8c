// SPDX-License-Identifier: MIT
//
// A store that the tests change at will, and a mount of a source directory in
// which it stands.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/registry.h"
#include "backends/format/metadata_files.h"
#include "backends/format/versioned.h"
#include "backends/store/local/local_source.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/source_tree.h"
#include "fs/view/all_views.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs::fake {

using ndlfs::test::MemoryStore;

// An array of bytes in chunks of four, under the keys "0", "1" and so on.
class StoredArray final : public backends::ArraySource {
 public:
  static constexpr uint64_t kChunk = 4;

  StoredArray(std::shared_ptr<const MemoryStore> store, uint64_t size)
      : store_(std::move(store)) {
    spec_.dtype = model::Datatype::Integer(1, false);
    spec_.shape = {size};
    spec_.grid =
        backends::ChunkGrid::Regular({size}, {kChunk}, backends::ChunkGrid::Edge::kCropped)
            .value();
    spec_.codecs = backends::MakeZarr3Chain(backends::Json::parse(R"([{"name": "bytes"}])"),
                                            {spec_.dtype, {kChunk}})
                       .value();
  }
  static void Put(MemoryStore& store, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); at += kChunk) {
      store.Put(std::to_string(at / kChunk), bytes.substr(at, kChunk));
    }
  }

  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache&) const override {
    backends::ChunkLocation location;
    location.store = store_;
    location.key = std::to_string(index[0]);
    location.pieces = {{}};
    return location;
  }

 private:
  const std::shared_ptr<const MemoryStore> store_;
  backends::ArraySpec spec_;
};

// What stands at one path of the source. Set up and changed by the test, by
// one thread at a time.
struct FakeStore {
  struct Object {
    backends::Node node;
    uint64_t version = 1;
    bool broken = false;
    std::shared_ptr<MemoryStore> data;  // arrays: the chunks
  };

  Object& AddGroup(const std::string& path) {
    model::Group group;
    group.name = model::BaseName(path);
    objects[path].node.entity = std::move(group);
    return objects[path];
  }
  Object& AddArray(const std::string& path, const std::string& bytes) {
    Object& object = objects[path];
    object.data = std::make_shared<MemoryStore>();
    SetArray(path, bytes);
    return object;
  }
  // The same as a dimension coordinate, of which documents show the values.
  Object& AddCoordinate(const std::string& path, const std::string& bytes) {
    Object& object = AddArray(path, bytes);
    model::DimCoord coordinate;
    static_cast<model::Ndarray&>(coordinate) = object.node.array();
    object.node.entity = std::move(coordinate);
    return object;
  }
  // Other contents, of which the metadata may tell.
  void SetArray(const std::string& path, const std::string& bytes) {
    Object& object = objects[path];
    StoredArray::Put(*object.data, bytes);
    model::Ndarray array;
    array.name = model::BaseName(path);
    array.shape = {{bytes.size(), ""}};
    array.type = model::Datatype::Integer(1, false);
    object.node.entity = std::move(array);
  }

  std::map<std::string, Object, std::less<>> objects;
  std::map<std::string, std::string, std::less<>> links;
  std::string refused;  // a path that cannot be one
  std::optional<model::Error> open_error;
  bool finds_files = false;  // without loading
  int opened = 0;
  int loaded = 0;
  std::atomic<int> listed = 0;
  // If there are any, the store has versions: these, by OpenOptions::ref. The store itself is
  // what is opened without a ref.
  std::map<std::string, std::shared_ptr<FakeStore>> versions;
  std::set<std::string> gone;  // refs that there were
  mutable int asked = 0;       // how often for versions
};

// One opening of it. Keeps what it once loaded, as long as a format may.
class FakeHierarchy : public backends::Hierarchy, public backends::FindsMetadataFiles {
 public:
  explicit FakeHierarchy(FakeStore& store) : store_(store) {}

  std::string_view format() const override { return "Fake"; }

  model::Result<std::shared_ptr<const backends::Node>> Load(
      std::string_view path) const override {
    const std::scoped_lock lock(mutex_);  // views load arrays on several threads
    ++store_.loaded;
    if (path == store_.refused) return model::BadInput("no such name can be");
    const auto it = store_.objects.find(path);
    if (it == store_.objects.end()) return model::NotFound("no {}", path);
    auto& [version, kept] = kept_[std::string(path)];
    if (kept && version == it->second.version) return kept;
    version = it->second.version;
    if (it->second.broken) return model::BadInput("broken metadata");
    auto node = std::make_shared<backends::Node>(it->second.node);
    if (!node->is_group() && !node->error) {
      const uint64_t size = node->array().shape.at(0).size.value();
      node->source = std::make_shared<StoredArray>(it->second.data, size);
    }
    kept = std::move(node);
    return kept;
  }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    ++store_.listed;
    std::vector<std::string> names;
    const auto add = [&](std::string_view child) {
      if (child != "/" && model::ParentPath(child) == path) {
        names.emplace_back(model::BaseName(child));
      }
    };
    for (const auto& [child, object] : store_.objects) add(child);
    for (const auto& [child, target] : store_.links) add(child);
    std::sort(names.begin(), names.end());
    return names;
  }
  std::optional<backends::Link> GetLink(std::string_view path) const override {
    const auto it = store_.links.find(path);
    if (it == store_.links.end()) return std::nullopt;
    return backends::Link{it->second};
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    const auto it = store_.objects.find(path);
    if (it == store_.objects.end()) return model::NotFound("no {}", path);
    return it->second.version;
  }
  model::Result<backends::MetadataFiles> FindFiles(std::string_view path) const override {
    if (!store_.finds_files) return model::Unsupported("{}", path);
    const auto it = store_.objects.find(path);
    if (it == store_.objects.end()) return model::NotFound("no {}", path);
    return backends::MetadataFiles{it->second.node.mtime_ns, it->second.node.files};
  }

 private:
  FakeStore& store_;
  mutable std::mutex mutex_;  // of what Load() changes
  using Kept = std::pair<uint64_t, std::shared_ptr<const backends::Node>>;
  mutable std::map<std::string, Kept> kept_;  // version and node
};

class FakeRepository final : public FakeHierarchy, public backends::Versioned {
 public:
  explicit FakeRepository(FakeStore& store) : FakeHierarchy(store), store_(store) {}

  model::Result<std::string> Log() const override { return std::string("the log\n"); }
  model::Result<backends::VersionNames> Names() const override {
    ++store_.asked;
    return backends::VersionNames{NamesOf("branch="), NamesOf("tag="), NamesOf("snapshot=")};
  }
  model::Result<void> Check(const std::string& ref) const override {
    ++store_.asked;
    if (store_.versions.contains(ref)) return {};
    if (store_.gone.contains(ref)) return model::BadInput("{} was deleted", ref);
    return model::NotFound("{}", ref);
  }
  model::Result<std::string> RefAt(std::string_view time) const override {
    if (!time.starts_with('2')) return model::NotFound("{} is no time", time);
    return "at=" + std::string(time);
  }

 private:
  std::vector<std::string> NamesOf(std::string_view kind) const {
    std::vector<std::string> names;
    for (const auto& [ref, store] : store_.versions) {
      if (ref.starts_with(kind)) names.push_back(ref.substr(kind.size()));
    }
    return names;
  }

  const FakeStore& store_;
};

// The format of the stores that a test has put into its source.
class FakeFormat final : public backends::Format {
 public:
  std::string_view name() const override { return "Fake"; }
  bool has_versions() const override { return true; }
  model::Result<std::shared_ptr<const backends::Hierarchy>> Open(
      std::shared_ptr<const backends::Source>, const std::string& path,
      const backends::OpenOptions& options) const override {
    FakeStore& top = *stores.at(path);
    const auto version = top.versions.find(options.ref);
    if (!options.ref.empty() && version == top.versions.end()) {
      return model::NotFound("no {}", options.ref);
    }
    FakeStore& store = options.ref.empty() ? top : *version->second;
    ++store.opened;
    if (store.open_error) return model::Propagate(*store.open_error);
    if (!top.versions.empty() && options.ref.empty()) {
      return std::make_shared<const FakeRepository>(store);
    }
    return std::make_shared<const FakeHierarchy>(store);
  }

  std::map<std::string, std::unique_ptr<FakeStore>> stores;
};

// A source directory, mounted without a kernel.
class MountTest : public ::testing::Test {
 protected:
  explicit MountTest(bool immutable = false, const Scope& scope = {})
      : context_(
            backends::LocalSource::Open(source_.path().string()).value(), 1 << 20,
            {.decoders = 1},
            Freshness(immutable ? std::nullopt
                                : std::optional<Freshness::Duration>(std::chrono::seconds(1)),
                      [this] { return now_; }),
            {}, &WriteDocument1, [this](std::string_view line) { logged_.emplace_back(line); },
            "", 0, scope) {
    context_.services.array_views = &few_views_;
    context_.services.detect = [this](const std::string& path, bool is_directory) {
      ++detections_;
      if (format_.stores.contains(path)) return backends::FileLook{&format_, {}};
      const auto status = context_.source->Stat(path, backends::Follow::kYes);
      if (is_directory || !status || !*status) return backends::FileLook();
      return backends::FileLook{nullptr, (*status)->version};
    };
  }

  // Of what there is at `path` of the source.
  backends::FileStatus StatusOf(const std::string& path) const {
    return context_.source->Stat(path, backends::Follow::kYes).value().value();
  }

  // A store that is a directory, or a file.
  FakeStore& AddDirectoryStore(const std::string& path) {
    std::filesystem::create_directories(source_.path() / path);
    return *(format_.stores[path] = std::make_unique<FakeStore>());
  }
  FakeStore& AddFileStore(const std::string& path) {
    std::filesystem::create_directories((source_.path() / path).parent_path());
    ndlfs::test::WriteFile(source_ / path, "contents of " + path);
    return *(format_.stores[path] = std::make_unique<FakeStore>());
  }

  // Another file takes the place of the one at `path`.
  void Replace(const std::string& path, const std::string& text) {
    ndlfs::test::WriteFile(source_ / "new", text);
    std::filesystem::rename(source_.path() / "new", source_.path() / path);
  }

  void Pass(Freshness::Duration time) { now_ += time; }

  // Walks from the root, as the kernel would.
  model::Result<TreeNodePtr> Find(const std::string& path) {
    NDLFS_TRY(TreeNodePtr node, FindSourceNode(context_, ""));
    const std::string absolute = "/" + path;
    for (const auto part : model::SplitPath(absolute)) {
      NDLFS_TRY(node, node->Lookup(part));
    }
    return node;
  }
  std::vector<std::string> List(const std::string& path) {
    const auto node = Find(path);
    if (!node) return {"error: " + node.error().message()};
    return List(**node);
  }
  // Names, with what is known of their type in one letter.
  static std::vector<std::string> List(const TreeNode& node) {
    const auto reader = node.OpenDirectory();
    if (!reader) return {"error: " + reader.error().message()};
    std::vector<std::string> names;
    for (;;) {
      const auto entry = (*reader)->Next();
      if (!entry) return {"error: " + entry.error().message()};
      if (!*entry) break;
      const mode_t type = (*entry)->type;
      const char* letter = type == 0       ? "?"
                           : S_ISDIR(type) ? "d"
                           : S_ISLNK(type) ? "l"
                           : S_ISREG(type) ? "f"
                                           : "s";
      names.push_back((*entry)->name + ":" + letter);
    }
    return names;
  }
  model::Result<std::string> Read(const std::string& path) {
    NDLFS_TRY(const auto node, Find(path));
    NDLFS_TRY(const auto opened, node->Open());
    return Read(opened);
  }
  static model::Result<std::string> Read(const OpenedFile& opened) {
    std::string text(1 << 16, '\0');
    NDLFS_TRY(const size_t size,
              opened.handle->Read(0, std::as_writable_bytes(std::span(text))));
    text.resize(size);
    return text;
  }

  static model::Result<void> WriteDocument1(
      const backends::Hierarchy& hierarchy, std::string_view store_name, std::string_view path,
      const ReaderOf& reader_of, const TextSink& sink,
      const std::function<void(const model::Error&)>& refused) {
    return WriteDocument(hierarchy, store_name, path, reader_of, sink, nullptr, refused);
  }

  Freshness::Time now_{std::chrono::hours(1)};
  std::vector<std::string> logged_;
  int detections_ = 0;
  const ndlfs::test::TemporaryDirectory source_;
  FakeFormat format_;
  // data.npy, .raw, .txt and .jsonl: the tree treats all others like these.
  const KindProvider<ArrayInput> few_views_{ArrayViewKinds().first(4)};
  MountContext context_;
};

}  // namespace ndlfs::fs::fake
