// SPDX-License-Identifier: MIT
//
// preview.png as a file, and what figures show.
#include <cmath>
#include <limits>
#include <thread>

#include "fs/view/picture/drawing/figure_file.h"
#include "fs/view/picture/preview_figure.h"
#include "fs/view/place/ome_image.h"
#include "tests/fs/view/grid_test.h"
#include "tests/fs/view/picture/drawing/read_png.h"

namespace ndlfs::fs {
namespace {

using fake::NumberAttribute;
using fake::RawOf;
using fake::TextAttribute;
using model::Datatype;
using picture::CellMap;
using picture::Figure;
using picture::LinePlot;
using test::IsError;
using test::IsOk;
using test::MemoryArray;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class PreviewFileTest : public fake::GridTest {
 protected:
  template <typename T>
  model::Ndarray& AddNumbers(const Datatype& type, const std::vector<uint64_t>& shape,
                             const std::vector<T>& numbers,
                             std::vector<std::string> dimensions = {}) {
    return AddArray(std::make_shared<MemoryArray>(type, shape, RawOf(numbers)),
                    std::move(dimensions));
  }
  Figure Show() {
    const SamplePlan plan = PlanSamples(Input());
    const auto dimensions = DescribeDimensions(plan);
    EXPECT_THAT(dimensions, IsOk());
    const auto samples = ReadSamples(plan, nullptr);
    EXPECT_THAT(samples, IsOk());
    auto figure = MakeFigure(plan, *dimensions, *samples);
    EXPECT_THAT(figure, IsOk());
    return *std::move(figure);
  }
};

TEST_F(PreviewFileTest, ArraysOfNumbersHaveOne) {
  for (const Datatype& type : {Datatype::Integer(1, true), Datatype::Float("float16", 2),
                               Datatype::Float("bfloat16", 2), Datatype::Complex(16),
                               Datatype::Bool(), Datatype::Time({.unit = "s"})}) {
    AddArray(type, {3, 4});
    EXPECT_TRUE(Has("preview.png")) << type.keyword();
  }
}

TEST_F(PreviewFileTest, OtherArraysHaveNone) {
  for (const Datatype& type :
       {Datatype::Opaque(4), Datatype::FixedString(3, model::Charset::kAscii),
        Datatype::Array(Datatype::Float32(), {2}),
        Datatype::PackedCompound({{"a", Datatype::Float32()}})}) {
    AddArray(type, {3, 4});
    EXPECT_FALSE(Has("preview.png")) << type.keyword();
  }
  AddArray(Datatype::Float32(), {0, 4});
  EXPECT_FALSE(Has("preview.png")) << "no elements";
}

TEST_F(PreviewFileTest, ASliceHasNone) {
  AddArray(Datatype::Float32(), {3, 4});
  EXPECT_FALSE(Has("data[0].png"));
  EXPECT_FALSE(Has("preview[0].png"));
}

TEST_F(PreviewFileTest, MakingItDecodesNothing) {
  store_->AddDimCoord("/x", ndlfs::test::Undecodable(Datatype::Float64(), {3}));
  AddArray(std::make_shared<MemoryArray>(Datatype::Float64(), std::vector<uint64_t>{3},
                                         std::vector<uint64_t>{3},
                                         std::map<uint64_t, std::string>()),
           {"x"});
  const auto view = Make("preview.png");
  ASSERT_THAT(view, IsOk());
  EXPECT_EQ((*view)->size(), picture::kLeastFileBytes);
  EXPECT_EQ((*view)->held_bytes(), 0U);
}

TEST_F(PreviewFileTest, HoldsNoMoreThanThePicture) {
  AddArray(Datatype::Integer(2, true), {30, 40});
  const auto view = Make("preview.png");
  ASSERT_THAT(view, IsOk());
  std::byte byte{};
  ASSERT_THAT((*view)->Read(1, {&byte, 1}), test::IsOkAnd(size_t{1}));
  EXPECT_EQ(byte, std::byte{'P'});
  EXPECT_GT((*view)->held_bytes(), 1000U);
  EXPECT_LT((*view)->held_bytes(), 100'000U);
}

TEST_F(PreviewFileTest, IsAPngOfTheSizeItSays) {
  AddArray(Datatype::Float32(), {30, 40});
  const auto file = Read("preview.png");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), 8192U) << "of 4,800 bytes of elements";
  const auto pixels = picture::test::ReadPng(*file);
  EXPECT_EQ(pixels.width, picture::kFigureWidth / 2);
  EXPECT_EQ(pixels.height, picture::kFigureHeight / 2);
}

TEST_F(PreviewFileTest, LargeArraysHaveLargePictures) {
  AddArray(Datatype::Float32(), {200, 300});
  const auto file = Read("preview.png");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), picture::kMostFileBytes);
  EXPECT_EQ(picture::test::ReadPng(*file).width, picture::kFigureWidth);
}

