// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/foreign/fits_pixels.h"
#include "backends/format/foreign/foreign.h"
#include "backends/format/read_elements.h"
#include "tests/backends/format/foreign/foreign_files.h"
#include "tests/support/format_examples.h"
#include "tests/support/read_array.h"

namespace ndlfs::backends {
namespace {

using test::FitsHeader;
using test::ForeignFiles;
using test::Numbers;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Cards = std::vector<std::string>;

const std::vector<int16_t> kFitsNumbers = {-1, 2, -3, 4, -5, 600};

Cards operator+(Cards cards, const Cards& more) {
  cards.insert(cards.end(), more.begin(), more.end());
  return cards;
}

std::string Block(std::string data) {
  data.resize((data.size() + 2879) / 2880 * 2880);
  return data;
}

const Cards kImage = {"NAXIS   =                    2", "NAXIS1  =                    3",
                      "NAXIS2  =                    2"};

Cards Primary(int bits = 16) {
  return Cards{"SIMPLE  =                    T", "BITPIX  = " + std::to_string(bits)} + kImage;
}
Cards Extension(const std::string& kind, int bits = 16) {
  return Cards{"XTENSION= '" + kind + "'", "BITPIX  = " + std::to_string(bits)};
}

class FitsTest : public ::testing::Test {
 protected:
  void PutImage(const Cards& cards, const std::string& data) {
    files_.Put("a.fits", FitsHeader(cards) + Block(data));
  }
  std::string ErrorOf(const Cards& cards) {
    PutImage(cards, Numbers(kFitsNumbers, true));
    const std::string error = files_.ErrorOf("a.fits");
    return error.empty() ? files_.ArrayErrorOf("a.fits", "a") : error;
  }
  ForeignFiles files_{FitsFormat()};
};

TEST_F(FitsTest, FirstAxisBecomesTheLastDimension) {
  PutImage(Primary(), Numbers(kFitsNumbers, /*is_big=*/true));
  EXPECT_TRUE(files_.IsStore("a.fits"));
  EXPECT_THAT(files_.ShapeOf("a.fits", "a"), ElementsAre(2, 3));
  EXPECT_EQ(files_.Elements("a.fits", "a"), Numbers(kFitsNumbers));
}

TEST_F(FitsTest, OtherFilesStayPlainUnlessTheyAreCalledFits) {
  files_.Put("run.fit",
             std::string("\x0e\x10\x2b\x08\0\0\0\0.FIT", 12) + std::string(100, '\1'));
  EXPECT_FALSE(files_.IsStore("run.fit"));
  files_.Put("simple.txt", "SIMPLE  =                    F, and so on, and so on, and so on\n");
  EXPECT_FALSE(files_.IsStore("simple.txt"));
  const std::string text = "SIMPLE  =                    T / conforms to the standard";
  files_.Put("header.hdr", text + "\nBITPIX  =                  -32\nEND\n");
  EXPECT_FALSE(files_.IsStore("header.hdr")) << "cards have no line ends";
  files_.Put("other.hdr", text + std::string(79 - text.size(), ' ') + "\r\nBITPIX  = 8\r\n");
  EXPECT_FALSE(files_.IsStore("other.hdr"));
  files_.Put("b.fits", "no card");
  EXPECT_TRUE(files_.IsStore("b.fits"));
  EXPECT_THAT(files_.ErrorOf("b.fits"), HasSubstr("does not begin with SIMPLE"));
}

TEST_F(FitsTest, IntegersOfTheOtherSignAreSuch) {
  const std::vector<std::pair<Cards, std::string>> cases = {
      {Primary(16) + Cards{"BZERO   =                32768"}, "uint16"},
      {Primary(32) + Cards{"BZERO   =           2147483648"}, "uint32"},
      {Primary(64) + Cards{"BZERO   =  9223372036854775808"}, "uint64"},
      {Primary(8) + Cards{"BZERO   =                 -128"}, "int8"},
      {Primary(16) + Cards{"BZERO   = 3.2768E4", "BSCALE  = 1.0"}, "uint16"}};
  for (const auto& [cards, type] : cases) {
    PutImage(cards, std::string(48, '\1'));
    EXPECT_EQ(files_.Load("a.fits", "a")->array().type.keyword(), type);
    EXPECT_TRUE(files_.AttributeOf("a.fits", "a", "add_offset").is_null()) << type;
  }
  PutImage(cases[0].first + Cards{"BLANK   =               -32768"},
           Numbers<int16_t>({-32768, -32767, -1, 0, 1, 32767}, true));
  EXPECT_EQ(files_.Elements("a.fits", "a"),
            Numbers<uint16_t>({0, 1, 32767, 32768, 32769, 65535}));
  EXPECT_EQ(files_.AttributeOf("a.fits", "a", "_FillValue"), model::Value(0));
}

TEST_F(FitsTest, OtherScalesAreAttributes) {
  PutImage(Primary() + Cards{"BSCALE  = 0.5", "BZERO   = 1D1", "BLANK   = -9", "BUNIT   = 'K'"},
           Numbers(kFitsNumbers, true));
  EXPECT_EQ(files_.Elements("a.fits", "a"), Numbers(kFitsNumbers));
  EXPECT_EQ(files_.AttributeOf("a.fits", "a", "scale_factor"), model::Value(0.5));
  EXPECT_EQ(files_.AttributeOf("a.fits", "a", "add_offset"), model::Value(10.0));
  EXPECT_EQ(files_.AttributeOf("a.fits", "a", "_FillValue"), model::Value(-9));
  EXPECT_EQ(files_.AttributeOf("a.fits", "a", "units"), model::Value("K"));
}

TEST_F(FitsTest, CardsAreAttributes) {
  PutImage(Primary() + Cards{"OBJECT  = 'O''Neill''s / cat   ' / a comment", "COUNT   =  7 / n",
                             "FLAG    =                    F", "LONG    = 'one &'",
                             "CONTINUE  'two'", "COMMENT first", "COMMENT second",
                             "HIERARCH ESO DET NAME = 'chip'", "NOVALUE =", "COUNT   = 8"},
           Numbers(kFitsNumbers, true));
  const auto value = [&](const char* name) { return files_.AttributeOf("a.fits", "a", name); };
  EXPECT_EQ(value("OBJECT"), model::Value("O'Neill's / cat"));
  EXPECT_EQ(value("COUNT"), model::Value(7));
  EXPECT_EQ(value("FLAG"), model::Value("FALSE"));
  EXPECT_EQ(value("LONG"), model::Value("one two"));
  EXPECT_EQ(value("COMMENT"), model::Value("first\nsecond"));
  EXPECT_EQ(value("ESO DET NAME"), model::Value("chip"));
  EXPECT_EQ(value("NOVALUE"), model::Value(""));
}

TEST_F(FitsTest, LinearAxesAreCoordinates) {
  PutImage(Primary() + Cards{"CTYPE1  = 'WAVE'", "CRVAL1  = 500.", "CRPIX1  = 2.",
                             "CDELT1  = 10.", "CUNIT1  = 'nm'", "CTYPE2  = 'RA---TAN'",
                             "CRVAL2  = 1.", "CDELT2  = 1."},
           Numbers(kFitsNumbers, true));
  EXPECT_THAT(files_.Coordinates("a.fits", "WAVE"), ElementsAre(490, 500, 510));
  EXPECT_EQ(files_.AttributeOf("a.fits", "WAVE", "units"), model::Value("nm"));
  EXPECT_THAT(files_.Open("a.fits").value()->List("/").value(), ElementsAre("WAVE", "a"));
  PutImage(Primary() + Cards{"CRVAL1  = 500.", "CDELT1  = 10.", "CD1_2   = 0.1"},
           Numbers(kFitsNumbers, true));
  EXPECT_THAT(files_.Open("a.fits").value()->List("/").value(), ElementsAre("a")) << "oblique";
}

TEST_F(FitsTest, EachExtensionIsAnArray) {
  const std::string data = Block(Numbers(kFitsNumbers, true));
  const std::string empty = FitsHeader(
      {"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0", "ORIGIN  = 'here'"});
  const Cards image = Extension("IMAGE   ") + kImage;
  files_.Put("a.fits", empty + FitsHeader(image + Cards{"EXTNAME = 'SCI'"}) + data +
                           FitsHeader(image + Cards{"EXTNAME = 'SCI'"}) + data +
                           FitsHeader(image) + data);
  EXPECT_THAT(files_.Open("a.fits").value()->List("/").value(),
              ElementsAre("SCI", "SCI_2", "hdu3"));
  EXPECT_EQ(files_.Elements("a.fits", "hdu3"), Numbers(kFitsNumbers));
  EXPECT_EQ(files_.AttributeOf("a.fits", "", "ORIGIN"), model::Value("here"));
}

TEST_F(FitsTest, RowsOfTablesAreElements) {
  const Cards cards =
      Extension("BINTABLE", 8) + Cards{"NAXIS   = 2",    "NAXIS1  = 9",      "NAXIS2  = 2",
                                       "PCOUNT  = 0",    "GCOUNT  = 1",      "TFIELDS = 3",
                                       "TTYPE1  = 'n'",  "TFORM1  = 'I'",    "TZERO1  = 32768",
                                       "TFORM2  = '2I'", "TTYPE3  = 'name'", "TFORM3  = '3A'"};
  const std::string row = Numbers<int16_t>({-32768, 1, 2}, true);
  files_.Put("a.fits",
             FitsHeader({"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"}) +
                 FitsHeader(cards) + Block(row + "abc" + row + "def"));
  const auto node = files_.Load("a.fits", "hdu1");
  ASSERT_EQ(node->array().type.members().size(), 3u);
  EXPECT_EQ(node->array().type.members()[0].type, model::Datatype::Integer(2, false));
  EXPECT_EQ(node->array().type.members()[1].name, "column2");
  const std::string read = Numbers<int16_t>({0, 1, 2});
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"), read + "abc" + read + "def");
}

std::string Descriptors(uint32_t count, uint32_t begin) {
  return test::BigEndian(count, 4) + test::BigEndian(begin, 4);
}

// A file with one table behind an empty primary unit.
std::string TableFile(const std::string& kind, const Cards& cards, const std::string& data) {
  return FitsHeader({"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"}) +
         FitsHeader(Extension(kind, 8) + cards) + Block(data);
}

// Section 6.6 of the standard: what is stored behind the elements of TDIM is undefined.
TEST_F(FitsTest, FieldsMayHaveMoreItemsThanTheirShape) {
  const Cards cards = {"NAXIS   = 2",       "NAXIS1  = 21",      "NAXIS2  = 1",
                       "PCOUNT  = 0",       "GCOUNT  = 1",       "TFIELDS = 3",
                       "TFORM1  = '6I'",    "TDIM1   = '(2,2)'", "TFORM2  = '7A'",
                       "TDIM2   = '(3,2)'", "TFORM3  = '1I'",    "TDIM3   = '(1,4)'"};
  files_.Put("a.fits", TableFile("BINTABLE", cards,
                                 Numbers<int16_t>({1, 2, 3, 4, 5, 6}, true) + "abcdefg" +
                                     Numbers<int16_t>({7}, true)));
  const auto node = files_.Load("a.fits", "hdu1");
  const auto& members = node->array().type.members();
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(members[0].type, model::Datatype::Array(model::Datatype::Integer(2, true), {2, 2}));
  EXPECT_EQ(members[1].type, model::Datatype::Array(
                                 model::Datatype::FixedString(3, model::Charset::kAscii), {2}));
  const std::string read = files_.Elements("a.fits", "hdu1");
  EXPECT_NE(read.find(Numbers<int16_t>({1, 2, 3, 4})), read.npos);
  EXPECT_NE(read.find("abcdef"), read.npos);
  EXPECT_NE(read.find(Numbers<int16_t>({7})), read.npos);
}

TEST_F(FitsTest, ScaledFieldsAreTheirValuesAndUndefinedOnesNaN) {
  files_.Put(
      "a.fits",
      TableFile(
          "BINTABLE",
          {"NAXIS   = 2", "NAXIS1  = 12", "NAXIS2  = 2", "PCOUNT  = 0", "GCOUNT  = 1",
           "TFIELDS = 4", "TTYPE1  = 'a'", "TFORM1  = 'I'", "TSCAL1  = 0.5", "TZERO1  = 1.0",
           "TTYPE2  = 'n'", "TFORM2  = 'J'", "TNULL2  = -99", "TTYPE3  = 'f'", "TFORM3  = 'E'",
           "TTYPE4  = 'b'", "TFORM4  = '2B'", "TSCAL4  = 2.0"},
          Numbers<int16_t>({1}, true) + Numbers<int32_t>({1}, true) +
              Numbers<float>({1.5F}, true) + "\1\2" + Numbers<int16_t>({3}, true) +
              Numbers<int32_t>({-99}, true) + Numbers<float>({2.5F}, true) + "\x03\xff"));
  const double nan = std::nan("");
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"),
            Numbers<double>({1.5, 1}) + Numbers<float>({1.5F}) + Numbers<double>({2, 4}) +
                Numbers<double>({2.5, nan}) + Numbers<float>({2.5F}) +
                Numbers<double>({6, 510}));
}

TEST_F(FitsTest, IntegersThatNoFloatHoldsKeepTheirNullAndSaySo) {
  files_.Put("a.fits", TableFile("BINTABLE",
                                 {"NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 1", "PCOUNT  = 0",
                                  "GCOUNT  = 1", "TFIELDS = 1", "TTYPE1  = 'k'",
                                  "TFORM1  = 'K'", "TNULL1  = -1"},
                                 Numbers<int64_t>({-1}, true)));
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"), Numbers<int64_t>({-1}));
  EXPECT_THAT(files_.Load("a.fits", "hdu1")->notes, ElementsAre(HasSubstr("TNULL1: -1")));
}

TEST_F(FitsTest, ColumnsOfVariableLengthAreWhatTheHeapHas) {
  const Cards cards = {"NAXIS   = 2",   "NAXIS1  = 18",  "NAXIS2  = 2",   "PCOUNT  = 31",
                       "GCOUNT  = 1",   "TFIELDS = 3",   "TTYPE1  = 'V'", "TFORM1  = '1PJ(3)'",
                       "TTYPE2  = 'n'", "TFORM2  = 'I'", "TTYPE3  = 's'", "TFORM3  = 'PA(3)'",
                       "THEAP   = 40"};
  const std::string rows = Descriptors(2, 0) + Numbers<int16_t>({7}, true) +
                           Descriptors(3, 20) + Descriptors(3, 8) +
                           Numbers<int16_t>({8}, true) + Descriptors(0, 0);
  files_.Put("a.fits",
             TableFile("BINTABLE", cards,
                       rows + "GAP!" + Numbers<int32_t>({10, 20, 1, 2, 3}, true) + "abc"));
  const auto node = files_.Load("a.fits", "hdu1");
  ASSERT_TRUE(node->source) << node->error->message();
  EXPECT_EQ(node->array().type.members()[0].type,
            model::Datatype::Vlen(model::Datatype::Integer(4, true)));
  const auto stream = test::ReadChunk(*node->source, std::vector<uint64_t>{0});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ(stream->substr(3 * sizeof(uint64_t)),
            Numbers<uint32_t>({2, 10, 20}) + Numbers<int16_t>({7}) + Numbers<uint32_t>({3}) +
                "abc" + Numbers<uint32_t>({3, 1, 2, 3}) + Numbers<int16_t>({8}) +
                Numbers<uint32_t>({0}));
  for (const auto& [count, begin] : std::vector<std::pair<uint32_t, uint32_t>>{
           {9, 0}, {2, 24}, {1, 0xffffffff}, {0xffffffff, 0}}) {
    files_.Put("a.fits", TableFile("BINTABLE", cards,
                                   Descriptors(count, begin) + rows.substr(8) + "GAP!" +
                                       std::string(23, 'x')));
    const auto damaged = files_.Load("a.fits", "hdu1");
    const auto read = test::ReadChunk(*damaged->source, std::vector<uint64_t>{0});
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("beyond the heap"));
  }
}

