// SPDX-License-Identifier: MIT
#include "fs/view/dap/dap4_provider.h"

#include <array>
#include <utility>

#include "fs/view/dap/dap4_data.h"
#include "fs/view/dap/dap4_dataset.h"
#include "fs/view/dap/dap4_text.h"
#include "fs/view/dap/dap_file_name.h"
#include "fs/view/elements/segmented_view.h"

namespace ndlfs::fs {
namespace {

enum Dap4Answer : size_t { kDmr, kDapWithChecksums, kDap };
constexpr std::array<std::string_view, 3> kDap4Extensions = {".dmr", ".checksums.dap", ".dap"};

model::Result<ViewNode> MakeDap4Answer(const GroupInput& group,
                                       const std::vector<Dap4Projection>& projections,
                                       Dap4Answer answer) {
  NDLFS_TRY(const Dap4Dataset dataset, DescribeDap4(group, projections));
  const std::string dmr = WriteDmr(dataset);
  if (answer == kDmr) return MakeSegmentedView({Literal(dmr)});
  NDLFS_TRY(auto segments, MakeDap4Data(group, dataset, dmr,
                                        answer == kDapWithChecksums ? Dap4Checksums::kCrc32
                                                                    : Dap4Checksums::kNone));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace

std::optional<Resolution> Dap4Provider::Resolve(const GroupInput& group,
                                                std::string_view name) const {
  const auto file = ParseDapFileName(name, kDap4Extensions);
  if (!file) return std::nullopt;
  Resolution out{{.name = std::string(name), .is_listed = false}};
  const auto answer = static_cast<Dap4Answer>(file->extension);
  if (auto parsed = ParseDap4Constraint(file->constraint); !parsed) {
    out.refusal = parsed.error();
  } else {
    out.make = [&group, answer, projections = *std::move(parsed)] {
      return MakeDap4Answer(group, projections, answer);
    };
  }
  return out;
}

}  // namespace ndlfs::fs
