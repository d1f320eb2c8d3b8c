// SPDX-License-Identifier: MIT
#include "backends/format/grib/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "backends/base/checked.h"
#include "backends/format/grib/levels.h"
#include "backends/format/grib/local_names.h"
#include "backends/format/grib/split_fields.h"
#include "model/attributes.h"

namespace ndlfs::backends::grib {
namespace {

using Fields = std::vector<const IndexedField*>;

// Latitudes of Gaussian grids and others take some time to compute. No file has so many.
constexpr size_t kMostDescribedGrids = 50;

model::Attribute TextAttributeOf(const char* name, std::string_view text) {
  return model::MakeTextAttribute(name, text);
}

// A dimension before those of the grid, or a scalar.
struct FieldAxis {
  std::string name;  // wanted; changed if another one has it
  std::vector<double> values = {};
  std::vector<double> bounds = {};  // two for each value, or none
  std::vector<model::Attribute> attributes = {};
  bool is_scalar() const { return values.size() == 1; }
  // Axes with the same are one coordinate variable.
  std::string Key() const {
    std::string key = name;
    key += is_scalar() ? " s" : " v";
    const auto add = [&](const std::vector<double>& numbers) {
      key.append(reinterpret_cast<const char*>(numbers.data()),
                 numbers.size() * sizeof(double));
    };
    add(values);
    key += "|";
    add(bounds);
    return key;
  }
};

using LevelKey = std::pair<double, double>;
LevelKey LevelOf(const Product& product) {
  return {product.level, product.second_level.value_or(product.level)};
}

// The sorted values of something of each field, and where each of them is.
template <typename T>
class Values {
 public:
  template <typename Get>
  Values(const Fields& fields, const Get& get, bool descends = false) {
    for (const IndexedField* field : fields) values_.push_back(get(field->product));
    std::ranges::sort(values_);
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    if (descends) std::ranges::reverse(values_);
    for (size_t i = 0; i < values_.size(); ++i) places_.emplace(values_[i], i);
  }
  size_t size() const { return values_.size(); }
  uint64_t PlaceOf(const T& value) const { return places_.at(value); }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
  std::map<T, uint64_t> places_;
};

// Numbers that tell levels apart: those of the first surface if these all differ, else of the
// second, the middle, or only their order.
std::vector<double> NumbersOf(const std::vector<LevelKey>& levels) {
  const std::function<double(const LevelKey&)> choices[] = {
      [](const LevelKey& level) { return level.first; },
      [](const LevelKey& level) { return level.second; },
      [](const LevelKey& level) { return (level.first + level.second) / 2; }};
  for (const auto& choice : choices) {
    std::vector<double> numbers;
    for (const LevelKey& level : levels) numbers.push_back(choice(level));
    const std::set<double> different(numbers.begin(), numbers.end());
    if (different.size() == numbers.size()) return numbers;
  }
  std::vector<double> order;
  for (size_t i = 0; i < levels.size(); ++i) order.push_back(static_cast<double>(i));
  return order;
}

std::vector<model::Attribute> TimeAttributes(bool is_valid_time) {
  return {TextAttributeOf("units", "seconds since 1970-01-01T00:00:00"),
          TextAttributeOf("calendar", "proleptic_gregorian"),
          TextAttributeOf("standard_name", is_valid_time ? "time" : "forecast_reference_time"),
          TextAttributeOf("long_name", is_valid_time ? "time" : "initial time of forecast")};
}

// The places of the fields of one array.
class FieldAxes {
 public:
  explicit FieldAxes(const Fields& fields)
      : fields_(fields),
        members_(fields, [](const Product& p) { return p.member.value_or(-1); }),
        references_(fields, [](const Product& p) { return p.reference; }),
        steps_(fields, [](const Product& p) { return p.step; }),
        levels_(fields, LevelOf, IsDescending(fields.front()->product.level_type)) {}

