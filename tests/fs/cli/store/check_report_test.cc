// SPDX-License-Identifier: MIT
#include "fs/cli/store/check_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "backends/base/json.h"

namespace ndlfs::fs {
namespace {

using ::testing::HasSubstr;

Verdict JudgeIo(int sys_errno) { return Judge(model::IoError(sys_errno, "t/0.0").value()); }

TEST(JudgeTest, TellsDamageFromWhatTheSystemRefusesAndWhatIsNotSupported) {
  EXPECT_EQ(Judge(model::Corrupt("checksum").value()), Verdict::kDamaged);
  EXPECT_EQ(Judge(model::BadInput("no shape").value()), Verdict::kDamaged);
  EXPECT_EQ(Judge(model::NotFound("no object").value()), Verdict::kDamaged);
  EXPECT_EQ(Judge(model::Unsupported("codec").value()), Verdict::kNotChecked);
  EXPECT_EQ(Judge(model::Limit("chunk").value()), Verdict::kNotChecked);
  for (const int refused : {EACCES, EPERM, EIO, EMFILE, ENFILE, ENOMEM, ESTALE, ETIMEDOUT}) {
    EXPECT_EQ(JudgeIo(refused), Verdict::kUnreadable) << refused;
  }
  // Names and links that are part of the store.
  for (const int broken : {ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, ENXIO}) {
    EXPECT_EQ(JudgeIo(broken), Verdict::kDamaged) << broken;
  }
}

StoreReport ReportWith(uint64_t arrays) {
  StoreReport report;
  report.location = "a.zarr";
  report.format = "Zarr v2";
  report.arrays = arrays;
  report.complete = true;
  return report;
}

std::string Line(const StoreReport& report) {
  return CheckStore(CheckFormat::kText, report, true);
}

TEST(CheckReportTest, NotesAreShownAndCountedAndTheStoreIsOk) {
  StoreReport report = ReportWith(1);
  report.notes.Add(
      {"/t", 0, "the fill value \"0\" is read as 0; the specification wants a number"});
  report.notes.Add({"/u", 0, "line\nbreak"});
  EXPECT_EQ(Line(report),
            "a.zarr: ok, 1 array, 0 chunks, 0 B, 2 notes\n"
            "  note: /t: the fill value \"0\" is read as 0; the specification wants a number\n"
            "  note: /u: line\\x0abreak\n");
  CheckSummary summary;
  summary.Add(report);
  EXPECT_THAT(CheckEnd(CheckFormat::kText, summary), HasSubstr(": no damage, 2 notes\n"));
  EXPECT_THAT(CheckEnd(CheckFormat::kJson, summary), HasSubstr("\"noted\": 2, "));
}

TEST(CheckReportTest, OfVeryManyFindingsAllAreCounted) {
  StoreReport report = ReportWith(1);
  for (size_t i = 0; i < Findings::kMaxKept + 7; ++i) report.notes.Add({"/t", i, "note"});
  EXPECT_THAT(Line(report), HasSubstr(", 1007 notes\n"));
  EXPECT_THAT(Line(report), HasSubstr("\n  note: ... and 7 more\n"));
}

TEST(CheckReportTest, StatesAreInTheOrderOfHowBadTheyAre) {
  StoreReport report = ReportWith(0);
  EXPECT_EQ(Line(report), "a.zarr: ok, 0 arrays, 0 chunks, 0 B\n");
  report.not_checked.Add({"/", 0, "unknown"});
  EXPECT_EQ(Line(report), "a.zarr: not checked, 1 not checked\n  not checked: /: unknown\n");
  report.arrays = 2;
  EXPECT_THAT(Line(report), HasSubstr("a.zarr: partly checked, 2 arrays, "));
  report.unreadable.Add({"/t", 0, "Permission denied"});
  EXPECT_THAT(Line(report), HasSubstr("a.zarr: unreadable, 2 arrays, "));
  report.damage.Add({"/t", 1, "checksum"});
  report.complete = false;
  EXPECT_EQ(Line(report),
            "a.zarr: damaged, 2 arrays, 0 chunks, 0 B, 1 damaged, 1 unreadable, 1 not checked, "
            "incomplete\n"
            "  /t: checksum\n"
            "  unreadable: /t: Permission denied\n"
            "  not checked: /: unknown\n");
  const auto json = backends::Json::parse(CheckStore(CheckFormat::kJson, report, true));
  EXPECT_EQ(json["state"], "damaged");
  EXPECT_EQ(json["not_read"][0]["reason"], "Permission denied");
  EXPECT_EQ(json["unreadable"], 1);
}

}  // namespace
}  // namespace ndlfs::fs
