// SPDX-License-Identifier: MIT
#include "fs/view/base/coordinate_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/packing.h"
#include "cache/array_reader.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/kept_coordinates.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/unpacked.h"
#include "model/attributes.h"
#include "model/cf_time.h"
#include "model/float_format.h"
#include "model/number_text.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Calendar;
using model::Nanoseconds;
using model::Period;
using model::Quote;
using model::Result;
using model::TimeScale;

// If there are more coordinates, the search reads only those that it needs.
constexpr uint64_t kMostRead = uint64_t{1} << 20;

// A number of the store, as exactly as it is there.
struct Stored {
  model::WideInt integer = 0;
  double real = 0;
};

template <typename T>
Stored StoredAs(const std::byte* at) {
  T number;
  std::memcpy(&number, at, sizeof number);
  Stored stored;
  stored.real = static_cast<double>(number);
  if constexpr (std::is_integral_v<T>) stored.integer = static_cast<model::WideInt>(number);
  return stored;
}

const model::FloatFormat& Half() {
  static const model::FloatFormat* const half = model::FindFloatFormat("float16");
  return *half;
}

Stored StoredAsHalf(const std::byte* at) {
  uint16_t code;
  std::memcpy(&code, at, sizeof code);
  return {.integer = 0, .real = Half().Decode(code)};
}

using StoredReader = Stored (*)(const std::byte*);
// Null for numbers that are no coordinates.
StoredReader ReaderOf(Number number) {
  if (number == Number::kFloat16) return &StoredAsHalf;
  return WithType(number, [](auto t) -> StoredReader { return &StoredAs<decltype(t)>; });
}

using MissingFinder = std::function<bool(const std::byte*)>;
MissingFinder MissingFinderOf(Number number, const backends::Packing& packing) {
  return WithType(number, [&](auto t) -> MissingFinder {
    using T = decltype(t);
    return [is_missing = backends::MissingTest<T>(packing)](const std::byte* at) {
      T element;
      std::memcpy(&element, at, sizeof element);
      return is_missing(element);
    };
  });
}

// How the numbers of the store are coordinates.
struct KeyMeaning {
  NumberArray numbers;
  StoredReader read = nullptr;
  MissingFinder is_missing = {};  // may be empty
  std::optional<TimeScale> time = {};
  bool is_packed = false;
  double scale = 1;
  double offset = 0;

  // nullopt where it is missing or not a number.
  std::optional<long double> NumberAt(const std::byte* at) const {
    if (IsMissing(at)) return std::nullopt;
    const Stored stored = read(at);
    if (is_packed) return Finite(stored.real * scale + offset);
    if (!IsFloat(numbers.number)) return static_cast<long double>(stored.integer);
    return Finite(stored.real);
  }
  std::optional<Nanoseconds> TimeAt(const std::byte* at) const {
    if (IsMissing(at)) return std::nullopt;
    const Stored stored = read(at);
    if (is_packed) return time->OfReal(stored.real * scale + offset);
    return IsFloat(numbers.number) ? time->OfReal(stored.real)
                                   : time->OfInteger(stored.integer);
  }

 private:
  static std::optional<long double> Finite(double number) {
    return std::isfinite(number) ? std::optional<long double>(number) : std::nullopt;
  }
  bool IsMissing(const std::byte* at) const { return is_missing && is_missing(at); }
};

Result<KeyMeaning> Understand(const ArrayInput& stored) {
  const ArrayInput coordinates = AsCfNumbers(stored);
  auto numbers = AsNumbers(coordinates);
  if (!numbers || numbers->rank() != 1 || ReaderOf(numbers->number) == nullptr) {
    return model::NotFound("the coordinates are no numbers");
  }
  auto packing = backends::ReadPacking(*coordinates.node).value_or(backends::Packing());
  KeyMeaning meaning{*std::move(numbers)};
  meaning.read = ReaderOf(meaning.numbers.number);
  meaning.is_packed = packing.scale || packing.offset;
  meaning.scale = packing.scale.value_or(1);
  meaning.offset = packing.offset.value_or(0);
  const auto& attributes = coordinates.node->attributes();
  meaning.time = TimeScaleOf(coordinates.dtype);
  if (meaning.time) {
    packing.missing.emplace_back(std::numeric_limits<int64_t>::min());  // NaT
  } else {
    meaning.time =
        model::ParseTimeUnits(TextOf(attributes, "units"), TextOf(attributes, "calendar"));
  }
  meaning.is_missing = MissingFinderOf(meaning.numbers.number, packing);
  return meaning;
}

