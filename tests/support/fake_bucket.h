// SPDX-License-Identifier: MIT
//
// A bucket in memory, behind a FakeTransport: objects, and lists in pages.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_client.h"
#include "backends/store/http/url.h"
#include "tests/support/fake_http.h"

namespace ndlfs::test {

class FakeBucket {
 public:
  // What to answer instead of what the bucket would; nullopt: nothing special.
  using Special = std::function<std::optional<FakeAnswer>(const FakeTransport::Sent&)>;

  // Whose protocol it speaks.
  enum class Kind { kS3, kGoogle, kAzure };

  explicit FakeBucket(std::string name = "bucket", Kind kind = Kind::kS3)
      : name_(std::move(name)),
        kind_(kind),
        transport_(std::make_shared<FakeTransport>(
            [this](const FakeTransport::Sent& sent) { return Answer(sent); })) {
    backends::HttpOptions options;
    options.first_pause = std::chrono::milliseconds(1);
    client_ = std::make_shared<backends::HttpClient>(transport_, options);
  }

  void Put(const std::string& key, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    const std::time_t time = has_clock_ ? Now() : kTime;
    objects_[key] = {text, "\"" + std::to_string(++version_) + "\"", time};
  }
  void Remove(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    objects_.erase(key);
  }
  void set_special(Special special) {
    const std::scoped_lock lock(mutex_);
    special_ = std::move(special);
  }
  void set_page_size(size_t size) { page_size_ = size; }
  // Objects get their times from the clock of the system from now on, and answers tell it.
  void UseClock() { has_clock_ = true; }
  // Called with each answer, which it may spoil. Set before the first request.
  void set_spoil(std::function<void(FakeAnswer& answer)> spoil) { spoil_ = std::move(spoil); }

  const std::shared_ptr<const backends::HttpClient>& client() const { return client_; }
  std::vector<FakeTransport::Sent> sent() const { return transport_->sent(); }
  size_t requests() const { return transport_->sent().size(); }

  static FakeAnswer Error(int status, const std::string& code, const std::string& more = "") {
    return {status,
            {},
            "<Error><Code>" + code + "</Code><Message>it says so</Message>" + more + "</Error>",
            {}};
  }

 private:
  struct Object {
    std::string text;
    std::string etag;
    std::time_t modified;
  };

  static constexpr std::time_t kTime = 1'445'412'480;  // 2015-10-21 07:28:00
  static std::time_t Now() {
    return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  }
  static std::string Text(std::time_t time, const char* form) {
    std::tm parts = {};
    ::gmtime_r(&time, &parts);
    std::array<char, 40> text = {};
    return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
  }
  static std::string HttpDate(std::time_t time) {
    return Text(time, "%a, %d %b %Y %H:%M:%S GMT");
  }

  FakeAnswer Answer(const FakeTransport::Sent& sent) {
    FakeAnswer answer = TrueAnswer(sent);
    if (has_clock_) answer.headers.push_back({"date", HttpDate(Now())});
    if (spoil_) spoil_(answer);
    return answer;
  }

  FakeAnswer TrueAnswer(const FakeTransport::Sent& sent) {
    Special special;
    {
      const std::scoped_lock lock(mutex_);
      special = special_;
    }
    if (special) {
      if (auto answer = special(sent)) return *answer;
    }
    const backends::Url url = backends::ParseUrl(sent.url).value();
    const std::string top = "/" + name_;
    if (!url.path.starts_with(top)) return Error(404, "NoSuchBucket");
    const std::scoped_lock lock(mutex_);
    if (url.path == top) return List(url.query);
    const auto key = backends::PercentDecode(url.path.substr(top.size() + 1));
    const auto found = objects_.find(key.value_or(""));
    if (found == objects_.end()) return Error(404, "NoSuchKey");
    if (kind_ == Kind::kAzure && sent.Find("Range").starts_with("bytes=-")) {
      return Error(400, "InvalidHeaderValue");
    }
    const std::string generation = GenerationOf(found->second);
    const std::string wanted = Parameter(url.query, "generation");
    if (!wanted.empty() && wanted != generation) return Error(404, "NoSuchKey");
    if (sent.Find("x-goog-if-generation-not-match") == generation) return {.status = 304};
    FakeAnswer answer = AnswerWith(sent, found->second.text, EtagOf(found->second));
    if (kind_ == Kind::kGoogle) answer.headers.push_back({"x-goog-generation", generation});
    answer.headers.push_back({"last-modified", HttpDate(found->second.modified)});
    return answer;
  }

