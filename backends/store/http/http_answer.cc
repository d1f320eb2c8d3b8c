// SPDX-License-Identifier: MIT
#include "backends/store/http/http_answer.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/store/http/key_answer.h"

namespace ndlfs::backends {
namespace {

using model::Corrupt;
using Status = model::Result<void>;

// How much to read of the body of an error, which may give the reason.
constexpr uint64_t kMaxErrorText = 64 << 10;
// Reading on costs less than a new connection.
constexpr uint64_t kCheapRest = 256 << 10;

// The limit for an encoded value, which is read as a whole: as received, and as decoded.
constexpr uint64_t kMostGzip = 16 << 20;

Status BeyondGzip() {
  return model::Unsupported(
      "the server sends the content encoding gzip, which is decoded up to {} MiB",
      kMostGzip >> 20);
}

struct EndInflate {
  void operator()(z_stream* stream) const { ::inflateEnd(stream); }
};

// The bytes that one or several members of gzip make.
model::Result<std::string> InflateGzip(std::string_view encoded, uint64_t limit) {
  constexpr int kWindowOfGzip = 15 + 16;
  constexpr size_t kStep = 256 << 10;
  if (encoded.empty()) return std::string();
  z_stream stream = {};
  if (::inflateInit2(&stream, kWindowOfGzip) != Z_OK) return Corrupt("gzip: no memory");
  const std::unique_ptr<z_stream, EndInflate> owner(&stream);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(encoded.data()));
  stream.avail_in = static_cast<uInt>(encoded.size());
  std::string decoded;
  for (;;) {
    const size_t before = decoded.size();
    decoded.resize(before + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(decoded.data() + before);
    stream.avail_out = kStep;
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    decoded.resize(before + kStep - stream.avail_out);
    if (decoded.size() > limit) return model::Propagate(BeyondGzip().error());
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return decoded;
      if (::inflateReset(&stream) != Z_OK) return Corrupt("gzip: damaged");
      continue;
    }
    if (code != Z_OK) return Corrupt("the body is not gzip, as its Content-Encoding says");
  }
}

std::string ToText(const ByteRange& range) {
  return fmt::format("bytes {}-{}", range.offset, range.offset + range.length - 1);
}

}  // namespace

Status HttpAnswer::OnHead(int status, HttpHeaders headers) {
  response_.status = status;
  response_.headers = std::move(headers);
  response_.etag = response_.Find("etag");
  response_.modified_ns = ParseHttpDate(response_.Find("last-modified")).value_or(0);
  const std::string_view length = response_.Find("content-length");
  if (!length.empty()) {
    body_size_ = ParseDecimal(length);
    if (!body_size_) return Corrupt("Content-Length: {}", model::Quote(length));
  }
  ContentCoding coding = CodingOf(response_.headers);
  if (request_.keeps_gzip && coding == ContentCoding::kGzip) coding = ContentCoding::kNone;
  if (request_.method == HttpMethod::kHead) {
    // An encoded value has another size.
    if (coding == ContentCoding::kNone) response_.total_size = body_size_;
    to_ = To::kNowhere;
    return {};
  }
  if (status == 416) {
    const auto range = ParseContentRange(response_.Find("content-range"));
    if (range) response_.total_size = range->total_size;
  }
  if (!is_value() || request_.method != HttpMethod::kGet) return {};
  if (IsPage(request_, status, response_.headers)) {
    to_ = To::kNowhere;
    return {};
  }
  if (coding == ContentCoding::kOther) {
    return model::Unsupported(
        "the server sends the content encoding {}, which was not asked for",
        model::Quote(response_.Find("content-encoding")));
  }
  is_gzip_ = coding == ContentCoding::kGzip;
  if (is_gzip_ && status == 206 && !asks_for_all_) {
    needs_all_ = true;
    to_ = To::kNowhere;
    return {};
  }
  if (is_gzip_) std::swap(encoded_size_, body_size_);
  NDLFS_RETURN_IF_ERROR(status == 206 ? OnPart() : OnWhole());
  return ChooseTarget();
}

Status HttpAnswer::OnPart() {
  const std::string_view text = response_.Find("content-range");
  if (!request_.range || asks_for_all_) {
    return Corrupt("the server sends a part, and was asked for all");
  }
  const auto found = ParseContentRange(text);
  if (!found || !found->range) return Corrupt("Content-Range: {}", model::Quote(text));
  if (!found->total_size) return Corrupt("the server does not tell the size of the file");
  response_.total_size = found->total_size;
  wanted_ = ReadOptions{*request_.range, request_.from_end, {}}.Clip(*found->total_size);
  ByteRange asked = wanted_;
  if (request_.from_end) asked.length = *found->total_size - asked.offset;  // see RangeHeader()
  if (found->range->offset != asked.offset || found->range->length != asked.length) {
    return Corrupt("the server sends {} of {}, and was asked for {}", ToText(*found->range),
                   *found->total_size, ToText(asked));
  }
  if (body_size_ && *body_size_ != asked.length) {
    return Corrupt("{} bytes of body for a range of {}", *body_size_, asked.length);
  }
  body_begin_ = asked.offset;
  body_size_ = asked.length;
  return {};
}

Status HttpAnswer::OnWhole() {
  response_.total_size = body_size_;
  const ReadOptions options{request_.range.value_or(ByteRange()), request_.from_end, {}};
  wanted_ = body_size_ ? options.Clip(*body_size_) : ByteRange();
  if (!request_.range || !body_size_) return {};  // the usual limits hold
  const bool is_much = *body_size_ > max_unasked_ && wanted_.length < *body_size_ / 2;
  if (!is_much) return {};
  return model::Unsupported("the server ignores ranges: it sends all of {} bytes", *body_size_);
}

