// SPDX-License-Identifier: MIT
#include "backends/codec/stream/pco_stream.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/codec/stream/low_bit_reader.h"
#include "backends/codec/stream/pco_variable.h"
#include "model/float_format.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kPcoMagic = "pco!";

// The bytes that stand for types. 0 ends a file.
constexpr std::array<std::optional<PcoType>, 12> kPcoTypes = {
    std::nullopt,
    PcoType{PcoType::Kind::kUnsigned, 4},
    PcoType{PcoType::Kind::kUnsigned, 8},
    PcoType{PcoType::Kind::kSigned, 4},
    PcoType{PcoType::Kind::kSigned, 8},
    PcoType{PcoType::Kind::kFloat, 4},
    PcoType{PcoType::Kind::kFloat, 8},
    PcoType{PcoType::Kind::kUnsigned, 2},
    PcoType{PcoType::Kind::kSigned, 2},
    PcoType{PcoType::Kind::kFloat, 2},
    PcoType{PcoType::Kind::kUnsigned, 1},
    PcoType{PcoType::Kind::kSigned, 1},
};

std::string_view WordFor(PcoType::Kind kind) {
  switch (kind) {
    case PcoType::Kind::kUnsigned:
      return "unsigned integers";
    case PcoType::Kind::kSigned:
      return "integers";
    default:
      return "floats";
  }
}

enum class PcoMode : uint8_t { kClassic, kIntMult, kFloatMult, kFloatQuant, kDict };

// --- Numbers of their latents ---

template <typename L>
constexpr L kPcoMiddle = PcoVariable<L>::kMiddle;

// The bits of a float, and unsigned integers in the order of the floats.
template <typename L>
L FloatBits(L ordered) {
  return ordered & kPcoMiddle<L> ? ordered ^ kPcoMiddle<L> : static_cast<L>(~ordered);
}
template <typename L>
L OrderedFloat(L bits) {
  return bits & kPcoMiddle<L> ? static_cast<L>(~bits) : bits ^ kPcoMiddle<L>;
}

// Floats that the machine has, as their bits.
template <typename L, typename F>
struct NativePcoFloat {
  static constexpr unsigned kMantissaBits = std::numeric_limits<F>::digits - 1;
  static double ToDouble(L bits) { return std::bit_cast<F>(bits); }
  static L OfInteger(L n) { return std::bit_cast<L>(static_cast<F>(n)); }
  static L Product(L a, L b) {
    return std::bit_cast<L>(std::bit_cast<F>(a) * std::bit_cast<F>(b));
  }
};

// Floats of sizeof(L) bytes. Products of float16 are exact in double, and rounded once.
template <typename L>
struct PcoFloat;
template <>
struct PcoFloat<uint32_t> : NativePcoFloat<uint32_t, float> {};
template <>
struct PcoFloat<uint64_t> : NativePcoFloat<uint64_t, double> {};
template <>
struct PcoFloat<uint16_t> {
  static constexpr unsigned kMantissaBits = 10;
  static const model::FloatFormat& Format() {
    static const model::FloatFormat& format = *model::FindFloatFormat("float16");
    return format;
  }
  static uint16_t OfDouble(double value) {
    // Numbers that are out of range become infinity.
    const auto code = Format().Encode(value);
    if (code) return static_cast<uint16_t>(*code);
    return std::signbit(value) ? 0xfc00 : 0x7c00;
  }
  static double ToDouble(uint16_t bits) { return Format().Decode(bits); }
  static uint16_t OfInteger(uint16_t n) { return OfDouble(n); }
  static uint16_t Product(uint16_t a, uint16_t b) {
    return OfDouble(ToDouble(a) * ToDouble(b));
  }
};
template <>
struct PcoFloat<uint8_t> {};  // there are none

// The float that `latent` counts: integers in their order, and beyond the precision of the
// type, where all floats are integers, each float.
template <typename L>
L IntegralFloat(L latent) {
  using Float = PcoFloat<L>;
  constexpr L kFirstDense = L{1} << (Float::kMantissaBits + 1);
  const bool is_negative = latent < kPcoMiddle<L>;
  const auto n =
      static_cast<L>(is_negative ? kPcoMiddle<L> - 1 - latent : latent - kPcoMiddle<L>);
  const L magnitude = n < kFirstDense
                          ? Float::OfInteger(n)
                          : static_cast<L>(Float::OfInteger(kFirstDense) + (n - kFirstDense));
  return is_negative ? magnitude ^ kPcoMiddle<L> : magnitude;
}

