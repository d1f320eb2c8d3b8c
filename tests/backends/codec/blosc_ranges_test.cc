// SPDX-License-Identifier: MIT
//
// Ranges of blosc containers, which are made by hand here; goldens of other
// software are in conformance_test.cc.
#include <sys/mman.h>

#include <cerrno>

#include "backends/codec/little_endian.h"
#include "tests/backends/codec/chain_testing.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using testing::HasSubstr;

constexpr auto kInvalid = "invalid data, or a compressor that this c-blosc lacks";

// A container of "abcdefghijkl" in three blocks, which are not compressed; each
// part can be made wrong.
struct Container {
  uint8_t version = 2;
  uint8_t flags = 0x30;  // LZ4, blocks are not split, no shuffle
  uint8_t type_size = 1;
  uint32_t decoded = 12;
  uint32_t block = 4;
  uint32_t encoded = 52;
  std::vector<uint32_t> starts = {28, 36, 44};
  std::string blocks = std::string("\4\0\0\0abcd\4\0\0\0efgh\4\0\0\0ijkl", 24);

  std::string Text() const {
    std::string text = {static_cast<char>(version), 1, static_cast<char>(flags),
                        static_cast<char>(type_size)};
    for (const uint32_t number : {decoded, block, encoded}) Append(number, text);
    for (const uint32_t start : starts) Append(start, text);
    return text + blocks;
  }
  static void Append(uint32_t number, std::string& text) {
    text.resize(text.size() + 4);
    StoreLittle(number, std::as_writable_bytes(std::span(text)).last(4).data());
  }
};

class BloscRangesTest : public testing::Test {
 protected:
  model::Result<std::string> Range(const std::string& container, uint64_t offset,
                                   uint64_t size) {
    const EncodedBytes encoded(AsBytes(container));
    GuardedBuffer out(size);
    const auto status =
        codec_->DecodeRange(encoded, decoded_size_, offset, max_block_, out.span());
    EXPECT_TRUE(out.IsIntact());
    bytes_read_ = encoded.bytes_read();
    NDLFS_RETURN_IF_ERROR(status);
    return std::string(AsText(out.span()));
  }
  // Why the second block cannot be had.
  std::string Failure(const std::string& container, ErrorCode code = ErrorCode::kCorrupt) {
    return FailureOf(Range(container, 4, 4), code);
  }
  std::string Failure(const Container& container, ErrorCode code = ErrorCode::kCorrupt) {
    return Failure(container.Text(), code);
  }

  const std::shared_ptr<const BytesToBytesCodec> codec_ =
      MakeBytesToBytes(CodecDialect::kNumcodecs, "blosc");
  uint64_t decoded_size_ = 12;
  uint64_t max_block_ = 1 << 20;
  uint64_t bytes_read_ = 0;
};

TEST_F(BloscRangesTest, EveryRangeIsThatOfTheWhole) {
  const std::string all = "abcdefghijkl";
  for (size_t begin = 0; begin < 12; ++begin) {
    for (size_t size = 0; size <= 12 - begin; ++size) {
      EXPECT_EQ(Range(Container().Text(), begin, size).value(), all.substr(begin, size));
    }
  }
}

TEST_F(BloscRangesTest, BlocksMayLieInAnyOrder) {
  Container container;
  container.starts = {44, 28, 36};
  EXPECT_EQ(Range(container.Text(), 0, 12).value(), "ijklabcdefgh");
}

TEST_F(BloscRangesTest, BytesAfterTheContainerAreIgnored) {
  EXPECT_EQ(Range(Container().Text() + "more", 8, 4).value(), "ijkl");
}

TEST_F(BloscRangesTest, OnlyTheBlocksThatAreNeededAreRead) {
  constexpr uint32_t kBlock = 1 << 16;
  constexpr uint32_t kCount = 2000;
  Container container;
  container.decoded = kBlock * kCount;
  container.block = kBlock;
  container.starts.assign(kCount, 16 + 4 * kCount + 4 + kBlock);  // all but one are the same
  container.starts[7] = 16 + 4 * kCount;
  container.blocks.clear();
  for (const char fill : {'x', 'y'}) {
    Container::Append(kBlock, container.blocks);
    container.blocks.append(kBlock, fill);
  }
  container.encoded = static_cast<uint32_t>(16 + 4 * kCount + container.blocks.size());
  decoded_size_ = container.decoded;
  const std::string text = container.Text();
  EXPECT_EQ(Range(text, 7 * kBlock + 3, 5).value(), "xxxxx");
  EXPECT_LT(bytes_read_, kBlock + 4 * kCount + 2000) << "a block and the table";
  EXPECT_EQ(Range(text, 8 * kBlock - 2, 4).value(), "xxyy");
}

