// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "backends/store/s3/bucket.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

struct S3SourceOptions {
  BucketOptions bucket = {};
  // How long an answer about a name, or a list, is taken for true.
  std::chrono::nanoseconds remember = std::chrono::seconds(1);
};

// The objects below "s3://bucket/prefix" as a tree of files. The '/' in keys separates
// directories: a prefix of keys is a directory, and hides an object of the same name. Objects
// whose keys cannot be paths (empty, "." and ".." parts) are not shown. With anonymous access
// to a bucket that may not be listed, files and stores are still found by their names. Sends
// nothing before the first look. kBadInput for a text that is no such URL.
model::Result<std::shared_ptr<const Source>> OpenS3Source(
    const std::string& url, const S3SourceOptions& options,
    std::shared_ptr<const HttpClient> client);

}  // namespace ndlfs::backends::s3
