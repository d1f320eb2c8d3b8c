// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/s3/bucket.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The objects below "s3://bucket/prefix" as a tree of files: see MakeBucketService(). Sends
// nothing before the first look. kBadInput for a text that is no such URL.
model::Result<std::shared_ptr<const RemoteSource>> OpenS3Source(
    const std::string& url, const BucketOptions& bucket, RemoteOptions options,
    std::shared_ptr<const HttpClient> client);

}  // namespace ndlfs::backends::s3
