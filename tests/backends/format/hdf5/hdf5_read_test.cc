// SPDX-License-Identifier: MIT
//
// Datasets of every type, layout and filter that h5py can write, compared with
// what it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "backends/base/element_stream.h"
#include "backends/base/json.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using test::IsOk;
using test::IsOkAnd;
using test::LoadNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What each script begins with: save() writes a dataset, and what h5py reads
// of it: little-endian and packed as NAME.raw, or as NAME.json.
constexpr std::string_view kSave = R"(
f = h5.File('a.h5', 'w', libver=LIBVER)
def packed(t):
    if t.subdtype: return np.dtype((packed(t.subdtype[0]), t.subdtype[1]))
    return np.dtype([(n, packed(t.fields[n][0])) for n in t.names]) if t.names else t
def plain(a):
    if a.dtype.names: a = a.astype(packed(a.dtype))
    return a.astype(a.dtype.newbyteorder('<')).tobytes()
def listed(x):
    if isinstance(x, bytes): return x.decode()
    if isinstance(x, np.ndarray): return [listed(v) for v in x.tolist()] if x.dtype != object else [listed(v) for v in x]
    if isinstance(x, (np.void, tuple)): return [listed(v) for v in x]
    if isinstance(x, np.generic): return x.item()
    return x
def finish():
    f.close()
    with h5.File('a.h5') as g:
        for name in g:
            d = g[name]
            try: data = d[()]
            except OSError:  # a tagged opaque: NumPy's has no tag
                data = np.zeros(d.shape, 'V%d' % d.id.get_type().get_size())
                d.id.read(h5.h5s.ALL, h5.h5s.ALL, data, d.id.get_type())
            if d.dtype.hasobject:
                with open(name + '.json', 'w') as out:
                    json.dump([listed(v) for v in np.asarray(data, object).ravel()] if d.dtype.names is None
                              else [listed(v) for v in np.atleast_1d(data)], out)
            else:
                with open(name + '.raw', 'wb') as out: out.write(plain(np.asarray(data)))
)";

// A value as the oracle writes it.
Json ToJson(const model::Value& value) {
  if (value.integer()) return static_cast<int64_t>(*value.integer());
  if (value.real()) return *value.real();
  if (value.text()) return *value.text();
  Json list = Json::array();
  if (value.list()) {
    for (const auto& item : *value.list()) list.push_back(ToJson(item));
  } else if (value.map()) {
    for (const auto& [name, item] : *value.map()) list.push_back(ToJson(item));
  } else {
    return nullptr;
  }
  return list;
}

// The elements of a one-dimensional array, or a scalar, of variable size.
Json ReadVariable(const ArraySource& source) {
  Json values = Json::array();
  const ArraySpec& spec = source.spec();
  const auto visit = [&](const std::vector<uint64_t>& index) -> model::Result<void> {
    test::PlainIndexCache indexes;
    NDLFS_TRY(const auto location, source.Locate(index, indexes));
    const uint64_t count = *CheckedProduct(spec.grid.ChunkShape(index));
    Bytes chunk;
    std::optional<ElementTable> table;
    if (location.generate) {
      NDLFS_TRY(chunk, location.generate(spec.max_chunk_bytes));
      NDLFS_TRY(table, ElementTable::Make(chunk.span(), count));
    }
    for (uint64_t i = 0; i < count; ++i) {
      ConstByteSpan element = table ? (*table)[i] : ConstByteSpan(spec.fill);
      NDLFS_TRY(const auto value, TakeElement(spec.dtype, element));
      EXPECT_TRUE(element.empty());
      values.push_back(ToJson(value));
    }
    return {};
  };
  EXPECT_THAT(test::ForEachChunk(spec.grid, visit), IsOk());
  return values;
}

// Elements without padding, as what padding holds is nobody's business.
void AppendPacked(const model::Datatype& type, std::string_view element, std::string& packed) {
  if (type.kind() == model::Datatype::Kind::kCompound) {
    for (const auto& member : type.members()) {
      AppendPacked(member.type, element.substr(member.offset, member.type.size()), packed);
    }
  } else if (type.kind() == model::Datatype::Kind::kArray) {
    for (uint64_t i = 0; i < type.array_length(); ++i) {
      AppendPacked(type.base(), element.substr(i * type.base().size(), type.base().size()),
                   packed);
    }
  } else {
    packed += element;
  }
}

std::string Packed(const model::Datatype& type, std::string_view elements) {
  std::string packed;
  for (size_t at = 0; at < elements.size(); at += type.size()) {
    AppendPacked(type, elements.substr(at, type.size()), packed);
  }
  return packed;
}

