// SPDX-License-Identifier: MIT
#include "fs/tree/view/whole_files.h"

#include <gmock/gmock.h>

#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsError;
using ndlfs::test::IsOkAnd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

NamedStore Store(const std::string& name, std::vector<std::string> objects = {"/"}) {
  return {name, "dir/" + name, std::move(objects), false};
}

// "shown name <- store:object" for each file.
std::vector<std::string> Given(const std::vector<NamedStore>& stores,
                               const std::set<std::string, std::less<>>& taken = {}) {
  std::vector<std::string> all;
  for (const auto& [name, file] : GiveNames(stores, taken, "nc").files) {
    all.push_back(name + " <- " + file.store_path + ":" + file.object);
  }
  return all;
}

TEST(GiveNamesTest, ExtensionOfTheStoreIsReplaced) {
  EXPECT_THAT(
      Given({Store(".zarr"), Store("era5.v2.zarr"), Store("run"), Store("tas.nc")}),
      UnorderedElementsAre(".zarr.nc <- dir/.zarr:/", "era5.v2.nc <- dir/era5.v2.zarr:/",
                           "run.nc <- dir/run:/", "tas.nc <- dir/tas.nc:/"));
}

TEST(GiveNamesTest, GroupsHaveTheirPathBehindTheName) {
  EXPECT_THAT(Given({Store("a.zarr", {"/", "/f", "/f/w.x", "/a%2Fb"})}),
              UnorderedElementsAre("a.nc <- dir/a.zarr:/", "a.f.nc <- dir/a.zarr:/f",
                                   "a.f.w.x.nc <- dir/a.zarr:/f/w.x",
                                   "a.a%252Fb.nc <- dir/a.zarr:/a%2Fb"));
}

TEST(GiveNamesTest, StoresOfOneNameKeepTheirExtensions) {
  EXPECT_THAT(Given({Store("a.h5", {"/g"}), Store("a.zarr")}),
              UnorderedElementsAre("a.h5.g.nc <- dir/a.h5:/g", "a.zarr.nc <- dir/a.zarr:/"));
  EXPECT_THAT(Given({Store("a.nc"), Store("a.zarr")}),
              UnorderedElementsAre("a.nc <- dir/a.nc:/", "a.zarr.nc <- dir/a.zarr:/"))
      << "a name of its own stays";
}

TEST(GiveNamesTest, OtherFilesKeepTheirNames) {
  EXPECT_THAT(Given({Store("a.zarr")}, {"a.nc"}), ElementsAre("a.zarr.nc <- dir/a.zarr:/"));
  EXPECT_THAT(Given({Store("a.zarr")}, {"a.nc", "a.zarr.nc"}),
              ElementsAre("a.zarr_2.nc <- dir/a.zarr:/"));
}

TEST(GiveNamesTest, NamesOfGroupsThatAreTakenGetNumbers) {
  EXPECT_THAT(
      Given({Store("a.b.zarr"), Store("a.zarr", {"/b", "/x.y", "/x/y"})}),
      UnorderedElementsAre("a.b.nc <- dir/a.b.zarr:/", "a.b_2.nc <- dir/a.zarr:/b",
                           "a.x.y.nc <- dir/a.zarr:/x.y", "a.x.y_2.nc <- dir/a.zarr:/x/y"));
}

TEST(GiveNamesTest, LongNamesAreShortened) {
  const WholeFileNames names =
      GiveNames({Store(std::string(254, 'n'), {"/", "/group"})}, {}, "nc");
  ASSERT_EQ(names.files.size(), 2u);
  for (const auto& [name, file] : names.files) EXPECT_LE(name.size(), 255u);
}

Scope AsNetcdf() {
  Scope scope;
  scope.as = "nc";
  return scope;
}

// Bytes without a sign as netCDF classic has them: big-endian, of 16 bits.
std::string AsShorts(std::string_view bytes) {
  std::string shorts;
  for (const char byte : bytes) {
    shorts += '\0';
    shorts += byte;
  }
  return shorts;
}

class WholeFilesTest : public MountTest {
 protected:
  WholeFilesTest() : MountTest(false, AsNetcdf()) {}
};

