// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "cache/array_reader.h"
#include "cache/chunk_cache.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/shell_quote.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/store_argument.h"
#include "fs/view/all_views.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

constexpr uint64_t kCatCacheSize = uint64_t{512} << 20;
constexpr size_t kCopiedPiece = size_t{4} << 20;

struct CatArguments {
  std::string store;
  std::optional<std::string> path;
  std::string view;           // empty: the first view that the array has
  std::string below;          // of a view that is a directory: the path of a file in it
  std::string slice;          // of an array; empty: all of it
  MountOptions options = {};  // those about URLs
};

// Whether one of these kinds has this short name.
bool HasView(const auto& kinds, std::string_view view) {
  return std::ranges::any_of(
      kinds, [&](const auto* kind) { return ShortName(kind->file_name) == view; });
}

// Whether groups have this view, and perhaps arrays, too.
bool IsOfGroups(std::string_view view) { return HasView(GroupViewKinds(), view); }

// Whether groups have this view, and arrays have not.
bool IsOfGroupsAlone(std::string_view view) {
  return IsOfGroups(view) && !HasView(ArrayViewKinds(), view);
}

// The file to write: the one that was asked for, or the first.
template <typename Input>
model::Result<ViewName> ChooseView(const ViewProvider<Input>& provider, const Input& input,
                                   const CatArguments& arguments, std::string_view what) {
  std::vector<ViewName> names = provider.Names(input);
  if (names.empty()) return model::Unsupported("{} have no view", what);
  if (arguments.view.empty()) return std::move(names.front());
  const auto named = std::find_if(names.begin(), names.end(), [&](const ViewName& file) {
    return ShortName(file.name) == arguments.view;
  });
  if (named != names.end()) return std::move(*named);
  if constexpr (std::is_same_v<Input, ArrayInput>) {
    if (IsOfGroupsAlone(arguments.view)) {
      return model::Unsupported(
          "{} is a file of a group, which holds all its arrays; name the group instead: {}",
          arguments.view, model::ParentPath(PathOf(input)));
    }
  }
  return model::Unsupported("{} have no {} view", what, arguments.view);
}

// Like cat(1), writes what is before a byte that cannot be read: pieces become smaller
// towards that.
model::Result<void> Copy(const View& view) {
  backends::Bytes buffer(kCopiedPiece);
  size_t piece = kCopiedPiece;
  for (uint64_t offset = 0;;) {
    const auto count = view.Read(offset, buffer.span().first(piece));
    if (!count && piece > 1) {
      piece /= 2;
      continue;
    }
    if (!count) {
      return model::Propagate(count.error().WithMessage(
          fmt::format("{}; the output ends before it, after {} bytes (in a mount, what is "
                      "after it can be read too)",
                      count.error().message(), offset)));
    }
    if (*count == 0) return {};
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(buffer.span().first(*count)));
    offset += *count;
  }
}

template <typename Input>
bool IsText(std::span<const ViewKind<Input>* const> kinds, std::string_view file_name) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const ViewKind<Input>* kind) {
    return kind->file_name == file_name && kind->is_text;
  });
}
bool IsText(std::string_view file_name) {
  if (const auto path = ViewPath::Parse(file_name); path && !path->has_brackets()) {
    const std::string whole = ViewPath::Whole(path->extension).Name();
    return IsText(ArrayViewKinds(), whole) || IsText(GroupViewKinds(), whole);
  }
  return IsText(ArrayViewKinds(), file_name) || IsText(GroupViewKinds(), file_name);
}

// Control characters among the bytes would change how a terminal works.
model::Result<void> CheckSuits(const ViewName& chosen, std::span<const ViewName> names,
                               const CatArguments& arguments) {
  if (arguments.below.ends_with(".json") || IsText(chosen.name) || ::isatty(STDOUT_FILENO) != 1)
    return {};
  for (const ViewName& text : names) {
    if (!IsText(text.name)) continue;
    return model::BadInput(
        "{} is binary, and standard output is a terminal; redirect it, or use --view {}",
        ShortName(chosen.name), ShortName(text.name));
  }
  return model::BadInput("{} is binary, and standard output is a terminal; redirect it",
                         ShortName(chosen.name));
}

