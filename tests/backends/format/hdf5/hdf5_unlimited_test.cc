// SPDX-License-Identifier: MIT
//
// Unlimited dimensions of netCDF-4, of which variables are stored with fewer
// records than there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backends/base/element_stream.h"
#include "backends/format/hdf5/padded_source.h"
#include "backends/format/hdf5/partial_chunk.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using test::IsOk;
using test::IsOkAnd;
using test::LoadNode;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kWriter = R"(
import netCDF4
with netCDF4.Dataset('a.nc', 'w') as f:
    for name, size in (('t', None), ('u', None), ('x', 2), ('none', None)): f.createDimension(name, size)
    f.createVariable('t', 'f8', ('t',))[:] = [1, 2]
    f.createVariable('long', 'i4', ('t',), chunksizes=(2,))[:] = np.arange(5)
    f.createVariable('short', 'i2', ('t', 'x'), chunksizes=(2, 2), zlib=True, fill_value=-9)[0:3] = np.arange(6).reshape(3, 2)
    f.createVariable('never', 'u1', ('t', 'x'))
    f.createVariable('nofill', 'i8', ('t',), chunksizes=(4,), fill_value=False)[0:2] = [7, 8]
    f.createVariable('two', 'i1', ('t', 'u'), chunksizes=(2, 3))[0:1, 0:2] = [[1, 2]]
    f.createVariable('other', 'i1', ('u',))[0:4] = 1
    f.createVariable('empty', 'f4', ('none',))
    f.createVariable('text', str, ('t',))[0] = 'one'
    f.createVariable('char', 'S1', ('t',))[0] = 'c'
    e = f.createEnumType('i1', 'e_t', {'a': 1})
    f.createVariable('enum', e, ('t',), fill_value=1)[0] = 1
    st = np.dtype([('a', 'i4'), ('b', 'f8')]); c = f.createCompoundType(st, 'c_t')
    f.createVariable('compound', c, ('t',))[0] = np.array((1, 2.), st)
    g = f.createGroup('g'); g.createVariable('inside', 'f4', ('t', 'x'))[0:7] = 3
    # The same name, another dimension.
    h = g.createGroup('h'); h.createDimension('t', None); h.createVariable('own', 'i4', ('t',))[0:3] = 4
)";

