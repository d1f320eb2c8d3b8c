// SPDX-License-Identifier: MIT
#include "backends/format/foreign/text_source.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_text.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Corrupt;
using model::Datatype;
using model::Result;

std::string_view TakeNumberWord(std::string_view& text) {
  constexpr std::string_view kBetween = " \t\r\n\v\f,";
  text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBetween));
  text.remove_prefix(word.size());
  return word;
}

template <typename T>
std::optional<T> ParseElement(std::string_view word) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto number = ParseReal(word);
    return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return ParseCount(word);
  } else {
    const auto number = ParseInteger(word);
    const bool fits = number && *number >= std::numeric_limits<T>::min() &&
                      *number <= std::numeric_limits<T>::max();
    return fits ? std::optional(static_cast<T>(*number)) : std::nullopt;
  }
}

template <typename T>
Result<Bytes> ParseElements(std::string_view text, uint64_t count) {
  Bytes elements(count * sizeof(T));
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view word = TakeNumberWord(text);
    if (word.empty()) return Corrupt("{} numbers of {}", i, count);
    const auto number = ParseElement<T>(word);
    if (!number) return Corrupt("{} is no number of the type", model::Quote(word));
    std::memcpy(elements.data() + i * sizeof(T), &*number, sizeof(T));
  }
  return elements;
}

using ElementsParser = Result<Bytes> (*)(std::string_view text, uint64_t count);

// Null for other types.
ElementsParser ParserOf(const Datatype& type) {
  if (type.kind() == Datatype::Kind::kFloat) {
    if (type == Datatype::Float32()) return &ParseElements<float>;
    return type == Datatype::Float64() ? &ParseElements<double> : nullptr;
  }
  if (type.kind() != Datatype::Kind::kInteger) return nullptr;
  const bool is_signed = type.is_signed();
  switch (type.size()) {
    case 1:
      return is_signed ? &ParseElements<int8_t> : &ParseElements<uint8_t>;
    case 2:
      return is_signed ? &ParseElements<int16_t> : &ParseElements<uint16_t>;
    case 4:
      return is_signed ? &ParseElements<int32_t> : &ParseElements<uint32_t>;
    case 8:
      return is_signed ? &ParseElements<int64_t> : &ParseElements<uint64_t>;
    default:
      return nullptr;
  }
}

// All in one chunk.
class TextSource final : public ArraySource {
 public:
  TextSource(ArraySpec spec, ElementsParser parse, DataFile file, uint64_t offset)
      : spec_(std::move(spec)), parse_(parse), file_(std::move(file)), offset_(offset) {}

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    ChunkLocation location;
    location.generate = [this](uint64_t) { return ReadAll(); };
    return location;
  }

 private:
  Result<Bytes> ReadAll() const {
    const uint64_t size = file_.size - offset_;
    NDLFS_TRY(const auto text, file_.store->Read("", size, {offset_, size}));
    if (!text) return Corrupt("the data file is not there");
    return parse_(AsText(text->span()), CheckedProduct(spec_.shape).value_or(0));
  }

  const ArraySpec spec_;
  const ElementsParser parse_;
  const DataFile file_;
  const uint64_t offset_;
};

}  // namespace

Result<std::shared_ptr<const ArraySource>> MakeTextSource(const DescribedArray& array,
                                                          const DataFile& file, uint64_t offset,
                                                          uint64_t max_bytes) {
  ArraySpec spec;
  spec.dtype = array.stored.WithOrder(model::ByteOrder::kLittle);
  spec.shape = array.shape();
  const ElementsParser parse = array.codec ? nullptr : ParserOf(spec.dtype);
  if (parse == nullptr) {
    return model::Unsupported("{} as text", array.stored.keyword());
  }
  const auto bytes = CheckedProduct(spec.shape, spec.dtype.size());
  if (!bytes) return model::Limit("too many elements");
  if (offset > file.size) return Corrupt("{} bytes, the text begins at {}", file.size, offset);
  if (*bytes > max_bytes || file.size - offset > max_bytes) {
    return model::Limit("{} bytes of numbers as text, more than the limit of {}",
                        std::max(*bytes, file.size - offset), max_bytes);
  }
  // A number takes a digit and, but for the last one, a blank.
  const auto count = CheckedProduct(spec.shape).value_or(0);
  if (count > (file.size - offset) / 2 + 1) {
    return Corrupt("{} bytes of text for {} numbers", file.size - offset, count);
  }
  std::vector<uint64_t> block = spec.shape;
  for (uint64_t& extent : block) extent = std::max<uint64_t>(extent, 1);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, block, ChunkGrid::Edge::kCropped));
  return std::make_shared<TextSource>(std::move(spec), parse, file, offset);
}

}  // namespace ndlfs::backends::foreign
