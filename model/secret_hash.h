// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace ndlfs::model {

// A hash of `text` (SipHash-1-3) with a key that is a secret of this process. So nobody can
// make names that collide in a hash table, which would then be as slow as a list. Differs from
// run to run. Thread-safe.
uint64_t SecretHash(std::string_view text);
// The same for a text that belongs to a number, such as a name in a directory.
uint64_t SecretHash(uint64_t number, std::string_view text);

}  // namespace ndlfs::model
