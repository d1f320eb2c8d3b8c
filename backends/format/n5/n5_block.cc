// SPDX-License-Identifier: MIT
//
// Blocks of N5 (https://github.com/saalfeldlab/n5, "Filesystem
// specification"): a header, and then the elements, big-endian, compressed.
//
//   uint16  mode: 0 default, 1 variable length, 2 object
//   uint16  number of dimensions
//   uint32  extent of each dimension, the fastest first
//   uint32  number of elements (mode 1 only)
//
// At the edges of a dataset, blocks are cropped by some writers, and full
// blocks by others; what the header says counts.
#include "backends/format/n5/n5_block.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/registry.h"
#include "backends/format/n5/lz4_block_stream.h"

namespace ndlfs::backends::n5 {
namespace {

using Shape = std::vector<uint64_t>;
using BytesToBytes = std::shared_ptr<const BytesToBytesCodec>;

enum Mode : uint16_t { kDefault = 0, kVariableLength = 1, kObject = 2 };

struct Header {
  Shape shape;  // the slowest dimension first
  size_t size;  // of the header itself
};

// Takes big-endian integers off the front.
class BigEndianReader {
 public:
  explicit BigEndianReader(ConstByteSpan bytes) : bytes_(bytes) {}
  // nullopt at the end.
  std::optional<uint32_t> Take(size_t width) {
    if (bytes_.size() < width) return std::nullopt;
    uint32_t value = 0;
    for (size_t i = 0; i < width; ++i)
      value = value << 8 | std::to_integer<uint32_t>(bytes_[i]);
    bytes_ = bytes_.subspan(width);
    return value;
  }
  size_t left() const { return bytes_.size(); }

 private:
  ConstByteSpan bytes_;
};

model::Failure CutShort(size_t size) {
  return model::Corrupt("a block of {} bytes, cut short in its header", size);
}

model::Result<Header> ParseHeader(ConstByteSpan block, size_t rank) {
  BigEndianReader reader(block);
  const auto mode = reader.Take(2);
  const auto dimensions = reader.Take(2);
  if (!mode || !dimensions) return CutShort(block.size());
  if (*mode != kDefault && *mode != kVariableLength) {
    if (*mode == kObject) return model::Unsupported("a block of mode {}, an object", *mode);
    return model::Corrupt("a block of mode {}", *mode);
  }
  if (*dimensions != rank) {
    return model::Corrupt("a block of {} dimensions in a dataset of {}", *dimensions, rank);
  }
  Header header;
  for (size_t i = 0; i < rank; ++i) {
    const auto extent = reader.Take(4);
    if (!extent) return CutShort(block.size());
    header.shape.insert(header.shape.begin(), *extent);
  }
  if (*mode == kVariableLength) {
    const auto count = reader.Take(4);
    if (!count) return CutShort(block.size());
    if (CheckedProduct(header.shape) != *count) {
      return model::Unsupported("a block of variable length, of {} elements", *count);
    }
  }
  header.size = block.size() - reader.left();
  return header;
}

// The header of a block of mode 0.
std::vector<std::byte> HeaderOf(const Shape& shape) {
  std::vector<std::byte> header;
  const auto add = [&](uint64_t value, size_t width) {
    for (size_t i = width; i-- > 0;) header.push_back(static_cast<std::byte>(value >> (8 * i)));
  };
  add(kDefault, 2);
  add(shape.size(), 2);
  for (size_t d = shape.size(); d-- > 0;) add(shape[d], 4);
  return header;
}

class N5BlockCodec final : public ArrayToBytesCodec {
 public:
  // `elements` decodes what follows the header.
  explicit N5BlockCodec(CodecChain elements) : elements_(std::move(elements)) {}

  std::string_view name() const override { return "n5 block"; }

  std::optional<uint64_t> EncodedSize(const ChunkForm&) const override { return std::nullopt; }
  uint64_t MaxEncodedSize(const ChunkForm& form) const override {
    const uint64_t header = 2 + 2 + 4 * form.shape.size() + 4;
    return std::min(kMaxViewSize, elements_.MaxEncodedSize(form.shape) + header);
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    NDLFS_TRY(const Header header, ParseHeader(encoded, form.shape.size()));
    for (size_t dim = 0; dim < form.shape.size(); ++dim) {
      if (header.shape[dim] <= form.shape[dim]) continue;
      return model::Corrupt("a block of extent {}, the blocks of the dataset have {}",
                            header.shape[dim], form.shape[dim]);
    }
    const ConstByteSpan elements = encoded.subspan(header.size);
    Scratch scratch;
    if (header.shape == form.shape) {
      return elements_.Decode(elements, header.shape, decoded, scratch);
    }
    const size_t item = form.dtype.size();
    Bytes block(*CheckedProduct(header.shape, item));  // no more than `decoded`
    NDLFS_RETURN_IF_ERROR(elements_.Decode(elements, header.shape, block.span(), scratch));
    std::fill(decoded.begin(), decoded.end(), std::byte{0});
    CopyIntoCorner(block.span(), header.shape, form.shape, item, decoded);
    return {};
  }

