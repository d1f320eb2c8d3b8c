// SPDX-License-Identifier: MIT
//
// Reads and checks NDL documents (NDL 0.6.1; man/ndl.5 has the extensions).
// What WriteFile writes is read back equal: ReadNdl(WriteFile(f)) == f.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "model/diagnostic.h"
#include "model/entities.h"

namespace ndlfs::model {

// Longer documents are refused.
inline constexpr size_t kMaxNdlBytes = size_t{64} << 20;

struct ParsedDocument {
  // Set if there is nothing wrong with the document.
  std::optional<File> file;
  // All that is wrong with it, in the order of lines, up to a hundred.
  std::vector<Diagnostic> errors;
};

// Reads a document in either form. The file is named by `file_name` without
// folder and extension. Takes bounded time and memory whatever the bytes are:
// at most 64 MiB of text, 8 million values, groups 256 deep, datatypes 64 deep.
ParsedDocument ReadNdl(std::string_view text, std::string_view file_name);

// Whether `text`, the beginning of a YAML file, looks as if it were meant to
// be an NDL document: from its first top-level key.
bool LooksLikeNdl(std::string_view text);

}  // namespace ndlfs::model
