// SPDX-License-Identifier: MIT
#include "backends/codec/registry.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

// A codec, with its name in each vocabulary; "" if a vocabulary does not have it.
struct CodecEntry {
  std::string_view zarr3;
  std::string_view numcodecs;  // in Zarr v3 as "numcodecs.NAME"
  std::string_view hdf5;
  CodecFactory make;  // null if this build leaves the codec out
  // The name in lists, if it is not one of the names above; "" to leave the codec
  // out of lists.
  std::optional<std::string_view> title = {};
};

#if NDLFS_WITH_SZIP
constexpr CodecFactory kMakeSzip = MakeSzip;
#else
constexpr CodecFactory kMakeSzip = nullptr;
#endif
#if NDLFS_WITH_ZFP
constexpr CodecFactory kMakeZfp = MakeZfp;
#else
constexpr CodecFactory kMakeZfp = nullptr;
#endif
#if NDLFS_WITH_LZO
constexpr CodecFactory kMakeLzo = MakeLzo;
#else
constexpr CodecFactory kMakeLzo = nullptr;
#endif

#if NDLFS_WITH_JPEG
constexpr CodecFactory kMakeJpeg = MakeImagecodecsJpeg;
#else
constexpr CodecFactory kMakeJpeg = nullptr;
#endif
#if NDLFS_WITH_OPENJPEG
constexpr CodecFactory kMakeJpeg2k = MakeImagecodecsJpeg2k;
#else
constexpr CodecFactory kMakeJpeg2k = nullptr;
#endif
#if NDLFS_WITH_JXL
constexpr CodecFactory kMakeJpegXl = MakeImagecodecsJpegXl;
#else
constexpr CodecFactory kMakeJpegXl = nullptr;
#endif
#if NDLFS_WITH_LERC
constexpr CodecFactory kMakeLerc = MakeImagecodecsLerc;
#else
constexpr CodecFactory kMakeLerc = nullptr;
#endif
#if NDLFS_WITH_LIBPNG
constexpr CodecFactory kMakePng = MakeImagecodecsPng;
#else
constexpr CodecFactory kMakePng = nullptr;
#endif
#if NDLFS_WITH_WEBP
constexpr CodecFactory kMakeWebp = MakeImagecodecsWebp;
#else
constexpr CodecFactory kMakeWebp = nullptr;
#endif

