// SPDX-License-Identifier: MIT
//
// Views in the tree: aliases, what listings show, and files that are made of a
// whole group.
#include "fs/tree/store/store_views.h"

#include <gmock/gmock.h>

#include <array>

#include "fs/tree/store_tree.h"
#include "fs/view/elements/segmented_view.h"
#include "tests/fs/fake_store.h"

namespace ndlfs::fs::fake {
namespace {

using model::ErrorCode;
using ndlfs::test::IsErrno;
using ndlfs::test::IsError;
using ndlfs::test::IsOk;
using ndlfs::test::IsOkAnd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using Relation = TreeNode::Relation;

// data.all: the arrays of a group one after the other, each with its name.
template <typename Load>
model::Result<ViewNode> MakeAll(const GroupInput& group, const Load& load) {
  std::vector<Segment> segments;
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const GroupChild child, load(name));
    if (!child.array) continue;
    segments.emplace_back(Literal(name + ":"));
    segments.emplace_back(AllOf(child.array->elements));
  }
  return MakeSegmentedView(std::move(segments));
}
constexpr GroupViewKind kAllView = {
    .file_name = "data.all",
    .applies_to = [](const GroupInput&) { return true; },
    .make = [](const GroupInput& group) -> model::Result<ViewNode> {
      return MakeAll(group, [&](const std::string& name) { return group.Load(name); });
    },
};

// data.elements: the same, made of no more of the arrays than their elements.
constexpr GroupViewKind kElementsView = {
    .file_name = "data.elements",
    .applies_to = [](const GroupInput&) { return true; },
    .is_listed = [](const GroupInput&) { return false; },
    .make = [](const GroupInput& group) -> model::Result<ViewNode> {
      return MakeAll(group, [&](const auto& name) { return group.LoadForElements(name); });
    },
};

// data.deep: the names of all that is below a group.
model::Result<void> AppendNames(const GroupInput& group, std::string& text) {
  NDLFS_TRY(const auto names, group.List());
  for (const std::string& name : names) {
    NDLFS_TRY(const GroupChild child, group.Load(name));
    text += name + ' ';
    if (child.group) NDLFS_RETURN_IF_ERROR(AppendNames(*child.group, text));
  }
  return {};
}
constexpr GroupViewKind kDeepView = {
    .file_name = "data.deep",
    .applies_to = [](const GroupInput& group) { return group.path() == "/"; },
    .is_listed = [](const GroupInput&) { return false; },
    .make = [](const GroupInput& group) -> model::Result<ViewNode> {
      std::string text;
      NDLFS_RETURN_IF_ERROR(AppendNames(group, text));
      return MakeSegmentedView({Literal(std::move(text))});
    },
};

// data.scope: the bytes of the coordinates along the first dimension of an array.
constexpr ArrayViewKind kScopeView = {
    .file_name = "data.scope",
    .applies_to = [](const ArrayInput&) { return true; },
    .is_listed = [](const ArrayInput&) { return false; },
    .make = [](const ArrayInput& array) -> model::Result<ViewNode> {
      NDLFS_TRY(const auto found, FindCoordinate(array, 0));
      if (!found) return MakeSegmentedView({Literal("none")});
      return MakeSegmentedView({Literal(PathOf(*found) + ":"), AllOf(found->elements)});
    },
};

// "data[N].count": as many files as there are numbers, of N bytes.
class CountProvider final : public ArrayViewProvider {
 public:
  std::vector<ViewName> Names(const ArrayInput&) const override { return {}; }
  std::optional<Resolution> Resolve(const ArrayInput&, std::string_view name) const override {
    if (!name.ends_with("].count")) return std::nullopt;
    Resolution file{{std::string(name), /*is_listed=*/false}};
    file.make = [this, name = file.name]() -> model::Result<ViewNode> {
      ++made;
      return MakeSegmentedView({Zeros{std::stoull(name.substr(5))}});
    };
    return file;
  }
  mutable int made = 0;
};

class StoreViewsTest : public MountTest {
 protected:
  StoreViewsTest() {
    context_.services.group_views = &group_views_;
    context_.services.array_views = &array_views_;
  }