TEST_F(FitsTest, FieldsOfTextTablesAreNumbersAndTexts) {
  const Cards cards = {"NAXIS   = 2",    "NAXIS1  = 20",   "NAXIS2  = 3",      "PCOUNT  = 0",
                       "GCOUNT  = 1",    "TFIELDS = 4",    "TTYPE1  = 'n'",    "TFORM1  = 'I4'",
                       "TBCOL1  = 1",    "TTYPE2  = 'x'",  "TFORM2  = 'F6.2'", "TBCOL2  = 6",
                       "TTYPE3  = 's'",  "TFORM3  = 'A3'", "TBCOL3  = 13",     "TTYPE4  = 'm'",
                       "TFORM4  = 'I4'", "TBCOL4  = 17",   "TNULL4  = '-'"};
  files_.Put("a.fits", TableFile("TABLE   ", cards,
                                 "   1   1.50 ab    7 "
                                 "  20  1.5D2 cde   - "
                                 "        150      -12"));
  const std::string elements = files_.Elements("a.fits", "hdu1");
  const double nan = std::nan("");
  EXPECT_EQ(elements, Numbers<int32_t>({1}) + Numbers<double>({1.5}) + "ab " +
                          Numbers<double>({7}) + Numbers<int32_t>({20}) +
                          Numbers<double>({150}) + "cde" + Numbers<double>({nan}) +
                          Numbers<int32_t>({0}) + Numbers<double>({1.5}) + "   " +
                          Numbers<double>({-12}));
  files_.Put("a.fits", TableFile("TABLE   ", cards, std::string(60, 'x')));
  EXPECT_FALSE(ReadElements(*files_.Load("a.fits", "hdu1")->source, 1 << 20));
}

