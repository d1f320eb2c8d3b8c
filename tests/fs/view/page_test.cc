// SPDX-License-Identifier: MIT
//
// index.html of arrays and groups.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cache/chunk_cache.h"
#include "fs/view/all_views.h"
#include "fs/view/base/html_text.h"
#include "fs/view/page/page_lines.h"
#include "fs/view/page/page_parts.h"
#include "fs/view/page/type_words.h"
#include "tests/support/memory_hierarchy.h"
#include "tests/support/result.h"

namespace ndlfs::fs {
namespace {

using model::Datatype;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlTextTest, MarkupIsText) {
  EXPECT_EQ(HtmlText("<a href=\"x\">&amp;'"), "&lt;a href=&quot;x&quot;&gt;&amp;amp;'");
  EXPECT_EQ(HtmlText("\u00E9\n\t\U0001F600"), "\u00E9\n\t\U0001F600");
}

TEST(HtmlTextTest, WhatHtmlDoesNotAllowIsReplaced) {
  const std::string replaced = "\uFFFD";
  EXPECT_EQ(HtmlText(std::string("a\0b\x1B\x7F", 5)),
            "a" + replaced + "b" + replaced + replaced);
  EXPECT_EQ(HtmlText("\xFF\xC3"), replaced + replaced);                  // not UTF-8
  EXPECT_EQ(HtmlText("\xC2\x85"), replaced);                             // a C1 control
  EXPECT_EQ(HtmlText("\xEF\xBF\xBE\xEF\xB7\x90"), replaced + replaced);  // no characters
  EXPECT_EQ(HtmlText("\xF0\x9F\xBF\xBF"), replaced);
}

TEST(HtmlTextTest, NamesAreShort) {
  EXPECT_EQ(HtmlName("a\nb"), "a b");
  std::string name(197, 'x');
  name += "\u00E9\u00E9";
  EXPECT_EQ(HtmlName(name), name.substr(0, 197) + "\u2026");
  EXPECT_EQ(HtmlName(name.substr(0, 199)), name.substr(0, 199));
}

TEST(HtmlTextTest, UrlsHaveNoSpecialCharacters) {
  EXPECT_EQ(UrlOfName("a-b_c.0~"), "a-b_c.0~");
  EXPECT_EQ(UrlOfName("a b/c?d#e%f:\u00E9[0]"), "a%20b%2Fc%3Fd%23e%25f%3A%C3%A9%5B0%5D");
}

TEST(PagePartsTest, UrlsLeadFromOneFolderToAnother) {
  EXPECT_EQ(UrlOfFolder("/", "/"), "./");
  EXPECT_EQ(UrlOfFolder("/", "/a/b c"), "a/b%20c/");
  EXPECT_EQ(UrlOfFolder("/a/b", "/"), "../../");
  EXPECT_EQ(UrlOfFolder("/a/b", "/data.nc"), "../../%2564ata.nc/");
}

class PageTest : public ::testing::Test {
 protected:
  void SetUp() override { store_->AddGroup("/"); }

