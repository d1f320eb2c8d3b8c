// SPDX-License-Identifier: MIT
#pragma once

#include <variant>

#include "backends/format/hierarchy.h"
#include "model/entities.h"

namespace ndlfs::backends::ndl {

// The array of a node that is an array, to be changed.
inline model::Ndarray& ArrayOf(Node& node) {
  if (auto* dimcoord = std::get_if<model::DimCoord>(&node.entity)) return *dimcoord;
  return std::get<model::Ndarray>(node.entity);
}

}  // namespace ndlfs::backends::ndl
