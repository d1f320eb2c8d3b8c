// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "model/ndl/ndl_writer.h"

namespace ndlfs::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Errors(std::string_view text) {
  std::string lines;
  for (const Diagnostic& error : ReadNdl(text, "f.yaml").errors) {
    lines += FormatDiagnostic("", error).substr(1) + "\n";
  }
  return lines;
}

File Read(std::string_view text) {
  const ParsedDocument parsed = ReadNdl(text, "f.yaml");
  EXPECT_TRUE(parsed.file) << Errors(text);
  return parsed.file.value_or(File());
}

// What a document with one attribute `a` says of it.
Attribute ReadAttribute(std::string_view value) {
  const File file = Read("attributes: {a: " + std::string(value) + "}\n");
  return file.root.attributes.empty() ? Attribute() : file.root.attributes.front();
}

Datatype ReadType(std::string_view type) {
  const File file = Read("ndarrays: {a: {shape: [], type: " + std::string(type) + "}}\n");
  return file.root.ndarrays.empty() ? Datatype() : file.root.ndarrays.front().type;
}

std::string TypeErrors(std::string_view type) {
  return Errors("ndarrays:\n a:\n  shape: []\n  type: " + std::string(type) + "\n");
}

Value ReadValue(std::string_view type, std::string_view value) {
  const File file = Read("ndarrays: {a: {shape: [], type: " + std::string(type) +
                         ", value: " + std::string(value) + "}}\n");
  return file.root.ndarrays.empty() || !file.root.ndarrays.front().value
             ? Value()
             : *file.root.ndarrays.front().value;
}

std::string ValueErrors(std::string_view shape, std::string_view type, std::string_view value) {
  return Errors("ndarrays:\n a:\n  shape: " + std::string(shape) +
                "\n  type: " + std::string(type) + "\n  value: " + std::string(value) + "\n");
}

// --- Forms of the document

TEST(NdlReaderTest, TheTwoFormsAreTheSame) {
  constexpr std::string_view kContents =
      "  attributes: {a: 1}\n"
      "  dimcoords: {x: {size: 2, type: int8}}\n"
      "  ndarrays: {n: {shape: [x], type: float32}}\n";
  const File hierarchical = Read("/:\n" + std::string(kContents));
  EXPECT_EQ(Read(kContents), hierarchical);
  EXPECT_THAT(hierarchical.root.ndarrays, SizeIs(1));
  EXPECT_EQ(hierarchical.name, "f");
}

TEST(NdlReaderTest, GroupsAreInAnyOrderAndParentsAreImplied) {
  const File file = Read("/b/c: {}\n/: {attributes: {x: 1}}\n/a: {attributes: {y: 2}}\n");
  ASSERT_THAT(file.root.groups, SizeIs(2));
  EXPECT_EQ(file.root.groups[0].name, "a");
  EXPECT_EQ(file.root.groups[1].name, "b");
  EXPECT_EQ(file.root.groups[1].groups[0].name, "c");
  EXPECT_EQ(file.root.attributes[0].name, "x");
}

TEST(NdlReaderTest, IsNamedAsTheFileIs) {
  EXPECT_EQ(ReadNdl("/: {}", "/data/example.yaml").file->name, "example");
  EXPECT_EQ(ReadNdl("/: {}", "example.yml").file->name, "example");
  EXPECT_EQ(ReadNdl("/: {}", "tas.v1.ndl.yaml").file->name, "tas.v1");
}

TEST(NdlReaderTest, IgnoresExtensionKeysThatItDoesNotKnow) {
  EXPECT_EQ(
      Read("x-tool: {a: [1]}\n/:\n  x-b: 1\n  ndarrays:\n    n:\n      x-c: !!binary AA==\n"
           "      shape: []\n      type: int8\n      storage: {x-d: 1}\n"),
      Read("/: {ndarrays: {n: {shape: [], type: int8}}}"));
}

TEST(NdlReaderTest, RefusesWhatIsNoDocument) {
  EXPECT_THAT(Errors(""), HasSubstr("1:1: the document is empty, expected groups"));
  EXPECT_THAT(Errors("# nothing\n"), HasSubstr("the document is empty"));
  EXPECT_THAT(Errors("---\n"), HasSubstr("the document is empty"));
  EXPECT_EQ(Errors("- a\n"),
            "1:1: found a list, expected a mapping of groups, or of attributes, dimcoords or "
            "ndarrays\n");
  EXPECT_THAT(Errors("hello\n"), HasSubstr("found \"hello\", expected a mapping"));
  EXPECT_EQ(
      Errors("/: {}\nattributes: {}\n"),
      "2:1: \"attributes\" next to the group \"/\" (line 1), expected either groups only, "
      "or only the contents of the root group\n");
  EXPECT_EQ(Errors("group1: {}\n"),
            "1:1: unknown key \"group1\", expected the path name of a group, which begins with "
            "\"/\", or attributes, dimcoords or ndarrays\n");
  EXPECT_THAT(Errors("dimcoord: {}\n"), HasSubstr("(did you mean dimcoords?)"));
}

TEST(NdlReaderTest, RefusesPathNamesThatAreNone) {
  EXPECT_EQ(Errors("/a/: {}\n"), "1:1: the path name \"/a/\" ends in \"/\", expected \"/a\"\n");
  EXPECT_EQ(Errors("/a//b: {}\n"), "1:1: the path name \"/a//b\" has an empty name in it\n");
  std::string deep;
  for (int i = 0; i < 257; ++i) deep += "/a";
  EXPECT_EQ(Errors(deep + ": {}\n"), "1:1: groups nested more than 256 deep\n");
  EXPECT_EQ(Errors("? /" + std::string(65536, 'a') + "\n: {}\n"),
            "1:3: a path name of more than 65536 bytes\n");
}

TEST(NdlReaderTest, RefusesNamesUsedTwice) {
  EXPECT_EQ(Errors("dimcoords: {a: {size: 1, type: int8}}\n"
                   "ndarrays: {a: {shape: [], type: int8}}\n"),
            "2:12: /a: the name \"a\" is already taken by a dimension coordinate\n");
  EXPECT_EQ(Errors("/:\n  ndarrays: {a: {shape: [], type: int8}}\n/a: {}\n"),
            "2:14: /a: the name \"a\" is already taken by a group (line 3)\n");
  EXPECT_EQ(Errors("/:\n  dimcoords: {a: {size: 1, type: int8}}\n/a/b: {}\n"),
            "2:15: /a: the name \"a\" is already taken by a group\n");
  EXPECT_EQ(Errors("/: {}\n/a: {}\n/: {}\n"),
            "3:1: the key \"/\" occurs twice, first on line 1\n");
  EXPECT_EQ(Errors("attributes: {a: 1, a: 2}\n"),
            "1:20: /: attributes: the key \"a\" occurs twice, first on line 1\n");
  EXPECT_EQ(
      Errors("ndarrays: {a/b: {shape: [], type: int8}}\n"),
      "1:12: /a/b: \"a/b\" is not a name, expected one without \"/\"; groups have entries of "
      "their own\n");
}

