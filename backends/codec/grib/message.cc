// SPDX-License-Identifier: MIT
#include "backends/codec/grib/message.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/grib/grid.h"
#include "backends/codec/grib/octets.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kGribMagic = "GRIB", kGribEnd = "7777";
// "GRIB" to the edition; the length of GRIB 2 follows.
constexpr uint64_t kIndicator1 = 8, kIndicator2 = 16;
constexpr uint64_t kSectionHead = 5;
// Real sections have some hundred octets, and those with lists of rows or levels some thousand.
constexpr uint64_t kMaxGribSection = uint64_t{1} << 20;
constexpr uint64_t kMaxGribHeaders = uint64_t{16} << 20;
constexpr size_t kMaxGribFields = 65536;
// The most bytes of headers in section 4 of GRIB 1; the packed values follow them.
constexpr uint64_t kMaxPackingHead1 = 64;

GribMethod MethodOfTemplate(uint16_t number) {
  switch (number) {
    case 0:
      return GribMethod::kSimple;
    case 2:
      return GribMethod::kComplex;
    case 3:
      return GribMethod::kSpatialDifferencing;
    case 4:
      return GribMethod::kIeee;
    case 40:
    case 40000:
      return GribMethod::kJpeg2000;
    case 41:
    case 40010:
      return GribMethod::kPng;
    case 42:
      return GribMethod::kCcsds;
    case 61:
      return GribMethod::kLogarithm;
    case 200:
      return GribMethod::kRunLength;
    case 50001:
    case 50002:
      return GribMethod::kSecondOrder;
    default:
      return GribMethod::kOther;
  }
}

// Octets of the shortest section 5 with that packing.
size_t PackingSize(GribMethod method) {
  switch (method) {
    case GribMethod::kSimple:
      return 20;
    case GribMethod::kComplex:
      return 47;
    case GribMethod::kSpatialDifferencing:
      return 49;
    case GribMethod::kIeee:
      return 12;
    case GribMethod::kJpeg2000:
    case GribMethod::kPng:
      return 20;
    case GribMethod::kCcsds:
    case GribMethod::kLogarithm:
      return 24;
    case GribMethod::kRunLength:
      return 17;
    default:
      return 11;
  }
}

model::Result<std::shared_ptr<const GribPacking>> ParsePacking2(GribSection section) {
  auto packing = std::make_shared<GribPacking>();
  packing->section = std::move(section);
  const GribOctets in(*packing->section);
  packing->values = in.U32(6);
  packing->template_number = in.U16(10);
  packing->method = MethodOfTemplate(packing->template_number);
  if (in.size() < PackingSize(packing->method)) {
    return model::Corrupt("{} octets are too few for packing 5.{}", in.size(),
                          packing->template_number);
  }
  switch (packing->method) {
    case GribMethod::kIeee:
    case GribMethod::kOther:
      break;
    case GribMethod::kRunLength:
      packing->bits = in.U8(12);
      packing->decimal_scale = static_cast<int32_t>(in.Signed(17, 1));
      break;
    default:
      packing->reference = in.Ieee(12);
      packing->binary_scale = static_cast<int32_t>(in.Signed(16, 2));
      packing->decimal_scale = static_cast<int32_t>(in.Signed(18, 2));
      packing->bits = in.U8(20);
  }
  return packing;
}

}  // namespace

GribReader::GribReader(Read read, uint64_t file_size, uint64_t window)
    : read_(std::move(read)), file_size_(file_size), window_size_(window) {}

model::Result<ConstByteSpan> GribReader::Peek(uint64_t offset, uint64_t size) {
  if (offset > file_size_ || size > file_size_ - offset) {
    return model::Corrupt("ends within a message");
  }
  const bool is_there = offset >= window_offset_ && offset - window_offset_ <= window_.size() &&
                        size <= window_.size() - (offset - window_offset_);
  if (!is_there) {
    window_.resize(std::min(std::max(size, window_size_), file_size_ - offset));
    window_offset_ = offset;
    if (auto status = read_(offset, std::as_writable_bytes(std::span(window_))); !status) {
      window_.clear();
      return model::Propagate(std::move(status).error());
    }
  }
  return ConstByteSpan(window_).subspan(offset - window_offset_, size);
}

