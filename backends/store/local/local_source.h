// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/store/local/file_clock.h"
#include "backends/store/local/source_root.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends {

// The files below a directory of this machine. SourceRoot opens all of them,
// and ensures that none is outside.
class LocalSource final : public Source {
 public:
  // `path` is a directory. `shared` becomes is_shared().
  static model::Result<std::shared_ptr<const LocalSource>> Open(const std::string& path,
                                                                bool shared = false);
  explicit LocalSource(std::shared_ptr<const SourceRoot> root) : root_(std::move(root)) {}

  // The root gives access to things that only a local file system has: descriptors and
  // permissions.
  const std::shared_ptr<const SourceRoot>& root() const { return root_; }

  const std::string& name() const override { return root_->path(); }
  std::optional<int64_t> ClockNs() const override { return clock_.NowNs(*root_, ""); }
  bool is_shared() const override { return root_->is_shared(); }

  // With Follow::kNo, a shared source also refuses a path with a link in the middle: callers
  // found such a path folder by folder, when it had no link in it.
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override;
  // `path` was found folder by folder, as above; the same in ReadLink().
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override;
  model::Result<std::string> ReadLink(std::string_view path) const override;
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override;
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override;

 private:
  const std::shared_ptr<const SourceRoot> root_;
  const ClockOfPath clock_;
};

// The directory that `source` shows; null if it is no directory of this
// machine.
std::shared_ptr<const SourceRoot> LocalRootOf(const Source& source);

FileStatus StatusOf(const struct ::stat& status);

}  // namespace ndlfs::backends
