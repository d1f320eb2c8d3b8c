// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backends/base/element_stream.h"
#include "backends/format/netcdf3/layout.h"
#include "model/ndl/ndl_writer.h"
#include "model/utf8.h"
#include "model/value.h"

namespace ndlfs::fs {
namespace {

using backends::hdf5::NewAttribute;
using backends::hdf5::NewObject;
using backends::netcdf3::ValidName;
using model::Datatype;
using model::Value;
using TypeKind = Datatype::Kind;

// The character that `bytes` are, in XML. It has all that data.h5 has, but for the control
// characters that XML does not allow; these become U+FFFD.
std::string XmlCharacter(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  switch (first) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':  // a parser would make '\n' of it
      return "&#13;";
    default:
      break;
  }
  const bool is_forbidden = (first < 0x20 && first != '\n' && first != '\t') ||
                            bytes == "\uFFFE" || bytes == "\uFFFF";
  return is_forbidden ? "\uFFFD" : std::string(bytes);
}

// `text` as the text of an element. Bytes that are not UTF-8 are taken as Latin-1, as in all
// other views.
std::string XmlText(std::string_view text) {
  const std::string sound = model::AsUtf8(text);
  std::string out;
  for (std::string_view rest = sound; !rest.empty();) {
    const size_t length = model::Utf8SequenceLength(rest);
    out += XmlCharacter(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return out;
}

// `text` as the value of an XML attribute; a parser makes blanks of other white space.
std::string AttributeText(std::string_view text) {
  std::string out;
  for (const char c : XmlText(text)) {
    if (c == '\n' || c == '\t') {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// The values of an attribute as texts.
struct AttributeValues {
  std::string_view type;
  std::vector<std::string> values;
};

// netCDF-C 4.9 changes the last bits of attributes of type Float32, except in the way to a
// double. So these are Float64.
std::string_view AttributeTypeName(const Datatype& type) {
  if (type.kind() == TypeKind::kString) return "String";
  if (type.kind() == TypeKind::kEnum) return Dap4TypeName(type.base());
  return type.kind() == TypeKind::kFloat && type.size() <= sizeof(double) ? "Float64"
                                                                          : Dap4TypeName(type);
}

// nullopt for an element that is no number or text.
std::optional<std::string> ElementText(const Datatype& type, const Value& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.integer() != nullptr) return model::FormatInteger(*value.integer());
  if (value.real() == nullptr) return std::nullopt;
  // "nan", "inf" and "-inf", which all clients read.
  return type.size() == sizeof(double) || type.size() == sizeof(float)
             ? model::FormatFloat(*value.real(), false)
             : model::FormatFloat(type, *value.real(), false);
}

// Takes the first element from `rest`, which is as NewAttribute::data.
model::Result<Value> TakeValue(const Datatype& type, backends::ConstByteSpan& rest) {
  if (!type.is_fixed_size()) return backends::TakeElement(type, rest);
  if (type.size() == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_TRY(const auto bytes, backends::TakeBytes(rest, type.size()));
  return model::DecodeElement(type, bytes);
}

AttributeValues ValuesOf(const NewAttribute& attribute) {
  AttributeValues out{.type = AttributeTypeName(attribute.type), .values = {}};
  backends::ConstByteSpan rest(attribute.data);
  bool is_sound = true;
  while (!rest.empty()) {
    const auto value = TakeValue(attribute.type, rest);
    if (!value) break;
    std::optional<std::string> text;
    if (!out.type.empty()) text = ElementText(attribute.type, *value);
    is_sound = is_sound && text;
    out.values.push_back(text ? *std::move(text) : model::WriteFlow(*value, attribute.type));
  }
  if (!is_sound) out.type = "String";
  return out;
}

void WriteAttribute(std::string& out, std::string_view name, const AttributeValues& values) {
  fmt::format_to(std::back_inserter(out), "<Attribute name=\"{}\" type=\"{}\"",
                 AttributeText(ValidName(name)), values.type);
  // netCDF-C 4.9 reads this first, and takes entities and backslashes in elements for texts.
  const bool is_special = values.type == "String" && values.values.size() == 1 &&
                          values.values[0].find_first_of("<>&\"'\\") != std::string::npos;
  if (is_special) out += " value=\"" + AttributeText(values.values[0]) + '"';
  out += '>';
  for (const std::string& value : values.values) out += "<Value>" + XmlText(value) + "</Value>";
  out += "</Attribute>\n";
}

// Writes a DMR. Declarations come in the order that netCDF-C needs, which looks names up while
// it reads.
class DmrWriter {
 public:
  explicit DmrWriter(const Dap4Dataset& dataset) : dataset_(dataset) {
    for (uint32_t i = 1; i < objects().size(); ++i) children_[objects()[i].parent].push_back(i);
    for (const Dap4Variable& variable : dataset.variables) {
      variables_.emplace(variable.object, &variable);
      for (uint32_t group = objects()[variable.object].parent;;
           group = objects()[group].parent) {
        groups_.insert(group);
        if (group == 0) break;
      }
      NoteDimensions(variable);
    }
  }

  std::string Write() {
    out_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<Dataset xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" dapVersion=\"4.0\" "
        "dmrVersion=\"1.0\" name=\"dataset\">\n";
    WriteGroup(0);
    if (!dataset_.left_out.empty()) {
      WriteAttribute(out_, backends::hdf5::kLeftOutAttribute, {"String", {dataset_.left_out}});
    }
    return std::move(out_) + "</Dataset>\n";
  }

 private:
  const std::vector<NewObject>& objects() const { return dataset_.objects(); }

  // Whether the variable has dimension `d` whole.
  bool IsWhole(const Dap4Variable& variable, size_t d) const {
    return !variable.selection ||
           (*variable.selection)[d] == WholeRange(objects()[variable.object].shape[d]);
  }

  void NoteDimensions(const Dap4Variable& variable) {
    const NewObject& object = objects()[variable.object];
    for (size_t d = 0; d < object.scales.size(); ++d) {
      if (IsWhole(variable, d)) dimensions_.insert(object.scales[d]);
    }
  }

  std::string PathOf(uint32_t number) const { return Dap4PathOf(dataset_, number); }

  std::string NameAttribute(uint32_t number) const {
    return fmt::format(" name=\"{}\"", AttributeText(dataset_.names[number]));
  }

  void WriteGroup(uint32_t group) {
    const auto& children = children_[group];
    for (const uint32_t child : children) WriteDimension(child);
    for (const uint32_t child : children) WriteEnumeration(child);
    for (const uint32_t child : children) WriteVariable(child);
    for (const uint32_t child : children) {
      const bool is_group = objects()[child].kind == NewObject::Kind::kGroup;
      if (!is_group || (!dataset_.is_whole && !groups_.contains(child))) continue;
      out_ += "<Group" + NameAttribute(child) + ">\n";
      WriteGroup(child);
      out_ += "</Group>\n";
    }
    for (const NewAttribute& attribute : objects()[group].attributes) {
      WriteAttribute(out_, attribute.name, ValuesOf(attribute));
    }
    if (group != 0) WriteTrueName(group);
  }

  void WriteDimension(uint32_t number) {
    const NewObject& object = objects()[number];
    const bool is_dimension = object.kind == NewObject::Kind::kDimension || object.is_scale;
    if (!is_dimension || (!dataset_.is_whole && !dimensions_.contains(number))) return;
    fmt::format_to(std::back_inserter(out_), "<Dimension{} size=\"{}\"{}/>\n",
                   NameAttribute(number), object.shape[0],
                   object.is_unlimited ? " _edu.ucar.isunlimited=\"1\"" : "");
  }

  void WriteEnumeration(uint32_t number) {
    const NewObject& object = objects()[number];
    if (object.kind != NewObject::Kind::kDatatype || object.type.kind() != TypeKind::kEnum)
      return;
    fmt::format_to(std::back_inserter(out_), "<Enumeration{} basetype=\"{}\">",
                   NameAttribute(number), Dap4TypeName(object.type.base()));
    for (const Datatype::Constant& constant : object.type.constants()) {
      fmt::format_to(std::back_inserter(out_), "<EnumConst name=\"{}\" value=\"{}\"/>",
                     AttributeText(ValidName(constant.name)),
                     model::FormatInteger(constant.value));
    }
    out_ += "</Enumeration>\n";
    enums_.emplace_back(object.type, PathOf(number));
  }

  void WriteVariable(uint32_t number) {
    const auto found = variables_.find(number);
    if (found == variables_.end()) return;
    const Datatype& type = objects()[number].type;
    switch (type.kind()) {
      case TypeKind::kCompound:
        return WriteElement("Structure", NameAttribute(number), *found->second,
                            MembersOf(type));
      case TypeKind::kEnum:
        return WriteElement(
            "Enum", NameAttribute(number) + " enum=\"" + AttributeText(EnumNameOf(type)) + '"',
            *found->second, {});
      case TypeKind::kOpaque:
        return WriteElement("UInt8", NameAttribute(number), *found->second, {});
      default:
        return WriteElement(Dap4TypeName(type), NameAttribute(number), *found->second, {});
    }
  }

  static std::string MembersOf(const Datatype& type) {
    std::string out;
    for (const Datatype::Member& member : type.members()) {
      const bool is_compound = member.type.kind() == TypeKind::kCompound;
      const std::string_view element = is_compound ? "Structure" : Dap4TypeName(member.type);
      fmt::format_to(std::back_inserter(out), "<{0} name=\"{1}\">{2}</{0}>", element,
                     AttributeText(ValidName(member.name)),
                     is_compound ? MembersOf(member.type) : "");
    }
    return out;
  }

  std::string EnumNameOf(const Datatype& type) const {
    const auto found = std::ranges::find_if(enums_, [&](const auto& known) {
      return known.first == type && known.first.SameLayout(type);
    });
    return found == enums_.end() ? "" : found->second;
  }

  void WriteElement(std::string_view element, const std::string& attributes,
                    const Dap4Variable& variable, const std::string& members) {
    const NewObject& object = objects()[variable.object];
    fmt::format_to(std::back_inserter(out_), "<{}{}>{}", element, attributes, members);
    for (size_t d = 0; d < variable.shape.size(); ++d) {
      if (d < object.scales.size() && IsWhole(variable, d)) {
        out_ += "<Dim name=\"" + AttributeText(PathOf(object.scales[d])) + "\"/>";
      } else {
        fmt::format_to(std::back_inserter(out_), "<Dim size=\"{}\"/>", variable.shape[d]);
      }
    }
    if (object.type.kind() == TypeKind::kOpaque) {
      fmt::format_to(std::back_inserter(out_), "<Dim size=\"{}\"/>", object.type.size());
    }
    WriteAttributesOf(variable.object);
    fmt::format_to(std::back_inserter(out_), "</{}>\n", element);
  }

  // Writes the true name of an object whose name data.h5 allows and DAP 4 does not.
  void WriteTrueName(uint32_t number) {
    const NewObject& object = objects()[number];
    const bool is_told = std::ranges::any_of(
        object.attributes, [](const NewAttribute& one) { return one.name == hdf5::kTrueName; });
    const std::string& name = dataset_.names[number];
    const bool is_true =
        object.name == name || object.name == std::string(hdf5::kNoCoordinate) + name;
    if (is_told || is_true) return;
    WriteAttribute(out_, hdf5::kTrueName, {"String", {object.name}});
  }

  void WriteAttributesOf(uint32_t number) {
    const NewObject& object = objects()[number];
    const NewAttribute* fill = nullptr;
    bool has_missing_value = false;
    for (const NewAttribute& attribute : object.attributes) {
      has_missing_value = has_missing_value || attribute.name == "missing_value";
      if (attribute.name == "_FillValue") {
        fill = &attribute;
      } else {
        WriteAttribute(out_, attribute.name, ValuesOf(attribute));
      }
    }
    if (fill != nullptr) WriteFill(object.type, *fill, has_missing_value);
    WriteTrueName(number);
  }

  // `_FillValue` has to be of the type of its variable. netCDF-C 4.9 knows none for enums, and
  // changes the last bits of floats. Programs then find fill values by `missing_value`.
  void WriteFill(const Datatype& type, const NewAttribute& fill, bool has_missing_value) {
    const bool is_enum = type.kind() == TypeKind::kEnum && fill.type == type.base();
    const bool is_number =
        (type.kind() == TypeKind::kInteger || type.kind() == TypeKind::kFloat) &&
        fill.type == type;
    if (!is_enum && !is_number) return;
    const AttributeValues values = ValuesOf(fill);
    if (is_number) WriteAttribute(out_, fill.name, {Dap4TypeName(type), values.values});
    const bool is_rounded = type.kind() == TypeKind::kFloat && type.size() < sizeof(double);
    if ((is_enum || is_rounded) && !has_missing_value) {
      WriteAttribute(out_, "missing_value", values);
    }
  }

  const Dap4Dataset& dataset_;
  std::map<uint32_t, std::vector<uint32_t>> children_;
  std::map<uint32_t, const Dap4Variable*> variables_;
  std::set<uint32_t> groups_;      // that hold one of them
  std::set<uint32_t> dimensions_;  // that one of them has whole
  std::vector<std::pair<Datatype, std::string>> enums_;
  std::string out_;
};

}  // namespace

std::string WriteDmr(const Dap4Dataset& dataset) { return DmrWriter(dataset).Write(); }

}  // namespace ndlfs::fs
