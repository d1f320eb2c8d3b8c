// SPDX-License-Identifier: MIT
#include "fs/compare/array_difference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/element_stream.h"
#include "backends/format/computed_source.h"
#include "fs/compare/sha256.h"
#include "fs/compare/short_text.h"
#include "fs/view/elements/converted_elements.h"
#include "model/datatype.h"
#include "model/error.h"
#include "model/ndl/ndl_writer.h"
#include "model/value.h"

namespace ndlfs::fs {
namespace {

using backends::Bytes;
using backends::ConstByteSpan;
using cache::ArrayReader;
using model::Datatype;
using model::Result;
using model::WideInt;

constexpr uint64_t kPieceElements = 4096;
// A longer element is kept as a digest only.
constexpr size_t kLongElement = 4096;

// An element for a person.
std::string TextOfElement(const Datatype& type, ConstByteSpan element) {
  const auto value = type.is_fixed_size() ? model::DecodeElement(type, element)
                                          : backends::TakeElement(type, element);
  return value ? ShortText(model::WriteFlow(*value, type)) : "?";
}

// --- Numbers

// A type of numbers: integers, or floats of at most 64 bits, or pairs of these.
struct NumberType {
  Datatype type;
  bool is_float = false;
  bool is_complex = false;
  size_t bytes = 0;  // of a number after `to_float`
  bool is_signed = false;
  // Makes float32 of smaller floats; null for others.
  std::shared_ptr<const backends::ElementConverter> to_float = nullptr;

