// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace ndlfs::backends {

using ByteSpan = std::span<std::byte>;
using ConstByteSpan = std::span<const std::byte>;

inline ConstByteSpan AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view AsText(ConstByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Owns a block of memory, aligned to 64 bytes. Unlike a vector it leaves new
// memory uninitialized, because callers overwrite it anyway. Move-only.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(size_t size) : block_(size ? Allocate(size) : nullptr), size_(size) {}
  static Bytes Copy(ConstByteSpan from) {
    Bytes bytes(from.size());
    if (!from.empty()) std::memcpy(bytes.data(), from.data(), from.size());
    return bytes;
  }

  std::byte* data() { return Align(block_.get()); }
  const std::byte* data() const { return Align(block_.get()); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ByteSpan span() { return {data(), size_}; }
  ConstByteSpan span() const { return {data(), size_}; }
  // Drops the bytes after the first `size`, but keeps their memory.
  void Shrink(size_t size) { size_ = size < size_ ? size : size_; }

 private:
  static constexpr size_t kAlignment = 64;
  // Allocates more than needed, and aligns by hand. The aligned allocation of glibc cuts blocks
  // out of larger ones, and cannot use them again for the same size. With it the heap would
  // grow to several times the memory in use.
  static std::byte* Allocate(size_t size) {
    if (size > SIZE_MAX - kAlignment) throw std::bad_alloc();
    return new std::byte[size + kAlignment];
  }
  static std::byte* Align(std::byte* block) {
    const auto address = reinterpret_cast<uintptr_t>(block);
    return block + (kAlignment - address % kAlignment) % kAlignment;
  }

  std::unique_ptr<std::byte[]> block_;
  size_t size_ = 0;
};

}  // namespace ndlfs::backends
