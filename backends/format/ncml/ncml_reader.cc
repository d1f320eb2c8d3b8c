// SPDX-License-Identifier: MIT
#include "backends/format/ncml/ncml_reader.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/ncml/ncml_values.h"
#include "backends/format/ndl/array_values.h"
#include "backends/format/ndl/document.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/xml/xml.h"

namespace ndlfs::backends::ncml {
namespace {

using model::Result;
using model::Value;
using model::ValueSource;

constexpr std::string_view kNamespace = "ncml-2.2";
// Each takes some hundred bytes while the document is read.
constexpr size_t kMostElements = 100'000;
constexpr size_t kMemoryPerElement = 256;

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text;
  std::vector<Element> children;
  size_t line = 0;

  const std::string* Find(std::string_view attribute) const {
    for (const auto& [key, value] : attributes) {
      if (key == attribute) return &value;
    }
    return nullptr;
  }
  std::string_view Text(std::string_view attribute) const {
    const std::string* value = Find(attribute);
    return value ? std::string_view(*value) : std::string_view();
  }
};

struct Tree {
  Element top;
  size_t element_count = 0;
};

Result<Tree> ReadTree(std::string_view text, size_t limit) {
  Tree tree;
  // Elements that have ended, but whose parents have not, by their level.
  std::vector<std::vector<Element>> ended(1);
  const auto at_end = [&](const XmlElement& xml) -> Result<void> {
    if (++tree.element_count > std::min(limit, kMostElements)) {
      return model::Limit("more than {} elements", std::min(limit, kMostElements));
    }
    const auto level = static_cast<size_t>(std::ranges::count(xml.path, '/'));
    ended.resize(std::max(ended.size(), level + 2));
    ended[level].push_back({std::string(xml.path.substr(xml.path.rfind('/') + 1)),
                            {xml.attributes.begin(), xml.attributes.end()},
                            std::string(xml.text),
                            std::exchange(ended[level + 1], {}),
                            xml.line});
    return {};
  };
  NDLFS_RETURN_IF_ERROR(WalkXml(text, at_end, text.size()));
  tree.top = std::move(ended[0].at(0));
  return tree;
}

// Makes the description of one document.
class Reader {
 public:
  explicit Reader(size_t value_limit) : values_left_(value_limit) {}

  Result<model::Group> Read(const Element& top) {
    if (top.name != "netcdf") {
      return model::BadInput("expected <netcdf>, found <{}>", top.name);
    }
    NDLFS_RETURN_IF_ERROR(
        Enter(top, {"location", "id", "title", "uri", "schemaLocation", "enhance", "ncoords"}));
    NDLFS_RETURN_IF_ERROR(ReadChildren(top));
    if (const std::string* location = top.Find("location")) {
      if (aggregation_) return model::Unsupported("a location and an <aggregation>");
      ValueSource store;
      store.kind = ValueSource::Kind::kStore;
      NDLFS_TRY(store.name, ndl::FileOfLocation(*location));
      root_.source = std::move(store);
    }
    if (aggregation_) NDLFS_RETURN_IF_ERROR(ReadAggregation(*aggregation_));
    NDLFS_RETURN_IF_ERROR(AddVariables());
    return std::move(root_);
  }

  // The line of the element that was read last.
  size_t line() const { return line_; }
  size_t values_left() const { return values_left_; }
  // As of a ParsedDocument.
  std::vector<std::string> TakeLeftOut() { return std::move(left_out_); }

 private:
  struct Coordinates {
    model::Datatype type;
    Value::List values;
  };

  // Elements are read after this. An attribute that is not in `known` is an error: it could
  // change the data.
  Result<void> Enter(const Element& element,
                     std::initializer_list<std::string_view> known = {}) {
    line_ = element.line;
    for (const auto& [name, value] : element.attributes) {
      if (std::ranges::find(known, name) != known.end()) continue;
      return model::Unsupported("<{}>: the attribute {} is not supported", element.name,
                                model::Quote(name));
    }
    return {};
  }
  model::Failure Refuse(const Element& element) {
    line_ = element.line;
    return model::Unsupported("<{}> is not supported here", element.name);
  }
  static Result<std::string> Required(const Element& element, std::string_view attribute) {
    const std::string* value = element.Find(attribute);
    if (value && !value->empty()) return *value;
    return model::BadInput("<{}> lacks the attribute {}", element.name, attribute);
  }

