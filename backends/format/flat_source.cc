// SPDX-License-Identifier: MIT
#include "backends/format/flat_source.h"

#include <algorithm>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/block_shape.h"

namespace ndlfs::backends {
namespace {

using model::Result;

constexpr uint64_t kMarkerBytes = 4;  // of Fortran's records

// All tiles with the same place along the first dimension are in use at the
// same time. They should fit into this; where that makes runs too short, into
// that.
constexpr uint64_t kBandSize = uint64_t{8} << 20;
constexpr uint64_t kLargeBandSize = uint64_t{32} << 20;
constexpr uint64_t kGoodRun = 4096;
constexpr uint64_t kLongRun = 65536;
constexpr uint64_t kTileSize = uint64_t{1} << 20;
constexpr uint64_t kMaxPieces = 65536;  // of one tile
constexpr uint64_t kCompressedTileSize = uint64_t{4} << 20;

// The cost of a system call for a run: so many bytes could be copied meanwhile.
constexpr uint64_t kBytesPerCall = 1250;
uint64_t Product(std::span<const uint64_t> factors, uint64_t first) {
  return CheckedProduct(factors, first).value_or(UINT64_MAX);
}

// The number of leading dimensions that tiles cover whole although tiles are
// read more than once then, because anything less needs a call per element.
size_t LeadingDimensions(const std::vector<uint64_t>& shape, uint64_t item_size) {
  size_t count = 0;
  uint64_t run = item_size;
  while (count + 1 < shape.size() && run <= kBytesPerCall / shape[count]) {
    run *= shape[count++];
  }
  return count;
}

// How many neighbours along the first dimension a tile has, as far as the
// band of tiles allows.
uint64_t FirstRun(const std::vector<uint64_t>& shape, uint64_t item_size) {
  const uint64_t row = Product(std::span(shape).subspan(1), item_size);
  const uint64_t run = std::clamp<uint64_t>(kBandSize / row, 1, shape[0]);
  if (run * item_size >= kGoodRun) return run;
  const uint64_t good_run = std::max<uint64_t>(kGoodRun / item_size, 1);
  return std::clamp<uint64_t>(kLargeBandSize / row, 1, std::min(good_run, shape[0]));
}

// Makes `tile` larger, from the last dimension to dimension `first`.
void Grow(const std::vector<uint64_t>& shape, size_t first, uint64_t room,
          std::vector<uint64_t>& tile) {
  for (size_t dim = shape.size(); dim-- > first;) {
    tile[dim] = std::clamp<uint64_t>(room, 1, shape[dim]);
    room /= tile[dim];
  }
}

// `room` elements that are one run of a file in C order.
std::vector<uint64_t> RowsShape(const std::vector<uint64_t>& shape, uint64_t room) {
  std::vector<uint64_t> tile(shape.size(), 1);
  Grow(shape, 0, room, tile);
  return tile;
}

// The same in Fortran order.
std::vector<uint64_t> ColumnsShape(std::vector<uint64_t> shape, uint64_t room) {
  std::reverse(shape.begin(), shape.end());
  auto tile = RowsShape(shape, room);
  std::reverse(tile.begin(), tile.end());
  return tile;
}

// Zero extents count as one here: a grid has chunks of some extent.
std::vector<uint64_t> WithoutZeros(std::vector<uint64_t> shape) {
  for (uint64_t& extent : shape) extent = std::max<uint64_t>(extent, 1);
  return shape;
}

std::vector<uint64_t> ChunkShapeFor(const FlatLayout& layout) {
  std::vector<uint64_t> shape = WithoutZeros(layout.shape);
  const uint64_t item_size = std::max<uint64_t>(layout.stored.size(), 1);
  if (layout.access == FlatAccess::kRandom) {
    if (layout.fortran_order) return FortranTileShape(shape, item_size);
    return RowsShape(shape, kTileSize / item_size);
  }
  const uint64_t room = kCompressedTileSize / item_size;
  return layout.fortran_order ? ColumnsShape(std::move(shape), room) : RowsShape(shape, room);
}

// `extents`, which are in the order of the dimensions, from the slowest in the file to the
// fastest; and the way back.
std::vector<uint64_t> InFileOrder(const FlatLayout& layout, std::vector<uint64_t> extents) {
  if (layout.fortran_order) std::reverse(extents.begin(), extents.end());
  return extents;
}

// The bytes of the first record.
Result<uint64_t> ReadMarker(const FlatLayout& layout) {
  std::byte marker[kMarkerBytes];
  NDLFS_TRY(const auto count, layout.store->ReadInto(layout.key, layout.offset, marker));
  if (!count) return model::NotFound("no such file");
  if (*count != kMarkerBytes) {
    return model::Corrupt("ends before the marker of a record at byte {}", layout.offset);
  }
  if (layout.stored.order() == model::ByteOrder::kBig) std::reverse(marker, marker + 4);
  uint64_t bytes = 0;
  for (size_t i = 0; i < kMarkerBytes; ++i)
    bytes |= std::to_integer<uint64_t>(marker[i]) << 8 * i;
  return bytes;
}

// The blocks of a file with records of `record_bytes`: whole records, or a part of one.
// In file order.
Result<std::vector<uint64_t>> RecordBlocks(const std::vector<uint64_t>& shape,
                                           uint64_t item_size, uint64_t record_bytes) {
  uint64_t bytes = item_size;
  size_t dim = shape.size();  // a record holds the dimensions from here on
  while (dim > 0 && bytes < record_bytes) bytes *= shape[--dim];
  if (bytes != record_bytes) {
    return model::Corrupt(
        "the first marker says that records have {} bytes, which is no part of the shape",
        record_bytes);
  }
  const std::span<const uint64_t> all(shape);
  if (record_bytes > kBlockBytes) {
    std::vector<uint64_t> block(dim, 1);
    const auto inner = ContiguousBlockShape(all.subspan(dim), item_size, kBlockBytes);
    block.insert(block.end(), inner.begin(), inner.end());
    return block;
  }
  std::vector<uint64_t> block = ContiguousBlockShape(all.first(dim), record_bytes, kBlockBytes);
  block.insert(block.end(), shape.begin() + static_cast<ptrdiff_t>(dim), shape.end());
  return block;
}

// The blocks of a file of bits, in file order. Each block begins with a byte.
Result<std::vector<uint64_t>> BitBlocks(const std::vector<uint64_t>& shape,
                                        uint64_t max_chunk_bytes) {
  if (shape.empty()) return shape;
  std::vector<uint64_t> block = shape;
  const uint64_t row = Product(std::span(shape).subspan(1), 1);
  const uint64_t rows = std::max<uint64_t>(kTileSize / row / 8 * 8, 8);
  block[0] = std::min(rows, shape[0]);
  if (Product(block, 1) > max_chunk_bytes) {
    return model::Limit("eight rows of bits are {} elements, more than the limit of {}",
                        Product(block, 1), max_chunk_bytes);
  }
  return block;
}

class FlatSource final : public ArraySource {
 public:
  FlatSource(ArraySpec spec, FlatLayout layout, uint64_t record_bytes)
      : spec_(std::move(spec)), layout_(std::move(layout)), record_bytes_(record_bytes) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    ChunkLocation location;
    location.store = layout_.store;
    location.key = layout_.key;
    if (record_bytes_ != 0) {
      location.pieces = PiecesOfRecords(index);
    } else if (layout_.bits != FlatEncoding::Bits::kNone) {
      location.pieces = {
          {layout_.offset + FirstOfBlock(index) / 8, (ElementsOfBlock(index) + 7) / 8}};
    } else {
      location.pieces = Runs(index);
    }
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (layout_.fortran_order || layout_.access == FlatAccess::kSequential ||
        record_bytes_ != 0 || layout_.bits != FlatEncoding::Bits::kNone) {
      return std::nullopt;
    }
    return ContiguousRange{layout_.store, layout_.key, layout_.offset, layout_.stored,
                           std::nullopt};
  }

