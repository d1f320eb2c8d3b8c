// SPDX-License-Identifier: MIT
#include "backends/format/tiff/tiff_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <optional>
#include <unordered_set>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/codec/factories.h"
#include "backends/codec/picture/picture.h"
#include "backends/codec/registry.h"
#include "backends/format/flat_source.h"
#include "backends/format/source_notes.h"
#include "backends/format/tiff/pixel_codec.h"

namespace ndlfs::backends::tiff {
namespace {

using model::Corrupt;
using model::Datatype;
using model::Result;
using model::Unsupported;

constexpr uint64_t kSlotBytes = uint64_t{64} << 10;
constexpr uint64_t kLargestValue = 8;  // bytes
constexpr uint64_t kHeaderBytes = 8;
// Lists of strips of up to so many are looked through for a file without gaps.
constexpr uint64_t kMostLookedThrough = 8192;

uint64_t Count(const std::vector<PageDimension>& dims) {
  uint64_t count = 1;
  for (const PageDimension& dim : dims) count *= dim.size;
  return count;
}

// A part of a file, which begins at a multiple of kSlotBytes and overlaps the next one.
Result<Bytes> LoadSlot(const TiffFile& file, uint64_t slot) {
  const uint64_t begin = slot * kSlotBytes;
  const uint64_t size = std::min(kSlotBytes + kLargestValue, file.size - begin);
  NDLFS_TRY(auto value,
            file.store->Get("", size, {.range = {begin, size}, .if_match = file.generation}));
  if (!value || value->bytes.size() != size) return model::HasChanged("the file");
  return std::move(value->bytes);
}

// The value `i` of a list in a file. `load_slot` returns what LoadSlot() does.
template <typename LoadSlotOf>
Result<uint64_t> ValueIn(const TiffFile& file, const ValueList& list, uint64_t i,
                         const LoadSlotOf& load_slot) {
  if (list.count == 1) return list.first;
  const uint64_t at = list.position + i * list.size;
  if (file.head && at + list.size <= file.head->size()) {
    return LoadNumber({file.head->data() + at, list.size}, file.order);
  }
  NDLFS_TRY(const std::shared_ptr<const Bytes> slot, load_slot(at / kSlotBytes));
  if (at % kSlotBytes + list.size > slot->size()) return model::HasChanged("the file");
  return LoadNumber({slot->data() + at % kSlotBytes, list.size}, file.order);
}

// A page of another file, as it was found there.
struct FoundPage {
  TiffFile file;
  PageChunks chunks;
  uint64_t held_bytes() const { return sizeof(FoundPage); }
};

// Fails unless a page has lists of so many strips or tiles.
Result<void> CheckLists(const ImageForm& form, const PageChunks& page, uint64_t needed) {
  const std::string_view chunks = form.is_tiled ? "tiles" : "strips";
  if (page.offsets.count < needed) {
    return Corrupt("the offsets of {} {}, expected {}", page.offsets.count, chunks, needed);
  }
  if (page.byte_counts.count < needed && form.compression != kNone) {
    return Corrupt("the sizes of {} {}, expected {}", page.byte_counts.count, chunks, needed);
  }
  return {};
}

// The strips or tiles of a page.
uint64_t ChunksOfPage(const ChunkGrid& grid, const PageStack& stack) {
  uint64_t count = 1;
  for (size_t d = stack.dims.size(); d < grid.rank(); ++d) count *= grid.counts()[d];
  return count;
}

struct PageAndInfo {
  FoundPage page;
  ValueInfo info;  // of the file
};

// Another file of a set, in the version in which its chain of directories was read.
struct OtherFile {
  TiffReader reader;
  std::vector<uint64_t> directories;  // where they are, as far as the chain can be read
  uint64_t held_bytes() const {
    return sizeof(OtherFile) + reader.head()->size() + sizeof(uint64_t) * directories.size();
  }
};

Result<std::shared_ptr<const OtherFile>> OpenOther(const std::shared_ptr<const Store>& store) {
  auto opened = TiffReader::Open(store);
  if (!opened && opened.error().code() == model::ErrorCode::kNotFound) {
    return Corrupt("{}", opened.error().message());
  }
  if (!opened) return model::Propagate(std::move(opened).error());
  std::vector<uint64_t> directories;
  std::unordered_set<uint64_t> visited;
  uint64_t at = opened->first_directory();
  while (at != 0 && visited.insert(at).second && visited.size() <= kMostDirectories) {
    auto directory = opened->ReadDirectory(at);
    if (!directory && directory.error().is_transient()) {
      return model::Propagate(std::move(directory).error());
    }
    if (!directory) break;
    directories.push_back(at);
    at = directory->next;
  }
  return std::make_shared<const OtherFile>(OtherFile{opened->Fresh(), std::move(directories)});
}

// Reads the page that `wanted` names in a file of its own.
Result<PageAndInfo> FindPage(const OtherFile& other, const ImageForm& form,
                             model::ByteOrder order, const PageChunks& wanted) {
  if (wanted.directory >= other.directories.size()) {
    return Corrupt("there is no directory {}", wanted.directory);
  }
  TiffReader reader = other.reader.Fresh();
  NDLFS_TRY(const auto directory, reader.ReadDirectory(other.directories[wanted.directory]));
  NDLFS_TRY(const auto page, ReadPage(reader, directory));
  if (page.error) return model::Propagate(*page.error);
  if (!(page.form == form) || reader.order() != order) {
    return Corrupt("directory {} has another form than the first plane", wanted.directory);
  }
  const ValueInfo& info = reader.info();
  return PageAndInfo{
      {{reader.store(), reader.head(), info.size, order, info.generation}, page.chunks}, info};
}

// What was odd about strips or tiles that were read so far.
struct Oddities {
  std::atomic<bool> has_surplus = false, has_short_counts = false, has_zero_counts = false;
};

// A decompressor of strips and tiles. Programs fill up the last strip, and some append bytes to
// each; what lies behind the pixels is ignored, as libtiff does.
class StripCodec final : public BytesToBytesCodec {
 public:
  StripCodec(std::shared_ptr<const BytesToBytesCodec> codec, DecodeBeginning* decode,
             std::shared_ptr<Oddities> oddities)
      : codec_(std::move(codec)), decode_(decode), oddities_(std::move(oddities)) {}

