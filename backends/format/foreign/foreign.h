// SPDX-License-Identifier: MIT
//
// Flat files with headers of other programs as stores. A store is a group of one array or a
// few, with coordinates along the dimensions if the header places the elements. Dimensions are
// in C order: formats that count from the fastest dimension on have them reversed.
#pragma once

#include "backends/format/format.h"

namespace ndlfs::backends {

const Format& NrrdFormat();       // NRRD: .nrrd, .nhdr
const Format& MetaImageFormat();  // MetaImage: .mha, .mhd
const Format& EnviFormat();       // ENVI: .hdr
const Format& GradsFormat();      // GrADS: .ctl
const Format& BovFormat();        // VisIt's brick of values: .bov
const Format& FitsFormat();       // FITS: .fits
const Format& NiftiFormat();      // NIfTI-1 and NIfTI-2: .nii, .nii.gz, .hdr with .img
const Format& MitgcmFormat();     // MITgcm: .meta with .data

}  // namespace ndlfs::backends
