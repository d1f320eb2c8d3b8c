// SPDX-License-Identifier: MIT
//
// The functions of libhdf4 that are used. The library is loaded when a file needs it: packages
// of ndlfs then do not need it, its headers are not needed to build, and it is never in the
// process of a mount.
#pragma once

#include <cstdint>
#include <optional>

namespace ndlfs::backends::hdf4 {

// Name, result, arguments; as in mfhdf.h, hproto.h, vproto.h and mfgr.h.
#define NDLFS_HDF4_FUNCTIONS(F)                                                               \
  F(SDstart, int32_t, (const char*, int32_t))                                                 \
  F(SDend, int, (int32_t))                                                                    \
  F(SDfileinfo, int, (int32_t, int32_t*, int32_t*))                                           \
  F(SDselect, int32_t, (int32_t, int32_t))                                                    \
  F(SDendaccess, int, (int32_t))                                                              \
  F(SDgetinfo, int, (int32_t, char*, int32_t*, int32_t*, int32_t*, int32_t*))                 \
  F(SDattrinfo, int, (int32_t, int32_t, char*, int32_t*, int32_t*))                           \
  F(SDreadattr, int, (int32_t, int32_t, void*))                                               \
  F(SDgetdimid, int32_t, (int32_t, int))                                                      \
  F(SDdiminfo, int, (int32_t, char*, int32_t*, int32_t*, int32_t*))                           \
  F(SDisrecord, int, (int32_t))                                                               \
  F(SDiscoordvar, int, (int32_t))                                                             \
  F(SDidtoref, int32_t, (int32_t))                                                            \
  F(SDgetcompinfo, int, (int32_t, int*, void*))                                               \
  F(SDgetchunkinfo, int, (int32_t, void*, int32_t*))                                          \
  F(SDgetdatainfo, int, (int32_t, int32_t*, unsigned, unsigned, int32_t*, int32_t*))          \
  F(SDgetexternalinfo, int, (int32_t, unsigned, char*, int32_t*, int32_t*))                   \
  F(SDreaddata, int, (int32_t, int32_t*, int32_t*, int32_t*, void*))                          \
  F(Hopen, int32_t, (const char*, int, int16_t))                                              \
  F(Hclose, int, (int32_t))                                                                   \
  F(Hfind, int, (int32_t, uint16_t, uint16_t, uint16_t*, uint16_t*, int32_t*, int32_t*, int)) \
  F(Hlength, int32_t, (int32_t, uint16_t, uint16_t))                                          \
  F(Hgetelement, int32_t, (int32_t, uint16_t, uint16_t, uint8_t*))                            \
  F(HDgetdatainfo, int,                                                                       \
    (int32_t, uint16_t, uint16_t, int32_t*, unsigned, unsigned, int32_t*, int32_t*))          \
  F(Vinitialize, int, (int32_t))                                                              \
  F(Vgetid, int32_t, (int32_t, int32_t))                                                      \
  F(Vattach, int32_t, (int32_t, int32_t, const char*))                                        \
  F(Vdetach, int32_t, (int32_t))                                                              \
  F(Vgetnamelen, int32_t, (int32_t, uint16_t*))                                               \
  F(Vgetname, int32_t, (int32_t, char*))                                                      \
  F(Vgetclassnamelen, int32_t, (int32_t, uint16_t*))                                          \
  F(Vgetclass, int32_t, (int32_t, char*))                                                     \
  F(Vntagrefs, int32_t, (int32_t))                                                            \
  F(Vgettagrefs, int32_t, (int32_t, int32_t*, int32_t*, int32_t))                             \
  F(Vnattrs, int, (int32_t))                                                                  \
  F(Vattrinfo, int, (int32_t, int, char*, int32_t*, int32_t*, int32_t*))                      \
  F(Vgetattr, int, (int32_t, int, void*))                                                     \
  F(VSgetid, int32_t, (int32_t, int32_t))                                                     \
  F(VSattach, int32_t, (int32_t, int32_t, const char*))                                       \
  F(VSdetach, int32_t, (int32_t))                                                             \
  F(VSgetname, int32_t, (int32_t, char*))                                                     \
  F(VSgetclass, int32_t, (int32_t, char*))                                                    \
  F(VSgetfields, int32_t, (int32_t, char*))                                                   \
  F(VSsetfields, int, (int32_t, const char*))                                                 \
  F(VSelts, int32_t, (int32_t))                                                               \
  F(VSsizeof, int32_t, (int32_t, char*))                                                      \
  F(VSread, int32_t, (int32_t, uint8_t*, int32_t, int32_t))                                   \
  F(GRstart, int32_t, (int32_t))                                                              \
  F(GRend, int, (int32_t))                                                                    \
  F(GRfileinfo, int, (int32_t, int32_t*, int32_t*))                                           \
  F(GRselect, int32_t, (int32_t, int32_t))                                                    \
  F(GRendaccess, int, (int32_t))                                                              \
  F(GRidtoref, uint16_t, (int32_t))                                                           \
  F(GRgetiminfo, int, (int32_t, char*, int32_t*, int32_t*, int32_t*, int32_t*, int32_t*))     \
  F(GRattrinfo, int, (int32_t, int32_t, char*, int32_t*, int32_t*))                           \
  F(GRgetattr, int, (int32_t, int32_t, void*))                                                \
  F(GRgetcompinfo, int, (int32_t, int*, void*))                                               \
  F(GRgetchunkinfo, int, (int32_t, void*, int32_t*))                                          \
  F(GRgetdatainfo, int, (int32_t, unsigned, unsigned, int32_t*, int32_t*))                    \
  F(GRreqimageil, int, (int32_t, int))                                                        \
  F(GRreadimage, int, (int32_t, int32_t*, int32_t*, int32_t*, void*))

struct Functions {
#define NDLFS_HDF4_POINTER(name, result, arguments) result(*name) arguments = nullptr;
  NDLFS_HDF4_FUNCTIONS(NDLFS_HDF4_POINTER)
#undef NDLFS_HDF4_POINTER
};

// nullopt if the library is not installed.
std::optional<Functions> LoadFunctions();

}  // namespace ndlfs::backends::hdf4
