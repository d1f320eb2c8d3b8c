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

// A name in its parts: "values[lat=40:60,chunks:lat=5].npy".
struct ViewPath {
  enum class Stem : uint8_t {
    kData,    // the elements as the store has them
    kValues,  // the values that they stand for
  };

  Stem stem = Stem::kData;
  // The slice in the brackets, as it is written. Empty for empty brackets; nullopt if there are
  // none, or if they have chunks only.
  std::optional<std::string> slice = {};
  // What follows "chunks:" at the beginning of an item, up to the closing bracket.
  std::optional<std::string> chunks = {};
  // What follows the first dot after the stem or the brackets: "npy", "raw.hdr". May be empty.
  std::string extension;

  // nullopt for names of other files, such as "preview.png". Knows no extension, and does not
  // read the slice.
  static std::optional<ViewPath> Parse(std::string_view name);
  // The file with all of the array as the store has it: "data.npy".
  static ViewPath Whole(std::string_view extension);

  // The name; Parse() of it gives these parts again.
  std::string Name() const;
  // What stands before the dot and the extension: "values[0]".
  std::string NameWithoutExtension() const;
  // "data" or "values".
  std::string_view StemText() const;
  // All that stands between the brackets; nullopt if there are none.
  std::optional<std::string> Brackets() const;
  bool has_brackets() const { return slice.has_value() || chunks.has_value(); }
  // All of the array as the store has it.
  bool is_whole() const { return stem == Stem::kData && !has_brackets(); }

  bool operator==(const ViewPath&) const = default;
};

// The name of a kind of files in options: "npy" for data.npy, "html" for index.html, "preview"
// for preview.png, "thumbnail" for thumbnail.png, other names in full. Options take the name of
// the file as well.
std::string_view ShortName(std::string_view file_name);

// Resolves an alias: if `name` is `stem` and an extension or a slice, returns
// it with "data" in place of `stem` ("t2m.npy" -> "data.npy"). Returns "" for
// other names, and for names that ndlfs has reserved.
std::string ResolveAlias(std::string_view stem, std::string_view name);
// The same in a group. There "cells.ome.tif" is data.ome.tif also of "cells.ome".
std::string ResolveGroupAlias(std::string_view stem, std::string_view name);

// The name of a store without its extension, which files are called by: "era5" for "era5.zarr".
// A name that is all extension stays as it is.
std::string_view StemOf(std::string_view file_name);

// "era5.nc" of "era5" and "nc". What the name ends in already is not said again:
// "cells.ome.tif" of "cells.ome" and "ome.tif".
std::string WithExtension(std::string_view name, std::string_view extension);

}  // namespace ndlfs::fs
