// SPDX-License-Identifier: MIT
//
// numcodecs "lzma": the three formats of Python's lzma module: .xz files, the older
// .lzma files, and raw streams, whose filters are in the configuration.
#include <lzma.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "backends/codec/factories.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends {
namespace {

// Numbers of the formats in Python's lzma module.
enum class Format : uint8_t { kAuto = 0, kXz = 1, kAlone = 2, kRaw = 3 };

// A dictionary larger than the data has no use, but the presets use up to 64 MiB for
// any data.
uint64_t MemoryLimit(uint64_t decoded_size) { return (uint64_t{80} << 20) + 2 * decoded_size; }

// The filters of a raw stream. Owns the memory of their options.
class FilterChain {
 public:
  FilterChain() { filters_.fill({LZMA_VLI_UNKNOWN, nullptr}); }

  bool full() const { return count_ == LZMA_FILTERS_MAX; }
  lzma_options_lzma& AddLzma(lzma_vli id) {
    auto& options = lzma_.emplace_back(std::make_unique<lzma_options_lzma>());
    filters_[count_++] = {id, options.get()};
    return *options;
  }
  lzma_options_delta& AddDelta() {
    auto& options = delta_.emplace_back(std::make_unique<lzma_options_delta>());
    filters_[count_++] = {LZMA_FILTER_DELTA, options.get()};
    return *options;
  }
  lzma_options_bcj& AddBranch(lzma_vli id) {
    auto& options = branch_.emplace_back(std::make_unique<lzma_options_bcj>());
    filters_[count_++] = {id, options.get()};
    return *options;
  }
  const lzma_filter* get() const { return filters_.data(); }

 private:
  size_t count_ = 0;
  std::array<lzma_filter, LZMA_FILTERS_MAX + 1> filters_;
  std::vector<std::unique_ptr<lzma_options_lzma>> lzma_;
  std::vector<std::unique_ptr<lzma_options_delta>> delta_;
  std::vector<std::unique_ptr<lzma_options_bcj>> branch_;
};

model::Failure LzmaFailure(lzma_ret result) {
  switch (result) {
    case LZMA_MEM_ERROR:
    case LZMA_MEMLIMIT_ERROR:
      return model::Corrupt("needs more memory than its size justifies");
    case LZMA_FORMAT_ERROR:
      return model::Corrupt("not in this format");
    case LZMA_OPTIONS_ERROR:
      return model::Corrupt("unsupported options");
    default:
      return model::Corrupt("invalid data");
  }
}

// A decoder of liblzma.
class Stream {
 public:
  Stream() = default;
  ~Stream() { lzma_end(&stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  model::Result<void> Open(Format format, const FilterChain& filters, uint64_t memory) {
    lzma_ret result = LZMA_OK;
    switch (format) {
      case Format::kAuto:
        result = lzma_auto_decoder(&stream_, memory, 0);
        break;
      case Format::kXz:
        result = lzma_stream_decoder(&stream_, memory, 0);
        break;
      case Format::kAlone:
        result = lzma_alone_decoder(&stream_, memory);
        break;
      case Format::kRaw:
        if (lzma_raw_decoder_memusage(filters.get()) > memory) {
          return LzmaFailure(LZMA_MEMLIMIT_ERROR);
        }
        result = lzma_raw_decoder(&stream_, filters.get());
        break;
    }
    if (result != LZMA_OK) return LzmaFailure(result);
    return {};
  }

  // Removes the bytes that it reads and writes from the front of both spans.
  model::Result<void> Decode(ConstByteSpan& encoded, ByteSpan& decoded) {
    stream_.next_in = reinterpret_cast<const uint8_t*>(encoded.data());
    stream_.avail_in = encoded.size();
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
      NDLFS_RETURN_IF_ERROR(CancellationScope::CheckWithinChunk());
      const size_t slice = std::min(decoded.size(), CancellationScope::kSliceBytes);
      stream_.next_out = reinterpret_cast<uint8_t*>(decoded.data());
      stream_.avail_out = slice;
      result = lzma_code(&stream_, LZMA_FINISH);
      decoded = decoded.subspan(slice - stream_.avail_out);
    }
    encoded = encoded.last(stream_.avail_in);
    if (result == LZMA_STREAM_END) return {};
    has_room_ = result != LZMA_BUF_ERROR;
    if (has_room_) return LzmaFailure(result);
    if (encoded.empty()) return model::Corrupt("truncated data");
    return model::Corrupt("decodes to more than expected");
  }
  // Whether something else than a lack of bytes or of room ended Decode().
  bool has_room() const { return has_room_; }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool has_room_ = true;
};

class LzmaCodec final : public BytesToBytesCodec {
 public:
  LzmaCodec(Format format, FilterChain filters)
      : format_(format), filters_(std::move(filters)) {}

