// SPDX-License-Identifier: MIT
#include "fs/tree/view/view_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/store/caller.h"
#include "backends/store/source_clock.h"

namespace ndlfs::fs {
namespace {

// A page names its own place in the mount.
constexpr std::string_view kDependsOnMount = "index.html";

// Another version of the program may make other bytes of the same arrays.
const std::string& ThisProgram() {
  static const std::string program = [] {
    struct ::stat status = {};
    (void)::stat("/proc/self/exe", &status);
    return fmt::format("{}.{}.{}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
  }();
  return program;
}

std::string TextOf(const backends::CallerPtr& caller) {
  if (caller == nullptr) return {};
  std::string text = fmt::format("{}:{}", caller->uid, caller->gid);
  for (const gid_t group : caller->groups) text += fmt::format(",{}", group);
  return text;
}

}  // namespace

std::optional<std::string> IdentityOf(MountedStore& store, const Entity& entity,
                                      const EntityView& made, const std::string& below) {
  const auto objects = made.objects.VersionsText();
  if (entity.version() == 0 || !objects || made.name == kDependsOnMount) return std::nullopt;
  std::string text;
  const auto add = [&](std::string_view part) { (text += part) += '\0'; };
  add(ThisProgram());
  add(TextOf(backends::CallerScope::Current()));
  add(store.services().source->identity());
  add(store.path());
  add(store.services().open_options.ref);
  add(store.version().ref);
  add(store.version().folder);
  add(entity.path());
  add(made.name);
  add(store.services().passes_stored_chunks ? "stored" : "");
  add(below);
  // Not the versions of chunks: a later mount does not know them before it has read them.
  add(fmt::format("{}", entity.version()));
  text += *objects;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x} {}", hash.high64, hash.low64, made.name);
}

std::shared_ptr<cache::ChunkLedger> LedgerOf(MountedStore& store, const Entity& entity,
                                             const EntityView& made) {
  if (entity.ledger() != nullptr) return entity.ledger();
  const auto arrays = made.objects.ArraysNow(store);
  if (!arrays) return nullptr;
  for (const EntityPtr& array : *arrays) {
    if (array->ledger() != nullptr) return array->ledger();
  }
  return nullptr;
}

DecodedCache::FindReads FindReadsOf(std::shared_ptr<MountedStore> store, EntityPtr entity,
                                    EntityViewPtr made) {
  return [store = std::move(store), entity = std::move(entity),
          made = std::move(made)]() -> std::optional<DecodedCache::AllReads> {
    auto arrays = made->objects.ArraysNow(*store);
    if (!arrays || made->is_outdated) return std::nullopt;
    arrays->push_back(entity);
    DecodedCache::AllReads all{
        .began_ns = backends::MachineClockNs(),
        .metadata_ns = std::max(entity->facts().mtime_ns, made->objects.mtime_ns())};
    for (const EntityPtr& array : *arrays) {
      if (array->ledger() == nullptr) continue;
      const auto noted = array->ledger()->AllReads();
      if (!noted) return std::nullopt;
      all.reads.insert(all.reads.end(), noted->begin(), noted->end());
      all.began_ns = std::min(all.began_ns, array->ledger()->began_ns());
    }
    const bool is_other = (store->HasOtherMetadata(entity->facts().loaded_from, entity->path(),
                                                   entity->version()) &&
                           !store->StillHas(*entity)) ||
                          made->objects.HasOtherMetadata(*store, entity->facts().loaded_from);
    if (is_other) return std::nullopt;
    return all;
  };
}

}  // namespace ndlfs::fs
