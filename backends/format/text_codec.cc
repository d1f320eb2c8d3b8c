// SPDX-License-Identifier: MIT
#include "backends/format/text_codec.h"

#include <cstring>

namespace ndlfs::backends {
namespace {

size_t LengthOf(const TextRun& run, const std::byte* text) {
  if (run.is_space_padded) {
    size_t length = run.width;
    while (length > 0 && text[length - 1] == std::byte{' '}) --length;
    return length;
  }
  const void* end = std::memchr(text, 0, run.width);
  return end ? static_cast<size_t>(static_cast<const std::byte*>(end) - text) : run.width;
}

class TextCodec final : public ArrayToArrayCodec {
 public:
  explicit TextCodec(std::vector<TextRun> runs) : runs_(std::move(runs)) {}

  std::string_view name() const override { return "text"; }

  model::Result<ChunkForm> EncodedForm(const ChunkForm& decoded) const override {
    return decoded;
  }

  model::Result<void> Decode(ConstByteSpan encoded, const ChunkForm& form,
                             ByteSpan decoded) const override {
    if (!encoded.empty()) std::memcpy(decoded.data(), encoded.data(), encoded.size());
    const size_t item = form.dtype.size();
    for (size_t at = 0; at < decoded.size(); at += item) {
      for (const TextRun& run : runs_) TrimText(run, decoded.data() + at + run.offset);
    }
    return {};
  }

 private:
  const std::vector<TextRun> runs_;
};

}  // namespace

void TrimText(const TextRun& run, std::byte* text) {
  for (size_t i = 0; i < run.count; ++i, text += run.width) {
    const size_t length = LengthOf(run, text);
    std::memset(text + length, 0, run.width - length);
  }
}

std::shared_ptr<const ArrayToArrayCodec> MakeTextCodec(std::vector<TextRun> runs) {
  return std::make_shared<TextCodec>(std::move(runs));
}

}  // namespace ndlfs::backends