// --- A chunk ---

// The metadata of a chunk about its numbers.
template <typename L>
struct PcoRecipe {
  PcoMode mode = PcoMode::kClassic;
  L base = 0;                 // of kIntMult: the number; of kFloatMult: its bits
  unsigned quantum_bits = 0;  // of kFloatQuant
  std::vector<L> dictionary = {};
  PcoDelta delta = {};

  bool has_secondary() const { return mode != PcoMode::kClassic && mode != PcoMode::kDict; }
};

// The latent variables of a chunk, which are read in turn. P is the type of the primary one: L,
// or that of the numbers of entries in a dictionary.
template <typename L, typename P>
class PcoLatents {
 public:
  // `recipe` and `states_left` must outlive the object.
  PcoLatents(const PcoRecipe<L>& recipe, uint64_t& states_left)
      : recipe_(recipe), states_left_(states_left) {}

  // Reads the end of the metadata, and the beginning of the page of `count` numbers.
  model::Result<void> Begin(LowBitReader& reader, uint64_t count) {
    if (has_lookbacks()) {
      NDLFS_TRY(lookbacks_, PcoVariable<uint32_t>::Read(reader, states_left_));
    }
    NDLFS_TRY(primary_, PcoVariable<P>::Read(reader, states_left_));
    if (recipe_.has_secondary()) {
      NDLFS_TRY(secondary_, PcoVariable<L>::Read(reader, states_left_));
    }
    reader.SkipToByte();
    const PcoDelta& delta = recipe_.delta;
    if (has_lookbacks()) {
      const uint64_t differences = count - std::min(count, delta.state_size);
      NDLFS_RETURN_IF_ERROR(lookbacks_.BeginPage(reader, kNoDelta, differences));
    }
    NDLFS_RETURN_IF_ERROR(primary_.BeginPage(reader, delta, count));
    if (recipe_.has_secondary()) {
      NDLFS_RETURN_IF_ERROR(
          secondary_.BeginPage(reader, delta.secondary_too ? delta : kNoDelta, count));
    }
    reader.SkipToByte();
    return {};
  }

  // Decodes the next `batch` numbers.
  model::Result<void> Next(LowBitReader& reader, size_t batch) {
    batch_ = batch;
    const size_t far = has_lookbacks() ? lookbacks_.StoredOf(batch) : 0;
    const std::span<uint32_t> distances(distances_.data(), far);
    if (far != 0) NDLFS_RETURN_IF_ERROR(lookbacks_.Next(reader, {}, distances));
    NDLFS_RETURN_IF_ERROR(primary_.Next(reader, distances, std::span(first_).first(batch)));
    if (!recipe_.has_secondary()) return {};
    return secondary_.Next(reader, distances, std::span(second_).first(batch));
  }

  // The numbers that Next() has decoded.
  std::span<const P> primary() const { return std::span(first_).first(batch_); }
  std::span<const L> secondary() const { return std::span(second_).first(batch_); }

 private:
  static inline const PcoDelta kNoDelta;

  bool has_lookbacks() const { return recipe_.delta.kind == PcoDelta::Kind::kLookback; }

  const PcoRecipe<L>& recipe_;
  uint64_t& states_left_;
  PcoVariable<uint32_t> lookbacks_;
  PcoVariable<P> primary_;
  PcoVariable<L> secondary_;
  size_t batch_ = 0;
  std::array<uint32_t, kPcoBatch> distances_;
  std::array<P, kPcoBatch> first_;
  std::array<L, kPcoBatch> second_;
};

struct PcoVersion {
  unsigned major = 0;
  bool has_delta_kinds() const { return major >= 3; }
};

// A chunk of numbers of sizeof(L) bytes. Takes the states of its tables off `states_left`.
template <typename L>
class PcoChunk {
 public:
  PcoChunk(LowBitReader& reader, const PcoVersion& version, PcoType type, uint64_t count,
           uint64_t& states_left)
      : reader_(reader),
        version_(version),
        type_(type),
        count_(count),
        states_left_(states_left) {}