  FieldAxis Members() const {
    FieldAxis axis{"number"};
    for (const int32_t member : members_.values()) axis.values.push_back(member);
    axis.attributes = {TextAttributeOf("units", "1"),
                       TextAttributeOf("standard_name", "realization"),
                       TextAttributeOf("long_name", "ensemble member numerical id")};
    return axis;
  }
  bool has_members() const { return members_.values().back() >= 0; }
  FieldAxis References() const {
    FieldAxis axis{"time"};
    for (const int64_t time : references_.values()) {
      axis.values.push_back(static_cast<double>(time));
    }
    axis.attributes = TimeAttributes(false);
    return axis;
  }
  FieldAxis Steps() const {
    FieldAxis axis{"step"};
    for (const int64_t step : steps_.values()) {
      axis.values.push_back(static_cast<double>(step) / 3600);
    }
    axis.attributes = {TextAttributeOf("units", "hours"),
                       TextAttributeOf("standard_name", "forecast_period"),
                       TextAttributeOf("long_name", "time since forecast_reference_time")};
    return axis;
  }
  FieldAxis Levels() const {
    const Product& product = fields_.front()->product;
    FieldAxis axis{std::string(product.level_type)};
    axis.values = NumbersOf(levels_.values());
    if (product.second_level) {
      for (const auto& [first, second] : levels_.values()) {
        axis.bounds.push_back(first);
        axis.bounds.push_back(second);
      }
    }
    axis.attributes = LevelAttributes(product.level_type);
    return axis;
  }

  // How many places there are; nullopt if that overflows.
  std::optional<uint64_t> count() const {
    const uint64_t sizes[] = {members_.size(), references_.size(), steps_.size(),
                              levels_.size()};
    return CheckedProduct(sizes);
  }
  uint64_t CellOf(const Product& product) const {
    uint64_t cell = members_.PlaceOf(product.member.value_or(-1));
    cell = cell * references_.size() + references_.PlaceOf(product.reference);
    cell = cell * steps_.size() + steps_.PlaceOf(product.step);
    return cell * levels_.size() + levels_.PlaceOf(LevelOf(product));
  }

 private:
  const Fields& fields_;
  const Values<int32_t> members_;
  const Values<int64_t> references_;
  const Values<int64_t> steps_;
  const Values<LevelKey> levels_;
};

// Gives the arrays of one group their coordinates and names.
class GroupPlanner {
 public:
  GroupPlanner(PlannedGroup& group, const std::vector<GridAxes>& grids)
      : group_(group), grids_(grids) {}

  // An array without a name.
  PlannedArray Make(const FieldSet& set, Parameter parameter) {
    PlannedArray planned{.kind = nullptr, .fields = {}, .turn = set.turn};
    ArrayKind array;
    array.parameter = std::move(parameter);
    array.product = set.fields.front()->product;
    array.product.rest_hash = 0;
    array.grid = set.fields.front()->grid;
    for (const std::string& note : {set.note, grids_[array.grid].note, array.parameter.note}) {
      if (!note.empty()) array.notes.push_back(note);
    }
    array.is_known = false;
    const FieldAxes axes(set.fields);
    planned.fields.reserve(set.fields.size());
    for (const IndexedField* field : set.fields) {
      array.is_wide = array.is_wide || field->is_wide;
      array.is_known = array.is_known || field->is_known;
      planned.fields.push_back({axes.CellOf(field->product), field->offset, field->size,
                                field->field, field->expected});
    }
    std::ranges::sort(planned.fields, {}, &PlannedField::cell);
    AddFieldAxes(axes, array);
    AddGrid(array);
    // Sets of the same fields come one after another.
    if (last_kind_ == nullptr || *last_kind_ != array) {
      last_kind_ = std::make_shared<const ArrayKind>(std::move(array));
    }
    planned.kind = last_kind_;
    return planned;
  }

  void Place(std::string name, PlannedArray array) {
    for (char& c : name) {
      if (c == '/' || static_cast<unsigned char>(c) < 0x20) c = '_';
    }
    group_.arrays.emplace(FreeName(name), std::move(array));
  }

 private:
  std::string FreeName(const std::string& name) {
    if (!IsTaken(name)) return name;
    int& suffix = numbers_.try_emplace(name, 1).first->second;
    std::string free;
    do {
      free = fmt::format("{}_{}", name, ++suffix);
    } while (IsTaken(free));
    return free;
  }
  bool IsTaken(const std::string& name) const {
    return group_.arrays.contains(name) || dimensions_.contains(name);
  }

  void AddCoordinate(const std::string& name, PlannedCoordinate coordinate) {
    group_.arrays.emplace(name,
                          std::make_unique<const PlannedCoordinate>(std::move(coordinate)));
  }

