// SPDX-License-Identifier: MIT
#include "backends/base/load_number.h"

#include <gtest/gtest.h>

#include <array>

namespace ndlfs::backends {
namespace {

constexpr std::array kNumber = {std::byte{0x81}, std::byte{0x02}, std::byte{0x03}};

TEST(LoadNumberTest, BeginsWithTheMostSignificantByte) {
  EXPECT_EQ(LoadNumber(kNumber), 0x810203u);
}

TEST(LoadNumberTest, BeginsWithTheLeastSignificantByteIfLittleEndian) {
  EXPECT_EQ(LoadNumber(kNumber, model::ByteOrder::kLittle), 0x030281u);
}

TEST(LoadNumberTest, HoldsEightBytesAndNone) {
  const std::array<std::byte, 8> ones = {std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                         std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                         std::byte{0xff}, std::byte{0xfe}};
  EXPECT_EQ(LoadNumber(ones), 0xfffffffffffffffeu);
  EXPECT_EQ(LoadNumber({}), 0u);
}

}  // namespace
}  // namespace ndlfs::backends
