// SPDX-License-Identifier: MIT
#include "backends/format/tiff/tiff.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/tiff/node_builder.h"
#include "backends/format/tiff/pictures.h"
#include "backends/format/tiff/series.h"
#include "backends/store/file_name.h"
#include "backends/store/source.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

using model::Result;

// Everything is known when the file is opened; another version of it is opened again.
class TiffHierarchy final : public Hierarchy {
 public:
  // `others`: the other files of a set.
  TiffHierarchy(std::shared_ptr<const Store> store,
                std::vector<std::shared_ptr<const Store>> others, tiff::Nodes nodes,
                uint64_t held)
      : store_(std::move(store)),
        others_(std::move(others)),
        nodes_(std::move(nodes)),
        held_(held) {}

  std::string_view format() const override { return "TIFF"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    const auto found = nodes_.find(path);
    if (found == nodes_.end()) return model::NotFound("there is no {}", model::Quote(path));
    return found->second;
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto group = nodes_.find(path);
    if (group == nodes_.end() || !group->second->is_group()) {
      return model::NotFound("there is no group {}", model::Quote(path));
    }
    std::vector<std::string> names;
    for (const auto& [child, node] : nodes_) {
      if (child != "/" && model::ParentPath(child) == path) {
        names.emplace_back(model::BaseName(child));
      }
    }
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    std::vector<std::optional<ValueInfo>> stamps = {stamp};
    // Behind a server, a change of another file is found when its pages are read.
    if (!store_->looks_are_requests()) {
      for (const auto& other : others_) {
        NDLFS_TRY(const auto of_other, other->Stat(""), other->Describe(""));
        stamps.push_back(of_other);
      }
    }
    return HashVersions(stamps);
  }

  uint64_t held_bytes() const override { return held_; }

 private:
  const std::shared_ptr<const Store> store_;
  const std::vector<std::shared_ptr<const Store>> others_;
  const tiff::Nodes nodes_;
  const uint64_t held_;
};

std::optional<model::Error> ErrorOf(const std::vector<std::string>& problems) {
  if (problems.empty()) return std::nullopt;
  std::string text = problems.front();
  if (problems.size() > 1) text += fmt::format(" (and {} more problems)", problems.size() - 1);
  return model::Corrupt("{}", text).value();
}

class Tiff final : public Format {
 public:
  std::string_view name() const override { return "TIFF"; }

  // The signatures of TIFF and BigTIFF in both byte orders. Others begin in the same way and
  // have another number.
  bool ProbeContent(ConstByteSpan head) const override {
    constexpr std::string_view kSignatures[] = {
        {"II\x2A\0", 4}, {"MM\0\x2A", 4}, {"II\x2B\0\x08\0\0\0", 8}, {"MM\0\x2B\0\x08\0\0", 8}};
    return std::ranges::any_of(kSignatures, [&](std::string_view signature) {
      return AsText(head).starts_with(signature);
    });
  }
  bool MatchesFileName(std::string_view name) const override {
    constexpr std::string_view kExtensions[] = {".tif", ".tiff", ".gtiff", ".btf", ".tf8"};
    return std::ranges::any_of(
        kExtensions, [&](std::string_view extension) { return HasExtension(name, extension); });
  }
  // A file with such a name may be something else, and is shown as it is then.
  bool ProbeFile(std::string_view, ConstByteSpan head) const override {
    return ProbeContent(head);
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto store = source->OpenFile(path);
    const std::string where = store->Describe("");
    NDLFS_TRY(auto reader, tiff::TiffReader::Open(store), where);
    NDLFS_TRY(auto pictures, tiff::ReadPictures(reader), where);
    const auto problem = ErrorOf(pictures.problems);
    if (pictures.pictures.empty()) {
      return problem ? model::Propagate(*problem, where)
                     : model::Corrupt("{}: there is no directory", where);
    }
    uint64_t held = reader.head()->size();
    for (const auto& picture : pictures.pictures) {
      const size_t stacks = 1 + picture.overviews.size() + picture.masks.size();
      held += 4096 + picture.full.pages.size() * stacks * sizeof(tiff::PageChunks);
    }
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    const std::string name = path.substr(folder.size());
    std::vector<std::shared_ptr<const Store>> others;
    const auto open_other = [&](const std::string& other) {
      others.push_back(source->OpenFile(folder + other, Follow::kYes));
      return others.back();
    };
    NDLFS_TRY(const auto series,
              tiff::MakeSeries(reader, std::move(pictures), name, open_other), where);
    NDLFS_TRY(auto nodes, tiff::MakeNodes(reader, series, name, open_other, options), where);
    if (problem) {
      auto root = std::make_shared<Node>(*nodes.at("/"));
      root->error = problem;
      nodes["/"] = std::move(root);
    }
    return std::make_shared<TiffHierarchy>(std::move(store), std::move(others),
                                           std::move(nodes), held);
  }
};

}  // namespace

const Format& TiffFormat() {
  static const Tiff format;
  return format;
}

}  // namespace ndlfs::backends
