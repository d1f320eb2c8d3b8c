// SPDX-License-Identifier: MIT
#include "backends/store/s3/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ndlfs::backends::s3 {
namespace {

// A connection brings so much in the time that one more request takes.
constexpr uint64_t kLargestGap = 1 << 20;
// More comes sooner in several requests.
constexpr uint64_t kLargestJoined = 16 << 20;

using Answer = model::Result<std::optional<Value>>;

bool IsStrong(std::string_view etag) {
  return etag.size() > 2 && etag.front() == '"' && etag.back() == '"';
}

// What If-Match has to say for this version; empty if the server cannot check it.
std::string MatchingTag(const std::optional<Generation>& generation) {
  if (!generation) return "";
  const std::string text = generation->ToText();  // 't' and the tag
  return IsStrong(std::string_view(text).substr(1)) ? text.substr(1) : "";
}

BucketRequest GetRequest(const std::string& key, const ReadOptions& options) {
  BucketRequest request;
  request.key = key;
  const bool is_whole = options.range.length == ByteRange::kToEnd &&
                        options.range.offset == 0 && !options.from_end;
  if (!is_whole) request.http.range = options.range;
  request.http.from_end = options.from_end;
  request.http.if_match = MatchingTag(options.if_match);
  return request;
}

bool AsksForNothing(const ReadOptions& options) {
  return options.range.length == 0 || (options.from_end && options.range.offset == 0);
}

bool HasBody(const HttpResponse& response) {
  return response.status == 200 || response.status == 206;
}

// Ranges of one key that are read by one request.
struct Joined {
  size_t first = 0;  // of the requests
  size_t count = 0;
  ReadOptions options;
  uint64_t limit = 0;
  uint64_t begin = 0;  // of `bytes` in the value
  Bytes bytes;
};

// Whether the request fits at the end of `joined`; then it has become part of it.
bool Join(Joined& joined, const ReadRequest& request) {
  const ByteRange& next = request.options.range;
  ByteRange& range = joined.options.range;
  if (joined.options.from_end || request.options.from_end) return false;
  if (joined.options.if_match != request.options.if_match) return false;
  if (range.length > kLargestJoined || next.length > kLargestJoined) return false;
  if (next.offset < range.offset || next.offset - range.offset > kLargestJoined) return false;
  const uint64_t end = range.offset + range.length;
  if (next.offset > end && next.offset - end > kLargestGap) return false;
  const uint64_t length = std::max(end, next.offset + next.length) - range.offset;
  if (length > kLargestJoined) return false;
  range.length = length;
  joined.limit = kLargestJoined;
  ++joined.count;
  return true;
}

std::vector<Joined> JoinAll(std::span<const ReadRequest> requests) {
  std::vector<Joined> all;
  for (size_t i = 0; i < requests.size(); ++i) {
    const ReadRequest& request = requests[i];
    const bool same_key = i > 0 && requests[i - 1].key == request.key;
    if (same_key && Join(all.back(), request)) continue;
    all.push_back({i, 1, request.options, request.limit, 0, {}});
  }
  return all;
}

BucketRequest ReadInto(Joined& joined, const std::string& key) {
  BucketRequest request =
      AsksForNothing(joined.options) ? HeadRequest(key) : GetRequest(key, joined.options);
  request.http.reserve = [&joined](uint64_t total_size) -> model::Result<ByteSpan> {
    const ByteRange range = joined.options.Clip(total_size);
    if (range.length > joined.limit) {
      return model::Limit("{} bytes, more than the limit of {}", range.length, joined.limit);
    }
    joined.begin = range.offset;
    joined.bytes = Bytes(range.length);
    return joined.bytes.span();
  };
  return request;
}

// The facts about the value that was answered; nullopt if there is none, or nothing of it was
// asked for.
model::Result<std::optional<ValueInfo>> Check(const Bucket& bucket,
                                              const HttpResponse& response,
                                              const Joined& joined) {
  NDLFS_TRY(auto info, ToInfo(bucket, response));
  if (!info) return std::nullopt;
  if (joined.options.if_match && info->generation != *joined.options.if_match) {
    return model::Stale("changed since it was read first");
  }
  if (HasBody(response) && response.count < joined.bytes.size()) {
    return model::Corrupt("it was cut short while being read");
  }
  return info;
}

// Check() of an answer that may be an error. `version` is that of the same value in the answer
// before, if there was one.
model::Result<std::optional<ValueInfo>> InfoOf(const Bucket& bucket,
                                               const model::Result<HttpResponse>& response,
                                               const Joined& joined,
                                               const std::optional<Generation>& version) {
  if (!response) return model::Propagate(response.error());
  NDLFS_TRY(auto info, Check(bucket, *response, joined));
  if (info && version && *version != info->generation) {
    return model::Stale("changed since it was read first");
  }
  return info;
}

Answer Part(const Joined& joined, const ReadRequest& request, const ValueInfo& info) {
  const ByteRange range = request.options.Clip(info.size);
  if (range.length > request.limit) {
    return model::Limit("{} bytes, more than the limit of {}", range.length, request.limit);
  }
  if (range.length == 0) return Value{Bytes(), info};
  if (range.offset < joined.begin ||
      range.offset - joined.begin + range.length > joined.bytes.size()) {
    return model::Stale("changed while it was read");
  }
  return Value{
      Bytes::Copy(joined.bytes.span().subspan(range.offset - joined.begin, range.length)),
      info};
}

}  // namespace

