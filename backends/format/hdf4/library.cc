// SPDX-License-Identifier: MIT
#include "backends/format/hdf4/library.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/hdf4/chunk_header.h"
#include "backends/format/hdf4/number_type.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

// htags.h, hdf.h, hcomp.h
constexpr uint16_t kSpecial = 0x4000, kData = 702, kOldGroup = 700, kGroup = 720,
                   kVgroup = 1965, kRasterImage = 302, kCompressedImage = 303,
                   kImageGroup = 306;
constexpr int32_t kRead = 1, kForward = 1, kFullInterlace = 0, kPixelInterlace = 0;
constexpr int kNone = 0, kDeflate = 4;
constexpr size_t kMostRank = 32;  // of libhdf4
// Names have 65,535 bytes at most: their lengths are stored in 16 bits.
constexpr size_t kNameBytes = 66'000;

constexpr const char* kUnknownCoding = "libhdf4 does not know how its elements are encoded";
constexpr const char* kUnknownPlace =
    "libhdf4 cannot tell where its elements are; they may be in another file";

constexpr uint64_t kMostPixelBytes = uint64_t{1} << 20;
constexpr uint64_t kMostAttributeBytes = uint64_t{16} << 20;
constexpr uint64_t kMostChunks = uint64_t{1} << 22;
constexpr size_t kMostGroups = 100'000;

std::string_view NameOfCoding(int coding) {
  constexpr std::array<std::string_view, 6> kNames = {"none",    "rle",     "nbit",
                                                      "skphuff", "deflate", "szip"};
  switch (coding) {
    case 7:
      return "jpeg";
    case 12:
      return "imcomp";
    default:
      return coding >= 0 && coding < 6 ? kNames[static_cast<size_t>(coding)] : "an unknown way";
  }
}

// A union of the library, of which only the beginning is of interest here.
template <typename T>
struct Union {
  std::array<T, 1024> values = {};
};

