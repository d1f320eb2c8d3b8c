// SPDX-License-Identifier: MIT
//
// FITS, NIfTI, TIFF and Fortran records, field by field.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>

#include "fs/view/array/fortran_records.h"
#include "fs/view/base/array_part.h"
#include "fs/view/container/pyramid_axes.h"
#include "fs/view/elements/segmented_view.h"
#include "fs/view/elements/sign_flip.h"
#include "fs/view/image/nifti_header.h"
#include "fs/view/place/ome_image.h"
#include "model/base64.h"
#include "tests/fs/view/grid_test.h"

namespace ndlfs::fs::fake {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Reversed(std::string bytes, size_t width) {
  for (size_t i = 0; i + width <= bytes.size(); i += width) {
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(i),
                 bytes.begin() + static_cast<ptrdiff_t>(i + width));
  }
  return bytes;
}

class FortranTest : public GridTest {
 protected:
  std::string RecordsOf(uint64_t most) {
    const auto view =
        MakeSegmentedView(MakeFortranRecord(AllOf(Input().elements), most)).value();
    std::string text(*view->size(), '\0');
    EXPECT_THAT(view->Read(0, std::as_writable_bytes(std::span(text))), IsOk());
    return text;
  }
};

TEST_F(FortranTest, OneRecordBetweenTwoMarkers) {
  AddArray(Datatype::Integer(2, true), {5});
  EXPECT_THAT(Read("data.f77"),
              IsOkAnd(std::string("\12\0\0\0", 4) + elements_ + std::string("\12\0\0\0", 4)));
}

TEST_F(FortranTest, EmptyArrayIsAnEmptyRecord) {
  AddArray(Datatype::Integer(2, true), {0});
  EXPECT_THAT(Read("data.f77"), IsOkAnd(std::string(8, '\0')));
}

// As gfortran writes with -fmax-subrecord-length=4.
TEST_F(FortranTest, LongRecordsAreDivided) {
  AddArray(Datatype::Integer(2, true), {5});
  const std::string four("\4\0\0\0", 4);
  const std::string less_four("\xfc\xff\xff\xff", 4);
  const std::string two("\2\0\0\0", 4);
  const std::string less_two("\xfe\xff\xff\xff", 4);
  EXPECT_EQ(RecordsOf(4), less_four + elements_.substr(0, 4) + four +           // the first
                              less_four + elements_.substr(4, 4) + less_four +  // one between
                              two + elements_.substr(8) + less_two);            // the last
  EXPECT_EQ(RecordsOf(10),
            std::string("\12\0\0\0", 4) + elements_ + std::string("\12\0\0\0", 4));
}

TEST_F(FortranTest, MarkersHave31Bits) {
  const auto large = std::make_shared<MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{(uint64_t{1} << 31) - 8},
      std::vector<uint64_t>{1 << 20}, std::map<uint64_t, std::string>());
  AddArray(large);
  const auto view = Make("data.f77");
  ASSERT_THAT(view, IsOk());
  EXPECT_EQ((*view)->size(), (uint64_t{1} << 31) - 8 + 16);
  std::string marker(4, '\0');
  ASSERT_THAT((*view)->Read(0, std::as_writable_bytes(std::span(marker))), IsOk());
  EXPECT_EQ(NumberAt<int32_t>(marker, 0), -2147483639);
}

class FitsTest : public GridTest {
 protected:
  static constexpr size_t kBlock = 2880;
  // The cards without blanks at their ends; a file has them and END.
  std::vector<std::string> Cards() {
    const auto file = Read("data.fits");
    EXPECT_THAT(file, IsOk());
    EXPECT_EQ(file->size() % kBlock, 0u);
    std::vector<std::string> cards;
    for (size_t at = 0; at < file->size(); at += 80) {
      std::string card = file->substr(at, 80);
      card.resize(card.find_last_not_of(' ') + 1);
      if (card == "END") {
        data_ = file->substr((at + kBlock) / kBlock * kBlock);
        return cards;
      }
      cards.push_back(card.substr(0, card.find(" /")));
    }
    ADD_FAILURE() << "no END";
    return cards;
  }

  std::string data_;
};

TEST_F(FitsTest, HeaderAndBigEndianElements) {
  AddArray(Datatype::Integer(2, true), {2, 3}).attributes = {TextAttribute("units", "m s-1"),
                                                             NumberAttribute("_FillValue", 1)};
  EXPECT_THAT(Cards(),
              ElementsAre("SIMPLE  =                    T", "BITPIX  =                   16",
                          "NAXIS   =                    2", "NAXIS1  =                    3",
                          "NAXIS2  =                    2", "BUNIT   = 'm s-1   '"))
      << "a fill value that is no integer is none of integers";
  std::string expected = Reversed(elements_, 2);
  expected.resize(kBlock, '\0');
  EXPECT_EQ(data_, expected);
}

TEST_F(FitsTest, IntegersThatFitsHasNotAreMoved) {
  const auto zero_of = [&](const Datatype& type) {
    AddArray(type, {1});
    for (const std::string& card : Cards()) {
      if (card.starts_with("BZERO")) return card.substr(card.find_last_of(' ') + 1);
    }
    return std::string("none");
  };
  EXPECT_EQ(zero_of(Datatype::Integer(1, true)), "-128");
  EXPECT_EQ(data_.substr(0, 1), "\x80");
  EXPECT_EQ(zero_of(Datatype::Integer(1, false)), "none");
  EXPECT_EQ(data_.substr(0, 1), std::string(1, '\0'));
  EXPECT_EQ(zero_of(Datatype::Integer(2, false)), "32768");
  EXPECT_EQ(data_.substr(0, 2), std::string("\x81\0", 2));
  EXPECT_EQ(zero_of(Datatype::Integer(4, false)), "2147483648");
  EXPECT_EQ(data_.substr(0, 4), std::string("\x83\2\1\0", 4));
  EXPECT_EQ(zero_of(Datatype::Integer(8, false)), "9223372036854775808");
  EXPECT_EQ(data_.substr(0, 8), std::string("\x87\6\5\4\3\2\1\0", 8));
  EXPECT_EQ(zero_of(Datatype::Integer(8, true)), "none");
  EXPECT_EQ(zero_of(Datatype::Float64()), "none");
  EXPECT_EQ(zero_of(Datatype::Bool()), "none");
  AddArray(Datatype::Complex(8), {1});
  EXPECT_FALSE(Has("data.fits"));
  AddArray(Datatype::Float("float16", 2), {1});
  EXPECT_FALSE(Has("data.fits"));
}

TEST_F(FitsTest, BlankIsTheStoredElement) {
  model::Attribute fill;
  fill.name = "_FillValue";
  fill.type = Datatype::Integer(2, false);
  fill.value = 65535;
  AddArray(Datatype::Integer(2, false), {2}).attributes = {fill};
  EXPECT_THAT(Cards(), ::testing::Contains("BLANK   =                32767"));
  fill.value = 65536;
  AddArray(Datatype::Integer(2, false), {2}).attributes = {fill};
  EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("BLANK")))) << "no element is that";
  AddArray(Datatype::Float32(), {2}).attributes = {fill};
  EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("BLANK")))) << "which floats have not";
}

TEST_F(FitsTest, RegularCoordinatesAreAxes) {
  AddLongitude();
  AddLatitude({60, 58, 55});
  AddArray(Datatype::Float32(), {3, 4}, {"lat", "lon"});
  EXPECT_THAT(Cards(),
              ElementsAre("SIMPLE  =                    T", "BITPIX  =                  -32",
                          "NAXIS   =                    2", "NAXIS1  =                    4",
                          "NAXIS2  =                    3", "CTYPE1  = 'lon     '",
                          "CUNIT1  = 'deg     '", "CRPIX1  =                   1.",
                          "CRVAL1  =                  10.", "CDELT1  =                  0.5"));
}

