// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/elements/selection.h"
#include "model/error.h"

namespace ndlfs::fs {

// Parses the text between the brackets of "data[0,:,lat=40:60].npy", for a whole array: items
// for dimensions in their order, "..." for all dimensions that are not named, and NAME=ITEM for
// a dimension by its name. ITEM is an index or a slice, after '#' or if the dimension has no
// coordinates; otherwise see FindByCoordinate(), the only case in which anything is read.
// kNotFound says what is wrong.
model::Result<Selection> ParseSlice(const ArrayInput& array, std::string_view text);

// The items of such a text.
std::vector<std::string_view> SplitSlice(std::string_view text);

// Says what the words are if `item` begins like one of the words that are no slice, and is
// none: "order=C", "median:lat=4". nullopt for all other items.
std::optional<model::Error> RefuseWord(std::string_view item);

// An item with a name: the dimension of that name, and ITEM.
struct NamedItem {
  size_t dimension;
  std::string_view text;
};
// nullopt if `array` has no dimension of that name. The name is that of the store, or has the
// escapes of names of files ("%2F" for '/').
std::optional<NamedItem> FindNamedItem(const ArrayInput& array, std::string_view item);
// The indices that ITEM selects along that dimension.
model::Result<IndexRange> ParseNamedItem(const ArrayInput& array, const NamedItem& item);

}  // namespace ndlfs::fs
