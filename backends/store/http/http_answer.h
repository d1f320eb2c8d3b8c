// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "backends/base/bytes.h"
#include "backends/store/http/http_message.h"
#include "model/error.h"

namespace ndlfs::backends {

// Takes in one answer: checks it against its request, and puts its bytes in place. For one
// thread at a time.
class HttpAnswer {
 public:
  // `request` must outlive the object. See HttpOptions::max_unasked. `asks_for_all`: the
  // request was sent without its range.
  HttpAnswer(const HttpRequest& request, uint64_t max_unasked, bool asks_for_all = false)
      : request_(request), max_unasked_(max_unasked), asks_for_all_(asks_for_all) {}

  // Fails if this cannot be an answer to the request.
  model::Result<void> OnHead(int status, HttpHeaders headers);

  // Whether SetMemory() has to be called before the next OnData(), or before Finish().
  bool needs_memory() const { return to_ == To::kMemory && !has_memory_; }
  // The size of the whole value, known if memory is needed.
  uint64_t total_size() const { return response_.total_size.value_or(0); }
  void SetMemory(ByteSpan memory);

  // Whether the body is not needed, because the head tells everything.
  bool needs_no_body() const { return to_ == To::kNowhere; }
  // Whether the answer is a part of an encoded value that can only be decoded as a whole: the
  // request has to be sent again, without its range.
  bool needs_all() const { return needs_all_; }

  model::Result<void> OnData(ConstByteSpan bytes);

  // Whether all wanted bytes are there, and so many others would follow that it is worthwhile
  // to end the exchange.
  bool can_stop() const;

  // The answer has ended. True if the bytes of a value of unknown size were collected, and
  // memory is needed now. An error if they cannot be decoded.
  model::Result<bool> FinishesLate();

  // The whole answer; kCorrupt if bytes are missing.
  model::Result<HttpResponse> Finish();

  int status() const { return response_.status; }
  const HttpResponse& response() const { return response_; }
  uint64_t received() const { return received_; }

 private:
  enum class To : uint8_t { kText, kMemory, kNowhere };

  model::Result<void> OnPart();
  model::Result<void> OnWhole();
  model::Result<void> ChooseTarget();
  // Whether the bytes of a value are kept until its size is known.
  bool is_collected() const;
  model::Result<void> Decode();
  model::Result<void> BeyondCollected(uint64_t limit) const;
  // The most bytes of a body that is collected.
  uint64_t MostCollected() const;
  bool is_value() const { return response_.status == 200 || response_.status == 206; }

  const HttpRequest& request_;
  const uint64_t max_unasked_;
  const bool asks_for_all_;
  HttpResponse response_;
  bool needs_all_ = false;
  bool is_gzip_ = false;
  To to_ = To::kText;
  bool has_memory_ = false;
  ByteSpan memory_;
  ByteRange wanted_;                   // of the value; length kToEnd if its size is unknown
  uint64_t body_begin_ = 0;            // where the body begins in the value
  std::optional<uint64_t> body_size_;  // as announced; not of an encoded body
  std::optional<uint64_t> encoded_size_;
  uint64_t received_ = 0;
};

}  // namespace ndlfs::backends
