// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/base/checked.h"
#include "backends/detection.h"
#include "backends/format/ndl/part_description.h"
#include "backends/format/ndl/part_stores.h"
#include "backends/format/ndl/sourced_objects.h"
#include "backends/format/read_elements.h"
#include "backends/store/local/local_source.h"
#include "fs/cli/base/command.h"
#include "fs/cli/base/nearest.h"
#include "fs/cli/base/standard_output.h"
#include "fs/cli/store/part_order.h"
#include "fs/serve/open_source.h"
#include "fs/view/all_views.h"
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
  std::string new_dimension;  // instead of `along`
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

// The files that a pattern of the shell names, sorted; the text itself if there is such a file,
// or if no file fits.
std::vector<std::string> FilesOf(const std::string& store) {
  std::error_code error;
  const bool is_pattern = store.find_first_of("*?[") != store.npos &&
                          !stdfs::exists(stdfs::symlink_status(store, error));
  if (!is_pattern) return {store};
  glob_t found{};
  const int status = ::glob(store.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
    files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (files.empty()) files.push_back(store);
  return files;
}

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
  std::vector<std::string> names;
  for (const std::string& store : arguments.stores) {
    if (IsUrl(store)) return model::Unsupported("{}: join takes no URLs", ShownUrl(store));
    for (std::string& name : FilesOf(store)) names.push_back(std::move(name));
  }
  std::vector<stdfs::path> stores;
  for (const std::string& name : names) {
    stores.push_back(absolute(name));
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

// The array `name` in the group at `path`, or else in the first group below it that has it;
// null if there is none. Looks at `most` objects at most.
Result<std::shared_ptr<const backends::Node>> FindCoordinates(const backends::Hierarchy& store,
                                                              const std::string& path,
                                                              const std::string& name,
                                                              int& most) {
  const auto node = store.Load(model::JoinPath(path, name));
  if (node && !(*node)->is_group() && (*node)->source) return *node;
  if (!node && node.error().code() != model::ErrorCode::kNotFound) {
    return model::Propagate(node.error());
  }
  NDLFS_TRY(const auto names, store.List(path));
  for (const std::string& child : names) {
    if (--most < 0) break;
    const std::string below = model::JoinPath(path, child);
    const auto group = store.Load(below);
    if (!group || !(*group)->is_group()) continue;
    NDLFS_TRY(auto found, FindCoordinates(store, below, name, most));
    if (found) return found;
  }
  return nullptr;
}

Result<void> FindPlaceOf(PartPlace& part, const PartStores& stores, const std::string& along) {
  int most = 1000;
  NDLFS_TRY(const auto store, stores.Open(part.path));
  NDLFS_TRY(const auto node, FindCoordinates(*store, "/", along, most), part.name);
  if (!node) return {};
  NDLFS_TRY(const auto numbers, ReadNumbers(*node), part.name);
  part.SetCoordinates(numbers);
  return {};
}

// Arrays that have to be the same in all stores, and are too large for a mount to compare them
// each time. The command does it once.
class LargeArrays {
 public:
  LargeArrays(std::shared_ptr<const PartStores> stores, const std::vector<PartPlace>& parts)
      : stores_(std::move(stores)) {
    for (const PartPlace& part : parts) paths_.push_back(part.path);
  }

  // Describes the difference between the arrays at `path`, or why it is not known; nullopt if
  // there is none. `node` is the array in the first store.
  Result<std::optional<std::string>> FindDifference(const std::string& path,
                                                    const backends::Node& node) const {
    constexpr uint64_t kMostBytes = uint64_t{16} << 20;
    const auto bytes = BytesOf(node);
    if (!bytes || *bytes <= backends::ndl::kMostCompared) return std::nullopt;
    if (*bytes > kMostBytes) {
      return fmt::format("larger than {} MiB: not compared", kMostBytes >> 20);
    }
    for (size_t i = 1; i < paths_.size(); ++i) {
      NDLFS_TRY(const auto other, stores_->LoadArray(paths_[i], path));
      auto difference = backends::ndl::FindElementDifference(
          stores_->Describe(paths_[0], path), *node.source, stores_->Describe(paths_[i], path),
          *other->source, 0, kMostBytes);
      if (difference) return "the parts cannot be joined: " + *std::move(difference);
    }
    return std::nullopt;
  }

 private:
  static std::optional<uint64_t> BytesOf(const backends::Node& node) {
    if (!node.source || !node.source->spec().dtype.is_fixed_size()) return std::nullopt;
    return backends::CheckedProduct(node.source->spec().shape,
                                    node.source->spec().dtype.size());
  }

  const std::shared_ptr<const PartStores> stores_;
  std::vector<std::string> paths_;
};

// The objects of the document that joins the stores.
class JoinedStores {
 public:
  JoinedStores(const std::shared_ptr<const PartStores>& stores, ValueSource spec,
               const std::vector<PartPlace>& parts)
      : spec_(std::move(spec)),
        objects_(SourcedObjects::Make(stores, {spec_})),
        large_(stores, parts) {}

  // Loads all arrays, which compares the parts.
  Result<void> Load() {
    auto loaded = LoadGroup("/", 0);
    progress_.Erase();
    return loaded;
  }

  size_t difference_count() const { return differences_; }
  size_t joined_count() const { return joined_; }
  // The sizes of the parts along the dimension; empty if no array has it.
  const std::vector<uint64_t>& sizes() const { return sizes_; }
  // The names of the dimensions of all arrays.
  const std::set<std::string, std::less<>>& dimensions() const { return dimensions_; }
  // Says what is wrong with the parts.
  void TellDifferences() const {
    for (const std::string& note : notes_) Tell(note);
  }

 private:
  Result<void> LoadGroup(const std::string& path, int depth) {
    constexpr int kMostDepth = 64;
    NDLFS_TRY(const auto names, objects_->ListBelow(spec_, path));
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string child = model::JoinPath(path, names[i]);
      progress_.Show("objects compared", i, names.size());
      const auto node = objects_->LoadBelow(spec_, "/", child);
      if (node && !(*node)->is_group()) NoteDimensions(**node);
      if (!node) {
        Note(child, node.error());
      } else if ((*node)->error) {
        Note(child, *(*node)->error);
      } else if ((*node)->is_group()) {
        if (depth < kMostDepth) NDLFS_RETURN_IF_ERROR(LoadGroup(child, depth + 1));
      } else if ((*node)->source && (*node)->source->joined() != nullptr) {
        AddJoined(child, *(*node)->source->joined());
      } else {
        const auto difference = large_.FindDifference(child, **node);
        if (!difference) Note(child, difference.error());
        if (difference && *difference) Note(child, model::BadInput("{}", **difference).value());
      }
    }
    return {};
  }

  void NoteDimensions(const backends::Node& node) {
    for (const std::string& name : node.array().dimension_names) {
      if (!name.empty()) dimensions_.insert(name);
    }
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
    notes_.push_back(
        fmt::format("{}: its parts have other sizes than those of other arrays", path));
  }

  void Note(const std::string& path, const model::Error& error) {
    ++differences_;
    notes_.push_back(fmt::format("{}: {}", path, error.message()));
  }

  const ValueSource spec_;
  const std::shared_ptr<const SourcedObjects> objects_;
  const LargeArrays large_;
  ProgressLine progress_;
  std::vector<uint64_t> sizes_;
  std::set<std::string, std::less<>> dimensions_;
  std::vector<std::string> notes_;  // one line for each array that cannot be joined
  size_t differences_ = 0;
  size_t joined_ = 0;
};

// --- A new dimension, along which stores are members of an ensemble

// The objects of the document that stacks the stores: what is the same in all of them comes
// from the first one, and of all else each store is one element along the new dimension.
class StackedStores {
 public:
  StackedStores(std::shared_ptr<const PartStores> stores, std::vector<PartPlace> parts,
                std::string dimension, bool unpack)
      : stores_(stores),
        parts_(std::move(parts)),
        dimension_(std::move(dimension)),
        large_(stores, parts_) {
    spec_.kind = ValueSource::Kind::kJoin;
    spec_.unpack = unpack;
    spec_.files.form = model::FileSet::Form::kList;
    spec_.along = dimension_;
    for (const PartPlace& part : parts_) spec_.files.names.push_back(part.name);
    objects_ = SourcedObjects::Make(std::move(stores), {spec_});
  }

  // The document. An error names two stores and what differs in them, where they cannot be
  // stacked.
  Result<model::Group> Make() {
    model::Group root;
    NDLFS_RETURN_IF_ERROR(AddGroup("/", root, 0));
    progress_.Erase();
    if (stacked_ == 0) {
      return model::BadInput("the stores are the same: nothing is to be stacked along {}",
                             model::Quote(dimension_));
    }
    root.dimcoords.insert(root.dimcoords.begin(), Coordinate());
    NDLFS_TRY(root.attributes, CommonAttributes());
    return root;
  }

 private:
  // The attributes that are the same in all stores. Notes those that differ, because they may
  // say where an image lies.
  Result<std::vector<model::Attribute>> CommonAttributes() const {
    NDLFS_TRY(const auto first, stores_->Load(parts_.front().path, "/"));
    std::vector<model::Attribute> common = first->attributes();
    std::set<std::string, std::less<>> different;
    for (size_t i = 1; i < parts_.size(); ++i) {
      NDLFS_TRY(const auto other, stores_->Load(parts_[i].path, "/"));
      std::erase_if(common, [&](const model::Attribute& attribute) {
        const auto* found = model::FindAttribute(other->attributes(), attribute.name);
        const bool differs = found == nullptr || found->value != attribute.value;
        if (differs) different.insert(attribute.name);
        return differs;
      });
      for (const model::Attribute& attribute : other->attributes()) {
        if (model::FindAttribute(common, attribute.name) == nullptr) {
          different.insert(attribute.name);
        }
      }
    }
    if (!different.empty()) {
      Tell(fmt::format("attributes that differ are left out: {}", fmt::join(different, ", ")));
    }
    return common;
  }

  Result<void> AddGroup(const std::string& path, model::Group& group, int depth) {
    constexpr int kMostDepth = 64;
    NDLFS_TRY(const auto names, objects_->ListBelow(spec_, path));
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string child = model::JoinPath(path, names[i]);
      progress_.Show("objects compared", i, names.size());
      NDLFS_TRY(const auto node, objects_->LoadBelow(spec_, "/", child), child);
      if (node->is_group()) {
        if (depth == kMostDepth) continue;
        auto& below = group.groups.emplace_back();
        below.name = names[i];
        NDLFS_RETURN_IF_ERROR(AddGroup(child, below, depth + 1));
      } else {
        NDLFS_RETURN_IF_ERROR(AddArray(child, names[i], *node, group));
      }
    }
    return {};
  }

  // An array that differs is a member of the ensemble; coordinates must not.
  Result<void> AddArray(const std::string& path, const std::string& name,
                        const backends::Node& node, model::Group& group) {
    const bool is_coordinate = std::holds_alternative<model::DimCoord>(node.entity);
    const auto& dimensions = node.array().dimension_names;
    if (name == dimension_ || std::ranges::find(dimensions, dimension_) != dimensions.end()) {
      return model::BadInput("{} has the dimension {} already: use --along {}", path,
                             model::Quote(dimension_), dimension_);
    }
    if (node.error && is_coordinate) return model::Propagate(*node.error, path);
    bool differs = node.error.has_value();
    if (!differs) {
      NDLFS_TRY(const auto difference, large_.FindDifference(path, node), path);
      differs = difference.has_value();
    }
    ValueSource source;
    source.has_type = source.has_shape = false;
    source.path = path;
    if (differs) {
      NDLFS_RETURN_IF_ERROR(CheckStacked(path, source));
      ++stacked_;
    } else {
      source.kind = ValueSource::Kind::kStore;
      source.name = parts_.front().name;
    }
    if (is_coordinate) {
      auto& made = group.dimcoords.emplace_back();
      made.name = name;
      made.shape.resize(1);
      made.source = std::move(source);
    } else {
      auto& made = group.ndarrays.emplace_back();
      made.name = name;
      made.source = std::move(source);
    }
    return {};
  }

  // Fills in the join, and loads it once: its parts must not differ in anything but elements.
  Result<void> CheckStacked(const std::string& path, ValueSource& source) const {
    source = spec_;
    source.path = path;
    source.has_type = source.has_shape = false;
    backends::Node described;
    model::Ndarray array;
    array.name = std::string(model::BaseName(path));
    array.source = source;
    described.entity = std::move(array);
    const auto node = objects_->LoadArray(path, described);
    if (node->error) return model::Propagate(*node->error, path);
    return {};
  }

  // The names of the stores without their extensions, where these differ, say which is which.
  model::DimCoord Coordinate() const {
    model::DimCoord coordinate;
    coordinate.name = dimension_;
    coordinate.type = model::Datatype::String();
    coordinate.shape.resize(1);
    coordinate.shape[0].size = parts_.size();
    std::set<std::string, std::less<>> different;
    for (const PartPlace& part : parts_) different.insert(StemOfPart(part));
    model::Value::List names;
    for (const PartPlace& part : parts_) {
      names.emplace_back(different.size() == parts_.size() ? StemOfPart(part) : part.name);
    }
    coordinate.value = std::move(names);
    return coordinate;
  }
  static std::string StemOfPart(const PartPlace& part) {
    return std::string(StemOf(model::BaseName("/" + part.name)));
  }

  const std::shared_ptr<const PartStores> stores_;
  const std::vector<PartPlace> parts_;
  const std::string dimension_;
  const LargeArrays large_;
  ValueSource spec_;
  std::shared_ptr<const SourcedObjects> objects_;
  ProgressLine progress_;
  size_t stacked_ = 0;
};

