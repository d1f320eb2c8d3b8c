// SPDX-License-Identifier: MIT
#include "backends/codec/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "backends/codec/factories.h"

namespace ndlfs::backends {
namespace {

// What a codec is called in each vocabulary, "" where it is not in it.
struct CodecEntry {
  std::string_view zarr3;
  std::string_view numcodecs;  // in Zarr v3 as "numcodecs.NAME"
  std::string_view hdf5;
  CodecFactory make;  // null where the build left it out
};

constexpr std::array kCodecs = {
    CodecEntry{"blosc", "blosc", "", MakeBlosc},
    CodecEntry{"bytes", "", "", MakeBytes},
    CodecEntry{"", "bz2", "", MakeBz2},
    CodecEntry{"crc32c", "crc32c", "", MakeCrc32c},
    CodecEntry{"endian", "", "", MakeBytes},  // drafts of Zarr v3
    CodecEntry{"gzip", "gzip", "", MakeGzip},
    CodecEntry{"", "lz4", "", MakeLz4},
    CodecEntry{"", "lzma", "", MakeLzma},
    CodecEntry{"", "pcodec", "", nullptr},
    CodecEntry{"sharding_indexed", "", "", MakeShardingIndexed},
    CodecEntry{"transpose", "", "", MakeTranspose},
    CodecEntry{"", "zfpy", "", nullptr},
    CodecEntry{"", "zlib", "1", MakeZlib},
    CodecEntry{"zstd", "zstd", "", MakeZstd},
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

std::string_view WhatItIs(CodecDialect dialect) {
  return dialect == CodecDialect::kHdf5 ? "filter" : "codec";
}

}  // namespace

CodecResult MakeCodec(const CodecConfig& config) {
  const CodecEntry* entry = FindCodec(config.dialect, config.name);
  if (!entry) {
    return model::Unsupported("unknown {} {}", WhatItIs(config.dialect),
                              model::Quote(config.name));
  }
  if (!entry->make) {
    return model::Unsupported("{} {} is not built in", WhatItIs(config.dialect),
                              model::Quote(config.name));
  }
  return entry->make(config);
}

std::vector<std::string_view> CodecNames() {
  std::vector<std::string_view> names;
  for (const CodecEntry& entry : kCodecs) {
    if (!entry.make) continue;
    names.push_back(!entry.zarr3.empty()       ? entry.zarr3
                    : !entry.numcodecs.empty() ? entry.numcodecs
                                               : entry.hdf5);
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

}  // namespace ndlfs::backends
