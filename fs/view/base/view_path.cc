// SPDX-License-Identifier: MIT
#include "fs/view/base/view_path.h"

#include <fmt/format.h>

#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

constexpr std::string_view kChunks = "chunks:";
constexpr std::string_view kOmeTiff = "ome.tif";

// Divides what stands between brackets.
void SplitBrackets(std::string_view text, ViewPath& path) {
  for (size_t item = 0; item <= text.size();) {
    if (text.substr(item).starts_with(kChunks)) {
      if (item > 0) path.slice = text.substr(0, item - 1);
      path.chunks = text.substr(item + kChunks.size());
      return;
    }
    const size_t comma = text.find(',', item);
    if (comma == std::string_view::npos) break;
    item = comma + 1;
  }
  path.slice = text;
}

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
    SplitBrackets(name.substr(1, end - 1), path);
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
  if (!chunks) return slice;
  std::string text = slice ? *slice + ',' : std::string();
  return text.append(kChunks).append(*chunks);
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
