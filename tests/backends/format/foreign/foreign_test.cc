// SPDX-License-Identifier: MIT
//
// The smaller formats of flat files with foreign headers.
#include "backends/format/foreign/foreign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/backends/format/foreign/foreign_files.h"
#include "tests/support/replace.h"

namespace ndlfs::backends {
namespace {

using test::ForeignFiles;
using test::Numbers;
using test::Replace;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<int16_t> kForeignNumbers = {-1, 2, -3, 4, -5, 600};

using Cases = std::vector<std::pair<std::string, std::string>>;

// Each header is refused with its error, be it the store or its array "a".
void ExpectErrors(ForeignFiles& files, const std::string& path, const Cases& cases) {
  for (const auto& [text, error] : cases) {
    files.Put(path, text);
    std::string found = files.ErrorOf(path);
    if (found.empty()) found = files.ArrayErrorOf(path, "a");
    EXPECT_THAT(found, HasSubstr(error)) << text;
  }
}

// A header that is cut anywhere is no store, an error, or lacks data; or means the same.
void ExpectCutsAreHarmless(ForeignFiles& files, const std::string& path,
                           const std::string& header, const std::string& elements) {
  for (size_t size = 0; size < header.size(); ++size) {
    files.Put(path, header.substr(0, size));
    if (!files.IsStore(path) || !files.ErrorOf(path).empty()) continue;
    const auto store = files.Open(path).value();
    if (!store->Load("/a") || !files.ArrayErrorOf(path, "a").empty()) continue;
    const std::string found = files.Elements(path, "a");
    EXPECT_TRUE(found == elements || found.size() < elements.size() ||
                elements.starts_with(found) || found.starts_with("error"))
        << size;
  }
}

class MetaImageTest : public ::testing::Test {
 protected:
  const std::string header_ =
      "ObjectType = Image\nNDims = 2\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
      "DimSize = 3 2\nElementType = MET_SHORT\n";
  ForeignFiles files_{MetaImageFormat()};
};

// An image of 5 by 4 by 3 elements, 3 * i - 20, as ITK 5.2.1 writes it with compression.
constexpr char kItkHeader[] =
    "ObjectType = Image\n"
    "NDims = 3\n"
    "BinaryData = True\n"
    "BinaryDataByteOrderMSB = False\n"
    "CompressedData = True\n"
    "CompressedDataSize = 113\n"
    "TransformMatrix = 1 0 0 0 1 0 0 0 1\n"
    "Offset = 1.5 -2 7\n"
    "CenterOfRotation = 0 0 0\n"
    "AnatomicalOrientation = RAI\n"
    "ElementSpacing = 0.5 2 4\n"
    "DimSize = 5 4 3\n"
    "ElementType = MET_SHORT\n"
    "ElementDataFile = LOCAL\n";
constexpr char kItkData[] =
    "\x78\x5e\x05\xc1\x81\x86\x02\x50\x00\x00\xb0\x45\x44\x44\x44\x1c\x11\x11\x11\x11"
    "\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x71\x44\x44\x44\x44\x44\x7f\x18"
    "\x11\x11\xd1\x6b\xbb\x87\x47\x78\x86\x57\x78\x87\x4f\xf8\x86\x88\xa8\x98\xb8\x84"
    "\xa4\x94\xb4\x3f\x19\x59\x39\x79\x05\x45\x25\x65\x15\x55\x35\x75\x0d\x4d\x2d\x6d"
    "\x1d\x5d\x3d\x7d\x03\x43\x23\x63\x13\x53\x33\x73\x0b\x4b\x2b\x6b\x1b\xff\xb6\x76"
    "\xf6\x0e\x8e\x4e\xce\x2e\xae\x6e\x7e\x60\x6d\x1e\x08";

TEST_F(MetaImageTest, ReadsWhatItkWrites) {
  files_.Put("a.mha", kItkHeader + std::string(kItkData, sizeof(kItkData) - 1));
  std::vector<int16_t> numbers;
  for (int i = 0; i < 60; ++i) numbers.push_back(static_cast<int16_t>(3 * i - 20));
  EXPECT_TRUE(files_.IsStore("a.mha"));
  EXPECT_THAT(files_.ShapeOf("a.mha", "a"), ElementsAre(3, 4, 5));
  EXPECT_EQ(files_.Elements("a.mha", "a"), Numbers(numbers));
  EXPECT_THAT(files_.Coordinates("a.mha", "x"), ElementsAre(1.5, 2, 2.5, 3, 3.5));
  EXPECT_THAT(files_.Coordinates("a.mha", "y"), ElementsAre(-2, 0, 2, 4));
  EXPECT_THAT(files_.Coordinates("a.mha", "z"), ElementsAre(7, 11, 15));
}

TEST_F(MetaImageTest, DataMayBeInAnotherFileOrMany) {
  files_.Put("a.raw", "head" + Numbers(kForeignNumbers, /*is_big=*/true));
  files_.Put("a.mhd", Replace(header_, "MSB = False", "MSB = True") +
                          "HeaderSize = 4\nElementDataFile = a.raw\n");
  EXPECT_EQ(files_.Elements("a.mhd", "a"), Numbers(kForeignNumbers));
  files_.Put("a.mhd", Replace(header_, "MSB = False", "MSB = True") +
                          "HeaderSize = -1\nElementDataFile = a.raw\n");
  EXPECT_EQ(files_.Elements("a.mhd", "a"), Numbers(kForeignNumbers));
  files_.Put("s1.raw", Numbers<int16_t>({1, 2, 3}));
  files_.Put("s2.raw", Numbers<int16_t>({4, 5, 6}));
  for (const std::string names : {"LIST\ns1.raw\ns2.raw\n", "s%d.raw 1 2 1\n"}) {
    files_.Put("a.mhd", header_ + "ElementDataFile = " + names);
    EXPECT_EQ(files_.Elements("a.mhd", "a"), Numbers<int16_t>({1, 2, 3, 4, 5, 6})) << names;
  }
}

TEST_F(MetaImageTest, ChannelsAreTheLastDimension) {
  files_.Put("a.mha", Replace(header_, "DimSize = 3 2", "DimSize = 1 2") +
                          "ElementNumberOfChannels = 3\nElementDataFile = LOCAL\n" +
                          Numbers(kForeignNumbers));
  EXPECT_THAT(files_.ShapeOf("a.mha", "a"), ElementsAre(2, 1, 3));
}

TEST_F(MetaImageTest, RotatedImagesHaveNoCoordinates) {
  files_.Put("a.mha", header_ + "ElementSpacing = 1 1\nTransformMatrix = 0 1 1 0\n" +
                          "ElementDataFile = LOCAL\n" + Numbers(kForeignNumbers));
  EXPECT_THAT(files_.Open("a.mha").value()->List("/").value(), ElementsAre("a"));
}

TEST_F(MetaImageTest, LongHasFourBytes) {
  files_.Put("a.mha", Replace(header_, "MET_SHORT", "MET_LONG") + "ElementDataFile = LOCAL\n" +
                          std::string(24, '\1'));
  EXPECT_EQ(files_.Load("a.mha", "a")->array().type, model::Datatype::Integer(4, true));
}

TEST_F(MetaImageTest, FieldsThatDescribeMayBeRepeatedAndUnknown) {
  files_.Put("a.mha", header_ +
                          "NDims = 2\nKinds = domain domain\nKinds = domain\n"
                          "MyOwn = 7\nStride = 0\nElementDataFile = LOCAL\n" +
                          Numbers(kForeignNumbers));
  EXPECT_EQ(files_.Elements("a.mha", "a"), Numbers(kForeignNumbers));
}

TEST_F(MetaImageTest, NumbersMayBeText) {
  files_.Put("a.mha", Replace(header_, "BinaryData = True", "BinaryData = False") +
                          "ElementDataFile = LOCAL\n-1 2 -3\n4 -5 600\n");
  EXPECT_EQ(files_.Elements("a.mha", "a"), Numbers(kForeignNumbers));
}

TEST_F(MetaImageTest, IntensityIsALinearFunction) {
  files_.Put("a.mha", header_ +
                          "ElementToIntensityFunctionSlope = 0.5\n"
                          "ElementToIntensityFunctionOffset = -3\nElementDataFile = LOCAL\n" +
                          Numbers(kForeignNumbers));
  EXPECT_EQ(files_.AttributeOf("a.mha", "a", "scale_factor"), model::Value(0.5));
  EXPECT_EQ(files_.AttributeOf("a.mha", "a", "add_offset"), model::Value(-3.0));
}

TEST_F(MetaImageTest, OtherFilesOfThatNameStayPlain) {
  files_.Put("a.mhd", "density and velocity of a magnetohydrodynamic flow\n");
  EXPECT_FALSE(files_.IsStore("a.mhd"));
  files_.Put("b.mha", "title = words\nno line with a value\nNDims = 3\n");
  EXPECT_FALSE(files_.IsStore("b.mha"));
}

TEST_F(MetaImageTest, RefusesWhatItCannotRead) {
  const std::string local = "ElementDataFile = LOCAL\n";
  ExpectErrors(
      files_, "a.mhd",
      {{Replace(header_, "NDims = 2", "NDims = 11") + local, "NDims: expected 1 to 10"},
       {Replace(header_, "3 2", "3 2 1") + local, "DimSize: \"3 2 1\" for 2 dimensions"},
       {Replace(header_, "3 2", "3 -2") + local, "DimSize:"},
       {Replace(header_, "3 2", "4294967296 4294967296") + local, "more data than any file"},
       {Replace(header_, "MET_SHORT", "MET_STRING") + local, "ElementType: \"MET_STRING\""},
       {Replace(header_, "Image", "Scene") + local, "ObjectType: \"Scene\""},
       {header_, "there is no ElementDataFile"},
       {header_ + local, "bytes, the header needs"},
       {header_ + "NDims = 3\n" + local, "two fields \"NDims\": \"2\" and \"3\""},
       {header_ + "ElementSkip = 4\n" + local, "the field \"ElementSkip\" is not known"},
       {header_ + "RowStride = 4\n" + local, "the field \"RowStride\" is not known"},
       {header_ + "ElementToIntensityFunctionSlope = x\n" + local,
        "ElementToIntensityFunctionSlope:"},
       {header_ + "ElementNumberOfChannels = 0\n" + local, "ElementNumberOfChannels:"},
       {header_ + "ElementNumberOfChannels = 4294967296\n" + local, "ElementNumberOfChannels:"},
       {Replace(header_, "BinaryData = True", "BinaryData = False") + local, "of text for 6"},
       {header_ + "HeaderSize = -2\n" + local, "HeaderSize:"},
       {header_ + "HeaderSize = 9000000000000000000\n" + local, "the header needs"},
       {header_ + "CompressedData = True\nCompressedDataSize = 1e300\n" + local,
        "CompressedDataSize:"},
       {header_ + "CompressedData = True\nCompressedDataSize = 10\n" + local, "expected 10"},
       {header_ + "ElementDataFile = ../up.raw\n", "outside of the source"},
       {header_ + "ElementDataFile = none.raw\n", "there is no data file \"none.raw\""},
       {header_ + "ElementDataFile = LIST 1\nx\n", "files of \"1\" each"},
       {header_ + "ElementDataFile = a%d.raw 1 3 1\n", "3 files for 2 places"}});
}

TEST_F(MetaImageTest, CutsAreHarmless) {
  files_.Put("a.raw", Numbers(kForeignNumbers));
  ExpectCutsAreHarmless(files_, "a.mhd", header_ + "ElementDataFile = a.raw\n",
                        Numbers(kForeignNumbers));
}

class EnviTest : public ::testing::Test {
 protected:
  const std::string header_ =
      "ENVI\nbyte order = 1\nsamples = 3\nlines = 2\nbands = 1\ndata type = 2\n";
  ForeignFiles files_{EnviFormat()};
};

TEST_F(EnviTest, FindsTheDataUnderItsNames) {
  for (const std::string data : {"a", "a.dat", "a.img", "a.raw", "a.bsq"}) {
    ForeignFiles files(EnviFormat());
    files.Put("a.hdr", header_);
    EXPECT_THAT(files.ArrayErrorOf("a.hdr", "a"), HasSubstr("there is no data file \"a\""));
    files.Put(data, Numbers(kForeignNumbers, /*is_big=*/true));
    EXPECT_EQ(files.Elements("a.hdr", "a"), Numbers(kForeignNumbers)) << data;
  }
  files_.Put("a.raw.hdr", header_);
  files_.Put("a.raw", Numbers(kForeignNumbers, /*is_big=*/true));
  EXPECT_EQ(files_.Elements("a.raw.hdr", "a.raw"), Numbers(kForeignNumbers));
}

TEST_F(EnviTest, DimensionsAreInTheOrderOfTheFile) {
  files_.Put("a", std::string(48, '\1'));
  const std::string header = Replace(header_, "bands = 1", "bands = 4");
  const std::vector<std::pair<std::string, std::vector<uint64_t>>> cases = {
      {"bsq", {4, 2, 3}}, {"BIL", {2, 4, 3}}, {"bip", {2, 3, 4}}};
  for (const auto& [interleave, shape] : cases) {
    files_.Put("a.hdr", header + "interleave = " + interleave + "\n");
    EXPECT_EQ(files_.ShapeOf("a.hdr", "a"), shape) << interleave;
  }
}

// The numbers 0 to 23, with bytes of frames before and behind each.
std::string InFrames(size_t major, size_t minor, size_t items, const std::string& major_before,
                     const std::string& major_behind, const std::string& minor_before,
                     const std::string& minor_behind) {
  std::string file;
  int16_t number = 0;
  for (size_t i = 0; i < major; ++i) {
    file += major_before;
    for (size_t j = 0; j < minor; ++j) {
      file += minor_before;
      for (size_t k = 0; k < items; ++k) file += Numbers<int16_t>({number++}, true);
      file += minor_behind;
    }
    file += major_behind;
  }
  return file;
}

TEST_F(EnviTest, BytesOfFramesAreSkipped) {
  std::vector<int16_t> all;
  for (int16_t i = 0; i < 24; ++i) all.push_back(i);
  const std::string header = Replace(header_, "bands = 1", "bands = 4") + "header offset = 1\n";
  struct Case {
    std::string interleave;
    size_t major, minor, items;
  };
  for (const Case& c : {Case{"bsq", 4, 2, 3}, Case{"bil", 2, 4, 3}, Case{"bip", 2, 3, 4}}) {
    const std::string interleave = "interleave = " + c.interleave + "\n";
    files_.Put("a", "?" + InFrames(c.major, c.minor, c.items, "PPPPPPPP", "SSSS", "", ""));
    files_.Put("a.hdr", header + interleave + "major frame offsets = {8, 4}\n");
    EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(all)) << c.interleave;
    files_.Put("a", "?" + InFrames(c.major, c.minor, c.items, "PP", "", "mmm", "n"));
    files_.Put("a.hdr", header + interleave +
                            "major frame offsets = {2,0}\nminor frame offsets = { 3 , 1 }\n");
    EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(all)) << c.interleave;
  }
}

