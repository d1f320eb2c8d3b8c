// SPDX-License-Identifier: MIT
//
// The records of Fortran files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "backends/codec/factories.h"
#include "tests/backends/codec/codec_testing.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using ::testing::HasSubstr;

// What records of `record_bytes` bytes decode to, in room for `size` bytes.
model::Result<std::string> DecodeRecords(uint64_t record_bytes, std::string_view hex,
                                         size_t size, ByteOrder order = ByteOrder::kLittle) {
  GuardedBuffer memory(size);
  NDLFS_TRY(
      const size_t count,
      MakeFortranRecords(record_bytes, order)->Decode(FromHex(hex).span(), memory.span()));
  EXPECT_TRUE(memory.IsIntact());
  return ToHex(memory.span().first(count));
}

TEST(FortranRecordsTest, MarkersAreLeftOut) {
  constexpr std::string_view kTwo =
      "03000000"
      "010203"
      "03000000"
      "03000000"
      "040506"
      "03000000";
  EXPECT_EQ(*DecodeRecords(3, kTwo, 6), "010203040506");
  EXPECT_EQ(*DecodeRecords(3, kTwo, 9), "010203040506");
  EXPECT_EQ(*DecodeRecords(3,
                           "00000003"
                           "010203"
                           "00000003",
                           3, ByteOrder::kBig),
            "010203");
  EXPECT_EQ(*DecodeRecords(3, "", 6), "");
}

TEST(FortranRecordsTest, TheBeginningOfARecordMayBeWanted) {
  EXPECT_EQ(*DecodeRecords(3,
                           "03000000"
                           "0102"
                           "03000000",
                           2),
            "0102");
}

TEST(FortranRecordsTest, EachRecordTakesTwoMarkersMore) {
  const auto codec = MakeFortranRecords(3, ByteOrder::kLittle);
  for (const auto& [decoded, encoded] :
       {std::pair{3u, 11u}, {6u, 22u}, {30u, 110u}, {2u, 10u}}) {
    EXPECT_EQ(codec->EncodedSize(decoded).size, encoded);
    EXPECT_TRUE(codec->EncodedSize(decoded).exact);
  }
}

TEST(FortranRecordsTest, BrokenRecordsAreCorrupt) {
  const auto failure = [](std::string_view hex, size_t size) {
    return FailureOf(DecodeRecords(3, hex, size), model::ErrorCode::kCorrupt);
  };
  EXPECT_EQ(failure("04000000"
                    "010203"
                    "03000000",
                    3),
            "the marker before a record of 3 bytes says 4");
  EXPECT_EQ(failure("03000000"
                    "010203"
                    "00000003",
                    3),
            "the marker behind a record of 3 bytes says 50331648");
  for (const std::string_view hex : {"03000000"
                                     "010203"
                                     "030000",
                                     "03000000"
                                     "010203"
                                     "03000000"
                                     "03",
                                     "03000000"
                                     "010203"
                                     "03000000"
                                     "03000000"
                                     "010203"
                                     "03000000"}) {
    EXPECT_THAT(failure(hex, 4), HasSubstr(" bytes left where a record of 3 bytes begins"));
  }
}

}  // namespace
}  // namespace ndlfs::backends
