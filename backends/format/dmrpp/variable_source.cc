// SPDX-License-Identifier: MIT
#include "backends/format/dmrpp/variable_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backends/base/checked.h"
#include "backends/codec/element_stream_writer.h"
#include "backends/codec/registry.h"
#include "backends/format/block_shape.h"
#include "backends/format/dmrpp/fill_text.h"
#include "backends/format/stored_chunks.h"
#include "backends/format/text_codec.h"
#include "model/attributes.h"

namespace ndlfs::backends::dmrpp {
namespace {

using model::Datatype;
using model::Result;

constexpr uint64_t kMostStructureBytes = uint64_t{1} << 24;

// A part of a chunk, and the number of the chunk in C order.
struct PlacedPart {
  uint64_t chunk = 0;
  StoredPart part;
};

class VariableSource : public ArraySource {
 public:
  explicit VariableSource(ArraySpec spec) : spec_(std::move(spec)) {}
  const ArraySpec& spec() const override { return spec_; }

 protected:
  const ArraySpec spec_;
};

// A place in a data file, without its pieces.
Result<ChunkLocation> PlaceIn(const DataFiles& files, uint32_t index) {
  NDLFS_TRY(auto file, files.Find(index));
  ChunkLocation location;
  location.store = std::move(file.store);
  location.key = std::move(file.key);
  location.if_match = std::move(file.info.generation);
  location.must_exist = true;
  return location;
}

// Chunks of a data file, each of one part or several.
class ChunkedSource final : public VariableSource, public StoredChunks {
 public:
  // `parts` are sorted by chunk. `has_fill`: absent chunks have the fill value of the spec.
  ChunkedSource(ArraySpec spec, std::vector<PlacedPart> parts, bool has_fill,
                std::shared_ptr<const DataFiles> files)
      : VariableSource(std::move(spec)),
        parts_(std::move(parts)),
        has_fill_(has_fill),
        files_(std::move(files)) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    uint64_t chunk = 0;
    for (size_t d = 0; d < index.size(); ++d) chunk = chunk * spec_.grid.counts()[d] + index[d];
    auto part = std::ranges::lower_bound(parts_, chunk, {}, &PlacedPart::chunk);
    if (part == parts_.end() || part->chunk != chunk) {
      if (has_fill_) return ChunkLocation::Absent();
      return model::Unsupported(
          "the chunk [{}] is not stored, and the document does not tell the fill value exactly",
          fmt::join(index, ", "));
    }
    NDLFS_TRY(ChunkLocation location, PlaceIn(*files_, part->part.file));
    location.skip_codecs = part->part.filter_mask;
    for (; part != parts_.end() && part->chunk == chunk; ++part) {
      location.pieces.push_back({part->part.offset, part->part.bytes});
    }
    return location;
  }

  // Where absent chunks are errors, all have to be asked for.
  Result<std::optional<std::vector<uint64_t>>> ListChunks(size_t most) const override {
    if (!has_fill_) return std::nullopt;
    std::vector<uint64_t> chunks;
    for (const PlacedPart& placed : parts_) {
      if (!chunks.empty() && chunks.back() == placed.chunk) continue;
      if (chunks.size() == most) return std::nullopt;
      chunks.push_back(placed.chunk);
    }
    return chunks;
  }

 private:
  const std::vector<PlacedPart> parts_;
  const bool has_fill_;
  const std::shared_ptr<const DataFiles> files_;
};

// Elements one after the other in a data file.
class ContiguousSource final : public VariableSource {
 public:
  ContiguousSource(ArraySpec spec, const StoredPart& part, uint64_t item,
                   std::shared_ptr<const DataFiles> files)
      : VariableSource(std::move(spec)), part_(part), item_(item), files_(std::move(files)) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    NDLFS_TRY(ChunkLocation location, PlaceIn(*files_, part_.file));
    const uint64_t first =
        FirstElement(spec_.shape, spec_.grid.max_chunk_shape(), index) * item_;
    location.pieces = {
        {part_.offset + first, *CheckedProduct(spec_.grid.ChunkShape(index), item_)}};
    return location;
  }

