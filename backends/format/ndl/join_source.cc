// SPDX-License-Identifier: MIT
#include "backends/format/ndl/join_source.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>
#include <variant>

#include "backends/base/checked.h"
#include "backends/format/block_shape.h"
#include "backends/format/packing.h"
#include "backends/format/part_names.h"
#include "model/attributes.h"
#include "model/path_name.h"

namespace ndlfs::backends::ndl {
namespace {

using model::Result;

// So many parts of unit size are compared before an array is shown; of more, each when it is
// read.
constexpr size_t kMostComparedAtOnce = 100;
// Pieces of a grid along one dimension.
constexpr uint64_t kMostPieces = 1'000'000;
// A chunk of the join that has no chunks of its own is about so large.
constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

class JoinSource final : public ArraySource, public JoinedArray, public NamesParts {
 public:
  JoinSource(ArraySpec spec, size_t dim, std::vector<uint64_t> bounds, bool is_plain,
             PartOpener open, NameOfPart name)
      : spec_(std::move(spec)),
        dim_(dim),
        bounds_(std::move(bounds)),
        is_plain_(is_plain),
        open_(std::move(open)),
        name_(std::move(name)) {}

  const ArraySpec& spec() const override { return spec_; }
  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    return model::Internal("a join has no chunks of its own");
  }
  const JoinedArray* joined() const override { return this; }

  size_t dim() const override { return dim_; }
  const std::vector<uint64_t>& bounds() const override { return bounds_; }
  Result<JoinedPart> OpenPart(size_t i) const override { return open_(i); }
  bool is_plain() const override { return is_plain_; }
  std::string PartFile(size_t i) const override { return name_ ? name_(i) : ""; }

 private:
  const ArraySpec spec_;
  const size_t dim_;
  const std::vector<uint64_t> bounds_;
  const bool is_plain_;
  const PartOpener open_;
  const NameOfPart name_;
};

// `extent` cut into pieces of `size`, but not into very many.
void AppendPieces(uint64_t extent, uint64_t size, uint64_t most,
                  std::vector<uint64_t>& pieces) {
  size = std::max<uint64_t>(size, 1);
  if (extent / size > most) size = extent / most + 1;
  for (uint64_t begin = 0; begin < extent; begin += size) {
    pieces.push_back(std::min(size, extent - begin));
  }
}

// The grid of a join whose parts are all cut as the first one, whose chunks have the shape
// `chunk`, in the rank of the join.
Result<ChunkGrid> MakeGrid(const std::vector<uint64_t>& shape, size_t dim,
                           const std::vector<uint64_t>& bounds,
                           const std::vector<uint64_t>& chunk) {
  std::vector<std::vector<uint64_t>> extents(shape.size());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != dim) {
      AppendPieces(shape[d], chunk[d], kMostPieces, extents[d]);
      continue;
    }
    const uint64_t most = std::max<uint64_t>(1, kMostPieces / bounds.size());
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      AppendPieces(bounds[i + 1] - bounds[i], chunk[d], most, extents[d]);
    }
  }
  return ChunkGrid::Rectilinear(shape, std::move(extents));
}

// One number for all parts, or one for each.
Result<std::vector<uint64_t>> GivenSizes(const std::vector<uint64_t>& given, size_t count) {
  if (given.size() == 1) return std::vector<uint64_t>(count, given[0]);
  if (given.size() == count) return given;
  return model::BadInput("{} sizes are given, but there are {} parts", given.size(), count);
}

// The document's extents have to be those of the parts, but for null.
Result<void> CheckShape(const model::Ndarray& described, const std::vector<uint64_t>& shape) {
  if (described.shape.size() != shape.size()) {
    return model::BadInput("the document has a rank of {}, the join {}", described.shape.size(),
                           shape.size());
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto& size = described.shape[d].size;
    if (size && *size != shape[d]) {
      return model::BadInput("the document has {} along dimension {}, the parts have {}", *size,
                             d, shape[d]);
    }
  }
  return {};
}

