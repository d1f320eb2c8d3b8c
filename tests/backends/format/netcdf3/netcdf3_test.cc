// SPDX-License-Identifier: MIT
//
// Files that netCDF-C writes, read back and compared with what netCDF-C reads.
#include "backends/format/netcdf3/netcdf3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/store/local/local_source.h"
#include "model/path_name.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each variable `v` of `name`.nc is also written, little-endian, as `v`.raw.
constexpr std::string_view kWriter = R"(
import os, sys
import netCDF4, numpy as np
out, model = DIRECTORY, MODEL
rng = np.random.default_rng(1)
types = ['i1', 'i2', 'i4', 'f4', 'f8'] + (['u1', 'u2', 'u4', 'i8', 'u8'] if model.endswith('DATA') else [])
with netCDF4.Dataset(os.path.join(out, 'a.nc'), 'w', format=model) as f:
    f.title = 'caf\u00e9'
    f.empty = ''
    f.numbers = np.array([1, -2, 3], 'i2')
    f.one = np.float64(2.5)
    f.createDimension('time', None)
    f.createDimension('y', 3)
    f.createDimension('x', 5)
    f.createDimension('z', 7000)
    t = f.createVariable('time', 'f8', ('time',)); t[:] = np.arange(300) / 4
    t.units = 'days since 2000-01-01'
    y = f.createVariable('y', 'f4', ('y',)); y[:] = [1.5, 2.5, 3.5]
    for name in types:
        info = rng.integers(0, 100, (300, 3, 5)).astype(name)
        v = f.createVariable('rec_' + name, name, ('time', 'y', 'x'), fill_value=np.array(77, name)); v[:] = info
        w = f.createVariable('fix_' + name, name, ('x', 'y')); w[:] = info[0].T
    c = f.createVariable('text', 'S1', ('y', 'x')); c[:] = np.array([list('hello'), list('world'), list('a    ')], 'S1')
    e = f.createVariable('latin1', 'S1', ('time', 'x')); e[2:] = np.array([list(b'caf\xe9s')] * 298, 'u1').view('S1')
    e[:2] = np.array([list(b'\xe9cole'[:5])] * 2, 'u1').view('S1')
    s = f.createVariable('scalar', 'i4', ()); s[...] = 42
    b = f.createVariable('big', 'f4', ('y', 'z')); b[:] = rng.random((3, 7000), 'f4')
    l = f.createVariable('long_record', 'f4', ('time', 'z')); l[1] = rng.random(7000, 'f4')
with netCDF4.Dataset(os.path.join(out, 'a.nc')) as f:
    f.set_auto_maskandscale(False)
    f.set_auto_chartostring(False)
    for name, v in f.variables.items():
        data = np.asarray(v[...])
        data.astype(data.dtype.newbyteorder('<')).tofile(os.path.join(out, name + '.raw'))
)";

