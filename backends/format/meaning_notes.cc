// SPDX-License-Identifier: MIT
#include "backends/format/meaning_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/packing.h"
#include "model/attributes.h"
#include "model/cf_time.h"
#include "model/path_name.h"

namespace ndlfs::backends {
namespace {

// Names that are looked up; ten thousand of them are no meaning.
constexpr int kMostNames = 64;

// What an array in `group` calls `name`; null if there is no such object.
std::shared_ptr<const Node> FindNear(const Hierarchy& hierarchy, std::string_view group,
                                     std::string_view name) {
  for (const std::string& path : PathsOfNamed(group, name)) {
    if (auto found = hierarchy.Load(path)) return *std::move(found);
  }
  return nullptr;
}

// Whether the extents of `named`, but for `more` of its own, are among those of `array`.
bool HasShapeOf(const model::Ndarray& named, const model::Ndarray& array, size_t more) {
  const bool is_text = named.type.kind() == model::Datatype::Kind::kString;
  if (is_text || named.shape.size() < more) return is_text;
  return std::ranges::all_of(
      named.shape.begin(), named.shape.end() - more, [&](const auto& of) {
        return std::ranges::any_of(array.shape,
                                   [&](const auto& one) { return one.size == of.size; });
      });
}

std::string NoteOfName(const Hierarchy& hierarchy, std::string_view path, const Node& array,
                       std::string_view attribute, const std::string& name) {
  const auto named = FindNear(hierarchy, model::ParentPath(path), name);
  const std::string what = fmt::format("{} names {}", attribute, model::Quote(name));
  if (name == model::BaseName(path)) return what + ", which is the array itself";
  if (!named || named->is_group()) return what + ", and no array is called so";
  const bool is_mapping = attribute == "grid_mapping";
  if (is_mapping || HasShapeOf(named->array(), array.array(), attribute == "bounds" ? 1 : 0)) {
    return {};
  }
  return what + ", which has other dimensions";
}

std::string NoteOfTime(const model::Ndarray& array) {
  const std::string units = model::TextOf(array.attributes, "units");
  const std::string calendar = model::TextOf(array.attributes, "calendar");
  const size_t since = units.find(" since ");
  if (since == std::string::npos) return {};
  const std::string_view word = std::string_view(units).substr(0, since);
  const bool is_long = word.starts_with("month") || word.starts_with("year");
  const std::string read = is_long ? "days" + units.substr(since) : units;
  if (model::ParseTimeUnits(read, calendar)) return {};
  return fmt::format("units {}{} are no times", model::Quote(units),
                     calendar.empty() ? "" : " of the calendar " + model::Quote(calendar));
}

}  // namespace

std::vector<std::string> PathsOfNamed(std::string_view group, std::string_view name) {
  if (name.empty()) return {};
  std::vector<std::string> paths;
  if (name.find('/') == std::string_view::npos) {
    for (;; group = model::ParentPath(group)) {
      paths.push_back(model::JoinPath(group, name));
      if (group == "/") return paths;
    }
  }
  std::vector<std::string_view> parts;
  if (!name.starts_with('/')) parts = model::SplitPath(group);
  for (const std::string_view part : model::SplitPath(name)) {
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string path = "/";
  for (const std::string_view part : parts) path = model::JoinPath(path, part);
  return {std::move(path)};
}

std::vector<std::string> NotesOfMeaning(const Hierarchy& hierarchy, std::string_view path,
                                        const Node& array) {
  std::vector<std::string> notes;
  if (!ReadPacking(array)) {
    notes.push_back(
        "scale_factor, add_offset or what is missing cannot be understood: values.* are not "
        "shown");
  }
  if (auto note = NoteOfTime(array.array()); !note.empty()) notes.push_back(std::move(note));
  int left = kMostNames;
  for (const std::string_view attribute : {"coordinates", "bounds", "grid_mapping"}) {
    std::istringstream words(model::TextOf(array.attributes(), attribute));
    for (std::string name; left > 0 && words >> name; --left) {
      // "crs: x y" of grid mappings.
      if (name.ends_with(':')) name.pop_back();
      auto note = NoteOfName(hierarchy, path, array, attribute, name);
      if (!note.empty()) notes.push_back(std::move(note));
    }
  }
  return notes;
}

}  // namespace ndlfs::backends
