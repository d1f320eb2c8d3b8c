// SPDX-License-Identifier: MIT
//
// index.html: what an array or a group is, for people. The page is made of metadata alone; only
// the ends of coordinates are read, when somebody reads the page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backends/base/json.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/view_provider.h"
#include "fs/view/container/classic_group.h"
#include "fs/view/page/group_plot.h"
#include "fs/view/page/ome_html.h"
#include "fs/view/page/page_lines.h"
#include "fs/view/page/page_parts.h"
#include "fs/view/page/type_words.h"
#include "fs/view/page/views.h"
#include "fs/view/place/ome_image.h"
#include "fs/view/place/ome_plate.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr std::string_view kPreview = model::kPreviewFileName;
constexpr std::string_view kThumbnail = model::kThumbnailFileName;
// The children of a group that its page shows. It loads all of them.
constexpr size_t kMostChildren = 1000;
// How many subgroups have their children listed, and how many children of each.
constexpr size_t kMostLooks = 32;
constexpr size_t kMostNames = 20;
// How many subgroups that are images have their picture.
constexpr size_t kMostImages = 100;

std::string FolderOf(const StorePlace* place, std::string_view path) {
  if (place == nullptr || place->folder.empty()) return {};
  std::string folder = place->folder;
  for (const std::string_view part : model::SplitPath(path)) {
    folder += '/' + model::EncodeFileName(part);
  }
  return folder;
}

std::string NameOf(const StorePlace* place, std::string_view path) {
  if (path != "/") return std::string(model::BaseName(path));
  return place == nullptr ? "/" : place->name;
}

std::string FilterText(const model::Filter& filter) {
  std::vector<std::string> parameters;
  for (const auto& [name, value] : filter.parameters) {
    if (const auto* integer = value.integer()) {
      parameters.push_back(fmt::format("{} {}", name, static_cast<int64_t>(*integer)));
    } else if (const auto* text = value.text(); text != nullptr && text->size() < 40) {
      parameters.push_back(fmt::format("{} {}", name, *text));
    }
  }
  if (parameters.empty()) return filter.name;
  return fmt::format("{} ({})", filter.name, fmt::join(parameters, ", "));
}

class Facts {
 public:
  void Add(std::string_view name, std::string_view html) {
    html_ += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", name, html);
  }
  std::string Take() {
    return "<table class=\"facts\"><tbody>\n" + html_ + "</tbody></table>\n";
  }

 private:
  std::string html_;
};

std::string SizeText(const ArrayInput& array) {
  uint64_t count = 1;
  for (const uint64_t extent : array.shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return "too many elements for a file";
  }
  const std::string elements = FormatCount(count) + (count == 1 ? " element" : " elements");
  if (!array.elements) return elements;
  return FormatBytes(static_cast<double>(array.elements->size())) + ", " + elements;
}

std::string ChunksText(const std::vector<uint64_t>& chunk) {
  std::string text;
  for (const uint64_t extent : chunk)
    text += (text.empty() ? "" : " \u00D7 ") + FormatCount(extent);
  return text;
}

// How the store keeps it.
void AddStorage(const model::Storage& storage, const model::Datatype& type, Facts& facts) {
  if (storage.chunk) facts.Add("Chunks", ChunksText(*storage.chunk));
  if (storage.filter && !storage.filter->empty()) {
    std::vector<std::string> filters;
    for (const model::Filter& filter : *storage.filter) {
      filters.push_back(HtmlName(FilterText(filter)));
    }
    facts.Add("Codecs", fmt::format("{}", fmt::join(filters, ", ")));
  }
  if (storage.fillvalue) {
    facts.Add("Fill value", HtmlName(model::WriteFlow(*storage.fillvalue, type)));
  }
}

std::string ArrayFacts(const ArrayInput& input, const std::string& path) {
  const model::Ndarray& array = input.node->array();
  Facts facts;
  facts.Add("Path", "<code>" + HtmlName(path) + "</code>");
  facts.Add("Type", HtmlName(TypeWords(array.type)));
  facts.Add("Shape", ShapeHtml(input));
  facts.Add("Size", SizeText(input));
  AddStorage(array.storage, array.type, facts);
  return facts.Take();
}

