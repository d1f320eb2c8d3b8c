// SPDX-License-Identifier: MIT
#include "fs/view/part_provider.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
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
#include "fs/view/base/chunk_text.h"
#include "fs/view/base/slice_text.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/base/view_path.h"
#include "fs/view/place/fits_world.h"
#include "fs/view/place/image_place.h"
#include "fs/view/place/map_axes.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Quote;
using model::Result;

constexpr std::string_view kText = "txt";
constexpr std::string_view kTable = "csv";

bool IsZarr(std::string_view extension) { return extension == "zarr" || extension == "zarr2"; }

UnpackedForm FormOf(std::string_view extension) {
  return extension == kText ? UnpackedForm::kText : UnpackedForm::kNumbers;
}

// nullopt for other names, and those of the whole array as it is stored.
std::optional<ViewPath> ParsePart(std::string_view name) {
  auto path = ViewPath::Parse(name);
  if (path && path->is_whole()) path.reset();
  return path;
}

// A part, and which of its files is meant.
struct Part {
  ArrayInput input;
  std::string file_name;  // "data.npy"
};

// Files that can have dimensions in another order, and blocks in place of elements: those that
// say nothing about places in the world, or that say where each dimension lies (AxisInPart()).
bool KnowsAxes(std::string_view extension) {
  return extension == "npy" || extension == "raw" || extension == kText || IsZarr(extension) ||
         extension == "fits" || extension == "nii" || extension == "tif";
}
bool KnowsFortranOrder(const ArrayInput& whole, std::string_view extension) {
  const bool has_scalars = whole.dtype.kind() != model::Datatype::Kind::kArray;
  return has_scalars && (extension == "npy" || extension == "raw");
}

// nullopt if the files of the extension can have what the name asks for.
std::optional<model::Error> RefuseLayout(const ArrayInput& whole, const ViewPath& path) {
  if ((path.axes || path.blocks) && !KnowsAxes(path.extension)) {
    return model::NotFound(".{} files have all elements, in the order of the store",
                           path.extension)
        .value();
  }
  if (path.is_fortran && !KnowsFortranOrder(whole, path.extension)) {
    return model::NotFound("only .npy and .raw files of single numbers have an order").value();
  }
  if (path.chunks && !IsZarr(path.extension)) {
    return model::NotFound("only Zarr has chunks").value();
  }
  return std::nullopt;
}

// A dimension may be called as a word begins.
Result<void> CheckWords(const ArrayInput& whole, std::string_view slice) {
  for (const std::string_view item : SplitSlice(slice)) {
    if (FindNamedItem(whole, item)) continue;
    if (auto refusal = RefuseWord(item)) return model::Propagate(*std::move(refusal));
  }
  return {};
}

// `node` with attributes that `change` changes.
template <typename Change>
std::shared_ptr<const backends::Node> WithAttributes(const backends::Node& node,
                                                     const Change& change) {
  auto changed = std::make_shared<backends::Node>(node);
  change(AttributesIn(*changed));
  return changed;
}

// A part whose attributes say where it is, and not where the whole array is.
ArrayInput InItsPlace(ArrayInput input) {
  if (!input.part) return input;
  input.node = WithAttributes(*input.node, [&](auto& attributes) {
    MoveTransforms(PixelsOfPart(input), attributes);
    MoveCards(input, attributes);
  });
  return input;
}

// Makes the part that a name asks for, step by step.
class Cutter {
 public:
  // `shown` gets the text that is the same for equal parts.
  Cutter(const ArrayInput& whole, const ViewPath& path, ViewPath& shown)
      : path_(path), shown_(shown), input_(whole) {}

