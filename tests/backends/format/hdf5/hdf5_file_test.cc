// SPDX-License-Identifier: MIT
//
// Files by their metadata: what is where, and what is stored of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "backends/base/checked.h"
#include "backends/format/hdf5/file.h"
#include "backends/store/local/local_source.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::ErrorCode;
using test::IsErrno;
using test::IsError;
using test::IsOk;
using test::IsStale;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Hdf5FileTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const File>> TryOpen(const std::string& name) {
    return File::Open(source_->OpenFile(name, Follow::kYes), name);
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

TEST_F(Hdf5FileTest, FindTellsObjectsFromLinks) {
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

TEST_F(Hdf5FileTest, WhatIsNotThereIsNotFound) {
  const auto file =
      Write("with h5.File('a.h5', 'w') as f: f['g/x'] = 1; f['s'] = h5.SoftLink('/g')");
  for (const char* path : {"/nothing", "/g/nothing", "/g/x/below", "/.", "/g/.", "/g/./x",
                           "/s/x", "/nothing/below"}) {
    EXPECT_THAT(file->Find(path), IsError(ErrorCode::kNotFound, ::testing::_)) << path;
    EXPECT_THAT(file->Describe(path), IsError(ErrorCode::kNotFound, ::testing::_)) << path;
  }
  EXPECT_THAT(file->List("/g/x"), IsError(ErrorCode::kNotFound, HasSubstr("not a group")));
}

TEST_F(Hdf5FileTest, ListHasEveryLink) {
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

TEST_F(Hdf5FileTest, ChunksAreWhereTheIndexSays) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w', libver='latest', userblock_size=512) as f:
    d = f.create_dataset('d', (10, 30), 'i4', chunks=(4, 10), maxshape=(None, 30))
    d[5:8, 15] = 7
    d.id.write_direct_chunk((8, 20), b'x' * 160, 0)
)");
  const auto info = file->Describe("/d").value();
  const ChunkIndex& index = *info.dataset->chunks;
  const auto chunks = index.Locate(0, 100).value();
  ASSERT_EQ(chunks.size(), 9);
  std::string data = test::ReadFile(directory_ / "a.h5");
  for (size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i].bytes, i == 4 || i == 8 ? 160 : 0) << i;
  }
  EXPECT_EQ(data.substr(chunks[8].offset, 160), std::string(160, 'x'));
  EXPECT_EQ(index.Locate(8, 5).value().size(), 1);
  EXPECT_THAT(index.Locate(9, 5).value(), IsEmpty());
}

TEST_F(Hdf5FileTest, AChangedFileIsStale) {
  const auto file = Write("with h5.File('a.h5', 'w') as f: f['x'] = 1");
  EXPECT_THAT(file->Find("/x"), IsOk());
  test::RunH5py(directory_, "with h5.File('a.h5', 'a') as f: f['y'] = 2");
  EXPECT_THAT(file->Find("/y"), IsStale());
  const auto again = Open("a.h5");
  EXPECT_THAT(again->Find("/y"), IsOk());
  EXPECT_THAT(file->Find("/y"), IsStale());
}

TEST_F(Hdf5FileTest, AFileWrittenForReadersToFollowIsRead) {
  test::RunH5py(directory_, R"(
f = h5.File('a.h5', 'w', libver='latest')
f.create_dataset('d', data=np.arange(10), chunks=(5,), maxshape=(None,)); f.swmr_mode = True; f.flush()
os.system('cp a.h5 b.h5')
)");
  EXPECT_THAT(Open("b.h5")->Find("/d"), IsOk());
}

TEST_F(Hdf5FileTest, FilesThatCannotBeOpenedSayWhy) {
  test::WriteFile(directory_ / "text.h5", "no such thing");
  test::WriteFile(directory_ / "empty.h5", "");
  EXPECT_THAT(TryOpen("absent.h5"), IsErrno(ENOENT));
  EXPECT_THAT(TryOpen("../outside.h5"), IsErrno(EXDEV));
  for (const char* name : {"text.h5", "empty.h5"}) {
    EXPECT_THAT(TryOpen(name), IsError(ErrorCode::kCorrupt, HasSubstr("no signature")));
  }
  EXPECT_THAT(TryOpen(""), IsErrno(ENOENT)) << "a directory";
}