model::Result<std::optional<uint64_t>> GribReader::Find(uint64_t from, uint64_t limit) {
  constexpr uint64_t kBlock = 65536;
  const uint64_t first = from;
  // A message mostly follows at once, and the end of the one before was read with its
  // beginning.
  uint64_t block = window_size_ / 2;
  while (from <= file_size_ && file_size_ - from >= kIndicator1) {
    if (from - first > limit) return model::Limit("no message in {} bytes", limit);
    const uint64_t size = std::min(std::max(block, kIndicator1), file_size_ - from);
    NDLFS_TRY(const ConstByteSpan bytes, Peek(from, size));
    const std::string_view text = AsText(bytes);
    for (size_t at = text.find(kGribMagic); at != text.npos;
         at = text.find(kGribMagic, at + 1)) {
      if (text.size() - at < kIndicator1) break;
      const char edition = text[at + 7];
      if (edition == 1 || edition == 2) return from + at;
    }
    from += size - (kIndicator1 - 1);
    block = kBlock;
  }
  return std::nullopt;
}

// Parses one message.
class GribSectionWalk {
 public:
  GribSectionWalk(GribReader& reader, uint64_t offset, bool reads_end)
      : reader_(reader), reads_end_(reads_end) {
    message_.offset = offset;
  }

  model::Result<GribMessage> Parse() {
    NDLFS_TRY(const ConstByteSpan start, reader_.Peek(message_.offset, kIndicator1));
    if (!AsText(start).starts_with(kGribMagic)) return model::Corrupt("no GRIB message");
    const GribOctets in(start);
    message_.edition = in.U8(8);
    if (message_.edition == 1) {
      NDLFS_RETURN_IF_ERROR(Parse1(in.U24(5)));
    } else if (message_.edition == 2) {
      message_.discipline = in.U8(7);
      NDLFS_RETURN_IF_ERROR(Parse2());
    } else {
      return model::Unsupported("edition {} of GRIB", message_.edition);
    }
    return std::move(message_);
  }

 private:
  // `size` bytes at `at` of the message.
  model::Result<ConstByteSpan> Peek(uint64_t at, uint64_t size) {
    return reader_.Peek(message_.offset + at, size);
  }

  model::Result<void> CheckSize(uint64_t at_least) {
    const uint64_t room = reader_.file_size_ - message_.offset;
    if (message_.size < at_least) return model::Corrupt("a message of {} bytes", message_.size);
    if (message_.size > room) {
      return model::Corrupt("a message of {} bytes, but {} are left", message_.size, room);
    }
    return {};
  }

  model::Result<void> CheckEnd() {
    if (!reads_end_) return {};
    NDLFS_TRY(const ConstByteSpan end, Peek(message_.size - kGribEnd.size(), kGribEnd.size()));
    if (AsText(end) == kGribEnd) return {};
    return model::Corrupt("a message that does not end with \"7777\"");
  }

  // Copies a section, or its first bytes.
  model::Result<GribSection> Keep(uint64_t at, uint64_t size) {
    headers_ += size;
    if (size > kMaxGribSection || headers_ > kMaxGribHeaders) {
      return model::Limit("a header of {} bytes", headers_);
    }
    NDLFS_TRY(const ConstByteSpan bytes, Peek(at, size));
    return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  }

  model::Result<void> Parse2();
  model::Result<void> ParseSection2(unsigned number, uint64_t at, uint64_t size);
  model::Result<void> ParseIdentification2(uint64_t at, uint64_t size);
  model::Result<void> ParseProduct2(uint64_t at, uint64_t size);
  model::Result<void> ParseBitmap2(uint64_t at, uint64_t size);
  model::Result<void> AddField2(uint64_t at, uint64_t size);

  model::Result<void> Parse1(uint32_t size);
  model::Result<uint64_t> SectionSize1(uint64_t at, uint64_t at_least);
  void ReadProduct1(const GribOctets& in);
  model::Result<void> ParseBitmap1(uint64_t at, uint64_t size);
  model::Result<void> ParseData1(uint64_t at, uint64_t size);
  uint64_t CountPoints1(const GribOctets& head) const;

