// SPDX-License-Identifier: MIT
//
// numcodecs "json2" and "msgpack2".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/backends/codec/variable_testing.h"

namespace ndlfs::backends {
namespace {

using model::Datatype;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DocumentsTest, JsonElementsAreTheirJson) {
  const CodecChain chain =
      MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2, 2}, /*fortran=*/true);
  const auto stream =
      DecodeVariable(chain, AsBytes(R"([["a","b"],[{"k":[1,null]},2.5],"|O",[2,2]])"), {2, 2});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 4), ElementsAre(Text(R"("a")"), Text(R"("b")"),
                                                  Text(R"({"k":[1,null]})"), Text("2.5")));
}

TEST(DocumentsTest, TextsThatLookLikeOtherValuesAreToldApart) {
  const CodecChain json = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {6});
  const auto stream =
      DecodeVariable(json, AsBytes(R"(["true", true, "1", 1, "null", null, "|O", [6]])"), {6});
  ASSERT_TRUE(stream) << stream.error().message();
  const auto are_apart = ElementsAre(Text(R"("true")"), Text("true"), Text(R"("1")"), Text("1"),
                                     Text(R"("null")"), Text("null"));
  EXPECT_THAT(ElementsOf(*stream, 6), are_apart);
  // msgpack.packb(["true", True, "1", 1, "null", None, "|O", [6]])
  const CodecChain msgpack = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {6});
  const auto packed = DecodeVariable(
      msgpack, FromHex("98a474727565c3a13101a46e756c6cc0a27c4f9106").span(), {6});
  ASSERT_TRUE(packed) << packed.error().message();
  EXPECT_THAT(ElementsOf(*packed, 6), are_apart);
}

TEST(DocumentsTest, NumbersKeepAllTheirDigitsAndNaNIsNoNull) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {4});
  const auto stream = DecodeVariable(
      chain, AsBytes(R"([12345678901234567890123, NaN, null, 0.1, "|O", [4]])"), {4});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 4), ElementsAre(Text("12345678901234567890123"), Text("NaN"),
                                                  Text("null"), Text("0.1")));
}

TEST(DocumentsTest, AnArrayWithoutDimensionsIsAListOfOne) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {});
  const auto stream = DecodeVariable(chain, AsBytes(R"(["a","|O",[]])"), {});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 1), ElementsAre(Text(R"("a")")));
}

TEST(DocumentsTest, JsonNumbersAreElementsOfFixedSize) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::Float32(), {3});
  const auto values = Decode<float>(chain, AsBytes(R"([1.5,NaN,-3,"<f4",[3]])"), {3});
  ASSERT_TRUE(values) << values.error().message();
  EXPECT_EQ((*values)[0], 1.5f);
  EXPECT_TRUE(std::isnan((*values)[1]));
  EXPECT_EQ((*values)[2], -3.0f);
  const CodecChain bools = MakeZarr2(R"([{"id": "json2"}])", Datatype::Bool(), {2});
  EXPECT_THAT(*Decode<uint8_t>(bools, AsBytes(R"([true,false,"|b1",[2]])"), {2}),
              ElementsAre(1, 0));
}

TEST(DocumentsTest, MessagePackIsReadLikewise) {
  // msgpack.packb(["foo", 7, {"a": b"x"}, "|O", [3]])
  const CodecChain chain = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {3});
  const auto stream =
      DecodeVariable(chain, FromHex("95a3666f6f0781a161c40178a27c4f9103").span(), {3});
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_THAT(ElementsOf(*stream, 3),
              ElementsAre(Text(R"("foo")"), Text("7"),
                          Text(R"({"a":{"$binary":{"base64":"eA==","subType":"00"}}})")));
}

