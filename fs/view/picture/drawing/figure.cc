// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "fs/view/picture/drawing/stroke_font.h"
#include "fs/view/picture/drawing/ticks.h"

namespace ndlfs::fs::picture {
namespace {

constexpr Colour kInk = {0x22, 0x22, 0x22};
constexpr Colour kFaint = {0x66, 0x66, 0x66};
constexpr Colour kGrid = {0xE6, 0xE6, 0xE6};
constexpr Colour kLine = {0x1F, 0x5A, 0x9E};
constexpr Colour kAlarm = {0xA0, 0x20, 0x20};

const TextStyle kTitle = {.size = 21, .colour = kInk, .is_bold = true};
const TextStyle kSubtitle = {.size = 15, .colour = kFaint};
const TextStyle kLabel = {.size = 16, .colour = kInk};
const TextStyle kTickText = {.size = 14.5, .colour = kInk};
const TextStyle kNote = {.size = 14.5, .colour = kAlarm};

constexpr int kTickLength = 7;
constexpr int kBarWidth = 26;
constexpr int kBarGap = 28;
constexpr double kMostTickText = 190;
constexpr double kMostBarText = 190;
constexpr int kSide = 30;  // free at both sides

double Widest(const std::vector<Tick>& ticks) {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, TextWidth(tick.label, kTickText));
  return widest;
}

double Widest(const std::vector<std::string>& names) {
  double widest = 0;
  for (const std::string& name : names) widest = std::max(widest, TextWidth(name, kTickText));
  return widest;
}

int Round(double number) { return static_cast<int>(std::lround(number)); }

TextStyle Upwards(TextStyle style) {
  style.is_upwards = true;
  return style;
}

int BarRoom(const Figure& figure) {
  if (!figure.bar) return 0;
  const double text = std::min(
      kMostBarText, std::max(Widest(figure.bar->ticks), Widest(figure.bar->categories)));
  return kBarGap + kBarWidth + kTickLength + 8 + Round(text) +
         (figure.bar->label.empty() ? 0 : 34);
}

// The largest box of that width by height in the middle of `box`.
Box WithAspect(Box box, double aspect) {
  const double room = static_cast<double>(box.width()) / box.height();
  if (aspect > room) {
    const int height = std::max(1, Round(box.width() / aspect));
    box.top += (box.height() - height) / 2;
    box.bottom = box.top + height;
  } else {
    const int width = std::max(1, Round(box.height() * aspect));
    box.left += (box.width() - width) / 2;
    box.right = box.left + width;
  }
  return box;
}

// The frame of the plot, as large as axes, titles and the colour bar leave room for.
Box PlaceFrame(const Figure& figure) {
  const int left =
      kSide + (figure.y.label.empty() ? 0 : 34) +
      (figure.y.ticks.empty() ? 0 : Round(Widest(figure.y.ticks)) + kTickLength + 8);
  const int right = kFigureWidth - kSide - BarRoom(figure);
  const bool has_legend = figure.has_missing || figure.has_broken;
  const int top = figure.subtitle.empty() && !has_legend ? 76 : 102;
  const int bottom = kFigureHeight - (figure.x.ticks.empty() ? 24 : 50) -
                     (figure.x.label.empty() ? 0 : 34) - (figure.note.empty() ? 0 : 34);
  Box box = {std::min(left, kFigureWidth / 2), top, std::max(right, kFigureWidth / 2 + 40),
             bottom};
  if (figure.aspect > 0) box = WithAspect(box, figure.aspect);
  return box;
}

int XAt(const Box& box, double at) { return box.left + Round(at * (box.width() - 1)); }
int YAt(const Box& box, double at) { return box.bottom - 1 - Round(at * (box.height() - 1)); }

// Those that are on the axis, in its direction.
std::vector<Tick> OnAxis(const std::vector<Tick>& ticks) {
  constexpr double kSlack = 1e-6;
  std::vector<Tick> kept;
  for (const Tick& tick : ticks) {
    if (!(tick.at >= -kSlack && tick.at <= 1 + kSlack)) continue;
    kept.push_back({tick.at, FitText(tick.label, kMostTickText, kTickText)});
  }
  return kept;
}

// Where the middle of the label of a tick is: below the tick, but inside the canvas.
double LabelCentre(const Tick& tick, const Box& box) {
  constexpr double kEdge = 6;
  const double half = TextWidth(tick.label, kTickText) / 2;
  return std::clamp(static_cast<double>(XAt(box, tick.at)), half + kEdge,
                    std::max(half + kEdge, kFigureWidth - half - kEdge));
}

// Ticks whose labels do not run into each other.
std::vector<Tick> Apart(const std::vector<Tick>& ticks, const Box& box) {
  std::vector<Tick> sorted = ticks;
  std::ranges::sort(sorted, {}, &Tick::at);
  for (size_t every = 1; every < sorted.size(); ++every) {
    bool fits = true;
    double end = -1e9;
    for (size_t i = 0; i < sorted.size(); i += every) {
      const double half = TextWidth(sorted[i].label, kTickText) / 2;
      const double centre = LabelCentre(sorted[i], box);
      fits = fits && centre - half > end;
      end = centre + half + 14;
    }
    if (!fits) continue;
    std::vector<Tick> kept;
    for (size_t i = 0; i < sorted.size(); i += every) kept.push_back(sorted[i]);
    return kept;
  }
  return {};
}

void PaintXAxis(Canvas& canvas, const Box& box, const FigureAxis& axis) {
  for (const Tick& tick : Apart(axis.ticks, box)) {
    const int x = XAt(box, tick.at);
    canvas.Fill({x - 1, box.bottom + 1, x + 1, box.bottom + 1 + kTickLength}, kInk);
    PaintText(canvas, {LabelCentre(tick, box), box.bottom + 31.0}, Align::kCentre, tick.label,
              kTickText);
  }
  if (axis.label.empty()) return;
  PaintText(canvas, {(box.left + box.right) / 2.0, box.bottom + 64.0}, Align::kCentre,
            FitText(axis.label, kFigureWidth * 0.7, kLabel), kLabel);
}

void PaintYAxis(Canvas& canvas, const Box& box, const FigureAxis& axis) {
  const double text_end = box.left - kTickLength - 8.0;
  for (const Tick& tick : axis.ticks) {
    const int y = YAt(box, tick.at);
    canvas.Fill({box.left - 1 - kTickLength, y - 1, box.left - 1, y + 1}, kInk);
    PaintText(canvas, {text_end, y + kTickText.size / 2}, Align::kRight, tick.label, kTickText);
  }
  if (axis.label.empty()) return;
  const TextStyle style = Upwards(kLabel);
  PaintText(canvas, {text_end - Widest(axis.ticks) - 16, (box.top + box.bottom) / 2.0},
            Align::kCentre, FitText(axis.label, kFigureHeight * 0.75, kLabel), style);
}

// A triangle that says that values go on.
void PaintEnd(Canvas& canvas, const Box& bar, bool is_top, Colour colour) {
  const int height = kBarWidth / 2;
  for (int i = 0; i < height; ++i) {
    const int y = is_top ? bar.top - 1 - i : bar.bottom + i;
    canvas.Fill({bar.left + i, y, bar.right - i, y + 1}, colour);
  }
}

void PaintCategories(Canvas& canvas, const Box& bar, const ColourBar& names) {
  const auto count = static_cast<int>(names.categories.size());
  canvas.Frame(bar, 1, kFaint);  // for colours like that of the page
  for (int i = 0; i < count; ++i) {
    const int bottom = bar.bottom - bar.height() * i / count;
    const int top = bar.bottom - bar.height() * (i + 1) / count;
    canvas.Fill({bar.left, top, bar.right, bottom},
                names.category_colours[static_cast<size_t>(i)]);
    if (i > 0) canvas.Fill({bar.left, bottom - 1, bar.right, bottom}, kWhite);
    PaintText(canvas, {bar.right + kTickLength + 8.0, (top + bottom + kTickText.size) / 2.0},
              Align::kLeft,
              FitText(names.categories[static_cast<size_t>(i)], kMostBarText, kTickText),
              kTickText);
  }
}

void PaintBar(Canvas& canvas, const Box& frame, const ColourBar& bar, ColourMap colours) {
  const int inset = bar.categories.empty() ? kBarWidth / 2 : 0;
  Box box = {frame.right + kBarGap, frame.top + inset, frame.right + kBarGap + kBarWidth,
             frame.bottom - inset};
  if (box.height() < 160) {  // for maps that are wide and low
    const int middle = (frame.top + frame.bottom) / 2;
    box.top = middle - 80;
    box.bottom = middle + 80;
  }
  double text_width = std::min(kMostBarText, Widest(bar.ticks));
  if (!bar.categories.empty()) {
    PaintCategories(canvas, box, bar);
    text_width = std::min(kMostBarText, Widest(bar.categories));
  } else {
    for (int y = box.top; y < box.bottom; ++y) {
      const auto i = static_cast<size_t>((box.bottom - 1 - y) * static_cast<int>(kMapColours) /
                                         box.height());
      canvas.Fill({box.left, y, box.right, y + 1}, MapColour(colours, i));
    }
    if (bar.goes_above) PaintEnd(canvas, box, true, MapColour(colours, kMapColours - 1));
    if (bar.goes_below) PaintEnd(canvas, box, false, MapColour(colours, 0));
  }
  for (const Tick& tick : bar.ticks) {
    const int y = YAt(box, tick.at);
    canvas.Fill({box.right, y - 1, box.right + kTickLength, y + 1}, kInk);
    PaintText(canvas, {box.right + kTickLength + 8.0, y + kTickText.size / 2}, Align::kLeft,
              tick.label, kTickText);
  }
  if (bar.label.empty()) return;
  PaintText(canvas,
            {box.right + kTickLength + 8 + text_width + 28, (box.top + box.bottom) / 2.0},
            Align::kCentre, FitText(bar.label, kFigureHeight * 0.75, kLabel), Upwards(kLabel));
}

// For each pixel, the cell that its centre is in.
std::vector<size_t> CellsOf(const std::vector<float>& edges, int pixels) {
  std::vector<size_t> cells(static_cast<size_t>(pixels));
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto at = static_cast<float>((static_cast<double>(i) + 0.5) / pixels);
    const auto after = std::upper_bound(edges.begin() + 1, edges.end() - 1, at);
    cells[i] = static_cast<size_t>(after - edges.begin()) - 1;
  }
  return cells;
}

