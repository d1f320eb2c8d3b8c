// SPDX-License-Identifier: MIT
//
// Whatever the order, whatever fails, and whatever goes meanwhile: a reader gets the bytes of
// one version that was there since it began, or an error; the blocks stay within the capacity;
// and nobody waits for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/store/block_cache/block_cache.h"
#include "backends/store/block_cache/cached_source.h"
#include "backends/store/cancellation.h"
#include "model/mutex.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"
#if NDLFS_WITH_HTTP
#include "backends/store/s3/s3_source.h"
#include "tests/support/fake_bucket.h"
#endif

namespace ndlfs::backends {
namespace {

namespace fs = std::filesystem;
using model::MutexLock;
using std::chrono::milliseconds;

constexpr uint64_t kFile = 4096;  // what a small file takes on most disks

// A value that has been there from the begin of a Put() on. Where one Put() ends before the
// next one begins, readers that begin later see the later one, or none.
class Written {
 public:
  uint64_t Begin(const std::string& key, const std::string& value) {
    const MutexLock lock(mutex_);
    puts_[key].push_back({value, ++clock_, 0});
    return puts_[key].size() - 1;
  }
  void End(const std::string& key, uint64_t put) {
    const MutexLock lock(mutex_);
    puts_[key][put].end = ++clock_;
  }
  uint64_t Now() {
    const MutexLock lock(mutex_);
    return ++clock_;
  }
  // Whether a read that began at `begin` may have found `value`.
  bool MayBe(const std::string& key, const std::string& value, uint64_t begin) {
    const MutexLock lock(mutex_);
    const auto& puts = puts_[key];
    return std::any_of(puts.begin(), puts.end(), [&](const Put& put) {
      if (put.value != value) return false;
      return std::none_of(puts.begin(), puts.end(), [&](const Put& later) {
        return put.end != 0 && put.end < later.begin && later.end != 0 && later.end < begin;
      });
    });
  }

 private:
  struct Put {
    std::string value;
    uint64_t begin;
    uint64_t end;  // 0: it is under way
  };
  model::Mutex mutex_;
  uint64_t clock_ = 0;
  std::map<std::string, std::vector<Put>> puts_;
};

// Two processes that share a directory, and what they have written.
class Directory {
 public:
  explicit Directory(uint64_t capacity) : capacity_(capacity) {
    for (auto& cache : caches_) {
      cache =
          BlockCache::Open({top_ / "cache", capacity, [this](std::string_view) { ++warnings; }})
              .value();
    }
  }
  void Put(size_t process, const std::string& key, const std::string& value) {
    const uint64_t put = written_.Begin(key, value);
    caches_[process]->Put(key, AsBytes(value));
    written_.End(key, put);
  }
  void Get(size_t process, const std::string& key) {
    const uint64_t begin = written_.Now();
    const auto block = caches_[process]->Get(key, size_t{1} << 20);
    if (!block) return;
    const std::string value(AsText(block->span()));
    EXPECT_TRUE(written_.MayBe(key, value, begin)) << key << ": " << value;
    ++hits;
  }
  // Also that nothing is left of what nobody has completed.
  void ExpectWithinCapacity(uint64_t processes) {
    // What was written while somebody counted is noticed by the next one.
    for (size_t process = 0; process < caches_.size(); ++process) Put(process, "last", "x");
    uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(top_ / "cache")) {
      if (!entry.is_regular_file() || entry.path().filename() == "lock") continue;
      bytes += std::max<uint64_t>(entry.file_size(), kFile);
      EXPECT_FALSE(entry.path().filename().string().starts_with("new."));
      EXPECT_FALSE(entry.path().filename().string().starts_with("room."));
    }
    EXPECT_LE(bytes, capacity_ + processes * (capacity_ / 8 + kFile));
  }
  BlockCache& cache(size_t process) { return *caches_[process]; }

  std::atomic<int> hits{0};
  std::atomic<int> warnings{0};