TEST_F(PreviewFileTest, AThumbnailIsSmallAndFoundByItsName) {
  AddArray(Datatype::Float32(), {200, 300});
  const auto file = Read("thumbnail.png");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), picture::kMostThumbnailBytes);
  EXPECT_EQ(picture::test::ReadPng(*file).width, picture::kThumbnailWidth);
  EXPECT_FALSE(ArrayViews().Resolve(Input(), "thumbnail.png")->is_listed);
}

TEST_F(PreviewFileTest, ManySmallArraysCostNoMoreThanThreeTimesTheirBytes) {
  uint64_t pictures = 0;
  constexpr uint64_t kArrays = 5000;
  AddArray(Datatype::Float64(), {300});
  pictures += kArrays * *Make("preview.png").value()->size();
  EXPECT_LE(pictures, uint64_t{36} * 1000 * 1000) << "of 12 MB";
}

TEST_F(PreviewFileTest, ColoursOfPixelsAreKept) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 6; ++i) pixels.insert(pixels.end(), {static_cast<uint8_t>(40 * i), 7, 9});
  AddNumbers(Datatype::Integer(1, false), {2, 3, 3}, pixels);
  const auto file = Read("preview.png");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->size(), picture::kLeastFileBytes);
  const auto picture = picture::test::ReadPng(*file);
  for (uint8_t i = 0; i < 6; ++i) {
    EXPECT_GT(picture.Count({static_cast<uint8_t>(40 * i), 7, 9}), 12'000U) << int{i};
  }
}

TEST_F(PreviewFileTest, TransparentPixelsAreWhite) {
  const std::vector<uint8_t> pixels = {200, 0, 0, 255, 200, 0, 0, 0,
                                       200, 0, 0, 255, 200, 0, 0, 255};
  AddNumbers(Datatype::Integer(1, false), {2, 2, 4}, pixels);
  const Figure figure = Show();
  const auto& photo = std::get<picture::Photo>(figure.content);
  EXPECT_EQ(photo.pixels[0], (picture::Colour{200, 0, 0}));
  EXPECT_EQ(photo.pixels[1], picture::kWhite);
}

TEST_F(PreviewFileTest, ColoursThatAreMultipliedByAlphaLieOverWhite) {
  const std::vector<uint8_t> pixels = {100, 0, 0, 128, 0, 0, 0, 0, 1, 2, 3, 255, 255, 0, 0, 9};
  AddNumbers(Datatype::Integer(1, false), {2, 2, 4}, pixels, {"y", "x", "band"}).attributes = {
      TextAttribute("PhotometricInterpretation", "RGB"), NumberAttribute("ExtraSamples", 1)};
  const Figure figure = Show();
  using picture::Colour;
  EXPECT_THAT(std::get<picture::Photo>(figure.content).pixels,
              ::testing::ElementsAre(Colour{227, 127, 127}, picture::kWhite, Colour{1, 2, 3},
                                     Colour{255, 246, 246}))
      << "more than white is white";
}

TEST_F(PreviewFileTest, ColoursOf16BitsAreInOneRange) {
  const auto show = [&](const std::vector<uint64_t>& shape,
                        const std::vector<std::string>& names,
                        const std::vector<uint16_t>& numbers) {
    AddNumbers(Datatype::Integer(2, false), shape, numbers, names).attributes = {
        TextAttribute("PhotometricInterpretation", "RGB")};
    const SamplePlan plan = PlanPicture(Input()).value();
    const auto dimensions = DescribeDimensions(plan).value();
    const Figure figure =
        MakeFigure(plan, dimensions, ReadSamples(plan, nullptr).value()).value();
    return std::get<picture::Photo>(figure.content).pixels;
  };
  using picture::Colour;
  const auto colours = ::testing::ElementsAre(Colour{0, 0, 0}, Colour{255, 0, 0},
                                              Colour{0, 128, 0}, Colour{255, 255, 255});
  EXPECT_THAT(show({2, 2, 3}, {"y", "x", "band"},
                   {1000, 1000, 1000, 3000, 1000, 1000, 1000, 2000, 1000, 3000, 3000, 3000}),
              colours);
  EXPECT_THAT(show({3, 2, 2}, {"band", "y", "x"},
                   {1000, 3000, 1000, 3000, 1000, 1000, 2000, 3000, 1000, 1000, 1000, 3000}),
              colours)
      << "stored one after the other";
}

TEST_F(PreviewFileTest, AFileWithoutAnyChunkIsAnErrorThatIsKept) {
  store_->AddArray("/t", ndlfs::test::Undecodable(Datatype::Float32(), {5, 5}));
  const auto view = Make("preview.png");
  ASSERT_THAT(view, IsOk());
  std::byte byte{};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT((*view)->Read(0, {&byte, 1}),
                IsError(model::ErrorCode::kCorrupt, HasSubstr("chunk 0.0")));
  }
}

