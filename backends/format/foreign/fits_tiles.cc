// SPDX-License-Identifier: MIT
#include "backends/format/foreign/fits_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/codec/byte_swap.h"
#include "backends/codec/registry.h"
#include "backends/codec/unshuffle.h"
#include "backends/format/foreign/fits_pixels.h"
#include "backends/format/foreign/fits_rows.h"
#include "backends/format/foreign/fits_table.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::Corrupt;
using model::Datatype;
using model::Result;
using model::Unsupported;

enum class Compression { kNone, kGzip, kShuffledGzip, kRice, kPlio };

constexpr uint64_t kSlotBytes = uint64_t{64} << 10;
constexpr size_t kRandomNumbers = 10'000;
constexpr int64_t kZeroPixel = -2147483646;

// An integer as FITS has it: of one byte without a sign.
int64_t SignedBigEndian(const std::byte* bytes, size_t size) {
  const uint64_t value = LoadNumber({bytes, size});
  if (size == 1) return static_cast<int64_t>(value);
  const unsigned shift = 64 - 8 * static_cast<unsigned>(size);
  return static_cast<int64_t>(value << shift) >> shift;
}

// The sequence of appendix I of the standard.
const std::array<float, kRandomNumbers>& RandomNumbers() {
  static const auto numbers = [] {
    std::array<float, kRandomNumbers> made{};
    constexpr int64_t kModulus = 2147483647;
    int64_t seed = 1;
    for (float& number : made) {
      seed = seed * 16807 % kModulus;
      number = static_cast<float>(static_cast<double>(seed) / static_cast<double>(kModulus));
    }
    return made;
  }();
  return numbers;
}

// How to convert quantized integers back to numbers (section 10.2).
struct Quantization {
  enum class Dither : uint8_t { kNone, kSubtractive1, kSubtractive2 };
  Dither dither = Dither::kNone;
  uint64_t seed = 1;  // ZDITHER0
  std::optional<int64_t> blank;
};

// The numbers of a tile, one after the other.
class Dequantizer {
 public:
  Dequantizer(const Quantization& how, double scale, double zero, uint64_t tile)
      : how_(how), scale_(scale), zero_(zero), start_((tile + how.seed - 1) % kRandomNumbers) {
    next_ = Jump();
  }

  double operator()(int64_t pixel) {
    double moved = static_cast<double>(pixel);
    if (how_.dither != Quantization::Dither::kNone) {
      moved = moved - static_cast<double>(RandomNumbers()[next_]) + 0.5;
      if (++next_ == kRandomNumbers) {
        start_ = (start_ + 1) % kRandomNumbers;
        next_ = Jump();
      }
    }
    if (how_.blank == pixel) return std::numeric_limits<double>::quiet_NaN();
    if (how_.dither == Quantization::Dither::kSubtractive2 && pixel == kZeroPixel) return 0;
    return moved * scale_ + zero_;
  }

 private:
  size_t Jump() const { return static_cast<size_t>(RandomNumbers()[start_] * 500); }

  const Quantization& how_;
  const double scale_;
  const double zero_;
  size_t start_;
  size_t next_;
};

// Where a table has the tiles.
struct TileTable {
  DataFile file;
  uint64_t offset = 0;  // of the table
  uint64_t width = 0;   // bytes of a row
  uint64_t rows = 0;
  uint64_t heap = 0;  // offset in the file
  uint64_t heap_end = 0;
  std::vector<TableColumn> columns;

  const TableColumn* Find(std::string_view name) const {
    const auto found = std::ranges::find(columns, name, &TableColumn::name);
    return found == columns.end() ? nullptr : &*found;
  }
};

struct TileForm {
  Compression compression = Compression::kNone;
  unsigned rice_bytes = 4;
  uint64_t rice_block = 32;
  std::optional<Quantization> quantization;
  double scale = 1;  // for all tiles, if there is no column
  double zero = 0;
  bool moves_zero = false;
};

