// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "fs/view/base/number_array.h"
#include "fs/view/picture/drawing/figure.h"
#include "fs/view/picture/finite_values.h"

namespace ndlfs::fs {
namespace {

using picture::Colour;

Colour ColourOf(std::optional<uint32_t> rgb) {
  if (!rgb) return picture::kWhite;
  return {static_cast<uint8_t>(*rgb >> 16), static_cast<uint8_t>(*rgb >> 8),
          static_cast<uint8_t>(*rgb)};
}

// How bright a value is, from 0 to 1; 0 for one that is missing.
double BrightnessOf(double value, const OmeWindow& window, bool is_inverted) {
  if (std::isnan(value)) return 0;
  const double part = (value - window.start) / (window.end - window.start);
  const double brightness = std::clamp(part, 0.0, 1.0);
  return is_inverted ? 1 - brightness : brightness;
}

uint8_t ToByte(double light) {
  return static_cast<uint8_t>(std::lround(std::clamp(light, 0.0, 255.0)));
}

}  // namespace

ChannelMix ChooseChannels(const ArrayInput& array) {
  ChannelMix mix;
  const auto number = NumberOfType(array.dtype);
  if (!number || IsComplex(*number) || array.dtype.is_bool()) return mix;
  if (array.group != nullptr && IsOmeLabels(array.group->node())) return mix;
  const OmeChannels found = FindOmeChannels(array);
  const auto has_colour = [](const OmeChannel& c) { return c.color.has_value(); };
  if (!found.dimension || std::ranges::none_of(found.channels, has_colour)) return mix;
  mix.dimension = *found.dimension;
  mix.has_one_window = found.has_one_window;
  mix.all = found.channels.size();
  const bool any_active = std::ranges::any_of(found.channels, &OmeChannel::is_active);
  for (size_t i = 0; i < found.channels.size(); ++i) {
    const OmeChannel& channel = found.channels[i];
    if (any_active && !channel.is_active) continue;
    ++mix.active;
    if (mix.channels.size() == (found.is_grey ? 1 : kMostMixedChannels)) continue;
    mix.channels.push_back(
        {.index = i,
         .label = channel.label.empty() ? fmt::format("channel {}", i) : channel.label,
         .colour = ColourOf(channel.color),
         .window = channel.window,
         .is_inverted = channel.is_inverted});
  }
  return mix;
}

OmeWindow WindowOf(const MixedChannel& channel, const std::vector<double>& values) {
  constexpr double kOutside = 0.001;
  if (channel.window) return *channel.window;
  FiniteValues finite(values);
  if (finite.empty()) return {};
  OmeWindow window{finite.Quantile(kOutside), finite.Quantile(1 - kOutside)};
  if (window.start == window.end) {
    const auto [least, greatest] = finite.MinMax();
    window = {least, greatest};
  }
  const double span = window.end - window.start;
  if (std::isfinite(span) && span > 0) return window;
  // One value alone is in the middle; values that no double tells apart are as bright as can
  // be.
  if (span == 0 && std::isfinite(window.start * 2)) {
    const double margin = std::max(1.0, std::abs(window.start));
    return {window.start - margin, window.start + margin};
  }
  return {0, 1};
}

std::vector<Colour> MixColours(const ChannelMix& mix,
                               const std::vector<std::vector<double>>& layers) {
  const size_t count = layers.empty() ? 0 : layers.front().size();
  std::vector<std::array<double, 3>> light(count);
  std::vector<bool> is_there(count);
  std::vector<double> all;
  for (size_t k = 0; k < layers.size() && mix.has_one_window; ++k) {
    all.insert(all.end(), layers[k].begin(), layers[k].end());
  }
  for (size_t k = 0; k < layers.size(); ++k) {
    const MixedChannel& channel = mix.channels[k];
    const OmeWindow window = WindowOf(channel, mix.has_one_window ? all : layers[k]);
    for (size_t i = 0; i < count; ++i) {
      const double value = layers[k][i];
      if (std::isnan(value)) continue;
      is_there[i] = true;
      const double brightness = BrightnessOf(value, window, channel.is_inverted);
      light[i][0] += brightness * channel.colour.red;
      light[i][1] += brightness * channel.colour.green;
      light[i][2] += brightness * channel.colour.blue;
    }
  }
  std::vector<Colour> colours(count, picture::kMissingGrey);
  for (size_t i = 0; i < count; ++i) {
    if (is_there[i]) {
      colours[i] = {ToByte(light[i][0]), ToByte(light[i][1]), ToByte(light[i][2])};
    }
  }
  return colours;
}

}  // namespace ndlfs::fs
