// SPDX-License-Identifier: MIT
//
// A View presents one object of a store as a file. A new view is one source
// file with a factory, and one line in view.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backends/base/bytes.h"
#include "backends/format/hierarchy.h"
#include "cache/array_reader.h"
#include "cache/prefetcher.h"
#include "model/error.h"

namespace ndlfs::fs {

// The contents of one file. Immutable as seen from outside, and thread-safe.
class View {
 public:
  virtual ~View() = default;
  // Exact, and known without reading a chunk; nullopt where only FindSize() can
  // tell, and has not been asked yet.
  virtual std::optional<uint64_t> size() const = 0;
  // The size, found by decoding all of the array if it is not known: takes as
  // long as that does. Callers that come at the same time share the work, and
  // what was found stays known.
  virtual model::Result<uint64_t> FindSize() const { return *size(); }
  // How much FindSize() has to decode, as far as can be told before: bytes.
  virtual uint64_t scan_bytes() const { return 0; }
  // Why there is no such file, although the array could be shown so: too much
  // would have to be decoded for its size. Reading it from its beginning on
  // works all the same. nullopt where there is one, as far as is known.
  virtual std::optional<model::Error> refusal() const { return std::nullopt; }
  // Memory that this view has taken since it was made.
  virtual uint64_t held_bytes() const { return 0; }
  // Fills `out` from `offset`; fewer bytes only at the end of the file.
  virtual model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const = 0;
  // This view for one open file, which may prepare what its reader is going to
  // want next; null where the view itself does as well.
  virtual std::shared_ptr<const View> ForReader(cache::Prefetcher&) const { return nullptr; }
};

// What may be decoded to find out how large a file is.
struct ScanLimits {
  uint64_t max_bytes = uint64_t{1} << 30;  // of elements
  unsigned threads = 1;
};

// An array's data as views see them.
struct ViewInput {
  std::shared_ptr<const backends::Node> node;  // an array with a source
  std::shared_ptr<const cache::ArrayReader> reader;
  ScanLimits scan = {};
};

// One kind of view: "data.npy".
class ViewKind {
 public:
  virtual ~ViewKind() = default;
  virtual std::string_view file_name() const = 0;
  // Whether an array of this type and shape has the view.
  virtual bool AppliesTo(const backends::ArraySpec& spec) const = 0;
  // Whether a listing shows it; others can be opened by their name.
  virtual bool IsListed(const backends::ArraySpec& /*spec*/) const { return true; }
  virtual model::Result<std::shared_ptr<const View>> Make(const ViewInput& input) const = 0;
};

// The one list of views, in the order in which they are listed.
std::span<const ViewKind* const> ViewKinds();
const ViewKind* FindViewKind(std::string_view file_name);

// Bytes in memory as a view.
std::shared_ptr<const View> MakeTextView(std::string text);

}  // namespace ndlfs::fs
