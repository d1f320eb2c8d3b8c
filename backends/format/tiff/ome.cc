// SPDX-License-Identifier: MIT
#include "backends/format/tiff/ome.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "backends/base/checked.h"
#include "backends/xml/xml.h"
#include "model/number_text.h"

namespace ndlfs::backends::tiff {
namespace {

using model::BadInput;
using model::Result;

constexpr uint64_t kMostPlanes = 200'000;
constexpr size_t kMostImages = 4096;

// The attributes of an element.
class OmeAttributes {
 public:
  explicit OmeAttributes(const XmlElement& element) : element_(element) {}

  std::optional<std::string> Text(std::string_view name) const {
    for (const auto& [key, value] : element_.attributes) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  Result<std::optional<uint64_t>> Count(std::string_view name) const {
    const auto text = Text(name);
    if (!text) return std::nullopt;
    const auto number = model::ParseNumber<uint64_t>(*text);
    if (number) return number;
    return BadInput("OME: {}: expected a number, found {}", name, model::Quote(*text));
  }

 private:
  const XmlElement& element_;
};

// OME has red, green, blue and alpha, a byte each, as one signed number. Other texts are none.
std::optional<uint32_t> ColorOf(const std::string& text) {
  const auto rgba = model::ParseNumber<int32_t>(text);
  return rgba ? std::optional(static_cast<uint32_t>(*rgba) >> 8) : std::nullopt;
}

class OmeReader {
 public:
  Result<void> Add(const XmlElement& element) {
    const OmeAttributes attributes(element);
    if (element.path == "OME/Image/Pixels/TiffData/UUID") {
      uuid_ = element.text;
      file_name_ = attributes.Text("FileName").value_or("");
    } else if (element.path == "OME/Image/Pixels/TiffData") {
      return AddData(attributes);
    } else if (element.path == "OME/Image/Pixels/Channel") {
      image_.channels.push_back(attributes.Text("Name").value_or(""));
      image_.colors.push_back(ColorOf(attributes.Text("Color").value_or("")));
    } else if (element.path == "OME/Image/Pixels") {
      return ReadPixels(attributes);
    } else if (element.path == "OME/Image") {
      image_.name = attributes.Text("Name").value_or("");
      if (file_.images.size() == kMostImages) return model::Limit("OME: too many images");
      file_.images.push_back(std::exchange(image_, {}));
    } else if (element.path == "OME/BinaryOnly") {
      file_.companion = attributes.Text("MetadataFile").value_or("");
    } else if (element.path == "OME") {
      file_.uuid = attributes.Text("UUID").value_or("");
    }
    return {};
  }

  OmeFile Take() && { return std::move(file_); }

 private:
  Result<void> AddData(const OmeAttributes& attributes) {
    OmeTiffData data;
    NDLFS_TRY(const auto directory, attributes.Count("IFD"));
    NDLFS_TRY(const auto z, attributes.Count("FirstZ"));
    NDLFS_TRY(const auto c, attributes.Count("FirstC"));
    NDLFS_TRY(const auto t, attributes.Count("FirstT"));
    NDLFS_TRY(data.count, attributes.Count("PlaneCount"));
    data.has_directory = directory.has_value();
    data.directory = directory.value_or(0);
    data.z = z.value_or(0);
    data.c = c.value_or(0);
    data.t = t.value_or(0);
    data.uuid = std::exchange(uuid_, {});
    data.file_name = std::exchange(file_name_, {});
    if (image_.data.size() == kMostPlanes) return model::Limit("OME: too many planes");
    image_.data.push_back(std::move(data));
    return {};
  }

  Result<void> ReadPixels(const OmeAttributes& attributes) {
    image_.order = attributes.Text("DimensionOrder").value_or("");
    std::string sorted = image_.order.starts_with("XY") ? image_.order.substr(2) : "";
    std::ranges::sort(sorted);
    if (sorted != "CTZ") {
      return BadInput("OME: DimensionOrder: {} is none", model::Quote(image_.order));
    }
    for (const auto& [name, size] :
         {std::pair{"SizeX", &image_.x}, std::pair{"SizeY", &image_.y},
          std::pair{"SizeZ", &image_.z}, std::pair{"SizeC", &image_.c},
          std::pair{"SizeT", &image_.t}}) {
      NDLFS_TRY(const auto count, attributes.Count(name));
      if (!count || *count == 0) return BadInput("OME: {}: expected a positive number", name);
      *size = *count;
    }
    constexpr std::string_view kSizes[] = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ",
                                           "TimeIncrement"};
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      const std::string key(kSizes[i]);
      const auto size = model::ParseNumber<double>(attributes.Text(key).value_or(""));
      if (size && std::isfinite(*size) && *size > 0) image_.spacing[i] = size;
      image_.units[i] = attributes.Text(key + "Unit").value_or(i < 3 ? "\xC2\xB5m" : "s");
    }
    return {};
  }

  OmeFile file_;
  OmeImage image_;
  std::string uuid_, file_name_;  // of the TiffData that is read
};

}  // namespace

bool IsOme(const std::string& description) {
  const size_t root = description.find("<OME");
  return root != description.npos && root < 4096 && description.starts_with('<');
}

Result<OmeFile> ReadOme(const std::string& description) {
  OmeReader reader;
  constexpr size_t kLongestText = size_t{16} << 20;
  NDLFS_RETURN_IF_ERROR(WalkXml(
      description, [&](const XmlElement& element) { return reader.Add(element); },
      kLongestText));
  return std::move(reader).Take();
}

Result<std::vector<std::optional<OmePlane>>> PlanesOf(const OmeImage& image,
                                                      uint64_t channels) {
  const auto count = CheckedProduct(std::array{image.t, channels, image.z});
  if (!count || *count > kMostPlanes) return model::Limit("OME: too many planes");
  std::vector<std::optional<OmePlane>> planes(*count);
  uint64_t left = 2 * kMostPlanes;  // so many may be named, some of them twice
  for (size_t number = 0; number < image.data.size(); ++number) {
    const OmeTiffData& data = image.data[number];
    if (data.z >= image.z || data.c >= channels || data.t >= image.t) {
      return BadInput("OME: the plane ({}, {}, {}) is outside of the image", data.t, data.c,
                      data.z);
    }
    const uint64_t run = data.count.value_or(data.has_directory ? 1 : *count);
    std::array<uint64_t, 3> at = {data.z, data.c, data.t};  // as kDims
    constexpr std::string_view kDims = "ZCT";
    const std::array<uint64_t, 3> sizes = {image.z, channels, image.t};
    for (uint64_t i = 0; i < run; ++i) {
      if (left-- == 0) return model::Limit("OME: too many planes");
      planes[(at[2] * channels + at[1]) * image.z + at[0]] =
          OmePlane{data.directory + i, number};
      // The next plane: the first dimension in the order is the fastest.
      size_t d = 2;
      for (; d < 5; ++d) {
        const size_t which = kDims.find(image.order[d]);
        if (++at[which] < sizes[which]) break;
        at[which] = 0;
      }
      if (d == 5) break;
    }
  }
  return planes;
}

}  // namespace ndlfs::backends::tiff
