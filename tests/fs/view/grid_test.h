// SPDX-License-Identifier: MIT
//
// A store with arrays on a grid, for tests of files that say where their elements are.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs::fake {

using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::MemoryArray;

template <typename T>
std::string RawOf(const std::vector<T>& numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

inline model::Attribute TextAttribute(std::string name, std::string text) {
  model::Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = model::Datatype::String();
  attribute.value = std::move(text);
  return attribute;
}
inline model::Attribute NumberAttribute(std::string name, double number) {
  model::Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = model::Datatype::Float64();
  attribute.value = number;
  return attribute;
}

class GridTest : public ::testing::Test {
 protected:
  using Attributes = std::vector<model::Attribute>;

  GridTest() { store_->AddGroup("/"); }

  // A dimension coordinate of the root.
  void AddCoordinate(const std::string& name, const std::vector<double>& numbers,
                     Attributes attributes = {}) {
    const std::vector<uint64_t> shape = {numbers.size()};
    AddStoredCoordinate(
        name, std::make_shared<MemoryArray>(model::Datatype::Float64(), shape, RawOf(numbers)),
        std::move(attributes));
  }
  void AddStoredCoordinate(const std::string& name, std::shared_ptr<const MemoryArray> array,
                           Attributes attributes = {}) {
    backends::Node& node = store_->AddDimCoord("/" + name, std::move(array));
    auto& coordinate = std::get<model::DimCoord>(node.entity);
    coordinate.attributes = std::move(attributes);
    coordinate.dimension_names = {name};
  }
  void AddLongitude(const std::vector<double>& numbers = {10, 10.5, 11, 11.5}) {
    AddCoordinate("lon", numbers, {TextAttribute("units", "degrees_east")});
  }
  void AddLatitude(const std::vector<double>& numbers = {60, 58, 56}) {
    AddCoordinate("lat", numbers, {TextAttribute("units", "degrees_north")});
  }
  // An array of the root, all elements in one chunk: 0, 1, 2 ... in each of their bytes.
  model::Ndarray& AddArray(const model::Datatype& type, const std::vector<uint64_t>& shape,
                           std::vector<std::string> dimensions = {}) {
    uint64_t count = type.size();
    for (const uint64_t extent : shape) count *= extent;
    elements_.assign(count, '\0');
    std::iota(elements_.begin(), elements_.end(), '\0');
    std::vector<uint64_t> chunk = shape;
    for (uint64_t& extent : chunk) extent = std::max<uint64_t>(1, extent);
    std::map<uint64_t, std::string> chunks = {{0, elements_}};
    return AddArray(std::make_shared<MemoryArray>(type, shape, chunk, std::move(chunks)),
                    std::move(dimensions));
  }
  model::Ndarray& AddArray(const std::shared_ptr<const MemoryArray>& array,
                           std::vector<std::string> dimensions = {}) {
    backends::Node& node = store_->AddArray("/t", array);
    auto& ndarray = std::get<model::Ndarray>(node.entity);
    ndarray.dimension_names = std::move(dimensions);
    return ndarray;
  }

  ArrayInput Input(std::string_view name = "t") {
    return *MakeGroupInput(store_, "/", cache_).value()->Load(name).value().array;
  }
  bool Has(std::string_view file) { return ArrayViews().Resolve(Input(), file).has_value(); }
  model::Result<ViewPtr> Make(std::string_view file) {
    return ArrayViews().MakeFile(Input(), file);
  }
  // All of a file of /t.
  model::Result<std::string> Read(std::string_view file) {
    NDLFS_TRY(const ViewPtr view, Make(file));
    std::string text(*view->size(), '\0');
    NDLFS_TRY(const size_t count, view->Read(0, std::as_writable_bytes(std::span(text))));
    EXPECT_EQ(count, text.size());
    return text;
  }
  // The same without what fills up a text at its end.
  std::string ReadText(std::string_view file) {
    const auto text = Read(file);
    EXPECT_THAT(text, IsOk());
    if (!text) return {};
    return text->substr(0, text->find_last_not_of(" \n") + 1) + "\n";
  }

  std::shared_ptr<ndlfs::test::MemoryHierarchy> store_ =
      std::make_shared<ndlfs::test::MemoryHierarchy>();
  std::string elements_;
  cache::ChunkCache cache_{1 << 20};
};

// A number in the bytes of a file.
template <typename T>
T NumberAt(const std::string& bytes, size_t at) {
  T number{};
  EXPECT_LE(at + sizeof number, bytes.size());
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace ndlfs::fs::fake
