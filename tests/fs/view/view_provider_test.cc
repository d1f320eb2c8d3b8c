// SPDX-License-Identifier: MIT
//
// Providers, with kinds of files that only this test has: what the next formats
// need of the interface.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/part_provider.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// FITS: cards of 80 characters, numbers in big-endian order, all in blocks.
constexpr uint64_t kFitsBlock = 2880;

std::string FitsHeader(const ArrayInput& input) {
  std::string header;
  const auto add = [&](std::string_view key, auto value) {
    header += fmt::format("{:<80}", fmt::format("{:<8}= {:>20}", key, value));
  };
  add("SIMPLE", "T");
  add("BITPIX", 8 * input.dtype.size());
  add("NAXIS", input.shape.size());
  for (size_t i = 0; i < input.shape.size(); ++i) {
    add(fmt::format("NAXIS{}", i + 1), input.shape[input.shape.size() - 1 - i]);
  }
  header += fmt::format("{:<80}", "END");
  header.resize((header.size() + kFitsBlock - 1) / kFitsBlock * kFitsBlock, ' ');
  return header;
}

constexpr ArrayViewKind kCardsView = {
    .file_name = "data.cards",
    .applies_to =
        [](const ArrayInput& input) {
          return input.dtype.kind() == Datatype::Kind::kInteger && !input.shape.empty();
        },
    .is_listed = [](const ArrayInput&) { return false; },
    .refuse = &RefuseWithoutElements,
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      const uint64_t padding = (kFitsBlock - input.elements->size() % kFitsBlock) % kFitsBlock;
      return MakeSegmentedView({Literal(FitsHeader(input)),
                                AllOf(input.elements, model::ByteOrder::kBig), Zeros{padding}});
    },
};

// A row of an array, as an array: "data[2].raw".
class RowElements final : public ElementSource {
 public:
  RowElements(std::shared_ptr<const ElementSource> all, uint64_t begin, uint64_t size)
      : all_(std::move(all)), begin_(begin), size_(size) {}
  uint64_t size() const override { return size_; }
  model::Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder order,
                           cache::ReadHint hint) const override {
    return all_->Read(begin_ + offset, out, order, hint);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return all_->TrackReader(prefetcher);
  }

 private:
  const std::shared_ptr<const ElementSource> all_;
  const uint64_t begin_;
  const uint64_t size_;
};

class RowProvider final : public ArrayViewProvider {
 public:
  explicit RowProvider(const ArrayViewProvider& files) : files_(files) {}

  std::vector<ViewName> Names(const ArrayInput&) const override { return {}; }
  std::optional<Resolution> Resolve(const ArrayInput& input,
                                    std::string_view name) const override {
    auto found = RowOf(input, name);
    if (!found) return std::nullopt;
    const auto row = std::make_shared<const Row>(*std::move(found));
    auto file = files_.Resolve(row->input, row->file_name);
    if (!file) return std::nullopt;
    file->name = fmt::format("data[{}].{}", row->index, ShortName(row->file_name));
    file->is_listed = false;
    file->make = [row, make = std::move(file->make)] { return make(); };
    return file;
  }

 private:
  struct Row {
    uint64_t index;
    std::string file_name;
    ArrayInput input;
  };
  static std::optional<Row> RowOf(const ArrayInput& input, std::string_view name) {
    const size_t close = name.find("].");
    if (!name.starts_with("data[") || close == name.npos || input.shape.empty()) return {};
    uint64_t index = 0;
    std::from_chars(name.data() + 5, name.data() + close, index);
    if (index >= input.shape[0]) return std::nullopt;
    Row row{index, "data" + std::string(name.substr(close + 1)), input};
    const uint64_t size = input.elements->size() / input.shape[0];
    row.input.shape.erase(row.input.shape.begin());
    row.input.elements =
        std::make_shared<const RowElements>(input.elements, index * size, size);
    row.input.reader = nullptr;
    return row;
  }

