// SPDX-License-Identifier: MIT
//
// Headers of GRIB messages, after the Manual on Codes, and files of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/codec/grib/message.h"
#include "tests/backends/codec/codec_testing.h"
#include "tests/backends/codec/find_golden.h"
#include "tests/backends/codec/grib_goldens.h"

namespace ndlfs::backends {
namespace {

using model::ErrorCode;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string GribText(std::string_view golden) {
  return std::string(AsText(FromHex(FindGolden(kGribGoldens, golden).message).span()));
}

std::string BigEndian(uint64_t value, size_t size) {
  std::string text;
  for (size_t i = size; i-- > 0;) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

std::string Section(unsigned number, std::string_view body) {
  return BigEndian(body.size() + 5, 4) + static_cast<char>(number) + std::string(body);
}

std::string Message2(std::string_view sections) {
  return std::string("GRIB\0\0\0\2", 8) + BigEndian(sections.size() + 20, 8) +
         std::string(sections) + "7777";
}

const std::string kIdentification = Section(1, std::string(16, '\1'));
const std::string kProduct = Section(4, std::string(29, '\0'));
const std::string kBitmap = Section(6, "\xff");

// A grid of two points that nothing is known of.
std::string GridOf(uint16_t number, std::string_view body, uint32_t points = 2,
                   uint8_t list_octets = 0) {
  return Section(3, std::string(1, '\0') + BigEndian(points, 4) +
                        static_cast<char>(list_octets) + std::string(1, '\1') +
                        BigEndian(number, 2) + std::string(body));
}
std::string PackingOf(uint16_t number, size_t octets = 21) {
  return Section(5, BigEndian(2, 4) + BigEndian(number, 2) + std::string(octets - 11, '\0'));
}
const std::string kFieldSections = kProduct + PackingOf(0) + kBitmap + Section(7, "");

std::string ParseFailure(std::string_view message, ErrorCode code = ErrorCode::kCorrupt) {
  return FailureOf(ParseGribMessage(AsBytes(message)), code);
}

// A file in memory that counts what is read of it.
class CountedFile {
 public:
  explicit CountedFile(std::string bytes) : bytes_(std::move(bytes)) {}
  GribReader Reader() {
    return GribReader(
        [this](uint64_t offset, ByteSpan out) -> model::Result<void> {
          if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
            ADD_FAILURE() << "read behind the end";
            return model::Internal("behind the end");
          }
          ++reads_;
          bytes_read_ += out.size();
          std::memcpy(out.data(), bytes_.data() + offset, out.size());
          return {};
        },
        bytes_.size());
  }
  uint64_t reads() const { return reads_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  std::string bytes_;
  uint64_t reads_ = 0, bytes_read_ = 0;
};

TEST(GribMessageTest, HeadersOfEdition2) {
  const std::string text = GribText("SimpleHoles");
  const auto message = ParseGribMessage(AsBytes(text));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->edition, 2);
  EXPECT_EQ(message->size, text.size());
  EXPECT_EQ(message->centre, 98);
  EXPECT_NE(message->reference_time.year, 0);
  ASSERT_EQ(message->fields.size(), 1u);
  const GribField& field = message->fields[0];
  EXPECT_EQ(field.points, 48u);
  EXPECT_EQ(field.grid->kind, GribGridKind::kLatLon);
  EXPECT_EQ(field.grid->ni, 8u);
  EXPECT_EQ(field.grid->nj, 6u);
  EXPECT_THAT(field.grid->first_latitude, DoubleNear(50, 1e-9));
  EXPECT_THAT(field.grid->last_longitude, DoubleNear(14, 1e-9));
  EXPECT_THAT(field.grid->di.value_or(0), DoubleNear(2, 1e-9));
  EXPECT_EQ(field.grid->major_axis, 6371229);
  EXPECT_EQ(field.packing->method, GribMethod::kSimple);
  EXPECT_EQ(field.packing->bits, 12);
  EXPECT_EQ(field.bitmap_indicator, 0);
  EXPECT_EQ(field.bitmap->size, 6u);
  EXPECT_EQ(field.data.offset + field.data.size + 4, message->size);
}

TEST(GribMessageTest, HeadersOfEdition1) {
  const std::string text = GribText("Edition1RowByRowHoles");
  const auto message = ParseGribMessage(AsBytes(text));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->edition, 1);
  EXPECT_EQ(message->centre, 98);
  EXPECT_EQ(message->tables_version, 128);
  const GribTime& time = message->reference_time;
  EXPECT_EQ(time.year, 2024);
  EXPECT_THAT(std::vector<int>({time.month, time.day, time.hour}), ElementsAre(3, 15, 6));
  const GribField& field = message->fields[0];
  EXPECT_EQ(field.number, 11);
  EXPECT_EQ(field.points, 48u);
  EXPECT_THAT(field.grid->first_latitude, DoubleNear(50, 1e-9));
  EXPECT_EQ(field.packing->method, GribMethod::kSecondOrder);
  EXPECT_EQ(field.packing->reference, -250.5f);
  EXPECT_EQ(field.packing->binary_scale, -1);
  EXPECT_EQ(field.packing->decimal_scale, 1);
  EXPECT_EQ(field.bitmap->size, 6u);
}

// As ECMWF writes messages of more than 16 MiB: in units of 120 bytes.
TEST(GribMessageTest, LongMessagesOfEdition1AreSaidInUnits) {
  std::string text = GribText("Edition1Simple");
  const auto plain = ParseGribMessage(AsBytes(text));
  ASSERT_TRUE(plain) << plain.error().message();
  const uint64_t units = (text.size() - 4 + 119) / 120;
  text.replace(4, 3, BigEndian(0x800000 | units, 3));
  text.replace(plain->fields[0].data.offset, 3, BigEndian(units * 120 + 4 - text.size(), 3));
  const auto message = ParseGribMessage(AsBytes(text + "GRIB"));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->size, plain->size);
  EXPECT_EQ(message->fields[0].data.size, plain->fields[0].data.size);
  EXPECT_THAT(ParseFailure(text.substr(0, text.size() - 1)), HasSubstr("are left"));
  text.replace(4, 3, "\xff\xff\xff");
  EXPECT_THAT(ParseFailure(text), HasSubstr("a message of 1006632"));
}

