// SPDX-License-Identifier: MIT
//
// Headers for data.raw, as texts. What programs make of them is tested by a mount.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs::fake {
namespace {

using model::Datatype;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RawHeadersTest : public GridTest {
 protected:
  // On a map whose first row is the most northern.
  void AddMapOf(const Datatype& type) {
    AddLongitude();
    AddLatitude();
    AddArray(type, {2, 3, 4}, {"level", "lat", "lon"}).attributes = {
        TextAttribute("units", "K"), NumberAttribute("_FillValue", -9)};
  }
};

TEST_F(RawHeadersTest, Envi) {
  AddMapOf(Datatype::Float32());
  EXPECT_EQ(ReadText("data.hdr"),
            "ENVI\ndescription = {t}\nsamples = 4\nlines = 3\nbands = 2\nheader offset = 0\n"
            "file type = ENVI Standard\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
            "data ignore value = -9\n"
            "map info = {Geographic Lat/Lon, 1, 1, 9.75, 61, 0.5, 2, WGS-84, units=Degrees}\n");
  EXPECT_EQ(ReadText("data.raw.hdr"), ReadText("data.hdr"));
  AddLatitude({56, 58, 60});
  EXPECT_THAT(ReadText("data.hdr"), Not(HasSubstr("map info"))) << "north is down";
}

TEST_F(RawHeadersTest, EnviHasZonesOfUtm) {
  AddCoordinate("x", {600'005, 600'015, 600'025, 600'035});
  AddCoordinate("y", {5'099'995, 5'099'985, 5'099'975});
  const auto add = [&](const std::string& crs) {
    AddArray(Datatype::Integer(2, true), {3, 4}, {"y", "x"}).attributes = {
        TextAttribute("crs", crs)};
  };
  add("EPSG:32632");
  EXPECT_THAT(ReadText("data.hdr"),
              HasSubstr("map info = {UTM, 1, 1, 600000, 5100000, 10, 10, 32, North, WGS-84, "
                        "units=Meters}\n"));
  add("EPSG:3035");
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("{Arbitrary, 1, 1, 600000, 5100000, 10, 10, "));
}

TEST_F(RawHeadersTest, BandsHaveTheirOwnFactors) {
  const auto list = [](std::string name, double first, double second) {
    model::Attribute attribute = NumberAttribute(std::move(name), 0);
    attribute.shape = {2};
    attribute.value = model::Value::List{first, second};
    return attribute;
  };
  for (const bool is_pixel : {false, true}) {
    auto& array = is_pixel
                      ? AddArray(Datatype::Integer(2, true), {3, 4, 2}, {"y", "x", "band"})
                      : AddArray(Datatype::Integer(2, true), {2, 3, 4}, {"band", "y", "x"});
    array.attributes = {list("band_scale", 0.5, 2), list("band_offset", 0, -1)};
    EXPECT_THAT(ReadText("data.raw.hdr"),
                HasSubstr("data gain values = {0.5, 2}\ndata offset values = {0, -1}\n"));
    EXPECT_THAT(ReadText("data.vrt"),
                AllOf(HasSubstr("    <Scale>                     0.5</Scale>\n"),
                      HasSubstr("    <Offset>                      -1</Offset>\n"
                                "    <Scale>                       2</Scale>\n")));
    EXPECT_THAT(
        *Read("data.tif"),
        AllOf(HasSubstr("<Item name=\"scale\" sample=\"0\" role=\"scale\">0.5</Item>\n"),
              HasSubstr("<Item name=\"offset\" sample=\"1\" role=\"offset\">-1</Item>\n"
                        "<Item name=\"scale\" sample=\"1\" role=\"scale\">2</Item>\n")));
  }
}