class NetCdf3WrittenTest : public ::testing::TestWithParam<const char*> {
 protected:
  NetCdf3WrittenTest() {
    std::string script(kWriter);
    script.replace(script.find("DIRECTORY"), 9, "'" + directory_.path().string() + "'");
    script.replace(script.find("MODEL"), 5, "'" + std::string(GetParam()) + "'");
    test::RunPython(script);
    root_ = LocalSource::Open(directory_.path()).value();
    hierarchy_ = NetCdf3Format().Open(root_, "a.nc", {}).value();
  }
  std::shared_ptr<const Node> Load(const std::string& path) {
    auto node = hierarchy_->Load(path);
    EXPECT_THAT(node, test::IsOk()) << path;
    return node.value_or(nullptr);
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const Source> root_;
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_P(NetCdf3WrittenTest, EveryVariableReadsAsNetCdfReadsIt) {
  const auto names = hierarchy_->List("/").value();
  EXPECT_GE(names.size(), 16);
  for (const std::string& name : names) {
    const auto node = Load("/" + name);
    ASSERT_TRUE(node->source) << name;
    const auto whole = test::ReadWhole(*node->source);
    ASSERT_THAT(whole, test::IsOk()) << name;
    EXPECT_TRUE(*whole == test::ReadFile(directory_ / (name + ".raw"))) << name;
  }
}

TEST_P(NetCdf3WrittenTest, CharactersThatAreNotAsciiAreLatin1) {
  const auto node = Load("/latin1");
  EXPECT_EQ(node->array().storage.charset, "iso-8859-1");
  EXPECT_EQ(node->array().type.charset(), model::Charset::kLatin1);
  EXPECT_EQ(node->source->spec().dtype.charset(), model::Charset::kLatin1);
  EXPECT_EQ(Load("/text")->array().storage.charset, "ascii");
}

TEST_P(NetCdf3WrittenTest, DimensionsAreLinkedToTheirCoordinates) {
  const auto node = Load("/rec_i2");
  const model::Ndarray& array = node->array();
  EXPECT_THAT(array.dimension_names, ElementsAre("time", "y", "x"));
  EXPECT_EQ(array.shape[0], (model::Dimension{std::nullopt, "/time"}));
  EXPECT_EQ(array.shape[1], (model::Dimension{3, "/y"}));
  EXPECT_EQ(array.shape[2], (model::Dimension{5, ""}));
  EXPECT_EQ(array.storage.shape, (std::vector<uint64_t>{300, 3, 5}));
  EXPECT_EQ(array.storage.endian, model::ByteOrder::kBig);
  EXPECT_EQ(array.storage.fillvalue, model::Value(77));
}

TEST_P(NetCdf3WrittenTest, CoordinateVariablesAreDimensionCoordinates) {
  const auto time = Load("/time");
  const auto* dimcoord = std::get_if<model::DimCoord>(&time->entity);
  ASSERT_NE(dimcoord, nullptr);
  EXPECT_EQ(dimcoord->size(), std::nullopt);
  EXPECT_EQ(dimcoord->storage.size, 300);
  EXPECT_EQ(dimcoord->attributes[0].name, "units");
  EXPECT_TRUE(std::holds_alternative<model::Ndarray>(Load("/fix_i1")->entity));
}

TEST_P(NetCdf3WrittenTest, DimensionsWithoutCoordinatesAreTheGroups) {
  const auto& group = std::get<model::Group>(Load("/")->entity);
  EXPECT_THAT(group.dimensions,
              ElementsAre(model::NamedDimension{"x", 5}, model::NamedDimension{"z", 7000}));
}

TEST_P(NetCdf3WrittenTest, AttributesKeepTypeAndOrder) {
  const auto attributes = Load("/")->attributes();
  ASSERT_EQ(attributes.size(), 4);
  EXPECT_EQ(attributes[0].value, model::Value("caf\u00e9"));
  EXPECT_EQ(attributes[1].value, model::Value(""));
  EXPECT_EQ(attributes[2].type, model::Datatype::Integer(2, true));
  EXPECT_EQ(attributes[2].shape, (std::vector<uint64_t>{3}));
  EXPECT_EQ(attributes[2].value, model::Value(model::Value::List{1, -2, 3}));
  EXPECT_EQ(attributes[3].value, model::Value(2.5));
  EXPECT_TRUE(attributes[3].shape.empty());
}

TEST_P(NetCdf3WrittenTest, ChangedFileIsReadAnew) {
  const auto before = hierarchy_->Version("/time").value();
  test::RunPython(
      "import netCDF4\n"
      "with netCDF4.Dataset('" +
      (directory_ / "a.nc") + "', 'a') as f: f['time'][300] = 75\n");
  EXPECT_NE(before, hierarchy_->Version("/time").value());
  EXPECT_EQ(Load("/time")->array().storage.size, 301);
}

TEST_P(NetCdf3WrittenTest, NodeIsTheSameAsLongAsTheFileIs) {
  EXPECT_EQ(Load("/y"), Load("/y"));
}

TEST_P(NetCdf3WrittenTest, WhatIsNotThereIsNotFound) {
  EXPECT_THAT(hierarchy_->Load("/nothing"),
              IsError(ErrorCode::kNotFound, HasSubstr("nothing")));
  EXPECT_THAT(hierarchy_->List("/time"), IsError(ErrorCode::kNotFound, HasSubstr("time")));
}

TEST_P(NetCdf3WrittenTest, TruncatedFileFailsWhereDataAreMissing) {
  const auto size = std::filesystem::file_size(directory_ / "a.nc");
  std::filesystem::resize_file(directory_ / "a.nc", size - 4000);
  const auto node = Load("/long_record");
  ASSERT_TRUE(node->source);
  EXPECT_THAT(test::ReadChunk(*node->source, {1, 0}), test::IsOk());
  EXPECT_THAT(test::ReadChunk(*node->source, {299, 0}),
              IsError(ErrorCode::kCorrupt, HasSubstr("expected 28000")));
}

INSTANTIATE_TEST_SUITE_P(Models, NetCdf3WrittenTest,
                         ::testing::Values("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET",
                                           "NETCDF3_64BIT_DATA"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NetCdf3SingleRecordTest, RecordsOfOneShortVariableAreNotPadded) {
  const test::TemporaryDirectory directory;
  test::RunPython(
      "import netCDF4, numpy as np\n"
      "with netCDF4.Dataset('" +
      (directory / "a.nc") +
      "', 'w', format='NETCDF3_CLASSIC') as f:\n"
      "    f.createDimension('t', None); f.createDimension('x', 3)\n"
      "    v = f.createVariable('v', 'i1', ('t', 'x'))\n"
      "    v[:] = np.arange(30).reshape(10, 3)\n");
  const auto root = LocalSource::Open(directory.path()).value();
  const auto hierarchy = NetCdf3Format().Open(root, "a.nc", {}).value();
  const auto node = hierarchy->Load("/v").value();
  EXPECT_TRUE(node->source->contiguous());
  std::string expected;
  for (char i = 0; i < 30; ++i) expected += i;
  EXPECT_THAT(test::ReadWhole(*node->source), test::IsOkAnd(expected));
}

// A file of two variables `name` without dimensions whose data begin at
// `begin`; those of the second at `second`, if given.
std::string FileWithVariable(const std::string& name, char begin, char second = 0) {
  std::string text(
      "CDF\1\0\0\0\0"
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\0\0\0"
      "\0\0\0\x0b\0\0\0\2",
      32);
  for (int i = 0; i < 2; ++i) {
    text += std::string("\0\0\0\1", 4) + name + std::string("\0\0\0", 3);
    text += std::string(
                "\0\0\0\0"
                "\0\0\0\0\0\0\0\0"
                "\0\0\0\4"
                "\0\0\0\4"
                "\0\0\0",
                23) +
            (i == 1 && second ? second : begin);
  }
  return text + std::string(100, '\1');
}

// What each of `names` is the name of: a dimension of its number and 1, a text,
// and a variable along the dimension.
std::string FileWithNames(const std::vector<std::string>& names) {
  const auto big = [](size_t n) { return std::string(3, '\0') + static_cast<char>(n); };
  const auto padded = [&](std::string name) {
    const std::string size = big(name.size());
    name.resize((name.size() + 3) / 4 * 4);
    return size + name;
  };
  std::string text = "CDF\1" + big(0) + big(10) + big(names.size());
  for (size_t i = 0; i < names.size(); ++i) text += padded(names[i]) + big(i + 1);
  text += big(12) + big(names.size());
  for (const auto& name : names) text += padded(name) + big(2) + padded("hi");
  text += big(11) + big(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    text += padded(names[i]) + big(1) + big(i) + big(0) + big(0) + big(1) + big(4) +
            std::string("\0\0\1", 3) + static_cast<char>(4 * i);
  }
  text.resize(256, '\0');
  for (size_t i = 0; i < names.size(); ++i) text += std::string(4, static_cast<char>('a' + i));
  return text;
}

TEST(NetCdf3NameTest, NamesThatHoldANulAreCutWithANote) {
  using namespace std::string_literals;
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithNames({"pp\0\0\0\0"s, "q"}));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(ElementsAre("pp", "q")));
  const auto root = hierarchy->Load("/").value();
  EXPECT_EQ(root->error, std::nullopt);
  EXPECT_EQ(root->attributes()[0].name, "pp");
  EXPECT_THAT(root->notes,
              ElementsAre(HasSubstr("3 names hold a NUL and are read as far as that, as "
                                    "netCDF-C does; the first is \"pp\"")));
  const auto node = hierarchy->Load("/pp").value();
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(node->entity));
  EXPECT_THAT(test::ReadWhole(*node->source), test::IsOkAnd("a"));
}

