// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/stroke_font.h"

#include <utf8proc.h>

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
#include "fs/view/picture/drawing/letters.inc"
};

// A mark above or below a letter. The strokes are for small letters, around the middle of the
// letter; above tall letters they are higher.
struct Mark {
  uint32_t code;
  bool is_above;
  std::string_view strokes;
};

constexpr Mark kMarks[] = {
#include "fs/view/picture/drawing/marks.inc"
};
constexpr double kTallRise = 4.4;

// Digits that are smaller, and higher or lower.
constexpr std::array<uint32_t, 10> kSuperscriptCodes = {0x2070, 0xB9,   0xB2,   0xB3,   0x2074,
                                                        0x2075, 0x2076, 0x2077, 0x2078, 0x2079};
constexpr uint32_t kFirstSubscript = 0x2080;
constexpr double kSuperscriptSize = 0.64;
constexpr double kSuperscriptRise = 6.4;
constexpr double kSubscriptRise = -3;

struct PlacedGlyph {
  std::string_view strokes = kBox;
  double advance = 10;
  double scale = 1;
  double rise = 0;
  double shift = 0;  // to the right
};

// Letters of other scripts that look like Latin ones, and signs that look like others.
struct LookAlike {
  uint32_t code;
  uint32_t alike;
};
constexpr LookAlike kLookAlikes[] = {
#include "fs/view/picture/drawing/look_alikes.inc"
};

uint32_t Alike(uint32_t code) {
  const auto* found = std::ranges::find(kLookAlikes, code, &LookAlike::code);
  return found == std::end(kLookAlikes) ? code : found->alike;
}

PlacedGlyph Scaled(const PlacedGlyph& glyph, double scale, double rise) {
  return {glyph.strokes, glyph.advance * scale, scale, rise};
}

// Most small letters of Cyrillic are small capitals.
bool IsSmallCyrillic(uint32_t code) { return code >= 0x430 && code <= 0x44F; }

PlacedGlyph FindGlyph(uint32_t code) {
  constexpr double kSmallHeight = 0.7;
  constexpr uint32_t kToCapital = 0x20;
  code = Alike(code);
  const auto superscript = std::ranges::find(kSuperscriptCodes, code);
  if (superscript != kSuperscriptCodes.end()) {
    const auto digit = static_cast<uint32_t>('0' + (superscript - kSuperscriptCodes.begin()));
    return Scaled(FindGlyph(digit), kSuperscriptSize, kSuperscriptRise);
  }
  if (code >= kFirstSubscript && code < kFirstSubscript + 10) {
    return Scaled(FindGlyph('0' + (code - kFirstSubscript)), kSuperscriptSize, kSubscriptRise);
  }
  if (code == 0x207A) return Scaled(FindGlyph('+'), kSuperscriptSize, kSuperscriptRise);
  if (code == 0x207F) return Scaled(FindGlyph('n'), kSuperscriptSize, kSuperscriptRise);
  const auto* glyph = std::ranges::find(kGlyphs, code, &Glyph::code);
  if (glyph != std::end(kGlyphs)) return {glyph->strokes, glyph->advance};
  if (IsSmallCyrillic(code)) return Scaled(FindGlyph(code - kToCapital), kSmallHeight, 0);
  return {};
}

// Whether a mark above has to be higher than above an "a".
bool IsTall(uint32_t code) {
  code = Alike(code);
  return code < 0x250 ? (code >= 'A' && code <= 'Z') ||
                            std::string_view("bdfhklt").find(static_cast<char>(code)) !=
                                std::string_view::npos
                      : (code >= 0x391 && code <= 0x3A9) || (code >= 0x400 && code <= 0x42F);
}

// Signs that are several of those above.
std::u32string_view Expanded(uint32_t code) {
  switch (code) {
    case 0xA9:
      return U"(c)";
    case 0xAE:
      return U"(R)";
    case 0xBC:
      return U"\u00b9\u2044\u2084";
    case 0xBD:
      return U"\u00b9\u2044\u2082";
    case 0xBE:
      return U"\u00b3\u2044\u2084";
    case 0x2103:
      return U"\u00b0C";
    default:
      return {};
  }
}

