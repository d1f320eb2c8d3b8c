// SPDX-License-Identifier: MIT
#include "fs/view/place/ome_image.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/dimension_names.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

// More text would be no description of an image.
constexpr size_t kMostText = size_t{4} << 20;

const std::string* TextOfAttribute(const backends::Node& group, std::string_view name) {
  const auto* attribute = FindAttribute(group.attributes(), name);
  return attribute == nullptr ? nullptr : attribute->value.text();
}

Result<Json> ParseText(const std::string& text) {
  if (text.size() > kMostText) {
    return model::Limit("it has {} bytes, and at most {} are read", text.size(), kMostText);
  }
  return backends::ParseJson(text);
}

std::optional<Json> ParseOmeAttribute(const backends::Node& group, const char* name) {
  auto found = FindOmeAttribute(group, name);
  return found && *found ? std::optional(*std::move(*found)) : std::nullopt;
}

// "FF8000", also with a number sign in front; nullopt for all other text.
std::optional<uint32_t> ParseColor(std::string_view text) {
  constexpr size_t kDigits = 6;
  if (text.starts_with('#')) text.remove_prefix(1);
  return text.size() == kDigits ? model::ParseNumber<uint32_t>(text, 16) : std::nullopt;
}

// The values that are shown as nothing and as all of the colour; nullopt if they are no range.
std::optional<OmeWindow> WindowOf(const Json& json) {
  const Json& start = OmeMember(json, "start");
  const Json& end = OmeMember(json, "end");
  if (!start.is_number() || !end.is_number()) return std::nullopt;
  const OmeWindow window{start.get<double>(), end.get<double>()};
  const bool is_range = std::isfinite(window.start) && std::isfinite(window.end) &&
                        window.start < window.end && std::isfinite(window.end - window.start);
  return is_range ? std::optional(window) : std::nullopt;
}

bool IsTrue(const Json& json) { return json.is_boolean() && json.get<bool>(); }
bool IsFalse(const Json& json) { return json.is_boolean() && !json.get<bool>(); }

// The channels of a file of OME-TIFF, by the attributes of its array.
std::vector<OmeChannel> ChannelsOfTiff(const backends::Node& array, size_t count) {
  std::vector<OmeChannel> channels(count);
  const auto texts = [&](std::string_view name) {
    std::vector<std::string> found;
    const auto* attribute = FindAttribute(array.attributes(), name);
    const auto* list = attribute == nullptr ? nullptr : attribute->value.list();
    if (list == nullptr || list->size() != count) return found;
    for (const model::Value& value : *list) {
      found.push_back(value.text() == nullptr ? std::string() : *value.text());
    }
    return found;
  };
  const std::vector<std::string> labels = texts("channel_names");
  const std::vector<std::string> colors = texts("channel_colors");
  if (labels.empty() && colors.empty()) return {};
  for (size_t i = 0; i < count; ++i) {
    if (!labels.empty()) channels[i].label = labels[i];
    if (!colors.empty()) channels[i].color = ParseColor(colors[i]);
  }
  return channels;
}

// Bands of a TIFF file that are red, green and blue. The others are not shown. Where there are
// 16 bits, files seldom use all of them.
std::vector<OmeChannel> ChannelsOfBands(const ArrayInput& array, size_t count) {
  constexpr size_t kColours = 3;
  const bool is_colour = TextOf(array.node->attributes(), "PhotometricInterpretation") == "RGB";
  const bool is_byte = array.dtype == model::Datatype::Integer(1, false);
  if (!is_colour || count < kColours) return {};
  std::vector<OmeChannel> channels(count);
  for (size_t i = 0; i < count; ++i) {
    channels[i].is_active = i < kColours;
    if (i < kColours) channels[i].color = 0xFF0000U >> (8 * i);
    if (is_byte) channels[i].window = OmeWindow{0, 255};
  }
  channels[0].label = "red";
  channels[1].label = "green";
  channels[2].label = "blue";
  return channels;
}