TEST_F(EnviTest, FramesOfASingleBandAreThoseOfTheFile) {
  const std::vector<int16_t> six = {0, 1, 2, 3, 4, 5};
  const std::string frames = "major frame offsets = {2, 1}\nminor frame offsets = {1, 0}\n";
  files_.Put("a", InFrames(1, 2, 3, "PP", "S", "m", ""));
  files_.Put("a.hdr", header_ + "interleave = bsq\n" + frames);
  EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(six));
  files_.Put("a", InFrames(2, 1, 3, "PP", "S", "m", ""));
  files_.Put("a.hdr", header_ + "interleave = bil\n" + frames);
  EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(six));
  files_.Put("a", InFrames(2, 3, 1, "PP", "S", "m", ""));
  files_.Put("a.hdr", header_ + "interleave = bip\n" + frames);
  EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(six));
}

TEST_F(EnviTest, OwnFieldsOfProgramsAreNoObstacle) {
  files_.Put("a", Numbers(kForeignNumbers, true));
  files_.Put("a.hdr", header_ +
                          "frame rate = 30\ndata offset values = {1}\nshift = 3\n"
                          "minor frame offsets = 0\n");
  EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(kForeignNumbers));
}

TEST_F(EnviTest, MapAndWavelengthsAreCoordinates) {
  files_.Put("a", std::string(24, '\1'));
  files_.Put("a.hdr", Replace(header_, "bands = 1", "bands = 2") +
                          "map info = {UTM, 1, 1, 500, 900, 10, 20, 33, North, units=Meters}\n"
                          "wavelength units = nm\nwavelength = {\n 400.5,\n 500 }\n");
  EXPECT_THAT(files_.Coordinates("a.hdr", "x"), ElementsAre(505, 515, 525));
  EXPECT_THAT(files_.Coordinates("a.hdr", "y"), ElementsAre(890, 870));
  EXPECT_THAT(files_.Coordinates("a.hdr", "wavelength"), ElementsAre(400.5, 500));
  EXPECT_EQ(files_.AttributeOf("a.hdr", "wavelength", "units"), model::Value("nm"));
}

