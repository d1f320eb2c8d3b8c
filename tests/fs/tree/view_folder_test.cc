// SPDX-License-Identifier: MIT
//
// Views that are small trees, as the mount shows them.
#include "fs/tree/view/view_folder.h"

#include <gmock/gmock.h>

#include <array>

#include "fs/tree/store_tree.h"
#include "fs/view/container/views.h"
#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsErrno;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::IsStale;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Relation = TreeNode::Relation;

class ViewFolderTest : public MountTest {
 protected:
  ViewFolderTest() { context_.services.array_views = &views_; }

  static constexpr std::array<const ArrayViewKind*, 1> kZarr = {&kZarrArrayView};
  const KindProvider<ArrayInput> zarr_{kZarr};
  const JoinedProvider<ArrayInput> views_{{&few_views_, &zarr_}};
};

TEST_F(ViewFolderTest, TreeIsFoldersAndFilesThatNoListingShows) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefghij");
  EXPECT_THAT(List("a.zarr/t"),
              ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f", "data.txt:f"));
  EXPECT_THAT(List("a.zarr/t/data.zarr"), ElementsAre("zarr.json:f", "c:d"));
  EXPECT_THAT(List("a.zarr/t/data.zarr/c"), ElementsAre("0:f", "1:f", "2:f"));
  EXPECT_THAT(Read("a.zarr/t/data.zarr/c/1"), IsOkAnd("efgh"));
  EXPECT_THAT(Read("a.zarr/t/data.zarr/c/2"), IsOkAnd(std::string("ij\0\0", 4)));
  EXPECT_THAT(Read("a.zarr/t/data.zarr/zarr.json"), IsOkAnd(HasSubstr("\"uint8\"")));
  EXPECT_THAT(Read("a.zarr/t/t.zarr/c/0"), IsOkAnd("abcd")) << "by an alias";
  EXPECT_THAT(Find("a.zarr/t/data.zarr/c/3"), IsError(ErrorCode::kNotFound, "3"));
  EXPECT_THAT(Find("a.zarr/t/data.zarr/x"), IsError(ErrorCode::kNotFound, "x"));
  EXPECT_THAT(Find("a.zarr/t/data.zarr/zarr.json/x"), IsErrno(ENOTDIR));
  EXPECT_THAT((*Find("a.zarr/t/data.zarr"))->Open(), IsErrno(EISDIR));
}

TEST_F(ViewFolderTest, OptionsListItIfTheyNameIt) {
  AddDirectoryStore("a.zarr").AddArray("/", "abc");
  context_.services.listed_views = ListedViews::All();
  EXPECT_THAT(List("a.zarr"), Contains("data.jsonl:f"));
  EXPECT_THAT(List("a.zarr"), Not(Contains("data.zarr:d")));
  context_.services.listed_views = ListedViews({"zarr"});
  EXPECT_THAT(List("a.zarr"), ElementsAre(".ndl.yaml:f", ".source:l", "data.zarr:d"));
}

TEST_F(ViewFolderTest, AttributesAreThoseOfTheOtherFiles) {
  AddDirectoryStore("a.zarr").AddArray("/", "abcde");
  const auto raw = (*Find("a.zarr/data.raw"))->Stat();
  const auto folder = (*Find("a.zarr/data.zarr/c"))->Stat();
  const auto chunk = (*Find("a.zarr/data.zarr/c/1"))->Stat();
  ASSERT_THAT(raw, IsOk());
  ASSERT_THAT(folder, IsOk());
  ASSERT_THAT(chunk, IsOk());
  EXPECT_EQ(chunk->mode, raw->mode);
  EXPECT_EQ(chunk->size, 4u);
  EXPECT_EQ(chunk->mtime_ns, raw->mtime_ns);
  const mode_t readable = raw->mode & 0444;
  EXPECT_EQ(folder->mode, S_IFDIR | readable | readable >> 2);
  EXPECT_EQ(folder->uid, raw->uid);
  EXPECT_EQ(folder->mtime_ns, raw->mtime_ns);
}

TEST_F(ViewFolderTest, ListingTellsTheFilesThatLookupFinds) {
  AddDirectoryStore("a.zarr").AddArray("/", "abcdefgh");
  const auto folder = Find("a.zarr/data.zarr/c");
  EXPECT_TRUE((*folder)->ListsAttributesOf(S_IFREG));
  EXPECT_FALSE((*folder)->ListsAttributesOf(S_IFDIR));
  const auto listed = (*folder)->FindListed("1");
  ASSERT_TRUE(listed);
  const auto file = (*folder)->Lookup("1");
  ASSERT_THAT(file, IsOk());
  EXPECT_TRUE((*file)->IsListedAs(listed->version));
  EXPECT_EQ((*file)->ListedFacts(), listed->version.facts);
  EXPECT_EQ(listed->attributes.size, 4u);
  EXPECT_EQ(listed->attributes.mode, (*file)->Stat()->mode);
  EXPECT_FALSE((*folder)->FindListed("2"));
  EXPECT_FALSE((*Find("a.zarr/data.zarr"))->FindListed("c"));
}

TEST_F(ViewFolderTest, UnchangedFilesStayTheSameInodes) {
  AddDirectoryStore("a.zarr").AddArray("/", "abcdefgh");
  const auto before = Find("a.zarr/data.zarr/c/1");
  const auto other = Find("a.zarr/data.zarr/c/0");
  ASSERT_THAT((*before)->Open(), IsOk());
  Pass(std::chrono::seconds(10));
  const auto after = Find("a.zarr/data.zarr/c/1");
  EXPECT_EQ((*before)->Compare(**after), Relation::kSame);
  EXPECT_EQ((*before)->Compare(**other), Relation::kDifferent);
  EXPECT_THAT((*before)->Open(), IsOk());
}

