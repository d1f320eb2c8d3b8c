// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "backends/codec/grib/message.h"
#include "backends/format/grib/field_header.h"
#include "backends/format/grib/product.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends::grib {

// A field of a file, as its headers describe it.
struct IndexedField {
  uint64_t offset = 0, size = 0;  // of the message, in bytes
  uint32_t field = 0;             // of the message
  uint32_t grid = 0;              // of MessageIndex::grids
  bool is_wide = false;           // float32 would lose digits
  bool is_known = true;           // the packing can be decoded
  Product product;
  // If a sidecar alone says all this: what the header should say, to be compared before the
  // field is read. Null: the header was read.
  std::shared_ptr<const FieldHeader> expected;
};

struct IndexedGrid {
  std::shared_ptr<const GribGrid> grid;  // null: only numbered
  uint64_t points = 0;
};

struct MessageIndex {
  std::deque<IndexedField> fields;  // in the order of the file
  std::vector<IndexedGrid> grids;   // those with other octets
  // What could not be read, each with its place in the file.
  std::vector<std::string> problems;
  // The edition and the centre of the first message, and whether all messages have the same.
  uint8_t edition = 2;
  uint16_t centre = 0, subcentre = 0;
  bool is_one_edition = true, is_one_centre = true;
};

struct IndexHints {
  // Where messages begin, as a sidecar says (sidecar.h). If each read is a request, their
  // headers are read together. Wrong places only cost time.
  std::vector<uint64_t> offsets;
};

// Reads the headers of all messages of `store`, whose only value is a file. Skips what is
// between messages. A message that is broken becomes a problem, and the others stay. Fails if
// the file cannot be read, or if there is no message that can.
model::Result<MessageIndex> IndexMessages(const Store& store, const IndexHints& hints);

}  // namespace ndlfs::backends::grib