bool IsInternalClass(std::string_view name) {
  constexpr std::string_view kClasses[] = {"Var0.0",    "Dim0.0",  "UDim0.0",  "CDF0.0",
                                           "Attr0.0",   "DimVal0", "RIG0.0",   "RI0.0",
                                           "RIATTR0.0", "SDSVar",  "CoordVar", "_HDF_"};
  return std::ranges::any_of(kClasses,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

class Describer {
 public:
  Describer(const Functions& library, int descriptor, bool leaves_headers)
      : lib_(library),
        descriptor_(descriptor),
        leaves_headers_(leaves_headers),
        name_(kNameBytes) {}

  Result<FileInfo> Describe(const std::string& path) {
    sd_ = lib_.SDstart(path.c_str(), kRead);
    file_ = lib_.Hopen(path.c_str(), kRead, 0);
    if (sd_ < 0 || file_ < 0) return model::Corrupt("libhdf4 cannot open it");
    int32_t sets = 0, attributes = 0;
    if (lib_.SDfileinfo(sd_, &sets, &attributes) < 0) {
      return model::Corrupt("libhdf4 finds no list of data sets");
    }
    info_.attributes = Attributes(sd_, attributes, lib_.SDattrinfo, lib_.SDreadattr);
    if (lib_.Vinitialize(file_) < 0) return model::Corrupt("libhdf4 finds no groups");
    for (int32_t i = 0; i < sets; ++i) DescribeSet(i);
    DescribeImages();
    DescribeGroups();
    ListTables();
    return std::move(info_);
  }

 private:
  // `id` is a file, a set or an image.
  template <typename Info, typename Read>
  std::vector<AttributeInfo> Attributes(int32_t id, int32_t count, const Info& look,
                                        const Read& read) {
    std::vector<AttributeInfo> made;
    for (int32_t i = 0; i < count; ++i) {
      AttributeInfo attribute;
      int32_t values = 0;
      name_[0] = '\0';
      if (look(id, i, name_.data(), &attribute.number_type, &values) < 0) continue;
      attribute.name = name_.data();
      if (!MakeRoom(attribute, values)) continue;
      if (read(id, i, attribute.values.data()) < 0) continue;
      made.push_back(std::move(attribute));
    }
    return made;
  }

  static bool MakeRoom(AttributeInfo& attribute, int32_t count) {
    const auto type = TypeOf(attribute.number_type);
    if (!type || count < 0) return false;
    attribute.count = static_cast<uint64_t>(count);
    const uint64_t bytes = attribute.count * type->size();
    if (bytes > kMostAttributeBytes) return false;
    attribute.values.resize(bytes);
    return true;
  }

  void DescribeSet(int32_t index) {
    const int32_t set = lib_.SDselect(sd_, index);
    if (set < 0) return;
    ArrayInfo array;
    array.index = index;
    std::array<int32_t, kMostRank> extents = {};
    int32_t rank = 0, attributes = 0;
    name_[0] = '\0';
    const bool is_known = lib_.SDgetinfo(set, name_.data(), &rank, extents.data(),
                                         &array.number_type, &attributes) >= 0;
    if (is_known && rank >= 0 && static_cast<size_t>(rank) <= kMostRank) {
      array.name = name_.data();
      array.is_unlimited = rank > 0 && lib_.SDisrecord(set) == 1;
      array.is_coordinate = lib_.SDiscoordvar(set) == 1;
      for (int32_t d = 0; d < rank; ++d) {
        array.shape.push_back(static_cast<uint64_t>(std::max(extents[d], 0)));
      }
      array.attributes = Attributes(set, attributes, lib_.SDattrinfo, lib_.SDreadattr);
      NameDimensions(set, rank, array);
      FindElements(set, array);
      by_reference_.emplace(static_cast<uint16_t>(lib_.SDidtoref(set)), info_.arrays.size());
      info_.arrays.push_back(std::move(array));
    }
    lib_.SDendaccess(set);
  }

  void NameDimensions(int32_t set, int32_t rank, ArrayInfo& array) {
    for (int32_t d = 0; d < rank; ++d) {
      const int32_t dimension = lib_.SDgetdimid(set, d);
      int32_t size = 0, type = 0, attributes = 0;
      name_[0] = '\0';
      if (dimension >= 0) {
        lib_.SDdiminfo(dimension, name_.data(), &size, &type, &attributes);
      }
      array.dimensions.emplace_back(name_.data());
    }
  }

  void FindElements(int32_t set, ArrayInfo& array) {
    int coding = kNone;
    Union<int32_t> coding_info, chunk;
    int32_t flags = 0;
    const bool has_coding = lib_.SDgetcompinfo(set, &coding, &coding_info) >= 0;
    if (lib_.SDgetchunkinfo(set, &chunk, &flags) < 0) flags = 0;
    SetCoding(has_coding ? coding : kNone, array);
    if (IsExternal(set, array)) return;
    const auto data = ReferenceOfData(set);
    const Stored stored = data ? LookAt({kData, *data}) : Stored::kNothing;
    if (!has_coding && stored == Stored::kSpecial) {
      array.problem = kUnknownCoding;
      return;
    }
    constexpr int32_t kIsChunked = 1;
    bool is_found = false;
    if ((flags & kIsChunked) != 0) {
      for (size_t d = 0; d < array.shape.size(); ++d) {
        array.chunk.push_back(static_cast<uint64_t>(std::max(chunk.values[d], 0)));
      }
      is_found = FindChunks(set, array);
    } else {
      is_found = FindPieces(
          [&](unsigned most, int32_t* offsets, int32_t* bytes) {
            return lib_.SDgetdatainfo(set, nullptr, 0, most, offsets, bytes);
          },
          0, array);
    }
    if (!is_found && array.problem.empty()) array.problem = kUnknownPlace;
    const bool is_one = array.chunk.empty() && !array.chunks.empty();
    if (data && is_one && array.coding == ArrayInfo::Coding::kNone &&
        !HasItsBlocks({kData, *data})) {
      array.problem = "a block of its elements is missing";
    }
    if (array.problem.empty()) FindFill(set, array);
    // Nothing was written of a set that has an element only if the library says so, too.
    const bool has_elements = std::ranges::find(array.shape, 0U) == array.shape.end();
    const bool is_lost = has_elements && array.chunk.empty() && array.chunks.empty() &&
                         stored == Stored::kSpecial && array.fill.empty();
    if (array.problem.empty() && is_lost) array.problem = kUnknownPlace;
  }

  // Of an element of the file.
  struct Member {
    int32_t tag = 0, reference = 0;
  };
  enum class Stored : uint8_t { kNothing, kPlain, kSpecial };
  Stored LookAt(const Member& element) const {
    uint16_t tag = 0, reference = 0;
    int32_t offset = 0, bytes = 0;
    if (lib_.Hfind(file_, static_cast<uint16_t>(element.tag),
                   static_cast<uint16_t>(element.reference), &tag, &reference, &offset, &bytes,
                   kForward) < 0) {
      return Stored::kNothing;
    }
    // Its number was taken, and nothing was written.
    if (offset < 0 && bytes < 0) return Stored::kNothing;
    return (tag & kSpecial) != 0 ? Stored::kSpecial : Stored::kPlain;
  }

  static void SetCoding(int coding, ArrayInfo& array) {
    array.coding = coding == kNone      ? ArrayInfo::Coding::kNone
                   : coding == kDeflate ? ArrayInfo::Coding::kDeflate
                                        : ArrayInfo::Coding::kByLibrary;
    array.coding_name = NameOfCoding(coding);
  }

  bool IsExternal(int32_t set, ArrayInfo& array) {
    int32_t offset = 0, length = 0;
    std::array<char, 4096> file = {};
    const int size =
        lib_.SDgetexternalinfo(set, file.size() - 1, file.data(), &offset, &length);
    if (size <= 0) return false;
    array.problem = std::string("its elements are in another file, ") + file.data();
    return true;
  }

  // Adds the chunk `number`, unless nothing is stored of it.
  template <typename Ask>
  static bool FindPieces(const Ask& ask, uint64_t number, ArrayInfo& array) {
    constexpr size_t kFew = 4;
    std::vector<int32_t> offsets(kFew), bytes(kFew);
    int count = ask(kFew, offsets.data(), bytes.data());
    if (count < 0) return false;
    if (static_cast<size_t>(count) == kFew) {
      count = ask(0, nullptr, nullptr);
      if (count < 0 || static_cast<uint64_t>(count) > kMostChunks) return false;
      offsets.assign(static_cast<size_t>(count) + 1, 0);
      bytes = offsets;
      count = ask(static_cast<unsigned>(count), offsets.data(), bytes.data());
    }
    StoredChunk chunk;
    chunk.number = number;
    for (size_t i = 0; i < std::min(static_cast<size_t>(std::max(count, 0)), offsets.size());
         ++i) {
      if (offsets[i] < 0 || bytes[i] < 0) return false;
      chunk.pieces.push_back(
          {static_cast<uint64_t>(offsets[i]), static_cast<uint64_t>(bytes[i])});
    }
    if (!chunk.pieces.empty()) array.chunks.push_back(std::move(chunk));
    return true;
  }

  // The number that the data have in the file: the group of the set says it.
  std::optional<uint16_t> ReferenceOfData(int32_t set) {
    const auto group = static_cast<uint16_t>(lib_.SDidtoref(set));
    // The library goes by the group of the variable, if there is one.
    if (!data_of_variables_) data_of_variables_ = ReadVariables();
    const auto found = data_of_variables_->find(group);
    if (found != data_of_variables_->end()) return found->second;
    for (const uint16_t tag : {kGroup, kOldGroup}) {
      for (const Member& member : MembersOfElement(tag, group)) {
        if (member.tag == kData) return static_cast<uint16_t>(member.reference);
      }
    }
    return std::nullopt;
  }

  // The numbers of data by those of sets.
  std::map<uint16_t, uint16_t> ReadVariables() {
    std::map<uint16_t, uint16_t> variables;
    for (int32_t id = lib_.Vgetid(file_, -1); id >= 0; id = lib_.Vgetid(file_, id)) {
      const int32_t group = lib_.Vattach(file_, id, "r");
      if (group < 0) continue;
      name_[0] = '\0';
      lib_.Vgetclass(group, name_.data());
      const bool is_variable = std::string_view(name_.data()).starts_with("Var0.0");
      const auto members = is_variable ? MembersOf(group) : std::vector<Member>();
      lib_.Vdetach(group);
      const auto set = std::ranges::find(members, kGroup, &Member::tag);
      const auto data = std::ranges::find(members, kData, &Member::tag);
      if (set == members.end() || data == members.end()) continue;
      variables.emplace(static_cast<uint16_t>(set->reference),
                        static_cast<uint16_t>(data->reference));
    }
    return variables;
  }

  // Of an old group: its element is a list of tags and references.
  std::vector<Member> MembersOfElement(uint16_t tag, uint16_t reference) {
    const std::vector<uint8_t> list = ReadElement(tag, reference);
    std::vector<Member> members;
    for (size_t at = 0; at + 4 <= list.size(); at += 4) {
      members.push_back({Big16(&list[at]), Big16(&list[at + 2])});
    }
    return members;
  }

  std::vector<uint8_t> ReadElement(uint16_t tag, uint16_t reference) const {
    const int32_t bytes = lib_.Hlength(file_, tag, reference);
    if (bytes <= 0 || bytes > 1 << 20) return {};
    std::vector<uint8_t> element(static_cast<size_t>(bytes));
    if (lib_.Hgetelement(file_, tag, reference, element.data()) < 0) return {};
    return element;
  }

  // Whether all blocks are there of an element in linked blocks. For one that is not, libhdf4
  // tells the place of any other. Tables list the blocks; each begins with the reference of the
  // next table. The header has the length of all, and ends with the reference of the first one.
  bool HasItsBlocks(const Member& element) const {
    constexpr uint16_t kLinked = 1, kLinkTable = 20;
    uint16_t tag = 0, reference = 0;
    int32_t offset = 0, bytes = 0;
    if (lib_.Hfind(file_, static_cast<uint16_t>(element.tag),
                   static_cast<uint16_t>(element.reference), &tag, &reference, &offset, &bytes,
                   kForward) < 0 ||
        (tag & kSpecial) == 0) {
      return true;
    }
    std::array<uint8_t, 16> head = {};
    const auto place = static_cast<uint64_t>(std::max(offset, 0));
    if (!ReadAt(place, head.data(), 2) || Big16(head.data()) != kLinked) return true;
    if (!ReadAt(place, head.data(), head.size())) return false;
    std::set<uint16_t> seen;
    int64_t left = int64_t{Big16(&head[2])} << 16 | Big16(&head[4]);
    for (uint16_t table = Big16(&head[14]); left > 0;) {
      const auto blocks = ReadElement(kLinkTable, table);
      if (blocks.size() < 4 || !seen.insert(table).second) return false;
      for (size_t at = 2; at + 2 <= blocks.size() && left > 0; at += 2) {
        const uint16_t block = Big16(&blocks[at]);
        const int32_t size = block == 0 ? -1 : lib_.Hlength(file_, kLinkTable, block);
        if (size <= 0) return false;
        left -= size;
      }
      table = Big16(blocks.data());
    }
    return true;
  }

  static uint16_t Big16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }

  // The reference of the Vdata that lists the chunks, which the description of the special
  // element has behind 25 bytes: its kind and length, a version, flags, and four sizes.
  std::optional<uint16_t> ReferenceOfTable(uint16_t data) {
    uint16_t tag = 0, reference = 0;
    int32_t offset = 0, bytes = 0;
    if (lib_.Hfind(file_, kSpecial | kData, data, &tag, &reference, &offset, &bytes, kForward) <
        0) {
      return std::nullopt;
    }
    constexpr uint16_t kChunked = 5;
    std::array<uint8_t, 27> head = {};
    if (offset < 0 || !ReadAt(static_cast<uint64_t>(offset), head.data(), head.size()) ||
        Big16(head.data()) != kChunked) {
      return std::nullopt;
    }
    return Big16(&head[25]);
  }

  // The sandbox has no pread().
  bool ReadAt(uint64_t offset, void* bytes, size_t count) const {
    const auto at = static_cast<off_t>(offset);
    return ::lseek(descriptor_, at, SEEK_SET) == at &&
           ::read(descriptor_, bytes, count) == static_cast<ssize_t>(count);
  }

  bool FindChunks(int32_t set, ArrayInfo& array) {
    const auto data = ReferenceOfData(set);
    if (!data) return true;  // nothing was written
    const auto table = ReferenceOfTable(*data);
    if (!table) return false;
    const int32_t list = lib_.VSattach(file_, *table, "r");
    if (list < 0) return false;
    const bool is_read = ReadTable(list, array);
    lib_.VSdetach(list);
    std::ranges::sort(array.chunks, {}, &StoredChunk::number);
    return is_read;
  }

  // Each record of the table has the place of a chunk in the grid, and its tag and reference.
  bool ReadTable(int32_t list, ArrayInfo& array) {
    const size_t rank = array.shape.size();
    std::vector<char> fields(kNameBytes);
    const int32_t count = lib_.VSelts(list);
    // A table without records has no fields for the library.
    if (count == 0) return true;
    if (count < 0 || static_cast<uint64_t>(count) > kMostChunks ||
        lib_.VSgetfields(list, fields.data()) < 0 ||
        lib_.VSsetfields(list, fields.data()) < 0) {
      return false;
    }
    const size_t record = rank * 4 + 4;
    const int32_t stored = lib_.VSsizeof(list, fields.data());
    if (stored < 0 || static_cast<size_t>(stored) != record) return false;
    std::vector<uint8_t> records(record * static_cast<size_t>(count));
    if (lib_.VSread(list, records.data(), count, kFullInterlace) != count) return false;
    for (size_t at = 0; at < records.size(); at += record) {
      if (!AddChunk(&records[at], array)) return false;
    }
    return true;
  }

  bool AddChunk(const uint8_t* record, ArrayInfo& array) {
    const size_t rank = array.shape.size();
    uint64_t number = 0;
    for (size_t d = 0; d < rank; ++d) {
      int32_t index;
      std::memcpy(&index, record + 4 * d, sizeof(index));
      if (array.chunk[d] == 0 || index < 0) return false;
      const uint64_t counts = (array.shape[d] + array.chunk[d] - 1) / array.chunk[d];
      // Chunks beyond the end are of no interest.
      if (static_cast<uint64_t>(index) >= counts) return true;
      const auto product = CheckedMultiply(number, counts);
      if (!product) return false;
      number = *product + static_cast<uint64_t>(index);
    }
    uint16_t tag, reference;
    std::memcpy(&tag, record + 4 * rank, sizeof(tag));
    std::memcpy(&reference, record + 4 * rank + 2, sizeof(reference));
    if (tag <= 1) return true;  // DFTAG_NULL
    const auto header = HeaderOf(tag, reference);
    if (leaves_headers_ && header) {
      array.chunks.push_back({number, {}, *header});
      return true;
    }
    if (!HasCodingOf(array, header)) return false;
    return FindPieces(
        [&](unsigned most, int32_t* offsets, int32_t* bytes) {
          return lib_.HDgetdatainfo(file_, tag, reference, nullptr, 0, most, offsets, bytes);
        },
        number, array);
  }

  // Nullopt if the chunk has none: its bytes are its elements.
  std::optional<Piece> HeaderOf(uint16_t tag, uint16_t reference) {
    uint16_t found_tag = 0, found_reference = 0;
    int32_t offset = 0, bytes = 0;
    if (lib_.Hfind(file_, kSpecial | tag, reference, &found_tag, &found_reference, &offset,
                   &bytes, kForward) < 0 ||
        found_tag != (kSpecial | tag) || offset < 0 || bytes <= 0) {
      return std::nullopt;
    }
    return Piece{static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)};
  }

  // Whether a chunk is encoded as its array says, and if not, has a problem noted.
  bool HasCodingOf(ArrayInfo& array, const std::optional<Piece>& header) {
    if (array.coding == ArrayInfo::Coding::kByLibrary) return true;
    if (!header) {
      const bool is_plain = array.coding == ArrayInfo::Coding::kNone;
      if (!is_plain) array.problem = "a chunk is not encoded, and the array says it is";
      return is_plain;
    }
    std::array<std::byte, kChunkHeaderBytes> head = {};
    const bool is_read =
        header->bytes >= head.size() && ReadAt(header->offset, head.data(), head.size());
    const auto checked =
        CheckCoding(is_read ? ConstByteSpan(head) : ConstByteSpan(), array.coding);
    if (!checked) array.problem = checked.error().message();
    return checked.has_value();
  }

  // The library itself is asked for an element where nothing is stored.
  void FindFill(int32_t set, ArrayInfo& array) {
    const auto type = TypeOf(array.number_type);
    const auto absent = FirstAbsent(array);
    if (!type || !absent) return;
    std::vector<int32_t> start(*absent), count(start.size(), 1);
    std::string element(type->size(), '\0');
    if (lib_.SDreaddata(set, start.data(), nullptr, count.data(), element.data()) >= 0) {
      array.fill = std::move(element);
    }
  }

  // An element of the first chunk of which nothing is stored.
  static std::optional<std::vector<int32_t>> FirstAbsent(const ArrayInfo& array) {
    for (const uint64_t extent : array.shape) {
      if (extent == 0) return std::nullopt;
    }
    std::vector<int32_t> start(array.shape.size());
    if (array.chunk.empty()) {
      return array.chunks.empty() ? std::optional(start) : std::nullopt;
    }
    uint64_t number = 0;
    for (const StoredChunk& chunk : array.chunks) {
      if (chunk.number != number) break;
      ++number;
    }
    for (size_t d = array.shape.size(); d-- > 0;) {
      const uint64_t counts = (array.shape[d] + array.chunk[d] - 1) / array.chunk[d];
      start[d] = static_cast<int32_t>(number % counts * array.chunk[d]);
      number /= counts;
    }
    return number == 0 ? std::optional(start) : std::nullopt;
  }

  void DescribeImages() {
    const int32_t images = lib_.GRstart(file_);
    int32_t count = 0, attributes = 0;
    if (images < 0 || lib_.GRfileinfo(images, &count, &attributes) < 0) return;
    for (auto& attribute : Attributes(images, attributes, lib_.GRattrinfo, lib_.GRgetattr)) {
      info_.attributes.push_back(std::move(attribute));
    }
    for (int32_t i = 0; i < count; ++i) {
      const int32_t image = lib_.GRselect(images, i);
      if (image < 0) continue;
      DescribeImage(image, i);
      lib_.GRendaccess(image);
    }
  }

  void DescribeImage(int32_t image, int32_t index) {
    ArrayInfo array;
    array.kind = ArrayInfo::Kind::kImage;
    array.index = index;
    int32_t components = 0, interlace = 0, attributes = 0;
    std::array<int32_t, 2> extents = {};
    name_[0] = '\0';
    if (lib_.GRgetiminfo(image, name_.data(), &components, &array.number_type, &interlace,
                         extents.data(), &attributes) < 0) {
      return;
    }
    array.name = name_.data();
    for (const int32_t extent : {extents[1], extents[0], components}) {
      array.shape.push_back(static_cast<uint64_t>(std::max(extent, 0)));
    }
    array.dimensions = {"", "", ""};
    if (components == 1) {
      array.shape.pop_back();
      array.dimensions.pop_back();
    }
    array.attributes = Attributes(image, attributes, lib_.GRattrinfo, lib_.GRgetattr);
    int coding = kNone;
    Union<int32_t> coding_info, chunk;
    int32_t flags = 0;
    const bool has_coding = lib_.GRgetcompinfo(image, &coding, &coding_info) >= 0;
    if (lib_.GRgetchunkinfo(image, &chunk, &flags) < 0) flags = 0;
    SetCoding(has_coding ? coding : kNone, array);
    const bool is_plain = flags <= 0 && (components == 1 || interlace == kPixelInterlace) &&
                          FindPieces(
                              [&](unsigned most, int32_t* offsets, int32_t* bytes) {
                                return lib_.GRgetdatainfo(image, 0, most, offsets, bytes);
                              },
                              0, array);
    if (!is_plain) {
      array.problem = "a raster image in chunks, or with separate components";
    } else {
      CheckImage(image, has_coding, array);
    }
    info_.arrays.push_back(std::move(array));
  }

  void CheckImage(int32_t image, bool has_coding, ArrayInfo& array) {
    const auto [is_listed, element] = ElementOfImage(image);
    const Stored stored = element ? LookAt(*element) : Stored::kNothing;
    const bool may_be_special = !is_listed || stored == Stored::kSpecial;
    if (!has_coding && may_be_special) {
      array.problem = kUnknownCoding;
    } else if (stored == Stored::kSpecial && array.coding == ArrayInfo::Coding::kNone &&
               !HasItsBlocks(*element)) {
      array.problem = "a block of its elements is missing";
    } else if (array.chunks.empty()) {
      // Nothing was written of it if the library says so.
      FindFillOfImage(image, array);
      const bool is_known = is_listed && (stored == Stored::kNothing || !array.fill.empty());
      if (!is_known && array.problem.empty()) array.problem = kUnknownPlace;
    }
  }

  // The library itself is asked for a pixel of an image of which nothing is stored.
  void FindFillOfImage(int32_t image, ArrayInfo& array) {
    const auto type = TypeOf(array.number_type);
    if (!type || array.shape[0] == 0 || array.shape[1] == 0) return;
    const uint64_t components = array.shape.size() == 3 ? array.shape[2] : 1;
    const auto bytes = CheckedMultiply(components, type->size());
    if (components == 0 || !bytes || *bytes > kMostPixelBytes) return;
    std::string pixel(*bytes, '\0');
    int32_t start[] = {0, 0}, count[] = {1, 1};
    if (lib_.GRreqimageil(image, kPixelInterlace) < 0 ||
        lib_.GRreadimage(image, start, nullptr, count, pixel.data()) < 0) {
      return;
    }
    array.fill = pixel.substr(0, type->size());
    for (size_t at = 0; at < pixel.size(); at += type->size()) {
      if (pixel.compare(at, type->size(), array.fill) == 0) continue;
      array.problem = "nothing is stored of it, and its fill values differ by component";
    }
  }

  struct ImageElement {
    bool is_listed = false;              // the file says which element an image has
    std::optional<Member> element = {};  // if there is one
  };
  ImageElement ElementOfImage(int32_t image) {
    const uint16_t reference = lib_.GRidtoref(image);
    std::vector<Member> members = MembersOfElement(kImageGroup, reference);
    const int32_t group = lib_.Vattach(file_, reference, "r");
    if (group >= 0) {
      name_[0] = '\0';
      lib_.Vgetclass(group, name_.data());
      if (std::string_view(name_.data()).starts_with("RI0.0")) {
        for (const Member& member : MembersOf(group)) members.push_back(member);
      }
      lib_.Vdetach(group);
    }
    if (members.empty()) return {};
    for (const Member& member : members) {
      const bool is_image = member.tag == kRasterImage || member.tag == kCompressedImage;
      if (is_image && LookAt(member) != Stored::kNothing) return {true, member};
    }
    return {true, {}};
  }

  void DescribeGroups() {
    std::map<int32_t, std::vector<Member>> members;  // by the index of the group
    std::map<int32_t, uint64_t> groups;              // by reference
    for (int32_t id = lib_.Vgetid(file_, -1); id >= 0 && info_.groups.size() < kMostGroups;
         id = lib_.Vgetid(file_, id)) {
      const int32_t group = lib_.Vattach(file_, id, "r");
      if (group < 0) continue;
      GroupInfo made;
      name_[0] = '\0';
      uint16_t length = 0;
      if (lib_.Vgetclassnamelen(group, &length) >= 0 && length > 0) {
        lib_.Vgetclass(group, name_.data());
      }
      made.class_name = name_.data();
      if (!IsInternalClass(made.class_name)) {
        name_[0] = '\0';
        if (lib_.Vgetnamelen(group, &length) >= 0 && length > 0) {
          lib_.Vgetname(group, name_.data());
        }
        made.name = name_.data();
        made.attributes = AttributesOfGroup(group);
        const auto index = static_cast<int32_t>(info_.groups.size());
        members[index] = MembersOf(group);
        groups.emplace(id, info_.groups.size());
        info_.groups.push_back(std::move(made));
      }
      lib_.Vdetach(group);
    }
    for (const auto& [index, list] : members) {
      GroupInfo& group = info_.groups[static_cast<size_t>(index)];
      for (const Member& member : list) AddMember(member, groups, group);
    }
  }

  void AddMember(const Member& member, const std::map<int32_t, uint64_t>& groups,
                 GroupInfo& group) {
    if (member.tag == kVgroup) {
      const auto found = groups.find(member.reference);
      if (found != groups.end()) group.groups.push_back(found->second);
    } else if (member.tag == kGroup || member.tag == kOldGroup) {
      const auto found = by_reference_.find(static_cast<uint16_t>(member.reference));
      if (found != by_reference_.end()) group.arrays.push_back(found->second);
    }
  }

  std::vector<AttributeInfo> AttributesOfGroup(int32_t group) {
    int32_t size = 0;
    const auto look = [&](int32_t id, int32_t i, char* name, int32_t* type, int32_t* count) {
      return lib_.Vattrinfo(id, i, name, type, count, &size);
    };
    const auto read = [&](int32_t id, int32_t i, void* values) {
      return lib_.Vgetattr(id, i, values);
    };
    return Attributes(group, lib_.Vnattrs(group), look, read);
  }

  std::vector<Member> MembersOf(int32_t group) {
    const int32_t count = lib_.Vntagrefs(group);
    if (count <= 0 || count > 1 << 20) return {};
    std::vector<int32_t> tags(static_cast<size_t>(count)), references(tags.size());
    const int32_t found = lib_.Vgettagrefs(group, tags.data(), references.data(), count);
    std::vector<Member> members;
    for (int32_t i = 0; i < std::min(found, count); ++i) {
      const auto at = static_cast<size_t>(i);
      members.push_back({tags[at], references[at]});
    }
    return members;
  }

  void ListTables() {
    for (int32_t id = lib_.VSgetid(file_, -1); id >= 0 && info_.tables.size() < kMostGroups;
         id = lib_.VSgetid(file_, id)) {
      const int32_t table = lib_.VSattach(file_, id, "r");
      if (table < 0) continue;
      name_[0] = '\0';
      lib_.VSgetclass(table, name_.data());
      if (!IsInternalClass(name_.data())) {
        name_[0] = '\0';
        lib_.VSgetname(table, name_.data());
        info_.tables.emplace_back(name_.data());
      }
      lib_.VSdetach(table);
    }
  }

  const Functions& lib_;
  const int descriptor_;
  const bool leaves_headers_;
  std::vector<char> name_;  // for one name at a time
  int32_t sd_ = -1, file_ = -1;
  std::map<uint16_t, uint64_t> by_reference_;  // arrays
  std::optional<std::map<uint16_t, uint16_t>> data_of_variables_;
  FileInfo info_;
};

