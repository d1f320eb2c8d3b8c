# Warnings, sanitizers and precompiled headers; the first two are carried by one
# interface target.
add_library(ndlfs_build_flags INTERFACE)
add_library(ndlfs::build_flags ALIAS ndlfs_build_flags)
target_compile_features(ndlfs_build_flags INTERFACE cxx_std_20)
target_compile_options(ndlfs_build_flags INTERFACE -Wall -Wextra -Werror)
target_include_directories(ndlfs_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(ndlfs_build_flags INTERFACE -Wthread-safety)
endif()
if(NDLFS_SANITIZE)
  set(flags -fsanitize=${NDLFS_SANITIZE} -fno-omit-frame-pointer)
  # With sanitizers g++ does not see what is initialized, and how long strings are.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(APPEND flags -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow)
  endif()
  if(NDLFS_SANITIZE MATCHES undefined)
    # vptr asks with a pipe whether memory can be read, and takes it for a
    # fault where there are no descriptors left, as some tests have it.
    list(APPEND flags -fno-sanitize=vptr -fno-sanitize-recover=undefined)
  endif()
  # What reports name are functions and lines; more takes g++ a third longer.
  target_compile_options(ndlfs_build_flags INTERFACE ${flags} -g1)
  target_link_options(ndlfs_build_flags INTERFACE ${flags})
endif()
if(NDLFS_BUILD_FUZZERS)
  # Coverage for every library, the driver only for the fuzz targets.
  target_compile_options(ndlfs_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# ndlfs_precompile(TARGET HEADER...): these, and what almost every source has.
# Off by default: each source has to include what it uses.
function(ndlfs_precompile target)
  if(NDLFS_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <functional> <map> <memory> <optional> <string> <unordered_map> <vector>
      <fmt/format.h> <tl/expected.hpp> ${ARGN})
  endif()
endfunction()
