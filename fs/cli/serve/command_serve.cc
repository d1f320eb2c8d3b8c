// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <memory>

#include "fs/cli/base/command.h"
#if NDLFS_WITH_SERVE
#include "fs/cli/base/options.h"
#include "fs/http/serve_source.h"
#include "fs/http/server.h"
#endif

namespace ndlfs::fs {
namespace {

#if NDLFS_WITH_SERVE

constexpr auto kServeLibrary = &HttpLibraryVersion;

void AddServeOptions(CLI::App& app, ServeOptions& options) {
  auto* const listen =
      app.add_option("--listen", options.listen, "Address and port (127.0.0.1:8080)")
          ->option_text("ADDRESS:PORT");
  app.add_option("--socket", options.socket, "Unix socket to listen at instead")
      ->option_text("PATH")
      ->excludes(listen);
  app.add_option("--socket-mode", options.socket_mode,
                 "Permissions of that socket, octal (600; 666 with --allow-other)")
      ->option_text("MODE");
  app.add_flag("--allow-other", options.mount.allow_other,
               "At a Unix socket, let other users read what they may read in the source");
  app.add_option("--as-user", options.as_user, "Serve what this user may read")
      ->option_text("USER");
  app.add_option("--token", options.token,
                 "What clients have to show; better in $NDLFS_TOKEN, which `ps` does not show")
      ->option_text("TEXT");
  app.add_flag("--no-token", options.without_token,
               "Let every user and program read who can connect");
  app.add_flag("--dot-files", options.dot_files,
               "Serve files whose names begin with a dot and .ndlfs, too");
  app.add_flag("--trust-pages", options.trusts_pages,
               "Let browsers run the pages of the source: they can read all that is served");
  app.add_option("--host", options.hosts,
                 "Name of this server that requests may have; may be given several times")
      ->option_text("NAME")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--base", options.base,
                 "Path that all URLs begin with, as a proxy in front sends it")
      ->option_text("PATH");
  app.add_option(
         "--proxy", options.proxies,
         "Address, network or \"unix\" of a proxy to believe; may be given several times")
      ->option_text("ADDRESS")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_flag("--cors", options.cors, "Let pages of all other sites read the files");
  app.add_option("--cors-origin", options.origins,
                 "Let pages of this site (https://HOST) read; may be given several times")
      ->option_text("ORIGIN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  app.add_option("--s3", options.s3_bucket,
                 "Answer as S3, too: the files are the objects of this bucket")
      ->option_text("BUCKET");
  app.add_option("--max-connections", options.most_connections,
                 "Most connections of all clients (4096)")
      ->option_text("NUMBER")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 20));
}

Command::Body PrepareServe(CLI::App& app) {
  const auto options = std::make_shared<ServeOptions>();
  AddSource(app, options->mount);
  AddServeOptions(app, *options);
  AddServedOptions(app, options->mount);
  app.footer(
      "Prints the URL, and serves until Ctrl-C. Needs neither FUSE nor any permission.\n"
      "The manual, ndlfs(1), has recipes: SSH, a proxy, a container.");
  return [options] { return ServeSource(*options); };
}

#else

constexpr std::string (*kServeLibrary)() = nullptr;

Command::Body PrepareServe(CLI::App& app) {
  app.add_option("SOURCE")->option_text(" ");
  return []() -> model::Result<int> {
    return model::Unsupported("serve: not built in (NDLFS_WITH_SERVE)");
  };
}

#endif

}  // namespace

const Command kServeCommand = {"serve", "Show the same files by HTTP, without FUSE",
                               PrepareServe, kServeLibrary};

}  // namespace ndlfs::fs
