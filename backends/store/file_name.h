// SPDX-License-Identifier: MIT
//
// Helpers for the names of files and of the stores in them.
#pragma once

#include <string>
#include <string_view>

namespace ndlfs::backends {

// "b.npy" of "a/b.npy".
std::string_view FileNameOf(std::string_view path);

// "a" of "a/b.npy"; "" of "b.npy".
std::string_view FolderOf(std::string_view path);

// Whether `name` ends in `extension` (".npy"), in small or capital letters,
// and has something before it.
bool HasExtension(std::string_view name, std::string_view extension);

// The NDL name of the store at `path`: the name of the file without its
// extension, if it has that one. A name that is not UTF-8 is taken as Latin-1.
std::string StoreNameOf(std::string_view path, std::string_view extension);

}  // namespace ndlfs::backends
