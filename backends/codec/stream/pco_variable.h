// SPDX-License-Identifier: MIT
//
// The latent variables of a chunk of pcodec: one, two or three sequences of unsigned integers
// that its numbers are made of. Follows "Chunk Metadata", "Page" and "Delta Encodings" of the
// specification (docs/format.md of pcodec, format versions 0 to 4.1).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/codec/stream/low_bit_reader.h"
#include "model/error.h"

namespace ndlfs::backends {

inline constexpr size_t kPcoBatch = 256;  // numbers that are decoded together

// How the numbers of a variable follow from those before them.
struct PcoDelta {
  enum class Kind : uint8_t { kNone, kConsecutive, kLookback, kConvolution };
  Kind kind = Kind::kNone;
  bool secondary_too = false;
  uint64_t state_size = 0;  // numbers that a page has as they are
  uint64_t window = 0;      // the longest lookback
  // The three fields of a convolution:
  unsigned quantization = 0;
  int64_t bias = 0;
  std::vector<int64_t> weights = {};
};

// A sequence of integers of type L: u8, u16, u32 or u64. Reads the bins of a chunk once, and
// then the batches of its page.
template <typename L>
class PcoVariable {
 public:
  static constexpr unsigned kBits = std::numeric_limits<L>::digits;
  static constexpr L kMiddle = L{1} << (kBits - 1);

  // Reads the bins, which are in the metadata of a chunk. Subtracts the states of their table
  // from `states_left`; kCorrupt if there are not so many left.
  static model::Result<PcoVariable> Read(LowBitReader& reader, uint64_t& states_left);

  // Reads the beginning of a page of `count` numbers. `delta` must outlive the page.
  model::Result<void> BeginPage(LowBitReader& reader, const PcoDelta& delta, uint64_t count);

  // Decodes the next out.size() numbers, at most kPcoBatch, and not more than the page has
  // left. If the delta has lookbacks, `lookbacks` has one for each number that does not come
  // from the state.
  model::Result<void> Next(LowBitReader& reader, std::span<const uint32_t> lookbacks,
                           std::span<L> out);

  // How many of the next `batch` numbers are stored: as differences or, without a delta, as
  // they are. The others come from the state.
  size_t StoredOf(size_t batch) const { return std::min<uint64_t>(batch, stored_left_); }

 private:
  // A state of the decoder of asymmetric numeral systems (tANS), and the bin that it stands
  // for.
  struct State {
    uint16_t next;  // the first of the states that may follow
    uint8_t bits;   // how many bits say which of them
    uint8_t offset_bits;
    L lower;
  };
  struct Bin {
    uint32_t weight;
    uint8_t offset_bits;
    L lower;
  };

  static constexpr unsigned kMaxTableLog = 14;

  static model::Result<std::vector<Bin>> ReadBins(LowBitReader& reader, unsigned table_log);
  void MakeStates(const std::vector<Bin>& bins, unsigned table_log);

  void ReadStored(LowBitReader& reader, std::span<L> out);
  void ReadLowers(LowBitReader& reader, std::span<L> out, uint8_t* widths);
  void AddOffsets(LowBitReader& reader, std::span<L> out, const uint8_t* widths) const;

  void AddConsecutive(std::span<L> out);
  model::Result<void> AddLookbacks(std::span<const uint32_t> lookbacks, size_t stored,
                                   std::span<L> out);
  void AddConvolution(size_t stored, std::span<L> out);

  unsigned table_log_ = 0;
  bool has_bins_ = false;
  bool has_wide_offsets_ = false;  // some offsets have more bits than can be peeked
  std::vector<State> states_;

