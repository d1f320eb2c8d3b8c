// SPDX-License-Identifier: MIT
//
// The factories that view.cc lists; each is defined in its view_*.cc.
#pragma once

#include "fs/view/view.h"

namespace ndlfs::fs {

const ViewKind& NpyView();    // data.npy
const ViewKind& RawView();    // data.raw
const ViewKind& TextView();   // data.txt
const ViewKind& JsonlView();  // data.jsonl

}  // namespace ndlfs::fs
