// SPDX-License-Identifier: MIT
//
// Reads PNG files as libpng does, for tests of what writes them.
#pragma once

#include <gtest/gtest.h>
#include <png.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fs/view/picture/drawing/canvas.h"

namespace ndlfs::fs::picture::test {

struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> bytes;  // three each

  Colour At(int x, int y) const {
    const size_t at =
        (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3;
    return {bytes.at(at), bytes.at(at + 1), bytes.at(at + 2)};
  }
  size_t Count(Colour colour) const {
    size_t count = 0;
    for (size_t i = 0; i < bytes.size(); i += 3) {
      count += Colour{bytes[i], bytes[i + 1], bytes[i + 2]} == colour ? 1 : 0;
    }
    return count;
  }
};

inline Pixels ReadPng(const std::string& file) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  Pixels pixels;
  EXPECT_TRUE(png_image_begin_read_from_memory(&image, file.data(), file.size()) != 0)
      << image.message;
  image.format = PNG_FORMAT_RGB;
  pixels.bytes.resize(PNG_IMAGE_SIZE(image));
  EXPECT_TRUE(png_image_finish_read(&image, nullptr, pixels.bytes.data(), 0, nullptr) != 0)
      << image.message;
  pixels.width = static_cast<int>(image.width);
  pixels.height = static_cast<int>(image.height);
  return pixels;
}

}  // namespace ndlfs::fs::picture::test
