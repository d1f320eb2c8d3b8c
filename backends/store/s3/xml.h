// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends::s3 {

// What WalkXml() tells about an element that has ended. Both are valid during the call only.
struct XmlElement {
  // The names from the top down, without name spaces: "ListBucketResult/Contents/Key".
  std::string_view path;
  // The text in the element itself, entities resolved; that of elements in it is not part of
  // it.
  std::string_view text;
};

// Calls `at_end` for each element of a document, in the order of their ends. The first error
// that it returns ends the walk. Errors of the document are kBadInput. Memory is bounded:
// documents with a DOCTYPE, which may declare entities, with more than 16 levels, or with more
// than 64 KiB of text in one element are refused.
model::Result<void> WalkXml(
    std::string_view document,
    const std::function<model::Result<void>(const XmlElement& element)>& at_end);

}  // namespace ndlfs::backends::s3