TEST_F(RawHeadersTest, NamesOfBandsAreTheirCoordinates) {
  AddMapOf(Datatype::Float32());
  AddCoordinate("level", {0, 6}, {TextAttribute("units", "hours since 2000-01-01")});
  EXPECT_THAT(ReadText("data.vrt"), AllOf(HasSubstr("<Description>2000-01-01</Description>"),
                                          HasSubstr("<Description>2000-01-01T06:00:00</Desc")));
  AddCoordinate("level", {1000, 850}, {TextAttribute("units", "hPa")});
  EXPECT_THAT(ReadText("data.vrt"), HasSubstr("<Description>level=850 hPa</Description>"));
}

TEST_F(RawHeadersTest, ListingsShowThemForPictures) {
  const auto listed = [&] {
    std::vector<std::string> names;
    for (const ViewName& file : ArrayViews().Names(Input())) {
      if (file.is_listed && file.name != "preview.png") names.push_back(file.name);
    }
    return names;
  };
  AddArray(Datatype::Float32(), {3, 4});
  EXPECT_THAT(listed(), ::testing::ElementsAre("data.npy", "data.raw", "data.txt",
                                               "data.raw.hdr", "data.nhdr", "data.mhd",
                                               "data.vrt", "data.xmf", "data.bov"));
  EXPECT_TRUE(Has("data.ctl"));
  AddArray(Datatype::Float32(), {4});
  EXPECT_THAT(listed(), ::testing::ElementsAre("data.npy", "data.raw", "data.txt"));
  EXPECT_TRUE(Has("data.hdr"));
}

TEST_F(RawHeadersTest, EnviHasTypesAndSizesOfItsOwn) {
  const auto type_of = [&](const Datatype& type) {
    AddArray(type, {3, 4});
    if (!Has("data.hdr")) return std::string("none");
    const std::string text = ReadText("data.hdr");
    const size_t begin = text.find("data type = ") + 12;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  EXPECT_EQ(type_of(Datatype::Integer(1, false)), "1");
  EXPECT_EQ(type_of(Datatype::Integer(2, true)), "2");
  EXPECT_EQ(type_of(Datatype::Integer(4, true)), "3");
  EXPECT_EQ(type_of(Datatype::Float32()), "4");
  EXPECT_EQ(type_of(Datatype::Float64()), "5");
  EXPECT_EQ(type_of(Datatype::Complex(8)), "6");
  EXPECT_EQ(type_of(Datatype::Complex(16)), "9");
  EXPECT_EQ(type_of(Datatype::Integer(2, false)), "12");
  EXPECT_EQ(type_of(Datatype::Integer(4, false)), "13");
  EXPECT_EQ(type_of(Datatype::Integer(8, true)), "14");
  EXPECT_EQ(type_of(Datatype::Integer(8, false)), "15");
  EXPECT_EQ(type_of(Datatype::Bool()), "1");
  EXPECT_EQ(type_of(Datatype::Integer(1, true)), "none");
  EXPECT_EQ(type_of(Datatype::Float("float16", 2)), "none");
  EXPECT_EQ(type_of(Datatype::Float("bfloat16", 2)), "none");
  EXPECT_EQ(type_of(Datatype::Opaque(4)), "none");
}

TEST_F(RawHeadersTest, PixelsInColourAreOnePicture) {
  AddArray(Datatype::Integer(1, false), {5, 6, 3});
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("samples = 6\nlines = 5\nbands = 3\n"));
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("interleave = bip\n"));
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("DimSize = 6 5\nElementNumberOfChannels = 3\n"));
  EXPECT_THAT(ReadText("data.nhdr"), AllOf(HasSubstr("sizes: 3 6 5\n"),
                                           HasSubstr("kinds: RGB-color domain domain\n")));
  EXPECT_THAT(ReadText("data.vrt"), HasSubstr("<ColorInterp>Green</ColorInterp>"));
  AddArray(Datatype::Integer(1, false), {2, 5, 6, 4});
  EXPECT_FALSE(Has("data.hdr")) << "several pictures in colour";
  AddArray(Datatype::Integer(1, false), {5, 6, 3}, {"time", "lat", "lon"});
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("samples = 3\nlines = 6\nbands = 5\n"));
}