  std::string_view name() const override { return "lzma"; }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return CompressorBound(decoded_size);
  }
  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    ByteSpan rest = decoded;
    do {
      Stream stream;
      NDLFS_RETURN_IF_ERROR(stream.Open(format_, filters_, MemoryLimit(decoded.size())));
      NDLFS_RETURN_IF_ERROR(stream.Decode(encoded, rest));
      // Ignores bytes after the last stream, like Python's lzma.
    } while (
        AsText(encoded).starts_with("\xfd"
                                    "7zXZ"));
    return decoded.size() - rest.size();
  }

 private:
  const Format format_;
  const FilterChain filters_;
};

model::Result<uint32_t> Option(const Json& filter, const char* key, uint32_t otherwise) {
  const auto it = filter.find(key);
  if (it == filter.end() || it->is_null()) return otherwise;
  NDLFS_TRY(const uint64_t value, JsonToSize(*it), key);
  if (value > UINT32_MAX) return model::BadInput("{}: {} is too large", key, value);
  return static_cast<uint32_t>(value);
}

model::Result<void> ParseLzmaOptions(const Json& filter, lzma_options_lzma& options) {
  NDLFS_TRY(const uint32_t preset, Option(filter, "preset", LZMA_PRESET_DEFAULT));
  if (lzma_lzma_preset(&options, preset)) {
    return model::BadInput("preset: there is no preset {}", preset);
  }
  NDLFS_TRY(options.dict_size, Option(filter, "dict_size", options.dict_size));
  NDLFS_TRY(options.lc, Option(filter, "lc", options.lc));
  NDLFS_TRY(options.lp, Option(filter, "lp", options.lp));
  NDLFS_TRY(options.pb, Option(filter, "pb", options.pb));
  return {};
}

model::Result<void> ParseFilter(const Json& filter, FilterChain& filters) {
  if (filters.full()) return model::BadInput("more than {} filters", LZMA_FILTERS_MAX);
  NDLFS_TRY(const Json* json, RequireMember(filter, "id"));
  NDLFS_TRY(const uint64_t id, JsonToSize(*json), "id");
  switch (id) {
    case LZMA_FILTER_LZMA1:
    case LZMA_FILTER_LZMA2:
      return ParseLzmaOptions(filter, filters.AddLzma(id));
    case LZMA_FILTER_DELTA: {
      lzma_options_delta& options = filters.AddDelta();
      options.type = LZMA_DELTA_TYPE_BYTE;
      NDLFS_TRY(options.dist, Option(filter, "dist", 1));
      return {};
    }
    case LZMA_FILTER_X86:
    case LZMA_FILTER_POWERPC:
    case LZMA_FILTER_IA64:
    case LZMA_FILTER_ARM:
    case LZMA_FILTER_ARMTHUMB:
    case LZMA_FILTER_SPARC: {
      NDLFS_TRY(filters.AddBranch(id).start_offset, Option(filter, "start_offset", 0));
      return {};
    }
    default:
      return model::Unsupported("id: there is no filter {}", id);
  }
}

model::Result<FilterChain> ParseFilters(const CodecConfig& config) {
  const Json* list = FindMember(config, "filters");
  if (!list || !list->is_array()) {
    return model::BadInput("a raw stream needs a list of filters");
  }
  FilterChain filters;
  for (size_t i = 0; i < list->size(); ++i) {
    NDLFS_RETURN_IF_ERROR(ParseFilter((*list)[i], filters), fmt::format("filters[{}]", i));
  }
  if (lzma_raw_decoder_memusage(filters.get()) == UINT64_MAX) {
    return model::BadInput("filters: not a valid chain");
  }
  return filters;
}

}  // namespace

model::Result<size_t> DecodeLzmaBeginning(ConstByteSpan encoded, ByteSpan decoded,
                                          bool& is_cut) {
  Stream stream;
  ByteSpan rest = decoded;
  NDLFS_RETURN_IF_ERROR(stream.Open(Format::kXz, {}, MemoryLimit(decoded.size())));
  auto done = stream.Decode(encoded, rest);
  is_cut = !done && !stream.has_room() && rest.empty() && !encoded.empty();
  if (!done && (!rest.empty() || stream.has_room())) {
    return model::Propagate(std::move(done).error());
  }
  return decoded.size() - rest.size();
}

static CodecResult MakeLzma(const CodecConfig& config) {
  NDLFS_TRY(const auto number, SizeMember(config, "format"), "lzma");
  const uint64_t format = number.value_or(static_cast<uint64_t>(Format::kXz));
  if (format > static_cast<uint64_t>(Format::kRaw)) {
    return model::BadInput("lzma: format: expected an integer from 0 to 3, found {}", format);
  }
  if (static_cast<Format>(format) != Format::kRaw) {
    return NewCodec<LzmaCodec>(static_cast<Format>(format), FilterChain());
  }
  NDLFS_TRY(FilterChain filters, ParseFilters(config), "lzma");
  return NewCodec<LzmaCodec>(Format::kRaw, std::move(filters));
}

const CodecEntry kImagecodecsLzmaEntry = {"imagecodecs_lzma", "imagecodecs_lzma", "", MakeLzma,
                                          ""};
const CodecEntry kLzmaEntry = {"", "lzma", "", MakeLzma};

}  // namespace ndlfs::backends