TEST_F(PreviewFileTest, ReadersAtTheSameTimeGetTheSame) {
  AddArray(Datatype::Float32(), {30, 40});
  const ViewPtr view = Make("preview.png").value();
  std::vector<std::string> files(4, std::string(*view->size(), '?'));
  std::vector<std::thread> threads;
  for (std::string& file : files) {
    threads.emplace_back(
        [&] { EXPECT_THAT(view->Read(0, std::as_writable_bytes(std::span(file))), IsOk()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& file : files) EXPECT_EQ(file, files.front());
}

TEST_F(PreviewFileTest, AMapSaysWhatItShows) {
  AddLongitude();
  AddLatitude();
  AddCoordinate("time", {0, 6, 12}, {TextAttribute("units", "hours since 2000-01-01")});
  auto& array = AddNumbers(Datatype::Float32(), {3, 3, 4}, std::vector<float>(36, 1),
                           {"time", "lat", "lon"});
  array.attributes = {TextAttribute("long_name", "2 metre temperature"),
                      TextAttribute("units", "m s-1")};
  const Figure figure = Show();
  EXPECT_EQ(figure.title, "2 metre temperature");
  EXPECT_EQ(figure.subtitle, "t  \u00b7  time = 2000-01-01 06:00");
  EXPECT_EQ(figure.x.label, "longitude");
  EXPECT_EQ(figure.bar->label, "m s\u207b\u00b9");
  EXPECT_NEAR(figure.aspect, 2.0 / 6, 1e-6) << "degrees are as long in both directions";
  EXPECT_EQ(figure.note, "");
}

TEST_F(PreviewFileTest, CellsStandWhereTheirElementsAre) {
  AddCoordinate("y", {5, 4, 3});  // the first row is at the top
  AddCoordinate("x", {20, 10});   // the first column is at the right
  AddNumbers(Datatype::Float64(), {3, 2}, std::vector<double>{0, 1, 2, 3, 4, kNan}, {"y", "x"});
  const Figure figure = Show();
  const auto& map = std::get<CellMap>(figure.content);
  EXPECT_THAT(map.cells, ::testing::ElementsAre(CellMap::kMissing, 127, 96, 64, 32, 0));
  EXPECT_TRUE(figure.has_missing);
}

TEST_F(PreviewFileTest, WhatCannotBeReadIsSaid) {
  std::map<uint64_t, std::string> chunks = {{0, RawOf(std::vector<double>{1, 2})}};
  AddArray(std::make_shared<MemoryArray>(Datatype::Float64(), std::vector<uint64_t>{2, 2},
                                         std::vector<uint64_t>{1, 2}, std::move(chunks)));
  const Figure figure = Show();
  EXPECT_TRUE(figure.has_broken);
  EXPECT_THAT(figure.note, HasSubstr("1 of 2 chunks cannot be read: "));
  EXPECT_THAT(figure.note, HasSubstr("chunk 1.0"));
  const auto& map = std::get<CellMap>(figure.content);
  EXPECT_EQ(map.cells[0], CellMap::kBroken) << "the last row is at the bottom";
  EXPECT_NE(map.cells[2], CellMap::kBroken);
}

TEST_F(PreviewFileTest, AllMissingIsSaid) {
  AddNumbers(Datatype::Float64(), {3, 3}, std::vector<double>(9, kNan));
  const Figure figure = Show();
  EXPECT_THAT(figure.subtitle, HasSubstr("all values are missing"));
  EXPECT_FALSE(figure.bar);
  AddNumbers(Datatype::Float64(), {9}, std::vector<double>(9, kNan));
  EXPECT_THAT(Show().subtitle, HasSubstr("all values are missing"));
  EXPECT_THAT(Read("preview.png"), IsOk());
}

TEST_F(PreviewFileTest, OneElementIsANumber) {
  AddNumbers(Datatype::Float64(), {1, 1}, std::vector<double>{-2.5}).attributes = {
      TextAttribute("units", "K")};
  EXPECT_EQ(std::get<picture::OneNumber>(Show().content).text, "\u22122.5 K");
  AddNumbers(Datatype::Bool(), {}, std::vector<uint8_t>{1});
  EXPECT_EQ(std::get<picture::OneNumber>(Show().content).text, "true");
  AddNumbers(Datatype::Time({.unit = "s"}), {}, std::vector<int64_t>{3600});
  EXPECT_EQ(std::get<picture::OneNumber>(Show().content).text, "1970-01-01 01:00");
}

TEST_F(PreviewFileTest, NamesOfValuesAreShown) {
  const Datatype type =
      Datatype::Enum(Datatype::Integer(1, false), {{"water", 4}, {"land", 9}, {"ice", 2}});
  AddNumbers(type, {2, 2}, std::vector<uint8_t>{4, 9, 9, 2});
  const Figure map = Show();
  EXPECT_THAT(map.bar->categories, ::testing::ElementsAre("ice", "water", "land"));
  EXPECT_THAT(std::get<CellMap>(map.content).cells, ::testing::ElementsAre(2, 0, 1, 2));
  AddNumbers(type, {3}, std::vector<uint8_t>{4, 9, 2});
  EXPECT_EQ(Show().y.ticks.size(), 3U);
  auto& flags = AddNumbers(Datatype::Integer(1, true), {2, 2}, std::vector<int8_t>{1, 2, 2, 1});
  flags.attributes = {TextAttribute("flag_meanings", "clear cloudy"),
                      NumberAttribute("flag_values", 1)};
  flags.attributes[1].value =
      model::Value(model::Value::List{model::Value(1.0), model::Value(2.0)});
  EXPECT_THAT(Show().bar->categories, ::testing::ElementsAre("clear", "cloudy"));
  flags.attributes[0] = TextAttribute("flag_meanings", "clear");
  EXPECT_THAT(Show().bar->categories, ::testing::ElementsAre("1", "2")) << "a name is missing";
}

TEST_F(PreviewFileTest, LabelsHaveColoursWithoutAnOrder) {
  const std::vector<model::Attribute> attributes = {
      TextAttribute("long_name", "Segmentation of cells")};
  AddNumbers(Datatype::Integer(2, false), {2, 2}, std::vector<uint16_t>{0, 7, 7, 300})
      .attributes = attributes;
  const Figure legend = Show();
  EXPECT_THAT(std::get<CellMap>(legend.content).palette, ::testing::SizeIs(2));
  EXPECT_THAT(legend.bar->categories, ::testing::ElementsAre("0", "7", "300"));

  std::vector<uint16_t> many(20 * 20);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<uint16_t>(i);
  AddNumbers(Datatype::Integer(2, false), {20, 20}, many).attributes = attributes;
  const Figure figure = Show();
  const auto& map = std::get<CellMap>(figure.content);
  EXPECT_FALSE(figure.bar);
  EXPECT_THAT(figure.subtitle, HasSubstr("399 labels"));
  const auto colour = [&](size_t label) {
    const uint8_t cell = map.cells[map.cells.size() - 20 * (label / 20 + 1) + label % 20];
    return cell == CellMap::kBackground ? picture::kBackgroundInk : map.palette[cell];
  };
  EXPECT_EQ(colour(0), picture::kBackgroundInk);
  EXPECT_EQ(colour(7), picture::LabelColour(6)) << "as where there are few labels";
  EXPECT_EQ(legend.bar->category_colours[1], picture::LabelColour(6));
  EXPECT_EQ(legend.bar->category_colours[0], picture::kBackgroundInk);
  EXPECT_EQ(colour(1 + picture::kLabelColours), colour(1)) << "the colours repeat";

  AddNumbers(Datatype::Integer(2, false), {20, 20}, many).attributes = {
      TextAttribute("long_name", "first class counts"), TextAttribute("units", "m")};
  EXPECT_TRUE(std::get<CellMap>(Show().content).palette.empty()) << "they have a unit";
}

// An image of OME-Zarr at the root, whose only level is `0`.
class OmePictureTest : public PreviewFileTest {
 protected:
  void AddImage(const std::string& axes, const std::string& scale, Attributes more = {}) {
    more.push_back(TextAttribute("multiscales", R"([{"axes": [)" + axes +
                                                    R"(], "datasets": [{"path": "0",
            "coordinateTransformations": [{"type": "scale", "scale": )" +
                                                    scale + "}]}]}]"));
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = std::move(more);
  }
  void AddChannels(const std::string& omero) {
    AddImage(kAxes, "[1, 0.5, 0.5]", {TextAttribute("omero", omero)});
  }
  template <typename T>
  void AddLevel(const Datatype& type, const std::vector<uint64_t>& shape,
                const std::vector<T>& numbers) {
    store_->AddArray("/0", std::make_shared<MemoryArray>(type, shape, RawOf(numbers)));
  }
  Figure ShowImage() {
    const auto plan = PlanPicture(Input("0"));
    EXPECT_THAT(plan, IsOk());
    const auto dimensions = DescribeDimensions(*plan);
    EXPECT_THAT(dimensions, IsOk());
    const auto samples = ReadSamples(*plan, nullptr);
    EXPECT_THAT(samples, IsOk());
    auto figure = MakeFigure(*plan, *dimensions, *samples);
    EXPECT_THAT(figure, IsOk());
    return *std::move(figure);
  }
  // Two channels of 2 by 2 elements.
  void AddTwoChannels(const std::vector<uint16_t>& numbers) {
    AddLevel(Datatype::Integer(2, false), {2, 2, 2}, numbers);
  }

  static constexpr const char* kAxes =
      R"({"name": "c", "type": "channel"}, {"name": "y", "type": "space", "unit": "micrometer"},
         {"name": "x", "type": "space", "unit": "micrometer"})";
};

// Arrays of ramps along x, and a list that says which are smaller versions of which.
class SmallerLevelTest : public PreviewFileTest {
 protected:
  void AddList(const std::string& multiscales) {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        TextAttribute("multiscales", multiscales)};
  }
  void AddLevel(const std::string& path, const std::vector<uint64_t>& shape,
                const Datatype& type = Datatype::Integer(1, false)) {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    std::vector<uint8_t> numbers(count * type.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint8_t>(i % shape[1]);
    store_->AddArray(path, std::make_shared<MemoryArray>(type, shape, RawOf(numbers)));
  }
  SamplePlan Plan(std::string_view name) {
    const auto plan = PlanPicture(Input(name));
    EXPECT_THAT(plan, IsOk());
    return *plan;
  }
  std::string SubtitleOf(const SamplePlan& plan) {
    const auto dimensions = DescribeDimensions(plan);
    const auto samples = ReadSamples(plan, nullptr);
    auto figure = MakeFigure(plan, *dimensions, *samples);
    EXPECT_THAT(figure, IsOk());
    return figure->subtitle;
  }
};

TEST_F(SmallerLevelTest, LayoutOfGeoZarrNamesThem) {
  AddList(R"({"layout": [{"asset": "image"}, {"asset": "half", "derived_from": "image"},
      {"asset": "levels/quarter", "derived_from": "half"},
      {"asset": "levels/tiny", "derived_from": "image"},
      {"asset": "other"}, {"asset": "small", "derived_from": "other"}]})");
  store_->AddGroup("/levels");
  AddLevel("/image", {2000, 2800, 3});
  AddLevel("/half", {1000, 1400, 3});
  AddLevel("/levels/quarter", {500, 700, 3});
  AddLevel("/levels/tiny", {50, 70, 3});
  AddLevel("/other", {2000, 2800});
  AddLevel("/small", {700, 980}, Datatype::Integer(2, false));
  const SamplePlan plan = Plan("image");
  EXPECT_THAT(plan.whole.shape, ::testing::ElementsAre(500, 700, 3));
  EXPECT_EQ(plan.full_shape, (std::vector<uint64_t>{2000, 2800, 3}));
  EXPECT_EQ(plan.channels, 3U);
  EXPECT_EQ(SubtitleOf(plan), "from the level of 500 \u00d7 700");
  EXPECT_EQ(Plan("half").whole.shape[0], 500U);
  EXPECT_EQ(Plan("other").whole.shape[0], 2000U) << "the listed level has another type";
}

TEST_F(SmallerLevelTest, VolumesMayBeSmallerInDepth) {
  AddList(R"([{"axes": [{"name": "z", "type": "space"}, {"name": "y", "type": "space"},
                        {"name": "x", "type": "space"}],
               "datasets": [{"path": "0"}, {"path": "1"}]}])");
  AddLevel("/0", {6, 1200, 1600});
  AddLevel("/1", {3, 600, 800});
  const SamplePlan plan = Plan("0");
  EXPECT_THAT(plan.whole.shape, ::testing::ElementsAre(3, 600, 800));
  EXPECT_EQ(SubtitleOf(plan),
            "z = #2 to #3  \u00b7  from the level of 3 \u00d7 600 \u00d7 800");
}

