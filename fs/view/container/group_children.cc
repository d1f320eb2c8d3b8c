// SPDX-License-Identifier: MIT
#include "fs/view/container/group_children.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "backends/store/cancellation.h"
#include "backends/store/parallel.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "model/memory_budget.h"
#include "model/path_name.h"

namespace ndlfs::fs {

using model::Result;

namespace {

// So many are loaded while as many others are taken.
constexpr size_t kAtOnce = 128;

using Loaded = std::optional<Result<GroupChild>>;

// About what a file of a group keeps of each child, besides its attributes, once all of the
// file has been read (fs/tree/view/later_elements.h).
constexpr uint64_t kKeptOfEach = 3000;

// The arrays that attributes name, as the attributes call them.
std::set<std::string> NamesInAttributes(const std::vector<model::Attribute>& attributes) {
  std::set<std::string> names;
  for (const model::Attribute& attribute : attributes) {
    EachNamed(attribute.name, model::TextOf(attributes, attribute.name),
              [&](std::string name) { return *names.insert(std::move(name)).first; });
  }
  return names;
}

Result<void> LoadRun(const GroupInput& group, std::span<const std::string> names,
                     std::span<Loaded> loaded) {
  NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
  const auto held = names.size() > 1 ? group.LoadTogether(names)
                                     : std::vector<std::shared_ptr<const backends::Node>>();
  for (size_t i = 0; i < names.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
    loaded[i] = group.LoadForElements(names[i]);
  }
  return {};
}

}  // namespace

Result<void> LoadEach(
    const GroupInput& group, const std::vector<std::string>& names,
    const std::function<Result<void>(const std::string&, Result<GroupChild>)>& take) {
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  // A file that does not fit is refused, before it takes the memory of others.
  constexpr std::string_view kSo = "the group has so many arrays or attributes";
  model::MemoryBudget::Held held;
  NDLFS_RETURN_IF_ERROR(held.Grow(names.size() * kKeptOfEach), kSo);
  const size_t run = std::max<size_t>(group.loads_together(), 1);
  std::vector<Loaded> before;  // those in front of `first`, which are taken while others load
  const auto take_those_before = [&](size_t first) -> Result<void> {
    for (size_t i = 0; i < before.size(); ++i) {
      const std::string& name = names[first - before.size() + i];
      if (*before[i]) {
        NDLFS_RETURN_IF_ERROR(held.Grow((**before[i]).node->held_bytes()), kSo);
      }
      NDLFS_RETURN_IF_ERROR(take(name, *std::move(before[i])));
      before[i].reset();
    }
    return {};
  };
  for (size_t first = 0; first < names.size(); first += kAtOnce) {
    std::vector<Loaded> loaded(std::min(kAtOnce, names.size() - first));
    const size_t runs = (loaded.size() + run - 1) / run;
    NDLFS_RETURN_IF_ERROR(backends::RunInParallel(threads, 1 + runs, [&](size_t number) {
      if (number == 0) return take_those_before(first);
      const size_t begin = (number - 1) * run;
      const size_t end = std::min(begin + run, loaded.size());
      return LoadRun(group, std::span(names).subspan(first + begin, end - begin),
                     std::span(loaded).subspan(begin, end - begin));
    }));
    before = std::move(loaded);
  }
  return take_those_before(names.size());
}

std::string EachNamed(std::string_view attribute, const std::string& text,
                      const std::function<std::string(std::string)>& take) {
  constexpr std::array<std::string_view, 7> kNaming = {
      "coordinates",         "grid_mapping",  "bounds",       "climatology",
      "ancillary_variables", "cell_measures", "formula_terms"};
  if (std::ranges::find(kNaming, attribute) == kNaming.end()) return text;
  std::string taken;
  for (std::string& word : WordsOf(text)) {
    const bool is_key = word.ends_with(':');
    if (is_key) word.pop_back();
    if (!is_key || attribute == "grid_mapping") word = take(std::move(word));
    taken += (taken.empty() ? "" : " ") + word + (is_key ? ":" : "");
  }
  return taken;
}

bool OuterArrays::IsOutside(const std::string& path) const {
  if (path.empty()) return false;
  return holds_subgroups_ ? !model::IsBelow(path, group_.path())
                          : model::ParentPath(path) != group_.path();
}

Result<void> OuterArrays::AddOf(const ArrayInput& array) {
  constexpr size_t kMostOuter = 1000;
  NDLFS_RETURN_IF_ERROR(AddOne(array));
  for (; done_ < list_.size() && list_.size() < kMostOuter; ++done_) {
    const ArrayInput outer = list_[done_].array;
    NDLFS_RETURN_IF_ERROR(AddOne(outer));
  }
  return {};
}

Result<void> OuterArrays::AddOne(const ArrayInput& array) {
  const model::Shape& shape = array.node->array().shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::string& path = shape[d].dimcoord;
    if (!IsOutside(path) || !known_.insert(path).second) continue;
    auto found = FindCoordinate(array, d);
    if (!found && found.error().is_transient()) return model::Propagate(found.error());
    if (!found || !*found) continue;
    if (array.part) {  // the group has the same part, and that of what it names
      NDLFS_TRY(auto named, FindNamed(array.group, path));
      if (named && named->child.array) *found = *std::move(named->child.array);
    }
    list_.push_back({path, DimensionName(array, d), **std::move(found)});
  }
  if (array.group == nullptr) return {};
  const bool is_root = group_.Outer() == nullptr;
  for (const std::string& name : NamesInAttributes(array.node->attributes())) {
    if (is_root && (holds_subgroups_ || name.find('/') == std::string::npos)) continue;
    if (!known_.insert(array.group->path() + ' ' + name).second) continue;
    NDLFS_TRY(auto found, FindNamed(array.group, name));
    const bool is_needed = found && found->child.array && IsOutside(found->path);
    // Groups below one that is cut are whole.
    const bool fits = is_needed && (!array.part || found->child.array->shape.empty() ||
                                    !model::IsBelow(found->path, group_.path()));
    if (!fits || !known_.insert(found->path).second) continue;
    list_.push_back({found->path, std::string(model::BaseName(found->path)),
                     *std::move(found->child.array)});
  }
  return {};
}

}  // namespace ndlfs::fs
