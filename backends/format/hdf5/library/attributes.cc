// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/attributes.h"

#include <algorithm>
#include <array>

#include "backends/base/checked.h"
#include "backends/format/hdf5/library/element_type.h"
#include "backends/format/hdf5/library/element_writer.h"
#include "model/attributes.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

constexpr uint64_t kMaxAttributeBytes = model::AttributeRoom::kMostBytes;

// The values that an attribute has, once it is shown: members and texts count, too.
uint64_t CountValues(const model::Datatype& type, uint64_t count, uint64_t bytes) {
  switch (type.kind()) {
    case model::Datatype::Kind::kCompound:
    case model::Datatype::Kind::kArray:
      return std::max(count, bytes);
    default:
      return count;
  }
}

herr_t CollectName(hid_t, const char* name, const H5A_info_t*, void* data) noexcept {
  try {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

// Whether an object knows in which order its attributes were made.
bool TracksOrder(hid_t properties) {
  unsigned order = 0;
  return properties >= 0 && H5Pget_attr_creation_order(properties, &order) >= 0 &&
         (order & H5P_CRT_ORDER_TRACKED);
}

// Elements in memory, with the memory that the library gave to them.
class ElementBuffer {
 public:
  ElementBuffer(const ElementType& type, hid_t space, uint64_t count)
      : type_(type), space_(space), bytes_(type.form.size * count) {}
  ~ElementBuffer() {
    if (!type_.type.is_fixed_size()) {
      H5Dvlen_reclaim(type_.memory.get(), space_, H5P_DEFAULT, bytes_.data());
    }
  }
  ElementBuffer(const ElementBuffer&) = delete;
  ElementBuffer& operator=(const ElementBuffer&) = delete;
  std::byte* data() { return bytes_.data(); }

 private:
  const ElementType& type_;
  const hid_t space_;
  std::vector<std::byte> bytes_;
};

// The values of one attribute in the terms of AttributeInfo.
class ValueReader {
 public:
  ValueReader(hid_t file, ObjectIndex& index, model::AttributeRoom& room, ObjectInfo& info)
      : file_(file), index_(index), room_(room), info_(info) {}

  Result<void> Read(hid_t attribute, AttributeInfo& info) {
    NDLFS_TRY(const auto file_type, Checked(H5Aget_type(attribute), "cannot read the type"));
    NDLFS_TRY(const auto type, ReadElementType(file_type.get(), WideFloats::kNearest));
    NDLFS_TRY(const auto space, Checked(H5Aget_space(attribute), "cannot read the shape"));
    NDLFS_TRY(const auto extent, ReadExtent(space.get()));
    info.type = type.type;
    info.stored_order = type.stored_order;
    info.shape = extent.is_null ? std::vector<uint64_t>{0} : extent.shape;
    const auto count = CheckedProduct(info.shape);
    const auto bytes = count ? CheckedMultiply(*count, type.form.size) : std::nullopt;
    if (!bytes) return model::Limit("too many elements");
    const bool is_text = type.type.kind() == model::Datatype::Kind::kString;
    const bool is_fixed = type.type.is_fixed_size();
    NDLFS_RETURN_IF_ERROR(room_.Take(info.name, CountValues(type.type, *count, *bytes),
                                     is_text && is_fixed ? *bytes : 0));
    if (*count == 0) return {};
    ElementBuffer elements(type, space.get(), *count);
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Aread(attribute, type.memory.get(), elements.data()),
                                      "cannot read the value"));
    ReverseNumbers(type.form, elements.data(), *count);
    return Append(type, elements.data(), *count, info);
  }

 private:
  // A region reference is one of blocks or of elements by its type; HDF5 tells
  // only by the value.
  Result<void> Append(const ElementType& type, const std::byte* elements, uint64_t count,
                      AttributeInfo& info) {
    References references(file_, index_, false);
    NDLFS_TRY(const bool is_rounded, AppendElements(type.form, elements, count,
                                                    kMaxAttributeBytes, references, info.data));
    if (references.met_elements()) {
      info.type = WithElementRegions(info.type);
      info.data.clear();
      References all_elements(file_, index_, true);
      NDLFS_RETURN_IF_ERROR(AppendElements(type.form, elements, count, kMaxAttributeBytes,
                                           all_elements, info.data));
    }
    if (!info.type.is_fixed_size()) {
      NDLFS_RETURN_IF_ERROR(room_.Take(info.name, 0, info.data.size()));
    }
    if (references.met_dangling()) Note(info, kDanglingNote);
    if (is_rounded) Note(info, "a long double is shown as the float64 that is nearest");
    return {};
  }

  void Note(const AttributeInfo& info, std::string_view note) {
    info_.notes.push_back(fmt::format("attribute {}: {}", model::Quote(info.name), note));
  }

  const hid_t file_;
  ObjectIndex& index_;
  model::AttributeRoom& room_;
  ObjectInfo& info_;
};