class Hdf5ReadTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Writes, and compares all datasets but those in `unlike`.
  void WriteAndCompare(std::string_view script) {
    std::string all(kSave);
    all.replace(all.find("LIBVER"), 6, "'" + std::string(GetParam()) + "'");
    test::RunH5py(directory_, all + std::string(script) + "\nfinish()\n");
    hierarchy_ = test::OpenHdf5(directory_, "a.h5");
    const auto names = hierarchy_->List("/").value();
    ASSERT_FALSE(names.empty());
    for (const std::string& name : names) Compare(name);
  }

  void Compare(const std::string& name) {
    SCOPED_TRACE(name);
    const auto node = LoadNode(*hierarchy_, "/" + name);
    ASSERT_FALSE(node->error) << node->error->message();
    ASSERT_TRUE(node->source);
    if (!node->source->spec().dtype.is_fixed_size()) {
      EXPECT_EQ(ReadVariable(*node->source),
                Json::parse(test::ReadFile(directory_ / (name + ".json"))));
      return;
    }
    const auto whole = test::ReadWhole(*node->source);
    ASSERT_THAT(whole, IsOk());
    const std::string expected = test::ReadFile(directory_ / (name + ".raw"));
    const std::string found = Packed(node->source->spec().dtype, *whole);
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_EQ(test::ToHex(found), test::ToHex(expected));
  }

  model::Datatype TypeOf(const std::string& path) {
    return LoadNode(*hierarchy_, path)->array().type;
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const Hierarchy> hierarchy_;
};

TEST_P(Hdf5ReadTest, NumbersOfBothByteOrders) {
  WriteAndCompare(R"(
for order in '<>':
    for t in ('i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8', 'c8', 'c16'):
        a = (np.arange(-20, 40) * 3).astype(order + t).reshape(5, 12)
        f.create_dataset('plain_' + t + ('be' if order == '>' else 'le'), data=a)
        f.create_dataset('chunked_' + t + ('be' if order == '>' else 'le'), data=a, chunks=(2, 5))
f.create_dataset('bool', data=np.arange(10) % 3 == 0)
f.create_dataset('long_double', data=np.arange(5, dtype='g'))
)");
  EXPECT_EQ(TypeOf("/plain_u2be").keyword(), "uint16");
  EXPECT_EQ(LoadNode(*hierarchy_, "/plain_u2be")->array().storage.endian,
            model::ByteOrder::kBig);
  EXPECT_TRUE(TypeOf("/plain_c8le").is_complex());
  EXPECT_TRUE(TypeOf("/bool").is_bool());
  EXPECT_EQ(TypeOf("/long_double").keyword(), "float128");
}

TEST_P(Hdf5ReadTest, NumbersInSomeBitsOfTheirBytes) {
  WriteAndCompare(R"(
def odd(name, bits, offset, signed, size, order):
    t = h5.h5t.STD_I32LE.copy() if signed else h5.h5t.STD_U32LE.copy()
    t.set_size(size); t.set_precision(bits); t.set_offset(offset); t.set_order(order)
    d = h5.h5d.create(f.id, name.encode(), t, h5.h5s.create_simple((40,)))
    d.write(h5.h5s.ALL, h5.h5s.ALL, np.arange(-20 if signed else 0, 20 if signed else 40, dtype='i4'))
LE, BE = h5.h5t.ORDER_LE, h5.h5t.ORDER_BE
odd('signed17', 17, 3, True, 4, LE)
odd('unsigned9', 9, 0, False, 2, BE)
odd('three_bytes', 24, 0, True, 4, BE)
odd('eight', 40, 11, True, 8, LE)
)");
  EXPECT_EQ(TypeOf("/signed17"), model::Datatype::Integer(4, true));
  EXPECT_EQ(TypeOf("/unsigned9"), model::Datatype::Integer(2, false));
}

// Bits around the number are anything, and the library itself, asked for
// another byte order, would leave them in: so values are worked out here.
TEST_P(Hdf5ReadTest, BigEndianNumbersOfReducedPrecisionAreMaskedAndSigned) {
  WriteAndCompare(R"(
rng = np.random.default_rng(1)
def number(raw, p, o, signed):
    v = int.from_bytes(raw, 'big') >> o & (1 << p) - 1
    return v - (1 << p) if signed and v >> p - 1 else v
want = {}
def save(name, t, raws, filters):
    p = h5.h5p.create(h5.h5p.DATASET_CREATE)
    if filters: p.set_chunk((4,)); p.set_filter(h5.h5z.FILTER_NBIT)
    d = h5.h5d.create(f.id, name.encode(), t, h5.h5s.create_simple((len(raws),)), p)
    d.write(h5.h5s.ALL, h5.h5s.ALL, np.frombuffer(b''.join(raws), 'V%d' % t.get_size()).copy(), mtype=t)
for size in (1, 2, 4, 8):
    for signed in (0, 1):
        for bits, offset in ((6, 0), (8 * size - 3, 3), (8 * size - 1, 0)):
            t = (h5.h5t.STD_I64BE if signed else h5.h5t.STD_U64BE).copy()
            t.set_precision(bits); t.set_offset(offset); t.set_size(size)
            raws = [rng.bytes(size) for i in range(9)]
            values = np.array([number(raw, bits, offset, signed) for raw in raws], '%s%d' % ('iu'[1 - signed], size))
            c = h5.h5t.create(h5.h5t.COMPOUND, size + 4); c.insert(b'x', 3, t)
            for nbit in (0, 1):
                name = '%d_%d_%d_%d_%d' % (size, signed, bits, offset, nbit)
                save(name, t, raws, nbit)
                save('c' + name, c, [b'\x55' * 3 + raw + b'\x55' for raw in raws], nbit)
                want[name] = want['c' + name] = values
f.close()
for name in want: want[name].tofile(name + '.raw')
def finish(): pass
)");
}

