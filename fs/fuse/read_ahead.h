// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ndlfs::fs {

// Makes the kernel read further ahead in the files of a mount, so that it asks
// for more at a time. Works only for root, and only after the FUSE handshake;
// otherwise does nothing. Sends no request to the mount itself.
void RaiseReadAhead(const std::string& mountpoint);

}  // namespace ndlfs::fs
