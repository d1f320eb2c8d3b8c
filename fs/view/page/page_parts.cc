// SPDX-License-Identifier: MIT
#include "fs/view/page/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backends/base/checked.h"
#include "cache/array_reader.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/html_text.h"
#include "fs/view/base/text_layout.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/page/type_words.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

constexpr uint64_t kMostChunkBytes = uint64_t{64} << 20;
constexpr size_t kMostRanges = 64;
constexpr std::string_view kBroken = "cannot be read";
constexpr size_t kFoldedBytes = 400;
constexpr size_t kMostAttributeBytes = size_t{16} << 10;
constexpr size_t kMostAttributesBytes = size_t{1} << 20;

std::string WordsOfFile(const ViewName& file) {
  const auto path = ViewPath::Parse(file.name);
  const bool is_values = path && path->stem == ViewPath::Stem::kValues;
  ViewPath raw = ViewPath::Whole("raw");
  if (is_values) raw.stem = ViewPath::Stem::kValues;
  const std::string of = raw.Name();
  return (is_values ? "unpacked values: " : "") +
         fmt::vformat(file.description, fmt::make_format_args(of));
}

// The attributes that people look for first.
constexpr std::array<std::string_view, 16> kFirst = {
    "title",    "long_name",  "standard_name", "description", "summary", "units",
    "calendar", "comment",    "institution",   "source",      "history", "references",
    "license",  "_FillValue", "scale_factor",  "add_offset"};

size_t RankOf(std::string_view name) {
  return static_cast<size_t>(std::ranges::find(kFirst, name) - kFirst.begin());
}

std::string TextOfValue(const model::Attribute& attribute) {
  const std::string* text = attribute.value.text();
  return text != nullptr ? *text : model::WriteFlow(attribute.value, attribute.type);
}

bool IsUrl(std::string_view text) {
  return (text.starts_with("https://") || text.starts_with("http://")) &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7F'; });
}

// The beginning of a text, without half a character.
std::string_view Beginning(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (text[bytes] & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

std::string ValueHtml(const std::string& text) {
  if (IsUrl(text) && text.size() < kFoldedBytes) {
    return fmt::format("<a href=\"{0}\" rel=\"noreferrer\">{0}</a>", HtmlText(text));
  }
  const std::string_view shown = Beginning(text, kMostAttributeBytes);
  std::string html = fmt::format("<span class=\"text\">{}</span>", HtmlText(shown));
  if (shown.size() < text.size()) {
    html += fmt::format(" <span class=\"soft\">\u2026 {} bytes in all, in .ndl.yaml</span>",
                        FormatCount(text.size()));
  }
  if (text.size() <= kFoldedBytes) return html;
  return fmt::format("<details><summary>{}\u2026</summary>{}</details>",
                     HtmlName(Beginning(text, 100)), html);
}

// "2020-01-01T00:00:00.000000" and blanks around it, as people write it.
std::string Trim(std::string text, bool is_time) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text = text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
  if (!is_time) return text;
  const auto cut = [&](std::string_view end) {
    if (text.ends_with(end)) text.resize(text.size() - end.size());
  };
  if (text.find('.') != std::string::npos) {
    while (text.ends_with('0')) text.pop_back();
    cut(".");
  }
  cut("T00:00:00");
  return text;
}

// Coordinates as texts.
class CoordinateTexts {
 public:
  static constexpr size_t kMostBytes = 64;

  CoordinateTexts(ArrayInput values, TextLayout layout)
      : values_(std::move(values)), layout_(std::move(layout)) {}

  // Bytes of the longest as HTML.
  size_t width() const {
    constexpr size_t kLongestEscape = 6;
    return std::min(layout_.line_size(), kMostBytes) * (is_text() ? kLongestEscape : 1);
  }
  uint64_t count() const { return values_.shape[0]; }

  Result<std::string> At(uint64_t i) const {
    backends::Bytes element(values_.dtype.size());
    NDLFS_RETURN_IF_ERROR(values_.elements->Read(i * element.size(), element.span(),
                                                 model::ByteOrder::kLittle,
                                                 cache::ReadHint::kOnward));
    std::string line(layout_.line_size(), ' ');
    layout_.Format(element.span(), line.data());
    const bool is_time = is_text() && line.find('T') != std::string::npos && line[4] == '-';
    return HtmlText(Beginning(Trim(std::move(line), is_time), kMostBytes));
  }

 private:
  bool is_text() const { return values_.dtype.kind() == model::Datatype::Kind::kString; }

  ArrayInput values_;
  TextLayout layout_;
};

Result<std::string> RangeText(const CoordinateTexts& texts) {
  NDLFS_TRY(std::string first, texts.At(0));
  if (texts.count() == 1) return first;
  NDLFS_TRY(const std::string last, texts.At(texts.count() - 1));
  return first + " \u2026 " + last;
}

}  // namespace

