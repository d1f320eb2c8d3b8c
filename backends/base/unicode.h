// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace ndlfs::backends {

// `text` in Unicode's normalization form C, in which "é" is one character. A text that is not
// UTF-8 stays as it is.
std::string ComposeCharacters(std::string_view text);

}  // namespace ndlfs::backends