TEST(NdlReaderTest, ReportsAllErrorsInTheOrderOfLines) {
  EXPECT_EQ(
      Errors("/:\n"
             "  ndarrays:\n"
             "    a: {shape: [x], type: flaot32}\n"
             "    b: {shape: [2], type: int8, value: [1, 300]}\n"
             "  atributes: {}\n"),
      "3:17: /a: shape: no dimension coordinate \"x\" in this group or a group around it\n"
      "3:27: /a: type: unknown datatype \"flaot32\" (did you mean float32?), expected "
      "string, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64 "
      "or objref, or opaque, enum, regref, compound, vlen or array\n"
      "4:44: /b: value[1]: 300 does not fit int8 (-128 to 127)\n"
      "5:3: /: unknown key \"atributes\" (did you mean attributes?), expected attributes, "
      "dimcoords or ndarrays\n");
}

TEST(NdlReaderTest, StopsAfterAHundredErrors) {
  std::string text = "attributes:\n";
  for (int i = 0; i < 1000; ++i) text += " a" + std::to_string(i) + ": null\n";
  const auto errors = ReadNdl(text, "f.yaml").errors;
  ASSERT_THAT(errors, SizeIs(101));
  EXPECT_EQ(errors.back().message, "too many errors; further ones are not shown");
}

// --- Attributes

TEST(NdlReaderTest, ShortAttributesAreTheBestMatch) {
  const auto is = [](std::string_view text, const Datatype& type, const Value& value) {
    const Attribute attribute = ReadAttribute(text);
    EXPECT_EQ(attribute.type, type) << text;
    EXPECT_EQ(attribute.value, value) << text;
    EXPECT_THAT(attribute.shape, IsEmpty());
  };
  const auto int32 = Datatype::Integer(4, true);
  const auto int64 = Datatype::Integer(8, true);
  is("10", int32, 10);
  is("-2147483648", int32, INT32_MIN);
  is("0x10", int32, 16);
  is("2147483648", int64, 2147483648);
  is("9223372036854775808", Datatype::Integer(8, false), uint64_t{1} << 63);
  is("1.0", Datatype::Float64(), 1.0);
  is("1e5", Datatype::Float64(), 1e5);
  is("-.inf", Datatype::Float64(), -HUGE_VAL);
  is("true", Datatype::Bool(), "TRUE");
  is("False", Datatype::Bool(), "FALSE");
  is("yes", Datatype::String(), "yes");
  is("2008-12-31", Datatype::String(), "2008-12-31");
  is("12:30", Datatype::String(), "12:30");
  is("1_000", Datatype::String(), "1_000");
  is("\"10\"", Datatype::String(), "10");
  is("'true'", Datatype::String(), "true");
  is("!!str 10", Datatype::String(), "10");
  is("\"\"", Datatype::String(), "");
  is("Ηελλο ωορλδ", Datatype::String(), "Ηελλο ωορλδ");
}

TEST(NdlReaderTest, ShortAttributesThatAreNoScalars) {
  EXPECT_EQ(Errors("attributes: {a: [1, 2]}\n"),
            "1:17: /: attribute \"a\": expected a number, bool or text, found a list; anything "
            "else needs the keys shape, type and value\n");
  EXPECT_THAT(Errors("attributes: {a: }\n"), HasSubstr("found null; an empty text is \"\""));
  EXPECT_THAT(Errors("attributes: {a: !!binary AA==}\n"), HasSubstr("found binary; anything"));
  EXPECT_EQ(Errors("attributes: {a: 007}\n"),
            "1:17: /: attribute \"a\": 007 is ambiguous (some readers take it as octal; write "
            "it without the leading zero), or write it in quotes\n");
  EXPECT_EQ(
      Errors("attributes: {a: 99999999999999999999}\n"),
      "1:17: /: attribute \"a\": 99999999999999999999 does not fit any integer datatype\n");
  EXPECT_EQ(Errors("attributes: {a: 1e999}\n"),
            "1:17: /: attribute \"a\": 1e999 does not fit float64\n");
}

TEST(NdlReaderTest, FullAttributes) {
  const Attribute attribute = ReadAttribute(
      "{shape: [2], type: string, x-format: json, value: [\"[1]\", x], "
      "storage: {endian: big, charset: ascii}}");
  EXPECT_EQ(attribute.shape, std::vector<uint64_t>{2});
  EXPECT_EQ(attribute.value, (Value::List{"[1]", "x"}));
  EXPECT_TRUE(attribute.json);
  EXPECT_EQ(attribute.storage.endian, ByteOrder::kBig);
  EXPECT_EQ(attribute.storage.charset, "ascii");
}

TEST(NdlReaderTest, FullAttributesNeedShapeTypeAndValue) {
  EXPECT_EQ(
      Errors("attributes:\n  a:\n    tpye: int8\n"),
      "3:5: /: attribute \"a\": unknown key \"tpye\" (did you mean type?), expected shape, "
      "type, value or storage\n"
      "3:5: /: attribute \"a\": the key \"shape\" is missing\n"
      "3:5: /: attribute \"a\": the key \"type\" is missing\n"
      "3:5: /: attribute \"a\": the key \"value\" is missing\n");
  EXPECT_EQ(Errors("attributes: {a: {shape: [x], type: int8, value: [1]}}\n"),
            "1:26: /: attribute \"a\": shape: expected an integer, found \"x\"\n");
  EXPECT_EQ(Errors("attributes: {a: {shape: [null], type: int8, value: [1]}}\n"),
            "1:26: /: attribute \"a\": shape: expected an integer, found null\n");
  EXPECT_EQ(
      Errors("attributes: {a: {shape: [], type: int8, value: 1, storage: {chunk: []}}}\n"),
      "1:61: /: attribute \"a\": storage: unknown key \"chunk\", expected endian or "
      "charset\n");
}

// --- Datatypes

