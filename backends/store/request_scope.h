// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ndlfs::backends {

// Remembers what the calling thread has found out for one request, such as the metadata files
// of a folder, so that no request looks twice. The memory ends with the scope, so the next
// request looks again. Without a scope nothing is remembered. An inner scope has a memory of
// its own.
class RequestScope {
 public:
  RequestScope();
  ~RequestScope();
  RequestScope(const RequestScope&) = delete;
  RequestScope& operator=(const RequestScope&) = delete;

  // The innermost scope of the calling thread; null if it has none.
  static RequestScope* Current();
  // Clears the innermost scope of the calling thread, so that the next look is newer
  // than the request. From then on its looks_anew() is true.
  static void ForgetAll();
  // Whether looks for this request must not use results of earlier requests.
  bool looks_anew() const { return anew_since_.has_value(); }
  // Whether this request may use an answer from the time `when`.
  bool Takes(std::chrono::steady_clock::time_point when) const {
    return !anew_since_ || when >= *anew_since_;
  }

  // The object that `owner` (a NewId()) has kept under `key`; null if there is none.
  template <typename T>
  std::shared_ptr<const T> Find(uint64_t owner, std::string_view key) const {
    const auto found = kept_.find({owner, std::string(key)});
    return found == kept_.end() ? nullptr : std::static_pointer_cast<const T>(found->second);
  }
  void Keep(uint64_t owner, std::string_view key, std::shared_ptr<const void> found);

  // The most objects in a scope. It forgets all of them when there are more, because a listing
  // may look at very many folders.
  static constexpr size_t kMost = 256;

 private:
  std::map<std::pair<uint64_t, std::string>, std::shared_ptr<const void>> kept_;
  std::optional<std::chrono::steady_clock::time_point> anew_since_;
  RequestScope* const outer_;
};

}  // namespace ndlfs::backends
