// SPDX-License-Identifier: MIT
//
// How it is decided whether a file or a directory is a store.
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
  // By its first KiB, whatever its name is; a file that begins like no format
  // is judged by name and beginning, as with kName.
  kContent,
  // Only files with the name of a store are looked into.
  kName,
};

// No store that is known by its content is smaller: an empty netCDF file.
inline constexpr uint64_t kSmallestStoreFile = 32;

// Whether a file of this name may be a store, by the name alone.
bool MayBeStoreFile(std::string_view file_name);

// The format of the store at `path`, by its content; null if it is none. A directory may fail
// with a passing error of the system (EIO, too many open files): then nobody can tell, and the
// next look may. What the caller may not read is no store.
model::Result<const Format*> DetectDirectory(const Source& source, std::string_view path);
const Format* DetectFile(const Source& source, std::string_view path);

// The caller is about to detect what the directory at `path` is, and what is called `name` in
// it: where looks are requests, those for both are sent together.
void LookForStores(const Source& source, const std::string& path, std::string_view name);

// Whether the directory at `path` is probably a store, by what it is called. The top of a
// source may also be a part of one.
bool IsCalledLikeStore(const Source& source, std::string_view path);

// The names of documents that make a directory a store and make it unnecessary to look for
// others: consolidated metadata, and those of Zarr v3.
std::span<const std::string_view> MarkersAskedFirst();
// What directories with such documents are mostly called.
inline constexpr std::string_view kMarkedExtension = ".zarr";

// The same of what is there, be it a file or a directory; null if nothing is.
model::Result<const Format*> DetectStore(const Source& source, std::string_view path);

// What one look at a file has shown.
struct FileLook {
  const Format* format = nullptr;  // null: the file is no store
  // The version that was looked into; none where the file was not read, or nobody can
  // tell at this moment what it is.
  std::optional<Generation> version;
  // Why nobody can tell at this moment; only of a directory.
  std::optional<model::Error> error = std::nullopt;
};

// Opens the file once and reads its first KiB; more only of ZIP archives and of
// documents. A file that begins like two formats is of the one whose signature
// comes first in it; an archive is NPZ before it is Zarr. A file that cannot be
// read is judged by its name.
FileLook LookIntoFile(const Source& source, std::string_view path, Detection detection);

// Opens the store at `path` as one of `format`. Where that fails for a file that has the name
// of a store but begins like none, the error says so: it is empty, or holds something else.
model::Result<std::shared_ptr<const Hierarchy>> OpenDetected(
    const Format& format, const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options);

// Opens the store at `path`, whatever its format is: OpenOptions::open_store of stores that
// refer to others. kNotFound if there is nothing, kUnsupported if it is no store.
model::Result<std::shared_ptr<const Hierarchy>> OpenAnyStore(
    const std::shared_ptr<const Source>& source, const std::string& path,
    const OpenOptions& options);

}  // namespace ndlfs::backends