  std::string_view name() const override { return codec_->name(); }
  SizeBound EncodedSize(uint64_t decoded_size) const override {
    return codec_->EncodedSize(decoded_size);
  }
  Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    bool is_cut = false;
    NDLFS_TRY(const size_t size, decode_(encoded, decoded, is_cut));
    if (is_cut) oddities_->has_surplus = true;
    return size;
  }

 private:
  const std::shared_ptr<const BytesToBytesCodec> codec_;
  DecodeBeginning* const decode_;
  const std::shared_ptr<Oddities> oddities_;
};

class TiffSource final : public ArraySource, public SourceNotes {
 public:
  TiffSource(TiffFile file, PageStack stack, ArraySpec spec, std::shared_ptr<Oddities> oddities)
      : file_(std::move(file)),
        stack_(std::move(stack)),
        spec_(std::move(spec)),
        oddities_(std::move(oddities)) {}

  const ArraySpec& spec() const override { return spec_; }

  std::vector<std::string> notes() const override {
    const std::string_view chunks = stack_.form.is_tiled ? "tiles" : "strips";
    std::vector<std::string> notes;
    const auto add = [&](bool is_odd, std::string_view text) {
      if (is_odd) notes.push_back(fmt::format("{} {}", chunks, text));
    };
    add(oddities_->has_surplus,
        "decode to more bytes than their pixels have; the rest is left out");
    add(oddities_->has_short_counts,
        "have fewer bytes than their pixels; those that follow are read");
    add(oddities_->has_zero_counts,
        "of 0 bytes are taken for absent ones, although they have a place");
    return notes;
  }

  Result<ChunkLocation> Locate(std::span<const uint64_t> index,
                               IndexCache& indexes) const override {
    uint64_t page = 0, chunk = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      uint64_t& number = d < stack_.dims.size() ? page : chunk;
      number = number * spec_.grid.counts()[d] + index[d];
    }
    const PageChunks& chunks = stack_.pages[page];
    if (chunks.is_absent) return ChunkLocation::Absent();
    if (chunks.file == 0) return LocateIn(file_, chunks, chunk, index, indexes);
    const auto& store = stack_.others[chunks.file - 1];
    NDLFS_TRY(const auto found, OtherPage(page, indexes), store->Describe(""));
    return LocateIn(found->file, found->chunks, chunk, index, indexes);
  }

