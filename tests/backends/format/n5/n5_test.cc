// SPDX-License-Identifier: MIT
//
// N5: datasets as zarr-python's N5Store and Java libraries write them.
#include "backends/format/n5/n5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "backends/detection.h"
#include "backends/format/n5/lz4_block_stream.h"
#include "backends/store/local/local_source.h"
#include "tests/support/memory_store.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::MemoryStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// A block with this header: extents with the fastest first.
std::string Block(const std::vector<uint32_t>& extents, std::string_view elements,
                  int mode = 0) {
  std::string block = BigEndian(mode, 2) + BigEndian(extents.size(), 2);
  for (const uint32_t extent : extents) block += BigEndian(extent, 4);
  return block.append(elements);
}

std::string Dataset(std::string_view dimensions, std::string_view block_size,
                    std::string_view type = "uint8",
                    std::string_view compression = R"({"type": "raw"})") {
  return fmt::format(
      R"({{"dimensions": {}, "blockSize": {}, "dataType": "{}", "compression": {}}})",
      dimensions, block_size, type, compression);
}

class N5Test : public ::testing::Test {
 protected:
  std::shared_ptr<const Hierarchy> Open() { return OpenN5(store_, "top", {}); }
  std::string ReadTop() {
    const auto node = Open()->Load("/");
    if (!node) return "no node: " + node.error().message();
    if ((*node)->error) return "no data: " + (*node)->error->message();
    return test::ReadThroughChunks(*(*node)->source);
  }
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(N5Test, AxesAreReversed) {
  // x is fastest: 3 by 2.
  store_->Put("attributes.json", Dataset("[3, 2]", "[2, 2]"));
  store_->Put("0/0", Block({2, 2}, "abde"));
  store_->Put("1/0", Block({1, 2}, "cf"));
  const auto node = Open()->Load("/").value();
  EXPECT_EQ(node->array().name, "top");
  EXPECT_EQ(node->array().shape[0].size, 2u);
  EXPECT_EQ(node->array().shape[1].size, 3u);
  EXPECT_THAT(node->array().storage.chunk.value(), ElementsAre(2, 2));
  EXPECT_THAT(node->array().storage.filter.value(), IsEmpty());
  EXPECT_EQ(ReadTop(), "abcdef");
}

TEST_F(N5Test, BlocksAtTheEdgeMayBeFull) {
  store_->Put("attributes.json", Dataset("[3]", "[2]"));
  store_->Put("0", Block({2}, "ab"));
  store_->Put("1", Block({2}, "c#"));
  EXPECT_EQ(ReadTop(), "abc");
}

TEST_F(N5Test, AbsentBlocksAreZeros) {
  store_->Put("attributes.json", Dataset("[3]", "[2]", "uint16"));
  store_->Put("1", Block({1}, BigEndian(258, 2)));
  EXPECT_EQ(test::ToHex(ReadTop()), "000000000201");
}

TEST_F(N5Test, BlocksOfVariableLengthThatAreWhole) {
  store_->Put("attributes.json", Dataset("[2]", "[2]"));
  store_->Put("0", Block({2}, BigEndian(2, 4) + "ab", 1));
  EXPECT_EQ(ReadTop(), "ab");
}

TEST_F(N5Test, GroupsNeedNoAttributes) {
  store_->Put("attributes.json", R"({"n5": "2.5.0", "title": "x"})");
  store_->Put("a/b/attributes.json", Dataset("[2]", "[2]"));
  store_->Put("a/b/0", Block({2}, "xy"));
  store_->Put("c/attributes.json", R"({"level": 3})");
  const auto hierarchy = Open();
  EXPECT_EQ(hierarchy->format(), "N5");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("a", "c")));
  EXPECT_THAT(hierarchy->List("/a"), IsOkAnd(ElementsAre("b")));
  EXPECT_THAT(hierarchy->List("/a/b"), IsOkAnd(IsEmpty()));
  const auto root = hierarchy->Load("/").value();
  ASSERT_EQ(root->attributes().size(), 1u);
  EXPECT_EQ(root->attributes()[0].name, "title");
  EXPECT_TRUE(hierarchy->Load("/a").value()->is_group());
  EXPECT_EQ(hierarchy->Load("/c").value()->attributes()[0].name, "level");
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/a/b").value()->source), "xy");
}

