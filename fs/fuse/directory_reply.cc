// SPDX-License-Identifier: MIT
#include "fs/fuse/directory_reply.h"

#include <algorithm>
#include <utility>

#include "fs/fuse/entries.h"

namespace ndlfs::fs {
namespace {

// For so long a caller may wait for the attributes of the first entries.
constexpr std::chrono::milliseconds kLongest{5};

}  // namespace

DirectoryReply::DirectoryReply(const FilesystemOptions& options, InodeTable& table,
                               const InodeTable::Inode& directory, size_t size, Form form,
                               bool finds_attributes)
    : options_(options),
      table_(table),
      directory_(directory),
      size_(std::min(size, buffer_.size())),
      form_(form),
      finds_attributes_(finds_attributes) {}

DirectoryReply::~DirectoryReply() {
  // The kernel has not got these nodeids, and so will not forget them.
  for (const fuse_ino_t nodeid : counted_) table_.Forget(nodeid, 1);
}

bool DirectoryReply::Add(const DirectoryEntry& entry, uint64_t next) {
  if (used_ != 0 && finds_attributes_ && Clock::now() - begin_ > kLongest) return false;
  const size_t added =
      form_ == Form::kNames ? AddName(entry, next) : AddWithAttributes(entry, next);
  used_ += added;
  return added != 0;
}

void DirectoryReply::Send(PendingRequest& request) {
  const bool is_sent = request.Answer(
      [&](fuse_req_t req) { return fuse_reply_buf(req, buffer_.data(), used_); });
  if (is_sent) counted_.clear();
}

size_t DirectoryReply::AddName(const DirectoryEntry& entry, uint64_t next) {
  const struct ::stat status = ListedStat(table_, directory_, entry);
  const size_t needed =
      fuse_add_direntry(nullptr, buffer_.data() + used_, size_ - used_, entry.name.c_str(),
                        &status, static_cast<off_t>(next));
  return needed <= size_ - used_ ? needed : 0;
}

size_t DirectoryReply::AddWithAttributes(const DirectoryEntry& entry, uint64_t next) {
  const char* const name = entry.name.c_str();
  const size_t needed = fuse_add_direntry_plus(nullptr, nullptr, 0, name, nullptr, 0);
  if (needed > size_ - used_) return 0;
  const fuse_entry_param described = Describe(entry);
  fuse_add_direntry_plus(nullptr, buffer_.data() + used_, size_ - used_, name, &described,
                         static_cast<off_t>(next));
  return needed;
}

fuse_entry_param DirectoryReply::Describe(const DirectoryEntry& entry) {
  if (const auto found = Find(entry)) return *found;
  fuse_entry_param name_alone = {};
  name_alone.attr = ListedStat(table_, directory_, entry);
  return name_alone;
}

std::optional<fuse_entry_param> DirectoryReply::Find(const DirectoryEntry& entry) {
  if (!finds_attributes_ || entry.name == "." || entry.name == "..") return std::nullopt;
  TreeNode& directory = AsNode(directory_);
  // The files of a folder are alike.
  if (!listed_type_ || *listed_type_ != entry.type) {
    listed_type_ = entry.type;
    lists_type_ = directory.ListsAttributesOf(entry.type);
  }
  if (!lists_type_) return std::nullopt;
  const auto listed = S_ISREG(entry.type) ? directory.FindListed(entry.name) : std::nullopt;
  const auto found =
      listed ? CountListed(options_, table_, directory_, entry.name, *listed) : FindNode(entry);
  if (!found) return std::nullopt;
  counted_.push_back(found->ino);
  return *found;
}

std::optional<fuse_entry_param> DirectoryReply::FindNode(const DirectoryEntry& entry) {
  auto node = AsNode(directory_).Lookup(entry.name);
  if (!node || (*node)->StatCost() != TreeNode::Cost::kNothing) return std::nullopt;
  auto found = CountLookup(options_, table_, directory_, entry.name, *std::move(node));
  if (!found) return std::nullopt;
  return *std::move(found);
}

}  // namespace ndlfs::fs
