// SPDX-License-Identifier: MIT
//
// A world in one process: a source that a program writes again and again, and that fails now
// and then; the tree of a mount; and users who open, read, close and list, some of whom are
// interrupted. The world knows all states that the source has had.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/store/caller.h"
#include "backends/store/cancellation.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/tree_node.h"
#include "model/error.h"
#include "model/mutex.h"
#include "tests/schedules/world_source.h"

namespace ndlfs::test {

// What one of the threads of a world does.
struct Step {
  enum class Kind : uint8_t {
    // A user:
    kOpen,
    kRead,
    kClose,
    kList,
    // The program that writes:
    kWriteArray,
    kWriteChunk,
    kRemoveArray,
    kWriteFile,
    kRemoveGroup,
    // Anybody:
    kWait,
    kInterrupt,  // a request of a user, if one is under way
  };
  size_t actor = 0;
  Kind kind = Kind::kWait;
  uint64_t number = 0;  // which one, and how

  std::string ToText() const;
};
using Plan = std::vector<Step>;

constexpr size_t kUsers = 3;
constexpr size_t kActors = kUsers + 2;  // and the one that writes, and the one that interrupts

// The steps of a world.
Plan MakePlan(uint64_t seed);

struct WorldOptions {
  WorldPlace place = WorldPlace::kLocal;
  std::chrono::nanoseconds revalidate{0};
  uint64_t calm = 0;  // a fault comes once in so many answers; 0: never
};

// What the users of a world have seen.
struct Seen {
  uint64_t reads = 0;
  uint64_t lists = 0;
  std::vector<std::string> failures;  // what was wrong
};

class MountedWorld {
 public:
  MountedWorld(const WorldOptions& options, uint64_t seed);

  // Lets all live through their steps, each one on a thread of its own, and then looks whether
  // everybody sees what is there.
  Seen Live(const Plan& plan);

 private:
  using Clock = std::chrono::steady_clock;
  using Files = std::map<std::string, std::string>;
  using Names = std::set<std::string>;
  // The source from a moment on.
  struct State {
    Clock::time_point since;
    Files files;
  };
  // A file that a user has open.
  struct Open {
    std::string path;
    fs::OpenedFile file;
    size_t begin = 0;  // the first state that may be seen
    std::vector<std::pair<uint64_t, std::string>> pieces;
  };
  struct User {
    backends::CallerPtr caller;
    std::array<std::optional<Open>, 2> open;
    std::shared_ptr<backends::Cancellation> request;
  };

  void Do(const Step& step);
  void OpenFile(User& user, uint64_t number);
  void ReadFile(User& user, uint64_t number);
  void ListFolder(User& user, uint64_t number);
  void WriteSomething(const Step& step);
  void ExpectAllIsSeen();
  void ExpectFile(const std::string& path);
  void ExpectFolder(const std::string& path, const Files& files);

  // The source and the list of its states change together.
  void Change(const std::function<void()>& change);
  void Put(const std::string& path, const std::string& text);
  void Remove(const std::string& path);
  void WriteArray(const std::string& array, uint64_t size);
  void RemoveArray(const std::string& array);
  std::string NewChunk();

  // The number of the oldest state that may be seen now.
  size_t OldestState() const;
  // Whether one of these states has no array at `path`.
  bool WasRemoved(size_t begin, const std::string& path) const;
  // Whether one of the states from `begin` until now is as it was seen.
  void ExpectState(size_t begin, const std::string& what,
                   const std::function<bool(const Files&)>& test);
  // A folder is listed while entries come and go: each that stays is shown, and none that was
  // never there. If one comes and then another one goes, a listing may show neither, because it
  // looks at each entry after it has read the names.
  void ExpectEntries(size_t begin, const std::string& what, const std::string& path,
                     const Names& names);
  void ExpectBudget();
  void Fail(std::string what);

  // As the kernel does: one request for each part of the path.
  model::Result<fs::TreeNodePtr> Find(User& user, const std::string& path);
  model::Result<Names> List(User& user, const std::string& path);
  // Runs a request of the user.
  template <typename Request>
  auto Ask(User& user, const Request& request);

  const WorldOptions options_;
  mutable model::Mutex mutex_;
  uint64_t last_chunk_ = 0;
  Seen seen_;
  std::vector<State> states_;
  std::unique_ptr<WorldSource> source_;
  std::optional<fs::MountContext> context_;
  std::array<User, kUsers + 1> users_;  // the last one looks at the end
};

}  // namespace ndlfs::test
