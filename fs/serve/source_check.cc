// SPDX-License-Identifier: MIT
#include "fs/serve/source_check.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <thread>

#include "backends/detection.h"
#include "backends/store/local/local_source.h"
#include "fs/serve/open_source.h"

namespace ndlfs::fs {
namespace {

using model::BadInput;
using model::Quote;
using Status = model::Result<void>;

// A file that only has the name of a store may hold anything: it has to open as one. One that
// begins like a store is mounted even if it is damaged, and shows what is wrong.
Status CheckStoreFile(const std::shared_ptr<const backends::Source>& source,
                      const std::string& file, const backends::Format& format) {
  std::array<std::byte, 1024> head;
  NDLFS_TRY(const auto size, source->OpenFile(file)->ReadInto("", 0, head), "source");
  const bool is_known = format.ProbeContent(std::span(head).first(size.value_or(0)));
  if (is_known) return {};
  NDLFS_RETURN_IF_ERROR(backends::OpenDetected(format, source, file, {}), "source");
  return {};
}

// Where addresses are short, threads and libraries that cannot do without memory end the
// process at any time: better it does not start.
Status CheckAddressSpace(const MountOptions& options) {
  // The program with its libraries; the stacks of threads, and what these keep of the heap.
  constexpr uint64_t kForProgram = uint64_t{512} << 20;
  constexpr uint64_t kForThread = uint64_t{16} << 20;
  struct ::rlimit limit;
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  const uint64_t threads =
      std::max<uint64_t>(options.threads, std::thread::hardware_concurrency());
  const uint64_t needed = kForProgram + 2 * threads * kForThread + options.cache_size;
  if (limit.rlim_cur >= needed) return {};
  return BadInput(
      "the address space is limited to {} MiB (ulimit -v), but --cache-size {}MiB and {} "
      "threads "
      "need {} MiB; raise the limit, or lower --cache-size",
      limit.rlim_cur >> 20, options.cache_size >> 20, threads, needed >> 20);
}

// Whoever names a file means a store, whatever its name is.
Status CheckSourcePath(SourcePaths& paths) {
  struct ::stat status;
  paths.directory = paths.source;
  if (::stat(paths.source.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return CheckDirectory("source", paths.source);
  }
  const std::filesystem::path path = paths.source;
  paths.directory = path.parent_path();
  paths.file = path.filename();
  NDLFS_TRY(const auto source, backends::LocalSource::Open(paths.directory), "source");
  NDLFS_TRY(const backends::Format* format, backends::DetectStore(*source, paths.file),
            "source " + Quote(paths.source));
  if (format == nullptr) {
    return BadInput("source {}: not a directory, and not an array store", Quote(paths.source));
  }
  return CheckStoreFile(source, paths.file, *format);
}

}  // namespace

model::Result<std::string> ResolvePath(const char* what, const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (!real) return BadInput("{} {}: {}", what, Quote(path), std::strerror(errno));
  return std::string(real.get());
}

model::Result<void> CheckDirectory(const char* what, const std::string& path) {
  struct ::stat status;
  if (::stat(path.c_str(), &status) != 0) {
    return BadInput("{} {}: {}", what, Quote(path), std::strerror(errno));
  }
  const std::string_view special = SpecialKind(status.st_mode);
  if (!special.empty()) {
    return BadInput("{} {}: {}, and not a directory", what, Quote(path), special);
  }
  if (!S_ISDIR(status.st_mode)) return BadInput("{} {}: not a directory", what, Quote(path));
  return {};
}

bool IsInside(std::string inner, const std::string& outer) {
  struct ::stat wanted;
  if (::stat(outer.c_str(), &wanted) != 0) return false;
  for (;;) {
    struct ::stat status;
    if (::stat(inner.c_str(), &status) == 0 && status.st_dev == wanted.st_dev &&
        status.st_ino == wanted.st_ino) {
      return true;
    }
    const size_t slash = inner.rfind('/');
    if (slash == std::string::npos || inner == "/") return false;
    inner.resize(slash == 0 ? 1 : slash);
  }
}

model::Result<void> CheckOutside(const char* what, const std::string& path,
                                 const std::string& source) {
  if (path.empty()) return {};
  std::error_code error;
  const auto place = std::filesystem::weakly_canonical(path, error);
  if (error || !IsInside(place, source)) return {};
  return BadInput(
      "{}: {} is inside the source {}, to which ndlfs writes nothing; choose another "
      "directory",
      what, Quote(path), Quote(source));
}

std::string_view SpecialKind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFIFO:
      return "a named pipe";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
    case S_IFBLK:
      return "a device";
    default:
      return {};
  }
}

model::Result<SourcePaths> CheckSource(const MountOptions& options) {
  NDLFS_RETURN_IF_ERROR(CheckAddressSpace(options));
  SourcePaths paths;
  if (IsUrl(options.source)) {
    NDLFS_RETURN_IF_ERROR(CheckUrl(options.source, options.remote), "source");
    paths.url = options.source;
    paths.source = ShownUrl(options.source);
    return paths;
  }
  NDLFS_TRY(paths.source, ResolvePath("source", options.source));
  NDLFS_RETURN_IF_ERROR(CheckSourcePath(paths));
  return paths;
}

}  // namespace ndlfs::fs
