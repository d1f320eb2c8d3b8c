// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/azure/account.h"
#include "backends/store/azure/shared_key.h"
#include "backends/store/http/http_client.h"
#include "backends/store/object/environment.h"
#include "backends/store/object/token.h"
#include "model/error.h"

namespace ndlfs::backends::azure {

// The credentials that a request to Azure carries. If no member is set, it carries none, which
// is enough for public containers.
struct AzureCredentials {
  std::optional<SharedKey> key = std::nullopt;
  // Tokens of OAuth, or shared access signatures; SasOrBearerUse() puts both on requests.
  std::shared_ptr<object::TokenSource> tokens = nullptr;
};

struct CredentialOptions {
  object::GetVariable variable = object::GetEnvironmentVariable;
  object::GetTime now_s = object::SystemTime;
  std::shared_ptr<const HttpClient> client;  // asks token servers
  std::string token_file = {};  // holds an access token, or a signature; empty: none
  // A server that gives signatures for containers, as that of the Planetary Computer; empty:
  // PC_SDK_SAS_URL, or that one if PC_SDK_SUBSCRIPTION_KEY is set.
  std::string sas_server = {};
  // Whether to ask the metadata server of the machine if nothing else is found. It is asked as
  // well with AZCOPY_AUTO_LOGIN_TYPE=MSI.
  bool asks_metadata_server = false;
};

// Finds credentials for the place, in this order: the token file; the signature in the URL; key
// or signature in `settings`, unless they are those of another account; a server of signatures;
// a federated token (AZURE_FEDERATED_TOKEN_FILE), a client secret (AZURE_CLIENT_SECRET), each
// with AZURE_TENANT_ID and AZURE_CLIENT_ID; the managed identity of the machine. The first that
// is configured decides. Sends nothing; tokens are asked for when they are needed. Errors have
// no secret.
model::Result<AzureCredentials> FindCredentials(const BlobPlace& place,
                                                const AccountSettings& settings,
                                                const CredentialOptions& options);

// Appends a signature to the query of the URL, and puts any other token into the header
// Authorization.
const object::TokenUse& SasOrBearerUse();

// A shared access signature, "sv=...&sig=...", as a token with the end that it tells ("se").
// kBadInput if `text` is none; the message does not quote it.
model::Result<object::AccessToken> ParseSas(std::string_view text);

}  // namespace ndlfs::backends::azure
