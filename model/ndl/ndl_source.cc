// SPDX-License-Identifier: MIT
#include "model/ndl/ndl_source.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/file_set.h"
#include "model/ndl/ndl_type_reader.h"
#include "model/ndl/yaml_text.h"
#include "model/value.h"

namespace ndlfs::model {
namespace {

using Place = NdlContext::Place;
using SourceKind = ValueSource::Kind;
using Form = FileSet::Form;

YamlItem SourceNumber(WideInt value) { return YamlItem::Verbatim(FormatInteger(value)); }

YamlItem Names(const std::vector<std::string>& names) {
  YamlItem list = YamlItem::Sequence();
  for (const std::string& name : names) list.Add(YamlItem::Text(name));
  return list;
}

// --- Writing

YamlItem FilesItem(const FileSet& files) {
  if (files.form == Form::kGlob) return YamlItem::Text(files.names.at(0));
  if (files.form == Form::kList) return Names(files.names);
  YamlItem map = YamlItem::Mapping();
  map.Add("files", YamlItem::Text(files.names.at(0)));
  if (files.form == Form::kNumbers) {
    map.Add("from", SourceNumber(files.from));
    map.Add("to", SourceNumber(files.to));
    if (files.step != 1) map.Add("step", SourceNumber(files.step));
  } else {
    map.Add("from", YamlItem::Text(files.first));
    map.Add("to", YamlItem::Text(files.last));
    map.Add("step", YamlItem::Text(std::to_string(files.step) + files.unit));
  }
  return map;
}

void AddFlat(YamlItem& map, const FlatFile& flat, bool is_join) {
  // Tells that the parts of a join are flat files.
  const bool is_plain = flat == FlatFile();
  if (flat.offset != 0 || (is_join && is_plain)) map.Add("offset", SourceNumber(flat.offset));
  if (flat.trailer) map.Add("trailer", SourceNumber(*flat.trailer));
  if (flat.fortran_order) map.Add("order", YamlItem::Verbatim("F"));
  if (flat.has_records) map.Add("records", YamlItem::Verbatim("fortran"));
  if (flat.bits != FlatFile::Bits::kNone) {
    const bool lowest = flat.bits == FlatFile::Bits::kLowestFirst;
    map.Add("bits", YamlItem::Verbatim(lowest ? "lowest-first" : "highest-first"));
  }
}

void AddJoin(YamlItem& map, const ValueSource& source) {
  map.Add("join", FilesItem(source.files));
  if (!source.path.empty()) map.Add("path", YamlItem::Text(source.path));
  if (const auto* name = std::get_if<std::string>(&source.along)) {
    map.Add("along", YamlItem::Text(*name));
  } else if (std::get<uint64_t>(source.along) != 0) {
    map.Add("along", SourceNumber(std::get<uint64_t>(source.along)));
  }
  if (source.sizes.size() == 1) {
    map.Add("sizes", SourceNumber(source.sizes[0]));
  } else if (!source.sizes.empty()) {
    YamlItem sizes = YamlItem::Sequence();
    for (const uint64_t size : source.sizes) sizes.Add(SourceNumber(size));
    map.Add("sizes", std::move(sizes));
  }
  if (source.unpack) map.Add("unpack", YamlItem::Verbatim("true"));
  if (source.fills_missing) map.Add("missing", YamlItem::Verbatim("fill"));
  if (source.tolerance != 0) {
    map.Add("tolerance", YamlItem::Verbatim(FormatFloat(source.tolerance)));
  }
}

// --- Reading

class SourceReader {
 public:
  SourceReader(NdlContext& context, SourceOwner owner) : context_(context), owner_(owner) {}

  std::optional<ValueSource> Read(const YamlNode& node) {
    ValueSource source;
    if (!CheckMapping(context_, node)) return std::nullopt;
    const auto kind = FindKind(node);
    if (!kind) return std::nullopt;
    source.kind = *kind;
    const NdlFields fields = FieldsOf(source.kind, node);
    const bool read = source.kind == SourceKind::kFile    ? ReadFile(fields, source)
                      : source.kind == SourceKind::kStore ? ReadStore(fields, source)
                      : source.kind == SourceKind::kJoin  ? ReadJoin(fields, source)
                                                          : ReadUnion(fields, source);
    if (!read) return std::nullopt;
    return source;
  }

 private:
  static constexpr std::string_view kArrayKinds[] = {"file", "store", "join"};
  static constexpr std::string_view kGroupKinds[] = {"store", "join", "union"};

