// SPDX-License-Identifier: MIT
#include "backends/format/dmrpp/data_files.h"

#include <array>
#include <string_view>
#include <utility>

#include "backends/store/file_name.h"
#include "backends/store/reference/reference_url.h"

namespace ndlfs::backends::dmrpp {
namespace {

using model::Result;

// Archives put the true URL in the place of these when they answer requests.
constexpr std::string_view kDataUrl = "OPeNDAP_DMRpp_DATA_ACCESS_URL";
constexpr std::string_view kMissingUrl = "OPeNDAP_DMRpp_MISSING_DATA_ACCESS_URL";
constexpr std::string_view kMissingEnding = ".missing";

constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kHdf4Signature("\x0e\x03\x13\x01", 4);

// Archives copy a file and its document at once, and in any order.
constexpr int64_t kCopyingNs = int64_t{600} * 1'000'000'000;

}  // namespace

DataFiles::DataFiles(std::shared_ptr<const Source> source, std::string path,
                     std::vector<std::string> names, const ValueInfo& written)
    : source_(std::move(source)),
      path_(std::move(path)),
      names_(std::move(names)),
      written_ns_(written.modified_ns),
      found_(names_.size()) {}

Result<DataFiles::File> DataFiles::Find(uint32_t index) const {
  if (index >= names_.size()) return model::Internal("no such data file");
  const model::MutexLock lock(mutex_);
  auto& found = found_[index];
  if (found) return *found;
  auto file = Open(names_[index]);
  if (file || !file.error().is_transient()) found = file;
  return file;
}

std::optional<ValueInfo> DataFiles::Look() const {
  const auto place = Locate(names_.front());
  if (!place) return std::nullopt;
  return place->store->Stat(place->key).value_or(std::nullopt);
}

// The file that the document stands next to: it has its name, without ".dmrpp".
Result<StoreKey> DataFiles::LocateNeighbour(std::string_view ending,
                                            std::string_view name) const {
  if (!HasExtension(path_, kExtension)) {
    return model::Unsupported("the document names no data file, and is not called {}",
                              kExtension);
  }
  std::string path = path_.substr(0, path_.size() - kExtension.size());
  path += ending;
  if (!name.empty() && FileNameOf(name) != FileNameOf(path)) {
    return model::Unsupported("the data file {}", model::Quote(name));
  }
  return StoreKey{source_->OpenFile(path, Follow::kYes), ""};
}

// A name may lead to a place of the machine that the document was made on. Then the file next
// to the document is the one that it is about, if it has that name.
Result<StoreKey> DataFiles::Locate(const std::string& name) const {
  if (name.empty() || name == kDataUrl) return LocateNeighbour("", "");
  if (name == kMissingUrl) return LocateNeighbour(kMissingEnding, "");
  auto found =
      kerchunk::IsRemote(name) ? kerchunk::FindRemote(*source_, name) : LocateLocal(name);
  if (found) return found;
  auto neighbour = LocateNeighbour("", name);
  return neighbour ? std::move(neighbour) : std::move(found);
}

Result<StoreKey> DataFiles::LocateLocal(const std::string& name) const {
  auto path = kerchunk::ResolveLocalUrl(*source_, path_, name);
  if (!path) return kerchunk::FindOutside(*source_, name, std::move(path).error());
  if (!source_->IsFile(*path)) {
    return model::NotFound("the data file {} is not there", model::Quote(name));
  }
  return StoreKey{source_->OpenFile(*path, Follow::kYes), ""};
}

Result<DataFiles::File> DataFiles::Open(const std::string& name) const {
  NDLFS_TRY(StoreKey place, Locate(name));
  File file{std::move(place.store), std::move(place.key), {}};
  std::array<std::byte, kHdf5Signature.size()> head = {};
  const auto reserve = [&](uint64_t) -> Result<ByteSpan> { return ByteSpan(head); };
  NDLFS_TRY(const auto read, file.store->Read(file.key, {.range = {0, head.size()}}, reserve),
            file.store->Describe(file.key));
  if (!read) {
    return model::NotFound("the data file {} is not there", file.store->Describe(file.key));
  }
  file.info = read->info;
  const std::string_view text = AsText(ConstByteSpan(head).first(read->count));
  if (!text.starts_with(kHdf5Signature) && !text.starts_with(kHdf4Signature)) {
    return model::Unsupported(
        "the data file {} does not begin as HDF5 or HDF4; behind a user block, the document "
        "does not say from where offsets count",
        file.store->Describe(file.key));
  }
  NDLFS_RETURN_IF_ERROR(CheckTime(file));
  return file;
}

Result<void> DataFiles::CheckTime(const File& file) const {
  const int64_t allowed = file.store->looks_are_requests() ? kCopyingNs : 0;
  if (written_ns_ == 0 || file.info.modified_ns <= written_ns_ + allowed) return {};
  return model::Corrupt(
      "the data file {} was modified after the document, which is about an earlier version",
      file.store->Describe(file.key));
}

}  // namespace ndlfs::backends::dmrpp
