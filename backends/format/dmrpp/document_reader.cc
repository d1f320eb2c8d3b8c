// SPDX-License-Identifier: MIT
//
// Elements are reported when they end, so that those inside of one come before it. What they
// say is collected for each depth, until the element around them ends and takes it.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backends/codec/registry.h"
#include "backends/format/dmrpp/document.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/ncml/ncml_values.h"
#include "backends/xml/xml.h"
#include "model/attributes.h"
#include "model/base64.h"
#include "model/path_name.h"

namespace ndlfs::backends::dmrpp {
namespace {

using model::Result;

// Far more than any archive has in one document.
constexpr size_t kMostObjects = 100'000;
constexpr size_t kMostAttributes = 100'000;
constexpr size_t kMostParts = 4'000'000;
constexpr size_t kMostFiles = 10'000;
constexpr size_t kMostRank = 32;
constexpr size_t kLongestText = size_t{64} << 20;
// The most bytes of one compressed text.
constexpr uint64_t kLongestCompressedText = uint64_t{1} << 20;
constexpr uint64_t kMostTextBytes = uint64_t{64} << 20;

// About what an attribute or an object takes in memory.
constexpr uint64_t kBytesOfAttribute = 512;
constexpr uint64_t kBytesOfObject = 512;

// Types of DAP4 that make a variable, but one without elements here.
constexpr std::array<std::string_view, 5> kOtherTypes = {"Structure", "Sequence", "Enum",
                                                         "Opaque", "Char"};

// The value of an attribute of `element`; null if it has none.
const std::string* FindIn(const XmlElement& element, std::string_view name) {
  const auto found =
      std::ranges::find(element.attributes, name, &std::pair<std::string, std::string>::first);
  return found == element.attributes.end() ? nullptr : &found->second;
}

// An attribute that is unknown may say where elements lie.
Result<void> CheckAttributes(const XmlElement& element,
                             std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : element.attributes) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return model::Unsupported("line {}: the unknown attribute {}", element.line,
                              model::Quote(name));
  }
  return {};
}

Result<uint64_t> CountIn(const XmlElement& element, std::string_view name,
                         std::optional<uint64_t> absent = std::nullopt) {
  const std::string* text = FindIn(element, name);
  if (text == nullptr && absent) return *absent;
  if (text == nullptr) return model::BadInput("line {}: no {}", element.line, name);
  const auto count = foreign::ParseCount(*text);
  if (count) return *count;
  return model::BadInput("line {}: {} {} is no number", element.line, name,
                         model::Quote(*text));
}

// Appends the numbers of "[0,24,0]" or "0 24 0" to `numbers`; false if they are none.
bool AppendNumbers(std::string_view text, std::vector<uint64_t>& numbers) {
  text = foreign::Trim(text);
  const bool is_bracketed = text.starts_with('[') && text.ends_with(']') && text.size() > 1;
  if (is_bracketed) text = text.substr(1, text.size() - 2);
  const char separator = is_bracketed ? ',' : ' ';
  while (true) {
    const size_t end = text.find(separator);
    const std::string_view word = foreign::Trim(text.substr(0, end));
    const auto number = foreign::ParseCount(word);
    const bool is_gap = word.empty() && separator == ' ' && end != text.npos;
    if (!number && !is_gap) return false;
    if (number) numbers.push_back(*number);
    if (end == text.npos) return true;
    text.remove_prefix(end + 1);
  }
}

// An integer of 64 bits, with a sign or without.
std::optional<model::WideInt> ParseWide(std::string_view text) {
  if (const auto number = foreign::ParseInteger(text)) return *number;
  if (const auto number = foreign::ParseCount(text)) return *number;
  return std::nullopt;
}

