// SPDX-License-Identifier: MIT
#include "fs/tree/store_tree.h"

#include <gmock/gmock.h>

#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsErrno;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::IsStale;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Relation = TreeNode::Relation;

class StoreTreeTest : public MountTest {};

TEST_F(StoreTreeTest, GroupsAndArraysAreFolders) {
  FakeStore& store = AddDirectoryStore("era5.zarr");
  store.AddGroup("/");
  store.AddGroup("/forecast");
  store.AddArray("/forecast/wind", "1234");
  store.AddArray("/t2m", "abc");
  EXPECT_THAT(List("era5.zarr"), ElementsAre(".ndl.yaml:f", ".source:l", "data.nc:f",
                                             "index.html:f", "forecast:d", "t2m:d"));
  EXPECT_THAT(List("era5.zarr/forecast"),
              ElementsAre(".ndl.yaml:f", "data.nc:f", "index.html:f", "wind:d"));
  EXPECT_THAT(List("era5.zarr/t2m"),
              ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f", "data.txt:f"));
  EXPECT_THAT(Read("era5.zarr/forecast/wind/data.raw"), IsOkAnd("1234"));
  EXPECT_THAT(Read("era5.zarr/t2m/.ndl.yaml"), IsOkAnd(HasSubstr("t2m:")));
  EXPECT_THAT(Find("era5.zarr/nothing"), IsError(ErrorCode::kNotFound, HasSubstr("nothing")));
  EXPECT_THAT(Find("era5.zarr/t2m/data.csv"), IsError(ErrorCode::kNotFound, "data.csv"));
}

TEST_F(StoreTreeTest, StoreThatIsOneArrayHasTheViewsInItsFolder) {
  AddFileStore("a.npy").AddArray("/", "abc");
  EXPECT_THAT(List("a.npy"), ElementsAre(".ndl.yaml:f", ".source:l", "data.npy:f", "data.raw:f",
                                         "data.txt:f"));
  EXPECT_THAT(Read("a.npy/data.raw"), IsOkAnd("abc"));
}

TEST_F(StoreTreeTest, SourceIsARelativeLinkToTheStoreUnderItsOwnName) {
  AddDirectoryStore("runs/2024/a.zarr").AddGroup("/");
  AddFileStore("a.npy").AddArray("/", "abc");
  const auto target = [&](const std::string& path) { return (*Find(path))->ReadLink(); };
  EXPECT_THAT(target("runs/2024/a.zarr/.source"),
              IsOkAnd("../../../.ndlfs/source/runs/2024/a.zarr"));
  EXPECT_THAT(target("a.npy/.source"), IsOkAnd("../.ndlfs/source/a.npy"));
}

TEST_F(StoreTreeTest, ObjectsCalledLikeViewsAreFoundByTheirEscapedNameOnly) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  for (const char* group : {"/", "/g", "/g/error.txt"}) store.AddGroup(group);
  store.AddArray("/g/data.npy", "abc");
  EXPECT_THAT(List("a.zarr/g"), ElementsAre(".ndl.yaml:f", "data.nc:f", "index.html:f",
                                            "%64ata.npy:d", "%65rror.txt:d"));
  EXPECT_THAT(Read("a.zarr/g/%64ata.npy/data.raw"), IsOkAnd("abc"));
  EXPECT_THAT(Find("a.zarr/g/data.npy"), IsError(ErrorCode::kNotFound, "data.npy"));
  EXPECT_THAT(Find("a.zarr/g/error.txt"), IsError(ErrorCode::kNotFound, "error.txt"));
}

TEST_F(StoreTreeTest, NothingIsOpenedBeforeSomebodyLooksInside) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  const auto folder = Find("a.zarr");
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT((*folder)->Stat(), IsOk());
  EXPECT_THAT((*folder)->Lookup(".source"), IsOk());
  EXPECT_EQ(store.opened, 0);
  EXPECT_THAT((*folder)->OpenDirectory(), IsOk());
  EXPECT_EQ(store.opened, 1);
}

