// SPDX-License-Identifier: MIT
#include "backends/format/grib/indexer.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "backends/base/bytes.h"
#include "backends/format/grib/local_names.h"

namespace ndlfs::backends::grib {
namespace {

using model::Result;

constexpr size_t kMostFields = 2'000'000;
constexpr size_t kMostProblems = 100;
// Grids have some hundred bytes, and reduced ones some thousand.
constexpr uint64_t kMostGridBytes = uint64_t{64} << 20;

std::string_view SectionOf(const GribGrid* grid) {
  return grid != nullptr && grid->section ? AsText(*grid->section) : std::string_view();
}

}  // namespace

Result<void> Indexer::Add(const GribMessage& message) {
  if (!has_message_) {
    has_message_ = true;
    index_.edition = message.edition;
    index_.centre = message.centre;
    index_.subcentre = message.subcentre;
  }
  if (message.edition != index_.edition) index_.is_one_edition = false;
  if (message.centre != index_.centre) index_.is_one_centre = false;
  for (size_t i = 0; i < message.fields.size(); ++i) {
    NDLFS_RETURN_IF_ERROR(AddField(message.offset, message.size, static_cast<uint32_t>(i),
                                   DescribeField(message, message.fields[i])));
  }
  return {};
}

Result<void> Indexer::AddExpected(uint64_t offset, uint64_t size, uint32_t field,
                                  std::shared_ptr<const FieldHeader> expected) {
  NDLFS_RETURN_IF_ERROR(AddField(offset, size, field, *expected));
  index_.fields.back().expected = std::move(expected);
  return {};
}

void Indexer::AddProblem(uint64_t offset, const std::string& text) {
  if (index_.problems.size() == kMostProblems) index_.problems.emplace_back("and more");
  if (index_.problems.size() > kMostProblems) return;
  index_.problems.push_back(fmt::format("the message at byte {}: {}", offset, text));
}

Result<void> Indexer::AddField(uint64_t offset, uint64_t size, uint32_t field,
                               const FieldHeader& header) {
  if (index_.fields.size() == kMostFields) {
    return model::Limit("more than {} messages", kMostFields);
  }
  IndexedField indexed;
  NDLFS_TRY(indexed.grid, NumberOf(header));
  indexed.offset = offset;
  indexed.size = size;
  indexed.field = field;
  indexed.is_wide = header.is_wide;
  indexed.is_known = header.is_known;
  indexed.product = header.product;
  ShareQuestion(indexed.product.parameter);
  index_.fields.push_back(std::move(indexed));
  return {};
}

void Indexer::ShareQuestion(ParameterKey& key) {
  if (key.question == nullptr) return;
  const auto known = questions_.find(*key.question);
  if (known != questions_.end()) {
    key.question = known->second;
  } else if (questions_.size() < kMostNames) {
    questions_.emplace(*key.question, key.question);
  } else {
    key.question = nullptr;
  }
}

Result<uint32_t> Indexer::NumberOf(const FieldHeader& header) {
  const GribGrid* grid = header.grid.get();
  // Most messages have the grid of the one before.
  if (!index_.fields.empty()) {
    const uint32_t last = index_.fields.back().grid;
    const IndexedGrid& known = index_.grids[last];
    if (known.points == header.points && IsSameGrid(known.grid.get(), grid)) return last;
  }
  std::string key = fmt::format("{} {} ", grid ? grid->edition : 0, header.points);
  key += SectionOf(grid);
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  grid_bytes_ += key.size();
  if (grid_bytes_ > kMostGridBytes) {
    return model::Limit("more than {} bytes of different grids", kMostGridBytes);
  }
  const auto number = static_cast<uint32_t>(index_.grids.size());
  index_.grids.push_back({header.grid, header.points});
  numbers_.emplace(std::move(key), number);
  return number;
}

}  // namespace ndlfs::backends::grib
