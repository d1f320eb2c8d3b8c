// SPDX-License-Identifier: MIT
//
// What sets and images have in common, and the groups of a file.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/format/hdf4/vset.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Corrupt;
using model::Result;

// Of Vgroups and Vdatas by which HDF4 describes arrays.
bool IsInternal(std::string_view class_name) {
  constexpr std::string_view kClasses[] = {"Var0.0",    "Dim0.0",  "UDim0.0",  "CDF0.0",
                                           "Attr0.0",   "DimVal0", "RIG0.0",   "RI0.0",
                                           "RIATTR0.0", "SDSVar",  "CoordVar", "_HDF_"};
  return std::ranges::any_of(
      kClasses, [&](std::string_view begin) { return class_name.starts_with(begin); });
}

// The number of the chunk of a record in C order of the grid; nullopt if it is outside: it may
// be there, and is of no interest.
std::optional<uint64_t> NumberOf(BigReader& record, size_t rank, const ArrayInfo& array) {
  uint64_t number = 0;
  bool is_inside = true;
  for (size_t d = 0; d < rank; ++d) {
    const uint64_t index = record.Number(4);
    const uint64_t count = (array.shape[d] + array.chunk[d] - 1) / array.chunk[d];
    is_inside = is_inside && index < count;
    // Sums and products of what would not be inside do not matter.
    number = number * count + index;
  }
  return is_inside ? std::optional(number) : std::nullopt;
}

Result<void> FindChunks(const Vset& vset, const Chunking& chunking, ArrayInfo& array) {
  constexpr uint64_t kMostTableBytes = uint64_t{64} << 20;
  constexpr uint16_t kNullTag = 1;
  const size_t rank = chunking.chunk.size();
  array.chunk = chunking.chunk;
  uint64_t item_bytes = TypeOf(array.number_type) ? TypeOf(array.number_type)->size() : 0;
  // Chunks of an image have all components.
  if (array.shape.size() == rank + 1) {
    array.chunk.push_back(array.shape.back());
    item_bytes *= array.shape.back();  // 16 bits
  }
  if (array.chunk.size() != array.shape.size() || item_bytes != chunking.item_bytes) {
    return Corrupt("chunks of {} dimensions, with elements of {} bytes", rank,
                   chunking.item_bytes);
  }
  if (!CheckedProduct(array.shape)) return Corrupt("too many elements");
  NDLFS_TRY(const auto table, vset.Describe(chunking.table.reference));
  if (!table) return Corrupt("there is no table of its chunks");
  if (table->records == 0) return {};
  const uint64_t record_bytes = 4 * rank + 4;
  if (table->record_bytes != record_bytes) {
    return Corrupt("a table of chunks with records of {} bytes", table->record_bytes);
  }
  NDLFS_TRY(const auto records, vset.Records(*table, kMostTableBytes));
  if (!records) return Corrupt("the table of its chunks is cut");
  NDLFS_RETURN_IF_ERROR(vset.elements().Charge(table->records * sizeof(StoredChunk)));
  BigReader reader(records->span());
  for (uint64_t i = 0; i < table->records; ++i) {
    const auto number = NumberOf(reader, rank, array);
    const uint16_t tag = reader.Short(), reference = reader.Short();
    if (number && tag > kNullTag) array.chunks.push_back({*number, {tag, reference}});
  }
  std::ranges::sort(array.chunks, {}, &StoredChunk::number);
  return {};
}

Result<void> FindPlaces(const Vset& vset, ElementId data, ArrayInfo& array) {
  NDLFS_TRY(auto located, vset.elements().Locate(data));
  if (!located) return {};
  array.coding = std::move(located->coding);
  if (located->chunking) {
    NDLFS_RETURN_IF_ERROR(FindChunks(vset, *located->chunking, array));
    const std::string& fill = located->chunking->fill;
    const auto numbers = MakeNumbers({}, array.number_type, 1, AsBytes(fill));
    if (numbers) array.fill = numbers->values;
    for (size_t i = array.fill.size(); i < fill.size(); ++i) {
      if (fill[i] != fill[i - array.fill.size()])
        return Corrupt("fill values of several kinds");
    }
    return {};
  }
  NDLFS_RETURN_IF_ERROR(vset.elements().Charge(located->held_bytes()));
  if (located->bytes == 0) return {};
  array.pieces = std::move(located->pieces);
  array.external_name = std::move(located->file);
  return {};
}

// Arrays by the references that groups have of them.
using References = std::map<uint16_t, uint64_t>;

Result<void> FindGroups(const Vset& vset, const References& arrays, FileInfo& file) {
  std::map<uint16_t, uint64_t> groups;
  for (const auto& [reference, group] : vset.groups()) {
    if (IsInternal(group.class_name)) continue;
    groups.emplace(reference, file.groups.size());
    GroupInfo made;
    made.name = group.name;
    for (const uint16_t table : group.attributes) {
      NDLFS_TRY(auto attribute, vset.Attribute(table, Vset::Owner::kGroup));
      if (attribute) made.attributes.push_back(*std::move(attribute));
    }
    file.groups.push_back(std::move(made));
  }
  for (const auto& [reference, index] : groups) {
    GroupInfo& group = file.groups[index];
    for (const ElementId& member : vset.groups().at(reference).members) {
      if (member.tag == kVgroupTag) {
        const auto found = groups.find(member.reference);
        if (found != groups.end()) group.groups.push_back(found->second);
      } else if (member.tag == kSetTag || member.tag == kOldSetTag) {
        const auto found = arrays.find(member.reference);
        if (found != arrays.end()) group.arrays.push_back(found->second);
      }
    }
  }
  return {};
}

Result<void> NameTables(const Vset& vset, FileInfo& file) {
  std::vector<uint16_t> references = vset.elements().ReferencesOf(kVdataTag);
  std::ranges::sort(references);
  for (const uint16_t reference : references) {
    NDLFS_TRY(auto table, vset.Describe(reference));
    if (table && !IsInternal(table->class_name)) file.tables.push_back(std::move(table->name));
  }
  return {};
}

}  // namespace

Result<void> FindElements(const Vset& vset, ElementId data, ArrayInfo& array) {
  const auto found = FindPlaces(vset, data, array);
  if (found) return {};
  const auto code = found.error().code();
  if (code != model::ErrorCode::kCorrupt && code != model::ErrorCode::kUnsupported)
    return found;
  array.problem = found.error().message();
  return {};
}

Result<FileInfo> Describe(const Elements& elements) {
  NDLFS_TRY(const Vset vset, Vset::Load(elements));
  FileInfo file;
  NDLFS_RETURN_IF_ERROR(FindSets(vset, file));
  References references;
  for (uint64_t i = 0; i < file.arrays.size(); ++i) {
    if (file.arrays[i].reference != 0) references.emplace(file.arrays[i].reference, i);
  }
  NDLFS_RETURN_IF_ERROR(FindImages(vset, file));
  NDLFS_RETURN_IF_ERROR(FindGroups(vset, references, file));
  NDLFS_RETURN_IF_ERROR(NameTables(vset, file));
  return file;
}

}  // namespace ndlfs::backends::hdf4
