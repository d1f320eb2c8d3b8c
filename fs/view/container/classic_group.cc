// SPDX-License-Identifier: MIT
#include "fs/view/container/classic_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "backends/format/meaning_notes.h"
#include "backends/format/netcdf3/layout.h"
#include "backends/format/packing.h"
#include "fs/view/base/attributes.h"
#include "fs/view/container/group_children.h"
#include "fs/view/container/name_table.h"
#include "fs/view/elements/converted_elements.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::fs::classic {
namespace {

using model::ByteOrder;
using model::Datatype;
using Kind = Datatype::Kind;
using backends::netcdf3::Attribute;
using backends::netcdf3::NeedsCdf5;
using backends::netcdf3::SizeOf;
using backends::netcdf3::Type;
using backends::netcdf3::ValidName;
using backends::netcdf3::Variable;

constexpr std::string_view kTrueName = "ndlfs_name";
constexpr std::string_view kLeftOut = "ndlfs_left_out";
constexpr std::string_view kFillValue = "_FillValue";
constexpr std::string_view kEncoding = "_Encoding";
// More constants of an enum would make a header that nobody reads.
constexpr size_t kMaxFlags = 1000;

std::optional<Type> TypeOfInteger(const Datatype& type) {
  switch (type.size()) {
    case 1:
      return type.is_signed() ? Type::kByte : Type::kUByte;
    case 2:
      return type.is_signed() ? Type::kShort : Type::kUShort;
    case 4:
      return type.is_signed() ? Type::kInt : Type::kUInt;
    case 8:
      return type.is_signed() ? Type::kInt64 : Type::kUInt64;
    default:
      return std::nullopt;
  }
}

// The type of variables whose values are the bytes of such elements; the dimensions
// of elements that are arrays or text are left to the caller.
std::optional<Type> ClassicType(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kInteger:
      return TypeOfInteger(type);
    case Kind::kFloat:
      if (type == Datatype::Float32()) return Type::kFloat;
      if (type == Datatype::Float64()) return Type::kDouble;
      if (ToFloat32(type).converter != nullptr) return Type::kFloat;
      return std::nullopt;
    case Kind::kEnum:
      return type.is_bool() ? Type::kByte : ClassicType(type.base());
    case Kind::kArray:
      return ClassicType(type.base());
    case Kind::kString:
      return type.is_fixed_size() ? std::optional(Type::kChar) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The innermost type of elements that are arrays.
Datatype ItemTypeOf(Datatype type) {
  while (type.kind() == Kind::kArray) type = Datatype(type.base());
  return type;
}

// The conversion of elements to values of the file.
model::Result<ElementConversion> ConversionOf(const Datatype& item) {
  if (item.kind() == Kind::kString) return ToUtf8(item);
  if (item.kind() == Kind::kInteger && item.time()) return ToCfTimes(item);
  return ToFloat32(item);
}

// The values of a variable, where elements may have to be converted. Null where there are none.
std::shared_ptr<const ElementSource> ValuesOf(const ArrayInput& input) {
  auto conversion = ConversionOf(ItemTypeOf(input.dtype));
  if (!conversion) return nullptr;
  if (!conversion->converter) return input.elements;
  return ConvertElements(input.elements, *std::move(conversion));
}

// `value` in `bytes` bytes, big-endian.
void AppendBig(std::string& out, unsigned __int128 value, size_t bytes) {
  for (size_t i = bytes; i > 0; --i) out.push_back(static_cast<char>(value >> (8 * (i - 1))));
}

template <typename Float, typename Bits>
void AppendFloat(std::string& out, double value) {
  const auto bits = std::bit_cast<Bits>(static_cast<Float>(value));
  AppendBig(out, bits, sizeof bits);
}

// The limits of the integer types.
std::pair<model::WideInt, model::WideInt> RangeOf(Type type) {
  const unsigned bits = 8 * SizeOf(type);
  const bool is_signed =
      type == Type::kByte || type == Type::kShort || type == Type::kInt || type == Type::kInt64;
  const model::WideInt one = 1;
  if (is_signed) return {-(one << (bits - 1)), (one << (bits - 1)) - 1};
  return {0, (one << bits) - 1};
}

bool IsFloat(Type type) { return type == Type::kFloat || type == Type::kDouble; }

// Appends `value` as a number of `type`; false if that cannot hold it.
bool AppendNumber(std::string& out, const model::Value& value, const Datatype& of, Type type) {
  std::optional<model::WideInt> integer;
  if (const auto* number = value.integer()) integer = *number;
  if (const auto* name = value.text(); name != nullptr && of.kind() == Kind::kEnum) {
    const auto* constant = of.FindConstant(*name);
    if (constant == nullptr) return false;
    integer = constant->value;
  }
  if (!integer && value.real() == nullptr) return false;
  if (!IsFloat(type)) {
    if (!integer && std::abs(*value.real()) < 9e15 &&
        std::trunc(*value.real()) == *value.real()) {
      integer = static_cast<model::WideInt>(*value.real());
    }
    const auto [least, most] = RangeOf(type);
    if (!integer || *integer < least || *integer > most) return false;
    AppendBig(out, static_cast<unsigned __int128>(*integer), SizeOf(type));
    return true;
  }
  const double real = integer ? static_cast<double>(*integer) : *value.real();
  type == Type::kFloat ? AppendFloat<float, uint32_t>(out, real)
                       : AppendFloat<double, uint64_t>(out, real);
  return true;
}

bool AppendNumbers(std::string& out, const model::Value& value, const Datatype& of, Type type) {
  const auto* list = value.list();
  if (list == nullptr) return AppendNumber(out, value, of, type);
  return std::ranges::all_of(
      *list, [&](const model::Value& item) { return AppendNumbers(out, item, of, type); });
}

// Texts of a list, one a line.
bool AppendTexts(std::string& out, const model::Value& value, bool& first) {
  if (const auto* list = value.list()) {
    return std::ranges::all_of(
        *list, [&](const model::Value& item) { return AppendTexts(out, item, first); });
  }
  if (value.text() == nullptr) return false;
  if (!std::exchange(first, false)) out += '\n';
  out += *value.text();
  return true;
}

// Types of CDF-1 that an attribute's numbers may have, the best first.
std::vector<Type> TypesFor(const Datatype& type) {
  if (type.kind() == Kind::kFloat) {
    return {type.size() <= 4 ? Type::kFloat : Type::kDouble};
  }
  const auto own = ClassicType(type);
  if (!own) return {};
  if (!NeedsCdf5(*own)) return {*own};
  if (*own == Type::kUByte) return {Type::kShort};
  return {Type::kInt, Type::kDouble};
}

// Whether a double holds each integer of `value`.
bool AreExactDoubles(const model::Value& value) {
  if (const auto* list = value.list()) return std::ranges::all_of(*list, AreExactDoubles);
  const auto* integer = value.integer();
  return integer == nullptr ||
         static_cast<model::WideInt>(static_cast<double>(*integer)) == *integer;
}

Attribute Named(std::string_view name, Type type) {
  Attribute attribute;
  attribute.name = name;
  attribute.type = type;
  return attribute;
}

Attribute MakeText(std::string_view name, std::string text) {
  Attribute attribute = Named(name, Type::kChar);
  attribute.values = std::move(text);
  return attribute;
}

Attribute MakeAttribute(const model::Attribute& from) {
  Attribute attribute = Named(from.name, Type::kChar);
  bool first = true;
  if (from.type.kind() == Kind::kString && AppendTexts(attribute.values, from.value, first)) {
    return attribute;
  }
  for (const Type type : TypesFor(from.type)) {
    if (type == Type::kDouble && !AreExactDoubles(from.value)) continue;
    attribute.type = type;
    attribute.values.clear();
    if (AppendNumbers(attribute.values, from.value, from.type, type)) return attribute;
  }
  return MakeText(from.name, model::WriteFlow(from.value, from.type));
}

// Attributes whose values are compared with those of the variable, and which
// readers expect in its type.
bool HasTypeOfVariable(std::string_view name) {
  return name == "_FillValue" || name == "missing_value" || name == "valid_min" ||
         name == "valid_max" || name == "valid_range" || name == "flag_values" ||
         name == "flag_masks";
}

// The type and the values of an attribute in CDF-5, where they differ.
struct OwnType {
  size_t attribute;
  Type type;
  std::string values;
  bool operator==(const OwnType&) const = default;
};

// The attributes of a variable, or of the file.
struct Attributes {
  std::vector<Attribute> list;
  std::vector<OwnType> own_types;

  bool operator==(const Attributes& other) const {
    const auto is_same = [](const Attribute& a, const Attribute& b) {
      return a.name == b.name && a.type == b.type && a.values == b.values;
    };
    return own_types == other.own_types && std::ranges::equal(list, other.list, is_same);
  }
};

std::vector<Attribute> ListOf(Attributes attributes, bool is_cdf5) {
  for (OwnType& own : attributes.own_types) {
    if (!is_cdf5) continue;
    Attribute& attribute = attributes.list[own.attribute];
    attribute.type = own.type;
    attribute.values = std::move(own.values);
    attribute.count = attribute.values.size() / SizeOf(attribute.type);
  }
  return std::move(attributes.list);
}

// Adds attributes under names that are valid and differ.
class AttributeList {
 public:
  // Adds to those that `attributes` has.
  explicit AttributeList(Attributes& attributes)
      : list_(attributes.list), own_types_(attributes.own_types) {
    for (const Attribute& attribute : list_) names_.Take(attribute.name);
  }

  void Add(Attribute attribute) {
    attribute.name = names_.Take(attribute.name);
    attribute.count = attribute.values.size() / SizeOf(attribute.type);
    list_.push_back(std::move(attribute));
  }
  void Add(const model::Attribute& from) {
    Attribute attribute = MakeAttribute(from);
    const auto own = ClassicType(from.type);
    std::string values;
    const bool differs = own && NeedsCdf5(*own) && attribute.type != *own &&
                         AppendNumbers(values, from.value, from.type, *own);
    if (differs) own_types_.push_back({list_.size(), *own, std::move(values)});
    Add(std::move(attribute));
  }

  // An attribute of a variable of `type`. `_FillValue` is another matter; see AddFillValue().
  void AddOf(Type type, const model::Attribute& from, bool keeps_type) {
    if (HasTypeOfVariable(from.name) && type != Type::kChar && !keeps_type) {
      Attribute attribute = Named(from.name, type);
      if (AppendNumbers(attribute.values, from.value, from.type, type)) {
        return Add(std::move(attribute));
      }
    }
    Add(from);
  }
  bool Has(std::string_view name) const {
    return std::ranges::any_of(list_, [&](const Attribute& a) { return a.name == name; });
  }

 private:
  std::vector<Attribute>& list_;
  std::vector<OwnType>& own_types_;
  NameTable names_{&ValidName};
};

void AddTime(AttributeList& attributes, const model::TimeUnit& unit) {
  std::string units = CfTimeUnits(unit);
  if (units.empty() || attributes.Has("units")) return;
  attributes.Add(MakeText("units", std::move(units)));
  if (!unit.is_delta && !attributes.Has("calendar")) {
    attributes.Add(MakeText("calendar", "proleptic_gregorian"));
  }
}

// The value that stands for "not a time".
const model::Value& NaT() {
  static const model::Value value(std::numeric_limits<int64_t>::min());
  return value;
}

void AddFlags(AttributeList& attributes, const Datatype& type, Type as) {
  if (type.constants().size() > kMaxFlags || attributes.Has("flag_values")) return;
  Attribute values = Named("flag_values", as);
  std::string meanings;
  for (const Datatype::Constant& constant : type.constants()) {
    if (!AppendNumber(values.values, constant.value, type, as)) return;
    std::string word = constant.name;
    std::ranges::replace_if(
        word, [](char c) { return c == ' ' || c == '\n' || c == '\t'; }, '_');
    meanings += (meanings.empty() ? "" : " ") + word;
  }
  attributes.Add(std::move(values));
  attributes.Add(MakeText("flag_meanings", std::move(meanings)));
}

// The element of `item` that stands for missing elements of `array`.
std::optional<model::Value> FillOf(const backends::Node& array, const Datatype& item) {
  if (auto fill = backends::FillValueOf(array)) return fill;
  if (item.kind() == Kind::kInteger && item.time()) return NaT();
  if (item.kind() == Kind::kInteger || item.kind() == Kind::kFloat) return std::nullopt;
  const auto* attribute = model::FindAttribute(array.attributes(), kFillValue);
  const auto* value = attribute ? model::OnlyItem(attribute->value) : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

// netCDF refuses a fill value of another type than the variable's, and more than one.
void AddFillValue(AttributeList& attributes, const model::Value& fill, const Datatype& item,
                  Type as) {
  Attribute attribute = Named(kFillValue, as);
  if (as != Type::kChar) {
    if (!AppendNumber(attribute.values, fill, item, as)) return;
    return attributes.Add(std::move(attribute));
  }
  if (fill.text() == nullptr || fill.text()->size() > 1) return;
  attribute.values = fill.text()->empty() ? std::string(1, '\0') : *fill.text();
  attributes.Add(std::move(attribute));
}

}  // namespace

// What the arrays of a group often have in common.
struct ArrayFacts {
  Datatype dtype = {};
  std::vector<uint64_t> shape = {};
  model::Shape dimensions = {};
  std::vector<std::string> dimension_names = {};
  Type type = Type::kByte;
  // The type in CDF-1 and CDF-2, and the attributes there. nullopt where these have none.
  std::optional<Type> classic_type = {};
  Attributes attributes = {};
  // Those in CDF-5, where they differ.
  std::optional<Attributes> own_attributes = {};
  std::optional<model::WideInt> fill = {};
  bool operator==(const ArrayFacts&) const = default;
};

// What is needed of an array when its node is gone. There may be very many.
struct ContentBuilder::Noted {
  std::string path;
  std::string name;  // in the file
  bool is_coordinate = false;
  std::string standard_name = {};
  Type type = Type::kByte;    // in the file
  std::string left_out = {};  // why, where the array cannot be in the file
  std::shared_ptr<const ArrayFacts> facts = {};
  std::shared_ptr<const ElementSource> values = {};
  // For integers of 64 bits that may be stored as doubles: the integers as they are.
  std::shared_ptr<const ElementSource> wide_values = {};
};

namespace {

using Noted = ContentBuilder::Noted;

// The attributes of a variable of `type`.
Attributes AttributesOf(const GroupArray& from, const std::optional<model::Value>& fill,
                        Type type) {
  Attributes attributes;
  AttributeList list(attributes);
  const Datatype item = ItemTypeOf(from.input->dtype);
  bool has_fill = false;
  for (const model::Attribute& attribute : backends::AttributesOfMissing(*from.node)) {
    if (attribute.name != kFillValue) {
      list.AddOf(type, attribute, backends::IsLimitOfUnpacked(*from.node, attribute));
    } else if (fill) {
      AddFillValue(list, *fill, item, type);
      has_fill = true;
    }
  }
  if (item.kind() == Kind::kEnum) AddFlags(list, item, type);
  if (item.kind() == Kind::kInteger && item.time()) {
    const ElementConversion converted = ToCfTimes(item);
    AddTime(list, converted.converter ? *converted.type.time() : *item.time());
  }
  if (fill && !has_fill) AddFillValue(list, *fill, item, type);
  const std::string encoding = EncodingOfText(item);
  if (!encoding.empty() && !list.Has(kEncoding)) list.Add(MakeText(kEncoding, encoding));
  return attributes;
}

// --- Types of CDF-1

// How the integers of a variable are numbers in another type. That type holds each of them.
template <typename From, typename To>
class AsOtherNumber final : public backends::ElementConverter {
 public:
  AsOtherNumber() : ElementConverter(sizeof(From), sizeof(To)) {}
  model::Result<void> Convert(backends::ConstByteSpan from,
                              backends::ByteSpan to) const override {
    for (size_t i = 0; i * sizeof(From) < from.size(); ++i) {
      From number;
      std::memcpy(&number, from.data() + i * sizeof number, sizeof number);
      const auto other = static_cast<To>(number);
      std::memcpy(to.data() + i * sizeof other, &other, sizeof other);
    }
    return {};
  }
};

// The values in the type that CDF-1 has instead of `from`.
std::shared_ptr<const ElementSource> InClassicType(std::shared_ptr<const ElementSource> values,
                                                   Type from) {
  ElementConversion conversion;
  if (from == Type::kUByte) {
    conversion = {std::make_shared<AsOtherNumber<uint8_t, int16_t>>(),
                  Datatype::Integer(2, true)};
  } else if (from == Type::kUShort) {
    conversion = {std::make_shared<AsOtherNumber<uint16_t, int32_t>>(),
                  Datatype::Integer(4, true)};
  } else if (from == Type::kUInt) {
    conversion = {std::make_shared<AsOtherNumber<uint32_t, double>>(), Datatype::Float64()};
  } else if (from == Type::kInt64) {
    conversion = {std::make_shared<AsOtherNumber<int64_t, double>>(), Datatype::Float64()};
  } else {
    conversion = {std::make_shared<AsOtherNumber<uint64_t, double>>(), Datatype::Float64()};
  }
  return ConvertElements(std::move(values), std::move(conversion));
}

// Whether a double holds each of some numbers. The fill value may be rounded, if no other
// number becomes the same.
template <typename T>
bool AreDoubles(backends::ConstByteSpan bytes, const std::optional<model::WideInt>& fill) {
  const auto as_double = [](model::WideInt number) {
    return static_cast<model::WideInt>(static_cast<double>(number));
  };
  for (size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    const model::WideInt number = stored;
    if (fill && number == *fill) continue;
    const model::WideInt rounded = as_double(number);
    if (rounded != number || (fill && rounded == as_double(*fill))) return false;
  }
  return true;
}

// Whether an array counts time, or is a coordinate.
bool IsTimeOrCoordinate(const ArrayInput& array) {
  const Datatype item = ItemTypeOf(array.dtype);
  if (std::holds_alternative<model::DimCoord>(array.node->entity)) return true;
  if (item.kind() == Kind::kInteger && item.time()) return true;
  const std::string units = model::TextOf(array.node->attributes(), "units");
  return units.find(" since ") != std::string::npos;
}

// The most bytes of an array of 64 bits for which somebody looks at the values.
uint64_t MostLookedAt(const ArrayInput& array) {
  return IsTimeOrCoordinate(array) ? ContentBuilder::kLooksAtCoordinate
                                   : ContentBuilder::kLooksAtArray;
}

// Where the array cannot be in the file, the reason.
std::string NoteInput(const GroupArray& from, Noted& noted, ArrayFacts& facts) {
  if (!from.input) {
    const bool is_known = from.node && from.node->error;
    return is_known ? from.node->error->message() : "it cannot be read";
  }
  const ArrayInput& input = *from.input;
  const auto type = ClassicType(input.dtype);
  if (!type) return "netCDF classic has no type for " + input.dtype.keyword();
  noted.values = ValuesOf(input);
  if (!noted.values) return "it is too large";
  noted.type = facts.type = *type;
  facts.dtype = input.dtype;
  facts.shape = input.shape;
  facts.dimensions = from.node->array().shape;
  facts.dimension_names = from.node->array().dimension_names;
  return {};
}

class Builder {
 public:
  explicit Builder(std::vector<Noted> arrays) : arrays_(std::move(arrays)) {
    for (const Noted& array : arrays_) names_.Keep(array.name);
    for (Noted& array : arrays_) array.name = names_.Take(array.name);
  }

  Content Build(const std::vector<model::Attribute>& group_attributes) {
    for (const Noted& array : arrays_) names_by_path_.emplace(array.path, array.name);
    for (const Noted& array : arrays_) {
      if (array.is_coordinate) coordinate_names_[array.path] = array.name;
    }
    NameDimensionsByTime();
    const bool is_cdf5 = std::ranges::any_of(arrays_, [](const Noted& array) {
      return array.left_out.empty() && !array.facts->classic_type;
    });
    if (!is_cdf5) UseClassicTypes();
    ChooseRecordDimension();
    for (const bool coordinates : {true, false}) {
      for (size_t i = 0; i < arrays_.size(); ++i) {
        if (arrays_[i].is_coordinate == coordinates) AddVariable(i);
      }
    }
    for (size_t i = 0; i < content_.arrays.size(); ++i) AddAttributes(i, is_cdf5);
    Attributes attributes;
    AttributeList global(attributes);
    for (const model::Attribute& attribute : group_attributes) global.Add(attribute);
    if (!left_out_.empty()) global.Add(MakeText(kLeftOut, left_out_));
    content_.header.attributes = ListOf(std::move(attributes), is_cdf5);
    AddCdf5();
    return std::move(content_);
  }

 private:
  void LeaveOut(size_t i, std::string_view reason) {
    if (!left_out_.empty()) left_out_ += '\n';
    left_out_ += fmt::format("{}: {}", model::BaseName(arrays_[i].path), reason);
  }

  void AddVariable(size_t i) {
    Noted& array = arrays_[i];
    if (!array.left_out.empty()) return LeaveOut(i, array.left_out);
    if (!FitsEmpty(i)) return LeaveOut(i, "it has no elements");
    Variable variable;
    variable.type = array.type;
    for (size_t d = 0; d < array.facts->shape.size(); ++d) {
      variable.dimensions.push_back(DimensionOf(i, d, array.facts->shape[d]));
    }
    AddInnerDimensions(i, array.facts->dtype, variable);
    variable.name = array.name;
    content_.header.variables.push_back(std::move(variable));
    content_.arrays.push_back(i);
    content_.elements.push_back(std::move(array.values));
  }

  // A dimension of forecast periods is called as the times along it, if there are any: CDO
  // takes the dates of a dimension from the variable of its name alone.
  void NameDimensionsByTime() {
    std::map<std::string_view, std::string_view> times;  // by the path of the coordinates
    for (const Noted& array : arrays_) {
      if (!array.left_out.empty() || array.standard_name != "time") continue;
      const model::Shape& dimensions = array.facts->dimensions;
      if (dimensions.size() == 1) times.emplace(dimensions[0].dimcoord, array.name);
    }
    for (const Noted& array : arrays_) {
      const auto time = times.find(array.path);
      if (array.standard_name == "forecast_period" && time != times.end()) {
        coordinate_names_[array.path] = time->second;
      }
    }
  }

  void UseClassicTypes() {
    for (Noted& array : arrays_) {
      if (!array.left_out.empty() || array.type == *array.facts->classic_type) continue;
      if (SizeOf(array.type) == 8) array.wide_values = array.values;
      array.values = InClassicType(std::move(array.values), array.type);
      array.type = *array.facts->classic_type;
      if (!array.values) array.left_out = "it is too large";
    }
  }

  // The same file with integers of 64 bits.
  void AddCdf5() {
    for (size_t v = 0; v < content_.arrays.size(); ++v) {
      Noted& array = arrays_[content_.arrays[v]];
      if (!array.wide_values) continue;
      if (!content_.cdf5_header) {
        content_.cdf5_header = content_.header;
        content_.cdf5_elements = content_.elements;
      }
      Variable& variable = content_.cdf5_header->variables[v];
      variable.type = array.facts->type;
      if (array.facts->own_attributes) {
        variable.attributes =
            AttributesWithName(variable, array, *array.facts->own_attributes, true);
      }
      content_.wide.push_back(
          {array.wide_values, variable.type == Type::kInt64, array.facts->fill});
      content_.cdf5_elements[v] = std::move(array.wide_values);
    }
  }

  bool IsUnlimited(const ArrayFacts& array, size_t d) const {
    return d < array.dimensions.size() && !array.dimensions[d].size;
  }

  // The unlimited dimension of most arrays, if it is the first one of all that have it. A
  // dimension without elements has to be the record dimension: then no other one is.
  void ChooseRecordDimension() {
    std::map<std::string, size_t> users;  // by key
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i].left_out.empty()) continue;
      const ArrayFacts& array = *arrays_[i].facts;
      for (size_t d = 0; d < array.shape.size(); ++d) {
        if (array.shape[d] == 0) return;
        if (d == 0 && IsUnlimited(array, d)) ++users[DimensionKey(i, d)];
      }
    }
    for (size_t i = 0; i < arrays_.size(); ++i) {
      if (!arrays_[i].left_out.empty()) continue;
      for (size_t d = 1; d < arrays_[i].facts->shape.size(); ++d)
        users.erase(DimensionKey(i, d));
    }
    size_t most = 0;
    for (const auto& [key, count] : users) {
      if (count > most) record_ = key;
      most = std::max(most, count);
    }
  }