TEST(NdlReaderTest, Datatypes) {
  EXPECT_EQ(ReadType("string"), Datatype::String());
  EXPECT_EQ(ReadType("uint16"), Datatype::Integer(2, false));
  EXPECT_EQ(ReadType("float64"), Datatype::Float64());
  EXPECT_EQ(ReadType("bfloat16"), Datatype::Float("bfloat16", 2));
  EXPECT_EQ(ReadType("objref"), Datatype::ObjectRef());
  EXPECT_EQ(ReadType("{opaque: {size: 64000, tag: image/png}}"),
            Datatype::Opaque(64000, "image/png"));
  EXPECT_EQ(ReadType("{opaque: {size: 3}}"), Datatype::Opaque(3));
  EXPECT_EQ(
      ReadType("{enum: {base: int8, members: {UP: 0, DOWN: 25, CENTER: -120}}}"),
      Datatype::Enum(Datatype::Integer(1, true), {{"UP", 0}, {"DOWN", 25}, {"CENTER", -120}}));
  EXPECT_EQ(ReadType("{enum: {base: int8, members: {FALSE: 0, TRUE: 1}}}"), Datatype::Bool());
  EXPECT_EQ(ReadType("{regref: {selection: element}}"),
            Datatype::RegionRef(Datatype::Selection::kElement));
  EXPECT_EQ(ReadType("{compound: [{r: float64}, {i: float64}]}"), Datatype::Complex(16));
  EXPECT_EQ(ReadType("{vlen: {base: {array: {base: uint8, shape: [2, 3]}}}}"),
            Datatype::Vlen(Datatype::Array(Datatype::Integer(1, false), {2, 3})));
  EXPECT_EQ(ReadType("{compound: [{t: int64, x-datetime: {unit: ns, scale: 5}}]}"),
            Datatype::PackedCompound({{"t", Datatype::Time({"ns", 5, false})}}));
  EXPECT_EQ(ReadType("{compound: [{x-datetime: int8}]}"),
            Datatype::PackedCompound({{"x-datetime", Datatype::Integer(1, true)}}));
}

TEST(NdlReaderTest, EnumsWithoutBaseTakeTheSmallest) {
  const auto base = [](std::string_view members) {
    return ReadType("{enum: {members: {" + std::string(members) + "}}}").base().keyword();
  };
  EXPECT_EQ(base("OFF: 0, ON: 1, UNDEFINED: 255"), "uint8");
  EXPECT_EQ(base("A: 256"), "uint16");
  EXPECT_EQ(base("A: -1, B: 127"), "int8");
  EXPECT_EQ(base("A: -1, B: 128"), "int16");
  EXPECT_EQ(base("A: -129"), "int16");
  EXPECT_EQ(base("A: 4294967295"), "uint32");
  EXPECT_EQ(base("A: -1, B: 4294967295"), "int64");
  EXPECT_EQ(base("A: 18446744073709551615"), "uint64");
  EXPECT_EQ(TypeErrors("{enum: {members: {A: -1, B: 9223372036854775808}}}"),
            "4:26: /a: type: enum: no integer datatype holds all of the constants\n");
}

TEST(NdlReaderTest, DatatypesThatAreNone) {
  EXPECT_EQ(TypeErrors("[int8]"), "4:9: /a: type: expected a datatype, found a list\n");
  EXPECT_EQ(TypeErrors("opaque"),
            "4:9: /a: type: the datatype opaque needs a description, expected {opaque: ...}\n");
  EXPECT_EQ(TypeErrors("{vlen: {base: int8}, array: {}}"),
            "4:9: /a: type: expected a mapping of one key, the kind of the datatype (opaque, "
            "enum, regref, compound, vlen or array)\n");
  EXPECT_EQ(TypeErrors("{struct: []}"),
            "4:10: /a: type: struct: unknown kind of datatype, expected opaque, enum, regref, "
            "compound, vlen or array\n");
  EXPECT_EQ(TypeErrors("{opaque: {size: -1}}"),
            "4:25: /a: type: opaque: expected an integer of at least 0, found -1\n");
  EXPECT_EQ(TypeErrors("{opaque: {size: 300000000000000}}"),
            "4:25: /a: type: opaque: an element of more than 281474976710656 bytes\n");
  EXPECT_EQ(TypeErrors("{opaque: {tag: x}}"),
            "4:18: /a: type: opaque: the key \"size\" is missing\n");
  EXPECT_EQ(TypeErrors("{enum: {base: int8, members: {A: 128}}}"),
            "4:42: /a: type: enum: member \"A\": 128 does not fit int8 (-128 to 127)\n");
  EXPECT_EQ(TypeErrors("{enum: {base: float32, members: {A: 1}}}"),
            "4:23: /a: type: enum: expected an integer datatype as base, found \"float32\"\n");
  EXPECT_EQ(TypeErrors("{enum: {members: {A: x}}}"),
            "4:30: /a: type: enum: member \"A\": expected an integer, found \"x\"\n");
  EXPECT_EQ(TypeErrors("{enum: {members: {A: 1, A: 2}}}"),
            "4:33: /a: type: enum: the key \"A\" occurs twice, first on line 4\n");
  EXPECT_EQ(TypeErrors("{regref: {selection: all}}"),
            "4:30: /a: type: regref: selection: expected block or element, found \"all\"\n");
  EXPECT_EQ(TypeErrors("{compound: {x: int8}}"),
            "4:20: /a: type: compound: expected a list of members, each written as \"- name: "
            "datatype\", found a mapping\n");
  EXPECT_EQ(TypeErrors("{compound: [{x: int8, y: int8}]}"),
            "4:31: /a: type: compound: expected each member as a list item of its own\n");
  EXPECT_EQ(TypeErrors("{compound: [{x: int8}, {x: int8}]}"),
            "4:32: /a: type: compound: the member \"x\" occurs twice\n");
  EXPECT_EQ(TypeErrors("{compound: [x]}"),
            "4:21: /a: type: compound: expected a mapping, found \"x\"\n");
  EXPECT_EQ(TypeErrors("{array: {base: int8, shape: [281474976710656, 2]}}"),
            "4:37: /a: type: array: shape: an element of more than 281474976710656 bytes\n");
  EXPECT_EQ(TypeErrors("{array: {base: int8}}"),
            "4:17: /a: type: array: the key \"shape\" is missing\n");
  EXPECT_EQ(TypeErrors("{enum: {OFF: 0}}"),
            "4:16: /a: type: enum: the key \"members\" is missing, expected members: {NAME: N, "
            "...}\n4:17: /a: type: enum: unknown key \"OFF\", expected base or members\n");
  EXPECT_THAT(TypeErrors("null"), HasSubstr("expected a datatype, found null"));
}

