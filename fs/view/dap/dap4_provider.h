// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// What a server of DAP 4 answers about a group and everything below it, as files that are found
// by name:
//
//   data.dmr               structure and attributes
//   data.dap               the values of all arrays
//   data.checksums.dap     the same with checksums
//   data[C].dmr ...        the same under a constraint, as the parameter `dap4.ce` of URLs:
//                          data[/t2m[0:1:3][];/g/lat].dap
class Dap4Provider final : public GroupViewProvider {
 public:
  std::vector<ViewName> Names(const GroupInput&) const override { return {}; }
  std::optional<Resolution> Resolve(const GroupInput& group,
                                    std::string_view name) const override;
};

}  // namespace ndlfs::fs
