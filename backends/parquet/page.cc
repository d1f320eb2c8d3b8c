// SPDX-License-Identifier: MIT
//
// PageHeader of parquet.thrift. The levels of pages of version 2 are not compressed.
#include "backends/parquet/page.h"

#include <libdeflate.h>
#if NDLFS_WITH_SNAPPY
#include <snappy-c.h>
#endif

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/codec/stream/deflate.h"
#include "backends/codec/stream/zstd_context.h"
#include "backends/parquet/thrift.h"

namespace ndlfs::backends::parquet {
namespace {

using Thrift = ThriftReader::Type;

enum class Compression : uint64_t { kNone = 0, kSnappy = 1, kGzip = 2, kZstd = 6 };

struct PageHeader {
  uint64_t kind = 0;
  uint64_t decompressed_size = 0;
  uint64_t compressed_size = 0;
  std::optional<uint32_t> checksum;
  uint64_t values = 0;
  uint64_t encoding = 0;
  uint64_t levels_encoding = static_cast<uint64_t>(Encoding::kRuns);
  uint64_t levels_size = 0;
  uint64_t repetitions_size = 0;
  bool is_compressed = true;
};

// DataPageHeader and DictionaryPageHeader begin alike.
void ReadDataHeader(ThriftReader& from, PageHeader& header, bool has_levels) {
  from.ReadStruct([&](int id, Thrift type) {
    if (id == 1) header.values = from.ReadSize(type);
    if (id == 2) header.encoding = from.ReadSize(type);
    if (id == 3 && has_levels) header.levels_encoding = from.ReadSize(type);
    return id == 1 || id == 2 || (id == 3 && has_levels);
  });
}

void ReadDataHeader2(ThriftReader& from, PageHeader& header) {
  from.ReadStruct([&](int id, Thrift type) {
    switch (id) {
      case 1:
        header.values = from.ReadSize(type);
        return true;
      case 4:
        header.encoding = from.ReadSize(type);
        return true;
      case 5:
        header.levels_size = from.ReadSize(type);
        return true;
      case 6:
        header.repetitions_size = from.ReadSize(type);
        return true;
      case 7:
        header.is_compressed = type == Thrift::kTrue;
        return false;
      default:
        return false;
    }
  });
}

PageHeader ReadPageHeader(ThriftReader& from) {
  PageHeader header;
  from.ReadStruct([&](int id, Thrift type) {
    switch (id) {
      case 1:
        header.kind = from.ReadSize(type);
        return true;
      case 2:
        header.decompressed_size = from.ReadSize(type);
        return true;
      case 3:
        header.compressed_size = from.ReadSize(type);
        return true;
      case 4:
        header.checksum = static_cast<uint32_t>(from.ReadInteger(type));
        return true;
      case 5:
      case 7:
        if (type != Thrift::kStruct) from.Fail();
        ReadDataHeader(from, header, id == 5);
        return true;
      case 8:
        if (type != Thrift::kStruct) from.Fail();
        ReadDataHeader2(from, header);
        return true;
      default:
        return false;
    }
  });
  return header;
}

model::Result<void> Gunzip(ConstByteSpan encoded, ByteSpan out) {
  libdeflate_decompressor* context = DeflateContext();
  if (!context) return model::Limit("no memory");
  const auto result = libdeflate_gzip_decompress(context, encoded.data(), encoded.size(),
                                                 out.data(), out.size(), nullptr);
  if (result != LIBDEFLATE_SUCCESS) return DeflateFailure(result);
  return {};
}

model::Result<void> Unsnap([[maybe_unused]] ConstByteSpan encoded,
                           [[maybe_unused]] ByteSpan out) {
#if NDLFS_WITH_SNAPPY
  const auto* const from = reinterpret_cast<const char*>(encoded.data());
  size_t size = 0;
  if (snappy_uncompressed_length(from, encoded.size(), &size) != SNAPPY_OK ||
      size != out.size() ||
      snappy_uncompress(from, encoded.size(), reinterpret_cast<char*>(out.data()), &size) !=
          SNAPPY_OK) {
    return model::Corrupt("invalid data of snappy");
  }
  return {};
#else
  return model::Unsupported("snappy is not built in");
#endif
}

model::Result<void> Decompress(uint64_t compression, ConstByteSpan encoded, ByteSpan out) {
  switch (static_cast<Compression>(compression)) {
    case Compression::kNone:
      if (encoded.size() != out.size()) {
        return model::Corrupt("{} bytes stored in {}", out.size(), encoded.size());
      }
      std::copy(encoded.begin(), encoded.end(), out.begin());
      return {};
    case Compression::kSnappy:
      return Unsnap(encoded, out);
    case Compression::kGzip:
      return Gunzip(encoded, out);
    case Compression::kZstd: {
      NDLFS_TRY(const size_t size, DecodeZstd(encoded, out), "zstd");
      if (size != out.size()) return model::Corrupt("{} bytes, expected {}", size, out.size());
      return {};
    }
    default:
      return model::Unsupported("compression {} of Parquet", compression);
  }
}

model::Result<void> CheckPageHeader(const PageHeader& header, uint64_t bytes) {
  if (header.kind > static_cast<uint64_t>(PageKind::kData2)) {
    return model::Unsupported("a page of the unknown kind {}", header.kind);
  }
  if (header.compressed_size > bytes) {
    return model::Corrupt("a page of {} bytes in {}", header.compressed_size, bytes);
  }
  if (header.levels_encoding != static_cast<uint64_t>(Encoding::kRuns)) {
    return model::Unsupported("levels in encoding {}", header.levels_encoding);
  }
  if (header.repetitions_size != 0) return model::Corrupt("lists in a column without lists");
  const uint64_t levels = header.levels_size;
  if (levels > header.compressed_size || levels > header.decompressed_size) {
    return model::Corrupt("levels of {} bytes in a page of {}", levels, header.compressed_size);
  }
  return {};
}

}  // namespace

model::Result<Page> TakePage(ConstByteSpan& bytes, uint64_t compression, uint64_t& budget) {
  ThriftReader from(bytes);
  const PageHeader header = ReadPageHeader(from);
  if (!from.ok()) return model::Corrupt("invalid header of a page");
  bytes = bytes.subspan(from.position());
  NDLFS_RETURN_IF_ERROR(CheckPageHeader(header, bytes.size()));
  const ConstByteSpan stored = bytes.first(header.compressed_size);
  bytes = bytes.subspan(header.compressed_size);
  Page page;
  page.kind = static_cast<PageKind>(header.kind);
  if (page.kind == PageKind::kIndex) return page;
  if (header.checksum &&
      libdeflate_crc32(0, stored.data(), stored.size()) != *header.checksum) {
    return model::Corrupt("a page with a wrong checksum");
  }
  page.encoding = static_cast<Encoding>(header.encoding);
  page.values = header.values;
  page.levels = stored.first(header.levels_size);
  const uint64_t size = header.decompressed_size - header.levels_size;
  if (size > budget) return model::Limit("pages of more than {} bytes", budget);
  budget -= size;
  page.memory = Bytes(size);
  page.body = std::as_const(page.memory).span();
  if (size == 0) return page;
  const bool is_stored = page.kind == PageKind::kData2 && !header.is_compressed;
  NDLFS_RETURN_IF_ERROR(Decompress(is_stored ? 0 : compression,
                                   stored.subspan(header.levels_size), page.memory.span()));
  return page;
}

}  // namespace ndlfs::backends::parquet
