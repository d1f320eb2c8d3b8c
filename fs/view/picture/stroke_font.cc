// SPDX-License-Identifier: MIT
#include "fs/view/picture/stroke_font.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "model/utf8.h"

namespace ndlfs::fs::picture {
namespace {

// A character: how far to go on to the next one, and its strokes. Capital letters are 14 high,
// small ones 10, and descenders reach to -4. L: points to join. O: centre and radii of an
// ellipse. A: the same, and two angles in degrees, counter-clockwise from the right.
struct Glyph {
  uint32_t code;
  double advance;
  std::string_view strokes;
};

constexpr std::string_view kBox = "L 1.5 0 1.5 12 8.5 12 8.5 0 1.5 0";

constexpr Glyph kGlyphs[] = {
    {' ', 5, ""},
    {'!', 4, "L 2 14 2 4.2 O 2 0.4 0.4 0.4"},
    {'"', 6.5, "L 1.8 14 1.8 10 L 4.7 14 4.7 10"},
    {'#', 12, "L 3.2 0 5 14 L 7.2 0 9 14 L 1.2 9.6 11 9.6 L 0.8 4.4 10.6 4.4"},
    {'$', 10.6, "A 5.3 10 3.7 3 35 270 A 5.3 3.9 4 3.1 90 -145 L 5.3 15.5 5.3 -1.5"},
    {'%', 13, "O 3.3 11 2.2 2.9 O 9.7 3 2.2 2.9 L 10 14 3 0"},
    {'&', 12,
     "L 10.8 0 3.6 8.8 A 5.4 11.3 2.5 2.6 230 -55 L 6.8 9.2 2.6 6 A 4.6 3.4 3.6 3.4 125 320 L "
     "7.4 1.2 10.2 6.2"},
    {'\'', 3.6, "L 1.8 14 1.8 10"},
    {'(', 5.4, "A 7.4 5.5 5.8 9.5 125 235"},
    {')', 5.4, "A -2 5.5 5.8 9.5 55 -55"},
    {'*', 8, "L 4 14 4 7 L 1 12.2 7 8.8 L 1 8.8 7 12.2"},
    {'+', 10, "L 1 6 9 6 L 5 2 5 10"},
    {',', 4, "L 2.2 0.6 1.2 -2.6"},
    {'-', 7, "L 1.2 5 5.8 5"},
    {'.', 4, "O 2 0.4 0.4 0.4"},
    {'/', 6.5, "L 0.6 -1.8 5.9 14.6"},
    {'0', 10, "O 5 7 4 7"},
    {'1', 10, "L 2 11.2 5.6 14 5.6 0"},
    {'2', 10, "A 5 10 4 4 165 -35 L 8.28 7.7 1.1 0 9.1 0"},
    {'3', 10, "A 4.8 10.5 3.6 3.5 150 -90 A 4.8 3.6 4.2 3.5 90 -150"},
    {'4', 10, "L 7 0 7 14 0.9 4.3 9.5 4.3"},
    {'5', 10, "L 8.4 14 2.3 14 1.75 7.85 A 4.7 4.6 4.2 4.6 135 -150"},
    {'6', 10, "O 5 4.4 4 4.4 A 8.5 4.4 7.5 9.6 180 96"},
    {'7', 10, "L 1 14 9 14 3.6 0"},
    {'8', 10, "O 5 10.6 3.5 3.4 O 5 3.6 4.1 3.6"},
    {'9', 10, "O 5 9.6 4 4.4 A 1.5 9.6 7.5 9.6 0 -84"},
    {':', 4, "O 2 0.6 0.4 0.4 O 2 8.8 0.4 0.4"},
    {';', 4, "L 2.2 0.6 1.2 -2.6 O 2 8.8 0.4 0.4"},
    {'<', 10, "L 9 11 1.4 6 9 1"},
    {'=', 10, "L 1 8 9 8 L 1 4 9 4"},
    {'>', 10, "L 1 11 8.6 6 1 1"},
    {'?', 9, "A 4.5 10.4 3.5 3.6 165 -45 L 6.97 7.85 4.6 5.6 4.6 4 O 4.6 0.4 0.4 0.4"},
    {'@', 15,
     "O 7.2 5.4 2.7 3.1 L 9.9 8.5 9.9 4.2 A 11.5 4.2 1.6 1.9 180 350 A 7.5 5.4 5.8 7.4 0 300 L "
     "13.1 3.8 13.3 5.4"},
    {'A', 12, "L 0.8 0 6 14 11.2 0 L 2.7 5 9.3 5"},
    {'B', 11.2,
     "L 6 0 1.6 0 1.6 14 6 14 A 6 10.6 3.4 3.4 90 -90 L 6 7.2 1.6 7.2 A 6 3.6 4.1 3.6 90 -90"},
    {'C', 12.4, "A 7.2 7 6 7 48 312"},
    {'D', 12.8, "L 5.4 0 1.6 0 1.6 14 5.4 14 A 5.4 7 6.2 7 90 -90"},
    {'E', 10.4, "L 9.2 0 1.6 0 1.6 14 9.2 14 L 1.6 7.3 8.2 7.3"},
    {'F', 9.8, "L 1.6 0 1.6 14 9 14 L 1.6 7.2 7.8 7.2"},
    {'G', 13.6, "A 7.2 7 6 7 48 325 L 12.1 3 12.1 6.6 8.2 6.6"},
    {'H', 12.2, "L 1.6 0 1.6 14 L 10.6 0 10.6 14 L 1.6 7.3 10.6 7.3"},
    {'I', 4, "L 2 0 2 14"},
    {'J', 8.4, "L 6.6 14 6.6 4 A 3.8 4 2.8 4 0 -155"},
    {'K', 11.2, "L 1.6 0 1.6 14 L 10 14 1.6 5.4 L 4.8 8.7 10.4 0"},
    {'L', 9.4, "L 1.6 14 1.6 0 8.8 0"},
    {'M', 14.2, "L 1.6 0 1.6 14 7.1 3 12.6 14 12.6 0"},
    {'N', 12.2, "L 1.6 0 1.6 14 10.6 0 10.6 14"},
    {'O', 14.4, "O 7.2 7 6.1 7"},
    {'P', 10.8, "L 1.6 0 1.6 14 5.8 14 A 5.8 10.3 3.9 3.7 90 -90 L 5.8 6.6 1.6 6.6"},
    {'Q', 14.4, "O 7.2 7 6.1 7 L 8.8 3.6 13 -1"},
    {'R', 11.4,
     "L 1.6 0 1.6 14 5.8 14 A 5.8 10.3 3.9 3.7 90 -90 L 5.8 6.6 1.6 6.6 L 5.6 6.6 10.2 0"},
    {'S', 10.8, "A 5.4 10.5 3.8 3.5 30 270 A 5.4 3.5 4.2 3.5 90 -150"},
    {'T', 11, "L 0.6 14 10.4 14 L 5.5 14 5.5 0"},
    {'U', 12, "L 1.5 14 1.5 4.5 A 6 4.5 4.5 4.5 180 360 L 10.5 4.5 10.5 14"},
    {'V', 11.6, "L 0.8 14 5.8 0 10.8 14"},
    {'W', 16.4, "L 0.8 14 4.4 0 8.2 13 12 0 15.6 14"},
    {'X', 11, "L 1 14 10 0 L 10 14 1 0"},
    {'Y', 11, "L 0.8 14 5.5 6.8 10.2 14 L 5.5 6.8 5.5 0"},
    {'Z', 10.8, "L 1 14 9.6 14 1 0 9.9 0"},
    {'[', 5, "L 4.2 15.5 1.6 15.5 1.6 -3 4.2 -3"},
    {'\\', 6.5, "L 0.6 14.6 5.9 -1.8"},
    {']', 5, "L 0.8 15.5 3.4 15.5 3.4 -3 0.8 -3"},
    {'^', 8, "L 1.2 9.5 4 14 6.8 9.5"},
    {'_', 8.5, "L 0.4 -2.4 8.1 -2.4"},
    {'`', 5, "L 1.4 14.4 3.4 11.8"},
    {'a', 10.6, "O 5 4.9 3.9 4.9 L 8.9 9.8 8.9 0"},
    {'b', 10.6, "L 1.6 14 1.6 0 O 5.5 4.9 3.9 4.9"},
    {'c', 9.2, "A 5.2 4.9 4.1 4.9 45 315"},
    {'d', 10.6, "L 8.9 14 8.9 0 O 5 4.9 3.9 4.9"},
    {'e', 10, "L 1.1 5.1 8.9 5.1 A 5 4.9 3.9 4.9 2 315"},
    {'f', 5.8, "A 5 11.2 2.5 2.8 75 180 L 2.5 11.2 2.5 0 L 0.5 9.6 5 9.6"},
    {'g', 10.6, "O 5 4.9 3.9 4.9 L 8.9 9.8 8.9 -0.5 A 5 -0.5 3.9 3.6 0 -150"},
    {'h', 10.2, "L 1.6 14 1.6 0 A 5.1 5.9 3.5 3.9 180 0 L 8.6 5.9 8.6 0"},
    {'i', 4, "L 2 9.8 2 0 O 2 13.3 0.4 0.4"},
    {'j', 4.4, "L 2.4 9.8 2.4 -1.6 A 0.4 -1.6 2 2.4 0 -95 O 2.4 13.3 0.4 0.4"},
    {'k', 9, "L 1.6 14 1.6 0 L 7.9 9.8 1.6 3.7 L 4.1 6.2 8.4 0"},
    {'l', 4.6, "L 2 14 2 2.2 A 4 2.2 2 2.2 180 265"},
    {'m', 15.4,
     "L 1.6 9.8 1.6 0 A 4.65 6.2 3.05 3.6 180 0 L 7.7 6.2 7.7 0 A 10.75 6.2 3.05 3.6 180 0 L "
     "13.8 6.2 13.8 0"},
    {'n', 10.2, "L 1.6 9.8 1.6 0 A 5.1 5.9 3.5 3.9 180 0 L 8.6 5.9 8.6 0"},
    {'o', 10.2, "O 5.1 4.9 4 4.9"},
    {'p', 10.6, "L 1.6 9.8 1.6 -4 O 5.5 4.9 3.9 4.9"},
    {'q', 10.6, "L 8.9 9.8 8.9 -4 O 5 4.9 3.9 4.9"},
    {'r', 6.8, "L 1.6 9.8 1.6 0 A 5.2 5.6 3.6 4.2 180 78"},
    {'s', 8.4, "A 4.3 7.35 2.9 2.45 30 270 A 4.3 2.45 3.3 2.45 90 -150"},
    {'t', 6.2, "L 2.6 13 2.6 2.8 A 5.1 2.8 2.5 2.8 180 275 L 0.6 9.6 5.2 9.6"},
    {'u', 10.2, "L 1.6 9.8 1.6 3.9 A 5.1 3.9 3.5 3.9 180 360 L 8.6 9.8 8.6 0"},
    {'v', 9, "L 0.7 9.8 4.5 0 8.3 9.8"},
    {'w', 13.4, "L 0.7 9.8 3.7 0 6.7 9.2 9.7 0 12.7 9.8"},
    {'x', 8.8, "L 0.9 9.8 7.9 0 L 7.9 9.8 0.9 0"},
    {'y', 9, "L 0.7 9.8 4.5 0 L 8.3 9.8 4 -1.6 A 1.6 -0.8 2.6 3.2 -20 -95"},
    {'z', 8.8, "L 1 9.8 7.7 9.8 1 0 7.9 0"},
    {'{', 6, "L 5 15.5 3.2 14.5 3.2 8 1.2 6.2 3.2 4.4 3.2 -2 5 -3"},
    {'|', 4, "L 2 15.5 2 -3"},
    {'}', 6, "L 1 15.5 2.8 14.5 2.8 8 4.8 6.2 2.8 4.4 2.8 -2 1 -3"},
    {'~', 10, "A 3 5.6 2 1.6 170 0 A 7 5.6 2 1.6 180 350"},
    {0xB0, 6, "O 3 11.8 2 2"},                         // degree
    {0xB1, 10, "L 1 7 9 7 L 5 3 5 11 L 1 0.5 9 0.5"},  // plus-minus
    {0xB5, 10.2,
     "L 1.6 9.8 1.6 -4 L 1.6 3.9 1.6 3.8 A 5.1 3.9 3.5 3.9 180 360 L 8.6 9.8 8.6 0"},  // micro
    {0xB7, 5, "O 2.5 5 0.5 0.5"},                                        // middle dot
    {0xC5, 12, "L 0.8 0 6 13 11.2 0 L 2.7 4.6 9.3 4.6 O 6 15 1.6 1.6"},  // angstrom
    {0xD7, 9, "L 1.6 9 7.4 3 L 1.6 3 7.4 9"},                            // times
    {0x2026, 11, "O 2 0.4 0.4 0.4 O 5.5 0.4 0.4 0.4 O 9 0.4 0.4 0.4"},   // ellipsis
    {0x2212, 10, "L 1 6 9 6"},                                           // minus
    {0x207B, 5.5, "L 0.9 10.6 4.6 10.6"},                                // superscript minus
};

// A superscript is its digit, smaller and higher.
constexpr std::array<uint32_t, 10> kSuperscriptCodes = {0x2070, 0xB9,   0xB2,   0xB3,   0x2074,
                                                        0x2075, 0x2076, 0x2077, 0x2078, 0x2079};
constexpr double kSuperscriptSize = 0.64;
constexpr double kSuperscriptRise = 6.4;

struct PlacedGlyph {
  std::string_view strokes = kBox;
  double advance = 10;
  double scale = 1;
  double rise = 0;
};

// Characters that look like one that there is.
uint32_t Alike(uint32_t code) {
  switch (code) {
    case 0xA0:
    case 0x2009:
    case 0x202F:
      return ' ';
    case 0x3BC:
      return 0xB5;
    case 0x2010:
    case 0x2011:
    case 0x2013:
    case 0x2014:
      return '-';
    case 0x2018:
    case 0x2019:
      return '\'';
    case 0x201C:
    case 0x201D:
      return '"';
    case 0xBA:
      return 0xB0;
    case 0x22C5:
    case 0x2022:
      return 0xB7;
    case 0x212B:
      return 0xC5;
    default:
      return code;
  }
}

PlacedGlyph FindGlyph(uint32_t code) {
  code = Alike(code);
  const auto superscript = std::ranges::find(kSuperscriptCodes, code);
  if (superscript != kSuperscriptCodes.end()) {
    const auto digit = static_cast<uint32_t>('0' + (superscript - kSuperscriptCodes.begin()));
    PlacedGlyph glyph = FindGlyph(digit);
    return {glyph.strokes, glyph.advance * kSuperscriptSize, kSuperscriptSize,
            kSuperscriptRise};
  }
  const auto* glyph = std::ranges::find(kGlyphs, code, &Glyph::code);
  if (glyph == std::end(kGlyphs)) return {};
  return {glyph->strokes, glyph->advance};
}

// Takes the characters of UTF-8 one by one; what is none is U+FFFD.
std::vector<uint32_t> Characters(std::string_view text) {
  std::vector<uint32_t> codes;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, model::Utf8SequenceLength(text));
    const auto first = static_cast<unsigned char>(text.front());
    uint32_t code = 0xFFFD;
    if (model::Utf8SequenceLength(text) == 1) code = first;
    if (length > 1) {
      code = first & (0x7FU >> length);
      for (size_t i = 1; i < length; ++i) {
        code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
      }
    }
    if (code < ' ' || code == 0x7F) code = ' ';
    codes.push_back(code);
    text.remove_prefix(length);
  }
  return codes;
}

