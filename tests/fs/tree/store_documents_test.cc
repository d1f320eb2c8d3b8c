// SPDX-License-Identifier: MIT
//
// The documents of real stores: valid, canonical, and read back as the model
// that they were written of. The stores are those in examples/data, and those
// below the directory that the environment variable NDLFS_TEST_STORES names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/hierarchy.h"
#include "backends/store/local/local_source.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/tree/store/document.h"
#include "model/ndl/ndl_reader.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"
#include "tests/support/detect_file.h"
#include "tests/support/read_group.h"

namespace ndlfs::fs {
namespace {

namespace stdfs = std::filesystem;
using ::testing::IsEmpty;

// Calls visit(path, format) for each store below `path` of `root`.
template <typename Visit>
size_t ForEachStore(const backends::Source& root, const std::string& path, const Visit& visit) {
  size_t count = 0;
  std::vector<stdfs::directory_entry> entries(
      stdfs::directory_iterator(stdfs::path(root.name()) / path), stdfs::directory_iterator());
  std::sort(entries.begin(), entries.end());
  for (const auto& entry : entries) {
    if (entry.is_symlink()) continue;
    const std::string name = entry.path().filename().string();
    const std::string child = path.empty() ? name : path + "/" + name;
    const backends::Format* format = entry.is_directory()
                                         ? backends::DetectDirectory(root, child).value()
                                         : backends::DetectFile(root, child);
    if (format != nullptr) {
      visit(child, *format);
      ++count;
    } else if (entry.is_directory()) {
      count += ForEachStore(root, child, visit);
    }
  }
  return count;
}

std::string Errors(const model::ParsedDocument& parsed) {
  std::string text;
  for (const auto& error : parsed.errors) text += model::FormatDiagnostic("", error) + "\n";
  return text;
}

// The first line in which two texts differ.
std::string Difference(std::string_view a, std::string_view b) {
  const auto [at, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const size_t begin = a.rfind('\n', static_cast<size_t>(at - a.begin())) + 1;
  const auto line = [begin](std::string_view text) {
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "";
  };
  return "written " + std::string(line(a)) + "\nagain   " + std::string(line(b));
}

void CheckCanonical(std::string_view text) {
  const model::ParsedDocument parsed = model::ReadNdl(text, "store");
  EXPECT_THAT(Errors(parsed), IsEmpty());
  if (!parsed.file) return;
  const std::string again = model::WriteFile(*parsed.file);
  EXPECT_TRUE(again == text) << Difference(text, again);
}

model::Result<std::string> DocumentText(const backends::Hierarchy& hierarchy,
                                        std::string_view store, std::string_view path,
                                        const ReaderOf& reader_of) {
  std::string text;
  const TextSink sink = [&](std::string_view part) -> model::Result<void> {
    text += part;
    return {};
  };
  NDLFS_RETURN_IF_ERROR(WriteDocument(hierarchy, store, path, reader_of, sink));
  return text;
}

// The documents of all objects in `group` alone are valid, too.
void CheckObjects(const backends::Hierarchy& hierarchy, const model::Group& group,
                  const std::string& path, const ReaderOf& reader_of) {
  const auto check = [&](const std::string& name) {
    const std::string object = model::JoinPath(path, name);
    const auto text = DocumentText(hierarchy, "store", object, reader_of);
    if (!text) return;  // a name in two parts of a file that is broken
    EXPECT_THAT(Errors(model::ReadNdl(*text, "object")), IsEmpty()) << object;
  };
  for (const auto& dimcoord : group.dimcoords) check(dimcoord.name);
  for (const auto& ndarray : group.ndarrays) check(ndarray.name);
  for (const auto& child : group.groups) {
    check(child.name);
    CheckObjects(hierarchy, child, model::JoinPath(path, child.name), reader_of);
  }
}

void CheckStore(const std::shared_ptr<const backends::Source>& root, const std::string& path,
                const backends::Format& format) {
  SCOPED_TRACE(path);
  const auto hierarchy = format.Open(root, path, {});
  if (!hierarchy) return;  // it is broken: an `error.txt`, and no document
  cache::ChunkCache cache(uint64_t{64} << 20);
  const ReaderOf reader_of =
      [&](std::string_view array) -> std::shared_ptr<const cache::ArrayReader> {
    const auto node = (*hierarchy)->Load(array);
    if (!node || !(*node)->source) return nullptr;
    return std::make_shared<cache::ArrayReader>((*node)->source, cache);
  };
  const auto text = DocumentText(**hierarchy, "store", "/", reader_of);
  const auto group = backends::ReadGroup(**hierarchy, "/");
  if (!text || !group) return;
  const auto top = (*hierarchy)->Load("/");
  if (top && !(*top)->is_group()) {
    EXPECT_THAT(Errors(model::ReadNdl(*text, "store")), IsEmpty());
    return;
  }
  CheckCanonical(*text);
  const auto parsed = model::ReadNdl(model::WriteGroup(*group, "/"), "store");
  ASSERT_TRUE(parsed.file) << Errors(parsed);
  EXPECT_TRUE(parsed.file->root == *group);
  CheckObjects(**hierarchy, *group, "/", reader_of);
}

void CheckAllIn(const std::string& directory, size_t least) {
  const auto root = backends::LocalSource::Open(directory).value();
  const size_t count = ForEachStore(
      *root, "", [&](const std::string& path, const auto& f) { CheckStore(root, path, f); });
  EXPECT_GE(count, least);
}

TEST(StoreDocumentsTest, OfTheExamplesAreReadBackEqual) {
  const stdfs::path tests = stdfs::path(NDLFS_TEST_DATA).parent_path();
  CheckAllIn(tests.parent_path() / "examples" / "data", 4);
  if (const char* directory = std::getenv("NDLFS_TEST_STORES")) CheckAllIn(directory, 1);
}

// Documents with values are stores themselves.
TEST(StoreDocumentsTest, OfDocumentsAreReadBackEqual) { CheckAllIn(NDLFS_TEST_DATA, 5); }

}  // namespace
}  // namespace ndlfs::fs
