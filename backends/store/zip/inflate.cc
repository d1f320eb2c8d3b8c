// SPDX-License-Identifier: MIT
#include "backends/store/zip/inflate.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <list>
#include <utility>

#include "backends/codec/codec.h"
#include "backends/codec/stream/deflate.h"

namespace ndlfs::backends {
namespace {

using model::Corrupt;

constexpr uint64_t kMilestones = 64;
constexpr uint64_t kMinSpacing = uint64_t{1} << 20;
constexpr size_t kInputSize = size_t{64} << 10;
constexpr size_t kSkipSize = size_t{64} << 10;
constexpr size_t kMaxReaders = 8;

}  // namespace

uint32_t ZipCrc(uint32_t crc, ConstByteSpan bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

model::Result<void> CheckCrc(uint32_t stored, uint32_t found) {
  if (stored == found) return {};
  return Corrupt("crc32: stored {:08x}, found {:08x}", stored, found);
}

model::Result<void> InflateAll(const Store& file, const DeflatedRange& range, ByteSpan out) {
  if (range.compressed_size > CompressorBound(range.size).size) {
    return Corrupt("{} bytes that inflate to {}", range.compressed_size, range.size);
  }
  libdeflate_decompressor* context = DeflateContext();
  if (context == nullptr) return model::Limit("not enough memory for a decompressor");
  Bytes deflated(range.compressed_size);
  NDLFS_TRY(const auto count, file.ReadInto("", range.offset, deflated.span()));
  if (count.value_or(0) != deflated.size()) return Corrupt("cut short");
  size_t written = 0;
  const libdeflate_result result = libdeflate_deflate_decompress(
      context, deflated.data(), deflated.size(), out.data(), out.size(), &written);
  if (result != LIBDEFLATE_SUCCESS) return DeflateFailure(result);
  if (written != out.size()) {
    return Corrupt("inflates to {} bytes instead of {}", written, out.size());
  }
  return CheckCrc(range.crc32, libdeflate_crc32(0, out.data(), out.size()));
}

// A decompressor at some position of the value. Keeps no input, so that it is
// as large as zlib's state: about 40 KiB.
class InflateReader::Stream {
 public:
  explicit Stream(const DeflatedRange& range) : range_(range) {}
  ~Stream() {
    if (initialized_) ::inflateEnd(&zlib_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // How many bytes of the value have been inflated so far.
  uint64_t position() const { return position_; }

  // Null if there is no memory.
  static std::unique_ptr<Stream> AtBeginning(const DeflatedRange& range) {
    auto stream = std::make_unique<Stream>(range);
    stream->initialized_ = ::inflateInit2(&stream->zlib_, stream->WindowBits()) == Z_OK;
    return stream->initialized_ ? std::move(stream) : nullptr;
  }
  std::unique_ptr<Stream> Copy() const {
    auto copy = std::make_unique<Stream>(range_);
    auto* source = const_cast<z_stream*>(&zlib_);  // zlib reads it only
    copy->initialized_ = ::inflateCopy(&copy->zlib_, source) == Z_OK;
    copy->consumed_ = consumed_;
    copy->position_ = position_;
    copy->crc_ = crc_;
    copy->ended_ = ended_;
    return copy->initialized_ ? std::move(copy) : nullptr;
  }

  // Inflates the next out.size() bytes. After the last one of the value the
  // stream has to end.
  model::Result<void> Inflate(const Store& file, ByteSpan out) {
    Bytes input(std::min<uint64_t>(kInputSize, range_.compressed_size - consumed_));
    NDLFS_RETURN_IF_ERROR(Fill(file, input, out));
    position_ += out.size();
    crc_ = libdeflate_crc32(crc_, out.data(), out.size());
    if (position_ == range_.size) NDLFS_RETURN_IF_ERROR(Finish(file, input));
    consumed_ -= std::exchange(zlib_.avail_in, 0);
    return {};
  }

  // Throws away what is before `target`.
  model::Result<void> SkipTo(const Store& file, uint64_t target) {
    if (position_ == target) return {};
    Bytes skipped(std::min<uint64_t>(kSkipSize, target - position_));
    while (position_ < target) {
      const size_t size = std::min<uint64_t>(skipped.size(), target - position_);
      NDLFS_RETURN_IF_ERROR(Inflate(file, skipped.span().first(size)));
    }
    return {};
  }

 private:
  bool is_wrapped() const { return range_.wrapper == DeflatedRange::Wrapper::kGzipOrZlib; }
  int WindowBits() const {
    constexpr int kDetect = 32;  // gzip or zlib
    return is_wrapped() ? MAX_WBITS + kDetect : -MAX_WBITS;
  }

  // Goes on with the next member of gzip, if there is more input.
  bool StartNextMember() {
    const bool is_end = zlib_.avail_in == 0 && consumed_ == range_.compressed_size;
    if (!is_wrapped() || is_end || ::inflateReset(&zlib_) != Z_OK) return false;
    ended_ = false;
    return true;
  }

  model::Result<void> Fill(const Store& file, Bytes& input, ByteSpan out) {
    while (!out.empty()) {
      if (ended_ && !StartNextMember()) {
        return Corrupt("inflates to less than its {} bytes", range_.size);
      }
      NDLFS_TRY(const size_t count, Step(file, input, out));
      out = out.subspan(count);
    }
    return {};
  }

  // All bytes are there: so the stream has to end, and the checksum to match.
  model::Result<void> Finish(const Store& file, Bytes& input) {
    std::byte surplus;
    while (!ended_) {
      NDLFS_TRY(const size_t count, Step(file, input, ByteSpan(&surplus, 1)));
      if (count == 0) continue;
      if (is_wrapped()) return {};
      return Corrupt("inflates to more than its {} bytes", range_.size);
    }
    return is_wrapped() ? model::Result<void>() : CheckCrc(range_.crc32, crc_);
  }

  // One call of inflate(); returns the number of bytes it made.
  model::Result<size_t> Step(const Store& file, Bytes& input, ByteSpan out) {
    if (zlib_.avail_in == 0) NDLFS_RETURN_IF_ERROR(Refill(file, input));
    constexpr size_t kMaxStep = size_t{1} << 30;  // zlib counts in unsigned int
    zlib_.next_out = reinterpret_cast<Bytef*>(out.data());
    zlib_.avail_out = static_cast<uInt>(std::min(out.size(), kMaxStep));
    const uInt room = zlib_.avail_out;
    const int result = ::inflate(&zlib_, Z_NO_FLUSH);
    ended_ = result == Z_STREAM_END;
    const size_t made = room - zlib_.avail_out;
    if (ended_ || result == Z_OK) return made;
    if (result == Z_BUF_ERROR && zlib_.avail_in == 0 && consumed_ < range_.compressed_size) {
      return made;  // wants more input
    }
    if (result == Z_MEM_ERROR) return model::Limit("not enough memory for a decompressor");
    return Corrupt("invalid or truncated deflated data");
  }

  model::Result<void> Refill(const Store& file, Bytes& input) {
    const size_t size = std::min<uint64_t>(input.size(), range_.compressed_size - consumed_);
    const auto part = input.span().first(size);
    NDLFS_TRY(const auto count, file.ReadInto("", range_.offset + consumed_, part));
    if (count.value_or(0) != size) return Corrupt("cut short");
    zlib_.next_in = reinterpret_cast<Bytef*>(input.data());
    zlib_.avail_in = static_cast<uInt>(size);
    consumed_ += size;
    return {};
  }

  const DeflatedRange range_;
  z_stream zlib_ = {};
  bool initialized_ = false;
  bool ended_ = false;
  uint64_t consumed_ = 0;  // of the input, with what is in the buffer
  uint64_t position_ = 0;
  uint32_t crc_ = 0;
};

InflateReader::InflateReader(std::shared_ptr<const Store> file, const DeflatedRange& range)
    : file_(std::move(file)),
      range_(range),
      spacing_(std::max(kMinSpacing, range.size / kMilestones)) {}

InflateReader::~InflateReader() = default;

model::Result<void> InflateReader::Read(uint64_t offset, ByteSpan out) {
  if (out.empty()) return {};
  const uint64_t end = offset + out.size();
  if (!IsKnown(end)) {
    model::MutexLock lock(extending_);
    if (!IsKnown(end)) return Extend(offset, out);
  }
  auto stream = StartAt(offset);
  if (!stream) return model::Limit("not enough memory for a decompressor");
  NDLFS_RETURN_IF_ERROR(stream->SkipTo(*file_, offset));
  return stream->Inflate(*file_, out);
}

bool InflateReader::IsKnown(uint64_t end) const {
  model::MutexLock lock(mutex_);
  return !kept_.empty() && end <= kept_.back()->position();
}

// A copy of the last stream that is not beyond `offset`.
std::unique_ptr<InflateReader::Stream> InflateReader::StartAt(uint64_t offset) {
  model::MutexLock lock(mutex_);
  const auto after = std::upper_bound(
      kept_.begin(), kept_.end(), offset,
      [](uint64_t position, const auto& stream) { return position < stream->position(); });
  return after == kept_.begin() ? Stream::AtBeginning(range_) : (*(after - 1))->Copy();
}

model::Result<void> InflateReader::Extend(uint64_t offset, ByteSpan out) {
  auto stream = StartAt(offset);
  if (!stream) return model::Limit("not enough memory for a decompressor");
  for (;;) {
    const uint64_t milestone = (stream->position() / spacing_ + 1) * spacing_;
    if (stream->position() < offset) {
      NDLFS_RETURN_IF_ERROR(stream->SkipTo(*file_, std::min(offset, milestone)));
    } else {
      const size_t done = stream->position() - offset;
      const size_t size = std::min<uint64_t>(out.size() - done, milestone - stream->position());
      NDLFS_RETURN_IF_ERROR(stream->Inflate(*file_, out.subspan(done, size)));
    }
    const bool is_end = stream->position() == offset + out.size();
    const bool is_milestone = stream->position() == milestone;
    if (is_end) {
      Keep(std::move(stream), is_milestone);
      return {};
    }
    if (is_milestone) Keep(stream->Copy(), true);
  }
}

// The stream where the last read ended gives way to the next.
void InflateReader::Keep(std::unique_ptr<Stream> stream, bool is_milestone) {
  if (!stream) return;
  std::unique_ptr<Stream> freed_after_unlock;
  model::MutexLock lock(mutex_);
  if (!kept_.empty()) {
    if (stream->position() <= kept_.back()->position()) return;
    if (!last_is_milestone_) {
      freed_after_unlock = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  kept_.push_back(std::move(stream));
  last_is_milestone_ = is_milestone;
}

namespace {

struct KnownReader {
  uint64_t owner;
  uint64_t member;
  std::shared_ptr<InflateReader> reader;
};

// The readers that were used last, the latest first.
struct KnownReaders {
  model::Mutex mutex;
  std::list<KnownReader> readers GUARDED_BY(mutex);
};

KnownReaders& GlobalReaders() {
  static KnownReaders readers;
  return readers;
}

}  // namespace

std::shared_ptr<InflateReader> FindInflateReader(uint64_t owner, uint64_t member,
                                                 const std::shared_ptr<const Store>& file,
                                                 const DeflatedRange& range) {
  std::list<KnownReader> freed_after_unlock;
  KnownReaders& known = GlobalReaders();
  model::MutexLock lock(known.mutex);
  auto& readers = known.readers;
  const auto found = std::find_if(readers.begin(), readers.end(), [&](const auto& reader) {
    return reader.owner == owner && reader.member == member;
  });
  if (found != readers.end()) {
    readers.splice(readers.begin(), readers, found);
  } else {
    readers.push_front({owner, member, std::make_shared<InflateReader>(file, range)});
    if (readers.size() > kMaxReaders) {
      freed_after_unlock.splice(freed_after_unlock.begin(), readers, std::prev(readers.end()));
    }
  }
  return readers.front().reader;
}

void DropInflateReaders(uint64_t owner) {
  std::list<KnownReader> freed_after_unlock;
  KnownReaders& known = GlobalReaders();
  model::MutexLock lock(known.mutex);
  auto& readers = known.readers;
  for (auto reader = readers.begin(); reader != readers.end();) {
    const auto next = std::next(reader);
    if (reader->owner == owner) {
      freed_after_unlock.splice(freed_after_unlock.end(), readers, reader);
    }
    reader = next;
  }
}

}  // namespace ndlfs::backends
