// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <string>

#include "fs/view/array/fortran_records.h"
#include "fs/view/array/views.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

Literal Marker(uint64_t bytes, bool is_negative) {
  const auto marker = static_cast<int32_t>(bytes) * (is_negative ? -1 : 1);
  std::string text(sizeof marker, '\0');
  std::memcpy(text.data(), &marker, sizeof marker);
  return Literal(std::move(text));
}

// More of them would fill memory with markers; there is no such disk.
constexpr uint64_t kMostSubrecords = 100'000;

bool Fits(const ArrayInput& input) {
  return input.dtype.is_fixed_size() && input.elements &&
         input.elements->size() <= kMostSubrecords * kMostInSubrecord;
}

}  // namespace

std::vector<Segment> MakeFortranRecord(const Elements& elements, uint64_t most) {
  std::vector<Segment> segments;
  uint64_t done = 0;
  do {
    Elements part = elements;
    part.offset += done;
    part.size = std::min(most, elements.size - done);
    const bool is_first = done == 0;
    done += part.size;
    segments.push_back(Marker(part.size, done < elements.size));
    segments.push_back(part);
    segments.push_back(Marker(part.size, !is_first));
  } while (done < elements.size);
  return segments;
}

const ArrayViewKind kFortranView = {
    .file_name = "data.f77",
    .description = "Fortran sequential unformatted, one record",
    .applies_to = &Fits,
    .is_listed = [](const ArrayInput&) { return false; },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
      return MakeSegmentedView(MakeFortranRecord(AllOf(input.elements)));
    },
};

}  // namespace ndlfs::fs