// The file of a part of `input`; `whole` is the one of all of it.
template <typename Input>
model::Result<Resolution> ChooseSlice(const ViewProvider<Input>& provider, const Input& input,
                                      const ViewName& whole, const std::string& slice) {
  auto path = ViewPath::Parse(whole.name);
  if (path) path->slice = slice;
  auto found = path ? provider.Resolve(input, path->Name()) : std::nullopt;
  if (!found) return model::Unsupported("no {} view of a slice", ShortName(whole.name));
  if (found->refusal) return model::BadInput("--slice: {}", found->refusal->message());
  return *std::move(found);
}

// The file to write in `node`, which the view `name` is.
model::Result<ViewPtr> ChooseFile(ViewNode node, std::string_view name,
                                  const CatArguments& arguments) {
  const bool is_file = FileOf(node) != nullptr;
  if (is_file && !arguments.below.empty()) {
    return model::Unsupported("{} is a file, and not a directory", name);
  }
  NDLFS_TRY(const ViewNode found, FindBelow(std::move(node), arguments.below),
            fmt::format("{}/{}", name, model::OneLine(arguments.below)));
  if (ViewPtr file = FileOf(found)) return file;
  const ViewDirectoryPtr directory = DirectoryOf(found);
  const std::string below = arguments.below.empty() ? "" : arguments.below + '/';
  NDLFS_TRY(const auto entry, directory->List()->Next());
  const std::string first = entry ? ", such as " + below + entry->name : "";
  return model::Unsupported("{}/{} is a directory; name a file in it{}", name,
                            model::OneLine(arguments.below), model::OneLine(first));
}

// Writes a view of `input`; `what` is how messages call its kind. The size of
// the file is not asked for, so no refusal for that reason counts.
template <typename Input>
model::Result<void> CopyView(const ViewProvider<Input>& provider, const Input& input,
                             const CatArguments& arguments, std::string_view what) {
  NDLFS_TRY(ViewName chosen, ChooseView(provider, input, arguments, what));
  NDLFS_RETURN_IF_ERROR(CheckSuits(chosen, provider.Names(input), arguments));
  std::optional<Resolution> part;
  if (!arguments.slice.empty()) {
    NDLFS_TRY(part, ChooseSlice(provider, input, chosen, arguments.slice));
    chosen = *part;
  }
  NDLFS_TRY(ViewNode node, part ? part->make() : provider.Make(input, chosen.name));
  NDLFS_TRY(const ViewPtr view, ChooseFile(std::move(node), chosen.name, arguments));
  return Copy(*view);
}

model::Result<void> CopyGroup(const OpenedStore& store, cache::ChunkCache& cache,
                              const CatArguments& arguments) {
  NDLFS_TRY(const auto group, MakeGroupInput(store.hierarchy, store.object, cache));
  if (GroupViews().Names(*group).empty()) {
    return model::BadInput("a group has no data of its own; ndlfs describe shows its arrays");
  }
  return CopyView(GroupViews(), *group, arguments, "groups");
}

model::Result<void> CopyObject(const OpenedStore& store, const CatArguments& arguments) {
  const std::string& path = store.object;
  NDLFS_TRY(const auto node, store.hierarchy->Load(path));
  cache::ChunkCache cache(kCatCacheSize);
  if (node->is_group()) {
    NDLFS_RETURN_IF_ERROR(CopyGroup(store, cache, arguments), path);
    return {};
  }
  if (!node->source) {
    return node->error ? model::Propagate(*node->error, path)
                       : model::NotFound("{}: has no data", path);
  }
  const auto reader = std::make_shared<const cache::ArrayReader>(node->source, cache);
  const std::string what = fmt::format("elements of type {}", reader->spec().dtype.keyword());
  ArrayInput input = MakeArrayInput(node, reader, {});
  input.group = MakeGroupAround(store.hierarchy, path, cache);
  // A store that is one array has the files of a group, too.
  if (path == "/" && IsOfGroupsAlone(arguments.view)) {
    const std::string name(StemOf(store.name));
    const auto group = MakeGroupOfArray(std::move(input), name);
    NDLFS_RETURN_IF_ERROR(CopyView(GroupViews(), *group, arguments, what), path);
    return {};
  }
  NDLFS_RETURN_IF_ERROR(CopyView(ArrayViews(), input, arguments, what), path);
  return {};
}

