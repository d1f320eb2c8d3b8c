// SPDX-License-Identifier: MIT
#include "backends/format/tiff/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/packing.h"
#include "backends/xml/xml.h"
#include "model/attributes.h"
#include "model/number_text.h"
#include "model/utf8.h"

namespace ndlfs::backends::tiff {
namespace {

using model::Attribute;
using model::Datatype;
using model::Result;

constexpr uint64_t kMostText = uint64_t{64} << 10;
constexpr uint64_t kMostColors = 3 * 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct TextField {
  uint16_t tag;
  const char* name;
};
constexpr TextField kTexts[] = {
    {269, "DocumentName"}, {kImageDescription, "ImageDescription"},
    {271, "Make"},         {272, "Model"},
    {285, "PageName"},     {305, "Software"},
    {306, "DateTime"},     {315, "Artist"},
    {316, "HostComputer"}, {33432, "Copyright"},
};
constexpr TextField kNumbers[] = {
    {274, "Orientation"},    {282, "XResolution"},  {283, "YResolution"},
    {296, "ResolutionUnit"}, {338, "ExtraSamples"},
};

Attribute RealsOf(std::string name, const std::vector<double>& numbers) {
  if (numbers.size() == 1) return {std::move(name), Datatype::Float64(), {}, numbers[0], {}};
  return {std::move(name),
          Datatype::Float64(),
          {numbers.size()},
          model::Value::List(numbers.begin(), numbers.end()),
          {}};
}

Attribute IntegersOf(std::string name, const std::vector<double>& numbers) {
  const auto is_short = [](double number) { return std::abs(number) <= INT32_MAX; };
  if (!std::ranges::all_of(numbers, is_short)) return RealsOf(std::move(name), numbers);
  model::Value::List values;
  for (const double number : numbers) values.emplace_back(static_cast<int64_t>(number));
  const Datatype type = Datatype::Integer(4, true);
  if (values.size() == 1) return {std::move(name), type, {}, values[0], {}};
  const uint64_t count = values.size();
  return {std::move(name), type, {count}, std::move(values), {}};
}

std::optional<double> ParseReal(std::string_view text) {
  // As programs on Windows spelt them: "-1.#INF", "1.#QNAN", "-1.#IND".
  if (text.find("1.#INF") != text.npos)
    return text.find('-') != text.npos ? -kInfinity : kInfinity;
  if (text.find("1.#") != text.npos) return std::numeric_limits<double>::quiet_NaN();
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return model::ParseNumber<double>(text);
}

// Takes the digits of a text.
class DigitReader {
 public:
  explicit DigitReader(std::string_view text) : text_(text) {}

  // A number of exactly so many digits.
  std::optional<int> Take(size_t digits) {
    int number = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (i >= text_.size() || text_[i] < '0' || text_[i] > '9') return std::nullopt;
      number = number * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return number;
  }
  // Skips one of these characters, or nothing.
  bool Skip(std::string_view characters) {
    const bool is_there = !text_.empty() && characters.find(text_.front()) != characters.npos;
    if (is_there) text_.remove_prefix(1);
    return is_there;
  }
  bool is_at_digit() const {
    return !text_.empty() && text_.front() >= '0' && text_.front() <= '9';
  }

