// SPDX-License-Identifier: MIT
#include "model/path_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "model/reserved_names.h"

namespace ndlfs::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PathNameTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("/", "wind"), "/wind");
  EXPECT_EQ(JoinPath("/forecast", "wind"), "/forecast/wind");
  EXPECT_EQ(ParentPath("/forecast/wind"), "/forecast");
  EXPECT_EQ(ParentPath("/wind"), "/");
  EXPECT_EQ(ParentPath("/"), "/");
  EXPECT_EQ(BaseName("/forecast/wind"), "wind");
  EXPECT_EQ(BaseName("/"), "");
  EXPECT_THAT(SplitPath("/a/b"), ElementsAre("a", "b"));
  EXPECT_THAT(SplitPath("/"), IsEmpty());
  EXPECT_THAT(SplitPath(""), IsEmpty());
}

TEST(EncodeFileNameTest, LeavesOrdinaryNamesAlone) {
  for (const char* name : {"t2m", "a b", "100%", "%zz", "%2", "...", ".zattrs", "data", "datax",
                           "θ", "line\nbreak", "\xff\xfe", "x~0123", "Data.npy"}) {
    EXPECT_EQ(EncodeFileName(name), name);
    EXPECT_EQ(DecodeFileName(name), name);
  }
}

TEST(EncodeFileNameTest, EscapesWhatCannotBeAFileName) {
  EXPECT_EQ(EncodeFileName("a/b"), "a%2Fb");
  EXPECT_EQ(EncodeFileName(std::string_view("a\0b", 3)), "a%00b");
  EXPECT_EQ(EncodeFileName("."), "%2E");
  EXPECT_EQ(EncodeFileName(".."), "%2E%2E");
  EXPECT_EQ(EncodeFileName("50%2F"), "50%252F");
  EXPECT_EQ(EncodeFileName("%af"), "%25af");
}

TEST(EncodeFileNameTest, EscapesReservedNames) {
  EXPECT_EQ(EncodeFileName(".ndl.yaml"), "%2Endl.yaml");
  EXPECT_EQ(EncodeFileName(".source"), "%2Esource");
  EXPECT_EQ(EncodeFileName(".versions"), "%2Eversions");
  EXPECT_EQ(EncodeFileName("error.txt"), "%65rror.txt");
  EXPECT_EQ(EncodeFileName("data.npy"), "%64ata.npy");
  EXPECT_EQ(EncodeFileName("data."), "%64ata.");
  EXPECT_EQ(EncodeFileName("data[0].npy"), "%64ata[0].npy");
  EXPECT_EQ(EncodeFileName("values.txt"), "%76alues.txt");
  EXPECT_EQ(EncodeFileName("values[lat=3]"), "%76alues[lat=3]");
  EXPECT_EQ(EncodeFileName("preview.png"), "%70review.png");
  EXPECT_EQ(EncodeFileName("thumbnail.png"), "%74humbnail.png");
  EXPECT_EQ(EncodeFileName("index.html"), "%69ndex.html");
  EXPECT_EQ(EncodeFileName("table.csv"), "%74able.csv");
  EXPECT_EQ(EncodeFileName("SHA256SUMS"), "%53HA256SUMS");
  EXPECT_EQ(EncodeFileName(".error"), ".error");
  EXPECT_EQ(EncodeFileName("values"), "values");
  EXPECT_EQ(EncodeFileName("data.a/b"), "%64ata.a%2Fb");
  // And so the escaped spelling, taken as a name, is another file name.
  EXPECT_EQ(EncodeFileName("%64ata.npy"), "%2564ata.npy");
}

TEST(EncodeFileNameTest, ShortensLongNamesWithAHashOfTheWhole) {
  const std::string fits(255, 'a');
  EXPECT_EQ(EncodeFileName(fits), fits);
  const std::string b = EncodeFileName(fits + "b");
  const std::string c = EncodeFileName(fits + "c");
  EXPECT_EQ(b.size(), 255u);
  EXPECT_EQ(b.substr(0, 239), std::string(238, 'a') + "~");
  EXPECT_NE(b, c);
  EXPECT_TRUE(IsShortenedFileName(b));
  EXPECT_EQ(DecodeFileName(b), "");
}

TEST(EncodeFileNameTest, IsStableOverVersions) {
  // FNV-1a of 256 times 'a', computed independently.
  EXPECT_EQ(EncodeFileName(std::string(256, 'a')), std::string(238, 'a') + "~fd2916200943d825");
}

TEST(EncodeFileNameTest, CutsBetweenCharactersAndEscapes) {
  std::string name(237, 'a');
  EXPECT_EQ(EncodeFileName(name + std::string(20, '/')).substr(0, 238), name + "~");
  EXPECT_EQ(EncodeFileName(name + "äöüäöüäöüäöü").substr(0, 238), name + "~");
}

TEST(EncodeFileNameTest, ANameThatLooksShortenedIsShortened) {
  const std::string name = "x~0123456789abcdef";
  const std::string file = EncodeFileName(name);
  EXPECT_NE(file, name);
  EXPECT_TRUE(file.starts_with(name + "~"));
  EXPECT_TRUE(IsShortenedFileName(file));
  EXPECT_EQ(DecodeFileName(name), "");
}

TEST(EncodeFileNameTest, TheEmptyNameHasAFileName) {
  EXPECT_EQ(EncodeFileName(""), "~cbf29ce484222325");
}

TEST(DecodeFileNameTest, RefusesWhatNoNameIsEncodedTo) {
  for (const char* file : {"a%2fb", "%41", "a%2E", "%2E%2E%2E", ".ndl.yaml", "data.npy", ".",
                           "..", "a/b", "%64ata", ""}) {
    EXPECT_EQ(DecodeFileName(file), "") << file;
  }
}

TEST(EncodeFileNameTest, IsOneToOne) {
  std::mt19937 random(1);
  const std::string_view alphabet =
      "/%2F.~da\0\xc3\xa4"
      "0ty";
  std::set<std::string> names;
  std::set<std::string> files;
  for (int i = 0; i < 20000; ++i) {
    std::string name = random() % 4 == 0 ? "data." : "";
    for (size_t n = random() % 8 + 1; n > 0; --n) name += alphabet[random() % alphabet.size()];
    const std::string file = EncodeFileName(name);
    names.insert(name);
    files.insert(file);
    EXPECT_EQ(DecodeFileName(file), name);
    EXPECT_EQ(file.find('/'), std::string::npos);
    EXPECT_FALSE(IsReservedFileName(file));
  }
  EXPECT_EQ(names.size(), files.size());
}

}  // namespace
}  // namespace ndlfs::model