// There is room for the coordinates of all dimensions, in a second block. Those that are not
// regular need none of it.
TEST_F(FitsTest, ElementsFollowTheBlockOfEnd) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  for (const std::string& name : names) {
    AddCoordinate(name, {1, 2, 4}, {TextAttribute("units", "m")});
  }
  AddArray(Datatype::Integer(1, false), {3, 3, 3, 3, 3, 3}, names);
  EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("CRVAL"))));
  std::string expected = elements_;
  expected.resize(kBlock, '\0');
  EXPECT_EQ(data_, expected);
}

// Readers take a number without units for one of the SI.
TEST_F(FitsTest, UnitsOfCoordinatesAreThoseOfTheStandard) {
  for (const std::string units : {"km/s", "MHz", "Angstrom", "W m-2", "mag", "um"}) {
    AddCoordinate("v", {1, 2}, {TextAttribute("units", units)});
    AddArray(Datatype::Float32(), {2}, {"v"});
    EXPECT_THAT(Cards(), ::testing::Contains(::testing::StartsWith("CUNIT1  = '" + units)));
  }
  for (const std::string units : {"level", "furlongs", "1"}) {
    AddCoordinate("v", {1, 2}, {TextAttribute("units", units)});
    AddArray(Datatype::Float32(), {2}, {"v"});
    EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("CUNIT")))) << units;
  }
}

TEST_F(FitsTest, ScalarHasOneElement) {
  AddArray(Datatype::Float32(), {});
  EXPECT_THAT(Cards(),
              ElementsAre("SIMPLE  =                    T", "BITPIX  =                  -32",
                          "NAXIS   =                    1", "NAXIS1  =                    1"));
}

TEST_F(FitsTest, TextsThatFitsHasNotAreLeftOut) {
  AddCoordinate("a'b-c", {1, 2});
  AddArray(Datatype::Float32(), {2}, {"a'b-c"}).attributes = {
      TextAttribute("units", "\xc2\xb5m")};
  EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("BUNIT"))));
  EXPECT_THAT(Cards(), ::testing::Contains("CTYPE1  = 'a''b-c  '"));
  AddArray(Datatype::Float32(), {2}).attributes = {
      TextAttribute("units", std::string(69, 'x'))};
  EXPECT_THAT(Cards(), Not(::testing::Contains(HasSubstr("BUNIT"))));
}

TEST_F(FitsTest, SignsAreFlippedAtAnyOffset) {
  AddArray(Datatype::Integer(4, false), {9});
  const auto flipped = FlipSigns(Input().elements, 4);
  for (const auto order : {model::ByteOrder::kLittle, model::ByteOrder::kBig}) {
    std::string whole = order == model::ByteOrder::kBig ? Reversed(elements_, 4) : elements_;
    for (size_t i = order == model::ByteOrder::kBig ? 0 : 3; i < whole.size(); i += 4) {
      whole[i] = static_cast<char>(whole[i] ^ '\x80');
    }
    for (size_t offset = 0; offset < whole.size(); ++offset) {
      for (size_t size = 1; offset + size <= whole.size(); ++size) {
        std::string out(size, '\0');
        ASSERT_THAT(flipped->Read(offset, std::as_writable_bytes(std::span(out)), order,
                                  cache::ReadHint::kOnward),
                    IsOk());
        ASSERT_EQ(out, whole.substr(offset, size)) << offset;
      }
    }
  }
}

class NiftiTest : public GridTest {};

TEST_F(NiftiTest, FirstVersion) {
  AddCoordinate("x", {0, 0.5, 1}, {TextAttribute("units", "mm")});
  AddCoordinate("y", {4, 2}, {TextAttribute("units", "mm")});
  AddArray(Datatype::Integer(2, true), {2, 3}, {"y", "x"});
  const std::string file = *Read("data.nii");
  EXPECT_EQ(NumberAt<int32_t>(file, 0), 348);
  const auto dim = NumberAt<std::array<int16_t, 8>>(file, 40);
  EXPECT_THAT(dim, ElementsAre(2, 3, 2, 1, 1, 1, 1, 1));
  EXPECT_EQ(NumberAt<int16_t>(file, 70), 4);
  EXPECT_EQ(NumberAt<int16_t>(file, 72), 16);
  const auto pixdim = NumberAt<std::array<float, 8>>(file, 76);
  EXPECT_THAT(pixdim, ElementsAre(-1, 0.5F, 2, 1, 1, 1, 1, 1));  // y descends: left-handed
  EXPECT_EQ(NumberAt<float>(file, 108), 352);
  EXPECT_EQ(NumberAt<float>(file, 112), 1);
  EXPECT_EQ(NumberAt<char>(file, 123), 2);
  EXPECT_EQ(file.substr(344, 8), std::string("n+1\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(352), elements_);
}

// Numbers of nifti1.h.
struct NiftiAffine {
  explicit NiftiAffine(const std::string& file)
      : qform(NumberAt<int16_t>(file, 252)),
        sform(NumberAt<int16_t>(file, 254)),
        rows(NumberAt<std::array<float, 12>>(file, 280)) {}
  int16_t qform;
  int16_t sform;
  std::array<float, 12> rows;
};

TEST_F(NiftiTest, AffineIsThatOfCoordinates) {
  AddCoordinate("x", {0, 0.5, 1});
  AddCoordinate("y", {4, 2});
  AddArray(Datatype::Integer(2, true), {2, 3}, {"y", "x"});
  const NiftiAffine affine(*Read("data.nii"));
  EXPECT_EQ(affine.sform, 2);
  EXPECT_EQ(affine.qform, 2);
  EXPECT_THAT(affine.rows, ElementsAre(0.5F, 0, 0, 0, 0, -2, 0, 4, 0, 0, 1, 0));
}

TEST_F(NiftiTest, UnitsWithoutACodeAreConverted) {
  AddCoordinate("x", {0, 0.5, 1}, {TextAttribute("units", "km")});
  AddCoordinate("y", {4, 2}, {TextAttribute("units", "m")});
  AddCoordinate("time", {1, 3}, {TextAttribute("units", "hours since 2000-01-01")});
  AddArray(Datatype::Integer(2, true), {2, 1, 2, 3}, {"time", "", "y", "x"});
  const std::string file = *Read("data.nii");
  EXPECT_EQ(NumberAt<char>(file, 123), 1 + 8);
  EXPECT_EQ(NumberAt<float>(file, 80), 500);
  EXPECT_EQ(NumberAt<float>(file, 84), 2);
  EXPECT_EQ(NumberAt<float>(file, 92), 7200);
  EXPECT_EQ(NumberAt<float>(file, 136), 3600);
  EXPECT_EQ(NiftiAffine(file).rows[7], 4);
}

TEST_F(NiftiTest, ScaleThatIsNoSlopeIsApplied) {
  for (const double scale : {0.0, 1e-60}) {
    AddArray(Datatype::Integer(2, true), {3}, {"x"}).attributes = {
        NumberAttribute("scale_factor", scale), NumberAttribute("add_offset", 2)};
    const std::string file = *Read("data.nii");
    EXPECT_EQ(NumberAt<int16_t>(file, 70), 64);
    EXPECT_EQ(NumberAt<float>(file, 112), 1);
    EXPECT_EQ(NumberAt<double>(file, 360), 2);
  }
}

TEST_F(NiftiTest, OrientationThatNobodyKnowsIsUnknown) {
  AddArray(Datatype::Integer(2, true), {2, 3, 4});
  EXPECT_EQ(NiftiAffine(*Read("data.nii")).sform, 0);
  EXPECT_EQ(NiftiAffine(*Read("data.nii")).qform, 0);
}

class NiftiSourceTest : public NiftiTest {
 protected:
  static model::Attribute List(std::string name, const std::vector<double>& numbers) {
    model::Attribute attribute = NumberAttribute(std::move(name), 0);
    attribute.shape = {numbers.size()};
    model::Value::List items;
    for (const double number : numbers) items.emplace_back(number);
    attribute.value = std::move(items);
    return attribute;
  }
  // A store as NIfTI files are.
  void AddImage() {
    AddArray(Datatype::Integer(2, true), {2, 3, 4}, {"z", "y", "x"});
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        NumberAttribute("qform_code", 1),
        NumberAttribute("sform_code", 4),
        List("pixdim", {-1, 2, 3, 4, 0, 0, 0, 0}),
        List("srow_x", {0, 0, 4, 10}),
        List("srow_y", {2, 0, 0, 20}),
        List("srow_z", {0, 3, 0, 30}),
        List("quatern_bcd", {0.5, 0.5, 0.5}),
        List("qoffset_xyz", {10, 20, 30}),
        NumberAttribute("xyzt_units", 2)};
  }
  std::string ReadPart(Selection selection) {
    const auto view =
        ArrayViews().MakeFile(MakePart(Input(), std::move(selection)), "data.nii").value();
    std::string text(*view->size(), '\0');
    EXPECT_THAT(view->Read(0, std::as_writable_bytes(std::span(text))), IsOk());
    return text;
  }
};

TEST_F(NiftiSourceTest, HeaderOfTheSourceIsKept) {
  AddImage();
  const std::string file = *Read("data.nii");
  const NiftiAffine affine(file);
  EXPECT_EQ(affine.sform, 4);
  EXPECT_EQ(affine.qform, 1);
  EXPECT_THAT(affine.rows, ElementsAre(0, 0, 4, 10, 2, 0, 0, 20, 0, 3, 0, 30));
  EXPECT_EQ(NumberAt<float>(file, 76), -1);
  EXPECT_EQ(NumberAt<float>(file, 80), 2);
  EXPECT_EQ(NumberAt<float>(file, 256), 0.5F);
  EXPECT_EQ(NumberAt<float>(file, 272), 20);
  EXPECT_EQ(NumberAt<char>(file, 123), 2);
  EXPECT_THAT(
      ReadText("data.nhdr"),
      HasSubstr("space: right-anterior-superior\n"
                "space directions: (0,2,0) (0,0,3) (4,0,0)\nspace origin: (10,20,30)\n"));
  EXPECT_THAT(ReadText("data.nhdr"), HasSubstr("space units: \"mm\" \"mm\" \"mm\"\n"));
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("AnatomicalOrientation = RAI\n"));
  EXPECT_THAT(ReadText("data.mhd"), HasSubstr("DistanceUnits = mm\n"));
}

