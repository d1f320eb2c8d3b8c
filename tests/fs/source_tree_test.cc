// SPDX-License-Identifier: MIT
#include "fs/source_tree.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "fs/control_tree.h"
#include "tests/fs/fake_store.h"

namespace ndlfs::fs::test {
namespace {

using model::ErrorCode;
using ndlfs::test::IsErrno;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::WriteFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Relation = InodeTable::Object::Relation;

class SourceTreeTest : public MountTest {
 protected:
  void Append(const std::string& name, const std::string& text) {
    std::ofstream(source_ / name, std::ios::app) << text;
  }
  void Replace(const std::string& name, const std::string& text) {
    WriteFile(source_ / "new", text);
    std::filesystem::rename(source_.path() / "new", source_.path() / name);
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

TEST_F(SourceTreeTest, ListingLeavesOpenWhetherAFileIsAStore) {
  WriteFile(source_ / "a.npy", "");
  WriteFile(source_ / "a.txt", "");
  EXPECT_THAT(List(""), UnorderedElementsAre("a.npy:?", "a.txt:f"));
  EXPECT_EQ(detections_, 1) << "of the source itself";
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
  EXPECT_THAT((*before)->Open(), IsErrno(ESTALE));
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
  EXPECT_THAT((*before)->Open(), IsErrno(ESTALE));
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
  EXPECT_THAT((*node)->Open(), IsErrno(ESTALE)) << "its pages are those of the short one";
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
  context_.catalog.Find("a.zarr", *context_.root->Stat("a.zarr"));
  context_.catalog.Find("a.npy", *context_.root->Stat("a.npy"));
  EXPECT_EQ(detections_, 0);
  Pass(std::chrono::seconds(1));
  context_.catalog.Find("a.npy", *context_.root->Stat("a.npy"));
  EXPECT_EQ(detections_, 0) << "the file is the same";
  context_.catalog.Find("a.zarr", *context_.root->Stat("a.zarr"));
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
  EXPECT_THAT(List(*Root()), ElementsAre(".ndlfs:d", ".ndl.yaml:f", ".source:l", "t:d"));
  EXPECT_THAT(Read("t/data.raw"), IsOkAnd("abc"));
}

}  // namespace
}  // namespace ndlfs::fs::test
