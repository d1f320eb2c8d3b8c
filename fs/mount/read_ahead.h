// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ndlfs::fs {

// Has the kernel read further ahead in the files of a mount, and so ask for
// more at a time. Only root may, and only once the kernel has shaken hands;
// where it may not be, nothing happens. Does not look at the mount itself.
void RaiseReadAhead(const std::string& mountpoint);

}  // namespace ndlfs::fs
