// SPDX-License-Identifier: MIT
//
// Packings in groups of values, each with a reference and a width of its own: complex (5.2),
// with spatial differencing (5.3), and second order packing (edition 1, 5.50001 and 5.50002).
#include <algorithm>
#include <limits>
#include <vector>

#include "backends/base/checked.h"
#include "backends/codec/grib/bits.h"
#include "backends/codec/grib/octets.h"
#include "backends/codec/grib/unpack.h"

namespace ndlfs::backends {
namespace {

constexpr unsigned kMaxDifferences = 3;

// Numbers of all bits, or one less, stand for missing values.
enum class MissingRule : uint8_t { kNone, kPrimary, kPrimaryAndSecondary };

bool IsMissingNumber(MissingRule rule, uint64_t number, uint64_t all_ones) {
  return number == all_ones ||
         (rule == MissingRule::kPrimaryAndSecondary && number + 1 == all_ones);
}

constexpr uint64_t LowBits(unsigned bits) { return (uint64_t{1} << bits) - 1; }

struct DifferenceRule {
  unsigned order = 0;
  uint64_t bias = 0;                     // is added to each difference
  uint64_t first[kMaxDifferences] = {};  // the first values, as many as `order`
};

// Undoes differences and scales, group by group. Sums wrap around, so that no input is
// undefined.
template <typename T>
class GroupUnpacker {
 public:
  GroupUnpacker(const GribPacking& packing, ConstByteSpan numbers, const DifferenceRule& rule,
                MissingRule missing, std::span<T> out)
      : scaling_(packing),
        reference_bits_(packing.bits),
        numbers_(numbers),
        rule_(rule),
        missing_(missing),
        out_(out) {}

  // Second order packing has the first values only in its headers.
  model::Result<void> AddFirstValues() {
    if (out_.size() < rule_.order) {
      return model::Corrupt("{} values, with differences of order {}", out_.size(),
                            rule_.order);
    }
    for (unsigned i = 0; i < rule_.order; ++i) out_[done_++] = Scale(TakeFirst());
    return {};
  }

  model::Result<void> Add(uint64_t reference, uint64_t width, uint64_t length) {
    if (width > kMaxGribBits) return model::Corrupt("a group of {} bits", width);
    if (length > out_.size() - done_) {
      return model::Corrupt("groups of more than {} values", out_.size());
    }
    const auto bits = CheckedMultiply(width, length);
    if (!bits || *bits > uint64_t{numbers_.size()} * 8 - bit_) {
      return model::Corrupt("ends within a group of {} values of {} bits", length, width);
    }
    const auto narrow = static_cast<unsigned>(width);
    if (missing_ != MissingRule::kNone) {
      AddWithMissing(reference, narrow, length);
    } else {
      AddWithout(reference, narrow, length);
    }
    done_ += length;
    bit_ += *bits;
    return {};
  }

  uint64_t values_left() const { return out_.size() - done_; }

 private:
  T Scale(uint64_t number) const { return scaling_.Value<T>(static_cast<int64_t>(number)); }

  // The next first value. After the last one, the sums are those of differences.
  uint64_t TakeFirst() {
    const uint64_t value = rule_.first[seen_++];
    if (seen_ == rule_.order) {
      const uint64_t* v = rule_.first;
      sums_[0] = value;
      if (rule_.order == 2) sums_[1] = v[1] - v[0];
      if (rule_.order == 3) {
        sums_[1] = v[2] - v[1];
        sums_[2] = sums_[1] - (v[1] - v[0]);
      }
    }
    return value;
  }

  template <unsigned kOrder>
  uint64_t Sum(uint64_t difference) {
    if constexpr (kOrder == 0) return difference;
    sums_[kOrder - 1] += difference;
    for (unsigned i = kOrder - 1; i-- > 0;) sums_[i] += sums_[i + 1];
    return sums_[0];
  }
  uint64_t SumOf(uint64_t difference) {
    if (seen_ < rule_.order) return TakeFirst();
    switch (rule_.order) {
      case 0:
        return difference;
      case 1:
        return Sum<1>(difference);
      case 2:
        return Sum<2>(difference);
      default:
        return Sum<3>(difference);
    }
  }