 private:
  const StoredPart part_;
  const uint64_t item_;
  const std::shared_ptr<const DataFiles> files_;
};

// Elements that the document has, as one chunk.
class InlineSource final : public VariableSource {
 public:
  InlineSource(ArraySpec spec, ConstByteSpan bytes)
      : VariableSource(std::move(spec)),
        bytes_(std::make_shared<const Bytes>(Bytes::Copy(bytes))) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t>, IndexCache&) const override {
    ChunkLocation location;
    location.inline_bytes = bytes_;
    return location;
  }

 private:
  const std::shared_ptr<const Bytes> bytes_;
};

class TextsSource final : public VariableSource {
 public:
  TextsSource(ArraySpec spec, Texts texts)
      : VariableSource(std::move(spec)),
        texts_(std::make_shared<const Texts>(std::move(texts))) {}

  Result<ChunkLocation> Locate(std::span<const uint64_t> index, IndexCache&) const override {
    const uint64_t count = CheckedProduct(spec_.grid.ChunkShape(index)).value_or(0);
    ChunkLocation location;
    location.generate = [texts = texts_, count](uint64_t limit) -> Result<Bytes> {
      NDLFS_TRY(auto writer, ElementStreamWriter::Make(count, limit));
      for (const RepeatedText& text : *texts) {
        for (uint64_t i = 0; i < text.count; ++i) {
          writer.AppendText(text.text);
          NDLFS_RETURN_IF_ERROR(writer.EndElement());
        }
      }
      return std::move(writer).Finish();
    };
    return location;
  }

 private:
  const std::shared_ptr<const Texts> texts_;
};

// --- Type and shape

Result<std::vector<uint64_t>> ShapeOf(const Document& document, const Variable& variable) {
  std::vector<uint64_t> shape;
  for (const DimensionReference& dimension : variable.dimensions) {
    const auto size = dimension.size ? dimension.size : document.SizeOf(dimension.path);
    if (!size) return model::BadInput("no dimension {}", model::Quote(dimension.path));
    shape.push_back(*size);
  }
  return shape;
}

// The places of texts of variable length have so many bytes in HDF5 files, by the size of
// addresses: a text of this length may be no text.
bool MayBeReference(uint64_t bytes) { return bytes == 16 || bytes == 12; }

Result<Datatype> TextType(const Variable& variable) {
  uint64_t length = 0;
  if (variable.fixed_texts) {
    length = variable.fixed_texts->length;
  } else if (!std::holds_alternative<ChunkList>(variable.data)) {
    return Datatype::String();
  } else {
    const auto& stored = std::get<ChunkList>(variable.data);
    const bool is_one_text = variable.dimensions.empty() && stored.parts.size() == 1;
    if (!is_one_text) {
      return model::Unsupported("the document does not tell the length of texts");
    }
    length = stored.parts.front().bytes;
    if (MayBeReference(length)) {
      return model::Unsupported(
          "the document does not tell whether {} bytes are a text or the place of one", length);
    }
  }
  if (length == 0 || length > kMaxViewSize) {
    return model::BadInput("texts of {} bytes", length);
  }
  return Datatype::FixedString(length, model::Charset::kUtf8);
}

Result<Datatype> EnumType(const Document& document, const Variable& variable) {
  const Enumeration* found = document.FindEnumeration(variable.enumeration);
  if (found != nullptr) return found->type;
  return model::BadInput("no enumeration {}", model::Quote(variable.enumeration));
}

// Numbers and enums.
Result<Datatype> SimpleType(const Document& document, const Variable& variable) {
  if (variable.type == "Enum") return EnumType(document, variable);
  if (const auto number = NumberType(variable.type)) return *number;
  return model::Unsupported("the type {}", model::Quote(variable.type));
}