TEST_F(FitsTest, TableWithoutColumnsIsAnArrayWithoutElements) {
  files_.Put("a.fits",
             TableFile("BINTABLE",
                       {"NAXIS   = 2", "NAXIS1  = 0", "NAXIS2  = 0", "PCOUNT  = 0",
                        "GCOUNT  = 1", "TFIELDS = 0", "EXTNAME = 'E'", "KIND    = 'what'"},
                       ""));
  EXPECT_THAT(files_.ShapeOf("a.fits", "E"), ElementsAre(0));
  EXPECT_EQ(files_.Elements("a.fits", "E"), "");
  EXPECT_EQ(files_.AttributeOf("a.fits", "E", "KIND"), model::Value("what"));
}

TEST_F(FitsTest, OtherUnitsSayWhyTheyAreNotShown) {
  const std::string empty =
      FitsHeader({"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"});
  const Cards table = {"NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 2"};
  const std::vector<std::pair<Cards, std::string>> cases = {
      {Extension("FOREIGN ", 8) + table, "an extension \"FOREIGN\""},
      {Extension("TABLE   ", 8) + table, "NAXIS1, NAXIS2 and TFIELDS"},
      {Extension("TABLE   ", 8) + table + Cards{"TFIELDS = 1", "TFORM1  = 'I8'"}, "TBCOL1:"},
      {Extension("TABLE   ", 8) + table + Cards{"TFIELDS = 1", "TFORM1  = 'I8'", "TBCOL1  = 2"},
       "more than the 8 bytes of a row"},
      {Extension("BINTABLE", 8) + table + Cards{"TFIELDS = 1", "TFORM1  = '2PJ'"}, "TFORM1:"},
      {Extension("BINTABLE", 8) + table +
           Cards{"TFIELDS = 1", "TFORM1  = 'M'", "TSCAL1  = 2.0", "NAXIS1  = 8"},
       "complex numbers that are scaled"},
      {Extension("BINTABLE", 8) + table +
           Cards{"TFIELDS = 1", "TFORM1  = 'J'", "TZERO1  = 1.0", "TZERO1  = 2.0"},
       "two cards \"TZERO1\" that differ"},
      {Extension("BINTABLE", 8) + table +
           Cards{"TFIELDS = 1", "TFORM1  = '1PB'", "ZTABLE  =                    T"},
       "a table that is compressed"},
      {Extension("BINTABLE", 8) + table + Cards{"TFIELDS = 1000000"}, "1000000 columns"},
      {Extension("BINTABLE", 8) + table + Cards{"TFIELDS = 1", "TFORM1  = '9A'"},
       "more than the 8 bytes of a row"},
      {Extension("BINTABLE", 8) + table +
           Cards{"TFIELDS = 1", "TFORM1  = '99999999999999999999A'"},
       "TFORM1:"},
      {Extension("BINTABLE", 8) + table + Cards{"TFIELDS = 1", "TFORM1  = '1Z'"},
       "TFORM1: \"1Z\""},
      {Extension("BINTABLE", 8) + table +
           Cards{"TFIELDS = 1", "TFORM1  = '1PB'", "ZIMAGE  =                    T",
                 "TTYPE1  = 'COMPRESSED_DATA'", "ZCMPTYPE= 'HCOMPRESS_1'", "ZBITPIX = 16",
                 "ZNAXIS  = 0"},
       "tiles compressed by \"HCOMPRESS_1\" are not supported"}};
  for (const auto& [cards, error] : cases) {
    files_.Put("a.fits", empty + FitsHeader(cards) + Block(std::string(16, ' ')));
    EXPECT_THAT(files_.ArrayErrorOf("a.fits", "hdu1"), HasSubstr(error));
  }
}

