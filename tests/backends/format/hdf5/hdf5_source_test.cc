// SPDX-License-Identifier: MIT
//
// HDF5 files that are no files of the system: any store will do, and what
// stores do wrong is an error, not other bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "backends/format/hdf5/file.h"
#include "backends/format/hdf5/hdf5.h"
#include "backends/store/source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/memory_store.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using test::IsErrno;
using test::IsOk;
using test::IsOkAnd;

// The file `key` of another store.
class OneOf final : public Store {
 public:
  OneOf(std::shared_ptr<const Store> store, std::string key)
      : store_(std::move(store)), key_(std::move(key)) {}
  model::Result<std::optional<ValueInfo>> Stat(std::string_view) const override {
    return store_->Stat(key_);
  }
  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }
  std::string Describe(std::string_view) const override { return store_->Describe(key_); }

 private:
  model::Result<std::optional<ReadResult>> DoRead(std::string_view, const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    return store_->Read(key_, options, reserve);
  }

  const std::shared_ptr<const Store> store_;
  const std::string key_;
};

// Files in memory, in one folder; any of them can be made to fail.
class MemoryFiles final : public Source {
 public:
  const std::string& name() const override { return name_; }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path, Follow) const override {
    NDLFS_TRY(const auto info, store->Stat(path));
    if (!info) return std::nullopt;
    FileStatus status;
    status.kind = FileKind::kFile;
    status.mode = 0444;
    status.size = info->size;
    return status;
  }
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view) const override {
    return model::IoError(ENOTDIR, "list");
  }
  std::shared_ptr<const Store> OpenStore(const std::string&) const override { return store; }
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow) const override {
    return std::make_shared<const OneOf>(store, path);
  }
  using Source::OpenFile;

  const std::shared_ptr<test::MemoryStore> store = std::make_shared<test::MemoryStore>();

 private:
  const std::string name_ = "/memory";
};

class Hdf5SourceTest : public ::testing::Test {
 protected:
  // Writes files by h5py, and moves them into the memory.
  void Write(std::string_view script, std::initializer_list<const char*> names) {
    test::RunH5py(directory_, script);
    for (const char* name : names) {
      files_->store->Put(name, test::ReadFile(directory_ / name));
      std::filesystem::remove(directory_ / name);
    }
  }
  std::shared_ptr<const Hierarchy> Open(const std::string& name = "a.h5") {
    auto opened = Hdf5Format().Open(files_, name, {});
    EXPECT_THAT(opened, IsOk());
    return opened.value_or(nullptr);
  }
  static model::Result<std::string> ReadArray(const Hierarchy& hierarchy,
                                              std::string_view path) {
    NDLFS_TRY(const auto node, hierarchy.Load(path));
    if (!node->source) return model::NotFound("no data");
    return test::ReadWhole(*node->source);
  }

  test::TemporaryDirectory directory_;
  const std::shared_ptr<MemoryFiles> files_ = std::make_shared<MemoryFiles>();
};

TEST_F(Hdf5SourceTest, AnyStoreWillDo) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    f['contiguous'] = np.arange(6, dtype='u1')
    f.create_dataset('chunked', data=np.arange(6, dtype='u1'), chunks=(4,), compression='gzip')
    f['g/text'] = np.array([b'ab', b'c'])
    f.create_dataset('strings', data=['x', 'yz'], dtype=h5.string_dtype())
)",
        {"a.h5"});
  const auto hierarchy = Open();
  const std::string numbers("\0\1\2\3\4\5", 6);
  EXPECT_THAT(ReadArray(*hierarchy, "/contiguous"), IsOkAnd(numbers));
  EXPECT_THAT(ReadArray(*hierarchy, "/chunked"), IsOkAnd(numbers));
  EXPECT_THAT(ReadArray(*hierarchy, "/g/text"), IsOkAnd(std::string("abc\0", 4)));
  EXPECT_THAT(ReadArray(*hierarchy, "/strings"), IsOk());
  EXPECT_THAT(hierarchy->List("/"),
              IsOkAnd(std::vector<std::string>{"chunked", "contiguous", "g", "strings"}));
}

TEST_F(Hdf5SourceTest, OtherFilesAreFoundInTheSameSource) {
  Write(R"(
with h5.File('b.h5', 'w') as f: f['d'] = np.arange(4, dtype='u1')
open('c.raw', 'wb').write(bytes([9, 8, 7, 6]))
with h5.File('a.h5', 'w') as f:
    layout = h5.VirtualLayout((8,), 'u1')
    layout[:4] = h5.VirtualSource('b.h5', 'd', (4,)); layout[4:] = h5.VirtualSource('none.h5', 'd', (4,))
    f.create_virtual_dataset('v', layout, fillvalue=5)
    f.create_dataset('e', (4,), 'u1', external=[('c.raw', 0, 4)])
)",
        {"a.h5", "b.h5", "c.raw"});
  const auto hierarchy = Open();
  EXPECT_THAT(ReadArray(*hierarchy, "/v"), IsOkAnd(std::string("\0\1\2\3\5\5\5\5", 8)));
  EXPECT_THAT(ReadArray(*hierarchy, "/e"), IsOkAnd(std::string("\x9\x8\x7\x6")));
}

