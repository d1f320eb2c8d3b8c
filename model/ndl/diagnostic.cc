// SPDX-License-Identifier: MIT
#include "model/ndl/diagnostic.h"

#include <fmt/format.h>

#include <iterator>

#include "model/error.h"
#include "model/utf8.h"

namespace ndlfs::model {
namespace {

// A JSON string (RFC 8259). Takes text that is not UTF-8 as Latin-1.
std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (const char c : IsUtf8(text) ? std::string(text) : Latin1ToUtf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string FormatDiagnostic(std::string_view file_name, const Diagnostic& diagnostic) {
  const std::string path = diagnostic.path.empty() ? "" : OneLine(diagnostic.path) + ": ";
  return fmt::format("{}:{}:{}: {}{}", OneLine(file_name), diagnostic.line, diagnostic.column,
                     path, OneLine(diagnostic.message));
}

std::string DiagnosticToJson(std::string_view file_name, const Diagnostic& diagnostic) {
  return fmt::format(R"({{"file":{},"line":{},"column":{},"path":{},"message":{}}})",
                     JsonString(file_name), diagnostic.line, diagnostic.column,
                     JsonString(diagnostic.path), JsonString(diagnostic.message));
}

}  // namespace ndlfs::model
