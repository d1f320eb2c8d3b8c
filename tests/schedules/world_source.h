// SPDX-License-Identifier: MIT
//
// The sources of worlds: files in memory, as on this machine or in a bucket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "backends/store/source.h"
#include "model/mutex.h"

namespace ndlfs::test {

enum class WorldPlace : uint8_t {
  kLocal,
  kBucket,
  kBucketWithBlockCache,
};

class WorldSource {
 public:
  // `calm` as in WorldOptions. `trust`: how long answers of a bucket are trusted.
  static std::unique_ptr<WorldSource> Make(WorldPlace place, uint64_t calm, uint64_t seed,
                                           std::chrono::nanoseconds trust);
  virtual ~WorldSource() = default;

  virtual std::shared_ptr<const backends::Source> source() const = 0;
  virtual void Put(const std::string& path, const std::string& text) = 0;
  virtual void Remove(const std::string& path) = 0;

  // Called before each answer.
  void set_watch(std::function<void()> watch) { watch_ = std::move(watch); }
  // Nothing fails any more.
  void CalmDown() { calm_ = 0; }

 protected:
  WorldSource(uint64_t calm, uint64_t seed) : random_(seed), calm_(calm) {}

  uint64_t Draw(uint64_t end) {
    const model::MutexLock lock(mutex_);
    return random_() % end;
  }
  // Takes the time of an answer; returns whether it fails.
  bool BeginAnswer();

 private:
  model::Mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<uint64_t> calm_;
  std::function<void()> watch_;
};

}  // namespace ndlfs::test