TEST_F(RawHeadersTest, BandsInPixelsAreOnePicture) {
  AddArray(Datatype::Integer(2, false), {5, 6, 7}, {"y", "x", "band"});
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("samples = 6\nlines = 5\nbands = 7\n"));
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("interleave = bip\n"));
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("DimSize = 6 5\nElementNumberOfChannels = 7\n"));
  EXPECT_THAT(ReadText("data.nhdr"), AllOf(HasSubstr("dimension: 3\nsizes: 7 6 5\n"),
                                           HasSubstr("kinds: vector domain domain\n"),
                                           HasSubstr("labels: \"band\" \"x\" \"y\"\n")));
  const std::string vrt = ReadText("data.vrt");
  EXPECT_THAT(vrt, HasSubstr("band=\"7\""));
  EXPECT_THAT(vrt, HasSubstr("<ImageOffset>                 12</ImageOffset>\n"
                             "    <PixelOffset>14</PixelOffset>\n"
                             "    <LineOffset>84</LineOffset>\n"));
  EXPECT_THAT(vrt, Not(HasSubstr("ColorInterp")));
  EXPECT_FALSE(Has("data.ctl")) << "GrADS has no bands in pixels";
  EXPECT_FALSE(Has("data.mrc"));
  EXPECT_TRUE(Has("data.nii")) << "bands are its first dimension";
}

TEST_F(RawHeadersTest, BandsBehindColoursHaveNone) {
  AddArray(Datatype::Integer(2, false), {5, 6, 6}, {"y", "x", "band"}).attributes = {
      TextAttribute("PhotometricInterpretation", "RGB"), NumberAttribute("ExtraSamples", 0)};
  const std::string vrt = ReadText("data.vrt");
  EXPECT_THAT(vrt, HasSubstr("<ColorInterp>Blue</ColorInterp>"));
  EXPECT_THAT(vrt, Not(HasSubstr("<ColorInterp>Alpha</ColorInterp>")));
  EXPECT_EQ(vrt.find("<ColorInterp>Red"), vrt.rfind("<ColorInterp>Red"));
  EXPECT_THAT(ReadText("data.nhdr"), HasSubstr("kinds: vector domain domain\n"));
}

TEST_F(RawHeadersTest, Vrt) {
  AddMapOf(Datatype::Integer(2, true));
  const std::string text = ReadText("data.vrt");
  EXPECT_THAT(text, HasSubstr("<VRTDataset rasterXSize=\"4\" rasterYSize=\"3\">\n"
                              "  <SRS>EPSG:4326</SRS>\n"
                              "  <GeoTransform>9.75, 0.5, 0, 61, 0, -2</GeoTransform>\n"));
  EXPECT_THAT(text,
              HasSubstr("<VRTRasterBand dataType=\"Int16\" band=\"2\" "
                        "subClass=\"VRTRawRasterBand\"    >\n"
                        "    <NoDataValue>-9</NoDataValue>\n"
                        "    <UnitType>K</UnitType>\n"
                        "    <SourceFilename relativeToVRT=\"1\">data.raw</SourceFilename>\n"
                        "    <ImageOffset>                 24</ImageOffset>\n"
                        "    <PixelOffset>2</PixelOffset>\n"
                        "    <LineOffset>8</LineOffset>\n"
                        "    <ByteOrder>LSB</ByteOrder>\n  </VRTRasterBand>\n"
                        "</VRTDataset>\n"));
  AddLatitude({56, 58, 60});
  EXPECT_THAT(ReadText("data.vrt"), HasSubstr("0.5, 0, 55, 0, 2</GeoTransform>"));
  AddLatitude({56, 58, 61});
  EXPECT_THAT(ReadText("data.vrt"), Not(HasSubstr("GeoTransform")));
}