TEST_F(EnviTest, ZonesOfUtmAndSystemsInWktAreKept) {
  files_.Put("a", std::string(12, '\1'));
  const std::string map =
      "map info = {UTM, 1, 1, 500, 900, 10, 20, 33, South, WGS-84, units=Meters}\n";
  files_.Put("a.hdr", header_ + map);
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "proj:code"), model::Value("EPSG:32733"));
  files_.Put("a.hdr", header_ + Replace(map, "South", "North"));
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "proj:code"), model::Value("EPSG:32633"));
  files_.Put("a.hdr", header_ + Replace(map, "WGS-84", "North America 1927"));
  EXPECT_TRUE(files_.AttributeOf("a.hdr", "a", "proj:code").is_null()) << "another datum";
  files_.Put("a.hdr", header_ + map + "coordinate system string = {PROJCS[\"of its own\"]}\n");
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "crs_wkt"),
            model::Value("PROJCS[\"of its own\"]"));
}

TEST_F(EnviTest, GainAndOffsetAreAFactorAndASummand) {
  files_.Put("a", std::string(24, '\1'));
  files_.Put("a.hdr", header_ + "data gain values = {0.5}\ndata offset values = {-1}\n");
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "scale_factor"), model::Value(0.5));
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "add_offset"), model::Value(-1.0));
  const std::string two = Replace(header_, "bands = 1", "bands = 2");
  files_.Put("a.hdr", two + "data gain values = {0.5, 0.5}\n");
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "scale_factor"), model::Value(0.5));
  files_.Put("a.hdr", two + "data gain values = {0.5, 2}\n");
  EXPECT_TRUE(files_.AttributeOf("a.hdr", "a", "scale_factor").is_null()) << "which one?";
  files_.Put("a.hdr", two + "data gain values = {0.5, 2}\ndata offset values = {5, 5}\n");
  EXPECT_TRUE(files_.AttributeOf("a.hdr", "a", "add_offset").is_null()) << "without its gain";
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "band_scale"),
            model::Value(model::Value::List{0.5, 2.0}));
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "band_offset"),
            model::Value(model::Value::List{5.0, 5.0}));
  files_.Put("a.hdr", two + "data gain values = {0.5, 2, 3}\n");
  EXPECT_TRUE(files_.AttributeOf("a.hdr", "a", "band_scale").is_null()) << "of two bands";
}

