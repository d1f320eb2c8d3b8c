// SPDX-License-Identifier: MIT
//
// HDF5 files as hierarchies: links, attributes, references, external files,
// virtual datasets, changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backends/base/element_stream.h"
#include "backends/format/source_notes.h"
#include "backends/store/local/local_source.h"
#include "model/ndl/ndl_writer.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::LoadNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Hdf5HierarchyTest : public ::testing::Test {
 protected:
  void Write(std::string_view script, const std::string& name = "a.h5") {
    test::RunH5py(directory_, script);
    hierarchy_ = test::OpenHdf5(directory_, name);
  }
  std::string LinkAt(std::string_view path) {
    const auto link = hierarchy_->GetLink(path);
    return link ? link->target : "no link";
  }
  const model::Attribute& Attribute(const Node& node, std::string_view name) {
    for (const auto& attribute : node.attributes()) {
      if (attribute.name == name) return attribute;
    }
    ADD_FAILURE() << "no attribute " << name;
    static const model::Attribute none;
    return none;
  }
  // The elements of variable size of a small array.
  model::Result<std::vector<model::Value>> ReadVariable(const ArraySource& source) {
    NDLFS_TRY(const auto chunk,
              test::ReadChunk(source, std::vector<uint64_t>(source.spec().grid.rank())));
    const uint64_t count = *CheckedProduct(source.spec().shape);
    NDLFS_TRY(const auto table, ElementTable::Make(AsBytes(chunk), count));
    std::vector<model::Value> values;
    for (uint64_t i = 0; i < count; ++i) {
      ConstByteSpan element = table[i];
      NDLFS_TRY(auto value, TakeElement(source.spec().dtype, element));
      values.push_back(std::move(value));
    }
    return values;
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_F(Hdf5HierarchyTest, GroupsHaveSortedChildrenWithoutDatatypes) {
  Write(R"(
for v in ('earliest', 'latest'):
    with h5.File(v + '.h5', 'w', libver=v) as f:
        for n in ('b', 'a', 'Z', '\u00e9', 'c'): f[n] = 1
        f['type'] = np.dtype('i4'); f.create_group('g/h')
)",
        "earliest.h5");
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("Z", "a", "b", "c", "g", "\u00e9")));
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(ElementsAre("h")));
  EXPECT_THAT(hierarchy_->List("/g/h"), IsOkAnd(IsEmpty()));
  EXPECT_TRUE(LoadNode(*hierarchy_, "/g")->is_group());
  EXPECT_THAT(hierarchy_->Load("/type"), IsError(ErrorCode::kNotFound, HasSubstr("datatype")));
  EXPECT_THAT(hierarchy_->Load("/no"), IsError(ErrorCode::kNotFound, HasSubstr("/no")));
  EXPECT_THAT(test::OpenHdf5(directory_, "latest.h5")->List("/"),
              IsOkAnd(ElementsAre("Z", "a", "b", "c", "g", "\u00e9")));
}

TEST_F(Hdf5HierarchyTest, LinksHaveTheirTargets) {
  Write(R"(
os.mkdir('sub')
with h5.File('sub/a.h5', 'w') as f:
    g = f.create_group('g'); g['x'] = 1
    g['absolute'] = h5.SoftLink('/g/x'); g['relative'] = h5.SoftLink('./x'); f['dangling'] = h5.SoftLink('no/where')
    f['beside'] = h5.ExternalLink('b.h5', '/p%/q'); f['above'] = h5.ExternalLink('../c.h5', '/')
    f['itself'] = h5.ExternalLink('a.h5', '/g'); f['outside'] = h5.ExternalLink('/etc/c.h5', '/y')
    f['root'] = h5.ExternalLink(os.path.abspath('c.h5'), '/y')
    f['hard'] = g['x']; g['back'] = f['/']; f['again'] = g
)",
        "sub/a.h5");
  EXPECT_EQ(LinkAt("/g/absolute"), "/g/x");
  EXPECT_EQ(LinkAt("/g/relative"), "/g/x");
  EXPECT_EQ(LinkAt("/dangling"), "/no/where");
  EXPECT_EQ(LinkAt("/beside"), "../../sub/b.h5/p%/q");
  EXPECT_EQ(LinkAt("/above"), "../../c.h5");
  EXPECT_EQ(LinkAt("/root"), "../../c.h5/y");
  EXPECT_EQ(LinkAt("/itself"), "/g");
  EXPECT_THAT(LinkAt("/outside"), HasSubstr("../../../"));
  EXPECT_EQ(LinkAt("/g/back"), "/");
  EXPECT_EQ(LinkAt("/g/x"), "/hard");
  EXPECT_EQ(LinkAt("/hard"), "no link");
  EXPECT_EQ(LinkAt("/g"), "/again");
  EXPECT_EQ(LinkAt("/"), "no link");
  // The same from a listing.
  ASSERT_THAT(hierarchy_->List("/"), IsOk());
  EXPECT_EQ(LinkAt("/beside"), "../../sub/b.h5/p%/q");
  EXPECT_EQ(LinkAt("/hard"), "no link");
}

