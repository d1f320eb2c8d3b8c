// SPDX-License-Identifier: MIT
//
// netCDF-4 files that netCDF-C writes: dimensions, coordinates, user types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ndl/ndl_writer.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"
#include "tests/support/read_group.h"

namespace ndlfs::backends {
namespace {

using test::IsOk;
using test::IsOkAnd;
using test::LoadNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kWriter = R"(
import netCDF4
with netCDF4.Dataset('a.nc', 'w') as f:
    f.title = 'x'; f.numbers = np.array([1, 2], 'i2')
    for name, size in (('time', None), ('lat', 3), ('lon', 4), ('unused', 7), ('nv', 2)): f.createDimension(name, size)
    t = f.createVariable('time', 'f8', ('time',)); t[:] = [0, 1]; t.units = 'days'
    f.createVariable('lat', '>f4', ('lat',), endian='big')[:] = [1, 2, 3]
    v = f.createVariable('v', 'i2', ('time', 'lat', 'lon'), zlib=True, shuffle=False, fill_value=-9)
    v[:] = np.arange(24).reshape(2, 3, 4)
    # Called as a dimension, but not its coordinate: netCDF-C prefixes it.
    f.createVariable('lon', 'f4', ('lat', 'nv'))[:] = np.arange(6).reshape(3, 2)
    # A coordinate of two dimensions.
    c = f.createVariable('nv', 'S1', ('nv', 'lon')); c[:] = np.array(list('abcdefgh'), 'S1').reshape(2, 4)
    e = f.createEnumType(np.uint8, 'clouds', {'clear': 0, 'rain': 3})
    f.createVariable('en', e, ('lat',), fill_value=0)[:] = [0, 3, 0]
    st = np.dtype([('a', 'i4'), ('b', 'f8')])
    ct = f.createCompoundType(st, 'comp')
    f.createVariable('co', ct, ('lat',))[:] = np.array([(1, 2.), (3, 4.), (5, 6.)], st)
    vt = f.createVLType(np.int32, 'vlen_t'); vl = f.createVariable('vl', vt, ('lat',))
    for i in range(3): vl[i] = np.arange(i + 1, dtype='i4')
    s = f.createVariable('s', str, ('lon',)); s[:] = np.array(['a', 'bc', '', 'd'], object)
    f.createVariable('scalar', 'i4', ())[...] = 3
    g = f.createGroup('g'); g.note = 'in g'; g.createDimension('z', 2)
    g.createVariable('w', 'f4', ('time', 'z', 'lat'))[0:2] = 1
    f.createGroup('g/h').createVariable('lat', 'f4', ('lat',))[:] = [7, 8, 9]
)";

class NetCdf4Test : public ::testing::Test {
 protected:
  NetCdf4Test() {
    test::RunH5py(directory_, kWriter);
    hierarchy_ = test::OpenHdf5(directory_, "a.nc");
  }
  const model::Ndarray& Array(std::string_view path) {
    loaded_.push_back(LoadNode(*hierarchy_, path));
    return loaded_.back()->array();
  }
  test::TemporaryDirectory directory_;
  std::shared_ptr<const Hierarchy> hierarchy_;
  std::vector<std::shared_ptr<const Node>> loaded_;
};

TEST_F(NetCdf4Test, VariablesAreListedByTheirNetCdfNames) {
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("co", "en", "g", "lat", "lon", "nv",
                                                         "s", "scalar", "time", "v", "vl")));
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(ElementsAre("h", "w")));
}

TEST_F(NetCdf4Test, ShapesNameDimensionsAndCoordinates) {
  const auto& v = Array("/v");
  EXPECT_THAT(v.dimension_names, ElementsAre("time", "lat", "lon"));
  EXPECT_THAT(v.shape, ElementsAre(model::Dimension{std::nullopt, "/time"},
                                   model::Dimension{3, "/lat"}, model::Dimension{4, ""}));
  EXPECT_EQ(v.storage.shape, (std::vector<uint64_t>{2, 3, 4}));
  EXPECT_EQ(v.storage.fillvalue, model::Value(-9));
  EXPECT_THAT(Array("/g/w").shape,
              ElementsAre(model::Dimension{std::nullopt, "/time"}, model::Dimension{2, ""},
                          model::Dimension{3, "/lat"}));
  EXPECT_THAT(Array("/g/w").dimension_names, ElementsAre("time", "z", "lat"));
}

TEST_F(NetCdf4Test, CoordinateVariablesAreDimensionCoordinates) {
  for (const char* path : {"/time", "/lat"}) {
    EXPECT_TRUE(std::holds_alternative<model::DimCoord>(LoadNode(*hierarchy_, path)->entity));
  }
  EXPECT_EQ(Array("/time").storage.size, 2);
  EXPECT_EQ(Array("/lat").storage.endian, model::ByteOrder::kBig);
  EXPECT_THAT(LoadNode(*hierarchy_, "/lat")->attributes(), IsEmpty());
  EXPECT_EQ(LoadNode(*hierarchy_, "/time")->attributes().size(), 1);
}

