// SPDX-License-Identifier: MIT
#include "backends/format/grib/grib.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "backends/format/grib/header_memory.h"
#include "backends/format/grib/message_index.h"
#include "backends/format/grib/node_builder.h"
#include "backends/format/grib/plan.h"
#include "backends/format/grib/sidecar.h"
#include "backends/format/grib/sidecar_index.h"
#include "backends/format/node_cache.h"
#include "backends/store/file_name.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

using model::Result;

constexpr std::array<std::string_view, 7> kGribExtensions = {
    ".grib", ".grib1", ".grib2", ".grb", ".grb1", ".grb2", ".gb2"};

// The samples of all mounts and commands of the process; their names have those of the sources.
grib::HeaderMemory& SharedHeaderMemory() {
  static grib::HeaderMemory memory;
  return memory;
}

class GribHierarchy final : public Hierarchy {
 public:
  GribHierarchy(std::shared_ptr<const Store> store, grib::Plan plan,
                std::vector<std::string> problems, int64_t mtime_ns, const OpenOptions& options,
                const std::string& file)
      : store_(std::move(store)),
        plan_(WatchLies(std::move(plan), file)),
        problems_(std::move(problems)),
        mtime_ns_(mtime_ns),
        options_(options) {}

  std::string_view format() const override { return "GRIB"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    // What was read belongs to one version of the file; a new version is opened anew.
    if (auto node = nodes_.Find(path, 0)) return node;
    auto node = Make(path);
    if (!node) return model::NotFound("there is no {}", model::Quote(path));
    node->mtime_ns = mtime_ns_;
    return nodes_.Insert(path, 0, std::move(node));
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto parts = model::SplitPath(path);
    std::vector<std::string> names;
    const auto list = [&](const auto& children) {
      for (const auto& [name, child] : children) names.push_back(name);
    };
    if (parts.empty()) {
      list(plan_.levels);
    } else if (parts.size() == 1 && FindLevel(parts[0]) != nullptr) {
      list(*FindLevel(parts[0]));
    } else if (parts.size() == 2 && FindGroup(parts[0], parts[1]) != nullptr) {
      list(FindGroup(parts[0], parts[1])->arrays);
    } else if (parts.size() != 3 || FindArray(parts) == nullptr) {
      return model::NotFound("there is no {}", model::Quote(path));
    }
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    // When a sidecar lies, the store is to be opened anew, without it.
    return HashVersions(std::array{stamp}) ^ (*has_lie_ ? 1 : 0);
  }

  uint64_t held_bytes() const override { return plan_.held_bytes; }

 private:
  using Steps = std::map<std::string, grib::PlannedGroup, std::less<>>;
  using Parts = std::vector<std::string_view>;

  template <typename Map>
  static const typename Map::mapped_type* Find(const Map& map, std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : &found->second;
  }
  const Steps* FindLevel(std::string_view level) const { return Find(plan_.levels, level); }
  const grib::PlannedGroup* FindGroup(std::string_view level, std::string_view step) const {
    const Steps* steps = FindLevel(level);
    return steps != nullptr ? Find(*steps, step) : nullptr;
  }
  const grib::PlannedGroup::Planned* FindArray(const Parts& parts) const {
    const auto* group = FindGroup(parts[0], parts[1]);
    return group != nullptr ? Find(group->arrays, parts[2]) : nullptr;
  }

  // Null if there is nothing.
  std::shared_ptr<Node> Make(std::string_view path) const {
    const auto parts = model::SplitPath(path);
    if (parts.size() == 3) return MakeArray(path, parts);
    const bool is_there = parts.empty() ||
                          (parts.size() == 1 && FindLevel(parts[0]) != nullptr) ||
                          (parts.size() == 2 && FindGroup(parts[0], parts[1]) != nullptr);
    if (!is_there) return nullptr;
    auto node = std::make_shared<Node>();
    model::Group group;
    group.name = model::BaseName(path);
    if (parts.empty()) {
      group.attributes = plan_.attributes;
      node->error = Problems();
    }
    node->entity = std::move(group);
    return node;
  }

  std::shared_ptr<Node> MakeArray(std::string_view path, const Parts& parts) const {
    const auto* found = FindArray(parts);
    if (found == nullptr) return nullptr;
    const auto& group = *FindGroup(parts[0], parts[1]);
    const std::string_view group_path = model::ParentPath(path);
    if (const auto* coordinate = group.FindCoordinate(parts[2])) {
      return grib::MakeCoordinateNode(group, group_path, parts[2], *coordinate);
    }
    return grib::MakeArrayNode(plan_, group, group_path, parts[2],
                               std::get<grib::PlannedArray>(*found), store_, options_);
  }