TEST_F(Hdf5HierarchyTest, LinksInALoopAreErrors) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    f['self'] = h5.SoftLink('/self'); f['a'] = h5.SoftLink('/b'); f['b'] = h5.SoftLink('/a/x')
    f['other'] = h5.ExternalLink('b.h5', '/back')
    f['fine'] = h5.SoftLink('/group/x'); f['group'] = h5.SoftLink('/g'); f['g/x'] = 1
with h5.File('b.h5', 'w') as f: f['back'] = h5.ExternalLink('a.h5', '/other')
)");
  for (const char* path : {"/self", "/a", "/b", "/other"}) {
    EXPECT_EQ(LinkAt(path), "no link") << path;
    EXPECT_THAT(hierarchy_->Load(path),
                IsError(ErrorCode::kUnsupported, HasSubstr("a link to")));
  }
  EXPECT_EQ(LinkAt("/fine"), "/group/x");
}

TEST_F(Hdf5HierarchyTest, AttributesOfAllTypes) {
  Write(R"(
with h5.File('a.h5', 'w', track_order=True) as f:
    a = f.attrs
    a['z'] = 'caf\u00e9'; a['fixed'] = np.bytes_('abc'); a['int'] = np.int16(-3); a['floats'] = [[1.5, 2], [3, 4]]
    a['words'] = ['a', 'b', '']; a['bool'] = True; a['empty'] = h5.Empty('f4')
    a['object'] = f.create_group('g').ref; a['struct'] = np.array((1, b'x'), 'i4,S2')
    d = f.create_dataset('d', (3, 4), 'i4')
    a['block'] = d.regionref[1:3, 0:2]; a['points'] = d.regionref[:, [0, 2]]
    a.create('null', h5.h5r.Reference(), dtype=h5.ref_dtype)
    v = np.empty(1, object); v[0] = np.arange(3, dtype='i4'); a.create('vlen', v, (1,), h5.vlen_dtype('i4'))
)");
  const auto node = LoadNode(*hierarchy_, "/");
  ASSERT_FALSE(node->error);
  std::vector<std::string> names;
  for (const auto& attribute : node->attributes()) names.push_back(attribute.name);
  EXPECT_THAT(names, ElementsAre("z", "fixed", "int", "floats", "words", "bool", "empty",
                                 "object", "struct", "block", "points", "null", "vlen"));
  EXPECT_EQ(Attribute(*node, "z").value, model::Value("caf\u00e9"));
  EXPECT_EQ(Attribute(*node, "fixed").value, model::Value("abc"));
  EXPECT_EQ(Attribute(*node, "int").type, Datatype::Integer(2, true));
  EXPECT_EQ(Attribute(*node, "floats").value,
            model::Value(model::Value::List{model::Value(model::Value::List{1.5, 2.0}),
                                            model::Value(model::Value::List{3.0, 4.0})}));
  EXPECT_EQ(Attribute(*node, "words").value, model::Value(model::Value::List{"a", "b", ""}));
  EXPECT_EQ(Attribute(*node, "bool").value, model::Value("TRUE"));
  EXPECT_EQ(Attribute(*node, "empty").shape, (std::vector<uint64_t>{0}));
  EXPECT_EQ(Attribute(*node, "object").value, model::Value("/g"));
  EXPECT_EQ(
      Attribute(*node, "struct").value,
      model::Value(model::Value::Map{{"f0", model::Value(1)}, {"f1", model::Value("x")}}));
  EXPECT_EQ(Attribute(*node, "block").value,
            model::Value(model::Region{"/d", Datatype::Selection::kBlock, {{1, 0}, {2, 1}}}));
  EXPECT_EQ(Attribute(*node, "points").type.selection(), Datatype::Selection::kElement);
  EXPECT_EQ(Attribute(*node, "points").value.region()->points.size(), 6);
  EXPECT_TRUE(Attribute(*node, "null").value.is_null());
  EXPECT_EQ(Attribute(*node, "vlen").value,
            model::Value(model::Value::List{model::Value(model::Value::List{0, 1, 2})}));
}