// Each tile is a chunk.
class TileSource final : public ArraySource {
 public:
  TileSource(ArraySpec spec, TileTable table, TileForm form,
             std::shared_ptr<const BytesToBytesCodec> gzip)
      : spec_(std::move(spec)),
        table_(std::move(table)),
        form_(std::move(form)),
        gzip_(std::move(gzip)) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    uint64_t tile = 0;
    for (size_t d = 0; d < index.size(); ++d) tile = tile * spec_.grid.counts()[d] + index[d];
    NDLFS_TRY(const auto row, RowOf(tile, indexes));
    const auto count = CheckedProduct(spec_.grid.ChunkShape(index)).value_or(0);
    ChunkLocation location;
    location.generate = [this, tile, row, count](uint64_t) -> Result<Bytes> {
      auto pixels = Decode(tile, row, count);
      if (!pixels) return model::Propagate(pixels.error(), fmt::format("tile {}", tile + 1));
      return pixels;
    };
    return location;
  }

 private:
  using Row = std::vector<std::byte>;

  Result<Row> RowOf(uint64_t tile, IndexCache& indexes) const {
    const uint64_t in_slot = std::max<uint64_t>(1, kSlotBytes / table_.width);
    const uint64_t first = tile / in_slot * in_slot;
    NDLFS_TRY(const auto slot, indexes.GetOrLoad(id(), tile / in_slot, [&] {
      const uint64_t rows = std::min(in_slot, table_.rows - first);
      return ReadBytes(table_.offset + first * table_.width, rows * table_.width);
    }));
    const auto row = slot->span().subspan((tile - first) * table_.width, table_.width);
    return Row(row.begin(), row.end());
  }

  Result<Bytes> ReadBytes(uint64_t offset, uint64_t size) const {
    Bytes bytes(size);
    NDLFS_TRY(const auto count, table_.file.store->ReadInto("", offset, bytes.span()));
    if (count.value_or(0) != size) {
      return Corrupt("the file ends before byte {}", offset + size);
    }
    return bytes;
  }

  // The bytes of a column of arrays in a row; nullopt if there are none.
  Result<std::optional<Bytes>> ReadArray(const Row& row, std::string_view column,
                                         uint64_t limit) const {
    const TableColumn* found = table_.Find(column);
    if (found == nullptr) return std::nullopt;
    const size_t half = found->size / 2;
    const uint64_t count = LoadNumber({row.data() + found->offset, half});
    const uint64_t begin = LoadNumber({row.data() + found->offset + half, half});
    if (count == 0) return std::nullopt;
    const auto size = CheckedMultiply(count, found->item_size);
    const auto place = CheckedAdd(table_.heap, begin);
    const auto end = size && place ? CheckedAdd(*place, *size) : std::nullopt;
    if (!end || *end > table_.heap_end) {
      return Corrupt("{}: {} elements at {} are beyond the heap", column, count, begin);
    }
    if (*size > limit) return Corrupt("{}: {} bytes are too many for one tile", column, *size);
    NDLFS_TRY(auto bytes, ReadBytes(*place, *size));
    return bytes;
  }

  double Number(const Row& row, std::string_view column, double otherwise) const {
    const TableColumn* found = table_.Find(column);
    if (found == nullptr) return otherwise;
    return std::bit_cast<double>(LoadNumber({row.data() + found->offset, sizeof(double)}));
  }

  Result<Bytes> Decode(uint64_t tile, const Row& row, uint64_t count) const {
    const uint64_t limit = CompressorBound(count * sizeof(double)).size;
    NDLFS_TRY(const auto compressed, ReadArray(row, "COMPRESSED_DATA", limit));
    if (compressed) return DecodeCompressed(tile, row, compressed->span(), count);
    NDLFS_TRY(const auto gzipped, ReadArray(row, "GZIP_COMPRESSED_DATA", limit));
    if (gzipped) {
      NDLFS_TRY(const Bytes raw, Inflate(gzipped->span(), count * spec_.dtype.size()));
      return FromStored(raw.span(), count);
    }
    NDLFS_TRY(const auto plain, ReadArray(row, "UNCOMPRESSED_DATA", limit));
    if (plain) return FromStored(plain->span(), count);
    return Corrupt("the tile has no data");
  }

  Result<Bytes> DecodeCompressed(uint64_t tile, const Row& row, ConstByteSpan encoded,
                                 uint64_t count) const {
    switch (form_.compression) {
      case Compression::kNone:
        return FromStored(encoded, count);
      case Compression::kGzip:
      case Compression::kShuffledGzip: {
        NDLFS_TRY(Bytes raw, Inflate(encoded, count * sizeof(double)));
        if (form_.compression == Compression::kShuffledGzip) {
          raw = Unshuffled(raw.span(), count);
        }
        // CFITSIO takes the size of a tile for the width of its integers.
        const size_t size = count == 0 ? 0 : raw.size() / count;
        const bool has_integers = spec_.dtype.kind() == Datatype::Kind::kInteger;
        const bool is_wider = has_integers && size > spec_.dtype.size();
        if (!form_.quantization && !is_wider) return FromStored(raw.span(), count);
        if (size == 0 || size > 4 || size == 3 || raw.size() != size * count) {
          return Corrupt("{} bytes for {} pixels", raw.size(), count);
        }
        return FromPixels(tile, row, count, [&](uint64_t i) {
          return SignedBigEndian(raw.data() + i * size, size);
        });
      }
      case Compression::kRice: {
        NDLFS_TRY(const auto pixels,
                  DecodeRice(encoded, count, form_.rice_bytes, form_.rice_block));
        return FromPixels(tile, row, count, [&](uint64_t i) { return pixels[i]; });
      }
      case Compression::kPlio: {
        NDLFS_TRY(const auto pixels, DecodePlio(encoded, count));
        return FromPixels(tile, row, count, [&](uint64_t i) { return pixels[i]; });
      }
    }
    return model::Internal("a compression that is not listed");
  }

  Result<Bytes> Inflate(ConstByteSpan encoded, uint64_t limit) const {
    Bytes raw(limit);
    NDLFS_TRY(const size_t size, gzip_->Decode(encoded, raw.span()));
    return Bytes::Copy(raw.span().first(size));
  }

  // The bytes of all pixels were put in order of their significance.
  static Bytes Unshuffled(ConstByteSpan raw, uint64_t count) {
    const size_t size = count == 0 ? 0 : raw.size() / count;
    Bytes bytes(raw.size());
    Unshuffle(raw, std::max<size_t>(1, size), bytes.data());
    return bytes;
  }

  // Converts elements that are stored as in an image without compression.
  Result<Bytes> FromStored(ConstByteSpan raw, uint64_t count) const {
    const size_t size = spec_.dtype.size();
    if (raw.size() != count * size) {
      return Corrupt("{} bytes for {} pixels of {}", raw.size(), count, size);
    }
    Bytes elements(raw.size());
    SwapNumbers(size, raw, elements.span());
    MoveZero(elements);
    return elements;
  }

  void MoveZero(Bytes& elements) const {
    const size_t size = spec_.dtype.size();
    if (!form_.moves_zero) return;
    for (size_t at = size - 1; at < elements.size(); at += size) {
      elements.data()[at] ^= std::byte{0x80};
    }
  }

  template <typename PixelAt>
  Result<Bytes> FromPixels(uint64_t tile, const Row& row, uint64_t count,
                           const PixelAt& pixel_at) const {
    const size_t size = spec_.dtype.size();
    Bytes elements(count * size);
    if (!form_.quantization) {
      for (uint64_t i = 0; i < count; ++i) {
        const int64_t pixel = pixel_at(i);
        if (!Fits(pixel)) {
          return Corrupt("the value {} does not fit into a pixel of {} bytes", pixel, size);
        }
        std::memcpy(elements.data() + i * size, &pixel, size);
      }
      MoveZero(elements);
      return elements;
    }
    Quantization how = *form_.quantization;
    if (const TableColumn* blank = table_.Find("ZBLANK")) {
      how.blank = SignedBigEndian(row.data() + blank->offset, blank->size);
    }
    Dequantizer dequantize(how, Number(row, "ZSCALE", form_.scale),
                           Number(row, "ZZERO", form_.zero), tile);
    for (uint64_t i = 0; i < count; ++i) {
      const double number = dequantize(pixel_at(i));
      const auto single = static_cast<float>(number);
      if (size == sizeof(double)) std::memcpy(elements.data() + i * size, &number, size);
      if (size == sizeof(float)) std::memcpy(elements.data() + i * size, &single, size);
    }
    return elements;
  }

  // Whether a stored integer has the value.
  bool Fits(int64_t pixel) const {
    const size_t size = spec_.dtype.size();
    if (size == 1) return pixel >= 0 && pixel <= 255;
    if (size == 2) return pixel == static_cast<int16_t>(pixel);
    return size == 8 || pixel == static_cast<int32_t>(pixel);
  }

  const ArraySpec spec_;
  const TileTable table_;
  const TileForm form_;
  const std::shared_ptr<const BytesToBytesCodec> gzip_;
};

