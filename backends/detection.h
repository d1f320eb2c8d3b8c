// SPDX-License-Identifier: MIT
//
// Decides whether a file or a directory is a store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/format/format.h"
#include "backends/store/source.h"

namespace ndlfs::backends {

enum class Detection {
  // By its first KiB, whatever its name is. If the beginning is that of no format, the name
  // counts as well, as with kName.
  kContent,
  // Looks only into files that have the name of a store.
  kName,
};

// The size of the smallest store that is recognized by its content: an empty netCDF file.
inline constexpr uint64_t kSmallestStoreFile = 32;

// Whether a file of this name may be a store, by the name alone.
bool MayBeStoreFile(std::string_view file_name);

// The format of the store at `path`, by its content; null if it is no store. May fail with a
// transient error of the system (EIO, too many open files): then nobody can tell, and a later
// look may succeed. A directory that the caller may not read is no store.
model::Result<const Format*> DetectDirectory(const Source& source, std::string_view path);
// The format of the store at `path`, be it a file or a directory; null if it is no store, or
// does not exist. Fails like DetectDirectory().
model::Result<const Format*> DetectStore(const Source& source, std::string_view path);

// Tells that the caller is about to find out whether the directory at `path`, and the entry
// `name` in it, are stores. If looks are requests, the requests for both are sent together.
void LookForStores(const Source& source, const std::string& path, std::string_view name);

// Whether the directory at `path` is probably a store, by its name. For the top of a source,
// also whether it is probably a part of a store, by the names of the directories around it.
bool IsCalledLikeStore(const Source& source, std::string_view path);

// The names of documents that make a directory a store and make it unnecessary to look for
// others: consolidated metadata, and those of Zarr v3.
std::span<const std::string_view> MarkersAskedFirst();
// The extension that most directories with such documents have.
inline constexpr std::string_view kMarkedExtension = ".zarr";

// The result of one look at a file.
struct FileLook {
  const Format* format = nullptr;  // null: the file is no store
  // The version that was looked into; nullopt if the file was not read, or if its version
  // cannot be found out at this moment.
  std::optional<Generation> version;
  // Why nothing can be found out at this moment. `format` is then what the name of a file says.
  std::optional<model::Error> error = std::nullopt;
};

// Opens the file once and reads its first KiB; reads more of ZIP archives and of documents
// only. If a file begins like two formats, it is of the one whose signature comes first in it;
// an archive is NPZ before it is Zarr. A file that cannot be read is judged by its name.
FileLook LookIntoFile(const Source& source, std::string_view path, Detection detection);

// What the file at `path`, which is no store, probably is: "a PNG picture", "the file is
// empty". Empty if nothing is known about it.
std::string DescribeOtherFile(const Source& source, std::string_view path);

// Opens the store at `path` as one of `format`. If this fails for a file that has the name of a
// store but the beginning of none, the error says so: it is empty, or holds something else.
model::Result<std::shared_ptr<const Hierarchy>> OpenDetected(
    const Format& format, const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options);

// Opens the store at `path`, whatever its format is: OpenOptions::open_store of stores that
// refer to others. kNotFound if there is nothing, kUnsupported if it is no store.
model::Result<std::shared_ptr<const Hierarchy>> OpenAnyStore(
    const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options);

}  // namespace ndlfs::backends