  static std::string GenerationOf(const Object& object) {
    return "10" + object.etag.substr(1, object.etag.size() - 2);
  }
  // Equal contents have equal ETags at Google.
  std::string EtagOf(const Object& object) const {
    return kind_ == Kind::kGoogle ? "\"of " + std::to_string(object.text.size()) + " bytes\""
                                  : object.etag;
  }

  static std::string Parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
      const std::string_view one = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(one.size() + 1, query.size()));
      const size_t equals = one.find('=');
      if (one.substr(0, equals) == name) {
        return backends::PercentDecode(one.substr(equals + 1)).value_or("");
      }
    }
    return "";
  }

  // What a list has of an object, or of a prefix.
  std::string Listed(const std::string& name, const Object* object) const {
    if (kind_ == Kind::kAzure) return ListedBlob(name, object);
    if (object == nullptr) {
      return "<CommonPrefixes><Prefix>" + name + "</Prefix></CommonPrefixes>";
    }
    return "<Contents><Key>" + name + "</Key><Size>" + std::to_string(object->text.size()) +
           "</Size><ETag>&quot;" + EtagOf(*object).substr(1, EtagOf(*object).size() - 2) +
           "&quot;</ETag><LastModified>" + Text(object->modified, "%FT%T.000Z") +
           "</LastModified>" +
           (kind_ == Kind::kGoogle ? "<Generation>" + GenerationOf(*object) + "</Generation>"
                                   : "") +
           "</Contents>";
  }
  static std::string ListedBlob(const std::string& name, const Object* object) {
    const std::string named = "<Name Encoded=\"true\">" + name + "</Name>";
    if (object == nullptr) return "<BlobPrefix>" + named + "</BlobPrefix>";
    return "<Blob>" + named + "<Properties><Content-Length>" +
           std::to_string(object->text.size()) + "</Content-Length><Etag>" +
           object->etag.substr(1, object->etag.size() - 2) + "</Etag><Last-Modified>" +
           HttpDate(object->modified) + "</Last-Modified></Properties></Blob>";
  }
  // The beginning and the end of a list; `next` is where the next page begins.
  std::string Page(const std::string& inside, const std::string& next) const {
    if (kind_ == Kind::kAzure) {
      return "<EnumerationResults><Blobs>" + inside + "</Blobs><NextMarker>" + next +
             "</NextMarker></EnumerationResults>";
    }
    return "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + inside +
           (next.empty() ? "<IsTruncated>false</IsTruncated>"
                         : "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next +
                               "</NextContinuationToken>") +
           "<EncodingType>url</EncodingType></ListBucketResult>";
  }

  FakeAnswer List(const std::string& query) const {
    const bool is_azure = kind_ == Kind::kAzure;
    const std::string prefix = Parameter(query, "prefix");
    const std::string delimiter = Parameter(query, "delimiter");
    const std::string after = Parameter(query, is_azure ? "marker" : "continuation-token");
    const size_t most = std::min<size_t>(
        page_size_, std::stoul(Parameter(query, is_azure ? "maxresults" : "max-keys")));
    std::string inside;
    std::string last;
    size_t count = 0;
    bool goes_on = false;
    for (const auto& [key, object] : objects_) {
      if (!key.starts_with(prefix)) continue;
      const size_t slash = delimiter.empty() ? key.npos : key.find(delimiter, prefix.size());
      const std::string shown = slash == key.npos ? key : key.substr(0, slash + 1);
      if (shown <= after || shown == last) continue;
      if (count == most) {
        goes_on = true;
        break;
      }
      ++count;
      last = shown;
      inside += Listed(backends::PercentEncode(shown), slash == key.npos ? &object : nullptr);
    }
    const std::string body = Page(inside, goes_on ? last : "");
    return {200, {{"content-length", std::to_string(body.size())}}, body, {}};
  }

  const std::string name_;
  const Kind kind_;
  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
  uint64_t version_ = 0;
  size_t page_size_ = 1000;
  bool has_clock_ = false;
  Special special_;
  std::function<void(FakeAnswer& answer)> spoil_;
  std::shared_ptr<FakeTransport> transport_;
  std::shared_ptr<const backends::HttpClient> client_;
};

// An environment for a test: these variables alone.
inline std::function<std::string(const char*)> Variables(
    std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

}  // namespace ndlfs::test