constexpr std::array kCodecs = {
    CodecEntry{"", "adler32", "", MakeAdler32},
    CodecEntry{"", "astype", "", MakeAsType},
    CodecEntry{"", "base64", "", MakeBase64},
    CodecEntry{"", "", "32022", MakeBitGroom, "bitgroom"},
    CodecEntry{"bitround", "bitround", "", MakeBitRound},
    CodecEntry{"", "", "32008", MakeBitshuffle, "bitshuffle"},
    CodecEntry{"blosc", "blosc", "32001", MakeBlosc},
    CodecEntry{"", "", "32026", MakeBlosc2, "blosc2"},
    CodecEntry{"bytes", "", "", MakeBytes},
    CodecEntry{"", "bz2", "307", MakeBz2},
    CodecEntry{"cast_value", "", "", MakeCastValue},
    CodecEntry{"", "categorize", "", MakeCategorize},
    CodecEntry{"ChunkyCodec", "", "", MakeChunky},
    CodecEntry{"conditional", "", "", MakeConditional},
    CodecEntry{"", "crc32", "", MakeCrc32},
    CodecEntry{"crc32c", "crc32c", "", MakeCrc32c},
    CodecEntry{"", "delta", "", MakeDelta},
    CodecEntry{"endian", "", "", MakeBytes, ""},  // in drafts of Zarr v3
    CodecEntry{"", "fixedscaleoffset", "", MakeFixedScaleOffset},
    CodecEntry{"", "fletcher32", "3", MakeFletcher32},
    CodecEntry{"", "", "32023", MakeGranularBitRound, "granular_bitround"},
    CodecEntry{"grib", "grib", "", MakeGrib},
    CodecEntry{"gribberish", "", "", MakeGribberish},
    CodecEntry{"gzip", "gzip", "", MakeGzip},
    // Codecs of Python's imagecodecs and virtual-tiff, which readers of TIFF name in Zarr
    // metadata.
    CodecEntry{"HorizontalDeltaCodec", "", "", MakeHorizontalDelta},
    CodecEntry{"imagecodecs_bitorder", "imagecodecs_bitorder", "", MakeImagecodecsBitorder},
    CodecEntry{"imagecodecs_blosc", "imagecodecs_blosc", "", MakeBlosc, ""},
    CodecEntry{"imagecodecs_bz2", "imagecodecs_bz2", "", MakeBz2, ""},
    CodecEntry{"imagecodecs_deflate", "imagecodecs_deflate", "", MakeImagecodecsDeflate, ""},
    CodecEntry{"imagecodecs_delta", "imagecodecs_delta", "", MakeImagecodecsDelta},
    CodecEntry{"imagecodecs_floatpred", "imagecodecs_floatpred", "", MakeImagecodecsFloatpred},
    CodecEntry{"imagecodecs_gzip", "imagecodecs_gzip", "", MakeGzip, ""},
    CodecEntry{"imagecodecs_jpeg", "imagecodecs_jpeg", "", kMakeJpeg},
    CodecEntry{"imagecodecs_jpeg2k", "imagecodecs_jpeg2k", "", kMakeJpeg2k},
    CodecEntry{"imagecodecs_jpeg8", "imagecodecs_jpeg8", "", kMakeJpeg, ""},
    CodecEntry{"imagecodecs_jpegxl", "imagecodecs_jpegxl", "", kMakeJpegXl},
    CodecEntry{"imagecodecs_lerc", "imagecodecs_lerc", "", kMakeLerc},
    CodecEntry{"imagecodecs_lz4", "imagecodecs_lz4", "", MakeImagecodecsLz4, ""},
    CodecEntry{"imagecodecs_lzma", "imagecodecs_lzma", "", MakeLzma, ""},
    CodecEntry{"imagecodecs_lzw", "imagecodecs_lzw", "", MakeLzw},
    CodecEntry{"imagecodecs_packbits", "imagecodecs_packbits", "", MakeByteRuns},
    CodecEntry{"imagecodecs_png", "imagecodecs_png", "", kMakePng},
    CodecEntry{"imagecodecs_spng", "imagecodecs_spng", "", kMakePng, ""},
    CodecEntry{"imagecodecs_webp", "imagecodecs_webp", "", kMakeWebp},
    CodecEntry{"imagecodecs_zlib", "imagecodecs_zlib", "", MakeZlib, ""},
    CodecEntry{"imagecodecs_zlibng", "imagecodecs_zlibng", "", MakeZlib, ""},
    CodecEntry{"imagecodecs_zopfli", "imagecodecs_zopfli", "", MakeZlib, ""},
    CodecEntry{"imagecodecs_zstd", "imagecodecs_zstd", "", MakeZstd, ""},
    CodecEntry{"", "jenkins_lookup3", "", MakeJenkinsLookup3},
    CodecEntry{"", "json2", "", MakeJson2},
    CodecEntry{"", "lz4", "", MakeLz4},
    CodecEntry{"", "", "32004", MakeHdf5Lz4, "lz4"},  // with a frame of its own
    CodecEntry{"", "", "32000", MakeLzf, "lzf"},
    CodecEntry{"", "lzma", "", MakeLzma},
    CodecEntry{"", "", "305", kMakeLzo, "lzo"},
    CodecEntry{"", "msgpack2", "", MakeMsgpack2},
    CodecEntry{"n5_default", "", "", MakeN5Default},
    CodecEntry{"", "", "5", MakeNBit, "nbit"},
    CodecEntry{"packbits", "packbits", "", MakePackBits},
    CodecEntry{"", "pcodec", "", MakePcodec},
    CodecEntry{"", "pickle", "", MakePickle, ""},  // always fails
    CodecEntry{"", "quantize", "", MakeQuantize},
    CodecEntry{"reshape", "", "", MakeReshape},
    CodecEntry{"scale_offset", "", "", MakeScaleOffset},
    CodecEntry{"", "", "6", MakeHdf5ScaleOffset, "scaleoffset"},
    CodecEntry{"sharding_indexed", "", "", MakeShardingIndexed},
    CodecEntry{"", "shuffle", "2", MakeShuffle},
    CodecEntry{"", "", "4", kMakeSzip, "szip"},
    CodecEntry{"transpose", "", "", MakeTranspose},
    CodecEntry{"", "", "32020", MakeVbz, "vbz"},
    CodecEntry{"", "vlen-array", "", MakeVlenArray},
    CodecEntry{"vlen-bytes", "vlen-bytes", "", MakeVlenBytes},
    CodecEntry{"vlen-utf8", "vlen-utf8", "", MakeVlenUtf8},
    CodecEntry{"zfp", "zfpy", "32013", kMakeZfp},
    CodecEntry{"", "zlib", "1", MakeZlib},
    CodecEntry{"zstd", "zstd", "32015", MakeZstd},
};