// A link to the store as it is stored, from the page of its top.
std::string StoredHtml(const StorePlace* place) {
  constexpr std::string_view kText = "as it is stored";
  if (place == nullptr) return {};
  if (place->is_directory) return fmt::format(" \u00B7 <a href=\".source/\">{}</a>", kText);
  return fmt::format(" \u00B7 <a href=\".source\" download=\"{}\">{}</a>",
                     HtmlName(place->name), kText);
}

// A line that tells how slices of this array are named.
std::string SlicesHtml(const ArrayInput& array, std::span<const ViewName> files) {
  if (!HasFile(files, "data.npy") || array.shape.empty() || array.shape[0] == 0) return {};
  const std::string name = array.shape.size() == 1 ? "data[0].npy" : "data[0,...].npy";
  return fmt::format(
      "<p class=\"soft small\">A part of the array is a file, too. Its name says which part, "
      "as "
      "NumPy does or by coordinates, with any of these extensions: <a href=\"{}\">{}</a></p>\n",
      UrlOfName(name), name);
}

Result<ViewNode> MakeArrayPage(const ArrayInput& input) {
  const StorePlace* place = input.place.get();
  const std::string path = PathOf(input);
  const std::string name = path == "/" ? NameOf(place, path) : TellingName(input);
  const auto& attributes = input.node->attributes();
  const std::vector<ViewName> files = ArrayViews().Names(input);
  PageWriter page(name);
  page.Add(Breadcrumbs(place, path));
  page.Add(fmt::format("<h1>{}</h1>\n", HtmlName(name)));
  if (const std::string text = DescriptionOf(attributes); !text.empty()) {
    page.Add(fmt::format("<p>{}</p>\n", HtmlName(text)));
  }
  if (input.node->error) {
    page.Add(fmt::format("<p class=\"bad\">{}</p>\n", HtmlText(input.node->error->message())));
  }
  if (HasFile(files, kPreview)) {
    page.Add(
        fmt::format("<figure><a href=\"{0}\"><img src=\"{0}\" alt=\"Preview of {1}\" "
                    "loading=\"lazy\"></a></figure>\n",
                    kPreview, HtmlName(name)));
  }
  if (path == "/") {
    page.Add(fmt::format("<p class=\"soft\">One array{}</p>\n", StoredHtml(place)));
  }
  page.Add(ArrayFacts(input, path));
  NDLFS_TRY(const auto dimensions, DimensionsOf(input));
  AddDimensions(dimensions, path, page);
  page.Add(AttributesHtml(attributes));
  page.Add(FilesHtml(files));
  page.Add(SlicesHtml(input, files));
  const bool is_image = input.group != nullptr && FindOmeImage(input.group->node()).has_value();
  page.Add(ArrayLinesHtml(input, files, FolderOf(place, path),
                          FieldOf(dimensions, attributes, is_image)));
  return std::move(page).Finish();
}

// The contents of a group, as far as its page shows them.
struct Contents {
  size_t count = 0;  // of all children
  struct Child {
    std::string name;
    GroupChild loaded;
    std::string error = {};
  };
  std::vector<Child> arrays;
  std::vector<Child> groups;
  std::vector<std::pair<std::string, backends::Link>> links;
  std::vector<PageDimension> dimensions;
};

Result<void> AddChild(const GroupInput& group, const std::string& name, Contents& contents) {
  NDLFS_TRY(auto link, group.GetLink(name), name);
  if (link) {
    contents.links.emplace_back(name, *std::move(link));
    return {};
  }
  auto child = group.Load(name);
  if (!child && child.error().is_transient()) {
    return model::Propagate(std::move(child).error(), name);
  }
  if (!child) {
    contents.arrays.push_back({name, {}, child.error().message()});
    return {};
  }
  if (child->node->is_group()) {
    contents.groups.push_back({name, *std::move(child)});
    return {};
  }
  if (child->array) {
    NDLFS_TRY(auto dimensions, DimensionsOf(*child->array), name);
    for (PageDimension& dimension : dimensions) {
      if (std::ranges::find(contents.dimensions, dimension) == contents.dimensions.end()) {
        contents.dimensions.push_back(std::move(dimension));
      }
    }
  }
  std::string error = child->node->error ? child->node->error->message() : "";
  contents.arrays.push_back({name, *std::move(child), std::move(error)});
  return {};
}