TEST_F(NiftiSourceTest, MeaningOfTheSourceIsKept) {
  AddImage();
  auto& attributes = std::get<model::Group>(store_->AddGroup("/").entity).attributes;
  attributes = {NumberAttribute("sform_code", 0),      TextAttribute("descrip", "scan"),
                TextAttribute("intent_name", "atlas"), NumberAttribute("intent_code", 1002),
                List("intent_p", {1, 2, 3}),           NumberAttribute("slice_code", 4)};
  const std::string file = *Read("data.nii");
  EXPECT_EQ(NumberAt<float>(file, 60), 2);
  EXPECT_EQ(NumberAt<int16_t>(file, 68), 1002);
  EXPECT_EQ(NumberAt<char>(file, 122), 4);
  EXPECT_EQ(file.substr(148, 5), std::string("scan\0", 5));
  EXPECT_EQ(file.substr(328, 6), std::string("atlas\0", 6));
}

TEST_F(NiftiSourceTest, PartsAreMovedWithTheirAffine) {
  AddImage();
  // Every second along x, backwards from the last; y from the second on; one plane.
  const std::string file = ReadPart({{.begin = 1, .count = 1, .is_dropped = true},
                                     {.begin = 1, .count = 2},
                                     {.begin = 3, .count = 2, .step = -2}});
  const NiftiAffine affine(file);
  EXPECT_EQ(affine.sform, 4);
  EXPECT_EQ(affine.qform, 4);
  EXPECT_THAT(affine.rows, ElementsAre(0, 0, 4, 14, -4, 0, 0, 26, 0, 3, 0, 33));
  EXPECT_EQ(NumberAt<float>(file, 80), 4);
}

TEST_F(NiftiSourceTest, UnknownOrientationOfTheSourceStaysUnknown) {
  AddImage();
  auto& attributes = std::get<model::Group>(store_->AddGroup("/").entity).attributes;
  attributes = {NumberAttribute("qform_code", 0), NumberAttribute("sform_code", 0),
                List("pixdim", {1, 2, 3, 4, 0, 0, 0, 0})};
  const NiftiAffine affine(*Read("data.nii"));
  EXPECT_EQ(affine.sform, 0);
  EXPECT_EQ(affine.qform, 0);
}

// Axes with "none" are not of the space of a NRRD.
TEST_F(NiftiSourceTest, AxesOfNrrdThatAreNotOfTheSpaceHaveNoPlace) {
  const auto affine_of = [&](const std::string& directions) {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {
        TextAttribute("space", "left-posterior-superior"),
        TextAttribute("space directions", directions),
        TextAttribute("space origin", "(10,20,30)")};
    return NiftiAffine(*Read("data.nii"));
  };
  AddCoordinate("x", {10, 10.5, 11});
  AddArray(Datatype::Integer(2, true), {2, 2, 2, 3}, {"", "", "", "x"});
  const NiftiAffine affine = affine_of("(0.5,0,0) (0,0.25,0) (0,0,2) none");
  EXPECT_EQ(affine.sform, 1);
  EXPECT_THAT(affine.rows, ElementsAre(-0.5F, 0, 0, -10, 0, -0.25F, 0, -20, 0, 0, 2, 30));
  // An oblique one.
  EXPECT_THAT(affine_of("(0.5, 1, 0) (0, 0.25, 0) (0, 0, 2) none").rows,
              ElementsAre(-0.5F, 0, 0, -10, -1, -0.25F, 0, -20, 0, 0, 2, 30));
  // Axes of NIfTI's space come first. A plane has no third vector.
  EXPECT_EQ(affine_of("none (0.5,0,0) (0,0.25,0) (0,0,2)").sform, 0);
  EXPECT_THAT(ReadText("data.nhdr"),
              HasSubstr("space directions: none (-0.5,0,0) (0,-0.25,0) (0,0,2)\n"));
  EXPECT_EQ(affine_of("(0.5,0,0) (0,0.25,0) none none").sform, 0);
}

class MrcViewTest : public GridTest {
 protected:
  // Words by the numbers that MRC2014 gives them.
  template <typename T>
  static T Word(const std::string& file, size_t word) {
    return NumberAt<T>(file, (word - 1) * 4);
  }
};

