// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "backends/base/checked.h"
#include "backends/detection.h"
#include "backends/format/npy/npy_array.h"
#include "backends/store/local/local_source.h"
#include "tests/support/detect_file.h"
#include "tests/support/memory_store.h"
#include "tests/support/numpy_text.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// An NPY file of this header, whose length is told truly.
std::string MakeNpy(const std::string& header, const std::string& data = {}, int version = 1) {
  return std::string(kNpyMagic) + static_cast<char>(version) + '\0' +
         Little(header.size(), version == 1 ? 2 : 4) + header + data;
}

std::string Header(const std::string& descr, const std::string& order,
                   const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}\n";
}

model::Result<std::shared_ptr<const Node>> LoadBytes(const std::string& npy,
                                                     const OpenOptions& options = {}) {
  auto store = std::make_shared<test::MemoryStore>();
  store->Put("a.npy", npy);
  return LoadNpyArray(store, "a.npy", "a", FlatAccess::kRandom, options);
}

// Why these bytes are no array at all.
std::string ErrorOf(const std::string& npy) {
  const auto node = LoadBytes(npy);
  return node ? "accepted" : node.error().message();
}

// Why the data of these bytes cannot be shown although the header is sound.
std::string DataErrorOf(const std::string& npy) {
  const auto node = LoadBytes(npy);
  if (!node) return "no node: " + node.error().message();
  if (!(*node)->error) return "no error";
  EXPECT_EQ((*node)->source, nullptr);
  return (*node)->error->message();
}

// Files that NumPy wrote, with what NumPy reads from them.
class NpyGoldenTest : public ::testing::Test {
 protected:
  // Runs `script`, which calls save(name, array, ...), and compares all of
  // `count` files.
  void Check(const std::string& script, size_t count) {
    const std::string prelude = std::string(test::kCanonPython) + R"PY(
import io, os, warnings
os.chdir(DIRECTORY)
warnings.simplefilter('ignore')
def little(a):
    out = np.zeros(a.shape, a.dtype.newbyteorder('<'))
    out[...] = a
    return out.tobytes()
def save(name, a, version=None):
    with open(name + '.npy', 'wb') as f: np.lib.format.write_array(f, a, version=version)
    b = np.load(name + '.npy', max_header_size=1 << 20)
    assert b.dtype == a.dtype and b.shape == a.shape
    with open(name + '.raw', 'wb') as f: f.write(little(b))
    print(name, ','.join(map(str, b.shape)) or '-', canon(b.dtype))
def fill(dtype, shape):
    a = np.zeros(shape, dtype)
    bytes = np.random.default_rng(5).integers(0, 256, a.nbytes, dtype='u1')
    if a.dtype.kind == 'b': return (bytes & 1).view(dtype).reshape(shape)
    if a.dtype.kind == 'U': bytes = (bytes.reshape(-1, 4) * np.array([1, 1, 0, 0], 'u1')).ravel(); bytes = bytes.view('<u4').astype(a.dtype.byteorder.replace('|', '<') + 'u4').view('u1')
    return np.frombuffer(bytes.tobytes(), dtype).reshape(shape)
)PY";
    std::string full = prelude + script;
    full.replace(full.find("DIRECTORY"), 9, "'" + directory_.path().string() + "'");
    const auto lines = test::Lines(test::RunPython(full));
    ASSERT_EQ(lines.size(), count);
    for (const std::string& line : lines) CheckLine(line);
  }

  std::optional<std::string> CharsetOf(const std::string& file) {
    const auto root = LocalSource::Open(directory_.path()).value();
    const auto node = NpyFormat().Open(root, file, {}).value()->Load("/").value();
    EXPECT_EQ(node->source->spec().dtype.charset() == model::Charset::kLatin1,
              node->array().storage.charset == "iso-8859-1");
    return node->array().storage.charset;
  }

 private:
  void CheckLine(const std::string& line) {
    SCOPED_TRACE(line);
    const size_t first = line.find(' ');
    const size_t second = line.find(' ', first + 1);
    const std::string name = line.substr(0, first);
    const auto root = LocalSource::Open(directory_.path()).value();
    const Format* format = DetectFile(*root, name + ".npy");
    ASSERT_EQ(format, &NpyFormat());
    const auto hierarchy = format->Open(root, name + ".npy", {});
    ASSERT_THAT(hierarchy, test::IsOk());
    const auto node = (*hierarchy)->Load("/").value();
    ASSERT_FALSE(node->error) << node->error->message();
    EXPECT_EQ(node->array().name, name);
    EXPECT_EQ(ShapeText(*node), line.substr(first + 1, second - first - 1));
    const auto order = node->array().storage.endian;
    EXPECT_EQ(
        test::Canon(node->array().type.WithOrder(order.value_or(model::ByteOrder::kLittle))),
        order ? line.substr(second + 1) : test::Canon(node->array().type));
    const std::string expected = test::ReadFile(directory_ / (name + ".raw"));
    EXPECT_TRUE(test::ReadThroughChunks(*node->source) == expected);
    if (node->source->contiguous()) {
      EXPECT_TRUE(test::ReadThroughRange(*node->source) == expected);
    }
  }
  static std::string ShapeText(const Node& node) {
    std::string text;
    for (const auto& dimension : node.array().shape) {
      text += (text.empty() ? "" : ",") + std::to_string(*dimension.size);
    }
    return text.empty() ? "-" : text;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(NpyGoldenTest, EveryScalarTypeInBothByteOrdersAndArrayOrders) {
  Check(R"PY(
types = '? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 f16 c8 c16 c32 S1 S7 U1 U5 V3 M8[ns] m8[25s] M8[D]'.split()
for t in types:
    for o in '<>':
        a = fill(o + t if t != '?' else t, (3, 4, 5))
        n = t.replace('?', 'b1').replace('[', '').replace(']', '') + ('be' if o == '>' else 'le')
        save(n, a)
        save(n + '_f', np.asfortranarray(a))
)PY",
        96);
}

