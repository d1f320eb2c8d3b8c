// SPDX-License-Identifier: MIT
#include "fs/view/view.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

class MemoryView final : public View {
 public:
  explicit MemoryView(std::string text) : text_(std::move(text)) {}

  std::optional<uint64_t> size() const override { return text_.size(); }
  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    if (offset >= text_.size()) return size_t{0};
    const size_t count = std::min<size_t>(out.size(), text_.size() - offset);
    std::memcpy(out.data(), text_.data() + offset, count);
    return count;
  }

 private:
  const std::string text_;
};

}  // namespace

std::span<const ViewKind* const> ViewKinds() {
  static const std::array kinds = {&NpyView(), &RawView(), &TextView(), &JsonlView()};
  return kinds;
}

const ViewKind* FindViewKind(std::string_view file_name) {
  for (const ViewKind* kind : ViewKinds()) {
    if (kind->file_name() == file_name) return kind;
  }
  return nullptr;
}

std::shared_ptr<const View> MakeTextView(std::string text) {
  return std::make_shared<const MemoryView>(std::move(text));
}

}  // namespace ndlfs::fs