  Result<void> ReadChildren(const Element& top) {
    for (const Element& child : top.children) {
      if (child.name == "attribute") {
        NDLFS_TRY(root_.attributes.emplace_back(), ReadAttribute(child));
      } else if (child.name == "remove") {
        NDLFS_RETURN_IF_ERROR(ReadRemoval(child, ""));
      } else if (child.name == "dimension") {
        NDLFS_RETURN_IF_ERROR(ReadDimension(child));
      } else if (child.name == "variable") {
        NDLFS_RETURN_IF_ERROR(Enter(child, {"name", "shape", "type", "orgName"}));
        NDLFS_TRY(const std::string name, Required(child, "name"));
        if (!variables_.emplace(name, &child).second) {
          return model::BadInput("two variables {}", model::Quote(name));
        }
      } else if (child.name == "aggregation" && !aggregation_) {
        aggregation_ = &child;
      } else if (child.name != "readMetadata") {
        return Refuse(child);
      }
    }
    return {};
  }

  // An object of the files, or an attribute of the root (`of` is "") or of a variable.
  Result<void> ReadRemoval(const Element& element, const std::string& of) {
    NDLFS_RETURN_IF_ERROR(Enter(element, {"name", "type"}));
    NDLFS_TRY(const std::string name, Required(element, "name"));
    const std::string_view type = element.Text("type");
    const std::string path = of.empty() ? "/" : "/" + of;
    if (type == "attribute") {
      left_out_.push_back(path + "@" + name);
    } else if (type == "variable" && of.empty()) {
      left_out_.push_back("/" + name);
    } else if (type != "dimension") {
      return model::Unsupported("<remove> of the type {}", model::Quote(type));
    }
    return {};
  }

  Result<void> ReadDimension(const Element& element) {
    NDLFS_RETURN_IF_ERROR(
        Enter(element, {"name", "length", "isUnlimited", "isShared", "isVariableLength"}));
    const auto length = foreign::ParseCount(element.Text("length"));
    if (length) lengths_[std::string(element.Text("name"))] = *length;
    return {};
  }

  Result<model::Attribute> ReadAttribute(const Element& element) {
    NDLFS_RETURN_IF_ERROR(Enter(element, {"name", "type", "value", "separator", "isUnsigned"}));
    model::Attribute attribute;
    NDLFS_TRY(attribute.name, Required(element, "name"));
    NDLFS_TRY(attribute.type,
              ParseType(element.Text("type"), element.Text("isUnsigned") == "true"));
    const std::string* value = element.Find("value");
    const std::string* separator = element.Find("separator");
    NDLFS_TRY(auto values, ParseValues(attribute.type, value ? *value : element.text,
                                       separator ? std::optional<std::string_view>(*separator)
                                                 : std::nullopt));
    NDLFS_RETURN_IF_ERROR(Count(values.size()));
    if (values.empty()) return model::BadInput("{} has no value", model::Quote(attribute.name));
    if (values.size() == 1) {
      attribute.value = std::move(values.front());
    } else {
      attribute.shape = {values.size()};
      attribute.value = std::move(values);
    }
    return attribute;
  }

  Result<void> Count(uint64_t values) {
    if (values > values_left_) return model::Limit("too many values");
    values_left_ -= values;
    return {};
  }

  // --- Aggregations

  Result<void> ReadAggregation(const Element& element) {
    NDLFS_RETURN_IF_ERROR(
        Enter(element, {"type", "dimName", "recheckEvery", "timeUnitsChange"}));
    ValueSource spec;
    std::vector<const Element*> parts;
    std::vector<std::string> joined;
    for (const Element& child : element.children) {
      if (child.name == "netcdf") {
        NDLFS_RETURN_IF_ERROR(ReadPart(child, spec));
        parts.push_back(&child);
      } else if (child.name == "scan") {
        NDLFS_RETURN_IF_ERROR(ReadScan(child, spec));
      } else if (child.name == "variableAgg") {
        NDLFS_RETURN_IF_ERROR(Enter(child, {"name"}));
        NDLFS_TRY(joined.emplace_back(), Required(child, "name"));
      } else {
        return Refuse(child);
      }
    }
    line_ = element.line;
    if (spec.files.names.empty()) return model::BadInput("<aggregation> names no files");
    const std::string_view type = element.Text("type");
    if (type == "union") return AddUnion(std::move(spec), element);
    NDLFS_TRY(spec.along, Required(element, "dimName"));
    spec.kind = ValueSource::Kind::kJoin;
    spec.has_type = spec.has_shape = false;
    if (type == "joinExisting") return AddExisting(std::move(spec), element, parts);
    if (type == "joinNew") return AddNew(std::move(spec), joined, parts);
    return model::Unsupported("the aggregation {} is not supported", model::Quote(type));
  }

