// SPDX-License-Identifier: MIT
#include "backends/format/ncml/ncml.h"

#include "backends/format/ncml/ncml_reader.h"
#include "backends/format/ndl/ndl.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends {
namespace ncml {
namespace {

class Ncml final : public Format {
 public:
  std::string_view name() const override { return "NcML"; }

  bool ProbeContent(ConstByteSpan head) const override { return LooksLikeNcml(AsText(head)); }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, ".ncml");
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }
  bool describes_others() const override { return true; }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    return OpenDescription(std::move(source), path, options, {name(), ReadNcml});
  }
};

}  // namespace
}  // namespace ncml

const Format& NcmlFormat() {
  static const ncml::Ncml format;
  return format;
}

}  // namespace ndlfs::backends
