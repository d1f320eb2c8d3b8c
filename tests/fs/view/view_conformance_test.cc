// SPDX-License-Identifier: MIT
//
// What every view promises, for every kind on several types. A new kind is in
// it as soon as it is listed; anything else that implements View is added at
// the end of this file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/prefetcher.h"
#include "fs/view/all_views.h"
#include "fs/view/elements/segmented_view.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;

// A view, and the same where one of its chunks is broken.
struct Implementation {
  std::string name;
  std::function<model::Result<ViewPtr>(cache::ChunkCache&)> make;
  std::function<model::Result<ViewPtr>(cache::ChunkCache&)> make_broken;  // null: it has none

  friend void PrintTo(const Implementation& implementation, std::ostream* out) {
    *out << implementation.name;
  }
};

class ViewConformanceTest : public ::testing::TestWithParam<Implementation> {
 protected:
  ViewPtr Make() {
    auto view = GetParam().make(cache_);
    EXPECT_THAT(view, test::IsOk());
    return *std::move(view);
  }
  // Bytes of `view` from `offset`: as many as there are, up to `size`.
  static std::string ReadAt(const View& view, uint64_t offset, size_t size) {
    std::string out(size, '?');
    const auto count = view.Read(offset, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOk());
    out.resize(count.value_or(0));
    return out;
  }
  static std::string ReadAll(const View& view) {
    const auto size = view.FindSize();
    EXPECT_THAT(size, test::IsOk());
    return ReadAt(view, 0, size.value_or(0) + 100);
  }

  cache::ChunkCache cache_{1 << 20};
  cache::Prefetcher prefetcher_{cache_, 2};
};

TEST_P(ViewConformanceTest, SizeIsWhatReadingGives) {
  const ViewPtr view = Make();
  const auto known = view->size();
  const auto found = view->FindSize();
  ASSERT_THAT(found, test::IsOk());
  if (known) {
    EXPECT_EQ(*known, *found);
  }
  EXPECT_EQ(view->size(), *found) << "known from now on";
  EXPECT_THAT(view->FindSize(), test::IsOkAnd(*found));
  EXPECT_EQ(view->refusal(), std::nullopt);
  std::string whole;
  for (std::string piece; !(piece = ReadAt(*view, whole.size(), 1000)).empty();) {
    whole += piece;
    ASSERT_LE(whole.size(), *found);
  }
  EXPECT_EQ(whole.size(), *found);
}

TEST_P(ViewConformanceTest, EveryPartIsThatOfTheWhole) {
  const ViewPtr view = Make();
  const std::string whole = ReadAll(*view);
  std::mt19937 random(1);
  for (const size_t length : {size_t{1}, size_t{2}, size_t{63}, size_t{500}, whole.size()}) {
    const size_t step = 1 + whole.size() / 200;
    for (size_t offset = 0; offset < whole.size(); offset += 1 + random() % step) {
      ASSERT_EQ(ReadAt(*view, offset, length), whole.substr(offset, length))
          << length << " bytes at " << offset;
    }
  }
}

TEST_P(ViewConformanceTest, ThereIsNothingBehindTheEnd) {
  const ViewPtr view = Make();
  const std::string whole = ReadAll(*view);
  EXPECT_EQ(ReadAt(*view, whole.size(), 10), "");
  EXPECT_EQ(ReadAt(*view, whole.size() + 1, 10), "");
  EXPECT_EQ(ReadAt(*view, uint64_t{1} << 62, 10), "");
  EXPECT_EQ(ReadAt(*view, ~uint64_t{0}, 10), "");
  EXPECT_EQ(ReadAt(*view, 0, 0), "");
  if (!whole.empty()) {
    EXPECT_EQ(ReadAt(*view, whole.size() - 1, 10), whole.substr(whole.size() - 1));
  }
}

TEST_P(ViewConformanceTest, OpenFilesReadTheSame) {
  const ViewPtr view = Make();
  const std::string whole = ReadAll(*view);
  ViewPtr file = view->ForReader(prefetcher_);
  if (file == nullptr) file = view;
  EXPECT_EQ(file->size(), whole.size());
  for (size_t offset = 0; offset < whole.size(); offset += 97) {  // forward
    ASSERT_EQ(ReadAt(*file, offset, 97), whole.substr(offset, 97));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200 && !whole.empty(); ++i) {  // anywhere
    const size_t offset = random() % whole.size();
    ASSERT_EQ(ReadAt(*file, offset, 50), whole.substr(offset, 50));
  }
  EXPECT_EQ(ReadAt(*file, whole.size(), 10), "");
  EXPECT_EQ(ReadAt(*file, ~uint64_t{0}, 10), "");
}

