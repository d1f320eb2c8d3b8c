// SPDX-License-Identifier: MIT
//
// Hashes whose values never change: they stand in names of files, in inode numbers and in
// records on disk. Anybody can make texts that collide in them; tables of names use
// SecretHash().
#pragma once

#include <cstdint>
#include <string_view>

namespace ndlfs::model {

// The finalizer of SplitMix64: every bit of `x` changes half of the bits of the result.
constexpr uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// FNV-1a of 64 bits, a word at a time. A sequence begins with kFnvBegin.
inline constexpr uint64_t kFnvBegin = 0xcbf29ce484222325u;
constexpr uint64_t AddFnv(uint64_t hash, uint64_t word) {
  return (hash ^ word) * 0x00000100000001b3u;
}
// The same for the bytes of a text.
constexpr uint64_t AddFnv(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = AddFnv(hash, uint64_t{static_cast<unsigned char>(c)});
  return hash;
}

// The hash of a sequence of words after one more.
constexpr uint64_t CombineHash(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace ndlfs::model
