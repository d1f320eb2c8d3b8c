// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/format/grib/header_memory.h"
#include "backends/format/grib/message_index.h"
#include "backends/format/grib/sidecar.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::grib {

// Describes the fields of a file of `size` bytes, the only value of `store`, by the lines of
// its sidecar. Reads the header of the last message, and one of each kind of field that
// `memory` does not know from other files below `folder`; IndexedField::expected says what the
// headers of the other fields should be. nullopt if the sidecar does not suffice: it has no
// lines, does not fit the file or the headers that were read, or two of its lines say the same.
model::Result<std::optional<MessageIndex>> IndexBySidecar(const Store& store, uint64_t size,
                                                          const Sidecar& sidecar,
                                                          const std::string& folder,
                                                          HeaderMemory& memory);

}  // namespace ndlfs::backends::grib
