// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/fuse/errno.h"
#include "fs/view/all_views.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Texts of which none is stored.
class AbsentTexts final : public backends::ArraySource {
 public:
  explicit AbsentTexts(uint64_t count) {
    spec_.dtype = Datatype::String();
    spec_.shape = {count};
    spec_.grid =
        backends::ChunkGrid::Regular({count}, {1000}, backends::ChunkGrid::Edge::kCropped)
            .value();
  }
  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t>,
                                                backends::IndexCache&) const override {
    return backends::ChunkLocation::Absent();
  }

 private:
  backends::ArraySpec spec_;
};

class ViewTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const View>> Make(
      std::string_view name, std::shared_ptr<const backends::ArraySource> source,
      const ScanLimits& scan = {}) {
    return ArrayViews().MakeFile(Input(std::move(source), scan), name);
  }
  ArrayInput Input(std::shared_ptr<const backends::ArraySource> source,
                   const ScanLimits& scan = {}) {
    auto node = std::make_shared<backends::Node>();
    node->entity = model::Ndarray();
    node->source = source;
    auto reader = std::make_shared<cache::ArrayReader>(std::move(source), cache_);
    return MakeArrayInput(std::move(node), std::move(reader), scan);
  }

  static std::string ReadAt(const View& view, uint64_t offset, size_t size) {
    std::string out(size, '\0');
    const auto count = view.Read(offset, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOk());
    out.resize(count.value_or(0));
    return out;
  }

  cache::ChunkCache cache_{1 << 20};
};

std::shared_ptr<test::MemoryArray> Counting() {
  // 0, 1, ... 23 as int16, in chunks of 2x4 of an array of 4x6.
  std::map<uint64_t, std::string> chunks;
  for (uint64_t row = 0; row < 4; ++row) {
    for (uint64_t column = 0; column < 6; ++column) {
      chunks[row / 2 * 2 + column / 4] += test::Raw(static_cast<int16_t>(row * 6 + column));
    }
  }
  return std::make_shared<test::MemoryArray>(Datatype::Integer(2, true),
                                             std::vector<uint64_t>{4, 6},
                                             std::vector<uint64_t>{2, 4}, std::move(chunks));
}

TEST_F(ViewTest, NpyIsTheFileThatNumpySaves) {
  const auto view = Make("data.npy", Counting());
  ASSERT_THAT(view, test::IsOk());
  const std::string hex = test::RunPython(
      "import io, numpy as np\n"
      "f = io.BytesIO(); np.save(f, np.arange(24, dtype='i2').reshape(4, 6))\n"
      "print(f.getvalue().hex(), end='')");
  ASSERT_EQ((*view)->size(), hex.size() / 2);
  EXPECT_EQ(test::ToHex(ReadAt(**view, 0, 1000)), hex);
}

TEST_F(ViewTest, AnyPartOfAnNpyIsThatOfTheWhole) {
  const auto view = Make("data.npy", Counting());
  ASSERT_THAT(view, test::IsOk());
  const std::string whole = ReadAt(**view, 0, 1000);
  ASSERT_EQ(whole.size(), 128u + 48u);
  for (const size_t length : {size_t{1}, size_t{3}, size_t{64}, size_t{131}, whole.size()}) {
    for (size_t offset = 0; offset <= whole.size(); ++offset) {
      EXPECT_EQ(ReadAt(**view, offset, length), whole.substr(offset, length));
    }
  }
  EXPECT_EQ(ReadAt(**view, whole.size() + 7, 10), "");
  EXPECT_EQ(ReadAt(**view, ~uint64_t{0}, 10), "");
}

TEST_F(ViewTest, RawIsTheElementsAlone) {
  const auto npy = Make("data.npy", Counting());
  const auto raw = Make("data.raw", Counting());
  ASSERT_THAT(raw, test::IsOk());
  EXPECT_EQ((*raw)->size(), 48u);
  EXPECT_EQ(ReadAt(**raw, 0, 100), ReadAt(**npy, 128, 100));
  EXPECT_EQ(ReadAt(**raw, 2, 2), std::string("\1\0", 2));
}