  static void AddText(backends::Node& node, const std::string& name, const std::string& text) {
    model::Attribute attribute;
    attribute.name = name;
    attribute.value = model::Value(text);
    std::visit([&](auto& entity) { entity.attributes.push_back(attribute); }, node.entity);
  }
  backends::Node& AddArray(const std::string& path, const std::string& dimension,
                           uint64_t extent) {
    model::Ndarray array;
    array.dimension_names = {dimension};
    array.shape = {{extent, ""}};
    return store_->AddArray(path, std::move(array),
                            test::Undecodable(Datatype::Float32(), {extent}));
  }
  static std::string ReadAll(const View& view) {
    std::string out(view.size().value() + 10, '?');
    const auto count = view.Read(0, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(count, test::IsOkAnd(*view.size()));
    out.resize(count.value_or(0));
    return out;
  }
  std::string GroupPage(const std::string& path = "/") {
    const auto group = *MakeGroupInput(store_, path, cache_);
    const auto view = GroupViews().MakeFile(*group, "index.html");
    EXPECT_THAT(view, test::IsOk());
    return view ? ReadAll(**view) : "";
  }
  std::string ArrayPage(const std::string& name) {
    const auto group = *MakeGroupInput(store_, "/", cache_);
    const auto view = ArrayViews().MakeFile(group->Load(name)->array.value(), "index.html");
    EXPECT_THAT(view, test::IsOk());
    return view ? ReadAll(**view) : "";
  }

  cache::ChunkCache cache_{1 << 20};
  std::shared_ptr<test::MemoryHierarchy> store_ = std::make_shared<test::MemoryHierarchy>();
};

TEST_F(PageTest, MarkupInNamesAndAttributesIsText) {
  auto& node = AddArray("/<script>", "\"><b>", 3);
  AddText(node, "long_name", "<img src=x onerror=alert(1)>");
  AddText(node, "a\"b", "</td></table><script>");
  AddText(store_->AddGroup("/<i>"), "title", "<h1>");
  for (const std::string& page : {GroupPage(), ArrayPage("<script>"), GroupPage("/<i>")}) {
    for (const char* markup : {"<script", "<img src=x", "<b>", "<i>", "<h1><"}) {
      EXPECT_THAT(page, Not(HasSubstr(markup)));
    }
  }
  EXPECT_THAT(GroupPage(), HasSubstr("href=\"%3Cscript%3E/index.html\""));
  EXPECT_THAT(ArrayPage("<script>"), HasSubstr("&lt;/td&gt;&lt;/table&gt;&lt;script&gt;"));
}

TEST_F(PageTest, LinksOfUrlsAreOnlyThoseOfTheWeb) {
  auto& node = AddArray("/a", "x", 3);
  AddText(node, "references", "https://example.org/?a=1&b=\"2");
  AddText(node, "comment", "javascript:alert(1)");
  const std::string page = ArrayPage("a");
  EXPECT_THAT(page, HasSubstr("href=\"https://example.org/?a=1&amp;b=&quot;2\""));
  EXPECT_THAT(page, Not(HasSubstr("href=\"javascript")));
}

TEST_F(PageTest, LongAttributesAreFoldedAndCut) {
  auto& node = AddArray("/a", "x", 3);
  AddText(node, "history", std::string(1000, 'h'));
  AddText(node, "blob", std::string(100'000, 'b'));
  const std::string page = ArrayPage("a");
  EXPECT_THAT(page, HasSubstr("<details><summary>" + std::string(100, 'h')));
  EXPECT_THAT(page, HasSubstr("100,000 bytes in all"));
  EXPECT_LT(page.size(), 40'000U);
}

TEST_F(PageTest, MakingAPageDecodesNothing) {
  AddArray("/a", "x", 3);
  store_->AddDimCoord("/x", test::Undecodable(Datatype::Float64(), {3}));
  // Reading it does: the ends of the coordinates.
  EXPECT_THAT(GroupPage(), HasSubstr("cannot be read"));
  EXPECT_THAT(ArrayPage("a"), HasSubstr("cannot be read"));
}

TEST_F(PageTest, CoordinatesHaveTheirRange) {
  AddArray("/a", "t", 3);
  AddText(store_->AddDimCoord("/t", std::make_shared<test::MemoryArray>(
                                        Datatype::Float64(), std::vector<uint64_t>{3},
                                        test::Raw(0.0) + test::Raw(0.25) + test::Raw(31.5))),
          "units", "days since 2020-01-01");
  EXPECT_THAT(ArrayPage("a"), HasSubstr("2020-01-01 \u2026 2020-02-01T12:00:00 "));
  store_->AddDimCoord("/t", std::make_shared<test::MemoryArray>(
                                Datatype::Integer(2, true), std::vector<uint64_t>{3},
                                std::string("\5\0\6\0\7\0", 6)));
  EXPECT_THAT(GroupPage(), HasSubstr("<td class=\"range\">5 \u2026 7 "));
}

TEST_F(PageTest, EveryFileOfAnArrayHasALink) {
  AddArray("/a", "x", 3);
  const auto group = *MakeGroupInput(store_, "/", cache_);
  const std::string page = ArrayPage("a");
  size_t files = 0;
  for (const ViewName& file : ArrayViews().Names(group->Load("a")->array.value())) {
    if (file.name == "index.html") continue;
    EXPECT_THAT(page, HasSubstr("<a href=\"" + UrlOfName(file.name) +
                                (file.is_directory ? "/" : "") + "\">"));
    ++files;
  }
  EXPECT_GE(files, 5U);
}

TEST(ViewKindTest, EveryKindSaysWhatItIs) {
  for (const auto* kind : ArrayViewKinds()) EXPECT_NE(kind->description, "") << kind->file_name;
  for (const auto* kind : GroupViewKinds()) EXPECT_NE(kind->description, "") << kind->file_name;
}

TEST_F(PageTest, OnlyTheFirstChildrenOfALargeGroupAreLoaded) {
  for (int i = 0; i < 1200; ++i) AddArray(fmt::format("/a{:04}", i), "x", 3);
  store_->Break("/a0003");
  const std::string page = GroupPage();
  EXPECT_THAT(page, HasSubstr("The first 1,000 of 1,200 arrays and groups."));
  EXPECT_THAT(page, HasSubstr(">a0999</a>"));
  EXPECT_THAT(page, Not(HasSubstr(">a1000</a>")));
  EXPECT_THAT(page, HasSubstr("/a0003 is broken"));
}

TEST_F(PageTest, PagesOfGroupsAreListedAndThoseOfArraysAreNot) {
  AddArray("/a", "x", 3);
  const auto group = *MakeGroupInput(store_, "/", cache_);
  EXPECT_TRUE(GroupViews().Resolve(*group, "index.html")->is_listed);
  EXPECT_FALSE(ArrayViews().Resolve(group->Load("a")->array.value(), "index.html")->is_listed);
  EXPECT_EQ(ShortName("index.html"), "html");
  EXPECT_EQ(ShortName("preview.png"), "preview");
}

TEST_F(PageTest, GroupsNameWhatIsInTheirGroups) {
  store_->AddGroup("/g");
  for (int i = 0; i < 25; ++i) AddArray(fmt::format("/g/b{:02}", i), "x", 3);
  EXPECT_THAT(GroupPage(), HasSubstr("b00, b01, "));
  EXPECT_THAT(GroupPage(), HasSubstr("b19, and 5 more"));
}

TEST_F(PageTest, LevelsOfAnImageHaveTheSizeOfTheirElements) {
  AddText(store_->AddGroup("/i"), "multiscales", R"([{"axes": [{"name": "c"},
      {"name": "y", "unit": "micrometer"}, {"name": "x", "unit": "<b>"}], "datasets": [
      {"path": "0", "coordinateTransformations": [{"scale": [1, 0.5, 0.25]}]},
      {"path": "deep/1", "coordinateTransformations": [{"scale": [1, 2]}]},
      {"path": 7}, {}, null]}])");
  const std::string page = GroupPage("/i");
  EXPECT_THAT(page, HasSubstr("<a href=\"0/index.html\">0</a></td><td>y 0.5 micrometer, "
                              "x 0.25 &lt;b&gt;</td>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"deep/1/index.html\">deep/1</a></td><td></td>"));
  AddText(store_->AddGroup("/j"), "multiscales", R"([{"datasets": [], "axes": 3}])");
  EXPECT_THAT(GroupPage("/j"), Not(HasSubstr("<h2>Image")));
}

TEST_F(PageTest, APlateIsATableOfItsWells) {
  AddText(store_->AddGroup("/"), "plate", R"({"name": "<b>", "rows": [{"name": "A"},
      {"name": "B"}], "columns": [{"name": "1"}, {"name": "2"}, {"name": "3"}], "wells": [
      {"path": "A/1", "rowIndex": 0, "columnIndex": 0}, {"path": "B/2", "rowIndex": 1,
      "columnIndex": 1}, {"path": "A/3", "rowIndex": 0, "columnIndex": 2},
      {"path": "C/1", "rowIndex": 2, "columnIndex": 0}]})");
  for (const char* path : {"/A", "/A/1", "/B", "/B/2"}) store_->AddGroup(path);
  const std::string page = GroupPage();
  EXPECT_THAT(page, HasSubstr("<h2>Plate</h2>\n<p>&lt;b&gt;</p>"));
  EXPECT_THAT(page, HasSubstr("2 rows, 3 columns, 3 wells."));
  EXPECT_THAT(page, HasSubstr("1 well is not in the store"));
  EXPECT_THAT(page, HasSubstr("1 well is left out, because"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">A</th><td><a href=\"A/1/index.html\""));
  EXPECT_THAT(page,
              HasSubstr("<th scope=\"row\">B</th><td></td><td><a href=\"B/2/index.html\""));
  EXPECT_THAT(page, HasSubstr("title=\"A/3\">\u2013</td></tr>"));
}

