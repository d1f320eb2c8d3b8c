// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/object/environment.h"
#include "model/error.h"

namespace ndlfs::backends::google {

struct GoogleOptions {
  // The URL of the server; empty: STORAGE_EMULATOR_HOST, else Google. The server of that
  // variable is asked without credentials.
  std::string endpoint = {};
  bool signs = true;            // false: anonymous
  std::string token_file = {};  // holds an access token; empty: none
  bool requester_pays = false;
  // The project that pays; empty: that of GOOGLE_CLOUD_PROJECT, or of the credentials.
  std::string project = {};
  bool asks_metadata_server = false;  // as in CredentialOptions
  object::GetVariable variable = object::GetEnvironmentVariable;
  object::GetTime now_s = object::SystemTime;
};

// The objects below "gs://bucket/prefix" as a tree of files: see object::MakeBucketService().
// Speaks the XML interface of Google Cloud Storage. The version of an object is its generation,
// and a read of a version asks for that generation: if it is gone (404, or 403 where nobody may
// list), the object has changed. Objects may change, unless RemoteOptions::trusts_looks_for is
// nullopt. So each other request for an object has a query of its own, and no cache answers it.
// An object with Content-Encoding gzip is read as it is stored. Sends nothing before the first
// look. kBadInput for a text that is no such URL, or credentials that are none.
model::Result<std::shared_ptr<const RemoteSource>> OpenGoogleSource(
    const std::string& url, const GoogleOptions& google, RemoteOptions options,
    std::shared_ptr<const HttpClient> client);

}  // namespace ndlfs::backends::google
