// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "backends/store/http/http_client.h"
#include "backends/store/http/remote_source.h"
#include "backends/store/s3/bucket.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The objects below "s3://bucket/prefix" as a tree of files. The '/' in keys separates
// directories: a prefix of keys is a directory, and hides an object of the same name. Objects
// whose keys cannot be paths (empty, "." and ".." parts) are not shown. With anonymous access
// to a bucket that may not be listed, files and stores are still found by their names. Sends
// nothing before the first look. kBadInput for a text that is no such URL.
model::Result<std::shared_ptr<const RemoteSource>> OpenS3Source(
    const std::string& url, const BucketOptions& bucket, RemoteOptions options,
    std::shared_ptr<const HttpClient> client);

}  // namespace ndlfs::backends::s3
