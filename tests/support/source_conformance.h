// SPDX-License-Identifier: MIT
//
// What every Source promises, asked of each kind of source. A test file that includes this
// instantiates SourceConformanceTest with its kinds.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/source.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::Eq;
using ::testing::Field;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

// A source whose files a test can change.
class Tree {
 public:
  virtual ~Tree() = default;
  virtual const Source& source() const = 0;
  virtual void Put(const std::string& path, const std::string& text) = 0;
  virtual void Remove(const std::string& path) = 0;
};

struct SourceKind {
  std::string name;
  std::unique_ptr<Tree> (*make)();
};
void PrintTo(const SourceKind& kind, std::ostream* out) { *out << kind.name; }

std::string ReadText(const Store& store, std::string_view key, uint64_t offset = 0) {
  const auto bytes = store.Read(key, 1 << 20, {offset, ByteRange::kToEnd});
  if (!bytes) return "error: " + bytes.error().message();
  return *bytes ? std::string(AsText((*bytes)->span())) : "absent";
}

std::vector<std::string> NamesIn(const Source& source, std::string_view path) {
  const auto listing = source.List(path);
  if (!listing) return {"error: " + listing.error().message()};
  std::vector<std::string> names;
  for (;;) {
    const auto entry = (*listing)->Next();
    if (!entry) return {"error: " + entry.error().message()};
    if (*entry == nullptr) return names;
    names.emplace_back((*entry)->name);
  }
}

class SourceConformanceTest : public ::testing::TestWithParam<SourceKind> {
 protected:
  FileStatus StatusOf(std::string_view path) const {
    return source().Stat(path, Follow::kNo).value().value();
  }
  bool IsNothing(std::string_view path) const {
    const auto status = source().Stat(path, Follow::kYes);
    return status && !*status;
  }
  std::string Resolved(std::string_view file_path, std::string_view name) const {
    return source().Resolve(file_path, name).value_or("outside");
  }
  const Source& source() const { return tree_->source(); }

  const std::unique_ptr<Tree> tree_ = GetParam().make();
};

TEST_P(SourceConformanceTest, TellsFilesFromDirectoriesAndFromNothing) {
  tree_->Put("a/b.txt", "12345");
  EXPECT_EQ(StatusOf("").kind, FileKind::kDirectory);
  EXPECT_EQ(StatusOf("a").kind, FileKind::kDirectory);
  const FileStatus file = StatusOf("a/b.txt");
  EXPECT_EQ(file.kind, FileKind::kFile);
  EXPECT_EQ(file.size, 5u);
  EXPECT_NE(file.mtime_ns, 0);
  EXPECT_EQ(file.mode & 0400, 0400u);
  EXPECT_TRUE(IsNothing("none"));
  EXPECT_TRUE(IsNothing("none/b.txt"));
  EXPECT_TRUE(IsNothing("a/b.txt/c"));
  EXPECT_TRUE(source().IsFile("a/b.txt"));
  EXPECT_FALSE(source().IsFile("a"));
  EXPECT_FALSE(source().IsFile("none"));
}

TEST_P(SourceConformanceTest, VersionIsThatOfTheContents) {
  tree_->Put("a", "12345");
  tree_->Put("b", "12345");
  const FileStatus before = StatusOf("a");
  EXPECT_EQ(before.version, StatusOf("a").version);
  EXPECT_EQ(before.id, StatusOf("a").id);
  EXPECT_NE(before.id, StatusOf("b").id);
  tree_->Put("a", "54321");
  EXPECT_NE(before.version, StatusOf("a").version);
}

TEST_P(SourceConformanceTest, VersionIsTheOneThatStoresTell) {
  tree_->Put("d/a", "12345");
  const Generation version = StatusOf("d/a").version;
  EXPECT_THAT(source().OpenFile("d/a")->Stat(""),
              test::IsOkAnd(Optional(Field(&ValueInfo::generation, version))));
  EXPECT_THAT(source().OpenStore("d")->Stat("a"),
              test::IsOkAnd(Optional(Field(&ValueInfo::generation, version))));
}

TEST_P(SourceConformanceTest, NoPathLeadsOut) {
  tree_->Put("a/b", "x");
  for (const std::string& path :
       {std::string(".."), std::string("../secret"), std::string("a/../../secret"),
        std::string("/etc/passwd"), std::string("a/b\0c", 5)}) {
    const auto status = source().Stat(path, Follow::kYes);
    EXPECT_FALSE(status && *status) << path;
    EXPECT_FALSE(source().List(path)) << path;
    const auto value = source().OpenFile(path)->Size("");
    EXPECT_FALSE(value && *value) << path;
    const auto below = source().OpenStore("a")->Size(path);
    EXPECT_FALSE(below && *below) << path;
  }
}

TEST_P(SourceConformanceTest, ListsADirectory) {
  tree_->Put("d/a", "1");
  tree_->Put("d/e/f", "2");
  tree_->Put("d/g", "3");
  EXPECT_THAT(NamesIn(source(), "d"), UnorderedElementsAre("a", "e", "g"));
  EXPECT_THAT(NamesIn(source(), ""), UnorderedElementsAre("d"));
  EXPECT_THAT(source().List("d/a"), test::IsErrno(ENOTDIR));
  EXPECT_THAT(source().List("none"), test::IsErrno(ENOENT));
}

