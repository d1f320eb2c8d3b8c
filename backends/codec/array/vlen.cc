// SPDX-License-Identifier: MIT
//
// Zarr v3 and numcodecs "vlen-utf8" and "vlen-bytes", numcodecs "vlen-array": the
// number of elements as a little-endian uint32, then each element after its length
// in bytes. The elements of a stream look almost the same.
#include <algorithm>
#include <utility>
#include <vector>

#include "backends/base/numpy_dtype.h"
#include "backends/codec/byte_swap.h"
#include "backends/codec/element_stream_writer.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kCountSize = sizeof(uint32_t);

class VlenCodec : public ArrayToBytesCodec {
 public:
  std::optional<uint64_t> EncodedSize(const ChunkForm&) const final { return std::nullopt; }
  model::Result<void> Decode(ConstByteSpan, const ChunkForm&, ByteSpan) const final {
    return model::Internal("{} makes elements of variable size", name());
  }

  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                      uint64_t limit) const final {
    if (encoded.size() < kCountSize) return model::Corrupt("{} bytes", encoded.size());
    const auto count = LoadLittle<uint32_t>(encoded.data());
    if (count != form.element_count()) {
      return model::Corrupt("{} elements, expected {}", count,
                            form.element_count().value_or(UINT64_MAX));
    }
    // Each element takes bytes, so that this check also bounds the table.
    const ConstByteSpan elements = encoded.subspan(kCountSize);
    if (count > elements.size() / kCountSize) {
      return model::Corrupt("{} bytes are too few for {} elements", encoded.size(), count);
    }
    const size_t table = StreamTableSize(count);
    if (elements.size() > limit || table > limit - elements.size()) {
      return model::Limit("more than {} bytes of elements", limit);
    }
    Bytes stream(table + elements.size());
    std::copy(elements.begin(), elements.end(), stream.data() + table);
    NDLFS_RETURN_IF_ERROR(FillTable(stream.span().first(table), stream.span().subspan(table)));
    return stream;
  }

 protected:
  // Checks one element, and changes it in place to the form of a stream. `length` is
  // the memory of the length before it.
  virtual model::Result<void> Finish(ByteSpan length, ByteSpan element) const = 0;

 private:
  model::Result<void> FillTable(ByteSpan table, ByteSpan elements) const {
    const uint64_t count = table.size() / sizeof(uint64_t) - 1;
    uint64_t at = 0;
    for (uint64_t i = 0; i < count; ++i) {
      StoreLittle(at, table.data() + i * sizeof(uint64_t));
      if (elements.size() - at < kCountSize) return model::Corrupt("ends at element {}", i);
      const auto length = LoadLittle<uint32_t>(elements.data() + at);
      if (length > elements.size() - at - kCountSize) {
        return model::Corrupt("element {} of {} bytes extends beyond the end", i, length);
      }
      NDLFS_RETURN_IF_ERROR(
          Finish(elements.subspan(at, kCountSize), elements.subspan(at + kCountSize, length)),
          fmt::format("element {}", i));
      at += kCountSize + length;
    }
    StoreLittle(at, table.data() + count * sizeof(uint64_t));
    if (at == elements.size()) return {};
    return model::Corrupt("{} bytes after the last element", elements.size() - at);
  }
};

class VlenUtf8Codec final : public VlenCodec {
 public:
  std::string_view name() const override { return "vlen-utf8"; }

 protected:
  model::Result<void> Finish(ByteSpan, ByteSpan element) const override {
    if (model::IsUtf8(AsText(element))) return {};
    return model::Corrupt("not UTF-8");
  }
};

class VlenBytesCodec final : public VlenCodec {
 public:
  std::string_view name() const override { return "vlen-bytes"; }

 protected:
  model::Result<void> Finish(ByteSpan, ByteSpan) const override { return {}; }
};

class VlenArrayCodec final : public VlenCodec {
 public:
  VlenArrayCodec(size_t item_size, std::vector<model::SwapRun> runs)
      : item_size_(item_size), runs_(std::move(runs)) {}
  std::string_view name() const override { return "vlen-array"; }

 protected:
  model::Result<void> Finish(ByteSpan length, ByteSpan element) const override {
    if (element.size() % item_size_ != 0) {
      return model::Corrupt("{} bytes are not a whole number of items", element.size());
    }
    StoreLittle(static_cast<uint32_t>(element.size() / item_size_), length.data());
    if (!runs_.empty()) SwapElements(runs_, item_size_, element, element);
    return {};
  }

 private:
  const size_t item_size_;
  const std::vector<model::SwapRun> runs_;
};

// Whether `dtype` is text or a vlen of single bytes, which look alike in a stream.
bool IsTextOrBytes(const model::Datatype& dtype) {
  if (dtype.is_fixed_size()) return false;
  if (dtype.kind() == model::Datatype::Kind::kString) return true;
  return dtype.kind() == model::Datatype::Kind::kVlen && dtype.base().is_fixed_size() &&
         dtype.base().size() == 1;
}

model::Failure DoesNotApply(std::string_view name, const model::Datatype& dtype) {
  return model::BadInput("{}: does not apply to elements of {}", name, dtype.keyword());
}

model::Result<model::Datatype> ParseItem(const CodecConfig& config) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "dtype"));
  NDLFS_TRY(const NumpyDescr descr, NumpyDescrFromJson(*json), "dtype");
  NDLFS_TRY(model::Datatype item, NumpyDtype(descr), "dtype");
  if (item.size() == 0) return model::BadInput("dtype: items of 0 bytes");
  return item;
}

}  // namespace

static CodecResult MakeVlenUtf8(const CodecConfig& config) {
  if (!IsTextOrBytes(config.form->dtype)) return DoesNotApply("vlen-utf8", config.form->dtype);
  return NewCodec<VlenUtf8Codec>();
}

static CodecResult MakeVlenBytes(const CodecConfig& config) {
  if (!IsTextOrBytes(config.form->dtype)) return DoesNotApply("vlen-bytes", config.form->dtype);
  return NewCodec<VlenBytesCodec>();
}

static CodecResult MakeVlenArray(const CodecConfig& config) {
  const model::Datatype& dtype = config.form->dtype;
  NDLFS_TRY(const model::Datatype item, ParseItem(config), "vlen-array");
  if (dtype.kind() != model::Datatype::Kind::kVlen || !dtype.base().is_fixed_size() ||
      dtype.base().size() != item.size()) {
    return DoesNotApply("vlen-array", dtype);
  }
  NDLFS_TRY(auto runs, model::PlanByteSwap(item, model::ByteOrder::kLittle), "vlen-array");
  return NewCodec<VlenArrayCodec>(item.size(), std::move(runs));
}

const CodecEntry kVlenArrayEntry = {"", "vlen-array", "", MakeVlenArray};
const CodecEntry kVlenBytesEntry = {"vlen-bytes", "vlen-bytes", "", MakeVlenBytes};
const CodecEntry kVlenUtf8Entry = {"vlen-utf8", "vlen-utf8", "", MakeVlenUtf8};

}  // namespace ndlfs::backends
