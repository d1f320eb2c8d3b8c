// SPDX-License-Identifier: MIT
#include "fs/view/container/hdf5_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "backends/base/element_encoder.h"
#include "backends/base/utf32_text.h"
#include "backends/format/hdf5/padded_source.h"
#include "backends/format/packing.h"
#include "fs/view/base/attributes.h"
#include "fs/view/container/hdf5_group.h"
#include "model/ndl/ndl_writer.h"

namespace ndlfs::fs::hdf5 {
namespace {

using backends::hdf5::NewAttribute;
using model::Datatype;
using model::Result;
using model::Value;
using Kind = Datatype::Kind;

constexpr size_t kMaxCommitted = 1000;
// More do not fit the header of an object, which has 64 KiB for them.
constexpr size_t kMaxEnumBytes = 50'000;
constexpr uint64_t kMaxAttributeBytes = uint64_t{64} << 20;

bool IsSoundName(std::string_view name) {
  return !name.empty() && name.find('\0') == name.npos;
}

bool IsSoundEnum(const Datatype& type) {
  std::set<std::string_view> names;
  std::set<model::WideInt> values;
  size_t bytes = 0;
  for (const Datatype::Constant& constant : type.constants()) {
    bytes += constant.name.size() + 16;
    const bool is_new =
        names.insert(constant.name).second && values.insert(constant.value).second;
    if (!is_new || !IsSoundName(constant.name) || bytes > kMaxEnumBytes) return false;
  }
  return !names.empty();
}

Result<Datatype> Normalize(const Datatype& type);

Result<Datatype> NormalizeCompound(const Datatype& type) {
  std::vector<Datatype::Member> members;
  std::set<std::string_view> names;
  for (const Datatype::Member& member : type.members()) {
    if (!IsSoundName(member.name) || !names.insert(member.name).second) {
      return model::Unsupported("members without names of their own");
    }
    NDLFS_TRY(Datatype part, Normalize(member.type));
    members.push_back({member.name, std::move(part), member.offset});
  }
  if (members.empty()) return model::Unsupported("a compound without members");
  return type.is_fixed_size() ? Datatype::Compound(std::move(members), type.size())
                              : Datatype::PackedCompound(std::move(members));
}

// The same elements in a type that HDF5 has.
Result<Datatype> Normalize(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kEnum:
      return IsSoundEnum(type) ? type : type.base();
    case Kind::kCompound:
      return NormalizeCompound(type);
    case Kind::kVlen: {
      NDLFS_TRY(const Datatype base, Normalize(type.base()));
      return Datatype::Vlen(base);
    }
    case Kind::kArray: {
      NDLFS_TRY(const Datatype base, Normalize(type.base()));
      return Datatype::Array(base, type.shape());
    }
    default:
      if (type.is_fixed_size() && type.size() == 0) {
        return model::Unsupported("elements of 0 bytes");
      }
      return type;
  }
}

// As is text of several characters.
bool IsArrayInFile(const Datatype& type) {
  const bool is_text = type.kind() == Kind::kString && type.is_fixed_size() && type.size() > 1;
  return is_text || type.kind() == Kind::kArray;
}

// Types that netCDF-C does not know; one with such a part makes it refuse the file.
bool IsForeign(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kObjectRef:
    case Kind::kRegionRef:
      return true;
    case Kind::kFloat:
      return type.size() > 8;
    case Kind::kCompound:
      return std::ranges::any_of(type.members(), [](const Datatype::Member& member) {
        return IsForeign(member.type);
      });
    case Kind::kVlen:
      return IsArrayInFile(type.base()) || IsForeign(type.base());
    case Kind::kArray:
      return IsForeign(type.base());
    default:
      return false;
  }
}

bool IsSame(const Datatype& a, const Datatype& b) {
  return a.kind() == b.kind() && a.is_fixed_size() == b.is_fixed_size() && a == b &&
         a.SameLayout(b);
}

// Attributes that readers expect in the type of the variable.
bool HasTypeOfVariable(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "_FillValue",  "missing_value", "valid_min", "valid_max",
      "valid_range", "flag_values",   "flag_masks"};
  return std::ranges::find(kNames, name) != kNames.end();
}

