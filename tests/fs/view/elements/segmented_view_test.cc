// SPDX-License-Identifier: MIT
#include "fs/view/elements/segmented_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "cache/prefetcher.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/elements/record_elements.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::ByteOrder;
using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// A source of `text`, which notes what is asked of it. Big-endian numbers are
// its bytes with bit 7 set, so that the order can be seen.
class FakeSource final : public ElementSource {
 public:
  explicit FakeSource(std::string text) : text_(std::move(text)) {}

  uint64_t size() const override { return text_.size(); }
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, ByteOrder order,
                           cache::ReadHint hint) const override {
    if (broken) return model::Corrupt("broken");
    EXPECT_LE(offset + out.size(), text_.size());
    const std::lock_guard lock(mutex_);
    hints.push_back(hint);
    into.push_back(out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = std::byte(text_[offset + i]);
      if (order == ByteOrder::kBig) out[i] |= std::byte{0x80};
    }
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher&) const override {
    ++trackers;
    return std::make_unique<Tracker>(*this);
  }

  bool broken = false;
  mutable std::vector<cache::ReadHint> hints;
  mutable std::vector<const std::byte*> into;
  mutable std::atomic<int> trackers = 0;  // that there are
  mutable std::vector<std::pair<uint64_t, uint64_t>> tracked;
  mutable std::vector<uint64_t> expected;

 private:
  class Tracker final : public ReadTracker {
   public:
    explicit Tracker(const FakeSource& source) : source_(source) {}
    ~Tracker() override { --source_.trackers; }
    cache::ReadHint OnRead(uint64_t offset, uint64_t size) override {
      source_.tracked.emplace_back(offset, size);
      return cache::ReadHint::kAlone;
    }
    void Expect(uint64_t offset) override { source_.expected.push_back(offset); }

   private:
    const FakeSource& source_;
  };

  const std::string text_;
  mutable std::mutex mutex_;
};

std::shared_ptr<const std::string> Shared(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::string ReadAt(const View& view, uint64_t offset, size_t size) {
  std::string out(size, '?');
  const auto count = view.Read(offset, std::as_writable_bytes(std::span(out)));
  EXPECT_THAT(count, test::IsOk());
  out.resize(count.value_or(0));
  return out;
}

// Every part of `view` is that of `whole`.
void ExpectText(const View& view, const std::string& whole) {
  ASSERT_EQ(view.size(), whole.size());
  for (size_t length = 0; length <= whole.size() + 1; ++length) {
    for (size_t offset = 0; offset <= whole.size() + 1; ++offset) {
      const std::string part = offset < whole.size() ? whole.substr(offset, length) : "";
      ASSERT_EQ(ReadAt(view, offset, length), part) << offset << " " << length;
    }
  }
}

TEST(SegmentedViewTest, OfNoSegmentsIsEmpty) {
  const auto view = MakeSegmentedView({});
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ((*view)->size(), 0u);
  EXPECT_EQ(ReadAt(**view, 0, 10), "");
  EXPECT_EQ(ReadAt(**view, ~uint64_t{0}, 10), "");
}

TEST(SegmentedViewTest, ReadsEveryPartOverEveryBorder) {
  const auto elements = std::make_shared<const FakeSource>("0123456789");
  const auto shared = Shared("literal");
  const auto view = MakeSegmentedView({
      Literal("head"),
      Elements{elements, 2, 5},
      Zeros{3},
      Elements{elements, 9, 1},
      Literal(shared, 3, 2),
      Repeat{Shared("abc"), 10},
      Literal(shared, 0, 1),
      Elements{elements, 0, 3},
  });
  ASSERT_THAT(view, test::IsOk());
  ExpectText(**view, std::string("head23456\0\0\0"
                                 "9erabcabcabcal012",
                                 29));
}

TEST(SegmentedViewTest, SegmentsOfNothingTakeNoRoom) {
  const auto elements = std::make_shared<const FakeSource>("xy");
  const auto view =
      MakeSegmentedView({Zeros{0}, Literal(""), Literal("a"), Elements{elements, 2, 0},
                         Repeat{Shared("z"), 0}, Literal("b"), Zeros{0}});
  ASSERT_THAT(view, test::IsOk());
  ExpectText(**view, "ab");
}

TEST(SegmentedViewTest, ElementsComeInTheOrderThatTheSegmentSays) {
  const auto elements = std::make_shared<const FakeSource>("ab");
  const auto view =
      MakeSegmentedView({AllOf(elements, ByteOrder::kBig), AllOf(elements), Zeros{1}});
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, 10), std::string("\xe1\xe2"
                                               "ab\0",
                                               5));
}