template <typename T>
std::string BytesOf(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

class UnlimitedTest : public ::testing::Test {
 protected:
  explicit UnlimitedTest(std::string_view script = kWriter) {
    test::RunH5py(directory_, script);
    hierarchy_ = test::OpenHdf5(directory_, "a.nc");
  }
  std::vector<uint64_t> Shape(std::string_view path) {
    return LoadNode(*hierarchy_, path)->source->spec().shape;
  }
  model::Result<std::string> Read(std::string_view path) {
    return test::ReadWhole(*LoadNode(*hierarchy_, path)->source);
  }
  test::TemporaryDirectory directory_;
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(UnlimitedTest, DimensionsAreAsLongAsTheirLongestVariable) {
  using Shape = std::vector<uint64_t>;
  EXPECT_EQ(this->Shape("/t"), Shape{7});
  EXPECT_EQ(this->Shape("/long"), Shape{7});
  EXPECT_EQ(this->Shape("/short"), (Shape{7, 2}));
  EXPECT_EQ(this->Shape("/never"), (Shape{7, 2}));
  EXPECT_EQ(this->Shape("/two"), (Shape{7, 4}));
  EXPECT_EQ(this->Shape("/empty"), Shape{0});
  EXPECT_EQ(this->Shape("/text"), Shape{7});
  EXPECT_EQ(this->Shape("/g/inside"), (Shape{7, 2}));
  EXPECT_EQ(this->Shape("/g/h/own"), Shape{3});
}

TEST_F(UnlimitedTest, WhatIsStoredIsToldAsStorage) {
  const auto coordinate = LoadNode(*hierarchy_, "/t");
  ASSERT_TRUE(std::holds_alternative<model::DimCoord>(coordinate->entity));
  EXPECT_EQ(coordinate->array().shape[0], model::Dimension{});
  EXPECT_EQ(coordinate->array().storage.size, 2);
  const auto never = LoadNode(*hierarchy_, "/never");
  EXPECT_THAT(never->array().shape,
              ElementsAre(model::Dimension{std::nullopt, "/t"}, model::Dimension{2, ""}));
  EXPECT_EQ(never->array().storage.shape, (std::vector<uint64_t>{0, 2}));
  EXPECT_EQ(never->array().storage.fillvalue, model::Value(255));
  const auto nofill = LoadNode(*hierarchy_, "/nofill");
  EXPECT_EQ(nofill->array().storage.fillvalue, model::Value(INT64_MIN + 2));
}

TEST_F(UnlimitedTest, FillValuesFollowWhatIsStored) {
  const double fill = 9.9692099683868690e+36;
  EXPECT_THAT(Read("/t"), IsOkAnd(BytesOf<double>({1, 2, fill, fill, fill, fill, fill})));
  constexpr int kInt = -2147483647;
  EXPECT_THAT(Read("/long"), IsOkAnd(BytesOf<int>({0, 1, 2, 3, 4, kInt, kInt})));
  EXPECT_THAT(Read("/short"),
              IsOkAnd(BytesOf<int16_t>({0, 1, 2, 3, 4, 5, -9, -9, -9, -9, -9, -9, -9, -9})));
  EXPECT_THAT(Read("/never"), IsOkAnd(std::string(14, '\xff')));
  EXPECT_THAT(Read("/char"), IsOkAnd(std::string("c\0\0\0\0\0\0", 7)));
  EXPECT_THAT(Read("/enum"), IsOkAnd(std::string(7, '\1')));
  const std::string compound = Read("/compound").value();
  ASSERT_EQ(compound.size(), 7 * 16);
  EXPECT_EQ(compound.substr(0, 4), BytesOf<int>({1}));
  EXPECT_EQ(compound.substr(8, 8), BytesOf<double>({2}));
  EXPECT_EQ(compound.substr(16), std::string(6 * 16, '\0'));
}

// netCDF-C shows its own fill value there, also where the file has none.
TEST_F(UnlimitedTest, VariablesWithoutAFillValueHaveThatOfTheirType) {
  constexpr int64_t kFill = INT64_MIN + 2;
  EXPECT_THAT(Read("/nofill"),
              IsOkAnd(BytesOf<int64_t>({7, 8, kFill, kFill, kFill, kFill, kFill})));
}

TEST_F(UnlimitedTest, SeveralUnlimitedDimensionsAreFilledEach) {
  std::string expected(28, '\x81');
  expected[0] = 1;
  expected[1] = 2;
  EXPECT_THAT(Read("/two"), IsOkAnd(expected));
}

TEST_F(UnlimitedTest, TextIsEmptyWhereNoneIsStored) {
  const auto node = LoadNode(*hierarchy_, "/text");
  const ArraySpec& spec = node->source->spec();
  std::vector<std::string> texts;
  test::PlainIndexCache indexes;
  for (uint64_t i = 0; i < spec.grid.counts()[0]; ++i) {
    const auto location = node->source->Locate(std::vector<uint64_t>{i}, indexes);
    ASSERT_THAT(location, IsOk());
    const uint64_t count = spec.grid.Extent(0, i);
    if (location->absent()) {
      texts.resize(texts.size() + count);
      continue;
    }
    const auto chunk = location->generate(1 << 20);
    ASSERT_THAT(chunk, IsOk());
    const auto table = ElementTable::Make(chunk->span(), count);
    ASSERT_THAT(table, IsOk());
    for (uint64_t j = 0; j < count; ++j) {
      ConstByteSpan element = (*table)[j];
      texts.emplace_back(TakeText(element).value());
    }
  }
  texts.resize(7);
  EXPECT_EQ(texts.front(), "one");
  texts.erase(texts.begin());
  EXPECT_THAT(texts, Each(""));
}

// Scales of HDF5 that netCDF-C did not write, as it reads them.
constexpr std::string_view kScales = R"(
with h5.File('a.nc', 'w') as f:
    def make(where, name, shape, **more):
        d = where.create_dataset(name, shape, 'i4', **more); d[...] = 1; return d
    t = make(f, 't', (2,), maxshape=(None,)); t.make_scale('t')
    x = make(f, 'x', (4,)); x.make_scale('x')
    for name, shape, more in (('fixed', (6,), {}), ('own_fill', (1,), {'maxshape': (None,), 'fillvalue': -7})):
        make(f, name, shape, **more).dims[0].attach_scale(t)
    f['own_fill'].attrs['_FillValue'] = np.int32(-5)
    # As long as it is: its scale is not unlimited, or not all dimensions have one, or netCDF-C does not look there.
    make(f, 'shorter', (2,)).dims[0].attach_scale(x)
    make(f, 'partly', (3, 2)).dims[0].attach_scale(t)
    g = f.create_group('g'); s = make(g, 's', (5,), maxshape=(None,)); s.make_scale('s')
    make(f, 'above', (3,)).dims[0].attach_scale(s)
    make(f, 'plain', (3,), maxshape=(None,))
)";

class ForeignScalesTest : public UnlimitedTest {
 protected:
  ForeignScalesTest() : UnlimitedTest(kScales) {}
};

TEST_F(ForeignScalesTest, AreReadAsNetCdfDoes) {
  constexpr int kFill = -2147483647;
  EXPECT_THAT(Read("/t"), IsOkAnd(BytesOf<int>({1, 1, kFill, kFill, kFill, kFill})));
  EXPECT_THAT(Read("/own_fill"), IsOkAnd(BytesOf<int>({1, -7, -7, -7, -7, -7})))
      << "the fill value of the dataset, not the attribute";
  EXPECT_EQ(LoadNode(*hierarchy_, "/fixed")->array().shape[0],
            (model::Dimension{std::nullopt, "/t"}));
}

TEST_F(ForeignScalesTest, OtherwiseStayAsTheyAre) {
  EXPECT_EQ(Shape("/shorter"), std::vector<uint64_t>{2});
  EXPECT_EQ(Shape("/partly"), (std::vector<uint64_t>{3, 2}));
  EXPECT_EQ(Shape("/above"), std::vector<uint64_t>{3});
  EXPECT_EQ(Shape("/plain"), std::vector<uint64_t>{3});
  EXPECT_EQ(Shape("/g/s"), std::vector<uint64_t>{5});
}

constexpr std::string_view kPartlyLonger = R"(
with h5.File('a.nc', 'w') as f:
    def make(name, shape, **more):
        d = f.create_dataset(name, shape, 'i4', **more); d[...] = 1; return d
    t = make('t', (2,), maxshape=(None,)); t.make_scale('t')
    make('short', (1,), maxshape=(None,)).dims[0].attach_scale(t)
    make('partly', (9, 2)).dims[0].attach_scale(t)
    g = f.create_group('g'); f.create_dataset('g/x', (2,), 'i4').make_scale('x')
    above = make('above', (8, 2)); above.dims[0].attach_scale(t); above.dims[1].attach_scale(f['g/x'])
)";

