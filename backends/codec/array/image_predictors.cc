// SPDX-License-Identifier: MIT
//
// The predictors of TIFF as Zarr metadata name them: "imagecodecs_delta" and virtual-tiff's
// "HorizontalDeltaCodec" (predictor 2), "imagecodecs_floatpred" (predictor 3). They are filters
// of bytes in Zarr v2, which say the shape and type of the elements themselves, and codecs of
// elements in v3.
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/byte_swap.h"
#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "backends/codec/predictor.h"

namespace ndlfs::backends {
namespace {

using model::ByteOrder;
using model::Datatype;
using model::Result;

struct PredictorRule {
  bool is_of_floats = false;
  int64_t axis = -1;  // along which elements depend on others; counted from the end below 0
  uint64_t dist = 1;

  std::string_view name() const {
    return is_of_floats ? "imagecodecs_floatpred" : "imagecodecs_delta";
  }
};

// Parts of a chunk that do not depend on each other: the elements along the axis, with all
// dimensions after it.
struct PredictorRows {
  uint64_t count = 0;
  size_t bytes = 0;  // of a row
  size_t step = 1;   // an element depends on the one so many elements before it
};

Result<PredictorRows> RowsOf(const PredictorRule& rule, std::span<const uint64_t> shape,
                             size_t item) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = rule.axis < 0 ? rule.axis + rank : rule.axis;
  if (axis < 0 || axis >= rank) {
    return model::BadInput("axis: {} for {} dimensions", rule.axis, rank);
  }
  if (rule.is_of_floats && rank - axis > 2) {
    return model::BadInput("axis: {} is not one of the last two of {} dimensions", rule.axis,
                           rank);
  }
  const auto at = static_cast<size_t>(axis);
  const auto inner = CheckedProduct(shape.subspan(at + 1));
  const auto step = inner ? CheckedMultiply(*inner, rule.dist) : std::nullopt;
  const auto length = inner ? CheckedMultiply(*inner, shape[at]) : std::nullopt;
  const auto bytes = length ? CheckedMultiply(*length, item) : std::nullopt;
  const auto count = CheckedProduct(shape.first(at));
  if (!step || !bytes || !count) return model::Limit("too many elements");
  if (*bytes == 0) return PredictorRows{};
  if (rule.is_of_floats && *length % *step != 0) {
    return model::BadInput("dist: rows of {} elements are no multiple of {}", *length, *step);
  }
  return PredictorRows{*count, *bytes, *step};
}

// `type`: of the elements, in the byte order that they have before and after.
void UndoRows(const PredictorRule& rule, const PredictorRows& rows, const Datatype& type,
              ConstByteSpan encoded, ByteSpan decoded) {
  const size_t size = type.size();
  const size_t swapped = type.order() == ByteOrder::kBig ? size : 1;
  std::vector<std::byte> planes(rule.is_of_floats ? rows.bytes : 0);
  for (uint64_t r = 0; r < rows.count; ++r) {
    const ConstByteSpan from = encoded.subspan(r * rows.bytes, rows.bytes);
    const ByteSpan to = decoded.subspan(r * rows.bytes, rows.bytes);
    if (rule.is_of_floats) {
      std::memcpy(planes.data(), from.data(), from.size());
      UndoFloatPredictor(size, rows.step, planes, to);
    } else {
      SwapNumbers(swapped, from, to);
      UndoDifferences(size, rows.step, to);
    }
    if (swapped > 1) SwapNumbers(swapped, to, to);
  }
}

class PredictorOfBytes final : public BytesToBytesCodec {
 public:
  // `shape`: nullopt for one dimension of any length.
  PredictorOfBytes(const PredictorRule& rule, Datatype type,
                   std::optional<std::vector<uint64_t>> shape)
      : rule_(rule), type_(std::move(type)), shape_(std::move(shape)) {}

  std::string_view name() const override { return rule_.name(); }
  SizeBound EncodedSize(uint64_t decoded_size) const override { return {decoded_size, true}; }
  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() > decoded.size()) return model::Corrupt("decodes to more than expected");
    const size_t item = type_.size();
    const std::vector<uint64_t> shape =
        shape_.value_or(std::vector<uint64_t>{encoded.size() / item});
    const auto size = CheckedProduct(shape, item);
    if (size != encoded.size()) {
      return model::Corrupt("{} bytes, expected {}", encoded.size(), size.value_or(UINT64_MAX));
    }
    NDLFS_TRY(const auto rows, RowsOf(rule_, shape, item));
    UndoRows(rule_, rows, type_, encoded, decoded.first(encoded.size()));
    return encoded.size();
  }

 private:
  const PredictorRule rule_;
  const Datatype type_;
  const std::optional<std::vector<uint64_t>> shape_;
};

class PredictorOfElements final : public ArrayToArrayCodec {
 public:
  PredictorOfElements(const PredictorRule& rule, std::string_view name)
      : rule_(rule), name_(name) {}

  std::string_view name() const override { return name_; }
  Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    NDLFS_RETURN_IF_ERROR(RowsOf(rule_, decoded.shape, decoded.dtype.size()));
    ChunkForm encoded = decoded;
    // Planes of bytes are no numbers, which have a byte order.
    if (rule_.is_of_floats) encoded.dtype = Datatype::Opaque(decoded.dtype.size());
    return encoded;
  }
  Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                      ByteSpan decoded) const override {
    NDLFS_TRY(const auto rows, RowsOf(rule_, form.shape, form.dtype.size()));
    UndoRows(rule_, rows, form.dtype, encoded, decoded);
    return {};
  }

 private:
  const PredictorRule rule_;
  const std::string name_;
};

