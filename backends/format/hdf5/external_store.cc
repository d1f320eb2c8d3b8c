// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/external_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/base/checked.h"
#include "backends/store/local/paths.h"

namespace ndlfs::backends::hdf5 {
namespace {

struct Part {
  std::shared_ptr<const Store> store;
  uint64_t begin;  // in the value
  uint64_t bytes;
  uint64_t offset;  // in the file
};

class ExternalStore final : public Store {
 public:
  explicit ExternalStore(std::vector<Part> parts) : parts_(std::move(parts)) {}

  model::Result<std::optional<uint64_t>> Size(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    return parts_.back().begin + parts_.back().bytes;
  }

  model::Result<std::optional<size_t>> ReadInto(std::string_view key, uint64_t offset,
                                                ByteSpan out) const override {
    if (!key.empty()) return std::nullopt;
    size_t done = 0;
    for (const Part& part : parts_) {
      if (done == out.size()) break;
      const uint64_t at = offset + done;
      if (at < part.begin || at - part.begin >= part.bytes) continue;
      const uint64_t inside = at - part.begin;
      const ByteSpan piece =
          out.subspan(done, std::min<uint64_t>(out.size() - done, part.bytes - inside));
      NDLFS_RETURN_IF_ERROR(ReadPart(part, inside, piece), part.store->Describe(""));
      done += piece.size();
    }
    return done;
  }

  // Changes with any of the files.
  model::Result<std::optional<FileStamp>> Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    FileStamp all;
    for (const Part& part : parts_) {
      NDLFS_TRY(const auto stamp, part.store->Stat(""));
      if (!stamp) continue;
      all.device = stamp->device;
      all.inode = all.inode * 31 + stamp->inode;
      all.size += stamp->size;
      all.mtime_ns = std::max(all.mtime_ns, stamp->mtime_ns);
      all.ctime_ns = std::max(all.ctime_ns, stamp->ctime_ns);
    }
    return all;
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::string Describe(std::string_view) const override {
    return parts_.front().store->Describe("");
  }

 private:
  static model::Result<void> ReadPart(const Part& part, uint64_t inside, ByteSpan out) {
    const auto offset = CheckedAdd(part.offset, inside);
    if (!offset) return model::Corrupt("an offset beyond any file");
    NDLFS_TRY(const auto count, part.store->ReadInto("", *offset, out));
    if (!count) return model::Corrupt("the external file is not there");
    std::memset(out.data() + *count, 0, out.size() - *count);
    return {};
  }

  const std::vector<Part> parts_;
};

}  // namespace

model::Result<std::shared_ptr<const Store>> MakeExternalStore(
    const std::shared_ptr<const SourceRoot>& root, const std::string& file_path,
    const std::vector<ExternalPart>& parts) {
  std::vector<Part> made;
  uint64_t begin = 0;
  for (const ExternalPart& part : parts) {
    const auto path = PathBeneath(*root, file_path, part.name);
    if (!path) {
      return model::BadInput("the external file {} is outside of the source",
                             model::Quote(part.name));
    }
    const uint64_t bytes =
        part.bytes == ExternalPart::kUnlimited ? kMaxViewSize - begin : part.bytes;
    const auto end = CheckedAdd(begin, bytes);
    if (!end || *end > kMaxViewSize) return model::Limit("external files of too many bytes");
    made.push_back(
        {MakeFileStore(root, *path, /*may_be_link=*/true), begin, bytes, part.offset});
    begin = *end;
  }
  return std::make_shared<ExternalStore>(std::move(made));
}

}  // namespace ndlfs::backends::hdf5
