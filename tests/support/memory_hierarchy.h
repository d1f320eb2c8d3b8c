// SPDX-License-Identifier: MIT
//
// Arrays, and whole stores, in memory, for tests of what is above the formats.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "model/path_name.h"

namespace ndlfs::test {

// `chunks` are decoded, by linear index; a missing one does not decode.
class MemoryArray final : public backends::ArraySource {
 public:
  MemoryArray(model::Datatype dtype, std::vector<uint64_t> shape,
              std::vector<uint64_t> chunk_shape, std::map<uint64_t, std::string> chunks)
      : chunks_(std::move(chunks)) {
    spec_.dtype = std::move(dtype);
    spec_.shape = shape;
    spec_.grid = backends::ChunkGrid::Regular(std::move(shape), std::move(chunk_shape),
                                              backends::ChunkGrid::Edge::kCropped)
                     .value();
  }
  // All elements in one chunk.
  MemoryArray(model::Datatype dtype, std::vector<uint64_t> shape, std::string elements)
      : MemoryArray(std::move(dtype), shape, shape, {{0, std::move(elements)}}) {}

  const backends::ArraySpec& spec() const override { return spec_; }
  model::Result<backends::ChunkLocation> Locate(std::span<const uint64_t> index,
                                                backends::IndexCache&) const override {
    uint64_t linear = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      linear = linear * spec_.grid.counts()[d] + index[d];
    }
    backends::ChunkLocation location;
    location.generate = [this, linear](uint64_t) -> model::Result<backends::Bytes> {
      const auto chunk = chunks_.find(linear);
      if (chunk == chunks_.end()) return model::Corrupt("chunk {} is broken", linear);
      return backends::Bytes::Copy(backends::AsBytes(chunk->second));
    };
    return location;
  }

 private:
  backends::ArraySpec spec_;
  std::map<uint64_t, std::string> chunks_;
};

// An array none of whose chunks decodes: what only needs its metadata must not notice.
inline std::shared_ptr<const backends::ArraySource> Undecodable(model::Datatype dtype,
                                                                std::vector<uint64_t> shape) {
  std::vector<uint64_t> chunk = shape;
  for (uint64_t& extent : chunk) extent = std::max<uint64_t>(extent, 1);
  return std::make_shared<MemoryArray>(std::move(dtype), std::move(shape), std::move(chunk),
                                       std::map<uint64_t, std::string>());
}

// The bytes of `number` as they are in memory.
template <typename Number>
std::string Raw(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// Text, or a vlen of bytes, in an element of variable size.
inline std::string Counted(std::string_view text) {
  return Raw(static_cast<uint32_t>(text.size())).append(text);
}

// A decoded chunk of elements of variable size; see backends/format/array_source.h.
inline std::string ElementStream(const std::vector<std::string>& elements) {
  std::string table;
  std::string bytes;
  for (const std::string& element : elements) {
    table += Raw(uint64_t{bytes.size()});
    bytes += element;
  }
  return table + Raw(uint64_t{bytes.size()}) + bytes;
}

// A store: nodes by path name, parents before children.
class MemoryHierarchy final : public backends::Hierarchy {
 public:
  backends::Node& AddGroup(const std::string& path) {
    model::Group group;
    group.name = model::BaseName(path);
    return Put(path, std::move(group), nullptr);
  }
  backends::Node& AddArray(const std::string& path, model::Ndarray ndarray,
                           std::shared_ptr<const backends::ArraySource> source) {
    ndarray.name = model::BaseName(path);
    if (source) ndarray.type = source->spec().dtype;
    return Put(path, std::move(ndarray), std::move(source));
  }
  // Ndarrays with the shape of their source.
  backends::Node& AddArray(const std::string& path,
                           std::shared_ptr<const backends::ArraySource> source) {
    model::Ndarray ndarray;
    for (const uint64_t extent : source->spec().shape) ndarray.shape.push_back({extent, ""});
    return AddArray(path, std::move(ndarray), std::move(source));
  }
  backends::Node& AddDimCoord(const std::string& path,
                              std::shared_ptr<const backends::ArraySource> source) {
    model::DimCoord dimcoord;
    dimcoord.name = model::BaseName(path);
    dimcoord.shape = {{source->spec().shape.at(0), ""}};
    dimcoord.type = source->spec().dtype;
    return Put(path, std::move(dimcoord), std::move(source));
  }
  // Loading `path` fails from now on.
  void Break(const std::string& path) { broken_.insert(path); }

  std::string_view format() const override { return "memory"; }
  model::Result<std::shared_ptr<const backends::Node>> Load(
      std::string_view path) const override {
    if (broken_.contains(path)) return model::BadInput("{} is broken", path);
    const auto node = nodes_.find(path);
    if (node == nodes_.end()) return model::NotFound("no {}", path);
    return std::make_shared<const backends::Node>(node->second);
  }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    std::vector<std::string> names;
    for (const auto& [child, node] : nodes_) {
      if (child != "/" && model::ParentPath(child) == path) {
        names.emplace_back(model::BaseName(child));
      }
    }
    return names;
  }
  model::Result<uint64_t> Version(std::string_view) const override { return uint64_t{1}; }

 private:
  template <typename Entity>
  backends::Node& Put(const std::string& path, Entity entity,
                      std::shared_ptr<const backends::ArraySource> source) {
    backends::Node& node = nodes_[path];
    node.entity = std::move(entity);
    node.source = std::move(source);
    return node;
  }

  std::map<std::string, backends::Node, std::less<>> nodes_;
  std::set<std::string, std::less<>> broken_;
};

}  // namespace ndlfs::test
