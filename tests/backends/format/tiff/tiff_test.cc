// SPDX-License-Identifier: MIT
//
// TIFF files as stores: those of other programs, and those that are wrong.
#include "backends/format/tiff/tiff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/codec/picture/picture.h"
#include "backends/format/source_notes.h"
#include "backends/format/tiff/directory.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "tests/backends/codec/picture_goldens.h"
#include "tests/backends/format/tiff/goldens.h"
#include "tests/support/memory_source.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/tiff_builder.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using test::TiffBuilder;
using test::TiffField;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FromBase64(std::string_view text) {
  const auto bytes = model::DecodeBase64(text).value();
  return std::string(AsText(bytes));
}

class TiffTest : public testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> TryOpen(const std::string& bytes,
                                                          const OpenOptions& options = {}) {
    source_->Put("a.tif", bytes);
    source_->ForgetReads();
    return TiffFormat().Open(source_, "a.tif", options);
  }
  void Open(const std::string& bytes, const OpenOptions& options = {}) {
    auto opened = TryOpen(bytes, options);
    ASSERT_THAT(opened, IsOk());
    hierarchy_ = *std::move(opened);
  }

  std::shared_ptr<const Node> Load(const std::string& path) const {
    return hierarchy_->Load(path).value();
  }
  std::vector<uint64_t> Shape(const std::string& path) const {
    std::vector<uint64_t> shape;
    for (const auto& dim : Load(path)->array().shape) shape.push_back(dim.size.value());
    return shape;
  }
  std::vector<std::string> Dims(const std::string& path) const {
    return Load(path)->array().dimension_names;
  }
  model::Result<std::string> Elements(const std::string& path) const {
    return test::ReadWhole(*Load(path)->source);
  }
  std::vector<double> Numbers(const std::string& path) const {
    const std::string bytes = Elements(path).value();
    std::vector<double> numbers(bytes.size() / sizeof(double));
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }
  // The message why the array cannot be read.
  std::string ErrorOf(const std::string& path) const {
    const auto node = Load(path);
    if (node->error) return node->error->message();
    const auto read = test::ReadWhole(*node->source);
    return read ? "no error" : read.error().message();
  }

  const std::shared_ptr<test::MemorySource> source_ = test::MemorySource::Make();
  std::shared_ptr<const Hierarchy> hierarchy_;
};

class TiffGoldenTest : public TiffTest, public testing::WithParamInterface<TiffGolden> {};

TEST_P(TiffGoldenTest, HasTheElementsThatWereWritten) {
  const std::string_view name = GetParam().test_name;
  const bool is_built_in = (!name.starts_with("Jpeg") || HasPictures(PictureKind::kJpeg)) &&
                           (!name.starts_with("Lerc") || HasPictures(PictureKind::kLerc)) &&
                           (!name.starts_with("Webp") || HasPictures(PictureKind::kWebp));
  if (!is_built_in) GTEST_SKIP() << "not built in";
  Open(FromBase64(GetParam().file));
  ASSERT_EQ(Load(GetParam().array)->error, std::nullopt);
  EXPECT_EQ(Shape(GetParam().array), GetParam().shape);
  EXPECT_THAT(Elements(GetParam().array), IsOkAnd(FromBase64(GetParam().elements)));
}

// A file that ends anywhere is an error or shows elements; nothing else happens.
TEST_P(TiffGoldenTest, IsNoStoreOrShowsErrorsIfItIsCut) {
  const std::string file = FromBase64(GetParam().file);
  for (size_t size = 0; size < file.size(); size += 41) {
    const auto opened = TryOpen(file.substr(0, size));
    if (!opened) continue;
    const auto node = (*opened)->Load(GetParam().array);
    if (node && (*node)->source) (void)test::ReadWhole(*(*node)->source);
  }
}

INSTANTIATE_TEST_SUITE_P(OfOtherPrograms, TiffGoldenTest, testing::ValuesIn(kTiffGoldens),
                         [](const auto& info) { return std::string(info.param.test_name); });

// One image of 2 x 3 bytes, in a file that has the numbers 1 to 6 at `offset`.
std::string SmallImage(const std::function<void(TiffBuilder::Fields&)>& change = nullptr) {
  TiffBuilder file;
  auto fields = TiffBuilder::Image(3, 2, 8, file.Data("\1\2\3\4\5\6"));
  if (change) change(fields);
  file.Directory(fields);
  return file.file();
}

TEST_F(TiffTest, DimensionsHaveNames) {
  Open(SmallImage());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image")));
  EXPECT_THAT(Dims("/image"), ElementsAre("y", "x"));
  EXPECT_THAT(Elements("/image"), IsOkAnd("\1\2\3\4\5\6"));
  EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "PhotometricInterpretation"),
            "BlackIsZero");
  EXPECT_THAT(hierarchy_->Load("/other"), IsError(ErrorCode::kNotFound, _));
  EXPECT_THAT(hierarchy_->List("/image"), IsError(ErrorCode::kNotFound, _));
}

TEST_F(TiffTest, StripsWithoutGapsAreReadInPlace) {
  Open(SmallImage([](auto& fields) {
    fields[278] = {4, {1}};
    fields[273] = {4, {8, 11}};
    fields[279] = {3, {3, 3}};
  }));
  EXPECT_TRUE(Load("/image")->source->contiguous());
  Open(SmallImage([](auto& fields) {
    fields[278] = {4, {1}};
    fields[273] = {4, {11, 8}};
    fields[279] = {3, {3, 3}};
  }));
  EXPECT_FALSE(Load("/image")->source->contiguous());
  EXPECT_THAT(Elements("/image"), IsOkAnd("\4\5\6\1\2\3"));
}

TEST_F(TiffTest, TilesThatAreNotStoredHaveTheValueForNoData) {
  TiffBuilder file;
  auto fields = TiffBuilder::Image(3, 2, 8, 8);
  const auto data = file.Data("\1\2\3\4");
  file.Directory(TiffBuilder::Tiled(fields, 2, 2, {data, 0}, {4, 0}));
  Open(file.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd(std::string("\1\2\0\3\4\0", 6)));
  fields[42113] = {.type = 2, .bytes = "9", .count = 2};
  TiffBuilder other;
  (void)other.Data("\1\2\3\4");
  other.Directory(TiffBuilder::Tiled(fields, 2, 2, {data, 0}, {4, 0}));
  Open(other.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd("\1\2\x9\3\4\x9"));
  EXPECT_EQ(model::NumberOf(Load("/image")->attributes(), "_FillValue"), 9);
}

TiffField Reals(const std::vector<double>& numbers) {
  TiffField field{.type = 12};
  for (const double number : numbers) field.values.push_back(std::bit_cast<uint64_t>(number));
  return field;
}

TiffBuilder::Fields Placed(TiffBuilder::Fields fields) {
  fields[33550] = Reals({10, 20, 0});
  fields[33922] = Reals({0, 0, 0, 500000, 4000000, 0});
  fields[34735] = {3, {1, 1, 0, 3, 1024, 0, 1, 1, 3072, 0, 1, 32632, 3076, 0, 1, 9001}};
  return fields;
}

