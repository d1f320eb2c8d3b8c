// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/virtual_source.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "backends/codec/registry.h"
#include "backends/format/read_elements.h"
#include "model/bounded_map.h"

namespace ndlfs::backends::hdf5 {
namespace {

using model::Result;
using Shape = std::vector<uint64_t>;

constexpr int kMaxVirtualDepth = 8;
constexpr uint64_t kMaxSources = 100'000;
constexpr uint64_t kMaxRuns = 1'000'000;

// A name with `block` in the place of %b; `has_place` becomes true if there is one.
std::string Expand(const std::string& name, uint64_t block, bool& has_place) {
  std::string expanded;
  for (size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '\0';
    if (name[i] == '%' && next == 'b') {
      expanded += std::to_string(block);
      has_place = true;
      ++i;
    } else if (name[i] == '%' && next == '%') {
      expanded += '%';
      ++i;
    } else {
      expanded += name[i];
    }
  }
  return expanded;
}

// --- Selections, element by element

// A selection as runs along the last dimension, in the order in which its elements count.
class Elements1D {
 public:
  // A regular selection, dimension by dimension: how many coordinates each has.
  struct Axis {
    Selection::Axis at;
    uint64_t count = 0;
    uint64_t Coordinate(uint64_t i) const {
      if (at.block == kNowhere) return at.start + i;
      return at.start + i / at.block * at.stride + i % at.block;
    }
    // How many coordinates from `i` on follow each other.
    uint64_t RunFrom(uint64_t i) const {
      const bool is_solid = at.block == kNowhere || at.stride == at.block;
      return std::min(count - i, is_solid ? count : at.block - i % at.block);
    }
    // The first `i` whose coordinate is at least `coordinate`.
    uint64_t LowerBound(uint64_t coordinate) const {
      if (coordinate <= at.start) return 0;
      const uint64_t distance = coordinate - at.start;
      if (at.block == kNowhere) return std::min(count, distance);
      const uint64_t blocks = distance / at.stride;
      return std::min(count, blocks * at.block + std::min(distance % at.stride, at.block));
    }
  };
  struct Run {
    Shape first;
    uint64_t count;
    uint64_t ordinal;
  };

  static Result<Elements1D> Make(const Selection& selection, const Shape& extent) {
    Elements1D made;
    made.rank_ = extent.size();
    if (selection.kind == Selection::Kind::kNone) return made;
    if (selection.kind == Selection::Kind::kAll) {
      for (const uint64_t all : extent) made.axes_.push_back({{0, 1, 1, kNowhere}, all});
      made.is_regular_ = true;
      return made;
    }
    if (selection.rank != extent.size()) {
      return model::Corrupt("a selection of {} dimensions in a dataset of {}", selection.rank,
                            extent.size());
    }
    if (selection.axes.empty()) return MakeRuns(selection, std::move(made));
    made.is_regular_ = true;
    for (size_t d = 0; d < extent.size(); ++d) {
      NDLFS_TRY(const Axis axis, MakeAxis(selection.axes[d], extent[d]));
      made.axes_.push_back(axis);
    }
    return made;
  }

  std::vector<Axis>& axes() { return axes_; }

  // Of all elements; capped.
  uint64_t Count() const {
    if (!is_regular_) return runs_.empty() ? 0 : runs_.back().ordinal + runs_.back().count;
    uint64_t all = 1;
    for (const Axis& axis : axes_) {
      all = CheckedMultiply(all, axis.count).value_or(UINT64_MAX);
    }
    return all;
  }

  // The place of an element, and how many behind it follow each other along the last dimension;
  // 0 for an ordinal that the selection does not have.
  uint64_t At(uint64_t ordinal, Shape& place) const {
    place.resize(rank_);
    if (is_regular_) {
      if (rank_ == 0) return ordinal == 0 ? 1 : 0;
      uint64_t rest = ordinal;
      uint64_t run = 0;
      for (size_t d = rank_; d-- > 0;) {
        if (axes_[d].count == 0) return 0;
        const uint64_t i = d == 0 ? rest : rest % axes_[d].count;
        if (i >= axes_[d].count) return 0;
        place[d] = axes_[d].Coordinate(i);
        if (d + 1 == rank_) run = axes_[d].RunFrom(i);
        rest /= axes_[d].count;
      }
      return run;
    }
    const auto behind = std::ranges::upper_bound(runs_, ordinal, {},
                                                 [](const Run& run) { return run.ordinal; });
    if (behind == runs_.begin()) return 0;
    const Run& run = *std::prev(behind);
    const uint64_t inside = ordinal - run.ordinal;
    if (inside >= run.count) return 0;
    place = run.first;
    if (rank_ > 0) place.back() += inside;
    return run.count - inside;
  }