  const ArrayViewProvider& files_;
};

// All arrays of a group, one after the other, each with its name.
constexpr GroupViewKind kTarView = {
    .file_name = "data.arrays",
    .applies_to = [](const GroupInput&) { return true; },
    .make = [](const GroupInput& group) -> model::Result<ViewNode> {
      std::vector<Segment> segments;
      NDLFS_TRY(const auto names, group.List());
      for (const std::string& name : names) {
        NDLFS_TRY(const GroupChild child, group.Load(name));
        if (!child.array || !child.array->elements) continue;
        segments.emplace_back(Literal(name + ":"));
        segments.emplace_back(AllOf(child.array->elements, model::ByteOrder::kBig));
      }
      return MakeSegmentedView(std::move(segments));
    },
};

// A small tree: the shape of an array as a file for each dimension.
class ShapeDirectory final : public ViewDirectory {
 public:
  explicit ShapeDirectory(std::vector<uint64_t> shape) : shape_(std::move(shape)) {}
  std::unique_ptr<ViewListing> List() const override {
    std::vector<ViewEntry> entries;
    for (size_t i = 0; i < shape_.size(); ++i) entries.push_back({NameOf(i), false});
    return ListOf(std::move(entries));
  }
  model::Result<ViewNode> Find(std::string_view name) const override {
    for (size_t i = 0; i < shape_.size(); ++i) {
      if (NameOf(i) == name) return MakeSegmentedView({Literal(std::to_string(shape_[i]))});
    }
    return model::NotFound("{}", name);
  }

 private:
  static std::string NameOf(size_t i) { return fmt::format("d{}", i); }

  const std::vector<uint64_t> shape_;
};
constexpr ArrayViewKind kShapeView = {
    .file_name = "data.shape",
    .is_directory = true,
    .applies_to = [](const ArrayInput& input) { return !input.shape.empty(); },
    .make = [](const ArrayInput& input) -> model::Result<ViewNode> {
      return std::make_shared<const ShapeDirectory>(input.shape);
    },
};

std::string ReadAll(const View& view) {
  std::string out(*view.size(), '\0');
  EXPECT_THAT(view.Read(0, std::as_writable_bytes(std::span(out))), test::IsOkAnd(out.size()));
  return out;
}

class ViewProviderTest : public ::testing::Test {
 protected:
  ArrayInput Input(const std::shared_ptr<const backends::ArraySource>& source) {
    auto node = std::make_shared<backends::Node>();
    node->entity = model::Ndarray();
    return MakeArrayInput(std::move(node), std::make_shared<cache::ArrayReader>(source, cache_),
                          {});
  }
  static std::shared_ptr<test::MemoryArray> Shorts() {
    return std::make_shared<test::MemoryArray>(Datatype::Integer(2, false),
                                               std::vector<uint64_t>{3, 2},
                                               std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12));
  }
  static constexpr std::array<const ArrayViewKind*, 1> kCards = {&kCardsView};
  static constexpr std::array<const GroupViewKind*, 1> kArrays = {&kTarView};

  cache::ChunkCache cache_{1 << 20};
  const KindProvider<ArrayInput> cards_{kCards};
  const KindProvider<ArrayInput> few_{ArrayViewKinds().first(4)};
  const KindProvider<GroupInput> arrays_{kArrays};
};

std::vector<std::string> NamesOf(const std::vector<ViewName>& files) {
  std::vector<std::string> names;
  for (const ViewName& file : files) names.push_back(file.name);
  return names;
}

