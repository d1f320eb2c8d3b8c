// SPDX-License-Identifier: MIT
//
// PNG by https://www.w3.org/TR/png/. libdeflate makes smaller files than libpng. That matters
// here, because a preview has a fixed size.
#include "fs/view/picture/drawing/png_file.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/view/picture/drawing/canvas.h"

namespace ndlfs::fs::picture {
namespace {

using model::Result;

// The pixels of a picture as numbers of colours.
struct Indexed {
  std::vector<Colour> colours;  // from dark to light
  std::vector<uint8_t> pixels;  // row after row
};

// Uses at most `most` colours, 2 to 256. If the picture has no more, it keeps all of them;
// otherwise each colour becomes the most frequent one among those that are like it. The first
// colours of `kept`, at most half of `most`, stay as they are, and no other colour becomes one
// of them.
Indexed AsIndexed(const Canvas& canvas, size_t most, std::span<const Colour> kept = {});

// A colour, and how many pixels have it.
struct Counted {
  Colour colour;
  uint64_t count = 0;
};

uint32_t CodeOf(Colour c) {
  return uint32_t{c.red} << 16 | uint32_t{c.green} << 8 | uint32_t{c.blue};
}

int Luma(Colour c) { return 3 * c.red + 6 * c.green + c.blue; }

// The colours of a picture. More than kMostCounted are too many to sort; then those that
// differ in the last bits alone count as one.
class Counts {
 public:
  Counts(const Canvas& canvas, std::span<const Colour> kept) {
    for (const Colour colour : kept) kept_.push_back(CodeOf(colour));
    Count(canvas, 0);
    if (counted_.size() > kMostCounted) Count(canvas, 3);
  }

  const std::vector<Counted>& counted() const { return counted_; }
  // The number of a colour in counted(), as it was at first.
  uint32_t NumberOf(Colour colour) const { return numbers_.at(KeyOf(colour)); }
  bool IsKept(Colour colour) const { return std::ranges::count(kept_, CodeOf(colour)) != 0; }

 private:
  static constexpr size_t kMostCounted = 16'384;
  static constexpr uint32_t kAllBits = 0xFFFFFF;

  // Colours with the same key count as one.
  uint32_t KeyOf(Colour colour) const {
    const uint32_t code = CodeOf(colour);
    if (mask_ == kAllBits) return code;
    return IsKept(colour) ? code | (kAllBits + 1) : code & mask_;
  }

  void Count(const Canvas& canvas, int dropped_bits) {
    const uint32_t kept = 0xFFU << dropped_bits & 0xFFU;
    mask_ = kept << 16 | kept << 8 | kept;
    counted_.clear();
    numbers_.clear();
    const auto bytes = canvas.bytes();
    uint32_t last_code = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < bytes.size(); i += 3) {
      const Colour colour = {bytes[i], bytes[i + 1], bytes[i + 2]};
      const uint32_t code = CodeOf(colour);
      if (i == 0 || code != last_code) {
        const auto [entry, is_new] =
            numbers_.try_emplace(KeyOf(colour), static_cast<uint32_t>(counted_.size()));
        if (is_new) counted_.push_back({colour});
        last_code = code;
        last = entry->second;
      }
      ++counted_[last].count;
    }
  }