TEST_F(NetCdf4Test, VariableCalledAsADimensionIsFoundBehindItsPrefix) {
  const auto node = LoadNode(*hierarchy_, "/lon");
  EXPECT_EQ(node->array().name, "lon");
  EXPECT_THAT(node->array().dimension_names, ElementsAre("lat", "nv"));
  std::string expected;
  for (const float value : {0.f, 1.f, 2.f, 3.f, 4.f, 5.f}) {
    expected.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(expected));
}

TEST_F(NetCdf4Test, CoordinateOfTwoDimensionsHasItsDimensions) {
  const auto node = LoadNode(*hierarchy_, "/nv");
  EXPECT_TRUE(std::holds_alternative<model::Ndarray>(node->entity));
  EXPECT_THAT(node->array().dimension_names, ElementsAre("nv", "lon"));
  EXPECT_THAT(node->array().shape,
              ElementsAre(model::Dimension{2, ""}, model::Dimension{4, ""}));
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd("abcdefgh"));
}

TEST_F(NetCdf4Test, UserTypesAreTypes) {
  EXPECT_EQ(Array("/en").type.constants(),
            (std::vector<model::Datatype::Constant>{{"clear", 0}, {"rain", 3}}));
  EXPECT_EQ(Array("/co").type.members()[1].offset, 8);
  EXPECT_EQ(Array("/vl").type, model::Datatype::Vlen(model::Datatype::Integer(4, true)));
  EXPECT_EQ(Array("/s").type.kind(), model::Datatype::Kind::kString);
  EXPECT_TRUE(Array("/scalar").shape.empty());
}

TEST_F(NetCdf4Test, WhatNetCdfKeepsForItselfIsNotShown) {
  const auto root = LoadNode(*hierarchy_, "/");
  std::vector<std::string> names;
  for (const auto& attribute : root->attributes()) names.push_back(attribute.name);
  EXPECT_THAT(names, ElementsAre("title", "numbers"));
  const auto document = model::WriteGroup(ReadGroup(*hierarchy_, "/").value(), "/");
  for (const char* word : {"_Netcdf4", "_NCProperties", "CLASS", "DIMENSION_LIST",
                           "REFERENCE_LIST", "_nc4_non_coord_"}) {
    EXPECT_THAT(document, ::testing::Not(HasSubstr(word)));
  }
}

TEST_F(NetCdf4Test, DimensionsWithoutVariablesAreTheGroups) {
  const auto root = LoadNode(*hierarchy_, "/");
  // "nv" has a variable, but of two dimensions.
  EXPECT_THAT(std::get<model::Group>(root->entity).dimensions,
              ElementsAre(model::NamedDimension{"lon", 4}, model::NamedDimension{"nv", 2},
                          model::NamedDimension{"unused", 7}));
  const auto g = LoadNode(*hierarchy_, "/g");
  EXPECT_THAT(std::get<model::Group>(g->entity).dimensions,
              ElementsAre(model::NamedDimension{"z", 2}));
}

TEST_F(NetCdf4Test, ADimensionWithoutVariableIsFoundByItsName) {
  // Not listed, but there for who asks.
  const auto node = LoadNode(*hierarchy_, "/unused");
  EXPECT_EQ(node->array().shape, (model::Shape{{7, {}}}));
}

// A variable that has the name of a dimension and several dimensions, in a file
// where other variables have the number of that dimension.
TEST(NetCdf4CoordinateTest, DimensionsAreNamedByScalesAlone) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, R"(
import netCDF4
with netCDF4.Dataset('a.nc', 'w') as f:
    f.createDimension('station', 3); f.createDimension('strlen', 4); f.createDimension('x', 2)
    f.createVariable('a_temp', 'f4', ('station',))[:] = 1
    f.createVariable('station', 'S1', ('station', 'strlen'))[:] = np.array([list('abcd')] * 3, 'S1')
    f.createVariable('z_temp', 'f4', ('station',))[:] = 1
    f.createVariable('before', 'f4', ('x',))[:] = 1
    f.createVariable('x', 'i4', ('x', 'x'))[:] = 1
)");
  const auto hierarchy = test::OpenHdf5(directory, "a.nc");
  const auto station = LoadNode(*hierarchy, "/station");
  EXPECT_THAT(station->array().dimension_names, ElementsAre("station", "strlen"));
  EXPECT_THAT(station->array().shape,
              ElementsAre(model::Dimension{3, ""}, model::Dimension{4, ""}));
  const auto x = LoadNode(*hierarchy, "/x");
  EXPECT_THAT(x->array().dimension_names, ElementsAre("x", "x"));
  EXPECT_THAT(x->array().shape, ElementsAre(model::Dimension{2, ""}, model::Dimension{2, ""}));
  EXPECT_THAT(LoadNode(*hierarchy, "/a_temp")->array().dimension_names, ElementsAre("station"));
  EXPECT_THAT(std::get<model::Group>(LoadNode(*hierarchy, "/")->entity).dimensions,
              ElementsAre(model::NamedDimension{"station", 3},
                          model::NamedDimension{"strlen", 4}, model::NamedDimension{"x", 2}));
}

}  // namespace
}  // namespace ndlfs::backends
