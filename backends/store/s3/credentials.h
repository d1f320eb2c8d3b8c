// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/object/environment.h"
#include "backends/store/object/renewed.h"
#include "backends/store/object/signature.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// Finds credentials in the places in which the tools of AWS look for them, in this order: the
// environment (AWS_ACCESS_KEY_ID ...); a web identity token (AWS_WEB_IDENTITY_TOKEN_FILE and
// AWS_ROLE_ARN); the profile (keys, a web identity token, `credential_process`); the container
// (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI); version 2 of the metadata service of
// the instance, if ndlfs may ask it. The first place that is configured decides: if it gives no
// credentials, that is the error. Thread-safe.
class CredentialProvider {
 public:
  struct Options {
    object::GetVariable variable;
    object::GetTime now_s;
    std::shared_ptr<const HttpClient> client;  // asks STS and metadata services
    std::string region = "us-east-1";          // the STS of this region is asked
    bool asks_metadata_server = false;         // of the instance
  };
  explicit CredentialProvider(Options options);

  // As the functions of Renewed. Errors never have a secret.
  model::Result<object::Credentials> Current() { return credentials_.Current(); }
  bool Refuse(const object::Credentials& refused) { return credentials_.Refuse(refused); }

 private:
  object::Renewed<object::Credentials> credentials_;
};

}  // namespace ndlfs::backends::s3
