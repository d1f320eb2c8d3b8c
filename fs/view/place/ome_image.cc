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

// --- Version 0.6, in the words of 0.5

// The system at an end of a transformation: {"name": "world"}, or "world" in drafts.
std::string NameOfSystem(const Json& end) {
  return OmeText(end.is_string() ? end : OmeMember(end, "name"));
}

// A matrix of numbers on its diagonal, and a column of summands, as scale and translation;
// nullopt for others.
std::optional<Json> ScaleOfAffine(const Json& affine) {
  Json scale = Json::array(), shift = Json::array();
  if (!affine.is_array()) return std::nullopt;
  const size_t rank = affine.size();
  for (size_t i = 0; i < rank; ++i) {
    const Json& row = affine[i];
    if (!row.is_array() || row.size() != rank + 1) return std::nullopt;
    for (size_t j = 0; j < rank; ++j) {
      if (!row[j].is_number() || (i != j && row[j].get<double>() != 0)) return std::nullopt;
    }
    scale.push_back(row[i]);
    shift.push_back(row[rank]);
  }
  return Json{{{"type", "scale"}, {"scale", scale}},
              {{"type", "translation"}, {"translation", shift}}};
}

// Adds a transformation to a list of scales and translations. False if it is none of them.
bool AddSteps(const Json& transformation, Json& steps, int depth = 0) {
  constexpr int kMostDepth = 8;
  const std::string type = OmeText(OmeMember(transformation, "type"));
  if (type == "identity") return true;
  if (type == "scale" || type == "translation") {
    if (!OmeMember(transformation, type.c_str()).is_array()) return false;
    steps.push_back(transformation);
    return true;
  }
  if (type == "affine") {
    const auto scale = ScaleOfAffine(OmeMember(transformation, "affine"));
    if (!scale) return false;
    for (const Json& step : *scale) steps.push_back(step);
    return true;
  }
  const Json& inner = OmeMember(transformation, "transformations");
  if (type != "sequence" || !inner.is_array() || depth == kMostDepth) return false;
  return std::ranges::all_of(
      inner, [&](const Json& step) { return AddSteps(step, steps, depth + 1); });
}

// Gives an image of 0.6 the axes of the system that its datasets lead to, and each dataset the
// scales and translations that lead there. A dataset that gets there in another way has none,
// and so no place. What leads to further systems is left out.
void UseOneSystem(Json& image) {
  const Json systems = OmeMember(image, "coordinateSystems");
  if (!systems.is_array() || image.contains("axes")) return;
  image.erase("coordinateTransformations");
  std::string name;
  for (Json& dataset : image["datasets"]) {
    if (!dataset.is_object()) continue;
    const Json found = OmeMember(dataset, "coordinateTransformations");
    Json steps = Json::array();
    const bool is_one = found.is_array() && found.size() == 1;
    const std::string output = is_one ? NameOfSystem(OmeMember(found[0], "output")) : "";
    if (name.empty()) name = output;
    const bool is_known = is_one && output == name && AddSteps(found[0], steps);
    dataset["coordinateTransformations"] = is_known ? std::move(steps) : Json::array();
  }
  for (const Json& system : systems) {
    if (!name.empty() && OmeText(OmeMember(system, "name")) == name) {
      image["axes"] = OmeMember(system, "axes");
    }
  }
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
  if (!OmeMember(image, "datasets").is_array()) return std::nullopt;
  UseOneSystem(image);
  return image;
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
