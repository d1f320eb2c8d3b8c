// SPDX-License-Identifier: MIT
#include "backends/format/ndl/part_description.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "backends/base/checked.h"
#include "backends/format/packing.h"
#include "backends/format/read_elements.h"
#include "model/attributes.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;

constexpr std::string_view kCalendar = "calendar";
constexpr std::string_view kUnits = "units";

bool IsCompared(std::string_view name) {
  return name == kCalendar || name == kUnits ||
         std::ranges::count(PackingAttributes(), name) != 0;
}

bool IsTimeUnits(const model::Attribute* units) {
  const std::string* text = units ? units->value.text() : nullptr;
  return text != nullptr && text->find(" since ") != std::string::npos;
}

std::string Shown(const model::Attribute* attribute) {
  if (attribute == nullptr) return "absent";
  const model::Value* item = model::OnlyItem(attribute->value);
  std::string text = model::WriteFlow(item ? *item : attribute->value, attribute->type);
  if (text.size() > 80) text.replace(77, text.npos, "...");
  return text;
}

std::string Differs(std::string_view what, std::string_view other, std::string_view other_label,
                    std::string_view first, std::string_view first_label) {
  return fmt::format("{} is {} in {}, but {} in {}", what, other, other_label, first,
                     first_label);
}

bool IsNumeric(const model::Datatype& type) {
  return (type.kind() == model::Datatype::Kind::kInteger ||
          type.kind() == model::Datatype::Kind::kFloat) &&
         !type.time();
}

// Whether two attributes say the same. A list of one says what its item says.
bool AreEqual(const model::Attribute* a, const model::Attribute* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const model::Value* x = model::OnlyItem(a->value);
  const model::Value* y = model::OnlyItem(b->value);
  if (x == nullptr || y == nullptr) return a->value == b->value && a->type == b->type;
  return *x == *y && a->type == b->type;
}

// The attributes that name missing elements.
constexpr std::array<std::string_view, 2> kMissingAttributes = {"_FillValue", "missing_value"};

bool IsNan(const model::Value& value) {
  const auto number = model::AsDouble(value);
  return number && std::isnan(*number);
}

bool AreSameNumber(const model::Value& a, const model::Value& b) {
  return a == b || (IsNan(a) && IsNan(b)) ||
         (model::AsDouble(a) && model::AsDouble(a) == model::AsDouble(b));
}

// Whether `fill` is netCDF's default, which marks no element as missing.
bool IsDefaultFill(const model::Value& fill, const model::Datatype& type) {
  const auto number = model::AsDouble(fill);
  if (!number || *number == 0) return true;
  if (type.kind() == model::Datatype::Kind::kFloat) {
    return static_cast<float>(*number) == 9.9692099683868690e+36F;
  }
  constexpr std::array<double, 8> kDefaults = {-127,
                                               255,
                                               -32767,
                                               65535,
                                               -2147483647,
                                               4294967295,
                                               -9223372036854775806.0,
                                               18446744073709551614.0};
  return std::ranges::find(kDefaults, *number) != kDefaults.end();
}

// The element that is missing in a part: as an attribute says, or the storage of a format that
// has no such attribute.
std::optional<model::Value> MissingOf(const PartDescription& part) {
  for (const std::string_view name : kMissingAttributes) {
    const auto* attribute = FindAttribute(part.attributes, name);
    const auto* value = attribute == nullptr ? nullptr : model::OnlyItem(attribute->value);
    if (value != nullptr) return *value;
  }
  if (!part.fill || IsDefaultFill(*part.fill, part.type)) return std::nullopt;
  return part.fill;
}

// The attributes of the first part count for the whole join. A part may call no element
// missing, or another one that becomes NaN (see OwnMissing()).
std::optional<std::string> CompareMissing(const PartDescription& first,
                                          const PartDescription& other) {
  const auto own = OwnMissing(first, other);
  const auto expected = MissingOf(first);
  const bool is_float = first.type.kind() == model::Datatype::Kind::kFloat;
  if (!own || (is_float && (!expected || IsNan(*expected)))) return std::nullopt;
  return Differs("the fill value", model::WriteFlow(*own, other.type), other.label,
                 expected ? model::WriteFlow(*expected, first.type) : "absent", first.label);
}

// "gregorian" is an older name of "standard", which no name means, too.
bool AreSameCalendar(const PartDescription& first, const PartDescription& other) {
  const auto calendar = model::ParseCalendar(TextOf(first.attributes, kCalendar));
  return calendar && calendar == model::ParseCalendar(TextOf(other.attributes, kCalendar));
}