TEST_F(RawHeadersTest, SizeIsTheSameWhateverTheCoordinatesAre) {
  AddMapOf(Datatype::Float32());
  std::map<std::string, uint64_t> sizes;
  for (const ViewName& file : ArrayViews().Names(Input())) {
    if (file.is_directory) continue;
    if (file.name != "data.jsonl") sizes[file.name] = *(*Make(file.name))->size();
  }
  const std::vector<std::vector<double>> all = {{1, 2, 4},
                                                {-1.0000000000000002, 0, 1.0000000000000002},
                                                {std::nan(""), 1, 2},
                                                {3, 3, 3},
                                                {95, 90, 85},
                                                {-1.2345678901234567e-300, 0, 1e-300}};
  for (const std::vector<double>& latitudes : all) {
    AddLatitude(latitudes);
    for (const auto& [file, size] : sizes) {
      const auto view = Make(file);
      ASSERT_THAT(view, IsOk()) << file;
      EXPECT_EQ(*(*view)->size(), size) << file;
      const bool has_words = !file.ends_with(".ctl") || latitudes[0] != latitudes[1];
      EXPECT_EQ(Read(file).has_value(), has_words) << file;
    }
  }
}

TEST_F(RawHeadersTest, Nrrd) {
  AddMapOf(Datatype::Float64());
  EXPECT_EQ(ReadText("data.nhdr"),
            "NRRD0004\ncontent: t\ntype: double\ndimension: 3\nsample units: K\n"
            "space dimension: 2\n"
            "space directions: (0.5,0) (0,-2) none\nspace origin: (10,60)\n"
            "space units: \"degrees_east\" \"degrees_north\"\nsizes: 4 3 2\n"
            "spacings: nan nan nan\naxis mins: nan nan nan\ncenters: node node node\n"
            "labels: \"lon\" \"lat\" \"level\"\nunits: \"\" \"\" \"\"\n"
            "endian: little\nencoding: raw\ndata file: ./data.raw\n");
  AddLatitude({56, 58, 60});
  EXPECT_THAT(ReadText("data.nhdr"),
              HasSubstr("sizes: 4 3 2\nspacings: 0.5 2 nan\naxis mins: 10 56 nan\n"));
  AddArray(Datatype::Complex(16), {7});
  EXPECT_THAT(ReadText("data.nhdr"),
              AllOf(HasSubstr("type: double\ndimension: 2\nsizes: 2 7\nspacings: nan nan\n"),
                    HasSubstr("kinds: complex domain\n")));
  AddArray(Datatype::Integer(1, true), std::vector<uint64_t>(16, 1));
  EXPECT_TRUE(Has("data.nhdr"));
  AddArray(Datatype::Integer(1, true), std::vector<uint64_t>(17, 1));
  EXPECT_FALSE(Has("data.nhdr"));
}

TEST_F(RawHeadersTest, MetaImage) {
  AddLongitude();
  AddArray(Datatype::Integer(8, true), {3, 4}, {"row", "lon"});
  EXPECT_EQ(ReadText("data.mhd"),
            "ObjectType = Image\nNDims = 2\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
            "CompressedData = False\nTransformMatrix =  1  0  0  1\n"
            "Offset =                       10 0\n"
            "ElementSpacing =                      0.5 1\nDimSize = 4 3\n"
            "ElementType = MET_LONG_LONG\nElementDataFile = data.raw\n");
  AddLongitude({11.5, 11, 10.5, 10});
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("TransformMatrix = -1  0  0  1\n"
                                              "Offset =                     11.5 0\n"))
      << "coordinates that descend";
  AddArray(Datatype::Integer(1, true), {5, 2, 3, 4});
  EXPECT_THAT(ReadText("data.mhd"),
              AllOf(HasSubstr("NDims = 3\n"), HasSubstr("DimSize = 4 3 10\n")))
      << "VTK refuses four dimensions";
  AddArray(Datatype::Complex(8), {3, 4});
  EXPECT_FALSE(Has("data.mhd"));
  AddArray(Datatype::Integer(1, true), std::vector<uint64_t>(11, 1));
  EXPECT_FALSE(Has("data.mhd"));
}

