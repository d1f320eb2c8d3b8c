// SPDX-License-Identifier: MIT
//
// A kind of files, or of small trees of files, that an array or a group has. To add a kind,
// define its ViewKind in a source file view_*.cc in the room of such views. Declare it in
// views.h of that room, and add it to the list in fs/view/all_views.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fs/view/base/view_input.h"
#include "fs/view/base/view_path.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"

namespace ndlfs::fs {

// The defaults of ViewKind. They are functions and not lambdas. Clang numbers lambdas in the
// order in which a source uses them, so a lambda of one source could take the place of another
// source's.
template <typename Input>
bool IsAlwaysListed(const Input&) {
  return true;
}
template <typename Input>
std::optional<model::Error> RefuseNothing(const Input&) {
  return std::nullopt;
}

template <typename Input>
std::optional<uint64_t> TellNoSize(const Input&) {
  return std::nullopt;
}

// `Input` is ArrayInput or GroupInput.
template <typename Input>
struct ViewKind {
  std::string_view file_name;  // "data.npy"
  // A few words for pages, as "NumPy"; {} stands for the file that this one is a header of.
  std::string_view description;
  bool is_text = false;       // can be written to a terminal
  bool is_directory = false;  // `make` makes a ViewDirectory
  // Whether there is such a file. For an array this depends on its type and
  // shape; for a group it may load a few of the children.
  bool (*applies_to)(const Input&);
  // Whether a listing shows the file. If not, the file can still be looked up
  // by its name.
  bool (*is_listed)(const Input&) = &IsAlwaysListed<Input>;
  // The reason why there is no such file although the kind applies; `error.txt`
  // shows it. nullopt if there is none. Reads nothing.
  std::optional<model::Error> (*refuse)(const Input&) = &RefuseNothing<Input>;
  // The size of the file, if the array tells it at less cost than making the file. nullopt if
  // it does not. `applies_to` must be true, and `refuse` must return nothing.
  std::optional<uint64_t> (*size)(const Input&) = &TellNoSize<Input>;
  // For a group: the file holds all that is below the group, and not only its own arrays.
  bool holds_subgroups = false;
  // Makes the file or the directory. `applies_to` must be true; callers may ignore `refuse`.
  // Reads no chunk.
  model::Result<ViewNode> (*make)(const Input&);
};
using ArrayViewKind = ViewKind<ArrayInput>;
using GroupViewKind = ViewKind<GroupInput>;

// A `refuse` for files that hold the bytes of all elements: refuses arrays with
// more bytes than a file can have.
std::optional<model::Error> RefuseWithoutElements(const ArrayInput& input);

}  // namespace ndlfs::fs
