// SPDX-License-Identifier: MIT
//
// Files with bytes changed at random: they are refused or read, and other files are read as
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "backends/format/hdf5/metadata.h"
#include "backends/format/hdf5/new_parts.h"
#include "backends/store/local/local_source.h"
#include "model/path_name.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using test::IsOkAnd;

constexpr int kChangedFiles = 150;  // of each kind
constexpr int kMaxObjects = 100;
constexpr int kMaxDepth = 8;

class Hdf5HostileTest : public ::testing::TestWithParam<const char*> {
 protected:
  Hdf5HostileTest() {
    test::RunH5py(directory_, "LIBVER = '" + std::string(GetParam()) + R"('
with h5.File('good.h5', 'w', libver=LIBVER) as f:
    f['x'] = np.arange(6, dtype='u1')
with h5.File('a.h5', 'w', libver=LIBVER) as f:
    a = np.arange(60, dtype='i4').reshape(6, 10)
    f['contiguous'] = a
    f.create_dataset('chunked', data=a, chunks=(2, 3), compression='gzip', maxshape=(None, 10))
    f.create_dataset('grown', data=a, chunks=(2, 3), maxshape=(None, None))
    f.create_dataset('strings', data=['a', 'bc', ''], dtype=h5.string_dtype())
    f.create_dataset('struct', data=np.zeros(3, 'i4,S3,(2,2)f8'))
    f.create_dataset('enum', data=[0, 1], dtype=h5.enum_dtype({'A': 0, 'B': 1}))
    f.create_dataset('refs', data=[f['chunked'].ref, f['/'].ref], dtype=h5.ref_dtype)
    f.create_dataset('regions', data=[f['chunked'].regionref[1:3, 2]], dtype=h5.regionref_dtype)
    f['g/h/soft'] = h5.SoftLink('/chunked'); f['g/external'] = h5.ExternalLink('good.h5', '/x'); f['g/hard'] = f['chunked']
    f.attrs['text'] = 'x' * 30; f.attrs['list'] = [1.5, 2.5]
    f['chunked'].make_scale('s'); f['contiguous'].dims[0].attach_scale(f['chunked'])
)");
    original_ = test::ReadFile(directory_ / "a.h5");
    root_ = LocalSource::Open(directory_.path()).value();
  }

  // Looks at everything that can be looked at.
  void Explore(const Hierarchy& hierarchy, const std::string& path, int depth, int& budget) {
    if (depth > kMaxDepth || --budget < 0) return;
    (void)hierarchy.Version(path);
    const auto node = hierarchy.Load(path);
    if (!node) return;
    if (!(*node)->is_group()) {
      if ((*node)->source) ReadFirstChunk(*(*node)->source);
      return;
    }
    const auto names = hierarchy.List(path);
    if (!names) return;
    for (const std::string& name : *names) {
      const std::string child = model::JoinPath(path, name);
      if (!hierarchy.GetLink(child)) Explore(hierarchy, child, depth + 1, budget);
    }
  }

  static void ReadFirstChunk(const ArraySource& source) {
    const ChunkGrid& grid = source.spec().grid;
    if (CheckedProduct(grid.counts()).value_or(0) == 0) return;
    (void)test::ReadChunk(source, std::vector<uint64_t>(grid.rank()));
  }

  // Bytes are changed where the structure is, not in the data alone.
  std::string Changed(std::mt19937& random) const {
    std::string changed = original_;
    const int count = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < count; ++i) {
      constexpr unsigned char kValues[] = {0, 1, 0x7f, 0x80, 0xff};
      char& byte = changed[random() % changed.size()];
      byte =
          random() % 2 ? static_cast<char>(kValues[random() % 5]) : static_cast<char>(random());
    }
    return changed;
  }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const Source> root_;
  std::string original_;
};

TEST_P(Hdf5HostileTest, ChangedBytesDoNoHarm) {
  const auto good = Hdf5Format().Open(root_, "good.h5", {}).value();
  std::mt19937 random(20240229);
  for (int i = 0; i < kChangedFiles; ++i) {
    const std::string name = "bad" + std::to_string(i) + ".h5";
    test::WriteFile(directory_ / name, Changed(random));
    const auto hierarchy = Hdf5Format().Open(root_, name, {.max_chunk_size = 1 << 20});
    if (!hierarchy) continue;
    int budget = kMaxObjects;
    Explore(**hierarchy, "/", 0, budget);
  }
  const auto node = test::LoadNode(*good, "/x");
  ASSERT_TRUE(node->source);
  EXPECT_THAT(test::ReadWhole(*node->source), IsOkAnd(std::string("\0\1\2\3\4\5", 6)));
}

