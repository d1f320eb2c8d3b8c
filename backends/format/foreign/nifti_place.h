// SPDX-License-Identifier: MIT
//
// The place of an image by the headers of NIfTI, for readers of NIfTI files and of stores that
// keep such a header.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ndlfs::backends::foreign {

// Maps indexes along the three axes of an image, the fastest first, to a place: `origin` + the
// sum of index * column. The axes of the space point right, to the front and up if a code of
// the header says so.
struct Placement {
  std::array<std::array<double, 3>, 3> columns{};
  std::array<double, 3> origin{};
  bool operator==(const Placement&) const = default;
};

// The word for the lengths of xyzt_units; empty where they are unknown.
std::string_view LengthUnitOfNifti(int units);

// The fields of NIfTI-1 and NIfTI-2 that tell the place.
struct NiftiPlace {
  int qform = 0;  // qform_code and sform_code: 0 where the space is unknown
  int sform = 0;
  std::array<double, 3> quaternion{};           // quatern_b, _c, _d
  std::array<double, 3> origin{};               // qoffset_x, _y, _z
  std::array<std::array<double, 4>, 3> rows{};  // srow_x, _y, _z
  std::array<double, 8> pixdim{};
  int units = 0;  // xyzt_units

  // The unit of lengths; empty where it is unknown.
  std::string_view length_unit() const { return LengthUnitOfNifti(units); }
  // The code of the form that counts: sform, else qform.
  int code() const { return sform > 0 ? sform : qform > 0 ? qform : 0; }
};

// Uses sform, else qform, else the sizes of voxels alone.
Placement PlacementOf(const NiftiPlace& place);

// Adds the form that a place lacks: readers go by either of them. A space that is unknown stays
// so, and a quaternion has no words for axes that are not at right angles.
void AddOtherForm(NiftiPlace& place);

// Reads the place from the bytes of a header; nullopt if it is no header of NIfTI.
std::optional<NiftiPlace> ReadNiftiPlace(std::string_view header);

}  // namespace ndlfs::backends::foreign
