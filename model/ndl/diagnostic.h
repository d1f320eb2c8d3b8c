// SPDX-License-Identifier: MIT
//
// An error in a document, with its position: as one line of text in the form
// that compilers use, or as JSON for editors.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ndlfs::model {

struct Diagnostic {
  int line = 1;         // from 1
  int column = 1;       // from 1, in bytes
  std::string path;     // path name of the entity; empty if there is none
  std::string message;  // the error, and the expectation
  // The document is valid, and this version cannot show what it describes.
  bool is_unsupported = false;
};

// "FILE:LINE:COLUMN: path name: message", without a newline.
std::string FormatDiagnostic(std::string_view file_name, const Diagnostic& diagnostic);

// One JSON object without line breaks, with the members file, line, column,
// path and message.
std::string DiagnosticToJson(std::string_view file_name, const Diagnostic& diagnostic);

}  // namespace ndlfs::model
