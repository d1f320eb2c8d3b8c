// SPDX-License-Identifier: MIT
#include "backends/store/object/xml_answers.h"

#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_message.h"
#include "backends/store/http/url.h"
#include "backends/xml/xml.h"
#include "model/cf_time.h"

namespace ndlfs::backends::object {
namespace {

// With `encoding-type=url`, S3 encodes blanks as '+'.
std::optional<std::string> DecodeName(std::string text) {
  for (char& c : text) {
    if (c == '+') c = ' ';
  }
  return PercentDecode(text);
}

class ListReader {
 public:
  model::Result<void> Add(const XmlElement& element) {
    constexpr std::string_view kTop = "ListBucketResult";
    if (!element.path.starts_with(kTop)) return model::BadInput("the answer is not a list");
    std::string_view name = element.path.substr(kTop.size());
    if (name.empty()) return Finish();
    name.remove_prefix(1);
    if (name == "Contents/Key") object_.key = element.text;
    if (name == "Contents/ETag") object_.etag = element.text;
    if (name == "Contents/Generation") object_.version = element.text;
    if (name == "Contents/LastModified") {
      object_.modified_ns = ParseUtcTime(element.text).value_or(0);
    }
    if (name == "Contents/Size") {
      const auto size = ParseDecimal(element.text);
      if (!size) return model::BadInput("a size of {} in a list", model::Quote(element.text));
      object_.size = *size;
      has_size_ = true;
    }
    if (name == "Contents") return EndObject();
    if (name == "CommonPrefixes/Prefix") page_.prefixes.emplace_back(element.text);
    if (name == "IsTruncated") is_truncated_ = element.text == "true";
    if (name == "NextContinuationToken") page_.next_token = element.text;
    if (name == "EncodingType") is_encoded_ = element.text == "url";
    return {};
  }

  model::Result<KeyPage> Take(std::string_view prefix) && {
    if (!is_complete_) return model::BadInput("the answer is not a list");
    for (ListedKey& object : page_.objects) {
      NDLFS_RETURN_IF_ERROR(TakeName(object.key, prefix));
    }
    for (std::string& name : page_.prefixes) NDLFS_RETURN_IF_ERROR(TakeName(name, prefix));
    return std::move(page_);
  }

 private:
  model::Result<void> EndObject() {
    if (object_.key.empty()) return model::BadInput("an object without a key in a list");
    if (!has_size_) {
      return model::BadInput("the object {} without a size in a list",
                             model::Quote(object_.key));
    }
    page_.objects.push_back(std::exchange(object_, {}));
    has_size_ = false;
    return {};
  }

  model::Result<void> Finish() {
    is_complete_ = true;
    if (!is_truncated_) page_.next_token.clear();
    if (is_truncated_ && page_.next_token.empty()) {
      return model::BadInput("a list that goes on, without saying where");
    }
    return {};
  }

  // The encoding may be named after the names that it is about.
  model::Result<void> TakeName(std::string& name, std::string_view prefix) const {
    if (is_encoded_) {
      auto decoded = DecodeName(name);
      if (!decoded) return model::BadInput("the name {} in a list", model::Quote(name));
      name = *std::move(decoded);
    }
    if (name.starts_with(prefix)) return {};
    return model::BadInput("{} in a list of what begins with {}", model::Quote(name),
                           model::Quote(prefix));
  }

  KeyPage page_;
  ListedKey object_;
  bool has_size_ = false;  // of object_
  bool is_truncated_ = false;
  bool is_encoded_ = false;
  bool is_complete_ = false;
};

}  // namespace

model::Result<KeyPage> ParseListPage(std::string_view document, std::string_view prefix) {
  ListReader reader;
  NDLFS_RETURN_IF_ERROR(
      WalkXml(document, [&](const XmlElement& element) { return reader.Add(element); }));
  return std::move(reader).Take(prefix);
}

std::optional<ErrorAnswer> ParseErrorAnswer(std::string_view document) {
  ErrorAnswer answer;
  bool is_error = false;
  const auto add = [&](const XmlElement& element) -> model::Result<void> {
    std::string_view path = element.path;
    // STS has its error in an element.
    constexpr std::string_view kOuter = "ErrorResponse/";
    if (path.starts_with(kOuter)) path.remove_prefix(kOuter.size());
    is_error |= path == "Error";
    if (path == "Error/Code") answer.code = element.text;
    if (path == "Error/Message") answer.message = element.text;
    if (path == "Error/Region") answer.region = element.text;
    if (path == "Error/ServerTime") {
      answer.server_time_s = ParseUtcTime(element.text).value_or(0) / 1'000'000'000;
    }
    return {};
  };
  if (!WalkXml(document, add) || !is_error) return std::nullopt;
  return answer;
}

std::optional<int64_t> ParseUtcTime(std::string_view text) {
  if (text.size() < std::string_view("2026-01-31T00:00:00Z").size() || !text.ends_with('Z')) {
    return std::nullopt;
  }
  const auto time = model::ParsePeriod(model::Calendar::kProlepticGregorian, text);
  if (!time || time->begin < INT64_MIN || time->begin > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(time->begin);
}

}  // namespace ndlfs::backends::object