TEST_F(ViewTest, EmptyArrayIsAHeaderAndNothing) {
  const auto empty = std::make_shared<test::MemoryArray>(
      Datatype::Float64(), std::vector<uint64_t>{0, 3}, std::vector<uint64_t>{1, 3},
      std::map<uint64_t, std::string>());
  const auto npy = Make("data.npy", empty);
  ASSERT_THAT(npy, test::IsOk());
  EXPECT_EQ((*npy)->size(), 128u);
  EXPECT_EQ(ReadAt(**npy, 0, 1000).size(), 128u);
  EXPECT_EQ(ReadAt(**Make("data.raw", empty), 0, 10), "");
}

TEST_F(ViewTest, BrokenChunkFailsOnlyReadsThatTouchIt) {
  const auto half = std::make_shared<test::MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{4}, std::vector<uint64_t>{2},
      std::map<uint64_t, std::string>{{0, "ab"}});
  const auto view = Make("data.npy", half);
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 128, 2), "ab");
  EXPECT_EQ(ReadAt(**view, 0, 130).size(), 130u);
  std::string out(4, '\0');
  EXPECT_THAT((*view)->Read(128, std::as_writable_bytes(std::span(out))),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 1")));
}

TEST_F(ViewTest, SizeBeyondTheKernelsIsRefused) {
  const auto huge = std::make_shared<test::MemoryArray>(
      Datatype::Integer(8, false), std::vector<uint64_t>{uint64_t{1} << 60},
      std::vector<uint64_t>{1}, std::map<uint64_t, std::string>());
  for (const char* name : {"data.npy", "data.raw"}) {
    EXPECT_THAT(Make(name, huge),
                test::IsError(model::ErrorCode::kLimit, HasSubstr("more than")));
  }
}

TEST_F(ViewTest, TextHasALineForEachElement) {
  const auto view = Make("data.txt", Counting());
  ASSERT_THAT(view, test::IsOk());
  std::string whole;
  for (int i = 0; i < 24; ++i) whole += fmt::format("{:6}\n", i);
  EXPECT_EQ((*view)->size(), whole.size());
  for (const size_t length : {size_t{1}, size_t{7}, size_t{23}, whole.size() + 1}) {
    for (size_t offset = 0; offset <= whole.size(); ++offset) {
      ASSERT_EQ(ReadAt(**view, offset, length), whole.substr(offset, length));
    }
  }
}

TEST_F(ViewTest, TextOfManyElementsIsReadInBatches) {
  std::string elements, whole;
  for (uint32_t i = 0; i < 100'000; ++i) {
    elements += test::Raw(i);
    whole += fmt::format("{:10}\n", i);
  }
  const auto view = Make("data.txt", std::make_shared<test::MemoryArray>(
                                         Datatype::Integer(4, false),
                                         std::vector<uint64_t>{100'000}, std::move(elements)));
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, whole.size()), whole);
  EXPECT_EQ(ReadAt(**view, 5, 900'000), whole.substr(5, 900'000));
}

TEST_F(ViewTest, ElementsThatAreArraysAreAsManyElements) {
  const auto source = std::make_shared<test::MemoryArray>(
      Datatype::Array(Datatype::Array(Datatype::Integer(1, false), {2}), {1}),
      std::vector<uint64_t>{2}, "\1\2\3\4");
  const auto text = Make("data.txt", source);
  ASSERT_THAT(text, test::IsOk());
  EXPECT_EQ((*text)->size(), 16u);
  EXPECT_EQ(ReadAt(**text, 0, 100), "  1\n  2\n  3\n  4\n");
  EXPECT_THAT(ReadAt(**Make("data.npy", source), 0, 100), HasSubstr("'shape': (2, 1, 2), "));
  const auto json = Make(
      "data.jsonl", std::make_shared<test::MemoryArray>(
                        Datatype::Array(Datatype::String(), {1, 2}), std::vector<uint64_t>{2},
                        test::ElementStream({test::Counted("a") + test::Counted("b"),
                                             test::Counted("c") + test::Counted("d")})));
  ASSERT_THAT(json, test::IsOk());
  const std::string whole = "\"a\"\n\"b\"\n\"c\"\n\"d\"\n";
  for (size_t offset = 0; offset <= whole.size(); ++offset) {
    EXPECT_EQ(ReadAt(**json, offset, 3), whole.substr(offset, 3));
  }
}

TEST_F(ViewTest, TextOfElementsOfNoBytesIsEmptyLines) {
  const auto view = Make("data.txt", std::make_shared<test::MemoryArray>(
                                         Datatype::FixedString(0, model::Charset::kAscii),
                                         std::vector<uint64_t>{3}, std::string()));
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, 10), "\n\n\n");
}