std::vector<std::string> DimensionsOf(const model::Ndarray& array) {
  std::vector<std::string> names;
  for (size_t d = 0; d < array.shape.size(); ++d) {
    const bool has_name = d < array.dimension_names.size() && !array.dimension_names[d].empty();
    names.emplace_back(has_name ? array.dimension_names[d]
                                : std::string(model::BaseName(array.shape[d].dimcoord)));
  }
  return names;
}

// Where a join goes along.
struct Along {
  size_t dim = 0;
  bool is_new = false;  // the parts lack the dimension
};

Result<Along> FindAlong(const model::ValueSource& spec, const PartDescription& first,
                        const model::Ndarray* described) {
  const bool has_shape = described != nullptr && spec.has_shape;
  const size_t rank = first.shape.size();
  if (const auto* number = std::get_if<uint64_t>(&spec.along)) {
    const bool is_new = has_shape && described->shape.size() == rank + 1;
    if (*number < rank + (is_new ? 1 : 0)) return Along{*number, is_new};
    return model::BadInput("there is no dimension {} in {}", *number, first.label);
  }
  const std::string& name = std::get<std::string>(spec.along);
  const auto found = std::ranges::find(first.dimensions, name);
  if (found != first.dimensions.end()) {
    return Along{static_cast<size_t>(found - first.dimensions.begin()), false};
  }
  const std::vector<std::string> names =
      has_shape ? DimensionsOf(*described) : std::vector<std::string>{name};
  const auto described_at = std::ranges::find(names, name);
  const bool is_new = !has_shape || described->shape.size() == rank + 1;
  if (described_at == names.end() || !is_new) {
    return model::BadInput("there is no dimension {} in {}, which has {}", model::Quote(name),
                           first.label, rank == 0 ? "none" : fmt::format("{}", rank));
  }
  return Along{static_cast<size_t>(described_at - names.begin()), true};
}

// Makes NaN of the floats that a part calls missing, where the join has no attribute for it.
template <typename T>
class MissingToNan final : public ElementConverter {
 public:
  explicit MissingToNan(T missing)
      : ElementConverter(sizeof(T), sizeof(T)), missing_(missing) {}

  Result<void> Convert(ConstByteSpan from, ByteSpan to) const override {
    for (size_t i = 0; i + sizeof(T) <= from.size(); i += sizeof(T)) {
      T number;
      std::memcpy(&number, from.data() + i, sizeof number);
      if (number == missing_) number = std::numeric_limits<T>::quiet_NaN();
      std::memcpy(to.data() + i, &number, sizeof number);
    }
    return {};
  }

 private:
  const T missing_;
};

// Null where elements are no floats of C++.
std::shared_ptr<const ElementConverter> MakeNanOf(const model::Value& missing,
                                                  const model::Datatype& type) {
  const auto number = model::AsDouble(missing);
  const std::string keyword = type.keyword();
  if (!number) return nullptr;
  if (keyword == "float32") {
    return std::make_shared<const MissingToNan<float>>(static_cast<float>(*number));
  }
  if (keyword == "float64") return std::make_shared<const MissingToNan<double>>(*number);
  return nullptr;
}

NameOfPart NamesOf(std::shared_ptr<const PartSet> parts) {
  return
      [parts = std::move(parts)](size_t i) { return parts->stores().Describe(parts->path(i)); };
}

// One join of stores that is being made.
class StoreJoin {
 public:
  StoreJoin(std::shared_ptr<const PartSet> parts, std::string_view name,
            const model::ValueSource& spec, const model::Ndarray* described)
      : parts_(std::move(parts)), name_(name), spec_(spec), described_(described) {}

  Result<Join> Make() {
    NDLFS_TRY(const size_t first, parts_->First());
    NDLFS_TRY(join_.first, parts_->stores().LoadArray(parts_->path(first), name_));
    first_ = DescribePart(parts_->stores(), parts_->path(first), name_, *join_.first);
    if (spec_.unpack) {
      NDLFS_TRY(join_.first,
                WithUnits(parts_->stores(), parts_->path(first), name_, join_.first));
    }
    NDLFS_TRY(along_, FindAlong(spec_, first_, described_));
    rules_ = {along_.is_new ? std::nullopt : std::optional(along_.dim), Unpacks(),
              spec_.tolerance};
    NDLFS_TRY(sizes_, FindSizes());
    NDLFS_RETURN_IF_ERROR(MakeJoin());
    return std::move(join_);
  }

