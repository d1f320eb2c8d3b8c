// SPDX-License-Identifier: MIT
#include "fs/tree/store/entity.h"

#include <string_view>
#include <utility>

namespace ndlfs::fs {

Entity::Entity(cache::ChunkCache& cache, Facts facts, Data data, NotedFailures failures)
    : cache_(cache),
      facts_(std::move(facts)),
      data_(std::move(data)),
      failures_(std::move(failures)) {}

// Drops the chunks of this entity from the cache. If another entity gets the same source, its
// ledger has not noted these chunks, so that entity has to read them itself.
Entity::~Entity() {
  if (reader()) cache_.Forget(reader()->source().id());
}

std::string Entity::ProblemLine() const {
  std::string_view problems = facts_.problems;
  while (problems.ends_with('\n')) problems.remove_suffix(1);
  return model::OneLine(problems);
}

void Entity::NoteFailure(const std::string& name, const model::Error& error) const {
  if (error.is_momentary()) return;
  failures_.failures->Add(model::OneLine(name) + ": " + error.message());
  if (failures_.kept == nullptr) return;
  failures_.kept->Keep(failures_.name, {version(), failures_.failures, ledger()});
}

std::optional<std::string> Entity::KnownDigest() const {
  const model::MutexLock lock(digest_mutex_);
  return digest_;
}

void Entity::KeepDigest(std::string digest) const {
  const model::MutexLock lock(digest_mutex_);
  digest_ = std::move(digest);
}

}  // namespace ndlfs::fs
