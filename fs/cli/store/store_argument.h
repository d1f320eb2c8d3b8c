// SPDX-License-Identifier: MIT
//
// The STORE and PATH of the commands that need no mount.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/format/hierarchy.h"
#include "backends/store/source.h"
#include "fs/serve/remote_access.h"
#include "model/error.h"

namespace ndlfs::fs {

struct OpenedStore {
  std::string where;  // for messages: the name that was given, and the targets of links
  std::string name;   // of the file or directory
  std::shared_ptr<const backends::Hierarchy> hierarchy;
  // The place of the store. Links of the store are followed into other stores of `source`.
  std::shared_ptr<const backends::Source> source;
  std::string path;
  // The object that was named: "/", except for a folder inside a mount.
  std::string object = "/";
  bool is_linked = false;  // FollowLinks() has followed a link to `object`
};

// Opens the store at `path`: a file or directory, a folder inside a mount, or a URL. The path
// may be spelled in any way ("." and links too); `access` is for URLs. kUnsupported if there is
// something else.
model::Result<OpenedStore> OpenStore(const std::string& path, const RemoteAccess& access = {});

// The object at `path` of `store`, seen from `store.object`. Follows soft, hard and external
// links on the way and at the end, so that no link remains in `object` of the result. If an
// external link leads to another store, the result is that store. Does not check that there is
// such an object. Links in a loop, and links that lead out of the source, are errors.
model::Result<OpenedStore> FollowLinks(const OpenedStore& store, std::string_view path);

// Returns the same error. If it says that there is no `store.object`, adds the nearest name in
// the same group.
model::Error WithNearestName(const model::Error& error, const OpenedStore& store);

// The path names of the first arrays of a store, for a message: "/lat, /lon and others"; empty
// if there is none. Looks at some of its objects.
std::string ArraysOf(const OpenedStore& store);
// The path, below `store.object`, of the only array there that is no coordinate; nullopt if
// there are several, or if a few looks do not tell.
std::optional<std::string> OnlyArrayOf(const OpenedStore& store);

// The path name of the object whose folder in a mount is at `folders` below
// the folder of the store: undoes the escapes of file names.
model::Result<std::string> PathNameOf(const backends::Hierarchy& hierarchy,
                                      std::span<const std::string> folders);

// "forecast/wind/" -> "/forecast/wind"; "" and "/" -> "/".
std::string NormalizePathName(std::string_view path);

}  // namespace ndlfs::fs
