// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/error.h"

namespace ndlfs::backends::icechunk {

// Which version of a repository is meant.
struct Ref {
  enum class Kind : uint8_t { kBranch, kTag, kSnapshot, kAt };
  Kind kind = Kind::kBranch;
  std::string name = "main";  // of the branch or tag; the id of the snapshot
  // kAt: the last snapshot that is no younger, in the history of another ref.
  int64_t at_us = 0;
  Kind history_kind = Kind::kBranch;  // not kAt
  std::string history_name = "main";

  Ref history() const { return {history_kind, history_name}; }
  // Always leads to the same snapshot.
  bool is_fixed() const { return kind == Kind::kSnapshot; }
  std::string ToText() const;    // "tag v1"
  std::string ToOption() const;  // "tag=v1"; ParseRef() makes the same Ref of it
};

// "branch=NAME", "tag=NAME", "snapshot=ID" or "at=TIME"; "" is the branch main. TIME is
// 2026-05-01, 2026-05-01T12:30 or 2026-05-01T12:30:15, with a fraction and a Z or without; it
// is UTC. A date alone is the end of that day. "at=TIME,tag=NAME" is in the history of that tag
// instead of that of the branch main; so with branch= and snapshot=.
model::Result<Ref> ParseRef(std::string_view text);

// A time as log.txt has it, in microseconds since 1970: "2026-05-01T12:30:15.000000Z".
std::string TimeText(uint64_t time_us);

}  // namespace ndlfs::backends::icechunk
