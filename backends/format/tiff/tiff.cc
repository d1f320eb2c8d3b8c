// SPDX-License-Identifier: MIT
#include "backends/format/tiff/tiff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/base/json.h"
#include "backends/format/computed_source.h"
#include "backends/format/hierarchy.h"
#include "backends/format/tiff/fields.h"
#include "backends/format/tiff/pictures.h"
#include "backends/format/tiff/place.h"
#include "backends/format/tiff/series.h"
#include "backends/format/tiff/tiff_source.h"
#include "backends/store/file_name.h"
#include "backends/store/source.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends {

namespace tiff {
namespace {

using model::Result;

// Objects by their path names.
using Nodes = std::map<std::string, std::shared_ptr<const Node>, std::less<>>;

// What an array is made of.
struct Plan {
  PageStack stack;
  bool is_contiguous = false;
  // Where x, y, z and t are, without a place on the earth: the distance and its unit.
  std::array<std::optional<double>, 4> spacing = {};
  std::array<std::string, 4> units = {};
};

double Ratio(uint64_t a, uint64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// The place of the same picture with other numbers of pixels.
Place Scaled(const Place& place, const ImageForm& full, const ImageForm& form) {
  Place scaled = place;
  if (!scaled.transform) return scaled;
  const double x = Ratio(full.width, form.width), y = Ratio(full.length, form.length);
  auto& t = *scaled.transform;
  t = {t[0], t[1] * x, t[2] * y, t[3], t[4] * x, t[5] * y};
  return scaled;
}

// How many elements of an image an element of a smaller version stands for, along each
// dimension.
Json ScaleOf(const PageStack& full, const ImageForm& form) {
  Json scale = Json::array();
  for (const auto& name : DimensionsOf(full)) {
    scale.push_back(name == "x"   ? Ratio(full.form.width, form.width)
                    : name == "y" ? Ratio(full.form.length, form.length)
                                  : 1.0);
  }
  return scale;
}

// Adds an attribute unless there is one of its name.
void AddNew(model::Attribute attribute, std::vector<model::Attribute>& attributes) {
  if (model::FindAttribute(attributes, attribute.name) == nullptr) {
    attributes.push_back(std::move(attribute));
  }
}

class Builder {
 public:
  Builder(TiffReader& reader, const OpenFileOf& open_other, const OpenOptions& options)
      : reader_(reader),
        open_other_(open_other),
        options_(options),
        file_{reader.store(), reader.head(), reader.file_size(), reader.order()} {}

  // A layout of GeoZarr's multiscales tells which arrays are smaller versions of which.
  void AddLayout() {
    if (layout_.empty()) return;
    auto node = std::make_shared<Node>(*nodes_.at("/"));
    std::get<model::Group>(node->entity)
        .attributes.push_back(
            model::MakeTextAttribute("multiscales", Json{{"layout", layout_}}.dump()));
    nodes_.at("/") = std::move(node);
  }

  Result<void> Add(const Series& series, size_t number) {
    const Picture& picture = series.picture;
    const std::string suffix = number == 0 ? std::string() : fmt::format("_{}", number + 1);
    NDLFS_TRY(auto attributes,
              AttributesOfFields(reader_, picture.directory, picture.full.form));
    const ImageForm& form = picture.full.form;
    for (auto& attribute : AttributesOfGdal(form.metadata, form.samples)) {
      if (model::FindAttribute(attributes, attribute.name) != nullptr) {
        attribute.name.insert(0, kGdalPrefix);
      }
      AddNew(std::move(attribute), attributes);
    }
    for (const auto& attribute : series.attributes) AddNew(attribute, attributes);
    if (form.place && form.place->is_point()) {
      AddNew(model::MakeTextAttribute("AREA_OR_POINT", "Point"), attributes);
    }
    const auto* extra = model::FindAttribute(attributes, "ExtraSamples");
    extra_samples_ = extra == nullptr ? std::nullopt : std::optional(*extra);
    // Overviews have no word of their own about it.
    std::vector<model::Attribute> factors;
    for (const std::string_view name : {"scale_factor", "add_offset"}) {
      const auto* factor = model::FindAttribute(attributes, name);
      if (factor != nullptr) factors.push_back(*factor);
    }
    if (nodes_.contains("/time")) {
      attributes.push_back(model::MakeTextAttribute("coordinates", "time"));
    }
    Plan plan = PlanOfPages(picture.full, series.dims);
    for (const std::string& name : series.others) {
      plan.stack.others.push_back(open_other_(name));
    }
    plan.is_contiguous = series.is_contiguous;
    plan.spacing = series.spacing;
    plan.units = series.units;
    AddArray("/", "image" + suffix, plan, picture.full.error, form.place, attributes,
             series.notes);
    size_t masks = 0;
    for (const Stack& mask : picture.masks) {
      if (mask.form.width != form.width || mask.form.length != form.length) continue;
      const auto name =
          masks++ == 0 ? "mask" + suffix : fmt::format("mask{}.{}", suffix, masks);
      AddLevel("/", name, mask, series);
    }
    if (picture.overviews.empty()) return {};
    const std::string group = "/overviews" + suffix;
    AddGroup(group);
    const std::string image = "image" + suffix;
    layout_.push_back(Json{{"asset", image}});
    for (size_t i = 0; i < picture.overviews.size(); ++i) {
      const Stack& overview = picture.overviews[i];
      const auto name = fmt::format("{}", i + 1);
      AddLevel(group, name, overview, series, factors);
      layout_.push_back(Json{{"asset", group.substr(1) + '/' + name},
                             {"derived_from", image},
                             {"transform", {{"scale", ScaleOf(plan.stack, overview.form)}}}});
      for (const Stack& mask : picture.masks) {
        const bool fits =
            mask.form.width == overview.form.width && mask.form.length == overview.form.length;
        if (fits) AddLevel(group, fmt::format("mask_{}", i + 1), mask, series);
      }
    }
    return {};
  }

  // A scalar coordinate.
  void AddTime(double seconds) {
    AddScalar("/", "time", seconds,
              {model::MakeTextAttribute("standard_name", "time"),
               model::MakeTextAttribute("units", "seconds since 1970-01-01T00:00:00Z")});
  }

  void AddGroup(const std::string& path) {
    auto node = std::make_shared<Node>();
    model::Group group;
    group.name = model::BaseName(path);
    node->entity = std::move(group);
    Put(path, std::move(node));
  }

  Nodes Take() && { return std::move(nodes_); }

 private:
  struct Known {
    uint64_t size = 0;
    std::optional<std::pair<double, double>> line;  // of coordinates: the first, and the step
  };

  void Put(const std::string& path, std::shared_ptr<Node> node) {
    node->mtime_ns = reader_.modified_ns();
    nodes_.emplace(path, std::move(node));
  }

  static Plan PlanOfPages(const Stack& stack, const std::vector<PageDimension>& dims) {
    Plan plan;
    plan.stack.form = stack.form;
    plan.stack.pages = stack.pages;
    plan.stack.dims = dims;
    return plan;
  }

  // An overview or a mask of a picture.
  void AddLevel(const std::string& group, const std::string& name, const Stack& stack,
                const Series& series, const std::vector<model::Attribute>& factors = {}) {
    const ImageForm& full = series.picture.full.form;
    std::optional<Place> place = stack.form.place;
    if (!place && full.place) place = Scaled(*full.place, full, stack.form);
    // Pages without directories have no overviews of their own.
    const bool is_single = stack.pages.size() == 1;
    Plan plan = PlanOfPages(stack, is_single ? std::vector<PageDimension>() : series.dims);
    plan.spacing = series.spacing;
    plan.units = series.units;
    if (plan.spacing[0]) *plan.spacing[0] *= Ratio(full.width, stack.form.width);
    if (plan.spacing[1]) *plan.spacing[1] *= Ratio(full.length, stack.form.length);
    std::vector<model::Attribute> attributes = {
        model::MakeTextAttribute("PhotometricInterpretation", PhotometricOf(stack.form))};
    if (extra_samples_ && stack.form.samples == full.samples) {
      attributes.push_back(*extra_samples_);
    }
    attributes.insert(attributes.end(), factors.begin(), factors.end());
    AddArray(group, name, plan, stack.error, place, std::move(attributes), {});
  }

  void AddArray(const std::string& group, const std::string& name, const Plan& plan,
                const std::optional<model::Error>& error, const std::optional<Place>& place,
                std::vector<model::Attribute> attributes,
                const std::vector<std::string>& notes) {
    const ImageForm& form = plan.stack.form;
    auto node = std::make_shared<Node>();
    node->notes = notes;
    model::Ndarray array;
    array.name = name;
    const auto type = TypeOf(form);
    if (type) array.type = *type;
    AddDimensions(group, plan, place, array);
    if (place) {
      attributes.push_back(
          model::MakeTextAttribute("grid_mapping", AddReferenceSystem(group, *place)));
    }
    std::vector<std::byte> fill;
    const auto no_data = type ? NoDataOf(form, *type) : std::nullopt;
    if (no_data) {
      fill.resize(type->size());
      if (!model::EncodeElement(*type, *no_data, fill)) fill.clear();
      attributes.push_back({"_FillValue", *type, {}, *no_data, {}});
      array.storage.fillvalue = *no_data;
    }
    array.attributes = std::move(attributes);
    array.storage.endian = file_.order;
    if (error) {
      node->error = error;
    } else {
      auto source =
          plan.is_contiguous
              ? MakeContiguousSource(file_, plan.stack, options_.max_chunk_size)
              : MakeTiffSource(file_, plan.stack, std::move(fill), options_.max_chunk_size);
      if (source) {
        array.storage.chunk = (*source)->spec().grid.max_chunk_shape();
        node->source = *std::move(source);
      } else {
        node->error = std::move(source).error();
      }
    }
    node->entity = std::move(array);
    Put(model::JoinPath(group, name), std::move(node));
  }

  // Gives the array its shape, and adds the coordinates.
  void AddDimensions(const std::string& group, const Plan& plan,
                     const std::optional<Place>& place, model::Ndarray& array) {
    const auto names = DimensionsOf(plan.stack);
    const auto shape = ShapeOf(plan.stack);
    for (size_t d = 0; d < shape.size(); ++d) {
      Known known{shape[d], std::nullopt};
      std::vector<model::Attribute> attributes;
      const size_t axis = std::string_view("xyzt").find(names[d]);
      const bool is_axis = axis != std::string_view::npos;
      if (axis < 2 && place && place->has_coordinates()) {
        const auto& t = *place->transform;
        const double step = axis == 0 ? t[1] : t[5];
        known.line = std::pair((axis == 0 ? t[0] : t[3]) + step / 2, step);
        attributes = AttributesOfAxis(*place, axis == 0);
      } else if (is_axis && !place && plan.spacing[axis]) {
        known.line = std::pair(0.0, *plan.spacing[axis]);
        if (!plan.units[axis].empty()) {
          attributes = {model::MakeTextAttribute("units", plan.units[axis])};
        }
      }
      const std::string dim = NameOfDimension(group, names[d], known);
      model::Dimension made{shape[d], {}};
      if (known.line) {
        made.dimcoord = model::JoinPath(group, dim);
        AddCoordinates(group, dim, known, std::move(attributes));
      }
      array.shape.push_back(std::move(made));
      array.dimension_names.push_back(dim);
    }
  }

  // One name is one dimension in a group: others get a number.
  std::string NameOfDimension(const std::string& group, const std::string& name,
                              const Known& known) {
    const std::string path = model::JoinPath(group, name);
    std::string& found = dims_[{path, known.size, known.line}];
    if (found.empty()) {
      const size_t number = ++numbers_[path];
      found = number == 1 ? name : fmt::format("{}_{}", name, number);
    }
    return found;
  }

  void AddCoordinates(const std::string& group, const std::string& name, const Known& known,
                      std::vector<model::Attribute> attributes) {
    const std::string path = model::JoinPath(group, name);
    if (nodes_.contains(path)) return;
    auto node = std::make_shared<Node>();
    model::DimCoord coordinates;
    coordinates.name = name;
    coordinates.type = model::Datatype::Float64();
    coordinates.shape = {{known.size, {}}};
    coordinates.dimension_names = {name};
    coordinates.attributes = std::move(attributes);
    node->entity = std::move(coordinates);
    const auto [first, step] = *known.line;
    auto source = MakeComputedSource({known.size}, [begin = first, step = step](uint64_t i) {
      return begin + static_cast<double>(i) * step;
    });
    if (source) {
      node->source = *std::move(source);
    } else {
      node->error = std::move(source).error();
    }
    Put(path, std::move(node));
  }

  // Returns the name of the variable.
  std::string AddReferenceSystem(const std::string& group, const Place& place) {
    for (size_t i = 1;; ++i) {
      const auto name = i == 1 ? std::string("spatial_ref") : fmt::format("spatial_ref_{}", i);
      const std::string path = model::JoinPath(group, name);
      const auto [found, is_new] = places_.emplace(path, place);
      if (!is_new && !(found->second == place)) continue;
      if (!is_new) return name;
      AddScalar(group, name, 0, AttributesOfPlace(place));
      return name;
    }
  }

  void AddScalar(const std::string& group, const std::string& name, double value,
                 std::vector<model::Attribute> attributes) {
    auto node = std::make_shared<Node>();
    model::Ndarray variable;
    variable.name = name;
    variable.type = model::Datatype::Float64();
    variable.attributes = std::move(attributes);
    node->entity = std::move(variable);
    auto source = MakeComputedSource({}, [value](uint64_t) { return value; });
    if (source) node->source = *std::move(source);
    Put(model::JoinPath(group, name), std::move(node));
  }

  TiffReader& reader_;
  const OpenFileOf& open_other_;
  const OpenOptions& options_;
  const TiffFile file_;
  Nodes nodes_;
  std::optional<model::Attribute> extra_samples_;  // of the picture that is being added
  // The names of dimensions, by the path that they would have, by their length, and by their
  // coordinates.
  std::map<std::tuple<std::string, uint64_t, std::optional<std::pair<double, double>>>,
           std::string>
      dims_;
  std::map<std::string, size_t> numbers_;  // how many dimensions have such a name
  std::map<std::string, Place> places_;
  Json layout_ = Json::array();
};

// Makes the objects of a file: arrays "image", "mask" and "overviews/1" ... of the first
// picture, "image_2" ... of others, their coordinates and reference systems, and the time.
// Fails only if the file cannot be read now.
Result<Nodes> MakeNodes(TiffReader& reader, const std::vector<Series>& series,
                        std::string_view file_name, const OpenFileOf& open_other,
                        const OpenOptions& options) {
  Builder builder(reader, open_other, options);
  builder.AddGroup("/");
  NDLFS_TRY(const auto fields,
            AttributesOfFields(reader, series.front().picture.directory, {}));
  const auto time = TimeOf(file_name, model::TextOf(fields, "DateTime"));
  if (time) builder.AddTime(*time);
  for (size_t i = 0; i < series.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(builder.Add(series[i], i));
  }
  builder.AddLayout();
  return std::move(builder).Take();
}

}  // namespace
}  // namespace tiff

namespace {

using model::Result;

// Everything is known when the file is opened; another version of it is opened again.
class TiffHierarchy final : public Hierarchy {
 public:
  // `others`: the other files of a set.
  TiffHierarchy(std::shared_ptr<const Store> store,
                std::vector<std::shared_ptr<const Store>> others, tiff::Nodes nodes,
                uint64_t held)
      : store_(std::move(store)),
        others_(std::move(others)),
        nodes_(std::move(nodes)),
        held_(held) {}

