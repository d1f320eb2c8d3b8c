// SPDX-License-Identifier: MIT
//
// The tree as a bucket of S3, for reading: GetObject, HeadObject, HeadBucket and ListObjectsV2
// with the bucket in the path. Keys are the paths of files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/http/reply.h"
#include "model/error.h"

namespace ndlfs::fs {

struct S3Options {
  std::string bucket = {};  // empty: there is none
  // The keys that requests have to be signed with; if both are empty, requests are answered
  // whether they are signed or not.
  std::string access_key = {};
  std::string secret_key = {};
};

// Whether the request is one for the bucket: its path begins with the name of it.
bool IsForBucket(const S3Options& options, const RequestTarget& target);

// The error for a request that is not signed with the keys; nullopt if it is, or need not be.
// Signatures in the header count, not those in URLs.
std::optional<HttpReply> RefuseUnsigned(const S3Options& options, const HttpRequest& request,
                                        int64_t now_s);

// The reply to a request for the bucket itself: a list, or nothing if it is a HEAD.
model::Result<HttpReply> AnswerForBucket(const S3Options& options, const TreeNodePtr& root,
                                         const HttpRequest& request);

// Gives a reply with an error the body that clients of S3 read.
void DescribeS3Error(HttpReply& reply);

}  // namespace ndlfs::fs
