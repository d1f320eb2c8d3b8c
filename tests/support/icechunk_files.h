// SPDX-License-Identifier: MIT
//
// Writes the metadata files of Icechunk repositories, sound ones and others.
#pragma once

#include <flatbuffers/flatbuffers.h>
#include <zstd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/icechunk/manifest_generated.h"
#include "backends/format/icechunk/object_id.h"
#include "backends/format/icechunk/repo_generated.h"
#include "backends/format/icechunk/snapshot_generated.h"

namespace ndlfs::test {

namespace fb = backends::icechunk::fb;

// An id whose last byte is `number`.
inline backends::icechunk::ObjectId IcechunkId(uint8_t number) {
  backends::icechunk::ObjectId id{};
  id[0] = 0xA0;
  id[11] = number;
  return id;
}
inline std::string IcechunkIdText(uint8_t number) {
  return backends::icechunk::IdText(IcechunkId(number));
}
inline fb::ObjectId12 FbId(uint8_t number) { return fb::ObjectId12(IcechunkId(number)); }
inline fb::ObjectId8 FbNodeId(uint8_t number) {
  const std::array<uint8_t, 8> bytes = {number};
  return fb::ObjectId8(bytes);
}

enum class IcechunkKind : uint8_t { kSnapshot = 1, kManifest = 2, kRepo = 6 };

inline std::string IcechunkFile(IcechunkKind kind, std::string_view payload, int version = 2,
                                bool compressed = true) {
  std::string file =
      "ICE\xF0\x9F\xA7\x8A"
      "CHUNK";
  file += "ndlfs tests             ";
  file += static_cast<char>(version);
  file += static_cast<char>(kind);
  file += static_cast<char>(compressed ? 1 : 0);
  if (!compressed) return file + std::string(payload);
  std::string frame(ZSTD_compressBound(payload.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), payload.data(), payload.size(), 1));
  return file + frame;
}

