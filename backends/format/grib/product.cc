// SPDX-License-Identifier: MIT
#include "backends/format/grib/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "backends/format/grib/levels.h"
#include "backends/format/grib/local_names.h"
#include "model/cf_time.h"
#include "model/hash.h"

namespace ndlfs::backends::grib {
namespace {

constexpr uint8_t kMissingOctet = 255;
constexpr uint16_t kEcmwf = 98;

// Octets of a section by their numbers, which begin at 1. Those that are not there are missing
// (all bits are set). Remembers which octets were read.
class Octets {
 public:
  explicit Octets(const GribSection& section) {
    if (section) octets_ = *section;
    used_.resize(octets_.size());
  }

  bool has(size_t number) const { return number >= 1 && number <= octets_.size(); }
  uint64_t Unsigned(size_t number, size_t count) {
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      value = value << 8 | (has(number + i) ? std::to_integer<uint64_t>(octets_[number + i - 1])
                                            : kMissingOctet);
      if (has(number + i)) used_[number + i - 1] = true;
    }
    return value;
  }
  uint8_t Octet(size_t number) { return static_cast<uint8_t>(Unsigned(number, 1)); }
  // Sign and magnitude; nullopt if all bits are set.
  std::optional<int64_t> Signed(size_t number, size_t count) {
    const uint64_t value = Unsigned(number, count);
    const uint64_t sign = uint64_t{1} << (8 * count - 1);
    if (value == 2 * sign - 1) return std::nullopt;
    const auto magnitude = static_cast<int64_t>(value & (sign - 1));
    return (value & sign) != 0 ? -magnitude : magnitude;
  }
  // A scale factor and a value of four octets behind it.
  std::optional<double> Scaled(size_t number) {
    const auto scale = Signed(number, 1);
    const auto value = Signed(number + 1, 4);
    if (!value) return std::nullopt;
    const double factor = std::pow(10.0, static_cast<double>(std::abs(scale.value_or(0))));
    const auto real = static_cast<double>(*value);
    return scale.value_or(0) < 0 ? real * factor : real / factor;
  }
  void Ignore(size_t number, size_t count) { Unsigned(number, count); }

  // A hash of the octets that nobody has read.
  uint64_t HashOfRest(uint64_t hash) const {
    for (size_t i = 0; i < octets_.size(); ++i) {
      const auto octet = used_[i] ? 0x100 : std::to_integer<uint64_t>(octets_[i]);
      hash = model::AddFnv(hash, octet);
    }
    return hash;
  }

 private:
  std::span<const std::byte> octets_;
  std::vector<bool> used_;
};

int64_t SecondsOf(const GribTime& time) {
  // A day that does not exist counts on.
  const unsigned month = std::clamp<unsigned>(time.month, 1, 12);
  const int64_t days =
      model::DaysOf(model::Calendar::kProlepticGregorian, {time.year, month, 1}) +
      std::max<int64_t>(time.day, 1) - 1;
  return ((days * 24 + time.hour) * 60 + time.minute) * 60 + time.second;
}

// `count` units (code table 4.4) after `reference`, in seconds after it.
int64_t SecondsAfter(int64_t reference, int64_t count, uint8_t unit) {
  constexpr int64_t kMostCount = int64_t{1} << 32;
  count = std::clamp(count, -kMostCount, kMostCount);
  const auto months = [&](int64_t per_unit) {
    constexpr int64_t kDay = 86400;
    constexpr int64_t kMostMonths = 12 * 100'000;
    const int64_t day = reference >= 0 ? reference / kDay : -((-reference + kDay - 1) / kDay);
    model::Date date = model::DateOf(model::Calendar::kProlepticGregorian, day);
    const int64_t all = std::clamp(count, -kMostMonths, kMostMonths) * per_unit +
                        static_cast<int64_t>(date.month) - 1;
    const int64_t year = all >= 0 ? all / 12 : -((-all + 11) / 12);
    const model::Date first = {date.year + year, static_cast<unsigned>(all - year * 12 + 1), 1};
    const int64_t begin = model::DaysOf(model::Calendar::kProlepticGregorian, first);
    return (begin + static_cast<int64_t>(date.day) - 1 - day) * kDay;
  };
  switch (unit) {
    case 0:
      return count * 60;
    case 2:
      return count * 86400;
    case 3:
      return months(1);
    case 4:
      return months(12);
    case 5:
      return months(120);
    case 6:
      return months(360);
    case 7:
      return months(1200);
    case 10:
      return count * 3 * 3600;
    case 11:
      return count * 6 * 3600;
    case 12:
      return count * 12 * 3600;
    case 13:
      return count;
    default:
      return count * 3600;
  }
}

constexpr std::string_view kProcessNames[] = {"avg",   "accum", "max",     "min",
                                              "diff",  "rms",   "sd",      "cov",
                                              "sdiff", "ratio", "stdanom", "sum"};
constexpr uint8_t kFirstOtherProcess = 12;

std::string_view NameProcess(uint8_t process) {
  if (process < kFirstOtherProcess) return kProcessNames[process];
  static const std::vector<std::string> others = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 256; ++i) made.push_back(fmt::format("process_{}", i));
    return made;
  }();
  return process == kMissingOctet ? std::string_view("instant") : others[process];
}