 private:
  std::string_view text_;
};

// The time of day that follows a date: hours, minutes, and seconds if they are there. 0 if
// there is none.
double TimeOfDay(DigitReader digits) {
  if (!digits.Skip("T_ -")) return 0;
  const auto hours = digits.Take(2);
  digits.Skip(":");
  const auto minutes = digits.Take(2);
  digits.Skip(":");
  const int seconds = digits.Take(2).value_or(0);
  if (!hours || !minutes || *hours > 23 || *minutes > 59 || seconds > 60) return 0;
  if (digits.is_at_digit()) return 0;
  return *hours * 3600 + *minutes * 60 + seconds;
}

// The time at the beginning of a text.
std::optional<double> TimeAt(std::string_view text) {
  constexpr int kFirstYear = 1800, kLastYear = 2200;
  DigitReader digits(text);
  const auto year = digits.Take(4);
  const bool is_separated = digits.Skip("-_:");
  const auto month = digits.Take(2);
  if (is_separated != digits.Skip("-_:")) return std::nullopt;
  const auto day = digits.Take(2);
  if (!year || !month || !day || digits.is_at_digit()) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *year < kFirstYear || *year > kLastYear) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + TimeOfDay(digits);
}

// The letter of "lt" or "#60" between '&' and ';'. Empty for others.
std::string LetterOfEntity(std::string_view name) {
  static constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"lt", "<"}, {"gt", ">"}, {"amp", "&"}, {"quot", "\""}, {"apos", "'"}};
  for (const auto& [known, letter] : kNames) {
    if (name == known) return letter;
  }
  if (!name.starts_with('#')) return {};
  name.remove_prefix(1);
  const bool is_hexadecimal = name.starts_with('x');
  if (is_hexadecimal) name.remove_prefix(1);
  uint32_t code = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, code, is_hexadecimal ? 16 : 10);
  std::string letter;
  const bool is_valid = parsed.ec == std::errc() && parsed.ptr == end && code != 0;
  return is_valid && model::AppendUtf8(letter, code) ? letter : std::string();
}

// GDAL escapes the texts of items before it writes them as XML, which escapes them once more.
std::string Unescaped(std::string_view text) {
  constexpr size_t kLongestName = 8;
  std::string made;
  while (!text.empty()) {
    const size_t plain = std::min(text.find('&'), text.size());
    made += text.substr(0, plain);
    text.remove_prefix(plain);
    const size_t end = text.substr(0, kLongestName + 2).find(';');
    const std::string letter =
        end == text.npos ? std::string() : LetterOfEntity(text.substr(1, end - 1));
    const size_t taken = letter.empty() ? std::min<size_t>(text.size(), 1) : end + 1;
    made += letter.empty() ? text.substr(0, taken) : letter;
    text.remove_prefix(taken);
  }
  return made;
}

// Items of GDALMetadata.
class GdalItems {
 public:
  explicit GdalItems(uint64_t bands) : bands_(std::min<uint64_t>(bands, kMostBands)) {}

  Result<void> Add(const XmlElement& element) {
    if (element.path != "GDALMetadata/Item") return {};
    std::string name, role;
    std::optional<uint64_t> sample;
    bool has_domain = false;
    for (const auto& [key, value] : element.attributes) {
      if (key == "name") name = value;
      if (key == "role") role = value;
      if (key == "sample") sample = model::ParseNumber<uint64_t>(value);
      if (key == "domain") has_domain = true;
    }
    const std::string text = Unescaped(element.text);
    if (role.empty() && !sample && !has_domain) {
      if (HasMeaning(name)) name.insert(0, kGdalPrefix);
      if (!name.empty() && room_.Take(name, 1, text.size())) {
        others_.push_back(model::MakeTextAttribute(name, text));
      }
      return {};
    }
    const uint64_t band = sample.value_or(0);
    if (band >= bands_) return {};
    if (role == "scale") Set(scales_, band, ParseReal(text), 1.0);
    if (role == "offset") Set(offsets_, band, ParseReal(text), 0.0);
    if (role == "unittype") Set(units_, band, std::optional(text), std::string());
    if (role == "description") Set(names_, band, std::optional(text), std::string());
    return {};
  }

  std::vector<Attribute> Take() && {
    std::vector<Attribute> made;
    const bool any = !scales_.empty() || !offsets_.empty();
    scales_.resize(any ? bands_ : 0, 1);
    offsets_.resize(any ? bands_ : 0, 0);
    if (any && IsOne(scales_) && IsOne(offsets_)) {
      if (scales_[0] != 1 || offsets_[0] != 0) {
        made.push_back(RealsOf("scale_factor", {scales_[0]}));
        made.push_back(RealsOf("add_offset", {offsets_[0]}));
      }
    } else if (any) {
      made.push_back(RealsOf("band_scale", scales_));
      made.push_back(RealsOf("band_offset", offsets_));
    }
    if (units_.size() == bands_ && IsOne(units_) && !units_[0].empty()) {
      made.push_back(model::MakeTextAttribute("units", units_[0]));
    }
    if (!names_.empty()) made.push_back(Names());
    made.insert(made.end(), others_.begin(), others_.end());
    return made;
  }