TEST_F(ViewFolderTest, ChangedArrayMakesNewFilesInTheSameFolder) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefgh");
  const auto folder = Find("a.zarr/t/data.zarr/c");
  const auto before = Find("a.zarr/t/data.zarr/c/0");
  const auto last = Find("a.zarr/t/data.zarr/c/1");
  const auto opened = (*before)->Open();
  EXPECT_THAT(Read(*opened), IsOkAnd("abcd"));
  const auto reader = (*folder)->OpenDirectory();

  store.objects.at("/t").data = std::make_shared<MemoryStore>();
  store.SetArray("/t", "XYZ");
  ++store.objects.at("/t").version;
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  EXPECT_THAT((*last)->Open(), IsStale()) << "there is no such chunk any more";
  const auto after = Find("a.zarr/t/data.zarr/c/0");
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_EQ((*folder)->Compare(**Find("a.zarr/t/data.zarr/c")), Relation::kUpdated);
  EXPECT_THAT(List(**folder), ElementsAre("0:f"));
  EXPECT_THAT((*folder)->Lookup("1"), IsError(ErrorCode::kNotFound, "1"));
  EXPECT_THAT(Read("a.zarr/t/data.zarr/c/0"), IsOkAnd("XYZ"));
  EXPECT_THAT(Read(*opened), IsOkAnd("abcd"));
  EXPECT_THAT((*reader)->Next(), IsOk());

  store.objects.erase("/t");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*folder)->Lookup("0"), IsStale());
  EXPECT_THAT((*folder)->OpenDirectory(), IsStale());
}

TEST_F(ViewFolderTest, ChangedChunkMakesNewFiles) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abc");
  EXPECT_THAT(Read("a.zarr/data.zarr/c/0"), IsOkAnd("abc"));
  const auto before = Find("a.zarr/data.zarr/c/0");
  ASSERT_THAT((*before)->Open(), IsOk());
  store.objects.at("/").data->Put("0", "xyz");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  EXPECT_THAT(Read("a.zarr/data.zarr/c/0"), IsOkAnd("xyz"));
}

TEST_F(ViewFolderTest, FailedReadIsToldInErrorTxt) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abcdefgh").data->Put("1", "ef");
  EXPECT_THAT(Read("a.zarr/data.zarr/c/0"), IsOkAnd("abcd"));
  EXPECT_THAT(Read("a.zarr/data.zarr/c/1"), IsError(ErrorCode::kCorrupt, HasSubstr("chunk 1")));
  EXPECT_THAT(Read("a.zarr/error.txt"), IsOkAnd(HasSubstr("chunk 1: ")));
}

TEST_F(ViewFolderTest, GroupsHaveOneOfAllThatIsBelow) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  for (const char* group : {"/", "/g"}) store.AddGroup(group);
  store.AddArray("/g/t", "abcdefgh");
  EXPECT_THAT(List("a.zarr/data.zarr"), ElementsAre("zarr.json:f", "g:d"));
  EXPECT_THAT(List("a.zarr/data.zarr/g/t"), ElementsAre("zarr.json:f", "c:d"));
  const auto before = Find("a.zarr/data.zarr/g/t/c/1");
  ASSERT_THAT((*before)->Open(), IsOk());
  EXPECT_THAT(Read("a.zarr/data.zarr/g/t/c/1"), IsOkAnd("efgh"));
  store.AddArray("/g/u", "xy");
  ++store.objects.at("/g").version;
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(List("a.zarr/data.zarr/g"), ElementsAre("zarr.json:f", "t:d", "u:d"));
  EXPECT_THAT(Read("a.zarr/data.zarr/g/u/c/0"), IsOkAnd("xy"));
}

TEST_F(ViewFolderTest, GroupOfTheStoreIsFoundBeforeATree) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  for (const char* group : {"/", "/data.zarr"}) store.AddGroup(group);
  store.AddArray("/data.zarr/t", "abcd");
  EXPECT_THAT(Read("a.zarr/data.zarr/t/data.raw"), IsOkAnd("abcd"));
  EXPECT_THAT(Read("a.zarr/a.zarr/data.zarr/t/c/0"), IsOkAnd("abcd")) << "by an alias";
}

TEST_F(ViewFolderTest, ChangeThatAReadHasNoticedNeedsNoWaiting) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefgh");
  const auto opened = (*Find("a.zarr/data.zarr/t/c/0"))->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(Read(*opened), IsOkAnd("abcd"));
  store.SetArray("/t", "ABCDEFGH");
  const auto mounted = context_.catalog.Find("a.zarr", StatusOf("a.zarr")).value();
  context_.cache.Forget((*mounted->Get("/t"))->reader()->source().id());
  EXPECT_THAT(Read(*opened), IsStale());
  EXPECT_THAT(Read("a.zarr/data.zarr/t/c/0"), IsOkAnd("ABCD"));
}

TEST_F(ViewFolderTest, TreeStandsForAStore) {
  AddDirectoryStore("a.zarr").AddGroup("/");
  const auto store = context_.catalog.Find("a.zarr", StatusOf("a.zarr")).value();
  const auto node = MakeStoreFile(context_, store, "/", "data.zarr");
  ASSERT_THAT(node, IsOk());
  EXPECT_TRUE(S_ISDIR((*node)->Stat()->mode));
}

}  // namespace
}  // namespace ndlfs::fs::fake