TEST(SegmentedViewTest, BigEndianElementsOfAnArrayAreSwappedAtAnyOffset) {
  cache::ChunkCache cache(1 << 20);
  const auto source = std::make_shared<test::MemoryArray>(
      Datatype::Integer(4, false), std::vector<uint64_t>{3},
      std::string("\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c", 12));
  const auto elements = MakeArrayElements(std::make_shared<cache::ArrayReader>(source, cache));
  ASSERT_THAT(elements, test::IsOk());
  const auto view = MakeSegmentedView({Literal("-"), AllOf(*elements, ByteOrder::kBig)});
  ASSERT_THAT(view, test::IsOk());
  ExpectText(**view, "-\4\3\2\1\x08\7\6\5\x0c\x0b\x0a\x09");
}

TEST(SegmentedViewTest, PatternsRepeatAcrossAnyDistance) {
  constexpr uint64_t kHuge = uint64_t{1} << 61;
  const auto view = MakeSegmentedView({Literal("x"), Repeat{Shared("0123456789"), kHuge}});
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ((*view)->size(), kHuge + 1);
  EXPECT_EQ(ReadAt(**view, 1'000'000'000'000'000'001, 13), "0123456789012");
  EXPECT_EQ(ReadAt(**view, kHuge - 2, 100), "901");  // 2^61 is 2305843009213693952
  const std::string many = ReadAt(**view, 4, 1 << 20);
  ASSERT_THAT(many, SizeIs(1 << 20));
  for (size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], '0' + (i + 3) % 10);
}

TEST(SegmentedViewTest, MoreThanAFileCanHaveIsRefused) {
  const auto refused = test::IsError(model::ErrorCode::kLimit, HasSubstr("more than"));
  EXPECT_THAT(MakeSegmentedView({Zeros{backends::kMaxViewSize + 1}}), refused);
  EXPECT_THAT(MakeSegmentedView({Zeros{backends::kMaxViewSize}, Literal("x")}), refused);
  EXPECT_THAT(MakeSegmentedView({Zeros{~uint64_t{0}}, Zeros{2}}), refused);
  EXPECT_THAT(MakeSegmentedView({Zeros{backends::kMaxViewSize}}), test::IsOk());
}

TEST(SegmentedViewTest, SegmentsBeyondTheirSourceAreRefused) {
  const auto elements = std::make_shared<const FakeSource>("0123");
  const auto refused = test::IsError(model::ErrorCode::kInternal, ::testing::_);
  EXPECT_THAT(MakeSegmentedView({Elements{elements, 0, 5}}), refused);
  EXPECT_THAT(MakeSegmentedView({Elements{elements, 5, 0}}), refused);
  EXPECT_THAT(MakeSegmentedView({Elements{elements, ~uint64_t{0}, 2}}), refused);
  EXPECT_THAT(MakeSegmentedView({Elements{nullptr, 0, 1}}), refused);
  EXPECT_THAT(MakeSegmentedView({Literal(Shared("ab"), 1, 2)}), refused);
  EXPECT_THAT(MakeSegmentedView({Repeat{Shared(""), 2}}), refused);
}

TEST(SegmentedViewTest, BytesOfElementsGoStraightIntoTheReply) {
  const auto elements = std::make_shared<const FakeSource>("0123456789");
  const auto view = MakeSegmentedView({Literal("abc"), AllOf(elements)});
  ASSERT_THAT(view, test::IsOk());
  std::string out(8, '\0');
  ASSERT_THAT((*view)->Read(1, std::as_writable_bytes(std::span(out))), test::IsOkAnd(8u));
  EXPECT_EQ(out, "bc012345");
  EXPECT_THAT(elements->into, ElementsAre(reinterpret_cast<const std::byte*>(&out[2])))
      << "in one request, and without a copy";
}

TEST(SegmentedViewTest, FailureIsAnErrorAndNoShortAnswer) {
  const auto broken = std::make_shared<FakeSource>("0123");
  broken->broken = true;
  const auto view = MakeSegmentedView({Literal("abc"), AllOf(broken), Literal("d")});
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAt(**view, 0, 3), "abc");
  EXPECT_EQ(ReadAt(**view, 7, 3), "d");
  std::string out(4, '\0');
  for (const uint64_t offset : {0, 2, 3, 6}) {
    EXPECT_THAT((*view)->Read(offset, std::as_writable_bytes(std::span(out))),
                test::IsError(model::ErrorCode::kCorrupt, "broken"));
  }
}