TEST(GribMessageTest, FieldsOfOneMessageShareItsSections) {
  const std::string text = GribText("SubmessagesShareABitmap");
  const auto message = ParseGribMessage(AsBytes(text));
  ASSERT_TRUE(message) << message.error().message();
  ASSERT_EQ(message->fields.size(), 3u);
  const auto& fields = message->fields;
  EXPECT_EQ(fields[0].grid, fields[1].grid);
  EXPECT_NE(fields[1].grid, fields[2].grid);
  EXPECT_EQ(fields[0].bitmap->offset, fields[1].bitmap->offset);
  EXPECT_FALSE(fields[2].bitmap);
  EXPECT_EQ(fields[1].packing->reference, -3);
  EXPECT_EQ(fields[2].grid->ni, 6u);
}

TEST(GribMessageTest, ValuesAreNotRead) {
  const std::string large =
      Message2(kIdentification + GridOf(101, "") + kProduct + PackingOf(0) + kBitmap +
               Section(7, std::string(1 << 20, '\0')));
  CountedFile file(large + large);
  GribReader reader = file.Reader();
  for (const uint64_t offset : {size_t{0}, large.size()}) {
    ASSERT_EQ(*reader.Find(offset), offset);
    const auto message = reader.Parse(offset);
    ASSERT_TRUE(message) << message.error().message();
    EXPECT_EQ(message->offset, offset);
    EXPECT_EQ(message->size, large.size());
  }
  EXPECT_LE(file.reads(), 4u);
  EXPECT_LE(file.bytes_read(), 4u * 512);
}

TEST(GribMessageTest, MessagesAreFoundBetweenJunk) {
  const std::string one = GribText("Simple8Bits"), other = GribText("Edition1Simple");
  // The last bytes of a block that Find() reads are the beginning of the magic.
  const std::string junk = "GRIB DATA" + std::string(70000, 'G');
  CountedFile file("TTAA00 \r\r\n" + one + junk + other + "GRI");
  GribReader reader = file.Reader();
  const auto first = reader.Find(0);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(**first, 10u);
  const uint64_t end = 10 + reader.Parse(10)->size;
  const auto second = reader.Find(end);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ(**second, 10 + one.size() + junk.size());
  const auto message = reader.Parse(**second);
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_EQ(message->edition, 1);
  EXPECT_EQ(*reader.Find(message->offset + message->size), std::nullopt);
  EXPECT_THAT(FailureOf(file.Reader().Find(end, 1000), ErrorCode::kLimit),
              HasSubstr("no message in 1000 bytes"));
}

