// SPDX-License-Identifier: MIT
#include "backends/format/ndl/ndl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "backends/base/element_stream.h"
#include "backends/detection.h"
#include "backends/store/local/local_source.h"
#include "model/ndl/ndl_reader.h"
#include "tests/support/python.h"
#include "tests/support/read_array.h"
#include "tests/support/result.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using test::IsError;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kValues = "ndarrays: {a: {shape: [2], type: int8, value: [1, 2]}}\n";
constexpr std::string_view kNoValues = "ndarrays: {a: {shape: [2], type: int8}}\n";

class NdlStoreTest : public testing::Test {
 protected:
  NdlStoreTest() : root_(LocalSource::Open(directory_.path()).value()) {}

  void Write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((directory_.path() / name).parent_path());
    test::WriteFile(directory_ / name, text);
  }
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& name) {
    return NdlFormat().Open(root_, name, {});
  }
  std::shared_ptr<const Hierarchy> OpenText(std::string_view text) {
    Write("example.ndl.yaml", text);
    auto opened = Open("example.ndl.yaml");
    EXPECT_THAT(opened, IsOk());
    return opened.value_or(nullptr);
  }
  std::string ErrorOf(std::string_view text) {
    Write("bad.ndl.yaml", text);
    const auto opened = Open("bad.ndl.yaml");
    return opened ? "" : opened.error().message();
  }
  bool IsStore(const std::string& name) { return DetectFile(*root_, name) == &NdlFormat(); }

  test::TemporaryDirectory directory_;
  std::shared_ptr<const Source> root_;
};

// The elements of an array of variable size, in C order.
model::Value::List ReadElements(const ArraySource& source) {
  test::PlainIndexCache indexes;
  model::Value::List values;
  std::vector<uint64_t> index(source.spec().shape.size());
  do {
    const auto chunk = test::ReadChunk(source, index, indexes);
    EXPECT_THAT(chunk, IsOk());
    uint64_t count = 1;
    for (const uint64_t extent : source.spec().grid.ChunkShape(index)) count *= extent;
    const auto table = ElementTable::Make(AsBytes(*chunk), count);
    EXPECT_THAT(table, IsOk());
    for (uint64_t i = 0; i < count; ++i) {
      ConstByteSpan element = (*table)[i];
      values.push_back(TakeElement(source.spec().dtype, element).value());
      EXPECT_TRUE(element.empty());
    }
  } while (test::NextIndex(index, source.spec().grid.counts()));
  return values;
}

TEST_F(NdlStoreTest, ShowsGroupsAndArraysByTheirPathNames) {
  const auto store = OpenText(
      "/:\n"
      "  attributes: {title: An example}\n"
      "  dimcoords:\n"
      "    lat: {size: 2, type: float32, value: [1.5, 2.5]}\n"
      "/forecast/ensemble:\n"
      "  ndarrays:\n"
      "    tas: {shape: [lat, 3], type: int16}\n");
  EXPECT_EQ(store->format(), "NDL");
  EXPECT_THAT(store->List("/"), test::IsOkAnd(ElementsAre("forecast", "lat")));
  EXPECT_THAT(store->List("/forecast"), test::IsOkAnd(ElementsAre("ensemble")));
  EXPECT_THAT(store->List("/forecast/ensemble"), test::IsOkAnd(ElementsAre("tas")));
  EXPECT_EQ(store->Load("/").value()->attributes()[0].value, model::Value("An example"));
  const auto tas = store->Load("/forecast/ensemble/tas").value();
  EXPECT_EQ(tas->array().shape, (model::Shape{{2, "/lat"}, {3, ""}}));
  EXPECT_TRUE(std::holds_alternative<model::DimCoord>(store->Load("/lat").value()->entity));
  EXPECT_THAT(store->Load("/lon"), IsError(ErrorCode::kNotFound, HasSubstr("no \"/lon\"")));
}

TEST_F(NdlStoreTest, ArraysWithoutValuesHaveNoData) {
  const auto store = OpenText(kNoValues);
  const auto node = store->Load("/a").value();
  EXPECT_EQ(node->source, nullptr);
  EXPECT_FALSE(node->error);
}