TEST_F(Hdf5SourceTest, ASourceThatCannotBeReadIsNoSourceThatIsNotThere) {
  Write(R"(
with h5.File('b.h5', 'w') as f: f['d'] = np.arange(4, dtype='u1')
with h5.File('a.h5', 'w') as f:
    layout = h5.VirtualLayout((4,), 'u1'); layout[:] = h5.VirtualSource('b.h5', 'd', (4,))
    f.create_virtual_dataset('v', layout, fillvalue=5)
)",
        {"a.h5", "b.h5"});
  const auto node = test::LoadNode(*Open(), "/v");
  ASSERT_TRUE(node->source);
  for (const int error : {EIO, EMFILE, EACCES}) {
    files_->store->Fail("b.h5", error);
    EXPECT_THAT(test::ReadWhole(*node->source), IsErrno(error));
  }
  files_->store->Fail("b.h5", ENOENT);
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(std::string("\5\5\5\5")));
}

TEST_F(Hdf5SourceTest, AFailingStoreIsTheErrorOfEveryQuestion) {
  Write("with h5.File('a.h5', 'w') as f: f['g/x'] = [1, 2]; f['y'] = 3", {"a.h5"});
  const auto opened = hdf5::File::Open(files_->OpenFile("a.h5"), "a.h5").value();
  EXPECT_THAT(opened->List("/"), IsOk());
  files_->store->Fail("a.h5", EIO);
  EXPECT_THAT(opened->Find("/g"), IsErrno(EIO));
  EXPECT_THAT(opened->List("/"), IsErrno(EIO));
  EXPECT_THAT(opened->Describe("/g/x"), IsErrno(EIO));
}

TEST_F(Hdf5SourceTest, AFileThatIsReplacedIsStaleAndThenOpenedAnew) {
  Write("with h5.File('a.h5', 'w') as f: f['x'] = np.uint8(1)", {"a.h5"});
  const auto hierarchy = Open();
  const auto opened = hdf5::File::Open(files_->OpenFile("a.h5"), "a.h5").value();
  EXPECT_THAT(ReadArray(*hierarchy, "/x"), IsOkAnd(std::string("\1")));
  Write("with h5.File('a.h5', 'w') as f: f['x'] = np.uint8(2)", {"a.h5"});
  EXPECT_THAT(opened->Find("/x"), test::IsStale());
  EXPECT_THAT(ReadArray(*hierarchy, "/x"), IsOkAnd(std::string("\2")));
}

TEST_F(Hdf5SourceTest, AVirtualDatasetNeverShowsBytesOfTwoVersionsOfItsOwnFile) {
  Write(R"(
with h5.File('a.h5', 'w') as f:
    f['d'] = np.arange(4, dtype='u1')
    layout = h5.VirtualLayout((4,), 'u1'); layout[:] = h5.VirtualSource('a.h5', 'd', (4,))
    f.create_virtual_dataset('v', layout, fillvalue=5)
)",
        {"a.h5"});
  const auto hierarchy = Open();
  const auto node = test::LoadNode(*hierarchy, "/v");
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(std::string("\0\1\2\3", 4)));
  files_->store->Put("a.h5", "another one");
  EXPECT_THAT(test::ReadWhole(*node->source), test::IsStale());
}

// --- Long ways

TEST(Hdf5DeepGroupsTest, AnObjectFarDownTakesNoMoreReadsThanItsGroup) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, R"(
with h5.File('a.h5', 'w') as f:
    g = f
    for i in range(300): g = g.create_group('g')
    for i in range(3): g['x%d' % i] = i
    g['up'] = f['g/g']
)");
  const auto files = std::make_shared<MemoryFiles>();
  files->store->Put("a.h5", test::ReadFile(directory / "a.h5"));
  const auto opened = hdf5::File::Open(files->OpenFile("a.h5"), "a.h5").value();
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "/g";
  EXPECT_EQ(opened->Find(deep + "/x0").value().kind, hdf5::ObjectKind::kDataset);
  const size_t before = files->store->reads();
  EXPECT_EQ(opened->Find(deep + "/x1").value().kind, hdf5::ObjectKind::kDataset);
  EXPECT_THAT(opened->Describe(deep + "/x2"), IsOk());
  EXPECT_LT(files->store->reads() - before, 60);
  EXPECT_EQ(opened->Find(deep + "/up").value().target, "/g/g");
  EXPECT_THAT(opened->Find(deep + "/g/x1"),
              test::IsError(model::ErrorCode::kNotFound, ::testing::_));
  EXPECT_THAT(opened->Find(deep + "/x0/y"),
              test::IsError(model::ErrorCode::kNotFound, ::testing::_));
}

}  // namespace
}  // namespace ndlfs::backends