std::shared_ptr<test::MemoryArray> Words(size_t count, std::string& lines) {
  std::map<uint64_t, std::string> chunks;
  for (size_t at = 0; at < count; at += 10) {
    std::vector<std::string> elements;
    for (size_t i = at; i < std::min(at + 10, count); ++i) {
      const std::string word(i % 17, static_cast<char>('a' + i % 26));
      elements.push_back(test::Counted(word));
      lines += '"' + word + "\"\n";
    }
    chunks[at / 10] = test::ElementStream(elements);
  }
  return std::make_shared<test::MemoryArray>(Datatype::String(), std::vector<uint64_t>{count},
                                             std::vector<uint64_t>{10}, std::move(chunks));
}

TEST_F(ViewTest, JsonLinesAreReadAtAnyOffset) {
  std::string whole;
  const auto source = Words(57, whole);
  for (const size_t length : {size_t{1}, size_t{19}, size_t{200}, whole.size() + 1}) {
    const auto view = Make("data.jsonl", source);
    ASSERT_THAT(view, test::IsOk());
    EXPECT_EQ((*view)->size(), std::nullopt);
    for (size_t offset = 0; offset <= whole.size() + 1; ++offset) {
      ASSERT_EQ(ReadAt(**view, offset, length),
                offset > whole.size() ? "" : whole.substr(offset, length));
    }
    for (size_t offset = whole.size() + 1; offset-- > 0;) {  // backwards
      ASSERT_EQ(ReadAt(**view, offset, length), whole.substr(offset, length));
    }
  }
}

TEST_F(ViewTest, JsonLinesOfOneLongSequenceGoOnWithinIt) {
  std::string items, line = "[";
  for (uint32_t i = 0; i < 300'000; ++i) {
    items += test::Raw(i);
    line += (i > 0 ? "," : "") + std::to_string(i);
  }
  line += "]\n";
  const std::string whole = line + "[]\n" + "[7]\n";
  const auto source = std::make_shared<test::MemoryArray>(
      Datatype::Vlen(Datatype::Integer(4, false)), std::vector<uint64_t>{3},
      test::ElementStream({test::Raw(uint32_t{300'000}) + items, test::Raw(uint32_t{0}),
                           test::Raw(uint32_t{1}) + test::Raw(uint32_t{7})}));
  const auto view = Make("data.jsonl", source);
  ASSERT_THAT(view, test::IsOk());
  std::string read;
  for (std::string piece; !(piece = ReadAt(**view, read.size(), 999)).empty();) read += piece;
  EXPECT_EQ(read, whole);
  EXPECT_EQ(ReadAt(**view, 1'234'567, 5000), whole.substr(1'234'567, 5000));
  const auto other = Make("data.jsonl", source);
  EXPECT_EQ(ReadAt(**other, 1'900'000, 5000), whole.substr(1'900'000, 5000));
  EXPECT_EQ(ReadAt(**other, 1'200'000, 5000), whole.substr(1'200'000, 5000));
}

TEST_F(ViewTest, JsonLinesAreSharedByThreads) {
  std::string whole;
  const auto view = Make("data.jsonl", Words(2000, whole));
  ASSERT_THAT(view, test::IsOk());
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 300; ++i) {
        const size_t offset = random() % whole.size();
        EXPECT_EQ(ReadAt(**view, offset, 100), whole.substr(offset, 100));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ViewTest, JsonLinesNameTheElementThatIsBroken) {
  const auto source = std::make_shared<test::MemoryArray>(
      Datatype::String(), std::vector<uint64_t>{2},
      test::ElementStream({test::Counted("a"), test::Raw(uint32_t{9}) + "b"}));
  const auto view = Make("data.jsonl", source);
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, 4), "\"a\"\n");
  std::string out(100, '\0');
  EXPECT_THAT((*view)->Read(4, std::as_writable_bytes(std::span(out))),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("element 1: ")));
}

