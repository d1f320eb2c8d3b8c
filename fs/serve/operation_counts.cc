// SPDX-License-Identifier: MIT
#include "fs/serve/operation_counts.h"

namespace ndlfs::fs {

const std::array<OperationCounts::Kind, 6> OperationCounts::kKinds = {{
    {"lookup", &OperationCounts::lookup},
    {"getattr", &OperationCounts::getattr},
    {"open", &OperationCounts::open},
    {"read", &OperationCounts::read},
    {"readdir", &OperationCounts::readdir},
    {"other", &OperationCounts::other},
}};

}  // namespace ndlfs::fs