 private:
  // Slots of an IndexCache: parts of this file, then of others, then the others themselves,
  // then their pages.
  static constexpr unsigned kFileShift = 48;
  static constexpr uint64_t kListSlots = uint64_t{1} << 62;
  static constexpr uint64_t kPageSlots = uint64_t{1} << 63;

  Result<ChunkLocation> LocateIn(const TiffFile& file, const PageChunks& chunks, uint64_t chunk,
                                 std::span<const uint64_t> index, IndexCache& indexes) const {
    const uint64_t first_slot = uint64_t{chunks.file} << kFileShift;
    const auto load_slot = [&](uint64_t slot) {
      return indexes.GetOrLoad(id(), first_slot + slot, [&] { return LoadSlot(file, slot); });
    };
    NDLFS_TRY(const uint64_t offset, ValueIn(file, chunks.offsets, chunk, load_slot));
    uint64_t stored = 0;
    const bool has_count = chunk < chunks.byte_counts.count;
    if (has_count) {
      NDLFS_TRY(stored, ValueIn(file, chunks.byte_counts, chunk, load_slot));
    }
    // Both are 0 where a writer has left out a strip or tile.
    if (stored == 0 && (has_count || offset == 0)) {
      if (offset != 0) oddities_->has_zero_counts = true;
      return ChunkLocation::Absent();
    }
    const uint64_t size = SizeOf(index, has_count, stored);
    if (offset < kHeaderBytes) return Corrupt("its offset {} is in the header", offset);
    const auto end = CheckedAdd(offset, size);
    if (!end || *end > file.size) {
      return Corrupt("{} bytes at {} are not in the file, which has {}", size, offset,
                     file.size);
    }
    ChunkLocation location;
    location.store = file.store;
    location.pieces = {{offset, size}};
    location.if_match = file.generation;
    location.must_exist = true;
    return location;
  }

  Result<std::shared_ptr<const FoundPage>> OtherPage(uint64_t page, IndexCache& indexes) const {
    using Found = std::shared_ptr<const FoundPage>;
    const PageChunks& wanted = stack_.pages[page];
    const auto& store = stack_.others[wanted.file - 1];
    const auto open = [&] { return OpenOther(store); };
    const auto load = [&]() -> Result<Found> {
      NDLFS_TRY(const auto other,
                indexes.GetOrLoad<OtherFile>(id(), kListSlots | wanted.file, open));
      NDLFS_TRY(auto found, FindPage(*other, stack_.form, file_.order, wanted));
      NDLFS_RETURN_IF_ERROR(
          CheckLists(stack_.form, found.page.chunks, ChunksOfPage(spec_.grid, stack_)));
      NDLFS_RETURN_IF_ERROR(indexes.DidRead(store, "", found.info));
      found.page.chunks.file = wanted.file;
      return std::make_shared<const FoundPage>(std::move(found.page));
    };
    return indexes.GetOrLoad<FoundPage>(id(), kPageSlots | page, load);
  }

  // The bytes to read. The size of uncompressed samples is known, whatever the file says; other
  // bytes may follow the samples in a strip.
  uint64_t SizeOf(std::span<const uint64_t> index, bool has_count, uint64_t stored) const {
    const auto shape = spec_.grid.ChunkShape(index);
    const uint64_t most = spec_.codecs.MaxEncodedSize(shape);
    if (stack_.form.compression != kNone) return std::min(stored, most);
    if (has_count && stored < most) oddities_->has_short_counts = true;
    return most;
  }

  const TiffFile file_;
  const PageStack stack_;
  const ArraySpec spec_;
  const std::shared_ptr<Oddities> oddities_;
};

// How strips or tiles that are pictures are decoded; nullopt for other compressions.
std::optional<PictureRule> PictureRuleOf(const ImageForm& form) {
  switch (form.compression) {
    case kJpeg:
      return PictureRule{.kind = PictureKind::kJpeg,
                         .colours = form.becomes_rgb() ? PictureRule::Colours::kFromYCbCr
                                                       : PictureRule::Colours::kAsStored,
                         .tables = form.jpeg_tables};
    case kAperioYCbCr:
    case kAperio:
    case kAperioRgb:
    case kJpeg2000:
      return PictureRule{.kind = PictureKind::kJpeg2000};
    case kLerc:
      return PictureRule{.kind = PictureKind::kLerc, .has_masks = true};
    case kWebp:
      return PictureRule{.kind = PictureKind::kWebp};
    case kJpegXl:
    case kJpegXlOfDng:
      return PictureRule{.kind = PictureKind::kJpegXl};
    default:
      return std::nullopt;
  }
}