  GribReader& reader_;
  const bool reads_end_;
  GribMessage message_;
  GribField field_;  // that is made of the sections so far
  // The bitmap of an earlier field of the message.
  std::optional<GribRange> last_bitmap_;
  uint64_t bitmap_points_ = 0;  // of edition 1
  bool is_wide_ = false;        // edition 1, more than 8 MiB
  uint64_t headers_ = 0;
};

// Which sections may come after `previous`.
bool IsNextSection(unsigned previous, unsigned number) {
  switch (previous) {
    case 1:
      return number == 2 || number == 3;
    case 7:
      return number >= 2 && number <= 4;
    default:
      return number == previous + 1;
  }
}

model::Result<void> GribSectionWalk::Parse2() {
  NDLFS_TRY(const ConstByteSpan start, Peek(0, kIndicator2));
  message_.size = GribOctets(start).Unsigned(9, 8);
  NDLFS_RETURN_IF_ERROR(CheckSize(kIndicator2 + kGribEnd.size()));
  const uint64_t end = message_.size - kGribEnd.size();
  unsigned previous = 0;
  for (uint64_t at = kIndicator2; at != end;) {
    if (end - at < kSectionHead) return model::Corrupt("a section that is cut at byte {}", at);
    NDLFS_TRY(const ConstByteSpan bytes, Peek(at, kSectionHead));
    const GribOctets head(bytes);
    const uint64_t size = head.U32(1);
    const unsigned number = head.U8(5);
    if (size < kSectionHead || size > end - at) {
      return model::Corrupt("section {} of {} bytes, at byte {} of a message of {}", number,
                            size, at, message_.size);
    }
    if (!IsNextSection(previous, number)) {
      return model::Corrupt("section {} after section {}", number, previous);
    }
    NDLFS_RETURN_IF_ERROR(ParseSection2(number, at, size), fmt::format("section {}", number));
    previous = number;
    at += size;
  }
  if (previous != 7) return model::Corrupt("a message that ends with section {}", previous);
  return CheckEnd();
}

model::Result<void> GribSectionWalk::ParseSection2(unsigned number, uint64_t at,
                                                   uint64_t size) {
  switch (number) {
    case 1:
      return ParseIdentification2(at, size);
    case 2: {
      NDLFS_TRY(field_.local, Keep(at, size));
      return {};
    }
    case 3: {
      if (size < 14) return model::Corrupt("{} octets", size);
      NDLFS_TRY(GribSection section, Keep(at, size));
      NDLFS_TRY(field_.grid, ParseGribGrid2(std::move(section)));
      return {};
    }
    case 4:
      return ParseProduct2(at, size);
    case 5: {
      if (size < 11) return model::Corrupt("{} octets", size);
      NDLFS_TRY(GribSection section, Keep(at, size));
      NDLFS_TRY(field_.packing, ParsePacking2(std::move(section)));
      return {};
    }
    case 6:
      return ParseBitmap2(at, size);
    default:
      return AddField2(at, size);
  }
}

model::Result<void> GribSectionWalk::ParseIdentification2(uint64_t at, uint64_t size) {
  constexpr uint64_t kSize = 21;
  if (size < kSize) return model::Corrupt("{} octets", size);
  NDLFS_TRY(const ConstByteSpan bytes, Peek(at, kSize));
  const GribOctets in(bytes);
  message_.centre = in.U16(6);
  message_.subcentre = in.U16(8);
  message_.tables_version = in.U8(10);
  message_.local_tables_version = in.U8(11);
  message_.time_significance = in.U8(12);
  message_.reference_time = {in.U16(13), in.U8(15), in.U8(16), in.U8(17), in.U8(18), in.U8(19)};
  message_.production_status = in.U8(20);
  message_.data_type = in.U8(21);
  return {};
}

model::Result<void> GribSectionWalk::ParseProduct2(uint64_t at, uint64_t size) {
  if (size < 11) return model::Corrupt("{} octets", size);
  NDLFS_TRY(field_.product, Keep(at, size));
  const GribOctets in(*field_.product);
  field_.product_template = in.U16(8);
  field_.category = in.U8(10);
  field_.number = in.U8(11);
  return {};
}