TEST_F(EnviTest, IgnoredValueIsTheFillValue) {
  files_.Put("a", Numbers(kForeignNumbers, true));
  files_.Put("a.hdr", header_ + "data ignore value = -9999\n");
  EXPECT_EQ(files_.AttributeOf("a.hdr", "a", "_FillValue"), model::Value(-9999));
  files_.Put("a.hdr", header_ + "data ignore value = 99999\n");
  EXPECT_TRUE(files_.AttributeOf("a.hdr", "a", "_FillValue").is_null()) << "int16 has none";
}

TEST_F(EnviTest, OtherHeadersStayPlain) {
  files_.Put("a.hdr", "BYTEORDER I\nLAYOUT BIL\nNROWS 2\n");  // ESRI
  EXPECT_FALSE(files_.IsStore("a.hdr"));
  files_.Put("b.hdr", "ENVIRONMENT = production, of some other program");
  EXPECT_FALSE(files_.IsStore("b.hdr"));
  files_.Put("notes.txt", header_);
  EXPECT_FALSE(files_.IsStore("notes.txt"));
}

TEST_F(EnviTest, RefusesWhatItCannotRead) {
  files_.Put("a", Numbers(kForeignNumbers));
  ExpectErrors(
      files_, "a.hdr",
      {{Replace(header_, "samples = 3", "samples = 0"), "samples: \"0\""},
       {Replace(header_, "samples = 3\n", ""), "samples: \"\""},
       {Replace(header_, "lines = 2", "lines = -2"), "lines: \"-2\""},
       {Replace(header_, "lines = 2", "lines = 9223372036854775807"), "more data than"},
       {Replace(header_, "bands = 1", "bands = 2"), "12 bytes, the header needs 24"},
       {Replace(header_, "data type = 2", "data type = 7"), "data type: \"7\""},
       {Replace(header_, "order = 1", "order = 2"), "byte order: expected 0 or 1"},
       {Replace(header_, "bands = 1", "bands = 2\ninterleave = tiled"),
        "interleave: \"tiled\""},
       {header_ + "header offset = -1\n", "header offset: \"-1\""},
       {header_ + "major frame offsets = {1, 2, 3}\n", "major frame offsets: expected two"},
       {header_ + "minor frame offsets = {-1, 0}\n", "minor frame offsets: expected two"},
       {header_ + "major frame offsets = {9223372036854775807, 9223372036854775807}\n",
        "more data than any file"},
       {header_ + "major frame offsets = {1, 1}\nfile compression = 1\n", "frame offsets in"},
       {header_ + "line skip = 7\n", "the field \"line skip\" is not known"},
       {header_ + "read procedures = {a, b}\n", "the field \"read procedures\" is not known"},
       {header_ + "lines = 3\n", "two fields \"lines\""},
       {header_ + "file type = ENVI Meta File\n", "file type: \"ENVI Meta File\""},
       {header_ + "header offset = 18446744073709551615\n", "more data than any file"},
       {"ENVI\n" + std::string(2 << 20, 'x'), "header of more than"}});
}

