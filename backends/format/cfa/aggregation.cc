// SPDX-License-Identifier: MIT
#include "backends/format/cfa/aggregation.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "backends/format/foreign/header_text.h"
#include "backends/format/read_elements.h"
#include "model/attributes.h"
#include "model/error.h"
#include "model/file_set.h"
#include "model/path_name.h"

namespace ndlfs::backends::cfa {
namespace {

using model::BadInput;
using model::Result;

// The most values in a JSON text; a partition takes about 20.
constexpr size_t kMostValues = 32 * model::kMaxParts;

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

Result<std::vector<std::string>> Texts(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return BadInput("expected a list, found {}", DescribeJson(list));
  for (const Json& item : list) {
    if (!item.is_string()) return BadInput("expected a text, found {}", DescribeJson(item));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

class PartitionReader {
 public:
  explicit PartitionReader(std::vector<std::string> dimensions) {
    aggregation_.dimensions = std::move(dimensions);
  }

  Result<Aggregation> Read(const Json& array) {
    NDLFS_RETURN_IF_ERROR(ReadMatrix(array));
    base_ = TextAt(array, "base");
    NDLFS_TRY(const Json* partitions, RequireMember(array, "Partitions"));
    if (!partitions->is_array() || partitions->size() != aggregation_.fragments.size()) {
      return BadInput("Partitions: expected a list of {}", aggregation_.fragments.size());
    }
    for (size_t i = 0; i < partitions->size(); ++i) {
      NDLFS_RETURN_IF_ERROR(ReadPartition((*partitions)[i]), fmt::format("Partitions[{}]", i));
    }
    NDLFS_RETURN_IF_ERROR(CheckPlaces());
    return std::move(aggregation_);
  }

 private:
  // How many partitions there are along each dimension.
  Result<void> ReadMatrix(const Json& array) {
    std::vector<uint64_t> counts(aggregation_.dimensions.size(), 1);
    const auto shape = array.find("pmshape");
    if (shape != array.end()) {
      NDLFS_TRY(const auto sizes, JsonToSizes(*shape), "pmshape");
      NDLFS_TRY(const Json* list, RequireMember(array, "pmdimensions"));
      NDLFS_TRY(const auto names, Texts(*list), "pmdimensions");
      if (names.size() != sizes.size()) {
        return BadInput("pmshape and pmdimensions differ in length");
      }
      for (size_t i = 0; i < names.size(); ++i) {
        const auto found = std::ranges::find(aggregation_.dimensions, names[i]);
        if (found == aggregation_.dimensions.end() || sizes[i] == 0) {
          return BadInput("pmdimensions: {} partitions along {}", sizes[i],
                          model::Quote(names[i]));
        }
        matrix_.push_back(static_cast<size_t>(found - aggregation_.dimensions.begin()));
        counts[matrix_.back()] = sizes[i];
      }
    }
    const auto count = CheckedProduct(counts);
    if (!count || *count > model::kMaxParts) return model::Limit("too many partitions");
    for (const uint64_t pieces : counts) aggregation_.sizes.emplace_back(pieces, 0);
    begins_ = aggregation_.sizes;
    aggregation_.fragments.resize(*count);
    return {};
  }

  Result<void> ReadPartition(const Json& partition) {
    for (const auto& [key, value] : partition.items()) {
      if (key == "index" || key == "location" || key == "subarray" || key == "format") continue;
      if (value.is_null()) continue;
      return model::Unsupported("{} is not supported", model::Quote(key));
    }
    NDLFS_TRY(const size_t number, NumberOf(partition));
    NDLFS_TRY(const Json* subarray, RequireMember(partition, "subarray"));
    Fragment& fragment = aggregation_.fragments[number];
    if (!fragment.address.empty()) return BadInput("another partition has the same index");
    fragment.address = TextAt(*subarray, "ncvar");
    if (fragment.address.empty()) return BadInput("subarray: ncvar is missing");
    const std::string file = TextAt(*subarray, "file");
    if (!file.empty()) fragment.file = base_.empty() ? file : base_ + "/" + file;
    return {};
  }

  // Its number in C order. Notes its place, which must be that of all others in the same row.
  Result<size_t> NumberOf(const Json& partition) {
    std::vector<uint64_t> index(aggregation_.dimensions.size());
    if (!matrix_.empty()) {
      NDLFS_TRY(const Json* member, RequireMember(partition, "index"));
      NDLFS_TRY(const auto given, JsonToSizes(*member), "index");
      if (given.size() != matrix_.size()) {
        return BadInput("index: expected {} numbers", matrix_.size());
      }
      for (size_t i = 0; i < given.size(); ++i) index[matrix_[i]] = given[i];
    }
    NDLFS_TRY(const Json* location, RequireMember(partition, "location"));
    if (!location->is_array() || location->size() != index.size()) {
      return BadInput("location: expected {} ranges", index.size());
    }
    size_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t count = aggregation_.sizes[d].size();
      if (index[d] >= count) {
        return BadInput("index: {} is out of range, of {} partitions", index[d], count);
      }
      number = number * count + index[d];
      NDLFS_TRY(const auto range, JsonToSizes((*location)[d]), "location");
      if (range.size() != 2 || range[1] < range[0]) {
        return BadInput("location: expected [first, last]");
      }
      uint64_t& size = aggregation_.sizes[d][index[d]];
      uint64_t& begin = begins_[d][index[d]];
      const uint64_t extent = range[1] - range[0] + 1;
      if (size != 0 && (size != extent || begin != range[0])) {
        return BadInput("location: {} to {}, but others of this row begin at {}", range[0],
                        range[1], begin);
      }
      size = extent;
      begin = range[0];
    }
    return number;
  }

  Result<void> CheckPlaces() const {
    for (size_t d = 0; d < begins_.size(); ++d) {
      uint64_t end = 0;
      for (size_t i = 0; i < begins_[d].size(); ++i) {
        if (begins_[d][i] != end) {
          return BadInput(
              "location: a partition begins at {} along {}, the one before ends at {}",
              begins_[d][i], model::Quote(aggregation_.dimensions[d]), end);
        }
        const auto next = CheckedAdd(end, aggregation_.sizes[d][i]);
        if (!next) return model::Limit("location: the array is too large");
        end = *next;
      }
    }
    return {};
  }

  Aggregation aggregation_;
  std::string base_;
  std::vector<size_t> matrix_;  // the dimensions of pmdimensions
  std::vector<std::vector<uint64_t>> begins_;
};

// Reads the attribute `cfa_array` of CFA 0.4, a JSON text with a list of partitions, of an
// array with these dimensions. A partition that has to be transformed, and not only put in its
// place, is an error.
Result<Aggregation> ReadPartitions(std::string_view text, std::vector<std::string> dimensions) {
  NDLFS_TRY(const Json array, ParseJson(text, kMostValues));
  if (!array.is_object()) return BadInput("expected an object, found {}", DescribeJson(array));
  return PartitionReader(std::move(dimensions)).Read(array);
}

using NodePtr = std::shared_ptr<const Node>;

constexpr std::string_view kData = "aggregated_data";
constexpr std::string_view kDimensions = "aggregated_dimensions";
constexpr std::string_view kArray = "cfa_array";
constexpr std::string_view kArrayDimensions = "cfa_dimensions";
// The limit for a variable with instructions.
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr std::array<std::string_view, 4> kAttributes = {kData, kDimensions, kArray,
                                                         kArrayDimensions};

std::vector<std::string> Words(std::string_view text) {
  const auto words = foreign::SplitWords(text);
  return {words.begin(), words.end()};
}

// Splits "term: value term: value", as in `aggregated_data` and `substitutions`.
Result<std::vector<std::pair<std::string, std::string>>> Terms(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> terms;
  const auto words = foreign::SplitWords(text);
  for (size_t i = 0; i < words.size(); i += 2) {
    if (!words[i].ends_with(':') || i + 1 == words.size()) {
      return BadInput("expected \"term: value\", found {}", model::Quote(words[i]));
    }
    terms.emplace_back(words[i].substr(0, words[i].size() - 1), words[i + 1]);
  }
  return terms;
}

// Texts for fragments, one for each or one for all.
struct TextVariable {
  std::vector<uint64_t> shape;
  std::vector<std::string> texts;  // empty where missing
};

class AggregationReader {
 public:
  AggregationReader(const Hierarchy& file, std::string_view path) : file_(file), path_(path) {}

  Result<Aggregation> Read(const std::vector<model::Attribute>& attributes) {
    aggregation_.dimensions = Words(model::TextOf(attributes, kDimensions));
    NDLFS_RETURN_IF_ERROR(ReadTerms(model::TextOf(attributes, kData)), std::string(kData));
    if (terms_.contains("unique_values")) {
      return model::Unsupported("{}: unique_values is not supported", kData);
    }
    NDLFS_TRY(const auto files, ReadTexts(terms_.contains("uris") ? "uris" : "file"));
    NDLFS_TRY(const auto addresses,
              ReadTexts(terms_.contains("identifiers") ? "identifiers" : "address"));
    NDLFS_RETURN_IF_ERROR(AddFragments(files, addresses));
    NDLFS_RETURN_IF_ERROR(CheckFormats(files));
    NDLFS_RETURN_IF_ERROR(ReadSizes(files.shape));
    return std::move(aggregation_);
  }

 private:
  static constexpr std::string_view kTerms[] = {
      "map", "uris", "identifiers", "unique_values", "location", "file", "format", "address"};

  size_t rank() const { return aggregation_.dimensions.size(); }

  Result<void> ReadTerms(std::string_view text) {
    NDLFS_TRY(const auto terms, Terms(text));
    for (const auto& [term, variable] : terms) {
      if (!terms_.emplace(foreign::Lowercase(term), variable).second) {
        return BadInput("the term {} occurs twice", model::Quote(term));
      }
    }
    return {};
  }

  // The variable that a term names: a path name, or the nearest one of that name.
  Result<NodePtr> LoadTerm(const std::string& term) const {
    const auto found = terms_.find(term);
    if (found == terms_.end()) {
      // A draft of the conventions, perhaps.
      for (const auto& [other, variable] : terms_) {
        if (std::ranges::find(kTerms, other) != std::end(kTerms)) continue;
        return model::Unsupported("{}: the term {} is missing, and {} is not known", kData,
                                  model::Quote(term), model::Quote(other));
      }
      return BadInput("{}: the term {} is missing", kData, model::Quote(term));
    }
    const std::string& name = found->second;
    for (std::string_view group = model::ParentPath(path_);; group = model::ParentPath(group)) {
      auto node = file_.Load(name.starts_with('/') ? name : model::JoinPath(group, name));
      const bool is_absent = !node && node.error().code() == model::ErrorCode::kNotFound;
      if (!node && !is_absent) return model::Propagate(std::move(node).error(), name);
      if (node && !(*node)->is_group() && (*node)->source) return node;
      if (group == "/" || name.starts_with('/')) {
        return BadInput("{}: there is no variable {}", kData, model::Quote(name));
      }
    }
  }

  Result<TextVariable> ReadTexts(const std::string& term) const {
    NDLFS_TRY(const NodePtr node, LoadTerm(term));
    NDLFS_TRY(TextVariable variable, TextsOf(*node->source), term);
    NDLFS_TRY(const auto substitutions,
              Terms(model::TextOf(node->attributes(), "substitutions")), "substitutions");
    for (const char* missing : {"_FillValue", "missing_value"}) {
      const std::string fill = model::TextOf(node->attributes(), missing);
      std::ranges::replace(variable.texts, fill, std::string());
    }
    for (std::string& text : variable.texts) {
      for (const auto& [name, value] : substitutions) Substitute(name, value, text);
    }
    return variable;
  }

  // Texts of netCDF classic are characters along the last dimension.
  static Result<TextVariable> TextsOf(const ArraySource& source) {
    const ArraySpec& spec = source.spec();
    const bool is_characters = spec.dtype.kind() == model::Datatype::Kind::kString &&
                               spec.dtype.is_fixed_size() && spec.dtype.size() == 1;
    TextVariable variable;
    variable.shape = spec.shape;
    if (!is_characters || spec.shape.empty()) {
      NDLFS_TRY(variable.texts, backends::ReadTexts(source, model::kMaxParts));
      return variable;
    }
    NDLFS_TRY(const Bytes characters, ReadElements(source, kMostBytes));
    variable.shape.pop_back();
    const size_t width = spec.shape.back();
    if (CheckedProduct(variable.shape).value_or(UINT64_MAX) > model::kMaxParts) {
      return model::Limit("more than {} file names or addresses", model::kMaxParts);
    }
    for (size_t at = 0; at < characters.size(); at += width) {
      std::string text(AsText(characters.span().subspan(at, width)));
      text.resize(std::min(text.find('\0'), text.size()));
      text.resize(text.find_last_not_of(' ') + 1);  // npos + 1 is 0
      variable.texts.push_back(std::move(text));
    }
    return variable;
  }

  // Each place once; what is put there is not looked at again.
  static void Substitute(std::string_view name, std::string_view value, std::string& text) {
    if (name.empty()) return;
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
      at += value.size();
    }
  }

  // A trailing dimension of the files has several versions of each fragment. The first one is
  // taken.
  Result<void> AddFragments(const TextVariable& files, const TextVariable& addresses) {
    const size_t dims = files.shape.size();
    if (dims != rank() && dims != rank() + 1) {
      return BadInput("{}: the variable with the file names has {} dimensions, expected {}",
                      kData, dims, rank());
    }
    const bool is_one_address = addresses.shape.empty();
    if (!is_one_address && addresses.shape != files.shape) {
      return BadInput("{}: the variables with file names and addresses differ in shape", kData);
    }
    const size_t versions = dims == rank() ? 1 : files.shape.back();
    for (size_t i = 0; versions != 0 && i < files.texts.size(); i += versions) {
      Fragment& fragment = aggregation_.fragments.emplace_back();
      size_t version = 0;
      while (version + 1 < versions && files.texts[i + version].empty()) ++version;
      if (files.texts[i + version].empty()) version = 0;
      fragment.file = files.texts[i + version];
      const bool is_missing = is_one_address && fragment.file.empty();
      if (!is_missing) fragment.address = addresses.texts.at(is_one_address ? 0 : i + version);
      if (!fragment.file.empty() && fragment.address.empty()) {
        return BadInput("{}: {} has no address", kData, model::Quote(fragment.file));
      }
    }
    if (aggregation_.fragments.empty()) return BadInput("{}: there are no fragments", kData);
    return {};
  }

  // Formats are found out by looking into the files; those that no netCDF reader knows are
  // refused.
  Result<void> CheckFormats(const TextVariable& files) const {
    if (!terms_.contains("format")) return {};
    NDLFS_TRY(const auto formats, ReadTexts("format"));
    for (size_t i = 0; i < formats.texts.size(); ++i) {
      const std::string& format = formats.texts[i];
      const bool is_used =
          formats.shape.empty() || (i < files.texts.size() && !files.texts[i].empty());
      if (!is_used || format.empty() || foreign::EqualsIgnoringCase(format, "nc")) continue;
      return model::Unsupported("{}: the format {} is not supported", kData,
                                model::Quote(format));
    }
    return {};
  }

  // A row for each dimension, which is longer than needed where others have more fragments.
  Result<void> ReadSizes(const std::vector<uint64_t>& counts) {
    NDLFS_TRY(const NodePtr node, LoadTerm(terms_.contains("map") ? "map" : "location"));
    const ArraySpec& spec = node->source->spec();
    if (rank() == 0) return {};
    if (spec.dtype.kind() != model::Datatype::Kind::kInteger || spec.shape.size() != 2 ||
        spec.shape[0] != rank()) {
      return BadInput("{}: expected the sizes of fragments as integers in {} rows", kData,
                      rank());
    }
    NDLFS_TRY(const Bytes bytes, ReadElements(*node->source, kMostBytes));
    const size_t item = spec.dtype.size();
    for (size_t d = 0; d < rank(); ++d) {
      if (counts[d] > spec.shape[1]) {
        return BadInput("{}: {} fragments along {}, but {} sizes", kData, counts[d],
                        model::Quote(aggregation_.dimensions[d]), spec.shape[1]);
      }
      auto& sizes = aggregation_.sizes.emplace_back();
      for (uint64_t i = 0; i < counts[d]; ++i) {
        const size_t at = (d * spec.shape[1] + i) * item;
        NDLFS_TRY(const auto value,
                  model::DecodeElement(spec.dtype, bytes.span().subspan(at, item)));
        const model::WideInt* size = value.integer();
        if (size == nullptr || *size <= 0 || *size > INT64_MAX) {
          return BadInput("{}: the size of fragment {} along {} is missing or not positive",
                          kData, i, model::Quote(aggregation_.dimensions[d]));
        }
        sizes.push_back(static_cast<uint64_t>(*size));
      }
    }
    return {};
  }

  const Hierarchy& file_;
  const std::string path_;
  std::map<std::string, std::string> terms_;  // variables
  Aggregation aggregation_;
};

}  // namespace

bool IsAggregation(const std::vector<model::Attribute>& attributes) {
  return model::FindAttribute(attributes, kData) != nullptr ||
         model::FindAttribute(attributes, kArray) != nullptr;
}

void RemoveAggregation(std::vector<model::Attribute>& attributes) {
  std::erase_if(attributes, [](const model::Attribute& attribute) {
    return std::ranges::find(kAttributes, attribute.name) != kAttributes.end() ||
           (attribute.name == "cf_role" && attribute.value == model::Value("cfa_variable"));
  });
}

Result<Aggregation> ReadAggregation(const Hierarchy& file, std::string_view path,
                                    const std::vector<model::Attribute>& attributes) {
  if (model::FindAttribute(attributes, kData) != nullptr) {
    return AggregationReader(file, path).Read(attributes);
  }
  NDLFS_TRY(auto aggregation,
            ReadPartitions(model::TextOf(attributes, kArray),
                           Words(model::TextOf(attributes, kArrayDimensions))),
            std::string(kArray));
  return aggregation;
}

}  // namespace ndlfs::backends::cfa
