// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/http_client.h"
#include "backends/store/http/look_memory.h"
#include "backends/store/http/object_service.h"
#include "model/error.h"

namespace ndlfs::backends {

struct RemoteOptions {
  // How long an answer about a name is trusted; nullopt: as long as the source exists.
  std::optional<std::chrono::nanoseconds> trusts_looks_for = std::chrono::seconds(1);
  // Names of documents that are read as soon as they are looked for, those that spare looking
  // for the others, and what directories with these are mostly called.
  std::vector<std::string> documents = {};
  std::vector<std::string> first_documents = {};
  std::string extension = {};
  std::function<std::chrono::steady_clock::time_point()> clock =
      &std::chrono::steady_clock::now;
};

// What is where on a server: looks at names, and lists. Paths are those of Source, and sound.
// Thread-safe.
class RemoteTree {
 public:
  RemoteTree(std::shared_ptr<const HttpClient> client,
             std::shared_ptr<const ObjectService> service, RemoteOptions options);

  const HttpClient& client() const { return *client_; }
  const ObjectService& service() const { return *service_; }
  LookMemory& memory() const { return memory_; }
  std::string Describe(std::string_view path) const;
  bool IsDocument(std::string_view path) const;

  // Looks at what may be a file or a directory, by one round of requests. Remembered answers
  // take none.
  model::Result<Look> LookAt(const std::string& path) const;
  // Looks at files alone, by one round of requests. A directory is kAbsent or kDirectory.
  std::vector<model::Result<Look>> LookAtFiles(std::span<const std::string> paths) const;
  // As Source::LookTogether().
  void LookTogether(const std::string& path, std::span<const std::string> documents) const;
  // As Store::LookAhead().
  void LookAhead(const std::string& path, std::span<const std::string_view> names,
                 std::span<const std::string_view> names_below) const;
  // Looks at a file, whatever is remembered.
  model::Result<Look> LookAgain(const std::string& path) const;

  // A page of the names in a directory; nullopt if the server has no listing.
  model::Result<std::optional<ListPage>> ReadPage(const std::string& path,
                                                  const PageStart& start,
                                                  unsigned most_names = kPageNames) const;

 private:
  class Round;

  model::Result<Look> LookByName(const std::string& path,
                                 std::span<const std::string> along = {}) const;
  std::optional<Look> LookForStore(const std::string& path,
                                   std::span<const std::string> along) const;
  Look NoteDirectory(const std::string& path) const;
  bool MayList(const std::string& path) const;
  bool IsToBeRead(const std::string& path) const;
  model::Result<Look> LookByList(const std::string& path) const;
  model::Result<std::optional<ListPage>> ToPage(
      const std::string& path, const PageStart& start,
      const model::Result<HttpResponse>& response) const;
  model::Result<HttpResponse> AskForFirstByte(const std::string& path) const;

  const std::shared_ptr<const HttpClient> client_;
  const std::shared_ptr<const ObjectService> service_;
  const std::vector<std::string> documents_;
  const std::vector<std::string> first_documents_;
  const std::string extension_;
  mutable LookMemory memory_;
};

}  // namespace ndlfs::backends
