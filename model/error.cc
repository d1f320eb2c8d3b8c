// SPDX-License-Identifier: MIT
#include "model/error.h"

#include <system_error>

#include "model/utf8.h"

namespace ndlfs::model {
namespace {

constexpr size_t kQuoteLimit = 80;

// Appends `text` with controls, and bytes that are not UTF-8, as \xNN.
void AppendEscaped(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", first);
      text.remove_prefix(1);
      continue;
    }
    if (quoted && (first == '"' || first == '\\')) out += '\\';
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
}

}  // namespace

Error Error::In(std::string_view where) && {
  message_.insert(0, OneLine(where) + ": ");
  return std::move(*this);
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  AppendEscaped(out, text.substr(0, kQuoteLimit), true);
  out += text.size() > kQuoteLimit ? "\"..." : "\"";
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out;
  AppendEscaped(out, text, false);
  return out;
}

Failure IoError(int sys_errno, std::string_view what) {
  return Failure(Error(ErrorCode::kIo,
                       OneLine(what) + ": " + std::generic_category().message(sys_errno),
                       sys_errno));
}

}  // namespace ndlfs::model
