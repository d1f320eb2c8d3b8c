// SPDX-License-Identifier: MIT
//
// Writes, reads and checks the extension `x-layout`.
#pragma once

#include <optional>

#include "model/layout.h"
#include "model/ndl/ndl_context.h"
#include "model/ndl/yaml_layout.h"
#include "model/ndl/yaml_tree.h"

namespace ndlfs::model {

YamlItem LayoutItem(const Layout& layout);

// Reads the layout of elements of `type`; its members must be those of `type`.
// Reports errors, and returns nullopt then.
std::optional<Layout> ReadLayout(NdlContext& context, const YamlNode& node,
                                 const Datatype& type);

}  // namespace ndlfs::model
