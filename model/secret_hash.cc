// SPDX-License-Identifier: MIT
#include "model/secret_hash.h"

#include <bit>
#include <cstring>
#include <random>

namespace ndlfs::model {
namespace {

struct HashKey {
  uint64_t first;
  uint64_t second;
};

const HashKey& SecretKey() {
  static const HashKey key = [] {
    std::random_device random;
    const auto word = [&] { return uint64_t{random()} << 32 | random(); };
    return HashKey{word(), word()};
  }();
  return key;
}

// SipHash with one round for each word, and three at the end; the words are little-endian where
// the machine is.
class SipState {
 public:
  explicit SipState(const HashKey& key)
      : v0_(key.first ^ 0x736f6d6570736575u),
        v1_(key.second ^ 0x646f72616e646f6du),
        v2_(key.first ^ 0x6c7967656e657261u),
        v3_(key.second ^ 0x7465646279746573u) {}

  void Add(uint64_t word) {
    v3_ ^= word;
    Round();
    v0_ ^= word;
  }

  uint64_t Finish() {
    v2_ ^= 0xff;
    for (int i = 0; i < 3; ++i) Round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void Round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  uint64_t v0_;
  uint64_t v1_;
  uint64_t v2_;
  uint64_t v3_;
};

uint64_t HashWith(SipState state, std::string_view text) {
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof(word));
    state.Add(word);
  }
  // The last word has the length, too, so that a NUL at the end is another text.
  uint64_t last = 0;
  if (at < text.size()) std::memcpy(&last, text.data() + at, text.size() - at);
  state.Add(last | uint64_t{text.size()} << 56);
  return state.Finish();
}

}  // namespace

uint64_t SecretHash(std::string_view text) { return HashWith(SipState(SecretKey()), text); }

uint64_t SecretHash(uint64_t number, std::string_view text) {
  SipState state(SecretKey());
  state.Add(number);
  return HashWith(state, text);
}

}  // namespace ndlfs::model