  static constexpr std::array<const GroupViewKind*, 2> kKinds = {&kAllView, &kDeepView};
  const KindProvider<GroupInput> group_views_{kKinds};
  static constexpr std::array<const ArrayViewKind*, 1> kScope = {&kScopeView};
  const CountProvider counts_;
  const KindProvider<ArrayInput> scope_{kScope};
  const JoinedProvider<ArrayInput> array_views_{{&few_views_, &counts_, &scope_}};
};

// The views of ndlfs, of a store with two arrays along x.
class StorePartsTest : public MountTest {
 protected:
  StorePartsTest() {
    context_.services.group_views = &GroupViews();
    context_.services.array_views = &ArrayViews();
  }
  FakeStore& AddParts(const std::string& name) {
    FakeStore& store = AddDirectoryStore(name);
    store.AddGroup("/");
    store.AddCoordinate("/x", "acegik");
    for (const char* path : {"/v", "/w"}) {
      std::get<model::Ndarray>(store.AddArray(path, "abcdef").node.entity).shape = {{6, "/x"}};
    }
    return store;
  }
  // How many objects are loaded for a look at a file.
  int LoadsOf(FakeStore& store, const std::string& path) {
    const int before = store.loaded;
    EXPECT_THAT(Find(path), IsOk());
    return store.loaded - before;
  }
};

TEST_F(StorePartsTest, PartOfAGroupLoadsEachArrayOnce) {
  FakeStore& whole = AddParts("whole.zarr");
  const int loads = LoadsOf(whole, "whole.zarr/data.nc");
  FakeStore& part = AddParts("part.zarr");
  EXPECT_EQ(LoadsOf(part, "part.zarr/data[mean:x=4].nc"), loads);
  FakeStore& slice = AddParts("slice.zarr");
  EXPECT_EQ(LoadsOf(slice, "slice.zarr/data[x=99:105].nc"), loads);
}

TEST_F(StorePartsTest, NameOfASliceReadsEachCoordinateOnce) {
  FakeStore& store = AddParts("s.zarr");
  EXPECT_THAT(Read("s.zarr/v/data[x=101:].raw"), IsOkAnd("cdef"));
  constexpr size_t kChunks = 2;
  EXPECT_EQ(store.objects["/x"].data->reads(), kChunks);
  EXPECT_EQ(store.objects["/w"].data->reads(), 0U);
}

TEST_F(StoreViewsTest, ArrayIsFoundUnderItsOwnNameButNotListed) {
  FakeStore& store = AddDirectoryStore("era5.zarr");
  store.AddGroup("/");
  store.AddArray("/t2m", "abc");
  EXPECT_THAT(Read("era5.zarr/t2m/t2m.raw"), IsOkAnd("abc"));
  EXPECT_THAT(Read("era5.zarr/t2m/t2m.txt"), IsOkAnd(HasSubstr("97\n")));
  EXPECT_EQ((*Find("era5.zarr/t2m/t2m.jsonl"))->Stat()->size, 9u);
  EXPECT_THAT(List("era5.zarr/t2m"),
              ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f", "data.txt:f"));
  for (const char* name : {"t2m", "t2m.pdf", "T2M.raw", "t2m.", "era5.raw"}) {
    EXPECT_THAT(Find(std::string("era5.zarr/t2m/") + name),
                IsError(ErrorCode::kNotFound, ::testing::_))
        << name;
  }
}

TEST_F(StoreViewsTest, StoreThatIsAnArrayIsFoundUnderTheNameOfTheStore) {
  AddFileStore("run.v2.npy").AddArray("/", "abc");
  EXPECT_THAT(Read("run.v2.npy/run.v2.raw"), IsOkAnd("abc"));
  EXPECT_THAT(Find("run.v2.npy/run.raw"), IsError(ErrorCode::kNotFound, ::testing::_));
}

TEST_F(StoreViewsTest, ScanIsSharedByAllNamesOfAFile) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  EXPECT_EQ((*Find("a.zarr/t/data.jsonl"))->Stat()->size, 9u);
  EXPECT_EQ((*Find("a.zarr/t/t.jsonl"))->StatCost(), TreeNode::Cost::kNothing);
}

