// SPDX-License-Identifier: MIT
#include "tests/schedules/world_source.h"

#include <array>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "tests/support/memory_source.h"
#if NDLFS_WITH_HTTP
#include "backends/detection.h"
#include "backends/store/block_cache/block_cache.h"
#include "backends/store/block_cache/cached_source.h"
#include "backends/store/s3/s3_source.h"
#include "tests/support/fake_bucket.h"
#include "tests/support/python.h"
#endif

namespace ndlfs::test {
namespace {

class LocalPlace final : public WorldSource {
 public:
  LocalPlace(uint64_t calm, uint64_t seed) : WorldSource(calm, seed) {
    files_->UseClock();
    files_->set_fault([this] {
      if (!BeginAnswer()) return 0;
      const std::array kErrors = {EIO, ETIMEDOUT, EMFILE, ENOMEM};
      return kErrors[Draw(kErrors.size())];
    });
  }
  std::shared_ptr<const backends::Source> source() const override { return files_; }
  void Put(const std::string& path, const std::string& text) override {
    files_->Put(path, text);
  }
  void Remove(const std::string& path) override { files_->Remove(path); }

 private:
  const std::shared_ptr<MemorySource> files_ = MemorySource::Make();
};

#if NDLFS_WITH_HTTP

// A bucket of S3 whose answers take a while, are cut, or are errors.
class BucketPlace final : public WorldSource {
 public:
  BucketPlace(uint64_t calm, uint64_t seed, std::chrono::nanoseconds trust, bool is_cached)
      : WorldSource(calm, seed) {
    bucket_.UseClock();
    bucket_.set_special([this](const FakeTransport::Sent&) -> std::optional<FakeAnswer> {
      if (!BeginAnswer()) return std::nullopt;
      switch (Draw(4)) {
        case 0:
          return FakeBucket::Error(503, "SlowDown");
        case 1:
          return FakeBucket::Error(500, "InternalError");
        case 2:
          return FakeAnswer{.status = 0, .end = {backends::HttpEnd::Kind::kBroken}};
        default:
          is_to_be_cut_ = true;  // or another answer that is under way
          return std::nullopt;
      }
    });
    bucket_.set_spoil([this](FakeAnswer& answer) {
      if (!is_to_be_cut_.exchange(false) || answer.body.empty()) return;
      answer.body.resize(Draw(answer.body.size()));
      if (Draw(2) == 0) answer.end = {backends::HttpEnd::Kind::kBroken};
    });
    source_ = Open(trust);
    if (!is_cached) return;
    directory_.emplace();
    const auto cache = backends::BlockCache::Open({*directory_ / "cache", 256 << 10}).value();
    source_ = backends::MakeCachedSource(source_, cache, {.trust_for = trust});
  }
  std::shared_ptr<const backends::Source> source() const override { return source_; }
  void Put(const std::string& path, const std::string& text) override {
    bucket_.Put(path, text);
  }
  void Remove(const std::string& path) override { bucket_.Remove(path); }

 private:
  std::shared_ptr<const backends::Source> Open(std::chrono::nanoseconds trust) const {
    backends::s3::BucketOptions bucket;
    bucket.endpoint = "http://localhost";
    bucket.signs = false;
    bucket.variable = Variables({{"HOME", "/nonexistent"}});
    const auto first = backends::MarkersAskedFirst();
    const backends::RemoteOptions options = {
        .trusts_looks_for = trust,
        .documents = {"zarr.json", ".zmetadata", ".zgroup", ".zarray", ".zattrs"},
        .first_documents = {first.begin(), first.end()},
        .extension = std::string(backends::kMarkedExtension)};
    return backends::s3::OpenS3Source("s3://bucket", bucket, options, bucket_.client()).value();
  }

  std::optional<TemporaryDirectory> directory_;
  FakeBucket bucket_;
  std::atomic<bool> is_to_be_cut_ = false;
  std::shared_ptr<const backends::Source> source_;
};

#endif

}  // namespace

bool WorldSource::BeginAnswer() {
  if (watch_) watch_();
  if (Draw(4) == 0) std::this_thread::sleep_for(std::chrono::microseconds(Draw(3000)));
  const uint64_t calm = calm_;
  return calm != 0 && Draw(calm) == 0;
}

std::unique_ptr<WorldSource> WorldSource::Make(WorldPlace place, uint64_t calm, uint64_t seed,
                                               std::chrono::nanoseconds trust) {
#if NDLFS_WITH_HTTP
  if (place != WorldPlace::kLocal) {
    return std::make_unique<BucketPlace>(calm, seed, trust,
                                         place == WorldPlace::kBucketWithBlockCache);
  }
#endif
  return std::make_unique<LocalPlace>(calm, seed);
}

}  // namespace ndlfs::test
