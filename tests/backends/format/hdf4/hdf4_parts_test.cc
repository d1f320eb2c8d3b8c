// SPDX-License-Identifier: MIT
//
// The text of HDF-EOS2, places, codings, calibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hdf4/calibration.h"
#include "backends/format/hdf4/coding.h"
#include "backends/format/hdf4/eos_grid.h"
#include "backends/format/hdf4/node_builder.h"
#include "backends/store/cancellation.h"
#include "model/attributes.h"
#include "tests/support/result.h"

namespace ndlfs::backends::hdf4 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kGrid =
    "GROUP=SwathStructure\nGROUP=SWATH_1\n\tSwathName=\"s\"\n\tXDim=9\nEND_GROUP=SWATH_1\n"
    "END_GROUP=SwathStructure\n"
    "GROUP=GridStructure\n\tGROUP=GRID_1\n\t\tGridName=\"CMG\"\n\t\tXDim=720\n\t\tYDim=360\n"
    "\t\tUpperLeftPointMtrs=(-180000000.000000,90000000.000000)\n"
    "\t\tLowerRightMtrs=(180000000.000000,-90000000.000000)\n\t\tProjection=GCTP_GEO\n"
    "\t\tGROUP=Dimension\n\t\t\tXDim=5\n\t\tEND_GROUP=Dimension\n\tEND_GROUP=GRID_1\n"
    "END_GROUP=GridStructure\nEND\n";

EosGrid Grid(const std::string& projection, std::vector<double> parameters) {
  EosGrid grid;
  grid.name = "g";
  grid.columns = 4;
  grid.rows = 2;
  grid.has_upper_left = grid.has_lower_right = true;
  grid.upper_left = {0, 200};
  grid.lower_right = {400, 0};
  grid.projection = projection;
  std::ranges::copy(parameters, grid.parameters.begin());
  return grid;
}

TEST(StructMetadataTest, GridsAndNothingElse) {
  const auto grids = ReadGrids(kGrid);
  ASSERT_EQ(grids.size(), 1U);
  EXPECT_EQ(grids[0].name, "CMG");
  EXPECT_EQ(grids[0].columns, 720U);
  EXPECT_EQ(grids[0].rows, 360U);
  EXPECT_EQ(grids[0].projection, "GCTP_GEO");
}

TEST(StructMetadataTest, ListsGoOnInTheNextLine) {
  const auto grids = ReadGrids(
      "GROUP=GridStructure\nGROUP=GRID_1\nGridName=\"g\"\nProjParams=(1,2,3,4,5,6,\n7,8,9,10,"
      "11,12,13)\nEND_GROUP=GRID_1\nEND_GROUP=GridStructure\n");
  ASSERT_EQ(grids.size(), 1U);
  EXPECT_EQ(grids[0].parameters[12], 13);
}

TEST(StructMetadataTest, NonsenseHasNoGrids) {
  for (const char* text :
       {"", "END_GROUP=x\n", "GROUP=GridStructure\n", "====\n", "GridName=\"g\"\nXDim=1\n",
        "GROUP=GridStructure\nGROUP=GRID_1\nXDim=99999999999999999999\nEND_GROUP=GRID_1\n"}) {
    EXPECT_THAT(ReadGrids(text), IsEmpty()) << text;
  }
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "GROUP=GridStructure\n";
  EXPECT_THAT(ReadGrids(deep), IsEmpty());
}

TEST(StructMetadataTest, ValuesThatMakeNoSenseAreNoPlace) {
  const auto grids = ReadGrids(
      "GROUP=GridStructure\nGROUP=GRID_1\nGridName=\"g\"\nXDim=4\nYDim=4\n"
      "UpperLeftPointMtrs=DEFAULT\nLowerRightMtrs=(nan,inf)\nProjection=GCTP_GEO\n"
      "END_GROUP=GRID_1\nEND_GROUP=GridStructure\n");
  ASSERT_EQ(grids.size(), 1U);
  EXPECT_EQ(PlaceOf(grids[0]), std::nullopt);
}

TEST(EosPlaceTest, DegreesArePacked) {
  const auto place = PlaceOf(ReadGrids(kGrid)[0]);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->x.first, -179.75);
  EXPECT_EQ(place->x.step, 0.5);
  EXPECT_EQ(place->y.first, 89.75);
  EXPECT_EQ(place->y.step, -0.5);
  EXPECT_EQ(model::TextOf(place->mapping, "grid_mapping_name"), "latitude_longitude");
  EXPECT_EQ(model::TextOf(place->x_attributes, "units"), "degrees_east");
}

