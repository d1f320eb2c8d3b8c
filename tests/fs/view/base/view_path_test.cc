// SPDX-License-Identifier: MIT
#include "fs/view/base/view_path.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fs/view/all_views.h"
#include "model/reserved_names.h"

namespace ndlfs::fs {
namespace {

using Stem = ViewPath::Stem;

TEST(ViewPathTest, NameHasStemSliceChunksAndExtension) {
  const auto path = ViewPath::Parse("values[0,lat=40:60,chunks:lat=5,lon=-1].npy");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->stem, Stem::kValues);
  EXPECT_EQ(path->slice, "0,lat=40:60");
  EXPECT_EQ(path->chunks, "lat=5,lon=-1");
  EXPECT_EQ(path->extension, "npy");
  EXPECT_FALSE(path->is_whole());
  EXPECT_EQ(ViewPath::Parse("data[chunks:3].zarr"),
            (ViewPath{.slice = std::nullopt, .chunks = "3", .extension = "zarr"}));
  EXPECT_EQ(ViewPath::Parse("data.raw.hdr"), ViewPath::Whole("raw.hdr"));
  EXPECT_TRUE(ViewPath::Whole("npy").is_whole());
  EXPECT_FALSE(ViewPath::Parse("values.npy")->is_whole());
}

TEST(ViewPathTest, PartsMakeTheSameNameAgain) {
  for (const char* name :
       {"data.npy", "data.", "data.raw.hdr", "values.csv", "data[].nc", "data[0].raw",
        "data[lat=a].b].npy", "data[,].npy", "data[chunks:].zarr", "data[,chunks:1].zarr",
        "values[0,chunks:x=1,2].zarr", "data[xchunks:1].npy", "data[].]."}) {
    const auto path = ViewPath::Parse(name);
    ASSERT_TRUE(path) << name;
    EXPECT_EQ(path->Name(), name);
    EXPECT_TRUE(model::IsReservedFileName(name)) << name;
  }
}

TEST(ViewPathTest, PartsStandInAnyOrderBehindTheSlice) {
  const auto path = ViewPath::Parse("data[2,chunks:x=1,2,order=F,mean:x=4,-1,axes:y,x].zarr");
  ASSERT_TRUE(path);
  EXPECT_EQ(*path, (ViewPath{.slice = "2",
                             .blocks = "mean:x=4,-1",
                             .axes = "y,x",
                             .is_fortran = true,
                             .chunks = "x=1,2",
                             .extension = "zarr"}));
  EXPECT_EQ(path->Name(), "data[2,mean:x=4,-1,axes:y,x,order=F,chunks:x=1,2].zarr");
  EXPECT_EQ(ViewPath::Parse(path->Name()), path);
  for (const char* word : {"mean", "min", "max", "sum", "count"}) {
    EXPECT_EQ(ViewPath::Parse(fmt::format("data[{}:4].npy", word))->blocks,
              word + std::string(":4"));
  }
  EXPECT_EQ(ViewPath::Parse("data[median:4].npy")->slice, "median:4");
  EXPECT_EQ(ViewPath::Parse("data[order=C].npy")->slice, "order=C");
  EXPECT_TRUE(ViewPath::Parse("data[order=F].npy")->is_fortran);
  EXPECT_FALSE(ViewPath::Parse("data[order=F].npy")->is_whole());
}

TEST(ViewPathTest, NoPartIsThereTwice) {
  for (const char* name :
       {"data[axes:x,axes:y].npy", "data[mean:4,max:4].npy", "data[order=F,order=F].npy",
        "data[chunks:1,mean:1,chunks:1].zarr"}) {
    EXPECT_FALSE(ViewPath::Parse(name)) << name;
  }
}

TEST(ViewPathTest, OtherNamesAreNone) {
  for (const char* name :
       {"", "data", "values", "database.npy", "data[0]", "data[0.npy", "data[0]npy",
        "data]0[.npy", "Data.npy", "index.html", "x.data.npy"}) {
    EXPECT_FALSE(ViewPath::Parse(name)) << name;
  }
}

TEST(ViewPathTest, ShortNamesAreThoseOfOptions) {
  EXPECT_EQ(ShortName("data.npy"), "npy");
  EXPECT_EQ(ShortName("data.raw.hdr"), "raw.hdr");
  EXPECT_EQ(ShortName("index.html"), "html");
  EXPECT_EQ(ShortName("preview.png"), "preview");
  EXPECT_EQ(ShortName("thumbnail.png"), "thumbnail");
  for (const char* name : {"npy", "values.npy", "table.csv", "data[0].npy", "html", ""}) {
    EXPECT_EQ(ShortName(name), name);
  }
}

TEST(ViewPathTest, GroupsHaveOmeTiffUnderTheirOwnNameToo) {
  EXPECT_EQ(ResolveGroupAlias("cells.ome", "cells.ome.tif"), "data.ome.tif");
  EXPECT_EQ(ResolveGroupAlias("cells", "cells.ome.tif"), "data.ome.tif");
  EXPECT_EQ(ResolveGroupAlias("era5", "era5.nc"), "data.nc");
  EXPECT_EQ(ResolveAlias("cells.ome", "cells.ome.tif"), "data.tif");
}

TEST(ReservedNamesTest, NoObjectCanBeCalledAsAView) {
  for (const auto* kind : ArrayViewKinds()) {
    EXPECT_TRUE(model::IsReservedFileName(kind->file_name)) << kind->file_name;
  }
  for (const auto* kind : GroupViewKinds()) {
    EXPECT_TRUE(model::IsReservedFileName(kind->file_name)) << kind->file_name;
  }
}

}  // namespace
}  // namespace ndlfs::fs
