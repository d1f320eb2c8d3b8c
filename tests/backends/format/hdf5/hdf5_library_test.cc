// SPDX-License-Identifier: MIT
//
// The interface to libhdf5, with the library in this process and in another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <thread>

#include "backends/format/hdf5/helper.h"
#include "backends/format/hdf5/library/library.h"
#include "backends/format/hdf5/messages.h"
#include "backends/helper/sandbox.h"
#include "backends/store/cancellation.h"
#include "backends/store/local/local_source.h"
#include "model/sanitizers.h"
#include "tests/support/hdf5_files.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::ErrorCode;
using test::IsErrno;
using test::IsError;
using test::IsOk;
using test::IsStale;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> HelperCommand() { return {NDLFS_EXECUTABLE, "--hdf5-helper"}; }

model::Result<std::shared_ptr<const File>> FileOf(model::Result<VersionedFile> opened) {
  if (!opened) return model::Propagate(std::move(opened).error());
  return std::move(opened->file);
}

model::Result<std::shared_ptr<const File>> OpenByHelper(
    const std::shared_ptr<Helper>& helper, const std::shared_ptr<const Source>& source,
    const std::string& path) {
  return FileOf(OpenFileByHelper(helper, source->OpenFile(path, Follow::kYes), path));
}

class Hdf5LibraryTest : public ::testing::TestWithParam<bool> {
 protected:
  model::Result<std::shared_ptr<const File>> TryOpen(const std::string& name) {
    if (!GetParam())
      return FileOf(OpenFile(source_, source_->OpenFile(name, Follow::kYes), name));
    return OpenByHelper(std::make_shared<Helper>(HelperCommand(), source_), source_, name);
  }
  std::shared_ptr<const File> Open(const std::string& name) {
    auto file = TryOpen(name);
    EXPECT_THAT(file, IsOk());
    return file.value_or(nullptr);
  }
  std::shared_ptr<const File> Write(std::string_view script) {
    test::RunH5py(directory_, script);
    return Open("a.h5");
  }

  test::TemporaryDirectory directory_;
  const std::shared_ptr<const Source> source_ = LocalSource::Open(directory_.path()).value();
};

TEST_P(Hdf5LibraryTest, FindTellsObjectsFromLinks) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    g = f.create_group('g'); g['x'] = [1, 2]
    f['soft'] = h5.SoftLink('/g/x'); f['external'] = h5.ExternalLink('b.h5', '/y')
    f['type'] = np.dtype('i4')
    f['second'] = g['x']; g['up'] = f['/']; g['self'] = g
    f['z'] = f['g']
)");
  std::map<std::string, ObjectKind> kinds;
  for (const char* path : {"/", "/g", "/g/x", "/type"}) {
    kinds[path] = file->Find(path).value().kind;
  }
  EXPECT_EQ(kinds["/"], ObjectKind::kGroup);
  EXPECT_EQ(kinds["/g"], ObjectKind::kGroup);
  EXPECT_EQ(kinds["/type"], ObjectKind::kNamedDatatype);
  EXPECT_EQ(kinds["/g/x"], ObjectKind::kAlias) << "/second is shorter";
  const auto soft = file->Find("/soft").value();
  EXPECT_EQ(soft.kind, ObjectKind::kSoftLink);
  EXPECT_EQ(soft.target, "/g/x");
  const auto external = file->Find("/external").value();
  EXPECT_EQ(external.kind, ObjectKind::kExternalLink);
  EXPECT_EQ(external.target, "/y");
  EXPECT_EQ(external.target_file, "b.h5");
  EXPECT_EQ(file->Find("/g/up").value().target, "/");
  EXPECT_EQ(file->Find("/g/self").value().target, "/g");
  EXPECT_EQ(file->Find("/z").value().target, "/g");
  EXPECT_EQ(file->Find("/second").value().kind, ObjectKind::kDataset);
}