TEST(GribMessageTest, LengthsThatOverflowAreCorrupt) {
  std::string text = GribText("Simple8Bits");
  EXPECT_THAT(ParseFailure(text.substr(0, 8) + std::string(8, '\xff') + text.substr(16)),
              HasSubstr("a message of 18446744073709551615 bytes, but "));
  EXPECT_THAT(ParseFailure(text.substr(0, 8) + std::string(8, '\0') + text.substr(16)),
              HasSubstr("a message of 0 bytes"));
  EXPECT_THAT(ParseFailure(text.substr(0, 16) + std::string(4, '\xff') + text.substr(20)),
              HasSubstr("section 1 of 4294967295 bytes, at byte 16"));
  EXPECT_THAT(ParseFailure(text.substr(0, 16) + std::string(4, '\0') + text.substr(20)),
              HasSubstr("section 1 of 0 bytes"));
  text = GribText("Edition1Simple");
  EXPECT_THAT(ParseFailure(text.substr(0, 8) + std::string(3, '\xff') + text.substr(11)),
              HasSubstr("section 1: a section of 16777215 bytes"));
  EXPECT_THAT(ParseFailure(text.substr(0, 8) + std::string(3, '\0') + text.substr(11)),
              HasSubstr("section 1: a section of 0 bytes"));
}

TEST(GribMessageTest, SectionsOutOfOrderAreCorrupt) {
  const std::string begin = kIdentification + GridOf(101, "");
  EXPECT_TRUE(ParseGribMessage(AsBytes(Message2(begin + kFieldSections))));
  EXPECT_THAT(ParseFailure(Message2(kIdentification + kProduct)),
              HasSubstr("section 4 after section 1"));
  EXPECT_THAT(ParseFailure(Message2(begin + kFieldSections + kIdentification)),
              HasSubstr("section 1 after section 7"));
  EXPECT_THAT(ParseFailure(Message2(begin + kFieldSections + PackingOf(0))),
              HasSubstr("section 5 after section 7"));
  EXPECT_THAT(ParseFailure(Message2(begin + kFieldSections + Section(8, "x"))),
              HasSubstr("section 8 after section 7"));
  EXPECT_THAT(ParseFailure(Message2(begin + kProduct)),
              HasSubstr("a message that ends with section 4"));
  EXPECT_THAT(ParseFailure(Message2(begin + kFieldSections + "xyz")),
              HasSubstr("a section that is cut"));
  std::string no_end = Message2(begin + kFieldSections);
  no_end.back() = '8';
  EXPECT_THAT(ParseFailure(no_end), HasSubstr("does not end with \"7777\""));
}

TEST(GribMessageTest, AMessageWithinAMessageIsNoSection) {
  const std::string inner = GribText("Simple8Bits");
  EXPECT_THAT(ParseFailure(Message2(kIdentification + GridOf(101, "") + inner)),
              HasSubstr("a message of"));
}

TEST(GribMessageTest, OtherEditionsAreNotSupported) {
  EXPECT_THAT(ParseFailure("GRIBxxx\x03xxxxxxxx", ErrorCode::kUnsupported),
              HasSubstr("edition 3 of GRIB"));
  EXPECT_THAT(ParseFailure("GRIC"), HasSubstr("ends within a message"));
  EXPECT_THAT(ParseFailure("GRICxxx\x02"), HasSubstr("no GRIB message"));
}

TEST(GribMessageTest, SectionsTooShortForTheirTemplatesAreCorrupt) {
  const auto failure = [](const std::string& grid) {
    return ParseFailure(Message2(kIdentification + grid + kFieldSections));
  };
  EXPECT_THAT(failure(GridOf(0, std::string(40, '\0'))), HasSubstr("too few for template 3.0"));
  EXPECT_THAT(failure(Section(3, "")), HasSubstr("section 3: 5 octets"));
  const std::string begin = kIdentification + GridOf(101, "");
  EXPECT_THAT(ParseFailure(Message2(begin + Section(4, ""))), HasSubstr("section 4: 5 octets"));
  EXPECT_THAT(ParseFailure(Message2(begin + kProduct + PackingOf(3, 48))),
              HasSubstr("48 octets are too few for packing 5.3"));
  EXPECT_THAT(ParseFailure(Message2(begin + kProduct + PackingOf(0) + Section(6, ""))),
              HasSubstr("section 6: 5 octets"));
}

