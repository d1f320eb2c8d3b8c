// SPDX-License-Identifier: MIT
//
// Stores as the files that libhdf5 reads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/format/hdf5/library/input_file.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// The value "" of a store, in the version that it had when it was opened.
// Thread-safe.
class StoreFile final : public InputFile {
 public:
  StoreFile(std::shared_ptr<const Store> store, std::string path, const ValueInfo& info,
            uint64_t id)
      : store_(std::move(store)), path_(std::move(path)), info_(info), id_(id) {}

  uint64_t id() const override { return id_; }
  uint64_t size() const override { return info_.size; }
  const ValueInfo& info() const { return info_; }
  // Where it is in the source.
  const std::string& path() const { return path_; }

  model::Result<void> Read(uint64_t offset, ByteSpan out) const override;
  model::Result<void> CheckUnchanged() const override;

 private:
  const std::shared_ptr<const Store> store_;
  const std::string path_;
  const ValueInfo info_;
  const uint64_t id_;
};

// Opens the files of a source, and gives them numbers. Thread-safe.
class StoreFiles final : public InputFiles {
 public:
  explicit StoreFiles(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  model::Result<std::shared_ptr<const InputFile>> Open(std::string_view name) override;

  // The file at `path`, whose bytes are in `store`. ENOENT if it does not exist.
  model::Result<std::shared_ptr<const StoreFile>> OpenStore(std::shared_ptr<const Store> store,
                                                            const std::string& path)
      EXCLUDES(mutex_);

 private:
  // How many paths are remembered with their numbers; a forgotten path gets another number.
  static constexpr size_t kMaxKnown = 20'000;

  struct Known {
    Generation generation;
    uint64_t id;
  };

  std::optional<std::string> PathOfName(std::string_view name) const;
  uint64_t IdOf(const std::string& path, const Generation& generation) EXCLUDES(mutex_);

  const std::shared_ptr<const Source> source_;
  model::Mutex mutex_;
  model::BoundedMap<std::string, Known> known_ GUARDED_BY(mutex_){kMaxKnown};
};

}  // namespace ndlfs::backends::hdf5
