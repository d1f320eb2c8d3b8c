// SPDX-License-Identifier: MIT
#include "backends/store/permissions.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ndlfs::backends {
namespace {

std::vector<std::byte> AccessList(std::vector<std::array<uint32_t, 3>> entries) {
  std::vector<std::byte> list;
  const auto add = [&](uint32_t number, size_t size) {
    for (; size > 0; --size, number >>= 8) list.push_back(static_cast<std::byte>(number));
  };
  add(2, 4);
  for (const auto& [tag, permissions, id] : entries) {
    add(tag, 2);
    add(permissions, 2);
    add(id, 4);
  }
  return list;
}

TEST(WithoutDeniedTest, OthersHaveWhatAllNamedUsersHave) {
  const std::array<uint32_t, 3> owner = {1, 6, 0}, group = {4, 4, 0}, mask = {16, 6, 0},
                                other = {32, 4, 0};
  EXPECT_EQ(WithoutDenied(0100664, AccessList({owner, group, mask, other})), mode_t{0100644});
  EXPECT_EQ(WithoutDenied(0664, AccessList({owner, {2, 6, 7}, group, mask, other})),
            mode_t{0644});
  EXPECT_EQ(WithoutDenied(0664, AccessList({owner, {2, 0, 7}, group, mask, other})),
            mode_t{0600});
  EXPECT_EQ(WithoutDenied(0664, AccessList({owner, group, {8, 0, 7}, mask, other})),
            mode_t{0640});
  EXPECT_EQ(
      WithoutDenied(0640, AccessList({owner, {2, 4, 7}, {4, 0, 0}, {16, 4, 0}, {32, 0, 0}})),
      mode_t{0600});
}

TEST(WithoutDeniedTest, OnlyTheOwnerKeepsBitsIfTheListIsDamaged) {
  EXPECT_EQ(WithoutDenied(0777, {}), mode_t{0700});
  auto list = AccessList({{1, 7, 0}, {4, 7, 0}, {16, 7, 0}, {32, 7, 0}});
  EXPECT_EQ(WithoutDenied(0777, list), mode_t{0777});
  EXPECT_EQ(WithoutDenied(0777, std::span(list).first(list.size() - 1)), mode_t{0700});
  list[0] = std::byte{1};
  EXPECT_EQ(WithoutDenied(0777, list), mode_t{0700});
}

TEST(CommonPermissionsTest, OfOneOwnerAndGroupAreThoseOfBoth) {
  EXPECT_EQ(CommonPermissions({1, 1, 0755}, {1, 1, 0640}), (Permissions{1, 1, 0640}));
  EXPECT_EQ(CommonPermissions({1, 1, 0444}, {1, 1, 0222}), (Permissions{1, 1, 0}));
}

TEST(CommonPermissionsTest, BitsAboutOthersAreNotMixed) {
  EXPECT_EQ(CommonPermissions({1, 1, 0444}, {2, 1, 0400}), (Permissions{1, 1, 0444}));
  EXPECT_EQ(CommonPermissions({1, 1, 0444}, {1, 2, 0400}), (Permissions{1, 1, 0444}));
}

}  // namespace
}  // namespace ndlfs::backends
