// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/coding.h"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/picture/picture.h"
#include "backends/codec/registry.h"
#include "backends/codec/stream/high_bit_reader.h"
#include "backends/format/hdf4/elements.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

class Decoder : public BytesToBytesCodec {
 public:
  // None of the codings makes bytes much longer than they are.
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    const auto twice = CheckedMultiply(decoded_size, 2);
    return {CheckedAdd(twice.value_or(kMaxViewSize), uint64_t{1} << 16).value_or(kMaxViewSize),
            false};
  }
};

// Runs and mixes of bytes: a byte says which of both, and how many bytes; compressed elements
// have no short ones, and count from 3 and 1.
class RunLengths final : public Decoder {
 public:
  RunLengths(size_t shortest_run, size_t shortest_mix)
      : shortest_run_(shortest_run), shortest_mix_(shortest_mix) {}
  std::string_view name() const override { return "rle"; }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    size_t made = 0;
    while (made < decoded.size() && encoded.size() > 1) {
      const auto head = std::to_integer<size_t>(encoded[0]);
      encoded = encoded.subspan(1);
      const bool is_run = head >= 128;
      const size_t count = is_run ? head - 128 + shortest_run_ : head + shortest_mix_;
      const size_t stored = is_run ? 1 : std::min(count, encoded.size());
      // The last run of an image may go on behind its end.
      const size_t used =
          std::min(is_run ? count : stored, static_cast<size_t>(decoded.size() - made));
      if (is_run) {
        std::memset(decoded.data() + made, std::to_integer<int>(encoded[0]), used);
      } else if (used > 0) {
        std::memcpy(decoded.data() + made, encoded.data(), used);
      }
      made += used;
      encoded = encoded.subspan(stored);
    }
    return made;
  }

 private:
  const size_t shortest_run_, shortest_mix_;
};

// Some bits of each number, with the highest one first. The other bits repeat the highest one,
// or are all alike.
class NBit final : public Decoder {
 public:
  struct Parameters {
    size_t bytes = 0;  // of a number
    unsigned shift = 0, bits = 0;
    bool is_signed = false, fills_with_ones = false;
  };
  explicit NBit(const Parameters& parameters) : p_(parameters) {}
  std::string_view name() const override { return "nbit"; }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const size_t count = decoded.size() / p_.bytes;
    HighBitReader reader(encoded);
    if (reader.bits_left() / p_.bits < count) {
      return model::Corrupt("{} bytes for {} numbers of {} bits", encoded.size(), count,
                            p_.bits);
    }
    const uint64_t mask = (~uint64_t{0} >> (64 - p_.bits)) << p_.shift;
    const uint64_t above = ~(mask | (mask - 1));
    for (size_t i = 0; i < count; ++i) {
      const uint64_t stored = reader.Take(p_.bits) << p_.shift;
      uint64_t number = stored | (p_.fills_with_ones ? ~mask : 0);
      if (p_.is_signed) {
        const bool is_negative = (stored >> (p_.shift + p_.bits - 1) & 1) != 0;
        number = is_negative ? number | above : number & ~above;
      }
      // Numbers are encoded as they lie in the file, whatever their order is.
      for (size_t byte = p_.bytes; byte-- > 0; number >>= 8) {
        decoded[i * p_.bytes + byte] = static_cast<std::byte>(number & 0xff);
      }
    }
    return count * p_.bytes;
  }

 private:
  const Parameters p_;
};

