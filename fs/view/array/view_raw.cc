// SPDX-License-Identifier: MIT
#include "fs/view/array/views.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {

const ArrayViewKind kRawView = {
    .file_name = "data.raw",
    .description = "the elements alone: little-endian, C order",
    .applies_to = [](const ArrayInput& input) { return input.dtype.is_fixed_size(); },
    .refuse = &RefuseWithoutElements,
    .size = [](const ArrayInput& input) -> std::optional<uint64_t> {
      return input.elements->size();
    },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
      return MakeSegmentedView({AllOf(input.elements)});
    },
};

}  // namespace ndlfs::fs