TEST_P(Hdf5HostileTest, EveryTruncationIsAnErrorOrReadsWhatIsSound) {
  for (size_t size = 0; size < original_.size(); size += 1 + original_.size() / 60) {
    test::WriteFile(directory_ / "short.h5", original_.substr(0, size));
    const auto hierarchy = Hdf5Format().Open(root_, "short.h5", {});
    EXPECT_THAT(hierarchy,
                test::IsError(model::ErrorCode::kCorrupt, ::testing::HasSubstr("short.h5: ")))
        << size;
  }
}

TEST(Hdf5SharedTextTest, AGroupWhoseLinksShareALongNameIsNotListed) {
  constexpr uint64_t kNameBytes = 200'000;
  constexpr uint64_t kLinks = 2000;
  constexpr uint64_t kNowhere = UINT64_MAX;
  hdf5::ByteWriter file;
  const uint64_t text = file.Zeros(48).size();
  const uint64_t heap = file.Text(std::string(kNameBytes, 'a')).Zeros(1).Align(8).size();
  file.Text("HEAP").Number(0, 4).Number(kNameBytes + 1, 8).Number(1, 8).Address(text);
  const uint64_t symbols = file.size();
  file.Text("SNOD").Number(1, 2).Number(kLinks, 2);
  for (uint64_t i = 0; i < kLinks; ++i) file.Address(0).Address(text).Zeros(24);
  const uint64_t tree = file.size();
  file.Text("TREE").Number(0, 2).Number(1, 2).Address(kNowhere).Address(kNowhere);
  file.Number(0, 8).Address(symbols).Number(0, 8);
  const uint64_t root = file.size();
  file.Text("OHDR").Number(2, 1).Number(0, 1).Number(20, 1);
  file.Number(0x11, 1).Number(16, 2).Number(0, 1).Address(tree).Address(heap).Sum(root);
  hdf5::ByteWriter superblock;
  superblock.Text("\x89HDF\r\n\x1a\n").Number(2, 1).Number(8, 1).Number(8, 1).Number(0, 1);
  superblock.Address(0).Address(kNowhere).Address(file.size()).Address(root).Sum(0);
  file.Set(0, superblock.bytes());
  const test::TemporaryDirectory directory;
  test::WriteFile(directory / "a.h5", std::string(AsText(file.bytes())));
  const auto hierarchy = test::OpenHdf5(directory, "a.h5");
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(::testing::IsEmpty()));
  const auto node = test::LoadNode(*hierarchy, "/");
  ASSERT_TRUE(node->error);
  EXPECT_THAT(node->error->message(), ::testing::HasSubstr("its links take more than"));
}

// A selection without end whose blocks have no elements.
TEST(Hdf5VirtualTest, EmptyBlocksWithoutEndReachNowhere) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, R"(
from h5py import h5s, h5p, h5d
with h5.File('s.h5', 'w') as f: f.create_dataset('d', data=np.arange(4, dtype='u1'), maxshape=(None,), chunks=(2,))
with h5.File('a.h5', 'w', libver='latest') as f:
    def space():
        s = h5s.create_simple((4,), (h5s.UNLIMITED,)); s.select_hyperslab((0,), (h5s.UNLIMITED,), (3,), (2,)); return s
    plan = h5p.create(h5p.DATASET_CREATE); plan.set_virtual(space(), b's.h5', b'd', space())
    h5d.create(f.id, b'v', h5.h5t.NATIVE_UINT8, h5s.create_simple((4,), (h5s.UNLIMITED,)), plan)
)");
  std::string bytes = test::ReadFile(directory / "a.h5");
  // A mapping: both names, both selections, and the checksum of all (VII.A of the format). The
  // block is the last number of a selection.
  const size_t names = bytes.find(std::string("s.h5\0d\0", 7));
  ASSERT_NE(names, bytes.npos);
  constexpr size_t kVersionAndCount = 9;
  const size_t begin = names - kVersionAndCount;
  const auto sum_at = [&](size_t at) {
    const uint32_t sum = hdf5::HashOf(AsBytes(bytes).subspan(begin, at - begin));
    return std::string(reinterpret_cast<const char*>(&sum), sizeof sum);
  };
  size_t end = names + 7;
  while (end + 4 < bytes.size() && bytes.substr(end, 4) != sum_at(end)) ++end;
  ASSERT_LT(end + 4, bytes.size());
  bytes[bytes.rfind('\2', end - 1)] = '\0';
  bytes.replace(end, 4, sum_at(end));
  test::WriteFile(directory / "a.h5", bytes);
  const auto node = test::LoadNode(*test::OpenHdf5(directory, "a.h5"), "/v");
  ASSERT_NE(node->source, nullptr);
  EXPECT_EQ(node->source->spec().shape, std::vector<uint64_t>{0});
}

