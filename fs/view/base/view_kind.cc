// SPDX-License-Identifier: MIT
#include "fs/view/base/view_kind.h"

#include "backends/base/checked.h"

namespace ndlfs::fs {

std::optional<model::Error> RefuseWithoutElements(const ArrayInput& input) {
  if (input.elements) return std::nullopt;
  return model::Limit("more than {} bytes of elements", backends::kMaxViewSize).value();
}

}  // namespace ndlfs::fs
