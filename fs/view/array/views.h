// SPDX-License-Identifier: MIT
//
// Files that hold the elements of an array, and headers for them.
#pragma once

#include "fs/view/base/view_kind.h"

namespace ndlfs::fs {

extern const ArrayViewKind kNpyView;      // data.npy
extern const ArrayViewKind kRawView;      // data.raw
extern const ArrayViewKind kTextView;     // data.txt
extern const ArrayViewKind kJsonlView;    // data.jsonl
extern const ArrayViewKind kFortranView;  // data.f77
// Headers for data.raw:
extern const ArrayViewKind kEnviView;       // data.raw.hdr
extern const ArrayViewKind kShortEnviView;  // data.hdr, by name
extern const ArrayViewKind kNrrdView;       // data.nhdr
extern const ArrayViewKind kMetaImageView;  // data.mhd
extern const ArrayViewKind kVrtView;        // data.vrt
extern const ArrayViewKind kXdmfView;       // data.xmf
extern const ArrayViewKind kBovView;        // data.bov
extern const ArrayViewKind kGradsView;      // data.ctl

}  // namespace ndlfs::fs