TEST_P(Hdf5ReadTest, MembersThatAreWidenedFitTheirStruct) {
  WriteAndCompare(R"(
bf = h5.h5t.IEEE_F32LE.copy(); bf.set_fields(15, 7, 8, 0, 7); bf.set_size(2); bf.set_ebias(127)
t = h5.h5t.create(h5.h5t.COMPOUND, 6); t.insert(b'a', 0, h5.h5t.STD_I32LE); t.insert(b'b', 4, bf)
d = h5.h5d.create(f.id, b'last', t, h5.h5s.create_simple((2,)))
d.write(h5.h5s.ALL, h5.h5s.ALL, np.frombuffer(bytes([1, 0, 0, 0, 0x80, 0x3f] * 2), 'V6').copy(), mtype=t)
f.close()
np.array([(1, 1), (1, 1)], [('a', '<i4'), ('b', '<f4')]).tofile('last.raw')
def finish(): pass
)");
  EXPECT_EQ(TypeOf("/last").members()[1].type.keyword(), "float32");
}

TEST_P(Hdf5ReadTest, FloatsOfOneByteAreOpaque) {
  WriteAndCompare(R"(
t = h5.h5t.IEEE_F32LE.copy(); t.set_fields(7, 3, 4, 0, 3); t.set_size(1); t.set_ebias(7)
d = h5.h5d.create(f.id, b'e4m3', t, h5.h5s.create_simple((5,)))
d.write(h5.h5s.ALL, h5.h5s.ALL, np.frombuffer(bytes([0x38, 0x7e, 0x7f, 0, 0xb8]), 'V1').copy(), mtype=t)
f.close()
open('e4m3.raw', 'wb').write(bytes([0x38, 0x7e, 0x7f, 0, 0xb8]))
def finish(): pass
)");
  EXPECT_EQ(TypeOf("/e4m3"), model::Datatype::Opaque(1, TypeOf("/e4m3").tag()));
  EXPECT_THAT(TypeOf("/e4m3").tag(), HasSubstr("exponent 3 + 4 - 7, mantissa 0 + 3"));
}

TEST_P(Hdf5ReadTest, WithoutDataAndFillValueThereAreZeros) {
  WriteAndCompare(R"(
lib.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
t = h5.h5t.STD_I32BE.copy(); t.set_precision(12)
for name, chunk in (('chunked', (2,)), ('contiguous', None)):
    p = h5.h5p.create(h5.h5p.DATASET_CREATE)
    if chunk: p.set_chunk(chunk)
    lib.H5Pset_fill_value(p.id, t.id, None)
    h5.h5d.create(f.id, name.encode(), t, h5.h5s.create_simple((5,)), p)
    np.zeros(5, 'i4').tofile(name + '.raw')
f.close()
def finish(): pass
)");
}