// The type of a reference of HDF5 1.12 is that of an object; what it leads to is in the value.
TEST_F(Hdf5HierarchyTest, ReferencesOfHdf5112) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    f.create_group('g'); address = h5.h5o.get_info(f['g'].id).addr
    values = [bytes(18), b'\2\0\x08' + address.to_bytes(8, 'little') + bytes(7), b'\3' + bytes(17), b'\2\1' + bytes(16)]
    for name, elements in (('objects', values[:2]), ('region', values[2:3]), ('other', values[3:])):
        f.attrs.create(name, np.frombuffer(b''.join(elements), 'V18'))
raw = open('a.h5', 'rb').read()
assert raw.count(b'\x15\0\0\0\x12\0\0\0') == 3
open('a.h5', 'wb').write(raw.replace(b'\x15\0\0\0\x12\0\0\0', b'\x47\x12\0\0\x12\0\0\0'))
)");
  const auto node = LoadNode(*hierarchy_, "/");
  EXPECT_EQ(Attribute(*node, "objects").value,
            model::Value(model::Value::List{model::Value(), model::Value("/g")}));
  EXPECT_EQ(node->attributes().size(), 1);
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("a reference of HDF5 1.12"));
}

TEST_F(Hdf5HierarchyTest, TextThatIsNoUtf8IsLatin1) {
  Write(R"(
with h5.File('a.h5', 'w') as f: f.attrs['old'] = np.bytes_(b'caf\xe9')
)");
  const auto node = LoadNode(*hierarchy_, "/");
  EXPECT_EQ(Attribute(*node, "old").value, model::Value("caf\u00e9"));
  EXPECT_EQ(Attribute(*node, "old").storage.charset, "iso-8859-1");
}

TEST_F(Hdf5HierarchyTest, BigEndianAttributesOfReducedPrecisionAreMaskedAndSigned) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    t = h5.h5t.STD_I32BE.copy(); t.set_precision(12)
    raw = bytes([0xa5, 0xa5, 0xaf, 0xf6])
    for name, kind in ((b'number', t), (b'array', h5.h5t.array_create(t, (1,)))):
        a = h5.h5a.create(f.id, name, kind, h5.h5s.create(h5.h5s.SCALAR))
        a.write(np.frombuffer(raw, 'V4').copy().reshape(()), mtype=kind)
    v = h5.h5t.vlen_create(t)
    a = h5.h5a.create(f.id, b'vlen', v, h5.h5s.create_simple((1,)))
    values = np.empty(1, h5.vlen_dtype('i4')); values[0] = np.array([-10, 5], 'i4')
    a.write(values)
)");
  const auto node = LoadNode(*hierarchy_, "/");
  EXPECT_EQ(Attribute(*node, "number").value, model::Value(-10));
  EXPECT_EQ(Attribute(*node, "array").value, model::Value(model::Value::List{-10}));
  EXPECT_EQ(Attribute(*node, "vlen").value,
            model::Value(model::Value::List{model::Value(model::Value::List{-10, 5})}));
}

TEST_F(Hdf5HierarchyTest, LongDoublesInAttributesAreTheNearestNumbers) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    g = np.longdouble
    f.attrs['exact'] = np.array([g(1), g(-2.5), g('inf'), g(0), g(2) ** -1074, g(2) ** 1023])
    f.attrs['third'] = g(1) / g(3)
    f.attrs['tiny'] = g(2) ** -1075
    f.attrs['huge'] = g('1e4000')
    quad = h5.h5t.IEEE_F64BE.copy()
    quad.set_size(16); quad.set_precision(128)
    quad.set_fields(127, 112, 15, 0, 112); quad.set_ebias(16383)
    a = h5.h5a.create(f.id, b'quad', quad, h5.h5s.create(h5.h5s.SCALAR))
    a.write(np.frombuffer(bytes([0xc0, 0, 0x80]) + bytes(13), 'V16').copy().reshape(()), mtype=quad)
)");
  const auto node = LoadNode(*hierarchy_, "/");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Attribute(*node, "exact").type.keyword(), "float64");
  EXPECT_EQ(Attribute(*node, "exact").value,
            model::Value(model::Value::List{1.0, -2.5, infinity, 0.0, std::ldexp(1, -1074),
                                            std::ldexp(1, 1023)}));
  EXPECT_EQ(Attribute(*node, "third").value, model::Value(1.0 / 3.0));
  EXPECT_EQ(Attribute(*node, "tiny").value, model::Value(0.0));
  EXPECT_EQ(Attribute(*node, "huge").value, model::Value(infinity));
  EXPECT_EQ(Attribute(*node, "quad").value, model::Value(-3.0));
  EXPECT_THAT(node->notes,
              ::testing::UnorderedElementsAre(HasSubstr("\"third\": a long double is shown"),
                                              HasSubstr("\"tiny\""), HasSubstr("\"huge\"")));
}