TEST_F(StoreTreeTest, ListingLoadsNoMoreThanTheFirstArray) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (int i = 0; i < 100; ++i) store.AddArray("/" + std::to_string(i), "x");
  EXPECT_THAT(List("a.zarr"), SizeIs(104));
  EXPECT_LE(store.loaded, 2) << "the group and one array";
  EXPECT_THAT(List("a.zarr"), ::testing::Contains("data.nc:f"));
  EXPECT_LE(store.loaded, 2);
}

TEST_F(StoreTreeTest, LargeGroupHasDataNcByNameOnly) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (int i = 0; i < 1001; ++i) store.AddArray("/" + std::to_string(i), "x");
  EXPECT_THAT(List("a.zarr"), SizeIs(1004));
  EXPECT_LE(store.loaded, 1);
  EXPECT_THAT(Find("a.zarr/data.nc"), ndlfs::test::IsOk());
  store.objects.erase("/7");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(List("a.zarr"), ::testing::Contains("data.nc:f"));
}

TEST_F(StoreTreeTest, StoreThatCannotBeOpenedShowsWhy) {
  FakeStore& store = AddFileStore("bad.npy");
  store.open_error = model::Error(ErrorCode::kBadInput, "bad.npy: no magic");
  EXPECT_THAT(List("bad.npy"), ElementsAre(".source:l", "error.txt:f"));
  EXPECT_THAT(Read("bad.npy/error.txt"), IsOkAnd("bad.npy: no magic\n"));
  EXPECT_THAT((*Find("bad.npy/.source"))->ReadLink(), IsOkAnd("../.ndlfs/source/bad.npy"));
  EXPECT_THAT(Find("bad.npy/.ndl.yaml"), IsError(ErrorCode::kNotFound, ".ndl.yaml"));
  EXPECT_THAT(logged_, ElementsAre("bad.npy: no magic"));
}

TEST_F(StoreTreeTest, ErrorNamesTheStoreOnceAndOnOneLine) {
  AddFileStore("a\nb.npy").open_error = model::Error(ErrorCode::kCorrupt, "truncated");
  EXPECT_THAT(Read("a\nb.npy/error.txt"), IsOkAnd("a\\x0ab.npy: truncated\n"));
}

TEST_F(StoreTreeTest, FailedReadIsToldInTheArraysFolder) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefgh").data->Put("1", "ef");
  const auto folder = Find("a.zarr/t");
  ASSERT_THAT(folder, IsOk());
  EXPECT_TRUE((*folder)->MayChange("error.txt"));
  EXPECT_TRUE((*folder)->MayChange("."));
  EXPECT_FALSE((*folder)->MayChange("data.raw"));
  EXPECT_TRUE((*Find("a.zarr"))->MayChange("error.txt"));
  EXPECT_THAT(Find("a.zarr/t/error.txt"), IsError(ErrorCode::kNotFound, "error.txt"));
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsError(ErrorCode::kCorrupt, HasSubstr("chunk 1: ")));
  EXPECT_THAT(List("a.zarr/t"), ElementsAre(".ndl.yaml:f", "error.txt:f", "data.npy:f",
                                            "data.raw:f", "data.txt:f"));
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd(HasSubstr("a.zarr/t: chunk 1: ")));
  // Repaired.
  store.objects["/t"].data->Put("1", "efgh");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(List("a.zarr/t"),
              ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f", "data.txt:f"));
  EXPECT_THAT(Find("a.zarr/t/error.txt"), IsError(ErrorCode::kNotFound, "error.txt"));
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsOkAnd("abcdefgh"));
}

TEST_F(StoreTreeTest, FailedReadIsStillToldWhenTheArrayHasLeftMemory) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefgh").data->Put("1", "ef");
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsError(ErrorCode::kCorrupt, HasSubstr("chunk 1: ")));
  const auto drop = [this] {
    const auto mounted = context_.catalog.Find("a.zarr", StatusOf("a.zarr")).value();
    std::weak_ptr<const Entity> entity;
    {
      const auto held = mounted->Get("/t").value();
      entity = held;
      context_.services.entities.Drop(held.get());
    }
    EXPECT_TRUE(entity.expired());
  };
  drop();
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd(HasSubstr("a.zarr/t: chunk 1: ")));
  // Repaired, while it is in memory again.
  store.objects["/t"].data->Put("1", "efgh");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Find("a.zarr/t/error.txt"), IsError(ErrorCode::kNotFound, "error.txt"));
  // And while it is not.
  store.objects["/t"].data->Put("1", "ef");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsError(ErrorCode::kCorrupt, HasSubstr("chunk 1: ")));
  drop();
  store.objects["/t"].data->Put("1", "efgh");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Find("a.zarr/t/error.txt"), IsError(ErrorCode::kNotFound, "error.txt"));
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsOkAnd("abcdefgh"));
}