TEST_F(SmallerLevelTest, TimesAreNotMixed) {
  AddList(R"([{"axes": [{"name": "t", "type": "time"}, {"name": "y", "type": "space"},
                        {"name": "x", "type": "space"}],
               "datasets": [{"path": "0"}, {"path": "1"}]}])");
  AddLevel("/0", {6, 1200, 1600});
  AddLevel("/1", {3, 600, 800});
  EXPECT_EQ(Plan("0").whole.shape[0], 6U);
}

TEST_F(SmallerLevelTest, ListsThatLeadNowhereAreNotFollowed) {
  for (const char* list :
       {R"({"layout": [{"asset": "image"}, {"asset": "gone", "derived_from": "image"}]})",
        R"({"layout": [{"asset": "image"}, {"asset": "image", "derived_from": "image"}]})",
        R"({"layout": [{"asset": "image"}, {"asset": "../x", "derived_from": "image"}]})",
        R"({"layout": {"asset": "image"}})", R"({"layout": 7})", "{", "[]"}) {
    AddList(list);
    AddLevel("/image", {1200, 1600});
    EXPECT_EQ(Plan("image").whole.shape[0], 1200U) << list;
  }
}

TEST_F(OmePictureTest, LightOfChannelsAddsUp) {
  AddChannels(R"({"channels": [
      {"label": "DAPI", "color": "0000FF", "window": {"start": 0, "end": 100}},
      {"color": "#00ff00", "window": {"start": 100, "end": 300}}]})");
  AddTwoChannels({0, 50, 100, 200, 100, 100, 300, 200});
  const Figure figure = ShowImage();
  const auto& photo = std::get<picture::Photo>(figure.content);
  using picture::Colour;
  EXPECT_THAT(photo.pixels, ::testing::ElementsAre(Colour{0, 0, 0}, Colour{0, 0, 128},
                                                   Colour{0, 255, 255}, Colour{0, 128, 255}));
  EXPECT_THAT(figure.bar->categories, ::testing::ElementsAre("channel 1", "DAPI"));
  EXPECT_EQ(figure.bar->category_colours[1], (Colour{0, 0, 255}));
  EXPECT_THAT(figure.subtitle, ::testing::Not(HasSubstr("c =")));
  EXPECT_FALSE(figure.has_missing);
}

