// SPDX-License-Identifier: MIT
#include "fs/view/picture/preview_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "backends/format/packing.h"
#include "fs/view/base/array_part.h"
#include "fs/view/base/attributes.h"
#include "fs/view/base/number_array.h"
#include "fs/view/base/unpacked.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/picture/drawing/colour_map.h"
#include "fs/view/place/label_numbers.h"
#include "fs/view/place/smaller_level.h"

namespace ndlfs::fs {
namespace {

using model::Result;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

uint64_t DivideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// At most `most` indices of all of [begin, end), equally far from each other.
IndexRange Spread(uint64_t begin, uint64_t end, uint64_t most) {
  const uint64_t extent = end - begin;
  const uint64_t step = DivideUp(extent, std::max<uint64_t>(1, most));
  const uint64_t first = (step - 1) / 2;
  return {.begin = begin + std::min(first, extent - 1),
          .count = DivideUp(extent - std::min(first, extent - 1), step),
          .step = static_cast<int64_t>(step)};
}

// Red, green, blue and alpha.
constexpr uint64_t kMostColourSamples = 4;

// Which dimensions are shown. Of bands that are no colours, one is, as of bands that are stored
// one after the other.
void ChooseAxes(SamplePlan& plan) {
  const ArrayInput& whole = plan.whole;
  const auto numbers = AsNumbers(whole);
  const auto raster = numbers ? AsRaster(whole, *numbers) : std::nullopt;
  size_t rank = whole.shape.size();
  if (raster && raster->sample_axis && raster->width > 1 && raster->height > 1) {
    const bool is_shown_at_once = raster->is_colour && raster->number == Number::kUInt8 &&
                                  raster->samples <= kMostColourSamples;
    if (is_shown_at_once) {
      plan.channels = raster->samples;
      plan.alpha = raster->alpha;
    }
    plan.x = raster->x_axis;
    plan.y = raster->y_axis;
    return;
  }
  for (; rank > 0 && !plan.x; --rank) {
    if (whole.shape[rank - 1] > 1) plan.x = rank - 1;
  }
  for (; rank > 0 && !plan.y; --rank) {
    if (whole.shape[rank - 1] > 1) plan.y = rank - 1;
  }
}

// An axis while it is decided what is read of it.
struct AxisChoice {
  uint64_t extent = 1;
  uint64_t most = 1;    // elements that a picture can show
  uint64_t chunks = 1;  // along the axis
};

// How many chunks along each of two axes, so that there are at most `most` of them.
std::pair<uint64_t, uint64_t> ShareChunks(uint64_t y, uint64_t x, uint64_t most) {
  if (y <= most / x) return {y, x};
  const auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(most)));
  uint64_t of_y = std::clamp<uint64_t>(root, 1, y);
  const uint64_t of_x = std::clamp<uint64_t>(most / of_y, 1, x);
  of_y = std::clamp<uint64_t>(most / of_x, 1, y);
  return {of_y, of_x};
}

// The middle chunks of an axis, `count` of them.
IndexRange Middle(const backends::ChunkGrid& grid, size_t d, uint64_t extent, uint64_t count,
                  uint64_t most) {
  const uint64_t chunks = grid.counts()[d];
  const uint64_t first = (chunks - std::min(count, chunks)) / 2;
  const uint64_t last = first + std::min(count, chunks) - 1;
  const uint64_t end = std::min(extent, grid.Begin(d, last) + grid.Extent(d, last));
  return Spread(grid.Begin(d, first), end, most);
}

// Elements that are read where they are cost the pages that they lie in.
void LimitPages(const SamplePlan& plan, AxisChoice& x, AxisChoice& y) {
  constexpr uint64_t kPage = 4096;
  constexpr uint64_t kMostOfLine = 16'000;
  constexpr uint64_t kMostOfMap = 128;          // along each axis
  constexpr uint64_t kMostPagesOfMap = 32'768;  // of rows that are read whole
  uint64_t item = plan.whole.dtype.size();      // bytes from one to the next along x
  for (size_t d = plan.x ? *plan.x + 1 : plan.whole.shape.size(); d < plan.whole.shape.size();
       ++d) {
    item *= plan.whole.shape[d];
  }
  if (x.extent / x.most * item >= kPage) {
    x.most = std::min(x.most, plan.y ? kMostOfMap : kMostOfLine);
    y.most = std::min(y.most, kMostOfMap);
  } else if (plan.y) {
    const uint64_t of_row = DivideUp(x.extent * item, kPage);
    y.most = std::clamp<uint64_t>(kMostPagesOfMap / of_row, 1, y.most);
  }
}

