// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/http_client.h"
#include "backends/store/http/look_memory.h"
#include "backends/store/http/object_service.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends {

// Larger documents are not remembered together with the looks at their files.
inline constexpr uint64_t kMaxDocument = 4 << 20;

struct RemoteOptions {
  // How long an answer about a name is trusted; nullopt: while the source exists.
  std::optional<std::chrono::nanoseconds> trusts_looks_for = std::chrono::seconds(1);
  // Documents, by names or by paths below the directory of a store. A look at one of these
  // reads it at once. If one of `first_documents` exists, it is not necessary to look for the
  // others. `extension` is that of most directories with such documents.
  std::vector<std::string> documents = {};
  std::vector<std::string> first_documents = {};
  std::string extension = {};
  // Documents that change whenever anything in the directory of their store changes. After one
  // was read, one request for it tells whether the directory still exists, and whether it has
  // changed.
  std::vector<std::string> pointers = {};
  std::function<std::chrono::steady_clock::time_point()> clock =
      &std::chrono::steady_clock::now;
};

// Finds out what is at the paths of a server, by looks at names and by lists. Paths are those
// of Source, and sound. Thread-safe.
class RemoteTree {
 public:
  RemoteTree(std::shared_ptr<const HttpClient> client,
             std::shared_ptr<const ObjectService> service, RemoteOptions options);

  const HttpClient& client() const { return *client_; }
  const ObjectService& service() const { return *service_; }
  LookMemory& memory() const { return memory_; }
  std::string Describe(std::string_view path) const;
  bool IsDocument(std::string_view path) const { return FolderOfDocument(path).has_value(); }
  // The directory whose document `path` is: "s" for "s/refs/branch.main/ref.json", if that is
  // one of RemoteOptions::documents. nullopt if it is no document.
  std::optional<std::string> FolderOfDocument(std::string_view path) const;

  // ObjectService::FileRequest(). The list of a bucket tells the size of the stored bytes, so
  // files are read as they are stored; only metadata documents are decoded.
  HttpRequest FileRequest(const std::string& path) const;
  // Whether `response`, the answer to `request`, says that there is no file at `path`. An error
  // if it says neither that nor success. May send requests: see key_answer.h, "refused".
  model::Result<bool> IsAbsent(const std::string& path, const HttpRequest& request,
                               const HttpResponse& response) const;

  // Whether the server refuses files that are not in the directory at `folder`, as it does with
  // buckets that may not be listed. It does so if it lets us read a metadata document there, or
  // in a directory above, but refuses a name next to that document that no file has.
  bool RefusesAbsentFiles(const std::string& folder) const EXCLUDES(readable_mutex_);

  // ObjectService::InfoOf() of the file at `path`. If its Last-Modified becomes later under the
  // same ETag, the time tells versions apart, and not the ETag. An earlier time is no other
  // version: several servers of the same files may have different times.
  ValueInfo InfoOf(const std::string& path, const HttpResponse& response) const;

  // The present time by the clock of the server, as Store::ClockNs().
  std::optional<int64_t> ClockNs() const;
  void NoteClock(const HttpResponse& response) const;

  // Checks that the server answers, and has the bucket. The error gives the reason.
  model::Result<void> CheckTop() const;

  // Looks at a path that may be a file or a directory, by one round of requests. Takes none if
  // the answers are remembered.
  model::Result<Look> LookAt(const std::string& path) const;
  // Looks at files alone, by one round of requests. A directory is kAbsent or kDirectory.
  std::vector<model::Result<Look>> LookAtFiles(std::span<const std::string> paths) const;
  // As Source::LookTogether().
  void LookTogether(const std::string& path, std::span<const std::string> documents) const;
  // As Store::LookAhead().
  void LookAhead(const std::string& path, std::span<const std::string_view> names,
                 std::span<const std::string_view> names_below) const;
  // Looks at files anew, even if answers are remembered.
  std::vector<model::Result<Look>> LookAgain(std::span<const std::string> paths) const;

  // A page of the names in a directory; nullopt if the server has no listing.
  model::Result<std::optional<ListPage>> ReadPage(const std::string& path,
                                                  const PageStart& start,
                                                  unsigned most_names = kPageNames) const;

 private:
  class Round;

  // InfoOf() for facts that an answer tells.
  ValueInfo WithTime(const std::string& path, ValueInfo info) const EXCLUDES(times_mutex_);

  model::Result<Look> LookByName(const std::string& path,
                                 std::span<const std::string> along = {}) const;
  std::optional<Look> LookForStore(const std::string& path,
                                   std::span<const std::string> along) const;
  std::optional<Look> LookForKnownStore(const std::string& path,
                                        std::span<const std::string> along) const;
  Look NoteDirectory(const std::string& path, Trust::Time when) const;
  bool MayList(const std::string& path) const;
  bool IsToBeRead(const std::string& path) const;
  std::optional<std::string> KnownPointer(const std::string& path) const;
  std::optional<ValueInfo> AskUnlessKnown(const std::string& path, HttpRequest& request) const;
  bool IsPointer(std::string_view path) const;
  model::Result<Look> LookByList(const std::string& path) const;
  std::vector<std::string> KnownDocumentsIn(const std::string& path) const;
  model::Result<std::optional<ListPage>> ToPage(
      const std::string& path, const PageStart& start,
      const model::Result<HttpResponse>& response) const;
  model::Result<HttpResponse> AskForFirstByte(const std::string& path) const;
  bool IsNotListed(const std::string& path) const;
  std::optional<bool> KnownReadable(const std::string& folder) const REQUIRES(readable_mutex_);
  std::vector<std::string> DocumentsAround(std::string folder) const;

  const std::shared_ptr<const HttpClient> client_;
  const std::shared_ptr<const ObjectService> service_;
  const std::vector<std::string> documents_;
  const std::vector<std::string> first_documents_;
  const std::string extension_;
  const std::vector<std::string> pointers_;
  mutable LookMemory memory_;

  // The server has sent a value although it has the version that it was not to send.
  mutable std::atomic<bool> ignores_conditions_ = false;

  // The least lead of the server's clock over the steady clock, and when the server told it.
  struct ClockLead {
    int64_t lead_ns = 0;
    std::chrono::steady_clock::time_point told_at;
  };
  mutable model::Mutex clock_mutex_;
  mutable std::optional<ClockLead> clock_lead_ GUARDED_BY(clock_mutex_);

  // The times that the server told for a file with one ETag.
  struct Times {
    Generation tag;
    int64_t first_ns = 0;
    int64_t newest_ns = 0;
  };
  mutable model::Mutex times_mutex_;
  mutable model::BoundedMap<std::string, Times, model::StringHash> times_
      GUARDED_BY(times_mutex_);

  // The results of RefusesAbsentFiles(), by folder. The lock is held while the server is
  // asked, because other threads would ask the same.
  struct Readable {
    bool is_readable = false;
    std::chrono::steady_clock::time_point when;
  };
  mutable model::Mutex readable_mutex_;
  mutable model::BoundedMap<std::string, Readable, model::StringHash> readable_
      GUARDED_BY(readable_mutex_);
};

}  // namespace ndlfs::backends
