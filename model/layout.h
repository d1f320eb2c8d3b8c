// SPDX-License-Identifier: MIT
//
// The layout of one element in `data.raw`, for types whose NDL description does
// not determine it. Shown as `x-layout` (man/ndl.5) and as the extended
// attribute user.ndl.layout.
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
  std::vector<Layout> item;           // of an array: the layout of one item, or empty
};

struct LayoutMember {
  std::string name;
  uint64_t offset = 0;  // in the struct
  Layout layout;
};

bool operator==(const Layout& a, const Layout& b);
bool operator==(const LayoutMember& a, const LayoutMember& b);

// The layout of elements of `type`. Nullopt if the datatype determines it
// (numbers, complex numbers, opaque, arrays of these), and for elements of
// variable size, which have no data.raw.
std::optional<Layout> LayoutOf(const Datatype& type);

}  // namespace ndlfs::model
