// SPDX-License-Identifier: MIT
//
// Any bytes to any codec. The first byte chooses what decodes, the second how
// much it may produce; a first byte of 255 takes what follows as the `codecs`
// of a Zarr v3 array, up to a NUL, and then as a chunk of it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/codec/codec_chain.h"
#include "backends/codec/little_endian.h"
#include "backends/codec/registry.h"
#include "tests/backends/codec/goldens.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;

constexpr uint64_t kMaxStream = 1 << 20;
constexpr uint8_t kChooseConfiguration = 255;

// A chain for elements, in the words of Zarr v3, or of v2 (filters alone).
struct ChainChoice {
  bool zarr3;
  std::string_view codecs;
  std::string_view dtype;  // a keyword, or "string", "vlen", "bool", "struct"
};

constexpr ChainChoice kChains[] = {
    {true,
     R"(["bytes", {"name": "conditional", "configuration": {"codecs": ["zstd", "crc32c", "gzip"]}}])",
     "uint8"},
    {true, R"(["vlen-utf8"])", "string"},
    {true, R"(["vlen-bytes", "zstd"])", "string"},
    {true, R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, "vlen-utf8"])",
     "string"},
    {false, R"([{"id": "vlen-array", "dtype": ">i2"}])", "vlen"},
    {false, R"([{"id": "json2"}])", "string"},
    {false, R"([{"id": "json2"}])", "float32"},
    {false, R"([{"id": "msgpack2"}])", "string"},
    {false, R"([{"id": "msgpack2"}, {"id": "zlib"}])", "int16"},
    {false, R"([{"id": "categorize", "labels": ["a", "bb"], "dtype": "|O"}])", "string"},
    {true, R"([{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}])",
     "bool"},
    {true, R"([{"name": "packbits", "configuration": {"first_bit": 3, "last_bit": 9}}])",
     "int16"},
    {true, R"([{"name": "n5_default", "configuration": {"codecs": [
               {"name": "transpose", "configuration": {"order": [1, 0]}},
               {"name": "bytes", "configuration": {"endian": "big"}}, "gzip"]}}])",
     "int16"},
    {true, R"(["numcodecs.delta", {"name": "bytes", "configuration": {"endian": "big"}}])",
     "int16"},
    {true, R"([{"name": "cast_value", "configuration": {"data_type": "float16",
               "out_of_range": "wrap", "scalar_map": {"decode": [["NaN", -1]]}}},
               {"name": "bytes", "configuration": {"endian": "little"}}])",
     "int16"},
    {true, R"([{"name": "scale_offset", "configuration": {"scale": -3, "offset": 7}},
               {"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"])",
     "int16"},
    {true, R"([{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 1],
               "codecs": ["bytes"],
               "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}])",
     "uint8"},
    {true, R"([{"name": "bytes", "configuration": {"endian": "big"}}, "blosc", "crc32c"])",
     "struct"},
    {true, R"([{"name": "zfp", "configuration": {"mode": "reversible"}}])", "float64"},
    {true, R"([{"name": "zfp", "configuration": {"mode": "fixed_rate", "rate": 9}}])", "int16"},
    {true, R"([{"name": "zfp", "configuration": {"mode": "expert", "minbits": 40,
               "maxbits": 200, "maxprec": 20, "minexp": -2000}}])",
     "float32"},
    {true, R"(["numcodecs.zfpy"])", "float32"},
    {false, R"([{"id": "zfpy"}])", "float64"},
    {true, R"(["numcodecs.pcodec"])", "float32"},
    {true, R"([{"name": "gribberish", "configuration": {"north_up": true,
               "adjust_longitude_range": true}}])",
     "float64"},
    {true, R"([{"name": "gribberish", "configuration": {"var": "longitude"}}])", "float64"},
    {false, R"([{"id": "grib", "var": "t"}])", "float32"},
};

Datatype DatatypeOf(std::string_view word) {
  if (word == "string") return Datatype::String();
  if (word == "vlen") return Datatype::Vlen(Datatype::Integer(2, true));
  if (word == "bool") return Datatype::Bool();
  if (word == "struct") {
    return Datatype::PackedCompound(
        {{"a", Datatype::Integer(1, true)}, {"b", Datatype::Float64()}});
  }
  return *Datatype::FromKeyword(word);
}

void DecodeWith(const CodecChain& chain, const std::vector<uint64_t>& shape,
                ConstByteSpan encoded) {
  Scratch scratch;
  (void)chain.MaxEncodedSize(shape);
  if (!chain.dtype().is_fixed_size()) {
    (void)chain.DecodeVariable(encoded, shape, kMaxStream, scratch);
    return;
  }
  const auto size = ChunkForm{chain.dtype(), shape}.byte_size();
  if (!size || *size > kMaxStream) return;
  Bytes decoded(*size);
  (void)chain.Decode(encoded, shape, decoded.span(), scratch);
}

