// SPDX-License-Identifier: MIT
//
// Raster images. Newer files have a group of the class RI0.0 for each, older ones a list of
// elements (RIG), and the oldest ones a size and pixels with one reference. Files may have all
// three of one image.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/format/hdf4/description.h"
#include "backends/format/hdf4/number_type.h"
#include "backends/format/hdf4/vset.h"
#include "backends/store/cancellation.h"

namespace ndlfs::backends::hdf4 {
namespace {

using model::Result;

enum ImageTag : uint16_t {
  kRunLengthTag = 11,
  kImcompTag = 12,
  kJpegTag = 13,
  kGreyJpegTag = 14,
  kJpeg5Tag = 15,
  kGreyJpeg5Tag = 16,
  kOldSizeTag = 200,
  kOldPixelsTag = 202,
  kOldRunLengthsTag = 203,
  kOldImcompTag = 204,
  kSizeTag = 300,
  kPixelsTag = 302,
  kCompressedPixelsTag = 303,
  kImageGroupTag = 306,
};

bool IsPixels(ElementId id) { return id.tag == kPixelsTag || id.tag == kCompressedPixelsTag; }

// How the components of an image lie in the file, unless those of a pixel lie together.
constexpr uint16_t kByLine = 1, kByPlane = 2;

class Images {
 public:
  Images(const Vset& vset, FileInfo& file) : vset_(vset), file_(file) {}

  Result<void> Find() {
    for (const auto& [reference, group] : vset_.groups()) {
      if (group.name != "RIG0.0") continue;
      NDLFS_RETURN_IF_ERROR(AddGroups(group));
      break;
    }
    for (const uint16_t reference : vset_.elements().ReferencesOf(kImageGroupTag)) {
      NDLFS_TRY(const auto members, vset_.Members({kImageGroupTag, reference}));
      NDLFS_RETURN_IF_ERROR(AddImage(members, nullptr));
    }
    for (const uint16_t tag : {kOldPixelsTag, kOldRunLengthsTag, kOldImcompTag}) {
      for (const uint16_t reference : vset_.elements().ReferencesOf(tag)) {
        NDLFS_RETURN_IF_ERROR(AddOldImage({tag, reference}));
      }
    }
    return {};
  }

 private:
  Result<void> AddGroups(const Vgroup& images) {
    for (const ElementId& member : images.members) {
      const Vgroup* image = vset_.Find(member);
      if (image != nullptr && image->class_name == "RI0.0") {
        NDLFS_RETURN_IF_ERROR(vset_.ChargeVisit(*image));
        NDLFS_RETURN_IF_ERROR(AddImage(image->members, image));
      }
    }
    NDLFS_TRY(auto attributes, vset_.Attributes(images.members, Vset::Owner::kImage));
    std::ranges::move(attributes, std::back_inserter(file_.attributes));
    return {};
  }

  // Whether it is the first image with these pixels. Counts it.
  bool IsNew(ElementId pixels) {
    ++number_;
    // All have one place if nothing was written.
    const uint64_t offset = vset_.elements().OffsetOf(pixels).value_or(UINT64_MAX);
    return pixels.reference == 0 || seen_.insert({pixels.reference, offset}).second;
  }

  static void SetShape(uint64_t rows, uint64_t columns, uint64_t components, ArrayInfo& image) {
    image.shape = {rows, columns};
    if (components != 1) image.shape.push_back(components);
    image.dimensions.resize(image.shape.size());
    image.coding.columns = columns;
  }

  // `group`: the image in a newer file, which has a name and attributes.
  Result<void> AddImage(const std::vector<ElementId>& members, const Vgroup* group) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    const auto pixels = std::ranges::find_if(members, IsPixels);
    // Lists have the reference 0 if nothing was written; the group of the image has it, too.
    if (pixels == members.end() || (group == nullptr && pixels->reference == 0)) return {};
    if (!IsNew(*pixels)) return {};
    ArrayInfo image;
    image.name = group != nullptr ? group->name : GeneratedName();
    uint16_t scheme = 0, interlace = 0;
    for (const ElementId& member : members) {
      if (member.tag != kSizeTag) continue;
      NDLFS_TRY(const auto content, vset_.Content(member, 20));
      if (!content) continue;
      BigReader reader(content->span());
      const uint64_t columns = reader.Number(4), rows = reader.Number(4);
      const uint16_t tag = reader.Short();
      NDLFS_TRY(const auto type, vset_.NumberType({tag, reader.Short()}));
      image.number_type = type.value_or(0);
      const uint16_t components = reader.Short();
      SetShape(rows, columns, components, image);
      interlace = reader.Short();
      scheme = reader.Short();
    }
    if (image.shape.empty()) return {};
    if (group != nullptr) {
      NDLFS_TRY(image.attributes, vset_.Attributes(members, Vset::Owner::kImage));
    }
    NDLFS_RETURN_IF_ERROR(FindPixels(*pixels, scheme, image));
    FillPixels(image);
    if (image.shape.size() == 3 && interlace == kByLine) image.order = {0, 2, 1};
    if (image.shape.size() == 3 && interlace == kByPlane) image.order = {2, 0, 1};
    file_.arrays.push_back(std::move(image));
    return {};
  }