TEST_F(StoreTreeTest, SizeOfJsonLinesIsFoundWhenItIsAskedFor) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "ab");
  const auto file = Find("a.zarr/t/data.jsonl");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(context_.cache.stats().misses, 0u);
  EXPECT_EQ((*file)->StatCost(), TreeNode::Cost::kRead);
  EXPECT_EQ((*file)->Stat()->size, 6u);
  EXPECT_EQ((*file)->StatCost(), TreeNode::Cost::kNothing);
  EXPECT_EQ(context_.cache.stats().misses, 1u);
  const auto opened = (*file)->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_FALSE(opened->size_unknown);
  EXPECT_THAT(Read(*opened), IsOkAnd("97\n98\n"));
  // New contents are another file, whose size is found anew.
  store.SetArray("/t", "xyz");
  ++store.objects["/t"].version;
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*file)->Open(), IsStale());
  const auto other = Find("a.zarr/t/data.jsonl");
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ((*other)->Stat()->size, 12u);
  EXPECT_EQ((*file)->Compare(**other), Relation::kDifferent);
}

TEST_F(StoreTreeTest, JsonLinesThatMayNotBeScannedAreNotThere) {
  context_.services.scan.max_bytes = 2;
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  EXPECT_THAT(List("a.zarr/t"),
              ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f", "data.txt:f"));
  EXPECT_THAT(Find("a.zarr/t/data.jsonl"),
              IsError(ErrorCode::kNotFound, HasSubstr("data.jsonl: more than 2 bytes")));
  EXPECT_THAT(Read("a.zarr/t/error.txt"),
              IsOkAnd(HasSubstr("a.zarr/t/data.jsonl: more than 2 bytes")));
}

TEST_F(StoreTreeTest, JsonLinesOfABrokenChunkFailAndSayWhy) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abcdefgh").data->Put("1", "ef");
  const auto file = Find("a.zarr/t/data.jsonl");
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT((*file)->Stat(),
              IsError(ErrorCode::kCorrupt, HasSubstr("a.zarr/t/data.jsonl: chunk 1: ")));
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd(HasSubstr("data.jsonl: chunk 1: ")));
}

TEST_F(StoreTreeTest, ArrayThatCannotBeDecodedHasNoViews) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc").node.error =
      model::Error(ErrorCode::kUnsupported, "unknown codec \"pcodec\"");
  EXPECT_THAT(List("a.zarr/t"), ElementsAre(".ndl.yaml:f", "error.txt:f"));
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd("a.zarr/t: unknown codec \"pcodec\"\n"));
  EXPECT_THAT(Read("a.zarr/t/.ndl.yaml"), IsOkAnd(HasSubstr("shape: [3]")));
  EXPECT_THAT(Find("a.zarr/t/data.npy"), IsError(ErrorCode::kNotFound, "data.npy"));
}

TEST_F(StoreTreeTest, ArrayWithBrokenMetadataHasOnlyTheReason) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc").broken = true;
  store.AddArray("/good", "abc");
  EXPECT_THAT(List("a.zarr"), ElementsAre(".ndl.yaml:f", ".source:l", "data.nc:f",
                                          "index.html:f", "good:d", "t:d"));
  EXPECT_THAT(List("a.zarr/t"), ElementsAre("error.txt:f"));
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd("a.zarr/t: broken metadata\n"));
  EXPECT_THAT(Read("a.zarr/good/data.raw"), IsOkAnd("abc"));
}

TEST_F(StoreTreeTest, NameThatTheFormatRefusesIsNotThere) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/sub", "abc");
  store.refused = "/__reserved";
  EXPECT_THAT(Find("a.zarr/__reserved"), IsError(ErrorCode::kNotFound, "/__reserved"));
  EXPECT_THAT(logged_, IsEmpty());
}

