// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "backends/store/http/object_service.h"
#include "backends/store/object/xml_answers.h"
#include "model/error.h"

namespace ndlfs::backends::object {

// The facts about a listed object; nullopt if a list tells other facts than a read would.
using ListedInfo = std::function<std::optional<ValueInfo>(const ListedKey& listed)>;

// Makes a page of names out of the answer. Leaves out names that no file can have ("", ".",
// "..", or with a NUL), and objects that stand for folders themselves ("folder/"). A prefix is
// a directory, even if there is an object of the same name. No name is on two pages: pages come
// in the order of keys ("a-b/" before "a/"), or in that of names ("a" before "a-b", as Azure
// lists hierarchical namespaces). Fails if a page goes back in both orders: to leave out names
// that come twice, ndlfs would then have to remember all of them.
model::Result<ListPage> ToNamePage(KeyPage list, std::string_view folder,
                                   const PageStart& start, const ListedInfo& info_of);

// The facts about an object with these headers. Its generation is the ETag if there is a strong
// one, else its size and time.
ValueInfo ObjectInfo(std::string_view etag, uint64_t size, int64_t modified_ns);

// ObjectInfo() of an object that a list shows.
inline std::optional<ValueInfo> InfoByTag(const ListedKey& listed) {
  return ObjectInfo(listed.etag, listed.size, listed.modified_ns);
}

// The query with which a bucket of S3 lists the names directly below `folder`, which is empty
// or ends in '/', from `start` on; percent-encoded.
std::string ListQuery(std::string_view folder, const PageStart& start, unsigned most_names);

}  // namespace ndlfs::backends::object