  // Calls `use` with the runs inside of the block that begins at `start`.
  template <typename Use>
  Result<void> ForEachIn(const Shape& start, const Shape& count, const Use& use) const {
    if (!is_regular_) {
      for (const Run& run : runs_) {
        Run cut = run;
        if (Clip(start, count, cut)) NDLFS_RETURN_IF_ERROR(use(cut));
      }
      return {};
    }
    if (rank_ == 0) return use(Run{{}, 1, 0});
    Shape low(rank_);
    Shape high(rank_);
    for (size_t d = 0; d < rank_; ++d) {
      low[d] = axes_[d].LowerBound(start[d]);
      high[d] = axes_[d].LowerBound(start[d] + count[d]);
      if (low[d] >= high[d]) return {};
    }
    Shape at = low;
    for (;;) {
      const size_t last = rank_ - 1;
      for (uint64_t i = low[last]; i < high[last];) {
        const uint64_t length = std::min(axes_[last].RunFrom(i), high[last] - i);
        at[last] = i;
        NDLFS_RETURN_IF_ERROR(use(RunAt(at, length)));
        i += length;
      }
      size_t d = last;
      while (d > 0 && ++at[d - 1] == high[d - 1]) {
        at[d - 1] = low[d - 1];
        --d;
      }
      if (d == 0) return {};
    }
  }

 private:
  static Result<Axis> MakeAxis(const Selection::Axis& at, uint64_t extent) {
    if (at.block == 0 || at.count == 0) return Axis{at, 0};
    if (at.count != 1 && (at.stride == 0 || at.block > at.stride)) {
      return model::Corrupt("a selection whose blocks overlap");
    }
    Axis axis{at, 0};
    if (axis.at.stride == 0) axis.at.stride = 1;
    // A single block, or what reaches as far as the dataset does.
    if (at.count == 1) axis.at.stride = std::max(axis.at.stride, at.block);
    const uint64_t room = extent - std::min(extent, at.start);
    if (at.block == kNowhere) {
      axis.count = room;
      axis.at.stride = kNowhere;
    } else if (at.count == kNowhere) {
      axis.count = room / at.stride * at.block + std::min(room % at.stride, at.block);
    } else {
      const auto count = CheckedMultiply(at.count, at.block);
      const auto reach = CheckedMultiply(at.count, axis.at.stride);
      if (!count || !reach || !CheckedAdd(*reach, at.start)) {
        return model::Corrupt("a selection beyond any dataset");
      }
      axis.count = *count;
    }
    return axis;
  }

  // Boxes and points; those of boxes in the order of the dataset.
  static Result<Elements1D> MakeRuns(const Selection& selection, Elements1D made) {
    for (const Shape& point : selection.points) made.runs_.push_back({point, 1, 0});
    for (const Selection::Box& box : selection.boxes) {
      Shape at = box.first;
      for (;;) {
        if (made.runs_.size() >= kMaxRuns) return model::Limit("a selection of many parts");
        made.runs_.push_back({at, box.last.back() - box.first.back() + 1, 0});
        size_t d = at.size() - 1;
        while (d > 0 && at[d - 1]++ == box.last[d - 1]) {
          at[d - 1] = box.first[d - 1];
          --d;
        }
        if (d == 0) break;
      }
    }
    if (!selection.boxes.empty()) std::ranges::sort(made.runs_, {}, &Run::first);
    uint64_t ordinal = 0;
    for (Run& run : made.runs_) {
      run.ordinal = ordinal;
      ordinal += run.count;
    }
    return made;
  }

