// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_provider.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/format/netcdf3/layout.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/view_input.h"
#include "fs/view/dap/dap4_dataset.h"
#include "fs/view/dap/dap_text.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/elements/segmented_view.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"
#include "model/utf8.h"
#include "model/value.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::hdf5::NewAttribute;
using backends::hdf5::NewObject;
using backends::netcdf3::ValidName;
using model::Datatype;
using model::MutexLock;
using model::Result;
using model::Value;

using TypeKind = Datatype::Kind;

// The character that `bytes` are, in XML. It has all that data.h5 has, but for the control
// characters that XML does not allow; these become U+FFFD.
std::string XmlCharacter(std::string_view bytes) {
  const auto first = static_cast<unsigned char>(bytes[0]);
  switch (first) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\r':  // a parser would make '\n' of it
      return "&#13;";
    default:
      break;
  }
  const bool is_forbidden = (first < 0x20 && first != '\n' && first != '\t') ||
                            bytes == "\uFFFE" || bytes == "\uFFFF";
  return is_forbidden ? "\uFFFD" : std::string(bytes);
}

// `text` as the text of an element. Bytes that are not UTF-8 are taken as Latin-1, as in all
// other views.
std::string XmlText(std::string_view text) {
  const std::string sound = model::AsUtf8(text);
  std::string out;
  for (std::string_view rest = sound; !rest.empty();) {
    const size_t length = model::Utf8SequenceLength(rest);
    out += XmlCharacter(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return out;
}

// `text` as the value of an XML attribute; a parser makes blanks of other white space.
std::string AttributeText(std::string_view text) {
  std::string out;
  for (const char c : XmlText(text)) {
    if (c == '\n' || c == '\t') {
      out += fmt::format("&#{};", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// The values of an attribute as texts.
struct AttributeValues {
  std::string_view type;
  std::vector<std::string> values;
};

// netCDF-C 4.9 changes the last bits of attributes of type Float32, except in the way to a
// double. So these are Float64.
std::string_view AttributeTypeName(const Datatype& type) {
  if (type.kind() == TypeKind::kString) return "String";
  if (type.kind() == TypeKind::kEnum) return Dap4TypeName(type.base());
  return type.kind() == TypeKind::kFloat && type.size() <= sizeof(double) ? "Float64"
                                                                          : Dap4TypeName(type);
}

// nullopt for an element that is no number or text.
std::optional<std::string> ElementText(const Datatype& type, const Value& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.integer() != nullptr) return model::FormatInteger(*value.integer());
  if (value.real() == nullptr) return std::nullopt;
  // "nan", "inf" and "-inf", which all clients read.
  return type.size() == sizeof(double) || type.size() == sizeof(float)
             ? model::FormatFloat(*value.real(), false)
             : model::FormatFloat(type, *value.real(), false);
}

// Takes the first element from `rest`, which is as NewAttribute::data.
model::Result<Value> TakeValue(const Datatype& type, backends::ConstByteSpan& rest) {
  if (!type.is_fixed_size()) return backends::TakeElement(type, rest);
  if (type.size() == 0) return model::Unsupported("elements of 0 bytes");
  NDLFS_TRY(const auto bytes, backends::TakeBytes(rest, type.size()));
  return model::DecodeElement(type, bytes);
}

AttributeValues ValuesOf(const NewAttribute& attribute) {
  AttributeValues out{.type = AttributeTypeName(attribute.type), .values = {}};
  backends::ConstByteSpan rest(attribute.data);
  bool is_sound = true;
  while (!rest.empty()) {
    const auto value = TakeValue(attribute.type, rest);
    if (!value) break;
    std::optional<std::string> text;
    if (!out.type.empty()) text = ElementText(attribute.type, *value);
    is_sound = is_sound && text;
    out.values.push_back(text ? *std::move(text) : model::WriteFlow(*value, attribute.type));
  }
  if (!is_sound) out.type = "String";
  return out;
}

void WriteAttribute(std::string& out, std::string_view name, const AttributeValues& values) {
  fmt::format_to(std::back_inserter(out), "<Attribute name=\"{}\" type=\"{}\"",
                 AttributeText(ValidName(name)), values.type);
  // netCDF-C 4.9 reads this first, and takes entities and backslashes in elements for texts.
  const bool is_special = values.type == "String" && values.values.size() == 1 &&
                          values.values[0].find_first_of("<>&\"'\\") != std::string::npos;
  if (is_special) out += " value=\"" + AttributeText(values.values[0]) + '"';
  out += '>';
  for (const std::string& value : values.values) out += "<Value>" + XmlText(value) + "</Value>";
  out += "</Attribute>\n";
}

// Writes a DMR. Declarations come in the order that netCDF-C needs, which looks names up while
// it reads.
class DmrWriter {
 public:
  explicit DmrWriter(const Dap4Dataset& dataset) : dataset_(dataset) {
    for (uint32_t i = 1; i < objects().size(); ++i) children_[objects()[i].parent].push_back(i);
    for (const Dap4Variable& variable : dataset.variables) {
      variables_.emplace(variable.object, &variable);
      for (uint32_t group = objects()[variable.object].parent;;
           group = objects()[group].parent) {
        groups_.insert(group);
        if (group == 0) break;
      }
      NoteDimensions(variable);
    }
  }

  std::string Write() {
    out_ =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<Dataset xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" dapVersion=\"4.0\" "
        "dmrVersion=\"1.0\" name=\"dataset\">\n";
    WriteGroup(0);
    if (!dataset_.left_out.empty()) {
      WriteAttribute(out_, backends::hdf5::kLeftOutAttribute, {"String", {dataset_.left_out}});
    }
    return std::move(out_) + "</Dataset>\n";
  }

 private:
  const std::vector<NewObject>& objects() const { return dataset_.objects(); }

  // Whether the variable has dimension `d` whole.
  bool IsWhole(const Dap4Variable& variable, size_t d) const {
    return !variable.selection ||
           (*variable.selection)[d] == WholeRange(objects()[variable.object].shape[d]);
  }

  void NoteDimensions(const Dap4Variable& variable) {
    const NewObject& object = objects()[variable.object];
    for (size_t d = 0; d < object.scales.size(); ++d) {
      if (IsWhole(variable, d)) dimensions_.insert(object.scales[d]);
    }
  }

  std::string PathOf(uint32_t number) const { return Dap4PathOf(dataset_, number); }

  std::string NameAttribute(uint32_t number) const {
    return fmt::format(" name=\"{}\"", AttributeText(dataset_.names[number]));
  }

  void WriteGroup(uint32_t group) {
    const auto& children = children_[group];
    for (const uint32_t child : children) WriteDimension(child);
    for (const uint32_t child : children) WriteEnumeration(child);
    for (const uint32_t child : children) WriteVariable(child);
    for (const uint32_t child : children) {
      const bool is_group = objects()[child].kind == NewObject::Kind::kGroup;
      if (!is_group || (!dataset_.is_whole && !groups_.contains(child))) continue;
      out_ += "<Group" + NameAttribute(child) + ">\n";
      WriteGroup(child);
      out_ += "</Group>\n";
    }
    for (const NewAttribute& attribute : objects()[group].attributes) {
      WriteAttribute(out_, attribute.name, ValuesOf(attribute));
    }
    if (group != 0) WriteTrueName(group);
  }

  void WriteDimension(uint32_t number) {
    const NewObject& object = objects()[number];
    const bool is_dimension = object.kind == NewObject::Kind::kDimension || object.is_scale;
    if (!is_dimension || (!dataset_.is_whole && !dimensions_.contains(number))) return;
    fmt::format_to(std::back_inserter(out_), "<Dimension{} size=\"{}\"{}/>\n",
                   NameAttribute(number), object.shape[0],
                   object.is_unlimited ? " _edu.ucar.isunlimited=\"1\"" : "");
  }

  void WriteEnumeration(uint32_t number) {
    const NewObject& object = objects()[number];
    if (object.kind != NewObject::Kind::kDatatype || object.type.kind() != TypeKind::kEnum)
      return;
    fmt::format_to(std::back_inserter(out_), "<Enumeration{} basetype=\"{}\">",
                   NameAttribute(number), Dap4TypeName(object.type.base()));
    for (const Datatype::Constant& constant : object.type.constants()) {
      fmt::format_to(std::back_inserter(out_), "<EnumConst name=\"{}\" value=\"{}\"/>",
                     AttributeText(ValidName(constant.name)),
                     model::FormatInteger(constant.value));
    }
    out_ += "</Enumeration>\n";
    enums_.emplace_back(object.type, PathOf(number));
  }

  void WriteVariable(uint32_t number) {
    const auto found = variables_.find(number);
    if (found == variables_.end()) return;
    const Datatype& type = objects()[number].type;
    switch (type.kind()) {
      case TypeKind::kCompound:
        return WriteElement("Structure", NameAttribute(number), *found->second,
                            MembersOf(type));
      case TypeKind::kEnum:
        return WriteElement(
            "Enum", NameAttribute(number) + " enum=\"" + AttributeText(EnumNameOf(type)) + '"',
            *found->second, {});
      case TypeKind::kOpaque:
        return WriteElement("UInt8", NameAttribute(number), *found->second, {});
      default:
        return WriteElement(Dap4TypeName(type), NameAttribute(number), *found->second, {});
    }
  }

  static std::string MembersOf(const Datatype& type) {
    std::string out;
    for (const Datatype::Member& member : type.members()) {
      const bool is_compound = member.type.kind() == TypeKind::kCompound;
      const std::string_view element = is_compound ? "Structure" : Dap4TypeName(member.type);
      fmt::format_to(std::back_inserter(out), "<{0} name=\"{1}\">{2}</{0}>", element,
                     AttributeText(ValidName(member.name)),
                     is_compound ? MembersOf(member.type) : "");
    }
    return out;
  }

  std::string EnumNameOf(const Datatype& type) const {
    const auto found = std::ranges::find_if(enums_, [&](const auto& known) {
      return known.first == type && known.first.SameLayout(type);
    });
    return found == enums_.end() ? "" : found->second;
  }

  void WriteElement(std::string_view element, const std::string& attributes,
                    const Dap4Variable& variable, const std::string& members) {
    const NewObject& object = objects()[variable.object];
    fmt::format_to(std::back_inserter(out_), "<{}{}>{}", element, attributes, members);
    for (size_t d = 0; d < variable.shape.size(); ++d) {
      if (d < object.scales.size() && IsWhole(variable, d)) {
        out_ += "<Dim name=\"" + AttributeText(PathOf(object.scales[d])) + "\"/>";
      } else {
        fmt::format_to(std::back_inserter(out_), "<Dim size=\"{}\"/>", variable.shape[d]);
      }
    }
    if (object.type.kind() == TypeKind::kOpaque) {
      fmt::format_to(std::back_inserter(out_), "<Dim size=\"{}\"/>", object.type.size());
    }
    WriteAttributesOf(variable.object);
    fmt::format_to(std::back_inserter(out_), "</{}>\n", element);
  }

  // Writes the true name of an object whose name data.h5 allows and DAP 4 does not.
  void WriteTrueName(uint32_t number) {
    const NewObject& object = objects()[number];
    const bool is_told = std::ranges::any_of(
        object.attributes, [](const NewAttribute& one) { return one.name == hdf5::kTrueName; });
    const std::string& name = dataset_.names[number];
    const bool is_true =
        object.name == name || object.name == std::string(hdf5::kNoCoordinate) + name;
    if (is_told || is_true) return;
    WriteAttribute(out_, hdf5::kTrueName, {"String", {object.name}});
  }

  void WriteAttributesOf(uint32_t number) {
    const NewObject& object = objects()[number];
    const NewAttribute* fill = nullptr;
    bool has_missing_value = false;
    for (const NewAttribute& attribute : object.attributes) {
      has_missing_value = has_missing_value || attribute.name == "missing_value";
      if (attribute.name == "_FillValue") {
        fill = &attribute;
      } else {
        WriteAttribute(out_, attribute.name, ValuesOf(attribute));
      }
    }
    if (fill != nullptr) WriteFill(object.type, *fill, has_missing_value);
    WriteTrueName(number);
  }

  // `_FillValue` has to be of the type of its variable. netCDF-C 4.9 knows none for enums, and
  // changes the last bits of floats. Programs then find fill values by `missing_value`.
  void WriteFill(const Datatype& type, const NewAttribute& fill, bool has_missing_value) {
    const bool is_enum = type.kind() == TypeKind::kEnum && fill.type == type.base();
    const bool is_number =
        (type.kind() == TypeKind::kInteger || type.kind() == TypeKind::kFloat) &&
        fill.type == type;
    if (!is_enum && !is_number) return;
    const AttributeValues values = ValuesOf(fill);
    if (is_number) WriteAttribute(out_, fill.name, {Dap4TypeName(type), values.values});
    const bool is_rounded = type.kind() == TypeKind::kFloat && type.size() < sizeof(double);
    if ((is_enum || is_rounded) && !has_missing_value) {
      WriteAttribute(out_, "missing_value", values);
    }
  }

  const Dap4Dataset& dataset_;
  std::map<uint32_t, std::vector<uint32_t>> children_;
  std::map<uint32_t, const Dap4Variable*> variables_;
  std::set<uint32_t> groups_;      // that hold one of them
  std::set<uint32_t> dimensions_;  // that one of them has whole
  std::vector<std::pair<Datatype, std::string>> enums_;
  std::string out_;
};

// The Dataset Metadata Response: an XML document.
std::string WriteDmr(const Dap4Dataset& dataset) { return DmrWriter(dataset).Write(); }

// Whether a CRC-32 follows the values of each variable.
enum class Dap4Checksums { kNone, kCrc32 };

// The flags of a chunk.
constexpr unsigned kLastChunk = 1;
constexpr unsigned kLittleEndian = 4;
// Not in the specification: netCDF-C 4.9 expects checksums without it.
constexpr unsigned kNoChecksums = 8;
constexpr uint64_t kMostInChunk = (uint64_t{1} << 24) - 1;
constexpr size_t kMostChunks = 65'536;

// `count` bytes of a number, little-endian.
std::string Little(uint64_t value, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

std::string ChunkHeader(unsigned flags, uint64_t size) {
  std::string out(1, static_cast<char>(flags));
  for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  return out;
}

uint32_t Sum(uint32_t before, ConstByteSpan bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Computes the CRC-32 of a source while a client reads it from its beginning to its end.
class SummedElements final : public ElementSource {
 public:
  explicit SummedElements(std::shared_ptr<const ElementSource> values)
      : values_(std::move(values)) {}

  uint64_t size() const override { return values_->size(); }
  uint64_t held_bytes() const override { return values_->held_bytes(); }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                    cache::ReadHint hint) const override {
    NDLFS_RETURN_IF_ERROR(values_->Read(offset, out, order, hint));
    Note(offset, out);
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return values_->TrackReader(prefetcher);
  }

  // The sum of all bytes. Reads those that nobody has read in order.
  Result<uint32_t> Checksum() const {
    constexpr uint64_t kBlock = uint64_t{1} << 20;
    for (uint64_t at = Furthest(); at < size(); at = Furthest()) {
      backends::Bytes block(std::min(kBlock, size() - at));
      NDLFS_RETURN_IF_ERROR(
          Read(at, block.span(), model::ByteOrder::kLittle, cache::ReadHint::kOnward));
    }
    const MutexLock lock(mutex_);
    return sums_.rbegin()->second;
  }

 private:
  static constexpr size_t kMostSums = 16;

  void Note(uint64_t offset, ConstByteSpan bytes) const EXCLUDES(mutex_) {
    uint32_t sum = 0;
    {
      const MutexLock lock(mutex_);
      const auto known = sums_.find(offset);
      if (known == sums_.end()) return;
      sum = known->second;
    }
    sum = Sum(sum, bytes);
    const MutexLock lock(mutex_);
    sums_.emplace(offset + bytes.size(), sum);
    // The one of no bytes remains.
    if (sums_.size() > kMostSums) sums_.erase(std::next(sums_.begin()));
  }
  uint64_t Furthest() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sums_.rbegin()->first;
  }

  const std::shared_ptr<const ElementSource> values_;
  mutable model::Mutex mutex_;
  // The checksum of the bytes before each offset.
  mutable std::map<uint64_t, uint32_t> sums_ GUARDED_BY(mutex_) = {{0, 0}};
};

// The object at the path name `path`: in the group, or in one around it.
Result<GroupChild> LoadAt(const GroupInput& group, const std::string& path) {
  if (!model::IsBelow(path, group.path())) {
    const auto outer = group.Outer();
    if (outer == nullptr) return model::NotFound("{}", path);
    return LoadAt(*outer, path);
  }
  const auto own = model::SplitPath(group.path());
  const auto names = model::SplitPath(path);
  std::shared_ptr<const GroupInput> held;
  const GroupInput* at = &group;
  for (size_t i = own.size(); i + 1 < names.size(); ++i) {
    NDLFS_TRY(const GroupChild child, at->Load(names[i]), path);
    if (child.group == nullptr) return model::NotFound("{}", path);
    held = child.group;
    at = held.get();
  }
  if (names.size() <= own.size()) return model::NotFound("{}", path);
  return at->Load(names.back());
}

// The values of one variable: a source, or bytes in memory.
using Values = std::variant<std::shared_ptr<const ElementSource>, std::string>;

// Texts of variable length: each has its length before it.
Result<std::string> WriteTexts(const NewObject& object, const Dap4Variable& variable) {
  std::vector<std::string> texts;
  ConstByteSpan rest(*object.data);
  while (!rest.empty()) {
    NDLFS_TRY(const std::string_view text, backends::TakeText(rest));
    texts.push_back(backends::TextAsUtf8(object.type, text));
  }
  const auto total = backends::CheckedProduct(variable.shape);
  const auto there = backends::CheckedProduct(object.shape);
  if (!total || !there || *there != texts.size()) {
    return model::Internal("{}: {} texts", object.path, texts.size());
  }
  std::string out;
  for (uint64_t i = 0; i < *total; ++i) {
    uint64_t index = 0;  // in the array, of the i-th text of the part
    uint64_t rest_of_i = i;
    uint64_t stride = 1;
    for (size_t d = variable.shape.size(); d-- > 0; stride *= object.shape[d]) {
      const uint64_t at = rest_of_i % variable.shape[d];
      rest_of_i /= variable.shape[d];
      index += stride * (variable.selection ? (*variable.selection)[d].At(at) : at);
    }
    out += Little(texts[index].size(), sizeof(uint64_t)) + texts[index];
  }
  return out;
}

// The elements of a part of an array, as the file has them. Only their chunks are read.
Result<std::shared_ptr<const ElementSource>> Cut(const GroupInput& group,
                                                 const NewObject& object,
                                                 const Selection& selection) {
  NDLFS_TRY(const GroupChild child, LoadAt(group, object.path), object.path);
  if (!child.array || child.array->reader == nullptr) return model::NotFound("no values");
  const auto rank = static_cast<std::ptrdiff_t>(child.array->shape.size());
  if (selection.size() < static_cast<size_t>(rank)) return model::HasChanged("the array");
  // Dimensions of the elements themselves are not cut.
  for (size_t d = static_cast<size_t>(rank); d < selection.size(); ++d) {
    if (selection[d] != WholeRange(object.shape[d])) {
      return model::NotFound("{}: elements that are arrays are sent whole", object.name);
    }
  }
  return hdf5::ElementsInFile(
      MakePart(*child.array, {selection.begin(), selection.begin() + rank}));
}

bool IsWhole(const NewObject& object, const Selection& selection) {
  for (size_t d = 0; d < selection.size(); ++d) {
    if (selection[d] != WholeRange(object.shape[d])) return false;
  }
  return true;
}

Result<Values> ValuesOf(const GroupInput& group, const Dap4Dataset& dataset,
                        const Dap4Variable& variable) {
  const NewObject& object = dataset.objects()[variable.object];
  if (object.data) {
    NDLFS_TRY(std::string texts, WriteTexts(object, variable));
    return Values(std::move(texts));
  }
  std::shared_ptr<const ElementSource> elements = dataset.content.elements[variable.object];
  if (variable.selection && !IsWhole(object, *variable.selection)) {
    NDLFS_TRY(elements, Cut(group, object, *variable.selection));
  }
  if (elements == nullptr) return model::NotFound("{}: no values", object.name);
  if (ElementConversion floats = ToFloat32(object.type); floats.converter) {
    elements = ConvertElements(std::move(elements), std::move(floats));
    if (elements == nullptr) return model::Limit("{}: too many bytes", object.name);
  }
  return Values(std::move(elements));
}

// Puts data into chunks.
class ChunkWriter {
 public:
  ChunkWriter(const std::string& dmr, unsigned flags) : flags_(flags & kLittleEndian) {
    segments_.push_back(Literal(ChunkHeader(flags, dmr.size()) + dmr));
  }

  void Add(const Literal& data) {
    Split(data.size, [&](uint64_t begin, uint64_t count) {
      return Segment(Literal(data.bytes, data.offset + begin, count));
    });
  }
  void Add(const Elements& data) {
    Split(data.size, [&](uint64_t begin, uint64_t count) {
      return Segment(Elements{data.source, data.offset + begin, count, data.order});
    });
  }
  Result<std::vector<Segment>> Finish() {
    EndChunk(kLastChunk);
    if (chunks_ > kMostChunks) return model::Limit("more than a TiB in one answer of DAP");
    return std::move(segments_);
  }

 private:
  template <typename Cut>
  void Split(uint64_t size, const Cut& cut) {
    if (size / kMostInChunk > kMostChunks) chunks_ = kMostChunks + 1;
    for (uint64_t begin = 0; begin < size && chunks_ <= kMostChunks;) {
      if (chunk_size_ == kMostInChunk) EndChunk(0);
      const uint64_t count = std::min(size - begin, kMostInChunk - chunk_size_);
      chunk_.push_back(cut(begin, count));
      chunk_size_ += count;
      begin += count;
    }
  }
  void EndChunk(unsigned flags) {
    ++chunks_;
    segments_.push_back(Literal(ChunkHeader(flags_ | flags, chunk_size_)));
    std::ranges::move(chunk_, std::back_inserter(segments_));
    chunk_.clear();
    chunk_size_ = 0;
  }

  const unsigned flags_;
  std::vector<Segment> segments_;
  std::vector<Segment> chunk_;
  uint64_t chunk_size_ = 0;
  size_t chunks_ = 0;
};

void AddWithChecksum(ChunkWriter& writer, Values values) {
  if (auto* const text = std::get_if<std::string>(&values)) {
    *text += Little(Sum(0, backends::AsBytes(*text)), sizeof(uint32_t));
    return writer.Add(Literal(std::move(*text)));
  }
  const auto summed = std::make_shared<const SummedElements>(
      std::get<std::shared_ptr<const ElementSource>>(std::move(values)));
  writer.Add(AllOf(summed));
  writer.Add(MakeComputedBytes(
      sizeof(uint32_t), [summed](uint64_t offset, ByteSpan out) -> Result<void> {
        NDLFS_TRY(const uint32_t sum, summed->Checksum());
        std::memcpy(out.data(), Little(sum, sizeof(sum)).data() + offset, out.size());
        return {};
      }));
}

// The reply with the values of `dataset`, which describes `group`, in chunks of less than
// 16 MiB; the first one has `dmr` (DAP4 specification, volume 1, section 7). Numbers are
// little-endian. kLimit for a reply of more than a TiB.
Result<std::vector<Segment>> MakeDap4Data(const GroupInput& group, const Dap4Dataset& dataset,
                                          const std::string& dmr, Dap4Checksums checksums) {
  const bool has_checksums = checksums == Dap4Checksums::kCrc32;
  // Clients put a NUL in place of the last character.
  const std::string first = dmr + "\r\n";
  if (first.size() > kMostInChunk) return model::Limit("a DMR of {} bytes", first.size());
  ChunkWriter writer(first, kLittleEndian | (has_checksums ? 0 : kNoChecksums));
  for (const Dap4Variable& variable : dataset.variables) {
    NDLFS_TRY(Values values, ValuesOf(group, dataset, variable));
    if (has_checksums) {
      AddWithChecksum(writer, std::move(values));
    } else if (auto* const text = std::get_if<std::string>(&values)) {
      writer.Add(Literal(std::move(*text)));
    } else {
      writer.Add(AllOf(std::get<std::shared_ptr<const ElementSource>>(std::move(values))));
    }
  }
  return writer.Finish();
}

enum Dap4Answer : size_t { kDmr, kDapWithChecksums, kDap };
constexpr std::array<std::string_view, 3> kDap4Extensions = {".dmr", ".checksums.dap", ".dap"};

model::Result<ViewNode> MakeDap4Answer(const GroupInput& group,
                                       const std::vector<Dap4Projection>& projections,
                                       Dap4Answer answer) {
  NDLFS_TRY(const Dap4Dataset dataset, DescribeDap4(group, projections));
  const std::string dmr = WriteDmr(dataset);
  if (answer == kDmr) return MakeSegmentedView({Literal(dmr)});
  NDLFS_TRY(auto segments, MakeDap4Data(group, dataset, dmr,
                                        answer == kDapWithChecksums ? Dap4Checksums::kCrc32
                                                                    : Dap4Checksums::kNone));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace

std::optional<Resolution> Dap4Provider::Resolve(const GroupInput& group,
                                                std::string_view name) const {
  const auto file = ParseDapFileName(name, kDap4Extensions);
  if (!file) return std::nullopt;
  Resolution out{{.name = std::string(name), .is_listed = false}};
  const auto answer = static_cast<Dap4Answer>(file->extension);
  if (auto parsed = ParseDap4Constraint(file->constraint); !parsed) {
    out.refusal = parsed.error();
  } else {
    out.make = [&group, answer, projections = *std::move(parsed)] {
      return MakeDap4Answer(group, projections, answer);
    };
  }
  return out;
}

}  // namespace ndlfs::fs
