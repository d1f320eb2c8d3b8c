// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "cache/array_reader.h"
#include "cache/array_scan.h"
#include "fs/view/array/json_text.h"
#include "fs/view/array/views.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/size_finder.h"
#include "fs/view/base/text_table.h"
#include "fs/view/base/text_window.h"
#include "model/json_elements.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ConstByteSpan;
using model::Datatype;
using model::Result;
using Kind = Datatype::Kind;

// Where the text of an element, or of an item of a vlen in it, begins.
struct Mark {
  uint64_t position = 0;
  uint64_t element = 0;
  uint32_t item = 0;  // its separator included
};

// Places in a text whose length only making it tells: where a reader left off,
// and some on the way there, so that going on costs no more than what is new.
// Thread-safe.
class Marks {
 public:
  // The last one at or before `position`.
  Mark Before(uint64_t position) const EXCLUDES(mutex_) {
    model::MutexLock lock(mutex_);
    const auto after = marks_.upper_bound(position);
    return after == marks_.begin() ? Mark() : std::prev(after)->second;
  }

  void Add(const Mark& mark) EXCLUDES(mutex_) {
    model::MutexLock lock(mutex_);
    const auto [known, added] = marks_.emplace(mark.position, mark);
    // Elements that have no text leave the position as it is.
    if (!added && known->second.element < mark.element) known->second = mark;
    if (marks_.size() <= kMaxMarks) return;
    for (auto it = marks_.begin(); it != marks_.end() && ++it != marks_.end();) {
      it = marks_.erase(it);  // every second one
    }
  }

 private:
  static constexpr size_t kMaxMarks = 1024;
  mutable model::Mutex mutex_;
  std::map<uint64_t, Mark> marks_ GUARDED_BY(mutex_);
};

// Whether the items of a vlen can be found without reading those before.
bool HasEqualItems(const Datatype& type) {
  if (type.kind() != Kind::kVlen || !type.base().is_fixed_size()) return false;
  return type.base().kind() != Kind::kCompound && type.base().kind() != Kind::kArray &&
         type.base().size() != 0;
}

// The lines of an element: one, or as many as an array in it has items, here as
// in data.npy.
Result<void> AppendLines(const Datatype& type, ConstByteSpan& stream, TextWindow& window) {
  if (type.kind() != Kind::kArray) {
    NDLFS_RETURN_IF_ERROR(AppendJson(type, stream, window));
    window.Append("\n");
    return {};
  }
  for (uint64_t i = 0; i < type.array_length() && !window.full(); ++i) {
    NDLFS_RETURN_IF_ERROR(AppendLines(type.base(), stream, window));
  }
  return {};
}

Result<void> AppendFixedLines(const Datatype& type, ConstByteSpan bytes, TextWindow& window) {
  if (type.kind() != Kind::kArray) {
    NDLFS_RETURN_IF_ERROR(AppendFixedJson(type, bytes, window));
    window.Append("\n");
    return {};
  }
  const size_t size = type.base().size();
  for (uint64_t i = 0; i < type.array_length() && !window.full(); ++i) {
    NDLFS_RETURN_IF_ERROR(AppendFixedLines(type.base(), bytes.subspan(i * size, size), window));
  }
  return {};
}

// `is_json`: as model::HoldsJson() says of the array.
Result<void> AppendElement(const Datatype& type, bool is_json, ConstByteSpan element,
                           TextWindow& window) {
  if (is_json) {
    NDLFS_RETURN_IF_ERROR(AppendJsonElement(element, window));
    window.Append("\n");
    return {};
  }
  return type.is_fixed_size() ? AppendFixedLines(type, element, window)
                              : AppendLines(type, element, window);
}

// The lines from a mark on, one element after the other.
class LineMaker {
 public:
  // `is_json`: the elements are JSON themselves.
  LineMaker(const Datatype& type, bool is_json, Mark from, TextWindow& window, Marks& marks)
      : type_(type),
        is_json_(is_json),
        at_(from),
        noted_(from.position),
        window_(window),
        marks_(marks) {}

  uint64_t element() const { return at_.element; }
  // The latest place from which nothing is left out that was wanted so far.
  const Mark& last() const { return at_; }