  // Only one dimension of a file can be empty, as the first of its variables.
  bool FitsEmpty(size_t i) {
    const ArrayFacts& array = *arrays_[i].facts;
    for (size_t d = 0; d < array.shape.size(); ++d) {
      if (array.shape[d] != 0) continue;
      const std::string key = KeyOf(i, d, 0);
      if (d > 0 || (!empty_.empty() && empty_ != key)) return false;
      empty_ = key;
    }
    return array.dtype.size() != 0;
  }

  // Two dimensions with the same key are one. A dimension without a name has a key of its own.
  std::string KeyOf(size_t i, size_t d, uint64_t length) const {
    const ArrayFacts& array = *arrays_[i].facts;
    if (arrays_[i].is_coordinate) return "/" + arrays_[i].path;
    if (d < array.dimensions.size() && !array.dimensions[d].dimcoord.empty()) {
      return "/" + array.dimensions[d].dimcoord;
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return fmt::format("{} {}", length, array.dimension_names[d]);
    }
    return fmt::format("#{} {}", i, d);
  }

  std::string NameOf(size_t i, size_t d) const {
    const ArrayFacts& array = *arrays_[i].facts;
    if (arrays_[i].is_coordinate) return coordinate_names_.at(arrays_[i].path);
    if (d < array.dimensions.size() && !array.dimensions[d].dimcoord.empty()) {
      const auto known = coordinate_names_.find(array.dimensions[d].dimcoord);
      if (known != coordinate_names_.end()) return known->second;
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return array.dimension_names[d];
    }
    if (d < array.dimensions.size() && !array.dimensions[d].dimcoord.empty()) {
      return std::string(model::BaseName(array.dimensions[d].dimcoord));
    }
    return fmt::format("{}_dim{}", model::BaseName(arrays_[i].path), d);
  }