TEST(NdlReaderTest, WordsOfOtherLanguagesAreTranslated) {
  const auto expected = [](std::string_view type) {
    const std::string text = TypeErrors(type);
    const size_t at = text.find(", expected ");
    return at == std::string::npos ? text : text.substr(at + 11);
  };
  EXPECT_EQ(TypeErrors("double"),
            "4:9: /a: type: NDL has no datatype \"double\", expected float64\n");
  EXPECT_EQ(expected("float"), "float32 or float64\n");
  EXPECT_EQ(expected("char"), "string\n");
  EXPECT_EQ(expected("<i4"), "int32\n");
  EXPECT_EQ(expected("f8"), "float64\n");
  EXPECT_EQ(expected("\"|S10\""), "string\n");
  EXPECT_EQ(expected("bool"), "{enum: {base: int8, members: {\"FALSE\": 0, \"TRUE\": 1}}}\n");
  EXPECT_EQ(expected("complex64"), "{compound: [{r: float32}, {i: float32}]}\n");
  EXPECT_EQ(expected("datetime64[ns]"), "int64, with x-datetime: {unit: s} next to the type\n");
  // Those that are to be written can be read.
  ReadType(R"({enum: {base: int8, members: {"FALSE": 0, "TRUE": 1}}})");
  ReadType("{compound: [{r: float32}, {i: float32}]}");
  ReadType("int64, x-datetime: {unit: s}");
  EXPECT_THAT(Errors("dimensions: {}\nvariables: {}\n"),
              testing::AllOf(HasSubstr("\"dimensions\" (did you mean dimcoords?)"),
                             HasSubstr("\"variables\" (did you mean ndarrays?)")));
  EXPECT_THAT(Errors("ndarrays: {a: {dims: [2], shape: [2], type: int8, attrs: {}}}"),
              testing::AllOf(HasSubstr("\"dims\" (did you mean shape?)"),
                             HasSubstr("\"attrs\" (did you mean attributes?)")));
}

TEST(NdlReaderTest, DatatypesNestSixtyFourDeep) {
  const auto nested = [](int depth) {
    std::string type = "int8";
    for (int i = 1; i < depth; ++i) type = "{vlen: {base: " + type + "}}";
    return type;
  };
  EXPECT_EQ(ReadType(nested(64)).depth(), 64);
  EXPECT_THAT(
      TypeErrors(nested(65)),
      HasSubstr("vlen: ...: vlen: vlen: vlen: vlen: vlen: datatypes nested more than 64 "
                "deep\n"));
}

TEST(NdlReaderTest, TimesAreInt64) {
  const File file = Read(
      "ndarrays: {a: {shape: [], type: int64, x-timedelta: {unit: s}}, "
      "b: {shape: [], type: int64, x-datetime: {unit: generic, scale: 2}}}\n");
  EXPECT_EQ(file.root.ndarrays[0].type, Datatype::Time({"s", 1, true}));
  EXPECT_EQ(file.root.ndarrays[1].type, Datatype::Time({"generic", 2, false}));
  EXPECT_THAT(
      Errors("ndarrays: {a: {shape: [], type: int32, x-datetime: {unit: s}}}\n"),
      HasSubstr("/a: type: expected int64, the type that stores a datetime or timedelta, "
                "found int32"));
  EXPECT_THAT(Errors("ndarrays: {a: {shape: [], type: int64, x-datetime: {unit: sec}}}\n"),
              HasSubstr("x-datetime: expected Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as or "
                        "generic, found \"sec\""));
  EXPECT_THAT(
      Errors("ndarrays: {a: {shape: [], type: int64, x-datetime: {unit: s, scale: 0}}}\n"),
      HasSubstr("expected an integer of at least 1, found 0"));
}

// --- Shapes

TEST(NdlReaderTest, ReferencesMeanTheNearestCoordinate) {
  const File file = Read(R"(
/:
  dimcoords: {x: {size: 2, type: int8}, y: {size: null, type: int8}}
/g:
  dimcoords: {x: {size: 3, type: int8}}
/g/h:
  ndarrays:
    near: {shape: [x, y, 7, null], type: int8}
    far: {shape: [/x, /g/x], type: int8}
)");
  const Group& h = file.root.groups[0].groups[0];
  EXPECT_EQ(h.ndarrays[0].shape, (Shape{{3, "/g/x"}, {std::nullopt, "/y"}, {7, ""}, {}}));
  EXPECT_THAT(h.ndarrays[0].dimension_names, ElementsAre("x", "y", "", ""));
  EXPECT_EQ(h.ndarrays[1].shape, (Shape{{2, "/x"}, {3, "/g/x"}}));
}

TEST(NdlReaderTest, ReferencesThatNumbersAndNullWouldBeAreQuoted) {
  const File file = Read(
      "dimcoords: {\"10\": {size: 2, type: int8}, \"null\": {size: 3, type: int8}}\n"
      "ndarrays: {a: {shape: [\"10\", 10, \"null\", null], type: int8}}\n");
  EXPECT_EQ(file.root.ndarrays[0].shape, (Shape{{2, "/10"}, {10, ""}, {3, "/null"}, {}}));
}

TEST(NdlReaderTest, ReferencesWithoutACoordinate) {
  const auto errors = [](std::string_view shape) {
    return Errors(
        "/: {dimcoords: {lat: {size: 2, type: int8}}}\n/g:\n  ndarrays:\n"
        "    a: {type: int8, shape: " +
        std::string(shape) + "}\n");
  };
  EXPECT_EQ(
      errors("[lta]"),
      "4:29: /g/a: shape: no dimension coordinate \"lta\" in this group or a group around it "
      "(did you mean lat?)\n");
  EXPECT_EQ(errors("[/lon]"), "4:29: /g/a: shape: \"/lon\" is not a dimension coordinate\n");
  EXPECT_EQ(errors("[/g/a]"),
            "4:29: /g/a: shape: \"/g/a\" is an ndarray, expected a dimension coordinate\n");
  EXPECT_EQ(errors("[/g]"),
            "4:29: /g/a: shape: \"/g\" is a group, expected a dimension coordinate\n");
  EXPECT_EQ(errors("[-1]"), "4:29: /g/a: shape: expected an integer of at least 0, found -1\n");
  EXPECT_EQ(errors("[1.5]"), "4:29: /g/a: shape: expected an integer, found \"1.5\"\n");
  EXPECT_EQ(errors("[9223372036854775808]"),
            "4:29: /g/a: shape: 9223372036854775808 is too large, expected less than 2^63\n");
  EXPECT_EQ(
      errors("[[1]]"),
      "4:29: /g/a: shape: expected an integer, null or the name of a dimension coordinate, "
      "found a list\n");
  EXPECT_EQ(errors("10"),
            "4:28: /g/a: shape: expected a list of integers, null and names of dimension "
            "coordinates, such as [10, lat], found \"10\"\n");
  EXPECT_EQ(errors("[4294967296, 4294967296]"), "4:28: /g/a: shape: 2^63 elements or more\n");
}