TEST_F(TiffTest, PixelsHaveCoordinatesOfTheirMiddle) {
  Open(SmallImage([](auto& fields) { fields = Placed(fields); }));
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "spatial_ref", "x", "y")));
  EXPECT_THAT(Numbers("/x"), ElementsAre(500005, 500015, 500025));
  EXPECT_THAT(Numbers("/y"), ElementsAre(3999990, 3999970));
  EXPECT_EQ(Load("/image")->array().shape[1].dimcoord, "/x");
  EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "grid_mapping"), "spatial_ref");
  const auto& attributes = Load("/spatial_ref")->attributes();
  EXPECT_EQ(model::TextOf(attributes, "epsg_code"), "EPSG:32632");
  EXPECT_EQ(model::TextOf(attributes, "grid_mapping_name"), "transverse_mercator");
  EXPECT_EQ(model::NumberOf(attributes, "longitude_of_central_meridian"), 9);
  EXPECT_EQ(model::NumberOf(attributes, "false_northing"), 0);
  EXPECT_EQ(model::NumberOf(attributes, "semi_major_axis"), 6378137);
  EXPECT_EQ(model::TextOf(attributes, "GeoTransform"), "500000 10 0 4000000 0 -20");
  EXPECT_EQ(model::TextOf(Load("/x")->attributes(), "units"), "m");
}

TEST_F(TiffTest, PointsHaveTheCoordinatesThatTheFieldsSay) {
  Open(SmallImage([](auto& fields) {
    fields = Placed(fields);
    fields[34735] = {3, {1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 2, 2048, 0, 1, 4326}};
  }));
  EXPECT_THAT(Numbers("/x"), ElementsAre(500000, 500010, 500020));
  EXPECT_EQ(model::TextOf(Load("/y")->attributes(), "units"), "degrees_north");
  EXPECT_EQ(model::TextOf(Load("/spatial_ref")->attributes(), "epsg_code"), "EPSG:4326");
  EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "AREA_OR_POINT"), "Point");
}

TEST_F(TiffTest, OtherMeridiansAndUnitsOfAnglesHaveNoSystem) {
  const auto is_named = [&](uint64_t model, std::vector<uint64_t> keys, double meridian) {
    Open(SmallImage([&](auto& fields) {
      fields = Placed(fields);
      std::vector<uint64_t> all = {1, 1, 0, 0, 1024, 0, 1, model, 3075, 0, 1, 1};
      all.insert(all.begin() + 8, keys.begin(), keys.end());
      all[3] = all.size() / 4 - 1;
      fields[34735] = {3, all};
      fields[34736] = Reals({meridian});
    }));
    const bool has_system =
        !model::TextOf(Load("/spatial_ref")->attributes(), "grid_mapping_name").empty();
    const auto& x = Load("/x")->attributes();
    if (model == 2) {
      EXPECT_EQ(model::TextOf(x, "units"), has_system ? "degrees_east" : "");
      EXPECT_EQ(model::TextOf(x, "standard_name"), has_system ? "longitude" : "");
    }
    return has_system;
  };
  for (const uint64_t model : {1, 2}) {
    EXPECT_TRUE(is_named(model, {}, 0));
    EXPECT_TRUE(is_named(model, {2048, 0, 1, 4326}, 0));
    EXPECT_TRUE(is_named(model, {2051, 0, 1, 8901, 2054, 0, 1, 9102}, 0));
    EXPECT_TRUE(is_named(model, {2051, 0, 1, 32767, 2061, 34736, 1, 0}, 0));
    EXPECT_FALSE(is_named(model, {2061, 34736, 1, 0}, 2.33722917)) << "Paris";
    EXPECT_FALSE(is_named(model, {2051, 0, 1, 8903}, 0)) << "Paris";
    EXPECT_FALSE(is_named(model, {2051, 0, 1, 8903, 2061, 34736, 1, 0}, 0));
    EXPECT_FALSE(is_named(model, {2051, 0, 1, 32767}, 0)) << "any";
    EXPECT_FALSE(is_named(model, {2054, 0, 1, 9105}, 0)) << "grads";
    EXPECT_FALSE(is_named(model, {2048, 0, 1, 4807}, 0)) << "grads from Paris";
    EXPECT_EQ(model::TextOf(Load("/spatial_ref")->attributes(), "epsg_code"), "");
  }
}

TEST_F(TiffTest, SinusoidalSystemIsAlsoText) {
  const auto text_of = [&](double major, double minor, uint64_t method) {
    Open(SmallImage([&](auto& fields) {
      fields = Placed(fields);
      fields[34735] = {
          3, {1,    1, 0, 7,      1024, 0, 1, 1,    2057, 34736, 1, 0, 2058, 34736, 1, 1,
              3075, 0, 1, method, 3076, 0, 1, 9001, 3080, 34736, 1, 2, 3082, 34736, 1, 3}};
      fields[34736] = Reals({major, minor, 15, 1000.5});
    }));
    return model::TextOf(Load("/spatial_ref")->attributes(), "spatial_ref");
  };
  EXPECT_EQ(text_of(6371000, 6371000, 24),
            "PROJCS[\"Sinusoidal\",GEOGCS[\"unknown\",DATUM[\"unknown\","
            "SPHEROID[\"unknown\",6371000,0]],PRIMEM[\"Greenwich\",0],"
            "UNIT[\"degree\",0.0174532925199433]],PROJECTION[\"Sinusoidal\"],"
            "PARAMETER[\"longitude_of_center\",15],PARAMETER[\"false_easting\",1000.5],"
            "PARAMETER[\"false_northing\",0],UNIT[\"metre\",1],AXIS[\"Easting\",EAST],"
            "AXIS[\"Northing\",NORTH]]");
  EXPECT_THAT(text_of(6378137, 6378137.0 * 299 / 300, 24), Not(HasSubstr(",6378137,0]")));
  EXPECT_EQ(text_of(6371000, 6371000, 1), "");
}

TEST_F(TiffTest, RotatedPixelsHaveATransformAndNoCoordinates) {
  Open(SmallImage([](auto& fields) {
    fields[34264] = Reals({1, 2, 0, 30, 4, 5, 0, 60, 0, 0, 0, 0, 0, 0, 0, 1});
  }));
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "spatial_ref")));
  EXPECT_EQ(model::TextOf(Load("/spatial_ref")->attributes(), "GeoTransform"), "30 1 2 60 4 5");
}

TEST_F(TiffTest, KeysOutsideOfTheirFieldsAreIgnored) {
  Open(SmallImage([](auto& fields) {
    fields = Placed(fields);
    fields[34735] = {3, {1, 1, 0, 2, 2057, 34736, 1, 500, 1026, 34737, 9, 65535, 77}};
    fields[34736] = Reals({1});
    fields[34737] = {.type = 2, .bytes = "ab|", .count = 4};
  }));
  EXPECT_THAT(Numbers("/x"), ElementsAre(500005, 500015, 500025));
  EXPECT_EQ(model::NumberOf(Load("/spatial_ref")->attributes(), "semi_major_axis"),
            std::nullopt);
}

TEST_F(TiffTest, NumberForNoDataMayBeSpeltInManyWays) {
  const std::pair<const char*, double> kTexts[] = {
      {"-9999", -9999}, {" +7.5 ", 7.5}, {"-1.#INF", -HUGE_VAL}, {"inf", HUGE_VAL}};
  for (const auto& [text, number] : kTexts) {
    TiffBuilder file;
    auto fields = TiffBuilder::Image(1, 1, 32, file.Data(std::string(4, '\0')));
    fields[339] = {3, {3}};
    const std::string stored = std::string(text) + '\0';
    fields[42113] = {.type = 2, .bytes = stored, .count = stored.size()};
    file.Directory(fields);
    Open(file.file());
    EXPECT_EQ(model::NumberOf(Load("/image")->attributes(), "_FillValue"), number) << text;
  }
  // A number that the type does not have is no value for missing elements.
  Open(
      SmallImage([](auto& fields) { fields[42113] = {.type = 2, .bytes = "-1", .count = 3}; }));
  EXPECT_EQ(model::NumberOf(Load("/image")->attributes(), "_FillValue"), std::nullopt);
}