TEST_F(ViewProviderTest, NewKindOfFileIsHeaderElementsAndPadding) {
  const ArrayInput input = Input(Shorts());
  const auto file = cards_.Resolve(input, "data.cards");
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->is_listed);
  const auto view = cards_.MakeFile(input, file->name);
  ASSERT_THAT(view, test::IsOk());
  const std::string whole = ReadAll(**view);
  ASSERT_EQ(whole.size(), 2 * kFitsBlock);
  EXPECT_THAT(whole.substr(0, kFitsBlock), HasSubstr("NAXIS1  =                    2 "));
  EXPECT_EQ(whole.substr(kFitsBlock, 12), std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12));
  EXPECT_EQ(whole.substr(kFitsBlock + 12), std::string(kFitsBlock - 12, '\0'));
}

TEST_F(ViewProviderTest, KindThatDoesNotApplyIsNotThere) {
  const ArrayInput scalar = Input(std::make_shared<test::MemoryArray>(
      Datatype::Integer(2, false), std::vector<uint64_t>{}, "ab"));
  EXPECT_FALSE(cards_.Resolve(scalar, "data.cards"));
  EXPECT_THAT(cards_.Names(scalar), ::testing::IsEmpty());
  EXPECT_FALSE(cards_.Resolve(Input(Shorts()), "data.pdf"));
  EXPECT_FALSE(ArrayViews().Resolve(Input(Shorts()), ""));
  EXPECT_THAT(cards_.MakeFile(Input(Shorts()), "data.pdf"),
              test::IsError(model::ErrorCode::kNotFound, "data.pdf"));
}

TEST_F(ViewProviderTest, FilesOfWhichThereIsNoEndAreFoundByName) {
  const RowProvider rows(few_);
  const JoinedProvider<ArrayInput> all({&few_, &rows, &cards_});
  const ArrayInput input = Input(Shorts());
  EXPECT_THAT(NamesOf(all.Names(input)),
              ElementsAre("data.npy", "data.raw", "data.txt", "data.jsonl", "data.cards"));
  EXPECT_FALSE(all.Resolve(input, "data[3].raw"));
  EXPECT_FALSE(all.Resolve(input, "data[1].jsonl")) << "only of whole arrays";
  const auto file = all.Resolve(input, "data[01].txt");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, "data[1].txt") << "one file, one true name";
  const auto text = all.MakeFile(input, file->name);
  ASSERT_THAT(text, test::IsOk());
  EXPECT_EQ(ReadAll(**text), "    3\n    4\n");
  const auto npy = all.MakeFile(input, "data[2].npy");
  ASSERT_THAT(npy, test::IsOk());
  EXPECT_THAT(ReadAll(**npy), HasSubstr("'shape': (2,), "));
}

TEST_F(ViewProviderTest, KindMayBeASmallTree) {
  static constexpr std::array<const ArrayViewKind*, 1> kShapes = {&kShapeView};
  const KindProvider<ArrayInput> shapes(kShapes);
  const PartProvider parts(shapes);
  const JoinedProvider<ArrayInput> all({&few_, &shapes, &parts});
  const ArrayInput input = Input(Shorts());
  const auto whole = all.Resolve(input, "data.shape");
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->is_directory);
  EXPECT_FALSE(all.Resolve(input, "data.npy")->is_directory);
  const auto tree = all.Make(input, "data.shape");
  ASSERT_THAT(tree, test::IsOk());
  EXPECT_EQ(FileOf(*tree), nullptr);
  const auto file = FindBelow(*tree, "d1");
  ASSERT_THAT(file, test::IsOk());
  EXPECT_EQ(ReadAll(*FileOf(*file)), "2");
  EXPECT_THAT(FindBelow(*tree, "d2"), test::IsError(model::ErrorCode::kNotFound, "d2"));
  EXPECT_THAT(FindBelow(*tree, "d1/x"), test::IsError(model::ErrorCode::kNotFound, "x"));
  EXPECT_EQ(DirectoryOf(FindBelow(*tree, "").value()), DirectoryOf(*tree));
  EXPECT_THAT(all.MakeFile(input, "data.shape"),
              test::IsError(model::ErrorCode::kUnsupported, "data.shape is a directory"));
  // Parts of arrays have it, too.
  const auto part = all.Resolve(input, "data[1:].shape");
  ASSERT_TRUE(part && part->is_directory);
  const auto cut = all.Make(input, part->name);
  ASSERT_THAT(cut, test::IsOk());
  EXPECT_EQ(ReadAll(*FileOf(*FindBelow(*cut, "d0"))), "2");
  const auto names = all.Names(input);
  const auto values = std::ranges::find(names, std::string("values.shape"), &ViewName::name);
  ASSERT_NE(values, names.end());
  EXPECT_TRUE(values->is_directory);
}

