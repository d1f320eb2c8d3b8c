// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "backends/store/partial_listing.h"
#include "backends/store/store.h"
#include "backends/store/zip/zip_directory.h"
#include "model/error.h"

namespace ndlfs::backends {

// The members of a ZIP archive by name, stored or deflated. Stored ones are
// read in place, by any number of threads at once; of deflated ones, reading
// all costs least, then reading in sequence (see InflateReader).
//
// Of members that share their name the last one in the directory counts. Members
// that are encrypted or compressed otherwise are refused when they are asked for.
//
// Knows the members that the archive had when it was opened: after a change
// of the file, reads fail with kStale.
class ZipStore final : public Store, public PartialListing {
 public:
  // `file` has the archive as its value at "".
  static model::Result<std::shared_ptr<const ZipStore>> Open(std::shared_ptr<const Store> file);
  ~ZipStore() override;

  // That of the archive, with the size of the member.
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override;
  // That of the archive.
  model::Result<std::vector<StoreEntry>> List(std::string_view prefix) const override {
    return ListSome(prefix, SIZE_MAX);
  }
  model::Result<std::vector<StoreEntry>> ListSome(std::string_view prefix,
                                                  size_t limit) const override;
  uint64_t held_bytes() const override { return directory_.held_bytes(); }
  std::string Describe(std::string_view key) const override;

  // Whether any part of the value can be read at no more than its own cost.
  bool IsStored(std::string_view key) const;
  const ZipDirectory& directory() const { return directory_; }
  // Of the archive.
  model::Result<std::optional<ValueInfo>> InfoNow() const { return file_->Stat(""); }

 private:
  ZipStore(std::shared_ptr<const Store> file, ZipDirectory directory);

  // The place of the member in the directory; nullopt where there is none.
  model::Result<std::optional<size_t>> Find(std::string_view key) const;
  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override;
  // Where the data of a member begin, and what is known of the archive.
  struct Place {
    uint64_t data_offset;
    ValueInfo archive;
  };
  model::Result<Place> PlaceOf(const ZipMember& member,
                               const std::optional<Generation>& if_match) const;
  model::Result<void> ReadDeflated(size_t index, const ZipMember& member, uint64_t data_offset,
                                   uint64_t offset, ByteSpan out) const;

  const std::shared_ptr<const Store> file_;
  const ZipDirectory directory_;
  const uint64_t id_;  // what its InflateReaders are known by
};

}  // namespace ndlfs::backends
