// SPDX-License-Identifier: MIT
//
// The XML documents in which S3, and stores that speak its protocol, answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::backends::object {

// An object, as a list tells about it.
struct ListedKey {
  std::string key;
  uint64_t size = 0;         // bytes
  std::string etag;          // with its quotes, as in the header
  int64_t modified_ns = 0;   // since 1970; 0: not told
  std::string version = {};  // a number that tells versions apart (Google); empty: not told
};

// One page of an answer to ListObjectsV2.
struct KeyPage {
  std::vector<ListedKey> objects;     // in the order of the answer
  std::vector<std::string> prefixes;  // each with the delimiter at its end
  std::string next_token;             // empty: this is the last page
};

// Errors are kBadInput: the answer is no list, contradicts itself, or has a name that does not
// begin with `prefix`.
model::Result<KeyPage> ParseListPage(std::string_view document, std::string_view prefix);

// The body of an answer with an error status. Fields that it lacks are empty.
struct ErrorAnswer {
  std::string code;           // "NoSuchKey"
  std::string message;        // for people; not quoted yet
  std::string region;         // where the bucket is, if the request went to another region
  int64_t server_time_s = 0;  // with RequestTimeTooSkewed: since 1970; 0: not told
};

// nullopt if the body is no error document.
std::optional<ErrorAnswer> ParseErrorAnswer(std::string_view document);

// "2013-05-24T10:20:30.000Z" in nanoseconds since 1970; nullopt for other texts.
std::optional<int64_t> ParseUtcTime(std::string_view text);

}  // namespace ndlfs::backends::object
