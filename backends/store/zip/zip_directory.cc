// SPDX-License-Identifier: MIT
#include "backends/store/zip/zip_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/load_number.h"
#include "backends/store/keys.h"
#include "backends/store/metadata_turn.h"

namespace ndlfs::backends {
namespace {

using model::BadInput;
using model::Quote;

constexpr uint64_t kMaxDirectorySize = uint64_t{128} << 20;
// While a directory is read, the kept records take as much memory again.
constexpr uint64_t kBytesOfDirectory = 2;
constexpr uint64_t kMaxProbed = uint64_t{16} << 20;
constexpr size_t kMaxNameSize = 4096;
constexpr ptrdiff_t kMaxNameDepth = 256;

// Sizes of the fixed parts of the records of APPNOTE 4.3.12 to 4.3.16.
constexpr size_t kEndSize = 22;
constexpr size_t kLocator64Size = 20;
constexpr size_t kEnd64Size = 56;
constexpr size_t kMemberSize = 46;
constexpr size_t kMaxComment = 65535;

constexpr std::string_view kEndSignature("PK\5\6", 4);
constexpr std::string_view kLocator64Signature("PK\6\7", 4);
constexpr std::string_view kEnd64Signature("PK\6\6", 4);
constexpr std::string_view kMemberSignature("PK\1\2", 4);

constexpr uint16_t kSaturated16 = 0xffff;
constexpr uint32_t kSaturated32 = 0xffffffff;
constexpr uint16_t kZip64Extra = 1;

// Little-endian numbers one after the other; the caller has seen to it that
// they are there.
class Fields {
 public:
  explicit Fields(ConstByteSpan bytes) : bytes_(bytes) {}
  template <typename T>
  T Take() {
    const uint64_t number = LoadNumber(bytes_.first(sizeof(T)), model::ByteOrder::kLittle);
    Skip(sizeof(T));
    return static_cast<T>(number);
  }
  void Skip(size_t count) { bytes_ = bytes_.subspan(count); }

 private:
  ConstByteSpan bytes_;
};

bool Begins(ConstByteSpan bytes, std::string_view signature) {
  return AsText(bytes).substr(0, signature.size()) == signature;
}

// The end of an archive, which tells where its directory is.
struct End {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t offset = 0;    // as stored
  uint64_t position = 0;  // of the record after the directory
};

model::Result<Bytes> ReadExactly(const Store& file, uint64_t offset, size_t size) {
  Bytes bytes(size);
  NDLFS_TRY(const auto count, file.ReadInto("", offset, bytes.span()));
  if (count.value_or(0) != size) return BadInput("ends before byte {}", offset + size);
  return bytes;
}

// Where in `tail`, the end of the file, the record at the end begins: the last
// one whose comment is the rest of the file.
std::optional<size_t> FindSignature(ConstByteSpan tail) {
  if (tail.size() < kEndSize) return std::nullopt;
  for (size_t at = tail.size() - kEndSize + 1; at-- > 0;) {
    if (!Begins(tail.subspan(at), kEndSignature)) continue;
    Fields fields(tail.subspan(at + kEndSize - 2));
    if (fields.Take<uint16_t>() == tail.size() - at - kEndSize) return at;
  }
  return std::nullopt;
}

model::Failure SeveralParts() {
  return model::Unsupported("one of several parts of a ZIP archive");
}

model::Result<End> ParseEnd(ConstByteSpan record, uint64_t position) {
  Fields fields(record);
  fields.Skip(4);
  End end;
  end.position = position;
  const auto this_part = fields.Take<uint16_t>();
  const auto first_part = fields.Take<uint16_t>();
  const auto count_here = fields.Take<uint16_t>();
  end.count = fields.Take<uint16_t>();
  end.size = fields.Take<uint32_t>();
  end.offset = fields.Take<uint32_t>();
  const bool saturated = this_part == kSaturated16 || first_part == kSaturated16;
  if (!saturated && (this_part != 0 || first_part != 0 || count_here != end.count)) {
    return SeveralParts();
  }
  return end;
}

// Where the numbers of `end` are too small for it, the 64-bit record has them.
model::Result<End> ParseEnd64(ConstByteSpan record, uint64_t position, const End& end) {
  Fields fields(record);
  fields.Skip(4 + 8 + 2 + 2);
  End end64;
  end64.position = position;
  const auto this_part = fields.Take<uint32_t>();
  const auto first_part = fields.Take<uint32_t>();
  const auto count_here = fields.Take<uint64_t>();
  end64.count = fields.Take<uint64_t>();
  end64.size = fields.Take<uint64_t>();
  end64.offset = fields.Take<uint64_t>();
  if (this_part != 0 || first_part != 0 || count_here != end64.count) return SeveralParts();
  const auto agrees = [](uint64_t number, uint64_t number64, uint64_t saturated) {
    return number == saturated || number == number64;
  };
  if (!agrees(end.count, end64.count, kSaturated16) ||
      !agrees(end.size, end64.size, kSaturated32) ||
      !agrees(end.offset, end64.offset, kSaturated32)) {
    return BadInput("its two end records differ");
  }
  return end64;
}

// Reads the 64-bit record, if there is a locator for it in front of `end`. Bytes put before the
// archive move the record away from the place in the locator, but not away from the locator.
model::Result<End> PreferEnd64(const Store& file, const End& end) {
  if (end.position < kLocator64Size + kEnd64Size) return end;
  const uint64_t locator_position = end.position - kLocator64Size;
  NDLFS_TRY(const Bytes locator, ReadExactly(file, locator_position, kLocator64Size));
  if (!Begins(locator.span(), kLocator64Signature)) return end;
  Fields fields(locator.span());
  fields.Skip(4 + 4);
  const uint64_t adjacent = locator_position - kEnd64Size;
  for (const uint64_t position : {fields.Take<uint64_t>(), adjacent}) {
    if (position > adjacent) continue;
    NDLFS_TRY(const Bytes record, ReadExactly(file, position, kEnd64Size));
    if (Begins(record.span(), kEnd64Signature)) return ParseEnd64(record.span(), position, end);
  }
  return BadInput("its 64-bit end record is not where it should be");
}

model::Result<End> FindEnd(const Store& file) {
  NDLFS_TRY(const auto size, file.Size(""));
  if (!size) return model::NotFound("there is no such file");
  const uint64_t tail_size = std::min<uint64_t>(*size, kEndSize + kMaxComment);
  const uint64_t tail_position = *size - tail_size;
  NDLFS_TRY(const Bytes tail, ReadExactly(file, tail_position, tail_size));
  const auto at = FindSignature(tail.span());
  if (!at) return BadInput("not a ZIP archive, or cut short: no end record");
  NDLFS_TRY(const End end, ParseEnd(tail.span().subspan(*at), tail_position + *at));
  return PreferEnd64(file, end);
}

// The directory, record by record.
class DirectoryReader {
 public:
  DirectoryReader(const Store& file, uint64_t begin, uint64_t end)
      : file_(file), position_(begin), end_(end), buffer_(kBufferSize) {}