  const PcoDelta* delta_ = nullptr;
  uint64_t stored_left_ = 0;
  std::array<uint32_t, 4> current_ = {};  // states of four decoders, which take turns
  // Consecutive: the sums so far, by order. Lookback: all numbers. Convolution: the last ones.
  std::vector<L> history_;
  size_t done_ = 0;  // how many numbers of a history of lookbacks are decoded
};

// --- Bins ---

template <typename L>
model::Result<PcoVariable<L>> PcoVariable<L>::Read(LowBitReader& reader,
                                                   uint64_t& states_left) {
  const auto table_log = static_cast<unsigned>(reader.Take(4));
  if (table_log > kMaxTableLog) return model::Corrupt("a table of 2^{} states", table_log);
  NDLFS_TRY(const std::vector<Bin> bins, ReadBins(reader, table_log));
  const uint64_t states = uint64_t{1} << table_log;
  if (states > states_left)
    return model::Corrupt("tables that are too large for so few numbers");
  states_left -= states;
  PcoVariable variable;
  variable.table_log_ = table_log;
  variable.MakeStates(bins, table_log);
  return variable;
}

template <typename L>
auto PcoVariable<L>::ReadBins(LowBitReader& reader, unsigned table_log)
    -> model::Result<std::vector<Bin>> {
  constexpr unsigned kWidthBits = std::bit_width(kBits);
  const uint64_t count = reader.Take(15);
  std::vector<Bin> bins;
  uint64_t weights = 0;
  for (uint64_t i = 0; i < count && !reader.is_past_end(); ++i) {
    const auto weight = static_cast<uint32_t>(reader.Take(table_log) + 1);
    const auto lower = static_cast<L>(reader.Take(kBits));
    const auto offset_bits = static_cast<uint8_t>(reader.Take(kWidthBits));
    if (offset_bits > kBits) return model::Corrupt("offsets of {} bits", offset_bits);
    bins.push_back({weight, offset_bits, lower});
    weights += weight;
  }
  if (reader.is_past_end()) return model::Corrupt("truncated data");
  if (count != 0 && weights != uint64_t{1} << table_log) {
    return model::Corrupt("weights of {} for a table of 2^{} states", weights, table_log);
  }
  return bins;
}

template <typename L>
void PcoVariable<L>::MakeStates(const std::vector<Bin>& bins, unsigned table_log) {
  has_bins_ = !bins.empty();
  const uint32_t size = uint32_t{1} << table_log;
  const uint32_t stride = size * 3 / 5 | 1;
  std::vector<uint16_t> bin_of(size, 0);
  uint32_t step = 0;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    for (uint32_t i = 0; i < bins[bin].weight; ++i, ++step) {
      bin_of[stride * step & (size - 1)] = static_cast<uint16_t>(bin);
    }
    has_wide_offsets_ |= bins[bin].offset_bits > 57;
  }
  std::vector<uint32_t> next(bins.size());
  for (size_t bin = 0; bin < bins.size(); ++bin) next[bin] = bins[bin].weight;
  states_.assign(size, State{});
  if (bins.empty()) return;
  for (uint32_t i = 0; i < size; ++i) {
    const Bin& bin = bins[bin_of[i]];
    const uint32_t x = next[bin_of[i]]++;
    const auto bits = static_cast<uint8_t>(table_log + 1 - std::bit_width(x));
    states_[i] = {static_cast<uint16_t>((x << bits) - size), bits, bin.offset_bits, bin.lower};
  }
}

// --- Pages ---

template <typename L>
model::Result<void> PcoVariable<L>::BeginPage(LowBitReader& reader, const PcoDelta& delta,
                                              uint64_t count) {
  delta_ = &delta;
  stored_left_ = count - std::min(count, delta.state_size);
  done_ = 0;
  if (reader.bits_left() / kBits < delta.state_size) return model::Corrupt("truncated data");
  const bool keeps_all = delta.kind == PcoDelta::Kind::kLookback;
  history_.assign(keeps_all ? stored_left_ + delta.state_size : delta.state_size, 0);
  for (uint64_t i = 0; i < delta.state_size; ++i)
    history_[i] = static_cast<L>(reader.Take(kBits));
  for (uint32_t& state : current_) state = static_cast<uint32_t>(reader.Take(table_log_));
  if (reader.is_past_end()) return model::Corrupt("truncated data");
  if (!has_bins_ && stored_left_ != 0) {
    return model::Corrupt("{} numbers, but no bins", stored_left_);
  }
  return {};
}

template <typename L>
model::Result<void> PcoVariable<L>::Next(LowBitReader& reader,
                                         std::span<const uint32_t> lookbacks,
                                         std::span<L> out) {
  const size_t stored = StoredOf(out.size());
  stored_left_ -= stored;
  if (stored != 0) ReadStored(reader, out.first(stored));
  if (reader.is_past_end()) return model::Corrupt("truncated data");
  if (delta_->kind == PcoDelta::Kind::kNone) return {};
  std::fill(out.begin() + static_cast<ptrdiff_t>(stored), out.end(), kMiddle);
  for (L& number : out) number ^= kMiddle;  // differences are stored so that 0 is in the middle
  switch (delta_->kind) {
    case PcoDelta::Kind::kConsecutive:
      AddConsecutive(out);
      return {};
    case PcoDelta::Kind::kLookback:
      return AddLookbacks(lookbacks, stored, out);
    default:
      AddConvolution(stored, out);
      return {};
  }
}

