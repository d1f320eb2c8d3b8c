// SPDX-License-Identifier: MIT
#include "backends/format/foreign/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/format/array_source.h"
#include "backends/format/computed_source.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/path_name.h"
#include "model/utf8.h"

namespace ndlfs::backends::foreign {
namespace {

using model::Result;

// Arrays of float64 that are in no file: `values`, or `size` numbers first, first + step ...,
// which take no memory.
Result<std::shared_ptr<const ArraySource>> MakeListedCoordinates(std::vector<double> values) {
  const uint64_t size = values.size();
  return MakeComputedSource({size},
                            [values = std::move(values)](uint64_t i) { return values[i]; });
}

Result<std::shared_ptr<const ArraySource>> MakeRegularCoordinates(double first, double step,
                                                                  uint64_t size) {
  return MakeComputedSource({size},
                            [=](uint64_t i) { return first + static_cast<double>(i) * step; });
}

}  // namespace

namespace {

constexpr size_t kMostAttributes = 4096;

// A name in a group: no slash, no control character, valid UTF-8.
std::string CleanName(std::string_view name) {
  std::string clean = model::AsUtf8(name);
  for (char& c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '/') c = '_';
  }
  return clean;
}

std::vector<std::string> NamesOf(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& axis : axes) {
    std::string name = CleanName(axis.name);
    // If two dimensions had one name, coordinates could be along either.
    const bool is_new = std::ranges::find(names, name) == names.end();
    names.push_back(is_new ? std::move(name) : std::string());
  }
  const bool any = std::ranges::any_of(names, [](const auto& name) { return !name.empty(); });
  return any ? names : std::vector<std::string>();
}

// The number nearest to `value` that the type has; nullopt if it has none.
std::optional<model::Value> FitTo(const model::Datatype& type, const model::Value& value) {
  if (type.kind() == model::Datatype::Kind::kFloat) {
    const double number = value.real()      ? *value.real()
                          : value.integer() ? static_cast<double>(*value.integer())
                                            : 0;
    const auto rounded = model::RoundToFloat(type, number);
    return rounded ? std::optional<model::Value>(*rounded) : std::nullopt;
  }
  if (type.kind() != model::Datatype::Kind::kInteger) return std::nullopt;
  model::Value number = value;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (const double* real = value.real()) {
    if (!(*real >= -kExact && *real <= kExact)) return std::nullopt;
    const auto integer = static_cast<int64_t>(*real);
    if (static_cast<double>(integer) != *real) return std::nullopt;
    number = model::Value(integer);
  }
  std::vector<std::byte> element(type.size());
  if (!model::EncodeElement(type, number, element)) return std::nullopt;
  return number;
}

model::Ndarray Describe(const DescribedArray& array) {
  model::Ndarray made;
  made.type = array.type().WithOrder(model::ByteOrder::kLittle);
  for (const Axis& axis : array.axes) made.shape.push_back({axis.size, {}});
  made.dimension_names = NamesOf(array.axes);
  made.attributes = array.attributes;
  made.storage.endian = array.stored.uniform_order();
  const auto fill = array.fill ? FitTo(made.type, *array.fill) : std::nullopt;
  if (fill) {
    made.storage.fillvalue = *fill;
    made.attributes.push_back({"_FillValue", made.type, {}, *fill, {}});
  }
  return made;
}

}  // namespace

model::Attribute TextAttribute(std::string name, std::string_view text) {
  return model::MakeTextAttribute(CleanName(name), text.substr(0, text.find('\0')));
}

model::Attribute RealAttribute(std::string name, double number) {
  return {CleanName(name), model::Datatype::Float64(), {}, number, {}};
}

model::Attribute RealsAttribute(std::string name, const std::vector<double>& numbers) {
  model::Value::List values(numbers.begin(), numbers.end());
  return {CleanName(name), model::Datatype::Float64(), {numbers.size()}, std::move(values), {}};
}

model::Attribute IntegerAttribute(std::string name, int64_t number) {
  const bool is_short = number >= INT32_MIN && number <= INT32_MAX;
  return {CleanName(name), model::Datatype::Integer(is_short ? 4 : 8, true), {}, number, {}};
}

Result<void> AddFieldAttribute(std::string_view name, std::string_view value,
                               std::vector<model::Attribute>& attributes) {
  constexpr size_t kMostFields = 10'000;
  if (attributes.size() >= kMostFields) {
    return model::Limit("a header of more than {} fields", kMostFields);
  }
  attributes.push_back(TextAttribute(std::string(name), value));
  return {};
}

bool Coordinates::operator==(const Coordinates& other) const {
  if (first != other.first || step != other.step || attributes != other.attributes)
    return false;
  return values == other.values || (values && other.values && *values == *other.values);
}

std::vector<uint64_t> DescribedArray::shape() const {
  std::vector<uint64_t> shape;
  for (const Axis& axis : axes) shape.push_back(axis.size);
  return shape;
}

