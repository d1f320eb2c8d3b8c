// SPDX-License-Identifier: MIT
#include "fs/view/base/row_text.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/store/cancellation.h"
#include "backends/store/parallel.h"
#include "fs/view/base/size_finder.h"
#include "fs/view/base/text_table.h"
#include "fs/view/base/text_window.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// Rows are made from so many bytes of elements at a time, or from fewer.
constexpr uint64_t kRowsBytes = uint64_t{128} << 10;

uint64_t RowsAtOnce(const TextRows& rows) {
  return std::max<uint64_t>(kRowsBytes / rows.row_bytes(), 1);
}

// nullopt if a number cannot say it.
std::optional<uint64_t> BytesOf(const TextRows& rows) {
  return backends::CheckedMultiply(rows.count(), rows.row_bytes());
}

// Makes all rows to know their lengths. `rows` must outlive it.
SizeFinder MakeFinder(const TextRows& rows, const ScanLimits& limits,
                      const model::Error& refusal) {
  if (rows.count() == 0) {
    return {std::make_shared<const TextTable>(TextLengths(0).Finish()), std::nullopt, {}};
  }
  const auto search = [&rows, threads = limits.threads]() -> SizeFinder::Found {
    TextLengths lengths(rows.count());
    const uint64_t batch = RowsAtOnce(rows);
    auto done = backends::RunInParallel(
        threads, (rows.count() + batch - 1) / batch, [&](size_t i) -> Result<void> {
          NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
          const uint64_t first = i * batch;
          std::string text;
          return rows.Append(
              first, std::min(batch, rows.count() - first), text,
              [&](uint64_t row, size_t length) { lengths.Add(first + row, length); });
        });
    if (!done) return {model::Propagate(std::move(done).error())};
    return {std::make_shared<const TextTable>(lengths.Finish())};
  };
  const bool is_too_much = BytesOf(rows).value_or(UINT64_MAX) > limits.max_bytes;
  return {nullptr, is_too_much ? std::optional(refusal) : std::nullopt, search};
}

class RowText final : public View {
 public:
  RowText(std::string header, std::unique_ptr<const TextRows> rows, const ScanLimits& limits,
          const model::Error& refusal)
      : rows_(std::move(rows)),
        header_(std::move(header)),
        finder_(MakeFinder(*rows_, limits, refusal)) {}

  std::optional<uint64_t> size() const override {
    const auto known = finder_.table();
    return known ? std::optional(header_.size() + known->text_size()) : std::nullopt;
  }
  Result<uint64_t> FindSize() const override {
    NDLFS_TRY(const uint64_t rows, finder_.Find());
    return header_.size() + rows;
  }
  uint64_t scan_bytes() const override {
    return size() ? 0 : BytesOf(*rows_).value_or(backends::kMaxViewSize);
  }
  std::optional<model::Error> refusal() const override { return finder_.refusal(); }
  uint64_t held_bytes() const override {
    const auto known = finder_.table();
    return header_.size() + (known ? known->held_bytes() : 0);
  }

  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    size_t of_header = 0;
    if (offset < header_.size()) {
      of_header = std::min<uint64_t>(out.size(), header_.size() - offset);
      std::memcpy(out.data(), header_.data() + offset, of_header);
    }
    if (of_header == out.size()) return of_header;
    NDLFS_TRY(const size_t of_rows,
              ReadRows(offset + of_header - header_.size(), out.subspan(of_header)));
    return of_header + of_rows;
  }

 private:
  // A place in the text of the rows.
  struct Place {
    uint64_t position = 0;
    uint64_t row = 0;
  };

  Result<size_t> ReadRows(uint64_t offset, ByteSpan out) const {
    Place at = NotedBefore(offset);
    const auto known = finder_.table();
    if (known) {
      if (offset >= known->text_size()) return size_t{0};
      out = out.first(std::min<uint64_t>(out.size(), known->text_size() - offset));
      const TextTable::Place place = known->Before(offset);
      if (at.position < place.position) at = {place.position, place.element};
    }
    TextWindow window(at.position, offset, out);
    const uint64_t end = offset + out.size();
    std::string text;
    while (!window.full() && at.row < rows_->count()) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      const uint64_t count = HowMany(at, end);
      text.clear();
      Place last = at;
      uint64_t position = at.position;
      NDLFS_RETURN_IF_ERROR(
          rows_->Append(at.row, count, text, [&](uint64_t row, size_t length) {
            position += length;
            if (position <= end) last = {position, at.row + row + 1};
          }));
      window.Append(text);
      Note(last);
      at = {window.position(), at.row + count};
    }
    if (known && window.filled() != out.size()) {
      return model::Stale("the text has become shorter");
    }
    return window.filled();
  }

  // How many rows to make next, if they are about as long as those before `at`.
  uint64_t HowMany(const Place& at, uint64_t end) const {
    constexpr uint64_t kFew = 64;
    const uint64_t usual = at.row == 0 ? 1 : std::max<uint64_t>(at.position / at.row, 1);
    const uint64_t needed = std::max((end - at.position) / usual, kFew);
    return std::min({needed, RowsAtOnce(*rows_), rows_->count() - at.row});
  }

  // Where readers left off, so that going on costs no more than what is new.
  Place NotedBefore(uint64_t position) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    const auto after = noted_.upper_bound(position);
    if (after == noted_.begin()) return {};
    return {std::prev(after)->first, std::prev(after)->second};
  }
  void Note(const Place& place) const EXCLUDES(mutex_) {
    constexpr size_t kMostNoted = 256;
    const model::MutexLock lock(mutex_);
    if (noted_.size() >= kMostNoted) noted_.erase(noted_.begin());
    noted_.emplace(place.position, place.row);
  }

  const std::unique_ptr<const TextRows> rows_;
  const std::string header_;
  mutable SizeFinder finder_;
  mutable model::Mutex mutex_;
  mutable std::map<uint64_t, uint64_t> noted_ GUARDED_BY(mutex_);  // rows by position
};

}  // namespace

ViewPtr MakeRowText(std::string header, std::unique_ptr<const TextRows> rows,
                    const ScanLimits& limits, const model::Error& refusal) {
  return std::make_shared<const RowText>(std::move(header), std::move(rows), limits, refusal);
}

}  // namespace ndlfs::fs