// Coordinates as keys that can be compared, in ascending or in descending order.
template <typename Key>
class Keys {
 public:
  using ToKey = std::function<std::optional<Key>(const std::byte*)>;

  Keys(const NumberArray& numbers, ToKey to_key, std::vector<uint64_t>& deciding)
      : numbers_(numbers),
        item_(SizeOf(numbers.number)),
        to_key_(std::move(to_key)),
        deciding_(deciding) {}

  uint64_t count() const { return numbers_.shape[0]; }
  bool is_descending() const { return is_descending_; }

  // Finds out how they are ordered, and checks all of them if they are not too many.
  Result<void> Check() {
    if (count() > kMostRead) window_.most = 1;
    NDLFS_TRY(const Key first, Look(0));
    NDLFS_TRY(const Key last, Look(count() - 1));
    is_descending_ = last < first;
    if (count() > kMostRead) return {};
    Key before = first;
    for (uint64_t i = 0; i < count(); ++i) {
      NDLFS_TRY(const Key key, Look(i));
      if (!IsInOrder(before, key)) return OutOfOrder(i);
      before = key;
    }
    return {};
  }

  // An earlier search has called Check() for the same coordinates.
  void SetOrder(bool is_descending) {
    is_descending_ = is_descending;
    window_.most = 1;
  }

  // A coordinate that decides what is found.
  Result<Key> At(uint64_t i) const {
    deciding_.push_back(i);
    return Look(i);
  }

