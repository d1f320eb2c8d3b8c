// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/memory_driver.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "backends/format/hdf5/library/new_file.h"

namespace ndlfs::backends::hdf5 {
namespace {

// An answer of the helper has to hold it.
constexpr uint64_t kMaxMetadata = uint64_t{240} << 20;
constexpr uint64_t kMetadataAlignment = 8;

uint64_t AlignUp(uint64_t offset, uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

// The library only knows the first member.
struct OpenMemoryFile {
  H5FD_t base = {};
  MemoryFile* file = nullptr;
};
static_assert(std::is_standard_layout_v<OpenMemoryFile>);

MemoryFile& FileOf(H5FD_t* file) { return *reinterpret_cast<OpenMemoryFile*>(file)->file; }
const MemoryFile& FileOf(const H5FD_t* file) {
  return *reinterpret_cast<const OpenMemoryFile*>(file)->file;
}

}  // namespace

uint64_t MemoryFile::size() const {
  if (!tail_.empty()) return tail_offset() + tail_.size();
  return room_used_ != 0 ? front_size_ + room_used_ : front_.size();
}

std::optional<uint64_t> MemoryFile::Allocate(bool is_raw, uint64_t size) {
  is_full_ = true;  // unless there is room
  if (is_raw && leaves_room_) {
    const uint64_t begin = AlignUp(room_used_, kDataAlignment);
    if (begin > room_ || size > room_ - begin) return std::nullopt;
    room_used_ = begin + size;
    is_full_ = false;
    return front_size_ + begin;
  }
  if (size > kMaxMetadata - front_.size() - tail_.size()) return std::nullopt;
  const bool fits = tail_.empty() && size <= front_size_ - front_.size();
  std::vector<std::byte>& part = fits ? front_ : tail_;
  const uint64_t begin = part.size();
  part.resize(AlignUp(begin + size, kMetadataAlignment));
  is_full_ = false;
  return (fits ? 0 : tail_offset()) + begin;
}

std::byte* MemoryFile::Find(uint64_t offset, uint64_t size) {
  const bool in_front = offset < front_size_;
  std::vector<std::byte>& part = in_front ? front_ : tail_;
  if (!in_front && offset < tail_offset()) return nullptr;
  const uint64_t begin = in_front ? offset : offset - tail_offset();
  if (begin > part.size() || size > part.size() - begin) return nullptr;
  return part.data() + begin;
}

// The functions that the library calls; none of them throws.
struct MemoryDriver {
  static H5FD_t* Open(const char*, unsigned, hid_t properties, haddr_t) noexcept {
    const auto* info = static_cast<MemoryFile* const*>(H5Pget_driver_info(properties));
    auto* state = info == nullptr ? nullptr : new (std::nothrow) OpenMemoryFile;
    if (state == nullptr) return nullptr;
    state->file = *info;
    return &state->base;
  }
  static herr_t Close(H5FD_t* file) noexcept {
    delete reinterpret_cast<OpenMemoryFile*>(file);
    return 0;
  }
  static herr_t Query(const H5FD_t*, unsigned long* flags) noexcept {
    // Asked for piece by piece, metadata are a fifth larger and take a third longer.
    if (flags) *flags = H5FD_FEAT_AGGREGATE_METADATA;
    return 0;
  }
  static haddr_t Allocate(H5FD_t* file, H5FD_mem_t kind, hid_t, hsize_t size) noexcept {
    try {
      // Global heaps come as raw data, too.
      return FileOf(file).Allocate(kind == H5FD_MEM_DRAW, size).value_or(HADDR_UNDEF);
    } catch (...) {  // is_full() says so
      return HADDR_UNDEF;
    }
  }
  static herr_t Free(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, hsize_t) noexcept { return 0; }
  // The library takes for granted that what ends where the file ends can be extended. So only
  // the superblock, which tells the end, gets to know it.
  static haddr_t GetEndOfAllocation(const H5FD_t* file, H5FD_mem_t kind) noexcept {
    return FileOf(file).size() + (kind == H5FD_MEM_SUPER ? 0 : kMetadataAlignment);
  }
  static haddr_t GetEndOfFile(const H5FD_t* file, H5FD_mem_t) noexcept {
    return FileOf(file).size();
  }
  static herr_t SetEnd(H5FD_t*, H5FD_mem_t, haddr_t) noexcept { return 0; }

  static herr_t Read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                     void* buffer) noexcept {
    const std::byte* bytes = FileOf(file).Find(address, size);
    if (bytes == nullptr) return -1;
    std::memcpy(buffer, bytes, size);
    return 0;
  }
  static herr_t Write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, size_t size,
                      const void* buffer) noexcept {
    std::byte* bytes = FileOf(file).Find(address, size);
    if (bytes == nullptr) return -1;
    std::memcpy(bytes, buffer, size);
    return 0;
  }
};

namespace {

H5FD_class_t MakeMemoryDriverClass() {
  H5FD_class_t driver;
  std::memset(&driver, 0, sizeof(driver));
#if H5_VERSION_GE(1, 13, 2)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(521);  // of the range for private use
#endif
  driver.name = "ndlfs-memory";
  driver.maxaddr = haddr_t{INT64_MAX};
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(MemoryFile*);
  driver.open = &MemoryDriver::Open;
  driver.close = &MemoryDriver::Close;
  driver.query = &MemoryDriver::Query;
  driver.alloc = &MemoryDriver::Allocate;
  driver.free = &MemoryDriver::Free;
  driver.get_eoa = &MemoryDriver::GetEndOfAllocation;
  driver.set_eoa = &MemoryDriver::SetEnd;
  driver.get_eof = &MemoryDriver::GetEndOfFile;
  driver.read = &MemoryDriver::Read;
  driver.write = &MemoryDriver::Write;
  // Each kind of memory has its own list of freed blocks: room for elements must not become
  // metadata.
  constexpr H5FD_mem_t kFreeLists[] = H5FD_FLMAP_DEFAULT;
  static_assert(sizeof(kFreeLists) == sizeof(driver.fl_map));
  std::memcpy(driver.fl_map, kFreeLists, sizeof(driver.fl_map));
  return driver;
}

}  // namespace

model::Result<Handle> MakeMemoryAccess(MemoryFile& file) {
  static const H5FD_class_t driver_class = MakeMemoryDriverClass();
  static const hid_t driver = H5FDregister(&driver_class);
  if (driver < 0) return LibraryError("cannot register the driver");
  NDLFS_TRY(auto properties, Checked(H5Pcreate(H5P_FILE_ACCESS), "file access properties"));
  MemoryFile* const target = &file;
  NDLFS_RETURN_IF_ERROR(
      CheckStatus(H5Pset_driver(properties.get(), driver, &target), "cannot set the driver"));
  return properties;
}

}  // namespace ndlfs::backends::hdf5