  // Decodes the metadata and the page. `out` has room for all numbers.
  model::Result<void> Decode(std::byte* out) {
    NDLFS_RETURN_IF_ERROR(ReadMode());
    NDLFS_RETURN_IF_ERROR(ReadDelta());
    if (recipe_.mode == PcoMode::kDict) return DecodeNumbers<uint32_t>(out);
    return DecodeNumbers<L>(out);
  }

 private:
  static constexpr unsigned kBits = PcoVariable<L>::kBits;

  model::Result<void> ReadMode();
  model::Result<void> ReadFloatMode();
  model::Result<void> ReadDictionary();
  model::Result<void> ReadDelta();
  model::Result<void> ReadLookback();
  model::Result<void> ReadConvolution();

  template <typename P>
  model::Result<void> DecodeNumbers(std::byte* out);
  // Makes numbers of the latents, in place.
  template <typename P>
  model::Result<void> Join(std::span<const P> primary, std::span<const L> secondary,
                           std::span<L> numbers) const;
  void JoinFloats(std::span<const L> secondary, std::span<L> numbers) const;

  bool is_float() const { return type_.kind == PcoType::Kind::kFloat; }

  LowBitReader& reader_;
  const PcoVersion version_;
  const PcoType type_;
  const uint64_t count_;
  uint64_t& states_left_;
  PcoRecipe<L> recipe_;
};

template <typename L>
model::Result<void> PcoChunk<L>::ReadMode() {
  const uint64_t mode = reader_.Take(4);
  if (mode > static_cast<uint64_t>(PcoMode::kDict)) return model::Corrupt("mode {}", mode);
  recipe_.mode = static_cast<PcoMode>(mode);
  switch (recipe_.mode) {
    case PcoMode::kClassic:
      return {};
    case PcoMode::kDict:
      return ReadDictionary();
    case PcoMode::kIntMult:
      if (is_float()) return model::Corrupt("multiples of an integer in floats");
      if (version_.major == 0)
        return model::Unsupported("multiples of an integer in version 0");
      recipe_.base = static_cast<L>(reader_.Take(kBits));
      if (recipe_.base == 0) return model::Corrupt("multiples of 0");
      return {};
    default:
      return ReadFloatMode();
  }
}

template <typename L>
model::Result<void> PcoChunk<L>::ReadFloatMode() {
  if constexpr (sizeof(L) > 1) {
    if (!is_float()) return model::Corrupt("a mode of floats in integers");
    if (recipe_.mode == PcoMode::kFloatQuant) {
      recipe_.quantum_bits = static_cast<unsigned>(reader_.Take(8));
      if (recipe_.quantum_bits == 0 || recipe_.quantum_bits > PcoFloat<L>::kMantissaBits) {
        return model::Corrupt("floats without their last {} bits", recipe_.quantum_bits);
      }
      return {};
    }
    recipe_.base = FloatBits(static_cast<L>(reader_.Take(kBits)));
    const double base = PcoFloat<L>::ToDouble(recipe_.base);
    if (base == 0 || !std::isfinite(base)) return model::Corrupt("multiples of {}", base);
    return {};
  } else {
    return model::Corrupt("a mode of floats in integers");
  }
}

template <typename L>
model::Result<void> PcoChunk<L>::ReadDictionary() {
  const uint64_t size = reader_.Take(25);
  reader_.SkipToByte();
  if (size > count_) return model::Corrupt("a dictionary of {} for {} numbers", size, count_);
  if (reader_.bits_left() / kBits < size) return model::Corrupt("truncated data");
  recipe_.dictionary.resize(size);
  for (L& number : recipe_.dictionary) number = static_cast<L>(reader_.Take(kBits));
  return {};
}

template <typename L>
model::Result<void> PcoChunk<L>::ReadDelta() {
  PcoDelta& delta = recipe_.delta;
  const uint64_t kind = version_.has_delta_kinds() ? reader_.Take(4) : 1;
  switch (kind) {
    case 0:
      return {};
    case 1:
      delta.state_size = reader_.Take(3);
      delta.secondary_too = version_.has_delta_kinds() && reader_.Take(1) == 1;
      if (delta.state_size != 0) {
        delta.kind = PcoDelta::Kind::kConsecutive;
      } else if (version_.has_delta_kinds()) {
        return model::Corrupt("differences of order 0");
      }
      return {};
    case 2:
      return ReadLookback();
    case 3:
      return ReadConvolution();
    default:
      return model::Corrupt("delta encoding {}", kind);
  }
}

