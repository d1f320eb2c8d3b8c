// SPDX-License-Identifier: MIT
#include "backends/store/local/source_root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/store/local/descriptor_cache.h"
#include "backends/store/request_scope.h"
#include "tests/support/python.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;
namespace fs = std::filesystem;

size_t OpenDescriptors() {
  const fs::directory_iterator begin("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin, fs::directory_iterator()));
}

// A source directory with something outside of it that must stay unseen.
class SourceRootTest : public ::testing::TestWithParam<Confinement> {
 protected:
  SourceRootTest() {
    fs::create_directories(directory_ / "source/sub");
    test::WriteFile(directory_ / "secret", "secret");
    test::WriteFile(directory_ / "source/file", "0123456789");
    test::WriteFile(directory_ / "source/sub/inner", "inner");
    root_ = Open(directory_ / "source").value();
  }
  static model::Result<std::shared_ptr<const SourceRoot>> Open(const fs::path& path,
                                                               bool shared = false) {
    return SourceRoot::Open(path, shared, GetParam());
  }
  void Link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, directory_ / ("source/" + name));
  }
  std::string Read(const Store& store, std::string_view key, uint64_t offset = 0,
                   size_t size = 100) {
    std::string text(size, '?');
    const auto count = store.ReadInto(key, offset, std::as_writable_bytes(std::span(text)));
    if (!count) return "error: " + count.error().message();
    return *count ? text.substr(0, **count) : "absent";
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const SourceRoot> root_;
};

TEST_P(SourceRootTest, OpensFilesAndDirectoriesBeneathIt) {
  EXPECT_THAT(root_->OpenBeneath("file"), test::IsOk());
  EXPECT_THAT(root_->OpenBeneath("sub/inner"), test::IsOk());
  EXPECT_THAT(root_->OpenBeneath("", O_DIRECTORY), test::IsOk());
  EXPECT_THAT(root_->OpenBeneath("sub/../file"), test::IsOk());
  EXPECT_EQ(root_->path(), fs::canonical(directory_ / "source"));
}

TEST_P(SourceRootTest, NamesWhatCannotBeTheSource) {
  EXPECT_THAT(Open(directory_ / "nowhere"), test::IsErrno(ENOENT));
  const auto file = Open(directory_ / "secret");
  EXPECT_THAT(file, test::IsErrno(ENOTDIR));
  EXPECT_THAT(file.error().message(), HasSubstr("secret: Not a directory"));
}

TEST_P(SourceRootTest, PathsThatClimbOutAreRefused) {
  EXPECT_THAT(root_->OpenBeneath("../secret"), test::IsErrno(EXDEV));
  EXPECT_THAT(root_->OpenBeneath("sub/../../secret"), test::IsErrno(EXDEV));
  EXPECT_THAT(root_->OpenBeneath(directory_ / "secret"), test::IsErrno(EXDEV));
  EXPECT_THAT(root_->OpenBeneath("/etc/passwd"), test::IsErrno(EXDEV));
  EXPECT_THAT(root_->Stat("../secret"), test::IsErrno(EXDEV));
  EXPECT_THAT(root_->Stat(".."), test::IsErrno(EXDEV));
}

TEST_P(SourceRootTest, SymbolicLinksInsideAreFollowed) {
  Link("file", "link");
  Link("../file", "sub/up");
  Link("sub", "folder");
  EXPECT_THAT(root_->OpenBeneath("link"), test::IsOk());
  EXPECT_THAT(root_->OpenBeneath("sub/up"), test::IsOk());
  EXPECT_THAT(root_->OpenBeneath("folder/inner"), test::IsOk());
  EXPECT_TRUE(S_ISREG(root_->Stat("link")->st_mode));
  EXPECT_TRUE(S_ISLNK(root_->Stat("link", false)->st_mode));
}

TEST_P(SourceRootTest, SymbolicLinksThatLeadOutAreNot) {
  Link("../secret", "relative");
  Link(directory_ / "secret", "absolute");
  Link(directory_ / "source/file", "absolute_inside");
  Link("..", "parent");
  Link("/proc/self/root", "magic");
  for (const char* path : {"relative", "absolute", "absolute_inside", "parent/secret", "magic",
                           "magic/etc/passwd"}) {
    EXPECT_THAT(root_->OpenBeneath(path), test::IsErrno(EXDEV)) << path;
    EXPECT_THAT(root_->Stat(path), test::IsErrno(EXDEV)) << path;
    EXPECT_THAT(root_->OpenBeneath(path, O_PATH), test::IsErrno(EXDEV)) << path;
  }
}