Result<Datatype> MemberType(const Document& document, const Variable& member) {
  NDLFS_TRY(Datatype type, SimpleType(document, member));
  NDLFS_TRY(std::vector<uint64_t> shape, ShapeOf(document, member));
  const auto bytes = CheckedProduct(shape, type.size());
  if (!bytes || *bytes == 0 || *bytes > kMostStructureBytes) {
    return model::Limit("more than {} bytes, or none", kMostStructureBytes);
  }
  return shape.empty() ? type : Datatype::Array(type, std::move(shape));
}

// Members lie one after the other, with the gaps that structOffset tells.
Result<Datatype> StructureType(const Document& document, const Variable& variable) {
  const auto* stored = std::get_if<ChunkList>(&variable.data);
  const bool has_ends = stored != nullptr && !stored->member_ends.empty();
  if (variable.members.empty()) return model::BadInput("a structure without members");
  if (has_ends && stored->member_ends.size() != variable.members.size()) {
    return model::BadInput("{} offsets of {} members", stored->member_ends.size(),
                           variable.members.size());
  }
  std::vector<Datatype::Member> members;
  uint64_t end = 0;
  for (size_t i = 0; i < variable.members.size(); ++i) {
    const Variable& member = variable.members[i];
    NDLFS_TRY(Datatype type, MemberType(document, member),
              "the member " + model::Quote(member.name));
    const uint64_t offset = end;
    end = has_ends ? stored->member_ends[i] : offset + type.size();
    if (end > kMostStructureBytes || end < offset + type.size()) {
      return model::BadInput("the member {} ends at {}", model::Quote(member.name), end);
    }
    members.push_back({member.name, std::move(type), offset});
  }
  return Datatype::Compound(std::move(members), end);
}

Result<std::vector<std::string>> OrderFilters(const Document& document,
                                              const ChunkList& stored) {
  static constexpr std::array<std::string_view, 3> kOrder = {"shuffle", "deflate",
                                                             "fletcher32"};
  if (document.has_filter_order) return stored.filters;
  std::vector<std::string> ordered;
  for (const std::string_view filter : kOrder) {
    const auto count = std::ranges::count(stored.filters, filter);
    ordered.insert(ordered.end(), static_cast<size_t>(count), std::string(filter));
  }
  if (ordered.size() != stored.filters.size()) return stored.filters;  // refused later
  const bool has_masks = std::ranges::any_of(
      stored.parts, [](const StoredPart& part) { return part.filter_mask != 0; });
  if (has_masks && ordered != stored.filters) {
    return model::Unsupported("the document does not tell which filters were left out");
  }
  return ordered;
}

// --- Chunks

Result<std::shared_ptr<const BytesToBytesCodec>> MakeFilter(std::string_view name,
                                                            const ChunkForm& form) {
  struct Known {
    std::string_view name;
    std::string_view id;
  };
  static constexpr std::array<Known, 3> kKnown = {
      {{"deflate", "1"}, {"shuffle", "2"}, {"fletcher32", "3"}}};
  const auto known = std::ranges::find(kKnown, name, &Known::name);
  if (known == kKnown.end()) {
    return model::Unsupported("the filter {}", model::Quote(name));
  }
  const Json parameters = {{"cd_values", Json::array({form.dtype.size()})}};
  NDLFS_TRY(auto codec, MakeCodec({CodecDialect::kHdf5, known->id, &parameters, &form}));
  return std::get<std::shared_ptr<const BytesToBytesCodec>>(std::move(codec));
}

// Texts end as FixedTexts says, or at the first NUL if it does not.
std::optional<TextRun> TextEnd(const Variable& variable, const Datatype& type) {
  if (type.kind() != Datatype::Kind::kString) return std::nullopt;
  using Padding = FixedTexts::Padding;
  const Padding padding =
      variable.fixed_texts ? variable.fixed_texts->padding : Padding::kNullTerminated;
  if (padding != Padding::kSpace && padding != Padding::kNullTerminated) return std::nullopt;
  return TextRun{0, type.size(), 1, padding == Padding::kSpace};
}