TEST_F(NpyGoldenTest, EveryVersionOfTheFormat) {
  Check(R"PY(
a = fill('<f4', (7, 3))
for v in (1, 2, 3): save('v%d' % v, a, (v, 0))
wide = np.zeros(2, [('field_%06d' % i, '<i2') for i in range(4000)])
wide['field_000007'] = (3, 4)
save('wide_needs_version_2', wide)
save('utf8_needs_version_3', np.array([(1, 2), (3, 4)], [('\u00fcb\u03b1', '<i4'), ('\U0001f600', '>i2')]))
save('latin1_in_version_1', np.zeros(2, [('\u00fc', '<i4')]), (1, 0))
)PY",
        6);
}

TEST_F(NpyGoldenTest, EveryKindOfShape) {
  Check(R"PY(
save('scalar', np.array(-1.5))
save('one', fill('<i4', (1,)))
save('empty', fill('<i4', (0,)))
save('empty_2d', fill('>i4', (3, 0, 2)))
save('empty_fortran', np.asfortranarray(fill('<i4', (3, 0, 2))))
save('row_fortran', np.asfortranarray(fill('<i4', (1, 6, 1))))
save('many_dimensions', fill('<i2', (1, 2) * 8))
save('many_dimensions_fortran', np.asfortranarray(fill('<i2', (1, 2) * 8)))
save('strided', fill('<i4', (20, 20))[::2, ::-3])
save('transposed', fill('<i4', (20, 30)).T)
)PY",
        10);
}

TEST_F(NpyGoldenTest, BytesThatAreNotUtf8AreLatin1InAllElements) {
  Check(R"PY(
save('latin1', np.array([b'caf\xe9', 'caf\u00e9'.encode()], 'S5'))
save('utf8', np.array(['caf\u00e9'.encode(), b'x'], 'S5'))
)PY",
        2);
  EXPECT_EQ(CharsetOf("latin1.npy"), "iso-8859-1");
  EXPECT_EQ(CharsetOf("utf8.npy"), "ascii");
}