TEST_F(RawHeadersTest, UnitsAreInTheWordsOfTheHeader) {
  AddCoordinate("x", {0, 0.5, 1, 1.5}, {TextAttribute("units", "km")});
  AddCoordinate("y", {0, 2, 4}, {TextAttribute("units", "m")});
  AddArray(Datatype::Integer(1, true), {3, 4}, {"y", "x"});
  EXPECT_THAT(ReadText("data.mhd"),
              HasSubstr("ElementSpacing =                   500000                     2000\n"
                        "DistanceUnits = mm\n"));
  AddCoordinate("x", {0, 0.5, 1, 1.5}, {TextAttribute("units", "\u00b5m")});
  AddArray(Datatype::Integer(1, true), {4}, {"x"});
  EXPECT_THAT(ReadText("data.nhdr"), HasSubstr("units: \"um\"\n"));
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("DistanceUnits = um\n"));
}

TEST_F(RawHeadersTest, Xdmf) {
  AddMapOf(Datatype::Integer(2, false));
  const std::string text = ReadText("data.xmf");
  EXPECT_THAT(text, HasSubstr("TopologyType=\"3DCoRectMesh\" Dimensions=\"2 3 4\"/>"));
  EXPECT_THAT(text, HasSubstr("Format=\"XML\"> 0 60 10 </DataItem>"));
  EXPECT_THAT(text, HasSubstr("Format=\"XML\"> 1 -2 0.5 </DataItem>"));
  EXPECT_THAT(text,
              HasSubstr("<DataItem Dimensions=\"2 3 4\" NumberType=\"UShort\" Precision=\"2\" "
                        "Format=\"Binary\" Endian=\"Little\" Seek=\"0\">data.raw</DataItem>"));
  AddArray(Datatype::Float32(), {4});
  EXPECT_FALSE(Has("data.xmf"));
  AddArray(Datatype::Integer(8, false), {3, 4});
  EXPECT_FALSE(Has("data.xmf"));
}

TEST_F(RawHeadersTest, XdmfNamesTheFilesOfUnevenCoordinates) {
  AddCoordinate("lat", {60, 50, 30}, {});
  AddCoordinate("lon", {0, 1}, {});
  AddArray(Datatype::Float32(), {3, 2}, {"lat", "lon"});
  const auto item = [](int count, std::string_view name) {
    return fmt::format(
        "    <DataItem Dimensions=\"{}\" NumberType=\"Float\" Precision=\"8\" "
        "Format=\"Binary\" "
        "Endian=\"Little\">../{}/data.raw</DataItem>\n",
        count, name);
  };
  EXPECT_THAT(ReadText("data.xmf"),
              HasSubstr("   <Topology TopologyType=\"2DRectMesh\" Dimensions=\"3 2\"/>\n"
                        "   <Geometry GeometryType=\"VXVY\">\n" +
                        item(2, "lon") + item(3, "lat") + "   </Geometry>\n"));
  AddCoordinate("lon", {0, 1}, {TextAttribute("scale_factor", "2")});
  EXPECT_THAT(ReadText("data.xmf"), HasSubstr("2DCoRectMesh")) << "not those of the file";
  AddCoordinate("lon", {0, std::numeric_limits<double>::quiet_NaN()}, {});
  EXPECT_THAT(ReadText("data.xmf"), HasSubstr("2DCoRectMesh")) << "one is missing";
}

