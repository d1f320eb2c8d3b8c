// SPDX-License-Identifier: MIT
//
// NIfTI-1 and NIfTI-2, by nifti1.h and nifti2.h: a binary header, and elements whose first
// dimension varies fastest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/format/foreign/header_format.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/foreign/nifti_place.h"
#include "backends/store/file_name.h"
#include "backends/store/zip/inflated_store.h"

namespace ndlfs::backends::foreign {
namespace {

using model::BadInput;
using model::ByteOrder;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr size_t kFirstSize = 348;
constexpr size_t kSecondSize = 540;
constexpr size_t kMostNiftiAxes = 7;
constexpr std::string_view kGzip("\x1f\x8b", 2);

// Reads numbers at places of a header.
class Fields {
 public:
  Fields(std::string_view bytes, ByteOrder order) : bytes_(bytes), order_(order) {}

  template <typename T>
  T Get(size_t at) const {
    std::array<char, sizeof(T)> raw{};
    bytes_.copy(raw.data(), sizeof(T), at);
    if (order_ == ByteOrder::kBig) std::ranges::reverse(raw);
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::string_view Text(size_t at, size_t size) const {
    const std::string_view text = bytes_.substr(at, size);
    return text.substr(0, text.find('\0'));
  }
  ByteOrder order() const { return order_; }

 private:
  std::string_view bytes_;
  ByteOrder order_;
};

struct Kind {
  bool is_second = false;
  bool is_pair = false;  // the data are in another file
  ByteOrder order = ByteOrder::kLittle;
};

// nullopt for what is no NIfTI.
std::optional<Kind> KindOf(std::string_view head) {
  for (const ByteOrder order : {ByteOrder::kLittle, ByteOrder::kBig}) {
    const Fields fields(head, order);
    if (head.size() >= kFirstSize && fields.Get<int32_t>(0) == kFirstSize) {
      const std::string_view magic = head.substr(344, 4);
      if (magic == std::string_view("n+1\0", 4)) return Kind{false, false, order};
      if (magic == std::string_view("ni1\0", 4)) return Kind{false, true, order};
    }
    if (head.size() >= kSecondSize && fields.Get<int32_t>(0) == kSecondSize) {
      const std::string_view magic = head.substr(4, 8);
      if (magic == std::string_view("n+2\0\r\n\032\n", 8)) return Kind{true, false, order};
      if (magic == std::string_view("ni2\0\r\n\032\n", 8)) return Kind{true, true, order};
    }
  }
  return std::nullopt;
}

bool IsNifti(std::string_view head) { return KindOf(head).has_value(); }

// The header, of either version.
struct Header {
  Kind kind;
  std::vector<int64_t> lengths = {};  // of each dimension
  int16_t code = 0;
  int bits = 0;       // of an element, as the header says
  double offset = 0;  // of the first element, in bytes
  double slope = 0;
  double intercept = 0;
  std::vector<double> pixdim = {};  // 8 of them
  int units = 0;
  double first_time = 0;
  int qform = 0;
  int sform = 0;
  std::array<double, 3> quaternion{};
  std::array<double, 3> origin{};
  std::array<std::array<double, 4>, 3> affine{};  // by rows
  std::vector<model::Attribute> attributes = {};
};

// Places of the fields in one version, whose lengths are `Int` and whose numbers are `Real`.
struct Places {
  size_t dim, code, bits, pixdim, offset, slope, cal_max, slice_duration, toffset, descrip,
      qform, sform, quaternion, srow, intent_name, units, intent_code, intent, aux_file;
};
constexpr Places kFirst = {40,  70,  72,  76,  108, 112, 124, 132, 136, 148,
                           252, 254, 256, 280, 328, 123, 68,  56,  228};
constexpr Places kSecond = {16,  12,  14,  104, 168, 176, 192, 208, 216, 240,
                            344, 348, 352, 400, 508, 500, 504, 80,  320};

// FreeSurfer writes vectors over surfaces, whose lengths are more than 16 bits hold: -1 x 1 x 1
// with the length in `glmin`, and those of its finest sphere as 27307 x 1 x 6.
void AdjustLongLengths(const Fields& fields, std::vector<int64_t>& lengths) {
  constexpr size_t kGlmin = 144;
  constexpr int64_t kFinest = 163842;
  const auto begins = [&](int64_t x, int64_t y, int64_t z) {
    return lengths.size() >= 3 && lengths[0] == x && lengths[1] == y && lengths[2] == z;
  };
  const auto length = static_cast<int64_t>(fields.Get<int32_t>(kGlmin));
  if (begins(-1, 1, 1) && length > 0) lengths[0] = length;
  if (begins(kFinest / 6, 1, 6)) {
    lengths[0] = kFinest;
    lengths[2] = 1;
  }
}

template <typename Int, typename Real, typename Code, typename Offset>
Result<Header> ReadFields(const Fields& fields, const Kind& kind, const Places& at) {
  Header header{.kind = kind};
  const auto real = [&](size_t place, size_t index) {
    return static_cast<double>(fields.Get<Real>(place + index * sizeof(Real)));
  };
  const auto rank = static_cast<int64_t>(fields.Get<Int>(at.dim));
  if (rank < 1 || rank > static_cast<int64_t>(kMostNiftiAxes)) {
    return BadInput("dim[0]: expected 1 to {}, found {}", kMostNiftiAxes, rank);
  }
  for (int64_t i = 1; i <= rank; ++i) {
    const auto n = static_cast<size_t>(i);
    header.lengths.push_back(static_cast<int64_t>(fields.Get<Int>(at.dim + n * sizeof(Int))));
  }
  if (!kind.is_second) AdjustLongLengths(fields, header.lengths);
  for (size_t i = 0; i < header.lengths.size(); ++i) {
    if (header.lengths[i] < 0) return BadInput("dim[{}]: {}", i + 1, header.lengths[i]);
  }
  header.code = fields.Get<int16_t>(at.code);
  header.bits = fields.Get<int16_t>(at.bits);
  header.offset = static_cast<double>(fields.Get<Offset>(at.offset));
  header.slope = real(at.slope, 0);
  header.intercept = real(at.slope, 1);
  for (size_t i = 0; i <= kMostNiftiAxes; ++i) header.pixdim.push_back(real(at.pixdim, i));
  header.units = kind.is_second ? fields.Get<int32_t>(at.units) : fields.Get<uint8_t>(at.units);
  header.first_time = real(at.toffset, 0);
  header.qform = static_cast<int>(fields.Get<Code>(at.qform));
  header.sform = static_cast<int>(fields.Get<Code>(at.sform));
  for (size_t i = 0; i < 3; ++i) {
    header.quaternion[i] = real(at.quaternion, i);
    header.origin[i] = real(at.quaternion, 3 + i);
    for (size_t j = 0; j < 4; ++j) header.affine[i][j] = real(at.srow, 4 * i + j);
  }
  auto& attributes = header.attributes;
  attributes.push_back(TextAttribute("descrip", fields.Text(at.descrip, 80)));
  attributes.push_back(TextAttribute("aux_file", fields.Text(at.aux_file, 24)));
  attributes.push_back(TextAttribute("intent_name", fields.Text(at.intent_name, 16)));
  attributes.push_back(IntegerAttribute("intent_code", fields.Get<Code>(at.intent_code)));
  attributes.push_back(
      RealsAttribute("intent_p", {real(at.intent, 0), real(at.intent, 1), real(at.intent, 2)}));
  attributes.push_back(RealAttribute("cal_max", real(at.cal_max, 0)));
  attributes.push_back(RealAttribute("cal_min", real(at.cal_max, 1)));
  attributes.push_back(RealAttribute("slice_duration", real(at.slice_duration, 0)));
  attributes.push_back(IntegerAttribute(
      "slice_code", kind.is_second ? fields.Get<int32_t>(496) : fields.Get<uint8_t>(122)));
  return header;
}

Result<Header> ReadHeader(std::string_view head) {
  const auto kind = KindOf(head);
  if (!kind) return BadInput("it does not begin with a header of NIfTI");
  const Fields fields(head, kind->order);
  NDLFS_TRY(Header header,
            kind->is_second
                ? (ReadFields<int64_t, double, int32_t, int64_t>(fields, *kind, kSecond))
                : (ReadFields<int16_t, float, int16_t, float>(fields, *kind, kFirst)));
  auto& attributes = header.attributes;
  attributes.push_back(RealsAttribute("pixdim", header.pixdim));
  attributes.push_back(IntegerAttribute("xyzt_units", header.units));
  attributes.push_back(IntegerAttribute("datatype", header.code));
  attributes.push_back(RealAttribute("scl_slope", header.slope));
  attributes.push_back(RealAttribute("scl_inter", header.intercept));
  attributes.push_back(RealAttribute("toffset", header.first_time));
  attributes.push_back(IntegerAttribute("qform_code", header.qform));
  attributes.push_back(IntegerAttribute("sform_code", header.sform));
  const auto& q = header.quaternion;
  attributes.push_back(RealsAttribute("quatern_bcd", {q.begin(), q.end()}));
  attributes.push_back(
      RealsAttribute("qoffset_xyz", {header.origin.begin(), header.origin.end()}));
  constexpr std::array<std::string_view, 3> kRows = {"srow_x", "srow_y", "srow_z"};
  for (size_t i = 0; i < 3; ++i) {
    const auto& row = header.affine[i];
    attributes.push_back(RealsAttribute(std::string(kRows[i]), {row.begin(), row.end()}));
  }
  return header;
}

NiftiPlace PlaceOf(const Header& header) {
  NiftiPlace place{header.qform, header.sform, header.quaternion, header.origin, header.affine};
  std::copy_n(header.pixdim.begin(), place.pixdim.size(), place.pixdim.begin());
  return place;
}

// Whether each axis is parallel to that of the space.
bool IsStraight(const Placement& placement) {
  constexpr double kRounding = 1e-6;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      const double value = placement.columns[j][i];
      const double most = kRounding * std::abs(placement.columns[i][i]);
      if (!std::isfinite(value) || (i != j && std::abs(value) > most)) return false;
    }
  }
  return true;
}

std::string_view UnitOf(int units, size_t axis) {
  if (axis < 3) return LengthUnitOfNifti(units);
  switch (axis == 3 ? units & 0x38 : 0) {
    case 8:
      return "s";
    case 16:
      return "ms";
    case 24:
      return "us";
    case 32:
      return "Hz";
    case 40:
      return "ppm";
    case 48:
      return "rad s-1";
    default:
      return "";
  }
}

// The slowest first.
std::vector<Axis> AxesOf(const Header& header) {
  constexpr std::array<std::string_view, kMostNiftiAxes> kNames = {"x", "y", "z", "t",
                                                                   "u", "v", "w"};
  const Placement placement = PlacementOf(PlaceOf(header));
  const bool is_straight = IsStraight(placement);
  std::vector<Axis> axes;
  for (size_t d = 0; d < header.lengths.size(); ++d) {
    Axis axis{std::string(kNames[d]), static_cast<uint64_t>(header.lengths[d])};
    double first = d == 3 ? header.first_time : 0;
    double step = d < 3 ? 0 : header.pixdim[d + 1];
    if (d < 3 && is_straight) {
      first = placement.origin[d];
      step = placement.columns[d][d];
    }
    if (std::isfinite(first) && std::isfinite(step) && step != 0 && (d < 3 || step > 0)) {
      axis.coordinates = Coordinates{first, step};
      const std::string_view unit = UnitOf(header.units, d);
      if (!unit.empty()) axis.coordinates->attributes.push_back(TextAttribute("units", unit));
    }
    axes.insert(axes.begin(), std::move(axis));
  }
  return axes;
}

struct Elements {
  Datatype type;
  uint64_t channels = 1;
};

Result<Elements> ElementsOf(const Header& header) {
  const ByteOrder order = header.kind.order;
  switch (header.code) {
    case 2:
      return Elements{Datatype::Integer(1, false)};
    case 4:
      return Elements{Datatype::Integer(2, true, order)};
    case 8:
      return Elements{Datatype::Integer(4, true, order)};
    case 16:
      return Elements{Datatype::Float32(order)};
    case 32:
      return Elements{Datatype::Complex(8, order)};
    case 64:
      return Elements{Datatype::Float64(order)};
    case 128:
      return Elements{Datatype::Integer(1, false), 3};
    case 256:
      return Elements{Datatype::Integer(1, true)};
    case 512:
      return Elements{Datatype::Integer(2, false, order)};
    case 768:
      return Elements{Datatype::Integer(4, false, order)};
    case 1024:
      return Elements{Datatype::Integer(8, true, order)};
    case 1280:
      return Elements{Datatype::Integer(8, false, order)};
    case 1792:
      return Elements{Datatype::Complex(16, order)};
    case 2304:
      return Elements{Datatype::Integer(1, false), 4};
    default:
      return Unsupported("datatype {}", header.code);
  }
}

// Value = element * slope + intercept, if the slope is a number other than 0.
void AddScale(const Header& header, DescribedArray& array) {
  const double intercept = std::isfinite(header.intercept) ? header.intercept : 0;
  const bool is_scaled = std::isfinite(header.slope) && header.slope != 0;
  if (!is_scaled || (header.slope == 1 && intercept == 0)) return;
  array.attributes.push_back(RealAttribute("scale_factor", header.slope));
  array.attributes.push_back(RealAttribute("add_offset", intercept));
}

// Every field of the header but the two that its specification calls unused is read: of those
// that say where elements lie, "bitpix" repeats what "datatype" says. Readers go by the latter.
void NoteBits(const Header& header, const Elements& elements, Contents& contents) {
  const size_t bits = 8 * elements.type.size() * elements.channels;
  if (header.bits == 0 || static_cast<size_t>(header.bits) == bits) return;
  contents.AddNote(fmt::format("bitpix is {}; elements of datatype {} have {} bits",
                               header.bits, header.code, bits));
}

Result<uint64_t> OffsetOf(const Header& header) {
  constexpr double kMost = 1e18;
  const double least = header.kind.is_pair     ? 0
                       : header.kind.is_second ? kSecondSize
                                               : kFirstSize;
  const bool is_sound = header.offset >= least && header.offset < kMost &&
                        header.offset == std::floor(header.offset);
  if (is_sound) return static_cast<uint64_t>(header.offset);
  return BadInput("vox_offset: {}", header.offset);
}

// Opens the file with the data of a header that has none itself: .img, or .img.gz.
Result<DataFile> OpenImage(const HeaderFile& file, bool& is_compressed, Contents& contents) {
  const bool is_capital = file.path.ends_with(".HDR");
  const std::string name =
      std::string(StemOf(FileNameOf(file.path))) + (is_capital ? ".IMG" : ".img");
  const auto compressed = file.source->Resolve(file.path, name + ".gz");
  auto data = OpenDataFile(file, name, contents);
  is_compressed = !data && compressed && file.source->IsFile(*compressed);
  if (!is_compressed) return data;
  return OpenDataFile(file, name + ".gz", contents);
}

Result<std::shared_ptr<const ArraySource>> OpenData(const Header& header,
                                                    const DescribedArray& array,
                                                    bool is_compressed, const HeaderFile& file,
                                                    Contents& contents) {
  NDLFS_TRY(const uint64_t offset, OffsetOf(header));
  DataFile data;
  if (header.kind.is_pair) {
    NDLFS_TRY(data, OpenImage(file, is_compressed, contents));
  } else {
    NDLFS_TRY(data, DataInHeader(file));
  }
  if (!is_compressed) return MakeFileSource(array, data, offset);
  return MakeInflatedSource(array, data, 0, ByteRange::kToEnd, offset);
}

Result<void> ReadNifti(const HeaderFile& file, Contents& contents) {
  NDLFS_TRY(std::string head, ReadBeginning(*file.store, kSecondSize));
  const bool is_compressed = head.starts_with(kGzip);
  if (is_compressed) {
    NDLFS_TRY(const Bytes inflated, InflateBeginning(*file.store, {}, kSecondSize));
    head = AsText(inflated.span());
  }
  NDLFS_TRY(Header header, ReadHeader(head));
  contents.AddAttributes(header.attributes);
  DescribedArray array;
  array.name = ArrayNameOf(file.path);
  array.axes = AxesOf(header);
  NDLFS_TRY(const Elements elements, ElementsOf(header));
  array.stored = elements.type;
  NoteBits(header, elements, contents);
  if (elements.channels > 1) {
    array.axes.push_back({"channel", elements.channels});
  } else {
    AddScale(header, array);
  }
  return contents.AddArray(array, OpenData(header, array, is_compressed, file, contents));
}

}  // namespace

const HeaderReader kNifti = {.name = "NIfTI",
                             .extensions = {".hdr"},
                             .certain_extensions = {".nii", ".nii.gz"},
                             .is_content = &IsNifti,
                             .read = &ReadNifti};

}  // namespace ndlfs::backends::foreign