TEST_F(N5Test, BlocksAreNoNodes) {
  store_->Put("attributes.json", R"({"n5": "2.5.0"})");
  store_->Put("a/attributes.json", Dataset("[2, 2]", "[1, 1]"));
  store_->Put("a/0/0", Block({1, 1}, "x"));
  for (const char* path : {"/a/0", "/a/0/0", "/none"}) {
    EXPECT_THAT(Open()->Load(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
    EXPECT_THAT(Open()->Version(path), IsError(ErrorCode::kNotFound, HasSubstr(path)));
  }
  for (const char* path : {"", "a", "/a/../a", "/.."}) {
    EXPECT_THAT(Open()->Load(path),
                IsError(ErrorCode::kBadInput, HasSubstr("is no path name")));
  }
}

TEST_F(N5Test, NamedDimensionsAreLinked) {
  store_->Put("attributes.json", R"({"n5": "2.5.0"})");
  const auto named = [](std::string dataset, std::string_view names) {
    dataset.pop_back();
    return dataset + fmt::format(R"(, "_ARRAY_DIMENSIONS": {}, "units": "m"}})", names);
  };
  store_->Put("x/attributes.json", named(Dataset("[3]", "[3]"), R"(["x"])"));
  store_->Put("t/attributes.json", named(Dataset("[3, 2]", "[3, 2]"), R"(["y", "x"])"));
  const auto t = Open()->Load("/t").value();
  EXPECT_EQ(t->array().shape[0].dimcoord, "");
  EXPECT_EQ(t->array().shape[1].dimcoord, "/x");
  ASSERT_EQ(t->attributes().size(), 1u);
  EXPECT_EQ(t->attributes()[0].name, "units");
}

TEST_F(N5Test, VersionFollowsTheAttributes) {
  store_->Put("attributes.json", R"({"n5": "2.5.0"})");
  store_->Put("a/attributes.json", Dataset("[2]", "[2]"));
  const auto hierarchy = Open();
  const auto before = hierarchy->Version("/a").value();
  EXPECT_EQ(hierarchy->Version("/a").value(), before);
  store_->Put("a/attributes.json", Dataset("[5]", "[2]"));
  EXPECT_NE(hierarchy->Version("/a").value(), before);
  EXPECT_EQ(hierarchy->Load("/a").value()->array().shape[0].size, 5u);
}

TEST_F(N5Test, BlocksThatLie) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", "cut short in its header"},
      {Block({4}, "").substr(0, 7), "a block of 7 bytes, cut short in its header"},
      {Block({5}, "abcde"), "a block of extent 5, the blocks of the dataset have 4"},
      {Block({4294967295u}, "abcde"), "a block of extent 4294967295"},
      {Block({4, 1}, "abcd"), "a block of 2 dimensions in a dataset of 1"},
      {Block({4}, "abcd", 2), "a block of mode 2, an object"},
      {Block({4}, "abcd", 3), "a block of mode 3"},
      {Block({4}, BigEndian(3, 4) + "abc", 1), "of variable length, of 3 elements"},
      {Block({4}, "abc"), "3 bytes, expected 4"},
      {Block({2}, "abcd"), "4 bytes, expected 2"},
  };
  store_->Put("attributes.json", Dataset("[4]", "[4]"));
  for (const auto& [block, message] : kCases) {
    store_->Put("0", block);
    EXPECT_THAT(ReadTop(), AllOf(HasSubstr("error: n5 block: "), HasSubstr(message)));
  }
}

