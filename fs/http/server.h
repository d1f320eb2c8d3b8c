// SPDX-License-Identifier: MIT
//
// Serves a tree by HTTP, with libmicrohttpd. One thread waits for all connections; requests run
// on the threads of a RequestQueue, as they do in a mount.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fs/http/client_address.h"
#include "fs/http/listener.h"
#include "fs/http/site.h"
#include "fs/serve/served_tree.h"

namespace ndlfs::fs {

struct ServerOptions {
  SiteOptions site = {};
  // Connections of all clients. One client gets three quarters of them at most (user_share.h).
  uint64_t most_connections = 4096;
  Proxies proxies = {};
};

class HttpServer {
 public:
  // Starts threads. `tree` must outlive the server.
  static model::Result<std::unique_ptr<HttpServer>> Start(ServedTree& tree, Listener listener,
                                                          const ServerOptions& options);
  // Ends all connections and requests.
  virtual ~HttpServer() = default;

 protected:
  HttpServer() = default;
};

// "libmicrohttpd 0.9.75", the one that the program runs with.
std::string HttpLibraryVersion();

}  // namespace ndlfs::fs
