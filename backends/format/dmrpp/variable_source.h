// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/dmrpp/data_files.h"
#include "backends/format/dmrpp/document.h"
#include "model/datatype.h"
#include "model/error.h"

namespace ndlfs::backends::dmrpp {

// A variable, as far as its document is understood.
struct ResolvedVariable {
  model::Datatype type;  // as shown: little-endian
  std::vector<uint64_t> shape;
  std::vector<std::string> filters;  // in the order of encoding
  // The fill value that the document tells, one element.
  std::optional<std::vector<std::byte>> fill;
};

// The type, shape, filters and fill value of the variable of `object`. Fails where the document
// does not tell its type or shape.
model::Result<ResolvedVariable> Resolve(const Document& document, const Object& object);

// The source of its elements. Fails unless the document says where all of them are. Their
// ranges of the data file must not overlap. Without compression, a range must have the size of
// its elements. Chunks of more than `max_chunk_bytes` are refused (kLimit). Looks at the data
// file of the document, if the elements are there.
model::Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Variable& variable, const ResolvedVariable& resolved,
    std::shared_ptr<const DataFiles> files, uint64_t max_chunk_bytes);

}  // namespace ndlfs::backends::dmrpp
