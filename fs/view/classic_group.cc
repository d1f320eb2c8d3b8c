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

// Types of CDF-1 that an attribute's numbers may have, the best first, and at last their own.
std::vector<Type> TypesFor(const Datatype& type) {
  if (type.kind() == Kind::kFloat) {
    return {type.size() <= 4 ? Type::kFloat : Type::kDouble};
  }
  const auto own = ClassicType(type);
  if (!own) return {};
  if (!NeedsCdf5(*own)) return {*own};
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

Attribute MakeAttribute(const model::Attribute& from) {
  Attribute attribute = Named(from.name, Type::kChar);
  bool first = true;
  if (from.type.kind() == Kind::kString && AppendTexts(attribute.values, from.value, first)) {
    return attribute;
  }
  for (const Type type : TypesFor(from.type)) {
    attribute.type = type;
    attribute.values.clear();
    if (AppendNumbers(attribute.values, from.value, from.type, type)) return attribute;
  }
  return MakeText(from.name, model::WriteFlow(from.value, from.type));
}

// The integer of `bytes`, which are big-endian.
model::WideInt SignedFrom(std::string_view bytes) {
  model::WideInt value = bytes.empty() || static_cast<signed char>(bytes[0]) >= 0 ? 0 : -1;
  for (const char byte : bytes) value = value * 256 + static_cast<unsigned char>(byte);
  return value;
}

// Gives integers of `attribute`, which have a signed type, the type `own` if it holds them.
void GiveOwnType(Attribute& attribute, Type own) {
  const auto [least, most] = RangeOf(own);
  const size_t size = SizeOf(attribute.type);
  std::string values;
  for (size_t i = 0; i < attribute.values.size(); i += size) {
    const model::WideInt value = SignedFrom(std::string_view(attribute.values).substr(i, size));
    if (value < least || value > most) return;
    AppendBig(values, static_cast<unsigned __int128>(value), SizeOf(own));
  }
  attribute.type = own;
  attribute.values = std::move(values);
}

// Attributes whose values are compared with those of the variable, and which
// readers expect in its type.
bool HasTypeOfVariable(std::string_view name) {
  return name == "_FillValue" || name == "missing_value" || name == "valid_min" ||
         name == "valid_max" || name == "valid_range" || name == "flag_values" ||
         name == "flag_masks";
}

// An attribute with the type of its numbers in CDF-5, where that differs.
struct OwnType {
  size_t attribute;
  Type type;
};

// The attributes of a variable, or of the file.
struct Attributes {
  std::vector<Attribute> list;
  std::vector<OwnType> own_types;
};

std::vector<Attribute> ListOf(Attributes attributes, bool is_cdf5) {
  for (const OwnType& own : attributes.own_types) {
    if (is_cdf5) GiveOwnType(attributes.list[own.attribute], own.type);
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
    const bool differs = own && attribute.type != Type::kChar && !IsFloat(attribute.type) &&
                         attribute.type != *own;
    if (differs) own_types_.push_back({list_.size(), *own});
    Add(std::move(attribute));
  }

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
  std::vector<OwnType>& own_types_;
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

}  // namespace

// What counts of an array when its node is gone.
struct ContentBuilder::Noted {
  std::string path;
  std::string name;  // in the file
  bool is_coordinate = false;
  std::string left_out = {};  // why, where the array cannot be in the file
  Datatype dtype = {};
  std::vector<uint64_t> shape = {};
  model::Shape dimensions = {};
  std::vector<std::string> dimension_names = {};
  std::shared_ptr<const ElementSource> values = {};
  Type type = Type::kByte;
  Attributes attributes = {};
};

namespace {

using Noted = ContentBuilder::Noted;

Attributes AttributesOf(const GroupArray& from, Type type) {
  Attributes attributes;
  AttributeList list(attributes);
  const model::Ndarray& array = from.node->array();
  for (const model::Attribute& attribute : array.attributes) list.AddOf(type, attribute);
  Datatype dtype = from.input->dtype;
  while (dtype.kind() == Kind::kArray) dtype = Datatype(dtype.base());
  if (dtype.kind() == Kind::kEnum) AddFlags(list, dtype, type);
  if (dtype.kind() == Kind::kInteger && dtype.time()) AddTime(list, *dtype.time());
  AddFillValue(list, array, dtype, type);
  if (dtype.kind() == Kind::kInteger && dtype.time()) AddNaT(list);
  return attributes;
}

// Where the array cannot be in the file, the reason.
std::string NoteInput(const GroupArray& from, Noted& noted) {
  if (!from.input) return "it cannot be read";
  const ArrayInput& input = *from.input;
  const auto type = ClassicType(input.dtype);
  if (!type) return "netCDF classic has no type for " + input.dtype.keyword();
  noted.values = ValuesOf(input);
  if (!noted.values) return "it is too large";
  noted.type = *type;
  noted.dtype = input.dtype;
  noted.shape = input.shape;
  noted.dimensions = from.node->array().shape;
  noted.dimension_names = from.node->array().dimension_names;
  noted.attributes = AttributesOf(from, *type);
  return {};
}

class Builder {
 public:
  explicit Builder(std::vector<Noted> arrays) : arrays_(std::move(arrays)) {}

  Content Build(const std::vector<model::Attribute>& group_attributes) {
    for (const Noted& array : arrays_) {
      if (array.is_coordinate) coordinate_names_[array.path] = array.name;
    }
    for (const bool coordinates : {true, false}) {
      for (size_t i = 0; i < arrays_.size(); ++i) {
        if (arrays_[i].is_coordinate == coordinates) AddVariable(i);
      }
    }
    const bool is_cdf5 = std::ranges::any_of(
        content_.header.variables, [](const Variable& v) { return NeedsCdf5(v.type); });
    for (size_t i = 0; i < content_.arrays.size(); ++i) AddAttributes(i, is_cdf5);
    Attributes attributes;
    AttributeList global(attributes);
    for (const model::Attribute& attribute : group_attributes) global.Add(attribute);
    if (!left_out_.empty()) global.Add(MakeText(kLeftOut, left_out_));
    content_.header.attributes = ListOf(std::move(attributes), is_cdf5);
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
    for (size_t d = 0; d < array.shape.size(); ++d) {
      variable.dimensions.push_back(DimensionOf(i, d, array.shape[d]));
    }
    AddInnerDimensions(i, array.dtype, variable);
    variable.name = array.name;
    content_.header.variables.push_back(std::move(variable));
    content_.arrays.push_back(i);
    content_.elements.push_back(std::move(array.values));
  }

  // Only one dimension of a file can be empty, as the first of its variables.
  bool FitsEmpty(size_t i) {
    const Noted& array = arrays_[i];
    for (size_t d = 0; d < array.shape.size(); ++d) {
      if (array.shape[d] != 0) continue;
      const std::string key = KeyOf(i, d, 0);
      if (d > 0 || (!empty_.empty() && empty_ != key)) return false;
      empty_ = key;
    }
    return array.dtype.size() != 0;
  }

  // What says that two dimensions are one; of those without a name nothing does.
  std::string KeyOf(size_t i, size_t d, uint64_t length) const {
    const Noted& array = arrays_[i];
    if (array.is_coordinate) return "/" + array.path;
    if (d < array.dimensions.size() && !array.dimensions[d].dimcoord.empty()) {
      return "/" + array.dimensions[d].dimcoord;
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return fmt::format("{} {}", length, array.dimension_names[d]);
    }
    return fmt::format("#{} {}", i, d);
  }

  std::string NameOf(size_t i, size_t d) const {
    const Noted& array = arrays_[i];
    if (array.is_coordinate) return array.name;
    if (d < array.dimensions.size() && !array.dimensions[d].dimcoord.empty()) {
      const auto known = coordinate_names_.find(array.dimensions[d].dimcoord);
      if (known != coordinate_names_.end()) return known->second;
      return std::string(model::BaseName(array.dimensions[d].dimcoord));
    }
    if (d < array.dimension_names.size() && !array.dimension_names[d].empty()) {
      return array.dimension_names[d];
    }
    return fmt::format("{}_dim{}", model::BaseName(array.path), d);
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
    Noted& array = arrays_[content_.arrays[v]];
    const std::string_view true_name = model::BaseName(array.path);
    if (variable.name != true_name) {
      AttributeList(array.attributes).Add(MakeText(kTrueName, std::string(true_name)));
    }
    variable.attributes = ListOf(std::move(array.attributes), is_cdf5);
  }

  std::vector<Noted> arrays_;
  Content content_;
  std::map<std::string, std::string> coordinate_names_;  // of variables, by path name
  NameTable dimension_names_;
  std::map<std::string, uint32_t> dimensions_;  // by what KeyOf says
  std::string empty_;                           // the key of the dimension of length 0
  std::string left_out_;
};

}  // namespace

struct ContentBuilder::Names : NameTable {};

ContentBuilder::ContentBuilder() : names_(std::make_unique<Names>()) {}
ContentBuilder::~ContentBuilder() = default;

void ContentBuilder::Add(const GroupArray& array) {
  Noted noted = {.path = array.path,
                 .name = names_->Take(model::BaseName(array.path)),
                 .is_coordinate = std::holds_alternative<model::DimCoord>(array.node->entity)};
  noted.left_out = NoteInput(array, noted);
  arrays_.push_back(std::move(noted));
}

Content ContentBuilder::Build(const std::vector<model::Attribute>& group_attributes) {
  return Builder(std::move(arrays_)).Build(group_attributes);
}

}  // namespace ndlfs::fs::classic
