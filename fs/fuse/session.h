// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backends/base/unique_fd.h"
#include "fs/fuse/operations.h"
#include "model/error.h"

struct fuse_session;

namespace ndlfs::fs {

struct SessionOptions {
  std::string source;      // the name that the mount gets in /proc/mounts
  std::string mountpoint;  // absolute
  bool allow_other = false;
  // Threads that take requests; more are added while these are busy.
  unsigned threads = 2;
  // The /dev/fuse of a mount that was made already. The session does not unmount that mount.
  backends::UniqueFd device = {};
};

// A FUSE mount. The destructor unmounts.
class Session {
 public:
  // Mounts, and drops the capabilities that serving does not need. Requests
  // wait until Run() answers them. `filesystem` must outlive the session.
  static model::Result<std::unique_ptr<Session>> Mount(SessionOptions options,
                                                       Filesystem& filesystem);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Serves until the mount is unmounted, or the process gets SIGTERM, SIGINT or SIGHUP. Then
  // refuses the requests that have no answer yet, and waits for their work to end, but not for
  // ever: see LastResort. Call it once.
  model::Result<void> Run();

 private:
  Session(SessionOptions options, Filesystem& filesystem)
      : options_(std::move(options)), filesystem_(filesystem) {}

  // Takes the mount away, if it still exists, while requests may be at work.
  void EndMount();

  SessionOptions options_;
  Filesystem& filesystem_;
  fuse_session* session_ = nullptr;
  bool mounted_ = false;
  bool is_given_ = false;  // the /dev/fuse was given by the caller
  bool handles_signals_ = false;
};

}  // namespace ndlfs::fs
