// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/detection.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/ndl/sourced_objects.h"
#include "backends/format/read_elements.h"
#include "backends/store/local/local_source.h"
#include "cache/array_check.h"
#include "cache/chunk_cache.h"
#include "fs/cli/command.h"
#include "fs/cli/standard_output.h"
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

constexpr uint64_t kCacheSize = uint64_t{256} << 20;
constexpr uint64_t kMostCoordinateBytes = uint64_t{64} << 20;
constexpr int kDiffers = 1;

struct Arguments {
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

// A store with its coordinates along the dimension.
struct Part {
  std::string name;  // relative to the document
  std::string path;  // in the source
  // In nanoseconds for times, else as they are; none if the store has no coordinates.
  std::optional<double> first;
  std::optional<double> last;
  std::optional<double> step;  // the smallest between two of them
};

// Where the document and the stores are.
struct Place {
  std::shared_ptr<const backends::Source> source;
  std::string document;  // its path in the source
  std::vector<Part> parts;
};

// The folder that holds the document and all stores is the source.
Result<Place> FindPlace(const Arguments& arguments) {
  std::error_code error;
  const auto absolute = [&](const std::string& path) {
    const stdfs::path given = stdfs::absolute(path, error).lexically_normal();
    return given.has_filename() ? given : given.parent_path();
  };
  const stdfs::path document =
      absolute(arguments.output.empty() ? "join.ndl.yaml" : arguments.output);
  stdfs::path root = document.parent_path();
  std::vector<stdfs::path> stores;
  for (const std::string& store : arguments.stores) {
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
                           store.lexically_relative(root).string(),
                           {},
                           {},
                           {}});
  }
  return place;
}

// The numbers of a coordinate; times in nanoseconds.
Result<std::vector<double>> ReadNumbers(const backends::Node& node) {
  const backends::ArraySpec& spec = node.source->spec();
  NDLFS_TRY(const backends::Bytes bytes,
            backends::ReadElements(*node.source, kMostCoordinateBytes));
  const auto units = model::TextOf(node.attributes(), "units");
  auto scale = model::ParseTimeUnits(units, model::TextOf(node.attributes(), "calendar"));
  if (!scale) scale = model::TimeScaleOf(spec.dtype);
  std::vector<double> numbers;
  for (size_t at = 0; at < bytes.size(); at += spec.dtype.size()) {
    NDLFS_TRY(const auto value,
              model::DecodeElement(spec.dtype, bytes.span().subspan(at, spec.dtype.size())));
    const auto number = model::AsDouble(value);
    if (!number) return std::vector<double>();
    const auto time = scale ? scale->OfReal(*number) : std::nullopt;
    numbers.push_back(time ? static_cast<double>(*time) : *number);
  }
  return numbers;
}

Result<void> ReadCoordinate(const PartStores& stores, const std::string& along, Part& part) {
  NDLFS_TRY(const auto store, stores.Open(part.path));
  const auto node = store->Load(model::JoinPath("/", along));
  if (!node && node.error().code() == model::ErrorCode::kNotFound) return {};
  if (!node) return model::Propagate(node.error(), part.name);
  if ((*node)->is_group() || !(*node)->source || !(*node)->source->spec().dtype.size())
    return {};
  NDLFS_TRY(const auto numbers, ReadNumbers(**node), part.name);
  if (numbers.empty()) return {};
  part.first = numbers.front();
  part.last = numbers.back();
  for (size_t i = 1; i < numbers.size(); ++i) {
    const double step = numbers[i] - numbers[i - 1];
    if (!part.step || step < *part.step) part.step = step;
  }
  return {};
}

// The step that most neighbours have, also from one part to the next.
double CommonStep(const std::vector<Part>& parts) {
  std::map<double, size_t> steps;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].step) ++steps[*parts[i].step];
    if (i > 0) ++steps[*parts[i].first - *parts[i - 1].last];
  }
  const auto most =
      std::ranges::max_element(steps, {}, [](const auto& step) { return step.second; });
  return most == steps.end() ? 0 : most->first;
}

// Sorts parts by their coordinates, and says where these overlap or are missing.
void Sort(const std::string& along, std::vector<Part>& parts) {
  const bool all = std::ranges::all_of(parts, [](const Part& part) { return part.first; });
  if (!all) {
    Tell(
        fmt::format("ndlfs join: not all stores have coordinates along {}: they stay in the "
                    "order of the command line",
                    model::Quote(along)));
    return;
  }
  std::ranges::stable_sort(parts, {}, [](const Part& part) { return *part.first; });
  const double step = CommonStep(parts);
  for (size_t i = 1; i < parts.size(); ++i) {
    const double distance = *parts[i].first - *parts[i - 1].last;
    const char* what = nullptr;
    if (*parts[i].first == *parts[i - 1].first) {
      what = "duplicate";
    } else if (distance <= 0) {
      what = "overlap";
    } else if (step > 0 && distance > 1.5 * step) {
      what = "gap";
    }
    if (what) Tell(fmt::format("{}: {} and {}", what, parts[i - 1].name, parts[i].name));
  }
}

// The joined arrays of all stores.
class JoinedStores {
 public:
  JoinedStores(std::shared_ptr<const PartStores> stores, ValueSource spec)
      : spec_(std::move(spec)), objects_(SourcedObjects::Make(std::move(stores), {spec_})) {}

  // Loads all arrays. Says what is wrong with them.
  Result<void> Load() { return LoadGroup("/", 0); }

  size_t difference_count() const { return differences_; }
  size_t joined_count() const { return joined_; }
  // The sizes of the parts along the dimension; empty if no array has it.
  const std::vector<uint64_t>& sizes() const { return sizes_; }

