// SPDX-License-Identifier: MIT
//
// preview.png: a picture of an array. It is painted when somebody reads it, but its size is
// known before: the file is filled up with a chunk of zeros, which readers of PNG skip.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/converted_elements.h"
#include "fs/view/number_array.h"
#include "fs/view/picture/png_file.h"
#include "fs/view/preview_axis.h"
#include "fs/view/preview_figure.h"
#include "fs/view/preview_samples.h"
#include "fs/view/view_kinds.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// A canvas has some megabytes, so that only one is painted at a time, in the whole process.
// Nothing is read meanwhile.
Result<picture::PngFile> Paint(picture::Figure figure, uint64_t size) {
  static model::Mutex one_canvas;
  const model::MutexLock lock(one_canvas);
  const bool is_photo = std::holds_alternative<picture::Photo>(figure.content);
  const auto colours = is_photo ? picture::PngColours::kAll : picture::PngColours::kPalette;
  return picture::EncodePng(picture::PaintFigure(std::move(figure)), colours, size);
}

// Copies what lies within [offset, offset + out.size()) of `text`, which begins at `begin`.
void CopyWithin(std::string_view text, uint64_t begin, uint64_t offset, ByteSpan out) {
  const uint64_t from = std::max(begin, offset);
  const uint64_t to = std::min(begin + text.size(), offset + out.size());
  if (from < to)
    std::memcpy(out.data() + (from - offset), text.data() + (from - begin), to - from);
}

class PreviewView final : public View, public std::enable_shared_from_this<PreviewView> {
 public:
  PreviewView(SamplePlan plan, std::vector<PreviewDimension> dimensions)
      : plan_(std::move(plan)),
        dimensions_(std::move(dimensions)),
        size_(plan_.channels > 1 ? picture::kColourFileBytes : picture::kPaletteFileBytes) {}

  std::optional<uint64_t> size() const override { return size_; }
  uint64_t held_bytes() const override { return held_bytes_; }
  uint64_t most_held_bytes() const override { return size_; }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    return Read(offset, out, nullptr);
  }
  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override;

  // Decodes ahead with `prefetcher`, if there is one.
  Result<size_t> Read(uint64_t offset, ByteSpan out, cache::Prefetcher* prefetcher) const
      EXCLUDES(mutex_) {
    if (offset >= size_ || out.empty()) return size_t{0};
    NDLFS_TRY(const auto file, Get(prefetcher));
    out = out.first(std::min<uint64_t>(out.size(), size_ - offset));
    std::ranges::fill(out, std::byte{0});
    CopyWithin(file->head, 0, offset, out);
    CopyWithin(file->tail, file->head.size() + file->zeros, offset, out);
    return out.size();
  }

 private:
  using FilePtr = std::shared_ptr<const picture::PngFile>;

  // The first reader makes it, and the others wait for that. An error that does not pass is
  // kept, so that each page of the file does not read all chunks again.
  Result<FilePtr> Get(cache::Prefetcher* prefetcher) const EXCLUDES(mutex_) {
    const model::MutexLock lock(mutex_);
    if (failure_) return model::Propagate(*failure_);
    if (file_) return file_;
    auto made = MakePreview(prefetcher);
    if (!made) {
      if (!made.error().is_transient()) failure_ = made.error();
      return model::Propagate(std::move(made).error());
    }
    file_ = std::make_shared<const picture::PngFile>(*std::move(made));
    held_bytes_ = file_->head.size();
    return file_;
  }

  Result<picture::PngFile> MakePreview(cache::Prefetcher* prefetcher) const {
    picture::Figure figure;
    {
      NDLFS_TRY(const Samples samples, ReadSamples(plan_, prefetcher));
      NDLFS_TRY(figure, MakeFigure(plan_, dimensions_, samples));
    }
    return Paint(std::move(figure), size_);
  }

  const SamplePlan plan_;
  const std::vector<PreviewDimension> dimensions_;
  const uint64_t size_;
  mutable std::atomic<uint64_t> held_bytes_ = 0;
  // Held while chunks are read, too: what waits for it wants the same chunks.
  mutable model::Mutex mutex_;
  mutable FilePtr file_ GUARDED_BY(mutex_);
  mutable std::optional<model::Error> failure_ GUARDED_BY(mutex_);
};

class OpenPreview final : public View {
 public:
  OpenPreview(std::shared_ptr<const PreviewView> view, cache::Prefetcher& prefetcher)
      : view_(std::move(view)), prefetcher_(prefetcher) {}

  std::optional<uint64_t> size() const override { return view_->size(); }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    return view_->Read(offset, out, &prefetcher_);
  }

 private:
  const std::shared_ptr<const PreviewView> view_;
  cache::Prefetcher& prefetcher_;
};

std::shared_ptr<const View> PreviewView::ForReader(cache::Prefetcher& prefetcher) const {
  return std::make_shared<const OpenPreview>(shared_from_this(), prefetcher);
}

// Whole arrays of numbers that have at least one.
bool HasPicture(const ArrayInput& input) {
  if (input.reader == nullptr || input.elements == nullptr || input.elements->size() == 0) {
    return false;
  }
  if (input.dtype.kind() == model::Datatype::Kind::kArray) return false;
  return AsNumbers(input).has_value() || ToFloat32(input.dtype).converter != nullptr;
}

Result<ViewPtr> MakePreview(const ArrayInput& input) {
  NDLFS_TRY(SamplePlan plan, PlanPicture(input));
  NDLFS_TRY(auto dimensions, DescribeDimensions(plan));
  return std::make_shared<const PreviewView>(std::move(plan), std::move(dimensions));
}

}  // namespace

const ArrayViewKind kPreviewView = {
    .file_name = "preview.png",
    .applies_to = &HasPicture,
    .make = &MakePreview,
};

}  // namespace ndlfs::fs
