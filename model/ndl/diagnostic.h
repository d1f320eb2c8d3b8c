// SPDX-License-Identifier: MIT
//
// What is wrong with a document, and where: as compilers say it to people, and
// as JSON for editors.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ndlfs::model {

struct Diagnostic {
  int line = 1;         // from 1
  int column = 1;       // from 1, in bytes
  std::string path;     // path name of the entity; empty where there is none
  std::string message;  // what is wrong, and what was expected
};

// One line without its end: "FILE:LINE:COLUMN: path name: message".
std::string FormatDiagnostic(std::string_view file_name, const Diagnostic& diagnostic);

// One JSON object without line breaks, with the members file, line, column,
// path and message.
std::string DiagnosticToJson(std::string_view file_name, const Diagnostic& diagnostic);

}  // namespace ndlfs::model