  Result<void> ReadPart(const Element& part, ValueSource& spec) {
    NDLFS_RETURN_IF_ERROR(
        Enter(part, {"location", "ncoords", "coordValue", "id", "title", "uri", "enhance"}));
    if (!part.children.empty()) return Refuse(part.children.front());
    if (spec.files.form == model::FileSet::Form::kGlob && !spec.files.names.empty()) {
      return model::Unsupported("<netcdf> and <scan> in one aggregation");
    }
    spec.files.form = model::FileSet::Form::kList;
    NDLFS_TRY(const std::string location, Required(part, "location"));
    NDLFS_TRY(spec.files.names.emplace_back(), ndl::FileOfLocation(location));
    return {};
  }

  // A pattern has wildcards of its own, and so names may have none.
  Result<void> ReadScan(const Element& scan, ValueSource& spec) {
    NDLFS_RETURN_IF_ERROR(Enter(scan, {"location", "suffix", "subdirs"}));
    if (!spec.files.names.empty()) {
      return model::Unsupported("<scan> next to another one or to <netcdf>");
    }
    NDLFS_TRY(const std::string given, Required(scan, "location"));
    NDLFS_TRY(std::string folder, ndl::FileOfLocation(given));
    const std::string_view suffix = scan.Text("suffix");
    if ((folder + std::string(suffix)).find_first_of("*?[") != std::string::npos) {
      return model::Unsupported("<scan> with *, ? or [");
    }
    if (!folder.ends_with('/')) folder += '/';
    const bool enters_folders = scan.Text("subdirs") != "false";
    if (enters_folders && suffix.empty()) {
      return model::Unsupported("<scan> of folders in folders without a suffix");
    }
    spec.files.form = model::FileSet::Form::kGlob;
    spec.files.names = {folder + (enters_folders ? "**/*" : "*") + std::string(suffix)};
    return {};
  }

  Result<void> AddUnion(ValueSource spec, const Element& element) {
    if (spec.files.form != model::FileSet::Form::kList) {
      return model::Unsupported("a union with <scan>");
    }
    if (element.Find("timeUnitsChange")) {
      return model::Unsupported("timeUnitsChange of a union");
    }
    ValueSource both;
    both.kind = ValueSource::Kind::kUnion;
    both.stores = std::move(spec.files.names);
    root_.source = std::move(both);
    return {};
  }

  Result<void> AddExisting(ValueSource spec, const Element& element,
                           const std::vector<const Element*>& parts) {
    for (const Element* part : parts) {
      line_ = part->line;
      if (part->Find("coordValue")) {
        return model::Unsupported(
            "coordValue in joinExisting is not supported: the files have the coordinates");
      }
      if (!part->Find("ncoords")) continue;
      const auto size = foreign::ParseCount(part->Text("ncoords"));
      if (!size) return model::BadInput("ncoords={} is no number", part->Text("ncoords"));
      spec.sizes.push_back(*size);
    }
    if (spec.sizes.size() != parts.size()) spec.sizes.clear();
    if (element.Text("timeUnitsChange") == "true") {
      ValueSource times = spec;
      times.unpack = true;
      const std::string name = std::get<std::string>(spec.along);
      times.path = "/" + name;
      sources_.emplace(name, std::move(times));
      dimension_ = name;
    }
    root_.source = std::move(spec);
    return {};
  }