class PartlyScaledTest : public UnlimitedTest {
 protected:
  PartlyScaledTest() : UnlimitedTest(kPartlyLonger) {}
};

TEST_F(PartlyScaledTest, VariablesWithoutAllTheirDimensionsDoNotCount) {
  EXPECT_EQ(Shape("/t"), std::vector<uint64_t>{2});
  EXPECT_EQ(Shape("/short"), std::vector<uint64_t>{2});
  EXPECT_EQ(Shape("/partly"), (std::vector<uint64_t>{9, 2}));
  EXPECT_EQ(Shape("/above"), (std::vector<uint64_t>{8, 2}));
  EXPECT_THAT(LoadNode(*hierarchy_, "/short")->notes, IsEmpty());
}

constexpr std::string_view kBroken = R"(
with h5.File('a.nc', 'w') as f:
    t = f.create_dataset('t', (2,), 'i4', maxshape=(None,)); t.make_scale('t')
    f.create_dataset('short', (1,), 'i4', maxshape=(None,)).dims[0].attach_scale(t)
    f.create_dataset('plain', (1,), 'i4')
    address = h5.h5o.get_info(f.create_group('broken').id).addr
with open('a.nc', 'r+b') as f:
    f.seek(address); f.write(bytes([255] * 16))
)";

