// SPDX-License-Identifier: MIT
#include "backends/store/zip/inflated_store.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/base/new_id.h"
#include "backends/store/zip/inflate.h"

namespace ndlfs::backends {
namespace {

using model::Corrupt;
using model::Result;

class InflatedStore final : public Store {
 public:
  InflatedStore(std::shared_ptr<const Store> file, const DeflatedRange& range)
      : file_(std::move(file)), range_(range), id_(NewId()) {}
  ~InflatedStore() override { DropInflateReaders(id_); }

  StoreTraits traits() const override {
    StoreTraits traits = file_->traits();
    traits.reads_in_parts = false;
    return traits;
  }
  Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    NDLFS_TRY(auto info, file_->Stat(key));
    if (info) info->size = range_.size;
    return info;
  }
  Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }
  std::string Describe(std::string_view key) const override { return file_->Describe(key); }
  std::optional<int64_t> ClockNs() const override { return file_->ClockNs(); }

 private:
  Result<std::optional<ReadResult>> DoRead(std::string_view key, const ReadOptions& options,
                                           const Reserve& reserve) const override {
    NDLFS_TRY(const auto file, file_->Get(key, 0, {{0, 0}, false, options.if_match}));
    if (!file) return std::nullopt;
    NDLFS_TRY(const ByteSpan out, reserve(range_.size));
    const ByteRange range = options.Clip(range_.size);
    const ByteSpan wanted = out.first(std::min<uint64_t>(out.size(), range.length));
    NDLFS_RETURN_IF_ERROR(FindInflateReader(id_, 0, file_, range_)->Read(range.offset, wanted));
    return ReadResult{wanted.size(), file->info.OfPart(range_.size)};
  }

  const std::shared_ptr<const Store> file_;
  const DeflatedRange range_;
  const uint64_t id_;
};

// The bytes of `range` that are there.
Result<uint64_t> PresentLength(const Store& file, const CompressedRange& range) {
  NDLFS_TRY(const auto size, file.Size(""));
  const uint64_t present = size && *size > range.offset ? *size - range.offset : 0;
  if (range.length == ByteRange::kToEnd) return present;
  if (range.length > present) {
    return Corrupt("{} compressed bytes, expected {}", present, range.length);
  }
  return range.length;
}

}  // namespace

Result<Bytes> InflateBeginning(const Store& file, const CompressedRange& range, size_t count) {
  NDLFS_TRY(const uint64_t present, PresentLength(file, range));
  // The bytes wanted, a name in the header of gzip, and tables of codes.
  const uint64_t wanted = std::min<uint64_t>(present, count + (uint64_t{64} << 10));
  NDLFS_TRY(auto input, file.Read("", wanted, {range.offset, wanted}));
  if (!input) return model::Stale("the file is gone");
  Bytes out(count);
  z_stream zlib = {};
  if (::inflateInit2(&zlib, MAX_WBITS + 32) != Z_OK) return model::Limit("not enough memory");
  zlib.next_in = reinterpret_cast<Bytef*>(input->data());
  zlib.avail_in = static_cast<uInt>(input->size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  const int result = ::inflate(&zlib, Z_SYNC_FLUSH);
  out.Shrink(out.size() - zlib.avail_out);
  ::inflateEnd(&zlib);
  if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR) return out;
  return Corrupt("invalid compressed data");
}

Result<std::shared_ptr<const Store>> MakeInflatedStore(std::shared_ptr<const Store> file,
                                                       const CompressedRange& range,
                                                       uint64_t size) {
  NDLFS_TRY(const uint64_t compressed, PresentLength(*file, range));
  if (size / kMaxDeflateRatio > compressed) {
    return Corrupt("{} bytes cannot inflate to {}", compressed, size);
  }
  return std::make_shared<InflatedStore>(
      std::move(file), DeflatedRange{.offset = range.offset,
                                     .compressed_size = compressed,
                                     .size = size,
                                     .wrapper = DeflatedRange::Wrapper::kGzipOrZlib});
}

}  // namespace ndlfs::backends
