// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/error.h"

namespace ndlfs::backends {

// An element that has ended, as WalkXml() reports it. All of it is valid during the call only.
struct XmlElement {
  // The names from the top down, without name spaces: "ListBucketResult/Contents/Key".
  std::string_view path;
  // The text directly in the element, entities resolved, without the text of elements in it.
  std::string_view text;
  // Names, also without name spaces, and values.
  std::span<const std::pair<std::string, std::string>> attributes = {};
  size_t line = 0;  // where it begins, from 1
};

// Calls `at_end` for each element of a document, in the order of their ends. The first error
// that it returns ends the walk. Errors of the document are kBadInput. Memory is bounded:
// documents with a DOCTYPE, which may declare entities, with more than 16 levels, or with more
// than `longest_text` bytes of text in one element are refused.
model::Result<void> WalkXml(
    std::string_view document,
    const std::function<model::Result<void>(const XmlElement& element)>& at_end,
    size_t longest_text = size_t{64} << 10);

}  // namespace ndlfs::backends
