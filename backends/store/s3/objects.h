// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/s3/bucket.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The facts about an object with these headers. Its generation is the ETag if there is a strong
// one, else its size and time.
ValueInfo ObjectInfo(std::string_view etag, uint64_t size, int64_t modified_ns);

// What an answer to HEAD or GET tells; nullopt if there is no such key.
model::Result<std::optional<ValueInfo>> ToInfo(const Bucket& bucket,
                                               const HttpResponse& response);

BucketRequest HeadRequest(std::string key);

// As Store::Read(), in one request; two where the range has no byte of the object.
model::Result<std::optional<ReadResult>> ReadObject(const Bucket& bucket,
                                                    const std::string& key,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve);

// As Store::ReadMany(), with all requests under way together. One request gets ranges of a key
// that follow each other with gaps of less than a MiB.
std::vector<model::Result<std::optional<Value>>> ReadObjects(
    const Bucket& bucket, std::span<const ReadRequest> requests);

}  // namespace ndlfs::backends::s3
