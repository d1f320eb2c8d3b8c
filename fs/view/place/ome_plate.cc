// SPDX-License-Identifier: MIT
#include "fs/view/place/ome_plate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "backends/base/json.h"
#include "fs/view/place/ome_image.h"
#include "model/error.h"

namespace ndlfs::fs {
namespace {

using backends::Json;
using model::Result;

// A name that a group can have; "." and ".." lead elsewhere.
bool IsName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos;
}

// The names of the rows or of the columns; at most `most`.
std::vector<std::string> NamesOf(const Json& list, size_t most) {
  std::vector<std::string> names;
  if (!list.is_array()) return names;
  for (const Json& one : list) {
    if (names.size() == most) break;
    names.push_back(OmeText(OmeMember(one, "name")));
  }
  return names;
}

size_t CountOf(const Json& list) { return list.is_array() ? list.size() : 0; }

// How many wells are left out, and why.
struct LeftOut {
  uint64_t nowhere = 0;  // in no row or column of the plate
  uint64_t unnamed = 0;  // without a path
  uint64_t twice = 0;
  uint64_t too_many = 0;
};

class PlateReader {
 public:
  explicit PlateReader(OmePlate& plate) : plate_(plate) {}

  void Add(const Json& well) {
    const std::string path = OmeText(OmeMember(well, "path"));
    const size_t slash = path.find('/');
    const std::string row = path.substr(0, slash);
    const std::string column = slash == path.npos ? "" : path.substr(slash + 1);
    if (!IsName(row) || !IsName(column)) {
      ++left_out_.unnamed;
      return;
    }
    // Before 0.4 a well has no indices: the names in its path are those of a row and a column.
    const auto at_row = IndexOf(OmeMember(well, "rowIndex"), plate_.rows, row);
    const auto at_column = IndexOf(OmeMember(well, "columnIndex"), plate_.columns, column);
    if (!at_row || !at_column) {
      ++left_out_.nowhere;
    } else if (plate_.wells.size() == kMostPlateWells) {
      ++left_out_.too_many;
    } else if (!places_.emplace(*at_row, *at_column).second) {
      ++left_out_.twice;
    } else {
      plate_.wells.push_back({path, *at_row, *at_column});
    }
  }

  void Finish() {
    std::ranges::sort(plate_.wells, [](const OmeWell& a, const OmeWell& b) {
      return std::pair(a.row, a.column) < std::pair(b.row, b.column);
    });
    Say(left_out_.nowhere, "because the plate has no such row or column");
    Say(left_out_.unnamed, "because the path is not a row and a column");
    Say(left_out_.twice, "because another well is at the same place");
    Say(left_out_.too_many,
        fmt::format("because a page has at most {} of them", kMostPlateWells));
  }

 private:
  static std::optional<uint32_t> IndexOf(const Json& index,
                                         const std::vector<std::string>& names,
                                         const std::string& name) {
    if (index.is_null()) {
      const auto found = std::ranges::find(names, name);
      if (found == names.end()) return std::nullopt;
      return static_cast<uint32_t>(found - names.begin());
    }
    const auto number = backends::JsonToSize(index);
    if (!number || *number >= names.size()) return std::nullopt;
    return static_cast<uint32_t>(*number);
  }

  void Say(uint64_t count, std::string_view reason) {
    if (count == 0) return;
    plate_.left_out.push_back(fmt::format("{} {} left out, {}.", count,
                                          count == 1 ? "well is" : "wells are", reason));
  }

  OmePlate& plate_;
  LeftOut left_out_;
  std::set<std::pair<uint32_t, uint32_t>> places_;
};

void SayLines(size_t count, size_t most, std::string_view name, OmePlate& plate) {
  if (count <= most) return;
  plate.left_out.push_back(fmt::format("The first {} of {} {} are shown.", most, count, name));
}

}  // namespace

std::optional<OmePlate> FindOmePlate(const backends::Node& group) {
  const auto found = FindOmeAttribute(group, "plate");
  if (!found) return std::nullopt;
  OmePlate plate;
  if (!*found) {
    plate.left_out.push_back(
        "The description of the plate cannot be used: " + found->error().message() + ".");
    return plate;
  }
  const Json& json = **found;
  if (!json.is_object()) return std::nullopt;
  plate.name = OmeText(OmeMember(json, "name"));
  const Json& rows = OmeMember(json, "rows");
  const Json& columns = OmeMember(json, "columns");
  plate.rows = NamesOf(rows, kMostPlateRows);
  plate.columns = NamesOf(columns, kMostPlateColumns);
  SayLines(CountOf(rows), kMostPlateRows, "rows", plate);
  SayLines(CountOf(columns), kMostPlateColumns, "columns", plate);
  const Json& wells = OmeMember(json, "wells");
  plate.all_wells = CountOf(wells);
  PlateReader reader(plate);
  if (wells.is_array()) std::ranges::for_each(wells, [&](const Json& w) { reader.Add(w); });
  reader.Finish();
  return plate;
}

std::optional<std::string> FindOmeField(const backends::Node& group) {
  const auto well = FindOmeAttribute(group, "well");
  if (!well || !*well) return std::nullopt;
  const Json& images = OmeMember(**well, "images");
  if (!images.is_array()) return std::nullopt;
  for (const Json& image : images) {
    std::string path = OmeText(OmeMember(image, "path"));
    if (IsName(path)) return path;
  }
  return std::nullopt;
}

bool HasOmePicture(const backends::Node& group) {
  return FindOmeImage(group).has_value() || FindOmeField(group).has_value();
}

Result<ArrayInput> LoadOmePicture(const GroupInput& group) {
  if (const auto image = FindOmeImage(group.node())) {
    const Json& datasets = OmeMember(*image, "datasets");
    if (datasets.empty()) return model::NotFound("an image without datasets");
    return LoadOmeLevel(group, OmeText(OmeMember(datasets.front(), "path")));
  }
  const auto path = FindOmeField(group.node());
  if (!path) return model::NotFound("no image");
  NDLFS_TRY(const auto child, group.Load(*path), model::OneLine(*path));
  if (!child.group || !FindOmeImage(child.group->node())) {
    return model::NotFound("{}: no image", model::Quote(*path));
  }
  NDLFS_TRY(auto array, LoadOmePicture(*child.group), model::OneLine(*path));
  return array;
}

}  // namespace ndlfs::fs