Result<void> WriteGroupDocument(const std::string& output, const model::Group& root) {
  const std::string text = model::WriteGroup(root, "/");
  if (output.empty()) return WriteStandardOutput(backends::AsBytes(text));
  std::ofstream file(output, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return model::IoError(errno != 0 ? errno : EIO, output);
  return {};
}

Result<void> WriteDocument(const std::string& output, ValueSource spec) {
  model::Group root;
  root.source = std::move(spec);
  return WriteGroupDocument(output, root);
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
  PartOrder order;
  order.notes.push_back(
      fmt::format("{} has no coordinates along {}: the stores stay in the order of the "
                  "command line",
                  placeless->name, model::Quote(along)));
  return order;
}

// Finds the paths of objects, at and below the group at `path`, that `store` has and `first`
// has not. If a whole group is missing in `first`, gives only the path of the group.
void FindLeftOut(const backends::Hierarchy& first, const backends::Hierarchy& store,
                 const std::string& path, int depth, std::vector<std::string>& found) {
  constexpr int kMostDepth = 64;
  constexpr size_t kMost = 1000;
  const auto known = first.List(path), names = store.List(path);
  if (!known || !names) return;
  for (const std::string& name : *names) {
    if (found.size() == kMost) return;
    const std::string child = model::JoinPath(path, name);
    if (!std::ranges::binary_search(*known, name)) {
      found.push_back(child);
    } else if (const auto node = store.Load(child);
               node && (*node)->is_group() && depth < kMostDepth) {
      FindLeftOut(first, store, child, depth + 1, found);
    }
  }
}

// Says what the second and the last store have and the first one lacks: a join has the objects
// of the first store.
void TellLeftOut(const PartStores& stores, const std::vector<PartPlace>& parts) {
  constexpr size_t kMostLines = 10;
  std::set<std::string, std::less<>> told;
  if (parts.size() < 2) return;
  const auto first = stores.Open(parts.front().path);
  for (const size_t i : {size_t{1}, parts.size() - 1}) {
    const auto store = stores.Open(parts[i].path);
    std::vector<std::string> found;
    if (first && store) FindLeftOut(**first, **store, "/", 0, found);
    for (const std::string& path : found) {
      if (!told.insert(path).second || told.size() > kMostLines) continue;
      Tell(fmt::format("{}: {} is not in {}, and so not in the join", parts[i].name, path,
                       parts.front().name));
    }
  }
  if (told.size() > kMostLines) Tell(fmt::format("... and {} more", told.size() - kMostLines));
}

// No array has the dimension: it is a slip, or one that the stores are to get.
model::Error NoSuchDimension(const std::string& along, const JoinedStores& joined) {
  std::vector<std::string_view> names(joined.dimensions().begin(), joined.dimensions().end());
  std::string hint = DidYouMean(along, names);
  if (hint.empty()) {
    hint = fmt::format("; `--new {}` makes each store one element along a new dimension",
                       model::OneLine(along));
  }
  return model::BadInput("no array has the dimension {}{}", model::Quote(along), hint).value();
}

Result<int> Stack(const JoinArguments& arguments,
                  const std::shared_ptr<const PartStores>& stores,
                  std::vector<PartPlace> parts) {
  StackedStores stacked(stores, std::move(parts), arguments.new_dimension, arguments.unpack);
  NDLFS_TRY(const model::Group root, stacked.Make());
  NDLFS_RETURN_IF_ERROR(WriteGroupDocument(arguments.output, root));
  return arguments.check ? CheckSources({arguments.output}) : Result<int>(0);
}

Result<int> Join(const JoinArguments& arguments) {
  NDLFS_TRY(Place place, FindPlace(arguments));
  backends::OpenOptions options;
  options.open_store = backends::OpenAnyStore;
  NDLFS_TRY(const auto stores, PartStores::Make(place.source, place.document, options));
  if (!arguments.new_dimension.empty()) {
    return Stack(arguments, stores, std::move(place.parts));
  }
  NDLFS_TRY(const PartOrder order, FindOrder(*stores, arguments.along, place.parts));
  ValueSource spec;
  spec.kind = ValueSource::Kind::kJoin;
  spec.files.form = model::FileSet::Form::kList;
  spec.along = arguments.along;
  spec.unpack = arguments.unpack;
  for (const PartPlace& part : place.parts) spec.files.names.push_back(part.name);
  JoinedStores joined(stores, spec, place.parts);
  NDLFS_RETURN_IF_ERROR(joined.Load());
  const bool differs = joined.difference_count() != 0;
  if (joined.joined_count() == 0 && !joined.dimensions().contains(arguments.along)) {
    return model::Failure(NoSuchDimension(arguments.along, joined));
  }
  joined.TellDifferences();
  TellLeftOut(*stores, place.parts);
  for (const std::string& note : order.notes) Tell(note);
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
  auto* along =
      app.add_option("--along", arguments->along, "Dimension along which arrays are joined");
  along->option_text("DIM");
  app.add_option("--new", arguments->new_dimension,
                 "New dimension, along which each store is one element (ensembles)")
      ->excludes(along)
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
  app.callback([arguments] {
    if (arguments->along.empty() && arguments->new_dimension.empty()) {
      throw CLI::RequiredError("--along DIM or --new DIM");
    }
  });
  return [arguments] { return Join(*arguments); };
}

}  // namespace

const Command kJoinCommand = {"join", "Write the NDL document that joins stores", PrepareJoin};

}  // namespace ndlfs::fs
