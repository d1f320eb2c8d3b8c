// SPDX-License-Identifier: MIT
#include "backends/format/kerchunk/kerchunk.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/node_files.h"
#include "backends/format/zarr/zarr_format.h"
#include "backends/store/file_name.h"
#include "backends/store/reference/parquet_references.h"
#include "backends/store/reference/reference_store.h"

namespace ndlfs::backends {
namespace {

using kerchunk::ReferenceStore;

constexpr std::string_view kMetadataName = ".zmetadata";
// Stores of Zarr have these files, too.
constexpr std::array<std::string_view, 3> kNamesOfZarr = {".zgroup", ".zarray", "zarr.json"};

// The Zarr hierarchy over the references, but for arrays whose chunks are out
// of reach: those are described only.
class KerchunkHierarchy final : public Hierarchy {
 public:
  // `metadata_file`: the file that has all metadata, if the references are a directory.
  KerchunkHierarchy(std::shared_ptr<const ReferenceStore> store,
                    std::shared_ptr<const Hierarchy> zarr, std::string_view metadata_file)
      : store_(std::move(store)), zarr_(std::move(zarr)), metadata_file_(metadata_file) {}

  std::string_view format() const override { return "kerchunk"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    NDLFS_TRY(auto node, LoadNode(path));
    if (!node->source) return node;
    const std::string prefix = path == "/" ? "" : std::string(path.substr(1)) + "/";
    auto reachable = store_->CheckReachable(prefix);
    if (reachable) return node;
    auto described = std::make_shared<Node>(*node);
    described->source = nullptr;
    described->error = std::move(reachable).error().In(store_->Describe(prefix));
    return described;
  }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    return zarr_->List(path);
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    return zarr_->Version(path);
  }
  uint64_t held_bytes() const override { return zarr_->held_bytes(); }

 private:
  // The documents that the Zarr reader has read are all in one file.
  model::Result<std::shared_ptr<const Node>> LoadNode(std::string_view path) const {
    if (metadata_file_.empty()) return zarr_->Load(path);
    return nodes_.Load(*zarr_, path, {std::string(metadata_file_)});
  }

  const std::shared_ptr<const ReferenceStore> store_;
  const std::shared_ptr<const Hierarchy> zarr_;
  const std::string_view metadata_file_;
  const NodesWithFiles nodes_;
};

// The keys of the object that `text` begins, up to its end or that of the text.
std::vector<std::string_view> KeysOfObject(std::string_view text) {
  std::vector<std::string_view> keys;
  int depth = 0;
  bool is_key = false;  // whether a text at depth 1 would be a key
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      is_key = ++depth == 1;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',') {
      is_key = depth == 1;
    } else if (c == ':') {
      is_key = false;
    } else if (c == '"') {
      size_t end = i + 1;
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      if (end >= text.size()) return keys;
      if (is_key && depth == 1) keys.push_back(text.substr(i, end + 1 - i));
      i = end;
    }
  }
  return keys;
}

// Whether it is consolidated metadata of Zarr under another name: these have the keys of
// documents, too, but one level down.
bool IsConsolidatedMetadata(std::string_view text) {
  const auto keys = KeysOfObject(text);
  const auto has = [&](std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  return (has("\"metadata\"") || has("\"zarr_consolidated_format\"")) && !has("\"refs\"") &&
         !has("\"version\"");
}

class Kerchunk final : public Format {
 public:
  std::string_view name() const override { return "kerchunk"; }

  DirectoryMarkers directory_markers() const override {
    return {.names = {&kMetadataName, 1}, .of_others = kNamesOfZarr};
  }
  model::Result<bool> ProbeDirectory(const Source& source,
                                     std::string_view path) const override {
    // Where each look is a request, the usual name of another format is enough.
    if (source.looks_are_requests() && HasExtension(path, ".zarr")) return false;
    return kerchunk::HasParquetReferences(source, path);
  }

  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, ".json");
  }

  // Whether the document is an object that begins like one of references.
  bool ProbeFile(std::string_view, ConstByteSpan head) const override {
    static constexpr std::array<std::string_view, 6> kMarks = {
        "\"refs\"",    "\".zgroup\"",    "\".zattrs\"",
        "\".zarray\"", "\".zmetadata\"", "\"zarr.json\""};
    const std::string_view text = AsText(head);
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == text.npos || text[begin] != '{') return false;
    if (IsConsolidatedMetadata(text)) return false;
    for (const std::string_view mark : kMarks) {
      if (text.find(mark) != text.npos) return true;
    }
    return text.find("\"templates\"") != text.npos && text.find("\"version\"") != text.npos;
  }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    NDLFS_TRY(const auto status, source->Stat(path, Follow::kYes), source->Describe(path));
    const bool is_directory = status && status->is_directory();
    const std::string name =
        StoreNameOf(path.empty() ? std::string_view(source->name()) : std::string_view(path),
                    is_directory ? ".parq" : ".json");
    NDLFS_TRY(auto store, is_directory
                              ? kerchunk::OpenParquetReferences(std::move(source), path)
                              : kerchunk::OpenReferences(std::move(source), path));
    NDLFS_TRY(auto zarr, OpenZarr(store, "", name, options));
    return std::make_shared<const KerchunkHierarchy>(std::move(store), std::move(zarr),
                                                     is_directory ? kMetadataName : "");
  }
};

}  // namespace

const Format& KerchunkFormat() {
  static const Kerchunk format;
  return format;
}

}  // namespace ndlfs::backends