  std::string_view format() const override { return "TIFF"; }

  Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    const auto found = nodes_.find(path);
    if (found == nodes_.end()) return model::NotFound("there is no {}", model::Quote(path));
    return found->second;
  }

  Result<std::vector<std::string>> List(std::string_view path) const override {
    const auto group = nodes_.find(path);
    if (group == nodes_.end() || !group->second->is_group()) {
      return model::NotFound("there is no group {}", model::Quote(path));
    }
    std::vector<std::string> names;
    for (const auto& [child, node] : nodes_) {
      if (child != "/" && model::ParentPath(child) == path) {
        names.emplace_back(model::BaseName(child));
      }
    }
    return names;
  }

  Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    std::vector<std::optional<ValueInfo>> stamps = {stamp};
    // Behind a server, a change of another file is found when its pages are read.
    if (!store_->looks_are_requests()) {
      for (const auto& other : others_) {
        NDLFS_TRY(const auto of_other, other->Stat(""), other->Describe(""));
        stamps.push_back(of_other);
      }
    }
    return HashVersions(stamps);
  }

  uint64_t held_bytes() const override { return held_; }

 private:
  const std::shared_ptr<const Store> store_;
  const std::vector<std::shared_ptr<const Store>> others_;
  const tiff::Nodes nodes_;
  const uint64_t held_;
};

