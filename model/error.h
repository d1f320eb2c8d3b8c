// SPDX-License-Identifier: MIT
//
// Errors are values. A function returns a Result if bytes from a store or the
// system can make it fail. Each layer that passes an error on calls In() to add
// the place that it alone knows, so that the message names store, object and
// reason on one line:
//
//   sst.zarr/temp/zarr.json: codecs[1]: unknown codec "pcodec"
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace ndlfs::model {

enum class ErrorCode {
  kBadInput,     // metadata or an argument breaks the rules of its format
  kCorrupt,      // stored data contradict their metadata
  kUnsupported,  // valid, but this version or build cannot read it
  kNotFound,     // there is no such object
  kLimit,        // a size exceeds what ndlfs accepts, such as --max-chunk-size
  kDenied,       // the caller lacks permission
  kBusy,         // the system or a server has no room or no time for it now
  kCancelled,    // nobody waits for the answer any more
  kIo,           // a system call failed for another reason
  kStale,        // the thing asked about has changed or gone: look it up again
  kInternal,     // a defect of ndlfs itself
};

// Why the system refused a call, as far as anybody decides by it.
enum class SystemReason {
  kNone,  // it is no error of the system, or the reason is another
  kNoSuchFile,
  kNoDirectory,  // a part of the path is no directory
  kIsDirectory,  // and no file
  kNoPlainFile,  // a pipe or a device
  kLeadsOut,     // a link leads out of the source
  kLinkLoop,     // links in a loop, or a link where none may be
  kNameTooLong,
  kInvalid,        // the call makes no sense for this file
  kDevice,         // the device or the file system has failed
  kNoDescriptors,  // too many files are open
  kClosedPipe,     // nobody reads any more
  kNotConnected,   // the mount has died
};

// Immutable, except that In() puts context in front. Cheap to move.
class [[nodiscard]] Error {
 public:
  // kIo becomes kDenied, kBusy or kCancelled where `sys_errno` says so.
  Error(ErrorCode code, std::string message, int sys_errno = 0);

  ErrorCode code() const { return code_; }
  // Why a system call failed.
  SystemReason reason() const;
  // The errno of that call; 0 unless is_of_system(). For those alone who pass it on, to the
  // kernel or to another process: everybody else asks code() and reason().
  int sys_errno() const { return sys_errno_; }
  // What the system says of that errno: "Permission denied".
  std::string SystemText() const;
  // kDenied, kBusy, kCancelled or kIo.
  bool is_of_system() const;
  // The system found no file or directory of that name.
  bool is_no_such_file() const;
  // Whether a later try may succeed: is_of_system(), or kStale. All other errors are about the
  // bytes.
  bool is_transient() const { return is_of_system() || code_ == ErrorCode::kStale; }
  // Whether the error goes away by itself and tells nothing about the source: kBusy, kCancelled
  // and kStale.
  bool is_momentary() const;
  // One line. Text from files has to go through Quote() or OneLine(), which
  // escape newlines and other control characters.
  const std::string& message() const { return message_; }

  // Puts the place of the error in front: "where: message".
  Error In(std::string_view where) &&;
  // The same error with another message.
  Error WithMessage(std::string message) const;

 private:
  ErrorCode code_;
  int sys_errno_;
  std::string message_;
};

using Failure = tl::unexpected<Error>;
template <typename T>
using Result = tl::expected<T, Error>;

// `text` in double quotes, with control characters and invalid UTF-8 as \xNN,
// cut after 80 bytes. Messages quote everything that was found in a file.
std::string Quote(std::string_view text);

// `text` on one line, with control characters and invalid UTF-8 as \xNN.
std::string OneLine(std::string_view text);

// An error of a system call; `what` names the call or the file. ESTALE (NFS has it) becomes
// kStale.
Failure IoError(int sys_errno, std::string_view what);
// kStale; `message` says what has changed.
Failure Stale(std::string_view message);
// kStale: "what: it has changed".
Failure HasChanged(std::string_view what);

// An error whose message is formatted; for the functions below.
Failure FormatFailure(ErrorCode code, fmt::string_view format, fmt::format_args args);

// BadInput("{} is no type", name) and so on: a failure with the code of that name.
#define NDLFS_DEFINE_FAILURE(Name)                                                    \
  template <typename... Args>                                                         \
  Failure Name(fmt::format_string<Args...> format, Args&&... args) {                  \
    return FormatFailure(ErrorCode::k##Name, format, fmt::make_format_args(args...)); \
  }
NDLFS_DEFINE_FAILURE(BadInput)
NDLFS_DEFINE_FAILURE(Corrupt)
NDLFS_DEFINE_FAILURE(Unsupported)
NDLFS_DEFINE_FAILURE(NotFound)
NDLFS_DEFINE_FAILURE(Limit)
NDLFS_DEFINE_FAILURE(Internal)
#undef NDLFS_DEFINE_FAILURE

inline Failure Propagate(Error error) { return Failure(std::move(error)); }
inline Failure Propagate(Error error, std::string_view where) {
  return Failure(std::move(error).In(where));
}

}  // namespace ndlfs::model

#define NDLFS_CONCAT_INNER(a, b) a##b
#define NDLFS_CONCAT(a, b) NDLFS_CONCAT_INNER(a, b)

// NDLFS_TRY(auto x, F()) declares x with the value of F(), or returns the error
// of F(). A third argument names the place; it is evaluated on errors only:
//   NDLFS_TRY(auto grid, ParseGrid(json), "chunk_grid");
#define NDLFS_TRY(declaration, expression, ...)                      \
  NDLFS_TRY_IMPL(NDLFS_CONCAT(ndlfs_result_, __LINE__), declaration, \
                 expression __VA_OPT__(, ) __VA_ARGS__)
#define NDLFS_TRY_IMPL(result, declaration, expression, ...)                                \
  auto result = (expression);                                                               \
  if (!result)                                                                              \
    return ::ndlfs::model::Propagate(std::move(result).error() __VA_OPT__(, ) __VA_ARGS__); \
  declaration = *std::move(result)

// The same for a Result<void>, or for a value that is not needed.
#define NDLFS_RETURN_IF_ERROR(expression, ...)                         \
  do {                                                                 \
    if (auto ndlfs_status = (expression); !ndlfs_status)               \
      return ::ndlfs::model::Propagate(                                \
          std::move(ndlfs_status).error() __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