TEST_F(BloscRangesTest, AnErrorOfTheStoreIsPassedOn) {
  class Broken final : public EncodedChunk {
   public:
    uint64_t size() const override { return 52; }
    model::Result<void> Read(uint64_t, ByteSpan) const override {
      return model::Stale("reading");
    }
  };
  std::byte out[4];
  EXPECT_THAT(FailureOf(codec_->DecodeRange(Broken(), 12, 0, 4, out), ErrorCode::kStale),
              HasSubstr("reading"));
}

TEST_F(BloscRangesTest, AHeaderThatIsCutShort) {
  EXPECT_EQ(Failure(Container().Text().substr(0, 10)), "10 bytes, a header has 16");
  EXPECT_EQ(Failure(""), "0 bytes, a header has 16");
}

// 682 MiB are the most that c-blosc decodes of a block.
TEST_F(BloscRangesTest, HugeBlocksAreALimitOfTheLibrary) {
  constexpr uint32_t kHuge = 700U << 20;
  void* const room = ::mmap(nullptr, kHuge, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  std::string text = Container().Text();
  text[2] = 0;  // BloscLZ, which is the library's
  for (const size_t at : {4, 8})
    StoreLittle(kHuge, std::as_writable_bytes(std::span(text)).data() + at);
  const ByteSpan decoded(static_cast<std::byte*>(room), kHuge);
  EXPECT_THAT(FailureOf(codec_->Decode(AsBytes(text), decoded), ErrorCode::kLimit),
              HasSubstr("blocks of 734003200 bytes: c-blosc decodes those of at most 7158"));
  ::munmap(room, kHuge);
}

TEST_F(BloscRangesTest, AContainerThatIsCutShort) {
  EXPECT_EQ(Failure(Container().Text().substr(0, 51)), "51 bytes, the header says 52");
}

TEST_F(BloscRangesTest, AnotherVersionOfTheFormat) {
  EXPECT_EQ(Failure(Container{.version = 3}), "invalid header");
}

TEST_F(BloscRangesTest, AnotherSizeThanTheChunkHas) {
  decoded_size_ = 16;
  EXPECT_EQ(Failure(Container()), "decodes to 12 bytes, expected 16");
}

TEST_F(BloscRangesTest, BlocksOfNoBytesOrOfMoreThanThereAre) {
  EXPECT_EQ(Failure(Container{.block = 0}), "blocks of 0 bytes in 12");
  EXPECT_EQ(Failure(Container{.block = 13}), "blocks of 13 bytes in 12");
  EXPECT_EQ(Failure(Container{.block = 0xffffffff}), "blocks of 4294967295 bytes in 12");
}

TEST_F(BloscRangesTest, ATableOfBlocksThatThereIsNoRoomFor) {
  Container container{.decoded = 1000, .block = 1};
  decoded_size_ = 1000;
  EXPECT_EQ(Failure(container), "1000 blocks in 52 bytes");
  container.decoded = 1 << 20;
  decoded_size_ = 1 << 20;
  EXPECT_EQ(Failure(container, ErrorCode::kLimit), "1048576 blocks, to read some of them");
}

TEST_F(BloscRangesTest, ABlockThatBeginsInTheTableOrBeyondTheEnd) {
  Container container;
  for (const uint32_t start : {0u, 15u, 27u, 52u, 53u, 0x7fffffffu, 0xfffffff0u}) {
    container.starts[1] = start;
    EXPECT_EQ(Failure(container), fmt::format("block 1 begins at byte {} of 52", start));
  }
}

TEST_F(BloscRangesTest, ABlockThatBeginsWhereNoneFits) {
  Container container;
  for (const uint32_t start : {47u, 49u, 51u}) {
    container.starts[1] = start;
    EXPECT_EQ(Failure(container), kInvalid) << start;
  }
}

TEST_F(BloscRangesTest, ABlockThatReachesIntoTheNext) {
  Container container;
  container.blocks[8] = 5;
  EXPECT_EQ(Failure(container), kInvalid);
  container.blocks[8] = 100;
  EXPECT_EQ(Failure(container), kInvalid);
  container.blocks[11] = '\xff';  // negative
  EXPECT_EQ(Failure(container), kInvalid);
  EXPECT_EQ(Range(container.Text(), 0, 4).value(), "abcd") << "that one is sound";
}

TEST_F(BloscRangesTest, ABlockWithMoreBytesThanAnyHas) {
  Container container;
  container.blocks.insert(16, 70'000, 'z');
  container.encoded += 70'000;
  container.starts[2] += 70'000;
  EXPECT_EQ(Failure(container), "block 1 of 4 bytes has 70008 encoded bytes");
}

TEST_F(BloscRangesTest, ABlockThatDoesNotFillItsBytes) {
  // Three streams of 133 bytes each make 399: the last byte would be whatever
  // memory holds.
  Container container{.flags = 0x20, .type_size = 3, .decoded = 800, .block = 400};
  container.starts = {24, 24};
  container.blocks.clear();
  for (int i = 0; i < 3; ++i) {
    Container::Append(133, container.blocks);
    container.blocks.append(133, 'b');
  }
  container.encoded = static_cast<uint32_t>(24 + container.blocks.size());
  decoded_size_ = 800;
  EXPECT_EQ(Failure(container), kInvalid);
}

TEST_F(BloscRangesTest, FlagsAndTypesThatTheLibraryRefuses) {
  EXPECT_EQ(Failure(Container{.flags = 0x38}), kInvalid) << "a flag of the future";
  EXPECT_EQ(Failure(Container{.flags = 0xf0}), kInvalid) << "no such compressor";
  EXPECT_EQ(Failure(Container{.type_size = 0}), kInvalid);
}

TEST_F(BloscRangesTest, AStoredContainerOfAnotherSize) {
  EXPECT_EQ(Failure(Container{.flags = 0x32}), "12 bytes stored in 52");
  Container stored{.flags = 0x32, .encoded = 28, .starts = {}, .blocks = "abcdefghijkl"};
  EXPECT_EQ(Range(stored.Text(), 3, 6).value(), "defghi");
  stored.flags = 0x3a;
  EXPECT_EQ(Failure(stored), kInvalid);
}

TEST_F(BloscRangesTest, BlocksLargerThanIsAllowed) {
  max_block_ = 3;
  EXPECT_EQ(Failure(Container(), ErrorCode::kLimit), "blocks of 4 bytes, more than 3");
}

bool DecodesRanges(std::string_view codecs, const ChunkForm& form = {kInt32, {4, 3}}) {
  return MakeChain(codecs, form).DecodesRanges();
}

TEST(ChainRangesTest, OnlyAChainThatNothingElseHasToBeUndoneIn) {
  constexpr std::string_view kLittle =
      R"({"name": "bytes", "configuration": {"endian": "little"}})";
  EXPECT_TRUE(DecodesRanges(fmt::format(R"([{}, "blosc"])", kLittle)));
  EXPECT_FALSE(DecodesRanges(fmt::format("[{}]", kLittle)));
  EXPECT_FALSE(DecodesRanges(fmt::format(R"([{}, "zstd"])", kLittle)));
  EXPECT_FALSE(DecodesRanges(fmt::format(R"([{}, "blosc", "crc32c"])", kLittle)))
      << "the checksum is of the whole";
  EXPECT_FALSE(DecodesRanges(fmt::format(R"([{}, "crc32c", "blosc"])", kLittle)));
  EXPECT_FALSE(DecodesRanges(fmt::format(R"([{}, "blosc", "blosc"])", kLittle)));
  EXPECT_FALSE(
      DecodesRanges(R"([{"name": "bytes", "configuration": {"endian": "big"}}, "blosc"])"));
  EXPECT_FALSE(DecodesRanges(fmt::format(
      R"([{{"name": "transpose", "configuration": {{"order": [1, 0]}}}}, {}, "blosc"])",
      kLittle)));
  EXPECT_FALSE(DecodesRanges(R"(["vlen-utf8", "blosc"])", {model::Datatype::String(), {4}}));
  EXPECT_FALSE(CodecChain().DecodesRanges());
}

TEST(ChainRangesTest, AsksTheCodecForTheSizeOfTheShapeAndNamesIt) {
  const CodecChain chain = MakeChain(R"(["bytes", "blosc"])", {kInt8, {3, 4}});
  const EncodedBytes encoded(AsBytes(Container().Text()));
  EXPECT_EQ(chain.BlockSize(encoded, {3, 4}).value(), 4u);
  std::byte out[5];
  ASSERT_TRUE(chain.DecodeRange(encoded, {3, 4}, 6, 4, out));
  EXPECT_EQ(AsText(out), "ghijk");
  EXPECT_EQ(FailureOf(chain.BlockSize(encoded, {3, 3}), ErrorCode::kCorrupt),
            "blosc: decodes to 12 bytes, expected 9");
  EXPECT_EQ(FailureOf(chain.DecodeRange(encoded, {3, 4}, 6, 3, out), ErrorCode::kLimit),
            "blosc: blocks of 4 bytes, more than 3");
  EXPECT_EQ(FailureOf(chain.DecodeRange(encoded, {3, 4}, 8, 4, out), ErrorCode::kInternal),
            "bytes 8 + 5 of 12");
  EXPECT_FALSE(MakeChain(R"(["bytes", "zstd"])", {kInt8, {3, 4}}).BlockSize(encoded, {3, 4}));
}

}  // namespace
}  // namespace ndlfs::backends
