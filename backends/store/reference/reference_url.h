// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "backends/store/source.h"
#include "backends/store/url_opener.h"
#include "model/error.h"

namespace ndlfs::backends::kerchunk {

// Whether a reference names a file that is not on this machine.
bool IsRemote(std::string_view url);

// The path in the source that the file at `file_path` means by a URL, which is not remote.
// kUnsupported if it is outside the source tree.
model::Result<std::string> ResolveLocalUrl(const Source& source, std::string_view file_path,
                                           std::string_view url);

// The file behind a remote URL. kUnsupported if `source` opens no URLs, or not this one.
model::Result<StoreKey> FindRemote(const Source& source, std::string_view url);

// The file behind a URL that ResolveLocalUrl() has refused with `refusal`, if it is a file://
// URL that the user allows; else `refusal`.
model::Result<StoreKey> FindOutside(const Source& source, std::string_view url,
                                    model::Error refusal);

}  // namespace ndlfs::backends::kerchunk