// An image of two tiles of two pixels each. A row of the table has the descriptor of a tile.
const Cards kTiles = {"NAXIS   = 2",        "NAXIS1  = 8",
                      "NAXIS2  = 2",        "PCOUNT  = 8",
                      "TFIELDS = 1",        "TTYPE1  = 'COMPRESSED_DATA'",
                      "TFORM1  = '1PB(4)'", "ZIMAGE  =                    T",
                      "ZNAXIS  = 1",        "ZNAXIS1 = 4",
                      "ZTILE1  = 2"};
const Cards kRice = {"ZCMPTYPE= 'RICE_1'", "ZBITPIX = 16", "ZNAME1  = 'BYTEPIX'",
                     "ZVAL1   = 2"};

class FitsTilesTest : public FitsTest {
 protected:
  void PutTiles(const Cards& cards, const std::string& table) {
    files_.Put("a.fits",
               FitsHeader({"SIMPLE  =                    T", "BITPIX  = 8", "NAXIS   = 0"}) +
                   FitsHeader(Extension("BINTABLE", 8) + kTiles + cards) + Block(table));
  }
  // The error of the header, or that of reading the first tile.
  std::string ErrorOf(const Cards& cards, const std::string& table) {
    PutTiles(cards, table);
    const std::string error = files_.ArrayErrorOf("a.fits", "hdu1");
    if (!error.empty()) return error;
    const auto elements = ReadElements(*files_.Load("a.fits", "hdu1")->source, 1 << 20);
    return elements ? "" : elements.error().message();
  }
  // Two tiles: all pixels like the first one, which is 258 and then -2.
  const std::string heap_ = std::string("\x01\x02\0\0\xff\xfe\0\0", 8);
  const std::string good_ = Descriptors(4, 0) + Descriptors(4, 4) + heap_;
};