template <typename L>
model::Result<void> PcoChunk<L>::ReadLookback() {
  PcoDelta& delta = recipe_.delta;
  delta.kind = PcoDelta::Kind::kLookback;
  const uint64_t window_log = reader_.Take(5) + 1;
  const uint64_t state_log = reader_.Take(4);
  delta.secondary_too = reader_.Take(1) == 1;
  if (state_log > window_log) {
    return model::Corrupt("a window of 2^{} for a state of 2^{}", window_log, state_log);
  }
  delta.window = uint64_t{1} << window_log;
  delta.state_size = uint64_t{1} << state_log;
  return {};
}

template <typename L>
model::Result<void> PcoChunk<L>::ReadConvolution() {
  PcoDelta& delta = recipe_.delta;
  delta.kind = PcoDelta::Kind::kConvolution;
  delta.quantization = static_cast<unsigned>(reader_.Take(5));
  delta.bias = static_cast<int64_t>(reader_.Take(64) ^ kPcoMiddle<uint64_t>);
  delta.weights.resize(reader_.Take(5) + 1);
  for (int64_t& weight : delta.weights) {
    weight =
        static_cast<int32_t>(static_cast<uint32_t>(reader_.Take(32)) ^ kPcoMiddle<uint32_t>);
  }
  delta.state_size = delta.weights.size();
  // Nobody writes these: their sums would not fit into any type.
  const size_t size = recipe_.mode == PcoMode::kDict ? sizeof(uint32_t) : sizeof(L);
  if (size == sizeof(uint64_t)) return model::Corrupt("a convolution of 64 bits");
  if (delta.quantization >= 16 * size) {
    return model::Corrupt("a convolution in units of 2^-{}", delta.quantization);
  }
  return {};
}

template <typename L>
template <typename P>
model::Result<void> PcoChunk<L>::DecodeNumbers(std::byte* out) {
  PcoLatents<L, P> latents(recipe_, states_left_);
  NDLFS_RETURN_IF_ERROR(latents.Begin(reader_, count_));
  std::array<L, kPcoBatch> numbers;
  for (uint64_t done = 0; done < count_; done += kPcoBatch) {
    const auto batch = static_cast<size_t>(std::min<uint64_t>(kPcoBatch, count_ - done));
    NDLFS_RETURN_IF_ERROR(latents.Next(reader_, batch));
    NDLFS_RETURN_IF_ERROR(
        Join(latents.primary(), latents.secondary(), std::span(numbers).first(batch)));
    std::memcpy(out + done * sizeof(L), numbers.data(), batch * sizeof(L));
  }
  reader_.SkipToByte();
  return {};
}

template <typename L>
template <typename P>
model::Result<void> PcoChunk<L>::Join(std::span<const P> primary, std::span<const L> secondary,
                                      std::span<L> numbers) const {
  if (recipe_.mode == PcoMode::kDict) {
    for (size_t i = 0; i < primary.size(); ++i) {
      if (primary[i] >= recipe_.dictionary.size()) {
        return model::Corrupt("entry {} of a dictionary of {}", primary[i],
                              recipe_.dictionary.size());
      }
      numbers[i] = recipe_.dictionary[primary[i]];
    }
  } else {
    for (size_t i = 0; i < primary.size(); ++i) numbers[i] = static_cast<L>(primary[i]);
  }
  if (recipe_.mode == PcoMode::kIntMult) {
    // Wraps. In 64 bits, because smaller types would be multiplied as signed ones.
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<L>(uint64_t{numbers[i]} * recipe_.base + secondary[i]);
    }
  } else if (recipe_.has_secondary()) {
    JoinFloats(secondary, numbers);
  }
  if (is_float()) {
    for (L& number : numbers) number = FloatBits(number);
  } else if (type_.kind == PcoType::Kind::kSigned) {
    for (L& number : numbers) number ^= kPcoMiddle<L>;
  }
  return {};
}

