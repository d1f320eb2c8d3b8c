// SPDX-License-Identifier: MIT
//
// The directories of a file as pictures: pages of one form, their overviews and masks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/tiff/directory.h"
#include "backends/format/tiff/image.h"
#include "model/error.h"

namespace ndlfs::backends::tiff {

// Pages of one form, one after the other.
struct Stack {
  ImageForm form;
  std::vector<PageChunks> pages;
  // Why the samples cannot be read. Such a stack has one page.
  std::optional<model::Error> error;
};

struct Picture {
  Stack full;
  std::vector<Stack> overviews;  // as many pages as `full` has; the largest first
  std::vector<Stack> masks;      // of the full picture, and of its overviews
  // The directory of the first page.
  Directory directory;
  // The number of each page in the chain of directories, from 0.
  std::vector<uint32_t> numbers;
};

struct Pictures {
  std::vector<Picture> pictures;
  // What is wrong with directories that are left out.
  std::vector<std::string> problems;
  std::vector<std::string> notes;  // what is odd about others
};

// Reads all directories. Consecutive pages that differ only in the place of their samples
// become one picture. A damaged directory is a problem, and so is the end of a chain that is
// broken or leads back. Fails only if the file cannot be read.
model::Result<Pictures> ReadPictures(TiffReader& reader);

}  // namespace ndlfs::backends::tiff