TEST_F(StoreViewsTest, ChildComesBeforeAnAlias) {
  FakeStore& store = AddDirectoryStore("era5.zarr");
  store.AddGroup("/");
  store.AddArray("/x", "abc");
  EXPECT_THAT(Read("era5.zarr/era5.all"), IsOkAnd("x:abc"));
  store.AddGroup("/era5.all");
  Pass(std::chrono::seconds(2));
  EXPECT_TRUE(IsDirectory(*(*Find("era5.zarr/era5.all"))->Stat()));
  EXPECT_THAT(Read("era5.zarr/data.all"), IsOkAnd("x:abc"));
}

TEST_F(StoreViewsTest, ListingShowsWhatTheOptionsSay) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  context_.services.listed_views = ListedViews({"raw", "deep"});
  EXPECT_THAT(List("a.zarr/t"), ElementsAre(".ndl.yaml:f", "data.raw:f"));
  EXPECT_THAT(List("a.zarr"), ElementsAre(".ndl.yaml:f", ".source:l", "data.deep:f", "t:d"));
  EXPECT_THAT(Find("a.zarr/t/data.npy"), IsOk()) << "by name";
  context_.services.listed_views = ListedViews::All();
  EXPECT_THAT(List("a.zarr/t"), ElementsAre(".ndl.yaml:f", "data.npy:f", "data.raw:f",
                                            "data.txt:f", "data.jsonl:f", "data.scope:f"));
  EXPECT_THAT(List("a.zarr"),
              ElementsAre(".ndl.yaml:f", ".source:l", "data.all:f", "data.deep:f", "t:d"));
}

TEST_F(StoreViewsTest, ErrorsTellOfRefusedFilesThatTheOptionsWouldList) {
  context_.services.scan.max_bytes = 2;
  context_.services.listed_views = ListedViews::All();
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  EXPECT_THAT(List("a.zarr/t"), ElementsAre(".ndl.yaml:f", "error.txt:f", "data.npy:f",
                                            "data.raw:f", "data.txt:f", "data.scope:f"));
  EXPECT_THAT(Read("a.zarr/t/error.txt"), IsOkAnd(HasSubstr("data.jsonl: more than 2 bytes")));
}

TEST_F(StoreViewsTest, AttributeNamesAllFilesListedOrNot) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddGroup("/g");
  store.AddArray("/t", "abc");
  EXPECT_THAT(
      (*Find("a.zarr/t"))->GetExtendedAttributes(),
      IsOkAnd(Contains(
          Pair("user.ndl.views", "[data.npy, data.raw, data.txt, data.jsonl, data.scope]"))));
  EXPECT_THAT((*Find("a.zarr"))->GetExtendedAttributes(),
              IsOkAnd(Contains(Pair("user.ndl.views", "[data.all, data.deep]"))));
  EXPECT_THAT((*Find("a.zarr/g"))->GetExtendedAttributes(),
              IsOkAnd(Contains(Pair("user.ndl.views", "[data.all]"))));
}

TEST_F(StoreViewsTest, NamesOfAttributesAreThoseThatHaveValues) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddGroup("/g");
  store.AddArray("/t", "abc");
  for (const std::string path : {"a.zarr", "a.zarr/g", "a.zarr/t", "a.zarr/t/data.raw"}) {
    const auto node = *Find(path);
    EXPECT_THAT(node->ListExtendedAttributes(),
                IsOkAnd(ElementsAreArray(NamesOf(*node->GetExtendedAttributes()))))
        << path;
  }
}

TEST_F(StoreViewsTest, NamesOfAttributesOfAGroupLoadNoArray) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (const std::string path : {"/t", "/u", "/v"}) store.AddArray(path, "abc");
  EXPECT_THAT((*Find("a.zarr"))->ListExtendedAttributes(),
              IsOkAnd(Contains(std::string("user.ndl.views"))));
  EXPECT_LE(store.loaded, 1);
}

