// SPDX-License-Identifier: MIT
//
// Files of every entity and nesting of types, made from a seed.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/entities.h"
#include "model/path_name.h"

namespace ndlfs::test {

class RandomFile {
 public:
  explicit RandomFile(uint64_t seed) : random_(seed) {}

  model::File Make() {
    model::File file;
    file.name = "example";
    MakeGroups(file.root, 0);
    CollectDimCoords(file.root, "/");
    FillGroup(file.root);
    return file;
  }

  // Of every kind; `nesting` is how deep it may be.
  model::Datatype Type(int nesting) {
    using model::Datatype;
    switch (Below(nesting > 0 ? 12 : 8)) {
      case 0:
        return Datatype::String();
      case 1:
        return Datatype::Integer(size_t{1} << Below(4), Chance(2));
      case 2:
        return Below(2) ? Datatype::Float32() : Datatype::Float64();
      case 3:
        return OddType();
      case 4:
        return Datatype::Opaque(Below(20), Chance(2) ? Text() : "");
      case 5:
        return Chance(3) ? Datatype::Bool() : Enum();
      case 6:
        return Datatype::ObjectRef();
      case 7:
        return Datatype::RegionRef(Chance(2) ? Datatype::Selection::kBlock
                                             : Datatype::Selection::kElement);
      case 8:
        return Chance(4) ? Datatype::Complex(8) : Compound(nesting - 1);
      case 9:
        return Compound(nesting - 1);
      case 10:
        return Datatype::Vlen(Type(nesting - 1));
      default:
        return Datatype::Array(Type(nesting - 1), Sizes(Below(3), 0, 3));
    }
  }

  model::Value Value(const model::Datatype& type) {
    using Kind = model::Datatype::Kind;
    switch (type.kind()) {
      case Kind::kString:
        return Text();
      case Kind::kInteger:
      case Kind::kFloat:
        return *DecodeElement(type, Bytes(type.size()));
      case Kind::kOpaque:
        return Bytes(type.size());
      case Kind::kEnum:
        return type.constants()[Below(type.constants().size())].name;
      case Kind::kObjectRef:
        return Chance(4) ? model::Value() : model::Value("/" + Name());
      case Kind::kRegionRef:
        return Chance(4) ? model::Value() : model::Value(Region(type.selection()));
      case Kind::kCompound: {
        model::Value::Map map;
        for (const auto& member : type.members()) {
          map.emplace_back(member.name, Value(member.type));
        }
        return map;
      }
      case Kind::kVlen:
        return Nested({Below(4)}, 0, type.base());
      case Kind::kArray:
        return Nested(type.shape(), 0, type.base());
    }
    return {};
  }

  // Names and texts are of what YAML could take for something else.
  std::string Text() {
    static constexpr std::string_view kPieces[] = {
        "a",
        "temperature",
        " ",
        "  ",
        ":",
        "#",
        "-",
        "?",
        ",",
        "[",
        "]",
        "{",
        "}",
        "&",
        "*",
        "!",
        "|",
        ">",
        "'",
        "\"",
        "%",
        "@",
        "`",
        "\n",
        "\t",
        "\r",
        "\\",
        "1",
        "0x",
        "e",
        ".",
        "+",
        "_",
        "é",
        "€",
        "😀",
        "\x7f",
        "~",
        "\u2028",
        "no",
        "=",
        "<<",
        "y",
        "\n\n",
        "null",
        "\u00a0",
        "---",
        "2008-12-31",
        "true",
        "text that is long enough for lists and types not to fit on a line any more",
        "line\nand\nline\n",
        "\0x"};
    std::string text;
    for (size_t n = Below(5); n > 0; --n) text += kPieces[Below(std::size(kPieces))];
    return text;
  }

  std::string Name() {
    static constexpr std::string_view kNames[] = {"lat", "lon", "time",   "y",    "x", "TRUE",
                                                  "on",  "10",  "x-dims", "null", "u", "v"};
    std::string name = Chance(3) ? Text() : std::string(kNames[Below(std::size(kNames))]);
    std::erase(name, '/');
    if (Chance(100)) name += std::string(2000, 'k');
    return name.empty() ? "empty" : name;
  }

 private:
  size_t Below(size_t end) { return random_() % end; }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }

  std::vector<uint64_t> Sizes(size_t rank, uint64_t least, uint64_t most) {
    std::vector<uint64_t> sizes(rank);
    for (uint64_t& size : sizes) size = least + Below(most - least + 1);
    return sizes;
  }

