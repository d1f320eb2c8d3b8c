// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/http_client.h"
#include "backends/store/http/http_message.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// A file or directory that a server lists.
struct ListedObject {
  std::string name;  // without '/'
  bool is_directory = false;
  // Of a file, if the listing tells it: the same facts that reading the file tells.
  std::optional<ValueInfo> info = std::nullopt;
};

struct ListPage {
  std::vector<ListedObject> objects;  // in any order
  std::string next = {};  // what to ask for to get the next page; empty: this is the last
};

// What one kind of server is asked for files, and what its answers mean: a plain HTTP server,
// or an object store. RemoteSource does all the rest. Paths are those of Source. Thread-safe.
class ObjectService {
 public:
  virtual ~ObjectService() = default;

  // The URL of the top, as Source::name(): "https://host/data", "s3://bucket/prefix".
  virtual const std::string& name() const = 0;

  // A GET of the file at `path` (not ""), without a range. RemoteSource makes a HEAD of it, and
  // adds range and If-Match.
  virtual HttpRequest FileRequest(std::string_view path) const = 0;

  // Whether an answer to such a request says that there is no such file. An error if it says
  // something else than that, or success: EACCES and the like.
  virtual model::Result<bool> IsAbsent(const HttpResponse& response) const;

  // Asks for the names in the directory at `path` ("" is the top), from `page` on
  // (ListPage::next; "" is the first page).
  virtual HttpRequest ListRequest(std::string_view path, const std::string& page) const = 0;
  // nullopt if the server has no listing of this directory. Entries with unsound names are left
  // out.
  virtual model::Result<std::optional<ListPage>> ParseList(
      std::string_view path, const HttpResponse& response) const = 0;
  // Whether what is not listed is not there, and a directory without entries is none.
  virtual bool lists_are_complete() const = 0;
};

// The version of the value that an answer is about: its ETag or, if there is none, its time and
// size. The answer tells the size.
ValueInfo InfoOf(const HttpResponse& response);

// Whether `name` can be that of a file: no '/', no NUL, not "." or "..", not empty.
bool IsSoundName(std::string_view name);

}  // namespace ndlfs::backends
