// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backends/detection.h"
#include "fs/serve/remote_access.h"
#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// The options of a mount.
struct MountOptions {
  std::string source;  // a path, or a URL
  std::string mountpoint;

  uint64_t cache_size = uint64_t{512} << 20;
  // Directory for decoded chunks that a reader will need again, but that do not fit in the
  // cache; and the most bytes to keep there.
  std::string cache_dir = "/var/tmp";
  uint64_t cache_dir_size = uint64_t{8} << 30;
  // Directory to keep views in that were read to their end; empty: none.
  std::string decoded_cache;
  uint64_t decoded_cache_size = uint64_t{10} << 30;  // bytes
  // Reads that may use a core at once; 0: one per core, and at least two.
  unsigned threads = 0;
  // Most loads of chunks that run at once because the source makes them wait.
  unsigned fetches = 64;
  // After so many seconds a request fails with ETIMEDOUT; 0: never.
  double timeout_seconds = 30.0;
  // Let users other than the one who mounts see the files, with the permissions that the files
  // have.
  bool allow_other = false;

  // Replace the owner and the group of all files, and remove permissions from them.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<mode_t> umask;

  // How many seconds to trust a look at the source before looking again.
  double revalidate_seconds = 1.0;
  // The source does not change while it is mounted, so ndlfs never looks again.
  bool immutable = false;
  // As in Scope.
  bool shows_dot_files = true;
  // Inode numbers have 32 bits.
  bool inode32 = false;

  // How ndlfs detects which files are stores. It always detects a source that
  // is one file by its content.
  backends::Detection detection = backends::Detection::kContent;

  // The largest decoded chunk in bytes. Arrays with larger chunks are not
  // shown.
  uint64_t max_chunk_size = uint64_t{1} << 30;
  // The most bytes to decode to find the size of a file. Arrays that need more
  // do not have that file.
  uint64_t max_scan = uint64_t{1} << 30;

  // Zarr views show chunks as they are stored where they can.
  bool passes_stored_chunks = false;

  // The short name of the view of groups in which stores are shown; empty: as folders.
  std::string as;

  // For a source that is a URL. The options above determine `requests` and `trusts_looks_for`.
  RemoteAccess remote;

  // Which views a listing shows.
  ListedViews views;

  // The file to log to. If empty, the log goes to standard error in the
  // foreground, otherwise to the system log.
  std::string log_file;
  // trace, debug, info, warn, error, critical or off.
  std::string log_level = "info";
  bool foreground = false;
};

}  // namespace ndlfs::fs
