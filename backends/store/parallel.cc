// SPDX-License-Identifier: MIT
#include "backends/store/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backends/store/answer_age.h"
#include "backends/store/request_context.h"
#include "model/mutex.h"

namespace ndlfs::backends {

using model::Result;

Result<void> RunInParallel(unsigned threads, size_t count,
                           const std::function<Result<void>(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::atomic<size_t> failed{std::numeric_limits<size_t>::max()};
  model::Mutex mutex;
  std::optional<model::Error> error;
  const auto run = [&] {
    for (size_t i; (i = next++) < count && i < failed;) {
      Result<void> done;
      try {
        done = work(i);
      } catch (const std::exception& exception) {
        done = model::Internal("{}", exception.what());
      }
      if (done) continue;
      const model::MutexLock lock(mutex);
      if (i >= failed) continue;
      failed = i;
      error = std::move(done).error();
    }
  };
  AnswerAge::Time oldest = AnswerAge::Time::max();  // of the answers that helpers were given
  std::vector<std::thread> helpers;
  // Fewer numbers are done before another thread has begun.
  for (size_t t = 1; t < std::min<size_t>(threads, count / 4); ++t) {
    try {
      helpers.emplace_back([&, context = RequestContext::Current()] {
        const RequestContext::Scope scope(context);
        const AnswerAge age(AnswerAge::Time::max());
        run();
        const model::MutexLock lock(mutex);
        oldest = std::min(oldest, age.since());
      });
    } catch (const std::exception&) {
      break;  // this thread does it all
    }
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  AnswerAge::Note(oldest);
  if (error) return model::Propagate(*std::move(error));
  return {};
}

}  // namespace ndlfs::backends
