// SPDX-License-Identifier: MIT
#include "backends/format/grib/header_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/format/grib/field_header.h"
#include "backends/format/grib/header_bytes.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

constexpr size_t kFieldsOfBlock = 512;

// What is wrong; empty if the message is as expected.
std::string LieAbout(const PlannedField& field, const Result<GribMessage>& message) {
  if (!message) return message.error().message();
  if (message->size != field.size || field.field >= message->fields.size()) {
    return fmt::format("it has {} bytes and {} fields", message->size, message->fields.size());
  }
  const std::string difference =
      DifferenceOf(*field.expected, DescribeField(*message, message->fields[field.field]));
  return difference.empty() ? difference : fmt::format("it has another {}", difference);
}

}  // namespace

Result<void> HeaderCheck::Check(size_t number) const {
  if (!fields_[number].expected) return {};
  const size_t block = number / kFieldsOfBlock;
  const auto answer = [&]() REQUIRES(mutex_) -> Result<void> {
    const auto lie = lies_.find(number);
    if (lie == lies_.end()) return {};
    return model::Corrupt(
        "the message at byte {} is not what the file beside it (.idx, .index) "
        "says: {}",
        fields_[number].offset, lie->second);
  };
  {
    const model::MutexLock lock(mutex_);
    if (compared_.contains(block)) return answer();
  }
  // Two threads may do so at once; nobody waits for the other.
  const size_t begin = block * kFieldsOfBlock;
  NDLFS_TRY(Lies lies, Compare(begin, std::min(begin + kFieldsOfBlock, fields_.size())));
  if (!lies.empty() && on_lie_) on_lie_();
  const model::MutexLock lock(mutex_);
  compared_.insert(block);
  lies_.merge(lies);
  return answer();
}

Result<HeaderCheck::Lies> HeaderCheck::Compare(size_t begin, size_t end) const {
  NDLFS_TRY(const auto size, store_->Size(""));
  if (!size) return model::HasChanged("the file");
  HeaderBytes bytes(*store_, *size);
  bytes.NoteMessageSize(UINT64_MAX);  // they are read here and there
  std::vector<uint64_t> offsets;
  for (size_t i = begin; i < end; ++i) {
    if (fields_[i].expected) offsets.push_back(fields_[i].offset);
  }
  bytes.Fetch(std::move(offsets));
  GribReader reader = bytes.MakeReader();
  Lies lies;
  for (size_t i = begin; i < end; ++i) {
    if (!fields_[i].expected) continue;
    const auto message = reader.Parse(fields_[i].offset, false);
    if (!message && message.error().is_transient()) return model::Propagate(message.error());
    std::string lie = LieAbout(fields_[i], message);
    if (!lie.empty()) lies.emplace(i, std::move(lie));
  }
  return lies;
}

}  // namespace ndlfs::backends::grib
