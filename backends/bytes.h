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

// An owned, uninitialized, 64-byte aligned block of memory. Move-only. Unlike
// a vector it does not clear what is about to be overwritten.
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
  // Forgets the bytes after the first `size`; the memory is kept.
  void Shrink(size_t size) { size_ = size < size_ ? size : size_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* block) const { ::operator delete(block); }
  };

  // Aligned here, with room to spare, and not by the library: glibc cannot
  // use a block again for the same size once it was cut out for alignment,
  // and the heap would grow to several times what is in use.
  static std::byte* Allocate(size_t size) {
    if (size > SIZE_MAX - kAlignment) throw std::bad_alloc();
    return static_cast<std::byte*>(::operator new(size + kAlignment));
  }
  static std::byte* Align(std::byte* block) {
    const auto address = reinterpret_cast<uintptr_t>(block);
    return block + (kAlignment - address % kAlignment) % kAlignment;
  }

  std::unique_ptr<std::byte, Free> block_;
  size_t size_ = 0;
};

}  // namespace ndlfs::backends
