// SPDX-License-Identifier: MIT
//
// Kerchunk references: values inline, and parts of files of the source tree.
#include "backends/format/kerchunk/kerchunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "backends/detection.h"
#include "backends/store/local/local_source.h"
#include "backends/store/reference/reference_store.h"
#include "tests/support/detect_file.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using test::IsOkAnd;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

class KerchunkTest : public ::testing::Test {
 protected:
  KerchunkTest() {
    std::filesystem::create_directories(directory_ / "source/sub/data");
    test::WriteFile(directory_ / "source/sub/data/a.bin", "0123456789");
    test::WriteFile(directory_ / "source/top.bin", "abcdef");
    test::WriteFile(directory_ / "outside.bin", "secret");
    root_ = LocalSource::Open(directory_ / "source").value();
  }

  void Write(std::string_view json) {
    test::WriteFile(directory_ / "source/sub/refs.json", json);
  }
  // Version 1 with these references.
  void WriteRefs(std::string_view refs, std::string_view more = "") {
    Write(fmt::format(R"({{"version": 1, {} "refs": {}}})", more, refs));
  }
  std::shared_ptr<const kerchunk::ReferenceStore> Store() {
    auto store = kerchunk::OpenReferences(root_, "sub/refs.json");
    EXPECT_THAT(store, IsOk());
    return store ? *store : nullptr;
  }
  // The value of the key "k" with this reference.
  model::Result<std::string> Value(std::string_view reference, std::string_view more = "") {
    WriteRefs(fmt::format(R"({{"k": {}}})", reference), more);
    NDLFS_TRY(const auto bytes, Store()->Read("k", 1000));
    if (!bytes) return model::NotFound("absent");
    return std::string(AsText(bytes->span()));
  }
  std::string Absolute(std::string_view path) { return directory_ / path; }

  const test::TemporaryDirectory directory_;
  std::shared_ptr<const Source> root_;
};

TEST_F(KerchunkTest, ValuesInTheFileItself) {
  EXPECT_THAT(Value(R"("text")"), IsOkAnd(Eq("text")));
  EXPECT_THAT(Value(R"("")"), IsOkAnd(Eq("")));
  EXPECT_THAT(Value(R"("base64:AAEC")"), IsOkAnd(Eq(std::string("\0\1\2", 3))));
  EXPECT_THAT(Value(R"({"zarr_format": 2, "x": [1, 2]})"),
              IsOkAnd(Eq(R"({"zarr_format":2,"x":[1,2]})")));
}

