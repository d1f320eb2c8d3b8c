// SPDX-License-Identifier: MIT
#include "backends/format/grib/field_header.h"

#include <string_view>
#include <tuple>

#include "backends/base/bytes.h"

namespace ndlfs::backends::grib {
namespace {

std::string_view OctetsOf(const GribGrid* grid) {
  return grid != nullptr && grid->section ? AsText(*grid->section) : std::string_view();
}

auto NumbersOfParameter(const ParameterKey& key) {
  return std::tuple(key.edition, key.centre, key.discipline, key.category, key.number,
                    key.process);
}
auto NumbersOfLevel(const Product& product) {
  return std::tuple(product.level_type, product.level, product.second_level,
                    product.parameter.surface, product.parameter.second_surface);
}

}  // namespace

FieldHeader DescribeField(const GribMessage& message, const GribField& field) {
  FieldHeader header;
  header.grid = field.grid;
  header.points = field.points;
  if (field.packing) {
    constexpr uint8_t kFloatDigits = 24, kFloatBits = 32;
    const bool is_ieee = field.packing->method == GribMethod::kIeee;
    header.is_wide = field.packing->bits > (is_ieee ? kFloatBits : kFloatDigits);
    header.is_known = field.packing->method != GribMethod::kOther;
  }
  header.product = DescribeProduct(message, field);
  return header;
}

bool IsSameGrid(const GribGrid* a, const GribGrid* b) {
  const bool is_edition = (a != nullptr ? a->edition : 0) == (b != nullptr ? b->edition : 0);
  return is_edition && OctetsOf(a) == OctetsOf(b);
}

std::string DifferenceOf(const FieldHeader& expected, const FieldHeader& found) {
  const Product &a = expected.product, &b = found.product;
  if (NumbersOfParameter(a.parameter) != NumbersOfParameter(b.parameter)) return "parameter";
  if (a.variant != b.variant || a.details != b.details || a.step_type != b.step_type) {
    return "kind of field";
  }
  if (NumbersOfLevel(a) != NumbersOfLevel(b)) return "level";
  if (a.reference != b.reference) return "reference time";
  if (a.step != b.step || a.interval != b.interval) return "step";
  if (a.member != b.member) return "member";
  if (expected.points != found.points || !IsSameGrid(expected.grid.get(), found.grid.get())) {
    return "grid";
  }
  return found.is_wide && !expected.is_wide ? "number of digits" : "";
}

}  // namespace ndlfs::backends::grib