// Red, green, blue and how opaque it is, each from 0 to 255; nullopt for other values.
std::optional<OmeLabelColor> LabelColorOf(const Json& rgba) {
  constexpr size_t kParts = 4;
  if (!rgba.is_array() || rgba.size() != kParts) return std::nullopt;
  uint32_t color = 0;
  for (const Json& part : rgba) {
    const auto number = backends::JsonToSize(part);
    if (!number || *number > 255) return std::nullopt;
    color = color << 8 | static_cast<uint32_t>(*number);
  }
  return OmeLabelColor{color >> 8, (color & 255) == 0};
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

}  // namespace

const Json& OmeMember(const Json& json, const char* key) {
  static const Json none;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() ? *found : none;
}

std::string OmeText(const Json& json) {
  return json.is_string() ? json.get<std::string>() : std::string();
}

std::optional<Result<Json>> FindOmeAttribute(const backends::Node& group, const char* name) {
  if (const std::string* text = TextOfAttribute(group, "ome")) {
    auto ome = ParseText(*text);
    if (!ome && text->find('"' + std::string(name) + '"') != text->npos) {
      return model::Propagate(std::move(ome).error());
    }
    if (ome && ome->is_object()) {
      const Json& member = OmeMember(*ome, name);
      return member.is_null() ? std::nullopt : std::optional<Result<Json>>(member);
    }
  }
  const std::string* text = TextOfAttribute(group, name);
  return text == nullptr ? std::nullopt : std::optional(ParseText(*text));
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
                        .color = ParseColor(OmeText(OmeMember(channel, "color"))),
                        .window = WindowOf(OmeMember(channel, "window")),
                        .is_active = !IsFalse(OmeMember(channel, "active")),
                        .is_inverted = IsTrue(OmeMember(channel, "inverted"))});
  }
  return channels;
}

OmeChannels FindOmeChannels(const ArrayInput& array) {
  const size_t rank = array.shape.size();
  const backends::Node* group = array.group == nullptr ? nullptr : &array.group->node();
  const auto image = group == nullptr ? std::nullopt : FindOmeImage(*group);
  OmeChannels found;
  const std::vector<std::string> names =
      image ? ReadOmeAxisNames(*image, rank) : std::vector<std::string>();
  for (size_t d = 0; d < rank; ++d) {
    const bool is_oldest = image && OmeMember(*image, "axes").is_null() && rank == 5 && d == 1;
    const std::string name = d < names.size() ? names[d] : DimensionName(array, d);
    if (IsNameOfBands(name) && !image) {
      found.dimension = d;
      found.has_one_window = true;
      found.channels = ChannelsOfBands(array, array.shape[d]);
    }
    if (!IsNameOfOmeChannels(name) && !is_oldest) continue;
    found.dimension = d;
    found.channels = image ? ReadOmeChannels(*group, array.shape[d])
                           : ChannelsOfTiff(*array.node, array.shape[d]);
  }
  if (image) {
    const auto omero = ParseOmeAttribute(*group, "omero");
    const Json& defaults = omero ? OmeMember(*omero, "rdefs") : OmeMember({}, "");
    found.is_grey = OmeText(OmeMember(defaults, "model")) == "greyscale";
  }
  return found;
}

bool IsOmeLabels(const backends::Node& group) {
  return FindOmeAttribute(group, "image-label").has_value();
}

std::map<double, OmeLabelColor> ReadOmeLabelColors(const backends::Node& group) {
  constexpr size_t kMostColors = 65'536;
  std::map<double, OmeLabelColor> colors;
  const auto labels = ParseOmeAttribute(group, "image-label");
  const Json& list = labels ? OmeMember(*labels, "colors") : OmeMember({}, "");
  if (!list.is_array()) return colors;
  for (const Json& one : list) {
    if (colors.size() == kMostColors) break;
    const Json& value = OmeMember(one, "label-value");
    const auto color = LabelColorOf(OmeMember(one, "rgba"));
    if (value.is_number() && color) colors.emplace(value.get<double>(), *color);
  }
  return colors;
}

std::string TellingName(const ArrayInput& array) {
  std::string name = array.node->array().name;
  // "10_10_40" is a resolution of Neuroglancer.
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || c == '_'; };
  if (array.group == nullptr || name.empty() || name.starts_with('_') ||
      !std::ranges::all_of(name, is_digit)) {
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

}  // namespace ndlfs::fs
