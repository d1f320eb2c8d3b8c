// SPDX-License-Identifier: MIT
#include "backends/store/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "backends/store/block_cache/block_cache.h"
#include "backends/store/block_cache/cached_source.h"
#include "backends/store/local/local_source.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"
#include "tests/support/result.h"
#include "tests/support/source_conformance.h"

namespace ndlfs::backends {
namespace {

namespace fs = std::filesystem;
using ::testing::Values;

class LocalTree final : public Tree {
 public:
  LocalTree() {
    fs::create_directory(directory_.path() / "source");
    test::WriteFile(directory_ / "secret", "outside");
    source_ = LocalSource::Open(directory_ / "source").value();
  }
  const Source& source() const override { return *source_; }
  // As another file, so that no clock is too coarse to show the change.
  void Put(const std::string& path, const std::string& text) override {
    const fs::path file = directory_.path() / "source" / path;
    fs::create_directories(file.parent_path());
    test::WriteFile(directory_ / "new", text);
    fs::rename(directory_.path() / "new", file);
  }
  void Remove(const std::string& path) override {
    fs::remove(directory_.path() / "source" / path);
  }
  void Link(const std::string& target, const std::string& path) {
    fs::create_symlink(target, directory_.path() / "source" / path);
  }
  void MakeFifo(const std::string& path) {
    ASSERT_EQ(::mkfifo((directory_.path() / "source" / path).c_str(), 0600), 0);
  }

 private:
  const test::TemporaryDirectory directory_;
  std::shared_ptr<const LocalSource> source_;
};

class MemoryTree final : public Tree {
 public:
  const Source& source() const override { return *source_; }
  void Put(const std::string& path, const std::string& text) override {
    source_->Put(path, text);
  }
  void Remove(const std::string& path) override { source_->Remove(path); }

 private:
  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
};

class CachedTree final : public Tree {
 public:
  const Source& source() const override { return *source_; }
  void Put(const std::string& path, const std::string& text) override {
    files_->Put(path, text);
  }
  void Remove(const std::string& path) override { files_->Remove(path); }

 private:
  const test::TemporaryDirectory directory_;
  const std::shared_ptr<test::MemorySource> files_ = test::MemorySource::Make();
  const std::shared_ptr<const Source> source_ =
      MakeCachedSource(files_, BlockCache::Open({directory_ / "cache"}).value(),
                       {.identity = "memory://1", .trust_for = std::chrono::seconds(0)});
};

INSTANTIATE_TEST_SUITE_P(
    All, SourceConformanceTest,
    Values(SourceKind{"Local",
                      []() -> std::unique_ptr<Tree> { return std::make_unique<LocalTree>(); }},
           SourceKind{"Memory",
                      []() -> std::unique_ptr<Tree> { return std::make_unique<MemoryTree>(); }},
           SourceKind{
               "Cached",
               []() -> std::unique_ptr<Tree> { return std::make_unique<CachedTree>(); }}),
    [](const auto& info) { return info.param.name; });

TEST(LocalSourceTest, FollowsLinksOnlyWhereAsked) {
  LocalTree tree;
  const Source& source = tree.source();
  tree.Put("d/a", "12345");
  tree.Link("d/a", "link");
  tree.Link("nowhere", "broken");
  EXPECT_EQ(source.Stat("link", Follow::kNo).value()->kind, FileKind::kSymlink);
  EXPECT_EQ(source.Stat("link", Follow::kYes).value()->kind, FileKind::kFile);
  EXPECT_EQ(source.Stat("broken", Follow::kNo).value()->kind, FileKind::kSymlink);
  EXPECT_THAT(source.Stat("broken", Follow::kYes), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_TRUE(source.IsFile("link"));
  EXPECT_THAT(source.ReadLink("link"), test::IsOkAnd(Eq("d/a")));
  EXPECT_EQ(ReadText(*source.OpenStore(""), "link"), "12345");
}

TEST(LocalSourceTest, ListsLinksAsLinks) {
  LocalTree tree;
  tree.Link("nowhere", "broken");
  const auto listing = tree.source().List("").value();
  EXPECT_EQ(listing->Next().value()->kind, FileKind::kSymlink);
  EXPECT_EQ(listing->StatEntry().value()->kind, FileKind::kSymlink);
}

TEST(LocalSourceTest, LinksThatLeadOutAreErrors) {
  LocalTree tree;
  tree.Link("../secret", "out");
  EXPECT_THAT(tree.source().Stat("out", Follow::kYes), test::IsErrno(EXDEV));
  EXPECT_THAT(tree.source().OpenFile("out")->Size(""), test::IsErrno(EXDEV));
  EXPECT_FALSE(tree.source().IsFile("out"));
}

TEST(LocalSourceTest, FifosAreNeitherOpenedNorWaitedFor) {
  LocalTree tree;
  tree.MakeFifo("fifo");
  EXPECT_EQ(tree.source().Stat("fifo", Follow::kYes).value()->kind, FileKind::kFifo);
  EXPECT_FALSE(tree.source().IsFile("fifo"));
  EXPECT_THAT(tree.source().OpenFile("fifo")->Size(""), test::IsErrno(ENXIO));
}

TEST(LocalSourceTest, PathThatBeginsLikeTheTopIsOutside) {
  LocalTree tree;
  const std::string beside = tree.source().name() + "x/b.bin";
  EXPECT_EQ(tree.source().Resolve("a.h5", beside), std::nullopt);
}

TEST(LocalSourceTest, HasARootAndOthersHaveNone) {
  LocalTree local;
  MemoryTree memory;
  EXPECT_NE(LocalRootOf(local.source()), nullptr);
  EXPECT_EQ(LocalRootOf(memory.source()), nullptr);
}

}  // namespace
}  // namespace ndlfs::backends
