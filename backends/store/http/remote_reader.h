// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/store/http/remote_tree.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends {

// The size of the blocks that short reads of a file share.
inline constexpr uint64_t kRemoteBlock = 128 << 10;
inline constexpr uint64_t kShortRemoteRead = 32 << 10;

// Reads files of a server. Each read goes to the server and names the version that it wants,
// except reads of documents that are remembered, and of blocks. Paths are those of Source, and
// sound. Thread-safe.
class RemoteReader {
 public:
  explicit RemoteReader(std::shared_ptr<const RemoteTree> tree);

  // As Store::Read().
  model::Result<std::optional<ReadResult>> ReadFile(const std::string& path,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve) const;

  // Several reads under way together; their keys are paths. See Store::ReadMany().
  std::vector<model::Result<std::optional<Value>>> ReadTogether(
      const Store& store, std::span<const ReadRequest> requests,
      const std::function<std::string(const std::string& key)>& path_of) const;

  // Reads a short range of one version of a file. Reads and keeps whole blocks around such
  // ranges, because formats with an index in the file read it in small pieces.
  model::Result<std::optional<ReadResult>> ReadBlocks(const std::string& path,
                                                      const ValueInfo& info, ByteRange range,
                                                      const Reserve& reserve) const;
  // The version of the file whose first block was read, as long as a look at it is remembered,
  // and the block is still kept.
  std::optional<ValueInfo> KnownFirstBlock(const std::string& path) const;
  // Reads the first block of the file, or of that version of it, and keeps it. The result is
  // the version; nullopt if there is no file.
  model::Result<std::optional<ValueInfo>> ReadFirstBlock(
      const std::string& path, const std::optional<Generation>& version) const;

 private:
  class JoinedRead;

  std::optional<RemoteDocument> KnownDocument(const std::string& path,
                                              const ReadOptions& options) const;
  // The read of the same bytes by their place from the beginning, in the version that is there
  // now; nullopt if there is no file.
  static std::optional<ReadOptions> FromBegin(const ReadOptions& options, const Look& look);
  std::vector<model::Result<std::optional<Value>>> ReadFromEnd(
      const Store& store, std::span<const ReadRequest> requests,
      const std::function<std::string(const std::string& key)>& path_of) const;
  HttpRequest ReadRequestFor(const std::string& path, const ReadOptions& options) const;
  bool RefusesItsVersion(const std::string& path, const ReadOptions& options,
                         const HttpRequest& request, const HttpResponse& response) const;
  model::Result<std::optional<ReadResult>> ReadRemote(const std::string& path,
                                                      const ReadOptions& options,
                                                      const Reserve& reserve) const;
  model::Result<std::optional<ReadResult>> ReadNothing(const std::string& path,
                                                       const Reserve& reserve) const;
  model::Result<std::shared_ptr<const Bytes>> Block(const std::string& path,
                                                    const ValueInfo& info, uint64_t i) const;
  model::Result<std::optional<Value>> ReadBlock(const std::string& path, uint64_t i,
                                                const std::optional<Generation>& version) const;
  static std::string BlockKey(const std::string& path, const ValueInfo& info, uint64_t i);

  const std::shared_ptr<const RemoteTree> tree_;
  // The server has refused the version that it has, and so reads name none.
  mutable std::atomic<bool> names_no_version_ = false;
  mutable std::atomic<bool> takes_versions_ = false;  // it has answered a read that names one
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, std::shared_ptr<const Bytes>> blocks_
      GUARDED_BY(mutex_);
  mutable std::set<std::string> loading_ GUARDED_BY(mutex_);  // keys of blocks
  mutable model::CondVar loaded_;
};

}  // namespace ndlfs::backends