Colour ColourOf(const CellMap& map, uint8_t cell) {
  if (cell == CellMap::kMissing) return kMissingGrey;
  if (cell == CellMap::kBackground) return kBackgroundInk;
  if (map.palette.empty()) return MapColour(map.colours, cell);
  return cell < map.palette.size() ? map.palette[cell] : kMissingGrey;
}

// The pixel in the middle of the block of `block` pixels that pixel `i` of `count` is in.
int InBlock(int i, int block, int count) {
  return std::min(i - i % block + block / 2, count - 1);
}

void PaintContent(Canvas& canvas, const Box& box, const CellMap& map, int block) {
  if (map.x_edges.size() < 2 || map.y_edges.size() < 2) return;
  const std::vector<size_t> columns = CellsOf(map.x_edges, box.width());
  const std::vector<size_t> rows = CellsOf(map.y_edges, box.height());
  const size_t width = map.x_edges.size() - 1;
  canvas.Hatch(box, kWhite, kStripes);
  for (int y = box.top; y < box.bottom; ++y) {
    const int from_bottom = box.height() - 1 - InBlock(y - box.top, block, box.height());
    const size_t row = rows[static_cast<size_t>(from_bottom)];
    for (int x = box.left; x < box.right; ++x) {
      const int from_left = InBlock(x - box.left, block, box.width());
      const uint8_t cell = map.cells[row * width + columns[static_cast<size_t>(from_left)]];
      if (cell != CellMap::kBroken) canvas.Set(x, y, ColourOf(map, cell));
    }
  }
}

