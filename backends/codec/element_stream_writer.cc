// SPDX-License-Identifier: MIT
#include "backends/codec/element_stream_writer.h"

#include <cstring>

#include "backends/codec/little_endian.h"

namespace ndlfs::backends {

model::Result<ElementStreamWriter> ElementStreamWriter::Make(uint64_t count, uint64_t limit) {
  if (count >= limit / sizeof(uint64_t)) {
    return model::Limit("more than {} bytes of elements", limit);
  }
  return ElementStreamWriter(count, limit);
}

ElementStreamWriter::ElementStreamWriter(uint64_t count, uint64_t limit)
    : count_(count), limit_(limit) {
  ends_.push_back(0);
}

model::Result<void> ElementStreamWriter::EndElement() {
  if (ends_.size() > count_) return model::Corrupt("more than {} elements", count_);
  ends_.push_back(parts_.size());
  if (StreamTableSize(count_) + parts_.size() > limit_) {
    return model::Limit("more than {} bytes of elements", limit_);
  }
  return {};
}

void ElementStreamWriter::AppendText(std::string_view text) {
  AppendCount(static_cast<uint32_t>(text.size()));
  parts_.append(text);
}

void ElementStreamWriter::AppendCount(uint32_t count) {
  char bytes[sizeof(count)];
  std::memcpy(bytes, &count, sizeof(count));
  parts_.append(bytes, sizeof(bytes));
}

model::Result<Bytes> ElementStreamWriter::Finish() && {
  if (ends_.size() != count_ + 1) {
    return model::Corrupt("{} elements, expected {}", ends_.size() - 1, count_);
  }
  const size_t table = StreamTableSize(count_);
  Bytes stream(table + parts_.size());
  std::memcpy(stream.data(), ends_.data(), table);
  if (!parts_.empty()) std::memcpy(stream.data() + table, parts_.data(), parts_.size());
  return stream;
}

}  // namespace ndlfs::backends
