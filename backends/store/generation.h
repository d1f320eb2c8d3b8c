// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ndlfs::backends {

// An opaque version of a value: values with equal generations have the same
// bytes. A store makes it without reading the value, from the numbers of a file
// (device, inode, size and times) or the ETag of an object.
class Generation {
 public:
  using Numbers = std::array<uint64_t, 5>;

  // The generation of no value: it differs from all that stores make.
  Generation() = default;
  static Generation OfNumbers(const Numbers& numbers) { return Generation(numbers); }
  static Generation OfTag(std::string tag) { return Generation(std::move(tag)); }

  bool operator==(const Generation&) const = default;
  // A hash that uses all 64 bits. Without knowing `seed`, nobody can write values
  // whose generations have the same hash.
  uint64_t hash(uint64_t seed = 0) const;

  // The argument of OfTag(); empty if the generation was made of numbers.
  std::string_view tag() const {
    const auto* tag = std::get_if<std::string>(&identity_);
    return tag == nullptr ? std::string_view() : *tag;
  }

  // The generation as one line for logs and messages. Different generations
  // have different texts.
  std::string ToText() const;
  // The generation with that text; nullopt if there is none.
  static std::optional<Generation> FromText(std::string_view text);

 private:
  using Identity = std::variant<Numbers, std::string>;
  explicit Generation(Identity identity) : identity_(std::move(identity)) {}

  Identity identity_;
};

}  // namespace ndlfs::backends