void PaintContent(Canvas& canvas, const Box& box, const Photo& photo, int block) {
  canvas.Hatch(box, kWhite, kStripes);
  for (int y = box.top; y < box.bottom; ++y) {
    const auto down = static_cast<uint64_t>(InBlock(y - box.top, block, box.height()));
    const uint64_t row = down * photo.rows / static_cast<uint64_t>(box.height());
    for (int x = box.left; x < box.right; ++x) {
      const auto right = static_cast<uint64_t>(InBlock(x - box.left, block, box.width()));
      const uint64_t column = right * photo.columns / static_cast<uint64_t>(box.width());
      const uint64_t at = row * photo.columns + column;
      if (!photo.broken[at]) canvas.Set(x, y, photo.pixels[at]);
    }
  }
}

// At most four points for each column of pixels: the first, the lowest, the highest and the
// last, which cover the same pixels as all of them.
std::vector<Point> Thinned(const std::vector<Point>& run) {
  std::vector<Point> kept;
  for (size_t i = 0; i < run.size();) {
    size_t end = i;
    size_t lowest = i;
    size_t highest = i;
    for (; end < run.size() && std::floor(run[end].x) == std::floor(run[i].x); ++end) {
      if (run[end].y < run[lowest].y) lowest = end;
      if (run[end].y > run[highest].y) highest = end;
    }
    size_t last = run.size();
    for (const size_t k : {i, std::min(lowest, highest), std::max(lowest, highest), end - 1}) {
      if (k != last) kept.push_back(run[k]);
      last = k;
    }
    i = end;
  }
  return kept;
}