TEST_F(PageTest, PicturesOfWellsAreBounded) {
  std::string rows, columns, wells;
  for (int i = 0; i < 40; ++i) {
    rows += fmt::format(R"({{"name": "r{}"}},)", i);
    columns += fmt::format(R"({{"name": "c{}"}},)", i);
    for (int k = 0; k < 40; ++k) wells += fmt::format(R"({{"path": "r{}/c{}"}},)", i, k);
  }
  for (std::string* text : {&rows, &columns, &wells}) text->pop_back();
  AddText(store_->AddGroup("/p"), "plate",
          R"({"rows": [)" + rows + R"(], "columns": [)" + columns + R"(], "wells": [)" + wells +
              "]}");
  for (int i = 0; i < 40; ++i) {
    store_->AddGroup(fmt::format("/p/r{}", i));
    for (int k = 0; k < 40; ++k) store_->AddGroup(fmt::format("/p/r{}/c{}", i, k));
  }
  const std::string page = GroupPage("/p");
  size_t pictures = 0;
  for (size_t at = 0; (at = page.find("<img", at)) != page.npos; ++at) ++pictures;
  const bool has_pictures =
      GroupViews()
          .Resolve(*MakeGroupInput(store_, "/p", cache_).value(), "index.html")
          .has_value() &&
      pictures > 0;
  if (!has_pictures) GTEST_SKIP() << "a build without pictures";
  EXPECT_EQ(pictures, 384U);
  EXPECT_THAT(page,
              HasSubstr("The first 384 wells have a picture, the other 1,216 are links."));
}

