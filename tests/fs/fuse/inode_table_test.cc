// SPDX-License-Identifier: MIT
#include "fs/fuse/inode_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace ndlfs::fs {
namespace {

// A version of something: different from other versions, better described by
// another note.
class Thing final : public TreeNode {
 public:
  Thing(int version, int note) : version_(version), note_(note) {}
  model::Result<Attributes> Stat() const override { return Attributes(); }
  Relation Compare(const TreeNode& fresh) const override {
    const auto& other = static_cast<const Thing&>(fresh);
    if (other.version_ != version_) return Relation::kDifferent;
    return other.note_ != note_ ? Relation::kUpdated : Relation::kSame;
  }
  // As a file that somebody has read.
  bool IsListedAs(const ListedVersion& version) const override {
    return version.contents == ListedFacts();
  }
  uint64_t ListedFacts() const override { return static_cast<uint64_t>(version_); }
  int version() const { return version_; }
  int note() const { return note_; }

 private:
  const int version_;
  const int note_;
};

ListedVersion Listed(uint64_t version) { return {.contents = version, .facts = version}; }

std::shared_ptr<Thing> MakeThing(int version = 0, int note = 0) {
  return std::make_shared<Thing>(version, note);
}

TEST(InodeTableTest, ForgottenNodeidsAreRememberedByPath) {
  InodeTable table(MakeThing());
  const auto folder = table.Lookup(InodeTable::kRoot, "folder", MakeThing());
  const auto file = table.Lookup(folder->nodeid, "file", MakeThing());
  EXPECT_EQ(table.LookupAgain(file->nodeid)->ino, file->ino);
  table.Forget(file->nodeid, 2);
  table.Forget(folder->nodeid, 1);
  EXPECT_FALSE(table.Find(file->nodeid));
  EXPECT_FALSE(table.LookupAgain(file->nodeid));

  EXPECT_EQ(table.PathOf(file->nodeid), (std::vector<std::string>{"folder", "file"}));
  const auto again = table.LookupParent(file->nodeid, MakeThing());
  ASSERT_TRUE(again);
  EXPECT_NE(again->nodeid, folder->nodeid) << "a nodeid is not given to another object";
  EXPECT_EQ(again->ino, folder->ino);
  const auto revived = table.Revive(file->nodeid, MakeThing());
  ASSERT_TRUE(revived);
  EXPECT_EQ(revived->nodeid, file->nodeid);
  EXPECT_EQ(revived->ino, file->ino);
  // It is what a lookup of its name finds, too.
  EXPECT_EQ(table.Lookup(again->nodeid, "file", MakeThing())->nodeid, file->nodeid);
  EXPECT_EQ(table.size(), 3u);
  table.Forget(file->nodeid, 2);
  EXPECT_FALSE(table.Find(file->nodeid));
}

TEST(InodeTableTest, RevivedVersionDoesNotTakeThePlaceOfANewOne) {
  InodeTable table(MakeThing());
  const auto old = table.Lookup(InodeTable::kRoot, "file", MakeThing(1));
  table.Forget(old->nodeid, 1);
  const auto now = table.Lookup(InodeTable::kRoot, "file", MakeThing(2));
  const auto revived = table.Revive(old->nodeid, MakeThing(2));
  ASSERT_TRUE(revived);
  EXPECT_EQ(revived->ino, now->ino);
  EXPECT_EQ(table.Lookup(InodeTable::kRoot, "file", MakeThing(2))->nodeid, now->nodeid);
  table.Forget(now->nodeid, 2);
  table.Forget(old->nodeid, 1);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, RemembersTheLatestOnly) {
  InodeTable table(MakeThing());
  const auto first = table.Lookup(InodeTable::kRoot, "first", MakeThing());
  table.Forget(first->nodeid, 1);
  EXPECT_TRUE(table.PathOf(first->nodeid));
  for (size_t i = 0; i < InodeTable::kRemembered; ++i) {
    table.Forget(table.Lookup(InodeTable::kRoot, std::to_string(i), MakeThing())->nodeid, 1);
  }
  EXPECT_FALSE(table.PathOf(first->nodeid));
  EXPECT_FALSE(table.Revive(first->nodeid, MakeThing()));
  EXPECT_FALSE(table.LookupParent(first->nodeid, MakeThing()));
  EXPECT_FALSE(table.PathOf(first->nodeid + 100'000));
}

TEST(InodeTableTest, ForgottenAgainAfterARevivalIsRememberedAgain) {
  InodeTable table(MakeThing());
  const auto file = table.Lookup(InodeTable::kRoot, "file", MakeThing());
  for (size_t i = 0; i < 2 * InodeTable::kRemembered; ++i) {
    table.Forget(file->nodeid, 1);
    ASSERT_TRUE(table.Revive(file->nodeid, MakeThing())) << i;
  }
  EXPECT_TRUE(table.Find(file->nodeid));
  EXPECT_EQ(table.size(), 2u);
}

TEST(InodeTableTest, NameOfAListingGetsItsObjectWhenItIsUsed) {
  InodeTable table(MakeThing());
  const auto listed = table.LookupListed(InodeTable::kRoot, "file", Listed(7));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->ino, table.InoOf(1, "file"));
  EXPECT_EQ(table.Find(listed->nodeid)->object, nullptr);
  EXPECT_EQ(table.Find(listed->nodeid)->listed_facts, 7u);
  EXPECT_FALSE(table.Complete(listed->nodeid, MakeThing(8))) << "another version";
  EXPECT_EQ(table.Find(listed->nodeid)->object, nullptr);
  const auto object = MakeThing(7);
  EXPECT_EQ(table.Complete(listed->nodeid, object)->object, object);
  EXPECT_EQ(table.Complete(listed->nodeid, MakeThing(7))->object, object) << "the first stays";
  EXPECT_EQ(table.Find(listed->nodeid)->listed_facts, 0u);
  table.Forget(listed->nodeid, 1);
  EXPECT_FALSE(table.Complete(listed->nodeid, object));
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, ListingAndLookupOfTheSameVersionAreTheSameInode) {
  InodeTable table(MakeThing());
  const auto listed = table.LookupListed(InodeTable::kRoot, "file", Listed(7));
  EXPECT_EQ(table.LookupListed(InodeTable::kRoot, "file", Listed(7))->nodeid, listed->nodeid);
  const auto found = table.Lookup(InodeTable::kRoot, "file", MakeThing(7));
  EXPECT_EQ(found->nodeid, listed->nodeid);
  EXPECT_NE(found->object, nullptr);
  EXPECT_EQ(table.LookupListed(InodeTable::kRoot, "file", Listed(7))->nodeid, listed->nodeid);
  table.Forget(listed->nodeid, 3);
  EXPECT_TRUE(table.Find(listed->nodeid)) << "each of the four counts";
  table.Forget(listed->nodeid, 1);
  EXPECT_FALSE(table.Find(listed->nodeid));
}

TEST(InodeTableTest, OfAFileThatNobodyHasReadOnlyTheFactsCount) {
  InodeTable table(MakeThing());
  const auto first = table.LookupListed(InodeTable::kRoot, "file", {.contents = 1, .facts = 7});
  const auto second =
      table.LookupListed(InodeTable::kRoot, "file", {.contents = 2, .facts = 7});
  EXPECT_EQ(second->nodeid, first->nodeid) << "the kernel has no byte of it";
  ASSERT_TRUE(table.Complete(first->nodeid, MakeThing(7)));
  const auto third = table.LookupListed(InodeTable::kRoot, "file", {.contents = 8, .facts = 7});
  EXPECT_NE(third->nodeid, first->nodeid) << "the kernel may have other bytes of it";
}

TEST(InodeTableTest, ListingAndLookupOfOtherVersionsAreOtherInodes) {
  InodeTable table(MakeThing());
  const auto first = table.LookupListed(InodeTable::kRoot, "file", Listed(1));
  const auto second = table.LookupListed(InodeTable::kRoot, "file", Listed(2));
  const auto third = table.Lookup(InodeTable::kRoot, "file", MakeThing(3));
  const auto fourth = table.LookupListed(InodeTable::kRoot, "file", Listed(4));
  const std::set<InodeTable::NodeId> nodeids = {first->nodeid, second->nodeid, third->nodeid,
                                                fourth->nodeid};
  EXPECT_EQ(nodeids.size(), 4u);
  EXPECT_EQ(first->ino, fourth->ino);
  for (const auto nodeid : nodeids) table.Forget(nodeid, 1);
  EXPECT_FALSE(table.LookupListed(first->nodeid, "below", Listed(1)))
      << "its folder is forgotten";
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, ParentIsFoundWhileTheKernelKnowsIt) {
  InodeTable table(MakeThing());
  const auto folder = table.Lookup(InodeTable::kRoot, "folder", MakeThing(5));
  const auto file = table.LookupListed(folder->nodeid, "file", Listed(7));
  EXPECT_EQ(table.FindParent(file->nodeid)->nodeid, folder->nodeid);
  EXPECT_EQ(table.FindParent(folder->nodeid)->nodeid, InodeTable::kRoot);
  EXPECT_FALSE(table.FindParent(InodeTable::kRoot));
  table.Forget(folder->nodeid, 1);
  EXPECT_FALSE(table.FindParent(file->nodeid));
  // A file that only a listing told has no children to look up.
  table.LookupListed(InodeTable::kRoot, "folder", Listed(9));
  EXPECT_FALSE(table.FindParent(file->nodeid));
}

TEST(InodeTableTest, FindsEveryPathOfManyAfterMostAreForgotten) {
  InodeTable table(MakeThing());
  std::vector<InodeTable::Inode> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(*table.LookupListed(InodeTable::kRoot, std::to_string(i), Listed(1)));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % 100 != 0) table.Forget(all[i].nodeid, 1);
  }
  EXPECT_EQ(table.size(), 201u);
  for (size_t i = 0; i < all.size(); i += 100) {
    const auto again = table.LookupListed(InodeTable::kRoot, std::to_string(i), Listed(1));
    EXPECT_EQ(again->nodeid, all[i].nodeid);
    EXPECT_EQ(again->ino, HashPath(1, std::to_string(i)));
  }
}