TEST_P(Hdf5LibraryTest, WhatIsNotThereIsNotFound) {
  const auto file =
      Write("with h5.File('a.h5', 'w') as f: f['g/x'] = 1; f['s'] = h5.SoftLink('/g')");
  for (const char* path : {"/nothing", "/g/nothing", "/g/x/below", "/.", "/g/.", "/g/./x",
                           "/s/x", "/nothing/below"}) {
    EXPECT_THAT(file->Find(path), IsError(ErrorCode::kNotFound, ::testing::_)) << path;
    EXPECT_THAT(file->Describe(path), IsError(ErrorCode::kNotFound, ::testing::_)) << path;
  }
  EXPECT_THAT(file->List("/g/x"), IsError(ErrorCode::kNotFound, HasSubstr("not a group")));
}

TEST_P(Hdf5LibraryTest, ListHasEveryLink) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f['x'] = 1; f.create_group('g'); f['s'] = h5.SoftLink('/nowhere')
    f['t'] = np.dtype('f8'); f['\u00e9 \n'] = 2
)");
  std::map<std::string, ObjectKind> kinds;
  const auto children = file->List("/").value();
  for (const Child& child : children) kinds[child.name] = child.location.kind;
  EXPECT_THAT(kinds, ElementsAre(std::pair("g", ObjectKind::kGroup),
                                 std::pair("s", ObjectKind::kSoftLink),
                                 std::pair("t", ObjectKind::kNamedDatatype),
                                 std::pair("x", ObjectKind::kDataset),
                                 std::pair("\u00e9 \n", ObjectKind::kDataset)));
}

TEST_P(Hdf5LibraryTest, DatasetsDescribedTogetherAreAsEachAlone) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    g = f.create_group('g'); h = g.create_group('h')
    for n in ('y', 'x'): g[n] = np.arange(3.); g[n].make_scale(n)
    for n in ('a', 'b', 'c'):
        d = g.create_dataset(n, (3, 3), '>i2', chunks=(2, 2), compression='gzip', fillvalue=7)
        d.attrs['name'] = n; d.attrs['numbers'] = [1., 2.]; d.attrs['other'] = g['a'].ref
        d.dims[0].attach_scale(g['y']); d.dims[1].attach_scale(g['x'])
    h.create_dataset('a', (3,), 'f4').dims[0].attach_scale(g['y'])
    g['twice'] = 1; g['second'] = g['twice']; g['soft'] = h5.SoftLink('/g/a')
    g['type'] = np.dtype('i4')
)");
  const auto text = [](const ObjectInfo& info) {
    return test::ToHex(AsText(EncodeAnswer(model::Result<ObjectInfo>(info))));
  };
  const std::vector<std::string> names = {"c", "x",    "nothing", "a",   "h", "second", "twice",
                                          "y", "soft", "type",    "h/a", ".", "b",      "a"};
  const auto infos = file->DescribeDatasets("/g", names).value();
  ASSERT_EQ(infos.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_dataset = names[i].size() == 1 && names[i] != "h" && names[i] != ".";
    ASSERT_EQ(infos[i].has_value(), is_dataset) << names[i];
    if (!is_dataset) continue;
    EXPECT_EQ(text(*infos[i]), text(file->Describe("/g/" + names[i]).value())) << names[i];
  }
  // The same scale, from another group.
  const auto below = file->DescribeDatasets("/g/h", {"a"}).value();
  EXPECT_EQ(text(below.at(0).value()), text(file->Describe("/g/h/a").value()));
  EXPECT_THAT(file->DescribeDatasets("/g/a", names),
              IsError(ErrorCode::kNotFound, HasSubstr("")));
  EXPECT_THAT(file->DescribeDatasets("/g", {}).value(), IsEmpty());
}