 private:
  const uint64_t capacity_;
  const test::TemporaryDirectory top_;
  std::array<std::shared_ptr<BlockCache>, 2> caches_;
  Written written_;
};

TEST(BlockCacheSchedulesTest, ReadersFindWhatWasWrittenLast) {
  int hits = 0;
  test::ForRandomSchedules(150, [&] {
    Directory directory(16 * kFile);
    std::atomic<int> last = 0;
    const auto use = [&](size_t process, uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 8; ++i) {
        const std::string key = fmt::format("key {}", random() % 3);
        if (random() % 2 == 0) {
          directory.Put(process, key, fmt::format("{} of {}", key, ++last));
        } else {
          directory.Get(process, key);
        }
      }
    };
    test::RunTogether({[&] { use(0, 1); }, [&] { use(0, 2); }, [&] { use(1, 3); }});
    directory.ExpectWithinCapacity(2);
    EXPECT_EQ(directory.cache(0).stats().damaged, 0u);
    EXPECT_EQ(directory.cache(1).stats().damaged, 0u);
    EXPECT_EQ(directory.warnings, 0);
    hits += directory.hits;
  });
  EXPECT_GT(hits, 0);
}

TEST(BlockCacheSchedulesTest, OneWritesAndOneReadsInEverySmallSchedule) {
  const uint64_t count = test::ForAllSchedules(2, 20'000, [] {
    static Directory* const directory = new Directory(16 * kFile);  // counted once
    directory->Put(0, "key", "old");
    test::RunTogether({[&] { directory->Put(0, "key", "new"); },
                       [&] {
                         directory->Get(0, "key");
                         directory->Get(0, "key");
                       }});
  });
  EXPECT_LT(count, 20'000u) << "not all of them";
}

TEST(BlockCacheSchedulesTest, OldOnesGoWhileTheyAreReadAndWritten) {
  test::ForRandomSchedules(60, [] {
    Directory directory(8 * kFile);
    const auto use = [&](size_t process, uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 12; ++i) {
        const std::string key = fmt::format("key {}", random() % 30);
        directory.Get(process, key);
        directory.Put(process, key, key);
      }
    };
    test::RunTogether({[&] { use(0, 1); }, [&] { use(0, 2); }, [&] { use(1, 3); }});
    directory.ExpectWithinCapacity(2);
  });
}

// Whoever asks for room gets it, or not; what has got room fits.
TEST(BlockCacheSchedulesTest, FilesThatAreBeingWrittenShareTheRoom) {
  int kept = 0;
  int refused = 0;
  test::ForRandomSchedules(60, [&] {
    constexpr uint64_t kSize = 3 * kFile;
    constexpr uint64_t kCapacity = 8 * kFile;
    constexpr uint64_t kIncomplete = 2 * kCapacity / 8;  // each process has an eighth more
    Directory directory(kCapacity);
    std::atomic<uint64_t> room = 0;
    std::atomic<int> now_kept = 0;
    std::atomic<int> now_refused = 0;
    const auto write = [&](size_t process, const std::string& key) {
      for (int i = 0; i < 2; ++i) {
        BlockCache& cache = directory.cache(process);
        auto file = cache.MakeFile(kSize);
        if (!file || !cache.TakeRoom(*file, kSize)) {
          ++now_refused;
          continue;
        }
        EXPECT_LE(room += kSize, kCapacity + kIncomplete);
        test::SchedulePoint();
        EXPECT_EQ(::write(file->get(), key.data(), key.size()),
                  static_cast<ssize_t>(key.size()));
        if (cache.KeepFile(key, *file)) ++now_kept;
        room -= kSize;
        file.reset();
        const UniqueFd found = directory.cache(process).FindFile(key);
        std::string text(key.size(), '?');
        if (found) {
          EXPECT_EQ(::pread(found.get(), text.data(), text.size(), 0),
                    static_cast<ssize_t>(text.size()));
          EXPECT_EQ(text, key);
        }
      }
    };
    test::RunTogether({[&] { write(0, "a"); }, [&] { write(0, "b"); }, [&] { write(1, "c"); },
                       [&] { directory.Put(0, "block", "small"); }});
    directory.ExpectWithinCapacity(2);
    kept += now_kept;
    refused += now_refused;
  });
  EXPECT_GT(kept, 0);
  EXPECT_GT(refused, 0);
}

