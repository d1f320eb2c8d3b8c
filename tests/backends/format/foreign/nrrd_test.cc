// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "backends/format/foreign/foreign.h"
#include "backends/format/read_elements.h"
#include "tests/backends/format/foreign/foreign_files.h"
#include "tests/support/replace.h"

namespace ndlfs::backends {
namespace {

using test::ForeignFiles;
using test::Numbers;
using test::Replace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int16_t> kNrrdNumbers = {-1, 2, -3, 4, -5, 600};
// Of a 2 by 3 array, without a last line.
const std::string kHeader =
    "NRRD0004\ntype: short\ndimension: 2\nsizes: 3 2\nendian: little\nencoding: raw\n";

std::string Gzip(const std::string& bytes) {
  std::string out(compressBound(bytes.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class NrrdTest : public ::testing::Test {
 protected:
  ForeignFiles files_{NrrdFormat()};
};

TEST_F(NrrdTest, FastestAxisBecomesTheLastDimension) {
  files_.Put("a.nrrd", kHeader + "\n" + Numbers(kNrrdNumbers));
  EXPECT_TRUE(files_.IsStore("a.nrrd"));
  EXPECT_THAT(files_.ShapeOf("a.nrrd", "a"), ElementsAre(2, 3));
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), Numbers(kNrrdNumbers));
}

TEST_F(NrrdTest, IsKnownByItsFirstLineUnderAnyName) {
  files_.Put("volume.dat", kHeader + "\n" + Numbers(kNrrdNumbers));
  EXPECT_TRUE(files_.IsStore("volume.dat"));
  files_.Put("b.nrrd", "something else, which has the name of an image");
  EXPECT_TRUE(files_.IsStore("b.nrrd"));
  EXPECT_THAT(files_.ErrorOf("b.nrrd"), HasSubstr("does not begin with NRRD000"));
}

TEST_F(NrrdTest, ReadsBigEndianBehindLinesAndBytes) {
  const std::string header = Replace(kHeader, "little", "big");
  files_.Put("a.nrrd", header + "line skip: 1\nbyte skip: 3\n\nwords\n???" +
                           Numbers(kNrrdNumbers, /*is_big=*/true));
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), Numbers(kNrrdNumbers));
  files_.Put("end.nhdr", header + "byte skip: -1\ndata file: data.raw\n");
  files_.Put("data.raw", "?????" + Numbers(kNrrdNumbers, /*is_big=*/true));
  EXPECT_EQ(files_.Elements("end.nhdr", "end"), Numbers(kNrrdNumbers));
}

TEST_F(NrrdTest, ReadsGzipWithAllItsMembers) {
  const std::string header = Replace(kHeader, "raw", "gzip");
  const std::string bytes = "skip" + Numbers(kNrrdNumbers);
  files_.Put("a.nrrd",
             header + "byte skip: 4\n\n" + Gzip(bytes.substr(0, 7)) + Gzip(bytes.substr(7)));
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), Numbers(kNrrdNumbers));
}

TEST_F(NrrdTest, GzipThatEndsTooEarlyFailsWhenItIsRead) {
  const std::string header = Replace(kHeader, "raw", "gzip");
  files_.Put("short.nrrd", header + "\n" + Gzip(Numbers(kNrrdNumbers).substr(0, 8)));
  EXPECT_THAT(files_.Elements("short.nrrd", "short"), HasSubstr("less than its 12 bytes"));
  std::string damaged = Gzip(Numbers(kNrrdNumbers));
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  files_.Put("sum.nrrd", header + "\n" + damaged);
  EXPECT_THAT(files_.Elements("sum.nrrd", "sum"), HasSubstr("invalid"));
  files_.Put("large.nrrd",
             Replace(header, "sizes: 3 2", "sizes: 3 2000000") + "\n" + Gzip("few bytes"));
  EXPECT_THAT(files_.ArrayErrorOf("large.nrrd", "large"), HasSubstr("cannot inflate to"));
}

TEST_F(NrrdTest, Bzip2IsDecodedAsAWholeUpToALimit) {
  files_.Put("a.nrrd", Replace(kHeader, "raw", "bzip2") + "\nBZh9");
  EXPECT_EQ(files_.ArrayErrorOf("a.nrrd", "a"), "");
  EXPECT_THAT(files_.ArrayErrorOf("a.nrrd", "a", {.max_chunk_size = 11}),
              HasSubstr("12 bytes that are compressed as one"));
}

