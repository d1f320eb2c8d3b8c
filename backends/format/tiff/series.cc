// SPDX-License-Identifier: MIT
#include "backends/format/tiff/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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
constexpr size_t kMostOmeFiles = 4096;

// No path: files of a set lie in one folder.
bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

Series SeriesOf(Picture picture) {
  Series series;
  const uint64_t pages = picture.full.pages.size();
  if (pages > 1) series.dims = {{"page", pages}};
  series.picture = std::move(picture);
  return series;
}

// A picture of ImageJ, whose resolution is in the unit that it names.
Result<void> UseImageJ(TiffReader& reader, const std::string& description, Series& series) {
  const Stack& full = series.picture.full;
  auto image = ReadImageJ(description, full.pages.size(), full.form);
  if (!image) return {};
  series.is_contiguous = full.pages.size() == 1 && !image->dims.empty();
  series.dims = std::move(image->dims);
  series.notes = std::move(image->notes);
  series.units = {image->unit, image->unit_of_y, image->unit_of_z, "s"};
  series.spacing[3] = image->seconds;
  if (!image->unit_of_z.empty()) series.spacing[2] = image->distance_of_z;
  for (const size_t axis : {0, 1}) {
    const Field* field = series.picture.directory.Find(axis == 0 ? kXResolution : kYResolution);
    if (field == nullptr || series.units[axis].empty()) continue;
    auto numbers = reader.Reals(*field, 1);
    if (!numbers && numbers.error().is_transient()) return model::Propagate(numbers.error());
    if (!numbers || numbers->size() != 1) continue;
    const double distance = 1 / numbers->front();
    if (std::isfinite(distance) && distance > 0) series.spacing[axis] = distance;
  }
  return {};
}