// The same values as NumPy makes them.
TEST_F(NdlStoreTest, ElementsOfFixedSizeAreThoseOfNumPy) {
  const auto store = OpenText(R"(
ndarrays:
  i2: {shape: [2, 3], type: int16, value: [[1, -2, 3], [4, 5, 0x7f]]}
  u8: {shape: [1], type: uint64, value: [18446744073709551615]}
  f2: {shape: [2], type: float16, value: [0.5, .nan]}
  f4: {shape: [3], type: float32, value: [1.5e-3, -.inf, 0.1]}
  f8: {shape: [], type: float64, value: 0.1}
  bool: {shape: [2], type: {enum: {base: int8, members: {"FALSE": 0, "TRUE": 1}}}, value: [true, FALSE]}
  enum: {shape: [3], type: {enum: {members: {A: 0, B: 300}}}, value: [B, A, 300]}
  opaque: {shape: [2], type: {opaque: {size: 4}}, value: [!!binary AAEC/w==, !!binary AQ==]}
  time: {shape: [1], type: int64, x-datetime: {unit: s}, value: [60]}
  struct:
    shape: [1]
    type: {compound: [{x: int8}, {m: {array: {base: float32, shape: [2, 2]}}}, {o: {opaque: {size: 2}}}]}
    value: [{m: [[1.0, 2.0], [3.0, 4.0]], x: -1, o: !!binary /w==}]
)");
  test::RunPython(
      "import numpy as np, os\n"
      "os.chdir('" +
      directory_.path().string() + "')\n" + R"(
def w(name, a): open(name + '.raw', 'wb').write(np.asarray(a).tobytes())
w('i2', np.array([[1, -2, 3], [4, 5, 127]], '<i2'))
w('u8', np.array([2**64 - 1], '<u8'))
w('f2', np.array([0.5, np.nan], '<f2'))
w('f4', np.array([1.5e-3, -np.inf, 0.1], '<f4'))
w('f8', np.array(0.1, '<f8'))
w('bool', np.array([True, False]))
w('enum', np.array([300, 0, 300], '<u2'))
w('opaque', np.array([b'\0\1\2\xff', b'\1\0\0\0'], 'V4'))
w('time', np.array([60], '<i8'))
w('struct', np.array([(-1, [[1, 2], [3, 4]], b'\xff\0')], [('x', 'i1'), ('m', '<f4', (2, 2)), ('o', 'V2')]))
)");
  const auto names = store->List("/").value();
  for (const std::string& name : names) {
    const auto node = store->Load("/" + name).value();
    ASSERT_TRUE(node->source) << name;
    EXPECT_EQ(test::ReadThroughChunks(*node->source),
              test::ReadFile(directory_ / (name + ".raw")))
        << name;
  }
}

TEST_F(NdlStoreTest, ElementsOfVariableSizeAreTheValues) {
  const auto store = OpenText(R"(
/:
  ndarrays:
    text: {shape: [2, 2], type: string, value: [[a, ""], ["two\nlines", "Ηελλο"]]}
    lists: {shape: [3], type: {vlen: {base: int16}}, value: [[1, 2], [], [-3]]}
    refs: {shape: [2], type: objref, value: [/text, null]}
    blocks:
      shape: [2]
      type: {regref: {selection: block}}
      value: [{target: /text, start: [0, 0], opposite: [1, 1]}, null]
    points:
      shape: [1]
      type: {regref: {selection: element}}
      value: [{target: /text, elements: [[0, 1], [1, 0]]}]
    struct:
      shape: [1]
      type: {compound: [{n: uint8}, {t: string}, {v: {vlen: {base: string}}}, {a: {array: {base: string, shape: [2]}}}]}
      value: [{n: 7, t: seven, v: [x], a: [p, q]}]
)");
  const auto names = store->List("/").value();
  for (const std::string& name : names) {
    const auto node = store->Load("/" + name).value();
    ASSERT_TRUE(node->source) << name;
    model::Value::List wanted = *node->array().value->list();
    if (name == "text") {
      wanted = {"a", "", "two\nlines", "Ηελλο"};
    }
    EXPECT_EQ(ReadElements(*node->source), wanted) << name;
  }
}

