// SPDX-License-Identifier: MIT
#include "backends/format/ndl/unpacking.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backends/format/ndl/array_of.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/packing.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Datatype;
using model::Result;
using model::TextOf;

// Makes numbers of a time scale of those of another one.
template <typename T, typename U>
class Retimer final : public ElementConverter {
 public:
  Retimer(const model::TimeScale& from, const Packing& packing, const model::TimeScale& to)
      : ElementConverter(sizeof(T), sizeof(U)), read_(from, packing), to_(to) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    for (size_t i = 0; i * sizeof(T) < from.size(); ++i) {
      NDLFS_TRY(const U number, Number(read_(from.data() + i * sizeof(T))));
      std::memcpy(to.data() + i * sizeof(U), &number, sizeof(U));
    }
    return {};
  }

 private:
  Result<U> Number(std::optional<model::Nanoseconds> time) const {
    if constexpr (std::is_floating_point_v<U>) {
      if (!time) return std::numeric_limits<U>::quiet_NaN();
      const model::Nanoseconds count = (*time - to_.origin) / to_.unit;
      const model::Nanoseconds rest = (*time - to_.origin) % to_.unit;
      return static_cast<U>(static_cast<double>(count) +
                            static_cast<double>(rest) / static_cast<double>(to_.unit));
    } else {
      if (!time) return model::Corrupt("a time is missing, and integers have no NaN");
      const model::Nanoseconds count = (*time - to_.origin) / to_.unit;
      const bool is_whole = (*time - to_.origin) % to_.unit == 0;
      if (!is_whole || count < std::numeric_limits<U>::min() ||
          count > std::numeric_limits<U>::max()) {
        return model::Corrupt("a time is no whole number of the common units");
      }
      return static_cast<U>(count);
    }
  }

  const TimeReader<T> read_;
  const model::TimeScale to_;
};

using ConverterPtr = std::shared_ptr<const ElementConverter>;

template <typename T>
ConverterPtr MakeRetimer(const model::TimeScale& from, const Packing& packing,
                         const Unpacking& to) {
  const std::string type = to.type.keyword();
  if (type == "float64") return std::make_shared<Retimer<T, double>>(from, packing, *to.scale);
  if (type == "float32") return std::make_shared<Retimer<T, float>>(from, packing, *to.scale);
  if (type == "int32") return std::make_shared<Retimer<T, int32_t>>(from, packing, *to.scale);
  if (type == "int64") return std::make_shared<Retimer<T, int64_t>>(from, packing, *to.scale);
  return nullptr;
}

ConverterPtr MakeRetimer(const Datatype& type, const model::TimeScale& from,
                         const Packing& packing, const Unpacking& to) {
  const std::string keyword = TypeAsRead(packing, type).keyword();
  if (keyword == "float64") return MakeRetimer<double>(from, packing, to);
  if (keyword == "float32") return MakeRetimer<float>(from, packing, to);
  if (keyword == "int64") return MakeRetimer<int64_t>(from, packing, to);
  if (keyword == "int32") return MakeRetimer<int32_t>(from, packing, to);
  if (keyword == "int16") return MakeRetimer<int16_t>(from, packing, to);
  if (keyword == "uint32") return MakeRetimer<uint32_t>(from, packing, to);
  if (keyword == "uint16") return MakeRetimer<uint16_t>(from, packing, to);
  return nullptr;
}

bool IsPacked(const Packing& packing) {
  return packing.scale || packing.offset || packing.has_missing() || packing.is_unsigned ||
         packing.is_signed;
}

bool HasTimeUnits(const std::string& units) { return units.find(" since ") != units.npos; }

Result<model::TimeScale> ScaleOf(const std::string& units, const std::string& calendar) {
  const auto scale = model::ParseTimeUnits(units, calendar);
  if (!scale) {
    return model::Unsupported("unpack: times in {} of the calendar {}", model::Quote(units),
                              model::Quote(calendar));
  }
  return *scale;
}

// Whether float32 has room for the numbers: those of 16 bits, with factors that are float32.
bool AreSingle(const Datatype& type, const std::vector<model::Attribute>& attributes) {
  const bool is_float = type.kind() == Datatype::Kind::kFloat;
  return (is_float ? type.size() <= 4 : type.size() <= 2) && AreFactorsSingle(attributes);
}

}  // namespace

bool MayUnpack(const Node& array) {
  const Datatype& type = array.source->spec().dtype;
  const bool is_number =
      type.kind() == Datatype::Kind::kInteger || type.kind() == Datatype::Kind::kFloat;
  if (!is_number || type.time()) return false;
  const auto packing = ReadPacking(array);
  return !packing || IsPacked(*packing) || HasTimeUnits(TextOf(array.attributes(), "units"));
}

