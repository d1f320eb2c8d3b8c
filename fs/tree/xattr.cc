// SPDX-License-Identifier: MIT
#include "fs/tree/xattr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <utility>
#include <vector>

#include "cache/load_counts.h"
#include "model/ndl/ndl_writer.h"

namespace ndlfs::fs {
namespace {

// The limits of Linux: XATTR_NAME_MAX, XATTR_SIZE_MAX, XATTR_LIST_MAX.
constexpr size_t kNameLimit = 255;
constexpr size_t kValueLimit = 65536;
constexpr size_t kListLimit = 65536;

class Collector {
 public:
  explicit Collector(std::string_view only) : only_(only) {}

  bool Wants(std::string_view prefix, std::string_view name) const {
    return only_.empty() || (only_.starts_with(prefix) && only_.substr(prefix.size()) == name);
  }
  void Add(std::string name, std::string value) {
    if (!Wants("", name)) return;
    if (name.size() > kNameLimit || name.find('\0') != std::string::npos) return;
    if (value.size() > kValueLimit) return;
    if (listed_ + name.size() + 1 > kListLimit) return;
    listed_ += name.size() + 1;
    attributes_.emplace_back(std::move(name), std::move(value));
  }
  ExtendedAttributes Take() { return std::move(attributes_); }

 private:
  const std::string_view only_;
  ExtendedAttributes attributes_;
  size_t listed_ = 0;
};

std::string_view KindOf(const backends::Node& node) {
  constexpr std::string_view kKinds[] = {"group", "ndarray", "dimcoord"};
  return kKinds[node.entity.index()];
}

// The extent, as numbers: where a dimension has none yet, null.
std::string ShapeText(const model::Shape& shape) {
  std::string text;
  for (const model::Dimension& dimension : shape) {
    if (!text.empty()) text += ", ";
    text += dimension.size ? fmt::format("{}", *dimension.size) : "null";
  }
  return "[" + text + "]";
}

// The extent of an array that has data is what its views show.
std::string ShapeText(const backends::Node& node) {
  if (!node.source) return ShapeText(node.array().shape);
  return fmt::format("[{}]", fmt::join(node.source->spec().shape, ", "));
}

std::string ValueText(const model::Attribute& attribute) {
  const std::string* text = attribute.value.text();
  if (text != nullptr && attribute.type.kind() == model::Datatype::Kind::kString) return *text;
  return model::WriteFlow(attribute.value, attribute.type);
}

void AddArray(Collector& out, const backends::Node& node) {
  const model::Ndarray& array = node.array();
  out.Add("user.ndl.type", model::WriteFlow(array.type));
  out.Add("user.ndl.shape", ShapeText(node));
  if (const auto layout = node.layout()) {
    out.Add("user.ndl.layout", model::WriteFlow(*layout));
  }
  if (array.storage.chunk) {
    out.Add("user.ndl.chunk", fmt::format("[{}]", fmt::join(*array.storage.chunk, ", ")));
  }
}

void AddViews(Collector& out, std::span<const ViewName> views) {
  std::vector<std::string_view> names;
  for (const ViewName& file : views) {
    // Programs open all that are named.
    if (!file.refusal && !file.is_directory) names.push_back(file.name);
  }
  if (!names.empty())
    out.Add(std::string(kViewsName), fmt::format("[{}]", fmt::join(names, ", ")));
}

}  // namespace

ExtendedAttributes DescribeEntity(std::string_view store, std::string_view path,
                                  const backends::Node& node, std::span<const ViewName> views,
                                  std::string_view only) {
  Collector out(only);
  out.Add("user.ndl.path", std::string(path));
  out.Add("user.ndl.kind", std::string(KindOf(node)));
  if (!node.is_group()) AddArray(out, node);
  out.Add("user.ndl.store", std::string(store));
  AddViews(out, views);
  for (const model::Attribute& attribute : node.attributes()) {
    if (!out.Wants(kAttributePrefix, attribute.name)) continue;
    out.Add(std::string(kAttributePrefix) + attribute.name, ValueText(attribute));
  }
  return out.Take();
}

std::string DescribeCost(const ReadCost& cost) {
  return fmt::format("{{chunks: {}, kept: {}, fetched-bytes: {}, decoded-bytes: {}}}",
                     cost.chunks, cost.kept, cost.fetched_bytes, cost.decoded_bytes);
}

std::string DescribeLoads(const cache::LoadCounts& counts) {
  return fmt::format(
      "{{decoded: {}, parts: {}, bytes: {}, seconds: {:.6f}, hits: {}, failures: {}, "
      "direct-bytes: {}}}",
      counts.decoded.load(), counts.decoded_parts.load(), counts.decoded_bytes.load(),
      static_cast<double>(counts.nanoseconds.load()) / 1e9, counts.hits.load(),
      counts.failures.load(), counts.direct_bytes.load());
}

}  // namespace ndlfs::fs
