// SPDX-License-Identifier: MIT
//
// Tokens that Google gives for credentials of others: workload identity federation
// (google.aip.dev/auth/4117), and service accounts that another account may act as.
#pragma once

#include <string>

#include "backends/store/google/credentials.h"
#include "backends/store/google/key_file.h"
#include "backends/store/object/token.h"
#include "model/error.h"

namespace ndlfs::backends::google {

// The token for a file of the type external_account. Its credential_source gives a token: a
// file, a URL or, with GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1, a command. The token server
// that the file names exchanges this token for one of Google. kUnsupported for other sources.
// All URLs come from the file, which is the user's own; tokens are sent by https alone, or to
// this machine.
model::Result<object::AccessToken> ExchangeToken(const KeyFile& file,
                                                 const CredentialOptions& options);

// The token of the service account that service_account_impersonation_url of the file names,
// for the holder of `token`.
model::Result<object::AccessToken> ActAsServiceAccount(const KeyFile& file,
                                                       const object::AccessToken& token,
                                                       const CredentialOptions& options);

}  // namespace ndlfs::backends::google
