// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/ndl/sourced_objects.h"
#include "backends/format/read_elements.h"
#include "backends/store/local/local_source.h"
#include "fs/cli/command.h"
#include "fs/cli/part_order.h"
#include "fs/cli/standard_output.h"
#include "fs/mount/open_source.h"
#include "model/attributes.h"
#include "model/cf_time.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

namespace stdfs = std::filesystem;
using backends::ndl::PartStores;
using backends::ndl::SourcedObjects;
using model::Result;
using model::ValueSource;

constexpr uint64_t kMostCoordinateBytes = uint64_t{64} << 20;
constexpr int kDiffers = 1;

struct JoinArguments {
  std::vector<std::string> stores;
  std::string along;
  std::string output;
  bool unpack = false;
  bool check = false;
};

void Tell(const std::string& text) { fmt::print(stderr, "{}\n", model::OneLine(text)); }

// One line on a terminal that says how far the work is; nothing elsewhere.
class ProgressLine {
 public:
  ~ProgressLine() { Erase(); }
  void Show(std::string_view what, uint64_t done, uint64_t all) {
    if (!terminal_ || all == 0 || (done != all && done * 100 / all == percent_)) return;
    percent_ = done * 100 / all;
    Erase();
    fmt::print(stderr, "{}%, {} of {} {}", percent_, done, all, what);
    std::fflush(stderr);
    shown_ = true;
  }
  void Erase() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  uint64_t percent_ = 1000;
  bool shown_ = false;
};

// Where the document and the stores are.
struct Place {
  std::shared_ptr<const backends::Source> source;
  std::string document;  // its path in the source
  std::vector<PartPlace> parts;
};

// The folder that holds the document and all stores is the source.
Result<Place> FindPlace(const JoinArguments& arguments) {
  std::error_code error;
  const auto absolute = [&](const std::string& path) {
    stdfs::path given = stdfs::absolute(path, error).lexically_normal();
    if (!given.has_filename()) given = given.parent_path();
    return stdfs::weakly_canonical(given.parent_path(), error) / given.filename();
  };
  const stdfs::path document =
      absolute(arguments.output.empty() ? "join.ndl.yaml" : arguments.output);
  stdfs::path root = document.parent_path();
  std::vector<stdfs::path> stores;
  for (const std::string& store : arguments.stores) {
    if (IsUrl(store)) return model::Unsupported("{}: join takes no URLs", ShownUrl(store));
    stores.push_back(absolute(store));
    const auto [in_root, unused] =
        std::mismatch(root.begin(), root.end(), stores.back().begin(), stores.back().end());
    stdfs::path common;
    for (auto part = root.begin(); part != in_root; ++part) common /= *part;
    root = common;
    if (root == stores.back()) root = root.parent_path();
  }
  if (error) return model::IoError(error.value(), "current folder");
  Place place;
  NDLFS_TRY(place.source, backends::LocalSource::Open(root.string()));
  place.document = document.lexically_relative(root).string();
  for (const stdfs::path& store : stores) {
    place.parts.push_back({store.lexically_relative(document.parent_path()).string(),
                           store.lexically_relative(root).string()});
  }
  return place;
}

// The numbers of a coordinate; times in nanoseconds. Empty if they are none.
Result<std::vector<double>> ReadNumbers(const backends::Node& node) {
  const model::Datatype& type = node.source->spec().dtype;
  std::vector<double> numbers;
  if (!type.is_fixed_size() || type.size() == 0) return numbers;
  NDLFS_TRY(const auto bytes, backends::ReadElements(*node.source, kMostCoordinateBytes));
  auto scale = model::ParseTimeUnits(model::TextOf(node.attributes(), "units"),
                                     model::TextOf(node.attributes(), "calendar"));
  if (!scale) scale = model::TimeScaleOf(type);
  for (size_t at = 0; at < bytes.size(); at += type.size()) {
    NDLFS_TRY(const auto value,
              model::DecodeElement(type, bytes.span().subspan(at, type.size())));
    const auto number = model::AsDouble(value);
    if (!number) return std::vector<double>();
    const auto time = scale ? scale->OfReal(*number) : std::nullopt;
    numbers.push_back(time ? static_cast<double>(*time) : *number);
  }
  return numbers;
}

Result<void> FindPlaceOf(PartPlace& part, const PartStores& stores, const std::string& along) {
  NDLFS_TRY(const auto store, stores.Open(part.path));
  const auto node = store->Load(model::JoinPath("/", along));
  if (!node && node.error().code() == model::ErrorCode::kNotFound) return {};
  if (!node) return model::Propagate(node.error(), part.name);
  if ((*node)->is_group() || !(*node)->source) return {};
  NDLFS_TRY(const auto numbers, ReadNumbers(**node), part.name);
  part.SetCoordinates(numbers);
  return {};
}

// The objects of the document that joins the stores.
class JoinedStores {
 public:
  JoinedStores(std::shared_ptr<const PartStores> stores, ValueSource spec)
      : spec_(std::move(spec)), objects_(SourcedObjects::Make(std::move(stores), {spec_})) {}

  // Loads all arrays, which compares the parts. Tells what is wrong with them.
  Result<void> Load() {
    auto loaded = LoadGroup("/", 0);
    progress_.Erase();
    return loaded;
  }

  size_t difference_count() const { return differences_; }
  size_t joined_count() const { return joined_; }
  // The sizes of the parts along the dimension; empty if no array has it.
  const std::vector<uint64_t>& sizes() const { return sizes_; }