  // Reads all elements.
  Result<void> ReadAll(ProgressLine& progress) {
    cache::ChunkCache cache(kCacheSize);
    std::vector<std::pair<std::string, std::unique_ptr<cache::ArrayCheck>>> checks;
    uint64_t count = 0;
    for (const auto& [path, node] : arrays_) {
      checks.emplace_back(path, std::make_unique<cache::ArrayCheck>(node->source, cache));
      count += checks.back().second->part_count();
    }
    uint64_t done = 0;
    for (const auto& [path, check] : checks) {
      for (uint64_t i = 0; i < check->part_count(); ++i) {
        progress.Show("pieces", ++done, count);
        const auto read = check->Run(i);
        if (read) continue;
        progress.Erase();
        Say(path, read.error());
        break;
      }
    }
    return {};
  }

 private:
  Result<void> LoadGroup(const std::string& path, int depth) {
    constexpr int kMostDepth = 64;
    NDLFS_TRY(const auto names, objects_->ListBelow(spec_, path));
    for (const std::string& name : names) {
      const std::string child = model::JoinPath(path, name);
      const auto node = objects_->LoadBelow(spec_, "/", child);
      if (!node) {
        Say(child, node.error());
      } else if ((*node)->error) {
        Say(child, *(*node)->error);
      } else if ((*node)->is_group()) {
        if (depth < kMostDepth) NDLFS_RETURN_IF_ERROR(LoadGroup(child, depth + 1));
      } else if ((*node)->source) {
        Add(child, *node);
      }
    }
    return {};
  }

  void Add(const std::string& path, const std::shared_ptr<const backends::Node>& node) {
    arrays_.emplace_back(path, node);
    const auto* joined = node->source->joined();
    if (joined == nullptr) return;
    ++joined_;
    std::vector<uint64_t> sizes;
    for (size_t i = 1; i < joined->bounds().size(); ++i) {
      sizes.push_back(joined->bounds()[i] - joined->bounds()[i - 1]);
    }
    if (sizes_.empty()) sizes_ = sizes;
    if (sizes_ == sizes) return;
    ++differences_;
    Tell(fmt::format("{}: its parts have other sizes than those of other arrays", path));
  }

  void Say(const std::string& path, const model::Error& error) {
    ++differences_;
    Tell(fmt::format("{}: {}", path, error.message()));
  }

  const ValueSource spec_;
  const std::shared_ptr<const SourcedObjects> objects_;
  std::vector<std::pair<std::string, std::shared_ptr<const backends::Node>>> arrays_;
  std::vector<uint64_t> sizes_;
  size_t differences_ = 0;
  size_t joined_ = 0;
};

Result<void> WriteDocument(const Arguments& arguments, ValueSource spec,
                           std::vector<uint64_t> sizes) {
  const bool all_equal = std::ranges::adjacent_find(sizes, std::not_equal_to()) == sizes.end();
  if (all_equal && !sizes.empty()) sizes.resize(1);
  spec.sizes = std::move(sizes);
  model::Group root;
  root.source = std::move(spec);
  const std::string text = model::WriteGroup(root, "/");
  if (arguments.output.empty()) return WriteStandardOutput(backends::AsBytes(text));
  std::ofstream file(arguments.output, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return model::IoError(errno != 0 ? errno : EIO, arguments.output);
  return {};
}

Result<int> Join(const Arguments& arguments) {
  NDLFS_TRY(Place place, FindPlace(arguments));
  backends::OpenOptions options;
  options.open_store = backends::OpenAnyStore;
  NDLFS_TRY(const auto stores, PartStores::Make(place.source, place.document, options));
  ProgressLine progress;
  for (size_t i = 0; i < place.parts.size(); ++i) {
    progress.Show("stores", i, place.parts.size());
    NDLFS_RETURN_IF_ERROR(ReadCoordinate(*stores, arguments.along, place.parts[i]));
  }
  progress.Erase();
  Sort(arguments.along, place.parts);
  ValueSource spec;
  spec.kind = ValueSource::Kind::kJoin;
  spec.files.form = model::FileSet::Form::kList;
  spec.along = arguments.along;
  spec.unpack = arguments.unpack;
  for (const Part& part : place.parts) spec.files.names.push_back(part.name);
  JoinedStores joined(stores, spec);
  NDLFS_RETURN_IF_ERROR(joined.Load());
  if (joined.joined_count() == 0 && joined.difference_count() == 0) {
    return model::BadInput("no array has the dimension {}", model::Quote(arguments.along));
  }
  if (arguments.check) NDLFS_RETURN_IF_ERROR(joined.ReadAll(progress));
  progress.Erase();
  NDLFS_RETURN_IF_ERROR(WriteDocument(arguments, spec, joined.sizes()));
  return joined.difference_count() == 0 ? 0 : kDiffers;
}

Command::Body PrepareJoin(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("STORE", arguments->stores, "Files or directories that are array stores")
      ->required()
      ->option_text(" ");
  app.add_option("--along", arguments->along, "Dimension along which arrays are joined")
      ->required()
      ->option_text("DIM");
  app.add_option("-o,--output", arguments->output,
                 "File to write the document to (standard output); paths in it are relative to "
                 "its folder")
      ->option_text("FILE");
  app.add_flag("--unpack", arguments->unpack,
               "Join arrays with different packing or units of time, as unpacked numbers");
  app.add_flag("--check", arguments->check, "Read all elements of all stores");
  return [arguments] { return Join(*arguments); };
}

}  // namespace

const Command kJoinCommand = {"join", "Write the NDL document that joins stores", PrepareJoin};

}  // namespace ndlfs::fs
