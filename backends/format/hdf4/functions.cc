// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/functions.h"

#include <dlfcn.h>

namespace ndlfs::backends::hdf4 {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::optional<Functions> LoadFunctions() {
  // Debian's, whose functions of netCDF have other names than those of netCDF-C, and others'.
  for (const char* name : {"libmfhdfalt.so.0", "libmfhdf.so.0"}) {
    void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Functions loaded;
    bool has_all = true;
#define NDLFS_HDF4_FIND(name, result, arguments) \
  has_all = has_all && Find(library, #name, loaded.name);
    NDLFS_HDF4_FUNCTIONS(NDLFS_HDF4_FIND)
#undef NDLFS_HDF4_FIND
    if (has_all) return loaded;
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::hdf4