int WrongWords(std::string_view message) {
  constexpr int kWrongCommandLine = 2;
  fmt::print(stderr, "ndlfs: {}\n", model::OneLine(message));
  return kWrongCommandLine;
}

// Whether the store has several objects to choose from, if no path says which.
bool HasChoice(const OpenedStore& store) {
  const auto node = store.hierarchy->Load(store.object);
  return node && (*node)->is_group();
}

model::Result<int> Cat(const CatArguments& arguments) {
  if (arguments.path && arguments.path->empty()) {
    return WrongWords("PATH is empty; see ndlfs cat --help");
  }
  NDLFS_TRY(const OpenedStore named, OpenStore(arguments.store, arguments.options.remote));
  std::string path = arguments.path.value_or("/");
  if (!arguments.path && !IsOfGroups(arguments.view) && HasChoice(named)) {
    const auto only = OnlyArrayOf(named);
    if (!only) {
      const std::string arrays = ArraysOf(named);
      return WrongWords(
          fmt::format("{}: which array? {}; write: ndlfs cat {} PATH", named.where,
                      arrays.empty() ? "The store has none" : "The store has " + arrays,
                      QuotedForShell(arguments.store)));
    }
    path = *only;
  }
  NDLFS_TRY(const OpenedStore store, FollowLinks(named, path));
  const auto copied = CopyObject(store, arguments);
  if (copied) return 0;
  // The reader of the pipe has closed it, which needs no message.
  if (copied.error().reason() == model::SystemReason::kClosedPipe) return 1;
  return model::Propagate(WithNearestName(copied.error(), store), store.where);
}

// "data.zarr/c/0" in two: the name of the view, and a path in it.
std::pair<std::string, std::string> SplitView(std::string_view text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const size_t below = std::min(slash + 1, text.size());
  return {std::string(text.substr(0, slash)), std::string(text.substr(below))};
}

std::string CheckView(const std::string& text) {
  const std::string name = SplitView(text).first;
  const std::vector<std::string_view> names = ShortViewNames();
  const auto is_known = [&](std::string_view view) {
    return std::find(names.begin(), names.end(), view) != names.end();
  };
  const auto path = ViewPath::Parse(name);
  const bool is_of_values =
      path && path->stem == ViewPath::Stem::kValues && !path->has_brackets();
  if (is_known(ShortName(name)) || (is_of_values && is_known(path->extension))) return {};
  return fmt::format("{} is not one of {}{}", model::Quote(name), fmt::join(names, ", "),
                     DidYouMean(name, names));
}

// The names with commas between them, in lines of at most `width` columns.
std::string Lines(const std::vector<std::string_view>& names, size_t width) {
  std::string text;
  size_t line = 0;  // where it begins
  for (const std::string_view name : names) {
    if (!text.empty()) text += ',';
    if (text.size() - line + name.size() + 1 > width) {
      text += '\n';
      line = text.size();
    } else if (!text.empty()) {
      text += ' ';
    }
    text += name;
  }
  return text;
}

Command::Body PrepareCat(CLI::App& app) {
  const auto arguments = std::make_shared<CatArguments>();
  app.add_option("STORE", arguments->store, "File, directory or URL that is an array store")
      ->required()
      ->option_text(" ");
  app.add_option("PATH", arguments->path,
                 "Array or group in the store (the store, if it is a single array)")
      ->option_text(" ");
  app.add_option("--view", arguments->view,
                 "One of the views below (the first that the array has)")
      ->check(CheckView)
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->option_text("VIEW");
  app.add_option("--slice", arguments->slice,
                 "Part of the array, as NumPy and by coordinates: \"0,:,lat=40:60\" (all)")
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->option_text("SLICE");
  AddRemoteOptions(app, arguments->options);
  app.footer(fmt::format(
      "Views:\n{}\n"
      "values.npy, values.txt and so on: the values that packed numbers stand for.\n"
      "`ndlfs describe STORE` names the arrays.",
      Lines(ShortViewNames(), 80)));
  return [arguments] {
    std::tie(arguments->view, arguments->below) = SplitView(arguments->view);
    arguments->view = ShortName(arguments->view);
    return Cat(*arguments);
  };
}

}  // namespace

const Command kCatCommand = {"cat", "Write a view of an array to standard output", PrepareCat};

}  // namespace ndlfs::fs