TEST_F(StoreTreeTest, NamesAreEncodedAndFoundAgain) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  const std::string long_name(300, 'n');
  for (const std::string& name : {std::string(".."), std::string("data.raw"), long_name}) {
    store.AddArray("/" + name, "abc");
  }
  const auto entries = List("a.zarr");
  ASSERT_THAT(entries, SizeIs(7));
  for (size_t i = 4; i < entries.size(); ++i) {
    const std::string file_name = entries[i].substr(0, entries[i].size() - 2);
    EXPECT_LE(file_name.size(), 255u);
    EXPECT_THAT(Read("a.zarr/" + file_name + "/data.raw"), IsOkAnd("abc")) << file_name;
  }
  for (const std::string& true_name : {long_name, std::string("data.raw")}) {
    EXPECT_THAT(Find("a.zarr/" + true_name), IsError(ErrorCode::kNotFound, ::testing::_));
  }
  EXPECT_THAT(Find("a.zarr/data.npy"), IsError(ErrorCode::kNotFound, ::testing::_));
  // Spellings of nothing, or of another object's path.
  store.AddArray("/plain", "abc");
  for (const char* spelling : {"%2Fplain", "%70lain", "%00", "plain~0123456789abcdef"}) {
    EXPECT_THAT(Find(std::string("a.zarr/") + spelling),
                IsError(ErrorCode::kNotFound, ::testing::_))
        << spelling;
  }
}

TEST_F(StoreTreeTest, GroupsOfArchivesAreFoundByTheirTrueNamesToo) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddGroup("/data.zarr");
  store.AddArray("/data.zarr/x", "abc");
  EXPECT_THAT(List("a.zarr"),
              ElementsAre(".ndl.yaml:f", ".source:l", "index.html:f", "%64ata.zarr:d"));
  EXPECT_THAT(Read("a.zarr/%64ata.zarr/x/data.raw"), IsOkAnd("abc"));
  EXPECT_THAT(Read("a.zarr/data.zarr/x/data.raw"), IsOkAnd("abc"));
}

TEST_F(StoreTreeTest, LinksLeadToTheFolderOfTheirTarget) {
  FakeStore& store = AddDirectoryStore("runs/a.h5");
  for (const char* group : {"/", "/g", "/g/h"}) store.AddGroup(group);
  store.links = {{"/g/h/up", "/g"}, {"/top", "/"}, {"/out", "../../../etc"}};
  const auto up = Find("runs/a.h5/g/h/up");
  ASSERT_THAT(up, IsOk());
  EXPECT_THAT((*up)->ReadLink(), IsOkAnd("../../g"));
  EXPECT_THAT((*Find("runs/a.h5/top"))->ReadLink(), IsOkAnd("."));
  EXPECT_THAT(List("runs/a.h5"),
              ElementsAre(".ndl.yaml:f", ".source:l", "index.html:f", "g:d", "out:d", "top:l"));
  EXPECT_THAT(List("runs/a.h5/out"), ElementsAre("error.txt:f"));
  EXPECT_THAT(Read("runs/a.h5/out/error.txt"),
              IsOkAnd("runs/a.h5/out: the link to \"../../../etc\" leads out of what is "
                      "mounted\n"));
}

TEST(LinkTextTest, IsRelativeToTheFolderOfTheLink) {
  EXPECT_EQ(LinkText("a.h5", "/x", "/y/z"), "y/z");
  EXPECT_EQ(LinkText("a.h5", "/g/x", "/y"), "../y");
  EXPECT_EQ(LinkText("a.h5", "/g/x", "/"), "..");
  EXPECT_EQ(LinkText("a.h5", "/x", "/a%2F"), "a%252F") << "names are encoded";
  EXPECT_EQ(LinkText("a.h5", "/g/x", "../b.h5/y"), "../../b.h5/y");
}