TEST_F(MrcViewTest, VolumeHasItsCell) {
  AddCoordinate("x", {5, 5.5, 6}, {TextAttribute("units", "nm")});
  AddCoordinate("y", {4, 2}, {TextAttribute("units", "angstrom")});
  AddArray(Datatype::Integer(2, true), {4, 2, 3}, {"z", "y", "x"});
  const std::string file = *Read("data.mrc");
  EXPECT_THAT((NumberAt<std::array<int32_t, 10>>(file, 0)),
              ElementsAre(3, 2, 4, 1, 0, 0, 0, 3, 2, 4));
  EXPECT_THAT((NumberAt<std::array<float, 6>>(file, 40)), ElementsAre(15, 4, 0, 90, 90, 90));
  EXPECT_THAT((NumberAt<std::array<int32_t, 3>>(file, 64)), ElementsAre(1, 2, 3));
  EXPECT_GT(Word<float>(file, 20), Word<float>(file, 21)) << "the range is not known";
  EXPECT_EQ(Word<int32_t>(file, 23), 1);
  EXPECT_EQ(Word<int32_t>(file, 24), 0);
  EXPECT_EQ(Word<float>(file, 50), 50);
  EXPECT_EQ(file.substr(208, 8), std::string("MAP DD\0\0", 8));
  EXPECT_EQ(file.substr(1024), elements_);
}

TEST_F(MrcViewTest, SpaceGroupTellsImagesStacksAndVolumes) {
  const auto group_of = [&](const std::vector<uint64_t>& shape,
                            std::vector<std::string> dimensions = {}) {
    AddArray(Datatype::Float32(), shape, std::move(dimensions));
    return Word<int32_t>(*Read("data.mrc"), 23);
  };
  EXPECT_EQ(group_of({2, 3}), 0);
  EXPECT_EQ(group_of({2, 3, 4}, {"page", "y", "x"}), 0);
  EXPECT_EQ(group_of({2, 3, 4}, {"z", "y", "x"}), 1);
  EXPECT_EQ(group_of({5, 2, 3, 4}), 401);
  EXPECT_THAT((NumberAt<std::array<int32_t, 3>>(*Read("data.mrc"), 0)), ElementsAre(4, 3, 10));
  EXPECT_EQ(Word<int32_t>(*Read("data.mrc"), 10), 2) << "sections of a volume";
}

TEST_F(MrcViewTest, OtherNumbersAndRanksHaveNone) {
  AddArray(Datatype::Integer(1, false), {2, 3});
  EXPECT_FALSE(Has("data.mrc"));
  AddArray(Datatype::Float64(), {2, 3});
  EXPECT_FALSE(Has("data.mrc"));
  AddArray(Datatype::Float32(), {3});
  EXPECT_FALSE(Has("data.mrc"));
}

TEST_F(MrcViewTest, HeaderOfTheSourceIsKept) {
  AddArray(Datatype::Integer(1, true), {2, 3});
  std::string header(1024, '\7');
  const std::array<int32_t, 4> sizes = {3, 2, 1, 0};
  std::memcpy(header.data(), sizes.data(), sizeof sizes);
  const auto set = [&] {
    std::get<model::Group>(store_->AddGroup("/").entity).attributes = {TextAttribute(
        "HEADER", model::EncodeBase64(std::as_bytes(std::span(std::as_const(header)))))};
  };
  set();
  const std::string file = *Read("data.mrc");
  std::string expected = header;
  expected.replace(92, 4, std::string(4, '\0'));  // no extended header follows
  EXPECT_EQ(file, expected + elements_);
  header[0] = 9;  // of another array
  set();
  EXPECT_EQ(Word<int32_t>(*Read("data.mrc"), 1), 3);
}

TEST_F(NiftiTest, SecondVersionForLongAxes) {
  AddArray(Datatype::Integer(1, false), {32767});
  EXPECT_EQ(NumberAt<int32_t>(*Read("data.nii"), 0), 348);
  AddArray(Datatype::Integer(1, false), {32768});
  const std::string file = *Read("data.nii");
  EXPECT_EQ(NumberAt<int32_t>(file, 0), 540);
  EXPECT_EQ(file.substr(4, 8), std::string("n+2\0\r\n\032\n", 8));
  EXPECT_EQ(NumberAt<int16_t>(file, 12), 2);
  EXPECT_EQ(NumberAt<int16_t>(file, 14), 8);
  const auto dim = NumberAt<std::array<int64_t, 8>>(file, 16);
  EXPECT_THAT(dim, ElementsAre(1, 32768, 1, 1, 1, 1, 1, 1));
  EXPECT_EQ(NumberAt<double>(file, 104), 1);
  EXPECT_EQ(NumberAt<int64_t>(file, 168), 544);
  EXPECT_EQ(NumberAt<double>(file, 176), 1);
  EXPECT_EQ(file.substr(544), elements_);
}

TEST_F(NiftiTest, CodesOfTypes) {
  const auto code_of = [&](const Datatype& type, std::vector<uint64_t> shape = {2}) {
    AddArray(type, shape);
    return Has("data.nii") ? NumberAt<int16_t>(*Read("data.nii"), 70) : int16_t{0};
  };
  EXPECT_EQ(code_of(Datatype::Integer(1, false)), 2);
  EXPECT_EQ(code_of(Datatype::Integer(2, true)), 4);
  EXPECT_EQ(code_of(Datatype::Integer(4, true)), 8);
  EXPECT_EQ(code_of(Datatype::Float32()), 16);
  EXPECT_EQ(code_of(Datatype::Complex(8)), 32);
  EXPECT_EQ(code_of(Datatype::Float64()), 64);
  EXPECT_EQ(code_of(Datatype::Integer(1, true)), 256);
  EXPECT_EQ(code_of(Datatype::Integer(2, false)), 512);
  EXPECT_EQ(code_of(Datatype::Integer(4, false)), 768);
  EXPECT_EQ(code_of(Datatype::Integer(8, true)), 1024);
  EXPECT_EQ(code_of(Datatype::Integer(8, false)), 1280);
  EXPECT_EQ(code_of(Datatype::Complex(16)), 1792);
  EXPECT_EQ(code_of(Datatype::Integer(1, false), {4, 5, 3}), 128);
  EXPECT_EQ(code_of(Datatype::Integer(1, false), {4, 5, 4}), 2304);
  EXPECT_EQ(code_of(Datatype::Float("float16", 2)), 0);
  EXPECT_EQ(code_of(Datatype::Float32(), std::vector<uint64_t>(7, 1)), 16);
  EXPECT_EQ(code_of(Datatype::Float32(), std::vector<uint64_t>(8, 1)), 0);
  EXPECT_EQ(code_of(Datatype::Float32(), {}), 0);
}

// The directories of a TIFF file, as a reader of its own finds them.
struct Tiff {
  struct Entry {
    uint16_t type;
    uint64_t count;
    uint64_t place;  // of the value
  };
  using Directory = std::map<uint16_t, Entry>;