TEST_F(NpyGoldenTest, StructsOfAnyNesting) {
  Check(R"PY(
inner = np.dtype([('x', '<f4'), ('y', 'S3', (2, 2))])
types = [
    np.dtype([('a', '<i2'), ('b', '>f8')]),
    np.dtype([('a', 'i1'), ('b', inner), ('c', inner, (3,)), ('d', '?')]),
    np.dtype([('a', 'i1'), ('b', 'f8'), ('c', [('d', 'i2'), ('e', 'i8'), ('f', 'i1')])], align=True),
    np.dtype({'names': ['p', 'q'], 'formats': ['<i4', '>u2'], 'offsets': [3, 11], 'itemsize': 20}),
    np.dtype([(('a title', 'a'), '<f4'), ('t', '<M8[us]'), ('u', '>U3'), ('z', '<c8')]),
    np.dtype([('v', 'V5'), ('w', ('<i2', (2, 3)))]),
]
for i, t in enumerate(types):
    a = np.zeros((4, 3), t)
    flat = np.frombuffer(np.random.default_rng(i).integers(1, 100, a.nbytes, dtype='u1').tobytes(), t).reshape(a.shape)
    for n in t.names:
        if t[n].kind not in 'U' and t[n].names is None: a[n] = flat[n]
    if 'u' in t.names: a['u'] = 'x\u00e9\u03b1'
    if i in (1, 2): a[('b', 'c')[i - 1]][('x', 'e')[i - 1]] = np.arange(12).reshape(4, 3)
    save('struct%d' % i, a)
    save('struct%d_f' % i, np.asfortranarray(a))
)PY",
        12);
}

TEST_F(NpyGoldenTest, FortranOrderLargerThanABand) {
  // More than 8 MiB, so that there are many tiles, with edges in every dimension. Large
  // elements make fewer to compare.
  Check(R"PY(
save('cube', np.asfortranarray(np.arange(83 * 91 * 101, dtype='>c16').reshape(83, 91, 101)))
save('flat', np.asfortranarray(np.arange(3 * 700001, dtype='<f4').reshape(3, -1)))
save('tall', np.asfortranarray(np.arange(3 * 175003, dtype='<c16').reshape(-1, 3)))
)PY",
        3);
}

TEST_F(NpyGoldenTest, NameIsThatOfTheFileWithoutItsExtension) {
  Check("save('v1.2', np.arange(3))\n", 1);
}

TEST(NpyTest, HeaderMayBeWrittenInOtherWays) {
  const std::string data(24, '\1');
  for (const std::string header : {
           "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }          \n",
           "{'shape':(3,),'fortran_order':False,'descr':'<f8'}",
           "  {  \"descr\" : \"<f8\" ,\n\t'fortran_order': False, 'shape': (3L,)}  ",
           "{'descr': 'float64', 'fortran_order': True, 'shape': (3,)}",
           "{'descr': '=f8', 'fortran_order': False, 'shape': (3, )} # with a comment",
           "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}",
           "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}",
           "{'descr': ('<f4', 2), 'fortran_order': False, 'shape': (3,)}",
           "{'descr': u'<f8', 'fortran_order': False, 'shape': (3,)}",
       }) {
    for (int version = 1; version <= 3; ++version) {
      const auto node = LoadBytes(MakeNpy(header, data, version));
      ASSERT_THAT(node, test::IsOk()) << header;
      ASSERT_FALSE((*node)->error) << header << (*node)->error->message();
      EXPECT_EQ(test::ReadThroughRange(*(*node)->source), data) << header;
      EXPECT_EQ(test::ReadThroughChunks(*(*node)->source), data) << header;
    }
  }
}

TEST(NpyTest, WhatFollowsTheDataDoesNotMatter) {
  const auto node = LoadBytes(MakeNpy(Header("'|u1'", "False", "(3,)"), "abcdef"));
  ASSERT_THAT(node, test::IsOk());
  EXPECT_EQ(test::ReadThroughRange(*(*node)->source), "abc");
}

TEST(NpyTest, ElementsWithoutBytesNeedNoData) {
  for (const char* descr : {"'<U0'", "'|S0'", "'|V0'", "[]"}) {
    for (const char* order : {"True", "False"}) {
      const auto node = LoadBytes(MakeNpy(Header(descr, order, "(3, 2)")));
      ASSERT_THAT(node, test::IsOk()) << descr;
      EXPECT_FALSE((*node)->error) << descr;
      EXPECT_EQ(test::ReadThroughRange(*(*node)->source), "") << descr;
    }
  }
}

