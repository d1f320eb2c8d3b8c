// SPDX-License-Identifier: MIT
//
// The links of groups, of both kinds: symbol tables, and messages (HDF5 File Format
// Specification, IV.A.2.c, g and r).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/format/hdf5/metadata.h"

namespace ndlfs::backends::hdf5 {

struct LinkEntry {
  enum class Kind : uint8_t {
    kHard,
    kSoft,      // to `target`
    kExternal,  // to `target` in `target_file`
    kOther,     // of a kind that only its writer knows
  };
  std::string name;
  Kind kind = Kind::kHard;
  uint64_t address = kNowhere;  // kHard: of the object
  std::string target;
  std::string target_file;
};

// Whether a link may have the name: paths must be able to name it.
bool IsLinkName(std::string_view name);
// Whether the object is a group.
bool IsGroup(const ObjectHeader& header);
// Whether the group keeps the order in which its links were made.
bool TracksLinkOrder(const ObjectHeader& header);

// Calls `visit` with each link of a group, in no order, until it returns false.
using VisitLink = std::function<bool(LinkEntry link)>;
model::Result<void> ForEachLink(const Metadata& file, const ObjectHeader& group,
                                const VisitLink& visit);
model::Result<std::vector<LinkEntry>> ListLinks(const Metadata& file,
                                                const ObjectHeader& group);
// Reads only the way to the link.
model::Result<std::optional<LinkEntry>> FindLink(const Metadata& file,
                                                 const ObjectHeader& group,
                                                 std::string_view name);

}  // namespace ndlfs::backends::hdf5