 private:
  // The number of the first element, in the file, of a block without gaps there.
  uint64_t FirstOfBlock(std::span<const uint64_t> index) const {
    const auto in_file = InFileOrder(layout_, {index.begin(), index.end()});
    return FirstElement(InFileOrder(layout_, spec_.shape),
                        InFileOrder(layout_, spec_.grid.max_chunk_shape()), in_file);
  }
  uint64_t ElementsOfBlock(std::span<const uint64_t> index) const {
    return Product(spec_.grid.ChunkShape(index), 1);
  }

  // Records with their markers, or the markers of a record and what lies between them.
  std::vector<ByteRange> PiecesOfRecords(std::span<const uint64_t> index) const {
    const uint64_t first = FirstOfBlock(index) * layout_.stored.size();
    const uint64_t bytes = ElementsOfBlock(index) * layout_.stored.size();
    const uint64_t framed = record_bytes_ + 2 * kMarkerBytes;
    const uint64_t record = layout_.offset + first / record_bytes_ * framed;
    if (bytes >= record_bytes_) return {{record, bytes / record_bytes_ * framed}};
    return {{record, kMarkerBytes},
            {record + kMarkerBytes + first % record_bytes_, bytes},
            {record + kMarkerBytes + record_bytes_, kMarkerBytes}};
  }