  void AddWithout(uint64_t reference, unsigned width, uint64_t length) {
    if (seen_ < rule_.order) {
      T* to = out_.data() + done_;
      ForGribBits(numbers_, bit_, width, length,
                  [&](uint64_t x) { *to++ = Scale(SumOf(reference + rule_.bias + x)); });
      return;
    }
    switch (rule_.order) {
      case 0:
        return AddOfOrder<0>(reference, width, length);
      case 1:
        return AddOfOrder<1>(reference, width, length);
      case 2:
        return AddOfOrder<2>(reference, width, length);
      default:
        return AddOfOrder<3>(reference, width, length);
    }
  }

  template <unsigned kOrder>
  void AddOfOrder(uint64_t reference, unsigned width, uint64_t length) {
    T* to = out_.data() + done_;
    const uint64_t base = reference + rule_.bias;
    const GribScaling scaling = scaling_;
    uint64_t sums[kMaxDifferences] = {sums_[0], sums_[1], sums_[2]};  // may stay in registers
    ForGribBits(numbers_, bit_, width, length, [&](uint64_t x) {
      uint64_t value = base + x;
      if constexpr (kOrder >= 3) value = sums[2] += value;
      if constexpr (kOrder >= 2) value = sums[1] += value;
      if constexpr (kOrder >= 1) value = sums[0] += value;
      *to++ = scaling.Value<T>(static_cast<int64_t>(value));
    });
    for (unsigned i = 0; i < kOrder; ++i) sums_[i] = sums[i];
  }

  // Differences leave out missing values.
  void AddWithMissing(uint64_t reference, unsigned width, uint64_t length) {
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    T* to = out_.data() + done_;
    if (width == 0 && IsMissingNumber(missing_, reference, LowBits(reference_bits_))) {
      std::fill_n(to, length, kNan);
      return;
    }
    const uint64_t base = reference + rule_.bias, all_ones = LowBits(width);
    ForGribBits(numbers_, bit_, width, length, [&](uint64_t x) {
      const bool is_missing = width != 0 && IsMissingNumber(missing_, x, all_ones);
      *to++ = is_missing ? kNan : Scale(SumOf(base + x));
    });
  }

  const GribScaling scaling_;
  const unsigned reference_bits_;
  const ConstByteSpan numbers_;
  const DifferenceRule rule_;
  const MissingRule missing_;
  const std::span<T> out_;
  uint64_t done_ = 0, bit_ = 0;
  unsigned seen_ = 0;  // first values
  uint64_t sums_[kMaxDifferences] = {};
};

// Cuts lists of numbers of some bits, each of which ends with a whole byte, off the front of
// the data.
class ListCutter {
 public:
  explicit ListCutter(ConstByteSpan data) : data_(data) {}

  model::Result<GribBitList> Cut(uint64_t count, unsigned bits) {
    if (bits > kMaxGribBits) return model::Corrupt("a list of numbers of {} bits", bits);
    const auto all_bits = CheckedMultiply(count, bits);
    const uint64_t room = data_.size() - at_;
    if (!all_bits || *all_bits > room * 8) {
      return model::Corrupt("{} bytes for a list of {} numbers of {} bits", room, count, bits);
    }
    const GribBitList list(data_, at_, bits);
    at_ += (*all_bits + 7) / 8;
    return list;
  }
  ConstByteSpan rest() const { return data_.subspan(at_); }