PageWriter::PageWriter(std::string_view title) : text_(BeginPage(title)) {}

void PageWriter::Add(Elements html) {
  EndText();
  segments_.emplace_back(std::move(html));
}

void PageWriter::EndText() {
  if (!text_.empty()) segments_.emplace_back(Literal(std::exchange(text_, {})));
}

Result<ViewPtr> PageWriter::Finish() && {
  text_ += EndPage();
  EndText();
  return MakeSegmentedView(std::move(segments_));
}

std::string UrlOfFolder(std::string_view from, std::string_view to) {
  std::string url;
  for (size_t i = model::SplitPath(from).size(); i > 0; --i) url += "../";
  for (const std::string_view part : model::SplitPath(to)) {
    url += UrlOfName(model::EncodeFileName(part)) + '/';
  }
  return url.empty() ? "./" : url;
}

std::string Breadcrumbs(const StorePlace* place, std::string_view path) {
  std::string html = "<nav>";
  const std::string top = UrlOfFolder(path, "/");
  if (place != nullptr && !place->is_root) {
    html += fmt::format("<a href=\"{}../index.html\">{}</a> / ", top,
                        place->around.empty() ? ".." : HtmlName(place->around));
  }
  const std::string name = place == nullptr ? "store" : HtmlName(place->name);
  const auto parts = model::SplitPath(path);
  if (parts.empty()) return html + name + "</nav>\n";
  html += fmt::format("<a href=\"{}index.html\">{}</a>", top, name);
  std::string outer;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    outer += '/';
    outer += parts[i];
    html += fmt::format(" / <a href=\"{}index.html\">{}</a>", UrlOfFolder(path, outer),
                        HtmlName(parts[i]));
  }
  return html + fmt::format(" / {}</nav>\n", HtmlName(parts.back()));
}

std::string ShapeHtml(const ArrayInput& array) {
  if (array.shape.empty()) return "scalar";
  std::string html;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    if (d > 0) html += " \u00D7 ";
    const std::string name = DimensionName(array, d);
    if (!name.empty()) html += HtmlName(name) + ' ';
    html += FormatCount(array.shape[d]);
  }
  return html;
}

std::string DescriptionOf(const std::vector<model::Attribute>& attributes) {
  std::string text;
  for (const char* name : {"long_name", "standard_name", "description", "title"}) {
    if (text.empty()) text = TextOf(attributes, name);
  }
  const std::string units = TextOf(attributes, "units");
  if (!units.empty()) text += (text.empty() ? "" : " ") + fmt::format("({})", units);
  return text;
}

std::string AttributesHtml(const std::vector<model::Attribute>& attributes) {
  if (attributes.empty()) return {};
  std::vector<const model::Attribute*> sorted;
  for (const model::Attribute& attribute : attributes) sorted.push_back(&attribute);
  std::ranges::stable_sort(sorted, {}, [](const auto* a) { return RankOf(a->name); });
  std::string html = "<h2>Attributes</h2>\n<table class=\"facts\"><tbody>\n";
  for (const model::Attribute* attribute : sorted) {
    if (html.size() > kMostAttributesBytes) {
      html +=
          "<tr><th scope=\"row\">\u2026</th><td>all of them are in <a "
          "href=\".ndl.yaml\">.ndl.yaml</a>"
          "</td></tr>\n";
      break;
    }
    html += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n",
                        HtmlName(attribute->name), ValueHtml(TextOfValue(*attribute)));
  }
  return html + "</tbody></table>\n";
}