  Result<ArrayInput> Run() {
    NDLFS_RETURN_IF_ERROR(CutOut());
    if (IsUnpacked()) NDLFS_RETURN_IF_ERROR(Unpack());
    if (blocks_) {
      NDLFS_TRY(input_, MakeBlocks(input_, *std::move(blocks_)));
    }
    if (IsZarr(path_.extension)) input_ = InItsPlace(std::move(input_));
    if (path_.is_fortran) input_ = InFortranOrder(input_);
    if (path_.chunks) {
      NDLFS_TRY(ChunkWish chunks, ParseChunks(input_, *path_.chunks));
      shown_.chunks = FormatChunks(chunks);
      input_ = WithChunks(input_, std::move(chunks));
    }
    return std::move(input_);
  }

 private:
  // A table makes the values of its columns itself.
  bool IsUnpacked() const {
    return path_.stem == ViewPath::Stem::kValues && path_.extension != kTable;
  }
  // The slice, and its dimensions in their order.
  Result<void> CutOut() {
    const ArrayInput whole = input_;
    Selection selection;
    for (const uint64_t extent : whole.shape) selection.push_back(WholeRange(extent));
    if (path_.slice) {
      NDLFS_RETURN_IF_ERROR(CheckWords(whole, *path_.slice));
      NDLFS_TRY(selection, ParseSlice(whole, *path_.slice));
      shown_.slice = FormatSelection(selection, whole.shape);
      input_ = MakePart(whole, selection);
    }
    std::vector<size_t> axes;
    for (size_t d = 0; d < input_.shape.size(); ++d) axes.push_back(d);
    if (path_.axes) {
      NDLFS_TRY(axes, ParseAxes(input_, *path_.axes));
      shown_.axes = FormatAxes(axes);
    }
    if (path_.is_fortran) std::ranges::reverse(axes);
    if (path_.blocks) {
      NDLFS_TRY(const Blocks blocks, ParseBlocks(input_, *path_.blocks));
      shown_.blocks = FormatBlocks(blocks);
      blocks_ = Blocks{.statistic = blocks.statistic, .extents = {}};
      for (const size_t d : axes) blocks_->extents.push_back(blocks.extents[d]);
    }
    const ArrayPart part = PartOf(input_);
    for (size_t& d : axes) d = *DimensionOfWhole(part, d);
    input_ = MakePart(whole, std::move(selection), std::move(axes));
    return {};
  }
  Result<void> Unpack() {
    auto values = MakeUnpacked(input_, FormOf(path_.extension));
    if (!values) {
      return model::NotFound(
          "no numbers, or attributes such as scale_factor that cannot be understood");
    }
    input_ = *std::move(values);
    return {};
  }

  const ViewPath& path_;
  ViewPath& shown_;
  ArrayInput input_;
  std::optional<Blocks> blocks_;  // of the dimensions in their new order
};

Result<Part> Cut(const ArrayInput& whole, const ViewPath& path) {
  if (auto refusal = RefuseLayout(whole, path)) return model::Propagate(*std::move(refusal));
  ViewPath file = ViewPath::Whole(path.extension);
  if (path.extension == kTable) file.stem = path.stem;
  ViewPath shown = path;
  NDLFS_TRY(ArrayInput input, Cutter(whole, path, shown).Run());
  input.stem = shown.NameWithoutExtension();
  return Part{std::move(input), file.Name()};
}

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

// Which arrays are no data, by the attributes of others.
struct ArrayRoles {
  void Note(const ArrayInput& array) {
    for (const model::Attribute& attribute : array.node->attributes()) {
      const std::string* text = attribute.value.text();
      if (text == nullptr) continue;
      if (attribute.name == "bounds" || attribute.name == "climatology") bounds.insert(*text);
      const bool is_measure = attribute.name == "cell_measures";
      if (!is_measure && attribute.name != "coordinates") continue;
      for (std::string& name : WordsOf(*text)) {
        (is_measure ? measures : coordinates).insert(std::move(name));
      }
    }
  }
  bool IsCoordinate(const std::string& name, const ArrayInput& array) const {
    return coordinates.contains(name) ||
           std::holds_alternative<model::DimCoord>(array.node->entity);
  }

