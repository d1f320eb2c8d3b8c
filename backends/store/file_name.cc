// SPDX-License-Identifier: MIT
#include "backends/store/file_name.h"

#include <algorithm>

#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view FileNameOf(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  return path.substr(0, slash == path.npos ? 0 : slash);
}

bool HasExtension(std::string_view name, std::string_view extension) {
  if (name.size() <= extension.size()) return false;
  name.remove_prefix(name.size() - extension.size());
  return std::equal(name.begin(), name.end(), extension.begin(),
                    [](char a, char b) { return ToLower(a) == b; });
}

std::string StoreNameOf(std::string_view path, std::string_view extension) {
  std::string_view name = FileNameOf(path);
  if (HasExtension(name, extension)) name.remove_suffix(extension.size());
  return model::AsUtf8(name);
}

}  // namespace ndlfs::backends
