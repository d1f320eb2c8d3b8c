// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/format/netcdf3/header.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/row_text.h"
#include "fs/view/container/classic_arrays.h"
#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_request.h"
#include "fs/view/dap/dap_text.h"
#include "fs/view/elements/element_source.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::netcdf3::Type;
using model::Result;

void PutBig(uint64_t value, ByteSpan out) {
  for (size_t i = out.size(); i-- > 0; value >>= 8) out[i] = static_cast<std::byte>(value);
}

// The value of a signed number of `bytes` bytes.
int64_t Extend(uint64_t value, size_t bytes) {
  const unsigned shift = 64 - 8 * static_cast<unsigned>(bytes);
  return static_cast<int64_t>(value << shift) >> shift;
}

// How one value is encoded.
struct Encoding {
  uint64_t from = 1;  // bytes
  uint64_t to = 1;
  void (*encode)(ConstByteSpan value, ByteSpan out) = nullptr;
};

void EncodeSigned(ConstByteSpan value, ByteSpan out) {
  PutBig(static_cast<uint64_t>(Extend(backends::LoadNumber(value), value.size())), out);
}

void EncodeUnsigned(ConstByteSpan value, ByteSpan out) {
  PutBig(backends::LoadNumber(value), out);
}

template <typename Integer>
void EncodeDouble(ConstByteSpan value, ByteSpan out) {
  const auto integer = static_cast<Integer>(backends::LoadNumber(value));
  const auto real = static_cast<double>(integer);
  // A number that is rounded up to this one is no such integer any more.
  constexpr auto kEnd = 2.0 * static_cast<double>(std::numeric_limits<Integer>::max() / 2 + 1);
  const bool is_exact = real < kEnd && static_cast<Integer>(real) == integer;
  PutBig(std::bit_cast<uint64_t>(is_exact ? real : std::numeric_limits<double>::quiet_NaN()),
         out);
}

// Length, bytes, and zeros up to a multiple of four.
void EncodeString(ConstByteSpan value, ByteSpan out) {
  constexpr size_t kLength = 4;
  PutBig(value.size(), out.first(kLength));
  std::ranges::copy(value, out.begin() + kLength);
  std::ranges::fill(out.subspan(kLength + value.size()), std::byte{0});
}

Encoding EncodingOf(Type type, uint64_t string_length) {
  switch (type) {
    case Type::kByte:
      return {1, 4, &EncodeSigned};
    case Type::kUByte:
      return {1, 4, &EncodeUnsigned};
    case Type::kShort:
      return {2, 4, &EncodeSigned};
    case Type::kUShort:
      return {2, 4, &EncodeUnsigned};
    case Type::kUInt:
      return {4, 8, &EncodeDouble<uint32_t>};
    case Type::kInt64:
      return {8, 8, &EncodeDouble<int64_t>};
    case Type::kUInt64:
      return {8, 8, &EncodeDouble<uint64_t>};
    case Type::kChar:
      return {string_length, 4 + (string_length + 3) / 4 * 4, &EncodeString};
    case Type::kInt:
    case Type::kFloat:
    case Type::kDouble:
      break;
  }
  return {};
}

class DapElements final : public ElementSource {
 public:
  DapElements(std::shared_ptr<const ElementSource> values, const Encoding& encoding,
              uint64_t size)
      : values_(std::move(values)), encoding_(encoding), size_(size) {}