TEST(NdlReaderTest, CoordinatesOutsideOfTheDocumentNeedTheExtent) {
  const File file =
      Read("/g: {ndarrays: {a: {shape: [/time, x, 5], x-extent: [null, 2, 5], type: int8}}}\n");
  EXPECT_EQ(file.root.groups[0].ndarrays[0].shape,
            (Shape{{std::nullopt, "/time"}, {2, "/g/x"}, {5, ""}}));
  EXPECT_THAT(Errors("ndarrays: {a: {shape: [x, 5], x-extent: [2, 6], type: int8}}\n"),
              HasSubstr("x-extent: 6 along dimension 2, expected 5 as in the shape"));
  EXPECT_THAT(Errors("ndarrays: {a: {shape: [x, 5], x-extent: [2], type: int8}}\n"),
              HasSubstr("x-extent: expected a list of 2 integers or null"));
}

TEST(NdlReaderTest, CoordinatesThatTheDocumentShouldHaveAreNotElsewhere) {
  EXPECT_EQ(Errors("ndarrays:\n  b: {shape: [4], type: int8}\n"
                   "  a: {shape: [b, b], x-extent: [4, 4], type: int8}\n"),
            "3:15: /a: shape: \"b\" is an ndarray, expected a dimension coordinate\n"
            "3:18: /a: shape: \"b\" is an ndarray, expected a dimension coordinate\n");
  EXPECT_EQ(Errors("/g: {attributes: {u: 1}, ndarrays: {a: {shape: [/g/x], x-extent: [2], "
                   "type: int8}}}\n"),
            "1:49: /g/a: shape: \"/g/x\" is not a dimension coordinate\n");
  // Of a group: what is in groups around it is elsewhere.
  Read(
      "/g: {attributes: {u: 1}, ndarrays: {a: {shape: [/x], x-extent: [2], type: int8}}}\n"
      "/g/h: {ndarrays: {b: {shape: [/gh/x], x-extent: [2], type: int8}}}\n");
}

TEST(NdlReaderTest, LayoutsAreKept) {
  const File file = Read(
      "ndarrays:\n  a:\n    shape: []\n    type: {compound: [{t: string}, {n: {array: {base: "
      "string, shape: [2]}}}, {i: int8}]}\n    x-layout: {size: 16, members: {t: {offset: 0, "
      "size: 3, charset: ascii}, n: {offset: 4, size: 8, item: {size: 4, charset: utf-32}}, i: "
      "{offset: 12, size: 1}}}\n");
  const Layout& layout = *file.root.ndarrays[0].layout;
  EXPECT_EQ(layout.size, 16u);
  ASSERT_THAT(layout.members, SizeIs(3));
  EXPECT_EQ(layout.members[0].layout.charset, Charset::kAscii);
  EXPECT_EQ(layout.members[1].offset, 4u);
  EXPECT_EQ(layout.members[1].layout.item.at(0).charset, Charset::kUtf32);
  EXPECT_EQ(layout.members[2].layout.size, 1u);
}

TEST(NdlReaderTest, LayoutsThatAreNotOfTheType) {
  const auto errors = [](std::string_view type, std::string_view layout) {
    const std::string text = Errors("ndarrays: {a: {shape: [], type: " + std::string(type) +
                                    ",\n  x-layout: " + std::string(layout) + "}}\n");
    const size_t colon = text.find("x-layout: ");
    return colon == std::string::npos ? text : text.substr(colon + 10);
  };
  const std::string_view xy = "{compound: [{x: int8}, {y: int8}]}";
  EXPECT_EQ(errors("string", "{}"), "the key \"size\" is missing\n");
  EXPECT_EQ(errors("string", "{size: -1}"), "expected an integer of at least 0, found -1\n");
  EXPECT_EQ(errors("string", "{size: 1, charset: latin}"),
            "expected ascii, utf-8, utf-32 or iso-8859-1, found \"latin\"\n");
  EXPECT_EQ(errors("int8", "{size: 1, charset: ascii}"),
            "the key \"charset\" for the datatype int8\n");
  EXPECT_EQ(errors("string", "{size: 1, item: {size: 1}}"),
            "the key \"item\" for the datatype string\n");
  EXPECT_EQ(errors(xy, "{size: 2, members: {x: {offset: 0, size: 1}}}"),
            "1 members, expected 2 as in the type\n");
  EXPECT_EQ(
      errors(xy, "{size: 2, members: {x: {offset: 0, size: 1}, z: {offset: 1, size: 1}}}"),
      "expected the member \"y\" of the type, found \"z\"\n");
  EXPECT_EQ(
      errors(xy, "{size: 2, members: {x: {offset: 2, size: 1}, y: {offset: 1, size: 1}}}"),
      "member \"x\": the member ends after the 2 bytes of the element\n");
  EXPECT_EQ(errors(xy, "{size: 2, members: {x: {size: 1}, y: {offset: 1, size: 1}}}"),
            "member \"x\": the key \"offset\" is missing\n");
}

TEST(NdlReaderTest, LinksAndSecondNamesAreKept) {
  const File file = Read(
      "/:\n  x-links: {now: /runs/2, other: {file: o.h5, path: /x}}\n  ndarrays:\n    a: "
      "{shape: "
      "[], type: int8}\n    b: {shape: [], type: int8, x-same-as: /a}\n/g: {x-same-as: /}\n");
  EXPECT_EQ(file.root.links,
            (std::vector<NamedLink>{{"now", "/runs/2", ""}, {"other", "/x", "o.h5"}}));
  EXPECT_EQ(file.root.ndarrays[1].same_as, "/a");
  EXPECT_EQ(file.root.groups[0].same_as, "/");
  EXPECT_EQ(Errors("/: {x-links: {a: [1]}}\n"),
            "1:18: /: x-links: a: expected text, found a list\n");
  EXPECT_EQ(Errors("/: {x-links: {a: {path: /x}}}\n"),
            "1:18: /: x-links: a: the key \"file\" is missing\n");
  EXPECT_EQ(Errors("/: {x-same-as: g}\n"),
            "1:16: /: x-same-as: expected a path name that begins with \"/\", found \"g\"\n");
}

