// SPDX-License-Identifier: MIT
//
// Lists of digests as sha256sum writes and reads them: "DIGEST  NAME".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"

namespace ndlfs::fs {

struct ManifestLine {
  std::string name;
  std::string digest;  // 64 hexadecimal digits
};

// With line break. A name with line breaks or backslashes is escaped as sha256sum does it.
std::string WriteManifestLine(const ManifestLine& line);

// kBadInput for other text; the error has the number of the line.
model::Result<std::vector<ManifestLine>> ParseManifest(std::string_view text);

// Reads a file of at most 256 MiB.
model::Result<std::vector<ManifestLine>> ReadManifest(const std::string& file);
// Replaces the file at once, or leaves it as it is.
model::Result<void> WriteManifest(const std::string& file,
                                  const std::vector<ManifestLine>& lines);

}  // namespace ndlfs::fs
