// SPDX-License-Identifier: MIT
//
// FITS 4.0: a header of cards of 80 characters, and the elements, big-endian.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/packing.h"
#include "fs/view/base/attributes.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/elements/sign_flip.h"
#include "fs/view/image/views.h"
#include "fs/view/place/fits_world.h"
#include "fs/view/place/geometry.h"
#include "model/cf_time.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr uint64_t kBlock = 2880;
constexpr size_t kCard = 80;
constexpr size_t kMostFitsAxes = 999;
// The standard stops there for NAXISn, and CFITSIO counts in 64 bits.
constexpr uint64_t kMostLength = std::numeric_limits<int64_t>::max();

// BITPIX; 0 where FITS has no such numbers.
int BitsOf(Number number) {
  if (IsComplex(number) || number == Number::kFloat16) return 0;
  const int bits = static_cast<int>(8 * SizeOf(number));
  return IsFloat(number) ? -bits : bits;
}

// FITS has bytes without and all other integers with a sign. Others are moved by BZERO.
bool IsMoved(Number number) {
  return number == Number::kInt8 || (IsUnsigned(number) && number != Number::kUInt8);
}

model::WideInt ZeroOf(Number number) {
  if (number == Number::kInt8) return -128;
  return IsMoved(number) ? model::WideInt{1} << (8 * SizeOf(number) - 1) : 0;
}

// Fixed format: values of numbers end in column 30, texts begin in column 11.
class Cards {
 public:
  void Add(std::string_view keyword, std::string_view value, std::string_view comment) {
    std::string card = fmt::format("{:<8}= {:>20}", keyword, value);
    if (card.size() + 3 + comment.size() <= kCard) card += fmt::format(" / {}", comment);
    Append(card);
  }
  void AddText(std::string_view keyword, std::string_view value) {
    constexpr size_t kMostText = 68;
    std::string text;
    for (const char c : value) text += c == '\'' ? "''" : std::string(1, c);
    if (text.size() > kMostText) return;
    Append(fmt::format("{:<8}= {:<20}", keyword, fmt::format("'{:<8}'", text)));
  }
  std::string Finish() {
    Append("END");
    return std::move(text_);
  }

 private:
  void Append(std::string_view card) { text_ += fmt::format("{:<80}", card.substr(0, kCard)); }
  std::string text_;
};

// Units of the standard (FITS 4.0, section 4.3), those with prefixes first.
constexpr std::string_view kPrefixedUnits[] = {
    "m",  "g",  "s",  "rad", "sr", "K",    "A",  "mol", "cd",  "Hz",  "J",  "W",
    "V",  "N",  "Pa", "C",   "S",  "F",    "Wb", "T",   "H",   "lm",  "lx", "eV",
    "pc", "yr", "a",  "Jy",  "G",  "barn", "R",  "mag", "bit", "byte"};
constexpr std::string_view kOtherUnits[] = {
    "deg",      "arcmin", "arcsec", "mas",    "min",     "h",     "d",      "erg",
    "Ry",       "AU",     "lyr",    "Ohm",    "solMass", "u",     "solLum", "solRad",
    "Angstrom", "ct",     "count",  "photon", "ph",      "pixel", "pix",    "D",
    "Sun",      "chan",   "bin",    "voxel",  "adu",     "beam"};
constexpr std::string_view kPrefixes[] = {"d",  "c", "m", "u", "n", "p", "f", "a", "z", "y",
                                          "da", "h", "k", "M", "G", "T", "P", "E", "Z", "Y"};

bool IsUnitOfFits(std::string_view word) {
  if (std::ranges::count(kOtherUnits, word) != 0) return true;
  if (std::ranges::count(kPrefixedUnits, word) != 0) return true;
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    return word.starts_with(prefix) &&
           std::ranges::count(kPrefixedUnits, word.substr(prefix.size())) != 0;
  });
}

