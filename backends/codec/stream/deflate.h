// SPDX-License-Identifier: MIT
#pragma once

#include <libdeflate.h>

#include "model/error.h"

namespace ndlfs::backends {

// The libdeflate decompressor of this thread; null if there is no memory for it.
libdeflate_decompressor* DeflateContext();

// The error for a result other than LIBDEFLATE_SUCCESS.
model::Failure DeflateFailure(libdeflate_result result);

}  // namespace ndlfs::backends
