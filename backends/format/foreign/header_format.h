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
  using Extensions = std::array<std::string_view, 2>;  // unused ones are empty

  std::string_view name;
  Extensions extensions = {};
  // Files with these extensions are headers of this format without doubt.
  Extensions certain_extensions = {};
  // Whether a file that begins with `head` is such a header, whatever its name; null: never.
  bool (*is_content)(std::string_view head) = nullptr;
  // Whether a file with such a name that begins with `head` is such a header; null: as
  // is_content.
  bool (*is_header)(std::string_view head) = nullptr;
  // Whether `file`, read as a whole, is such a header. Called only after one of the functions
  // above has returned true. Null: it is.
  model::Result<bool> (*confirm)(std::string_view name, const Store& file) = nullptr;
  // Adds the contents that the header describes to `contents`, which is empty.
  model::Result<void> (*read)(const HeaderFile& header, Contents& contents) = nullptr;
};

// Each is defined in the file of its name.
extern const HeaderReader kNrrd, kMetaImage, kEnvi, kGrads, kBov, kFits, kNifti, kMitgcm;

class HeaderFormat final : public Format {
 public:
  // `reader` must outlive the format.
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
