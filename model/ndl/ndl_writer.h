// SPDX-License-Identifier: MIT
//
// Writes NDL documents (NDL 0.6.1). Canonical: the same model gives the same
// bytes. Layout and extensions are described in man/ndl.5.
#pragma once

#include <string>
#include <string_view>

#include "model/entities.h"

namespace ndlfs::model {

// The document of a whole file: one top-level key per group, "/" first.
std::string WriteFile(const File& file);

// The document of a group and all that is below it; `path` is its path name,
// and keys are absolute path names.
std::string WriteGroup(const Group& group, std::string_view path);

// The document of one entity, in hierarchical form with the path name of its
// group as the key.
std::string WriteNdarray(const Ndarray& ndarray, std::string_view group_path);
std::string WriteDimCoord(const DimCoord& dimcoord, std::string_view group_path);

// A value, datatype or layout alone, in YAML flow style on one line: what the
// extended attributes show.
std::string WriteFlow(const Value& value, const Datatype& type);
std::string WriteFlow(const Datatype& type);
std::string WriteFlow(const Layout& layout);

}  // namespace ndlfs::model