TEST(LinkTextTest, IsNoneWhereItWouldLeadOutOfTheMount) {
  EXPECT_EQ(LinkText("a.h5", "/x", "../../b.h5"), std::nullopt);
  EXPECT_EQ(LinkText("a.h5", "/x", "b/../../../c"), std::nullopt);
  EXPECT_EQ(LinkText("", "/x", "../b.h5"), std::nullopt);
  EXPECT_EQ(LinkText("d/a.h5", "/x", "../../b.h5"), "../../b.h5");
  EXPECT_EQ(LinkText("a.h5", "/x", ""), std::nullopt);
  EXPECT_EQ(LinkText("a.h5", "/x", std::string("a\0b", 3)), std::nullopt);
}

TEST_F(StoreTreeTest, PermissionsAreThoseOfTheStoreWithoutWriting) {
  AddFileStore("a.npy").AddArray("/", "abc");
  AddDirectoryStore("a.zarr").AddArray("/", "abc");
  const auto mode = [&](const std::string& path) { return (*Find(path))->Stat()->mode; };
  std::filesystem::permissions(source_.path() / "a.npy", std::filesystem::perms(0640));
  std::filesystem::permissions(source_.path() / "a.zarr", std::filesystem::perms(0750));
  EXPECT_EQ(mode("a.npy"), mode_t{S_IFDIR | 0550});
  EXPECT_EQ(mode("a.npy/data.raw"), mode_t{S_IFREG | 0440});
  EXPECT_EQ(mode("a.npy/.source"), mode_t{S_IFLNK | 0777}) << "as links have";
  EXPECT_EQ(mode("a.zarr"), mode_t{S_IFDIR | 0550});
  EXPECT_EQ(mode("a.zarr/data.raw"), mode_t{S_IFREG | 0440});
  EXPECT_EQ(mode("a.zarr/.ndl.yaml"), mode_t{S_IFREG | 0440});
}

TEST_F(StoreTreeTest, SizesAreExactAndCostNoReading) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  const auto data = store.AddArray("/", "abc").data;
  EXPECT_EQ((*Find("a.zarr/data.raw"))->Stat()->size, 3u);
  EXPECT_EQ((*Find("a.zarr/data.npy"))->Stat()->size, 131u);
  EXPECT_EQ((*Find("a.zarr/.ndl.yaml"))->Stat()->size, Read("a.zarr/.ndl.yaml")->size());
  EXPECT_EQ(data->reads(), 0u);
}

TEST_F(StoreTreeTest, WhoMayNotReadTheMetadataMayNotReadTheData) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc").node.files = {"t/.zarray", "t/.zattrs"};
  store.AddArray("/gone", "abc").node.files = {"gone/.zarray"};
  std::filesystem::create_directory(source_.path() / "a.zarr/t");
  ndlfs::test::WriteFile(source_ / "a.zarr/t/.zarray", "{}");
  ndlfs::test::WriteFile(source_ / "a.zarr/t/.zattrs", "{}");
  std::filesystem::permissions(source_.path() / "a.zarr", std::filesystem::perms(0755));
  std::filesystem::permissions(source_.path() / "a.zarr/t", std::filesystem::perms(0751));
  std::filesystem::permissions(source_.path() / "a.zarr/t/.zarray",
                               std::filesystem::perms(0644));
  std::filesystem::permissions(source_.path() / "a.zarr/t/.zattrs",
                               std::filesystem::perms(0640));
  const auto mode = [&](const std::string& path) { return (*Find(path))->Stat()->mode; };
  EXPECT_EQ(mode("a.zarr"), mode_t{S_IFDIR | 0555});
  EXPECT_EQ(mode("a.zarr/.ndl.yaml"), mode_t{S_IFREG | 0444});
  EXPECT_EQ(mode("a.zarr/t"), mode_t{S_IFDIR | 0551}) << "that of its directory";
  EXPECT_EQ(mode("a.zarr/t/data.raw"), mode_t{S_IFREG | 0440});
  EXPECT_EQ(mode("a.zarr/t/.ndl.yaml"), mode_t{S_IFREG | 0440});
  EXPECT_EQ(mode("a.zarr/gone"), mode_t{S_IFDIR | 0111});
  EXPECT_EQ(mode("a.zarr/gone/data.raw"), mode_t{S_IFREG});
}

