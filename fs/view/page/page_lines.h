// SPDX-License-Identifier: MIT
//
// Lines of code with which other programs open the files of an array or of a group.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/base/view_provider.h"
#include "fs/view/page/page_parts.h"

namespace ndlfs::fs {

// The field of work that an array or a group comes from. It decides which programs are named.
enum class PageField : uint8_t {
  kGeneral,
  kEarth,  // it has places on the earth, or follows the conventions of CF
  kImage,  // of a microscope
};

// `is_image`: it is an image of OME, or a level of one.
PageField FieldOf(std::span<const PageDimension> dimensions,
                  const std::vector<model::Attribute>& attributes, bool is_image);

// Whether `files` has one of this name that can be read.
bool HasFile(std::span<const ViewName> files, std::string_view name);

// A section with such lines, for the files in `files` that the programs can open. `folder` is
// the absolute path of the folder of the array or group in a mount; if it is empty, the lines
// name files of the working directory.
std::string ArrayLinesHtml(const ArrayInput& array, std::span<const ViewName> files,
                           std::string_view folder, PageField field);
std::string GroupLinesHtml(std::span<const ViewName> files, std::string_view folder,
                           PageField field);

}  // namespace ndlfs::fs