// Names that libhdf5_hl, netCDF-C and the file itself have for themselves.
std::string NameOf(const std::string& name) {
  constexpr std::array<std::string_view, 12> kReserved = {"CLASS",
                                                          "NAME",
                                                          "DIMENSION_LIST",
                                                          "REFERENCE_LIST",
                                                          "_IsNetcdf4",
                                                          "_Netcdf4Dimid",
                                                          "_Netcdf4Coordinates",
                                                          "_NCProperties",
                                                          "_SuperblockVersion",
                                                          "_nc3_strict",
                                                          kTrueName,
                                                          backends::hdf5::kLeftOutAttribute};
  if (name.empty()) return "_";
  std::string sound = backends::ComposeCharacters(name);
  std::ranges::replace(sound, '\0', '_');
  return std::ranges::find(kReserved, sound) == kReserved.end() ? sound : "ndlfs_" + sound;
}

// The items of lists nested `depth` deep.
void AppendItems(const Value& value, size_t depth, std::vector<const Value*>& items) {
  const auto* list = depth == 0 ? nullptr : value.list();
  if (list == nullptr) return items.push_back(&value);
  for (const Value& item : *list) AppendItems(item, depth - 1, items);
}

// The elements of an attribute; those of elements that are arrays one by one.
std::vector<const Value*> ItemsOf(const model::Attribute& attribute) {
  size_t depth = attribute.shape.size();
  Datatype type = attribute.type;
  while (type.kind() == Kind::kArray) {
    depth += type.shape().size();
    type = Datatype(type.base());
  }
  std::vector<const Value*> items;
  AppendItems(attribute.value, depth, items);
  return items;
}

bool IsScalar(const model::Attribute& attribute) {
  return attribute.shape.empty() && attribute.type.kind() != Kind::kArray;
}

// As an element of `to`. Floats are rounded, integers have to be exact.
std::optional<Value> AsNumber(const Value& value, const Datatype& of, const Datatype& to) {
  if (of.kind() == Kind::kEnum && value.text() != nullptr) {
    const auto* constant = of.FindConstant(*value.text());
    if (constant == nullptr) return std::nullopt;
    return Value(constant->value);
  }
  if (to.kind() == Kind::kFloat) {
    if (value.real() != nullptr) return *value.real();
    if (value.integer() == nullptr) return std::nullopt;
    return static_cast<double>(*value.integer());
  }
  if (value.integer() != nullptr) return *value.integer();
  constexpr double kExact = 9e15;
  if (value.real() == nullptr || !(std::abs(*value.real()) < kExact) ||
      std::trunc(*value.real()) != *value.real()) {
    return std::nullopt;
  }
  return Value(static_cast<model::WideInt>(*value.real()));
}

// The numbers of `from` as elements of `type`; false if one of them is none.
bool EncodeNumbers(const model::Attribute& from, const Datatype& type, NewAttribute& to) {
  const std::vector<const Value*> items = ItemsOf(from);
  std::vector<std::byte> data(items.size() * type.size());
  const std::span<std::byte> out(data);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto number = AsNumber(*items[i], from.type, type);
    if (!number) return false;
    if (!model::EncodeElement(type, *number, out.subspan(i * type.size(), type.size()))) {
      return false;
    }
  }
  to.type = type;
  to.data = std::move(data);
  to.shape.clear();
  if (!IsScalar(from)) to.shape.push_back(items.size());
  return true;
}

// All elements in one dimension: netCDF-C refuses files with attributes of several.
Result<void> Encode(const model::Attribute& from, NewAttribute& to) {
  NDLFS_TRY(FlatType flat, Flatten(from.type));
  to.type = flat.type;
  const std::vector<const Value*> items = ItemsOf(from);
  if (!IsScalar(from)) to.shape.push_back(items.size());
  if (to.type.is_fixed_size()) {
    to.data.resize(items.size() * to.type.size());
    for (size_t i = 0; i < items.size(); ++i) {
      NDLFS_RETURN_IF_ERROR(model::EncodeElement(
          to.type, *items[i], std::span(to.data).subspan(i * to.type.size(), to.type.size())));
    }
    return {};
  }
  backends::ElementEncoder encoder(to.type, kMaxAttributeBytes);
  for (const Value* item : items) NDLFS_RETURN_IF_ERROR(encoder.AddElements(*item, 0));
  to.data = encoder.TakeBytes();
  return {};
}

