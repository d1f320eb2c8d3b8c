// SPDX-License-Identifier: MIT
#include "fs/tree/path_hash.h"

#include "model/hash.h"

namespace ndlfs::fs {

uint64_t HashPath(uint64_t parent, std::string_view name) {
  const uint64_t hash = model::AddFnv(model::kFnvBegin ^ model::MixBits(parent), name);
  return model::MixBits(hash) >> 1;
}

uint64_t HashPathTo32Bits(uint64_t parent, std::string_view name) {
  // The next numbers, which paths get whose number is in use, have room as well.
  constexpr uint64_t kMost = 0x7fff'ffff;
  const uint64_t hash = HashPath(parent, name);
  return (hash ^ hash >> 32) & kMost;
}

uint64_t HashNumber(uint64_t seed, uint64_t number) {
  return HashPath(seed, {reinterpret_cast<const char*>(&number), sizeof(number)});
}

uint64_t HashNames(const std::vector<std::string>& names) {
  uint64_t hash = names.size();
  for (const std::string& name : names) hash = HashPath(hash, name);
  return hash;
}

}  // namespace ndlfs::fs