 private:
  ConstByteSpan data_;
  uint64_t at_ = 0;
};

// First values and bias of 5.3, in front of section 7. Returns their size.
model::Result<size_t> ReadDifferenceRule(const GribPacked& packed, DifferenceRule& rule) {
  if (packed.packing.method != GribMethod::kSpatialDifferencing) return size_t{0};
  const GribOctets head(*packed.packing.section);
  const unsigned order = head.U8(48), octets = head.U8(49);
  if (order > 2) return model::Unsupported("spatial differencing of order {}", order);
  if (order == 0) return size_t{0};
  if (octets == 0 || octets > 7) return model::Corrupt("differences with {} octets", octets);
  const GribOctets in(packed.data);
  // Written without a sign by eccodes, which reads them so. Others never set the first bit, as
  // values are counted from the least one.
  rule.order = order;
  for (unsigned i = 0; i < order; ++i) rule.first[i] = in.Unsigned(1 + i * octets, octets);
  rule.bias = static_cast<uint64_t>(in.Signed(1 + order * octets, octets));
  if (in.is_short()) return model::Corrupt("ends before the first differences");
  return (order + 1) * size_t{octets};
}

}  // namespace

template <typename T>
model::Result<void> UnpackGribComplex(const GribPacked& packed, std::span<T> out) {
  const GribOctets head(*packed.packing.section);
  const uint8_t missing = head.U8(23);
  if (missing > 2) return model::Unsupported("missing value management {}", missing);
  const uint64_t groups = head.U32(32), width_reference = head.U8(36);
  const uint64_t length_reference = head.U32(38), length_step = head.U8(42);
  const uint64_t last_length = head.U32(43);
  if (groups == 0 && packed.packing.bits == 0 && missing == 0) {
    // Every value is the reference: ecCodes writes no group, whatever the template says.
    std::ranges::fill(out, GribScaling(packed.packing).Value<T>(0));
    return {};
  }
  DifferenceRule rule;
  NDLFS_TRY(const size_t first, ReadDifferenceRule(packed, rule));
  if (groups > out.size()) {
    return model::Corrupt("{} groups for {} values", groups, out.size());
  }
  ListCutter lists(packed.data.subspan(first));
  NDLFS_TRY(GribBitList references, lists.Cut(groups, packed.packing.bits));
  NDLFS_TRY(GribBitList widths, lists.Cut(groups, head.U8(37)));
  NDLFS_TRY(GribBitList lengths, lists.Cut(groups, head.U8(47)));
  GroupUnpacker<T> unpacker(packed.packing, lists.rest(), rule, MissingRule{missing}, out);
  for (uint64_t i = 0; i < groups; ++i) {
    const uint64_t scaled = lengths.Next();
    if (scaled > UINT32_MAX) return model::Corrupt("a group of {} values", scaled);
    const bool is_last = i + 1 == groups;
    const uint64_t length = is_last ? last_length : length_reference + scaled * length_step;
    NDLFS_RETURN_IF_ERROR(
        unpacker.Add(references.Next(), width_reference + widths.Next(), length));
  }
  if (unpacker.values_left() == 0) return {};
  return model::Corrupt("groups of {} values, expected {}", out.size() - unpacker.values_left(),
                        out.size());
}
template model::Result<void> UnpackGribComplex(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribComplex(const GribPacked&, std::span<double>);

namespace {

// The headers of second order packing, which lie at other octets in each of its three forms.
struct SecondOrder {
  bool is_extended = true;  // lists of widths and lengths
  bool has_bitmap = false;  // which begins groups
  bool has_widths = true;   // one for each group
  bool turns_rows = false;
  unsigned reference_bits = 0, width_bits = 0, length_bits = 0, first_bits = 0;
  uint64_t groups = 0;
  ConstByteSpan first;  // values and bias, with what follows them
  ConstByteSpan lists;  // used if there are no first values
  unsigned order = 0;
};

// Flags of octet 14 of edition 1.
constexpr unsigned kMatrix = 0x40, kSecondaryBitmap = 0x20, kManyWidths = 0x10;
constexpr unsigned kExtended = 0x08, kTurnedRows = 0x04, kOrderBits = 0x03;

unsigned OrderOfFlags(unsigned flags) { return (flags & 1) + (flags & 2); }

model::Result<SecondOrder> ReadSecondOrder1(ConstByteSpan section) {
  const GribOctets in(section);
  SecondOrder head;
  const unsigned flags = in.U8(14);
  if ((flags & kMatrix) != 0) return model::Unsupported("a matrix of values at each point");
  head.is_extended = (flags & kExtended) != 0;
  head.has_bitmap = (flags & kSecondaryBitmap) != 0;
  head.has_widths = (flags & kManyWidths) != 0;
  head.turns_rows = (flags & kTurnedRows) != 0;
  head.reference_bits = in.U8(11);
  head.groups = in.U16(17) + 65536 * uint64_t{in.U8(21)};
  size_t octet = 22;
  if (head.is_extended) {
    if (head.has_bitmap || !head.has_widths) {
      return model::Unsupported("second order packing with flags {:#x}", flags);
    }
    head.width_bits = in.U8(22);
    head.length_bits = in.U8(23);
    head.order = OrderOfFlags(flags & kOrderBits);
    octet = 26;
    if (head.order != 0) head.first_bits = in.U8(octet++);
  } else if ((flags & kOrderBits) != 0 || (!head.has_bitmap && !head.has_widths)) {
    return model::Unsupported("second order packing with flags {:#x}", flags);
  }
  if (in.is_short() || section.size() < octet - 1)
    return model::Corrupt("{} octets", in.size());
  head.first = head.lists = section.subspan(octet - 1);
  return head;
}

model::Result<SecondOrder> ReadSecondOrder2(const GribPacked& packed) {
  const GribOctets in(*packed.packing.section);
  SecondOrder head;
  head.reference_bits = in.U8(21);
  head.groups = in.U32(22);
  head.width_bits = in.U8(30);
  head.length_bits = in.U8(31);
  size_t octet = 32;
  if (packed.packing.template_number == 50002) head.turns_rows = (in.U8(octet++) & 0x80) != 0;
  head.order = in.U8(octet++);
  if (head.order != 0) head.first_bits = in.U8(octet++);
  if (in.is_short()) return model::Corrupt("{} octets of section 5", in.size());
  head.first = ConstByteSpan(*packed.packing.section).subspan(octet - 1);
  head.lists = packed.data;
  return head;
}

// Reads the first values, and then the bias, whose first bit is a sign. Returns their size.
model::Result<size_t> ReadFirstValues(const SecondOrder& head, DifferenceRule& rule) {
  if (head.order == 0) return size_t{0};
  if (head.order > kMaxDifferences) {
    return model::Unsupported("spatial differencing of order {}", head.order);
  }
  if (head.first_bits == 0 || head.first_bits > kMaxGribBits) {
    return model::Corrupt("first values of {} bits", head.first_bits);
  }
  ListCutter cutter(head.first);
  NDLFS_TRY(GribBitList list, cutter.Cut(head.order + 1, head.first_bits));
  rule.order = head.order;
  for (unsigned i = 0; i < head.order; ++i) rule.first[i] = list.Next();
  const uint64_t bias = list.Next(), sign = uint64_t{1} << (head.first_bits - 1);
  rule.bias = (bias & sign) != 0 ? -(bias & (sign - 1)) : bias;
  return head.first.size() - cutter.rest().size();
}

// Lists of widths, lengths and references.
template <typename T>
model::Result<void> UnpackExtended(const GribPacked& packed, const SecondOrder& head,
                                   std::span<T> out) {
  if (head.groups > out.size()) {
    return model::Corrupt("{} groups for {} values", head.groups, out.size());
  }
  DifferenceRule rule;
  NDLFS_TRY(const size_t first, ReadFirstValues(head, rule));
  ListCutter lists(packed.edition == 1 ? head.lists.subspan(first) : head.lists);
  NDLFS_TRY(GribBitList widths, lists.Cut(head.groups, head.width_bits));
  NDLFS_TRY(GribBitList lengths, lists.Cut(head.groups, head.length_bits));
  NDLFS_TRY(GribBitList references, lists.Cut(head.groups, head.reference_bits));
  GroupUnpacker<T> unpacker(packed.packing, lists.rest(), rule, MissingRule::kNone, out);
  NDLFS_RETURN_IF_ERROR(unpacker.AddFirstValues());
  for (uint64_t i = 0; i < head.groups; ++i) {
    NDLFS_RETURN_IF_ERROR(unpacker.Add(references.Next(), widths.Next(), lengths.Next()));
  }
  if (unpacker.values_left() == 0) return {};
  return model::Corrupt("groups of {} values, expected {}", out.size() - unpacker.values_left(),
                        out.size());
}

// The lengths of the groups that the bits of a list begin.
model::Result<std::vector<uint32_t>> LengthsOfBits(GribBitList bits, uint64_t values,
                                                   uint64_t groups) {
  std::vector<uint32_t> lengths;
  lengths.reserve(groups);
  for (uint64_t i = 0; i < values; ++i) {
    if (bits.Next() != 0) {
      if (lengths.size() == groups) return model::Corrupt("more than {} groups", groups);
      lengths.push_back(0);
    }
    if (lengths.empty()) return model::Corrupt("a value before the first group");
    ++lengths.back();
  }
  if (lengths.size() == groups) return lengths;
  return model::Corrupt("{} groups, expected {}", lengths.size(), groups);
}

// One group a row, or groups that a bitmap of the values begins.
template <typename T>
model::Result<void> UnpackOriginal(const GribPacked& packed, const SecondOrder& head,
                                   std::span<T> out) {
  if (head.groups > out.size()) {
    return model::Corrupt("{} groups for {} values", head.groups, out.size());
  }
  ListCutter lists(head.lists);
  NDLFS_TRY(GribBitList widths, lists.Cut(head.has_widths ? head.groups : 1, 8));
  const uint64_t only_width = head.has_widths ? 0 : widths.Next();
  std::vector<uint32_t> lengths;
  if (head.has_bitmap) {
    NDLFS_TRY(const GribBitList bits, lists.Cut(out.size(), 1));
    NDLFS_TRY(lengths, LengthsOfBits(bits, out.size(), head.groups));
  } else {
    if (!packed.rows) return model::Unsupported("second order packing of rows in this grid");
    lengths = *packed.rows;
  }
  if (lengths.size() != head.groups) {
    return model::Corrupt("{} groups for {} rows", head.groups, lengths.size());
  }
  NDLFS_TRY(GribBitList references, lists.Cut(head.groups, head.reference_bits));
  GroupUnpacker<T> unpacker(packed.packing, lists.rest(), {}, MissingRule::kNone, out);
  for (uint64_t i = 0; i < head.groups; ++i) {
    const uint64_t width = head.has_widths ? widths.Next() : only_width;
    NDLFS_RETURN_IF_ERROR(unpacker.Add(references.Next(), width, lengths[i]));
  }
  if (unpacker.values_left() == 0) return {};
  return model::Corrupt("rows of {} values, expected {}", out.size() - unpacker.values_left(),
                        out.size());
}

model::Result<SecondOrder> ReadSecondOrder(const GribPacked& packed) {
  return packed.edition == 1 ? ReadSecondOrder1(packed.data) : ReadSecondOrder2(packed);
}

}  // namespace

template <typename T>
model::Result<void> UnpackGribSecondOrder(const GribPacked& packed, std::span<T> out) {
  NDLFS_TRY(const SecondOrder head, ReadSecondOrder(packed));
  return head.is_extended ? UnpackExtended(packed, head, out)
                          : UnpackOriginal(packed, head, out);
}
template model::Result<void> UnpackGribSecondOrder(const GribPacked&, std::span<float>);
template model::Result<void> UnpackGribSecondOrder(const GribPacked&, std::span<double>);

bool TurnsGribRows(const GribPacking& packing, uint8_t edition) {
  if (packing.method != GribMethod::kSecondOrder) return false;
  const GribOctets in(*packing.section);
  if (edition == 1) return (in.U8(14) & kTurnedRows) != 0;
  return packing.template_number == 50002 && (in.U8(32) & 0x80) != 0;
}

bool IsGribRowByRow(const GribPacking& packing, uint8_t edition) {
  if (packing.method != GribMethod::kSecondOrder || edition != 1) return false;
  return (GribOctets(*packing.section).U8(14) & (kExtended | kSecondaryBitmap)) == 0;
}

}  // namespace ndlfs::backends
