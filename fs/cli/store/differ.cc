// SPDX-License-Identifier: MIT
#include "fs/cli/store/differ.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <utility>

#include "backends/format/packing.h"
#include "fs/cli/store/part_queue.h"
#include "fs/compare/object_digest.h"
#include "fs/compare/short_text.h"
#include "model/attributes.h"
#include "model/ndl/ndl_writer.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using cache::ArrayReader;
using model::Result;
using NodePtr = std::shared_ptr<const backends::Node>;

std::string Both(const std::string& a, const std::string& b) {
  return fmt::format("{} | {}", a, b);
}

// The same where both look alike; then more exact texts say how they differ.
std::string Both(const std::string& a, const std::string& b, const std::string& exact_a,
                 const std::string& exact_b) {
  return a != b ? Both(a, b) : Both(ShortText(exact_a), ShortText(exact_b));
}

std::string_view KindOf(const backends::Node& node) {
  return node.is_group() ? "group" : "array";
}

std::vector<uint64_t> ShapeOf(const backends::Node& node) {
  if (node.source) return node.source->spec().shape;
  std::vector<uint64_t> shape;
  for (const auto& dimension : node.array().shape) shape.push_back(dimension.size.value_or(0));
  return shape;
}

const model::Datatype& TypeOf(const backends::Node& node) {
  return node.source ? node.source->spec().dtype : node.array().type;
}

// "[0, 2, 3]"; "[]" for the element of a scalar.
std::string PlaceOf(uint64_t at, const std::vector<uint64_t>& shape) {
  std::vector<uint64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; at /= shape[d]) index[d] = at % shape[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::string TextOf(const model::Attribute& attribute) {
  return ShortText(model::WriteFlow(attribute.value, attribute.type));
}

// The attributes as they are compared with those of `other`: with the fill value of the storage
// if elements with it are missing, and `other` can say which are. Zarr v2 has 0 unasked.
std::vector<model::Attribute> ComparedAttributes(const backends::Node& node,
                                                 const backends::Node& other) {
  if (node.is_group() || other.is_group()) return node.attributes();
  constexpr std::string_view kFill = "_FillValue";
  auto attributes = backends::AttributesOfMissing(node);
  const bool counts =
      other.fill_is_missing || model::FindAttribute(other.attributes(), kFill) != nullptr;
  const auto fill = counts && node.fill_is_missing ? backends::FillValueOf(node) : std::nullopt;
  if (fill && model::FindAttribute(attributes, kFill) == nullptr) {
    attributes.push_back({std::string(kFill), node.array().type, {}, *fill, {}});
  }
  return attributes;
}

// Two lists of names, merged in order: calls `visit` with each name and whether each has it.
void Merge(const std::vector<std::string>& a, const std::vector<std::string>& b,
           const std::function<void(const std::string&, bool in_a, bool in_b)>& visit) {
  auto at_a = a.begin();
  auto at_b = b.begin();
  while (at_a != a.end() || at_b != b.end()) {
    const bool in_a = at_b == b.end() || (at_a != a.end() && *at_a <= *at_b);
    const bool in_b = at_a == a.end() || (at_b != b.end() && *at_b <= *at_a);
    visit(in_a ? *at_a : *at_b, in_a, in_b);
    if (in_a) ++at_a;
    if (in_b) ++at_b;
  }
}

std::string SideName(bool is_first) { return is_first ? "the first" : "the second"; }

}  // namespace

struct Differ::Object {
  ObjectDifferences differences;
  bool is_finished = false;
};

// An object of each store. A link has been followed.
struct Differ::Pair {
  OpenedStore a;
  OpenedStore b;
  NodePtr node_a = nullptr;
  NodePtr node_b = nullptr;
};

// The blocks of two arrays.
class Differ::Array final : public PartedWork {
 public:
  Array(Differ& differ, ObjectPtr object, std::vector<uint64_t> shape,
        std::shared_ptr<ArrayDifference> difference)
      : differ_(differ),
        object_(std::move(object)),
        shape_(std::move(shape)),
        difference_(std::move(difference)) {}

  uint64_t part_count() const override { return difference_->block_count(); }
  uint64_t part_cost() const override { return difference_->block_cost(); }
  uint64_t Run(uint64_t first, uint64_t count, const std::atomic<bool>& stopping) override {
    uint64_t done = 0;
    for (; done < count && !stopping; ++done) {
      if (failed_) return count;  // one error, or one difference, is enough
      const auto bytes = Guarded([&] { return difference_->Run(first + done); });
      if (bytes) {
        differ_.Count(*bytes);
        const bool is_enough =
            differ_.options_.stops_at_first && difference_->found().count != 0;
        if (is_enough && !failed_.exchange(true)) AddLines(difference_->found());
      } else if (!failed_.exchange(true)) {
        differ_.AddProblem(object_, bytes.error().message());
      }
    }
    return done;
  }
  bool has_enough() const override { return failed_; }
  void Finish() override {
    AddLines(difference_->found());
    differ_.Finish(object_);
  }

