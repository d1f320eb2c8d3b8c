// SPDX-License-Identifier: MIT
//
// The extension `x-layout`: written, and read and checked.
#pragma once

#include <optional>

#include "model/layout.h"
#include "model/ndl/ndl_context.h"
#include "model/ndl/yaml_layout.h"
#include "model/ndl/yaml_tree.h"

namespace ndlfs::model {

YamlItem LayoutItem(const Layout& layout);

// Of elements of `type`, which the members must be those of. Reports what is
// wrong and gives nullopt then.
std::optional<Layout> ReadLayout(NdlContext& context, const YamlNode& node,
                                 const Datatype& type);

}  // namespace ndlfs::model