TEST_F(FitsTilesTest, TilesAreDecoded) {
  PutTiles(kRice, good_);
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"), Numbers<int16_t>({258, 258, -2, -2}));
  PutTiles(kRice + Cards{"BZERO   = 32768"}, good_);
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"), Numbers<uint16_t>({33026, 33026, 32766, 32766}));
  PutTiles({"ZCMPTYPE= 'NOCOMPRESS'", "ZBITPIX = 16"}, good_);
  EXPECT_EQ(files_.Elements("a.fits", "hdu1"), Numbers<int16_t>({258, 0, -2, 0}));
}

TEST_F(FitsTilesTest, ParametersThatAreNotKnownAreRefused) {
  EXPECT_THAT(ErrorOf(kRice + Cards{"ZNAME2  = 'ROTATE'", "ZVAL2   = 1"}, good_),
              HasSubstr("ZNAME2: the field \"ROTATE\" is not known"));
}

TEST_F(FitsTilesTest, DescriptorsBeyondTheHeapAreRefused) {
  for (const auto& [count, begin] : std::vector<std::pair<uint32_t, uint32_t>>{
           {9, 0}, {4, 5}, {4, 0xffffffff}, {0xffffffff, 0}, {0xffffffff, 0xffffffff}}) {
    EXPECT_THAT(ErrorOf(kRice, Descriptors(count, begin) + good_.substr(8)),
                HasSubstr("tile 1: COMPRESSED_DATA: " + std::to_string(count) +
                          " elements at " + std::to_string(begin) + " are beyond the heap"));
  }
  EXPECT_THAT(ErrorOf(kRice, Descriptors(0, 0) + good_.substr(8)),
              HasSubstr("tile 1: the tile has no data"));
  EXPECT_THAT(ErrorOf(kRice + Cards{"THEAP   = 25"}, good_), HasSubstr("THEAP: 25"));
  EXPECT_THAT(ErrorOf(kRice + Cards{"THEAP   = -1"}, good_), HasSubstr("THEAP: -1"));
}