TEST_F(RawHeadersTest, XdmfHasAGridForEachStepInTime) {
  AddLatitude();
  AddCoordinate("time", {0, 6}, {TextAttribute("units", "hours since 2000-01-01")});
  AddArray(Datatype::Float32(), {2, 2, 3, 4}, {"time", "level", "lat", "lon"});
  const std::string text = ReadText("data.xmf");
  EXPECT_THAT(text, HasSubstr("CollectionType=\"Temporal\""));
  EXPECT_THAT(text,
              HasSubstr("<Time Value=\"6\"/>\n"
                        "   <Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"2 3 4\"/>"));
  EXPECT_THAT(text, HasSubstr("Seek=\"96\">data.raw</DataItem>"));
  const auto has = [&](uint64_t steps, uint64_t width) {
    AddArray(std::make_shared<MemoryArray>(
        Datatype::Integer(1, false), std::vector<uint64_t>{steps, 1, 1, width},
        std::vector<uint64_t>{1, 1, 1, width}, std::map<uint64_t, std::string>()));
    return Has("data.xmf");
  };
  EXPECT_TRUE(has(1000, 10));
  EXPECT_FALSE(has(1001, 10));
  EXPECT_TRUE(has(2, (uint64_t{1} << 30) - 1));
  EXPECT_FALSE(has(2, uint64_t{1} << 30)) << "readers have 31 bits for the place of a step";
}

TEST_F(RawHeadersTest, Bov) {
  AddLongitude();
  AddArray(Datatype::Integer(1, false), {3, 4}, {"row", "lon"});
  EXPECT_EQ(ReadText("data.bov"),
            "TIME: 0\nDATA_FILE: data.raw\nDATA_SIZE: 4 3 1\nDATA_FORMAT: BYTE\nVARIABLE: t\n"
            "DATA_ENDIAN: LITTLE\nCENTERING: zonal\nBRICK_ORIGIN: 9.75 0 0\n"
            "BRICK_SIZE: 2 3 1\n");
  for (const Datatype& type : {Datatype::Integer(1, true), Datatype::Integer(2, false),
                               Datatype::Integer(8, true), Datatype::Complex(8)}) {
    AddArray(type, {3, 4});
    EXPECT_FALSE(Has("data.bov")) << type.keyword();
  }
  AddArray(Datatype::Float32(), {1, 2, 3, 4});
  EXPECT_FALSE(Has("data.bov"));
}

TEST_F(RawHeadersTest, Grads) {
  AddLongitude();
  AddLatitude();
  AddCoordinate("level", {1000, 850},
                {TextAttribute("units", "hPa"), TextAttribute("positive", "down")});
  AddCoordinate("time", {0, 6}, {TextAttribute("units", "hours since 1999-12-31 18:00:00")});
  AddArray(Datatype::Float32(), {2, 2, 3, 4}, {"time", "level", "lat", "lon"});
  EXPECT_EQ(ReadText("data.ctl"),
            "DSET ^data.raw\nTITLE t\nUNDEF -9.99e+33\nOPTIONS little_endian yrev\n"
            "XDEF 4 LINEAR 10 0.5\nYDEF 3 LINEAR 56 2\nZDEF 2 LEVELS\n 1000 850\n"
            "TDEF 2 LINEAR 18:00Z31dec1999 6hr             \n"
            "VARS 1\nt 2 99 t\nENDVARS\n");
  AddArray(Datatype::Integer(2, true), {2, 3, 4}, {"time", "lat", "lon"});
  EXPECT_THAT(ReadText("data.ctl"), HasSubstr("VARS 1\nt 0 -1,40,2,-1 t\n"));
  AddArray(Datatype::Integer(1, false), {2, 3, 4}, {"level", "lat", "lon"});
  EXPECT_THAT(ReadText("data.ctl"), HasSubstr("VARS 1\nt 2 -1,40,1 t\n"));
}

TEST_F(RawHeadersTest, GradsHasNoColumnsThatGoWest) {
  AddArray(Datatype::Float32(), {2, 4}, {"y", "lon"});
  const std::vector<model::Attribute> degrees = {TextAttribute("units", "degrees_east")};
  for (const auto& [numbers, is_there] : {std::pair(std::vector<double>{350, 355, 0, 5}, true),
                                          {{30, 20, 10, 0}, false},
                                          {{0, 1, 3, 2}, false}}) {
    AddCoordinate("lon", numbers, degrees);
    const auto text = Read("data.ctl");
    ASSERT_EQ(text.has_value(), is_there) << numbers[0];
    if (text) EXPECT_THAT(*text, HasSubstr("XDEF 4 LINEAR 350 5\n"));
  }
}