TEST_F(StoreTreeTest, FolderShowsItsMetadataFilesWithoutLoadingThem) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (const char* name : {"sound", "broken"}) {
    auto& node = store.AddArray(std::string("/") + name, "abc").node;
    node.files = {std::string(name) + "/.zarray"};
    node.mtime_ns = 7'000'000'000;
    std::filesystem::create_directory(source_.path() / "a.zarr" / name);
    ndlfs::test::WriteFile(source_ / ("a.zarr/" + node.files.front()), "{}");
    std::filesystem::permissions(source_.path() / "a.zarr" / node.files.front(),
                                 std::filesystem::perms(0600));
  }
  store.objects["/broken"].broken = true;
  store.finds_files = true;
  for (const char* path : {"a.zarr/sound", "a.zarr/broken"}) {
    ASSERT_THAT(Find("a.zarr"), IsOk());
    (void)Find("a.zarr/none");
    const int loaded = store.loaded;
    const auto before = (*Find(path))->Stat().value();
    EXPECT_EQ(store.loaded, loaded);
    EXPECT_EQ(before.mtime_ns, 7'000'000'000);
    EXPECT_EQ(before.mode & 0777, mode_t{0511});
    EXPECT_THAT(List(path), ::testing::Not(IsEmpty()));
    EXPECT_GT(store.loaded, loaded);
    const auto after = (*Find(path))->Stat().value();
    EXPECT_EQ(after.mtime_ns, before.mtime_ns);
    EXPECT_EQ(after.mode, before.mode);
  }
  EXPECT_THAT(Find("a.zarr/none"), IsError(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST_F(StoreTreeTest, FolderOfAnArrayInUseHasTheTimeOfItsChunks) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  const auto data = store.AddArray("/t", "abc").data;
  store.finds_files = true;
  const auto file = Find("a.zarr/t/data.raw");
  ASSERT_THAT(file, IsOk());
  const auto opened = (*file)->Open();
  ASSERT_THAT(Read(*opened), IsOkAnd("abc"));
  const int64_t before = (*Find("a.zarr/t"))->Stat()->mtime_ns;
  Pass(std::chrono::seconds(2));
  StoredArray::Put(*data, "xyz");
  const int64_t after = (*Find("a.zarr/t"))->Stat()->mtime_ns;
  EXPECT_NE(after, before);
  EXPECT_EQ(after, (*Find("a.zarr/t/data.raw"))->Stat()->mtime_ns);
}

// Close-to-open: as soon as what was seen is not fresh.

TEST_F(StoreTreeTest, UnchangedArrayStaysTheSameInode) {
  AddDirectoryStore("a.zarr").AddArray("/", "abc");
  const auto before = Find("a.zarr/data.raw");
  ASSERT_THAT((*before)->Open(), IsOk());
  Pass(std::chrono::seconds(10));
  const auto after = Find("a.zarr/data.raw");
  EXPECT_EQ((*before)->Compare(**after), Relation::kSame);
  EXPECT_THAT((*before)->Open(), IsOk());
}

TEST_F(StoreTreeTest, ChangedMetadataMakeANewInodeAndKeepTheOldHandle) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto before = Find("a.zarr/t/data.raw");
  const auto opened = (*before)->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(Read(*opened), IsOkAnd("abc"));

  store.objects.at("/t").data = std::make_shared<MemoryStore>();
  store.SetArray("/t", "longer");
  ++store.objects.at("/t").version;
  EXPECT_THAT((*before)->Open(), IsOk()) << "what was seen is still fresh";
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  const auto after = Find("a.zarr/t/data.raw");
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_EQ((*after)->Stat()->size, 6u);
  EXPECT_THAT(Read("a.zarr/t/data.raw"), IsOkAnd("longer"));
  EXPECT_THAT(Read(*opened), IsOkAnd("abc")) << "who has the old one open keeps it";
}

TEST_F(StoreTreeTest, ChangedChunkMakesANewInodeWithItsTime) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abc");
  EXPECT_THAT(Read("a.zarr/data.raw"), IsOkAnd("abc"));
  const auto before = Find("a.zarr/data.raw");
  ASSERT_THAT((*before)->Open(), IsOk());
  store.objects.at("/").data->Put("0", "xyz");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  const auto after = Find("a.zarr/data.raw");
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_EQ((*after)->Stat()->mtime_ns, (*store.objects.at("/").data->Stat("0"))->modified_ns);
  EXPECT_THAT(Read("a.zarr/data.raw"), IsOkAnd("xyz"));
}

