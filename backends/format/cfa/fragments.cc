// SPDX-License-Identifier: MIT
#include "backends/format/cfa/fragments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/format/block_shape.h"
#include "backends/format/ndl/join_source.h"
#include "backends/format/ndl/part_description.h"
#include "backends/format/ndl/unpacking.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends::cfa {
namespace {

using model::Result;
using ndl::PartDescription;
using SourcePtr = std::shared_ptr<const ArraySource>;
using Place = std::vector<size_t>;  // of a fragment: a number along each dimension

// Puts the element `fill` in the place of each NaN that another converter makes.
template <typename T>
class NanFiller final : public ElementConverter {
 public:
  NanFiller(std::shared_ptr<const ElementConverter> inner, T fill)
      : ElementConverter(inner->from_size(), sizeof(T)),
        inner_(std::move(inner)),
        fill_(fill) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    NDLFS_RETURN_IF_ERROR(inner_->Convert(from, to));
    for (size_t at = 0; at < to.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, to.data() + at, sizeof(T));
      if (std::isnan(value)) std::memcpy(to.data() + at, &fill_, sizeof(T));
    }
    return {};
  }

 private:
  const std::shared_ptr<const ElementConverter> inner_;
  const T fill_;
};

// The same converter, if the variable has no _FillValue, or none of this size.
template <typename T>
std::shared_ptr<const ElementConverter> WithFill(std::shared_ptr<const ElementConverter> inner,
                                                 const Node& variable) {
  const std::vector<std::byte> element = ndl::FillOfMissing(variable);
  const bool has_fill = model::FindAttribute(variable.attributes(), "_FillValue") != nullptr;
  if (!inner || !has_fill || element.size() != sizeof(T)) return inner;
  T fill;
  std::memcpy(&fill, element.data(), sizeof(T));
  return std::make_shared<NanFiller<T>>(std::move(inner), fill);
}

// A join has one dimension. So the array is a join along its first dimension, whose parts are
// joins along the next one, and so on.
class Fragments : public std::enable_shared_from_this<Fragments> {
 public:
  Fragments(std::shared_ptr<const Hierarchy> file, std::shared_ptr<const ndl::PartSet> files,
            std::shared_ptr<const Node> variable, Aggregation aggregation)
      : file_(std::move(file)),
        files_(std::move(files)),
        variable_(std::move(variable)),
        aggregation_(std::move(aggregation)) {}

  Result<SourcePtr> Join(const std::string& label) {
    expected_ = ndl::DescribePart(files_->stores(), "", "", *variable_);
    expected_.label = label;
    const ArraySpec& spec = variable_->source->spec();
    if (!spec.shape.empty()) {
      return model::BadInput("expected a scalar, because the variable has aggregated data");
    }
    for (const auto& sizes : aggregation_.sizes) {
      NDLFS_TRY(bounds_.emplace_back(), ndl::JoinBounds(sizes));
    }
    const auto first = std::ranges::find_if(aggregation_.fragments,
                                            [](const auto& f) { return !f.address.empty(); });
    if (first == aggregation_.fragments.end()) {
      if (rank() == 0) {
        return model::Unsupported("a scalar without a fragment is not supported");
      }
      chunk_ = ContiguousBlockShape(Extents({}), spec.dtype.size(), kBlockBytes);
    } else {
      NDLFS_TRY(const JoinedPart part,
                Open(PlaceOf(static_cast<size_t>(first - aggregation_.fragments.begin()))));
      if (rank() == 0 && !part.converter) return part.source;
      if (rank() == 0) {
        return model::Unsupported("{}: packed scalars are not supported", part.name);
      }
      chunk_ = part.source->spec().grid.max_chunk_shape();
      is_plain_ = part.source->contiguous().has_value() && !part.converter;
    }
    return Along({}, 0);
  }

 private:
  size_t rank() const { return aggregation_.dimensions.size(); }
  size_t CountOf(size_t d) const { return aggregation_.sizes[d].size(); }

  Place PlaceOf(size_t number) const {
    Place place(rank());
    for (size_t d = rank(); d-- > 0; number /= CountOf(d)) place[d] = number % CountOf(d);
    return place;
  }

  // The shape of the fragments that begin their places with `place`.
  std::vector<uint64_t> Extents(const Place& place) const {
    std::vector<uint64_t> shape;
    for (size_t d = 0; d < rank(); ++d) {
      shape.push_back(d < place.size() ? aggregation_.sizes[d][place[d]] : bounds_[d].back());
    }
    return shape;
  }

  ArraySpec SpecOf(std::vector<uint64_t> shape) const {
    const ArraySpec& scalar = variable_->source->spec();
    ArraySpec spec;
    spec.dtype = scalar.dtype;
    spec.shape = std::move(shape);
    spec.fill = ndl::FillOfMissing(*variable_);
    spec.max_chunk_bytes = scalar.max_chunk_bytes;
    return spec;
  }

  // The fragments whose places begin with `place`, joined along dimension `dim`. There is one
  // fragment along the dimensions between.
  Result<SourcePtr> Along(Place place, size_t dim) const {
    place.resize(dim, 0);
    return ndl::MakeJoinSource(SpecOf(Extents(place)), dim, bounds_[dim], chunk_, is_plain_,
                               [self = shared_from_this(), place](size_t i) {
                                 Place next = place;
                                 next.push_back(i);
                                 return self->Part(next);
                               });
  }