TEST_F(ViewProviderTest, FileOfAGroupLoadsItsArraysWhenItIsMade) {
  auto hierarchy = std::make_shared<test::MemoryHierarchy>();
  hierarchy->AddGroup("/");
  hierarchy->AddGroup("/g");
  hierarchy->AddGroup("/g/sub");
  hierarchy->AddArray("/g/a", Shorts());
  hierarchy->AddArray("/g/b", std::make_shared<test::MemoryArray>(
                                  Datatype::Integer(1, false), std::vector<uint64_t>{2}, "xy"));
  const auto group = MakeGroupInput(hierarchy, "/g", cache_);
  ASSERT_THAT(group, test::IsOk());
  EXPECT_EQ((*group)->path(), "/g");
  EXPECT_THAT((*group)->List(), test::IsOkAnd(ElementsAre("a", "b", "sub")));
  const auto sub = (*group)->Load("sub");
  ASSERT_THAT(sub, test::IsOk());
  ASSERT_NE(sub->group, nullptr);
  EXPECT_EQ(sub->group->path(), "/g/sub");
  EXPECT_THAT((*group)->Load("c"), test::IsError(model::ErrorCode::kNotFound, ::testing::_));
  EXPECT_THAT(NamesOf(arrays_.Names(**group)), ElementsAre("data.arrays"));
  const auto view = arrays_.MakeFile(**group, "data.arrays");
  ASSERT_THAT(view, test::IsOk());
  EXPECT_EQ(ReadAll(**view), std::string("a:\0\1\0\2\0\3\0\4\0\5\0\6b:xy", 18));
  EXPECT_THAT(MakeGroupInput(hierarchy, "/g/a", cache_),
              test::IsError(model::ErrorCode::kBadInput, "/g/a: not a group"));
}

TEST_F(ViewProviderTest, FailureOfAFileOfSeveralArraysNamesTheArray) {
  auto hierarchy = std::make_shared<test::MemoryHierarchy>();
  hierarchy->AddGroup("/");
  hierarchy->AddArray("/a", Shorts());
  hierarchy->AddArray("/b", std::make_shared<test::MemoryArray>(
                                Datatype::Integer(1, false), std::vector<uint64_t>{2},
                                std::vector<uint64_t>{2}, std::map<uint64_t, std::string>()));
  const auto group = MakeGroupInput(hierarchy, "/", cache_);
  ASSERT_THAT(group, test::IsOk());
  const auto view = arrays_.MakeFile(**group, "data.arrays");
  ASSERT_THAT(view, test::IsOk());
  std::string out(*(*view)->size(), '\0');
  EXPECT_THAT((*view)->Read(0, std::as_writable_bytes(std::span(out))),
              test::IsError(model::ErrorCode::kCorrupt, HasSubstr("/b: chunk 0: ")));
}

// The path name of the coordinates along a dimension; "" where there are none.
model::Result<std::string> CoordinatePath(const ArrayInput& array, size_t d) {
  NDLFS_TRY(const auto found, FindCoordinate(array, d));
  return found ? PathOf(*found) : "";
}