NewAttribute TextsAttribute(const model::Attribute& from) {
  if (from.shape.empty() && from.value.text() != nullptr) {
    return MakeTextAttribute(NameOf(from.name), *from.value.text());
  }
  const std::vector<const Value*> items = ItemsOf(from);
  NewAttribute to;
  to.name = NameOf(from.name);
  to.type = Datatype::String();
  to.shape = {items.size()};
  backends::ElementEncoder encoder(to.type, kMaxAttributeBytes);
  for (const Value* item : items) {
    const bool is_text =
        item->text() != nullptr && item->text()->find('\0') == std::string::npos;
    if (!is_text || !encoder.AddElements(*item, 0)) {
      return MakeTextAttribute(to.name, model::WriteFlow(from.value, from.type));
    }
  }
  to.data = encoder.TakeBytes();
  return to;
}

NewAttribute MakeAttribute(const model::Attribute& from) {
  if (from.type.kind() == Kind::kString) return TextsAttribute(from);
  NewAttribute to;
  to.name = NameOf(from.name);
  if (HasWideFloat(from.type)) {
    if (from.type.kind() == Kind::kFloat && EncodeNumbers(from, Datatype::Float64(), to)) {
      return to;
    }
    return MakeTextAttribute(to.name, model::WriteFlow(from.value, from.type));
  }
  // Programs read numbers; many have no word for an attribute of a type of its own.
  const bool is_enum = from.type.kind() == Kind::kEnum;
  if (is_enum && EncodeNumbers(from, from.type.base().WithOrder(model::ByteOrder::kLittle), to))
    return to;
  if (!is_enum && Encode(from, to)) return to;
  return MakeTextAttribute(to.name, model::WriteFlow(from.value, from.type));
}

class AttributeList {
 public:
  bool Has(std::string_view name) const {
    return std::ranges::any_of(list_, [&](const NewAttribute& a) { return a.name == name; });
  }
  // A second one of a name that was changed gets another name.
  void Add(NewAttribute attribute) {
    const std::string base = attribute.name;
    for (int i = 2; Has(attribute.name); ++i) attribute.name = fmt::format("{}_{}", base, i);
    list_.push_back(std::move(attribute));
  }
  std::vector<NewAttribute> Take() { return std::move(list_); }

 private:
  std::vector<NewAttribute> list_;
};

// Adds the value that stands for missing elements of `type`.
void AddFillValue(AttributeList& list, const backends::Node& array, const Datatype& type) {
  auto value = backends::FillValueOf(array);
  if (!value && type.time()) value = Value(std::numeric_limits<int64_t>::min());  // NaT
  if (!value || list.Has("_FillValue")) return;
  NewAttribute fill;
  fill.name = "_FillValue";
  model::Attribute from;
  from.type = type;
  from.shape = {1};
  from.value = Value(Value::List{*std::move(value)});
  if (EncodeNumbers(from, type, fill)) list.Add(std::move(fill));
}

void AddTime(AttributeList& list, const model::TimeUnit& unit) {
  const std::string units = CfTimeUnits(unit);
  if (units.empty() || list.Has("units")) return;
  list.Add(MakeTextAttribute("units", units));
  if (!unit.is_delta && !list.Has("calendar")) {
    list.Add(MakeTextAttribute("calendar", "proleptic_gregorian"));
  }
}

// netCDF4-python and others decode characters by it.
void AddEncoding(AttributeList& list, Datatype type) {
  while (type.kind() == Kind::kArray) type = Datatype(type.base());
  const std::string encoding = EncodingOfText(type);
  if (encoding.empty() || list.Has("_Encoding")) return;
  list.Add(MakeTextAttribute("_Encoding", encoding));
}

}  // namespace