// Files are closed after each question: others of their bytes are there at the next one, and
// the C library would not look at them again.
class OpenIds {
 public:
  explicit OpenIds(const Functions& lib) : lib_(lib) {}
  OpenIds(const OpenIds&) = delete;
  OpenIds& operator=(const OpenIds&) = delete;
  ~OpenIds() {
    if (sets >= 0) lib_.SDend(sets);
    if (images >= 0) lib_.GRend(images);
    if (file >= 0) lib_.Hclose(file);
  }
  int32_t sets = -1, images = -1, file = -1;

 private:
  const Functions& lib_;
};

Result<std::string> ReadSet(const Functions& lib, const std::string& path,
                            const BlockRequest& block, std::string elements) {
  std::vector<int32_t> start(block.start.begin(), block.start.end());
  std::vector<int32_t> count(block.count.begin(), block.count.end());
  OpenIds ids(lib);
  ids.sets = lib.SDstart(path.c_str(), kRead);
  const int32_t set = ids.sets < 0 ? ids.sets : lib.SDselect(ids.sets, block.index);
  // The library reads as many numbers as the set has dimensions.
  std::array<int32_t, kMostRank> extents = {};
  std::vector<char> name(kNameBytes);
  int32_t rank = 0, type = 0, attributes = 0;
  const bool is_known = set >= 0 && lib.SDgetinfo(set, name.data(), &rank, extents.data(),
                                                  &type, &attributes) >= 0;
  const auto element = TypeOf(type);
  if (!is_known || !element || static_cast<size_t>(rank) != start.size() ||
      CheckedProduct(block.count, element->size()) != block.bytes) {
    return model::Corrupt("the data set is not what it was");
  }
  const int done = lib.SDreaddata(set, start.data(), nullptr, count.data(), elements.data());
  int coding = kNone;
  Union<int32_t> coding_info;
  if (done < 0) lib.SDgetcompinfo(set, &coding, &coding_info);
  lib.SDendaccess(set);
  if (done < 0) return model::Corrupt("libhdf4 cannot decode it ({})", NameOfCoding(coding));
  return elements;
}

