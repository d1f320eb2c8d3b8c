// SPDX-License-Identifier: MIT
#include "fs/http/reply.h"

#include <fmt/format.h>

#include <cerrno>

#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

constexpr unsigned kForbidden = 403;
constexpr unsigned kNotFoundStatus = 404;
constexpr unsigned kServerError = 500;
constexpr unsigned kUnavailable = 503;
constexpr unsigned kTimeout = 504;

unsigned StatusOf(const model::Error& error) {
  switch (error.code()) {
    case model::ErrorCode::kNotFound:
      return kNotFoundStatus;
    case model::ErrorCode::kDenied:
      return kForbidden;
    case model::ErrorCode::kBusy:
    case model::ErrorCode::kStale:
      return kUnavailable;
    default:
      break;
  }
  switch (error.reason()) {
    case model::SystemReason::kNoSuchFile:
    case model::SystemReason::kNoDirectory:
    case model::SystemReason::kNameTooLong:
      return kNotFoundStatus;
    case model::SystemReason::kNoPlainFile:
      return kForbidden;
    default:
      return kServerError;
  }
}

}  // namespace

// The numbers of versions begin again when the program does.
std::string EtagOf(const FileVersion& version) {
  static const uint64_t run = model::SecretHash("ETag");
  return fmt::format("\"{:x}-{:x}-{:x}\"", run & 0xffff'ffff, version.number, version.size);
}

HttpReply ErrorReply(unsigned status, const std::string& reason) {
  HttpReply reply{.status = status};
  reply.fields.emplace_back("Content-Type", "text/plain; charset=utf-8");
  reply.fields.emplace_back("Cache-Control", "no-store");
  if (status == kUnavailable) reply.fields.emplace_back("Retry-After", "1");
  reply.text = reason + '\n';
  return reply;
}

HttpReply ErrorReply(const model::Error& error) {
  return ErrorReply(StatusOf(error), error.message());
}

HttpReply RefusalReply(int sys_errno) {
  if (sys_errno == ETIMEDOUT) return ErrorReply(kTimeout, "no answer in time (--timeout)");
  if (sys_errno == EBUSY) return ErrorReply(kUnavailable, "too many requests wait");
  if (sys_errno == ENOMEM) return ErrorReply(kUnavailable, "no memory");
  return ErrorReply(kUnavailable, "the server ends");
}

}  // namespace ndlfs::fs