template <typename L>
void PcoChunk<L>::JoinFloats(std::span<const L> secondary, std::span<L> numbers) const {
  if constexpr (sizeof(L) > 1) {
    if (recipe_.mode == PcoMode::kFloatMult) {
      for (size_t i = 0; i < numbers.size(); ++i) {
        const L product = PcoFloat<L>::Product(IntegralFloat(numbers[i]), recipe_.base);
        numbers[i] = static_cast<L>(OrderedFloat(product) + (secondary[i] ^ kPcoMiddle<L>));
      }
      return;
    }
    const auto most = static_cast<L>((L{1} << recipe_.quantum_bits) - 1);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto quantum = static_cast<L>(numbers[i] << recipe_.quantum_bits);
      const bool is_negative = quantum < kPcoMiddle<L>;
      numbers[i] = static_cast<L>(quantum + (is_negative ? most - secondary[i] : secondary[i]));
    }
  }
}

// --- A file ---

class PcoFile {
 public:
  PcoFile(ConstByteSpan encoded, std::optional<PcoType> type, ByteSpan decoded)
      : reader_(encoded),
        type_(type),
        decoded_(decoded),
        states_left_(kLeastStates + kStatesOfByte * decoded.size()) {}

  model::Result<size_t> Decode() {
    NDLFS_RETURN_IF_ERROR(ReadHeader());
    while (true) {
      const uint64_t byte = reader_.Take(8);
      if (reader_.is_past_end()) return model::Corrupt("truncated data");
      if (byte == 0) return done_;
      NDLFS_RETURN_IF_ERROR(DecodeChunk(byte));
    }
  }

 private:
  model::Result<void> ReadHeader() {
    for (const char letter : kPcoMagic) {
      if (reader_.Take(8) != static_cast<unsigned char>(letter)) {
        return model::Corrupt("does not begin with {}", model::Quote(kPcoMagic));
      }
    }
    const uint64_t standalone = reader_.Take(8);
    if (standalone > 3) return model::Unsupported("version {} of a file of pcodec", standalone);
    if (standalone < 2) {  // these have no version of their own
      version_.major = static_cast<unsigned>(standalone);
      return {};
    }
    if (standalone >= 3) reader_.Take(8);  // the type of all chunks; each says it again
    reader_.Take(static_cast<unsigned>(reader_.Take(6) + 1));  // how many numbers there may be
    reader_.SkipToByte();
    version_.major = static_cast<unsigned>(reader_.Take(8));
    if (version_.major > 4) return model::Unsupported("format version {}", version_.major);
    // A later minor version may have features that this decoder lacks; it fails at the first
    // one.
    if (version_.major == 4) reader_.Take(8);
    return {};
  }

  model::Result<void> DecodeChunk(uint64_t byte) {
    if (byte >= kPcoTypes.size()) return model::Corrupt("type {}", byte);
    const PcoType type = *kPcoTypes[byte];
    if (type_ && type != *type_) {
      return model::Corrupt("{} of {} bytes, expected {} of {}", WordFor(type.kind), type.size,
                            WordFor(type_->kind), type_->size);
    }
    const uint64_t count = reader_.Take(24) + 1;
    if (count > (decoded_.size() - done_) / type.size) {
      return model::Corrupt("more than {} bytes", decoded_.size());
    }
    std::byte* const out = decoded_.data() + done_;
    done_ += count * type.size;
    switch (type.size) {
      case 1:
        return PcoChunk<uint8_t>(reader_, version_, type, count, states_left_).Decode(out);
      case 2:
        return PcoChunk<uint16_t>(reader_, version_, type, count, states_left_).Decode(out);
      case 4:
        return PcoChunk<uint32_t>(reader_, version_, type, count, states_left_).Decode(out);
      default:
        return PcoChunk<uint64_t>(reader_, version_, type, count, states_left_).Decode(out);
    }
  }

  // Making tables must not take longer than numbers that are worth it.
  static constexpr uint64_t kLeastStates = uint64_t{1} << 16;
  static constexpr uint64_t kStatesOfByte = 64;

  LowBitReader reader_;
  const std::optional<PcoType> type_;
  const ByteSpan decoded_;
  uint64_t states_left_;
  PcoVersion version_;
  size_t done_ = 0;
};

}  // namespace

bool IsPcoType(const PcoType& type) {
  return std::find(kPcoTypes.begin(), kPcoTypes.end(), std::optional(type)) != kPcoTypes.end();
}

model::Result<size_t> DecodePco(ConstByteSpan encoded, std::optional<PcoType> type,
                                ByteSpan decoded) {
  return PcoFile(encoded, type, decoded).Decode();
}

}  // namespace ndlfs::backends