// Adds what there is to note to `info`.
AttributeInfo ReadAttribute(hid_t file, hid_t object, const std::string& name,
                            ObjectIndex& index, model::AttributeRoom& room, ObjectInfo& info) {
  AttributeInfo read;
  read.name = name;
  auto attribute =
      Checked(H5Aopen(object, name.c_str(), H5P_DEFAULT), "cannot open the attribute");
  if (!attribute) {
    read.error = std::move(attribute).error();
  } else if (auto done = ValueReader(file, index, room, info).Read(attribute->get(), read);
             !done) {
    read.error = std::move(done).error();
  }
  return read;
}

}  // namespace

model::Result<std::vector<std::string>> ListAttributes(hid_t object, hid_t properties) {
  std::vector<std::string> names;
  if (TracksOrder(properties)) {
    const herr_t status =
        H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, &CollectName, &names);
    if (status >= 0) return names;
    H5Eclear2(H5E_DEFAULT);
    names.clear();
  }
  NDLFS_RETURN_IF_ERROR(CheckStatus(
      H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, &CollectName, &names),
      "cannot list the attributes"));
  return names;
}

void ReadAttributes(hid_t file, hid_t object, const std::vector<std::string>& names,
                    const std::vector<std::string>& left_out, ObjectIndex& index,
                    ObjectInfo& info) {
  model::AttributeRoom room;
  for (const std::string& name : names) {
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    AttributeInfo read = ReadAttribute(file, object, name, index, room, info);
    if (!read.error || read.error->code() != model::ErrorCode::kLimit) {
      info.attributes.push_back(std::move(read));
    } else if (!info.error) {
      // There may be very many that do not fit: one of them is told.
      info.error = std::move(read.error);
    }
  }
}

std::optional<std::string> ReadTextAttribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return std::nullopt;
  ObjectIndex unused;
  ObjectInfo no_notes;
  model::AttributeRoom room;
  const AttributeInfo info =
      ReadAttribute(H5I_INVALID_HID, object, name, unused, room, no_notes);
  if (info.error || info.type.kind() != model::Datatype::Kind::kString) return std::nullopt;
  if (CheckedProduct(info.shape) != uint64_t{1}) return std::nullopt;
  std::string_view text = AsText(info.data);
  if (!info.type.is_fixed_size()) text.remove_prefix(sizeof(uint32_t));
  return std::string(text.substr(0, text.find('\0')));
}

std::vector<int64_t> ReadIntegerAttribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT));
  const Handle space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID);
  const Handle type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID);
  if (!space || !type || H5Tget_class(type.get()) != H5T_INTEGER) return {};
  const auto extent = ReadExtent(space.get());
  const auto count = extent ? CheckedProduct(extent->shape) : std::nullopt;
  std::array<int64_t, 64> values;
  if (!count || extent->is_null || *count > values.size()) return {};
  if (H5Aread(attribute.get(), H5T_NATIVE_INT64, values.data()) < 0) return {};
  return {values.begin(), values.begin() + static_cast<ptrdiff_t>(*count)};
}

model::Result<Extent> ReadExtent(hid_t space) {
  Extent extent;
  switch (H5Sget_simple_extent_type(space)) {
    case H5S_NULL:
      extent.is_null = true;
      return extent;
    case H5S_SCALAR:
      return extent;
    case H5S_SIMPLE:
      break;
    default:
      return LibraryError("unknown kind of dataspace");
  }
  std::array<hsize_t, H5S_MAX_RANK> dims;
  std::array<hsize_t, H5S_MAX_RANK> max_dims;
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), max_dims.data());
  if (rank < 0 || rank > H5S_MAX_RANK) return LibraryError("cannot read the shape");
  extent.shape.assign(dims.begin(), dims.begin() + rank);
  static_assert(H5S_UNLIMITED == DatasetInfo::kUnlimited);
  extent.max_shape.assign(max_dims.begin(), max_dims.begin() + rank);
  return extent;
}

}  // namespace ndlfs::backends::hdf5