TEST_F(N5Test, DatasetsThatAreRefused) {
  struct {
    std::string attributes;
    const char* message;
  } const kCases[] = {
      {"{", "no node: memory/attributes.json: not JSON"},
      {"[]", "no node: memory/attributes.json: expected an object"},
      {Dataset("[-1]", "[2]"), "no node: memory/attributes.json: dimensions: [0]: expected"},
      {Dataset("[4]", "[2, 2]"), "no data: memory/attributes.json: blockSize: chunks of 2"},
      {Dataset("[4]", "[0]"), "blockSize: chunks of extent 0"},
      {Dataset("[4]", "[4]", "object"), "dataType: the string \"object\" is not supported"},
      {Dataset("[4]", "[4]", "float16"), "dataType: the string \"float16\" is not supported"},
      {Dataset("[4]", "[4]", "uint8", "7"), "expected an object, found the number 7"},
      {Dataset("[4]", "[4]", "uint8", "{}"), "compression: \"type\" is missing"},
      {Dataset("[4]", "[4]", "uint8", R"({"type": 1})"), "type: expected a string"},
      {Dataset("[4]", "[4]", "uint8", R"({"type": "jpeg"})"), "unknown compression \"jpeg\""},
      {R"({"dimensions": [4], "blockSize": [4], "dataType": "int8"})",
       "\"compressionType\" is missing"},
      {Dataset("[4000000000]", "[4000000000]"), "--max-chunk-size is 1073741824"},
      {Dataset("[9223372036854775807, 2]", "[1, 1]"), "more than 2^62 bytes"},
  };
  for (const auto& [attributes, message] : kCases) {
    store_->Put("attributes.json", attributes);
    EXPECT_THAT(ReadTop(), HasSubstr(message)) << attributes;
  }
}

TEST_F(N5Test, TheOlderNameOfCompressions) {
  store_->Put("attributes.json",
              R"({"dimensions": [2], "blockSize": [2], "dataType": "int8",
                  "compressionType": "raw"})");
  store_->Put("0", Block({2}, "ab"));
  EXPECT_EQ(ReadTop(), "ab");
}

TEST(N5GoldenTest, ReadsWhatZarrPythonWrites) {
  if (!test::HasZarrPython2()) GTEST_SKIP() << "zarr-python 2 is not installed";
  const test::TemporaryDirectory directory;
  const std::string printed =
      test::RunPython("TOP = '" + (directory / "golden.n5") + "'\n" + R"(
import warnings
warnings.filterwarnings("ignore")
import numpy as np, zarr, numcodecs
root = zarr.group(zarr.N5Store(TOP))
rng = np.random.default_rng(1)
def put(name, data, chunks, compressor):
    z = root.create_dataset(name, data=data, chunks=chunks, compressor=compressor)
    print(name, np.ascontiguousarray(data).astype(data.dtype.newbyteorder("<")).tobytes().hex())
for name, compressor in dict(raw=None, gzip=numcodecs.GZip(5), zlib=numcodecs.Zlib(5),
                             bzip2=numcodecs.BZ2(5), xz=numcodecs.LZMA(preset=1),
                             blosc=numcodecs.Blosc("lz4", 5, 1)).items():
    put(f"codecs/{name}", rng.integers(0, 1000, (5, 7, 3)).astype("i4"), (2, 3, 3), compressor)
for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]:
    put(f"types/{dtype}", np.arange(12).reshape(4, 3).astype(dtype), (3, 2), None)
root["types"].attrs["title"] = "all types"
)");
  const auto source = LocalSource::Open(directory.path()).value();
  const Format* format = DetectDirectory(*source, "golden.n5").value();
  ASSERT_EQ(format, &N5Format());
  const auto hierarchy = format->Open(source, "golden.n5", {}).value();
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("codecs", "types")));
  EXPECT_EQ(hierarchy->Load("/types").value()->attributes()[0].value,
            model::Value("all types"));
  const auto lines = test::Lines(printed);
  EXPECT_EQ(lines.size(), 16u);
  for (const std::string& line : lines) {
    const size_t blank = line.find(' ');
    const auto node = hierarchy->Load("/" + line.substr(0, blank));
    ASSERT_THAT(node, IsOk()) << line;
    ASSERT_FALSE((*node)->error) << (*node)->error->message();
    EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*(*node)->source)), line.substr(blank + 1))
        << line.substr(0, blank);
  }
}

TEST(N5FormatTest, AttributesMayBeAnybodys) {
  const test::TemporaryDirectory directory;
  const auto root = LocalSource::Open(directory.path()).value();
  const std::pair<const char*, bool> kCases[] = {
      {R"({"n5": "2.5.0"})", true},
      {R"({"dimensions": [2], "blockSize": [2], "dataType": "int8"})", true},
      {R"({"title": "something else"})", false},
      {"[]", false},
      {"{", false},
  };
  for (const auto& [attributes, expected] : kCases) {
    std::filesystem::create_directories(directory / "d");
    test::WriteFile(directory / "d/attributes.json", attributes);
    EXPECT_THAT(N5Format().ProbeDirectory(*root, "d"), test::IsOkAnd(expected)) << attributes;
  }
  EXPECT_THAT(N5Format().ProbeDirectory(*root, "none"), test::IsOkAnd(false));
}

