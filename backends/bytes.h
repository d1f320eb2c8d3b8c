// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
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
  explicit Bytes(size_t size)
      : data_(size ? static_cast<std::byte*>(::operator new(size, std::align_val_t(kAlignment)))
                   : nullptr),
        size_(size) {}
  static Bytes Copy(ConstByteSpan from) {
    Bytes bytes(from.size());
    if (!from.empty()) std::memcpy(bytes.data(), from.data(), from.size());
    return bytes;
  }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ByteSpan span() { return {data(), size_}; }
  ConstByteSpan span() const { return {data(), size_}; }
  // Forgets the bytes after the first `size`; the memory is kept.
  void Shrink(size_t size) { size_ = size < size_ ? size : size_; }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace ndlfs::backends
