// SPDX-License-Identifier: MIT
//
// Scientific data sets. In files of HDF 3.3 and later they are netCDF's variables, in groups of
// the class Var0.0. Older files (DFSD) have a list of elements for each, and no names.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/format/hdf4/vset.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

constexpr uint16_t kDataTag = 702;
constexpr size_t kMostRank = 32;

// netCDF's value for elements that were never written.
std::string DefaultFill(int32_t number_type) {
  double value = 0;
  switch (number_type & 0xff) {
    case 20:
    case 21:
      return "\x81";
    case 22:
    case 23:
      return {"\x01\x80", 2};
    case 24:
    case 25:
      return {"\x01\x00\x00\x80", 4};
    case 5: {
      const float single = 9.9692099683868690e+36F;
      return {reinterpret_cast<const char*>(&single), sizeof(single)};
    }
    case 6:
      value = 9.9692099683868690e+36;
      return {reinterpret_cast<const char*>(&value), sizeof(value)};
    default:
      return {};
  }
}

// Finds the elements of a set whose attributes are known.
Result<void> PlaceSet(const Vset& vset, uint16_t data, ArrayInfo& array) {
  const auto type = TypeOf(array.number_type);
  array.fill = DefaultFill(array.number_type);
  for (const AttributeInfo& attribute : array.attributes) {
    if (attribute.name == "_FillValue" && type && attribute.values.size() >= type->size()) {
      array.fill = attribute.values.substr(0, type->size());
      break;
    }
  }
  return data == 0 ? Result<void>() : FindElements(vset, {kDataTag, data}, array);
}

// Sets as variables of netCDF.
class Variables {
 public:
  Variables(const Vset& vset, FileInfo& file) : vset_(vset), file_(file) {}

  Result<void> Find(const Vgroup& root) {
    for (const ElementId& member : root.members) {
      const Vgroup* group = vset_.Find(member);
      if (group != nullptr && IsDimension(*group)) NDLFS_RETURN_IF_ERROR(AddDimension(*group));
    }
    for (const ElementId& member : root.members) {
      const Vgroup* group = vset_.Find(member);
      if (group != nullptr && group->class_name == "Var0.0") {
        NDLFS_RETURN_IF_ERROR(AddVariable(*group));
      }
    }
    NDLFS_TRY(file_.attributes, vset_.Attributes(root.members, Vset::Owner::kSet));
    return {};
  }

 private:
  static bool IsUnlimited(const Vgroup& group) { return group.class_name == "UDim0.0"; }
  static bool IsDimension(const Vgroup& group) {
    return group.class_name == "Dim0.0" || IsUnlimited(group);
  }

  // The size is in a table: as its number of records in old files. 0: unlimited.
  Result<void> AddDimension(const Vgroup& group) {
    NDLFS_RETURN_IF_ERROR(vset_.ChargeVisit(group));
    for (const ElementId& member : group.members) {
      if (member.tag != kVdataTag) continue;
      NDLFS_TRY(const auto table, vset_.Describe(member.reference));
      if (!table) continue;
      if (IsUnlimited(group)) {
        sizes_.emplace(group.name, 0);
      } else if (table->class_name == "DimVal0.0") {
        sizes_.emplace(group.name, table->records);
      } else if (table->class_name == "DimVal0.1") {
        NDLFS_TRY(const auto records, vset_.Records(*table, 4096));
        if (records) sizes_.emplace(group.name, BigReader(records->span()).Number(4));
      }
    }
    return {};
  }

  Result<void> AddVariable(const Vgroup& group) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    NDLFS_RETURN_IF_ERROR(vset_.ChargeVisit(group));
    ArrayInfo array;
    array.name = group.name;
    uint16_t data = 0;
    std::string kind;
    for (const ElementId& member : group.members) {
      const Vgroup* dimension = vset_.Find(member);
      if (dimension != nullptr && IsDimension(*dimension)) {
        const auto size = sizes_.find(dimension->name);
        if (size == sizes_.end() || array.shape.size() == kMostRank) return {};
        NDLFS_RETURN_IF_ERROR(vset_.elements().Charge(dimension->name.size()));
        array.dimensions.push_back(dimension->name);
        array.shape.push_back(size->second);
      } else if (member.tag == kVdataTag) {
        NDLFS_TRY(const auto mark, vset_.Describe(member.reference));
        kind = mark ? mark->class_name : std::string();
      } else if (member.tag == kSetTag) {
        array.reference = member.reference;
      } else if (member.tag == kDataTag) {
        data = member.reference;
      } else if (member.tag == kNumberTypeTag) {
        NDLFS_TRY(const auto type, vset_.NumberType(member));
        if (!type) return {};  // of another machine
        array.number_type = *type;
      }
    }
    array.is_unlimited = !array.shape.empty() && array.shape[0] == 0;
    const bool is_named = !array.shape.empty() && array.dimensions[0] == array.name;
    array.is_coordinate = kind == "CoordVar" || (kind != "SDSVar" && is_named);
    NDLFS_TRY(array.attributes, vset_.Attributes(group.members, Vset::Owner::kSet));
    if (array.is_unlimited) NDLFS_RETURN_IF_ERROR(CountRecords(data, array));
    NDLFS_RETURN_IF_ERROR(PlaceSet(vset_, data, array));
    file_.arrays.push_back(std::move(array));
    return {};
  }

  // As many as were written of this set.
  Result<void> CountRecords(uint16_t data, ArrayInfo& array) const {
    NDLFS_TRY(const auto located, Tolerate(vset_.elements().Locate({kDataTag, data})));
    const auto type = TypeOf(array.number_type);
    if (!located || !*located || !type) return {};
    array.shape[0] = 1;
    const auto record = CheckedProduct(array.shape, type->size());
    array.shape[0] = record && *record > 0 ? (*located)->bytes / *record : 0;
    return {};
  }

  const Vset& vset_;
  FileInfo& file_;
  std::map<std::string, uint64_t, std::less<>> sizes_;  // of dimensions, by their names
};

