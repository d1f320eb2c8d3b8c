// SPDX-License-Identifier: MIT
//
// Records of Fortran's unformatted sequential files. A marker of 4 bytes stands before and
// behind each record, and holds the number of bytes between them.
#include <cstring>

#include "backends/codec/factories.h"
#include "backends/codec/little_endian.h"

namespace ndlfs::backends {
namespace {

constexpr uint64_t kMarkerBytes = 4;

class FortranRecords final : public BytesToBytesCodec {
 public:
  FortranRecords(uint64_t record_bytes, model::ByteOrder order)
      : record_bytes_(record_bytes), order_(order) {}

  std::string_view name() const override { return "fortran_records"; }

  SizeBound EncodedSize(uint64_t decoded_size) const override {
    const uint64_t records = decoded_size < record_bytes_ ? 1 : decoded_size / record_bytes_;
    return {decoded_size + records * 2 * kMarkerBytes, true};
  }

  model::Result<size_t> Decode(ConstByteSpan encoded, ByteSpan decoded) const override {
    const uint64_t each = std::min<uint64_t>(record_bytes_, decoded.size());
    size_t count = 0;
    while (!encoded.empty()) {
      if (encoded.size() < each + 2 * kMarkerBytes || decoded.size() - count < each) {
        return model::Corrupt("{} bytes left where a record of {} bytes begins", encoded.size(),
                              each);
      }
      NDLFS_RETURN_IF_ERROR(Check("before", encoded.data()));
      NDLFS_RETURN_IF_ERROR(Check("behind", encoded.data() + kMarkerBytes + each));
      std::memcpy(decoded.data() + count, encoded.data() + kMarkerBytes, each);
      encoded = encoded.subspan(each + 2 * kMarkerBytes);
      count += each;
    }
    return count;
  }

 private:
  model::Result<void> Check(std::string_view where, const std::byte* marker) const {
    const uint32_t found = order_ == model::ByteOrder::kLittle ? LoadLittle<uint32_t>(marker)
                                                               : LoadBig<uint32_t>(marker);
    if (found == record_bytes_) return {};
    return model::Corrupt("the marker {} a record of {} bytes says {}", where, record_bytes_,
                          found);
  }

  const uint64_t record_bytes_;
  const model::ByteOrder order_;
};

}  // namespace

std::shared_ptr<const BytesToBytesCodec> MakeFortranRecords(uint64_t record_bytes,
                                                            model::ByteOrder order) {
  return std::make_shared<FortranRecords>(record_bytes, order);
}

}  // namespace ndlfs::backends