 private:
  // When a whole group is joined, arrays that are neither packed nor times stay as they are.
  bool Unpacks() const {
    return spec_.unpack && (described_ != nullptr || MayUnpack(*join_.first));
  }

  Result<std::vector<uint64_t>> FindSizes() const {
    if (!along_.is_new && spec_.sizes.empty()) return parts_->FindSizes(name_, first_, rules_);
    if (!along_.is_new) return GivenSizes(spec_.sizes, parts_->size());
    if (parts_->size() <= kMostComparedAtOnce &&
        !parts_->stores().source()->looks_are_requests()) {
      for (size_t i = 0; i < parts_->size(); ++i) {
        if (!parts_->is_present(i)) continue;
        NDLFS_RETURN_IF_ERROR(parts_->LoadLike(i, name_, first_, rules_));
      }
    }
    return std::vector<uint64_t>(parts_->size(), 1);
  }

  Result<void> MakeJoin() {
    const ArraySpec& of_first = join_.first->source->spec();
    ArraySpec spec;
    spec.dtype = of_first.dtype;
    spec.fill = FillOfMissing(*join_.first);
    if (rules_.unpack) {
      NDLFS_TRY(join_.unpacking, ChooseUnpacking(*join_.first, described_), first_.label);
      NDLFS_RETURN_IF_ERROR(ConverterOf(*join_.unpacking, *join_.first), first_.label);
      spec.dtype = join_.unpacking->type;
      spec.fill = NothingOf(spec.dtype);
    }
    spec.shape = of_first.shape;
    spec.max_chunk_bytes = of_first.max_chunk_bytes;
    std::vector<uint64_t> chunk = of_first.grid.max_chunk_shape();
    join_.dimensions = first_.dimensions;
    if (along_.is_new) {
      const auto at = static_cast<ptrdiff_t>(along_.dim);
      spec.shape.insert(spec.shape.begin() + at, 0);
      chunk.insert(chunk.begin() + at, 1);
      const auto* name = std::get_if<std::string>(&spec_.along);
      join_.dimensions.insert(join_.dimensions.begin() + at, name ? *name : std::string());
    }
    NDLFS_TRY(auto bounds, JoinBounds(sizes_));
    spec.shape[along_.dim] = bounds.back();
    if (described_ != nullptr) NDLFS_RETURN_IF_ERROR(CheckDescribed(spec));
    const bool is_plain = join_.first->source->contiguous().has_value();
    join_.along = along_.dim;
    NDLFS_TRY(join_.source, MakeJoinSource(std::move(spec), along_.dim, std::move(bounds),
                                           chunk, is_plain, MakeOpener(), NamesOf(parts_)));
    return {};
  }

  Result<void> CheckDescribed(const ArraySpec& spec) const {
    if (spec_.has_shape) NDLFS_RETURN_IF_ERROR(CheckShape(*described_, spec.shape));
    if (spec_.has_type && !(described_->type == spec.dtype)) {
      return model::BadInput("the document has the type {}, {} has {}",
                             described_->type.keyword(), first_.label, spec.dtype.keyword());
    }
    return {};
  }

  // Compares each part with the first one, before an element of it is read.
  PartOpener MakeOpener() const {
    return [parts = parts_, name = name_, first = first_, rules = rules_, along = along_,
            sizes = sizes_, unpacking = join_.unpacking](size_t i) -> Result<JoinedPart> {
      JoinedPart part;
      part.name = parts->stores().Describe(parts->path(i), name);
      if (!parts->is_present(i)) return part;
      NDLFS_TRY(const auto node, parts->LoadLike(i, name, first, rules));
      const uint64_t size = along.is_new ? 1 : node->source->spec().shape[along.dim];
      if (size != sizes[i]) {
        return model::Corrupt("{} has {} along dimension {}, expected {}", part.name, size,
                              along.dim, sizes[i]);
      }
      part.source = node->source;
      if (!unpacking) {
        const PartDescription other =
            DescribePart(parts->stores(), parts->path(i), name, *node);
        if (const auto missing = OwnMissing(first, other)) {
          part.converter = MakeNanOf(*missing, first.type);
        }
        return part;
      }
      NDLFS_TRY(const auto with_units, WithUnits(parts->stores(), parts->path(i), name, node));
      NDLFS_TRY(part.converter, ConverterOf(*unpacking, *with_units), part.name);
      return part;
    };
  }

