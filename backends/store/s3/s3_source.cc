// SPDX-License-Identifier: MIT
#include "backends/store/s3/s3_source.h"

#include <utility>

#include "backends/store/object/bucket.h"

namespace ndlfs::backends::s3 {

model::Result<std::shared_ptr<const RemoteSource>> OpenS3Source(
    const std::string& url, const BucketOptions& bucket_options, RemoteOptions options,
    std::shared_ptr<const HttpClient> client) {
  NDLFS_TRY(const object::Location location, object::ParseLocation(url, "s3"));
  NDLFS_TRY(std::shared_ptr<const Bucket> bucket,
            Bucket::Open(location.bucket, bucket_options, client));
  return std::make_shared<const RemoteSource>(
      std::move(client), object::MakeBucketService(std::move(bucket), location.prefix),
      std::move(options));
}

}  // namespace ndlfs::backends::s3
