// SPDX-License-Identifier: MIT
#include "cache/strided_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace ndlfs::cache {
namespace {

std::vector<std::byte> Numbered(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 + i / 256);
  return bytes;
}

// One byte after the other, as the definition says.
template <typename Copy>
void ForEachByte(std::span<const CopyAxis> axes, size_t run, size_t from, size_t to,
                 const Copy& copy) {
  if (axes.empty()) {
    for (size_t i = 0; i < run; ++i) copy(from + i, to + i, i);
    return;
  }
  for (size_t i = 0; i < axes[0].count; ++i) {
    ForEachByte(axes.subspan(1), run, from + i * axes[0].from_stride,
                to + i * axes[0].to_stride, copy);
  }
}

struct RandomBox {
  std::vector<CopyAxis> axes;
  size_t run;
  size_t from_size;
  size_t to_size;
};

RandomBox MakeBox(std::mt19937& random) {
  RandomBox box;
  box.run = 1 + random() % 20;
  size_t from = box.run;
  size_t to = box.run;
  const size_t rank = random() % 5;
  for (size_t d = 0; d < rank; ++d) {
    const size_t count = 1 + random() % 4;
    // Sometimes gaps at either side, sometimes none.
    const size_t from_stride = from + (random() % 2 ? random() % 7 : 0);
    const size_t to_stride = to + (random() % 2 ? random() % 7 : 0);
    box.axes.insert(box.axes.begin(), {count, from_stride, to_stride});
    from = count * from_stride;
    to = count * to_stride;
  }
  box.from_size = from;
  box.to_size = to;
  return box;
}

TEST(StridedCopyTest, CopiesExactlyTheBox) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const RandomBox box = MakeBox(random);
    const auto from = Numbered(box.from_size);
    std::vector<std::byte> got(box.to_size, std::byte{0xEE});
    std::vector<std::byte> expected = got;
    ForEachByte(box.axes, box.run, 0, 0,
                [&](size_t f, size_t t, size_t) { expected[t] = from[f]; });
    CopyStrided(from.data(), got.data(), box.axes, box.run);
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(StridedCopyTest, FillsWithWholeAndPartialElements) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    RandomBox box = MakeBox(random);
    const auto element = Numbered(1 + random() % 9);
    const size_t phase = random() % 2 ? 0 : random() % element.size();
    if (phase == 0 && random() % 2) {
      box.run = element.size();
      for (size_t d = box.axes.size(), to = box.run; d-- > 0; to *= box.axes[d].count) {
        box.axes[d].to_stride = to;
        box.to_size = to * box.axes[d].count;
      }
      if (box.axes.empty()) box.to_size = box.run;
    }
    std::vector<std::byte> got(std::max(box.to_size, box.run), std::byte{0xEE});
    std::vector<std::byte> expected = got;
    ForEachByte(box.axes, box.run, 0, 0, [&](size_t, size_t t, size_t i) {
      expected[t] = element[(phase + i) % element.size()];
    });
    FillStrided(element, phase, got.data(), box.axes, box.run);
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(StridedCopyTest, AnEmptyElementMeansZeros) {
  std::vector<std::byte> out(10, std::byte{1});
  FillStrided({}, 0, out.data(), {}, 10);
  EXPECT_EQ(out, std::vector<std::byte>(10));
}

TEST(StridedCopyTest, NothingIsCopiedForAnEmptyBox) {
  std::byte out{7};
  CopyStrided(nullptr, &out, {{0, 1, 1}}, 4);
  EXPECT_EQ(out, std::byte{7});
}

TEST(StridedReadTest, ReadsWhatCopyingCopies) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    RandomBox box = MakeBox(random);
    // Some boxes are too large, or too sparse, to be read in one piece.
    const size_t scale = round % 3 == 0 ? 1 : 1000;
    for (CopyAxis& axis : box.axes) axis.from_stride *= scale;
    box.from_size = std::max(box.from_size, box.from_size * scale);
    const auto from = Numbered(box.from_size);
    std::vector<std::byte> copied(box.to_size), read(box.to_size);
    CopyStrided(from.data(), copied.data(), box.axes, box.run);
    const auto read_at = [&](uint64_t offset, std::span<std::byte> out) {
      EXPECT_LE(offset + out.size(), from.size());
      std::copy_n(from.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
      return true;
    };
    ASSERT_TRUE(ReadStrided(read_at, 0, read.data(), box.axes, box.run));
    ASSERT_EQ(read, copied) << "round " << round;
  }
}

