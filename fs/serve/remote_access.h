// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ndlfs::fs {

// How to reach the servers of a source that is a URL.
struct RemoteAccess {
  std::string ca_file;     // PEM certificates to trust; empty: those of the system
  std::string token_file;  // holds a bearer token for HTTP; empty: none
  std::string endpoint;    // URL of the server of a bucket; empty: the usual one
  std::string region;      // region of the bucket; empty: found out
  // File with settings for the beginnings of URLs; empty: that in the user's configuration, if
  // there is one.
  std::string urls_file;
  bool signs_requests = true;  // to S3
  bool requester_pays = false;
  // Prefixes of the URLs that redirects, and references in documents, may lead to.
  std::vector<std::string> allow_urls;
  std::string allow_urls_text;  // the same as the user gave it
  // The most time for one request with its retries.
  std::chrono::milliseconds timeout{30'000};
  unsigned requests = 64;  // under way at once
  // Directory for blocks of files; also used for sources that are no URLs. Empty: none.
  std::string block_cache;
  uint64_t block_cache_size = uint64_t{10} << 30;  // bytes
  // Which version of stores that have versions: "tag=v1" (OpenOptions::ref). Also of sources
  // that are no URLs.
  std::string ref;
  // How long answers about names are trusted; nullopt: for ever.
  std::optional<std::chrono::nanoseconds> trusts_looks_for = std::chrono::seconds(10);
};

}  // namespace ndlfs::fs
