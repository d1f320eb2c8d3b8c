// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/source.h"
#include "backends/store/store.h"
#include "backends/store/url_opener.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::dmrpp {

// What names of documents end in.
inline constexpr std::string_view kExtension = ".dmrpp";

// The files that the document at `path` is about. Thread-safe.
class DataFiles {
 public:
  // `names` as the document has them (Document::files). `written` are the facts about the
  // document.
  DataFiles(std::shared_ptr<const Source> source, std::string path,
            std::vector<std::string> names, const ValueInfo& written);

  struct File {
    std::shared_ptr<const Store> store;
    std::string key;
    ValueInfo info;
  };
  // The file of an index of `names`, in the version that the document is about as far as can be
  // told: one that begins as HDF5 or HDF4, without a user block, and was not modified after the
  // document. The first call for a file costs a short read of it; later ones answer the same.
  model::Result<File> Find(uint32_t index) const EXCLUDES(mutex_);

  // The facts about the file of the whole document at this moment; nullopt if it cannot be
  // looked at.
  std::optional<ValueInfo> Look() const;

 private:
  model::Result<StoreKey> Locate(const std::string& name) const;
  model::Result<StoreKey> LocateLocal(const std::string& name) const;
  model::Result<StoreKey> LocateNeighbour(std::string_view ending, std::string_view name) const;
  model::Result<File> Open(const std::string& name) const;
  model::Result<void> CheckTime(const File& file) const;

  const std::shared_ptr<const Source> source_;
  const std::string path_;
  const std::vector<std::string> names_;
  const int64_t written_ns_;
  mutable model::Mutex mutex_;
  // By the index; nullopt: not asked yet, or with an error of that moment.
  mutable std::vector<std::optional<model::Result<File>>> found_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::dmrpp
