// SPDX-License-Identifier: MIT
#include "backends/format/netcdf3/variable_source.h"

#include <algorithm>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
#include "backends/format/text_rule.h"

namespace ndlfs::backends::netcdf3 {
namespace {

// Small records are read several at a time.
constexpr uint64_t kRecordBlockBytes = 64 << 10;
constexpr uint64_t kMaxRecordsPerBlock = 256;
// How many bytes of characters to read to find out how they are encoded.
constexpr uint64_t kInspectedBytes = 64 << 10;

class VariableSource final : public ArraySource {
 public:
  VariableSource(ArraySpec spec, model::Datatype stored, const Header& header,
                 const Variable& variable, std::shared_ptr<const Store> store)
      : spec_(std::move(spec)),
        stored_(std::move(stored)),
        begin_(variable.begin),
        stride_(variable.is_record ? header.record_stride : 0),
        is_contiguous_(!variable.is_record || header.record_stride == variable.bytes),
        is_written_(!header.ends_before_data),
        store_(std::move(store)) {}

  const ArraySpec& spec() const override { return spec_; }

  model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                      IndexCache&) const override {
    if (!is_written_) return ChunkLocation::Absent();
    ChunkLocation location;
    location.store = store_;
    if (is_contiguous_) {
      location.pieces = {RangeOfBlock(index)};
    } else {
      location.pieces = PiecesOfRecords(index);
    }
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (!is_contiguous_ || !is_written_) return std::nullopt;
    return ContiguousRange{store_, "", begin_, stored_, std::nullopt};
  }

 private:
  ByteRange RangeOfBlock(std::span<const uint64_t> index) const {
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * stored_.size();
    return {begin_ + first, BytesOf(spec_.grid.ChunkShape(index))};
  }

  // A block of whole records has a piece in each; a part of one record is one.
  std::vector<ByteRange> PiecesOfRecords(std::span<const uint64_t> index) const {
    const std::vector<uint64_t> shape = spec_.grid.ChunkShape(index);
    const uint64_t first_record = spec_.grid.Begin(0, index[0]);
    const uint64_t inside =
        FirstElement(std::span(spec_.shape).subspan(1),
                     std::span(spec_.grid.max_chunk_shape()).subspan(1), index.subspan(1)) *
        stored_.size();
    std::vector<ByteRange> pieces;
    for (uint64_t i = 0; i < shape[0]; ++i) {
      pieces.push_back(
          {begin_ + (first_record + i) * stride_ + inside, BytesOf(shape) / shape[0]});
    }
    return pieces;
  }

  uint64_t BytesOf(const std::vector<uint64_t>& shape) const {
    return *CheckedProduct(shape, stored_.size());  // at most the array's bytes
  }

  const ArraySpec spec_;
  const model::Datatype stored_;
  const uint64_t begin_;
  const uint64_t stride_;
  const bool is_contiguous_;
  const bool is_written_;
  const std::shared_ptr<const Store> store_;
};

std::vector<uint64_t> ChooseBlocks(const Header& header, const Variable& variable,
                                   const std::vector<uint64_t>& shape) {
  const uint64_t width = SizeOf(variable.type);
  if (!variable.is_record || header.record_stride == variable.bytes) {
    return ContiguousBlockShape(shape, width, kBlockBytes);
  }
  std::vector<uint64_t> block = {1};
  const auto rest = ContiguousBlockShape(std::span(shape).subspan(1), width, kBlockBytes);
  block.insert(block.end(), rest.begin(), rest.end());
  if (variable.bytes <= kRecordBlockBytes) {
    block[0] = std::clamp<uint64_t>(kRecordBlockBytes / std::max<uint64_t>(variable.bytes, 1),
                                    1, kMaxRecordsPerBlock);
  }
  return block;
}

// The last byte that the variable's data would take.
std::optional<uint64_t> EndOfData(const Header& header, const Variable& variable) {
  if (!variable.is_record) return CheckedAdd(variable.begin, variable.bytes);
  const auto all = CheckedMultiply(header.record_count, header.record_stride);
  return all ? CheckedAdd(variable.begin, *all) : std::nullopt;
}

model::Result<void> CheckPlace(const Header& header, const Variable& variable,
                               const std::vector<uint64_t>& shape) {
  if (CheckedProduct(shape) == uint64_t{0}) return {};
  if (variable.begin < header.header_bytes) {
    return model::Corrupt("the data begin at byte {}, inside the header of {} bytes",
                          variable.begin, header.header_bytes);
  }
  if (variable.begin >= header.file_bytes && !header.ends_before_data) {
    return model::Corrupt("the data begin at byte {}, beyond the end of the file at {}",
                          variable.begin, header.file_bytes);
  }
  return {};
}

// A character is one byte of no charset: Latin-1 if one of the first is not
// ASCII. They lie in one piece, of one record at most.
model::Result<model::Datatype> TypeOfCharacters(const Header& header, const Variable& variable,
                                                const std::vector<uint64_t>& shape,
                                                const Store& store) {
  auto type = ElementType(Type::kChar);
  if (header.ends_before_data || CheckedProduct(shape) == uint64_t{0}) return type;
  const uint64_t first = variable.is_record ? 1 : 0;
  const auto count = CheckedProduct(std::span(shape).subspan(first));
  const ByteRange beginning{variable.begin, std::min(count.value_or(0), kInspectedBytes)};
  NDLFS_TRY(const auto bytes, store.Read("", kInspectedBytes, beginning));
  TextRule rule(type);
  if (bytes) rule.Look(bytes->span());
  return rule.Apply(type);
}

}  // namespace

std::vector<uint64_t> CurrentShape(const Header& header, const Variable& variable) {
  std::vector<uint64_t> shape;
  for (const uint64_t id : variable.dimensions) {
    const bool is_record = id == header.record_dimension;
    shape.push_back(is_record ? header.record_count : header.dimensions[id].size);
  }
  return shape;
}

model::Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Header& header, const Variable& variable, std::shared_ptr<const Store> store) {
  const auto end = EndOfData(header, variable);
  if (!end || *end > kMaxViewSize) return model::Limit("too many values");
  ArraySpec spec;
  spec.shape = CurrentShape(header, variable);
  NDLFS_RETURN_IF_ERROR(CheckPlace(header, variable, spec.shape));
  model::Datatype stored = ElementType(variable.type);
  if (variable.type == Type::kChar) {
    NDLFS_TRY(stored, TypeOfCharacters(header, variable, spec.shape, *store));
  }
  spec.dtype = stored.WithOrder(model::ByteOrder::kLittle);
  const std::vector<uint64_t> blocks = ChooseBlocks(header, variable, spec.shape);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, blocks, ChunkGrid::Edge::kCropped));
  NDLFS_TRY(spec.codecs,
            MakeZarr2Chain(nullptr, nullptr, false, stored, spec.grid.max_chunk_shape()));
  return std::make_shared<VariableSource>(std::move(spec), std::move(stored), header, variable,
                                          std::move(store));
}

}  // namespace ndlfs::backends::netcdf3
