// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/http/url.h"
#include "backends/store/object/environment.h"
#include "model/error.h"

namespace ndlfs::backends::azure {

struct AzureOptions {
  std::string account = {};  // of a URL without one; empty: from the environment
  // The URL of the server; empty: as the URL, the connection string or the account tell. An
  // emulator has the account at the end of it.
  std::string endpoint = {};
  bool signs = true;                  // false: anonymous
  std::string token_file = {};        // as in CredentialOptions
  std::string sas_server = {};        // as in CredentialOptions
  bool asks_metadata_server = false;  // as in CredentialOptions
  object::GetVariable variable = object::GetEnvironmentVariable;
  object::GetTime now_s = object::SystemTime;
};

// Whether this is the https URL of a container, or of a blob, of Azure.
bool IsBlobUrl(const Url& url);
// Whether the URL is that of a whole container.
bool IsContainerUrl(const Url& url);

// The blobs below a URL that ParseBlobUrl() takes, as a tree of files: see
// object::MakeBucketService(). The version of a blob is its ETag. Sends nothing before the
// first look. kBadInput for a text that is no such URL, or credentials that are none.
model::Result<std::shared_ptr<const RemoteSource>> OpenAzureSource(
    const std::string& url, const AzureOptions& azure, RemoteOptions options,
    std::shared_ptr<const HttpClient> client);

}  // namespace ndlfs::backends::azure
