// SPDX-License-Identifier: MIT
//
// What a frame of Blosc 2 must not bring about. The conformance suite has frames of each kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "backends/codec/little_endian.h"
#include "tests/backends/codec/codec_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/goldens.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::HasSubstr;

// Places in the header of a frame, and in that of a chunk.
constexpr size_t kFrameHeaderSize = 11, kFrameSize = 16, kFrameFlags = 25,
                 kFrameDecodedSize = 30, kFrameChunksSize = 39, kFrameElementSize = 48,
                 kFrameChunkSize = 58, kFrameMetalayers = 0x57;
constexpr size_t kChunkFlags = 2, kChunkElementSize = 3, kChunkDecodedSize = 4,
                 kChunkBlockSize = 8, kChunkEncodedSize = 12, kChunkFilters = 16,
                 kChunkFlags2 = 31, kChunkStarts = 32;

// A golden with bytes of it changed.
class ChangedFrame {
 public:
  explicit ChangedFrame(std::string_view name)
      : golden_(FindGolden(kGoldens, name)), bytes_(FromHex(golden_.encoded)) {}

  ChangedFrame& Set(size_t at, uint8_t value) {
    bytes_.data()[at] = std::byte{value};
    return *this;
  }
  ChangedFrame& SetBig(size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) Set(at + i, static_cast<uint8_t>(value >> (24 - 8 * i)));
    return *this;
  }
  ChangedFrame& SetLittle(size_t at, uint32_t value) {
    StoreLittle(value, bytes_.data() + at);
    return *this;
  }
  // The first chunk follows the header.
  size_t chunk() const { return LoadBig<uint32_t>(bytes_.data() + kFrameHeaderSize); }
  size_t decoded_size() const { return std::string_view(golden_.decoded).size() / 2; }

  std::string Failure(ErrorCode code = ErrorCode::kCorrupt) const {
    const auto codec = MakeBytesToBytes(CodecDialect::kHdf5, "32026", golden_.configuration);
    GuardedBuffer memory(decoded_size());
    const auto produced = codec->Decode(bytes_.span(), memory.span());
    EXPECT_TRUE(memory.IsIntact());
    if (produced) return "none";
    EXPECT_EQ(produced.error().code(), code) << produced.error().message();
    return produced.error().message();
  }

 private:
  const Golden& golden_;
  Bytes bytes_;
};

ChangedFrame Plain() { return ChangedFrame("Hdf5Blosc2Lz4None"); }

TEST(Blosc2Test, FramesThatAreNoneOrOfAnotherKindAreRefused) {
  EXPECT_EQ(Plain().Set(3, 'x').Failure(), "not a frame of Blosc 2");
  EXPECT_EQ(Plain().Set(kFrameSize - 1, 0xce).Failure(), "invalid header");
  EXPECT_EQ(Plain().Set(kFrameFlags, 0x13).Failure(ErrorCode::kUnsupported),
            "a frame of version 3");
  EXPECT_EQ(Plain().Set(kFrameFlags, 0x02).Failure(ErrorCode::kUnsupported),
            "a frame of the kind 0x02, 0x00");
  EXPECT_EQ(Plain().Set(kFrameFlags + 1, 1).Failure(ErrorCode::kUnsupported),
            "a frame of the kind 0x12, 0x01");  // sparse: a directory
  EXPECT_EQ(ChangedFrame("Hdf5Blosc2Grid2")
                .Set(kFrameMetalayers + 8, 'c')
                .Failure(ErrorCode::kUnsupported),
            "metalayer \"c2nd\"");
}

TEST(Blosc2Test, SizesInTheHeaderAreComparedWithWhatIsThere) {
  EXPECT_THAT(Plain().SetBig(kFrameSize + 4, 1 << 20).Failure(),
              HasSubstr("bytes, the header says 1048576"));
  EXPECT_THAT(Plain().SetBig(kFrameHeaderSize, 1 << 20).Failure(),
              HasSubstr("a header of 1048576 bytes"));
  EXPECT_EQ(Plain().SetBig(kFrameHeaderSize, 0xffffffff).Failure(), "invalid header");
  EXPECT_THAT(Plain().SetBig(kFrameChunksSize + 4, 1 << 20).Failure(),
              HasSubstr("chunks of 1048576 in"));
  EXPECT_EQ(Plain().SetBig(kFrameElementSize, 0).Failure(), "elements of 0 bytes");
  EXPECT_EQ(Plain().SetBig(kFrameChunkSize, 0).Failure(ErrorCode::kUnsupported),
            "chunks of different sizes");
  EXPECT_EQ(Plain().SetBig(kFrameDecodedSize + 4, 1 << 30).Failure(),
            "decodes to 1073741824 bytes, expected at most 256");
  EXPECT_EQ(Plain().SetBig(kFrameChunkSize, 1).Failure(), "offsets of 8 bytes, expected 2048");
}

