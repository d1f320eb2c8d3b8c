// SPDX-License-Identifier: MIT
//
// An ArraySource tells where the chunks of an array lie, and how to decode them. A format has
// to tell no more than that: cache/ reads, decodes and keeps chunks, in the same way for all
// formats.
//
// Element streams. The decoded form of elements of fixed size is their bytes
// (little-endian, C order, each type.size() long). A chunk of n elements of
// variable size (model::Datatype::is_fixed_size() is false) is decoded to
//
//   n + 1 uint64: where each element begins after this table, and the end;
//   the elements, without alignment, each part in the order of its type:
//     numbers, enums, opaque, fixed text: their little-endian bytes;
//     variable string, object reference (its path name): uint32 bytes, text;
//     region reference: uint32 bytes, its NDL value as JSON text
//       ({"target": ..., "start": [..], "opposite": [..]}), nothing for null;
//     vlen: uint32 elements, then these;
//     compound, array: their parts one after the other, no padding.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/codec/codec_chain.h"
#include "backends/store/index_cache.h"
#include "backends/store/store.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends {

// How the index space of an array is cut into chunks.
class ChunkGrid {
 public:
  enum class Edge {
    kFull,     // chunks at the edge are as large as the others (Zarr, HDF5)
    kCropped,  // chunks at the edge end where the array ends (N5, contiguous files)
  };

  ChunkGrid() = default;
  // Equal chunks. Refuses a rank other than the array's, and extents of 0.
  static model::Result<ChunkGrid> Regular(std::vector<uint64_t> array_shape,
                                          std::vector<uint64_t> chunk_shape, Edge edge);
  // Zarr v3 `rectilinear`: per dimension the extents of all chunks, whose sum
  // is at least the array's extent.
  static model::Result<ChunkGrid> Rectilinear(std::vector<uint64_t> array_shape,
                                              std::vector<std::vector<uint64_t>> chunk_extents);

  size_t rank() const { return array_shape_.size(); }
  const std::vector<uint64_t>& array_shape() const { return array_shape_; }
  // The extents of the largest chunk.
  const std::vector<uint64_t>& max_chunk_shape() const { return chunk_shape_; }
  // The number of chunks along each dimension; 0 along a dimension without extent.
  const std::vector<uint64_t>& counts() const { return counts_; }
  bool is_regular() const { return bounds_.empty(); }

  // Index of the chunk that holds `coordinate` of dimension `dim`.
  uint64_t ChunkOf(size_t dim, uint64_t coordinate) const;
  // First coordinate of chunk `index` along `dim`, and its decoded extent.
  uint64_t Begin(size_t dim, uint64_t index) const;
  uint64_t Extent(size_t dim, uint64_t index) const;
  // Decoded shape of a chunk.
  std::vector<uint64_t> ChunkShape(std::span<const uint64_t> index) const;

 private:
  Edge edge_ = Edge::kFull;
  std::vector<uint64_t> array_shape_;
  std::vector<uint64_t> chunk_shape_;
  std::vector<uint64_t> counts_;
  std::vector<std::vector<uint64_t>> bounds_;  // rectilinear: counts + 1 each
};

// The facts that all chunks of one array share.
struct ArraySpec {
  model::Datatype dtype;  // as decoded: little-endian
  std::vector<uint64_t> shape;
  ChunkGrid grid;
  CodecChain codecs;
  // The fill value of absent chunks: one decoded element; empty means zeros.
  std::vector<std::byte> fill;
  // The most bytes of a chunk of elements of variable size, encoded or decoded
  // (OpenOptions::max_chunk_size). The shape bounds other chunks.
  uint64_t max_chunk_bytes = uint64_t{1} << 30;
};

// Where one chunk is: in pieces of a value, in memory, or behind a function of a library.
struct ChunkLocation {
  // Nothing is stored: the fill value stands for all elements.
  static ChunkLocation Absent() { return {}; }