TEST_F(NdlStoreTest, LargeArraysAreReadInChunksAndNotShownInTheDocument) {
  std::string text = "ndarrays:\n  a:\n    shape: [200, 1000]\n    type: float64\n    value:\n";
  std::string raw;
  for (int row = 0; row < 200; ++row) {
    text += "      - [";
    for (int column = 0; column < 1000; ++column) {
      const double number = row * 1000 + column;
      text += std::to_string(row * 1000 + column) + (column == 999 ? "]\n" : ", ");
      raw.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
  }
  text += "  words:\n    shape: [300000]\n    type: string\n    value: [";
  for (int i = 0; i < 300'000; ++i)
    text += "w" + std::to_string(i) + (i < 299'999 ? "," : "]\n");
  const auto store = OpenText(text);
  const auto node = store->Load("/a").value();
  EXPECT_EQ(node->source->spec().grid.counts(), (std::vector<uint64_t>{2, 1}));
  EXPECT_TRUE(test::ReadThroughChunks(*node->source) == raw);
  EXPECT_FALSE(node->array().value);
  const auto words = store->Load("/words").value();
  EXPECT_GT(words->source->spec().grid.counts()[0], 1);
  const model::Value::List read = ReadElements(*words->source);
  ASSERT_EQ(read.size(), 300'000);
  EXPECT_EQ(read[0], model::Value("w0"));
  EXPECT_EQ(read[123'456], model::Value("w123456"));
  EXPECT_EQ(read[299'999], model::Value("w299999"));
}

TEST_F(NdlStoreTest, UnlimitedDimensionsHaveWhatThereIs) {
  const auto store = OpenText(R"(
dimcoords:
  time: {size: null, type: int32, value: [1, 2, 3]}
  none: {size: null, type: int32, value: []}
ndarrays:
  a: {shape: [time, 2], type: int8, value: [[1, 2], [3, 4]]}
)");
  const auto time = store->Load("/time").value();
  EXPECT_EQ(std::get<model::DimCoord>(time->entity).storage.size, 3);
  EXPECT_THAT(time->source->spec().shape, ElementsAre(3));
  EXPECT_THAT(store->Load("/none").value()->source->spec().shape, ElementsAre(0));
  const auto a = store->Load("/a").value();
  EXPECT_THAT(a->source->spec().shape, ElementsAre(3, 2)) << "as long as the dimension";
  EXPECT_EQ(a->array().storage.shape, (std::vector<uint64_t>{2, 2}));
}

TEST_F(NdlStoreTest, AnEmptyListHasTheExtentsThatAreStored) {
  const auto store = OpenText(R"(ndarrays:
  first: {shape: [null, null], type: int32, value: [], storage: {shape: [0, 5]}}
  last: {shape: [null, null], type: int32, value: [[], []], storage: {shape: [2, 0]}}
  unknown: {shape: [null, null], type: int32, value: []}
)");
  EXPECT_THAT(store->Load("/first").value()->source->spec().shape, ElementsAre(0, 5));
  EXPECT_THAT(store->Load("/last").value()->source->spec().shape, ElementsAre(2, 0));
  EXPECT_THAT(store->Load("/unknown").value()->source->spec().shape, ElementsAre(0, 0));
}

TEST_F(NdlStoreTest, ElementsOfNoBytesCannotBeShown) {
  const auto store = OpenText(
      "ndarrays: {a: {shape: [1], type: {opaque: {size: 0}}, value: [!!binary \"\"]}}");
  const auto node = store->Load("/a").value();
  EXPECT_EQ(node->source, nullptr);
  ASSERT_TRUE(node->error);
  EXPECT_EQ(node->error->message(), "elements of 0 bytes");
}

TEST_F(NdlStoreTest, ShortOpaqueValuesDoNotTakeMemoryWithoutBound) {
  const auto store = OpenText(R"(
ndarrays:
  small: {shape: [1], type: int8, value: [1]}
  vast: {shape: [2], type: {opaque: {size: 281474976710656}}, value: [!!binary AA==, !!binary AA==]}
  wide: {shape: [2], type: {opaque: {size: 50000000}}, value: [!!binary AA==, !!binary AA==]}
)");
  EXPECT_TRUE(store->Load("/small").value()->source);
  for (const char* path : {"/vast", "/wide"}) {
    const auto node = store->Load(path).value();
    EXPECT_EQ(node->source, nullptr);
    EXPECT_THAT(node->error->message(), HasSubstr("values that take more than 6"));
  }
}

// More than is kept in memory, so that the first are read again.
TEST_F(NdlStoreTest, DocumentsThatWereDroppedAreReadAgain) {
  std::vector<std::shared_ptr<const Node>> nodes;
  for (const char* name : {"a", "b", "c", "d"}) {
    Write(
        std::string(name) + ".ndl.yaml",
        "ndarrays: {x: {shape: [1], type: {opaque: {size: 60000000}}, value: [!!binary Zm9v]},"
        " y: {shape: [1], type: string, value: [" +
            std::string(name) + "]}}");
    nodes.push_back(Open(std::string(name) + ".ndl.yaml").value()->Load("/y").value());
  }
  EXPECT_EQ(ReadElements(*nodes[0]->source), (model::Value::List{"a"}));
  EXPECT_EQ(ReadElements(*nodes[3]->source), (model::Value::List{"d"}));
}

TEST_F(NdlStoreTest, ANewVersionIsAnotherDocument) {
  const auto store = OpenText(kValues);
  const auto before = store->Load("/a").value();
  EXPECT_EQ(store->Load("/a").value(), before);
  const uint64_t version = store->Version("/a").value();
  test::PlainIndexCache indexes;
  Write("example.ndl.yaml", "ndarrays: {a: {shape: [3], type: int8, value: [1, 2, 3]}}");
  EXPECT_NE(store->Version("/a").value(), version);
  EXPECT_THAT(test::ReadChunk(*before->source, {0}, indexes),
              IsError(ErrorCode::kStale, HasSubstr("the document has changed")));
  const auto after = store->Load("/a").value();
  EXPECT_EQ(test::ReadChunk(*after->source, {0}, indexes).value(), "\1\2\3");
}

TEST_F(NdlStoreTest, BadDocumentsNameThePlace) {
  const std::string where = "bad.ndl.yaml";
  EXPECT_EQ(ErrorOf("ndarrays: {a: {shape: [1], type: int7}}\n"),
            where +
                ":1:34: /a: type: unknown datatype \"int7\" (did you mean int8?), expected "
                "string, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, "
                "float64 or objref, or opaque, enum, regref, compound, vlen or array");
  EXPECT_EQ(ErrorOf("ndarrays: {a: {shape: [1]}, b: 1}\n"),
            where + ":1:15: /a: the key \"type\" is missing (and 1 more: see ndlfs validate)");
  EXPECT_THAT(ErrorOf(""), HasSubstr(":1:1: the document is empty"));
  EXPECT_THAT(ErrorOf(std::string("/:\0", 3)), HasSubstr("1:3: the control character 0x00"));
  EXPECT_THAT(ErrorOf("/: {}\n---\n/: {}\n"), HasSubstr("a second document begins"));
  EXPECT_THAT(ErrorOf("hello\n"), HasSubstr("expected a mapping of groups"));
}

TEST_F(NdlStoreTest, RefusesDocumentsThatAreTooLong) {
  Write("bad.ndl.yaml", kValues);
  std::filesystem::resize_file(directory_ / "bad.ndl.yaml", 100'000'000);
  EXPECT_THAT(Open("bad.ndl.yaml"),
              IsError(ErrorCode::kLimit, EndsWith("a document of more than 16777216 bytes")));
  std::string many = "ndarrays: {a: {shape: [null], type: int8, value: [";
  for (int i = 0; i < 750'000; ++i) many += "1,";
  EXPECT_THAT(ErrorOf(many + "1]}}"), HasSubstr("a document of more than 700000 values"));
}

TEST_F(NdlStoreTest, GoesByNameOrByContents) {
  const std::string head = "# a comment\n";
  for (const auto& [name, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {"a.ndl.yaml", std::string(kNoValues)},
           {"b.ndl.yml", "no NDL"},
           {"C.NDL.YAML", ""},
           {"d.yaml", head + std::string(kValues)},
           {"e.yml", std::string(kValues)},
           {"f.yaml", "/: {dimcoords: {x: {size: 1, type: int8, value: [1]}}}"},
           {"g.yaml", "/a: {}\n/b/c:\n  ndarrays: {s: {shape: [], type: string, value: x}}\n"},
       }) {
    Write(name, text);
    EXPECT_TRUE(IsStore(name)) << name;
  }
  for (const auto& [name, text] : std::initializer_list<std::pair<std::string, std::string>>{
           {"plain.yaml", "version: 3\nservices: [a, b]\n"},
           {"empty.yaml", ""},
           {"description.yaml", std::string(kNoValues)},
           {"values_of_attributes.yaml", "attributes: {a: {shape: [], type: int8, value: 1}}"},
           {"a_value_in_text.yaml", "attributes: {value: 1, comment: the value is fillvalue}"},
           {"mistaken.yaml", "ndarrays: {a: {shape: [2], type: int8, value: [1, 2, 3]}}"},
           {"notes.txt", std::string(kValues)},
           {".ndl.yaml", std::string(kValues)},
           {".yaml", std::string(kValues)},
       }) {
    Write(name, text);
    EXPECT_FALSE(IsStore(name)) << name;
  }
}

TEST_F(NdlStoreTest, AnAnswerHoldsForOneVersionOfAFile) {
  Write("a.yaml", kNoValues);
  EXPECT_FALSE(IsStore("a.yaml"));
  EXPECT_FALSE(IsStore("a.yaml"));
  Write("a.yaml", kValues);
  EXPECT_TRUE(IsStore("a.yaml"));
}

// Nothing but the beginning of it is read.
TEST_F(NdlStoreTest, LongFilesAreNotLookedAt) {
  Write("long.yaml", kValues);
  std::filesystem::resize_file(directory_ / "long.yaml", uint64_t{1} << 40);
  EXPECT_FALSE(IsStore("long.yaml"));
  Write("long.ndl.yaml", kValues);
  std::filesystem::resize_file(directory_ / "long.ndl.yaml", uint64_t{1} << 40);
  EXPECT_TRUE(IsStore("long.ndl.yaml"));
}

TEST_F(NdlStoreTest, ADocumentBesideAStoreOfItsNameDescribesThat) {
  Write("grid.nc", std::string("CDF\1") + std::string(28, '\0'));
  Write("OLD.NC", std::string("CDF\1") + std::string(28, '\0'));
  Write("array.zarr/.zarray", "{}");
  Write("folder/zarr.json", "{}");
  Write("runs/notes.txt", "a plain folder");
  Write("text.nc.txt", "no store");
  for (const char* name : {"grid.yaml", "grid.yml", "grid.ndl.yaml", "grid.nc.yaml", "OLD.yaml",
                           "array.yaml", "folder.yaml"}) {
    Write(name, kValues);
    EXPECT_FALSE(IsStore(name)) << name;
  }
  for (const char* name : {"grid2.yaml", "runs.yaml", "text.yaml", "gri.yaml"}) {
    Write(name, kValues);
    EXPECT_TRUE(IsStore(name)) << name;
  }
  Write("grid2.yml", kValues);  // two documents are two stores
  EXPECT_TRUE(IsStore("grid2.yaml"));
  EXPECT_TRUE(IsStore("grid2.yml"));
}

}  // namespace
}  // namespace ndlfs::backends