TEST_F(ViewTest, JsonLinesThatAreTooFarAwayAreNotLookedForWithoutEnd) {
  constexpr uint64_t kMost = uint64_t{1} << 52;
  const auto view = Make("data.jsonl", std::make_shared<AbsentTexts>(kMost));
  ASSERT_THAT(view, test::IsOk());
  std::string out(100, '\0');
  for (const uint64_t offset : {kMost, kMost}) {
    const auto read = (*view)->Read(offset, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(read, test::IsError(model::ErrorCode::kBusy, HasSubstr("looking for byte")));
    EXPECT_EQ(ToErrno(read.error()), ETIMEDOUT);
  }
  EXPECT_EQ(ReadAt(**view, 0, 6), "\"\"\n\"\"\n");
}

TEST_F(ViewTest, JsonLinesOfAnEmptyArrayAreNone) {
  const auto view =
      Make("data.jsonl", std::make_shared<test::MemoryArray>(
                             Datatype::String(), std::vector<uint64_t>{0},
                             std::vector<uint64_t>{1}, std::map<uint64_t, std::string>()));
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, 10), "");
}

// The text of a view, read in pieces of `length` from the beginning, and its
// size as it is found without that.
void ExpectSizeAndText(const View& view, const std::string& whole, size_t length) {
  ASSERT_THAT(view.FindSize(), test::IsOkAnd(whole.size()));
  EXPECT_EQ(view.size(), whole.size());
  for (size_t offset = 0; offset <= whole.size(); offset += length) {
    std::string out(length, '\0');
    const auto count = view.Read(offset, std::as_writable_bytes(std::span(out)));
    ASSERT_THAT(count, test::IsOk());
    ASSERT_EQ(out.substr(0, *count), whole.substr(offset, length)) << offset;
  }
}