TEST_F(Hdf5FileTest, MembersOfFileFamiliesAreLeftAlone) {
  test::RunH5py(directory_, R"(
with h5.File('part%d.h5', 'w', driver='family', memb_size=4096) as f: f['x'] = np.arange(5000)
)");
  EXPECT_THAT(TryOpen("part0.h5"), IsError(ErrorCode::kUnsupported, HasSubstr("h5repart")));
  EXPECT_THAT(TryOpen("part1.h5"), IsError(ErrorCode::kCorrupt, HasSubstr("not a readable")));
  for (const char* libver : {"earliest", "latest"}) {
    test::RunH5py(directory_, "LIBVER = '" + std::string(libver) + R"('
with h5.File('one%d.h5', 'w', driver='family', memb_size=1 << 20, libver=LIBVER) as f: f['x'] = 1
with h5.File('split', 'w', driver='split', libver=LIBVER) as f: f['x'] = 1
)");
    EXPECT_THAT(TryOpen("one0.h5"), IsError(ErrorCode::kUnsupported, HasSubstr("h5repart")));
    EXPECT_THAT(TryOpen("split-m.h5"),
                IsError(ErrorCode::kUnsupported, HasSubstr("multi or split); h5repack")));
  }
}

TEST_F(Hdf5FileTest, TextBeyondTheLimitIsRefused) {
  const auto file = Write(R"(
with h5.File('a.h5', 'w') as f:
    f.create_dataset('d', data=['x' * 10000] * 10, dtype=h5.string_dtype())
)");
  const auto info = file->Describe("/d").value();
  ASSERT_TRUE(info.dataset->offset);
  const std::string bytes =
      test::ReadFile(directory_ / "a.h5").substr(*info.dataset->offset, 160);
  EXPECT_THAT(file->Convert(*info.dataset, AsBytes(bytes), 10, false, 50'000),
              IsError(ErrorCode::kLimit, HasSubstr("more than 50000 bytes")));
  EXPECT_THAT(file->Convert(*info.dataset, AsBytes(bytes), 10, false, 200'000), IsOk());
}

TEST_F(Hdf5FileTest, SourcesOfVirtualDatasetsAreBeneathTheRoot) {
  test::RunH5py(directory_, R"(
os.mkdir('sub')
for name in ('sub/in.h5', '../%s.h5' % os.path.basename(os.getcwd())):
    with h5.File(name, 'w') as f: f['d'] = np.full(4, 7, 'i4'); f['g/link'] = h5.SoftLink('/d')
outside = os.path.abspath('../%s.h5' % os.path.basename(os.getcwd()))
def virtual(name, source, dataset='d'):
    with h5.File(name, 'w') as f:
        layout = h5.VirtualLayout((4,), 'i4'); layout[:] = h5.VirtualSource(source, dataset, (4,))
        f.create_virtual_dataset('v', layout, fillvalue=-1)
virtual('sub/a.h5', 'in.h5')
virtual('sub/absolute.h5', os.path.abspath('sub/in.h5'))
virtual('absent.h5', 'none.h5')
virtual('sub/dots.h5', 'in.h5', './d')
virtual('sub/link.h5', 'in.h5', 'g/link')
virtual('sub/nothing.h5', 'in.h5', 'g/nothing')
virtual('up.h5', '../' + os.path.basename(outside))
virtual('out.h5', outside)
)");
  const auto first = [&](const std::string& name) {
    const auto node = test::LoadNode(*test::OpenHdf5(directory_, name), "/v");
    const auto read = test::ReadWhole(*node->source);
    return read ? test::ToHex(read->substr(0, 4)) : read.error().message();
  };
  EXPECT_EQ(first("sub/a.h5"), "07000000");
  EXPECT_EQ(first("sub/absolute.h5"), "07000000");
  EXPECT_EQ(first("absent.h5"), "ffffffff");
  EXPECT_EQ(first("sub/dots.h5"), "07000000");
  EXPECT_THAT(first("sub/link.h5"), HasSubstr("behind a link"));
  EXPECT_EQ(first("sub/nothing.h5"), "ffffffff");
  EXPECT_THAT(first("up.h5"), HasSubstr("outside of the source"));
  EXPECT_THAT(first("out.h5"), HasSubstr("outside of the source"));
  std::filesystem::remove(directory_.path().string() + ".h5");
}

// --- Every index of chunks and every way to store an object, against h5py

class Hdf5VersionsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(Hdf5VersionsTest, AllDatasetsAreAsH5pyReadsThem) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, "LIBVER = '" + std::string(GetParam()) + R"('
random = np.random.default_rng(1)
# The shape, the chunks, and how far the dataset may grow: one index each, or several pages of it.
KINDS = [((10,), (3,), None), ((10, 7), (3, 2), None), ((100, 7), (3, 2), (None, 7)), ((9, 100), (2, 3), (9, None)),
         ((30, 40), (3, 4), (None, None)), ((9000,), (3,), None), ((9000,), (3,), (None,)), ((50, 60), (50, 60), None),
         ((7, 300, 5), (2, 2, 5), (7, None, 5)), ((5, 6), (10, 12), (20, 24))]
with h5.File('a.h5', 'w', libver=LIBVER, userblock_size=1024) as f:
    for i, (shape, chunks, most) in enumerate(KINDS):
        for codec in (None, 'gzip'):
            d = f.create_dataset('d%d%s' % (i, codec), shape, '<i4', chunks=chunks, maxshape=most, compression=codec, fillvalue=7)
            d[:shape[0] // 2 + 1] = random.integers(0, 1000, (shape[0] // 2 + 1,) + shape[1:])
            d[-1] = 9
    early = h5.h5p.create(h5.h5p.DATASET_CREATE); early.set_chunk((3, 4)); early.set_alloc_time(h5.h5d.ALLOC_TIME_EARLY)
    space = h5.h5s.create_simple((10, 9))
    h5.Dataset(h5.h5d.create(f.id, b'implicit', h5.h5t.STD_I32LE, space, early))[...] = np.arange(90).reshape(10, 9)
    compact = h5.h5p.create(h5.h5p.DATASET_CREATE); compact.set_layout(h5.h5d.COMPACT)
    h5.Dataset(h5.h5d.create(f.id, b'compact', h5.h5t.STD_I32LE, space, compact))[...] = np.arange(90).reshape(10, 9)
    bits = h5.h5t.NATIVE_INT32.copy(); bits.set_precision(12); bits.set_offset(3)
    h5.Dataset(h5.h5d.create(f.id, b'bits', bits, space))[...] = np.arange(90).reshape(10, 9) - 45
    many = f.create_group('many')
    for i in range(300): many['n%d' % i] = np.int32(i)
    for i in range(60): many.attrs['a%d' % i] = np.arange(i)
    def write(name, d):
        if isinstance(d, h5.Dataset): open(name.replace('/', '_') + '.raw', 'wb').write(d[()].astype('<i4').tobytes())
    f.visititems(write)
)");
  const auto hierarchy = test::OpenHdf5(directory, "a.h5");
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (entry.path().extension() != ".raw") continue;
    std::string name = entry.path().stem().string();
    std::replace(name.begin(), name.end(), '_', '/');
    const auto node = test::LoadNode(*hierarchy, "/" + name);
    ASSERT_TRUE(node->source) << name;
    EXPECT_THAT(test::ReadWhole(*node->source), test::IsOkAnd(test::ReadFile(entry.path())))
        << name;
    ++compared;
  }
  EXPECT_EQ(compared, 323);
  EXPECT_EQ(hierarchy->List("/many").value().size(), 300);
  EXPECT_EQ(test::LoadNode(*hierarchy, "/many")->attributes().size(), 60);
}

INSTANTIATE_TEST_SUITE_P(Versions, Hdf5VersionsTest,
                         ::testing::Values("earliest", "v108", "v110", "latest"));

}  // namespace
}  // namespace ndlfs::backends::hdf5