TEST(StridedReadTest, LargeRunsGoWhereTheyBelong) {
  const size_t run = 100'000;
  const auto from = Numbered(3 * run);
  std::vector<std::byte> to(4 * run);
  std::vector<size_t> sizes;
  const auto read_at = [&](uint64_t offset, std::span<std::byte> out) {
    EXPECT_TRUE(out.data() >= to.data() && out.data() < to.data() + to.size());
    sizes.push_back(out.size());
    std::copy_n(from.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
    return true;
  };
  ASSERT_TRUE(ReadStrided(read_at, 0, to.data(), {{3, run, run + 10}}, run));
  EXPECT_EQ(sizes, (std::vector<size_t>{run, run, run}));
}

// The sizes of the reads that a box takes.
std::vector<size_t> SizesOfReads(std::vector<CopyAxis> axes, size_t run) {
  std::vector<std::byte> to(1 << 20);
  std::vector<size_t> sizes;
  const auto read_at = [&](uint64_t, std::span<std::byte> out) {
    sizes.push_back(out.size());
    return true;
  };
  EXPECT_TRUE(ReadStrided(read_at, 0, to.data(), std::move(axes), run));
  return sizes;
}

TEST(StridedReadTest, NothingIsReadForAnEmptyBox) {
  EXPECT_EQ(SizesOfReads({{0, 10, 10}}, 4), std::vector<size_t>());
  EXPECT_EQ(SizesOfReads({{3, 10, 10}}, 0), std::vector<size_t>());
}

TEST(StridedReadTest, ASmallBoxIsReadInOnePieceWithWhatIsBetween) {
  EXPECT_EQ(SizesOfReads({{4, 100, 8}, {4, 16, 8}}, 8),
            std::vector<size_t>{3 * 100 + 3 * 16 + 8});
}

TEST(StridedReadTest, NoPieceIsLargerThanItsMemory) {
  const auto sizes =
      SizesOfReads({{8, 12'000, 10'000}}, 10'000);  // dense, but more than 64 KiB
  ASSERT_GT(sizes.size(), 1U);
  for (const size_t size : sizes) EXPECT_LE(size, 64U << 10);
}

TEST(StridedReadTest, ASparseBoxIsNotReadWithWhatIsBetween) {
  EXPECT_EQ(SizesOfReads({{3, 10'000, 8}}, 8), (std::vector<size_t>{8, 8, 8}));
}

TEST(StridedReadTest, TheFirstFailureEndsIt) {
  std::vector<std::byte> to(1 << 20);
  int calls = 0;
  const auto read_at = [&](uint64_t, std::span<std::byte>) { return ++calls < 2; };
  EXPECT_FALSE(ReadStrided(read_at, 0, to.data(), {{10, 200'000, 100'000}}, 100'000));
  EXPECT_EQ(calls, 2);
}

TEST(StridedCopyTest, ABoxGoesToItsPlaceInALargerOne) {
  for (const size_t item : {1u, 3u}) {
    const std::vector<uint64_t> extents = {2, 1, 3};
    const std::vector<uint64_t> shape = {4, 3, 5};
    const std::vector<uint64_t> low = {1, 2, 2};
    const auto from = Numbered(6 * item);
    std::vector<std::byte> got(60 * item, std::byte{0xEE});
    std::vector<std::byte> expected = got;
    for (size_t i = 0; i < 2; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        const size_t place = ((i + 1) * 3 + 2) * 5 + k + 2;
        for (size_t b = 0; b < item; ++b) {
          expected[place * item + b] = from[(i * 3 + k) * item + b];
        }
      }
    }
    CopyBox(from.data(), extents, got.data(), shape, low, item);
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace ndlfs::cache