  uint64_t size() const override { return size_; }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder /*order*/,
                    cache::ReadHint hint) const override {
    const uint64_t to = encoding_.to;
    const size_t at_once = std::max<size_t>(1, kBlock / std::max(encoding_.from, to));
    backends::Bytes values(at_once * encoding_.from);
    backends::Bytes encoded(to);
    while (!out.empty()) {
      const uint64_t first = offset / to;
      const uint64_t end = (offset + out.size() + to - 1) / to;
      const size_t count = std::min<uint64_t>(end - first, at_once);
      const ByteSpan read = values.span().first(count * encoding_.from);
      NDLFS_RETURN_IF_ERROR(
          values_->Read(first * encoding_.from, read, model::ByteOrder::kBig, hint));
      for (size_t i = 0; i < count; ++i) {
        encoding_.encode(read.subspan(i * encoding_.from, encoding_.from), encoded.span());
        const size_t skipped = offset % to;
        const size_t copied = std::min<size_t>(to - skipped, out.size());
        std::memcpy(out.data(), encoded.data() + skipped, copied);
        out = out.subspan(copied);
        offset += copied;
      }
    }
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return TrackElements(values_->TrackReader(prefetcher), encoding_.from, encoding_.to);
  }

 private:
  static constexpr uint64_t kBlock = uint64_t{64} << 10;

  const std::shared_ptr<const ElementSource> values_;
  const Encoding encoding_;
  const uint64_t size_;
};

// Values of `type`, as netCDF classic stores them, in the encoding of DAP 2 (XDR, RFC 4506) for
// DapTypeOf(type). Read both big-endian. Texts have `string_length` bytes each. A 64-bit
// integer that no double holds is NaN: clients read variables together, so that an error would
// take the others from them. kLimit if the bytes are too many.
Result<std::shared_ptr<const ElementSource>> EncodeForDap(
    std::shared_ptr<const ElementSource> values, Type type, uint64_t string_length) {
  const Encoding encoding = EncodingOf(type, string_length);
  if (encoding.encode == nullptr || encoding.from == 0) return values;
  const auto size = backends::CheckedMultiply(values->size() / encoding.from, encoding.to);
  if (!size || *size > backends::kMaxViewSize) return model::Limit("too many bytes");
  return std::make_shared<const DapElements>(std::move(values), encoding, *size);
}

// The values of one variable, or of a member of a Grid.
struct DapTable {
  std::string name;  // "t2m.lat"
  std::vector<uint64_t> shape;
  ClassicVariable part;
  uint64_t string_length = 0;  // of texts
};

constexpr uint64_t kMostAsciiValues = 1'000'000;
constexpr uint64_t kMostAsciiBytes = uint64_t{32} << 20;

uint64_t SizeOfValue(const DapTable& table) {
  const bool is_text = table.part.variable.type == backends::netcdf3::Type::kChar;
  return is_text ? table.string_length : backends::netcdf3::SizeOf(table.part.variable.type);
}

// "[3][0]" for a row of all dimensions but the last.
std::string RowName(uint64_t row, const std::vector<uint64_t>& shape) {
  std::string out;
  for (size_t d = shape.size() - 1; d-- > 0; row /= shape[d]) {
    out.insert(0, fmt::format("[{}]", row % shape[d]));
  }
  return out;
}

// The values of tables as text: each row of the last dimension is a line that begins with its
// indices. A row of this text is one value, with what stands before and behind it.
class DapAscii final : public TextRows {
 public:
  // Of fewer than kMostAsciiValues values.
  DapAscii(std::vector<DapTable> tables, uint64_t row_bytes)
      : tables_(std::move(tables)), row_bytes_(row_bytes) {
    for (const DapTable& table : tables_) count_ += RowsOf(table);
  }

  uint64_t count() const override { return count_; }
  uint64_t row_bytes() const override { return row_bytes_; }
  Result<void> Append(uint64_t first, uint64_t count, std::string& out,
                      const Note& note) const override {
    uint64_t done = 0;
    for (const DapTable& table : tables_) {
      const uint64_t rows = RowsOf(table);
      const uint64_t own = first < rows ? std::min(rows - first, count - done) : 0;
      if (own != 0) {
        NDLFS_RETURN_IF_ERROR(
            AppendOf(table, first, own, out,
                     [&](uint64_t row, size_t length) { note(done + row, length); }));
      }
      first -= std::min(first, rows);
      done += own;
    }
    return {};
  }

 private:
  static uint64_t CountOf(const DapTable& table) {
    const uint64_t size = SizeOfValue(table);
    return size == 0 ? 0 : table.part.elements->size() / size;
  }
  // Without a value, one row has the name.
  static uint64_t RowsOf(const DapTable& table) {
    return std::max<uint64_t>(CountOf(table), 1);
  }

