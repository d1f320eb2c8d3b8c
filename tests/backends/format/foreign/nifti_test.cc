// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/foreign/foreign.h"
#include "tests/backends/format/foreign/foreign_files.h"

namespace ndlfs::backends {
namespace {

using test::ForeignFiles;
using test::Numbers;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int16_t> kNiftiNumbers = {-1, 2, -3, 4, -5, 600};

// Headers with fields at the places of nifti1.h.
class NiftiHeader {
 public:
  explicit NiftiHeader(bool is_big = false) : is_big_(is_big) {
    Put<int32_t>(0, {348});
    Put<int16_t>(40, {2, 3, 2});     // dim
    Put<int16_t>(70, {4, 16});       // datatype, bitpix
    Put<float>(76, {1, 0.5, 2, 1});  // pixdim
    Put<float>(108, {352});          // vox_offset
    PutText(344, std::string("n+1\0", 4));
  }

  template <typename T>
  NiftiHeader& Put(size_t at, const std::vector<T>& values) {
    return PutText(at, Numbers(values, is_big_));
  }
  NiftiHeader& PutText(size_t at, const std::string& text) {
    bytes_.replace(at, text.size(), text);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  bool is_big_;
  std::string bytes_ = std::string(352, '\0');
};

class NiftiTest : public ::testing::Test {
 protected:
  std::vector<std::string> Names(const NiftiHeader& header) {
    files_.Put("a.nii", header.bytes() + Numbers(kNiftiNumbers));
    return files_.Open("a.nii").value()->List("/").value();
  }
  std::string ErrorOf(const NiftiHeader& header) {
    files_.Put("a.nii", header.bytes() + Numbers(kNiftiNumbers));
    const std::string error = files_.ErrorOf("a.nii");
    return error.empty() ? files_.ArrayErrorOf("a.nii", "a") : error;
  }

