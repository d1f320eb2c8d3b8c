// SPDX-License-Identifier: MIT
#include "backends/store/reference/template.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "model/number_text.h"

namespace ndlfs::backends::kerchunk {
namespace {

using model::Result;

constexpr size_t kMaxRendered = size_t{64} << 10;
// Templates may be evaluated again and again, also those that come to nothing.
constexpr uint64_t kMaxEvaluated = uint64_t{256} << 10;
// The cost of a value, however short it is: it takes as long as that many bytes.
constexpr uint64_t kBytesPerValue = 12;
constexpr int kMaxDepth = 32;  // of parentheses
constexpr size_t kMaxWidth = 64;

model::Failure TooLong() { return model::Limit("a text of more than {} bytes", kMaxRendered); }
model::Failure TooLarge() { return model::Limit("a number beyond 64 bits"); }

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string TextOf(const TemplateValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number ? std::to_string(*number) : std::get<std::string>(value);
}

Result<int64_t> NumberOf(const TemplateValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  return model::BadInput("expected a number, found {}", model::Quote(TextOf(value)));
}

// As Python has it: rounded down, and the remainder has the divisor's sign.
Result<int64_t> Divide(int64_t a, int64_t b, bool remainder) {
  if (b == 0) return model::BadInput("a division by 0");
  if (b == -1) {
    int64_t negated;
    if (__builtin_sub_overflow(int64_t{0}, a, &negated)) return TooLarge();
    return remainder ? 0 : negated;
  }
  const bool is_lower = a % b != 0 && (a % b < 0) != (b < 0);
  return remainder ? a % b + (is_lower ? b : 0) : a / b - is_lower;
}

Result<int64_t> Calculate(int64_t a, char sign, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (sign) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    default:
      return Divide(a, b, sign == '%');
  }
  if (overflow) return TooLarge();
  return result;
}

// printf-style formatting as Python's: %d %i %s %x %X %o %%, with the flags "-"
// and "0" and a width.
class Formatter {
 public:
  Formatter(std::string_view format, const std::vector<TemplateValue>& arguments)
      : format_(format), arguments_(arguments) {}

  Result<std::string> Run() {
    while (!format_.empty()) {
      const size_t percent = std::min(format_.find('%'), format_.size());
      out_ += format_.substr(0, percent);
      format_.remove_prefix(percent);
      if (!format_.empty()) NDLFS_RETURN_IF_ERROR(Directive());
      if (out_.size() > kMaxRendered) return TooLong();
    }
    if (next_ != arguments_.size()) return model::BadInput("too many values to format");
    return std::move(out_);
  }

 private:
  char Take() {
    if (format_.empty()) return '\0';
    const char c = format_.front();
    format_.remove_prefix(1);
    return c;
  }

  Result<void> Directive() {
    Take();  // the percent sign
    bool is_left = false;
    bool has_zeros = false;
    char c = Take();
    for (; c == '-' || c == '0'; c = Take()) (c == '-' ? is_left : has_zeros) = true;
    size_t width = 0;
    for (; c >= '0' && c <= '9'; c = Take()) {
      width = width * 10 + static_cast<size_t>(c - '0');
      if (width > kMaxWidth) return model::Limit("a width of more than {}", kMaxWidth);
    }
    if (c == '%') {
      out_ += '%';
      return {};
    }
    if (next_ == arguments_.size()) return model::BadInput("too few values to format");
    const TemplateValue& argument = arguments_[next_++];
    NDLFS_TRY(const std::string text, Convert(argument, c));
    Pad(text, width, is_left, has_zeros && c != 's');
    return {};
  }

  static Result<std::string> Convert(const TemplateValue& argument, char conversion) {
    if (conversion == 's') return TextOf(argument);
    NDLFS_TRY(const int64_t number, NumberOf(argument));
    switch (conversion) {
      case 'd':
      case 'i':
        return std::to_string(number);
      case 'x':
        return fmt::format("{:x}", number);
      case 'X':
        return fmt::format("{:X}", number);
      case 'o':
        return fmt::format("{:o}", number);
      default:
        return model::Unsupported("the format {}", model::Quote(std::string(1, conversion)));
    }
  }