TEST(InodeTableTest, RootIsThereFromTheBeginningAndStays) {
  InodeTable table(MakeThing());
  table.Forget(InodeTable::kRoot, 1000);
  const auto root = table.Find(InodeTable::kRoot);
  ASSERT_TRUE(root);
  EXPECT_EQ(root->ino, 1u);
  EXPECT_EQ(root->parent_ino, 1u);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, SamePathIsTheSameInode) {
  InodeTable table(MakeThing());
  const auto first = table.Lookup(InodeTable::kRoot, "a", MakeThing());
  const auto second = table.Lookup(InodeTable::kRoot, "a", MakeThing());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->nodeid, second->nodeid);
  EXPECT_EQ(first->object, second->object) << "the object that was there is kept";
}

TEST(InodeTableTest, UpdatedObjectTakesOverTheInode) {
  InodeTable table(MakeThing());
  const auto first = table.Lookup(InodeTable::kRoot, "a", MakeThing(0, 1));
  const auto second = table.Lookup(InodeTable::kRoot, "a", MakeThing(0, 2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->nodeid, second->nodeid);
  EXPECT_EQ(static_cast<Thing&>(*table.Find(first->nodeid)->object).note(), 2);
}

TEST(InodeTableTest, OtherContentGetsANewNodeidAndTheSameIno) {
  InodeTable table(MakeThing());
  const auto before = table.Lookup(InodeTable::kRoot, "a", MakeThing(1));
  const auto after = table.Lookup(InodeTable::kRoot, "a", MakeThing(2));
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->nodeid, after->nodeid);
  EXPECT_EQ(before->ino, after->ino);
  EXPECT_EQ(static_cast<Thing&>(*table.Find(before->nodeid)->object).version(), 1)
      << "who has the old one open keeps it";
  table.Forget(before->nodeid, 1);
  EXPECT_EQ(table.Lookup(InodeTable::kRoot, "a", MakeThing(2))->nodeid, after->nodeid);
}