TEST_F(ViewTest, JsonLinesHaveTheSizeOfTheirText) {
  std::string whole;
  const auto view = Make("data.jsonl", Words(100'003, whole), {.threads = 3});
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ((*view)->size(), std::nullopt);
  ExpectSizeAndText(**view, whole, 4096);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const size_t offset = random() % whole.size();
    ASSERT_EQ(ReadAt(**view, offset, 100), whole.substr(offset, 100));
  }
  EXPECT_EQ(ReadAt(**view, whole.size(), 10), "");
  EXPECT_EQ(ReadAt(**view, ~uint64_t{0}, 10), "");
  EXPECT_GT((*view)->held_bytes(), 0u);
  EXPECT_LT((*view)->held_bytes(), uint64_t{200} << 10);
}

TEST_F(ViewTest, JsonLinesOfChunksInTwoDimensionsAreInTheOrderOfTheArray) {
  const auto view = Make("data.jsonl", Counting());
  ASSERT_THAT(view, test::IsOk());
  std::string whole;
  for (int i = 0; i < 24; ++i) whole += std::to_string(i) + "\n";
  ExpectSizeAndText(**view, whole, 1);
  ExpectSizeAndText(**view, whole, 7);
}

TEST_F(ViewTest, JsonLinesOfAllTypesHaveASize) {
  const Datatype gap = Datatype::Compound(
      {{"t", Datatype::Bool(), 1}, {"u", Datatype::Integer(2, false), 4}}, 8);
  const Datatype day = Datatype::Enum(Datatype::Integer(1, true), {{"MON", 1}});
  const struct {
    Datatype type;
    std::string elements;
    std::string text;
  } kCases[] = {
      {Datatype::Bool(), std::string("\0\1", 2), "false\ntrue\n"},
      {day, "\1\2", "\"MON\"\n2\n"},
      {Datatype::Float64(), test::Raw(0.5) + test::Raw(-1e300), "0.5\n-1e+300\n"},
      {Datatype::Opaque(3), "abcdef", "\"YWJj\"\n\"ZGVm\"\n"},
      {Datatype::Complex(8),
       test::Raw(1.0f) + test::Raw(2.0f) + test::Raw(0.0f) + test::Raw(-1.0f),
       "[1.0,2.0]\n[0.0,-1.0]\n"},
      // Members at their offsets, whatever lies between them.
      {gap, std::string("-\1--\7\0--", 8) + std::string("-\0--\0\1--", 8),
       "[true,7]\n[false,256]\n"},
      {Datatype::Array(Datatype::Integer(1, false), {2}), "\1\2\3\4", "1\n2\n3\n4\n"},
      {Datatype::PackedCompound({{"a", Datatype::Array(Datatype::Integer(1, false), {2})}}),
       "\1\2\3\4", "[[1,2]]\n[[3,4]]\n"},
      {Datatype::Vlen(Datatype::Integer(1, true)),
       test::ElementStream({test::Raw(uint32_t{2}) + "\1\2", test::Raw(uint32_t{0})}),
       "[1,2]\n[]\n"},
  };
  for (const auto& example : kCases) {
    const auto view =
        Make("data.jsonl", std::make_shared<test::MemoryArray>(
                               example.type, std::vector<uint64_t>{2}, example.elements));
    ASSERT_THAT(view, test::IsOk());
    ExpectSizeAndText(**view, example.text, 5);
  }
}

TEST_F(ViewTest, JsonLinesOfAbsentChunksAreThoseOfTheFillValue) {
  const auto view = Make("data.jsonl", std::make_shared<AbsentTexts>(12'345'678));
  ASSERT_THAT(view, test::IsOk());
  EXPECT_THAT((*view)->FindSize(), test::IsOkAnd(uint64_t{3} * 12'345'678));
  EXPECT_EQ(ReadAt(**view, 30'000'001, 6), "\"\n\"\"\n\"");
}

TEST_F(ViewTest, SizeOfJsonLinesIsFoundOnceForAllWhoAsk) {
  std::string whole;
  const auto view = Make("data.jsonl", Words(30'000, whole), {.threads = 2});
  ASSERT_THAT(view, test::IsOk());
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back(
        [&] { EXPECT_THAT((*view)->FindSize(), test::IsOkAnd(whole.size())); });
  }
  for (std::thread& thread : threads) thread.join();
  // One scan, and not six. A chunk that another one pushes out of memory before it
  // is looked at is decoded again.
  EXPECT_GE(cache_.stats().misses, 3000u);
  EXPECT_LT(cache_.stats().misses, 2 * 3000u);
}

TEST_F(ViewTest, SizeOfJsonLinesWithABrokenChunkNamesIt) {
  const auto half = std::make_shared<test::MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{4}, std::vector<uint64_t>{2},
      std::map<uint64_t, std::string>{{0, "ab"}});
  const auto view = Make("data.jsonl", half);
  ASSERT_THAT(view, test::IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT((*view)->FindSize(),
                test::IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 1: ")));
  }
  EXPECT_EQ((*view)->refusal(), std::nullopt);
  EXPECT_EQ(cache_.stats().failures, 1u) << "what is known to be broken is not tried again";
  const auto element = std::make_shared<test::MemoryArray>(
      Datatype::String(), std::vector<uint64_t>{2},
      test::ElementStream({test::Counted("a"), test::Raw(uint32_t{9}) + "b"}));
  EXPECT_THAT((*Make("data.jsonl", element))->FindSize(),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 0: element 1: ")));
}

TEST_F(ViewTest, JsonLinesOfMoreThanMayBeScannedAreNoFile) {
  // Known before anything is decoded.
  const auto counting = Make("data.jsonl", Counting(), {.max_bytes = 47});
  ASSERT_THAT(counting, test::IsOk());
  ASSERT_TRUE((*counting)->refusal());
  EXPECT_THAT((*counting)->refusal()->message(), HasSubstr("more than 47 bytes"));
  EXPECT_THAT((*counting)->FindSize(),
              test::IsError(model::ErrorCode::kLimit, HasSubstr("--max-scan")));
  EXPECT_EQ(cache_.stats().misses, 0u);
  EXPECT_EQ(ReadAt(**counting, 0, 6), "0\n1\n2\n");
  EXPECT_EQ((*Make("data.jsonl", Counting(), {.max_bytes = 48}))->refusal(), std::nullopt);
  // And what only decoding tells.
  std::string whole;
  const auto words = Make("data.jsonl", Words(1000, whole), {.max_bytes = 15'000});
  ASSERT_THAT(words, test::IsOk());
  EXPECT_EQ((*words)->refusal(), std::nullopt);
  EXPECT_THAT((*words)->FindSize(), test::IsError(model::ErrorCode::kLimit, ::testing::_));
  EXPECT_TRUE((*words)->refusal());
  EXPECT_EQ((*words)->size(), std::nullopt);
  // A few bytes that make text without end.
  const Datatype empty = Datatype::Array(Datatype::Opaque(0), {1000});
  const auto hostile = Make(
      "data.jsonl",
      std::make_shared<test::MemoryArray>(
          Datatype::PackedCompound(
              {{"a", Datatype::Integer(1, true)},
               {"b", Datatype::Array(Datatype::Array(Datatype::Array(empty, {1000}), {1000}),
                                     {1000})}}),
          std::vector<uint64_t>{1}, std::string(1, 'x')),
      {.max_bytes = 1 << 14});
  ASSERT_THAT(hostile, test::IsOk());
  EXPECT_THAT((*hostile)->FindSize(), test::IsError(model::ErrorCode::kLimit, ::testing::_));
}

TEST_F(ViewTest, ThereAreThoseThatTheTypeAllows) {
  const auto names = [&](const Datatype& type, std::vector<uint64_t> shape = {2}) {
    const auto source = std::make_shared<test::MemoryArray>(type, std::move(shape), "");
    const KindProvider<ArrayInput> few(ArrayViewKinds().first(4));
    std::vector<std::string> names;
    for (const ViewName& file : few.Names(Input(source))) {
      names.push_back(file.name + (file.is_listed ? "" : " by name") +
                      (file.refusal ? " refused" : ""));
    }
    return names;
  };
  EXPECT_THAT(names(Datatype::Opaque(4)), ElementsAre("data.npy", "data.raw", "data.jsonl"));
  EXPECT_THAT(names(Datatype::Opaque(4), std::vector<uint64_t>(65, 1)),
              ElementsAre("data.raw", "data.jsonl"));
  EXPECT_THAT(names(Datatype::Float32()),
              ElementsAre("data.npy", "data.raw", "data.txt", "data.jsonl by name"));
  EXPECT_THAT(names(Datatype::FixedString(9, model::Charset::kUtf8), {1, 2, 3}),
              ElementsAre("data.npy", "data.raw", "data.txt", "data.jsonl by name"));
  EXPECT_THAT(names(Datatype::String(), {}), ElementsAre("data.jsonl"));
  EXPECT_THAT(names(Datatype::ObjectRef()), ElementsAre("data.jsonl"));
  EXPECT_THAT(names(Datatype::Vlen(Datatype::Float32())), ElementsAre("data.jsonl"));
  // More text than a file can hold, though the elements fit.
  EXPECT_THAT(names(Datatype::Integer(1, true), {uint64_t{1} << 60}),
              ElementsAre("data.npy", "data.raw", "data.jsonl refused"));
  EXPECT_THAT(names(Datatype::Integer(8, true), {uint64_t{1} << 60}),
              ElementsAre("data.npy refused", "data.raw refused", "data.jsonl refused"));
}

}  // namespace
}  // namespace ndlfs::fs
