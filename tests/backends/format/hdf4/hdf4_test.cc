// SPDX-License-Identifier: MIT
//
// Files of HDF4 as stores. tests/mount/hdf4_writer.py has written those in tests/data/hdf4 with
// libhdf4; what is wrong with the others is made of them here.
#include "backends/format/hdf4/hdf4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/read_elements.h"
#include "model/attributes.h"
#include "tests/support/memory_source.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::_;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Golden(const std::string& name) {
  std::ifstream file(NDLFS_TEST_DATA "/hdf4/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::string Counted(size_t count, int step) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(static_cast<int>(i) * step);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

std::string Big32(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

size_t Big(std::string_view bytes) {
  size_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Where the list of the file has its elements with this tag.
std::vector<size_t> EntriesOf(std::string_view bytes, size_t tag) {
  std::vector<size_t> entries;
  for (size_t block = 4; block != 0; block = Big(bytes.substr(block + 2, 4))) {
    const size_t count = Big(bytes.substr(block, 2));
    for (size_t at = block + 6; at < block + 6 + count * 12; at += 12) {
      if (Big(bytes.substr(at, 2)) == tag) entries.push_back(at);
    }
  }
  return entries;
}

// Where the headers of special elements are, by their tag in htags.h and their kind.
std::vector<size_t> HeadersOf(std::string_view bytes, size_t tag, size_t kind) {
  constexpr size_t kSpecial = 0x4000;
  std::vector<size_t> headers;
  for (const size_t entry : EntriesOf(bytes, kSpecial | tag)) {
    const size_t at = Big(bytes.substr(entry + 4, 4));
    if (at < bytes.size() && Big(bytes.substr(at, 2)) == kind) headers.push_back(at);
  }
  return headers;
}

constexpr size_t kDataSet = 702, kChunk = 61, kRasterImage = 302;
constexpr size_t kLinked = 1, kCompressed = 3;

class Hdf4Test : public testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> TryOpen(const std::string& bytes,
                                                          const OpenOptions& options = {}) {
    source_->Put("a.hdf", bytes);
    return Hdf4Format().Open(source_, "a.hdf", options);
  }
  void Open(const std::string& bytes, const OpenOptions& options = {}) {
    auto opened = TryOpen(bytes, options);
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }
  std::shared_ptr<const Node> Load(const std::string& path) const {
    return hierarchy_->Load(path).value();
  }
  model::Result<std::string> Elements(const std::string& path) const {
    return test::ReadWhole(*Load(path)->source);
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(Hdf4Test, FileIsKnownByItsSignature) {
  EXPECT_TRUE(Hdf4Format().ProbeContent(AsBytes(Golden("types.hdf"))));
  EXPECT_FALSE(Hdf4Format().ProbeContent(AsBytes("\x89HDF\r\n\x1a\n")));
  EXPECT_TRUE(Hdf4Format().MatchesFileName("a.HE4"));
  EXPECT_TRUE(Hdf4Format().MatchesFileName("a.hdf"));
  EXPECT_FALSE(Hdf4Format().MatchesFileName("a.h5"));
  EXPECT_TRUE(Hdf4Format().ProbeFile("a.he4", AsBytes("text")));
  EXPECT_FALSE(Hdf4Format().ProbeFile("a.hdf", AsBytes("text")));
}

TEST_F(Hdf4Test, NumbersOfEveryTypeAndOrder) {
  Open(Golden("types.hdf"));
  EXPECT_THAT(Elements("/float32"), IsOkAnd(Counted<float>(6, 40)));
  EXPECT_THAT(Elements("/float64"), IsOkAnd(Counted<double>(6, 40)));
  EXPECT_THAT(Elements("/int8"), IsOkAnd(Counted<int8_t>(6, 40)));
  EXPECT_THAT(Elements("/uint8"), IsOkAnd(Counted<uint8_t>(6, 40)));
  EXPECT_THAT(Elements("/int16"), IsOkAnd(Counted<int16_t>(6, 40)));
  EXPECT_THAT(Elements("/uint16"), IsOkAnd(Counted<uint16_t>(6, 40)));
  EXPECT_THAT(Elements("/int32"), IsOkAnd(Counted<int32_t>(6, 40)));
  EXPECT_THAT(Elements("/uint32"), IsOkAnd(Counted<uint32_t>(6, 40)));
  EXPECT_THAT(Elements("/little"), IsOkAnd(Counted<int32_t>(6, 1000)));
  EXPECT_THAT(Elements("/letters"), IsOkAnd(std::string("abcdef")));
  EXPECT_EQ(Load("/little")->array().storage.endian, model::ByteOrder::kLittle);
  EXPECT_EQ(Load("/int16")->array().storage.endian, model::ByteOrder::kBig);
}

TEST_F(Hdf4Test, AttributesDimensionsAndScales) {
  Open(Golden("types.hdf"));
  const auto& root = Load("/")->attributes();
  EXPECT_EQ(model::TextOf(root, "title"), "types");
  EXPECT_THAT(model::NumbersOf(root, "levels"), ElementsAre(1, 2, 3));
  const auto node = Load("/float32");
  EXPECT_THAT(node->array().dimension_names, ElementsAre("y", "x"));
  EXPECT_EQ(node->array().shape[0].dimcoord, "");
  EXPECT_EQ(node->array().shape[1].dimcoord, "/x");
  EXPECT_EQ(Load("/x")->entity.index(), 2U);
  EXPECT_THAT(Load("/packed")->array().dimension_names, ElementsAre());
}

TEST_F(Hdf4Test, NamesThatAreTakenOrImpossible) {
  Open(Golden("types.hdf"));
  EXPECT_THAT(Elements("/int8_2"), IsOkAnd(Counted<int8_t>(2, 1)));
  EXPECT_THAT(Elements("/a_b"), IsOkAnd(Counted<int16_t>(2, 1)));
}

TEST_F(Hdf4Test, SetThatWasNeverWrittenHasItsFillValue) {
  Open(Golden("types.hdf"));
  EXPECT_THAT(Elements("/empty"), IsOkAnd(Counted<int16_t>(1, 0).replace(0, 2, "\xf7\xff") +
                                          "\xf7\xff\xf7\xff\xf7\xff"));
}

TEST_F(Hdf4Test, OffsetOfCalibrationBecomesThatOfCf) {
  Open(Golden("types.hdf"));
  const auto node = Load("/packed");
  EXPECT_EQ(model::NumberOf(node->attributes(), "scale_factor"), 0.5);
  EXPECT_EQ(model::NumberOf(node->attributes(), "add_offset"), 5);
  EXPECT_EQ(model::NumberOf(node->attributes(), "hdf4_add_offset"), -10);
  EXPECT_THAT(node->notes, ElementsAre(HasSubstr("subtracted before scaling")));
}

TEST_F(Hdf4Test, ChunksOfEveryCoding) {
  Open(Golden("chunks.hdf"));
  const std::string all = Counted<int32_t>(35, 3);
  for (const char* path : {"/plain", "/deflate", "/whole_deflate", "/after"}) {
    EXPECT_THAT(Elements(path), IsOkAnd(all)) << path;
  }
  for (const char* path : {"/rle", "/skphuff", "/whole_rle", "/whole_nbit"}) {
    EXPECT_THAT(Elements(path), IsOkAnd(all)) << path;
  }
  EXPECT_EQ(Load("/rle")->array().storage.filter->front().name, "rle");
}

TEST_F(Hdf4Test, ChunksThatAreNotStoredHaveTheFillValue) {
  Open(Golden("chunks.hdf"));
  std::string expected = Counted<int32_t>(35, 3);
  for (size_t i = 0; i < 35; ++i) {
    const size_t row = i / 7, column = i % 7;
    const bool is_stored = (row < 2 && column < 3) || (row == 4 && column == 6);
    if (!is_stored) std::memset(&expected[i * 4], 0xff, 4);
  }
  EXPECT_THAT(Elements("/sparse"), IsOkAnd(expected));
}

TEST_F(Hdf4Test, SetThatHasGrownIsReadFromItsPieces) {
  Open(Golden("chunks.hdf"));
  EXPECT_THAT(Elements("/grows"), IsOkAnd(Counted<int32_t>(35, 3)));
  EXPECT_EQ(Load("/grows")->array().shape[0].size, std::nullopt);
  EXPECT_THAT(*Load("/grows")->array().storage.shape, ElementsAre(5, 7));
  EXPECT_EQ(Load("/grows")->source->contiguous(), std::nullopt);
  EXPECT_NE(Load("/after")->source->contiguous(), std::nullopt);
}

TEST_F(Hdf4Test, HeadersOfChunksAreReadWithTheChunk) {
  Open(Golden("chunks.hdf"));
  source_->ForgetReads();
  EXPECT_THAT(Elements("/deflate"), IsOkAnd(Counted<int32_t>(35, 3)));
  // Of 9 chunks: a header, and the bytes.
  EXPECT_EQ(source_->reads().size(), 18U);
}

TEST_F(Hdf4Test, ChunksInSeveralPieces) {
  Open(Golden("rewritten.hdf"));
  test::PlainIndexCache indexes;
  const auto source = Load("/deflate")->source;
  const auto place = source->Locate(std::vector<uint64_t>{0, 0}, indexes).value();
  EXPECT_GT(place.pieces.size(), 1U);
  EXPECT_THAT(Elements("/deflate"), IsOk());
  EXPECT_THAT(Elements("/other"), IsOkAnd(Counted<int16_t>(800, 1)));
}

TEST_F(Hdf4Test, HeaderOfChunkThatMakesNoSense) {
  std::string bytes = Golden("chunks.hdf");
  // The header of the first compressed chunk: tag 61 with the bit of special elements.
  const size_t entry = bytes.find(std::string("\x40\x3d", 2));
  ASSERT_NE(entry, bytes.npos);
  size_t at = 0;
  for (size_t i = 4; i < 8; ++i) at = at << 8 | static_cast<unsigned char>(bytes[entry + i]);
  ASSERT_LT(at + 10, bytes.size());
  std::string damaged = bytes;
  damaged[at + 1] = 9;
  Open(damaged);
  EXPECT_THAT(Elements("/deflate"), IsError(ErrorCode::kUnsupported, HasSubstr("way 9")));
  damaged = bytes;
  damaged.replace(at + 8, 2, "\xff\xff");
  Open(damaged);
  EXPECT_THAT(Elements("/deflate"),
              IsError(ErrorCode::kCorrupt, HasSubstr("no element 65535")));
  EXPECT_THAT(Elements("/plain"), IsOkAnd(Counted<int32_t>(35, 3)));
}

TEST_F(Hdf4Test, ChunkThatIsTooLargeIsRefused) {
  Open(Golden("chunks.hdf"), {.max_chunk_size = 100});
  EXPECT_THAT(Load("/whole_deflate")->error->message(), HasSubstr("--max-chunk-size"));
  EXPECT_THAT(Elements("/plain"), IsOkAnd(Counted<int32_t>(35, 3)));
}

TEST_F(Hdf4Test, GridHasItsPlaceAndGroups) {
  Open(Golden("grid.hdf"));
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("MOD_Grid", "again", "outside")));
  EXPECT_THAT(hierarchy_->List("/MOD_Grid"),
              IsOkAnd(ElementsAre("Data Fields", "XDim", "YDim", "spatial_ref")));
  EXPECT_EQ(model::TextOf(Load("/MOD_Grid")->attributes(), "version"), "1");
  const auto band = Load("/MOD_Grid/Data Fields/b01");
  EXPECT_THAT(band->array().dimension_names, ElementsAre("YDim", "XDim"));
  EXPECT_EQ(band->array().shape[1].dimcoord, "/MOD_Grid/XDim");
  EXPECT_EQ(model::TextOf(band->attributes(), "grid_mapping"), "spatial_ref");
  EXPECT_THAT(Elements("/MOD_Grid/Data Fields/b01"), IsOkAnd(Counted<int16_t>(24, 1)));
  // Its dimensions have no names in the file, but the extents of the grid.
  EXPECT_THAT(Load("/MOD_Grid/Data Fields/num")->array().dimension_names,
              ElementsAre("YDim", "XDim"));
  const auto& mapping = Load("/MOD_Grid/spatial_ref")->attributes();
  EXPECT_EQ(model::TextOf(mapping, "grid_mapping_name"), "sinusoidal");
  EXPECT_EQ(model::NumberOf(mapping, "semi_major_axis"), 6371007.181);
  // For GDAL, which does not know that name.
  EXPECT_THAT(
      model::TextOf(mapping, "spatial_ref"),
      AllOf(HasSubstr("SPHEROID[\"unknown\",6371007.181,0]"),
            HasSubstr("PROJECTION[\"Sinusoidal\"],PARAMETER[\"longitude_of_center\",0]")));
}

TEST_F(Hdf4Test, ArrayOfTwoGroupsHasTwoNames) {
  Open(Golden("grid.hdf"));
  const auto link = hierarchy_->GetLink("/again/b01");
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->target, "/MOD_Grid/Data Fields/b01");
  EXPECT_EQ(link->kind, Link::Kind::kHard);
  EXPECT_THAT(hierarchy_->List("/again"), IsOkAnd(ElementsAre("b01")));
}

TEST_F(Hdf4Test, TablesAreNamed) {
  Open(Golden("grid.hdf"));
  EXPECT_THAT(Load("/")->notes, ElementsAre("tables (Vdata) are not shown: \"a table\""));
}

TEST_F(Hdf4Test, RasterImages) {
  Open(Golden("images.hdf"));
  EXPECT_THAT(Elements("/grey"), IsOkAnd(Counted<uint8_t>(12, 1)));
  EXPECT_THAT(Elements("/colours"), IsOkAnd(Counted<uint16_t>(36, 1)));
  EXPECT_THAT(Elements("/deflated"), IsOkAnd(Counted<uint8_t>(36, 1)));
  EXPECT_EQ(Load("/grey")->array().shape.size(), 2U);
  EXPECT_EQ(model::TextOf(Load("/grey")->attributes(), "long_name"), "grey");
}

TEST_F(Hdf4Test, FileThatEndsEarly) {
  const std::string bytes = Golden("types.hdf");
  EXPECT_THAT(TryOpen(bytes.substr(0, 4)),
              IsError(ErrorCode::kCorrupt, HasSubstr("a.hdf: the list of elements continues")));
  EXPECT_THAT(TryOpen(bytes.substr(0, 100)),
              IsError(ErrorCode::kCorrupt, HasSubstr("200 entries, more than the file")));
  EXPECT_THAT(TryOpen(bytes.substr(0, 3)), IsError(ErrorCode::kCorrupt, _));
}

TEST_F(Hdf4Test, ListOfElementsThatComesBack) {
  std::string bytes = Golden("types.hdf");
  bytes.replace(6, 4, Big32(4));
  EXPECT_THAT(TryOpen(bytes), IsError(ErrorCode::kCorrupt, HasSubstr("comes back")));
}

TEST_F(Hdf4Test, ListOfElementsThatLeavesTheFile) {
  std::string bytes = Golden("types.hdf");
  bytes.replace(6, 4, Big32(0x7fffffff));
  EXPECT_THAT(TryOpen(bytes), IsError(ErrorCode::kCorrupt, HasSubstr("behind the end")));
}

TEST_F(Hdf4Test, ElementsThatLeaveTheFile) {
  std::string bytes = Golden("types.hdf");
  // The data of the first set: tag 702, reference 3.
  const size_t entry = bytes.find(std::string("\x02\xbe\0\3", 4));
  ASSERT_NE(entry, bytes.npos);
  bytes.replace(entry + 4, 4, Big32(0x7ffffff0));
  Open(bytes);
  EXPECT_THAT(Elements("/float32"), IsError(ErrorCode::kCorrupt, HasSubstr("beyond the file")));
  EXPECT_THAT(Elements("/float64"), IsOkAnd(Counted<double>(6, 40)));
}

TEST_F(Hdf4Test, DamagedChunkOfDeflate) {
  std::string bytes = Golden("chunks.hdf");
  Open(bytes);
  const auto source = Load("/whole_deflate")->source;
  test::PlainIndexCache indexes;
  const auto place = source->Locate(std::vector<uint64_t>{0, 0}, indexes).value();
  bytes[place.pieces[0].offset] ^= '\x55';
  Open(bytes);
  EXPECT_THAT(Elements("/whole_deflate"), IsError(ErrorCode::kCorrupt, HasSubstr("zlib")));
  EXPECT_THAT(Elements("/after"), IsOkAnd(Counted<int32_t>(35, 3)));
}

TEST_F(Hdf4Test, NothingWrittenHasTheFillValue) {
  Open(Golden("unwritten.hdf"));
  std::string fill;
  for (size_t i = 0; i < 35; ++i) fill += "\xf7\xff\xff\xff";
  for (const char* path : {"/plain", "/deflate", "/chunks", "/deflated_chunks"}) {
    ASSERT_FALSE(Load(path)->error) << path << ' ' << Load(path)->error->message();
    EXPECT_THAT(Elements(path), IsOkAnd(fill)) << path;
  }
  EXPECT_THAT(Elements("/image"), IsOkAnd(std::string(12, '\0')));
  EXPECT_THAT(Elements("/filled"), IsOkAnd(std::string(12, '\7')));
  std::string sevens;
  for (size_t i = 0; i < 24; ++i) sevens += std::string("\7\0", 2);
  EXPECT_THAT(Elements("/deflated_image"), IsOkAnd(sevens));
  ASSERT_TRUE(Load("/several")->error.has_value());
  EXPECT_THAT(Load("/several")->error->message(), HasSubstr("fill values differ"));
}

TEST_F(Hdf4Test, ImageInLinkedBlocks) {
  constexpr size_t kLinkTable = 20;
  std::string bytes = Golden("linked.hdf");
  Open(bytes);
  EXPECT_THAT(Elements("/linked"), IsOkAnd(Counted<uint8_t>(12, 1)));
  const size_t header = HeadersOf(bytes, kRasterImage, kLinked).at(0);
  for (const size_t entry : EntriesOf(bytes, kLinkTable)) {
    if (bytes.substr(entry + 2, 2) != bytes.substr(header + 14, 2)) continue;
    bytes.replace(Big(bytes.substr(entry + 4, 4)) + 2, 2, 2, '\0');  // the first block
  }
  Open(bytes);
  ASSERT_TRUE(Load("/linked")->error.has_value());
}

TEST_F(Hdf4Test, BlockThatIsMissingInTheMiddle) {
  std::string bytes = Golden("chunks.hdf");
  const size_t header = HeadersOf(bytes, kDataSet, kLinked).at(0);
  constexpr size_t kLinkTable = 20;
  for (const size_t entry : EntriesOf(bytes, kLinkTable)) {
    if (bytes.substr(entry + 2, 2) != bytes.substr(header + 14, 2)) continue;
    // Behind the next table and the first block.
    bytes.replace(Big(bytes.substr(entry + 4, 4)) + 4, 2, 2, '\0');
    break;
  }
  Open(bytes);
  ASSERT_TRUE(Load("/grows")->error.has_value());
  EXPECT_THAT(Load("/grows")->error->message(),
              HasSubstr("a block of its elements is missing"));
  EXPECT_THAT(Elements("/after"), IsOkAnd(Counted<int32_t>(35, 3)));
}

TEST_F(Hdf4Test, CodingThatNobodyKnowsIsNotShownAsElements) {
  const std::string golden = Golden("chunks.hdf");
  const auto headers = HeadersOf(golden, kDataSet, kCompressed);
  ASSERT_EQ(headers.size(), 3U);  // of whole_deflate, whole_rle and whole_nbit
  for (const char coding : {'\x9', '\xe', '\xc8'}) {
    std::string bytes = golden;
    for (const size_t at : headers) bytes[at + 13] = coding;
    Open(bytes);
    for (const char* path : {"/whole_deflate", "/whole_rle", "/whole_nbit"}) {
      const auto node = Load(path);
      EXPECT_TRUE(node->error || !Elements(path)) << path << ' ' << int{coding};
    }
    EXPECT_THAT(Elements("/after"), IsOkAnd(Counted<int32_t>(35, 3)));
  }
}

TEST_F(Hdf4Test, ImageWithACodingThatNobodyKnows) {
  std::string bytes = Golden("images.hdf");
  const auto headers = HeadersOf(bytes, kRasterImage, kCompressed);
  ASSERT_EQ(headers.size(), 1U);
  bytes[headers[0] + 13] = '\xe';
  Open(bytes);
  EXPECT_TRUE(Load("/deflated")->error || !Elements("/deflated"));
  EXPECT_THAT(Elements("/grey"), IsOkAnd(Counted<uint8_t>(12, 1)));
}

// The header of an element that is in another file.
std::string HeaderOfExternal(const std::string& name) {
  return std::string("\0\2", 2) + Big32(140) + Big32(0) +
         Big32(static_cast<uint32_t>(name.size())) + name;
}

// The first element of this tag and kind is in another file.
std::string WithExternal(std::string bytes, size_t tag, size_t kind,
                         const std::string& name = "x") {
  const size_t header = HeadersOf(bytes, tag, kind).at(0);
  for (const size_t entry : EntriesOf(bytes, 0x4000 | tag)) {
    if (Big(bytes.substr(entry + 4, 4)) != header) continue;
    const std::string external = HeaderOfExternal(name);
    bytes.replace(entry + 4, 8,
                  Big32(static_cast<uint32_t>(bytes.size())) +
                      Big32(static_cast<uint32_t>(external.size())));
    return bytes + external;
  }
  return bytes;
}

TEST_F(Hdf4Test, ElementsInAnotherFile) {
  const std::string golden = Golden("chunks.hdf");
  std::string stored;
  for (uint32_t i = 0; i < 35; ++i) stored += Big32(3 * i);
  Open(WithExternal(golden, kDataSet, kCompressed));
  EXPECT_FALSE(ReadElements(*Load("/whole_deflate")->source, 1000));  // there is no such file
  EXPECT_THAT(Elements("/whole_rle"), IsOkAnd(Counted<int32_t>(35, 3)));
  source_->Put("x", stored);
  Open(WithExternal(golden, kDataSet, kCompressed));
  EXPECT_THAT(Elements("/whole_deflate"), IsOkAnd(Counted<int32_t>(35, 3)));
  EXPECT_EQ(Load("/whole_deflate")->source->contiguous(), std::nullopt);
  Open(WithExternal(golden, kDataSet, kLinked));
  EXPECT_THAT(Elements("/grows"), IsOkAnd(Counted<int32_t>(35, 3)));
  source_->Put("x", std::string(36, '\7'));
  Open(WithExternal(Golden("images.hdf"), kRasterImage, kCompressed));
  EXPECT_THAT(Elements("/deflated"), IsOkAnd(std::string(36, '\7')));
}

TEST_F(Hdf4Test, ElementsOutsideOfTheSource) {
  for (const char* name : {"/etc/passwd", "../x"}) {
    Open(WithExternal(Golden("chunks.hdf"), kDataSet, kCompressed, name));
    ASSERT_TRUE(Load("/whole_deflate")->error.has_value());
    EXPECT_THAT(Load("/whole_deflate")->error->message(), HasSubstr("outside of the source"));
  }
}

TEST_F(Hdf4Test, ChangeOfTheOtherFileIsAnotherVersion) {
  source_->Put("x", std::string(140, '\1'));
  Open(WithExternal(Golden("chunks.hdf"), kDataSet, kCompressed));
  const uint64_t before = hierarchy_->Version("/").value();
  source_->Put("x", std::string(150, '\2'));
  EXPECT_NE(hierarchy_->Version("/").value_or(0), before);
}

TEST_F(Hdf4Test, ChunksThatAreNotEncodedAsTheirArray) {
  const std::string golden = Golden("chunks.hdf");
  const auto headers = HeadersOf(golden, kChunk, kCompressed);
  ASSERT_GE(headers.size(), 9U);
  constexpr size_t kModel = 11, kCoding = 13;
  for (const size_t at : {kModel, kCoding}) {
    for (const char number : {'\1', '\5', '\xc8'}) {
      std::string bytes = golden;
      bytes[headers[0] + at] = number;
      Open(bytes);
      EXPECT_THAT(Elements("/deflate"),
                  IsError(ErrorCode::kUnsupported,
                          HasSubstr(at == kModel ? "by model" : "array with coding 4")));
      EXPECT_THAT(Elements("/plain"), IsOkAnd(Counted<int32_t>(35, 3)));
    }
  }
}

TEST_F(Hdf4Test, ArrayWithoutCodingThatHasEncodedChunks) {
  std::string bytes = Golden("chunks.hdf");
  // The header of a set in chunks has the coding of all of them.
  const auto headers = HeadersOf(bytes, kDataSet, 5);
  ASSERT_GE(headers.size(), 2U);
  ASSERT_EQ(bytes[headers[1] + 76], '\4');
  bytes[headers[1] + 76] = '\0';
  Open(bytes);
  EXPECT_TRUE(Load("/deflate")->error || !Elements("/deflate"));
}

TEST_F(Hdf4Test, ChunkWithAnotherCodingInAFileWithPiecesOfChunks) {
  std::string bytes = Golden("rewritten.hdf");
  const auto headers = HeadersOf(bytes, kChunk, kCompressed);
  ASSERT_FALSE(headers.empty());
  for (const size_t at : headers) bytes[at + 13] = '\0';
  Open(bytes);
  for (const char* path : {"/deflate", "/other"}) {
    EXPECT_THAT(Elements(path),
                IsError(ErrorCode::kUnsupported, HasSubstr("array with coding 4")));
  }
}

TEST_F(Hdf4Test, EncodedBytesOfAChunkHaveALimit) {
  Open(Golden("chunks.hdf"));
  for (const char* path : {"/rle", "/skphuff", "/whole_rle", "/whole_nbit", "/deflate"}) {
    const ArraySpec& spec = Load(path)->source->spec();
    EXPECT_LT(spec.codecs.MaxEncodedSize(spec.grid.max_chunk_shape()), 1U << 18) << path;
  }
}

// The table that the header of an element in linked blocks begins with.
size_t TableOf(std::string_view bytes, size_t header) {
  constexpr size_t kLinkTable = 20;
  for (const size_t entry : EntriesOf(bytes, kLinkTable)) {
    if (bytes.substr(entry + 2, 2) != bytes.substr(header + 14, 2)) continue;
    return Big(bytes.substr(entry + 4, 4));
  }
  ADD_FAILURE() << "no table";
  return 0;
}

TEST_F(Hdf4Test, MoreBlocksThanATableHas) {
  const std::string bytes = Golden("blocks.hdf");
  Open(bytes);
  for (const char* path : {"/first", "/second"}) {
    EXPECT_THAT(Elements(path), IsOkAnd(Counted<int32_t>(1600, 1))) << path;
  }
}

TEST_F(Hdf4Test, TablesOfBlocksThatComeBack) {
  std::string bytes = Golden("blocks.hdf");
  const size_t header = HeadersOf(bytes, kDataSet, kLinked).at(0);
  const size_t table = TableOf(bytes, header);
  std::string ring = bytes;
  ring.replace(table, 2, bytes.substr(header + 14, 2));  // the next table is itself
  Open(ring);
  ASSERT_TRUE(Load("/first")->error.has_value());
  EXPECT_THAT(Load("/first")->error->message(), HasSubstr("block of its elements is missing"));
  std::string twice = bytes;
  twice.replace(table + 4, 2, bytes.substr(table + 2, 2));
  Open(twice);
  ASSERT_TRUE(Load("/first")->error.has_value());
  EXPECT_THAT(Load("/first")->error->message(), HasSubstr("comes twice"));
  EXPECT_THAT(Elements("/second"), IsOkAnd(Counted<int32_t>(1600, 1)));
}

TEST_F(Hdf4Test, BlocksThatAreFewerThanTheirLength) {
  std::string bytes = Golden("blocks.hdf");
  const size_t header = HeadersOf(bytes, kDataSet, kLinked).at(0);
  for (const char* length : {"\xff\xff\xff\xff", "\x7f\xff\xff\xff"}) {
    bytes.replace(header + 2, 4, length, 4);
    Open(bytes);
    EXPECT_TRUE(Load("/first")->error || !Elements("/first"));
  }
  bytes.replace(header + 6, 8, std::string(8, '\0'));  // blocks without bytes
  Open(bytes);
  EXPECT_TRUE(Load("/first")->error || !Elements("/first"));
  EXPECT_THAT(Elements("/second"), IsOkAnd(Counted<int32_t>(1600, 1)));
}

TEST_F(Hdf4Test, SetsOfOldPrograms) {
  Open(Golden("old_sets.hdf"));
  EXPECT_THAT(hierarchy_->List("/"),
              IsOkAnd(ElementsAre("Data-Set-2", "Data-Set-3", "fakeDim0", "fakeDim1")));
  EXPECT_THAT(Elements("/Data-Set-2"), IsOkAnd(Counted<int16_t>(6, 7)));
  EXPECT_THAT(Elements("/Data-Set-3"), IsOkAnd(Counted<float>(4, 1)));
  // The scales follow each other, behind a byte for each dimension.
  EXPECT_THAT(Elements("/fakeDim0"), IsOkAnd(std::string("\x0a\0\x14\0", 4)));
  EXPECT_THAT(Elements("/fakeDim1"), IsOkAnd(std::string("\xff\xff\xfe\xff\xfd\xff")));
  EXPECT_EQ(model::TextOf(Load("/fakeDim0")->attributes(), "units"), "km");
  const auto& attributes = Load("/Data-Set-2")->attributes();
  EXPECT_EQ(model::TextOf(attributes, "long_name"), "height");
  EXPECT_EQ(model::TextOf(attributes, "coordsys"), "polar");
  EXPECT_EQ(model::NumberOf(attributes, "valid_max"), 90);
  EXPECT_EQ(model::NumberOf(attributes, "scale_factor"), 0.5);
  EXPECT_EQ(model::NumberOf(attributes, "calibrated_nt"), 22);
  const auto& annotated = Load("/Data-Set-3")->attributes();
  EXPECT_EQ(model::TextOf(annotated, "remarks-1"), "some remark");
  EXPECT_EQ(model::TextOf(annotated, "anno_label-1"), "a label");
}

TEST_F(Hdf4Test, ImagesOfOldPrograms) {
  Open(Golden("old_images.hdf"));
  std::string expected, of_imcomp;
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 16; ++column) {
      const bool is_bright = (row + column / 3) % 2 != 0;
      expected += static_cast<char>(is_bright ? 240 : 16 * (column / 4));
    }
  }
  EXPECT_THAT(Elements("/Raster Image #0"), IsOkAnd(expected));
  EXPECT_THAT(Elements("/Raster Image #1"), IsOkAnd(expected));
  // As libhdf4 decodes it; the numbers are those of a palette that IMCOMP has made.
  for (int i = 0; i < 4; ++i) {
    of_imcomp += std::string("\1\1\1\0\0\0\2\2\3\0\0\0\4\4\4\0", 16);
    of_imcomp += std::string("\0\0\0\1\2\2\0\0\0\3\3\3\0\0\0\4", 16);
  }
  EXPECT_THAT(Elements("/Raster Image #2"), IsOkAnd(of_imcomp));
  // Components by pixel, line and plane.
  for (const char* path : {"/Raster Image #3", "/Raster Image #4", "/Raster Image #5"}) {
    EXPECT_THAT(Elements(path), IsOkAnd(Counted<uint8_t>(36, 1))) << path;
  }
}