  static void Mention(const std::string& name, ArrayKind& array) {
    if (!array.coordinates.empty()) array.coordinates += ' ';
    array.coordinates += name;
  }

  void AddFieldAxes(const FieldAxes& axes, ArrayKind& array) {
    if (axes.has_members()) AddAxis(axes.Members(), array);
    const FieldAxis references = axes.References(), steps = axes.Steps();
    const std::string time = AddAxis(references, array);
    const std::string step = AddAxis(steps, array);
    AddAxis(axes.Levels(), array);
    AddValidTime(references, time, steps, step, array);
  }

  // Returns the name of the coordinates.
  std::string AddAxis(FieldAxis axis, ArrayKind& array) {
    const auto [entry, is_new] = names_.try_emplace(axis.Key());
    if (is_new) entry->second = FreeName(axis.name);
    const std::string& name = entry->second;
    if (!axis.is_scalar()) array.dims.push_back({name, axis.values.size()});
    if (is_new) AddAxisVariable(name, axis);
    Mention(name, array);
    return name;
  }

  void AddAxisVariable(const std::string& name, FieldAxis& axis) {
    PlannedCoordinate coordinate;
    if (!axis.is_scalar()) coordinate.dims = {{name, axis.values.size()}};
    coordinate.attributes = std::move(axis.attributes);
    if (!axis.bounds.empty()) {
      PlannedCoordinate bounds;
      bounds.dims = coordinate.dims;
      bounds.dims.push_back({"bnds", 2});
      dimensions_.insert("bnds");
      bounds.values =
          ElementAt([values = std::move(axis.bounds)](uint64_t i) { return values[i]; });
      const std::string bounds_name = FreeName(name + "_bnds");
      AddCoordinate(bounds_name, std::move(bounds));
      coordinate.attributes.push_back(TextAttributeOf("bounds", bounds_name));
    }
    coordinate.values =
        ElementAt([values = std::move(axis.values)](uint64_t i) { return values[i]; });
    AddCoordinate(name, std::move(coordinate));
  }

  void AddValidTime(const FieldAxis& references, const std::string& time,
                    const FieldAxis& steps, const std::string& step, ArrayKind& array) {
    const auto [entry, is_new] = names_.try_emplace("valid_time " + time + "/" + step);
    if (is_new) {
      entry->second = FreeName("valid_time");
      PlannedCoordinate coordinate;
      if (!references.is_scalar()) coordinate.dims.push_back({time, references.values.size()});
      if (!steps.is_scalar()) coordinate.dims.push_back({step, steps.values.size()});
      coordinate.attributes = TimeAttributes(true);
      // Files of one time or step are joined by these.
      coordinate.attributes.push_back(TextAttributeOf("coordinates", time + " " + step));
      coordinate.values =
          ElementAt([times = references.values, hours = steps.values](uint64_t i) {
            return times[i / hours.size()] + hours[i % hours.size()] * 3600;
          });
      AddCoordinate(entry->second, std::move(coordinate));
    }
    Mention(entry->second, array);
  }

  // All coordinates of a grid have the same suffix.
  std::string SuffixOf(const GridAxes& grid) const {
    const auto is_free = [&](const std::string& suffix) {
      const auto taken = [&](const auto& named) { return IsTaken(named.name + suffix); };
      return !std::ranges::any_of(grid.coordinates, taken) &&
             !std::ranges::any_of(grid.dims, taken) && !IsTaken("projection" + suffix);
    };
    std::string suffix;
    for (size_t i = suffixes_.size(); !is_free(suffix); ++i) suffix = fmt::format("_{}", i);
    return suffix;
  }

  void AddGrid(ArrayKind& array) {
    const GridAxes& grid = grids_[array.grid];
    const auto [entry, is_new] = suffixes_.try_emplace(array.grid);
    if (is_new) {
      entry->second = SuffixOf(grid);
      AddGridVariables(grid, entry->second);
    }
    const std::string& suffix = entry->second;
    for (const GridDimension& dim : grid.dims) {
      array.dims.push_back({dim.name + suffix, dim.size});
    }
    array.grid_dims = grid.dims.size();
    // Latitudes and longitudes come first: CDO takes the first five names.
    const std::string others = std::exchange(array.coordinates, {});
    for (const GridCoordinate& coordinate : grid.coordinates) {
      Mention(coordinate.name + suffix, array);
    }
    if (!others.empty()) Mention(others, array);
    if (!grid.mapping.empty()) array.mapping = "projection" + suffix;
  }

