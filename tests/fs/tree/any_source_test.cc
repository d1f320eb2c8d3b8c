// SPDX-License-Identifier: MIT
//
// The tree over a source that is no directory of this machine: it has no
// descriptors, no links, and nothing but its own word on who may read a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/tree/control_tree.h"
#include "fs/tree/mount_context.h"
#include "fs/tree/source_tree.h"
#include "fs/tree/store/document.h"
#include "model/path_name.h"
#include "tests/support/format_examples.h"
#include "tests/support/memory_source.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using ndlfs::test::FormatExample;
using ndlfs::test::IsErrno;
using ndlfs::test::IsOk;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

model::Result<void> Describe(const backends::Hierarchy& hierarchy, std::string_view store_name,
                             std::string_view path, const ReaderOf& reader_of,
                             const TextSink& sink,
                             const std::function<void(const model::Error&)>& refused) {
  return WriteDocument(hierarchy, store_name, path, reader_of, sink, nullptr, refused);
}

class AnySourceTest : public ::testing::Test {
 protected:
  AnySourceTest()
      : context_(source_, 16 << 20, {.decoders = 1}, Freshness(std::chrono::seconds(0)), {},
                 &Describe, [](std::string_view) {}) {}

  model::Result<TreeNodePtr> Find(const std::string& path) {
    NDLFS_TRY(TreeNodePtr node, FindSourceNode(context_, ""));
    const std::string absolute = "/" + path;
    for (const auto part : model::SplitPath(absolute)) {
      NDLFS_TRY(node, node->Lookup(part));
    }
    return node;
  }
  static std::vector<std::string> List(const TreeNode& node) {
    const auto reader = node.OpenDirectory();
    if (!reader) return {"error: " + reader.error().message()};
    std::vector<std::string> names;
    while (const auto entry = (*reader)->Next().value()) names.push_back(entry->name);
    return names;
  }
  static model::Result<std::string> Read(const FileHandle& file, uint64_t offset, size_t size) {
    std::string text(size, '\0');
    NDLFS_TRY(const size_t count, file.Read(offset, std::as_writable_bytes(std::span(text))));
    return text.substr(0, count);
  }

  const std::shared_ptr<ndlfs::test::MemorySource> source_ = ndlfs::test::MemorySource::Make();
  MountContext context_;
};

TEST_F(AnySourceTest, PlainFilesAreShownAsTheyAre) {
  source_->Put("d/notes.txt", "0123456789");
  EXPECT_THAT(List(**Find("")), UnorderedElementsAre("d"));
  EXPECT_THAT(List(**Find("d")), UnorderedElementsAre("notes.txt"));
  const auto node = Find("d/notes.txt").value();
  const Attributes attributes = node->Stat().value();
  EXPECT_EQ(attributes.mode, mode_t{S_IFREG} | 0444);
  EXPECT_EQ(attributes.size, 10u);
  EXPECT_NE(attributes.mtime_ns, 0);
  const OpenedFile opened = node->Open().value();
  EXPECT_EQ(Read(*opened.handle, 2, 3).value(), "234");
  EXPECT_EQ(Read(*opened.handle, 8, 10).value(), "89");
}

