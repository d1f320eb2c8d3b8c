// SPDX-License-Identifier: MIT
#include "fs/view/image/tiff_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/tiff/tags.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/place/geo_keys.h"
#include "fs/view/place/page_names.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using model::Result;
using enum backends::tiff::Tag;

// Elements begin at a multiple of this, and directories are as long.
constexpr uint64_t kTiffAlignment = 16;
// Readers count the pixels of a row and the rows of a page in a C int.
constexpr uint64_t kMostTiffPixels = std::numeric_limits<int32_t>::max();

uint64_t TiffAligned(uint64_t bytes) {
  return (bytes + kTiffAlignment - 1) / kTiffAlignment * kTiffAlignment;
}

// The most fields of a directory.
constexpr uint64_t kMostEntries = 23;

enum Type : uint16_t {
  kAscii = 2,
  kShort = 3,
  kLong = 4,
  kRational = 5,
  kIfd = 13,
  kDouble = 12,
  kLong8 = 16,
  kIfd8 = 18
};

// The differences between the two formats.
struct Variant {
  bool is_big;
  uint64_t file_header() const { return is_big ? 16 : 8; }
  uint64_t offset_bytes() const { return is_big ? 8 : 4; }
  uint64_t count_bytes() const { return is_big ? 8 : 2; }  // of entries
  uint64_t entry_bytes() const { return is_big ? 20 : 12; }
  uint64_t ifd_bytes(uint64_t entries) const {
    return count_bytes() + entries * entry_bytes() + offset_bytes();
  }
  Type offset_type() const { return is_big ? kLong8 : kLong; }
  Type ifd_type() const { return is_big ? kIfd8 : kIfd; }
};

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendOffset(std::string& out, const Variant& variant, uint64_t offset) {
  if (variant.is_big) {
    Append(out, offset);
  } else {
    Append(out, static_cast<uint32_t>(offset));
  }
}

uint16_t SampleFormatOf(Number number) {
  if (IsComplex(number)) return 6;
  if (IsFloat(number)) return 3;
  return IsUnsigned(number) ? 1 : 2;
}

// Where everything is in the file.
struct Layout {
  Variant variant;
  uint64_t shared = 0;       // the values that do not fit into entries
  uint64_t directories = 0;  // a record for each page, of the IFDs of all levels
  uint64_t record_bytes = 0;
  uint64_t sub_offsets = 0;    // in a record: the offsets of the SubIFDs
  std::vector<uint64_t> ifds;  // in a record: those of each level
  std::vector<uint64_t> data;  // of each level
  uint64_t end = 0;
};

// Values that do not fit into an entry, the same for all pages. They have their place whether
// they are used or not.
class SharedValues {
 public:
  explicit SharedValues(uint64_t begin) : begin_(begin) {}
  // Returns the offset in the file.
  uint64_t Add(const std::string& bytes) {
    text_.resize(TiffAligned(text_.size()), '\0');
    const uint64_t offset = begin_ + text_.size();
    text_ += bytes;
    return offset;
  }
  const std::string& text() const { return text_; }

 private:
  const uint64_t begin_;
  std::string text_;
};

class Directory {
 public:
  explicit Directory(const Variant& variant) : variant_(variant) {}

