// SPDX-License-Identifier: MIT
#pragma once

#include "fs/view/base/view_provider.h"

namespace ndlfs::fs {

// What a server of DAP 2 answers about a group, as files that are found by name:
//
//   data.dds, data.das   structure and attributes
//   data.dods            the values of all arrays
//   data.ascii           the same as text
//   data[C].dds, data[C].dods ...   the same under a constraint, as URLs have it behind the
//   '?':
//                        data[t2m[0:1:3][0:44],lat].dods
class DapProvider final : public GroupViewProvider {
 public:
  std::vector<ViewName> Names(const GroupInput&) const override { return {}; }
  std::optional<Resolution> Resolve(const GroupInput& group,
                                    std::string_view name) const override;
};

}  // namespace ndlfs::fs