TEST_P(SourceRootTest, LoopsOfSymbolicLinksEnd) {
  Link("b", "a");
  Link("a", "b");
  Link("self/x", "self");
  EXPECT_THAT(root_->OpenBeneath("a"), test::IsErrno(ELOOP));
  EXPECT_THAT(root_->OpenBeneath("self"), test::IsErrno(ELOOP));
}

TEST_P(SourceRootTest, ReadLinkTellsWhereALinkPoints) {
  Link("../secret", "out");
  EXPECT_THAT(root_->ReadLink("out"), test::IsOkAnd(Eq("../secret")));
  EXPECT_THAT(root_->ReadLink("file"), test::IsErrno(EINVAL));
  EXPECT_THAT(root_->ReadLink("none"), test::IsErrno(ENOENT));
}

TEST_P(SourceRootTest, FifosNeitherBlockNorOpen) {
  ASSERT_EQ(::mkfifo((directory_ / "source/fifo").c_str(), 0600), 0);
  EXPECT_THAT(root_->OpenBeneath("fifo"), test::IsErrno(ENXIO));
  EXPECT_TRUE(S_ISFIFO(root_->Stat("fifo")->st_mode));
  const auto store = MakeDirectoryStore(root_, "");
  EXPECT_THAT(store->Size("fifo"), test::IsErrno(ENXIO));
  EXPECT_EQ(Read(*store, "fifo"), "error: open: No such device or address");
  EXPECT_THAT(store->List(""), test::IsOkAnd(testing::SizeIs(2)));
}

TEST_P(SourceRootTest, ImpossibleNamesAreErrorsNotCrashes) {
  EXPECT_THAT(root_->OpenBeneath(std::string_view("file\0x", 6)), test::IsErrno(ENOENT));
  EXPECT_THAT(root_->OpenBeneath(std::string(300, 'x')), test::IsErrno(ENAMETOOLONG));
  EXPECT_THAT(root_->OpenBeneath(std::string(5000, '/')), test::IsErrno(ENAMETOOLONG));
}

TEST_P(SourceRootTest, StreamsADirectoryAndResumes) {
  Link("file", "link");
  auto stream = DirectoryStream::Open(*root_, "");
  ASSERT_THAT(stream, test::IsOk());
  std::vector<std::string> names;
  std::vector<int64_t> positions = {0};
  for (;;) {
    const auto entry = stream->Next();
    ASSERT_THAT(entry, test::IsOk());
    if (*entry == nullptr) break;
    names.emplace_back((*entry)->name);
    positions.push_back((*entry)->next);
    EXPECT_EQ((*entry)->inode, root_->Stat((*entry)->name, false)->st_ino);
  }
  EXPECT_THAT(names, UnorderedElementsAre("file", "link", "sub"));
  for (size_t i = 0; i < names.size(); ++i) {
    stream->Seek(positions[i]);
    EXPECT_EQ((*stream->Next())->name, names[i]);
  }
}

TEST_P(SourceRootTest, StreamsOnlyDirectories) {
  EXPECT_THAT(DirectoryStream::Open(*root_, "file"), test::IsErrno(ENOTDIR));
  EXPECT_THAT(DirectoryStream::Open(*root_, "none"), test::IsErrno(ENOENT));
  EXPECT_THAT(DirectoryStream::Open(*root_, ".."), test::IsErrno(EXDEV));
}

TEST_P(SourceRootTest, DirectoryStoreFollowsLinksThatStayInside) {
  Link("../../file", "sub/chunk");
  const auto error = Read(*MakeDirectoryStore(root_, "sub"), "chunk");
  EXPECT_EQ(error, "error: open: Invalid cross-device link");
  fs::remove(directory_ / "source/sub/chunk");
  Link("../file", "sub/chunk");
  EXPECT_EQ(Read(*MakeDirectoryStore(root_, "sub"), "chunk"), "0123456789");
}

