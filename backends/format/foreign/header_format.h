// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/format.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// How headers of one format are recognized and read.
struct HeaderReader {
  using Extensions = std::array<std::string_view, 2>;  // as many as have a name

  std::string_view name;
  Extensions extensions = {};
  // Files with these are such headers without doubt.
  Extensions certain_extensions = {};
  // Whether a file that begins with `head` is one under any name; null: never.
  bool (*is_content)(std::string_view head) = nullptr;
  // Whether a file with such a name that begins with `head` is one; null: as is_content.
  bool (*is_header)(std::string_view head) = nullptr;
  // Whether the whole of `file` is a header of this format, after its beginning was; null: yes.
  model::Result<bool> (*confirm)(std::string_view name, const Store& file) = nullptr;
  // Adds what the header describes to `contents`, which has nothing yet.
  model::Result<void> (*read)(const HeaderFile& header, Contents& contents) = nullptr;
};

// Each is in the file of its name.
extern const HeaderReader kNrrd, kMetaImage, kEnvi, kGrads, kBov, kFits, kNifti, kMitgcm;

class HeaderFormat final : public Format {
 public:
  // `reader` outlives the format.
  explicit HeaderFormat(const HeaderReader& reader) : reader_(reader) {}

  std::string_view name() const override { return reader_.name; }
  bool ProbeContent(ConstByteSpan head) const override;
  bool MatchesFileName(std::string_view name) const override;
  bool ProbeFile(std::string_view name, ConstByteSpan head) const override;
  model::Result<bool> ConfirmFile(std::string_view name, const Store& file) const override;
  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override;

 private:
  const HeaderReader& reader_;
};

}  // namespace ndlfs::backends::foreign
