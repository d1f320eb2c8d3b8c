// SPDX-License-Identifier: MIT
#include "fs/view/page/ome_html.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/view_provider.h"
#include "fs/view/page/page_parts.h"
#include "fs/view/page/type_words.h"
#include "fs/view/place/image_place.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_plate.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// Reading a page with pictures of all wells makes as many pictures.
constexpr size_t kMostWellPictures = 384;
// Rows whose wells are looked for; those of the others are taken to be there.
constexpr size_t kMostRowsLookedAt = 32;

// "z 0.5 micrometer, y 0.1 micrometer": the size of an element of a level of an OME image.
std::string OmeScale(const backends::Json& image, const backends::Json& dataset) {
  const backends::Json& axes = OmeMember(image, "axes");
  std::vector<std::string> sizes;
  if (!axes.is_array()) return {};
  for (const OmeAxis& axis : OmeAxesOf(image, dataset, axes.size())) {
    if (!axis.is_known || axis.unit.empty()) continue;
    sizes.push_back(fmt::format("{} {} {}", axis.name, axis.scale, axis.unit));
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

// The levels of an OME image, with the size of their elements.
std::string ImageHtml(const backends::Node& group, bool has_picture) {
  constexpr size_t kMostLevels = 64;
  const auto image = FindOmeImage(group);
  if (!image) return {};
  std::string html = "<h2>Image</h2>\n";
  if (has_picture) {
    html += fmt::format(
        "<figure><a href=\"{0}\"><img src=\"{0}\" alt=\"Preview of the image\" "
        "loading=\"lazy\"></a></figure>\n",
        model::kPreviewFileName);
  }
  html += "<div class=\"wide\"><table><tbody>\n";
  size_t levels = 0;
  for (const backends::Json& dataset : OmeMember(*image, "datasets")) {
    const std::string path = OmeText(OmeMember(dataset, "path"));
    if (path.empty() || levels++ == kMostLevels) continue;
    html += fmt::format("<tr><td><a href=\"{}index.html\">{}</a></td><td>{}</td></tr>\n",
                        UrlOfFolder("/", '/' + path), HtmlName(path),
                        HtmlName(OmeScale(*image, dataset)));
  }
  return levels == 0 ? "" : html + "</tbody></table></div>\n";
}

// The names of the wells of each row that the store has. A row that is not looked at, or whose
// wells cannot be listed, is not in the map.
using RowContents = std::map<std::string, std::vector<std::string>, std::less<>>;

Result<RowContents> LookAtRows(const GroupInput& group, const OmePlate& plate) {
  RowContents rows;
  for (const OmeWell& well : plate.wells) {
    const std::string row = well.path.substr(0, well.path.find('/'));
    if (rows.size() == kMostRowsLookedAt || rows.contains(row)) continue;
    auto child = group.Load(row);
    if (!child && child.error().is_transient()) {
      return model::Propagate(std::move(child).error());
    }
    if (!child && child.error().code() == model::ErrorCode::kNotFound) rows[row] = {};
    if (!child || !child->group) continue;
    auto names = child->group->List();
    if (!names && names.error().is_transient()) {
      return model::Propagate(std::move(names).error());
    }
    if (names) rows[row] = *std::move(names);
  }
  return rows;
}

bool IsThere(const OmeWell& well, const RowContents& rows) {
  const size_t slash = well.path.find('/');
  const auto row = rows.find(well.path.substr(0, slash));
  return row == rows.end() ||
         std::ranges::binary_search(row->second, well.path.substr(slash + 1));
}

bool HasPictures() {
  return std::ranges::any_of(GroupViewKinds(), [](const GroupViewKind* kind) {
    return kind->file_name == model::kThumbnailFileName;
  });
}

// The cell of a well: a small picture of its first field, or its name.
std::string WellHtml(const OmeWell& well, bool has_picture) {
  const std::string url = UrlOfFolder("/", '/' + well.path);
  const std::string name = HtmlName(well.path);
  if (!has_picture) {
    return fmt::format("<td><a href=\"{}index.html\">{}</a></td>", url, name);
  }
  return fmt::format(
      "<td><a href=\"{0}index.html\" title=\"{2}\"><img src=\"{0}{1}\" alt=\"{2}\" "
      "loading=\"lazy\"></a></td>",
      url, model::kThumbnailFileName, name);
}

// Rows and columns with their names.
class PlateTable {
 public:
  PlateTable(const OmePlate& plate, const RowContents& rows) : plate_(plate), rows_(rows) {}

  std::string Html() {
    std::string html =
        "<div class=\"wide\"><table class=\"plate " + SizeClass() + "\"><thead><tr><td></td>";
    for (const std::string& name : plate_.columns) {
      html += fmt::format("<th scope=\"col\">{}</th>", HtmlName(name));
    }
    html += "</tr></thead><tbody>\n";
    auto well = plate_.wells.begin();
    for (uint32_t row = 0; row < plate_.rows.size(); ++row) {
      html += fmt::format("<tr><th scope=\"row\">{}</th>", HtmlName(plate_.rows[row]));
      for (uint32_t column = 0; column < plate_.columns.size(); ++column) {
        const bool is_here =
            well != plate_.wells.end() && well->row == row && well->column == column;
        html += is_here ? Cell(*well++) : "<td></td>";
      }
      html += "</tr>\n";
    }
    return html + "</tbody></table></div>\n";
  }

  // What the table does not show.
  std::vector<std::string> Remarks() const {
    std::vector<std::string> remarks;
    if (without_picture_ > 0) {
      remarks.push_back(
          fmt::format("The first {} wells have a picture, the other {} are links.",
                      FormatCount(pictures_), FormatCount(without_picture_)));
    }
    if (absent_ > 0) {
      remarks.push_back(fmt::format("{} {} not in the store (\u2013).", FormatCount(absent_),
                                    absent_ == 1 ? "well is" : "wells are"));
    }
    return remarks;
  }

 private:
  std::string SizeClass() const {
    constexpr size_t kFew = 6;
    constexpr size_t kSome = 12;
    const size_t columns = plate_.columns.size();
    return columns <= kFew ? "few" : columns <= kSome ? "some" : "many";
  }

  std::string Cell(const OmeWell& well) {
    if (!IsThere(well, rows_)) {
      ++absent_;
      return fmt::format("<td class=\"soft\" title=\"{}\">\u2013</td>", HtmlName(well.path));
    }
    const bool has_picture = HasPictures() && pictures_ < kMostWellPictures;
    ++(has_picture ? pictures_ : without_picture_);
    return WellHtml(well, has_picture);
  }

  const OmePlate& plate_;
  const RowContents& rows_;
  size_t pictures_ = 0;
  size_t without_picture_ = 0;
  size_t absent_ = 0;
};

Result<std::string> PlateHtml(const GroupInput& group) {
  const auto plate = FindOmePlate(group.node());
  if (!plate) return std::string();
  NDLFS_TRY(const RowContents rows, LookAtRows(group, *plate));
  PlateTable table(*plate, rows);
  const std::string cells = plate->wells.empty() ? "" : table.Html();
  std::string html = "<h2>Plate</h2>\n";
  if (!plate->name.empty()) html += fmt::format("<p>{}</p>\n", HtmlName(plate->name));
  std::vector<std::string> remarks;
  if (!plate->wells.empty()) {
    remarks.push_back(fmt::format(
        "{} rows, {} columns, {} wells. A picture shows the first field of its well.",
        FormatCount(plate->rows.size()), FormatCount(plate->columns.size()),
        FormatCount(plate->wells.size())));
  } else if (plate->left_out.empty()) {
    remarks.emplace_back("It has no wells.");
  }
  for (const std::string& remark : table.Remarks()) remarks.push_back(remark);
  for (const std::string& remark : plate->left_out) remarks.push_back(HtmlText(remark));
  html += fmt::format("<p class=\"soft\">{}</p>\n", fmt::join(remarks, " "));
  return html + cells;
}

}  // namespace

Result<std::string> OmeHtml(const GroupInput& group, bool has_picture) {
  NDLFS_TRY(std::string html, PlateHtml(group));
  return html + ImageHtml(group.node(), has_picture);
}

std::string OmeImageText(const backends::Node& group) {
  const auto image = FindOmeImage(group);
  if (!image) return "well";
  const std::string name = OmeText(OmeMember(*image, "name"));
  const size_t levels = OmeMember(*image, "datasets").size();
  std::string text = fmt::format("image, {} resolution{}", levels, levels == 1 ? "" : "s");
  return name.empty() ? text : HtmlName(name) + " \u00B7 " + text;
}

}  // namespace ndlfs::fs
