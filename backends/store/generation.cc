// SPDX-License-Identifier: MIT
#include "backends/store/generation.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "model/hash.h"

namespace ndlfs::backends {
namespace {

constexpr char kNumbers = 'n';
constexpr char kTag = 't';
constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

}  // namespace

uint64_t Generation::hash(uint64_t seed) const {
  const auto* numbers = std::get_if<Numbers>(&identity_);
  uint64_t hash = seed;
  const auto add = [&](uint64_t number) { hash = model::MixBits(hash ^ number) + seed + kOdd; };
  if (numbers != nullptr) {
    for (const uint64_t number : *numbers) add(number);
  } else {
    for (const unsigned char byte : std::get<std::string>(identity_)) add(byte);
  }
  return hash;
}

std::string Generation::ToText() const {
  const auto* numbers = std::get_if<Numbers>(&identity_);
  if (numbers == nullptr) return kTag + std::get<std::string>(identity_);
  std::string text(1, kNumbers);
  for (const uint64_t number : *numbers) text += fmt::format("{:x}.", number);
  text.pop_back();
  return text;
}

std::optional<Generation> Generation::FromText(std::string_view text) {
  if (text.starts_with(kTag)) return OfTag(std::string(text.substr(1)));
  if (!text.starts_with(kNumbers)) return std::nullopt;
  Numbers numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint64_t& number : numbers) {
    if (at == end) return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, number, 16);  // after 'n' or '.'
    if (error != std::errc()) return std::nullopt;
    at = next;
    if (&number != &numbers.back() && (at == end || *at != '.')) return std::nullopt;
  }
  if (at != end) return std::nullopt;
  return OfNumbers(numbers);
}

}  // namespace ndlfs::backends