class SourceMaker {
 public:
  SourceMaker(const Variable& variable, const ResolvedVariable& resolved,
              std::shared_ptr<const DataFiles> files, uint64_t max_chunk_bytes)
      : variable_(variable),
        resolved_(resolved),
        files_(std::move(files)),
        max_chunk_bytes_(max_chunk_bytes) {}

  Result<std::shared_ptr<const ArraySource>> Make() {
    if (const auto* stored = std::get_if<ChunkList>(&variable_.data)) {
      return MakeStored(*stored);
    }
    if (const auto* elements = std::get_if<InlineElements>(&variable_.data)) {
      return IsVariable() ? MakeTexts({TextIn(elements->bytes)}) : MakeInline(*elements);
    }
    if (const auto* texts = std::get_if<Texts>(&variable_.data)) return MakeTexts(*texts);
    return model::Unsupported("the document does not say where the elements are");
  }

 private:
  bool IsVariable() const { return !resolved_.type.is_fixed_size(); }

  // The extents of a chunk that is all of the array.
  std::vector<uint64_t> WholeShape() const {
    std::vector<uint64_t> shape = resolved_.shape;
    for (uint64_t& extent : shape) extent = std::max<uint64_t>(extent, 1);
    return shape;
  }

  Result<ArraySpec> MakeSpec(std::vector<uint64_t> chunk, ChunkGrid::Edge edge) const {
    ArraySpec spec;
    spec.dtype = resolved_.type;
    spec.shape = resolved_.shape;
    spec.max_chunk_bytes = max_chunk_bytes_;
    if (resolved_.fill) spec.fill = *resolved_.fill;
    const uint64_t item = IsVariable() ? sizeof(uint64_t) : resolved_.type.size();
    if (CheckedProduct(spec.shape, item).value_or(kMaxViewSize) >= kMaxViewSize) {
      return model::Limit("the array has more than 2^62 bytes");
    }
    const auto bytes = CheckedProduct(chunk, item);
    if (!bytes || *bytes > max_chunk_bytes_) {
      return model::Limit("chunks of more than {} bytes (--max-chunk-size)", max_chunk_bytes_);
    }
    NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, std::move(chunk), edge));
    return spec;
  }

  // Sets the codecs of chunks whose elements have the type `stored` in the file.
  Result<void> SetCodecs(const Datatype& stored, std::span<const std::string> filters,
                         ArraySpec& spec) const {
    const ChunkForm form{stored, spec.grid.max_chunk_shape()};
    std::vector<std::shared_ptr<const ArrayToArrayCodec>> text;
    if (const auto end = TextEnd(variable_, stored)) text.push_back(MakeTextCodec({*end}));
    NDLFS_TRY(auto bytes, MakeStoredBytes(stored));
    std::vector<std::shared_ptr<const BytesToBytesCodec>> codecs;
    for (const std::string& filter : filters) {
      NDLFS_TRY(codecs.emplace_back(), MakeFilter(filter, form));
    }
    NDLFS_TRY(spec.codecs,
              CodecChain::Make({spec.dtype, spec.grid.max_chunk_shape()}, std::move(text),
                               std::move(bytes), std::move(codecs)));
    return {};
  }

  // The type of elements in the data file.
  Result<Datatype> StoredType(const ChunkList& stored) const {
    const bool has_order =
        resolved_.type.kind() != Datatype::Kind::kString && resolved_.type.size() > 1;
    const bool has_elements = !stored.parts.empty() || !stored.blocks.empty();
    if (has_order && has_elements && !stored.order) {
      return model::Unsupported("the document does not tell the byte order");
    }
    return resolved_.type.WithOrder(stored.order.value_or(model::ByteOrder::kLittle));
  }

  Result<std::shared_ptr<const ArraySource>> MakeStored(const ChunkList& stored) const {
    if (IsVariable()) return model::Unsupported("texts of variable length in the data file");
    NDLFS_TRY(const Datatype type, StoredType(stored));
    NDLFS_TRY(const auto placed, Place(stored));
    const bool is_whole = stored.extents.empty();
    if (is_whole && placed.empty()) return MakeAbsent();
    if (is_whole && resolved_.filters.empty() && stored.parts.size() == 1) {
      return MakeContiguous(type, placed.front().part);
    }
    NDLFS_TRY(auto spec,
              MakeSpec(is_whole ? WholeShape() : stored.extents, ChunkGrid::Edge::kFull));
    NDLFS_RETURN_IF_ERROR(SetCodecs(type, resolved_.filters, spec));
    NDLFS_RETURN_IF_ERROR(CheckParts(placed, spec));
    return std::make_shared<ChunkedSource>(std::move(spec), placed, resolved_.fill.has_value(),
                                           files_);
  }

  // Nothing is stored.
  Result<std::shared_ptr<const ArraySource>> MakeAbsent() const {
    NDLFS_TRY(auto spec, MakeSpec(BlockShape(), ChunkGrid::Edge::kCropped));
    return std::make_shared<ChunkedSource>(std::move(spec), std::vector<PlacedPart>(),
                                           resolved_.fill.has_value(), files_);
  }

  std::vector<uint64_t> BlockShape() const {
    return ContiguousBlockShape(resolved_.shape, resolved_.type.size(), kBlockBytes);
  }

  Result<std::shared_ptr<const ArraySource>> MakeContiguous(const Datatype& type,
                                                            const StoredPart& part) const {
    const uint64_t bytes = CheckedProduct(resolved_.shape, type.size()).value_or(UINT64_MAX);
    if (part.bytes != bytes) {
      return model::Corrupt("{} bytes in the data file, and the elements take {}", part.bytes,
                            bytes);
    }
    NDLFS_TRY(auto spec, MakeSpec(BlockShape(), ChunkGrid::Edge::kCropped));
    NDLFS_RETURN_IF_ERROR(SetCodecs(type, {}, spec));
    NDLFS_RETURN_IF_ERROR(CheckEnds({{{0, part}}}));
    return std::make_shared<ContiguousSource>(std::move(spec), part, type.size(), files_);
  }

  Result<std::shared_ptr<const ArraySource>> MakeInline(const InlineElements& elements) const {
    NDLFS_TRY(auto spec, MakeSpec(WholeShape(), ChunkGrid::Edge::kFull));
    const bool is_compressed =
        elements.may_be_compressed && CheckedProduct(resolved_.shape) != uint64_t{1};
    static const std::string kDeflate = "deflate";
    NDLFS_RETURN_IF_ERROR(
        SetCodecs(resolved_.type, std::span(&kDeflate, is_compressed ? 1 : 0), spec));
    const auto exact = spec.codecs.ExactEncodedSize(spec.grid.max_chunk_shape());
    if (exact && *exact != elements.bytes.size()) {
      return model::Corrupt("{} bytes in the document, and the elements take {}",
                            elements.bytes.size(), *exact);
    }
    return std::make_shared<InlineSource>(std::move(spec), elements.bytes);
  }

  // A text ends at its first NUL.
  static RepeatedText TextIn(ConstByteSpan bytes) {
    const std::string_view text = AsText(bytes);
    return {std::string(text.substr(0, text.find('\0'))), 1};
  }

  Result<std::shared_ptr<const ArraySource>> MakeTexts(Texts texts) const {
    if (!IsVariable()) return model::BadInput("texts, and elements of a fixed size");
    uint64_t count = 0;
    for (const RepeatedText& text : texts) {
      count = CheckedAdd(count, text.count).value_or(UINT64_MAX);
    }
    if (CheckedProduct(resolved_.shape) != count) {
      return model::Corrupt("{} texts do not make up the shape", count);
    }
    NDLFS_TRY(auto spec, MakeSpec(WholeShape(), ChunkGrid::Edge::kFull));
    return std::make_shared<TextsSource>(std::move(spec), std::move(texts));
  }

  // The parts with the numbers of their chunks, sorted by them.
  Result<std::vector<PlacedPart>> Place(const ChunkList& stored) const {
    std::vector<PlacedPart> placed;
    if (!stored.blocks.empty()) {
      if (!stored.parts.empty() || !stored.extents.empty()) {
        return model::BadInput("blocks and chunks");
      }
      for (const StoredPart& block : stored.blocks) placed.push_back({0, block});
      return placed;
    }
    const size_t rank = resolved_.shape.size();
    const bool has_positions = !stored.positions.empty();
    if (!stored.extents.empty() && stored.extents.size() != rank) {
      return model::BadInput("chunks of {} dimensions, and an array of {}",
                             stored.extents.size(), rank);
    }
    if (has_positions && stored.positions.size() != rank * stored.parts.size()) {
      return model::BadInput("a chunk position without {} numbers", rank);
    }
    if (!has_positions && stored.parts.size() > 1) {
      return model::BadInput("several chunks without positions");
    }
    for (size_t i = 0; i < stored.parts.size(); ++i) {
      PlacedPart part{0, stored.parts[i]};
      if (has_positions) {
        NDLFS_TRY(part.chunk, NumberOf(std::span(stored.positions).subspan(i * rank, rank),
                                       stored.extents));
      } else if (!stored.extents.empty() && !IsOneChunk(stored.extents)) {
        return model::BadInput("a chunk without a position");
      }
      placed.push_back(part);
    }
    std::ranges::sort(placed, [](const PlacedPart& a, const PlacedPart& b) {
      return std::pair(a.chunk, a.part.number) < std::pair(b.chunk, b.part.number);
    });
    NDLFS_RETURN_IF_ERROR(CheckNumbers(placed, stored.has_linked_parts));
    return placed;
  }

  bool IsOneChunk(const std::vector<uint64_t>& extents) const {
    return std::ranges::equal(resolved_.shape, extents, std::ranges::less_equal());
  }

  // The number in C order of the chunk whose first element is at `position`.
  Result<uint64_t> NumberOf(std::span<const uint64_t> position,
                            const std::vector<uint64_t>& extents) const {
    uint64_t number = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      const uint64_t size = resolved_.shape[d];
      const uint64_t extent = extents.empty() ? std::max<uint64_t>(size, 1) : extents[d];
      if (extent == 0) return model::BadInput("chunks without an extent");
      if (position[d] >= size || position[d] % extent != 0) {
        return model::BadInput("no chunk begins at [{}]", fmt::join(position, ", "));
      }
      const auto before = CheckedMultiply(number, (size - 1) / extent + 1);
      const auto sum = before ? CheckedAdd(*before, position[d] / extent) : std::nullopt;
      if (!sum) return model::Limit("more than 2^64 chunks");
      number = *sum;
    }
    return number;
  }

  // The parts of each chunk: one, or those with the numbers 0, 1 ... of one file.
  static Result<void> CheckNumbers(std::span<const PlacedPart> placed, bool has_linked_parts) {
    for (size_t i = 1; i < placed.size(); ++i) {
      const PlacedPart& before = placed[i - 1];
      if (placed[i].chunk != before.chunk) continue;
      const bool follows = placed[i].part.number == before.part.number + 1 &&
                           placed[i].part.file == before.part.file &&
                           placed[i].part.filter_mask == before.part.filter_mask;
      if (has_linked_parts && follows) continue;
      return model::BadInput("more than one chunk at one place");
    }
    for (size_t i = 0; i < placed.size(); ++i) {
      const bool is_first = i == 0 || placed[i].chunk != placed[i - 1].chunk;
      if (is_first && placed[i].part.number != 0) {
        return model::BadInput("a chunk without its first block");
      }
    }
    return {};
  }

  // Whether the sizes of chunks, and their places, can be true.
  Result<void> CheckParts(std::span<const PlacedPart> placed, const ArraySpec& spec) const {
    const std::vector<uint64_t>& shape = spec.grid.max_chunk_shape();
    const auto exact = spec.codecs.ExactEncodedSize(shape);
    const uint64_t most = spec.codecs.MaxEncodedSize(shape);
    for (size_t i = 0; i < placed.size();) {
      const PlacedPart& first = placed[i];
      uint64_t bytes = 0;
      for (; i < placed.size() && placed[i].chunk == first.chunk; ++i) {
        bytes = CheckedAdd(bytes, placed[i].part.bytes).value_or(UINT64_MAX);
      }
      const uint32_t mask = first.part.filter_mask;
      if (resolved_.filters.size() < 32 && mask >> resolved_.filters.size() != 0) {
        return model::BadInput("the filter mask {} of {} filters", mask,
                               resolved_.filters.size());
      }
      const bool fits = exact && mask == 0 ? bytes == *exact : bytes != 0 && bytes <= most;
      if (!fits) {
        return model::Corrupt("a chunk of {} bytes, expected {}{}", bytes,
                              exact ? "" : "at most ", exact.value_or(most));
      }
    }
    return CheckEnds(placed);
  }

  // Whether the parts lie in the data file, and none in another one.
  Result<void> CheckEnds(std::span<const PlacedPart> placed) const {
    std::vector<StoredPart> parts;
    for (const PlacedPart& part : placed) parts.push_back(part.part);
    std::ranges::sort(parts, [](const StoredPart& a, const StoredPart& b) {
      return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
    });
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto end = CheckedAdd(parts[i].offset, parts[i].bytes);
      if (!end || *end > kMaxViewSize) return model::Corrupt("a chunk ends beyond any file");
      const bool overlaps = i + 1 < parts.size() && parts[i + 1].file == parts[i].file &&
                            parts[i + 1].offset < *end;
      if (overlaps) {
        return model::Corrupt("two chunks have the bytes from {} on", parts[i + 1].offset);
      }
    }
    // Other files are looked at when they are read.
    const auto other = std::ranges::find_if(parts, [](const auto& part) { return part.file; });
    if (other == parts.begin()) return {};
    NDLFS_TRY(const auto file, files_->Find(0));
    const StoredPart& last = *std::prev(other);
    if (last.offset + last.bytes <= file.info.size) return {};
    return model::Corrupt("a chunk ends at {}, and the data file {} at {}",
                          last.offset + last.bytes, file.store->Describe(file.key),
                          file.info.size);
  }

  const Variable& variable_;
  const ResolvedVariable& resolved_;
  const std::shared_ptr<const DataFiles> files_;
  const uint64_t max_chunk_bytes_;
};

}  // namespace