  std::set<std::string, std::less<>> bounds;
  std::set<std::string, std::less<>> coordinates;
  std::set<std::string, std::less<>> measures;
};

// The blocks that a name asks for; or the chunks.
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

  // Notes the dimensions of an array of the group.
  void Note(const ArrayInput& array) {
    for (Item& item : items_) {
      if (FindNamedItem(array, item.text)) item.is_found = true;
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
  static Result<ArrayInput> Apply(const ArrayRoles& roles, const std::string& name,
                                  const ArrayInput& array, Blocks blocks) {
    if (roles.bounds.contains(name)) return MakeBlockBounds(array, std::move(blocks));
    if (roles.measures.contains(name)) blocks.statistic = Statistic::kSum;
    return roles.IsCoordinate(name, array) ? MakeCentres(array, std::move(blocks.extents))
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
      NDLFS_TRY(made, GroupBlocks::Apply(roles_, name, made, *blocks));
    }
    made = InItsPlace(std::move(made));
    if (made.part) NameScalars(name, array, made);
    if (const auto pixels = pixels_.find(name); pixels != pixels_.end()) {
      made.node = WithAttributes(
          *made.node, [&](auto& attributes) { MoveTransforms(pixels->second, attributes); });
    }
    if (!chunks) return made;
    ChunkWish fitting = *chunks;
    for (size_t d = 0; d < fitting.size(); ++d) {  // blocks are fewer than elements
      if (fitting[d]) fitting[d] = std::clamp<uint64_t>(made.shape[d], 1, *fitting[d]);
    }
    return WithChunks(made, std::move(fitting));
  }

  // The same for an array of a group around it.
  Result<ArrayInput> CutOuter(const std::string& name, const ArrayInput& array) {
    arrays_.clear();
    NDLFS_RETURN_IF_ERROR(AddArray(name, array));
    return Cut(name, array);
  }

  // What the group says about all of its arrays, as it is for their parts.
  std::shared_ptr<const backends::Node> NodeOf(const backends::Node& group) const {
    return WithAttributes(group, [&](auto& attributes) {
      if (const auto own = pixels_.find(""); own != pixels_.end()) {
        MoveTransforms(own->second, attributes);
      }
      if (has_parts_) DropImagePlace(has_all_space_, attributes);
    });
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
  struct ArrayCut {
    Selection selection = {};
    std::optional<Blocks> blocks = {};
    std::optional<ChunkWish> chunks = {};
  };

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
      NotePlace(*child->array, arrays_[name], group.node().attributes());
    }
    return {};
  }

  Result<void> AddArray(const std::string& name, const ArrayInput& array) {
    roles_.Note(array);
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

  // Names in `coordinates` of a part those of the dimensions that it has one index of (CF,
  // section 5.7).
  void NameScalars(const std::string& name, const ArrayInput& array, ArrayInput& part) const {
    if (roles_.IsCoordinate(name, array) || roles_.bounds.contains(name)) return;
    const model::Shape& shape = array.node->array().shape;
    std::string coordinates = TextOf(part.node->attributes(), "coordinates");
    const std::vector<std::string> known = WordsOf(coordinates);
    std::string added;
    for (size_t d = 0; d < part.part->selection.size(); ++d) {
      if (!part.part->selection[d].is_dropped) continue;
      const bool has_path = d < shape.size() && !shape[d].dimcoord.empty();
      const std::string word =
          has_path ? std::string(model::BaseName(shape[d].dimcoord)) : DimensionName(array, d);
      if (!has_path && (word == name || !arrays_.contains(word))) continue;
      if (std::ranges::find(known, word) == known.end()) added += ' ' + word;
    }
    if (added.empty()) return;
    coordinates = coordinates.empty() ? added.substr(1) : coordinates + added;
    part.node = WithAttributes(*part.node, [&](auto& attributes) {
      std::erase_if(attributes, [](const auto& own) { return own.name == "coordinates"; });
      attributes.push_back(model::MakeTextAttribute("coordinates", coordinates));
    });
  }

  // Notes where the part lies of what its grid mapping, and the group, are about.
  void NotePlace(const ArrayInput& array, const ArrayCut& cut,
                 const std::vector<model::Attribute>& of_group) {
    ArrayInput shown = MakePart(array, cut.selection);
    if (cut.blocks) {
      ArrayPart part = PartOf(shown);
      part.blocks = cut.blocks;
      shown.part = std::make_shared<const ArrayPart>(std::move(part));
    }
    if (shown.part) has_parts_ = true;
    const size_t rank = array.shape.size();
    for (size_t d = rank < 3 ? rank : rank - 3; d < rank; ++d) {
      const ImageAxis axis = AxisInPart(shown, d);
      if (!axis.dimension || axis.first != 0 || axis.step != 1) has_all_space_ = false;
    }
    std::vector<std::string> about = WordsOf(TextOf(array.node->attributes(), "grid_mapping"));
    const bool is_of_group = model::FindAttribute(of_group, "spatial:transform") != nullptr &&
                             IsPlaceOf(of_group, shown);
    if (is_of_group) about.emplace_back();
    if (about.empty()) return;
    const auto pixels = PixelsOfPart(shown);
    for (std::string& name : about) {
      if (name.ends_with(':')) name.pop_back();
      const auto [known, is_new] = pixels_.emplace(model::BaseName(name), pixels);
      if (!is_new && known->second != pixels) known->second.reset();
    }
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

  std::vector<Item> items_;
  std::map<std::string, ArrayCut, std::less<>> arrays_;
  ArrayRoles roles_;
  // The pixels of the parts that are about one grid mapping, by its name, or about the group,
  // by "": PixelsOfPart(). nullopt if they differ.
  std::map<std::string, std::optional<GeoTransform>, std::less<>> pixels_;
  bool has_parts_ = false;
  bool has_all_space_ = true;  // no array is cut along its last three dimensions
  std::optional<GroupBlocks> blocks_;
  std::optional<GroupBlocks> chunks_;
};

// The cuts of a group, and of what its arrays name in groups around it.
class SharedCuts {
 public:
  explicit SharedCuts(Cuts cuts) : cuts_(std::move(cuts)), of_outer_(cuts_) {}

  const Cuts& cuts() const { return cuts_; }
  Result<ArrayInput> Cut(const std::string& name, const ArrayInput& array, bool is_outer) {
    if (!is_outer) return cuts_.Cut(name, array);
    const model::MutexLock lock(mutex_);
    return of_outer_.CutOuter(name, array);
  }

 private:
  const Cuts cuts_;
  model::Mutex mutex_;
  Cuts of_outer_ GUARDED_BY(mutex_);
};

// A group with arrays that are cut, or one around it.
class CutGroup final : public GroupInput, public std::enable_shared_from_this<CutGroup> {
 public:
  CutGroup(std::shared_ptr<const GroupInput> whole, std::shared_ptr<SharedCuts> cuts,
           bool is_outer)
      : whole_(std::move(whole)), cuts_(std::move(cuts)), is_outer_(is_outer) {
    if (!is_outer_) node_ = cuts_->cuts().NodeOf(whole_->node());
  }

  const std::string& path() const override { return whole_->path(); }
  const backends::Node& node() const override { return node_ ? *node_ : whole_->node(); }
  std::shared_ptr<const GroupInput> Outer() const override { return Around(whole_->Outer()); }
  Result<std::vector<std::string>> List() const override { return whole_->List(); }
  Result<std::optional<backends::Link>> GetLink(std::string_view name) const override {
    return whole_->GetLink(name);
  }
  Result<GroupChild> Load(std::string_view name) const override {
    NDLFS_TRY(GroupChild child, whole_->Load(name));
    if (is_outer_) child.group = Around(std::move(child.group));
    if (!child.array || child.array->reader == nullptr) return child;
    auto cut = cuts_->Cut(std::string(name), *child.array, is_outer_);
    // The array is there, so its name is told where it is left out.
    if (!cut && cut.error().code() == model::ErrorCode::kNotFound) {
      return model::Unsupported("{}", cut.error().message());
    }
    NDLFS_TRY(child.array, std::move(cut));
    child.node = child.array->node;
    // What it names around the group is cut, too.
    if (is_outer_ || whole_->Outer() != nullptr) child.array->group = shared_from_this();
    return child;
  }

 private:
  std::shared_ptr<const GroupInput> Around(std::shared_ptr<const GroupInput> group) const {
    if (group == nullptr) return nullptr;
    return std::make_shared<const CutGroup>(std::move(group), cuts_, /*is_outer=*/true);
  }

  const std::shared_ptr<const GroupInput> whole_;
  const std::shared_ptr<SharedCuts> cuts_;
  const bool is_outer_;
  std::shared_ptr<const backends::Node> node_;  // of one that is not around it
};

}  // namespace