TEST_F(EnviTest, CutsAreHarmless) {
  files_.Put("a", Numbers(kForeignNumbers, /*is_big=*/true));
  ExpectCutsAreHarmless(files_, "a.hdr", header_ + "map info = {UTM, 1, 1, 5, 9, 1, 2, 33}\n",
                        Numbers(kForeignNumbers));
}

class BovTest : public ::testing::Test {
 protected:
  const std::string header_ =
      "TIME: 1.5\nDATA_ENDIAN: BIG\nDATA_FILE: a.raw\n# comment\nDATA_SIZE: 3 2 1\n"
      "DATA_FORMAT: SHORT\nVARIABLE: a\n";
  ForeignFiles files_{BovFormat()};
};

TEST_F(BovTest, CellsHaveTheirPlaceInTheMiddle) {
  files_.Put("a.raw", "??" + Numbers(kForeignNumbers, /*is_big=*/true));
  const std::string header =
      header_ + "BYTE_OFFSET: 2\nBRICK_ORIGIN: 10 20 30\nBRICK_SIZE: 6 4 1\n";
  files_.Put("a.bov", header + "CENTERING: zonal\n");
  EXPECT_THAT(files_.ShapeOf("a.bov", "a"), ElementsAre(1, 2, 3));
  EXPECT_EQ(files_.Elements("a.bov", "a"), Numbers(kForeignNumbers));
  EXPECT_THAT(files_.Coordinates("a.bov", "x"), ElementsAre(11, 13, 15));
  files_.Put("a.bov", header + "CENTERING: nodal\n");
  EXPECT_THAT(files_.Coordinates("a.bov", "x"), ElementsAre(10, 13, 16));
  EXPECT_THAT(files_.Coordinates("a.bov", "y"), ElementsAre(20, 24));
}

