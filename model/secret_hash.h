// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace ndlfs::model {

// A hash of `text` (SipHash-1-3), whose key is a secret of this process: nobody can make names
// that collide in a hash table, which would then take as long as a list. Differs from run to
// run. Thread-safe.
uint64_t SecretHash(std::string_view text);
// The same for a text below something that has a number, as a name in a directory.
uint64_t SecretHash(uint64_t number, std::string_view text);

}  // namespace ndlfs::model
