// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_provider.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/container/classic_arrays.h"
#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_elements.h"
#include "fs/view/dap/dap_request.h"
#include "fs/view/dap/dap_text.h"
#include "fs/view/elements/segmented_view.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

enum class Answer { kDds, kDas, kDods };

struct AskedFile {
  Answer answer = Answer::kDds;
  std::string_view constraint = {};
};

// "data.dds" or "data[CONSTRAINT].dods".
std::optional<AskedFile> ParseName(std::string_view name) {
  constexpr std::string_view kStem = "data";
  if (!name.starts_with(kStem)) return std::nullopt;
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  AskedFile out;
  const std::string_view extension = name.substr(dot);
  if (extension == ".das") {
    out.answer = Answer::kDas;
  } else if (extension == ".dods") {
    out.answer = Answer::kDods;
  } else if (extension != ".dds") {
    return std::nullopt;
  }
  const std::string_view brackets = name.substr(kStem.size(), dot - kStem.size());
  if (brackets.empty()) return out;
  if (!brackets.starts_with('[') || !brackets.ends_with(']')) return std::nullopt;
  out.constraint = brackets.substr(1, brackets.size() - 2);
  return out;
}

// An unsigned number of 32 bits, big-endian.
std::string Big32(uint64_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

// The array itself with a reader of all of it; in a group of very many it may have elements
// only.
Result<classic::GroupArray> WithReader(const GroupInput& group, classic::GroupArray array) {
  if (array.input && array.input->reader != nullptr) return array;
  NDLFS_TRY(GroupChild child, group.Load(model::BaseName(array.path)), array.path);
  array.node = std::move(child.node);
  array.input = std::move(child.array);
  return array;
}

// Writes the values of a reply.
class DataWriter {
 public:
  DataWriter(const GroupInput& group, const DapDataset& dataset)
      : group_(group), dataset_(dataset) {}

  Result<void> Add(const DapMember& member) {
    const DapVariable& variable = dataset_.variables[member.variable];
    NDLFS_TRY(const auto part, Cut(variable, member.selection), variable.name);
    uint64_t count = 1;
    for (const IndexRange& range : member.selection) count *= range.count;
    if (count > std::numeric_limits<int32_t>::max()) {
      return model::Limit("{}: {} values in one answer of DAP 2", variable.name, count);
    }
    if (!variable.dimensions.empty()) {
      const std::string length = Big32(count);
      // Arrays of numbers say it twice (section 7.3.2.1).
      segments_.push_back(
          Literal(variable.type == DapType::kString ? length : length + length));
    }
    if (DapTypeOf(part.variable.type) != variable.type || part.elements == nullptr) {
      return model::Internal("{}: a part of another type", variable.name);
    }
    NDLFS_TRY(auto encoded,
              EncodeForDap(part.elements, part.variable.type, variable.string_length));
    segments_.push_back(AllOf(std::move(encoded), model::ByteOrder::kBig));
    return {};
  }
  std::vector<Segment> Take() { return std::move(segments_); }

 private:
  // The selected elements, as one variable. Only their chunks are read.
  Result<ClassicVariable> Cut(const DapVariable& variable, const Selection& selection) {
    NDLFS_TRY(classic::GroupArray array, WithReader(group_, variable.array));
    if (!array.input) return model::NotFound("no values");
    const size_t rank = array.input->shape.size();
    // Dimensions of the elements themselves are not cut.
    for (size_t d = rank; d < selection.size(); ++d) {
      if (selection[d] != WholeRange(variable.dimensions[d].size)) {
        return model::NotFound("elements that are arrays are sent whole");
      }
    }
    const auto count = static_cast<std::ptrdiff_t>(std::min(rank, selection.size()));
    Selection cut(selection.begin(), selection.begin() + count);
    // The letters of a text are no dimension of DAP, but may be one of the array.
    while (cut.size() < rank) cut.push_back(WholeRange(array.input->shape[cut.size()]));
    array.input = MakePart(*array.input, std::move(cut));
    auto described = DescribeAlone(array);
    if (!described) return model::Internal("cannot be described alone");
    return *std::move(described);
  }

  const GroupInput& group_;
  const DapDataset& dataset_;
  std::vector<Segment> segments_ = {};
};

Result<ViewNode> MakeText(std::string text) {
  return MakeSegmentedView({Literal(std::move(text))});
}

}  // namespace

std::optional<ViewName> DapProvider::Find(const GroupInput& group,
                                          std::string_view name) const {
  const auto file = ParseName(name);
  if (!file || !classic::MayHaveArrays(group)) return std::nullopt;
  ViewName out{.name = std::string(name), .is_listed = false};
  if (auto parsed = ParseConstraint(file->constraint); !parsed) out.refusal = parsed.error();
  return out;
}

Result<ViewNode> DapProvider::Make(const GroupInput& group, std::string_view name) const {
  const auto file = ParseName(name);
  if (!file) return model::NotFound("{}", name);
  NDLFS_TRY(const auto projections, ParseConstraint(file->constraint));
  NDLFS_TRY(const DapDataset dataset, DescribeDataset(group));
  if (file->answer == Answer::kDas) return MakeText(WriteDas(dataset));
  NDLFS_TRY(const auto declarations, ResolveConstraint(dataset, projections));
  const std::string dds = WriteDds(dataset, declarations);
  if (file->answer == Answer::kDds) return MakeText(dds);
  DataWriter data(group, dataset);
  for (const DapDeclaration& declaration : declarations) {
    for (const DapMember& member : declaration.members) NDLFS_RETURN_IF_ERROR(data.Add(member));
  }
  std::vector<Segment> segments = data.Take();
  segments.insert(segments.begin(), Literal(dds + "Data:\n"));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace ndlfs::fs
