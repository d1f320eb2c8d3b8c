// SPDX-License-Identifier: MIT
//
// Structures as bytes, for messages between two processes of the same build. A room with
// messages derives a writer and a reader of its own. A function beside them tells what a
// structure consists of, for both:
//
//   template <typename Archive, typename T>
//   requires std::same_as<std::remove_const_t<T>, Colour>
//   void Fields(Archive& archive, T& v) { archive(v.red, v.green, v.blue); }
//
// Types that have another form get an overload of Put() and Get() in the derived classes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"

namespace ndlfs::backends::helper {

template <typename T>
concept MessageNumber = std::integral<T> || std::is_enum_v<T>;

// Writes values one behind the other. `Self` is the class that derives from it.
template <typename Self>
class MessageWriter {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    (self().Put(values), ...);
  }
  std::vector<std::byte> Take() && { return std::move(out_); }

  template <MessageNumber T>
  void Put(T value) {
    PutBytes(&value, sizeof(value));
  }
  void Put(const std::string& text) { PutCounted(text); }
  void Put(const std::vector<std::byte>& bytes) { PutCounted(bytes); }
  void Put(const Bytes& bytes) { PutCounted(bytes); }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(uint64_t{values.size()});
    for (const T& value : values) self().Put(value);
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(value.has_value());
    if (value) self().Put(*value);
  }
  template <typename T>
  void Put(const std::shared_ptr<const T>& value) {
    Put(value != nullptr);
    if (value) self().Put(*value);
  }
  template <typename T>
  requires requires(Self& archive, const T& value) { Fields(archive, value); }
  void Put(const T& value) { Fields(self(), value); }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  template <typename T>
  void PutCounted(const T& bytes) {
    Put(uint64_t{bytes.size()});
    PutBytes(bytes.data(), bytes.size());
  }
  void PutBytes(const void* bytes, size_t size) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    out_.insert(out_.end(), begin, begin + size);
  }

  std::vector<std::byte> out_;
};

// Reads what a MessageWriter has written. The bytes may come from a process that a hostile file
// has led astray. After a field that is not there, or not possible, everything is empty.
template <typename Self>
class MessageReader {
 public:
  explicit MessageReader(ConstByteSpan in) : in_(in) {}

  template <typename... T>
  void operator()(T&... values) {
    (self().Get(values), ...);
  }
  bool ok() const { return ok_; }
  // Whether everything was there, and nothing else.
  bool done() const { return ok_ && in_.empty(); }

  template <MessageNumber T>
  void Get(T& value) {
    value = T();
    const ConstByteSpan bytes = Take(sizeof(value));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(value));
  }
  void Get(bool& value) {
    uint8_t byte;
    Get(byte);
    if (byte > 1) ok_ = false;
    value = byte == 1;
  }
  void Get(std::string& text) { text = AsText(Take(GetCount())); }
  void Get(std::vector<std::byte>& bytes) {
    const ConstByteSpan taken = Take(GetCount());
    bytes.assign(taken.begin(), taken.end());
  }
  void Get(Bytes& bytes) { bytes = Bytes::Copy(Take(GetCount())); }
  template <typename T>
  void Get(std::vector<T>& values) {
    values.clear();
    // Reserves nothing: a count is believed item by item.
    for (uint64_t left = GetCount(); left > 0 && ok_; --left) self().Get(values.emplace_back());
  }
  template <typename T>
  void Get(std::optional<T>& value) {
    value.reset();
    if (GetPresence()) self().Get(value.emplace());
  }
  template <typename T>
  void Get(std::shared_ptr<const T>& value) {
    value = nullptr;
    if (!GetPresence()) return;
    auto made = std::make_shared<T>();
    self().Get(*made);
    value = std::move(made);
  }
  template <typename T>
  requires requires(Self& archive, T& value) { Fields(archive, value); }
  void Get(T& value) { Fields(self(), value); }

 protected:
  uint64_t GetCount() {
    uint64_t count;
    Get(count);
    return count;
  }
  // Whether a value follows.
  bool GetPresence() {
    bool has_value;
    Get(has_value);
    return has_value && ok_;
  }
  // Reads an enumeration of one byte, the values of which are 0 to `last`.
  template <typename T>
  requires(sizeof(T) == 1) void GetUpTo(T last, T& value) {
    uint8_t byte;
    Get(byte);
    if (byte > static_cast<uint8_t>(last)) ok_ = false;
    value = ok_ ? static_cast<T>(byte) : T();
  }
  void Fail() {
    ok_ = false;
    in_ = {};
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  ConstByteSpan Take(uint64_t size) {
    if (size > in_.size()) {
      Fail();
      return {};
    }
    const ConstByteSpan taken = in_.first(size);
    in_ = in_.subspan(size);
    return taken;
  }

  ConstByteSpan in_;
  bool ok_ = true;
};

}  // namespace ndlfs::backends::helper
