// SPDX-License-Identifier: MIT
#include "fs/view/utf8_elements.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/base/utf32_text.h"

namespace ndlfs::fs {
namespace {

constexpr size_t kMaxElement = size_t{16} << 20;
constexpr size_t kPiece = size_t{1} << 20;  // about what is rewritten at a time

class Utf8Elements final : public ElementSource {
 public:
  Utf8Elements(std::shared_ptr<const ElementSource> source,
               std::vector<backends::Utf32Run> runs, size_t element)
      : source_(std::move(source)), runs_(std::move(runs)), element_(element) {}

  uint64_t size() const override { return source_->size(); }

  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder,
                           cache::Access access) const override {
    std::vector<std::byte> piece;
    while (!out.empty()) {
      const uint64_t begin = offset / element_ * element_;
      const uint64_t wanted = std::min<uint64_t>(offset - begin + out.size(),
                                                 std::max(kPiece, element_));
      const uint64_t count = (wanted + element_ - 1) / element_ * element_;
      piece.resize(count);
      // In little-endian order: UTF-32 has an order, too.
      NDLFS_RETURN_IF_ERROR(source_->Read(begin, piece, model::ByteOrder::kLittle, access));
      backends::RewriteUtf32(runs_, element_, piece);
      const size_t skipped = offset - begin;
      const size_t copied = std::min<size_t>(out.size(), count - skipped);
      std::memcpy(out.data(), piece.data() + skipped, copied);
      out = out.subspan(copied);
      offset += copied;
    }
    return {};
  }

  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return source_->TrackReader(prefetcher);
  }

 private:
  const std::shared_ptr<const ElementSource> source_;
  const std::vector<backends::Utf32Run> runs_;
  const size_t element_;
};

}  // namespace

model::Result<std::shared_ptr<const ElementSource>> WithUtf8Text(
    std::shared_ptr<const ElementSource> elements, const model::Datatype& type) {
  NDLFS_TRY(auto runs, backends::FindUtf32(type));
  if (runs.empty()) return elements;
  if (type.size() > kMaxElement) return model::Limit("elements of more than {} bytes", kMaxElement);
  return std::make_shared<const Utf8Elements>(std::move(elements), std::move(runs),
                                              type.size());
}

}  // namespace ndlfs::fs