Result<Contents> LoadContents(const GroupInput& group) {
  Contents contents;
  NDLFS_TRY(const auto names, group.List());
  contents.count = names.size();
  for (size_t i = 0; i < names.size() && i < kMostChildren; ++i) {
    NDLFS_RETURN_IF_ERROR(AddChild(group, names[i], contents));
  }
  return contents;
}

bool HasPreview(const ArrayInput& array) {
  return std::ranges::any_of(ArrayViewKinds(), [&](const ArrayViewKind* kind) {
    return kind->file_name == kThumbnail && kind->applies_to(array) && !kind->refuse(array);
  });
}

// Looks at the node that is loaded already.
bool IsImage(const Contents::Child& child) {
  const bool has_pictures = std::ranges::any_of(
      GroupViewKinds(),
      [](const GroupViewKind* kind) { return kind->file_name == kThumbnail; });
  return has_pictures && child.loaded.group && child.loaded.node &&
         HasOmePicture(*child.loaded.node);
}

bool IsCoordinate(const Contents::Child& child) {
  return child.loaded.node &&
         std::holds_alternative<model::DimCoord>(child.loaded.node->entity);
}

std::string ArrayCard(const Contents::Child& child) {
  const std::string url = UrlOfName(model::EncodeFileName(child.name)) + '/';
  const std::string name = HtmlName(child.name);
  if (!child.loaded.array) {
    return fmt::format(
        "<li><div><a href=\"{}index.html\">{}</a><br><span class=\"bad\">{}</span>"
        "</div></li>\n",
        url, name, HtmlName(child.error.empty() ? "it has no data" : child.error));
  }
  const ArrayInput& array = *child.loaded.array;
  const std::string text = DescriptionOf(array.node->attributes());
  const std::string description =
      text.empty() ? "" : fmt::format(" <span class=\"soft\">{}</span>", HtmlName(text));
  const std::string picture =
      HasPreview(array)
          ? fmt::format(
                "<a href=\"{0}index.html\"><img src=\"{0}{1}\" alt=\"Preview of {2}\" "
                "loading=\"lazy\"></a>",
                url, kThumbnail, name)
          : "";
  const model::Storage& storage = array.node->array().storage;
  const std::string chunks = storage.chunk && !storage.chunk->empty()
                                 ? " \u00B7 chunks " + ChunksText(*storage.chunk)
                                 : "";
  return fmt::format(
      "<li{}>{}<div><a href=\"{}index.html\">{}</a>{}<br>"
      "<span class=\"small\">{} \u00B7 {} \u00B7 {}{}</span></div></li>\n",
      IsCoordinate(child) ? " class=\"coordinate\"" : "", picture, url, name, description,
      HtmlName(TypeWords(array.node->array().type)), ShapeHtml(array), SizeText(array), chunks);
}

// The picture of the array that the group shows first, if it says so.
Result<std::string> PlotHtml(const GroupInput& group) {
  NDLFS_TRY(const auto plot, FindGroupPlot(group));
  if (!plot || !HasPreview(*plot)) return std::string();
  const std::string path = PathOf(*plot);
  return fmt::format(
      "<figure><a href=\"{0}index.html\"><img src=\"{0}{1}\" alt=\"Preview of {2}\" "
      "loading=\"lazy\"></a></figure>\n",
      UrlOfFolder(group.path(), path), kPreview, HtmlName(path.substr(1)));
}