Result<Compression> CompressionOf(const FitsHeader& header) {
  const std::string name = header.Text("ZCMPTYPE");
  if (name == "GZIP_1") return Compression::kGzip;
  if (name == "GZIP_2") return Compression::kShuffledGzip;
  if (name == "RICE_1" || name == "RICE_ONE") return Compression::kRice;
  if (name == "PLIO_1") return Compression::kPlio;
  if (name == "NOCOMPRESS") return Compression::kNone;
  return Unsupported("tiles compressed by {} are not supported", model::Quote(name));
}

// The algorithm's parameter of that name, in ZNAMEn and ZVALn.
Result<uint64_t> Parameter(const FitsHeader& header, std::string_view name,
                           uint64_t otherwise) {
  for (int n = 1; n <= 999; ++n) {
    const std::string keyword = fmt::format("ZNAME{}", n);
    if (!header.Has(keyword)) return otherwise;
    if (header.Text(keyword) != name) continue;
    const auto value = header.Integer(fmt::format("ZVAL{}", n));
    if (value && *value > 0 && *value <= 65536) return static_cast<uint64_t>(*value);
    return BadInput("ZVAL{}: expected a number from 1 to 65536", n);
  }
  return otherwise;
}

Result<std::optional<Quantization>> QuantizationOf(const FitsHeader& header,
                                                   const TileTable& table) {
  const bool has_scale = table.Find("ZSCALE") != nullptr || header.Has("ZSCALE");
  const std::string method = header.Text("ZQUANTIZ");
  if (!has_scale || method == "NONE") return std::nullopt;
  Quantization quantization;
  if (header.Has("ZBLANK")) quantization.blank = header.Integer("ZBLANK");
  if (method == "SUBTRACTIVE_DITHER_1") {
    quantization.dither = Quantization::Dither::kSubtractive1;
  } else if (method == "SUBTRACTIVE_DITHER_2") {
    quantization.dither = Quantization::Dither::kSubtractive2;
  } else if (!method.empty() && method != "NO_DITHER") {
    return Unsupported("ZQUANTIZ {} is not supported", model::Quote(method));
  }
  if (quantization.dither == Quantization::Dither::kNone) return quantization;
  const auto seed = header.Integer("ZDITHER0");
  if (!seed || *seed < 1 || *seed > static_cast<int64_t>(kRandomNumbers)) {
    return BadInput("ZDITHER0: expected a number from 1 to {}", kRandomNumbers);
  }
  quantization.seed = static_cast<uint64_t>(*seed);
  return quantization;
}

