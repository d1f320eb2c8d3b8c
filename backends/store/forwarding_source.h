// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends {

// Shows the whole tree of another source. Base of sources that differ from it in one respect.
class ForwardingSource : public Source {
 public:
  explicit ForwardingSource(std::shared_ptr<const Source> source)
      : source_(std::move(source)) {}

  const std::string& name() const override { return source_->name(); }
  std::string identity() const override { return source_->identity(); }
  const Source& base() const override { return source_->base(); }
  std::optional<int64_t> ClockNs() const override { return source_->ClockNs(); }
  bool looks_are_requests() const override { return source_->looks_are_requests(); }
  bool is_shared() const override { return source_->is_shared(); }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override {
    return source_->Stat(path, follow);
  }
  void LookTogether(const std::string& path,
                    std::span<const std::string> documents) const override {
    source_->LookTogether(path, documents);
  }
  bool HasListed(std::string_view path) const override { return source_->HasListed(path); }
  model::Result<std::unique_ptr<DirectoryListing>> List(std::string_view path) const override {
    return source_->List(path);
  }
  model::Result<std::string> ReadLink(std::string_view path) const override {
    return source_->ReadLink(path);
  }
  std::shared_ptr<const Store> OpenStore(const std::string& path) const override {
    return source_->OpenStore(path);
  }
  using Source::OpenFile;
  std::shared_ptr<const Store> OpenFile(const std::string& path, Follow follow) const override {
    return source_->OpenFile(path, follow);
  }

 protected:
  const Source& source() const { return *source_; }

 private:
  const std::shared_ptr<const Source> source_;
};

}  // namespace ndlfs::backends
