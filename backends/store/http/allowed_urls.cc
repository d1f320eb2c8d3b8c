// SPDX-License-Identifier: MIT
#include "backends/store/http/allowed_urls.h"

#include <optional>
#include <string_view>
#include <utility>

#include "backends/store/keys.h"
#include "backends/store/url_opener.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kS3 = "s3://";

model::Result<Url> ParseTarget(std::string_view text) {
  if (!text.starts_with(kS3)) return ParseUrl(text);
  return ParseUrl(std::string(kS3) + PercentEncode(text.substr(kS3.size())));
}

class AllowedUrls final : public Source, public UrlOpener {
 public:
  AllowedUrls(std::shared_ptr<const Source> source, std::vector<Url> prefixes,
              OpenSourceAt open)
      : source_(std::move(source)), open_(std::move(open)) {
    for (Url& prefix : prefixes) places_.push_back({std::move(prefix), nullptr});
  }

  model::Result<StoreKey> FindUrl(std::string_view text) const override {
    const auto parsed = ParseTarget(text);
    if (!parsed) {
      return model::Unsupported("the remote reference {}", model::Quote(UrlForMessages(text)));
    }
    const Url& url = *parsed;
    if (!url.query.empty() || !url.user.empty()) {
      return model::Unsupported("the remote reference {} with a query or a user",
                                model::Quote(url.ForMessages()));
    }
    const model::MutexLock lock(mutex_);
    for (Place& place : places_) {
      if (!IsWithin(url, place.prefix)) continue;
      const std::string top = place.prefix.path.substr(0, place.prefix.path.rfind('/') + 1);
      const auto key = PercentDecode(std::string_view(url.path).substr(top.size()));
      if (!key || key->empty() || !CheckKey(*key)) {
        return model::BadInput("{} is no URL of a file", model::Quote(url.ForMessages()));
      }
      if (!place.store) {
        NDLFS_TRY(place.store, OpenTop(place.prefix, top));
      }
      return StoreKey{place.store, *key};
    }
    return model::Unsupported("the remote reference {}, which --allow-urls does not name",
                              model::Quote(url.ForMessages()));
  }

  const std::string& name() const override { return source_->name(); }
  std::string identity() const override { return source_->identity(); }
  const Source& base() const override { return source_->base(); }
  bool has_symlinks() const override { return source_->has_symlinks(); }
  bool looks_are_requests() const override { return source_->looks_are_requests(); }
  bool is_shared() const override { return source_->is_shared(); }
  model::Result<std::optional<FileStatus>> Stat(std::string_view path,
                                                Follow follow) const override {
    return source_->Stat(path, follow);
  }
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

 private:
  struct Place {
    Url prefix;
    std::shared_ptr<const Store>
        store;  // of the directory that the prefix is in; null: not yet
  };

  model::Result<std::shared_ptr<const Store>> OpenTop(Url prefix,
                                                      const std::string& path) const {
    prefix.path = path;
    NDLFS_TRY(const auto source, open_(prefix));
    return source->OpenStore("");
  }

  const std::shared_ptr<const Source> source_;
  const OpenSourceAt open_;
  mutable model::Mutex mutex_;
  mutable std::vector<Place> places_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Source> MakeAllowedUrls(std::shared_ptr<const Source> source,
                                              std::vector<Url> prefixes, OpenSourceAt open) {
  return std::make_shared<const AllowedUrls>(std::move(source), std::move(prefixes),
                                             std::move(open));
}

}  // namespace ndlfs::backends