TEST(DocumentsTest, BytesOfMessagePackAreNoText) {
  // msgpack.packb(["x", b"x", "|O", [2]]), then text that is no UTF-8.
  const CodecChain chain = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {2});
  const auto bytes = DecodeVariable(chain, FromHex("94a178c40178a27c4f9102").span(), {2});
  ASSERT_TRUE(bytes) << bytes.error().message();
  const std::string binary = R"({"$binary":{"base64":"eA==","subType":"00"}})";
  EXPECT_THAT(ElementsOf(*bytes, 2), ElementsAre(Text(R"("x")"), Text(binary)));
  const auto latin1 = DecodeVariable(chain, FromHex("94a1e9a2c3a9a27c4f9102").span(), {2});
  ASSERT_TRUE(latin1) << latin1.error().message();
  EXPECT_THAT(ElementsOf(*latin1, 2),
              ElementsAre(Text(R"({"$binary":{"base64":"6Q==","subType":"00"}})"),
                          Text("\"\xc3\xa9\"")));
  EXPECT_THAT(VariableFailure(chain, FromHex("9481a1e90101a27c4f9102").span(), {2}),
              HasSubstr("a key that is not UTF-8"));
}

TEST(DocumentsTest, DocumentsOfAnotherShapeAreCorrupt) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2});
  const auto failure = [&](std::string_view json) {
    return VariableFailure(chain, AsBytes(json), {2});
  };
  EXPECT_EQ(failure(R"(["a","b","|O",[3]])"), "json2: a chunk of shape [3], expected [2]");
  EXPECT_EQ(failure(R"(["a","|O",[2]])"), "json2: expected a list of 2, found a list of 1");
  EXPECT_EQ(failure("{}"),
            "json2: expected a list with a type and a shape at its end, found an object");
  EXPECT_THAT(failure("[\"a\""), HasSubstr("json2: not JSON: "));
  EXPECT_THAT(failure(std::string(1000, '[')), HasSubstr("nested more than 128 levels"));
}

TEST(DocumentsTest, HostileMessagePackIsCorrupt) {
  const CodecChain chain = MakeZarr2(R"([{"id": "msgpack2"}])", Datatype::String(), {2});
  const auto failure = [&](std::string_view bytes) {
    return VariableFailure(chain, AsBytes(bytes), {2});
  };
  EXPECT_THAT(failure(""), HasSubstr("msgpack2: not MessagePack: "));
  EXPECT_THAT(failure("\xdd\xff\xff\xff\xff"), HasSubstr("not MessagePack"));
  EXPECT_THAT(failure(std::string(1 << 20, '\x91')), HasSubstr("nested more than 128 levels"));
  // A shape of text that is no UTF-8.
  EXPECT_EQ(failure("\x92\xa1O\x91\xa1\xff"),
            "msgpack2: a chunk of shape a list of 1, expected [2]");
}

TEST(DocumentsTest, MoreValuesThanMemoryAllowsAreRefused) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {2});
  std::string json = "[";
  for (int i = 0; i < 5000; ++i) json += "0,";
  EXPECT_THAT(VariableFailure(chain, AsBytes(json + "0]"), {2}, 20000),
              HasSubstr("json2: not JSON: more values than expected"));
}

TEST(DocumentsTest, TextsAndIntegersOfFixedSizeAreEncoded) {
  const CodecChain texts =
      MakeZarr2(R"([{"id": "json2"}])", Datatype::FixedString(3, model::Charset::kUtf8), {2});
  const auto encoded = Decode<char>(texts, AsBytes(R"(["ab","xyz","|S3",[2]])"), {2});
  ASSERT_TRUE(encoded) << encoded.error().message();
  EXPECT_EQ(std::string(encoded->begin(), encoded->end()), std::string("ab\0xyz", 6));
  const CodecChain numbers = MakeZarr2(R"([{"id": "json2"}])", kInt16, {3});
  EXPECT_THAT(*Decode<int16_t>(numbers, AsBytes(R"([7,-3,0,"<i2",[3]])"), {3}),
              ElementsAre(7, -3, 0));
  const auto failure = [&](std::string_view json) {
    return FailureOf(Decode<int16_t>(numbers, AsBytes(json), {3}), model::ErrorCode::kCorrupt);
  };
  EXPECT_THAT(failure(R"([1,null,3,"<i2",[3]])"),
              HasSubstr("element 1: null for an element of int16"));
  EXPECT_THAT(failure(R"([[1],2,3,"<i2",[3]])"), HasSubstr("element 0: a list of 1 for"));
}

