// SPDX-License-Identifier: MIT
//
// The requests that a file behind a URL costs.
#include <gtest/gtest.h>

#include <string>

#include "backends/format/tiff/tiff.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/tiff_builder.h"

#if NDLFS_WITH_HTTP
#include "tests/support/fake_file_server.h"

namespace ndlfs::backends {
namespace {

using test::TiffBuilder;

// A file as GDAL writes them for the web: directories of the image and of an overview, then the
// tiles, far behind.
std::string CloudOptimized() {
  constexpr uint64_t kTile = 16, kFirst = 200'000, kTileBytes = kTile * kTile;
  const auto tiles = [&](uint64_t size, uint64_t first) {
    std::vector<uint64_t> offsets, counts;
    for (uint64_t i = 0; i < size * size / kTileBytes; ++i) {
      offsets.push_back(first + i * kTileBytes);
      counts.push_back(kTileBytes);
    }
    return TiffBuilder::Tiled(TiffBuilder::Image(size, size, 8, 0), kTile, kTile, offsets,
                              counts);
  };
  TiffBuilder file;
  file.Directory(tiles(128, kFirst));
  auto overview = tiles(64, kFirst + 64 * kTileBytes);
  overview[254] = {4, {1}};
  file.Directory(overview);
  std::string bytes = file.file();
  bytes.resize(kFirst);
  for (char value = 0; value < 80; ++value) bytes += std::string(kTileBytes, value);
  return bytes;
}

TEST(TiffRemoteTest, DescriptionCostsOneRequestAndEachTileAnother) {
  test::FakeFileServer server;
  server.Put("a.tif", CloudOptimized());
  const auto opened = TiffFormat().Open(server.MakeSource(), "a.tif", {});
  ASSERT_THAT(opened, test::IsOk());
  EXPECT_EQ(server.transport()->sent().size(), 1u);
  const auto image = (*opened)->Load("/image").value();
  const auto overview = (*opened)->Load("/overviews/1").value();
  EXPECT_EQ(server.transport()->sent().size(), 1u);
  test::PlainIndexCache indexes;
  EXPECT_THAT(test::ReadChunk(*image->source, {2, 3}, indexes),
              test::IsOkAnd(std::string(256, 2 * 8 + 3)));
  EXPECT_EQ(server.transport()->sent().size(), 2u);
  EXPECT_THAT(test::ReadChunk(*overview->source, {1, 1}, indexes),
              test::IsOkAnd(std::string(256, 64 + 5)));
  // A store behind a server may have read a little more than the first tile.
  EXPECT_LE(server.transport()->sent().size(), 3u);
}

// 16 bytes a tile, twice 8,192 tiles: the lists are not in the first 64 KiB.
TEST(TiffRemoteTest, LongListsAreReadInPartsWhenTheyAreNeeded) {
  constexpr uint64_t kTiles = 64 * 1024, kAt = 1 << 20;
  TiffBuilder file;
  const uint64_t data = file.Data(std::string(16, 'a'));
  TiffBuilder::Fields fields =
      TiffBuilder::Tiled(TiffBuilder::Image(16, 16 * kTiles, 8, 0), 16, 16, {}, {});
  std::string offsets, counts;
  for (uint64_t i = 0; i < kTiles; ++i) {
    offsets += file.Number(i == kTiles - 1 ? data : 0, 4);
    counts += file.Number(i == kTiles - 1 ? 256 : 0, 4);
  }
  (void)file.Data(std::string(kAt, 'a'));
  fields[324] = {.type = 4, .bytes = file.Number(file.Data(offsets), 4), .count = kTiles};
  fields[325] = {.type = 4, .bytes = file.Number(file.Data(counts), 4), .count = kTiles};
  file.Directory(fields);
  test::FakeFileServer server;
  server.Put("a.tif", file.file());
  const auto opened = TiffFormat().Open(server.MakeSource(), "a.tif", {});
  ASSERT_THAT(opened, test::IsOk());
  const auto image = (*opened)->Load("/image").value();
  const size_t before = server.transport()->sent().size();
  test::PlainIndexCache indexes;
  EXPECT_THAT(test::ReadChunk(*image->source, {kTiles - 1, 0}, indexes),
              test::IsOkAnd(std::string(256, 'a')));
  const size_t after = server.transport()->sent().size();
  EXPECT_LE(after, before + 3) << "two lists and the tile";
  EXPECT_THAT(test::ReadChunk(*image->source, {kTiles - 2, 0}, indexes),
              test::IsOkAnd(std::string(256, '\0')));
  EXPECT_EQ(server.transport()->sent().size(), after);
}

}  // namespace
}  // namespace ndlfs::backends
#endif
