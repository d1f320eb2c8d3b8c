// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fs/tree/store/mounted_store.h"
#include "fs/tree/view/decoded_cache.h"

namespace ndlfs::fs {

// A text that is the same for the same view in all mounts of this program: which file of which
// store it is, and the versions of everything that it was made of, but for chunks, which are
// read later. `below` is the path in the view, if that is a directory. On a mount for others it
// also tells the caller. nullopt if no such text is known, or if the bytes of the view depend
// on the mount.
std::optional<std::string> IdentityOf(MountedStore& store, const Entity& entity,
                                      const EntityView& made, const std::string& below);

// The ledger that notices a change of what the view was made of: that of its array, or of one
// array of its group. Null if there is none.
std::shared_ptr<cache::ChunkLedger> LedgerOf(MountedStore& store, const Entity& entity,
                                             const EntityView& made);

// What DecodedCache asks when the view `made` of `entity` has been read to its end.
DecodedCache::FindReads FindReadsOf(std::shared_ptr<MountedStore> store, EntityPtr entity,
                                    EntityViewPtr made);

}  // namespace ndlfs::fs