TEST_F(FitsTilesTest, TilesThatDoNotDecodeAreCorrupt) {
  EXPECT_THAT(ErrorOf(kRice, Descriptors(2, 0) + good_.substr(8)),
              HasSubstr("RICE_1: the data end"));
  EXPECT_THAT(ErrorOf(kRice, good_.substr(0, 16) + "\1\2\xff\xff\1\2\3\4"),
              HasSubstr("RICE_1: the data end"));
  EXPECT_THAT(ErrorOf({"ZCMPTYPE= 'GZIP_1'", "ZBITPIX = 16"}, good_), HasSubstr("tile 1: "));
  EXPECT_THAT(ErrorOf({"ZCMPTYPE= 'PLIO_1'", "ZBITPIX = 16"}, good_),
              HasSubstr("PLIO_1: 4 bytes are too few for a header"));
  EXPECT_THAT(ErrorOf({"ZCMPTYPE= 'NOCOMPRESS'", "ZBITPIX = 32"}, good_),
              HasSubstr("4 bytes for 2 pixels of 4"));
  EXPECT_THAT(
      ErrorOf({"ZCMPTYPE= 'RICE_1'", "ZBITPIX = 8", "ZNAME1  = 'BYTEPIX'", "ZVAL1   = 2"},
              good_),
      HasSubstr("does not fit into a pixel of 1 bytes"));
}

