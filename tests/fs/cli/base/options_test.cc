// SPDX-License-Identifier: MIT
#include "fs/cli/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "fs/cli/base/nearest.h"
#include "tests/support/result.h"

// The short names of all views.
#ifdef NDLFS_WITH_PNG
#define NDLFS_PREVIEW "preview, thumbnail, "
#else
#define NDLFS_PREVIEW ""
#endif
#define NDLFS_BEFORE_H5                                                                      \
  "npy, raw, txt, jsonl, raw.hdr, hdr, nhdr, mhd, vrt, xmf, bov, ctl, tif, fits, nii, mrc, " \
  "f77, "                                                                                    \
  "values.csv, table.csv, csv, zarr, zarr2, pyramid, " NDLFS_PREVIEW "html, nc, "
#define NDLFS_VIEWS NDLFS_BEFORE_H5 "h5, nc4, values.zarr, values.zarr2, ome.tif"

namespace ndlfs::fs {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::HasSubstr;

TEST(ParseSizeTest, TakesBytesAndBinaryUnits) {
  EXPECT_THAT(ParseSize("0"), IsOkAnd(0u));
  EXPECT_THAT(ParseSize("4096"), IsOkAnd(4096u));
  EXPECT_THAT(ParseSize("64KiB"), IsOkAnd(uint64_t{64} << 10));
  EXPECT_THAT(ParseSize("512MiB"), IsOkAnd(uint64_t{512} << 20));
  EXPECT_THAT(ParseSize("2GiB"), IsOkAnd(uint64_t{2} << 30));
  EXPECT_THAT(ParseSize("1TiB"), IsOkAnd(uint64_t{1} << 40));
}

TEST(ParseSizeTest, RefusesOtherText) {
  for (const char* text : {"", "MiB", "-1", "+1", "1.5GiB", "12MB", "12M", "12mib", "1 MiB",
                           "0x10", "1e9", "12MiBs", " 12"}) {
    EXPECT_THAT(ParseSize(text), IsError(ErrorCode::kBadInput, HasSubstr("is not a size")))
        << text;
  }
}

TEST(ParseSizeTest, RefusesWhatNoMachineHas) {
  for (const char* text : {"99999999999999999999", "16777216TiB", "9223372036854775808"}) {
    EXPECT_THAT(ParseSize(text), IsError(ErrorCode::kBadInput, HasSubstr("is too large")))
        << text;
  }
}

model::Result<MountOptions> Apply(std::string_view list, Unknown unknown = Unknown::kRefuse) {
  MountOptions options;
  NDLFS_RETURN_IF_ERROR(ApplyOptionList(list, unknown, options));
  return options;
}

TEST(OptionListTest, SetsEveryOptionInEitherSpelling) {
  const auto options = Apply(
      "cache_size=1GiB,threads=3,fetches=7,allow_other,uid=12,gid=0,umask=027,revalidate=2.5,"
      "immutable,"
      "cache-dir=/"
      "fast,cache_dir_size=3MiB,max-chunk-size=2MiB,max_scan=5MiB,views=raw:npy,log-file=/var/"
      "log/"
      "ndlfs,log_level=debug,foreground");
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->cache_size, uint64_t{1} << 30);
  EXPECT_EQ(options->cache_dir, "/fast");
  EXPECT_EQ(options->cache_dir_size, uint64_t{3} << 20);
  EXPECT_EQ(options->threads, 3u);
  EXPECT_EQ(options->fetches, 7u);
  EXPECT_TRUE(options->allow_other);
  EXPECT_EQ(options->uid, 12u);
  EXPECT_EQ(options->gid, 0u);
  EXPECT_EQ(options->umask, 027u);
  EXPECT_EQ(options->revalidate_seconds, 2.5);
  EXPECT_TRUE(options->immutable);
  EXPECT_EQ(options->max_chunk_size, uint64_t{2} << 20);
  EXPECT_EQ(options->max_scan, uint64_t{5} << 20);
  EXPECT_EQ(options->views.Text(), "raw,npy");
  EXPECT_EQ(options->log_file, "/var/log/ndlfs");
  EXPECT_EQ(options->log_level, "debug");
  EXPECT_TRUE(options->foreground);
}

TEST(OptionListTest, PassesOverWhatMountPassesOn) {
  const auto options = Apply(
      "rw,ro,dev,suid,exec,nosuid,nodev,noexec,noatime,relatime,nofail,noauto,auto,user,"
      "user=alice,users,_netdev,defaults,x-systemd.automount,X-mount.mkdir,comment=x=y,,"
      "default_permissions,sync");
  ASSERT_THAT(options, IsOk());
  EXPECT_FALSE(options->allow_other);
}

TEST(OptionListTest, EscapedCommaIsPartOfAValue) {
  const auto options = Apply(R"(log_file=/a\,b\\c,immutable)");
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->log_file, "/a,b\\c");
  EXPECT_TRUE(options->immutable);
}