  std::optional<model::Error> Problems() const {
    if (problems_.empty()) return std::nullopt;
    std::string text = problems_.front();
    if (problems_.size() > 1) {
      text +=
          fmt::format(" (and {} more, the last: {})", problems_.size() - 1, problems_.back());
    }
    return model::Corrupt("{}", text).value();
  }

  grib::Plan WatchLies(grib::Plan plan, const std::string& file) const {
    plan.on_lie = [has_lie = has_lie_, file] {
      SharedHeaderMemory().Distrust(file);
      *has_lie = true;
    };
    return plan;
  }

  const std::shared_ptr<std::atomic<bool>> has_lie_ =
      std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<const Store> store_;
  const grib::Plan plan_;
  const std::vector<std::string> problems_;
  const int64_t mtime_ns_;
  const OpenOptions options_;
  mutable NodeCache nodes_;
};

// Whether a message begins at the beginning of `text`: section 0, and the beginning of
// section 1.
bool BeginsAsMessage(ConstByteSpan bytes) {
  const auto number = [&](size_t at, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
    }
    return value;
  };
  constexpr uint64_t kLeastMessage = 32, kMostHeader = 4096;
  if (bytes.size() < 28) return false;
  const uint64_t edition = number(7, 1);
  if (edition == 1) {
    const uint64_t header = number(8, 3);
    return number(4, 3) >= kLeastMessage && header >= 28 && header <= kMostHeader;
  }
  constexpr uint64_t kMostMessage = uint64_t{1} << 48;
  const uint64_t length = number(8, 8), header = number(16, 4);
  return edition == 2 && length >= kLeastMessage && length <= kMostMessage && header >= 21 &&
         header <= kMostHeader && number(20, 1) == 1;
}

// The contents of the sidecar of a file; empty if there is none.
struct SidecarFile {
  grib::Sidecar sidecar;
  int64_t modified_ns = 0;  // 0: unknown
};
SidecarFile ReadSidecarBeside(const Source& source, const std::string& path) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  std::vector<std::string> names = {path + ".idx"};
  const size_t dot = path.rfind('.');
  if (dot != path.npos && dot > path.rfind('/') + 1) {
    names.push_back(path.substr(0, dot) + ".index");
  }
  for (const std::string& name : names) {
    const auto value = source.OpenFile(name)->Get("", kMostBytes);
    if (!value || !*value) continue;
    auto sidecar = grib::ReadSidecar(AsText((*value)->bytes.span()));
    if (!sidecar.offsets.empty()) return {std::move(sidecar), (*value)->info.modified_ns};
  }
  return {};
}

class Grib final : public Format {
 public:
  std::string_view name() const override { return "GRIB"; }

  bool ProbeContent(ConstByteSpan head) const override {
    constexpr size_t kMostJunk = 1024;
    const std::string_view text = AsText(head);
    for (size_t at = text.find("GRIB"); at < kMostJunk; at = text.find("GRIB", at + 1)) {
      if (BeginsAsMessage(head.subspan(at))) return true;
    }
    return false;
  }
  bool MatchesFileName(std::string_view name) const override {
    return std::ranges::any_of(kGribExtensions, [&](std::string_view extension) {
      return HasExtension(name, extension);
    });
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto store = source->OpenFile(path);
    NDLFS_TRY(const auto value, store->Get("", 0, {.range = {0, 0}}), store->Describe(""));
    if (!value) return model::NotFound("{}: the file is gone", store->Describe(""));
    const ValueInfo& info = value->info;
    const std::string file = source->identity() + "/" + path;
    NDLFS_TRY(auto index, Index(*source, path, *store, info, file), store->Describe(""));
    auto problems = std::move(index.problems);
    auto hierarchy =
        std::make_shared<GribHierarchy>(store, grib::MakePlan(std::move(index)),
                                        std::move(problems), info.modified_ns, options, file);
    return hierarchy;
  }

 private:
  static Result<grib::MessageIndex> Index(const Source& source, const std::string& path,
                                          const Store& store, const ValueInfo& info,
                                          const std::string& file) {
    // Reading headers costs little where it is no request.
    if (!source.looks_are_requests()) return grib::IndexMessages(store, {});
    const SidecarFile beside = ReadSidecarBeside(source, path);
    const bool is_stale = beside.modified_ns != 0 && beside.modified_ns < info.modified_ns;
    // Users may not learn from files that others of them read.
    if (!is_stale && !source.is_shared() && SharedHeaderMemory().Trusts(file)) {
      const std::string folder = file.substr(0, file.rfind('/'));
      NDLFS_TRY(auto index, grib::IndexBySidecar(store, info.size, beside.sidecar, folder,
                                                 SharedHeaderMemory()));
      if (index) return *std::move(index);
    }
    return grib::IndexMessages(store, {beside.sidecar.offsets});
  }
};

}  // namespace

const Format& GribFormat() {
  static const Grib format;
  return format;
}

}  // namespace ndlfs::backends
