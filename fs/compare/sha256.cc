// SPDX-License-Identifier: MIT
#include "fs/compare/sha256.h"

#include <openssl/evp.h>

#include <new>

namespace ndlfs::fs {
namespace {

EVP_MD_CTX* AsContext(void* context) { return static_cast<EVP_MD_CTX*>(context); }

void CheckSucceeded(int result) {
  if (result != 1) throw std::bad_alloc();
}

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(AsContext(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  CheckSucceeded(EVP_DigestInit_ex(AsContext(context_.get()), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

void Sha256::Add(backends::ConstByteSpan bytes) {
  CheckSucceeded(EVP_DigestUpdate(AsContext(context_.get()), bytes.data(), bytes.size()));
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  CheckSucceeded(EVP_DigestFinal_ex(AsContext(context_.get()),
                                    reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

Sha256Digest Sha256Of(backends::ConstByteSpan bytes) {
  Sha256 sum;
  sum.Add(bytes);
  return sum.Finish();
}

std::string HexOf(const Sha256Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : digest) {
    hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
    hex += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return hex;
}

}  // namespace ndlfs::fs