// The versions of one file, each of which consists of its own letter.
class Versions {
 public:
  explicit Versions(std::function<void(const std::string&)> put) : put_(std::move(put)) {}
  void Write(size_t size) {
    const MutexLock lock(mutex_);
    const auto letter = static_cast<char>('a' + texts_.size());
    texts_.emplace_back(size, letter);
    put_(texts_.back());
  }
  size_t Now() {
    const MutexLock lock(mutex_);
    return texts_.size() - 1;
  }
  // Whether these are bytes of one version since `begin`; `size` is that of the whole version.
  bool HasPart(size_t begin, uint64_t offset, uint64_t length, std::string_view part,
               uint64_t size) {
    const MutexLock lock(mutex_);
    for (size_t i = begin; i < texts_.size(); ++i) {
      const std::string& text = texts_[i];
      const uint64_t from = std::min<uint64_t>(offset, text.size());
      if (text.size() == size && std::string_view(text).substr(from, length) == part) {
        return true;
      }
    }
    return false;
  }

 private:
  const std::function<void(const std::string&)> put_;
  model::Mutex mutex_;
  std::vector<std::string> texts_;
};

// Reads parts of the file by three threads, while one writes it again and again.
class Readers {
 public:
  Readers(std::shared_ptr<const Source> source, Versions& versions, uint64_t block)
      : source_(std::move(source)), versions_(versions), block_(block) {}

  void Run(size_t size) {
    const auto read = [this](uint64_t seed) {
      std::mt19937_64 random(test::ScheduleNumber() * 8 + seed);
      for (int i = 0; i < 3; ++i) {
        OpenedFile file(*this);
        for (int j = 0; j < 2; ++j) {
          const uint64_t lengths[] = {ByteRange::kToEnd, block_, 100, 100};
          Read(file, random() % (block_ + 10), lengths[random() % 4]);
          if (random() % 4 == 0) std::this_thread::sleep_for(milliseconds(random() % 5000));
        }
      }
    };
    const auto request = std::make_shared<Cancellation>();
    test::RunTogether({[&] { read(1); }, [&] { read(2); },
                       [&] {
                         const CancellationScope scope(request);
                         read(3);
                       },
                       [&] {
                         std::this_thread::sleep_for(milliseconds(4000));
                         versions_.Write(size + 5);
                         request->Cancel();
                         std::this_thread::sleep_for(milliseconds(4000));
                         versions_.Write(size);
                       }});
    // When nothing fails any more, all is read.
    goes_well_ = true;
    const int before = reads;
    OpenedFile file(*this);
    Read(file, 0, ByteRange::kToEnd);
    EXPECT_EQ(reads, before + 1);
  }
  bool goes_well() const { return goes_well_; }

  std::atomic<int> reads{0};

 private:
  // All reads of it are of one version, which was there since it was opened.
  struct OpenedFile {
    explicit OpenedFile(const Readers& readers)
        : begin(readers.versions_.Now()), store(readers.source_->OpenFile("file")) {}
    const size_t begin;
    const std::shared_ptr<const Store> store;
    std::optional<Generation> version;
  };

  void Read(OpenedFile& file, uint64_t offset, uint64_t length) {
    const auto value = file.store->Get("", 4 * block_, {.range = {offset, length}});
    if (!value) {
      EXPECT_NE(value.error().code(), model::ErrorCode::kInternal) << value.error().message();
      return;
    }
    ASSERT_TRUE(*value);
    const ValueInfo& info = (*value)->info;
    if (!file.version) file.version = info.generation;
    EXPECT_EQ(*file.version, info.generation);
    const std::string_view part = AsText((*value)->bytes.span());
    EXPECT_TRUE(versions_.HasPart(file.begin, offset, length, part, info.size))
        << part.size() << " bytes from " << offset << ", " << part.substr(0, 1);
    ++reads;
  }

