// SPDX-License-Identifier: MIT
#include "cache/array_scan.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "backends/base/element_stream.h"
#include "backends/store/request_context.h"
#include "model/mutex.h"

namespace ndlfs::cache {
namespace {

using backends::Bytes;
using backends::ChunkGrid;
using backends::ConstByteSpan;
using backends::ElementTable;
using model::Result;
using Coordinates = std::vector<uint64_t>;

// Threads that scans of this process have started and that still run.
std::atomic<unsigned> all_helpers{0};

// Elements that lie in a file as they are come in pieces of this size.
constexpr uint64_t kScannedBytes = uint64_t{1} << 20;

// Where a chunk lies in its array.
struct ChunkPlace {
  ChunkPlace(const ChunkGrid& grid, uint64_t chunk)
      : begin(grid.rank()), extent(grid.rank()), count(grid.rank()) {
    for (size_t d = grid.rank(); d-- > 0; chunk /= grid.counts()[d]) {
      const uint64_t index = chunk % grid.counts()[d];
      begin[d] = grid.Begin(d, index);
      extent[d] = grid.Extent(d, index);
      count[d] = std::min(extent[d], grid.array_shape()[d] - begin[d]);
    }
  }
  uint64_t elements() const {
    uint64_t product = 1;
    for (const uint64_t size : extent) product *= size;
    return product;
  }

  Coordinates begin;   // of its first element
  Coordinates extent;  // as decoded
  Coordinates count;   // of it in the array
};

class Scan {
 public:
  Scan(const ArrayReader& reader, const VisitRun& visit)
      : reader_(reader),
        visit_(visit),
        in_pieces_(!reader.has_chunks()),
        parts_(CountParts(reader, in_pieces_)) {}

  Result<void> Run(unsigned threads) {
    const bool is_small = parts_ < 2 || reader_.element_count() < kFewElements;
    std::vector<std::thread> helpers;
    while (!is_small && helpers.size() + 1 < threads && helpers.size() + 1 < parts_) {
      if (!StartHelper(threads - 1, helpers)) break;
    }
    Work();
    for (std::thread& helper : helpers) helper.join();
    const model::MutexLock lock(mutex_);
    if (error_) return model::Propagate(*error_);
    return {};
  }

 private:
  static constexpr uint64_t kFewElements = 20'000;

  static uint64_t CountParts(const ArrayReader& reader, bool in_pieces) {
    if (reader.element_count() == 0) return 0;
    if (!in_pieces) return reader.chunk_count();
    const uint64_t each = PieceElements(reader);
    return reader.element_count() / each + (reader.element_count() % each != 0);
  }
  static uint64_t PieceElements(const ArrayReader& reader) {
    return std::max<uint64_t>(1,
                              kScannedBytes / std::max<size_t>(1, reader.spec().dtype.size()));
  }

  // False where there are enough, or the system has none.
  bool StartHelper(unsigned most, std::vector<std::thread>& helpers) {
    if (all_helpers.fetch_add(1) >= most) {
      --all_helpers;
      return false;
    }
    try {
      helpers.emplace_back([this, context = backends::RequestContext::Current()] {
        const backends::RequestContext::Scope scope(context);
        Work();
        --all_helpers;
      });
    } catch (const std::exception&) {
      --all_helpers;
      return false;
    }
    return true;
  }

  // Takes part after part until there is none, or one has failed.
  void Work() {
    for (uint64_t part; !stopped_ && (part = next_++) < parts_;) {
      const Result<void> done = RunGuarded(part);
      if (done) continue;
      const model::MutexLock lock(mutex_);
      if (!error_) error_ = done.error();
      stopped_ = true;
    }
  }

  // Nothing may be thrown out of a thread.
  Result<void> RunGuarded(uint64_t part) {
    try {
      NDLFS_RETURN_IF_ERROR(backends::CancellationScope::Check());
      return in_pieces_ ? RunPiece(part) : RunChunk(part);
    } catch (const std::bad_alloc&) {
      return model::IoError(ENOMEM, "looking through an array");
    } catch (const std::exception& exception) {
      return model::Internal("{}", exception.what());
    }
  }