// Each dataset names the next one twelve times, nine times over.
TEST(Hdf5VirtualTest, NestsThatGrowWithEachLevelAreRefused) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, R"(
from h5py import h5s, h5p, h5d
with h5.File('a.h5', 'w', libver='latest') as f:
    f.create_dataset('v8', data=np.arange(4, dtype='u1'), maxshape=(None,), chunks=(2,))
    def space():
        s = h5s.create_simple((4,), (h5s.UNLIMITED,)); s.select_hyperslab((0,), (h5s.UNLIMITED,), (1,), (1,)); return s
    for i in range(8):
        plan = h5p.create(h5p.DATASET_CREATE)
        for _ in range(12): plan.set_virtual(space(), b'.', b'/v%d' % (i + 1), space())
        h5d.create(f.id, b'v%d' % i, h5.h5t.NATIVE_UINT8, h5s.create_simple((4,), (h5s.UNLIMITED,)), plan)
)");
  const auto hierarchy = test::OpenHdf5(directory, "a.h5");
  const auto refused = hierarchy->Load("/v0");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(),
              ::testing::HasSubstr("/v8: too many virtual datasets of virtual datasets"));
  EXPECT_EQ(test::LoadNode(*hierarchy, "/v6")->source->spec().shape, std::vector<uint64_t>{4});
}

// The library refuses a struct with two members of a name, and documents have a name once.
TEST(Hdf5TypeTest, NamesOfMembersAndConstantsAreThereOnce) {
  const test::TemporaryDirectory directory;
  test::RunH5py(directory, R"(
with h5.File('a.h5', 'w') as f:
    f['s'] = np.zeros(2, [('member1', 'i4'), ('member2', 'i4')])
    f.create_dataset('e', data=np.array([1, 2], 'i1'), dtype=h5.enum_dtype({'CONST1': 1, 'CONST2': 2}, basetype='i1'))
)");
  std::string bytes = test::ReadFile(directory / "a.h5");
  for (const auto* name : {"member2", "CONST2"})
    bytes[bytes.find(name) + strlen(name) - 1] = '1';
  test::WriteFile(directory / "a.h5", bytes);
  const auto hierarchy = test::OpenHdf5(directory, "a.h5");
  const auto refused = hierarchy->Load("/s");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("two members \"member1\""));
  EXPECT_EQ(test::LoadNode(*hierarchy, "/e")->array().type.constants().size(), 1u);
}

class Hdf5GlobalHeapTest : public ::testing::Test {
 protected:
  // Texts of which `count` lie in heaps, in a file whose lengths have `length_bytes` bytes.
  std::string Make(int count, int length_bytes) const {
    test::RunH5py(directory_, fmt::format(R"(
p = h5.h5p.create(h5.h5p.FILE_CREATE); p.set_sizes(8, {1})
with h5.File(h5.h5f.create(b'a.h5', h5.h5f.ACC_TRUNC, p)) as f:
    f.create_dataset('s', data=['text %d' % i for i in range({0})], dtype=h5.string_dtype())
)",
                                          count, length_bytes));
    return test::ReadFile(directory_ / "a.h5");
  }

  static model::Result<std::string> Read(const Hierarchy& hierarchy) {
    return test::ReadChunk(*test::LoadNode(hierarchy, "/s")->source, {0});
  }

  const test::TemporaryDirectory directory_;
};

TEST_F(Hdf5GlobalHeapTest, HeadsArePaddedWhereLengthsAreShort) {
  for (const int length_bytes : {2, 4, 8}) {
    Make(500, length_bytes);
    const auto read = Read(*test::OpenHdf5(directory_, "a.h5"));
    ASSERT_THAT(read, test::IsOk());
    EXPECT_THAT(*read, ::testing::HasSubstr("text 499"));
  }
}

TEST_F(Hdf5GlobalHeapTest, ReferencesHaveRoomForLongAddresses) {
  test::RunH5py(directory_, R"(
p = h5.h5p.create(h5.h5p.FILE_CREATE); p.set_sizes(4, 4)
with h5.File(h5.h5f.create(b'a.h5', h5.h5f.ACC_TRUNC, p)) as f:
    f['target'] = np.arange(4)
    f.create_dataset('s', data=[f['target'].ref], dtype=h5.ref_dtype)
    f.create_dataset('region', data=[f['target'].regionref[1:3]], dtype=h5.regionref_dtype)
)");
  const auto hierarchy = test::OpenHdf5(directory_, "a.h5");
  const auto read = Read(*hierarchy);
  ASSERT_THAT(read, test::IsOk());
  EXPECT_THAT(*read, ::testing::HasSubstr("/target"));
  EXPECT_NE(test::LoadNode(*hierarchy, "/region")->source, nullptr);
}

TEST_F(Hdf5GlobalHeapTest, AHeapBeyondTheFileIsCorrupt) {
  std::string bytes = Make(3, 8);
  bytes[bytes.find("GCOL") + 8 + 5] = 1;
  test::WriteFile(directory_ / "a.h5", bytes);
  const auto read = Read(*test::OpenHdf5(directory_, "a.h5"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(),
              ::testing::HasSubstr("a global heap of 1099511631872 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Versions, Hdf5HostileTest, ::testing::Values("earliest", "latest"));

}  // namespace
}  // namespace ndlfs::backends