  uint32_t mask_ = kAllBits;
  std::vector<uint32_t> kept_;  // codes
  std::vector<Counted> counted_;
  std::unordered_map<uint32_t, uint32_t> numbers_;
};

// Colours that become one, as numbers of Counts.
struct ColourBox {
  std::vector<uint32_t> members;
  uint8_t Colour::*widest = &Colour::red;
  double weight = 0;  // of dividing it
};

ColourBox MakeBox(const std::vector<Counted>& counted, std::vector<uint32_t> members) {
  ColourBox box{std::move(members)};
  uint64_t pixels = 0;
  for (const uint32_t i : box.members) pixels += counted[i].count;
  int most = -1;
  for (uint8_t Colour::*channel : {&Colour::green, &Colour::red, &Colour::blue}) {
    const auto [least, greatest] = std::ranges::minmax(
        box.members, {}, [&](uint32_t i) { return counted[i].colour.*channel; });
    const int width = counted[greatest].colour.*channel - counted[least].colour.*channel;
    if (width <= most) continue;
    most = width;
    box.widest = channel;
  }
  box.weight =
      box.members.size() < 2 ? 0.0 : most * most * std::sqrt(static_cast<double>(pixels));
  return box;
}

// In two of about as many pixels each, neither empty.
std::pair<ColourBox, ColourBox> Divide(const std::vector<Counted>& counted, ColourBox box) {
  std::ranges::sort(box.members, {}, [&](uint32_t i) {
    return std::pair(counted[i].colour.*box.widest, CodeOf(counted[i].colour));
  });
  uint64_t pixels = 0;
  for (const uint32_t i : box.members) pixels += counted[i].count;
  size_t cut = 0;
  uint64_t before = 0;
  while (cut + 1 < box.members.size() && (cut == 0 || before * 2 < pixels)) {
    before += counted[box.members[cut++]].count;
  }
  const auto middle = box.members.begin() + static_cast<std::ptrdiff_t>(cut);
  return {MakeBox(counted, {box.members.begin(), middle}),
          MakeBox(counted, {middle, box.members.end()})};
}

std::vector<ColourBox> DivideAll(const std::vector<Counted>& counted,
                                 std::vector<uint32_t> members, size_t most) {
  std::vector<ColourBox> boxes = {MakeBox(counted, std::move(members))};
  while (boxes.size() < most) {
    const auto heaviest = std::ranges::max_element(boxes, {}, &ColourBox::weight);
    if (heaviest->weight == 0) break;
    auto [low, high] = Divide(counted, std::move(*heaviest));
    *heaviest = std::move(low);
    boxes.push_back(std::move(high));
  }
  return boxes;
}

// The pixels, with a palette of colours and of the numbers of those that become one of them.
Indexed IndexedOf(const Canvas& canvas, const Counts& counts,
                  std::vector<std::pair<Colour, std::vector<uint32_t>>> palette) {
  std::ranges::sort(palette, {}, [](const auto& entry) {
    return std::pair(Luma(entry.first), CodeOf(entry.first));
  });
  Indexed indexed;
  std::vector<uint8_t> entry_of(counts.counted().size());
  for (const auto& [colour, members] : palette) {
    for (const uint32_t i : members) entry_of[i] = static_cast<uint8_t>(indexed.colours.size());
    indexed.colours.push_back(colour);
  }
  const auto bytes = canvas.bytes();
  indexed.pixels.reserve(bytes.size() / 3);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    if (i > 0 && std::equal(&bytes[i], &bytes[i] + 3, &bytes[i] - 3)) {
      indexed.pixels.push_back(indexed.pixels.back());
    } else {
      indexed.pixels.push_back(
          entry_of[counts.NumberOf({bytes[i], bytes[i + 1], bytes[i + 2]})]);
    }
  }
  return indexed;
}

Indexed AsIndexed(const Canvas& canvas, size_t most, std::span<const Colour> kept) {
  Counts counts(canvas, kept.first(std::min(kept.size(), most / 2)));
  const std::vector<Counted>& counted = counts.counted();
  std::vector<std::pair<Colour, std::vector<uint32_t>>> palette;
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < counted.size(); ++i) {
    if (counts.IsKept(counted[i].colour)) {
      palette.emplace_back(counted[i].colour, std::vector{i});
    } else {
      others.push_back(i);
    }
  }
  const size_t left = std::max<size_t>(most - std::min(most, palette.size()), 1);
  if (others.empty()) return IndexedOf(canvas, counts, std::move(palette));
  for (ColourBox& box : DivideAll(counted, std::move(others), left)) {
    const uint32_t frequent = *std::ranges::max_element(
        box.members, {}, [&](uint32_t i) { return counted[i].count; });
    palette.emplace_back(counted[frequent].colour, std::move(box.members));
  }
  return IndexedOf(canvas, counts, std::move(palette));
}

using Bytes = std::vector<uint8_t>;

// How the bytes of a row are written: as differences from the bytes at the left, above, or
// both.
enum class RowFilter : uint8_t { kNone = 0, kSub = 1, kUp = 2, kPaeth = 4 };

struct PngRows {
  size_t row_bytes = 0;
  size_t pixel_bytes = 1;  // to the pixel at the left
  Bytes bytes;
};

void AppendBig32(std::string& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFF);
}

void AppendChunk(std::string& out, std::string_view type, std::string_view data) {
  AppendBig32(out, static_cast<uint32_t>(data.size()));
  const size_t begin = out.size();
  out += type;
  out += data;
  AppendBig32(out, libdeflate_crc32(0, out.data() + begin, out.size() - begin));
}