  std::span<const std::string_view> kinds() const {
    if (owner_ == SourceOwner::kArray) return kArrayKinds;
    return kGroupKinds;
  }

  std::optional<SourceKind> FindKind(const YamlNode& node) {
    std::optional<std::string_view> found;
    for (size_t i = 0; i < node.size(); ++i) {
      const YamlNode& key = node.key(i);
      if (!key.is_scalar()) continue;
      const auto known = std::ranges::find(kinds(), key.text());
      if (known == kinds().end()) continue;
      if (found) {
        context_.Error(key, "expected one of {}, found {} and {}", Alternatives(kinds()),
                       *found, key.text());
        return std::nullopt;
      }
      found = *known;
    }
    if (!found) {
      std::string hint;
      for (size_t i = 0; i < node.size() && hint.empty(); ++i) {
        if (node.key(i).is_scalar()) hint = Suggestion(node.key(i).text(), kinds());
      }
      context_.Error(node, "expected one of the keys {}{}", Alternatives(kinds()), hint);
      return std::nullopt;
    }
    if (*found == "file") return SourceKind::kFile;
    if (*found == "store") return SourceKind::kStore;
    return *found == "join" ? SourceKind::kJoin : SourceKind::kUnion;
  }

  NdlFields FieldsOf(SourceKind kind, const YamlNode& node) {
    switch (kind) {
      case SourceKind::kFile:
        return {context_, node, {"file", "offset", "trailer", "order", "records", "bits"}};
      case SourceKind::kStore:
        return {context_, node, {"store", "path"}};
      case SourceKind::kUnion:
        return {context_, node, {"union"}};
      case SourceKind::kJoin:
        break;
    }
    if (owner_ == SourceOwner::kGroup) {
      return {
          context_, node, {"join", "path", "along", "sizes", "unpack", "missing", "tolerance"}};
    }
    return {context_,
            node,
            {"join", "path", "along", "sizes", "unpack", "missing", "tolerance", "offset",
             "trailer", "order", "records", "bits"}};
  }

  // A name of a file or a store.
  bool ReadName(const YamlNode& node, std::string& name) {
    const auto text = ReadText(context_, node);
    if (!text) return false;
    if (text->empty() || text->starts_with('/')) {
      context_.Error(node, "expected a path relative to the document, found {}",
                     DescribeNode(node));
      return false;
    }
    name = *text;
    return true;
  }

  bool ReadNameList(const YamlNode& node, std::vector<std::string>& names) {
    if (!node.is_sequence() || node.items().empty()) {
      context_.Error(node, "expected a list of paths, found {}", DescribeNode(node));
      return false;
    }
    for (size_t i = 0; i < node.items().size() && !context_.gave_up(); ++i) {
      const Place place(context_, i);
      if (!ReadName(*node.items()[i], names.emplace_back())) return false;
    }
    return true;
  }

  bool ReadFile(const NdlFields& fields, ValueSource& source) {
    const Place place(context_, "file");
    source.flat.emplace();
    return ReadName(*fields.Find("file"), source.name) && ReadFlat(fields, *source.flat);
  }

  bool ReadStore(const NdlFields& fields, ValueSource& source) {
    const Place place(context_, "store");
    return ReadName(*fields.Find("store"), source.name) && ReadPath(fields, source);
  }

  bool ReadUnion(const NdlFields& fields, ValueSource& source) {
    const Place place(context_, "union");
    return ReadNameList(*fields.Find("union"), source.stores);
  }

  bool ReadPath(const NdlFields& fields, ValueSource& source) {
    const YamlNode* node = fields.Find("path");
    if (!node) return true;
    const Place place(context_, "path");
    const auto text = ReadText(context_, *node);
    if (!text) return false;
    if (!text->starts_with('/')) {
      context_.Error(*node, "expected a path name that begins with \"/\", found {}",
                     DescribeNode(*node));
      return false;
    }
    source.path = *text;
    return true;
  }

  bool ReadFlat(const NdlFields& fields, FlatFile& flat) {
    if (const YamlNode* node = fields.Find("offset")) {
      const Place place(context_, "offset");
      const auto size = ReadSize(context_, *node, 0);
      if (!size) return false;
      flat.offset = *size;
    }
    if (const YamlNode* node = fields.Find("trailer")) {
      const Place place(context_, "trailer");
      flat.trailer = ReadSize(context_, *node, 0);
      if (!flat.trailer) return false;
    }
    if (const YamlNode* node = fields.Find("order")) {
      const Place place(context_, "order");
      const auto word = ReadWord(context_, *node, {"C", "F"});
      if (!word) return false;
      flat.fortran_order = *word == "F";
    }
    if (const YamlNode* node = fields.Find("records")) {
      const Place place(context_, "records");
      if (!ReadWord(context_, *node, {"fortran"})) return false;
      flat.has_records = true;
    }
    return ReadBits(fields, flat);
  }

