// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap_provider.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "fs/view/base/array_part.h"
#include "fs/view/container/classic_arrays.h"
#include "fs/view/dap/dap_ascii.h"
#include "fs/view/dap/dap_dataset.h"
#include "fs/view/dap/dap_elements.h"
#include "fs/view/dap/dap_file_name.h"
#include "fs/view/dap/dap_request.h"
#include "fs/view/dap/dap_text.h"
#include "fs/view/elements/segmented_view.h"
#include "model/path_name.h"

namespace ndlfs::fs {
namespace {

using model::Result;

enum DapAnswer : size_t { kDds, kDas, kDods, kAscii };
constexpr std::array<std::string_view, 4> kDapExtensions = {".dds", ".das", ".dods", ".ascii"};

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

// The selected elements, as one variable. Only their chunks are read.
Result<ClassicVariable> Cut(const GroupInput& group, const DapVariable& variable,
                            const Selection& selection) {
  NDLFS_TRY(classic::GroupArray array, WithReader(group, variable.array));
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
  if (DapTypeOf(described->variable.type) != variable.type || described->elements == nullptr) {
    return model::Internal("a part of another type");
  }
  return *std::move(described);
}

// The values of one member, with their length before them.
Result<void> AddValues(const DapVariable& variable, uint64_t count, const ClassicVariable& part,
                       std::vector<Segment>& segments) {
  if (count > std::numeric_limits<int32_t>::max()) {
    return model::Limit("{}: {} values in one answer of DAP 2", variable.name, count);
  }
  if (!variable.dimensions.empty()) {
    const std::string length = Big32(count);
    // Arrays of numbers say it twice (section 7.3.2.1).
    segments.push_back(Literal(variable.type == DapType::kString ? length : length + length));
  }
  NDLFS_TRY(auto encoded,
            EncodeForDap(part.elements, part.variable.type, variable.string_length));
  segments.push_back(AllOf(std::move(encoded), model::ByteOrder::kBig));
  return {};
}

Result<ViewNode> MakeData(const GroupInput& group, const DapDataset& dataset,
                          const std::vector<DapDeclaration>& declarations, std::string dds,
                          DapAnswer answer) {
  std::vector<Segment> segments = {Literal(dds + "Data:\n")};
  std::vector<DapTable> tables;
  for (const DapDeclaration& declaration : declarations) {
    for (const DapMember& member : declaration.members) {
      const DapVariable& variable = dataset.variables[member.variable];
      NDLFS_TRY(ClassicVariable part, Cut(group, variable, member.selection), variable.name);
      const std::vector<uint64_t> shape = ShapeOf(member.selection);
      if (answer == kAscii) {
        std::string name = variable.name;
        if (declaration.kind != DapDeclaration::Kind::kArray) {
          name = dataset.variables[declaration.variable].name + '.' + name;
        }
        tables.push_back({std::move(name), shape, std::move(part), variable.string_length});
        continue;
      }
      uint64_t count = 1;
      for (const uint64_t extent : shape) count *= extent;
      NDLFS_RETURN_IF_ERROR(AddValues(variable, count, part, segments));
    }
  }
  if (answer == kAscii) return MakeDapAscii(std::move(dds), std::move(tables));
  return MakeSegmentedView(std::move(segments));
}

Result<ViewNode> MakeText(std::string text) {
  return MakeSegmentedView({Literal(std::move(text))});
}

Result<ViewNode> MakeAnswer(const GroupInput& group,
                            const std::vector<DapProjection>& projections, DapAnswer answer) {
  NDLFS_TRY(const DapDataset dataset, DescribeDataset(group));
  if (answer == kDas) return MakeText(WriteDas(dataset));
  NDLFS_TRY(const auto declarations, ResolveConstraint(dataset, projections));
  std::string dds = WriteDds(dataset, declarations);
  if (answer == kDds) return MakeText(std::move(dds));
  return MakeData(group, dataset, declarations, std::move(dds), answer);
}

}  // namespace

std::optional<Resolution> DapProvider::Resolve(const GroupInput& group,
                                               std::string_view name) const {
  const auto file = ParseDapFileName(name, kDapExtensions);
  if (!file || !classic::MayHaveArrays(group)) return std::nullopt;
  Resolution out{{.name = std::string(name), .is_listed = false}};
  const auto answer = static_cast<DapAnswer>(file->extension);
  if (auto parsed = ParseConstraint(file->constraint); !parsed) {
    out.refusal = parsed.error();
  } else {
    out.make = [&group, answer, projections = *std::move(parsed)] {
      return MakeAnswer(group, projections, answer);
    };
  }
  return out;
}

}  // namespace ndlfs::fs
