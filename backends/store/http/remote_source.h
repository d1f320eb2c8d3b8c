// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/http/http_client.h"
#include "backends/store/http/object_service.h"
#include "backends/store/source.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends {

struct RemoteOptions {
  // How long an answer about a name is trusted; nullopt: as long as the source exists.
  std::optional<std::chrono::nanoseconds> trusts_looks_for = std::chrono::seconds(1);
  // Names of documents that are read as soon as they are looked for.
  std::vector<std::string> documents = {};
  std::function<std::chrono::steady_clock::time_point()> clock =
      &std::chrono::steady_clock::now;
};

// The files of a server. A look at a name is a request; looks, listings and small documents are
// kept for a while. Reads of files go to the server each time, and name the version that they
// want. There is a directory where the server lists one, or has a document that makes a store
// of it.
class RemoteSource final : public Source, public std::enable_shared_from_this<RemoteSource> {
 public:
  RemoteSource(std::shared_ptr<const HttpClient> client,
               std::shared_ptr<const ObjectService> service, RemoteOptions options = {});

  const std::string& name() const override { return service_->name(); }
  bool looks_are_requests() const override { return true; }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override;
  // ENOENT if there is no such directory; a directory that the server does not list is empty.
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override;
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override;
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override;

  const HttpClient& client() const { return *client_; }

 private:
  class RemoteStore;
  class PinnedFile;
  class Listing;

  // What one look has shown.
  struct Look {
    enum class Kind : uint8_t { kAbsent, kFile, kDirectory } kind = Kind::kAbsent;
    ValueInfo info = {};  // of a file
    std::chrono::steady_clock::time_point seen = {};
  };
  // The names in a directory, sorted; each once.
  struct Names {
    bool is_listed = false;  // otherwise the server has no listing
    std::vector<ListedObject> objects;
    std::chrono::steady_clock::time_point seen = {};
    const ListedObject* Find(std::string_view name) const;
  };
  using NamesPtr = std::shared_ptr<const Names>;
  struct Document {
    std::shared_ptr<const Bytes> bytes;
    ValueInfo info;
  };
  class Round;
  class JoinedRead;

  bool Holds(std::chrono::steady_clock::time_point seen) const;
  bool IsDocument(std::string_view path) const;
  FileStatus StatusOf(std::string_view path, const Look& look) const;

  // What is known without a request.
  std::optional<Look> KnownLook(std::string_view path) const;
  NamesPtr KnownNames(std::string_view path) const;
  std::optional<Document> KnownDocument(std::string_view path,
                                        const ReadOptions& options) const;
  bool HasDocument(std::string_view path) const;
  Look Keep(const std::string& path, Look look) const;
  void KeepDocument(const std::string& path, Document document) const;
  model::Result<HttpResponse> AskForFirstByte(const std::string& path) const;

  // Looks at files by one round of requests. A directory is kAbsent or kDirectory.
  std::vector<model::Result<Look>> LookAtFiles(std::span<const std::string> paths) const;
  // Looks at what may be a file or a directory.
  model::Result<Look> LookAt(const std::string& path) const;
  model::Result<NamesPtr> ListNames(const std::string& path) const;
  // Reads further pages, and keeps the result.
  model::Result<NamesPtr> FinishNames(const std::string& path,
                                      model::Result<HttpResponse> first) const;

  model::Result<std::optional<ReadResult>> ReadFile(const std::string& path,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve) const;
  model::Result<std::optional<ReadResult>> ReadRemote(const std::string& path,
                                                      const ReadOptions& options,
                                                      const Reserve& reserve) const;
  // A short range of one version of a file. Blocks around such ranges are read and kept:
  // formats with an index in the file read it in small pieces.
  model::Result<std::optional<ReadResult>> ReadBlocks(const std::string& path,
                                                      const ValueInfo& info, ByteRange range,
                                                      const Reserve& reserve) const;
  model::Result<std::shared_ptr<const Bytes>> Block(const std::string& path,
                                                    const ValueInfo& info, uint64_t i) const;
  model::Result<std::optional<Value>> ReadBlock(const std::string& path, uint64_t i,
                                                const std::optional<Generation>& version) const;
  void KeepBlock(const std::string& key, const Bytes& bytes) const;
  static std::string BlockKey(const std::string& path, const ValueInfo& info, uint64_t i);
  HttpRequest ReadRequestFor(const std::string& path, const ReadOptions& options) const;
  // Several reads, whose keys are paths, under way together. See Store::ReadMany().
  std::vector<model::Result<std::optional<Value>>> ReadTogether(
      const Store& store, std::span<const ReadRequest> requests,
      const std::function<std::string(const std::string& key)>& path_of) const;
  // The answer to a read beyond the end of a value.
  model::Result<std::optional<ReadResult>> ReadNothing(const std::string& path,
                                                       const Reserve& reserve) const;

  const std::shared_ptr<const HttpClient> client_;
  const std::shared_ptr<const ObjectService> service_;
  const RemoteOptions options_;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, Look, model::StringHash> looks_ GUARDED_BY(mutex_);
  mutable model::BoundedMap<std::string, NamesPtr, model::StringHash> names_ GUARDED_BY(mutex_);
  mutable model::BoundedMap<std::string, std::shared_ptr<const Bytes>, model::StringHash>
      blocks_ GUARDED_BY(mutex_);
  mutable std::set<std::string> loading_ GUARDED_BY(mutex_);  // keys of blocks
  mutable model::CondVar loaded_;
  mutable model::BoundedMap<std::string, Document, model::StringHash> documents_
      GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends
