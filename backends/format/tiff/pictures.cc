// SPDX-License-Identifier: MIT
#include "backends/format/tiff/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace ndlfs::backends::tiff {
namespace {

using model::Result;

constexpr size_t kMostPictures = 4096;
constexpr uint64_t kMostLevels = 64;
constexpr size_t kMostProblems = 16;
constexpr uint64_t kMostOfAperio = uint64_t{64} << 10;

Stack StackOf(Page page) {
  Stack stack{std::move(page.form), {page.chunks}, std::move(page.error)};
  return stack;
}

// Whether one factor makes a picture of the other, up to a pixel, or to a tile where pictures
// are filled up to whole tiles. Labels and views of a slide have other proportions.
bool HaveOneShape(const ImageForm& form, const ImageForm& full) {
  const auto times = [](uint64_t a, uint64_t b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  const uint64_t width = form.is_tiled ? form.chunk_width : 1;
  const uint64_t length = form.is_tiled ? form.chunk_length : 1;
  return std::abs(times(form.width, full.length) - times(form.length, full.width)) <=
         times(width, full.length) + times(length, full.width);
}

bool IsSmaller(const ImageForm& form, const ImageForm& full) {
  return form.width <= full.width && form.length <= full.length &&
         form.width * form.length < full.width * full.length && form.bits == full.bits &&
         form.format == full.format && form.samples == full.samples && HaveOneShape(form, full);
}

void SortLevels(Picture& picture) {
  std::ranges::stable_sort(picture.overviews, std::ranges::greater(),
                           [](const Stack& stack) { return stack.form.width; });
}

bool IsMaskOf(const Page& page, const ImageForm& full) {
  return page.is_mask && page.form.width <= full.width && page.form.length <= full.length;
}

bool HaveOneForm(const std::vector<Stack>& a, const std::vector<Stack>& b) {
  return std::ranges::equal(a, b, [](const Stack& x, const Stack& y) {
    return !x.error && !y.error && x.form == y.form;
  });
}

void Append(const std::vector<Stack>& from, std::vector<Stack>& to) {
  for (size_t i = 0; i < from.size(); ++i) to[i].pages.push_back(from[i].pages.front());
}

class Walk {
 public:
  explicit Walk(TiffReader& reader) : reader_(reader) {}

  Result<Pictures> Run() {
    size_t number = 0;
    for (uint64_t at = reader_.first_directory(); at != 0; ++number) {
      NDLFS_TRY(const auto directory, Visit(at, fmt::format("directory {}", number)));
      if (!directory) break;
      at = directory->next;
      NDLFS_RETURN_IF_ERROR(AddFromChain(*directory, number));
      if (made_.pictures.size() >= kMostPictures) {
        Problem(fmt::format("more than {} images that differ", kMostPictures));
        break;
      }
    }
    Finish();
    if (is_aperio_ && !made_.pictures.empty()) SortLevels(made_.pictures.front());
    return std::move(made_);
  }

 private:
  void Problem(std::string text) {
    if (made_.problems.size() < kMostProblems) made_.problems.push_back(std::move(text));
  }

  // Fails if `error` may go away; otherwise notes it.
  Result<void> Note(model::Error error, const std::string& where) {
    if (error.is_transient()) return model::Propagate(std::move(error), where);
    Problem(std::move(error).In(where).message());
    return {};
  }

  // nullopt if there is no directory to be read.
  Result<std::optional<Directory>> Visit(uint64_t position, const std::string& where) {
    if (!visited_.insert(position).second) {
      Problem(fmt::format("{} is at {}, where one was read before", where, position));
      return std::nullopt;
    }
    if (visited_.size() > kMostDirectories) {
      Problem(fmt::format("more than {} directories", kMostDirectories));
      return std::nullopt;
    }
    auto directory = reader_.ReadDirectory(position);
    if (directory) return *std::move(directory);
    NDLFS_RETURN_IF_ERROR(Note(std::move(directory).error(), where));
    return std::nullopt;
  }

  Result<void> AddFromChain(const Directory& directory, size_t number) {
    const std::string where = fmt::format("directory {}", number);
    auto page = ReadPage(reader_, directory);
    if (!page) return Note(std::move(page).error(), where);
    if (!page->notes.empty() && made_.notes.size() < kMostProblems) {
      made_.notes.push_back(where + ": " + page->notes.front());
    }
    if (number == 0) {
      NDLFS_TRY(is_aperio_, IsAperio(directory));
    }
    if (is_aperio_ && number > 0 && page->form.is_tiled) {
      Picture& base = made_.pictures.empty() ? *current_ : made_.pictures.front();
      if (IsSmaller(page->form, base.full.form)) {
        AddLevel(*std::move(page), where, base.overviews);
        return {};
      }
    }
    if (current_ && IsMaskOf(*page, current_->full.form)) {
      AddLevel(*std::move(page), where, current_->masks);
      return {};
    }
    if (current_ && page->is_reduced && !is_aperio_ &&
        IsSmaller(page->form, current_->full.form)) {
      AddLevel(*std::move(page), where, current_->overviews);
      return {};
    }
    Finish();
    current_ = Picture{};
    current_->directory = directory;
    current_->numbers = {static_cast<uint32_t>(number)};
    current_->full = StackOf(*std::move(page));
    return AddSubDirectories(directory, where);
  }

  // Files of Aperio mark labels as smaller copies, and tiled ones are not marked.
  Result<bool> IsAperio(const Directory& directory) {
    const Field* field = directory.Find(kImageDescription);
    if (field == nullptr) return false;
    auto text = reader_.Text(*field, kMostOfAperio);
    if (!text && text.error().is_transient()) return model::Propagate(std::move(text).error());
    return text && text->starts_with("Aperio");
  }

  void AddLevel(Page page, const std::string& where, std::vector<Stack>& levels) {
    if (levels.size() >= kMostLevels) {
      Problem(
          fmt::format("{}: more than {} overviews or masks of one image", where, kMostLevels));
      return;
    }
    levels.push_back(StackOf(std::move(page)));
  }

  Result<void> AddSubDirectories(const Directory& directory, const std::string& where) {
    const Field* field = directory.Find(kSubIfds);
    if (field == nullptr) return {};
    auto positions = reader_.Integers(*field, kMostLevels);
    if (!positions) return Note(std::move(positions).error(), where);
    for (size_t i = 0; i < positions->size(); ++i) {
      const std::string name = fmt::format("{}, SubIFD {}", where, i);
      NDLFS_TRY(const auto child, Visit((*positions)[i], name));
      if (!child) continue;
      auto page = ReadPage(reader_, *child);
      if (!page) {
        NDLFS_RETURN_IF_ERROR(Note(std::move(page).error(), name));
      } else if (IsMaskOf(*page, current_->full.form)) {
        AddLevel(*std::move(page), name, current_->masks);
      } else if (IsSmaller(page->form, current_->full.form)) {
        AddLevel(*std::move(page), name, current_->overviews);
      } else {
        // The picture itself, of which the directory of the chain has a small one.
        Picture own;
        own.directory = *child;
        own.full = StackOf(*std::move(page));
        others_.push_back(std::move(own));
      }
    }
    return {};
  }

  // Adds the picture whose last directory was read.
  void Finish() {
    if (!current_) return;
    SortLevels(*current_);
    Picture* last = made_.pictures.empty() ? nullptr : &made_.pictures.back();
    const bool is_next = last != nullptr && others_.empty() && !last->numbers.empty() &&
                         !last->full.error && !current_->full.error &&
                         last->full.form == current_->full.form &&
                         HaveOneForm(last->overviews, current_->overviews) &&
                         HaveOneForm(last->masks, current_->masks);
    if (is_next) {
      last->full.pages.push_back(current_->full.pages.front());
      last->numbers.push_back(current_->numbers.front());
      Append(current_->overviews, last->overviews);
      Append(current_->masks, last->masks);
    } else {
      made_.pictures.push_back(*std::move(current_));
    }
    for (Picture& other : others_) made_.pictures.push_back(std::move(other));
    others_.clear();
    current_.reset();
  }

  TiffReader& reader_;
  Pictures made_;
  bool is_aperio_ = false;
  std::optional<Picture> current_;
  std::vector<Picture> others_;
  std::unordered_set<uint64_t> visited_;
};

}  // namespace

Result<Pictures> ReadPictures(TiffReader& reader) { return Walk(reader).Run(); }

}  // namespace ndlfs::backends::tiff