  bool AtEnd() const { return position_ - (filled_ - taken_) == end_; }

  // The next record; its name is valid until the next call.
  model::Result<ZipMember> Next() {
    NDLFS_TRY(const ConstByteSpan fixed, Peek(kMemberSize));
    if (!Begins(fixed, kMemberSignature)) return BadInput("its directory is damaged");
    Fields lengths(fixed.subspan(28));
    const size_t name_length = lengths.Take<uint16_t>();
    const size_t extra_length = lengths.Take<uint16_t>();
    const size_t comment_length = lengths.Take<uint16_t>();
    const size_t total = kMemberSize + name_length + extra_length + comment_length;
    NDLFS_TRY(const ConstByteSpan record, Peek(total));
    taken_ += total;
    return ParseMember(record, name_length, extra_length);
  }

 private:
  static constexpr size_t kBufferSize = size_t{256} << 10;  // more than any record
  static_assert(kBufferSize > kMemberSize + 3 * 65535);

  // The next `count` bytes.
  model::Result<ConstByteSpan> Peek(size_t count) {
    if (filled_ - taken_ < count) {
      std::memmove(buffer_.data(), buffer_.data() + taken_, filled_ - taken_);
      filled_ -= std::exchange(taken_, 0);
      const size_t room = std::min<uint64_t>(kBufferSize - filled_, end_ - position_);
      NDLFS_TRY(const auto got,
                file_.ReadInto("", position_, buffer_.span().subspan(filled_, room)));
      filled_ += got.value_or(0);
      position_ += got.value_or(0);
    }
    if (filled_ - taken_ < count) return BadInput("its directory ends within a record");
    return ConstByteSpan(buffer_.span().subspan(taken_, count));
  }

  static model::Result<ZipMember> ParseMember(ConstByteSpan record, size_t name_length,
                                              size_t extra_length) {
    ZipMember member;
    member.name = AsText(record.subspan(kMemberSize, name_length));
    Fields fields(record);
    fields.Skip(8);
    member.flags = fields.Take<uint16_t>();
    member.method = fields.Take<uint16_t>();
    fields.Skip(4);
    member.crc32 = fields.Take<uint32_t>();
    member.compressed_size = fields.Take<uint32_t>();
    member.size = fields.Take<uint32_t>();
    fields.Skip(6);
    const auto part = fields.Take<uint16_t>();
    fields.Skip(6);
    member.local_header = fields.Take<uint32_t>();
    if (part != 0 && part != kSaturated16) return SeveralParts();
    const auto extra = record.subspan(kMemberSize + name_length, extra_length);
    NDLFS_RETURN_IF_ERROR(TakeZip64(extra, member), "member " + Quote(member.name));
    return member;
  }