TEST(InodeTableTest, NodeidsAreNeverUsedAgain) {
  InodeTable table(MakeThing());
  std::set<InodeTable::NodeId> seen;
  for (int i = 0; i < 100; ++i) {
    const auto inode = table.Lookup(InodeTable::kRoot, "a", MakeThing());
    EXPECT_TRUE(seen.insert(inode->nodeid).second);
    table.Forget(inode->nodeid, 1);
  }
}

TEST(InodeTableTest, ForgetTakesAsManyLookupsAsThereWere) {
  InodeTable table(MakeThing());
  const auto nodeid = table.Lookup(InodeTable::kRoot, "a", MakeThing())->nodeid;
  table.Lookup(InodeTable::kRoot, "a", MakeThing());
  table.Forget(nodeid, 1);
  EXPECT_TRUE(table.Find(nodeid));
  table.Forget(nodeid, 1);
  EXPECT_FALSE(table.Find(nodeid));
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, ForgettingTooMuchOrTheUnknownDoesNoHarm) {
  InodeTable table(MakeThing());
  const auto nodeid = table.Lookup(InodeTable::kRoot, "a", MakeThing())->nodeid;
  table.Forget(nodeid, 1000);
  table.Forget(nodeid, 1);
  table.Forget(0, 1);
  table.Forget(~uint64_t{0}, 1);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, LookupInAForgottenParentFindsNothing) {
  InodeTable table(MakeThing());
  const auto parent = table.Lookup(InodeTable::kRoot, "a", MakeThing())->nodeid;
  table.Forget(parent, 1);
  EXPECT_FALSE(table.Lookup(parent, "b", MakeThing()));
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, InoIsKnownBeforeTheLookupAndAfterTheForget) {
  InodeTable table(MakeThing());
  const uint64_t announced = table.InoOf(1, "a");
  const auto inode = table.Lookup(InodeTable::kRoot, "a", MakeThing());
  EXPECT_EQ(inode->ino, announced);
  EXPECT_EQ(table.InoOf(1, "a"), announced);
  table.Forget(inode->nodeid, 1);
  EXPECT_EQ(table.InoOf(1, "a"), announced);
}