TEST_F(PageTest, PathsAreQuotedAsEachLanguageDoes) {
  AddArray("/a", "x", 3);
  const auto group = *MakeGroupInput(store_, "/", cache_);
  const std::vector<ViewName> files = {{"data.nc"}, {"data.npy"}, {"data.raw"}};
  const std::string folder = "/m/it's \"x\\";
  const std::string lines =
      ArrayLinesHtml(group->Load("a")->array.value(), files, folder, PageField::kEarth) +
      GroupLinesHtml(files, folder, PageField::kEarth);
  EXPECT_THAT(lines, HasSubstr("np.load('/m/it\\'s &quot;x\\\\/data.npy'"));
  EXPECT_THAT(lines, HasSubstr("readBin(&quot;/m/it's \\&quot;x\\\\/data.raw&quot;"));
  EXPECT_THAT(lines, HasSubstr("file='/m/it''s &quot;x\\/data.raw'"));
  EXPECT_THAT(lines, HasSubstr("cdo sinfo '/m/it'\\''s &quot;x\\/data.nc'"));
  EXPECT_THAT(GroupLinesHtml(files, "", PageField::kEarth), HasSubstr("cdo sinfo 'data.nc'"));
}

TEST_F(PageTest, LinesAreOnlyForFilesThatThereAre) {
  AddArray("/a", "x", 3);
  const auto group = *MakeGroupInput(store_, "/", cache_);
  EXPECT_EQ(ArrayLinesHtml(group->Load("a")->array.value(), {}, "/m", PageField::kEarth), "");
  const std::vector<ViewName> refused = {{"data.nc", true, model::BadInput("no").value()}};
  EXPECT_EQ(GroupLinesHtml(refused, "/m", PageField::kEarth), "");
}