// The names in a subgroup, without loading what they name.
Result<std::string> NamesIn(const GroupInput& group) {
  auto names = group.List();
  if (!names && names.error().is_transient()) return model::Propagate(names.error());
  if (!names) return std::string();
  std::vector<std::string> shown;
  for (size_t i = 0; i < names->size() && i < kMostNames; ++i) {
    shown.push_back(HtmlName((*names)[i]));
  }
  if (names->size() > kMostNames) {
    shown.push_back(fmt::format("and {} more", names->size() - kMostNames));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string ImageCard(const Contents::Child& child) {
  const std::string url = UrlOfName(model::EncodeFileName(child.name)) + '/';
  return fmt::format(
      "<li><a href=\"{0}index.html\"><img src=\"{0}{1}\" alt=\"Preview of {2}\" "
      "loading=\"lazy\"></a><div><a href=\"{0}index.html\">{2}</a><br>"
      "<span class=\"small\">{3}</span></div></li>\n",
      url, kThumbnail, HtmlName(child.name), OmeImageText(*child.loaded.node));
}

// Groups that are images, with their pictures.
void AddImages(const std::vector<const Contents::Child*>& images, PageWriter& page) {
  if (images.empty()) return;
  page.Add("<h2>Images</h2>\n<ul class=\"cards\" data-find>\n");
  for (const Contents::Child* child : images) page.Add(ImageCard(*child));
  page.Add("</ul>\n");
}

Result<void> AddGroups(const Contents& contents, PageWriter& page) {
  std::vector<const Contents::Child*> images, others;
  for (const Contents::Child& child : contents.groups) {
    const bool is_image = images.size() < kMostImages && IsImage(child);
    (is_image ? images : others).push_back(&child);
  }
  AddImages(images, page);
  if (others.empty() && contents.links.empty()) return {};
  page.Add("<h2>Groups</h2>\n<table class=\"facts\"><tbody data-find>\n");
  size_t looks = 0;
  for (const Contents::Child* const other : others) {
    const Contents::Child& child = *other;
    std::string inside;
    if (child.loaded.group && looks++ < kMostLooks) {
      NDLFS_TRY(inside, NamesIn(*child.loaded.group), child.name);
    }
    page.Add(fmt::format(
        "<tr><th scope=\"row\"><a href=\"{}/index.html\">{}</a></th><td>{}</td></tr>\n",
        UrlOfName(model::EncodeFileName(child.name)), HtmlName(child.name), inside));
  }
  for (const auto& [name, link] : contents.links) {
    page.Add(fmt::format(
        "<tr><th scope=\"row\"><a href=\"{}/index.html\">{}</a></th><td class=\"soft\">link to "
        "{}</td></tr>\n",
        UrlOfName(model::EncodeFileName(name)), HtmlName(name), HtmlName(link.target)));
  }
  page.Add("</tbody></table>\n");
  return {};
}

void AddArrays(const Contents& contents, PageWriter& page) {
  if (contents.arrays.empty()) return;
  page.Add("<h2>Arrays</h2>\n<ul class=\"cards\" data-find>\n");
  // The dimension coordinates behind the others.
  for (const bool is_coordinate : {false, true}) {
    for (const Contents::Child& child : contents.arrays) {
      if (IsCoordinate(child) == is_coordinate) page.Add(ArrayCard(child));
    }
  }
  page.Add("</ul>\n");
}

// The files of a group with too many children to look for more than these: the others would
// load all of them.
std::vector<ViewName> FilesOf(const GroupInput& group, size_t children) {
  if (children <= kMostChildren) return GroupViews().Names(group);
  std::vector<ViewName> files;
  for (const char* name : {"data.nc", "data.h5"}) {
    if (auto file = GroupViews().Resolve(group, name)) files.push_back(*std::move(file));
  }
  return files;
}

std::string CountText(const Contents& contents) {
  const auto count = [](size_t n, std::string_view what) {
    return fmt::format("{} {}{}", FormatCount(n), what, n == 1 ? "" : "s");
  };
  if (contents.count > kMostChildren) {
    return fmt::format(
        "The first {} of {} arrays and groups. <a href=\".ndl.yaml\">.ndl.yaml</a> has all of "
        "them.",
        FormatCount(kMostChildren), FormatCount(contents.count));
  }
  std::string text = count(contents.arrays.size(), "array");
  if (!contents.groups.empty() || contents.arrays.empty()) {
    text += ", " + count(contents.groups.size(), "group");
  }
  uint64_t bytes = 0;
  for (const Contents::Child& child : contents.arrays) {
    if (child.loaded.array && child.loaded.array->elements) {
      bytes += child.loaded.array->elements->size();
    }
  }
  return bytes == 0
             ? text
             : fmt::format("{}, {} of elements", text, FormatBytes(static_cast<double>(bytes)));
}

// Which programs do not read data.nc, where an array makes it CDF-5.
std::string Cdf5Html(const Contents& contents) {
  for (const Contents::Child& child : contents.arrays) {
    if (!child.loaded.array || !classic::NeedsCdf5Unseen(*child.loaded.array)) continue;
    return fmt::format(
        "<p class=\"soft\"><code>data.nc</code> is CDF-5, because {} has integers of 64 bits. "
        "GDAL, QGIS, R's terra, SciPy and programs with netCDF-C older than 4.4 do not read "
        "that. <code>data.nc4</code> is the same as netCDF-4.</p>\n",
        HtmlName(child.name));
  }
  return {};
}

Result<ViewNode> MakeGroupPage(const GroupInput& group) {
  const auto place = group.Place();
  const std::string& path = group.path();
  const std::string name = NameOf(place.get(), path);
  NDLFS_TRY(const Contents contents, LoadContents(group));
  const std::vector<ViewName> files = FilesOf(group, contents.count);
  const auto& attributes = group.node().attributes();
  PageWriter page(name);
  page.Add(Breadcrumbs(place.get(), path));
  page.Add(fmt::format("<h1>{}</h1>\n", HtmlName(name)));
  if (const std::string text = DescriptionOf(attributes); !text.empty()) {
    page.Add(fmt::format("<p>{}</p>\n", HtmlName(text)));
  }
  if (const auto& error = group.node().error) {
    page.Add(fmt::format("<p class=\"bad\">{}</p>\n", HtmlText(error->message())));
  }
  page.Add(fmt::format("<p class=\"soft\">{}{}</p>\n", CountText(contents),
                       path == "/" ? StoredHtml(place.get()) : ""));
  NDLFS_TRY(const std::string image, OmeHtml(group, HasFile(files, kPreview)));
  page.Add(image);
  NDLFS_TRY(const std::string plot, PlotHtml(group));
  page.Add(plot);
  AddArrays(contents, page);
  NDLFS_RETURN_IF_ERROR(AddGroups(contents, page));
  AddDimensions(contents.dimensions, path, page);
  page.Add(AttributesHtml(attributes));
  page.Add(FilesHtml(files));
  page.Add(Cdf5Html(contents));
  page.Add(GroupLinesHtml(
      files, FolderOf(place.get(), path),
      FieldOf(contents.dimensions, attributes, FindOmeImage(group.node()).has_value())));
  page.Add(
      SearchScript(contents.arrays.size() + contents.groups.size() + contents.links.size()));
  return std::move(page).Finish();
}

bool IsThere(const ArrayInput& input) { return input.reader != nullptr; }
bool IsByName(const ArrayInput&) { return false; }
bool IsThereForGroups(const GroupInput&) { return true; }

}  // namespace

const ArrayViewKind kPageView = {
    .file_name = model::kPageFileName,
    .description = "the same for people: a page with pictures",
    .is_text = true,
    .applies_to = &IsThere,
    .is_listed = &IsByName,
    .make = &MakeArrayPage,
};

const GroupViewKind kGroupPageView = {
    .file_name = model::kPageFileName,
    .description = "the same for people: a page with pictures",
    .is_text = true,
    .applies_to = &IsThereForGroups,
    .make = &MakeGroupPage,
};

}  // namespace ndlfs::fs
