// SPDX-License-Identifier: MIT
//
// A world in one process: a source that a program writes again and again, and that fails now
// and then; the tree of a mount; and users who look, open, read and list. Whatever the order,
// all that is read from an open file, if nothing fails, is what the source held at one moment
// between the time of the open and that of the read (close-to-open), and each listing likewise;
// the chunk cache stays within its budget; and when all is quiet, everybody sees what is there.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/store/caller.h"
#include "backends/store/request_context.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store/document.h"
#include "model/mutex.h"
#include "model/path_name.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"
#include "tests/support/memory_source.h"

namespace ndlfs::fs {
namespace {

using backends::RequestContext;
using model::MutexLock;
using model::Result;
using std::chrono::seconds;
using Files = std::map<std::string, std::string>;

constexpr uint64_t kChunk = 4;
constexpr uint64_t kBudget = 64;  // of the chunk cache: not all chunks have room

std::string ArrayMetadata(uint64_t size) {
  return R"({"zarr_format": 2, "shape": [)" + std::to_string(size) +
         R"(], "chunks": [4], "dtype": "|u1", "compressor": null, "filters": null,)"
         R"( "order": "C", "fill_value": 46})";  // '.'
}

// The elements of `array` in a state of the source; nullopt if there is no such array.
std::optional<std::string> ElementsIn(const Files& files, const std::string& array) {
  const auto metadata = files.find("s.zarr/" + array + "/.zarray");
  if (metadata == files.end()) return std::nullopt;
  const size_t begin = metadata->second.find('[') + 1;
  const uint64_t size = std::strtoull(metadata->second.c_str() + begin, nullptr, 10);
  std::string elements;
  for (uint64_t at = 0; at < size; at += kChunk) {
    const auto chunk = files.find("s.zarr/" + array + "/" + std::to_string(at / kChunk));
    elements += chunk == files.end() ? std::string(kChunk, '.') : chunk->second;
  }
  return elements.substr(0, size);
}

std::set<std::string> ArraysIn(const Files& files) {
  std::set<std::string> names;
  for (const auto& [path, text] : files) {
    if (path.ends_with("/.zarray")) names.insert(path.substr(7, path.size() - 7 - 8));
  }
  return names;
}

class World {
 public:
  // Faults come once in `calm` answers; 0: never.
  World(std::chrono::nanoseconds revalidate, uint64_t calm)
      : random_(test::ScheduleNumber()), calm_(calm) {
    source_->UseClock();
    source_->set_fault([this] { return Fault(); });
    Put("s.zarr/.zgroup", R"({"zarr_format": 2})");
    WriteArray("a", 8);
    WriteArray("b", 4);
    context_.emplace(source_, kBudget, cache::LoadPace::Limits{.decoders = 1},
                     Freshness(revalidate), backends::OpenOptions{}, &WriteDocument1,
                     [](std::string_view) {});
  }

  // What a program does to an array: writes it again from its beginning, with another shape or
  // not, removes it, or changes one chunk.
  void WriteSomething() {
    const std::string array = Draw(3) == 0 ? "b" : "a";
    switch (Draw(5)) {
      case 0:
        Remove(array);
        return WriteArray(array, 4 * (1 + Draw(4)));
      case 1:
        return WriteArray(array, 8);
      case 2:
        return Remove(array);
      case 3:
        return WriteArray("c", 4);
      default:
        return Put("s.zarr/" + array + "/" + std::to_string(Draw(2)), NewChunk());
    }
  }

  // Opens a view and reads it in pieces.
  void ReadSomething() {
    const std::string array = Draw(3) == 0 ? "b" : "a";
    const size_t begin = Now();
    const auto file = Open("s.zarr/" + array + "/data.raw");
    if (!file) return;
    std::string read;
    for (;;) {
      std::string piece(1 + Draw(8), '?');
      const RequestContext::Scope request(RequestContext{});
      const auto count =
          file->handle->Read(read.size(), std::as_writable_bytes(std::span(piece)));
      if (!count) return;
      read += piece.substr(0, *count);
      if (*count < piece.size()) break;
    }
    CheckBudget();
    ExpectState(begin, "elements " + read,
                [&](const Files& files) { return ElementsIn(files, array) == read; });
  }
  void ListSomething() {
    const size_t begin = Now();
    const auto names = List();
    // Where the source fails, a listing has folders whose files could not be looked at.
    if (!names || calm_ != 0) return;
    std::string text = "names";
    for (const std::string& name : *names) text += " " + name;
    ExpectState(begin, text, [&](const Files& files) { return ArraysIn(files) == *names; });
  }
  // Time passes.
  void Wait() { std::this_thread::sleep_for(std::chrono::milliseconds(Draw(3000))); }
  uint64_t Draw(uint64_t end) {
    const MutexLock lock(mutex_);
    return random_() % end;
  }

  // Nobody writes, and nothing fails any more.
  void ExpectAllIsSeen() {
    calm_ = 0;
    std::this_thread::sleep_for(seconds(10));
    const Files files = states_.back();
    const auto names = List();
    ASSERT_TRUE(names) << names.error().message();
    EXPECT_EQ(*names, ArraysIn(files));
    for (const std::string& array : ArraysIn(files)) {
      const auto file = Open("s.zarr/" + array + "/data.raw");
      ASSERT_TRUE(file) << file.error().message();
      std::string read(100, '?');
      const auto count = file->handle->Read(0, std::as_writable_bytes(std::span(read)));
      ASSERT_TRUE(count) << count.error().message();
      EXPECT_EQ(read.substr(0, *count), ElementsIn(files, array));
    }
  }