class EncodedBytes final : public EncodedChunk {
 public:
  explicit EncodedBytes(ConstByteSpan bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  model::Result<void> Read(uint64_t offset, ByteSpan out) const override {
    if (offset > size() || out.size() > size() - offset) std::abort();
    std::copy_n(bytes_.data() + offset, out.size(), out.data());
    return {};
  }

 private:
  const ConstByteSpan bytes_;
};

// What can be had of a chunk in parts is what the whole has there. Chunks of
// another size than a header says are not looked at any further, so it is asked.
void FuzzRanges(const BytesToBytesCodec& codec, ConstByteSpan encoded, size_t most,
                const std::optional<ConstByteSpan>& whole) {
  if (!codec.DecodesRanges() || encoded.size() < 8) return;
  const size_t size = std::min<size_t>(LoadLittle<uint32_t>(encoded.data() + 4), most);
  if (whole && whole->size() != size) std::abort();
  const EncodedBytes chunk(encoded);
  const auto block = codec.BlockSize(chunk, size);
  if (block && (*block == 0 || *block > size)) std::abort();
  for (const auto& [begin, end] : {std::pair{size_t{0}, size / 3},
                                   {size / 4, size / 2 + 7},
                                   {size / 3, size},
                                   {size - size / 16, size},
                                   {0, size}}) {
    if (begin > end || end > size) continue;
    Bytes part(end - begin);
    const auto status = codec.DecodeRange(chunk, size, begin, size, part.span());
    if (!status || !whole) continue;
    if (!std::ranges::equal(part.span(), whole->subspan(begin, end - begin))) std::abort();
  }
}

// The filters that work on bytes, each as the tests configure it.
void FuzzGolden(const Golden& golden, size_t size, ConstByteSpan encoded) {
  const ChunkForm form{Datatype::Integer(4, true), {64}};
  const Json configuration = *ParseJson(golden.configuration);
  const auto codec = MakeCodec({golden.dialect, golden.codec, &configuration, &form});
  if (!codec) return;  // left out of the build
  const auto bytes = std::get<std::shared_ptr<const BytesToBytesCodec>>(*codec);
  Bytes decoded(size);
  const auto produced = bytes->Decode(encoded, decoded.span());
  if (produced && *produced > size) std::abort();
  std::optional<ConstByteSpan> whole;
  if (produced) whole = std::as_const(decoded).span().first(*produced);
  FuzzRanges(*bytes, encoded, size, whole);
  if (bytes->DecodesToPart()) (void)bytes->DecodePart(encoded);
}

void FuzzChain(const ChainChoice& choice, uint64_t extent, ConstByteSpan encoded) {
  const std::vector<uint64_t> shape = {2, extent % 16 + 1};
  const Datatype dtype = DatatypeOf(choice.dtype);
  const Json codecs = *ParseJson(choice.codecs);
  const auto chain = choice.zarr3
                         ? MakeZarr3Chain(codecs, {dtype, shape})
                         : MakeZarr2Chain(codecs, Json(), extent % 2 == 0, dtype, shape);
  if (chain) DecodeWith(*chain, shape, encoded);
}

void FuzzConfiguration(std::string_view dtype, ConstByteSpan input) {
  const std::string_view text = AsText(input);
  const size_t end = std::min(text.find('\0'), text.size());
  const auto codecs = ParseJson(text.substr(0, end));
  if (!codecs) return;
  const std::vector<uint64_t> shape = {4, 3};
  const auto chain = MakeZarr3Chain(*codecs, {DatatypeOf(dtype), shape});
  if (chain) DecodeWith(*chain, shape, input.subspan(end));
}

void Fuzz(ConstByteSpan input) {
  if (input.size() < 2) return;
  const auto choice = std::to_integer<uint8_t>(input[0]);
  const auto amount = std::to_integer<uint8_t>(input[1]);
  input = input.subspan(2);
  constexpr std::array kDtypes = {"uint8", "int16", "float32", "float64", "string", "bool"};
  if (choice == kChooseConfiguration) {
    return FuzzConfiguration(kDtypes[amount % kDtypes.size()], input);
  }
  if (choice < std::size(kChains)) return FuzzChain(kChains[choice], amount, input);
  const size_t golden = choice - std::size(kChains);
  if (golden < std::size(kGoldens)) FuzzGolden(kGoldens[golden], size_t{amount} * 16, input);
}

}  // namespace
}  // namespace ndlfs::backends

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::backends::Fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}

// Beside what libFuzzer does, a mutation that is a chunk someone encoded.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace ndlfs::backends;
  if (seed % 64 != 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t number = seed / 64 % std::size(kGoldens);
  const std::string_view hex = kGoldens[number].encoded;
  const size_t bytes = std::min(hex.size() / 2, max_size < 2 ? 0 : max_size - 2);
  if (max_size < 2 || number + std::size(kChains) >= kChooseConfiguration) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  data[0] = static_cast<uint8_t>(number + std::size(kChains));
  data[1] = kChooseConfiguration;
  for (size_t i = 0; i < bytes; ++i) {
    data[2 + i] = static_cast<uint8_t>(
        std::strtoul(std::string(hex.substr(2 * i, 2)).c_str(), nullptr, 16));
  }
  return bytes + 2;
}