  ForeignFiles files_{NiftiFormat()};
};

TEST_F(NiftiTest, FirstDimensionBecomesTheLast) {
  for (const bool is_big : {false, true}) {
    files_.Put("a.nii", NiftiHeader(is_big).bytes() + Numbers(kNiftiNumbers, is_big));
    EXPECT_THAT(files_.ShapeOf("a.nii", "a"), ElementsAre(2, 3));
    EXPECT_EQ(files_.Elements("a.nii", "a"), Numbers(kNiftiNumbers));
    EXPECT_THAT(files_.Coordinates("a.nii", "x"), ElementsAre(0, 0.5, 1));
    EXPECT_THAT(files_.Coordinates("a.nii", "y"), ElementsAre(0, 2));
  }
}

TEST_F(NiftiTest, IsKnownByItsMagicUnderAnyName) {
  files_.Put("volume", NiftiHeader().bytes());
  EXPECT_TRUE(files_.IsStore("volume"));
  files_.Put("analyze.hdr", NiftiHeader().PutText(344, std::string(4, '\0')).bytes());
  EXPECT_FALSE(files_.IsStore("analyze.hdr"));
  files_.Put("b.nii", "an issue that is no image");
  EXPECT_TRUE(files_.IsStore("b.nii"));
  EXPECT_THAT(files_.ErrorOf("b.nii"), HasSubstr("does not begin with a header of NIfTI"));
}

TEST_F(NiftiTest, PairHasItsDataInTheImage) {
  NiftiHeader header;
  header.PutText(344, std::string("ni1\0", 4)).Put<float>(108, {2});
  files_.Put("a.hdr", header.bytes());
  EXPECT_TRUE(files_.IsStore("a.hdr"));
  EXPECT_THAT(files_.ArrayErrorOf("a.hdr", "a"), HasSubstr("no data file \"a.img\""));
  files_.Put("a.img", "??" + Numbers(kNiftiNumbers));
  EXPECT_EQ(files_.Elements("a.hdr", "a"), Numbers(kNiftiNumbers));
}

TEST_F(NiftiTest, SlopeScalesUnlessItIsZeroOrOne) {
  EXPECT_THAT(Names(NiftiHeader().Put<float>(112, {0.5, -1})), ElementsAre("a", "x", "y"));
  EXPECT_EQ(files_.AttributeOf("a.nii", "a", "scale_factor"), model::Value(0.5));
  EXPECT_EQ(files_.AttributeOf("a.nii", "a", "add_offset"), model::Value(-1.0));
  for (const auto& slope : std::vector<std::vector<float>>{{0, 5}, {1, 0}, {NAN, 0}}) {
    Names(NiftiHeader().Put<float>(112, slope));
    EXPECT_TRUE(files_.AttributeOf("a.nii", "a", "scale_factor").is_null());
  }
}

TEST_F(NiftiTest, StraightAffinesPlaceVoxelsAndObliqueOnesDoNot) {
  NiftiHeader sform;
  sform.Put<int16_t>(254, {2}).Put<float>(280, {-2, 0, 0, 10, 0, 3, 0, 20, 0, 0, 4, 30});
  Names(sform);
  EXPECT_THAT(files_.Coordinates("a.nii", "x"), ElementsAre(10, 8, 6));
  EXPECT_THAT(files_.Coordinates("a.nii", "y"), ElementsAre(20, 23));
  EXPECT_THAT(Names(sform.Put<float>(284, {0.5})), ElementsAre("a"));
  // Half a turn about the third axis.
  NiftiHeader qform;
  qform.Put<int16_t>(252, {1}).Put<float>(256, {0, 0, 1, 10, 20, 30});
  Names(qform);
  EXPECT_THAT(files_.Coordinates("a.nii", "x"), ElementsAre(10, 9.5, 9));
  EXPECT_THAT(files_.Coordinates("a.nii", "y"), ElementsAre(20, 18));
  EXPECT_THAT(Names(qform.Put<float>(256, {0.5})), ElementsAre("a"));
}

TEST_F(NiftiTest, ColoursAreTheLastDimension) {
  NiftiHeader header;
  header.Put<int16_t>(40, {2, 2, 2}).Put<int16_t>(70, {128, 24});
  EXPECT_THAT(ErrorOf(header), "");
  EXPECT_THAT(files_.ShapeOf("a.nii", "a"), ElementsAre(2, 2, 3));
}

TEST_F(NiftiTest, TimesBeginAtTheirOffset) {
  NiftiHeader header;
  header.Put<int16_t>(40, {4, 1, 1, 2, 3}).Put<float>(92, {2.5}).Put<float>(136, {10});
  header.PutText(123, std::string(1, '\x0a'));  // mm and s
  Names(header);
  EXPECT_THAT(files_.Coordinates("a.nii", "t"), ElementsAre(10, 12.5, 15));
  EXPECT_EQ(files_.AttributeOf("a.nii", "t", "units"), model::Value("s"));
  EXPECT_EQ(files_.AttributeOf("a.nii", "x", "units"), model::Value("mm"));
}

TEST_F(NiftiTest, LongVectorsOfFreeSurferHaveTheirLengthElsewhere) {
  NiftiHeader header;
  header.Put<int16_t>(40, {4, -1, 1, 1, 2}).Put<int32_t>(144, {3});
  files_.Put("a.nii", header.bytes() + Numbers(kNiftiNumbers));
  EXPECT_THAT(files_.ShapeOf("a.nii", "a"), ElementsAre(2, 1, 1, 3));
  EXPECT_EQ(files_.Elements("a.nii", "a"), Numbers(kNiftiNumbers));
  EXPECT_THAT(ErrorOf(header.Put<int32_t>(144, {0})), HasSubstr("dim[1]: -1"));
  files_.Put("b.nii", NiftiHeader().Put<int16_t>(40, {3, 27307, 1, 6}).bytes() +
                          std::string(2 * 163842, '\1'));
  EXPECT_THAT(files_.ShapeOf("b.nii", "b"), ElementsAre(1, 1, 163842));
}

TEST_F(NiftiTest, BitsThatContradictTheTypeAreNoted) {
  files_.Put("a.nii", NiftiHeader().Put<int16_t>(72, {8}).bytes() + Numbers(kNiftiNumbers));
  EXPECT_EQ(files_.Elements("a.nii", "a"), Numbers(kNiftiNumbers));
  const auto root = files_.Open("a.nii").value()->Load("/").value();
  EXPECT_THAT(root->notes, ElementsAre(HasSubstr("bitpix is 8")));
}

TEST_F(NiftiTest, RefusesWhatItCannotRead) {
  const std::vector<std::pair<NiftiHeader, std::string>> cases = {
      {NiftiHeader().Put<int16_t>(40, {0}), "dim[0]: expected 1 to 7, found 0"},
      {NiftiHeader().Put<int16_t>(40, {8}), "dim[0]: expected 1 to 7, found 8"},
      {NiftiHeader().Put<int16_t>(42, {-3}), "dim[1]: -3"},
      {NiftiHeader().Put<int16_t>(40, {7, 32767, 32767, 32767, 32767, 32767, 32767, 32767}),
       "more data than any file"},
      {NiftiHeader().Put<int16_t>(42, {4}), "the header needs"},
      {NiftiHeader().Put<int16_t>(70, {1536}), "datatype 1536"},
      {NiftiHeader().Put<float>(108, {NAN}), "vox_offset: nan"},
      {NiftiHeader().Put<float>(108, {-1}), "vox_offset: -1"},
      {NiftiHeader().Put<float>(108, {1e30F}), "vox_offset: 1"},
      {NiftiHeader().Put<float>(108, {353.5}), "vox_offset: 353.5"}};
  for (const auto& [header, error] : cases) EXPECT_THAT(ErrorOf(header), HasSubstr(error));
}

TEST_F(NiftiTest, CutFilesAreErrors) {
  const std::string whole = NiftiHeader().bytes() + Numbers(kNiftiNumbers);
  for (size_t size = 0; size < whole.size(); ++size) {
    files_.Put("a.nii", whole.substr(0, size));
    if (files_.ErrorOf("a.nii").empty()) {
      EXPECT_THAT(files_.ArrayErrorOf("a.nii", "a"), HasSubstr("the header needs")) << size;
    }
  }
}

}  // namespace
}  // namespace ndlfs::backends
