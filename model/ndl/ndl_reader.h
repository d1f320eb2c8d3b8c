// SPDX-License-Identifier: MIT
//
// Reads and checks NDL documents (NDL 0.6.1; man/ndl.5 has the extensions).
// Documents of WriteFile read back equal: ReadNdl(WriteFile(f)) == f.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/entities.h"
#include "model/ndl/diagnostic.h"

namespace ndlfs::model {

// Documents with more bytes are refused.
inline constexpr size_t kMaxNdlBytes = size_t{64} << 20;

struct NdlLimits {
  size_t bytes = kMaxNdlBytes;
  size_t values = 8'000'000;  // YAML nodes: names, numbers, lists ...
  // Attributes and arrays; each takes about 400 bytes, however short its entry.
  size_t entities = 1'500'000;
  // Indicators of a collection in flow style, which all are in memory at once.
  size_t lookahead = 1'000'000;
};

struct ParsedDocument {
  // Set if the document has no errors.
  std::optional<File> file;
  // Path names of objects in the sources of the document that it leaves out, and of their
  // attributes: "/sst" and "/sst@units".
  std::vector<std::string> left_out = {};
  // An upper estimate of the bytes of memory that `file` takes.
  size_t memory = 0;
  // The errors by line, about a hundred at most.
  std::vector<Diagnostic> errors;
};

// Reads a document in either form. The name of the file is `file_name` without
// folder and extension. `limits`, a depth of 256 for groups and of 64 for
// datatypes bound time and memory, whatever the bytes are.
ParsedDocument ReadNdl(std::string_view text, std::string_view file_name,
                       const NdlLimits& limits = {});

// Whether `text`, the beginning of a YAML file, is likely to be an NDL document,
// judged by its first top-level key. True if there are only comments.
bool LooksLikeNdl(std::string_view text);

}  // namespace ndlfs::model
