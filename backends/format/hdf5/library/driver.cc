// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/driver.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ndlfs::backends::hdf5 {
namespace {

Eavesdropper* listener = nullptr;        // guarded by library_mutex
std::optional<model::Error> read_error;  // guarded by library_mutex

// The properties that H5Pset_driver copies, byte by byte.
struct DriverProperties {
  const SourceRoot* root;
};

// The library only knows the first member.
struct OpenFileState {
  H5FD_t base = {};
  DriverProperties properties = {};
  UniqueFd fd;
  struct ::stat status = {};  // as it was opened
  haddr_t end_of_allocation = 0;
};

static_assert(std::is_standard_layout_v<OpenFileState>);

OpenFileState& StateOf(H5FD_t* file) { return *reinterpret_cast<OpenFileState*>(file); }
const OpenFileState& StateOf(const H5FD_t* file) {
  return *reinterpret_cast<const OpenFileState*>(file);
}

// Names come as "/a/b.h5", relative to the root. One that a file gives may
// also be a true absolute path into the root.
std::string_view PathOfName(const SourceRoot& root, std::string_view name) {
  if (name.starts_with(root.path()) && name.substr(root.path().size()).starts_with('/')) {
    name.remove_prefix(root.path().size());
  }
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  return name;
}

}  // namespace