  static Result<void> AppendOf(const DapTable& table, uint64_t first, uint64_t count,
                               std::string& out, const Note& note) {
    const uint64_t size = SizeOfValue(table);
    const uint64_t values = CountOf(table);
    backends::Bytes bytes(values == 0 ? 0 : count * size);
    NDLFS_RETURN_IF_ERROR(table.part.elements->Read(
        first * size, bytes.span(), model::ByteOrder::kBig, cache::ReadHint::kOnward));
    for (uint64_t row = 0; row < count; ++row) {
      const size_t begin = out.size();
      const uint64_t i = first + row;
      if (i == 0) AppendName(table, out);
      if (i < values) {
        AppendValue(table, i, backends::AsText(bytes.span()).substr(row * size, size), out);
      }
      if (i + 1 >= values) out += "\n\n";
      note(row, out.size() - begin);
    }
    return {};
  }

  static void AppendName(const DapTable& table, std::string& out) {
    out += table.name;
    for (const uint64_t extent : table.shape) out += fmt::format("[{}]", extent);
    if (table.shape.size() == 1) out += '\n';
  }

  static void AppendValue(const DapTable& table, uint64_t i, std::string_view value,
                          std::string& out) {
    const size_t rank = table.shape.size();
    if (rank > 1 && i % table.shape.back() == 0) {
      out += '\n' + RowName(i / table.shape.back(), table.shape);
    }
    if (rank != 1 || i != 0) out += ", ";
    const Type type = table.part.variable.type;
    out += type == Type::kChar ? DapStringText(value) : DapNumberText(value, type);
  }

  const std::vector<DapTable> tables_;
  const uint64_t row_bytes_;
  uint64_t count_ = 0;
};

// kLimit for more than a million values.
Result<ViewNode> MakeDapAscii(const std::string& dds, std::vector<DapTable> tables) {
  uint64_t values = 0;
  uint64_t bytes = 0;
  const model::Error refusal =
      model::Limit("more than {} values as text; ask for fewer, or for .dods", kMostAsciiValues)
          .value();
  for (const DapTable& table : tables) {
    const auto count = backends::CheckedProduct(table.shape);
    values += std::min(count.value_or(kMostAsciiValues + 1), kMostAsciiValues + 1);
    bytes += std::min(table.part.elements->size(), kMostAsciiBytes + 1);
    if (values > kMostAsciiValues || bytes > kMostAsciiBytes) return model::Propagate(refusal);
  }
  const uint64_t row_bytes = std::max<uint64_t>(bytes / std::max<uint64_t>(values, 1), 1);
  return MakeRowText(dds + "---------------------------------------------\n",
                     std::make_unique<const DapAscii>(std::move(tables), row_bytes),
                     {.max_bytes = UINT64_MAX}, refusal);
}

enum DapAnswer : size_t { kDds, kDas, kDods, kAscii };
constexpr std::array<std::string_view, 4> kDapExtensions = {".dds", ".das", ".dods", ".ascii"};

