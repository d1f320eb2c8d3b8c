// SPDX-License-Identifier: MIT
#include "backends/base/numpy_dtype.h"

#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "backends/base/checked.h"
#include "model/number_text.h"

namespace ndlfs::backends {
namespace {

using model::BadInput;
using model::ByteOrder;
using model::Charset;
using model::Datatype;
using model::Quote;

// NumPy stores the size of an element in a C int.
constexpr uint64_t kMaxItemSize = 0x7fffffff;
constexpr size_t kMaxRank = 64;

// Words that NumPy accepts instead of a kind and a size.
constexpr std::array<std::pair<std::string_view, std::string_view>, 44> kWords = {{
    {"?", "b1"},         {"bool", "b1"},        {"b", "i1"},           {"B", "u1"},
    {"h", "i2"},         {"H", "u2"},           {"i", "i4"},           {"I", "u4"},
    {"l", "i8"},         {"L", "u8"},           {"q", "i8"},           {"Q", "u8"},
    {"p", "i8"},         {"P", "u8"},           {"e", "f2"},           {"f", "f4"},
    {"d", "f8"},         {"g", "f16"},          {"F", "c8"},           {"D", "c16"},
    {"G", "c32"},        {"S", "S0"},           {"U", "U0"},           {"V", "V0"},
    {"int8", "i1"},      {"int16", "i2"},       {"int32", "i4"},       {"int64", "i8"},
    {"uint8", "u1"},     {"uint16", "u2"},      {"uint32", "u4"},      {"uint64", "u8"},
    {"float16", "f2"},   {"float32", "f4"},     {"float64", "f8"},     {"float128", "f16"},
    {"complex64", "c8"}, {"complex128", "c16"}, {"complex256", "c32"}, {"int", "i8"},
    {"float", "f8"},     {"complex", "c16"},    {"M", "M8"},           {"m", "m8"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kTimeWords = {{
    {"datetime64", "M8"},  // "datetime64[ns]", too
    {"timedelta64", "m8"},
}};

std::string ReplaceWord(std::string_view text) {
  for (const auto& [word, typestr] : kWords) {
    if (text == word) return std::string(typestr);
  }
  for (const auto& [word, typestr] : kTimeWords) {
    if (text.starts_with(word)) return std::string(typestr) += text.substr(word.size());
  }
  return std::string(text);
}

model::Failure NotAType(std::string_view typestr) {
  return BadInput("{} is not a NumPy type", Quote(typestr));
}

model::Failure TooLarge() {
  return model::Limit("elements of more than {} bytes", kMaxItemSize);
}

// Reads "[25s]", "[ns]" or an empty text.
std::optional<model::TimeUnit> ParseTimeUnit(std::string_view text, bool is_delta) {
  constexpr std::array<std::string_view, 14> kUnits = {
      "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (text.empty()) return model::TimeUnit{"generic", 1, is_delta};
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const uint64_t scale = model::TakeNumber<uint64_t>(text).value_or(1);
  if (scale > kMaxItemSize) return std::nullopt;
  if (text == "\xce\xbcs") text = "us";
  for (const std::string_view unit : kUnits) {
    if (text != unit) continue;
    return model::TimeUnit{std::string(unit), static_cast<int64_t>(scale), is_delta};
  }
  return std::nullopt;
}

// Floats of 12 and 16 bytes are the long double of x86: 10 bytes and padding.
std::string FloatName(uint64_t bytes) { return fmt::format("float{}", bytes * 8); }

std::optional<Datatype> MakeNumber(char kind, uint64_t bytes, ByteOrder order) {
  const bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  switch (kind) {
    case 'b':
      if (bytes == 1) return Datatype::Bool();
      return std::nullopt;
    case 'i':
    case 'u':
      if (whole) return Datatype::Integer(bytes, kind == 'i', order);
      return std::nullopt;
    case 'f':
      if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 12 && bytes != 16) break;
      return Datatype::Float(FloatName(bytes), bytes, order);
    case 'c':
      if (bytes == 8 || bytes == 16) return Datatype::Complex(bytes, order);
      if (bytes != 24 && bytes != 32) break;
      {
        const auto part = MakeNumber('f', bytes / 2, order);
        return Datatype::PackedCompound({{"r", *part}, {"i", *part}});
      }
    default:
      break;
  }
  return std::nullopt;
}

model::Result<Datatype> MakeFlexible(char kind, uint64_t count, ByteOrder order) {
  const uint64_t width = kind == 'U' ? 4 : 1;
  if (count > kMaxItemSize / width) return TooLarge();
  const size_t bytes = count * width;
  if (kind == 'V') return Datatype::Opaque(bytes);
  if (kind == 'S') return Datatype::FixedString(bytes, Charset::kAscii);
  return Datatype::FixedString(bytes, Charset::kUtf32, model::TextPadding::kNull, order);
}

ByteOrder TakeOrder(std::string_view& text) {
  if (text.empty()) return ByteOrder::kLittle;
  const char first = text.front();
  if (first == '<' || first == '>' || first == '|' || first == '=') text.remove_prefix(1);
  return first == '>' ? ByteOrder::kBig : ByteOrder::kLittle;
}

class DtypeBuilder {
 public:
  model::Result<Datatype> Build(const NumpyDescr& descr) {
    switch (descr.kind) {
      case NumpyDescr::Kind::kTypestr:
        return NumpyDtype(descr.typestr);
      case NumpyDescr::Kind::kSubarray:
        return BuildSubarray(descr);
      case NumpyDescr::Kind::kFields:
        break;
    }
    return BuildStruct(descr.fields);
  }

 private:
  model::Result<Datatype> BuildSubarray(const NumpyDescr& descr) {
    NDLFS_TRY(const Datatype base, Build(descr.base.front()));
    if (descr.shape.size() > kMaxRank) {
      return model::Limit("a subarray of {} dimensions", descr.shape.size());
    }
    const auto length = CheckedProduct(descr.shape);
    const auto bytes = CheckedProduct(descr.shape, base.size());
    if (!length || !bytes || *bytes > kMaxItemSize) return TooLarge();
    return CheckDepth(Datatype::Array(base, descr.shape));
  }

  model::Result<Datatype> BuildStruct(const std::vector<NumpyField>& fields) {
    std::vector<Datatype::Member> members;
    std::unordered_set<std::string> names;
    uint64_t offset = 0;
    for (size_t i = 0; i < fields.size(); ++i) {
      std::string name = fields[i].name;
      NDLFS_TRY(Datatype type, Build(fields[i].type), "field " + Quote(fields[i].name));
      const size_t begin = offset;
      offset += type.size();
      if (offset > kMaxItemSize) return TooLarge();
      if (name.empty() && IsPadding(type)) continue;
      if (name.empty()) name = fmt::format("f{}", i);
      if (!names.insert(name).second) {
        return BadInput("two fields are called {}", Quote(name));
      }
      members.push_back({std::move(name), std::move(type), begin});
    }
    return CheckDepth(Datatype::Compound(std::move(members), offset));
  }

  static bool IsPadding(const Datatype& type) {
    if (type.kind() == Datatype::Kind::kArray) return IsPadding(type.base());
    return type.kind() == Datatype::Kind::kOpaque;
  }

  static model::Result<Datatype> CheckDepth(Datatype type) {
    if (type.depth() <= Datatype::kMaxDepth) return type;
    return model::Limit("types nested more than {} deep", Datatype::kMaxDepth);
  }
};

bool IsShape(const Json& json) {
  if (!json.is_array()) return false;
  for (const Json& item : json) {
    if (!item.is_number_integer()) return false;
  }
  return true;
}

model::Result<std::string> FieldNameFromJson(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array() && json.size() == 2 && json[1].is_string()) {
    return json[1].get<std::string>();  // after its title
  }
  return BadInput("expected the name of a field, found {}", DescribeJson(json));
}

model::Result<std::vector<uint64_t>> ShapeFromJson(const Json& json) {
  if (!json.is_number()) return JsonToSizes(json);
  NDLFS_TRY(const uint64_t extent, JsonToSize(json));
  if (extent == 1) return std::vector<uint64_t>();
  return std::vector<uint64_t>{extent};
}

model::Result<NumpyField> FieldFromJson(const Json& json) {
  if (!json.is_array() || json.size() < 2 || json.size() > 3) {
    return BadInput("expected [name, type] or [name, type, shape], found {}",
                    DescribeJson(json));
  }
  NDLFS_TRY(std::string name, FieldNameFromJson(json[0]));
  NDLFS_TRY(NumpyDescr type, NumpyDescrFromJson(json[1]), "field " + Quote(name));
  if (json.size() == 3) {
    NDLFS_TRY(auto shape, ShapeFromJson(json[2]), "field " + Quote(name));
    type = NumpySubarray(std::move(type), std::move(shape));
  }
  return NumpyField{std::move(name), std::move(type)};
}

}  // namespace

model::Result<Datatype> NumpyDtype(std::string_view typestr) {
  std::string_view text = typestr;
  const ByteOrder order = TakeOrder(text);
  const std::string spelled = ReplaceWord(text);
  text = spelled;
  if (text.empty()) return NotAType(typestr);
  const char kind = text.front();
  if (kind == 'O') {
    return model::Unsupported("elements are Python objects ({}), which are never unpickled",
                              Quote(typestr));
  }
  text.remove_prefix(1);
  const auto count = model::TakeNumber<uint64_t>(text);
  if (!count) return NotAType(typestr);
  if ((kind == 'M' || kind == 'm') && *count == 8) {
    auto unit = ParseTimeUnit(text, kind == 'm');
    if (!unit) return NotAType(typestr);
    return Datatype::Time(*std::move(unit), order);
  }
  if (!text.empty()) return NotAType(typestr);
  if (kind == 'S' || kind == 'U' || kind == 'V') return MakeFlexible(kind, *count, order);
  if (kind == 'a') return MakeFlexible('S', *count, order);
  if (auto number = MakeNumber(kind, *count, order)) return *std::move(number);
  return NotAType(typestr);
}

model::Result<Datatype> NumpyDtype(const NumpyDescr& descr) {
  return DtypeBuilder().Build(descr);
}

model::Storage NumpyStorage(const Datatype& stored) {
  model::Storage storage;
  storage.endian = stored.uniform_order();
  const Datatype* text = &stored;
  while (text->kind() == Datatype::Kind::kArray) text = &text->base();
  if (text->kind() == Datatype::Kind::kString) {
    storage.charset = text->charset() == Charset::kUtf32    ? "utf-32"
                      : text->charset() == Charset::kLatin1 ? "iso-8859-1"
                                                            : "ascii";
  }
  return storage;
}

NumpyDescr NumpySubarray(NumpyDescr base, std::vector<uint64_t> shape) {
  if (shape.empty()) return base;
  NumpyDescr descr;
  descr.kind = NumpyDescr::Kind::kSubarray;
  descr.base.push_back(std::move(base));
  descr.shape = std::move(shape);
  return descr;
}

model::Result<NumpyDescr> NumpyDescrFromJson(const Json& json) {
  NumpyDescr descr;
  if (json.is_string()) {
    descr.typestr = json.get<std::string>();
    return descr;
  }
  if (!json.is_array()) return BadInput("expected a NumPy type, found {}", DescribeJson(json));
  if (json.size() == 2 && json[0].is_string() && IsShape(json[1])) {
    NDLFS_TRY(descr, NumpyDescrFromJson(json[0]));
    NDLFS_TRY(auto shape, JsonToSizes(json[1]));
    return NumpySubarray(std::move(descr), std::move(shape));
  }
  descr.kind = NumpyDescr::Kind::kFields;
  for (const Json& item : json) {
    NDLFS_TRY(auto field, FieldFromJson(item));
    descr.fields.push_back(std::move(field));
  }
  return descr;
}

}  // namespace ndlfs::backends
