// SPDX-License-Identifier: MIT
//
// A table of any bytes: its columns are read, and have a value for each row.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "backends/parquet/table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs::backends;
  constexpr uint64_t kMaxRows = 10'000, kMaxBytes = 1 << 20;
  const auto table = parquet::Table::Open(std::as_bytes(std::span(data, size)));
  if (!table) return 0;
  size_t columns = 0;
  for (const parquet::Column& column : table->columns()) {
    if (++columns > 8) break;
    const auto values = table->Read(column, kMaxRows, kMaxBytes);
    if (!values) continue;
    if (values->present.size() != table->rows()) std::abort();
    size_t bytes = 0;
    for (const ConstByteSpan text : values->texts) {
      if (!text.empty()) bytes += std::to_integer<size_t>(text.front() | text.back());
    }
    if (values->texts.size() + values->numbers.size() != table->rows()) std::abort();
    if (bytes == SIZE_MAX) std::abort();
  }
  return 0;
}
