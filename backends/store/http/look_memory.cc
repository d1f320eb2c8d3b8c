// SPDX-License-Identifier: MIT
#include "backends/store/http/look_memory.h"

#include <algorithm>
#include <utility>

#include "backends/store/file_name.h"
#include "backends/store/keys.h"
#include "backends/store/request_scope.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kMaxLooks = 1 << 16;
constexpr uint64_t kNamesBytes = 64 << 20;
constexpr uint64_t kDocumentsBytes = 32 << 20;
constexpr uint64_t kEntryBytes = 256;

uint64_t WeightOf(const DirectoryNames& names) {
  uint64_t weight = kEntryBytes;
  for (const ListedObject& object : names.objects) {
    weight += sizeof(object) + object.name.size();
    if (object.info) weight += object.info->generation.tag().size();
  }
  return weight;
}

}  // namespace

LookMemory::LookMemory(Options options)
    : options_(std::move(options)),
      looks_(kMaxLooks),
      files_(kMaxLooks),
      names_(kNamesBytes),
      documents_(kDocumentsBytes) {}

bool LookMemory::Holds(std::chrono::steady_clock::time_point when) const {
  const RequestScope* const scope = RequestScope::Current();
  if (scope != nullptr && !scope->Takes(when)) return false;
  return !options_.lifetime || Now() - when < *options_.lifetime;
}

std::optional<Look> LookMemory::FindIn(Looks& looks, std::string_view path) const {
  const model::MutexLock lock(mutex_);
  const auto* known = looks.Find(path);
  if (known == nullptr || !Holds(known->when)) return std::nullopt;
  Look look = known->what;
  if (options_.lifetime) look.info.told_at = known->when;
  return look;
}

void LookMemory::NoteIn(Looks& looks, const std::string& path, const Known<Look>& look) {
  const model::MutexLock lock(mutex_);
  looks.Put(path, look);
}

std::optional<Look> LookMemory::FindListed(std::string_view path) const {
  if (path.empty()) return std::nullopt;
  const std::string_view folder = FolderOf(path);
  const auto names = FindNames(folder);
  if (!names && options_.lists_are_complete) {
    // There is nothing below what is no directory.
    const auto above = FindListed(folder);
    const bool is_nothing = above && above->kind != Look::Kind::kDirectory;
    return is_nothing ? std::optional(Look()) : std::nullopt;
  }
  if (!names || !names->is_listed) return std::nullopt;
  const ListedObject* object = FindName(names->objects, FileNameOf(path));
  if (object == nullptr) {
    return options_.lists_are_complete ? std::optional(Look()) : std::nullopt;
  }
  if (object->is_directory()) return Look{.kind = Look::Kind::kDirectory};
  if (object->kind != FileKind::kFile || !object->info) return std::nullopt;
  return Look{.kind = Look::Kind::kFile, .info = *object->info};
}

std::optional<Look> LookMemory::Find(std::string_view path) const {
  if (const auto known = FindOwn(path)) return known;
  return FindListed(path);
}

std::optional<Look> LookMemory::FindOwn(std::string_view path) const {
  return FindIn(looks_, path);
}

void LookMemory::Note(const std::string& path, const Look& look,
                      std::chrono::steady_clock::time_point when) {
  NoteIn(looks_, path, {look, when});
}

// Where no directory hides a file, both are the same.
std::optional<Look> LookMemory::FindFile(std::string_view path) const {
  if (!options_.lists_are_complete) return Find(path);
  if (const auto known = FindIn(files_, path)) return known;
  const auto known = Find(path);
  return known && known->kind == Look::Kind::kDirectory ? std::nullopt : known;
}

void LookMemory::NoteFile(const std::string& path, const Look& look,
                          std::chrono::steady_clock::time_point when) {
  NoteIn(options_.lists_are_complete ? files_ : looks_, path, {look, when});
}

DirectoryNamesPtr LookMemory::FindNames(std::string_view path) const {
  const model::MutexLock lock(mutex_);
  const auto* known = names_.Find(path);
  return known != nullptr && Holds(known->when) ? known->what : nullptr;
}

void LookMemory::NoteNames(const std::string& path, DirectoryNames names,
                           std::chrono::steady_clock::time_point when) {
  if (!remembers()) return;
  if (options_.lifetime) {
    for (ListedObject& object : names.objects) {
      if (object.info) object.info->told_at = when;
    }
  }
  const uint64_t weight = WeightOf(names);
  auto kept = std::make_shared<const DirectoryNames>(std::move(names));
  const model::MutexLock lock(mutex_);
  names_.Put(path, {std::move(kept), when}, weight);
}

std::optional<RemoteDocument> LookMemory::FindDocument(std::string_view path) const {
  const model::MutexLock lock(mutex_);
  const RemoteDocument* known = documents_.Find(path);
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

void LookMemory::NoteDocument(const std::string& path, RemoteDocument document) {
  const uint64_t weight = document.info.size + kEntryBytes;
  const model::MutexLock lock(mutex_);
  documents_.Put(path, std::move(document), weight);
}

void LookMemory::ForgetDocument(const std::string& path) {
  const model::MutexLock lock(mutex_);
  documents_.Erase(path);
}

const ListedObject* FindName(const std::vector<ListedObject>& objects, std::string_view name) {
  const auto found =
      std::lower_bound(objects.begin(), objects.end(), name,
                       [](const ListedObject& a, std::string_view b) { return a.name < b; });
  return found != objects.end() && found->name == name ? &*found : nullptr;
}

}  // namespace ndlfs::backends