TEST_F(RawHeadersTest, ABoxThatGoesBackwardsBeginsNowhere) {
  AddCoordinate("x", {10, 11, 12});
  AddCoordinate("y", {5, 3});
  AddArray(Datatype::Float32(), {2, 3}, {"y", "x"});
  EXPECT_THAT(ReadText("data.bov"), HasSubstr("BRICK_ORIGIN: 0 0 0\nBRICK_SIZE: 3 4 1\n"));
  AddCoordinate("y", {3, 5});
  EXPECT_THAT(ReadText("data.bov"), HasSubstr("BRICK_ORIGIN: 9.5 2 0\nBRICK_SIZE: 3 4 1\n"));
}

TEST_F(RawHeadersTest, GradsListsCoordinatesThatAreNotRegular) {
  std::vector<double> numbers;
  for (int i = 0; i < 20; ++i) numbers.push_back(-i * i);
  AddCoordinate("y", numbers);
  AddArray(Datatype::Float32(), {20, 4}, {"y", "x"});
  const std::string text = ReadText("data.ctl");
  EXPECT_THAT(text, HasSubstr("XDEF 4 LINEAR 1 1\nYDEF 20 LEVELS\n -361 -324 "));
  EXPECT_THAT(text, HasSubstr("yrev\n"));
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != text.npos;
       begin = end + 1) {
    EXPECT_LE(end - begin, 255u);
  }
}

TEST_F(RawHeadersTest, GradsHasNoOtherTypesOrOrders) {
  for (const Datatype& type : {Datatype::Float64(), Datatype::Integer(4, false),
                               Datatype::Integer(1, true), Datatype::Complex(8)}) {
    AddArray(type, {3, 4});
    EXPECT_FALSE(Has("data.ctl")) << type.keyword();
  }
  AddArray(Datatype::Float32(), {1, 1, 1, 1, 1});
  EXPECT_FALSE(Has("data.ctl"));
  AddArray(Datatype::Float32(), {2, 3, 4}, {"level", "time", "lon"});
  EXPECT_FALSE(Has("data.ctl"));
}

TEST_F(RawHeadersTest, NamesMeanNothingToAHeader) {
  auto& array = AddArray(Datatype::Float32(), {3, 4}, {"a\"b\nx: 1", "<ä>"});
  array.name = "t}\n<t>&";
  array.attributes = {TextAttribute("units", "a<b>&\"\n")};
  EXPECT_THAT(ReadText("data.hdr"), HasSubstr("description = {t___t__}\n"));
  EXPECT_THAT(ReadText("data.xmf"), HasSubstr("Name=\"t___t__\""));
  EXPECT_THAT(ReadText("data.vrt"), HasSubstr("<UnitType>a&lt;b&gt;&amp;&quot;?</UnitType>"));
  EXPECT_THAT(ReadText("data.nhdr"), HasSubstr("labels: \"____\" \"a_b_x__1\"\n"));
  EXPECT_THAT(ReadText("data.ctl"), HasSubstr("\ntt 0 99 tt\n"));
}

TEST_F(RawHeadersTest, ArraysOfNothingHaveNone) {
  AddArray(Datatype::Float32(), {0, 4});
  for (const char* file : {"data.hdr", "data.nhdr", "data.mhd", "data.vrt", "data.xmf",
                           "data.bov", "data.ctl", "data.tif", "data.fits", "data.nii"}) {
    EXPECT_FALSE(Has(file)) << file;
  }
  EXPECT_TRUE(Has("data.f77"));
}

