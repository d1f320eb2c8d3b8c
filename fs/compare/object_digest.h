// SPDX-License-Identifier: MIT
//
// Digests of everything but elements: attributes, and groups as trees. ndlfs-digest(5) defines
// them.
#pragma once

#include <string>
#include <vector>

#include "backends/format/hierarchy.h"
#include "fs/compare/sha256.h"
#include "model/entities.h"

namespace ndlfs::fs {

// The digest of the attributes of an array or a group, and of the names of dimensions of an
// array.
Sha256Digest DigestOfAttributes(const backends::Node& node);

// An object in a group, or a link.
struct DigestedMember {
  enum class Kind : uint8_t { kArray, kGroup, kLink };
  std::string name;
  Kind kind = Kind::kArray;
  Sha256Digest digest = {};      // of the elements of an array, or of a group
  Sha256Digest attributes = {};  // kArray
  std::string target = {};       // kLink
};

// The digest of a group with the digest of its own attributes, and its members in any order.
Sha256Digest DigestOfGroup(const Sha256Digest& attributes, std::vector<DigestedMember> members);

// The form in which values of attributes are compared: the same for every format.
// ndlfs-digest(5) defines it.

// The value of an attribute as compact JSON. A list of one item counts as this item; the widths
// of numbers do not count.
std::string CanonicalValue(const model::Attribute& attribute);

// The name of each dimension of an array, "" for one without; empty if none has a name.
std::vector<std::string> DimensionNames(const model::Ndarray& array);

}  // namespace ndlfs::fs