  // A stored length that differs from the coordinate's is a dimension of its own.
  std::string DimensionKey(size_t i, size_t d) const {
    const uint64_t length = arrays_[i].facts->shape[d];
    return fmt::format("{} {}", length, KeyOf(i, d, length));
  }

  uint32_t DimensionOf(size_t i, size_t d, uint64_t length) {
    return AddDimension(DimensionKey(i, d), NameOf(i, d), length);
  }

  uint32_t AddDimension(const std::string& key, std::string_view name, uint64_t length) {
    const auto next = static_cast<uint32_t>(content_.header.dimensions.size());
    const auto known = dimensions_.find(key);
    if (known != dimensions_.end()) return known->second;
    // Nobody asks again for one without a name.
    const bool has_name = key[0] != '#' && key[key.find(' ') + 1] != '#';
    if (has_name) dimensions_.emplace(key, next);
    const bool is_record = length == 0 || (!record_.empty() && key == record_);
    if (is_record) {
      content_.header.record_dimension = next;
      content_.header.record_count = length;
    }
    content_.header.dimensions.push_back({dimension_names_.Take(name), is_record ? 0 : length});
    return next;
  }

  // Adds the dimensions inside of elements that are arrays or text.
  void AddInnerDimensions(size_t i, const Datatype& dtype, Variable& variable) {
    const std::string_view name = model::BaseName(arrays_[i].path);
    if (dtype.kind() == Kind::kArray) {
      for (const uint64_t length : dtype.shape()) {
        const size_t d = variable.dimensions.size();
        variable.dimensions.push_back(AddDimension(fmt::format("#{} {}", i, d),
                                                   fmt::format("{}_dim{}", name, d), length));
      }
      AddInnerDimensions(i, dtype.base(), variable);
    } else if (dtype.kind() == Kind::kString && dtype.size() > 1) {
      variable.dimensions.push_back(AddDimension(fmt::format("string {}", dtype.size()),
                                                 fmt::format("string{}", dtype.size()),
                                                 dtype.size()));
    }
  }