TEST(NdlReaderTest, ValuesAreThoseThatAreStored) {
  EXPECT_THAT(
      *Read("dimcoords: {x: {size: 10, type: int8, value: [1, 2], storage: {size: 2}}}\n")
           .root.dimcoords[0]
           .value->list(),
      SizeIs(2));
  const std::string array =
      "ndarrays: {a: {shape: [2, 3], storage: {shape: [1, 2]}, type: int8, value: ";
  Read(array + "[[1, 2]]}}\n");
  Read(array + "[[1, 2, 3], [4, 5, 6]]}}\n");
  EXPECT_THAT(Errors(array + "[[1]]}}\n"),
              HasSubstr("expected a list of 3 values along dimension 2 of 2, found 1"));
}

TEST(NdlReaderTest, ValuesWithoutElementsMayBeOneEmptyList) {
  for (const char* value : {"[]", "[[], []]"}) {
    Read("ndarrays: {a: {shape: [2, 0], type: int8, value: " + std::string(value) + "}}\n");
  }
  EXPECT_THAT(Errors("ndarrays: {a: {shape: [0, 2], type: int8, value: [[]]}}\n"),
              HasSubstr("expected a list of 0 values along dimension 1 of 2, found 1"));
}

TEST(NdlReaderTest, EnumsMayHoldNumbersWithoutAName) {
  const File file = Read(
      "ndarrays: {a: {shape: [2], type: {enum: {base: int8, members: {UP: 1}}}, value: [1, "
      "7]}}\n");
  EXPECT_EQ(*file.root.ndarrays[0].value, Value(Value::List{"UP", 7}));
}

TEST(NdlReaderTest, DimensionNames) {
  const File file = Read(
      "dimcoords: {x: {size: 2, type: int8, x-dims: [lon]}}\n"
      "ndarrays: {a: {shape: [3, x], x-dims: [y, null], type: int8}, "
      "b: {shape: [3], type: int8}}\n");
  EXPECT_THAT(file.root.dimcoords[0].dimension_names, ElementsAre("lon"));
  EXPECT_THAT(file.root.ndarrays[0].dimension_names, ElementsAre("y", ""));
  EXPECT_THAT(file.root.ndarrays[1].dimension_names, IsEmpty());
  EXPECT_THAT(Errors("ndarrays: {a: {shape: [3], x-dims: [y, x], type: int8}}\n"),
              HasSubstr("/a: x-dims: expected a list of 1 names or null"));
}

TEST(NdlReaderTest, SizesOfCoordinatesAreIntegersOrNull) {
  EXPECT_EQ(Errors("dimcoords: {x: {size: -1, type: int8}}\n"),
            "1:23: /x: size: expected an integer of at least 0, found -1\n");
  EXPECT_EQ(Read("dimcoords: {x: {size: 0, type: int8, value: []}}\n").root.dimcoords[0].size(),
            0u);
  EXPECT_EQ(
      Errors("dimcoords: {x: {size: unlimited, type: int8}}\n"),
      "1:23: /x: size: expected an integer, or null for unlimited, found \"unlimited\"\n");
  EXPECT_EQ(Errors("dimcoords: {x: {type: int8}}\n"),
            "1:16: /x: the key \"size\" is missing\n");
  EXPECT_EQ(Errors("dimcoords: {x: {size: 2, shape: [2], type: int8}}\n"),
            "1:26: /x: unknown key \"shape\", expected size, type, value, attributes or "
            "storage\n");
  EXPECT_FALSE(Read("dimcoords: {x: {size: null, type: int8}}\n").root.dimcoords[0].size());
}

// --- Values

TEST(NdlReaderTest, Values) {
  EXPECT_EQ(ReadValue("int8", "-128"), Value(-128));
  EXPECT_EQ(ReadValue("float32", "0.1"), Value(double{0.1f}));
  EXPECT_EQ(ReadValue("float32", "1"), Value(1.0));
  EXPECT_EQ(ReadValue("float16", "0.3333"), Value(0.333251953125));
  EXPECT_EQ(ReadValue("string", "10"), Value("10"));
  EXPECT_EQ(ReadValue("string", "\"a\\tb\\u00e9\""), Value("a\tbé"));
  EXPECT_EQ(ReadValue("{opaque: {size: 3}}", "!!binary AQID"),
            Value(Blob{std::byte{1}, std::byte{2}, std::byte{3}}));
  EXPECT_EQ(ReadValue("{opaque: {size: 3}}", "!!binary AQ=="), Value(Blob{std::byte{1}}));
  EXPECT_EQ(ReadValue("{enum: {members: {UP: 3}}}", "UP"), Value("UP"));
  EXPECT_EQ(ReadValue("{enum: {members: {UP: 3}}}", "3"), Value("UP"));
  EXPECT_EQ(ReadValue("{enum: {base: int8, members: {FALSE: 0, TRUE: 1}}}", "true"),
            Value("TRUE"));
  EXPECT_EQ(ReadValue("objref", "/a/b"), Value("/a/b"));
  EXPECT_EQ(ReadValue("objref", "null"), Value());
  EXPECT_EQ(ReadValue("{regref: {selection: block}}",
                      "{target: /a, start: [0, 1], opposite: [2, 3]}"),
            Value(Region{"/a", Datatype::Selection::kBlock, {{0, 1}, {2, 3}}}));
  EXPECT_EQ(ReadValue("{regref: {selection: element}}", "{target: /a, elements: [[0], [2]]}"),
            Value(Region{"/a", Datatype::Selection::kElement, {{0}, {2}}}));
  EXPECT_EQ(ReadValue("{compound: [{x: int8}, {y: string}]}", "{y: a, x: 1}"),
            Value(Value::Map{{"x", 1}, {"y", "a"}}));
  EXPECT_EQ(ReadValue("{vlen: {base: int8}}", "[1, 2]"), Value(Value::List{1, 2}));
  EXPECT_EQ(ReadValue("{array: {base: int8, shape: [1, 2]}}", "[[1, 2]]"),
            Value(Value::List{Value(Value::List{1, 2})}));
}

TEST(NdlReaderTest, ValuesAlongUnlimitedDimensions) {
  const File file =
      Read("ndarrays: {a: {shape: [null, 2], type: int8, value: [[1, 2], [3, 4], [5, 6]]}}\n");
  EXPECT_THAT(*file.root.ndarrays[0].value->list(), SizeIs(3));
  EXPECT_EQ(
      ValueErrors("[null, null]", "int8", "[[1, 2], [3]]"),
      "5:19: /a: value[1]: expected a list of 2 values along dimension 2 of 2, found 1\n");
  EXPECT_EQ(
      Errors("dimcoords:\n  x: {size: null, type: int8, value: [1], storage: {size: 2}}\n"),
      "2:38: /x: value: expected a list of 2 values, found 1\n");
  // Another array has more along the dimension: what is not stored is filled.
  const File padded =
      Read("dimcoords:\n  x: {size: null, type: int8, value: [1, 2], storage: {size: 1}}\n");
  EXPECT_THAT(*padded.root.dimcoords[0].value->list(), SizeIs(2));
  EXPECT_EQ(padded.root.dimcoords[0].storage.size, 1);
}

