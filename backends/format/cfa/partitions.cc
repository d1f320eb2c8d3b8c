// SPDX-License-Identifier: MIT
#include "backends/format/cfa/partitions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/base/checked.h"
#include "backends/base/json.h"
#include "model/file_set.h"

namespace ndlfs::backends::cfa {
namespace {

using model::BadInput;
using model::Result;

// The most values in a JSON text; a partition takes about 20.
constexpr size_t kMostValues = 32 * model::kMaxParts;

std::string TextAt(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

Result<std::vector<std::string>> Texts(const Json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return BadInput("expected a list, found {}", DescribeJson(list));
  for (const Json& item : list) {
    if (!item.is_string()) return BadInput("expected a text, found {}", DescribeJson(item));
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

class PartitionReader {
 public:
  explicit PartitionReader(std::vector<std::string> dimensions) {
    aggregation_.dimensions = std::move(dimensions);
  }

  Result<Aggregation> Read(const Json& array) {
    NDLFS_RETURN_IF_ERROR(ReadMatrix(array));
    base_ = TextAt(array, "base");
    NDLFS_TRY(const Json* partitions, RequireMember(array, "Partitions"));
    if (!partitions->is_array() || partitions->size() != aggregation_.fragments.size()) {
      return BadInput("Partitions: expected a list of {}", aggregation_.fragments.size());
    }
    for (size_t i = 0; i < partitions->size(); ++i) {
      NDLFS_RETURN_IF_ERROR(ReadPartition((*partitions)[i]), fmt::format("Partitions[{}]", i));
    }
    NDLFS_RETURN_IF_ERROR(CheckPlaces());
    return std::move(aggregation_);
  }

 private:
  // How many partitions there are along each dimension.
  Result<void> ReadMatrix(const Json& array) {
    std::vector<uint64_t> counts(aggregation_.dimensions.size(), 1);
    const auto shape = array.find("pmshape");
    if (shape != array.end()) {
      NDLFS_TRY(const auto sizes, JsonToSizes(*shape), "pmshape");
      NDLFS_TRY(const Json* list, RequireMember(array, "pmdimensions"));
      NDLFS_TRY(const auto names, Texts(*list), "pmdimensions");
      if (names.size() != sizes.size()) {
        return BadInput("pmshape and pmdimensions differ in length");
      }
      for (size_t i = 0; i < names.size(); ++i) {
        const auto found = std::ranges::find(aggregation_.dimensions, names[i]);
        if (found == aggregation_.dimensions.end() || sizes[i] == 0) {
          return BadInput("pmdimensions: {} partitions along {}", sizes[i],
                          model::Quote(names[i]));
        }
        matrix_.push_back(static_cast<size_t>(found - aggregation_.dimensions.begin()));
        counts[matrix_.back()] = sizes[i];
      }
    }
    const auto count = CheckedProduct(counts);
    if (!count || *count > model::kMaxParts) return model::Limit("too many partitions");
    for (const uint64_t pieces : counts) aggregation_.sizes.emplace_back(pieces, 0);
    begins_ = aggregation_.sizes;
    aggregation_.fragments.resize(*count);
    return {};
  }

  Result<void> ReadPartition(const Json& partition) {
    for (const auto& [key, value] : partition.items()) {
      if (key == "index" || key == "location" || key == "subarray" || key == "format") continue;
      if (value.is_null()) continue;
      return model::Unsupported("{} is not supported", model::Quote(key));
    }
    NDLFS_TRY(const size_t number, NumberOf(partition));
    NDLFS_TRY(const Json* subarray, RequireMember(partition, "subarray"));
    Fragment& fragment = aggregation_.fragments[number];
    if (!fragment.address.empty()) return BadInput("another partition has the same index");
    fragment.address = TextAt(*subarray, "ncvar");
    if (fragment.address.empty()) return BadInput("subarray: ncvar is missing");
    const std::string file = TextAt(*subarray, "file");
    if (!file.empty()) fragment.file = base_.empty() ? file : base_ + "/" + file;
    return {};
  }

  // Its number in C order. Notes its place, which must be that of all others in the same row.
  Result<size_t> NumberOf(const Json& partition) {
    std::vector<uint64_t> index(aggregation_.dimensions.size());
    if (!matrix_.empty()) {
      NDLFS_TRY(const Json* member, RequireMember(partition, "index"));
      NDLFS_TRY(const auto given, JsonToSizes(*member), "index");
      if (given.size() != matrix_.size()) {
        return BadInput("index: expected {} numbers", matrix_.size());
      }
      for (size_t i = 0; i < given.size(); ++i) index[matrix_[i]] = given[i];
    }
    NDLFS_TRY(const Json* location, RequireMember(partition, "location"));
    if (!location->is_array() || location->size() != index.size()) {
      return BadInput("location: expected {} ranges", index.size());
    }
    size_t number = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const uint64_t count = aggregation_.sizes[d].size();
      if (index[d] >= count) {
        return BadInput("index: {} is out of range, of {} partitions", index[d], count);
      }
      number = number * count + index[d];
      NDLFS_TRY(const auto range, JsonToSizes((*location)[d]), "location");
      if (range.size() != 2 || range[1] < range[0]) {
        return BadInput("location: expected [first, last]");
      }
      uint64_t& size = aggregation_.sizes[d][index[d]];
      uint64_t& begin = begins_[d][index[d]];
      const uint64_t extent = range[1] - range[0] + 1;
      if (size != 0 && (size != extent || begin != range[0])) {
        return BadInput("location: {} to {}, but others of this row begin at {}", range[0],
                        range[1], begin);
      }
      size = extent;
      begin = range[0];
    }
    return number;
  }

  Result<void> CheckPlaces() const {
    for (size_t d = 0; d < begins_.size(); ++d) {
      uint64_t end = 0;
      for (size_t i = 0; i < begins_[d].size(); ++i) {
        if (begins_[d][i] != end) {
          return BadInput(
              "location: a partition begins at {} along {}, the one before ends at {}",
              begins_[d][i], model::Quote(aggregation_.dimensions[d]), end);
        }
        const auto next = CheckedAdd(end, aggregation_.sizes[d][i]);
        if (!next) return model::Limit("location: the array is too large");
        end = *next;
      }
    }
    return {};
  }

  Aggregation aggregation_;
  std::string base_;
  std::vector<size_t> matrix_;  // the dimensions of pmdimensions
  std::vector<std::vector<uint64_t>> begins_;
};

}  // namespace

Result<Aggregation> ReadPartitions(std::string_view text, std::vector<std::string> dimensions) {
  NDLFS_TRY(const Json array, ParseJson(text, kMostValues));
  if (!array.is_object()) return BadInput("expected an object, found {}", DescribeJson(array));
  return PartitionReader(std::move(dimensions)).Read(array);
}

}  // namespace ndlfs::backends::cfa