// One of several texts that end with NUL.
std::string_view TextAt(std::string_view texts, size_t index) {
  for (; index > 0 && !texts.empty(); --index) {
    texts.remove_prefix(std::min(texts.find('\0'), texts.size() - 1) + 1);
  }
  return texts.substr(0, texts.find('\0'));
}

// Sets of files before HDF 3.3.
class OldSets {
 public:
  OldSets(const Vset& vset, FileInfo& file) : vset_(vset), file_(file) {}

  Result<void> Find() {
    for (const uint16_t tag : {kSetTag, kOldSetTag}) {
      for (const uint16_t reference : vset_.elements().ReferencesOf(tag)) {
        NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
        if (tag == kOldSetTag && repeated_.contains(reference)) continue;
        NDLFS_RETURN_IF_ERROR(AddSet({tag, reference}));
      }
    }
    return {};
  }

 private:
  // What the list of a set names.
  struct Parts {
    ArrayInfo array;
    uint16_t data = 0;
    std::vector<int32_t> scale_types;
    ElementId scales;
    // Of the set, and of each dimension.
    struct Texts {
      const char* name;
      ElementId id = {};
      std::string texts = {};
    };
    std::array<Texts, 3> texts = {{{"long_name"}, {"units"}, {"format"}}};
  };

  static void Add(std::optional<AttributeInfo> attribute, ArrayInfo& array) {
    if (attribute) array.attributes.push_back(*std::move(attribute));
  }
  static void AddText(const char* name, std::string_view text, ArrayInfo& array) {
    if (!text.empty()) array.attributes.push_back(MakeText(name, text));
  }

  Result<void> AddSet(ElementId id) {
    Parts set;
    set.array.number_type = 5;
    NDLFS_TRY(const auto members, vset_.Members(id));
    for (const ElementId& member : members) NDLFS_RETURN_IF_ERROR(AddPart(id, member, set));
    if (set.array.shape.empty()) return {};
    for (auto& [name, id_of_texts, texts] : set.texts) {
      NDLFS_TRY(const auto content, vset_.Content(id_of_texts));
      if (content) texts = AsText(content->span());
    }
    NDLFS_RETURN_IF_ERROR(AddScales(set));
    set.array.name = fmt::format("Data-Set-{}", id.reference);
    set.array.reference = id.reference;
    set.array.is_coordinate = set.array.name == set.array.dimensions[0];
    NDLFS_RETURN_IF_ERROR(AddAnnotations(kRemarkTag, "remarks", id, set.array));
    NDLFS_RETURN_IF_ERROR(AddAnnotations(kLabelTag, "anno_label", id, set.array));
    for (const auto& text : set.texts) AddText(text.name, TextAt(text.texts, 0), set.array);
    NDLFS_RETURN_IF_ERROR(PlaceSet(vset_, set.data, set.array));
    file_.arrays.push_back(std::move(set.array));
    return {};
  }

  Result<void> AddPart(ElementId id, ElementId member, Parts& set) {
    switch (member.tag) {
      case 701:
        return ReadShape(member, set);
      case kDataTag:
        set.data = member.reference;
        return {};
      case 703:
        set.scales = member;
        return {};
      case 704:
      case 705:
      case 706:
        set.texts[member.tag - 704].id = member;
        return {};
      default:
        break;
    }
    if (member.tag != 707 && member.tag != 708 && member.tag != 710 && member.tag != 731) {
      return {};
    }
    NDLFS_TRY(const auto content, vset_.Content(member));
    if (!content) return {};
    BigReader reader(content->span());
    if (member.tag == 707) {
      AddNumbers({"valid_max", "valid_min"}, set.array.number_type, reader, set.array);
    } else if (member.tag == 708) {
      AddText("coordsys", TextAt(AsText(content->span()), 0), set.array);
    } else if (member.tag == 731) {
      const bool is_double = content->size() == 36;
      AddNumbers({"scale_factor", "scale_factor_err", "add_offset", "add_offset_err"},
                 is_double ? 6 : 5, reader, set.array);
      AddNumbers({"calibrated_nt"}, is_double ? 24 : 22, reader, set.array);
    } else if (id.tag == kSetTag) {
      // The same set as older programs see it.
      reader.Number(6);
      repeated_.insert(reader.Short());
    }
    return {};
  }