TEST(OptionListTest, ViewsAreAListOrAll) {
  EXPECT_EQ(ParseViews("all")->Text(), "all");
  EXPECT_EQ(ParseViews("npy")->Text(), "npy");
  EXPECT_EQ(ParseViews("jsonl,npy:raw")->Text(), "jsonl,npy,raw");
  EXPECT_EQ(ParseViews("data.npy,index.html")->Text(), "npy,html") << "names of files";
  EXPECT_EQ(Apply(R"(views=npy\,txt)")->views.Text(), "npy,txt");
  EXPECT_EQ(MountOptions().views.Text(), "");
}

TEST(OptionListTest, UnknownOptionIsAnErrorWithTheNearestName) {
  EXPECT_THAT(Apply("cache_sise=1"),
              IsError(ErrorCode::kBadInput,
                      R"(unknown mount option "cache_sise" (did you mean cache_size?))"));
  EXPECT_THAT(Apply("allow-otter"), IsError(ErrorCode::kBadInput, HasSubstr("allow-other?")));
  EXPECT_THAT(Apply("frobnicate"),
              IsError(ErrorCode::kBadInput,
                      R"(unknown mount option "frobnicate"; see ndlfs mount --help)"));
  EXPECT_THAT(Apply("frobnicate,threads=2", Unknown::kIgnore), IsOk());
}

TEST(OptionListTest, SwitchTakesNoValueAndTheOthersNeedOne) {
  EXPECT_THAT(Apply("immutable=yes"),
              IsError(ErrorCode::kBadInput, "mount option immutable takes no value"));
  EXPECT_THAT(
      Apply("cache_size"),
      IsError(ErrorCode::kBadInput, "mount option cache_size needs a value: cache_size=SIZE"));
}

struct BadValue {
  std::string item;
  std::string message;

  friend void PrintTo(const BadValue& value, std::ostream* out) { *out << value.item; }
};

class BadValueTest : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadValueTest, IsRefusedByName) {
  EXPECT_THAT(Apply(GetParam().item),
              IsError(ErrorCode::kBadInput, "mount option " + GetParam().message));
  // Tolerance of unknown options is none of wrong values.
  EXPECT_FALSE(Apply(GetParam().item, Unknown::kIgnore));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadValueTest,
    ::testing::Values(
        BadValue{"threads=many",
                 R"(threads: "many" is not a number from 0 (one per core) to 1024)"},
        BadValue{"threads=1025",
                 R"(threads: "1025" is not a number from 0 (one per core) to 1024)"},
        BadValue{"threads=-1",
                 R"(threads: "-1" is not a number from 0 (one per core) to 1024)"},
        BadValue{"fetches=0", R"(fetches: "0" is not a number from 1 to 1024)"},
        BadValue{"fetches=1025", R"(fetches: "1025" is not a number from 1 to 1024)"},
        BadValue{"uid=root",
                 R"(uid: "root" is not the number of a user or group (did you mean 0?))"},
        BadValue{"gid=4294967295", R"(gid: "4294967295" is not the number of a user or group)"},
        BadValue{"umask=8", R"(umask: "8" is not an octal number from 0 to 0777)"},
        BadValue{"umask=1000", R"(umask: "1000" is not an octal number from 0 to 0777)"},
        BadValue{"revalidate=-1",
                 R"(revalidate: "-1" is not a number of seconds, such as 1 or 0.5)"},
        BadValue{"revalidate=nan",
                 R"(revalidate: "nan" is not a number of seconds, such as 1 or 0.5)"},
        BadValue{"revalidate=1e99",
                 R"(revalidate: "1e99" is not a number of seconds, such as 1 or 0.5)"},
        BadValue{"revalidate=",
                 R"(revalidate: "" is not a number of seconds, such as 1 or 0.5)"},
        BadValue{"max_chunk_size=0", "max_chunk_size: must be at least one byte"},
        BadValue{"views=npy:rwa",
                 R"(views: "rwa" is not one of )" NDLFS_VIEWS ", all (did you mean raw?)"},
        BadValue{"views=", R"(views: "" is not one of )" NDLFS_VIEWS ", all"},
        BadValue{"views=all:npy", R"(views: "all" must be the only name)"},
        BadValue{"log_file=", "log_file: is not the name of a file"},
        BadValue{
            "log_level=warning",
            R"(log_level: "warning" is not one of trace, debug, info, warn, error, critical, )"
            "off (did you mean warn?)"}));

TEST(NearestTest, IsTheWordWithTheFewestSlips) {
  const std::vector<std::string_view> words = {"mount", "umount", "describe", "cat"};
  EXPECT_EQ(Nearest("moutn", words), "mount");
  EXPECT_EQ(Nearest("unmount", words), "umount");
  EXPECT_EQ(Nearest("desc", words), "describe");
  EXPECT_EQ(Nearest("discribe", words), "describe");
  EXPECT_EQ(Nearest("cta", words), "cat");
  EXPECT_EQ(Nearest("validate", words), "");
  EXPECT_EQ(Nearest("x", words), "");
  EXPECT_EQ(Nearest("", words), "");
  EXPECT_EQ(Nearest(std::string(100000, 'm'), words), "");
  EXPECT_EQ(Nearest("mount", {}), "");
}

}  // namespace
}  // namespace ndlfs::fs