// The codec of a compression; null for none, and for pictures.
Result<std::shared_ptr<const BytesToBytesCodec>> CompressorOf(
    const ImageForm& form, const std::shared_ptr<Oddities>& oddities = nullptr) {
  using Made = std::shared_ptr<const BytesToBytesCodec>;
  const auto make = [&](std::string_view name, DecodeBeginning* decode) -> Result<Made> {
    NDLFS_TRY(auto codec, MakeBytesCodec(name));
    return std::make_shared<const StripCodec>(std::move(codec), decode, oddities);
  };
  switch (form.compression) {
    case kNone:
      return nullptr;
    case kLzw:
      return make("imagecodecs_lzw", DecodeLzw);
    case kPackBits:
      return make("imagecodecs_packbits", DecodeByteRuns);
    case kAdobeDeflate:
    case kDeflate:
      return make("zlib", DecodeZlibBeginning);
    case kLzma:
      return make("lzma", DecodeLzmaBeginning);
    case kZstd:
      return make("zstd", DecodeZstdBeginning);
    case kLerc:
      if (form.lerc_compression == 1) return MakeBytesCodec("zlib");
      if (form.lerc_compression == 2) return MakeBytesCodec("zstd");
      if (form.lerc_compression == 0) return nullptr;
      return Unsupported("LercParameters: compression {} is not supported",
                         form.lerc_compression);
    default:
      if (PictureRuleOf(form)) return nullptr;
      return Unsupported("compression {} ({}) is not supported", form.compression,
                         NameOfCompression(form.compression));
  }
}

// Whether the samples are numbers of a processor, or pairs of them.
bool IsWhole(const ImageForm& form) { return form.bits >= 8 && std::has_single_bit(form.bits); }

Result<void> CheckForm(const ImageForm& form) {
  if (auto compressor = CompressorOf(form); !compressor) {
    return model::Propagate(std::move(compressor).error());
  }
  constexpr uint64_t kYCbCr = 6;
  const bool is_picture = PictureRuleOf(form).has_value();
  if (is_picture && (form.depth > 1 || form.chunk_depth > 1)) {
    return Unsupported("volumes of pictures ({}) are not supported",
                       NameOfCompression(form.compression));
  }
  if (form.depth > 1 && !form.is_tiled) {
    return Unsupported("volumes in strips are not supported");
  }
  if (form.photometric == kYCbCr && form.samples == 3 && !form.becomes_rgb() &&
      form.subsampling != std::array<uint64_t, 2>{1, 1}) {
    return Unsupported("colours (YCbCr) in fewer samples than pixels are not supported");
  }
  const bool is_number = form.format <= 3;
  const bool is_known = form.predictor == 1 ||
                        (form.predictor == 2 && is_number && IsWhole(form)) ||
                        (form.predictor == 3 && form.format == 3 && IsWhole(form));
  if (!is_known) {
    return Unsupported("predictor {} for samples of {} bits is not supported", form.predictor,
                       form.bits);
  }
  // libtiff ignores it, others do not.
  const bool has_predictor =
      !is_picture && form.compression != kNone && form.compression != kPackBits;
  if (form.predictor != 1 && !has_predictor) {
    return Unsupported("predictor {} with compression {} is not supported", form.predictor,
                       NameOfCompression(form.compression));
  }
  return {};
}

// The elements as they lie in an uncompressed file.
Datatype StoredType(const Datatype& type, const TiffFile& file) {
  return type.WithOrder(file.order);
}

bool IsPlain(const ImageForm& form) {
  return form.compression == kNone && !form.reverses_bits && IsWhole(form);
}

