// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/base/bytes.h"
#include "cache/chunk_cache.h"
#include "fs/cli/command.h"
#include "fs/cli/nearest.h"
#include "fs/cli/standard_output.h"
#include "fs/cli/store_argument.h"
#include "fs/view/view.h"

namespace ndlfs::fs {
namespace {

constexpr uint64_t kCacheSize = uint64_t{512} << 20;
constexpr size_t kPieceSize = size_t{4} << 20;
constexpr std::string_view kFilePrefix = "data.";
constexpr std::array<std::string_view, 2> kTextViews = {"txt", "jsonl"};

struct Arguments {
  std::string store;
  std::string path;
  std::string view;  // empty: the first view that the array has
};

// "npy", "raw", ...
std::string_view NameOf(const ViewKind& kind) {
  return kind.file_name().substr(kFilePrefix.size());
}

std::vector<std::string_view> ViewNames() {
  std::vector<std::string_view> names;
  for (const ViewKind* kind : ViewKinds()) names.push_back(NameOf(*kind));
  return names;
}

bool IsText(const ViewKind& kind) {
  return std::find(kTextViews.begin(), kTextViews.end(), NameOf(kind)) != kTextViews.end();
}

model::Result<const ViewKind*> ChooseView(const Arguments& arguments,
                                          const backends::ArraySpec& spec) {
  if (!arguments.view.empty()) {
    const ViewKind* kind = FindViewKind(std::string(kFilePrefix) + arguments.view);
    if (kind->AppliesTo(spec)) return kind;
    return model::Unsupported("elements of type {} have no {} view", spec.dtype.keyword(),
                              arguments.view);
  }
  for (const ViewKind* kind : ViewKinds()) {
    if (kind->AppliesTo(spec)) return kind;
  }
  return model::Unsupported("elements of type {} have no view", spec.dtype.keyword());
}

model::Result<void> Copy(const View& view) {
  backends::Bytes buffer(kPieceSize);
  for (uint64_t offset = 0;;) {
    NDLFS_TRY(const size_t count, view.Read(offset, buffer.span()));
    if (count == 0) return {};
    NDLFS_RETURN_IF_ERROR(WriteStandardOutput(buffer.span().first(count)));
    offset += count;
  }
}

// Refuses to write binary to a terminal, whose state control characters would change.
model::Result<void> CheckSuits(const ViewKind& kind, const backends::ArraySpec& spec) {
  if (IsText(kind) || ::isatty(STDOUT_FILENO) != 1) return {};
  for (const ViewKind* text : ViewKinds()) {
    if (!IsText(*text) || !text->AppliesTo(spec)) continue;
    return model::BadInput(
        "{} is binary, and standard output is a terminal; redirect it, or use --view {}",
        NameOf(kind), NameOf(*text));
  }
  return model::BadInput("{} is binary, and standard output is a terminal; redirect it",
                         NameOf(kind));
}

model::Result<void> CopyArray(const OpenedStore& store, const Arguments& arguments) {
  const std::string& path = store.object;
  NDLFS_TRY(const auto node, store.hierarchy->Load(path));
  if (node->is_group()) {
    return model::BadInput(
        "{}: a group has no data of its own; ndlfs describe shows its arrays", path);
  }
  if (!node->source) {
    return node->error ? model::Propagate(*node->error, path)
                       : model::NotFound("{}: has no data", path);
  }
  cache::ChunkCache cache(kCacheSize);
  const auto reader = std::make_shared<const cache::ArrayReader>(node->source, cache);
  NDLFS_TRY(const ViewKind* kind, ChooseView(arguments, reader->spec()), path);
  NDLFS_RETURN_IF_ERROR(CheckSuits(*kind, reader->spec()), path);
  NDLFS_TRY(const auto view, kind->Make({node, reader}), path);
  NDLFS_RETURN_IF_ERROR(Copy(*view), path);
  return {};
}

model::Result<int> Cat(const Arguments& arguments) {
  NDLFS_TRY(const OpenedStore named, OpenStore(arguments.store));
  NDLFS_TRY(const OpenedStore store, FollowLinks(named, arguments.path));
  const auto copied = CopyArray(store, arguments);
  if (copied) return 0;
  // The reader of the pipe has closed it, which needs no message.
  if (copied.error().sys_errno() == EPIPE) return 1;
  return model::Propagate(WithNearestName(copied.error(), store), store.where);
}

std::string CheckView(const std::string& name) {
  const std::vector<std::string_view> names = ViewNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  if (FindViewKind(name) != nullptr) {
    return fmt::format("{} (did you mean {}?)", model::Quote(name),
                       name.substr(kFilePrefix.size()));
  }
  return fmt::format("{} is not one of {}{}", model::Quote(name), fmt::join(names, ", "),
                     DidYouMean(name, names));
}

Command::Body PrepareCat(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("STORE", arguments->store, "File or directory that is an array store")
      ->required()
      ->option_text(" ");
  app.add_option("PATH", arguments->path,
                 "Array in the store; / if the store is a single array")
      ->required()
      ->option_text(" ");
  app.add_option("--view", arguments->view,
                 fmt::format("{} (the first that the array has)", fmt::join(ViewNames(), ", ")))
      ->check(CheckView)
      ->option_text("VIEW");
  return [arguments] { return Cat(*arguments); };
}

}  // namespace

const Command kCatCommand = {"cat", "Write a view of an array to standard output", PrepareCat};

}  // namespace ndlfs::fs