// One rule for an array: a byte is a letter in all of its elements.
TEST_P(Hdf5ReadTest, TextThatIsNotUtf8IsLatin1) {
  test::RunH5py(directory_, R"(
f = h5.File('a.h5', 'w')
t = h5.h5t.C_S1.copy(); t.set_size(6); t.set_cset(h5.h5t.CSET_UTF8); t.set_strpad(h5.h5t.STR_NULLPAD)
def fixed(name, data):
    d = h5.h5d.create(f.id, name, t, h5.h5s.create_simple((len(data),)))
    d.write(h5.h5s.ALL, h5.h5s.ALL, np.array(data, 'S6'), t)
fixed(b'latin1', [b'sch\xf6n', 'schön'.encode()])
fixed(b'utf8', ['schön'.encode(), b'plain'])
v = f.create_dataset('variable', (2,), h5.string_dtype()); v[0] = b'sch\xf6n'; v[1] = 'schön'.encode()
f['variable'].attrs.create('a', np.array([b'\xf6', 'ö'.encode()], 'S2'))
s = np.zeros(2, [('bad', 'S2'), ('good', 'S2')]); s['bad'] = [b'\xff', b'a']; s['good'] = 'ö'.encode()
f.create_dataset('struct', data=s)
f.close()
)");
  hierarchy_ = test::OpenHdf5(directory_, "a.h5");
  for (const std::string name : {"/latin1", "/variable"}) {
    const auto node = LoadNode(*hierarchy_, name);
    EXPECT_EQ(node->array().storage.charset, "iso-8859-1") << name;
    EXPECT_EQ(node->array().type.charset(), model::Charset::kLatin1) << name;
    EXPECT_EQ(node->source->spec().dtype.charset(), model::Charset::kLatin1) << name;
  }
  EXPECT_EQ(ReadVariable(*LoadNode(*hierarchy_, "/variable")->source),
            Json({"schön", "schÃ¶n"}));
  EXPECT_EQ(LoadNode(*hierarchy_, "/utf8")->array().storage.charset, "utf-8");
  const auto& attribute = LoadNode(*hierarchy_, "/variable")->array().attributes.at(0);
  EXPECT_EQ(attribute.storage.charset, "iso-8859-1");
  EXPECT_EQ(ToJson(attribute.value), Json({"ö", "Ã¶"}));
  const auto members = TypeOf("/struct").members();
  EXPECT_EQ(members[0].type.charset(), model::Charset::kLatin1);
  EXPECT_EQ(members[1].type.charset(), model::Charset::kAscii);
}

TEST_P(Hdf5ReadTest, FloatsOfOtherFormatsAreWidened) {
  WriteAndCompare(R"(
t = h5.h5t.IEEE_F32LE.copy()
t.set_fields(15, 7, 8, 0, 7); t.set_size(2); t.set_ebias(127)
d = h5.h5d.create(f.id, b'bfloat16', t, h5.h5s.create_simple((9,)))
d.write(h5.h5s.ALL, h5.h5s.ALL, np.array([0, 1, -2, 1e30, np.inf, -np.inf, 3, .5, 1e-38], 'f4'))
)");
  EXPECT_EQ(TypeOf("/bfloat16").keyword(), "float32");
}

TEST_P(Hdf5ReadTest, TextOfFixedLengthEndsWhereItsPaddingSays) {
  WriteAndCompare(R"(
def text(name, pad, data, size, cset=h5.h5t.CSET_ASCII):
    t = h5.h5t.C_S1.copy(); t.set_size(size); t.set_strpad(pad); t.set_cset(cset)
    d = h5.h5d.create(f.id, name.encode(), t, h5.h5s.create_simple((len(data),)))
    d.write(h5.h5s.ALL, h5.h5s.ALL, np.array(data, 'S%d' % size), t)  # as it is, without conversion
text('null_padded', h5.h5t.STR_NULLPAD, [b'ab', b'', b'a\0cde', b'abcde'], 5)
text('null_terminated', h5.h5t.STR_NULLTERM, [b'ab\0xx', b'\0yyyy', b'abcde', b'abcd'], 5)
text('space_padded', h5.h5t.STR_SPACEPAD, [b'ab   ', b'     ', b'abcde', b' a b '], 5)
text('one', h5.h5t.STR_NULLTERM, [b'a', b'', b'b'], 1)
text('utf8', h5.h5t.STR_NULLPAD, ['é'.encode(), b'x'], 4, h5.h5t.CSET_UTF8)
)");
  EXPECT_EQ(LoadNode(*hierarchy_, "/utf8")->array().storage.charset, "utf-8");
  EXPECT_EQ(LoadNode(*hierarchy_, "/one")->array().storage.charset, "ascii");
  EXPECT_TRUE(LoadNode(*hierarchy_, "/one")->source->contiguous());
  EXPECT_FALSE(LoadNode(*hierarchy_, "/null_terminated")->source->contiguous());
}

TEST_P(Hdf5ReadTest, CompoundsKeepTheirPaddingAndNesting) {
  WriteAndCompare(R"(
inner = np.dtype({'names': ['x', 'y'], 'formats': ['>f8', 'S3'], 'offsets': [0, 8], 'itemsize': 16})
t = np.dtype({'names': ['a', 'b', 'c', 'e'], 'formats': ['i1', '<i4', (inner, (2,)), ('u2', (2, 2))],
              'offsets': [0, 4, 8, 42], 'itemsize': 56})
a = np.zeros(7, t)
a['a'] = range(7); a['b'] = np.arange(7) * 1000; a['c']['x'] = np.arange(14).reshape(7, 2) / 3
a['c']['y'] = b'abc'; a['e'] = np.arange(28).reshape(7, 2, 2)
f.create_dataset('padded', data=a)
f.create_dataset('padded_chunked', data=a, chunks=(3,))
)");
  const auto type = TypeOf("/padded");
  ASSERT_EQ(type.members().size(), 4);
  EXPECT_EQ(type.members()[1].offset, 4);
  EXPECT_EQ(type.members()[2].type.base().members()[0].name, "x");
  EXPECT_EQ(type.size(), 56);
}