  model::Blob Bytes(size_t count) {
    model::Blob bytes(count);
    // Often small numbers, so that short forms and integers in floats come up.
    const bool small = Chance(2);
    for (size_t i = 0; i < count; ++i) {
      bytes[i] = static_cast<std::byte>(small && i > 0 ? 0 : random_());
    }
    return bytes;
  }

  std::string UniqueName(std::set<std::string>& taken) {
    std::string name = Name();
    while (!taken.insert(name).second) name += std::to_string(Below(10));
    return name;
  }

  model::Datatype OddType() {
    static const char* const kKeywords[] = {"float16",       "bfloat16",        "float8_e4m3fn",
                                            "float4_e2m1fn", "float8_e5m2fnuz", "float128",
                                            "float8_e8m0fnu"};
    static const char* const kUnits[] = {"Y", "D", "s", "ns", "generic"};
    if (Chance(2)) return *model::Datatype::FromKeyword(kKeywords[Below(std::size(kKeywords))]);
    return model::Datatype::Time(
        {kUnits[Below(std::size(kUnits))], static_cast<int64_t>(1 + Below(60)), Chance(2)});
  }

  model::Datatype Enum() {
    const auto base = model::Datatype::Integer(size_t{1} << Below(4), Chance(2));
    std::vector<model::Datatype::Constant> constants;
    std::set<std::string> names;
    for (size_t n = 1 + Below(4); n > 0; --n) {
      constants.push_back({UniqueName(names), *Value(base).integer()});
    }
    return model::Datatype::Enum(base, std::move(constants));
  }

  model::Datatype Compound(int nesting) {
    std::vector<model::Datatype::Member> members;
    std::set<std::string> names;
    for (size_t n = Below(4); n > 0; --n) {
      members.push_back({UniqueName(names), Type(nesting), 0});
    }
    return model::Datatype::PackedCompound(std::move(members));
  }

  model::Region Region(model::Datatype::Selection selection) {
    model::Region region{"/" + Name(), selection, {}};
    const size_t rank = Below(4);
    const size_t points = selection == model::Datatype::Selection::kBlock ? 2 : Below(3);
    for (size_t i = 0; i < points; ++i) region.points.push_back(Sizes(rank, 0, 9));
    return region;
  }

  model::Value Nested(const std::vector<uint64_t>& extents, size_t dim,
                      const model::Datatype& type) {
    if (dim == extents.size()) return Value(type);
    model::Value::List list;
    for (uint64_t i = 0; i < extents[dim]; ++i) list.push_back(Nested(extents, dim + 1, type));
    return list;
  }

  model::Value Parameter(int nesting) {
    switch (Below(nesting > 0 ? 6 : 4)) {
      case 0:
        return Value(model::Datatype::Integer(8, Chance(2)));
      case 1:
        return Value(model::Datatype::Float64());
      case 2:
        return Text();
      case 3:
        return {};
      case 4: {
        model::Value::List list;
        for (size_t n = Below(4); n > 0; --n) list.push_back(Parameter(nesting - 1));
        return list;
      }
      default:
        return Parameters(nesting - 1);
    }
  }

  model::Value::Map Parameters(int nesting) {
    model::Value::Map map;
    std::set<std::string> names;
    for (size_t n = Below(4); n > 0; --n) {
      map.emplace_back(UniqueName(names), Parameter(nesting));
    }
    return map;
  }

  void StorageOfText(model::Storage& storage) {
    if (Chance(3)) {
      storage.endian = Chance(2) ? model::ByteOrder::kLittle : model::ByteOrder::kBig;
    }
    if (Chance(4)) storage.charset = Chance(4) ? Text() : "utf-8";
  }

  model::Storage ArrayStorage(const model::Datatype& type, size_t rank) {
    model::Storage storage;
    if (Chance(2)) return storage;
    StorageOfText(storage);
    if (Chance(2)) storage.chunk = Sizes(rank, 1, 1000);
    if (Chance(3)) {
      storage.filter.emplace();
      for (size_t n = Below(3); n > 0; --n) storage.filter->push_back({Name(), Parameters(2)});
    }
    if (Chance(2)) storage.fillvalue = Value(type);
    return storage;
  }

