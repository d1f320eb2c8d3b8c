// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "backends/base/load_number.h"

namespace ndlfs::fs {
namespace {

using backends::netcdf3::Attribute;
using backends::netcdf3::Type;
using Kind = DapDeclaration::Kind;

void WriteArray(std::string& out, const DapDataset& dataset, const DapMember& member,
                std::string_view indent) {
  const DapVariable& variable = dataset.variables[member.variable];
  fmt::format_to(std::back_inserter(out), "{}{} {}", indent, DapTypeName(variable.type),
                 variable.name);
  for (size_t d = 0; d < variable.dimensions.size(); ++d) {
    fmt::format_to(std::back_inserter(out), "[{} = {}]", variable.dimensions[d].name,
                   member.selection[d].count);
  }
  out += ";\n";
}

void WriteDeclaration(std::string& out, const DapDataset& dataset,
                      const DapDeclaration& declaration) {
  const std::string& name = dataset.variables[declaration.variable].name;
  const auto& members = declaration.members;
  switch (declaration.kind) {
    case Kind::kArray:
      WriteArray(out, dataset, members[0], "    ");
      return;
    case Kind::kGrid:
      out += "    Grid {\n      ARRAY:\n";
      WriteArray(out, dataset, members[0], "        ");
      out += "      MAPS:\n";
      for (size_t i = 1; i < members.size(); ++i) {
        WriteArray(out, dataset, members[i], "        ");
      }
      break;
    case Kind::kStructure:
      out += "    Structure {\n";
      for (const DapMember& member : members) WriteArray(out, dataset, member, "        ");
      break;
  }
  out += "    } " + name + ";\n";
}

std::string RealText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return fmt::format("{}", value);
}

void WriteAttribute(std::string& out, const Attribute& attribute) {
  const DapType type = DapTypeOf(attribute.type);
  fmt::format_to(std::back_inserter(out), "        {} {} ", DapTypeName(type),
                 DapName(attribute.name));
  if (type == DapType::kString) {
    out += DapStringText(attribute.values);
  } else {
    const uint64_t size = backends::netcdf3::SizeOf(attribute.type);
    for (uint64_t at = 0; at + size <= attribute.values.size(); at += size) {
      if (at != 0) out += ", ";
      out += DapNumberText(std::string_view(attribute.values).substr(at, size), attribute.type);
    }
  }
  out += ";\n";
}

void WriteAttributes(std::string& out, const std::vector<Attribute>& attributes) {
  for (const Attribute& attribute : attributes) {
    const bool is_empty =
        attribute.values.empty() && DapTypeOf(attribute.type) != DapType::kString;
    if (!is_empty) WriteAttribute(out, attribute);
  }
}

}  // namespace

std::string DapNumberText(std::string_view bytes, Type type) {
  const uint64_t bits = backends::LoadNumber(backends::AsBytes(bytes));
  switch (type) {
    case Type::kByte:
      return fmt::format("{}", static_cast<int8_t>(bits));
    case Type::kShort:
      return fmt::format("{}", static_cast<int16_t>(bits));
    case Type::kInt:
      return fmt::format("{}", static_cast<int32_t>(bits));
    case Type::kInt64:
      return fmt::format("{}", static_cast<int64_t>(bits));
    case Type::kFloat: {
      const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      return std::isfinite(value) ? fmt::format("{}", value) : RealText(value);
    }
    case Type::kDouble:
      return RealText(std::bit_cast<double>(bits));
    default:
      return fmt::format("{}", bits);
  }
}

std::string DapStringText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, text.find('\0'))) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string WriteDds(const DapDataset& dataset,
                     const std::vector<DapDeclaration>& declarations) {
  std::string out = "Dataset {\n";
  for (const DapDeclaration& declaration : declarations) {
    WriteDeclaration(out, dataset, declaration);
  }
  return out + "} " + dataset.name + ";\n";
}

std::string WriteDas(const DapDataset& dataset) {
  std::string out = "Attributes {\n";
  for (const DapVariable& variable : dataset.variables) {
    out += "    " + variable.name + " {\n";
    WriteAttributes(out, variable.attributes);
    // netCDF-C makes a dimension of the length of texts out of these.
    if (variable.type == DapType::kString) {
      out += fmt::format("        Int32 DODS.strlen {};\n", variable.string_length);
      if (!variable.string_dimension.empty()) {
        out += "        String DODS.dimName \"" + variable.string_dimension + "\";\n";
      }
    }
    out += "    }\n";
  }
  out += "    NC_GLOBAL {\n";
  WriteAttributes(out, dataset.attributes);
  return out + "    }\n}\n";
}

std::optional<DapFileName> ParseDapFileName(std::string_view name,
                                            std::span<const std::string_view> extensions) {
  constexpr std::string_view kStem = "data";
  if (!name.starts_with(kStem)) return std::nullopt;
  name.remove_prefix(kStem.size());
  for (size_t i = 0; i < extensions.size(); ++i) {
    if (!name.ends_with(extensions[i])) continue;
    name.remove_suffix(extensions[i].size());
    if (name.empty()) return DapFileName{.constraint = {}, .extension = i};
    if (!name.starts_with('[') || !name.ends_with(']')) return std::nullopt;
    return DapFileName{.constraint = name.substr(1, name.size() - 2), .extension = i};
  }
  return std::nullopt;
}

}  // namespace ndlfs::fs
