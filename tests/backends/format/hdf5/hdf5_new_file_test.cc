// SPDX-License-Identifier: MIT
//
// New files, as libhdf5 and netCDF-C read them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <map>

#include "backends/format/hdf5/hdf5.h"
#include "backends/format/hdf5/new_file.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/memory_hierarchy.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::Raw;
using ::testing::Each;
using ::testing::HasSubstr;
using Kind = NewObject::Kind;

std::vector<std::byte> BytesOf(std::string_view text) {
  const auto bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

NewObject Root() { return {}; }

NewObject Dataset(std::string name, Datatype type, std::vector<uint64_t> shape) {
  NewObject object;
  object.kind = Kind::kDataset;
  object.path = "/" + name;
  object.name = std::move(name);
  object.type = std::move(type);
  object.shape = std::move(shape);
  return object;
}

NewAttribute Text(std::string name, std::string_view text) {
  return {std::move(name),
          Datatype::FixedString(text.size(), model::Charset::kUtf8),
          {},
          BytesOf(text)};
}

class Hdf5NewFileTest : public ::testing::Test {
 protected:
  static model::Result<WrittenFile> Write(const NewFile& file) { return WriteNewFile(file); }

  // The file with `elements` in the room for each object, as new.h5.
  void Save(const WrittenFile& written, const std::map<size_t, std::string>& elements = {}) {
    std::string bytes(written.size, '\0');
    for (const auto& block : written.blocks) {
      std::memcpy(bytes.data() + block.offset, block.bytes.data(), block.bytes.size());
    }
    for (const auto& [object, text] : elements) {
      std::memcpy(bytes.data() + written.offsets.at(object), text.data(), text.size());
    }
    std::ofstream(directory_ / "new.h5", std::ios::binary) << bytes;
  }

  // Runs `script` with the file as f, by h5py.
  void Check(std::string_view script) {
    test::RunH5py(directory_,
                  "import h5py\nf = h5py.File('new.h5', 'r')\n" + std::string(script));
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Hdf5NewFileTest, ElementsGoWhereTheAnswerSays) {
  NewFile file;
  file.objects = {Root(), Dataset("a", Datatype::Integer(2, true), {3}),
                  Dataset("b", Datatype::Float64(), {2, 1})};
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->offsets[0], WrittenFile::kNowhere);
  EXPECT_EQ(written->offsets[1] % kDataAlignment, 0U);
  Save(*written,
       {{1, Raw(int16_t{-1}) + Raw(int16_t{2}) + Raw(int16_t{3})}, {2, Raw(0.5) + Raw(-7.0)}});
  Check(
      "assert f['a'].dtype == '<i2' and list(f['a'][:]) == [-1, 2, 3]\n"
      "assert f['b'][:].tolist() == [[0.5], [-7.0]]\n");
}

TEST_F(Hdf5NewFileTest, RoomForTerabytesTakesNoMemory) {
  NewFile file;
  file.objects = {Root(), Dataset("a", Datatype::Float64(), {uint64_t{1} << 40}),
                  Dataset("b", Datatype::Float64(), {uint64_t{1} << 40})};
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  EXPECT_GE(written->size, uint64_t{1} << 44);
  uint64_t metadata = 0;
  for (const auto& block : written->blocks) metadata += block.bytes.size();
  EXPECT_LT(metadata, 64U << 10);
}

TEST_F(Hdf5NewFileTest, EqualDescriptionsGiveEqualFiles) {
  NewFile file;
  file.objects = {Root(), Dataset("a", Datatype::Integer(1, true), {4})};
  file.objects[1].attributes = {Text("units", "m")};
  const auto first = Write(file);
  const auto second = Write(file);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  ASSERT_EQ(first->blocks.size(), second->blocks.size());
  for (size_t i = 0; i < first->blocks.size(); ++i) {
    EXPECT_EQ(first->blocks[i].bytes, second->blocks[i].bytes);
  }
}

TEST_F(Hdf5NewFileTest, ManyAttributesAndObjectsAreAllThere) {
  NewFile file;
  file.objects = {Root()};
  for (int i = 0; i < 300; ++i) {
    file.objects.push_back(Dataset("v" + std::to_string(i), Datatype::Integer(1, true), {4}));
    if (i % 100 != 0) continue;
    for (int a = 0; a < 200; ++a) {
      file.objects.back().attributes.push_back(
          Text("a" + std::to_string(a), std::string(1000, 'x')));
    }
    file.objects.back().attributes.push_back(Text("long", std::string(200'000, 'y')));
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert len(f) == 300\n"
      "for n in 'v0', 'v100', 'v200':\n"
      "  a = f[n].attrs\n"
      "  assert len(a) == 201 and all(len(a['a%d' % i]) == 1000 for i in range(200))\n"
      "  assert a['long'] == b'y' * 200000\n");
}

// So many that heaps have several blocks, and trees two levels.
TEST_F(Hdf5NewFileTest, ThousandsOfNamesAreFound) {
  NewFile file;
  file.objects = {Root(), Dataset("x", Datatype::Integer(1, true), {2})};
  for (int i = 0; i < 5000; ++i) {
    file.objects[1].attributes.push_back(Text("a" + std::to_string(i), std::to_string(i)));
  }
  for (int i = 0; i < 7000; ++i) {
    NewObject& link = file.objects.emplace_back();
    link.kind = Kind::kSoftLink;
    link.name = "l" + std::to_string(i);
    link.target = "/x";
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert len(f) == 7001 and len(list(f)) == 7001\n"
      "assert all(f.get('l%d' % i, getlink=True).path == '/x' for i in range(7000))\n"
      "assert len(f['x'].attrs) == 5000\n"
      "assert all(f['x'].attrs['a%d' % i] == b'%d' % i for i in range(0, 5000, 7))\n");
  const auto hierarchy = test::OpenHdf5(directory_, "new.h5");
  const auto names = hierarchy->List("/");
  ASSERT_THAT(names, IsOk());
  EXPECT_EQ(names->size(), 7001U);
  EXPECT_TRUE(hierarchy->GetLink("/l4321"));
  const auto node = test::LoadNode(*hierarchy, "/x");
  EXPECT_EQ(node->attributes().size(), 5000U);
}

TEST_F(Hdf5NewFileTest, RegionsAreThoseOfTheTarget) {
  NewFile file;
  file.objects = {Root(), Dataset("v", Datatype::Integer(2, true), {4, 5}),
                  Dataset("b", Datatype::RegionRef(Datatype::Selection::kBlock), {2}),
                  Dataset("e", Datatype::RegionRef(Datatype::Selection::kElement), {1})};
  file.objects[2].data =
      BytesOf(test::Counted(R"({"target": "/v", "start": [3, 1], "opposite": [1, 2]})") +
              test::Counted(R"({"target": "/v", "start": [3], "opposite": [1]})"));
  file.objects[3].data =
      BytesOf(test::Counted(R"({"target": "/v", "elements": [[0, 4], [3, 0]]})"));
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "block, wrong = f['b'][:]\n"
      "assert f[block].name == '/v' and not wrong\n"
      "assert h5py.h5r.get_region(block, f.id).get_select_bounds() == ((1, 1), (3, 2))\n"
      "elements = h5py.h5r.get_region(f['e'][0], f.id).get_select_elem_pointlist()\n"
      "assert elements.tolist() == [[0, 4], [3, 0]]\n");
}

TEST_F(Hdf5NewFileTest, ScalesAreDimensionsToNetcdf) {
  NewFile file;
  NewObject dimension;
  dimension.kind = Kind::kDimension;
  dimension.name = "y";
  dimension.shape = {2};
  file.objects = {Root(), Dataset("x", Datatype::Float32(), {3}), dimension,
                  Dataset("v", Datatype::Integer(4, true), {2, 3})};
  file.objects[1].is_scale = true;
  file.objects[3].scales = {2, 1};
  file.properties = "version=2,ndlfs=1";
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "import netCDF4\n"
      "assert f['v'].dims[1][0] == f['x'] and h5py.h5ds.is_scale(f['x'].id)\n"
      "assert len(f['x'].attrs['REFERENCE_LIST']) == 1\n"
      "n = netCDF4.Dataset('new.h5')\n"
      "assert n['v'].dimensions == ('y', 'x') and list(n.variables) == ['x', 'v']\n"
      "assert {k: len(d) for k, d in n.dimensions.items()} == {'x': 3, 'y': 2}\n");
}

TEST_F(Hdf5NewFileTest, ElementsOfVariableSizeAreWritten) {
  NewFile file;
  file.objects = {Root(), Dataset("s", Datatype::String(), {2}),
                  Dataset("v", Datatype::Vlen(Datatype::Integer(2, true)), {2}),
                  Dataset("r", Datatype::ObjectRef(), {2})};
  file.objects[1].data = BytesOf(test::Counted("h\xC3\xA9") + test::Counted(""));
  file.objects[2].data =
      BytesOf(Raw(uint32_t{2}) + Raw(int16_t{1}) + Raw(int16_t{2}) + Raw(uint32_t{0}));
  file.objects[3].data = BytesOf(test::Counted("/s") + test::Counted("/none"));
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(written->offsets, Each(WrittenFile::kNowhere));
  Save(*written);
  Check(
      "assert f['s'].asstr()[:].tolist() == ['h\\u00e9', '']\n"
      "assert [v.tolist() for v in f['v'][:]] == [[1, 2], []]\n"
      "assert f[f['r'][0]].name == '/s' and not f['r'][1]\n");
}

TEST_F(Hdf5NewFileTest, ArraysOfArraysAreOneForNetcdf) {
  const Datatype texts =
      Datatype::Array(Datatype::FixedString(5, model::Charset::kAscii), {2, 2});
  const Datatype numbers =
      Datatype::Array(Datatype::Array(Datatype::Integer(1, true), {2}), {3});
  const Datatype compound = Datatype::PackedCompound({{"t", texts, 0}, {"n", numbers, 20}});
  NewFile file;
  file.objects = {Root(), {}, Dataset("v", compound, {1})};
  file.objects[1].kind = Kind::kDatatype;
  file.objects[1].name = "compound";
  file.objects[1].type = compound;
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written, {{2, std::string("aaaaabbbbbcccccddddd\1\2\3\4\5\6", 26)}});
  Check(
      "import netCDF4\n"
      "n = netCDF4.Dataset('new.h5')['v'][:]\n"
      "assert n['t'].tobytes() == b'aaaaabbbbbcccccddddd', n\n"
      "assert n['n'].reshape(3, 2).tolist() == [[1, 2], [3, 4], [5, 6]], n\n");
}

TEST_F(Hdf5NewFileTest, TargetsThatTheFileLacksAreNamedOnce) {
  NewFile file;
  file.objects = {Root(), Dataset("r", Datatype::ObjectRef(), {4})};
  file.objects[1].data = BytesOf(test::Counted("/type") + test::Counted("") +
                                 test::Counted("/type") + test::Counted("/r"));
  file.left_out = "/a: a reason";
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert [bool(r) for r in f['r'][:]] == [False, False, False, True]\n"
      "left_out = f.attrs['ndlfs_left_out'].decode().split('\\n')\n"
      "assert left_out == ['/a: a reason', '/type: references to it are null'], left_out\n");
}

