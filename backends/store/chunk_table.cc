// SPDX-License-Identifier: MIT
#include "backends/store/chunk_table.h"

#include <algorithm>

#include "backends/base/checked.h"

namespace ndlfs::backends {
namespace {

// What to read of the value for `options` of the part.
model::Result<ReadOptions> OptionsOf(const ValuePlace& place, const ReadOptions& options) {
  ReadOptions whole = options;
  if (!whole.if_match) whole.if_match = place.if_match;
  whole.never_changes = place.never_changes;
  if (options.from_end) {  // of a part that may be shorter than the table says
    NDLFS_TRY(const auto info, place.store->Stat(place.key));
    if (!info) return MissingValue(place);
    whole.from_end = false;
    whole.range = options.Clip(SizeOfPart(place.range, info->size));
    if (!whole.if_match) whole.if_match = info->generation;
  } else {
    const uint64_t left = place.range.length - std::min(place.range.length, whole.range.offset);
    whole.range.length = std::min(whole.range.length, left);
  }
  const auto offset = CheckedAdd(place.range.offset, whole.range.offset);
  whole.range = offset ? ByteRange{*offset, whole.range.length} : ByteRange{0, 0};
  return whole;
}

}  // namespace

uint64_t SizeOfPart(const ByteRange& part, uint64_t size) {
  return part.offset >= size ? 0 : std::min(part.length, size - part.offset);
}

model::Failure MissingValue(const ValuePlace& place) {
  return model::Corrupt("the file {} that it refers to is not there", model::Quote(place.key));
}

model::Result<std::optional<ReadResult>> ReadPlace(const ValuePlace& place,
                                                   const ReadOptions& options,
                                                   const Reserve& reserve) {
  NDLFS_TRY(const ReadOptions wanted, OptionsOf(place, options));
  uint64_t size = 0;
  const auto reserve_for_part = [&](uint64_t total_size) {
    size = SizeOfPart(place.range, total_size);
    return reserve(size);
  };
  NDLFS_TRY(auto result, place.store->Read(place.key, wanted, reserve_for_part));
  if (!result) return MissingValue(place);
  result->info.size = size;
  return result;
}

}  // namespace ndlfs::backends