TEST_F(AnySourceTest, LookupLooksAtAFileOnce) {
  source_->Put("d/notes.txt", std::string(100'000, 'x'));
  const auto directory = Find("d").value();
  source_->ForgetReads();
  const auto node = directory->Lookup("notes.txt").value();
  EXPECT_EQ(node->StatWhenFound().value().size, 100'000u);
  EXPECT_THAT(source_->looks(), ElementsAre("d/notes.txt"));
  ASSERT_EQ(source_->reads().size(), 1u);
  EXPECT_EQ(source_->reads()[0].size, 8200u) << "up to the last place of a signature";
}

TEST_F(AnySourceTest, PlainFileThatChangesIsAnotherOne) {
  source_->Put("a.txt", "0123456789");
  const auto node = Find("a.txt").value();
  const OpenedFile opened = node->Open().value();
  source_->Put("a.txt", "abcdefghij");
  EXPECT_THAT(Read(*opened.handle, 0, 4), ndlfs::test::IsStale());
  EXPECT_THAT(node->Open(), ndlfs::test::IsStale());
  EXPECT_EQ(Read(*Find("a.txt").value()->Open().value().handle, 0, 4).value(), "abcd");
}

TEST_F(AnySourceTest, StoresOfAllFormatsAreFolders) {
  for (const FormatExample& example : ndlfs::test::FormatExamples()) {
    SCOPED_TRACE(example.path);
    example.put(*source_);
    const std::string folder = example.folder == "/" ? "" : example.folder;
    const std::string array =
        example.path + (example.has_group ? folder + "/" + example.array : "");
    const auto node = Find(array + "/data.raw");
    ASSERT_THAT(node, IsOk());
    const uint32_t count = example.has_large_data ? ndlfs::test::kExampleExtent : 4;
    EXPECT_EQ((*node)->Stat().value().size, uint64_t{count} * 4);
    EXPECT_EQ((*node)->Stat().value().mode, mode_t{S_IFREG} | 0444);
    const auto opened = (*node)->Open();
    ASSERT_THAT(opened, IsOk());
    const auto bytes = Read(*opened->handle, 0, size_t{count} * 4);
    ASSERT_THAT(bytes, IsOk());
    EXPECT_TRUE(*bytes == ndlfs::test::ExampleElements(0, count));
    const auto document = Find(array + "/.ndl.yaml").value()->Open().value();
    EXPECT_THAT(Read(*document.handle, 0, 1 << 16).value(), HasSubstr(example.type));
  }
}

// Compares the sizes that listings tell with those that a lookup finds, in `node` and all
// below. Returns how many it has compared.
size_t CompareSizes(const TreeNode& node, const std::string& path) {
  size_t compared = 0;
  std::vector<std::string> names;
  const auto reader = node.OpenDirectory();
  if (!reader) return 0;
  while (const auto entry = (*reader)->Next().value()) names.push_back(entry->name);
  // No listing shows these.
  for (const char* name : {"data.zarr", "data.zarr2"}) names.emplace_back(name);
  for (const std::string& name : names) {
    const std::string place = path + '/' + name;
    if (name == "data.zarr" && path.find("data.zarr") != path.npos) continue;
    const auto listed = node.FindListed(name);
    const auto child = node.Lookup(name);
    if (!child) continue;
    const auto attributes = (*child)->Stat();
    if (!attributes || S_ISLNK(attributes->mode)) continue;
    if (IsDirectory(*attributes)) {
      compared += CompareSizes(**child, place);
    } else if (listed) {
      EXPECT_EQ(*listed->attributes.size, *attributes->size) << place;
      ++compared;
    }
  }
  return compared;
}

TEST_F(AnySourceTest, ListingsTellNoSizeThatIsNotTheFiles) {
  source_->Put("texts/.zarray",
               R"({"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": "|O", "order": "C",)"
               R"( "compressor": null, "filters": [{"id": "vlen-utf8"}], "fill_value": ""})");
  source_->Put("texts/0", std::string("\2\0\0\0\1\0\0\0a\3\0\0\0bcd", 16));
  source_->Put("texts/1", std::string("\2\0\0\0\0\0\0\0\4\0\0\0efgh", 16));
  EXPECT_FALSE(Find("texts/data.zarr2").value()->FindListed("0"));
  EXPECT_EQ(Find("texts/data.zarr2/0").value()->Stat().value().size, 16u);
  EXPECT_GT(CompareSizes(*Find("texts").value(), "texts"), 1u);
  for (const FormatExample& example : ndlfs::test::FormatExamples()) {
    example.put(*source_);
    EXPECT_GT(CompareSizes(*Find(example.path).value(), example.path), 1u) << example.path;
  }
}

// All that a caller can do with a size that may not be known: neither a number nor 0 is made of
// it without asking.
template <typename Size>
concept BecomesNumber = std::convertible_to<Size, uint64_t> || requires(const Size& size) {
  static_cast<uint64_t>(size);
} || requires(const Size& size) {
  size.value_or(0);
} || requires(const Size& size) {
  size + uint64_t{1};
};
static_assert(BecomesNumber<std::optional<uint64_t>> && !BecomesNumber<FileSize>);

TEST(FileSizeTest, UnknownOneIsNoNumber) {
  EXPECT_EQ(*FileSize(7), 7u);
  EXPECT_FALSE(FileSize());
  EXPECT_NE(FileSize(), FileSize(0));
  EXPECT_THROW((void)*FileSize(), std::bad_optional_access);
}

std::string NpyFile(const std::string& elements) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                       std::to_string(elements.size()) + ",)}";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + '\x76' + '\0' + header + '\n' + elements;
}

TEST_F(AnySourceTest, FileThatIsReplacedBeforeAnyAnswerIsTheNewOneAfterwards) {
  const auto read = [&](const std::string& path) -> model::Result<std::string> {
    NDLFS_TRY(const auto node, Find(path));
    NDLFS_TRY(const auto opened, node->Open());
    return Read(*opened.handle, 0, 1 << 16);
  };
  int answers = 0;
  int replaced_at = 0;
  do {
    ++replaced_at;
    const std::string name = "n" + std::to_string(replaced_at) + ".npy";
    SCOPED_TRACE(replaced_at);
    source_->Put(name, NpyFile("before"));
    answers = 0;
    source_->set_fault([&] {
      if (++answers == replaced_at) source_->Put(name, NpyFile("later on"));
      return 0;
    });
    // Either version, or an error.
    (void)read(name + "/data.raw");
    (void)read(name + "/.ndl.yaml");
    source_->set_fault({});
    if (answers < replaced_at) break;
    EXPECT_EQ(read(name + "/data.raw").value_or("an error"), "later on");
    EXPECT_THAT(read(name + "/.ndl.yaml").value_or("an error"), HasSubstr("8"));
  } while (true);
  EXPECT_GT(replaced_at, 5);
}

TEST_F(AnySourceTest, SourceIsMirrored) {
  source_->Put("d/a.txt", "text");
  const auto mirror = FindSourceMirror(context_).value();
  EXPECT_THAT(List(*mirror), Contains("d"));
  EXPECT_THAT(List(*MakeRoot(context_, {})), Contains("d"));
  EXPECT_EQ(MakeRoot(context_, {})->Stat().value().mode, mode_t{S_IFDIR} | 0555);
}

}  // namespace
}  // namespace ndlfs::fs