TEST(NpyTest, DataShorterThanTheShape) {
  EXPECT_EQ(DataErrorOf(MakeNpy(Header("'<f8'", "False", "(3, 2)"), std::string(47, 'x'))),
            "47 bytes of data, the shape needs 48");
  EXPECT_EQ(DataErrorOf(MakeNpy(Header("'<f8'", "True", "(3, 2)"))),
            "0 bytes of data, the shape needs 48");
  const auto node = LoadBytes(MakeNpy(Header("'<f8'", "False", "(3, 2)")));
  EXPECT_EQ((*node)->error->code(), model::ErrorCode::kCorrupt);
  EXPECT_EQ((*node)->array().shape[0].size, 3u);
}

// A store in which nothing can be read but the header.
class HeaderOnlyStore final : public Store {
 public:
  HeaderOnlyStore(const std::string& header, model::Result<void> failure)
      : header_size_(header.size()), failure_(std::move(failure)) {
    whole_.Put("a.npy", header + "abcdefgh");
  }
  StoreTraits traits() const override { return {.reads_in_parts = true}; }
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    return whole_.Stat(key);
  }
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return whole_.List(prefix);
  }
  std::string Describe(std::string_view key) const override { return whole_.Describe(key); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (options.range.offset >= header_size_) return model::Propagate(failure_.error());
    return whole_.Read(key, options, reserve);
  }

  test::MemoryStore whole_;
  const uint64_t header_size_;
  const model::Result<void> failure_;
};

TEST(NpyTest, TextWhoseDataAreDamagedIsDescribedAllTheSame) {
  const auto loaded = [](model::Result<void> failure) {
    const std::string npy = MakeNpy(Header("'|S4'", "False", "(2,)"));
    const auto store = std::make_shared<HeaderOnlyStore>(npy, std::move(failure));
    return LoadNpyArray(store, "a.npy", "a", FlatAccess::kRandom, {});
  };
  for (const auto& failure : {model::Result<void>(model::Corrupt("damaged")),
                              model::Result<void>(model::Limit("too large"))}) {
    const auto node = loaded(failure);
    ASSERT_THAT(node, test::IsOk());
    EXPECT_EQ((*node)->array().shape[0].size, 2u);
  }
  EXPECT_THAT(loaded(model::IoError(EIO, "a.npy")),
              test::IsError(model::ErrorCode::kIo, HasSubstr("a.npy")));
}

TEST(NpyTest, ObjectArraysAreRefusedButDescribed) {
  for (const char* descr : {"'|O'", "'O'", "[('a', '<i4'), ('b', '|O')]", "('|O', (2,))"}) {
    const auto npy = MakeNpy(Header(descr, "False", "(4, 5)"), "\x80\3cnumpy.core");
    EXPECT_THAT(DataErrorOf(npy), HasSubstr("Python objects")) << descr;
    const auto node = LoadBytes(npy);
    EXPECT_EQ((*node)->error->code(), model::ErrorCode::kUnsupported);
    ASSERT_EQ((*node)->array().shape.size(), 2u);
    EXPECT_EQ((*node)->array().shape[1].size, 5u);
  }
}

TEST(NpyTest, EmptyFile) { EXPECT_EQ(ErrorOf(""), "not an NPY file: begins with \"\""); }

TEST(NpyTest, WrongMagic) {
  EXPECT_EQ(ErrorOf("NUMPY\x93\1\0v\0{}"), "not an NPY file: begins with \"NUMPY\\x93\"");
  EXPECT_EQ(ErrorOf("\x93NUM"), "not an NPY file: begins with \"\\x93NUM\"");
}

TEST(NpyTest, EndsWithinThePrologue) {
  EXPECT_EQ(ErrorOf("\x93NUMPY"), "ends before its version");
  EXPECT_EQ(ErrorOf("\x93NUMPY\1"), "ends before its version");
  EXPECT_EQ(ErrorOf(std::string("\x93NUMPY\1\0", 8)), "ends before the length of its header");
  EXPECT_EQ(ErrorOf(std::string("\x93NUMPY\1\0v", 9)), "ends before the length of its header");
  EXPECT_EQ(ErrorOf(std::string("\x93NUMPY\2\0v\0\0", 11)),
            "ends before the length of its header");
}