TEST_F(BovTest, BytesArePartsOfARange) {
  files_.Put("a.raw", std::string("\0\x33\xff\0\0\0", 6));
  files_.Put("a.bov", Replace(header_, "SHORT", "BYTE") +
                          "VARIABLE_MIN: 10\nVARIABLE_MAX: 520\n"
                          "BRICK X_AXIS: 1 0 0\nDATA_BRICKLETS: 3 1 1\nDIVIDE_BRICK: true\n");
  EXPECT_EQ(files_.AttributeOf("a.bov", "a", "scale_factor"), model::Value(2.0));
  EXPECT_EQ(files_.AttributeOf("a.bov", "a", "add_offset"), model::Value(10.0));
}

TEST_F(BovTest, OtherFilesOfThatNameStayPlain) {
  files_.Put("a.bov", "Bos taurus: a list of the animals of a farm\n");
  EXPECT_FALSE(files_.IsStore("a.bov"));
}

TEST_F(BovTest, RefusesWhatItCannotRead) {
  files_.Put("a.raw", Numbers(kForeignNumbers));
  ExpectErrors(
      files_, "a.bov",
      {{Replace(header_, "3 2 1", "3 2 1 1"), "DATA_SIZE:"},
       {Replace(header_, "3 2 1", "x"), "DATA_SIZE:"},
       {Replace(header_, "3 2 1", "3 3 1"), "12 bytes, the header needs 18"},
       {Replace(header_, "3 2 1", "4294967296 4294967296 2"), "more data than any file"},
       {Replace(header_, "SHORT", "QUAD"), "DATA_FORMAT: \"QUAD\""},
       {Replace(header_, "a.raw", "b%02d.raw"), "bricks in several files"},
       {Replace(header_, "a.raw", "../../b"), "outside of the source"},
       {Replace(header_, "a.raw", "none"), "there is no data file"},
       {header_ + "BYTE_OFFSET: x\n", "BYTE_OFFSET:"},
       {header_ + "ROW_PADDING: 4\n", "the field \"ROW_PADDING\" is not known"},
       {header_ + "HAS_BOUNDARY: true\n", "bricks that overlap"},
       {header_ + "DATA_BRICKLETS: 3 1 1\n", "bricks in several files or pieces"},
       {header_ + "DATA_COMPONENTS: 100000\n", "DATA_COMPONENTS:"}});
}