  explicit Tiff(std::string bytes) : bytes(std::move(bytes)) {
    is_big = NumberAt<uint16_t>(this->bytes, 2) == 43;
    EXPECT_EQ(this->bytes.substr(0, 4), std::string(is_big ? "II+\0" : "II*\0", 4));
    if (is_big) {
      EXPECT_EQ(NumberAt<uint32_t>(this->bytes, 4), 8u);
    }
    for (uint64_t at = Offset(is_big ? 8 : 4); at != 0;) at = ReadDirectory(at, directories);
  }
  uint64_t Offset(uint64_t at) const {
    return is_big ? NumberAt<uint64_t>(bytes, at) : NumberAt<uint32_t>(bytes, at);
  }
  uint64_t ReadDirectory(uint64_t at, std::vector<Directory>& into) const {
    const uint64_t width = is_big ? 8 : 4;
    EXPECT_EQ(at % 2, 0u);
    const uint64_t count = is_big ? Offset(at) : NumberAt<uint16_t>(bytes, at);
    at += is_big ? 8 : 2;
    Directory directory;
    uint16_t last = 0;
    for (uint64_t i = 0; i < count; ++i, at += 4 + 2 * width) {
      const auto tag = NumberAt<uint16_t>(bytes, at);
      EXPECT_LT(last, tag) << "tags ascend";
      last = tag;
      Entry entry{NumberAt<uint16_t>(bytes, at + 2), Offset(at + 4), at + 4 + width};
      const std::map<uint16_t, uint64_t> sizes = {{2, 1},  {3, 2},  {4, 4},  {5, 8},
                                                  {12, 8}, {13, 4}, {16, 8}, {18, 8}};
      if (entry.count * sizes.at(entry.type) > width) entry.place = Offset(entry.place);
      directory[tag] = entry;
    }
    into.push_back(directory);
    return Offset(at);
  }
  uint64_t Number(const Entry& entry, uint64_t i = 0) const {
    if (entry.type == 3) return NumberAt<uint16_t>(bytes, entry.place + 2 * i);
    if (entry.type == 4 || entry.type == 13)
      return NumberAt<uint32_t>(bytes, entry.place + 4 * i);
    return NumberAt<uint64_t>(bytes, entry.place + 8 * i);
  }
  uint64_t Number(size_t page, uint16_t tag) const {
    return Number(directories.at(page).at(tag));
  }
  std::string Text(size_t page, uint16_t tag) const {
    const Entry& entry = directories.at(page).at(tag);
    EXPECT_EQ(bytes.at(entry.place + entry.count - 1), '\0');
    return bytes.substr(entry.place, entry.count - 1);
  }
  std::string Data(const Directory& directory) const {
    return bytes.substr(Number(directory.at(273)), Number(directory.at(279)));
  }

  std::string bytes;
  bool is_big;
  std::vector<Directory> directories;
};

class TiffTest : public GridTest {
 protected:
  Tiff ReadTiff() { return Tiff(*Read("data.tif")); }
};

TEST_F(TiffTest, PagesAreTheLastTwoDimensions) {
  AddArray(Datatype::Integer(2, true), {2, 3, 4});
  const Tiff tiff = ReadTiff();
  EXPECT_FALSE(tiff.is_big);
  ASSERT_EQ(tiff.directories.size(), 2u);
  const std::map<uint16_t, uint64_t> expected = {{256, 4}, {257, 3}, {258, 16}, {259, 1},
                                                 {262, 1}, {277, 1}, {278, 3},  {279, 24},
                                                 {284, 1}, {339, 2}};
  for (size_t page = 0; page < 2; ++page) {
    for (const auto& [tag, value] : expected) EXPECT_EQ(tiff.Number(page, tag), value) << tag;
    EXPECT_EQ(tiff.Data(tiff.directories[page]), elements_.substr(24 * page, 24));
  }
  EXPECT_EQ(tiff.Text(0, 270), "ImageJ=1.53t\nimages=2\nslices=2\nloop=false\n");
  EXPECT_FALSE(tiff.directories[1].contains(270));
  EXPECT_EQ(tiff.Number(1, 273), tiff.Number(0, 273) + 24) << "where ImageJ looks for it";
}

TEST_F(TiffTest, FourDimensionsAreFramesOfSlices) {
  AddArray(Datatype::Float32(), {2, 5, 3, 4});
  EXPECT_EQ(ReadTiff().Text(0, 270),
            "ImageJ=1.53t\nimages=10\nslices=5\nframes=2\nhyperstack=true\nloop=false\n");
}

TEST_F(TiffTest, ChannelsAreChannelsForImageJ) {
  AddArray(Datatype::Float32(), {2, 3, 4}, {"c", "y", "x"});
  EXPECT_EQ(ReadTiff().Text(0, 270),
            "ImageJ=1.53t\nimages=2\nchannels=2\nhyperstack=true\nmode=grayscale\n"
            "loop=false\n");
  EXPECT_EQ(ReadTiff().Data(ReadTiff().directories[1]), elements_.substr(48));
}

TEST_F(TiffTest, PagesAreInTheOrderOfImageJ) {
  AddArray(Datatype::Integer(1, false), {2, 3, 2, 2}, {"c", "z", "y", "x"});
  const Tiff tiff = ReadTiff();
  EXPECT_THAT(tiff.Text(0, 270), HasSubstr("images=6\nchannels=2\nslices=3\nhyperstack=true"));
  std::string pages;
  for (const auto& directory : tiff.directories) pages += tiff.Data(directory);
  std::string expected;
  for (const int page : {0, 3, 1, 4, 2, 5}) {
    expected += elements_.substr(static_cast<size_t>(4 * page), 4);
  }
  EXPECT_EQ(pages, expected) << "channels change fastest";
}

