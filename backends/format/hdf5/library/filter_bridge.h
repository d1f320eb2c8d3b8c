// SPDX-License-Identifier: MIT
#pragma once

namespace ndlfs::backends::hdf5 {

// Gives libhdf5 our codecs for the filters that it lacks. Data that only the library can read
// (elements of variable size, virtual datasets) may be filtered by them. Filters are not loaded
// from anywhere else. Needs library_mutex.
void RegisterFilters();

}  // namespace ndlfs::backends::hdf5