TEST_F(OmePictureTest, WindowsThatAreNoneAreThoseOfTheValues) {
  for (const char* window :
       {R"("window": {"start": NaN, "end": 3})", R"("window": {"start": 5, "end": 5})",
        R"("window": {"start": 9, "end": 3})", R"("window": {"start": "0", "end": []})",
        R"("window": {"start": -1e308, "end": 1e308})",
        R"("window": {"start": 0, "end": Infinity})", R"("window": 7)", R"("active": true)"}) {
    AddChannels(std::string(R"({"channels": [{"color": "ff0000", )") + window +
                R"(}, {"color": "00FF00"}]})");
    AddTwoChannels({10, 20, 30, 40, 7, 7, 7, 7});
    const Figure figure = ShowImage();
    const auto& photo = std::get<picture::Photo>(figure.content);
    EXPECT_EQ(photo.pixels.front().red, 0) << window;
    EXPECT_EQ(photo.pixels.back().red, 255) << window;
    EXPECT_EQ(photo.pixels.back().green, 128) << "one value is neither dark nor light";
  }
}

TEST_F(OmePictureTest, ChannelsThatAreNotActiveAreLeftOut) {
  AddChannels(R"({"channels": [{"color": "ff0000"}, {"color": "00ff00"},
      {"color": "0000ff", "active": false}]})");
  AddLevel(Datatype::Integer(1, false), {3, 2, 2},
           std::vector<uint8_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8});
  const Figure two = ShowImage();
  EXPECT_THAT(two.subtitle, HasSubstr("2 of 3 channels"));
  EXPECT_EQ(two.bar->categories.size(), 2U);

  AddChannels(R"({"channels": [{"color": "ff0000", "active": false}, {"label": "GFP",
      "color": "00ff00", "window": {"start": 4, "end": 6}}, {"active": false}]})");
  const Figure one = ShowImage();
  EXPECT_TRUE(std::holds_alternative<CellMap>(one.content))
      << "one channel is a map with a bar";
  EXPECT_THAT(one.subtitle, HasSubstr("c = GFP"));
  EXPECT_TRUE(one.bar->goes_above);
  EXPECT_FALSE(one.bar->goes_below);

  AddChannels(R"({"rdefs": {"model": "greyscale"}, "channels": [{"color": "ff0000"},
      {"color": "00ff00"}, {}]})");
  EXPECT_TRUE(std::holds_alternative<CellMap>(ShowImage().content));
}

