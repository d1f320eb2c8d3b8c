// SPDX-License-Identifier: MIT
//
// Errors as clients of DAP read them.
#pragma once

#include "fs/http/reply.h"

namespace ndlfs::fs {

// Whether the request is one of DAP, by its URL.
bool IsForDap(const RequestTarget& target);

// Gives a reply with an error to a request of DAP the body that its clients read: the object
// `Error` of DAP 2 (ESE-RFC-004.1.2, section 7.2), or the document `Error` of DAP 4.
void DescribeDapError(const RequestTarget& target, HttpReply& reply);

}  // namespace ndlfs::fs
