// SPDX-License-Identifier: MIT
//
// Icechunk repositories (versions 1, 2 and 2.1 of the specification), read only: a hierarchy of
// Zarr v3 with all its versions in one directory.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

// Recognizes directories with a file `repo` that begins with the magic bytes, or with
// refs/branch.main/ref.json. OpenOptions::ref is "branch=NAME", "tag=NAME", "snapshot=ID" or
// "at=TIME"; without it, the branch main is opened.
//
// An opened store is one snapshot for ever. Hierarchy::Version("/") looks whether the ref leads
// to another one by now.
const Format& IcechunkFormat();

}  // namespace ndlfs::backends
