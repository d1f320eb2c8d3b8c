// SPDX-License-Identifier: MIT
//
// numcodecs "jenkins_lookup3": Bob Jenkins' lookup3 hash (hashlittle) after the data.
#include <algorithm>
#include <array>
#include <bit>

#include "backends/codec/checksum.h"
#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kBlock = 12;

// The state of the hash: three words that are mixed after each block.
class Lookup3 {
 public:
  Lookup3(uint64_t size, uint32_t initial) {
    state_.fill(0xdeadbeef + static_cast<uint32_t>(size) + initial);
  }

  void Add(const std::byte* block) {
    for (size_t i = 0; i < 3; ++i) state_[i] += LoadLittle<uint32_t>(block + 4 * i);
  }
  void Mix() {
    auto& [a, b, c] = state_;
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  void Finish() {
    auto& [a, b, c] = state_;
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
  }
  uint32_t value() const { return state_[2]; }

 private:
  std::array<uint32_t, 3> state_;
};

class JenkinsCodec final : public ChecksumCodec {
 public:
  explicit JenkinsCodec(uint32_t initial) : ChecksumCodec(Location::kEnd), initial_(initial) {}
  std::string_view name() const override { return "jenkins_lookup3"; }

 protected:
  uint32_t Compute(ConstByteSpan data) const override { return JenkinsLookup3(data, initial_); }

 private:
  const uint32_t initial_;
};

}  // namespace

uint32_t JenkinsLookup3(ConstByteSpan data, uint32_t initial) {
  Lookup3 hash(data.size(), initial);
  if (data.empty()) return hash.value();
  // The last block is treated differently, even if it is complete.
  for (; data.size() > kBlock; data = data.subspan(kBlock)) {
    hash.Add(data.data());
    hash.Mix();
  }
  std::array<std::byte, kBlock> last{};
  std::copy(data.begin(), data.end(), last.begin());
  hash.Add(last.data());
  hash.Finish();
  return hash.value();
}

static CodecResult MakeJenkinsLookup3(const CodecConfig& config) {
  NDLFS_TRY(const auto initial, SizeMember(config, "initval"), "jenkins_lookup3");
  if (initial.value_or(0) > UINT32_MAX) {
    return model::BadInput("jenkins_lookup3: initval: {} is too large", *initial);
  }
  if (FindMember(config, "prefix")) {
    return model::Unsupported("jenkins_lookup3: a prefix, which JSON cannot express");
  }
  return NewCodec<JenkinsCodec>(static_cast<uint32_t>(initial.value_or(0)));
}

const CodecEntry kJenkinsLookup3Entry = {"", "jenkins_lookup3", "", MakeJenkinsLookup3};

}  // namespace ndlfs::backends