TEST_F(NrrdTest, ReadsListsOfFiles) {
  files_.Put("list.nhdr", kHeader + "data file: LIST\nb.raw\nsub/a.raw\n");
  files_.Put("pattern.nhdr", kHeader + "data file: part%02d.raw 8 6 -2\n");
  files_.Put("sub/a.raw", Numbers<int16_t>({4, 5, 6}));
  files_.Put("b.raw", Numbers<int16_t>({1, 2, 3}));
  files_.Put("part08.raw", Numbers<int16_t>({1, 2, 3}));
  files_.Put("part06.raw", Numbers<int16_t>({4, 5, 6}));
  for (const std::string name : {"list", "pattern"}) {
    EXPECT_EQ(files_.Elements(name + ".nhdr", name), Numbers<int16_t>({1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(NrrdTest, FileOfAListThatGoesFailsTheReadOfItsPart) {
  files_.Put("list.nhdr", kHeader + "data file: LIST\na.raw\nb.raw\n");
  files_.Put("a.raw", Numbers<int16_t>({1, 2, 3}));
  EXPECT_THAT(files_.ArrayErrorOf("list.nhdr", "list"), HasSubstr("no data file \"b.raw\""));
  files_.Put("b.raw", Numbers<int16_t>({4, 5, 6}));
  const auto node = files_.Load("list.nhdr", "list");
  files_.source().Remove("b.raw");
  test::PlainIndexCache indexes;
  EXPECT_TRUE(test::ReadChunk(*node->source, {0, 0}, indexes));
  const auto gone = test::ReadChunk(*node->source, {1, 0}, indexes);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message(), HasSubstr("not there"));
}

TEST_F(NrrdTest, SpacingsPlaceElements) {
  files_.Put("a.nrrd", kHeader +
                           "spacings: 0.5 2\naxis mins: 10 nan\ncenters: cell node\n"
                           "labels: \"east west\" \"\"\nunits: \"mm\" \"\"\n\n" +
                           Numbers(kNrrdNumbers));
  EXPECT_THAT(files_.Coordinates("a.nrrd", "east west"), ElementsAre(10.25, 10.75, 11.25));
  EXPECT_THAT(files_.Coordinates("a.nrrd", "y"), ElementsAre(0, 2));
  EXPECT_EQ(files_.AttributeOf("a.nrrd", "east west", "units"), model::Value("mm"));
}

TEST_F(NrrdTest, DirectionsPlaceElementsUnlessTheyAreOblique) {
  const std::string straight = "space directions: (0,-2) (3,0)\nspace origin: (5,7)\n\n";
  files_.Put("a.nrrd", kHeader + straight + Numbers(kNrrdNumbers));
  EXPECT_THAT(files_.Coordinates("a.nrrd", "x"), ElementsAre(7, 5, 3));
  EXPECT_THAT(files_.Coordinates("a.nrrd", "y"), ElementsAre(5, 8));
  files_.Put("b.nrrd", kHeader + "space directions: (1,1) (-1,1)\n\n" + Numbers(kNrrdNumbers));
  EXPECT_THAT(files_.Open("b.nrrd").value()->List("/").value(), ElementsAre("b"));
}

TEST_F(NrrdTest, ComplexNumbersAreElements) {
  const std::string header =
      Replace(Replace(kHeader, "short", "float"), "sizes: 3 2", "sizes: 2 3");
  const std::string numbers = Numbers<float>({1, 2, 3, 4, 5, 6});
  files_.Put("a.nrrd", header + "kinds: complex domain\n\n" + numbers);
  EXPECT_THAT(files_.ShapeOf("a.nrrd", "a"), ElementsAre(3));
  EXPECT_TRUE(files_.Load("a.nrrd", "a")->array().type.is_complex());
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), numbers);
}

TEST_F(NrrdTest, FieldsAndKeysAreAttributes) {
  files_.Put("a.nrrd", kHeader + "# comment\nsite:=north pole\n\n" + Numbers(kNrrdNumbers));
  EXPECT_EQ(files_.AttributeOf("a.nrrd", "", "site"), model::Value("north pole"));
  EXPECT_EQ(files_.AttributeOf("a.nrrd", "", "sizes"), model::Value("3 2"));
}

TEST_F(NrrdTest, NumbersAsTextNeedNoByteOrder) {
  const std::string header = Replace(Replace(kHeader, "raw", "ASCII"), "endian: little\n", "");
  files_.Put("a.nrrd", header + "\n-1 2 -3,\n4\t-5\r\n600\n");
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), Numbers(kNrrdNumbers));
  files_.Put("a.nrrd",
             Replace(Replace(kHeader, "raw", "text"), "little", "") + "\n-1 2 -3 4 -5 600");
  EXPECT_EQ(files_.Elements("a.nrrd", "a"), Numbers(kNrrdNumbers)) << "an empty endian";
  files_.Put("a.nrrd", Replace(header, "short", "double") + "\n1 2 nan 1e3 -.5 6\n");
  EXPECT_EQ(files_.Elements("a.nrrd", "a").size(), 48u);
  for (const std::string wrong :
       {"1 2 3 4 5 70000", "1 2 3 4 5 x", "1 2 3 4 5 6.5", "1 2 3 4 5       "}) {
    files_.Put("a.nrrd", header + "\n" + wrong);
    EXPECT_FALSE(ReadElements(*files_.Load("a.nrrd", "a")->source, 1 << 20)) << wrong;
  }
  EXPECT_THAT(files_.ArrayErrorOf("a.nrrd", "a", {.max_chunk_size = 8}),
              HasSubstr("limit of 8"));
}