std::optional<std::string> CompareAttributes(const PartDescription& first,
                                             const PartDescription& other, bool unpack) {
  const bool are_times = IsTimeUnits(FindAttribute(first.attributes, kUnits)) &&
                         IsTimeUnits(FindAttribute(other.attributes, kUnits));
  const auto compare = [&](std::string_view name) -> std::optional<std::string> {
    const bool is_free = unpack && (std::ranges::count(PackingAttributes(), name) != 0 ||
                                    (are_times && name == kUnits));
    const auto* a = FindAttribute(first.attributes, name);
    const auto* b = FindAttribute(other.attributes, name);
    if (is_free || AreEqual(a, b)) return std::nullopt;
    const bool is_missing = std::ranges::count(kMissingAttributes, name) != 0;
    if (is_missing && (a == nullptr || b == nullptr)) return std::nullopt;
    std::string difference = Differs(name, Shown(b), other.label, Shown(a), first.label);
    const bool helps =
        std::ranges::count(PackingAttributes(), name) != 0 || (are_times && name == kUnits);
    if (helps && !unpack) difference += "; `unpack: true` joins them (ndlfs join --unpack)";
    return difference;
  };
  for (const std::string_view name : PackingAttributes()) {
    if (auto difference = compare(name)) return difference;
  }
  if (auto difference = compare(kUnits)) return difference;
  return AreSameCalendar(first, other) ? std::nullopt : compare(kCalendar);
}

// Whether two elements are the same, numbers within `tolerance`.
bool AreClose(const model::Value& a, const model::Value& b, double tolerance) {
  if (a == b) return true;
  const auto x = model::AsDouble(a);
  const auto y = model::AsDouble(b);
  return x && y && (*x == *y || std::abs(*x - *y) <= tolerance);
}

std::optional<std::string> CompareElements(std::string_view what, std::string_view first_path,
                                           const PartCoordinate& first,
                                           std::string_view other_path,
                                           const PartCoordinate& other, double tolerance) {
  const size_t a_size = std::max<size_t>(first.type.size(), 1);
  const size_t b_size = std::max<size_t>(other.type.size(), 1);
  const size_t count = first.elements.size() / a_size;
  if (other.elements.size() / b_size != count) {
    return fmt::format("{} has {} elements in {}, but {} in {}", what,
                       other.elements.size() / b_size, other_path, count, first_path);
  }
  const bool same_bytes =
      first.type.SameLayout(other.type) && first.elements.size() == other.elements.size() &&
      (count == 0 ||
       std::memcmp(first.elements.data(), other.elements.data(), first.elements.size()) == 0);
  for (size_t i = 0; i < count && !same_bytes; ++i) {
    const auto a =
        model::DecodeElement(first.type, first.elements.span().subspan(i * a_size, a_size));
    const auto b =
        model::DecodeElement(other.type, other.elements.span().subspan(i * b_size, b_size));
    if (a && b && AreClose(*a, *b, tolerance)) continue;
    return Differs(fmt::format("{}[{}]", what, i),
                   b ? model::WriteFlow(*b, other.type) : "unreadable", other_path,
                   a ? model::WriteFlow(*a, first.type) : "unreadable", first_path);
  }
  return std::nullopt;
}

}  // namespace

PartDescription DescribePart(const PartStores& stores, const std::string& path,
                             std::string_view name, const Node& node) {
  PartDescription part;
  part.label = stores.Describe(path, name);
  const model::Ndarray& array = node.array();
  part.type = node.source ? node.source->spec().dtype : array.type;
  if (node.source) part.shape = node.source->spec().shape;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    std::string dimension =
        i < array.dimension_names.size() ? array.dimension_names[i] : std::string();
    if (dimension.empty()) dimension = model::BaseName(array.shape[i].dimcoord);
    part.dimensions.push_back(std::move(dimension));
  }
  part.dimensions.resize(part.shape.size());
  for (const model::Attribute& attribute : array.attributes) {
    if (IsCompared(attribute.name)) part.attributes.push_back(attribute);
  }
  std::ranges::sort(part.attributes, {}, &model::Attribute::name);
  part.fill = array.storage.fillvalue;
  return part;
}