TEST_F(OmePictureTest, ColoursThatAreNoneAreWhite) {
  for (const char* color : {"\"red\"", "\"GG0000\"", "17", "null", "[255, 0, 0]", "\"\""}) {
    AddChannels(std::string(R"({"channels": [{"color": )") + color +
                R"(}, {"color": "000000"}]})");
    AddTwoChannels({0, 1, 2, 3, 4, 5, 6, 7});
    const Figure figure = ShowImage();
    EXPECT_EQ(std::get<picture::Photo>(figure.content).pixels.back(), picture::kWhite) << color;
  }
  AddChannels(R"({"channels": [{"color": "red"}, {"color": 5}]})");
  EXPECT_TRUE(std::holds_alternative<CellMap>(ShowImage().content)) << "no colour at all";
}

TEST_F(OmePictureTest, ManyChannelsAreNotAllMixed) {
  std::string channels;
  for (int i = 0; i < 40; ++i) channels += R"({"color": "FFFFFF"},)";
  channels.pop_back();
  AddChannels(R"({"channels": [)" + channels + "]}");
  AddLevel(Datatype::Integer(1, false), {40, 2, 2}, std::vector<uint8_t>(160, 3));
  const Figure figure = ShowImage();
  EXPECT_EQ(figure.bar->categories.size(), kMostMixedChannels);
  EXPECT_THAT(figure.subtitle, HasSubstr("8 of 40 channels"));
}