model::Result<void> GribSectionWalk::ParseBitmap2(uint64_t at, uint64_t size) {
  constexpr uint64_t kHead = 6;
  if (size < kHead) return model::Corrupt("{} octets", size);
  NDLFS_TRY(const ConstByteSpan bytes, Peek(at, kHead));
  field_.bitmap_indicator = GribOctets(bytes).U8(6);
  field_.bitmap.reset();
  if (field_.bitmap_indicator == 0) {
    last_bitmap_ = GribRange{at + kHead, size - kHead};
    field_.bitmap = last_bitmap_;
  } else if (field_.bitmap_indicator == 254) {
    if (!last_bitmap_) return model::Corrupt("a bitmap that was defined before, but none was");
    field_.bitmap = last_bitmap_;
  }
  return {};
}

model::Result<void> GribSectionWalk::AddField2(uint64_t at, uint64_t size) {
  if (message_.fields.size() == kMaxGribFields) {
    return model::Limit("more than {} fields in a message", kMaxGribFields);
  }
  field_.points = field_.grid->points;
  field_.data = {at + kSectionHead, size - kSectionHead};
  message_.fields.push_back(field_);
  return {};
}

// The head of section 4 of edition 1.
std::shared_ptr<GribPacking> ParsePacking1(GribSection section) {
  auto packing = std::make_shared<GribPacking>();
  packing->section = std::move(section);
  const GribOctets in(*packing->section);
  const unsigned flags = in.U8(4) >> 4;
  packing->template_number = static_cast<uint16_t>(flags);
  constexpr unsigned kHarmonics = 8, kComplex = 4, kInteger = 2, kAdditional = 1;
  if ((flags & kHarmonics) == 0) {
    packing->method = (flags & kComplex) != 0 ? GribMethod::kSecondOrder : GribMethod::kSimple;
  }
  // As ECMWF marks floats.
  if (flags == (kInteger | kAdditional)) packing->method = GribMethod::kIeee;
  packing->binary_scale = static_cast<int32_t>(in.Signed(5, 2));
  packing->reference = static_cast<float>(in.Ibm(7));
  packing->bits = in.U8(11);
  return packing;
}

// Sections of edition 1 begin with their length alone.
model::Result<uint64_t> GribSectionWalk::SectionSize1(uint64_t at, uint64_t at_least) {
  const uint64_t end = message_.size - kGribEnd.size();
  if (at > end || end - at < at_least) return model::Corrupt("ends within a message");
  NDLFS_TRY(const ConstByteSpan bytes, Peek(at, 3));
  const uint64_t size = GribOctets(bytes).U24(1);
  if (size >= at_least && size <= end - at) return size;
  return model::Corrupt("a section of {} bytes, at byte {} of a message of {}", size, at,
                        message_.size);
}

void GribSectionWalk::ReadProduct1(const GribOctets& in) {
  message_.tables_version = message_.local_tables_version = in.U8(4);
  message_.centre = in.U8(5);
  message_.subcentre = in.U8(26);
  field_.number = in.U8(9);
  const int year = (in.U8(25) - 1) * 100 + in.U8(13);
  message_.reference_time = {
      static_cast<uint16_t>(std::max(year, 0)), in.U8(14), in.U8(15), in.U8(16), in.U8(17), 0};
}

model::Result<void> GribSectionWalk::Parse1(uint32_t size) {
  constexpr uint64_t kProduct = 28, kGrid = 6, kBitmap = 6, kData = 11;
  // Longer messages than the field has room for: units of 120 bytes. Instead of its length,
  // section 4 then says how many bytes of the last unit are not there, but for "7777" (as ECMWF
  // writes them).
  is_wide_ = (size & 0x800000) != 0;
  message_.size = is_wide_ ? uint64_t{size & 0x7fffff} * 120 : size;
  if (is_wide_) {
    message_.size =
        std::min(message_.size + kGribEnd.size(), reader_.file_size_ - message_.offset);
  }
  NDLFS_RETURN_IF_ERROR(CheckSize(kIndicator1 + kProduct + kData + kGribEnd.size()));
  uint64_t at = kIndicator1;
  NDLFS_TRY(uint64_t section, SectionSize1(at, kProduct), "section 1");
  NDLFS_TRY(field_.product, Keep(at, section), "section 1");
  const GribOctets product(*field_.product);
  ReadProduct1(product);
  const uint8_t flags = product.U8(8);
  at += section;
  if ((flags & 0x80) != 0) {
    NDLFS_TRY(section, SectionSize1(at, kGrid), "section 2");
    NDLFS_TRY(GribSection bytes, Keep(at, section), "section 2");
    NDLFS_TRY(field_.grid, ParseGribGrid1(std::move(bytes)), "section 2");
    at += section;
  }
  if ((flags & 0x40) != 0) {
    NDLFS_TRY(section, SectionSize1(at, kBitmap), "section 3");
    NDLFS_RETURN_IF_ERROR(ParseBitmap1(at, section), "section 3");
    at += section;
  }
  NDLFS_RETURN_IF_ERROR(ParseData1(at, size), "section 4");
  auto packing = std::make_shared<GribPacking>(*field_.packing);
  packing->decimal_scale = static_cast<int32_t>(product.Signed(27, 2));
  field_.packing = std::move(packing);
  message_.fields.push_back(std::move(field_));
  return CheckEnd();
}

