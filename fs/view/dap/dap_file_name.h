// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace ndlfs::fs {

// A file that answers a request: "data.dds", "data[t2m[0:3]].dods".
struct DapFileName {
  std::string_view constraint;  // "t2m[0:3]"; empty: none
  size_t extension = 0;         // its number
};

// nullopt for a name that ends in none of `extensions`; the first one that fits counts.
std::optional<DapFileName> ParseDapFileName(std::string_view name,
                                            std::span<const std::string_view> extensions);

}  // namespace ndlfs::fs