TEST_F(WholeFilesTest, StoresAreFilesAndAllElseIsAsItWas) {
  FakeStore& store = AddDirectoryStore("era5.zarr");
  for (const char* group : {"/", "/g", "/g/empty"}) store.AddGroup(group);
  store.AddArray("/t", "abc");
  store.AddArray("/g/u", "xyz");
  AddFileStore("x.npy").AddArray("/", "abcd");
  ndlfs::test::WriteFile((source_.path() / "notes.txt").string(), "hello");
  std::filesystem::create_directory(source_.path() / "sub");
  EXPECT_THAT(List(""), UnorderedElementsAre("era5.nc:f", "era5.g.nc:f", "x.nc:f",
                                             StartsWith("notes.txt:"), "sub:d"));
  EXPECT_THAT(Read("era5.nc"), IsOkAnd(StartsWith("CDF")));
  EXPECT_THAT(Read("era5.nc"), IsOkAnd(HasSubstr(AsShorts("abc"))));
  EXPECT_THAT(Read("era5.g.nc"), IsOkAnd(HasSubstr(AsShorts("xyz"))));
  EXPECT_THAT(Read("x.nc"), IsOkAnd(HasSubstr(AsShorts("abcd"))));
  EXPECT_THAT(Read("notes.txt"), IsOkAnd("hello"));
  for (const char* name : {"era5.zarr", "x.npy", "era5.g.empty.nc", "other.nc"}) {
    EXPECT_THAT(Find(name), IsError(ErrorCode::kNotFound, ::testing::_)) << name;
  }
}

TEST_F(WholeFilesTest, LinksToStoresAreFilesUnderTheNamesOfTheLinks) {
  AddFileStore("a.npy").AddArray("/", "abcd");
  std::filesystem::create_directories(source_.path() / "sub/deep");
  AddFileStore("sub/b.npy").AddArray("/", "efgh");
  const auto link = [&](const char* target, const char* name) {
    std::filesystem::create_symlink(target, source_.path() / name);
  };
  link("a.npy", "latest");
  link("latest", "again.npy");
  link("sub/b.npy", "a.zarr");
  link("../a.npy", "sub/up.npy");
  link("sub/deep", "folder");
  link("folder/../b.npy", "through");
  link("loop", "loop");
  link("/etc/passwd", "out");
  link("gone.npy", "gone");
  EXPECT_THAT(List(""), UnorderedElementsAre("a.npy.nc:f", "a.zarr.nc:f", "latest.nc:f",
                                             "again.nc:f", "sub:d", "folder:l", "through:l",
                                             "loop:l", "out:l", "gone:l"));
  EXPECT_THAT(List("sub"), UnorderedElementsAre("b.nc:f", "up.nc:f", "deep:d"));
  for (const char* name : {"a.npy.nc", "latest.nc", "again.nc", "sub/up.nc"}) {
    EXPECT_THAT(Read(name), IsOkAnd(HasSubstr(AsShorts("abcd")))) << name;
  }
  EXPECT_THAT(Read("a.zarr.nc"), IsOkAnd(HasSubstr(AsShorts("efgh"))));
  EXPECT_THAT(Find("latest"), IsError(ErrorCode::kNotFound, ::testing::_));
}

TEST_F(WholeFilesTest, StoreWithoutSuchAFileStaysAFolder) {
  FakeStore& broken = AddFileStore("bad.npy");
  broken.open_error = model::Error(ErrorCode::kBadInput, "bad.npy: no magic");
  AddDirectoryStore("empty.zarr").AddGroup("/");
  EXPECT_THAT(List(""), UnorderedElementsAre(StartsWith("bad.npy:"), "empty.zarr:d"));
  EXPECT_THAT(Read("bad.npy/error.txt"), IsOkAnd("bad.npy: no magic\n"));
}

TEST_F(WholeFilesTest, StoresAppearAndGo) {
  AddFileStore("a.npy").AddArray("/", "abc");
  EXPECT_THAT(List(""), ElementsAre("a.nc:f"));
  AddFileStore("b.npy").AddArray("/", "abc");
  Pass(std::chrono::seconds(100));
  EXPECT_THAT(List(""), ElementsAre("a.nc:f", "b.nc:f"));
  std::filesystem::remove(source_.path() / "a.npy");
  Pass(std::chrono::seconds(100));
  EXPECT_THAT(List(""), ElementsAre("b.nc:f"));
  EXPECT_THAT(Find("a.nc"), IsError(ErrorCode::kNotFound, ::testing::_));
}

TEST_F(WholeFilesTest, FileThatCannotBeMadeIsNotListedAgain) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (const char* name : {"/t", "/u", "/v"}) {
    auto& entity = store.AddArray(name, "abc").node.entity;
    std::get<model::Ndarray>(entity).shape[0].size = uint64_t{1} << 61;
  }
  EXPECT_THAT(Find("a.nc"), IsError(ErrorCode::kNotFound, ::testing::_));
  EXPECT_THAT(List(""), ElementsAre("a.zarr:d"));
  EXPECT_THAT(Read("a.zarr/error.txt"), IsOkAnd(HasSubstr("data.nc: more than ")));
  ASSERT_FALSE(logged_.empty());
  EXPECT_THAT(logged_.back(), HasSubstr("data.nc: more than "));
  store.objects.erase("/u");
  store.objects.erase("/v");
  store.SetArray("/t", "abc");
  ++store.objects.at("/t").version;
  Pass(std::chrono::seconds(100));
  EXPECT_THAT(List(""), ElementsAre("a.nc:f"));
}

}  // namespace
}  // namespace ndlfs::fs::fake
