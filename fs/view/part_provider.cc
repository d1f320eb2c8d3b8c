// SPDX-License-Identifier: MIT
#include "fs/view/part_provider.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/view/base/array_part.h"
#include "fs/view/base/block_statistics.h"
#include "fs/view/base/chunk_text.h"
#include "fs/view/base/slice_text.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/base/view_path.h"

namespace ndlfs::fs {
namespace {

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

}  // namespace ndlfs::fs
