// SPDX-License-Identifier: MIT
#include "backends/store/s3/look_memory.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "backends/store/s3/objects.h"

namespace ndlfs::backends::s3 {
namespace {

using Clock = std::chrono::steady_clock;

// An entry of a map, with its key twice.
constexpr uint64_t kEntryBytes = 300;

uint64_t WeightOf(const std::vector<ListedName>& names) {
  uint64_t weight = kEntryBytes;
  for (const ListedName& name : names) {
    weight += sizeof(name) + name.name.size() + name.etag.size();
  }
  return weight;
}

FileId IdOf(std::string_view path) { return {1, std::hash<std::string_view>()(path)}; }

}  // namespace

LookMemory::LookMemory(std::chrono::nanoseconds lifetime)
    : lifetime_(lifetime), looks_(kLooksBytes), objects_(kLooksBytes), names_(kNamesBytes) {}

bool LookMemory::IsFresh(Clock::time_point when) const {
  return Clock::now() - when < lifetime_;
}

std::optional<Look> LookMemory::Find(std::string_view path) {
  model::MutexLock lock(mutex_);
  if (auto known = FindIn(looks_, path)) return known;
  if (path.empty()) return std::nullopt;
  const size_t slash = path.rfind('/');
  const std::string_view folder = slash == path.npos ? "" : path.substr(0, slash);
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  const FolderNames names = NamesIn(folder);
  if (names == nullptr) return std::nullopt;
  const auto found =
      std::lower_bound(names->begin(), names->end(), name,
                       [](const ListedName& a, std::string_view b) { return a.name < b; });
  if (found == names->end() || found->name != name) return Look();
  const auto status = StatusOf(*found, path);
  if (!status) return std::nullopt;
  return Look(status);
}

std::optional<Look> LookMemory::FindObject(std::string_view path) {
  {
    model::MutexLock lock(mutex_);
    if (auto known = FindIn(objects_, path)) return known;
  }
  auto known = Find(path);
  const bool is_hidden = known && *known && !(*known)->is_file();
  return is_hidden ? std::nullopt : known;
}

void LookMemory::Note(std::string_view path, const Look& look) {
  model::MutexLock lock(mutex_);
  NoteIn(looks_, path, look);
}

void LookMemory::NoteObject(std::string_view path, const Look& look) {
  model::MutexLock lock(mutex_);
  NoteIn(objects_, path, look);
}

std::optional<Look> LookMemory::FindIn(Looks& looks, std::string_view path) const {
  const auto* known = looks.Find(std::string(path));
  if (known == nullptr || !IsFresh(known->when)) return std::nullopt;
  return known->what;
}

void LookMemory::NoteIn(Looks& looks, std::string_view path, const Look& look) {
  if (lifetime_ <= lifetime_.zero()) return;
  looks.Put(std::string(path), {look, Clock::now()}, kEntryBytes + 2 * path.size());
}

FolderNames LookMemory::NamesIn(std::string_view folder) {
  const auto* known = names_.Find(std::string(folder));
  return known != nullptr && IsFresh(known->when) ? known->what : nullptr;
}

FolderNames LookMemory::FindNames(std::string_view folder) {
  model::MutexLock lock(mutex_);
  return NamesIn(folder);
}

void LookMemory::NoteNames(std::string_view folder, FolderNames names, Clock::time_point when) {
  if (lifetime_ <= lifetime_.zero()) return;
  const uint64_t weight = WeightOf(*names);
  model::MutexLock lock(mutex_);
  names_.Put(std::string(folder), {std::move(names), when}, weight);
}

std::optional<FileStatus> StatusOf(const ListedName& name, std::string_view path) {
  if (name.kind == FileKind::kUnknown) return std::nullopt;
  if (name.kind == FileKind::kDirectory) return FolderStatus(path);
  return ObjectStatus(ObjectInfo(name.etag, name.size, name.modified_ns), path);
}

FileStatus FolderStatus(std::string_view path) {
  FileStatus status;
  status.kind = FileKind::kDirectory;
  status.mode = 0555;
  status.id = IdOf(path);
  return status;
}

FileStatus ObjectStatus(const ValueInfo& info, std::string_view path) {
  FileStatus status;
  status.kind = FileKind::kFile;
  status.mode = 0444;
  status.size = info.size;
  status.mtime_ns = status.ctime_ns = info.modified_ns;
  status.id = IdOf(path);
  status.version = info.generation;
  return status;
}

}  // namespace ndlfs::backends::s3
