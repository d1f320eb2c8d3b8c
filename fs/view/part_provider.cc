// SPDX-License-Identifier: MIT
#include "fs/view/part_provider.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/slice_text.h"
#include "fs/view/base/unpacked.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr std::string_view kText = ".txt";
constexpr std::string_view kTable = ".csv";

// A name in its parts: "values", "0,3:9", ".npy".
struct PartName {
  bool is_unpacked;
  std::optional<std::string_view> slice;
  std::string_view extension;

  std::string Stem() const { return is_unpacked ? "values" : "data"; }
  UnpackedForm Form() const {
    return extension == kText ? UnpackedForm::kText : UnpackedForm::kNumbers;
  }
};

// nullopt for other names, and those of the whole array as it is stored.
std::optional<PartName> SplitName(std::string_view name) {
  const bool is_unpacked = name.starts_with("values");
  if (!is_unpacked && !name.starts_with("data")) return std::nullopt;
  const size_t begin = is_unpacked ? 6 : 4;
  const std::string_view rest = name.substr(begin);
  if (is_unpacked && rest.starts_with('.')) return PartName{true, std::nullopt, rest};
  if (!rest.starts_with('[')) return std::nullopt;
  const size_t end = rest.rfind("].");
  if (end == std::string_view::npos) return std::nullopt;
  return PartName{is_unpacked, rest.substr(1, end - 1), rest.substr(end + 1)};
}

// A part, and which of its files is meant.
struct Part {
  ArrayInput input;
  std::string file_name;  // "data.npy"
};

Result<Part> Cut(const ArrayInput& whole, const PartName& name) {
  // A table makes the values of its columns itself.
  const bool is_table = name.extension == kTable;
  Part part{whole, (is_table ? name.Stem() : "data") + std::string(name.extension)};
  std::string stem = name.Stem();
  if (name.slice) {
    NDLFS_TRY(Selection selection, ParseSlice(whole, *name.slice));
    stem += fmt::format("[{}]", FormatSelection(selection, whole.shape));
    part.input = MakePart(whole, std::move(selection));
  }
  if (name.is_unpacked && !is_table) {
    auto values = MakeUnpacked(part.input, name.Form());
    if (!values)
      return model::NotFound(
          "no numbers, or attributes such as scale_factor that cannot be understood");
    part.input = *std::move(values);
  }
  part.input.stem = std::move(stem);
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
      if (!file.name.starts_with("data.")) continue;
      const std::string_view extension = std::string_view(file.name).substr(4);  // "data"
      const bool is_text = extension == kText;
      if (is_text != (form == UnpackedForm::kText)) continue;
      names.push_back({"values" + std::string(extension), false, std::move(file.refusal)});
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
  const auto split = SplitName(name);
  if (!split || input.reader == nullptr) return std::nullopt;
  auto part = Cut(input, *split);
  if (!part && !split->slice) return std::nullopt;
  if (!part) return ViewName{std::string(name), false, std::move(part).error()};
  auto file = files_.Find(part->input, part->file_name);
  if (!file) return std::nullopt;
  file->name = part->input.stem + std::string(split->extension);
  file->is_listed = false;
  return file;
}

Result<ViewPtr> PartProvider::Make(const ArrayInput& input, std::string_view name) const {
  const auto split = SplitName(name);
  if (!split || input.reader == nullptr) return model::NotFound("{}", name);
  NDLFS_TRY(const Part part, Cut(input, *split));
  return files_.Make(part.input, part.file_name);
}

}  // namespace ndlfs::fs