  const std::shared_ptr<const Source> source_;
  Versions& versions_;
  const uint64_t block_;
  std::atomic<bool> goes_well_ = false;
};

TEST(CachedSourceSchedulesTest, OverlappingRangesOfAFileThatChangesAndFails) {
  static constexpr uint64_t kBlock = 512 << 10;
  test::ForRandomSchedules(60, [] {
    const auto files = test::MemorySource::Make();
    files->UseClock();
    Versions versions([&](const std::string& text) { files->Put("file", text); });
    versions.Write(kBlock + 100);
    const test::TemporaryDirectory top;
    const auto cache = BlockCache::Open({top / "cache", 6 * kBlock}).value();
    Readers readers(MakeCachedSource(files, cache, {.trust_for = std::chrono::seconds(0)}),
                    versions, kBlock);
    std::atomic<int> answers = 0;
    files->set_fault([&] {
      const bool fails = !readers.goes_well() && ++answers % 5 == 0;
      test::SchedulePoint();
      return fails ? EIO : 0;
    });
    readers.Run(kBlock + 100);
    EXPECT_EQ(cache->stats().damaged, 0u);
  });
}

#if NDLFS_WITH_HTTP

// What is under way to a bucket.
class UnderWay {
 public:
  // A second request for the same bytes of a version at the same time is wrong.
  void Begin(const std::string& what) {
    const MutexLock lock(mutex_);
    EXPECT_TRUE(requests_.insert(what).second) << what;
  }
  void End(const std::string& what) {
    const MutexLock lock(mutex_);
    requests_.erase(what);
  }

 private:
  model::Mutex mutex_;
  std::set<std::string> requests_;
};

// Short reads of a file in a bucket share blocks in memory, and wait for each other.
TEST(RemoteBlocksSchedulesTest, ABlockIsFetchedOnceAtATime) {
  static constexpr uint64_t kBlock = 128 << 10;
  test::ForRandomSchedules(100, [] {
    test::FakeBucket bucket;
    bucket.UseClock();
    Versions versions([&](const std::string& text) { bucket.Put("file", text); });
    versions.Write(kBlock + 100);
    s3::BucketOptions options;
    options.endpoint = "http://localhost";
    options.signs = false;
    options.variable = test::Variables({{"HOME", "/nonexistent"}});
    const auto source =
        s3::OpenS3Source("s3://bucket", options, {.trusts_looks_for = std::chrono::seconds(0)},
                         bucket.client())
            .value();
    Readers readers(source, versions, kBlock);
    UnderWay under_way;
    std::atomic<int> answers = 0;
    bucket.set_special(
        [&](const test::FakeTransport::Sent& sent) -> std::optional<test::FakeAnswer> {
          const std::string range = sent.Find("Range");
          const std::string version = sent.Find("If-Match");
          const bool is_block = range == fmt::format("bytes={}-{}", kBlock, 2 * kBlock - 1);
          const std::string what = fmt::format("{} of {}", range, version);
          if (is_block && !version.empty()) under_way.Begin(what);
          std::this_thread::sleep_for(milliseconds(1));
          if (is_block && !version.empty()) under_way.End(what);
          if (readers.goes_well() || ++answers % 5 != 0) return std::nullopt;
          return test::FakeBucket::Error(503, "SlowDown");
        });
    std::atomic<int> cuts = 0;
    bucket.set_spoil([&](test::FakeAnswer& answer) {
      if (readers.goes_well() || ++cuts % 7 != 0) return;
      answer.body.resize(answer.body.size() / 2);
    });
    readers.Run(kBlock + 100);
  });
}

#endif

}  // namespace
}  // namespace ndlfs::backends
