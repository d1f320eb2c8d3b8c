// SPDX-License-Identifier: MIT
//
// An HTTP server with files in memory, for unit tests: answers as nginx does.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_client.h"
#include "backends/store/http/http_service.h"
#include "backends/store/http/remote_source.h"
#include "tests/support/fake_http.h"

namespace ndlfs::test {

class FakeFileServer {
 public:
  static constexpr const char* kTop = "http://test/source";

  FakeFileServer()
      : transport_(std::make_shared<FakeTransport>(
            [this](const FakeTransport::Sent& sent) { return Answer(sent); })) {}
  FakeFileServer(const FakeFileServer&) = delete;
  FakeFileServer& operator=(const FakeFileServer&) = delete;

  void Put(const std::string& path, const std::string& text) {
    const std::scoped_lock lock(mutex_);
    files_[path] = {text, ++version_};
  }
  void Remove(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    files_.erase(path);
  }
  // What directories answer: no list, or one.
  bool has_lists = true;
  bool lists_hidden_names = false;  // those that begin with a dot
  // What all files have instead of strong ETags.
  bool has_weak_tags = false;
  bool has_tags = true;

  const std::shared_ptr<FakeTransport>& transport() const { return transport_; }
  std::shared_ptr<const backends::RemoteSource> MakeSource(
      backends::RemoteOptions options = {.trusts_looks_for = std::chrono::seconds(0)}) const {
    const auto client = std::make_shared<const backends::HttpClient>(transport_);
    return std::make_shared<const backends::RemoteSource>(
        client, backends::MakeHttpService(backends::ParseUrl(kTop).value()),
        std::move(options));
  }

 private:
  struct File {
    std::string text;
    int version = 0;
  };

  FakeAnswer Answer(const FakeTransport::Sent& sent) const {
    const std::scoped_lock lock(mutex_);
    const std::string top = std::string(kTop) + "/";
    if (!sent.url.starts_with(top)) return {404, {}, "", {}};
    const std::string path =
        backends::PercentDecode(sent.url.substr(top.size())).value_or("none");
    if (path.empty() || path.ends_with('/')) return List(path);
    const auto file = files_.find(path);
    if (file != files_.end()) return FileAnswer(sent, file->second);
    const auto below = files_.lower_bound(path + "/");
    if (below == files_.end() || !below->first.starts_with(path + "/"))
      return {404, {}, "", {}};
    return {301, {{"location", sent.url + "/"}}, "", {}};
  }

  FakeAnswer FileAnswer(const FakeTransport::Sent& sent, const File& file) const {
    const std::string tag =
        (has_weak_tags ? "W/\"" : "\"") + std::to_string(file.version) + "\"";
    FakeAnswer answer = AnswerWith(sent, file.text, tag);
    if (!has_tags)
      std::erase_if(answer.headers, [](const auto& h) { return h.name == "etag"; });
    const int second = file.version % 60;
    answer.headers.push_back(
        {"last-modified", "Thu, 01 Jan 2026 00:00:" + std::string(second < 10 ? "0" : "") +
                              std::to_string(second) + " GMT"});
    return answer;
  }

  FakeAnswer List(const std::string& prefix) const {
    std::map<std::string, bool> names;
    for (const auto& [path, file] : files_) {
      if (!path.starts_with(prefix)) continue;
      const std::string rest = path.substr(prefix.size());
      const size_t slash = rest.find('/');
      if (lists_hidden_names || !rest.starts_with('.'))
        names[rest.substr(0, slash)] |= slash != rest.npos;
    }
    if (names.empty() && !prefix.empty()) return {404, {}, "", {}};
    if (!has_lists) return {403, {}, "", {}};
    std::string json = "[";
    for (const auto& [name, is_directory] : names) {
      json += (json.size() > 1 ? "," : "") + std::string("{\"name\":\"") + name +
              "\",\"type\":\"" + (is_directory ? "directory" : "file") + "\"}";
    }
    json += "]";
    return {200, {{"content-type", "application/json"}}, json, {}};
  }

  mutable std::mutex mutex_;
  std::map<std::string, File> files_;
  int version_ = 0;
  const std::shared_ptr<FakeTransport> transport_;
};

}  // namespace ndlfs::test