  // One dimension of a chunk, from the fastest in the file to the slowest.
  struct Axis {
    uint64_t begin, extent, array_extent, stride;
  };

  std::vector<Axis> AxesOf(std::span<const uint64_t> index) const {
    std::vector<Axis> axes;
    uint64_t stride = layout_.stored.size();
    for (size_t i = 0; i < index.size(); ++i) {
      const size_t dim = layout_.fortran_order ? i : index.size() - 1 - i;
      axes.push_back({spec_.grid.Begin(dim, index[dim]), spec_.grid.Extent(dim, index[dim]),
                      spec_.shape[dim], stride});
      stride *= spec_.shape[dim];
    }
    return axes;
  }

  // The bytes of a chunk, in the order of the file.
  std::vector<ByteRange> Runs(std::span<const uint64_t> index) const {
    const std::vector<Axis> axes = AxesOf(index);
    // Dimensions that the chunk covers whole join into one run with the next.
    uint64_t run = layout_.stored.size();
    uint64_t offset = layout_.offset;
    size_t outer = 0;
    bool joined = true;
    for (; joined && outer < axes.size(); ++outer) {
      run *= axes[outer].extent;
      offset += axes[outer].begin * axes[outer].stride;
      joined = axes[outer].extent == axes[outer].array_extent;
    }
    std::vector<ByteRange> runs;
    for (size_t i = outer; i < axes.size(); ++i) offset += axes[i].begin * axes[i].stride;
    AppendRuns(std::span(axes).subspan(outer), offset, run, runs);
    return runs;
  }

  static void AppendRuns(std::span<const Axis> axes, uint64_t offset, uint64_t run,
                         std::vector<ByteRange>& runs) {
    if (axes.empty()) {
      runs.push_back({offset, run});
      return;
    }
    const Axis& slowest = axes.back();
    for (uint64_t i = 0; i < slowest.extent; ++i) {
      AppendRuns(axes.first(axes.size() - 1), offset + i * slowest.stride, run, runs);
    }
  }

