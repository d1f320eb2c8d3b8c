// SPDX-License-Identifier: MIT
#include "backends/format/zarr/chunk_key.h"

#include "backends/format/zarr/extension.h"

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

}  // namespace ndlfs::backends::zarr
