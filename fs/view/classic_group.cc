// SPDX-License-Identifier: MIT
#include "fs/view/classic_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/format/netcdf3/layout.h"
#include "fs/view/attributes.h"
#include "fs/view/converted_elements.h"
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
// More constants of an enum would make a header that nobody reads.
constexpr size_t kMaxFlags = 1000;

// Gives each name once.
class NameTable {
 public:
  // A valid name that nobody has: `wanted` itself if that is possible.
  std::string Take(std::string_view wanted) {
    const std::string base = ValidName(wanted);
    std::string name = base;
    for (int i = 2; !taken_.insert(name).second; ++i) {
      const std::string suffix = fmt::format("_{}", i);
      size_t cut = std::min(base.size(), 255 - suffix.size());
      while (cut > 0 && cut < base.size() && (base[cut] & 0xC0) == 0x80) --cut;
      name = ValidName(base.substr(0, cut)) + suffix;
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
};

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
std::optional<Type> TypeOf(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kInteger:
      return TypeOfInteger(type);
    case Kind::kFloat:
      if (type == Datatype::Float32()) return Type::kFloat;
      if (type == Datatype::Float64()) return Type::kDouble;
      if (ToFloat32(type).converter != nullptr) return Type::kFloat;
      return std::nullopt;
    case Kind::kEnum:
      return type.is_bool() ? Type::kByte : TypeOf(type.base());
    case Kind::kArray:
      return TypeOf(type.base());
    case Kind::kString:
      return type.is_fixed_size() ? std::optional(Type::kChar) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The values of a variable, where elements may have to be converted.
std::shared_ptr<const ElementSource> ValuesOf(const ArrayInput& input) {
  Datatype number = input.dtype;
  while (number.kind() == Kind::kArray) number = Datatype(number.base());
  ElementConversion conversion = ToFloat32(number);
  if (number.kind() == Kind::kString) {
    auto text = ToUtf8(number);
    if (!text) return nullptr;
    conversion = *std::move(text);
  }
  if (!conversion.converter) return input.elements;
  return ConvertElements(input.elements, std::move(conversion));
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

// Types that an attribute's numbers may have, the best first.
std::vector<Type> TypesFor(const Datatype& type, bool is_cdf5) {
  if (type.kind() == Kind::kFloat) {
    return {type.size() <= 4 ? Type::kFloat : Type::kDouble};
  }
  const auto own = TypeOf(type);
  if (!own) return {};
  if (is_cdf5 || !NeedsCdf5(*own)) return {*own};
  if (*own == Type::kUByte) return {Type::kShort};
  return {Type::kInt, *own};
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

Attribute MakeAttribute(const model::Attribute& from, bool is_cdf5) {
  Attribute attribute = Named(from.name, Type::kChar);
  bool first = true;
  if (from.type.kind() == Kind::kString && AppendTexts(attribute.values, from.value, first)) {
    return attribute;
  }
  for (const Type type : TypesFor(from.type, is_cdf5)) {
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

// Adds attributes under names that are valid and differ.
class AttributeList {
 public:
  AttributeList(std::vector<Attribute>& list, bool is_cdf5) : list_(list), is_cdf5_(is_cdf5) {}

  void Add(Attribute attribute) {
    attribute.name = names_.Take(attribute.name);
    attribute.count = attribute.values.size() / SizeOf(attribute.type);
    list_.push_back(std::move(attribute));
  }
  void Add(const model::Attribute& from) { Add(MakeAttribute(from, is_cdf5_)); }

  // An attribute of a variable of `type`.
  void AddOf(Type type, const model::Attribute& from) {
    // netCDF refuses a fill value of another type.
    const bool is_fill = from.name == "_FillValue";
    if (HasTypeOfVariable(from.name) && type != Type::kChar) {
      Attribute attribute = Named(from.name, type);
      if (AppendNumbers(attribute.values, from.value, from.type, type)) {
        return Add(std::move(attribute));
      }
    }
    if (!is_fill) Add(from);
  }
  bool Has(std::string_view name) const {
    return std::ranges::any_of(list_, [&](const Attribute& a) { return a.name == name; });
  }

 private:
  std::vector<Attribute>& list_;
  const bool is_cdf5_;
  NameTable names_;
};

void AddTime(AttributeList& attributes, const model::TimeUnit& unit) {
  std::string units = CfTimeUnits(unit);
  if (units.empty() || attributes.Has("units")) return;
  attributes.Add(MakeText("units", std::move(units)));
  if (!unit.is_delta && !attributes.Has("calendar")) {
    attributes.Add(MakeText("calendar", "proleptic_gregorian"));
  }
}

// What stands for "not a time".
void AddNaT(AttributeList& attributes) {
  if (attributes.Has("_FillValue")) return;
  Attribute fill = Named("_FillValue", Type::kInt64);
  AppendBig(fill.values, uint64_t{1} << 63, 8);
  attributes.Add(std::move(fill));
}

void AddFlags(AttributeList& attributes, const Datatype& type, Type as) {
  if (type.constants().size() > kMaxFlags || attributes.Has("flag_values")) return;
  Attribute values = Named("flag_values", as);
  std::string meanings;
  for (const Datatype::Constant& constant : type.constants()) {
    AppendBig(values.values, static_cast<unsigned __int128>(constant.value), SizeOf(as));
    std::string word = constant.name;
    std::ranges::replace_if(
        word, [](char c) { return c == ' ' || c == '\n' || c == '\t'; }, '_');
    meanings += (meanings.empty() ? "" : " ") + word;
  }
  attributes.Add(std::move(values));
  attributes.Add(MakeText("flag_meanings", std::move(meanings)));
}

// A fill value other than zero: what zeros in a file without an attribute mean, nobody
// has said.
void AddFillValue(AttributeList& attributes, const model::Ndarray& array, const Datatype& dtype,
                  Type as) {
  if (as == Type::kChar || attributes.Has("_FillValue") || !array.storage.fillvalue) return;
  Attribute fill = Named("_FillValue", as);
  if (!AppendNumber(fill.values, *array.storage.fillvalue, dtype, as)) return;
  if (std::ranges::all_of(fill.values, [](char c) { return c == 0; })) return;
  attributes.Add(std::move(fill));
}

class Builder {
 public:
  Builder(const std::vector<model::Attribute>& group_attributes,
          std::span<const GroupArray> arrays)
      : group_attributes_(group_attributes), arrays_(arrays) {}

  Content Build() {
    GiveNames();
    for (const bool coordinates : {true, false}) {
      for (size_t i = 0; i < arrays_.size(); ++i) {
        if (IsCoordinate(i) == coordinates) AddVariable(i);
      }
    }
    const bool is_cdf5 = std::ranges::any_of(
        content_.header.variables, [](const Variable& v) { return NeedsCdf5(v.type); });
    for (size_t i = 0; i < content_.arrays.size(); ++i) AddAttributes(i, is_cdf5);
    AttributeList global(content_.header.attributes, is_cdf5);
    for (const model::Attribute& attribute : group_attributes_) global.Add(attribute);
    if (!left_out_.empty()) global.Add(MakeText(kLeftOut, left_out_));
    return std::move(content_);
  }

 private:
  const backends::Node& NodeOf(size_t i) const { return *arrays_[i].node; }
  bool IsCoordinate(size_t i) const {
    return std::holds_alternative<model::DimCoord>(NodeOf(i).entity);
  }

  // The group's own arrays choose first.
  void GiveNames() {
    NameTable table;
    names_.resize(arrays_.size());
    for (const bool outer : {false, true}) {
      for (size_t i = 0; i < arrays_.size(); ++i) {
        if (arrays_[i].is_outer != outer) continue;
        names_[i] = table.Take(model::BaseName(arrays_[i].path));
        if (IsCoordinate(i)) coordinate_names_[arrays_[i].path] = names_[i];
      }
    }
  }

  void LeaveOut(size_t i, std::string_view reason) {
    if (!left_out_.empty()) left_out_ += '\n';
    left_out_ += fmt::format("{}: {}", model::BaseName(arrays_[i].path), reason);
  }

  void AddVariable(size_t i) {
    if (!arrays_[i].input) return LeaveOut(i, "it cannot be read");
    const ArrayInput& input = *arrays_[i].input;
    const auto type = TypeOf(input.dtype);
    if (!type) return LeaveOut(i, "netCDF classic has no type for " + input.dtype.keyword());
    auto values = ValuesOf(input);
    if (!values) return LeaveOut(i, "it is too large");
    if (!FitsEmpty(i, input)) return LeaveOut(i, "it has no elements");
    Variable variable;
    variable.type = *type;
    for (size_t d = 0; d < input.shape.size(); ++d) {
      variable.dimensions.push_back(DimensionOf(i, d, input.shape[d]));
    }
    AddInnerDimensions(i, input.dtype, variable);
    variable.name = names_[i];
    content_.header.variables.push_back(std::move(variable));
    content_.arrays.push_back(i);
    content_.elements.push_back(std::move(values));
  }

  // Only one dimension of a file can be empty, as the first of its variables.
  bool FitsEmpty(size_t i, const ArrayInput& input) {
    for (size_t d = 0; d < input.shape.size(); ++d) {
      if (input.shape[d] != 0) continue;
      const std::string key = KeyOf(i, d, 0);
      if (d > 0 || (!empty_.empty() && empty_ != key)) return false;
      empty_ = key;
    }
    return input.dtype.size() != 0;
  }

  // What says that two dimensions are one; of those without a name nothing does.
  std::string KeyOf(size_t i, size_t d, uint64_t length) const {
    if (IsCoordinate(i)) return "/" + arrays_[i].path;
    const model::Ndarray& array = NodeOf(i).array();
    if (d < array.shape.size() && !array.shape[d].dimcoord.empty()) {
      return "/" + array.shape[d].dimcoord;
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return fmt::format("{} {}", length, array.dimension_names[d]);
    }
    return fmt::format("#{} {}", i, d);
  }

  std::string NameOf(size_t i, size_t d) const {
    if (IsCoordinate(i)) return names_[i];
    const model::Ndarray& array = NodeOf(i).array();
    if (d < array.shape.size() && !array.shape[d].dimcoord.empty()) {
      const auto known = coordinate_names_.find(array.shape[d].dimcoord);
      if (known != coordinate_names_.end()) return known->second;
      return std::string(model::BaseName(array.shape[d].dimcoord));
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return array.dimension_names[d];
    }
    return fmt::format("{}_dim{}", model::BaseName(arrays_[i].path), d);
  }

  uint32_t DimensionOf(size_t i, size_t d, uint64_t length) {
    // A stored length that differs from the coordinate's is a dimension of its own.
    return AddDimension(fmt::format("{} {}", length, KeyOf(i, d, length)), NameOf(i, d),
                        length);
  }

  uint32_t AddDimension(const std::string& key, std::string_view name, uint64_t length) {
    const auto [it, is_new] =
        dimensions_.try_emplace(key, static_cast<uint32_t>(content_.header.dimensions.size()));
    if (is_new) {
      if (length == 0) content_.header.record_dimension = it->second;
      content_.header.dimensions.push_back({dimension_names_.Take(name), length});
    }
    return it->second;
  }

  // Of elements that are arrays, and of text.
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

  void AddAttributes(size_t v, bool is_cdf5) {
    Variable& variable = content_.header.variables[v];
    const size_t i = content_.arrays[v];
    const model::Ndarray& array = NodeOf(i).array();
    AttributeList list(variable.attributes, is_cdf5);
    for (const model::Attribute& attribute : array.attributes) {
      list.AddOf(variable.type, attribute);
    }
    Datatype dtype = arrays_[i].input->dtype;
    while (dtype.kind() == Kind::kArray) dtype = Datatype(dtype.base());
    if (dtype.kind() == Kind::kEnum) AddFlags(list, dtype, variable.type);
    if (dtype.kind() == Kind::kInteger && dtype.time()) AddTime(list, *dtype.time());
    AddFillValue(list, array, dtype, variable.type);
    if (dtype.kind() == Kind::kInteger && dtype.time()) AddNaT(list);
    const std::string_view true_name = model::BaseName(arrays_[i].path);
    if (variable.name != true_name) list.Add(MakeText(kTrueName, std::string(true_name)));
  }

  const std::vector<model::Attribute>& group_attributes_;
  const std::span<const GroupArray> arrays_;
  Content content_;
  std::vector<std::string> names_;                       // of variables, by array
  std::map<std::string, std::string> coordinate_names_;  // the same by path name
  NameTable dimension_names_;
  std::map<std::string, uint32_t> dimensions_;  // by what KeyOf says
  std::string empty_;                           // the key of the dimension of length 0
  std::string left_out_;
};

}  // namespace

Content MakeContent(const std::vector<model::Attribute>& group_attributes,
                    std::span<const GroupArray> arrays) {
  return Builder(group_attributes, arrays).Build();
}

}  // namespace ndlfs::fs::classic
