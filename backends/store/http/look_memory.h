// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/base/bytes.h"
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
  struct Options {
    // How long an answer is trusted; nullopt: for ever.
    std::optional<std::chrono::nanoseconds> lifetime;
    // As ObjectService::lists_are_complete().
    bool lists_are_complete = false;
    std::function<std::chrono::steady_clock::time_point()> clock;
  };
  explicit LookMemory(Options options);

  std::chrono::steady_clock::time_point Now() const { return options_.clock(); }
  bool remembers() const {
    return !options_.lifetime || *options_.lifetime > options_.lifetime->zero();
  }

  bool trusts_for_ever() const { return !options_.lifetime; }

  // The look at the path, if it was looked at or its directory was listed.
  std::optional<Look> Find(std::string_view path) const EXCLUDES(mutex_);
  // It was asked for at `when`.
  void Note(const std::string& path, const Look& look,
            std::chrono::steady_clock::time_point when) EXCLUDES(mutex_);
  // The look at the path itself.
  std::optional<Look> FindOwn(std::string_view path) const EXCLUDES(mutex_);

  // The same of the file at the path alone, which a directory of its name may hide.
  std::optional<Look> FindFile(std::string_view path) const EXCLUDES(mutex_);
  void NoteFile(const std::string& path, const Look& look,
                std::chrono::steady_clock::time_point when) EXCLUDES(mutex_);

  // The names in the directory; null if it was not asked for.
  DirectoryNamesPtr FindNames(std::string_view path) const EXCLUDES(mutex_);
  // They were asked for at `when`.
  void NoteNames(const std::string& path, DirectoryNames names,
                 std::chrono::steady_clock::time_point when) EXCLUDES(mutex_);

  // Documents are kept with their version, for any time.
  std::optional<RemoteDocument> FindDocument(std::string_view path) const EXCLUDES(mutex_);
  void NoteDocument(const std::string& path, RemoteDocument document) EXCLUDES(mutex_);
  void ForgetDocument(const std::string& path) EXCLUDES(mutex_);

 private:
  template <typename T>
  struct Known {
    T what;
    std::chrono::steady_clock::time_point when;
  };
  template <typename T>
  using Map = model::BoundedMap<std::string, T, model::StringHash>;
  using Looks = Map<Known<Look>>;

  bool Holds(std::chrono::steady_clock::time_point when) const;
  std::optional<Look> FindIn(Looks& looks, std::string_view path) const EXCLUDES(mutex_);
  std::optional<Look> FindListed(std::string_view path) const EXCLUDES(mutex_);
  void NoteIn(Looks& looks, const std::string& path, const Known<Look>& look) EXCLUDES(mutex_);

  const Options options_;
  mutable model::Mutex mutex_;
  mutable Looks looks_;  // of paths; guarded by mutex_, like all of them
  mutable Looks files_;  // of files that directories may hide
  mutable Map<Known<DirectoryNamesPtr>> names_ GUARDED_BY(mutex_);
  mutable Map<RemoteDocument> documents_ GUARDED_BY(mutex_);
};

// The object called `name`; null if there is none.
const ListedObject* FindName(const std::vector<ListedObject>& objects, std::string_view name);

}  // namespace ndlfs::backends