void PaintContent(Canvas& canvas, const Box& box, const LinePlot& plot, int /*block*/) {
  for (const auto& [begin, end] : plot.broken) {
    const int left = XAt(box, begin);
    canvas.Hatch({left, box.top, std::max(left + 6, XAt(box, end)), box.bottom}, kWhite,
                 kStripes);
  }
  const double thickness = plot.points.size() > 20'000 ? 1.6 : 2.4;
  std::vector<Point> run;
  std::vector<std::vector<Point>> dots;
  std::vector<std::vector<Point>> lines;
  const auto end_run = [&] {
    if (run.size() == 1 || plot.has_markers) {
      for (const Point& p : run) dots.push_back({p});
    }
    if (run.size() > 1) lines.push_back(Thinned(run));
    run.clear();
  };
  for (const Point& p : plot.points) {
    if (std::isnan(p.x) || std::isnan(p.y)) {
      end_run();
      continue;
    }
    run.push_back({box.left + p.x * box.width(), box.bottom - p.y * box.height()});
  }
  end_run();
  canvas.Stroke(lines, thickness, kLine, box);
  canvas.Stroke(dots, 8, kLine, canvas.All());
}

void PaintContent(Canvas& canvas, const Box& box, const OneNumber& number, int /*block*/) {
  TextStyle style = {.size = 54, .colour = kInk};
  style.size = std::min(style.size, style.size * 0.9 * box.width() /
                                        std::max(1.0, TextWidth(number.text, style)));
  PaintText(canvas, {(box.left + box.right) / 2.0, (box.top + box.bottom + style.size) / 2.0},
            Align::kCentre, number.text, style);
}

void PaintGrid(Canvas& canvas, const Box& box, const Figure& figure) {
  for (const Tick& tick : Apart(figure.x.ticks, box)) {
    const int x = XAt(box, tick.at);
    canvas.Fill({x - 1, box.top, x + 1, box.bottom}, kGrid);
  }
  for (const Tick& tick : figure.y.ticks) {
    const int y = YAt(box, tick.at);
    canvas.Fill({box.left, y - 1, box.right, y + 1}, kGrid);
  }
}

// White on a dark box, so that it can be seen on every picture. Left out where the picture is
// too small for it.
void PaintScaleBar(Canvas& canvas, const Box& frame, const ScaleBar& scale) {
  constexpr int kMargin = 14;
  constexpr int kPadding = 9;
  constexpr int kThickness = 5;
  const TextStyle style = {.size = 14.5, .colour = kWhite, .is_bold = true};
  const int length = Round(scale.part * frame.width());
  const int width = std::max(length, Round(TextWidth(scale.label, style)));
  const int height = Round(style.size) + kThickness + 10;
  const Box box = {frame.right - kMargin - width - 2 * kPadding,
                   frame.bottom - kMargin - height - 2 * kPadding, frame.right - kMargin,
                   frame.bottom - kMargin};
  if (length < 2 || box.left < frame.left + kMargin || box.top < frame.top + kMargin) return;
  canvas.Fill(box, kBackgroundInk);
  const int middle = (box.left + box.right) / 2;
  const int left = middle - length / 2;
  canvas.Fill({left, box.bottom - kPadding - kThickness, left + length, box.bottom - kPadding},
              kWhite);
  PaintText(canvas, {middle + 0.0, box.top + kPadding + style.size}, Align::kCentre,
            scale.label, style);
}

// Small squares at the upper right that explain the colours that are not on the colour bar.
void PaintLegend(Canvas& canvas, const Figure& figure) {
  constexpr int kSquare = 18;
  double right = kFigureWidth - kSide;
  const int top = 64;
  const auto entry = [&](std::string_view text, bool is_broken) {
    const double left = right - TextWidth(text, kSubtitle);
    PaintText(canvas, {left, top + kSubtitle.size + 1}, Align::kLeft, text, kSubtitle);
    const int edge = Round(left) - 8 - kSquare;
    const Box square = {edge, top, edge + kSquare, top + kSquare};
    if (is_broken) {
      canvas.Hatch(square, kWhite, kStripes);
    } else {
      canvas.Fill(square, kMissingGrey);
    }
    right = edge - 26;
  };
  if (figure.has_missing) entry("missing", false);
  if (figure.has_broken) entry("unreadable", true);
}

