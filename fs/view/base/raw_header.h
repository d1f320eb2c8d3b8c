// SPDX-License-Identifier: MIT
//
// Helpers of the headers for data.raw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/number_array.h"
#include "fs/view/base/view_input.h"

namespace ndlfs::fs {

// The words of formats and languages for numbers. Those that a format does not have are empty.
struct NumberWords {
  std::string_view vrt;   // GDAL has Int64 since 3.5, Int8 since 3.7, and Float16 since 3.11
  std::string_view nrrd;  // of the parts of a complex number
  std::string_view ome;
  std::string_view metaimage;  // MET_LONG has 4 bytes
  std::string_view bov;        // its bytes have no sign, and the others do
  std::string_view grads;      // the `units` of a variable: how its numbers are stored
  // As ParaView reads them: of unsigned ones with 8 bytes it reads the first 4.
  std::string_view xdmf;
  int envi;       // or 0
  int16_t nifti;  // or 0; NIfTI-1 and NIfTI-2 share them
  // Or -1. There are no bytes without a sign: programs that write them mark them in different
  // ways.
  int mrc;
  std::string_view fortran;
  std::string_view r_what;  // of readBin()
  std::string_view r_more;
};
const NumberWords& WordsFor(Number number);

// The name of the file with the elements, which lies next to the header.
std::string RawFileName(const ArrayInput& input);
// Whether a listing shows headers of pictures for the array. Lists of numbers, such as
// coordinates, have them by name only.
bool IsListedHeader(const ArrayInput& input);
// The name of the array in characters that have no special meaning in any header: letters,
// digits and "_-." of ASCII; others become '_'. "data" for an array without a name.
std::string NameInHeader(const ArrayInput& input);
// The name of a dimension in such characters; empty if it has none.
std::string PlainName(const std::string& name);
// The names of the classes 0, 1, 2 ... that the elements are, if they are numbers of classes:
// one for each number up to the largest, empty where it has none.
std::vector<std::string> ClassNames(const ArrayInput& input);
// The number that stands for missing elements; empty if there is none.
std::string MissingText(const ArrayInput& input);

}  // namespace ndlfs::fs