inline std::string TextOfBuilder(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

struct IcechunkChunk {
  std::vector<uint32_t> index;
  std::optional<std::string> inline_data = {};
  std::optional<uint8_t> chunk_id = {};
  std::string location = {};
  std::string compressed_location = {};
  uint64_t offset = 0;
  uint64_t length = 0;
  std::string etag = {};
  uint32_t last_modified = 0;
};
struct IcechunkArray {
  uint8_t node;
  std::vector<IcechunkChunk> chunks;
};

// The payload of manifests/ID.
inline std::string IcechunkManifest(uint8_t id, const std::vector<IcechunkArray>& arrays,
                                    const std::string& dictionary = {}) {
  flatbuffers::FlatBufferBuilder b;
  const auto bytes = [&](const std::string& text) {
    return b.CreateVector(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  std::vector<flatbuffers::Offset<fb::ArrayManifest>> array_tables;
  for (const IcechunkArray& array : arrays) {
    std::vector<flatbuffers::Offset<fb::ChunkRef>> refs;
    for (const IcechunkChunk& chunk : array.chunks) {
      const auto index = b.CreateVector(chunk.index);
      const auto inline_data = chunk.inline_data ? bytes(*chunk.inline_data) : 0;
      const auto location = chunk.location.empty() ? 0 : b.CreateString(chunk.location);
      const auto etag = chunk.etag.empty() ? 0 : b.CreateString(chunk.etag);
      const auto compressed =
          chunk.compressed_location.empty() ? 0 : bytes(chunk.compressed_location);
      const fb::ObjectId12 chunk_id = FbId(chunk.chunk_id.value_or(0));
      refs.push_back(fb::CreateChunkRef(b, index, inline_data, chunk.offset, chunk.length,
                                        chunk.chunk_id ? &chunk_id : nullptr, location, etag,
                                        chunk.last_modified, compressed));
    }
    const fb::ObjectId8 node = FbNodeId(array.node);
    array_tables.push_back(fb::CreateArrayManifest(b, &node, b.CreateVector(refs)));
  }
  const auto vector = b.CreateVector(array_tables);
  const auto dictionary_bytes = dictionary.empty() ? 0 : bytes(dictionary);
  const fb::ObjectId12 manifest_id = FbId(id);
  b.Finish(fb::CreateManifest(b, &manifest_id, vector, dictionary_bytes));
  return TextOfBuilder(b);
}

struct IcechunkManifestRef {
  uint8_t manifest;
  std::vector<std::pair<uint32_t, uint32_t>> extents;  // of chunks
};
struct IcechunkNode {
  std::string path;
  std::string json;
  uint8_t id = 0;
  bool is_array = false;
  std::vector<IcechunkManifestRef> manifests = {};
};

// The payload of snapshots/ID.
inline std::string IcechunkSnapshot(uint8_t id, const std::vector<IcechunkNode>& nodes,
                                    std::optional<uint8_t> parent = {},
                                    uint64_t written_us = 0) {
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<fb::NodeSnapshot>> tables;
  for (const IcechunkNode& node : nodes) {
    std::vector<flatbuffers::Offset<fb::ManifestRef>> manifests;
    for (const IcechunkManifestRef& manifest : node.manifests) {
      std::vector<fb::ChunkIndexRange> extents;
      for (const auto& [from, to] : manifest.extents) extents.emplace_back(from, to);
      const fb::ObjectId12 manifest_id = FbId(manifest.manifest);
      manifests.push_back(
          fb::CreateManifestRef(b, &manifest_id, b.CreateVectorOfStructs(extents)));
    }
    const auto path = b.CreateString(node.path);
    const auto json =
        b.CreateVector(reinterpret_cast<const uint8_t*>(node.json.data()), node.json.size());
    const auto data = node.is_array ? fb::CreateArrayNodeData(
                                          b, b.CreateVectorOfStructs<fb::DimensionShape>({}), 0,
                                          b.CreateVector(manifests))
                                          .Union()
                                    : fb::CreateGroupNodeData(b).Union();
    const fb::ObjectId8 node_id = FbNodeId(node.id);
    tables.push_back(
        fb::CreateNodeSnapshot(b, &node_id, path, json,
                               node.is_array ? fb::NodeData_Array : fb::NodeData_Group, data));
  }
  const fb::ObjectId12 snapshot_id = FbId(id);
  const fb::ObjectId12 parent_id = FbId(parent.value_or(0));
  const auto vector = b.CreateVector(tables);
  const auto message = b.CreateString("snapshot " + std::to_string(id));
  const auto metadata = b.CreateVector<flatbuffers::Offset<fb::MetadataItem>>({});
  const auto files = b.CreateVectorOfStructs<fb::ManifestFileInfo>({});
  b.Finish(fb::CreateSnapshot(b, &snapshot_id, parent ? &parent_id : nullptr, vector,
                              written_us, message, metadata, files));
  return TextOfBuilder(b);
}

struct IcechunkRepo {
  using Refs = std::vector<std::pair<std::string, uint32_t>>;  // indexes in `snapshots`
  struct Entry {
    uint8_t id;
    int32_t parent = -1;
    uint64_t written_us = 0;
  };
  std::vector<Entry> snapshots;
  Refs branches = {{"main", 0}};
  Refs tags = {};
  std::vector<std::string> deleted_tags = {};
  uint8_t availability = 0;
  std::string reason = {};
  std::string config = {};  // a FlexBuffer
};

// The payload of `repo`.
inline std::string IcechunkRepoPayload(const IcechunkRepo& repo) {
  flatbuffers::FlatBufferBuilder b;
  const auto refs = [&](const IcechunkRepo::Refs& names) {
    std::vector<flatbuffers::Offset<fb::Ref>> tables;
    for (const auto& [name, index] : names) {
      tables.push_back(fb::CreateRef(b, b.CreateString(name), index));
    }
    return b.CreateVector(tables);
  };
  const auto tags = refs(repo.tags);
  const auto branches = refs(repo.branches);
  const auto deleted = b.CreateVectorOfStrings(repo.deleted_tags);
  std::vector<flatbuffers::Offset<fb::SnapshotInfo>> snapshots;
  for (const auto& entry : repo.snapshots) {
    const auto message = b.CreateString("snapshot " + std::to_string(entry.id));
    const fb::ObjectId12 id = FbId(entry.id);
    snapshots.push_back(
        fb::CreateSnapshotInfo(b, &id, entry.parent, entry.written_us, message));
  }
  const auto snapshot_vector = b.CreateVector(snapshots);
  const auto reason = repo.reason.empty() ? 0 : b.CreateString(repo.reason);
  const auto status = fb::CreateRepoStatus(b, repo.availability, 0, reason);
  const auto config = repo.config.empty()
                          ? 0
                          : b.CreateVector(reinterpret_cast<const uint8_t*>(repo.config.data()),
                                           repo.config.size());
  b.Finish(
      fb::CreateRepo(b, 2, tags, branches, deleted, snapshot_vector, status, 0, 0, config));
  return TextOfBuilder(b);
}

inline constexpr const char* kIcechunkGroup = R"({"zarr_format": 3, "node_type": "group"})";

// zarr.json of int32 without compression; `shape` and `chunks` as in JSON.
inline std::string IcechunkArrayJson(const std::string& shape, const std::string& chunks) {
  return R"({"zarr_format": 3, "node_type": "array", "shape": )" + shape +
         R"(, "data_type": "int32", "fill_value": 7, "chunk_grid": {"name": "regular",)" +
         R"( "configuration": {"chunk_shape": )" + chunks +
         R"(}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes",)" +
         R"( "configuration": {"endian": "little"}}]})";
}

}  // namespace ndlfs::test