  Result<void> RunPiece(uint64_t piece) {
    const uint64_t item = reader_.spec().dtype.size();
    const uint64_t first = piece * PieceElements(reader_);
    const uint64_t count = std::min(PieceElements(reader_), reader_.element_count() - first);
    Bytes buffer(count * item);
    NDLFS_RETURN_IF_ERROR(reader_.Read(first * item, buffer.span()));
    NDLFS_TRY(const auto elements,
              ChunkElements::Make(reader_.spec(), std::as_const(buffer).span(), count));
    return visit_({first, count, elements, 0});
  }

  Result<void> RunChunk(uint64_t chunk) {
    const bool is_guest =
        scanned_bytes_ > reader_.cache_budget() / 4 && reader_.Prefetch(chunk);
    NDLFS_TRY(const ChunkCache::Handle block, reader_.Load(chunk));
    scanned_bytes_ += block->size();
    const ChunkPlace place(reader_.spec().grid, chunk);
    const auto elements = ChunkElements::Make(reader_.spec(), block->span(), place.elements());
    Result<void> visited;
    if (elements) {
      visited = VisitRows(place, *elements);
    } else {
      visited = model::Propagate(elements.error());
    }
    if (is_guest) reader_.Retire(chunk);
    return visited.map_error([&](model::Error error) {
      return std::move(error).In("chunk " + reader_.ChunkName(chunk));
    });
  }

  // Row by row: that is as far as elements of a chunk follow each other in the
  // array.
  Result<void> VisitRows(const ChunkPlace& place, const ChunkElements& elements) const {
    const Coordinates& shape = reader_.spec().shape;
    const uint64_t row = shape.empty() ? 1 : place.count.back();
    Coordinates at(shape.size());  // in the chunk
    do {
      uint64_t first = 0;
      uint64_t within = 0;
      for (size_t d = 0; d < shape.size(); ++d) {
        first = first * shape[d] + place.begin[d] + at[d];
        within = within * place.extent[d] + at[d];
      }
      NDLFS_RETURN_IF_ERROR(visit_({first, row, elements, within}));
    } while (!stopped_ && NextRow(at, place.count));
    return {};
  }

  static bool NextRow(Coordinates& at, const Coordinates& count) {
    for (size_t d = at.size(); d-- > 1;) {
      if (++at[d - 1] < count[d - 1]) return true;
      at[d - 1] = 0;
    }
    return false;
  }

  const ArrayReader& reader_;
  const VisitRun& visit_;
  const bool in_pieces_;
  const uint64_t parts_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> scanned_bytes_{0};
  std::atomic<bool> stopped_{false};
  model::Mutex mutex_;
  std::optional<model::Error> error_ GUARDED_BY(mutex_);
};

}  // namespace

ChunkElements::ChunkElements(const backends::ArraySpec& spec, ConstByteSpan chunk)
    : chunk_(chunk), size_(spec.dtype.size()), absent_(chunk.empty()) {
  if (!absent_) return;
  fill_ = spec.fill.empty() ? backends::ZeroElement(spec.dtype) : spec.fill;
  if (spec.dtype.is_fixed_size()) fill_.resize(size_);
}

Result<ChunkElements> ChunkElements::Make(const backends::ArraySpec& spec, ConstByteSpan chunk,
                                          uint64_t count) {
  ChunkElements elements(spec, chunk);
  if (!elements.absent_ && !spec.dtype.is_fixed_size()) {
    NDLFS_TRY(elements.table_, ElementTable::Make(chunk, count));
  }
  return elements;
}

ConstByteSpan ChunkElements::operator[](uint64_t i) const {
  if (absent_) return fill_;
  return table_ ? (*table_)[i] : chunk_.subspan(i * size_, size_);
}

Result<void> ScanArray(const ArrayReader& reader, unsigned threads, const VisitRun& visit) {
  return Scan(reader, visit).Run(threads);
}

}  // namespace ndlfs::cache
