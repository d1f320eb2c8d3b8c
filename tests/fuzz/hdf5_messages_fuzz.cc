// SPDX-License-Identifier: MIT
//
// What a helper that a file has led astray may say, and what may be asked of
// it: refused, or read and written back the same. The first byte says what the
// others are meant to be.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "backends/format/hdf5/messages.h"

namespace ndlfs::backends::hdf5 {
namespace {

void CheckRequest(ConstByteSpan bytes) {
  const auto request = DecodeRequest(bytes);
  if (!request) return;
  const auto written = Encode(*request);
  const auto again = DecodeRequest(written);
  if (!again || Encode(*again) != written) std::abort();
}

template <typename T>
void CheckAnswer(ConstByteSpan bytes) {
  const auto answer = DecodeAnswer<T>(bytes);
  const auto written = EncodeAnswer(answer);
  const auto again = DecodeAnswer<T>(written);
  if (again.has_value() != answer.has_value() || EncodeAnswer(again) != written) std::abort();
}

void Run(ConstByteSpan input) {
  if (input.empty()) return;
  const ConstByteSpan bytes = input.subspan(1);
  switch (std::to_integer<unsigned>(input.front()) % 7) {
    case 0:
      return CheckRequest(bytes);
    case 1:
      return CheckAnswer<Generation>(bytes);
    case 2:
      return CheckAnswer<Location>(bytes);
    case 3:
      return CheckAnswer<std::vector<Child>>(bytes);
    case 4:
      return CheckAnswer<std::vector<ChunkRecord>>(bytes);
    case 5:
      return CheckAnswer<Elements>(bytes);
    default:
      return CheckAnswer<ObjectInfo>(bytes);
  }
}

}  // namespace
}  // namespace ndlfs::backends::hdf5

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ndlfs::backends::hdf5::Run(std::as_bytes(std::span(data, size)));
  return 0;
}
