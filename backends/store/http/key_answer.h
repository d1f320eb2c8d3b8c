// SPDX-License-Identifier: MIT
//
// The meaning of an answer to a request for one key: whether there is a value, and its size,
// version and encoding. All code that reads from servers asks here, and nowhere else.
//
// Answer                             Meaning
//
// 200, 206                           Present. The size is in Content-Range, else in
//                                    Content-Length, else that of the body.
// 200 to HEAD without a length,      Present. A GET tells the size.
// with 0, or encoded
// 400, 403, 405, 501 to HEAD         Nothing: a GET tells. Buckets: 405 and 501 alone.
// 200, 206: a page of HTML [1]       A page. Absent for a metadata document, and if the list
//                                    of the directory lacks the name. Else an error.
// 301, 302, 307, 308 to PATH/        A directory: there is no such file.
// 304 to If-None-Match               The version that was read before.
// 404, 410                           Absent. Buckets: an error if the bucket is missing. For a
//                                    generation at Google: another version, and so is 403.
// 403 [2]                            Refused. Absent if the list of the directory lacks the
//                                    name, or if the server refuses absent files [3].
//                                    Else EACCES.
// 401                                EACCES.
// 412                                Another version: ESTALE. If a look tells the same version,
//                                    nothing: reads name no version from then on.
// 416 with "bytes */N"               Present, of N bytes, none of them in the range.
// 408, 429, 500, 502, 503, 504       Sent again, then an error.
// Any other                          An error.
//
// [1] If the name does not end in .html, .htm or .xhtml.
// [2] Buckets: with the code AccessDenied, or none (object/bucket.cc); Azure: ResourceNotFound.
// [3] Buckets that may not be listed do: a metadata document of the store can be read now, and
//     a name next to it which no file has is refused, too.
//
// Content-Encoding                   Meaning
//
// None, identity, aws-chunked        The bytes as they are.
// gzip, x-gzip                       Decoded as a whole, up to 16 MiB. Buckets: of a metadata
//                                    document alone; others are as stored, and so is their size
//                                    in lists.
// Any other                          An error.
//
// Validators                         Version                       Kept on disk
//
// A strong ETag                      ETag (Google: generation)     unless young
// An ETag without quotes             ETag, compared after reads    unless young
// A weak ETag                        ETag and Last-Modified        if there is a Last-Modified
//                                                                  that is not young
// None, or an empty ETag             Last-Modified and size        the same
//
// If Last-Modified becomes later under the same ETag, it counts from then on.
// Young is a Last-Modified less than three seconds before Date (and Age), by which the server
// tells its own clock; without Date, less than a day before the clock of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/store/http/http_message.h"
#include "backends/store/store.h"

namespace ndlfs::backends {

enum class KeyState : uint8_t {
  kPresent,
  kAbsent,
  kRefused,    // 403: absent, or forbidden
  kForbidden,  // 401
  kPage,       // a page for people, in place of the value
  kDirectory,  // a redirect to a directory of this name
  kOtherVersion,
  kOutOfRange,  // present, but without any of the wanted bytes
  kUntold,      // a GET has to tell, because this answer to a HEAD does not
  kFailed,
};

// `response` answers `request`, which is for a key of a plain HTTP server.
KeyState StateOf(const HttpRequest& request, const HttpResponse& response);

enum class ContentCoding : uint8_t { kNone, kGzip, kOther };
ContentCoding CodingOf(const HttpHeaders& headers);

// Whether an answer with these headers to `request` is a page for people. Sites send one with
// status 200 in place of a file that they do not have.
bool IsPage(const HttpRequest& request, int status, const HttpHeaders& headers);

// The facts about the value of a successful answer, by the table above.
ValueInfo InfoOfAnswer(const HttpResponse& response);

// Whether values with this time (0: unknown) are not young, by the clock of the server.
bool IsSettled(const HttpResponse& response, int64_t modified_ns);

// Whether If-Match can name the tag: it is a strong ETag.
bool IsStrongTag(std::string_view tag);

// When the server made the answer, by its own clock; nullopt if it does not tell.
std::optional<int64_t> ServerClockNs(const HttpResponse& response);

}  // namespace ndlfs::backends