TEST_F(FitsTilesTest, HeadersThatMakeNoSenseAreRefused) {
  const std::vector<std::pair<Cards, std::string>> cases = {
      {{"ZCMPTYPE= 'RICE_1'", "ZBITPIX = 12"}, "BITPIX is none of"},
      {kRice + Cards{"ZNAME2  = 'BLOCKSIZE'", "ZVAL2   = 0"},
       "ZVAL2: expected a number from 1 to 65536"},
      {kRice + Cards{"ZNAME2  = 'BLOCKSIZE'", "ZVAL2   = -3"},
       "ZVAL2: expected a number from 1 to 65536"},
      {{"ZCMPTYPE= 'RICE_1'", "ZBITPIX = 16", "ZNAME1  = 'BYTEPIX'", "ZVAL1   = 3"},
       "BYTEPIX: 3 is not supported"},
      {{"ZCMPTYPE= 'RICE_1'", "ZBITPIX = -32"}, "floats compressed by \"RICE_1\" need ZSCALE"},
      {{"ZCMPTYPE= 'RICE_1'", "ZBITPIX = -32", "ZSCALE  = 2.0", "ZQUANTIZ= 'OTHER'"},
       "ZQUANTIZ \"OTHER\""},
      {{"ZCMPTYPE= 'RICE_1'", "ZBITPIX = -32", "ZSCALE  = 2.0",
        "ZQUANTIZ= 'SUBTRACTIVE_DITHER_1'", "ZDITHER0= 10001"},
       "ZDITHER0: expected a number"},
      {{"ZCMPTYPE= 'HCOMPRESS_1'", "ZBITPIX = 16"},
       "tiles compressed by \"HCOMPRESS_1\" are not supported"}};
  for (const auto& [cards, error] : cases) {
    EXPECT_THAT(ErrorOf(cards, good_), HasSubstr(error));
  }
}

TEST(FitsPixelsTest, RiceDecodesDifferencesOfEachKind) {
  // A byte 7; selector 2 (one low bit): +1 as 01|0, -1 as 1|1; selector 7: bytes.
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> made;
    for (const int value : values) made.push_back(static_cast<std::byte>(value));
    return made;
  };
  EXPECT_THAT(
      foreign::DecodeRice(bytes({7, 0b01001011, 0b11100000, 0b01000000, 0b01100000}), 4, 1, 2)
          .value(),
      ElementsAre(8, 7, 8, 6));
  EXPECT_THAT(foreign::DecodeRice(bytes({7, 0b01000000, 0, 0, 0}), 4, 1, 32).error().message(),
              HasSubstr("RICE_1: "));
}