TEST(SegmentedViewTest, ManySegmentsAreFoundAndShareTheirBytes) {
  constexpr size_t kMany = 100'000;
  const auto shared = Shared(std::string(1 << 20, 'x') + "0123456789");
  const auto elements = std::make_shared<const FakeSource>("abcdefgh");
  std::vector<Segment> segments;
  for (size_t i = 0; i < kMany; ++i) {
    segments.emplace_back(Literal(shared, (1 << 20) + i % 10, 1));
    segments.emplace_back(Elements{elements, i % 8, 1});
  }
  const auto view = MakeSegmentedView(std::move(segments));
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ((*view)->size(), 2 * kMany);
  EXPECT_EQ(ReadAt(**view, 0, 6), "0a1b2c");
  EXPECT_EQ(ReadAt(**view, 2 * 77'777, 4), "7b8c");
  EXPECT_EQ(ReadAt(**view, 2 * kMany - 1, 4), "h");
  EXPECT_THAT(ReadAt(**view, 0, 2 * kMany), SizeIs(2 * kMany));
  // Literals that are shared count once.
  EXPECT_GT((*view)->held_bytes(), 2 * kMany * sizeof(Segment));
  EXPECT_LT((*view)->held_bytes(), 2 * kMany * (sizeof(Segment) + 8) + (4 << 20));
}

class ReaderTest : public ::testing::Test {
 protected:
  std::shared_ptr<const View> Open(std::vector<Segment> segments) {
    const auto view = MakeSegmentedView(std::move(segments));
    EXPECT_THAT(view, test::IsOk());
    return (*view)->ForReader(prefetcher_);
  }
  static std::vector<Segment> AllOfEach(
      const std::vector<std::shared_ptr<FakeSource>>& sources) {
    std::vector<Segment> segments;
    for (const auto& source : sources) segments.emplace_back(AllOf(source));
    return segments;
  }
  static std::vector<std::shared_ptr<FakeSource>> MakeSources(size_t count, size_t size) {
    std::vector<std::shared_ptr<FakeSource>> sources;
    for (size_t i = 0; i < count; ++i) {
      sources.push_back(std::make_shared<FakeSource>(std::string(size, 'a')));
    }
    return sources;
  }

  cache::ChunkCache cache_{1 << 20};
  cache::Prefetcher prefetcher_{cache_, 1};
};

TEST_F(ReaderTest, EachSourceLearnsWhatIsReadOfIt) {
  const auto first = std::make_shared<FakeSource>("0123456789");
  const auto second = std::make_shared<FakeSource>("abcdef");
  const auto file =
      Open({Literal("--"), Elements{first, 4, 6}, Zeros{1}, AllOf(second), AllOf(first)});
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->size(), 25u);
  EXPECT_EQ(ReadAt(*file, 0, 12), std::string("--456789\0abc", 12));
  EXPECT_EQ(ReadAt(*file, 14, 3), "f01");
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_THAT(first->tracked, ElementsAre(Pair(4, 6), Pair(0, 2)));
  EXPECT_THAT(second->tracked, ElementsAre(Pair(0, 3), Pair(5, 1)));
  EXPECT_THAT(second->hints, ElementsAre(cache::ReadHint::kAlone, cache::ReadHint::kAlone))
      << "as the tracker has said";
}

TEST_F(ReaderTest, FileWithoutElementsNeedsNoReader) {
  EXPECT_EQ(Open({Literal("abc"), Zeros{5}}), nullptr);
}

TEST_F(ReaderTest, ReaderThatGoesForwardIsExpectedByTheNextSource) {
  constexpr size_t kSize = size_t{3} << 20;
  const auto sources = MakeSources(4, kSize);
  const auto file = Open(AllOfEach(sources));
  for (size_t offset = 0; offset < (1 << 20); offset += 1 << 18) ReadAt(*file, offset, 1 << 18);
  EXPECT_THAT(sources[1]->expected, ElementsAre(0u));
  EXPECT_THAT(sources[2]->expected, ::testing::IsEmpty()) << "too far ahead";
  EXPECT_THAT(sources[0]->expected, ::testing::IsEmpty()) << "it is being read";
}

TEST_F(ReaderTest, ReaderThatJumpsIsExpectedNowhere) {
  const auto sources = MakeSources(5, size_t{16} << 20);
  const auto file = Open(AllOfEach(sources));
  for (const size_t mib : {70, 10, 31, 50, 15}) ReadAt(*file, mib << 20, 4096);
  for (const auto& source : sources) EXPECT_THAT(source->expected, ::testing::IsEmpty());
}

TEST_F(ReaderTest, SmallSourcesAreExpectedOnceEach) {
  const auto sources = MakeSources(1000, 100);
  const auto file = Open(AllOfEach(sources));
  for (size_t offset = 0; offset < 100'000; offset += 1000) ReadAt(*file, offset, 1000);
  size_t expected = 0;
  for (const auto& source : sources) {
    EXPECT_LE(source->expected.size(), 1u);
    expected += source->expected.size();
  }
  EXPECT_GT(expected, 700u);
}

TEST_F(ReaderTest, SourcesThatAreReadToTheEndAreNoLongerTracked) {
  const auto sources = MakeSources(100, 10);
  auto file = Open(AllOfEach(sources));
  const auto trackers = [&] {
    int count = 0;
    for (const auto& source : sources) count += source->trackers;
    return count;
  };
  EXPECT_EQ(ReadAt(*file, 0, 1000), std::string(1000, 'a'));
  EXPECT_LE(trackers(), 3);
  // Of those that are not, the latest are.
  for (size_t i = 0; i < 100; ++i) ReadAt(*file, (i * 37) % 100 * 10 + 5, 2);
  EXPECT_GT(trackers(), 3);
  EXPECT_LE(trackers(), 16);
  file = nullptr;
  EXPECT_EQ(trackers(), 0);
}

// Three records of 8 bytes: two values of 2 and 3 bytes, and a byte of nothing before and
// behind each of them.
TEST(RecordsTest, ValuesOfEachRecordLieBetweenZeros) {
  const auto two = std::make_shared<FakeSource>("aabbcc");
  const auto three = std::make_shared<FakeSource>("AAABBBCCC");
  const auto records = MakeRecords({{two, 1, 2}, {three, 4, 3}}, 8, 3);
  ASSERT_THAT(records, test::IsOk());
  const std::string whole("\0aa\0AAA\0\0bb\0BBB\0\0cc\0CCC\0", 24);
  const auto view = MakeSegmentedView({AllOf(*records)});
  ASSERT_THAT(view, test::IsOk());
  ExpectText(**view, whole);
  EXPECT_EQ(*MakeRecords({{two, 1, 2}}, 0, 3), nullptr);
  EXPECT_EQ(*MakeRecords({{two, 1, 2}}, 8, 0), nullptr);
  EXPECT_FALSE(MakeRecords({{two, 1, 2}}, 8, 4)) << "other records than there are values";
  EXPECT_FALSE(MakeRecords({{two, 7, 2}}, 8, 3)) << "more than fits";
}

TEST(RecordsTest, ReadersAreFollowedRecordByRecord) {
  const auto two = std::make_shared<FakeSource>("aabbcc");
  const auto three = std::make_shared<FakeSource>("AAABBBCCC");
  const auto records = MakeRecords({{two, 1, 2}, {three, 4, 3}}, 8, 3).value();
  cache::ChunkCache cache(1 << 20);
  cache::Prefetcher prefetcher(cache, 1);
  const auto tracker = records->TrackReader(prefetcher);
  tracker->OnRead(7, 0);
  tracker->OnRead(9, 7);
  tracker->OnRead(9, 8);
  tracker->Expect(17);
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(two->tracked, (Ranges{{2, 2}, {2, 4}}));
  EXPECT_EQ(three->tracked, (Ranges{{3, 3}, {3, 6}}));
  EXPECT_THAT(three->expected, ElementsAre(6));
}

TEST(DeferredBytesTest, FewAreKeptAndManyAreMadeAgain) {
  for (const size_t size : {size_t{4096}, size_t{4097}}) {
    int made = 0;
    const auto view = MakeSegmentedView(
        {MakeDeferredBytes(size, [&made, size]() -> model::Result<std::string> {
          ++made;
          return std::string(size - 1, 'a') + 'b';
        })});
    ASSERT_THAT(view, test::IsOk());
    EXPECT_EQ(made, 0);
    EXPECT_EQ(ReadAt(**view, size - 2, 9), "ab");
    EXPECT_EQ(ReadAt(**view, 0, 2), "aa");
    EXPECT_EQ(made, size == 4096 ? 1 : 2);
  }
}

}  // namespace
}  // namespace ndlfs::fs
