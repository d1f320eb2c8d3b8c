// SPDX-License-Identifier: MIT
//
// Small stores of Zarr v2 and v3.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/zarr/zarr_format.h"
#include "tests/support/memory_store.h"
#include "tests/support/result.h"

namespace ndlfs::test {

inline constexpr const char* kGroupV2 = R"({"zarr_format": 2})";
inline constexpr const char* kGroupV3 = R"({"zarr_format": 3, "node_type": "group"})";

inline std::string ArrayV2(std::string_view shape, std::string_view dtype = "<i4") {
  return fmt::format(R"({{"zarr_format": 2, "shape": {0}, "chunks": {0}, "dtype": "{1}",
      "compressor": null, "fill_value": 0, "order": "C", "filters": null}})",
                     shape, dtype);
}

inline std::string ArrayV3(std::string_view shape, std::string_view more = "") {
  return fmt::format(R"({{"zarr_format": 3, "node_type": "array", "shape": {0},
      "data_type": "uint8", "fill_value": 0, "codecs": ["bytes"], {1}
      "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {0}}}}},
      "chunk_key_encoding": "default"}})",
                     shape, more);
}

inline std::string Dimensions(std::string_view names) {
  return fmt::format(R"({{"_ARRAY_DIMENSIONS": {}}})", names);
}

inline std::shared_ptr<const backends::Hierarchy> OpenZarr(
    std::shared_ptr<const backends::Store> store, std::string prefix = "",
    std::string name = "top") {
  auto hierarchy = backends::OpenZarr(std::move(store), std::move(prefix), std::move(name), {});
  EXPECT_THAT(hierarchy, IsOk());
  return *hierarchy;
}

inline std::vector<std::string> DimCoordsOf(const backends::Node& node) {
  std::vector<std::string> names;
  for (const auto& dimension : node.array().shape) names.push_back(dimension.dimcoord);
  return names;
}

inline std::shared_ptr<MemoryStore> StoreV2() {
  return std::shared_ptr<MemoryStore>(new MemoryStore{
      {".zgroup", kGroupV2},
      {".zattrs", R"({"title": "test", "n": 3})"},
      {"lat/.zarray", ArrayV2("[2]", "<f4")},
      {"lat/.zattrs", R"({"units": "degrees", "_ARRAY_DIMENSIONS": ["lat"]})"},
      {"lat/0", std::string_view("\0\0\0\0\0\0\x80\x3f", 8)},
      {"sub/.zgroup", kGroupV2},
      {"sub/t/.zarray", ArrayV2("[3, 2]")},
      {"sub/t/.zattrs", Dimensions(R"(["time", "lat"])")},
      {"notes/readme.txt", "not a node"},
      {"file", "not a node"},
  });
}

inline std::shared_ptr<MemoryStore> StoreV3() {
  return std::shared_ptr<MemoryStore>(new MemoryStore{
      {"zarr.json", R"({"zarr_format": 3, "node_type": "group", "attributes": {"n": 3}})"},
      {"lat/zarr.json",
       ArrayV3("[2]", R"("dimension_names": ["lat"], "attributes": {"units": "degrees"},)")},
      {"lat/c/0", "\1\2"},
      {"sub/zarr.json", kGroupV3},
      {"sub/t/zarr.json", ArrayV3("[3, 2]", R"("dimension_names": ["time", "lat"],)")},
      {"sub/t/c/0/0", "abcdef"},
      {"notes/readme.txt", "not a node"},
  });
}

}  // namespace ndlfs::test
