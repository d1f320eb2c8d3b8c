// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/netcdf3/header.h"
#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_request.h"

namespace ndlfs::fs {

// The Dataset Descriptor Structure of `declarations`.
std::string WriteDds(const DapDataset& dataset,
                     const std::vector<DapDeclaration>& declarations);
// The Dataset Attribute Structure of the whole dataset.
std::string WriteDas(const DapDataset& dataset);

// The number in `bytes`, which are big-endian, of `type`.
std::string DapNumberText(std::string_view bytes, backends::netcdf3::Type type);
// `text` up to its first NUL, in quotes; quotes and backslashes in it have a backslash before
// them.
std::string DapStringText(std::string_view text);

// A file that answers a request: "data.dds", "data[t2m[0:3]].dods".
struct DapFileName {
  std::string_view constraint;  // "t2m[0:3]"; empty: none
  size_t extension = 0;         // its number
};

// nullopt for a name that ends in none of `extensions`; the first one that fits counts.
std::optional<DapFileName> ParseDapFileName(std::string_view name,
                                            std::span<const std::string_view> extensions);

}  // namespace ndlfs::fs