TEST_F(BovTest, CutsAreHarmless) {
  files_.Put("a.raw", Numbers(kForeignNumbers, /*is_big=*/true));
  ExpectCutsAreHarmless(files_, "a.bov", header_, Numbers(kForeignNumbers));
}

class MitgcmTest : public ::testing::Test {
 protected:
  // As the manual shows it (mdsio, section 9.2).
  const std::string header_ =
      " nDims = [   2 ];\n dimList = [\n     3,    1,    3,\n     2,    1,    2\n ];\n"
      " dataprec = [ 'float32' ];\n nrecords = [     1 ];\n timeStepNumber = [          4 ];\n";
  const std::vector<float> numbers_ = {1, 2, 3, 4, 5, 6};
  ForeignFiles files_{MitgcmFormat()};
};

TEST_F(MitgcmTest, RecordIsOneArray) {
  files_.Put("Eta.0000000004.meta", header_);
  files_.Put("Eta.0000000004.data", Numbers(numbers_, /*is_big=*/true));
  EXPECT_THAT(files_.ShapeOf("Eta.0000000004.meta", "Eta"), ElementsAre(2, 3));
  EXPECT_EQ(files_.Elements("Eta.0000000004.meta", "Eta"), Numbers(numbers_));
  EXPECT_EQ(files_.AttributeOf("Eta.0000000004.meta", "", "timeStepNumber"), model::Value("4"));
}