// Appends `code`, or the letter and the marks that it consists of.
void AppendCharacter(uint32_t code, std::vector<uint32_t>& codes) {
  constexpr size_t kMostParts = 8;
  if (code < 0x80) {
    codes.push_back(code < ' ' || code == 0x7F ? ' ' : code);
    return;
  }
  if (const auto several = Expanded(code); !several.empty()) {
    codes.insert(codes.end(), several.begin(), several.end());
    return;
  }
  std::array<utf8proc_int32_t, kMostParts> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                             kMostParts, UTF8PROC_DECOMPOSE, &boundary);
  // A character whose parts have no strokes becomes one box, and not several.
  const bool is_letter_with_marks =
      count > 1 && static_cast<size_t>(count) <= kMostParts &&
      std::all_of(parts.begin() + 1, parts.begin() + count, [](utf8proc_int32_t part) {
        return utf8proc_category(part) == UTF8PROC_CATEGORY_MN;
      });
  if (is_letter_with_marks) {
    codes.insert(codes.end(), parts.begin(), parts.begin() + count);
  } else {
    codes.push_back(count == 1 ? static_cast<uint32_t>(parts[0]) : code);
  }
}

// Takes the characters of UTF-8 one by one. Bytes that are no character become U+FFFD.
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
    AppendCharacter(code, codes);
    text.remove_prefix(length);
  }
  return codes;
}

bool IsMark(uint32_t code) {
  return code >= 0x300 &&
         utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_MN;
}

// The glyphs of `text` one after the other; marks, which have no width, follow their letters.
std::vector<PlacedGlyph> GlyphsOf(std::string_view text) {
  std::vector<PlacedGlyph> glyphs;
  const std::vector<uint32_t> codes = Characters(text);
  uint32_t letter = 0;
  double advance = 0;  // of the letter
  for (size_t i = 0; i < codes.size(); ++i) {
    const uint32_t code = codes[i];
    if (!IsMark(code)) {
      const auto* next = i + 1 < codes.size()
                             ? std::ranges::find(kMarks, codes[i + 1], &Mark::code)
                             : std::end(kMarks);
      const bool loses_dot = next != std::end(kMarks) && next->is_above && Alike(code) == 'i';
      letter = code;
      glyphs.push_back(FindGlyph(loses_dot ? 0x131 : code));
      advance = glyphs.back().advance;
      continue;
    }
    const auto* mark = std::ranges::find(kMarks, code, &Mark::code);
    if (mark == std::end(kMarks)) continue;
    const double rise = mark->is_above && IsTall(letter) ? kTallRise : 0;
    glyphs.push_back({mark->strokes, 0, 1, rise, -advance / 2 - 0.5});
  }
  return glyphs;
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
  if (glyph.advance == 0) return 0;
  return glyph.advance + (style.is_bold ? 1.1 : 0.5);
}

}  // namespace

double TextWidth(std::string_view text, const TextStyle& style) {
  double width = 0;
  for (const PlacedGlyph& glyph : GlyphsOf(text)) width += AdvanceOf(glyph, style);
  return width * style.size / kCapitalHeight;
}

void PaintText(Canvas& canvas, Point at, Align align, std::string_view text,
               const TextStyle& style) {
  const double unit = style.size / kCapitalHeight;
  double pen = align == Align::kLeft ? 0 : -TextWidth(text, style);
  if (align == Align::kCentre) pen /= 2;
  std::vector<std::vector<Point>> lines;
  std::vector<Point> line;
  for (const PlacedGlyph& glyph : GlyphsOf(text)) {
    for (StrokeReader strokes(glyph.strokes); strokes.Next(line);) {
      for (Point& p : line) {
        const double right = pen + (p.x * glyph.scale + glyph.shift) * unit;
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
