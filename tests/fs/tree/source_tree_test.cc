// SPDX-License-Identifier: MIT
#include "fs/tree/source_tree.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "fs/tree/control_tree.h"
#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsErrno;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::IsStale;
using ndlfs::test::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNull;
using ::testing::NotNull;
using ::testing::UnorderedElementsAre;
using Relation = TreeNode::Relation;

class SourceTreeTest : public MountTest {
 protected:
  void Append(const std::string& name, const std::string& text) {
    std::ofstream(source_ / name, std::ios::app) << text;
  }
};

TEST_F(SourceTreeTest, ShowsDirectoriesFilesAndLinksUnchanged) {
  std::filesystem::create_directories(source_.path() / "runs/2024");
  WriteFile(source_ / "runs/2024/notes.txt", "hello\n");
  std::filesystem::create_symlink("runs/../gone", source_.path() / "link");
  EXPECT_THAT(List(""), UnorderedElementsAre("runs:d", "link:l"));
  EXPECT_THAT(List("runs/2024"), ElementsAre("notes.txt:f"));
  EXPECT_THAT(Read("runs/2024/notes.txt"), IsOkAnd("hello\n"));
  EXPECT_THAT((*Find("link"))->ReadLink(), IsOkAnd("runs/../gone"));
  EXPECT_THAT(Find("nothing"), IsError(ErrorCode::kNotFound, "nothing"));
  EXPECT_THAT(Find("runs/2024/notes.txt/below"), IsErrno(ENOTDIR));
}

TEST_F(SourceTreeTest, ListingLooksIntoFilesThatDoNotHaveTheNameOfAStore) {
  WriteFile(source_ / "a.npy", "");
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  WriteFile(source_ / "b.dat", std::string(100, 'x'));
  format_.stores["b.dat"] = std::make_unique<FakeStore>();
  WriteFile(source_ / "small.txt", "no store is as small as this");
  EXPECT_THAT(List(""), UnorderedElementsAre("a.npy:?", "a.txt:f", "b.dat:d", "small.txt:f"));
  EXPECT_EQ(detections_, 3) << "of the source itself, and of two files";
}

TEST_F(SourceTreeTest, ListingOfASlowSourceLeavesTypesOpen) {
  const auto detect = context_.services.detect;
  context_.services.detect = [&](const std::string& path, bool is_directory) {
    if (!is_directory) std::this_thread::sleep_for(std::chrono::milliseconds(21));
    return detect(path, is_directory);
  };
  for (const char* name : {"a.txt", "b.txt", "c.txt"}) {
    WriteFile(source_ / name, std::string(100, 'x'));
  }
  const auto listed = List("");
  EXPECT_EQ(std::count_if(listed.begin(), listed.end(),
                          [](const auto& entry) { return entry.ends_with(":?"); }),
            2);
  EXPECT_EQ(detections_, 2) << "of the source itself, and of the file that took so long";
}

TEST_F(SourceTreeTest, ListingLeavesOpenWhatCannotBeLookedIntoNow) {
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  const auto detect = context_.services.detect;
  context_.services.detect = [&](const std::string& path, bool is_directory) {
    if (is_directory) return detect(path, is_directory);
    return backends::FileLook{nullptr, {}, model::IoError(EMFILE, "open").value()};
  };
  EXPECT_THAT(List(""), ElementsAre("a.txt:?"));
}

TEST_F(SourceTreeTest, ListingByNameLeavesOpenOnlyWhatIsCalledLikeAStore) {
  context_.services.detection = backends::Detection::kName;
  WriteFile(source_ / "a.npy", "");
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  EXPECT_THAT(List(""), UnorderedElementsAre("a.npy:?", "a.txt:f"));
  detections_ = 0;
  EXPECT_THAT(context_.catalog.Find("a.txt", StatusOf("a.txt")), IsOkAnd(IsNull()));
  EXPECT_EQ(detections_, 0);
}