TEST(NdlReaderTest, ValuesThatDoNotFitTheShape) {
  EXPECT_EQ(ValueErrors("[2]", "int8", "[1]"),
            "5:10: /a: value: expected a list of 2 values, found 1\n");
  EXPECT_EQ(ValueErrors("[2]", "int8", "1"),
            "5:10: /a: value: expected a list of 2 values, found \"1\"\n");
  EXPECT_EQ(ValueErrors("[]", "int8", "[1]"),
            "5:10: /a: value: expected an integer, found a list\n");
  EXPECT_EQ(ValueErrors("[2, 2]", "int8", "[[1, 2], 3]"),
            "5:19: /a: value[1]: expected a list of 2 values, found \"3\"\n");
}

TEST(NdlReaderTest, ValuesThatDoNotFitTheType) {
  const auto errors = [](std::string_view type, std::string_view value) {
    const std::string text = ValueErrors("[]", type, value);
    constexpr std::string_view kPrefix = "5:10: /a: value: ";
    return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
  };
  EXPECT_EQ(errors("int8", "300"), "300 does not fit int8 (-128 to 127)\n");
  EXPECT_EQ(errors("uint8", "-1"), "-1 does not fit uint8 (0 to 255)\n");
  EXPECT_EQ(errors("int8", "1.0"), "expected an integer, found \"1.0\"\n");
  EXPECT_EQ(errors("int8", "\"1\""), "expected an integer, found the text \"1\"\n");
  EXPECT_EQ(errors("int8", "010"),
            "expected an integer, found \"010\" (some readers take it as octal; write it "
            "without the leading zero)\n");
  EXPECT_EQ(errors("float32", "1e39"), "1e39 does not fit float32\n");
  EXPECT_EQ(errors("float8_e4m3fn", "500"), "500.0 does not fit float8_e4m3fn\n");
  EXPECT_EQ(errors("float32", "one"), "expected a number, found \"one\"\n");
  EXPECT_EQ(errors("float32", "NaN"), "expected a number, found \"NaN\" (YAML writes .nan)\n");
  EXPECT_EQ(errors("float64", "-inf"),
            "expected a number, found \"-inf\" (YAML writes -.inf)\n");
  EXPECT_EQ(errors("float32", "null"), "expected a number, found null\n");
  EXPECT_EQ(errors("float128", "1.0"), "expected !!binary, found \"1.0\"\n");
  EXPECT_EQ(errors("string", "null"), "expected text, found null\n");
  EXPECT_EQ(errors("string", "!!binary AA=="), "expected text, found binary\n");
  EXPECT_EQ(errors("{opaque: {size: 1}}", "!!binary AAAA"), "3 bytes, expected 1\n");
  EXPECT_EQ(errors("{opaque: {size: 1}}", "!!binary A"),
            "this is not base64 (letters, digits, + and /, = at the end)\n");
  EXPECT_EQ(errors("{opaque: {size: 1}}", "AA=="), "expected !!binary, found \"AA==\"\n");
  EXPECT_EQ(
      errors("{enum: {members: {UP: 0, DOWN: 1}}}", "DWON"),
      "\"DWON\" is not a constant of the enum (did you mean DOWN?), expected UP or DOWN\n");
  EXPECT_EQ(errors("{enum: {members: {UP: 0, DOWN: 1}}}", "\"2\""),
            "\"2\" is not a constant of the enum, expected UP or DOWN\n");
  EXPECT_EQ(errors("{enum: {members: {UP: 0, DOWN: 1}}}", "256"),
            "256 does not fit uint8 (0 to 255)\n");
  EXPECT_EQ(errors("objref", "a"),
            "expected a path name that begins with \"/\", or null, found \"a\"\n");
  EXPECT_EQ(errors("{compound: [{x: int8}]}", "[1]"),
            "expected a mapping of the members, found a list\n");
  EXPECT_EQ(errors("{compound: [{x: int8}]}", "{}"), "the member \"x\" is missing\n");
  EXPECT_EQ(ValueErrors("[]", "{compound: [{x: int8}]}", "{x: 300}"),
            "5:14: /a: value: member \"x\": 300 does not fit int8 (-128 to 127)\n");
  EXPECT_EQ(ValueErrors("[]", "{compound: [{lat: int8}]}", "{lat: 3, lta: 1}"),
            "5:19: /a: value: \"lta\" is not a member of the compound (did you mean lat?)\n");
  EXPECT_EQ(errors("{vlen: {base: int8}}", "1"), "expected a list, found \"1\"\n");
  EXPECT_EQ(errors("{array: {base: int8, shape: [2]}}", "[1]"),
            "expected a list of 2 values, found 1\n");
}

TEST(NdlReaderTest, RegionsThatAreNone) {
  const auto errors = [](std::string_view selection, std::string_view value) {
    return ValueErrors("[]", "{regref: {selection: " + std::string(selection) + "}}", value);
  };
  EXPECT_EQ(errors("block", "{target: /a, start: [0]}"),
            "5:10: /a: value: the key \"opposite\" is missing\n");
  EXPECT_EQ(errors("block", "{target: /a, start: [0], opposite: [1, 2]}"),
            "5:45: /a: value: 2 indices, expected 1 as in \"start\"\n");
  EXPECT_EQ(errors("block", "{target: a, start: [0], opposite: [1]}"),
            "5:19: /a: value: expected a path name that begins with \"/\", found \"a\"\n");
  EXPECT_EQ(errors("element", "{target: /a, elements: [[0], [1, 2]]}"),
            "5:39: /a: value: 2 indices, expected 1 as in the first element\n");
  EXPECT_EQ(errors("element", "{target: /a, elements: 1}"),
            "5:33: /a: value: expected a list of elements, each a list of its indices, found "
            "\"1\"\n");
  EXPECT_EQ(errors("element", "{target: /a, start: [0], elements: []}"),
            "5:23: /a: value: unknown key \"start\", expected target or elements\n");
}

// --- Storage

