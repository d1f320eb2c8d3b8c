// SPDX-License-Identifier: MIT
#include "backends/format/tiff/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"

namespace ndlfs::backends::tiff {
namespace {

using model::BadInput;
using model::Datatype;
using model::Result;
using model::Unsupported;

// Samples of a pixel: the type of the field has no more.
constexpr uint64_t kMostSamples = 65535;
constexpr uint64_t kMostMetadata = uint64_t{4} << 20;
constexpr uint64_t kMostTables = uint64_t{64} << 10;

struct Name {
  uint64_t number;
  std::string_view name;
};

std::string NameIn(std::span<const Name> names, uint64_t number) {
  const auto found = std::ranges::find(names, number, &Name::number);
  return found == names.end() ? fmt::format("number {}", number) : std::string(found->name);
}

// The value that all samples share.
Result<uint64_t> SharedValue(TiffReader& reader, const Directory& directory, uint16_t tag,
                             uint64_t otherwise) {
  const Field* field = directory.Find(tag);
  if (field == nullptr) return otherwise;
  NDLFS_TRY(const auto values, reader.Integers(*field, kMostSamples));
  if (values.empty()) return BadInput("{}: no value", NameOfTag(tag));
  for (const uint64_t value : values) {
    if (value != values[0]) {
      return Unsupported("{}: samples of {} and {} in one image", NameOfTag(tag), values[0],
                         value);
    }
  }
  return values[0];
}

Result<uint64_t> Extent(TiffReader& reader, const Directory& directory, uint16_t tag,
                        uint64_t otherwise) {
  NDLFS_TRY(const uint64_t extent, reader.Integer(directory, tag, otherwise));
  if (extent == 0) return BadInput("{}: expected a positive number", NameOfTag(tag));
  return extent;
}

Result<void> ReadSamples(TiffReader& reader, const Directory& directory, ImageForm& form) {
  NDLFS_TRY(form.samples, Extent(reader, directory, kSamplesPerPixel, 1));
  if (form.samples > kMostSamples) {
    return BadInput("SamplesPerPixel: {} are too many", form.samples);
  }
  NDLFS_TRY(const uint64_t bits, SharedValue(reader, directory, kBitsPerSample, 1));
  if (bits == 0 || bits > 128) return BadInput("BitsPerSample: {} bits", bits);
  form.bits = static_cast<unsigned>(bits);
  NDLFS_TRY(uint64_t format, SharedValue(reader, directory, kSampleFormat, 1));
  // 4: nobody knows what the samples are.
  if (format == 4) format = 1;
  if (format < 1 || format > 6) return BadInput("SampleFormat: {} is no format", format);
  form.format = static_cast<unsigned>(format);
  NDLFS_TRY(const uint64_t planar, reader.Integer(directory, kPlanarConfiguration, 1));
  if (planar != 1 && planar != 2) {
    return BadInput("PlanarConfiguration: expected 1 or 2, found {}", planar);
  }
  form.is_planar = planar == 2 && form.samples > 1;
  return {};
}

Result<void> ReadChunkShape(TiffReader& reader, const Directory& directory, ImageForm& form) {
  form.is_tiled = directory.Find(kTileWidth) != nullptr;
  if (form.is_tiled) {
    NDLFS_TRY(form.chunk_width, Extent(reader, directory, kTileWidth, 0));
    NDLFS_TRY(form.chunk_length, Extent(reader, directory, kTileLength, 0));
    NDLFS_TRY(form.chunk_depth, Extent(reader, directory, kTileDepth, 1));
    return {};
  }
  NDLFS_TRY(const uint64_t rows, Extent(reader, directory, kRowsPerStrip, form.length));
  form.chunk_width = form.width;
  form.chunk_length = std::min(rows, form.length);
  return {};
}

Result<std::string> TextOf(TiffReader& reader, const Directory& directory, uint16_t tag) {
  const Field* field = directory.Find(tag);
  if (field == nullptr) return std::string();
  return reader.Text(*field, kMostMetadata);
}

Result<void> ReadEncoding(TiffReader& reader, const Directory& directory, ImageForm& form) {
  NDLFS_TRY(form.compression, reader.Integer(directory, kCompression, kNone));
  NDLFS_TRY(form.predictor, reader.Integer(directory, kPredictor, 1));
  NDLFS_TRY(form.photometric, reader.Integer(directory, kPhotometric, 1));
  NDLFS_TRY(const uint64_t order, reader.Integer(directory, kFillOrder, 1));
  if (order != 1 && order != 2) return BadInput("FillOrder: expected 1 or 2, found {}", order);
  form.reverses_bits = order == 2;
  if (const Field* field = directory.Find(kYCbCrSubSampling)) {
    NDLFS_TRY(const auto factors, reader.Integers(*field, 2));
    if (factors.size() != 2) return BadInput("YCbCrSubSampling: expected two numbers");
    form.subsampling = {factors[0], factors[1]};
  }
  if (const Field* field = directory.Find(kJpegTables); field && form.compression == kJpeg) {
    NDLFS_TRY(form.jpeg_tables, reader.Text(*field, kMostTables));
  }
  if (const Field* field = directory.Find(kLercParameters);
      field && form.compression == kLerc) {
    NDLFS_TRY(const auto parameters, reader.Integers(*field, 2));
    if (parameters.size() != 2) return BadInput("LercParameters: expected two numbers");
    form.lerc_compression = parameters[1];
  }
  return {};
}

Result<ValueList> ListOf(TiffReader& reader, const Directory& directory, uint16_t tag) {
  ValueList list;
  const Field* field = directory.Find(tag);
  if (field == nullptr) return list;
  const std::string name = NameOfTag(tag);
  if (!IsUnsignedType(field->type)) {
    return BadInput("{}: expected integers, found type {}", name, field->type);
  }
  list = {field->position, field->count, SizeOfType(field->type), 0};
  const auto size = CheckedMultiply(list.count, list.size);
  const auto end = size ? CheckedAdd(list.position, *size) : std::nullopt;
  if (!end || *end > reader.file_size()) {
    return model::Corrupt("{}: {} values at {} are not in the file", name, list.count,
                          list.position);
  }
  if (list.count == 1) {
    NDLFS_TRY(const auto values, reader.Integers(*field, 1));
    list.first = values[0];
  }
  return list;
}

// A single strip or tile of which nobody says how long it is goes to the end of the file, as
// for libtiff. A tile of 0 bytes is one that is not stored.
void GuessByteCount(const TiffReader& reader, bool is_tiled, PageChunks& chunks,
                    std::vector<std::string>& notes) {
  const bool is_missing = chunks.byte_counts.count == 0;
  const bool is_zero =
      !is_tiled && chunks.byte_counts.count == 1 && chunks.byte_counts.first == 0;
  const uint64_t begin = chunks.offsets.first;
  if (chunks.offsets.count != 1 || begin == 0 || begin >= reader.file_size() ||
      (!is_missing && !is_zero)) {
    return;
  }
  chunks.byte_counts = {.count = 1, .first = reader.file_size() - begin};
  notes.push_back(fmt::format("the only {} has no size; it is read as far as its elements need",
                              is_tiled ? "tile" : "strip"));
}

Result<PageChunks> ReadChunks(TiffReader& reader, const Directory& directory, bool is_tiled) {
  PageChunks chunks;
  // Some programs give tiles the fields of strips.
  const bool has_tiles = is_tiled && directory.Find(kTileOffsets) != nullptr;
  const uint16_t offsets = has_tiles ? kTileOffsets : kStripOffsets;
  const uint16_t counts = is_tiled && directory.Find(kTileByteCounts) != nullptr
                              ? kTileByteCounts
                              : kStripByteCounts;
  if (directory.Find(offsets) == nullptr) {
    return BadInput("there is no {}", NameOfTag(is_tiled ? kTileOffsets : kStripOffsets));
  }
  NDLFS_TRY(chunks.offsets, ListOf(reader, directory, offsets));
  NDLFS_TRY(chunks.byte_counts, ListOf(reader, directory, counts));
  return chunks;
}

}  // namespace

std::string NameOfCompression(uint64_t compression) {
  static constexpr Name kNames[] = {
#include "backends/format/tiff/compression_names.inc"
  };
  return NameIn(kNames, compression);
}

std::string PhotometricOf(const ImageForm& form) {
  static constexpr Name kNames[] = {
      {0, "WhiteIsZero"}, {1, "BlackIsZero"},   {2, "RGB"},       {3, "Palette"},
      {4, "Mask"},        {5, "CMYK"},          {6, "YCbCr"},     {8, "CIELab"},
      {9, "ICCLab"},      {10, "ITULab"},       {32803, "CFA"},   {32844, "LogL"},
      {32845, "LogLuv"},  {34892, "LinearRaw"}, {51177, "Depth"},
  };
  constexpr uint64_t kRgb = 2;
  return NameIn(kNames, form.becomes_rgb() ? kRgb : form.photometric);
}

Result<Page> ReadPage(TiffReader& reader, const Directory& directory) {
  Page page;
  page.notes = directory.notes;
  ImageForm& form = page.form;
  for (const uint16_t tag : {kImageWidth, kImageLength}) {
    if (directory.Find(tag) == nullptr) return BadInput("there is no {}", NameOfTag(tag));
  }
  NDLFS_TRY(form.width, Extent(reader, directory, kImageWidth, 0));
  NDLFS_TRY(form.length, Extent(reader, directory, kImageLength, 0));
  NDLFS_TRY(form.depth, Extent(reader, directory, kImageDepth, 1));
  NDLFS_RETURN_IF_ERROR(ReadSamples(reader, directory, form));
  const auto pixels = CheckedProduct(std::array{form.width, form.length, form.depth});
  const auto bits =
      pixels ? CheckedProduct(std::array{*pixels, form.samples, uint64_t{16}}) : std::nullopt;
  if (!bits || *bits > kMaxViewSize) {
    return model::Limit("an image of {} x {} pixels", form.width, form.length);
  }
  NDLFS_TRY(const uint64_t kind, reader.Integer(directory, kNewSubfileType, 0));
  page.is_reduced = (kind & 1) != 0;
  page.is_mask = (kind & 4) != 0;
  NDLFS_TRY(form.no_data, TextOf(reader, directory, kGdalNoData));
  NDLFS_TRY(form.metadata, TextOf(reader, directory, kGdalMetadata));
  NDLFS_TRY(form.place, ReadPlace(reader, directory));
  const auto read_rest = [&]() -> Result<void> {
    NDLFS_RETURN_IF_ERROR(ReadEncoding(reader, directory, form));
    NDLFS_RETURN_IF_ERROR(ReadChunkShape(reader, directory, form));
    NDLFS_TRY(page.chunks, ReadChunks(reader, directory, form.is_tiled));
    GuessByteCount(reader, form.is_tiled, page.chunks, page.notes);
    return {};
  };
  if (auto rest = read_rest(); !rest) {
    if (rest.error().is_transient()) return model::Propagate(std::move(rest).error());
    page.error = std::move(rest).error();
  }
  return page;
}

Result<Datatype> TypeOf(const ImageForm& form) {
  const unsigned bits = form.bits;
  const bool is_whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  switch (form.format) {
    case 1:
      if (bits > 32 && bits != 64) break;
      return Datatype::Integer(bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8, false);
    case 2:
      if (!is_whole) break;
      return Datatype::Integer(bits / 8, true);
    case 3:
      if (bits == 16) return Datatype::Float("float16", 2);
      if (bits == 32) return Datatype::Float32();
      if (bits == 64) return Datatype::Float64();
      break;
    case 5: {
      if (bits != 16 && bits != 32 && bits != 64 && bits != 128) break;
      const Datatype part = Datatype::Integer(bits / 16, true);
      return Datatype::PackedCompound({{"r", part, 0}, {"i", part, 0}});
    }
    default:
      if (bits != 64 && bits != 128) break;
      return Datatype::Complex(bits / 8);
  }
  constexpr std::string_view kFormats[] = {
      "integers without a sign", "integers with a sign", "floats", "",
      "complex integers",        "complex floats"};
  return Unsupported("{} of {} bits are not supported", kFormats[form.format - 1], bits);
}

}  // namespace ndlfs::backends::tiff
