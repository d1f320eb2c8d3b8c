// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/vset.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

constexpr uint64_t kMostTextBytes = uint64_t{16} << 20;
constexpr uint16_t kNewestVersion = 4, kHasAttributes = 1;

// The version is in the last five bytes, of which one is not used.
uint16_t VersionOf(ConstByteSpan content) {
  constexpr size_t kTail = 5;
  return content.size() < kTail ? UINT16_MAX : BigReader(content.last(kTail)).Short();
}

std::optional<Vgroup> ParseGroup(ConstByteSpan content) {
  const uint16_t version = VersionOf(content);
  if (version > kNewestVersion) return std::nullopt;
  BigReader reader(content);
  const uint16_t count = reader.Short();
  if (reader.left() < size_t{4} * count) return std::nullopt;
  Vgroup group;
  group.members.resize(count);
  for (ElementId& member : group.members) member.tag = reader.Short();
  for (ElementId& member : group.members) member.reference = reader.Short();
  group.name = reader.Text();
  group.class_name = reader.Text();
  reader.Number(4);  // where the group goes on; no library writes that
  if (version == kNewestVersion && (reader.Number(4) & kHasAttributes) != 0) {
    const uint64_t attributes = std::min<uint64_t>(reader.Number(4), reader.left() / 4);
    for (uint64_t i = 0; i < attributes; ++i) {
      reader.Short();
      group.attributes.push_back(reader.Short());
    }
  }
  // Names are copied to all that belong to the group. libhdf4 writes 256 bytes at most.
  constexpr size_t kMostName = 1024;
  if (!reader.is_good() || group.name.size() > kMostName) return std::nullopt;
  return group;
}

// Types of the versions before 3.
int32_t FromOldType(int32_t type) {
  constexpr int32_t kTypes[] = {0, 4, 22, 5, 24, 20, 22, 6};
  return type >= 0 && type < 8 ? kTypes[type] : type;
}

std::optional<Vdata> ParseTable(ConstByteSpan content) {
  const uint16_t version = VersionOf(content);
  if (version > kNewestVersion) return std::nullopt;
  BigReader reader(content);
  Vdata table;
  table.is_by_field = reader.Short() == 1;
  table.records = reader.Number(4);
  table.record_bytes = reader.Short();
  const uint16_t count = reader.Short();
  if (reader.left() < size_t{8} * count) return std::nullopt;
  table.fields.resize(count);
  for (auto& field : table.fields) {
    field.type = reader.Short();
    if (version <= 2) field.type = FromOldType(field.type);
  }
  for (auto& field : table.fields) field.bytes = reader.Short();
  reader.Take(size_t{2} * count);  // offsets in a record
  for (auto& field : table.fields) field.order = reader.Short();
  for (auto& field : table.fields) field.name = reader.Text();
  table.name = reader.Text();
  table.class_name = reader.Text();
  if (!reader.is_good()) return std::nullopt;
  return table;
}

Bytes JoinFields(const Vdata& table, ConstByteSpan by_field) {
  Bytes records(by_field.size());
  uint64_t from = 0, begin = 0;
  for (const auto& field : table.fields) {
    if (field.bytes == 0) continue;  // there may be billions of records
    for (uint64_t i = 0; i < table.records; ++i, from += field.bytes) {
      std::ranges::copy(by_field.subspan(from, field.bytes),
                        records.data() + i * table.record_bytes + begin);
    }
    begin += field.bytes;
  }
  return records;
}

}  // namespace

Result<Vset> Vset::Load(const Elements& elements) {
  Vset made(elements);
  for (const uint16_t reference : elements.ReferencesOf(kVgroupTag)) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    NDLFS_TRY(const auto content, made.Content({kVgroupTag, reference}));
    auto group = content ? ParseGroup(content->span()) : std::nullopt;
    if (group) made.groups_.emplace(reference, *std::move(group));
  }
  return made;
}

const Vgroup* Vset::Find(ElementId id) const {
  const auto found = groups_.find(id.reference);
  return id.tag != kVgroupTag || found == groups_.end() ? nullptr : &found->second;
}

const Vgroup* Vset::FindClass(std::string_view class_name) const {
  const auto found = std::ranges::find_if(
      groups_, [&](const auto& group) { return group.second.class_name == class_name; });
  return found == groups_.end() ? nullptr : &found->second;
}

Result<std::optional<Bytes>> Vset::Content(ElementId id, uint64_t least) const {
  // Groups may name thousands of times what is not there.
  constexpr uint64_t kOfLook = 256;
  NDLFS_RETURN_IF_ERROR(elements_.Charge(kOfLook));
  NDLFS_TRY(auto content, Tolerate(elements_.Read(id, kMostTextBytes)));
  if (!content || !*content || (*content)->size() < least) return std::nullopt;
  return *std::move(content);
}