model::Result<void> GribSectionWalk::ParseBitmap1(uint64_t at, uint64_t size) {
  constexpr uint64_t kHead = 6;
  NDLFS_TRY(const ConstByteSpan bytes, Peek(at, kHead));
  const GribOctets in(bytes);
  if (in.U16(5) != 0) {
    field_.bitmap_indicator = 1;  // one of the centre's
    return {};
  }
  field_.bitmap_indicator = 0;
  field_.bitmap = GribRange{at + kHead, size - kHead};
  const uint64_t bits = (size - kHead) * 8, unused = in.U8(4);
  if (unused > bits) return model::Corrupt("{} unused bits of {}", unused, bits);
  bitmap_points_ = bits - unused;
  return {};
}

// The points of a grid that is not known: as many as the bitmap or the packed values.
uint64_t GribSectionWalk::CountPoints1(const GribOctets& head) const {
  if (field_.grid && field_.grid->points != 0) return field_.grid->points;
  if (field_.bitmap) return bitmap_points_;
  const GribPacking& packing = *field_.packing;
  if (packing.method != GribMethod::kSimple || packing.bits == 0) return 0;
  const uint64_t bits = (field_.data.size - 11) * 8, unused = head.U8(4) & 15;
  return bits < unused ? 0 : (bits - unused) / packing.bits;
}

model::Result<void> GribSectionWalk::ParseData1(uint64_t at, uint64_t message_size) {
  constexpr uint64_t kData = 11;
  const uint64_t room = message_.size - kGribEnd.size();
  if (at > room || room - at < kData) return model::Corrupt("ends within a message");
  NDLFS_TRY(const ConstByteSpan bytes, Peek(at, kData));
  const GribOctets head(bytes);
  uint64_t size = head.U24(1);
  if (is_wide_ && size < 120) {
    message_.size = (message_size & 0x7fffff) * 120 + kGribEnd.size() - size;
    NDLFS_RETURN_IF_ERROR(CheckSize(at + kData + kGribEnd.size()));
    size = message_.size - kGribEnd.size() - at;
  } else if (is_wide_) {
    message_.size = message_size;
    NDLFS_RETURN_IF_ERROR(CheckSize(at + kData + kGribEnd.size()));
  }
  // Some bytes may follow, as padding.
  if (size < kData || size > message_.size - kGribEnd.size() - at) {
    return model::Corrupt("{} bytes, at byte {} of a message of {}", size, at, message_.size);
  }
  field_.data = {at, size};
  NDLFS_TRY(GribSection kept, Keep(at, std::min(size, kMaxPackingHead1)));
  field_.packing = ParsePacking1(std::move(kept));
  field_.points = CountPoints1(GribOctets(*field_.packing->section));
  return {};
}

model::Result<GribMessage> GribReader::Parse(uint64_t offset, bool reads_end) {
  if (offset > file_size_) return model::Corrupt("no GRIB message");
  return GribSectionWalk(*this, offset, reads_end).Parse();
}

model::Result<GribMessage> ParseGribMessage(ConstByteSpan message) {
  GribReader reader(
      [message](uint64_t offset, ByteSpan out) -> model::Result<void> {
        if (!out.empty()) std::memcpy(out.data(), message.data() + offset, out.size());
        return {};
      },
      message.size());
  return reader.Parse(0);
}

}  // namespace ndlfs::backends
