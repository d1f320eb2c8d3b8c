// SPDX-License-Identifier: MIT
#include "backends/store/http/http_answer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ndlfs::backends {
namespace {

using model::Corrupt;
using Status = model::Result<void>;

// Of an answer that is no success, and may say why in its body.
constexpr uint64_t kMaxErrorText = 64 << 10;
// Reading on costs less than a new connection.
constexpr uint64_t kCheapRest = 256 << 10;

// RFC 9110, 8.4: other codings change the bytes.
bool IsEncoded(const HttpHeaders& headers) {
  const std::string_view coding = FindHeader(headers, "content-encoding");
  return !coding.empty() && coding != "identity";
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
  if (request_.method == HttpMethod::kHead) {
    // An encoded value has another size.
    if (!IsEncoded(response_.headers)) response_.total_size = body_size_;
    to_ = To::kNowhere;
    return {};
  }
  if (status == 416) {
    const auto range = ParseContentRange(response_.Find("content-range"));
    if (range) response_.total_size = range->total_size;
  }
  if (!is_value() || request_.method != HttpMethod::kGet) return {};
  if (IsEncoded(response_.headers)) {
    return model::Unsupported(
        "the server sends the content encoding {}, which was not asked for",
        model::Quote(response_.Find("content-encoding")));
  }
  NDLFS_RETURN_IF_ERROR(status == 206 ? OnPart() : OnWhole());
  return ChooseTarget();
}

Status HttpAnswer::OnPart() {
  const std::string_view text = response_.Find("content-range");
  if (!request_.range) return Corrupt("the server sends a part, and was asked for all");
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
  if (!request_.range) return {};
  if (!body_size_) {
    if (options.range.offset == 0 && options.range.length == ByteRange::kToEnd) return {};
    return model::Unsupported(
        "the server sends files as a whole, and does not tell their size");
  }
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
    const uint64_t limit = is_error ? kMaxErrorText : request_.limit;
    const uint64_t room = limit - std::min<uint64_t>(limit, response_.body.size());
    if (bytes.size() > room && !is_error) return model::Limit("more than {} bytes", limit);
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

bool HttpAnswer::FinishesLate() {
  const bool is_late = to_ == To::kText && is_value() && !body_size_ && request_.reserve &&
                       request_.method == HttpMethod::kGet;
  if (!is_late) return false;
  body_size_ = response_.total_size = received_;
  wanted_ =
      ReadOptions{request_.range.value_or(ByteRange()), request_.from_end, {}}.Clip(received_);
  to_ = To::kMemory;
  return true;
}

model::Result<HttpResponse> HttpAnswer::Finish() {
  if (request_.method == HttpMethod::kHead || !is_value() || to_ == To::kText) {
    if (body_size_ && received_ < *body_size_ && request_.method != HttpMethod::kHead &&
        response_.is_success()) {
      return Corrupt("{} bytes instead of {}", received_, *body_size_);
    }
    if (is_value() && !body_size_) response_.total_size = received_;
    response_.count = response_.body.size();
    return std::move(response_);
  }
  const uint64_t needed = wanted_.offset + memory_.size() - body_begin_;
  if (received_ < needed || !has_memory_) {
    return Corrupt("{} bytes instead of {}", received_, *body_size_);
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
