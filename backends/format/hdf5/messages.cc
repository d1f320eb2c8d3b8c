// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/messages.h"

#include <concepts>
#include <optional>
#include <type_traits>

#include "backends/base/checked.h"
#include "backends/helper/message_archive.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Datatype;

// The fields of each structure, in the order in which they are sent; `Archive`
// is an Encoder with const structures, or a Decoder.
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Done>
void Fields(Archive&, T&) {}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, NamedFile>
void Fields(Archive& archive, T& v) { archive(v.id, v.size, v.head_bytes); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ReadRequest::Range>
void Fields(Archive& archive, T& v) { archive(v.offset, v.bytes); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ReadRequest>
void Fields(Archive& archive, T& v) { archive(v.file, v.ranges); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, OpenRequest>
void Fields(Archive& archive, T& v) { archive(v.name); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Block>
void Fields(Archive& archive, T& v) {
  archive(v.start, v.count, v.regions_as_elements, v.chunk_bytes);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Request>
void Fields(Archive& archive, T& v) {
  archive(v.what, v.file, v.file_size, v.head_bytes, v.file_path, v.path, v.names, v.first,
          v.count, v.block, v.limit, v.new_file);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Location>
void Fields(Archive& archive, T& v) { archive(v.kind, v.target, v.target_file); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Child>
void Fields(Archive& archive, T& v) { archive(v.name, v.location, v.is_dimension_only); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, AttributeInfo>
void Fields(Archive& archive, T& v) {
  archive(v.name, v.type, v.shape, v.stored_order, v.data, v.error);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, TextRun>
void Fields(Archive& archive, T& v) { archive(v.offset, v.width, v.count, v.is_space_padded); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, FilterInfo>
void Fields(Archive& archive, T& v) { archive(v.id, v.name, v.parameters); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ExternalPart>
void Fields(Archive& archive, T& v) { archive(v.name, v.offset, v.bytes); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ScaleInfo>
void Fields(Archive& archive, T& v) {
  archive(v.path, v.shape, v.max_shape, v.is_dimension_only);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, DatasetInfo>
void Fields(Archive& archive, T& v) {
  archive(v.type, v.is_plain, v.stored, v.text, v.stored_order, v.is_null, v.shape, v.max_shape,
          v.netcdf_shape, v.layout, v.offset, v.external, v.chunk, v.has_plain_edges, v.filters,
          v.sources, v.fill, v.netcdf_fill, v.is_scale, v.is_attached, v.is_dimension_only,
          v.scale_name, v.scales);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ObjectInfo>
void Fields(Archive& archive, T& v) {
  archive(v.kind, v.attributes, v.notes, v.error, v.dataset, v.dimensions);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, Elements>
void Fields(Archive& archive, T& v) { archive(v.bytes, v.has_dangling); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, ChunkRecord>
void Fields(Archive& archive, T& v) { archive(v.offset, v.bytes, v.filter_mask); }

template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, NewAttribute>
void Fields(Archive& archive, T& v) { archive(v.name, v.type, v.shape, v.data); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, NewObject>
void Fields(Archive& archive, T& v) {
  archive(v.kind, v.parent, v.name, v.path, v.attributes, v.type, v.shape, v.fill, v.data,
          v.is_scale, v.is_unlimited, v.scales, v.target);
}
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, NewFile>
void Fields(Archive& archive, T& v) { archive(v.objects, v.left_out, v.properties); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, WrittenFile::Block>
void Fields(Archive& archive, T& v) { archive(v.offset, v.bytes); }
template <typename Archive, typename T>
requires std::same_as<std::remove_const_t<T>, WrittenFile>
void Fields(Archive& archive, T& v) { archive(v.size, v.blocks, v.offsets); }

class Encoder : public helper::MessageWriter<Encoder> {
 public:
  using MessageWriter::Put;
  void Put(const model::Error& error) {
    (*this)(error.code(), error.sys_errno(), error.message());
  }
  void Put(const Datatype& type) {
    Put(type.kind());
    switch (type.kind()) {
      case Datatype::Kind::kString:
        return (*this)(type.is_fixed_size(), uint64_t{type.size()}, type.charset(),
                       type.padding(),
                       type.is_fixed_size() ? type.order() : model::ByteOrder::kLittle);
      case Datatype::Kind::kInteger:
        return (*this)(uint64_t{type.size()}, type.is_signed(), type.order(), type.time());
      case Datatype::Kind::kFloat:
        return (*this)(type.keyword(), uint64_t{type.size()}, type.order());
      case Datatype::Kind::kOpaque:
        return (*this)(uint64_t{type.size()}, type.tag());
      case Datatype::Kind::kEnum:
        return (*this)(type.base(), type.constants());
      case Datatype::Kind::kObjectRef:
        return;
      case Datatype::Kind::kRegionRef:
        return Put(type.selection());
      case Datatype::Kind::kCompound:
        return (*this)(type.members(), uint64_t{type.size()});
      case Datatype::Kind::kVlen:
        return Put(type.base());
      case Datatype::Kind::kArray:
        return (*this)(type.base(), type.shape());
    }
  }
  void Put(const model::TimeUnit& unit) { (*this)(unit.unit, unit.scale, unit.is_delta); }
  void Put(const Datatype::Constant& constant) {
    (*this)(constant.name, static_cast<uint64_t>(constant.value),
            static_cast<int64_t>(constant.value >> 64));
  }
  void Put(const Datatype::Member& member) {
    (*this)(member.name, member.type, uint64_t{member.offset});
  }
};

class Decoder : public helper::MessageReader<Decoder> {
 public:
  using MessageReader::Get;
  using MessageReader::MessageReader;

  void Get(std::optional<model::Error>& error) {
    error.reset();
    if (GetPresence()) error = GetError();
  }
  void Get(Datatype& type) { type = GetType(1); }

  model::Error GetError() {
    model::ErrorCode code;
    int sys_errno;
    std::string message;
    (*this)(code, sys_errno, message);
    if (code > model::ErrorCode::kInternal) code = model::ErrorCode::kInternal;
    return model::Error(code, model::OneLine(message), sys_errno);
  }

 private:
  Datatype GetType(int depth) {
    Datatype::Kind kind;
    Get(kind);
    if (!ok() || depth > Datatype::kMaxDepth) return Refuse();
    switch (kind) {
      case Datatype::Kind::kString:
        return GetString();
      case Datatype::Kind::kInteger:
        return GetInteger();
      case Datatype::Kind::kFloat:
        return GetFloat();
      case Datatype::Kind::kOpaque:
        return GetOpaque();
      case Datatype::Kind::kEnum:
        return GetEnum(depth);
      case Datatype::Kind::kObjectRef:
        return Datatype::ObjectRef();
      case Datatype::Kind::kRegionRef:
        return GetRegionRef();
      case Datatype::Kind::kCompound:
        return GetCompound(depth);
      case Datatype::Kind::kVlen:
        return Datatype::Vlen(GetType(depth + 1));
      case Datatype::Kind::kArray:
        return GetArray(depth);
    }
    return Refuse();
  }

  Datatype GetString() {
    bool is_fixed;
    uint64_t size;
    model::Charset charset;
    model::TextPadding padding;
    model::ByteOrder order;
    (*this)(is_fixed, size, charset, padding, order);
    if (charset > model::Charset::kLatin1 || padding > model::TextPadding::kSpace ||
        order > model::ByteOrder::kBig || size > kMaxElementBytes) {
      return Refuse();
    }
    return is_fixed ? Datatype::FixedString(size, charset, padding, order)
                    : Datatype::String(charset);
  }

  Datatype GetInteger() {
    uint64_t size;
    bool is_signed;
    model::ByteOrder order;
    bool is_time;
    (*this)(size, is_signed, order, is_time);
    const bool is_known = size == 1 || size == 2 || size == 4 || size == 8;
    if (!is_known || order > model::ByteOrder::kBig) return Refuse();
    if (!is_time) return Datatype::Integer(size, is_signed, order);
    model::TimeUnit unit;
    (*this)(unit.unit, unit.scale, unit.is_delta);
    return Datatype::Time(std::move(unit), order);
  }

  Datatype GetFloat() {
    std::string keyword;
    uint64_t size;
    model::ByteOrder order;
    (*this)(keyword, size, order);
    const auto known = Datatype::FromKeyword(keyword);
    if (!known || known->kind() != Datatype::Kind::kFloat || known->size() != size ||
        order > model::ByteOrder::kBig) {
      return Refuse();
    }
    return known->WithOrder(order);
  }

  Datatype GetOpaque() {
    uint64_t size;
    std::string tag;
    (*this)(size, tag);
    return size > kMaxElementBytes ? Refuse() : Datatype::Opaque(size, std::move(tag));
  }

  Datatype GetEnum(int depth) {
    const Datatype base = GetType(depth + 1);
    std::vector<Datatype::Constant> constants;
    for (uint64_t left = GetCount(); left > 0 && ok(); --left) {
      Datatype::Constant constant;
      uint64_t low;
      int64_t high;
      (*this)(constant.name, low, high);
      constant.value = static_cast<model::WideInt>(static_cast<unsigned __int128>(high) << 64 |
                                                   static_cast<unsigned __int128>(low));
      constants.push_back(std::move(constant));
    }
    if (base.kind() != Datatype::Kind::kInteger) return Refuse();
    return Datatype::Enum(base, std::move(constants));
  }

  Datatype GetRegionRef() {
    Datatype::Selection selection;
    Get(selection);
    if (selection > Datatype::Selection::kElement) return Refuse();
    return Datatype::RegionRef(selection);
  }

  Datatype GetCompound(int depth) {
    std::vector<Datatype::Member> members;
    bool is_fixed = true;
    for (uint64_t left = GetCount(); left > 0 && ok(); --left) {
      Datatype::Member member;
      uint64_t offset;
      Get(member.name);
      member.type = GetType(depth + 1);
      Get(offset);
      member.offset = offset;
      is_fixed = is_fixed && member.type.is_fixed_size();
      members.push_back(std::move(member));
    }
    uint64_t size;
    Get(size);
    if (!is_fixed) return Datatype::PackedCompound(std::move(members));
    for (const Datatype::Member& member : members) {
      if (member.offset > size || member.type.size() > size - member.offset) return Refuse();
    }
    return size > kMaxElementBytes ? Refuse() : Datatype::Compound(std::move(members), size);
  }

  Datatype GetArray(int depth) {
    const Datatype base = GetType(depth + 1);
    std::vector<uint64_t> shape;
    Get(shape);
    const auto bytes = CheckedProduct(shape, std::max<uint64_t>(base.size(), 1));
    if (!bytes || *bytes > kMaxElementBytes) return Refuse();
    return Datatype::Array(base, std::move(shape));
  }

  Datatype Refuse() {
    Fail();
    return Datatype();
  }

  static constexpr uint64_t kMaxElementBytes = uint64_t{1} << 32;
};

model::Failure Garbled() { return model::Internal("a garbled message from the HDF5 helper"); }

template <typename T>
std::vector<std::byte> EncodeOne(const T& value) {
  Encoder encoder;
  encoder(value);
  return std::move(encoder).Take();
}

}  // namespace

std::vector<std::byte> Encode(const Request& request) { return EncodeOne(request); }
std::vector<std::byte> Encode(const ReadRequest& request) { return EncodeOne(request); }
std::vector<std::byte> Encode(const OpenRequest& request) { return EncodeOne(request); }

model::Result<Request> DecodeRequest(ConstByteSpan bytes) {
  Decoder decoder(bytes);
  Request request;
  decoder(request);
  if (!decoder.done() || request.what > Request::What::kWrite) return Garbled();
  return request;
}

model::Result<ReadRequest> DecodeReadRequest(ConstByteSpan bytes) {
  Decoder decoder(bytes);
  ReadRequest request;
  decoder(request);
  if (!decoder.done() || request.ranges.size() > ReadRequest::kMaxRanges) return Garbled();
  return request;
}

model::Result<OpenRequest> DecodeOpenRequest(ConstByteSpan bytes) {
  Decoder decoder(bytes);
  OpenRequest request;
  decoder(request);
  if (!decoder.done() || request.name.size() > OpenRequest::kMaxName) return Garbled();
  return request;
}

template <typename T>
std::vector<std::byte> EncodeAnswer(const model::Result<T>& answer) {
  Encoder encoder;
  encoder(answer.has_value());
  if (answer) {
    encoder(*answer);
  } else {
    encoder(answer.error());
  }
  return std::move(encoder).Take();
}

template <typename T>
model::Result<T> DecodeAnswer(ConstByteSpan bytes) {
  Decoder decoder(bytes);
  bool is_value;
  decoder(is_value);
  if (!decoder.ok()) return Garbled();
  if (!is_value) {
    auto error = decoder.GetError();
    if (!decoder.done()) return Garbled();
    return model::Propagate(std::move(error));
  }
  T value;
  decoder(value);
  if (!decoder.done()) return Garbled();
  return value;
}

#define NDLFS_HDF5_DEFINE(T)                                             \
  template std::vector<std::byte> EncodeAnswer(const model::Result<T>&); \
  template model::Result<T> DecodeAnswer(ConstByteSpan);
NDLFS_HDF5_ANSWERS(NDLFS_HDF5_DEFINE)

}  // namespace ndlfs::backends::hdf5