 private:
  static constexpr uint64_t kMostBands = 4096;

  // Whether attributes of such a name say something about the numbers here. GDAL takes items
  // from other formats, whose numbers may have been others.
  static bool HasMeaning(std::string_view name) {
    constexpr std::string_view kOthers[] = {
        "coordinates",   "grid_mapping",        "bounds",       "climatology",
        "cell_measures", "ancillary_variables", "formula_terms"};
    return std::ranges::find(PackingAttributes(), name) != PackingAttributes().end() ||
           std::ranges::find(kOthers, name) != std::end(kOthers);
  }
  template <typename T>
  void Set(std::vector<T>& values, uint64_t band, const std::optional<T>& value, T otherwise) {
    if (!value) return;
    values.resize(bands_, otherwise);
    values[band] = *value;
  }
  static bool IsOne(const auto& values) {
    return std::ranges::all_of(values, [&](const auto& value) { return value == values[0]; });
  }
  Attribute Names() const {
    if (names_.size() == 1) return model::MakeTextAttribute("long_name", names_[0]);
    model::Value::List list;
    for (const std::string& name : names_) {
      list.push_back(model::MakeTextAttribute("", name).value);
    }
    return {"band_names", Datatype::String(), {names_.size()}, std::move(list), {}};
  }

  const uint64_t bands_;
  std::vector<double> scales_, offsets_;
  std::vector<std::string> units_, names_;
  std::vector<Attribute> others_;
  model::AttributeRoom room_;
};

}  // namespace

Result<std::vector<Attribute>> AttributesOfFields(TiffReader& reader,
                                                  const Directory& directory,
                                                  const ImageForm& form) {
  std::vector<Attribute> made;
  model::AttributeRoom room;
  made.push_back(model::MakeTextAttribute("PhotometricInterpretation", PhotometricOf(form)));
  for (const auto& [tag, name] : kTexts) {
    const Field* field = directory.Find(tag);
    if (field == nullptr) continue;
    const auto text = reader.Text(*field, kMostText);
    if (!text && text.error().is_transient()) return model::Propagate(text.error());
    if (!text || !room.Take(name, 1, text->size())) continue;
    made.push_back(model::MakeTextAttribute(name, text->substr(0, text->find('\0'))));
  }
  const auto add_numbers = [&](uint16_t tag, const char* name, uint64_t most) -> Result<void> {
    const Field* field = directory.Find(tag);
    if (field == nullptr || field->count == 0) return {};
    const auto numbers = reader.Reals(*field, most);
    if (!numbers && numbers.error().is_transient()) return model::Propagate(numbers.error());
    if (!numbers || !room.Take(name, numbers->size(), 0)) return {};
    const bool is_real = tag == 282 || tag == 283;
    made.push_back(is_real ? RealsOf(name, *numbers) : IntegersOf(name, *numbers));
    return {};
  };
  for (const auto& [tag, name] : kNumbers) NDLFS_RETURN_IF_ERROR(add_numbers(tag, name, 16));
  NDLFS_RETURN_IF_ERROR(add_numbers(kColorMap, "ColorMap", kMostColors));
  return made;
}

std::vector<Attribute> AttributesOfGdal(const std::string& metadata, uint64_t bands) {
  if (metadata.empty()) return {};
  GdalItems items(bands);
  const auto walked =
      WalkXml(metadata, [&](const XmlElement& element) { return items.Add(element); });
  return walked ? std::move(items).Take() : std::vector<Attribute>();
}