TEST_P(Hdf5LibraryTest, ChunksAreWhereTheLibraryReadsThem) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w', libver='latest', userblock_size=512) as f:
    d = f.create_dataset('d', (10, 30), 'i4', chunks=(4, 10), maxshape=(None, 30))
    d[5:8, 15] = 7
    d.id.write_direct_chunk((8, 20), b'x' * 160, 0)
)");
  const auto chunks = file->LocateChunks("/d", 0, 100).value();
  ASSERT_EQ(chunks.size(), 9);
  std::string data = test::ReadFile(directory_ / "a.h5");
  for (size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i].bytes, i == 4 || i == 8 ? 160 : 0) << i;
  }
  EXPECT_EQ(data.substr(chunks[8].offset, 160), std::string(160, 'x'));
  EXPECT_EQ(file->LocateChunks("/d", 8, 5).value().size(), 1);
  EXPECT_THAT(file->LocateChunks("/d", 9, 5).value(), IsEmpty());
}

TEST_P(Hdf5LibraryTest, BlocksAreReadInTheTypeThatIsTold) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f['d'] = np.arange(20, dtype='>i2').reshape(4, 5)
)");
  const auto info = file->Describe("/d").value();
  EXPECT_EQ(info.dataset->stored_order, model::ByteOrder::kBig);
  const auto block = file->Read("/d", {{1, 2}, {2, 2}, false}, 1000).value();
  EXPECT_EQ(test::ToHex(AsText(block.bytes.span())),
            "07000800"
            "0c000d00");
  EXPECT_THAT(file->Read("/d", {{0, 0}, {4, 5}, false}, 39),
              IsError(ErrorCode::kLimit, HasSubstr("more than 39 bytes")));
  EXPECT_THAT(file->Read("/d", {{3, 3}, {2, 5}, false}, 1000),
              IsError(ErrorCode::kInternal, HasSubstr("outside")));
}