TEST_F(Hdf5HierarchyTest, TimesAreNumbersAsPyTablesWritesThem) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    for name, kind, values in (('t64', h5.h5t.UNIX_D64LE, np.array([0.25, 1e9 + .5])),
                               ('t32', h5.h5t.UNIX_D32LE, np.array([5, 10**9], '<i4')),
                               ('b32', h5.h5t.UNIX_D32BE, np.array([5, 10**9], '>i4')),
                               ('pairs', h5.h5t.UNIX_D64BE, np.array([5 << 32 | 250000, 0], '>i8'))):
        plist = h5.h5p.create(h5.h5p.DATASET_CREATE)
        plist.set_chunk((2,))
        d = h5.h5d.create(f.id, name.encode(), kind, h5.h5s.create_simple((2,)), plist)
        d.write_direct_chunk((0,), values.tobytes())
        if name == 'pairs': f[name].attrs['CLASS'] = np.bytes_('EARRAY')
)");
  const auto pairs = LoadNode(*hierarchy_, "/pairs");
  EXPECT_EQ(pairs->array().type, Datatype::Integer(8, true));
  EXPECT_THAT(pairs->notes, ::testing::ElementsAre(HasSubstr("microseconds in the lower")));
  const int64_t both[] = {int64_t{5} << 32 | 250'000, 0};
  EXPECT_EQ(test::ReadThroughChunks(*pairs->source),
            std::string(reinterpret_cast<const char*>(both), sizeof(both)));
  const auto t64 = LoadNode(*hierarchy_, "/t64");
  EXPECT_EQ(t64->array().type, Datatype::Float64());
  const double times[] = {0.25, 1e9 + 0.5};
  EXPECT_EQ(test::ReadThroughChunks(*t64->source),
            std::string(reinterpret_cast<const char*>(times), sizeof(times)));
  const int32_t seconds[] = {5, 1'000'000'000};
  const std::string expected(reinterpret_cast<const char*>(seconds), sizeof(seconds));
  for (const char* name : {"/t32", "/b32"}) {
    const auto node = LoadNode(*hierarchy_, name);
    EXPECT_EQ(node->array().type, Datatype::Integer(4, true)) << name;
    EXPECT_EQ(test::ReadThroughChunks(*node->source), expected) << name;
  }
}

TEST_F(Hdf5HierarchyTest, BytesThatSzipBehindScaleOffsetLostAreAnError) {
  Write(R"(
A = np.zeros(2410, '<u4'); A[::400] = 3
with h5.File('a.h5', 'w') as f:
    for name, kind, values, shuffles in (('a', h5.h5t.STD_U32LE, A, True),
                                         ('b', h5.h5t.STD_U64LE, A.astype('u8'), False)):
        p = h5.h5p.create(h5.h5p.DATASET_CREATE)
        p.set_chunk((2130,)); p.set_scaleoffset(2, 2)
        if shuffles: p.set_shuffle()
        p.set_szip(32, 16)
        d = h5.h5d.create(f.id, name.encode(), kind, h5.h5s.create_simple((2410,)), p)
        d.write(h5.h5s.ALL, h5.h5s.ALL, values)
)");
  // libhdf5 itself reads other values in each process, since szip stores no part of a word.
  for (const char* path : {"/a", "/b"}) {
    const auto node = LoadNode(*hierarchy_, path);
    ASSERT_TRUE(node->source);
    EXPECT_THAT(test::ReadThroughChunks(*node->source),
                HasSubstr("those behind the last word are not stored"));
  }
}

TEST_F(Hdf5HierarchyTest, DanglingReferencesAreNullAndNoted) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    d, gone = f.create_dataset('d', (4, 5), 'i4'), f.create_dataset('gone', (4, 5), 'i4')
    refs, regions = [d.ref, gone.ref], [gone.regionref[0:2, 1:3], d.regionref[0:2, 1:3]]
    f.create_dataset('objects', data=refs, dtype=h5.ref_dtype)
    f.create_dataset('regions', data=regions, dtype=h5.regionref_dtype)
    s = np.empty(2, [('r', h5.regionref_dtype), ('n', 'i4')]); s['r'] = regions; s['n'] = [1, 2]
    f.create_dataset('structs', data=s)
    f.attrs.create('refs', refs, dtype=h5.ref_dtype)
    f.attrs.create('regions', regions, dtype=h5.regionref_dtype)
    del f['gone']
)");
  const model::Value block(model::Region{"/d", Datatype::Selection::kBlock, {{0, 1}, {1, 2}}});
  const auto root = LoadNode(*hierarchy_, "/");
  EXPECT_EQ(Attribute(*root, "refs").value,
            model::Value(model::Value::List{"/d", model::Value()}));
  EXPECT_EQ(Attribute(*root, "regions").value,
            model::Value(model::Value::List{model::Value(), block}));
  EXPECT_THAT(root->notes,
              ElementsAre(HasSubstr("\"refs\": a reference leads to no object that has a name"),
                          HasSubstr("\"regions\": a reference")));
  for (const auto& [name, values] :
       {std::pair{"/objects", std::vector<model::Value>{"/d", model::Value()}},
        std::pair{"/regions", std::vector<model::Value>{model::Value(), block}},
        std::pair{
            "/structs",
            std::vector<model::Value>{
                model::Value(model::Value::Map{{"r", model::Value()}, {"n", model::Value(1)}}),
                model::Value(model::Value::Map{{"r", block}, {"n", model::Value(2)}})}}}) {
    const auto node = LoadNode(*hierarchy_, name);
    EXPECT_THAT(ReadVariable(*node->source), IsOkAnd(::testing::ElementsAreArray(values)));
    const auto* notes = dynamic_cast<const SourceNotes*>(node->source.get());
    ASSERT_NE(notes, nullptr);
    EXPECT_THAT(notes->notes(), ElementsAre(HasSubstr("is shown as null")));
  }
}

