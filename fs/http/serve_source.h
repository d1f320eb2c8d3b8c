// SPDX-License-Identifier: MIT
//
// Serves a source by HTTP: everything between the command line and the server.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fs/serve/mount_options.h"
#include "model/error.h"

namespace ndlfs::fs {

struct ServeOptions {
  MountOptions mount = {};  // the source and how it is read; `mountpoint` is not used
  std::string listen = "127.0.0.1:8080";
  std::string socket = {};       // the path of a Unix socket in place of `listen`; empty: none
  std::string socket_mode = {};  // its permissions; empty: 600, or 666 with --allow-other
  std::string as_user = {};      // the user to become; empty: none
  // The text that clients have to show. Without one, ndlfs makes one up, unless it listens at a
  // Unix socket.
  std::string token = {};
  bool without_token = false;
  std::vector<std::string> hosts = {};    // names that the `Host` field may have
  std::string base = {};                  // the path that all URLs begin with
  bool cors = false;                      // pages of all sites may read
  std::vector<std::string> origins = {};  // or those of these sites
  bool trusts_pages = false;
  bool dot_files = false;
  std::vector<std::string> proxies = {};
  std::string s3_bucket = {};  // the name under which the tree is a bucket of S3; empty: none
  uint64_t most_connections = 4096;
};

// Serves until SIGINT, SIGTERM, SIGHUP or SIGQUIT comes. Prints the URL on standard output when
// the server answers. The value is the exit status of the process. Call it before the process
// has started any thread.
model::Result<int> ServeSource(const ServeOptions& given);

}  // namespace ndlfs::fs