TEST_F(RawHeadersTest, TheyNameTheFileOfTheirStem) {
  AddArray(Datatype::Float32(), {3, 4});
  ArrayInput input = Input();
  input.stem = "values";
  for (const char* file :
       {"data.nhdr", "data.mhd", "data.vrt", "data.xmf", "data.bov", "data.ctl"}) {
    const auto view = ArrayViews().MakeFile(input, file).value();
    std::string text(*view->size(), '\0');
    ASSERT_THAT(view->Read(0, std::as_writable_bytes(std::span(text))), IsOk());
    EXPECT_THAT(text, HasSubstr("values.raw")) << file;
  }
}

TEST_F(RawHeadersTest, XdmfHasAPrecisionForEachType) {
  const auto type_of = [&](const Datatype& type) {
    AddArray(type, {3, 4});
    const std::string text = ReadText("data.xmf");
    const size_t begin = text.rfind("NumberType=");
    return text.substr(begin, text.find(" Format", begin) - begin);
  };
  EXPECT_EQ(type_of(Datatype::Integer(1, true)), R"(NumberType="Char" Precision="1")");
  EXPECT_EQ(type_of(Datatype::Integer(1, false)), R"(NumberType="UChar" Precision="1")");
  EXPECT_EQ(type_of(Datatype::Integer(2, true)), R"(NumberType="Short" Precision="2")");
  EXPECT_EQ(type_of(Datatype::Integer(4, true)), R"(NumberType="Int" Precision="4")");
  EXPECT_EQ(type_of(Datatype::Integer(4, false)), R"(NumberType="UInt" Precision="4")");
  EXPECT_EQ(type_of(Datatype::Integer(8, true)), R"(NumberType="Int" Precision="8")");
  EXPECT_EQ(type_of(Datatype::Float32()), R"(NumberType="Float" Precision="4")");
  EXPECT_EQ(type_of(Datatype::Float64()), R"(NumberType="Float" Precision="8")");
}

TEST_F(RawHeadersTest, EnviHasTheFirstAndTheLastZone) {
  AddCoordinate("x", {600'005, 600'015, 600'025, 600'035});
  AddCoordinate("y", {5'099'995, 5'099'985, 5'099'975});
  const auto system = [&](int epsg) {
    AddArray(Datatype::Integer(2, true), {3, 4}, {"y", "x"}).attributes = {
        TextAttribute("crs", fmt::format("EPSG:{}", epsg))};
    const std::string text = ReadText("data.hdr");
    const size_t begin = text.find("map info = {") + 12;
    return text.substr(begin, text.find(',', begin) - begin) +
           text.substr(text.find(" 10, 10, ") + 8, 12);
  };
  EXPECT_EQ(system(32601), "UTM 1, North, W");
  EXPECT_EQ(system(32660), "UTM 60, North, ");
  EXPECT_EQ(system(32701), "UTM 1, South, W");
  EXPECT_EQ(system(32760), "UTM 60, South, ");
  EXPECT_EQ(system(26901), "UTM 1, North, N");
  EXPECT_EQ(system(26722), "UTM 22, North, ");
  for (const int epsg : {32600, 32661, 32700, 32761, 26900, 26924, 26700, 26723}) {
    EXPECT_THAT(system(epsg), Not(HasSubstr("UTM"))) << epsg;
  }
}

TEST_F(RawHeadersTest, BovHasOneToThreeAxes) {
  const auto has = [&](const std::vector<uint64_t>& shape) {
    AddArray(Datatype::Float32(), shape);
    return Has("data.bov");
  };
  EXPECT_FALSE(has({}));
  EXPECT_TRUE(has({4}));
  EXPECT_TRUE(has({2, 3, 4}));
  EXPECT_FALSE(has({1, 2, 3, 4}));
}

TEST_F(RawHeadersTest, NamesOfGradsAreSmallLettersAndDigits) {
  AddArray(Datatype::Float32(), {3, 4}).name = "9_AZaz_0589";
  EXPECT_THAT(ReadText("data.ctl"), HasSubstr("\nazaz0589 0 99 "));
}

}  // namespace
}  // namespace ndlfs::fs::fake
