// SPDX-License-Identifier: MIT
#include "backends/store/request_context.h"

namespace ndlfs::backends {

RequestContext RequestContext::Current() {
  const RequestScope* const looks = RequestScope::Current();
  return {CallerScope::Current(), CancellationScope::Current(),
          looks != nullptr && looks->looks_anew()};
}

RequestContext::Scope::Scope(const RequestContext& context)
    : caller_(context.caller), cancellation_(context.cancellation) {
  if (context.looks_anew) RequestScope::ForgetAll();
}

}  // namespace ndlfs::backends
