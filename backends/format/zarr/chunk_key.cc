// SPDX-License-Identifier: MIT
#include "backends/format/zarr/chunk_key.h"

#include <fmt/format.h>

#include <utility>

#include "backends/format/zarr/extension.h"
#include "model/number_text.h"

namespace ndlfs::backends::zarr {

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
