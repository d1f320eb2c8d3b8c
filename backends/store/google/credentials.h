// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/object/environment.h"
#include "backends/store/object/signature.h"
#include "backends/store/object/token.h"
#include "model/error.h"

namespace ndlfs::backends::google {

// The credentials that a request to Google carries. If no member is set, it carries none, which
// is enough for public buckets.
struct GoogleCredentials {
  std::optional<object::Credentials> hmac_key = std::nullopt;
  std::shared_ptr<object::TokenSource> tokens = nullptr;
  std::string project = {};  // that the file of credentials names as the one to pay
};

struct CredentialOptions {
  object::GetVariable variable = object::GetEnvironmentVariable;
  object::GetTime now_s = object::SystemTime;
  std::shared_ptr<const HttpClient> client;  // asks token servers
  std::string token_file = {};               // holds an access token; empty: none
  // Whether to ask the metadata server of the machine if nothing else is found. It is asked as
  // well if GCE_METADATA_HOST names it.
  bool asks_metadata_server = false;
};

// Finds credentials where Google's tools look for them: the token file, an HMAC key
// (GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY), the file that GOOGLE_APPLICATION_CREDENTIALS
// names, the application default credentials of gcloud, and the metadata server. The first
// place that is configured decides. Sends nothing; tokens are asked for when they are needed,
// and files are read again then. Errors have no secret.
model::Result<GoogleCredentials> FindCredentials(const CredentialOptions& options);

}  // namespace ndlfs::backends::google