// A stack of MetaMorph: one directory, whose field UIC2 has for each plane the distance from
// the one before it, a fraction, and date and time twice. All planes follow each other.
Result<void> UseMetaMorph(TiffReader& reader, Series& series) {
  constexpr uint64_t kNumbers = 6, kMostPlanes = 100'000;
  constexpr uint16_t kLong = 4;
  const Field* field = series.picture.directory.Find(kMetaMorphPlanes);
  if (field == nullptr || field->count < 2 || series.picture.full.pages.size() != 1) return {};
  const uint64_t planes = field->count;
  series.is_contiguous = true;
  series.dims = {{"page", planes}};
  if (planes > kMostPlanes) return {};
  const Field numbers_field{kMetaMorphPlanes, kLong, planes * kNumbers, field->position};
  auto numbers = reader.Integers(numbers_field, planes * kNumbers);
  if (!numbers && numbers.error().is_transient()) return model::Propagate(numbers.error());
  if (!numbers) return {};
  bool is_z = true, is_t = true, is_even = true;
  const std::vector<uint64_t>& n = *numbers;
  for (uint64_t p = 0; p < planes; ++p) {
    const uint64_t at = p * kNumbers;
    is_z = is_z && n[at] != 0 && n[at + 1] != 0;
    if (p == 0) continue;
    is_t = is_t && (n[at + 2] != n[at - 4] || n[at + 3] != n[at - 3]);
    is_even = is_even && n[at] == n[kNumbers] && n[at + 1] == n[kNumbers + 1];
  }
  if (is_z || is_t) series.dims[0].name = is_z ? "z" : "t";
  if (is_z && is_even) {
    series.spacing[2] = static_cast<double>(n[kNumbers]) / static_cast<double>(n[kNumbers + 1]);
  }
  return {};
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

// Which file of a set planes are in.
class OmeFiles {
 public:
  OmeFiles(std::string_view uuid, std::string_view file_name)
      : uuid_(uuid), file_name_(file_name) {}

  // 0 for this file; others are counted from 1.
  Result<uint32_t> NumberOf(const OmeTiffData& data) {
    if (data.uuid.empty() || data.uuid == uuid_ || data.file_name == file_name_) return 0;
    const std::string& name = data.file_name;
    if (name.empty()) return BadInput("OME: the file {} has no name", model::Quote(data.uuid));
    if (!IsFileName(name)) {
      return BadInput("OME: FileName: {} is no name of a file", model::Quote(name));
    }
    const auto [found, is_new] =
        numbers_.emplace(name, static_cast<uint32_t>(others_.size() + 1));
    if (is_new) others_.push_back(name);
    if (others_.size() > kMostOmeFiles) return model::Limit("OME: too many files");
    return found->second;
  }
  std::vector<std::string> Take() && { return std::move(others_); }

 private:
  const std::string_view uuid_, file_name_;
  std::map<std::string, uint32_t, std::less<>> numbers_;
  std::vector<std::string> others_;
};

// The page of this file that the first plane of an image here is.
Result<const std::pair<size_t, size_t>*> FirstPage(const OmeImage& image, OmeFiles& files,
                                                   const PageFinder& finder) {
  std::optional<uint64_t> first;
  for (const OmeTiffData& data : image.data) {
    NDLFS_TRY(const uint32_t file, files.NumberOf(data));
    if (file == 0 && !first) first = data.directory;
  }
  if (!first && !image.data.empty()) {
    return model::Unsupported("OME: all planes are in other files");
  }
  const auto* place = finder.Find(first.value_or(0));
  if (place == nullptr) return BadInput("OME: there is no directory {}", first.value_or(0));
  return place;
}

Result<uint64_t> ChannelsOf(const OmeImage& image, const ImageForm& form) {
  if (form.width != image.x || form.length != image.y) {
    return BadInput("OME: planes of {} x {}, but pages of {} x {}", image.x, image.y,
                    form.width, form.length);
  }
  if (image.c % form.samples != 0) {
    return BadInput("OME: {} channels of {} samples", image.c, form.samples);
  }
  return image.c / form.samples;
}

// Puts the pages of an image together.
class OmeStack {
 public:
  OmeStack(const Picture& base, const PageFinder& finder, std::vector<bool>& used)
      : base_(base), finder_(finder), used_(used) {
    made_.directory = base.directory;
    made_.full.form = base.full.form;
    made_.full.error = base.full.error;
    for (const Stack& level : base.overviews) {
      made_.overviews.push_back({level.form, {}, level.error});
    }
  }

  void AddAbsent() {
    PageChunks absent;
    absent.is_absent = true;
    AddEverywhere(absent);
  }
  // A directory of another file, of which nobody knows yet whether it has overviews.
  void AddOther(uint32_t file, uint64_t directory) {
    PageChunks other;
    other.file = file;
    other.directory = directory;
    made_.full.pages.push_back(other);
    made_.overviews.clear();
  }
  Result<void> Add(uint64_t directory) {
    const auto* found = finder_.Find(directory);
    if (found == nullptr) return BadInput("OME: there is no directory {}", directory);
    const Picture& from = finder_.picture(found->first);
    if (!(from.full.form == base_.full.form)) return BadInput("OME: planes of two forms");
    used_[found->first] = true;
    if (!HaveSameLevels(from.overviews, base_.overviews)) made_.overviews.clear();
    made_.full.pages.push_back(from.full.pages[found->second]);
    for (size_t level = 0; level < made_.overviews.size(); ++level) {
      made_.overviews[level].pages.push_back(from.overviews[level].pages[found->second]);
    }
    return {};
  }

  Picture Take() && { return std::move(made_); }

 private:
  void AddEverywhere(const PageChunks& page) {
    made_.full.pages.push_back(page);
    for (Stack& level : made_.overviews) level.pages.push_back(page);
  }

  const Picture& base_;
  const PageFinder& finder_;
  std::vector<bool>& used_;
  Picture made_;
};

// The series of one image of OME. `used`: which pictures it has pages of.
Result<Series> SeriesOfOme(const OmeImage& image, OmeFiles files, const PageFinder& finder,
                           std::vector<bool>& used) {
  NDLFS_TRY(const auto* place, FirstPage(image, files, finder));
  const Picture& base = finder.picture(place->first);
  NDLFS_TRY(const uint64_t channels, ChannelsOf(image, base.full.form));
  NDLFS_TRY(const auto planes, PlanesOf(image, channels));
  OmeStack stack(base, finder, used);
  for (const auto& plane : planes) {
    if (!plane) {
      stack.AddAbsent();
      continue;
    }
    NDLFS_TRY(const uint32_t file, files.NumberOf(image.data[plane->data]));
    if (file == 0) {
      NDLFS_RETURN_IF_ERROR(stack.Add(plane->directory));
    } else {
      stack.AddOther(file, plane->directory);
    }
  }
  Series series;
  series.picture = std::move(stack).Take();
  series.others = std::move(files).Take();
  for (const auto& [name, size] :
       {std::pair{"t", image.t}, std::pair{"c", channels}, std::pair{"z", image.z}}) {
    if (size > 1) series.dims.push_back({name, size});
  }
  series.spacing = image.spacing;
  series.units = image.units;
  return series;
}

// One text for each channel, unless all are empty.
void AddTexts(const char* name, const std::vector<std::string>& texts,
              model::AttributeRoom& room, Series& series) {
  const bool any = std::ranges::any_of(texts, [](const auto& text) { return !text.empty(); });
  if (!any) return;
  model::Value::List list;
  uint64_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
    list.emplace_back(text);
  }
  if (!room.Take(name, list.size(), bytes)) return;
  const uint64_t count = list.size();
  series.attributes.push_back({name, model::Datatype::String(), {count}, std::move(list), {}});
}

