// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/format/icechunk/repository.h"
#include "backends/store/chunk_table.h"
#include "backends/store/source.h"
#include "backends/store/url_opener.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends::icechunk {

// Finds the files that virtual chunks are in: below the top of the source, or behind URLs that
// the user has allowed (UrlOpener). Thread-safe.
class VirtualChunks {
 public:
  // `path` is that of the repository.
  VirtualChunks(std::shared_ptr<const Source> source, std::string path, Containers containers);

  // What the file has to be, as the repository has noted it.
  struct Checks {
    std::string_view etag;         // empty: not noted
    uint32_t last_modified_s = 0;  // since 1970; 0: not noted
  };
  // The file at `location`. kCorrupt if it is another version than the one that was noted; each
  // file is looked at once for that. An error for a URL that is not allowed names the prefix to
  // allow.
  model::Result<ValuePlace> Find(const std::string& location, const Checks& checks) const
      EXCLUDES(mutex_);

 private:
  model::Result<std::string> Expand(const std::string& location) const;
  model::Result<StoreKey> Open(const std::string& url) const;
  model::Result<StoreKey> OpenFile(std::string_view url) const;
  std::string PrefixToAllow(std::string_view url) const;

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const Containers containers_;
  const std::shared_ptr<const Store> files_;
  mutable model::Mutex mutex_;
  // Versions of files that were checked, by location and what was noted.
  mutable model::BoundedMap<std::string, Generation, model::StringHash> checked_
      GUARDED_BY(mutex_){10'000};
};

}  // namespace ndlfs::backends::icechunk
