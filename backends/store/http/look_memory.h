// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
#include "backends/store/answers.h"
#include "backends/store/http/object_service.h"
#include "backends/store/store.h"
#include "model/bounded_map.h"
#include "model/mutex.h"
#include "model/string_hash.h"

namespace ndlfs::backends {

// The result of one look at a path.
struct Look {
  enum class Kind : uint8_t { kAbsent, kFile, kDirectory } kind = Kind::kAbsent;
  ValueInfo info = {};  // of a file
};

// All names in a directory.
struct DirectoryNames {
  bool is_listed = false;             // otherwise the server has no listing
  std::vector<ListedObject> objects;  // sorted by name, each once
};
using DirectoryNamesPtr = std::shared_ptr<const DirectoryNames>;

// A small file with metadata, as a whole.
struct RemoteDocument {
  std::shared_ptr<const Bytes> bytes;
  ValueInfo info;
};

// Remembers the answers of a server about paths and directories for some time, in bounded
// memory. Thread-safe.
class LookMemory {
 public:
  // `lists_are_complete`: as ObjectService::lists_are_complete().
  LookMemory(Trust trust, bool lists_are_complete);

  std::chrono::steady_clock::time_point Now() const { return looks_.trust().clock(); }
  bool remembers() const { return looks_.trust().keeps_answers(); }
  bool trusts_for_ever() const { return !looks_.trust().lifetime; }

  // The look at the path, if it was looked at or its directory was listed.
  std::optional<Look> Find(std::string_view path) const;
  // Remembers a look that the server was asked for at `when`.
  void Note(const std::string& path, const Look& look, Trust::Time when) {
    looks_.Put(path, look, when);
  }
  // The look at the path itself.
  std::optional<Look> FindOwn(std::string_view path) const { return FindIn(looks_, path); }

  // The same of the file at the path alone, which a directory of its name may hide.
  std::optional<Look> FindFile(std::string_view path) const;
  void NoteFile(const std::string& path, const Look& look, Trust::Time when) {
    (lists_are_complete_ ? files_ : looks_).Put(path, look, when);
  }

  // The names in the directory; null if they are not known.
  DirectoryNamesPtr FindNames(std::string_view path) const;
  // Remembers names that the server was asked for at `when`.
  void NoteNames(const std::string& path, DirectoryNames names, Trust::Time when);

  // Documents are kept with their version, for any time.
  std::optional<RemoteDocument> FindDocument(std::string_view path) const EXCLUDES(mutex_);
  void NoteDocument(const std::string& path, RemoteDocument document) EXCLUDES(mutex_);
  void ForgetDocument(const std::string& path) EXCLUDES(mutex_);

 private:
  std::optional<Look> FindIn(const Answers<Look>& looks, std::string_view path) const;
  std::optional<Look> FindListed(std::string_view path) const;

  const bool lists_are_complete_;
  Answers<Look> looks_;  // of paths
  Answers<Look> files_;  // of files that directories may hide
  Answers<DirectoryNamesPtr> names_;
  mutable model::Mutex mutex_;
  mutable model::BoundedMap<std::string, RemoteDocument, model::StringHash> documents_
      GUARDED_BY(mutex_);
};

// The object called `name`; null if there is none.
const ListedObject* FindName(const std::vector<ListedObject>& objects, std::string_view name);

}  // namespace ndlfs::backends