  Result<void> Append(ConstByteSpan stream) {
    if (HasEqualItems(type_)) {
      NDLFS_RETURN_IF_ERROR(AppendItems(stream));
    } else {
      Note(at_.element, 0);
      NDLFS_RETURN_IF_ERROR(AppendElement(type_, is_json_, stream, window_));
    }
    if (!window_.full()) Note(at_.element + 1, 0);
    return {};
  }

 private:
  static constexpr uint64_t kSpacing = uint64_t{1} << 20;

  Result<void> AppendItems(ConstByteSpan stream) {
    NDLFS_TRY(const uint32_t count, TakeVlenCount(type_, stream));
    const uint64_t skipped = uint64_t{at_.item} * type_.base().size();
    stream = stream.subspan(std::min<uint64_t>(skipped, stream.size()));
    if (count == 0) window_.Append("[");
    for (uint32_t item = at_.item; item < count; ++item) {
      if (window_.full()) return {};
      Note(at_.element, item);
      window_.Append(item == 0 ? "[" : ",");
      NDLFS_RETURN_IF_ERROR(AppendJson(type_.base(), stream, window_));
    }
    window_.Append("]\n");
    return {};
  }

  void Note(uint64_t element, uint32_t item) {
    at_ = {window_.position(), element, item};
    if (at_.position - noted_ < kSpacing) return;
    noted_ = at_.position;
    marks_.Add(at_);
  }

  const Datatype& type_;
  const bool is_json_;
  Mark at_;
  uint64_t noted_;
  TextWindow& window_;
  Marks& marks_;
};

// How long one read may search for the place where it begins. Each place is found from the one
// before. A read that begins 2^50 lines away must not take one of the few threads for all that
// time: it fails after a while, and the next try goes on from there.
class Patience {
 public:
  bool IsOver(size_t bytes) {
    constexpr uint64_t kBetweenLooks = uint64_t{64} << 10;
    since_look_ += bytes + kElementCost;
    if (since_look_ < kBetweenLooks) return false;
    since_look_ = 0;
    return std::chrono::steady_clock::now() >= end_;
  }

 private:
  static constexpr uint64_t kElementCost = 64;  // in bytes of one that is long
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  uint64_t since_look_ = 0;
};

// Compares the cost of making the text with the limit for finding its size. A few bytes of some
// types can become any amount of text; that counts, too, if it is more than data ever need.
class ScanCost {
 public:
  explicit ScanCost(uint64_t max_bytes)
      : max_bytes_(max_bytes),
        max_text_(
            std::min(backends::kMaxViewSize, backends::CheckedMultiply(max_bytes, kTextPerByte)
                                                 .value_or(backends::kMaxViewSize))) {}

  // The most text that one element may become.
  uint64_t max_text() const { return max_text_; }
  // False where it becomes too much.
  bool Add(uint64_t bytes, uint64_t text) {
    const uint64_t cost = std::max(bytes, text / kTextPerByte);
    return spent_.fetch_add(cost) + cost <= max_bytes_;
  }

 private:
  static constexpr uint64_t kTextPerByte = 32;
  const uint64_t max_bytes_;
  const uint64_t max_text_;
  std::atomic<uint64_t> spent_{0};
};

// Elements of variable size have an entry in a table besides their bytes.
constexpr uint64_t kTableEntry = 8;
// Looking for a chunk, which may be absent, takes as long as decoding so much.
// So many may be looked for in any case.
constexpr uint64_t kChunkCost = 1024;
constexpr uint64_t kFewChunks = 65'536;

// The elements that have lines: those of an array, or of a part of it. Thread-safe.
class LineElements {
 public:
  // `input` has a reader, or is a part whose elements are those of the store.
  explicit LineElements(const ArrayInput& input)
      : reader_(input.part ? input.part->whole.reader : input.reader),
        is_json_(model::HoldsJson(input.node->array())) {
    if (!input.part) {
      count_ = reader_->element_count();
      return;
    }
    selection_ = input.part->selection;
    count_ = backends::CheckedProduct(input.shape, 1).value_or(backends::kMaxViewSize);
  }
  static bool AreThere(const ArrayInput& input) {
    return input.part ? !input.part->is_converted : input.reader != nullptr;
  }