TEST_F(TiffTest, PixelsHaveASize) {
  AddCoordinate("x", {0, 0.25, 0.5, 0.75}, {TextAttribute("units", "um")});
  AddCoordinate("y", {0, 0.5, 1}, {TextAttribute("units", "um")});
  AddCoordinate("z", {0, 2}, {TextAttribute("units", "um")});
  AddArray(Datatype::Float32(), {2, 3, 4}, {"z", "y", "x"});
  const Tiff tiff = ReadTiff();
  const auto& directory = tiff.directories[0];
  ASSERT_TRUE(directory.contains(282));
  EXPECT_EQ(NumberAt<uint32_t>(tiff.bytes, directory.at(282).place), 1'000'000u);
  EXPECT_EQ(NumberAt<uint32_t>(tiff.bytes, directory.at(282).place + 4), 250'000u);
  EXPECT_EQ(NumberAt<uint32_t>(tiff.bytes, directory.at(283).place + 4), 500'000u);
  EXPECT_EQ(tiff.Number(0, 296), 1u);
  EXPECT_THAT(tiff.Text(0, 270), HasSubstr("unit=micron\nspacing=                       2\n"));
  AddCoordinate("z", {0, 2}, {TextAttribute("units", "um"), NumberAttribute("_FillValue", 2)});
  EXPECT_THAT(ReadTiff().Text(0, 270), Not(HasSubstr("spacing=")));
  EXPECT_EQ(ReadTiff().bytes.size(), tiff.bytes.size());
}

TEST_F(TiffTest, FramesHaveAnInterval) {
  AddCoordinate("frame", {0, 0.5}, {TextAttribute("units", "min")});
  AddArray(Datatype::Float32(), {2, 3, 4}, {"frame", "y", "x"});
  EXPECT_THAT(ReadTiff().Text(0, 270),
              HasSubstr("frames=2\nfinterval=                      30\nloop"));
}

TEST_F(TiffTest, MapsAreBandsWithNames) {
  AddLongitude();
  AddLatitude();
  AddCoordinate("time", {0, 1}, {TextAttribute("units", "days since 2000-01-31")});
  AddArray(Datatype::Integer(2, true), {2, 3, 4}, {"time", "lat", "lon"});
  const Tiff tiff = ReadTiff();
  ASSERT_EQ(tiff.directories.size(), 1u) << "GIS programs see the first page only";
  const auto& directory = tiff.directories[0];
  EXPECT_EQ(tiff.Number(0, 277), 2u);
  EXPECT_EQ(tiff.Number(0, 284), 2u);
  EXPECT_FALSE(directory.contains(270));
  for (uint64_t band = 0; band < 2; ++band) {
    EXPECT_EQ(tiff.bytes.substr(tiff.Number(directory.at(273), band),
                                tiff.Number(directory.at(279), band)),
              elements_.substr(24 * band, 24));
  }
  EXPECT_THAT(tiff.Text(0, 42112),
              HasSubstr("sample=\"1\" role=\"description\">2000-02-01</Item>"));
}

TEST_F(TiffTest, SystemsWithoutACodeHaveTheirParameters) {
  AddCoordinate(
      "x", {0, 10, 20, 30},
      {TextAttribute("units", "m"), TextAttribute("standard_name", "projection_x_coordinate")});
  AddCoordinate(
      "y", {20, 10, 0},
      {TextAttribute("units", "m"), TextAttribute("standard_name", "projection_y_coordinate")});
  auto& crs = store_->AddArray(
      "/crs",
      std::make_shared<MemoryArray>(Datatype::Integer(1, true), std::vector<uint64_t>{}, "1"));
  std::get<model::Ndarray>(crs.entity).attributes = {
      TextAttribute("grid_mapping_name", "lambert_azimuthal_equal_area"),
      NumberAttribute("longitude_of_projection_origin", 10),
      NumberAttribute("latitude_of_projection_origin", 52)};
  AddArray(Datatype::Integer(2, true), {3, 4}, {"y", "x"}).attributes = {
      TextAttribute("grid_mapping", "crs")};
  const Tiff tiff = ReadTiff();
  const auto& keys = tiff.directories[0].at(34735);
  std::map<uint64_t, uint64_t> values;
  for (uint64_t i = 4; i < keys.count; i += 4) {
    values[tiff.Number(keys, i)] = tiff.Number(keys, i + 3);
  }
  EXPECT_EQ(values[3072], 32767u);
  EXPECT_EQ(values[3075], 10u);
  const auto& doubles = tiff.directories[0].at(34736);
  EXPECT_EQ(NumberAt<double>(tiff.bytes, doubles.place + 8 * values[3089]), 52);
}

TEST_F(TiffTest, NumbersOfAllKinds) {
  const auto format_of = [&](const Datatype& type) {
    AddArray(type, {5});
    const Tiff tiff = ReadTiff();
    EXPECT_EQ(tiff.Number(0, 256), 5u);
    EXPECT_EQ(tiff.Number(0, 257), 1u);
    EXPECT_EQ(tiff.Number(0, 258), 8 * type.size());
    EXPECT_EQ(tiff.Data(tiff.directories[0]), elements_);
    return tiff.Number(0, 339);
  };
  EXPECT_EQ(format_of(Datatype::Integer(1, true)), 2u);
  EXPECT_EQ(format_of(Datatype::Integer(8, false)), 1u);
  EXPECT_EQ(format_of(Datatype::Float("float16", 2)), 3u);
  EXPECT_EQ(format_of(Datatype::Float64()), 3u);
  EXPECT_EQ(format_of(Datatype::Complex(16)), 6u);
  EXPECT_EQ(format_of(Datatype::Bool()), 1u);
  AddArray(Datatype::Opaque(4), {5});
  EXPECT_FALSE(Has("data.tif"));
  AddArray(Datatype::Float32(), {});
  EXPECT_FALSE(Has("data.tif"));
}

TEST_F(TiffTest, PixelsInColour) {
  AddArray(Datatype::Integer(1, false), {5, 6, 4});
  const Tiff tiff = ReadTiff();
  ASSERT_EQ(tiff.directories.size(), 1u);
  const Tiff::Directory& directory = tiff.directories[0];
  EXPECT_EQ(tiff.Number(0, 256), 6u);
  EXPECT_EQ(tiff.Number(0, 257), 5u);
  EXPECT_EQ(tiff.Number(0, 262), 2u);
  EXPECT_EQ(tiff.Number(0, 277), 4u);
  EXPECT_EQ(tiff.Number(0, 338), 2u);
  for (uint64_t sample = 0; sample < 4; ++sample) {
    EXPECT_EQ(tiff.Number(directory.at(258), sample), 8u);
    EXPECT_EQ(tiff.Number(directory.at(339), sample), 1u);
  }
  EXPECT_EQ(tiff.Data(directory), elements_);
  AddArray(Datatype::Integer(1, false), {2, 5, 6, 3});
  EXPECT_EQ(ReadTiff().directories.size(), 2u);
  EXPECT_FALSE(ReadTiff().directories[0].contains(338));
}

TEST_F(TiffTest, MapsHaveAMatrixAndASystem) {
  AddLongitude();
  AddLatitude({56, 58, 60});
  AddArray(Datatype::Float32(), {2, 3, 4}, {"time", "lat", "lon"}).attributes = {
      NumberAttribute("_FillValue", -9)};
  const Tiff tiff = ReadTiff();
  for (const Tiff::Directory& directory : tiff.directories) {
    ASSERT_TRUE(directory.contains(34264));
    const auto matrix = NumberAt<std::array<double, 16>>(tiff.bytes, directory.at(34264).place);
    EXPECT_THAT(matrix, ElementsAre(0.5, 0, 0, 9.75, 0, 2, 0, 55, 0, 0, 0, 0, 0, 0, 0, 1));
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < directory.at(34735).count; ++i) {
      keys.push_back(tiff.Number(directory.at(34735), i));
    }
    EXPECT_THAT(keys, ElementsAre(1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326));
  }
  EXPECT_EQ(tiff.Text(0, 42113), "-9") << "which stands in the entry itself";
  AddLatitude({56, 58, 61});
  EXPECT_FALSE(ReadTiff().directories[0].contains(34264));
  EXPECT_FALSE(ReadTiff().directories[0].contains(34735));
  EXPECT_EQ(ReadTiff().bytes.size(), tiff.bytes.size());
}

TEST_F(TiffTest, PointsStayPoints) {
  AddLongitude();
  AddLatitude({56, 58, 60});
  AddArray(Datatype::Float32(), {3, 4}, {"lat", "lon"}).attributes = {
      TextAttribute("AREA_OR_POINT", "Point")};
  const Tiff tiff = ReadTiff();
  const auto& directory = tiff.directories[0];
  const auto matrix = NumberAt<std::array<double, 16>>(tiff.bytes, directory.at(34264).place);
  EXPECT_EQ(matrix[3], 10) << "the middle of the first pixel";
  EXPECT_EQ(matrix[7], 56);
  EXPECT_EQ(tiff.Number(directory.at(34735), 11), 2u);
}

TEST_F(TiffTest, LargeFilesAreBigTiff) {
  const auto make = [&](uint64_t pages) {
    AddArray(std::make_shared<MemoryArray>(
        Datatype::Integer(8, false), std::vector<uint64_t>{pages, 1 << 12, 1 << 14},
        std::vector<uint64_t>{1, 1 << 12, 1 << 14}, std::map<uint64_t, std::string>()));
    const ViewPtr view = *Make("data.tif");
    std::string head;  // up to the first element, which cannot be read
    std::string piece(16, '\0');
    while (view->Read(head.size(), std::as_writable_bytes(std::span(piece)))) head += piece;
    return Tiff(head);
  };
  EXPECT_FALSE(make(7).is_big);
  const Tiff tiff = make(8);  // 4 GiB of elements
  EXPECT_TRUE(tiff.is_big);
  ASSERT_EQ(tiff.directories.size(), 8u);
  EXPECT_EQ(tiff.Number(7, 279), uint64_t{1} << 29);
  EXPECT_EQ(tiff.Number(7, 273), tiff.Number(0, 273) + 7 * (uint64_t{1} << 29));
  EXPECT_EQ(*(*Make("data.tif"))->size(), tiff.Number(0, 273) + 8 * (uint64_t{1} << 29));
}

TEST_F(TiffTest, ManyPagesAreMadeWhenTheyAreRead) {
  AddArray(std::make_shared<MemoryArray>(
      Datatype::Integer(1, false), std::vector<uint64_t>{uint64_t{1} << 40, 2, 2},
      std::vector<uint64_t>{1 << 20, 2, 2}, std::map<uint64_t, std::string>()));
  const auto view = Make("data.tif");
  ASSERT_THAT(view, IsOk());
  EXPECT_LT((*view)->held_bytes(), 10'000u);
  std::string some(1000, '\0');
  EXPECT_THAT((*view)->Read(uint64_t{1} << 40, std::as_writable_bytes(std::span(some))),
              IsOk());
}

class OmeTiffTest : public GridTest {
 protected:
  const backends::Node& AddImage(const std::string& attribute, const std::string& json) {
    backends::Node& group = store_->AddGroup("/image");
    std::get<model::Group>(group.entity).attributes = {TextAttribute(attribute, json)};
    return group;
  }
  void AddLevel(const std::string& name, const std::vector<uint64_t>& shape, char first) {
    uint64_t count = 2;
    for (const uint64_t extent : shape) count *= extent;
    levels_[name].assign(count, '\0');
    std::iota(levels_[name].begin(), levels_[name].end(), first);
    store_->AddArray("/image/" + name, std::make_shared<MemoryArray>(
                                           Datatype::Integer(2, false), shape, levels_[name]));
  }
  model::Result<std::string> ReadImage() {
    group_ = MakeGroupInput(store_, "/image", cache_).value();
    const auto file = GroupViews().Resolve(*group_, "data.ome.tif");
    if (!file) return model::NotFound("no image");
    EXPECT_FALSE(file->is_listed);
    NDLFS_TRY(const ViewPtr view, GroupViews().MakeFile(*group_, file->name));
    std::string text(*view->size(), '\0');
    NDLFS_RETURN_IF_ERROR(view->Read(0, std::as_writable_bytes(std::span(text))));
    return text;
  }

  static constexpr const char* kImage =
      R"([{"version": "0.4", "name": "cells", "axes": [{"name": "c", "type": "channel"},
          {"name": "y", "type": "space", "unit": "micrometer"},
          {"name": "x", "type": "space", "unit": "micrometer"}],
          "datasets": [{"path": "0", "coordinateTransformations":
                        [{"type": "scale", "scale": [1, 0.5, 0.25]}]}, {"path": "1"}]}])";
  std::map<std::string, std::string> levels_;
  std::shared_ptr<const GroupInput> group_;
};