TEST_F(StoreTreeTest, ChunkThatChangesUnderAReaderIsNotMixedIn) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abcdefgh");
  const auto opened = (*Find("a.zarr/data.raw"))->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(Read(*opened), IsOkAnd("abcdefgh"));
  store.SetArray("/", "ABCDEFGH");
  const auto folder = Find("a.zarr");
  const auto mounted = context_.catalog.Find("a.zarr", StatusOf("a.zarr")).value();
  context_.cache.Forget((*mounted->Get("/"))->reader()->source().id());
  EXPECT_THAT(Read(*opened), IsStale());
  EXPECT_THAT(Read("a.zarr/data.raw"), IsOkAnd("ABCDEFGH"))
      << "a change that a read has noticed needs no waiting";
}

TEST_F(StoreTreeTest, DroppedEntityIsAsGoodAsNewForAnInodeWithoutPages) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abc");
  const auto node = Find("a.zarr/data.raw");
  const auto served = Find("a.zarr/data.npy");
  ASSERT_THAT((*served)->Open(), IsOk());
  // Others take its place in memory.
  FakeStore& others = AddDirectoryStore("b.zarr");
  others.AddGroup("/");
  for (int i = 0; i < 5000; ++i) {
    others.AddArray("/" + std::to_string(i), "x");
    ASSERT_THAT(Find("b.zarr/" + std::to_string(i)), IsOk());
  }
  EXPECT_THAT((*node)->Open(), IsOk());
  EXPECT_THAT((*served)->Open(), IsStale())
      << "nobody has watched the chunks that its pages came from";
}

TEST_F(StoreTreeTest, FileThatIsReplacedIsOpenedAnew) {
  FakeStore& store = AddFileStore("a.npy");
  store.AddArray("/", "abc");
  EXPECT_THAT(Read("a.npy/data.raw"), IsOkAnd("abc"));
  const auto before = Find("a.npy/data.raw");
  store.SetArray("/", "longer");
  ++store.objects.at("/").version;
  ndlfs::test::WriteFile(source_ / "a.npy", "other contents");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  EXPECT_THAT(Read("a.npy/data.raw"), IsOkAnd("longer"));
  EXPECT_EQ(store.opened, 2);
}

TEST_F(StoreTreeTest, StoreThatIsPutRightIsOpenedAgain) {
  FakeStore& store = AddFileStore("a.npy");
  store.open_error = model::Error(ErrorCode::kBadInput, "half written");
  const auto known = Find("a.npy");
  EXPECT_THAT(List("a.npy"), ElementsAre(".source:l", "error.txt:f"));
  Pass(std::chrono::seconds(10));
  EXPECT_THAT(List("a.npy"), ElementsAre(".source:l", "error.txt:f"));
  EXPECT_EQ(store.opened, 1) << "the file has not changed";
  store.open_error.reset();
  store.AddArray("/", "abc");
  ndlfs::test::WriteFile(source_ / "a.npy", "all of it");
  Pass(std::chrono::seconds(10));
  EXPECT_THAT(Read("a.npy/data.raw"), IsOkAnd("abc"));
}

TEST_F(StoreTreeTest, FailureOfTheSystemIsTransient) {
  FakeStore& store = AddFileStore("a.npy");
  store.AddArray("/", "abc");
  store.open_error = model::Error(ErrorCode::kIo, "too many open files", EMFILE);
  EXPECT_THAT(Read("a.npy/error.txt"), IsOkAnd(HasSubstr("too many open files")));
  store.open_error.reset();
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(Read("a.npy/data.raw"), IsOkAnd("abc"));
}

