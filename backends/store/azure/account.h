// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/store/object/environment.h"
#include "model/error.h"

namespace ndlfs::backends::azure {

// Where some blobs are.
struct BlobPlace {
  std::string account;   // empty: the URL does not tell it
  std::string endpoint;  // The account in the name of a host of the Blob service; empty for
                         // other hosts.
  std::string AccountIn(std::string_view host);

  // "https://ACCOUNT.blob.core.windows.net"; empty: not told
  std::string container;  // checked
  std::string prefix;     // without '/' at the ends
  std::string sas;        // the query of the URL; secret
  std::string name;       // the URL of the container, for people
};

// Whether an https URL is one of Azure's Blob service.
bool IsBlobHost(std::string_view host);

// The place that is meant by az://CONTAINER/KEY,
// abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY or
// https://ACCOUNT.blob.core.windows.net/CONTAINER/KEY. kBadInput for other texts, and for the
// hosts of others: the user's credentials would go there.
model::Result<BlobPlace> ParseBlobUrl(const std::string& text);

// The parts of a connection string, "Name=value;...", and what the variables of Microsoft's
// tools say.
struct AccountSettings {
  std::string account;   // empty: not told
  std::string endpoint;  // of the Blob service; empty: not told
  std::string key;       // base64; secret
  std::string sas;       // secret
};
// Reads AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_ACCOUNT (or AZURE_STORAGE_ACCOUNT_NAME),
// AZURE_STORAGE_KEY (or AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_ACCESS_KEY) and
// AZURE_STORAGE_SAS_TOKEN. The connection string comes first. Messages have no secret.
model::Result<AccountSettings> ReadAccountSettings(const object::GetVariable& variable);

// kBadInput if no account can have the name: it becomes part of a host's name.
model::Result<void> CheckAccount(std::string_view account);

// The account in the name of a host of the Blob service; empty for other hosts.
std::string AccountIn(std::string_view host);

// "https://ACCOUNT.blob.core.windows.net"
std::string EndpointOf(std::string_view account);

}  // namespace ndlfs::backends::azure