  void Add(backends::tiff::Tag tag, Type type, uint64_t count, uint64_t value_or_offset) {
    Append(entries_, static_cast<uint16_t>(tag));
    Append(entries_, static_cast<uint16_t>(type));
    AppendOffset(entries_, variant_, count);
    AppendOffset(entries_, variant_, value_or_offset);
    ++count_;
  }
  // `value` as one number; larger offsets than classic TIFF has are not called for there.
  void AddNumber(backends::tiff::Tag tag, uint64_t value) {
    const bool is_short = value <= std::numeric_limits<uint16_t>::max();
    const bool is_long = value <= std::numeric_limits<uint32_t>::max();
    Add(tag, is_short ? kShort : is_long ? kLong : kLong8, 1, value);
  }
  void AddOffset(backends::tiff::Tag tag, uint64_t value) {
    Add(tag, variant_.offset_type(), 1, value);
  }
  // Short numbers, which are also at `offset`.
  void AddShorts(backends::tiff::Tag tag, const std::vector<uint16_t>& values,
                 uint64_t offset) {
    const bool fits = FitsIn(values.size());
    uint64_t packed = 0;
    if (fits) std::memcpy(&packed, values.data(), 2 * values.size());
    Add(tag, kShort, values.size(), fits ? packed : offset);
  }
  // Whether so many of them stand in the entry itself.
  bool FitsIn(uint64_t shorts) const { return 2 * shorts <= variant_.offset_bytes(); }
  // The same short number `count` times.
  void AddShorts(backends::tiff::Tag tag, uint64_t value, uint64_t count, uint64_t offset) {
    uint64_t packed = 0;
    for (uint64_t i = 0; i < count && i < 4; ++i) packed |= value << (16 * i);
    Add(tag, kShort, count, FitsIn(count) ? packed : offset);
  }
  // A text, which is also at `offset`. One that fits stands in the entry itself. NUL counts.
  void AddText(backends::tiff::Tag tag, const std::string& text, uint64_t offset) {
    uint64_t packed = 0;
    const size_t count = text.size() + 1;
    const bool fits = count <= variant_.offset_bytes();
    if (fits) std::memcpy(&packed, text.c_str(), count);
    Add(tag, kAscii, count, fits ? packed : offset);
  }
  // `next` is the offset of the next directory, or 0.
  std::string Finish(uint64_t next) const {
    std::string out;
    if (variant_.is_big) {
      Append(out, count_);
    } else {
      Append(out, static_cast<uint16_t>(count_));
    }
    out += entries_;
    AppendOffset(out, variant_, next);
    return out;
  }

 private:
  const Variant variant_;
  uint64_t count_ = 0;
  std::string entries_;
};

// Everything that comes before the elements.
class Head {
 public:
  Head(TiffContent content, Layout layout)
      : content_(std::move(content)),
        layout_(std::move(layout)),
        front_([this] { return MakeFront(); }) {}

  // Fills in where everything is; nullopt where `variant` is too small for it.
  static std::optional<Layout> LayOut(const TiffContent& content, const Variant& variant);

  Result<void> Read(uint64_t offset, ByteSpan out) const {
    NDLFS_TRY(const auto front, front_.Get());
    if (offset < front->bytes.size()) CopyFrom(front->bytes, offset, offset, out);
    while (!out.empty()) {
      const uint64_t place = offset - layout_.directories;
      const std::string record = MakeRecord(place / layout_.record_bytes, *front);
      CopyFrom(record, place % layout_.record_bytes, offset, out);
    }
    return {};
  }

 private:
  // Where shared values are.
  struct Places {
    std::vector<uint64_t> bits;  // for each level
    std::vector<uint64_t> formats;
    uint64_t description = 0;
    uint64_t nodata = 0;
    uint64_t transform = 0;
    uint64_t keys = 0;
    uint64_t keys_count = 0;
    uint64_t doubles = 0;
    uint64_t doubles_count = 0;
    uint64_t resolution = 0;  // of x, then y
    uint64_t offsets = 0;     // of bands
    uint64_t counts = 0;
    uint64_t extra = 0;
    uint64_t metadata = 0;
    uint64_t metadata_bytes = 0;
  };
  // The facts that are known once coordinates have been read.
  struct Known {
    std::optional<GeoTransform> transform;
    TiffPixels pixels;
    PageNames names;
  };
  // The part of the file before the directories.
  struct Front {
    std::string bytes;
    Places places;
    bool has_place = false;
    TiffPixels pixels;
    std::string description;
  };

  // Copies from `skip` on as much as there is, and moves on.
  static void CopyFrom(const std::string& bytes, uint64_t skip, uint64_t& offset,
                       ByteSpan& out) {
    const uint64_t count = std::min<uint64_t>(out.size(), bytes.size() - skip);
    std::memcpy(out.data(), bytes.data() + skip, count);
    out = out.subspan(count);
    offset += count;
  }

