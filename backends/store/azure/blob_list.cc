// SPDX-License-Identifier: MIT
#include "backends/store/azure/blob_list.h"

#include <algorithm>
#include <utility>

#include "backends/base/percent_encoding.h"
#include "backends/store/http/http_message.h"
#include "backends/xml/xml.h"

namespace ndlfs::backends::azure {
namespace {

class BlobListReader {
 public:
  explicit BlobListReader(std::string_view prefix) : prefix_(prefix) {}

  model::Result<void> Add(const XmlElement& element) {
    constexpr std::string_view kTop = "EnumerationResults";
    if (!element.path.starts_with(kTop)) return model::BadInput("the answer is not a list");
    std::string_view name = element.path.substr(kTop.size());
    is_complete_ |= name.empty();
    if (name == "/NextMarker") page_.next_token = element.text;
    if (name == "/Blobs/Blob/Name") {
      NDLFS_TRY(blob_.key, NameIn(element));
    }
    if (name == "/Blobs/Blob/Properties/Etag") blob_.etag = element.text;
    if (name == "/Blobs/Blob/Properties/Last-Modified") {
      blob_.modified_ns = ParseHttpDate(element.text).value_or(0);
    }
    if (name == "/Blobs/Blob/Properties/ResourceType") is_folder_ = element.text == "directory";
    if (name == "/Blobs/Blob/Properties/Content-Length") {
      const auto size = ParseDecimal(element.text);
      if (!size) return model::BadInput("a size of {} in a list", model::Quote(element.text));
      blob_.size = *size;
      has_size_ = true;
    }
    if (name == "/Blobs/Blob") return EndBlob();
    if (name == "/Blobs/BlobPrefix/Name") {
      NDLFS_TRY(auto folder, NameIn(element));
      if (!folder.ends_with('/')) folder += '/';
      page_.prefixes.push_back(std::move(folder));
    }
    return {};
  }

  model::Result<object::KeyPage> Take() && {
    if (!is_complete_) return model::BadInput("the answer is not a list");
    return std::move(page_);
  }

 private:
  // Names with characters that XML cannot have are percent-encoded, and say so.
  model::Result<std::string> NameIn(const XmlElement& element) const {
    const bool is_encoded = std::ranges::any_of(element.attributes, [](const auto& attribute) {
      return attribute.first == "Encoded" && attribute.second == "true";
    });
    auto name = is_encoded ? PercentDecode(element.text) : std::string(element.text);
    if (!name || name->empty()) {
      return model::BadInput("the name {} in a list", model::Quote(element.text));
    }
    if (name->starts_with(prefix_)) return *std::move(name);
    return model::BadInput("{} in a list of what begins with {}", model::Quote(*name),
                           model::Quote(prefix_));
  }

  model::Result<void> EndBlob() {
    object::ListedKey blob = std::exchange(blob_, {});
    const bool has_size = std::exchange(has_size_, false);
    const bool is_folder = std::exchange(is_folder_, false);
    if (blob.key.empty()) return model::BadInput("a blob without a name in a list");
    if (is_folder) {
      page_.prefixes.push_back(blob.key.ends_with('/') ? blob.key : blob.key + '/');
      return {};
    }
    if (!has_size) {
      return model::BadInput("the blob {} without a size in a list", model::Quote(blob.key));
    }
    page_.objects.push_back(std::move(blob));
    return {};
  }

  const std::string_view prefix_;
  object::KeyPage page_;
  object::ListedKey blob_;
  bool has_size_ = false;   // of blob_
  bool is_folder_ = false;  // blob_ is one
  bool is_complete_ = false;
};

}  // namespace

std::string ListQuery(std::string_view folder, const PageStart& start, unsigned most_names) {
  std::string query =
      "restype=container&comp=list&delimiter=%2F&maxresults=" + std::to_string(most_names) +
      "&prefix=" + PercentEncode(folder, false);
  if (!start.token.empty()) query += "&marker=" + PercentEncode(start.token, false);
  return query;
}

model::Result<object::KeyPage> ParseBlobList(std::string_view document,
                                             std::string_view prefix) {
  BlobListReader reader(prefix);
  NDLFS_RETURN_IF_ERROR(
      WalkXml(document, [&](const XmlElement& element) { return reader.Add(element); }));
  return std::move(reader).Take();
}

}  // namespace ndlfs::backends::azure
