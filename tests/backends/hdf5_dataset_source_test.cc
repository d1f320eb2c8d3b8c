// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/hdf5/dataset_source.h"
#include "backends/hdf5/external_store.h"
#include "backends/hdf5/text_codec.h"
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

class Hdf5PathBeneathTest : public ::testing::Test {
 protected:
  Hdf5PathBeneathTest() : root_(SourceRoot::Open(directory_.path()).value()) {}
  std::string Beneath(const std::string& file_path, const std::string& name) {
    return PathBeneath(*root_, file_path, name).value_or("outside");
  }
  test::TemporaryDirectory directory_;
  std::shared_ptr<const SourceRoot> root_;
};

TEST_F(Hdf5PathBeneathTest, NamesAreRelativeToTheFileThatHasThem) {
  EXPECT_EQ(Beneath("a.h5", "b.bin"), "b.bin");
  EXPECT_EQ(Beneath("x/y/a.h5", "b.bin"), "x/y/b.bin");
  EXPECT_EQ(Beneath("x/y/a.h5", "../z//./b.bin"), "x/z/b.bin");
  EXPECT_EQ(Beneath("x/a.h5", root_->path() + "/b.bin"), "b.bin");
}

TEST_F(Hdf5PathBeneathTest, NamesThatClimbOutAreOutside) {
  EXPECT_EQ(Beneath("a.h5", "../b.bin"), "outside");
  EXPECT_EQ(Beneath("x/a.h5", "../../x/b.bin"), "outside");
  EXPECT_EQ(Beneath("a.h5", "/etc/passwd"), "outside");
  EXPECT_EQ(Beneath("a.h5", root_->path() + "x/b.bin"), "outside");
  EXPECT_EQ(Beneath("a.h5", root_->path() + "/../b.bin"), "outside");
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
