// SPDX-License-Identifier: MIT
#include "backends/format/tiff/series.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backends/format/tiff/fields.h"
#include "backends/format/tiff/ome.h"
#include "model/attributes.h"

namespace ndlfs::backends::tiff {
namespace {

using model::BadInput;
using model::Result;

constexpr uint64_t kMostDescription = uint64_t{16} << 20;
constexpr size_t kMostOmePages = 500'000;

Series SeriesOf(Picture picture) {
  Series series;
  const uint64_t pages = picture.full.pages.size();
  if (pages > 1) series.dims = {{"page", pages}};
  series.picture = std::move(picture);
  return series;
}

// A picture of ImageJ.
void UseImageJ(const std::string& description, Series& series) {
  auto dims = ImageJDimensions(description);
  if (dims.empty()) return;
  uint64_t count = 1;
  for (const PageDimension& dim : dims) count *= dim.size;
  const size_t pages = series.picture.full.pages.size();
  if (pages != 1 && pages != count) return;
  series.is_contiguous = pages == 1;
  series.dims = std::move(dims);
}

// Where the pages of the chain are in pictures.
class PageFinder {
 public:
  explicit PageFinder(const std::vector<Picture>& pictures) : pictures_(pictures) {
    for (size_t p = 0; p < pictures.size(); ++p) {
      for (size_t i = 0; i < pictures[p].numbers.size(); ++i) {
        places_[pictures[p].numbers[i]] = {p, i};
      }
    }
  }

  // The picture, and the page in it; null if that directory is not there.
  const std::pair<size_t, size_t>* Find(uint64_t number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? nullptr : &found->second;
  }
  const Picture& picture(size_t p) const { return pictures_[p]; }

 private:
  const std::vector<Picture>& pictures_;
  std::map<uint64_t, std::pair<size_t, size_t>> places_;
};

bool HaveSameLevels(const std::vector<Stack>& a, const std::vector<Stack>& b) {
  return std::ranges::equal(a, b,
                            [](const Stack& x, const Stack& y) { return x.form == y.form; });
}

// Adds page `i` of `from` to `to`; an absent one if `from` is null.
void AddPage(const Stack* from, size_t i, Stack& to) {
  PageChunks absent;
  absent.is_absent = true;
  to.pages.push_back(from != nullptr ? from->pages[i] : absent);
}

// The series of one image of OME. `used`: which pictures it has pages of.
Result<Series> SeriesOfOme(const OmeImage& image, const std::string& uuid,
                           const PageFinder& finder, std::vector<bool>& used) {
  for (const OmeTiffData& data : image.data) {
    if (!data.uuid.empty() && data.uuid != uuid) {
      return model::Unsupported("OME: planes are in other files");
    }
  }
  const uint64_t first = image.data.empty() ? 0 : image.data.front().directory;
  const auto* place = finder.Find(first);
  if (place == nullptr) return BadInput("OME: there is no directory {}", first);
  const Picture& base = finder.picture(place->first);
  const ImageForm& form = base.full.form;
  if (form.width != image.x || form.length != image.y) {
    return BadInput("OME: planes of {} x {}, but pages of {} x {}", image.x, image.y,
                    form.width, form.length);
  }
  if (image.c % form.samples != 0) {
    return BadInput("OME: {} channels of {} samples", image.c, form.samples);
  }
  const uint64_t channels = image.c / form.samples;
  NDLFS_TRY(const auto planes, PlanesOf(image, channels));
  Series series;
  series.picture.directory = base.directory;
  series.picture.full.form = form;
  series.picture.full.error = base.full.error;
  series.picture.overviews.resize(base.overviews.size());
  bool has_levels = true;
  for (const auto& plane : planes) {
    const auto* found = plane ? finder.Find(*plane) : nullptr;
    if (plane && found == nullptr) return BadInput("OME: there is no directory {}", *plane);
    const Picture* from = found != nullptr ? &finder.picture(found->first) : nullptr;
    const size_t i = found != nullptr ? found->second : 0;
    if (from != nullptr) {
      if (!(from->full.form == form)) return BadInput("OME: planes of two forms");
      used[found->first] = true;
      has_levels = has_levels && HaveSameLevels(from->overviews, base.overviews);
    }
    AddPage(from != nullptr ? &from->full : nullptr, i, series.picture.full);
    for (size_t level = 0; has_levels && level < base.overviews.size(); ++level) {
      Stack& to = series.picture.overviews[level];
      to.form = base.overviews[level].form;
      to.error = base.overviews[level].error;
      AddPage(from != nullptr ? &from->overviews[level] : nullptr, i, to);
    }
  }
  if (!has_levels) series.picture.overviews.clear();
  for (const auto& [name, size] :
       {std::pair{"t", image.t}, std::pair{"c", channels}, std::pair{"z", image.z}}) {
    if (size > 1) series.dims.push_back({name, size});
  }
  series.spacing = image.spacing;
  series.units = image.units;
  return series;
}

void AddNames(const OmeImage& image, Series& series) {
  model::AttributeRoom room;
  if (!image.name.empty() && room.Take("long_name", 1, image.name.size())) {
    series.attributes.push_back(model::MakeTextAttribute("long_name", image.name));
  }
  const bool any =
      std::ranges::any_of(image.channels, [](const auto& name) { return !name.empty(); });
  if (!any) return;
  model::Value::List names;
  uint64_t bytes = 0;
  for (const std::string& name : image.channels) {
    bytes += name.size();
    names.emplace_back(name);
  }
  if (!room.Take("channel_names", names.size(), bytes)) return;
  const uint64_t count = names.size();
  series.attributes.push_back(
      {"channel_names", model::Datatype::String(), {count}, std::move(names), {}});
}

Result<std::vector<Series>> SeriesOfFile(const OmeFile& file,
                                         const std::vector<Picture>& pictures) {
  if (file.images.empty()) return BadInput("OME: there is no image");
  const PageFinder finder(pictures);
  std::vector<bool> used(pictures.size());
  std::vector<Series> made;
  size_t planes = 0;
  for (const OmeImage& image : file.images) {
    NDLFS_TRY(auto series, SeriesOfOme(image, file.uuid, finder, used));
    planes += series.picture.full.pages.size();
    if (planes > kMostOmePages) return model::Limit("OME: too many planes");
    AddNames(image, series);
    made.push_back(std::move(series));
  }
  for (size_t p = 0; p < pictures.size(); ++p) {
    if (!used[p]) made.push_back(SeriesOf(pictures[p]));
  }
  return made;
}

}  // namespace

Result<std::vector<Series>> MakeSeries(TiffReader& reader, std::vector<Picture> pictures) {
  std::string description;
  if (const Field* field = pictures.front().directory.Find(kImageDescription)) {
    auto text = reader.Text(*field, kMostDescription);
    if (!text && text.error().is_transient()) return model::Propagate(text.error());
    if (text) description = *std::move(text);
  }
  std::string note;
  if (IsOme(description)) {
    const auto file = ReadOme(description);
    auto made = file ? SeriesOfFile(*file, pictures)
                     : Result<std::vector<Series>>(model::Propagate(file.error()));
    if (made) return made;
    note = made.error().message() + "; the pages are shown in their order";
  }
  std::vector<Series> made;
  for (Picture& picture : pictures) made.push_back(SeriesOf(std::move(picture)));
  if (made.size() == 1) UseImageJ(description, made.front());
  if (!note.empty()) made.front().notes.push_back(std::move(note));
  return made;
}

}  // namespace ndlfs::backends::tiff
