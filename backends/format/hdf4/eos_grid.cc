// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/eos_grid.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "backends/format/sinusoidal.h"
#include "model/attributes.h"

namespace ndlfs::backends::hdf4 {
namespace {

constexpr size_t kMostGrids = 1000;
constexpr int kMostNested = 64;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks(" \t\r\n\0", 5);
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view Unquote(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

std::optional<double> Number(std::string_view text) {
  text = Trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

template <typename T>
T Whole(std::string_view text, T otherwise) {
  text = Trim(text);
  T value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() ? value : otherwise;
}

// "(1.0,2.0)" into `numbers`; false if there are fewer, or something else.
bool Numbers(std::string_view text, std::span<double> numbers) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  text = text.substr(1, text.size() - 2);
  for (double& number : numbers) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto read = Number(text.substr(0, comma));
    if (!read) return false;
    number = *read;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

// An entry "key=value". A list in parentheses may go on in the next lines.
struct Entry {
  std::string_view key;
  std::string value;
};

std::optional<Entry> TakeEntry(std::string_view& text) {
  while (!text.empty()) {
    const auto take_line = [&] {
      const size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = Trim(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      return line;
    };
    const std::string_view line = take_line();
    const size_t sign = line.find('=');
    if (sign == line.npos) continue;
    Entry entry{Trim(line.substr(0, sign)), std::string(Trim(line.substr(sign + 1)))};
    constexpr size_t kLongest = 65'536;
    bool is_open = entry.value.starts_with('(') && entry.value.find(')') == std::string::npos;
    while (is_open && !text.empty() && entry.value.size() < kLongest) {
      const std::string_view next = take_line();
      is_open = next.find(')') == next.npos;
      entry.value += next;
    }
    return entry;
  }
  return std::nullopt;
}

void Set(const Entry& entry, EosGrid& grid) {
  const std::string_view value = entry.value;
  if (entry.key == "GridName") {
    grid.name = Unquote(value);
  } else if (entry.key == "XDim") {
    grid.columns = Whole<uint64_t>(value, 0);
  } else if (entry.key == "YDim") {
    grid.rows = Whole<uint64_t>(value, 0);
  } else if (entry.key == "UpperLeftPointMtrs") {
    grid.has_upper_left = Numbers(value, grid.upper_left);
  } else if (entry.key == "LowerRightMtrs") {
    grid.has_lower_right = Numbers(value, grid.lower_right);
  } else if (entry.key == "Projection") {
    grid.projection = Unquote(value);
  } else if (entry.key == "ProjParams") {
    if (!Numbers(value, grid.parameters)) grid.parameters = {};
  } else if (entry.key == "ZoneCode") {
    grid.zone = Whole(value, 0);
  } else if (entry.key == "SphereCode") {
    grid.sphere = Whole(value, -1);
  } else if (entry.key == "PixelRegistration") {
    grid.registration = Unquote(value);
  } else if (entry.key == "GridOrigin") {
    grid.origin = Unquote(value);
  }
}

class Attributes {
 public:
  void Text(const char* name, std::string_view text) {
    made_.push_back(model::MakeTextAttribute(name, text));
  }
  void Real(const char* name, double value) {
    made_.push_back({name, model::Datatype::Float64(), {}, value, {}});
  }
  void Reals(const char* name, double a, double b) {
    made_.push_back({name,
                     model::Datatype::Float64(),
                     {2},
                     model::Value::List{model::Value(a), model::Value(b)},
                     {}});
  }
  std::vector<model::Attribute> Take() && { return std::move(made_); }

 private:
  std::vector<model::Attribute> made_;
};

// Angles of GCTP: DDDMMMSSS.SS.
double Degrees(double packed) {
  const double size = std::abs(packed);
  const double degrees = std::floor(size / 1e6);
  const double minutes = std::floor((size - degrees * 1e6) / 1e3);
  const double seconds = size - degrees * 1e6 - minutes * 1e3;
  return std::copysign(degrees + minutes / 60 + seconds / 3600, packed);
}

// The ellipsoids of GCTP: code, and the two axes.
struct Sphere {
  int code;
  double major;
  double minor;
};
constexpr Sphere kSpheres[] = {
    {0, 6378206.4, 6356583.8},        // Clarke 1866
    {1, 6378249.145, 6356514.86955},  // Clarke 1880
    {2, 6377397.155, 6356078.96284},  // Bessel
    {5, 6378135.0, 6356750.519915},   // WGS 72
    {8, 6378137.0, 6356752.31414},    // GRS 1980
    {12, 6378137.0, 6356752.314245},  // WGS 84
    {19, 6370997.0, 6370997.0},       // sphere
};

// By the parameters if they have a length: the second is the other axis, or the square of the
// eccentricity.
void AddShape(const EosGrid& grid, Attributes& attributes) {
  double major = grid.parameters[0], minor = grid.parameters[1];
  if (grid.projection == "GCTP_UTM" || grid.projection == "GCTP_GEO") major = 0;
  // One length, where other projections have a second one: of a sphere.
  const bool is_round = grid.projection == "GCTP_SNSOID" || grid.projection == "GCTP_LAMAZ";
  if (major > 0) {
    if (is_round || minor == 0) minor = major;
    if (minor > 0 && minor < 1) minor = major * std::sqrt(1 - minor);
  } else {
    const auto found = std::ranges::find(kSpheres, grid.sphere, &Sphere::code);
    if (found == std::end(kSpheres)) return;
    major = found->major;
    minor = found->minor;
  }
  if (!(minor > 0) || minor > major) return;
  attributes.Real("semi_major_axis", major);
  attributes.Real("semi_minor_axis", minor);
}

// The parameters that have an index in GCTP and a name in CF (1.11, appendix F).
struct Parameter {
  size_t index;
  const char* name;
  bool is_angle;
};
struct Projection {
  std::string_view code;
  const char* name;
  std::array<Parameter, 3> parameters;  // as far as they have names
};
constexpr Projection kProjections[] = {
#include "backends/format/hdf4/projections.inc"
};

void AddUtm(int zone, Attributes& attributes) {
  attributes.Text("grid_mapping_name", "transverse_mercator");
  attributes.Real("scale_factor_at_central_meridian", 0.9996);
  attributes.Real("longitude_of_central_meridian", std::abs(zone) * 6 - 183);
  attributes.Real("latitude_of_projection_origin", 0);
  attributes.Real("false_easting", 500'000);
  attributes.Real("false_northing", zone < 0 ? 10'000'000 : 0);
}

bool AddProjection(const EosGrid& grid, Attributes& attributes) {
  if (grid.projection == "GCTP_GEO") {
    attributes.Text("grid_mapping_name", "latitude_longitude");
    return true;
  }
  if (grid.projection == "GCTP_UTM") {
    const bool is_zone = grid.zone != 0 && grid.zone >= -60 && grid.zone <= 60;
    if (is_zone) AddUtm(grid.zone, attributes);
    return is_zone;
  }
  const auto found = std::ranges::find(kProjections, grid.projection, &Projection::code);
  if (found == std::end(kProjections)) return false;
  attributes.Text("grid_mapping_name", found->name);
  const auto& numbers = grid.parameters;
  for (const Parameter& parameter : found->parameters) {
    if (parameter.name == nullptr) continue;
    const double number = numbers[parameter.index];
    attributes.Real(parameter.name, parameter.is_angle ? Degrees(number) : number);
  }
  if (grid.projection == "GCTP_PS") {
    attributes.Real("latitude_of_projection_origin", std::copysign(90, numbers[5]));
  }
  if (grid.projection == "GCTP_LAMCC" || grid.projection == "GCTP_ALBERS") {
    attributes.Reals("standard_parallel", Degrees(numbers[2]), Degrees(numbers[3]));
  }
  attributes.Real("false_easting", numbers[6]);
  attributes.Real("false_northing", numbers[7]);
  return true;
}

std::vector<model::Attribute> AttributesOfAxis(bool is_geographic, bool is_x) {
  Attributes attributes;
  if (is_geographic) {
    attributes.Text("standard_name", is_x ? "longitude" : "latitude");
    attributes.Text("units", is_x ? "degrees_east" : "degrees_north");
  } else {
    attributes.Text("standard_name",
                    is_x ? "projection_x_coordinate" : "projection_y_coordinate");
    attributes.Text("units", "m");
  }
  attributes.Text("axis", is_x ? "X" : "Y");
  return std::move(attributes).Take();
}

// From the edge where the first pixel is to the other one.
Line LineOf(double begin, double end, uint64_t count, bool is_corner) {
  const double step = (end - begin) / static_cast<double>(count);
  return {begin + (is_corner ? 0 : step / 2), step};
}

}  // namespace

// GROUP=GridStructure has a group for each grid, and that has its entries and further groups.
std::vector<EosGrid> ReadGrids(std::string_view text) {
  constexpr int kGridDepth = 2;
  std::vector<EosGrid> grids;
  EosGrid grid;
  bool is_in_grids = false;
  int depth = 0;
  while (const auto entry = TakeEntry(text)) {
    if (entry->key == "GROUP" || entry->key == "OBJECT") {
      if (++depth > kMostNested) break;
      if (depth == 1) is_in_grids = entry->value == "GridStructure";
      if (depth == kGridDepth) grid = EosGrid();
    } else if (entry->key == "END_GROUP" || entry->key == "END_OBJECT") {
      if (depth == kGridDepth && is_in_grids && !grid.name.empty()) {
        grids.push_back(std::move(grid));
        grid = EosGrid();
      }
      if (--depth < 0 || grids.size() >= kMostGrids) break;
    } else if (is_in_grids && depth == kGridDepth) {
      Set(*entry, grid);
    }
  }
  return grids;
}

std::optional<GridPlace> PlaceOf(const EosGrid& grid) {
  const bool has_corners = grid.has_upper_left && grid.has_lower_right;
  if (!has_corners || grid.columns == 0 || grid.rows == 0) return std::nullopt;
  Attributes mapping;
  if (!AddProjection(grid, mapping)) return std::nullopt;
  AddShape(grid, mapping);
  const bool is_geographic = grid.projection == "GCTP_GEO";
  const auto place_of = [&](double corner) { return is_geographic ? Degrees(corner) : corner; };
  double left = place_of(grid.upper_left[0]), right = place_of(grid.lower_right[0]);
  double top = place_of(grid.upper_left[1]), bottom = place_of(grid.lower_right[1]);
  if (left == right || top == bottom) return std::nullopt;
  if (grid.origin == "HDFE_GD_UR" || grid.origin == "HDFE_GD_LR") std::swap(left, right);
  if (grid.origin == "HDFE_GD_LL" || grid.origin == "HDFE_GD_LR") std::swap(top, bottom);
  const bool is_corner = grid.registration == "HDFE_CORNER";
  GridPlace place;
  place.x = LineOf(left, right, grid.columns, is_corner);
  place.y = LineOf(top, bottom, grid.rows, is_corner);
  place.x_attributes = AttributesOfAxis(is_geographic, true);
  place.y_attributes = AttributesOfAxis(is_geographic, false);
  place.mapping = std::move(mapping).Take();
  if (auto text = TextOfSinusoidal(place.mapping)) place.mapping.push_back(*std::move(text));
  return place;
}

}  // namespace ndlfs::backends::hdf4
