// SPDX-License-Identifier: MIT
//
// Requests and replies, without sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/http/parse/access.h"
#include "fs/http/parse/conditions.h"
#include "fs/http/parse/ranges.h"
#include "fs/http/parse/request_target.h"
#include "fs/tree/tree_node.h"

namespace ndlfs::fs {

// The statuses of replies.
enum HttpStatus : unsigned {
  kOk = 200,
  kPartial = 206,
  kMultistatus = 207,
  kMoved = 301,
  kNotModified = 304,
  kElsewhere = 307,
  kFirstError = 400,
  kBadRequest = 400,
  kUnauthorized = 401,
  kForbidden = 403,
  kAbsent = 404,
  kMethodNotAllowed = 405,
  kPreconditionFailed = 412,
  kTooLarge = 413,
  kRangeNotSatisfiable = 416,
  kMisdirected = 421,
  kTooManyRequests = 429,
  kFirstFault = 500,
  kNotImplemented = 501,
  kUnavailable = 503,
  kTimeout = 504,
  kVersionNotSupported = 505,
};

struct HttpRequest {
  enum class Method { kGet, kHead, kOptions, kPropfind, kOther };
  Method method = Method::kGet;
  RequestTarget target = {};
  Conditions conditions = {};
  std::optional<std::string> range = {};
  std::optional<std::string> accept = {};
  std::optional<std::string> host = {};
  std::optional<std::string> origin = {};
  std::optional<std::string> depth = {};  // of PROPFIND
  Credentials credentials = {};
  // The path that the URLs of this client begin with: SiteOptions::base and, if it shows the
  // token there, the token.
  std::string base = {};
  bool has_token_in_path = false;
  bool is_encrypted = false;  // between the client and a proxy
  uid_t client = 0;           // as ClientOf()
  // The target and all fields as they were sent, for signatures. Empty if there is no bucket of
  // S3.
  std::string target_as_sent = {};
  std::vector<std::pair<std::string, std::string>> all_fields = {};
};

// A text, and after it bytes of the file.
struct BodyPart {
  std::string text = {};
  FileRange range = {};
};

struct HttpReply {
  unsigned status = 200;
  bool is_page = false;  // made by ndlfs for browsers, and nothing out of the source
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::string text = {};  // the body, if there is no file
  // The body: `parts` of `file`, one after the other, `length` bytes in all. Without a length
  // it is the whole file up to its end.
  std::shared_ptr<const FileHandle> file = {};
  std::vector<BodyPart> parts = {};
  std::optional<uint64_t> length = {};
};

// Appends a piece of a text, of a few KiB at most; false if that was the last one. For one
// thread at a time.
using NextPiece = std::function<model::Result<bool>(std::string& out)>;

// The text of `begin`, what `add` appends for each item, and what `end` returns for their
// number. `next` returns one item after the other, and nullopt at the end.
template <typename Next, typename Add, typename End>
NextPiece TextOfItems(std::string begin, Next next, Add add, End end) {
  return [begin = std::move(begin), next = std::move(next), add = std::move(add),
          end = std::move(end),
          count = size_t{0}](std::string& out) mutable -> model::Result<bool> {
    out += std::exchange(begin, {});
    NDLFS_TRY(const auto item, next());
    if (item) add(*item, out);
    if (!item) out += end(count);
    count += item ? 1 : 0;
    return item.has_value();
  };
}

// Items for TextOfItems().
template <typename Item>
auto OneByOne(std::vector<Item> items) {
  return [items = std::move(items),
          next = size_t{0}]() mutable -> model::Result<std::optional<Item>> {
    return next < items.size() ? std::optional(std::move(items[next++])) : std::nullopt;
  };
}

// Makes a text the body of `reply`. A short one is made at once, so that the reply tells its
// length; others are made while the client takes them. `kept` is memory that `next` holds.
model::Result<void> SetText(HttpReply& reply, NextPiece next, KeptObjects kept = {});

// In place of the type that the body has, if it has one.
inline void SetContentType(HttpReply& reply, std::string type) {
  std::erase_if(reply.fields, [](const auto& field) { return field.first == "Content-Type"; });
  reply.fields.emplace_back("Content-Type", std::move(type));
}

// The tag of a version of a file, with its quotes.
std::string EtagOf(const FileVersion& version);

// A reply whose body is a line that tells a person why.
HttpReply ErrorReply(unsigned status, const std::string& reason);
// The same for an error of the tree.
HttpReply ErrorReply(const model::Error& error);
// For an error that a queue refuses a request with.
HttpReply RefusalReply(int sys_errno);

}  // namespace ndlfs::fs
