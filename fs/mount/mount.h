// SPDX-License-Identifier: MIT
//
// Mounts a directory, or one store: everything between the command line and the FUSE
// session.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backends/detection.h"
#include "fs/view/view_provider.h"
#include "model/error.h"

namespace ndlfs::fs {

struct MountOptions {
  std::string source;
  std::string mountpoint;

  uint64_t cache_size = uint64_t{512} << 20;
  // Where decoded chunks go that the cache has no room for although a reader
  // comes back to them, and how much of them.
  std::string cache_dir = "/var/tmp";
  uint64_t cache_dir_size = uint64_t{8} << 30;
  // Threads that serve requests; 0: one per core, and at least two.
  unsigned threads = 0;
  // Let other users than the one who mounts see the files, with the
  // permissions that the files have.
  bool allow_other = false;

  // Replace the owner of all files, and take permissions away from them.
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<mode_t> umask;

  // How long an answer about the source holds before it is looked at again.
  double revalidate_seconds = 1.0;
  // The source does not change while it is mounted: nothing is looked at again.
  bool immutable = false;

  // How files are known to be stores. A source that is one file is known by its
  // content in any case.
  backends::Detection detection = backends::Detection::kContent;

  // A store with larger chunks than this is refused.
  uint64_t max_chunk_size = uint64_t{1} << 30;
  // Files whose size only decoding tells are there for arrays of up to this.
  uint64_t max_scan = uint64_t{1} << 30;

  // The short name of a view of groups that stores are shown as; empty: as folders.
  std::string as;

  // Which views a listing shows.
  ListedViews views;

  // Where the log goes. Empty: standard error in the foreground, otherwise
  // the system log.
  std::string log_file;
  // trace, debug, info, warn, error, critical or off.
  std::string log_level = "info";
  bool foreground = false;
};

// Mounts and, in the foreground, serves until the mount ends; otherwise leaves
// a process in the background that does, and returns once the mount answers.
// Call it before the process has started any thread. The value is the exit
// status of the process; in the background process it is returned as well,
// when the mount has ended. The error is one line for a person: why there is
// no mount.
model::Result<int> RunMount(const MountOptions& given);

// Ends the mount at `path`, and waits until the process that served it
// has ended too. Refuses what is not a mount of ndlfs.
model::Result<void> RunUnmount(const std::string& path);

}  // namespace ndlfs::fs
