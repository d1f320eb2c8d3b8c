// SPDX-License-Identifier: MIT
//
// How the bytes of one element lie in `data.raw`, where the datatype does not
// say it: `x-layout` of man/ndl.5, and the extended attribute user.ndl.layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/datatype.h"

namespace ndlfs::model {

struct LayoutMember;

struct Layout {
  uint64_t size = 0;                  // bytes of one element
  std::optional<Charset> charset;     // of text
  std::vector<LayoutMember> members;  // of a struct
  std::vector<Layout> item;           // of an array: that of one item, where it says more
};

struct LayoutMember {
  std::string name;
  uint64_t offset = 0;  // in the struct
  Layout layout;
};

bool operator==(const Layout& a, const Layout& b);
bool operator==(const LayoutMember& a, const LayoutMember& b);

// The layout of elements of `type`. Nullopt where the datatype tells all of it
// (numbers, complex numbers, opaque, arrays of these), and for elements of
// variable size, which data.raw cannot have.
std::optional<Layout> LayoutOf(const Datatype& type);

}  // namespace ndlfs::model