TEST_P(SourceRootTest, DirectoryStoreListsWhatLinksLeadTo) {
  fs::create_directories(directory_ / "source/group/real");
  fs::create_symlink("../sub", directory_ / "source/group/folder");
  fs::create_symlink("../file", directory_ / "source/group/value");
  fs::create_symlink("../../secret", directory_ / "source/group/out");
  const auto entries = MakeDirectoryStore(root_, "group")->List("");
  ASSERT_THAT(entries, test::IsOk());
  std::vector<std::pair<std::string, bool>> found;
  for (const auto& entry : *entries) found.emplace_back(entry.name, entry.is_prefix);
  EXPECT_THAT(found, ElementsAre(std::pair("folder", true), std::pair("out", false),
                                 std::pair("real", true), std::pair("value", false)));
}

TEST_P(SourceRootTest, UnreadableFilesAreErrors) {
  if (::geteuid() == 0) {
    // Root reads everything; a directory in the place of the key's parent
    // that is a file is the nearest that it cannot.
    EXPECT_EQ(Read(*MakeDirectoryStore(root_, ""), "file/x"), "absent");
    return;
  }
  fs::permissions(directory_ / "source/file", fs::perms::none);
  EXPECT_EQ(Read(*MakeDirectoryStore(root_, ""), "file"), "error: open: Permission denied");
}

TEST_P(SourceRootTest, DirectoryStoreSeesReplacedFilesAfterStat) {
  const auto store = MakeDirectoryStore(root_, "");
  const auto before = store->Stat("file");
  EXPECT_EQ(Read(*store, "file", 0, 3), "012");  // a part: the file stays open
  test::WriteFile(directory_ / "source/new", "abcdefghij");
  fs::rename(directory_ / "source/new", directory_ / "source/file");
  const auto after = store->Stat("file");
  EXPECT_NE(*before, *after);
  EXPECT_EQ(Read(*store, "file", 3, 3), "def");
  fs::remove(directory_ / "source/file");
  EXPECT_THAT(store->Stat("file"), test::IsOkAnd(Eq(std::nullopt)));
  EXPECT_EQ(Read(*store, "file", 3, 3), "absent");
}

TEST_P(SourceRootTest, FileStoreNeverMixesTwoFiles) {
  const auto old_store = MakeFileStore(root_, "file");
  EXPECT_EQ(Read(*old_store, "", 0, 3), "012");
  const auto old_stamp = old_store->Stat("");
  test::WriteFile(directory_ / "source/new", "abcdefghijk");
  fs::rename(directory_ / "source/new", directory_ / "source/file");

  EXPECT_NE(*old_store->Stat(""), *old_stamp);
  EXPECT_EQ(Read(*old_store, "", 3, 3), "345");  // still open
  DescriptorCache::Global().Clear();
  EXPECT_EQ(Read(*old_store, "", 3, 3), "error: changed since it was opened");
  EXPECT_THAT(old_store->Size(""), test::IsStale());

  const auto new_store = MakeFileStore(root_, "file");
  EXPECT_EQ(Read(*new_store, "", 3, 3), "def");
  EXPECT_THAT(new_store->Size(""), test::IsOkAnd(Optional(11u)));
  fs::remove(directory_ / "source/file");
  DescriptorCache::Global().Clear();
  EXPECT_EQ(Read(*new_store, ""), "error: changed since it was opened");
  EXPECT_THAT(new_store->Stat(""), test::IsOkAnd(Eq(std::nullopt)));
}

TEST_P(SourceRootTest, FileStoreNoticesThatItsFileIsRewrittenInPlace) {
  const auto store = MakeFileStore(root_, "file");
  const auto before = store->Stat("");
  EXPECT_EQ(Read(*store, "", 0, 3), "012");
  test::WriteFile(directory_ / "source/file", "9876543210");
  const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory_ / "source/file").c_str(), times, 0), 0);
  const auto after = store->Stat("");
  EXPECT_NE(*before, *after);
  EXPECT_EQ((*after)->modified_ns, 1'000'000'000'000'000'005);
  EXPECT_EQ(Read(*store, "", 3, 3), "error: changed since it was opened");
  EXPECT_EQ(Read(*MakeFileStore(root_, "file"), "", 3, 3), "654");
}