  static void AddNumbers(std::initializer_list<const char*> names, int32_t number_type,
                         BigReader& reader, ArrayInfo& array) {
    const auto type = TypeOf(number_type);
    for (const char* name : names) {
      if (type) Add(MakeNumbers(name, number_type, 1, reader.Take(type->size())), array);
    }
  }

  Result<void> ReadShape(ElementId id, Parts& set) {
    NDLFS_TRY(const auto content, vset_.Content(id));
    if (!content) return {};
    BigReader reader(content->span());
    const uint16_t rank = reader.Short();
    std::vector<uint64_t> shape;
    for (size_t d = 0; d < rank && d <= kMostRank; ++d) shape.push_back(reader.Number(4));
    std::vector<int32_t> types;
    for (size_t d = 0; d <= rank && d <= kMostRank; ++d) {
      const uint16_t tag = reader.Short();
      NDLFS_TRY(const auto type, vset_.NumberType({tag, reader.Short()}));
      types.push_back(type.value_or(0));
    }
    if (rank == 0 || rank > kMostRank || !reader.is_good() || types[0] == 0) return {};
    set.array.shape = std::move(shape);
    set.array.number_type = types[0];
    set.scale_types.assign(types.begin() + 1, types.end());
    return {};
  }

  // Dimensions have no names. Those with numbers or texts are sets, too. The numbers follow a
  // byte for each dimension, which says whether it has some.
  Result<void> AddScales(Parts& set) {
    const size_t rank = set.array.shape.size();
    NDLFS_TRY(const auto flags, vset_.Content(set.scales, rank));
    uint64_t offset = rank;
    for (size_t d = 0; d < rank; ++d) {
      ArrayInfo scale;
      scale.name = fmt::format("fakeDim{}", dimensions_++);
      set.array.dimensions.push_back(scale.name);
      const bool has_numbers = flags && flags->data()[d] != std::byte{0};
      for (const auto& text : set.texts) AddText(text.name, TextAt(text.texts, d + 1), scale);
      if (!has_numbers && scale.attributes.empty()) continue;
      scale.number_type = set.scale_types[d];
      scale.shape = {set.array.shape[d]};
      scale.dimensions = {scale.name};
      scale.is_coordinate = true;
      if (has_numbers) {
        const auto type = TypeOf(scale.number_type);
        const uint64_t bytes = type ? scale.shape[0] * type->size() : 0;
        NDLFS_RETURN_IF_ERROR(FindElements(vset_, set.scales, scale));
        if (scale.coding.kind != Coding::kNone) scale.problem = "scales that are compressed";
        scale.skipped_bytes = offset;
        offset += bytes;
      }
      file_.arrays.push_back(std::move(scale));
    }
    return {};
  }

  // The texts that other elements have about this one.
  Result<void> AddAnnotations(uint16_t tag, const char* name, ElementId id, ArrayInfo& array) {
    if (!annotations_.contains(tag)) {
      auto& all = annotations_[tag];
      std::vector<uint16_t> references = vset_.elements().ReferencesOf(tag);
      std::ranges::sort(references);
      for (const uint16_t reference : references) {
        NDLFS_TRY(const auto content, vset_.Content({tag, reference}, 4));
        if (!content) continue;
        BigReader reader(content->span());
        const uint16_t of = reader.Short();
        all.emplace(ElementId{of, reader.Short()}, AsText(reader.Take(reader.left())));
      }
    }
    size_t number = 1;
    const auto [begin, end] = annotations_[tag].equal_range(id);
    for (auto at = begin; at != end; ++at) {
      const std::string_view text = at->second;
      array.attributes.push_back(
          MakeText(fmt::format("{}-{}", name, number++), text.substr(0, text.find('\0'))));
    }
    return {};
  }

  const Vset& vset_;
  FileInfo& file_;
  size_t dimensions_ = 0;
  std::set<uint16_t> repeated_;  // sets of the tag 700
  std::map<uint16_t, std::multimap<ElementId, std::string>> annotations_;  // by their tag
};

}  // namespace

Result<void> FindSets(const Vset& vset, FileInfo& file) {
  const Vgroup* root = vset.FindClass("CDF0.0");
  return root != nullptr ? Variables(vset, file).Find(*root) : OldSets(vset, file).Find();
}

}  // namespace ndlfs::backends::hdf4
