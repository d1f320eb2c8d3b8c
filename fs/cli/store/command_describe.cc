// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "backends/format/versioned.h"
#include "cache/chunk_cache.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/options.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/source_path.h"
#include "fs/cli/store/store_argument.h"
#include "fs/cli/store/store_walk.h"
#include "fs/serve/open_source.h"
#include "fs/tree/store/document.h"

namespace ndlfs::fs {
namespace {

constexpr uint64_t kDescribeCacheSize = uint64_t{64} << 20;

struct DescribeArguments {
  std::string store;
  std::string path = "/";
  bool no_values = false;
  bool log = false;      // write the versions of the store instead
  MountOptions options;  // those about URLs
};

// Tells on standard error what is missing from the output, and why.
void PrintLeftOut(std::string_view where, std::string_view reason) {
  fmt::print(stderr, "ndlfs: {}: {}\n", model::OneLine(where), model::OneLine(reason));
}

// The stores in a directory, one a line with its format; an error if there is none.
model::Result<int> ListStores(const DescribeArguments& arguments) {
  constexpr size_t kMostStores = 1000;
  size_t count = 0;
  bool is_written = true;
  bool is_complete = true;
  NDLFS_RETURN_IF_ERROR(WalkStores(
      arguments.store,
      [&](const FoundStore& found) {
        if (found.error) {
          is_complete = false;
          PrintLeftOut(found.location, found.error->message());
        }
        if (found.format == nullptr) return true;
        if (++count > kMostStores) return false;
        const std::string line =
            fmt::format("{}  ({})\n", model::OneLine(found.location), found.format->name());
        is_written = WriteStandardOutput(backends::AsBytes(line)).has_value();
        return is_written;
      },
      backends::Detection::kContent, arguments.options.remote));
  if (!is_written) return 1;
  if (count == 0 && is_complete) {
    return model::Unsupported("{}: neither an array store nor a directory with array stores",
                              arguments.store);
  }
  fmt::print(
      stderr, "ndlfs: {} is a directory with {} array {}; ndlfs describe STORE describes one\n",
      model::OneLine(arguments.store),
      count > kMostStores ? fmt::format("more than {}", kMostStores) : fmt::format("{}", count),
      count == 1 ? "store" : "stores");
  return is_complete ? 0 : 1;
}

// Whether the argument is no store, for `error`, but may hold some.
model::Result<bool> IsDirectoryOfStores(const DescribeArguments& arguments,
                                        const model::Error& error) {
  if (error.code() != model::ErrorCode::kUnsupported || arguments.path != "/") return false;
  if (IsUrl(arguments.store)) return true;
  std::error_code failure;
  const bool is_directory = std::filesystem::is_directory(arguments.store, failure);
  if (failure) return model::IoError(failure.value(), arguments.store);
  return is_directory;
}

model::Result<int> WriteLog(const OpenedStore& store) {
  const auto* versioned = dynamic_cast<const backends::Versioned*>(store.hierarchy.get());
  if (versioned == nullptr) {
    return model::Unsupported("{}: a store of {} has no versions", store.where,
                              store.hierarchy->format());
  }
  NDLFS_TRY(const std::string text, versioned->Log(), store.where);
  NDLFS_RETURN_IF_ERROR(WriteStandardOutput(backends::AsBytes(text)));
  return 0;
}

model::Result<int> Describe(const DescribeArguments& arguments) {
  auto opened = OpenStore(arguments.store, arguments.options.remote);
  if (!opened) {
    NDLFS_TRY(const bool has_stores, IsDirectoryOfStores(arguments, opened.error()));
    if (has_stores) return ListStores(arguments);
  }
  NDLFS_TRY(const OpenedStore named, std::move(opened));
  if (arguments.log) return WriteLog(named);
  NDLFS_TRY(const OpenedStore store, FollowLinks(named, arguments.path));
  cache::ChunkCache cache(kDescribeCacheSize);
  std::vector<std::string> errors;
  // A value that is damaged or too large is left out on purpose; the next try may find another.
  const auto refused = [&](const model::Error& error) {
    if (error.is_transient()) errors.push_back(error.message());
  };
  const ReaderOf reader_of =
      [&](std::string_view path) -> std::shared_ptr<const cache::ArrayReader> {
    if (arguments.no_values) return nullptr;
    const auto node = store.hierarchy->Load(path);
    if (!node) refused(model::Error(node.error()).In(path));
    if (!node || !(*node)->source) return nullptr;
    return std::make_shared<cache::ArrayReader>((*node)->source, cache);
  };
  const TextSink print = [](std::string_view text) {
    return WriteStandardOutput(backends::AsBytes(text));
  };
  const auto written = WriteDocument(*store.hierarchy, store.name, store.object, reader_of,
                                     print, &errors, refused);
  if (!written) {
    return model::Propagate(WithNearestName(written.error(), store), store.where);
  }
  for (const std::string& error : errors) PrintLeftOut(arguments.store, error);
  return errors.empty() ? 0 : 1;
}

Command::Body PrepareDescribe(CLI::App& app) {
  const auto arguments = std::make_shared<DescribeArguments>();
  app.add_option(
         "STORE", arguments->store,
         "Array store: a file, directory or URL; of another directory, the stores in it")
      ->required()
      ->option_text(" ");
  app.add_option("PATH", arguments->path, "Group or array in the store (the whole store)")
      ->option_text(" ");
  app.add_flag("--no-values", arguments->no_values, "Leave out the values of arrays");
  app.add_flag("--log", arguments->log,
               "Write the branches, tags and history of a repository instead");
  AddRemoteOptions(app, arguments->options);
  app.footer(
      "`ndlfs cat STORE PATH` writes the elements of an array, `ndlfs check STORE` reads all.");
  return [arguments] { return Describe(*arguments); };
}

}  // namespace

const Command kDescribeCommand = {"describe", "Print the NDL document of a store",
                                  PrepareDescribe};

}  // namespace ndlfs::fs