uint8_t Paeth(int left, int above, int corner) {
  const int guess = left + above - corner;
  const int to_left = std::abs(guess - left);
  const int to_above = std::abs(guess - above);
  const int to_corner = std::abs(guess - corner);
  if (to_left <= to_above && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_above <= to_corner ? above : corner);
}

class RowWriter {
 public:
  RowWriter(const PngRows& rows, Bytes& out) : rows_(rows), out_(out) {}

  void Append(size_t row, RowFilter filter) {
    out_.push_back(static_cast<uint8_t>(filter));
    for (size_t i = 0; i < rows_.row_bytes; ++i) out_.push_back(Filtered(row, i, filter));
  }
  // The sum of what the filter leaves: the less, the better it compresses.
  uint64_t Cost(size_t row, RowFilter filter) const {
    uint64_t cost = 0;
    for (size_t i = 0; i < rows_.row_bytes; ++i) {
      const uint8_t left = Filtered(row, i, filter);
      cost += std::min<uint64_t>(left, 256U - left);
    }
    return cost;
  }
  bool IsRepeated(size_t row) const {
    if (row == 0) return false;
    const uint8_t* at = &rows_.bytes[row * rows_.row_bytes];
    return std::equal(at, at + rows_.row_bytes, at - rows_.row_bytes);
  }

 private:
  uint8_t Filtered(size_t row, size_t i, RowFilter filter) const {
    const size_t at = row * rows_.row_bytes + i;
    const bool has_left = i >= rows_.pixel_bytes;
    const int left = has_left ? rows_.bytes[at - rows_.pixel_bytes] : 0;
    const int above = row > 0 ? rows_.bytes[at - rows_.row_bytes] : 0;
    switch (filter) {
      case RowFilter::kNone:
        return rows_.bytes[at];
      case RowFilter::kSub:
        return static_cast<uint8_t>(rows_.bytes[at] - left);
      case RowFilter::kUp:
        return static_cast<uint8_t>(rows_.bytes[at] - above);
      case RowFilter::kPaeth:
        break;
    }
    const int corner =
        row > 0 && has_left ? rows_.bytes[at - rows_.row_bytes - rows_.pixel_bytes] : 0;
    return static_cast<uint8_t>(rows_.bytes[at] - Paeth(left, above, corner));
  }

  const PngRows& rows_;
  Bytes& out_;
};

enum class FilterPlan : uint8_t {
  kNone,         // for few colours
  kDifferences,  // to the left, and nothing where a row is as the one above: for blocks
  kBest,         // for each row the one that leaves least: for photos
};

Bytes FilterRows(const PngRows& rows, FilterPlan plan) {
  Bytes out;
  const size_t count = rows.bytes.size() / rows.row_bytes;
  out.reserve(rows.bytes.size() + count);
  RowWriter writer(rows, out);
  for (size_t row = 0; row < count; ++row) {
    RowFilter filter = RowFilter::kNone;
    if (plan == FilterPlan::kDifferences) {
      filter = writer.IsRepeated(row) ? RowFilter::kUp : RowFilter::kSub;
    } else if (plan == FilterPlan::kBest) {
      uint64_t least = writer.Cost(row, filter);
      for (const RowFilter other : {RowFilter::kSub, RowFilter::kUp, RowFilter::kPaeth}) {
        const uint64_t cost = writer.Cost(row, other);
        if (cost < least) filter = other;
        least = std::min(least, cost);
      }
    }
    writer.Append(row, filter);
  }
  return out;
}

Result<std::string> CompressRows(const Bytes& bytes) {
  constexpr size_t kMostThorough = 256'000;  // which takes some ten milliseconds
  const int level = bytes.size() <= kMostThorough ? 12 : 9;
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>
      compressor(libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
  if (compressor == nullptr) return model::Limit("no memory to compress a picture");
  std::string out(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()), '\0');
  const size_t size = libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(),
                                               out.data(), out.size());
  if (size == 0) return model::Internal("cannot compress a picture");
  out.resize(size);
  return out;
}