std::optional<model::Value> NoDataOf(const ImageForm& form, const Datatype& type) {
  std::string_view text = form.no_data;
  while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\0')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  std::vector<std::byte> element(type.size());
  const auto fit = [&](model::Value value) -> std::optional<model::Value> {
    return model::EncodeElement(type, value, element) ? std::optional(value) : std::nullopt;
  };
  if (type.kind() == Datatype::Kind::kInteger) {
    if (const auto number = model::ParseNumber<int64_t>(text)) return fit(*number);
    if (const auto large = model::ParseNumber<uint64_t>(text)) {
      return fit(model::WideInt{*large});
    }
    const auto real = ParseReal(text);
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!real || std::floor(*real) != *real || std::abs(*real) > kExact) return std::nullopt;
    return fit(static_cast<int64_t>(*real));
  }
  if (type.kind() != Datatype::Kind::kFloat) return std::nullopt;
  const auto real = ParseReal(text);
  if (!real) return std::nullopt;
  const auto rounded = model::RoundToFloat(type, *real);
  return rounded ? std::optional<model::Value>(*rounded) : std::nullopt;
}

std::optional<double> TimeOf(std::string_view file_name, std::string_view date_time) {
  for (size_t at = 0; at < file_name.size(); ++at) {
    const auto is_digit = [&](size_t i) { return file_name[i] >= '0' && file_name[i] <= '9'; };
    if (!is_digit(at) || (at > 0 && is_digit(at - 1))) continue;
    if (const auto time = TimeAt(file_name.substr(at))) return time;
  }
  return TimeAt(date_time);
}

std::optional<ImageJ> ReadImageJ(const std::string& description, uint64_t pages,
                                 const ImageForm& form) {
  if (!description.starts_with("ImageJ=")) return std::nullopt;
  std::map<std::string, std::string, std::less<>> lines;
  for (size_t at = 0; at < description.size();) {
    const size_t end = std::min(description.find('\n', at), description.size());
    const std::string line = description.substr(at, end - at);
    const size_t equal = line.find('=');
    if (equal != line.npos) {
      std::string value = line.substr(equal + 1);
      value.erase(0, value.find_first_not_of(' '));  // some writers fill up short numbers
      lines.emplace(line.substr(0, equal), std::move(value));
    }
    at = end + 1;
  }
  const auto number_of = [&]<typename T>(std::string_view key, T otherwise) {
    const auto found = lines.find(key);
    if (found == lines.end()) return otherwise;
    return model::ParseNumber<T>(found->second).value_or(otherwise);
  };
  ImageJ made;
  // Channels may be the samples of a pixel.
  const uint64_t stored = number_of("channels", uint64_t{1});
  const uint64_t channels = stored == form.samples ? 1 : stored;
  const std::array<uint64_t, 3> sizes = {channels, number_of("slices", uint64_t{1}),
                                         number_of("frames", uint64_t{1})};
  const uint64_t all = CheckedProduct(sizes).value_or(UINT64_MAX);
  const uint64_t images = pages > 1 ? pages : number_of("images", all);
  std::string order = lines.contains("order") ? lines["order"] : "czt";
  std::string sorted = order;
  std::ranges::sort(sorted);
  if (sorted != "ctz") {
    if (order != "default") {
      made.notes.push_back("ImageJ: the order " + model::Quote(order) + " is none");
    }
    order = "czt";
  }
  if (all == images) {
    for (const char dim : std::string(order.rbegin(), order.rend())) {
      const uint64_t size = sizes[std::string_view("czt").find(dim)];
      if (size > 1) made.dims.push_back({std::string(1, dim), size});
    }
  } else if (images > 1) {
    made.dims = {{"page", images}};
  }
  const auto unit_of = [&](std::string_view key, std::string otherwise) {
    const auto found = lines.find(key);
    if (found == lines.end()) return otherwise;
    constexpr std::string_view kMicro = "\\u00B5";
    std::string unit = found->second;
    if (unit.starts_with(kMicro)) unit.replace(0, kMicro.size(), "\xC2\xB5");
    return unit == "pixel" || unit == "pixels" ? std::string() : unit;
  };
  made.unit = unit_of("unit", "");
  made.unit_of_y = unit_of("yunit", made.unit);
  made.unit_of_z = unit_of("zunit", made.unit);
  const auto positive_of = [&](std::string_view key) -> std::optional<double> {
    const double number = number_of(key, 0.0);
    return std::isfinite(number) && number > 0 ? std::optional(number) : std::nullopt;
  };
  made.distance_of_z = positive_of("spacing");
  made.seconds = positive_of("finterval");
  return made;
}

}  // namespace ndlfs::backends::tiff