  // The numbers that have no room in 32 bits (APPNOTE 4.5.3), in this order.
  static model::Result<void> TakeZip64(ConstByteSpan extra, ZipMember& member) {
    const std::array numbers = {&member.size, &member.compressed_size, &member.local_header};
    const auto is_saturated = [](const uint64_t* number) { return *number == kSaturated32; };
    if (std::none_of(numbers.begin(), numbers.end(), is_saturated)) return {};
    while (extra.size() >= 4) {
      Fields header(extra);
      const auto id = header.Take<uint16_t>();
      const size_t length = header.Take<uint16_t>();
      extra = extra.subspan(4);
      if (length > extra.size()) break;
      if (id != kZip64Extra) {
        extra = extra.subspan(length);
        continue;
      }
      extra = extra.first(length);
      for (uint64_t* number : numbers) {
        if (!is_saturated(number)) continue;
        if (extra.size() < 8) return BadInput("its 64-bit sizes are cut short");
        *number = Fields(extra).Take<uint64_t>();
        extra = extra.subspan(8);
      }
      return {};
    }
    return {};  // exactly 2^32 - 1, then
  }

  const Store& file_;
  uint64_t position_;  // of what is read next
  const uint64_t end_;
  Bytes buffer_;
  size_t filled_ = 0;
  size_t taken_ = 0;
};

// Where the directory begins, and what was put before the archive.
struct Place {
  uint64_t begin;
  uint64_t shift;
};

model::Result<Place> LocateDirectory(const End& end) {
  const auto needed = CheckedAdd(end.offset, end.size);
  if (!needed || *needed > end.position) {
    return BadInput("its directory lies beyond its end record");
  }
  return Place{end.position - end.size, end.position - *needed};
}

bool IsSoundName(std::string_view name) {
  const auto depth = std::count(name.begin(), name.end(), '/');
  if (name.size() > kMaxNameSize || depth > kMaxNameDepth) return false;
  if (name.ends_with('/')) name.remove_suffix(1);
  return CheckKey(name).has_value();
}

model::Result<void> CheckMember(const ZipMember& member, uint64_t directory_offset) {
  const auto end = CheckedAdd(member.local_header, member.compressed_size);
  if (!end || *end > directory_offset || member.size > kMaxViewSize) {
    return BadInput("member {} lies outside of the archive", Quote(member.name));
  }
  return {};
}

// The fields of a member as they are kept.
struct Packed {
  uint64_t local_header;
  uint64_t compressed_size;
  uint64_t size;
  uint32_t crc32;
  uint16_t method;
  uint16_t flags;
  uint16_t name_length;
  uint16_t stored_name_length;
};

}  // namespace

std::optional<std::string> SoundZipName(std::string_view name, bool has_backslashes) {
  std::string slashed(name);
  if (has_backslashes) std::replace(slashed.begin(), slashed.end(), '\\', '/');
  std::string sound;
  std::string_view rest = slashed;
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    sound += part;
    if (slash != rest.npos) sound += '/';
  }
  return IsSoundName(sound) ? std::optional(std::move(sound)) : std::nullopt;
}

model::Result<ZipDirectory> ZipDirectory::Read(const Store& file) {
  NDLFS_TRY(const End end, FindEnd(file));
  NDLFS_TRY(const Place place, LocateDirectory(end));
  if (end.size > kMaxDirectorySize) {
    return model::Limit("its directory has {} bytes, more than {}", end.size,
                        kMaxDirectorySize);
  }
  NDLFS_TRY(const auto turn, MetadataTurn::Take(kBytesOfDirectory * end.size));
  bool has_slashes = false;
  ZipDirectory directory;
  directory.offset_ = place.begin;
  DirectoryReader reader(file, place.begin, place.begin + end.size);
  while (!reader.AtEnd()) {
    NDLFS_TRY(ZipMember member, reader.Next());
    const auto moved = CheckedAdd(member.local_header, place.shift);
    member.local_header = moved.value_or(UINT64_MAX);
    NDLFS_RETURN_IF_ERROR(CheckMember(member, directory.offset_));
    has_slashes = has_slashes || member.name.find('/') != member.name.npos;
    directory.has_backslashes_ =
        directory.has_backslashes_ || member.name.find('\\') != member.name.npos;
    directory.Add(member);
  }
  // Writers without the 64-bit extensions count modulo 2^16.
  if (end.count != directory.size() && end.count != (directory.size() & kSaturated16)) {
    return BadInput("{} members, its end record says {}", directory.size(), end.count);
  }
  directory.has_backslashes_ = directory.has_backslashes_ && !has_slashes;
  directory.MakeNamesSound();
  std::sort(directory.records_.begin(), directory.records_.end(), [&](uint32_t a, uint32_t b) {
    const auto left = directory.NameAt(a);
    const auto right = directory.NameAt(b);
    return left != right ? left < right : a < b;
  });
  directory.DropEarlier();
  return directory;
}

