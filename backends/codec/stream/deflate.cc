// SPDX-License-Identifier: MIT
#include "backends/codec/stream/deflate.h"

#include <memory>

namespace ndlfs::backends {
namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};

}  // namespace

libdeflate_decompressor* DeflateContext() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  return decompressor.get();
}

model::Failure DeflateFailure(libdeflate_result result) {
  if (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
    return model::Corrupt("decodes to more than expected");
  }
  return model::Corrupt("invalid or truncated data, or a wrong checksum");
}

}  // namespace ndlfs::backends
