// SPDX-License-Identifier: MIT
#include "model/ndl/diagnostic.h"

#include <gtest/gtest.h>

namespace ndlfs::model {
namespace {

TEST(DiagnosticTest, IsALineAsCompilersWriteIt) {
  EXPECT_EQ(FormatDiagnostic("a.yaml", {3, 7, "/t2m", "unknown datatype"}),
            "a.yaml:3:7: /t2m: unknown datatype");
  EXPECT_EQ(FormatDiagnostic("a.yaml", {1, 1, "", "empty"}), "a.yaml:1:1: empty");
  EXPECT_EQ(FormatDiagnostic("a\nb", {1, 1, "/x\ny", "z"}), "a\\x0ab:1:1: /x\\x0ay: z");
}

TEST(DiagnosticTest, IsAJsonObject) {
  EXPECT_EQ(DiagnosticToJson("a.yaml", {3, 7, "/\"t\"", "a\\b\nc\x01"}),
            R"({"file":"a.yaml","line":3,"column":7,"path":"/\"t\"",)"
            R"("message":"a\\b\u000ac\u0001"})");
  EXPECT_EQ(DiagnosticToJson("\xe9", {1, 1, "", ""}),
            R"({"file":"é","line":1,"column":1,"path":"","message":""})");
}

}  // namespace
}  // namespace ndlfs::model
