// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/netcdf3/layout.h"
#include "fs/view/container/classic_arrays.h"
#include "fs/view/container/classic_group.h"
#include "fs/view/container/views.h"
#include "fs/view/elements/deferred_bytes.h"
#include "fs/view/elements/record_elements.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

using model::Result;

// How many children a listing looks at to find an array among them. A group whose arrays all
// come later has the file, too.
constexpr size_t kLooksOfListing = 32;

// Finding the size of a file takes the metadata of all arrays. Groups with more children have
// the file by name only, so that `ls -l` does not wait for it.
constexpr size_t kMostListed = 1000;

bool IsNetcdfListed(const GroupInput& group) {
  const auto names = group.List();
  return names && names->size() <= kMostListed &&
         classic::HasArrayAmong(group, *names, kLooksOfListing);
}

// If a byte cannot be read, neither can the bytes before it in the same aligned block of 8 KiB.
// The kernel gives a program the pages before the one that fails. netCDF-C reads such blocks,
// and takes a short one for the end of the file: the missing bytes would become zeros without
// an error.
class BlockwiseView final : public View {
 public:
  // Reads `file` as `reader` does, its view for one open file.
  BlockwiseView(ViewPtr file, ViewPtr reader)
      : file_(std::move(file)), reader_(std::move(reader)) {}

  std::optional<uint64_t> size() const override { return file_->size(); }
  uint64_t held_bytes() const override { return file_->held_bytes(); }
  Result<size_t> Read(uint64_t offset, backends::ByteSpan out) const override {
    NDLFS_TRY(const size_t count, reader_->Read(offset, out));
    std::array<std::byte, kBlock> rest;
    const uint64_t end = offset + count;
    const size_t left = (kBlock - end % kBlock) % kBlock;
    NDLFS_RETURN_IF_ERROR(file_->Read(end, std::span(rest).first(left)));
    return count;
  }
  std::shared_ptr<const View> ForReader(cache::Prefetcher& prefetcher) const override {
    auto reader = file_->ForReader(prefetcher);
    return reader ? std::make_shared<const BlockwiseView>(file_, std::move(reader)) : nullptr;
  }
  Result<std::optional<ReadCost>> FindCost() const override { return file_->FindCost(); }

 private:
  static constexpr uint64_t kBlock = backends::netcdf3::kReadBlock;
  const ViewPtr file_;
  const ViewPtr reader_;
};

// Whether integers of 64 bits are doubles, which is known when somebody reads the file.
using AreDoubles = Deferred<bool>;

// Values in two forms of the same size. One of the forms is in the file.
class EitherValues final : public ElementSource {
 public:
  EitherValues(std::shared_ptr<const AreDoubles> are_doubles,
               std::shared_ptr<const ElementSource> doubles,
               std::shared_ptr<const ElementSource> integers)
      : are_doubles_(std::move(are_doubles)),
        doubles_(std::move(doubles)),
        integers_(std::move(integers)) {}

  uint64_t size() const override { return doubles_->size(); }
  Result<void> Read(uint64_t offset, backends::ByteSpan out, model::ByteOrder order,
                    cache::ReadHint hint) const override {
    NDLFS_TRY(const auto are_doubles, are_doubles_->Get());
    return (*are_doubles ? doubles_ : integers_)->Read(offset, out, order, hint);
  }
  Result<void> VisitChunks(const ChunkVisitor& visit) const override {
    return integers_->VisitChunks(visit);
  }
  std::unique_ptr<ReadTracker> TrackReader(cache::Prefetcher& prefetcher) const override {
    return integers_->TrackReader(prefetcher);
  }

 private:
  const std::shared_ptr<const AreDoubles> are_doubles_;
  const std::shared_ptr<const ElementSource> doubles_;
  const std::shared_ptr<const ElementSource> integers_;
};

// Values that cannot be read are no doubles: their error belongs to them, and not to the
// header.
std::shared_ptr<const AreDoubles> LookLater(std::vector<classic::WideValues> wide) {
  return std::make_shared<const AreDoubles>([wide = std::move(wide)]() -> Result<bool> {
    auto found = classic::AreDoubles(wide);
    if (!found && !found.error().is_transient()) return false;
    return found;
  });
}

// Where the values begin, or the file ends.
uint64_t EndOfFirstPart(const backends::netcdf3::Header& header) {
  uint64_t end = header.file_bytes;
  for (const backends::netcdf3::Variable& variable : header.variables) {
    end = std::min(end, variable.begin);
  }
  return std::max(end, header.header_bytes);
}