Result<std::optional<Vdata>> Vset::Describe(uint16_t reference) const {
  NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
  NDLFS_TRY(const auto content, Content({kVdataTag, reference}));
  auto table = content ? ParseTable(content->span()) : std::nullopt;
  if (table) table->reference = reference;
  return table;
}

Result<std::optional<Bytes>> Vset::Records(const Vdata& table, uint64_t most_bytes) const {
  const uint64_t all = table.records * table.record_bytes;  // 32 and 16 bits
  uint64_t of_fields = 0;
  for (const auto& field : table.fields) of_fields += field.bytes;
  if (all > most_bytes || of_fields != table.record_bytes) return std::nullopt;
  NDLFS_TRY(auto stored, Tolerate(elements_.Read({kRecordsTag, table.reference}, all)));
  if (!stored || !*stored || (*stored)->size() < all) return std::nullopt;
  if (table.is_by_field && table.fields.size() > 1) {
    NDLFS_RETURN_IF_ERROR(elements_.Charge(all));
    return JoinFields(table, (*stored)->span());
  }
  return *std::move(stored);
}

Result<std::vector<ElementId>> Vset::Members(ElementId id) const {
  NDLFS_TRY(const auto content, Content(id));
  std::vector<ElementId> members;
  if (content) {
    BigReader reader(content->span());
    while (reader.left() >= 4) {
      const uint16_t tag = reader.Short();
      members.push_back({tag, reader.Short()});
    }
  }
  return members;
}

Result<std::optional<int32_t>> Vset::NumberType(ElementId id) const {
  constexpr int32_t kLittle = 0x4000;
  NDLFS_TRY(const auto content, Content(id, 4));
  if (!content) return std::nullopt;
  BigReader reader(content->span());
  const uint64_t version = reader.Number(1);
  const auto type = static_cast<int32_t>(reader.Number(1));
  reader.Number(1);  // the bits of a number
  const uint64_t machine = reader.Number(1);
  if (machine == 4) return type | kLittle;
  if (version != 1 || machine > 1) return std::nullopt;
  return type;
}

std::optional<AttributeInfo> MakeNumbers(std::string name, int32_t number_type, uint64_t count,
                                         ConstByteSpan bytes) {
  const auto type = TypeOf(number_type);
  if (!type) return std::nullopt;
  const auto size = CheckedMultiply(count, type->size());
  if (!size || *size > bytes.size()) return std::nullopt;
  AttributeInfo made{std::move(name), number_type, count,
                     std::string(AsText(bytes.first(*size)))};
  if (type->order() == model::ByteOrder::kBig) {
    for (size_t at = 0; at < *size; at += type->size()) {
      std::reverse(made.values.begin() + static_cast<ptrdiff_t>(at),
                   made.values.begin() + static_cast<ptrdiff_t>(at + type->size()));
    }
  }
  return made;
}

AttributeInfo MakeText(std::string name, std::string_view text) {
  return {std::move(name), kTextType, text.size(), std::string(text)};
}

Result<std::optional<AttributeInfo>> Vset::Attribute(uint16_t reference, Owner owner) const {
  NDLFS_TRY(const auto table, Describe(reference));
  if (!table || table->fields.size() != 1) return std::nullopt;
  const Vdata::Field& field = table->fields[0];
  const bool is_image = owner == Owner::kImage;
  const bool is_named = is_image || table->class_name == "Attr0.0";
  if (!is_named || (owner == Owner::kGroup && field.name != "VALUES")) return std::nullopt;
  constexpr int32_t kFlags = 0xff, kLetters = 3;
  const int32_t kind = field.type & kFlags;
  const bool is_text = kind == kLetters || kind == kTextType;
  bool counts_records = owner == Owner::kSet && !is_text;
  if (is_image) counts_records = field.order == 1;
  NDLFS_TRY(const auto records, Records(*table, kMostTextBytes));
  if (!records) return std::nullopt;
  return MakeNumbers(is_image ? field.name : table->name, field.type,
                     counts_records ? table->records : field.order, records->span());
}

Result<std::vector<AttributeInfo>> Vset::Attributes(const std::vector<ElementId>& members,
                                                    Owner owner) const {
  std::vector<AttributeInfo> made;
  for (const ElementId& member : members) {
    if (member.tag != kVdataTag) continue;
    NDLFS_TRY(auto attribute, Attribute(member.reference, owner));
    if (attribute) made.push_back(*std::move(attribute));
  }
  return made;
}

}  // namespace ndlfs::backends::hdf4
