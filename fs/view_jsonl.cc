// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include "fs/json_text.h"
#include "fs/text_window.h"
#include "fs/view_kinds.h"
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
      NDLFS_RETURN_IF_ERROR(AppendLines(type_, stream));
    }
    if (!window_.full()) Note(at_.element + 1, 0);
    return {};
  }

 private:
  static constexpr uint64_t kSpacing = uint64_t{1} << 20;

  // An element that is an array is as many elements, here as in data.npy.
  Result<void> AppendLines(const Datatype& type, ConstByteSpan& stream) {
    if (type.kind() != Kind::kArray) {
      NDLFS_RETURN_IF_ERROR(is_json_ ? AppendJsonElement(stream, window_)
                                     : AppendJson(type, stream, window_));
      window_.Append("\n");
      return {};
    }
    for (uint64_t i = 0; i < type.array_length() && !window_.full(); ++i) {
      NDLFS_RETURN_IF_ERROR(AppendLines(type.base(), stream));
    }
    return {};
  }

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

// How long one read may look for the place that it is to begin at. Each place
// is found from the one before, and who asks for one that is 2^50 lines away
// shall not have one of the few threads for all that time: it is an error then,
// and the next try goes on from there.
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

class JsonLines final : public View {
 public:
  JsonLines(std::shared_ptr<const cache::ArrayReader> reader, bool is_json)
      : reader_(std::move(reader)), is_json_(is_json) {}

  std::optional<uint64_t> size() const override { return std::nullopt; }

  Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const Mark from = marks_.Before(offset);
    TextWindow window(from.position, offset, out);
    LineMaker lines(reader_->spec().dtype, is_json_, from, window, marks_);
    Result<void> appended;
    Patience patience;
    bool given_up = false;
    NDLFS_RETURN_IF_ERROR(reader_->Visit(from.element, reader_->element_count() - from.element,
                                         [&](ConstByteSpan element) {
                                           appended = lines.Append(element);
                                           if (!appended || window.full()) return false;
                                           given_up = patience.IsOver(element.size());
                                           return !given_up;
                                         }));
    NDLFS_RETURN_IF_ERROR(appended, fmt::format("element {}", lines.element()));
    marks_.Add(lines.last());
    // No bytes would be the end of the file; some are an answer.
    if (given_up && window.filled() == 0) {
      return model::IoError(ETIMEDOUT, fmt::format("looking for byte {}", offset));
    }
    return window.filled();
  }

 private:
  const std::shared_ptr<const cache::ArrayReader> reader_;
  const bool is_json_;
  mutable Marks marks_;
};

class JsonlViewKind final : public ViewKind {
 public:
  std::string_view file_name() const override { return "data.jsonl"; }
  bool AppliesTo(const backends::ArraySpec& spec) const override {
    return !spec.dtype.is_fixed_size();
  }
  Result<std::shared_ptr<const View>> Make(const ViewInput& input) const override {
    return std::make_shared<const JsonLines>(input.reader,
                                             model::HoldsJson(input.node->array()));
  }
};

}  // namespace

const ViewKind& JsonlView() {
  static const JsonlViewKind kind;
  return kind;
}

}  // namespace ndlfs::fs