bool Decodes(const ArrayInput& whole) { return whole.reader->max_chunk_bytes() != 0; }

// Fewer than that say nothing of an array, if they are spread over it.
constexpr uint64_t kFewestSpread = 64;

uint64_t MostBytesOf(std::string_view codec, const SampleLimits& limits) {
  if (codec == "gzip" || codec == "zlib") return limits.deflated_bytes;
  if (codec == "bz2" || codec == "lzma") return limits.slowest_bytes;
  return limits.bytes;
}

// The least for any codec that the parameters of a filter name: those of a shard, and the one
// in blosc.
uint64_t MostBytesOf(const model::Value& parameters, const SampleLimits& limits) {
  uint64_t most = limits.bytes;
  const auto consider = [&](const model::Value& value) {
    most = std::min(most, MostBytesOf(value, limits));
  };
  if (parameters.text() != nullptr)
    return MostBytesOf(std::string_view(*parameters.text()), limits);
  if (parameters.list() != nullptr) std::ranges::for_each(*parameters.list(), consider);
  if (parameters.map() != nullptr) {
    for (const auto& [name, value] : *parameters.map()) consider(value);
  }
  return most;
}

// The kinds of the codecs alone decide, so that the picture of an array is always the same.
uint64_t MostBytes(const ArrayInput& whole, const SampleLimits& limits) {
  uint64_t most = limits.bytes;
  const auto& filters = whole.node->array().storage.filter;
  if (!filters) return most;
  for (const model::Filter& filter : *filters) {
    most = std::min({most, MostBytesOf(std::string_view(filter.name), limits),
                     MostBytesOf(model::Value(filter.parameters), limits)});
  }
  return most;
}

void ChooseRanges(SamplePlan& plan, const SampleLimits& limits) {
  const backends::ChunkGrid& grid = plan.whole.reader->spec().grid;
  const auto choose = [&](std::optional<size_t> d, uint64_t most) -> AxisChoice {
    if (!d) return {};
    return {plan.whole.shape[*d], most, std::max<uint64_t>(1, grid.counts()[*d])};
  };
  AxisChoice x = choose(plan.x, plan.y ? limits.columns : limits.points);
  AxisChoice y = choose(plan.y, limits.rows);
  if (!Decodes(plan.whole)) LimitPages(plan, x, y);
  const uint64_t chunk_bytes = std::max<uint64_t>(1, plan.whole.reader->max_chunk_bytes());
  const uint64_t most =
      std::clamp<uint64_t>(MostBytes(plan.whole, limits) / chunk_bytes, 1, limits.chunks);
  // Chunks that no sample is in are not read.
  const auto [of_y, of_x] =
      ShareChunks(std::min(y.chunks, y.most), std::min(x.chunks, x.most), most);
  const bool has_few = of_y * of_x < kFewestSpread;
  const auto range = [&](size_t d, const AxisChoice& axis, uint64_t chunks) {
    if (chunks >= std::min(axis.chunks, axis.most)) return Spread(0, axis.extent, axis.most);
    if (has_few) {
      plan.is_window = true;
      return Middle(grid, d, axis.extent, chunks, axis.most);
    }
    plan.is_coarse = true;
    return Spread(0, axis.extent, chunks);
  };
  if (plan.x) plan.selection[*plan.x] = range(*plan.x, x, of_x);
  if (plan.y) plan.selection[*plan.y] = range(*plan.y, y, of_y);
}

// Samples `first` to `first + count` along a dimension.
struct Run {
  uint64_t first = 0;
  uint64_t count = 0;
};

// Divides indices into runs, each within one chunk.
std::vector<Run> RunsOf(const SamplePlan& plan, std::optional<size_t> d) {
  if (!d) return {{0, 1}};
  const backends::ChunkGrid& grid = plan.whole.reader->spec().grid;
  const IndexRange& range = plan.selection[*d];
  std::vector<Run> runs;
  uint64_t last = 0;
  for (uint64_t i = 0; i < range.count; ++i) {
    const uint64_t chunk = grid.ChunkOf(*d, range.At(i));
    if (runs.empty() || chunk != last) runs.push_back({i, 0});
    ++runs.back().count;
    last = chunk;
  }
  return runs;
}

