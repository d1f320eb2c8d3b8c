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
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # g++ 12 is wrong about lengths of strings that it has inlined (GCC bug 105651), and about
  # members that have defaults. clang and the sanitizers see where these are meant.
  target_compile_options(ndlfs_build_flags INTERFACE
    -Wno-array-bounds -Wno-maybe-uninitialized -Wno-missing-field-initializers -Wno-restrict
    -Wno-stringop-overflow)
endif()
if(NDLFS_SANITIZE)
  set(flags -fsanitize=${NDLFS_SANITIZE} -fno-omit-frame-pointer)
  if(NDLFS_SANITIZE MATCHES undefined)
    # vptr asks with a pipe whether memory can be read, and takes it for a
    # fault where there are no descriptors left, as some tests have it.
    list(APPEND flags -fno-sanitize=vptr -fno-sanitize-recover=undefined)
  endif()
  # What reports name are functions and lines; more takes the compiler a third longer.
  target_compile_options(ndlfs_build_flags INTERFACE ${flags} -g1)
  target_link_options(ndlfs_build_flags INTERFACE ${flags})
endif()
if(NDLFS_BUILD_FUZZERS)
  # Coverage for every library, the driver only for the fuzz targets.
  target_compile_options(ndlfs_build_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Tests are compiled in half the time; what they test is optimized as ever.
function(ndlfs_test_flags target)
  if(NDLFS_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# ndlfs_precompile(TARGET KIND): what most sources of a kind include, as `room` or `test`, is
# compiled once for all the targets of it. Off by default: each source has to include what it uses.
set(NDLFS_PRECOMPILED_room
  <algorithm> <chrono> <condition_variable> <functional> <map> <memory> <optional> <set> <span>
  <stop_token> <string> <thread> <unordered_map> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp> <tl/expected.hpp>)
set(NDLFS_PRECOMPILED_test ${NDLFS_PRECOMPILED_room} <gmock/gmock.h> <gtest/gtest.h>)
function(ndlfs_precompile target kind)
  if(NOT NDLFS_PRECOMPILE)
    return()
  endif()
  set(owner ndlfs_precompiled_${kind})
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${owner}.cc" CONTENT "")
    add_library(${owner} OBJECT "${PROJECT_BINARY_DIR}/${owner}.cc")
    target_link_libraries(${owner} PRIVATE ndlfs::build_flags fmt::fmt)
    if(kind STREQUAL test)
      target_link_libraries(${owner} PRIVATE GTest::gmock)
      ndlfs_test_flags(${owner})
    endif()
    target_precompile_headers(${owner} PRIVATE ${NDLFS_PRECOMPILED_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
