// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <variant>

#include "backends/base/checked.h"
#include "backends/base/element_stream.h"
#include "fs/view/base/array_part.h"
#include "fs/view/elements/converted_elements.h"
#include "fs/view/elements/deferred_bytes.h"
#include "model/mutex.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using backends::ByteSpan;
using backends::ConstByteSpan;
using backends::hdf5::NewObject;
using model::Datatype;
using model::MutexLock;
using model::Result;

// The flags of a chunk.
constexpr unsigned kLastChunk = 1;
constexpr unsigned kLittleEndian = 4;
// Not in the specification: netCDF-C 4.9 expects checksums without it.
constexpr unsigned kNoChecksums = 8;
constexpr uint64_t kMostInChunk = (uint64_t{1} << 24) - 1;
constexpr size_t kMostChunks = 65'536;

// `count` bytes of a number, little-endian.
std::string Little(uint64_t value, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

std::string ChunkHeader(unsigned flags, uint64_t size) {
  std::string out(1, static_cast<char>(flags));
  for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
  return out;
}

uint32_t Sum(uint32_t before, ConstByteSpan bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Computes the CRC-32 of a source while a client reads it from its beginning to its end.
class SummedElements final : public ElementSource {
 public:
  explicit SummedElements(std::shared_ptr<const ElementSource> values)
      : values_(std::move(values)) {}

  uint64_t size() const override { return values_->size(); }
  uint64_t held_bytes() const override { return values_->held_bytes(); }
  Result<void> Read(uint64_t offset, ByteSpan out, model::ByteOrder order,
                    cache::ReadHint hint) const override {
    NDLFS_RETURN_IF_ERROR(values_->Read(offset, out, order, hint));
    Note(offset, out);
    return {};
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return values_->TrackReader(prefetcher);
  }

  // The sum of all bytes. Reads those that nobody has read in order.
  Result<uint32_t> Checksum() const {
    constexpr uint64_t kBlock = uint64_t{1} << 20;
    for (uint64_t at = Furthest(); at < size(); at = Furthest()) {
      backends::Bytes block(std::min(kBlock, size() - at));
      NDLFS_RETURN_IF_ERROR(
          Read(at, block.span(), model::ByteOrder::kLittle, cache::ReadHint::kOnward));
    }
    const MutexLock lock(mutex_);
    return sums_.rbegin()->second;
  }

 private:
  static constexpr size_t kMostSums = 16;

  void Note(uint64_t offset, ConstByteSpan bytes) const EXCLUDES(mutex_) {
    uint32_t sum = 0;
    {
      const MutexLock lock(mutex_);
      const auto known = sums_.find(offset);
      if (known == sums_.end()) return;
      sum = known->second;
    }
    sum = Sum(sum, bytes);
    const MutexLock lock(mutex_);
    sums_.emplace(offset + bytes.size(), sum);
    // The one of no bytes remains.
    if (sums_.size() > kMostSums) sums_.erase(std::next(sums_.begin()));
  }
  uint64_t Furthest() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sums_.rbegin()->first;
  }

  const std::shared_ptr<const ElementSource> values_;
  mutable model::Mutex mutex_;
  // The checksum of the bytes before each offset.
  mutable std::map<uint64_t, uint32_t> sums_ GUARDED_BY(mutex_) = {{0, 0}};
};

// The object at the path name `path`: in the group, or in one around it.
Result<GroupChild> LoadAt(const GroupInput& group, const std::string& path) {
  if (!model::IsBelow(path, group.path())) {
    const auto outer = group.Outer();
    if (outer == nullptr) return model::NotFound("{}", path);
    return LoadAt(*outer, path);
  }
  const auto own = model::SplitPath(group.path());
  const auto names = model::SplitPath(path);
  std::shared_ptr<const GroupInput> held;
  const GroupInput* at = &group;
  for (size_t i = own.size(); i + 1 < names.size(); ++i) {
    NDLFS_TRY(const GroupChild child, at->Load(names[i]), path);
    if (child.group == nullptr) return model::NotFound("{}", path);
    held = child.group;
    at = held.get();
  }
  if (names.size() <= own.size()) return model::NotFound("{}", path);
  return at->Load(names.back());
}

// The values of one variable: a source, or bytes in memory.
using Values = std::variant<std::shared_ptr<const ElementSource>, std::string>;

// Texts of variable length: each has its length before it.
Result<std::string> WriteTexts(const NewObject& object, const Dap4Variable& variable) {
  std::vector<std::string> texts;
  ConstByteSpan rest(*object.data);
  while (!rest.empty()) {
    NDLFS_TRY(const std::string_view text, backends::TakeText(rest));
    texts.push_back(backends::TextAsUtf8(object.type, text));
  }
  const auto total = backends::CheckedProduct(variable.shape);
  const auto there = backends::CheckedProduct(object.shape);
  if (!total || !there || *there != texts.size()) {
    return model::Internal("{}: {} texts", object.path, texts.size());
  }
  std::string out;
  for (uint64_t i = 0; i < *total; ++i) {
    uint64_t index = 0;  // in the array, of the i-th text of the part
    uint64_t rest_of_i = i;
    uint64_t stride = 1;
    for (size_t d = variable.shape.size(); d-- > 0; stride *= object.shape[d]) {
      const uint64_t at = rest_of_i % variable.shape[d];
      rest_of_i /= variable.shape[d];
      index += stride * (variable.selection ? (*variable.selection)[d].At(at) : at);
    }
    out += Little(texts[index].size(), sizeof(uint64_t)) + texts[index];
  }
  return out;
}

// The elements of a part of an array, as the file has them. Only their chunks are read.
Result<std::shared_ptr<const ElementSource>> Cut(const GroupInput& group,
                                                 const NewObject& object,
                                                 const Selection& selection) {
  NDLFS_TRY(const GroupChild child, LoadAt(group, object.path), object.path);
  if (!child.array || child.array->reader == nullptr) return model::NotFound("no values");
  const auto rank = static_cast<std::ptrdiff_t>(child.array->shape.size());
  if (selection.size() < static_cast<size_t>(rank)) return model::HasChanged("the array");
  // Dimensions of the elements themselves are not cut.
  for (size_t d = static_cast<size_t>(rank); d < selection.size(); ++d) {
    if (selection[d] != WholeRange(object.shape[d])) {
      return model::NotFound("{}: elements that are arrays are sent whole", object.name);
    }
  }
  return hdf5::ElementsInFile(
      MakePart(*child.array, {selection.begin(), selection.begin() + rank}));
}

bool IsWhole(const NewObject& object, const Selection& selection) {
  for (size_t d = 0; d < selection.size(); ++d) {
    if (selection[d] != WholeRange(object.shape[d])) return false;
  }
  return true;
}

Result<Values> ValuesOf(const GroupInput& group, const Dap4Dataset& dataset,
                        const Dap4Variable& variable) {
  const NewObject& object = dataset.objects()[variable.object];
  if (object.data) {
    NDLFS_TRY(std::string texts, WriteTexts(object, variable));
    return Values(std::move(texts));
  }
  std::shared_ptr<const ElementSource> elements = dataset.content.elements[variable.object];
  if (variable.selection && !IsWhole(object, *variable.selection)) {
    NDLFS_TRY(elements, Cut(group, object, *variable.selection));
  }
  if (elements == nullptr) return model::NotFound("{}: no values", object.name);
  if (ElementConversion floats = ToFloat32(object.type); floats.converter) {
    elements = ConvertElements(std::move(elements), std::move(floats));
    if (elements == nullptr) return model::Limit("{}: too many bytes", object.name);
  }
  return Values(std::move(elements));
}

// Puts data into chunks.
class ChunkWriter {
 public:
  ChunkWriter(const std::string& dmr, unsigned flags) : flags_(flags & kLittleEndian) {
    segments_.push_back(Literal(ChunkHeader(flags, dmr.size()) + dmr));
  }

  void Add(const Literal& data) {
    Split(data.size, [&](uint64_t begin, uint64_t count) {
      return Segment(Literal(data.bytes, data.offset + begin, count));
    });
  }
  void Add(const Elements& data) {
    Split(data.size, [&](uint64_t begin, uint64_t count) {
      return Segment(Elements{data.source, data.offset + begin, count, data.order});
    });
  }
  Result<std::vector<Segment>> Finish() {
    EndChunk(kLastChunk);
    if (chunks_ > kMostChunks) return model::Limit("more than a TiB in one answer of DAP");
    return std::move(segments_);
  }

 private:
  template <typename Cut>
  void Split(uint64_t size, const Cut& cut) {
    if (size / kMostInChunk > kMostChunks) chunks_ = kMostChunks + 1;
    for (uint64_t begin = 0; begin < size && chunks_ <= kMostChunks;) {
      if (chunk_size_ == kMostInChunk) EndChunk(0);
      const uint64_t count = std::min(size - begin, kMostInChunk - chunk_size_);
      chunk_.push_back(cut(begin, count));
      chunk_size_ += count;
      begin += count;
    }
  }
  void EndChunk(unsigned flags) {
    ++chunks_;
    segments_.push_back(Literal(ChunkHeader(flags_ | flags, chunk_size_)));
    std::ranges::move(chunk_, std::back_inserter(segments_));
    chunk_.clear();
    chunk_size_ = 0;
  }

  const unsigned flags_;
  std::vector<Segment> segments_;
  std::vector<Segment> chunk_;
  uint64_t chunk_size_ = 0;
  size_t chunks_ = 0;
};

void AddWithChecksum(ChunkWriter& writer, Values values) {
  if (auto* const text = std::get_if<std::string>(&values)) {
    *text += Little(Sum(0, backends::AsBytes(*text)), sizeof(uint32_t));
    return writer.Add(Literal(std::move(*text)));
  }
  const auto summed = std::make_shared<const SummedElements>(
      std::get<std::shared_ptr<const ElementSource>>(std::move(values)));
  writer.Add(AllOf(summed));
  writer.Add(MakeComputedBytes(
      sizeof(uint32_t), [summed](uint64_t offset, ByteSpan out) -> Result<void> {
        NDLFS_TRY(const uint32_t sum, summed->Checksum());
        std::memcpy(out.data(), Little(sum, sizeof(sum)).data() + offset, out.size());
        return {};
      }));
}

}  // namespace

Result<std::vector<Segment>> MakeDap4Data(const GroupInput& group, const Dap4Dataset& dataset,
                                          const std::string& dmr, Dap4Checksums checksums) {
  const bool has_checksums = checksums == Dap4Checksums::kCrc32;
  // Clients put a NUL in place of the last character.
  const std::string first = dmr + "\r\n";
  if (first.size() > kMostInChunk) return model::Limit("a DMR of {} bytes", first.size());
  ChunkWriter writer(first, kLittleEndian | (has_checksums ? 0 : kNoChecksums));
  for (const Dap4Variable& variable : dataset.variables) {
    NDLFS_TRY(Values values, ValuesOf(group, dataset, variable));
    if (has_checksums) {
      AddWithChecksum(writer, std::move(values));
    } else if (auto* const text = std::get_if<std::string>(&values)) {
      writer.Add(Literal(std::move(*text)));
    } else {
      writer.Add(AllOf(std::get<std::shared_ptr<const ElementSource>>(std::move(values))));
    }
  }
  return writer.Finish();
}

}  // namespace ndlfs::fs