  void Pad(const std::string& text, size_t width, bool is_left, bool has_zeros) {
    const size_t missing = width - std::min(width, text.size());
    if (is_left) {
      out_ += text + std::string(missing, ' ');
    } else if (has_zeros) {
      const size_t sign = text.starts_with('-') ? 1 : 0;
      out_ += text.substr(0, sign) + std::string(missing, '0') + text.substr(sign);
    } else {
      out_ += std::string(missing, ' ') + text;
    }
  }

  std::string_view format_;
  const std::vector<TemplateValue>& arguments_;
  size_t next_ = 0;
  std::string out_;
};

// One expression: recursive descent, as far down as there are parentheses.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Templates& templates, const Variables& variables,
            uint64_t& budget)
      : rest_(text), templates_(templates), variables_(variables), budget_(budget) {}

  Result<TemplateValue> Run() {
    NDLFS_TRY(TemplateValue value, Sum());
    SkipBlanks();
    if (!rest_.empty()) return Unknown();
    return value;
  }

 private:
  model::Failure Unknown() const {
    return model::Unsupported("nothing is known of {}", model::Quote(rest_));
  }

  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool TakeSign(std::string_view sign) {
    SkipBlanks();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }
  Result<void> RequireSign(std::string_view sign) {
    if (TakeSign(sign)) return {};
    return model::BadInput("expected {}, found {}", model::Quote(sign), model::Quote(rest_));
  }
  std::string_view TakeName() {
    SkipBlanks();
    size_t size = 0;
    while (size < rest_.size() && IsNameByte(rest_[size])) ++size;
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }

  Result<TemplateValue> Sum() {
    NDLFS_TRY(TemplateValue value, Concatenation());
    for (;;) {
      const char sign = TakeSign("+") ? '+' : TakeSign("-") ? '-' : '\0';
      if (sign == '\0') return value;
      NDLFS_TRY(const TemplateValue right, Concatenation());
      NDLFS_TRY(value, Add(value, sign, right));
    }
  }

  Result<TemplateValue> Add(const TemplateValue& a, char sign, const TemplateValue& b) {
    const auto* left = std::get_if<std::string>(&a);
    const auto* right = std::get_if<std::string>(&b);
    if (sign == '+' && left && right) return Join(*left, *right);
    NDLFS_TRY(const int64_t x, NumberOf(a));
    NDLFS_TRY(const int64_t y, NumberOf(b));
    NDLFS_TRY(const int64_t result, Calculate(x, sign, y));
    return result;
  }

  Result<TemplateValue> Join(const std::string& a, const std::string& b) {
    if (a.size() + b.size() > kMaxRendered) return TooLong();
    NDLFS_RETURN_IF_ERROR(TakeFromBudget(a.size() + b.size(), budget_));
    return a + b;
  }

  Result<TemplateValue> Concatenation() {
    NDLFS_TRY(TemplateValue value, Product());
    while (TakeSign("~")) {
      NDLFS_TRY(const TemplateValue right, Product());
      NDLFS_TRY(value, Join(TextOf(value), TextOf(right)));
    }
    return value;
  }

  Result<TemplateValue> Product() {
    NDLFS_TRY(TemplateValue value, Signed());
    for (;;) {
      const char sign = TakeSign("//") ? '/' : TakeSign("*") ? '*' : TakeSign("%") ? '%' : '\0';
      if (sign == '\0') return value;
      NDLFS_TRY(const TemplateValue right, Signed());
      if (const auto* format = std::get_if<std::string>(&value); format && sign == '%') {
        NDLFS_TRY(value, Formatted(*format, {right}));
        continue;
      }
      NDLFS_TRY(const int64_t x, NumberOf(value));
      NDLFS_TRY(const int64_t y, NumberOf(right));
      NDLFS_TRY(value, Calculate(x, sign, y));
    }
  }

  Result<std::string> Formatted(const std::string& format,
                                const std::vector<TemplateValue>& arguments) {
    NDLFS_RETURN_IF_ERROR(TakeFromBudget(format.size(), budget_));
    NDLFS_TRY(std::string text, Formatter(format, arguments).Run());
    NDLFS_RETURN_IF_ERROR(TakeFromBudget(text.size(), budget_));
    return text;
  }

  Result<TemplateValue> Signed() {
    bool is_negative = false;
    bool has_sign = false;
    while (rest_.size() > 0) {
      const bool minus = TakeSign("-");
      if (!minus && !TakeSign("+")) break;
      is_negative ^= minus;
      has_sign = true;
    }
    NDLFS_TRY(TemplateValue value, Primary());
    if (has_sign) {
      NDLFS_TRY(const int64_t number, NumberOf(value));
      NDLFS_TRY(value, Calculate(0, is_negative ? '-' : '+', number));
    }
    return Filtered(std::move(value));
  }

  Result<TemplateValue> Primary() {
    NDLFS_RETURN_IF_ERROR(TakeFromBudget(kBytesPerValue, budget_));
    SkipBlanks();
    if (rest_.empty()) return model::BadInput("there is no value");
    if (TakeSign("(")) return InParentheses();
    const char first = rest_.front();
    if (first == '\'' || first == '"') return Quoted(first);
    if (first >= '0' && first <= '9') return Integer();
    if (!IsNameByte(first)) return Unknown();
    const std::string_view name = TakeName();
    if (TakeSign("(")) return Call(name);
    if (const auto variable = variables_.find(name); variable != variables_.end()) {
      const auto* text = std::get_if<std::string>(&variable->second);
      if (text) NDLFS_RETURN_IF_ERROR(TakeFromBudget(text->size(), budget_));
      return variable->second;
    }
    const auto found = templates_.find(name);
    if (found == templates_.end()) {
      return model::Unsupported("there is no template {}", model::Quote(name));
    }
    NDLFS_RETURN_IF_ERROR(TakeFromBudget(found->second.size(), budget_));
    if (found->second.find("{{") != std::string::npos) {
      return model::Unsupported("the template {} needs values", model::Quote(name));
    }
    return found->second;
  }

  Result<TemplateValue> InParentheses() {
    if (++depth_ > kMaxDepth) return model::Limit("more than {} parentheses", kMaxDepth);
    NDLFS_TRY(TemplateValue value, Sum());
    --depth_;
    NDLFS_RETURN_IF_ERROR(RequireSign(")"));
    return value;
  }

  Result<TemplateValue> Quoted(char quote) {
    const size_t end = rest_.find(quote, 1);
    if (end == rest_.npos) return model::BadInput("a text without its end");
    const std::string text(rest_.substr(1, end - 1));
    if (text.find('\\') != text.npos) return model::Unsupported("a text with a backslash");
    rest_.remove_prefix(end + 1);
    return text;
  }

  Result<TemplateValue> Integer() {
    const std::string_view digits = TakeName();
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc::result_out_of_range) return TooLarge();
    const bool is_whole = end == digits.data() + digits.size() && !rest_.starts_with('.');
    if (!is_whole) return model::Unsupported("{} is no integer", model::Quote(digits));
    return number;
  }

  // Evaluates a template that has names in it, with values for these names. It sees no other
  // templates.
  Result<TemplateValue> Call(std::string_view name) {
    if (++depth_ > kMaxDepth) return model::Limit("more than {} parentheses", kMaxDepth);
    const auto found = templates_.find(name);
    if (found == templates_.end() || found->second.find("{{") == std::string::npos) {
      return model::Unsupported("there is no template {} that takes values",
                                model::Quote(name));
    }
    Variables values;
    while (!TakeSign(")")) {
      if (!values.empty()) NDLFS_RETURN_IF_ERROR(RequireSign(","));
      const std::string key(TakeName());
      if (key.empty()) return Unknown();
      NDLFS_RETURN_IF_ERROR(RequireSign("="));
      NDLFS_TRY(TemplateValue value, Sum());
      if (!values.emplace(key, std::move(value)).second) {
        return model::BadInput("two values for {}", model::Quote(key));
      }
    }
    --depth_;
    NDLFS_TRY(std::string text, Render(found->second, {}, values, budget_));
    return text;
  }

  Result<TemplateValue> Filtered(TemplateValue value) {
    while (TakeSign("|")) {
      const std::string_view name = TakeName();
      if (name == "format") {
        NDLFS_TRY(const auto arguments, Arguments());
        const auto* format = std::get_if<std::string>(&value);
        if (!format) return model::BadInput("a number that is no format");
        NDLFS_TRY(value, Formatted(*format, arguments));
      } else if (name == "string") {
        std::string text = TextOf(value);
        NDLFS_RETURN_IF_ERROR(TakeFromBudget(text.size(), budget_));
        value = std::move(text);
      } else if (name == "int") {
        NDLFS_TRY(value, ToInteger(value));
      } else {
        return model::Unsupported("the filter {}", model::Quote(name));
      }
    }
    return value;
  }

  static Result<int64_t> ToInteger(const TemplateValue& value) {
    const std::string text = TextOf(value);
    if (const auto number = model::ParseNumber<int64_t>(text)) return *number;
    return model::BadInput("{} is no integer", model::Quote(text));
  }

  Result<std::vector<TemplateValue>> Arguments() {
    if (++depth_ > kMaxDepth) return model::Limit("more than {} parentheses", kMaxDepth);
    NDLFS_RETURN_IF_ERROR(RequireSign("("));
    std::vector<TemplateValue> values;
    while (!TakeSign(")")) {
      if (!values.empty()) NDLFS_RETURN_IF_ERROR(RequireSign(","));
      NDLFS_TRY(TemplateValue value, Sum());
      values.push_back(std::move(value));
    }
    --depth_;
    return values;
  }

  std::string_view rest_;
  const Templates& templates_;
  const Variables& variables_;
  uint64_t& budget_;
  int depth_ = 0;
};

}  // namespace

