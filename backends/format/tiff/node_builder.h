// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/format/hierarchy.h"
#include "backends/format/tiff/series.h"
#include "backends/format/tiff/tiff_source.h"

namespace ndlfs::backends::tiff {

// Objects by their path names.
using Nodes = std::map<std::string, std::shared_ptr<const Node>, std::less<>>;

// Makes the objects of a file: arrays "image", "mask" and "overviews/1" ... of the first
// picture, "image_2" ... of others, their coordinates and reference systems, and the time.
// Fails only if the file cannot be read now.
model::Result<Nodes> MakeNodes(TiffReader& reader, const std::vector<Series>& series,
                               std::string_view file_name, const OpenFileOf& open_other,
                               const OpenOptions& options);

}  // namespace ndlfs::backends::tiff