Result<FlatType> Flatten(const Datatype& type) {
  FlatType flat;
  Datatype element = type.WithOrder(model::ByteOrder::kLittle);
  while (element.kind() == Kind::kArray) {
    flat.inner.insert(flat.inner.end(), element.shape().begin(), element.shape().end());
    element = Datatype(element.base());
  }
  NDLFS_TRY(flat.type, Normalize(element));
  if (flat.type.kind() == Kind::kString && flat.type.is_fixed_size()) {
    if (flat.type.size() > 1) flat.inner.push_back(flat.type.size());
    flat.type = Datatype::FixedString(1, model::Charset::kAscii);
  }
  return flat;
}

bool IsCommitted(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kOpaque:
    case Kind::kEnum:
      return true;
    case Kind::kCompound:
    case Kind::kVlen:
      return !IsForeign(type);
    case Kind::kFloat:
      return type.size() == 1;  // opaque
    default:
      return false;
  }
}

void AddCommitted(const Datatype& type, std::vector<Datatype>& types) {
  switch (type.kind()) {
    case Kind::kCompound:
      for (const Datatype::Member& member : type.members()) AddCommitted(member.type, types);
      break;
    case Kind::kVlen:
    case Kind::kArray:
      AddCommitted(type.base(), types);
      break;
    default:
      break;
  }
  if (!IsCommitted(type) || types.size() >= kMaxCommitted) return;
  const bool is_known =
      std::ranges::any_of(types, [&](const Datatype& other) { return IsSame(other, type); });
  if (!is_known) types.push_back(type);
}

std::string NameOfType(const Datatype& type) {
  if (type.is_complex()) return fmt::format("complex{}", type.size() * 8);
  switch (type.kind()) {
    case Kind::kEnum:
      return type.is_bool() ? "bool" : "enum";
    case Kind::kOpaque:
      return fmt::format("opaque{}", type.size());
    case Kind::kVlen:
      return fmt::format("vlen_{}", type.base().keyword());
    default:
      return type.keyword();
  }
}

NewAttribute MakeTextAttribute(std::string name, std::string_view text) {
  const bool is_ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  NewAttribute attribute;
  attribute.name = std::move(name);
  attribute.type =
      Datatype::FixedString(std::max<size_t>(text.size(), 1),
                            is_ascii ? model::Charset::kAscii : model::Charset::kUtf8);
  attribute.data.resize(attribute.type.size());
  if (!text.empty()) std::memcpy(attribute.data.data(), text.data(), text.size());
  return attribute;
}

std::vector<NewAttribute> MakeAttributes(const std::vector<model::Attribute>& attributes) {
  AttributeList list;
  for (const model::Attribute& attribute : attributes) list.Add(MakeAttribute(attribute));
  return list.Take();
}

std::vector<NewAttribute> MakeAttributes(const backends::Node& array, const Datatype& type) {
  AttributeList list;
  const auto flat = Flatten(type);
  const Datatype& element = flat ? flat->type : type;
  const bool is_number = element.kind() == Kind::kInteger || element.kind() == Kind::kFloat;
  for (const model::Attribute& attribute : backends::AttributesOfMissing(array)) {
    NewAttribute same;
    same.name = attribute.name;
    const bool is_fill = attribute.name == "_FillValue";
    if (is_number && HasTypeOfVariable(attribute.name) &&
        !backends::IsLimitOfUnpacked(array, attribute) &&
        attribute.type.kind() != Kind::kString && EncodeNumbers(attribute, element, same)) {
      // netCDF has no scalar attributes.
      if (same.shape.empty()) same.shape.push_back(1);
      list.Add(std::move(same));
    } else if (is_fill && is_number && backends::FillValueOf(array)) {
      AddFillValue(list, array, element);  // it is text
    } else {
      list.Add(MakeAttribute(attribute));
    }
  }
  if (element.kind() == Kind::kInteger && element.time()) AddTime(list, *element.time());
  if (is_number) AddFillValue(list, array, element);
  AddEncoding(list, type);
  return list.Take();
}

bool HasWideFloat(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kFloat:
      return type.size() > 8;
    case Kind::kCompound:
      return std::ranges::any_of(type.members(), [](const Datatype::Member& member) {
        return HasWideFloat(member.type);
      });
    case Kind::kVlen:
    case Kind::kArray:
      return HasWideFloat(type.base());
    default:
      return false;
  }
}

}  // namespace ndlfs::fs::hdf5