// Lays out the file, and returns its header. Where that depends on values, they are read when
// it is read; values that do are then one of two forms.
Result<Segment> LayOutContent(classic::Content& content) {
  if (!content.cdf5_header) {
    NDLFS_TRY(std::string text, backends::netcdf3::LayOut(content.header));
    return Literal(std::move(text));
  }
  backends::netcdf3::Header& cdf5 = *content.cdf5_header;
  NDLFS_TRY(std::string wide_text, backends::netcdf3::LayOut(cdf5, 0, 5));
  NDLFS_TRY(std::string text, backends::netcdf3::LayOut(content.header, cdf5.header_bytes));
  // The longer header says where the values of both forms are.
  if (content.header.header_bytes > cdf5.header_bytes && content.header.version != 5) {
    NDLFS_TRY(wide_text, backends::netcdf3::LayOut(cdf5, content.header.header_bytes, 5));
  }
  if (content.header.version == 5) {  // it is too large for others
    content.header = cdf5;
    content.elements = content.cdf5_elements;
    return Literal(std::move(wide_text));
  }
  const auto are_doubles = LookLater(std::move(content.wide));
  for (size_t i = 0; i < content.elements.size(); ++i) {
    if (content.elements[i] == content.cdf5_elements[i]) continue;
    content.elements[i] = std::make_shared<const EitherValues>(are_doubles, content.elements[i],
                                                               content.cdf5_elements[i]);
  }
  const uint64_t size = EndOfFirstPart(content.header);
  text.resize(size, '\0');
  wide_text.resize(size, '\0');
  const uint64_t held = 2 * size;
  return MakeComputedBytes(
      size,
      [are_doubles, text = std::make_shared<const std::string>(std::move(text)),
       wide_text = std::make_shared<const std::string>(std::move(wide_text))](
          uint64_t offset, backends::ByteSpan out) -> Result<void> {
        NDLFS_TRY(const auto is_classic, are_doubles->Get());
        std::memcpy(out.data(), (*is_classic ? text : wide_text)->data() + offset, out.size());
        return {};
      },
      held);
}

// The values of all variables, record by record. Null where there are none.
Result<std::shared_ptr<const ElementSource>> RecordsOf(const classic::Content& content) {
  const backends::netcdf3::Header& header = content.header;
  std::vector<RecordPart> parts;
  std::optional<uint64_t> begin;
  for (size_t i = 0; i < content.arrays.size(); ++i) {
    const backends::netcdf3::Variable& variable = header.variables[i];
    if (!variable.is_record) continue;
    if (!begin) begin = variable.begin;
    parts.push_back({content.elements[i], variable.begin - *begin, variable.bytes});
  }
  return MakeRecords(std::move(parts), header.record_stride, header.record_count);
}

uint64_t SizeOfSegment(const Segment& segment) {
  return std::visit([](const auto& part) { return part.size; }, segment);
}

Result<ViewNode> MakeNetcdfFile(const GroupInput& group) {
  classic::ContentBuilder builder;
  NDLFS_RETURN_IF_ERROR(classic::VisitArrays(
      group, [&](const classic::GroupArray& array) { builder.Add(array); }));
  classic::Content content = builder.Build(group.node().attributes());
  NDLFS_TRY(Segment first, LayOutContent(content));
  const backends::netcdf3::Header& header = content.header;
  uint64_t end = SizeOfSegment(first);
  std::vector<Segment> segments;
  segments.reserve(2 * content.arrays.size() + 3);
  segments.push_back(std::move(first));
  for (size_t i = 0; i < content.arrays.size(); ++i) {
    const backends::netcdf3::Variable& variable = header.variables[i];
    if (variable.is_record) continue;
    if (content.elements[i]->size() != variable.bytes) {
      return model::Internal("{}: {} bytes of elements, {} of values", variable.name,
                             content.elements[i]->size(), variable.bytes);
    }
    segments.push_back(Zeros{variable.begin - end});
    segments.push_back(AllOf(content.elements[i], model::ByteOrder::kBig));
    end = variable.begin + variable.bytes;
  }
  NDLFS_TRY(auto records, RecordsOf(content));
  const uint64_t record_bytes = records ? records->size() : 0;
  segments.push_back(Zeros{header.file_bytes - record_bytes - end});
  if (records) segments.push_back(AllOf(std::move(records), model::ByteOrder::kBig));
  NDLFS_TRY(const ViewPtr file, MakeSegmentedView(std::move(segments)));
  return std::make_shared<const BlockwiseView>(file, file);
}

}  // namespace

const GroupViewKind kNetcdfView = {
    .file_name = "data.nc",
    .description = "netCDF classic: the arrays of this group",
    .applies_to = &classic::MayHaveArrays,
    .is_listed = &IsNetcdfListed,
    .make = &MakeNetcdfFile,
};

}  // namespace ndlfs::fs