TEST_F(StoreViewsTest, FileOfAGroupIsMadeOfItsArrays) {
  FakeStore& store = AddDirectoryStore("era5.zarr");
  store.AddGroup("/");
  store.AddGroup("/g");
  store.AddArray("/g/wind", "1234567");
  store.AddArray("/g/ice", "ab");
  EXPECT_THAT(List("era5.zarr/g"), ElementsAre(".ndl.yaml:f", "data.all:f", "ice:d", "wind:d"));
  const auto file = Find("era5.zarr/g/data.all");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ((*file)->StatCost(), TreeNode::Cost::kNothing);
  EXPECT_EQ((*file)->Stat()->size, 18u);
  EXPECT_EQ(context_.cache.stats().misses, 0u) << "no chunk is read for that";
  EXPECT_THAT(Read("era5.zarr/g/data.all"), IsOkAnd("ice:abwind:1234567"));
  EXPECT_THAT(Read("era5.zarr/g/g.all"), IsOkAnd("ice:abwind:1234567"));
  EXPECT_THAT(Read("era5.zarr/data.deep"), IsOkAnd("g ice wind "));
}

TEST_F(StoreViewsTest, ListingAGroupMakesNoFile) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  for (int i = 0; i < 100; ++i) store.AddArray("/" + std::to_string(i), "x");
  EXPECT_THAT(List("a.zarr"), Contains("data.all:f"));
  EXPECT_LE(store.loaded, 2);
  ASSERT_THAT(Find("a.zarr/data.all"), IsOk());
  EXPECT_GE(store.loaded, 100);
}

TEST_F(StoreViewsTest, FileOfAGroupChangesWithTheNamesInIt) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  for (const char* group : {"/", "/g"}) store.AddGroup(group);
  store.AddArray("/g/t", "abc");
  const auto deep = Find("a.zarr/data.deep");
  EXPECT_THAT(Read("a.zarr/data.deep"), IsOkAnd("g t "));
  store.AddArray("/g/late", "x");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*deep)->Open(), ndlfs::test::IsStale());
  EXPECT_THAT(Read("a.zarr/data.deep"), IsOkAnd("g late t "));
  store.objects.erase("/g/t");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Read("a.zarr/data.deep"), IsOkAnd("g late "));
}

TEST_F(StoreViewsTest, FileOfAGroupIsFoundAgainWithoutAListingAsLongAsTheLastOneIsFresh) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  ASSERT_THAT(Find("a.zarr/data.all"), IsOk());
  const int listed = store.listed;
  ASSERT_THAT(Find("a.zarr/data.all"), IsOk());
  EXPECT_EQ(store.listed, listed);
  Pass(std::chrono::seconds(2));
  ASSERT_THAT(Find("a.zarr/data.all"), IsOk());
  EXPECT_EQ(store.listed, listed + 1);
  ASSERT_THAT(Find("a.zarr/data.all"), IsOk());
  EXPECT_EQ(store.listed, listed + 1) << "the look at the unchanged names is fresh";
}

TEST_F(StoreViewsTest, FileOfAGroupThatCannotBeMadeIsNotThereAndErrorsSayWhy) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/bad", "abc").broken = true;
  EXPECT_THAT(
      Find("a.zarr/data.all"),
      IsError(ErrorCode::kNotFound, HasSubstr("data.all: a.zarr/bad: broken metadata")));
  EXPECT_THAT(Read("a.zarr/error.txt"), IsOkAnd(HasSubstr("a.zarr/data.all: ")));
  EXPECT_THAT(Read("a.zarr/error.txt"), IsOkAnd(HasSubstr("broken metadata")));
}

TEST_F(StoreViewsTest, FileOfAGroupIsAsClosedAsEachOfItsArrays) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/open", "abc").node.files = {"open.json"};
  store.AddArray("/closed", "abc").node.files = {"closed.json"};
  const auto add = [&](const char* name, unsigned mode) {
    const auto file = source_.path() / "a.zarr" / name;
    ndlfs::test::WriteFile(file.string(), "{}");
    std::filesystem::permissions(file, std::filesystem::perms(mode));
  };
  add("open.json", 0644);
  add("closed.json", 0640);
  std::filesystem::permissions(source_.path() / "a.zarr", std::filesystem::perms(0755));
  const auto mode = [&](const std::string& path) { return (*Find(path))->Stat()->mode; };
  EXPECT_EQ(mode("a.zarr/open/data.raw"), mode_t{S_IFREG | 0444});
  EXPECT_EQ(mode("a.zarr/data.all"), mode_t{S_IFREG | 0440});
}

