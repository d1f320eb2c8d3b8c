// SPDX-License-Identifier: MIT
//
// The STORE and PATH of the commands that need no mount.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backends/hierarchy.h"
#include "model/error.h"

namespace ndlfs::fs {

struct OpenedStore {
  std::string name;  // of the file or directory
  std::shared_ptr<const backends::Hierarchy> hierarchy;
};

// Opens the store at `path`: a file or directory, however it is spelled ("."
// and links too). kUnsupported where there is something else.
model::Result<OpenedStore> OpenStore(const std::string& path);

// "forecast/wind/" -> "/forecast/wind"; "" and "/" -> "/".
std::string NormalizePathName(std::string_view path);

}  // namespace ndlfs::fs