TEST_F(Hdf5HierarchyTest, ReferencesHavePathNames) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    d = f.create_dataset('g/d', (4, 5), 'i4')
    f.create_dataset('objects', data=[d.ref, f['g'].ref, h5.h5r.Reference()], dtype=h5.ref_dtype)
    f.create_dataset('blocks', data=[d.regionref[0:2, 1:3], d.regionref[...]], dtype=h5.regionref_dtype)
    f.create_dataset('mixed', data=[d.regionref[0, 0], d.regionref[[0, 2], 1]], dtype=h5.regionref_dtype)
)");
  EXPECT_THAT(ReadVariable(*LoadNode(*hierarchy_, "/objects")->source),
              IsOkAnd(ElementsAre(model::Value("/g/d"), model::Value("/g"), model::Value())));
  const auto blocks = LoadNode(*hierarchy_, "/blocks");
  EXPECT_THAT(
      ReadVariable(*blocks->source),
      IsOkAnd(ElementsAre(
          model::Value(model::Region{"/g/d", Datatype::Selection::kBlock, {{0, 1}, {1, 2}}}),
          model::Value(model::Region{"/g/d", Datatype::Selection::kBlock, {{0, 0}, {3, 4}}}))));
  const auto mixed = LoadNode(*hierarchy_, "/mixed");
  EXPECT_EQ(mixed->array().type.selection(), Datatype::Selection::kElement);
  EXPECT_THAT(ReadVariable(*mixed->source),
              IsOkAnd(ElementsAre(
                  model::Value(model::Region{"/g/d", Datatype::Selection::kElement, {{0, 0}}}),
                  model::Value(model::Region{
                      "/g/d", Datatype::Selection::kElement, {{0, 1}, {2, 1}}}))));
}

TEST_F(Hdf5HierarchyTest, NullDataspaceHasNoElements) {
  Write("with h5.File('a.h5', 'w') as f: f['n'] = h5.Empty('f4')");
  const auto node = LoadNode(*hierarchy_, "/n");
  EXPECT_FALSE(node->error);
  EXPECT_EQ(node->array().shape, (model::Shape{{0, {}}}));
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(""));
}

