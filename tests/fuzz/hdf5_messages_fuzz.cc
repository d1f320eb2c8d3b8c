// SPDX-License-Identifier: MIT
//
// What a helper that a file has led astray may say, what may be asked of it,
// and what it may ask for meanwhile: refused, or read and written back the same.
// The first byte says what the others are meant to be.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/format/hdf5/messages.h"
#include "backends/format/hdf5/read_service.h"

namespace ndlfs::backends::hdf5 {
namespace {

template <typename T>
void CheckRequest(model::Result<T> (*decode)(ConstByteSpan), ConstByteSpan bytes) {
  const auto request = decode(bytes);
  if (!request) return;
  const auto written = Encode(*request);
  const auto again = decode(written);
  if (!again || Encode(*again) != written) std::abort();
}

// A file of 64 KiB, all of whose bytes are 7.
class SmallFile final : public InputFile {
 public:
  uint64_t id() const override { return 1; }
  uint64_t size() const override { return 64 << 10; }
  model::Result<void> Read(uint64_t offset, ByteSpan out) const override {
    if (offset > size() || out.size() > size() - offset) std::abort();
    if (!out.empty()) std::memset(out.data(), 7, out.size());
    return {};
  }
  model::Result<void> CheckUnchanged() const override { return {}; }
};

class SmallFiles final : public InputFiles {
 public:
  model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) override {
    if (name.size() > OpenRequest::kMaxName) std::abort();
    if (name != "/a") return model::IoError(2, "open");
    return std::make_shared<const SmallFile>();
  }
};

// Whatever a helper asks its parent for, only bytes of the file are put into
// the shared memory, and nothing beyond it.
void CheckService(ConstByteSpan bytes) {
  SmallFiles files;
  std::vector<std::byte> shared(32 << 10, std::byte{0});
  ReadService service(files, std::make_shared<const SmallFile>(), shared);
  for (const auto kind : {MessageKind::kRead, MessageKind::kOpen, MessageKind::kAnswer}) {
    const auto reply = service.Reply({kind, {bytes.begin(), bytes.end()}});
    if (!reply) continue;
    if (kind == MessageKind::kRead && !DecodeAnswer<Done>(*reply)) std::abort();
    if (kind == MessageKind::kOpen) (void)DecodeAnswer<NamedFile>(*reply).has_value();
    if (kind == MessageKind::kAnswer) std::abort();
  }
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
  switch (std::to_integer<unsigned>(input.front()) % 11) {
    case 0:
      return CheckRequest(&DecodeRequest, bytes);
    case 1:
      return CheckRequest(&DecodeReadRequest, bytes);
    case 2:
      return CheckRequest(&DecodeOpenRequest, bytes);
    case 3:
      return CheckService(bytes);
    case 4:
      return CheckAnswer<Done>(bytes);
    case 5:
      return CheckAnswer<NamedFile>(bytes);
    case 6:
      return CheckAnswer<Location>(bytes);
    case 7:
      return CheckAnswer<std::vector<Child>>(bytes);
    case 8:
      return CheckAnswer<std::vector<ChunkRecord>>(bytes);
    case 9:
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
