// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/http/http_message.h"
#include "backends/store/http/key_answer.h"
#include "backends/store/http/object_service.h"
#include "backends/store/object/folder_list.h"
#include "backends/store/object/xml_answers.h"
#include "model/error.h"

namespace ndlfs::backends::object {

// A bucket (Azure: a container) of an object store: what differs between the protocols.
// Thread-safe. It must outlive its requests.
class Bucket {
 public:
  virtual ~Bucket() = default;

  // "s3://bucket": the URL of its top, as a user writes it, without '/' at its end.
  virtual std::string name() const = 0;
  // The server as far as the name does not tell it; empty: the usual one.
  virtual std::string server() const = 0;

  // A GET of the object `key`. The caller may set method, range, memory and version, but must
  // leave URL, headers and hooks.
  virtual HttpRequest ObjectRequest(std::string_view key) const = 0;
  // Asks for `most_names` names directly below `folder`, which is empty or ends in '/'.
  virtual HttpRequest ListRequest(std::string_view folder, const PageStart& start,
                                  unsigned most_names) const = 0;
  // The page that the body of a successful answer is.
  virtual model::Result<KeyPage> ParseList(std::string_view body,
                                           std::string_view folder) const {
    return ParseListPage(body, folder);
  }

  // As the functions of ObjectService.
  virtual bool takes_ranges_from_end() const { return true; }
  virtual KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const = 0;
  virtual model::Failure ToError(const HttpResponse& response) const = 0;
  virtual ValueInfo InfoOf(const HttpResponse& response) const;
  virtual void AskForVersion(HttpRequest& request, const Generation& version) const;
  virtual bool AskUnlessVersion(HttpRequest& request, const Generation& version) const;
  // The facts that reading the object would tell.
  virtual std::optional<ValueInfo> InfoOf(const ListedKey& listed) const {
    return InfoByTag(listed);
  }
};

// An error document of an object store, or the header that has its code, as far as there is
// one.
std::string CodeOf(const HttpResponse& response);

// The state of an answer with the code `code` (empty: none) by the rules that all object stores
// share. Status 403 may stand for a missing key only with the code AccessDenied, or without a
// code: other codes are about the credentials.
KeyState StateByStatus(const HttpRequest& request, const HttpResponse& response,
                       std::string_view code);

// An error for an answer of `bucket`, with `advice` for a person: EACCES for status 401 and
// 403, kStale for 412, EIO for others.
model::Failure ErrorOf(std::string_view bucket, const HttpResponse& response,
                       std::string_view code, std::string_view advice);

// The names of buckets that S3 and Google have, old ones included.
bool IsBucketName(std::string_view text);

// A key, or the beginning of keys, in a bucket.
struct Location {
  std::string bucket;
  std::string prefix;  // "a/b", without '/' at the ends; empty: the whole bucket
};
// The parts of "SCHEME://BUCKET/KEY", with the key as it is. kBadInput if `text` is no such
// URL, or its key is no path. Does not check the name of the bucket.
model::Result<Location> SplitLocation(std::string_view text, std::string_view scheme);
// The same with the name checked, too.
model::Result<Location> ParseLocation(std::string_view text, std::string_view scheme);

// The URL of a server that a user names, without '/' at its end; kBadInput if it is no
// http://HOST or https://HOST, perhaps with a path.
model::Result<std::string> CheckEndpoint(const std::string& endpoint);

// The objects of `bucket` below `prefix` as a tree of files. The '/' in keys separates
// directories: a prefix of keys is a directory, and hides an object of the same name. Objects
// whose keys cannot be paths (empty, "." and ".." parts) are not shown. With anonymous access
// to a bucket that may not be listed, files and stores are still found by their names.
std::shared_ptr<const ObjectService> MakeBucketService(std::shared_ptr<const Bucket> bucket,
                                                       const std::string& prefix);

}  // namespace ndlfs::backends::object
