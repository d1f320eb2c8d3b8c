// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy_array.h"

#include <algorithm>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/numpy_dtype.h"
#include "backends/codec/registry.h"
#include "backends/format/text_rule.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;

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

// What a system call for a run takes, in bytes that are copied meanwhile.
constexpr uint64_t kBytesPerCall = 1250;
// Of the first elements, to find out how text is read.
constexpr uint64_t kInspectedBytes = 64 << 10;

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
std::vector<uint64_t> ChunkShapeFor(std::vector<uint64_t> shape, uint64_t item_size,
                                    bool fortran_order, NpyAccess access) {
  for (uint64_t& extent : shape) extent = std::max<uint64_t>(extent, 1);
  item_size = std::max<uint64_t>(item_size, 1);
  if (access == NpyAccess::kRandom) {
    if (fortran_order) return FortranTileShape(shape, item_size);
    return RowsShape(shape, kTileSize / item_size);
  }
  const uint64_t room = kCompressedTileSize / item_size;
  return fortran_order ? ColumnsShape(std::move(shape), room) : RowsShape(shape, room);
}

class NpySource final : public ArraySource {
 public:
  NpySource(ArraySpec spec, ContiguousRange data, bool fortran_order, NpyAccess access)
      : spec_(std::move(spec)),
        data_(std::move(data)),
        fortran_order_(fortran_order),
        access_(access) {}

  const ArraySpec& spec() const override { return spec_; }

  model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                      IndexCache&) const override {
    ChunkLocation location;
    location.store = data_.store;
    location.key = data_.key;
    location.pieces = Runs(index);
    return location;
  }

  std::optional<ContiguousRange> contiguous() const override {
    if (fortran_order_ || access_ == NpyAccess::kSequential) return std::nullopt;
    return data_;
  }

 private:
  // One dimension of a chunk, from the fastest in the file to the slowest.
  struct Axis {
    uint64_t begin, extent, array_extent, stride;
  };

  std::vector<Axis> AxesOf(std::span<const uint64_t> index) const {
    std::vector<Axis> axes;
    uint64_t stride = data_.stored.size();
    for (size_t i = 0; i < index.size(); ++i) {
      const size_t dim = fortran_order_ ? i : index.size() - 1 - i;
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
    uint64_t run = data_.stored.size();
    uint64_t offset = data_.offset;
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
  const ContiguousRange data_;
  const bool fortran_order_;
  const NpyAccess access_;
};

// In one dimension, or with one element a column, both orders are the same.
bool IsTransposed(const NpyHeader& header) {
  const auto is_long = [](uint64_t extent) { return extent != 1; };
  return header.fortran_order && header.data_size != 0 &&
         std::count_if(header.shape.begin(), header.shape.end(), is_long) > 1;
}

model::Result<std::shared_ptr<const ArraySource>> MakeSource(const NpyHeader& header,
                                                             std::shared_ptr<const Store> store,
                                                             std::string key, NpyAccess access,
                                                             const OpenOptions& options) {
  const model::Datatype& stored = *header.dtype;
  const bool fortran_order = IsTransposed(header);
  const bool is_contiguous = !fortran_order && access == NpyAccess::kRandom;
  if (!is_contiguous && stored.size() > options.max_chunk_size) {
    return model::Limit("elements of {} bytes to be decoded, more than the limit of {}",
                        stored.size(), options.max_chunk_size);
  }
  ArraySpec spec;
  spec.dtype = stored.WithOrder(ByteOrder::kLittle);
  spec.shape = header.shape;
  auto chunk_shape = ChunkShapeFor(header.shape, stored.size(), fortran_order, access);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(header.shape, std::move(chunk_shape),
                                          ChunkGrid::Edge::kCropped));
  NDLFS_TRY(spec.codecs, MakeZarr2Chain(nullptr, nullptr, fortran_order, stored,
                                        spec.grid.max_chunk_shape()));
  ContiguousRange data;
  data.store = std::move(store);
  data.key = std::move(key);
  data.offset = header.data_offset;
  data.stored = stored;
  return std::make_shared<NpySource>(std::move(spec), std::move(data), fortran_order, access);
}

model::Ndarray Describe(const NpyHeader& header, std::string name) {
  model::Ndarray array;
  array.name = std::move(name);
  for (const uint64_t extent : header.shape) array.shape.push_back({extent, {}});
  array.type = model::Datatype::Opaque(0, "application/python-pickle");
  if (header.dtype) {
    array.type = header.dtype->WithOrder(ByteOrder::kLittle);
    array.storage = NumpyStorage(*header.dtype);
  }
  return array;
}

// The data of an array whose header is sound, or why there are none.
model::Result<std::shared_ptr<const ArraySource>> OpenData(const NpyHeader& header,
                                                           std::shared_ptr<const Store> store,
                                                           std::string key, NpyAccess access,
                                                           const OpenOptions& options) {
  if (!header.dtype) return model::Propagate(header.dtype.error());
  NDLFS_TRY(const auto size, store->Size(key));
  const uint64_t present = size && *size > header.data_offset ? *size - header.data_offset : 0;
  if (present < header.data_size) {
    return model::Corrupt("{} bytes of data, the shape needs {}", present, header.data_size);
  }
  return MakeSource(header, std::move(store), std::move(key), access, options);
}

// Bytes of text (NumPy's `S`) have no charset: the first elements say how they
// are read.
model::Result<void> SettleText(const Store& store, const std::string& key, NpyHeader& header) {
  if (!header.dtype) return {};
  TextRule rule(*header.dtype);
  const uint64_t item = header.dtype->size();
  if (!rule.applies() || item == 0 || item > kInspectedBytes) return {};
  const uint64_t bytes = std::min(header.data_size, kInspectedBytes / item * item);
  const auto elements = store.Read(key, bytes, {header.data_offset, bytes});
  if (!elements) {
    // Data that are damaged or too large say so when they are read; the
    // header is sound all the same.
    if (!elements.error().is_transient()) return {};
    return model::Propagate(elements.error());
  }
  if (*elements) rule.Look((*elements)->span());
  header.dtype = rule.Apply(*header.dtype);
  return {};
}

}  // namespace

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

model::Result<std::shared_ptr<const Node>> LoadNpyArray(std::shared_ptr<const Store> store,
                                                        std::string key, std::string name,
                                                        NpyAccess access,
                                                        const OpenOptions& options) {
  NDLFS_TRY(const auto stamp, store->Stat(key));
  NDLFS_TRY(NpyHeader header, ReadNpyHeader(*store, key));
  NDLFS_RETURN_IF_ERROR(SettleText(*store, key, header));
  auto node = std::make_shared<Node>();
  node->mtime_ns = stamp ? stamp->modified_ns : 0;
  node->entity = Describe(header, std::move(name));
  auto source = OpenData(header, std::move(store), std::move(key), access, options);
  if (source) {
    node->source = *std::move(source);
  } else {
    node->error = std::move(source).error();
  }
  return node;
}

}  // namespace ndlfs::backends