TEST(EosPlaceTest, ParametersOfProjectionsAreThoseOfCf) {
  // Angles are packed: 12 degrees 30 minutes.
  auto place =
      PlaceOf(Grid("GCTP_LAMAZ", {6370997, 0, 0, 0, -100000000, 45000000, 10, 20})).value();
  EXPECT_EQ(model::TextOf(place.mapping, "grid_mapping_name"), "lambert_azimuthal_equal_area");
  EXPECT_EQ(model::NumberOf(place.mapping, "longitude_of_projection_origin"), -100);
  EXPECT_EQ(model::NumberOf(place.mapping, "latitude_of_projection_origin"), 45);
  EXPECT_EQ(model::NumberOf(place.mapping, "false_easting"), 10);
  EXPECT_EQ(model::NumberOf(place.mapping, "semi_major_axis"), 6370997);

  place = PlaceOf(Grid("GCTP_PS", {6378273, -0.0, 0, 0, -45000000, -70030000, 0, 0})).value();
  EXPECT_EQ(model::TextOf(place.mapping, "grid_mapping_name"), "polar_stereographic");
  EXPECT_EQ(model::NumberOf(place.mapping, "standard_parallel"), -70.5);
  EXPECT_EQ(model::NumberOf(place.mapping, "latitude_of_projection_origin"), -90);

  place =
      PlaceOf(Grid("GCTP_LAMCC", {6378137, 6356752.3, 30000000, 60000000, 5000000, 45000000}))
          .value();
  EXPECT_THAT(model::NumbersOf(place.mapping, "standard_parallel"), ElementsAre(30, 60));
  EXPECT_EQ(model::NumberOf(place.mapping, "semi_minor_axis"), 6356752.3);
}

TEST(EosPlaceTest, ZonesOfUtm) {
  EosGrid grid = Grid("GCTP_UTM", {});
  grid.zone = -33;
  grid.sphere = 12;
  const auto place = PlaceOf(grid).value();
  EXPECT_EQ(model::NumberOf(place.mapping, "longitude_of_central_meridian"), 15);
  EXPECT_EQ(model::NumberOf(place.mapping, "false_northing"), 10'000'000);
  EXPECT_EQ(model::NumberOf(place.mapping, "semi_major_axis"), 6378137);
  grid.zone = 61;
  EXPECT_EQ(PlaceOf(grid), std::nullopt);
}

TEST(EosPlaceTest, FirstPixelAndItsCorner) {
  EosGrid grid = Grid("GCTP_SNSOID", {6371007.181});
  EXPECT_EQ(PlaceOf(grid)->y.first, 150);
  EXPECT_EQ(PlaceOf(grid)->y.step, -100);
  grid.origin = "HDFE_GD_LL";
  EXPECT_EQ(PlaceOf(grid)->y.first, 50);
  EXPECT_EQ(PlaceOf(grid)->y.step, 100);
  grid.origin = "HDFE_GD_UR";
  EXPECT_EQ(PlaceOf(grid)->x.first, 350);
  grid.origin.clear();
  grid.registration = "HDFE_CORNER";
  EXPECT_EQ(PlaceOf(grid)->x.first, 0);
}

TEST(EosPlaceTest, ProjectionThatIsNotKnownIsNoPlace) {
  EXPECT_EQ(PlaceOf(Grid("GCTP_ISINUS", {6371007.181})), std::nullopt);
}

TEST(Hdf4CalibrationTest, OffsetOfZeroAndOfCfStay) {
  std::vector<model::Attribute> attributes = {
      {"scale_factor", model::Datatype::Float64(), {}, 0.5, {}},
      {"add_offset", model::Datatype::Float64(), {}, 4.0, {}}};
  auto kept = attributes;
  EXPECT_EQ(SayCalibrationInCf(true, kept), "");
  EXPECT_EQ(kept, attributes);
  kept[1].value = 0.0;
  EXPECT_EQ(SayCalibrationInCf(false, kept), "");
  EXPECT_EQ(kept.size(), 2U);
  EXPECT_NE(SayCalibrationInCf(false, attributes), "");
  EXPECT_EQ(model::NumberOf(attributes, "add_offset"), -2);
  EXPECT_EQ(model::NumberOf(attributes, "hdf4_add_offset"), 4);
}

TEST(Hdf4CalibrationTest, ConventionsOfTheFile) {
  const auto file = [](const char* text) {
    return std::vector<model::Attribute>{model::MakeTextAttribute("Conventions", text)};
  };
  EXPECT_TRUE(KeepsToCf(file("CF-1.4")));
  EXPECT_TRUE(KeepsToCf(file("COARDS")));
  EXPECT_FALSE(KeepsToCf(file("HDF-EOS")));
  EXPECT_FALSE(KeepsToCf({}));
}

