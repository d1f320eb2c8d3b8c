// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/functions.h"

#include <dlfcn.h>

namespace ndlfs::backends::hdf4 {
namespace {

// The two libraries of libhdf4. The one of data sets does not say that it needs the other.
struct Libraries {
  const char* base;
  const char* data_sets;
};
// Debian's, whose functions of netCDF have other names than those of netCDF-C, and others'.
constexpr Libraries kLibraries[] = {{"libdfalt.so.0", "libmfhdfalt.so.0"},
                                    {"libdf.so.0", "libmfhdf.so.0"}};

template <typename Function>
bool Find(void* data_sets, void* base, const char* name, Function*& function) {
  void* found = ::dlsym(data_sets, name);
  if (found == nullptr) found = ::dlsym(base, name);
  function = reinterpret_cast<Function*>(found);
  return function != nullptr;
}

}  // namespace

std::optional<Functions> LoadFunctions() {
  for (const Libraries& names : kLibraries) {
    void* const base = ::dlopen(names.base, RTLD_NOW | RTLD_GLOBAL);
    if (base == nullptr) continue;
    void* const data_sets = ::dlopen(names.data_sets, RTLD_NOW | RTLD_LOCAL);
    if (data_sets == nullptr) continue;
    Functions loaded;
    bool has_all = true;
#define NDLFS_HDF4_FIND(name, result, arguments) \
  has_all = has_all && Find(data_sets, base, #name, loaded.name);
    NDLFS_HDF4_FUNCTIONS(NDLFS_HDF4_FIND)
#undef NDLFS_HDF4_FIND
    if (has_all) return loaded;
  }
  return std::nullopt;
}

}  // namespace ndlfs::backends::hdf4