TEST_P(Hdf5ReadTest, MembersOutOfOrderArePackedInTheirOrder) {
  WriteAndCompare(R"(
t = np.dtype({'names': ['late', 'early'], 'formats': ['i4', 'S3'], 'offsets': [8, 0], 'itemsize': 12})
a = np.zeros(4, t); a['late'] = range(4); a['early'] = b'abc'
f.create_dataset('reversed', data=a)
)");
  EXPECT_EQ(TypeOf("/reversed").members()[0].offset, 0);
}

TEST_P(Hdf5ReadTest, EnumsOpaqueBitfieldsAndArrays) {
  WriteAndCompare(R"(
e = h5.enum_dtype({'DOWN': -2, 'UP': 3, 'FAR': 300}, basetype='>i2')
f.create_dataset('enum', data=np.array([-2, 3, 300, 7], '>i2'), dtype=e)
f.create_dataset('datetime', data=np.array(['2000-01-01', 'NaT', '2024-02-29'], 'M8[s]').astype(h5.opaque_dtype('M8[s]')))
t = np.dtype(('<f4', (2, 3)))
d = f.create_dataset('array', (4,), dtype=t); d[...] = np.arange(24).reshape(4, 2, 3)
t = h5.h5t.STD_B16BE
d = h5.h5d.create(f.id, b'bitfield', t, h5.h5s.create_simple((4,)))
d.write(h5.h5s.ALL, h5.h5s.ALL, np.array([1, 2, 0x8001, 0xffff], '>u2'), t)
t = h5.h5t.create(h5.h5t.OPAQUE, 5); t.set_tag(b'image/png')
d = h5.h5d.create(f.id, b'opaque', t, h5.h5s.create_simple((2,)))
d.write(h5.h5s.ALL, h5.h5s.ALL, np.array([b'abcde', b'\0\1\2\3\4'], 'V5'), t)
)");
  const auto type = TypeOf("/enum");
  ASSERT_EQ(type.kind(), model::Datatype::Kind::kEnum);
  const std::set<std::pair<std::string, int>> constants = {
      {"DOWN", -2}, {"FAR", 300}, {"UP", 3}};
  std::set<std::pair<std::string, int>> found;
  for (const auto& [name, value] : type.constants()) found.emplace(name, value);
  EXPECT_EQ(found, constants);
  EXPECT_EQ(TypeOf("/datetime").time(), (model::TimeUnit{"s", 1, false}));
  EXPECT_EQ(TypeOf("/bitfield"), model::Datatype::Integer(2, false));
  EXPECT_EQ(TypeOf("/opaque"), model::Datatype::Opaque(5, "image/png"));
  EXPECT_EQ(TypeOf("/array").shape(), (std::vector<uint64_t>{2, 3}));
}

TEST_P(Hdf5ReadTest, ElementsOfVariableSize) {
  WriteAndCompare(R"(
s = h5.string_dtype()
words = ['', 'a', 'été', 'x' * 3000] * 5
f.create_dataset('strings', data=np.array(words, object), dtype=s)
f.create_dataset('strings_chunked', data=np.array(words, object), dtype=s, chunks=(3,), compression='gzip', maxshape=(None,))
f.create_dataset('ascii', data=np.array([b'a', b'bc'], object), dtype=h5.string_dtype('ascii'))
f.create_dataset('scalar', data='hello', dtype=s)
v = f.create_dataset('vlen', (4,), dtype=h5.vlen_dtype('i4'))
for i in range(4): v[i] = np.arange(i * 3)
t = np.dtype([('n', '>i2'), ('s', s), ('v', h5.vlen_dtype('f8')), ('fixed', 'S3')])
c = f.create_dataset('compound', (2,), dtype=t)
c[0] = (1, 'one', np.array([1.5]), b'a'); c[1] = (-2, 'two', np.array([], 'f8'), b'abc')
f.create_dataset('never_written', (3,), dtype=s)
)");
  EXPECT_EQ(TypeOf("/vlen").base(), model::Datatype::Integer(4, true));
}

