// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/library/handle.h"

namespace ndlfs::backends::hdf5 {

// An object, and the addresses of the groups that lead to it, root first.
struct WalkedObject {
  Handle object;
  std::vector<haddr_t> ancestors;
};

// Walks from the root, name by name, over hard links only; the library would also follow links
// of other kinds, even into other files. kNotFound if a name does not exist or is another kind
// of link. Needs library_mutex. Remembers where groups are, so that the groups on a long way
// are opened once, and not for each object at its end.
model::Result<WalkedObject> WalkTo(hid_t file, std::string_view path);

// The same, but returns only the object.
model::Result<Handle> OpenObject(hid_t file, std::string_view path);

// Forgets what is remembered of `file`. Call it before you close the file. Needs library_mutex.
void ForgetWalks(hid_t file);

// Whether `name` can be the name of a link: the library takes "." for the
// group itself, and "a/b" for two names.
bool IsLinkName(std::string_view name);

}  // namespace ndlfs::backends::hdf5