TEST(DocumentsTest, NumbersAndTextsOfOtherTypesAreNotConverted) {
  const auto decode = [](const Datatype& dtype, std::string_view json) {
    return Decode<std::byte>(MakeZarr2(R"([{"id": "json2"}])", dtype, {1}), AsBytes(json), {1});
  };
  EXPECT_FALSE(decode(kUint8, R"([256,"|u1",[1]])"));
  EXPECT_FALSE(decode(kUint8, R"([-1,"|u1",[1]])"));
  EXPECT_FALSE(decode(kUint8, R"([1.5,"|u1",[1]])"));
  EXPECT_FALSE(decode(kUint8, R"(["1","|u1",[1]])"));
  EXPECT_FALSE(decode(kUint8, R"([true,"|u1",[1]])"));
  EXPECT_FALSE(decode(Datatype::Float64(), R"(["one","<f8",[1]])"));
  EXPECT_THAT(*decode(kUint8, R"([255,"|u1",[1]])"), ElementsAre(std::byte{255}));
}

TEST(DocumentsTest, BytesOfMessagePackFillTextsOfFixedSize) {
  const auto text = [](model::Charset charset, size_t size) {
    return Datatype::FixedString(size, charset);
  };
  // msgpack.packb([b"ab", "|S3", [1]])
  const Bytes packed = FromHex("93c4026162a37c53339101");
  const auto decode = [&](const Datatype& dtype) {
    return Decode<char>(MakeZarr2(R"([{"id": "msgpack2"}])", dtype, {1}), packed.span(), {1});
  };
  EXPECT_THAT(*decode(text(model::Charset::kUtf8, 3)), ElementsAre('a', 'b', '\0'));
  EXPECT_EQ(FailureOf(decode(text(model::Charset::kUtf8, 1)), model::ErrorCode::kCorrupt),
            "msgpack2: element 0: 2 bytes for an element of string of 1 bytes");
  EXPECT_FALSE(decode(text(model::Charset::kUtf32, 8)));
  EXPECT_FALSE(decode(kInt16));
}

TEST(DocumentsTest, FloatsMayBeInfinite) {
  const CodecChain chain = MakeZarr2(R"([{"id": "json2"}])", Datatype::Float32(), {2});
  EXPECT_THAT(*Decode<float>(chain, AsBytes(R"([Infinity,-Infinity,"<f4",[2]])"), {2}),
              ElementsAre(HUGE_VALF, -HUGE_VALF));
}

TEST(DocumentsTest, ListsThatAreTooShortAreCorrupt) {
  const CodecChain scalar = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {});
  EXPECT_THAT(VariableFailure(scalar, AsBytes("[[]]"), {}), HasSubstr("found a list of 1"));
  for (const char* json : {R"(["|O",[]])", R"(["a","b","|O",[]])"}) {
    EXPECT_THAT(VariableFailure(scalar, AsBytes(json), {}),
                HasSubstr("json2: expected a list of 1, found a list of "));
  }
  const CodecChain plane = MakeZarr2(R"([{"id": "json2"}])", Datatype::String(), {1, 2});
  EXPECT_EQ(VariableFailure(plane, AsBytes(R"(["ab","|O",[1,2]])"), {1, 2}),
            "json2: expected a list of 2, found the string \"ab\"");
}

TEST(DocumentsTest, OtherTypesAreRefused) {
  for (const Datatype& dtype : {Datatype::Opaque(4), Datatype::Vlen(kInt16)}) {
    EXPECT_THAT(MakeFailure(CodecDialect::kNumcodecs, "json2", "{}", {dtype, {1}},
                            model::ErrorCode::kUnsupported),
                HasSubstr("json2: elements of"));
  }
  EXPECT_THAT(ConfigFailure("numcodecs.json2", "{}", {Datatype::String(), {1}},
                            model::ErrorCode::kUnsupported),
              HasSubstr("elements of string"));
}

}  // namespace
}  // namespace ndlfs::backends
