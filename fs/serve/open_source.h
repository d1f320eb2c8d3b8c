// SPDX-License-Identifier: MIT
//
// Opens the files behind a URL on the command line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backends/store/source.h"
#include "fs/serve/remote_access.h"
#include "model/error.h"

namespace ndlfs::backends {
class BlockCache;
}

namespace ndlfs::fs {

// Counts the requests to one server.
struct EndpointStatistics {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  uint64_t retries = 0;
  uint64_t failures = 0;
  uint64_t answers = 0;       // answers whose head has come
  double answer_seconds = 0;  // time from the request to the head, the sum of all `answers`
};

// A directory behind a URL, or a file in one.
struct RemotePlace {
  std::shared_ptr<const backends::Source> source;
  std::string file;  // its name in the source; empty if the URL is that of a directory
  // Statistics by server ("https://example.org"), including servers that references in
  // documents lead to. Null if no server may be asked. Thread-safe.
  std::function<std::map<std::string, EndpointStatistics>()> statistics;
  std::shared_ptr<const backends::BlockCache> block_cache = nullptr;  // null: none
  // Bytes that all servers have sent so far. Null if none is asked. Thread-safe.
  std::function<uint64_t()> received = nullptr;
};

// Makes the source read through the block cache that `access` asks for; does nothing if it asks
// for none. kBadInput if the directory cannot be used, or the source is shared between users.
model::Result<void> AddBlockCache(RemotePlace& place, const RemoteAccess& access);
// The directory at `path` of this machine, read through that cache; `is_shared` as for
// LocalSource::Open(). Documents there may name files behind the URLs that `access` allows. In
// a shared source they may not, because all users would use the keys of one of them.
model::Result<RemotePlace> OpenLocal(const std::string& path, bool is_shared,
                                     const RemoteAccess& access);
// Whether the directory of the cache can be used; makes it if there is none.
model::Result<void> CheckBlockCache(const RemoteAccess& access);

// Whether `text` is a URL and not the path of a file: it has "://".
bool IsUrl(std::string_view text);

// `url` without user, password and query: to show to people, and to other users of this
// machine.
std::string ShownUrl(std::string_view url);

// Opens `url`, by its scheme (backends/store/schemes). Asks the server whether it exists, and
// so starts a thread: do not call it before the process goes to the background. Errors: the URL
// or an option is wrong, this build reads no such URLs, nothing is there (kIo, ENOENT), or the
// server does not answer.
model::Result<RemotePlace> OpenUrl(const std::string& url, const RemoteAccess& access);

// Checks `url` and `access` as far as that takes no request.
model::Result<void> CheckUrl(const std::string& url, const RemoteAccess& access);

}  // namespace ndlfs::fs
