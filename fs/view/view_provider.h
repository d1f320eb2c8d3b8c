// SPDX-License-Identifier: MIT
//
// Which files an array or a group has, by name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/view.h"
#include "fs/view/view_input.h"
#include "fs/view/view_kinds.h"
#include "model/error.h"

namespace ndlfs::fs {

// A file that there is, or would be.
struct ViewName {
  std::string name;
  bool is_listed = true;
  // Why the file is not there, although it is one that the type has.
  std::optional<model::Error> refusal = {};
};

// Which files a listing shows.
class ListedViews {
 public:
  // Those that say so themselves (ViewName::is_listed).
  ListedViews() = default;
  // All that have a name of their own.
  static ListedViews All();
  // Those with these short names.
  explicit ListedViews(std::vector<std::string> short_names);

  bool Shows(const ViewName& file) const;
  // As options have it: "all", "npy,raw"; empty for the default.
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
  // The files of `input`, in the order of a listing, also those that no listing
  // shows. Files of which there is no end, such as slices, are left out.
  virtual std::vector<ViewName> Names(const Input& input) const = 0;
  // Those of Names() that `listed` shows. Learns no more about `input` than that takes.
  virtual std::vector<ViewName> Listed(const Input& input, const ListedViews& listed) const {
    std::vector<ViewName> names = Names(input);
    std::erase_if(names, [&](const ViewName& file) { return !listed.Shows(file); });
    return names;
  }
  // The file called `name`: what Names() has, and what is found by name alone.
  // One file may have several names; the answer has its one true name. nullopt
  // where there is none.
  virtual std::optional<ViewName> Find(const Input& input, std::string_view name) const = 0;
  // Makes a file; `name` is a true name. The caller has heeded the refusal, if
  // there is one.
  virtual model::Result<ViewPtr> Make(const Input& input, std::string_view name) const = 0;
};
using ArrayViewProvider = ViewProvider<ArrayInput>;
using GroupViewProvider = ViewProvider<GroupInput>;

// One file for each kind that applies.
template <typename Input>
class KindProvider final : public ViewProvider<Input> {
 public:
  // Of `kinds` there is one of each name, and they outlive this object.
  explicit KindProvider(std::span<const ViewKind<Input>* const> kinds) : kinds_(kinds) {}

  std::vector<ViewName> Names(const Input& input) const override {
    std::vector<ViewName> names;
    for (const auto* kind : kinds_) {
      if (kind->applies_to(input)) names.push_back(Describe(*kind, input));
    }
    return names;
  }
  // Whether a kind applies may take a look at what is below a group.
  std::vector<ViewName> Listed(const Input& input, const ListedViews& listed) const override {
    std::vector<ViewName> names;
    for (const auto* kind : kinds_) {
      const ViewName file = {std::string(kind->file_name), kind->is_listed(input)};
      if (listed.Shows(file) && kind->applies_to(input))
        names.push_back(Describe(*kind, input));
    }
    return names;
  }
  std::optional<ViewName> Find(const Input& input, std::string_view name) const override {
    const auto* kind = KindOf(name);
    if (kind == nullptr || !kind->applies_to(input)) return std::nullopt;
    return Describe(*kind, input);
  }
  model::Result<ViewPtr> Make(const Input& input, std::string_view name) const override {
    const auto* kind = KindOf(name);
    if (kind == nullptr) return model::NotFound("{}", name);
    return kind->make(input);
  }

 private:
  static ViewName Describe(const ViewKind<Input>& kind, const Input& input) {
    return {std::string(kind.file_name), kind.is_listed(input), kind.refuse(input)};
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
  // All of `providers` outlive this object.
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
      for (ViewName& name : provider->Listed(input, listed)) names.push_back(std::move(name));
    }
    return names;
  }
  std::optional<ViewName> Find(const Input& input, std::string_view name) const override {
    for (const auto* provider : providers_) {
      if (auto found = provider->Find(input, name)) return found;
    }
    return std::nullopt;
  }
  model::Result<ViewPtr> Make(const Input& input, std::string_view name) const override {
    for (const auto* provider : providers_) {
      if (provider->Find(input, name)) return provider->Make(input, name);
    }
    return model::NotFound("{}", name);
  }

 private:
  const std::vector<const ViewProvider<Input>*> providers_;
};

// What arrays and groups have: the one list of providers of each.
const ArrayViewProvider& ArrayViews();
const GroupViewProvider& GroupViews();

// An alias: where `name` is `stem` and an extension or a slice, the same with
// "data" instead of `stem` ("t2m.npy" -> "data.npy"); otherwise empty. Names
// that ndlfs has given away already are no aliases.
std::string ResolveAlias(std::string_view stem, std::string_view name);

// The short names of all kinds there are, of arrays and of groups.
std::vector<std::string_view> ShortViewNames();

}  // namespace ndlfs::fs
