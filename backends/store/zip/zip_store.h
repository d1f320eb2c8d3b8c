// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/store/partial_listing.h"
#include "backends/store/store.h"
#include "backends/store/value_checksums.h"
#include "backends/store/zip/zip_directory.h"
#include "model/error.h"

namespace ndlfs::backends {

// The members of a ZIP archive, stored or deflated; their names are the keys. Stored members
// are read in place, by any number of threads at once. A deflated member costs least if it is
// read as a whole, and less in sequence than at random (see InflateReader).
//
// Some archivers write names in other ways than the standard says ("./a", "/a", "a//b", and
// "a\\b" in an archive without '/'). The store reads them as the paths that they mean.
//
// If several members have the same name, the last one in the directory counts. A member that is
// encrypted, or compressed by another method, is refused when it is read.
//
// The checksum of a stored member is compared when the member is read as a whole, and by
// VerifyValue(); that of a deflated member whenever it is read to its end.
//
// The store has the members that the archive had when it was opened. After a change of the
// file, reads fail with kStale.
class ZipStore final : public Store, public PartialListing, public ValueChecksums {
 public:
  // `file` has the archive as its value at "".
  static model::Result<std::shared_ptr<const ZipStore>> Open(std::shared_ptr<const Store> file);
  ~ZipStore() override;

  // As for the archive; but inflated members are not read in parts.
  StoreTraits traits() const override { return {.is_remote = file_->traits().is_remote}; }
  // The info of the archive, with the size of the member.
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override;
  // Lists the names in the directory of the archive.
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }
  // One look at the archive.
  std::vector<model::Result<std::optional<ValueInfo>>> StatMany(
      std::span<const std::string_view> keys) const override;
  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override;
  model::Result<void> VerifyValue(std::string_view key) const override;
  uint64_t held_bytes() const override { return directory_.held_bytes(); }
  std::optional<int64_t> ClockNs() const override { return file_->ClockNs(); }
  std::string Describe(std::string_view key) const override;

  // Whether the member is stored, so that reading a part of it costs no more
  // than the part.
  bool IsStored(std::string_view key) const;
  const ZipDirectory& directory() const { return directory_; }
  // The info of the archive at present.
  model::Result<std::optional<ValueInfo>> InfoNow() const { return file_->Stat(""); }

 private:
  ZipStore(std::shared_ptr<const Store> file, ZipDirectory directory);

  // The index of the member `key` in the directory; nullopt if there is none.
  model::Result<std::optional<size_t>> Find(std::string_view key) const;
  // The bytes of the member `key`; nullopt if there is none.
  model::Result<std::optional<uint64_t>> SizeOf(std::string_view key) const;
  model::Result<std::optional<ValueInfo>> StatArchive() const;
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override;
  // Whether `stored`, in the archive, is the name of the member.
  bool IsNameOf(const ZipMember& member, std::string_view stored) const;
  // Where the data of a member begin, and the info of the archive.
  struct Place {
    uint64_t data_offset;
    ValueInfo archive;
  };
  model::Result<Place> PlaceOf(const ZipMember& member,
                               const std::optional<Generation>& if_match) const;
  model::Result<Place> PlaceBy(const ZipMember& member, const Value& beginning) const;
  model::Result<std::optional<ReadResult>> ReadWithHeader(
      const ZipMember& member, const std::optional<Generation>& if_match, ByteSpan out) const;
  model::Result<void> CheckStored(const ZipMember& member, ByteSpan bytes) const;
  model::Result<void> ReadDeflated(size_t index, const ZipMember& member, uint64_t data_offset,
                                   uint64_t offset, ByteSpan out) const;

  const std::shared_ptr<const Store> file_;
  const ZipDirectory directory_;
  const uint64_t id_;  // the owner of its InflateReaders
};

}  // namespace ndlfs::backends