std::string Decode(const Coding& coding, std::string_view encoded, size_t size) {
  const auto decoder = MakeDecoder(coding);
  if (!decoder) return decoder.error().message();
  std::string decoded(size, '\xee');
  const auto made =
      (*decoder)->Decode(AsBytes(encoded), std::as_writable_bytes(std::span(decoded)));
  return made ? decoded.substr(0, *made) : made.error().message();
}

std::string Words(std::initializer_list<uint32_t> words) {
  std::string bytes;
  for (const uint32_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift);
  }
  return bytes;
}

TEST(Hdf4CodingTest, RunsAndMixes) {
  const Coding coding{Coding::kRunLengths};
  EXPECT_EQ(Decode(coding,
                   std::string("\x80"
                               "a\1bc",
                               5),
                   5),
            "aaabc");
  EXPECT_EQ(Decode(coding,
                   "\x80"
                   "a",
                   2),
            "aa");  // ends earlier
  EXPECT_EQ(Decode(coding, "\x80", 2), "");
  EXPECT_EQ(Decode(coding, "\5ab", 6), "ab");
  const Coding of_images{Coding::kImageRunLengths};
  EXPECT_EQ(Decode(of_images,
                   "\x83"
                   "a\2bc",
                   5),
            "aaabc");
  EXPECT_EQ(Decode(of_images,
                   std::string("\x80"
                               "a\0\x81"
                               "b",
                               5),
                   5),
            "b");
}

TEST(Hdf4CodingTest, BitsOfNumbers) {
  // Of 16 bits those from bit 4 to 11, with their sign, or between ones.
  const auto coding = [](uint32_t flags) {
    return Coding{Coding::kNBit, Words({22, flags, 11, 8})};
  };
  EXPECT_EQ(Decode(coding(0), "\x12\x9f", 4), "\x01\x20\x09\xf0");
  EXPECT_EQ(Decode(coding(1 << 16), "\x12\x9f", 4), "\x01\x20\xf9\xf0");
  EXPECT_EQ(Decode(coding(1), "\x12\x9f", 4), "\xf1\x2f\xf9\xff");
  EXPECT_EQ(Decode(coding(1 << 16 | 1), "\x12\x9f", 4), "\x01\x2f\xf9\xff");
  EXPECT_THAT(Decode(coding(0), "\x12", 4), testing::HasSubstr("2 numbers of 8 bits"));
  EXPECT_EQ(Decode({Coding::kNBit, Words({6, 0, 63, 64})}, "abcdefgh", 8), "abcdefgh");
}

TEST(Hdf4CodingTest, ParametersThatMakeNoSense) {
  for (const auto& parameters :
       {Words({22, 0, 16, 1}), Words({22, 0, 3, 0}), Words({22, 0, 3, 5}), Words({22})}) {
    EXPECT_FALSE(MakeDecoder({Coding::kNBit, parameters}));
  }
  EXPECT_FALSE(MakeDecoder({Coding::kSkippingHuffman, Words({0, 0})}));
  EXPECT_FALSE(MakeDecoder({Coding::kSkippingHuffman, Words({0xffffffff, 0})}));
  EXPECT_FALSE(MakeDecoder({Coding::kSzip, Words({16, 16})}));
  EXPECT_FALSE(MakeDecoder({Coding::kImcomp}));
  EXPECT_FALSE(MakeDecoder({200}));
}

TEST(Hdf4CodingTest, HuffmanThatEndsEarlyOrNever) {
  const Coding coding{Coding::kSkippingHuffman, Words({2, 0})};
  EXPECT_THAT(Decode(coding, "\xff", 4), testing::HasSubstr("end after 0 of 4"));
  EXPECT_THAT(Decode(coding, std::string(100, '\0'), 4), testing::HasSubstr("end after 0"));
}

TEST(Hdf4CodingTest, SzipWithItsHead) {
  // Pixels, those of a line, options of which one says that there is a head, bits and block.
  const std::string parameters = Words({16, 16, 0x10000 | 4 | 16}) + "\x08\x08";
  const Coding coding{Coding::kSzip, parameters};
  const std::string stored = std::string("\1", 1) + Words({4}) + "abcd";
  EXPECT_EQ(Decode(coding, stored, 4), "abcd");
  EXPECT_THAT(Decode(coding, stored.substr(0, 8), 4), testing::HasSubstr("8 bytes of 4"));
  EXPECT_THAT(Decode(coding, stored, 3), testing::HasSubstr("too many"));
}

ArrayInfo NumbersOf(const std::string& name, std::vector<uint64_t> shape) {
  ArrayInfo array;
  array.name = name;
  array.number_type = 24;  // int32
  array.shape = std::move(shape);
  return array;
}

