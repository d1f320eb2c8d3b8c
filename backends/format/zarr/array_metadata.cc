// SPDX-License-Identifier: MIT
#include "backends/format/zarr/array_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/zarr/extension.h"
#include "model/number_text.h"

namespace ndlfs::backends::zarr {
namespace {

using model::Charset;
using model::Datatype;

std::string_view CharsetName(Charset charset) {
  switch (charset) {
    case Charset::kAscii:
      return "ascii";
    case Charset::kUtf8:
      return "utf-8";
    case Charset::kUtf32:
      return "utf-32";
    case Charset::kLatin1:
      return "iso-8859-1";
  }
  return "";
}

model::Result<void> CheckAgainstLimit(std::string_view what, std::optional<uint64_t> size,
                                      uint64_t max_chunk_size) {
  if (size && *size <= max_chunk_size) return {};
  const std::string found = size ? fmt::format("{} bytes", *size) : "more than 2^64 bytes";
  return model::Limit("{} of {}, --max-chunk-size is {}", what, found, max_chunk_size);
}

// Each thread may hold another index in memory, in addition to the chunks that it tells of. So
// unless an index is small, it has to be much smaller than a chunk.
model::Result<void> CheckIndexSize(std::optional<uint64_t> size, uint64_t max_chunk_size) {
  constexpr uint64_t kSmall = uint64_t{4} << 20;
  constexpr uint64_t kPart = 16;  // by default 64 MiB, of 4 million chunks
  NDLFS_RETURN_IF_ERROR(CheckAgainstLimit("shard indexes", size, max_chunk_size));
  if (*size <= std::max(kSmall, max_chunk_size / kPart)) return {};
  return model::Limit("shard indexes of {} bytes, more than 1/{} of --max-chunk-size ({})",
                      *size, kPart, max_chunk_size);
}

}  // namespace

model::Result<void> CheckZarrFormat(const Json& document, int version) {
  NDLFS_TRY(const Json* format, RequireMember(document, "zarr_format"));
  if (format->is_number_integer() && *format == version) return {};
  return model::BadInput("zarr_format: expected {}, found {}", version, DescribeJson(*format));
}

model::Result<void> CheckUnknownMembers(const Json& document,
                                        std::initializer_list<std::string_view> known) {
  for (const auto& [key, member] : document.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const bool ignorable = member.is_object() && member.contains("must_understand") &&
                           member["must_understand"] == false;
    if (!ignorable) {
      return model::Unsupported(
          "unknown member {}, which readers must understand (it has no \"must_understand\": "
          "false)",
          model::Quote(key));
    }
  }
  return {};
}

std::optional<std::vector<std::string>> ParseDimensionNames(const Json& json, size_t rank) {
  if (!json.is_array() || json.size() != rank) return std::nullopt;
  std::vector<std::string> names;
  for (const Json& name : json) {
    if (!name.is_string() && !name.is_null()) return std::nullopt;
    names.push_back(name.is_null() ? "" : name.get<std::string>());
  }
  const bool unnamed =
      std::all_of(names.begin(), names.end(), [](const auto& name) { return name.empty(); });
  if (unnamed) names.clear();
  return names;
}

model::Shape MakeShape(const std::vector<uint64_t>& shape) {
  model::Shape dimensions;
  for (const uint64_t extent : shape) dimensions.push_back({extent, {}});
  return dimensions;
}

void DescribeType(const model::Datatype& stored, model::Storage& storage) {
  storage.endian = stored.uniform_order();
  if (stored.kind() == Datatype::Kind::kString) {
    storage.charset = CharsetName(stored.charset());
  }
}

model::Result<void> LimitSizes(ArrayLayout& layout, uint64_t max_chunk_size) {
  layout.spec.max_chunk_bytes = max_chunk_size;
  const Datatype& type = layout.spec.dtype;
  // An element of variable size counts with its entry in the table of offsets.
  const uint64_t item = type.is_fixed_size() ? type.size() : sizeof(uint64_t);
  if (item == 0) return model::BadInput("elements of 0 bytes");
  if (CheckedProduct(layout.spec.shape, item).value_or(kMaxViewSize) >= kMaxViewSize) {
    return model::Limit("shape: the array has more than 2^62 bytes");
  }
  NDLFS_RETURN_IF_ERROR(CheckAgainstLimit(
      "chunks", CheckedProduct(layout.spec.grid.max_chunk_shape(), item), max_chunk_size));
  std::vector<uint64_t> shard_shape = layout.objects.max_chunk_shape();
  for (const ShardLayout& shard : layout.shards) {
    NDLFS_TRY(const auto counts, shard.Counts(shard_shape));
    NDLFS_RETURN_IF_ERROR(
        CheckIndexSize(ShardLayout::DecodedIndexSize(counts), max_chunk_size));
    shard_shape = shard.inner_shape();
  }
  return {};
}

model::Result<char> ParseSeparator(const Json& json) {
  if (json == ".") return '.';
  if (json == "/") return '/';
  return model::BadInput("expected \".\" or \"/\", found {}", DescribeJson(json));
}

model::Result<ChunkKeyEncoding> ChunkKeyEncoding::Parse(const Json& json) {
  NDLFS_TRY(const Extension extension, ParseRequiredExtension(json));
  const bool is_default = extension.name == "default";
  if (!is_default && extension.name != "v2") {
    return model::Unsupported("unknown chunk key encoding {}", model::Quote(extension.name));
  }
  NDLFS_RETURN_IF_ERROR(RefuseUnknownMembers(*extension.configuration, {"separator"}));
  char separator = is_default ? '/' : '.';
  const auto found = extension.configuration->find("separator");
  if (found != extension.configuration->end()) {
    NDLFS_TRY(separator, ParseSeparator(*found), "separator");
  }
  return is_default ? Default(separator) : V2(separator);
}

std::string ChunkKeyEncoding::Key(std::span<const uint64_t> index) const {
  std::string key(prefix_);
  for (size_t i = 0; i < index.size(); ++i) {
    if (!key.empty()) key += separator_;
    key += fmt::format_int(index[last_axis_first_ ? index.size() - 1 - i : i]).c_str();
  }
  return key.empty() ? "0" : key;
}

std::optional<std::vector<uint64_t>> ChunkKeyEncoding::Index(std::string_view key,
                                                             size_t rank) const {
  std::string_view rest = key;
  if (!prefix_.empty()) {
    if (!rest.starts_with(prefix_)) return std::nullopt;
    rest.remove_prefix(prefix_.size());
    if (rank > 0 && !rest.starts_with(separator_)) return std::nullopt;
    if (rank > 0) rest.remove_prefix(1);
  }
  std::vector<uint64_t> index(rank);
  for (size_t i = 0; i < rank; ++i) {
    const auto number = model::TakeNumber<uint64_t>(rest);
    if (!number) return std::nullopt;
    index[last_axis_first_ ? rank - 1 - i : i] = *number;
    if (i + 1 == rank) break;
    if (!rest.starts_with(separator_)) return std::nullopt;
    rest.remove_prefix(1);
  }
  return Key(index) == key ? std::optional(std::move(index)) : std::nullopt;
}

}  // namespace ndlfs::backends::zarr