TEST_F(Hdf5HierarchyTest, ExternalStorageIsReadBesideTheFile) {
  Write(R"(
np.arange(10, dtype='>i4').tofile('one.bin'); np.arange(10, 14, dtype='>i4').tofile('two.bin')
with h5.File('a.h5', 'w') as f:
    f.create_dataset('d', (12,), '>i4', external=[('one.bin', 8, 32), ('two.bin', 0, h5.h5f.UNLIMITED)])
    f.create_dataset('absent', (2,), 'i4', external=[('three.bin', 0, 8)])
    f.create_dataset('outside', (2,), 'i4', external=[('/etc/passwd', 0, 8)])
    f.create_dataset('climbing', (2,), 'i4', external=[('../x', 0, 8)])
)");
  std::string expected;
  for (const char i : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}) {
    expected += std::string{i, 0, 0, 0};
  }
  EXPECT_THAT(test::ReadWhole(*LoadNode(*hierarchy_, "/d")->source), IsOkAnd(expected));
  EXPECT_THAT(
      test::ReadWhole(*LoadNode(*hierarchy_, "/absent")->source),
      IsError(ErrorCode::kCorrupt, HasSubstr("three.bin: the external file is not there")));
  for (const char* path : {"/outside", "/climbing"}) {
    const auto node = LoadNode(*hierarchy_, path);
    EXPECT_FALSE(node->source);
    ASSERT_TRUE(node->error);
    EXPECT_THAT(node->error->message(), HasSubstr("outside of the source"));
  }
}

TEST_F(Hdf5HierarchyTest, VirtualDatasetFollowsItsSources) {
  Write(R"(
for i in range(3):
    with h5.File('s%d.h5' % i, 'w') as f: f['d'] = np.full((4,), i, '>i2')
with h5.File('a.h5', 'w') as f:
    layout = h5.VirtualLayout((4, 4), '<i4')
    for i in range(4): layout[i] = h5.VirtualSource('s%d.h5' % i, 'd', (4,))
    f.create_virtual_dataset('v', layout, fillvalue=9)
)");
  const auto read = [&] {
    return test::ReadWhole(*LoadNode(*hierarchy_, "/v")->source).value();
  };
  const auto row = [](char i) {
    std::string text;
    for (int n = 0; n < 4; ++n) text += std::string{i, 0, 0, 0};
    return text;
  };
  EXPECT_EQ(read(), row(0) + row(1) + row(2) + row(9));
  const auto before = hierarchy_->Version("/v").value();
  test::RunH5py(directory_, "with h5.File('s1.h5', 'a') as f: f['d'][...] = 5");
  EXPECT_NE(hierarchy_->Version("/v").value(), before);
  EXPECT_EQ(read(), row(0) + row(5) + row(2) + row(9));
}