Result<CodecChain> ChainOf(const ImageForm& form, const TiffFile& file, const Datatype& type,
                           const std::vector<uint64_t>& chunk,
                           const std::shared_ptr<Oddities>& oddities) {
  NDLFS_TRY(auto compressor, CompressorOf(form, oddities));
  if (IsPlain(form)) {
    NDLFS_TRY(auto bytes, MakeStoredBytes(StoredType(type, file)));
    return CodecChain::Make({type, chunk}, {}, std::move(bytes), {});
  }
  std::vector<std::shared_ptr<const BytesToBytesCodec>> bytes_to_bytes;
  if (compressor) bytes_to_bytes.push_back(std::move(compressor));
  // JPEG has an order of bits of its own.
  if (form.reverses_bits && form.compression != kJpeg) {
    bytes_to_bytes.push_back(MakeReverseBits());
  }
  if (auto rule = PictureRuleOf(form)) {
    rule->swaps_bytes = file.order == model::ByteOrder::kBig;
    const auto layout = form.is_interleaved() ? PictureLayout::kPixels : PictureLayout::kRows;
    NDLFS_TRY(auto picture, MakePictureCodec(*rule, layout, form.chunk_length));
    return CodecChain::Make({type, chunk}, {}, std::move(picture), std::move(bytes_to_bytes));
  }
  PixelForm pixels;
  pixels.bits = form.format == 5 || form.format == 6 ? form.bits / 2 : form.bits;
  pixels.is_interleaved = form.is_interleaved();
  pixels.samples = form.is_interleaved() ? form.samples : 1;
  pixels.predictor = static_cast<unsigned>(form.predictor);
  pixels.order = file.order;
  return CodecChain::Make({type, chunk}, {}, MakePixelCodec(pixels, type),
                          std::move(bytes_to_bytes));
}

std::vector<uint64_t> ChunkOf(const PageStack& stack) {
  const ImageForm& form = stack.form;
  std::vector<uint64_t> chunk(stack.dims.size(), 1);
  if (form.is_planar) chunk.push_back(1);
  if (form.depth > 1) chunk.push_back(form.chunk_depth);
  chunk.push_back(form.chunk_length);
  chunk.push_back(form.chunk_width);
  if (form.is_interleaved()) chunk.push_back(form.samples);
  return chunk;
}

// Pages of other files are checked when they are found.
Result<void> CheckPages(const PageStack& stack, const ChunkGrid& grid) {
  const uint64_t needed = ChunksOfPage(grid, stack);
  for (const PageChunks& page : stack.pages) {
    if (page.is_absent || page.file != 0) continue;
    NDLFS_RETURN_IF_ERROR(CheckLists(stack.form, page, needed));
  }
  return {};
}

// Where the elements begin, if they follow each other through the whole file: a page of strips
// without gaps. nullopt if they do not, or if it would take long to find out.
Result<std::optional<uint64_t>> BeginWithoutGaps(const TiffFile& file, const PageStack& stack,
                                                 const ChunkGrid& grid, size_t item_size) {
  const ImageForm& form = stack.form;
  if (!IsPlain(form) || form.is_tiled || stack.pages.size() != 1) return std::nullopt;
  const PageChunks& page = stack.pages[0];
  if (page.is_absent || page.file != 0) return std::nullopt;
  uint64_t count = 1;
  for (const uint64_t n : grid.counts()) count *= n;
  if (count > kMostLookedThrough) return std::nullopt;
  std::shared_ptr<const Bytes> last;
  std::optional<uint64_t> last_slot;
  const auto load_slot = [&](uint64_t slot) -> Result<std::shared_ptr<const Bytes>> {
    if (last_slot != slot) {
      NDLFS_TRY(Bytes bytes, LoadSlot(file, slot));
      last = std::make_shared<const Bytes>(std::move(bytes));
      last_slot = slot;
    }
    return last;
  };
  NDLFS_TRY(const uint64_t begin, ValueIn(file, page.offsets, 0, load_slot));
  const uint64_t rows = grid.counts()[form.is_planar ? 1 : 0];
  const uint64_t row_bytes =
      form.width * item_size * (form.is_interleaved() ? form.samples : 1);
  uint64_t expected = begin;
  for (uint64_t i = 0; i < count; ++i) {
    NDLFS_TRY(const uint64_t offset, ValueIn(file, page.offsets, i, load_slot));
    if (offset != expected || offset < kHeaderBytes) return std::nullopt;
    const uint64_t bytes = row_bytes * grid.Extent(form.is_planar ? 1 : 0, i % rows);
    if (i < page.byte_counts.count) {
      NDLFS_TRY(const uint64_t stored, ValueIn(file, page.byte_counts, i, load_slot));
      if (stored < bytes) return std::nullopt;
    }
    expected += bytes;
  }
  if (expected > file.size) return std::nullopt;
  return begin;
}

}  // namespace