TEST_F(TiffTest, DateInTheNameIsTheTime) {
  const std::string date = "2021:02:03 04:05:06";
  const std::string bytes = SmallImage([&](auto& fields) {
    fields[306] = {.type = 2, .bytes = date, .count = date.size() + 1};
  });
  const std::pair<const char*, double> kNames[] = {
      {"T32_20200103T101530_B04.tif", 1578046530},
      {"scene-2020-01-03.tif", 1578009600},
      {"LC08_042034_20200103_20200113.tif", 1578009600},  // no time follows
      {"123456789_20201399.tif", 1612325106},             // no dates: the field has one
  };
  for (const auto& [name, seconds] : kNames) {
    source_->Put(name, bytes);
    hierarchy_ = TiffFormat().Open(source_, name, {}).value();
    EXPECT_THAT(Numbers("/time"), ElementsAre(seconds)) << name;
    EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "coordinates"), "time");
  }
}

TEST_F(TiffTest, MetadataOfGdalBecomeAttributes) {
  const std::string xml =
      "<GDALMetadata><Item name=\"Instrument\">OLI</Item>"
      "<Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item>"
      "<Item name=\"OFFSET\" sample=\"0\" role=\"offset\">-3</Item>"
      "<Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">K</Item>"
      "<Item name=\"DESCRIPTION\" sample=\"0\" role=\"description\">red</Item>"
      "<Item name=\"SCALE\" sample=\"77\" role=\"scale\">7</Item></GDALMetadata>";
  Open(SmallImage([&](auto& fields) {
    fields[42112] = {.type = 2, .bytes = xml, .count = xml.size() + 1};
  }));
  const auto& attributes = Load("/image")->attributes();
  EXPECT_EQ(model::NumberOf(attributes, "scale_factor"), 0.5);
  EXPECT_EQ(model::NumberOf(attributes, "add_offset"), -3);
  EXPECT_EQ(model::TextOf(attributes, "units"), "K");
  EXPECT_EQ(model::TextOf(attributes, "long_name"), "red");
  EXPECT_EQ(model::TextOf(attributes, "Instrument"), "OLI");
}

// GDAL takes such items from files of other formats, as texts.
TEST_F(TiffTest, MetadataOfGdalDoNotSpeakForTheNumbers) {
  const std::string xml =
      "<GDALMetadata><Item name=\"SCALE\" sample=\"0\" role=\"scale\">0.5</Item>"
      "<Item name=\"UNITTYPE\" sample=\"0\" role=\"unittype\">K</Item>"
      "<Item name=\"scale_factor\">0.1</Item><Item name=\"_FillValue\">-999</Item>"
      "<Item name=\"valid_range\">0, 100</Item><Item name=\"coordinates\">lon lat</Item>"
      "<Item name=\"units\">degC</Item><Item name=\"ImageDescription\">b</Item>"
      "</GDALMetadata>\n";
  Open(SmallImage([&](auto& fields) {
    fields[270] = {.type = 2, .bytes = "a", .count = 2};
    fields[42112] = {.type = 2, .bytes = xml, .count = xml.size()};
    fields[42113] = {.type = 2, .bytes = "9", .count = 2};
  }));
  const auto& attributes = Load("/image")->attributes();
  std::vector<std::string> names;
  for (const auto& attribute : attributes) names.push_back(attribute.name);
  EXPECT_THAT(names, ElementsAre("PhotometricInterpretation", "ImageDescription",
                                 "scale_factor", "add_offset", "units", "gdal_scale_factor",
                                 "gdal__FillValue", "gdal_valid_range", "gdal_coordinates",
                                 "gdal_units", "gdal_ImageDescription", "_FillValue"));
  EXPECT_EQ(model::NumberOf(attributes, "scale_factor"), 0.5);
  EXPECT_EQ(model::TextOf(attributes, "units"), "K");
}

TEST_F(TiffTest, TextsOfGdalAreEscapedTwice) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"B0 &amp;lt;n&amp;amp;&amp;quot;&amp;gt;&amp;apos;", "B0 <n&\">'"},
      {"&amp;#233;&amp;#xE9;", "\u00e9\u00e9"},
      {"&amp;amp;lt;", "&lt;"},
      {"R&amp;D &amp; &amp;; &amp;nbsp; &amp;#0; &amp;#x110000; &amp;#; &amp;lt",
       "R&D & &; &nbsp; &#0; &#x110000; &#; &lt"},
      {"1 &lt; 2", "1 < 2"},
  };
  for (const auto& [stored, text] : kTexts) {
    const std::string xml =
        std::string("<GDALMetadata><Item name=\"a\">") + stored + "</Item></GDALMetadata>";
    Open(SmallImage([&](auto& fields) {
      fields[42112] = {.type = 2, .bytes = xml, .count = xml.size() + 1};
    }));
    EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "a"), text);
  }
}

// Pages, overviews and masks.

class TiffPagesTest : public TiffTest {
 protected:
  // Adds a directory with an image of one value.
  void Add(uint64_t size, char value, uint64_t kind = 0,
           const std::function<void(TiffBuilder::Fields&)>& change = nullptr) {
    auto fields =
        TiffBuilder::Image(size, size, 8, file_.Data(std::string(size * size, value)));
    if (kind != 0) fields[254] = {4, {kind}};
    if (change) change(fields);
    file_.Directory(fields);
  }

  TiffBuilder file_;
};

TEST_F(TiffPagesTest, EqualPagesAreOneArray) {
  for (const char value : {'a', 'b', 'c'}) Add(2, value);
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image")));
  EXPECT_THAT(Dims("/image"), ElementsAre("page", "y", "x"));
  EXPECT_THAT(Elements("/image"), IsOkAnd("aaaabbbbcccc"));
}

TEST_F(TiffPagesTest, PagesThatDifferAreArraysOfTheirOwn) {
  Add(2, 'a');
  Add(3, 'b');
  Add(2, 'c');
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "image_2", "image_3")));
  EXPECT_THAT(Dims("/image_2"), ElementsAre("y_2", "x_2"));
  EXPECT_THAT(Dims("/image_3"), ElementsAre("y", "x"));
  EXPECT_THAT(Elements("/image_3"), IsOkAnd("cccc"));
}

TEST_F(TiffPagesTest, OverviewsAndMasksBelongToTheImageBeforeThem) {
  Add(4, 'a', 0, [](auto& fields) { fields = Placed(fields); });
  Add(1, 'b', 1);
  Add(2, 'c', 1);
  Add(4, 'm', 4);
  Add(2, 'n', 5);
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"),
              IsOkAnd(ElementsAre("image", "mask", "overviews", "spatial_ref", "x", "y")));
  EXPECT_THAT(hierarchy_->List("/overviews"),
              IsOkAnd(ElementsAre("1", "2", "mask_1", "spatial_ref", "spatial_ref_2", "x",
                                  "x_2", "y", "y_2")));
  EXPECT_THAT(Elements("/overviews/1"), IsOkAnd("cccc"));
  EXPECT_THAT(Elements("/overviews/2"), IsOkAnd("b"));
  EXPECT_THAT(Elements("/overviews/mask_1"), IsOkAnd("nnnn"));
  EXPECT_THAT(Numbers("/overviews/x"), ElementsAre(500010, 500030));
  const auto root = Load("/");
  const auto* multiscales = model::FindAttribute(root->attributes(), "multiscales");
  ASSERT_NE(multiscales, nullptr);
  EXPECT_EQ(
      *multiscales->value.text(),
      R"({"layout":[{"asset":"image"},)"
      R"({"asset":"overviews/1","derived_from":"image","transform":{"scale":[2.0,2.0]}},)"
      R"({"asset":"overviews/2","derived_from":"image","transform":{"scale":[4.0,4.0]}}]})");
}