TEST_P(SourceConformanceTest, ListingTellsWhatItsEntriesAre) {
  tree_->Put("d/a", "12345");
  tree_->Put("d/e/f", "2");
  const auto listing = source().List("d").value();
  for (int i = 0; i < 2; ++i) {
    const auto* entry = listing->Next().value();
    ASSERT_NE(entry, nullptr);
    const std::string name(entry->name);
    const FileKind kind = name == "a" ? FileKind::kFile : FileKind::kDirectory;
    EXPECT_THAT(entry->kind, testing::AnyOf(kind, FileKind::kUnknown));
    const auto status = listing->StatEntry().value();
    ASSERT_TRUE(status) << name;
    EXPECT_EQ(status->kind, kind) << name;
    EXPECT_EQ(status->id, StatusOf("d/" + name).id) << name;
    EXPECT_EQ(status->version, StatusOf("d/" + name).version) << name;
  }
  EXPECT_EQ(listing->Next().value(), nullptr);
}

TEST_P(SourceConformanceTest, ListedEntryMayBeGone) {
  tree_->Put("d/a", "1");
  tree_->Put("e", "1");
  const auto listing = source().List("d").value();
  ASSERT_NE(listing->Next().value(), nullptr);
  tree_->Remove("d/a");
  EXPECT_THAT(listing->StatEntry(), test::IsOkAnd(Eq(std::nullopt)));
}

TEST_P(SourceConformanceTest, ListingGoesOnAfterAnyEntry) {
  for (const char* name : {"a", "b", "c", "d", "e"}) tree_->Put(name, "x");
  const auto listing = source().List("").value();
  std::vector<std::string> names;
  std::vector<int64_t> positions = {0};
  while (const auto* entry = listing->Next().value()) {
    names.emplace_back(entry->name);
    positions.push_back(entry->next);
    EXPECT_NE(entry->next, 0);
  }
  ASSERT_EQ(names.size(), 5u);
  for (size_t i = names.size(); i-- > 0;) {
    listing->Seek(positions[i]);
    EXPECT_EQ(listing->Next().value()->name, names[i]);
  }
}

TEST_P(SourceConformanceTest, StoreHasTheFilesBelowItsDirectory) {
  tree_->Put("d/a", "one");
  tree_->Put("d/e/f", "two");
  tree_->Put("a", "three");
  const auto store = source().OpenStore("d");
  EXPECT_EQ(ReadText(*store, "a"), "one");
  EXPECT_EQ(ReadText(*store, "e/f"), "two");
  EXPECT_EQ(ReadText(*store, "e"), "absent");
  EXPECT_EQ(ReadText(*store, "none"), "absent");
  EXPECT_EQ(store->Describe("a"), "d/a");
  EXPECT_EQ(ReadText(*source().OpenStore(""), "d/a"), "one");
  EXPECT_EQ(ReadText(*source().OpenStore("none"), "a"), "absent");
}

TEST_P(SourceConformanceTest, FileIsOneValue) {
  tree_->Put("d/a", "0123456789");
  const auto file = source().OpenFile("d/a");
  EXPECT_EQ(ReadText(*file, ""), "0123456789");
  EXPECT_EQ(ReadText(*file, "", 7), "789");
  EXPECT_EQ(file->Describe(""), "d/a");
  EXPECT_EQ(ReadText(*source().OpenFile("d"), ""), "absent");
  EXPECT_EQ(ReadText(*source().OpenFile("none"), ""), "absent");
}

TEST_P(SourceConformanceTest, OpenedFileNeverMixesTwoVersions) {
  tree_->Put("a", "0123456789");
  const auto file = source().OpenFile("a");
  const Generation before = StatusOf("a").version;
  std::string begin(3, '?');
  ASSERT_THAT(file->ReadInto("", 0, std::as_writable_bytes(std::span(begin))), test::IsOk());
  tree_->Put("a", "abcdefghij");
  EXPECT_NE(file->Stat("").value()->generation, before);
  std::string next(3, '?');
  const auto count = file->ReadInto("", 3, std::as_writable_bytes(std::span(next)));
  if (count) {
    EXPECT_EQ(next, "345");
  } else {
    EXPECT_THAT(count, test::IsStale());
  }
  EXPECT_EQ(ReadText(*source().OpenFile("a"), ""), "abcdefghij");
}

TEST_P(SourceConformanceTest, WhatIsNoLinkCannotBeReadAsOne) {
  tree_->Put("a", "b");
  EXPECT_THAT(source().ReadLink("a"), test::IsErrno(EINVAL));
}

TEST_P(SourceConformanceTest, DescribesPathsForPeople) {
  EXPECT_EQ(source().Describe("d/a"), "d/a");
  EXPECT_EQ(source().Describe(""), "source");
}

TEST_P(SourceConformanceTest, NamesAreRelativeToTheFileThatHasThem) {
  EXPECT_EQ(Resolved("a.h5", "b.bin"), "b.bin");
  EXPECT_EQ(Resolved("x/y/a.h5", "b.bin"), "x/y/b.bin");
  EXPECT_EQ(Resolved("x/y/a.h5", "../z//./b.bin"), "x/z/b.bin");
  EXPECT_EQ(Resolved("x/a.h5", source().name() + "/b.bin"), "b.bin");
}

TEST_P(SourceConformanceTest, NamesThatClimbOutAreOutside) {
  EXPECT_EQ(Resolved("a.h5", "../b.bin"), "outside");
  EXPECT_EQ(Resolved("x/a.h5", "../../x/b.bin"), "outside");
  EXPECT_EQ(Resolved("a.h5", "/etc/passwd"), "outside");
  EXPECT_EQ(Resolved("a.h5", "/" + source().name() + "x/b.bin"), "outside");
  EXPECT_EQ(Resolved("a.h5", source().name() + "/../b.bin"), "outside");
}

TEST_P(SourceConformanceTest, TheTopItselfIsEmpty) {
  EXPECT_EQ(Resolved("x/a.h5", ".."), "");
  EXPECT_EQ(Resolved("a.h5", ""), "");
}

}  // namespace
}  // namespace ndlfs::backends