// libhdf5 cuts off fractions, and takes the nearest number of the type for what is out of
// range.
TEST_F(Hdf5HierarchyTest, NumbersOfVirtualDatasetsAreConvertedAsLibhdf5DoesIt) {
  Write(R"(
KINDS = ['i1', '>u2', '<i4', '<u8', '<f2', '>f4', '<f8']
np.seterr(all='ignore')
def sample(t):
    t = np.dtype(t)
    if t.kind == 'f': return np.array([-np.inf, -1e300, -3.7, -1, 0, 2.5, 300, 7e4, 5e9, 1e300, np.inf]).astype(t)
    i = np.iinfo(t)
    return np.array([i.min, i.max, 0, 1, 100, i.max // 2, i.max // 3, 7, 8, 9, i.min // 2], t)
for s in KINDS:
    with h5.File(s[-2:] + '.h5', 'w') as f: f['d'] = sample(s)
with h5.File('f8.h5', 'a') as f:
    f.create_dataset('absent', (4,), 'f8', chunks=(2,), fillvalue=-2.5); f['nan'] = [np.nan, 1]; f['words'] = b'x'
def virtual(name, t, source, dataset, n):
    layout = h5.VirtualLayout((n,), t); layout[:] = h5.VirtualSource(source + '.h5', dataset, (n,))
    f.create_virtual_dataset(name, layout)
with h5.File('a.h5', 'w') as f:
    for s in KINDS:
        for t in KINDS: virtual(s[-2:] + t[-2:], t, s[-2:], 'd', 11)
    virtual('absent', 'i2', 'f8', 'absent', 4); virtual('nan', 'i4', 'f8', 'nan', 2); virtual('words', 'i4', 'f8', 'words', 1)
with h5.File('a.h5') as f:
    for name in f:
        if len(name) == 4: open(name + '.raw', 'wb').write(f[name][()].astype(f[name].dtype.newbyteorder('<')).tobytes())
)");
  const auto read = [&](const std::string& name) {
    return test::ReadWhole(*LoadNode(*hierarchy_, "/" + name)->source);
  };
  for (const char* from : {"i1", "u2", "i4", "u8", "f2", "f4", "f8"}) {
    for (const char* to : {"i1", "u2", "i4", "u8", "f2", "f4", "f8"}) {
      const std::string name = std::string(from) + to;
      EXPECT_THAT(read(name), IsOkAnd(test::ReadFile(directory_ / (name + ".raw")))) << name;
    }
  }
  EXPECT_THAT(read("absent"), IsOkAnd(std::string("\xfe\xff\xfe\xff\xfe\xff\xfe\xff")));
  EXPECT_THAT(read("nan"), IsOkAnd(std::string("\0\0\0\0\1\0\0\0", 8)));
  EXPECT_THAT(read("words"), IsError(ErrorCode::kUnsupported, HasSubstr("a source of")));
}

// On a mount for others, data of other files are not shown. That a file names itself makes it
// no other file.
TEST_F(Hdf5HierarchyTest, VirtualDatasetMayNameItsOwnFileInAnySpelling) {
  test::RunH5py(directory_, R"(
os.makedirs('sub')
for name in ('.', 'a.h5', './a.h5', '../sub/a.h5', 'b.h5'):
    with h5.File('sub/b.h5', 'a') as f: f.require_dataset('d', (4,), '<i2')[...] = 1
    with h5.File('sub/a.h5', 'a') as f:
        f.require_dataset('d', (4,), '<i2')[...] = 7
        layout = h5.VirtualLayout((4,), '<i2')
        layout[...] = h5.VirtualSource(name, 'd', (4,))
        f.create_virtual_dataset(name.replace('/', '_').replace('.', 'p'), layout, fillvalue=9)
)");
  auto root = LocalSource::Open(directory_.path()).value();
  const auto hierarchy = Hdf5Format().Open(root, "sub/a.h5", {.shared = true}).value();
  for (const char* path : {"/p", "/aph5", "/p_aph5", "/pp_sub_aph5"}) {
    const auto node = LoadNode(*hierarchy, path);
    ASSERT_NE(node->source, nullptr) << path;
    EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(std::string("\7\0\7\0\7\0\7\0", 8)))
        << path;
  }
  EXPECT_EQ(LoadNode(*hierarchy, "/bph5")->source, nullptr);
}

TEST_F(Hdf5HierarchyTest, ChangedFileIsReadAnew) {
  Write("with h5.File('a.h5', 'w') as f: f['x'] = [1, 2]");
  const auto before = LoadNode(*hierarchy_, "/x");
  EXPECT_EQ(LoadNode(*hierarchy_, "/x"), before);
  const auto version = hierarchy_->Version("/x").value();
  test::RunH5py(directory_, "with h5.File('a.h5', 'w') as f: f['x'] = [1, 2, 3]; f['y'] = 1");
  EXPECT_NE(hierarchy_->Version("/x").value(), version);
  EXPECT_EQ(LoadNode(*hierarchy_, "/x")->source->spec().shape, (std::vector<uint64_t>{3}));
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("x", "y")));
}

TEST_F(Hdf5HierarchyTest, AGroupOfWhichSomeLinksCannotBeReadSaysSo) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    for i in range(30): f['g/x%d' % i] = i
raw = open('a.h5', 'rb').read(); last = raw.rindex(b'SNOD')
open('a.h5', 'wb').write(raw[:last] + b'DONS' + raw[last + 4:])
)");
  const auto node = LoadNode(*hierarchy_, "/g");
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("cannot list the group"));
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(IsEmpty()));
  EXPECT_FALSE(LoadNode(*hierarchy_, "/")->error);
}

