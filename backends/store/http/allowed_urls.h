// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/store/http/url.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends {

// Opens a source whose top is the directory `url`, to read what is below `prefix`. Sends
// nothing.
using OpenSourceAt = std::function<model::Result<std::shared_ptr<const Source>>(
    const Url& url, const Url& prefix)>;

// A source that shows the tree of `source` and is an UrlOpener: documents in it may name files
// behind URLs that begin with one of `prefixes`. It reads them through the sources that `open`
// opens, once for each prefix; the longest prefix counts. URLs of S3 have their keys as they
// are; others are percent-encoded.
std::shared_ptr<const Source> MakeAllowedUrls(std::shared_ptr<const Source> source,
                                              std::vector<Url> prefixes, OpenSourceAt open);

}  // namespace ndlfs::backends
