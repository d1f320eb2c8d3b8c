// SPDX-License-Identifier: MIT
//
// Requests and replies, without sockets.
#pragma once

#include <cstdint>
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

// The tag of a version of a file, with its quotes.
std::string EtagOf(const FileVersion& version);

// A reply whose body is a line that tells a person why.
HttpReply ErrorReply(unsigned status, const std::string& reason);
// The same for an error of the tree.
HttpReply ErrorReply(const model::Error& error);
// For an error that a queue refuses a request with.
HttpReply RefusalReply(int sys_errno);

}  // namespace ndlfs::fs