 private:
  Result<void> LoadGroup(const std::string& path, int depth) {
    constexpr int kMostDepth = 64;
    NDLFS_TRY(const auto names, objects_->ListBelow(spec_, path));
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string child = model::JoinPath(path, names[i]);
      progress_.Show("objects compared", i, names.size());
      const auto node = objects_->LoadBelow(spec_, "/", child);
      if (!node) {
        Note(child, node.error());
      } else if ((*node)->error) {
        Note(child, *(*node)->error);
      } else if ((*node)->is_group()) {
        if (depth < kMostDepth) NDLFS_RETURN_IF_ERROR(LoadGroup(child, depth + 1));
      } else if ((*node)->source && (*node)->source->joined() != nullptr) {
        AddJoined(child, *(*node)->source->joined());
      }
    }
    return {};
  }

  void AddJoined(const std::string& path, const backends::JoinedArray& joined) {
    ++joined_;
    std::vector<uint64_t> sizes;
    for (size_t i = 1; i < joined.bounds().size(); ++i) {
      sizes.push_back(joined.bounds()[i] - joined.bounds()[i - 1]);
    }
    if (sizes_.empty()) sizes_ = sizes;
    if (sizes_ == sizes) return;
    ++differences_;
    progress_.Erase();
    Tell(fmt::format("{}: its parts have other sizes than those of other arrays", path));
  }

  void Note(const std::string& path, const model::Error& error) {
    ++differences_;
    progress_.Erase();
    Tell(fmt::format("{}: {}", path, error.message()));
  }

  const ValueSource spec_;
  const std::shared_ptr<const SourcedObjects> objects_;
  ProgressLine progress_;
  std::vector<uint64_t> sizes_;
  size_t differences_ = 0;
  size_t joined_ = 0;
};

Result<void> WriteDocument(const std::string& output, ValueSource spec) {
  model::Group root;
  root.source = std::move(spec);
  const std::string text = model::WriteGroup(root, "/");
  if (output.empty()) return WriteStandardOutput(backends::AsBytes(text));
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return model::IoError(errno != 0 ? errno : EIO, output);
  return {};
}

// One number where all are equal.
std::vector<uint64_t> ShortSizes(std::vector<uint64_t> sizes) {
  const bool all_equal = std::ranges::adjacent_find(sizes, std::not_equal_to()) == sizes.end();
  if (all_equal && !sizes.empty()) sizes.resize(1);
  return sizes;
}

Result<PartOrder> FindOrder(const PartStores& stores, const std::string& along,
                            std::vector<PartPlace>& parts) {
  ProgressLine progress;
  for (size_t i = 0; i < parts.size(); ++i) {
    progress.Show("stores opened", i, parts.size());
    NDLFS_RETURN_IF_ERROR(FindPlaceOf(parts[i], stores, along));
  }
  const auto placeless =
      std::ranges::find_if(parts, [](const PartPlace& part) { return !part.first; });
  if (placeless == parts.end()) return SortParts(parts);
  progress.Erase();
  Tell(
      fmt::format("{} has no coordinates along {}: the stores stay in the order of the "
                  "command line",
                  placeless->name, model::Quote(along)));
  return PartOrder();
}

Result<int> Join(const JoinArguments& arguments) {
  NDLFS_TRY(Place place, FindPlace(arguments));
  backends::OpenOptions options;
  options.open_store = backends::OpenAnyStore;
  NDLFS_TRY(const auto stores, PartStores::Make(place.source, place.document, options));
  NDLFS_TRY(const PartOrder order, FindOrder(*stores, arguments.along, place.parts));
  for (const std::string& note : order.notes) Tell(note);
  ValueSource spec;
  spec.kind = ValueSource::Kind::kJoin;
  spec.files.form = model::FileSet::Form::kList;
  spec.along = arguments.along;
  spec.unpack = arguments.unpack;
  for (const PartPlace& part : place.parts) spec.files.names.push_back(part.name);
  JoinedStores joined(stores, spec);
  NDLFS_RETURN_IF_ERROR(joined.Load());
  const bool differs = joined.difference_count() != 0;
  if (joined.joined_count() == 0 && !differs) {
    return model::BadInput("no array has the dimension {}", model::Quote(arguments.along));
  }
  // With sizes, a mount opens parts only when they are read, and would not see what differs.
  if (!differs) spec.sizes = ShortSizes(joined.sizes());
  NDLFS_RETURN_IF_ERROR(WriteDocument(arguments.output, std::move(spec)));
  if (arguments.check) {
    NDLFS_TRY(const int status, CheckSources({arguments.output}));
    if (status != 0) return status;
  }
  return differs || order.overlaps ? kDiffers : 0;
}

Command::Body PrepareJoin(CLI::App& app) {
  const auto arguments = std::make_shared<JoinArguments>();
  app.add_option("STORE", arguments->stores, "Files or directories that are array stores")
      ->required()
      ->option_text("...");
  app.add_option("--along", arguments->along, "Dimension along which arrays are joined")
      ->required()
      ->option_text("DIM");
  auto* output = app.add_option("-o,--output", arguments->output,
                                "File for the document (standard output)");
  output->option_text("FILE");
  app.add_flag("--unpack", arguments->unpack,
               "Unpack the numbers, if packing or units of time differ");
  app.add_flag("--check", arguments->check,
               "Then read all elements, as `ndlfs check` does (needs -o)")
      ->needs(output);
  app.footer(
      "Paths in the document are relative to its folder. Mount it like any other store.\n"
      "Exit status: 0 the stores are joined, 1 arrays differ or coordinates overlap; with\n"
      "--check also those of `ndlfs check`.");
  return [arguments] { return Join(*arguments); };
}

}  // namespace

const Command kJoinCommand = {"join", "Write the NDL document that joins stores", PrepareJoin};

}  // namespace ndlfs::fs
