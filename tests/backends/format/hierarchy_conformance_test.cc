// SPDX-License-Identifier: MIT
//
// What every Format and every Hierarchy promises, asked of each format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/detection.h"
#include "backends/format/format.h"
#include "backends/formats.h"
#include "model/path_name.h"
#include "tests/support/format_examples.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/memory_source.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::FormatExample;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::_;
using ::testing::ElementsAre;

// A store of one format in a source in memory.
class Example {
 public:
  explicit Example(const FormatExample& example) : example_(example) {
    example_.put(*source_);
    source_->ForgetReads();
  }

  std::shared_ptr<const Source> source() const { return source_; }
  // Writes the metadata of "/" anew, without another meaning.
  void Touch() { source_->Put(example_.metadata, source_->files().at(example_.metadata)); }
  uint64_t bytes_read() const {
    uint64_t bytes = 0;
    for (const auto& read : source_->reads()) bytes += read.size;
    return bytes;
  }

 private:
  const FormatExample example_;
  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
};

// Made once, as that takes its time.
void PutHdf5(test::MemorySource& source) {
  static const std::string file = [] {
    const test::TemporaryDirectory directory;
    test::RunH5py(directory,
                  "i = np.arange(131072, dtype='u8') * 2654435761 % 2**32\n"
                  "values = i.astype('<u4').view('<i4')\n"
                  "with h5.File('a.h5', 'w') as f:\n"
                  "    f.create_dataset('a', data=values, chunks=(65536,))\n"
                  "    f.create_dataset('g/b', data=values, chunks=(65536,))\n");
    return test::ReadFile(directory / "a.h5");
  }();
  source.Put("a.h5", file);
}

// By libhdf4 itself, in little-endian order.
void PutHdf4(test::MemorySource& source) {
  static const std::string file = [] {
    const test::TemporaryDirectory directory;
    const std::string path = directory / "a.hdf";
    const std::string printed = test::RunPython(
        "import sys\n"
        "sys.path.insert(0, '" NDLFS_TEST_DATA
        "/../mount')\n"
        "import hdf4_writer\n"
        "import numpy as np\n"
        "i = np.arange(131072, dtype='u8') * 2654435761 % 2**32\n"
        "values = i.astype('<u4').view('<i4')\n"
        "with hdf4_writer.File('" +
        path +
        "') as file:\n"
        "    file.dataset('a', values, chunk=(65536,), order=hdf4_writer.LITTLE)\n");
    EXPECT_EQ(printed, "");
    return test::ReadFile(path);
  }();
  source.Put("a.hdf", file);
}

std::vector<FormatExample> AllExamples() {
  std::vector<FormatExample> examples = test::FormatExamples();
  FormatExample hdf4{"HDF4", "a.hdf", &PutHdf4, "a.hdf"};
  hdf4.has_subgroup = false;
  examples.push_back(hdf4);
  examples.push_back({"HDF5", "a.h5", &PutHdf5, "a.h5"});
  return examples;
}

class HierarchyConformanceTest : public ::testing::TestWithParam<FormatExample> {
 protected:
  std::shared_ptr<const Hierarchy> Open() const {
    const Format* format = DetectStore(*example_.source(), GetParam().path).value();
    EXPECT_NE(format, nullptr);
    if (format == nullptr) return nullptr;
    EXPECT_EQ(format->name(), GetParam().format);
    auto opened = format->Open(example_.source(), GetParam().path, {});
    EXPECT_THAT(opened, IsOk());
    return opened.value_or(nullptr);
  }
  // Of the children of "/", "a" among them.
  std::vector<std::string> Names() const {
    std::vector<std::string> names = GetParam().coordinates;
    names.push_back(GetParam().array);
    std::ranges::sort(names);
    return names;
  }
  bool IsCoordinate(std::string_view path) const {
    return std::ranges::count(GetParam().coordinates, model::BaseName(path)) != 0;
  }
  std::string ArrayPath() const {
    return GetParam().has_group ? model::JoinPath(GetParam().folder, GetParam().array) : "/";
  }
  std::string Elements() const {
    return GetParam().has_large_data ? test::ExampleElements() : test::ExampleElements(0, 4);
  }

  Example example_{GetParam()};
};

// Calls `visit` for the object at `path` and for all below it.
void Walk(const Hierarchy& hierarchy, const std::string& path,
          const std::function<void(const std::string&, const Node&)>& visit) {
  const auto node = hierarchy.Load(path);
  ASSERT_THAT(node, IsOk()) << path;
  visit(path, **node);
  if (!(*node)->is_group()) return;
  const auto names = hierarchy.List(path);
  ASSERT_THAT(names, IsOk()) << path;
  for (const std::string& name : *names) {
    Walk(hierarchy, model::JoinPath(path, name), visit);
  }
}

TEST_P(HierarchyConformanceTest, RootLoads) {
  const auto hierarchy = Open();
  const auto root = hierarchy->Load("/");
  ASSERT_THAT(root, IsOk());
  EXPECT_EQ((*root)->is_group(), GetParam().has_group);
  EXPECT_FALSE((*root)->error);
  EXPECT_FALSE(hierarchy->format().empty());
}