TEST_F(NrrdTest, RefusesHeadersThatMakeNoSense) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {Replace(kHeader, "dimension: 2", "dimension: 1000000"), "dimension: expected 1 to 16"},
      {Replace(kHeader, "sizes: 3 2", "sizes: 3"), "sizes: \"3\" for dimension 2"},
      {Replace(kHeader, "sizes: 3 2", "sizes: 3 0"), "sizes:"},
      {Replace(kHeader, "sizes: 3 2", "sizes: 3 -2"), "sizes:"},
      {Replace(kHeader, "short", "quaternion"), "type: \"quaternion\""},
      {Replace(kHeader, "endian: little\n", ""), "endian: expected little or big"},
      {kHeader + "type: int\n", "two fields \"type\": \"short\" and \"int\""},
      {kHeader + "bit order: msb\n", "the field \"bit order\" is not known"},
      {kHeader + "no colon here\n", "neither a field nor a key"},
  };
  for (const auto& [header, error] : cases) {
    files_.Put("a.nrrd", header + "\n" + Numbers(kNrrdNumbers));
    EXPECT_THAT(files_.ErrorOf("a.nrrd"), HasSubstr(error)) << header;
  }
  files_.Put("a.nrrd", kHeader);
  EXPECT_THAT(files_.ErrorOf("a.nrrd"), HasSubstr("the header has no end"));
}

TEST_F(NrrdTest, RefusesDataThatAreNotThere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {kHeader + "data file: none.raw\n", "there is no data file \"none.raw\""},
      {kHeader + "data file: ../../a.raw\n", "outside of the source"},
      {kHeader + "data file: /etc/passwd\n", "outside of the source"},
      {kHeader + "data file: .\n", "is no path of a file"},
      {kHeader + "\n" + "short", "80 bytes, the header needs 87"},
      {kHeader + "byte skip: 9223372036854775807\n\n", "the header needs"},
      {kHeader + "byte skip: -2\n\n", "byte skip:"},
      {kHeader + "line skip: 5\n\nno more lines", "fewer than 5 lines"},
      {Replace(kHeader, "sizes: 3 2", "sizes: 4294967296 4294967296") + "\n", "too many"},
      {Replace(kHeader, "raw", "hex") + "\n0102\n", "hexadecimal digits"},
      {Replace(kHeader, "raw", "ascii") + "\n1 2\n", "of text for 6 numbers"},
      {Replace(kHeader, "raw", "zrl") + "\n", "encoding: \"zrl\""},
      {kHeader + "data file: LIST\n", "0 data files for 2 places"},
      {kHeader + "data file: LIST\na\nb\nc\n", "3 data files for 2 places"},
      {kHeader + "data file: LIST 1\n../x\n/y\n", "outside of the source"},
      {kHeader + "data file: a%s.raw 1 2 1\n", "no pattern with one number"},
      {kHeader + "data file: a%d%d.raw 1 2 1\n", "no pattern with one number"},
      {kHeader + "data file: a%9999d.raw 1 2 1\n", "no pattern with one number"},
      {kHeader + "data file: a%d.raw 0 1000000000 1\n", "more than 100000"},
      {kHeader + "data file: a%d.raw 1 2 -1\n", "no numbers from 1 to 2"},
  };
  for (const auto& [text, error] : cases) {
    files_.Put("a.nhdr", text);
    const std::string found = files_.ArrayErrorOf("a.nhdr", "a");
    EXPECT_THAT(found, HasSubstr(error)) << text;
  }
}

TEST_F(NrrdTest, HeaderThatIsCutAnywhereIsAnErrorOrLacksData) {
  const std::string whole = kHeader + "spacings: 1 1\n\n" + Numbers(kNrrdNumbers);
  for (size_t size = 0; size < whole.size(); ++size) {
    files_.Put("a.nrrd", whole.substr(0, size));
    if (files_.ErrorOf("a.nrrd").empty()) {
      EXPECT_NE(files_.ArrayErrorOf("a.nrrd", "a"), "") << size;
    }
  }
}

TEST_F(NrrdTest, VersionChangesWithTheDataFile) {
  files_.Put("a.nhdr", kHeader + "data file: a.raw\n");
  const auto without = files_.Open("a.nhdr").value();
  const uint64_t before = without->Version("/").value();
  files_.Put("a.raw", Numbers(kNrrdNumbers));
  EXPECT_NE(without->Version("/").value(), before) << "the file has come";
  const auto with = files_.Open("a.nhdr").value();
  const uint64_t first = with->Version("/").value();
  files_.Put("a.raw", Numbers(kNrrdNumbers));
  EXPECT_NE(with->Version("/").value(), first);
}

}  // namespace
}  // namespace ndlfs::backends