Status HttpAnswer::ChooseTarget() {
  if (!body_size_) return {};  // collected first
  if (request_.reserve) {
    to_ = To::kMemory;
    return {};
  }
  if (wanted_.length > request_.limit) {
    return model::Limit("{} bytes, more than the limit of {}", wanted_.length, request_.limit);
  }
  response_.body.resize(wanted_.length);
  SetMemory(std::as_writable_bytes(std::span(response_.body)));
  to_ = To::kMemory;
  return {};
}

void HttpAnswer::SetMemory(ByteSpan memory) {
  memory_ = memory.first(std::min<uint64_t>(memory.size(), wanted_.length));
  has_memory_ = true;
}

Status HttpAnswer::OnData(ConstByteSpan bytes) {
  const uint64_t at = body_begin_ + received_;
  if (body_size_ && bytes.size() > *body_size_ - std::min(received_, *body_size_)) {
    return Corrupt("the server sends more than the {} bytes that it announced", *body_size_);
  }
  received_ += bytes.size();
  if (to_ == To::kNowhere) return {};
  if (to_ == To::kText) {
    const bool is_error = !response_.is_success();
    const uint64_t limit = is_error ? kMaxErrorText : MostCollected();
    const uint64_t room = limit - std::min<uint64_t>(limit, response_.body.size());
    if (bytes.size() > room && !is_error) return BeyondCollected(limit);
    response_.body += AsText(bytes.first(std::min<uint64_t>(bytes.size(), room)));
    return {};
  }
  const uint64_t begin = std::max(at, wanted_.offset);
  const uint64_t end = std::min(at + bytes.size(), wanted_.offset + memory_.size());
  if (begin >= end) return {};
  std::memcpy(memory_.data() + (begin - wanted_.offset), bytes.data() + (begin - at),
              end - begin);
  return {};
}

bool HttpAnswer::can_stop() const {
  if (to_ == To::kText && !response_.is_success()) {
    return received_ > kMaxErrorText + kCheapRest;
  }
  if (to_ != To::kMemory || !has_memory_) return false;
  const uint64_t needed = wanted_.offset + memory_.size() - body_begin_;
  return received_ >= needed && *body_size_ - received_ > kCheapRest;
}

bool HttpAnswer::is_collected() const {
  return to_ == To::kText && is_value() && !body_size_ && request_.method == HttpMethod::kGet;
}

// A whole value where a part was asked for is taken only if it is small, as OnWhole() does.
uint64_t HttpAnswer::MostCollected() const {
  if (!is_collected()) return request_.limit;
  const ByteRange range = request_.range.value_or(ByteRange());
  const bool wants_all =
      !request_.from_end && range.offset == 0 && range.length == ByteRange::kToEnd;
  const uint64_t most = is_gzip_ ? kMostGzip : wants_all ? UINT64_MAX : max_unasked_;
  return request_.reserve ? std::min(most, std::max(request_.limit, max_unasked_))
                          : std::min(most, request_.limit);
}

Status HttpAnswer::BeyondCollected(uint64_t limit) const {
  if (is_collected() && is_gzip_ && limit == kMostGzip) return BeyondGzip();
  if (is_collected() && limit != request_.limit) {
    return model::Unsupported(
        "the server sends files as a whole, and does not tell their size");
  }
  return model::Limit("more than {} bytes", limit);
}

Status HttpAnswer::Decode() {
  if (encoded_size_ && received_ < *encoded_size_) {
    return Corrupt("{} bytes instead of {}", received_, *encoded_size_);
  }
  NDLFS_TRY(response_.body, InflateGzip(response_.body, kMostGzip));
  return {};
}

model::Result<bool> HttpAnswer::FinishesLate() {
  if (!is_collected()) return false;
  if (is_gzip_) NDLFS_RETURN_IF_ERROR(Decode());
  body_size_ = response_.total_size = response_.body.size();
  const ReadOptions options{request_.range.value_or(ByteRange()), request_.from_end, {}};
  wanted_ = options.Clip(response_.body.size());
  if (request_.reserve) {
    to_ = To::kMemory;
    return true;
  }
  if (request_.range) response_.body = response_.body.substr(wanted_.offset, wanted_.length);
  return false;
}

model::Result<HttpResponse> HttpAnswer::Finish() {
  if (to_ == To::kNowhere) return std::move(response_);
  if (!is_value() || to_ == To::kText) {
    if (body_size_ && !is_gzip_ && received_ < *body_size_ && response_.is_success()) {
      return Corrupt("{} bytes instead of {}", received_, *body_size_);
    }
    response_.count = response_.body.size();
    return std::move(response_);
  }
  const uint64_t needed = wanted_.offset + memory_.size() - body_begin_;
  const uint64_t available = is_gzip_ ? response_.body.size() : received_;
  if (available < needed || !has_memory_) {
    return Corrupt("{} bytes instead of {}", available, *body_size_);
  }
  if (!response_.body.empty() && request_.reserve) {  // collected
    const auto wanted = AsBytes(response_.body).subspan(wanted_.offset, memory_.size());
    std::copy(wanted.begin(), wanted.end(), memory_.begin());
    response_.body.clear();
  }
  response_.count = memory_.size();
  return std::move(response_);
}

}  // namespace ndlfs::backends