// The strokes of a glyph as lines, in its own units.
class StrokeReader {
 public:
  explicit StrokeReader(std::string_view strokes) : rest_(strokes) {}

  bool Next(std::vector<Point>& line) {
    line.clear();
    SkipBlanks();
    if (rest_.empty()) return false;
    const char command = rest_.front();
    rest_.remove_prefix(1);
    std::vector<double> numbers;
    while (TakeNumber(numbers)) {
    }
    if (command == 'L') {
      for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
        line.push_back({numbers[i], numbers[i + 1]});
      }
    } else if (command == 'A' && numbers.size() == 6) {
      AddArc(numbers, numbers[4], numbers[5], line);
    } else if (numbers.size() == 4) {
      AddArc(numbers, 0, 360, line);
    }
    return true;
  }

 private:
  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
  }
  bool TakeNumber(std::vector<double>& numbers) {
    SkipBlanks();
    double number = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (read.ec != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(read.ptr - rest_.data()));
    numbers.push_back(number);
    return true;
  }
  static void AddArc(const std::vector<double>& ellipse, double from, double to,
                     std::vector<Point>& line) {
    constexpr double kStep = 12;
    const int pieces = std::max(1, static_cast<int>(std::ceil(std::abs(to - from) / kStep)));
    for (int i = 0; i <= pieces; ++i) {
      const double angle = (from + (to - from) * i / pieces) * std::numbers::pi / 180;
      line.push_back({ellipse[0] + ellipse[2] * std::cos(angle),
                      ellipse[1] + ellipse[3] * std::sin(angle)});
    }
  }

  std::string_view rest_;
};

