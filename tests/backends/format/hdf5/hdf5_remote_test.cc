// SPDX-License-Identifier: MIT
//
// The requests that a file behind a URL costs.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/hdf5_files.h"

#if NDLFS_WITH_HTTP
#include "tests/support/fake_file_server.h"

namespace ndlfs::backends {
namespace {

class Hdf5RemoteTest : public ::testing::Test {
 protected:
  struct Cost {
    uint64_t requests = 0;
    uint64_t bytes = 0;
  };

  std::shared_ptr<const Hierarchy> Serve(std::string_view script) {
    test::RunH5py(directory_, script);
    std::ostringstream bytes;
    bytes << std::ifstream(directory_ / "a.h5", std::ios::binary).rdbuf();
    size_ = bytes.str().size();
    server_.Put("a.h5", bytes.str());
    auto source = server_.MakeSource({.trusts_looks_for = std::chrono::hours(1)});
    return Hdf5Format().Open(std::move(source), "a.h5", {}).value();
  }

  // Of all reads of the file since the last call.
  Cost TakeCost() {
    Cost cost;
    const auto sent = server_.transport()->sent();
    for (; seen_ < sent.size(); ++seen_) {
      const std::string range = sent[seen_].Find("range");
      uint64_t first = 0, last = 0;
      if (std::sscanf(range.c_str(), "bytes=%lu-%lu", &first, &last) != 2) continue;
      ++cost.requests;
      cost.bytes += std::min(last + 1, size_) - first;
    }
    return cost;
  }

  // 500 datasets of 18 KB each in ten groups.
  static std::string ManyDatasets(std::string_view options) {
    return "with h5.File('a.h5', 'w', " + std::string(options) + R"() as f:
    for i in range(500):
        d = f.create_dataset('g%d/d%d' % (i // 50, i), data=np.full(2250, float(i)))
        d.attrs['units'] = 'm'; d.attrs['number'] = i
)";
  }
  static void DescribeAll(const Hierarchy& hierarchy) {
    const auto groups = hierarchy.List("/").value();
    EXPECT_EQ(groups.size(), 10u);
    for (const std::string& group : groups) {
      const auto names = hierarchy.List("/" + group).value();
      EXPECT_EQ(names.size(), 50u);
      for (const std::string& name : names) {
        EXPECT_FALSE(test::LoadNode(hierarchy, "/" + group + "/" + name)->error);
      }
    }
  }

  test::TemporaryDirectory directory_;
  test::FakeFileServer server_;
  uint64_t size_ = 0;
  size_t seen_ = 0;
};

// libhdf5 writes the metadata in pieces of 2 KiB between the elements.
TEST_F(Hdf5RemoteTest, ASmallFileIsDescribedInFewRequests) {
  for (const char* version : {"earliest", "latest"}) {
    const auto hierarchy = Serve(ManyDatasets("libver='" + std::string(version) + "'"));
    DescribeAll(*hierarchy);
    const Cost cost = TakeCost();
    EXPECT_LE(cost.requests, 12u) << version;
    EXPECT_LE(cost.bytes, size_ * 5 / 4) << version;
  }
}

TEST_F(Hdf5RemoteTest, OfAFileWithPagesOnlyThoseOfMetadataAreRead) {
  const auto hierarchy =
      Serve(ManyDatasets("libver='latest', fs_strategy='page', fs_page_size=65536"));
  DescribeAll(*hierarchy);
  const Cost cost = TakeCost();
  EXPECT_LE(cost.requests, 6u);
  EXPECT_LE(cost.bytes, uint64_t{1} << 20);
}

TEST_F(Hdf5RemoteTest, AWayThroughALargeGroupReadsLittle) {
  for (const char* version : {"earliest", "latest"}) {
    const auto hierarchy = Serve("with h5.File('a.h5', 'w', libver='" + std::string(version) +
                                 "') as f:\n    for i in range(20000): f['g/d%05d' % i] = i\n");
    EXPECT_FALSE(test::LoadNode(*hierarchy, "/g/d12345")->error);
    const Cost one = TakeCost();
    EXPECT_LE(one.requests, 10u) << version;
    EXPECT_LE(one.bytes, size_ / 3) << version;
    EXPECT_EQ(hierarchy->List("/g").value().size(), 20000u);
    EXPECT_LE(TakeCost().bytes, size_ * 3 / 2) << version;
  }
}

}  // namespace
}  // namespace ndlfs::backends
#endif  // NDLFS_WITH_HTTP
