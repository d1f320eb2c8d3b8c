// SPDX-License-Identifier: MIT
//
// The fields of headers that a reader knows. An unknown field may say where elements lie or
// what they are. A reader that passed over it might show wrong numbers, so such a field is an
// error.
#pragma once

#include <string_view>

#include "backends/format/foreign/header_text.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// One list for each format, of names between bars: "sizes|data file". In a name, '#' stands for
// a number, and a '*' at the end for anything. Names are the same if they differ only in the
// case of letters and in blanks.
struct KnownFields {
  // The fields that say where elements lie and what they are. The reader heeds all of them.
  std::string_view heeded;
  // Fields that only describe the data.
  std::string_view descriptive = {};
  // Whether a field of another name may concern the elements. Null: each may, because the
  // specification has a complete list of fields.
  bool (*may_matter)(std::string_view name) = nullptr;

  bool Heeds(std::string_view name) const;
  bool Knows(std::string_view name) const;
};

// kUnsupported for a field that `known` does not have, that may matter, and whose value says
// more than "none" or 0.
model::Result<void> CheckField(const KnownFields& known, std::string_view name,
                               std::string_view value);

// Checks the field and adds it. If several fields have the same name, the first one stays; it
// is kBadInput if the reader heeds the field and a later one has another value.
model::Result<void> AddField(const KnownFields& known, std::string_view name,
                             std::string_view value, HeaderFields& fields);

// KnownFields::may_matter for formats in whose headers anybody may put fields: whether the name
// has words that are used for the places and the encoding of elements.
bool SpeaksOfElements(std::string_view name);

}  // namespace ndlfs::backends::foreign
