// SPDX-License-Identifier: MIT
//
// Whatever the order: readers get the bytes of the array while chunks are loaded ahead of them,
// and streams, the threads that load ahead, and the cache end.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cache/prefetcher.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"
#include "tests/support/chunk_source.h"

namespace ndlfs::cache {
namespace {

constexpr uint64_t kChunk = 8192;  // bytes: large enough to be loaded ahead
constexpr uint64_t kChunks = 8;

char LetterOf(uint64_t chunk) { return static_cast<char>('a' + chunk); }

std::shared_ptr<test::TestSource> MakeSource() {
  auto source = std::make_shared<test::TestSource>(
      model::Datatype::Integer(1, false),
      backends::ChunkGrid::Regular({kChunks * kChunk}, {kChunk},
                                   backends::ChunkGrid::Edge::kFull)
          .value());
  for (uint64_t chunk = 0; chunk < kChunks; ++chunk) {
    source->store_->Put("c" + std::to_string(chunk), std::string(kChunk, LetterOf(chunk)));
  }
  return source;
}

// Reads chunk after chunk, as a program reads a file.
void ReadOnward(Prefetcher& prefetcher, const std::shared_ptr<const ArrayReader>& reader,
                uint64_t from, uint64_t end) {
  ReadStream stream(prefetcher, reader);
  for (uint64_t chunk = from; chunk < end; ++chunk) {
    const ReadHint hint = stream.OnRead(chunk * kChunk, kChunk);
    std::string bytes(kChunk, '?');
    const auto read = reader->Read(
        chunk * kChunk, backends::ByteSpan(reinterpret_cast<std::byte*>(bytes.data()), kChunk),
        model::ByteOrder::kLittle, hint);
    EXPECT_TRUE(read) << read.error().message();
    EXPECT_EQ(bytes, std::string(kChunk, LetterOf(chunk)));
  }
}

TEST(PrefetcherSchedulesTest, ReadersGoOnwardAndEnd) {
  test::ForRandomSchedules(300, [] {
    ChunkCache cache(4 * kChunk, nullptr, {.decoders = 2, .fetches = 4});
    Prefetcher prefetcher(cache, 2);
    const auto reader = std::make_shared<const ArrayReader>(MakeSource(), cache);
    test::RunTogether({[&] { ReadOnward(prefetcher, reader, 0, kChunks); },
                       [&] { ReadOnward(prefetcher, reader, 3, kChunks - 1); }});
    EXPECT_LE(cache.stats().used_bytes, cache.stats().budget_bytes);
  });
}

TEST(PrefetcherSchedulesTest, FetchesFromAServerAndEnds) {
  test::ForRandomSchedules(300, [] {
    ChunkCache cache(6 * kChunk, nullptr,
                     {.decoders = 1, .fetches = 3, .is_remote = true, .received = [] {
                        return uint64_t{0};
                      }});
    Prefetcher prefetcher(cache, 1);
    const auto reader = std::make_shared<const ArrayReader>(MakeSource(), cache);
    ReadOnward(prefetcher, reader, 0, kChunks);
  });
}

TEST(PrefetcherSchedulesTest, ReadersJumpAndLeaveAtOnce) {
  test::ForRandomSchedules(300, [] {
    ChunkCache cache(3 * kChunk, nullptr, {.decoders = 1, .fetches = 2});
    Prefetcher prefetcher(cache, 1);
    const auto reader = std::make_shared<const ArrayReader>(MakeSource(), cache);
    test::RunTogether({[&] { ReadOnward(prefetcher, reader, 0, 2); },
                       [&] { ReadOnward(prefetcher, reader, 5, 7); },
                       [&] {
                         ReadStream stream(prefetcher, reader);
                         for (const uint64_t chunk : {6, 1, 4}) {
                           stream.OnRead(chunk * kChunk, kChunk);
                           stream.Expect(chunk * kChunk);
                         }
                       }});
  });
}

}  // namespace
}  // namespace ndlfs::cache
