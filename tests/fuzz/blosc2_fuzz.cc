// SPDX-License-Identifier: MIT
//
// A frame of Blosc 2 of any bytes. The first byte says how much it may decode to.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <variant>

#include "backends/base/json.h"
#include "backends/codec/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ndlfs::backends;
  if (size == 0) return 0;
  const Json configuration = {{"cd_values", {1, 0, 4, 256, 5, 1, 1}}};
  const ChunkForm form{ndlfs::model::Datatype::Integer(1, false), {1}};
  const auto codec = MakeCodec({CodecDialect::kHdf5, "32026", &configuration, &form});
  if (!codec) std::abort();
  const auto bytes = std::get<std::shared_ptr<const BytesToBytesCodec>>(*codec);
  Bytes decoded(size_t{data[0]} * 16);
  const auto produced =
      bytes->Decode(std::as_bytes(std::span(data, size)).subspan(1), decoded.span());
  if (produced && *produced > decoded.size()) std::abort();
  return 0;
}
