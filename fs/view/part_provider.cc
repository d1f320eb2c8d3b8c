// SPDX-License-Identifier: MIT
#include "fs/view/part_provider.h"

#include <string>
#include <utility>

#include "fs/view/base/array_part.h"
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

Result<Part> Cut(const ArrayInput& whole, const ViewPath& path) {
  const bool is_unpacked = path.stem == ViewPath::Stem::kValues;
  // A table makes the values of its columns itself.
  const bool is_table = path.extension == kTable;
  ViewPath file = ViewPath::Whole(path.extension);
  if (is_table) file.stem = path.stem;
  Part part{whole, file.Name()};
  ViewPath shown = path;  // with the text that is the same for equal parts
  if (path.slice) {
    NDLFS_TRY(Selection selection, ParseSlice(whole, *path.slice));
    shown.slice = FormatSelection(selection, whole.shape);
    part.input = MakePart(whole, std::move(selection));
  }
  if (is_unpacked && !is_table) {
    auto values = MakeUnpacked(part.input, FormOf(path.extension));
    if (!values)
      return model::NotFound(
          "no numbers, or attributes such as scale_factor that cannot be understood");
    part.input = *std::move(values);
  }
  if (path.chunks) {
    if (!IsZarr(path.extension)) return model::NotFound("only Zarr has chunks");
    NDLFS_TRY(ChunkWish chunks, ParseChunks(part.input, *path.chunks));
    shown.chunks = FormatChunks(chunks);
    part.input = WithChunks(part.input, std::move(chunks));
  }
  part.input.stem = shown.NameWithoutExtension();
  return part;
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
      names.push_back({path->Name(), false, std::move(file.refusal), file.is_directory});
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

std::optional<ViewName> PartProvider::Find(const ArrayInput& input,
                                           std::string_view name) const {
  const auto path = ParsePart(name);
  if (!path || input.reader == nullptr) return std::nullopt;
  auto part = Cut(input, *path);
  if (!part && !path->has_brackets()) return std::nullopt;
  if (!part) return ViewName{std::string(name), false, std::move(part).error()};
  auto file = files_.Find(part->input, part->file_name);
  if (!file) return std::nullopt;
  file->name = part->input.stem + '.' + path->extension;
  file->is_listed = false;
  return file;
}

Result<ViewNode> PartProvider::Make(const ArrayInput& input, std::string_view name) const {
  const auto path = ParsePart(name);
  if (!path || input.reader == nullptr) return model::NotFound("{}", name);
  NDLFS_TRY(const Part part, Cut(input, *path));
  return files_.Make(part.input, part.file_name);
}

}  // namespace ndlfs::fs
