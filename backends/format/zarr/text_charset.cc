// SPDX-License-Identifier: MIT
#include "backends/format/zarr/text_charset.h"

#include <memory>
#include <utility>
#include <vector>

#include "backends/format/read_elements.h"
#include "backends/format/text_rule.h"
#include "backends/format/zarr/zarr_array_source.h"
#include "model/value.h"

namespace ndlfs::backends::zarr {
namespace {

constexpr uint64_t kMaxInspectedBytes = uint64_t{1} << 20;

// Whether an index of a shard that leads to the first chunk is as large as a whole
// chunk may be: then a look costs too much.
bool HasLargeIndex(const ArrayLayout& layout) {
  std::vector<uint64_t> shape = layout.objects.max_chunk_shape();
  for (const ShardLayout& shard : layout.shards) {
    const auto counts = shard.Counts(shape);
    if (!counts || ShardLayout::DecodedIndexSize(*counts) > kMaxInspectedBytes) return true;
    shape = shard.inner_shape();
  }
  return false;
}

}  // namespace

model::Result<void> DecideCharset(const NodePlace& place, ArrayMetadata& metadata) {
  if (!metadata.layout || !metadata.layout->spec.dtype.is_fixed_size()) return {};
  TextRule rule(metadata.layout->spec.dtype);
  if (!rule.applies() || HasLargeIndex(*metadata.layout)) return {};
  rule.Look(metadata.layout->spec.fill);
  const auto source = MakeZarrArraySource(place.store, place.key_prefix, metadata.layout);
  const auto elements = ReadFirstElements(*source, kMaxInspectedBytes);
  if (elements) rule.Look(elements->span());
  if (rule.has_latin1()) {
    auto layout = std::make_shared<ArrayLayout>(*metadata.layout);
    layout->spec.dtype = rule.Apply(layout->spec.dtype);
    if (layout->plain) layout->plain = rule.Apply(*layout->plain);
    metadata.array.type = rule.Apply(metadata.array.type);
    DescribeType(metadata.array.type, metadata.array.storage);
    if (metadata.array.storage.fillvalue && !layout->spec.fill.empty()) {
      NDLFS_TRY(metadata.array.storage.fillvalue,
                model::DecodeElement(layout->spec.dtype, layout->spec.fill));
    }
    metadata.layout = std::move(layout);
  }
  // Damage is no matter here: reads of the chunk will say so.
  if (!elements && elements.error().is_transient()) return model::Propagate(elements.error());
  return {};
}

}  // namespace ndlfs::backends::zarr