// What programs have noted down has to be true after an update of ndlfs, too.
TEST(InodeTableTest, InoOfAPathIsTheSameInEveryVersionOfNdlfs) {
  EXPECT_EQ(HashPath(1, "era5.zarr"), 1590658319885420953u);
  EXPECT_EQ(HashPath(HashPath(1, "era5.zarr"), "t2m"), 4694651187734244452u);
}

TEST(InodeTableTest, InosOfCollidingPathsAreUniqueAndNeverReserved) {
  InodeTable table(MakeThing(), [](uint64_t, std::string_view) { return ~uint64_t{0}; });
  std::set<uint64_t> inos;
  for (const char* name : {"a", "b", "c", "d"}) {
    const auto inode = table.Lookup(InodeTable::kRoot, name, MakeThing());
    EXPECT_GT(inode->ino, 1u) << name;
    EXPECT_TRUE(inos.insert(inode->ino).second) << name;
    EXPECT_EQ(table.InoOf(1, name), inode->ino);
  }
}

// With buckets by the hash that everybody knows, these would take some minutes.
TEST(InodeTableTest, NamesOfOneHashAreFoundAsFastAsOthers) {
  InodeTable table(MakeThing(), [](uint64_t, std::string_view) { return 42; });
  constexpr int kNames = 100'000;
  std::set<uint64_t> inos;
  std::vector<InodeTable::NodeId> ids;
  for (int i = 0; i < kNames; ++i) {
    const auto inode = table.Lookup(InodeTable::kRoot, std::to_string(i), MakeThing());
    inos.insert(inode->ino);
    ids.push_back(inode->nodeid);
  }
  EXPECT_EQ(inos.size(), kNames);
  for (const auto id : ids) table.Forget(id, 1);
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, ManyPathsHaveAsManyInos) {
  std::set<uint64_t> inos;
  for (int i = 0; i < 300'000; ++i) inos.insert(HashPath(1, std::to_string(i)));
  EXPECT_EQ(inos.size(), 300'000u);
}

// The table beside a reference that is too simple to be wrong: every nodeid
// with its path, what is there, and its count.
class Model {
 public:
  struct Node {
    uint64_t parent_ino;
    std::string name;
    int version;
    int note;
    uint64_t lookups;
    uint64_t ino;
  };
  std::map<InodeTable::NodeId, Node> nodes;

  // The nodeid that stands for what is at the path now.
  std::map<std::pair<uint64_t, std::string>, InodeTable::NodeId> current;
};

class InodeTableModelTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Eight values, so that nearly all paths collide.
  static uint64_t WeakHash(uint64_t parent, std::string_view name) {
    return HashPath(parent, name) % 8;
  }

  void Lookup(InodeTable::NodeId parent, const std::string& name, int version, int note) {
    const auto inode = table_.Lookup(parent, name, MakeThing(version, note));
    const bool known = parent == InodeTable::kRoot || model_.nodes.contains(parent);
    ASSERT_EQ(inode.has_value(), known);
    if (!known) return;
    const uint64_t parent_ino = parent == 1 ? 1 : model_.nodes.at(parent).ino;
    auto& current = model_.current[{parent_ino, name}];
    const auto it = model_.nodes.find(current);
    if (it != model_.nodes.end() && it->second.version == version) {
      ASSERT_EQ(inode->nodeid, current);
      it->second.note = note;
      ++it->second.lookups;
      ASSERT_EQ(inode->ino, it->second.ino);
    } else {
      ASSERT_GT(inode->nodeid, newest_) << "a nodeid was used twice";
      newest_ = current = inode->nodeid;
      ids_.push_back(newest_);
      model_.nodes[newest_] = {parent_ino, name, version, note, 1, inode->ino};
    }
  }

  void Forget(InodeTable::NodeId nodeid, uint64_t count) {
    table_.Forget(nodeid, count);
    const auto it = model_.nodes.find(nodeid);
    if (it == model_.nodes.end()) return;
    if (it->second.lookups > count) {
      it->second.lookups -= count;
    } else {
      model_.nodes.erase(it);
    }
  }

  void Check() const {
    ASSERT_EQ(table_.size(), model_.nodes.size() + 1);
    std::map<uint64_t, std::pair<uint64_t, std::string>> path_of_ino;
    for (const auto& [nodeid, node] : model_.nodes) {
      const auto inode = table_.Find(nodeid);
      ASSERT_TRUE(inode);
      EXPECT_EQ(inode->ino, node.ino) << "the ino of a live inode changed";
      EXPECT_EQ(inode->parent_ino, node.parent_ino);
      const auto& thing = static_cast<const Thing&>(*inode->object);
      EXPECT_EQ(thing.version(), node.version);
      EXPECT_EQ(thing.note(), node.note) << "described as it was before";
      EXPECT_EQ(table_.InoOf(node.parent_ino, node.name), node.ino);
      const auto [it, fresh] =
          path_of_ino.try_emplace(node.ino, std::pair(node.parent_ino, node.name));
      EXPECT_EQ(it->second, std::pair(node.parent_ino, node.name)) << "two paths, one ino";
    }
  }

  InodeTable table_{MakeThing(), &WeakHash};
  Model model_;
  InodeTable::NodeId newest_ = InodeTable::kRoot;
  // All that were given out, and some that were not.
  std::vector<InodeTable::NodeId> ids_ = {InodeTable::kRoot, 0, 2, ~uint64_t{0}};
};

TEST_P(InodeTableModelTest, AgreesWithTheModelAfterRandomOperations) {
  std::mt19937_64 random(GetParam());
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int step = 0; step < 5000; ++step) {
    const InodeTable::NodeId nodeid = ids_[below(ids_.size())];
    if (below(5) < 3) {
      const std::string name(1, static_cast<char>('a' + below(6)));
      const int version = static_cast<int>(below(3));
      const int note = static_cast<int>(below(2));
      ASSERT_NO_FATAL_FAILURE(
          Lookup(below(3) ? InodeTable::kRoot : nodeid, name, version, note));
    } else {
      Forget(nodeid, 1 + below(3));
    }
    if (step % 50 == 0) {
      ASSERT_NO_FATAL_FAILURE(Check());
    }
  }
  for (const auto& [nodeid, node] : std::map(model_.nodes)) Forget(nodeid, node.lookups);
  EXPECT_EQ(table_.size(), 1u) << "something was left behind";
}

