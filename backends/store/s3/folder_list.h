// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/store/s3/answers.h"
#include "backends/store/s3/bucket.h"
#include "backends/store/source.h"
#include "model/error.h"

namespace ndlfs::backends::s3 {

// The most names that a server gives in one page.
inline constexpr unsigned kPageNames = 1000;

// A name directly below a prefix.
struct ListedName {
  std::string name;
  // kDirectory for a prefix, also if there is an object of the same name; kUnknown if
  // it depends on the next page whether there is a prefix, too.
  FileKind kind = FileKind::kFile;
  // Of an object.
  uint64_t size = 0;
  std::string etag;
  int64_t modified_ns = 0;
};

// Where a page of a list begins, and what is known from those before it.
struct PageStart {
  std::string token;     // empty: at the beginning
  std::string last_key;  // the last one of the page before
  // Names of objects on pages before whose prefixes of the same name may come yet.
  std::vector<std::string> open_names;
};

struct NamePage {
  std::vector<ListedName> names;  // sorted, each once
  std::optional<PageStart> next;  // none: this is the last page
};

// One page of the names below `folder`, which is empty or ends in '/'. Names that cannot be
// those of files ("", ".", "..", or with a NUL) are left out; so are the objects that stand for
// folders themselves ("folder/"). No name is on two pages: a server that goes back in the order
// is an error, which bounds the memory for a list of any length.
model::Result<NamePage> ReadNamePage(const Bucket& bucket, const std::string& folder,
                                     const PageStart& start, unsigned most_names = kPageNames);

// Makes that page out of the answer to the request.
model::Result<NamePage> ToNamePage(ListPage list, std::string_view folder,
                                   const PageStart& start);

// The request whose answer tells whether any key begins with `prefix`.
BucketRequest ProbePrefix(const std::string& prefix);

}  // namespace ndlfs::backends::s3
