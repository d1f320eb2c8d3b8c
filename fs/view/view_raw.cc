// SPDX-License-Identifier: MIT
#include "fs/view/element_view.h"
#include "fs/view/view_kinds.h"

namespace ndlfs::fs {
namespace {

class RawViewKind final : public ViewKind {
 public:
  std::string_view file_name() const override { return "data.raw"; }
  bool AppliesTo(const backends::ArraySpec& spec) const override {
    return spec.dtype.is_fixed_size();
  }
  model::Result<std::shared_ptr<const View>> Make(const ViewInput& input) const override {
    return MakeElementView({}, input.reader);
  }
};

}  // namespace

const ViewKind& RawView() {
  static const RawViewKind kind;
  return kind;
}

}  // namespace ndlfs::fs
