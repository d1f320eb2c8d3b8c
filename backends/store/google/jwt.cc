// SPDX-License-Identifier: MIT
#include "backends/store/google/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/base/json.h"
#include "model/base64.h"

namespace ndlfs::backends::google {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Base64 for URLs, without padding (RFC 7515, section 2).
std::string ForUrl(ConstByteSpan bytes) {
  std::string text = model::EncodeBase64(bytes);
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

Key ReadKey(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  // Otherwise OpenSSL asks at the terminal for the password of an encrypted key.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  ERR_clear_error();
  return key;
}

std::optional<std::vector<std::byte>> Signature(EVP_PKEY* key, std::string_view text) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* const data = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  bool works = EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
               EVP_DigestSign(context.get(), nullptr, &size, data, text.size()) == 1;
  std::vector<std::byte> signature(size);
  auto* const out = reinterpret_cast<unsigned char*>(signature.data());
  works = works && EVP_DigestSign(context.get(), out, &size, data, text.size()) == 1;
  ERR_clear_error();
  if (!works) return std::nullopt;
  signature.resize(size);
  return signature;
}

}  // namespace

model::Result<std::string> SignToken(const ServiceAccount& account, int64_t now_s,
                                     int64_t life_s) {
  const Key key = ReadKey(account.private_key);
  if (!key || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return model::BadInput("its private_key is no RSA key in PEM format");
  }
  Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!account.key_id.empty()) header["kid"] = account.key_id;
  const Json claims = {{"iss", account.email},
                       {"sub", account.email},
                       {"scope", kScope},
                       {"iat", now_s},
                       {"exp", now_s + life_s}};
  std::string token = ForUrl(AsBytes(CompactJson(header)));
  token += '.' + ForUrl(AsBytes(CompactJson(claims)));
  const auto signature = Signature(key.get(), token);
  if (!signature) return model::BadInput("its private_key cannot sign");
  return token + '.' + ForUrl(*signature);
}

}  // namespace ndlfs::backends::google
