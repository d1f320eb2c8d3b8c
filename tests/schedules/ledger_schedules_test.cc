// SPDX-License-Identifier: MIT
//
// Whatever the order: what readers have read without an error, while a program wrote all files
// again, is of one version; or the ledger says that something has changed.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/chunk_ledger.h"
#include "model/mutex.h"
#include "tests/schedules/run_together.h"
#include "tests/schedules/scheduler.h"
#include "tests/support/memory_store.h"

namespace ndlfs::cache {
namespace {

const std::vector<std::string> kKeys = {"0", "1", "2"};

class Readers {
 public:
  void Write(const std::string& contents) {
    for (const std::string& key : kKeys) store_->Put(key, contents);
  }
  // As LoadChunk() does.
  void Read(const std::string& key) {
    const auto expected = ledger_.Expect(store_, key);
    const auto read = store_->Get(key, 100, {.if_match = expected.version});
    if (!read) return;  // it has changed
    const auto found = *read ? std::optional((*read)->info) : std::nullopt;
    if (!ledger_.NoteRead(store_, key, found, expected.looks)) return;
    const auto bytes = (*read)->bytes.span();
    const model::MutexLock lock(mutex_);
    read_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  bool HasOneVersion() const {
    for (const std::string& contents : read_) {
      if (contents != read_.front()) return false;
    }
    return true;
  }
  ChunkLedger& ledger() { return ledger_; }

 private:
  const std::shared_ptr<test::MemoryStore> store_ = std::make_shared<test::MemoryStore>();
  ChunkLedger ledger_;
  model::Mutex mutex_;
  std::vector<std::string> read_;
};

TEST(LedgerSchedulesTest, TellsWhetherAllThatWasReadBelongsTogether) {
  unsigned changes = 0;
  test::ForRandomSchedules(1000, [&] {
    Readers readers;
    readers.Write("old");
    const auto read_all = [&] {
      for (const std::string& key : kKeys) readers.Read(key);
    };
    test::RunTogether({read_all, read_all, [&] { readers.Write("new"); }});
    const bool has_changed = readers.ledger().Changed();
    EXPECT_TRUE(has_changed || readers.HasOneVersion());
    if (has_changed) ++changes;
  });
  EXPECT_GT(changes, 0u);
}

}  // namespace
}  // namespace ndlfs::cache
