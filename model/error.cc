// SPDX-License-Identifier: MIT
#include "model/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

#include "model/utf8.h"

namespace ndlfs::model {
namespace {

constexpr size_t kQuoteLimit = 80;

// Whether a character must not reach a terminal or a log: C0 and C1 controls
// (U+009B begins escape sequences), line and paragraph separators, and the
// controls of writing direction, which can make one name look like another.
bool IsControl(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  const bool mark = byte(2) == 0x8e || byte(2) == 0x8f;  // U+200E, U+200F
  if (byte(1) == 0x80) return mark || (byte(2) >= 0xa8 && byte(2) <= 0xae);
  return byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;  // U+2066 to U+2069
}

ErrorCode CodeOfSystem(int sys_errno) {
  switch (sys_errno) {
    case EACCES:
    case EPERM:
      return ErrorCode::kDenied;
    case EAGAIN:
    case EINTR:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ETIMEDOUT:
      return ErrorCode::kBusy;
    case ECANCELED:
      return ErrorCode::kCancelled;
    default:
      return ErrorCode::kIo;
  }
}

SystemReason ReasonOf(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
      return SystemReason::kNoSuchFile;
    case ENOTDIR:
      return SystemReason::kNoDirectory;
    case EISDIR:
      return SystemReason::kIsDirectory;
    case ENXIO:
      return SystemReason::kNoPlainFile;
    case EXDEV:
      return SystemReason::kLeadsOut;
    case ELOOP:
      return SystemReason::kLinkLoop;
    case ENAMETOOLONG:
      return SystemReason::kNameTooLong;
    case EINVAL:
      return SystemReason::kInvalid;
    case EIO:
      return SystemReason::kDevice;
    case EMFILE:
    case ENFILE:
      return SystemReason::kNoDescriptors;
    case EPIPE:
      return SystemReason::kClosedPipe;
    case ENOTCONN:
      return SystemReason::kNotConnected;
    default:
      return SystemReason::kNone;
  }
}

// Appends `text`, with control characters and invalid UTF-8 as \xNN.
void AppendEscaped(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (length == 0 || IsControl(character)) {
      for (const char c : character) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
      }
      continue;
    }
    if (quoted && (character == "\"" || character == "\\")) out += '\\';
    out += character;
  }
}

}  // namespace

Error::Error(ErrorCode code, std::string message, int sys_errno)
    : code_(code == ErrorCode::kIo ? CodeOfSystem(sys_errno) : code),
      sys_errno_(sys_errno),
      message_(std::move(message)) {}

bool Error::is_of_system() const {
  return code_ == ErrorCode::kIo || code_ == ErrorCode::kDenied || code_ == ErrorCode::kBusy ||
         code_ == ErrorCode::kCancelled;
}

SystemReason Error::reason() const { return ReasonOf(sys_errno_); }

std::string Error::SystemText() const { return std::generic_category().message(sys_errno_); }

bool Error::is_no_such_file() const {
  return reason() == SystemReason::kNoSuchFile || reason() == SystemReason::kNoDirectory;
}

bool Error::is_momentary() const {
  return code_ == ErrorCode::kBusy || code_ == ErrorCode::kCancelled ||
         code_ == ErrorCode::kStale;
}

Error Error::WithMessage(std::string message) const {
  return {code_, std::move(message), sys_errno_};
}

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

Failure FormatFailure(ErrorCode code, fmt::string_view format, fmt::format_args args) {
  return Failure(Error(code, fmt::vformat(format, args)));
}

Failure IoError(int sys_errno, std::string_view what) {
  std::string message = OneLine(what) + ": " + std::generic_category().message(sys_errno);
  if (sys_errno == ESTALE) return Stale(message);
  return Failure(Error(ErrorCode::kIo, std::move(message), sys_errno));
}

Failure Stale(std::string_view message) {
  return Failure(Error(ErrorCode::kStale, OneLine(message)));
}

Failure HasChanged(std::string_view what) {
  return Stale(fmt::format("{}: it has changed", what));
}

}  // namespace ndlfs::model