constexpr std::string_view kNumcodecsPrefix = "numcodecs.";

bool HasName(const CodecEntry& entry, CodecDialect dialect, std::string_view name) {
  switch (dialect) {
    case CodecDialect::kZarr3:
      if (!name.starts_with(kNumcodecsPrefix)) return entry.zarr3 == name;
      return entry.numcodecs == name.substr(kNumcodecsPrefix.size());
    case CodecDialect::kNumcodecs:
      return entry.numcodecs == name;
    default:
      return entry.hdf5 == name;
  }
}

const CodecEntry* FindCodec(CodecDialect dialect, std::string_view name) {
  if (name.empty() || name == kNumcodecsPrefix) return nullptr;
  for (const CodecEntry& entry : kCodecs) {
    if (HasName(entry, dialect, name)) return &entry;
  }
  return nullptr;
}

std::string_view KindOfCodec(CodecDialect dialect) {
  return dialect == CodecDialect::kHdf5 ? "filter" : "codec";
}

}  // namespace

CodecResult MakeCodec(const CodecConfig& config) {
  const CodecEntry* entry = FindCodec(config.dialect, config.name);
  if (!entry) {
    return model::Unsupported("unknown {} {}", KindOfCodec(config.dialect),
                              model::Quote(config.name));
  }
  if (!entry->make) {
    return model::Unsupported("{} {} is not built in", KindOfCodec(config.dialect),
                              model::Quote(config.name));
  }
  return entry->make(config);
}

std::vector<std::string_view> CodecNames() {
  std::vector<std::string_view> names;
  for (const CodecEntry& entry : kCodecs) {
    if (!entry.make || entry.title == "") continue;
    names.push_back(entry.title.value_or(entry.zarr3.empty() ? entry.numcodecs : entry.zarr3));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool IsKnownCodec(CodecDialect dialect, std::string_view name) {
  return FindCodec(dialect, name) != nullptr;
}

const Json* FindMember(const CodecConfig& config, const char* key) {
  const auto it = config.configuration->find(key);
  return it == config.configuration->end() || it->is_null() ? nullptr : &*it;
}

model::Result<std::optional<uint64_t>> SizeMember(const CodecConfig& config, const char* key) {
  const Json* member = FindMember(config, key);
  if (!member) return std::nullopt;
  NDLFS_TRY(const uint64_t size, JsonToSize(*member), key);
  return size;
}

model::Result<std::optional<std::string_view>> TextMember(const CodecConfig& config,
                                                          const char* key) {
  const Json* member = FindMember(config, key);
  if (!member) return std::nullopt;
  if (!member->is_string()) {
    return model::BadInput("{}: expected a string, found {}", key, DescribeJson(*member));
  }
  return member->get_ref<const std::string&>();
}

model::Result<void> RefuseOtherMembers(const CodecConfig& config,
                                       std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : config.configuration->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return model::BadInput("unknown member {}", model::Quote(key));
    }
  }
  return {};
}

model::Result<std::shared_ptr<const BytesToBytesCodec>> MakeBytesCodec(std::string_view name) {
  const Json none = Json::object();
  NDLFS_TRY(const AnyCodec codec, MakeCodec({.dialect = CodecDialect::kNumcodecs,
                                             .name = name,
                                             .configuration = &none,
                                             .form = nullptr}));
  return std::get<std::shared_ptr<const BytesToBytesCodec>>(codec);
}

}  // namespace ndlfs::backends
