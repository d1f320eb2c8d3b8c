// SPDX-License-Identifier: MIT
#include "fs/view/array/npy_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/python_repr.h"
#include "model/utf8.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using Kind = Datatype::Kind;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;
// numpy.save leaves room for the first extent to grow to this many digits.
constexpr size_t kGrowthDigits = 21;
// A descr that would be longer (a type nested in itself many times over) is
// given up for '|V<size>'.
constexpr size_t kMaxDescr = size_t{16} << 20;

constexpr std::array<std::string_view, 13> kTimeUnits = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                         "ms", "us", "ns", "ps", "fs", "as"};

std::string VoidDescr(uint64_t size) { return fmt::format("'|V{}'", size); }

// datetime64 and timedelta64; an int64 where NumPy would not take the unit.
std::string TimeDescr(const model::TimeUnit& time) {
  const char code = time.is_delta ? 'm' : 'M';
  if (time.unit == "generic") return fmt::format("'<{}8'", code);
  const bool known =
      std::find(kTimeUnits.begin(), kTimeUnits.end(), time.unit) != kTimeUnits.end();
  if (!known || time.scale < 1 || time.scale > std::numeric_limits<int32_t>::max()) {
    return "'<i8'";
  }
  const std::string scale = time.scale == 1 ? "" : std::to_string(time.scale);
  return fmt::format("'<{}8[{}{}]'", code, scale, time.unit);
}

std::string IntegerDescr(const Datatype& type) {
  if (type.time()) return TimeDescr(*type.time());
  return fmt::format("'{}{}{}'", type.size() == 1 ? '|' : '<', type.is_signed() ? 'i' : 'u',
                     type.size());
}

// NumPy's float128 on x86: 80 bits in 16 bytes, which formats call either way.
bool IsLongDouble(const Datatype& type) {
  return type.kind() == Kind::kFloat && type.size() == 16 &&
         (type.keyword() == "float80" || type.keyword() == "float128");
}

std::string FloatDescr(const Datatype& type) {
  const std::string keyword = type.keyword();
  const bool known = keyword == "float16" || keyword == "float32" || keyword == "float64";
  return known || IsLongDouble(type) ? fmt::format("'<f{}'", type.size())
                                     : VoidDescr(type.size());
}

// r and i of long doubles, which Datatype::is_complex() does not count.
bool IsLongComplex(const Datatype& type) {
  if (type.kind() != Kind::kCompound || type.members().size() != 2) return false;
  const Datatype::Member& r = type.members()[0];
  const Datatype::Member& i = type.members()[1];
  return r.name == "r" && i.name == "i" && IsLongDouble(r.type) && IsLongDouble(i.type) &&
         r.offset == 0 && i.offset == r.type.size() && type.size() == 2 * r.type.size();
}

bool IsComplex(const Datatype& type) { return type.is_complex() || IsLongComplex(type); }

std::string TextDescr(const Datatype& type) {
  if (type.charset() != model::Charset::kUtf32) return fmt::format("'|S{}'", type.size());
  if (type.size() % 4 != 0) return VoidDescr(type.size());
  return fmt::format("'<U{}'", type.size() / 4);
}

// Takes array types apart: their innermost base, and all extents.
std::pair<Datatype, std::vector<uint64_t>> StripArrays(Datatype type) {
  std::vector<uint64_t> shape;
  while (type.kind() == Kind::kArray) {
    shape.insert(shape.end(), type.shape().begin(), type.shape().end());
    type = Datatype(type.base());
  }
  return {std::move(type), std::move(shape)};
}

// Whether a field list can say it: fields ascend without overlap, and their
// names are non-empty, distinct and text.
bool IsFieldList(const Datatype& compound) {
  size_t end = 0;
  std::set<std::string_view> names;
  for (const Datatype::Member& member : compound.members()) {
    if (member.offset < end || member.name.empty() || !model::IsUtf8(member.name) ||
        !names.insert(member.name).second ||
        StripArrays(member.type).second.size() > kMaxNpyRank) {
      return false;
    }
    end = member.offset + member.type.size();
  }
  return !compound.members().empty() && end <= compound.size();
}