std::string FilesHtml(std::span<const ViewName> files) {
  const auto row = [](std::string_view name, std::string_view end,
                      std::string_view description) {
    return fmt::format(
        "<tr><td><a href=\"{}{}\">{}{}</a></td><td class=\"soft\">{}</td></tr>\n",
        UrlOfName(name), end, HtmlName(name), end, description);
  };
  const auto rows = [&](bool is_listed) {
    std::string html;
    for (const ViewName& file : files) {
      const bool is_page = file.name == model::kPageFileName;
      if (file.is_listed != is_listed || file.refusal || is_page) continue;
      html += row(file.name, file.is_directory ? "/" : "", WordsOfFile(file));
    }
    return html;
  };
  constexpr std::string_view kBegin = "<table class=\"facts\"><tbody data-find>\n";
  constexpr std::string_view kEnd = "</tbody></table>\n";
  std::string html = fmt::format(
      "<h2>Files</h2>\n{}{}{}{}", kBegin,
      row(model::kDocumentFileName, "", "description, as an NDL document"), rows(true), kEnd);
  if (const std::string others = rows(false); !others.empty()) {
    html += fmt::format(
        "<h2>The same in other forms</h2>\n<p class=\"soft small\">Listings of the folder "
        "leave "
        "these out, so that copies of it stay small. They open like the others.</p>\n{}{}{}",
        kBegin, others, kEnd);
  }
  return html;
}

std::optional<Elements> CoordinateRange(const ArrayInput& coordinates) {
  if (coordinates.shape.size() != 1 || coordinates.shape[0] == 0 || !coordinates.reader) {
    return std::nullopt;
  }
  const backends::ArraySpec& spec = coordinates.reader->spec();
  if (!spec.dtype.is_fixed_size()) return std::nullopt;
  const auto chunk = backends::CheckedProduct(spec.grid.max_chunk_shape(), spec.dtype.size());
  if (!chunk || *chunk > kMostChunkBytes) return std::nullopt;
  ArrayInput values = MakeUnpacked(coordinates, UnpackedForm::kText).value_or(coordinates);
  auto layout = TextLayout::Make(values.dtype);
  if (!layout || !values.elements) return std::nullopt;
  CoordinateTexts texts(std::move(values), *std::move(layout));
  const uint64_t size = std::max<uint64_t>(2 * texts.width() + 5, kBroken.size());
  return MakeDeferredBytes(size, [texts = std::move(texts), size]() -> Result<std::string> {
    auto text = RangeText(texts);
    if (!text && text.error().code() != model::ErrorCode::kCorrupt) {
      return model::Propagate(std::move(text).error());
    }
    std::string html = text ? *std::move(text) : std::string(kBroken);
    html.resize(size, ' ');
    return html;
  });
}

Result<std::vector<PageDimension>> DimensionsOf(const ArrayInput& array) {
  std::vector<PageDimension> dimensions;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    std::string name = DimensionName(array, d);
    if (name.empty()) continue;
    auto coordinates = FindCoordinate(array, d);
    if (!coordinates && coordinates.error().is_transient()) {
      return model::Propagate(std::move(coordinates).error());
    }
    dimensions.push_back({std::move(name), array.shape[d],
                          coordinates ? *std::move(coordinates) : std::nullopt});
  }
  return dimensions;
}

void AddDimensions(std::span<const PageDimension> dimensions, std::string_view path,
                   PageWriter& page) {
  if (dimensions.empty()) return;
  page.Add(
      "<h2>Dimensions</h2>\n<div class=\"wide\"><table><thead><tr><th scope=\"col\">name</th>"
      "<th scope=\"col\" class=\"number\">length</th><th scope=\"col\">coordinates</th>"
      "<td></td></tr></thead><tbody>\n");
  size_t ranges = 0;
  for (const PageDimension& dimension : dimensions) {
    const std::string name = HtmlName(dimension.name);
    if (!dimension.coordinates) {
      page.Add(fmt::format(
          "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td></td><td></td></tr>\n",
          name, FormatCount(dimension.size)));
      continue;
    }
    const ArrayInput& coordinates = *dimension.coordinates;
    page.Add(
        fmt::format("<tr><th scope=\"row\"><a href=\"{}index.html\">{}</a></th>"
                    "<td class=\"number\">{}</td><td class=\"range\">",
                    UrlOfFolder(path, PathOf(coordinates)), name, FormatCount(dimension.size)));
    auto range = ranges < kMostRanges ? CoordinateRange(coordinates) : std::nullopt;
    if (range) {
      ++ranges;
      page.Add(*std::move(range));
    }
    page.Add(fmt::format("</td><td class=\"soft\">{}</td></tr>\n",
                         HtmlName(DescriptionOf(coordinates.node->attributes()))));
  }
  page.Add("</tbody></table></div>\n");
}

}  // namespace ndlfs::fs
