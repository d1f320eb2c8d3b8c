// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "backends/base/bytes.h"

namespace ndlfs::fs {

using Sha256Digest = std::array<std::byte, 32>;

// SHA-256 (FIPS 180-4) of bytes that come in pieces. For one thread at a time. Throws
// std::bad_alloc if OpenSSL has no memory.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(backends::ConstByteSpan bytes);
  // To be called once, at the end.
  Sha256Digest Finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  const std::unique_ptr<void, Free> context_;  // an EVP_MD_CTX
};

Sha256Digest Sha256Of(backends::ConstByteSpan bytes);

// 64 hexadecimal digits, lower case.
std::string HexOf(const Sha256Digest& digest);

}  // namespace ndlfs::fs
