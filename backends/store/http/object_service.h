// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/http_message.h"
#include "backends/store/http/key_answer.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// The most names that an object store gives in one page.
inline constexpr unsigned kPageNames = 1000;

// A file or directory that a server lists.
struct ListedObject {
  std::string name;  // without '/'
  // kUnknown: the next page tells whether it is a directory.
  FileKind kind = FileKind::kFile;
  // For a file, if the listing tells them: the same facts that reading the file tells.
  std::optional<ValueInfo> info = std::nullopt;

  bool is_directory() const { return kind == FileKind::kDirectory; }
};

// Where a page of a list begins, and the facts about earlier pages that the service needs.
struct PageStart {
  std::string token = {};  // empty: at the beginning
  // The largest key, and the largest name, of the pages before.
  std::string last_key = {};
  std::string last_name = {};
  // Names of files on pages before that may turn out to be directories.
  std::vector<std::string> open_names = {};
  // The orders in which the pages before may have come.
  bool by_key = true;
  bool by_name = true;
};

struct ListPage {
  std::vector<ListedObject> objects;             // sorted by name, each once
  std::optional<PageStart> next = std::nullopt;  // none: this is the last page
  // Whether the list shows that there is such a directory, even if it is empty.
  bool is_directory = true;
};

// Knows the requests of one kind of server for files and lists, and the meaning of its answers:
// a plain HTTP server, or an object store. RemoteTree and RemoteReader do all the rest. Paths
// are those of Source. Thread-safe.
class ObjectService {
 public:
  virtual ~ObjectService() = default;

  // The URL of the top, as Source::name(): "https://host/data", "s3://bucket/prefix".
  virtual const std::string& name() const = 0;
  // As Source::identity().
  virtual std::string identity() const { return name(); }

  // A GET of the file at `path` (not ""), without a range. The caller may turn it into a HEAD,
  // and add range, If-Match and memory.
  virtual HttpRequest FileRequest(std::string_view path) const = 0;
  // Makes such a request one for the version `version`, as far as the server can be asked for
  // it. An answer with another version is then kOtherVersion.
  virtual void AskForVersion(HttpRequest& request, const Generation& version) const {
    if (IsStrongTag(version.tag())) request.if_match = version.tag();
  }

  // Makes such a request one for any other version than `version`, whose answer is status 304.
  // False if the server cannot be asked so.
  virtual bool AskUnlessVersion(HttpRequest& request, const Generation& version) const {
    if (!IsStrongTag(version.tag())) return false;
    request.headers.push_back({"If-None-Match", std::string(version.tag())});
    return true;
  }

  // Whether a range may be one of the last bytes. Otherwise the size is asked for first.
  virtual bool takes_ranges_from_end() const { return true; }

  // The meaning of an answer to such a request, or to one for a list: see key_answer.h.
  virtual KeyState StateOf(const HttpRequest& request, const HttpResponse& response) const {
    return backends::StateOf(request, response);
  }
  // The error for an answer that neither has a value nor says that there is none: EACCES,
  // kStale and the like, with the reason.
  virtual model::Error ToError(KeyState state, const HttpResponse& response) const;
  // The facts about the value of a successful answer.
  virtual ValueInfo InfoOf(const HttpResponse& response) const {
    return InfoOfAnswer(response);
  }

  // Asks for the names in the directory at `path` ("" is the top) from `start` on; for
  // `most_names` of them, if the service has pages.
  virtual HttpRequest ListRequest(std::string_view path, const PageStart& start,
                                  unsigned most_names) const = 0;
  // nullopt if the server has no listing of this directory. Entries with unsound names are left
  // out.
  virtual model::Result<std::optional<ListPage>> ParseList(
      std::string_view path, const PageStart& start, const HttpResponse& response) const = 0;
  // Whether a name that is not listed does not exist, and a directory without entries does not
  // exist either. Then a directory hides a file of the same name.
  virtual bool lists_are_complete() const = 0;
};

// Whether `name` can be that of a file: no '/', no NUL, not "." or "..", not empty.
bool IsSoundName(std::string_view name);

}  // namespace ndlfs::backends
