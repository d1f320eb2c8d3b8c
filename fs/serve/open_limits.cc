// SPDX-License-Identifier: MIT
#include "fs/serve/open_limits.h"

#include <algorithm>

#include "fs/serve/user_share.h"

namespace ndlfs::fs {

using model::MutexLock;

OpenLimits::Place::~Place() {
  if (limits_ != nullptr) limits_->Release(user_, kept_);
}

bool OpenLimits::Place::Keep(std::vector<KeptObject> objects) {
  if (limits_ == nullptr) return true;
  if (!limits_->Keep(user_, objects)) return false;
  kept_ = std::move(objects);
  return true;
}

std::optional<OpenLimits::Place> OpenLimits::Take(uid_t user) {
  if (!options_.shared) return Place();
  const MutexLock lock(mutex_);
  const auto found = users_.find(user);
  const uint64_t own = found != users_.end() ? found->second.open : 0;
  if (!HasShare(own, open_, options_.most_open)) {
    ++refused_;
    return std::nullopt;
  }
  ++users_[user].open;
  ++open_;
  return Place(*this, user);
}

// An object counts once for a user, however many files keep it, with the most that it was said
// to take.
bool OpenLimits::Keep(uid_t user, const std::vector<KeptObject>& objects) {
  const MutexLock lock(mutex_);
  User& holder = users_[user];
  const uint64_t own = holder.bytes;
  const uint64_t others = bytes_ - own;
  for (const KeptObject& object : objects) {
    Kept& kept = holder.kept[object.identity];
    ++kept.files;
    if (object.bytes <= kept.bytes) continue;
    holder.bytes += object.bytes - kept.bytes;
    bytes_ += object.bytes - kept.bytes;
    kept.bytes = object.bytes;
  }
  const uint64_t added = holder.bytes - own;
  const uint64_t always = 2 * options_.most_bytes / std::max<uint64_t>(users_.size(), 32);
  const bool is_first = own == 0 && (others == 0 || bytes_ / 2 <= options_.most_bytes);
  const bool may = added == 0 || is_first || holder.bytes <= always ||
                   HasShare(own, others + own, options_.most_bytes, added);
  if (!may) {
    Drop(holder, objects);
    ++refused_;
  }
  return may;
}

void OpenLimits::Drop(User& user, const std::vector<KeptObject>& objects) {
  for (const KeptObject& object : objects) {
    const auto kept = user.kept.find(object.identity);
    if (--kept->second.files != 0) continue;
    user.bytes -= kept->second.bytes;
    bytes_ -= kept->second.bytes;
    user.kept.erase(kept);
  }
}

void OpenLimits::Release(uid_t user, const std::vector<KeptObject>& objects) {
  const MutexLock lock(mutex_);
  const auto found = users_.find(user);
  Drop(found->second, objects);
  --open_;
  if (--found->second.open != 0) return;
  bytes_ -= found->second.bytes;  // 0, unless Keep() has run out of memory
  users_.erase(found);
}

OpenLimits::Stats OpenLimits::stats() const {
  const MutexLock lock(mutex_);
  return {.bytes = bytes_, .refused = refused_};
}

}  // namespace ndlfs::fs