TEST_F(TiffPagesTest, LargeImageThatIsMarkedAsReducedIsAnImage) {
  Add(2, 'a');
  Add(3, 'b', 1);
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "image_2")));
}

TEST_F(TiffPagesTest, ManyOverviewsAreAProblem) {
  Add(2, 'a');
  for (int i = 0; i < 70; ++i) Add(1, 'b', 1);
  Open(file_.file());
  EXPECT_THAT(Load("/")->error->message(), HasSubstr("more than 64 overviews"));
  EXPECT_THAT(Elements("/overviews/64"), IsOkAnd("b"));
}

TEST_F(TiffPagesTest, SubDirectoriesAreOverviewsOfEachPage) {
  for (const char value : {'a', 'b'}) {
    const auto small = TiffBuilder::Image(1, 1, 8, file_.Data(std::string(1, value)));
    const uint64_t child = file_.Directory(small, /*is_linked=*/false);
    Add(2, value, 0, [&](auto& fields) { fields[330] = {13, {child}}; });
  }
  Open(file_.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd("aaaabbbb"));
  EXPECT_THAT(Dims("/overviews/1"), ElementsAre("page", "y", "x"));
  EXPECT_THAT(Elements("/overviews/1"), IsOkAnd("ab"));
}

TEST_F(TiffPagesTest, ImageJHasOneDirectoryForAllPages) {
  const std::string text = "ImageJ=1.53\nimages=6\nchannels=2\nslices=3\nhyperstack=true\n";
  auto fields = TiffBuilder::Image(1, 1, 8, file_.Data("abcdef"));
  fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
  file_.Directory(fields);
  Open(file_.file());
  EXPECT_THAT(Dims("/image"), ElementsAre("z", "c", "y", "x"));
  EXPECT_THAT(Shape("/image"), ElementsAre(3, 2, 1, 1));
  EXPECT_THAT(Elements("/image"), IsOkAnd("abcdef"));
}

TEST_F(TiffPagesTest, PagesOfImageJHaveTheirOrder) {
  const std::pair<const char*, std::vector<std::string>> kOrders[] = {
      {"", {"t", "z", "c"}},
      {"order=default\n", {"t", "z", "c"}},
      {"order=czt\n", {"t", "z", "c"}},
      {"order=ctz\n", {"z", "t", "c"}},
      {"order=zct\n", {"t", "c", "z"}},
      {"order=ztc\n", {"c", "t", "z"}},
      {"order=tcz\n", {"z", "c", "t"}},
      {"order=tzc\n", {"c", "z", "t"}},
      {"order=xyz\n", {"t", "z", "c"}}};
  for (const auto& [order, dims] : kOrders) {
    for (const bool has_images : {false, true}) {
      for (const bool has_pages : {false, true}) {
        std::string text = "ImageJ=1.53\nchannels=2\nslices=3\nframes=4\n";
        text += order + std::string(has_images ? "images=24\n" : "");
        TiffBuilder file;
        std::string all;
        for (char page = 'a'; page < 'a' + 24; ++page) all += page;
        const uint64_t data = file.Data(all);
        for (uint64_t page = 0; page < (has_pages ? 24 : 1); ++page) {
          auto fields = TiffBuilder::Image(1, 1, 8, data + page);
          if (page == 0) fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
          file.Directory(fields);
        }
        Open(file.file());
        auto expected = dims;
        expected.insert(expected.end(), {"y", "x"});
        EXPECT_EQ(Dims("/image"), expected) << order << has_images << has_pages;
        EXPECT_THAT(Elements("/image"), IsOkAnd(all));
        EXPECT_EQ(Load("/image")->notes.size(), std::string(order) == "order=xyz\n" ? 1u : 0u);
      }
    }
  }
}

TEST_F(TiffPagesTest, PixelsOfImageJHaveSizes) {
  const std::string text =
      "ImageJ=1.53\nimages=4\nslices=2\nframes=2\nspacing=   2.5\nfinterval=0.5\n"
      "unit=\\u00B5m\nzunit=nm\n";
  TiffBuilder file;
  auto fields = TiffBuilder::Image(2, 1, 8, file.Data("abcdefgh"));
  fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
  const auto ratio = [&](uint64_t a, uint64_t b) {
    return TiffField{.type = 5, .bytes = file.Number(a, 4) + file.Number(b, 4), .count = 1};
  };
  fields[282] = ratio(4, 1);
  fields[283] = ratio(0, 0);
  file.Directory(fields);
  Open(file.file());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "t", "x", "z")));
  EXPECT_THAT(Numbers("/x"), ElementsAre(0, 0.25));
  EXPECT_THAT(Numbers("/z"), ElementsAre(0, 2.5));
  EXPECT_THAT(Numbers("/t"), ElementsAre(0, 0.5));
  EXPECT_EQ(model::TextOf(Load("/x")->attributes(), "units"), "\xC2\xB5m");
  EXPECT_EQ(model::TextOf(Load("/z")->attributes(), "units"), "nm");
  EXPECT_EQ(model::TextOf(Load("/t")->attributes(), "units"), "s");
}

// Planes of MetaMorph follow the first one. Their distances along z, dates and times are in the
// field 33629.
TEST_F(TiffPagesTest, MetaMorphHasOneDirectoryForAllPlanes) {
  const auto dims_of = [&](uint64_t distance, uint64_t time_step) {
    TiffBuilder file;
    auto fields = TiffBuilder::Image(1, 2, 8, file.Data("abcdef"));
    fields[278] = {4, {1}};
    fields[273] = {4, {8, 9}};
    fields[279] = {4, {1, 1}};
    std::string planes;
    for (uint64_t p = 0; p < 3; ++p) {
      for (const uint64_t number : {distance, uint64_t{2}, uint64_t{9}, p * time_step}) {
        planes += file.Number(number, 4);
      }
      planes += std::string(8, '\0');
    }
    fields[33629] = {.type = 5, .bytes = planes, .count = 3};
    file.Directory(fields);
    Open(file.file());
    EXPECT_THAT(Elements("/image"), IsOkAnd("abcdef"));
    return Dims("/image");
  };
  EXPECT_THAT(dims_of(3, 0), ElementsAre("z", "y", "x"));
  EXPECT_THAT(Numbers("/z"), ElementsAre(0, 1.5, 3));
  EXPECT_THAT(dims_of(0, 7), ElementsAre("t", "y", "x"));
  EXPECT_THAT(dims_of(0, 0), ElementsAre("page", "y", "x"));
}

TEST_F(TiffPagesTest, PicturesOfOtherProportionsAreNoOverviews) {
  Add(64, 'a');
  auto fields = TiffBuilder::Image(20, 30, 8, file_.Data(std::string(600, 'b')));
  fields[254] = {4, {1}};
  file_.Directory(fields);
  Add(32, 'c', 1);
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"), IsOkAnd(ElementsAre("image", "image_2", "image_3")));
}

