// SPDX-License-Identifier: MIT
//
// Writes NDL documents (NDL 0.6.1). The form is canonical: equal entities give
// equal bytes. man/ndl.5 describes its layout and the extensions.
#pragma once

#include <string>
#include <string_view>

#include "model/entities.h"

namespace ndlfs::model {

// The document of a whole file: one top-level key per group, "/" first.
std::string WriteFile(const File& file);

// The document of a group with everything below it. `path` is the path name of
// the group; the keys are absolute path names.
std::string WriteGroup(const Group& group, std::string_view path);

// The document of one entity, in hierarchical form: the key is the path name of
// its group.
std::string WriteNdarray(const Ndarray& ndarray, std::string_view group_path);
std::string WriteDimCoord(const DimCoord& dimcoord, std::string_view group_path);

// A value, datatype or layout alone, in YAML flow style on one line, as the
// extended attributes have it.
std::string WriteFlow(const Value& value, const Datatype& type);
std::string WriteFlow(const Datatype& type);
std::string WriteFlow(const Layout& layout);

}  // namespace ndlfs::model