// D. W. Jones, "Application of splay trees to data compression" (1988). Bytes take turns: each
// byte of a number has a tree of its own.
class SkippingHuffman final : public Decoder {
 public:
  explicit SkippingHuffman(size_t lanes) : lanes_(lanes) {}
  std::string_view name() const override { return "skphuff"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return Decoder::EncodedSize(CheckedMultiply(decoded_size, 4).value_or(kMaxViewSize));
  }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    std::vector<Tree> trees(lanes_);
    HighBitReader reader(encoded);
    for (size_t i = 0; i < decoded.size(); ++i) {
      Tree& tree = trees[i % lanes_];
      size_t node = 0;
      do {
        if (reader.bits_left() == 0) {
          return model::Corrupt("{} bytes end after {} of {}", encoded.size(), i,
                                decoded.size());
        }
        node = tree.children[node][reader.Take(1)];
      } while (node < kLetters);
      tree.Splay(node);
      decoded[i] = static_cast<std::byte>(node - kLetters);
    }
    return decoded.size();
  }

 private:
  static constexpr size_t kLetters = 256;

  // Nodes below 256 have children; the others are the letters. 0 is the root.
  struct Tree {
    std::array<std::array<uint16_t, 2>, kLetters> children;
    std::array<uint16_t, 2 * kLetters> parents;

    Tree() {
      for (size_t i = 0; i < parents.size(); ++i) {
        parents[i] = static_cast<uint16_t>(i / 2);
        children[i / 2][i % 2] = static_cast<uint16_t>(i);
      }
    }

    // On the way up, every second node changes places with the sibling of its parent.
    void Splay(size_t node) {
      while (node != 0 && parents[node] != 0) {
        const uint16_t parent = parents[node], grandparent = parents[parent];
        auto& elders = children[grandparent];
        auto& siblings = children[parent];
        uint16_t& elder = elders[0] == parent ? elders[1] : elders[0];
        uint16_t& self = siblings[0] == node ? siblings[0] : siblings[1];
        parents[elder] = parent;
        parents[node] = grandparent;
        std::swap(elder, self);
        node = grandparent;
      }
    }
  };

  const size_t lanes_;
};

// The codec of HDF5's szip, with another head. Before HDF 4.2r1 there was none.
class Szip final : public Decoder {
 public:
  Szip(std::shared_ptr<const BytesToBytesCodec> codec, uint64_t bytes, bool has_head)
      : codec_(std::move(codec)), bytes_(bytes), has_head_(has_head) {}
  std::string_view name() const override { return "szip"; }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    BigReader reader(encoded);
    const bool is_plain = has_head_ && reader.Number(1) == 1;
    const uint64_t stored = has_head_ ? reader.Number(4) : encoded.size();
    const ConstByteSpan data = reader.Take(stored);
    if (!reader.is_good()) return model::Corrupt("{} bytes of {}", encoded.size(), stored);
    if (is_plain) {
      if (stored > decoded.size()) return model::Corrupt("{} bytes are too many", stored);
      std::memcpy(decoded.data(), data.data(), data.size());
      return data.size();
    }
    Bytes with_head(4 + data.size());
    StoreLittle(static_cast<uint32_t>(bytes_), with_head.data());
    std::memcpy(with_head.data() + 4, data.data(), data.size());
    return codec_->Decode(with_head.span(), decoded);
  }

 private:
  const std::shared_ptr<const BytesToBytesCodec> codec_;
  const uint64_t bytes_;
  const bool has_head_;
};

// Squares of 4 x 4 pixels with two colours: a bit for each pixel, and the colours.
class Imcomp final : public Decoder {
 public:
  explicit Imcomp(uint64_t columns) : columns_(columns) {}
  std::string_view name() const override { return "imcomp"; }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    // A square at the right edge may go on in the next rows, and take its last bytes from the
    // next squares, because libhdf4 writes and reads it so.
    constexpr uint64_t kSide = 4;
    const uint64_t rows = decoded.size() / columns_ / kSide;
    if (encoded.size() / columns_ < rows) {
      return model::Corrupt("{} bytes for {} rows", encoded.size(), rows * kSide);
    }
    std::memset(decoded.data(), 0, decoded.size());
    for (uint64_t row = 0; row < rows; ++row) {
      for (uint64_t column = 0; column < columns_; column += kSide) {
        const uint64_t at = row * columns_ + column;
        if (encoded.size() - at < kSide) break;
        const std::byte* from = encoded.data() + at;
        const auto bits = LoadBig<uint16_t>(from);
        for (uint64_t i = 0; i < kSide * kSide; ++i) {
          const uint64_t to = (row * kSide + i / kSide) * columns_ + column + i % kSide;
          if (to < decoded.size()) decoded[to] = (bits << i & 0x8000) != 0 ? from[2] : from[3];
        }
      }
    }
    return decoded.size();
  }

 private:
  const uint64_t columns_;
};

