// SPDX-License-Identifier: MIT
//
// Channels of an image that one picture shows together, as viewers of microscopes do: each in
// its colour, and light adds up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/picture/drawing/canvas.h"
#include "fs/view/place/ome_image.h"

namespace ndlfs::fs {

struct MixedChannel {
  uint64_t index = 0;  // along ChannelMix::dimension
  std::string label;   // its name, or its number
  picture::Colour colour;
  std::optional<OmeWindow> window;  // nullopt: the range of the values
  bool is_inverted = false;
};

struct ChannelMix {
  size_t dimension = 0;
  // What is shown: several, or one that the image says is the only one to show. Empty if the
  // image describes no colours.
  std::vector<MixedChannel> channels;
  bool has_one_window = false;  // without windows of their own, all have that of all values
  uint64_t active = 0;          // that the image wants to be shown
  uint64_t all = 0;
  // The picture is one of several colours, and not one of a single channel.
  bool is_mixed() const { return channels.size() > 1; }
};

// More would only be white.
inline constexpr size_t kMostMixedChannels = 8;

// The channels of `array` that its picture shows, if its elements are intensities. The others
// of its dimensions may be anything.
ChannelMix ChooseChannels(const ArrayInput& array);

// The window of a channel: that of the image, else the middle 99.8 % of its values. Its ends
// differ.
OmeWindow WindowOf(const MixedChannel& channel, const std::vector<double>& values);

// The colour of each sample. `layers` has the values of each channel. A sample that is missing
// in all of them is picture::kMissingGrey.
std::vector<picture::Colour> MixColours(const ChannelMix& mix,
                                        const std::vector<std::vector<double>>& layers);

}  // namespace ndlfs::fs