TEST_F(Hdf5NewFileTest, EveryTypeOfFixedSizeHasItsLayout) {
  const Datatype compound =
      Datatype::Compound({{"i", Datatype::Integer(2, false), 3},
                          {"t", Datatype::FixedString(4, model::Charset::kAscii), 8}},
                         16);
  const std::vector<std::pair<Datatype, std::string>> types = {
      {Datatype::Integer(8, false), "d.dtype == '<u8'"},
      {*Datatype::FromKeyword("float16"), "d.dtype == '<f2'"},
      {*Datatype::FromKeyword("bfloat16"),
       "d.dtype.kind == 'f' and d.id.get_type().get_size() == 2"},
      {*Datatype::FromKeyword("float8_e4m3"), "d.dtype == 'V1'"},
      {Datatype::Bool(), "d.dtype == 'bool'"},
      {Datatype::Complex(16), "d.dtype == 'c16'"},
      {Datatype::Opaque(5, "tag"), "d.dtype == 'V5'"},
      {compound,
       "d.dtype.itemsize == 16 and d.dtype.fields['i'][1] == 3 and d.dtype['t'].shape == (4,)"},
      {Datatype::Enum(Datatype::Integer(4, true), {{"UP", -1}, {"DOWN", 7}}),
       "h5py.check_enum_dtype(d.dtype) == {'UP': -1, 'DOWN': 7}"},
  };
  NewFile file;
  file.objects = {Root()};
  std::string script;
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string name = "d" + std::to_string(i);
    file.objects.push_back(Dataset(name, types[i].first, {2}));
    script += "d = f['" + name + "']\nassert " + types[i].second + ", d.dtype\n";
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(script);
}

