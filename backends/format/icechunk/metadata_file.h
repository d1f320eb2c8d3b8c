// SPDX-License-Identifier: MIT
//
// The container of all metadata files of Icechunk: a header of 39 bytes, and a FlatBuffer. The
// header has 12 bytes of magic, 24 with the name of the writer, and one each for the version,
// the kind and the compression.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "backends/base/bytes.h"
#include "model/error.h"

namespace ndlfs::backends::icechunk {

enum class FileKind : uint8_t { kSnapshot = 1, kManifest = 2, kRepo = 6 };

inline constexpr size_t kHeaderSize = 39;

// Whether a file begins like one.
bool HasMagic(ConstByteSpan head);

// A FlatBuffer is smaller.
inline constexpr uint64_t kMaxPayload = uint64_t{1} << 30;

// The payload of `file`, decompressed. Refuses files of another kind and of unknown versions,
// and payloads of more than `limit` bytes (kLimit).
model::Result<Bytes> ReadPayload(ConstByteSpan file, FileKind kind, uint64_t limit);

// The root of the FlatBuffer in `payload`, which is verified: all offsets lie in it.
template <typename Root>
model::Result<const Root*> VerifiedRoot(const Bytes& payload) {
  constexpr flatbuffers::uoffset_t kMaxDepth = 32;
  // Several tables may be one in the buffer. So this bounds the time, too.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(payload.size() / 4);
  const auto* data = reinterpret_cast<const uint8_t*>(payload.data());
  if (payload.size() >= sizeof(flatbuffers::uoffset_t)) {
    flatbuffers::Verifier verifier(data, payload.size(), kMaxDepth, most_tables);
    if (verifier.VerifyBuffer<Root>(nullptr)) return flatbuffers::GetRoot<Root>(data);
  }
  return model::Corrupt("the FlatBuffer is not valid");
}

inline std::string_view TextOf(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

inline ConstByteSpan BytesOf(const flatbuffers::Vector<uint8_t>* bytes) {
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()};
}

}  // namespace ndlfs::backends::icechunk