std::vector<std::byte> EncodedFill(const DescribedArray& array) {
  const auto type = array.type().WithOrder(model::ByteOrder::kLittle);
  const auto fill = array.fill ? FitTo(type, *array.fill) : std::nullopt;
  std::vector<std::byte> element(fill ? type.size() : 0);
  if (fill && !model::EncodeElement(type, *fill, element)) element.clear();
  return element;
}

// A store that was described once. When a file changes, it is opened again.
class Contents::StoreOfHeader final : public Hierarchy {
 public:
  StoreOfHeader(std::string_view format, Contents contents)
      : format_(format), contents_(std::move(contents)) {
    for (const auto& [name, node] : contents_.children_) held_ += node->held_bytes();
  }

  std::string_view format() const override { return format_; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    if (path == "/") return contents_.root_;
    const auto found = path.starts_with('/') ? contents_.children_.find(path.substr(1))
                                             : contents_.children_.end();
    if (found == contents_.children_.end()) {
      return model::NotFound("no array {}", model::Quote(path));
    }
    return found->second;
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    if (path != "/") return model::NotFound("no group {}", model::Quote(path));
    std::vector<std::string> names;
    for (const auto& [name, node] : contents_.children_) names.push_back(name);
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    return FingerprintNow(contents_.reads_);
  }

  uint64_t held_bytes() const override { return held_; }

 private:
  const std::string_view format_;
  const Contents contents_;
  uint64_t held_ = 0;
};

Contents::Contents(std::shared_ptr<const Store> header)
    : header_(std::move(header)), root_(std::make_shared<Node>()) {
  root_->entity = model::Group();
  Watch(header_, "");
}

void Contents::AddAttribute(model::Attribute attribute) {
  auto& attributes = std::get<model::Group>(root_->entity).attributes;
  if (attribute.name.empty() || attributes.size() >= kMostAttributes) return;
  if (!attributes_.insert(attribute.name).second) return;
  attributes.push_back(std::move(attribute));
}

void Contents::AddAttributes(const std::vector<model::Attribute>& attributes) {
  for (const auto& attribute : attributes) AddAttribute(attribute);
}

std::string Contents::FreeName(std::string_view name) {
  const std::string clean = name.empty() ? std::string("array") : CleanName(name);
  if (!children_.contains(clean)) return clean;
  int& suffix = suffixes_.try_emplace(clean, 1).first->second;
  std::string free;
  do {
    free = fmt::format("{}_{}", clean, ++suffix);
  } while (children_.contains(free));
  return free;
}

bool Contents::AddCoordinates(const std::string& name, const Axis& axis) {
  if (children_.contains(name)) {
    const auto known = axes_.find(name);
    return known != axes_.end() && known->second == axis;
  }
  const Coordinates& coordinates = *axis.coordinates;
  auto source = coordinates.values
                    ? MakeListedCoordinates(*coordinates.values)
                    : MakeRegularCoordinates(coordinates.first, coordinates.step, axis.size);
  if (!source) return false;
  model::DimCoord dimcoord;
  dimcoord.name = name;
  dimcoord.type = model::Datatype::Float64();
  dimcoord.shape = {{axis.size, {}}};
  dimcoord.dimension_names = {name};
  dimcoord.attributes = coordinates.attributes;
  auto node = std::make_shared<Node>();
  node->entity = std::move(dimcoord);
  node->source = *std::move(source);
  children_.emplace(name, std::move(node));
  axes_.emplace(name, axis);
  return true;
}

Result<void> Contents::AddArray(const DescribedArray& array,
                                Result<std::shared_ptr<const ArraySource>> source) {
  auto node = std::make_shared<Node>();
  model::Ndarray described = Describe(array);
  for (size_t d = 0; d < described.dimension_names.size(); ++d) {
    const std::string& name = described.dimension_names[d];
    if (name.empty() || !array.axes[d].coordinates) continue;
    if (!AddCoordinates(name, array.axes[d])) continue;
    described.shape[d].dimcoord = model::JoinPath("/", name);
  }
  described.name = FreeName(array.name);
  const std::string name = described.name;
  node->notes = array.notes;
  node->entity = std::move(described);
  if (source) {
    node->source = *std::move(source);
  } else if (source.error().is_transient()) {
    return model::Propagate(std::move(source).error());
  } else {
    node->error = std::move(source).error();
  }
  children_.emplace(name, std::move(node));
  return {};
}

Result<std::shared_ptr<const Hierarchy>> Contents::MakeHierarchy(std::string_view format) && {
  NDLFS_TRY(const auto value, header_->Get("", 0, {.range = {0, 0}}), header_->Describe(""));
  if (!value) return model::NotFound("the file is gone");
  root_->mtime_ns = value->info.modified_ns;
  for (const auto& [name, node] : children_) node->mtime_ns = value->info.modified_ns;
  return std::make_shared<StoreOfHeader>(format, std::move(*this));
}

}  // namespace ndlfs::backends::foreign