  static uint64_t PagesOf(const TiffContent& content) {
    return content.has_bands ? 1 : content.levels.front().raster.pages;
  }
  uint64_t pages() const { return PagesOf(content_); }
  // Numbers in a pixel of the file.
  static uint64_t SamplesOf(const TiffContent& content, const Raster& raster) {
    return content.has_bands ? raster.pages : raster.samples;
  }
  static bool HasColours(const TiffContent& content, const Raster& raster) {
    return raster.is_colour && SamplesOf(content, raster) >= 3;
  }
  // What the samples of a pixel behind its grey or its colours are: 0 where nobody knows.
  static std::vector<uint16_t> ExtraOf(const TiffContent& content, const Raster& raster) {
    const uint64_t samples = SamplesOf(content, raster);
    const uint64_t known = HasColours(content, raster) ? 3 : 1;
    std::vector<uint16_t> extra(samples - std::min(known, samples));
    if (!extra.empty()) extra.front() = static_cast<uint16_t>(raster.alpha);
    return extra;
  }

  static std::string Shorts(uint64_t value, uint64_t count) {
    std::string out;
    for (uint64_t i = 0; i < count; ++i) Append(out, static_cast<uint16_t>(value));
    return out;
  }
  static std::string Matrix(const GeoTransform& t);
  static std::string Metadata(const TiffContent& content, const PageNames& names);
  static void ShareNames(const TiffContent& content, const Known& known, SharedValues& values,
                         Places& places);
  static Places Share(const TiffContent& content, const Layout& layout, const Known& known,
                      SharedValues& values);
  static void ShareBands(const TiffContent& content, const Layout& layout, SharedValues& values,
                         Places& places);
  static uint64_t ShareExtra(const TiffContent& content, SharedValues& values);
  Result<Known> ReadKnown() const;
  void AddPlace(const Front& front, Directory& directory) const;
  void AddPixels(const Front& front, Directory& directory) const;
  Result<Front> MakeFront() const;
  std::string MakeRecord(uint64_t page, const Front& front) const;
  Directory MakeDirectory(uint64_t page, size_t level, const Front& front) const;

  const TiffContent content_;
  const Layout layout_;
  const Deferred<Front> front_;
};

// Pixels to coordinates, as four rows of a matrix. It holds maps whose first row is the most
// southern, too, which a scale and a tie point would not for all readers.
std::string Head::Matrix(const GeoTransform& t) {
  const std::array<double, 16> matrix = {
      t.dx, t.x_of_line, 0, t.x0, t.y_of_pixel, t.dy, 0, t.y0, 0, 0, 0, 0, 0, 0, 0, 1};
  std::string out;
  for (const double number : matrix) Append(out, number);
  return out;
}

// GDAL's names of bands, all equally long: blanks follow short ones.
std::string Head::Metadata(const TiffContent& content, const PageNames& names) {
  std::string text = "<GDALMetadata>\n";
  const uint64_t bands = SamplesOf(content, content.levels.front().raster);
  for (uint64_t band = 0; band < bands; ++band) {
    const size_t kinds = content.of_bands.size();
    for (size_t i = 0; kinds > 0 && i < content.of_bands[band % kinds].size(); ++i) {
      const auto& [role, value] = content.of_bands[band % kinds][i];
      text += fmt::format("<Item name=\"{0}\" sample=\"{1}\" role=\"{0}\">{2}</Item>\n", role,
                          band, value);
    }
    if (!content.names) continue;
    const std::string name = names.Of(band);
    const std::string element = name.empty() ? std::string()
                                             : fmt::format(
                                                   "<Item name=\"DESCRIPTION\" sample=\"{}\" "
                                                   "role=\"description\">{}</Item>",
                                                   band, name);
    constexpr size_t kMarkup = 72;
    text += fmt::format("{:<{}}\n", element, PageNames::kMostBytes + kMarkup);
  }
  return text + "</GDALMetadata>\n";
}

std::string Rationals(const TiffPixels& pixels) {
  // A millionth of the unit is exact, as in ImageJ.
  constexpr double kPart = 1e6;
  std::string out;
  for (const double size : {pixels.width, pixels.height}) {
    double below = std::round(size * kPart);
    double above = kPart;
    while (below > 0 && below < 1000 && above < 1e9) {
      above *= 10;
      below = std::round(size * above);
    }
    while (below > 4e9) {
      above /= 10;
      below = std::round(size * above);
    }
    Append(out, static_cast<uint32_t>(above));
    Append(out, static_cast<uint32_t>(below));
  }
  return out;
}