void AddNames(const OmeImage& image, Series& series) {
  model::AttributeRoom room;
  if (!image.name.empty() && room.Take("long_name", 1, image.name.size())) {
    series.attributes.push_back(model::MakeTextAttribute("long_name", image.name));
  }
  std::vector<std::string> colors;
  for (const auto& color : image.colors) {
    colors.push_back(color ? fmt::format("#{:06X}", *color) : "");
  }
  AddTexts("channel_names", image.channels, room, series);
  AddTexts("channel_colors", colors, room, series);
}

// The description, which may be in a file beside this one.
Result<OmeFile> ReadOmeOf(const std::string& description, const OpenFileOf& open_other) {
  NDLFS_TRY(OmeFile file, ReadOme(description));
  if (file.companion.empty()) return file;
  if (!IsFileName(file.companion)) {
    return BadInput("OME: MetadataFile: {} is no name of a file", model::Quote(file.companion));
  }
  const auto store = open_other(file.companion);
  NDLFS_TRY(const auto value,
            store->Get("", kMostDescription, {.range = {0, kMostDescription}}),
            store->Describe(""));
  if (!value) return model::NotFound("OME: there is no file {}", model::Quote(file.companion));
  if (value->info.size > kMostDescription) {
    return model::Limit("OME: {} has {} bytes", model::Quote(file.companion), value->info.size);
  }
  std::string uuid = std::move(file.uuid);
  NDLFS_TRY(file, ReadOme(std::string(AsText(value->bytes.span()))), file.companion);
  file.uuid = std::move(uuid);
  return file;
}

Result<std::vector<Series>> SeriesOfFile(const OmeFile& file,
                                         const std::vector<Picture>& pictures,
                                         std::string_view file_name) {
  if (file.images.empty()) return BadInput("OME: there is no image");
  const PageFinder finder(pictures);
  std::vector<bool> used(pictures.size());
  std::vector<Series> made;
  size_t planes = 0;
  for (const OmeImage& image : file.images) {
    NDLFS_TRY(auto series, SeriesOfOme(image, OmeFiles(file.uuid, file_name), finder, used));
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

Result<std::vector<Series>> MakeSeries(TiffReader& reader, Pictures read,
                                       std::string_view file_name,
                                       const OpenFileOf& open_other) {
  std::vector<Picture>& pictures = read.pictures;
  std::string description;
  if (const Field* field = pictures.front().directory.Find(kImageDescription)) {
    auto text = reader.Text(*field, kMostDescription);
    if (!text && text.error().is_transient()) return model::Propagate(text.error());
    if (text) description = *std::move(text);
  }
  std::vector<std::string> notes = std::move(read.notes);
  std::vector<Series> made;
  if (IsOme(description)) {
    const auto file = ReadOmeOf(description, open_other);
    auto found = file ? SeriesOfFile(*file, pictures, file_name)
                      : Result<std::vector<Series>>(model::Propagate(file.error()));
    if (!found && found.error().is_transient()) return found;
    if (found) {
      made = *std::move(found);
    } else {
      notes.push_back(found.error().message() + "; the pages are shown in their order");
    }
  }
  if (made.empty()) {
    for (Picture& picture : pictures) made.push_back(SeriesOf(std::move(picture)));
    if (made.size() == 1) {
      NDLFS_RETURN_IF_ERROR(UseImageJ(reader, description, made.front()));
      NDLFS_RETURN_IF_ERROR(UseMetaMorph(reader, made.front()));
    }
  }
  notes.insert(notes.end(), made.front().notes.begin(), made.front().notes.end());
  made.front().notes = std::move(notes);
  return made;
}

}  // namespace ndlfs::backends::tiff
