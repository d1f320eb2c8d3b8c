// SPDX-License-Identifier: MIT
#include "backends/store/zip/zip_store.h"

#include <algorithm>
#include <utility>

#include "backends/base/new_id.h"
#include "backends/store/keys.h"
#include "backends/store/pinned_store.h"
#include "backends/store/request_scope.h"
#include "backends/store/zip/inflate.h"

namespace ndlfs::backends {
namespace {

using model::BadInput;
using model::Corrupt;

uint16_t Take16(std::string_view header, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(header[at]) |
                               static_cast<uint8_t>(header[at + 1]) << 8);
}

// Whether it is a member that can be read at all.
model::Result<void> CheckReadable(const ZipMember& member) {
  if (member.flags & ZipMember::kEncrypted) return model::Unsupported("encrypted");
  if (member.method == ZipMember::kStored) {
    if (member.size == member.compressed_size) return {};
    return BadInput("stored, but of two sizes: {} and {}", member.size, member.compressed_size);
  }
  if (member.method != ZipMember::kDeflated) {
    return model::Unsupported("ZIP compression method {}", member.method);
  }
  if (member.size / kMaxDeflateRatio > member.compressed_size) {
    return Corrupt("{} bytes cannot inflate to {}", member.compressed_size, member.size);
  }
  return {};
}

}  // namespace

model::Result<std::shared_ptr<const ZipStore>> ZipStore::Open(
    std::shared_ptr<const Store> file) {
  NDLFS_TRY(auto pinned, PinVersion(file), file->Describe(""));
  NDLFS_TRY(ZipDirectory directory, ZipDirectory::Read(*pinned), file->Describe(""));
  return std::shared_ptr<const ZipStore>(new ZipStore(std::move(pinned), std::move(directory)));
}

ZipStore::ZipStore(std::shared_ptr<const Store> file, ZipDirectory directory)
    : file_(std::move(file)), directory_(std::move(directory)), id_(NewId()) {}

ZipStore::~ZipStore() { DropInflateReaders(id_); }

model::Result<std::optional<size_t>> ZipStore::Find(std::string_view key) const {
  NDLFS_RETURN_IF_ERROR(CheckKey(key));
  const size_t found = directory_.LowerBound(key);
  if (found == directory_.size() || directory_.name(found) != key) return std::nullopt;
  NDLFS_RETURN_IF_ERROR(CheckReadable(directory_.member(found)));
  return found;
}

model::Result<std::optional<ReadResult>> ZipStore::DoRead(std::string_view key,
                                                          const ReadOptions& options,
                                                          const Reserve& reserve) const {
  NDLFS_TRY(const auto index, Find(key));
  if (!index) return std::nullopt;
  const ZipMember member = directory_.member(*index);
  NDLFS_TRY(const ByteSpan out, reserve(member.size));
  if (options.range.length == 0) {  // asks only for facts from the directory
    NDLFS_TRY(const auto value, file_->Get("", 0, {{0, 0}, false, options.if_match}));
    if (!value) return model::Stale("the archive is gone");
    return ReadResult{0, value->info.OfPart(member.size)};
  }
  const ByteRange range = options.Clip(member.size);
  const ByteSpan wanted = out.first(std::min<uint64_t>(out.size(), range.length));
  if (member.method == ZipMember::kStored && range.offset == 0 && file_->traits().is_remote) {
    NDLFS_TRY(auto result, ReadWithHeader(member, options.if_match, wanted));
    if (result) return result;
  }
  NDLFS_TRY(const Place place, PlaceOf(member, options.if_match));
  ReadResult result = {wanted.size(), place.archive};
  result.info.size = member.size;
  if (member.method == ZipMember::kDeflated) {
    NDLFS_RETURN_IF_ERROR(
        ReadDeflated(*index, member, place.data_offset, range.offset, wanted));
    return result;
  }
  NDLFS_TRY(const auto count, file_->ReadInto("", place.data_offset + range.offset, wanted));
  if (count.value_or(0) != wanted.size()) return Corrupt("cut short");
  NDLFS_RETURN_IF_ERROR(CheckStored(member, wanted));
  return result;
}

// Checks whole members only: a part has no checksum.
model::Result<void> ZipStore::CheckStored(const ZipMember& member, ByteSpan bytes) const {
  if (bytes.size() != member.size) return {};
  return CheckCrc(member.crc32, ZipCrc(0, bytes));
}

// Reads the local header, and the beginning of the member, by one request: they lie side by
// side. nullopt if the request would be long, or if an uncommonly long field lies between them.
model::Result<std::optional<ReadResult>> ZipStore::ReadWithHeader(
    const ZipMember& member, const std::optional<Generation>& if_match, ByteSpan out) const {
  constexpr uint64_t kUsualField = 128;
  constexpr size_t kMost = size_t{1} << 20;
  if (out.size() > kMost) return std::nullopt;
  const uint64_t size =
      kZipLocalHeaderSize + member.stored_name_size + kUsualField + out.size();
  NDLFS_TRY(const auto value,
            file_->Get("", size, {.range = {member.local_header, size}, .if_match = if_match}));
  if (!value) return model::Stale("the archive is gone");
  NDLFS_TRY(const Place place, PlaceBy(member, *value));
  const uint64_t begin = place.data_offset - member.local_header;
  if (begin + out.size() > value->bytes.size()) return std::nullopt;
  std::copy_n(value->bytes.data() + begin, out.size(), out.data());
  NDLFS_RETURN_IF_ERROR(CheckStored(member, out));
  return ReadResult{out.size(), place.archive.OfPart(member.size)};
}

