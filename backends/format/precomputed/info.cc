// SPDX-License-Identifier: MIT
#include "backends/format/precomputed/info.h"

#include <fmt/format.h>

#include <cmath>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/store/keys.h"

namespace ndlfs::backends::precomputed {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;

constexpr size_t kMostScales = 1024;
constexpr size_t kMostValues = 1'000'000;

Result<Triple> TripleOf(const Json& object, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(object, key));
  NDLFS_TRY(const auto numbers, JsonToSizes(*member), key);
  if (numbers.size() != 3) return BadInput("{}: expected three numbers", key);
  for (const uint64_t number : numbers) {
    if (number == 0) return BadInput("{}: expected positive numbers", key);
  }
  return Triple{numbers[0], numbers[1], numbers[2]};
}

Result<std::string> TextOf(const Json& object, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(object, key));
  if (member->is_string()) return member->get<std::string>();
  return BadInput("{}: expected a text, found {}", key, DescribeJson(*member));
}

// The text of a member that may be absent.
Result<std::string> TextOr(const Json& object, const char* key, std::string_view otherwise) {
  if (!object.contains(key)) return std::string(otherwise);
  return TextOf(object, key);
}

Result<unsigned> BitsOf(const Json& object, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(object, key));
  NDLFS_TRY(const uint64_t bits, JsonToSize(*member), key);
  if (bits > 64) return BadInput("{}: expected a number from 0 to 64, found {}", key, bits);
  return static_cast<unsigned>(bits);
}

Result<bool> IsGzip(const Json& object, const char* key) {
  NDLFS_TRY(const std::string name, TextOr(object, key, "raw"));
  if (name == "raw" || name == "gzip") return name == "gzip";
  return model::Unsupported("{}: {} is not supported", key, model::Quote(name));
}

Result<Sharding> ReadSharding(const Json& object) {
  if (!object.is_object())
    return BadInput("expected an object, found {}", DescribeJson(object));
  NDLFS_TRY(const std::string type, TextOf(object, "@type"));
  if (type != "neuroglancer_uint64_sharded_v1") {
    return model::Unsupported("@type: {} is not supported", model::Quote(type));
  }
  Sharding sharding;
  NDLFS_TRY(sharding.preshift_bits, BitsOf(object, "preshift_bits"));
  NDLFS_TRY(sharding.minishard_bits, BitsOf(object, "minishard_bits"));
  NDLFS_TRY(sharding.shard_bits, BitsOf(object, "shard_bits"));
  // The index of a shard has 16 bytes for each minishard.
  constexpr unsigned kMostMinishardBits = 32;
  if (sharding.minishard_bits > kMostMinishardBits ||
      sharding.minishard_bits + sharding.shard_bits > 64) {
    return BadInput("minishard_bits and shard_bits: {} and {} bits are too many",
                    sharding.minishard_bits, sharding.shard_bits);
  }
  NDLFS_TRY(const std::string hash, TextOf(object, "hash"));
  if (hash != "identity" && hash != "murmurhash3_x86_128") {
    return model::Unsupported("hash: {} is not supported", model::Quote(hash));
  }
  sharding.has_murmurhash = hash != "identity";
  NDLFS_TRY(sharding.has_gzip_index, IsGzip(object, "minishard_index_encoding"));
  NDLFS_TRY(sharding.has_gzip_data, IsGzip(object, "data_encoding"));
  return sharding;
}

Result<void> ReadOffset(const Json& object, Scale& scale) {
  const auto member = object.find("voxel_offset");
  if (member == object.end()) return {};
  if (!member->is_array() || member->size() != 3) {
    return BadInput("voxel_offset: expected three numbers");
  }
  for (size_t i = 0; i < 3; ++i) {
    const Json& number = (*member)[i];
    // Ends of chunks are sums with sizes, which are below 2^62.
    constexpr int64_t kMost = int64_t{1} << 61;
    if (!number.is_number_integer() || number.get<double>() > 1e18 ||
        number.get<double>() < -1e18) {
      return BadInput("voxel_offset: expected integers, found {}", DescribeJson(number));
    }
    scale.offset[i] = number.get<int64_t>();
    if (scale.offset[i] > kMost || scale.offset[i] < -kMost) {
      return BadInput("voxel_offset: {} is too large", scale.offset[i]);
    }
  }
  return {};
}

