// SPDX-License-Identifier: MIT
//
// Text as strokes: the letters of Latin (with marks), Greek and Cyrillic, digits, and the signs
// that units and titles are written with. Other characters are empty boxes.
#pragma once

#include <string>
#include <string_view>

#include "fs/view/picture/drawing/canvas.h"

namespace ndlfs::fs::picture {

// Where a text is, relative to the given point.
enum class Align : unsigned char { kLeft, kCentre, kRight };

struct TextStyle {
  double size = 15;  // height of a capital letter in pixels
  Colour colour = {0x22, 0x22, 0x22};
  bool is_bold = false;
  bool is_upwards = false;  // turned by 90 degrees to the left
};

// The width of `text`, which is UTF-8.
double TextWidth(std::string_view text, const TextStyle& style);

// Paints `text`; `at` is on its baseline.
void PaintText(Canvas& canvas, Point at, Align align, std::string_view text,
               const TextStyle& style);

// `text` on one line, with an ellipsis at its end if it is wider than `width`.
std::string FitText(std::string_view text, double width, const TextStyle& style);

}  // namespace ndlfs::fs::picture
