// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "backends/format/foreign/contents.h"
#include "backends/format/foreign/data_files.h"
#include "backends/format/format.h"
#include "model/error.h"

namespace ndlfs::backends::foreign {

// How headers of one format are recognized and read.
struct HeaderReader {
  std::string_view name;
  std::span<const std::string_view> extensions = {};
  // Files with these are such headers without doubt.
  std::span<const std::string_view> certain_extensions = {};
  // Whether a file that begins with `head` is one under any name; null: never.
  bool (*is_content)(std::string_view head) = nullptr;
  // Whether a file with such a name that begins with `head` is one; null: as is_content.
  bool (*is_header)(std::string_view head) = nullptr;
  // Whether `file` is one by all of it; null: yes.
  model::Result<bool> (*confirm)(std::string_view name, const Store& file) = nullptr;
  model::Result<Contents> (*read)(const HeaderFile& header) = nullptr;
};

class HeaderFormat final : public Format {
 public:
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
  const HeaderReader reader_;
};

}  // namespace ndlfs::backends::foreign
