// SPDX-License-Identifier: MIT
#include "fs/http/client_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "fs/http/parse/fields.h"
#include "model/number_text.h"
#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

constexpr unsigned kAllBits = 128;
constexpr unsigned kMappedBits = 96;  // before an address of IPv4

uid_t ClientOfV6(const in6_addr& address) {
  constexpr size_t kNetwork = 8;
  const std::string_view bytes(reinterpret_cast<const char*>(address.s6_addr), kAllBits / 8);
  return static_cast<uid_t>(model::SecretHash(IN6_IS_ADDR_V4MAPPED(&address)
                                                  ? bytes.substr(kMappedBits / 8)
                                                  : bytes.substr(0, kNetwork)));
}

// nullopt for a Unix socket.
std::optional<in6_addr> V6Of(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET6) {
    return reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  }
  if (address->sa_family != AF_INET) return std::nullopt;
  in6_addr mapped = {};
  mapped.s6_addr[10] = mapped.s6_addr[11] = 0xFF;
  std::memcpy(mapped.s6_addr + kMappedBits / 8,
              &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, sizeof(in_addr));
  return mapped;
}

}  // namespace

uid_t ClientOf(const sockaddr* address) {
  const auto v6 = V6Of(address);
  return v6 ? ClientOfV6(*v6) : 0;
}

std::optional<Proxies::Address> Proxies::ParseAddress(const std::string& text) {
  Address address;
  for (const std::string& form : {text, "::ffff:" + text}) {
    if (::inet_pton(AF_INET6, form.c_str(), address.data()) == 1) return address;
  }
  return std::nullopt;
}

model::Result<Proxies> Proxies::Parse(const std::vector<std::string>& texts) {
  Proxies out;
  for (const std::string& text : texts) {
    if (text == "unix") {
      out.has_unix_ = true;
      continue;
    }
    const size_t slash = text.find('/');
    const auto address = ParseAddress(text.substr(0, slash));
    const unsigned outer = text.find(':') == text.npos ? kMappedBits : 0;
    std::optional<unsigned> bits = kAllBits - outer;
    if (slash != text.npos) bits = model::ParseNumber<unsigned>(text.substr(slash + 1));
    if (!address || !bits || *bits > kAllBits - outer) {
      return model::BadInput("--proxy: {} is no address or network, and not \"unix\"",
                             model::Quote(text));
    }
    out.networks_.push_back({*address, *bits + outer});
  }
  return out;
}

bool Proxies::Has(const Address& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    for (unsigned bit = 0; bit < network.bits; ++bit) {
      const unsigned difference = address[bit / 8] ^ network.address[bit / 8];
      if ((difference >> (7 - bit % 8) & 1) != 0) return false;
    }
    return true;
  });
}

bool Proxies::Has(const sockaddr* address) const {
  const auto v6 = V6Of(address);
  return v6 ? Has(std::to_array(v6->s6_addr)) : has_unix_;
}

std::optional<uid_t> Proxies::ClientBehind(const std::string& forwarded_for) const {
  std::string_view rest = forwarded_for;
  while (!rest.empty()) {
    const size_t comma = rest.rfind(',');
    const size_t begin = comma == rest.npos ? 0 : comma + 1;
    const auto address = ParseAddress(std::string(TrimBlanks(rest.substr(begin))));
    if (!address) return std::nullopt;
    if (!Has(*address)) {
      in6_addr v6;
      std::memcpy(v6.s6_addr, address->data(), address->size());
      return ClientOfV6(v6);
    }
    rest = rest.substr(0, comma == rest.npos ? 0 : comma);
  }
  return std::nullopt;
}

}  // namespace ndlfs::fs