TEST_P(Hdf5LibraryTest, TextBeyondTheLimitIsRefusedBeforeItIsAllMemory) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f.create_dataset('d', data=['x' * 10000] * 10, dtype=h5.string_dtype())
)");
  EXPECT_THAT(file->Read("/d", {{0}, {10}, false}, 50'000),
              IsError(ErrorCode::kLimit, HasSubstr("more than 50000 bytes")));
  EXPECT_THAT(file->Read("/d", {{0}, {10}, false}, 200'000), IsOk());
}

TEST_P(Hdf5LibraryTest, AChangedFileIsStale) {
  const auto file = Write("with h5.File('a.h5', 'w') as f: f['x'] = 1");
  EXPECT_THAT(file->Find("/x"), IsOk());
  test::RunH5py(directory_, "with h5.File('a.h5', 'a') as f: f['y'] = 2");
  EXPECT_THAT(file->Find("/y"), IsStale());
  const auto again = Open("a.h5");
  EXPECT_THAT(again->Find("/y"), IsOk());
  EXPECT_THAT(file->Find("/y"), IsStale());
}

TEST_P(Hdf5LibraryTest, AFileWrittenForReadersToFollowIsRead) {
  test::RunH5py(directory_, R"(
f = h5.File('a.h5', 'w', libver='latest')
f.create_dataset('d', data=np.arange(10), chunks=(5,), maxshape=(None,)); f.swmr_mode = True; f.flush()
os.system('cp a.h5 b.h5')
)");
  EXPECT_THAT(Open("b.h5")->Find("/d"), IsOk());
}

TEST_P(Hdf5LibraryTest, FilesThatCannotBeOpenedSayWhy) {
  test::WriteFile(directory_ / "text.h5", "no such thing");
  test::WriteFile(directory_ / "empty.h5", "");
  EXPECT_THAT(TryOpen("absent.h5"), IsErrno(ENOENT));
  EXPECT_THAT(TryOpen("../outside.h5"), IsErrno(EXDEV));
  for (const char* name : {"text.h5", "empty.h5"}) {
    EXPECT_THAT(TryOpen(name), IsError(ErrorCode::kCorrupt, HasSubstr("signature not found")));
  }
  EXPECT_THAT(TryOpen(""), IsErrno(ENOENT)) << "a directory";
}

TEST_P(Hdf5LibraryTest, MembersOfFileFamiliesAreLeftAlone) {
  test::RunH5py(directory_, R"(
with h5.File('part%d.h5', 'w', driver='family', memb_size=4096) as f: f['x'] = np.arange(5000)
)");
  EXPECT_THAT(TryOpen("part0.h5"), IsError(ErrorCode::kCorrupt, HasSubstr("not a readable")));
  EXPECT_THAT(TryOpen("part1.h5"), IsError(ErrorCode::kCorrupt, HasSubstr("not a readable")));
}

TEST_P(Hdf5LibraryTest, SourcesOfVirtualDatasetsAreBeneathTheRoot) {
  test::RunH5py(directory_, R"(
os.mkdir('sub')
for name in ('sub/in.h5', '../%s.h5' % os.path.basename(os.getcwd())):
    with h5.File(name, 'w') as f: f['d'] = np.full(4, 7, 'i4')
outside = os.path.abspath('../%s.h5' % os.path.basename(os.getcwd()))
def virtual(name, source):
    with h5.File(name, 'w') as f:
        layout = h5.VirtualLayout((4,), 'i4'); layout[:] = h5.VirtualSource(source, 'd', (4,))
        f.create_virtual_dataset('v', layout, fillvalue=-1)
virtual('sub/a.h5', 'in.h5')
virtual('sub/absolute.h5', os.path.abspath('sub/in.h5'))
virtual('up.h5', '../' + os.path.basename(outside))
virtual('out.h5', outside)
)");
  const auto first = [&](const std::string& name) {
    const auto block = Open(name)->Read("/v", {{0}, {4}, false}, 1000);
    return block ? test::ToHex(AsText(block->bytes.span().first(4))) : block.error().message();
  };
  EXPECT_EQ(first("sub/a.h5"), "07000000");
  EXPECT_EQ(first("sub/absolute.h5"), "07000000");
  EXPECT_EQ(first("up.h5"), "ffffffff");
  EXPECT_EQ(first("out.h5"), "ffffffff");
  EXPECT_THAT(Open("up.h5")->Describe("/v").value().dataset->sources,
              ElementsAre(HasSubstr("../")));
  std::filesystem::remove(directory_.path().string() + ".h5");
}

TEST_P(Hdf5LibraryTest, ExternalFilesAreNotOpenedByTheLibrary) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f.create_dataset('d', (2,), 'i4', external=[('/etc/passwd', 0, 8)])
)");
  const auto info = file->Describe("/d").value();
  ASSERT_EQ(info.dataset->external.size(), 1);
  EXPECT_EQ(info.dataset->external[0].name, "/etc/passwd");
  EXPECT_THAT(file->Read("/d", {{0}, {2}, false}, 100),
              IsError(ErrorCode::kUnsupported, HasSubstr("external")));
}

TEST_P(Hdf5LibraryTest, SourcesOfVirtualDatasetsMayHaveNoExternalFiles) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f.create_dataset('d', (2,), 'i4', external=[('/etc/passwd', 0, 8)])
    layout = h5.VirtualLayout((2,), 'i4'); layout[:] = h5.VirtualSource('.', 'd', (2,))
    f.create_virtual_dataset('v', layout)
    layout = h5.VirtualLayout((2,), 'i4'); layout[:] = h5.VirtualSource('.', 'v', (2,))
    f.create_virtual_dataset('w', layout)
)");
  for (const char* path : {"/v", "/w"}) {
    EXPECT_THAT(file->Read(path, {{0}, {2}, false}, 100),
                IsError(ErrorCode::kUnsupported, HasSubstr("external")))
        << path;
  }
}