std::vector<std::string> DimensionsOf(const PageStack& stack) {
  std::vector<std::string> names;
  for (const PageDimension& dim : stack.dims) names.push_back(dim.name);
  if (stack.form.is_planar) names.push_back("band");
  if (stack.form.depth > 1) names.push_back("z");
  names.push_back("y");
  names.push_back("x");
  if (stack.form.is_interleaved()) names.push_back("band");
  return names;
}

std::vector<uint64_t> ShapeOf(const PageStack& stack) {
  const ImageForm& form = stack.form;
  std::vector<uint64_t> shape;
  for (const PageDimension& dim : stack.dims) shape.push_back(dim.size);
  if (form.is_planar) shape.push_back(form.samples);
  if (form.depth > 1) shape.push_back(form.depth);
  shape.push_back(form.length);
  shape.push_back(form.width);
  if (form.is_interleaved()) shape.push_back(form.samples);
  return shape;
}

Result<std::shared_ptr<const ArraySource>> MakeTiffSource(const TiffFile& file, PageStack stack,
                                                          std::vector<std::byte> fill,
                                                          uint64_t max_chunk_size) {
  NDLFS_RETURN_IF_ERROR(CheckForm(stack.form));
  if (stack.pages.size() != Count(stack.dims)) return model::Internal("pages are missing");
  ArraySpec spec;
  NDLFS_TRY(spec.dtype, TypeOf(stack.form));
  spec.shape = ShapeOf(stack);
  spec.fill = std::move(fill);
  spec.max_chunk_bytes = max_chunk_size;
  const auto all = CheckedProduct(spec.shape, spec.dtype.size());
  if (!all || *all > kMaxViewSize) return model::Limit("an array of too many elements");
  const auto edge = stack.form.is_tiled ? ChunkGrid::Edge::kFull : ChunkGrid::Edge::kCropped;
  const std::vector<uint64_t> chunk = ChunkOf(stack);
  NDLFS_TRY(spec.grid, ChunkGrid::Regular(spec.shape, chunk, edge));
  NDLFS_RETURN_IF_ERROR(CheckPages(stack, spec.grid));
  NDLFS_TRY(const auto begin, BeginWithoutGaps(file, stack, spec.grid, spec.dtype.size()));
  if (begin) {
    FlatLayout layout;
    layout.store = file.store;
    layout.offset = *begin;
    layout.stored = StoredType(spec.dtype, file);
    layout.shape = spec.shape;
    return MakeFlatSource(std::move(layout), max_chunk_size);
  }
  const auto size = CheckedProduct(chunk, spec.dtype.size());
  if (!size || *size > max_chunk_size) {
    return model::Limit("{} of {} bytes; up to {} are read",
                        stack.form.is_tiled ? "tiles" : "strips", size.value_or(UINT64_MAX),
                        max_chunk_size);
  }
  auto oddities = std::make_shared<Oddities>();
  NDLFS_TRY(spec.codecs,
            ChainOf(stack.form, file, spec.dtype, spec.grid.max_chunk_shape(), oddities));
  return std::make_shared<TiffSource>(file, std::move(stack), std::move(spec),
                                      std::move(oddities));
}

Result<std::shared_ptr<const ArraySource>> MakeContiguousSource(const TiffFile& file,
                                                                const PageStack& stack,
                                                                uint64_t max_chunk_size) {
  NDLFS_RETURN_IF_ERROR(CheckForm(stack.form));
  NDLFS_TRY(const Datatype type, TypeOf(stack.form));
  PageStack first = stack;
  first.dims.clear();
  NDLFS_TRY(const auto grid,
            ChunkGrid::Regular(ShapeOf(first), ChunkOf(first), ChunkGrid::Edge::kCropped));
  NDLFS_RETURN_IF_ERROR(CheckPages(first, grid));
  NDLFS_TRY(const auto begin, BeginWithoutGaps(file, first, grid, type.size()));
  if (!begin) {
    return Unsupported("a stack in one directory that is compressed, tiled, or has gaps");
  }
  FlatLayout layout;
  layout.store = file.store;
  layout.offset = *begin;
  layout.stored = StoredType(type, file);
  layout.shape = ShapeOf(stack);
  return MakeFlatSource(std::move(layout), max_chunk_size);
}

}  // namespace ndlfs::backends::tiff
