// SPDX-License-Identifier: MIT
//
// preview.png: a picture of an array, and thumbnail.png: the same without titles and axes. They
// are painted when somebody reads them, but their sizes are known before: as large as the
// array, within limits. Details are left out until they fit, and the files are filled up with a
// chunk of zeros, which readers of PNG skip.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/cancellation.h"
#include "fs/view/base/number_array.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/picture/drawing/figure_file.h"
#include "fs/view/picture/preview_axis.h"
#include "fs/view/picture/preview_figure.h"
#include "fs/view/picture/preview_samples.h"
#include "fs/view/picture/views.h"
#include "fs/view/place/ome_plate.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;

// The differences between the two kinds of pictures.
struct PictureKind {
  uint64_t (*size)(uint64_t array_bytes);
  Result<picture::PngFile> (*encode)(const picture::Figure&, uint64_t size,
                                     picture::MayGoOn may_go_on);
  PictureEffort effort;
};

constexpr PictureKind kWholeFigure = {&picture::FigureFileSize, &picture::EncodeFigure,
                                      PictureEffort::kPreview};
constexpr PictureKind kFieldAlone = {&picture::ThumbnailFileSize, &picture::EncodeThumbnail,
                                     PictureEffort::kField};
constexpr PictureKind kFigureAlone = {&picture::ThumbnailFileSize, &picture::EncodeThumbnail,
                                      PictureEffort::kThumbnail};

// A canvas has some megabytes, so that only one is painted at a time, in the whole process.
// Nothing is read meanwhile.
Result<picture::PngFile> Paint(const PictureKind& kind, const picture::Figure& figure,
                               uint64_t size) {
  static backends::OneAtATime one_canvas;
  NDLFS_TRY(const auto turn, one_canvas.Take());
  return kind.encode(figure, size, &backends::CancellationScope::Check);
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
  PreviewView(const PictureKind& kind, SamplePlan plan,
              std::vector<PreviewDimension> dimensions, uint64_t size)
      : kind_(kind), plan_(std::move(plan)), dimensions_(std::move(dimensions)), size_(size) {}

  std::optional<uint64_t> size() const override { return size_; }
  uint64_t held_bytes() const override { return held_bytes_; }
  uint64_t most_held_bytes() const override { return size_; }
  Result<size_t> Read(uint64_t offset, ByteSpan out) const override {
    return Read(offset, out, nullptr);
  }
  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override;

  // Decodes ahead with `prefetcher`, if there is one.
  Result<size_t> Read(uint64_t offset, ByteSpan out, cache::Prefetcher* prefetcher) const {
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
  Result<FilePtr> Get(cache::Prefetcher* prefetcher) const {
    NDLFS_TRY(const auto turn, making_.Take());
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
    return Paint(kind_, figure, size_);
  }

  const PictureKind kind_;
  const SamplePlan plan_;
  const std::vector<PreviewDimension> dimensions_;
  const uint64_t size_;
  mutable std::atomic<uint64_t> held_bytes_ = 0;
  // Readers that wait for the turn want the same chunks. It guards the members below.
  mutable backends::OneAtATime making_;
  mutable FilePtr file_;
  mutable std::optional<model::Error> failure_;
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

bool IsNeverListed(const ArrayInput& /*input*/) { return false; }

template <const PictureKind& kKind>
uint64_t SizeOfPicture(const ArrayInput& input) {
  return kKind.size(input.elements->size());
}

template <const PictureKind& kKind>
Result<ViewNode> MakePicture(const ArrayInput& input) {
  NDLFS_TRY(SamplePlan plan, PlanPicture(input, kKind.effort));
  NDLFS_TRY(auto dimensions, DescribeDimensions(plan));
  return std::make_shared<const PreviewView>(kKind, std::move(plan), std::move(dimensions),
                                             SizeOfPicture<kKind>(input));
}

// The picture of the image that stands for a group.
template <const PictureKind& kKind>
Result<ViewNode> MakeGroupPicture(const GroupInput& group) {
  NDLFS_TRY(const ArrayInput input, LoadOmePicture(group));
  if (!HasPicture(input)) return model::Unsupported("no picture of such elements");
  return MakePicture<kKind>(input);
}

bool HasGroupPicture(const GroupInput& group) { return HasOmePicture(group.node()); }
bool IsNeverListedForGroups(const GroupInput& /*group*/) { return false; }

}  // namespace

const GroupViewKind kGroupPreviewView = {
    .file_name = model::kPreviewFileName,
    .description = "picture with axes and colours",
    .applies_to = &HasGroupPicture,
    .is_listed = &IsNeverListedForGroups,
    .make = &MakeGroupPicture<kWholeFigure>,
};

const GroupViewKind kGroupThumbnailView = {
    .file_name = model::kThumbnailFileName,
    .description = "small picture alone",
    .applies_to = &HasGroupPicture,
    .is_listed = &IsNeverListedForGroups,
    .make = &MakeGroupPicture<kFieldAlone>,
};

const ArrayViewKind kPreviewView = {
    .file_name = model::kPreviewFileName,
    .description = "picture with axes and colours",
    .applies_to = &HasPicture,
    .make = &MakePicture<kWholeFigure>,
};

const ArrayViewKind kThumbnailView = {
    .file_name = model::kThumbnailFileName,
    .description = "small picture alone",
    .applies_to = &HasPicture,
    .is_listed = &IsNeverListed,
    .make = &MakePicture<kFigureAlone>,
};

}  // namespace ndlfs::fs