// Blocks of Java's LZ4BlockOutputStream, made by Python from LZ4's block
// format and the published XXH32 algorithm.
TEST(Lz4BlockStreamTest, DecodesBlocksOfBothMethods) {
  const std::string printed = test::RunPython(R"(
import numcodecs
M = 0xffffffff
P = [2654435761, 2246822519, 3266489917, 668265263, 374761393]
def rotl(x, r): return ((x << r) | (x >> (32 - r))) & M
def xxh32(data, seed):
    i, n = 0, len(data)
    if n >= 16:
        v = [(seed + P[0] + P[1]) & M, (seed + P[1]) & M, seed, (seed - P[0]) & M]
        while i + 16 <= n:
            for k in range(4):
                lane = int.from_bytes(data[i + 4 * k:i + 4 * k + 4], "little")
                v[k] = rotl((v[k] + lane * P[1]) & M, 13) * P[0] & M
            i += 16
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)) & M
    else:
        h = (seed + P[4]) & M
    h = (h + n) & M
    while i + 4 <= n:
        h = rotl((h + int.from_bytes(data[i:i + 4], "little") * P[2]) & M, 17) * P[3] & M
        i += 4
    while i < n:
        h = rotl((h + data[i] * P[4]) & M, 11) * P[0] & M
        i += 1
    for shift, prime in ((15, P[1]), (13, P[2])):
        h = (h ^ h >> shift) * prime & M
    return h ^ h >> 16
assert xxh32(b"", 0) == 0x02cc5d05 and xxh32(b"Nobody inspects the spammish repetition", 0) == 0xe2293b2f
def block(data, method):
    stored = data if method == 1 else bytes(numcodecs.LZ4().encode(data))[4:]
    check = xxh32(data, 0x9747b28c) & 0x0fffffff
    return (b"LZ4Block" + bytes([method << 4 | 6]) + len(stored).to_bytes(4, "little") +
            len(data).to_bytes(4, "little") + check.to_bytes(4, "little") + stored)
end = b"LZ4Block" + bytes([0x16]) + bytes(12)
print((block(b"abc" * 100, 2) + block(b"xyz", 1) + end).hex())
)");
  std::string encoded;
  const std::string hex = test::Lines(printed).front();
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    encoded += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += "abc";
  expected += "xyz";

  const auto codec = n5::MakeLz4BlockStream();
  std::string decoded(400, '?');
  const auto decode = [&](std::string_view bytes, size_t room) {
    return codec->Decode(AsBytes(bytes),
                         std::as_writable_bytes(std::span(decoded)).first(room));
  };
  ASSERT_THAT(decode(encoded, 303), IsOkAnd(303u));
  EXPECT_EQ(decoded.substr(0, 303), expected);
  EXPECT_THAT(decode(encoded, 302), IsError(ErrorCode::kCorrupt, HasSubstr("more than 302")));
  EXPECT_THAT(decode(encoded.substr(0, 10), 303),
              IsError(ErrorCode::kCorrupt, HasSubstr("cut short")));
  EXPECT_THAT(decode(encoded.substr(0, 30), 303),
              IsError(ErrorCode::kCorrupt, HasSubstr("bytes, 9 are there")));
  std::string damaged = encoded;
  damaged[0] = 'M';
  EXPECT_THAT(decode(damaged, 303), IsError(ErrorCode::kCorrupt, HasSubstr("LZ4Block")));
  damaged = encoded;
  damaged[17] ^= 1;
  EXPECT_THAT(decode(damaged, 303),
              IsError(ErrorCode::kCorrupt, HasSubstr("checksum: stored")));
  damaged = encoded;
  damaged[8] = 0x36;
  EXPECT_THAT(decode(damaged, 303), IsError(ErrorCode::kCorrupt, HasSubstr("method 3")));
  damaged = encoded;
  damaged[21] = static_cast<char>(0xff);
  EXPECT_THAT(decode(damaged, 303), IsError(ErrorCode::kCorrupt, ::testing::_));
}

}  // namespace
}  // namespace ndlfs::backends
