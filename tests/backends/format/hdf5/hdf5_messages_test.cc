// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "backends/format/hdf5/messages.h"
#include "tests/support/result.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using ::testing::HasSubstr;

std::vector<Datatype> AllTypes() {
  const Datatype big = Datatype::Integer(2, true, model::ByteOrder::kBig);
  return {
      big,
      Datatype::Integer(8, false),
      Datatype::Time({"ns", 25, true}, model::ByteOrder::kBig),
      Datatype::Float64(model::ByteOrder::kBig),
      Datatype::Float("float128", 16),
      Datatype::String(model::Charset::kAscii),
      Datatype::FixedString(7, model::Charset::kUtf8, model::TextPadding::kSpace),
      Datatype::Opaque(5, "image/png"),
      Datatype::Enum(big, {{"UP", -1}, {"", 7}}),
      Datatype::Bool(),
      Datatype::ObjectRef(),
      Datatype::RegionRef(Datatype::Selection::kElement),
      Datatype::Compound({{"a", big, 2}, {"b", Datatype::Float32(), 8}}, 16),
      Datatype::PackedCompound({{"s", Datatype::String(), 0}, {"i", big, 0}}),
      Datatype::Vlen(Datatype::Vlen(big)),
      Datatype::Array(Datatype::Complex(8), {2, 3}),
  };
}

ObjectInfo MakeInfo(const Datatype& type) {
  ObjectInfo info;
  info.kind = ObjectKind::kDataset;
  info.attributes = {{"a\0b", type, {2, 3}, model::ByteOrder::kBig, {std::byte{1}}, {}},
                     {"bad", type, {}, {}, {}, model::Error(ErrorCode::kLimit, "too much")}};
  info.dimensions = {{"/unused", {7}, {DatasetInfo::kUnlimited}, true}};
  info.error = model::Error(ErrorCode::kIo, "gone", 5);
  DatasetInfo& dataset = info.dataset.emplace();
  dataset.type = type;
  dataset.stored = type.WithOrder(model::ByteOrder::kBig);
  dataset.is_plain = true;
  dataset.text = {{1, 2, 3, true}};
  dataset.shape = {1, 2};
  dataset.max_shape = {DatasetInfo::kUnlimited, 2};
  dataset.netcdf_shape = {3, 2};
  dataset.layout = Layout::kChunked;
  dataset.offset = 77;
  dataset.external = {{"x", 1, 2}};
  dataset.chunk = {3, 4};
  dataset.has_plain_edges = true;
  dataset.filters = {{1, "deflate", {6}}};
  dataset.sources = {"."};
  dataset.fill = std::vector<std::byte>(type.size(), std::byte{9});
  dataset.netcdf_fill = dataset.fill;
  dataset.is_scale = true;
  dataset.scale_name = "lat";
  dataset.scales = {{}, {{"/lat", {2}, {2}, true}}};
  return info;
}

TEST(Hdf5MessagesTest, TypesComeBackAsTheyWere) {
  for (const Datatype& type : AllTypes()) {
    const auto bytes = EncodeAnswer(model::Result<ObjectInfo>(MakeInfo(type)));
    const auto info = DecodeAnswer<ObjectInfo>(bytes);
    ASSERT_THAT(info, test::IsOk()) << type.keyword();
    EXPECT_EQ(info->dataset->type, type);
    EXPECT_TRUE(info->dataset->type.SameLayout(type)) << type.keyword();
    EXPECT_EQ(info->dataset->type.is_fixed_size(), type.is_fixed_size());
    EXPECT_TRUE(EncodeAnswer(info) == bytes) << "all else, with " << type.keyword();
  }
}

TEST(Hdf5MessagesTest, RequestsComeBackAsTheyWere) {
  Request request;
  request.what = Request::What::kRead;
  request.file = 3;
  request.file_size = 4;
  request.head_bytes = 2;
  request.file_path = "a/b.h5";
  request.path = "/x";
  request.first = 6;
  request.count = 7;
  request.block = {{1}, {2}, true};
  request.limit = 8;
  const auto decoded = DecodeRequest(Encode(request));
  ASSERT_THAT(decoded, test::IsOk());
  EXPECT_EQ(decoded->file, 3);
  EXPECT_EQ(decoded->file_size, 4);
  EXPECT_EQ(decoded->head_bytes, 2);
  EXPECT_EQ(Encode(*decoded), Encode(request));
}

TEST(Hdf5MessagesTest, ErrorsComeBackAsTheyWere) {
  for (const model::Result<Elements>& error :
       {model::Result<Elements>(model::IoError(EIO, "it")),
        model::Result<Elements>(model::HasChanged("it"))}) {
    const auto decoded = DecodeAnswer<Elements>(EncodeAnswer(error));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code(), error.error().code());
    EXPECT_EQ(decoded.error().sys_errno(), error.error().sys_errno());
    EXPECT_EQ(decoded.error().message(), error.error().message());
  }
}

// A library that a file has led astray may answer anything.
TEST(Hdf5MessagesTest, EveryTruncationIsRefused) {
  for (const Datatype& type : AllTypes()) {
    const auto bytes = EncodeAnswer(model::Result<ObjectInfo>(MakeInfo(type)));
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(DecodeAnswer<ObjectInfo>(ConstByteSpan(bytes).first(size)),
                  IsError(ErrorCode::kInternal, HasSubstr("garbled")));
    }
  }
}

TEST(Hdf5MessagesTest, BytesThatAreLeftOverAreRefused) {
  auto bytes = EncodeAnswer(model::Result<Location>(Location{}));
  bytes.push_back(std::byte{0});
  EXPECT_THAT(DecodeAnswer<Location>(bytes),
              IsError(ErrorCode::kInternal, HasSubstr("garbled")));
}

TEST(Hdf5MessagesTest, EveryChangedByteIsRefusedOrUnderstood) {
  int understood = 0;
  for (const Datatype& type : AllTypes()) {
    const auto bytes = EncodeAnswer(model::Result<ObjectInfo>(MakeInfo(type)));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const int value : {0, 1, 0x7f, 0xff}) {
        auto changed = bytes;
        changed[i] = static_cast<std::byte>(value);
        understood += DecodeAnswer<ObjectInfo>(changed).has_value();
      }
    }
  }
  EXPECT_GT(understood, 0);
}

TEST(Hdf5MessagesTest, TypesThatNestTooDeepAreRefused) {
  Datatype type = Datatype::Integer(1, true);
  for (int depth = 1; depth < Datatype::kMaxDepth; ++depth) type = Datatype::Vlen(type);
  const auto encode = [](const Datatype& t) {
    return EncodeAnswer(model::Result<ObjectInfo>(MakeInfo(t)));
  };
  EXPECT_THAT(DecodeAnswer<ObjectInfo>(encode(type)), test::IsOk());
  EXPECT_THAT(DecodeAnswer<ObjectInfo>(encode(Datatype::Vlen(type))),
              IsError(ErrorCode::kInternal, HasSubstr("garbled")));
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