  size_t per_element() const { return is_complex ? 2 : 1; }
  bool is_wide_integer() const { return !is_float && bytes == 8; }
};

// nullopt for types that are no numbers.
std::optional<NumberType> AsNumber(const Datatype& type) {
  using Kind = Datatype::Kind;
  switch (type.kind()) {
    case Kind::kInteger:
      return NumberType{type, false, false, type.size(), type.is_signed()};
    case Kind::kEnum: {
      auto number = AsNumber(type.base());
      if (number) number->type = type;
      return number;
    }
    case Kind::kFloat: {
      if (type.keyword() == "float32" || type.keyword() == "float64") {
        return NumberType{type, true, false, type.size(), true};
      }
      auto converter = ToFloat32(type).converter;
      if (converter == nullptr) return std::nullopt;
      return NumberType{type, true, false, sizeof(float), true, std::move(converter)};
    }
    case Kind::kCompound:
      if (!type.is_complex()) return std::nullopt;
      return NumberType{type, true, true, type.size() / 2, true};
    default:
      return std::nullopt;
  }
}

template <typename Stored, typename Wide>
void WidenFrom(const std::byte* from, size_t count, Wide* to) {
  for (size_t i = 0; i < count; ++i) {
    Stored number;
    std::memcpy(&number, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<Wide>(number);
  }
}

// `count` numbers as a type that holds all of them. `Wide` has room for the numbers of `type`.
template <typename Wide>
void Widen(const NumberType& type, const std::byte* from, size_t count, Wide* to) {
  if (type.is_float) {
    return type.bytes == 4 ? WidenFrom<float>(from, count, to)
                           : WidenFrom<double>(from, count, to);
  }
  switch (type.bytes * 2 + type.is_signed) {
    case 2:
      return WidenFrom<uint8_t>(from, count, to);
    case 3:
      return WidenFrom<int8_t>(from, count, to);
    case 4:
      return WidenFrom<uint16_t>(from, count, to);
    case 5:
      return WidenFrom<int16_t>(from, count, to);
    case 8:
      return WidenFrom<uint32_t>(from, count, to);
    case 9:
      return WidenFrom<int32_t>(from, count, to);
    case 16:
      return WidenFrom<uint64_t>(from, count, to);
    default:
      return WidenFrom<int64_t>(from, count, to);
  }
}

bool IsNan(WideInt) { return false; }
bool IsNan(double number) { return std::isnan(number); }
bool IsNan(long double number) { return std::isnan(number); }
bool IsNan(const std::complex<double>& number) {
  return std::isnan(number.real()) || std::isnan(number.imag());
}
bool IsInfinite(WideInt) { return false; }
bool IsInfinite(double number) { return std::isinf(number); }
bool IsInfinite(long double number) { return std::isinf(number); }
bool IsInfinite(const std::complex<double>& number) {
  return std::isinf(number.real()) || std::isinf(number.imag());
}
double Magnitude(WideInt number) { return std::abs(static_cast<double>(number)); }
double Magnitude(double number) { return std::abs(number); }
double Magnitude(long double number) { return static_cast<double>(std::abs(number)); }
double Magnitude(const std::complex<double>& number) { return std::abs(number); }

// Numbers, as `Number` holds those of both types exactly.
template <typename Number>
class NumberComparison final : public ElementComparison {
 public:
  NumberComparison(NumberType a, NumberType b, const Tolerance& tolerance)
      : a_(std::move(a)),
        b_(std::move(b)),
        tolerance_(tolerance),
        is_same_type_(a_.type == b_.type) {}

  uint64_t at_once() const override { return ArrayDifference::kBlockElements / 2; }

  Result<ElementDifferences> Compare(const ArrayReader& a, const ArrayReader& b, uint64_t first,
                                     uint64_t count) const override {
    const size_t item_a = a_.type.size();
    const size_t item_b = b_.type.size();
    Bytes bytes_a(count * item_a);
    Bytes bytes_b(count * item_b);
    NDLFS_RETURN_IF_ERROR(a.Read(first * item_a, bytes_a.span()), "first");
    NDLFS_RETURN_IF_ERROR(b.Read(first * item_b, bytes_b.span()), "second");
    ElementDifferences found;
    for (uint64_t done = 0; done < count; done += kPieceElements) {
      const uint64_t elements = std::min(kPieceElements, count - done);
      NDLFS_RETURN_IF_ERROR(ComparePiece(
          first + done, std::as_const(bytes_a).span().subspan(done * item_a, elements * item_a),
          std::as_const(bytes_b).span().subspan(done * item_b, elements * item_b), found));
    }
    return found;
  }

 private:
  // The numbers of whole elements.
  Result<std::vector<Number>> Load(const NumberType& type, ConstByteSpan elements) const {
    Bytes converted;
    if (type.to_float) {
      converted =
          Bytes(elements.size() / type.to_float->from_size() * type.to_float->to_size());
      NDLFS_RETURN_IF_ERROR(type.to_float->Convert(elements, converted.span()));
      elements = std::as_const(converted).span();
    }
    const size_t count = elements.size() / type.bytes / type.per_element();
    std::vector<Number> numbers(count);
    if constexpr (std::is_same_v<Number, std::complex<double>>) {
      // An array of complex numbers is one of their parts (26.4 of the C++ standard).
      Widen(type, elements.data(), 2 * count, reinterpret_cast<double*>(numbers.data()));
    } else {
      Widen(type, elements.data(), count, numbers.data());
    }
    return numbers;
  }

  Result<void> ComparePiece(uint64_t first, ConstByteSpan a, ConstByteSpan b,
                            ElementDifferences& found) const {
    const bool may_skip = is_same_type_ && (!tolerance_.nan_differs || !a_.is_float);
    if (may_skip && std::memcmp(a.data(), b.data(), a.size()) == 0) return {};
    NDLFS_TRY(const auto numbers_a, Load(a_, a));
    NDLFS_TRY(const auto numbers_b, Load(b_, b));
    const size_t item_a = a_.type.size();
    const size_t item_b = b_.type.size();
    for (size_t i = 0; i < numbers_a.size(); ++i) {
      const ConstByteSpan element_a = a.subspan(i * item_a, item_a);
      const ConstByteSpan element_b = b.subspan(i * item_b, item_b);
      const bool differs = tolerance_.by_bits && is_same_type_
                               ? std::memcmp(element_a.data(), element_b.data(), item_a) != 0
                               : Differ(numbers_a[i], numbers_b[i]);
      if (!differs) continue;
      if (!found.first) {
        found.first = {first + i, TextOfElement(a_.type, element_a),
                       TextOfElement(b_.type, element_b)};
      }
      Note(first + i, numbers_a[i], numbers_b[i], found);
    }
    return {};
  }

  bool Differ(const Number& a, const Number& b) const {
    if (a == b) return false;
    if (IsNan(a) || IsNan(b)) return tolerance_.nan_differs || !IsNan(a) || !IsNan(b);
    if (IsInfinite(a) || IsInfinite(b)) return true;
    const double most = tolerance_.absolute + tolerance_.relative * Magnitude(b);
    return most == 0 || !(Magnitude(a - b) <= most);
  }

  static void Note(uint64_t at, const Number& a, const Number& b, ElementDifferences& found) {
    ++found.count;
    if (IsNan(a) != IsNan(b)) ++found.nan_on_one_side;
    if (IsNan(a) || IsNan(b) || IsInfinite(a) || IsInfinite(b)) return;
    const double size = Magnitude(a - b);
    if (!found.absolute || size > found.absolute->size) found.absolute = {size, at};
    const double larger = std::max(Magnitude(a), Magnitude(b));
    const double relative = larger == 0 ? 0 : size / larger;
    if (!found.relative || relative > found.relative->size) found.relative = {relative, at};
  }

  const NumberType a_;
  const NumberType b_;
  const Tolerance tolerance_;
  const bool is_same_type_;
};

// --- All other elements

class CanonicalComparison final : public ElementComparison {
 public:
  CanonicalComparison(CanonicalType a, CanonicalType b) : a_(std::move(a)), b_(std::move(b)) {}

  uint64_t at_once() const override { return kPieceElements; }

  Result<ElementDifferences> Compare(const ArrayReader& a, const ArrayReader& b, uint64_t first,
                                     uint64_t count) const override {
    ElementDifferences found;
    NDLFS_TRY(const auto elements_a, Load(a, a_, first, count), "first");
    NDLFS_TRY(const auto elements_b, Load(b, b_, first, count), "second");
    for (uint64_t i = 0; i < count; ++i) {
      if (elements_a[i].canonical == elements_b[i].canonical) continue;
      ++found.count;
      if (found.first) continue;
      found.first = {first + i, TextOf(a, elements_a[i]), TextOf(b, elements_b[i])};
    }
    return found;
  }

 private:
  struct Element {
    std::string stored;     // empty if it is long
    std::string canonical;  // its digest if it is long
  };

  static std::string TextOf(const ArrayReader& reader, const Element& element) {
    if (element.stored.empty()) return "(long)";
    return TextOfElement(reader.spec().dtype, backends::AsBytes(element.stored));
  }

  static Result<std::vector<Element>> Load(const ArrayReader& reader, const CanonicalType& type,
                                           uint64_t first, uint64_t count) {
    const bool is_fixed = reader.spec().dtype.is_fixed_size();
    std::vector<Element> elements;
    elements.reserve(count);
    Result<void> appended;
    NDLFS_RETURN_IF_ERROR(reader.Visit(first, count, [&](ConstByteSpan bytes) {
      Element& element = elements.emplace_back();
      if (bytes.size() <= kLongElement) element.stored = backends::AsText(bytes);
      if (is_fixed) {
        type.AppendFixed(bytes, element.canonical);
      } else {
        appended = type.AppendVariable(bytes, element.canonical);
      }
      if (element.canonical.size() > kLongElement) {
        const Sha256Digest digest = Sha256Of(backends::AsBytes(element.canonical));
        element.canonical = backends::AsText(digest);
      }
      return appended.has_value();
    }));
    if (!appended) return model::Propagate(appended.error());
    return elements;
  }

  const CanonicalType a_;
  const CanonicalType b_;
};

template <typename Number>
std::unique_ptr<const ElementComparison> CompareAs(const NumberType& a, const NumberType& b,
                                                   const Tolerance& tolerance) {
  return std::make_unique<const NumberComparison<Number>>(a, b, tolerance);
}

std::unique_ptr<const ElementComparison> CompareNumbers(const NumberType& a,
                                                        const NumberType& b,
                                                        const Tolerance& tolerance) {
  if (a.is_complex) return CompareAs<std::complex<double>>(a, b, tolerance);
  if (!a.is_wide_integer() && !b.is_wide_integer()) return CompareAs<double>(a, b, tolerance);
  if (!a.is_float && !b.is_float) return CompareAs<WideInt>(a, b, tolerance);
  return CompareAs<long double>(a, b, tolerance);
}

// Times have an origin and a unit; counts of the same unit are numbers.
bool HaveSameUnit(const Datatype& a, const Datatype& b) {
  const auto time = [](const Datatype& type) {
    return type.kind() == Datatype::Kind::kInteger ? type.time() : std::nullopt;
  };
  return time(a) == time(b);
}

// How elements of two types are compared. Numbers are compared by their values, also if their
// types differ; all other elements by their canonical form, if the types have the same name.
// kUnsupported for other types.
Result<std::unique_ptr<const ElementComparison>> MakeElementComparison(
    const Datatype& a, const Datatype& b, const Tolerance& tolerance) {
  const auto number_a = AsNumber(a);
  const auto number_b = AsNumber(b);
  if (number_a && number_b && number_a->is_complex == number_b->is_complex &&
      HaveSameUnit(a, b)) {
    return CompareNumbers(*number_a, *number_b, tolerance);
  }
  NDLFS_TRY(CanonicalType canonical_a, CanonicalType::Make(a));
  NDLFS_TRY(CanonicalType canonical_b, CanonicalType::Make(b));
  if (canonical_a.json() != canonical_b.json()) {
    return model::Unsupported("elements of these types cannot be compared");
  }
  std::unique_ptr<const ElementComparison> comparison =
      std::make_unique<const CanonicalComparison>(std::move(canonical_a),
                                                  std::move(canonical_b));
  return comparison;
}

using ReaderPtr = std::shared_ptr<const ArrayReader>;

// Finding and opening a chunk costs as much as comparing this.
constexpr uint64_t kLeastBlockCost = uint64_t{16} << 10;

void KeepLarger(const std::optional<LargestDifference>& other,
                std::optional<LargestDifference>& kept) {
  if (!other) return;
  const bool is_larger =
      !kept || other->size > kept->size || (other->size == kept->size && other->at < kept->at);
  if (is_larger) kept = other;
}

uint64_t BlocksOf(const ArrayReader& reader) {
  const uint64_t elements = reader.element_count();
  return elements / ArrayDifference::kBlockElements +
         (elements % ArrayDifference::kBlockElements != 0);
}

}  // namespace

void ElementDifferences::Add(const ElementDifferences& other) {
  count += other.count;
  nan_on_one_side += other.nan_on_one_side;
  if (other.first && (!first || other.first->at < first->at)) first = other.first;
  KeepLarger(other.absolute, absolute);
  KeepLarger(other.relative, relative);
}

Result<std::shared_ptr<ArrayDifference>> ArrayDifference::Make(ReaderPtr a, ReaderPtr b,
                                                               const Tolerance& tolerance) {
  NDLFS_RETURN_IF_ERROR(backends::CheckReadable(a->source()));
  NDLFS_TRY(auto comparison,
            MakeElementComparison(a->spec().dtype, b->spec().dtype, tolerance));
  return std::shared_ptr<ArrayDifference>(
      new ArrayDifference(std::move(a), std::move(b), std::move(comparison)));
}

ArrayDifference::ArrayDifference(ReaderPtr a, ReaderPtr b,
                                 std::unique_ptr<const ElementComparison> comparison)
    : a_(std::move(a)),
      b_(std::move(b)),
      comparison_(std::move(comparison)),
      block_count_(BlocksOf(*a_)),
      block_cost_(
          std::max(kLeastBlockCost, a_->byte_size() / std::max<uint64_t>(1, block_count_) +
                                        b_->byte_size() / std::max<uint64_t>(1, block_count_))),
      sweep_a_(*a_),
      sweep_b_(*b_) {}

Result<uint64_t> ArrayDifference::Run(uint64_t block) {
  const uint64_t begin = block * kBlockElements;
  const uint64_t end = std::min(begin + kBlockElements, a_->element_count());
  const uint64_t item_a = a_->spec().dtype.size();
  const uint64_t item_b = b_->spec().dtype.size();
  ElementDifferences found;
  for (uint64_t first = begin; first < end;) {
    const uint64_t count = std::min(comparison_->at_once(), end - first);
    sweep_a_.Prepare(first * item_a, (first + count) * item_a);
    sweep_b_.Prepare(first * item_b, (first + count) * item_b);
    NDLFS_TRY(const auto more, comparison_->Compare(*a_, *b_, first, count));
    found.Add(more);
    first += count;
  }
  sweep_a_.Finish(begin * item_a, end * item_a);
  sweep_b_.Finish(begin * item_b, end * item_b);
  const model::MutexLock lock(mutex_);
  found_.Add(found);
  return (end - begin) * (item_a + item_b);
}

ElementDifferences ArrayDifference::found() const {
  const model::MutexLock lock(mutex_);
  return found_;
}

}  // namespace ndlfs::fs