TEST_F(Hdf5NewFileTest, FillValuesAreThatOfTheDataset) {
  NewFile file;
  file.objects = {Root(), Dataset("a", Datatype::Integer(2, true), {3})};
  file.objects[1].fill = BytesOf(Raw(int16_t{-9}));
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check("assert f['a'].fillvalue == -9\n");
}

TEST_F(Hdf5NewFileTest, AFillValueThatAHeaderHasNoRoomForIsLeftOut) {
  NewFile file;
  file.objects = {Root()};
  for (const size_t size : {65529, 65530}) {
    file.objects.push_back(Dataset(fmt::format("d{}", size), Datatype::Opaque(size), {2}));
    file.objects.back().fill = std::vector<std::byte>(size, std::byte{7});
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert f['d65529'].fillvalue.tobytes() == b'\\7' * 65529 and f['d65530'].shape == (2,)\n"
      "assert f['d65530'].fillvalue.tobytes() == bytes(65530) and len(f.attrs) == 0\n");
}

// A program in C that asks for text with an end would lose the last character otherwise.
TEST_F(Hdf5NewFileTest, TextWithoutAnEndOfItsOwnIsPadded) {
  NewFile file;
  file.objects = {Root()};
  for (const auto& [name, text] :
       {std::pair("full", std::string("abc")), std::pair("ended", std::string("abc\0", 4)),
        std::pair("inside", std::string("a\0c\0", 4)), std::pair("empty", std::string())}) {
    file.objects[0].attributes.push_back(Text(name, text));
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "pads = {n: f.attrs.get_id(n).get_type().get_strpad() for n in f.attrs}\n"
      "T, P = h5.h5t.STR_NULLTERM, h5.h5t.STR_NULLPAD\n"
      "assert pads == {'full': P, 'ended': T, 'inside': P, 'empty': T}, pads\n"
      "assert f.attrs['full'] == b'abc' and f.attrs['inside'] == b'a\\0c', dict(f.attrs)\n"
      "import netCDF4\n"
      "assert netCDF4.Dataset('new.h5').full == 'abc'\n");
}

