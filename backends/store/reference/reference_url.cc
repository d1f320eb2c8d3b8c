// SPDX-License-Identifier: MIT
#include "backends/store/reference/reference_url.h"

#include <utility>

#include "backends/store/keys.h"

namespace ndlfs::backends::kerchunk {
namespace {

constexpr std::string_view kFileScheme = "file://";

}  // namespace

bool IsRemote(std::string_view url) {
  return !url.starts_with(kFileScheme) &&
         (url.find("://") != url.npos || url.find("::") != url.npos);
}

model::Result<std::string> ResolveLocalUrl(const Source& source, std::string_view file_path,
                                           std::string_view url) {
  std::string_view name = url;
  if (name.starts_with(kFileScheme)) name.remove_prefix(kFileScheme.size());
  auto path = source.Resolve(file_path, name);
  if (!path) return model::Unsupported("{} is outside the source tree", model::Quote(url));
  if (name.empty() || path->empty() || !CheckKey(*path)) {
    return model::BadInput("{} is no path of a file", model::Quote(url));
  }
  return *std::move(path);
}

model::Result<StoreKey> FindRemote(const Source& source, std::string_view url) {
  const auto* opener = dynamic_cast<const UrlOpener*>(&source);
  if (opener != nullptr) return opener->FindUrl(url);
  return model::Unsupported("the remote reference {}", model::Quote(url));
}

model::Result<StoreKey> FindOutside(const Source& source, std::string_view url,
                                    model::Error refusal) {
  if (url.starts_with(kFileScheme)) {
    auto found = FindRemote(source, url);
    if (found || found.error().code() != model::ErrorCode::kUnsupported) return found;
  }
  return model::Propagate(std::move(refusal));
}

}  // namespace ndlfs::backends::kerchunk
