// SPDX-License-Identifier: MIT
//
// Tables of Parquet, and what a file that lies must not bring about.
#include "backends/parquet/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <ostream>
#include <string>
#include <string_view>

#include "tests/backends/codec/find_golden.h"
#include "tests/backends/parquet/goldens.h"

namespace ndlfs::backends::parquet {

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.test_name; }

namespace {

using model::ErrorCode;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr uint64_t kRows = 1000, kBytes = 100'000;

std::string FromHexText(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, value, 16);
    bytes[i] = static_cast<char>(value);
  }
  return bytes;
}

std::string FileOf(std::string_view name) {
  return FromHexText(FindGolden(kTables, name).file);
}

// All columns as the goldens have them.
model::Result<std::string> Show(std::string_view file, uint64_t max_rows = kRows,
                                uint64_t max_bytes = kBytes) {
  NDLFS_TRY(const Table table, Table::Open(AsBytes(file)));
  std::string text;
  for (const Column& column : table.columns()) {
    NDLFS_TRY(const Values values, table.Read(column, max_rows, max_bytes));
    EXPECT_EQ(values.present.size(), table.rows());
    text += column.name + ":";
    if (values.present.empty()) text += " ";
    for (size_t i = 0; i < values.present.size(); ++i) {
      if (!values.present[i]) {
        text += " -";
      } else if (!values.texts.empty()) {
        text += fmt::format(" '{}'", AsText(values.texts[i]));
      } else {
        text += fmt::format(" {}", values.numbers[i]);
      }
    }
    text += "\n";
  }
  return text;
}

class ParquetTest : public testing::TestWithParam<Golden> {};

TEST_P(ParquetTest, ColumnsAreWhatWasWritten) {
  const auto shown = Show(FromHexText(GetParam().file));
  if (!shown && shown.error().message().ends_with("not built in")) GTEST_SKIP();
  ASSERT_TRUE(shown) << shown.error().message();
  EXPECT_EQ(*shown, GetParam().columns);
}

TEST_P(ParquetTest, AFileCutAnywhereIsAnError) {
  const std::string file = FromHexText(GetParam().file);
  for (size_t size = 0; size < file.size(); ++size) {
    // A copy of its own, so that address sanitizers see a read past its end.
    const std::string cut = file.substr(0, size);
    EXPECT_FALSE(Show(cut)) << size;
  }
}

TEST_P(ParquetTest, AFlippedBitIsAnErrorOrAnotherValue) {
  std::string file = FromHexText(GetParam().file);
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
    const auto shown = Show(file);
    if (!shown) {
      EXPECT_THAT(shown.error().code(),
                  AnyOf(ErrorCode::kCorrupt, ErrorCode::kUnsupported, ErrorCode::kLimit))
          << shown.error().message();
    }
    file[bit / 8] = static_cast<char>(file[bit / 8] ^ 1 << bit % 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, ParquetTest, testing::ValuesIn(kTables),
                         [](const auto& info) { return std::string(info.param.test_name); });

std::string FailureOf(const model::Result<std::string>& result, ErrorCode code) {
  if (result) return "none";
  EXPECT_EQ(result.error().code(), code);
  return result.error().message();
}

// The first place of `what` in a file is replaced.
std::string Changed(std::string file, std::string_view what, std::string_view by) {
  const size_t at = file.find(what);
  EXPECT_NE(at, file.npos);
  return file.replace(at, what.size(), by);
}

TEST(ParquetLimitTest, MoreRowsOrBytesThanAskedForAreNotRead) {
  EXPECT_EQ(FailureOf(Show(FileOf("Plain"), 20), ErrorCode::kLimit), "21 rows, more than 20");
  EXPECT_THAT(FailureOf(Show(FileOf("Plain"), 21, 100), ErrorCode::kLimit),
              HasSubstr("column \"path\": pages of more than 100 bytes"));
  EXPECT_THAT(FailureOf(Show(FileOf("Pages"), 21, 40), ErrorCode::kLimit),
              HasSubstr("pages of more than"));
}

TEST(ParquetTest, FilesOfAnotherKindSaySo) {
  EXPECT_EQ(FailureOf(Show("PAR1PAR1"), ErrorCode::kCorrupt), "8 bytes are no table");
  EXPECT_EQ(FailureOf(Show("PAR1____PAR2"), ErrorCode::kCorrupt),
            "not a table of Parquet, or cut short");
  EXPECT_EQ(FailureOf(Show(std::string("PAR1\x05\0\0\0PAR1", 12)), ErrorCode::kCorrupt),
            "metadata of 5 bytes in 12");
  std::string encrypted = FileOf("Plain");
  encrypted.replace(encrypted.size() - 4, 4, "PARE");
  EXPECT_EQ(FailureOf(Show(encrypted), ErrorCode::kUnsupported), "an encrypted table");
}

TEST(ParquetTest, ChecksumsAreCompared) {
  const std::string broken = Changed(FileOf("Gzip"), "\x1f\x8b", "\x1f\x8a");
  EXPECT_EQ(FailureOf(Show(broken), ErrorCode::kCorrupt),
            "column \"path\": a page with a wrong checksum");
}

TEST(ParquetTest, IndexesBeyondTheDictionaryAreCorrupt) {
  // The header of the dictionary of paths: 5 values in PLAIN. Now there are 4.
  const std::string shorter = Changed(FileOf("Pages"), std::string("\x15\x04\x15\0", 4),
                                      std::string("\x15\x02\x15\0", 4));
  EXPECT_EQ(FailureOf(Show(shorter), ErrorCode::kCorrupt),
            "column \"path\": value 1 of a dictionary of 1");
}

}  // namespace
}  // namespace ndlfs::backends::parquet
