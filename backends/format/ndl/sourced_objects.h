// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/ndl/join_source.h"
#include "backends/format/ndl/part_set.h"
#include "backends/format/ndl/part_stores.h"
#include "model/error.h"
#include "model/value_source.h"

namespace ndlfs::backends::ndl {

// Adds the description in a document to `node`, an array with data: its attributes come before
// those of the data. Fails if type or shape differ; a type without a size, and an empty shape,
// count as not known.
model::Result<void> Describe(const model::Ndarray& described, Node& node);

// Adds the attributes of `of_data` that `attributes` does not have.
void AddAttributes(const std::vector<model::Attribute>& of_data,
                   std::vector<model::Attribute>& attributes);

// The objects of a document whose data are in other files, as these files are now. Immutable.
class SourcedObjects {
 public:
  // `sources` are all sources of the document. An error in one of them is reported when its
  // object is loaded. `before` are the objects of the same document at an earlier look, or
  // null. With it, parts that existed then are not looked for again, which saves a look at each
  // of very many; the result then only serves to compare its fingerprint() with that of
  // `before`.
  static std::shared_ptr<const SourcedObjects> Make(
      std::shared_ptr<const PartStores> stores,
      const std::vector<model::ValueSourcePtr>& sources,
      const SourcedObjects* before = nullptr);

  // A number that changes if one of the files changes, appears or goes; if they are very many,
  // it looks at a sample.
  uint64_t fingerprint() const { return fingerprint_; }

  // The array at `path` of the document. `described` has its entity, with a source. If the data
  // cannot be shown, the node has an error.
  std::shared_ptr<Node> LoadArray(std::string_view path, const Node& described) const;

  // The object `below` ("/sst") of the group at `group_path`, whose objects come from `source`.
  // kNotFound if there is none.
  model::Result<std::shared_ptr<Node>> LoadBelow(const model::ValueSource& source,
                                                 std::string_view group_path,
                                                 std::string_view below) const;
  // The names of the children of `below`; kNotFound if that is no group.
  model::Result<std::vector<std::string>> ListBelow(const model::ValueSource& source,
                                                    std::string_view below) const;

 private:
  struct Parts {
    model::FileSet files;
    bool fills_missing;
    model::Result<std::shared_ptr<const PartSet>> set;
  };
  // A store that a group's source names, with the path of the group there.
  struct Origin {
    std::string path;  // in the source
    std::string base;
  };
  using NodePtr = std::shared_ptr<const Node>;

  explicit SourcedObjects(std::shared_ptr<const PartStores> stores)
      : stores_(std::move(stores)) {}
  void Add(const model::ValueSource& source, const SourcedObjects* before);
  const Parts* FindParts(const model::ValueSource& source) const;
  void AddFile(std::string_view name);
  model::Result<std::shared_ptr<const PartSet>> PartsOf(const model::ValueSource& source) const;

  model::Result<void> LoadData(std::string_view path, Node& node) const;
  model::Result<void> LoadFlat(const model::ValueSource& source, Node& node) const;
  model::Result<void> LoadOther(const model::ValueSource& source, std::string_view path,
                                Node& node) const;
  model::Result<void> LoadJoin(const model::ValueSource& source, std::string_view path,
                               Node& node) const;

  model::Result<std::vector<Origin>> OriginsOf(const model::ValueSource& source) const;
  model::Result<std::shared_ptr<Node>> LoadOfUnion(const std::vector<Origin>& origins,
                                                   std::string_view below) const;
  model::Result<void> JoinNode(const model::ValueSource& source, const Origin& origin,
                               std::string_view below, Node& node) const;

  const std::shared_ptr<const PartStores> stores_;
  std::vector<Parts> parts_;
  uint64_t fingerprint_ = 0;
};

}  // namespace ndlfs::backends::ndl