// Aperio marks labels as smaller copies, and not the levels, which are tiled.
TEST_F(TiffPagesTest, TiledPagesOfAperioAreOverviews) {
  const std::string text = "Aperio Image Library v11";
  const auto tiled = [&](uint64_t size, char value, bool is_first) {
    const uint64_t at = file_.Data(std::string(size * size, value));
    auto fields = TiffBuilder::Tiled(TiffBuilder::Image(size, size, 8, at), size, size, {at},
                                     {size * size});
    if (is_first) fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
    file_.Directory(fields);
  };
  tiled(64, 'a', true);
  Add(16, 't');
  tiled(16, 'c', false);
  tiled(32, 'b', false);
  Add(8, 'l', 1);
  Add(8, 'm', 9);
  Open(file_.file());
  EXPECT_THAT(hierarchy_->List("/"),
              IsOkAnd(ElementsAre("image", "image_2", "image_3", "overviews")));
  EXPECT_THAT(hierarchy_->List("/overviews"), IsOkAnd(ElementsAre("1", "2")));
  EXPECT_THAT(Elements("/overviews/1"), IsOkAnd(std::string(1024, 'b')));
  EXPECT_THAT(Elements("/overviews/2"), IsOkAnd(std::string(256, 'c')));
  EXPECT_THAT(Dims("/image_3"), ElementsAre("page", "y_3", "x_3"));
}

TEST_F(TiffPagesTest, StackOfImageJMayHaveAnOverviewOfItsFirstPage) {
  const std::string text = "ImageJ=1.53\nimages=2\nslices=2\n";
  auto fields = TiffBuilder::Image(2, 1, 8, file_.Data("abcd"));
  fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
  file_.Directory(fields);
  Add(1, 'e', 1);
  Open(file_.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd("abcd"));
  EXPECT_THAT(Dims("/overviews/1"), ElementsAre("y", "x"));
  EXPECT_THAT(Elements("/overviews/1"), IsOkAnd("e"));
}

TEST_F(TiffPagesTest, ImageJStackThatIsLongerThanTheFileIsAnError) {
  const std::string text =
      "ImageJ=1.53\nimages=4611686018427387904\nslices=4611686018427387904\n";
  Add(1, 'a', 0, [&](auto& fields) {
    fields[270] = {.type = 2, .bytes = text, .count = text.size() + 1};
  });
  Open(file_.file());
  EXPECT_THAT(ErrorOf("/image"), HasSubstr("the shape needs"));
}

// Bad input.

TEST_F(TiffTest, RefusesFilesThatAreNone) {
  EXPECT_THAT(TryOpen(""), IsError(ErrorCode::kCorrupt, HasSubstr("no header of TIFF")));
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\0\0\0", 7)),
              IsError(ErrorCode::kCorrupt, HasSubstr("no header")));
  EXPECT_THAT(TryOpen(std::string("II\x2C\0\x08\0\0\0", 8)),
              IsError(ErrorCode::kCorrupt, HasSubstr("version 44")));
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\0\0\0\0", 8)),
              IsError(ErrorCode::kCorrupt, HasSubstr("there is no directory")));
  EXPECT_THAT(TryOpen(std::string("II\x2B\0\x04\0\0\0", 8) + std::string(8, '\0')),
              IsError(ErrorCode::kCorrupt, HasSubstr("offsets of 4 bytes")));
}

TEST_F(TiffTest, RefusesDirectoriesThatAreNotInTheFile) {
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\x02\0\0\0", 8)),
              IsError(ErrorCode::kCorrupt, HasSubstr("directory 0: it lies in the header")));
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\xFF\xFF\xFF\xFF", 8)),
              IsError(ErrorCode::kCorrupt, HasSubstr("not in the file, which has 8")));
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\x08\0\0\0\0\0", 10)),
              IsError(ErrorCode::kCorrupt, HasSubstr("it has no fields")));
  EXPECT_THAT(TryOpen(std::string("II\x2A\0\x08\0\0\0\xFF\xFF", 10)),
              IsError(ErrorCode::kCorrupt, HasSubstr("65535 fields")));
  const std::string big = std::string("II\x2B\0\x08\0\0\0\x10\0\0\0\0\0\0\0", 16);
  EXPECT_THAT(TryOpen(big + std::string(8, '\xFF')),
              IsError(ErrorCode::kCorrupt, HasSubstr("18446744073709551615 fields")));
}

TEST_F(TiffPagesTest, ChainThatLeadsBackShowsWhatIsThere) {
  TiffBuilder file;
  const auto fields = TiffBuilder::Image(1, 1, 8, file.Data("a"));
  const uint64_t position = file.Directory(fields);
  file.Link(position);
  Open(file.file());
  ASSERT_TRUE(Load("/")->error);
  EXPECT_THAT(Load("/")->error->message(), HasSubstr("directory 1 is at"));
  EXPECT_THAT(Elements("/image"), IsOkAnd("a"));
}

TEST_F(TiffPagesTest, SubDirectoryThatIsItsParentIsAProblem) {
  TiffBuilder file;
  auto fields = TiffBuilder::Image(1, 1, 8, file.Data("a"));
  fields[330] = {4, {9}};
  const uint64_t position = file.Directory(fields);
  ASSERT_EQ(position, 9);
  Open(file.file());
  EXPECT_THAT(Load("/")->error->message(), HasSubstr("SubIFD 0 is at 9"));
}