TEST_F(OmePictureTest, InvertedChannelsAndMissingValues) {
  AddChannels(R"({"channels": [{"color": "ff0000", "inverted": true, "window":
      {"start": 0, "end": 2}}, {"color": "0000ff", "window": {"start": 0, "end": 2}}]})");
  AddLevel(Datatype::Float32(), {2, 1, 3},
           std::vector<float>{0, 2, NAN, INFINITY, -INFINITY, NAN});
  // A row of one element is no axis, so that channels are one.
  EXPECT_TRUE(std::holds_alternative<CellMap>(ShowImage().content));
  AddLevel(Datatype::Float32(), {2, 2, 2},
           std::vector<float>{0, 2, NAN, 1, INFINITY, -INFINITY, NAN, 9});
  const Figure figure = ShowImage();
  using picture::Colour;
  EXPECT_THAT(std::get<picture::Photo>(figure.content).pixels,
              ::testing::ElementsAre(Colour{255, 0, 255}, Colour{0, 0, 0},
                                     picture::kMissingGrey, Colour{128, 0, 255}));
}

TEST_F(OmePictureTest, ImagesHaveAScaleBar) {
  AddImage(kAxes, "[1, 2, 0.5]");
  AddLevel(Datatype::Integer(1, false), {1, 40, 400}, std::vector<uint8_t>(16'000, 1));
  const Figure figure = ShowImage();
  ASSERT_TRUE(figure.scale);
  EXPECT_EQ(figure.scale->label, "50 \u00b5m") << "a quarter of 200 micrometres";
  EXPECT_DOUBLE_EQ(figure.scale->part, 0.25);
  EXPECT_DOUBLE_EQ(figure.aspect, 2.5) << "pixels are four times as high as wide";
}

TEST_F(OmePictureTest, SizesThatAreNoneHaveNoScaleBar) {
  AddLevel(Datatype::Integer(1, false), {1, 40, 40}, std::vector<uint8_t>(1'600, 1));
  for (const char* scale : {"[1, 1, 0]", "[1, 1, Infinity]", "[1, 1, NaN]", "[1, 1]", "7",
                            "[1, 1, \"1\"]", "[1, 1, 1e300]", "[1, 1, 1e-300]"}) {
    AddImage(kAxes, scale);
    const Figure figure = ShowImage();
    EXPECT_FALSE(figure.scale) << scale;
    EXPECT_TRUE(std::isfinite(figure.aspect)) << scale;
  }
  AddImage(kAxes, "[1, 1, -0.5]");
  EXPECT_EQ(ShowImage().scale->label, "5 \u00b5m") << "an image that is mirrored has a size";
  AddImage(R"({"name": "c"}, {"name": "y"}, {"name": "x", "unit": "parrots"})", "[1, 1, 1]");
  EXPECT_FALSE(ShowImage().scale);
}

TEST_F(OmePictureTest, LabelsHaveTheColoursOfTheirImage) {
  AddImage(R"({"name": "y"}, {"name": "x"})", "[1, 1]", {TextAttribute("image-label", R"({
      "colors": [{"label-value": 1, "rgba": [255, 128, 0, 255]},
                 {"label-value": 2, "rgba": [1, 2, 3, 0]},
                 {"label-value": 3, "rgba": [1, 2, 300, 255]},
                 {"label-value": 4, "rgba": [1, 2, 3]}, {"label-value": "5"}, 7]})")});
  AddLevel(Datatype::Integer(4, true), {2, 3}, std::vector<int32_t>{0, 1, 2, 3, 4, -1});
  const Figure figure = ShowImage();
  EXPECT_THAT(figure.bar->categories,
              ::testing::ElementsAre("\u22121", "0", "1", "2", "3", "4"));
  using picture::Colour;
  using picture::kBackgroundInk;
  using picture::LabelColour;
  EXPECT_THAT(figure.bar->category_colours,
              ::testing::ElementsAre(LabelColour(picture::kLabelColours - 2), kBackgroundInk,
                                     Colour{255, 128, 0}, kBackgroundInk, LabelColour(2),
                                     LabelColour(3)));
  AddImage(R"({"name": "y"}, {"name": "x"})", "[1, 1]", {TextAttribute("image-label", "{}")});
  EXPECT_EQ(ShowImage().bar->category_colours[2], LabelColour(0));
  AddImage(R"({"name": "y"}, {"name": "x"})", "[1, 1]",
           {TextAttribute("image-label", "no JSON")});
  EXPECT_EQ(ShowImage().bar->category_colours[2], LabelColour(0));
}

TEST_F(OmePictureTest, LabelsWithMoreColoursThanAPaletteAreAPhoto) {
  std::string colors;
  std::vector<uint16_t> labels(900);
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<uint16_t>(i);
    colors +=
        fmt::format(R"({{"label-value": {}, "rgba": [{}, {}, 9, 255]}},)", i, i % 256, i / 256);
  }
  colors.pop_back();
  AddImage(R"({"name": "y"}, {"name": "x"})", "[1, 1]",
           {TextAttribute("image-label", R"({"colors": [)" + colors + "]}")});
  AddLevel(Datatype::Integer(2, false), {30, 30}, labels);
  const Figure figure = ShowImage();
  const auto& photo = std::get<picture::Photo>(figure.content);
  ASSERT_EQ(photo.pixels.size(), labels.size());
  EXPECT_EQ(photo.pixels[899], (picture::Colour{899 % 256, 899 / 256, 9}));
  EXPECT_EQ(photo.pixels[0], (picture::Colour{0, 0, 9})) << "0 has the colour that is listed";
}

TEST_F(PreviewFileTest, LevelsOfAnImageAreCalledAfterIt) {
  std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
      TextAttribute("multiscales", R"([{"name": "cells04", "datasets": [{"path": "0"}]}])")};
  store_->AddArray(
      "/0", std::make_shared<MemoryArray>(Datatype::Float64(), std::vector<uint64_t>{2, 2},
                                          RawOf(std::vector<double>{1, 2, 3, 4})));
  EXPECT_EQ(TellingName(Input("0")), "cells04, level 0");
  AddNumbers(Datatype::Float64(), {2, 2}, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(Show().title, "t") << "a name that says something stays";
}

TEST_F(PreviewFileTest, ManyPowersOfTenAreLogarithmic) {
  std::vector<double> numbers;
  for (int i = 0; i < 400; ++i) numbers.push_back(std::pow(10, i / 20.0 - 10));
  AddNumbers(Datatype::Float64(), {400}, numbers);
  const Figure figure = Show();
  const auto& points = std::get<LinePlot>(figure.content).points;
  EXPECT_NEAR(points[200].y, 0.5, 0.02);
  AddNumbers(Datatype::Float64(), {20, 20}, numbers);
  EXPECT_NE(std::get<CellMap>(Show().content).cells[0], 0) << "not one colour for nearly all";
}

TEST_F(PreviewFileTest, PowersOfTenMayGoOverMoreThanADoubleCan) {
  std::vector<double> numbers;
  for (int i = 0; i < 400; ++i) numbers.push_back(std::pow(10, i * 1.5 - 299));
  AddNumbers(Datatype::Float64(), {400}, numbers);
  const Figure line = Show();
  const auto& points = std::get<LinePlot>(line.content).points;
  EXPECT_NEAR(points[100].y, 0.25, 0.04);
  EXPECT_NEAR(points[300].y, 0.75, 0.04);
  AddNumbers(Datatype::Float64(), {20, 20}, numbers);
  const Figure map = Show();
  const auto& cells = std::get<CellMap>(map.content).cells;
  EXPECT_GT(cells[100], cells[200] + 20) << "rows begin at the bottom";
  EXPECT_GT(cells[200], cells[300] + 20);
}

TEST_F(PreviewFileTest, ExtremesAreHarmless) {
  const double most = std::numeric_limits<double>::max();
  const double inf = std::numeric_limits<double>::infinity();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const std::vector<double>& numbers : {std::vector<double>{-most, most, 0, 1},
                                             {inf, -inf, inf, -inf},
                                             {inf, 1, 2, 3},
                                             {least, 0, least, 0},
                                             {most, most, most, most},
                                             {1e300, 1e-300, 1, kNan}}) {
    AddNumbers(Datatype::Float64(), {2, 2}, numbers);
    EXPECT_THAT(Read("preview.png"), IsOk());
    AddNumbers(Datatype::Float64(), {4}, numbers);
    EXPECT_THAT(Read("preview.png"), IsOk());
    AddNumbers(Datatype::Float64(), {}, std::vector<double>{numbers[0]});
    EXPECT_THAT(Read("preview.png"), IsOk());
  }
}

TEST(ColourRangeTest, LeavesOutFewOutliers) {
  std::vector<double> values;
  for (int i = 0; i < 1000; ++i) values.push_back(i % 100 + 1000);
  EXPECT_EQ(ChooseRange(values).high, 1099);
  values[3] = 1e30;
  const ColourRange range = ChooseRange(values);
  EXPECT_LT(range.high, 1100);
  EXPECT_TRUE(range.goes_above);
  EXPECT_FALSE(range.is_logarithmic);
}

TEST(ColourRangeTest, IsSymmetricAroundZeroWhereValuesAre) {
  const ColourRange range = ChooseRange({-9, 10, 3});
  EXPECT_EQ(range.low, -10);
  EXPECT_EQ(range.high, 10);
  EXPECT_EQ(range.colours, picture::ColourMap::kDiverging);
  EXPECT_EQ(ChooseRange({-1, 10}).colours, picture::ColourMap::kSequential);
}

TEST(ColourRangeTest, OfOneValueIsNotEmpty) {
  for (const double value : {0.0, 7.0, -1e10}) {
    const ColourRange range = ChooseRange({value, value});
    EXPECT_LT(range.low, value);
    EXPECT_GT(range.high, value);
  }
}

}  // namespace
}  // namespace ndlfs::fs
