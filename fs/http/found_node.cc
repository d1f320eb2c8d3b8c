// SPDX-License-Identifier: MIT
#include "fs/http/found_node.h"

#include <deque>
#include <utility>

#include "backends/store/cancellation.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

// As in path_resolution(7).
constexpr int kMostLinks = 40;

// Walks down the tree, and remembers the way for "..".
class Walk {
 public:
  explicit Walk(const TreeNodePtr& root) : way_{root} {}

  model::Result<FoundNode> Follow(std::deque<std::string> names) {
    while (!names.empty()) {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      const std::string name = std::move(names.front());
      names.pop_front();
      if (name.empty() || name == ".") continue;
      if (name == "..") {
        if (way_.size() > 1) {
          way_.pop_back();
          names_.pop_back();
        }
        continue;
      }
      NDLFS_TRY(auto node, way_.back()->Lookup(name));
      NDLFS_TRY(const bool is_link, IsLink(*node));
      if (!is_link) {
        way_.push_back(std::move(node));
        names_.push_back(name);
        continue;
      }
      NDLFS_RETURN_IF_ERROR(AddTarget(*node, names));
    }
    return FoundNode{way_.back(), std::move(names_), links_ != 0};
  }

 private:
  // The size of a file may take a scan; links have none.
  static model::Result<bool> IsLink(const TreeNode& node) {
    if (node.StatCost() != TreeNode::Cost::kNothing) return false;
    NDLFS_TRY(const auto attributes, node.StatWhenFound());
    return S_ISLNK(attributes.mode);
  }

  model::Result<void> AddTarget(const TreeNode& link, std::deque<std::string>& names) {
    if (++links_ > kMostLinks) return model::NotFound("a link that leads to itself");
    NDLFS_TRY(const std::string target, link.ReadLink());
    if (target.starts_with('/')) return model::NotFound("a link that leads out of the tree");
    const auto way = model::SplitPath(target);
    names.insert(names.begin(), way.begin(), way.end());
    return {};
  }

  std::vector<TreeNodePtr> way_;
  std::vector<std::string> names_;  // of the nodes after the root
  int links_ = 0;
};

}  // namespace

model::Result<FoundNode> FindNodeAt(const TreeNodePtr& root,
                                    const std::vector<std::string>& names) {
  return Walk(root).Follow({names.begin(), names.end()});
}

model::Result<FoundNode> FindEntry(const TreeNodePtr& root,
                                   const std::vector<std::string>& path,
                                   const TreeNodePtr& directory, const std::string& name) {
  NDLFS_TRY(auto node, directory->Lookup(name));
  std::vector<std::string> names = path;
  names.push_back(name);
  if (node->StatCost() != TreeNode::Cost::kNothing) {
    return FoundNode{std::move(node), std::move(names)};
  }
  NDLFS_TRY(const auto attributes, node->StatWhenFound());
  if (S_ISLNK(attributes.mode)) return FindNodeAt(root, names);
  return FoundNode{std::move(node), std::move(names)};
}

}  // namespace ndlfs::fs