Result<TileForm> FormOf(const FitsHeader& header, const DescribedArray& image,
                        const TileTable& table) {
  TileForm form;
  NDLFS_TRY(form.compression, CompressionOf(header));
  NDLFS_TRY(const uint64_t bytes, Parameter(header, "BYTEPIX", 4));
  NDLFS_TRY(form.rice_block, Parameter(header, "BLOCKSIZE", 32));
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    return Unsupported("BYTEPIX: {} is not supported", bytes);
  }
  form.rice_bytes = static_cast<unsigned>(bytes);
  form.moves_zero = image.dtype.has_value();
  if (image.stored.kind() != Datatype::Kind::kFloat) return form;
  NDLFS_TRY(form.quantization, QuantizationOf(header, table));
  form.scale = header.Real("ZSCALE").value_or(1);
  form.zero = header.Real("ZZERO").value_or(0);
  const bool is_gzip = form.compression == Compression::kGzip ||
                       form.compression == Compression::kShuffledGzip ||
                       form.compression == Compression::kNone;
  if (!form.quantization && !is_gzip) {
    return BadInput("floats compressed by {} need ZSCALE",
                    model::Quote(header.Text("ZCMPTYPE")));
  }
  return form;
}

// Checks that columns are of the types that this reader expects.
Result<void> CheckColumns(const TileTable& table) {
  if (table.Find("NULL_PIXEL_MASK") != nullptr) {
    return Unsupported("a mask of null pixels is not supported");
  }
  if (table.Find("COMPRESSED_DATA") == nullptr) {
    return BadInput("there is no column COMPRESSED_DATA");
  }
  for (const TableColumn& column : table.columns) {
    const bool is_array = column.name.ends_with("COMPRESSED_DATA");
    const bool is_number = column.name == "ZSCALE" || column.name == "ZZERO";
    if ((is_array && column.item_size == 0) ||
        (is_number && column.form != "1D" && column.form != "D") ||
        (column.name == "ZBLANK" && column.size > 8)) {
      return BadInput("a column {} of the form {}", model::Quote(column.name),
                      model::Quote(column.form));
    }
  }
  return {};
}

