// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/library/filter_bridge.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "backends/base/json.h"
#include "backends/codec/registry.h"

namespace ndlfs::backends::hdf5 {
namespace {

// The library does not say how large a chunk is; this is how large it may be.
constexpr size_t kMaxDecodedBytes = size_t{1} << 30;
constexpr size_t kFirstGuess = size_t{1} << 16;

struct FreeLibraryMemory {
  void operator()(void* memory) const { H5free_memory(memory); }
};
using LibraryMemory = std::unique_ptr<void, FreeLibraryMemory>;

std::shared_ptr<const BytesToBytesCodec> FindCodec(int id, size_t count,
                                                   const unsigned* parameters) {
  const std::string name = std::to_string(id);
  Json configuration = {{"cd_values", std::vector<unsigned>(parameters, parameters + count)}};
  const ChunkForm form{model::Datatype::Opaque(1), {kMaxDecodedBytes}};
  auto codec = MakeCodec({CodecDialect::kHdf5, name, &configuration, &form});
  if (!codec) return nullptr;
  const auto* bytes = std::get_if<std::shared_ptr<const BytesToBytesCodec>>(&*codec);
  return bytes ? *bytes : nullptr;
}

// Tries larger and larger buffers, as the codec takes one that is too small
// for a sign of corruption. Returns the bytes decoded, or 0.
size_t Decode(const BytesToBytesCodec& codec, ConstByteSpan encoded, LibraryMemory& decoded,
              size_t& capacity) {
  for (capacity = std::max(4 * encoded.size(), kFirstGuess); capacity <= kMaxDecodedBytes;
       capacity *= 4) {
    decoded.reset(H5allocate_memory(capacity, false));
    if (!decoded) return 0;
    const auto size = codec.Decode(encoded, {static_cast<std::byte*>(decoded.get()), capacity});
    if (size) return *size;
  }
  return 0;
}

// H5Z_func_t, for the filter `kId`: returns 0 for failure.
template <int kId>
size_t Filter(unsigned flags, size_t count, const unsigned* parameters, size_t size,
              size_t* buffer_size, void** buffer) noexcept {
  if (!(flags & H5Z_FLAG_REVERSE)) return 0;
  try {
    const auto codec = FindCodec(kId, count, parameters);
    if (!codec) return 0;
    LibraryMemory decoded;
    size_t capacity = 0;
    const ConstByteSpan encoded(static_cast<const std::byte*>(*buffer), size);
    const size_t decoded_size = Decode(*codec, encoded, decoded, capacity);
    if (decoded_size == 0) return 0;
    H5free_memory(std::exchange(*buffer, decoded.release()));
    *buffer_size = capacity;
    return decoded_size;
  } catch (...) {
    return 0;
  }
}

template <int kId>
void Register() {
  if (H5Zfilter_avail(kId) > 0) return;
  H5Z_class2_t filter;
  std::memset(&filter, 0, sizeof(filter));
  filter.version = H5Z_CLASS_T_VERS;
  filter.id = kId;
  filter.decoder_present = 1;
  filter.name = "ndlfs codec";
  filter.filter = &Filter<kId>;
  H5Zregister(&filter);
}

template <int... kIds>
void RegisterAll() {
  (Register<kIds>(), ...);
}

}  // namespace

void RegisterFilters() {
  H5PLset_loading_state(0);
  // bzip2, lzf, blosc, lz4, bitshuffle, zstd, blosc2
  RegisterAll<307, 32000, 32001, 32004, 32008, 32015, 32026>();
  H5Eclear2(H5E_DEFAULT);
}

}  // namespace ndlfs::backends::hdf5
