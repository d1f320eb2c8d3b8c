// SPDX-License-Identifier: MIT
//
// Reads and checks NDL documents (NDL 0.6.1; man/ndl.5 has the extensions).
// What WriteFile writes is read back equal: ReadNdl(WriteFile(f)) == f.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "model/entities.h"
#include "model/ndl/diagnostic.h"

namespace ndlfs::model {

// Longer documents are refused.
inline constexpr size_t kMaxNdlBytes = size_t{64} << 20;

struct NdlLimits {
  size_t bytes = kMaxNdlBytes;
  size_t values = 8'000'000;  // of YAML: names, numbers, lists...
};

struct ParsedDocument {
  // Set if there is nothing wrong with the document.
  std::optional<File> file;
  // About how many bytes of memory `file` takes, at most.
  size_t memory = 0;
  // All that is wrong with it, in the order of lines, up to a hundred.
  std::vector<Diagnostic> errors;
};

// Reads a document in either form. The file is named by `file_name` without
// folder and extension. Takes bounded time and memory whatever the bytes are:
// `limits`, groups 256 deep, datatypes 64 deep.
ParsedDocument ReadNdl(std::string_view text, std::string_view file_name,
                       const NdlLimits& limits = {});

// Whether `text`, the beginning of a YAML file, looks as if it were meant to
// be an NDL document: from its first top-level key. Comments alone leave it
// open, and count as true.
bool LooksLikeNdl(std::string_view text);

}  // namespace ndlfs::model
