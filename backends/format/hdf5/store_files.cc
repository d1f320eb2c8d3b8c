// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/store_files.h"

#include <algorithm>
#include <cerrno>

#include "backends/base/new_id.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;

// One question: how large the file is, its version, and what fits into `out`
// from `offset` on. nullopt where there is no file.
Result<std::optional<ReadResult>> ReadAt(const Store& store, uint64_t offset, ByteSpan out) {
  return store.Read("", {.range = {offset, out.size()}},
                    [&](uint64_t) -> Result<ByteSpan> { return out; });
}

}  // namespace

model::Result<void> StoreFile::Read(uint64_t offset, ByteSpan out) const {
  if (offset > info_.size || out.size() > info_.size - offset) {
    return model::Internal("a read beyond the end of the file");
  }
  NDLFS_TRY(const auto result, ReadAt(*store_, offset, out), path_);
  if (!result || result->info.generation != info_.generation || result->count != out.size()) {
    return model::HasChanged(path_);
  }
  return {};
}

model::Result<void> StoreFile::CheckUnchanged() const { return Read(0, {}); }

model::Result<std::shared_ptr<const InputFile>> StoreFiles::Open(std::string_view name) {
  const auto path = PathOfName(name);
  if (!path) return model::IoError(EXDEV, name);
  NDLFS_TRY(auto file, OpenStore(source_->OpenFile(*path, Follow::kYes), *path));
  return file;
}

// Names come as "/a/b.h5", relative to the source. One that a file gives may
// also be a true absolute path into the source.
// One path for each file, however its name is written.
std::optional<std::string> StoreFiles::PathOfName(std::string_view name) const {
  if (auto path = source_->Resolve("", name)) return path;
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  return source_->Resolve("", name);
}

model::Result<std::shared_ptr<const StoreFile>> StoreFiles::OpenStore(
    std::shared_ptr<const Store> store, const std::string& path) {
  NDLFS_TRY(const auto found, ReadAt(*store, 0, {}), path);
  if (!found) return model::IoError(ENOENT, path);
  return std::make_shared<const StoreFile>(std::move(store), path, found->info,
                                           IdOf(path, found->info.generation));
}

uint64_t StoreFiles::IdOf(const std::string& path, const Generation& generation) {
  const model::MutexLock lock(mutex_);
  const Known* found = known_.Find(path);
  if (found != nullptr && found->generation == generation) return found->id;
  // Not a number of this source: one library may have files of several open.
  const uint64_t id = NewId();
  known_.Put(path, {generation, id});
  return id;
}

}  // namespace ndlfs::backends::hdf5
