// SPDX-License-Identifier: MIT
//
// How work grows: counts allocations and calls to the store, for n, 4n and 16n objects.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/zarr/zarr_format.h"
#include "cache/array_reader.h"
#include "tests/fs/fake_store.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

// The allocator of all of this executable. Never fails here.
void* operator new(size_t size) {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ndlfs::fs::fake {
namespace {

constexpr uint64_t kFewest = 100;
constexpr double kMostExponent = 1.1;

using Work = std::function<uint64_t(uint64_t)>;

// Compares `work(n)` for n, 4n and 16n.
void ExpectLinear(const Work& work) {
  const auto one = static_cast<double>(work(kFewest));
  const auto four = static_cast<double>(work(4 * kFewest));
  const auto sixteen = static_cast<double>(work(16 * kFewest));
  EXPECT_LE(std::log(sixteen / one) / std::log(16), kMostExponent) << one << ' ' << sixteen;
  EXPECT_LE(std::log(sixteen / four) / std::log(4), kMostExponent) << four << ' ' << sixteen;
}
// The same of work that does not depend on n.
void ExpectConstant(const Work& work) {
  const uint64_t one = work(kFewest);
  const uint64_t sixteen = work(16 * kFewest);
  EXPECT_LE(sixteen, one + one / 8 + 8) << one;
}

uint64_t Allocations(const std::function<void()>& work) {
  const uint64_t before = allocations;
  work();
  return allocations - before;
}

// The mount of a store, "m", of `count` arrays, "a0" and so on.
class World final : public MountTest {
 public:
  explicit World(uint64_t count, bool are_coordinates = false, bool finds_files = true)
      : store_(AddDirectoryStore("m")) {
    store_.AddGroup("/");
    store_.finds_files = finds_files;  // as Zarr does
    for (uint64_t i = 0; i < count; ++i) {
      const std::string path = "/a" + std::to_string(i);
      if (are_coordinates) {
        store_.AddCoordinate(path, "abcd");
      } else {
        store_.AddArray(path, "abcd");
      }
    }
  }
  void TestBody() override {}

  // An array "t" of `count` chunks, of which the first one is stored.
  void AddSparse(uint64_t count) {
    auto& entity = store_.AddArray("/t", "abcd").node.entity;
    std::get<model::Ndarray>(entity).shape = {{StoredArray::kChunk * count, ""}};
    context_.services.array_views = &ArrayViews();
  }

  // What `ls -l` does for the arrays. The files of a group are made of all of them.
  void ListWithAttributes() {
    const auto folder = Find("m").value();
    const auto reader = folder->OpenDirectory().value();
    while (const auto entry = reader->Next().value()) {
      if (entry->type != S_IFDIR) continue;
      const auto node = folder->Lookup(entry->name);
      if (node) (void)(*node)->StatWhenFound();
    }
  }
  using MountTest::context_;
  using MountTest::Find;
  using MountTest::List;
  using MountTest::Pass;
  using MountTest::Read;

  FakeStore& store_;
};

TEST(GrowthTest, ListingOfAGroupIsLinear) {
  ExpectLinear([](uint64_t count) {
    World world(count);
    return Allocations([&] { EXPECT_GT(world.List("m").size(), count); });
  });
}

// Also of formats that find no files without loading objects.
class FormatGrowthTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(FindsFiles, FormatGrowthTest, ::testing::Bool());

// Few objects are still in memory, which costs less: so there is a limit for each, and no
// ratio.
TEST_P(FormatGrowthTest, SecondListingWithAttributesIsLinear) {
  constexpr uint64_t kMostOfObject = 40;  // allocations
  for (const uint64_t count : {100, 400, 1600}) {
    World world(count, /*are_coordinates=*/false, GetParam());
    world.ListWithAttributes();
    world.Pass(std::chrono::seconds(10));
    const int loaded = world.store_.loaded;
    const uint64_t made = Allocations([&] { world.ListWithAttributes(); });
    EXPECT_LE(world.store_.loaded - loaded, 2 * static_cast<int>(count) + 2);
    EXPECT_LE(made, kMostOfObject * count);
  }
}

TEST_P(FormatGrowthTest, MemberIsLoadedAlone) {
  ExpectConstant([](uint64_t count) {
    World world(count, /*are_coordinates=*/false, GetParam());
    const uint64_t made =
        Allocations([&] { EXPECT_TRUE(world.Find("m/a7/data.npy").value()->Stat()); });
    EXPECT_LE(world.store_.loaded, 2);
    EXPECT_EQ(world.store_.listed, 0);
    return made;
  });
}

TEST(GrowthTest, NamesOfExtendedAttributesLoadNoMember) {
  for (const char* name :
       {"user.DOSATTRIB", "user.ndl.kind", "user.ndl.nosuch", "user.attr.x"}) {
    SCOPED_TRACE(name);
    ExpectConstant([&](uint64_t count) {
      World world(count);
      const auto folder = world.Find("m").value();
      const int loaded = world.store_.loaded;
      const uint64_t made = Allocations([&] { (void)folder->GetExtendedAttribute(name); });
      EXPECT_LE(world.store_.loaded - loaded, 1);
      return made;
    });
  }
  ExpectConstant([](uint64_t count) {
    World world(count);
    const auto folder = world.Find("m").value();
    return Allocations([&] { EXPECT_TRUE(folder->ListExtendedAttributes()); });
  });
}

// Names are read once, from left to right, whatever is in them.
TEST(GrowthTest, NamesOfSlicesAreReadOnce) {
  for (const char* item : {"0,", "0:1,", "...,", "x=0,", "mean:x=2,", "axes:x,", "chunks:1,",
                           "order=F,", "[", "].", "].npy", "data.", ":", "#", "%2F", "a0."}) {
    for (const char* name : {"m/a0/data[{}].npy", "m/a0/values[{}0].zarr", "m/a0/a0[{}.txt",
                             "m/data[{}].nc", "m/data[{}].dods", "m/data[{}].dap", "m/{}"}) {
      SCOPED_TRACE(std::string(item) + name);
      ExpectLinear([&](uint64_t count) {
        World world(3);
        std::string items;
        for (uint64_t i = 0; i < count; ++i) items += item;
        const std::string path = fmt::format(fmt::runtime(name), items);
        (void)world.Find("m/a0/data.npy");
        return Allocations([&] { (void)world.Find(path); });
      });
    }
  }
}

TEST(GrowthTest, DocumentIsWrittenOnceWhateverItTakes) {
  ExpectLinear([](uint64_t count) {
    World world(count, /*are_coordinates=*/true);
    const auto describe = [&] { return world.Find("m/.ndl.yaml").value()->Stat()->size; };
    FileSize size;
    const uint64_t made = Allocations([&] { size = describe(); });
    // More arrays than are kept in memory, and looks that are no longer fresh.
    world.Pass(std::chrono::seconds(10));
    const int loaded = world.store_.loaded;
    EXPECT_EQ(describe(), size);
    EXPECT_LE(world.store_.loaded - loaded, 1);
    return made;
  });
}

TEST(GrowthTest, SizeOfLinesIsLinear) {
  ExpectLinear([](uint64_t count) {
    World world(0);
    world.store_.AddArray("/t", std::string(StoredArray::kChunk * count, 'x'));
    const auto file = world.Find("m/t/data.jsonl").value();
    return Allocations([&] { EXPECT_EQ(file->Stat()->size, 4 * StoredArray::kChunk * count); });
  });
}

TEST(GrowthTest, LinesAndMeansOfAbsentChunksAreLinear) {
  ExpectLinear([](uint64_t count) {
    World world(0);
    world.AddSparse(count);
    const auto file = world.Find("m/t/data.jsonl").value();
    return Allocations([&] { EXPECT_TRUE(file->Stat()); });
  });
  ExpectLinear([](uint64_t count) {
    World world(0);
    world.AddSparse(count);
    const std::string name = fmt::format("m/t/data[mean:{}].npy", StoredArray::kChunk * count);
    return Allocations([&] { EXPECT_TRUE(world.Read(name)); });
  });
}

// The cache has room for a few pages of the index.
TEST(GrowthTest, ReadsInALargeShardDoNotReadItsIndexAgain) {
  for (const uint64_t chunks : {70'000, 1'120'000}) {
    auto store = std::make_shared<MemoryStore>();
    store->Put(
        "zarr.json",
        fmt::format(
            R"({{"zarr_format": 3, "node_type": "array", "shape": [{0}], "data_type": "uint8",)"
            R"("fill_value": 0, "chunk_grid": {{"name": "regular", "configuration":)"
            R"({{"chunk_shape": [{0}]}}}}, "chunk_key_encoding": {{"name": "default"}}, "codecs":)"
            R"([{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [1], "codecs":)"
            R"([{{"name": "bytes"}}], "index_codecs": [{{"name": "bytes", "configuration":)"
            R"({{"endian": "little"}}}}]}}}}]}})",
            chunks));
    std::vector<uint64_t> index;
    for (uint64_t i = 0; i < chunks; ++i) index.insert(index.end(), {i, 1});
    const std::string_view bytes(reinterpret_cast<const char*>(index.data()), 16 * chunks);
    store->Put("c/0", std::string(chunks, 'x').append(bytes));
    const auto hierarchy = backends::OpenZarr(store, "", "m", {}).value();
    cache::ChunkCache cache(uint64_t{1} << 20);
    const cache::ArrayReader reader(hierarchy->Load("/").value()->source, cache);
    const auto read = [&](uint64_t place) {
      std::byte element;
      EXPECT_TRUE(reader.Read(place, {&element, 1}));
    };
    read(0);
    const uint64_t before = store->bytes_read();
    std::mt19937 random(1);
    for (int i = 0; i < 50; ++i) read(random() % chunks);
    constexpr uint64_t kPage = 16 * 16'384;
    EXPECT_LE(store->bytes_read() - before, 50 * (kPage + 1)) << chunks;
  }
}

}  // namespace
}  // namespace ndlfs::fs::fake
