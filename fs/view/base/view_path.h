// SPDX-License-Identifier: MIT
//
// The names of files with data, as people write them: this is the only place that takes them
// apart or puts them together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ndlfs::fs {

// A name in its parts: "values[lat=40:60,mean:lat=4,axes:lon,lat,chunks:lat=5].zarr". The parts
// in the brackets may be in any order, except that the slice comes first.
struct ViewPath {
  enum class Stem : uint8_t {
    kData,    // the elements as the store has them
    kValues,  // the values that they stand for
  };

  Stem stem = Stem::kData;
  // The slice in the brackets, as it is written. Empty for empty brackets; nullopt if there are
  // none, or if they have other parts only.
  std::optional<std::string> slice = {};
  // The number that each block of elements becomes, and the extents of the blocks:
  // "mean:lat=4,lon=4". The words are "mean", "min", "max", "sum" and "count".
  std::optional<std::string> blocks = {};
  // The text after "axes:": "lon,lat".
  std::optional<std::string> axes = {};
  // Whether "order=F" is in the brackets. It may also stand between the items of another part.
  bool is_fortran = false;
  // The text after "chunks:": "lat=5".
  std::optional<std::string> chunks = {};
  // The text after the first dot that follows the stem or the brackets: "npy", "raw.hdr". May
  // be empty.
  std::string extension;

  // nullopt for names of other files, such as "preview.png", and for names that have a part
  // twice. Accepts any extension, and does not look into the parts.
  static std::optional<ViewPath> Parse(std::string_view name);
  // The file with all of the array as the store has it: "data.npy".
  static ViewPath Whole(std::string_view extension);

  // The name, with the parts in the order of the members above. Parse() of it returns an equal
  // path.
  std::string Name() const;
  // The name up to the dot before the extension: "values[0]".
  std::string NameWithoutExtension() const;
  // "data" or "values".
  std::string_view StemText() const;
  // The text between the brackets; nullopt if there are none.
  std::optional<std::string> Brackets() const;
  bool has_brackets() const { return slice || blocks || axes || is_fortran || chunks; }
  // Whether this names all of the array, as the store has it.
  bool is_whole() const { return stem == Stem::kData && !has_brackets(); }

  bool operator==(const ViewPath&) const = default;
};

// The name of a kind of files in options: "npy" for data.npy, "html" for index.html, "preview"
// for preview.png, "thumbnail" for thumbnail.png, "pyramid" for data.ome.zarr, other names in
// full. Options take the name of the file as well.
std::string_view ShortName(std::string_view file_name);

// Resolves an alias: if `name` is `stem` and an extension or a slice, returns
// it with "data" in place of `stem` ("t2m.npy" -> "data.npy"). Returns "" for
// other names, and for names that ndlfs has reserved.
std::string ResolveAlias(std::string_view stem, std::string_view name);
// The same in a group. There "cells.ome.tif" is data.ome.tif, even if the stem is "cells.ome".
std::string ResolveGroupAlias(std::string_view stem, std::string_view name);

// The name of a store without its extension, which files are called by: "era5" for "era5.zarr".
// A name that is all extension stays as it is.
std::string_view StemOf(std::string_view file_name);

// "era5.nc" for "era5" and "nc". Repeats no part of the extension that the name ends in
// already: "cells.ome.tif" for "cells.ome" and "ome.tif".
std::string WithExtension(std::string_view name, std::string_view extension);

}  // namespace ndlfs::fs
