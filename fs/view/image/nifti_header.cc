// SPDX-License-Identifier: MIT
#include "fs/view/image/nifti_header.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostNiftiDimensions = 7;

// Numbers that follow each other in a header.
struct NiftiRun {
  size_t offset, width, count;
};

// By nifti1.h. All other fields are text or single bytes.
constexpr std::array kFirstRuns = {
    NiftiRun{0, 4, 1},     // sizeof_hdr
    NiftiRun{32, 4, 1},    // extents
    NiftiRun{36, 2, 1},    // session_error
    NiftiRun{40, 2, 8},    // dim
    NiftiRun{56, 4, 3},    // intent_p1 ...
    NiftiRun{68, 2, 4},    // intent_code, datatype, bitpix, slice_start
    NiftiRun{76, 4, 11},   // pixdim, vox_offset, scl_slope, scl_inter
    NiftiRun{120, 2, 1},   // slice_end
    NiftiRun{124, 4, 6},   // cal_max, cal_min, slice_duration, toffset, glmax, glmin
    NiftiRun{252, 2, 2},   // qform_code, sform_code
    NiftiRun{256, 4, 18},  // quatern_b ... srow_z
};
// By nifti2.h.
constexpr std::array kSecondRuns = {
    NiftiRun{0, 4, 1},     // sizeof_hdr
    NiftiRun{12, 2, 2},    // datatype, bitpix
    NiftiRun{16, 8, 28},   // dim ... slice_end
    NiftiRun{344, 4, 2},   // qform_code, sform_code
    NiftiRun{352, 8, 18},  // quatern_b ... srow_z
    NiftiRun{496, 4, 3},   // slice_code, xyzt_units, intent_code
};

// Places of the fields that do not tell where elements are, or which there are.
struct NiftiMeaning {
  size_t intent_p1, intent_code, intent_name, scl_slope, cal_max, descrip, aux_file;
};
constexpr NiftiMeaning kFirstMeaning = {56, 68, 328, 112, 124, 148, 228};
constexpr NiftiMeaning kSecondMeaning = {80, 504, 508, 176, 192, 240, 320};

template <typename T>
T NiftiNumber(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
template <typename T>
void PutNiftiNumber(size_t at, T value, std::string& bytes) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void ReverseNumbers(std::span<const NiftiRun> runs, std::string& bytes) {
  for (const NiftiRun& run : runs) {
    for (size_t i = 0; i < run.count; ++i) {
      const auto begin = bytes.begin() + static_cast<ptrdiff_t>(run.offset + i * run.width);
      std::reverse(begin, begin + static_cast<ptrdiff_t>(run.width));
    }
  }
}

// Axes of one element do not change where others are.
template <typename T>
std::vector<uint64_t> LongerThanOne(const std::vector<T>& lengths) {
  std::vector<uint64_t> longer;
  for (const T length : lengths) {
    if (length != 1) longer.push_back(static_cast<uint64_t>(length));
  }
  return longer;
}

}  // namespace

std::optional<KeptNiftiHeader> ReadKeptNiftiHeader(std::string_view bytes) {
  for (const bool is_second : {false, true}) {
    const size_t size = is_second ? kNiftiSecondSize : kNiftiFirstSize;
    if (bytes.size() < size) continue;
    KeptNiftiHeader kept;
    kept.is_second = is_second;
    kept.bytes = bytes.substr(0, size);
    const auto is_header = [&] {
      return NiftiNumber<int32_t>(kept.bytes, 0) == static_cast<int32_t>(size);
    };
    if (is_header()) {
      kept.extensions = bytes.substr(size);
    } else {
      if (is_second) {
        ReverseNumbers(kSecondRuns, kept.bytes);
      } else {
        ReverseNumbers(kFirstRuns, kept.bytes);
      }
      if (!is_header()) continue;
    }
    kept.code = NiftiNumber<int16_t>(kept.bytes, is_second ? 12 : 70);
    const auto dim = [&](size_t i) {
      return is_second ? NiftiNumber<int64_t>(kept.bytes, 16 + 8 * i)
                       : int64_t{NiftiNumber<int16_t>(kept.bytes, 40 + 2 * i)};
    };
    const int64_t rank = dim(0);
    if (rank < 1 || rank > static_cast<int64_t>(kMostNiftiDimensions)) return std::nullopt;
    for (size_t i = 1; i <= static_cast<size_t>(rank); ++i) kept.lengths.push_back(dim(i));
    return kept;
  }
  return std::nullopt;
}

size_t NiftiOffset(uint64_t stored) {
  constexpr uint64_t kUnit = 16;
  if (stored == kNiftiFirstSize || stored == kNiftiSecondSize) stored += kNiftiExtension;
  return static_cast<size_t>((stored + kUnit - 1) / kUnit * kUnit);
}

