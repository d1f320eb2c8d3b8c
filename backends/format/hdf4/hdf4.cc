// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/hdf4.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/elements.h"
#include "backends/format/hdf4/node_builder.h"
#include "backends/store/file_name.h"
#include "backends/store/source.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

using model::Result;

// By their paths in the source.
using Files = std::map<std::string, std::shared_ptr<const Store>>;

// Everything is known when the file is opened; another version of it is opened again.
class Hdf4Hierarchy final : public Hierarchy {
 public:
  // `files`: itself, and others that have some of its elements.
  Hdf4Hierarchy(Files files, hdf4::Objects objects, uint64_t held)
      : files_(std::move(files)), objects_(std::move(objects)), held_(held) {}

  std::string_view format() const override { return "HDF4"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    const auto found = objects_.nodes.find(path);
    if (found == objects_.nodes.end()) {
      return model::NotFound("there is no {}", model::Quote(path));
    }
    return found->second;
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto group = objects_.nodes.find(path);
    if (group == objects_.nodes.end() || !group->second->is_group()) {
      return model::NotFound("there is no group {}", model::Quote(path));
    }
    std::vector<std::string> names;
    const auto add = [&](const auto& objects) {
      // What is below the group follows it, with others in between.
      const std::string begin = path == "/" ? "/" : std::string(path) + "/";
      for (auto at = objects.lower_bound(begin);
           at != objects.end() && at->first.starts_with(begin); ++at) {
        if (at->first != "/" && model::ParentPath(at->first) == path) {
          names.emplace_back(model::BaseName(at->first));
        }
      }
    };
    add(objects_.nodes);
    add(objects_.links);
    std::ranges::sort(names);
    return names;
  }

  std::optional<Link> GetLink(std::string_view path) const override {
    const auto found = objects_.links.find(path);
    if (found == objects_.links.end()) return std::nullopt;
    return Link{found->second, Link::Kind::kHard};
  }

  Result<uint64_t> Version(std::string_view) const override {
    std::vector<std::optional<ValueInfo>> stamps;
    for (const auto& [path, store] : files_) {
      NDLFS_TRY(stamps.emplace_back(), store->Stat(""), store->Describe(""));
    }
    return HashVersions(stamps);
  }

  uint64_t held_bytes() const override { return held_; }

 private:
  const Files files_;
  const hdf4::Objects objects_;
  const uint64_t held_;
};

uint64_t HeldBytes(const hdf4::FileInfo& info) {
  constexpr uint64_t kOfArray = 4096;
  uint64_t held = info.groups.size() * kOfArray;
  for (const auto& array : info.arrays) {
    held += kOfArray + array.chunks.size() * sizeof(hdf4::StoredChunk) +
            array.pieces.size() * sizeof(hdf4::Piece);
  }
  return held;
}

// Opens the other file that has the elements of an array.
void OpenExternal(const Source& source, const std::string& path, Files& files,
                  hdf4::ArrayInfo& array) {
  if (array.external_name.empty()) return;
  const auto other = source.Resolve(path, array.external_name);
  if (!other) {
    array.problem = "its elements are in another file, outside of the source: " +
                    model::Quote(array.external_name);
    return;
  }
  constexpr size_t kMostFiles = 1000;
  if (!files.contains(*other) && files.size() > kMostFiles) {
    array.problem = "elements are in too many other files";
    return;
  }
  auto& opened = files[*other];
  if (opened == nullptr) opened = source.OpenFile(*other, Follow::kYes);
  array.external = opened;
}

bool HasSureExtension(std::string_view name) {
  constexpr std::string_view kExtensions[] = {".hdf4", ".he4", ".he2", ".h4"};
  return std::ranges::any_of(
      kExtensions, [&](std::string_view extension) { return HasExtension(name, extension); });
}

class Hdf4 final : public Format {
 public:
  std::string_view name() const override { return "HDF4"; }

  bool ProbeContent(ConstByteSpan head) const override {
    return AsText(head).starts_with("\x0e\x03\x13\x01");
  }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, ".hdf") || HasSureExtension(name);
  }
  // HDF5 has the extension .hdf, too.
  bool ProbeFile(std::string_view name, ConstByteSpan head) const override {
    return HasSureExtension(name) || ProbeContent(head);
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    std::shared_ptr<const Store> store = source->OpenFile(path);
    const std::string where = store->Describe("");
    NDLFS_TRY(const auto magic, store->Read("", 4, {0, 4}), where);
    if (!magic) return model::NotFound("{}: there is no such file", where);
    if (!ProbeContent(magic->span())) {
      return model::Corrupt("{}: it does not begin as a file of HDF4", where);
    }
    std::optional<MetadataTurn> turn;
    NDLFS_TRY(const auto elements, hdf4::Elements::Open(store, turn), where);
    NDLFS_TRY(auto info, hdf4::Describe(*elements), where);
    elements->Finish();
    const uint64_t held = HeldBytes(info) + elements->held_bytes();
    Files files = {{path, store}};
    for (hdf4::ArrayInfo& array : info.arrays) OpenExternal(*source, path, files, array);
    NDLFS_TRY(auto objects,
              hdf4::MakeObjects({store, elements->info(), elements}, std::move(info), options),
              where);
    return std::make_shared<Hdf4Hierarchy>(std::move(files), std::move(objects), held);
  }
};

}  // namespace

const Format& Hdf4Format() {
  static const Hdf4 format;
  return format;
}

}  // namespace ndlfs::backends
