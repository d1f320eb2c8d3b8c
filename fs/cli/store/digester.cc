// SPDX-License-Identifier: MIT
#include "fs/cli/store/digester.h"

#include <atomic>
#include <deque>
#include <utility>

#include "cache/array_reader.h"
#include "fs/cli/store/guarded.h"
#include "fs/cli/store/read_limits.h"
#include "fs/compare/array_digest.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr size_t kMostProblems = 1000;
constexpr std::string_view kAttributesName = "//attributes";

}  // namespace

std::string ObjectDigest::Name() const {
  if (kind != Kind::kAttributes) return path;
  return (path == "/" ? "" : path) + std::string(kAttributesName);
}

struct Digester::Object {
  std::string path;
  DigestedMember member = {};  // its digests, once `is_complete`
  bool has_attributes = false;
  bool is_complete = false;
  std::deque<Object> members = {};  // of a group; those that were added stay where they are

  // Completes groups, members first, and appends all digests. `is_complete` of arrays is set.
  void Collect(std::vector<ObjectDigest>& out);
};

void Digester::Object::Collect(std::vector<ObjectDigest>& out) {
  if (member.kind == DigestedMember::Kind::kLink) return;
  const bool is_group = member.kind == DigestedMember::Kind::kGroup;
  const size_t place = out.size();
  out.push_back(
      {is_group ? ObjectDigest::Kind::kGroup : ObjectDigest::Kind::kElements, path, ""});
  out.push_back(
      {ObjectDigest::Kind::kAttributes, path, has_attributes ? HexOf(member.attributes) : ""});
  std::vector<DigestedMember> digests;
  for (Object& object : members) {
    object.Collect(out);
    is_complete = is_complete && object.is_complete;
    digests.push_back(std::move(object.member));
  }
  if (!is_complete) return;
  if (is_group) member.digest = DigestOfGroup(member.attributes, std::move(digests));
  out[place].digest = HexOf(member.digest);
}

// The blocks of one array.
class Digester::Array final : public PartedWork {
 public:
  Array(Digester& digester, Object& object, std::shared_ptr<ArrayDigest> digest)
      : digester_(digester), object_(object), digest_(std::move(digest)) {}

  uint64_t part_count() const override { return digest_->block_count(); }
  uint64_t part_cost() const override { return digest_->block_cost(); }
  uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>& stopping) override {
    uint64_t done = 0;
    for (; done < count && !stopping; ++done) {
      if (failed_) return count;  // one error is enough
      const auto bytes = Guarded([&] { return digest_->Run(first + done); });
      if (bytes) {
        digester_.Count(*bytes);
      } else if (!failed_.exchange(true)) {
        digester_.Fail(object_, bytes.error());
      }
    }
    return done;
  }
  bool has_enough() const override { return failed_; }
  void Finish() override {
    if (failed_) return;
    object_.member.digest = digest_->Finish();
    object_.is_complete = true;
  }

 private:
  Digester& digester_;
  Object& object_;
  const std::shared_ptr<ArrayDigest> digest_;
  std::atomic<bool> failed_{false};
};

Digester::Digester(cache::ChunkCache& cache, unsigned threads)
    : cache_(cache), queue_(threads) {}

Digester::~Digester() = default;

Result<std::vector<ObjectDigest>> Digester::Run(const backends::Hierarchy& hierarchy,
                                                const std::string& path,
                                                const std::function<void()>& tick) {
  NDLFS_RETURN_IF_ERROR(hierarchy.Load(path));
  Object top{path};
  queue_.Run([&] { Find(hierarchy, top, 0); }, tick);
  std::vector<ObjectDigest> digests;
  top.Collect(digests);
  return digests;
}

void Digester::Find(const backends::Hierarchy& hierarchy, Object& object, int depth) {
  if (queue_.stopped()) return;
  const auto found = Guarded([&]() -> Result<void> {
    NDLFS_TRY(const auto node, hierarchy.Load(object.path));
    object.member.kind =
        node->is_group() ? DigestedMember::Kind::kGroup : DigestedMember::Kind::kArray;
    if (node->error) return model::Propagate(*node->error);
    object.member.attributes = DigestOfAttributes(*node);
    object.has_attributes = true;
    if (!node->is_group()) AddArray(object, *node);
    return {};
  });
  if (!found) return Fail(object, found.error());
  if (object.member.kind == DigestedMember::Kind::kGroup) FindMembers(hierarchy, object, depth);
}

void Digester::FindMembers(const backends::Hierarchy& hierarchy, Object& object, int depth) {
  if (depth >= kMaxGroupDepth) {
    return Fail(object, model::Error(model::ErrorCode::kLimit, "groups nest too deep"));
  }
  const auto names = Guarded([&] { return hierarchy.List(object.path); });
  if (!names) return Fail(object, names.error());
  object.is_complete = true;
  for (const std::string& name : *names) {
    Object& child = object.members.emplace_back();
    child.path = model::JoinPath(object.path, name);
    child.member.name = name;
    if (const auto link = hierarchy.GetLink(child.path)) {
      child.member.kind = DigestedMember::Kind::kLink;
      child.member.target = link->target;
      child.is_complete = true;
    } else {
      Find(hierarchy, child, depth + 1);
    }
  }
}

void Digester::AddArray(Object& object, const backends::Node& node) {
  {
    model::MutexLock lock(mutex_);
    ++progress_.arrays;
  }
  if (!node.source) return Fail(object, model::NotFound("it has no data").value());
  const auto reader = std::make_shared<const cache::ArrayReader>(node.source, cache_);
  auto digest = ArrayDigest::Make(reader);
  if (!digest) return Fail(object, digest.error());
  const auto array = std::make_shared<Array>(*this, object, *std::move(digest));
  if (array->part_count() == 0) {
    array->Finish();
  } else {
    queue_.Add(array);
  }
}

void Digester::Fail(Object& object, const model::Error& error) {
  model::MutexLock lock(mutex_);
  ++progress_.failed;
  if (problems_.size() == kMostProblems) return;
  problems_.push_back(model::Error(error).In(object.path));
}

void Digester::Count(uint64_t bytes) {
  model::MutexLock lock(mutex_);
  progress_.bytes += bytes;
}

std::vector<model::Error> Digester::problems() const {
  model::MutexLock lock(mutex_);
  return problems_;
}

Digester::Progress Digester::progress() const {
  model::MutexLock lock(mutex_);
  return progress_;
}

}  // namespace ndlfs::fs