// Whether all words of "km s-1" or "m/s" are units of the standard. A coordinate without units
// is taken for one in those of the SI.
bool AreUnitsOfFits(std::string_view text) {
  constexpr std::string_view kBetween = " /.*^()+-0123456789";
  bool has_unit = false;
  while (!text.empty()) {
    const size_t size = std::min(text.find_first_of(kBetween), text.size());
    if (size != 0 && !IsUnitOfFits(text.substr(0, size))) return false;
    has_unit = has_unit || size != 0;
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return has_unit;
}

// Printable ASCII; nothing for all else. A hyphen in the fifth place would be the name of a
// projection.
std::string PlainTypeOf(const Axis& axis) {
  const bool is_plain = axis.name.size() <= 60 && axis.name == PrintableAscii(axis.name);
  if (!is_plain || (axis.name.size() > 4 && axis.name[4] == '-')) return {};
  return axis.name;
}

// The standard's words (FITS 4.0, sections 8.3 and 8.4) for what such an axis counts, by its
// name or standard name, and its units; empty where it has none.
std::string_view WordOf(const Axis& axis) {
  struct Word {
    std::string_view names, units, word;
  };
  static constexpr Word kWords[] = {
      {" ra right_ascension ", " deg degree degrees ", "RA"},
      {" dec declination ", " deg degree degrees ", "DEC"},
      {" glon galactic_longitude ", " deg degree degrees ", "GLON"},
      {" glat galactic_latitude ", " deg degree degrees ", "GLAT"},
      {" freq frequency radiation_frequency ", " Hz kHz MHz GHz THz ", "FREQ"},
      {" wave wavelength radiation_wavelength ", " m cm mm um nm Angstrom ", "WAVE"},
      {" vrad radio_velocity ", " m/s km/s m_s-1 km_s-1 ", "VRAD"},
      {" vopt optical_velocity ", " m/s km/s m_s-1 km_s-1 ", "VOPT"},
      {" velo vel velocity ", " m/s km/s m_s-1 km_s-1 ", "VELO"},
      {" stokes ", " 1  ", "STOKES"}};
  const auto has = [](std::string_view list, std::string text) {
    std::ranges::replace(text, ' ', '_');
    return list.find(' ' + text + ' ') != std::string_view::npos;
  };
  for (const Word& word : kWords) {
    const bool is_named =
        has(word.names, LowerCase(axis.name)) || has(word.names, axis.standard_name);
    if (is_named && has(word.units, axis.units)) return word.word;
  }
  return {};
}

// The standard's name of the units of coordinates; empty where it has none.
std::string_view UnitOf(const Axis& axis) {
  if (axis.role == AxisRole::kLongitude || axis.role == AxisRole::kLatitude) return "deg";
  if (axis.units == "metre" || axis.units == "meter") return "m";
  return AreUnitsOfFits(axis.units) ? std::string_view(axis.units) : std::string_view();
}

struct Fits {
  NumberArray numbers;
  Geometry geometry;
  backends::Packing packing;
  std::optional<std::string> blank;
  std::string unit;
  FitsWorld world;  // of the source; coordinates say what it does not
};

// The unit of times since a date, in the standard's words; empty for others. Its dates are of
// the Gregorian calendar.
std::string_view UnitOfScale(const std::optional<model::TimeScale>& scale) {
  constexpr std::pair<int64_t, std::string_view> kUnits[] = {
      {1, "s"}, {60, "min"}, {3600, "h"}, {86400, "d"}};
  if (!scale || (scale->calendar != model::Calendar::kStandard &&
                 scale->calendar != model::Calendar::kProlepticGregorian)) {
    return {};
  }
  for (const auto& [seconds, word] : kUnits) {
    if (scale->unit == model::Nanoseconds{1'000'000'000} * seconds) return word;
  }
  return {};
}

// Whether the dates of axis `d` are those of the file, which has one reference for all.
bool HasDates(const Fits& fits, size_t d) {
  const auto is_time = [&](const Axis& axis) {
    return axis.role == AxisRole::kTime &&
           !UnitOfScale(model::ParseTimeUnits(axis.units, axis.calendar)).empty();
  };
  const auto& axes = fits.geometry.axes;
  return std::ranges::find_if(axes, is_time) == axes.begin() + static_cast<ptrdiff_t>(d) &&
         std::ranges::find(fits.world.cards, "DATEREF", &FitsCard::keyword) ==
             fits.world.cards.end();
}

bool IsRegular(const std::optional<Steps>& steps) { return steps && !std::isnan(steps->step); }

// Whether the axis and its partner count degrees of the sky: neither has a meaning alone.
bool IsOfSky(const Fits& fits, std::string_view word, const AllSteps& steps) {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"RA", "DEC"}, {"DEC", "RA"}, {"GLON", "GLAT"}, {"GLAT", "GLON"}};
  const auto pair = std::ranges::find(kPairs, word, [](const auto& p) { return p.first; });
  if (pair == std::end(kPairs)) return false;
  for (size_t d = 0; d < steps.size(); ++d) {
    if (IsRegular(steps[d]) && WordOf(fits.geometry.axes[d]) == pair->second) return true;
  }
  return false;
}

// Coordinates of the sky that are equally far from each other are those of CAR, a plane
// cylinder whose reference is on the equator.
void AddAxis(const Fits& fits, size_t d, const AllSteps& all, const NumberText& text,
             Cards& cards) {
  const size_t n = fits.geometry.axes.size() - d;  // fastest first
  const Axis& axis = fits.geometry.axes[d];
  const Steps& steps = *all[d];
  const auto scale =
      HasDates(fits, d) ? model::ParseTimeUnits(axis.units, axis.calendar) : std::nullopt;
  const std::string_view word = scale ? "TIME" : WordOf(axis);
  const bool is_of_sky = IsOfSky(fits, word, all);
  const bool is_word =
      !word.empty() && !word.starts_with("GL") && word != "RA" && word != "DEC";
  const std::string type = is_of_sky ? fmt::format("{:-<5}CAR", word)
                           : is_word ? std::string(word)
                                     : PlainTypeOf(axis);
  if (!type.empty()) cards.AddText(fmt::format("CTYPE{}", n), type);
  const std::string_view unit = scale ? UnitOfScale(scale) : is_of_sky ? "deg" : UnitOf(axis);
  if (!unit.empty()) cards.AddText(fmt::format("CUNIT{}", n), unit);
  const bool is_latitude = is_of_sky && (word == "DEC" || word == "GLAT");
  const double pixel = is_latitude ? 1 - steps.first / steps.step : 1;
  cards.Add(fmt::format("CRPIX{}", n), RealOfFits(text(pixel)), "the reference element");
  cards.Add(fmt::format("CRVAL{}", n), RealOfFits(text(is_latitude ? 0 : steps.first)),
            "its coordinate");
  cards.Add(fmt::format("CDELT{}", n), RealOfFits(text(steps.step)), "from one to the next");
  if (!scale) return;
  constexpr double kDay = 86400e9, kDaysTo1970 = 40587;
  const double days = static_cast<double>(scale->origin) / kDay + kDaysTo1970;
  cards.AddText("DATEREF", FormatTime(model::Calendar::kProlepticGregorian, scale->origin, 0));
  cards.Add("MJDREF", RealOfFits(fmt::format("{}", days)), "the same day");
}

// BSCALE and BZERO: what is stored here is the element minus ZeroOf().
void AddScale(const Fits& fits, Cards& cards) {
  const Number number = fits.numbers.number;
  const backends::Packing& packing = fits.packing;
  if (packing.is_scaled()) {
    const double zero =
        packing.factor() * static_cast<double>(ZeroOf(number)) + packing.shift();
    cards.Add("BSCALE", RealOfFits(fmt::format("{}", packing.factor())), "times the element");
    cards.Add("BZERO", RealOfFits(fmt::format("{}", zero)), "to add then");
  } else if (IsMoved(number)) {
    cards.Add("BSCALE", "1", "");
    cards.Add("BZERO", model::FormatInteger(ZeroOf(number)), "to add to each element");
  }
}

std::string Render(const Fits& fits, const AllSteps& steps, const NumberText& text) {
  Cards cards;
  const NumberArray& numbers = fits.numbers;
  cards.Add("SIMPLE", "T", "conforms to the FITS standard");
  cards.Add("BITPIX", fmt::format("{}", BitsOf(numbers.number)), "bits of an element");
  cards.Add("NAXIS", fmt::format("{}", std::max<size_t>(1, numbers.rank())), "dimensions");
  if (numbers.rank() == 0) cards.Add("NAXIS1", "1", "");
  for (size_t n = 1; n <= numbers.rank(); ++n) {
    const size_t d = numbers.rank() - n;
    cards.Add(fmt::format("NAXIS{}", n), fmt::format("{}", numbers.shape[d]),
              PrintableAscii(fits.geometry.axes[d].name));
  }
  AddScale(fits, cards);
  if (fits.blank) cards.Add("BLANK", *fits.blank, "the element that stands for no value");
  if (!fits.unit.empty()) cards.AddText("BUNIT", fits.unit);
  for (const FitsCard& card : fits.world.cards) {
    if (card.is_text) {
      cards.AddText(card.keyword, card.value);
    } else {
      cards.Add(card.keyword, card.value, "");
    }
  }
  for (size_t d = fits.world.has_place ? 0 : steps.size(); d-- > 0;) {
    if (IsRegular(steps[d])) AddAxis(fits, d, steps, text, cards);
  }
  return cards.Finish();
}

// As it is stored, before BZERO is added. Floats have NaN for this.
std::optional<std::string> BlankOf(const ArrayInput& input, Number number) {
  if (BitsOf(number) < 0) return std::nullopt;
  const auto missing = backends::MissingValueOf(*input.node);
  if (!missing || missing->integer() == nullptr) return std::nullopt;
  const int bits = BitsOf(number);
  const model::WideInt stored = *missing->integer() - ZeroOf(number);
  const model::WideInt least = bits == 8 ? 0 : -(model::WideInt{1} << (bits - 1));
  if (stored < least || stored >= least + (model::WideInt{1} << bits)) return std::nullopt;
  return model::FormatInteger(stored);
}

std::optional<NumberArray> FittingFits(const ArrayInput& input) {
  auto numbers = AsNumbers(input);
  if (!numbers || BitsOf(numbers->number) == 0) return std::nullopt;
  const bool fits =
      numbers->rank() <= kMostFitsAxes &&
      std::ranges::all_of(numbers->shape, [](uint64_t n) { return n <= kMostLength; });
  return fits ? numbers : std::nullopt;
}

uint64_t WholeBlocks(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }

// The header has room for the coordinates whether they are regular or not: that is seen only
// when it is read.
Segment MakeHeader(Fits fits) {
  const uint64_t longest =
      Render(fits, LongestSteps(fits.geometry), NumberText::Widest()).size();
  const uint64_t size = WholeBlocks(longest);
  return MakeDeferredBytes(size, [=]() -> Result<std::string> {
    NDLFS_TRY(const AllSteps steps, ReadAllSteps(fits.geometry));
    std::string text = Render(fits, steps, NumberText::Exact());
    if (text.size() > size) return model::Internal("a header of {} bytes", text.size());
    // Data begin with the block after END. So blank cards before it fill whole blocks.
    text.insert(text.size() - kCard, size - WholeBlocks(text.size()), ' ');
    text.resize(size, ' ');
    return text;
  });
}

Result<ViewNode> MakeFits(const ArrayInput& input) {
  const auto numbers = FittingFits(input);
  if (!numbers) return model::Unsupported("no FITS of {}", input.dtype.keyword());
  NDLFS_TRY(Geometry geometry, DescribeGeometry(input, *numbers));
  const std::string unit = TextOf(input.node->attributes(), "units");
  auto elements = numbers->elements;
  if (IsMoved(numbers->number)) elements = FlipSigns(elements, SizeOf(numbers->number));
  std::vector<Segment> segments;
  segments.push_back(
      MakeHeader({.numbers = *numbers,
                  .geometry = std::move(geometry),
                  .packing = backends::ReadPacking(*input.node).value_or(backends::Packing()),
                  .blank = BlankOf(input, numbers->number),
                  .unit = unit == PrintableAscii(unit) ? unit : "",
                  .world = WorldOf(input)}));
  segments.push_back(AllOf(std::move(elements), model::ByteOrder::kBig));
  segments.push_back(Zeros{WholeBlocks(numbers->bytes) - numbers->bytes});
  return MakeSegmentedView(std::move(segments));
}

}  // namespace

const ArrayViewKind kFitsView = {
    .file_name = "data.fits",
    .description = "FITS",
    .applies_to = [](const ArrayInput& input) { return FittingFits(input).has_value(); },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = &MakeFits,
};

}  // namespace ndlfs::fs