  static bool Clip(const Shape& start, const Shape& count, Run& run) {
    for (size_t d = 0; d + 1 < start.size(); ++d) {
      if (run.first[d] < start[d] || run.first[d] - start[d] >= count[d]) return false;
    }
    if (start.empty()) return true;
    const uint64_t begin = std::max(run.first.back(), start.back());
    const uint64_t end = std::min(run.first.back() + run.count, start.back() + count.back());
    if (begin >= end) return false;
    run.ordinal += begin - run.first.back();
    run.first.back() = begin;
    run.count = end - begin;
    return true;
  }

  Run RunAt(const Shape& at, uint64_t length) const {
    Run run{Shape(rank_), length, 0};
    for (size_t d = 0; d < rank_; ++d) {
      run.first[d] = axes_[d].Coordinate(at[d]);
      run.ordinal = run.ordinal * axes_[d].count + at[d];
    }
    return run;
  }

  size_t rank_ = 0;
  bool is_regular_ = false;
  std::vector<Axis> axes_;
  std::vector<Run> runs_;
};

std::optional<size_t> UnlimitedAxis(const Selection& selection) {
  for (size_t d = 0; d < selection.axes.size(); ++d) {
    const Selection::Axis& axis = selection.axes[d];
    if (axis.count == kNowhere || axis.block == kNowhere) return d;
  }
  return std::nullopt;
}

// --- The datasets that parts are taken from

struct SourceDataset {
  OpenedFile opened;
  DatasetInfo info;
};

thread_local int virtual_depth = 0;
thread_local uint64_t nested_work = 0;

// Counts virtual datasets in virtual datasets, and what they take together: each may name the
// next one many times.
class DepthScope {
 public:
  DepthScope() {
    if (virtual_depth++ == 0) nested_work = 0;
  }
  ~DepthScope() { --virtual_depth; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;
  // Before a step inside of a scope.
  static Result<void> Check(uint64_t work) {
    constexpr uint64_t kMostWork = 10'000;
    if (virtual_depth <= kMaxVirtualDepth && (virtual_depth < 2 || nested_work < kMostWork)) {
      if (virtual_depth > 1) nested_work += work;
      return {};
    }
    return model::Limit("too many virtual datasets of virtual datasets");
  }
};

bool IsMissing(const model::Error& error) {
  return error.code() == model::ErrorCode::kNotFound || error.sys_errno() == ENOENT ||
         error.sys_errno() == ENOTDIR;
}

// The file called `name`: in the folder of the virtual dataset's, or below the source; of an
// absolute name that is not there, what has its last part in that folder. nullopt if there is
// none; an error if the name leads out of the source.
Result<std::optional<OpenedFile>> OpenSourceFile(const OpenedFile& virtual_file,
                                                 const std::string& name) {
  if (name == ".") return virtual_file;
  const Source& source = *virtual_file.source;
  std::vector<std::optional<std::string>> paths = {source.Resolve(virtual_file.path, name)};
  if (name.starts_with('/')) {
    paths.push_back(source.Resolve(virtual_file.path, name.substr(name.rfind('/') + 1)));
  } else {
    paths.push_back(source.Resolve("", name));
  }
  for (const auto& path : paths) {
    if (!path) continue;
    if (*path == virtual_file.path) return virtual_file;
    auto store = source.OpenFile(*path, Follow::kYes);
    auto file = File::Open(store, *path);
    if (file) {
      return OpenedFile{*file, std::move(store), (*file)->info(), virtual_file.source, *path};
    }
    if (!IsMissing(file.error())) return model::Propagate(std::move(file).error());
  }
  if (paths[0]) return std::nullopt;
  return model::Unsupported("the source {} is outside of the source", model::Quote(name));
}

// kUnsupported if a link is on the way to `path`, which is not there otherwise.
Result<void> RefuseLinks(const File& file, std::string_view path) {
  std::string prefix = "/";
  for (const std::string_view name : model::SplitPath(path)) {
    prefix = model::JoinPath(prefix, name);
    const auto location = file.Find(prefix);
    if (!location && IsMissing(location.error())) return {};
    if (!location) return model::Propagate(std::move(location).error());
    if (location->is_link()) {
      return model::Unsupported("the source {} is behind a link", model::Quote(path));
    }
  }
  return {};
}

// nullopt for a file or a dataset that does not exist.
Result<std::optional<SourceDataset>> OpenSource(const OpenedFile& virtual_file,
                                                const std::string& file,
                                                const std::string& dataset) {
  NDLFS_RETURN_IF_ERROR(DepthScope::Check(1), dataset);
  NDLFS_TRY(auto opened, OpenSourceFile(virtual_file, file));
  if (!opened) return std::nullopt;
  const std::string path = ResolveInGroup("/", dataset);
  auto info = opened->file->Describe(path);
  if (!info && IsMissing(info.error())) {
    NDLFS_RETURN_IF_ERROR(RefuseLinks(*opened->file, path));
    return std::nullopt;
  }
  if (!info) return model::Propagate(std::move(info).error(), file);
  if (!info->dataset) return std::nullopt;
  NDLFS_RETURN_IF_ERROR(SetVirtualShape(*opened, *info->dataset));
  return SourceDataset{*std::move(opened), *std::move(info->dataset)};
}

// One of the sources of a part, and the place of its elements.
struct Piece {
  std::string file;
  std::string dataset;
  Selection from;
  Selection to;
};

// The pieces of a part whose names have a place for a number, up to the first one that does not
// exist; or the part itself. `use` returns whether the piece exists.
template <typename Use>
Result<void> ForEachPiece(const VirtualPart& part, const Use& use) {
  const auto unlimited = UnlimitedAxis(part.to);
  bool is_numbered = false;
  Expand(part.file, 0, is_numbered);
  Expand(part.dataset, 0, is_numbered);
  is_numbered = is_numbered && unlimited;
  for (uint64_t block = 0; block < (is_numbered ? kMaxSources : 1); ++block) {
    bool unused = false;
    Piece piece{Expand(part.file, block, unused), Expand(part.dataset, block, unused),
                part.from, part.to};
    if (is_numbered) {
      Selection::Axis& axis = piece.to.axes[*unlimited];
      const auto begin = CheckedMultiply(axis.stride, block);
      if (!begin || axis.block == kNowhere) return model::Corrupt("a mapping without end");
      axis.start = CheckedAdd(axis.start, *begin).value_or(UINT64_MAX);
      axis.count = 1;
    }
    NDLFS_TRY(const bool exists, use(piece));
    if (!exists) return {};
  }
  return {};
}

// --- Reading

// A dataset whose elements become those of a virtual one.
struct CastSource {
  std::shared_ptr<const ArraySource> source;
  std::shared_ptr<const ArrayToArrayCodec> cast;  // null: the elements are the same
  model::Datatype type;                           // that of the virtual dataset
  ByteVector fill;                                // of the source, cast; empty: zeros
};

// As libhdf5 converts numbers: integers out of range become the nearest ones that the type
// has, floats infinite, and fractions are cut off. What NaN becomes depends on the processor
// there; here it is 0.
Result<CastSource> MakeCast(const std::shared_ptr<const ArraySource>& source,
                            const model::Datatype& to) {
  using Kind = model::Datatype::Kind;
  const ArraySpec& spec = source->spec();
  const model::Datatype& from = spec.dtype;
  // The charset of text is a matter of how it is shown.
  const bool is_text = from.kind() == Kind::kString && to.kind() == Kind::kString;
  if (from.SameLayout(to) || (is_text && from.size() == to.size())) {
    return CastSource{source, nullptr, to, spec.fill};
  }
  const bool is_float = to.kind() == Kind::kFloat;
  Json json = {{"encode_dtype", from.keyword()}};
  if (!is_float) {
    json = {
        {"data_type", from.keyword()}, {"rounding", "towards-zero"}, {"out_of_range", "clamp"}};
    if (from.kind() == Kind::kFloat) {
      json["scalar_map"]["decode"] = Json::array({Json::array({"NaN", 0})});
    }
  }
  const ChunkForm one{to, {1}};
  const auto* codec = is_float ? "numcodecs.astype" : "cast_value";
  const auto made = MakeCodec({CodecDialect::kZarr3, codec, &json, &one});
  const auto* cast =
      made ? std::get_if<std::shared_ptr<const ArrayToArrayCodec>>(&*made) : nullptr;
  if (cast == nullptr) {
    return model::Unsupported("a source of {} in a virtual dataset of {}", from.keyword(),
                              to.keyword());
  }
  CastSource converted{source, *cast, to, {}};
  if (!spec.fill.empty()) {
    converted.fill.resize(to.size());
    NDLFS_RETURN_IF_ERROR((*cast)->Decode(spec.fill, one, converted.fill));
  }
  return converted;
}

// Elements of one source, whose last chunks are kept.
class SourceReader {
 public:
  explicit SourceReader(CastSource from) : from_(std::move(from)) {}
  const ArraySpec& spec() const { return from_.source->spec(); }
  const ByteVector& fill() const { return from_.fill; }

