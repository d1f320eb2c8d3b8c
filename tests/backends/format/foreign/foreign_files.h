// SPDX-License-Identifier: MIT
//
// Opens headers of a source in memory, for tests of their formats.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/format.h"
#include "model/path_name.h"
#include "tests/support/detect_file.h"
#include "tests/support/memory_source.h"
#include "tests/support/read_array.h"

namespace ndlfs::test {

class ForeignFiles {
 public:
  explicit ForeignFiles(const backends::Format& format) : format_(format) {}

  void Put(const std::string& path, const std::string& text) { source_->Put(path, text); }
  MemorySource& source() { return *source_; }

  // Opens the store at `path`.
  model::Result<std::shared_ptr<const backends::Hierarchy>> Open(
      const std::string& path, const backends::OpenOptions& options = {}) const {
    return format_.Open(source_, path, options);
  }
  // Whether the file at `path` is a store of the format.
  bool IsStore(const std::string& path) const {
    return backends::DetectFile(*source_, path) == &format_;
  }
  // Why the store cannot be opened; "" if it can.
  std::string ErrorOf(const std::string& path) const {
    const auto opened = Open(path);
    return opened ? "" : opened.error().message();
  }
  std::shared_ptr<const backends::Node> Load(const std::string& path, const std::string& name,
                                             const backends::OpenOptions& options = {}) const {
    const auto opened = Open(path, options);
    if (!opened) {
      ADD_FAILURE() << opened.error().message();
      return std::make_shared<backends::Node>();
    }
    const auto node = (*opened)->Load(model::JoinPath("/", name));
    if (node) return *node;
    ADD_FAILURE() << node.error().message();
    return std::make_shared<backends::Node>();
  }
  // Why the array has no data; "" if it has.
  std::string ArrayErrorOf(const std::string& path, const std::string& name,
                           const backends::OpenOptions& options = {}) const {
    const auto node = Load(path, name, options);
    return node->error ? node->error->message() : "";
  }
  // All elements, little-endian; or the error.
  std::string Elements(const std::string& path, const std::string& name) const {
    const auto node = Load(path, name);
    if (node->error) return "error: " + node->error->message();
    if (!node->source) return "error: no source";
    const std::string elements = ReadThroughChunks(*node->source);
    if (node->source->contiguous()) {
      EXPECT_EQ(ReadThroughRange(*node->source), elements);
    }
    return elements;
  }
  std::vector<uint64_t> ShapeOf(const std::string& path, const std::string& name) const {
    const auto node = Load(path, name);
    std::vector<uint64_t> shape;
    if (node->is_group()) return shape;
    for (const auto& dimension : node->array().shape) {
      shape.push_back(dimension.size.value_or(0));
    }
    return shape;
  }
  // The coordinates along a dimension.
  std::vector<double> Coordinates(const std::string& path, const std::string& name) const {
    const std::string bytes = Elements(path, name);
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    return numbers;
  }
  // The value of an attribute; null if there is none.
  model::Value AttributeOf(const std::string& path, const std::string& name,
                           const std::string& attribute) const {
    const auto node = Load(path, name);
    for (const auto& known : node->attributes()) {
      if (known.name == attribute) return known.value;
    }
    return {};
  }

 private:
  const backends::Format& format_;
  const std::shared_ptr<MemorySource> source_ = MemorySource::Make();
};

// Numbers one after the other, little-endian or big-endian.
template <typename T>
std::string Numbers(const std::vector<T>& numbers, bool is_big = false) {
  std::string bytes;
  for (const T number : numbers) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &number, sizeof(T));
    if (is_big) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

}  // namespace ndlfs::test