 private:
  void AddLines(const ElementDifferences& found) {
    if (found.count == 0) return;
    uint64_t elements = 1;
    for (const uint64_t size : shape_) elements *= size;
    differ_.AddLine(
        object_, "values",
        fmt::format("{} of {} differ, first at {}: {}", found.count, elements,
                    PlaceOf(found.first->at, shape_), Both(found.first->a, found.first->b)));
    if (found.absolute) {
      differ_.AddLine(object_, "",
                      fmt::format("largest difference {:.6g} at {}, relative {:.6g} at {}",
                                  found.absolute->size, PlaceOf(found.absolute->at, shape_),
                                  found.relative->size, PlaceOf(found.relative->at, shape_)));
    }
    if (found.nan_on_one_side != 0) {
      differ_.AddLine(object_, "",
                      fmt::format("{} are NaN on one side only", found.nan_on_one_side));
    }
  }

  Differ& differ_;
  const ObjectPtr object_;
  const std::vector<uint64_t> shape_;
  const std::shared_ptr<ArrayDifference> difference_;
  std::atomic<bool> failed_{false};
};

Differ::Differ(cache::ChunkCache& cache, const Options& options, OnObject on_object)
    : cache_(cache),
      options_(options),
      on_object_(std::move(on_object)),
      queue_(options.threads) {}

Differ::~Differ() = default;

void Differ::Run(const OpenedStore& a, const OpenedStore& b,
                 const std::function<void()>& tick) {
  queue_.Run([&] { Compare({a, b}, 0); }, tick);
  ReportFinished(/*is_end=*/true);
}

void Differ::Compare(const Pair& given, int depth) {
  if (queue_.stopped()) return;
  const ObjectPtr object = Begin(given.a.object);
  Pair pair = given;
  const auto load = [&](const OpenedStore& store, bool is_first, NodePtr& node) {
    auto loaded = Guarded([&] { return store.hierarchy->Load(store.object); });
    if (loaded) node = *std::move(loaded);
    const model::Error* error = !loaded       ? &loaded.error()
                                : node->error ? &*node->error
                                              : nullptr;
    if (error != nullptr) AddProblem(object, SideName(is_first) + ": " + error->message());
    return loaded.has_value();
  };
  // Both, so that both errors are told.
  const bool has_a = load(pair.a, true, pair.node_a);
  const bool has_b = load(pair.b, false, pair.node_b);
  if (!has_a || !has_b) return Finish(object);
  if (options_.compares_attributes) CompareAttributes(pair, object);
  if (pair.node_a->is_group() != pair.node_b->is_group()) {
    AddLine(object, "kind",
            Both(std::string(KindOf(*pair.node_a)), std::string(KindOf(*pair.node_b))));
    return Finish(object);
  }
  if (!pair.node_a->is_group()) return CompareArrays(pair, object);
  CompareMembers(pair, object, depth);
}

void Differ::CompareAttributes(const Pair& pair, const ObjectPtr& object) {
  std::map<std::string_view, std::pair<const model::Attribute*, const model::Attribute*>> all;
  const auto attributes_a = ComparedAttributes(*pair.node_a, *pair.node_b);
  const auto attributes_b = ComparedAttributes(*pair.node_b, *pair.node_a);
  for (const auto& attribute : attributes_a) all[attribute.name].first = &attribute;
  for (const auto& attribute : attributes_b) all[attribute.name].second = &attribute;
  for (const auto& [name, both] : all) {
    const auto& [of_a, of_b] = both;
    if (of_a && of_b && CanonicalValue(*of_a) == CanonicalValue(*of_b)) continue;
    const auto text = [](const model::Attribute* of) { return of ? TextOf(*of) : "(none)"; };
    const auto exact = [](const model::Attribute* of) { return of ? CanonicalValue(*of) : ""; };
    AddLine(object, "attribute",
            fmt::format("{}: {}", ShortText(std::string(name)),
                        Both(text(of_a), text(of_b), exact(of_a), exact(of_b))));
  }
}

void Differ::CompareMembers(const Pair& pair, const ObjectPtr& object, int depth) {
  if (depth >= kMaxGroupDepth) {
    AddProblem(object, "groups nest too deep");
    return Finish(object);
  }
  const auto list = [&](const OpenedStore& store) {
    return Guarded([&] { return store.hierarchy->List(store.object); });
  };
  const auto names_a = list(pair.a);
  const auto names_b = list(pair.b);
  if (!names_a || !names_b) {
    AddProblem(object, (!names_a ? names_a : names_b).error().message());
    return Finish(object);
  }
  Finish(object);
  Merge(*names_a, *names_b, [&](const std::string& name, bool in_a, bool in_b) {
    if (queue_.stopped()) return;
    Pair members{pair.a, pair.b};
    members.a.object = model::JoinPath(pair.a.object, name);
    members.b.object = model::JoinPath(pair.b.object, name);
    if (!in_a || !in_b) {
      const ObjectPtr member = Begin(in_a ? members.a.object : members.b.object);
      AddLine(member, in_a ? "only in the first" : "only in the second", "");
      return Finish(member);
    }
    CompareMember(members, depth + 1);
  });
}