IndexRange Cut(const IndexRange& range, const Run& run) {
  return {.begin = range.At(run.first), .count = run.count, .step = range.step};
}

// One block of samples, which lies in one chunk, if chunks are decoded.
struct SampleBlock {
  Run rows;
  Run columns;
};

// Cuts large chunks into several pieces, so that few samples are in memory in their stored
// form.
std::vector<SampleBlock> BlocksOf(const SamplePlan& plan) {
  constexpr uint64_t kMostElements = uint64_t{512} << 10;
  std::vector<SampleBlock> blocks;
  const std::vector<Run> columns = RunsOf(plan, plan.x);
  for (const Run& rows : RunsOf(plan, plan.y)) {
    for (const Run& run : columns) {
      const uint64_t most = std::max<uint64_t>(1, kMostElements / (run.count * plan.channels));
      for (uint64_t done = 0; done < rows.count; done += most) {
        blocks.push_back({{rows.first + done, std::min(most, rows.count - done)}, run});
      }
    }
  }
  return blocks;
}

Selection SelectionOf(const SamplePlan& plan, const SampleBlock& block) {
  Selection selection = plan.selection;
  if (plan.y) selection[*plan.y] = Cut(selection[*plan.y], block.rows);
  if (plan.x) selection[*plan.x] = Cut(selection[*plan.x], block.columns);
  return selection;
}

// The number that stands for no value, unless MakeUnpacked() has applied it already.
std::optional<double> FindMissing(const ArrayInput& values, Number number) {
  if (values.dtype.kind() == model::Datatype::Kind::kInteger && values.dtype.time()) {
    return static_cast<double>(std::numeric_limits<int64_t>::min());
  }
  const auto missing = backends::MissingValueOf(*values.node);
  std::vector<std::byte> element(SizeOf(number));
  if (!missing || element.size() != values.dtype.size()) return std::nullopt;
  if (!model::EncodeElement(values.dtype, *missing, element)) return std::nullopt;
  return AsDoubles(number, element).front();
}

// Doubles are some of the integers of 64 bits alone.
void KeepLabelsApart(backends::ConstByteSpan bytes, std::vector<double>& values,
                     Samples& samples) {
  constexpr uint64_t kLargest =
      (uint64_t{1} << 53) / picture::kLabelColours * picture::kLabelColours;
  constexpr size_t kMostNames = 100;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] > static_cast<double>(kLargest))) continue;
    uint64_t label;
    std::memcpy(&label, bytes.data() + i * sizeof label, sizeof label);
    values[i] = static_cast<double>((label - 1) % kLargest + 1);
    if (samples.large_labels.size() < kMostNames) {
      samples.large_labels.emplace(values[i], fmt::format("{}", label));
    }
  }
}

Result<std::vector<double>> ReadBlock(const SamplePlan& plan, const SampleBlock& block,
                                      Samples& samples) {
  ArrayInput part = MakePart(plan.whole, SelectionOf(plan, block));
  if (plan.channels == 1) part = AsValues(std::move(part));
  const auto numbers = AsNumbers(part);
  if (!numbers) return model::Internal("no numbers of {}", part.dtype.keyword());
  backends::Bytes bytes(numbers->bytes);
  NDLFS_RETURN_IF_ERROR(numbers->elements->Read(0, bytes.span(), model::ByteOrder::kLittle,
                                                cache::ReadHint::kOnward));
  std::vector<double> values = AsDoubles(numbers->number, bytes.span());
  if (plan.channels > 1) return values;
  if (const auto missing = FindMissing(part, numbers->number)) {
    std::ranges::replace(values, *missing, kMissing);
  }
  const bool is_wide = numbers->number == Number::kInt64 || numbers->number == Number::kUInt64;
  if (is_wide && AreLabels(plan.whole)) KeepLabelsApart(bytes.span(), values, samples);
  return values;
}

// Has the chunks of the next blocks decoded while one is read.
class Ahead {
 public:
  Ahead(const SamplePlan& plan, const std::vector<SampleBlock>& blocks,
        cache::Prefetcher* prefetcher)
      : plan_(plan), blocks_(blocks) {
    if (prefetcher != nullptr) stream_.emplace(*prefetcher, plan.whole.reader);
  }

