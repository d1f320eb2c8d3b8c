// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "backends/codec/registry.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using ::testing::HasSubstr;
using Shape = std::vector<uint64_t>;
using Order = std::vector<uint64_t>;

std::shared_ptr<const ArrayToArrayCodec> MakeTranspose(const Json& order,
                                                       const ChunkForm& form) {
  const Json configuration = {{"order", order}};
  auto codec = MakeCodec({CodecDialect::kZarr3, "transpose", &configuration, &form});
  if (!codec) {
    ADD_FAILURE() << codec.error().message();
    return nullptr;
  }
  return std::get<std::shared_ptr<const ArrayToArrayCodec>>(*codec);
}

// By definition: encoded[i...] = decoded[j...] with j[order[k]] = i[k].
Bytes EncodeByDefinition(const Bytes& decoded, const Shape& shape, const Order& order,
                         size_t size) {
  Bytes encoded(decoded.size());
  std::vector<uint64_t> index(shape.size());
  for (size_t n = 0; n < encoded.size() / size; ++n) {
    uint64_t rest = n;
    for (size_t k = shape.size(); k-- > 0;) {
      index[order[k]] = rest % shape[order[k]];
      rest /= shape[order[k]];
    }
    uint64_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) from = from * shape[d] + index[d];
    std::memcpy(encoded.data() + n * size, decoded.data() + from * size, size);
  }
  return encoded;
}

// Every byte differs from its neighbours, at all distances that matter.
Bytes Noise(size_t size) {
  Bytes bytes(size);
  uint32_t state = 1;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525 + 1013904223;
    bytes.data()[i] = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

class TransposeTest : public testing::TestWithParam<size_t> {};

TEST_P(TransposeTest, UndoesEveryPermutationOfEveryShape) {
  const size_t size = GetParam();
  const model::Datatype dtype = model::Datatype::Opaque(size);
  for (const Shape& shape :
       {Shape{7}, Shape{5, 3}, Shape{64, 64}, Shape{67, 130}, Shape{1, 9}, Shape{33, 1, 17},
        Shape{2, 3, 5}, Shape{16, 4, 20}, Shape{3, 1, 4, 5}, Shape{2, 3, 2, 2, 3}}) {
    const ChunkForm form{dtype, shape};
    const Bytes decoded = Noise(*form.byte_size());
    Order order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      const auto codec = MakeTranspose(order, form);
      const Bytes encoded = EncodeByDefinition(decoded, shape, order, size);
      GuardedBuffer memory(decoded.size());
      ASSERT_TRUE(codec->Decode(encoded.span(), form, memory.span()));
      EXPECT_TRUE(memory.IsIntact());
      ASSERT_EQ(ToHex(memory.span()), ToHex(decoded.span())) << Json(shape) << Json(order);
      EXPECT_TRUE(!codec->IsIdentity(form) || ToHex(encoded.span()) == ToHex(decoded.span()));
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TransposeTest,
                         testing::Values(1, 2, 3, 4, 5, 8, 12, 16, 24, 100));

TEST(TransposeCodecTest, EncodedShapeFollowsTheOrder) {
  const ChunkForm form{model::Datatype::Float32(), {2, 3, 4}};
  EXPECT_EQ(MakeTranspose({2, 0, 1}, form)->EncodedForm(form)->shape, (Shape{4, 2, 3}));
}

TEST(TransposeCodecTest, IsIdentityWhereOnlyDimensionsOfOneElementMove) {
  const ChunkForm form{model::Datatype::Float32(), {1, 3, 1, 4}};
  EXPECT_TRUE(MakeTranspose({1, 0, 3, 2}, form)->IsIdentity(form));
  EXPECT_FALSE(MakeTranspose({3, 0, 1, 2}, form)->IsIdentity(form));
}

TEST(TransposeCodecTest, DraftSpellingsAreRead) {
  const ChunkForm form{model::Datatype::Integer(1, false), {2, 3}};
  EXPECT_TRUE(MakeTranspose("C", form)->IsIdentity(form));
  EXPECT_EQ(MakeTranspose("F", form)->EncodedForm(form)->shape, (Shape{3, 2}));
}

TEST(TransposeCodecTest, ElementsOfVariableSizeMoveWhole) {
  const ChunkForm form{model::Datatype::String(), {2, 2}};
  // 2 x 2 texts a, bb, ccc, "" column by column: a, ccc, bb, "".
  std::vector<uint64_t> table = {0, 5, 12, 18, 22};
  const Bytes elements = FromHex(
      "0100000061"
      "03000000636363"
      "020000006262"
      "00000000");
  Bytes encoded(5 * 8 + elements.size());
  std::memcpy(encoded.data(), table.data(), 40);
  std::memcpy(encoded.data() + 40, elements.data(), elements.size());
  const auto decoded =
      MakeTranspose({1, 0}, form)->DecodeVariable(encoded.span(), form, 1 << 20);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(ValuesOf<uint64_t>(decoded->span().first(40)),
            (std::vector<uint64_t>{0, 5, 11, 18, 22}));
  EXPECT_EQ(ToHex(decoded->span().subspan(40)),
            "0100000061"
            "020000006262"
            "03000000636363"
            "00000000");
}

TEST(TransposeCodecTest, OrdersThatAreNoPermutationAreRefused) {
  const ChunkForm form{model::Datatype::Float32(), {2, 3}};
  const auto failure = [&](std::string_view configuration) {
    return MakeFailure(CodecDialect::kZarr3, "transpose", configuration, form);
  };
  EXPECT_EQ(failure("{}"), "transpose: \"order\" is missing");
  EXPECT_EQ(failure(R"({"order": [0, 0]})"),
            "transpose: order: [0,0] is not a permutation of 0 to 1");
  EXPECT_EQ(failure(R"({"order": [0, 2]})"),
            "transpose: order: [0,2] is not a permutation of 0 to 1");
  EXPECT_THAT(failure(R"({"order": [0, -1]})"),
              HasSubstr("order: [1]: expected a non-negative"));
  EXPECT_EQ(failure(R"({"order": [0]})"), "transpose: order: 1 numbers for 2 dimensions");
  EXPECT_EQ(failure(R"({"order": [0, 1, 2]})"), "transpose: order: 3 numbers for 2 dimensions");
  EXPECT_THAT(failure(R"({"order": "A"})"), HasSubstr("expected a list of integers"));
}

}  // namespace
}  // namespace ndlfs::backends