  Result<void> AddOldImage(ElementId pixels) {
    NDLFS_RETURN_IF_ERROR(CancellationScope::Check());
    if (!IsNew(pixels)) return {};
    NDLFS_TRY(const auto content, vset_.Content({kOldSizeTag, pixels.reference}, 4));
    if (!content) return {};
    BigReader reader(content->span());
    ArrayInfo image;
    image.name = GeneratedName();
    image.number_type = 21;
    const uint16_t columns = reader.Short();
    SetShape(reader.Short(), columns, 1, image);
    const uint16_t scheme = pixels.tag == kOldRunLengthsTag ? kRunLengthTag
                            : pixels.tag == kOldImcompTag   ? kImcompTag
                                                            : 0;
    NDLFS_RETURN_IF_ERROR(FindPixels(pixels, scheme, image));
    file_.arrays.push_back(std::move(image));
    return {};
  }

  std::string GeneratedName() const { return fmt::format("Raster Image #{}", number_ - 1); }

  // `scheme`: the tag of a coding that images alone have.
  Result<void> FindPixels(ElementId pixels, uint16_t scheme, ArrayInfo& image) {
    const uint64_t columns = image.coding.columns;
    NDLFS_RETURN_IF_ERROR(FindElements(vset_, pixels, image));
    image.coding.columns = columns;
    const bool is_old_jpeg = scheme == kJpegTag || scheme == kGreyJpegTag;
    if (scheme >= kJpegTag && scheme <= kGreyJpeg5Tag) {
      image.coding.kind = Coding::kJpeg;
    } else if (scheme == kRunLengthTag || scheme == kImcompTag) {
      image.coding.kind = scheme;
    } else if (pixels.tag == kCompressedPixelsTag) {
      image.problem = fmt::format("an image that is compressed in way {}", scheme);
    }
    if (is_old_jpeg) {
      // The head of the picture has an element of its own.
      NDLFS_TRY(auto head, Tolerate(vset_.elements().Locate({scheme, pixels.reference})));
      if (head && *head && (*head)->file.empty()) {
        NDLFS_RETURN_IF_ERROR(vset_.elements().Charge((*head)->held_bytes()));
        image.pieces.insert(image.pieces.begin(), (*head)->pieces.begin(),
                            (*head)->pieces.end());
      } else {
        image.problem = "a JPEG picture without its head";
      }
    }
    // The library cuts an image of columns and rows as if it had rows and columns.
    const bool is_square = image.shape[0] == image.shape[1];
    if (!image.chunk.empty() && !is_square) image.problem = "a raster image in chunks";
    return {};
  }

  // The value of elements that were never written.
  static void FillPixels(ArrayInfo& image) {
    const auto type = TypeOf(image.number_type);
    const auto found = std::ranges::find(image.attributes, "FillValue", &AttributeInfo::name);
    if (!type || found == image.attributes.end() || !image.chunk.empty()) return;
    image.fill = found->values.substr(0, type->size());
    if (image.fill.size() < type->size()) image.fill.clear();
    for (size_t at = 0; image.pieces.empty() && at < found->values.size(); at += type->size()) {
      if (found->values.compare(at, type->size(), image.fill) == 0) continue;
      image.problem = "nothing is stored of it, and its fill values differ by component";
    }
  }

  const Vset& vset_;
  FileInfo& file_;
  size_t number_ = 0;                             // of images, with those that come again
  std::set<std::pair<uint16_t, uint64_t>> seen_;  // references and places of pixels
};

}  // namespace

Result<void> FindImages(const Vset& vset, FileInfo& file) { return Images(vset, file).Find(); }

}  // namespace ndlfs::backends::hdf4
