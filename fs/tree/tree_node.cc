// SPDX-License-Identifier: MIT
#include "fs/tree/tree_node.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "model/secret_hash.h"

namespace ndlfs::fs {
namespace {

using model::IoError;

class ListReader final : public DirectoryReader {
 public:
  explicit ListReader(std::vector<DirectoryEntry> entries) : entries_(std::move(entries)) {}

  model::Result<std::optional<DirectoryEntry>> Next() override {
    if (next_ == entries_.size()) return std::nullopt;
    return entries_[next_++];
  }
  void Rewind() override { next_ = 0; }
  KeptObjects kept() const override { return {{this, HeldBytes(entries_)}}; }

 private:
  const std::vector<DirectoryEntry> entries_;
  size_t next_ = 0;
};

class TextHandle final : public FileHandle {
 public:
  explicit TextHandle(std::shared_ptr<const std::string> text) : text_(std::move(text)) {}

  model::Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    if (offset >= text_->size()) return size_t{0};
    const size_t count = std::min<size_t>(out.size(), text_->size() - offset);
    std::memcpy(out.data(), text_->data() + offset, count);
    return count;
  }
  KeptObjects kept() const override { return {{text_.get(), text_->capacity()}}; }
  bool is_light() const override { return true; }

 private:
  const std::shared_ptr<const std::string> text_;
};

class TextNode final : public TreeNode {
 public:
  TextNode(std::string text, const Attributes& attributes)
      : text_(std::make_shared<const std::string>(std::move(text))), attributes_(attributes) {
    attributes_.size = text_->size();
  }

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const TextNode*>(&fresh);
    return other != nullptr && *other->text_ == *text_ ? Relation::kUpdated
                                                       : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override { return attributes_; }
  model::Result<OpenedFile> Open() override { return OpenText(text_); }
  std::optional<FileVersion> Version() const override {
    return FileVersion{model::SecretHash(*text_), text_->size()};
  }

 private:
  const std::shared_ptr<const std::string> text_;
  Attributes attributes_;
};

class SymlinkNode final : public TreeNode {
 public:
  SymlinkNode(std::string target, const Attributes& attributes)
      : target_(std::move(target)), attributes_(attributes) {
    attributes_.mode = S_IFLNK | 0777;
    attributes_.size = target_.size();
  }

  Relation Compare(const TreeNode& fresh) const override {
    const auto* other = dynamic_cast<const SymlinkNode*>(&fresh);
    return other != nullptr && other->target_ == target_ ? Relation::kUpdated
                                                         : Relation::kDifferent;
  }
  model::Result<Attributes> Stat() const override { return attributes_; }
  model::Result<std::string> ReadLink() const override { return target_; }

 private:
  const std::string target_;
  Attributes attributes_;
};

}  // namespace

std::vector<std::string> NamesOf(const ExtendedAttributes& attributes) {
  std::vector<std::string> names;
  names.reserve(attributes.size());
  for (const auto& [name, value] : attributes) names.push_back(name);
  return names;
}

model::Result<TreeNodePtr> TreeNode::Lookup(std::string_view) const {
  return IoError(ENOTDIR, "lookup");
}

model::Result<std::unique_ptr<DirectoryReader>> TreeNode::OpenDirectory() const {
  return IoError(ENOTDIR, "opendir");
}

model::Result<OpenedFile> TreeNode::Open() { return IoError(ENXIO, "open"); }

model::Result<std::string> TreeNode::ReadLink() const { return IoError(EINVAL, "readlink"); }

model::Result<ExtendedAttributes> TreeNode::GetExtendedAttributes() const {
  return ExtendedAttributes();
}

model::Result<std::vector<std::string>> TreeNode::ListExtendedAttributes() const {
  NDLFS_TRY(const auto attributes, GetExtendedAttributes());
  return NamesOf(attributes);
}

model::Result<std::optional<std::string>> TreeNode::GetExtendedAttribute(
    std::string_view name) const {
  NDLFS_TRY(auto attributes, GetExtendedAttributes());
  for (auto& [known, value] : attributes) {
    if (known == name) return std::move(value);
  }
  return std::nullopt;
}

TreeNode::Relation DirectoryNode::Compare(const TreeNode& fresh) const {
  const auto* directory = dynamic_cast<const DirectoryNode*>(&fresh);
  if (directory == nullptr) return Relation::kDifferent;
  return directory->IsGuess() ? Relation::kSame : Relation::kUpdated;
}

model::Result<OpenedFile> DirectoryNode::Open() { return IoError(EISDIR, "open"); }

uint64_t HeldBytes(const std::vector<DirectoryEntry>& entries) {
  uint64_t bytes = entries.capacity() * sizeof(DirectoryEntry);
  for (const DirectoryEntry& entry : entries) bytes += entry.name.capacity();
  return bytes;
}

std::unique_ptr<DirectoryReader> MakeListReader(std::vector<DirectoryEntry> entries) {
  return std::make_unique<ListReader>(std::move(entries));
}

OpenedFile OpenText(std::shared_ptr<const std::string> text) {
  return {std::make_shared<const TextHandle>(std::move(text)), false};
}

TreeNodePtr MakeTextNode(std::string text, const Attributes& attributes) {
  return std::make_shared<TextNode>(std::move(text), attributes);
}

TreeNodePtr MakeSymlinkNode(std::string target, const Attributes& attributes) {
  return std::make_shared<SymlinkNode>(std::move(target), attributes);
}

}  // namespace ndlfs::fs