  // Calls `use(bytes, first, count)` for the parts of a run: a decoded chunk, and which of its
  // elements; no bytes stand for the fill value.
  template <typename Use>
  Result<void> Read(Shape at, uint64_t count, uint64_t limit, const Use& use) {
    const ChunkGrid& grid = spec().grid;
    while (count > 0) {
      Shape index(at.size());
      for (size_t d = 0; d < at.size(); ++d) index[d] = grid.ChunkOf(d, at[d]);
      NDLFS_TRY(const Bytes* chunk, ChunkAt(index, limit));
      const Shape shape = grid.ChunkShape(index);
      uint64_t linear = 0;
      for (size_t d = 0; d < at.size(); ++d) {
        linear = linear * shape[d] + at[d] - grid.Begin(d, index[d]);
      }
      uint64_t length = 1;
      if (!at.empty()) {
        const uint64_t inside = at.back() - grid.Begin(at.size() - 1, index.back());
        length = std::min(count, shape.back() - inside);
        at.back() += length;
      }
      NDLFS_RETURN_IF_ERROR(use(*chunk, linear, length, CheckedProduct(shape).value_or(0)));
      count -= length;
    }
    return {};
  }

 private:
  class Indexes final : public IndexCache {
   public:
    Result<std::shared_ptr<const void>> GetOrLoadWeighed(
        uint64_t id, uint64_t slot, const std::function<Result<Weighed>()>& load) override {
      if (kept_.size() > 16) kept_.clear();
      auto& kept = kept_[{id, slot}];
      if (!kept) {
        NDLFS_TRY(Weighed loaded, load());
        kept = std::move(loaded.object);
      }
      return kept;
    }

