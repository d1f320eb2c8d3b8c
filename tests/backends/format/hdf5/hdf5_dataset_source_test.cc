// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/format/hdf5/dataset_source.h"
#include "backends/format/text_codec.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;
using model::ErrorCode;
using test::IsError;
using test::IsOk;
using ::testing::Eq;
using ::testing::HasSubstr;

DatasetInfo Sound() {
  DatasetInfo info;
  info.type = Datatype::FixedString(8, model::Charset::kAscii);
  info.stored = info.type;
  info.is_plain = true;
  info.shape = {3};
  info.max_shape = {DatasetInfo::kUnlimited};
  info.text = {{.offset = 0, .width = 4, .count = 2, .is_space_padded = true}};
  return info;
}

TEST(Hdf5DatasetInfoTest, WhatAgreesWithItselfIsAccepted) {
  EXPECT_THAT(CheckDatasetInfo(Sound()), IsOk());
}

TEST(Hdf5DatasetInfoTest, WhatDoesNotIsRefused) {
  const auto refusal = [](const auto& change) {
    DatasetInfo info = Sound();
    change(info);
    const auto checked = CheckDatasetInfo(info);
    return checked ? "" : checked.error().message();
  };
  EXPECT_EQ(refusal([](auto& info) { info.max_shape = {}; }), "two ranks");
  EXPECT_EQ(refusal([](auto& info) { info.scales.resize(2); }), "scales of another rank");
  EXPECT_EQ(refusal([](auto& info) { info.scales = {{{"/x", {1}, {}, false}}}; }), "two ranks");
  EXPECT_EQ(refusal([](auto& info) { info.fill.emplace(7); }), "a fill value of 7 bytes");
  EXPECT_EQ(refusal([](auto& info) { info.netcdf_fill.emplace(7); }),
            "a fill value of 7 bytes");
  EXPECT_EQ(refusal([](auto& info) {
              info.netcdf_shape = {3, 3};
            }),
            "a shape smaller than what is stored");
  EXPECT_EQ(refusal([](auto& info) { info.netcdf_shape = {2}; }),
            "a shape smaller than what is stored");
  EXPECT_EQ(refusal([](auto& info) { info.stored = Datatype::Opaque(9); }),
            "elements of two layouts");
  EXPECT_EQ(refusal([](auto& info) { info.text[0].offset = 1; }), "text beyond its element");
  EXPECT_EQ(refusal([](auto& info) { info.text[0].count = SIZE_MAX; }),
            "text beyond its element");
}

std::string DecodeText(std::vector<TextRun> runs, std::string encoded, size_t item) {
  const auto codec = MakeTextCodec(std::move(runs));
  const ChunkForm form{Datatype::Opaque(item), {encoded.size() / item}};
  std::string decoded(encoded.size(), '?');
  EXPECT_THAT(codec->Decode(AsBytes(encoded), form, std::as_writable_bytes(std::span(decoded))),
              IsOk());
  return decoded;
}

TEST(Hdf5TextCodecTest, WhatFollowsTheEndOfTextIsCleared) {
  EXPECT_EQ(DecodeText({{1, 3, 1, false}}, {"xa\0bcyddd", 9}, 9).size(), 9);
  EXPECT_EQ(DecodeText({{1, 3, 1, false}},
                       std::string("xa\0b"
                                   "yccc",
                                   8),
                       4),
            std::string("xa\0\0"
                        "yccc",
                        8));
  EXPECT_EQ(DecodeText({{0, 2, 2, true}}, "a b   ", 6), std::string("a\0b\0  ", 6));
  EXPECT_EQ(DecodeText({{0, 3, 1, true}}, " a ", 3), std::string(" a\0", 3));
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
