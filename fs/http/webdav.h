// SPDX-License-Identifier: MIT
//
// WebDAV, class 1, for reading (RFC 4918): what PROPFIND answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/http/listing.h"

namespace ndlfs::fs {

enum class DavDepth {
  kZero,      // the file or directory alone
  kOne,       // with the entries of the directory
  kInfinity,  // not answered
};
// `field` is the field `Depth`; without it a request means infinity.
DavDepth ParseDepth(const std::optional<std::string>& field);

// The body of a reply with status 207. `path` is that of `self`, whose name is not used, below
// the path `base` that all URLs begin with. `entries` are those of the directory; null: none
// are told.
NextPiece WriteMultistatus(std::string_view base, const std::vector<std::string>& path,
                           const ListingEntry& self, EntryReaderPtr entries);

}  // namespace ndlfs::fs
