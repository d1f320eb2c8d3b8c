// SPDX-License-Identifier: MIT
//
// `.versions` in the folders of stores that have versions.
#include "fs/tree/store/versions_folder.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "fs/tree/store_tree.h"
#include "fs/tree/xattr.h"
#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ndlfs::test::IsStale;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class VersionsFolderTest : public MountTest {
 protected:
  VersionsFolderTest() : top_(AddDirectoryStore("d/r")) {
    top_.AddGroup("/");
    top_.AddArray("/t", "now");
    AddVersion("branch=main", "now");
    AddVersion("branch=a/b", "other");
    AddVersion("tag=v1", "old");
    AddVersion("tag=data.nc", "odd");
    AddVersion("snapshot=1CECHNKREP0F1RSTCMT0", "first");
    AddVersion("at=2026-05-01T00:00", "then");
  }

  FakeStore& AddVersion(const std::string& ref, const std::string& bytes) {
    auto store = std::make_shared<FakeStore>();
    store->AddGroup("/");
    store->AddArray("/t", bytes);
    return *(top_.versions[ref] = std::move(store));
  }

  FakeStore& top_;
};

TEST_F(VersionsFolderTest, ListsTheNamesAsFileNames) {
  EXPECT_THAT(List("d/r"), Not(Contains(HasSubstr(".versions"))));
  EXPECT_THAT(List("d/r/.versions"),
              UnorderedElementsAre("branches:d", "tags:d", "snapshots:d", "at:d", "log.txt:f"));
  EXPECT_THAT(List("d/r/.versions/branches"), UnorderedElementsAre("a%2Fb:d", "main:d"));
  EXPECT_THAT(List("d/r/.versions/tags"), UnorderedElementsAre("%64ata.nc:d", "v1:d"));
  EXPECT_THAT(List("d/r/.versions/snapshots"), ElementsAre("1CECHNKREP0F1RSTCMT0:d"));
  EXPECT_THAT(List("d/r/.versions/at"), IsEmpty());
  EXPECT_THAT(Read("d/r/.versions/log.txt"), IsOkAnd("the log\n"));
}

TEST_F(VersionsFolderTest, EachIsTheStoreAtThatVersion) {
  const std::string versions = "d/r/.versions/";
  EXPECT_THAT(Read("d/r/t/data.raw"), IsOkAnd("now"));
  EXPECT_THAT(Read(versions + "branches/main/t/data.raw"), IsOkAnd("now"));
  EXPECT_THAT(Read(versions + "branches/a%2Fb/t/data.raw"), IsOkAnd("other"));
  EXPECT_THAT(Read(versions + "tags/v1/t/data.raw"), IsOkAnd("old"));
  EXPECT_THAT(Read(versions + "tags/%64ata.nc/t/data.raw"), IsOkAnd("odd"));
  EXPECT_THAT(Read(versions + "snapshots/1CECHNKREP0F1RSTCMT0/t/data.raw"), IsOkAnd("first"));
  EXPECT_THAT(Read(versions + "at/2026-05-01T00:00/t/data.raw"), IsOkAnd("then"));
  EXPECT_THAT(List(versions + "tags/v1"), List("d/r"));
  EXPECT_THAT(Read(versions + "tags/v1/.ndl.yaml"), IsOkAnd(HasSubstr("shape: [3]")));
}

TEST_F(VersionsFolderTest, TellsWhereAVersionIs) {
  const auto folder = Find("d/r/.versions/tags/v1");
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT((*folder)->GetExtendedAttribute(kRefAttributeName), IsOkAnd("tag=v1"));
  const auto place = (*folder)->GetExtendedAttribute("user.ndl.store");
  EXPECT_THAT(place, IsOkAnd(::testing::Optional(HasSubstr("d/r/.versions/tags/v1"))));
  EXPECT_THAT((*Find("d/r/.versions/tags/v1/.source"))->ReadLink(),
              IsOkAnd("../../../../../.ndlfs/source/d/r"));
}

TEST_F(VersionsFolderTest, OtherNamesAreNotFound) {
  top_.gone.insert("tag=lost");
  for (const std::string name :
       {"tags/x", "tags/lost", "branches/a", "branches/a%2f", "snapshots/x", "at/yesterday",
        "at/2020-01-01", "x", "tags/v1/.versions", "tags/data.nc"}) {
    EXPECT_THAT(Find("d/r/.versions/" + name), IsError(ErrorCode::kNotFound, _)) << name;
  }
  EXPECT_THAT(Find("d/r/t/.versions"), IsError(ErrorCode::kNotFound, _));
  EXPECT_THAT(logged_, ElementsAre(HasSubstr("d/r/.versions/tags/lost: tag=lost was deleted")));
}

TEST_F(VersionsFolderTest, OnlyStoresWithVersionsHaveIt) {
  FakeStore& plain = AddDirectoryStore("p");
  plain.AddGroup("/");
  plain.AddGroup("/.versions");
  EXPECT_THAT(List("p"), Contains("%2Eversions:d"));
  EXPECT_THAT(Find("p/%2Eversions"), IsOk());
  FakeStore& broken = AddDirectoryStore("b");
  broken.open_error = model::BadInput("broken").value();
  EXPECT_THAT(Find("b/.versions"), IsError(ErrorCode::kNotFound, _));
}

TEST_F(VersionsFolderTest, FixedVersionIsNotLookedAtAgain) {
  EXPECT_THAT(Read("d/r/.versions/tags/v1/t/data.raw"), IsOkAnd("old"));
  EXPECT_THAT(Read("d/r/.versions/branches/main/t/data.raw"), IsOkAnd("now"));
  const int asked = top_.asked;
  top_.versions["tag=v1"]->objects["/"].version = 2;
  top_.versions["branch=main"]->objects["/"].version = 2;
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Read("d/r/.versions/tags/v1/t/data.raw"), IsOkAnd("old"));
  EXPECT_EQ(top_.versions["tag=v1"]->opened, 1);
  EXPECT_EQ(top_.asked, asked);
  EXPECT_THAT(Read("d/r/.versions/branches/main/t/data.raw"), IsOkAnd("now"));
  EXPECT_EQ(top_.versions["branch=main"]->opened, 2);
}

TEST_F(VersionsFolderTest, ListingAnswersForTheNamesInIt) {
  List("d/r/.versions/tags");
  const int asked = top_.asked;
  EXPECT_THAT(Find("d/r/.versions/tags/v1"), IsOk());
  EXPECT_THAT(Find("d/r/.versions/branches/main"), IsOk());
  EXPECT_EQ(top_.asked, asked);
  Pass(std::chrono::seconds(2));
  AddVersion("tag=v2", "new");
  EXPECT_THAT(List("d/r/.versions/tags"), Contains("v2:d"));
}

TEST_F(VersionsFolderTest, VersionThatGoesIsLookedUpAgain) {
  const auto folder = Find("d/r/.versions/branches/a%2Fb");
  ASSERT_THAT(folder, IsOk());
  top_.versions["branch=a/b"]->objects["/"].version = 2;
  top_.versions.erase("branch=a/b");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*folder)->Lookup("t"), IsStale());
  EXPECT_THAT(Find("d/r/.versions/branches/a%2Fb"), IsError(ErrorCode::kNotFound, _));
}

}  // namespace
}  // namespace ndlfs::fs::fake
