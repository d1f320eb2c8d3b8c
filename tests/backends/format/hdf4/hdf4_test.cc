// SPDX-License-Identifier: MIT
//
// Files of HDF4 as stores. tests/mount/hdf4_writer.py has written those in tests/data/hdf4 with
// libhdf4; what is wrong with the others is made of them here.
#include "backends/format/hdf4/hdf4.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/unique_fd.h"
#include "backends/format/hdf4/skeleton.h"
#include "backends/store/caller.h"
#include "backends/store/metadata_turn.h"
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
  void SetUp() override {
    UseHdf4Helper({NDLFS_EXECUTABLE, "--hdf4-helper"});
    bool is_installed = false;
    for (const char* name : {"libdfalt.so.0", "libdf.so.0"}) {
      void* const library = ::dlopen(name, RTLD_LAZY);
      if (library != nullptr) ::dlclose(library);
      is_installed = is_installed || library != nullptr;
    }
    if (!is_installed) GTEST_SKIP() << "libhdf4 is not installed";
  }

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
  // These need libhdf4.
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

TEST_F(Hdf4Test, ProgramThatIsNoHelperIsAnErrorOfTheFile) {
  UseHdf4Helper({"/bin/false"});
  EXPECT_THAT(TryOpen(Golden("types.hdf")),
              IsError(ErrorCode::kCorrupt, HasSubstr("libhdf4 crashes over it")));
  UseHdf4Helper({"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_THAT(TryOpen(Golden("types.hdf")),
              IsError(ErrorCode::kCorrupt, HasSubstr("(signal 11)")));
  UseHdf4Helper({});
  EXPECT_THAT(TryOpen(Golden("types.hdf")), IsError(ErrorCode::kUnsupported, _));
  UseHdf4Helper({NDLFS_EXECUTABLE, "--hdf4-helper"});
  EXPECT_THAT(TryOpen(Golden("types.hdf")), IsOk());
}

TEST_F(Hdf4Test, ProcessThatComesToNoEndIsNotAskedAgain) {
  UseHdf4Helper({"/bin/sh", "-c", "kill -XCPU $$"});
  source_->Put("b.hdf", Golden("types.hdf"));
  EXPECT_THAT(Hdf4Format().Open(source_, "b.hdf", {}),
              IsError(ErrorCode::kCorrupt, HasSubstr("comes to no end")));
  UseHdf4Helper({NDLFS_EXECUTABLE, "--hdf4-helper"});
  EXPECT_THAT(Hdf4Format().Open(source_, "b.hdf", {}),
              IsError(ErrorCode::kCorrupt, HasSubstr("comes to no end")));
  EXPECT_THAT(TryOpen(Golden("types.hdf")), IsOk());
}

TEST_F(Hdf4Test, FileThatComesToNoEndIsNotMistakenForAnother) {
  const auto other = test::MemorySource::Make();
  source_->Put("c.hdf", Golden("types.hdf"));
  other->Put("d.hdf", Golden("types.hdf"));
  ASSERT_EQ(source_->OpenFile("c.hdf")->Stat("").value()->generation,
            other->OpenFile("d.hdf")->Stat("").value()->generation);
  UseHdf4Helper({"/bin/sh", "-c", "kill -XCPU $$"});
  EXPECT_THAT(Hdf4Format().Open(source_, "c.hdf", {}), IsError(ErrorCode::kCorrupt, _));
  UseHdf4Helper({NDLFS_EXECUTABLE, "--hdf4-helper"});
  EXPECT_THAT(Hdf4Format().Open(other, "d.hdf", {}), IsOk());
  EXPECT_THAT(Hdf4Format().Open(source_, "c.hdf", {}), IsError(ErrorCode::kCorrupt, _));
  const CallerScope scope(FindCaller(12345, 12345, {}));
  EXPECT_THAT(Hdf4Format().Open(source_, "c.hdf", {}), IsOk());
}

TEST_F(Hdf4Test, CopyOfAFileKeepsItsSize) {
  source_->Put("a.hdf", Golden("types.hdf"));
  std::optional<MetadataTurn> turn;
  const auto skeleton = hdf4::Skeleton::Make(*source_->OpenFile("a.hdf"), turn).value();
  const auto file = skeleton.OpenToRead().value();
  // As the process could open it, if nothing else forbade it.
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const UniqueFd writable(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(writable);
  const auto size = static_cast<off_t>(skeleton.info().size);
  EXPECT_NE(::ftruncate(writable.get(), 0), 0);
  EXPECT_NE(::ftruncate(writable.get(), size + 1), 0);
  EXPECT_NE(::pwrite(writable.get(), "x", 1, size), 1);
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), size);
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

// The header of an element that is in the file `x`.
std::string HeaderOfExternal(uint32_t length) {
  return std::string("\0\2", 2) + Big32(length) + Big32(0) + Big32(1) + "x";
}

// The first element of this tag and kind is in another file.
std::string WithExternal(std::string bytes, size_t tag, size_t kind) {
  const size_t header = HeadersOf(bytes, tag, kind).at(0);
  for (const size_t entry : EntriesOf(bytes, 0x4000 | tag)) {
    if (Big(bytes.substr(entry + 4, 4)) != header) continue;
    const std::string external = HeaderOfExternal(36);
    bytes.replace(entry + 4, 8,
                  Big32(static_cast<uint32_t>(bytes.size())) +
                      Big32(static_cast<uint32_t>(external.size())));
    return bytes + external;
  }
  return bytes;
}

TEST_F(Hdf4Test, ImageInAnotherFile) {
  Open(WithExternal(Golden("images.hdf"), kRasterImage, kCompressed));
  const auto node = Load("/deflated");
  ASSERT_TRUE(node->error.has_value());
  EXPECT_THAT(node->error->message(), HasSubstr("where its elements are"));
  EXPECT_THAT(Elements("/grey"), IsOkAnd(Counted<uint8_t>(12, 1)));
}

TEST_F(Hdf4Test, SetInAnotherFile) {
  const std::string golden = Golden("chunks.hdf");
  Open(WithExternal(golden, kDataSet, kCompressed));
  ASSERT_TRUE(Load("/whole_deflate")->error.has_value());
  EXPECT_THAT(Load("/whole_deflate")->error->message(), HasSubstr("another file"));
  EXPECT_THAT(Elements("/whole_rle"), IsOkAnd(Counted<int32_t>(35, 3)));
  Open(WithExternal(golden, kDataSet, kLinked));
  ASSERT_TRUE(Load("/grows")->error.has_value());
  EXPECT_THAT(Load("/grows")->error->message(), HasSubstr("another file"));
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
                  IsError(ErrorCode::kUnsupported, HasSubstr("array with coding 4")));
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
  EXPECT_THAT(Load("/deflate")->error->message(), HasSubstr("array with coding 4"));
  EXPECT_THAT(Load("/other")->error->message(), HasSubstr("array with coding 4"));
}

TEST_F(Hdf4Test, ChunkWithFarTooManyEncodedBytes) {
  std::string bytes = Golden("chunks.hdf");
  const size_t header = HeadersOf(bytes, kDataSet, kCompressed).at(1);  // of whole_rle
  const std::string reference = bytes.substr(header + 8, 2);
  constexpr size_t kCompressedBytes = 40;
  for (const size_t entry : EntriesOf(bytes, kCompressedBytes)) {
    if (bytes.substr(entry + 2, 2) == reference) bytes.replace(entry + 8, 4, Big32(2 << 20));
  }
  bytes.append(size_t{2} << 20, '\0');
  Open(bytes);
  EXPECT_THAT(
      Elements("/whole_rle"),
      IsError(ErrorCode::kCorrupt, HasSubstr("2097152 encoded bytes for a chunk of 140")));
  EXPECT_THAT(Elements("/whole_nbit"), IsOkAnd(Counted<int32_t>(35, 3)));
}

}  // namespace
}  // namespace ndlfs::backends