// Where the parts of a product template begin, in octets of section 4; 0: it has none.
struct Layout {
  uint16_t number;
  uint8_t generating;       // type of generating process; all up to the levels follows it
  uint8_t member = 0;       // type of ensemble forecast, perturbation number, members
  uint8_t derived = 0;      // derived forecast
  uint8_t probability = 0;  // number, total, type, lower and upper limit
  uint8_t percentile = 0;
  uint8_t spatial = 0;      // statistical process, kind of interpolation, points
  uint8_t constituent = 0;  // of two octets
  uint8_t aerosol = 0;      // type, and interval of sizes
  uint8_t wavelength = 0;   // interval of wavelengths
  uint8_t statistics = 0;   // end of the interval, number of ranges, missing, process
};

constexpr Layout kLayouts[] = {
#include "backends/format/grib/product_layouts.inc"
};

// Null for templates that are not known.
const Layout* FindLayout(uint16_t product_template) {
  const auto found = std::ranges::find(kLayouts, product_template, &Layout::number);
  return found != std::end(kLayouts) ? found : nullptr;
}

void AddDetail(Product& product, std::string_view key, double value) {
  product.details.emplace_back(key, value);
}
void AddVariant(Product& product, const std::string& text) {
  if (!product.variant.empty()) product.variant += '_';
  product.variant += text;
}

void ReadDerived(Octets& octets, uint8_t at, Product& product) {
  constexpr std::string_view kNames[] = {
      "mean",          "weighted_mean", "stddev",         "norm_stddev", "spread",
      "anomaly_index", "cluster_mean",  "quartile_range", "min_member",  "max_member"};
  const uint8_t kind = octets.Octet(at);
  octets.Ignore(at + 1, 1);
  AddDetail(product, "derivedForecast", kind);
  AddVariant(product, kind < std::size(kNames) ? std::string(kNames[kind])
                                               : fmt::format("derived_{}", kind));
}

void ReadProbability(Octets& octets, uint8_t at, Product& product) {
  octets.Ignore(at, 2);
  const uint8_t kind = octets.Octet(at + 2);
  const auto lower = octets.Scaled(at + 3);
  const auto upper = octets.Scaled(at + 8);
  AddDetail(product, "probabilityType", kind);
  if (lower) AddDetail(product, "lowerLimit", *lower);
  if (upper) AddDetail(product, "upperLimit", *upper);
  std::string text = fmt::format("prob{}", kind);
  // Code table 4.9: below the lower limit, above the upper one, between them, above, below.
  if (kind == 0 && lower) text = fmt::format("prob_below_{}", *lower);
  if (kind == 1 && upper) text = fmt::format("prob_above_{}", *upper);
  if (kind == 2 && lower && upper) text = fmt::format("prob_{}_to_{}", *lower, *upper);
  if (kind == 3 && lower) text = fmt::format("prob_above_{}", *lower);
  if (kind == 4 && upper) text = fmt::format("prob_below_{}", *upper);
  AddVariant(product, text);
}

void ReadSizes(Octets& octets, uint8_t at, std::string_view first, std::string_view second,
               Product& product) {
  const uint8_t kind = octets.Octet(at);
  const auto lower = octets.Scaled(at + 1);
  const auto upper = octets.Scaled(at + 6);
  if (kind == kMissingOctet) return;
  if (lower) AddDetail(product, first, *lower);
  if (upper) AddDetail(product, second, *upper);
  const std::string_view what = first.ends_with("Size") ? "size" : "wavelength";
  AddVariant(product, fmt::format("{}_{:g}_{:g}", what, lower.value_or(0), upper.value_or(0)));
}

void ReadLevel(Octets& octets, size_t at, Product& product) {
  const uint8_t first = octets.Octet(at);
  const uint8_t second = octets.Octet(at + 6);
  const auto first_level = octets.Scaled(at + 1);
  const auto second_level = octets.Scaled(at + 7);
  product.parameter.surface = first;
  product.parameter.second_surface = second;
  product.parameter.level = first_level.value_or(0);
  product.level_type = NameLevel(first, second);
  product.level = first_level.value_or(0);
  if (second != kMissingOctet) product.second_level = second_level.value_or(0);
  constexpr uint8_t kIsobaric = 100;
  if (first != kIsobaric || second != kMissingOctet) return;
  // Pressures of less than 1 hPa, or that are no whole number of it, are given in Pa by some.
  product.level /= 100;
}