constexpr double kCapitalHeight = 14;

double ThicknessOf(const TextStyle& style) {
  return std::max(1.1, style.size * (style.is_bold ? 0.155 : 0.115));
}

// Thick strokes take away from the room between characters.
double AdvanceOf(const PlacedGlyph& glyph, const TextStyle& style) {
  return glyph.advance + (style.is_bold ? 1.1 : 0.5);
}

}  // namespace

double TextWidth(std::string_view text, const TextStyle& style) {
  double width = 0;
  for (const uint32_t code : Characters(text)) width += AdvanceOf(FindGlyph(code), style);
  return width * style.size / kCapitalHeight;
}

void PaintText(Canvas& canvas, Point at, Align align, std::string_view text,
               const TextStyle& style) {
  const double unit = style.size / kCapitalHeight;
  double pen = align == Align::kLeft ? 0 : -TextWidth(text, style);
  if (align == Align::kCentre) pen /= 2;
  std::vector<std::vector<Point>> lines;
  std::vector<Point> line;
  for (const uint32_t code : Characters(text)) {
    const PlacedGlyph glyph = FindGlyph(code);
    for (StrokeReader strokes(glyph.strokes); strokes.Next(line);) {
      for (Point& p : line) {
        const double right = pen + p.x * glyph.scale * unit;
        const double up = (p.y * glyph.scale + glyph.rise) * unit;
        p = style.is_upwards ? Point{at.x - up, at.y - right} : Point{at.x + right, at.y - up};
      }
      lines.push_back(line);
    }
    pen += AdvanceOf(glyph, style) * unit;
  }
  canvas.Stroke(lines, ThicknessOf(style), style.colour, canvas.All());
}

std::string FitText(std::string_view text, double width, const TextStyle& style) {
  constexpr std::string_view kEllipsis = "\u2026";
  text = text.substr(0, 4096);  // which no picture is wide enough for
  if (TextWidth(text, style) <= width) return std::string(text);
  std::string fitted;
  double used = TextWidth(kEllipsis, style);
  while (!text.empty()) {
    const std::string_view next =
        text.substr(0, std::max<size_t>(1, model::Utf8SequenceLength(text)));
    used += TextWidth(next, style);
    if (used > width) break;
    fitted += next;
    text.remove_prefix(next.size());
  }
  while (fitted.ends_with(' ')) fitted.pop_back();
  return fitted + std::string(kEllipsis);
}

}  // namespace ndlfs::fs::picture
