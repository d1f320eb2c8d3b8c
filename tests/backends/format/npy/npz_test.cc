// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/detection.h"
#include "backends/format/npy/npy.h"
#include "backends/format/npy/npz_names.h"
#include "backends/store/local/local_source.h"
#include "tests/support/detect_file.h"
#include "tests/support/numpy_text.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"
#include "tests/support/zip_builder.h"

namespace ndlfs::backends {
namespace {

using test::ZipBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Bytes of the array [value].
std::string Npy(char value) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}\n";
  return std::string("\x93NUMPY\1\0", 8) + test::LittleEndian(header.size(), 2) + header +
         value;
}

class NpzTest : public ::testing::Test {
 protected:
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& name) {
    return NpzFormat().Open(LocalSource::Open(directory_.path()).value(), name, {});
  }
  std::shared_ptr<const Hierarchy> OpenBuilt(const ZipBuilder& builder) {
    test::WriteFile(directory_ / "built.npz", builder.Build());
    return Open("built.npz").value();
  }
  static std::string ValueOf(const Hierarchy& hierarchy, const std::string& path) {
    const auto node = hierarchy.Load(path);
    if (!node) return "error: " + node.error().message();
    if (!(*node)->source) return "no data: " + (*node)->error->message();
    return test::ReadThroughChunks(*(*node)->source);
  }
  test::TemporaryDirectory directory_;
};

TEST_F(NpzTest, ReadsWhatNumpySaves) {
  std::string script = R"PY(
import numpy as np, os
os.chdir('DIRECTORY')
random = np.random.default_rng(1)
arrays = {
    'scalar': np.array(2.5), 'empty': np.zeros((0, 3), 'i2'), 'text': np.array(['x', 'yyy']),
    'g/deep/er': np.arange(6, dtype='>i4').reshape(2, 3), 'g/x': np.arange(3),
    's': np.array([(1, 2.5)], [('a', 'i1'), ('b', '<f8')]), '\u00fc': np.arange(2),
    'f': np.asfortranarray(np.arange(24, dtype='<i2').reshape(2, 3, 4)),
    'large': (random.integers(0, 9, 600000) * 7).astype('<i4').reshape(60, 100, 100),
    'large_f': np.asfortranarray((random.integers(0, 9, 600000) * 7).astype('>i4').reshape(20, 300, 100)),
}
np.savez('stored.npz', *[np.arange(4)], **arrays)
np.savez_compressed('deflated.npz', *[np.arange(4)], **arrays)
for i, name in enumerate(sorted(arrays)):
    a = arrays[name]
    open('%d.raw' % i, 'wb').write(a.astype(a.dtype.newbyteorder('<')).tobytes())
    print(name)
)PY";
  script.replace(script.find("DIRECTORY"), 9, directory_.path());
  const auto names = test::Lines(test::RunPython(script));
  ASSERT_EQ(names.size(), 10u);
  for (const std::string file : {"stored.npz", "deflated.npz"}) {
    EXPECT_EQ(DetectFile(*LocalSource::Open(directory_.path()).value(), file), &NpzFormat());
    const auto hierarchy = Open(file);
    ASSERT_THAT(hierarchy, test::IsOk());
    EXPECT_EQ((*hierarchy)->format(), "NPZ");
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string expected = test::ReadFile(directory_ / (std::to_string(i) + ".raw"));
      EXPECT_TRUE(ValueOf(**hierarchy, "/" + names[i]) == expected) << file << names[i];
    }
    EXPECT_THAT((*hierarchy)->List("/"),
                test::IsOkAnd(ElementsAre("arr_0", "empty", "f", "g", "large", "large_f", "s",
                                          "scalar", "text", "\xc3\xbc")));
    EXPECT_THAT((*hierarchy)->List("/g"), test::IsOkAnd(ElementsAre("deep", "x")));
    EXPECT_THAT((*hierarchy)->List("/s"), test::IsOkAnd(IsEmpty()));
    EXPECT_TRUE((*(*hierarchy)->Load("/g/deep"))->is_group());
    EXPECT_EQ((*(*hierarchy)->Load("/g/deep/er"))->array().name, "er");
    EXPECT_GT((*(*hierarchy)->Load("/g"))->mtime_ns, 0);
  }
}

TEST_F(NpzTest, StoredMembersAreRangesAndDeflatedOnesChunks) {
  const auto hierarchy =
      OpenBuilt(ZipBuilder()
                    .Add({.name = "s.npy", .data = Npy('s')})
                    .Add({.name = "d.npy", .data = Npy('d'), .deflated = true}));
  EXPECT_EQ(test::ReadThroughRange(*(*hierarchy->Load("/s"))->source), "s");
  EXPECT_FALSE((*hierarchy->Load("/d"))->source->contiguous());
  EXPECT_EQ(ValueOf(*hierarchy, "/d"), "d");
  EXPECT_EQ(*hierarchy->Load("/d"), *hierarchy->Load("/d"));  // one and the same
}

