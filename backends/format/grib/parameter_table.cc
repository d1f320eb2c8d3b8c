// SPDX-License-Identifier: MIT
//
// make_parameters.py writes the rows.
#include "backends/format/grib/parameter_table.h"

namespace ndlfs::backends::grib {
namespace {

constexpr ParameterFacts kFacts[] = {
#include "backends/format/grib/parameters.inc"
};
constexpr Edition2Code kCodesOfEdition2[] = {
#include "backends/format/grib/edition2_codes.inc"
};
constexpr Edition1Code kCodesOfEdition1[] = {
#include "backends/format/grib/edition1_codes.inc"
};

}  // namespace

const std::span<const ParameterFacts> kParameterFacts = kFacts;
const std::span<const Edition2Code> kEdition2Codes = kCodesOfEdition2;
const std::span<const Edition1Code> kEdition1Codes = kCodesOfEdition1;

}  // namespace ndlfs::backends::grib