TEST_F(PageTest, ProgramsFitTheFieldOfTheData) {
  const std::vector<ViewName> files = {{"data.nc"}, {"data.ome.tif"}};
  const std::string image = GroupLinesHtml(files, "/m", PageField::kImage);
  EXPECT_THAT(image, HasSubstr("napari"));
  EXPECT_THAT(image, Not(HasSubstr("cdo")));
  const std::string other = GroupLinesHtml(files, "/m", PageField::kGeneral);
  EXPECT_THAT(other, HasSubstr("xr.open_dataset"));
  EXPECT_THAT(other, Not(HasSubstr("cdo")));
  EXPECT_EQ(FieldOf({}, {}, true), PageField::kImage);
  EXPECT_EQ(FieldOf({}, {}, false), PageField::kGeneral);
  EXPECT_EQ(FieldOf(std::vector<PageDimension>{{"lat", 3}}, {}, false), PageField::kEarth);
  AddText(store_->AddGroup("/g"), "Conventions", "CF-1.8");
  EXPECT_EQ(FieldOf({}, (*store_->Load("/g"))->attributes(), false), PageField::kEarth);
}

TEST_F(PageTest, TypesAreInPlainWords) {
  EXPECT_EQ(TypeWords(Datatype::Float32()), "float32");
  EXPECT_EQ(TypeWords(Datatype::Bool()), "true or false");
  EXPECT_EQ(
      TypeWords(Datatype::Enum(Datatype::Integer(1, true), {{"clear", 0}, {"cloudy", 1}})),
      "int8 with names: clear, cloudy");
  EXPECT_EQ(TypeWords(Datatype::Time({.unit = "s"})), "date and time in steps of 1 s");
  EXPECT_EQ(TypeWords(Datatype::PackedCompound(
                {{"a", Datatype::Float32()}, {"b", Datatype::String()}})),
            "records: a (float32), b (text)");
  EXPECT_EQ(TypeWords(Datatype::Array(Datatype::Float64(), {2, 3})),
            "blocks of 2 \u00D7 3 float64");
  EXPECT_EQ(TypeWords(Datatype::Complex(8)), "complex64");
  Datatype deep = Datatype::Float32();
  for (int i = 0; i < 40; ++i) deep = Datatype::Vlen(deep);
  EXPECT_LT(TypeWords(deep).size(), 80U);
}

TEST_F(PageTest, LongNumbersAreInGroupsOfThreeDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  AddArray("/a", "x", 1234567);
  EXPECT_THAT(ArrayPage("a"), HasSubstr("x 1,234,567"));
  EXPECT_THAT(ArrayPage("a"), HasSubstr("1,234,567 elements"));
}

TEST_F(PageTest, LevelsHaveTheNameOfTheirImage) {
  AddText(store_->AddGroup("/"), "multiscales", R"([{"name": "cells04", "datasets": []}])");
  AddArray("/0", "x", 3);
  EXPECT_THAT(ArrayPage("0"), HasSubstr("<h1>cells04, level 0</h1>"));
}

TEST_F(PageTest, LongListsCanBeSearched) {
  for (int i = 0; i < 3; ++i) AddArray(fmt::format("/a{}", i), "x", 3);
  EXPECT_THAT(GroupPage(), Not(HasSubstr("<script")));
  for (int i = 3; i < 12; ++i) AddArray(fmt::format("/a{}", i), "x", 3);
  EXPECT_THAT(GroupPage(), HasSubstr("<script"));
  EXPECT_THAT(GroupPage(), HasSubstr("<ul class=\"cards\" data-find>"));
}

TEST(HtmlTextTest, SizesHaveThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.0 KiB");
  EXPECT_EQ(FormatBytes(99.949 * 1024), "99.9 KiB");
  EXPECT_EQ(FormatBytes(99.96 * 1024), "100 KiB");
  EXPECT_EQ(FormatBytes(2.0 * 1024 * 1024 * 1024), "2.0 GiB");
}

}  // namespace
}  // namespace ndlfs::fs
