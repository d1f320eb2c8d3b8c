// SPDX-License-Identifier: MIT
#include "fs/view/group_part_provider.h"

#include <fmt/ranges.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/slice_text.h"
#include "fs/view/base/view_path.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr std::string_view kExtension = "nc";

// What stands between the brackets; nullopt for other names.
std::optional<std::string> SliceIn(std::string_view name) {
  const auto path = ViewPath::Parse(name);
  const bool is_part = path && path->stem == ViewPath::Stem::kData;
  return is_part && path->extension == kExtension ? path->Brackets() : std::nullopt;
}

// One item of a slice, and what it has meant for the arrays so far.
struct Item {
  std::string_view text;  // "lat=40:60"
  std::string name = {};  // of the dimension
  bool by_coordinate = false;
  bool by_index = false;
  // The meaning of the item along a dimension of that extent, by the path name of the
  // coordinates.
  std::map<std::pair<std::string, uint64_t>, IndexRange> found = {};
};

// How each array of a group is cut.
class Cuts {
 public:
  static Result<Cuts> Find(const GroupInput& group, std::string_view text) {
    Cuts cuts;
    for (const std::string_view item : SplitSlice(text)) {
      if (item.find('=') == std::string_view::npos) {
        return model::NotFound("{} does not name a dimension, as slices of groups do",
                               Quote(item));
      }
      cuts.items_.push_back({item});
    }
    NDLFS_RETURN_IF_ERROR(cuts.AddArrays(group));
    for (const Item& item : cuts.items_) {
      if (!item.name.empty()) continue;
      return model::NotFound("no array has a dimension called {}",
                             Quote(item.text.substr(0, item.text.find('='))));
    }
    return cuts;
  }

  // Null where the child is whole.
  const Selection* Of(std::string_view child) const {
    const auto found = selections_.find(child);
    return found == selections_.end() ? nullptr : &found->second;
  }

  // Equal texts for equal cuts.
  std::string Text() const {
    std::vector<std::string> texts;
    for (const Item& item : items_) {
      const auto& [key, range] = *item.found.begin();
      // "#-1" is another index in another extent.
      const bool is_same = item.found.size() == 1;
      texts.push_back(is_same ? fmt::format("{}=#{}", model::EncodeFileName(item.name),
                                            range == WholeRange(key.second)
                                                ? ":"
                                                : FormatSelection({range}, {key.second}))
                              : std::string(item.text));
    }
    return fmt::format("{}", fmt::join(texts, ","));
  }

 private:
  Result<void> AddArrays(const GroupInput& group) {
    NDLFS_TRY(const auto names, group.List());
    for (const std::string& name : names) {
      NDLFS_TRY(const auto link, group.GetLink(name), name);
      if (link) continue;
      const auto child = group.Load(name);
      if (!child && child.error().is_transient()) {
        return model::Propagate(child.error(), name);
      }
      if (!child || !child->array || child->array->reader == nullptr) continue;
      NDLFS_RETURN_IF_ERROR(AddArray(name, *child->array), model::OneLine(name));
    }
    return {};
  }

  Result<void> AddArray(const std::string& name, const ArrayInput& array) {
    Selection selection;
    for (const uint64_t extent : array.shape) selection.push_back(WholeRange(extent));
    std::vector<bool> is_cut(selection.size());
    for (Item& item : items_) {
      const auto named = FindNamedItem(array, item.text);
      if (!named) continue;
      if (is_cut[named->dimension]) {
        return model::NotFound("{} is there twice", Quote(item.text));
      }
      is_cut[named->dimension] = true;
      item.name = DimensionName(array, named->dimension);
      NDLFS_TRY(selection[named->dimension], RangeOf(array, *named, item));
      selections_.insert_or_assign(name, selection);
    }
    return {};
  }

  Result<IndexRange> RangeOf(const ArrayInput& array, const NamedItem& named, Item& item) {
    std::string path;
    if (!named.text.starts_with('#')) {
      NDLFS_TRY(const auto coordinates, FindCoordinate(array, named.dimension));
      (coordinates ? item.by_coordinate : item.by_index) = true;
      if (item.by_coordinate && item.by_index) {
        return model::NotFound(
            "{} means coordinates of some arrays, and indices of others; {}=#... are indices",
            Quote(item.text), item.name);
      }
      if (coordinates) path = PathOf(*coordinates);
    }
    std::pair key(std::move(path), array.shape[named.dimension]);
    if (const auto known = item.found.find(key); known != item.found.end()) {
      return known->second;
    }
    NDLFS_TRY(const IndexRange range, ParseNamedItem(array, named), item.name);
    item.found.emplace(std::move(key), range);
    return range;
  }

  std::vector<Item> items_;
  std::map<std::string, Selection, std::less<>> selections_;
};

// A group with arrays that are cut.
class CutGroup final : public GroupInput {
 public:
  // `whole` must outlive it.
  CutGroup(const GroupInput& whole, Cuts cuts) : whole_(whole), cuts_(std::move(cuts)) {}

  const std::string& path() const override { return whole_.path(); }
  const backends::Node& node() const override { return whole_.node(); }
  std::shared_ptr<const GroupInput> Outer() const override { return whole_.Outer(); }
  Result<std::vector<std::string>> List() const override { return whole_.List(); }
  Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    return whole_.GetLink(name);
  }
  Result<GroupChild> Load(std::string_view name) const override {
    NDLFS_TRY(GroupChild child, whole_.Load(name));
    const Selection* selection = cuts_.Of(name);
    if (selection == nullptr || !child.array) return child;
    child.array = MakePart(*child.array, *selection);
    child.node = child.array->node;
    return child;
  }

 private:
  const GroupInput& whole_;
  const Cuts cuts_;
};

}  // namespace

std::optional<ViewName> GroupPartProvider::Find(const GroupInput& group,
                                                std::string_view name) const {
  const auto slice = SliceIn(name);
  if (!slice) return std::nullopt;
  auto cuts = Cuts::Find(group, *slice);
  if (!cuts) return ViewName{std::string(name), false, std::move(cuts).error()};
  const std::string text = cuts->Text();
  ViewPath path = ViewPath::Whole(kExtension);
  auto file = files_.Find(CutGroup(group, *std::move(cuts)), path.Name());
  if (!file) return std::nullopt;
  path.slice = text;
  file->name = path.Name();
  file->is_listed = false;
  return file;
}

Result<ViewNode> GroupPartProvider::Make(const GroupInput& group, std::string_view name) const {
  const auto slice = SliceIn(name);
  if (!slice) return model::NotFound("{}", name);
  NDLFS_TRY(Cuts cuts, Cuts::Find(group, *slice));
  return files_.Make(CutGroup(group, std::move(cuts)), ViewPath::Whole(kExtension).Name());
}

}  // namespace ndlfs::fs