// `count` groups with one name, all with one array, and as many arrays with another one.
FileInfo ManyOfOneName(size_t count) {
  FileInfo info;
  info.groups.resize(count);
  for (GroupInfo& group : info.groups) {
    group.name = "g";
    group.arrays = {0};
  }
  for (size_t i = 0; i < count; ++i) info.arrays.push_back(NumbersOf("a", {2}));
  return info;
}

TEST(Hdf4NodesTest, ThousandsOfOneName) {
  constexpr size_t kCount = 40'000;
  const auto objects = MakeObjects({}, ManyOfOneName(kCount), {}).value();
  EXPECT_EQ(objects.nodes.size(), 2 * kCount + 1);
  EXPECT_EQ(objects.links.size(), kCount - 1);
  EXPECT_TRUE(objects.nodes.contains("/g"));
  EXPECT_TRUE(objects.nodes.contains("/g/a"));
  EXPECT_TRUE(objects.nodes.contains("/g_40000"));
  EXPECT_TRUE(objects.nodes.contains("/a_39999"));
}

TEST(Hdf4NodesTest, NamesThatOthersHaveAlready) {
  FileInfo info;
  for (const char* name : {"a_2", "a", "a", "a_2", "a"}) {
    info.arrays.push_back(NumbersOf(name, {2}));
  }
  const auto objects = MakeObjects({}, std::move(info), {}).value();
  std::vector<std::string> paths;
  for (const auto& [path, node] : objects.nodes) paths.push_back(path);
  EXPECT_THAT(paths, ElementsAre("/", "/a", "/a_2", "/a_2_2", "/a_3", "/a_4"));
}

TEST(Hdf4NodesTest, RequestThatHasEndedStops) {
  const auto request = std::make_shared<Cancellation>();
  request->Cancel();
  const CancellationScope scope(request);
  EXPECT_THAT(MakeObjects({}, ManyOfOneName(2), {}),
              test::IsError(model::ErrorCode::kCancelled, testing::_));
}

// A file with the grid CMG, which has an array with these extents in a group of its own.
FileInfo FileWithGrid(std::vector<uint64_t> shape) {
  FileInfo info;
  AttributeInfo text;
  text.name = "StructMetadata.0";
  text.number_type = 4;  // letters
  text.values = kGrid;
  text.count = text.values.size();
  info.attributes = {text};
  info.groups.resize(2);
  info.groups[0].name = "CMG";
  info.groups[0].groups = {1};
  info.groups[1].name = "Data Fields";
  info.groups[1].arrays = {0};
  info.arrays = {NumbersOf("a", std::move(shape))};
  return info;
}

TEST(Hdf4NodesTest, ExtentsOfAGridThatItsArraysHave) {
  const auto objects = MakeObjects({}, FileWithGrid({3, 360, 720}), {}).value();
  EXPECT_TRUE(objects.nodes.contains("/CMG/XDim"));
  EXPECT_TRUE(objects.nodes.contains("/CMG/YDim"));
  EXPECT_THAT(objects.nodes.at("/CMG")->notes, IsEmpty());
}

TEST(Hdf4NodesTest, GridWhoseArrayAnotherGroupHasHadBefore) {
  FileInfo info = FileWithGrid({360, 720});
  info.groups.resize(3);
  info.groups[2] = info.groups[0];
  info.groups[2].groups = {1};
  info.groups[0] = info.groups[1];
  info.groups[0].name = "before";
  const auto objects = MakeObjects({}, std::move(info), {}).value();
  EXPECT_TRUE(objects.nodes.contains("/before/a"));
  EXPECT_TRUE(objects.nodes.contains("/CMG/XDim"));
}

TEST(Hdf4NodesTest, ExtentsOfAGridThatNoArrayHas) {
  auto objects = MakeObjects({}, FileWithGrid({360, 719}), {}).value();
  EXPECT_FALSE(objects.nodes.contains("/CMG/XDim"));
  EXPECT_TRUE(objects.nodes.contains("/CMG/YDim"));
  EXPECT_THAT(objects.nodes.at("/CMG")->notes,
              ElementsAre(testing::HasSubstr("no coordinates XDim: StructMetadata has 720")));
  FileInfo huge = FileWithGrid({360, 720});
  std::string& text = huge.attributes[0].values;
  text.replace(text.find("XDim=720"), 8, "XDim=1234567890123");
  huge.attributes[0].count = text.size();
  objects = MakeObjects({}, std::move(huge), {}).value();
  EXPECT_FALSE(objects.nodes.contains("/CMG/XDim"));
  EXPECT_EQ(objects.nodes.at("/CMG")->notes.size(), 1U);
}

}  // namespace
}  // namespace ndlfs::backends::hdf4