  // NaN, or 0 where the type has none.
  static std::vector<std::byte> NothingOf(const model::Datatype& type) {
    std::vector<std::byte> fill(type.size());
    if (!model::EncodeElement(type, std::numeric_limits<double>::quiet_NaN(), fill)) {
      std::ranges::fill(fill, std::byte{0});
    }
    return fill;
  }

  const std::shared_ptr<const PartSet> parts_;
  const std::string name_;
  const model::ValueSource& spec_;
  const model::Ndarray* const described_;
  PartDescription first_;
  Along along_;
  PartRules rules_;
  std::vector<uint64_t> sizes_;
  Join join_;
};

// --- Flat files

Result<size_t> FindFlatAlong(const model::ValueSource& spec, const model::Ndarray& described) {
  const std::vector<std::string> names = DimensionsOf(described);
  if (const auto* number = std::get_if<uint64_t>(&spec.along)) {
    if (*number < names.size()) return *number;
    return model::BadInput("there is no dimension {} in a shape of {}", *number, names.size());
  }
  const auto found = std::ranges::find(names, std::get<std::string>(spec.along));
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return model::BadInput("there is no dimension {} in the shape",
                         model::Quote(std::get<std::string>(spec.along)));
}

std::vector<uint64_t> ExtentsOf(const model::Ndarray& array) {
  std::vector<uint64_t> extents;
  for (const auto& dimension : array.shape) extents.push_back(dimension.size.value_or(0));
  return extents;
}

Result<std::vector<uint64_t>> FindFlatSizes(const PartSet& parts,
                                            const model::ValueSource& spec,
                                            const model::Ndarray& described, size_t along) {
  if (!spec.sizes.empty()) return GivenSizes(spec.sizes, parts.size());
  const auto& size = described.shape[along].size;
  if (size == parts.size()) return std::vector<uint64_t>(parts.size(), 1);
  const bool is_slowest = along == (spec.flat->fortran_order ? described.shape.size() - 1 : 0);
  if (!is_slowest) {
    return model::BadInput("the sizes of the parts are not known: give them as \"sizes\"");
  }
  std::vector<uint64_t> sizes;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts.is_present(i)) {
      return model::NotFound("{} is missing, and nobody knows its size: give \"sizes\"",
                             parts.stores().Describe(parts.path(i)));
    }
    const FlatLayout layout = LayoutOf(parts.stores(), parts.path(i), *spec.flat, described);
    NDLFS_TRY(sizes.emplace_back(), FindFlatExtent(layout),
              parts.stores().Describe(parts.path(i)));
  }
  return sizes;
}

}  // namespace

Result<std::vector<uint64_t>> JoinBounds(const std::vector<uint64_t>& sizes) {
  std::vector<uint64_t> bounds = {0};
  for (const uint64_t size : sizes) {
    const auto end = CheckedAdd(bounds.back(), size);
    if (!end || *end > kMaxViewSize) return model::Limit("together, the parts are too large");
    bounds.push_back(*end);
  }
  return bounds;
}

Result<std::shared_ptr<const ArraySource>> MakeJoinSource(ArraySpec spec, size_t dim,
                                                          std::vector<uint64_t> bounds,
                                                          const std::vector<uint64_t>& chunk,
                                                          bool is_plain, PartOpener open,
                                                          NameOfPart name) {
  if (!spec.dtype.is_fixed_size() || spec.dtype.size() == 0) {
    return model::Unsupported("elements of variable size cannot be joined");
  }
  const auto bytes = CheckedProduct(spec.shape, spec.dtype.size());
  if (!bytes || *bytes > kMaxViewSize) {
    return model::Limit("together, the parts have too many elements");
  }
  NDLFS_TRY(spec.grid, MakeGrid(spec.shape, dim, bounds, chunk));
  return std::make_shared<JoinSource>(std::move(spec), dim, std::move(bounds), is_plain,
                                      std::move(open), std::move(name));
}