TEST(Blosc2Test, ChunksThatContradictTheFrameAreRefused) {
  const size_t at = Plain().chunk();
  EXPECT_EQ(Plain().Set(at, 3).Failure(ErrorCode::kUnsupported), "a chunk of version 3");
  EXPECT_EQ(Plain().Set(at + kChunkFlags, 0x30).Failure(ErrorCode::kUnsupported),
            "a chunk of version 5");  // with the header of Blosc 1
  EXPECT_EQ(Plain().Set(at + kChunkElementSize, 0).Failure(), "elements of 0 bytes");
  EXPECT_EQ(Plain().SetLittle(at + kChunkDecodedSize, 252).Failure(),
            "blocks of 256 bytes in a chunk of 252");
  EXPECT_EQ(Plain().SetLittle(at + kChunkDecodedSize, 260).Failure(),
            "chunk 0 of 260 bytes, expected 256");
  EXPECT_EQ(Plain().SetLittle(at + kChunkBlockSize, 0).Failure(),
            "blocks of 0 bytes in a chunk of 256");
  EXPECT_THAT(Plain().SetLittle(at + kChunkBlockSize, 1).Failure(), HasSubstr("256 blocks in"));
  EXPECT_THAT(Plain().SetLittle(at + kChunkEncodedSize, 1 << 20).Failure(),
              HasSubstr("the header says 1048576"));
  EXPECT_THAT(Plain().SetLittle(at + kChunkStarts, 4).Failure(),
              HasSubstr("block 0 begins at byte 4 of"));
  EXPECT_EQ(Plain().SetLittle(at + kChunkStarts + 4, 1 << 20).Failure(), "block 0: truncated");
  EXPECT_EQ(Plain().SetLittle(at + kChunkStarts + 4, 9).Failure(), "block 0: invalid data");
  EXPECT_EQ(Plain()
                .SetLittle(at + kChunkStarts + 4, 0xfffffe00)
                .Failure(ErrorCode::kUnsupported)
                .substr(0, 28),
            "a stream of the unknown kind");
}

TEST(Blosc2Test, WhatIsNotUnderstoodIsNamed) {
  const size_t at = Plain().chunk();
  const auto unsupported = [&](size_t place, uint8_t value) {
    return Plain().Set(at + place, value).Failure(ErrorCode::kUnsupported);
  };
  EXPECT_EQ(unsupported(1, 2), "streams of version 2");
  EXPECT_EQ(unsupported(kChunkFlags, 0x55), "compressor 2 of Blosc 2");
  EXPECT_EQ(unsupported(kChunkFlags, 0xd5), "compressor 6 of Blosc 2");
  EXPECT_EQ(unsupported(kChunkFlags2, 0x01), "a chunk with a dictionary");
  EXPECT_EQ(unsupported(kChunkFlags2, 0x08), "a chunk with the flags 0x08");
  EXPECT_EQ(unsupported(kChunkFlags2, 0x50), "special values of the unknown kind 5");
  EXPECT_EQ(unsupported(kChunkFilters + 5, 35), "filter 35 of Blosc 2");
  EXPECT_EQ(Plain()
                .Set(at + kChunkFilters, 1)
                .Set(at + kChunkFilters + 1, 3)
                .Failure(ErrorCode::kUnsupported),
            "filter delta after another one");
  EXPECT_EQ(Plain()
                .Set(at + kChunkFilters, 3)
                .Set(at + kChunkFilters + 1, 4)
                .Failure(ErrorCode::kUnsupported),
            "filter delta with truncation");
}

TEST(Blosc2Test, SpecialValuesNeedAnElementThatHasThem) {
  ChangedFrame nans("Hdf5Blosc2Nan");
  EXPECT_EQ(nans.Set(nans.chunk() + kChunkElementSize, 2).Failure(), "NaNs of 2 bytes");
  ChangedFrame values("Hdf5Blosc2Value");
  EXPECT_EQ(values.SetLittle(values.chunk() + kChunkEncodedSize, 35).Failure(),
            "a chunk of 35 bytes with a value of 4");
}

// Content of the metalayer b2nd: three numbers, and three lists of numbers with their types.
TEST(Blosc2Test, ShapesThatContradictTheChunksAreRefused) {
  constexpr size_t kContent = kFrameMetalayers + 1 + 3 + 3 + 10 + 3 + 5;
  constexpr size_t kShape = kContent + 4, kChunk = kShape + 2 * 9 + 1,
                   kBlock = kChunk + 2 * 5 + 1;
  const auto grid = [] { return ChangedFrame("Hdf5Blosc2Grid2"); };
  EXPECT_EQ(grid().Set(kContent + 2, 3).Failure(), "invalid metalayer b2nd of version 0");
  EXPECT_EQ(grid().SetBig(kShape + 5, 1 << 30).Failure(),
            "decodes to 38654705664 bytes, expected at most 252");
  EXPECT_THAT(grid().SetBig(kShape + 1, 1 << 30).Failure(), HasSubstr("shape overflows"));
  EXPECT_EQ(grid().SetBig(kShape + 5, 3).Failure(), "none");  // smaller than its chunk
  EXPECT_EQ(grid().SetBig(kChunk + 1, 3).Failure(), "blocks of 4 in chunks of 3");
  EXPECT_EQ(grid().SetBig(kChunk + 1, 0).Failure(), "blocks of 4 in chunks of 0");
  EXPECT_EQ(grid().SetBig(kBlock + 1, 0).Failure(), "blocks of 0 in chunks of 7");
  EXPECT_EQ(grid().SetBig(kChunk + 1, 4).Failure(),
            "1 chunks of 384 bytes, which the shapes contradict");
  EXPECT_EQ(grid().SetBig(kBlock + 1, 2).Failure(),
            "blocks of 64 bytes, the metalayer says 32");
}

}  // namespace
}  // namespace ndlfs::backends