TEST_F(SourceTreeTest, FileSmallerThanAnyStoreIsNotLookedInto) {
  WriteFile(source_ / "a.txt", std::string(31, 'x'));
  WriteFile(source_ / "b.txt", std::string(32, 'x'));
  EXPECT_THAT(context_.catalog.Find("a.txt", StatusOf("a.txt")), IsOkAnd(IsNull()));
  EXPECT_EQ(detections_, 0);
  EXPECT_THAT(context_.catalog.Find("b.txt", StatusOf("b.txt")), IsOkAnd(IsNull()));
  EXPECT_EQ(detections_, 1);
}

TEST_F(SourceTreeTest, PlainFileThatHasJustChangedIsLookedIntoAgain) {
  // A second change within one tick of the clock would not be seen in stat().
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  for (int i = 1; i <= 2; ++i) {
    EXPECT_THAT(context_.catalog.Find("a.txt", StatusOf("a.txt")), IsOkAnd(IsNull()));
    EXPECT_EQ(detections_, i);
  }
}

TEST_F(SourceTreeTest, ADirectoryThatCannotBeLookedIntoNowIsAStoreLater) {
  std::filesystem::create_directories(source_.path() / "a.zarr");
  format_.stores["a.zarr"] = std::make_unique<FakeStore>();
  const auto detect = context_.services.detect;
  context_.services.detect = [](const std::string&, bool) {
    return backends::FileLook{nullptr, {}, model::IoError(EMFILE, "stat").value()};
  };
  EXPECT_THAT(context_.catalog.Find("a.zarr", StatusOf("a.zarr")), IsErrno(EMFILE));
  context_.services.detect = detect;
  EXPECT_THAT(context_.catalog.Find("a.zarr", StatusOf("a.zarr")), IsOkAnd(NotNull()));
}

class ImmutableSourceTest : public MountTest {
 protected:
  ImmutableSourceTest() : MountTest(/*immutable=*/true) {}
  std::shared_ptr<MountedStore> FindStore(const std::string& path) {
    return context_.catalog.Find(path, StatusOf(path)).value();
  }
};

TEST_F(ImmutableSourceTest, PlainFileIsLookedIntoOnceInEachVersion) {
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  detections_ = 0;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(FindStore("a.txt"), IsNull());
  EXPECT_EQ(detections_, 1);
  EXPECT_THAT(List(""), ElementsAre("a.txt:f")) << "what has been found out is known";
  WriteFile(source_ / "a.txt", std::string(101, 'x'));
  EXPECT_THAT(FindStore("a.txt"), IsNull());
  EXPECT_THAT(List(""), ElementsAre("a.txt:f"));
  EXPECT_EQ(detections_, 4) << "one of each version, and of the root for each listing";
}

TEST_F(ImmutableSourceTest, WhatIsKnownOfAVersionDoesNotHoldForTheNameOfAStore) {
  WriteFile(source_ / "a.txt", std::string(100, 'x'));
  EXPECT_THAT(FindStore("a.txt"), IsNull());
  std::filesystem::create_hard_link(source_.path() / "a.txt", source_.path() / "a.npy");
  format_.stores["a.npy"] = std::make_unique<FakeStore>();
  EXPECT_THAT(FindStore("a.npy"), NotNull());
}

TEST_F(SourceTreeTest, MirrorShowsStoresAsTheyAre) {
  AddFileStore("runs/a.npy").AddArray("/", "abc");
  AddDirectoryStore("b.zarr").AddGroup("/");
  WriteFile(source_ / "b.zarr/.zgroup", "{}");
  const auto mirror = FindSourceMirror(context_);
  ASSERT_THAT(mirror, IsOk());
  EXPECT_THAT(List(**mirror), UnorderedElementsAre("runs:d", "b.zarr:d"));
  EXPECT_THAT(List(**(*mirror)->Lookup("runs")), ElementsAre("a.npy:f"));
  EXPECT_THAT(List(**(*mirror)->Lookup("b.zarr")), ElementsAre(".zgroup:f"));
  const auto file = (*(*mirror)->Lookup("runs"))->Lookup("a.npy");
  EXPECT_THAT(Read(*(*file)->Open()), IsOkAnd("contents of runs/a.npy"));
  EXPECT_EQ((*file)->Stat()->mode & S_IFMT, mode_t{S_IFREG});
}

