// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/store/source.h"
#include "model/error.h"
#include "model/mutex.h"
#include "model/value_source.h"

namespace ndlfs::backends::ndl {

// The name of the file at `location`, a name or a URI of the scheme "file". Fails for other
// URIs.
model::Result<std::string> FileOfLocation(std::string_view location);

// Fails if `node`, called `label` in messages, is no array, or has no data.
model::Result<void> RequireData(const Node& node, std::string_view label);

// The files and stores that the document at `document_path` names. Names are relative to the
// folder of the document, and must not lead out of the source. Keeps the stores that were
// opened last. Thread-safe.
class PartStores {
 public:
  // Fails with kLimit or kBadInput if options.referrers has too many documents, or this
  // document, or if options.documents are used up.
  static model::Result<std::shared_ptr<const PartStores>> Make(
      std::shared_ptr<const Source> source, std::string document_path, OpenOptions options);

  const std::shared_ptr<const Source>& source() const { return source_; }
  const OpenOptions& options() const { return options_; }
  // Tells how many stores the document refers to; each of them may open its share of the
  // documents.
  void NoteParts(uint64_t count) const { parts_ = std::max<uint64_t>(count, 1); }

  // The path of `name` in the source.
  model::Result<std::string> Resolve(std::string_view name) const;
  // The paths of all files of a set. A glob looks into folders, and must find a file. The files
  // of other sets need not exist.
  model::Result<std::vector<std::string>> Expand(const model::FileSet& files) const;

  // The store at a path of the source.
  model::Result<std::shared_ptr<const Hierarchy>> Open(const std::string& path) const;
  // The object `name` of that store. Errors name the store.
  model::Result<std::shared_ptr<const Node>> Load(const std::string& path,
                                                  std::string_view name) const;
  // The same, if it is an array with data. Errors name the array, too.
  model::Result<std::shared_ptr<const Node>> LoadArray(const std::string& path,
                                                       std::string_view name) const;
  // "1992/001.nc", for messages.
  std::string Describe(std::string_view path) const { return source_->Describe(path); }
  // "1992/001.nc: /sst"
  std::string Describe(std::string_view path, std::string_view name) const;

 private:
  using HierarchyPtr = std::shared_ptr<const Hierarchy>;
  PartStores(std::shared_ptr<const Source> source, std::string document_path,
             OpenOptions options);
  void Close(const std::string& path) const EXCLUDES(mutex_);

  const std::shared_ptr<const Source> source_;
  const std::string document_path_;
  OpenOptions options_;
  mutable std::atomic<uint64_t> parts_{1};
  mutable model::Mutex mutex_;
  mutable std::list<std::pair<std::string, HierarchyPtr>> open_ GUARDED_BY(mutex_);
};

}  // namespace ndlfs::backends::ndl
