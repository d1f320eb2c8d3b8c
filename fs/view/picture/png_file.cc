// SPDX-License-Identifier: MIT
#include "fs/view/picture/png_file.h"

#include <libdeflate.h>
#include <png.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ndlfs::fs::picture {
namespace {

using model::Result;

// The pixels as numbers of colours.
struct Indexed {
  std::vector<uint8_t> colours;  // three bytes each
  std::vector<uint8_t> pixels;
};

int Difference(int a, int b) { return (a - b) * (a - b); }

uint8_t Nearest(const std::vector<uint8_t>& colours, const uint8_t* colour) {
  size_t nearest = 0;
  int least = std::numeric_limits<int>::max();
  for (size_t i = 0; i < colours.size(); i += 3) {
    const int difference = Difference(colours[i], colour[0]) +
                           Difference(colours[i + 1], colour[1]) +
                           Difference(colours[i + 2], colour[2]);
    if (difference >= least) continue;
    least = difference;
    nearest = i / 3;
  }
  return static_cast<uint8_t>(nearest);
}

Indexed AsIndexed(const Canvas& canvas) {
  constexpr size_t kMostBytes = size_t{256} * 3;
  Indexed indexed;
  std::unordered_map<uint32_t, uint8_t> known;
  const auto bytes = canvas.bytes();
  indexed.pixels.reserve(bytes.size() / 3);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint8_t* at = &bytes[i];
    if (i > 0 && std::equal(at, at + 3, at - 3)) {
      indexed.pixels.push_back(indexed.pixels.back());
      continue;
    }
    const auto [entry, is_new] =
        known.try_emplace(uint32_t{at[0]} << 16 | uint32_t{at[1]} << 8 | at[2], uint8_t{0});
    if (is_new && indexed.colours.size() < kMostBytes) {
      entry->second = static_cast<uint8_t>(indexed.colours.size() / 3);
      indexed.colours.insert(indexed.colours.end(), at, at + 3);
    } else if (is_new) {
      entry->second = Nearest(indexed.colours, at);
    }
    indexed.pixels.push_back(entry->second);
  }
  return indexed;
}

// Through the part of libpng that catches its own errors.
Result<std::string> Write(const Canvas& canvas, PngColours colours, uint64_t most) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(canvas.width());
  image.height = static_cast<png_uint_32>(canvas.height());
  std::optional<Indexed> indexed;
  if (colours == PngColours::kPalette) indexed = AsIndexed(canvas);
  image.format = indexed ? PNG_FORMAT_RGB_COLORMAP : PNG_FORMAT_RGB;
  if (indexed) image.colormap_entries = static_cast<png_uint_32>(indexed->colours.size() / 3);
  std::string file(most, '\0');
  png_alloc_size_t size = file.size();
  const void* pixels = indexed ? indexed->pixels.data() : canvas.bytes().data();
  const void* palette = indexed ? indexed->colours.data() : nullptr;
  const int done = png_image_write_to_memory(&image, file.data(), &size, /*convert_to_8_bit=*/0,
                                             pixels, /*row_stride=*/0, palette);
  if (done == 0) {
    std::string reason = size > most ? "it is too large" : image.message;
    png_image_free(&image);
    return model::Internal("cannot write a picture: {}", reason);
  }
  file.resize(size);
  return file;
}

void AppendBig(std::string& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFF);
}

}  // namespace

Result<PngFile> EncodePng(const Canvas& canvas, PngColours colours, uint64_t size) {
  constexpr uint64_t kEndChunk = 12;    // IEND, which has nothing in it
  constexpr uint64_t kChunkFrame = 12;  // length, type and checksum
  if (size <= kChunkFrame) return model::Internal("a picture of {} bytes", size);
  PngFile file;
  NDLFS_TRY(file.head, Write(canvas, colours, size - kChunkFrame));
  if (file.head.size() < kEndChunk) return model::Internal("cannot write a picture");
  const std::string end = file.head.substr(file.head.size() - kEndChunk);
  file.head.resize(file.head.size() - kEndChunk);
  file.zeros = size - file.head.size() - kChunkFrame - kEndChunk;
  // Ancillary, private, not to be copied into changed pictures.
  const std::string type = "fiLL";
  AppendBig(file.head, static_cast<uint32_t>(file.zeros));
  file.head += type;
  uint32_t checksum = libdeflate_crc32(0, type.data(), type.size());
  const std::string zeros(std::min<uint64_t>(file.zeros, 4096), '\0');
  for (uint64_t done = 0; done < file.zeros;) {
    const uint64_t count = std::min<uint64_t>(zeros.size(), file.zeros - done);
    checksum = libdeflate_crc32(checksum, zeros.data(), count);
    done += count;
  }
  AppendBig(file.tail, checksum);
  file.tail += end;
  file.head.shrink_to_fit();
  return file;
}

}  // namespace ndlfs::fs::picture