void ReadStatistics(Octets& octets, size_t at, int64_t begin, Product& product) {
  GribTime end;
  end.year = static_cast<uint16_t>(octets.Unsigned(at, 2));
  end.month = octets.Octet(at + 2);
  end.day = octets.Octet(at + 3);
  end.hour = octets.Octet(at + 4);
  end.minute = octets.Octet(at + 5);
  end.second = octets.Octet(at + 6);
  // The first range is the outermost.
  const uint8_t process = octets.Octet(at + 12);
  const uint8_t unit = octets.Octet(at + 14);
  const auto length = static_cast<int64_t>(octets.Unsigned(at + 15, 4));
  product.parameter.process = process;
  product.step_type = NameProcess(process);
  const bool is_time = end.year >= 1000 && end.year < 10000 && end.month >= 1 &&
                       end.month <= 12 && end.day >= 1 && end.day <= 31 && end.hour <= 24 &&
                       end.minute < 60;
  if (end.second > 60) end.second = 0;
  const int64_t by_length =
      begin +
      (length == UINT32_MAX ? 0 : SecondsAfter(product.reference + begin, length, unit));
  product.step = is_time ? SecondsOf(end) - product.reference : by_length;
  product.interval = product.step - begin;
}

void ReadTemplate(Octets& octets, const Layout& layout, Product& product) {
  if (layout.constituent != 0) {
    const auto type = octets.Unsigned(layout.constituent, 2);
    AddDetail(product, "constituentType", static_cast<double>(type));
    AddVariant(product, fmt::format("constituent_{}", type));
  }
  if (layout.aerosol != 0) {
    const auto type = octets.Unsigned(layout.aerosol, 2);
    AddDetail(product, "aerosolType", static_cast<double>(type));
    AddVariant(product, fmt::format("aerosol_{}", type));
    ReadSizes(octets, layout.aerosol + 2, "firstSize", "secondSize", product);
  }
  if (layout.wavelength != 0) {
    ReadSizes(octets, layout.wavelength, "firstWavelength", "secondWavelength", product);
  }
  const size_t at = layout.generating;
  const uint8_t unit = octets.Octet(at + 6);
  const int64_t count = octets.Signed(at + 7, 4).value_or(0);
  product.step = SecondsAfter(product.reference, count, unit);
  ReadLevel(octets, at + 11, product);
  if (layout.member != 0) {
    octets.Ignore(layout.member, 1);
    product.member = octets.Octet(layout.member + 1);
    octets.Ignore(layout.member + 2, 1);
  }
  if (layout.derived != 0) ReadDerived(octets, layout.derived, product);
  if (layout.probability != 0) ReadProbability(octets, layout.probability, product);
  if (layout.percentile != 0) {
    const int percentile = octets.Octet(layout.percentile);
    AddDetail(product, "percentileValue", percentile);
    AddVariant(product, fmt::format("p{}", percentile));
  }
  if (layout.spatial != 0) {
    const uint8_t process = octets.Octet(layout.spatial);
    AddDetail(product, "statisticalProcess", process);
    if (process != kMissingOctet) {
      AddVariant(product, fmt::format("spatial_{}", NameProcess(process)));
    }
  }
  if (layout.statistics != 0) ReadStatistics(octets, layout.statistics, product.step, product);
}

void DescribeEdition2(const GribMessage& message, const GribField& field, Product& product) {
  product.parameter.discipline = message.discipline;
  product.parameter.category = field.category;
  product.parameter.number = field.number;
  product.level_type = "noLevel";
  Octets octets(field.product);
  octets.Ignore(1, 11);
  if (const Layout* layout = FindLayout(field.product_template)) {
    ReadTemplate(octets, *layout, product);
  } else {
    product.variant = fmt::format("template_{}", field.product_template);
  }
  const uint64_t hash =
      Octets(field.local)
          .HashOfRest(model::kFnvBegin ^
                      (uint64_t{message.production_status} << 8 | message.data_type));
  product.rest_hash = octets.HashOfRest(hash);
}