  Result<void> AddNew(ValueSource spec, const std::vector<std::string>& joined,
                      const std::vector<const Element*>& parts) {
    if (joined.empty()) return model::BadInput("joinNew lacks <variableAgg>");
    dimension_ = std::get<std::string>(spec.along);
    is_new_ = true;
    for (const std::string& name : joined) {
      ValueSource of_variable = spec;
      of_variable.path = "/" + name;
      sources_.emplace(name, std::move(of_variable));
    }
    NDLFS_RETURN_IF_ERROR(ReadCoordinates(parts));
    root_.source = std::move(spec);
    return {};
  }

  // Reads coordinates, which all parts have or none. They are numbers if all of them are.
  Result<void> ReadCoordinates(const std::vector<const Element*>& parts) {
    Value::List numbers;
    Value::List texts;
    for (const Element* part : parts) {
      const std::string* value = part->Find("coordValue");
      if (value == nullptr) continue;
      texts.emplace_back(*value);
      if (const auto number = foreign::ParseReal(*value)) numbers.emplace_back(*number);
    }
    if (texts.empty()) return {};
    if (texts.size() != parts.size()) {
      return model::BadInput("only {} of {} parts have a coordValue", texts.size(),
                             parts.size());
    }
    NDLFS_RETURN_IF_ERROR(Count(texts.size()));
    if (numbers.size() == texts.size()) {
      coordinates_ = {model::Datatype::Float64(), std::move(numbers)};
    } else {
      coordinates_ = {model::Datatype::String(), std::move(texts)};
    }
    return {};
  }

  // --- Variables

  Result<void> AddVariables() {
    for (const auto& [name, element] : variables_) {
      model::Ndarray array;
      array.name = name;
      if (element->Find("orgName")) NDLFS_RETURN_IF_ERROR(Rename(*element, name));
      NDLFS_RETURN_IF_ERROR(ReadVariable(*element, array));
      NDLFS_RETURN_IF_ERROR(AddVariable(*element, std::move(array)));
    }
    if (coordinates_) {
      model::Ndarray array;
      array.name = dimension_;
      AddCoordinates(std::move(array));
    }
    for (auto& [name, source] : sources_) {
      model::Ndarray array;
      array.name = name;
      array.source = std::move(source);
      Add(std::move(array));
    }
    return {};
  }

  // The variable `name` is the one that the files call otherwise.
  Result<void> Rename(const Element& element, const std::string& name) {
    line_ = element.line;
    NDLFS_TRY(const std::string in_files, Required(element, "orgName"));
    if (in_files == name) return {};
    if (!root_.source || root_.source->kind == ValueSource::Kind::kUnion ||
        sources_.contains(in_files) || in_files == dimension_) {
      return model::Unsupported("orgName={} of what no single file or join has",
                                model::Quote(in_files));
    }
    ValueSource source = *root_.source;
    source.path = "/" + in_files;
    source.has_type = source.has_shape = false;
    if (source.kind == ValueSource::Kind::kJoin) {
      return model::Unsupported("orgName={} in an aggregation", model::Quote(in_files));
    }
    sources_.insert_or_assign(name, std::move(source));
    left_out_.push_back("/" + in_files);
    return {};
  }

  // Its attributes and values.
  Result<void> ReadVariable(const Element& element, model::Ndarray& array) {
    line_ = element.line;
    const Element* values = nullptr;
    for (const Element& child : element.children) {
      if (child.name == "attribute") {
        NDLFS_TRY(array.attributes.emplace_back(), ReadAttribute(child));
      } else if (child.name == "remove") {
        NDLFS_RETURN_IF_ERROR(ReadRemoval(child, array.name));
      } else if (child.name == "values" && values == nullptr) {
        values = &child;
      } else {
        return Refuse(child);
      }
    }
    if (values) NDLFS_RETURN_IF_ERROR(ReadValues(element, *values, array));
    return {};
  }

  // A dimension of a shape: declared by its name, or a length without a name.
  model::Dimension DimensionOf(std::string_view word, std::string& name) const {
    if (const auto length = foreign::ParseCount(word)) return {*length, {}};
    name = word;
    const auto found = lengths_.find(word);
    return {found != lengths_.end() ? std::optional(found->second) : std::nullopt, {}};
  }

