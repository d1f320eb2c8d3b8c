// SPDX-License-Identifier: MIT
#include "fs/view/group_part_provider.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/block_statistics.h"
#include "fs/view/base/slice_text.h"
#include "fs/view/base/view_path.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr std::string_view kNetcdf = "nc";
constexpr std::string_view kZarr = "zarr";
constexpr std::string_view kZarr2 = "zarr2";

// nullopt for names that are none of a part of a group.
std::optional<ViewPath> ParseGroupPart(std::string_view name) {
  auto path = ViewPath::Parse(name);
  if (!path || path->stem != ViewPath::Stem::kData || !path->has_brackets()) {
    return std::nullopt;
  }
  const bool is_known =
      path->extension == kNetcdf || path->extension == kZarr || path->extension == kZarr2;
  return is_known ? path : std::nullopt;
}

// One item of a slice, and what it has meant for the arrays so far.
struct Item {
  std::string text;       // "lat=40:60"
  std::string name = {};  // of the dimension
  bool by_coordinate = false;
  bool by_index = false;
  // The meaning of the item along a dimension of that extent, by the path name of the
  // coordinates.
  std::map<std::pair<std::string, uint64_t>, IndexRange> found = {};
};

// The blocks that a name asks for, and which arrays are no data; or the chunks.
class GroupBlocks {
 public:
  static Result<GroupBlocks> Parse(std::string_view text) {
    GroupBlocks blocks;
    const size_t colon = text.find(':');
    blocks.word_ = text.substr(0, colon + 1);
    for (const std::string_view item : SplitSlice(text.substr(colon + 1))) {
      NDLFS_RETURN_IF_ERROR(CheckNamed(item));
      blocks.items_.push_back({std::string(item)});
    }
    return blocks;
  }

  // Notes the dimensions of an array of the group, and the arrays that are no data to it.
  void Note(const ArrayInput& array) {
    for (Item& item : items_) {
      if (FindNamedItem(array, item.text)) item.is_found = true;
    }
    for (const model::Attribute& attribute : array.node->attributes()) {
      const std::string* text = attribute.value.text();
      if (text == nullptr) continue;
      if (attribute.name == "bounds" || attribute.name == "climatology") bounds_.insert(*text);
      const bool is_measure = attribute.name == "cell_measures";
      if (!is_measure && attribute.name != "coordinates") continue;
      for (std::string& name : WordsOf(*text)) {
        (is_measure ? measures_ : coordinates_).insert(std::move(name));
      }
    }
  }
  Result<void> CheckFound() const {
    for (const Item& item : items_) {
      if (!item.is_found) return NoDimension(item.text);
    }
    return {};
  }

  // The numbers of the blocks of an array. Coordinates become the centres of the blocks,
  // whatever becomes of the data.
  Result<ArrayInput> Apply(const std::string& name, const ArrayInput& array,
                           Blocks blocks) const {
    if (bounds_.contains(name)) return MakeBlockBounds(array, std::move(blocks));
    if (measures_.contains(name)) blocks.statistic = Statistic::kSum;
    const bool is_coordinate = coordinates_.contains(name) ||
                               std::holds_alternative<model::DimCoord>(array.node->entity);
    return is_coordinate ? MakeCentres(array, std::move(blocks.extents))
                         : MakeBlocks(array, std::move(blocks));
  }

  static Result<void> CheckNamed(std::string_view item) {
    if (item.find('=') != std::string_view::npos) return {};
    if (auto refusal = RefuseWord(item)) return model::Propagate(*std::move(refusal));
    return model::NotFound("{} does not name a dimension, as parts of groups do", Quote(item));
  }
  static model::Failure NoDimension(std::string_view item) {
    if (auto refusal = RefuseWord(item)) return model::Propagate(*std::move(refusal));
    return model::NotFound("no array has a dimension called {}",
                           Quote(item.substr(0, item.find('='))));
  }

  // What ParseBlocks() or ParseChunks() reads for this array; empty if it has none of the
  // dimensions.
  std::string TextFor(const ArrayInput& array) const {
    std::string text;
    for (const Item& item : items_) {
      if (!FindNamedItem(array, item.text)) continue;
      text.append(text.empty() ? word_ : ",").append(item.text);
    }
    return text;
  }

 private:
  struct Item {
    std::string text;  // "lat=4"
    bool is_found = false;
  };
  std::string word_;  // "mean:"
  std::vector<Item> items_;
  std::set<std::string, std::less<>> bounds_;
  std::set<std::string, std::less<>> coordinates_;
  std::set<std::string, std::less<>> measures_;
};

