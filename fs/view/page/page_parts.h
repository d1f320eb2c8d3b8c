// SPDX-License-Identifier: MIT
//
// Parts that index.html of arrays and of groups share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/view/base/view_input.h"
#include "fs/view/base/view_provider.h"
#include "fs/view/elements/segmented_view.h"
#include "model/entities.h"
#include "model/error.h"

namespace ndlfs::fs {

// The contents of a page, from its beginning to its end.
class PageWriter {
 public:
  explicit PageWriter(std::string_view title);
  void Add(std::string_view html) { text_ += html; }
  // Text that is made when it is read.
  void Add(Elements html);
  model::Result<ViewPtr> Finish() &&;

 private:
  void EndText();

  std::string text_;
  std::vector<Segment> segments_;
};

// The relative URL of the folder of the object at the path name `to`, for the page of the
// object at `from`. It ends in '/'.
std::string UrlOfFolder(std::string_view from, std::string_view to);
// The way from the top of the mount to the object at `path`, as links; `place` may be null.
std::string Breadcrumbs(const StorePlace* place, std::string_view path);

// "time 365 × lat 180", or "scalar".
std::string ShapeHtml(const ArrayInput& array);
// "2 metre temperature (K)", by the conventions of CF; empty if no attribute says it.
std::string DescriptionOf(const std::vector<model::Attribute>& attributes);
// A section with a table of the attributes, the best known first. Long values are folded, and
// those of more than 16 KiB are cut. Empty if there are no attributes.
std::string AttributesHtml(const std::vector<model::Attribute>& attributes);
// A section with a link to each of the files that exists; those that no listing shows follow
// in a table of their own.
std::string FilesHtml(std::span<const ViewName> files);

// The first and the last of some coordinates, which are decoded when the text is read; dates if
// they are times. If a chunk is corrupt, the text says so. nullopt for coordinates without
// text, and for those in chunks of more than 64 MiB.
std::optional<Elements> CoordinateRange(const ArrayInput& coordinates);

// A dimension of some arrays.
struct PageDimension {
  std::string name;
  uint64_t size = 0;
  std::optional<ArrayInput> coordinates = {};
  bool operator==(const PageDimension& other) const {
    return name == other.name && size == other.size &&
           coordinates.has_value() == other.coordinates.has_value() &&
           (!coordinates || PathOf(*coordinates) == PathOf(*other.coordinates));
  }
};
// The dimensions of `array` that have names. Loads coordinates. Every error is transient.
model::Result<std::vector<PageDimension>> DimensionsOf(const ArrayInput& array);
// A section with a table of dimensions, for the page of the object at `path`.
void AddDimensions(std::span<const PageDimension> dimensions, std::string_view path,
                   PageWriter& page);

}  // namespace ndlfs::fs