  Result<void> ReadValues(const Element& variable, const Element& element,
                          model::Ndarray& array) {
    NDLFS_RETURN_IF_ERROR(Enter(element, {"start", "increment", "npts", "separator"}));
    std::string shape(variable.Text("shape"));
    // The coordinates that an aggregation makes.
    const bool is_made = is_new_ && array.name == dimension_;
    if (shape.empty() && is_made) shape = dimension_;
    bool is_known = true;
    for (const std::string_view word : foreign::SplitWords(shape)) {
      std::string name;
      array.shape.push_back(DimensionOf(word, name));
      array.dimension_names.push_back(std::move(name));
      is_known = is_known && array.shape.back().size;
    }
    const size_t rank = array.shape.size();
    const bool has_form = variable.Find("type") && (rank == 1 || (rank > 1 && is_known));
    if (!has_form && root_.source && !is_made) return TakeForm(element, array);
    NDLFS_TRY(array.type, ParseType(variable.Text("type"), false));
    if (rank > 1 && !is_known) {
      return model::BadInput("{}: a dimension of the shape {} has no length",
                             model::Quote(array.name), model::Quote(shape));
    }
    NDLFS_TRY(auto values, ListOf(element, array.type, CountOf(array.shape)));
    return SetValues(std::move(values), array);
  }

  static std::optional<uint64_t> CountOf(const model::Shape& shape) {
    std::optional<uint64_t> count = 1;
    for (const model::Dimension& dimension : shape) {
      count = count && dimension.size ? CheckedMultiply(*count, *dimension.size) : std::nullopt;
    }
    return shape.empty() ? std::nullopt : count;
  }

  static Result<void> SetValues(Value::List values, model::Ndarray& array) {
    if (array.shape.empty()) {
      if (values.size() != 1) return model::BadInput("{} values of a scalar", values.size());
      array.value = std::move(values.front());
      return {};
    }
    if (array.shape.size() == 1 && !array.shape[0].size) array.shape[0].size = values.size();
    if (array.shape.size() == 1 && *array.shape[0].size != values.size()) {
      return model::BadInput("{} values along {}, which has the length {}", values.size(),
                             model::Quote(array.dimension_names[0]), *array.shape[0].size);
    }
    std::vector<uint64_t> extents;
    for (const model::Dimension& dimension : array.shape) extents.push_back(*dimension.size);
    NDLFS_TRY(array.value, ndl::ShapeValues(values, array.type, extents));
    const bool has_names = std::ranges::any_of(array.dimension_names,
                                               [](const auto& name) { return !name.empty(); });
    if (!has_names) array.dimension_names.clear();
    return {};
  }

  // Values of a variable of the files, whose type and shape it keeps.
  Result<void> TakeForm(const Element& element, model::Ndarray& array) {
    auto numbers = ListOf(element, model::Datatype::Float64(), std::nullopt);
    const bool are_texts = !numbers && !element.Find("start") &&
                           numbers.error().code() == model::ErrorCode::kBadInput;
    if (are_texts) {
      NDLFS_TRY(numbers, ListOf(element, model::Datatype::String(), std::nullopt));
    }
    if (!numbers) return model::Propagate(std::move(numbers).error());
    array.type = are_texts ? model::Datatype::String() : model::Datatype::Float64();
    array.shape = {{numbers->size(), {}}};
    array.dimension_names.clear();
    array.value = *std::move(numbers);
    array.source = ndl::FormOfData();
    return {};
  }

  Result<Value::List> ListOf(const Element& element, const model::Datatype& type,
                             std::optional<uint64_t> length) {
    if (element.Find("start")) {
      if (const std::string* count = element.Find("npts")) length = foreign::ParseCount(*count);
      if (!length) return model::BadInput("<values>: nobody knows how many (npts)");
      if (type.size() == 0) return model::BadInput("<values start=...> of texts");
      NDLFS_RETURN_IF_ERROR(Count(*length));
      return RegularValues(type, element.Text("start"), element.Text("increment"), *length);
    }
    const std::string* separator = element.Find("separator");
    NDLFS_TRY(auto values,
              ParseValues(type, element.text,
                          separator ? std::string_view(*separator) : std::string_view(" ")));
    NDLFS_RETURN_IF_ERROR(Count(values.size()));
    return values;
  }