   private:
    std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<const void>> kept_;
  };

  Result<const Bytes*> ChunkAt(const Shape& index, uint64_t limit) {
    constexpr uint64_t kKeptBytes = uint64_t{32} << 20;
    const auto found = chunks_.find(index);
    if (found != chunks_.end()) return &found->second;
    NDLFS_TRY(const ChunkLocation location, from_.source->Locate(index, indexes_));
    const ChunkForm form{from_.type, spec().grid.ChunkShape(index)};
    NDLFS_TRY(Bytes chunk, ReadChunk(spec().codecs, location, form.shape, limit));
    if (from_.cast && !chunk.empty()) {
      const auto bytes = CheckedProduct(form.shape, form.dtype.size());
      if (!bytes || *bytes > limit) return model::Limit("a chunk of more than {} bytes", limit);
      Bytes cast(*bytes);
      NDLFS_RETURN_IF_ERROR(from_.cast->Decode(chunk.span(), form, cast.span()));
      chunk = std::move(cast);
    }
    if (kept_bytes_ > kKeptBytes) {
      chunks_.clear();
      kept_bytes_ = 0;
    }
    kept_bytes_ += chunk.size();
    return &chunks_.emplace(index, std::move(chunk)).first->second;
  }

  const CastSource from_;
  Indexes indexes_;
  std::map<Shape, Bytes> chunks_;
  uint64_t kept_bytes_ = 0;
};

// The elements of a block of a virtual dataset, that come piece by piece.
class Assembly {
 public:
  Assembly(const ArraySpec& spec, Shape start, Shape count)
      : start_(std::move(start)),
        count_(std::move(count)),
        total_(CheckedProduct(count_).value_or(0)),
        item_(spec.dtype.is_fixed_size() ? spec.dtype.size() : 0) {
    if (item_ == 0) {
      elements_.resize(total_, spec.fill.empty() ? ZeroElement(spec.dtype) : spec.fill);
      return;
    }
    bytes_ = Bytes(total_ * item_);
    for (uint64_t i = 0; i < bytes_.size(); ++i) {
      bytes_.data()[i] = spec.fill.empty() ? std::byte{0} : spec.fill[i % spec.fill.size()];
    }
  }