// An unsigned number of 32 bits, big-endian.
std::string Big32(uint64_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

// The array itself with a reader of all of it; in a group of very many it may have elements
// only.
Result<classic::GroupArray> WithReader(const GroupInput& group, classic::GroupArray array) {
  if (array.input && array.input->reader != nullptr) return array;
  NDLFS_TRY(GroupChild child, group.Load(model::BaseName(array.path)), array.path);
  array.node = std::move(child.node);
  array.input = std::move(child.array);
  return array;
}

// The selected elements, as one variable. Only their chunks are read.
Result<ClassicVariable> Cut(const GroupInput& group, const DapVariable& variable,
                            const Selection& selection) {
  NDLFS_TRY(classic::GroupArray array, WithReader(group, variable.array));
  if (!array.input) return model::NotFound("no values");
  const size_t rank = array.input->shape.size();
  // Dimensions of the elements themselves are not cut.
  for (size_t d = rank; d < selection.size(); ++d) {
    if (selection[d] != WholeRange(variable.dimensions[d].size)) {
      return model::NotFound("elements that are arrays are sent whole");
    }
  }
  const auto count = static_cast<std::ptrdiff_t>(std::min(rank, selection.size()));
  Selection cut(selection.begin(), selection.begin() + count);
  // The letters of a text are no dimension of DAP, but may be one of the array.
  while (cut.size() < rank) cut.push_back(WholeRange(array.input->shape[cut.size()]));
  array.input = MakePart(*array.input, std::move(cut));
  auto described = DescribeAlone(array);
  if (!described) return model::Internal("cannot be described alone");
  if (DapTypeOf(described->variable.type) != variable.type || described->elements == nullptr) {
    return model::Internal("a part of another type");
  }
  return *std::move(described);
}

// The values of one member, with their length before them.
Result<void> AddValues(const DapVariable& variable, uint64_t count, const ClassicVariable& part,
                       std::vector<Segment>& segments) {
  if (count > std::numeric_limits<int32_t>::max()) {
    return model::Limit("{}: {} values in one answer of DAP 2", variable.name, count);
  }
  if (!variable.dimensions.empty()) {
    const std::string length = Big32(count);
    // Arrays of numbers say it twice (section 7.3.2.1).
    segments.push_back(Literal(variable.type == DapType::kString ? length : length + length));
  }
  NDLFS_TRY(auto encoded,
            EncodeForDap(part.elements, part.variable.type, variable.string_length));
  segments.push_back(AllOf(std::move(encoded), model::ByteOrder::kBig));
  return {};
}

Result<ViewNode> MakeData(const GroupInput& group, const DapDataset& dataset,
                          const std::vector<DapDeclaration>& declarations, std::string dds,
                          DapAnswer answer) {
  std::vector<Segment> segments = {Literal(dds + "Data:\n")};
  std::vector<DapTable> tables;
  for (const DapDeclaration& declaration : declarations) {
    for (const DapMember& member : declaration.members) {
      const DapVariable& variable = dataset.variables[member.variable];
      NDLFS_TRY(ClassicVariable part, Cut(group, variable, member.selection), variable.name);
      const std::vector<uint64_t> shape = ShapeOf(member.selection);
      if (answer == kAscii) {
        std::string name = variable.name;
        if (declaration.kind != DapDeclaration::Kind::kArray) {
          name = dataset.variables[declaration.variable].name + '.' + name;
        }
        tables.push_back({std::move(name), shape, std::move(part), variable.string_length});
        continue;
      }
      uint64_t count = 1;
      for (const uint64_t extent : shape) count *= extent;
      NDLFS_RETURN_IF_ERROR(AddValues(variable, count, part, segments));
    }
  }
  if (answer == kAscii) return MakeDapAscii(dds, std::move(tables));
  return MakeSegmentedView(std::move(segments));
}

Result<ViewNode> MakeText(std::string text) {
  return MakeSegmentedView({Literal(std::move(text))});
}

Result<ViewNode> MakeAnswer(const GroupInput& group,
                            const std::vector<DapProjection>& projections, DapAnswer answer) {
  NDLFS_TRY(const DapDataset dataset, DescribeDataset(group));
  if (answer == kDas) return MakeText(WriteDas(dataset));
  NDLFS_TRY(const auto declarations, ResolveConstraint(dataset, projections));
  std::string dds = WriteDds(dataset, declarations);
  if (answer == kDds) return MakeText(std::move(dds));
  return MakeData(group, dataset, declarations, std::move(dds), answer);
}

}  // namespace

std::optional<Resolution> DapProvider::Resolve(const GroupInput& group,
                                               std::string_view name) const {
  const auto file = ParseDapFileName(name, kDapExtensions);
  if (!file || !classic::MayHaveArrays(group)) return std::nullopt;
  Resolution out{{.name = std::string(name), .is_listed = false}};
  const auto answer = static_cast<DapAnswer>(file->extension);
  if (auto parsed = ParseConstraint(file->constraint); !parsed) {
    out.refusal = parsed.error();
  } else {
    out.make = [&group, answer, projections = *std::move(parsed)] {
      return MakeAnswer(group, projections, answer);
    };
  }
  return out;
}

}  // namespace ndlfs::fs