Result<void> CheckType(const PredictorRule& rule, const Datatype& type) {
  if (rule.is_of_floats) {
    const bool is_known = type == Datatype::Float("float16", 2) ||
                          type == Datatype::Float32() || type == Datatype::Float64();
    if (is_known) return {};
    return model::BadInput("elements of {}, expected floats", type.keyword());
  }
  if (type.kind() == Datatype::Kind::kInteger) return {};
  // Some versions add floats, others the integers of the same bits.
  return model::Unsupported("differences of {} are not supported", type.keyword());
}

Result<PredictorRule> ParseRule(const CodecConfig& config, bool is_of_floats) {
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {"id", "axis", "dist", "shape", "dtype"}));
  PredictorRule rule{.is_of_floats = is_of_floats};
  if (const Json* axis = FindMember(config, "axis")) {
    if (!axis->is_number_integer()) {
      return model::BadInput("axis: expected an integer, found {}", DescribeJson(*axis));
    }
    // An axis that is too large for the type is no axis.
    rule.axis = axis->is_number_unsigned() && axis->get<uint64_t>() > 64
                    ? int64_t{64}
                    : std::max(axis->get<int64_t>(), int64_t{-64});
  }
  NDLFS_TRY(const auto dist, SizeMember(config, "dist"));
  rule.dist = dist.value_or(1);
  const bool has_dist = rule.dist == 1 || (is_of_floats && (rule.dist == 2 || rule.dist == 4));
  if (!has_dist) return model::Unsupported("dist: {} is not supported", rule.dist);
  return rule;
}

Result<std::optional<std::vector<uint64_t>>> ShapeMember(const CodecConfig& config) {
  const Json* member = FindMember(config, "shape");
  if (!member) return std::nullopt;
  NDLFS_TRY(auto shape, JsonToSizes(*member), "shape");
  return shape;
}

CodecResult MakeOfBytes(const CodecConfig& config, const PredictorRule& rule) {
  NDLFS_TRY(auto shape, ShapeMember(config));
  const Json* dtype = FindMember(config, "dtype");
  // Without both, they are bytes one after the other.
  if (!dtype && (shape || rule.is_of_floats)) return model::BadInput("\"dtype\" is missing");
  if (!shape && rule.is_of_floats) return model::BadInput("\"shape\" is missing");
  Datatype type = Datatype::Integer(1, false);
  if (dtype) {
    NDLFS_TRY(type, ParseNumberDtype(*dtype), "dtype");
  }
  NDLFS_RETURN_IF_ERROR(CheckType(rule, type));
  const std::vector<uint64_t> line = {1};
  NDLFS_RETURN_IF_ERROR(RowsOf(rule, shape ? *shape : line, type.size()));
  return NewCodec<PredictorOfBytes>(rule, std::move(type), std::move(shape));
}

CodecResult MakeOfElements(const CodecConfig& config, const PredictorRule& rule,
                           std::string_view name) {
  const Datatype& type = config.form->dtype;
  NDLFS_RETURN_IF_ERROR(CheckType(rule, type));
  NDLFS_TRY(const auto shape, ShapeMember(config));
  if (shape && *shape != config.form->shape) {
    return model::BadInput("shape: it is not that of the chunks");
  }
  if (const Json* dtype = FindMember(config, "dtype")) {
    NDLFS_TRY(const Datatype said, ParseNumberDtype(*dtype), "dtype");
    if (!said.WithOrder(ByteOrder::kLittle).SameLayout(type)) {
      return model::BadInput("dtype: {} for elements of {}", said.keyword(), type.keyword());
    }
  }
  return NewCodec<PredictorOfElements>(rule, name);
}

CodecResult MakePredictor(const CodecConfig& config, bool is_of_floats) {
  const std::string_view name = PredictorRule{.is_of_floats = is_of_floats}.name();
  NDLFS_TRY(const auto rule, ParseRule(config, is_of_floats), name);
  auto made = config.dialect == CodecDialect::kNumcodecs ? MakeOfBytes(config, rule)
                                                         : MakeOfElements(config, rule, name);
  if (!made) return model::Propagate(std::move(made).error(), name);
  return made;
}

}  // namespace

static CodecResult MakeImagecodecsDelta(const CodecConfig& config) {
  return MakePredictor(config, false);
}

static CodecResult MakeImagecodecsFloatpred(const CodecConfig& config) {
  return MakePredictor(config, true);
}

// Sums along the last dimension, which NumPy converts to the type of the array.
static CodecResult MakeHorizontalDelta(const CodecConfig& config) {
  constexpr std::string_view kName = "HorizontalDeltaCodec";
  NDLFS_RETURN_IF_ERROR(RefuseOtherMembers(config, {}), kName);
  const PredictorRule rule;
  NDLFS_RETURN_IF_ERROR(CheckType(rule, config.form->dtype), kName);
  return NewCodec<PredictorOfElements>(rule, kName);
}

const CodecEntry kHorizontalDeltaEntry = {"HorizontalDeltaCodec", "", "", MakeHorizontalDelta};
const CodecEntry kImagecodecsDeltaEntry = {"imagecodecs_delta", "imagecodecs_delta", "",
                                           MakeImagecodecsDelta};
const CodecEntry kImagecodecsFloatpredEntry = {"imagecodecs_floatpred", "imagecodecs_floatpred",
                                               "", MakeImagecodecsFloatpred};

}  // namespace ndlfs::backends
