// SPDX-License-Identifier: MIT
//
// The document `info` of a precomputed volume; volume.md of Neuroglancer's specification
// (src/datasource/precomputed).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::precomputed {

// "neuroglancer_uint64_sharded_v1"; sharded.md.
struct Sharding {
  unsigned preshift_bits = 0;
  unsigned minishard_bits = 0;
  unsigned shard_bits = 0;
  bool has_murmurhash = false;  // otherwise the identity
  bool has_gzip_index = false;
  bool has_gzip_data = false;
};

// Numbers along x, y and z.
using Triple = std::array<uint64_t, 3>;

struct Scale {
  std::string key;
  Triple size{};
  Triple chunk{};
  std::array<int64_t, 3> offset{};     // of the first voxel
  std::array<double, 3> resolution{};  // nanometres
  std::string encoding;
  Triple block{};  // of compressed_segmentation
  std::optional<Sharding> sharding;
};

struct Info {
  model::Datatype type;
  uint64_t channels = 1;
  std::string kind;  // "image", "segmentation"
  std::vector<Scale> scales;
};

// Whether a document is that of a volume.
bool IsVolume(std::string_view document);

// kBadInput names the member that is wrong.
model::Result<Info> ReadInfo(std::string_view document);

}  // namespace ndlfs::backends::precomputed