TEST(NetCdf3NameTest, OfNamesThatAreTheSameThenTheFirstIsShown) {
  using namespace std::string_literals;
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithNames({"v\0a"s, "v\0b"s}));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(ElementsAre("v")));
  const auto root = hierarchy->Load("/").value();
  EXPECT_EQ(root->attributes().size(), 1);
  ASSERT_TRUE(root->error);
  EXPECT_THAT(root->error->message(), HasSubstr("more than one variable \"v\""));
  // The other dimension of the name has no coordinates.
  EXPECT_THAT(std::get<model::Group>(root->entity).dimensions,
              ElementsAre(model::NamedDimension{"v", 2}));
}

TEST(NetCdf3HostileTest, DataInsideTheHeaderAreAnErrorOfTheVariable) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithVariable("v", '\x10'));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  const auto node = hierarchy->Load("/v").value();
  EXPECT_FALSE(node->source);
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("begin at byte 16, inside the header"));
}

TEST(NetCdf3HostileTest, DataBeyondTheEndAreAnErrorOfTheVariable) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithVariable("v", '\x7f', '\x7b').substr(0, 127));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  const auto node = hierarchy->Load("/v").value();
  EXPECT_FALSE(node->source);
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(),
              HasSubstr("at byte 127, beyond the end of the file at 127"));
}

