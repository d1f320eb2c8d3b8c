# Warnings, sanitizers and precompiled headers; the first two are carried by one
# interface target.
add_library(ndlfs_build_flags INTERFACE)
add_library(ndlfs::build_flags ALIAS ndlfs_build_flags)
target_compile_features(ndlfs_build_flags INTERFACE cxx_std_20)
target_compile_options(ndlfs_build_flags INTERFACE -Wall -Wextra)
if(NDLFS_WERROR)
  target_compile_options(ndlfs_build_flags INTERFACE -Werror)
endif()
target_include_directories(ndlfs_build_flags INTERFACE "${PROJECT_SOURCE_DIR}")
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(ndlfs_build_flags INTERFACE -Wthread-safety)
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  # Equal sources give equal programs, whatever folders they are built in.
  target_compile_options(ndlfs_build_flags INTERFACE
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=." "-ffile-prefix-map=${PROJECT_BINARY_DIR}=build")
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

# What the fuzz targets run counts how often each piece of it has run; the targets alone have the driver.
function(ndlfs_fuzzed_flags target)
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
endfunction()

# Tests are compiled in a third of the time: not optimized, and without the checks of each access to
# memory that the address sanitizer makes as well. What they test has all of it.
function(ndlfs_test_flags target)
  if(NDLFS_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  if(NDLFS_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=alignment,null,object-size,pointer-overflow)
  endif()
endfunction()

# ndlfs_unity(TARGET [MOST]): compiles several sources at a time, if NDLFS_UNITY is set: MOST of them,
# or NDLFS_UNITY_BATCH. Names in unnamed namespaces must therefore differ within a room. Without the
# option each source is compiled alone, and has to include what it uses.
function(ndlfs_unity target)
  if(NOT NDLFS_UNITY)
    return()
  endif()
  set(most ${NDLFS_UNITY_BATCH} ${ARGN})
  list(GET most -1 most)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${most})
  # g++ takes each source of a unit for a header, in which unnamed namespaces would be wrong.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# ndlfs_precompile(TARGET KIND): what most sources of a kind include, as `room` or `test`, is compiled
# once for all the targets of it. For builds with one unit a source.
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
    endif()
    if(COMMAND ndlfs_${kind}_flags)
      cmake_language(CALL ndlfs_${kind}_flags ${owner})
    endif()
    target_precompile_headers(${owner} PRIVATE ${NDLFS_PRECOMPILED_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