TEST_F(StoreViewsTest, FileOfAnArrayChangesWithTheCoordinatesThatItAskedFor) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  for (const char* group : {"/", "/g"}) store.AddGroup(group);
  store.AddArray("/g/t", "abc");
  store.AddCoordinate("/x", "pqr");
  auto& array = std::get<model::Ndarray>(store.objects.at("/g/t").node.entity);
  array.dimension_names = {"x"};
  const int loaded = store.loaded;
  EXPECT_THAT(List("a.zarr/g/t"), Contains("data.raw:f"));
  EXPECT_THAT(Read("a.zarr/g/t/data.raw"), IsOkAnd("abc"));
  EXPECT_LE(store.loaded - loaded, 3) << "the root, the group and the array";
  EXPECT_THAT(Read("a.zarr/g/t/data.scope"), IsOkAnd("/x:pqr"));

  const auto before = Find("a.zarr/g/t/data.scope");
  ASSERT_THAT((*before)->Open(), IsOk());
  store.objects.at("/x").data->Put("0", "stu");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*before)->Open(), ndlfs::test::IsStale());
  EXPECT_THAT(Read("a.zarr/g/t/data.scope"), IsOkAnd("/x:stu"));

  const auto outer = Find("a.zarr/g/t/data.scope");
  store.AddCoordinate("/g/x", "123");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*outer)->Open(), ndlfs::test::IsStale()) << "a nearer one has come";
  EXPECT_THAT(Read("a.zarr/g/t/data.scope"), IsOkAnd("/g/x:123"));
}

TEST_F(StoreViewsTest, FilesFoundByNameAreKeptUpToANumber) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto json = Find("a.zarr/t/data.jsonl");
  EXPECT_EQ((*json)->Stat()->size, 9u);
  for (int i = 0; i < 1000; ++i) {
    const auto file = Find("a.zarr/t/data[" + std::to_string(i) + "].count");
    ASSERT_THAT(file, IsOk());
    ASSERT_EQ((*file)->Stat()->size, static_cast<uint64_t>(i));
  }
  EXPECT_EQ(counts_.made, 1000);
  EXPECT_THAT((*Find("a.zarr/t/data[999].count"))->Open(), IsOk());
  EXPECT_EQ(counts_.made, 1000) << "the latest are kept";
  // What was found out about a file that is not kept is found out again.
  const auto opened = (*json)->Open();
  ASSERT_THAT(opened, IsOk());
  EXPECT_THAT(Read(*opened), IsOkAnd("97\n98\n99\n"));
}

// With data.elements, too.
class ElementsTest : public StoreViewsTest {
 protected:
  ElementsTest() { context_.services.group_views = &with_elements_; }

  static constexpr std::array<const GroupViewKind*, 2> kWithElements = {&kAllView,
                                                                        &kElementsView};
  const KindProvider<GroupInput> with_elements_{kWithElements};
};

// What holds for every file of a group, however it loads the arrays.
class FileOfAGroupTest : public ElementsTest,
                         public ::testing::WithParamInterface<const char*> {
 protected:
  const std::string path_ = std::string("a.zarr/") + GetParam();
};
INSTANTIATE_TEST_SUITE_P(Kinds, FileOfAGroupTest,
                         ::testing::Values("data.all", "data.elements"));

TEST_P(FileOfAGroupTest, OfAnUnchangedGroupStaysTheSameAndIsMadeOnce) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto before = Find(path_);
  ASSERT_THAT((*before)->Open(), IsOk());
  const int loaded = store.loaded;
  Pass(std::chrono::seconds(10));
  const auto after = Find(path_);
  EXPECT_EQ((*before)->Compare(**after), Relation::kSame);
  EXPECT_THAT((*before)->Open(), IsOk());
  EXPECT_EQ(store.loaded, loaded);
}

