// SPDX-License-Identifier: MIT
#pragma once

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "backends/store/request_scope.h"

namespace ndlfs::backends {

// The request that a thread works for. A front end makes a context for each request. Code that
// gives a part of its work to another thread gives it the Current() context, too:
//
//   std::thread([context = RequestContext::Current()] {
//     const RequestContext::Scope scope(context);
//     ...
//   });
struct RequestContext {
  CallerPtr caller = nullptr;              // null: this process itself
  CancellationPtr cancellation = nullptr;  // null: nobody can end the request
  // Looks must not use results of earlier requests (RequestScope::looks_anew()).
  bool looks_anew = false;

  // The context of the calling thread; all null and false if it works for no request.
  static RequestContext Current();

  // Sets the context of the calling thread, which also gets an empty memory of looks. An inner
  // scope hides the outer one.
  class Scope {
   public:
    explicit Scope(const RequestContext& context);
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const CallerScope caller_;
    const CancellationScope cancellation_;
    const RequestScope looks_;
  };
};

}  // namespace ndlfs::backends