TEST_F(OmeTiffTest, LevelsAreSubIfds) {
  AddImage("multiscales", kImage);
  AddLevel("0", {2, 4, 6}, 'a');
  AddLevel("1", {2, 2, 3}, 'A');
  const auto file = ReadImage();
  ASSERT_THAT(file, IsOk());
  const Tiff tiff(*file);
  ASSERT_EQ(tiff.directories.size(), 2u);
  for (size_t page = 0; page < 2; ++page) {
    const Tiff::Directory& directory = tiff.directories[page];
    EXPECT_EQ(tiff.Data(directory), levels_["0"].substr(48 * page, 48));
    EXPECT_EQ(directory.at(330).count, 1u);
    std::vector<Tiff::Directory> subs;
    EXPECT_EQ(tiff.ReadDirectory(tiff.Number(directory.at(330)), subs), 0u);
    EXPECT_EQ(tiff.Number(subs[0].at(254)), 1u);
    EXPECT_EQ(tiff.Number(subs[0].at(256)), 3u);
    EXPECT_EQ(tiff.Data(subs[0]), levels_["1"].substr(12 * page, 12));
  }
  const std::string xml = tiff.Text(0, 270);
  EXPECT_THAT(xml, HasSubstr("<Image ID=\"Image:0\" Name=\"cells\">"));
  EXPECT_THAT(xml, HasSubstr("DimensionOrder=\"XYCZT\" Type=\"uint16\" BigEndian=\"false\" "
                             "SizeX=\"6\" SizeY=\"4\" SizeZ=\"1\" SizeC=\"2\" SizeT=\"1\""));
  EXPECT_THAT(xml, HasSubstr("PhysicalSizeX=\"0.25\" PhysicalSizeXUnit=\"µm\""));
  EXPECT_THAT(xml, HasSubstr("<Channel ID=\"Channel:0:1\" SamplesPerPixel=\"1\"/><TiffData/>"));
}

TEST_F(OmeTiffTest, SizesAreThoseOfTheImageInWordsOfOme) {
  AddImage("multiscales", R"([{"axes": [{"name": "t", "type": "time", "unit": "minute"},
      {"name": "y", "type": "space", "unit": "angstrom"},
      {"name": "x", "type": "space", "unit": "nanometre"}],
      "coordinateTransformations": [{"type": "scale", "scale": [1, 2, 1]}], "datasets":
      [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [5, 3, -4]}]},
       {"path": "1"}, {"path": "2"}]}])");
  AddLevel("0", {2, 4, 6}, 'a');
  AddLevel("1", {2, 4, 6}, 'A');
  AddLevel("2", {2, 2, 3}, 'A');
  const auto file = ReadImage();
  ASSERT_THAT(file, IsOk());
  const std::string xml = Tiff(*file).Text(0, 270);
  EXPECT_THAT(xml, HasSubstr(" TimeIncrement=\"5\" TimeIncrementUnit=\"min\""));
  EXPECT_THAT(xml, HasSubstr(" PhysicalSizeY=\"6\" PhysicalSizeYUnit=\"Å\""));
  EXPECT_THAT(xml, HasSubstr(" PhysicalSizeX=\"4\" PhysicalSizeXUnit=\"nm\""));
  EXPECT_FALSE(Tiff(*file).directories[0].contains(330)) << "level 1 is not smaller";
}

TEST_F(OmeTiffTest, LevelWithOtherPlanesEndsTheLevels) {
  AddImage("ome", R"({"version": "0.5", "multiscales": )" + std::string(kImage) + "}");
  AddLevel("0", {2, 4, 6}, 'a');
  AddLevel("1", {1, 2, 3}, 'A');
  const auto file = ReadImage();
  ASSERT_THAT(file, IsOk());
  EXPECT_FALSE(Tiff(*file).directories[0].contains(330));
}

TEST_F(OmeTiffTest, ChannelsHaveNamesAndColoursOfOmero) {
  backends::Node& group = store_->AddGroup("/image");
  std::get<model::Group>(group.entity).attributes = {TextAttribute("multiscales", kImage),
                                                     TextAttribute("omero", R"({"channels": [
          {"label": "LaminB1 <\u00b5>", "color": "FF0000", "active": true},
          {"label": "a\"b\u0001", "color": "00ff7f"}]})")};
  AddLevel("0", {2, 4, 6}, 'a');
  AddLevel("1", {2, 2, 3}, 'A');
  const auto file = ReadImage();
  ASSERT_THAT(file, IsOk());
  // 0xFF0000FF and 0x00FF7FFF as signed numbers.
  EXPECT_THAT(Tiff(*file).Text(0, 270),
              HasSubstr("<Channel ID=\"Channel:0:0\" SamplesPerPixel=\"1\" "
                        "Name=\"LaminB1 &lt;µ&gt;\" Color=\"-16776961\"/>"
                        "<Channel ID=\"Channel:0:1\" SamplesPerPixel=\"1\" "
                        "Name=\"a&quot;b\uFFFD\" Color=\"16744447\"/><TiffData/>"));
}

