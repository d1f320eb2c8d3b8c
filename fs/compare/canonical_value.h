// SPDX-License-Identifier: MIT
//
// The form in which values of attributes are compared: the same for every format.
// ndlfs-digest(5) defines it.
#pragma once

#include <string>
#include <vector>

#include "model/entities.h"

namespace ndlfs::fs {

// The value of an attribute as compact JSON. A list of one item counts as this item; the widths
// of numbers do not count.
std::string CanonicalValue(const model::Attribute& attribute);

// The name of each dimension of an array, "" for one without; empty if none has a name.
std::vector<std::string> DimensionNames(const model::Ndarray& array);

}  // namespace ndlfs::fs