bool AppendDescr(std::string& out, const Datatype& type);

void AppendPadding(std::string& out, size_t bytes) {
  if (bytes != 0) out += fmt::format("('', {}), ", VoidDescr(bytes));
}

bool AppendField(std::string& out, const Datatype::Member& member) {
  const auto [base, shape] = StripArrays(member.type);
  out += fmt::format("({}, ", PythonRepr(member.name));
  if (!AppendDescr(out, base)) return false;
  if (!shape.empty()) out += ", " + PythonTuple(shape);
  out += "), ";
  return true;
}

bool AppendFieldList(std::string& out, const Datatype& compound) {
  out += '[';
  size_t end = 0;
  for (const Datatype::Member& member : compound.members()) {
    AppendPadding(out, member.offset - end);
    if (!AppendField(out, member)) return false;
    end = member.offset + member.type.size();
  }
  AppendPadding(out, compound.size() - end);
  out.resize(out.size() - 2);  // the last ", "
  out += ']';
  return true;
}

std::string ScalarDescr(const Datatype& type) {
  switch (type.kind()) {
    case Kind::kInteger:
      return IntegerDescr(type);
    case Kind::kFloat:
      return FloatDescr(type);
    case Kind::kString:
      return TextDescr(type);
    case Kind::kEnum:
      return type.is_bool() ? "'|b1'" : ScalarDescr(type.base());
    default:
      return IsComplex(type) ? fmt::format("'<c{}'", type.size()) : VoidDescr(type.size());
  }
}

// False when the whole has become too long.
bool AppendDescr(std::string& out, const Datatype& type) {
  if (out.size() > kMaxDescr) return false;
  if (type.kind() == Kind::kCompound && !IsComplex(type) && IsFieldList(type)) {
    return AppendFieldList(out, type);
  }
  out += ScalarDescr(type);
  return true;
}

// Prefixes the version and the length of the header, and pads it.
std::string Wrap(std::string_view header, int major) {
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t before = kMagic.size() + 2 + length_bytes;
  // As in NumPy, there is always at least one blank before the newline.
  const size_t blanks = kAlignment - (before + header.size() + 1) % kAlignment;
  size_t length = header.size() + blanks + 1;
  std::string out(kMagic);
  out += static_cast<char>(major);
  out += '\0';
  for (size_t i = 0; i < length_bytes; ++i, length >>= 8) {
    out += static_cast<char>(length & 0xFF);
  }
  return out.append(header).append(blanks, ' ') + '\n';
}

}  // namespace

bool FitsNpy(const Datatype& dtype, std::span<const uint64_t> shape) {
  const auto [base, inner] = StripArrays(dtype);
  return base.is_fixed_size() && base.size() <= kMaxNpyItemSize &&
         shape.size() + inner.size() <= kMaxNpyRank;
}

std::string NpyDescr(const Datatype& type) {
  const Datatype base = StripArrays(type).first;
  std::string descr;
  return AppendDescr(descr, base) ? descr : VoidDescr(base.size());
}

std::string NpyHeader(const Datatype& dtype, std::span<const uint64_t> shape, bool is_fortran) {
  const auto [base, inner] = StripArrays(dtype);
  std::vector<uint64_t> extents(shape.begin(), shape.end());
  extents.insert(extents.end(), inner.begin(), inner.end());

  std::string header =
      fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", NpyDescr(base),
                  is_fortran ? "True" : "False", PythonTuple(extents));
  if (!extents.empty()) {
    header.append(
        kGrowthDigits - std::to_string((is_fortran ? extents.back() : extents.front())).size(),
        ' ');
  }
  // Version 1.0 where the header is Latin-1 and its length fits 16 bits, 2.0
  // where only the first is true, 3.0 (UTF-8) otherwise.
  std::string latin1;
  if (!model::Utf8ToLatin1(header, latin1)) return Wrap(header, 3);
  std::string wrapped = Wrap(latin1, 1);
  const size_t length = wrapped.size() - kMagic.size() - 4;
  return length <= 0xFFFF ? wrapped : Wrap(latin1, 2);
}

}  // namespace ndlfs::fs
