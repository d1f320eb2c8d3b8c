// SPDX-License-Identifier: MIT
#include "backends/store/reference/generator.h"

#include <algorithm>
#include <utility>

#include "backends/base/checked.h"
#include "model/number_text.h"

namespace ndlfs::backends::kerchunk {
namespace {

using model::Result;

constexpr uint64_t kMaxReferences = 1'000'000;
constexpr size_t kMaxDimensions = 64;
// The limit for the text of a rule: its keys are made from it again and again.
constexpr size_t kMaxGenerated = size_t{64} << 10;
// The memory of a variable without its name.
constexpr uint64_t kBytesPerVariable = 8;

model::Failure TooMany() {
  return model::Limit("more than {} generated references", kMaxReferences);
}

Result<void> CheckTextSize(const std::string& text) {
  if (text.size() > kMaxGenerated)
    return model::Limit("a text of more than {} bytes", kMaxGenerated);
  return {};
}

Result<std::string> TextMember(const Json& json, const char* key) {
  NDLFS_TRY(const Json* member, RequireMember(json, key));
  if (member->is_string()) {
    const auto& text = member->get_ref<const std::string&>();
    NDLFS_RETURN_IF_ERROR(CheckTextSize(text), key);
    return text;
  }
  if (member->is_number_integer()) return CompactJson(*member);
  return model::BadInput("{}: expected a string, found {}", key, DescribeJson(*member));
}

Result<std::optional<std::string>> OptionalMember(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  NDLFS_TRY(std::string text, TextMember(json, key));
  return text;
}

Result<int64_t> Integer(const Json& json) {
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() || json.get<uint64_t>() <= INT64_MAX);
  if (fits) return json.get<int64_t>();
  return model::BadInput("expected an integer, found {}", DescribeJson(json));
}

Result<int64_t> IntegerMember(const Json& json, const char* key, int64_t otherwise) {
  if (!json.contains(key)) return otherwise;
  NDLFS_TRY(const int64_t number, Integer(json[key]), key);
  return number;
}

// How many numbers range(start, stop, step) of Python has.
Result<uint64_t> CountOfRange(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) return model::BadInput("step: 0");
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  if (is_empty) return 0;
  const auto from = static_cast<uint64_t>(step > 0 ? start : stop);
  const auto to = static_cast<uint64_t>(step > 0 ? stop : start);
  const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return (to - from - 1) / width + 1;
}

Result<uint64_t> RenderNumber(const std::string& text, const Templates& templates,
                              const Variables& variables) {
  NDLFS_TRY(const std::string rendered, Render(text, templates, variables));
  const auto number = model::ParseNumber<uint64_t>(rendered);
  if (number && *number <= INT64_MAX) return *number;
  return model::BadInput("expected a non-negative integer, found {}", model::Quote(rendered));
}

}  // namespace

Result<Generator> Generator::Parse(const Json& rules) {
  if (!rules.is_array()) {
    return model::BadInput("expected a list, found {}", DescribeJson(rules));
  }
  Generator generator;
  for (const Json& json : rules) {
    NDLFS_TRY(Rule rule, ParseRule(json), fmt::format("[{}]", generator.rules_.size()));
    rule.first = generator.count_;
    generator.count_ += rule.count;
    if (generator.count_ > kMaxReferences) return TooMany();
    generator.rules_.push_back(std::move(rule));
  }
  return generator;
}

Result<Generator::Rule> Generator::ParseRule(const Json& json) {
  if (!json.is_object()) {
    return model::BadInput("expected an object, found {}", DescribeJson(json));
  }
  Rule rule;
  NDLFS_TRY(rule.key, TextMember(json, "key"));
  NDLFS_TRY(rule.url, TextMember(json, "url"));
  NDLFS_TRY(rule.offset, OptionalMember(json, "offset"));
  NDLFS_TRY(rule.length, OptionalMember(json, "length"));
  if (rule.offset.has_value() != rule.length.has_value()) {
    return model::BadInput("\"offset\" and \"length\" need each other");
  }
  NDLFS_TRY(const Json* dimensions, RequireMember(json, "dimensions"));
  NDLFS_RETURN_IF_ERROR(ParseDimensions(*dimensions, rule), "dimensions");
  return rule;
}

