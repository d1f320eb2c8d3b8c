// SPDX-License-Identifier: MIT
//
// The interface to one format of stores: how to recognize them in a source, and how to open
// them.
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

// Immutable; safe to call concurrently. backends/detection.h says in which order the formats
// are asked.
class Format {
 public:
  virtual ~Format() = default;

  // As `ndlfs --version` lists it: "Zarr".
  virtual std::string_view name() const = 0;

  // Names of files. Every directory that is a store of this format has one of them at its top.
  // `suffice`: a directory that has one is such a store. `of_others`: a directory that has a
  // file of such a name is none.
  struct DirectoryMarkers {
    std::span<const std::string_view> names = {};
    bool suffice = false;
    std::span<const std::string_view> of_others = {};
  };
  virtual DirectoryMarkers directory_markers() const { return {}; }
  // Whether the directory at `path`, which has a marker that does not suffice, is the top of a
  // store of this format. Costs a short document at most. An error of the system if this cannot
  // be found out at this moment.
  virtual model::Result<bool> ProbeDirectory(const Source&, std::string_view /*path*/) const {
    return false;
  }

  // Whether a file that begins with `head` (1 KiB; all of it if shorter) is such a store,
  // whatever its name is.
  virtual bool ProbeContent(ConstByteSpan /*head*/) const { return false; }

  // Whether a file of this name could be such a store, by the name alone.
  virtual bool MatchesFileName(std::string_view /*name*/) const { return false; }
  // Whether a file is such a store, if MatchesFileName() is true for its name, and it begins
  // with `head`. Also true if the name alone leaves no doubt (.npy, .nc, .h5); opening the file
  // then tells what is wrong with it.
  virtual bool ProbeFile(std::string_view /*name*/, ConstByteSpan /*head*/) const {
    return false;
  }

  // For formats within another format (ZIP, YAML): reads more of the file called `name` to find
  // out whether it really is such a store. `file` has it as the value "". Called only after
  // ProbeContent() or ProbeFile() is true. A transient error if this cannot be found out at
  // this moment.
  virtual model::Result<bool> ConfirmFile(std::string_view /*name*/,
                                          const Store& /*file*/) const {
    return true;
  }
  // For files that describe a store of the same name next to them: paths where that store would
  // be. If there is a store at one of them, the file at `path` is no store itself. `file` has
  // it as the value "".
  virtual std::vector<std::string> StoresDescribedBy(std::string_view /*path*/,
                                                     const Store& /*file*/) const {
    return {};
  }

  // Whether a store of this format is a description, which may name files around its folder
  // ("../grid.zarr"). A command opens such a store in a source that includes these.
  virtual bool describes_others() const { return false; }
  // Whether a file that describes others says where its data are. Then it is a store even if
  // one of StoresDescribedBy() is there. An error if the file cannot be read at this moment.
  virtual model::Result<bool> SaysWhereDataAre(const Store& /*file*/) const { return false; }

  // Whether its stores have versions; OpenOptions::ref then names the one to open.
  virtual bool has_versions() const { return false; }

  // Opens the store at `path`, reading no chunk. The error says what is wrong
  // with it.
  virtual model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const = 0;
};

}  // namespace ndlfs::backends