TEST_P(ViewConformanceTest, ThreadsReadTheSame) {
  const std::string whole = ReadAll(*Make());
  const ViewPtr view = Make();  // whose size nobody knows yet
  ViewPtr file = view->ForReader(prefetcher_);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      EXPECT_THAT(view->FindSize(), test::IsOkAnd(whole.size()));
      const View& mine = seed % 2 == 0 && file != nullptr ? *file : *view;
      std::mt19937 random(seed);
      for (int i = 0; i < 100 && !whole.empty(); ++i) {
        const size_t offset = random() % whole.size();
        EXPECT_EQ(ReadAt(mine, offset, 300), whole.substr(offset, 300));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(ViewConformanceTest, BrokenChunkIsAnErrorAndNoShortAnswer) {
  if (!GetParam().make_broken) return;
  const auto view = GetParam().make_broken(cache_);
  ASSERT_THAT(view, test::IsOk());
  // The end is where the chunk is that is broken.
  const std::string whole = ReadAll(*Make());
  for (const ViewPtr& file : {*view, (*view)->ForReader(prefetcher_)}) {
    if (file == nullptr) continue;
    std::string out(whole.size(), '\0');
    EXPECT_THAT(file->Read(0, std::as_writable_bytes(std::span(out))),
                test::IsError(model::ErrorCode::kCorrupt, ::testing::HasSubstr("chunk ")));
  }
}

// Arrays of several types, all in chunks of which the last is not full.

struct Example {
  std::string name;
  Datatype dtype;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> chunk_shape;
  // Decoded, one after the other.
  std::vector<std::string> chunks;
};

// `count` elements of `size` bytes that look like numbers.
std::string RandomBytes(size_t count, size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(count * size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

Example Numbers(std::string name, const Datatype& dtype) {
  Example example{std::move(name), dtype, {7, 90}, {3, 40}, {}};
  for (unsigned chunk = 0; chunk < 9; ++chunk) {
    const size_t rows = chunk / 3 == 2 ? 1 : 3;
    const size_t columns = chunk % 3 == 2 ? 10 : 40;
    example.chunks.push_back(RandomBytes(rows * columns, dtype.size(), chunk));
  }
  return example;
}

Example Texts() {
  Example example{"string", Datatype::String(), {500}, {64}, {}};
  for (size_t begin = 0; begin < 500; begin += 64) {
    std::vector<std::string> elements;
    for (size_t i = begin; i < std::min<size_t>(begin + 64, 500); ++i) {
      elements.push_back(test::Counted(std::string(i % 23, static_cast<char>('a' + i % 26))));
    }
    example.chunks.push_back(test::ElementStream(elements));
  }
  return example;
}

std::vector<Example> Examples() {
  const Datatype small = Datatype::Integer(1, true);
  return {
      Numbers("int8", small),
      Numbers("float64", Datatype::Float64()),
      Numbers("uint16", Datatype::Integer(2, false)),
      Numbers("bool", Datatype::Bool()),
      Numbers("opaque", Datatype::Opaque(5)),
      Numbers("compound", Datatype::PackedCompound({{"a", small},
                                                    {"b", Datatype::Float32()},
                                                    {"c", Datatype::Array(small, {2, 3})}})),
      Numbers("array", Datatype::Array(Datatype::Integer(4, false), {3})),
      {"scalar", Datatype::Float32(), {}, {}, {RandomBytes(1, 4, 1)}},
      {"empty", Datatype::Float32(), {0, 5}, {1, 5}, {}},
      {"elements_of_no_bytes",
       Datatype::FixedString(0, model::Charset::kAscii),
       {3},
       {3},
       {""}},
      Texts(),
  };
}

ArrayInput InputOf(const Example& example, bool broken, cache::ChunkCache& cache) {
  std::map<uint64_t, std::string> chunks;
  for (size_t i = 0; i + (broken ? 1 : 0) < example.chunks.size(); ++i) {
    chunks[i] = example.chunks[i];
  }
  auto node = std::make_shared<backends::Node>();
  node->entity = model::Ndarray();
  node->source = std::make_shared<test::MemoryArray>(example.dtype, example.shape,
                                                     example.chunk_shape, std::move(chunks));
  auto reader = std::make_shared<cache::ArrayReader>(node->source, cache);
  return MakeArrayInput(std::move(node), std::move(reader), {.threads = 2});
}

// Headers for data.raw: they have no element in them.
bool IsHeader(std::string_view file_name) {
  constexpr std::array<std::string_view, 8> kHeaders = {".raw.hdr", ".hdr", ".nhdr", ".mhd",
                                                        ".vrt",     ".xmf", ".bov",  ".ctl"};
  return std::ranges::find(kHeaders, file_name.substr(file_name.find('.'))) != kHeaders.end();
}

// The files of the tree `name`, which is below `node`.
std::vector<std::string> FilesBelow(const ViewNode& node, const std::string& path) {
  const ViewDirectoryPtr directory = DirectoryOf(node);
  if (directory == nullptr) return {path};
  std::vector<std::string> files;
  const auto listing = directory->List();
  for (;;) {
    const auto entry = listing->Next().value();
    if (!entry) break;
    const std::string& name = entry->name;
    const auto below = FilesBelow(directory->Find(name).value(), path + '/' + name);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

// The first files of the tree `name` of an array.
void AddTree(const Example& example, const std::string& name,
             std::vector<Implementation>& all) {
  constexpr size_t kMost = 4;
  cache::ChunkCache cache(1 << 20);
  const auto tree = ArrayViews().Make(InputOf(example, false, cache), name).value();
  std::vector<std::string> files = FilesBelow(tree, "");
  files.resize(std::min(files.size(), kMost));
  for (const std::string& path : files) {
    const auto make = [=](cache::ChunkCache& chunks) -> model::Result<ViewPtr> {
      NDLFS_TRY(ViewNode node, ArrayViews().Make(InputOf(example, false, chunks), name));
      NDLFS_TRY(node, FindBelow(std::move(node), path));
      return FileOf(node);
    };
    std::string title = std::string(ShortName(name)) + path + '_' + example.name;
    std::ranges::replace(title, '/', '_');
    all.push_back({std::move(title), make, {}});
  }
}

std::vector<Implementation> EveryKind() {
  std::vector<Implementation> all;
  cache::ChunkCache cache(1 << 20);
  for (const Example& example : Examples()) {
    for (const ViewName& file : ArrayViews().Names(InputOf(example, false, cache))) {
      if (file.is_directory) {
        if (!file.refusal) AddTree(example, file.name, all);
        continue;
      }
      const auto make = [=](bool broken) {
        return [=](cache::ChunkCache& chunks) {
          return ArrayViews().MakeFile(InputOf(example, broken, chunks), file.name);
        };
      };
      Implementation implementation{
          std::string(ShortName(file.name)) + "_" + example.name, make(false), {}};
      const bool has_bytes = !example.chunks.empty() && !example.chunks.back().empty();
      // A picture shows what can be read, a page no element.
      const bool needs_all =
          !IsHeader(file.name) && !file.name.ends_with(".png") && file.name != "index.html";
      if (has_bytes && needs_all) implementation.make_broken = make(true);
      all.push_back(std::move(implementation));
    }
  }
  return all;
}

std::string NameOf(const ::testing::TestParamInfo<Implementation>& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kinds, ViewConformanceTest, ::testing::ValuesIn(EveryKind()), NameOf);

TEST(ViewSizeTest, SizeThatIsToldWithoutTheFileIsThatOfTheFile) {
  cache::ChunkCache cache(1 << 20);
  for (const Example& example : Examples()) {
    const ArrayInput input = InputOf(example, false, cache);
    for (const ViewName& file : ArrayViews().Names(input)) {
      if (file.is_directory) continue;
      const auto told = ArrayViews().Resolve(input, file.name)->size;
      const auto view = ArrayViews().MakeFile(input, file.name);
      ASSERT_THAT(view, test::IsOk());
      if (told) {
        EXPECT_EQ((*view)->size(), *told) << file.name << " of " << example.name;
      }
      const bool is_told = std::ranges::any_of(
          std::array{".npy", ".raw", ".txt"},
          [&](const char* extension) { return file.name.ends_with(extension); });
      EXPECT_EQ(told.has_value(), is_told) << file.name << " of " << example.name;
    }
  }
}

TEST(ViewSizeTest, NothingIsToldOfFilesThatAreRefusedOrNotThere) {
  cache::ChunkCache cache(1 << 20);
  ArrayInput input = InputOf(Numbers("", Datatype::Float32()), false, cache);
  EXPECT_TRUE(ArrayViews().Resolve(input, "data.raw")->size);
  EXPECT_FALSE(ArrayViews().Resolve(input, "data.none"));
  input.elements = nullptr;
  EXPECT_FALSE(ArrayViews().Resolve(input, "data.raw")->size);
  EXPECT_FALSE(ArrayViews().Resolve(input, "data.npy")->size);
  EXPECT_FALSE(ArrayViews().Resolve(input, "data.txt")->size);
}

// All kinds of segments, with numbers in both orders.
model::Result<ViewPtr> MakeSegments(bool broken, cache::ChunkCache& cache) {
  const auto elements = InputOf(Numbers("", Datatype::Float64()), false, cache).elements;
  const auto others = InputOf(Numbers("", Datatype::Integer(2, false)), broken, cache).elements;
  const auto pattern = std::make_shared<const std::string>("pattern");
  return MakeSegmentedView({Literal("header"), AllOf(elements, model::ByteOrder::kBig),
                            Zeros{13}, Elements{elements, 11, 222}, Repeat{pattern, 100},
                            AllOf(others, model::ByteOrder::kBig), Literal("end")});
}

INSTANTIATE_TEST_SUITE_P(
    Segments, ViewConformanceTest,
    ::testing::Values(
        Implementation{"mixed", [](auto& cache) { return MakeSegments(false, cache); },
                       [](auto& cache) { return MakeSegments(true, cache); }},
        Implementation{"none", [](auto&) { return MakeSegmentedView({}); }, {}},
        Implementation{
            "literal", [](auto&) { return MakeSegmentedView({Literal("hello")}); }, {}}),
    NameOf);

}  // namespace
}  // namespace ndlfs::fs