 private:
  // Copies a block to where all indexes are lowest in a larger one.
  static void CopyIntoCorner(ConstByteSpan from, const Shape& from_shape, const Shape& to_shape,
                             size_t item, ByteSpan to) {
    if (from.empty()) return;
    const size_t rank = from_shape.size();
    const size_t run = rank == 0 ? item : from_shape[rank - 1] * item;
    Shape row(rank, 0);
    const std::byte* next = from.data();
    for (;;) {
      size_t position = 0;
      for (size_t dim = 0; dim < rank; ++dim) position = position * to_shape[dim] + row[dim];
      std::memcpy(to.data() + position * item, next, run);
      next += run;
      size_t dim = rank == 0 ? 0 : rank - 1;  // rows run along the last one
      for (; dim > 0; --dim) {
        if (++row[dim - 1] < from_shape[dim - 1]) break;
        row[dim - 1] = 0;
      }
      if (dim == 0) return;
    }
  }

  const CodecChain elements_;
};

// A codec of the registry that undoes a compression of N5.
model::Result<BytesToBytes> MakeRegistered(CodecDialect dialect, std::string_view name,
                                           const Json& configuration, const ChunkForm& form) {
  NDLFS_TRY(AnyCodec codec, MakeCodec({dialect, name, &configuration, &form}));
  auto* made = std::get_if<BytesToBytes>(&codec);
  if (!made) return model::Internal("{} is no bytes to bytes codec", name);
  return std::move(*made);
}

// Null for `raw`.
model::Result<BytesToBytes> MakeDecompressor(const Json& compression, const ChunkForm& form) {
  NDLFS_TRY(const Json* type, RequireMember(compression, "type"));
  const Json none = Json::object();
  constexpr auto kNumcodecs = CodecDialect::kNumcodecs;
  if (*type == "raw") return nullptr;
  if (*type == "gzip") {
    const bool zlib = compression.contains("useZlib") && compression["useZlib"] == true;
    return MakeRegistered(kNumcodecs, zlib ? "zlib" : "gzip", none, form);
  }
  if (*type == "bzip2") return MakeRegistered(kNumcodecs, "bz2", none, form);
  if (*type == "zstd") return MakeRegistered(kNumcodecs, "zstd", none, form);
  if (*type == "blosc") return MakeRegistered(kNumcodecs, "blosc", none, form);
  if (*type == "xz") return MakeRegistered(kNumcodecs, "lzma", none, form);
  if (*type == "lz4") return MakeLz4BlockStream();
  if (!type->is_string()) {
    return model::BadInput("type: expected a string, found {}", DescribeJson(*type));
  }
  return model::Unsupported("unknown compression {}",
                            model::Quote(type->get_ref<const std::string&>()));
}

}  // namespace

model::Result<CodecChain> MakeBlockChain(const Json& compression, const ChunkForm& block) {
  const Json big = {{"endian", "big"}};
  NDLFS_TRY(AnyCodec bytes, MakeCodec({CodecDialect::kZarr3, "bytes", &big, &block}));
  NDLFS_TRY(BytesToBytes decompressor, MakeDecompressor(compression, block), "compression");
  std::vector<BytesToBytes> decompressors;
  if (decompressor) decompressors.push_back(std::move(decompressor));
  NDLFS_TRY(
      CodecChain elements,
      CodecChain::Make(block, {}, std::get<std::shared_ptr<const ArrayToBytesCodec>>(bytes),
                       std::move(decompressors)));
  return CodecChain::Make(block, {}, std::make_shared<const N5BlockCodec>(std::move(elements)),
                          {});
}

std::optional<ChunkEncoding> DescribeBlocks(const Json& compression,
                                            const model::Datatype& stored, const Shape& block) {
  const auto type = compression.is_object() ? compression.find("type") : compression.end();
  if (type == compression.end()) return std::nullopt;
  const bool is_zlib = compression.value("useZlib", Json()) == true;
  Json codecs = Json::array();
  if (*type == "gzip") {
    codecs.push_back({{"id", is_zlib ? "zlib" : "gzip"}, {"level", 6}});
  } else if (*type == "zstd") {
    codecs.push_back({{"id", "zstd"}, {"level", 3}});
  } else if (*type == "blosc") {
    codecs.push_back({{"id", "blosc"}});
    for (const char* key : {"cname", "clevel", "shuffle", "blocksize"}) {
      if (compression.contains(key)) codecs.back()[key] = compression[key];
    }
  } else {
    return std::nullopt;
  }
  auto encoding = DescribeEncoding(stored, std::move(codecs));
  if (!encoding) return std::nullopt;
  encoding->has_others = true;
  encoding->head = HeaderOf(block);
  return encoding;
}

}  // namespace ndlfs::backends::n5