std::optional<model::Error> ErrorOf(const std::vector<std::string>& problems) {
  if (problems.empty()) return std::nullopt;
  std::string text = problems.front();
  if (problems.size() > 1) text += fmt::format(" (and {} more problems)", problems.size() - 1);
  return model::Corrupt("{}", text).value();
}

class Tiff final : public Format {
 public:
  std::string_view name() const override { return "TIFF"; }

  // The signatures of TIFF and BigTIFF in both byte orders. Others begin in the same way and
  // have another number.
  bool ProbeContent(ConstByteSpan head) const override {
    constexpr std::string_view kSignatures[] = {
        {"II\x2A\0", 4}, {"MM\0\x2A", 4}, {"II\x2B\0\x08\0\0\0", 8}, {"MM\0\x2B\0\x08\0\0", 8}};
    return std::ranges::any_of(kSignatures, [&](std::string_view signature) {
      return AsText(head).starts_with(signature);
    });
  }
  bool MatchesFileName(std::string_view name) const override {
    constexpr std::string_view kExtensions[] = {".tif", ".tiff", ".gtiff", ".btf", ".tf8"};
    return std::ranges::any_of(
        kExtensions, [&](std::string_view extension) { return HasExtension(name, extension); });
  }
  // A file with such a name may be something else, and is shown as it is then.
  bool ProbeFile(std::string_view, ConstByteSpan head) const override {
    return ProbeContent(head);
  }

