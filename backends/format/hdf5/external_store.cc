// SPDX-License-Identifier: MIT
#include "backends/format/hdf5/external_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/base/checked.h"
#include "model/mutex.h"

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

  // All files are of one source. A look is one at each of them.
  StoreTraits traits() const override {
    StoreTraits traits = parts_.front().store->traits();
    traits.reads_in_parts = false;
    return traits;
  }
  // Changes with any of the files.
  model::Result<std::optional<ValueInfo>> Stat(std::string_view key) const override {
    if (!key.empty()) return std::nullopt;
    return Combine([](const Store& store) { return store.Stat(""); });
  }

  model::Result<std::vector<StoreEntry>> List(std::string_view) const override {
    return std::vector<StoreEntry>();
  }

  std::string Describe(std::string_view) const override {
    return parts_.front().store->Describe("");
  }
  std::optional<int64_t> ClockNs() const override { return parts_.front().store->ClockNs(); }

 private:
  uint64_t end() const { return parts_.back().begin + parts_.back().bytes; }

  model::Result<std::optional<ReadResult>> DoRead(std::string_view key,
                                                  const ReadOptions& options,
                                                  const Reserve& reserve) const override {
    if (!key.empty()) return std::nullopt;
    NDLFS_TRY(const ValueInfo info, Opened());
    if (options.if_match && *options.if_match != info.generation) {
      return model::Stale("changed since it was opened");
    }
    NDLFS_TRY(const ByteSpan out, reserve(info.size));
    const ByteRange range = options.Clip(info.size);
    const ByteSpan wanted = out.first(std::min<uint64_t>(out.size(), range.length));
    NDLFS_RETURN_IF_ERROR(ReadParts(range.offset, wanted));
    return ReadResult{wanted.size(), info};
  }

  model::Result<void> ReadParts(uint64_t offset, ByteSpan out) const {
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
    return {};
  }

  // The facts of the versions that the stores of the files have pinned; kept once all have one.
  model::Result<ValueInfo> Opened() const {
    {
      const model::MutexLock lock(mutex_);
      if (opened_) return *opened_;
    }
    bool all = true;
    NDLFS_TRY(ValueInfo info,
              Combine([&](const Store& store) -> model::Result<std::optional<ValueInfo>> {
                NDLFS_TRY(const auto value, store.Get("", 0, {.range = {0, 0}}));
                all = all && value;
                return value ? std::optional(value->info) : std::nullopt;
              }));
    const model::MutexLock lock(mutex_);
    if (all) opened_ = info;
    return info;
  }

  // The facts about all files together; `look` returns those about one.
  template <typename Look>
  model::Result<ValueInfo> Combine(const Look& look) const {
    ValueInfo all{.generation = {}, .size = end()};
    std::string generations;
    for (const Part& part : parts_) {
      NDLFS_TRY(const std::optional<ValueInfo> info, look(*part.store));
      generations += info ? info->generation.ToText() + "," : ",";
      if (!info) continue;
      all.modified_ns = std::max(all.modified_ns, info->modified_ns);
      all.placed_ns = std::max(all.placed_ns, info->placed_ns);
    }
    all.generation = Generation::OfTag(std::move(generations));
    return all;
  }

  static model::Result<void> ReadPart(const Part& part, uint64_t inside, ByteSpan out) {
    const auto offset = CheckedAdd(part.offset, inside);
    if (!offset) return model::Corrupt("an offset beyond any file");
    NDLFS_TRY(const auto count, part.store->ReadInto("", *offset, out));
    if (!count) return model::Corrupt("the external file is not there");
    std::memset(out.data() + *count, 0, out.size() - *count);
    return {};
  }

  const std::vector<Part> parts_;
  mutable model::Mutex mutex_;
  mutable std::optional<ValueInfo> opened_ GUARDED_BY(mutex_);
};

}  // namespace

model::Result<std::shared_ptr<const Store>> MakeExternalStore(
    const Source& source, const std::string& file_path,
    const std::vector<ExternalPart>& parts) {
  std::vector<Part> made;
  uint64_t begin = 0;
  for (const ExternalPart& part : parts) {
    const auto path = source.Resolve(file_path, part.name);
    if (!path) {
      return model::Unsupported("the external file {} is outside of the source",
                                model::Quote(part.name));
    }
    const uint64_t bytes =
        part.bytes == ExternalPart::kUnlimited ? kMaxViewSize - begin : part.bytes;
    const auto end = CheckedAdd(begin, bytes);
    if (!end || *end > kMaxViewSize) return model::Limit("external files of too many bytes");
    made.push_back({source.OpenFile(*path, Follow::kYes), begin, bytes, part.offset});
    begin = *end;
  }
  return std::make_shared<ExternalStore>(std::move(made));
}

}  // namespace ndlfs::backends::hdf5