Result<TileTable> TableOf(const FitsHeader& header, const DataFile& file, uint64_t offset) {
  TileTable table;
  table.file = file;
  table.offset = offset;
  NDLFS_TRY(table.columns, ColumnsOf(header));
  NDLFS_RETURN_IF_ERROR(CheckColumns(table));
  table.width = static_cast<uint64_t>(header.Integer("NAXIS1").value_or(0));
  table.rows = static_cast<uint64_t>(header.Integer("NAXIS2").value_or(0));
  NDLFS_TRY(const FitsTablePlace place,
            FindHeap(header, {table.width, table.rows, {}}, file, offset));
  table.heap = place.heap;
  table.heap_end = place.heap_end;
  return table;
}

// The slowest dimension first.
Result<std::vector<uint64_t>> TileShapeOf(const FitsHeader& header,
                                          const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> tile;
  for (size_t n = shape.size(); n > 0; --n) {
    const uint64_t extent = std::max<uint64_t>(1, shape[shape.size() - n]);
    const std::string keyword = fmt::format("ZTILE{}", n);
    const int64_t otherwise = n == 1 ? static_cast<int64_t>(extent) : 1;
    const int64_t size = header.Has(keyword) ? header.Integer(keyword).value_or(0) : otherwise;
    if (size < 1) return BadInput("{}: expected a positive number", keyword);
    tile.push_back(std::min(static_cast<uint64_t>(size), extent));
  }
  return tile;
}

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeTileSource(const FitsHeader& header,
                                                          const DescribedArray& image,
                                                          const DataFile& file, uint64_t offset,
                                                          const OpenOptions& options) {
  NDLFS_TRY(TileTable table, TableOf(header, file, offset));
  NDLFS_TRY(TileForm form, FormOf(header, image, table));
  ArraySpec spec;
  spec.dtype = image.type().WithOrder(model::ByteOrder::kLittle);
  spec.shape = image.shape();
  spec.fill = EncodedFill(image);
  spec.max_chunk_bytes = options.max_chunk_size;
  const auto bytes = CheckedProduct(spec.shape, spec.dtype.size());
  if (!bytes || *bytes > kMaxViewSize) return model::Limit("too many pixels");
  NDLFS_TRY(auto tile, TileShapeOf(header, spec.shape));
  // A tile takes up to 8 bytes a pixel while it is decoded.
  const auto tile_bytes = CheckedProduct(tile, sizeof(double));
  if (!tile_bytes || *tile_bytes > options.max_chunk_size) {
    return model::Limit("tiles are larger than {} bytes", options.max_chunk_size);
  }
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, tile, ChunkGrid::Edge::kCropped));
  const auto tiles = CheckedProduct(spec.grid.counts());
  if (!tiles || *tiles > table.rows) {
    return BadInput("the table has {} rows, but the image has {} tiles", table.rows,
                    tiles.value_or(UINT64_MAX));
  }
  NDLFS_TRY(auto gzip, MakeBytesCodec("gzip"));
  return std::make_shared<TileSource>(std::move(spec), std::move(table), std::move(form),
                                      std::move(gzip));
}

}  // namespace ndlfs::backends::foreign