  const ArraySpec spec_;
  const FlatLayout layout_;
  const uint64_t record_bytes_;  // 0: the file has none
};

// In one dimension, or with one element a column, both orders are the same.
bool IsTransposed(const FlatLayout& layout) {
  const auto is_long = [](uint64_t extent) { return extent != 1; };
  return layout.fortran_order && Product(layout.shape, layout.stored.size()) != 0 &&
         std::count_if(layout.shape.begin(), layout.shape.end(), is_long) > 1;
}

// The bytes that `elements` take in the file.
Result<uint64_t> BytesInFile(const FlatLayout& layout, uint64_t elements,
                             uint64_t record_bytes) {
  if (layout.bits != FlatEncoding::Bits::kNone) return elements / 8 + (elements % 8 != 0);
  const uint64_t bytes = elements * layout.stored.size();  // checked before
  if (record_bytes == 0) return bytes;
  const auto framed = CheckedMultiply(bytes / record_bytes, record_bytes + 2 * kMarkerBytes);
  if (!framed || *framed > kMaxViewSize) return model::Limit("too many records");
  return *framed;
}

// The bytes of the value from layout.offset on.
Result<uint64_t> PresentBytes(const FlatLayout& layout) {
  NDLFS_TRY(const auto size, layout.store->Size(layout.key));
  if (!size) return model::NotFound("no such file");
  return *size > layout.offset ? *size - layout.offset : 0;
}

Result<void> CheckSize(const FlatLayout& layout, uint64_t record_bytes) {
  NDLFS_TRY(const uint64_t needed, BytesInFile(layout, Product(layout.shape, 1), record_bytes));
  NDLFS_TRY(const uint64_t present, PresentBytes(layout));
  if (present < needed) {
    return model::Corrupt("{} bytes of data, the shape needs {}", present, needed);
  }
  if (layout.trailer && present - needed != *layout.trailer) {
    return model::Corrupt("{} bytes follow the data, expected {}", present - needed,
                          *layout.trailer);
  }
  return {};
}

Result<std::vector<uint64_t>> ChooseChunks(const FlatLayout& layout, uint64_t record_bytes,
                                           uint64_t max_chunk_bytes) {
  const auto in_file = InFileOrder(layout, WithoutZeros(layout.shape));
  if (record_bytes != 0) {
    NDLFS_TRY(auto blocks, RecordBlocks(in_file, layout.stored.size(), record_bytes));
    return InFileOrder(layout, std::move(blocks));
  }
  if (layout.bits != FlatEncoding::Bits::kNone) {
    NDLFS_TRY(auto blocks, BitBlocks(in_file, max_chunk_bytes));
    return InFileOrder(layout, std::move(blocks));
  }
  return ChunkShapeFor(layout);
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeFlatSource(FlatLayout layout,
                                                          uint64_t max_chunk_bytes) {
  layout.fortran_order = IsTransposed(layout);
  const auto bytes = CheckedProduct(layout.shape, layout.stored.size());
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many elements");
  if (layout.has_records && layout.bits != FlatEncoding::Bits::kNone) {
    return model::Unsupported("records of bits");
  }
  uint64_t record_bytes = 0;
  if (layout.has_records && Product(layout.shape, 1) != 0) {
    NDLFS_TRY(record_bytes, ReadMarker(layout));
    if (record_bytes == 0) return model::Corrupt("the first record is empty");
  }
  NDLFS_TRY(auto chunk_shape, ChooseChunks(layout, record_bytes, max_chunk_bytes));
  NDLFS_RETURN_IF_ERROR(CheckSize(layout, record_bytes));
  ArraySpec spec;
  spec.dtype = layout.stored.WithOrder(model::ByteOrder::kLittle);
  spec.shape = layout.shape;
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(layout.shape, std::move(chunk_shape),
                                          ChunkGrid::Edge::kCropped));
  const FlatEncoding encoding{layout.stored, layout.fortran_order, record_bytes,
                              layout.stored.order(), layout.bits};
  NDLFS_TRY(spec.codecs, MakeFlatChain(encoding, spec.grid.max_chunk_shape()));
  auto source = std::make_shared<FlatSource>(std::move(spec), std::move(layout), record_bytes);
  if (!source->contiguous() && source->spec().dtype.size() > max_chunk_bytes) {
    return model::Limit("elements of {} bytes to be decoded, more than the limit of {}",
                        source->spec().dtype.size(), max_chunk_bytes);
  }
  return source;
}

Result<uint64_t> FindFlatExtent(const FlatLayout& layout) {
  if (layout.bits != FlatEncoding::Bits::kNone) {
    return model::BadInput("the size of a file of bits cannot be computed");
  }
  const uint64_t trailer = layout.trailer.value_or(0);
  NDLFS_TRY(uint64_t present, PresentBytes(layout));
  if (present < trailer) {
    return model::Corrupt("{} bytes, expected a trailer of {}", present, trailer);
  }
  present -= trailer;
  if (present == 0) return 0;
  const auto shape = InFileOrder(layout, layout.shape);
  const auto row = CheckedProduct(std::span(shape).subspan(1), layout.stored.size());
  if (!row || *row == 0) return model::Limit("rows without elements, or with too many");
  uint64_t bytes = *row;  // of the smallest part of the file that has whole rows
  uint64_t framed = bytes;
  if (layout.has_records) {
    NDLFS_TRY(const uint64_t record, ReadMarker(layout));
    if (record == 0) return model::Corrupt("the first record is empty");
    if (record > bytes) bytes = record;
    if (bytes % *row != 0 || bytes % record != 0) {
      return model::Corrupt("records of {} bytes do not divide rows of {}", record, *row);
    }
    framed = bytes + bytes / record * 2 * kMarkerBytes;
  }
  if (present % framed != 0) {
    return model::Corrupt("{} bytes of data are no whole number of rows of {} bytes", present,
                          framed);
  }
  return present / framed * (bytes / *row);
}

std::vector<uint64_t> FortranTileShape(const std::vector<uint64_t>& shape, uint64_t item_size) {
  if (Product(shape, item_size) <= kBandSize) return shape;
  std::vector<uint64_t> tile(shape.size(), 1);
  const uint64_t first_run = FirstRun(shape, item_size);
  size_t covered = LeadingDimensions(shape, item_size);
  uint64_t run = Product(std::span(shape).first(covered), item_size);
  if (covered == 0 || run > kBytesPerCall / first_run) {
    covered = first_run == shape[0] && shape.size() > 1 ? 1 : 0;
    run = covered ? first_run * item_size : item_size;
  }
  // The dimension after those that are covered whole makes the runs longer.
  std::copy_n(shape.begin(), covered, tile.begin());
  tile[covered] = covered ? std::clamp<uint64_t>(kLongRun / run, 1, shape[covered]) : first_run;
  run *= tile[covered];
  Grow(shape, covered + 1, std::min(kTileSize / run, kMaxPieces), tile);
  return tile;
}

}  // namespace ndlfs::backends
