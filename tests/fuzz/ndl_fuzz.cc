// SPDX-License-Identifier: MIT
//
// Any bytes are either refused, with a reason, or a document that is written
// and read back equal.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"

namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  LooksLikeNdl(text);
  const ParsedDocument parsed = ReadNdl(text, "fuzz.yaml");
  Require(parsed.file.has_value() == parsed.errors.empty(), "neither a file nor errors");
  for (const Diagnostic& error : parsed.errors) {
    Require(error.line > 0 && error.column > 0, "an error without a place");
    Require(FormatDiagnostic("fuzz.yaml", error).find('\n') == std::string::npos,
            "an error of several lines");
  }
  if (!parsed.file) return 0;
  const std::string written = WriteFile(*parsed.file);
  const ParsedDocument again = ReadNdl(written, "fuzz.yaml");
  for (const Diagnostic& error : again.errors) {
    std::fprintf(stderr, "%s\n", FormatDiagnostic("written", error).c_str());
  }
  Require(again.file.has_value(), "what is written is not read");
  Require(*again.file == *parsed.file, "what is written is read back different");
  return 0;
}
