// SPDX-License-Identifier: MIT
#include "backends/base/checked.h"
#include "fs/view/array/npy_header.h"
#include "fs/view/array/views.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {

const ArrayViewKind kNpyView = {
    .file_name = "data.npy",
    .applies_to = [](const ArrayInput& input) { return FitsNpy(input.dtype, input.shape); },
    .refuse = &RefuseWithoutElements,
    .size = [](const ArrayInput& input) -> std::optional<uint64_t> {
      const uint64_t size = NpyHeader(input.dtype, input.shape).size() + input.elements->size();
      if (size > backends::kMaxViewSize) return std::nullopt;
      return size;
    },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
      return MakeSegmentedView(
          {Literal(NpyHeader(input.dtype, input.shape)), AllOf(input.elements)});
    },
};

}  // namespace ndlfs::fs