// Bands are one strip each, and their values do not fit into entries.
void Head::ShareBands(const TiffContent& content, const Layout& layout, SharedValues& values,
                      Places& places) {
  const Raster& raster = content.levels.front().raster;
  const uint64_t data = layout.data.empty() ? 0 : layout.data.front();
  std::string offsets;
  std::string counts;
  for (uint64_t band = 0; band < raster.pages; ++band) {
    AppendOffset(offsets, layout.variant, data + band * raster.page_bytes());
    AppendOffset(counts, layout.variant, raster.page_bytes());
  }
  places.offsets = values.Add(offsets);
  places.counts = values.Add(counts);
}

void Head::ShareNames(const TiffContent& content, const Known& known, SharedValues& values,
                      Places& places) {
  const std::string metadata = Metadata(content, known.names) + '\0';
  places.metadata = values.Add(metadata);
  places.metadata_bytes = metadata.size();
}

// 0 where entries hold them.
uint64_t Head::ShareExtra(const TiffContent& content, SharedValues& values) {
  constexpr size_t kMostInEntries = 2;
  const std::vector<uint16_t> extra = ExtraOf(content, content.levels.front().raster);
  if (extra.size() <= kMostInEntries) return 0;
  std::string shorts;
  for (const uint16_t kind : extra) Append(shorts, kind);
  return values.Add(shorts);
}

Head::Places Head::Share(const TiffContent& content, const Layout& layout, const Known& known,
                         SharedValues& values) {
  Places places;
  for (const TiffLevel& level : content.levels) {
    const Raster& raster = level.raster;
    const uint64_t samples = SamplesOf(content, raster);
    places.bits.push_back(values.Add(Shorts(8 * SizeOf(raster.number), samples)));
    places.formats.push_back(values.Add(Shorts(SampleFormatOf(raster.number), samples)));
  }
  const std::string description =
      content.describe ? content.describe(known.pixels) : content.description;
  places.description = values.Add(description + '\0');
  places.nodata = values.Add(content.nodata + '\0');
  if (content.read_pixels) places.resolution = values.Add(Rationals(known.pixels));
  if (content.has_bands) ShareBands(content, layout, values, places);
  places.extra = ShareExtra(content, values);
  if (content.names || !content.of_bands.empty()) ShareNames(content, known, values, places);
  if (!content.place) return places;
  const GeoKeys keys = MakeGeoKeys(*content.place);
  GeoTransform transform = known.transform.value_or(GeoTransform());
  if (content.place->is_point && !keys.shorts.empty()) {
    // Of the middle of the first pixel.
    transform.x0 += (transform.dx + transform.x_of_line) / 2;
    transform.y0 += (transform.dy + transform.y_of_pixel) / 2;
  }
  places.transform = values.Add(Matrix(transform));
  std::string shorts;
  for (const uint16_t key : keys.shorts) Append(shorts, key);
  places.keys = values.Add(shorts);
  places.keys_count = keys.shorts.size();
  std::string doubles;
  for (const double number : keys.doubles) Append(doubles, number);
  places.doubles = values.Add(doubles);
  places.doubles_count = keys.doubles.size();
  return places;
}

std::optional<Layout> Head::LayOut(const TiffContent& content, const Variant& variant) {
  Layout layout;
  layout.variant = variant;
  layout.shared = TiffAligned(variant.file_header());
  SharedValues values(layout.shared);
  Share(content, layout, Known(), values);
  layout.directories = TiffAligned(layout.shared + values.text().size());
  layout.sub_offsets = TiffAligned(variant.ifd_bytes(kMostEntries));
  uint64_t end = layout.sub_offsets + TiffAligned((content.levels.size() - 1) * 8);
  layout.ifds.push_back(0);
  for (size_t level = 1; level < content.levels.size(); ++level) {
    layout.ifds.push_back(end);
    end += TiffAligned(variant.ifd_bytes(kMostEntries));
  }
  layout.record_bytes = end;
  const uint64_t pages = PagesOf(content);
  const auto records = backends::CheckedMultiply(pages, layout.record_bytes);
  const auto directories_end =
      records ? backends::CheckedAdd(layout.directories, *records) : std::nullopt;
  if (!directories_end || *directories_end > backends::kMaxViewSize) return std::nullopt;
  uint64_t data = *directories_end;
  for (const TiffLevel& level : content.levels) {
    data = TiffAligned(data);
    layout.data.push_back(data);
    data += level.elements->size();  // both are at most 2^62
    if (data > backends::kMaxViewSize) return std::nullopt;
  }
  layout.end = data;
  const bool fits = variant.is_big || data <= std::numeric_limits<uint32_t>::max();
  return fits ? std::optional(layout) : std::nullopt;
}