TEST_F(SourceTreeTest, ShowsSpecialFilesWithoutTouchingThem) {
  ASSERT_EQ(::mkfifo((source_ / "fifo").c_str(), 0600), 0);
  const auto node = Find("fifo");
  ASSERT_THAT(node, IsOk());
  EXPECT_TRUE(S_ISFIFO((*node)->Stat()->mode));
  EXPECT_THAT((*node)->Open(), IsErrno(ENXIO));
}

TEST_F(SourceTreeTest, PermissionsAreThoseOfTheFileWithoutWritingAndExecuting) {
  WriteFile(source_ / "script", "#!");
  ASSERT_EQ(::chmod((source_ / "script").c_str(), 04751), 0);
  EXPECT_EQ((*Find("script"))->Stat()->mode, mode_t{S_IFREG | 0440});
  std::filesystem::create_directory(source_.path() / "dir");
  ASSERT_EQ(::chmod((source_ / "dir").c_str(), 01731), 0);
  EXPECT_EQ((*Find("dir"))->Stat()->mode, mode_t{S_IFDIR | 0511});
}

TEST_F(SourceTreeTest, SymbolicLinkOutOfTheSourceIsShownButNotFollowed) {
  std::filesystem::create_symlink("/etc", source_.path() / "out");
  EXPECT_THAT((*Find("out"))->ReadLink(), IsOkAnd("/etc"));
  EXPECT_THAT(Find("out/passwd"), IsErrno(ENOTDIR));
}

TEST_F(SourceTreeTest, UnchangedFileStaysTheSameInode) {
  WriteFile(source_ / "a.txt", "one");
  const auto before = Find("a.txt");
  ASSERT_THAT((*before)->Open(), IsOk());
  EXPECT_EQ((*before)->Compare(**Find("a.txt")), Relation::kSame);
  EXPECT_THAT((*before)->Open(), IsOk());
}

TEST_F(SourceTreeTest, ReplacedFileIsANewInodeAndDoesNotShowThroughTheOldOne) {
  WriteFile(source_ / "a.txt", "one");
  const auto before = Find("a.txt");
  const auto opened = (*before)->Open();
  Replace("a.txt", "another");
  EXPECT_THAT((*before)->Open(), IsStale());
  EXPECT_EQ((*before)->Stat()->size, 3u);
  EXPECT_THAT(Read(*opened), IsOkAnd("one"));
  const auto after = Find("a.txt");
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_THAT(Read(*(*after)->Open()), IsOkAnd("another"));
}

TEST_F(SourceTreeTest, RewrittenFileIsANewInode) {
  WriteFile(source_ / "a.txt", "one");
  const auto before = Find("a.txt");
  ASSERT_THAT((*before)->Open(), IsOk());
  WriteFile(source_ / "a.txt", "two");
  EXPECT_THAT((*before)->Open(), IsStale());
  EXPECT_THAT(Read("a.txt"), IsOkAnd("two"));
}

TEST_F(SourceTreeTest, GrowingFileCanBeOpenedAndFollowed) {
  WriteFile(source_ / "log", "one\n");
  const auto node = Find("log");
  Append("log", "two\n");  // between lookup and open
  const auto opened = (*node)->Open();
  ASSERT_THAT(opened, IsOk());
  Append("log", "three\n");
  EXPECT_EQ((*node)->Stat()->size, 14u);
  EXPECT_THAT(Read(*opened), IsOkAnd("one\ntwo\nthree\n"));
  EXPECT_THAT((*node)->Open(), IsStale()) << "its pages are those of the short one";
}

