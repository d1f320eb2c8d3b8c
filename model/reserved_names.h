// SPDX-License-Identifier: MIT
//
// The names that ndlfs keeps for its own files in the folder of an object of a store. The model
// makes none of these files. It has their names because EncodeFileName() escapes an object that
// is called like one of them, so that each file name means one thing. Views and the tree take
// the names from here; a view under a name that is not here is a mistake that a test finds.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace ndlfs::model {

inline constexpr std::string_view kDocumentFileName = ".ndl.yaml";
inline constexpr std::string_view kSourceLinkName = ".source";
inline constexpr std::string_view kVersionsFolderName = ".versions";
inline constexpr std::string_view kErrorFileName = "error.txt";
inline constexpr std::string_view kPageFileName = "index.html";
inline constexpr std::string_view kPreviewFileName = "preview.png";
inline constexpr std::string_view kThumbnailFileName = "thumbnail.png";
inline constexpr std::string_view kTableFileName = "table.csv";
inline constexpr std::string_view kSumsFileName = "SHA256SUMS";

inline constexpr std::array kReservedFileNames = {
    kDocumentFileName, kSourceLinkName,    kVersionsFolderName, kErrorFileName, kPageFileName,
    kPreviewFileName,  kThumbnailFileName, kTableFileName,      kSumsFileName};

// What the names of files with data begin with, before a dot or a slice: "data.npy",
// "values[0].raw". Names that go on so are reserved, whether there is such a file or not.
inline constexpr std::string_view kStoredStem = "data";
inline constexpr std::string_view kUnpackedStem = "values";

// True for kReservedFileNames, and for every name that begins with "data.", "data[", "values."
// or "values[".
constexpr bool IsReservedFileName(std::string_view file_name) {
  for (const std::string_view stem : {kStoredStem, kUnpackedStem}) {
    if (!file_name.starts_with(stem) || file_name.size() == stem.size()) continue;
    if (file_name[stem.size()] == '.' || file_name[stem.size()] == '[') return true;
  }
  return std::ranges::find(kReservedFileNames, file_name) != kReservedFileNames.end();
}

}  // namespace ndlfs::model