Result<Unpacking> ChooseUnpacking(const Node& first, const model::Ndarray* described) {
  const auto& attributes = first.attributes();
  const Datatype& stored = first.source->spec().dtype;
  const bool has_type = described && described->source && described->source->has_type;
  Unpacking unpacking;
  unpacking.units = described ? TextOf(described->attributes, "units") : std::string();
  if (unpacking.units.empty()) unpacking.units = TextOf(attributes, "units");
  if (HasTimeUnits(unpacking.units)) {
    NDLFS_TRY(unpacking.scale, ScaleOf(unpacking.units, TextOf(attributes, "calendar")));
    unpacking.type = has_type ? described->type : Datatype::Float64();
    return unpacking;
  }
  unpacking.type = AreSingle(stored, attributes) ? Datatype::Float32() : Datatype::Float64();
  if (!has_type) return unpacking;
  unpacking.type = described->type;
  const std::string keyword = unpacking.type.keyword();
  if (keyword == "float32" || keyword == "float64") return unpacking;
  return model::BadInput("unpack makes float32 or float64, not {}", keyword);
}

Result<std::shared_ptr<const Node>> WithUnits(const PartStores& stores, const std::string& path,
                                              std::string_view name,
                                              std::shared_ptr<const Node> array) {
  const auto& dimensions = array->array().dimension_names;
  if (dimensions.empty() || dimensions[0].empty() || !array->source) return array;
  if (!TextOf(array->attributes(), "units").empty()) return array;
  const std::string called = model::JoinPath(model::ParentPath(name), dimensions[0]);
  if (called == name) return array;
  const auto coordinate = stores.Load(path, called);
  if (!coordinate && coordinate.error().is_transient()) {
    return model::Propagate(coordinate.error());
  }
  if (!coordinate || (*coordinate)->is_group()) return array;
  const auto& attributes = (*coordinate)->attributes();
  const std::string_view own = model::BaseName(name);
  if (TextOf(attributes, "bounds") != own && TextOf(attributes, "climatology") != own) {
    return array;
  }
  auto with_units = std::make_shared<Node>(*array);
  model::Ndarray& ndarray = ArrayOf(*with_units);
  for (const std::string_view attribute : {"units", "calendar"}) {
    const auto* found = model::FindAttribute(attributes, attribute);
    if (found == nullptr) continue;
    std::erase_if(ndarray.attributes,
                  [&](const model::Attribute& given) { return given.name == attribute; });
    ndarray.attributes.push_back(*found);
  }
  return with_units;
}

Result<ConverterPtr> ConverterOf(const Unpacking& unpacking, const Node& part) {
  const auto& attributes = part.attributes();
  const Datatype& stored = part.source->spec().dtype;
  const auto packing = ReadPacking(part);
  if (!packing) return model::Unsupported("its packing attributes cannot be understood");
  const std::string units = TextOf(attributes, "units");
  const bool is_same = stored.SameLayout(unpacking.type) && !IsPacked(*packing);
  if (is_same && (!unpacking.scale || units == unpacking.units)) return nullptr;
  ConverterPtr converter;
  if (unpacking.scale) {
    NDLFS_TRY(const model::TimeScale scale, ScaleOf(units, TextOf(attributes, "calendar")));
    converter = MakeRetimer(stored, scale, *packing, unpacking);
  } else {
    converter = MakeUnpacker(*packing, stored, unpacking.type.keyword() == "float32");
  }
  if (!converter) {
    return model::Unsupported("unpack: {} of {}", unpacking.type.keyword(), stored.keyword());
  }
  return converter;
}

void DescribeUnpacked(const Unpacking& unpacking, model::Ndarray& array) {
  const auto& heeded = PackingAttributes();
  std::erase_if(array.attributes, [&](const model::Attribute& attribute) {
    return std::ranges::find(heeded, attribute.name) != heeded.end();
  });
  array.type = unpacking.type;
  // Programs such as CDO take NaN for a number without this. Coordinates, such as times, have
  // none.
  if (!unpacking.scale) {
    model::Attribute& missing = array.attributes.emplace_back();
    missing.name = "_FillValue";
    missing.type = unpacking.type;
    missing.value = std::numeric_limits<double>::quiet_NaN();
  }
  array.storage.fillvalue.reset();
  array.storage.endian.reset();
}

}  // namespace ndlfs::backends::ndl