  const Shape& start() const { return start_; }
  const Shape& count() const { return count_; }

  Result<void> Put(const Elements1D& to, const Elements1D& from, SourceReader& source,
                   uint64_t limit) {
    return to.ForEachIn(start_, count_, [&](const Elements1D::Run& run) -> Result<void> {
      uint64_t linear = 0;
      for (size_t d = 0; d < start_.size(); ++d) {
        linear = linear * count_[d] + run.first[d] - start_[d];
      }
      Shape place;
      for (uint64_t done = 0; done < run.count;) {
        uint64_t length = from.At(run.ordinal + done, place);
        length = std::min(length, run.count - done);
        const uint64_t inside = LengthInside(place, length, source.spec().shape);
        if (length == 0) break;
        uint64_t next = linear + done;
        NDLFS_RETURN_IF_ERROR(source.Read(
            place, inside, limit,
            [&](const Bytes& chunk, uint64_t first, uint64_t count, uint64_t in_chunk) {
              auto copied = Copy(source, chunk, first, count, in_chunk, next, limit);
              next += count;
              return copied;
            }));
        done += length;
      }
      return {};
    });
  }

  Bytes Take() {
    if (item_ != 0) return std::move(bytes_);
    std::vector<uint64_t> offsets;
    ByteVector all;
    for (const ByteVector& element : elements_) {
      offsets.push_back(all.size());
      all.insert(all.end(), element.begin(), element.end());
    }
    return MakeElementStream(offsets, all);
  }

 private:
  // How many of the elements that begin at `place` the source has: a mapping may name more.
  static uint64_t LengthInside(const Shape& place, uint64_t length, const Shape& shape) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (place[d] >= shape[d]) return 0;
      if (d + 1 == shape.size()) length = std::min(length, shape[d] - place[d]);
    }
    return length;
  }

  Result<void> Copy(const SourceReader& source, const Bytes& chunk, uint64_t first,
                    uint64_t count, uint64_t in_chunk, uint64_t to, uint64_t limit) {
    if (item_ == 0) return CopyVariable(source, chunk, first, count, in_chunk, to, limit);
    for (uint64_t i = 0; chunk.empty() && i < count * item_; ++i) {
      bytes_.data()[to * item_ + i] =
          source.fill().empty() ? std::byte{0} : source.fill()[i % source.fill().size()];
    }
    if (chunk.empty()) return {};
    if ((first + count) * item_ > chunk.size())
      return model::Internal("a chunk of other bytes");
    std::memcpy(bytes_.data() + to * item_, chunk.data() + first * item_, count * item_);
    return {};
  }

  Result<void> CopyVariable(const SourceReader& source, const Bytes& chunk, uint64_t first,
                            uint64_t count, uint64_t in_chunk, uint64_t to, uint64_t limit) {
    std::optional<ElementTable> table;
    if (!chunk.empty()) {
      NDLFS_TRY(table, ElementTable::Make(chunk.span(), in_chunk));
    }
    for (uint64_t i = 0; i < count; ++i) {
      ByteVector element =
          source.fill().empty() ? ZeroElement(source.spec().dtype) : source.fill();
      if (table) {
        const ConstByteSpan bytes = (*table)[first + i];
        element.assign(bytes.begin(), bytes.end());
      }
      held_bytes_ += element.size();
      if (held_bytes_ > limit) return model::Limit("elements of more than {} bytes", limit);
      elements_[to + i] = std::move(element);
    }
    return {};
  }