void PaintTitles(Canvas& canvas, const Figure& figure) {
  const double room = kFigureWidth - 2 * kSide;
  PaintText(canvas, {kSide + 0.0, 48}, Align::kLeft, FitText(figure.title, room, kTitle),
            kTitle);
  double taken = 0;
  if (figure.has_missing) taken += 140;
  if (figure.has_broken) taken += 160;
  PaintText(canvas, {kSide + 0.0, 80}, Align::kLeft,
            FitText(figure.subtitle, room - taken, kSubtitle), kSubtitle);
  PaintText(canvas, {kSide + 0.0, kFigureHeight - 22.0}, Align::kLeft,
            FitText(figure.note, room, kNote), kNote);
}

struct Unit {
  int exponent;  // of ten, in metres
  std::string_view symbol;
};

constexpr std::array<Unit, 5> kUnits = {
    {{3, "km"}, {0, "m"}, {-3, "mm"}, {-6, "\u00b5m"}, {-9, "nm"}}};
constexpr double kLeastLength = 1e-11;
constexpr double kMostLength = 1e6;

bool IsLength(double metres) { return metres >= kLeastLength && metres <= kMostLength; }

// The unit in which a length has a number of at least 1; parts of a nanometre have no other.
const Unit& UnitFor(double metres) {
  constexpr double kSlack = 1 + 1e-9;
  for (const Unit& unit : kUnits) {
    if (metres * kSlack >= std::pow(10, unit.exponent)) return unit;
  }
  return kUnits.back();
}

}  // namespace

Canvas PaintFigure(Figure figure, int block) {
  figure.x.ticks = OnAxis(figure.x.ticks);
  figure.y.ticks = OnAxis(figure.y.ticks);
  if (figure.bar) figure.bar->ticks = OnAxis(figure.bar->ticks);
  Canvas canvas(kFigureWidth, kFigureHeight);
  const Box box = PlaceFrame(figure);
  if (std::holds_alternative<LinePlot>(figure.content)) PaintGrid(canvas, box, figure);
  std::visit([&](const auto& content) { PaintContent(canvas, box, content, block); },
             figure.content);
  if (!std::holds_alternative<OneNumber>(figure.content)) {
    canvas.Frame(box, 1, kInk);
    PaintXAxis(canvas, box, figure.x);
    PaintYAxis(canvas, box, figure.y);
  }
  if (figure.scale) PaintScaleBar(canvas, box, *figure.scale);
  if (figure.bar) {
    const auto* map = std::get_if<CellMap>(&figure.content);
    PaintBar(canvas, box, *figure.bar, map == nullptr ? ColourMap::kSequential : map->colours);
  }
  PaintTitles(canvas, figure);
  PaintLegend(canvas, figure);
  return canvas;
}

Canvas PaintAlone(const Figure& figure, int width, int block) {
  constexpr double kUsualAspect = 1.5;
  constexpr double kLeastAspect = 0.8;
  constexpr double kMostAspect = 6;
  const double aspect =
      figure.aspect > 0 ? std::clamp(figure.aspect, kLeastAspect, kMostAspect) : kUsualAspect;
  Canvas canvas(width, std::max(1, Round(width / aspect)));
  Box box = canvas.All();
  if (figure.aspect > 0 && !std::holds_alternative<OneNumber>(figure.content)) {
    box = WithAspect(box, figure.aspect);
  }
  std::visit([&](const auto& content) { PaintContent(canvas, box, content, block); },
             figure.content);
  return canvas;
}

std::optional<ScaleBar> ChooseScaleBar(double width_in_metres) {
  constexpr double kMostPart = 0.25;
  if (!IsLength(width_in_metres)) return std::nullopt;
  const double most = width_in_metres * kMostPart;
  const int exponent = static_cast<int>(std::floor(std::log10(most) + 1e-9));
  const double power = std::pow(10, exponent);
  const double of_most = most / power * (1 + 1e-9);
  const int digit = of_most >= 5 ? 5 : of_most >= 2 ? 2 : 1;
  const Unit& unit = UnitFor(digit * power);
  // The number by its exponent, so that it is exact.
  const double number = digit * std::pow(10, exponent - unit.exponent);
  return ScaleBar{digit * power / width_in_metres,
                  fmt::format("{} {}", NumberText(number), unit.symbol)};
}

}  // namespace ndlfs::fs::picture