  void Reads(size_t block) {
    constexpr size_t kMostAhead = 32;
    next_ = std::max(next_, block + 1);
    for (; stream_ && next_ < std::min(blocks_.size(), block + 1 + kMostAhead); ++next_) {
      stream_->Expect(OffsetOf(SelectionOf(plan_, blocks_[next_])));
    }
  }

 private:
  uint64_t OffsetOf(const Selection& selection) const {
    uint64_t element = 0;
    for (size_t d = 0; d < selection.size(); ++d) {
      element = element * plan_.whole.shape[d] + selection[d].begin;
    }
    return element * plan_.whole.dtype.size();
  }

  const SamplePlan& plan_;
  const std::vector<SampleBlock>& blocks_;
  std::optional<cache::ReadStream> stream_;
  size_t next_ = 0;
};

void Put(const SamplePlan& plan, const SampleBlock& block, const std::vector<double>& values,
         Samples& samples) {
  const uint64_t width = block.columns.count * plan.channels;
  for (uint64_t row = 0; row < block.rows.count; ++row) {
    const uint64_t at =
        ((block.rows.first + row) * plan.columns() + block.columns.first) * plan.channels;
    for (uint64_t i = 0; i < width; ++i) {
      samples.numbers[at + i] = values[row * width + i];
    }
  }
}

void MarkBroken(const SamplePlan& plan, const SampleBlock& block, const model::Error& error,
                Samples& samples) {
  if (samples.is_broken.empty()) samples.is_broken.resize(plan.rows() * plan.columns());
  if (samples.first_problem.empty()) samples.first_problem = error.message();
  ++samples.broken_chunks;
  for (uint64_t row = 0; row < block.rows.count; ++row) {
    const uint64_t at = (block.rows.first + row) * plan.columns() + block.columns.first;
    for (uint64_t i = 0; i < block.columns.count; ++i) samples.is_broken[at + i] = true;
  }
}

}  // namespace

SamplePlan PlanSamples(const ArrayInput& whole, const SampleLimits& limits) {
  SamplePlan plan;
  plan.whole = whole;
  plan.full_shape = whole.shape;
  ChooseAxes(plan);
  for (const uint64_t extent : whole.shape) {
    plan.selection.push_back({.begin = extent / 2, .count = 1, .step = 1});
  }
  if (plan.channels > 1) plan.selection.back() = WholeRange(plan.channels);
  ChooseRanges(plan, limits);
  return plan;
}

namespace {

// The plan with the channels of an image: each has its share of what may be decoded.
SamplePlan PlanChannels(const ArrayInput& level, SampleLimits limits) {
  SamplePlan plan = PlanSamples(level, limits);
  ChannelMix mix = ChooseChannels(level);
  const bool has_no_mix = mix.channels.empty() || plan.channels > 1 || !plan.y ||
                          plan.x == mix.dimension || plan.y == mix.dimension;
  if (has_no_mix) return plan;
  if (mix.is_mixed()) {
    const uint64_t count = mix.channels.size();
    limits.chunks = std::max(std::min(kFewestSpread, limits.chunks), limits.chunks / count);
    limits.bytes /= count;
    limits.deflated_bytes /= count;
    limits.slowest_bytes /= count;
    plan = PlanSamples(level, limits);
  }
  plan.selection[mix.dimension].begin = mix.channels.front().index;
  plan.mix = std::move(mix);
  return plan;
}

// The level that is large enough for a map of so many elements. It has the name and the
// attributes of the array, and its own dimensions, since these lead to coordinates.
Result<ArrayInput> ChooseLevel(const ArrayInput& input, uint64_t columns, uint64_t rows) {
  SamplePlan axes;
  axes.whole = input;
  ChooseAxes(axes);
  if (!axes.x || !axes.y) return input;
  NDLFS_TRY(ArrayInput level, FindSmallerLevel(input, {*axes.x, *axes.y, columns, rows}));
  if (level.node == input.node) return level;
  auto node = std::make_shared<backends::Node>(*input.node);
  model::Ndarray array = input.node->array();
  array.shape = level.node->array().shape;
  array.dimension_names = level.node->array().dimension_names;
  node->entity = std::move(array);
  node->source = level.node->source;
  level.node = std::move(node);
  return level;
}

}  // namespace