// The shorter one of what `plans` make of the rows.
Result<std::string> CompressBest(const PngRows& rows, std::span<const FilterPlan> plans) {
  std::string best;
  for (const FilterPlan plan : plans) {
    NDLFS_TRY(std::string made, CompressRows(FilterRows(rows, plan)));
    if (best.empty() || made.size() < best.size()) best = std::move(made);
  }
  return best;
}

int DepthFor(size_t colours) {
  if (colours <= 2) return 1;
  if (colours <= 4) return 2;
  return colours <= 16 ? 4 : 8;
}

PngRows PackRows(const Indexed& indexed, size_t width, int depth) {
  PngRows rows;
  const size_t per_byte = 8 / static_cast<size_t>(depth);
  rows.row_bytes = (width + per_byte - 1) / per_byte;
  rows.bytes.resize(rows.row_bytes * (indexed.pixels.size() / width));
  for (size_t i = 0; i < indexed.pixels.size(); ++i) {
    const size_t column = i % width;
    const size_t shift = 8 - static_cast<size_t>(depth) * (column % per_byte + 1);
    rows.bytes[i / width * rows.row_bytes + column / per_byte] |=
        static_cast<uint8_t>(indexed.pixels[i] << shift);
  }
  return rows;
}

std::string BeginPng(const Canvas& canvas, int depth, char colour_type) {
  std::string header;
  AppendBig32(header, static_cast<uint32_t>(canvas.width()));
  AppendBig32(header, static_cast<uint32_t>(canvas.height()));
  header += static_cast<char>(depth);
  header += colour_type;
  header.append(3, '\0');  // deflate, filters, not interlaced
  std::string file = "\x89PNG\r\n\x1a\n";
  AppendChunk(file, "IHDR", header);
  return file;
}

}  // namespace

Result<std::string> EncodePng(const Canvas& canvas, size_t colours,
                              std::span<const Colour> kept) {
  constexpr char kPaletteType = 3;
  constexpr char kColourType = 2;
  const auto width = static_cast<size_t>(canvas.width());
  std::string file;
  std::string data;
  if (colours == kAllColours) {
    file = BeginPng(canvas, 8, kColourType);
    const auto bytes = canvas.bytes();
    NDLFS_TRY(data, CompressBest({width * 3, 3, {bytes.begin(), bytes.end()}},
                                 std::array{FilterPlan::kBest}));
  } else {
    const Indexed indexed = AsIndexed(canvas, colours, kept);
    const int depth = DepthFor(indexed.colours.size());
    file = BeginPng(canvas, depth, kPaletteType);
    std::string palette;
    for (const Colour& c : indexed.colours) {
      palette += static_cast<char>(c.red);
      palette += static_cast<char>(c.green);
      palette += static_cast<char>(c.blue);
    }
    AppendChunk(file, "PLTE", palette);
    const std::array plans = {FilterPlan::kNone, FilterPlan::kDifferences};
    NDLFS_TRY(data, CompressBest(PackRows(indexed, width, depth),
                                 std::span(plans).first(depth == 8 ? 2 : 1)));
  }
  AppendChunk(file, "IDAT", data);
  AppendChunk(file, "IEND", {});
  return file;
}

Result<PngFile> FillUp(std::string png, uint64_t size) {
  constexpr uint64_t kEndChunk = 12;  // IEND, which has nothing in it
  if (png.size() < kEndChunk || size < png.size() + kFillBytes) {
    return model::Internal("a picture of {} bytes for a file of {}", png.size(), size);
  }
  PngFile file;
  file.zeros = size - png.size() - kFillBytes;
  file.tail = png.substr(png.size() - kEndChunk);
  file.head = std::move(png);
  file.head.resize(file.head.size() - kEndChunk);
  // Ancillary, private, not to be copied into changed pictures.
  const std::string type = "fiLL";
  AppendBig32(file.head, static_cast<uint32_t>(file.zeros));
  file.head += type;
  uint32_t checksum = libdeflate_crc32(0, type.data(), type.size());
  const std::string zeros(std::min<uint64_t>(file.zeros, 4096), '\0');
  for (uint64_t done = 0; done < file.zeros;) {
    const uint64_t count = std::min<uint64_t>(zeros.size(), file.zeros - done);
    checksum = libdeflate_crc32(checksum, zeros.data(), count);
    done += count;
  }
  std::string sum;
  AppendBig32(sum, checksum);
  file.tail.insert(0, sum);
  file.head.shrink_to_fit();
  return file;
}

}  // namespace ndlfs::fs::picture
