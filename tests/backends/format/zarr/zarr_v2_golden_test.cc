// SPDX-License-Identifier: MIT
//
// Zarr v2 as zarr-python writes it, over data types, compressors and orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/hierarchy.h"
#include "backends/store/local/local_source.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

// Writes the store once; `expected` is path -> elements in hexadecimal, C
// order, little-endian.
constexpr std::string_view kScript = R"(
import sys, itertools, warnings
warnings.filterwarnings("ignore")
import numpy as np, zarr, numcodecs
root = zarr.open_group(TOP, mode="w")

def little(a):
    a = np.ascontiguousarray(a)
    return a.astype(a.dtype.newbyteorder("<")).tobytes().hex()

def put(name, data, chunks, **options):
    z = root.create_dataset(name, shape=data.shape, dtype=data.dtype, chunks=chunks, **options)
    if not options.get("leave_empty"):
        z[...] = data
    print(name, little(z[...]))

rng = np.random.default_rng(1)
def sample(dtype, shape):
    dtype = np.dtype(dtype)
    n = int(np.prod(shape))
    if dtype.kind == "S":
        return np.array([b"ab", b"", b"xyz"] * n)[:n].astype(dtype).reshape(shape)
    if dtype.kind == "U":
        return np.array(["\u00e9b", "", "\U0001f600"] * n)[:n].astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "fc":
        return rng.normal(size=shape).astype(dtype)
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).reshape(shape)

for dtype in ["|b1", "|i1", "|u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">i8", "<f2", ">f2", "<f4",
              ">f4", "<f8", ">f8", "<c8", ">c8", "<c16", ">c16", "|S3", "<U2", ">U2", "<M8[ns]",
              ">M8[D]", "<m8[25s]", "|V5"]:
    for order in "CF":
        put(f"types/{dtype.replace('|', '-')}{order}", sample(dtype, (5, 4)), (2, 3), order=order,
            fill_value=None)

for name, compressor in dict(
        none=None, zlib=numcodecs.Zlib(1), gzip=numcodecs.GZip(1), bz2=numcodecs.BZ2(1),
        lzma=numcodecs.LZMA(), lz4=numcodecs.LZ4(), zstd=numcodecs.Zstd(1),
        blosc_lz4=numcodecs.Blosc("lz4", 5, 1), blosc_lz4hc=numcodecs.Blosc("lz4hc", 5, 0),
        blosc_zlib=numcodecs.Blosc("zlib", 5, 2), blosc_zstd=numcodecs.Blosc("zstd", 5, 2),
        blosclz=numcodecs.Blosc("blosclz", 5, 1)).items():
    for order in "CF":
        put(f"codecs/{name}{order}", sample(">i4", (7, 6, 5)), (3, 4, 2), compressor=compressor,
            order=order)

put("separators/dot", sample("<i4", (4, 4)), (2, 2), dimension_separator=".")
put("separators/slash", sample("<i4", (4, 4)), (2, 2), dimension_separator="/")

struct = np.dtype([("a", ">i2"), ("b", [("x", "<f4"), ("y", ">f8", (2, 3))]), ("s", "S3"),
                   ("u", "<U2"), ("t", "<M8[s]")])
for order in "CF":
    put(f"struct{order}", np.frombuffer(rng.bytes(struct.itemsize * 12), struct).reshape(4, 3),
        (3, 2), order=order, fill_value=None, compressor=numcodecs.Zlib(1))

put("rank0", np.array(7, "<i4"), ())
put("rank0_big", np.array(-3.5, ">f8"), ())
put("empty", np.zeros((0, 3), "<i4"), (1, 3))
put("one", np.arange(3, dtype=">u2"), (3,), compressor=None)
put("larger_chunk", np.arange(3, dtype="<u2"), (10,))

for name, dtype, fill in [("int", "<i4", -7), ("big", ">i4", 258), ("nan", "<f4", np.nan),
                          ("inf", ">f8", -np.inf), ("bool", "|b1", True), ("bytes", "|S4", b"ab"),
                          ("text", "<U3", "\u00e9t\u00e9"), ("complex", "<c8", 1 - 2j),
                          ("void", "|V3", b"\1\2\3"), ("time", "<M8[s]", np.datetime64("NaT", "s")),
                          ("null", "<i4", None)]:
    z = root.create_dataset(f"fills/{name}", shape=(3, 3), chunks=(2, 2), dtype=dtype,
                            fill_value=fill)
    data = z[...]
    if fill is None:
        data[...] = 0
    print(f"fills/{name}", little(data))
z = root.create_dataset("fills/struct", shape=(2,), chunks=(2,), dtype=struct,
                        fill_value=bytes(range(1, struct.itemsize + 1)))
print("fills/struct", little(z[...]))
)";

struct Golden {
  test::TemporaryDirectory directory;
  std::map<std::string, std::string> expected;
  std::shared_ptr<const Hierarchy> hierarchy;
};

const Golden& TheGolden() {
  static const Golden* golden = [] {
    auto* made = new Golden;
    const std::string printed = test::RunPython("TOP = '" + (made->directory / "golden.zarr") +
                                                "'\n" + std::string(kScript));
    for (const std::string& line : test::Lines(printed)) {
      const size_t blank = line.find(' ');
      made->expected[line.substr(0, blank)] = line.substr(blank + 1);
    }
    const auto root = LocalSource::Open(made->directory.path()).value();
    const Format* format = DetectDirectory(*root, "golden.zarr").value();
    made->hierarchy = format->Open(root, "golden.zarr", {}).value();
    return made;
  }();
  return *golden;
}

class ZarrV2GoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::HasZarrPython2()) GTEST_SKIP() << "zarr-python 2 is not installed";
  }
};

TEST_F(ZarrV2GoldenTest, EveryArrayReadsAsZarrPythonReadsIt) {
  const Golden& golden = TheGolden();
  EXPECT_EQ(golden.expected.size(), 52u + 24u + 2u + 2u + 5u + 12u);
  for (const auto& [path, elements] : golden.expected) {
    const auto node = golden.hierarchy->Load("/" + path);
    ASSERT_THAT(node, test::IsOk()) << path;
    ASSERT_FALSE((*node)->error) << path << ": " << (*node)->error->message();
    EXPECT_EQ(test::ToHex(test::ReadThroughChunks(*(*node)->source)), elements) << path;
  }
}

TEST_F(ZarrV2GoldenTest, AnUncompressedSingleChunkIsARangeOfAFile) {
  const auto node = TheGolden().hierarchy->Load("/one");
  ASSERT_THAT(node, test::IsOk());
  EXPECT_EQ(test::ToHex(test::ReadThroughRange(*(*node)->source)),
            TheGolden().expected.at("one"));
  EXPECT_FALSE((*TheGolden().hierarchy->Load("/larger_chunk"))->source->contiguous());
}

TEST_F(ZarrV2GoldenTest, ListsGroupsByName) {
  const Hierarchy& hierarchy = *TheGolden().hierarchy;
  EXPECT_EQ(hierarchy.format(), "Zarr v2");
  EXPECT_THAT(hierarchy.List("/"),
              test::IsOkAnd(testing::ElementsAre("codecs", "empty", "fills", "larger_chunk",
                                                 "one", "rank0", "rank0_big", "separators",
                                                 "structC", "structF", "types")));
  EXPECT_THAT(hierarchy.List("/separators"),
              test::IsOkAnd(testing::ElementsAre("dot", "slash")));
  EXPECT_THAT(hierarchy.List("/separators/slash"), test::IsOkAnd(testing::IsEmpty()));
}

}  // namespace
}  // namespace ndlfs::backends