std::optional<std::string> FindDifference(const PartDescription& first,
                                          const PartDescription& other,
                                          const PartRules& rules) {
  if (first.shape.size() != other.shape.size()) {
    return Differs("the rank", std::to_string(other.shape.size()), other.label,
                   std::to_string(first.shape.size()), first.label);
  }
  for (size_t d = 0; d < first.shape.size(); ++d) {
    if (first.dimensions[d] != other.dimensions[d]) {
      return Differs(fmt::format("the name of dimension {}", d),
                     model::Quote(other.dimensions[d]), other.label,
                     model::Quote(first.dimensions[d]), first.label);
    }
    if (d == rules.along || first.shape[d] == other.shape[d]) continue;
    const std::string dimension =
        first.dimensions[d].empty()
            ? fmt::format("the size of dimension {}", d)
            : fmt::format("the size of {}", model::Quote(first.dimensions[d]));
    return Differs(dimension, std::to_string(other.shape[d]), other.label,
                   std::to_string(first.shape[d]), first.label);
  }
  const bool may_differ = rules.unpack && IsNumeric(first.type) && IsNumeric(other.type);
  if (!may_differ && !first.type.SameLayout(other.type)) {
    return Differs("the type", model::WriteFlow(other.type), other.label,
                   model::WriteFlow(first.type), first.label);
  }
  if (auto difference = CompareAttributes(first, other, rules.unpack)) return difference;
  return rules.unpack ? std::nullopt : CompareMissing(first, other);
}

std::optional<model::Value> OwnMissing(const PartDescription& first,
                                       const PartDescription& other) {
  const auto own = MissingOf(other);
  if (!own || IsNan(*own)) return std::nullopt;
  const auto expected = MissingOf(first);
  return expected && AreSameNumber(*expected, *own) ? std::nullopt : own;
}

Result<std::optional<PartCoordinate>> ReadCoordinate(const PartStores& stores,
                                                     const std::string& path,
                                                     std::string_view array,
                                                     std::string_view dimension,
                                                     uint64_t size) {
  if (dimension.empty() || dimension.find('/') != dimension.npos) return std::nullopt;
  NDLFS_TRY(const auto store, stores.Open(path));
  for (std::string_view group = model::ParentPath(array);; group = model::ParentPath(group)) {
    const std::string name = model::JoinPath(group, dimension);
    auto node = store->Load(name);
    if (!node && node.error().is_transient()) {
      return model::Propagate(std::move(node).error(), stores.Describe(path));
    }
    const bool is_coordinate = node && !(*node)->is_group() && (*node)->source &&
                               (*node)->source->spec().shape == std::vector<uint64_t>{size} &&
                               (*node)->source->spec().dtype.is_fixed_size();
    // netCDF-4 has datasets that stand for dimensions without coordinates. They are not listed.
    bool is_shown = is_coordinate && std::holds_alternative<model::DimCoord>((*node)->entity);
    if (is_coordinate && !is_shown) {
      NDLFS_TRY(const auto names, store->List(group), stores.Describe(path));
      is_shown = std::ranges::binary_search(names, dimension);
    }
    if (is_shown) {
      NDLFS_TRY(Bytes elements, ReadElements(*(*node)->source, uint64_t{64} << 20),
                fmt::format("{}: {}", stores.Describe(path), name));
      const auto* units = FindAttribute((*node)->attributes(), kUnits);
      const std::string* text = units ? units->value.text() : nullptr;
      return PartCoordinate{(*node)->source->spec().dtype, std::move(elements),
                            text ? *text : std::string()};
    }
    if (group == "/") return std::nullopt;
  }
}

std::optional<std::string> FindDifference(std::string_view dimension,
                                          std::string_view first_path,
                                          const std::optional<PartCoordinate>& first,
                                          std::string_view other_path,
                                          const std::optional<PartCoordinate>& other,
                                          double tolerance) {
  if (!first && !other) return std::nullopt;
  if (!first || !other) {
    return fmt::format("{} has coordinates along {}, but {} has none",
                       first ? first_path : other_path, model::Quote(dimension),
                       first ? other_path : first_path);
  }
  if (first->units != other->units) {
    return Differs(fmt::format("the units of {}", model::Quote(dimension)),
                   model::Quote(other->units), other_path, model::Quote(first->units),
                   first_path);
  }
  return CompareElements(dimension, first_path, *first, other_path, *other, tolerance);
}

std::optional<std::string> FindElementDifference(std::string_view first_label,
                                                 const ArraySource& first,
                                                 std::string_view other_label,
                                                 const ArraySource& other, double tolerance,
                                                 uint64_t most_bytes) {
  const auto is_compared = [&](const ArraySource& source) {
    const auto bytes = CheckedProduct(source.spec().shape, source.spec().dtype.size());
    return source.spec().dtype.is_fixed_size() && bytes && *bytes <= most_bytes;
  };
  if (!is_compared(first) || !is_compared(other)) return std::nullopt;
  auto a = ReadElements(first, most_bytes);
  auto b = ReadElements(other, most_bytes);
  if (!a || !b) return (a ? b : a).error().message();
  return CompareElements("element ", first_label, {first.spec().dtype, *std::move(a), ""},
                         other_label, {other.spec().dtype, *std::move(b), ""}, tolerance);
}

}  // namespace ndlfs::backends::ndl
