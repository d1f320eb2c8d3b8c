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

#define NDLFS_ENTRY(name) &k##name##Entry,
constexpr std::array kCodecs = {NDLFS_CODECS(NDLFS_ENTRY)};
#undef NDLFS_ENTRY

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
  for (const CodecEntry* entry : kCodecs) {
    if (HasName(*entry, dialect, name)) return entry;
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
  for (const CodecEntry* entry : kCodecs) {
    if (!entry->make || entry->title == "") continue;
    names.push_back(
        entry->title.value_or(entry->zarr3.empty() ? entry->numcodecs : entry->zarr3));
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
