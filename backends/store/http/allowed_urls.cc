// SPDX-License-Identifier: MIT
#include "backends/store/http/allowed_urls.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/forwarding_source.h"
#include "backends/store/keys.h"
#include "backends/store/url_opener.h"
#include "model/mutex.h"

namespace ndlfs::backends {
namespace {

class AllowedUrls final : public ForwardingSource, public UrlOpener {
 public:
  AllowedUrls(std::shared_ptr<const Source> source, std::vector<Url> prefixes,
              OpenSourceAt open)
      : ForwardingSource(std::move(source)), open_(std::move(open)) {
    std::ranges::stable_sort(
        prefixes, [](const Url& a, const Url& b) { return a.path.size() > b.path.size(); });
    for (Url& prefix : prefixes) places_.push_back({std::move(prefix), nullptr});
  }

  model::Result<StoreKey> FindUrl(std::string_view text) const override {
    const auto parsed = ParseUrl(text);
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

 private:
  struct Place {
    Url prefix;
    std::shared_ptr<const Store>
        store;  // of the directory that the prefix is in; null: not yet
  };

  model::Result<std::shared_ptr<const Store>> OpenTop(const Url& prefix,
                                                      const std::string& path) const {
    Url top = prefix;
    top.path = path;
    NDLFS_TRY(const auto source, open_(top, prefix));
    return source->OpenStore("");
  }

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