Result<void> Generator::ParseDimensions(const Json& json, Rule& rule) {
  if (!json.is_object()) {
    return model::BadInput("expected an object, found {}", DescribeJson(json));
  }
  if (json.size() > kMaxDimensions) return model::Limit("more than {}", kMaxDimensions);
  for (const auto& [name, value] : json.items()) {
    NDLFS_RETURN_IF_ERROR(CheckTextSize(name), "name");
    NDLFS_TRY(Dimension dimension, ParseDimension(value), name);
    dimension.name = name;
    rule.variables_size += name.size() + kBytesPerVariable;
    const auto count = CheckedMultiply(rule.count, dimension.count);
    if (!count || *count > kMaxReferences) return TooMany();
    rule.count = *count;
    rule.dimensions.push_back(std::move(dimension));
  }
  return {};
}

Result<Generator::Dimension> Generator::ParseDimension(const Json& json) {
  Dimension dimension;
  if (json.is_array()) {
    for (const Json& item : json) {
      NDLFS_TRY(const int64_t number, Integer(item));
      dimension.listed.push_back(number);
    }
    dimension.count = dimension.listed.size();
    return dimension;
  }
  if (!json.is_object()) {
    return model::BadInput("expected a range or a list of integers, found {}",
                           DescribeJson(json));
  }
  NDLFS_RETURN_IF_ERROR(RequireMember(json, "stop"));
  NDLFS_TRY(dimension.start, IntegerMember(json, "start", 0));
  NDLFS_TRY(dimension.step, IntegerMember(json, "step", 1));
  NDLFS_TRY(const int64_t stop, IntegerMember(json, "stop", 0));
  NDLFS_TRY(dimension.count, CountOfRange(dimension.start, stop, dimension.step));
  if (dimension.count > kMaxReferences) return TooMany();
  return dimension;
}

const Generator::Rule& Generator::RuleOf(uint64_t number) const {
  const auto after =
      std::upper_bound(rules_.begin(), rules_.end(), number,
                       [](uint64_t n, const Rule& rule) { return n < rule.first; });
  return *std::prev(after);
}

Variables Generator::VariablesOf(const Rule& rule, uint64_t number) {
  uint64_t rest = number - rule.first;
  Variables variables;
  for (auto it = rule.dimensions.rbegin(); it != rule.dimensions.rend(); ++it) {
    const uint64_t index = rest % it->count;
    rest /= it->count;
    // It lies between the ends of the range, whatever overflows on the way.
    variables[it->name] = it->listed.empty()
                              ? static_cast<int64_t>(static_cast<uint64_t>(it->start) +
                                                     index * static_cast<uint64_t>(it->step))
                              : it->listed[index];
  }
  return variables;
}

Result<std::string> Generator::Key(uint64_t number, const Templates& templates,
                                   uint64_t& budget) const {
  const Rule& rule = RuleOf(number);
  NDLFS_RETURN_IF_ERROR(TakeFromBudget(rule.variables_size, budget));
  return Render(rule.key, templates, VariablesOf(rule, number), budget);
}

Result<GeneratedReference> Generator::Reference(uint64_t number,
                                                const Templates& templates) const {
  const Rule& rule = RuleOf(number);
  const Variables variables = VariablesOf(rule, number);
  GeneratedReference reference;
  NDLFS_TRY(reference.url, Render(rule.url, templates, variables), "url");
  if (!rule.offset) return reference;
  reference.part.emplace();
  NDLFS_TRY(reference.part->offset, RenderNumber(*rule.offset, templates, variables), "offset");
  NDLFS_TRY(reference.part->length, RenderNumber(*rule.length, templates, variables), "length");
  return reference;
}

uint64_t Generator::held_bytes() const {
  uint64_t bytes = rules_.capacity() * sizeof(Rule);
  for (const Rule& rule : rules_) {
    bytes += rule.key.capacity() + rule.url.capacity();
    bytes += rule.offset ? rule.offset->capacity() : 0;
    bytes += rule.length ? rule.length->capacity() : 0;
    bytes += rule.dimensions.capacity() * sizeof(Dimension);
    for (const Dimension& dimension : rule.dimensions) {
      bytes += dimension.name.capacity() + dimension.listed.capacity() * sizeof(int64_t);
    }
  }
  return bytes;
}

}  // namespace ndlfs::backends::kerchunk