INSTANTIATE_TEST_SUITE_P(Where, Hdf5LibraryTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Helper" : "InProcess"; });

// --- What only a helper can do

class Hdf5HelperTest : public ::testing::Test {
 protected:
  Hdf5HelperTest() { test::RunH5py(directory_, "with h5.File('a.h5', 'w') as f: f['x'] = 1"); }

  model::Result<std::shared_ptr<const File>> Open(const std::shared_ptr<Helper>& helper,
                                                  const std::string& name = "a.h5") const {
    return OpenByHelper(helper, source_, name);
  }

  test::TemporaryDirectory directory_;
  const std::shared_ptr<const Source> source_ = LocalSource::Open(directory_.path()).value();
};

TEST_F(Hdf5HelperTest, DeathIsAnErrorOfTheQuestion) {
  const auto helper = std::make_shared<Helper>(std::vector<std::string>{"/bin/false"}, source_);
  EXPECT_THAT(Open(helper), IsError(ErrorCode::kCorrupt, HasSubstr("libhdf5 crashes over it")));
}

// A process that does nothing says nothing about the file.
TEST_F(Hdf5HelperTest, SilenceIsAnErrorOfTheMomentWithAMarkThatEnds) {
  using std::chrono::milliseconds;
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sleep", "1000"}, source_,
      Helper::Patience{milliseconds(50), milliseconds(20'000), milliseconds(60'000)});
  EXPECT_THAT(Open(helper), IsErrno(ETIMEDOUT));
  EXPECT_THAT(Open(helper),
              IsError(ErrorCode::kBusy, HasSubstr("did nothing for 0.05 s before")));
  const auto shorter = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sleep", "1000"}, source_,
      Helper::Patience{milliseconds(50), milliseconds(20'000), milliseconds(0)});
  EXPECT_THAT(Open(shorter), IsErrno(ETIMEDOUT));
  EXPECT_THAT(Open(shorter), IsError(ErrorCode::kBusy, ::testing::Not(HasSubstr("before"))));
}

TEST_F(Hdf5HelperTest, EndlessWorkIsGivenUpAfterItsShareOfTheProcessor) {
  using std::chrono::milliseconds;
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", "-c", "while :; do :; done"}, source_,
      Helper::Patience{milliseconds(60'000), milliseconds(300)});
  EXPECT_THAT(Open(helper), IsError(ErrorCode::kCorrupt, "libhdf5 comes to no end with it"));
}

TEST_F(Hdf5HelperTest, AFileThatTakesForeverKeepsNobodyElseWaiting) {
  using std::chrono::milliseconds;
  // The first start of the script hangs.
  test::WriteFile(directory_ / "slow.sh",
                  "#!/bin/sh\nmkdir " + (directory_ / "first") +
                      " 2>/dev/null && exec sleep 1000\nexec " NDLFS_EXECUTABLE
                      " --hdf5-helper\n");
  test::RunH5py(directory_, "with h5.File('b.h5', 'w') as f: f['x'] = 1");
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", directory_ / "slow.sh"}, source_,
      Helper::Patience{milliseconds(4'000), milliseconds(20'000)});
  std::atomic<bool> answered{false};
  std::thread waiting([&] {
    EXPECT_THAT(Open(helper), IsErrno(ETIMEDOUT));
    answered = true;
  });
  while (!std::filesystem::exists(directory_ / "first")) std::this_thread::yield();
  EXPECT_THAT(Open(helper, "b.h5"), IsOk());
  EXPECT_FALSE(answered);
  waiting.join();
}

TEST_F(Hdf5HelperTest, AnswersThatWouldFillTheMemoryAreNotTaken) {
  // A gigabyte for a question about objects: an answer's kind, its length, zeros.
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{
          "/bin/sh", "-c",
          R"(printf '\001\0\0\0\0\0\0\0\000\000\000\100\000\000\000\000' >&3; cat /dev/zero >&3)"},
      source_);
  EXPECT_THAT(Open(helper), IsError(ErrorCode::kCorrupt, HasSubstr("libhdf5 crashes over it")));
}

// A shell command that sends a message to the parent: its kind, and its words.
std::string Say(int kind, const std::vector<int>& words) {
  std::string command = fmt::format("printf '\\{:03o}\\0\\0\\0\\0\\0\\0\\0", kind);
  command += fmt::format("\\{:03o}\\0\\0\\0\\0\\0\\0\\0", words.size() * 8);
  for (const int word : words) command += fmt::format("\\{:03o}\\0\\0\\0\\0\\0\\0\\0", word);
  return command + "' >&3; ";
}

TEST_F(Hdf5HelperTest, OneThatAsksForAFileThatWasNotOpenedIsBelievedNothing) {
  // A read of no range, of the file number 0, which none has.
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", "-c", Say(2, {0, 0}) + "exec sleep 1000"}, source_);
  EXPECT_THAT(Open(helper), IsError(ErrorCode::kCorrupt, HasSubstr("libhdf5 crashes over it")));
}

TEST_F(Hdf5HelperTest, OneThatAsksAndDoesNotReadTheReplyIsGivenUp) {
  using std::chrono::milliseconds;
  // It opens a file of the empty name.
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", "-c", Say(3, {0}) + "exec sleep 1000"}, source_,
      Helper::Patience{milliseconds(200), milliseconds(20'000)});
  EXPECT_THAT(Open(helper), IsErrno(ETIMEDOUT));
}

TEST_F(Hdf5HelperTest, OneThatAsksWithoutEndIsNoMoreThanAnError) {
  using std::chrono::milliseconds;
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", "-c", "while " + Say(3, {0}) + "do :; done"}, source_,
      Helper::Patience{milliseconds(60'000), milliseconds(1'000)});
  EXPECT_THAT(Open(helper), IsError(ErrorCode::kCorrupt, HasSubstr("libhdf5")));
}

// The directory in /proc of the first process that this one has started.
std::string FirstChild() {
  const std::string children =
      test::ReadFile(fmt::format("/proc/{0}/task/{0}/children", ::getpid()));
  return "/proc/" + children.substr(0, children.find(' '));
}

TEST_F(Hdf5HelperTest, RunawayMemoryIsAnErrorOfTheQuestion) {
  if (model::kIsSanitized) GTEST_SKIP() << "sanitizers need their address space";
  // A sequence of four bytes that says it has almost 2^32.
  test::RunH5py(directory_, R"(
with h5.File('big.h5', 'w') as f:
    x = f.create_dataset('x', (1,), h5.vlen_dtype(np.uint8))
    x[0] = np.arange(4, dtype=np.uint8)
    offset = x.id.get_offset()
    f['y'] = 1
with open('big.h5', 'r+b') as f:
    f.seek(offset)
    assert f.read(4) == b'\x04\x00\x00\x00'
    f.seek(offset)
    f.write(b'\x00\x00\xff\xff')
)");
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{NDLFS_EXECUTABLE, "--hdf5-helper"}, source_);
  const auto file = Open(helper, "big.h5").value();
  const Block first = {.start = {0}, .count = {1}, .chunk_bytes = 64};
  EXPECT_THAT(file->Read("/x", first, uint64_t{1} << 30),
              IsError(ErrorCode::kCorrupt, HasSubstr("cannot read the elements")));
  EXPECT_THAT(file->Find("/y"), IsOk());
  const std::string status = test::ReadFile(FirstChild() + "/status");
  std::smatch largest;
  ASSERT_TRUE(std::regex_search(status, largest, std::regex("VmHWM:\\s+([0-9]+) kB")));
  EXPECT_LT(std::stoull(largest[1]), 100 * 1024);
}

TEST_F(Hdf5HelperTest, LivesInASandbox) {
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{NDLFS_EXECUTABLE, "--hdf5-helper"}, source_);
  ASSERT_THAT(Open(helper), IsOk());
  const std::string process = FirstChild();
  const std::string limits = test::ReadFile(process + "/limits");
  EXPECT_THAT(limits, ::testing::ContainsRegex("Max core file size +0 +0"));
  // Should its parent be killed, it does not compute for ever.
  EXPECT_THAT(limits, ::testing::ContainsRegex("Max cpu time +[0-9]+ +unlimited"));
  EXPECT_THAT(limits, ::testing::ContainsRegex(
                          model::kIsSanitized ? "Max address space +unlimited +unlimited"
                                              : "Max address space +536870912 +unlimited"));
  std::map<std::string, std::string> descriptors;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    descriptors[entry.path().filename()] = std::filesystem::read_symlink(entry.path());
  }
  EXPECT_THAT(descriptors, ElementsAre(::testing::Key("2"), ::testing::Key("3")));
  EXPECT_THAT(descriptors["3"], HasSubstr("socket:"));
  const std::string status = test::ReadFile(process + "/status");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_THAT(status, HasSubstr(std::string(set) + ":\t0000000000000000"));
  }
  EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(status, HasSubstr(helper::RefusesSystemCalls() ? "Seccomp:\t2" : "Seccomp:\t0"));
}