TEST(NdlReaderTest, StorageDirectives) {
  const File file = Read(R"(
dimcoords:
  t: {size: null, type: float64, storage: {size: 31, chunk: [512]}}
ndarrays:
  a:
    shape: [null, 20]
    type: {compound: [{x: float32}]}
    storage:
      shape: [5, 20]
      chunk: [100, 20]
      filter: [shuffle, {zlib: {level: 5, name: x, list: [1, 2.5, null, true]}}, szip: {}]
      endian: big
      charset: utf-8
      fillvalue: {x: -999.0}
)");
  EXPECT_EQ(file.root.dimcoords[0].storage.size, 31u);
  const Storage& storage = file.root.ndarrays[0].storage;
  EXPECT_EQ(storage.shape, (std::vector<uint64_t>{5, 20}));
  EXPECT_EQ(storage.chunk, (std::vector<uint64_t>{100, 20}));
  const Value::Map parameters = {
      {"level", 5}, {"name", "x"}, {"list", Value::List{1, 2.5, Value(), "TRUE"}}};
  EXPECT_EQ(storage.filter,
            (std::vector<Filter>{{"shuffle", {}}, {"zlib", parameters}, {"szip", {}}}));
  EXPECT_EQ(storage.endian, ByteOrder::kBig);
  EXPECT_EQ(storage.fillvalue, Value(Value::Map{{"x", -999.0}}));
}

TEST(NdlReaderTest, StorageDirectivesThatDoNotFit) {
  const auto errors = [](std::string_view storage) {
    const std::string text =
        Errors("ndarrays:\n a:\n  shape: [10, 20]\n  type: int8\n  storage: {" +
               std::string(storage) + "}\n");
    const size_t colon = text.find("/a: storage: ");
    return colon == std::string::npos ? text : text.substr(colon + 13);
  };
  EXPECT_EQ(errors("shape: [10]"),
            "shape: a rank of 1, expected 2 as in the shape of the ndarray\n");
  EXPECT_EQ(errors("shape: [10, 21]"),
            "shape: 21 stored along dimension 2, expected at most 20\n");
  EXPECT_EQ(errors("chunk: [10]"),
            "chunk: a rank of 1, expected 2 as in the shape of the array\n");
  EXPECT_EQ(errors("chunk: [0, 1]"), "chunk: expected an integer of at least 1, found 0\n");
  EXPECT_EQ(errors("chunk: [4294967296, 4294967296]"), "chunk: 2^63 elements or more\n");
  EXPECT_EQ(errors("chunk: 10"), "chunk: expected a list of integers, found \"10\"\n");
  EXPECT_EQ(
      errors("size: 10"),
      "unknown key \"size\", expected shape, chunk, filter, endian, charset or fillvalue\n");
  EXPECT_EQ(errors("endian: middle"), "endian: expected little or big, found \"middle\"\n");
  EXPECT_EQ(errors("charset: [a]"), "charset: expected text, found a list\n");
  EXPECT_EQ(errors("fillvalue: 300"), "fillvalue: 300 does not fit int8 (-128 to 127)\n");
  EXPECT_EQ(errors("filter: shuffle"),
            "filter: expected a list of processes, found \"shuffle\"\n");
  EXPECT_EQ(errors("filter: [{a: {}, b: {}}]"),
            "filter[0]: expected the name of a process, or a mapping of it to its parameters, "
            "found a mapping\n");
  EXPECT_EQ(errors("filter: [a, {b: 1}]"), "filter[1]: b: expected a mapping, found \"1\"\n");
  EXPECT_EQ(Errors("dimcoords: {x: {size: 2, type: int8, storage: {size: 3}}}\n"),
            "1:54: /x: storage: size: 3 stored, expected at most 2\n");
  EXPECT_EQ(Errors("dimcoords: {x: {size: 2, type: int8, storage: []}}\n"),
            "1:47: /x: storage: expected a mapping, found a list\n");
}

// --- Hostile documents

TEST(NdlReaderTest, RefusesMoreThanItCanHold) {
  std::string text = "? /" + std::string(60'000, 'n') +
                     "\n:\n dimcoords: {x: {size: 1, type: int8}}\n ndarrays:\n";
  for (int i = 0; i < 1000; ++i) {
    text += "  a" + std::to_string(i) + ": {type: int8, shape: [x, x, x, x, x]}\n";
  }
  EXPECT_THAT(Errors(text), HasSubstr("path names of references that add up to more than "
                                      "268435456 bytes"));
}

// Each in time that grows with its length: what is looked for among many is
// not looked for one by one.
// Work that grows with the square of the members would run into the time limit of the test run.
TEST(NdlReaderTest, TypesOf10000MembersAreRead) {
  constexpr int kMany = 10'000;
  std::string constants, names, members, values, wrong;
  for (int i = 0; i < kMany; ++i) {
    const std::string number = std::to_string(i);
    constants += "C" + number + ": " + number + ", ";
    names += "C" + std::to_string(kMany - 1 - i) + ", ";
    members += "{m" + number + ": int8}, ";
    values += "m" + std::to_string(kMany - 1 - i) + ": 1, ";
    wrong += "n" + std::to_string(kMany - 1 - i) + ": 1, ";
  }
  Read("ndarrays: {a: {shape: [" + std::to_string(kMany) + "], type: {enum: {members: {" +
       constants + "}}}, value: [" + names + "]}}");
  const std::string compound =
      "ndarrays: {a: {shape: [], type: {compound: [" + members + "]}, value: {";
  Read(compound + values + "}}}");
  EXPECT_THAT(ReadNdl(compound + wrong + "}}}", "f").errors, SizeIs(101));
}

TEST(NdlReaderTest, AliasesAreReadWhereTheyStand) {
  const File file = Read("ndarrays:\n  a: &a {shape: [2], type: int8}\n  b: *a\n  c: *a\n");
  EXPECT_THAT(file.root.ndarrays, SizeIs(3));
  EXPECT_EQ(file.root.ndarrays[2].name, "c");
}

TEST(LooksLikeNdlTest, GoesByTheFirstKey) {
  for (const char* text :
       {"/:\n", "/: {}\n", "/group1:\n  a: 1\n", "attributes:\n",
        "# comment\n\n---\ndimcoords: {}\n", "{ndarrays: {}}", "\"/\": {}\n",
        "\xEF\xBB\xBF/:\r\n", "%YAML 1.2\n---\n/:\n", "'attributes': {}", "", "# only\n"}) {
    EXPECT_TRUE(LooksLikeNdl(text)) << text;
  }
  for (const char* text : {"version: 3\n", "- /a\n", "attributes_of: 1\n", "/usr/bin/env\n",
                           "name: /:\n", "attributes\n"}) {
    EXPECT_FALSE(LooksLikeNdl(text)) << text;
  }
}

}  // namespace
}  // namespace ndlfs::model