// If both stores have a link, compares the links. If only one has, compares the target of the
// link with the object.
void Differ::CompareMember(Pair& pair, int depth) {
  const auto link_a = pair.a.hierarchy->GetLink(pair.a.object);
  const auto link_b = pair.b.hierarchy->GetLink(pair.b.object);
  if (!link_a && !link_b) return Compare(pair, depth);
  const ObjectPtr object = Begin(pair.a.object);
  if (link_a && link_b) {
    if (link_a->target != link_b->target) {
      AddLine(object, "link", Both(model::Quote(link_a->target), model::Quote(link_b->target)));
    }
    return Finish(object);
  }
  OpenedStore& linked = link_a ? pair.a : pair.b;
  const std::string path = std::exchange(linked.object, "/");
  auto followed = Guarded([&] { return FollowLinks(linked, path); });
  if (!followed) {
    AddProblem(object, SideName(link_a.has_value()) + ": " + followed.error().message());
    return Finish(object);
  }
  Finish(object);
  linked = *std::move(followed);
  Compare(pair, depth);
}

void Differ::CompareArrays(const Pair& pair, const ObjectPtr& object) {
  const model::Datatype& type_a = TypeOf(*pair.node_a);
  const model::Datatype& type_b = TypeOf(*pair.node_b);
  const std::vector<uint64_t> shape = ShapeOf(*pair.node_a);
  const std::vector<uint64_t> other_shape = ShapeOf(*pair.node_b);
  const auto canonical_a = CanonicalType::Make(type_a);
  const auto canonical_b = CanonicalType::Make(type_b);
  if (!canonical_a || !canonical_b || canonical_a->json() != canonical_b->json()) {
    const auto exact = [](const auto& type) { return type ? type->json() : "unknown"; };
    AddLine(object, "type",
            Both(ShortText(model::WriteFlow(type_a)), ShortText(model::WriteFlow(type_b)),
                 exact(canonical_a), exact(canonical_b)));
  }
  if (shape != other_shape) {
    AddLine(object, "shape",
            fmt::format("[{}] | [{}]", fmt::join(shape, ", "), fmt::join(other_shape, ", ")));
  }
  const auto names_a = DimensionNames(pair.node_a->array());
  const auto names_b = DimensionNames(pair.node_b->array());
  // Some formats have no names.
  if (names_a != names_b && !names_a.empty() && !names_b.empty()) {
    AddLine(object, "dimensions",
            fmt::format("({}) | ({})", fmt::join(names_a, ", "), fmt::join(names_b, ", ")));
  }
  const bool has_data = pair.node_a->source && pair.node_b->source;
  if (!has_data || shape != other_shape) return Finish(object);
  const auto reader = [&](const NodePtr& node) {
    return std::make_shared<const ArrayReader>(node->source, cache_);
  };
  auto difference = Guarded([&] {
    return ArrayDifference::Make(reader(pair.node_a), reader(pair.node_b), options_.tolerance);
  });
  if (!difference) {
    // The line about the types is there.
    if (difference.error().code() != model::ErrorCode::kUnsupported) {
      AddProblem(object, difference.error().message());
    }
    return Finish(object);
  }
  if ((*difference)->block_count() == 0) return Finish(object);
  queue_.Add(std::make_shared<Array>(*this, object, shape, *std::move(difference)));
}

void Differ::AddLine(const ObjectPtr& object, std::string label, std::string text) {
  model::MutexLock lock(mutex_);
  if (object->differences.lines.empty()) ++progress_.differing;
  object->differences.lines.push_back({std::move(label), std::move(text)});
  if (options_.stops_at_first) queue_.Stop();
}

void Differ::AddProblem(const ObjectPtr& object, std::string text) {
  model::MutexLock lock(mutex_);
  if (object->differences.problems.empty()) ++progress_.with_problems;
  object->differences.problems.push_back(std::move(text));
}

Differ::ObjectPtr Differ::Begin(const std::string& path) {
  const auto object = std::make_shared<Object>();
  object->differences.path = path;
  model::MutexLock lock(mutex_);
  ++progress_.objects;
  objects_.push_back(object);
  return object;
}

void Differ::Finish(const ObjectPtr& object) {
  {
    model::MutexLock lock(mutex_);
    object->is_finished = true;
  }
  ReportFinished(/*is_end=*/false);
}

// Those at the front: the others have to wait for these.
void Differ::ReportFinished(bool is_end) {
  model::MutexLock reporting(report_mutex_);
  for (;;) {
    ObjectPtr object;
    {
      model::MutexLock lock(mutex_);
      if (objects_.empty() || (!objects_.front()->is_finished && !is_end)) return;
      object = std::move(objects_.front());
      objects_.pop_front();
    }
    const ObjectDifferences& found = object->differences;
    if (!found.lines.empty() || !found.problems.empty()) on_object_(found);
  }
}

void Differ::Count(uint64_t bytes) {
  model::MutexLock lock(mutex_);
  progress_.bytes += bytes;
}

Differ::Progress Differ::progress() const {
  model::MutexLock lock(mutex_);
  return progress_;
}

}  // namespace ndlfs::fs
