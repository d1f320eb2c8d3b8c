// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/new_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory_resource>
#include <set>
#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "backends/base/utf32_text.h"
#include "backends/format/hdf5/library/handle.h"
#include "backends/format/hdf5/library/memory_driver.h"
#include "backends/format/hdf5/library/new_type.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using ObjectKind = NewObject::Kind;

// How netCDF-C calls a dimension that has no variable.
constexpr const char* kDimensionName =
    "This is a netCDF dimension but not a netCDF variable. {:10}";

bool IsDataset(const NewObject& object) {
  return object.kind == ObjectKind::kDataset || object.kind == ObjectKind::kDimension;
}
bool IsNewScale(const NewObject& object) {
  return object.kind == ObjectKind::kDimension ||
         (object.kind == ObjectKind::kDataset && object.is_scale);
}

// Bytes of all elements, of those that only get room.
std::optional<uint64_t> RoomFor(const NewObject& object) {
  if (object.kind != ObjectKind::kDataset || object.data) return 0;
  return CheckedProduct(object.shape, object.type.size());
}

// The one chunk that has all elements of an object that may grow; empty where there is none,
// and for others. Their offset in the file is then that of the chunk.
std::vector<hsize_t> GrowingChunk(const NewObject& object) {
  if (!object.is_unlimited || !IsNewScale(object) || object.data) return {};
  if (object.kind == ObjectKind::kDimension) return {1024};
  constexpr uint64_t kMost = uint64_t{1} << 31;  // HDF5 has less than 4 GiB
  const auto bytes = CheckedProduct(object.shape, object.type.size());
  if (!object.type.is_fixed_size() || !bytes || *bytes == 0 || *bytes > kMost) return {};
  return {object.shape.begin(), object.shape.end()};
}

// An upper estimate of the metadata that the object takes, in bytes.
uint64_t MetadataFor(const NewObject& object) {
  constexpr uint64_t kHeader = 768;
  constexpr uint64_t kEach = 160;
  // The index of a chunk is a node of a B-tree, with room for 64.
  constexpr uint64_t kIndex = 4096;
  uint64_t bytes = kHeader + 2 * object.name.size() + kEach * object.scales.size();
  if (object.is_unlimited) bytes += kIndex + 1024 * object.shape.size();
  for (const NewAttribute& attribute : object.attributes) {
    bytes += kEach + attribute.name.size() + attribute.data.size();
  }
  if (object.fill) bytes += 2 * object.fill->size();
  if (object.data) {
    constexpr uint64_t kElement = 64;
    bytes += object.data->size() * 2 + kElement * CheckedProduct(object.shape, 1).value_or(0);
  }
  return bytes;
}

// With more attributes than this the library keeps them in a heap with two indexes, which for a
// few is larger and slower than one after the other.
unsigned MostCompact(const NewObject& object) {
  constexpr unsigned kUnasked = 8;
  constexpr unsigned kMost = 32;
  constexpr size_t kOfScale = 5;  // AddScaleAttributes(), AddReferenceLists()
  return object.attributes.size() + kOfScale <= kMost ? kMost : kUnasked;
}