TEST(NetCdf3HostileTest, AFileThatEndsBeforeAllDataHasNotBeenWrittenYet) {
  const std::string file = FileWithVariable("v", '\x78', '\x7c');
  for (const size_t size : {96, 99, 120}) {
    auto store = std::make_shared<test::MemoryStore>();
    store->Put("", file.substr(0, size));
    const auto hierarchy = netcdf3::Open([&] { return store; }).value();
    const auto node = hierarchy->Load("/v").value();
    ASSERT_TRUE(node->source) << node->error->message();
    EXPECT_FALSE(node->source->contiguous());
    EXPECT_THAT(test::ReadWhole(*node->source), test::IsOkAnd(std::string(4, '\0')));
  }
}

TEST(NetCdf3HostileTest, VariablesInOnePlaceAreNotOnesThatWaitToBeWritten) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithVariable("v", '\x78', '\x7a').substr(0, 120));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  const auto node = hierarchy->Load("/v").value();
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("beyond the end of the file at 120"));
}

TEST(NetCdf3HostileTest, AFileThatEndsWithinTheDataHasLostThem) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithVariable("v", '\x78').substr(0, 121));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  const auto node = hierarchy->Load("/v").value();
  ASSERT_TRUE(node->source);
  EXPECT_THAT(test::ReadWhole(*node->source),
              IsError(ErrorCode::kCorrupt, HasSubstr("1 bytes, expected 4")));
}

TEST(NetCdf3HostileTest, VariablesOfOneNameAreToldOf) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("", FileWithVariable("v", '\x70'));
  const auto hierarchy = netcdf3::Open([&] { return store; }).value();
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(ElementsAre("v")));
  EXPECT_FALSE(hierarchy->Load("/v").value()->error);
  EXPECT_THAT(hierarchy->Load("/").value()->error->message(),
              HasSubstr("more than one variable \"v\""));
}

TEST(NetCdf3ProbeTest, MagicAndNameDecide) {
  const Format& format = NetCdf3Format();
  EXPECT_TRUE(format.MatchesFileName("a.nc"));
  EXPECT_FALSE(format.MatchesFileName("a.npy"));
  EXPECT_TRUE(format.ProbeFile("a.nc", AsBytes("CDF\1")));
  EXPECT_FALSE(format.ProbeFile("a.nc", AsBytes("\x89HDF\r\n\x1a\n")));
}

}  // namespace
}  // namespace ndlfs::backends