TEST(NpyTest, UnknownVersion) {
  for (const std::string version : {"\0\0", "\1\1", "\4\0", "\xff\xff"}) {
    const std::string bytes(version.data(), 2);
    const auto node = LoadBytes(std::string(kNpyMagic) + bytes + std::string(100, ' '));
    EXPECT_THAT(node, test::IsError(model::ErrorCode::kUnsupported, HasSubstr("NPY version ")));
  }
}

TEST(NpyTest, HeaderLengthBeyondTheFile) {
  EXPECT_EQ(ErrorOf(std::string(kNpyMagic) + std::string("\1\0\xff\xff{}", 6)),
            "ends after 2 of the 65535 bytes of its header");
}

TEST(NpyTest, HeaderLengthBeyondReason) {
  EXPECT_EQ(ErrorOf(std::string(kNpyMagic) + std::string("\2\0\xff\xff\xff\xff{}", 8)),
            "a header of 4294967295 bytes, more than 262144");
}

TEST(NpyTest, HeaderIsNoLiteral) {
  EXPECT_EQ(ErrorOf(MakeNpy("")), "header: byte 0: expected a literal, found the end");
  EXPECT_EQ(ErrorOf(MakeNpy("{'descr': __import__('os').system('true')}")),
            "header: byte 10: expected a literal, found \"_\"");
  EXPECT_EQ(ErrorOf(MakeNpy(Header("'<f8'", "False", "(3,)") + std::string(3, '\0'))),
            "header: byte 56: expected the end, found \"\\x00\"");
}

TEST(NpyTest, HeaderIsNoDict) {
  EXPECT_EQ(ErrorOf(MakeNpy("('descr', 'shape')")),
            "header: expected a dict, found a tuple of 2");
}

TEST(NpyTest, HeaderIsNotUtf8InVersion3) {
  EXPECT_EQ(ErrorOf(MakeNpy("{'\xff'}", "", 3)), "the header is not UTF-8");
}

TEST(NpyTest, KeysMissingOrTooMany) {
  EXPECT_EQ(ErrorOf(MakeNpy("{'descr': '<f8', 'shape': (3,)}")),
            "header: no \"fortran_order\"");
  EXPECT_EQ(ErrorOf(MakeNpy("{'fortran_order': True, 'shape': (3,)}")), "header: no \"descr\"");
  EXPECT_EQ(ErrorOf(MakeNpy("{'descr': '<f8', 'fortran_order': True}")),
            "header: no \"shape\"");
  EXPECT_EQ(
      ErrorOf(MakeNpy("{'descr': '<f8', 'fortran_order': True, 'shape': (3,), 'offset': 3}")),
      "header: unknown key: the string \"offset\"");
  EXPECT_EQ(ErrorOf(MakeNpy("{3: 4}")), "header: unknown key: the integer 3");
}

TEST(NpyTest, ShapeOfAnotherType) {
  const auto error = [](const std::string& shape) {
    return ErrorOf(MakeNpy(Header("'<f8'", "False", shape)));
  };
  EXPECT_EQ(error("3"), "header: shape: expected a tuple, found the integer 3");
  EXPECT_EQ(error("[3]"), "header: shape: expected a tuple, found a list of 1");
  EXPECT_EQ(error("(-1,)"), "header: shape: expected a size, found the integer -1");
  EXPECT_EQ(error("(True,)"), "header: shape: expected a size, found True");
  EXPECT_EQ(error("('3',)"), "header: shape: expected a size, found the string \"3\"");
  EXPECT_THAT(error("(" +
                    [] {
                      std::string ones;
                      for (int i = 0; i < 65; ++i) ones += "1,";
                      return ones;
                    }() +
                    ")"),
              HasSubstr("65 dimensions, more than 64"));
}

TEST(NpyTest, ShapeThatOverflows) {
  const auto error = [](const std::string& descr, const std::string& shape) {
    return ErrorOf(MakeNpy(Header(descr, "False", shape)));
  };
  EXPECT_EQ(error("'|u1'", "(9223372036854775807,)"),
            "header: shape (9223372036854775807) is more than can be addressed");
  EXPECT_THAT(error("'|u1'", "(4294967296, 4294967296)"), HasSubstr("more than can be"));
  EXPECT_THAT(error("'<f8'", "(1152921504606846976,)"), HasSubstr("more than can be"));
  EXPECT_THAT(error("'|S0'", "(9223372036854775807,)"), HasSubstr("more than can be"));
  EXPECT_THAT(error("'|u1'", "(99999999999999999999,)"), HasSubstr("beyond 64 bits"));
  EXPECT_EQ(ErrorOf(MakeNpy(Header("'<f8'", "False", "(9223372036854775807, 0)"))), "accepted");
}

