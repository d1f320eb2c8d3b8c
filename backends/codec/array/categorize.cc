// SPDX-License-Identifier: MIT
//
// numcodecs "categorize": each text is stored as an integer, the number of its
// label, counted from 1. 0 and numbers without a label are the empty text.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/numpy_dtype.h"
#include "backends/codec/element_stream_writer.h"
#include "backends/codec/factories.h"
#include "backends/codec/number_type.h"
#include "model/value.h"

namespace ndlfs::backends {
namespace {

// The labels, and the integers that stand for them.
struct Categories {
  std::vector<std::string> labels;  // labels[i] has number i + 1; encoded as the elements
  NumberType code;

  // Calls use(label) for each integer in `encoded`; null for the empty text.
  template <typename Use>
  model::Result<void> ForEach(ConstByteSpan encoded, Use use) const {
    int64_t block[kNumberBlock];
    for (size_t done = 0; done < encoded.size(); done += kNumberBlock * code.size) {
      const size_t step = std::min((encoded.size() - done) / code.size, kNumberBlock);
      LoadIntegers(code, encoded.data() + done, step, block);
      for (size_t i = 0; i < step; ++i) {
        const auto label = static_cast<uint64_t>(block[i]) - 1;
        NDLFS_RETURN_IF_ERROR(use(label < labels.size() ? &labels[label] : nullptr));
      }
    }
    return {};
  }
};

class CategorizeObjects final : public ArrayToBytesCodec {
 public:
  explicit CategorizeObjects(Categories categories) : categories_(std::move(categories)) {}

  std::string_view name() const override { return "categorize"; }
  std::optional<uint64_t> EncodedSize(const ChunkForm& form) const override {
    return CheckedProduct(form.shape, categories_.code.size);
  }
  model::Result<void> Decode(ConstByteSpan, const ChunkForm&, ByteSpan) const override {
    return model::Internal("categorize makes elements of variable size");
  }
  model::Result<Bytes> DecodeVariable(ConstByteSpan encoded, const ChunkForm& form,
                                      uint64_t limit) const override {
    const auto expected = EncodedSize(form);
    if (encoded.size() != expected) {
      return model::Corrupt("{} bytes, expected {}", encoded.size(), expected.value_or(0));
    }
    NDLFS_TRY(auto writer, ElementStreamWriter::Make(*form.element_count(), limit));
    NDLFS_RETURN_IF_ERROR(
        categories_.ForEach(encoded, [&](const std::string* label) -> model::Result<void> {
          writer.AppendText(label ? *label : std::string_view());
          return writer.EndElement();
        }));
    return std::move(writer).Finish();
  }

 private:
  const Categories categories_;
};

class CategorizeBytes final : public BytesToBytesCodec {
 public:
  CategorizeBytes(Categories categories, size_t element_size)
      : categories_(std::move(categories)), element_size_(element_size) {}

  std::string_view name() const override { return "categorize"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return {decoded_size / element_size_ * categories_.code.size, true};
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    if (encoded.size() % categories_.code.size != 0) {
      return model::Corrupt("{} bytes are not a whole number of integers", encoded.size());
    }
    const size_t count = encoded.size() / categories_.code.size;
    if (count > decoded.size() / element_size_) {
      return model::Corrupt("decodes to more than expected");
    }
    std::byte* to = decoded.data();
    NDLFS_RETURN_IF_ERROR(
        categories_.ForEach(encoded, [&](const std::string* label) -> model::Result<void> {
          if (label) {
            std::memcpy(to, label->data(), element_size_);
          } else {
            std::memset(to, 0, element_size_);
          }
          to += element_size_;
          return {};
        }));
    return count * element_size_;
  }

 private:
  const Categories categories_;
  const size_t element_size_;
};

// Encodes a label, cut off to the length of the type like in NumPy.
model::Result<std::string> EncodeLabel(const std::string& label, const model::Datatype& dtype) {
  std::string text = label;
  for (;;) {
    std::string bytes(dtype.size(), '\0');
    const auto encoded =
        model::EncodeElement(dtype, text, std::as_writable_bytes(std::span(bytes)));
    if (encoded) return bytes;
    if (text.empty()) return model::Propagate(encoded.error());
    do {
      text.pop_back();
    } while (!text.empty() && (text.back() & 0xc0) == 0x80);
  }
}

model::Result<Categories> ParseCategories(const CodecConfig& config) {
  Categories categories;
  NDLFS_TRY(const Json* labels, RequireMember(*config.configuration, "labels"));
  if (!labels->is_array()) {
    return model::BadInput("labels: expected a list, found {}", DescribeJson(*labels));
  }
  for (const Json& label : *labels) {
    if (!label.is_string()) {
      return model::BadInput("labels: expected strings, found {}", DescribeJson(label));
    }
    categories.labels.push_back(label.get<std::string>());
  }
  static const Json default_code = "u1";
  const Json* code = FindMember(config, "astype");
  NDLFS_TRY(const model::Datatype dtype, ParseNumberDtype(code ? *code : default_code),
            "astype");
  categories.code = *NumberTypeOf(dtype);
  if (categories.code.is_float())
    return model::Unsupported("astype: labels numbered by floats");
  return categories;
}

// The type of the texts; nullopt for objects.
model::Result<std::optional<model::Datatype>> ParseTextDtype(const CodecConfig& config) {
  NDLFS_TRY(const Json* json, RequireMember(*config.configuration, "dtype"));
  if (*json == "|O" || *json == "O" || *json == "object") return std::nullopt;
  NDLFS_TRY(const NumpyDescr descr, NumpyDescrFromJson(*json));
  NDLFS_TRY(model::Datatype dtype, NumpyDtype(descr));
  if (dtype.kind() != model::Datatype::Kind::kString || dtype.size() == 0) {
    return model::BadInput("expected a text type, found {}", DescribeJson(*json));
  }
  return dtype;
}

}  // namespace

static CodecResult MakeCategorize(const CodecConfig& config) {
  NDLFS_TRY(Categories categories, ParseCategories(config), "categorize");
  NDLFS_TRY(const auto dtype, ParseTextDtype(config), "categorize: dtype");
  if (!dtype) {
    if (config.form->dtype.is_fixed_size() ||
        config.form->dtype.kind() != model::Datatype::Kind::kString) {
      return model::BadInput("categorize: makes texts of variable length, not {}",
                             config.form->dtype.keyword());
    }
    return NewCodec<CategorizeObjects>(std::move(categories));
  }
  for (std::string& label : categories.labels) {
    NDLFS_TRY(label, EncodeLabel(label, *dtype), "categorize: labels");
  }
  return NewCodec<CategorizeBytes>(std::move(categories), dtype->size());
}

const CodecEntry kCategorizeEntry = {"", "categorize", "", MakeCategorize};

}  // namespace ndlfs::backends
