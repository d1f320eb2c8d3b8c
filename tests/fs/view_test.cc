// SPDX-License-Identifier: MIT
#include "fs/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cache/chunk_cache.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ViewTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const View>> Make(
      std::string_view name, std::shared_ptr<const backends::ArraySource> source) {
    auto node = std::make_shared<backends::Node>();
    node->entity = model::Ndarray();
    node->source = source;
    auto reader = std::make_shared<cache::ArrayReader>(source, cache_);
    return FindViewKind(name)->Make({node, reader});
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

TEST(ViewKindTest, ApplyToTheTypesThatTheyCanShow) {
  const auto applies = [](const Datatype& type, std::vector<uint64_t> shape = {2}) {
    const test::MemoryArray array(type, std::move(shape), "");
    std::vector<std::string> names;
    for (const ViewKind* kind : ViewKinds()) {
      if (kind->AppliesTo(array.spec())) names.emplace_back(kind->file_name());
    }
    return names;
  };
  EXPECT_THAT(applies(Datatype::Opaque(4)), ElementsAre("data.npy", "data.raw"));
  EXPECT_THAT(applies(Datatype::Opaque(4), std::vector<uint64_t>(65, 1)),
              ElementsAre("data.raw"));
  EXPECT_THAT(applies(Datatype::ObjectRef()), ElementsAre());
}

TEST(ViewKindTest, AreFoundByTheNameOfTheirFile) {
  for (const ViewKind* kind : ViewKinds()) EXPECT_EQ(FindViewKind(kind->file_name()), kind);
  EXPECT_EQ(FindViewKind("data.pdf"), nullptr);
  EXPECT_EQ(FindViewKind(""), nullptr);
}

TEST(TextViewTest, IsReadAtAnyOffset) {
  const auto view = MakeTextView("hello");
  EXPECT_EQ(view->size(), 5u);
  std::string out(3, '\0');
  const auto bytes = std::as_writable_bytes(std::span(out));
  EXPECT_THAT(view->Read(1, bytes), test::IsOkAnd(3u));
  EXPECT_EQ(out, "ell");
  EXPECT_THAT(view->Read(4, bytes), test::IsOkAnd(1u));
  EXPECT_THAT(view->Read(5, bytes), test::IsOkAnd(0u));
  EXPECT_THAT(view->Read(~uint64_t{0}, bytes), test::IsOkAnd(0u));
}

}  // namespace
}  // namespace ndlfs::fs
