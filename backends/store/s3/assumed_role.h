// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "backends/store/object/signature.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// Credentials out of the answer of STS to AssumeRoleWithWebIdentity. Messages do not quote the
// answer.
model::Result<object::Credentials> ParseAssumedRole(std::string_view document);

}  // namespace ndlfs::backends::s3
