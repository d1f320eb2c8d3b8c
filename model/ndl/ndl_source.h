// SPDX-License-Identifier: MIT
//
// Writes, reads and checks the extension `x-source`.
#pragma once

#include <optional>

#include "model/ndl/ndl_context.h"
#include "model/ndl/yaml_layout.h"
#include "model/ndl/yaml_tree.h"
#include "model/value_source.h"

namespace ndlfs::model {

YamlItem SourceItem(const ValueSource& source);

enum class SourceOwner { kGroup, kArray };

// Reads the source of an array or a group. Reports errors, and returns nullopt then. Looks at
// no file.
std::optional<ValueSource> ReadSource(NdlContext& context, const YamlNode& node,
                                      SourceOwner owner);

}  // namespace ndlfs::model