class CoordinateTest : public ViewProviderTest {
 protected:
  CoordinateTest() {
    for (const char* group : {"/", "/g", "/g/h", "/k"}) hierarchy_->AddGroup(group);
  }
  static std::shared_ptr<test::MemoryArray> Bytes(std::vector<uint64_t> shape) {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    return std::make_shared<test::MemoryArray>(Datatype::Integer(1, false), std::move(shape),
                                               std::string(count, 'x'));
  }
  void AddArray(const std::string& path, const std::vector<uint64_t>& shape,
                std::vector<std::string> names) {
    model::Ndarray array;
    for (const uint64_t extent : shape) array.shape.push_back({extent, ""});
    array.dimension_names = std::move(names);
    hierarchy_->AddArray(path, std::move(array), Bytes(shape));
  }
  ArrayInput Load(const std::string& group, const std::string& name) {
    return *MakeGroupInput(hierarchy_, group, cache_).value()->Load(name).value().array;
  }
  const std::shared_ptr<test::MemoryHierarchy> hierarchy_ =
      std::make_shared<test::MemoryHierarchy>();
};

TEST_F(CoordinateTest, NearestOneOfTheNameIsFound) {
  hierarchy_->AddDimCoord("/lat", Bytes({3}));
  hierarchy_->AddDimCoord("/lon", Bytes({4}));
  hierarchy_->AddDimCoord("/k/time", Bytes({2}));
  hierarchy_->AddDimCoord("/g/lat", Bytes({3}));
  AddArray("/g/h/t", {2, 3, 4}, {"time", "lat", "lon"});
  AddArray("/t", {3, 4}, {"lat", ""});
  const ArrayInput inner = Load("/g/h", "t");
  EXPECT_EQ(PathOf(inner), "/g/h/t");
  EXPECT_THAT(CoordinatePath(inner, 0), test::IsOkAnd("")) << "that of another branch";
  EXPECT_THAT(CoordinatePath(inner, 1), test::IsOkAnd("/g/lat"));
  EXPECT_THAT(CoordinatePath(inner, 2), test::IsOkAnd("/lon"));
  EXPECT_THAT(CoordinatePath(inner, 3), test::IsOkAnd(""));
  EXPECT_THAT(CoordinatePath(Load("/", "t"), 0), test::IsOkAnd("/lat"));
  EXPECT_THAT(CoordinatePath(Load("/", "t"), 1), test::IsOkAnd("")) << "without a name";
  EXPECT_THAT(CoordinatePath(Load("/g", "lat"), 0), test::IsOkAnd("/g/lat")) << "its own";
}

TEST_F(CoordinateTest, LinkOfTheFormatIsFollowedWhereverItLeads) {
  hierarchy_->AddDimCoord("/k/x", Bytes({3}));
  hierarchy_->AddDimCoord("/g/x", Bytes({3}));
  model::Ndarray array;
  array.shape = {{3, "/k/x"}};
  array.dimension_names = {"x"};
  hierarchy_->AddArray("/g/h/t", array, Bytes({3}));
  EXPECT_THAT(CoordinatePath(Load("/g/h", "t"), 0), test::IsOkAnd("/k/x"));
}

TEST_F(CoordinateTest, OtherLengthsAndOtherArraysAreNone) {
  hierarchy_->AddDimCoord("/lat", Bytes({7}));
  hierarchy_->AddArray("/lon", Bytes({4}));
  AddArray("/t", {3, 4}, {"lat", "lon"});
  EXPECT_THAT(CoordinatePath(Load("/", "t"), 0), test::IsOkAnd(""));
  EXPECT_THAT(CoordinatePath(Load("/", "t"), 1), test::IsOkAnd(""));
  ArrayInput whole = Load("/", "t");
  whole.group = nullptr;
  EXPECT_THAT(CoordinatePath(whole, 0), test::IsOkAnd(""));
  EXPECT_EQ(PathOf(whole), "/");
}

TEST_F(CoordinateTest, FailureToLoadThemIsNoAbsence) {
  hierarchy_->AddDimCoord("/lat", Bytes({3}));
  hierarchy_->Break("/lat");
  AddArray("/g/t", {3}, {"lat"});
  EXPECT_THAT(CoordinatePath(Load("/g", "t"), 0),
              test::IsError(model::ErrorCode::kBadInput, HasSubstr("/lat is broken")));
}

