// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_ascii.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/base/checked.h"
#include "fs/view/dap/dap_text.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::MutexLock;
using model::Result;

constexpr uint64_t kMostAsciiValues = 1'000'000;
constexpr uint64_t kMostAsciiBytes = uint64_t{32} << 20;

uint64_t SizeOfValue(const DapTable& table) {
  const bool is_text = table.part.variable.type == backends::netcdf3::Type::kChar;
  return is_text ? table.string_length : backends::netcdf3::SizeOf(table.part.variable.type);
}

// "[3][0]" for a row of all dimensions but the last.
std::string RowName(uint64_t row, const std::vector<uint64_t>& shape) {
  std::string out;
  for (size_t d = shape.size() - 1; d-- > 0; row /= shape[d]) {
    out.insert(0, fmt::format("[{}]", row % shape[d]));
  }
  return out;
}

Result<void> WriteTable(const DapTable& table, std::string& out) {
  const ElementSource& values = *table.part.elements;
  backends::Bytes bytes(values.size());
  NDLFS_RETURN_IF_ERROR(
      values.Read(0, bytes.span(), model::ByteOrder::kBig, cache::ReadHint::kOnward));
  const std::string_view text = backends::AsText(bytes.span());
  const uint64_t size = SizeOfValue(table);
  const bool is_text = table.part.variable.type == backends::netcdf3::Type::kChar;
  out += table.name;
  for (const uint64_t extent : table.shape) out += fmt::format("[{}]", extent);
  const uint64_t row_length = table.shape.empty() ? 1 : table.shape.back();
  if (table.shape.size() == 1) out += '\n';
  for (uint64_t at = 0, i = 0; size != 0 && at + size <= text.size(); at += size, ++i) {
    if (table.shape.size() > 1 && i % row_length == 0) {
      out += '\n' + RowName(i / row_length, table.shape);
    }
    if (table.shape.size() != 1 || i != 0) out += ", ";
    const std::string_view value = text.substr(at, size);
    out += is_text ? DapStringText(value) : DapNumberText(value, table.part.variable.type);
  }
  out += "\n\n";
  return {};
}

class DapAscii final : public View {
 public:
  DapAscii(std::string dds, std::vector<DapTable> tables, uint64_t bytes)
      : dds_(std::move(dds)), tables_(std::move(tables)), bytes_(bytes) {}

  std::optional<uint64_t> size() const override {
    const MutexLock lock(mutex_);
    if (!text_) return std::nullopt;
    return text_->size();
  }
  Result<uint64_t> FindSize() const override {
    NDLFS_TRY(const auto text, Text());
    return text->size();
  }
  uint64_t scan_bytes() const override { return size() ? 0 : bytes_; }
  uint64_t held_bytes() const override { return dds_.size() + size().value_or(0); }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    NDLFS_TRY(const auto text, Text());
    if (offset >= text->size()) return size_t{0};
    const size_t count = std::min<uint64_t>(out.size(), text->size() - offset);
    std::memcpy(out.data(), text->data() + offset, count);
    return count;
  }

 private:
  Result<std::shared_ptr<const std::string>> Text() const EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (text_) return text_;
    }
    std::string text = dds_ + "---------------------------------------------\n";
    for (const DapTable& table : tables_) {
      NDLFS_RETURN_IF_ERROR(WriteTable(table, text));
    }
    const MutexLock lock(mutex_);
    if (!text_) text_ = std::make_shared<const std::string>(std::move(text));
    return text_;
  }

  const std::string dds_;
  const std::vector<DapTable> tables_;
  const uint64_t bytes_;
  mutable model::Mutex mutex_;
  mutable std::shared_ptr<const std::string> text_ GUARDED_BY(mutex_);
};

}  // namespace

Result<ViewNode> MakeDapAscii(std::string dds, std::vector<DapTable> tables) {
  uint64_t values = 0;
  uint64_t bytes = 0;
  for (const DapTable& table : tables) {
    const auto count = backends::CheckedProduct(table.shape);
    values += std::min(count.value_or(kMostAsciiValues + 1), kMostAsciiValues + 1);
    bytes += std::min(table.part.elements->size(), kMostAsciiBytes + 1);
    if (values > kMostAsciiValues || bytes > kMostAsciiBytes) {
      return model::Limit("more than {} values as text; ask for fewer, or for .dods",
                          kMostAsciiValues);
    }
  }
  return std::static_pointer_cast<const View>(
      std::make_shared<const DapAscii>(std::move(dds), std::move(tables), bytes));
}

}  // namespace ndlfs::fs