ValueInfo ObjectInfo(std::string_view etag, uint64_t size, int64_t modified_ns) {
  // Headers tell no fractions of seconds, and lists do.
  const int64_t modified_s = modified_ns / 1'000'000'000;
  // Some lists leave the quotes out.
  std::string tag(etag);
  if (!tag.empty() && tag.find('"') == tag.npos) tag = '"' + tag + '"';
  if (!IsStrong(tag)) tag = fmt::format("{} bytes at {}", size, modified_s);
  return {Generation::OfTag(std::move(tag)), size, modified_s * 1'000'000'000};
}

model::Result<std::optional<ValueInfo>> ToInfo(const Bucket& bucket,
                                               const HttpResponse& response) {
  if (Bucket::IsMissingKey(response)) return std::nullopt;
  if (!HasBody(response)) return bucket.ToError(response);
  if (!response.total_size) return model::Corrupt("the server does not tell the size");
  return ObjectInfo(response.etag, *response.total_size, response.modified_ns);
}

BucketRequest HeadRequest(std::string key) {
  BucketRequest request;
  request.key = std::move(key);
  request.http.method = HttpMethod::kHead;
  return request;
}

model::Result<std::optional<ReadResult>> ReadObject(const Bucket& bucket,
                                                    const std::string& key,
                                                    const ReadOptions& options,
                                                    const Reserve& reserve) {
  if (!AsksForNothing(options)) {
    BucketRequest request = GetRequest(key, options);
    request.http.reserve = reserve;
    NDLFS_TRY(const HttpResponse response, bucket.Send(request));
    if (response.status != 416) {
      NDLFS_TRY(const auto info, ToInfo(bucket, response));
      if (!info) return std::nullopt;
      return ReadResult{response.count, *info};
    }
  }
  NDLFS_TRY(const HttpResponse response, bucket.Send(HeadRequest(key)));
  NDLFS_TRY(const auto info, ToInfo(bucket, response));
  if (!info) return std::nullopt;
  if (options.if_match && info->generation != *options.if_match) {
    return model::Stale("changed since it was read first");
  }
  NDLFS_TRY(const ByteSpan out, reserve(info->size));
  if (!out.empty()) return model::Stale("changed while it was read");
  return ReadResult{0, *info};
}

std::vector<model::Result<std::optional<Value>>> ReadObjects(
    const Bucket& bucket, std::span<const ReadRequest> requests) {
  std::vector<Joined> all = JoinAll(requests);
  std::vector<BucketRequest> batch;
  for (Joined& joined : all) batch.push_back(ReadInto(joined, requests[joined.first].key));
  auto responses = bucket.SendMany(batch);
  std::vector<Answer> answers;
  std::optional<Generation> version;  // of the key of the last answer
  for (size_t i = 0; i < all.size(); ++i) {
    const Joined& joined = all[i];
    const auto parts = requests.subspan(joined.first, joined.count);
    const bool same_key = i > 0 && requests[joined.first - 1].key == parts.front().key;
    if (!same_key) version.reset();
    if (responses[i] && responses[i]->status == 416) {  // begins after the end
      responses[i] = bucket.Send(HeadRequest(parts.front().key));
    }
    auto info = InfoOf(bucket, responses[i], joined, version);
    if (info && *info) version = (*info)->generation;
    for (const ReadRequest& request : parts) {
      if (!info) {
        answers.push_back(model::Propagate(info.error()));
      } else if (!*info) {
        answers.push_back(std::nullopt);
      } else {
        answers.push_back(Part(joined, request, **info));
      }
    }
  }
  return answers;
}

}  // namespace ndlfs::backends::s3