  // Writes the names of arrays as they are in the file: an attribute may have paths.
  void NameArrays(const Noted& array, std::vector<Attribute>& attributes) const {
    for (Attribute& attribute : attributes) {
      if (attribute.type != Type::kChar) continue;
      bool is_changed = false;
      const auto name_in_file = [&](std::string name) {
        for (const std::string& path :
             backends::PathsOfNamed(model::ParentPath(array.path), name)) {
          const auto found = names_by_path_.find(path);
          if (found == names_by_path_.end()) continue;
          is_changed = is_changed || found->second != name;
          return std::string(found->second);
        }
        return name;
      };
      std::string text = EachNamed(attribute.name, attribute.values, name_in_file);
      if (!is_changed) continue;
      attribute.values = std::move(text);
      attribute.count = attribute.values.size();
    }
  }

  // With the true name, where that is another one.
  std::vector<Attribute> AttributesWithName(const Variable& variable, const Noted& array,
                                            Attributes attributes, bool is_cdf5) const {
    NameArrays(array, attributes.list);
    const std::string_view true_name = model::BaseName(array.path);
    if (variable.name != true_name) {
      AttributeList(attributes).Add(MakeText(kTrueName, std::string(true_name)));
    }
    return ListOf(std::move(attributes), is_cdf5);
  }