TEST_F(Hdf5NewFileTest, DatasetsThatAreAlikeButForTheirFillValuesKeepThem) {
  NewFile file;
  file.objects = {Root()};
  for (int16_t i = 0; i < 60; ++i) {
    const auto value = static_cast<int16_t>(i % 20);
    file.objects.push_back(Dataset("v" + std::to_string(i), Datatype::Integer(2, true), {1}));
    if (value != 0) file.objects.back().fill = BytesOf(Raw(value));
  }
  for (const auto& [name, type] :
       {std::pair("f", Datatype::Float32()), std::pair("i", Datatype::Integer(4, true))}) {
    file.objects.push_back(Dataset(name, type, {1}));
    file.objects.back().fill = BytesOf(Raw(1.0F));
  }
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert [f['v%d' % i].fillvalue for i in range(60)] == 3 * list(range(20))\n"
      "assert f['f'].fillvalue == 1 and f['i'].fillvalue == 0x3f800000\n");
}

TEST_F(Hdf5NewFileTest, WhatHdf5DoesNotHaveIsLeftOutWithAReason) {
  NewFile file;
  const Datatype overlap = Datatype::Compound(
      {{"a", Datatype::Integer(4, true), 0}, {"b", Datatype::Integer(4, true), 2}}, 8);
  file.objects = {Root(), Dataset("bad", overlap, {2}), Dataset("nul", Datatype::String(), {1}),
                  Dataset("good", Datatype::Integer(1, true), {2})};
  file.objects[2].data = BytesOf(test::Counted(std::string("a\0b", 3)));
  file.left_out = "/gone: a reason";
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  EXPECT_EQ(written->offsets[1], WrittenFile::kNowhere);
  Save(*written);
  Check(
      "assert list(f) == ['good']\n"
      "left = f.attrs['ndlfs_left_out'].decode().split('\\n')\n"
      "assert left[0] == '/gone: a reason' and left[1].startswith('/bad: '), left\n"
      "assert left[2] == '/nul: text with a NUL', left\n");
}