model::Result<void> ZipStore::VerifyValue(std::string_view key) const {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  NDLFS_TRY(const auto index, Find(key));
  if (!index) return model::Stale("the member is gone");
  const ZipMember member = directory_.member(*index);
  Bytes piece(std::min(kPiece, member.size));
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < member.size; offset += piece.size()) {
    const ByteSpan out =
        piece.span().first(std::min<uint64_t>(piece.size(), member.size - offset));
    NDLFS_TRY(const auto count, ReadInto(key, offset, out));
    if (count.value_or(0) != out.size()) return Corrupt("cut short");
    crc = ZipCrc(crc, out);
  }
  return CheckCrc(member.crc32, crc);
}

model::Result<void> ZipStore::ReadDeflated(size_t index, const ZipMember& member,
                                           uint64_t data_offset, uint64_t offset,
                                           ByteSpan out) const {
  const DeflatedRange range = {data_offset, member.compressed_size, member.size, member.crc32};
  if (out.size() == member.size) return InflateAll(*file_, range, out);
  return FindInflateReader(id_, index, file_, range)->Read(offset, out);
}

bool ZipStore::IsNameOf(const ZipMember& member, std::string_view stored) const {
  return stored == member.name ||
         SoundZipName(stored, directory_.has_backslashes()) == member.name;
}

// The local header repeats the name and the method; one that differs belongs
// to something else.
model::Result<ZipStore::Place> ZipStore::PlaceOf(
    const ZipMember& member, const std::optional<Generation>& if_match) const {
  const uint64_t size = kZipLocalHeaderSize + member.stored_name_size;
  NDLFS_TRY(const auto value,
            file_->Get("", size, {.range = {member.local_header, size}, .if_match = if_match}));
  if (!value) return model::Stale("the archive is gone");
  return PlaceBy(member, *value);
}

// `beginning` has the local header, and perhaps more.
model::Result<ZipStore::Place> ZipStore::PlaceBy(const ZipMember& member,
                                                 const Value& beginning) const {
  const uint64_t size = kZipLocalHeaderSize + member.stored_name_size;
  const std::string_view header = AsText(beginning.bytes.span()).substr(0, size);
  const std::string_view name = FirstZipName(header);
  const bool matches = name.size() == member.stored_name_size &&
                       Take16(header, 8) == member.method && IsNameOf(member, name);
  if (!matches) return BadInput("its local header does not match the directory");
  const uint64_t offset = member.local_header + size + Take16(header, 28);
  if (offset + member.compressed_size > directory_.offset()) {
    return BadInput("it reaches into the directory");
  }
  return Place{offset, beginning.info};
}

model::Result<std::optional<ValueInfo>> ZipStore::Stat(std::string_view key) const {
  return StatMany({&key, 1}).front();
}

model::Result<std::optional<uint64_t>> ZipStore::SizeOf(std::string_view key) const {
  NDLFS_RETURN_IF_ERROR(CheckKey(key));
  const size_t found = directory_.LowerBound(key);
  if (found == directory_.size() || directory_.name(found) != key) return std::nullopt;
  return directory_.member(found).size;
}

std::vector<model::Result<std::optional<ValueInfo>>> ZipStore::StatMany(
    std::span<const std::string_view> keys) const {
  std::optional<model::Result<std::optional<ValueInfo>>> archive;
  std::vector<model::Result<std::optional<ValueInfo>>> answers;
  answers.reserve(keys.size());
  for (const std::string_view key : keys) {
    const auto size = SizeOf(key);
    if (size && *size && !archive) archive = StatArchive();
    if (!size) {
      answers.push_back(model::Propagate(size.error()));
    } else if (!*size || !*archive || !**archive) {
      answers.push_back(*size ? *archive : std::nullopt);
    } else {
      answers.push_back((**archive)->OfPart(**size));
    }
  }
  return answers;
}

// Once for a request: all members have the version of the archive.
model::Result<std::optional<ValueInfo>> ZipStore::StatArchive() const {
  using Stamp = std::optional<ValueInfo>;
  RequestScope* const scope = RequestScope::Current();
  if (const auto known = scope ? scope->Find<Stamp>(id_, "") : nullptr) return *known;
  NDLFS_TRY(Stamp stamp, file_->Stat(""));
  if (scope != nullptr) scope->Keep(id_, "", std::make_shared<const Stamp>(stamp));
  return stamp;
}

model::Result<std::vector<StoreEntry>> ZipStore::ListSome(std::string_view prefix,
                                                          size_t limit) const {
  std::string below(prefix);
  if (!prefix.empty()) {
    NDLFS_RETURN_IF_ERROR(CheckKey(prefix));
    below += '/';
  }
  std::vector<StoreEntry> entries;
  size_t i = directory_.LowerBound(below);
  while (i < directory_.size() && directory_.name(i).starts_with(below) &&
         entries.size() < limit) {
    const std::string_view rest = directory_.name(i).substr(below.size());
    const size_t slash = rest.find('/');
    if (rest.empty()) {  // the prefix itself
      ++i;
      continue;
    }
    std::string name(rest.substr(0, slash));
    const bool is_prefix = slash != std::string_view::npos;
    // On to the first name that does not begin with "name/" or is not "name".
    const char next = is_prefix ? '/' + 1 : '\0';
    i = directory_.LowerBound(below + name + next);
    entries.push_back({std::move(name), is_prefix});
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.name != b.name ? a.name < b.name : a.is_prefix > b.is_prefix;
  });
  // A name that is a value and a prefix is listed as a prefix.
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const auto& a, const auto& b) { return a.name == b.name; }),
                entries.end());
  return entries;
}

std::string ZipStore::Describe(std::string_view key) const {
  return JoinKey(file_->Describe(""), key);
}

bool ZipStore::IsStored(std::string_view key) const {
  const auto index = Find(key);
  return index && *index && directory_.member(**index).method == ZipMember::kStored;
}

}  // namespace ndlfs::backends