bool IsSoundName(std::string_view name) {
  return !name.empty() && name != "." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

// Whether the parts of the description refer to each other as new_file.h says.
Result<void> Check(const NewFile& file) {
  const auto& objects = file.objects;
  if (objects.empty() || objects[0].kind != ObjectKind::kGroup) {
    return model::BadInput("a file without a root group");
  }
  for (size_t i = 1; i < objects.size(); ++i) {
    const NewObject& object = objects[i];
    const bool has_parent =
        object.parent < i && objects[object.parent].kind == ObjectKind::kGroup;
    if (!has_parent || object.kind > ObjectKind::kSoftLink || !IsSoundName(object.name)) {
      return model::BadInput("object {} has no place", i);
    }
    if (!object.scales.empty() && object.scales.size() != object.shape.size()) {
      return model::BadInput("object {} has other scales than dimensions", i);
    }
    for (const uint32_t scale : object.scales) {
      const bool is_in_order = scale < i || (object.is_scale && scale < objects.size());
      if (!is_in_order || !IsNewScale(objects[scale])) {
        return model::BadInput("object {} has a scale that is none", i);
      }
    }
    const bool has_shape = object.kind != ObjectKind::kDimension || object.shape.size() == 1;
    if (!has_shape || (object.is_scale && object.shape.empty()) || !RoomFor(object)) {
      return model::BadInput("object {} has no such shape", i);
    }
  }
  return {};
}

// Identifiers that were made for other objects: most objects are alike, and the library takes
// long to make a dataspace or a type.
template <typename Key>
class KnownHandles {
 public:
  // A handle, owned by the caller, of the object that `key` stands for. Calls `make` if the
  // object is not known.
  template <typename Make>
  Result<Handle> Get(const Key& key, const Make& make) {
    auto known = std::ranges::find(known_, key, &Entry::first);
    if (known == known_.end()) {
      NDLFS_TRY(Handle made, make());
      constexpr size_t kMost = 32;
      if (known_.size() == kMost) known_.clear();
      known_.emplace_back(key, std::move(made));
      known = known_.end() - 1;
    }
    H5Iinc_ref(known->second.get());
    return Handle(known->second.get());
  }

 private:
  using Entry = std::pair<Key, Handle>;

  std::vector<Entry> known_;
};

class FileWriter {
 public:
  FileWriter(const NewFile& file, uint64_t front, uint64_t room)
      : description_(file), memory_(front, room), left_out_(file.left_out) {}

  Result<WrittenFile> Write() {
    auto done = WriteAll();
    if (memory_.is_full()) return model::Limit("the metadata of the file are too large");
    if (!done) return model::Propagate(std::move(done).error());
    WrittenFile written;
    written.size = memory_.size();
    written.offsets = std::move(offsets_);
    if (!memory_.front().empty()) written.blocks.push_back({0, memory_.front()});
    if (!memory_.tail().empty()) {
      written.blocks.push_back({memory_.tail_offset(), memory_.tail()});
    }
    return written;
  }

 private:
  // Properties that a dataset was created with.
  struct KnownProperties {
    ObjectKind kind;
    bool has_data;
    unsigned most_compact;
    std::optional<std::vector<std::byte>> fill;
    model::Datatype type;  // of `fill`
    std::vector<hsize_t> chunk;
    Handle id;
  };

  const std::vector<NewObject>& objects() const { return description_.objects; }

  Result<void> WriteAll() {
    NDLFS_RETURN_IF_ERROR(MakeProperties());
    NDLFS_RETURN_IF_ERROR(Create());
    offsets_.assign(objects().size(), WrittenFile::kNowhere);
    addresses_.assign(objects().size(), 0);
    dimension_ids_.assign(objects().size(), -1);
    groups_.resize(objects().size());
    for (size_t i = 0; i < objects().size(); ++i) {
      if (IsNewScale(objects()[i])) dimension_ids_[i] = next_dimension_++;
    }
    NDLFS_RETURN_IF_ERROR(Open(0));
    if (!description_.properties.empty()) {
      NDLFS_RETURN_IF_ERROR(
          AddText(groups_[0].get(), "_NCProperties", description_.properties));
    }
    for (size_t i = 1; i < objects().size(); ++i) {
      const auto made = Make(i);
      if (memory_.is_full()) return model::Propagate(made ? TooLarge() : made.error());
      if (!made) LeaveOut(i, made.error());
    }
    NDLFS_RETURN_IF_ERROR(AddReferenceLists());
    NDLFS_RETURN_IF_ERROR(AddLateParts());
    NameMissingTargets();
    if (!left_out_.empty()) {
      NDLFS_RETURN_IF_ERROR(AddText(groups_[0].get(), kLeftOutAttribute, left_out_));
    }
    return Close();
  }

  static model::Error TooLarge() {
    return model::Limit("the metadata of the file are too large").value();
  }

  void LeaveOut(size_t i, const model::Error& error) {
    if (!left_out_.empty()) left_out_ += '\n';
    const NewObject& object = objects()[i];
    left_out_ +=
        fmt::format("{}: {}", object.path.empty() ? object.name : object.path, error.message());
  }

  // All that is created: its names are UTF-8, its order is known, its time is not.
  Result<void> MakeProperties() {
    NDLFS_TRY(file_properties_, Checked(H5Pcreate(H5P_FILE_CREATE), "properties"));
    NDLFS_TRY(group_properties_, Checked(H5Pcreate(H5P_GROUP_CREATE), "properties"));
    NDLFS_TRY(attribute_properties_, Checked(H5Pcreate(H5P_ATTRIBUTE_CREATE), "properties"));
    NDLFS_TRY(link_properties_, Checked(H5Pcreate(H5P_LINK_CREATE), "properties"));
    NDLFS_TRY(type_properties_, Checked(H5Pcreate(H5P_DATATYPE_CREATE), "properties"));
    NDLFS_TRY(scale_list_type_, Checked(H5Tvlen_create(H5T_STD_REF_OBJ), "a vlen type"));
    constexpr unsigned kOrder = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    bool done = H5Pset_char_encoding(attribute_properties_.get(), H5T_CSET_UTF8) >= 0 &&
                H5Pset_char_encoding(link_properties_.get(), H5T_CSET_UTF8) >= 0 &&
                H5Pset_obj_track_times(type_properties_.get(), false) >= 0;
    for (const hid_t group : {file_properties_.get(), group_properties_.get()}) {
      done = done && H5Pset_obj_track_times(group, false) >= 0 &&
             H5Pset_link_creation_order(group, kOrder) >= 0 &&
             H5Pset_attr_creation_order(group, kOrder) >= 0;
    }
    if (!done) return LibraryError("properties");
    return {};
  }

  // Most datasets are alike, and the library takes long to make a list of properties. It lives
  // until those of another dataset are asked for.
  Result<hid_t> DatasetProperties(const NewObject& object, const NewType& type) {
    const auto is_alike = [&](const KnownProperties& known) {
      return known.kind == object.kind && known.has_data == object.data.has_value() &&
             known.most_compact == MostCompact(object) && known.fill == object.fill &&
             known.chunk == GrowingChunk(object) && (!object.fill || known.type == object.type);
    };
    const auto known = std::ranges::find_if(known_properties_, is_alike);
    if (known != known_properties_.end()) return known->id.get();
    NDLFS_TRY(Handle made, MakeDatasetProperties(object, type));
    constexpr size_t kMostKnown = 16;
    if (known_properties_.size() == kMostKnown) known_properties_.clear();
    known_properties_.push_back({object.kind, object.data.has_value(), MostCompact(object),
                                 object.fill, object.type, GrowingChunk(object),
                                 std::move(made)});
    return known_properties_.back().id.get();
  }

  Result<Handle> MakeDatasetProperties(const NewObject& object, const NewType& type) {
    NDLFS_TRY(auto properties, Checked(H5Pcreate(H5P_DATASET_CREATE), "properties"));
    // Nothing is written for elements that only have room. The library refuses to leave
    // elements of variable size without a fill value.
    const bool is_real = object.kind == ObjectKind::kDataset;
    const std::vector<hsize_t> chunk = GrowingChunk(object);
    const bool done =
        (chunk.empty() ? H5Pset_layout(properties.get(), H5D_CONTIGUOUS)
                       : H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()),
                                      chunk.data())) >= 0 &&
        H5Pset_alloc_time(properties.get(),
                          is_real ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE) >= 0 &&
        H5Pset_fill_time(properties.get(),
                         object.data ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER) >= 0 &&
        H5Pset_obj_track_times(properties.get(), false) >= 0 &&
        H5Pset_attr_phase_change(properties.get(), MostCompact(object), 0) >= 0 &&
        H5Pset_attr_creation_order(properties.get(),
                                   H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0;
    if (!done) return LibraryError("properties");
    if (object.fill) {
      if (!object.type.is_fixed_size() || object.fill->size() != type.size) {
        return model::BadInput("a fill value of {} bytes", object.fill->size());
      }
      std::vector<std::byte> fill = *object.fill;
      NDLFS_TRY(const auto runs, FindUtf32(object.type));
      RewriteUtf32(runs, fill.size(), fill);
      NDLFS_RETURN_IF_ERROR(CheckStatus(
          H5Pset_fill_value(properties.get(), type.id.get(), fill.data()), "the fill value"));
    }
    return properties;
  }

  Result<void> Create() {
    NDLFS_TRY(Handle access, MakeMemoryAccess(memory_));
    // The version that readers since HDF5 1.8 understand.
    constexpr H5F_libver_t kVersion = H5F_LIBVER_V18;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Pset_libver_bounds(access.get(), kVersion, kVersion), "properties"));
    NDLFS_RETURN_IF_ERROR(LimitCache(access.get()));
    NDLFS_TRY(file_,
              Checked(H5Fcreate("data.h5", H5F_ACC_TRUNC, file_properties_.get(), access.get()),
                      "a new file"));
    return {};
  }

  // An object is written once, and nobody looks at it again: in the large cache that the
  // library has unasked, it finds each one more slowly the more there are.
  static Result<void> LimitCache(hid_t access) {
    constexpr size_t kCache = 256 << 10;
    H5AC_cache_config_t cache = {};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Pget_mdc_config(access, &cache), "properties"));
    cache.set_initial_size = true;
    cache.initial_size = cache.min_size = cache.max_size = kCache;
    cache.min_clean_fraction = 0.01;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    return CheckStatus(H5Pset_mdc_config(access, &cache), "properties");
  }

  Result<void> Close() {
    known_types_.clear();
    groups_.clear();
    NDLFS_RETURN_IF_ERROR(CheckStatus(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), "flushing"));
    // Closing writes more after flushing, such as the end of the file.
    Handle file = std::exchange(file_, Handle());
    return CheckStatus(H5Fclose(file.Release()), "closing");
  }

  // The group of an object that has been made.
  Result<hid_t> GroupOf(const NewObject& object) {
    if (!groups_[object.parent]) return model::Unsupported("its group is not there");
    return groups_[object.parent].get();
  }

  Result<void> Open(size_t i) {
    NDLFS_TRY(groups_[i], Checked(H5Gopen2(file_.get(), "/", H5P_DEFAULT), "the root"));
    return NoteObject(i, groups_[i].get(), true);
  }

  Result<void> Make(size_t i) {
    const NewObject& object = objects()[i];
    NDLFS_TRY(const hid_t group, GroupOf(object));
    switch (object.kind) {
      case ObjectKind::kGroup: {
        NDLFS_TRY(groups_[i],
                  Checked(H5Gcreate2(group, object.name.c_str(), link_properties_.get(),
                                     group_properties_.get(), H5P_DEFAULT),
                          "a group"));
        return NoteObject(i, groups_[i].get(), true);
      }
      case ObjectKind::kDatatype:
        return MakeDatatype(i, group);
      case ObjectKind::kDataset:
      case ObjectKind::kDimension:
        return MakeDataset(i, group);
      case ObjectKind::kSoftLink:
        return CheckStatus(H5Lcreate_soft(object.target.c_str(), group, object.name.c_str(),
                                          link_properties_.get(), H5P_DEFAULT),
                           "a link");
    }
    return model::Internal("an object of no kind");
  }

  Result<void> MakeDatatype(size_t i, hid_t group) {
    const NewObject& object = objects()[i];
    NDLFS_TRY(NewType type, MakeNewType(object.type, known_types_));
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Tcommit2(group, object.name.c_str(), type.id.get(),
                               link_properties_.get(), type_properties_.get(), H5P_DEFAULT),
                    "a datatype"));
    known_types_.push_back(std::move(type));
    return {};
  }

  Result<void> MakeDataset(size_t i, hid_t group) {
    const NewObject& object = objects()[i];
    NDLFS_TRY(const NewType type, TypeOf(object));
    if (!object.type.is_fixed_size() && !object.data && object.kind == ObjectKind::kDataset) {
      return model::BadInput("elements of variable size without data");
    }
    const bool grows = !GrowingChunk(object).empty();
    NDLFS_TRY(const Handle space, grows ? GrowingSpace(object.shape) : SpaceOf(object.shape));
    NDLFS_TRY(const hid_t properties, DatasetProperties(object, type));
    memory_.LeaveRoom(object.kind == ObjectKind::kDataset && !object.data);
    const Handle dataset(H5Dcreate2(group, object.name.c_str(), type.id.get(), space.get(),
                                    link_properties_.get(), properties, H5P_DEFAULT));
    memory_.LeaveRoom(false);
    if (!dataset) return LibraryError("a dataset");
    if (object.kind == ObjectKind::kDataset && !object.data) {
      const haddr_t offset =
          grows ? OffsetOfChunk(dataset.get()) : H5Dget_offset(dataset.get());
      H5Eclear2(H5E_DEFAULT);  // it has none where there are no elements
      if (offset != HADDR_UNDEF) offsets_[i] = offset;
    }
    NDLFS_RETURN_IF_ERROR(AddScaleAttributes(i, dataset.get()));
    return NoteObject(i, dataset.get(), !object.data);
  }

  // The offset of the first chunk, which is the only one.
  static haddr_t OffsetOfChunk(hid_t dataset) {
    const std::vector<hsize_t> first(H5S_MAX_RANK);
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t size = 0;
    const bool found =
        H5Dget_chunk_info_by_coord(dataset, first.data(), &mask, &address, &size) >= 0;
    return found ? address : HADDR_UNDEF;
  }

  static Result<Handle> GrowingSpace(const std::vector<uint64_t>& shape) {
    const std::vector<hsize_t> extent(shape.begin(), shape.end());
    std::vector<hsize_t> most = extent;
    most.front() = H5S_UNLIMITED;
    return Checked(
        H5Screate_simple(static_cast<int>(extent.size()), extent.data(), most.data()),
        "a dataspace");
  }

  Result<NewType> TypeOf(const NewObject& object) {
    if (object.kind == ObjectKind::kDataset) return MakeNewType(object.type, known_types_);
    // As netCDF-C has it. Nothing reads its elements.
    NewType type;
    NDLFS_TRY(type.id, Checked(H5Tcopy(H5T_IEEE_F32BE), "a float type"));
    return type;
  }

  Result<Handle> SpaceOf(const std::vector<uint64_t>& shape) {
    return known_spaces_.Get(shape, [&] { return MakeSpace(shape); });
  }

  static Result<Handle> MakeSpace(const std::vector<uint64_t>& shape) {
    if (shape.empty()) return Checked(H5Screate(H5S_SCALAR), "a dataspace");
    if (shape.size() > H5S_MAX_RANK) {
      return model::Unsupported("{} dimensions; HDF5 has {}", shape.size(), H5S_MAX_RANK);
    }
    const std::vector<hsize_t> extent(shape.begin(), shape.end());
    return Checked(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                   "a dataspace");
  }

  // Address, attributes; those with references, and all of objects that are written
  // later, come when every object is there.
  Result<void> NoteObject(size_t i, hid_t id, bool is_finished) {
    hobj_ref_t reference = 0;
    NDLFS_RETURN_IF_ERROR(
        CheckStatus(H5Rcreate(&reference, id, ".", H5R_OBJECT, -1), "a reference"));
    addresses_[i] = reference;
    bool is_late = !is_finished;
    for (const NewAttribute& attribute : objects()[i].attributes) {
      if (HasReferences(attribute.type)) {
        is_late = true;
      } else {
        AddOrLeaveOut(i, id, attribute);
      }
    }
    if (is_late) late_.push_back(i);
    return {};
  }

  void AddOrLeaveOut(size_t i, hid_t id, const NewAttribute& attribute) {
    const auto added = AddAttribute(id, attribute);
    if (!added) LeaveOut(i, model::Error(added.error()).In("attribute " + attribute.name));
  }

  Result<void> AddAttribute(hid_t id, const NewAttribute& attribute) {
    if (attribute.name.empty() || attribute.name.find('\0') != std::string::npos) {
      return model::Unsupported("its name");
    }
    const bool is_text = attribute.type.kind() == model::Datatype::Kind::kString &&
                         attribute.type.is_fixed_size();
    if (is_text && attribute.shape.empty()) {
      return AddText(id, attribute.name.c_str(), AsText(attribute.data),
                     attribute.type.charset() == model::Charset::kUtf8);
    }
    NDLFS_TRY(const NewType type, MakeNewType(attribute.type, known_types_));
    NDLFS_TRY(const Handle space, SpaceOf(attribute.shape));
    std::pmr::monotonic_buffer_resource arena;
    NDLFS_TRY(const auto elements, ElementsOf(type, attribute.shape, attribute.data, arena));
    return Write(id, attribute.name.c_str(), type.id.get(), space.get(), elements.data());
  }

  Result<void> AddText(hid_t id, const char* name, std::string_view text, bool is_utf8 = true) {
    NDLFS_TRY(const Handle type, known_text_types_.Get({text.size(), is_utf8}, [&] {
      return MakeTextType(text.size(), is_utf8);
    }));
    NDLFS_TRY(const Handle space, SpaceOf({}));
    return Write(id, name, type.get(), space.get(), text.empty() ? "" : text.data());
  }

  Result<void> AddInteger(hid_t id, const char* name, const std::vector<uint64_t>& shape,
                          const std::vector<int32_t>& values) {
    NDLFS_TRY(const Handle space, SpaceOf(shape));
    return Write(id, name, H5T_STD_I32LE, space.get(), values.data());
  }

  Result<void> Write(hid_t id, const char* name, hid_t type, hid_t space, const void* data) {
    // An attribute has 16 bits for the length of its name, and of its type. The library does
    // not check that, and then reads the attributes of the object as something else.
    size_t type_bytes = 0;
    if (H5Tencode(type, nullptr, &type_bytes) < 0) return LibraryError("an attribute");
    if (std::max(std::strlen(name) + 1, type_bytes) > UINT16_MAX) {
      return model::Unsupported("a name or a type of more than 64 KiB");
    }
    const Handle attribute(
        H5Acreate2(id, name, type, space, attribute_properties_.get(), H5P_DEFAULT));
    if (!attribute || H5Awrite(attribute.get(), type, data) < 0) {
      return LibraryError("an attribute");
    }
    return {};
  }

  // `data` as the library takes it: type.size bytes each.
  Result<std::vector<std::byte>> ElementsOf(const NewType& type,
                                            const std::vector<uint64_t>& shape,
                                            ConstByteSpan data,
                                            std::pmr::memory_resource& arena) {
    const auto count = CheckedProduct(shape, 1);
    const auto bytes = CheckedProduct(shape, type.size);
    constexpr uint64_t kMost = uint64_t{1} << 32;
    if (!count || !bytes || *bytes > kMost) return model::Limit("too many elements");
    if (type.type.is_fixed_size()) {
      if (data.size() != *bytes) return model::BadInput("elements of {} bytes", data.size());
      std::vector<std::byte> elements(data.begin(), data.end());
      NDLFS_TRY(const auto runs, FindUtf32(type.type));
      RewriteUtf32(runs, type.size, elements);
      if (elements.empty()) elements.resize(1);
      return elements;
    }
    // Each element takes some bytes of the data, or it is no such data.
    if (*count > data.size()) return model::BadInput("{} elements without data", *count);
    std::vector<std::byte> elements(std::max<uint64_t>(*bytes, 1));
    const NewReferences references = {
        [this](std::string_view path) { return AddressOf(path); },
        [this](const model::Region& region) { return MakeRegion(region); }};
    for (uint64_t i = 0; i < *count; ++i) {
      NDLFS_RETURN_IF_ERROR(
          TakeNewElement(type, data, elements.data() + i * type.size, references, arena));
    }
    if (!data.empty()) return model::BadInput("{} bytes after the elements", data.size());
    return elements;
  }

  // Gives dimensions the attributes by which netCDF-C knows them.
  Result<void> AddScaleAttributes(size_t i, hid_t id) {
    const NewObject& object = objects()[i];
    if (IsNewScale(object)) {
      NDLFS_RETURN_IF_ERROR(AddTerminated(id, "CLASS", "DIMENSION_SCALE"));
      const std::string name = object.kind == ObjectKind::kDimension
                                   ? fmt::format(fmt::runtime(kDimensionName), object.shape[0])
                                   : object.name;
      NDLFS_RETURN_IF_ERROR(AddTerminated(id, "NAME", name));
    }
    std::vector<int32_t> ids;
    for (const uint32_t scale : object.scales) ids.push_back(dimension_ids_[scale]);
    if (object.is_scale && ids.empty()) ids.push_back(dimension_ids_[i]);
    // Where the library has refused a scale, the dimensions have none.
    const bool are_there = std::ranges::all_of(
        object.scales, [&](uint32_t scale) { return scale >= i || addresses_[scale] != 0; });
    if (!are_there) return {};
    if (!IsNewScale(object) && !ids.empty()) {
      NDLFS_RETURN_IF_ERROR(AddDimensionList(i, id));
    }
    if (!ids.empty()) {
      NDLFS_RETURN_IF_ERROR(AddInteger(id, "_Netcdf4Coordinates", {ids.size()}, ids));
    }
    if (!IsNewScale(object)) return {};
    return AddInteger(id, "_Netcdf4Dimid", {}, {dimension_ids_[i]});
  }

  // With its NUL, as libhdf5_hl does.
  Result<void> AddTerminated(hid_t id, const char* name, std::string text) {
    return AddText(id, name, std::string_view(text.c_str(), text.size() + 1), false);
  }

  Result<void> AddDimensionList(size_t i, hid_t id) {
    const std::vector<uint32_t>& scales = objects()[i].scales;
    std::vector<hobj_ref_t> references;
    for (const uint32_t scale : scales) references.push_back(addresses_[scale]);
    std::vector<hvl_t> lists;
    for (size_t d = 0; d < scales.size(); ++d) {
      lists.push_back({1, &references[d]});
      users_[scales[d]].push_back({static_cast<uint32_t>(i), static_cast<int32_t>(d)});
    }
    NDLFS_TRY(const Handle space, SpaceOf({lists.size()}));
    return Write(id, "DIMENSION_LIST", scale_list_type_.get(), space.get(), lists.data());
  }

  // Adds the lists of the datasets that use each scale.
  Result<void> AddReferenceLists() {
    struct Entry {
      hobj_ref_t dataset;
      int32_t dimension;
    };
    NDLFS_TRY(const Handle type, Checked(H5Tcreate(H5T_COMPOUND, sizeof(Entry)), "a type"));
    const bool done =
        H5Tinsert(type.get(), "dataset", offsetof(Entry, dataset), H5T_STD_REF_OBJ) >= 0 &&
        H5Tinsert(type.get(), "dimension", offsetof(Entry, dimension), H5T_STD_I32LE) >= 0;
    if (!done) return LibraryError("a type");
    for (const auto& [scale, users] : users_) {
      std::vector<Entry> entries;
      for (const auto& [user, dimension] : users) {
        if (addresses_[user] == 0) continue;
        Entry& entry = entries.emplace_back();
        std::memset(&entry, 0, sizeof(entry));
        entry.dataset = addresses_[user];
        entry.dimension = dimension;
      }
      if (entries.empty()) continue;
      NDLFS_TRY(const Handle id, OpenObject(scale));
      NDLFS_TRY(const Handle space, SpaceOf({entries.size()}));
      NDLFS_RETURN_IF_ERROR(
          Write(id.get(), "REFERENCE_LIST", type.get(), space.get(), entries.data()));
    }
    return {};
  }

  Result<Handle> OpenObject(size_t i) {
    return Checked(H5Oopen_by_addr(file_.get(), addresses_[i]), "an object");
  }

  Result<void> AddLateParts() {
    for (const size_t i : late_) {
      NDLFS_TRY(const Handle id, OpenObject(i));
      const NewObject& object = objects()[i];
      for (const NewAttribute& attribute : object.attributes) {
        if (HasReferences(attribute.type)) AddOrLeaveOut(i, id.get(), attribute);
      }
      if (!object.data) continue;
      if (const auto written = WriteElements(object, id.get()); !written) {
        LeaveOut(i, model::Error(written.error()));
        NDLFS_TRY(const hid_t group, GroupOf(object));
        NDLFS_RETURN_IF_ERROR(
            CheckStatus(H5Ldelete(group, object.name.c_str(), H5P_DEFAULT), "removing"));
      }
    }
    return {};
  }

  Result<void> WriteElements(const NewObject& object, hid_t id) {
    NDLFS_TRY(const NewType type, MakeNewType(object.type, known_types_));
    std::pmr::monotonic_buffer_resource arena;
    NDLFS_TRY(const auto elements, ElementsOf(type, object.shape, *object.data, arena));
    return CheckStatus(
        H5Dwrite(id, type.id.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
        "elements");
  }

  std::optional<size_t> FindPath(std::string_view path) {
    if (by_path_.empty()) {
      for (size_t i = 0; i < objects().size(); ++i) {
        if (!objects()[i].path.empty()) by_path_.emplace(objects()[i].path, i);
      }
    }
    const auto found = by_path_.find(path);
    if (found == by_path_.end() || addresses_[found->second] == 0) return std::nullopt;
    return found->second;
  }

  // The object that a reference leads to. Notes those that the file does not have.
  std::optional<size_t> FindTarget(std::string_view path) {
    const auto object = FindPath(path);
    if (!object && !path.empty() && missing_targets_.size() < kMostMissingTargets) {
      missing_targets_.emplace(path);
    }
    return object;
  }

  void NameMissingTargets() {
    for (const std::string& path : missing_targets_) {
      if (!left_out_.empty()) left_out_ += '\n';
      left_out_ += model::OneLine(path) + ": references to it are null";
    }
  }

  // 0, a null reference, if the file does not have the object.
  hobj_ref_t AddressOf(std::string_view path) {
    const auto object = FindTarget(path);
    return object ? addresses_[*object] : 0;
  }

  RegionBytes MakeRegion(const model::Region& region) {
    RegionBytes reference = {};
    const auto target = FindTarget(region.target);
    if (!target || !IsDataset(objects()[*target])) return reference;
    const auto id = OpenObject(*target);
    if (!id) return reference;
    const Handle space(H5Dget_space(id->get()));
    if (!Select(space.get(), region) ||
        H5Rcreate(reference.data(), id->get(), ".", H5R_DATASET_REGION, space.get()) < 0) {
      H5Eclear2(H5E_DEFAULT);
      reference = {};
    }
    return reference;
  }

  static bool Select(hid_t space, const model::Region& region) {
    const int extent = H5Sget_simple_extent_ndims(space);
    if (extent <= 0) return false;
    const auto rank = static_cast<size_t>(extent);
    for (const auto& point : region.points) {
      if (point.size() != rank) return false;
    }
    if (region.selection == model::Datatype::Selection::kElement) {
      std::vector<hsize_t> points;
      for (const auto& point : region.points) {
        points.insert(points.end(), point.begin(), point.end());
      }
      return !points.empty() && H5Sselect_elements(space, H5S_SELECT_SET, region.points.size(),
                                                   points.data()) >= 0;
    }
    if (region.points.size() != 2) return false;
    std::vector<hsize_t> start;
    std::vector<hsize_t> count;
    for (size_t d = 0; d < rank; ++d) {
      const auto [least, most] = std::minmax(region.points[0][d], region.points[1][d]);
      if (most - least == UINT64_MAX) return false;
      start.push_back(least);
      count.push_back(most - least + 1);
    }
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(),
                               nullptr) >= 0;
  }

  const NewFile& description_;
  MemoryFile memory_;
  std::string left_out_;
  Handle file_properties_;
  Handle group_properties_;
  Handle attribute_properties_;
  Handle link_properties_;
  Handle type_properties_;
  std::vector<KnownProperties> known_properties_;
  KnownHandles<std::vector<uint64_t>> known_spaces_;        // by shape
  KnownHandles<std::pair<size_t, bool>> known_text_types_;  // by bytes, and whether UTF-8
  Handle scale_list_type_;                                  // of DIMENSION_LIST
  Handle file_;
  // By the number of the object.
  std::vector<Handle> groups_;
  std::vector<hobj_ref_t> addresses_;  // 0: not there
  std::vector<int32_t> dimension_ids_;
  std::vector<uint64_t> offsets_;
  std::vector<size_t> late_;
  // The datasets that use a scale, and for which dimension.
  std::map<uint32_t, std::vector<std::pair<uint32_t, int32_t>>> users_;
  std::map<std::string_view, size_t> by_path_;
  static constexpr size_t kMostMissingTargets = 1000;
  std::set<std::string, std::less<>> missing_targets_;
  std::vector<NewType> known_types_;
  int32_t next_dimension_ = 0;
};

}  // namespace

std::string LibraryVersion() {
  const model::MutexLock lock(library_mutex);
  H5dont_atexit();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

Result<WrittenFile> WriteNewFile(const NewFile& file) {
  NDLFS_RETURN_IF_ERROR(Check(file));
  constexpr uint64_t kPage = 4096;
  // One page more, because the library uses some blocks only in part.
  uint64_t front = 2 * kPage + file.left_out.size();
  uint64_t room = 0;
  for (const NewObject& object : file.objects) {
    front += MetadataFor(object);
    // Each begins at a multiple of kDataAlignment.
    const auto end = CheckedAdd(room, *RoomFor(object));
    if (!end || *end > kMaxViewSize) return model::Limit("more than {} bytes", kMaxViewSize);
    room = *end + (kDataAlignment - *end % kDataAlignment) % kDataAlignment;
  }
  const model::MutexLock lock(library_mutex);
  H5dont_atexit();  // other threads may still be in it then
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  return FileWriter(file, (front + kPage - 1) / kPage * kPage, room).Write();
}

}  // namespace ndlfs::backends::hdf5
