// SPDX-License-Identifier: MIT
//
// Texts of fixed length in Zarr: one rule for an array says how its bytes are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "model/value.h"
#include "tests/backends/format/zarr/zarr_stores.h"
#include "tests/support/memory_store.h"

namespace ndlfs::backends {
namespace {

using model::Charset;
using test::MemoryStore;

// An array "/a" of texts of two bytes, four to a chunk.
std::shared_ptr<MemoryStore> StoreOf(std::string_view shape, std::string_view first_chunk,
                                     std::string_view fill = "\"\"") {
  auto store = std::shared_ptr<MemoryStore>(new MemoryStore{
      {".zgroup", test::kGroupV2},
      {"a/.zarray", fmt::format(R"({{"zarr_format": 2, "shape": {}, "chunks": [4],
           "dtype": "|S2", "compressor": {{"id": "crc32"}}, "fill_value": {}, "order": "C",
           "filters": null}})",
                                shape, fill)},
  });
  if (!first_chunk.empty()) store->Put("a/0", std::string(first_chunk));
  return store;
}

Charset CharsetOf(const Node& node) {
  EXPECT_EQ(node.source->spec().dtype, node.array().type);
  return node.array().type.charset();
}

Charset CharsetOf(const std::shared_ptr<MemoryStore>& store) {
  return CharsetOf(**test::OpenZarr(store)->Load("/a"));
}

// The CRC of zlib follows the data.
std::string WithCrc(std::string data) {
  uint32_t crc = 0xffffffff;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  crc = ~crc;
  std::string checked(reinterpret_cast<const char*>(&crc), sizeof(crc));
  return checked + data;
}

TEST(ZarrTextTest, OneElementThatIsNotUtf8MakesTheArrayLatin1) {
  const auto store = StoreOf("[8]", WithCrc("ab\xc3\xa9\xe9 cd"));
  const auto node = *test::OpenZarr(store)->Load("/a");
  EXPECT_EQ(CharsetOf(*node), Charset::kLatin1);
  EXPECT_EQ(node->array().storage.charset, "iso-8859-1");
}

TEST(ZarrTextTest, Utf8StaysAsItIs) {
  EXPECT_EQ(CharsetOf(StoreOf("[8]", WithCrc("ab\xc3\xa9xycd"))), Charset::kAscii);
}

TEST(ZarrTextTest, BytesBeyondTheEdgeOfTheArrayTellNothing) {
  EXPECT_EQ(CharsetOf(StoreOf("[3]", WithCrc("abcdef\xe9\xe9"))), Charset::kAscii);
}

TEST(ZarrTextTest, TheFillValueTellsAndIsReadByTheSameRule) {
  const auto node = *test::OpenZarr(StoreOf("[8]", "", R"("6cM=")"))->Load("/a");  // e9 c3
  EXPECT_EQ(CharsetOf(*node), Charset::kLatin1);
  ASSERT_TRUE(node->array().storage.fillvalue);
  EXPECT_EQ(*node->array().storage.fillvalue->text(), "\u00e9\u00c3");
}

TEST(ZarrTextTest, ADamagedChunkTellsNothing) {
  const auto node = *test::OpenZarr(StoreOf("[8]", "\xe9\xe9\xe9"))->Load("/a");
  EXPECT_EQ(CharsetOf(*node), Charset::kAscii);
  EXPECT_FALSE(node->is_partial);
  EXPECT_FALSE(node->error);
}

TEST(ZarrTextTest, AChunkThatCannotBeReadNowIsLookedAtAgain) {
  const auto store = StoreOf("[8]", WithCrc("\xe9zabcdef"));
  const auto hierarchy = test::OpenZarr(store);
  store->Fail("a/0", EIO);
  const auto node = *hierarchy->Load("/a");
  EXPECT_EQ(CharsetOf(*node), Charset::kAscii);
  EXPECT_TRUE(node->is_partial);
  EXPECT_NE(*hierarchy->Load("/a"), node);
}

TEST(ZarrTextTest, MembersOfAStructHaveRulesOfTheirOwn) {
  const std::shared_ptr<MemoryStore> store(new MemoryStore{
      {".zgroup", test::kGroupV2},
      {"a/.zarray", R"({"zarr_format": 2, "shape": [2], "chunks": [2], "order": "C",
           "dtype": [["n", "<i2"], ["s", "|S1"], ["t", "|S2"]], "compressor": null,
           "fill_value": null, "filters": null})"},
      {"a/0", std::string_view("\1\0\xe9xy\1\0zxy", 10)},
  });
  const auto node = *test::OpenZarr(store)->Load("/a");
  EXPECT_EQ(node->source->spec().dtype, node->array().type);
  EXPECT_EQ(node->array().type.members()[1].type.charset(), Charset::kLatin1);
  EXPECT_EQ(node->array().type.members()[2].type.charset(), Charset::kAscii);
}

TEST(ZarrTextTest, OfLargeUnencodedChunksTheBeginningTells) {
  std::string data(2 << 20, 'a');
  const std::string metadata =
      fmt::format(R"({{"zarr_format": 2, "shape": [{0}], "chunks": [{0}], "dtype": "|S1",
          "compressor": null, "fill_value": null, "order": "C", "filters": null}})",
                  data.size());
  data[1000] = '\xe9';
  const std::shared_ptr<MemoryStore> store(
      new MemoryStore{{".zgroup", test::kGroupV2}, {"a/.zarray", metadata}, {"a/0", data}});
  EXPECT_EQ(CharsetOf(store), Charset::kLatin1);
}

TEST(ZarrTextTest, NoChunkOfOtherTypesIsRead) {
  for (const char* dtype : {"<U2", "<i4", "|V2"}) {
    const std::shared_ptr<MemoryStore> store(new MemoryStore{
        {".zgroup", test::kGroupV2}, {"a/.zarray", test::ArrayV2("[2]", dtype)}});
    store->Fail("a/0", EIO);
    EXPECT_FALSE((*test::OpenZarr(store)->Load("/a"))->is_partial) << dtype;
  }
}

}  // namespace
}  // namespace ndlfs::backends