  const Shape start_;
  const Shape count_;
  const uint64_t total_;
  const size_t item_;  // 0: of variable size
  Bytes bytes_;
  std::vector<ByteVector> elements_;
  uint64_t held_bytes_ = 0;
};

class VirtualSource final : public ArraySource {
 public:
  VirtualSource(ArraySpec spec, OpenedFile opened, const DatasetInfo& info)
      : spec_(std::move(spec)), made_(std::make_shared<Made>(std::move(opened), info)) {
    made_->spec = spec_;
  }

  const ArraySpec& spec() const override { return spec_; }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    Shape start;
    for (size_t d = 0; d < index.size(); ++d) start.push_back(spec_.grid.Begin(d, index[d]));
    ChunkLocation location;
    location.generate = [made = made_, start = std::move(start),
                         count = spec_.grid.ChunkShape(index)](uint64_t limit) {
      return made->Read(start, count, limit);
    };
    return location;
  }

 private:
  // Outlives the source, as locations do.
  struct Made {
    Made(OpenedFile file, const DatasetInfo& described)
        : opened(std::move(file)), info(described) {}

    Result<Bytes> Read(const Shape& start, const Shape& count, uint64_t limit) const {
      auto read = Assemble(start, count, limit);
      // What was read of a file that has changed meanwhile means nothing, errors neither.
      NDLFS_RETURN_IF_ERROR(opened.file->CheckUnchanged());
      return read;
    }

    Result<Bytes> Assemble(const Shape& start, const Shape& count, uint64_t limit) const {
      constexpr uint64_t kBytesPerStep = uint64_t{64} << 10;
      const DepthScope depth;
      const uint64_t bytes = CheckedProduct(count, spec.dtype.size()).value_or(UINT64_MAX);
      NDLFS_RETURN_IF_ERROR(DepthScope::Check(1 + bytes / kBytesPerStep));
      Assembly assembly(spec, start, count);
      for (const VirtualPart& part : info.parts) {
        NDLFS_RETURN_IF_ERROR(ForEachPiece(
            part, [&](const Piece& piece) { return Put(piece, assembly, limit); }));
      }
      return assembly.Take();
    }

    // Whether the piece may exist, and another one behind it.
    Result<bool> Put(const Piece& piece, Assembly& assembly, uint64_t limit) const {
      NDLFS_TRY(Elements1D to, Elements1D::Make(piece.to, info.shape));
      // Sources whose elements are not wanted need not be opened.
      bool is_wanted = false;
      NDLFS_RETURN_IF_ERROR(
          to.ForEachIn(assembly.start(), assembly.count(), [&](const auto&) -> Result<void> {
            is_wanted = true;
            return {};
          }));
      if (!is_wanted) {
        const auto unlimited = UnlimitedAxis(piece.to);
        if (unlimited) return true;
        // Numbered pieces behind the block are not wanted either.
        return std::ranges::all_of(piece.to.axes, [&](const Selection::Axis& axis) {
          const auto d = static_cast<size_t>(&axis - piece.to.axes.data());
          return axis.start < assembly.start()[d] + assembly.count()[d];
        });
      }
      NDLFS_TRY(const auto source, Open(piece));
      if (!source) return false;
      SourceReader reader(*source);
      NDLFS_TRY(Elements1D from, Elements1D::Make(piece.from, reader.spec().shape));
      Match(piece, to, from);
      // What grows may have any length.
      if (!UnlimitedAxis(piece.from) && to.Count() > from.Count()) {
        return model::Corrupt("{}: insufficient elements: {} of {}", piece.file, from.Count(),
                              to.Count());
      }
      NDLFS_RETURN_IF_ERROR(assembly.Put(to, from, reader, limit), piece.file);
      return true;
    }

    // Of two selections that grow, the shorter one counts.
    static void Match(const Piece& piece, Elements1D& to, Elements1D& from) {
      const auto to_axis = UnlimitedAxis(piece.to);
      const auto from_axis = UnlimitedAxis(piece.from);
      if (!to_axis || !from_axis) return;
      uint64_t& a = to.axes()[*to_axis].count;
      uint64_t& b = from.axes()[*from_axis].count;
      a = b = std::min(a, b);
    }

