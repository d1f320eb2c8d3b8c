// SPDX-License-Identifier: MIT
#include "fs/serve/last_resort.h"

#include <unistd.h>

#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "fs/serve/logging.h"
#include "fs/serve/signals_blocked.h"
#include "model/mutex.h"

namespace ndlfs::fs {
namespace {

// Never destroyed: the thread may be at work when the process ends by itself.
struct LastAct {
  model::Mutex mutex;
  std::function<void()> before GUARDED_BY(mutex);
};

LastAct& TheLastAct() {
  static auto* const act = new LastAct;
  return *act;
}

[[noreturn]] void EndProcess(int status, std::chrono::milliseconds within) {
  std::this_thread::sleep_for(within);
  {
    LastAct& act = TheLastAct();
    const model::MutexLock lock(act.mutex);
    if (act.before) act.before();
  }
  LogInfo("work that nobody waits for does not stop: the process ends without it");
  ::_exit(status);
}

}  // namespace

void LastResort::Begin(std::function<void()> before, int status,
                       std::chrono::milliseconds within) {
  {
    LastAct& act = TheLastAct();
    const model::MutexLock lock(act.mutex);
    act.before = std::move(before);
  }
  const SignalsBlocked blocked;
  try {
    std::thread(&EndProcess, status, within).detach();
  } catch (const std::exception&) {  // neither memory nor a thread: then without `before`
    ::alarm(static_cast<unsigned>(within.count() / 1000 + 1));
  }
}

void LastResort::Forget() {
  LastAct& act = TheLastAct();
  const model::MutexLock lock(act.mutex);
  act.before = nullptr;
}

}  // namespace ndlfs::fs