TEST_P(Hdf5ReadTest, EveryLayout) {
  WriteAndCompare(R"(
a = np.arange(60 * 70, dtype='>i4').reshape(60, 70)
f.create_dataset('contiguous', data=a)
f.create_dataset('one_chunk', data=a, chunks=a.shape)
f.create_dataset('fixed_extent', data=a, chunks=(7, 9))
f.create_dataset('one_unlimited', data=a, chunks=(7, 9), maxshape=(None, 70))
f.create_dataset('all_unlimited', data=a, chunks=(7, 9), maxshape=(None, None))
f.create_dataset('may_grow', data=a, chunks=(7, 9), maxshape=(600, 70), compression='gzip')
sparse = f.create_dataset('sparse', a.shape, 'f4', chunks=(7, 9), fillvalue=-1.5, maxshape=(None, 70)); sparse[8, 10] = 4
f.create_dataset('sparse_gzip', a.shape, 'f4', chunks=(7, 9), fillvalue=2, compression='gzip')[30:40] = 7
f.create_dataset('never_written', (3, 4), 'i8', fillvalue=77)
f.create_dataset('never_written_zero', (3, 4), 'i8')
f.create_dataset('scalar', data=np.float32(2.5))
f.create_dataset('empty', (0, 4), 'i8', maxshape=(None, 4))
dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE); dcpl.set_layout(h5.h5d.COMPACT)
d = h5.h5d.create(f.id, b'compact', h5.h5t.STD_I16BE, h5.h5s.create_simple((5, 6)), dcpl)
d.write(h5.h5s.ALL, h5.h5s.ALL, np.arange(30, dtype='i2').reshape(5, 6))
dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE); dcpl.set_chunk((7, 9)); dcpl.set_alloc_time(h5.h5d.ALLOC_TIME_EARLY)
d = h5.h5d.create(f.id, b'implicit', h5.h5t.STD_I32LE, h5.h5s.create_simple(a.shape), dcpl)
d.write(h5.h5s.ALL, h5.h5s.ALL, a.astype('i4'))
dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE); dcpl.set_chunk((7, 9)); dcpl.set_deflate(4)
assert lib.H5Pset_chunk_opts(dcpl.id, 2) >= 0
d = h5.h5d.create(f.id, b'plain_edges', h5.h5t.STD_I32LE, h5.h5s.create_simple(a.shape), dcpl)
d.write(h5.h5s.ALL, h5.h5s.ALL, a.astype('i4'))
)");
  const auto grown = LoadNode(*hierarchy_, "/may_grow");
  EXPECT_THAT(grown->array().shape,
              ElementsAre(model::Dimension{600, ""}, model::Dimension{70, ""}));
  EXPECT_EQ(grown->array().storage.shape, (std::vector<uint64_t>{60, 70}));
  EXPECT_EQ(grown->array().storage.chunk, (std::vector<uint64_t>{7, 9}));
  ASSERT_TRUE(grown->array().storage.filter);
  EXPECT_EQ(grown->array().storage.filter->front().name, "zlib");
  EXPECT_EQ(LoadNode(*hierarchy_, "/all_unlimited")->array().shape[1].size, std::nullopt);
  EXPECT_EQ(LoadNode(*hierarchy_, "/sparse")->array().storage.fillvalue, model::Value(-1.5));
  EXPECT_TRUE(LoadNode(*hierarchy_, "/contiguous")->source->contiguous());
}

TEST_P(Hdf5ReadTest, ChunksAreFoundInFilesWithAUserBlock) {
  test::RunH5py(directory_, R"(
a = np.arange(1000, dtype='i4')
with h5.File('u.h5', 'w', userblock_size=2048) as f:
    f.create_dataset('chunked', data=a, chunks=(100,), compression='gzip')
    f.create_dataset('contiguous', data=a)
    f.create_dataset('absent', (10,), 'i4', fillvalue=5)
with open('u.h5', 'r+b') as f: f.write(b'MATLAB 7.3')
open('a.raw', 'wb').write(a.tobytes())
)");
  hierarchy_ = test::OpenHdf5(directory_, "u.h5");
  const std::string expected = test::ReadFile(directory_ / "a.raw");
  for (const char* path : {"/chunked", "/contiguous"}) {
    EXPECT_THAT(test::ReadWhole(*LoadNode(*hierarchy_, path)->source), IsOkAnd(expected));
  }
  const auto absent = test::ReadWhole(*LoadNode(*hierarchy_, "/absent")->source);
  EXPECT_EQ(absent.value().substr(0, 8), std::string("\5\0\0\0\5\0\0\0", 8));
}

TEST_P(Hdf5ReadTest, FilterMaskOfAChunkIsObeyed) {
  WriteAndCompare(R"(
d = f.create_dataset('masked', (20,), 'i4', chunks=(10,), compression='gzip')
d[:10] = range(10)
d.id.write_direct_chunk((10,), np.arange(100, 110, dtype='i4').tobytes(), 1)
)");
}