TEST_F(StoreTreeTest, StoreThatIsGoneHasToBeLookedUpAgain) {
  AddDirectoryStore("a.zarr").AddArray("/", "abc");
  const auto folder = Find("a.zarr");
  ASSERT_THAT((*folder)->Lookup("data.raw"), IsOk());
  std::filesystem::remove_all(source_.path() / "a.zarr");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*folder)->Lookup("data.raw"), IsStale());
  EXPECT_THAT(List(**folder), ElementsAre(HasSubstr("error: ")));
  EXPECT_THAT(Find("a.zarr"), IsError(ErrorCode::kNotFound, "a.zarr"));
}

TEST_F(StoreTreeTest, DocumentFollowsWhatIsBelow) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto before = Find("a.zarr/.ndl.yaml");
  EXPECT_THAT(Read(*(*before)->Open()), IsOkAnd(HasSubstr("shape: [3]")));
  store.SetArray("/t", "abcd");
  ++store.objects.at("/t").version;  // that of "/" is the same
  Pass(std::chrono::seconds(1));
  EXPECT_THAT((*before)->Open(), IsStale());
  const auto after = Find("a.zarr/.ndl.yaml");
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_THAT(Read(*(*after)->Open()), IsOkAnd(HasSubstr("shape: [4]")));
}

TEST_F(StoreTreeTest, DocumentFollowsTheValuesOfCoordinates) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddCoordinate("/x", "\x01\x02\x03");
  EXPECT_THAT(Read("a.zarr/.ndl.yaml"), IsOkAnd(HasSubstr("value: [1, 2, 3]")));
  store.objects.at("/x").data->Put("0", "\x01\x02\x04");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(Read("a.zarr/.ndl.yaml"), IsOkAnd(HasSubstr("value: [1, 2, 4]")));
}

TEST_F(StoreTreeTest, DocumentOfAnUnchangedStoreIsWrittenOnce) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (int i = 0; i < 10; ++i) store.AddArray("/" + std::to_string(i), "x");
  const auto before = Find("a.zarr/.ndl.yaml");
  ASSERT_THAT((*before)->Open(), IsOk());
  const int loaded = store.loaded;
  Pass(std::chrono::seconds(10));
  ASSERT_THAT((*before)->Open(), IsOk());
  EXPECT_EQ(store.loaded, loaded);
  EXPECT_NE((*before)->Compare(**Find("a.zarr/.ndl.yaml")), Relation::kDifferent);
}

TEST_F(StoreTreeTest, NewArrayAppearsInListingAndDocument) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  EXPECT_THAT(Read("a.zarr/.ndl.yaml"), IsOk());
  store.AddArray("/late", "abc");
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(List("a.zarr"),
              ElementsAre(".ndl.yaml:f", ".source:l", "data.nc:f", "index.html:f", "late:d"));
  EXPECT_THAT(Read("a.zarr/.ndl.yaml"), IsOkAnd(HasSubstr("late:")));
}

class ImmutableStoreTreeTest : public MountTest {
 protected:
  ImmutableStoreTreeTest() : MountTest(/*immutable=*/true) {}
};

TEST_F(ImmutableStoreTreeTest, NothingIsLookedAtAgain) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddArray("/", "abc");
  const auto node = Find("a.zarr/data.raw");
  store.SetArray("/", "longer");
  ++store.objects.at("/").version;
  Pass(std::chrono::hours(1000));
  const auto opened = (*node)->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ((*node)->Stat()->size, 3u);
  EXPECT_EQ(store.opened, 1);
}

TEST_F(StoreTreeTest, ExtendedAttributesTellOfTheEntity) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto attributes = (*Find("a.zarr/t"))->GetExtendedAttributes();
  ASSERT_THAT(attributes, IsOk());
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(
      *attributes,
      ElementsAre(Pair("user.ndl.path", "/t"), Pair("user.ndl.kind", "ndarray"),
                  Pair("user.ndl.type", "uint8"), Pair("user.ndl.shape", "[3]"),
                  Pair("user.ndl.store", "a.zarr"),
                  Pair("user.ndl.views", "[data.npy, data.raw, data.txt, data.jsonl]")));
  EXPECT_THAT(*(*Find("a.zarr/t/data.raw"))->GetExtendedAttributes(), IsEmpty());
}

}  // namespace
}  // namespace ndlfs::fs::fake
