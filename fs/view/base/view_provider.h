// SPDX-License-Identifier: MIT
//
// Which files and directories an array or a group has, by name.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/base/view_kind.h"
#include "fs/view/elements/view_node.h"
#include "model/error.h"

namespace ndlfs::fs {

// The name of a file or directory that exists, or that is refused.
struct ViewName {
  std::string name;
  bool is_listed = true;
  // If set, the reason why the file does not exist although its kind applies.
  std::optional<model::Error> refusal = {};
  bool is_directory = false;
  std::string_view description = {};  // that of its ViewKind
};

// What a name means.
struct Resolution : ViewName {
  // The size of the file, if it is known without making it; see ViewKind::size.
  std::optional<uint64_t> size = {};
  // Makes the file or directory. The caller has checked whether it is refused. The input that
  // was asked must still exist.
  std::function<model::Result<ViewNode>()> make = {};
};

// Which files a listing shows.
class ListedViews {
 public:
  // Shows the files that have ViewName::is_listed.
  ListedViews() = default;
  // Shows all files of ViewProvider::Names(). No directory: a program that copies a folder
  // would copy the data once more with each.
  static ListedViews All();
  // Shows the files and directories with these short names (ShortName()).
  explicit ListedViews(std::vector<std::string> short_names);

  bool Shows(const ViewName& file) const;
  // Whether it shows only files that have ViewName::is_listed.
  bool is_default() const { return choice_ == Choice::kDefault; }
  // The value of the option: "all", "npy,raw"; empty for the default.
  std::string Text() const;

 private:
  enum class Choice : uint8_t { kDefault, kAll, kNamed };
  Choice choice_ = Choice::kDefault;
  std::vector<std::string> short_names_;
};

// `Input` is ArrayInput or GroupInput. Thread-safe.
template <typename Input>
class ViewProvider {
 public:
  virtual ~ViewProvider() = default;
  // The files of `input`, in the order of a listing, including those that no
  // listing shows. Leaves out files that are too many to name, such as slices.
  virtual std::vector<ViewName> Names(const Input& input) const = 0;
  // The files of Names() that `listed` shows. Does not examine `input` for other files.
  virtual std::vector<ViewName> Listed(const Input& input, const ListedViews& listed) const {
    std::vector<ViewName> names = Names(input);
    std::erase_if(names, [&](const ViewName& file) { return !listed.Shows(file); });
    return names;
  }
  // The file called `name`: one of Names(), or one that is found by its name
  // alone. A file may have several names; the result has its true name. nullopt
  // if there is no such file. Parses the name once, and loads what the name needs.
  virtual std::optional<Resolution> Resolve(const Input& input,
                                            std::string_view name) const = 0;
  // Makes the file or directory called `name`, for callers that ask for it once.
  model::Result<ViewNode> Make(const Input& input, std::string_view name) const {
    const auto file = Resolve(input, name);
    if (!file) return model::NotFound("{}", name);
    if (!file->make) return model::Propagate(*file->refusal);
    return file->make();
  }
  // The same for a name that has to be that of a file: kUnsupported for a directory.
  model::Result<ViewPtr> MakeFile(const Input& input, std::string_view name) const {
    NDLFS_TRY(const ViewNode node, Make(input, name));
    if (ViewPtr file = FileOf(node)) return file;
    return model::Unsupported("{} is a directory", name);
  }
};
using ArrayViewProvider = ViewProvider<ArrayInput>;
using GroupViewProvider = ViewProvider<GroupInput>;

// One file for each kind that applies.
template <typename Input>
class KindProvider final : public ViewProvider<Input> {
 public:
  // No two `kinds` have the same name. They must outlive this object.
  explicit KindProvider(std::span<const ViewKind<Input>* const> kinds) : kinds_(kinds) {}

  std::vector<ViewName> Names(const Input& input) const override {
    std::vector<ViewName> names;
    for (const auto* kind : kinds_) {
      if (kind->applies_to(input)) names.push_back(Describe(*kind, input));
    }
    return names;
  }
  // Asks only listed kinds whether they apply, because that may load children
  // of a group.
  std::vector<ViewName> Listed(const Input& input, const ListedViews& listed) const override {
    std::vector<ViewName> names;
    names.reserve(kinds_.size());
    for (const auto* kind : kinds_) {
      const ViewName file = {.name = std::string(kind->file_name),
                             .is_listed = kind->is_listed(input),
                             .is_directory = kind->is_directory};
      if (listed.Shows(file) && kind->applies_to(input))
        names.push_back(Describe(*kind, input));
    }
    return names;
  }
  std::optional<Resolution> Resolve(const Input& input, std::string_view name) const override {
    const auto* kind = KindOf(name);
    if (kind == nullptr || !kind->applies_to(input)) return std::nullopt;
    Resolution file{Describe(*kind, input)};
    if (!file.refusal) file.size = kind->size(input);
    file.make = [kind, &input] { return kind->make(input); };
    return file;
  }

 private:
  static ViewName Describe(const ViewKind<Input>& kind, const Input& input) {
    return {std::string(kind.file_name), kind.is_listed(input), kind.refuse(input),
            kind.is_directory, kind.description};
  }
  const ViewKind<Input>* KindOf(std::string_view name) const {
    for (const auto* kind : kinds_) {
      if (kind->file_name == name) return kind;
    }
    return nullptr;
  }

  const std::span<const ViewKind<Input>* const> kinds_;
};

// Several providers as one. A name belongs to the first that has it.
template <typename Input>
class JoinedProvider final : public ViewProvider<Input> {
 public:
  // All `providers` must outlive this object.
  explicit JoinedProvider(std::vector<const ViewProvider<Input>*> providers)
      : providers_(std::move(providers)) {}

  std::vector<ViewName> Names(const Input& input) const override {
    std::vector<ViewName> names;
    for (const auto* provider : providers_) {
      for (ViewName& name : provider->Names(input)) names.push_back(std::move(name));
    }
    return names;
  }
  std::vector<ViewName> Listed(const Input& input, const ListedViews& listed) const override {
    std::vector<ViewName> names;
    for (const auto* provider : providers_) {
      std::vector<ViewName> more = provider->Listed(input, listed);
      if (names.empty()) std::swap(names, more);
      for (ViewName& name : more) names.push_back(std::move(name));
    }
    return names;
  }
  std::optional<Resolution> Resolve(const Input& input, std::string_view name) const override {
    for (const auto* provider : providers_) {
      if (auto found = provider->Resolve(input, name)) return found;
    }
    return std::nullopt;
  }

 private:
  const std::vector<const ViewProvider<Input>*> providers_;
};

// The list of all views. fs/view/all_views.cc defines it, above all rooms with views: the page
// of an object names all files of the object.
//
// All kinds of files, in the order of a listing.
std::span<const ArrayViewKind* const> ArrayViewKinds();
std::span<const GroupViewKind* const> GroupViewKinds();
// The provider of all files of arrays, and that of all files of groups.
const ArrayViewProvider& ArrayViews();
const GroupViewProvider& GroupViews();

}  // namespace ndlfs::fs
