// SPDX-License-Identifier: MIT
#include "backends/format/tiff/ome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/result.h"

namespace ndlfs::backends::tiff {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOkAnd;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string Document(const std::string& pixels, const std::string& inside) {
  return "<?xml version=\"1.0\"?><OME "
         "xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\""
         " UUID=\"urn:uuid:1\"><Image ID=\"Image:0\" Name=\"cells\"><Pixels " +
         pixels + ">" + inside + "</Pixels></Image></OME>";
}
std::string Pixels(const std::string& order = "XYZCT", const std::string& more = "") {
  return "DimensionOrder=\"" + order +
         "\" SizeX=\"4\" SizeY=\"3\" SizeZ=\"2\" SizeC=\"2\" SizeT=\"1\" " + more;
}
model::Result<std::vector<std::optional<uint64_t>>> Planes(const std::string& order,
                                                           const std::string& inside) {
  NDLFS_TRY(const auto file, ReadOme(Document(Pixels(order), inside)));
  NDLFS_TRY(const auto planes, PlanesOf(file.images.at(0), 2));
  std::vector<std::optional<uint64_t>> directories;
  for (const auto& plane : planes) {
    directories.push_back(plane ? std::optional(plane->directory) : std::nullopt);
  }
  return directories;
}

TEST(OmeTest, TellsColoursOfChannels) {
  const auto file =
      ReadOme(Document(Pixels(),
                       "<Channel Color=\"-16776961\"/><Channel Color=\"16744447\"/><Channel/>"
                       "<Channel Color=\"red\"/><Channel Color=\"99999999999\"/><TiffData/>"));
  ASSERT_THAT(file, test::IsOk());
  EXPECT_THAT(file->images.at(0).colors, ElementsAre(Optional(0xFF0000U), Optional(0x00FF7FU),
                                                     std::nullopt, std::nullopt, std::nullopt));
}

TEST(OmeTest, TellsSizesNamesAndDistances) {
  const auto file = ReadOme(Document(Pixels("XYZCT",
                                            "PhysicalSizeX=\"0.5\" PhysicalSizeZ=\"2\" "
                                            "PhysicalSizeZUnit=\"nm\" TimeIncrement=\"3\""),
                                     "<Channel Name=\"DAPI\"/><Channel/><TiffData/>"));
  ASSERT_THAT(file, test::IsOk());
  EXPECT_EQ(file->uuid, "urn:uuid:1");
  ASSERT_EQ(file->images.size(), 1u);
  const OmeImage& image = file->images[0];
  EXPECT_EQ(image.name, "cells");
  EXPECT_EQ(image.x, 4u);
  EXPECT_EQ(image.z, 2u);
  EXPECT_THAT(image.channels, ElementsAre("DAPI", ""));
  EXPECT_THAT(image.spacing,
              ElementsAre(Optional(0.5), std::nullopt, Optional(2.0), Optional(3.0)));
  EXPECT_THAT(image.units, ElementsAre("\xC2\xB5m", "\xC2\xB5m", "nm", "s"));
}

TEST(OmeTest, PlanesFollowInTheOrderOfTheDimensions) {
  EXPECT_THAT(Planes("XYZCT", "<TiffData/>"), IsOkAnd(ElementsAre(0u, 1u, 2u, 3u)));
  EXPECT_THAT(Planes("XYCZT", "<TiffData/>"), IsOkAnd(ElementsAre(0u, 2u, 1u, 3u)));
  EXPECT_THAT(Planes("XYCZT", "<TiffData IFD=\"5\" FirstZ=\"1\" PlaneCount=\"2\"/>"),
              IsOkAnd(ElementsAre(std::nullopt, 5u, std::nullopt, 6u)));
  EXPECT_THAT(Planes("XYZCT", "<TiffData IFD=\"3\" FirstC=\"1\"/>"),
              IsOkAnd(ElementsAre(std::nullopt, std::nullopt, 3u, std::nullopt)));
}

TEST(OmeTest, PlanesAreInTheFileOfTheirTiffData) {
  const auto file =
      ReadOme(Document(Pixels(),
                       "<TiffData IFD=\"0\" PlaneCount=\"2\"/><TiffData FirstC=\"1\" "
                       "PlaneCount=\"2\"><UUID FileName=\"b.ome.tif\">urn:uuid:2</UUID>"
                       "</TiffData>"));
  ASSERT_THAT(file, test::IsOk());
  const OmeImage& image = file->images.at(0);
  EXPECT_EQ(image.data[0].file_name, "");
  EXPECT_EQ(image.data[1].file_name, "b.ome.tif");
  EXPECT_EQ(image.data[1].uuid, "urn:uuid:2");
  const auto planes = PlanesOf(image, 2);
  ASSERT_THAT(planes, test::IsOk());
  EXPECT_EQ(planes->at(1)->data, 0u);
  EXPECT_EQ(planes->at(3)->data, 1u);
  EXPECT_EQ(planes->at(3)->directory, 1u);
}

TEST(OmeTest, PlanesBeyondTheLastAreLeftOut) {
  EXPECT_THAT(Planes("XYZCT", "<TiffData IFD=\"0\" PlaneCount=\"18446744073709551615\"/>"),
              IsOkAnd(ElementsAre(0u, 1u, 2u, 3u)));
}

TEST(OmeTest, RefusesWhatCannotBe) {
  EXPECT_THAT(ReadOme(Document(Pixels("XYZZT"), "")),
              IsError(ErrorCode::kBadInput, HasSubstr("DimensionOrder")));
  EXPECT_THAT(ReadOme(Document("DimensionOrder=\"XYZCT\" SizeX=\"-1\"", "")),
              IsError(ErrorCode::kBadInput, HasSubstr("SizeX: expected a number")));
  EXPECT_THAT(ReadOme(Document("DimensionOrder=\"XYZCT\"", "")),
              IsError(ErrorCode::kBadInput, HasSubstr("SizeX: expected a positive number")));
  EXPECT_THAT(ReadOme("<OME><Image>"), IsError(ErrorCode::kBadInput, testing::_));
  EXPECT_THAT(Planes("XYZCT", "<TiffData FirstZ=\"2\"/>"),
              IsError(ErrorCode::kBadInput, HasSubstr("outside of the image")));
  OmeImage image;
  image.z = image.t = uint64_t{1} << 40;
  image.order = "XYZCT";
  EXPECT_THAT(PlanesOf(image, 1), IsError(ErrorCode::kLimit, HasSubstr("too many planes")));
}

TEST(OmeTest, ManyRunsOverAllPlanesEnd) {
  OmeImage image;
  image.z = 1000;
  image.order = "XYZCT";
  image.data.resize(1000);
  for (OmeTiffData& data : image.data) data.count = UINT64_MAX;
  EXPECT_THAT(PlanesOf(image, 1), IsError(ErrorCode::kLimit, HasSubstr("too many planes")));
}

}  // namespace
}  // namespace ndlfs::backends::tiff
