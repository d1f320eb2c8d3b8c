// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::cache {

// Which bytes the reader is expected to read next.
enum class ReadHint {
  kOnward,  // the bytes that follow, or more of the same chunks
  kAlone,   // none nearby
};

}  // namespace ndlfs::cache