Result<Head::Known> Head::ReadKnown() const {
  Known known;
  if (content_.place) {
    NDLFS_TRY(known.transform, ReadGeoTransform(*content_.place));
  }
  if (content_.read_pixels) {
    NDLFS_TRY(known.pixels, content_.read_pixels());
  }
  if (content_.names) {
    NDLFS_TRY(known.names, PageNames::Read(*content_.names, content_.levels.front().raster));
  }
  return known;
}

// The header of the file, and the shared values.
Result<Head::Front> Head::MakeFront() const {
  NDLFS_TRY(const Known known, ReadKnown());
  Front front;
  front.has_place = known.transform.has_value();
  front.pixels = known.pixels;
  front.description =
      content_.describe ? content_.describe(known.pixels) : content_.description;
  std::string& out = front.bytes;
  out = "II";
  if (layout_.variant.is_big) {
    Append(out, uint16_t{43});
    Append(out, uint16_t{8});  // bytes of an offset
    Append(out, uint16_t{0});
  } else {
    Append(out, uint16_t{42});
  }
  AppendOffset(out, layout_.variant, layout_.directories);
  out.resize(layout_.shared, '\0');
  SharedValues values(layout_.shared);
  front.places = Share(content_, layout_, known, values);
  out += values.text();
  out.resize(layout_.directories, '\0');
  return front;
}

std::string Head::MakeRecord(uint64_t page, const Front& front) const {
  const uint64_t begin = layout_.directories + page * layout_.record_bytes;
  const uint64_t next = page + 1 < pages() ? begin + layout_.record_bytes : 0;
  std::string out = MakeDirectory(page, 0, front).Finish(next);
  out.resize(layout_.sub_offsets, '\0');
  for (size_t level = 1; level < content_.levels.size(); ++level) {
    AppendOffset(out, layout_.variant, begin + layout_.ifds[level]);
  }
  for (size_t level = 1; level < content_.levels.size(); ++level) {
    out.resize(layout_.ifds[level], '\0');
    out += MakeDirectory(page, level, front).Finish(0);
  }
  out.resize(layout_.record_bytes, '\0');
  return out;
}

void Head::AddPixels(const Front& front, Directory& directory) const {
  if (front.pixels.width <= 0 || front.pixels.height <= 0) return;
  directory.Add(kXResolution, kRational, 1, front.places.resolution);
  directory.Add(kYResolution, kRational, 1, front.places.resolution + 8);
}

void Head::AddPlace(const Front& front, Directory& directory) const {
  const Places& places = front.places;
  if (!front.has_place) return;
  directory.Add(kModelTransformation, kDouble, 16, places.transform);
  if (places.keys_count > 0) {
    directory.Add(kGeoKeyDirectory, kShort, places.keys_count, places.keys);
  }
  if (places.doubles_count > 0) {
    directory.Add(kGeoDoubleParams, kDouble, places.doubles_count, places.doubles);
  }
}

