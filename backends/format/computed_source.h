// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/format/array_source.h"
#include "model/error.h"

namespace ndlfs::backends {

// The element at a place of an array, counted in C order. Called by several threads.
using ElementAt = std::function<double(uint64_t)>;

// An array of float64 that no file has: its elements are computed when they are read. Fails
// (kLimit) for more elements than a view may have.
model::Result<std::shared_ptr<const ArraySource>> MakeComputedSource(
    std::vector<uint64_t> shape, ElementAt value_at);

// Fills all elements of an array. Called by several threads.
using FillElements = std::function<model::Result<void>(std::span<double>)>;

// The same of elements that are computed together, as one chunk.
model::Result<std::shared_ptr<const ArraySource>> MakeComputedSource(
    std::vector<uint64_t> shape, FillElements fill_all);

// Whether the elements of `source` are computed one by one: nothing of them is stored, and no
// read of them can fail.
bool IsComputed(const ArraySource& source);
// kLimit if so many are computed that nobody waits for the last one.
model::Result<void> CheckReadable(const ArraySource& source);

}  // namespace ndlfs::backends
