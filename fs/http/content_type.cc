// SPDX-License-Identifier: MIT
#include "fs/http/content_type.h"

#include <array>
#include <optional>
#include <span>
#include <utility>

#include "fs/http/parse/fields.h"

namespace ndlfs::fs {
namespace {

// Texts of the tree are UTF-8. `netcdf` and `hdf5` are what servers of such files send,
// although nobody has registered them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 34> kTypes = {{
#include "fs/http/content_types.inc"
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypesOfPages = {{
    {".html", "text/html; charset=utf-8"},
    {".htm", "text/html; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".xml", "application/xml"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
}};

std::optional<std::string> FindType(
    std::span<const std::pair<std::string_view, std::string_view>> types,
    std::string_view name) {
  for (const auto& [end, type] : types) {
    const bool is_whole = end.starts_with('/');
    if (is_whole && name == end.substr(1)) return std::string(type);
    if (!is_whole && name.size() >= end.size() &&
        EqualsIgnoringCase(name.substr(name.size() - end.size()), end)) {
      return std::string(type);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ContentTypeOf(std::string_view name, bool is_page) {
  const auto page = is_page ? FindType(kTypesOfPages, name) : std::nullopt;
  if (page) return *page;
  return FindType(kTypes, name).value_or("application/octet-stream");
}

}  // namespace ndlfs::fs