TEST_F(CoordinateTest, GroupAroundAnArrayIsLoadedWhenItsNodeIsAsked) {
  hierarchy_->Break("/g");
  hierarchy_->Break("/");
  AddArray("/g/t", {3}, {"lat"});
  const auto group = MakeGroupAround(hierarchy_, "/g/t", cache_);
  EXPECT_EQ(group->path(), "/g");
  EXPECT_TRUE(group->Load("t")->array);
  EXPECT_THAT(group->node().error.value().message(), HasSubstr("/g is broken"));
  EXPECT_TRUE(group->node().attributes().empty());
  EXPECT_EQ(group->Outer()->path(), "/");
  EXPECT_EQ(group->Outer()->Outer(), nullptr);
  EXPECT_EQ(MakeGroupAround(hierarchy_, "/", cache_), nullptr);
}

TEST(WithExtensionTest, DoesNotSayTheSameTwice) {
  EXPECT_EQ(WithExtension("era5", "nc"), "era5.nc");
  EXPECT_EQ(WithExtension("cells04.ome", "ome.tif"), "cells04.ome.tif");
  EXPECT_EQ(WithExtension("cells04", "ome.tif"), "cells04.ome.tif");
  EXPECT_EQ(WithExtension("a.nc", "nc"), "a.nc.nc");
  EXPECT_EQ(WithExtension(".ome", "ome.tif"), ".ome.ome.tif");
}

TEST(AliasTest, NameOfTheFolderStandsForData) {
  EXPECT_EQ(ResolveAlias("t2m", "t2m.npy"), "data.npy");
  EXPECT_EQ(ResolveAlias("t2m", "t2m[0,:].raw"), "data[0,:].raw");
  EXPECT_EQ(ResolveAlias("era5.v2", "era5.v2.nc"), "data.nc");
  for (const char* other : {"t2m", "t2mx.npy", "t2.npy", "T2M.npy", "", "x.t2m.npy"}) {
    EXPECT_EQ(ResolveAlias("t2m", other), "") << other;
  }
  EXPECT_EQ(ResolveAlias("", ".npy"), "");
  EXPECT_EQ(ResolveAlias("values", "values.npy"), "") << "that is another file";
  EXPECT_EQ(ResolveAlias("data", "data.npy"), "");
}

TEST(ListedViewsTest, ShowWhatTheOptionsSay) {
  const ViewName npy{"data.npy"};
  const ViewName jsonl{"data.jsonl", /*is_listed=*/false};
  EXPECT_TRUE(ListedViews().Shows(npy));
  EXPECT_FALSE(ListedViews().Shows(jsonl));
  EXPECT_TRUE(ListedViews::All().Shows(npy));
  EXPECT_TRUE(ListedViews::All().Shows(jsonl));
  const ListedViews chosen({"jsonl", "html", "preview"});
  EXPECT_FALSE(chosen.Shows(npy));
  EXPECT_TRUE(chosen.Shows(jsonl));
  EXPECT_TRUE(chosen.Shows({"index.html"}));
  EXPECT_TRUE(chosen.Shows({"preview.png"}));
  const ViewName tree{.name = "data.zarr", .is_listed = false, .is_directory = true};
  EXPECT_FALSE(ListedViews().Shows(tree));
  EXPECT_FALSE(ListedViews::All().Shows(tree)) << "a copy of the folder would have all twice";
  EXPECT_TRUE(ListedViews({"zarr"}).Shows(tree));
  EXPECT_EQ(ListedViews().Text(), "");
  EXPECT_EQ(ListedViews::All().Text(), "all");
  EXPECT_EQ(chosen.Text(), "jsonl,html,preview");
}

}  // namespace
}  // namespace ndlfs::fs