// The functions that the library calls; none of them throws.
struct Driver {
  static H5FD_t* Open(const char* name, unsigned flags, hid_t properties, haddr_t) noexcept {
    if (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) return nullptr;
    const auto* info = static_cast<const DriverProperties*>(H5Pget_driver_info(properties));
    if (info == nullptr) return nullptr;
    try {
      auto fd = info->root->OpenBeneath(PathOfName(*info->root, name));
      if (!fd) return nullptr;
      struct ::stat status;
      if (::fstat(fd->get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
      auto state = std::make_unique<OpenFileState>();
      state->properties = *info;
      state->fd = std::move(*fd);
      state->status = status;
      return &state.release()->base;
    } catch (...) {
      return nullptr;
    }
  }

  static herr_t Close(H5FD_t* file) noexcept {
    delete &StateOf(file);
    return 0;
  }

  // By this the library finds a file that it has open already.
  static int Compare(const H5FD_t* a, const H5FD_t* b) noexcept {
    const struct ::stat& x = StateOf(a).status;
    const struct ::stat& y = StateOf(b).status;
    if (x.st_dev != y.st_dev) return x.st_dev < y.st_dev ? -1 : 1;
    if (x.st_ino != y.st_ino) return x.st_ino < y.st_ino ? -1 : 1;
    return 0;
  }

  static herr_t Query(const H5FD_t*, unsigned long* flags) noexcept {
    if (flags) *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_SUPPORTS_SWMR_IO;
    return 0;
  }

  // Makes the files that it opens on behalf of this one open in the same way.
  static void* GetProperties(H5FD_t* file) noexcept {
    auto* copy = static_cast<DriverProperties*>(std::malloc(sizeof(DriverProperties)));
    if (copy) *copy = StateOf(file).properties;
    return copy;
  }

  static haddr_t GetEndOfAllocation(const H5FD_t* file, H5FD_mem_t) noexcept {
    return StateOf(file).end_of_allocation;
  }
  static herr_t SetEndOfAllocation(H5FD_t* file, H5FD_mem_t, haddr_t address) noexcept {
    StateOf(file).end_of_allocation = address;
    return 0;
  }
  static haddr_t GetEndOfFile(const H5FD_t* file, H5FD_mem_t) noexcept {
    return static_cast<haddr_t>(StateOf(file).status.st_size);
  }

  static herr_t Read(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t size,
                     void* buffer) noexcept {
    if (listener && kind == H5FD_MEM_DRAW) {
      listener->last_ = {address, size};
      ++listener->reads_;
      return 0;
    }
    try {
      const ByteSpan out(static_cast<std::byte*>(buffer), size);
      const auto count = ReadFully(StateOf(file).fd.get(), address, out);
      if (!count) {
        read_error = count.error();
        return -1;
      }
      // Space that is allocated but beyond the end was never written.
      std::memset(out.data() + *count, 0, size - *count);
      return 0;
    } catch (...) {
      return -1;
    }
  }

  static herr_t Write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) noexcept {
    return -1;
  }

  // Whether it could be told.
  static bool GetStatus(const H5FD_t* file, struct ::stat& status) {
    return ::fstat(StateOf(file).fd.get(), &status) == 0;
  }

  static herr_t GetHandle(H5FD_t* file, hid_t, void** handle) noexcept {
    *handle = file;
    return 0;
  }
};

namespace {

H5FD_class_t MakeDriverClass() {
  H5FD_class_t driver;
  std::memset(&driver, 0, sizeof(driver));
#if H5_VERSION_GE(1, 13, 2)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(520);  // of the range for private use
#endif
  driver.name = "ndlfs";
  driver.maxaddr = haddr_t{INT64_MAX};
  // As the library opens the sources of virtual datasets: a file that is open
  // must not be opened in another manner.
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(DriverProperties);
  driver.fapl_get = &Driver::GetProperties;
  driver.open = &Driver::Open;
  driver.close = &Driver::Close;
  driver.cmp = &Driver::Compare;
  driver.query = &Driver::Query;
  driver.get_eoa = &Driver::GetEndOfAllocation;
  driver.set_eoa = &Driver::SetEndOfAllocation;
  driver.get_eof = &Driver::GetEndOfFile;
  driver.get_handle = &Driver::GetHandle;
  driver.read = &Driver::Read;
  driver.write = &Driver::Write;
  constexpr H5FD_mem_t kFreeLists[] = H5FD_FLMAP_DICHOTOMY;
  static_assert(sizeof(kFreeLists) == sizeof(driver.fl_map));
  std::memcpy(driver.fl_map, kFreeLists, sizeof(driver.fl_map));
  return driver;
}

// What a file's metadata may take in memory, where the library has a choice.
constexpr size_t kMetadataCacheBytes = 1 << 20;

model::Result<void> LimitMetadataCache(hid_t properties) {
  H5AC_cache_config_t config;
  config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  NDLFS_RETURN_IF_ERROR(CheckStatus(H5Pget_mdc_config(properties, &config), "metadata cache"));
  config.set_initial_size = true;
  config.initial_size = kMetadataCacheBytes / 2;
  config.min_size = kMetadataCacheBytes / 2;
  config.max_size = kMetadataCacheBytes;
  return CheckStatus(H5Pset_mdc_config(properties, &config), "metadata cache");
}

}  // namespace

model::Result<Handle> MakeAccessProperties(const SourceRoot& root) {
  static const H5FD_class_t driver_class = MakeDriverClass();
  static const hid_t driver = H5FDregister(&driver_class);
  if (driver < 0) return LibraryError("cannot register the driver");
  NDLFS_TRY(auto properties, Checked(H5Pcreate(H5P_FILE_ACCESS), "file access properties"));
  const DriverProperties info{&root};
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pset_driver(properties.get(), driver, &info), "cannot set the driver"));
  NDLFS_RETURN_IF_ERROR(LimitMetadataCache(properties.get()));
  // Of a file that is being written, a torn read is read again; by default a
  // hundred times, with longer and longer pauses.
  NDLFS_RETURN_IF_ERROR(CheckStatus(H5Pset_metadata_read_attempts(properties.get(), 5),
                                    "file access properties"));
  return properties;
}

std::optional<model::Error> TakeReadError() { return std::exchange(read_error, std::nullopt); }

std::string DriverName(const std::string& path) { return "/" + path; }

model::Result<struct ::stat> StatusOfFile(hid_t file) {
  void* driver_file = nullptr;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Fget_vfd_handle(file, H5P_DEFAULT, &driver_file), "file handle"));
  struct ::stat status;
  if (!Driver::GetStatus(static_cast<H5FD_t*>(driver_file), status)) {
    return model::IoError(errno, "stat");
  }
  return status;
}

Eavesdropper::Eavesdropper() { listener = this; }
Eavesdropper::~Eavesdropper() { listener = nullptr; }

std::optional<Eavesdropper::Read> Eavesdropper::TakeRead() {
  const bool exactly_one = reads_ == 1;
  reads_ = 0;
  if (!exactly_one) return std::nullopt;
  return last_;
}

}  // namespace ndlfs::backends::hdf5
