// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ndlfs::backends {

// One version of a value, opaque: equal generations have the same bytes. A store
// makes it from what it can find out without reading the value: the numbers of a
// file (device, inode, size and times), or the ETag of an object.
class Generation {
 public:
  using Numbers = std::array<uint64_t, 5>;

  // Equal only to itself: no store gives it to a value.
  Generation() = default;
  static Generation OfNumbers(const Numbers& numbers) { return Generation(numbers); }
  static Generation OfTag(std::string tag) { return Generation(std::move(tag)); }

  bool operator==(const Generation&) const = default;
  // Spread over all bits. Whoever writes the values cannot make two generations of
  // one hash without knowing `seed`.
  uint64_t hash(uint64_t seed = 0) const;

  // One line for logs and messages. Different generations have different texts.
  std::string ToText() const;
  // The generation with that text; nullopt if there is none.
  static std::optional<Generation> FromText(std::string_view text);

 private:
  using Identity = std::variant<Numbers, std::string>;
  explicit Generation(Identity identity) : identity_(std::move(identity)) {}

  Identity identity_;
};

}  // namespace ndlfs::backends