  Result<std::shared_ptr<const Hierarchy>> Open(std::shared_ptr<const Source> source,
                                                const std::string& path,
                                                const OpenOptions& options) const override {
    auto store = source->OpenFile(path);
    const std::string where = store->Describe("");
    NDLFS_TRY(auto reader, tiff::TiffReader::Open(store), where);
    NDLFS_TRY(auto pictures, tiff::ReadPictures(reader), where);
    const auto problem = ErrorOf(pictures.problems);
    if (pictures.pictures.empty()) {
      return problem ? model::Propagate(*problem, where)
                     : model::Corrupt("{}: there is no directory", where);
    }
    uint64_t held = reader.head()->size();
    for (const auto& picture : pictures.pictures) {
      const size_t stacks = 1 + picture.overviews.size() + picture.masks.size();
      held += 4096 + picture.full.pages.size() * stacks * sizeof(tiff::PageChunks);
    }
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    const std::string name = path.substr(folder.size());
    std::vector<std::shared_ptr<const Store>> others;
    const auto open_other = [&](const std::string& other) {
      others.push_back(source->OpenFile(folder + other, Follow::kYes));
      return others.back();
    };
    NDLFS_TRY(const auto series,
              tiff::MakeSeries(reader, std::move(pictures), name, open_other), where);
    NDLFS_TRY(auto nodes, tiff::MakeNodes(reader, series, name, open_other, options), where);
    if (problem) {
      auto root = std::make_shared<Node>(*nodes.at("/"));
      root->error = problem;
      nodes["/"] = std::move(root);
    }
    return std::make_shared<TiffHierarchy>(std::move(store), std::move(others),
                                           std::move(nodes), held);
  }
};

}  // namespace

const Format& TiffFormat() {
  static const Tiff format;
  return format;
}

}  // namespace ndlfs::backends