// An attribute has 16 bits for the length of its name, and of its type.
TEST_F(Hdf5NewFileTest, AttributesOfLongNamesAndTypesAreLeftOut) {
  std::vector<Datatype::Member> members;
  for (size_t i = 0; i < 8000; ++i) {
    members.push_back({fmt::format("m{}", i), Datatype::Integer(1, true), i});
  }
  NewFile file;
  file.objects = {Root(), Dataset("x", Datatype::Integer(1, true), {2})};
  for (int i = 0; i < 40; ++i)
    file.objects[1].attributes.push_back(Text(fmt::format("a{}", i), "b"));
  file.objects[1].attributes.push_back(Text(std::string(65534, 'n'), "fits"));
  file.objects[1].attributes.push_back(Text(std::string(65535, 'o'), "b"));
  file.objects[1].attributes.push_back(
      {"t", Datatype::Compound(std::move(members), 8000), {}, std::vector<std::byte>(8000)});
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check(
      "assert len(f['x'].attrs) == 41 and f['x'].attrs['n' * 65534] == b'fits'\n"
      "left = f.attrs['ndlfs_left_out'].decode().split('\\n')\n"
      "assert len(left) == 2 and all('64 KiB' in l for l in left), left\n");
}

TEST_F(Hdf5NewFileTest, DescriptionsThatContradictThemselvesAreRefused) {
  const auto refuses = [](const std::function<void(NewFile&)>& spoil) {
    NewFile file;
    file.objects = {Root(), Dataset("a", Datatype::Integer(2, true), {3})};
    spoil(file);
    EXPECT_THAT(Write(file), IsError(ErrorCode::kBadInput, HasSubstr("")));
  };
  refuses([](NewFile& file) { file.objects.clear(); });
  refuses([](NewFile& file) { file.objects[1].parent = 1; });
  refuses([](NewFile& file) { file.objects[1].parent = 77; });
  refuses([](NewFile& file) { file.objects[1].name = "a/b"; });
  refuses([](NewFile& file) { file.objects[1].name = std::string("a\0b", 3); });
  refuses([](NewFile& file) { file.objects[1].name = ""; });
  refuses([](NewFile& file) { file.objects[1].scales = {0}; });
  refuses([](NewFile& file) { file.objects[1].scales = {1}; });
  refuses([](NewFile& file) { file.objects[1].scales = {9}; });
  refuses([](NewFile& file) { file.objects[1].scales = {1, 1}; });
  refuses([](NewFile& file) {
    file.objects[1].shape = {uint64_t{1} << 40, uint64_t{1} << 40};
  });
}

TEST_F(Hdf5NewFileTest, FilesBeyondAllSizesAreRefused) {
  NewFile file;
  file.objects = {Root(), Dataset("a", Datatype::Integer(1, true), {uint64_t{1} << 62}),
                  Dataset("b", Datatype::Integer(1, true), {uint64_t{1} << 62})};
  EXPECT_THAT(Write(file), IsError(ErrorCode::kLimit, HasSubstr("bytes")));
}

TEST_F(Hdf5NewFileTest, ElementsOfTheWrongLengthAreLeftOut) {
  for (const std::string& data :
       {std::string(), Raw(uint32_t{1'000'000'000}), test::Counted("a") + test::Counted("b")}) {
    NewFile file;
    file.objects = {Root(), Dataset("s", Datatype::String(), {1})};
    file.objects[1].data = BytesOf(data);
    const auto written = Write(file);
    ASSERT_THAT(written, IsOk());
    Save(*written);
    Check("assert list(f) == [] and f.attrs['ndlfs_left_out'].startswith(b'/s: ')\n");
  }
}

TEST_F(Hdf5NewFileTest, AVlenThatClaimsMoreThanThereIsTakesNoMemory) {
  NewFile file;
  file.objects = {Root(), Dataset("v", Datatype::Vlen(Datatype::Float64()), {1})};
  file.objects[1].data = BytesOf(Raw(uint32_t{0xFFFFFFFF}) + Raw(1.0));
  const auto written = Write(file);
  ASSERT_THAT(written, IsOk());
  Save(*written);
  Check("assert list(f) == []\n");
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