// Templates 3.0 of `ni` columns and `nj` rows.
std::string LatLonGrid(uint32_t ni, uint32_t nj, uint32_t points, std::string_view list = "",
                       uint8_t list_octets = 0) {
  return GridOf(0,
                std::string(16, '\0') + BigEndian(ni, 4) + BigEndian(nj, 4) +
                    std::string(34, '\0') + std::string(list),
                points, list_octets);
}

model::Result<GribMessage> ParseGrid(const std::string& grid) {
  return ParseGribMessage(AsBytes(Message2(kIdentification + grid + kFieldSections)));
}

TEST(GribMessageTest, ColumnsAndRowsThatContradictThePointsAreNoRows) {
  for (const auto& [ni, nj] :
       {std::pair{65536u, 65536u}, {3u, 5u}, {0xfffffffeu, 0xfffffffeu}}) {
    const auto message = ParseGrid(LatLonGrid(ni, nj, 16));
    ASSERT_TRUE(message) << message.error().message();
    const GribGrid& grid = *message->fields[0].grid;
    EXPECT_EQ(grid.kind, GribGridKind::kOther);
    EXPECT_EQ(grid.points, 16u);
    EXPECT_EQ(grid.ni, 0u);
  }
}

TEST(GribMessageTest, RowsOfAReducedGridHaveTheirOwnLengths) {
  const auto message =
      ParseGrid(LatLonGrid(UINT32_MAX, 3, 12, std::string("\0\3\0\5\0\4", 6), 2));
  ASSERT_TRUE(message) << message.error().message();
  EXPECT_THAT(message->fields[0].grid->row_points, ElementsAre(3, 5, 4));
  EXPECT_THAT(
      FailureOf(ParseGrid(LatLonGrid(UINT32_MAX, 3, 13, std::string("\0\3\0\5\0\4", 6), 2)),
                ErrorCode::kCorrupt),
      HasSubstr("rows of 12 points, but 13 points"));
  EXPECT_THAT(FailureOf(ParseGrid(LatLonGrid(UINT32_MAX, 1u << 30, 12, "\1\1", 2)),
                        ErrorCode::kCorrupt),
              HasSubstr("1073741824 rows, but a list of 2 octets"));
  EXPECT_THAT(
      FailureOf(ParseGrid(LatLonGrid(UINT32_MAX, 3, 12, "\1\1", 5)), ErrorCode::kCorrupt),
      HasSubstr("numbers of 5 octets"));
}

TEST(GribMessageTest, HeadersOfMoreThanAnybodyWritesAreRefused) {
  const std::string begin = kIdentification + GridOf(101, "");
  EXPECT_THAT(ParseFailure(Message2(kIdentification + GridOf(101, std::string(1 << 20, 'x'))),
                           ErrorCode::kLimit),
              HasSubstr("section 3: a header of"));
  std::string many = begin;
  const std::string field =
      Section(4, std::string(6, '\0')) + PackingOf(50, 11) + kBitmap + Section(7, "");
  for (int i = 0; i < 65537; ++i) many += field;
  EXPECT_THAT(ParseFailure(Message2(many), ErrorCode::kLimit),
              HasSubstr("more than 65536 fields in a message"));
  many = begin;
  for (int i = 0; i < 20; ++i) {
    many +=
        Section(4, std::string(1000000, 'x')) + PackingOf(50, 11) + kBitmap + Section(7, "");
  }
  EXPECT_THAT(ParseFailure(Message2(many), ErrorCode::kLimit), HasSubstr("a header of 17"));
}

TEST(GribMessageTest, FloatsHaveNoBitsOrScales) {
  const std::string text = GribText("Ieee32");
  const auto message = ParseGribMessage(AsBytes(text));
  ASSERT_TRUE(message) << message.error().message();
  const GribPacking& packing = *message->fields[0].packing;
  EXPECT_EQ(packing.method, GribMethod::kIeee);
  EXPECT_EQ(packing.bits, 0);
  EXPECT_EQ(packing.decimal_scale, 0);
}

}  // namespace
}  // namespace ndlfs::backends