// Entries ascend by their tags.
Directory Head::MakeDirectory(uint64_t page, size_t level, const Front& front) const {
  const Raster& raster = content_.levels[level].raster;
  const Places& places = front.places;
  const uint64_t samples = SamplesOf(content_, raster);
  const bool has_many = content_.has_bands && samples > 1;
  Directory directory(layout_.variant);
  if (level > 0) directory.Add(kNewSubfileType, kLong, 1, 1);  // of reduced resolution
  directory.AddNumber(kImageWidth, raster.width);
  directory.AddNumber(kImageLength, raster.height);
  directory.AddShorts(kBitsPerSample, 8 * SizeOf(raster.number), samples, places.bits[level]);
  directory.AddNumber(kCompression, 1);
  directory.AddNumber(kPhotometric, HasColours(content_, raster) ? 2 : 1);
  if (level == 0 && page == 0 && !front.description.empty()) {
    directory.AddText(kImageDescription, front.description, places.description);
  }
  if (has_many) {
    directory.Add(kStripOffsets, layout_.variant.offset_type(), samples, places.offsets);
  } else {
    directory.AddOffset(kStripOffsets, layout_.data[level] + page * raster.page_bytes());
  }
  directory.AddNumber(kSamplesPerPixel, samples);
  directory.AddNumber(kRowsPerStrip, raster.height);
  if (has_many) {
    directory.Add(kStripByteCounts, layout_.variant.offset_type(), samples, places.counts);
  } else {
    directory.AddOffset(kStripByteCounts, raster.page_bytes());
  }
  if (level == 0) AddPixels(front, directory);
  directory.AddNumber(kPlanarConfiguration, has_many ? 2 : 1);
  const bool has_unit = level == 0 && front.pixels.width > 0 && front.pixels.height > 0;
  constexpr uint16_t kNoUnit = 1;
  constexpr uint16_t kCentimetre = 3;
  if (has_unit) {
    directory.AddNumber(kResolutionUnit, content_.is_in_centimetres ? kCentimetre : kNoUnit);
  }
  const size_t subs = content_.levels.size() - 1;
  if (level == 0 && subs > 0) {
    const uint64_t begin = layout_.directories + page * layout_.record_bytes;
    const uint64_t place = subs == 1 ? begin + layout_.ifds[1] : begin + layout_.sub_offsets;
    directory.Add(kSubIfds, layout_.variant.ifd_type(), subs, place);
  }
  if (const auto extra = ExtraOf(content_, raster); !extra.empty()) {
    directory.AddShorts(kExtraSamples, extra, places.extra);
  }
  directory.AddShorts(kSampleFormat, SampleFormatOf(raster.number), samples,
                      places.formats[level]);
  if (level == 0) AddPlace(front, directory);
  if (places.metadata_bytes > 0) {
    directory.Add(kGdalMetadata, kAscii, places.metadata_bytes, places.metadata);
  }
  if (level == 0 && !content_.nodata.empty()) {
    directory.AddText(kGdalNoData, content_.nodata, places.nodata);
  }
  return directory;
}

}  // namespace

bool FitsTiff(const Raster& raster) {
  return raster.width <= kMostTiffPixels && raster.height <= kMostTiffPixels;
}

void AddPages(const TiffContent& content, const TiffLevel& level,
              std::vector<Segment>& segments) {
  if (!content.order) {
    segments.push_back(AllOf(level.elements));
    return;
  }
  const uint64_t bytes = level.raster.page_bytes();
  for (uint64_t page = 0; page < level.raster.pages; ++page) {
    segments.push_back(Elements{level.elements, content.order(page) * bytes, bytes});
  }
}

Result<ViewPtr> MakeTiff(TiffContent content) {
  auto layout = Head::LayOut(content, {.is_big = false});
  if (!layout) layout = Head::LayOut(content, {.is_big = true});
  if (!layout) return model::Limit("more than {} bytes of TIFF", backends::kMaxViewSize);
  std::vector<Segment> segments;
  const auto head = std::make_shared<const Head>(content, *layout);
  const auto read = [head](uint64_t offset, ByteSpan out) { return head->Read(offset, out); };
  uint64_t end = layout->data.front();  // all before is a multiple of the alignment
  const uint64_t held_bytes = layout->directories + 2 * content.description.size();
  segments.push_back(MakeComputedBytes(end, read, held_bytes));
  for (size_t level = 0; level < content.levels.size(); ++level) {
    segments.push_back(Zeros{layout->data[level] - end});
    AddPages(content, content.levels[level], segments);
    end = layout->data[level] + content.levels[level].elements->size();
  }
  return MakeSegmentedView(std::move(segments));
}

}  // namespace ndlfs::fs