TEST_F(NpzTest, MembersWithoutTheExtensionAreArraysIfTheyBeginAsOne) {
  const auto hierarchy = OpenBuilt(ZipBuilder()
                                       .Add({.name = "a", .data = Npy('1')})
                                       .Add({.name = "a.npy", .data = Npy('2')})
                                       .Add({.name = "b.npy", .data = Npy('3')})
                                       .Add({.name = "b", .data = "no array"})
                                       .Add({.name = "readme.txt", .data = "text"}));
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(ElementsAre("a", "a.npy", "b")));
  EXPECT_EQ(ValueOf(*hierarchy, "/a"), "1");
  EXPECT_EQ(ValueOf(*hierarchy, "/a.npy"), "2");
  EXPECT_EQ(ValueOf(*hierarchy, "/b"), "3");
}

TEST_F(NpzTest, BadMembersDoNotHurtTheOthers) {
  const auto hierarchy =
      OpenBuilt(ZipBuilder()
                    .Add({.name = "bad.npy", .data = "text"})
                    .Add({.name = "good.npy", .data = Npy('g')})
                    .Add({.name = "secret.npy", .data = Npy('s'), .flags = 1})
                    .Add({.name = "twice.npy", .data = Npy('1')})
                    .Add({.name = "twice.npy", .data = Npy('2')}));
  EXPECT_THAT(hierarchy->List("/"),
              test::IsOkAnd(ElementsAre("bad", "good", "secret", "twice")));
  EXPECT_EQ(ValueOf(*hierarchy, "/bad"),
            "error: built.npz/bad.npy: not an NPY file: begins with \"text\"");
  EXPECT_EQ(ValueOf(*hierarchy, "/good"), "g");
  EXPECT_EQ(ValueOf(*hierarchy, "/secret"), "error: built.npz/secret.npy: encrypted");
  EXPECT_EQ(ValueOf(*hierarchy, "/twice"), "2");  // the last one, as for NumPy
}

TEST_F(NpzTest, WhatIsNotThereIsNotFound) {
  const auto hierarchy = OpenBuilt(ZipBuilder().Add({.name = "g/a.npy", .data = Npy('a')}));
  for (const char* path : {"/x", "/g/x", "/g/a/x", "/a", ""}) {
    EXPECT_THAT(hierarchy->Load(path),
                test::IsError(model::ErrorCode::kNotFound, HasSubstr("there is no")));
    EXPECT_THAT(hierarchy->List(path),
                test::IsError(model::ErrorCode::kNotFound, HasSubstr("there is no")));
  }
}

TEST_F(NpzTest, ArchiveWithoutMembersIsAnEmptyGroup) {
  const auto hierarchy = OpenBuilt(ZipBuilder());
  EXPECT_TRUE((*hierarchy->Load("/"))->is_group());
  EXPECT_THAT(hierarchy->List("/"), test::IsOkAnd(IsEmpty()));
}

TEST_F(NpzTest, FileThatIsNoArchiveSaysSo) {
  test::WriteFile(directory_ / "a.npz", "text");
  EXPECT_THAT(Open("a.npz"),
              test::IsError(model::ErrorCode::kBadInput,
                            "a.npz: not a ZIP archive, or cut short: no end record"));
}

TEST_F(NpzTest, VersionIsThatOfTheFile) {
  const auto hierarchy = OpenBuilt(ZipBuilder().Add({.name = "a.npy", .data = Npy('a')}));
  const auto before = hierarchy->Version("/a");
  EXPECT_EQ(*before, *hierarchy->Version("/"));
  test::WriteFile(directory_ / "other.npz", ZipBuilder().Build());
  std::filesystem::rename(directory_ / "other.npz", directory_ / "built.npz");
  EXPECT_NE(*before, *hierarchy->Version("/a"));
}

TEST(NameNpzMembersTest, ShortNamesGoToWhoHasNoOther) {
  const auto names =
      NameNpzMembers({"a", "a.npy", "a.npy.npy", "b.npy", "c.npy", "c/d.npy"}, {"e/f"});
  EXPECT_THAT(names.arrays, ElementsAre(Pair("/a", "a"), Pair("/a.npy", "a.npy"),
                                        Pair("/a.npy.npy", "a.npy.npy"), Pair("/b", "b.npy"),
                                        Pair("/c.npy", "c.npy"), Pair("/c/d", "c/d.npy")));
  EXPECT_THAT(names.groups.at("/"),
              ElementsAre("a", "a.npy", "a.npy.npy", "b", "c", "c.npy", "e"));
  EXPECT_THAT(names.groups.at("/e"), ElementsAre("f"));
  EXPECT_THAT(names.groups.at("/e/f"), IsEmpty());
}

TEST(NameNpzMembersTest, TheExtensionAloneIsAName) {
  EXPECT_THAT(NameNpzMembers({".npy", "g/.npy"}, {}).arrays,
              ElementsAre(Pair("/.npy", ".npy"), Pair("/g/.npy", "g/.npy")));
}

TEST(NameNpzMembersTest, NamesThatAreNoTextAreTakenAsLatin1) {
  EXPECT_THAT(NameNpzMembers({"\xfc.npy"}, {}).arrays,
              ElementsAre(Pair("/\xc3\xbc", "\xfc.npy")));
}

}  // namespace
}  // namespace ndlfs::backends