template <typename L>
void PcoVariable<L>::ReadStored(LowBitReader& reader, std::span<L> out) {
  reader.EnsureRoom();
  std::array<uint8_t, kPcoBatch> widths;
  if (states_.size() == 1) {  // no bits say which bin it is
    std::fill(out.begin(), out.end(), states_[0].lower);
    std::fill_n(widths.begin(), out.size(), states_[0].offset_bits);
  } else {
    ReadLowers(reader, out, widths.data());
  }
  AddOffsets(reader, out, widths.data());
}

template <typename L>
void PcoVariable<L>::ReadLowers(LowBitReader& reader, std::span<L> out, uint8_t* widths) {
  uint64_t position = reader.position();
  // Four numbers of at most 14 bits come out of one word.
  for (size_t begin = 0; begin < out.size(); begin += current_.size()) {
    uint64_t word = reader.Peek(position);
    const size_t count = std::min(current_.size(), out.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const State state = states_[current_[i]];
      out[begin + i] = state.lower;
      widths[begin + i] = state.offset_bits;
      current_[i] = static_cast<uint32_t>(state.next + (word & LowBitReader::Mask(state.bits)));
      word >>= state.bits;
      position += state.bits;
    }
  }
  reader.MoveTo(position);
}

template <typename L>
void PcoVariable<L>::AddOffsets(LowBitReader& reader, std::span<L> out,
                                const uint8_t* widths) const {
  uint64_t position = reader.position();
  if (has_wide_offsets_) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<L>(out[i] + reader.Take(widths[i]));
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<L>(out[i] + (reader.Peek(position) & LowBitReader::Mask(widths[i])));
    position += widths[i];
  }
  reader.MoveTo(position);
}

// --- Deltas ---

template <typename L>
void PcoVariable<L>::AddConsecutive(std::span<L> out) {
  for (size_t order = history_.size(); order-- > 0;) {
    L sum = history_[order];
    for (L& number : out) sum = static_cast<L>(sum + std::exchange(number, sum));
    history_[order] = sum;
  }
}

template <typename L>
model::Result<void> PcoVariable<L>::AddLookbacks(std::span<const uint32_t> lookbacks,
                                                 size_t stored, std::span<L> out) {
  const size_t first = done_ + delta_->state_size;
  for (size_t i = 0; i < stored; ++i) {
    const uint32_t lookback = lookbacks[i];
    if (lookback == 0 || lookback > delta_->window || lookback > first + i) {
      return model::Corrupt("a lookback of {} at number {}", lookback, first + i);
    }
    history_[first + i] = static_cast<L>(out[i] + history_[first + i - lookback]);
  }
  std::copy_n(history_.begin() + static_cast<ptrdiff_t>(done_), out.size(), out.begin());
  done_ += out.size();
  return {};
}

// Sums wrap in signed integers of twice the width, as those of the reference do.
template <typename L>
void PcoVariable<L>::AddConvolution(size_t stored, std::span<L> out) {
  using Wide = std::conditional_t<sizeof(L) == 1, int16_t,
                                  std::conditional_t<sizeof(L) == 2, int32_t, int64_t>>;
  const size_t order = delta_->weights.size();
  history_.resize(order + out.size());
  for (size_t i = 0; i < stored; ++i) {
    auto sum = static_cast<uint64_t>(delta_->bias);
    for (size_t j = 0; j < order; ++j) {
      sum += static_cast<uint64_t>(static_cast<Wide>(delta_->weights[j])) * history_[i + j];
    }
    const auto prediction = std::max<Wide>(static_cast<Wide>(sum), 0) >> delta_->quantization;
    history_[order + i] = static_cast<L>(out[i] + static_cast<L>(prediction));
  }
  std::copy_n(history_.begin(), out.size(), out.begin());
  history_.erase(history_.begin(), history_.begin() + static_cast<ptrdiff_t>(out.size()));
}

}  // namespace ndlfs::backends
