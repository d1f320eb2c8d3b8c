// SPDX-License-Identifier: MIT
//
// The list of all views, and their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_kind.h"
#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// Resolves an alias: if `name` is `stem` and an extension or a slice, returns
// it with "data" in place of `stem` ("t2m.npy" -> "data.npy"). Returns "" for
// other names, and for names that ndlfs has reserved.
std::string ResolveAlias(std::string_view stem, std::string_view name);

// The name of a store without its extension, as in names of files: "era5" for "era5.zarr". A
// name that is nothing but an extension stays as it is.
std::string_view StemOf(std::string_view file_name);

// "era5.nc" for "era5" and "nc". If the name ends in a part of the extension already, that part
// is not repeated: "cells.ome.tif" for "cells.ome" and "ome.tif".
std::string WithExtension(std::string_view name, std::string_view extension);

// The short names of all kinds of files, of arrays and of groups.
std::vector<std::string_view> ShortViewNames();

}  // namespace ndlfs::fs