TEST_F(OmeTiffTest, OmeroIsInOmeSinceVersion05) {
  const auto channels = ReadOmeChannels(
      AddImage("ome", R"({"omero": {"channels": [{"label": "a"}, {"color": "000000"}]}})"), 2);
  ASSERT_EQ(channels.size(), 2u);
  EXPECT_EQ(channels[0].label, "a");
  EXPECT_EQ(channels[0].color, std::nullopt);
  EXPECT_EQ(channels[1].label, "");
  EXPECT_EQ(channels[1].color, 0u);
}

TEST_F(OmeTiffTest, OmeroThatSaysNothingUsefulIsLeftOut) {
  const auto read = [&](const std::string& json) {
    return ReadOmeChannels(AddImage("omero", json), 1);
  };
  EXPECT_THAT(read("no JSON"), IsEmpty());
  EXPECT_THAT(read("[]"), IsEmpty());
  EXPECT_THAT(read("{}"), IsEmpty());
  EXPECT_THAT(read(R"({"channels": "a"})"), IsEmpty());
  EXPECT_THAT(read(R"({"channels": [{"label": "a"}, {"label": "one too many"}]})"), IsEmpty());
  for (const char* const color :
       {"\"\"", "\"FF000\"", "\"FF00000\"", "\"GG0000\"", "\"-10000\"", "\"0xFF00\"", "7"}) {
    const auto channels =
        read(std::string(R"({"channels": [{"label": 5, "color": )") + color + "}]}");
    ASSERT_EQ(channels.size(), 1u);
    EXPECT_EQ(channels[0].label, "");
    EXPECT_EQ(channels[0].color, std::nullopt) << color;
  }
  EXPECT_EQ(read(R"({"channels": ["red"]})").size(), 1u);
}

TEST_F(OmeTiffTest, WhatIsNoImageHasNone) {
  const auto refusal = [&](const std::string& json) {
    AddImage("multiscales", json);
    const auto file = ReadImage();
    return file ? std::string("a file") : file.error().message();
  };
  AddLevel("0", {2, 4, 6}, 'a');
  EXPECT_EQ(refusal("no JSON"), "no image");
  EXPECT_EQ(refusal("{}"), "no image");
  EXPECT_EQ(refusal("[{}]"), "no image");
  EXPECT_THAT(refusal(R"([{"datasets": []}])"), HasSubstr("without datasets"));
  EXPECT_THAT(refusal(R"([{"datasets": [{"path": "../t"}]}])"), HasSubstr("../t"));
  EXPECT_THAT(refusal(R"([{"datasets": [{"path": "/0"}]}])"), HasSubstr("/0"));
  EXPECT_THAT(refusal(R"([{"datasets": [{"path": ""}]}])"), HasSubstr("\"\""));
  EXPECT_THAT(refusal(R"([{"datasets": [{}]}])"), HasSubstr("\"\""));
  EXPECT_THAT(refusal(R"([{"datasets": [{"path": "9"}]}])"), HasSubstr("9"));
  EXPECT_THAT(refusal(R"([{"datasets": [{"path": "0"}]}])"), HasSubstr("axes"));
  EXPECT_THAT(refusal(R"([{"axes": ["x", "y", "c"], "datasets": [{"path": "0"}]}])"),
              HasSubstr("axes"));
  EXPECT_THAT(refusal(R"([{"axes": ["y", "y", "x"], "datasets": [{"path": "0"}]}])"),
              HasSubstr("axes"));
  EXPECT_THAT(refusal(R"([{"axes": ["c", "y", "x"], "datasets": [{"path": "0/1"}]}])"),
              HasSubstr("0/1"));
  EXPECT_EQ(refusal(R"([{"axes": ["c", "y", "x"], "datasets": [{"path": "0"}]}])"), "a file");
}

// A header whose fields follow each other, in either order of bytes. No two numbers are the
// same.
class NiftiFields {
 public:
  explicit NiftiFields(bool is_big) : is_big_(is_big) {}
  NiftiFields& Number(uint64_t value, size_t width) {
    for (size_t i = 0; i < width; ++i) {
      text_ += static_cast<char>(value >> 8 * (is_big_ ? width - 1 - i : i) & 0xff);
    }
    return *this;
  }
  NiftiFields& Numbers(size_t width, size_t count) {
    for (; count > 0; --count) Number(next_++ * 0x0101 + 1, width);
    return *this;
  }
  NiftiFields& Text(size_t length) {
    for (; length > 0; --length) text_ += static_cast<char>('a' + next_++ % 26);
    return *this;
  }
  NiftiFields& Dim(size_t width) {
    for (const uint64_t length : {3, 4, 3, 2, 1, 1, 1, 1}) Number(length, width);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  const bool is_big_;
  uint64_t next_ = 1;
  std::string text_;
};

// The fields of nifti1.h and of nifti2.h.
std::string FirstNifti(bool is_big) {
  NiftiFields fields(is_big);
  fields.Number(348, 4).Text(28).Numbers(4, 1).Numbers(2, 1).Text(2).Dim(2);
  fields.Numbers(4, 3).Numbers(2, 1).Number(4, 2).Number(16, 2).Numbers(2, 1).Numbers(4, 8);
  fields.Numbers(4, 3).Numbers(2, 1).Text(2).Numbers(4, 4).Numbers(4, 2).Text(104);
  return fields.Numbers(2, 2).Numbers(4, 6).Numbers(4, 12).Text(16).text() +
         std::string("n+1\0", 4);
}
std::string SecondNifti(bool is_big) {
  NiftiFields fields(is_big);
  fields.Number(540, 4).Text(8).Number(4, 2).Number(16, 2).Dim(8).Numbers(8, 3).Numbers(8, 8);
  fields.Numbers(8, 1).Numbers(8, 6).Numbers(8, 2).Text(104).Numbers(4, 2).Numbers(8, 6);
  return fields.Numbers(8, 12).Numbers(4, 3).Text(32).text();
}

TEST(NiftiHeaderTest, BigEndianHeadersBecomeLittleEndianNumberByNumber) {
  for (const auto& make : {FirstNifti, SecondNifti}) {
    const auto little = ReadKeptNiftiHeader(make(false) + "more");
    const auto big = ReadKeptNiftiHeader(make(true) + "more");
    ASSERT_TRUE(little);
    ASSERT_TRUE(big);
    EXPECT_EQ(little->bytes, make(false));
    EXPECT_EQ(big->bytes, make(false));
    EXPECT_EQ(big->code, 4);
    EXPECT_EQ(big->lengths, little->lengths);
    EXPECT_EQ(little->extensions, "more");
    EXPECT_EQ(big->extensions, "") << "their sizes are big-endian, too";
  }
}

class PyramidAxesTest : public GridTest {};

TEST_F(PyramidAxesTest, TimeComesFirstThenAChannelThenSpace) {
  AddArray(Datatype::Integer(1, false), {5, 4, 3, 2}, {"channel", "time", "y", "x"});
  const auto axes = pyramid::FindAxes(Input());
  ASSERT_THAT(axes, IsOk());
  std::vector<std::string> names;
  std::vector<size_t> dimensions;
  for (const auto& axis : *axes) {
    names.push_back(axis.name);
    dimensions.push_back(axis.dimension);
    EXPECT_EQ(axis.is_halved, axis.type == pyramid::AxisType::kSpace) << axis.name;
  }
  EXPECT_THAT(names, ElementsAre("time", "channel", "y", "x"));
  EXPECT_THAT(dimensions, ElementsAre(1, 0, 2, 3));
}

}  // namespace
}  // namespace ndlfs::fs::fake
