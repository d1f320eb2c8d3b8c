// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "backends/store/http/http_client.h"
#include "backends/store/s3/aws_profile.h"
#include "backends/store/s3/signature.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::s3 {

// Finds credentials where the AWS tools look for them, in their order: the environment
// (AWS_ACCESS_KEY_ID ...), a web identity token (AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN),
// the profile (keys, a web identity token, `credential_process`), the container
// (AWS_CONTAINER_CREDENTIALS_FULL_URI or _RELATIVE_URI), and the metadata service of the
// instance, version 2. The first place that is configured decides: if it gives no credentials,
// that is the error. Thread-safe.
class CredentialProvider {
 public:
  struct Options {
    GetVariable variable;                      // the environment
    std::function<int64_t()> now_s;            // seconds since 1970
    std::shared_ptr<const HttpClient> client;  // asks STS and metadata services
    std::string region = "us-east-1";          // the STS of this region is asked
  };
  explicit CredentialProvider(Options options);

  // The credentials to sign with now. Gets new ones if those that it has expire within
  // five minutes; if that fails, the old ones are used to their end. Errors never have a
  // secret. After an error, the same error is the answer for some seconds.
  model::Result<Credentials> Current() EXCLUDES(mutex_);

  // Tells that a server has refused `refused` as expired or unknown: the next call of Current()
  // looks for others. Returns whether trying again makes sense, because Current() may have
  // others.
  bool Refuse(const Credentials& refused) EXCLUDES(mutex_);

 private:
  model::Result<Credentials> Load() const;

  const Options options_;
  model::Mutex mutex_;
  std::optional<Credentials> current_ GUARDED_BY(mutex_);
  std::optional<model::Error> error_ GUARDED_BY(mutex_);
  int64_t error_until_s_ GUARDED_BY(mutex_) = 0;
};

// The environment of this process.
std::string GetEnvironmentVariable(const char* name);

}  // namespace ndlfs::backends::s3