std::vector<ViewName> PartProvider::Names(const ArrayInput& input) const {
  std::vector<ViewName> names;
  if (input.reader == nullptr) return names;
  for (const UnpackedForm form : {UnpackedForm::kNumbers, UnpackedForm::kText}) {
    const auto values = MakeUnpacked(input, form);
    if (!values) continue;
    for (ViewName& file : files_.Names(*values)) {
      auto path = ViewPath::Parse(file.name);
      if (!path || !path->is_whole() || FormOf(path->extension) != form) continue;
      path->stem = ViewPath::Stem::kValues;
      names.push_back(
          {path->Name(), false, std::move(file.refusal), file.is_directory, file.description});
    }
  }
  return names;
}

// Parts are found by name.
std::vector<ViewName> PartProvider::Listed(const ArrayInput& input,
                                           const ListedViews& listed) const {
  if (listed.is_default()) return {};
  return ArrayViewProvider::Listed(input, listed);
}

std::optional<Resolution> PartProvider::Resolve(const ArrayInput& input,
                                                std::string_view name) const {
  const auto path = ParsePart(name);
  if (!path || input.reader == nullptr) return std::nullopt;
  auto cut = Cut(input, *path);
  if (!cut && !path->has_brackets()) return std::nullopt;
  if (!cut) return Resolution{{std::string(name), false, std::move(cut).error()}};
  const auto part = std::make_shared<const Part>(*std::move(cut));
  auto file = files_.Resolve(part->input, part->file_name);
  if (!file) return std::nullopt;
  file->name = part->input.stem + '.' + path->extension;
  file->is_listed = false;
  file->make = [part, make = std::move(file->make)] { return make(); };
  return file;
}

std::optional<Resolution> GroupPartProvider::Resolve(const GroupInput& group,
                                                     std::string_view name) const {
  auto path = ParseGroupPart(name);
  if (!path) return std::nullopt;
  auto cuts = Cuts::Find(group, *path);
  if (!cuts) return Resolution{{std::string(name), false, std::move(cuts).error()}};
  if (path->slice) path->slice = cuts->Text();
  // The caller keeps the group.
  const auto cut = std::make_shared<const CutGroup>(
      std::shared_ptr<const GroupInput>(std::shared_ptr<const GroupInput>(), &group),
      std::make_shared<SharedCuts>(*std::move(cuts)), /*is_outer=*/false);
  auto file = files_.Resolve(*cut, ViewPath::Whole(path->extension).Name());
  if (!file) return std::nullopt;
  file->name = path->Name();
  file->is_listed = false;
  file->make = [cut, make = std::move(file->make)] { return make(); };
  return file;
}

}  // namespace ndlfs::fs