Result<model::Datatype> EnumerationType(const std::string& base_name,
                                        std::vector<model::Datatype::Constant> constants) {
  const auto base = NumberType(base_name);
  if (!base || base->kind() != model::Datatype::Kind::kInteger) {
    return model::BadInput("an enumeration of the type {}", model::Quote(base_name));
  }
  const auto bits = 8 * base->size() - (base->is_signed() ? 1 : 0);
  const model::WideInt end = model::WideInt{1} << bits;
  const model::WideInt begin = base->is_signed() ? -end : model::WideInt{0};
  std::set<std::string_view> names;
  for (const model::Datatype::Constant& constant : constants) {
    const bool fits = begin <= constant.value && constant.value < end;
    if (!fits || !names.insert(constant.name).second) {
      return model::BadInput("the constant {} of an enumeration", model::Quote(constant.name));
    }
  }
  return model::Datatype::Enum(*base, std::move(constants));
}

Result<std::vector<std::byte>> DecodeBase64(const XmlElement& element) {
  std::string text;
  std::ranges::copy_if(element.text, std::back_inserter(text),
                       [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  auto bytes = model::DecodeBase64(text);
  if (!bytes) return model::BadInput("line {}: invalid base64", element.line);
  return *std::move(bytes);
}

// A text of `size` bytes that is compressed by zlib.
Result<std::string> Inflate(ConstByteSpan compressed, uint64_t size) {
  if (size > kLongestCompressedText) return model::Limit("a text of {} bytes", size);
  const Json no_parameters = {{"cd_values", Json::array()}};
  NDLFS_TRY(const auto codec, MakeCodec({CodecDialect::kHdf5, "1", &no_parameters}));
  std::string text(size, '\0');
  const ByteSpan out = std::as_writable_bytes(std::span(text));
  NDLFS_TRY(const size_t count, std::get<2>(codec)->Decode(compressed, out));
  if (count != size) return model::Corrupt("a text of {} bytes, expected {}", count, size);
  return text;
}

Result<model::Attribute> MakeAttribute(const std::string& name, std::string_view type,
                                       std::vector<std::string> texts) {
  if (IsTextType(type) && texts.size() <= 1) {
    return model::MakeTextAttribute(name, texts.empty() ? std::string() : texts.front());
  }
  model::Attribute attribute;
  attribute.name = name;
  model::Value::List values;
  if (IsTextType(type)) {
    attribute.type = model::Datatype::String();
    values.assign(std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end()));
  } else if (const auto number = NumberType(type)) {
    attribute.type = *number;
    for (const std::string& text : texts) {
      NDLFS_TRY(auto parsed, ncml::ParseValues(*number, text, std::nullopt));
      if (parsed.size() != 1) return model::BadInput("{} is no {}", model::Quote(text), type);
      values.push_back(std::move(parsed.front()));
    }
  } else {
    return model::Unsupported("the type {}", model::Quote(type));
  }
  if (values.size() == 1) {
    attribute.value = std::move(values.front());
    return attribute;
  }
  attribute.shape = {values.size()};
  attribute.value = std::move(values);
  return attribute;
}

// What the elements of one depth have said to the element around them, which is still open.
struct Level {
  bool is_used = false;
  std::vector<std::string> values;  // <Value>
  bool has_too_many_values = false;
  std::vector<model::Attribute> attributes;
  model::AttributeRoom room;
  std::vector<model::NamedDimension> dimensions;  // <Dimension>
  std::map<std::string, Object, std::less<>> children;
  bool lacks_children = false;                       // some were left out
  std::vector<model::Datatype::Constant> constants;  // <EnumConst>
  std::map<std::string, Enumeration, std::less<>> enumerations;
  std::optional<model::Error> left_out;  // why an attribute or a child is
  Variable variable;
  bool has_data = false;
  ChunkList stored;  // <dmrpp:chunk> and its like
  Texts texts;       // <v>

  void LeaveOut(model::Error error) {
    if (!left_out) left_out = std::move(error);
  }
  // Makes the variable around one without elements.
  void Refuse(model::Error error) {
    if (!variable.error) variable.error = std::move(error);
  }
  template <typename T>
  bool Accept(const Result<T>& result) {
    if (!result) Refuse(result.error());
    return result.has_value();
  }
  void SetData(decltype(Variable::data) data) {
    if (has_data) Refuse(model::BadInput("more than one element says where it is").value());
    has_data = true;
    variable.data = std::move(data);
  }
  void AddAttribute(model::Attribute attribute, uint64_t values_in_it, uint64_t text_bytes) {
    const auto fits = room.Take(attribute.name, values_in_it, text_bytes);
    if (!fits) return LeaveOut(fits.error());
    const bool is_known = std::ranges::any_of(
        attributes, [&](const auto& known) { return known.name == attribute.name; });
    if (is_known) {
      return LeaveOut(model::BadInput("more than one attribute {}: the first is shown",
                                      model::Quote(attribute.name))
                          .value());
    }
    attributes.push_back(std::move(attribute));
  }
};

class Reader {
 public:
  Result<Document> Read(std::string_view text) {
    document_.files.emplace_back();
    NDLFS_RETURN_IF_ERROR(WalkXml(
        text, [this](const XmlElement& element) { return AtEnd(element); }, kLongestText));
    if (!has_dataset_) return model::BadInput("no DMR++: its element is not <Dataset>");
    return std::move(document_);
  }

 private:
  using Handler = Result<void> (Reader::*)(const XmlElement& element);
  struct Named {
    std::string_view name;
    Handler handler;
    bool is_leaf = false;  // has no elements inside
  };

  Result<void> AtEnd(const XmlElement& element) {
    depth_ = 1 + static_cast<size_t>(std::ranges::count(element.path, '/'));
    if (levels_.size() < depth_ + 2) levels_.resize(depth_ + 2);
    name_ = model::BaseName(element.path);
    static constexpr std::array kHandlers = {
        Named{"chunk", &Reader::Chunk, true},
        Named{"Value", &Reader::AttributeValue, true},
        Named{"v", &Reader::Text, true},
        Named{"Attribute", &Reader::Attribute},
        Named{"Dim", &Reader::DimensionOfVariable, true},
        Named{"Dimension", &Reader::Dimension, true},
        Named{"chunks", &Reader::Chunks},
        Named{"chunkDimensionSizes", &Reader::ChunkExtents, true},
        Named{"block", &Reader::Block, true},
        Named{"compact", &Reader::Compact, true},
        Named{"missingdata", &Reader::MissingData, true},
        Named{"vlsa", &Reader::VariableTexts},
        Named{"FixedLengthStringArray", &Reader::FixedLength, true},
        Named{"EnumConst", &Reader::EnumConst, true},
        Named{"Enumeration", &Reader::EnumerationElement},
        Named{"Group", &Reader::Group},
        Named{"Dataset", &Reader::Dataset},
        // They say nothing that is needed.
        Named{"Map", &Reader::Ignore},
    };
    const auto found = std::ranges::find(kHandlers, name_, &Named::name);
    if (found != kHandlers.end()) {
      if (found->is_leaf && levels_[depth_ + 1].is_used) RefuseInside(element);
      return (this->*found->handler)(element);
    }
    const bool is_variable = NumberType(name_) || IsTextType(name_) ||
                             std::ranges::find(kOtherTypes, name_) != kOtherTypes.end();
    if (is_variable) return VariableElement(element);
    Around().Refuse(model::Unsupported("line {}: the unknown element <{}>", element.line,
                                       model::OneLine(name_))
                        .value());
    return Ignore(element);
  }

  void RefuseInside(const XmlElement& element) {
    TakeInside();
    Around().Refuse(
        model::Unsupported("line {}: an element inside of <{}>", element.line, name_).value());
  }

  // What the elements inside of this one have said.
  Level TakeInside() { return std::exchange(levels_[depth_ + 1], Level()); }
  // For the element around this one.
  Level& Around() {
    levels_[depth_].is_used = true;
    return levels_[depth_];
  }

  Result<void> Ignore(const XmlElement&) {
    TakeInside();
    return {};
  }

  Result<void> AttributeValue(const XmlElement& element) {
    if (Around().values.size() >= model::AttributeRoom::kMostValues) {
      Around().has_too_many_values = true;
      return {};
    }
    const std::string* value = FindIn(element, "value");
    Around().values.emplace_back(value == nullptr ? element.text : std::string_view(*value));
    return {};
  }

  Result<void> Attribute(const XmlElement& element) {
    Level inside = TakeInside();
    if (++attributes_ > kMostAttributes) {
      return model::Limit("more than {} attributes", kMostAttributes);
    }
    document_.held_bytes += kBytesOfAttribute;
    const std::string* name = FindIn(element, "name");
    const std::string* type = FindIn(element, "type");
    if (name == nullptr || type == nullptr) {
      Around().LeaveOut(
          model::BadInput("line {}: an attribute without name or type", element.line).value());
    } else if (*type == "Container") {
      TakeAttributes(std::move(inside), *name + '.');
    } else {
      AddAttribute(*name, *type, std::move(inside));
    }
    return {};
  }

  // Attributes of a container become attributes of the element around it.
  void TakeAttributes(Level inside, const std::string& prefix) {
    if (inside.left_out) Around().LeaveOut(*std::move(inside.left_out));
    for (model::Attribute& attribute : inside.attributes) {
      attribute.name.insert(0, prefix);
      const uint64_t values = attribute.value.list() ? attribute.value.list()->size() : 1;
      const uint64_t text = attribute.value.text() ? attribute.value.text()->size() : 0;
      Around().AddAttribute(std::move(attribute), values, text);
    }
  }

  void AddAttribute(const std::string& name, const std::string& type, Level inside) {
    uint64_t text_bytes = 0;
    for (const std::string& value : inside.values) text_bytes += value.size();
    const uint64_t values = inside.values.size();
    auto made = inside.has_too_many_values
                    ? model::Limit("too many values")
                    : MakeAttribute(name, type, std::move(inside.values));
    if (!made) {
      return Around().LeaveOut(std::move(made).error().In("attribute " + model::Quote(name)));
    }
    document_.held_bytes += text_bytes + values * sizeof(model::Value);
    Around().AddAttribute(*std::move(made), values, IsTextType(type) ? text_bytes : 0);
  }

  Result<void> DimensionOfVariable(const XmlElement& element) {
    auto& dimensions = Around().variable.dimensions;
    if (dimensions.size() >= kMostRank) {
      Around().Refuse(model::Limit("more than {} dimensions", kMostRank).value());
      return {};
    }
    DimensionReference dimension;
    if (const std::string* name = FindIn(element, "name")) {
      dimension.path = *name;
    } else {
      auto size = CountIn(element, "size");
      if (Around().Accept(size)) dimension.size = *size;
    }
    dimensions.push_back(std::move(dimension));
    return {};
  }

  Result<void> Dimension(const XmlElement& element) {
    const std::string* name = FindIn(element, "name");
    const auto size = CountIn(element, "size");
    if (name == nullptr || !size) {
      Around().LeaveOut(
          size ? model::BadInput("line {}: a dimension without a name", element.line).value()
               : size.error());
      return {};
    }
    if (++objects_ > kMostObjects) return model::Limit("more than {} objects", kMostObjects);
    Around().dimensions.push_back({*name, *size});
    return {};
  }

  Result<void> EnumConst(const XmlElement& element) {
    if (++objects_ > kMostObjects) return model::Limit("more than {} objects", kMostObjects);
    const std::string* name = FindIn(element, "name");
    const std::string* value = FindIn(element, "value");
    const auto number = value == nullptr ? std::nullopt : ParseWide(*value);
    if (name != nullptr && number) {
      Around().constants.push_back({*name, *number});
      document_.held_bytes += sizeof(model::Datatype::Constant) + name->size();
    } else {
      Around().LeaveOut(
          model::BadInput("line {}: a constant without name or value", element.line).value());
    }
    return {};
  }

  // One that is left out is missed by its variables.
  Result<void> EnumerationElement(const XmlElement& element) {
    Level inside = TakeInside();
    const std::string* name = FindIn(element, "name");
    const std::string* base = FindIn(element, "basetype");
    if (name == nullptr || base == nullptr || inside.left_out) {
      Around().LeaveOut(
          model::BadInput("line {}: an enumeration that is not whole", element.line).value());
    } else {
      Around().enumerations.emplace(
          *name, Enumeration{EnumerationType(*base, std::move(inside.constants))});
    }
    return {};
  }

  Result<void> Chunk(const XmlElement& element) {
    ChunkList& stored = Around().stored;
    NDLFS_TRY(const auto part, ReadPart(element, {"offset", "nBytes", "chunkPositionInArray",
                                                  "fm", "href", "trust", "LinkedBlockIndex"}));
    if (!part) return {};
    const std::string* position = FindIn(element, "chunkPositionInArray");
    const size_t before = stored.positions.size();
    if (position != nullptr && !AppendNumbers(*position, stored.positions)) {
      Around().Refuse(model::BadInput("line {}: the position {} of a chunk", element.line,
                                      model::Quote(*position))
                          .value());
    }
    const size_t rank = stored.positions.size() - before;
    // All of the same rank, so that their numbers can lie one after the other.
    if (before != rank * stored.parts.size() || rank > kMostRank) {
      Around().Refuse(
          model::BadInput("line {}: chunk positions of different ranks", element.line).value());
      stored.positions.clear();
    }
    stored.parts.push_back(*part);
    document_.held_bytes += sizeof(StoredPart) + rank * sizeof(uint64_t);
    return {};
  }

  Result<void> Block(const XmlElement& element) {
    NDLFS_TRY(const auto part, ReadPart(element, {"offset", "nBytes", "href", "trust"}));
    if (part) Around().stored.blocks.push_back(*part);
    document_.held_bytes += sizeof(StoredPart);
    return {};
  }

  // nullopt: it was refused.
  Result<std::optional<StoredPart>> ReadPart(const XmlElement& element,
                                             std::initializer_list<std::string_view> known) {
    if (++parts_ > kMostParts) return model::Limit("more than {} chunks", kMostParts);
    const auto checked = CheckAttributes(element, known);
    const auto offset = CountIn(element, "offset");
    const auto bytes = CountIn(element, "nBytes");
    const auto mask = CountIn(element, "fm", 0);
    const auto number = CountIn(element, "LinkedBlockIndex", 0);
    Level& around = Around();
    if (!around.Accept(checked) || !around.Accept(offset) || !around.Accept(bytes) ||
        !around.Accept(mask) || !around.Accept(number)) {
      return std::nullopt;
    }
    if (*mask > UINT32_MAX || *number > UINT32_MAX) {
      around.Refuse(model::BadInput("line {}: a number above 2^32", element.line).value());
      return std::nullopt;
    }
    NDLFS_TRY(const uint32_t file, FileNumber(FindIn(element, "href")));
    return StoredPart{*offset, *bytes, static_cast<uint32_t>(*mask), file,
                      static_cast<uint32_t>(*number)};
  }

  Result<uint32_t> FileNumber(const std::string* name) {
    if (name == nullptr) return 0;
    const auto [found, is_new] =
        file_numbers_.emplace(*name, static_cast<uint32_t>(document_.files.size()));
    if (!is_new) return found->second;
    if (document_.files.size() >= kMostFiles) {
      return model::Limit("more than {} data files", kMostFiles);
    }
    document_.files.push_back(*name);
    return found->second;
  }

  Result<void> ChunkExtents(const XmlElement& element) {
    auto& extents = Around().stored.extents;
    std::vector<uint64_t> numbers;
    const bool is_list = AppendNumbers(element.text, numbers);
    if (!is_list || !extents.empty() || numbers.size() > kMostRank) {
      Around().Refuse(model::BadInput("line {}: the chunkDimensionSizes {}", element.line,
                                      model::Quote(element.text.substr(0, 80)))
                          .value());
    }
    extents = std::move(numbers);
    return {};
  }

  Result<void> Chunks(const XmlElement& element) {
    Level inside = TakeInside();
    if (inside.variable.error) Around().Refuse(*std::move(inside.variable.error));
    ChunkList stored = std::move(inside.stored);
    const auto checked =
        CheckAttributes(element, {"compressionType", "deflateLevel", "deflate_level",
                                  "fillValue", "byteOrder", "LBChunk", "DIO", "structOffset"});
    if (!Around().Accept(checked)) return {};
    if (const std::string* filters = FindIn(element, "compressionType")) {
      for (const std::string_view word : foreign::SplitWords(*filters)) {
        stored.filters.emplace_back(word);
      }
    }
    for (const char* name : {"deflateLevel", "deflate_level"}) {
      const auto level = CountIn(element, name, UINT64_MAX);
      if (level && *level <= 9) stored.deflate_level = static_cast<uint32_t>(*level);
    }
    if (const std::string* fill = FindIn(element, "fillValue")) stored.fill = *fill;
    if (const std::string* order = FindIn(element, "byteOrder")) {
      if (*order == "LE") stored.order = model::ByteOrder::kLittle;
      if (*order == "BE") stored.order = model::ByteOrder::kBig;
      if (!stored.order && !order->empty()) {
        Around().Refuse(
            model::BadInput("line {}: the byteOrder {}", element.line, model::Quote(*order))
                .value());
      }
    }
    const std::string* ends = FindIn(element, "structOffset");
    if (ends != nullptr && !AppendNumbers(*ends, stored.member_ends)) {
      Around().Refuse(
          model::BadInput("line {}: the structOffset {}", element.line, model::Quote(*ends))
              .value());
    }
    const std::string* linked = FindIn(element, "LBChunk");
    stored.has_linked_parts = linked != nullptr && *linked == "true";
    Around().SetData(std::move(stored));
    return {};
  }

  Result<void> Compact(const XmlElement& element) {
    return SetInline(element, /*may_be_compressed=*/false);
  }
  Result<void> MissingData(const XmlElement& element) {
    return SetInline(element, /*may_be_compressed=*/true);
  }
  Result<void> SetInline(const XmlElement& element, bool may_be_compressed) {
    auto bytes = DecodeBase64(element);
    if (!Around().Accept(bytes)) return {};
    document_.held_bytes += bytes->size();
    Around().SetData(InlineElements{*std::move(bytes), may_be_compressed});
    return {};
  }

  Result<void> Text(const XmlElement& element) {
    Level& around = Around();
    const auto checked = CheckAttributes(element, {"c", "s"});
    const auto count = CountIn(element, "c", 1);
    if (!around.Accept(checked) || !around.Accept(count)) return {};
    std::string text(element.text);
    if (FindIn(element, "s") != nullptr) {
      const auto size = CountIn(element, "s");
      const auto bytes = DecodeBase64(element);
      if (!around.Accept(size) || !around.Accept(bytes)) return {};
      auto inflated = Inflate(*bytes, *size);
      if (!around.Accept(inflated)) return {};
      text = *std::move(inflated);
    }
    text_bytes_ += text.size() + sizeof(RepeatedText);
    if (text_bytes_ > kMostTextBytes) {
      return model::Limit("more than {} bytes of texts", kMostTextBytes);
    }
    document_.held_bytes += text.size() + sizeof(RepeatedText);
    around.texts.push_back({std::move(text), *count});
    return {};
  }

  Result<void> VariableTexts(const XmlElement&) {
    Level inside = TakeInside();
    if (inside.variable.error) Around().Refuse(*std::move(inside.variable.error));
    Around().SetData(std::move(inside.texts));
    return {};
  }

  Result<void> FixedLength(const XmlElement& element) {
    using Padding = FixedTexts::Padding;
    const auto length = CountIn(element, "string_length");
    if (!Around().Accept(length)) return {};
    FixedTexts texts{*length};
    const std::string* padding = FindIn(element, "pad");
    if (padding != nullptr && *padding == "null_pad") texts.padding = Padding::kNull;
    if (padding != nullptr && *padding == "null_term") texts.padding = Padding::kNullTerminated;
    if (padding != nullptr && *padding == "space_pad") texts.padding = Padding::kSpace;
    Around().variable.fixed_texts = texts;
    return {};
  }

  Result<void> VariableElement(const XmlElement& element) {
    Level inside = TakeInside();
    // <dmrpp:chunk> without <dmrpp:chunks> around it
    if (!inside.stored.parts.empty()) inside.SetData(std::move(inside.stored));
    auto variable = std::make_unique<Variable>(std::move(inside.variable));
    variable->type = name_;
    if (const std::string* path = FindIn(element, "enum")) variable->enumeration = *path;
    if (name_ == "Structure") {
      TakeMembers(std::move(inside.children), inside.lacks_children, *variable);
    } else if (name_ != "Enum" && !NumberType(name_) && !IsTextType(name_)) {
      variable->error =
          model::Unsupported("variables of the type {} are not supported", name_).value();
    }
    Object object;
    object.attributes = std::move(inside.attributes);
    object.error = std::move(inside.left_out);
    object.variable = std::move(variable);
    return AddChild(element, std::move(object));
  }

  static void TakeMembers(std::map<std::string, Object, std::less<>> children, bool lacks_some,
                          Variable& structure) {
    if (lacks_some && !structure.error) {
      structure.error = model::BadInput("a member that cannot be, or is there twice").value();
    }
    std::map<uint64_t, Variable> ordered;
    for (auto& [name, child] : children) {
      // Groups cannot be members; this one has the type "".
      Variable member = child.variable ? *child.variable : Variable();
      if (member.error && !structure.error) {
        structure.error = model::Error(*member.error).In("the member " + model::Quote(name));
      }
      member.name = name;
      ordered.emplace(child.number, std::move(member));
    }
    for (auto& [number, member] : ordered) structure.members.push_back(std::move(member));
  }

  Object MakeGroup() {
    Level inside = TakeInside();
    Object group;
    group.attributes = std::move(inside.attributes);
    group.dimensions = std::move(inside.dimensions);
    group.enumerations = std::move(inside.enumerations);
    group.children = std::move(inside.children);
    group.error = std::move(inside.left_out);
    if (!group.error) group.error = std::move(inside.variable.error);
    return group;
  }

  Result<void> Group(const XmlElement& element) { return AddChild(element, MakeGroup()); }

  Result<void> AddChild(const XmlElement& element, Object object) {
    if (++objects_ > kMostObjects) return model::Limit("more than {} objects", kMostObjects);
    document_.held_bytes += kBytesOfObject;
    const std::string* name = FindIn(element, "name");
    if (name == nullptr || name->empty() || name->find('/') != name->npos) {
      Around().lacks_children = true;
      Around().LeaveOut(
          model::BadInput("line {}: an object without a name, or with a slash", element.line)
              .value());
      return {};
    }
    object.number = objects_;
    const bool is_new = Around().children.emplace(*name, std::move(object)).second;
    if (!is_new) {
      Around().lacks_children = true;
      Around().LeaveOut(model::BadInput("line {}: more than one object {}: the first is shown",
                                        element.line, model::Quote(*name))
                            .value());
    }
    return {};
  }

  Result<void> Dataset(const XmlElement& element) {
    if (depth_ != 1) return AddChild(element, MakeGroup());
    has_dataset_ = true;
    document_.root = MakeGroup();
    document_.has_filter_order = FindIn(element, "version") != nullptr;
    if (const std::string* name = FindIn(element, "href")) document_.files.front() = *name;
    return {};
  }

  Document document_;
  bool has_dataset_ = false;
  std::vector<Level> levels_;
  // The depth and the name of the element that ends.
  size_t depth_ = 0;
  std::string_view name_;
  size_t objects_ = 0;
  size_t attributes_ = 0;
  size_t parts_ = 0;
  uint64_t text_bytes_ = 0;
  std::map<std::string, uint32_t, std::less<>> file_numbers_;
};

}  // namespace

Result<Document> ReadDocument(std::string_view text) { return Reader().Read(text); }

}  // namespace ndlfs::backends::dmrpp
