// SPDX-License-Identifier: MIT
//
// `ndlfs validate`, as a shell or an editor runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/python.h"
#include "tests/support/run_command.h"

namespace ndlfs {
namespace {

using test::Ran;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr std::string_view kValid = "attributes:\n  title: Air temperature\n";
constexpr std::string_view kInvalid =
    "ndarrays:\n"
    "  tas:\n"
    "    shape: [lat]\n"
    "    type: int8\n"
    "    storage: {endian: middle}\n";
constexpr std::string_view kErrors =
    ":3:13: /tas: shape: no dimension coordinate \"lat\" in this group or a group around it\n"
    "bad.yaml:5:23: /tas: storage: endian: expected little or big, found \"middle\"\n";

class ValidateTest : public testing::Test {
 protected:
  ValidateTest() {
    test::WriteFile(directory_ / "good.yaml", kValid);
    test::WriteFile(directory_ / "bad.yaml", kInvalid);
  }

  Ran Validate(std::vector<std::string> words) {
    words.insert(words.begin(), {"ndlfs", "validate"});
    return test::RunProgram(NDLFS_EXECUTABLE, std::move(words), directory_.path().string());
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ValidateTest, SaysNothingOfDocumentsWithoutAMistake) {
  const Ran ran = Validate({"good.yaml", "good.yaml"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST_F(ValidateTest, ReportsAllMistakesAsCompilersDo) {
  const Ran ran = Validate({"bad.yaml", "good.yaml"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "bad.yaml" + std::string(kErrors));
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST_F(ValidateTest, ReportsAsJsonForEditors) {
  const Ran ran = Validate({"--format", "json", "bad.yaml"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(
      ran.out,
      StartsWith("[\n  {\"file\":\"bad.yaml\",\"line\":3,\"column\":13,\"path\":\"/tas\","
                 "\"message\":\"shape: no dimension coordinate \\\"lat\\\""));
  test::WriteFile(directory_ / "report.json", ran.out);
  EXPECT_EQ(test::RunPython("import json\nprint([e['line'] for e in json.load(open('" +
                            directory_ / "report.json" + "'))], end='')"),
            "[3, 5]");
  const Ran none = Validate({"--format=json", "good.yaml"});
  EXPECT_EQ(none.status, 0);
  EXPECT_EQ(none.out, "[]\n");
}

TEST_F(ValidateTest, GoesOnAfterAFileThatCannotBeRead) {
  const Ran ran = Validate({"absent.yaml", "bad.yaml", "."});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "bad.yaml" + std::string(kErrors));
  EXPECT_EQ(ran.err,
            "ndlfs: absent.yaml: No such file or directory\n"
            "ndlfs: .: Is a directory\n");
}

TEST_F(ValidateTest, ReadsStandardInput) {
  const std::string command = std::string(NDLFS_EXECUTABLE) + " validate - < bad.yaml";
  const Ran ran =
      test::RunProgram("/bin/sh", {"sh", "-c", command}, directory_.path().string());
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.out, StartsWith("<stdin>:3:13: /tas: shape: "));
}

TEST_F(ValidateTest, RefusesFilesOfAnyLength) {
  test::WriteFile(directory_ / "long.yaml", "");
  std::filesystem::resize_file(directory_ / "long.yaml", uint64_t{1} << 40);
  const Ran ran = Validate({"long.yaml"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.out, "long.yaml:1:1: a document of more than 67108864 bytes\n");
}

TEST_F(ValidateTest, WrongWordsAreRefused) {
  const Ran format = Validate({"--format", "xml", "good.yaml"});
  EXPECT_EQ(format.status, 2);
  EXPECT_THAT(format.err, HasSubstr("--format: expected text or json, found \"xml\""));
  const Ran nothing = Validate({});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_EQ(nothing.err,
            "ndlfs: FILE is required: ndlfs validate FILE...; see ndlfs validate --help\n");
}

}  // namespace
}  // namespace ndlfs