  Result<void> AddVariable(const Element& element, model::Ndarray array) {
    line_ = element.line;
    if (array.name == dimension_ && coordinates_ && !array.value) {
      AddCoordinates(std::move(array));
      return {};
    }
    if (array.name == dimension_) coordinates_.reset();
    const auto source = sources_.find(array.name);
    if (array.value) {
      if (source != sources_.end()) {
        return model::BadInput("{} has values, and is joined", model::Quote(array.name));
      }
    } else if (source != sources_.end()) {
      array.source = std::move(source->second);
      sources_.erase(source);
    } else if (root_.source) {  // the array of the stores, with more attributes
      NDLFS_TRY(array.type, ParseType(element.Text("type"), false));
    } else {
      return model::BadInput("{} has no values", model::Quote(array.name));
    }
    Add(std::move(array));
    return {};
  }

  void AddCoordinates(model::Ndarray array) {
    array.type = coordinates_->type;
    array.shape = {{coordinates_->values.size(), {}}};
    array.dimension_names = {dimension_};
    array.value = std::move(coordinates_->values);
    coordinates_.reset();
    Add(std::move(array));
  }

  void Add(model::Ndarray array) {
    const bool is_times =
        array.source && array.name == dimension_ && array.source->unpack && !array.value;
    if (is_times) {
      array.shape = {{std::nullopt, {}}};
      array.dimension_names = {array.name};
    }
    const bool is_dimcoord = array.shape.size() == 1 && array.dimension_names.size() == 1 &&
                             !(array.value && array.source) &&
                             array.dimension_names[0] == array.name;
    if (is_dimcoord) {
      root_.dimcoords.push_back({std::move(array)});
    } else {
      root_.ndarrays.push_back(std::move(array));
    }
  }

  size_t values_left_;
  size_t line_ = 1;
  model::Group root_;
  const Element* aggregation_ = nullptr;
  std::map<std::string, uint64_t, std::less<>> lengths_;
  std::map<std::string, const Element*> variables_;
  // The sources of arrays that are joined by themselves, and not with the group.
  std::map<std::string, ValueSource> sources_;
  std::string dimension_;  // the one that the aggregation changes; or empty
  bool is_new_ = false;    // and whether it makes that dimension
  std::vector<std::string> left_out_;
  std::optional<Coordinates> coordinates_;
};

model::ParsedDocument Refused(const model::Error& error, size_t line) {
  model::ParsedDocument parsed;
  // Other readers of NcML may well read such a document.
  const bool is_unsupported = error.code() == model::ErrorCode::kUnsupported;
  parsed.errors.push_back({static_cast<int>(line), 1, {}, error.message(), is_unsupported});
  return parsed;
}

// Takes what is before the first element off `text`.
void SkipProlog(std::string_view& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    const std::string_view end = text.starts_with("<?")     ? "?>"
                                 : text.starts_with("<!--") ? "-->"
                                                            : "";
    if (end.empty()) return;
    const size_t at = text.find(end);
    text.remove_prefix(at == text.npos ? text.size() : at + end.size());
  }
}

}  // namespace

model::ParsedDocument ReadNcml(std::string_view text, std::string_view file_name,
                               const model::NdlLimits& limits) {
  if (text.size() > limits.bytes) {
    return Refused(model::Limit("more than {} bytes", limits.bytes).value(), 1);
  }
  const auto tree = ReadTree(text, limits.values);
  if (!tree) return Refused(tree.error(), 1);
  Reader reader(limits.values);
  auto root = reader.Read(tree->top);
  if (!root) return Refused(root.error(), reader.line());
  model::ParsedDocument parsed;
  const size_t values = limits.values - reader.values_left();
  parsed.memory = text.size() + (tree->element_count + values) * kMemoryPerElement;
  parsed.file = model::File{std::string(file_name), *std::move(root)};
  parsed.left_out = reader.TakeLeftOut();
  return parsed;
}

bool LooksLikeNcml(std::string_view head) {
  const std::string_view all = head;
  SkipProlog(head);
  if (!head.starts_with('<')) return false;
  head.remove_prefix(1);
  const std::string_view tag = head.substr(0, head.find_first_of(" \t\r\n/>"));
  return tag.substr(tag.rfind(':') + 1) == "netcdf" && all.find(kNamespace) != all.npos;
}

}  // namespace ndlfs::backends::ncml
