// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "backends/base/checked.h"
#include "fs/view/array/npy_header.h"
#include "fs/view/array/views.h"
#include "fs/view/base/array_part.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

std::string HeaderOf(const ArrayInput& input) {
  const bool is_fortran = input.part && input.part->is_fortran;
  std::vector<uint64_t> shape = input.shape;
  if (is_fortran) std::ranges::reverse(shape);
  return NpyHeader(input.dtype, shape, is_fortran);
}

}  // namespace

const ArrayViewKind kNpyView = {
    .file_name = "data.npy",
    .description = "NumPy",
    .applies_to = [](const ArrayInput& input) { return FitsNpy(input.dtype, input.shape); },
    .refuse = &RefuseWithoutElements,
    .size = [](const ArrayInput& input) -> std::optional<uint64_t> {
      const uint64_t size = HeaderOf(input).size() + input.elements->size();
      if (size > backends::kMaxViewSize) return std::nullopt;
      return size;
    },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      if (auto refusal = RefuseWithoutElements(input)) return model::Propagate(*refusal);
      return MakeSegmentedView({Literal(HeaderOf(input)), AllOf(input.elements)});
    },
};

}  // namespace ndlfs::fs