  void AddGridVariables(const GridAxes& grid, const std::string& suffix) {
    for (const GridDimension& dim : grid.dims) dimensions_.insert(dim.name + suffix);
    for (const GridCoordinate& coordinate : grid.coordinates) {
      PlannedCoordinate planned;
      for (const size_t d : coordinate.dims) {
        planned.dims.push_back({grid.dims[d].name + suffix, grid.dims[d].size});
      }
      planned.values = coordinate.values;
      planned.attributes = coordinate.attributes;
      if (planned.dims.size() == 2 && !grid.mapping.empty()) {
        planned.attributes.push_back(TextAttributeOf("grid_mapping", "projection" + suffix));
      }
      AddCoordinate(coordinate.name + suffix, std::move(planned));
    }
    if (grid.mapping.empty()) return;
    PlannedCoordinate mapping;
    mapping.values = ElementAt([](uint64_t) { return 0.0; });
    mapping.attributes = grid.mapping;
    AddCoordinate("projection" + suffix, std::move(mapping));
  }

  PlannedGroup& group_;
  const std::vector<GridAxes>& grids_;
  std::map<std::string, std::string> names_;  // of axes, by their keys
  std::map<uint32_t, std::string> suffixes_;  // of grids
  std::set<std::string, std::less<>> dimensions_;
  std::map<std::string, int> numbers_;  // the last suffixes of names that were not free
  std::shared_ptr<const ArrayKind> last_kind_;
};

auto CodeOf(const ParameterKey& key) {
  const std::string_view question = key.question ? *key.question : std::string_view();
  return std::tuple(question, key.edition, key.centre, key.discipline, key.category, key.number,
                    key.surface, key.second_surface, key.level, key.process);
}

// The fields of one array, before those at the same place are told apart.
struct FieldGroup {
  Parameter parameter;
  Fields fields;
};

// By the group, the array in it, and the grid, in the order of their first fields.
class Grouping {
 public:
  using Group = std::pair<std::string_view, std::string_view>;

  explicit Grouping(const MessageIndex& index) {
    AskForParameters(index);
    for (const IndexedField& field : index.fields) Add(field);
  }
  std::vector<std::pair<Group, std::vector<FieldGroup>>>& groups() { return groups_; }

 private:
  void Add(const IndexedField& field) {
    const Product& product = field.product;
    const Parameter& parameter = ParameterOf(product.parameter);
    const Group group(product.level_type, product.step_type);
    const auto [group_entry, is_new_group] = group_numbers_.try_emplace(group, groups_.size());
    if (is_new_group) groups_.push_back({group, {}});
    auto& arrays = groups_[group_entry->second].second;
    const std::string identity =
        parameter.id != 0 ? fmt::format("{}", parameter.id) : parameter.short_name;
    const auto [entry, is_new] = array_numbers_.try_emplace(
        std::tuple(group_entry->second, identity, product.variant, field.grid,
                   product.member.has_value(), product.second_level.has_value()),
        arrays.size());
    if (is_new) arrays.push_back({parameter, {}});
    arrays[entry->second].fields.push_back(&field);
  }

  void AskForParameters(const MessageIndex& index) {
    std::set<std::string_view> different;
    for (const IndexedField& field : index.fields) {
      if (field.product.parameter.question) different.insert(*field.product.parameter.question);
    }
    if (different.empty()) return;
    const std::vector<std::string_view> questions(different.begin(), different.end());
    const LocalNames names = AskForNames(questions);
    for (size_t i = 0; i < questions.size(); ++i)
      local_.emplace(questions[i], names.parameters[i]);
    problem_ = names.problem;
  }

  Parameter MakeParameter(const ParameterKey& key) const {
    const auto local = key.question ? local_.find(*key.question) : local_.end();
    if (local != local_.end() && local->second) return *local->second;
    Parameter made = FindParameter(key);
    if (key.question) made.note = problem_;
    return made;
  }