// The time of the last write can be set, and that of the last change of any kind cannot.
TEST_P(SourceRootTest, AFileWhoseTimeIsSetBackAfterItWasWrittenIsAnotherVersion) {
  const std::string path = directory_ / "source/file";
  const auto file = MakeFileStore(root_, "file");
  const auto folder = MakeDirectoryStore(root_, "");
  const auto before = file->Stat("").value();
  EXPECT_EQ(Read(*file, "", 0, 3), "012");
  EXPECT_EQ(Read(*folder, "file", 0, 3), "012");
  test::WriteFile(path, "9876543210");
  const int64_t ns = before->modified_ns;
  const timespec times[2] = {{0, UTIME_OMIT}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(file->Stat("").value()->modified_ns, before->modified_ns);
  EXPECT_EQ(Read(*file, "", 3, 3), "error: changed since it was opened");
  EXPECT_THAT(folder->Get("file", 100, {.if_match = before->generation}), test::IsStale());
}

TEST_P(SourceRootTest, AFileThatGetsAnotherNameIsTheSameVersion) {
  const std::string path = directory_ / "source/file";
  const auto file = MakeFileStore(root_, "file");
  EXPECT_EQ(Read(*file, "", 0, 3), "012");
  ASSERT_EQ(::link(path.c_str(), (path + ".snapshot").c_str()), 0);
  EXPECT_EQ(Read(*file, "", 3, 3), "345");
}

TEST_P(SourceRootTest, TheClockOfFilesIsThatByWhichTheyGetTheirTimes) {
  const auto store = MakeDirectoryStore(root_, "");
  const auto before = store->ClockNs();
  if (!before) GTEST_SKIP() << "the file system is that of another machine, or not known";
  test::WriteFile(directory_ / "source/file", "new");
  const int64_t placed = store->Stat("file").value()->placed_ns;
  constexpr int64_t kTick = 20'000'000;
  EXPECT_GE(placed, *before - kTick);
  EXPECT_LE(placed, store->ClockNs().value() + kTick);
}

TEST_P(SourceRootTest, DescribesPathsAsTheUserKnowsThem) {
  EXPECT_EQ(MakeDirectoryStore(root_, "sub")->Describe("a/0.0"), "sub/a/0.0");
  EXPECT_EQ(MakeDirectoryStore(root_, "")->Describe("a"), "source/a");
  EXPECT_EQ(MakeDirectoryStore(root_, "sub")->Describe(""), "sub");
  EXPECT_EQ(MakeFileStore(root_, "sub/inner")->Describe(""), "sub/inner");
}

TEST_P(SourceRootTest, AThousandStoresKeepFewDescriptorsOpen) {
  const size_t before = OpenDescriptors();
  std::vector<std::shared_ptr<const Store>> stores;
  for (int i = 0; i < 1000; ++i) {
    stores.push_back(MakeFileStore(root_, "file"));
    ASSERT_EQ(Read(*stores.back(), "", 1, 2), "12");
  }
  EXPECT_LE(OpenDescriptors(), before + 64);
  stores.clear();
  EXPECT_EQ(OpenDescriptors(), before);
}

// Takes all the descriptors that the process may have.
class DescriptorHog {
 public:
  DescriptorHog() {
    ::getrlimit(RLIMIT_NOFILE, &limit_);
    rlimit low = limit_;
    low.rlim_cur = 256;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (;;) {
      UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!fd) break;
      held_.push_back(std::move(fd));
    }
  }
  ~DescriptorHog() { ::setrlimit(RLIMIT_NOFILE, &limit_); }

 private:
  rlimit limit_;
  std::vector<UniqueFd> held_;
};

TEST_P(SourceRootTest, GivesItsDescriptorsUpWhenThereAreNoMore) {
  const auto store = MakeFileStore(root_, "file");
  EXPECT_EQ(Read(*store, "", 0, 1), "0");
  // Part by part takes two at a time.
  const auto other = MakeFileStore(root_, "file");
  EXPECT_EQ(Read(*other, "", 0, 1), "0");
  const DescriptorHog hog;
  EXPECT_THAT(root_->OpenBeneath("sub/inner"), test::IsErrno(EMFILE));
  EXPECT_EQ(Read(*MakeFileStore(root_, "sub/inner"), "", 0, 2), "in");
}