  const Datatype& type() const { return reader_->spec().dtype; }
  bool is_json() const { return is_json_; }  // the elements are JSON themselves
  uint64_t count() const { return count_; }
  // The size of all elements, or an estimate.
  uint64_t bytes() const {
    constexpr uint64_t kUsualElement = 64;
    const uint64_t size =
        type().is_fixed_size() ? std::max<uint64_t>(type().size(), 1) : kUsualElement;
    return backends::CheckedMultiply(count_, size).value_or(backends::kMaxViewSize);
  }
  // Null for a part.
  const cache::ArrayReader* whole() const { return selection_ ? nullptr : reader_.get(); }

  // Chunks that may have to be looked at. nullopt if they are more than a number can say.
  std::optional<uint64_t> chunks() const {
    std::vector<uint64_t> counts = reader_->spec().grid.counts();
    for (size_t d = 0; selection_ && d < counts.size(); ++d) {
      counts[d] = std::min(counts[d], (*selection_)[d].count);
    }
    return backends::CheckedProduct(counts, 1);
  }

  // As cache::ArrayReader::Visit().
  Result<void> Visit(uint64_t first, uint64_t count,
                     const std::function<bool(ConstByteSpan)>& visit) const {
    if (!selection_) return reader_->Visit(first, count, visit);
    bool goes_on = true;
    const auto checked = [&](ConstByteSpan element) {
      goes_on = visit(element);
      return goes_on;
    };
    const uint64_t run = RunLength();
    for (const uint64_t end = first + count; first < end && goes_on;) {
      const uint64_t together = std::min(end - first, run - first % run);
      NDLFS_RETURN_IF_ERROR(reader_->Visit(PlaceOf(first), together, checked));
      first += together;
    }
    return {};
  }

 private:
  // How many elements of the part follow each other in the array.
  uint64_t RunLength() const {
    if (selection_->empty()) return 1;
    const IndexRange& last = selection_->back();
    return last.step == 1 ? std::max<uint64_t>(last.count, 1) : 1;
  }
  // The number in the array of element `i` of the part.
  uint64_t PlaceOf(uint64_t i) const {
    const std::vector<uint64_t>& shape = reader_->spec().shape;
    uint64_t place = 0;
    uint64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const IndexRange& range = (*selection_)[d];
      place += range.At(i % range.count) * stride;
      i /= range.count;
      stride *= shape[d];
    }
    return place;
  }

  const std::shared_ptr<const cache::ArrayReader> reader_;
  const bool is_json_;
  uint64_t count_ = 0;
  std::optional<Selection> selection_;
};

// Finds out how long the lines are.
class LineScan {
 public:
  LineScan(const LineElements& elements, const ScanLimits& limits)
      : elements_(elements),
        type_(elements.type()),
        is_json_(elements.is_json()),
        limits_(limits),
        cost_(limits.max_bytes),
        lengths_(elements.count()) {}

  // Whether there are more elements than may be decoded: no need to begin.
  static bool IsTooMuch(const LineElements& elements, uint64_t max_bytes) {
    std::vector<uint64_t> shape = {elements.count()};
    const Datatype* type = &elements.type();
    for (; type->kind() == Kind::kArray; type = &type->base()) {
      shape.insert(shape.end(), type->shape().begin(), type->shape().end());
    }
    const uint64_t least =
        type->is_fixed_size() ? std::max<uint64_t>(1, type->size()) : kTableEntry;
    const auto bytes = backends::CheckedProduct(shape, least);
    const auto chunks = elements.chunks();
    return !bytes || *bytes > max_bytes || !chunks ||
           *chunks > std::max(kFewChunks, max_bytes / kChunkCost);
  }

  Result<TextTable> Run() {
    if (elements_.whole() == nullptr) {
      NDLFS_RETURN_IF_ERROR(VisitPart());
      return lengths_.Finish();
    }
    NDLFS_RETURN_IF_ERROR(
        cache::ScanArray(*elements_.whole(), limits_.threads,
                         [this](const cache::ElementRun& run) { return VisitRun(run); }));
    return lengths_.Finish();
  }
  // Whether Run() failed because it is too much.
  bool is_too_much() const { return is_too_much_; }

