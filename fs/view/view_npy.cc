// SPDX-License-Identifier: MIT
#include "fs/view/element_view.h"
#include "fs/view/npy_header.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

class NpyViewKind final : public ViewKind {
 public:
  std::string_view file_name() const override { return "data.npy"; }
  bool AppliesTo(const backends::ArraySpec& spec) const override {
    return FitsNpy(spec.dtype, spec.shape);
  }
  model::Result<std::shared_ptr<const View>> Make(const ViewInput& input) const override {
    const backends::ArraySpec& spec = input.reader->spec();
    return MakeElementView(NpyHeader(spec.dtype, spec.shape), input.reader);
  }
};

}  // namespace

const ViewKind& NpyView() {
  static const NpyViewKind kind;
  return kind;
}

}  // namespace ndlfs::fs