TEST_P(FileOfAGroupTest, ChangesWithEachOfItsArrays) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  store.AddArray("/u", "xyz");
  const auto before = Find(path_);
  ASSERT_THAT((*before)->Open(), IsOk());
  store.SetArray("/u", "longer");
  ++store.objects.at("/u").version;
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*before)->Open(), ndlfs::test::IsStale());
  const auto after = Find(path_);
  EXPECT_EQ((*before)->Compare(**after), Relation::kDifferent);
  EXPECT_THAT(Read(path_), IsOkAnd("t:abcu:longer"));
}

TEST_P(FileOfAGroupTest, ChangesWithAChunkThatHasBeenRead) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  const auto before = Find(path_);
  EXPECT_THAT(Read(path_), IsOkAnd("t:abc"));
  store.objects.at("/t").data->Put("0", "xyz");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT((*before)->Open(), ndlfs::test::IsStale());
  EXPECT_THAT(Read(path_), IsOkAnd("t:xyz"));
}

TEST_P(FileOfAGroupTest, FailedReadNamesTheArray) {
  FakeStore& store = AddDirectoryStore("a.zarr");
  store.AddGroup("/");
  store.AddArray("/t", "abc");
  store.AddArray("/u", "abcdefgh").data->Put("1", "ef");
  const auto folder = Find("a.zarr");
  EXPECT_TRUE((*folder)->MayChange("error.txt"));
  EXPECT_THAT(Read(path_), IsError(ErrorCode::kCorrupt, HasSubstr(path_ + ": /u: chunk 1: ")));
  EXPECT_THAT(Read("a.zarr/error.txt"), IsOkAnd(HasSubstr("/u: chunk 1: ")));
}

class FileOfElementsTest : public ElementsTest {
 protected:
  // More arrays than stay in memory when nobody uses them.
  FileOfElementsTest() : store_(AddDirectoryStore("a.zarr")) {
    store_.AddGroup("/");
    for (int i = 0; i < kArrays; ++i) store_.AddArray("/" + std::to_string(10'000 + i), "abc");
  }
  static constexpr int kArrays = 1'100;
  // "10000:abc"
  static constexpr size_t kEach = 9;

  static model::Result<std::string> ReadAt(const FileHandle& file, uint64_t offset) {
    std::string text(kEach, ' ');
    NDLFS_TRY(const size_t count, file.Read(offset, std::as_writable_bytes(std::span(text))));
    return text.substr(0, count);
  }

  FakeStore& store_;
};

TEST_F(FileOfElementsTest, HoldsAnArrayOnlyOnceItHasBeenRead) {
  const auto file = (*Find("a.zarr/data.elements"))->Open();
  ASSERT_THAT(file, IsOk());
  const int loaded = store_.loaded;
  EXPECT_THAT(ReadAt(*file->handle, 0), IsOkAnd("10000:abc"));
  EXPECT_EQ(store_.loaded, loaded + 1);
  // A reader that goes on has some loaded beforehand.
  EXPECT_THAT(ReadAt(*file->handle, kEach), IsOkAnd("10001:abc"));
  EXPECT_LT(store_.loaded, loaded + kArrays / 10);
}

TEST_F(FileOfElementsTest, ReadOfAnArrayThatHasChangedSinceIsStale) {
  const auto file = (*Find("a.zarr/data.elements"))->Open();
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(ReadAt(*file->handle, kEach), IsOkAnd("10001:abc"));
  for (const char* array : {"/10000", "/10001"}) {
    store_.SetArray(array, "xyz");
    ++store_.objects.at(array).version;
  }
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(ReadAt(*file->handle, 0), ndlfs::test::IsStale());
  // The array that has been read is held as it was.
  EXPECT_THAT(ReadAt(*file->handle, kEach), IsOkAnd("10001:abc"));
  EXPECT_THAT(ReadAt(*file->handle, 2 * kEach), IsOkAnd("10002:abc"));
}

TEST_F(FileOfElementsTest, ReadOfAnArrayThatIsGoneIsStale) {
  const auto file = (*Find("a.zarr/data.elements"))->Open();
  ASSERT_THAT(file, IsOk());
  store_.objects.erase("/10000");
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(ReadAt(*file->handle, 0), ndlfs::test::IsStale());
}

}  // namespace
}  // namespace ndlfs::fs::fake