TEST_F(MitgcmTest, FieldsOfDiagnosticsAreArrays) {
  files_.Put("d.meta", Replace(header_, "nrecords = [     1 ]", "nrecords = [ 4 ]") +
                           " missingValue = [ -9.99E+02 ];\n nFlds = [ 2 ];\n"
                           " fldList = {\n 'THETA   ' 'UVEL    '\n };\n");
  std::vector<float> all;
  for (int i = 0; i < 24; ++i) all.push_back(static_cast<float>(i));
  files_.Put("d.data", Numbers(all, /*is_big=*/true));
  EXPECT_THAT(files_.ShapeOf("d.meta", "THETA"), ElementsAre(2, 2, 3));
  EXPECT_EQ(files_.Elements("d.meta", "UVEL"),
            Numbers(std::vector<float>(all.begin() + 12, all.end())));
  EXPECT_EQ(files_.AttributeOf("d.meta", "UVEL", "_FillValue"), model::Value(-999.0));
}

TEST_F(MitgcmTest, TileHasItsPlaceInTheGrid) {
  files_.Put("T.0000000004.002.001.meta", Replace(header_, "3,    1,    3", "6,    4,    6"));
  files_.Put("T.0000000004.002.001.data", Numbers(numbers_, /*is_big=*/true));
  EXPECT_THAT(files_.Coordinates("T.0000000004.002.001.meta", "x"), ElementsAre(4, 5, 6));
  EXPECT_THAT(files_.ShapeOf("T.0000000004.002.001.meta", "T"), ElementsAre(2, 3));
}

TEST_F(MitgcmTest, OtherFilesOfThatNameStayPlain) {
  files_.Put("a.meta", "fileFormatVersion: 2\nguid: 0123456789abcdef\n");  // Unity
  EXPECT_FALSE(files_.IsStore("a.meta"));
  files_.Put("b.meta", "{\"nDims\": 2, \"of\": \"some other program\"}");
  EXPECT_FALSE(files_.IsStore("b.meta"));
}

TEST_F(MitgcmTest, RefusesWhatItCannotRead) {
  files_.Put("a.data", Numbers(numbers_));
  ExpectErrors(
      files_, "a.meta",
      {{Replace(header_, "nDims = [   2 ]", "nDims = [ 3 ]"), "for 3 dimensions"},
       {Replace(header_, "nDims = [   2 ]", "nDims = [ 1000000 ]"), "nDims:"},
       {Replace(header_, "3,    1,    3", "3,    2,    4"), "dimList: 2 to 4 of 3"},
       {Replace(header_, "3,    1,    3", "3,    0,    2"), "dimList: 0 to 2 of 3"},
       {Replace(header_, "float32", "float16"), "dataprec: \"float16\""},
       {Replace(header_, "[     1 ]", "[ 0 ]"), "nrecords:"},
       {Replace(header_, "[     1 ]", "[ 2 ]"), "24 bytes, the header needs 48"},
       {Replace(header_, "[     1 ]", "[ 9223372036854775807 ]"), "too many elements"}});
  ForeignFiles empty(MitgcmFormat());
  ExpectErrors(empty, "a.meta", {{header_, "there is no data file \"a.data\""}});
}

TEST_F(MitgcmTest, CutsAreHarmless) {
  files_.Put("a.data", Numbers(numbers_, /*is_big=*/true));
  ExpectCutsAreHarmless(files_, "a.meta", header_, Numbers(numbers_));
}

}  // namespace
}  // namespace ndlfs::backends