TEST_F(Hdf5HelperTest, AProgramThatIsNotThereIsNamed) {
  const auto helper =
      std::make_shared<Helper>(std::vector<std::string>{"/no/such/program"}, source_);
  EXPECT_THAT(Open(helper), IsErrno(ENOENT));
}

int PidOfChild() { return std::stoi(FirstChild().substr(std::string("/proc/").size())); }

TEST_F(Hdf5HelperTest, OneThatSomebodyKillsMarksNoFile) {
  const auto killed = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", "-c", "kill -KILL $$"}, source_);
  // Another look may find another state of the system.
  EXPECT_THAT(Open(killed), IsError(ErrorCode::kIo, HasSubstr("killed by signal 9")));
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{NDLFS_EXECUTABLE, "--hdf5-helper"}, source_);
  const auto file = Open(helper).value();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(::kill(PidOfChild(), SIGKILL), 0);
    EXPECT_THAT(file->Find("/x"), IsOk()) << i;
  }
}

TEST_F(Hdf5HelperTest, OneThatIsStoppedIsReplaced) {
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{NDLFS_EXECUTABLE, "--hdf5-helper"}, source_);
  const auto file = Open(helper).value();
  const int stopped = PidOfChild();
  ASSERT_EQ(::kill(stopped, SIGSTOP), 0);
  EXPECT_THAT(file->Find("/x"), IsOk());
  EXPECT_NE(PidOfChild(), stopped);
}