INSTANTIATE_TEST_SUITE_P(Seeds, InodeTableModelTest, ::testing::Range<uint64_t>(1, 9));

TEST(InodeTableTest, ThreadsThatLookUpAndForgetLeaveNothingBehind) {
  InodeTable table(MakeThing());
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20'000; ++i) {
      const std::string name(1, static_cast<char>('a' + random() % 8));
      const auto inode =
          table.Lookup(InodeTable::kRoot, name, MakeThing(static_cast<int>(random() % 2)));
      ASSERT_TRUE(inode);
      ASSERT_TRUE(table.Find(inode->nodeid));
      table.InoOf(1, name);
      table.Forget(inode->nodeid, 1);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 1u);
}

// What a thread keeps is what it was, whatever the others look up, replace and
// forget: below directories, too, that others forget and find again.
TEST(InodeTableTest, WhatIsKeptStaysTheSameWhileOthersLookUpAndForget) {
  // Eight values, so that nearly all paths collide.
  InodeTable table(MakeThing(), [](uint64_t parent, std::string_view name) {
    return HashPath(parent, name) % 8;
  });
  struct Kept {
    InodeTable::Inode inode;
    int version;
  };
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Kept> kept;
    for (int i = 0; i < 10'000; ++i) {
      const bool nested = !kept.empty() && random() % 2 == 0;
      const auto parent =
          nested ? kept[random() % kept.size()].inode.nodeid : InodeTable::kRoot;
      const std::string name(1, static_cast<char>('a' + random() % 4));
      const int version = static_cast<int>(random() % 2);
      const auto inode = table.Lookup(parent, name, MakeThing(version));
      ASSERT_TRUE(inode) << "its parent is kept";
      kept.push_back({*inode, version});
      if (kept.size() < 20) continue;
      const auto dropped = kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size());
      const auto found = table.Find(dropped->inode.nodeid);
      ASSERT_TRUE(found);
      ASSERT_EQ(found->ino, dropped->inode.ino);
      ASSERT_EQ(found->parent_ino, dropped->inode.parent_ino);
      ASSERT_EQ(static_cast<const Thing&>(*found->object).version(), dropped->version);
      table.Forget(dropped->inode.nodeid, 1);
      kept.erase(dropped);
    }
    for (const Kept& rest : kept) table.Forget(rest.inode.nodeid, 1);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 1u);
}

TEST(InodeTableTest, NamesOfFilesAreToBeForgotten) {
  InodeTable table(MakeThing());
  const auto folder = table.Lookup(InodeTable::kRoot, "folder", MakeThing());
  const auto first = table.Lookup(folder->nodeid, "first", MakeThing(), true);
  table.Lookup(InodeTable::kRoot, "second", MakeThing(), true);
  const uint64_t held = table.held_bytes();
  const auto one = table.NamesToForget(1, 10);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].parent, folder->nodeid);
  EXPECT_EQ(one[0].name, "first");
  const auto all = table.NamesToForget(UINT64_MAX, 10);
  ASSERT_EQ(all.size(), 2U);  // it goes on behind the first, and folders stay
  EXPECT_EQ(all[0].parent, InodeTable::kRoot);
  EXPECT_EQ(all[0].name, "second");
  EXPECT_EQ(table.NamesToForget(UINT64_MAX, 1).size(), 1U);
  table.Forget(first->nodeid, 1);
  EXPECT_LT(table.held_bytes(), held);
  EXPECT_EQ(table.NamesToForget(UINT64_MAX, 10).size(), 1U);
}

}  // namespace
}  // namespace ndlfs::fs
