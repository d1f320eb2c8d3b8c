// SPDX-License-Identifier: MIT
#include "fs/view/picture/drawing/palette.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <utility>

namespace ndlfs::fs::picture {
namespace {

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

}  // namespace

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

}  // namespace ndlfs::fs::picture