TEST(NpyTest, FortranOrderOfAnotherType) {
  EXPECT_EQ(ErrorOf(MakeNpy(Header("'<f8'", "5", "(3,)"))),
            "header: fortran_order: expected True or False, found the integer 5");
}

TEST(NpyTest, DescrThatIsNoType) {
  const auto error = [](const std::string& descr) {
    return ErrorOf(MakeNpy(Header(descr, "False", "(3,)")));
  };
  EXPECT_EQ(error("'<x8'"), "header: descr: \"<x8\" is not a NumPy type");
  EXPECT_EQ(error("None"), "header: descr: expected a NumPy type, found None");
  EXPECT_EQ(error("('<f8',)"), "header: descr: expected a NumPy type, found a tuple of 1");
  EXPECT_EQ(error("[('a',)]"),
            "header: descr: expected (name, type) or (name, type, shape), found a tuple of 1");
  EXPECT_EQ(error("['a']"),
            "header: descr: expected (name, type) or (name, type, shape), "
            "found the string \"a\"");
  EXPECT_EQ(error("[(3, '<f8')]"),
            "header: descr: expected the name of a field, found the integer 3");
  EXPECT_EQ(error("[('a', '<f8'), ('a', '<f8')]"),
            "header: descr: two fields are called \"a\"");
  EXPECT_EQ(error("[('a', '<f8', 'x')]"),
            "header: descr: field \"a\": expected a tuple, found the string \"x\"");
  EXPECT_EQ(error("[('a', '<f8', (-1,))]"),
            "header: descr: field \"a\": expected a size, found the integer -1");
  EXPECT_THAT(error("('<f8', (65536, 65536))"), HasSubstr("elements of more than 2147483647"));
}

TEST(NpyTest, HugeElementsInFortranOrderAreBeyondTheChunkLimit) {
  OpenOptions options;
  options.max_chunk_size = 1000;
  const std::string npy = MakeNpy(Header("'|V1001'", "True", "(2, 2)"), std::string(4004, 'x'));
  const auto node = LoadBytes(npy, options);
  ASSERT_THAT(node, test::IsOk());
  EXPECT_THAT((*node)->error->message(), HasSubstr("elements of 1001 bytes to be decoded"));
}

TEST(NpyFormatTest, IsToldByTheNameAlone) {
  EXPECT_TRUE(MayBeStoreFile("a.npy"));
  EXPECT_TRUE(MayBeStoreFile("A.NPY"));
  EXPECT_FALSE(MayBeStoreFile(".npy"));
  EXPECT_FALSE(MayBeStoreFile("npy"));
  EXPECT_FALSE(MayBeStoreFile("a.npy.txt"));
}

class NpyFileTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& path) {
    return NpyFormat().Open(LocalSource::Open(directory_.path()).value(), path, {});
  }
  test::TemporaryDirectory directory_;
};

TEST_F(NpyFileTest, FileThatIsNoneIsFoundAndSaysWhy) {
  test::WriteFile(directory_ / "bad.npy", "text");
  const auto root = LocalSource::Open(directory_.path()).value();
  EXPECT_EQ(DetectFile(*root, "bad.npy"), &NpyFormat());
  EXPECT_THAT(Open("bad.npy"), test::IsError(model::ErrorCode::kBadInput,
                                             "bad.npy: not an NPY file: begins with \"text\""));
  EXPECT_EQ(DetectFile(*root, "none.npy"), nullptr);
  std::filesystem::create_directory(directory_ / "folder.npy");
  EXPECT_EQ(DetectFile(*root, "folder.npy"), nullptr);
}