model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables) {
  // A text without expressions may be of any length.
  if (text.find("{{") == text.npos) return std::string(text);
  uint64_t budget = kMaxEvaluated;
  return Render(text, templates, variables, budget);
}

model::Result<void> TakeFromBudget(uint64_t bytes, uint64_t& budget) {
  if (bytes > budget) return model::Limit("too much text to evaluate");
  budget -= bytes;
  return {};
}

model::Result<std::string> Render(std::string_view text, const Templates& templates,
                                  const Variables& variables, uint64_t& budget) {
  NDLFS_RETURN_IF_ERROR(TakeFromBudget(text.size(), budget));
  if (text.find("{{") == text.npos) return std::string(text);
  if (text.size() > kMaxRendered) return TooLong();
  for (const std::string_view mark : {"{%", "{#"}) {
    if (text.find(mark) != text.npos) {
      return model::Unsupported("{} in {}", model::Quote(mark), model::Quote(text));
    }
  }
  std::string rendered;
  for (std::string_view rest = text;;) {
    const size_t begin = std::min(rest.find("{{"), rest.size());
    rendered += rest.substr(0, begin);
    if (rendered.size() > kMaxRendered) return TooLong();
    rest.remove_prefix(begin);
    if (rest.empty()) return rendered;
    const size_t end = rest.find("}}");
    if (end == rest.npos) return model::BadInput("{{{{ without }}}} in {}", model::Quote(text));
    const std::string_view expression = rest.substr(2, end - 2);
    NDLFS_TRY(const auto value, Evaluator(expression, templates, variables, budget).Run(),
              fmt::format("the template expression {}", model::Quote(expression)));
    rendered += TextOf(value);
    rest.remove_prefix(end + 2);
  }
}

}  // namespace ndlfs::backends::kerchunk
