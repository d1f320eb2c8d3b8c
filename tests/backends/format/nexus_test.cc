// SPDX-License-Identifier: MIT
//
// NeXus in a store of Zarr: names of dimensions, and what a hierarchy with them still can do.
// Files of HDF5 are in tests/mount/nexus_test.py.
#include "backends/format/nexus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/detection.h"
#include "backends/format/metadata_files.h"
#include "tests/support/memory_source.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NexusTest : public testing::Test {
 protected:
  void AddGroup(const std::string& path, const std::string& attributes) {
    source_->Put("a.zarr" + path + "/.zgroup", R"({"zarr_format": 2})");
    source_->Put("a.zarr" + path + "/.zattrs", attributes);
  }
  void AddArray(const std::string& path, const std::string& shape,
                const std::string& attributes = "{}") {
    source_->Put("a.zarr" + path + "/.zarray",
                 R"({"zarr_format": 2, "dtype": "<i4", "order": "C", "compressor": null,)"
                 R"( "fill_value": 0, "filters": null, "shape": )" +
                     shape + R"(, "chunks": )" + shape + "}");
    source_->Put("a.zarr" + path + "/.zattrs", attributes);
  }
  // The plot `counts` of 3 x 4 in /entry/data.
  void AddPlot(const std::string& attributes) {
    AddGroup("", R"({"NX_class": "NXroot"})");
    AddGroup("/entry", R"({"NX_class": "NXentry"})");
    AddGroup("/entry/data", attributes);
    AddArray("/entry/data/counts", "[3, 4]");
    AddArray("/entry/data/y", "[3]");
    AddArray("/entry/data/x", "[4]");
    AddArray("/entry/data/more", "[3, 4]");
    AddArray("/entry/data/edges", "[5]");
  }
  std::vector<std::string> Dims(const std::string& path) {
    if (!hierarchy_) hierarchy_ = OpenAnyStore(source_, "a.zarr", {}).value();
    return hierarchy_->Load(path).value()->array().dimension_names;
  }

  std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(NexusTest, AxesNameDimensions) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": ["y", "x"],)"
          R"( "auxiliary_signals": ["more"]})");
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("y", "x"));
  EXPECT_THAT(Dims("/entry/data/more"), ElementsAre("y", "x"));
  EXPECT_THAT(Dims("/entry/data/x"), ElementsAre("x"));
  EXPECT_THAT(Dims("/entry/data/edges"), IsEmpty());
  const auto counts = hierarchy_->Load("/entry/data/counts").value();
  EXPECT_EQ(counts->array().shape[1].dimcoord, "/entry/data/x");
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(
      hierarchy_->Load("/entry/data/y").value()->entity));
  EXPECT_EQ(hierarchy_->Load("/entry/data/counts").value(), counts)
      << "the same node as long as somebody holds it";
}

TEST_F(NexusTest, IndicesSayWhichDimensionAnAxisIsAlong) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": "x", "x_indices": 1,)"
          R"( "y_indices": [0]})");
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("", "x"));
  EXPECT_THAT(Dims("/entry/data/y"), IsEmpty()) << "its dimension has no name";
}

TEST_F(NexusTest, IndicesCountMoreThanTheOrderOfAxes) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": ["x", "y"], "x_indices": 1,)"
          R"( "y_indices": 0})");
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("y", "x"));
  EXPECT_THAT(Dims("/entry/data/y"), ElementsAre("y"));
}

TEST_F(NexusTest, ContradictionsNameNothing) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": ["y", "x"], "y_indices": 1})");
  EXPECT_THAT(Dims("/entry/data/counts"), IsEmpty());
}

TEST_F(NexusTest, SignalNamesNoDimensionOfItself) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": ["counts", "x"]})");
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("", "x"));
}

TEST_F(NexusTest, ChangedAttributesAreAnotherVersion) {
  AddPlot(R"({"NX_class": "NXdata", "signal": "counts", "axes": ["y", "x"]})");
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("y", "x"));
  const uint64_t version = hierarchy_->Version("/entry/data/counts").value();
  AddGroup("/entry/data", R"({"NX_class": "NXdata", "signal": "counts", "axes": [".", "x"]})");
  EXPECT_NE(hierarchy_->Version("/entry/data/counts").value(), version);
  EXPECT_THAT(Dims("/entry/data/counts"), ElementsAre("", "x"));
}

TEST_F(NexusTest, OtherGroupsStayAsTheyAre) {
  AddPlot(R"({"signal": "counts", "axes": ["y", "x"]})");
  AddGroup("/entry", "{}");
  EXPECT_THAT(Dims("/entry/data/counts"), IsEmpty());
  EXPECT_NE(dynamic_cast<const FindsMetadataFiles*>(hierarchy_.get()), nullptr)
      << "a listing needs no metadata";
}

}  // namespace
}  // namespace ndlfs::backends