std::string Big16(size_t value) { return Big32(static_cast<uint32_t>(value)).substr(2); }

// A group that has one element `count` times.
std::string GroupOf(const std::string& class_name, size_t count, size_t tag, size_t reference) {
  std::string group = Big16(count);
  for (size_t i = 0; i < count; ++i) group += Big16(tag);
  for (size_t i = 0; i < count; ++i) group += Big16(reference);
  const std::string version_3("\0\3\0\0\0", 5);
  return group + Big16(0) + Big16(class_name.size()) + class_name + Big32(0) + version_3;
}

TEST_F(Hdf4Test, GroupsThatNameEachOtherThousandsOfTimes) {
  constexpr size_t kVgroup = 1965, kVdata = 1962, kMost = 20'000;
  const std::string variables = GroupOf("CDF0.0", kMost, kVgroup, 2);
  for (const size_t tag : {kVdata, kVgroup}) {
    const std::string variable = GroupOf("Var0.0", kMost, tag, 9);
    const size_t begin = 4 + 6 + 24;
    std::string bytes = "\x0e\x03\x13\x01" + Big16(2) + Big32(0);
    bytes += Big16(kVgroup) + Big16(1) + Big32(begin) +
             Big32(static_cast<uint32_t>(variables.size()));
    bytes += Big16(kVgroup) + Big16(2) +
             Big32(static_cast<uint32_t>(begin + variables.size())) +
             Big32(static_cast<uint32_t>(variable.size()));
    EXPECT_THAT(TryOpen(bytes + variables + variable),
                IsError(ErrorCode::kLimit, HasSubstr("descriptions and tables")));
  }
}

}  // namespace
}  // namespace ndlfs::backends