  bool ReadBits(const NdlFields& fields, FlatFile& flat) {
    const YamlNode* node = fields.Find("bits");
    if (!node) return true;
    const Place place(context_, "bits");
    const auto word = ReadWord(context_, *node, {"lowest-first", "highest-first"});
    if (!word) return false;
    flat.bits =
        *word == "lowest-first" ? FlatFile::Bits::kLowestFirst : FlatFile::Bits::kHighestFirst;
    if (flat.has_records) context_.Error(*node, "records of bits are not supported");
    return !flat.has_records;
  }

  bool ReadJoin(const NdlFields& fields, ValueSource& source) {
    {
      const Place place(context_, "join");
      if (!ReadFiles(*fields.Find("join"), source.files)) return false;
    }
    for (const std::string_view key : {"offset", "trailer", "order", "records", "bits"}) {
      if (const YamlNode* node = fields.Find(key)) {
        source.flat.emplace();
        if (!fields.Find("path")) continue;
        context_.Error(*node, "\"{}\" is for flat files, \"path\" for stores", key);
        return false;
      }
    }
    if (source.flat && !ReadFlat(fields, *source.flat)) return false;
    return ReadPath(fields, source) && ReadAlong(fields, source) &&
           ReadSizesOfParts(fields, source) && ReadFlags(fields, source);
  }

  bool ReadAlong(const NdlFields& fields, ValueSource& source) {
    if (owner_ == SourceOwner::kGroup && !fields.Require("along")) return false;
    const YamlNode* node = fields.Find("along");
    if (!node) return true;
    const Place place(context_, "along");
    if (node->is_plain() && LooksLikeYamlNumber(node->text())) {
      const auto number = ReadSize(context_, *node, 0);
      if (!number) return false;
      if (owner_ == SourceOwner::kGroup || *number > 64) {
        context_.Error(*node, "expected the name of a dimension, found {}",
                       DescribeNode(*node));
        return false;
      }
      source.along = *number;
      return true;
    }
    const auto name = ReadText(context_, *node);
    if (name) source.along = *name;
    return name.has_value();
  }

  bool ReadSizesOfParts(const NdlFields& fields, ValueSource& source) {
    const YamlNode* node = fields.Find("sizes");
    if (!node) return true;
    const Place place(context_, "sizes");
    if (node->is_sequence()) {
      const auto sizes = ReadSizes(context_, *node, 0);
      if (!sizes) return false;
      source.sizes = *sizes;
      return CheckSizes(*node, source);
    }
    const auto size = ReadSize(context_, *node, 1);
    if (size) source.sizes = {*size};
    return size.has_value();
  }

  // A list has one size for each part, as far as the number of parts is known.
  bool CheckSizes(const YamlNode& node, ValueSource& source) {
    if (source.files.form == Form::kGlob) return true;
    const auto names = ExpandFileSet(source.files);
    const size_t found = node.items().size();
    if (names && names->size() != found) {
      context_.Error(node, "{} sizes, expected {}, one for each part", found, names->size());
      return false;
    }
    return true;
  }

  bool ReadFlags(const NdlFields& fields, ValueSource& source) {
    if (const YamlNode* node = fields.Find("unpack")) {
      const Place place(context_, "unpack");
      const auto flag = node->is_plain() ? ParseYamlBool(node->text()) : std::nullopt;
      if (!flag) context_.Error(*node, "expected true or false, found {}", DescribeNode(*node));
      if (!flag) return false;
      source.unpack = *flag;
      if (source.unpack && source.flat) {
        context_.Error(*node, "flat files have no attributes that say how to unpack them");
        return false;
      }
    }
    if (const YamlNode* node = fields.Find("missing")) {
      const Place place(context_, "missing");
      const auto word = ReadWord(context_, *node, {"error", "fill"});
      if (!word) return false;
      source.fills_missing = *word == "fill";
    }
    if (const YamlNode* node = fields.Find("tolerance")) {
      const Place place(context_, "tolerance");
      const auto number =
          node->is_plain() ? ParseYamlFloat<double>(node->text()) : std::nullopt;
      if (!number || !std::isfinite(*number) || *number < 0) {
        context_.Error(*node, "expected a number of at least 0, found {}", DescribeNode(*node));
        return false;
      }
      source.tolerance = *number;
    }
    return true;
  }

