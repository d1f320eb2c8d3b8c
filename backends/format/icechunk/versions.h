// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/format/icechunk/ref.h"
#include "backends/format/icechunk/repository.h"
#include "backends/format/versioned.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends::icechunk {

// The history of a repository as text: the branches and tags with the snapshots that they lead
// to, then the snapshots of `ref` ("" is the branch main), the newest first, one a line: id,
// time and message. The history ends after a number of lines.
//
//   branch main -> 4QF8JA0YPDN51MHSSYVG
//   tag v1 -> GC4YVH5SKBPEZCENYQE0
//
//   4QF8JA0YPDN51MHSSYVG 2025-02-19T21:11:56.017780Z set virtual chunk
model::Result<std::string> WriteLog(const Repository& repository, const Ref& ref);

// The same as names, with ten thousand snapshots at most. A history that cannot be read to its
// end counts as far as it goes.
model::Result<VersionNames> ListVersions(const Repository& repository, const Ref& ref);

// As Versioned::Check() and Versioned::RefAt() for a repository that is open at `open`.
model::Result<void> CheckVersion(const Repository& repository, const std::string& ref);
model::Result<std::string> RefAt(const Ref& open, std::string_view time);

}  // namespace ndlfs::backends::icechunk
