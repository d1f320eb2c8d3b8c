// SPDX-License-Identifier: MIT
#include "backends/store/keys.h"

namespace ndlfs::backends {

std::string JoinKey(std::string_view prefix, std::string_view key) {
  std::string joined(prefix);
  if (!prefix.empty() && !key.empty()) joined += '/';
  return joined += key;
}

model::Result<void> CheckKey(std::string_view key) {
  std::string_view rest = key;
  for (;;) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." ||
        part.find('\0') != std::string_view::npos) {
      return model::BadInput("the key {} is not below its store", model::Quote(key));
    }
    if (slash == std::string_view::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

}  // namespace ndlfs::backends
