// SPDX-License-Identifier: MIT
#include "backends/base/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "backends/base/json_scan.h"
#include "model/base64.h"
#include "model/string_hash.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

constexpr size_t kMaxDepth = 128;
constexpr size_t kMaxListLength = 64;
constexpr size_t kMaxMessage = 200;  // the library quotes input, which may be long

// The floats that JSON cannot express. Python's json writes them as words; the
// parser gets a number in a spelling that does not occur otherwise.
struct NonFinite {
  std::string_view word;
  std::string_view stand_in;
  double value;
};
constexpr std::array kNonFinite = {
    NonFinite{"NaN", "0.0e-00000000000000000001", std::numeric_limits<double>::quiet_NaN()},
    NonFinite{"Infinity", "0.0e-00000000000000000002", std::numeric_limits<double>::infinity()},
    NonFinite{"-Infinity", "0.0e-00000000000000000003",
              -std::numeric_limits<double>::infinity()},
};

// The entry whose word `text` begins with; null if there is none.
const NonFinite* FindNonFinite(std::string_view text) {
  for (const NonFinite& known : kNonFinite) {
    if (text.starts_with(known.word)) return &known;
  }
  return nullptr;
}

// Replaces the words by their stand-ins; nullopt if there are none, which is the
// usual case.
std::optional<std::string> ReplaceNonFinite(std::string_view text) {
  std::string replaced;
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
    } else if (const NonFinite* known = FindNonFinite(text.substr(i))) {
      // The spaces keep digits and signs around it from becoming part of it.
      replaced.append(text.substr(copied, i - copied)).append(" ");
      replaced.append(known->stand_in).append(" ");
      i += known->word.size() - 1;
      copied = i + 1;
    }
  }
  if (copied == 0) return std::nullopt;
  return replaced.append(text.substr(copied));
}

// An object or array that has not ended yet. Members are appended without a
// search for an earlier one with the same key. The library's own builder makes
// that search in linear time, so that an object of a hundred thousand members
// (consolidated metadata) would take minutes.
struct OpenContainer {
  bool is_object;
  std::vector<std::string> keys;  // of an object
  Json::array_t values;
};

// If a key occurs twice, its first place and its last value count.
Json MakeObject(OpenContainer& open) {
  Json::object_t object;
  object.reserve(open.keys.size());
  // The base class, whose operator[] takes an index and not a key.
  Json::object_t::Container& members = object;
  std::unordered_map<std::string_view, size_t, model::StringHash, std::equal_to<>> places;
  for (size_t i = 0; i < open.keys.size(); ++i) {
    const auto [it, inserted] = places.emplace(open.keys[i], members.size());
    if (inserted) {
      members.emplace_back(open.keys[i], std::move(open.values[i]));
    } else {
      members[it->second].second = std::move(open.values[i]);
    }
  }
  return Json(std::move(object));
}

// The subtype of binary values that hold the digits of a large integer. Those
// of MessagePack are below 256.
constexpr uint64_t kDigits = 256;

bool IsInteger(std::string_view text) {
  return !text.empty() && text.find_first_not_of("-0123456789") == text.npos;
}

Json KeepDigits(std::string_view text) {
  return Json::binary(std::vector<uint8_t>(text.begin(), text.end()), kDigits);
}

// Builds the value from the parser's events.
class JsonBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit JsonBuilder(size_t max_values) : values_left_(max_values) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& text) override {
    for (const NonFinite& known : kNonFinite) {
      if (text == known.stand_in) return Add(known.value);
    }
    if (IsInteger(text) && fmt::format("{:.0f}", value) != text) return Add(KeepDigits(text));
    return Add(value);
  }
  bool string(std::string& value) override {
    if (model::IsUtf8(value)) return Add(std::move(value));
    return Add(Json::binary(std::vector<uint8_t>(value.begin(), value.end())));
  }
  bool binary(binary_t& value) override { return Add(Json(std::move(value))); }

  bool start_object(size_t) override { return Open(true); }
  bool start_array(size_t) override { return Open(false); }
  bool key(std::string& name) override {
    if (!model::IsUtf8(name)) {
      error_ = "a key that is not UTF-8";
      return false;
    }
    open_.back().keys.push_back(std::move(name));
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    const std::string_view what = error.what();
    const size_t end_of_tag = what.find("] ");
    error_ = what.substr(end_of_tag == what.npos ? 0 : end_of_tag + 2, kMaxMessage);
    return false;
  }

  Json TakeRoot() { return std::move(root_); }
  const std::string& error() const { return error_; }
  bool is_limit() const { return is_limit_; }
  size_t values_left() const { return values_left_; }

 private:
  bool Open(bool is_object) {
    if (open_.size() == kMaxDepth) {
      error_ = fmt::format("nested more than {} levels deep", kMaxDepth);
      return false;
    }
    open_.push_back({is_object, {}, {}});
    return true;
  }

  bool Close() {
    OpenContainer closed = std::move(open_.back());
    open_.pop_back();
    return Add(closed.is_object ? MakeObject(closed) : Json(std::move(closed.values)));
  }

  bool Add(Json value) {
    if (values_left_ == 0) {
      error_ = "more values than expected";
      is_limit_ = true;
      return false;
    }
    --values_left_;
    if (open_.empty()) {
      root_ = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }

  size_t values_left_;
  Json root_;
  std::vector<OpenContainer> open_;
  std::string error_;
  bool is_limit_ = false;  // there are too many values
};

