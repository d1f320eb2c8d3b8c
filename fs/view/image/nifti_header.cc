// SPDX-License-Identifier: MIT
#include "fs/view/image/nifti_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace ndlfs::fs {
namespace {

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

// Fields that do not tell where elements are, or which there are.
struct NiftiField {
  size_t offset, size;
};
constexpr std::array kFirstMeaning = {
    NiftiField{56, 14},    // intent_p1 ... intent_code
    NiftiField{112, 8},    // scl_slope, scl_inter
    NiftiField{124, 8},    // cal_max, cal_min
    NiftiField{148, 104},  // descrip, aux_file
    NiftiField{328, 16},   // intent_name
};
constexpr std::array kSecondMeaning = {
    NiftiField{80, 24},    // intent_p1 ...
    NiftiField{176, 32},   // scl_slope, scl_inter, cal_max, cal_min
    NiftiField{240, 104},  // descrip, aux_file
    NiftiField{504, 20},   // intent_code, intent_name
};

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

void CopyNiftiMeaning(const KeptNiftiHeader& kept, int16_t code, bool is_second,
                      std::string& header) {
  if (kept.is_second != is_second || kept.code != code) return;
  const std::span<const NiftiField> fields =
      is_second ? std::span<const NiftiField>(kSecondMeaning) : kFirstMeaning;
  for (const NiftiField& field : fields) {
    std::memcpy(header.data() + field.offset, kept.bytes.data() + field.offset, field.size);
  }
}

}  // namespace ndlfs::fs
