// SPDX-License-Identifier: MIT
#include "backends/format/meaning_notes.h"

#include <gmock/gmock.h>

#include "tests/support/memory_hierarchy.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class MeaningNotesTest : public testing::Test {
 protected:
  MeaningNotesTest() {
    store_.AddGroup("/");
    store_.AddGroup("/g");
    Add("/lat", {3, 4}, {});
    Add("/other", {3, 7}, {});
    Add("/crs", {}, {});
    Add("/lat_bnds", {3, 4, 2}, {});
  }
  std::vector<std::string> Add(
      const std::string& path, const std::vector<uint64_t>& shape,
      const std::vector<std::pair<std::string, std::string>>& attributes) {
    model::Ndarray array;
    for (const uint64_t extent : shape) array.shape.push_back({extent, ""});
    array.type = Datatype::Float64();
    for (const auto& [name, text] : attributes) {
      array.attributes.push_back(
          {.name = name, .type = Datatype::String(), .value = model::Value(text)});
    }
    const Node& node = store_.AddArray(path, array, nullptr);
    return NotesOfMeaning(store_, path, node);
  }

  test::MemoryHierarchy store_;
};

TEST_F(MeaningNotesTest, NamesAreLookedUpFromTheGroupOutwards) {
  EXPECT_THAT(
      Add("/g/t", {2, 3, 4},
          {{"coordinates", "lat /lat"}, {"bounds", "lat_bnds"}, {"grid_mapping", "crs: lat"}}),
      IsEmpty());
  EXPECT_THAT(Add("/g/u", {2, 3, 4}, {{"coordinates", "lat none other u"}}),
              ElementsAre("coordinates names \"none\", and no array is called so",
                          "coordinates names \"other\", which has other dimensions",
                          "coordinates names \"u\", which is the array itself"));
  EXPECT_THAT(Add("/g/w", {3, 4}, {{"coordinates", "../lat ../../lat"}}), IsEmpty());
  EXPECT_THAT(Add("/v", {2}, {{"grid_mapping", "g"}}),
              ElementsAre(HasSubstr("no array is called so")));
}

TEST_F(MeaningNotesTest, ScalesAndTimesThatAreNone) {
  EXPECT_THAT(Add("/a", {2}, {{"scale_factor", "abc"}}),
              ElementsAre(HasSubstr("scale_factor")));
  EXPECT_THAT(
      Add("/t", {2}, {{"units", "days since 2000-01-01"}, {"calendar", "martian"}}),
      ElementsAre("units \"days since 2000-01-01\" of the calendar \"martian\" are no times"));
  EXPECT_THAT(Add("/m", {2}, {{"units", "months since 2000-01-01"}, {"calendar", "noleap"}}),
              IsEmpty());
}

}  // namespace
}  // namespace ndlfs::backends
