// SPDX-License-Identifier: MIT
//
// What ndlfs knows of one format of stores: how to recognize them in a source,
// and how to open them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/format/hierarchy.h"
#include "backends/store/source.h"
#include "backends/store/store.h"
#include "model/error.h"

namespace ndlfs::backends {

// Immutable; safe to call concurrently. backends/detection.h says in which order
// the formats are asked.
class Format {
 public:
  virtual ~Format() = default;

  // As `ndlfs --version` lists it: "Zarr".
  virtual std::string_view name() const = 0;

  // Names of files of which every store of this format that is a directory has one at
  // its top. `suffice`: a directory that has one is such a store.
  struct DirectoryMarkers {
    std::span<const std::string_view> names = {};
    bool suffice = false;
  };
  virtual DirectoryMarkers directory_markers() const { return {}; }
  // Whether the directory at `path`, which has a marker that does not suffice, is the top of a
  // store of this format. Costs a short document at most. An error of the system where nobody
  // can tell at this moment.
  virtual model::Result<bool> ProbeDirectory(const Source&, std::string_view /*path*/) const {
    return false;
  }

  // Whether a file that begins with `head` (1 KiB; all of it if shorter) is
  // one, whatever its name is.
  virtual bool ProbeContent(ConstByteSpan /*head*/) const { return false; }

  // Whether a file of this name could be one, from the name alone.
  virtual bool MatchesFileName(std::string_view /*name*/) const { return false; }
  // Whether a file of this name, for which MatchesFileName() is true, is one if it
  // begins with `head`, or should be one by its name without doubt (.npy, .nc, .h5),
  // so that opening it says what is wrong.
  virtual bool ProbeFile(std::string_view /*name*/, ConstByteSpan /*head*/) const {
    return false;
  }

  // For formats within another one (ZIP, YAML): whether a file called `name` is
  // one after all, by more of its contents. `file` has it as the value "". Asked
  // only where ProbeContent() or ProbeFile() is true. A transient error where nobody
  // can tell at this moment.
  virtual model::Result<bool> ConfirmFile(std::string_view /*name*/,
                                          const Store& /*file*/) const {
    return true;
  }
  // For files that describe a store of the same name beside them: paths of the
  // stores, any of which makes the file at `path` none of its own.
  virtual std::vector<std::string> StoresDescribedBy(std::string_view /*path*/) const {
    return {};
  }

  // Whether a store of this format is a description, which may name files around its folder
  // ("../grid.zarr"): a command that is given one opens it in a source that has these.
  virtual bool describes_others() const { return false; }
  // Whether a file that describes others says where its data are. Then it is a store, also
  // beside one of StoresDescribedBy(). An error where the file cannot be read at this moment.
  virtual model::Result<bool> SaysWhereDataAre(const Store& /*file*/) const { return false; }

  // Whether its stores have versions, of which OpenOptions::ref names one.
  virtual bool has_versions() const { return false; }

  // Opens the store at `path`, reading no chunk. The error says what is wrong
  // with it.
  virtual model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const = 0;
};

}  // namespace ndlfs::backends