TEST_F(KerchunkTest, PartsOfFiles) {
  EXPECT_THAT(Value(R"(["data/a.bin", 2, 3])"), IsOkAnd(Eq("234")));
  EXPECT_THAT(Value(R"(["data/a.bin"])"), IsOkAnd(Eq("0123456789")));
  EXPECT_THAT(Value(R"(["data/a.bin", 7])"), IsOkAnd(Eq("789")));
  EXPECT_THAT(Value(R"(["./data/../data/a.bin", 0, 1])"), IsOkAnd(Eq("0")));
  EXPECT_THAT(Value(R"(["../top.bin", 1, 2])"), IsOkAnd(Eq("bc")));
  EXPECT_THAT(Value(R"(["data/a.bin", 8, 5])"), IsOkAnd(Eq("89")));
  EXPECT_THAT(Value(R"(["data/a.bin", 80, 5])"), IsOkAnd(Eq("")));
  EXPECT_THAT(Value(R"(["data/a.bin", 9223372036854775807, 9223372036854775807])"),
              IsOkAnd(Eq("")));
  const std::string absolute = Absolute("source/top.bin");
  EXPECT_THAT(Value(fmt::format(R"(["{}", 0, 3])", absolute)), IsOkAnd(Eq("abc")));
  EXPECT_THAT(Value(fmt::format(R"(["file://{}", 3, 3])", absolute)), IsOkAnd(Eq("def")));
}

TEST_F(KerchunkTest, ReadsWithinAPart) {
  WriteRefs(R"({"k": ["data/a.bin", 2, 5], "i": "hello"})");
  const auto store = Store();
  std::array<std::byte, 3> out;
  EXPECT_THAT(store->ReadInto("k", 3, out), IsOkAnd(Optional(2u)));
  EXPECT_EQ(AsText(std::span(out).first(2)), "56");
  EXPECT_THAT(store->ReadInto("k", 5, out), IsOkAnd(Optional(0u)));
  EXPECT_THAT(store->ReadInto("i", 1, out), IsOkAnd(Optional(3u)));
  EXPECT_EQ(AsText(out), "ell");
  EXPECT_THAT(store->ReadInto("none", 0, out), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(store->Size("none"), IsOkAnd(Eq(std::nullopt)));
  EXPECT_THAT(store->Stat("none"), IsOkAnd(Eq(std::nullopt)));
}

TEST_F(KerchunkTest, Templates) {
  EXPECT_THAT(
      Value(R"(["{{u}}/a.{{ ext }}", 0, 2])", R"("templates": {"u": "data", "ext": "bin"},)"),
      IsOkAnd(Eq("01")));
  EXPECT_THAT(Value(R"("{{u}}")", R"("templates": {"u": "data"},)"), IsOkAnd(Eq("{{u}}")));
  EXPECT_THAT(Value(R"(["data/{{f(c='a')}}", 0, 2])", R"("templates": {"f": "{{c}}.bin"},)"),
              IsOkAnd(Eq("01")));
  EXPECT_THAT(Value(R"(["{{f}}"])", R"("templates": {"f": "{{c}}"},)"),
              IsError(ErrorCode::kUnsupported, HasSubstr("the template \"f\" needs values")));
  EXPECT_THAT(Value(R"(["{{none}}"])"),
              IsError(ErrorCode::kUnsupported, HasSubstr("the template expression \"none\"")));
  EXPECT_THAT(Value(R"(["{{none"])"),
              IsError(ErrorCode::kBadInput, HasSubstr("{{ without }}")));
}

TEST_F(KerchunkTest, RemoteReferencesAreNotFollowed) {
  for (const char* url : {"s3://bucket/a.nc", "https://example.org/a.nc", "memory://x",
                          "simplecache::s3://bucket/a", "gs://b/c"}) {
    EXPECT_THAT(Value(fmt::format(R"(["{}", 0, 1])", url)),
                IsError(ErrorCode::kUnsupported,
                        HasSubstr("the remote reference " + model::Quote(url))));
  }
}

TEST_F(KerchunkTest, NothingOutsideTheSourceTreeIsRead) {
  for (const std::string& url :
       {std::string("../../outside.bin"), std::string("data/../../../outside.bin"),
        Absolute("outside.bin"), Absolute("source/../outside.bin"), std::string("/etc/passwd"),
        "file://" + Absolute("outside.bin"), Absolute("source") + "x/a"}) {
    EXPECT_THAT(Value(fmt::format(R"(["{}"])", url)),
                IsError(ErrorCode::kUnsupported, HasSubstr("is outside the source tree")))
        << url;
  }
  std::filesystem::create_symlink("../../outside.bin", directory_ / "source/sub/link");
  const auto linked = Value(R"(["link"])");
  EXPECT_FALSE(linked.has_value());
}

TEST_F(KerchunkTest, FilesThatAreMissingAreNoAbsentChunks) {
  EXPECT_THAT(
      Value(R"(["data/none.bin", 0, 4])"),
      IsError(ErrorCode::kCorrupt,
              HasSubstr("the file \"sub/data/none.bin\" that it refers to is not there")));
}

TEST_F(KerchunkTest, ReferencesThatMakeNoSense) {
  const std::pair<const char*, const char*> kCases[] = {
      {"7", "expected a value or [url, offset, size], found the number 7"},
      {"null", "expected a value"},
      {"[]", "expected a value"},
      {"[1, 2, 3]", "expected a value"},
      {R"(["a", 0, 1, 2])", "expected a value"},
      {R"(["data/a.bin", -1, 2])", "offset: expected a non-negative integer"},
      {R"(["data/a.bin", 1, "2"])", "size: expected a non-negative integer"},
      {R"([""])", "is no path of a file"},
      {R"(["a\u0000b"])", "is no path of a file"},
      {R"("base64:?")", "not in base64"},
      {"nil", "not JSON"},
  };
  for (const auto& [reference, message] : kCases) {
    EXPECT_THAT(Value(reference), IsError(ErrorCode::kBadInput, HasSubstr(message)))
        << reference;
  }
}

TEST_F(KerchunkTest, FilesThatAreNoReferences) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "sub/refs.json: not JSON"},
      {"[]", "not JSON: expected an object"},
      {R"({"version": 1})", "\"refs\" is missing"},
      {R"({"version": 1, "refs": []})", "refs: not JSON: expected an object"},
      {R"({"version": 1, "refs": {"../a": ""}})", "the key \"../a\" is not below its store"},
      {R"({"version": 1, "refs": {"/a": ""}})", "the key \"/a\" is not below its store"},
      {R"({"version": 1, "refs": {"a": "")", "not JSON"},
      {R"({"version": 1, "templates": [], "refs": {}})", "templates: expected an object"},
      {R"({"version": 2, "refs": {}})", "version 2 of references"},
      {R"({"version": 1, "gen": {}, "refs": {}})", "gen: expected a list"},
      {R"({"version": 1, "gen": [{"key": "a"}], "refs": {}})", "gen: [0]: \"url\" is missing"},
      {R"({"version": 1, "gen": [{"key": "a", "url": "b"}], "refs": {}})", "\"dimensions\""},
      {R"({"version": 1, "gen": [{"key": "a", "url": "b", "offset": "1", "dimensions": {}}]})",
       "need each other"},
      {R"({"version": 1, "gen": [{"key": "a{{i}}", "url": "b", "dimensions": {"i": {}}}]})",
       "\"stop\" is missing"},
      {R"({"version": 1, "gen": [{"key": "a", "url": "b", "dimensions": {"i": {"stop": 9,
        "step": 0}}}]})",
       "step: 0"},
      {R"({"version": 1, "gen": [{"key": "a", "url": "b", "dimensions": {"i": {"stop": 1000001}}}]})",
       "more than 1000000 generated references"},
      {R"({"version": 1, "gen": [{"key": "a", "url": "b", "dimensions": {"i": {"stop": 10000},
        "j": {"stop": 10000}}}]})",
       "more than 1000000 generated references"},
      {R"({"version": 1, "gen": [{"key": "../{{i}}", "url": "b", "dimensions": {"i": [1]}}]})",
       "the key \"../1\" is not below its store"},
      {R"({"version": 1, "gen": [{"key": "{{j}}", "url": "b", "dimensions": {"i": [1]}}]})",
       "the template expression \"j\""},
  };
  for (const auto& [json, message] : kCases) {
    Write(json);
    const auto store = kerchunk::OpenReferences(root_, "sub/refs.json");
    ASSERT_FALSE(store.has_value()) << json;
    EXPECT_THAT(store.error().message(), HasSubstr(message)) << json;
  }
}

