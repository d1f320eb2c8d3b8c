// SPDX-License-Identifier: MIT
//
// The tree as a bucket of S3, for reading: GetObject, HeadObject, HeadBucket and ListObjectsV2
// with the bucket in the path. Keys are the paths of files.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/http/reply.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::fs {

struct S3Options {
  std::string bucket = {};  // empty: there is none
  // The keys that requests have to be signed with; if both are empty, requests are answered
  // whether they are signed or not.
  std::string access_key = {};
  std::string secret_key = {};
};

// Whether the request is one for the bucket: its path begins with the name of it.
bool IsForBucket(const S3Options& options, const RequestTarget& target);

// The error for a request that is not signed with the keys; nullopt if it is, or need not be.
// Signatures in the header count, not those in URLs.
std::optional<HttpReply> RefuseUnsigned(const S3Options& options, const HttpRequest& request,
                                        int64_t now_s);

// Entries of a folder whose keys follow each other, in the order of these.
struct KeyRun {
  struct Entry {
    std::string key;  // without the last '/' where only a look tells that it is a folder
    mode_t type = 0;
  };
  using Clock = std::chrono::steady_clock;

  std::string from = {};  // the key before them
  std::vector<Entry> entries = {};
  bool is_all = true;  // nothing comes after them
  Clock::time_point made = Clock::now();
};

// What the pages of long lists have found in their folders: the next page begins there, and
// need not read the folder again. Requests that come together share one look. Thread-safe.
class KeyRuns {
 public:
  using Ptr = std::shared_ptr<const KeyRun>;
  using Make = std::function<model::Result<Ptr>()>;

  // The run of `folder` that has the keys after `after`, and is at most this old; otherwise the
  // one that `make` returns. A thread that asks while another one makes it waits for that one.
  model::Result<Ptr> FindOrMake(const std::string& folder, const std::string& after,
                                KeyRun::Clock::duration most_age, const Make& make)
      EXCLUDES(mutex_);
  // Gives back the memory of runs that are not used any more. Returns when to call it again;
  // nullopt: not before the next Keep().
  std::optional<KeyRun::Clock::duration> DropOld(KeyRun::Clock::time_point now)
      EXCLUDES(mutex_);

 private:
  struct Search {
    KeyRun::Clock::time_point began;
    bool has_ended = false;
    Ptr run = nullptr;  // null: it has failed
  };
  class OwnSearch;

  Ptr Find(const std::string& folder, const std::string& after, KeyRun::Clock::time_point since)
      REQUIRES(mutex_);
  void Keep(const std::string& folder, Ptr run) REQUIRES(mutex_);

  model::Mutex mutex_;
  model::CondVar has_ended_;
  std::map<std::string, Ptr> kept_ GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Search>> searches_ GUARDED_BY(mutex_);
};

// The reply to a request for the bucket itself: a list, or nothing if it is a HEAD. A look at a
// folder is `trusted` for so long.
model::Result<HttpReply> AnswerForBucket(const S3Options& options, const TreeNodePtr& root,
                                         const HttpRequest& request, KeyRuns& runs,
                                         KeyRun::Clock::duration trusted);

// Gives a reply with an error the body that clients of S3 read.
void DescribeS3Error(HttpReply& reply);

}  // namespace ndlfs::fs