  // The first index whose key is not before `key` in the order of the store, or also not `key`
  // itself (`is_behind`). count() if there is none.
  Result<uint64_t> Bisect(const Key& key, bool is_behind) const {
    uint64_t low = 0;
    uint64_t high = count();
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      NDLFS_TRY(const Key found, Look(middle));
      const bool is_before = is_descending_ ? key < found : found < key;
      if (is_before || (is_behind && found == key)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    // Since all are in order, the two around the place decide.
    if (low > 0) deciding_.push_back(low - 1);
    if (low < count()) deciding_.push_back(low);
    return low;
  }

 private:
  Result<Key> Look(uint64_t i) const {
    if (i < window_.begin || i >= window_.end) {
      window_.begin = i / window_.most * window_.most;
      window_.end = window_.begin;  // should the read fail
      const uint64_t end = std::min(window_.begin + window_.most, count());
      window_.bytes.resize((end - window_.begin) * item_);
      NDLFS_RETURN_IF_ERROR(numbers_.elements->Read(
          window_.begin * item_, std::as_writable_bytes(std::span(window_.bytes)),
          model::ByteOrder::kLittle, cache::ReadHint::kOnward));
      window_.end = end;
    }
    if (auto key = to_key_(window_.bytes.data() + (i - window_.begin) * item_)) {
      return *std::move(key);
    }
    return model::NotFound("coordinate {} is missing or not finite", i);
  }
  bool IsInOrder(const Key& a, const Key& b) const {
    return is_descending_ ? !(a < b) : !(b < a);
  }
  static model::Failure OutOfOrder(uint64_t i) {
    return model::NotFound("the coordinates neither ascend nor descend at index {}", i);
  }

  const NumberArray& numbers_;
  const size_t item_;
  const ToKey to_key_;
  std::vector<uint64_t>& deciding_;
  bool is_descending_ = false;
  // What was read last. Where not all coordinates are checked, a look reads one alone.
  struct Window {
    uint64_t most = 8192;
    uint64_t begin = 0, end = 0;
    std::vector<std::byte> bytes = {};
  };
  mutable Window window_;
};

// The indices from `low` to `high`, both inclusive. Either may be absent: the other one is then
// the first or the last coordinate, in the order of the array, as in xarray.
template <typename Key>
Result<IndexRange> FindRange(const Keys<Key>& keys, std::optional<Key> low,
                             std::optional<Key> high, uint64_t step) {
  const bool is_swapped = low && high && (*high < *low) != keys.is_descending();
  const std::optional<Key>& from = is_swapped ? high : low;
  const std::optional<Key>& to = is_swapped ? low : high;
  uint64_t first = 0;
  uint64_t end = keys.count();
  if (from) {
    NDLFS_TRY(first, keys.Bisect(from.value_or(Key{}), /*is_behind=*/false));
  }
  if (to) {
    NDLFS_TRY(end, keys.Bisect(to.value_or(Key{}), /*is_behind=*/true));
  }
  if (first >= end) return IndexRange();
  return InclusiveRange(first, end - 1, step);
}

template <typename Key>
Result<IndexRange> FindNearest(const Keys<Key>& keys, const Key& key) {
  NDLFS_TRY(uint64_t at, keys.Bisect(key, /*is_behind=*/false));
  if (at == keys.count()) --at;
  if (at > 0) {
    NDLFS_TRY(const Key here, keys.At(at));
    NDLFS_TRY(const Key before, keys.At(at - 1));
    const Key to_here = here < key ? key - here : here - key;
    const Key to_before = before < key ? key - before : before - key;
    const bool is_before_nearer =
        to_before < to_here || (to_before == to_here && here < before);
    if (is_before_nearer) --at;
  }
  return IndexRange{.begin = at, .count = 1, .is_dropped = true};
}

// For those who expected the nearest coordinate, or an interpolation.
Result<IndexRange> NoSuchCoordinate(const Keys<long double>& keys, long double key,
                                    std::string_view text) {
  if (keys.count() == 0) return model::NotFound("there is no coordinate {}", Quote(text));
  NDLFS_TRY(const IndexRange nearest, FindNearest(keys, key));
  NDLFS_TRY(const long double found, keys.At(nearest.begin));
  return model::NotFound(
      "there is no coordinate {}; ~{} finds the nearest one ({}), FROM:TO all in a range",
      Quote(text), text, static_cast<double>(found));
}

template <typename Key>
Result<IndexRange> FindOne(const Keys<Key>& keys, const Key& key, std::string_view text) {
  NDLFS_TRY(const IndexRange found, FindRange<Key>(keys, key, key, 1));
  if (found.count == 1) {
    return IndexRange{.begin = found.begin, .count = 1, .is_dropped = true};
  }
  if (found.count == 0) return NoSuchCoordinate(keys, key, text);
  return model::NotFound("{} coordinates are {}", found.count, Quote(text));
}

std::optional<double> ParseReal(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto number = model::ParseNumber<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// The number that a text is, as the type of the coordinates has it.
std::optional<long double> ParseNumber(std::string_view text, const KeyMeaning& meaning) {
  if (const auto integer = model::ParseNumber<int64_t>(text)) {
    return static_cast<long double>(*integer);
  }
  const auto real = ParseReal(text);
  if (!real) return std::nullopt;
  if (meaning.numbers.number == Number::kFloat16 && !meaning.is_packed) {
    const auto code = Half().Encode(*real);
    return code ? static_cast<long double>(Half().Decode(*code)) : *real;
  }
  const bool is_single = meaning.numbers.number == Number::kFloat32 && !meaning.is_packed;
  if (is_single && std::abs(*real) < std::numeric_limits<float>::max()) {
    return static_cast<long double>(static_cast<float>(*real));
  }
  return static_cast<long double>(*real);
}

std::optional<uint64_t> ParseStep(std::string_view text) {
  const auto step = model::ParseNumber<uint64_t>(text);
  return step && *step > 0 && *step < (uint64_t{1} << 60) ? step : std::nullopt;
}

model::Failure NoCoordinate(std::string_view text) {
  return model::NotFound("{} is no coordinate, and no range of them", Quote(text));
}

// A packed number is what it is after rounding: the same as the nearest coordinate, if they
// differ by less than a millionth of a step.
Result<long double> Snap(const Keys<long double>& keys, const KeyMeaning& meaning,
                         long double number) {
  if (!meaning.is_packed) return number;
  NDLFS_TRY(const IndexRange nearest, FindNearest(keys, number));
  NDLFS_TRY(const long double found, keys.At(nearest.begin));
  return std::abs(found - number) <= std::abs(meaning.scale) * 1e-6L ? found : number;
}

Result<std::optional<long double>> ParseEnd(const Keys<long double>& keys,
                                            const KeyMeaning& meaning, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto number = ParseNumber(text, meaning);
  if (!number) return NoCoordinate(text);
  NDLFS_TRY(const long double snapped, Snap(keys, meaning, *number));
  return snapped;
}

Result<IndexRange> FindNumbers(const Keys<long double>& keys, const KeyMeaning& meaning,
                               std::string_view text) {
  const bool is_nearest = text.starts_with('~');
  if (is_nearest || text.find(':') == std::string_view::npos) {
    const auto number = ParseNumber(text.substr(is_nearest ? 1 : 0), meaning);
    if (!number) return NoCoordinate(text);
    if (is_nearest) return FindNearest(keys, *number);
    NDLFS_TRY(const long double snapped, Snap(keys, meaning, *number));
    return FindOne(keys, snapped, text);
  }
  const size_t colon = text.find(':');
  std::string_view rest = text.substr(colon + 1);
  uint64_t step = 1;
  if (const size_t second = rest.find(':'); second != std::string_view::npos) {
    const auto parsed = ParseStep(rest.substr(second + 1));
    if (!parsed) return NoCoordinate(text);
    step = *parsed;
    rest = rest.substr(0, second);
  }
  NDLFS_TRY(const auto low, ParseEnd(keys, meaning, text.substr(0, colon)));
  NDLFS_TRY(const auto high, ParseEnd(keys, meaning, rest));
  return FindRange(keys, low, high, step);
}

// The ends of a range of times. Times have colons in them, as ranges have between them.
struct TimeRange {
  std::optional<Period> low;
  std::optional<Period> high;
  uint64_t step = 1;
};

bool ParseEnds(Calendar calendar, std::string_view low, std::string_view high,
               TimeRange& range) {
  if (!low.empty()) range.low = ParsePeriod(calendar, low);
  if (!high.empty()) range.high = ParsePeriod(calendar, high);
  return (low.empty() || range.low) && (high.empty() || range.high);
}

std::optional<TimeRange> ParseTimeRange(Calendar calendar, std::string_view text) {
  for (size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    TimeRange range;
    const std::string_view rest = text.substr(at + 1);
    if (ParseEnds(calendar, text.substr(0, at), rest, range)) return range;
    const size_t last = rest.rfind(':');
    if (last == std::string_view::npos) continue;
    const auto step = ParseStep(rest.substr(last + 1));
    if (!step) continue;
    range = {.low = {}, .high = {}, .step = *step};
    if (ParseEnds(calendar, text.substr(0, at), rest.substr(0, last), range)) return range;
  }
  return std::nullopt;
}

// As pandas and xarray do it: a month or a year is a range always, a day or an hour if it does
// not begin with its only coordinate.
Result<IndexRange> FindPeriod(const Keys<Nanoseconds>& keys, const Period& period,
                              std::string_view text) {
  NDLFS_TRY(const IndexRange found,
            FindRange<Nanoseconds>(keys, period.begin, period.end - 1, 1));
  if (found.count == 0) {
    return model::NotFound(
        "there is no coordinate in {}; ~{} finds the nearest one, FROM:TO all in a range",
        Quote(text), text);
  }
  if (found.count > 1 || period.is_longer_than_day) return found;
  NDLFS_TRY(const Nanoseconds time, keys.At(found.begin));
  if (time != period.begin) return found;
  return IndexRange{.begin = found.begin, .count = 1, .is_dropped = true};
}

// nullopt where the text has no times.
Result<std::optional<IndexRange>> FindTimes(const Keys<Nanoseconds>& keys, Calendar calendar,
                                            std::string_view text) {
  if (text.starts_with('~')) {
    const auto period = ParsePeriod(calendar, text.substr(1));
    if (!period) return std::nullopt;
    return FindNearest(keys, period->begin);
  }
  if (const auto period = ParsePeriod(calendar, text)) return FindPeriod(keys, *period, text);
  const auto range = ParseTimeRange(calendar, text);
  if (!range) return std::nullopt;
  std::optional<Nanoseconds> low;
  std::optional<Nanoseconds> high;
  const bool is_open = !range->low || !range->high;
  const bool is_turned = is_open ? keys.is_descending()  // from the later to the earlier
                                 : range->high->end <= range->low->begin;
  if (range->low) low = is_turned ? range->low->end - 1 : range->low->begin;
  if (range->high) high = is_turned ? range->high->begin : range->high->end - 1;
  return FindRange(keys, low, high, range->step);
}

// The text of an element of a stream.
Result<std::string> TextOfElement(const model::Datatype& type, backends::ConstByteSpan bytes) {
  if (type.is_fixed_size()) {
    NDLFS_TRY(const model::Value value, model::DecodeElement(type, bytes));
    return value.text() == nullptr ? std::string() : *value.text();
  }
  uint32_t length = 0;
  if (bytes.size() < sizeof length) return model::Corrupt("a text without its length");
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::string_view text = backends::AsText(bytes.subspan(sizeof length));
  if (text.size() < length) return model::Corrupt("a text that ends early");
  return std::string(text.substr(0, length));
}

// Texts are in no order. Finds the one that is equal, as it is or with the escapes of file
// names ("%2F" for '/').
Result<IndexRange> FindText(const ArrayInput& coordinates, std::string_view text) {
  const uint64_t count = coordinates.reader->element_count();
  if (count > kMostRead) return model::NotFound("more than {} texts", kMostRead);
  const std::string decoded = model::DecodeFileName(text);
  std::optional<uint64_t> found;
  uint64_t at = 0;
  uint64_t equal = 0;
  Result<void> read;
  NDLFS_RETURN_IF_ERROR(
      coordinates.reader->Visit(0, count, [&](backends::ConstByteSpan element) {
        const auto here = TextOfElement(coordinates.dtype, element);
        if (!here) read = model::Propagate(here.error(), fmt::format("element {}", at));
        if (here && (*here == text || (!decoded.empty() && *here == decoded))) {
          ++equal;
          if (!found) found = at;
        }
        ++at;
        return here.has_value();
      }));
  NDLFS_RETURN_IF_ERROR(read);
  if (equal > 1) return model::NotFound("{} coordinates are {}", equal, Quote(text));
  if (!found) return model::NotFound("there is no coordinate {}", Quote(text));
  return IndexRange{.begin = *found, .count = 1, .is_dropped = true};
}

// Checks the order of the keys, unless an earlier search has done so.
template <typename Key>
Result<void> FindOrder(const KeptCoordinates& kept, Keys<Key>& keys) {
  if (const auto is_descending = kept.is_descending()) {
    keys.SetOrder(*is_descending);
    return {};
  }
  auto checked = keys.Check();
  if (checked) {
    kept.NoteOrder(keys.is_descending());
  } else {
    kept.Forget();  // any file may be put right
  }
  return checked;
}

// `deciding` gets the indices of the coordinates that the result depends on, if all are in
// order.
Result<IndexRange> Search(const KeptCoordinates& kept, std::string_view text,
                          std::vector<uint64_t>& deciding) {
  NDLFS_TRY(const KeyMeaning meaning, Understand(kept.input()));
  if (meaning.time) {
    Keys<Nanoseconds> keys(
        meaning.numbers, [&](const std::byte* at) { return meaning.TimeAt(at); }, deciding);
    NDLFS_RETURN_IF_ERROR(FindOrder(kept, keys));
    NDLFS_TRY(const auto found, FindTimes(keys, meaning.time->calendar, text));
    if (found) return *found;
  }
  Keys<long double> keys(
      meaning.numbers, [&](const std::byte* at) { return meaning.NumberAt(at); }, deciding);
  NDLFS_RETURN_IF_ERROR(FindOrder(kept, keys));
  return FindNumbers(keys, meaning, text);
}

}  // namespace

Result<IndexRange> FindByCoordinate(const ArrayInput& coordinates, std::string_view text) {
  if (coordinates.dtype.kind() == model::Datatype::Kind::kString && coordinates.reader &&
      coordinates.shape.size() == 1) {
    return FindText(coordinates, text);
  }
  // A file may change again and again.
  constexpr int kMostTries = 3;
  for (int i = 0; i < kMostTries; ++i) {
    NDLFS_TRY(const KeptCoordinates kept, KeptCoordinates::Of(coordinates));
    std::vector<uint64_t> deciding;
    auto found = Search(kept, text, deciding);
    NDLFS_TRY(const bool holds, kept.Hold(deciding));
    if (holds) return found;
    kept.Forget();
  }
  return model::HasChanged("the coordinates");
}

}  // namespace ndlfs::fs