void AppendBytes(std::string& out, const Json::binary_t& bytes) {
  const auto type = static_cast<uint8_t>(bytes.has_subtype() ? bytes.subtype() : 0);
  out += fmt::format(R"({{"$binary":{{"base64":"{}","subType":"{:02x}"}}}})",
                     model::EncodeBase64(std::as_bytes(std::span(bytes))), type);
}

void AppendCompact(std::string& out, const Json& value) {
  const char* separator = "";
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.items()) {
      out += std::exchange(separator, ",") + Json(key).dump() + ":";
      AppendCompact(out, member);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const Json& item : value) {
      out += std::exchange(separator, ",");
      AppendCompact(out, item);
    }
    out += ']';
  } else if (!BigInteger(value).empty()) {
    out += BigInteger(value);
  } else if (value.is_binary()) {
    AppendBytes(out, value.get_binary());
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    const double number = value.get<double>();
    out += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  } else {
    out += value.dump();
  }
}

model::Result<Json> Parse(std::string_view text, Json::input_format_t format,
                          std::string_view format_name, size_t max_values,
                          size_t* values_left = nullptr) {
  JsonBuilder builder(max_values);
  try {
    if (Json::sax_parse(text, &builder, format)) {
      if (values_left != nullptr) *values_left = builder.values_left();
      return builder.TakeRoot();
    }
  } catch (const std::exception& error) {
    return model::BadInput("not {}: {}", format_name, model::OneLine(error.what()));
  }
  if (builder.is_limit()) {
    return model::Limit("not {}: more values than expected", format_name);
  }
  return model::BadInput("not {}: {}", format_name, model::OneLine(builder.error()));
}

}  // namespace

model::Result<Json> ParseJson(std::string_view text, size_t max_values, size_t* values_left) {
  const std::optional<std::string> quoted = ReplaceNonFinite(text);
  if (quoted) text = *quoted;
  return Parse(text, Json::input_format_t::json, "JSON", max_values, values_left);
}

model::Result<Json> ParseMsgpack(ConstByteSpan bytes, size_t max_values) {
  return Parse(AsText(bytes), Json::input_format_t::msgpack, "MessagePack", max_values);
}

std::string_view BigInteger(const Json& value) {
  if (!value.is_binary()) return {};
  const Json::binary_t& bytes = value.get_binary();
  if (!bytes.has_subtype() || bytes.subtype() != kDigits) return {};
  return AsText(std::as_bytes(std::span(bytes)));
}

const std::vector<uint8_t>* BytesOf(const Json& value) {
  return value.is_binary() && BigInteger(value).empty() ? &value.get_binary() : nullptr;
}

std::optional<double> JsonToReal(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string_view digits = BigInteger(value);
  double number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc()) return std::nullopt;
  return number;
}

model::Result<const Json*> RequireMember(const Json& object, const char* key) {
  if (!object.is_object()) {
    return model::BadInput("expected an object, found {}", DescribeJson(object));
  }
  const auto it = object.find(key);
  if (it == object.end()) return model::BadInput("\"{}\" is missing", key);
  return &*it;
}

model::Result<uint64_t> JsonToSize(const Json& value) {
  if (value.is_number_integer()) {  // signed where it was not parsed from text
    const uint64_t size = value.get<uint64_t>();
    if (size >> 63 == 0) return size;
  }
  return model::BadInput("expected a non-negative integer below 2^63, found {}",
                         DescribeJson(value));
}

model::Result<std::vector<uint64_t>> JsonToSizes(const Json& value) {
  if (!value.is_array()) {
    return model::BadInput("expected a list of integers, found {}", DescribeJson(value));
  }
  if (value.size() > kMaxListLength) {
    return model::Limit("a list of {} integers, at most {} are accepted", value.size(),
                        kMaxListLength);
  }
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < value.size(); ++i) {
    NDLFS_TRY(const uint64_t size, JsonToSize(value[i]), fmt::format("[{}]", i));
    sizes.push_back(size);
  }
  return sizes;
}

std::string DescribeJson(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return "the string " + model::Quote(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return fmt::format("a list of {}", value.size());
    case Json::value_t::object:
      return "an object";
    case Json::value_t::null:
    case Json::value_t::boolean:
      return value.dump();
    case Json::value_t::binary:
      if (BytesOf(value)) return fmt::format("{} bytes", BytesOf(value)->size());
      [[fallthrough]];
    default:
      return "the number " + CompactJson(value);
  }
}

std::string CompactJson(const Json& value) {
  std::string text;
  AppendCompact(text, value);
  return text;
}

}  // namespace ndlfs::backends
