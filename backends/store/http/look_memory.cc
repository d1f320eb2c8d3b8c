// SPDX-License-Identifier: MIT
#include "backends/store/http/look_memory.h"

#include <algorithm>
#include <utility>

#include "backends/store/file_name.h"
#include "backends/store/keys.h"

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

LookMemory::LookMemory(Trust trust, bool lists_are_complete)
    : lists_are_complete_(lists_are_complete),
      looks_(trust, kMaxLooks),
      files_(trust, kMaxLooks),
      names_(trust, kNamesBytes),
      documents_(kDocumentsBytes) {}

std::optional<Look> LookMemory::FindIn(const Answers<Look>& looks,
                                       std::string_view path) const {
  auto known = looks.Find(path);
  if (!known) return std::nullopt;
  if (!trusts_for_ever()) known->what.info.told_at = known->when;
  return known->what;
}

std::optional<Look> LookMemory::FindListed(std::string_view path) const {
  if (path.empty()) return std::nullopt;
  const std::string_view folder = FolderOf(path);
  const auto known = names_.Find(folder);
  if (!known && lists_are_complete_) {
    // There is nothing below what is no directory.
    const auto above = FindListed(folder);
    const bool is_nothing = above && above->kind != Look::Kind::kDirectory;
    return is_nothing ? std::optional(Look()) : std::nullopt;
  }
  if (!known || !known->what->is_listed) return std::nullopt;
  const ListedObject* object = FindName(known->what->objects, FileNameOf(path));
  if (object == nullptr) {
    if (!lists_are_complete_) return std::nullopt;
    Look absent;
    if (!trusts_for_ever()) absent.info.told_at = known->when;
    return absent;
  }
  if (object->is_directory()) return Look{.kind = Look::Kind::kDirectory};
  if (object->kind != FileKind::kFile || !object->info) return std::nullopt;
  return Look{.kind = Look::Kind::kFile, .info = *object->info};
}

std::optional<Look> LookMemory::Find(std::string_view path) const {
  if (const auto known = FindOwn(path)) return known;
  return FindListed(path);
}

// Where no directory hides a file, both are the same. If two answers are known, the later one
// counts: whoever has seen that must not be given an older version of the file.
std::optional<Look> LookMemory::FindFile(std::string_view path) const {
  if (!lists_are_complete_) return Find(path);
  const auto own = FindIn(files_, path);
  const auto known = Find(path);
  if (!known || known->kind == Look::Kind::kDirectory) return own;
  return own && own->info.told_at >= known->info.told_at ? own : known;
}

DirectoryNamesPtr LookMemory::FindNames(std::string_view path) const {
  const auto known = names_.Find(path);
  return known ? known->what : nullptr;
}

void LookMemory::NoteNames(const std::string& path, DirectoryNames names, Trust::Time when) {
  if (!trusts_for_ever()) {
    for (ListedObject& object : names.objects) {
      if (object.info) object.info->told_at = when;
    }
  }
  const uint64_t weight = WeightOf(names);
  names_.Put(path, std::make_shared<const DirectoryNames>(std::move(names)), when, weight);
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
