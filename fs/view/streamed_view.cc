// SPDX-License-Identifier: MIT
#include "fs/view/streamed_view.h"

namespace ndlfs::fs {
namespace {

// A view as one open file reads it.
class StreamedView final : public View {
 public:
  StreamedView(std::shared_ptr<const StreamableView> view,
               std::shared_ptr<const cache::ArrayReader> reader, cache::Prefetcher& prefetcher)
      : view_(std::move(view)), stream_(prefetcher, std::move(reader)) {}

  std::optional<uint64_t> size() const override { return view_->size(); }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    const ElementRange range = view_->ElementsOf(offset, out.size());
    cache::Access access = cache::Access::kOnward;
    if (range.size != 0) access = stream_.OnRead(range.begin, range.size);
    return view_->ReadElements(offset, out, access);
  }

 private:
  const std::shared_ptr<const StreamableView> view_;
  mutable cache::ReadStream stream_;
};

}  // namespace

std::shared_ptr<const View> StreamableView::ForReader(cache::Prefetcher& prefetcher) const {
  return std::make_shared<const StreamedView>(shared_from_this(), reader_, prefetcher);
}

}  // namespace ndlfs::fs