TEST_F(SourceTreeTest, RemovedFileKeepsItsAttributesForWhoHasItOpen) {
  WriteFile(source_ / "a.txt", "one");
  const auto node = Find("a.txt");
  const auto opened = (*node)->Open();
  std::filesystem::remove(source_.path() / "a.txt");
  EXPECT_EQ((*node)->Stat()->size, 3u);
  EXPECT_THAT(Read(*opened), IsOkAnd("one"));
  EXPECT_THAT((*node)->Open(), IsErrno(ENOENT));
}

TEST_F(SourceTreeTest, DirectoryThatBecomesAStoreKeepsItsInode) {
  std::filesystem::create_directory(source_.path() / "a.zarr");
  const auto before = Find("a.zarr");
  AddDirectoryStore("a.zarr").AddArray("/", "abc");
  const auto after = Find("a.zarr");
  EXPECT_EQ((*before)->Compare(**after), Relation::kUpdated);
  EXPECT_THAT(List("a.zarr"), ElementsAre(".ndl.yaml:f", ".source:l", "data.npy:f",
                                          "data.raw:f", "data.txt:f"));
}

TEST_F(SourceTreeTest, FileThatBecomesADirectoryIsANewInode) {
  WriteFile(source_ / "a", "");
  const auto before = Find("a");
  std::filesystem::remove(source_.path() / "a");
  std::filesystem::create_directory(source_.path() / "a");
  EXPECT_EQ((*before)->Compare(**Find("a")), Relation::kDifferent);
}

TEST_F(SourceTreeTest, StoreIsDetectedOnceAsLongAsThatIsFresh) {
  AddDirectoryStore("a.zarr");
  AddFileStore("a.npy");
  const auto directory = Find("a.zarr");
  const auto file = Find("a.npy");
  detections_ = 0;
  EXPECT_THAT(context_.catalog.Find("a.zarr", StatusOf("a.zarr")), IsOk());
  EXPECT_THAT(context_.catalog.Find("a.npy", StatusOf("a.npy")), IsOk());
  EXPECT_EQ(detections_, 0);
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(context_.catalog.Find("a.npy", StatusOf("a.npy")), IsOk());
  EXPECT_EQ(detections_, 0) << "the file is the same";
  EXPECT_THAT(context_.catalog.Find("a.zarr", StatusOf("a.zarr")), IsOk());
  EXPECT_EQ(detections_, 1);
}

class RootTest : public MountTest {
 protected:
  TreeNodePtr Root() {
    return MakeRoot(context_, {{"stats.json", [this] { return std::to_string(++asked_); }}});
  }
  int asked_ = 0;
};

TEST_F(RootTest, HasTheControlFolderInFrontOfTheSource) {
  WriteFile(source_ / "a.txt", "one");
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", "a.txt:f"));
}

TEST_F(RootTest, HidesWhatIsCalledLikeTheControlFolder) {
  std::filesystem::create_directory(source_.path() / ".ndlfs");
  WriteFile(source_ / ".ndlfs/mine", "");
  const auto root = Root();
  EXPECT_THAT(List(*root), ElementsAre(".ndlfs:d"));
  EXPECT_THAT(List(**root->Lookup(".ndlfs")), ElementsAre("stats.json:f"));
  const auto mirror = (*root->Lookup(".ndlfs"))->Lookup("source");
  EXPECT_THAT(List(**mirror), ElementsAre(".ndlfs:d")) << "which hides nothing";
  EXPECT_THAT(List(**(*mirror)->Lookup(".ndlfs")), ElementsAre("mine:f"));
}