TEST_F(Hdf5HelperTest, AQuestionThatNobodyWaitsForEnds) {
  const auto helper =
      std::make_shared<Helper>(std::vector<std::string>{"/bin/sleep", "1000"}, source_);
  const auto request = std::make_shared<Cancellation>();
  request->Abandon();
  const CancellationScope scope(request);
  EXPECT_THAT(Open(helper), IsErrno(ECANCELED));
}

// Credentials are in the environment of many a daemon.
TEST_F(Hdf5HelperTest, InheritsNoEnvironment) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{NDLFS_EXECUTABLE, "--hdf5-helper"}, source_);
  ASSERT_THAT(Open(helper), IsOk());
  const std::string environment = test::ReadFile(FirstChild() + "/environ");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  for (const char* name : {"AWS_", "HOME="}) {
    EXPECT_THAT(environment, ::testing::Not(HasSubstr(name)));
  }
}

TEST_F(Hdf5HelperTest, OneThatWasKilledIsStartedAgain) {
  // The first start of the script ends at once, as if it had crashed.
  test::WriteFile(directory_ / "flaky.sh",
                  "#!/bin/sh\n"
                  "if [ -e " +
                      (directory_ / "died") +
                      " ]; then exec " NDLFS_EXECUTABLE
                      " --hdf5-helper; fi\n"
                      "touch " +
                      (directory_ / "died") + "\nkill -SEGV $$\n");
  const auto helper = std::make_shared<Helper>(
      std::vector<std::string>{"/bin/sh", directory_ / "flaky.sh"}, source_);
  const auto file = Open(helper);
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT((*file)->Find("/x"), IsOk());
}

}  // namespace
}  // namespace ndlfs::backends::hdf5