// The example of the specification, with files that are here.
TEST_F(KerchunkTest, GeneratedReferences) {
  Write(R"({"version": 1, "templates": {"u": "data", "f": "{{c}}"},
    "gen": [{"key": "gen_key{{i}}", "url": "{{u}}/a.bin", "offset": "{{(i + 1) * 2}}",
             "length": "2", "dimensions": {"i": {"stop": 3}}},
            {"key": "whole", "url": "{{f(c='data')}}/a.bin", "dimensions": {}},
            {"key": "t/{{j}}.{{ '%02d' | format(i) }}", "url": "{{u}}/a.bin",
             "offset": "{{ i }}", "length": "{{j}}",
             "dimensions": {"i": {"start": 7, "stop": 3, "step": -3}, "j": [1, 3]}},
            {"key": "key0", "url": "data/none", "dimensions": {}}],
    "refs": {"key0": "data", "key3": ["{{f(c='data')}}/a.bin", 8, 2]}})");
  const auto store = Store();
  const auto value = [&](const char* key) -> std::string {
    const auto bytes = store->Read(key, 1000);
    if (!bytes) return bytes.error().message();
    return *bytes ? std::string(AsText((*bytes)->span())) : "absent";
  };
  EXPECT_EQ(value("gen_key0"), "23");
  EXPECT_EQ(value("gen_key2"), "67");
  EXPECT_EQ(value("gen_key3"), "absent");
  EXPECT_EQ(value("whole"), "0123456789");
  EXPECT_EQ(value("t/1.07"), "7");
  EXPECT_EQ(value("t/3.04"), "456");
  EXPECT_EQ(value("key3"), "89");
  EXPECT_THAT(value("key0"), HasSubstr("\"sub/data/none\" that it refers to is not there"))
      << "a generated one counts where both are there";
  EXPECT_EQ(store->List("t").value().size(), 4);
}

