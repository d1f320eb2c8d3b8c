// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/store/local/source_root.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends {

// The files below a directory of this machine. SourceRoot opens all of them,
// and sees to it that none is outside.
class LocalSource final : public Source {
 public:
  // `path` is a directory. `shared` is what is_shared() says.
  static model::Result<std::shared_ptr<const LocalSource>> Open(const std::string& path,
                                                                bool shared = false);
  explicit LocalSource(std::shared_ptr<const SourceRoot> root) : root_(std::move(root)) {}

  // For what only this file system has: descriptors, and who may read a file.
  const std::shared_ptr<const SourceRoot>& root() const { return root_; }

  const std::string& name() const override { return root_->path(); }
  bool has_symlinks() const override { return true; }
  bool is_shared() const override { return root_->is_shared(); }

  // Links in the middle of `path` are not followed either on a shared source with
  // Follow::kNo: such a path has been found step by step and had no link in it.
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override;
  // The path of a directory and that of a file are such paths, too.
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override;
  model::Result<std::string> ReadLink(std::string_view path) const override;
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override;
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override;

 private:
  const std::shared_ptr<const SourceRoot> root_;
};

// The directory that `source` shows; null if it is none of this machine.
std::shared_ptr<const SourceRoot> LocalRootOf(const Source& source);

FileStatus StatusOf(const struct ::stat& status);

}  // namespace ndlfs::backends