// How each array of a group is cut, and made coarser.
class Cuts {
 public:
  static Result<Cuts> Find(const GroupInput& group, const ViewPath& path) {
    if (path.axes || path.is_fortran)
      return model::NotFound("only arrays have axes and an order");
    if (path.chunks && path.extension == kNetcdf)
      return model::NotFound("only Zarr has chunks");
    Cuts cuts;
    if (path.slice) {
      for (const std::string_view item : SplitSlice(*path.slice)) {
        NDLFS_RETURN_IF_ERROR(GroupBlocks::CheckNamed(item));
        cuts.items_.push_back({std::string(item)});
      }
    }
    if (path.blocks) {
      NDLFS_TRY(cuts.blocks_, GroupBlocks::Parse(*path.blocks));
    }
    if (path.chunks) {
      NDLFS_TRY(cuts.chunks_, GroupBlocks::Parse(*path.chunks));
    }
    NDLFS_RETURN_IF_ERROR(cuts.AddArrays(group));
    for (const Item& item : cuts.items_) {
      if (item.name.empty()) return GroupBlocks::NoDimension(item.text);
    }
    if (cuts.blocks_) NDLFS_RETURN_IF_ERROR(cuts.blocks_->CheckFound());
    if (cuts.chunks_) NDLFS_RETURN_IF_ERROR(cuts.chunks_->CheckFound());
    return cuts;
  }

  // The part of an array that the group has in its place.
  Result<ArrayInput> Cut(const std::string& name, const ArrayInput& array) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) return array;
    const auto& [selection, blocks, chunks] = found->second;
    ArrayInput made = MakePart(array, selection);
    if (blocks) {
      NDLFS_TRY(made, blocks_->Apply(name, made, *blocks));
    }
    if (!chunks) return made;
    ChunkWish fitting = *chunks;
    for (size_t d = 0; d < fitting.size(); ++d) {  // blocks are fewer than elements
      if (fitting[d]) fitting[d] = std::clamp<uint64_t>(made.shape[d], 1, *fitting[d]);
    }
    return WithChunks(made, std::move(fitting));
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
                              : item.text);
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
    if (blocks_) blocks_->Note(array);
    if (chunks_) chunks_->Note(array);
    ArrayCut& cut = arrays_[name];
    NDLFS_TRY(cut.selection, SelectionOf(array));
    const ArrayInput part = MakePart(array, cut.selection);
    if (const std::string text = blocks_ ? blocks_->TextFor(part) : ""; !text.empty()) {
      NDLFS_TRY(cut.blocks, ParseBlocks(part, text));
    }
    if (const std::string text = chunks_ ? chunks_->TextFor(part) : ""; !text.empty()) {
      NDLFS_TRY(cut.chunks, ParseChunks(part, text));
    }
    return {};
  }

  Result<Selection> SelectionOf(const ArrayInput& array) {
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
    }
    return selection;
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

  struct ArrayCut {
    Selection selection = {};
    std::optional<Blocks> blocks = {};
    std::optional<ChunkWish> chunks = {};
  };
  std::vector<Item> items_;
  std::map<std::string, ArrayCut, std::less<>> arrays_;
  std::optional<GroupBlocks> blocks_;
  std::optional<GroupBlocks> chunks_;
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
    if (!child.array || child.array->reader == nullptr) return child;
    auto cut = cuts_.Cut(std::string(name), *child.array);
    // The array is there, so its name is told where it is left out.
    if (!cut && cut.error().code() == model::ErrorCode::kNotFound) {
      return model::Unsupported("{}", cut.error().message());
    }
    NDLFS_TRY(child.array, std::move(cut));
    child.node = child.array->node;
    return child;
  }

 private:
  const GroupInput& whole_;
  const Cuts cuts_;
};

}  // namespace

std::optional<Resolution> GroupPartProvider::Resolve(const GroupInput& group,
                                                     std::string_view name) const {
  auto path = ParseGroupPart(name);
  if (!path) return std::nullopt;
  auto cuts = Cuts::Find(group, *path);
  if (!cuts) return Resolution{{std::string(name), false, std::move(cuts).error()}};
  if (path->slice) path->slice = cuts->Text();
  const auto cut = std::make_shared<const CutGroup>(group, *std::move(cuts));
  auto file = files_.Resolve(*cut, ViewPath::Whole(path->extension).Name());
  if (!file) return std::nullopt;
  file->name = path->Name();
  file->is_listed = false;
  file->make = [cut, make = std::move(file->make)] { return make(); };
  return file;
}

}  // namespace ndlfs::fs