 private:
  Result<void> VisitPart() {
    Result<void> added;
    uint64_t at = 0;
    NDLFS_RETURN_IF_ERROR(elements_.Visit(0, elements_.count(), [&](ConstByteSpan element) {
      added = AddElement(at++, element);
      return added.has_value();
    }));
    return added;
  }

  Result<void> AddElement(uint64_t at, ConstByteSpan element) {
    NDLFS_TRY(const uint64_t length, LengthOfElement(element), fmt::format("element {}", at));
    if (!cost_.Add(element.size() + (type_.is_fixed_size() ? 0 : kTableEntry), length)) {
      return TooMuch();
    }
    lengths_.Add(at, length);
    return {};
  }

  Result<void> VisitRun(const cache::ElementRun& run) {
    for (uint64_t done = 0; done < run.count;) {
      const uint64_t first = run.first + done;
      const uint64_t count = lengths_.Together(first, run.count - done);
      NDLFS_TRY(const uint64_t length,
                run.equal() ? LengthOfEqual(run, count) : LengthOf(run, done, count));
      lengths_.Add(first, length);
      done += count;
    }
    return {};
  }

  Result<uint64_t> LengthOf(const cache::ElementRun& run, uint64_t begin, uint64_t count) {
    constexpr uint64_t kOften = uint64_t{1} << 20;
    uint64_t counted = 0;
    uint64_t text = 0;
    uint64_t bytes = 0;
    for (uint64_t i = begin; i < begin + count; ++i) {
      const ConstByteSpan element = run[i];
      NDLFS_TRY(const uint64_t length, LengthOfElement(element),
                fmt::format("element {}", run.first + i));
      text += length;
      bytes += element.size() + (type_.is_fixed_size() ? 0 : kTableEntry);
      if (text < kOften && i + 1 < begin + count) continue;
      if (!cost_.Add(bytes, text)) return TooMuch();
      counted += text;
      text = bytes = 0;
    }
    return counted;
  }

  Result<uint64_t> LengthOfEqual(const cache::ElementRun& run, uint64_t count) {
    NDLFS_TRY(const uint64_t length, LengthOfFill(run[0]), "the fill value");
    // All of the array together is no more than a file can hold.
    const auto most = backends::CheckedMultiply(length, elements_.count());
    if (!most || *most > backends::kMaxViewSize) return TooMuch();
    return length * count;
  }

  // The fill value may be long, and stand for any number of runs.
  Result<uint64_t> LengthOfFill(ConstByteSpan fill) {
    constexpr uint64_t kUnknown = UINT64_MAX;
    if (const uint64_t known = fill_length_; known != kUnknown) return known;
    NDLFS_TRY(const uint64_t length, LengthOfElement(fill));
    fill_length_ = length;
    return length;
  }

  Result<uint64_t> LengthOfElement(ConstByteSpan element) {
    TextWindow counter(0, cost_.max_text(), {});
    NDLFS_RETURN_IF_ERROR(AppendElement(type_, is_json_, element, counter));
    if (counter.full()) return TooMuch();
    return counter.position();
  }

  model::Failure TooMuch() {
    is_too_much_ = true;
    return model::Limit("more than {} bytes would have to be decoded", limits_.max_bytes);
  }

  const LineElements& elements_;
  const Datatype& type_;
  const bool is_json_;
  const ScanLimits limits_;
  ScanCost cost_;
  TextLengths lengths_;
  std::atomic<uint64_t> fill_length_{UINT64_MAX};  // not known yet
  std::atomic<bool> is_too_much_{false};
};

model::Error JsonRefusal(const ScanLimits& limits) {
  return model::Limit(
             "more than {} bytes would have to be decoded to tell its size (--max-scan); "
             "`ndlfs cat --view jsonl` writes it",
             limits.max_bytes)
      .value();
}

