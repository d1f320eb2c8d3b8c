// SPDX-License-Identifier: MIT
//
// Any text as the attribute of an aggregation variable: after "j" the JSON text of CFA 0.4,
// else the terms of later ones.
#include <cstdint>
#include <string_view>
#include <utility>

#include "backends/detection.h"
#include "backends/format/cfa/cfa.h"
#include "backends/format/ndl/ndl.h"
#include "model/attributes.h"
#include "tests/fuzz/read_hierarchy.h"
#include "tests/support/memory_source.h"

namespace {

using namespace ndlfs;

// A hierarchy whose array /t has one more attribute.
class WithAttribute final : public backends::Hierarchy {
 public:
  WithAttribute(std::shared_ptr<const Hierarchy> file, model::Attribute attribute)
      : file_(std::move(file)), attribute_(std::move(attribute)) {}

  std::string_view format() const override { return file_->format(); }
  model::Result<std::vector<std::string>> List(std::string_view path) const override {
    return file_->List(path);
  }
  model::Result<uint64_t> Version(std::string_view path) const override {
    return file_->Version(path);
  }
  model::Result<std::shared_ptr<const backends::Node>> Load(
      std::string_view path) const override {
    NDLFS_TRY(auto node, file_->Load(path));
    if (path != "/t") return node;
    auto changed = std::make_shared<backends::Node>(*node);
    std::get<model::Ndarray>(changed->entity).attributes.push_back(attribute_);
    return changed;
  }

 private:
  const std::shared_ptr<const Hierarchy> file_;
  const model::Attribute attribute_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_json = text.starts_with('j');
  text.remove_prefix(std::min<size_t>(1, text.size()));
  const auto source = test::MemorySource::Make();
  source->Put(
      "p.ndl.yaml",
      "/: {ndarrays: {t: {shape: [2], type: int8, value: [1, 2]}, u: {shape: [1, 2], type: "
      "int8, value: [[1, 2]]}}}");
  source->Put(
      "a.ndl.yaml",
      "/: {ndarrays: {t: {shape: [], type: int8, value: 0, attributes: "
      "{aggregated_dimensions: x, cfa_dimensions: x}}, n: {shape: [1, 2], type: int32, value: "
      "[[2, 2]]}, f: {shape: [2], type: string, value: [p.ndl.yaml, p.ndl.yaml]}, v: {shape: "
      "[2], type: string, value: [t, u]}, s: {shape: [2], type: string, attributes: "
      "{substitutions: \"p: p\"}, value: [p.ndl.yaml, \"\"]}}}");
  backends::OpenOptions options;
  options.open_store = backends::OpenAnyStore;
  auto file = backends::OpenDetected(backends::NdlFormat(), source, "a.ndl.yaml", options);
  if (!file) return 0;
  auto attribute = model::MakeTextAttribute(is_json ? "cfa_array" : "aggregated_data", text);
  const auto all = backends::cfa::WithAggregations(
      std::make_shared<WithAttribute>(*std::move(file), std::move(attribute)), source,
      "a.ndl.yaml", options);
  fuzz::HierarchyReader(*all).Visit();
  return 0;
}