    // nullopt if it does not exist.
    Result<std::optional<CastSource>> Open(const Piece& piece) const EXCLUDES(mutex) {
      const std::pair key(piece.file, piece.dataset);
      {
        const model::MutexLock lock(mutex);
        const auto found = sources.find(key);
        if (found != sources.end()) return found->second;
      }
      NDLFS_TRY(auto dataset, OpenSource(opened, piece.file, piece.dataset));
      if (!dataset) return std::nullopt;
      NDLFS_TRY(const auto source,
                MakeDatasetSource(dataset->opened, dataset->info, spec.max_chunk_bytes),
                piece.file);
      NDLFS_TRY(auto cast, MakeCast(source, spec.dtype), piece.file);
      constexpr size_t kKeptSources = 64;
      const model::MutexLock lock(mutex);
      if (sources.size() >= kKeptSources) sources.clear();
      sources.emplace(key, cast);
      return cast;
    }

    const OpenedFile opened;
    const DatasetInfo info;
    ArraySpec spec;
    mutable model::Mutex mutex;
    mutable std::map<std::pair<std::string, std::string>, CastSource> sources GUARDED_BY(mutex);
  };

  const ArraySpec spec_;
  const std::shared_ptr<Made> made_;
};

// How far the unlimited axis of a selection reaches with so many elements along it.
uint64_t ReachOf(const Selection::Axis& axis, uint64_t count) {
  if (count == 0 || axis.block == 0) return 0;
  if (axis.block == kNowhere || axis.block == axis.stride) {
    return CheckedAdd(axis.start, count).value_or(UINT64_MAX);
  }
  const uint64_t last = (count - 1) / axis.block;
  return CheckedAdd(
             CheckedAdd(axis.start, CheckedMultiply(last, axis.stride).value_or(UINT64_MAX))
                 .value_or(UINT64_MAX),
             (count - 1) % axis.block + 1)
      .value_or(UINT64_MAX);
}

}  // namespace

model::Result<void> SetVirtualShape(const OpenedFile& opened, DatasetInfo& info) {
  if (info.layout != Layout::kVirtual) return {};
  const DepthScope depth;
  Shape shape = info.shape;
  std::vector<bool> grows(shape.size());
  Shape least(shape.size(), 0);
  for (const VirtualPart& part : info.parts) {
    const auto unlimited = UnlimitedAxis(part.to);
    for (size_t d = 0; d < std::min(part.to.axes.size(), shape.size()); ++d) {
      const Selection::Axis& axis = part.to.axes[d];
      if (d == unlimited || axis.count == 0) continue;
      least[d] =
          std::max(least[d],
                   ReachOf(axis, CheckedMultiply(axis.count, axis.block).value_or(UINT64_MAX)));
    }
    if (!unlimited || *unlimited >= shape.size()) continue;
    if (!grows[*unlimited]) shape[*unlimited] = 0;
    grows[*unlimited] = true;
    const Selection::Axis& axis = part.to.axes[*unlimited];
    uint64_t count = 0;
    NDLFS_RETURN_IF_ERROR(ForEachPiece(part, [&](const Piece& piece) -> Result<bool> {
      NDLFS_TRY(const auto source, OpenSource(opened, piece.file, piece.dataset));
      if (!source) return false;
      const auto from_axis = UnlimitedAxis(part.from);
      if (!from_axis) {
        count += axis.block;
        return true;
      }
      NDLFS_TRY(Elements1D from, Elements1D::Make(part.from, source->info.shape));
      count = from.axes()[*from_axis].count;
      return true;
    }));
    shape[*unlimited] = std::max(shape[*unlimited], ReachOf(axis, count));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (grows[d]) info.shape[d] = std::max(shape[d], least[d]);
    info.max_shape[d] = std::max(info.max_shape[d], info.shape[d]);
  }
  return {};
}

Result<std::shared_ptr<const ArraySource>> MakeVirtualSource(ArraySpec spec,
                                                             const OpenedFile& opened,
                                                             const DatasetInfo& info) {
  return std::make_shared<VirtualSource>(std::move(spec), opened, info);
}

}  // namespace ndlfs::backends::hdf5