  const Parameter& ParameterOf(const ParameterKey& key) {
    const auto [entry, is_new] = parameters_.try_emplace(CodeOf(key));
    if (is_new) entry->second = MakeParameter(key);
    return entry->second;
  }

  std::map<decltype(CodeOf(ParameterKey())), Parameter> parameters_;
  std::map<std::string_view, std::optional<Parameter>> local_;  // by their questions
  std::string problem_;  // why libeccodes could not be asked
  std::map<Group, size_t> group_numbers_;
  std::map<std::tuple<size_t, std::string, std::string, uint32_t, bool, bool>, size_t>
      array_numbers_;
  std::vector<std::pair<Group, std::vector<FieldGroup>>> groups_;
};

std::string NameOf(const FieldGroup& group, const FieldSet& set) {
  std::string name = group.parameter.variable;
  const std::string& variant = group.fields.front()->product.variant;
  if (!variant.empty()) name += "_" + variant;
  if (!set.suffix.empty()) name += "_" + set.suffix;
  return name;
}

void PlanGroup(const std::vector<FieldGroup>& fields, const std::vector<GridAxes>& grids,
               PlannedGroup& group) {
  GroupPlanner planner(group, grids);
  // Coordinates get their names first.
  std::vector<std::pair<std::string, PlannedArray>> arrays;
  for (const FieldGroup& of_array : fields) {
    for (const FieldSet& set : SplitFields(of_array.fields)) {
      arrays.emplace_back(NameOf(of_array, set), planner.Make(set, of_array.parameter));
    }
  }
  for (auto& [name, array] : arrays) planner.Place(name, std::move(array));
}

struct CentreName {
  uint16_t number;
  std::string_view name, description;
};
constexpr CentreName kCentres[] = {
    {7, "kwbc", "US National Weather Service - NCEP"},
    {34, "rjtd", "Tokyo"},
    {54, "cwao", "Montreal"},
    {59, "noaa", "NOAA Forecast Systems Laboratory"},
    {74, "egrr", "U.K. Met Office - Exeter"},
    {78, "edzw", "Offenbach"},
    {80, "cnmc", "Rome"},
    {85, "lfpw", "French Weather Service - Toulouse"},
    {98, "ecmf", "European Centre for Medium-Range Weather Forecasts"},
};

std::vector<model::Attribute> RootAttributes(const MessageIndex& index) {
  std::vector<model::Attribute> attributes;
  const auto number = [&](const char* name, int64_t value) {
    attributes.push_back({name, model::Datatype::Integer(4, true), {}, value, {}});
  };
  if (index.is_one_edition) number("GRIB_edition", index.edition);
  attributes.push_back(TextAttributeOf("Conventions", "CF-1.7"));
  if (!index.is_one_centre) return attributes;
  const auto centre = std::ranges::find(kCentres, index.centre, &CentreName::number);
  if (centre != std::end(kCentres)) {
    attributes.push_back(TextAttributeOf("GRIB_centre", centre->name));
    attributes.push_back(TextAttributeOf("GRIB_centreDescription", centre->description));
    attributes.push_back(TextAttributeOf("institution", centre->description));
  } else {
    number("GRIB_centre", index.centre);
  }
  number("GRIB_subCentre", index.subcentre);
  return attributes;
}

}  // namespace

Plan MakePlan(MessageIndex index) {
  Plan plan;
  plan.attributes = RootAttributes(index);
  for (const IndexedGrid& grid : index.grids) {
    const bool is_described = plan.grids.size() < kMostDescribedGrids;
    plan.grids.push_back(DescribeGrid(is_described ? grid.grid : nullptr, grid.points));
  }
  Grouping grouping(index);
  for (const auto& [group, arrays] : grouping.groups()) {
    auto& below = plan.levels[std::string(group.first)];
    PlanGroup(arrays, plan.grids, below[std::string(group.second)]);
  }
  constexpr uint64_t kOfField = sizeof(PlannedField), kOfArray = 256;
  plan.held_bytes = index.fields.size() * kOfField;
  for (const IndexedField& field : index.fields) {
    if (field.expected) plan.held_bytes += sizeof(FieldHeader);
  }
  for (const auto& [level, steps] : plan.levels) {
    for (const auto& [step, group] : steps) plan.held_bytes += group.arrays.size() * kOfArray;
  }
  return plan;
}

}  // namespace ndlfs::backends::grib