TEST_P(Hdf5ReadTest, NumbersThatAnEnumHasNoNameForStay) {
  WriteAndCompare(R"(
def write(name, t, layout, data):
    dcpl = h5.h5p.create(h5.h5p.DATASET_CREATE); dcpl.set_layout(layout)
    d = h5.h5d.create(f.id, name, t, h5.h5s.create_simple(data.shape), dcpl)
    d.write(h5.h5s.ALL, h5.h5s.ALL, data, t)
for order in '<>':
    t = h5.h5t.py_create(h5.enum_dtype({'A': 1, 'B': 300}, order + 'i2'), logical=True)
    data = np.array([0, 1, 300, -5, 7], order + 'i2')
    write(b'compact' + order.encode(), t, h5.h5d.COMPACT, data)
    write(b'contiguous' + order.encode(), t, h5.h5d.CONTIGUOUS, data)
e = h5.enum_dtype({'A': 1}, '>u2')
v = f.create_dataset('in_vlen', (1,), np.dtype([('s', h5.string_dtype()), ('e', e)]))
v[0] = ('x', 9)
f.create_dataset('never_written', (3,), np.dtype([('s', h5.string_dtype()), ('e', e)]))
)");
}

TEST_P(Hdf5ReadTest, AbsentChunksOfVariableSizeAreFilled) {
  WriteAndCompare(R"(
f.create_dataset('absent', (5,), h5.string_dtype(), chunks=(2,), fillvalue='fill')
)");
  // Of chunks beside others not even the library reads its fill value.
  test::RunH5py(directory_, R"(
with h5.File('b.h5', 'w') as f:
    f.create_dataset('d', (5,), h5.string_dtype(), chunks=(2,), fillvalue='fill')[2] = 'x'
)");
  const auto hierarchy = test::OpenHdf5(directory_, "b.h5");
  EXPECT_EQ(ReadVariable(*LoadNode(*hierarchy, "/d")->source),
            Json::parse(R"(["fill", "fill", "x", "fill", "fill"])"));
}

// Among elements of variable size shuffle has no parameters; of 80 bits szip
// makes nothing. The library leaves them out, and says so with each chunk.
TEST_P(Hdf5ReadTest, FiltersThatCannotBeAppliedAreLeftOutByTheirMask) {
  WriteAndCompare(R"(
s = f.create_dataset('text', (6,), h5.string_dtype(), chunks=(4,), compression='gzip', shuffle=True)
s[:] = ['a', 'bc', '', 'def', 'g', 'h']
t = f.create_dataset('vlen', (2,), h5.vlen_dtype('i4'), chunks=(2,), shuffle=True, compression='lzf')
t[0] = [1, 2]; t[1] = []
plist = h5.h5p.create(h5.h5p.DATASET_CREATE)
plist.set_chunk((16,)); plist.set_shuffle(); plist.set_shuffle(); plist.set_deflate(5)
d = h5.h5d.create(f.id, b'shuffled_twice', h5.h5t.STD_I32LE, h5.h5s.create_simple((40,)), plist)
d.write(h5.h5s.ALL, h5.h5s.ALL, np.arange(40, dtype='i4'))
)");
}

TEST_P(Hdf5ReadTest, AChunkThatSaysThatAnImpossibleFilterWasAppliedIsCorrupt) {
  test::RunH5py(directory_, R"(
with h5.File('a.h5', 'w') as f:
    plist = h5.h5p.create(h5.h5p.DATASET_CREATE)
    plist.set_chunk((4,)); plist.set_shuffle(); plist.set_shuffle()
    d = h5.h5d.create(f.id, b'd', h5.h5t.STD_I32LE, h5.h5s.create_simple((8,)), plist)
    d.write_direct_chunk((0,), bytes(16), 3)
    d.write_direct_chunk((4,), bytes(16), 0)
)");
  hierarchy_ = test::OpenHdf5(directory_, "a.h5");
  const auto node = LoadNode(*hierarchy_, "/d");
  ASSERT_TRUE(node->source);
  EXPECT_THAT(test::ReadChunk(*node->source, {0}), IsOk());
  const auto corrupt = test::ReadChunk(*node->source, {1});
  ASSERT_FALSE(corrupt);
  EXPECT_EQ(corrupt.error().code(), model::ErrorCode::kCorrupt);
  EXPECT_THAT(corrupt.error().message(), HasSubstr("shuffle: 0 parameters"));
}