TEST_F(Hdf5HierarchyTest, ListingsAreKeptOnlyOfTheFileAsItIs) {
  Write("with h5.File('a.h5', 'w') as f: f['g/a'] = 1; f['g/b'] = h5.SoftLink('/g/a')");
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(ElementsAre("a", "b")));
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(ElementsAre("a", "b")));
  EXPECT_EQ(LinkAt("/g/b"), "/g/a");
  test::RunH5py(directory_,
                "with h5.File('a.h5', 'w') as f: f['g/b'] = 1; f['g/c'] = h5.SoftLink('/g/b')");
  EXPECT_EQ(LinkAt("/g/b"), "no link");
  EXPECT_THAT(hierarchy_->List("/g"), IsOkAnd(ElementsAre("b", "c")));
  EXPECT_EQ(LinkAt("/g/c"), "/g/b");
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("g")));
}

TEST_F(Hdf5HierarchyTest, ChunksLargerThanAllowedAreRefused) {
  test::RunH5py(directory_, R"(
with h5.File('a.h5', 'w') as f: f.create_dataset('d', (1000, 1000), 'f8', chunks=(500, 1000))
)");
  auto root = LocalSource::Open(directory_.path()).value();
  const auto small = Hdf5Format().Open(root, "a.h5", {.max_chunk_size = 1 << 20}).value();
  const auto node = LoadNode(*small, "/d");
  EXPECT_FALSE(node->source);
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("chunks of more than 1048576 bytes"));
}

TEST_F(Hdf5HierarchyTest, UnknownFilterIsNamed) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE); dcpl.set_chunk((10,)); dcpl.set_filter(999, h5.h5z.FLAG_OPTIONAL, (1, 2))
    d = h5.h5d.create(f.id, b'd', h5.h5t.STD_I32LE, h5.h5s.create_simple((10,)), dcpl)
    d.write_direct_chunk((0,), bytes(40), 0)
)");
  const auto node = LoadNode(*hierarchy_, "/d");
  EXPECT_FALSE(node->source);
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), HasSubstr("filter 999"));
  ASSERT_TRUE(node->array().storage.filter);
  EXPECT_EQ(node->array().storage.filter->front().name, "hdf5");
}

TEST_F(Hdf5HierarchyTest, DimensionScalesAreCoordinates) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    f['data'] = np.zeros((3, 4, 5)); f['x'] = [1., 2, 3]; f['far/y'] = [1, 2, 3, 4]; f['unused'] = [1, 2]
    f['x'].make_scale('the x axis'); f['far/y'].make_scale(); f['unused'].make_scale()
    f['data'].dims[0].attach_scale(f['x']); f['data'].dims[1].attach_scale(f['far/y'])
    f['data'].dims[2].label = 'z'
)");
  const auto data = LoadNode(*hierarchy_, "/data");
  EXPECT_THAT(data->array().shape,
              ElementsAre(model::Dimension{3, "/x"}, model::Dimension{4, "/far/y"},
                          model::Dimension{5, ""}));
  EXPECT_THAT(data->array().dimension_names, ElementsAre("x", "y", "z"));
  const auto x = LoadNode(*hierarchy_, "/x");
  ASSERT_TRUE(std::holds_alternative<model::DimCoord>(x->entity));
  ASSERT_EQ(x->attributes().size(), 1);
  EXPECT_EQ(Attribute(*x, "NAME").value, model::Value("the x axis"));
  EXPECT_THAT(LoadNode(*hierarchy_, "/far/y")->attributes(), IsEmpty());
  EXPECT_TRUE(std::holds_alternative<model::Ndarray>(LoadNode(*hierarchy_, "/unused")->entity));
}

TEST(Hdf5ProbeTest, MagicAndNameDecide) {
  const Format& format = Hdf5Format();
  const std::string magic("\x89HDF\r\n\x1a\n", 8);
  EXPECT_TRUE(format.ProbeFile("a.mat", AsBytes(magic)));
  EXPECT_TRUE(format.ProbeFile("a.mat", AsBytes(std::string(512, 'x') + magic)));
  EXPECT_FALSE(format.ProbeFile("a.mat", AsBytes("MATLAB 5.0 MAT-file")));
  EXPECT_TRUE(format.ProbeFile("a.h5", AsBytes("")));
  EXPECT_TRUE(format.ProbeFile("a.nc", AsBytes("neither")));
  EXPECT_FALSE(format.ProbeFile("a.nc", AsBytes("CDF\1")));
  EXPECT_FALSE(format.ProbeFile("a.hdf", AsBytes("\x0e\x03\x13\x01")));
  EXPECT_FALSE(format.MatchesFileName("a.npy"));
}

}  // namespace
}  // namespace ndlfs::backends