  Result<JoinedPart> Part(Place place) const {
    size_t dim = place.size();
    while (dim < rank() && CountOf(dim) == 1) ++dim;
    place.resize(dim, 0);
    if (dim == rank()) return Open(place);
    JoinedPart part;
    NDLFS_TRY(part.source, Along(place, dim));
    part.name = expected_.label;
    return part;
  }

  Result<JoinedPart> Open(const Place& place) const {
    size_t number = 0;
    for (size_t d = 0; d < rank(); ++d) number = number * CountOf(d) + place[d];
    const Fragment& fragment = aggregation_.fragments[number];
    JoinedPart part;
    if (fragment.address.empty()) return part;
    NDLFS_TRY(const auto node, Load(fragment, part.name));
    part.source = node->source;
    NDLFS_TRY(part.converter, Compare(*node, part.name), part.name);
    return Complete(std::move(part), Extents(place));
  }

  Result<std::shared_ptr<const Node>> Load(const Fragment& fragment, std::string& label) const {
    const std::string name = model::JoinPath("/", fragment.address);
    if (fragment.file.empty()) {
      label = name;
      NDLFS_TRY(auto node, file_->Load(name), name);
      NDLFS_RETURN_IF_ERROR(ndl::RequireData(*node, name));
      return node;
    }
    NDLFS_TRY(const std::string path, files_->stores().Resolve(fragment.file));
    label = files_->stores().Describe(path, name);
    return files_->stores().LoadArray(path, name);
  }

  // The converter from elements of a fragment to elements of the variable; null if they are the
  // same. Fails if they differ in more than their packing or the units of times. A fragment
  // without units has those of the variable; the names of its dimensions do not matter.
  Result<std::shared_ptr<const ElementConverter>> Compare(const Node& node,
                                                          const std::string& label) const {
    PartDescription part = ndl::DescribePart(files_->stores(), "", "", node);
    part.label = label;
    PartDescription expected = expected_;
    expected.shape = part.shape;
    expected.dimensions = part.dimensions;
    const auto* units = model::FindAttribute(expected.attributes, "units");
    if (units && !model::FindAttribute(part.attributes, "units")) {
      part.attributes.push_back(*units);
      if (const auto* calendar = model::FindAttribute(expected.attributes, "calendar")) {
        part.attributes.push_back(*calendar);
      }
    }
    auto difference = ndl::FindDifference(expected, part, {});
    if (!difference) return nullptr;
    const bool unpacks =
        variable_->source->spec().dtype.kind() == model::Datatype::Kind::kFloat &&
        !model::FindAttribute(expected.attributes, "scale_factor") &&
        !model::FindAttribute(expected.attributes, "add_offset");
    ndl::PartRules rules;
    rules.unpack = unpacks;
    if (unpacks) difference = ndl::FindDifference(expected, part, rules);
    if (difference) return model::Corrupt("the fragments cannot be joined: {}", *difference);
    NDLFS_TRY(const auto unpacking, UnpackingOf());
    NDLFS_TRY(auto converter, ndl::ConverterOf(unpacking, node));
    const bool is_single = unpacking.type.size() == sizeof(float);
    return is_single ? WithFill<float>(std::move(converter), *variable_)
                     : WithFill<double>(std::move(converter), *variable_);
  }

  Result<ndl::Unpacking> UnpackingOf() const {
    model::Ndarray described = variable_->array();
    model::ValueSource typed;
    typed.has_type = true;
    described.source = std::move(typed);
    return ndl::ChooseUnpacking(*variable_, &described);
  }

  // Adds the dimensions of size 1 that a fragment lacks, and checks its shape.
  Result<JoinedPart> Complete(JoinedPart part, const std::vector<uint64_t>& shape) const {
    std::vector<uint64_t> has = part.source->spec().shape;
    std::vector<uint64_t> chunk = part.source->spec().grid.max_chunk_shape();
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d < has.size() && has[d] == shape[d]) continue;
      if (shape[d] != 1 || has.size() >= shape.size()) break;
      const auto at = static_cast<ptrdiff_t>(d);
      has.insert(has.begin() + at, 1);
      chunk.insert(chunk.begin() + at, 1);
      ArraySpec spec = SpecOf(has);
      const bool is_plain = part.source->contiguous().has_value() && !part.converter;
      JoinedPart larger;
      larger.name = part.name;
      NDLFS_TRY(larger.source, ndl::MakeJoinSource(std::move(spec), d, {0, 1}, chunk, is_plain,
                                                   [part](size_t) { return part; }));
      part = std::move(larger);
    }
    if (has == shape) return part;
    return model::Corrupt("{} has the shape [{}], expected [{}]", part.name,
                          fmt::join(has, ", "), fmt::join(shape, ", "));
  }

  const std::shared_ptr<const Hierarchy> file_;
  const std::shared_ptr<const ndl::PartSet> files_;
  const std::shared_ptr<const Node> variable_;
  const Aggregation aggregation_;
  PartDescription expected_;
  std::vector<std::vector<uint64_t>> bounds_;
  std::vector<uint64_t> chunk_;
  bool is_plain_ = false;
};

}  // namespace

Result<SourcePtr> JoinFragments(std::shared_ptr<const Hierarchy> file,
                                std::shared_ptr<const ndl::PartSet> files,
                                const std::string& label, std::shared_ptr<const Node> variable,
                                Aggregation aggregation) {
  return std::make_shared<Fragments>(std::move(file), std::move(files), std::move(variable),
                                     std::move(aggregation))
      ->Join(label);
}

}  // namespace ndlfs::backends::cfa