TEST_F(RootTest, MirrorOfTheSourceIsFoundButNotListed) {
  WriteFile(source_ / "a.txt", "one");
  const auto control = Root()->Lookup(".ndlfs");
  EXPECT_THAT(List(**control), ElementsAre("stats.json:f"));
  EXPECT_THAT(List(**(*control)->Lookup("source")), ElementsAre("a.txt:f"));
}

TEST_F(RootTest, ControlFilesAreMadeWhenTheyAreOpened) {
  const auto root = Root();
  const auto file = (*root->Lookup(".ndlfs"))->Lookup("stats.json");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ((*file)->Stat()->size, 0u);
  const auto opened = (*file)->Open();
  EXPECT_TRUE(opened->size_unknown);
  EXPECT_THAT(Read(*opened), IsOkAnd("1"));
  EXPECT_THAT(Read(*opened), IsOkAnd("1")) << "one text for each time it is opened";
  EXPECT_THAT(Read(*(*file)->Open()), IsOkAnd("2"));
  EXPECT_EQ((*file)->Compare(**(*root->Lookup(".ndlfs"))->Lookup("stats.json")),
            Relation::kSame);
}

TEST_F(RootTest, SourceThatIsAStoreIsShownAsOne) {
  FakeStore& store = AddDirectoryStore("");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", ".ndl.yaml:f", ".source:l", "data.nc:f",
                                         "index.html:f", "t:d"));
  EXPECT_THAT(Read("t/data.raw"), IsOkAnd("abc"));
  EXPECT_THAT((*Root()->Lookup(".source"))->ReadLink(), IsOkAnd(".ndlfs/source"));
}

class OneFileTest : public MountTest {
 protected:
  OneFileTest() : MountTest(/*immutable=*/false, {.file = "a.npy"}) {}
  TreeNodePtr Root() { return MakeRoot(context_, {}); }
};

TEST_F(OneFileTest, IsTheRootOfTheMount) {
  FakeStore& store = AddFileStore("a.npy");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  store.links = {{"/beside", "../b.dat/x"}};
  AddFileStore("b.dat").AddGroup("/");
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", ".ndl.yaml:f", ".source:l", "data.nc:f",
                                         "index.html:f", "beside:d", "t:d"));
  EXPECT_THAT((*Root()->Lookup(".source"))->ReadLink(), IsOkAnd(".ndlfs/source/a.npy"));
  EXPECT_THAT(List(**Root()->Lookup("beside")), ElementsAre("error.txt:f"))
      << "what is beside it is not mounted";
}

TEST_F(OneFileTest, MirrorHoldsThatFileAlone) {
  AddFileStore("a.npy").AddGroup("/");
  WriteFile(source_ / "secret", "secret");
  const auto mirror = (*Root()->Lookup(".ndlfs"))->Lookup("source");
  EXPECT_THAT(List(**mirror), ElementsAre("a.npy:?"));
  EXPECT_THAT((*mirror)->Lookup("secret"), IsError(ErrorCode::kNotFound, "secret"));
  EXPECT_THAT((*mirror)->Lookup(".."), IsError(ErrorCode::kNotFound, ".."));
  const auto file = (*mirror)->Lookup("a.npy");
  EXPECT_THAT(Read(*(*file)->Open()), IsOkAnd("contents of a.npy"));
}

TEST_F(OneFileTest, ThatIsNoStoreAnyLongerLeavesAFolderWithTheReason) {
  AddFileStore("a.npy").AddGroup("/");
  format_.stores.clear();
  Replace("a.npy", "something else that is no store, and longer");
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", "error.txt:f"));
  EXPECT_THAT(Read(*(*Root()->Lookup("error.txt"))->Open()),
              IsOkAnd("a.npy: no longer an array store\n"));
  std::filesystem::remove(source_.path() / "a.npy");
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", "error.txt:f"));
  EXPECT_EQ(Root()->Stat()->mode, mode_t{S_IFDIR | 0555});
}

}  // namespace
}  // namespace ndlfs::fs::fake