// A sound name is never longer than the stored one, whose place it takes.
void ZipDirectory::MakeNamesSound() {
  std::vector<uint32_t> kept;
  kept.reserve(records_.size());
  for (const uint32_t record : records_) {
    const std::string_view name = NameAt(record);
    if (!has_backslashes_ && IsSoundName(name)) {
      kept.push_back(record);
      continue;
    }
    const auto sound = SoundZipName(name, has_backslashes_);
    if (!sound) {
      LeaveOut(name);
      continue;
    }
    const auto length = static_cast<uint16_t>(sound->size());
    std::memcpy(arena_.data() + record + offsetof(Packed, name_length), &length,
                sizeof(length));
    std::memcpy(arena_.data() + record + sizeof(Packed), sound->data(), sound->size());
    kept.push_back(record);
  }
  records_ = std::move(kept);
}

void ZipDirectory::LeaveOut(std::string_view name) {
  constexpr size_t kMostNotes = 16;
  // The folder of the archive itself, which some archivers list.
  if (name == "/" || name == "./") return;
  ++left_out_;
  if (notes_.size() >= kMostNotes) return;
  notes_.push_back(
      fmt::format("the name of member {} is no path within the archive; the member is left out",
                  Quote(name)));
}

// A program that writes a member again appends it, and the earlier one stays. As for other
// readers, the last one counts.
void ZipDirectory::DropEarlier() {
  size_t kept = 0;
  for (size_t i = 0; i < records_.size(); ++i) {
    const bool is_last =
        i + 1 == records_.size() || NameAt(records_[i]) != NameAt(records_[i + 1]);
    if (is_last) records_[kept++] = records_[i];
  }
  records_.resize(kept);
}

std::string_view FirstZipName(std::string_view head) {
  constexpr size_t kLength = 26;
  if (!head.starts_with(kZipMemberSignature) || head.size() < kZipLocalHeaderSize) return {};
  const auto length = static_cast<uint8_t>(head[kLength]) +
                      (size_t{static_cast<uint8_t>(head[kLength + 1])} << 8);
  const std::string_view name = head.substr(kZipLocalHeaderSize, length);
  return name.size() == length ? name : std::string_view();
}

model::Result<bool> ZipDirectory::AnyName(
    const Store& file, const std::function<bool(std::string_view)>& matches) {
  // An error that is about the contents of the file means no.
  const auto no = [](const model::Error& error) -> model::Result<bool> {
    if (error.is_transient()) return model::Propagate(error);
    return false;
  };
  const auto end = FindEnd(file);
  if (!end) return no(end.error());
  const auto place = LocateDirectory(*end);
  if (!place) return no(place.error());
  DirectoryReader reader(file, place->begin, place->begin + std::min(end->size, kMaxProbed));
  while (!reader.AtEnd()) {
    const auto member = reader.Next();
    if (!member) return no(member.error());
    if (matches(member->name)) return true;
  }
  return false;
}

void ZipDirectory::Add(const ZipMember& member) {
  const Packed packed = {member.local_header,
                         member.compressed_size,
                         member.size,
                         member.crc32,
                         member.method,
                         member.flags,
                         static_cast<uint16_t>(member.name.size()),
                         static_cast<uint16_t>(member.name.size())};
  records_.push_back(static_cast<uint32_t>(arena_.size()));
  arena_.append(reinterpret_cast<const char*>(&packed), sizeof(packed));
  arena_.append(member.name);
}

std::string_view ZipDirectory::NameAt(uint32_t record) const {
  uint16_t length;
  std::memcpy(&length, arena_.data() + record + offsetof(Packed, name_length), sizeof(length));
  return std::string_view(arena_).substr(record + sizeof(Packed), length);
}

ZipMember ZipDirectory::member(size_t i) const {
  Packed packed;
  std::memcpy(&packed, arena_.data() + records_[i], sizeof(packed));
  return {name(i),
          packed.stored_name_length,
          packed.local_header,
          packed.compressed_size,
          packed.size,
          packed.crc32,
          packed.method,
          packed.flags};
}

size_t ZipDirectory::LowerBound(std::string_view wanted) const {
  const auto found = std::lower_bound(
      records_.begin(), records_.end(), wanted,
      [&](uint32_t record, std::string_view key) { return NameAt(record) < key; });
  return static_cast<size_t>(found - records_.begin());
}

}  // namespace ndlfs::backends