std::optional<std::string> WholeNiftiHeader(const KeptNiftiHeader& kept, int16_t code,
                                            const std::vector<uint64_t>& lengths,
                                            size_t offset) {
  const bool is_of_elements =
      kept.code == code && LongerThanOne(kept.lengths) == LongerThanOne(lengths);
  if (!is_of_elements || kept.bytes.size() + kept.extensions.size() > offset ||
      kept.bytes.size() + kNiftiExtension > offset) {
    return std::nullopt;
  }
  std::string header = kept.bytes;
  if (kept.is_second) {
    constexpr std::string_view kMagic("n+2\0\r\n\032\n", 8);
    kMagic.copy(header.data() + 4, kMagic.size());
    PutNiftiNumber(168, static_cast<int64_t>(offset), header);
  } else {
    constexpr std::string_view kMagic("n+1\0", 4);
    kMagic.copy(header.data() + 344, kMagic.size());
    PutNiftiNumber(108, static_cast<float>(offset), header);
  }
  header += kept.extensions;
  header.resize(offset);
  return header;
}

namespace {

// A header and its version.
struct NiftiSource {
  std::string_view bytes;
  bool is_second;
  double Real(size_t at, size_t i) const {
    return is_second ? NiftiNumber<double>(bytes, at + 8 * i)
                     : double{NiftiNumber<float>(bytes, at + 4 * i)};
  }
};
struct NiftiTarget {
  std::string& bytes;
  bool is_second;
  void PutReal(size_t at, size_t i, double value) {
    if (is_second) {
      PutNiftiNumber(at + 8 * i, value, bytes);
    } else {
      PutNiftiNumber(at + 4 * i, static_cast<float>(value), bytes);
    }
  }
};

// A scale that is lost in 32 bits would be another one.
Result<void> CheckSingle(std::string_view name, double value, bool may_vanish) {
  const auto single = static_cast<float>(value);
  const bool is_lost = std::isfinite(value) && value != 0 && !std::isnormal(single);
  if (!is_lost || (may_vanish && std::isfinite(single))) return {};
  return model::Unsupported("{} {} of a header of NIfTI-2 does not fit into one of NIfTI-1",
                            name, value);
}

Result<void> CopyScale(const NiftiSource& from, const NiftiMeaning& source,
                       const NiftiMeaning& target, NiftiTarget& to) {
  const double slope = from.Real(source.scl_slope, 0);
  const double intercept = from.Real(source.scl_slope, 1);
  if (!to.is_second) {
    NDLFS_RETURN_IF_ERROR(CheckSingle("scl_slope", slope, false));
    NDLFS_RETURN_IF_ERROR(CheckSingle("scl_inter", intercept, true));
  }
  to.PutReal(target.scl_slope, 0, slope);
  to.PutReal(target.scl_slope, 1, intercept);
  for (const size_t i : {0, 1}) {
    to.PutReal(target.cal_max, i, from.Real(source.cal_max, i));
  }
  return {};
}

void CopyIntent(const NiftiSource& from, const NiftiMeaning& source, const NiftiMeaning& target,
                NiftiTarget& to) {
  const int32_t code = from.is_second
                           ? NiftiNumber<int32_t>(from.bytes, source.intent_code)
                           : int32_t{NiftiNumber<int16_t>(from.bytes, source.intent_code)};
  if (to.is_second) {
    PutNiftiNumber(target.intent_code, code, to.bytes);
  } else if (std::in_range<int16_t>(code)) {
    PutNiftiNumber(target.intent_code, static_cast<int16_t>(code), to.bytes);
  } else {
    return;  // no code that NIfTI has
  }
  for (const size_t i : {0, 1, 2}) {
    to.PutReal(target.intent_p1, i, from.Real(source.intent_p1, i));
  }
  from.bytes.copy(to.bytes.data() + target.intent_name, 16, source.intent_name);
}

}  // namespace

Result<void> CopyNiftiMeaning(const KeptNiftiHeader& kept, int16_t code, bool is_second,
                              bool is_converted, std::string& header) {
  if (kept.code != code) return {};
  const NiftiSource from{kept.bytes, kept.is_second};
  NiftiTarget to{header, is_second};
  const NiftiMeaning& source = kept.is_second ? kSecondMeaning : kFirstMeaning;
  const NiftiMeaning& target = is_second ? kSecondMeaning : kFirstMeaning;
  CopyIntent(from, source, target, to);
  from.bytes.copy(header.data() + target.descrip, 80, source.descrip);
  from.bytes.copy(header.data() + target.aux_file, 24, source.aux_file);
  if (is_converted) return {};
  return CopyScale(from, source, target, to);
}

}  // namespace ndlfs::fs