// Finds the lengths of the lines of `elements`, which must outlive it.
SizeFinder MakeJsonSizeFinder(const LineElements& elements, const ScanLimits& limits) {
  if (elements.count() == 0) {
    return {std::make_shared<const TextTable>(TextLengths(0).Finish()), std::nullopt, {}};
  }
  const bool is_too_much = LineScan::IsTooMuch(elements, limits.max_bytes);
  const auto search = [&elements, limits]() -> SizeFinder::Found {
    LineScan scan(elements, limits);
    auto table = scan.Run();
    if (table) return {std::make_shared<const TextTable>(*std::move(table))};
    return {model::Propagate(table.error()),
            scan.is_too_much() ? std::optional(JsonRefusal(limits)) : std::nullopt};
  };
  return {nullptr, is_too_much ? std::optional(JsonRefusal(limits)) : std::nullopt, search};
}

class JsonLines final : public View {
 public:
  JsonLines(LineElements elements, const ScanLimits& limits)
      : elements_(std::move(elements)), finder_(MakeJsonSizeFinder(elements_, limits)) {}

  std::optional<uint64_t> size() const override {
    const auto table = finder_.table();
    return table ? std::optional(table->text_size()) : std::nullopt;
  }
  Result<uint64_t> FindSize() const override { return finder_.Find(); }
  uint64_t scan_bytes() const override { return size() ? 0 : elements_.bytes(); }
  std::optional<model::Error> refusal() const override { return finder_.refusal(); }
  uint64_t held_bytes() const override {
    const auto table = finder_.table();
    return table ? table->held_bytes() : 0;
  }

  Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const auto table = finder_.table();
    if (table == nullptr) return ReadFrom(marks_.Before(offset), offset, out, /*exact=*/false);
    if (offset >= table->text_size()) return size_t{0};
    out = out.first(std::min<uint64_t>(out.size(), table->text_size() - offset));
    const TextTable::Place place = table->Before(offset);
    Mark from = marks_.Before(offset);
    if (from.position <= place.position) from = {place.position, place.element, 0};
    NDLFS_TRY(const size_t count, ReadFrom(from, offset, out, /*exact=*/true));
    // The kernel would take fewer bytes for the end of the file.
    if (count != out.size()) return model::Stale("the text has become shorter");
    return count;
  }

 private:
  // The text at `offset`, made from `from` on. If not `exact`, there may be less
  // of it than there is room for.
  Result<size_t> ReadFrom(const Mark& from, uint64_t offset, backends::ByteSpan out,
                          bool exact) const {
    TextWindow window(from.position, offset, out);
    LineMaker lines(elements_.type(), elements_.is_json(), from, window, marks_);
    Result<void> appended;
    // With the table, only places within a very long element are far away.
    constexpr uint64_t kFar = uint64_t{16} << 20;
    const bool may_give_up = !exact || offset - from.position > kFar;
    Patience patience;
    bool given_up = false;
    const auto append = [&](ConstByteSpan element) {
      appended = lines.Append(element);
      if (!appended || window.full()) return false;
      given_up =
          may_give_up && !(exact && window.filled() != 0) && patience.IsOver(element.size());
      return !given_up;
    };
    NDLFS_RETURN_IF_ERROR(
        elements_.Visit(from.element, elements_.count() - from.element, append));
    NDLFS_RETURN_IF_ERROR(appended, fmt::format("element {}", lines.element()));
    marks_.Add(lines.last());
    // No bytes would be the end of the file; some are an answer.
    if (given_up && window.filled() == 0) {
      return model::IoError(ETIMEDOUT, fmt::format("looking for byte {}", offset));
    }
    return window.filled();
  }

  const LineElements elements_;
  mutable SizeFinder finder_;
  mutable Marks marks_;
};

}  // namespace

const ArrayViewKind kJsonlView = {
    .file_name = "data.jsonl",
    .description = "JSON, an element a line",
    .is_text = true,
    .applies_to = &LineElements::AreThere,
    .is_listed = [](const ArrayInput& input) { return !kTextView.applies_to(input); },
    .refuse = [](const ArrayInput& input) -> std::optional<model::Error> {
      const LineElements elements(input);
      if (elements.count() == 0) return std::nullopt;
      if (!LineScan::IsTooMuch(elements, input.scan.max_bytes)) return std::nullopt;
      return JsonRefusal(input.scan);
    },
    .make = [](const ArrayInput& input) -> Result<ViewNode> {
      return std::make_shared<const JsonLines>(LineElements(input), input.scan);
    },
};

}  // namespace ndlfs::fs