std::vector<std::byte> FillOfMissing(const Node& node) {
  const ArraySpec& spec = node.source->spec();
  auto value = FillValueOf(node);
  const auto* attribute = model::FindAttribute(node.attributes(), "_FillValue");
  const auto* item = attribute ? model::OnlyItem(attribute->value) : nullptr;
  if (!value && item != nullptr) value = *item;  // of text
  if (!value || !spec.dtype.is_fixed_size()) return spec.fill;
  std::vector<std::byte> fill(spec.dtype.size());
  if (!model::EncodeElement(spec.dtype, *value, fill)) return spec.fill;
  return fill;
}

FlatLayout LayoutOf(const PartStores& stores, const std::string& path,
                    const model::FlatFile& flat, const model::Ndarray& array) {
  FlatLayout layout;
  layout.store = stores.source()->OpenFile(path, Follow::kYes);
  layout.offset = flat.offset;
  layout.stored =
      array.type.WithOrder(array.storage.endian.value_or(model::ByteOrder::kLittle));
  layout.shape = ExtentsOf(array);
  layout.fortran_order = flat.fortran_order;
  layout.has_records = flat.has_records;
  layout.bits = flat.bits == model::FlatFile::Bits::kNone ? FlatEncoding::Bits::kNone
                : flat.bits == model::FlatFile::Bits::kLowestFirst
                    ? FlatEncoding::Bits::kLowestFirst
                    : FlatEncoding::Bits::kHighestFirst;
  layout.trailer = flat.trailer;
  return layout;
}

Result<Join> JoinStores(std::shared_ptr<const PartSet> parts, std::string_view name,
                        const model::ValueSource& spec, const model::Ndarray* described) {
  return StoreJoin(std::move(parts), name, spec, described).Make();
}

Result<Join> JoinFiles(std::shared_ptr<const PartSet> parts, const model::ValueSource& spec,
                       const model::Ndarray& described) {
  NDLFS_TRY(const size_t along, FindFlatAlong(spec, described));
  NDLFS_TRY(const auto sizes, FindFlatSizes(*parts, spec, described, along));
  NDLFS_TRY(auto bounds, JoinBounds(sizes));
  ArraySpec joined;
  joined.dtype = described.type.WithOrder(model::ByteOrder::kLittle);
  joined.shape = ExtentsOf(described);
  joined.shape[along] = bounds.back();
  NDLFS_RETURN_IF_ERROR(CheckShape(described, joined.shape));
  if (described.storage.fillvalue && joined.dtype.is_fixed_size()) {
    joined.fill.resize(joined.dtype.size());
    NDLFS_RETURN_IF_ERROR(
        model::EncodeElement(joined.dtype, *described.storage.fillvalue, joined.fill));
  }
  const auto chunk =
      ContiguousBlockShape(joined.shape, std::max<size_t>(joined.dtype.size(), 1), kPieceBytes);
  const bool is_plain = !spec.flat->fortran_order && !spec.flat->has_records &&
                        spec.flat->bits == model::FlatFile::Bits::kNone;
  const auto open = [parts, flat = *spec.flat, array = described, along,
                     sizes](size_t i) -> Result<JoinedPart> {
    JoinedPart part;
    part.name = parts->stores().Describe(parts->path(i));
    if (!parts->is_present(i)) return part;
    FlatLayout layout = LayoutOf(parts->stores(), parts->path(i), flat, array);
    layout.shape[along] = sizes[i];
    layout.trailer = flat.trailer.value_or(0);  // a longer file has more than its part
    NDLFS_TRY(part.source,
              MakeFlatSource(std::move(layout), parts->stores().options().max_chunk_size),
              part.name);
    return part;
  };
  Join join;
  join.dimensions = DimensionsOf(described);
  join.along = along;
  NDLFS_TRY(join.source, MakeJoinSource(std::move(joined), along, std::move(bounds), chunk,
                                        is_plain, open, NamesOf(parts)));
  return join;
}

}  // namespace ndlfs::backends::ndl
