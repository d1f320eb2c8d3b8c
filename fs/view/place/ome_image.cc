// SPDX-License-Identifier: MIT
#include "fs/view/place/ome_image.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fs/view/base/attributes.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

// More text would be no description of an image.
constexpr size_t kMostText = size_t{4} << 20;

std::optional<Json> ParseAttribute(const backends::Node& group, std::string_view name) {
  const auto* attribute = FindAttribute(group.attributes(), name);
  const std::string* text = attribute == nullptr ? nullptr : attribute->value.text();
  if (text == nullptr || text->size() > kMostText) return std::nullopt;
  auto json = backends::ParseJson(*text);
  return json ? std::optional(*std::move(json)) : std::nullopt;
}

// The attribute `name`, which is in `ome` since 0.5.
std::optional<Json> ParseOmeAttribute(const backends::Node& group, const char* name) {
  if (const auto ome = ParseAttribute(group, "ome")) return OmeMember(*ome, name);
  return ParseAttribute(group, name);
}

// "FF8000"; nullopt for all other text.
std::optional<uint32_t> ParseColor(std::string_view text) {
  constexpr size_t kDigits = 6;
  return text.size() == kDigits ? model::ParseNumber<uint32_t>(text, 16) : std::nullopt;
}

// The names of the levels after `name`; empty where it is none.
std::vector<std::string> SmallerLevels(const Json& image, std::string_view name) {
  constexpr size_t kMostLevels = 64;
  std::vector<std::string> names;
  bool is_behind = false;
  for (const Json& dataset : OmeMember(image, "datasets")) {
    if (names.size() == kMostLevels) break;
    std::string path = OmeText(OmeMember(dataset, "path"));
    if (is_behind) names.push_back(path);
    is_behind = is_behind || path == name;
  }
  return names;
}

// Whether the pages of `level` are smaller ones of those of `full`.
bool IsSmaller(const ArrayInput& level, const ArrayInput& full) {
  const size_t rank = full.shape.size();
  return level.dtype == full.dtype && level.shape.size() == rank && level.reader != nullptr &&
         std::equal(full.shape.begin(), full.shape.end() - 2, level.shape.begin()) &&
         level.shape[rank - 2] <= full.shape[rank - 2] &&
         level.shape[rank - 1] <= full.shape[rank - 1];
}

}  // namespace

const Json& OmeMember(const Json& json, const char* key) {
  static const Json none;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? *found : none;
}

std::string OmeText(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

std::optional<Json> FindOmeImage(const backends::Node& group) {
  const auto multiscales = ParseOmeAttribute(group, "multiscales");
  if (!multiscales || !multiscales->is_array() || multiscales->empty()) return std::nullopt;
  Json image = multiscales->front();
  return OmeMember(image, "datasets").is_array() ? std::optional(std::move(image))
                                                 : std::nullopt;
}

std::vector<std::string> ReadOmeAxisNames(const Json& image, size_t rank) {
  const Json& axes = OmeMember(image, "axes");
  if (!axes.is_array() || axes.size() != rank) return {};
  std::vector<std::string> names;
  for (const Json& axis : axes) {
    // Before 0.4 an axis is its name.
    names.push_back(OmeText(axis.is_string() ? axis : OmeMember(axis, "name")));
  }
  return names;
}

std::vector<OmeChannel> ReadOmeChannels(const backends::Node& group, size_t count) {
  const auto omero = ParseOmeAttribute(group, "omero");
  if (!omero) return {};
  const Json& json = OmeMember(*omero, "channels");
  if (!json.is_array() || json.size() != count) return {};
  std::vector<OmeChannel> channels;
  for (const Json& channel : json) {
    channels.push_back({.label = OmeText(OmeMember(channel, "label")),
                        .color = ParseColor(OmeText(OmeMember(channel, "color")))});
  }
  return channels;
}

bool IsOmeLabels(const backends::Node& group) {
  if (FindAttribute(group.attributes(), "image-label") != nullptr) return true;
  const auto ome = ParseAttribute(group, "ome");
  return ome && OmeMember(*ome, "image-label").is_object();
}

std::string TellingName(const ArrayInput& array) {
  std::string name = array.node->array().name;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (array.group == nullptr || name.empty() || !std::ranges::all_of(name, is_digit)) {
    return name;
  }
  const auto image = FindOmeImage(array.group->node());
  std::string around = image ? OmeText(OmeMember(*image, "name")) : "";
  if (around.empty() || around == "/") around = model::BaseName(array.group->path());
  const auto place = array.group->Place();
  if (around.empty() && place != nullptr) around = place->name;
  if (around.empty()) return name;
  return around + (image ? ", level " : ", ") + name;
}

Result<ArrayInput> LoadOmeLevel(const GroupInput& group, std::string path) {
  const size_t slash = path.find('/');
  const std::string name = path.substr(0, slash);
  if (name.empty() || name.front() == '.') return model::NotFound("{}", model::Quote(path));
  auto loaded = group.Load(name);
  if (!loaded && loaded.error().code() == model::ErrorCode::kNotFound) {
    return model::NotFound("the resolution {} is listed, but not there", model::Quote(path));
  }
  NDLFS_TRY(auto child, std::move(loaded), model::OneLine(path));
  if (slash != std::string::npos) {
    if (!child.group) return model::NotFound("{}", model::Quote(path));
    return LoadOmeLevel(*child.group, path.substr(slash + 1));
  }
  if (!child.array) return model::NotFound("{}: no array with data", model::Quote(path));
  return *std::move(child.array);
}

Result<ArrayInput> FindOmeLevel(const ArrayInput& array, uint64_t columns, uint64_t rows) {
  const size_t rank = array.shape.size();
  if (array.group == nullptr || rank < 2) return array;
  const auto image = FindOmeImage(array.group->node());
  if (!image) return array;
  ArrayInput chosen = array;
  for (const std::string& name : SmallerLevels(*image, array.node->array().name)) {
    auto level = LoadOmeLevel(*array.group, name);
    if (!level && level.error().is_transient()) {
      return model::Propagate(std::move(level).error());
    }
    if (!level || !IsSmaller(*level, chosen)) break;
    if (level->shape[rank - 1] < columns && level->shape[rank - 2] < rows) break;
    chosen = *std::move(level);
  }
  return chosen;
}

}  // namespace ndlfs::fs