TEST(FitsPixelsTest, PlioDecodesEachOperation) {
  const auto list = [](std::vector<int> words) {
    std::vector<std::byte> made;
    for (const int word : words) {
      made.push_back(static_cast<std::byte>(word >> 8));
      made.push_back(static_cast<std::byte>(word));
    }
    return made;
  };
  const auto words = list({0, 7, 0x8000 - 0x10000, 15, 0, 0, 0, 0x0002, 0x4001, 0x1005, 0x0001,
                           0x4001, 0x2001, 0x5002, 0x6001});
  EXPECT_THAT(foreign::DecodePlio(words, 8).value(),
              ElementsAre(0, 0, 1, 4101, 0, 4102, 4103, 0));
  EXPECT_THAT(foreign::DecodePlio(words, 4).error().message(), HasSubstr("more than 4 pixels"));
  EXPECT_THAT(foreign::DecodePlio(list({0, 7, -100, 100, 0, 0, 0}), 4).error().message(),
              HasSubstr("says 100 words"));
  EXPECT_THAT(foreign::DecodePlio(list({0, 5, -100, 6, 0, 0x8000}), 4).error().message(),
              HasSubstr("unknown operation 8"));
}

TEST_F(FitsTest, RefusesHeadersThatMakeNoSense) {
  const Cards begin = {"SIMPLE  =                    T"};
  const std::vector<std::pair<Cards, std::string>> cases = {
      {begin + Cards{"BITPIX  = 12"} + kImage, "BITPIX is none of"},
      {begin + kImage, "BITPIX is none of"},
      {begin + Cards{"BITPIX  = 16", "NAXIS   = 1000000"}, "NAXIS: expected 0 to 999"},
      {begin + Cards{"BITPIX  = 16", "NAXIS   = -1"}, "NAXIS: expected 0 to 999"},
      {begin + Cards{"BITPIX  = 16", "NAXIS   = 1"}, "NAXIS1: expected a length"},
      {begin + Cards{"BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = -5"},
       "NAXIS1: expected a length"},
      {begin +
           Cards{"BITPIX  = 16", "NAXIS   = 2", "NAXIS1  = 4294967296", "NAXIS2  = 4294967296"},
       "more data than any file"},
      {Primary() + Cards{"PCOUNT  = -1"}, "below 0"},
      {begin + Cards{"BITPIX  = 16", "NAXIS   = 1", "NAXIS1  = 14400"}, "the header needs"}};
  for (const auto& [cards, error] : cases) {
    EXPECT_THAT(ErrorOf(cards), HasSubstr(error)) << testing::PrintToString(cards);
  }
}

TEST_F(FitsTest, CutFilesAreErrors) {
  const std::string whole = FitsHeader(Primary()) + Numbers(kFitsNumbers, true);
  for (size_t size = 0; size < whole.size(); size += size < 2860 ? 13 : 1) {
    files_.Put("a.fits", whole.substr(0, size));
    const std::string error = files_.ErrorOf("a.fits");
    EXPECT_NE(error + (error.empty() ? files_.ArrayErrorOf("a.fits", "a") : ""), "") << size;
  }
  files_.Put("a.fits", whole);
  EXPECT_EQ(files_.Elements("a.fits", "a"), Numbers(kFitsNumbers)) << "without the last block";
}

TEST_F(FitsTest, HeaderWithoutAnEndIsRefused) {
  files_.Put("a.fits", FitsHeader(Primary()).substr(0, 80) + std::string(8 << 20, ' '));
  EXPECT_THAT(files_.ErrorOf("a.fits"), HasSubstr("a header of more than"));
}

TEST_F(FitsTest, SpecialRecordsAreLeftOut) {
  files_.Put("a.fits", FitsHeader(Primary()) + Block(Numbers(kFitsNumbers, true)) +
                           Block("something else"));
  EXPECT_EQ(files_.Elements("a.fits", "a"), Numbers(kFitsNumbers));
  const auto root = files_.Open("a.fits").value()->Load("/").value();
  EXPECT_THAT(root->notes, ElementsAre(HasSubstr("no extension")));
}

}  // namespace
}  // namespace ndlfs::backends