class Jpeg final : public Decoder {
 public:
  explicit Jpeg(uint64_t columns) : columns_(columns) {}
  std::string_view name() const override { return "jpeg"; }

  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const PictureForm form{model::Datatype::Integer(1, false), columns_, 0, std::nullopt};
    NDLFS_RETURN_IF_ERROR(DecodePicture({.kind = PictureKind::kJpeg}, encoded, form, decoded));
    return decoded.size();
  }

 private:
  const uint64_t columns_;
};

using MadeDecoder = Result<std::shared_ptr<const BytesToBytesCodec>>;

MadeDecoder MakeNBit(BigReader reader) {
  NBit::Parameters made;
  switch (reader.Number(4) & 0xff) {
    case 5:
    case 24:
    case 25:
      made.bytes = 4;
      break;
    case 6:
      made.bytes = 8;
      break;
    case 22:
    case 23:
      made.bytes = 2;
      break;
    default:
      made.bytes = 1;
  }
  made.is_signed = reader.Number(2) != 0;
  made.fills_with_ones = reader.Number(2) == 1;
  const uint64_t highest = reader.Number(4), bits = reader.Number(4);
  if (!reader.is_good() || highest >= made.bytes * 8 || bits == 0 || bits > highest + 1) {
    return model::Corrupt("nbit: {} bits below bit {} of numbers of {} bytes", bits, highest,
                          made.bytes);
  }
  made.bits = static_cast<unsigned>(bits);
  made.shift = static_cast<unsigned>(highest + 1 - bits);
  return std::make_shared<NBit>(made);
}

MadeDecoder MakeSzip(BigReader reader) {
  constexpr uint64_t kHasHead = 0x10000;
  const uint64_t pixels = reader.Number(4), line = reader.Number(4), options = reader.Number(4);
  const uint64_t bits = reader.Number(1), block = reader.Number(1);
  if (!reader.is_good()) return model::Corrupt("szip without parameters");
  const Json parameters = {{"cd_values", {options & ~kHasHead, block, bits, line}}};
  const ChunkForm form{model::Datatype::Integer(1, false), {1}};
  NDLFS_TRY(AnyCodec codec, MakeCodec({CodecDialect::kHdf5, "4", &parameters, &form}));
  const uint64_t bytes = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
  return std::make_shared<Szip>(
      std::get<std::shared_ptr<const BytesToBytesCodec>>(std::move(codec)), pixels * bytes,
      (options & kHasHead) != 0);
}

}  // namespace

std::string_view NameOf(const Coding& coding) {
  constexpr std::array<std::string_view, 6> kNames = {"none",    "rle",     "nbit",
                                                      "skphuff", "deflate", "szip"};
  switch (coding.kind) {
    case Coding::kJpeg:
      return "jpeg";
    case Coding::kImageRunLengths:
      return "rle";
    case Coding::kImcomp:
      return "imcomp";
    default:
      return coding.kind < kNames.size() ? kNames[coding.kind] : "an unknown way";
  }
}

MadeDecoder MakeDecoder(const Coding& coding) {
  BigReader reader(AsBytes(coding.parameters));
  switch (coding.kind) {
    case Coding::kRunLengths:
      return std::make_shared<RunLengths>(3, 1);
    case Coding::kNBit:
      return MakeNBit(reader);
    case Coding::kSkippingHuffman: {
      constexpr uint64_t kMostLanes = 256;
      const uint64_t lanes = reader.Number(4);
      if (!reader.is_good() || lanes == 0 || lanes > kMostLanes) {
        return model::Unsupported("skphuff of every {} bytes", lanes);
      }
      return std::make_shared<SkippingHuffman>(lanes);
    }
    case Coding::kDeflate:
      return MakeBytesCodec("zlib");
    case Coding::kSzip:
      return MakeSzip(reader);
    case Coding::kImageRunLengths:
      return std::make_shared<RunLengths>(0, 0);
    case Coding::kImcomp:
    case Coding::kJpeg:
      if (coding.columns == 0) return model::Corrupt("an image without columns");
      if (coding.kind == Coding::kImcomp) return std::make_shared<Imcomp>(coding.columns);
      return std::make_shared<Jpeg>(coding.columns);
    default:
      return model::Unsupported("elements with coding {}, which nobody knows", coding.kind);
  }
}

}  // namespace ndlfs::backends::hdf4
