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

}  // namespace

std::optional<ViewName> Dap4Provider::Find(const GroupInput&, std::string_view name) const {
  const auto file = ParseDapFileName(name, kDap4Extensions);
  if (!file) return std::nullopt;
  ViewName out{.name = std::string(name), .is_listed = false};
  if (auto parsed = ParseDap4Constraint(file->constraint); !parsed) {
    out.refusal = parsed.error();
  }
  return out;
}

model::Result<ViewNode> Dap4Provider::Make(const GroupInput& group,
                                           std::string_view name) const {
  const auto file = ParseDapFileName(name, kDap4Extensions);
  if (!file) return model::NotFound("{}", name);
  NDLFS_TRY(const auto projections, ParseDap4Constraint(file->constraint));
  NDLFS_TRY(const Dap4Dataset dataset, DescribeDap4(group, projections));
  const std::string dmr = WriteDmr(dataset);
  if (file->extension == kDmr) return MakeSegmentedView({Literal(dmr)});
  NDLFS_TRY(auto segments,
            MakeDap4Data(group, dataset, dmr,
                         file->extension == kDapWithChecksums ? Dap4Checksums::kCrc32
                                                              : Dap4Checksums::kNone));
  return MakeSegmentedView(std::move(segments));
}

}  // namespace ndlfs::fs