 private:
  static Result<std::string> WriteDocument1(
      const backends::Hierarchy& hierarchy, std::string_view store, std::string_view path,
      const ReaderOf& reader_of, const std::function<void(const model::Error&)>& refused) {
    return WriteDocument(hierarchy, store, path, reader_of, nullptr, refused);
  }

  int Fault() {
    const uint64_t calm = calm_;
    if (calm == 0 || Draw(calm) != 0) return 0;
    const std::array kErrors = {EIO, ETIMEDOUT, EMFILE, ENOMEM};
    return kErrors[Draw(kErrors.size())];
  }

  // The source and the list of its states change together.
  void Put(const std::string& path, const std::string& text) {
    {
      const MutexLock lock(mutex_);
      source_->Put(path, text);
      states_.push_back(source_->files());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
  // Slowly enough for readers: that a chunk is absent is no reason to look at all others each
  // time (ChunkLedger::LookInterval()).
  void Remove(const std::string& array) {
    for (const char* name : {"/.zarray", "/0", "/1", "/2", "/3"}) {
      {
        const MutexLock lock(mutex_);
        source_->Remove("s.zarr/" + array + name);
        states_.push_back(source_->files());
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  void WriteArray(const std::string& array, uint64_t size) {
    Put("s.zarr/" + array + "/.zarray", ArrayMetadata(size));
    const std::string chunk = NewChunk();
    for (uint64_t at = 0; at < size; at += kChunk) {
      Put("s.zarr/" + array + "/" + std::to_string(at / kChunk), chunk);
    }
  }
  std::string NewChunk() {
    const MutexLock lock(mutex_);
    last_letter_ = last_letter_ == 'z' ? 'a' : static_cast<char>(last_letter_ + 1);
    return std::string(kChunk, last_letter_);
  }

  // The number of the present state.
  size_t Now() const {
    const MutexLock lock(mutex_);
    return states_.size() - 1;
  }
  // Whether one of the states from `begin` until now is as it was seen.
  template <typename Test>
  void ExpectState(size_t begin, const std::string& what, const Test& test) const {
    const MutexLock lock(mutex_);
    for (size_t i = begin; i < states_.size(); ++i) {
      if (test(states_[i])) return;
    }
    std::string when;
    for (size_t i = 0; i < begin; ++i) {
      if (test(states_[i])) when = ", but in state " + std::to_string(i);
    }
    ADD_FAILURE() << what << " were never there between states " << begin << " and "
                  << states_.size() - 1 << when;
  }
  void CheckBudget() const { EXPECT_LE(context_->cache.stats().used_bytes, kBudget); }

  // As the kernel does: one request for each part of the path.
  Result<TreeNodePtr> Find(const std::string& path) {
    NDLFS_TRY(TreeNodePtr node, FindSourceNode(*context_, ""));
    const std::string absolute = "/" + path;
    for (const auto part : model::SplitPath(absolute)) {
      const RequestContext::Scope request(RequestContext{});
      NDLFS_TRY(node, node->Lookup(part));
    }
    return node;
  }
  Result<OpenedFile> Open(const std::string& path) {
    NDLFS_TRY(const auto node, Find(path));
    const RequestContext::Scope request(RequestContext{});
    return node->Open();
  }
  // The folders of arrays.
  Result<std::set<std::string>> List() {
    NDLFS_TRY(const auto node, Find("s.zarr"));
    const RequestContext::Scope request(RequestContext{});
    NDLFS_TRY(const auto reader, node->OpenDirectory());
    std::set<std::string> names;
    for (;;) {
      NDLFS_TRY(const auto entry, reader->Next());
      if (!entry) return names;
      if (entry->name == "error.txt") return model::Corrupt("the store cannot be opened");
      if (S_ISDIR(entry->type)) names.insert(entry->name);
    }
  }

  mutable model::Mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<uint64_t> calm_;
  char last_letter_ = '`';
  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::vector<Files> states_ = {{}};
  std::optional<MountContext> context_;
};

// NDLFS_WORLDS of them, for long runs.
unsigned Worlds(unsigned usual) {
  const char* const count = std::getenv("NDLFS_WORLDS");
  return count != nullptr ? static_cast<unsigned>(std::atoi(count)) : usual;
}

void LiveIn(World& world) {
  const auto use = [&world] {
    for (int i = 0; i < 4; ++i) {
      world.Draw(4) == 0 ? world.ListSomething() : world.ReadSomething();
      if (world.Draw(3) == 0) world.Wait();
    }
  };
  test::RunTogether({use, use, use, [&world] {
                       for (int i = 0; i < 5; ++i) {
                         world.WriteSomething();
                         if (world.Draw(2) == 0) world.Wait();
                       }
                     }});
  world.ExpectAllIsSeen();
}

TEST(WorldTest, EveryReadIsOfOneMoment) {
  test::ForRandomSchedules(Worlds(500), [] {
    World world(seconds(0), 0);
    LiveIn(world);
  });
}

TEST(WorldTest, EveryReadIsOfOneMomentWhereTheSourceFails) {
  test::ForRandomSchedules(Worlds(500), [] {
    World world(seconds(0), 20);
    LiveIn(world);
  });
}

}  // namespace
}  // namespace ndlfs::fs