  std::vector<model::Attribute> Attributes() {
    std::vector<model::Attribute> attributes;
    std::set<std::string> names;
    for (size_t n = Below(4); n > 0; --n) {
      model::Attribute attribute;
      attribute.name = UniqueName(names);
      attribute.type = Type(3);
      attribute.shape = Sizes(Chance(2) ? 0 : Below(3), 0, 4);
      attribute.value = Nested(attribute.shape, 0, attribute.type);
      attribute.json = attribute.type == model::Datatype::String() && Chance(4);
      if (Chance(4)) StorageOfText(attribute.storage);
      attributes.push_back(std::move(attribute));
    }
    return attributes;
  }

  // The tree of groups, and the coordinates without their contents.
  void MakeGroups(model::Group& group, int depth) {
    std::set<std::string> names;
    for (size_t n = Below(3); n > 0; --n) {
      model::DimCoord coord;
      coord.name = UniqueName(names);
      coord.shape = {{Chance(4) ? std::nullopt : std::optional<uint64_t>(1 + Below(5)), ""}};
      group.dimcoords.push_back(std::move(coord));
    }
    for (size_t n = Below(3); n > 0; --n) {
      group.ndarrays.emplace_back().name = UniqueName(names);
    }
    for (size_t n = depth < 3 ? Below(3) : 0; n > 0; --n) {
      model::Group child;
      child.name = UniqueName(names);
      MakeGroups(child, depth + 1);
      group.groups.push_back(std::move(child));
    }
    for (size_t n = Chance(3) ? Below(3) : 0; n > 0; --n) {
      group.links.push_back({UniqueName(names), "/" + Name(), Chance(2) ? "" : Name()});
    }
    if (Chance(9)) group.same_as = "/" + Name();
    std::sort(group.groups.begin(), group.groups.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }

  void CollectDimCoords(const model::Group& group, const std::string& path) {
    for (const auto& coord : group.dimcoords) {
      dimcoords_.emplace_back(model::JoinPath(path, coord.name), coord.shape[0].size);
    }
    for (const auto& child : group.groups) {
      CollectDimCoords(child, model::JoinPath(path, child.name));
    }
  }

  void FillGroup(model::Group& group) {
    group.attributes = Attributes();
    std::set<std::string> names;
    for (size_t n = Below(3); n > 0; --n) {
      group.dimensions.push_back(
          {UniqueName(names), Chance(3) ? std::nullopt : std::optional<uint64_t>(Below(9))});
    }
    for (auto& coord : group.dimcoords) {
      FillArray(coord);
      if (!coord.shape[0].size && coord.storage.shape) {
        coord.storage.size = coord.storage.shape->front();
      }
      coord.storage.shape.reset();
      if (coord.dimension_names.empty()) coord.dimension_names = {coord.name};
    }
    for (auto& ndarray : group.ndarrays) {
      for (size_t rank = Below(4); rank > 0; --rank) ndarray.shape.push_back(Dimension());
      FillArray(ndarray);
    }
    for (auto& child : group.groups) FillGroup(child);
  }

  model::Dimension Dimension() {
    if (!dimcoords_.empty() && Chance(2)) {
      const auto& [path, size] = dimcoords_[Below(dimcoords_.size())];
      return {size, path};
    }
    if (Chance(5)) return {};
    return {Below(5), ""};
  }

  void FillArray(model::Ndarray& array) {
    array.type = Type(Chance(3) ? 4 : 1);
    array.attributes = Attributes();
    array.storage = ArrayStorage(array.type, array.shape.size());
    std::vector<uint64_t> stored;
    for (const auto& dimension : array.shape)
      stored.push_back(dimension.size.value_or(Below(4)));
    if (Chance(2)) array.storage.shape = stored;
    if (Chance(2)) array.value = Nested(stored, 0, array.type);
    NameDimensions(array);
    if (Chance(2)) array.layout = model::LayoutOf(array.type);
    if (Chance(9)) array.same_as = "/" + Name();
  }

  void NameDimensions(model::Ndarray& array) {
    std::vector<std::string> shown;
    for (const auto& dimension : array.shape) {
      shown.emplace_back(model::BaseName(dimension.dimcoord));
    }
    array.dimension_names = shown;
    if (Chance(3)) {
      for (std::string& name : array.dimension_names) name = Chance(3) ? "" : Name();
    }
    if (array.dimension_names == shown &&
        std::all_of(shown.begin(), shown.end(), [](const auto& n) { return n.empty(); })) {
      array.dimension_names.clear();
    }
  }

  std::mt19937_64 random_;
  std::vector<std::pair<std::string, std::optional<uint64_t>>> dimcoords_;
};

}  // namespace ndlfs::test