Result<ResolvedVariable> Resolve(const Document& document, const Object& object) {
  const Variable& variable = *object.variable;
  ResolvedVariable resolved;
  NDLFS_TRY(resolved.shape, ShapeOf(document, variable));
  if (IsTextType(variable.type)) {
    NDLFS_TRY(resolved.type, TextType(variable));
  } else if (variable.type == "Structure") {
    NDLFS_TRY(resolved.type, StructureType(document, variable));
  } else {
    NDLFS_TRY(resolved.type, SimpleType(document, variable));
  }
  const auto* stored = std::get_if<ChunkList>(&variable.data);
  if (stored == nullptr) return resolved;
  NDLFS_TRY(resolved.filters, OrderFilters(document, *stored));
  // Hyrax writes "0" for structures and enums, whatever it is.
  const bool has_fill = IsTextType(variable.type) || NumberType(variable.type);
  if (stored->fill && has_fill && resolved.type.is_fixed_size()) {
    resolved.fill = ParseFill(resolved.type, *stored->fill,
                              model::FindAttribute(object.attributes, "_FillValue"));
  }
  return resolved;
}

Result<std::shared_ptr<const ArraySource>> MakeVariableSource(
    const Variable& variable, const ResolvedVariable& resolved,
    std::shared_ptr<const DataFiles> files, uint64_t max_chunk_bytes) {
  return SourceMaker(variable, resolved, std::move(files), max_chunk_bytes).Make();
}

}  // namespace ndlfs::backends::dmrpp