Result<SamplePlan> PlanPicture(const ArrayInput& input, PictureEffort effort) {
  constexpr uint64_t kEnoughColumns = 700;
  constexpr uint64_t kEnoughRows = 500;
  constexpr uint64_t kPart = 4;
  constexpr uint64_t kPartOfField = 16;  // of what a thumbnail may decode
  SampleLimits limits;
  const uint64_t part = effort == PictureEffort::kPreview ? 1 : kPart;
  const uint64_t cost = effort == PictureEffort::kField ? kPartOfField : 1;
  for (uint64_t* limit : {&limits.columns, &limits.rows, &limits.points, &limits.chunks}) {
    *limit /= part;
  }
  for (uint64_t* limit : {&limits.bytes, &limits.deflated_bytes, &limits.slowest_bytes}) {
    *limit /= part * cost;
  }
  NDLFS_TRY(ArrayInput level, ChooseLevel(input, kEnoughColumns / part, kEnoughRows / part));
  SamplePlan plan = PlanChannels(level, limits);
  plan.full_shape = input.shape;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    plan.full_names.push_back(DimensionName(input, d));
  }
  return plan;
}

ArrayInput AsValues(ArrayInput input) {
  input = AsCfNumbers(std::move(input));
  ElementConversion conversion = ToFloat32(input.dtype);
  if (conversion.converter) {
    input.dtype = conversion.type;
    input.elements = ConvertElements(input.elements, std::move(conversion));
  }
  auto values = MakeUnpacked(input, UnpackedForm::kNumbers);
  return values ? *std::move(values) : input;
}

namespace {

// One channel after the other. A sample is broken if it is in one of them.
Result<Samples> ReadLayers(const SamplePlan& plan, cache::Prefetcher* prefetcher) {
  Samples all;
  std::optional<model::Error> failure;
  for (const MixedChannel& channel : plan.mix.channels) {
    SamplePlan one = plan;
    one.mix = {};
    one.selection[plan.mix.dimension].begin = channel.index;
    auto samples = ReadSamples(one, prefetcher);
    if (!samples && samples.error().is_transient()) {
      return model::Propagate(std::move(samples).error());
    }
    if (!samples) {  // no chunk of it can be read
      if (!failure) failure = std::move(samples).error();
      all.layers.emplace_back();
      continue;
    }
    all.chunks += samples->chunks;
    all.broken_chunks += samples->broken_chunks;
    if (all.first_problem.empty()) all.first_problem = samples->first_problem;
    all.is_broken.resize(std::max(all.is_broken.size(), samples->is_broken.size()));
    for (size_t i = 0; i < samples->is_broken.size(); ++i) {
      if (samples->is_broken[i]) all.is_broken[i] = true;
    }
    all.layers.push_back(std::move(samples->numbers));
  }
  if (all.chunks == 0) return model::Propagate(*std::move(failure));
  if (failure) {
    // The others are shown; that light is missing must be seen.
    if (all.first_problem.empty()) all.first_problem = failure->message();
    const uint64_t chunks = BlocksOf(plan).size();
    for (auto& layer : all.layers) {
      if (!layer.empty()) continue;
      layer.assign(plan.rows() * plan.columns(), kMissing);
      all.chunks += chunks;
      all.broken_chunks += chunks;
    }
  }
  return all;
}

}  // namespace

Result<Samples> ReadSamples(const SamplePlan& plan, cache::Prefetcher* prefetcher) {
  if (plan.mix.is_mixed()) return ReadLayers(plan, prefetcher);
  Samples samples;
  samples.numbers.assign(plan.rows() * plan.columns() * plan.channels, kMissing);
  const std::vector<SampleBlock> blocks = BlocksOf(plan);
  samples.chunks = blocks.size();
  Ahead ahead(plan, blocks, prefetcher);
  std::optional<model::Error> failure;
  for (size_t i = 0; i < blocks.size(); ++i) {
    ahead.Reads(i);
    auto values = ReadBlock(plan, blocks[i], samples);
    if (!values) {
      if (values.error().is_transient()) return model::Propagate(std::move(values).error());
      MarkBroken(plan, blocks[i], values.error(), samples);
      if (!failure) failure = std::move(values).error();
      continue;
    }
    Put(plan, blocks[i], *values, samples);
  }
  if (samples.broken_chunks == blocks.size()) return model::Propagate(*std::move(failure));
  return samples;
}

}  // namespace ndlfs::fs
