// SPDX-License-Identifier: MIT
#include "backends/format/foreign/header_format.h"

#include <algorithm>
#include <utility>

#include "backends/format/foreign/foreign.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends {
namespace foreign {

using model::Result;

namespace {

bool HasAny(std::string_view name, const HeaderReader::Extensions& extensions) {
  return std::ranges::any_of(extensions, [&](std::string_view extension) {
    return !extension.empty() && HasExtension(name, extension);
  });
}

template <const HeaderReader& kReader>
const Format& FormatOf() {
  static const HeaderFormat format(kReader);
  return format;
}

}  // namespace

bool HeaderFormat::ProbeContent(ConstByteSpan head) const {
  return reader_.is_content != nullptr && reader_.is_content(AsText(head));
}

bool HeaderFormat::MatchesFileName(std::string_view name) const {
  return HasAny(name, reader_.extensions) || HasAny(name, reader_.certain_extensions);
}

bool HeaderFormat::ProbeFile(std::string_view name, ConstByteSpan head) const {
  if (HasAny(name, reader_.certain_extensions)) return true;
  const auto is_header = reader_.is_header ? reader_.is_header : reader_.is_content;
  return is_header(AsText(head));
}

Result<bool> HeaderFormat::ConfirmFile(std::string_view name, const Store& file) const {
  if (reader_.confirm == nullptr) return true;
  return reader_.confirm(name, file);
}

Result<std::shared_ptr<const Hierarchy>> HeaderFormat::Open(
    std::shared_ptr<const Source> source, const std::string& path,
    const OpenOptions& options) const {
  const auto store = source->OpenFile(path);
  Contents contents(store);
  NDLFS_RETURN_IF_ERROR(reader_.read({std::move(source), path, store, options}, contents),
                        store->Describe(""));
  return std::move(contents).MakeHierarchy(reader_.name);
}

}  // namespace foreign

const Format& NrrdFormat() { return foreign::FormatOf<foreign::kNrrd>(); }
const Format& MetaImageFormat() { return foreign::FormatOf<foreign::kMetaImage>(); }
const Format& EnviFormat() { return foreign::FormatOf<foreign::kEnvi>(); }
const Format& GradsFormat() { return foreign::FormatOf<foreign::kGrads>(); }
const Format& BovFormat() { return foreign::FormatOf<foreign::kBov>(); }
const Format& FitsFormat() { return foreign::FormatOf<foreign::kFits>(); }
const Format& NiftiFormat() { return foreign::FormatOf<foreign::kNifti>(); }
const Format& MitgcmFormat() { return foreign::FormatOf<foreign::kMitgcm>(); }

}  // namespace ndlfs::backends