TEST_P(HierarchyConformanceTest, ListsItsObjectsSorted) {
  const auto hierarchy = Open();
  const auto names = hierarchy->List(GetParam().folder);
  if (!GetParam().has_group) {
    EXPECT_THAT(names, IsOkAnd(ElementsAre()));
  } else if (!GetParam().has_subgroup) {
    EXPECT_THAT(names, IsOkAnd(Names()));
  } else {
    EXPECT_THAT(names, IsOkAnd(ElementsAre("a", "g")));
    EXPECT_THAT(hierarchy->List("/g"), IsOkAnd(ElementsAre("b")));
  }
}

TEST_P(HierarchyConformanceTest, EveryListedNameLoadsAndHasAVersion) {
  const auto hierarchy = Open();
  int arrays = 0;
  Walk(*hierarchy, "/", [&](const std::string& path, const Node& node) {
    EXPECT_FALSE(node.error) << path;
    EXPECT_EQ(node.is_group(), node.source == nullptr) << path;
    EXPECT_THAT(hierarchy->Version(path), IsOk()) << path;
    arrays += node.is_group() || IsCoordinate(path) ? 0 : 1;
  });
  EXPECT_EQ(arrays, GetParam().has_subgroup ? 2 : 1);
}

TEST_P(HierarchyConformanceTest, ThereIsNothingAtOtherPaths) {
  const auto hierarchy = Open();
  for (const char* path : {"/none", "/none/a", "/a/b", "/g/none", "/A"}) {
    EXPECT_THAT(hierarchy->Load(path), IsError(ErrorCode::kNotFound, _)) << path;
  }
}

// A format may take "//a" for "/a"; the tree asks for neither.
TEST_P(HierarchyConformanceTest, NoPathClimbs) {
  const auto hierarchy = Open();
  const std::vector<std::string> paths = {".",       "..",      "/..",           "/.",
                                          "/../a",   "/g/../a", "/a/..",         "/g/./b",
                                          "a/../..", "/g/../",  "/../v2.zarr/a", "/etc/passwd"};
  for (std::string path : paths) {
    EXPECT_FALSE(hierarchy->Load(path)) << path;
    path += '\0';
    EXPECT_FALSE(hierarchy->Load(path)) << path;
    const auto names = hierarchy->List(path);
    EXPECT_TRUE(!names || names->empty()) << path;
  }
  EXPECT_FALSE(hierarchy->Load("/" + std::string(100'000, 'x')));
}

TEST_P(HierarchyConformanceTest, VersionIsTheSameUntilTheMetadataChange) {
  const auto hierarchy = Open();
  const auto before = hierarchy->Version("/");
  ASSERT_THAT(before, IsOk());
  EXPECT_EQ(hierarchy->Version("/").value(), *before);
  EXPECT_EQ(Open()->Version("/").value(), *before);
  example_.Touch();
  EXPECT_EQ(hierarchy->Version("/").value() != *before, GetParam().touch_is_change);
  // What is there is still shown, or has to be opened again.
  const auto node = hierarchy->Load(ArrayPath());
  if (!node) {
    EXPECT_THAT(node, test::IsStale());
  }
}

TEST_P(HierarchyConformanceTest, ReadsNoChunkToTellWhatThereIs) {
  const auto hierarchy = Open();
  Walk(*hierarchy, "/", [&](const std::string& path, const Node&) {
    EXPECT_THAT(hierarchy->Version(path), IsOk()) << path;
    hierarchy->GetLink(path);
  });
  EXPECT_LT(example_.bytes_read(), test::kExampleChunkBytes);
}

TEST_P(HierarchyConformanceTest, NodeThatIsHeldIsFoundAgain) {
  const auto hierarchy = Open();
  const auto first = hierarchy->Load(ArrayPath()).value();
  const auto second = hierarchy->Load(ArrayPath()).value();
  EXPECT_EQ(first->source->id(), second->source->id());
}

TEST_P(HierarchyConformanceTest, ElementsAreThoseThatWereStored) {
  const auto hierarchy = Open();
  Walk(*hierarchy, "/", [&](const std::string& path, const Node& node) {
    if (node.source == nullptr || IsCoordinate(path)) return;
    EXPECT_EQ(node.array().type.keyword(), GetParam().type) << path;
    EXPECT_TRUE(test::ReadThroughChunks(*node.source) == Elements()) << path;
    if (!node.source->contiguous()) return;
    EXPECT_TRUE(test::ReadThroughRange(*node.source) == Elements()) << path;
  });
}

TEST_P(HierarchyConformanceTest, MetadataHaveATime) {
  EXPECT_NE(Open()->Load("/").value()->mtime_ns, 0);
}

INSTANTIATE_TEST_SUITE_P(All, HierarchyConformanceTest, testing::ValuesIn(AllExamples()),
                         [](const testing::TestParamInfo<FormatExample>& info) {
                           std::string name = info.param.format + "_" + info.param.path;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(FormatExamplesTest, ThereIsOneOfEachFormat) {
  std::set<std::string> formats;
  for (const FormatExample& example : AllExamples()) formats.insert(example.format);
  for (const Format* format : Formats()) {
    EXPECT_TRUE(formats.contains(std::string(format->name()))) << format->name();
  }
  EXPECT_EQ(formats.size(), Formats().size());
}

}  // namespace
}  // namespace ndlfs::backends