TEST_F(KerchunkTest, KeysThatAreGeneratedHaveABoundOfTime) {
  const auto opened = [&](std::string_view key, std::string_view name, int count) {
    Write(fmt::format(R"({{"version": 1, "templates": {{"nothing": "{{{{''}}}}"}},
                         "gen": [{{"key": "{}", "url": "a",
                         "dimensions": {{"{}": {{"stop": {}}}}}}}]}})",
                      key, name, count));
    return kerchunk::OpenReferences(root_, "sub/refs.json");
  };
  const std::string nothing = "{{nothing(text='" + std::string(60'000, 't') + "')}}";
  EXPECT_THAT(opened(nothing + "{{i}}", "i", 10), IsOk());
  EXPECT_THAT(opened(nothing + "{{i}}", "i", 1'000'000),
              IsError(ErrorCode::kLimit, HasSubstr("too much text")));
  const std::string name(60'000, 'n');
  EXPECT_THAT(opened("{{0}}", name, 1'000'000),
              IsError(ErrorCode::kLimit, HasSubstr("too much text")));
  EXPECT_THAT(opened(std::string(70'000, 'k') + "{{i}}", "i", 1),
              IsError(ErrorCode::kLimit, HasSubstr("key: a text of more than 65536 bytes")));
}

TEST_F(KerchunkTest, RulesAndTemplatesCountAsMemory) {
  WriteRefs("{}", R"("templates": {"u": "text"},)");
  const uint64_t few = Store()->held_bytes();
  WriteRefs("{}", fmt::format(R"("templates": {{"u": "{}"}},)", std::string(50'000, 't')));
  EXPECT_GE(Store()->held_bytes(), few + 49'000);
  WriteRefs("{}", fmt::format(R"("gen": [{{"key": "k", "url": "{}", "dimensions": {{}}}}],)",
                              std::string(50'000, 'u')));
  EXPECT_GE(Store()->held_bytes(), 50'000);
}

TEST_F(KerchunkTest, ListsLikeADirectory) {
  WriteRefs(
      R"({"b/0": "", "a": "", "a-b/x": "", "a/b/c": "", "a/b/d": "", "a/0": "", ".z": ""})");
  const auto names = [&](std::string_view prefix) {
    std::vector<std::string> listed;
    const auto entries = Store()->List(prefix).value();
    for (const auto& e : entries) listed.push_back(e.name + (e.is_prefix ? "/" : ""));
    return listed;
  };
  EXPECT_THAT(names(""), ElementsAre(".z", "a/", "a-b/", "b/"));
  EXPECT_THAT(names("a"), ElementsAre("0", "b/"));
  EXPECT_THAT(names("a/b"), ElementsAre("c", "d"));
  EXPECT_THAT(names("none"), IsEmpty());
}

TEST_F(KerchunkTest, ChangesOfTheReferencesAreNoticed) {
  WriteRefs(R"({"k": ["data/a.bin", 2, 3], "i": "text"})");
  const auto store = Store();
  const auto inline_stamp = store->Stat("i").value();
  const auto range_stamp = store->Stat("k").value();
  test::WriteFile(directory_ / "source/sub/data/a.bin", "changed, longer");
  EXPECT_EQ(store->Stat("i").value(), inline_stamp);
  EXPECT_NE(store->Stat("k").value(), range_stamp);
  WriteRefs(R"({"i": "another text", "k": ["data/a.bin", 2, 3]})");
  EXPECT_NE(store->Stat("i").value(), inline_stamp);
  EXPECT_THAT(store->Read("k", 100), test::IsStale());
}

// What kerchunk makes of an array in a file: [2, 3] int32 as two chunks.
std::string ZarrRefs(std::string_view first, std::string_view second) {
  return fmt::format(R"({{".zgroup": "{{\"zarr_format\": 2}}",
      "t/.zarray": {{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|S1",
                     "compressor": null, "fill_value": null, "order": "C", "filters": null}},
      "t/.zattrs": "{{\"_ARRAY_DIMENSIONS\": [\"x\"]}}",
      "t/0": {}, "t/1": {}}})",
                     first, second);
}

TEST_F(KerchunkTest, IsAZarrHierarchy) {
  WriteRefs(ZarrRefs(R"(["data/a.bin", 4, 2])", R"("xy")"));
  const Format* format = DetectFile(*root_, "sub/refs.json");
  ASSERT_EQ(format, &KerchunkFormat());
  const auto hierarchy = format->Open(root_, "sub/refs.json", {}).value();
  EXPECT_THAT(hierarchy->List("/"), IsOkAnd(ElementsAre("t")));
  const auto node = hierarchy->Load("/t").value();
  EXPECT_FALSE(node->error);
  EXPECT_THAT(node->array().dimension_names, ElementsAre("x"));
  EXPECT_EQ(test::ReadThroughChunks(*node->source), "45xy");
  EXPECT_GT(node->mtime_ns, 0);
}

TEST_F(KerchunkTest, VersionZeroIsTheReferencesAlone) {
  Write(ZarrRefs(R"(["data/a.bin", 4, 2])", R"("base64:eHk=")"));
  const auto hierarchy =
      DetectFile(*root_, "sub/refs.json")->Open(root_, "sub/refs.json", {}).value();
  EXPECT_EQ(test::ReadThroughChunks(*hierarchy->Load("/t").value()->source), "45xy");
}

TEST_F(KerchunkTest, ArraysElsewhereAreDescribedOnly) {
  WriteRefs(ZarrRefs(R"(["s3://bucket/a.nc", 4, 2])", R"("xy")"));
  const auto hierarchy = KerchunkFormat().Open(root_, "sub/refs.json", {}).value();
  const auto node = hierarchy->Load("/t").value();
  ASSERT_TRUE(node->error);
  EXPECT_EQ(node->error->message(),
            "sub/refs.json/t/: the remote reference \"s3://bucket/a.nc\"");
  EXPECT_FALSE(node->source);
  EXPECT_EQ(node->array().shape.at(0).size, 4u);
}

TEST_F(KerchunkTest, OtherJsonIsLeftAlone) {
  const auto probe = [](std::string_view head) {
    return KerchunkFormat().ProbeFile("a.json", AsBytes(head));
  };
  EXPECT_TRUE(probe(R"( {"version": 1, "refs": {)"));
  EXPECT_TRUE(probe(R"({"version":1,"templates":{"u":"s3://very/long)"));
  EXPECT_TRUE(probe(R"({".zgroup": "{\"zarr_format\": 2}")"));
  EXPECT_FALSE(probe(R"({"type": "FeatureCollection", "version": 1})"));
  EXPECT_FALSE(probe(R"(["refs"])"));
  EXPECT_FALSE(probe("\"refs\""));
  EXPECT_FALSE(probe(""));
  EXPECT_TRUE(KerchunkFormat().MatchesFileName("a.json"));
  EXPECT_FALSE(KerchunkFormat().MatchesFileName("a.jsonl"));
}

TEST_F(KerchunkTest, TellsInWhichFileAChunkIs) {
  WriteRefs(R"({".zgroup": {"zarr_format": 2},
                "a/.zarray": {"zarr_format": 2, "shape": [3, 4], "chunks": [1, 4],
                              "dtype": "|i1", "order": "C", "compressor": null,
                              "filters": null, "fill_value": 0},
                "a/0.0": ["data/a.bin", 2, 4], "a/1.0": "abcd"})");
  const auto opened = KerchunkFormat().Open(root_, "sub/refs.json", {});
  ASSERT_THAT(opened, IsOk());
  const auto node = (*opened)->Load("/a");
  ASSERT_THAT(node, IsOk());
  test::PlainIndexCache indexes;
  const auto locate = [&](uint64_t row) {
    return (*node)->source->Locate(std::vector<uint64_t>{row, 0}, indexes);
  };
  const auto part = locate(0);
  ASSERT_THAT(part, IsOk());
  EXPECT_EQ(part->key, "sub/data/a.bin");
  EXPECT_EQ(part->store->Describe(part->key), "source/sub/data/a.bin");
  EXPECT_EQ(part->pieces[0].offset, 2u);
  EXPECT_EQ(part->pieces[0].length, 4u);
  EXPECT_TRUE(part->must_exist);
  const auto value = locate(1);
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(AsText(value->inline_bytes->span()), "abcd");
  EXPECT_TRUE(locate(2)->absent());
}

}  // namespace
}  // namespace ndlfs::backends