  void AddAttributes(size_t v, bool is_cdf5) {
    Variable& variable = content_.header.variables[v];
    Noted& array = arrays_[content_.arrays[v]];
    const bool has_own = is_cdf5 && array.facts->own_attributes;
    variable.attributes = AttributesWithName(
        variable, array, has_own ? *array.facts->own_attributes : array.facts->attributes,
        is_cdf5);
    if (!array.wide_values) array.facts = nullptr;
  }

  std::vector<Noted> arrays_;
  Content content_;
  std::map<std::string, std::string> coordinate_names_;  // of variables, by path name
  std::map<std::string_view, std::string_view> names_by_path_;
  NameTable names_{&ValidName};
  NameTable dimension_names_{&ValidName};
  std::map<std::string, uint32_t> dimensions_;  // by what KeyOf says
  std::string empty_;                           // the key of the dimension of length 0
  std::string record_;                          // of the record dimension, by DimensionKey()
  std::string left_out_;
};

}  // namespace

ContentBuilder::ContentBuilder() = default;
ContentBuilder::~ContentBuilder() = default;

void ContentBuilder::Add(const GroupArray& array) {
  Noted noted = {.path = array.path,
                 .name = std::string(array.name.empty() ? model::BaseName(array.path)
                                                        : std::string_view(array.name)),
                 .is_coordinate = std::holds_alternative<model::DimCoord>(array.node->entity),
                 .standard_name = model::TextOf(array.node->attributes(), "standard_name")};
  ArrayFacts facts;
  noted.left_out = NoteInput(array, noted, facts);
  if (noted.left_out.empty()) {
    const auto fill = FillOf(*array.node, ItemTypeOf(facts.dtype));
    if (fill && fill->integer() != nullptr) facts.fill = *fill->integer();
    facts.classic_type = ClassicTypeOf(array, noted);
    facts.attributes = AttributesOf(array, fill, facts.classic_type.value_or(noted.type));
    if (facts.classic_type && *facts.classic_type != noted.type) {
      facts.own_attributes = AttributesOf(array, fill, noted.type);
    }
    if (!arrays_.empty()) noted.facts = arrays_.back().facts;
    // Equal types of text may have different widths.
    if (noted.facts == nullptr || *noted.facts != facts ||
        !noted.facts->dtype.SameLayout(facts.dtype)) {
      noted.facts = std::make_shared<const ArrayFacts>(std::move(facts));
    }
  }
  arrays_.push_back(std::move(noted));
}