class BrokenObjectTest : public UnlimitedTest {
 protected:
  BrokenObjectTest() : UnlimitedTest(kBroken) {}
};

TEST_F(BrokenObjectTest, RecordsThatItMayHaveAreNoted) {
  EXPECT_EQ(Shape("/short"), std::vector<uint64_t>{2});
  const auto is_noted = ElementsAre(HasSubstr("an object of the file cannot be read"));
  EXPECT_THAT(LoadNode(*hierarchy_, "/short")->notes, is_noted);
  EXPECT_THAT(LoadNode(*hierarchy_, "/t")->notes, is_noted);
  EXPECT_THAT(LoadNode(*hierarchy_, "/plain")->notes, IsEmpty());
}

constexpr std::string_view kManyObjects = R"(
with h5.File('a.nc', 'w', libver='latest') as f:
    t = f.create_dataset('t', (2,), 'i4', maxshape=(None,)); t.make_scale('t')
    f.create_dataset('short', (1,), 'i4', maxshape=(None,)).dims[0].attach_scale(t)
    f.create_dataset('partly', (1, 2), 'i4').dims[0].attach_scale(t)
    many = f.create_group('many').id
    for i in range(100_000): h5.h5g.create(many, b'%d' % i)
)";

class ManyObjectsTest : public UnlimitedTest {
 protected:
  ManyObjectsTest() : UnlimitedTest(kManyObjects) {}
};

TEST_F(ManyObjectsTest, DatasetsAreDescribedAsTheyAreStored) {
  EXPECT_EQ(Shape("/short"), std::vector<uint64_t>{1});
  EXPECT_THAT(LoadNode(*hierarchy_, "/short")->notes,
              ElementsAre(HasSubstr("only known in files of up to 100000 objects")));
  EXPECT_EQ(Shape("/partly"), (std::vector<uint64_t>{1, 2}));
  EXPECT_THAT(LoadNode(*hierarchy_, "/partly")->notes, IsEmpty());
}

// --- The pieces

TEST(NetCdfFillTest, IsTheOneOfTheType) {
  const auto fill = [](const Datatype& type) {
    return model::DecodeElement(type, hdf5::NetCdfFill(type)).value();
  };
  EXPECT_EQ(fill(Datatype::Integer(1, true)), model::Value(-127));
  EXPECT_EQ(fill(Datatype::Integer(1, false)), model::Value(255));
  EXPECT_EQ(fill(Datatype::Integer(2, true)), model::Value(-32767));
  EXPECT_EQ(fill(Datatype::Integer(2, false)), model::Value(65535));
  EXPECT_EQ(fill(Datatype::Integer(4, true)), model::Value(-2147483647));
  EXPECT_EQ(fill(Datatype::Integer(4, false)), model::Value(4294967295));
  EXPECT_EQ(fill(Datatype::Integer(8, true)), model::Value(INT64_MIN + 2));
  EXPECT_EQ(fill(Datatype::Integer(8, false)), model::Value(UINT64_MAX - 1));
}

TEST(CompleteChunkTest, WhatIsStoredKeepsItsPlace) {
  const Datatype type = Datatype::Integer(1, false);
  const std::vector<std::byte> fill = {std::byte{'f'}};
  const hdf5::StoredPart part{{2, 3}, {1, 2}, {std::byte{'a'}}};
  const auto complete = [&](std::vector<uint64_t> shape, std::string_view stored) {
    const auto chunk =
        hdf5::CompleteChunk(type, part, shape, fill, Bytes::Copy(AsBytes(stored)), 1 << 20);
    return chunk ? std::string(AsText(chunk->span())) : chunk.error().message();
  };
  EXPECT_EQ(complete({2, 3}, "123456"), "12ffff");
  EXPECT_EQ(complete({3, 4}, "123456"), "12ffffffffff");
  EXPECT_EQ(complete({2, 3}, ""), "aaffff");
  EXPECT_THAT(complete({1, 1}, "123456"), HasSubstr("larger than its chunk"));
  EXPECT_THAT(complete({2, 3}, "12345"), HasSubstr("5 bytes, expected 6"));
  EXPECT_THAT(complete({6}, "123456"), HasSubstr("another rank"));
}

}  // namespace
}  // namespace ndlfs::backends
