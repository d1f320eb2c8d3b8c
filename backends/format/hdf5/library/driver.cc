// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/driver.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace ndlfs::backends::hdf5 {
namespace {

Eavesdropper* listener = nullptr;        // guarded by library_mutex
std::optional<model::Error> read_error;  // guarded by library_mutex
// Set where there was no memory to say what failed. Guarded by library_mutex.
bool ran_out_of_memory = false;

// The properties that H5Pset_driver copies, byte by byte.
struct DriverProperties {
  const DriverTarget* target;
};

// The library only knows the first member.
struct OpenFileState {
  H5FD_t base = {};
  DriverProperties properties = {};
  std::shared_ptr<const InputFile> file;
  haddr_t end_of_allocation = 0;
};

static_assert(std::is_standard_layout_v<OpenFileState>);

OpenFileState& StateOf(H5FD_t* file) { return *reinterpret_cast<OpenFileState*>(file); }
const OpenFileState& StateOf(const H5FD_t* file) {
  return *reinterpret_cast<const OpenFileState*>(file);
}

void NoteError(const model::Error& error) {
  if (!read_error) read_error = error;
}

model::Result<std::shared_ptr<const InputFile>> OpenByName(const DriverTarget& target,
                                                           std::string_view name) {
  // Asked for by its name, the file itself could be another version by now.
  if (name == target.name) return target.file;
  return target.files->Open(name);
}

}  // namespace

// The functions that the library calls; none of them throws.
struct Driver {
  static H5FD_t* Open(const char* name, unsigned flags, hid_t properties, haddr_t) noexcept {
    if (flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) return nullptr;
    const auto* info = static_cast<const DriverProperties*>(H5Pget_driver_info(properties));
    if (info == nullptr) return nullptr;
    try {
      auto file = OpenByName(*info->target, name);
      if (!file) {
        if (!IsMissing(file.error())) NoteError(file.error());
        return nullptr;
      }
      auto state = std::make_unique<OpenFileState>();
      state->properties = *info;
      state->file = *std::move(file);
      return &state.release()->base;
    } catch (...) {
      ran_out_of_memory = true;
      return nullptr;
    }
  }

  static herr_t Close(H5FD_t* file) noexcept {
    delete &StateOf(file);
    return 0;
  }

  // By this the library finds a file that it has open already.
  static int Compare(const H5FD_t* a, const H5FD_t* b) noexcept {
    const uint64_t x = StateOf(a).file->id();
    const uint64_t y = StateOf(b).file->id();
    if (x == y) return 0;
    return x < y ? -1 : 1;
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
    return StateOf(file).file->size();
  }

  static herr_t Read(H5FD_t* file, H5FD_mem_t kind, hid_t, haddr_t address, size_t size,
                     void* buffer) noexcept {
    if (listener && kind == H5FD_MEM_DRAW) {
      listener->last_ = {address, size};
      ++listener->reads_;
      return 0;
    }
    try {
      const InputFile& input = *StateOf(file).file;
      const ByteSpan out(static_cast<std::byte*>(buffer), size);
      const uint64_t there = input.size() - std::min<uint64_t>(address, input.size());
      const size_t count = static_cast<size_t>(std::min<uint64_t>(size, there));
      if (count != 0) {
        if (const auto read = input.Read(address, out.first(count)); !read) {
          NoteError(read.error());
          return -1;
        }
      }
      // Space that is allocated but beyond the end was never written.
      std::memset(out.data() + count, 0, size - count);
      return 0;
    } catch (...) {
      ran_out_of_memory = true;
      return -1;
    }
  }

  static herr_t Write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) noexcept {
    return -1;
  }

  static herr_t GetHandle(H5FD_t* file, hid_t, void** handle) noexcept {
    *handle = file;
    return 0;
  }
};

namespace {

H5FD_class_t MakeStoreDriverClass() {
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

// The memory for metadata of a file, where the library has a choice.
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

model::Result<Handle> MakeAccessProperties(const DriverTarget& target) {
  static const H5FD_class_t driver_class = MakeStoreDriverClass();
  static const hid_t driver = H5FDregister(&driver_class);
  if (driver < 0) return LibraryError("cannot register the driver");
  NDLFS_TRY(auto properties, Checked(H5Pcreate(H5P_FILE_ACCESS), "file access properties"));
  const DriverProperties info{&target};
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pset_driver(properties.get(), driver, &info), "cannot set the driver"));
  NDLFS_RETURN_IF_ERROR(LimitMetadataCache(properties.get()));
#ifdef H5F_RFIC_ALL
  // HDF5 1.14.4 and later refuse numbers that use few of their bits, which earlier ones read.
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pset_relax_file_integrity_checks(properties.get(), H5F_RFIC_ALL),
                  "file access properties"));
#endif
  // The library repeats reads that were torn because the file is being written; by default a
  // hundred times, with longer and longer pauses.
  NDLFS_RETURN_IF_ERROR(CheckStatus(H5Pset_metadata_read_attempts(properties.get(), 5),
                                    "file access properties"));
  return properties;
}

std::optional<model::Error> ReadError() {
  if (!read_error && ran_out_of_memory) {
    return model::Limit("libhdf5 needs too much memory for this").value();
  }
  return read_error;
}

void ClearReadError() {
  read_error.reset();
  ran_out_of_memory = false;
}

std::string DriverName(const std::string& path) { return "/" + path; }

void PrefetchObjects(hid_t file, std::span<const haddr_t> addresses) {
  // How many bytes of an object header the library reads at first.
  constexpr uint64_t kHeaderBytes = 512;
  void* driver_file = nullptr;
  const Handle properties(H5Fget_create_plist(file));
  hsize_t user_block = 0;
  if (!properties || H5Pget_userblock(properties.get(), &user_block) < 0 ||
      H5Fget_vfd_handle(file, H5P_DEFAULT, &driver_file) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return;
  }
  std::vector<uint64_t> offsets;
  for (const haddr_t address : addresses) {
    if (address < HADDR_MAX - user_block) offsets.push_back(user_block + address);
  }
  StateOf(static_cast<H5FD_t*>(driver_file)).file->Prefetch(offsets, kHeaderBytes);
}

Eavesdropper::Eavesdropper() { listener = this; }
Eavesdropper::~Eavesdropper() { listener = nullptr; }

std::optional<Eavesdropper::Read> Eavesdropper::TakeRead() {
  const bool exactly_one = reads_ == 1;
  reads_ = 0;
  if (!exactly_one) return std::nullopt;
  return last_;
}

bool IsMissing(const model::Error& error) {
  using model::SystemReason;
  switch (error.reason()) {
    case SystemReason::kNoSuchFile:
    case SystemReason::kNoDirectory:
    case SystemReason::kIsDirectory:
    case SystemReason::kLeadsOut:
    case SystemReason::kNoPlainFile:
    case SystemReason::kLinkLoop:
    case SystemReason::kNameTooLong:
      return true;
    default:
      return error.code() == model::ErrorCode::kNotFound;
  }
}

}  // namespace ndlfs::backends::hdf5