TEST_F(NpyFileTest, HoldsOneArrayAtItsRoot) {
  std::filesystem::create_directory(directory_ / "runs");
  test::WriteFile(directory_ / "runs/\xfc.npy",
                  MakeNpy(Header("'>i2'", "False", "(2,)"), "abcd"));
  const auto hierarchy = Open("runs/\xfc.npy").value();
  EXPECT_EQ(hierarchy->format(), "NPY");
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(IsEmpty()));
  EXPECT_THAT(hierarchy->Load("/x"),
              test::IsError(model::ErrorCode::kNotFound, HasSubstr("one array")));
  const auto node = hierarchy->Load("/").value();
  EXPECT_EQ(node->array().name, "\xc3\xbc");  // no UTF-8: taken as Latin-1
  EXPECT_EQ(node->array().storage.endian, model::ByteOrder::kBig);
  EXPECT_EQ(node->array().storage.chunk, std::nullopt);
  EXPECT_GT(node->mtime_ns, 0);
}

TEST_F(NpyFileTest, VersionChangesWithTheFile) {
  test::WriteFile(directory_ / "a.npy", MakeNpy(Header("'|u1'", "False", "(2,)"), "ab"));
  const auto hierarchy = Open("a.npy").value();
  const auto before = hierarchy->Version("/");
  EXPECT_EQ(*before, *hierarchy->Version("/"));
  test::WriteFile(directory_ / "b.npy", MakeNpy(Header("'|u1'", "False", "(3,)"), "abc"));
  std::filesystem::rename(directory_ / "b.npy", directory_ / "a.npy");
  EXPECT_NE(*before, *hierarchy->Version("/"));
}

// Properties of the tiles that Fortran order is read in.
struct TileCase {
  std::vector<uint64_t> shape;
  uint64_t item_size;

  friend void PrintTo(const TileCase& tile, std::ostream* out) {
    *out << ::testing::PrintToString(tile.shape) << " of " << tile.item_size;
  }
};

class FortranTileShapeTest : public ::testing::TestWithParam<TileCase> {};

TEST_P(FortranTileShapeTest, TilesAreWithinBounds) {
  const auto& [shape, item_size] = GetParam();
  const auto tile = FortranTileShape(shape, item_size);
  ASSERT_EQ(tile.size(), shape.size());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    EXPECT_GE(tile[dim], 1u);
    EXPECT_LE(tile[dim], shape[dim]);
  }
  const auto size = CheckedProduct(tile, item_size);
  ASSERT_TRUE(size);
  EXPECT_LE(*size, std::max<uint64_t>(uint64_t{8} << 20, item_size));
}

INSTANTIATE_TEST_SUITE_P(
    All, FortranTileShapeTest,
    ::testing::Values(TileCase{{1024, 1024, 1024}, 4}, TileCase{{3, 1'000'000'000}, 4},
                      TileCase{{1'000'000'000, 3}, 4}, TileCase{{100'000, 100'000}, 8},
                      TileCase{{2, 3, 5, 100'000'000}, 1}, TileCase{{5000, 5000}, 1},
                      TileCase{{uint64_t{1} << 30, uint64_t{1} << 30}, 1},
                      TileCase{{10, 10}, uint64_t{1} << 30}, TileCase{{10, 10}, 8},
                      TileCase{{2000, uint64_t{1} << 40}, 1}, TileCase{{1}, uint64_t{1} << 30},
                      TileCase{{1, 1, 1, 50'000'000, 1}, 1}));

TEST(FortranTileShapeTest, SmallArraysAreOneTile) {
  EXPECT_THAT(FortranTileShape({100, 200, 3}, 8), ElementsAre(100, 200, 3));
}

TEST(FortranTileShapeTest, BandsOfRowsStaySmallAndRunsLong) {
  // A row is 64 KiB: 128 of them make 8 MiB, in runs of 1 KiB, and more would
  // still be allowed to get nearer to 4 KiB.
  EXPECT_EQ(FortranTileShape({8192, 8192}, 8)[0], 512u);
  // Here 8 MiB are enough for runs of 4 KiB.
  EXPECT_EQ(FortranTileShape({1'000'000, 100}, 8)[0], 10485u);
}

TEST(FortranTileShapeTest, AFewLongRowsAreReadTogether) {
  // One row alone would mean a run for each element.
  const auto tile = FortranTileShape({3, 1'000'000'000}, 4);
  EXPECT_EQ(tile[0], 3u);
  EXPECT_GE(tile[1] * 12, 60'000u);
}

}  // namespace
}  // namespace ndlfs::backends
