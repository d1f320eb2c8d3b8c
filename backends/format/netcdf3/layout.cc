// SPDX-License-Identifier: MIT
#include "backends/format/netcdf3/layout.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/utf32_text.h"
#include "model/utf8.h"

namespace ndlfs::backends::netcdf3 {
namespace {

constexpr uint32_t kDimensionTag = 0x0A;
constexpr uint32_t kVariableTag = 0x0B;
constexpr uint32_t kAttributeTag = 0x0C;
constexpr uint64_t kMaxHeader = uint64_t{64} << 20;
constexpr size_t kMaxName = 256;  // bytes: NC_MAX_NAME

// The limits of CDF-1 and CDF-2: lengths and offsets are signed 32-bit numbers; in CDF-2
// offsets are 64-bit ones.
constexpr uint64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
// A variable that is not the last one, and what a larger last one says instead.
constexpr uint64_t kMaxVsize = 0xFFFFFFFC;
constexpr uint64_t kLargeVsize = 0xFFFFFFFF;

constexpr uint64_t Padded(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

// Writes the header for one version.
class HeaderWriter {
 public:
  explicit HeaderWriter(int version) : version_(version) {}

  std::string Write(const Header& header) {
    text_ = {'C', 'D', 'F', static_cast<char>(version_)};
    Count(header.record_count);
    ListHead(kDimensionTag, header.dimensions.size());
    for (const Dimension& dimension : header.dimensions) {
      Name(dimension.name);
      Count(dimension.size);
    }
    Attributes(header.attributes);
    ListHead(kVariableTag, header.variables.size());
    for (const Variable& variable : header.variables) Add(variable);
    return std::move(text_);
  }

 private:
  void Big(uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
      text_.push_back(static_cast<char>(value >> shift));
    }
  }
  // NON_NEG of the grammar.
  void Count(uint64_t value) { Big(value, version_ == 5 ? 8 : 4); }

  void ListHead(uint32_t tag, uint64_t count) {
    Big(count == 0 ? 0 : tag, 4);
    Count(count);
  }

  void PaddedText(std::string_view bytes) {
    text_ += bytes;
    text_.append(Padded(bytes.size()) - bytes.size(), '\0');
  }

  void Name(std::string_view name) {
    Count(name.size());
    PaddedText(name);
  }

  void Attributes(const std::vector<Attribute>& attributes) {
    ListHead(kAttributeTag, attributes.size());
    for (const Attribute& attribute : attributes) {
      Name(attribute.name);
      Big(static_cast<uint8_t>(attribute.type), 4);
      Count(attribute.count);
      PaddedText(attribute.values);
    }
  }

  void Add(const Variable& variable) {
    Name(variable.name);
    Count(variable.dimensions.size());
    for (const uint64_t dimension : variable.dimensions) Count(dimension);
    Attributes(variable.attributes);
    Big(static_cast<uint8_t>(variable.type), 4);
    const uint64_t vsize = Padded(variable.bytes);
    Count(version_ != 5 && vsize > kMaxVsize ? kLargeVsize : vsize);
    Big(variable.begin, version_ == 1 ? 4 : 8);
  }

  const int version_;
  std::string text_;
};

// Sets `bytes` and `is_record`; false where the bytes are too many.
bool MeasureVariable(const Header& header, Variable& variable) {
  variable.is_record = !variable.dimensions.empty() && header.record_dimension &&
                       variable.dimensions.front() == *header.record_dimension;
  std::optional<uint64_t> bytes = SizeOf(variable.type);
  for (size_t d = variable.is_record ? 1 : 0; d < variable.dimensions.size() && bytes; ++d) {
    bytes = CheckedMultiply(*bytes, header.dimensions[variable.dimensions[d]].size);
  }
  if (!bytes || *bytes > kMaxViewSize) return false;
  variable.bytes = *bytes;
  return true;
}

// Variables of so many bytes begin and end with blocks of their own, which makes the file
// larger by a thirtieth at most.
constexpr uint64_t kLarge = 32 * kReadBlock;

uint64_t NextBlock(uint64_t offset) {
  return (offset + kReadBlock - 1) / kReadBlock * kReadBlock;
}

// A file whose header lies in a block with values could not be opened where these cannot be
// read.
uint64_t EndOfHeader(const Header& header, uint64_t least) {
  const uint64_t bytes = std::max(header.header_bytes, least);
  const bool has_values = std::ranges::any_of(header.variables, [](const Variable& variable) {
    return !variable.is_record && variable.bytes != 0;
  });
  return has_values ? NextBlock(bytes) : bytes;
}

// The bytes from one record to the next. If there is a single variable, records have no
// padding.
uint64_t RecordStride(const Header& header) {
  const auto count = std::ranges::count(header.variables, true, &Variable::is_record);
  uint64_t stride = 0;
  for (const Variable& variable : header.variables) {
    if (variable.is_record) stride += count == 1 ? variable.bytes : Padded(variable.bytes);
  }
  return stride;
}

// Lays the values behind a header of `header_bytes`: first those without records. Behind them
// the variables of a record have their places one after the other, as libraries demand, also
// where there are no records. False where the file would be too large.
bool PlaceVariables(Header& header, uint64_t least_header) {
  uint64_t end = EndOfHeader(header, least_header);
  for (const bool record : {false, true}) {
    bool was_large = false;
    for (Variable& variable : header.variables) {
      if (variable.is_record != record) continue;
      const bool is_large = !record && variable.bytes >= kLarge;
      variable.begin = is_large || was_large ? NextBlock(end) : end;
      const auto next = CheckedAdd(variable.begin, Padded(variable.bytes));
      if (!next || *next > kMaxViewSize) return false;
      end = *next;
      was_large = is_large;
    }
    if (!record) header.file_bytes = end;
  }
  header.record_stride = RecordStride(header);
  const auto records = CheckedMultiply(header.record_stride, header.record_count);
  const auto file_bytes = records ? CheckedAdd(header.file_bytes, *records) : std::nullopt;
  if (!file_bytes || *file_bytes > kMaxViewSize) return false;
  header.file_bytes = *file_bytes;
  return true;
}

bool HasTypesOfCdf5(const Header& header) {
  const auto needs = [](const auto& thing) { return NeedsCdf5(thing.type); };
  return std::ranges::any_of(header.attributes, needs) ||
         std::ranges::any_of(header.variables, [&](const Variable& variable) {
           return needs(variable) || std::ranges::any_of(variable.attributes, needs);
         });
}

// Whether the sizes of variables are within the limits of CDF-1 or CDF-2: one that is larger
// must be the last of its kind, and no records may follow it.
bool HoldsSizes(const Header& header, uint64_t most) {
  const auto count = [&](bool record) {
    return std::ranges::count(header.variables, record, &Variable::is_record);
  };
  auto left = std::pair(count(false), count(true));
  const bool has_records = left.second != 0;
  for (const Variable& variable : header.variables) {
    const auto after = --(variable.is_record ? left.second : left.first);
    if (Padded(variable.bytes) <= most) continue;
    if (after != 0 || (has_records && !variable.is_record)) return false;
  }
  return true;
}

// Whether the version holds what has been laid out for it.
bool Holds(const Header& header) {
  if (header.version == 5) return true;
  const auto too_long = [](const Dimension& dimension) { return dimension.size > kMaxInt32; };
  if (HasTypesOfCdf5(header) || header.record_count > kMaxInt32 ||
      std::ranges::any_of(header.dimensions, too_long)) {
    return false;
  }
  // In CDF-1 one variable may reach beyond 2 GiB, but programs fail over that.
  if (header.version == 1) {
    return header.file_bytes <= kMaxInt32 &&
           std::ranges::all_of(header.variables, [](const Variable& variable) {
             return variable.begin <= kMaxInt32 && Padded(variable.bytes) <= kMaxInt32 - 3;
           });
  }
  return HoldsSizes(header, kMaxVsize);
}

model::Result<std::string> LayOutAs(int version, Header& header, uint64_t least_header) {
  header.version = version;
  // How long it is does not depend on the places.
  header.header_bytes = HeaderWriter(version).Write(header).size();
  if (header.header_bytes > kMaxHeader) {
    return model::Limit("a netCDF header of {} bytes, more than {}", header.header_bytes,
                        kMaxHeader);
  }
  if (!PlaceVariables(header, least_header))
    return model::Limit("more than {} bytes of values", kMaxViewSize);
  return HeaderWriter(version).Write(header);
}

bool IsAllowedFirst(unsigned char byte) {
  return byte >= 0x80 || byte == '_' || (byte >= '0' && byte <= '9') ||
         (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z');
}

// The largest length, up to `most`, that cuts no character of `text` in two.
size_t CutAtCharacter(std::string_view text, size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return most;
}

}  // namespace

bool NeedsCdf5(Type type) { return type >= Type::kUByte; }

model::Result<std::string> LayOut(Header& header, uint64_t least_header, int least_version) {
  for (Variable& variable : header.variables) {
    if (!MeasureVariable(header, variable)) {
      return model::Limit("{}: more than {} bytes of values", model::Quote(variable.name),
                          kMaxViewSize);
    }
  }
  for (const int version : {1, 2}) {
    if (version < least_version) continue;
    NDLFS_TRY(std::string text, LayOutAs(version, header, least_header));
    if (Holds(header)) return text;
  }
  return LayOutAs(5, header, least_header);
}

std::string ValidName(std::string_view name) {
  std::string valid = ComposeCharacters(model::AsUtf8(name));
  for (char& c : valid) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '/') c = '_';
  }
  if (valid.empty() || !IsAllowedFirst(static_cast<unsigned char>(valid.front()))) {
    valid.insert(0, "_");
  }
  valid.resize(CutAtCharacter(valid, kMaxName));
  for (size_t i = valid.size(); i > 0 && valid[i - 1] == ' '; --i) valid[i - 1] = '_';
  return valid;
}

}  // namespace ndlfs::backends::netcdf3