// Section 1 of edition 1. Table 5 tells what the two periods mean.
void ReadEdition1Step(Octets& octets, uint16_t centre, Product& product) {
  const uint8_t unit_code = octets.Octet(18);
  // Seconds have another number in edition 1.
  const uint8_t unit = unit_code == 254 ? 13 : unit_code;
  const uint8_t p1 = octets.Octet(19), p2 = octets.Octet(20), range = octets.Octet(21);
  const auto after = [&](int64_t count) {
    // Two units that only edition 1 has.
    if (unit == 13 && unit_code == 13) return count * 15 * 60;
    if (unit_code == 14) return count * 30 * 60;
    return SecondsAfter(product.reference, count, unit);
  };
  const auto over = [&](std::string_view type, uint8_t process) {
    product.step_type = type;
    product.parameter.process = process;
    product.step = after(p2);
    product.interval = product.step - after(p1);
  };
  const bool is_ecmwf = centre == kEcmwf;
  switch (range) {
    case 2:
      // ECMWF says whether it is a minimum or a maximum by the parameter alone.
      if (is_ecmwf) {
        over("range", kMissingOctet);
      } else {
        over("accum", 1);
      }
      break;
    case 3:
      over("avg", 0);
      break;
    case 4:
      over("accum", 1);
      break;
    case 5:
      over("diff", 4);
      break;
    case 10:
      product.step = after(int64_t{p1} << 8 | p2);
      break;
    case 113:
      over("avgfc", 0);
      break;
    case 123:
      over("avgua", 0);
      break;
    case 114:
    case 124:
      over("accum", 1);
      break;
    case 118:
      is_ecmwf ? over("max", 2) : over("cov", 7);
      break;
    case 119:
      is_ecmwf ? over("min", 3) : over("sd", 6);
      break;
    case 120:
      over("rms", 5);
      break;
    case 121:
      over("sd", 6);
      break;
    case 122:
      over("cov", 7);
      break;
    case 0:
    case 1:
      product.step = after(range == 0 ? p1 : 0);
      break;
    default:
      product.step = after(p1);
      product.variant = fmt::format("range_{}", range);
  }
}

void ReadEdition1Level(Octets& octets, Product& product) {
  const uint8_t type = octets.Octet(10);
  const Edition1Level level = DescribeEdition1Level(type);
  product.level_type = NameEdition1Level(type);
  product.parameter.surface = type;
  if (level.is_layer) {
    product.level = octets.Octet(11) * level.factor;
    product.second_level = octets.Octet(12) * level.factor;
  } else {
    product.level = static_cast<double>(octets.Unsigned(11, 2)) * level.factor;
  }
}

// ECMWF's own octets behind section 1: the definitions that have a member have it at the same
// place.
void ReadEcmwfMember(Octets& octets, Product& product) {
  const uint8_t definition = octets.Octet(41);
  constexpr uint8_t kWithMember[] = {1, 15, 16, 18, 26, 30};
  if (std::ranges::find(kWithMember, definition) == std::end(kWithMember)) return;
  const bool is_wide = definition == 15 || definition == 16;
  const auto number = octets.Unsigned(50, is_wide ? 2 : 1);
  const auto total = is_wide ? 1 : octets.Octet(51);
  if (total > 0 && octets.has(51)) product.member = static_cast<int32_t>(number);
}

void DescribeEdition1(const GribMessage& message, const GribField& field, Product& product) {
  product.parameter.discipline = message.tables_version;
  product.parameter.number = field.number;
  Octets octets(field.product);
  octets.Ignore(1, 9);
  octets.Ignore(13, 5);  // the reference time
  octets.Ignore(25, 1);  // its century
  octets.Ignore(27, 2);  // the decimal scale
  octets.Ignore(22, 3);  // how many are averaged, and are missing
  ReadEdition1Level(octets, product);
  ReadEdition1Step(octets, message.centre, product);
  if (message.centre == kEcmwf && octets.has(51)) ReadEcmwfMember(octets, product);
  product.rest_hash = octets.HashOfRest(model::kFnvBegin);
}

}  // namespace

std::vector<std::pair<size_t, std::string_view>> OctetsOfTimes(uint16_t product_template) {
  using namespace std::string_view_literals;
  const Layout* layout = FindLayout(product_template);
  if (layout == nullptr) return {};
  std::vector<std::pair<size_t, std::string_view>> octets = {
      {layout->generating + 7, "\0\0\0\0"sv}};  // steps
  if (layout->member != 0) octets.emplace_back(layout->member + 1, "\0"sv);
  // The first day of 2000.
  if (layout->statistics != 0)
    octets.emplace_back(layout->statistics, "\x07\xd0\x01\x01\0\0\0"sv);
  return octets;
}

Product DescribeProduct(const GribMessage& message, const GribField& field) {
  Product product;
  product.parameter.edition = message.edition;
  product.parameter.centre = static_cast<uint8_t>(std::min<uint16_t>(message.centre, 255));
  product.reference = SecondsOf(message.reference_time);
  if (message.edition == 1) {
    DescribeEdition1(message, field, product);
  } else {
    DescribeEdition2(message, field, product);
  }
  if (AsksForName(product.parameter)) {
    // Thousands of different ones are kept. Local sections of services have some hundred bytes.
    constexpr size_t kLongest = 4096;
    std::string question = MakeNameQuestion(message, field);
    if (question.size() <= kLongest) {
      product.parameter.question = std::make_shared<const std::string>(std::move(question));
    }
  }
  return product;
}

}  // namespace ndlfs::backends::grib