// So ONT's basecallers write the last chunk of FAST5 files.
TEST_P(Hdf5ReadTest, ChunksAtTheEdgeMayEndWithTheLastElement) {
  WriteAndCompare(R"(
import zlib
def shuffled(b, size): return np.frombuffer(b, 'u1').reshape(-1, size).T.tobytes()
move = (np.arange(2500) % 251).astype('u1')
d = f.create_dataset('move', (2500,), 'u1', chunks=(1024,), compression='gzip')
for i in range(3): d.id.write_direct_chunk((i * 1024,), zlib.compress(move[i * 1024:][:1024].tobytes()))
trace = np.arange(300 * 8, dtype='>i2').reshape(300, 8)
d = f.create_dataset('trace', (300, 8), '>i2', chunks=(128, 8), compression='gzip', shuffle=True)
for i in range(3): d.id.write_direct_chunk((i * 128, 0), zlib.compress(shuffled(trace[i * 128:][:128].tobytes(), 2)))
# In a narrower dataset its rows are as long as those of the chunk; the last one ends early.
wide = np.arange(4 * 8, dtype='i4').reshape(4, 8)
d = f.create_dataset('narrow', (3, 5), 'i4', chunks=(4, 8), maxshape=(None, None), compression='gzip')
d.id.write_direct_chunk((0, 0), zlib.compress(wide.tobytes()[:4 * (2 * 8 + 5)]))
d = f.create_dataset('masked', (5,), 'i4', chunks=(8,), maxshape=(None,), compression='gzip')
d.id.write_direct_chunk((0,), np.arange(5, dtype='i4').tobytes(), 1)
t = f.create_dataset('text', (3,), 'S4', chunks=(5,), maxshape=(None,), compression='gzip')
t.id.write_direct_chunk((0,), zlib.compress(b'ab\0xcd\0\0efgh'))
)");
}

TEST_P(Hdf5ReadTest, ChunksThatLackElementsOfTheDatasetAreCorrupt) {
  test::RunH5py(directory_, R"(
import zlib
with h5.File('a.h5', 'w') as f:
    d = f.create_dataset('d', (10,), 'i4', chunks=(4,), compression='gzip')
    for i in range(3): d.id.write_direct_chunk((i * 4,), zlib.compress(bytes(7)))
)");
  hierarchy_ = test::OpenHdf5(directory_, "a.h5");
  const auto node = LoadNode(*hierarchy_, "/d");
  ASSERT_TRUE(node->source);
  EXPECT_THAT(test::ReadChunk(*node->source, {0}),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("7 bytes, expected 16")));
  EXPECT_THAT(
      test::ReadChunk(*node->source, {2}),
      test::IsError(model::ErrorCode::kCorrupt,
                    HasSubstr("7 bytes, but the last element of the dataset ends at 8")));
}

// To libhdf5 it is all one whether the filter is optional.
TEST_P(Hdf5ReadTest, UnknownFiltersMatterWhereTheyWereApplied) {
  WriteAndCompare(R"(
def make(name):
    p = h5.h5p.create(h5.h5p.DATASET_CREATE); p.set_chunk((6,)); p.set_filter(4711, h5.h5z.FLAG_OPTIONAL, (1, 2)); p.set_deflate(3)
    return h5.h5d.create(f.id, name, h5.h5t.STD_I32LE, h5.h5s.create_simple((24,)), p)
a = np.arange(24, dtype='i4')
make(b'optional').write(h5.h5s.ALL, h5.h5s.ALL, a)
make(b'nothing')
)");
  test::RunH5py(directory_, R"(
import zlib
with h5.File('b.h5', 'w') as f:
    for name, masks in (('some', (1, 0, 1, 1)), ('all', (0, 0, 0, 0))):
        p = h5.h5p.create(h5.h5p.DATASET_CREATE); p.set_chunk((6,)); p.set_filter(4711, h5.h5z.FLAG_OPTIONAL, (1, 2)); p.set_deflate(3)
        d = h5.h5d.create(f.id, name.encode(), h5.h5t.STD_I32LE, h5.h5s.create_simple((24,)), p)
        for i, mask in enumerate(masks): d.write_direct_chunk((i * 6,), zlib.compress(bytes(24)), mask)
)");
  const auto hierarchy = test::OpenHdf5(directory_, "b.h5");
  const auto some = LoadNode(*hierarchy, "/some");
  ASSERT_TRUE(some->source);
  EXPECT_THAT(test::ReadChunk(*some->source, {0}), IsOk());
  EXPECT_THAT(test::ReadChunk(*some->source, {1}),
              test::IsError(model::ErrorCode::kUnsupported,
                            HasSubstr("filter 4711: unknown filter \"4711\"")));
  const auto all = LoadNode(*hierarchy, "/all");
  EXPECT_FALSE(all->source);
  ASSERT_TRUE(all->error);
  EXPECT_THAT(all->error->message(), HasSubstr("filter 4711: unknown filter"));
}

INSTANTIATE_TEST_SUITE_P(Versions, Hdf5ReadTest, ::testing::Values("earliest", "latest"));

}  // namespace
}  // namespace ndlfs::backends