std::optional<Type> ContentBuilder::ClassicTypeOf(const GroupArray& array, const Noted& noted) {
  const Type type = noted.type;
  if (!NeedsCdf5(type)) return type;
  // Numbers that are read with another sign would be other ones.
  const auto packing = backends::ReadPacking(*array.node);
  if (packing && packing->is_signed) return std::nullopt;
  if (type == Type::kUByte) return Type::kShort;
  if (type == Type::kUShort) return Type::kInt;
  if (type == Type::kUInt) return Type::kDouble;
  if (packing && packing->is_unsigned) return std::nullopt;
  const uint64_t size = noted.values->size();
  if (size > MostLookedAt(*array.input) || looked_at_ + size > kLooksAtAll) {
    return std::nullopt;
  }
  looked_at_ += size;
  return Type::kDouble;
}

model::Result<bool> AreDoubles(const std::vector<WideValues>& arrays) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  for (const WideValues& array : arrays) {
    const uint64_t size = array.values->size();
    backends::Bytes bytes(std::min(kPiece, size));
    for (uint64_t done = 0; done < size; done += kPiece) {
      const auto piece = bytes.span().first(std::min(kPiece, size - done));
      NDLFS_RETURN_IF_ERROR(
          array.values->Read(done, piece, model::ByteOrder::kLittle, cache::ReadHint::kOnward));
      const bool are_doubles = array.is_signed ? AreDoubles<int64_t>(piece, array.fill)
                                               : AreDoubles<uint64_t>(piece, array.fill);
      if (!are_doubles) return false;
    }
  }
  return true;
}

bool NeedsCdf5Unseen(const ArrayInput& array) {
  const auto type = ClassicType(array.dtype);
  const bool is_wide = type == Type::kInt64 || type == Type::kUInt64;
  return is_wide && array.elements && array.elements->size() > MostLookedAt(array);
}

Content ContentBuilder::Build(const std::vector<model::Attribute>& group_attributes) {
  return Builder(std::move(arrays_)).Build(group_attributes);
}

}  // namespace ndlfs::fs::classic