Result<std::string> ReadImage(const Functions& lib, const std::string& path,
                              const BlockRequest& block, std::string elements) {
  OpenIds ids(lib);
  ids.file = lib.Hopen(path.c_str(), kRead, 0);
  ids.images = ids.file < 0 ? ids.file : lib.GRstart(ids.file);
  const int32_t image = ids.images < 0 ? ids.images : lib.GRselect(ids.images, block.index);
  std::vector<char> name(kNameBytes);
  int32_t components = 0, type = 0, interlace = 0, attributes = 0;
  std::array<int32_t, 2> extents = {};
  const bool is_known =
      image >= 0 && lib.GRgetiminfo(image, name.data(), &components, &type, &interlace,
                                    extents.data(), &attributes) >= 0;
  const auto element = TypeOf(type);
  const uint64_t last = block.count.size() == 3 ? block.count[2] : 1;
  if (!is_known || !element || block.count.size() < 2 || components < 0 ||
      static_cast<uint64_t>(components) != last ||
      CheckedProduct(block.count, element->size()) != block.bytes) {
    return model::Corrupt("the image is not what it was");
  }
  int32_t start[] = {static_cast<int32_t>(block.start[1]),
                     static_cast<int32_t>(block.start[0])};
  int32_t count[] = {static_cast<int32_t>(block.count[1]),
                     static_cast<int32_t>(block.count[0])};
  const bool is_read = lib.GRreqimageil(image, kPixelInterlace) >= 0 &&
                       lib.GRreadimage(image, start, nullptr, count, elements.data()) >= 0;
  int coding = kNone;
  Union<int32_t> coding_info;
  if (!is_read) lib.GRgetcompinfo(image, &coding, &coding_info);
  lib.GRendaccess(image);
  if (!is_read) return model::Corrupt("libhdf4 cannot decode it ({})", NameOfCoding(coding));
  return elements;
}

}  // namespace

Result<FileInfo> DescribeFile(const Functions& library, const std::string& path, int descriptor,
                              bool leaves_headers) {
  return Describer(library, descriptor, leaves_headers).Describe(path);
}

Result<std::string> ReadElements(const Functions& library, const std::string& path,
                                 const BlockRequest& block) {
  if (block.start.size() != block.count.size() || block.start.size() > kMostRank) {
    return model::Internal("a block without a place");
  }
  std::string elements(block.bytes, '\0');
  return block.kind == ArrayInfo::Kind::kDataSet
             ? ReadSet(library, path, block, std::move(elements))
             : ReadImage(library, path, block, std::move(elements));
}

}  // namespace ndlfs::backends::hdf4