  // The chunk consists of these pieces of the value at `key`, one after the other; {0, kToEnd}
  // is the whole value. The chunk is absent if the key does not exist, or if there are no
  // pieces. Without pieces, `if_match` is the version of the value that says that nothing is
  // stored; nullopt: there was no value.
  std::shared_ptr<const Store> store;
  std::string key;
  std::vector<ByteRange> pieces;
  // Set if the value itself tells where its pieces are: the version of the value that told
  // `pieces`. Another version may have other bytes there.
  std::optional<Generation> if_match = std::nullopt;
  // If set: the encoded bytes themselves (HDF5 compact, inline references).
  std::shared_ptr<const Bytes> inline_bytes;
  // If set: returns the *decoded* chunk, and no codec is needed. For chunks that only a library
  // can read. Elements of variable size are an element stream of at most `limit` bytes (kLimit
  // or kCorrupt if there are more).
  std::function<model::Result<Bytes>(uint64_t limit)> generate;

  // A table says that the value exists. If it does not, the chunk is lost, which is an error,
  // and not absent.
  bool must_exist = false;
  // As in ReadOptions. Nobody has to look again whether the value has changed.
  bool never_changes = false;

  uint32_t skip_codecs = 0;  // bits of bytes to bytes codecs left out

  bool absent() const { return !store && !inline_bytes && !generate; }
};

// Elements that lie in a file one after the other in C order.
struct ContiguousRange {
  std::shared_ptr<const Store> store;
  std::string key;
  uint64_t offset = 0;
  model::Datatype stored;  // as in the file: perhaps big-endian
  // If set, the value at `key` must have exactly this length (a Zarr chunk); any other length
  // is corrupt. An absent key means the fill value.
  std::optional<uint64_t> exact_size;
};

// Makes each element of an array from an element of another type. Immutable; used by several
// threads.
class ElementConverter {
 public:
  ElementConverter(size_t from_size, size_t to_size)
      : from_size_(from_size), to_size_(to_size) {}
  virtual ~ElementConverter() = default;
  // Bytes of one element before and after. Neither is 0.
  size_t from_size() const { return from_size_; }
  size_t to_size() const { return to_size_; }
  // Converts whole elements, little-endian; as many on both sides. Fails for an element that
  // the new type does not have.
  virtual model::Result<void> Convert(ConstByteSpan from, ByteSpan to) const = 0;

 private:
  const size_t from_size_;
  const size_t to_size_;
};

class ArraySource;

// A part of a JoinedArray.
struct JoinedPart {
  // Has the shape of the join, except that it has an extent of its own along the dimension of
  // the join. If that extent is 1, the part may lack the dimension. Null: all elements are fill
  // values.
  std::shared_ptr<const ArraySource> source;
  // Makes elements of the join of those of the part; null if they are the same.
  std::shared_ptr<const ElementConverter> converter;
  // For messages: "1992/001.nc: /sst".
  std::string name;
};

// The elements of an array that lie in other arrays, its parts, one after the other along one
// dimension. Immutable, and used by several threads.
class JoinedArray {
 public:
  virtual ~JoinedArray() = default;
  // The dimension along which the parts follow each other.
  virtual size_t dim() const = 0;
  // Where each part begins along that dimension, ascending, and the end: one number more than
  // there are parts.
  virtual const std::vector<uint64_t>& bounds() const = 0;
  // Opens part `i`. Reads metadata, and fails if the part does not fit into the join. May keep
  // the parts that were opened last.
  virtual model::Result<JoinedPart> OpenPart(size_t i) const = 0;
  // Whether parts like the first one need no decoding.
  virtual bool is_plain() const = 0;
};

// One array's data. Immutable and safe to share between threads.
class ArraySource {
 public:
  ArraySource();
  virtual ~ArraySource() = default;

  // A number that no other source in this process has. Caches know the array by it.
  uint64_t id() const { return id_; }
  virtual const ArraySpec& spec() const = 0;

  // Where the chunk at `index` (one number per dimension, below counts()) is.
  virtual model::Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                                              IndexCache& indexes) const = 0;

  // Where the elements lie, if they can be read from a file as they are.
  virtual std::optional<ContiguousRange> contiguous() const { return std::nullopt; }

  // Set if the elements lie in other arrays. The grid then only says which elements are read
  // together, and Locate() fails. Elements are of fixed size.
  virtual const JoinedArray* joined() const { return nullptr; }

 private:
  const uint64_t id_;
};

}  // namespace ndlfs::backends