TEST_F(TiffTest, TooManyDirectoriesAreAProblem) {
  TiffBuilder file;
  const TiffBuilder::Fields fields = {
      {256, {3, {1}}}, {257, {3, {1}}}, {273, {4, {8}}}, {279, {4, {1}}}, {258, {3, {8}}}};
  std::string directory = file.Number(fields.size(), 2);
  for (const auto& [tag, field] : fields) {
    directory += file.Number(tag, 2) + file.Number(field.type, 2) + file.Number(1, 4) +
                 file.Number(field.values[0], 4);
  }
  std::string bytes = file.file().substr(0, 4) + file.Number(8, 4);
  for (uint64_t i = 1; i <= 1'000'000; ++i) {
    bytes += directory + file.Number(8 + i * (directory.size() + 4), 4);
  }
  Open(bytes);
  EXPECT_THAT(Load("/")->error->message(), HasSubstr("more than 200000 directories"));
  EXPECT_THAT(Shape("/image"), ElementsAre(200'000, 1, 1));
}

// Each of 100 directories has the same MiB of metadata.
TEST_F(TiffTest, ValuesThatAreSharedAreReadUpToALimit) {
  TiffBuilder file;
  const uint64_t data = file.Data("a"), text = file.Data(std::string(1 << 20, 'x'));
  for (int i = 0; i < 100; ++i) {
    auto fields = TiffBuilder::Image(1, 1, 8, data);
    fields[42112] = {.type = 2, .bytes = file.Number(text, 4), .count = 1 << 20};
    file.Directory(fields);
  }
  Open(file.file());
  EXPECT_THAT(Load("/")->error->message(), HasSubstr("have too many values"));
  EXPECT_EQ(Shape("/image").size(), 3u);
}

struct BadField {
  const char* test_name;
  uint16_t tag;
  TiffField field;
  const char* words;
};
void PrintTo(const BadField& bad, std::ostream* out) { *out << bad.test_name; }

class TiffBadFieldTest : public TiffTest, public testing::WithParamInterface<BadField> {};

TEST_P(TiffBadFieldTest, IsOneClearError) {
  const auto opened =
      TryOpen(SmallImage([](auto& fields) { fields[GetParam().tag] = GetParam().field; }));
  if (!opened) {
    EXPECT_THAT(opened.error().message(), HasSubstr(GetParam().words));
    return;
  }
  hierarchy_ = *opened;
  EXPECT_THAT(ErrorOf("/image"), HasSubstr(GetParam().words));
}

const BadField kBadFields[] = {
    {"WidthOfNothing", 256, {4, {0}}, "ImageWidth: expected a positive number"},
    {"WidthIsAText",
     256,
     {.type = 2, .bytes = "3", .count = 2},
     "ImageWidth: expected integers"},
    {"WidthIsAFloat", 256, {11, {3}}, "ImageWidth: expected integers, found type 11"},
    {"WidthOfAnUnknownType", 256, {99, {3}}, "ImageWidth: expected integers, found type 99"},
    {"TwoWidths", 256, {4, {3, 4}}, "ImageWidth: 2 values; up to 1 are read"},
    {"PixelsThatOverflow", 257, {16, {uint64_t{1} << 62}}, "an image of 3 x"},
    {"MoreRowsThanTheFileHas", 257, {4, {1u << 30}}, "the offsets of 1 strips, expected"},
    {"StripOutsideOfTheFile",
     273,
     {4, {1u << 31}},
     "6 bytes at 2147483648 are not in the file"},
    {"StripAtTheEndOfNumbers", 273, {16, {UINT64_MAX}}, "0 bytes of data"},
    {"StripInTheHeader", 273, {4, {4}}, "its offset 4 is in the header"},
    {"OffsetsOutsideOfTheFile",
     273,
     {.type = 4, .bytes = "\xFF\xFF\xFF\x7F", .count = 1u << 30},
     "are not in the file"},
    {"OffsetsThatOverflow",
     273,
     {.type = 4, .bytes = "\x08", .count = UINT32_MAX},
     "are not in the file"},
    {"OffsetsAreTexts",
     273,
     {.type = 2, .bytes = "abc", .count = 4},
     "StripOffsets: expected integers"},
    {"NoOffset", 273, {.type = 4, .bytes = "\x08", .count = 0}, "the offsets of 0 strips"},
    {"StripsThatAreMissing", 278, {4, {1}}, "the offsets of 1 strips, expected 2"},
    {"StripsOfNoRows", 278, {4, {0}}, "RowsPerStrip: expected a positive number"},
    {"BitsOfNothing", 258, {3, {0}}, "BitsPerSample: 0 bits"},
    {"ManyBits", 258, {3, {60000}}, "BitsPerSample: 60000 bits"},
    {"BitsThatNoTypeHas", 258, {3, {48}}, "integers without a sign of 48 bits"},
    {"BitsThatDiffer", 258, {3, {8, 16}}, "samples of 8 and 16 in one image"},
    {"ManySamples", 277, {4, {1u << 30}}, "SamplesPerPixel: 1073741824 are too many"},
    {"FormatThatIsNone", 339, {3, {9}}, "SampleFormat: 9"},
    {"FloatsOfEightBits", 339, {3, {3}}, "floats of 8 bits"},
    {"PlanarConfigurationThatIsNone", 284, {3, {3}}, "PlanarConfiguration: expected 1 or 2"},
    {"UnknownCompression", 259, {3, {44510}}, "compression 44510 (number 44510)"},
    {"Fax", 259, {3, {4}}, "compression 4 (CCITT fax 4) is not supported"},
    {"PredictorThatIsNone", 317, {3, {7}}, "predictor 7"},
    {"PredictorOfOddSize", 317, {3, {3}}, "predictor 3 for samples of 8 bits"},
    {"PredictorWithoutCompression", 317, {3, {2}}, "predictor 2 with compression none"},
    {"FillOrderThatIsNone", 266, {3, {3}}, "FillOrder: expected 1 or 2"},
    {"TilesOfNoWidth", 322, {3, {0}}, "TileWidth: expected a positive number"},
    {"DeflateOfNoise", 259, {3, {8}}, "zlib"},
    {"LzwOfNoise", 259, {3, {5}}, "5 bytes, expected 6"},
    {"PackBitsThatEnd", 259, {3, {32773}}, "imagecodecs_packbits"},
};

INSTANTIATE_TEST_SUITE_P(Small, TiffBadFieldTest, testing::ValuesIn(kBadFields),
                         [](const auto& info) { return std::string(info.param.test_name); });

// A strip that is a picture of one sample.
TiffBuilder::Fields PictureFields(TiffBuilder& file, const std::string& picture,
                                  uint64_t compression) {
  auto fields = TiffBuilder::Image(kPictureWidth, kPictureHeight, 8, file.Data(picture));
  fields[259] = {3, {compression}};
  fields[279] = {4, {picture.size()}};
  return fields;
}

const PictureGolden& PictureOf(std::string_view name) {
  for (const PictureGolden& golden : kPictureGoldens) {
    if (golden.test_name == name) return golden;
  }
  std::abort();
}

TEST_F(TiffTest, StripsArePictures) {
  constexpr struct {
    uint64_t compression;
    const char* golden;
    PictureKind kind;
  } kStrips[] = {
      {7, "JpegGrey", PictureKind::kJpeg},         {33003, "Jpeg2000", PictureKind::kJpeg2000},
      {33004, "Jpeg2000", PictureKind::kJpeg2000}, {33005, "Jpeg2000", PictureKind::kJpeg2000},
      {34712, "Jpeg2000", PictureKind::kJpeg2000}, {34887, "LercBytes", PictureKind::kLerc},
      {50002, "JpegXl", PictureKind::kJpegXl},     {52546, "JpegXl", PictureKind::kJpegXl}};
  for (const auto& [compression, name, kind] : kStrips) {
    const PictureGolden& golden = PictureOf(name);
    TiffBuilder file;
    file.Directory(PictureFields(file, FromBase64(golden.picture), compression));
    Open(file.file());
    if (!HasPictures(kind)) {
      EXPECT_THAT(ErrorOf("/image"), HasSubstr("is not built in"));
      continue;
    }
    EXPECT_THAT(Elements("/image"), IsOkAnd(FromBase64(golden.elements))) << compression;
  }
}

TEST_F(TiffTest, ColoursOfJpegAreRgb) {
  if (!HasPictures(PictureKind::kJpeg)) GTEST_SKIP() << "not built in";
  const PictureGolden& golden = PictureOf("JpegColours");
  TiffBuilder file;
  auto fields = PictureFields(file, FromBase64(golden.picture), 7);
  fields[258] = {3, {8, 8, 8}};
  fields[262] = {3, {6}};
  fields[277] = {3, {3}};
  file.Directory(fields);
  Open(file.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd(FromBase64(golden.elements)));
  EXPECT_EQ(model::TextOf(Load("/image")->attributes(), "PhotometricInterpretation"), "RGB");
}

TEST_F(TiffTest, PicturesThatAreNotWhatTheFieldsSayAreErrors) {
  if (!HasPictures(PictureKind::kJpeg) || !HasPictures(PictureKind::kLerc)) {
    GTEST_SKIP() << "not built in";
  }
  const auto error_of = [&](const char* name, uint64_t compression, uint16_t tag,
                            const TiffField& field) {
    TiffBuilder file;
    auto fields = PictureFields(file, FromBase64(PictureOf(name).picture), compression);
    fields[tag] = field;
    file.Directory(fields);
    Open(file.file());
    return ErrorOf("/image");
  };
  EXPECT_THAT(error_of("JpegGrey", 7, 256, {3, {16}}),
              HasSubstr("a picture of 17 x 11 pixels with 1 samples, expected 16 x 11 with 1"));
  EXPECT_THAT(error_of("JpegGrey", 7, 258, {3, {16}}), HasSubstr("expected uint16"));
  EXPECT_THAT(error_of("JpegColours", 7, 262, {3, {1}}), HasSubstr("with 3 samples"));
  EXPECT_THAT(error_of("JpegGrey", 7, 317, {3, {2}}),
              HasSubstr("predictor 2 with compression JPEG"));
  EXPECT_THAT(error_of("JpegGrey", 7, 347, {.type = 7, .bytes = "tables", .count = 6}),
              HasSubstr("a JPEG picture that is invalid or cut"));
  EXPECT_THAT(error_of("JpegGrey", 7, 32997, {3, {2}}), HasSubstr("volumes of pictures"));
  EXPECT_THAT(error_of("LercBytes", 34887, 50674, {4, {4, 3}}),
              HasSubstr("LercParameters: compression 3"));
  EXPECT_THAT(error_of("LercBytes", 34887, 50674, {4, {4, 2}}), HasSubstr("zstd"));
  EXPECT_THAT(error_of("LercBytes", 34887, 50674, {4, {4}}),
              HasSubstr("LercParameters: expected two numbers"));
}

// One of the files of a set of two planes along z: 6 pixels, the description of the set, and
// `change` for the fields.
std::string FileOfSet(const std::string& pixels, const std::string& second,
                      const std::function<void(TiffBuilder::Fields&)>& change = nullptr) {
  std::string ome =
      "<OME UUID=\"urn:1\"><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"3\" SizeY=\"2\""
      " SizeZ=\"2\" SizeC=\"1\" SizeT=\"1\"><TiffData IFD=\"0\"><UUID FileName=\"a.tif\">urn:1"
      "</UUID></TiffData><TiffData IFD=\"0\" FirstZ=\"1\"><UUID FileName=\"" +
      second + "\">urn:2</UUID></TiffData></Pixels></Image></OME>";
  ome += '\0';
  TiffBuilder file;
  auto fields = TiffBuilder::Image(3, 2, 8, file.Data(pixels));
  // Two strips, whose list does not fit into the directory.
  const uint64_t offset = fields[273].values.at(0);
  fields[278] = {4, {1}};
  fields[273] = {4, {offset, offset + 3}};
  fields[279] = {4, {3, 3}};
  fields[270] = {.type = 2, .bytes = ome, .count = ome.size()};
  if (change) change(fields);
  file.Directory(fields);
  return file.file();
}

TEST_F(TiffTest, PlanesOfOmeMayBeInOtherFiles) {
  source_->Put("b.tif", FileOfSet("abcdef", "b.tif"));
  Open(FileOfSet("123456", "b.tif"));
  EXPECT_THAT(source_->reads(),
              testing::Each(testing::Field(&test::MemorySource::Read::path, "a.tif")))
      << "other files are opened when somebody reads their planes";
  EXPECT_THAT(Dims("/image"), ElementsAre("z", "y", "x"));
  source_->ForgetReads();
  EXPECT_THAT(Elements("/image"), IsOkAnd("123456abcdef"));
  const auto reads = source_->reads();
  EXPECT_EQ(std::ranges::count(reads, "b.tif", &test::MemorySource::Read::path), 3)
      << "its beginning, and two strips";
}

TEST_F(TiffTest, DescriptionOfOmeMayBeInACompanion) {
  const std::string set = FileOfSet("", "b.tif");
  const size_t at = set.find("<OME");
  const std::string ome = set.substr(at, set.find("</OME>") + 6 - at);
  std::string short_ome =
      "<OME UUID=\"urn:1\"><BinaryOnly MetadataFile=\"c.ome\" UUID=\"urn:3\"/></OME>";
  short_ome += '\0';
  const auto change = [&](auto& fields) {
    fields[270] = {.type = 2, .bytes = short_ome, .count = short_ome.size()};
  };
  source_->Put("b.tif", FileOfSet("abcdef", "b.tif", change));
  const std::string file = FileOfSet("123456", "b.tif", change);
  Open(file);
  EXPECT_THAT(Load("/image")->notes, ElementsAre(HasSubstr("there is no file \"c.ome\"")));
  EXPECT_THAT(Elements("/image"), IsOkAnd("123456"));
  const auto version = hierarchy_->Version("/");
  source_->Put("c.ome", ome);
  EXPECT_NE(hierarchy_->Version("/").value(), version.value());
  Open(file);
  EXPECT_THAT(Load("/image")->notes, testing::IsEmpty());
  EXPECT_THAT(Elements("/image"), IsOkAnd("123456abcdef"));
  short_ome.replace(short_ome.find("c.ome"), 5, "../c.");
  Open(FileOfSet("123456", "b.tif", change));
  EXPECT_THAT(Load("/image")->notes, ElementsAre(HasSubstr("is no name of a file")));
}

TEST_F(TiffTest, OtherFilesOfASetThatDoNotFitAreErrorsOfTheirPlanes) {
  const auto error_of = [&](const std::string& other) {
    source_->Put("b.tif", other);
    Open(FileOfSet("123456", "b.tif"));
    return ErrorOf("/image");
  };
  const auto error_with = [&](const std::function<void(TiffBuilder::Fields&)>& change) {
    return error_of(FileOfSet("abcdef", "b.tif", change));
  };
  Open(FileOfSet("123456", "b.tif"));
  EXPECT_THAT(ErrorOf("/image"), HasSubstr("b.tif: there is no such file"));
  EXPECT_THAT(error_of("no picture"), HasSubstr("b.tif: no header of TIFF"));
  EXPECT_THAT(error_with([](auto& fields) {
                fields[262] = {3, {0}};
              }),
              HasSubstr("b.tif: directory 0 has another form than the first plane"));
  EXPECT_THAT(error_with([](auto& fields) {
                fields[273] = {4, {8}};
                fields[279] = {4, {3}};
              }),
              HasSubstr("the offsets of 1 strips, expected 2"));
  EXPECT_THAT(error_with([](auto& fields) {
                fields[273] = {4, {8, 1u << 30}};
              }),
              HasSubstr("are not in the file"));
}

TEST_F(TiffTest, OtherFileWhoseDirectoriesLeadBackEnds) {
  std::string other = FileOfSet("abcdef", "b.tif");
  other.replace(other.size() - 4, 4, other.substr(4, 4));
  source_->Put("b.tif", other);
  std::string file = FileOfSet("123456", "b.tif");
  const std::string_view first = "IFD=\"0\" FirstZ";
  file.replace(file.find(first), first.size(), "IFD=\"9\" FirstZ");
  Open(file);
  EXPECT_THAT(ErrorOf("/image"), HasSubstr("b.tif: there is no directory 9"));
}

// A file of two pages of one row, which lie at the same places whatever their order is.
std::string TwoPages(bool second_first) {
  TiffBuilder file;
  const auto page = [&](const std::string& pixels) {
    const uint64_t at = file.Data(pixels);
    file.Directory(TiffBuilder::Image(3, 1, 8, at));
    return file.file().size();
  };
  const size_t first = page("abc"), second = page("def");
  std::string bytes = file.file();
  if (!second_first) return bytes;
  // The header leads to the second directory, that to the first one, and that to none.
  const std::string header = bytes.substr(4, 4), to_second = bytes.substr(first - 4, 4);
  bytes.replace(4, 4, to_second);
  bytes.replace(second - 4, 4, header);
  bytes.replace(first - 4, 4, std::string(4, '\0'));
  return bytes;
}

TEST_F(TiffTest, PlanesOfAFileThatChangesAreOfTheNewVersionOrStale) {
  std::string ome =
      "<OME UUID=\"urn:1\"><Image><Pixels DimensionOrder=\"XYZCT\" SizeX=\"3\" SizeY=\"1\""
      " SizeZ=\"3\" SizeC=\"1\" SizeT=\"1\"><TiffData IFD=\"0\"/>"
      "<TiffData IFD=\"0\" FirstZ=\"1\" PlaneCount=\"2\">"
      "<UUID FileName=\"b.tif\">urn:2</UUID></TiffData></Pixels></Image></OME>";
  ome += '\0';
  TiffBuilder file;
  auto fields = TiffBuilder::Image(3, 1, 8, file.Data("123"));
  fields[270] = {.type = 2, .bytes = ome, .count = ome.size()};
  file.Directory(fields);
  source_->Put("b.tif", TwoPages(false));
  Open(file.file());
  const auto& source = *Load("/image")->source;
  test::PlainIndexCache indexes;
  EXPECT_THAT(test::ReadChunk(source, {1, 0, 0}, indexes), IsOkAnd("abc"));
  source_->Put("b.tif", TwoPages(true));
  for (const uint64_t plane : {1, 2}) {
    EXPECT_THAT(test::ReadChunk(source, {plane, 0, 0}, indexes), IsError(ErrorCode::kStale, _))
        << "the directories are those of the old version";
  }
  Open(file.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd("123defabc"));
}

TEST_F(TiffTest, DirectoriesOfAFileThatChangesAreOfOneVersion) {
  TiffBuilder file;
  (void)file.Data(std::string(1 << 17, 'x'));
  file.Directory(TiffBuilder::Image(3, 1, 8, 8));
  source_->Put("a.tif", file.file());
  auto reader = tiff::TiffReader::Open(source_->OpenFile("a.tif")).value();
  source_->Put("a.tif", file.file());
  EXPECT_THAT(reader.ReadDirectory(reader.first_directory()), IsError(ErrorCode::kStale, _));
}

TEST_F(TiffTest, NamesOfOtherFilesAreNoPaths) {
  for (const char* name : {"../b.tif", "/b.tif", "..", "x\\b.tif"}) {
    Open(FileOfSet("123456", name));
    EXPECT_THAT(Elements("/image"), IsOkAnd("123456"));
    EXPECT_THAT(Load("/image")->notes, ElementsAre(HasSubstr("is no name of a file"))) << name;
  }
}

// Of fields with one tag the first one counts, as for libtiff.
TEST_F(TiffTest, FirstOfEqualFieldsCounts) {
  for (const uint16_t tag : {256, 257, 258, 259, 273, 277, 278, 279}) {
    std::string bytes = SmallImage([&](auto& fields) { fields[tag + 1000] = {4, {77}}; });
    const std::string other = TiffBuilder().Number(tag + 1000, 2);
    const size_t at = bytes.rfind(other + TiffBuilder().Number(4, 2));
    ASSERT_NE(at, bytes.npos);
    bytes.replace(at, 2, TiffBuilder().Number(tag, 2));
    Open(bytes);
    EXPECT_THAT(Elements("/image"), IsOkAnd("\1\2\3\4\5\6")) << tag;
    EXPECT_THAT(Load("/image")->notes, ElementsAre("directory 0: " + tiff::NameOfTag(tag) +
                                                   " is there twice; the first one counts"));
  }
}

std::vector<std::string> TiffNotes(const Node& node) {
  return dynamic_cast<const SourceNotes&>(*node.source).notes();
}

// Ten times "a" in each compression, for six pixels. libdeflate alone would leave the last ones
// unwritten: one match goes beyond them.
TEST_F(TiffTest, StripsThatDecodeToMoreAreCut) {
  const std::pair<uint64_t, const char*> kStrips[] = {
      {5, "gBhMJhMJhMJhMJhMMBA="},
      {8, "eJxLTIQBABThA8s="},
      {32773, "CWFhYWFhYWFhYWE="},
      {34925,
       "/Td6WFoAAATm1rRGAgAhARYAAAB0L+Wj4AAJAAZdADDrfAAAAAAAAEZq4q8kkVm7AAEiChUa4WcftvN9AQAA"
       "AAAEWVo="},
      {50000, "KLUv/QRYUQAAYWFhYWFhYWFhYU/4tXc="}};
  for (const auto& [compression, text] : kStrips) {
    for (const uint64_t columns : {3, 5, 6}) {
      const std::string strip = FromBase64(text);
      TiffBuilder file;
      auto fields = TiffBuilder::Image(columns, 2, 8, file.Data(strip));
      fields[259] = {3, {compression}};
      fields[279] = {4, {strip.size()}};
      file.Directory(fields);
      Open(file.file());
      if (columns == 6) {
        EXPECT_THAT(ErrorOf("/image"), HasSubstr("10 bytes, expected 12"));
        continue;
      }
      EXPECT_THAT(Elements("/image"), IsOkAnd(std::string(2 * columns, 'a'))) << compression;
      EXPECT_EQ(TiffNotes(*Load("/image")).size(), columns == 3 ? 1u : 0u) << compression;
    }
  }
}

TEST_F(TiffTest, StripsAreDecodedToTheirPlace) {
  for (const bool is_big : {false, true}) {
    TiffBuilder file(false, is_big);
    auto fields = TiffBuilder::Image(2, 1, 16, file.Data(std::string("\3\0\1\0\2", 5)));
    fields[259] = {3, {32773}};
    fields[279] = {4, {5}};
    file.Directory(fields);
    Open(file.file());
    EXPECT_EQ(Load("/image")->source->spec().codecs.MaxScratchSize({1, 2}), 0u);
  }
}

TEST_F(TiffTest, OneStripWithoutASizeGoesToTheEnd) {
  const std::string runs = "\5\1\2\3\4\5\6";
  for (const uint64_t compression : {1, 32773}) {
    for (const bool is_missing : {false, true}) {
      TiffBuilder file;
      auto fields =
          TiffBuilder::Image(3, 2, 8, file.Data(compression == 1 ? runs.substr(1) : runs));
      fields[259] = {3, {compression}};
      fields[279] = {4, {0}};
      if (is_missing) fields.erase(279);
      file.Directory(fields);
      Open(file.file());
      EXPECT_THAT(Elements("/image"), IsOkAnd("\1\2\3\4\5\6"));
      EXPECT_THAT(Load("/image")->notes, ElementsAre(HasSubstr("the only strip has no size")));
    }
  }
}

TEST_F(TiffTest, StripsOfNoBytesAreAbsent) {
  Open(SmallImage([](auto& fields) {
    fields[278] = {4, {1}};
    fields[273] = {4, {8, 11}};
    fields[279] = {3, {3, 0}};
  }));
  EXPECT_THAT(Elements("/image"), IsOkAnd(std::string("\1\2\3\0\0\0", 6)));
  EXPECT_THAT(TiffNotes(*Load("/image")), ElementsAre(HasSubstr("strips of 0 bytes")));
}

TEST_F(TiffTest, UncompressedStripsAreAsLongAsTheirPixels) {
  Open(SmallImage([](auto& fields) { fields[279] = {4, {5}}; }));
  EXPECT_THAT(Elements("/image"), IsOkAnd("\1\2\3\4\5\6"));
  EXPECT_THAT(TiffNotes(*Load("/image")), ElementsAre(HasSubstr("strips have fewer bytes")));
  // Samples of 12 bits, whose last row is not filled up in the count.
  TiffBuilder file;
  auto fields = TiffBuilder::Image(1, 2, 12, file.Data("\x12\x30\x45\x60"));
  fields[279] = {4, {3}};
  file.Directory(fields);
  Open(file.file());
  EXPECT_THAT(Elements("/image"), IsOkAnd("\x23\1\x56\4"));
}

TEST_F(TiffTest, TilesAboveTheLimitAreNotDecoded) {
  TiffBuilder file;
  const auto fields = TiffBuilder::Image(3, 2, 8, 8);
  file.Directory(TiffBuilder::Tiled(fields, 1 << 15, 1 << 15, {8}, {4}));
  Open(file.file(), {.max_chunk_size = 1 << 20});
  EXPECT_THAT(ErrorOf("/image"),
              HasSubstr("tiles of 1073741824 bytes; up to 1048576 are read"));
}

TEST_F(TiffTest, DescriptionIsReadInOneRequest) {
  Open(FromBase64(kTiffGoldens[2].file));
  EXPECT_EQ(source_->reads().size(), 1u);
}

}  // namespace
}  // namespace ndlfs::backends
