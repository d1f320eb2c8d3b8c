// SPDX-License-Identifier: MIT
#include "fs/view/base/view_path.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

constexpr std::string_view kAxes = "axes:";
constexpr std::string_view kChunks = "chunks:";
constexpr std::array<std::string_view, 5> kStatistics = {
    "mean:", "min:", "max:", "sum:", "count:"};
constexpr std::string_view kFortranOrder = "order=F";
constexpr std::string_view kOmeTiff = "ome.tif";
constexpr std::string_view kPyramid = "data.ome.zarr";

// Divides what stands between brackets into its parts.
class BracketsParser {
 public:
  explicit BracketsParser(ViewPath& path) : path_(path), part_(&path.slice) {}

  // False if a part is there twice.
  bool Run(std::string_view text) {
    for (;;) {
      const size_t comma = std::min(text.find(','), text.size());
      if (!Take(text.substr(0, comma))) return false;
      if (comma == text.size()) return true;
      text.remove_prefix(comma + 1);
    }
  }

 private:
  bool Take(std::string_view item) {
    if (item == kFortranOrder) return !std::exchange(path_.is_fortran, true);
    if (item.starts_with(kAxes)) return Begin(path_.axes, item.substr(kAxes.size()));
    if (item.starts_with(kChunks)) return Begin(path_.chunks, item.substr(kChunks.size()));
    for (const std::string_view word : kStatistics) {
      if (item.starts_with(word)) return Begin(path_.blocks, item);
    }
    if (!part_->has_value()) return Begin(*part_, item);
    part_->value().append(1, ',').append(item);
    return true;
  }
  bool Begin(std::optional<std::string>& part, std::string_view text) {
    if (part) return false;
    part_ = &part;
    part = text;
    return true;
  }

  ViewPath& path_;
  std::optional<std::string>* part_;  // that the next item belongs to
};

}  // namespace

std::optional<ViewPath> ViewPath::Parse(std::string_view name) {
  ViewPath path;
  if (name.starts_with(model::kUnpackedStem)) {
    path.stem = Stem::kValues;
  } else if (!name.starts_with(model::kStoredStem)) {
    return std::nullopt;
  }
  name.remove_prefix(path.StemText().size());
  if (name.starts_with('[')) {
    // A slice may have brackets and dots of its own.
    const size_t end = name.rfind("].");
    if (end == std::string_view::npos) return std::nullopt;
    if (!BracketsParser(path).Run(name.substr(1, end - 1))) return std::nullopt;
    name.remove_prefix(end + 1);
  }
  if (!name.starts_with('.')) return std::nullopt;
  path.extension = name.substr(1);
  return path;
}

ViewPath ViewPath::Whole(std::string_view extension) {
  ViewPath path;
  path.extension = extension;
  return path;
}

std::string_view ViewPath::StemText() const {
  return stem == Stem::kValues ? model::kUnpackedStem : model::kStoredStem;
}

std::optional<std::string> ViewPath::Brackets() const {
  if (!has_brackets()) return std::nullopt;
  std::vector<std::string> parts;
  if (slice) parts.push_back(*slice);
  if (blocks) parts.push_back(*blocks);
  if (axes) parts.push_back(std::string(kAxes) + *axes);
  if (is_fortran) parts.emplace_back(kFortranOrder);
  if (chunks) parts.push_back(std::string(kChunks) + *chunks);
  return fmt::format("{}", fmt::join(parts, ","));
}

std::string ViewPath::NameWithoutExtension() const {
  const auto brackets = Brackets();
  return fmt::format("{}{}", StemText(), brackets ? '[' + *brackets + ']' : "");
}

std::string ViewPath::Name() const { return NameWithoutExtension() + '.' + extension; }

std::string_view ShortName(std::string_view file_name) {
  if (file_name == model::kPageFileName) return "html";
  if (file_name == model::kPreviewFileName) return "preview";
  if (file_name == model::kThumbnailFileName) return "thumbnail";
  if (file_name == kPyramid) return "pyramid";
  const auto path = ViewPath::Parse(file_name);
  if (!path || !path->is_whole()) return file_name;
  return file_name.substr(file_name.size() - path->extension.size());
}

std::string ResolveAlias(std::string_view stem, std::string_view name) {
  if (stem.empty() || !name.starts_with(stem) || model::IsReservedFileName(name)) return {};
  const std::string_view rest = name.substr(stem.size());
  if (!rest.starts_with('.') && !rest.starts_with('[')) return {};
  return std::string(model::kStoredStem).append(rest);
}

std::string ResolveGroupAlias(std::string_view stem, std::string_view name) {
  if (name == WithExtension(stem, kOmeTiff)) return ViewPath::Whole(kOmeTiff).Name();
  return ResolveAlias(stem, name);
}

std::string_view StemOf(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  return dot == 0 ? file_name : file_name.substr(0, dot);
}

std::string WithExtension(std::string_view name, std::string_view extension) {
  const std::string_view first = extension.substr(0, extension.find('.'));
  const bool has_several = first.size() < extension.size();
  const std::string ending = '.' + std::string(first);
  if (has_several && name.size() > ending.size() && name.ends_with(ending)) {
    name.remove_suffix(ending.size());
  }
  return fmt::format("{}.{}", name, extension);
}

}  // namespace ndlfs::fs