INSTANTIATE_TEST_SUITE_P(Confined, SourceRootTest,
                         ::testing::Values(Confinement::kByKernel, Confinement::kByParts),
                         [](const auto& way) {
                           return way.param == Confinement::kByKernel ? "ByKernel" : "ByParts";
                         });

TEST(DescriptorCacheTest, ClosesTheLeastRecentlyUsed) {
  const auto make = [] {
    return std::make_shared<const DescriptorCache::File>(
        DescriptorCache::File{UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), {}, {}});
  };
  DescriptorCache cache(2);
  cache.Keep(1, "a", make());
  cache.Keep(1, "b", make());
  EXPECT_TRUE(cache.Find(1, "a"));
  EXPECT_FALSE(cache.Find(2, "a"));
  cache.Keep(1, "c", make());
  EXPECT_TRUE(cache.Find(1, "a"));
  EXPECT_FALSE(cache.Find(1, "b"));
  EXPECT_EQ(cache.size(), 2u);

  const auto held = cache.Find(1, "a");
  cache.DropAll(1);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_NE(::fcntl(held->fd.get(), F_GETFD), -1);  // open as long as it is held
}

TEST_P(SourceRootTest, AFolderIsOpenedOnceInARequestAndItsFilesAreThoseOfTheMoment) {
  const size_t before = OpenDescriptors();
  {
    const RequestScope request;
    ASSERT_THAT(root_->StatForOthers("sub", /*follow=*/false), test::IsOk());
    EXPECT_EQ(OpenDescriptors(), before + 1);
    const auto folder = root_->OpenFolder("sub").value();
    EXPECT_EQ(OpenDescriptors(), before + 1) << "the same one";
    EXPECT_EQ(root_->StatForOthers("sub").value().st_ino, folder->status.st_ino);
    EXPECT_TRUE(S_ISDIR(root_->StatForOthers("sub").value().st_mode));
    EXPECT_EQ(root_->StatForOthers("sub/inner").value().st_size, 5);
    test::WriteFile(directory_ / "source/sub/inner", "longer inner");
    EXPECT_EQ(root_->StatForOthers("sub/inner").value().st_size, 12);
    EXPECT_THAT(root_->StatForOthers("sub/none"), test::IsErrno(ENOENT));
    EXPECT_NE(root_->OpenFolder("").value(), folder);
    EXPECT_EQ(root_->StatForOthers("file").value().st_size, 10);
  }
  EXPECT_EQ(OpenDescriptors(), before) << "closed with the request";
  EXPECT_NE(root_->OpenFolder("sub").value(), root_->OpenFolder("sub").value())
      << "without a request nothing is kept";
}

TEST_P(SourceRootTest, LinksInAnOpenFolderLeadNowhereElse) {
  Link("../../secret", "sub/out");
  Link("inner", "sub/in");
  const RequestScope request;
  ASSERT_THAT(root_->OpenFolder("sub"), test::IsOk());
  EXPECT_THAT(root_->StatForOthers("sub/out"), test::IsErrno(EXDEV));
  EXPECT_TRUE(S_ISLNK(root_->StatForOthers("sub/out", /*follow=*/false).value().st_mode));
  EXPECT_EQ(root_->StatForOthers("sub/in").value().st_size, 5);
  EXPECT_THAT(root_->StatForOthers("sub/.."), test::IsOk());
  EXPECT_THAT(root_->StatForOthers("sub/../../secret"), test::IsErrno(EXDEV));
}

TEST_P(SourceRootTest, ASharedSourceKeepsNoFolderOpen) {
  const auto shared = Open(directory_ / "source", /*shared=*/true).value();
  const CallerScope caller(SelfAsCaller());
  const RequestScope request;
  const size_t before = OpenDescriptors();
  EXPECT_THAT(shared->StatForOthers("sub", /*follow=*/false), test::IsOk());
  EXPECT_EQ(shared->OpenFolder("sub").value(), nullptr);
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace ndlfs::backends
