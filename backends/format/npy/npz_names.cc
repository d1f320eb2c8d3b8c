// SPDX-License-Identifier: MIT
#include "backends/format/npy/npz_names.h"

#include <string_view>
#include <utility>

#include "model/path_name.h"
#include "model/utf8.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kArrayExtension = ".npy";

// A member name that is no UTF-8 is taken as Latin-1.
std::string ToPath(std::string_view member) { return "/" + model::AsUtf8(member); }

// Without the extension, if a name is left.
std::string_view WithoutExtension(std::string_view path) {
  const std::string_view name = model::BaseName(path);
  if (name.size() > kArrayExtension.size() && name.ends_with(kArrayExtension)) {
    path.remove_suffix(kArrayExtension.size());
  }
  return path;
}

class Namer {
 public:
  // With the groups around it.
  void AddGroup(std::string_view path) {
    std::string group = "/";
    for (const std::string_view name : model::SplitPath(path)) {
      names_.groups[group].emplace(name);
      group = model::JoinPath(group, name);
    }
    names_.groups.try_emplace(std::move(group));
  }

  // False if the name is taken.
  bool AddArray(std::string_view path, const std::string& member) {
    if (names_.groups.count(std::string(path)) != 0) return false;
    if (!names_.arrays.emplace(path, member).second) return false;
    names_.groups[std::string(model::ParentPath(path))].emplace(model::BaseName(path));
    return true;
  }

  NpzNames Take() { return std::move(names_); }

 private:
  NpzNames names_;
};

}  // namespace

NpzNames NameNpzMembers(const std::vector<std::string>& members,
                        const std::vector<std::string>& folders) {
  Namer namer;
  namer.AddGroup("/");
  for (const std::string& folder : folders) namer.AddGroup(ToPath(folder));
  for (const std::string& member : members) {
    namer.AddGroup(model::ParentPath(ToPath(member)));
  }
  // A member that could take away the short name of another one sorts before it. So by now it
  // is known whether a member has to keep its extension.
  for (const std::string& member : members) {
    const std::string path = ToPath(member);
    if (!namer.AddArray(WithoutExtension(path), member)) namer.AddArray(path, member);
  }
  return namer.Take();
}

}  // namespace ndlfs::backends
