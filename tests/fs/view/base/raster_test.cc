// SPDX-License-Identifier: MIT
//
// Which dimensions of an array are the rows, the columns and the samples of pictures.
#include "fs/view/base/array_part.h"
#include "fs/view/base/number_array.h"
#include "fs/view/place/geometry.h"
#include "fs/view/place/page_names.h"
#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs::fake {
namespace {

using model::Datatype;
using ::testing::ElementsAre;

class RasterTest : public GridTest {
 protected:
  static Raster RasterOf(const ArrayInput& input) {
    return *AsRaster(input, *AsNumbers(input));
  }
  Raster Of(const Datatype& type, const std::vector<uint64_t>& shape,
            const std::vector<std::string>& names, Attributes attributes = {}) {
    AddArray(type, shape, names).attributes = std::move(attributes);
    return RasterOf(Input());
  }
  // Samples of pixels of an array of unsigned shorts; 1 if the last dimension is x.
  uint64_t SamplesOf(const std::vector<std::string>& names) {
    std::vector<uint64_t> shape(names.size(), 4);
    shape.back() = 7;
    return Of(Datatype::Integer(2, false), shape, names).samples;
  }
};

TEST_F(RasterTest, BandsOfAnyNumbersAreSamplesOfAPixel) {
  for (const Datatype& type :
       {Datatype::Integer(2, false), Datatype::Integer(1, true), Datatype::Float32(),
        Datatype::Float64(), Datatype::Complex(8), Datatype::Integer(8, true)}) {
    const Raster raster = Of(type, {5, 6, 13}, {"y", "x", "band"});
    EXPECT_EQ(raster.samples, 13U);
    EXPECT_EQ(raster.height, 5U);
    EXPECT_EQ(raster.width, 6U);
    EXPECT_EQ(raster.pages, 1U);
    EXPECT_EQ(raster.sample_axis, 2U);
    EXPECT_EQ(raster.x_axis, 1U);
    EXPECT_EQ(raster.y_axis, 0U);
    EXPECT_FALSE(raster.is_colour);
    EXPECT_EQ(raster.row_bytes(), 6 * 13 * type.size());
  }
  const Raster raster = Of(Datatype::Float32(), {2, 5, 6, 4}, {"time", "y", "x", "band"});
  EXPECT_EQ(raster.pages, 2U);
  EXPECT_EQ(raster.samples, 4U);
  EXPECT_EQ(Of(Datatype::Float32(), {5, 6, 1}, {"y", "x", "band"}).width, 6U)
      << "a single band is one, too";
}

TEST_F(RasterTest, NamesTellWhichDimensionsTheyAre) {
  EXPECT_EQ(SamplesOf({"y", "x", "band"}), 7U);
  EXPECT_EQ(SamplesOf({"Y", "X", "Bands"}), 7U);
  EXPECT_EQ(SamplesOf({"y_2", "x_2", "band_3"}), 7U) << "the second image of a TIFF file";
  EXPECT_EQ(SamplesOf({"", "", "band"}), 7U);
  EXPECT_EQ(SamplesOf({"nj", "some", "band"}), 7U);
  EXPECT_EQ(SamplesOf({"lat", "lon", "channel"}), 7U);
  EXPECT_EQ(SamplesOf({"atrack", "xtrack", "channel"}), 7U);
  EXPECT_EQ(SamplesOf({"line", "sample", "wavelength"}), 7U) << "ENVI, interleaved by pixel";
  EXPECT_EQ(SamplesOf({"z", "y", "x", "c"}), 7U);
}

TEST_F(RasterTest, PlacesAndOtherThingsAreNoBands) {
  EXPECT_EQ(SamplesOf({"band", "y", "x"}), 1U);
  EXPECT_EQ(SamplesOf({"line", "band", "sample"}), 1U) << "ENVI, interleaved by line";
  EXPECT_EQ(SamplesOf({"x", "band"}), 1U) << "a row";
  EXPECT_EQ(SamplesOf({"time", "x", "band"}), 1U);
  EXPECT_EQ(SamplesOf({"time", "station", "channel"}), 1U);
  EXPECT_EQ(SamplesOf({"trial", "time", "channel"}), 1U) << "electrodes";
  EXPECT_EQ(SamplesOf({"", "", "channel"}), 1U);
  EXPECT_EQ(SamplesOf({"x", "y", "c"}), 1U);
  EXPECT_EQ(SamplesOf({"y", "x", "time"}), 1U);
  EXPECT_EQ(SamplesOf({"y", "x", "level"}), 1U);
  EXPECT_EQ(SamplesOf({"y", "x", "bandwidth"}), 1U);
  EXPECT_EQ(Of(Datatype::Float32(), {5, 6, 3}, {}).samples, 1U);
}

TEST_F(RasterTest, MoreBandsThanTiffHasAreNone) {
  EXPECT_EQ(Of(Datatype::Integer(2, false), {1, 2, 65'535}, {"y", "x", "band"}).samples,
            65'535U);
  const Raster raster = Of(Datatype::Integer(2, false), {1, 2, 65'536}, {"y", "x", "band"});
  EXPECT_EQ(raster.samples, 1U);
  EXPECT_EQ(raster.width, 65'536U);
}

TEST_F(RasterTest, BytesAreColoursUnlessTheFileSaysOtherwise) {
  const Datatype byte = Datatype::Integer(1, false);
  Raster raster = Of(byte, {5, 6, 4}, {});
  EXPECT_TRUE(raster.is_colour);
  EXPECT_EQ(raster.alpha, Alpha::kPlain);
  EXPECT_TRUE(Of(byte, {5, 6, 3}, {"y", "x", "band"}).has_colour_bytes());
  EXPECT_EQ(Of(byte, {4, 5, 3}, {"time", "lat", "lon"}).samples, 1U);
  EXPECT_FALSE(Of(byte, {5, 6, 7}, {"y", "x", "band"}).is_colour);
  const auto of_tiff = [&](const Datatype& type, uint64_t bands, std::string photometric,
                           Attributes more = {}) {
    more.push_back(TextAttribute("PhotometricInterpretation", std::move(photometric)));
    return Of(type, {5, 6, bands}, {"y", "x", "band"}, std::move(more));
  };
  raster = of_tiff(byte, 3, "BlackIsZero");
  EXPECT_EQ(raster.samples, 3U);
  EXPECT_FALSE(raster.is_colour);
  EXPECT_FALSE(of_tiff(byte, 4, "CMYK").is_colour);
  EXPECT_TRUE(of_tiff(Datatype::Integer(2, false), 3, "RGB").is_colour);
  EXPECT_FALSE(of_tiff(Datatype::Integer(2, false), 3, "RGB").has_colour_bytes());
  EXPECT_TRUE(of_tiff(Datatype::Float32(), 3, "RGB").is_colour);
  EXPECT_FALSE(of_tiff(Datatype::Complex(8), 3, "RGB").is_colour);
  EXPECT_FALSE(of_tiff(Datatype::Integer(2, false), 2, "RGB").is_colour);
  EXPECT_EQ(of_tiff(byte, 4, "RGB").alpha, Alpha::kPlain);
  EXPECT_EQ(of_tiff(byte, 4, "RGB", {NumberAttribute("ExtraSamples", 1)}).alpha,
            Alpha::kMultiplied);
  raster = of_tiff(byte, 4, "RGB", {NumberAttribute("ExtraSamples", 0)});
  EXPECT_EQ(raster.alpha, Alpha::kNone) << "near infrared, or anything";
  EXPECT_TRUE(raster.is_colour);
  EXPECT_FALSE(raster.has_colour_bytes());
}

TEST_F(RasterTest, PagesMayBeBandsOfOnePicture) {
  const Datatype byte = Datatype::Integer(1, false);
  Raster raster = Of(byte, {3, 5, 6}, {"band", "y", "x"});
  EXPECT_TRUE(raster.has_band_pages);
  EXPECT_FALSE(raster.is_colour);
  EXPECT_EQ(raster.pages, 3U);
  EXPECT_EQ(raster.samples, 1U);
  const Attributes rgb = {TextAttribute("PhotometricInterpretation", "RGB")};
  raster = Of(byte, {4, 5, 6}, {"band_2", "y", "x"}, rgb);
  EXPECT_TRUE(raster.is_colour);
  EXPECT_EQ(raster.alpha, Alpha::kPlain);
  EXPECT_FALSE(raster.has_colour_bytes()) << "each pixel has one number";
  EXPECT_FALSE(Of(byte, {2, 5, 6}, {"band", "y", "x"}, rgb).is_colour);
  EXPECT_FALSE(Of(byte, {3, 5, 6}, {"c", "y", "x"}, rgb).has_band_pages)
      << "channels are pages";
  EXPECT_FALSE(Of(byte, {2, 3, 5, 6}, {"time", "band", "y", "x"}, rgb).is_colour);
}

TEST_F(RasterTest, ImagesOfHdf5SayThatTheyAreInterleaved) {
  EXPECT_EQ(Of(Datatype::Integer(2, false), {5, 6, 3}, {},
               {TextAttribute("INTERLACE_MODE", "INTERLACE_PIXEL")})
                .samples,
            3U);
  EXPECT_EQ(Of(Datatype::Integer(2, false), {3, 5, 6}, {},
               {TextAttribute("INTERLACE_MODE", "INTERLACE_PLANE")})
                .samples,
            1U);
}

TEST_F(RasterTest, SlicesHaveTheirOwn) {
  Of(Datatype::Integer(2, false), {5, 6, 7}, {"y", "x", "band"});
  const ArrayInput whole = Input();
  const IndexRange all_y = WholeRange(5), all_x = WholeRange(6);
  Raster raster =
      RasterOf(MakePart(whole, {all_y, all_x, {.begin = 2, .count = 2, .step = 3}}));
  EXPECT_EQ(raster.samples, 2U);
  EXPECT_EQ(raster.height, 5U);
  raster = RasterOf(
      MakePart(whole, {all_y, all_x, {.begin = 2, .count = 1, .step = 1, .is_dropped = true}}));
  EXPECT_EQ(raster.samples, 1U);
  EXPECT_EQ(raster.width, 6U);
  EXPECT_EQ(raster.height, 5U);
  raster = RasterOf(MakePart(whole, {all_y, all_x, WholeRange(7)}, {2, 0, 1}));
  EXPECT_EQ(raster.samples, 1U) << "band after band";
  EXPECT_EQ(raster.pages, 7U);
}

TEST_F(RasterTest, SlicesHaveColoursOnlyInTheirOrder) {
  const Attributes rgb = {TextAttribute("PhotometricInterpretation", "RGB")};
  const IndexRange y = WholeRange(5), x = WholeRange(6);
  const IndexRange first = {.begin = 0, .count = 3}, later = {.begin = 1, .count = 3},
                   reversed = {.begin = 3, .count = 4, .step = -1};
  const Datatype byte = Datatype::Integer(1, false);
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"y", "x", "band"}, {}}) {
    Of(byte, {5, 6, 4}, names, names.empty() ? Attributes() : rgb);
    const ArrayInput pixels = Input();
    EXPECT_TRUE(RasterOf(MakePart(pixels, {y, x, first})).has_colour_bytes());
    EXPECT_EQ(RasterOf(MakePart(pixels, {WholeRange(2), x, WholeRange(4)})).alpha,
              Alpha::kPlain);
    for (const IndexRange& other : {later, reversed}) {
      const Raster raster = RasterOf(MakePart(pixels, {y, x, other}));
      EXPECT_FALSE(raster.is_colour);
      EXPECT_EQ(raster.alpha, Alpha::kNone);
      EXPECT_EQ(raster.samples, other.count) << "they are bands";
    }
  }
  Of(Datatype::Integer(2, false), {4, 5, 6}, {"band", "y", "x"}, rgb);
  const ArrayInput pages = Input();
  EXPECT_TRUE(RasterOf(MakePart(pages, {first, y, x})).is_colour);
  EXPECT_TRUE(RasterOf(MakePart(pages, {WholeRange(4), y, x}, {1, 2, 0})).is_colour);
  EXPECT_FALSE(RasterOf(MakePart(pages, {later, y, x})).is_colour);
  EXPECT_FALSE(RasterOf(MakePart(pages, {reversed, y, x})).is_colour);
  EXPECT_FALSE(RasterOf(MakePart(pages, {reversed, y, x}, {1, 2, 0})).is_colour);
}

TEST_F(RasterTest, SlicesAreNoColoursByTheirLengthAlone) {
  const IndexRange y = WholeRange(5), x = WholeRange(6), first = {.begin = 0, .count = 3};
  Of(Datatype::Integer(1, false), {5, 6, 7}, {});
  EXPECT_EQ(RasterOf(MakePart(Input(), {y, x, first})).samples, 1U);
  Of(Datatype::Integer(1, false), {5, 6, 4, 2}, {});
  const IndexRange one = {.begin = 1, .count = 1, .is_dropped = true};
  EXPECT_EQ(RasterOf(MakePart(Input(), {y, x, WholeRange(4), one})).samples, 1U);
  Of(Datatype::Integer(1, false), {5, 6, 7}, {"y", "x", "band"});
  EXPECT_FALSE(RasterOf(MakePart(Input(), {y, x, first})).is_colour);
}

TEST_F(RasterTest, NamesOfBandsAreThoseOfTheFile) {
  model::Attribute names = TextAttribute("band_names", "");
  names.shape = {4};
  names.value = model::Value::List{std::string("blue"), std::string("green"),
                                   std::string("red <b>"), std::string()};
  Of(Datatype::Integer(2, false), {5, 6, 4}, {"y", "x", "band"}, {names});
  const auto names_of = [](const ArrayInput& input) {
    const auto numbers = AsNumbers(input);
    const Geometry geometry = DescribeGeometry(input, *numbers).value();
    const PageNames found = PageNames::Read(geometry, RasterOf(input)).value();
    return std::vector{found.Of(0), found.Of(1), found.Of(2), found.Of(3)};
  };
  const ArrayInput whole = Input();
  EXPECT_THAT(names_of(whole), ElementsAre("blue", "green", "red _b_", ""));
  const Selection some = {WholeRange(5), WholeRange(6), {.begin = 1, .count = 2, .step = 1}};
  EXPECT_THAT(names_of(MakePart(whole, some)),
              ElementsAre("green", "red _b_", "green", "red _b_"));
  EXPECT_THAT(
      names_of(MakePart(whole, {WholeRange(5), WholeRange(6), WholeRange(4)}, {2, 0, 1})),
      ElementsAre("blue", "green", "red _b_", ""))
      << "band after band";
}

}  // namespace
}  // namespace ndlfs::fs::fake