Result<void> ReadResolution(const Json& object, Scale& scale) {
  NDLFS_TRY(const Json* member, RequireMember(object, "resolution"));
  if (!member->is_array() || member->size() != 3) {
    return BadInput("resolution: expected three numbers");
  }
  for (size_t i = 0; i < 3; ++i) {
    const Json& number = (*member)[i];
    if (!number.is_number()) {
      return BadInput("resolution: expected numbers, found {}", DescribeJson(number));
    }
    scale.resolution[i] = number.get<double>();
  }
  return {};
}

// The sizes of chunks; of several the first, all hold the same voxels.
Result<Triple> ChunkOf(const Json& object) {
  NDLFS_TRY(const Json* sizes, RequireMember(object, "chunk_sizes"));
  if (!sizes->is_array() || sizes->empty()) {
    return BadInput("chunk_sizes: expected a list of sizes");
  }
  return TripleOf(Json{{"chunk_sizes", (*sizes)[0]}}, "chunk_sizes");
}

Result<Scale> ReadScale(const Json& object) {
  if (!object.is_object())
    return BadInput("expected an object, found {}", DescribeJson(object));
  Scale scale;
  NDLFS_TRY(scale.key, TextOf(object, "key"));
  if (!CheckKey(scale.key) || scale.key.empty()) {
    return BadInput("key: {} is no path below the volume", model::Quote(scale.key));
  }
  NDLFS_TRY(scale.size, TripleOf(object, "size"));
  for (const uint64_t size : scale.size) {
    if (size > uint64_t{1} << 60) return model::Limit("size: {} voxels", size);
  }
  NDLFS_TRY(scale.chunk, ChunkOf(object));
  NDLFS_RETURN_IF_ERROR(ReadOffset(object, scale));
  NDLFS_RETURN_IF_ERROR(ReadResolution(object, scale));
  NDLFS_TRY(scale.encoding, TextOf(object, "encoding"));
  if (scale.encoding == "compressed_segmentation") {
    NDLFS_TRY(scale.block, TripleOf(object, "compressed_segmentation_block_size"));
  }
  const auto sharding = object.find("sharding");
  if (sharding != object.end() && !sharding->is_null()) {
    NDLFS_TRY(scale.sharding, ReadSharding(*sharding), "sharding");
  }
  return scale;
}

}  // namespace

bool IsVolume(std::string_view document) {
  const auto json = ParseJson(document, kMostValues);
  if (!json || !json->is_object()) return false;
  const auto type = json->find("@type");
  if (type != json->end()) return *type == "neuroglancer_multiscale_volume";
  return json->contains("scales") && json->contains("data_type") &&
         json->contains("num_channels");
}

Result<Info> ReadInfo(std::string_view document) {
  NDLFS_TRY(const Json json, ParseJson(document, kMostValues));
  if (!json.is_object()) return BadInput("expected an object, found {}", DescribeJson(json));
  Info info;
  NDLFS_TRY(const std::string type, TextOf(json, "data_type"));
  const auto known = Datatype::FromKeyword(type);
  const bool is_number =
      known && (known->kind() == Datatype::Kind::kInteger || *known == Datatype::Float32());
  if (!is_number) return model::Unsupported("data_type: {}", model::Quote(type));
  info.type = *known;
  NDLFS_TRY(const Json* channels, RequireMember(json, "num_channels"));
  NDLFS_TRY(info.channels, JsonToSize(*channels), "num_channels");
  if (info.channels == 0) return BadInput("num_channels: expected a positive number");
  NDLFS_TRY(info.kind, TextOr(json, "type", ""));
  NDLFS_TRY(const Json* scales, RequireMember(json, "scales"));
  if (!scales->is_array()) return BadInput("scales: expected a list");
  if (scales->size() > kMostScales) return model::Limit("{} scales", scales->size());
  for (size_t i = 0; i < scales->size(); ++i) {
    NDLFS_TRY(Scale scale, ReadScale((*scales)[i]), fmt::format("scales[{}]", i));
    info.scales.push_back(std::move(scale));
  }
  return info;
}

}  // namespace ndlfs::backends::precomputed