  // A glob, a list, or a pattern with numbers or dates.
  bool ReadFiles(const YamlNode& node, FileSet& files) {
    if (node.is_sequence()) {
      files.form = Form::kList;
      return ReadNameList(node, files.names);
    }
    if (!node.is_mapping()) {
      files.form = Form::kGlob;
      return ReadName(node, files.names.emplace_back());
    }
    const NdlFields fields(context_, node, {"files", "from", "to", "step"});
    const YamlNode* pattern = fields.Require("files");
    const YamlNode* from = fields.Require("from");
    const YamlNode* to = fields.Require("to");
    if (!pattern || !from || !to) return false;
    if (!ReadName(*pattern, files.names.emplace_back())) return false;
    const bool is_number = from->is_plain() && ParseYamlInteger(from->text()) &&
                           to->is_plain() && ParseYamlInteger(to->text()) &&
                           files.names[0].find("%Y") == std::string::npos &&
                           files.names[0].find("%y") == std::string::npos;
    files.form = is_number ? Form::kNumbers : Form::kDates;
    const bool read = is_number ? ReadNumbers(*from, *to, fields.Find("step"), files)
                                : ReadDates(*from, *to, fields.Find("step"), files);
    if (!read) return false;
    if (const auto names = ExpandFileSet(files); !names) {
      context_.Error(*pattern, "{}", names.error().message());
      return false;
    }
    return true;
  }

  bool ReadNumber(const YamlNode& node, std::string_view key, int64_t& number) {
    const Place place(context_, key);
    const auto found = node.is_plain() ? ParseYamlInteger(node.text()) : std::nullopt;
    if (!found || *found > INT64_MAX / 4 || *found < INT64_MIN / 4) {
      context_.Error(node, "expected an integer, found {}", DescribeNode(node));
      return false;
    }
    number = static_cast<int64_t>(*found);
    return true;
  }

  bool ReadNumbers(const YamlNode& from, const YamlNode& to, const YamlNode* step,
                   FileSet& files) {
    return ReadNumber(from, "from", files.from) && ReadNumber(to, "to", files.to) &&
           (!step || ReadNumber(*step, "step", files.step));
  }

  bool ReadDates(const YamlNode& from, const YamlNode& to, const YamlNode* step,
                 FileSet& files) {
    const auto first = ReadText(context_, from);
    const auto last = ReadText(context_, to);
    if (!first || !last) return false;
    files.first = *first;
    files.last = *last;
    files.unit.assign(1, 'd');
    if (!step) return true;
    const Place place(context_, "step");
    const auto text = ReadText(context_, *step);
    if (!text) return false;
    const size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
    constexpr std::string_view kUnits[] = {"s", "min", "h", "d", "mon", "y"};
    files.unit = text->substr(digits);
    const auto number = ParseYamlInteger(text->substr(0, digits));
    if (!number || *number < 1 || *number > 1'000'000 ||
        std::ranges::find(kUnits, files.unit) == std::end(kUnits)) {
      context_.Error(*step, "expected a number of s, min, h, d, mon or y, such as 6h, found {}",
                     DescribeNode(*step));
      return false;
    }
    files.step = static_cast<int64_t>(*number);
    return true;
  }

  NdlContext& context_;
  const SourceOwner owner_;
};

}  // namespace

YamlItem SourceItem(const ValueSource& source) {
  YamlItem map = YamlItem::Mapping();
  switch (source.kind) {
    case SourceKind::kFile:
      map.Add("file", YamlItem::Text(source.name));
      break;
    case SourceKind::kStore:
      map.Add("store", YamlItem::Text(source.name));
      if (!source.path.empty()) map.Add("path", YamlItem::Text(source.path));
      break;
    case SourceKind::kJoin:
      AddJoin(map, source);
      break;
    case SourceKind::kUnion:
      map.Add("union", Names(source.stores));
      break;
  }
  if (source.flat) AddFlat(map, *source.flat, source.kind == SourceKind::kJoin);
  return map;
}

std::optional<ValueSource> ReadSource(NdlContext& context, const YamlNode& node,
                                      SourceOwner owner) {
  const Place place(context, "x-source");
  return SourceReader(context, owner).Read(node);
}

}  // namespace ndlfs::model
