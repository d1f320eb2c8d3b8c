// SPDX-License-Identifier: MIT
//
// The table of the URLs that ndlfs reads: one entry for each kind of server.
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/http/url.h"
#include "model/error.h"

namespace ndlfs::backends {

// How to reach the servers behind some URLs. Each kind of server takes what concerns it.
struct RemoteSettings {
  std::string endpoint = {};    // URL of the server of an object store; empty: the usual one
  std::string region = {};      // of a bucket; empty: found out
  bool signs = true;            // false: no credentials are looked for
  bool requester_pays = false;  // of a bucket
  std::string project = {};     // that pays (Google); empty: from the environment
  std::string account = {};     // of a container (Azure); empty: from URL or environment
  std::string token_file = {};  // holds a bearer token; empty: none
  // A server that gives signatures for containers (Azure); empty: from the environment.
  std::string sas_server = {};
  // Whether the metadata server of the machine may be asked for credentials.
  bool asks_metadata_server = false;
  // The user has named the URL, and no document has. Then the usual places of credentials of
  // AWS count, with its metadata server among them.
  bool is_named_by_user = false;
};

// Opens the directory behind `url`; sends nothing. kBadInput if the URL or a setting is wrong,
// kUnsupported for another scheme.
model::Result<std::shared_ptr<const RemoteSource>> OpenRemoteSource(
    const std::string& url, const RemoteSettings& settings, RemoteOptions options,
    std::shared_ptr<const HttpClient> client);

// Whether `url` is the top of a bucket, although it may look like a file: there is no directory
// above it.
bool IsTopOfBucket(const Url& url);

// kUnsupported if no entry of the table takes the URL.
model::Result<void> CheckScheme(const Url& url);

}  // namespace ndlfs::backends
