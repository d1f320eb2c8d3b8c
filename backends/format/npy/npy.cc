// SPDX-License-Identifier: MIT
#include "backends/format/npy/npy.h"

#include <array>
#include <optional>
#include <utility>

#include "backends/format/npy/npy_array.h"
#include "backends/format/npy/npy_header.h"
#include "backends/store/file_name.h"

namespace ndlfs::backends {
namespace {

constexpr std::string_view kNpyExtension = ".npy";

// One array, at "/".
class NpyHierarchy final : public Hierarchy {
 public:
  NpyHierarchy(std::shared_ptr<const Store> store, std::shared_ptr<const Node> array)
      : store_(std::move(store)), array_(std::move(array)) {}

  std::string_view format() const override { return "NPY"; }

  model::Result<std::shared_ptr<const Node>> Load(std::string_view path) const override {
    if (path == "/") return array_;
    return model::NotFound("{}: the file is one array, whose path is /", path);
  }

  model::Result<std::vector<std::string>> List(std::string_view) const override {
    return std::vector<std::string>();
  }

  model::Result<uint64_t> Version(std::string_view) const override {
    NDLFS_TRY(const auto stamp, store_->Stat(""), store_->Describe(""));
    return HashVersions(std::array{stamp});
  }

 private:
  const std::shared_ptr<const Store> store_;
  const std::shared_ptr<const Node> array_;
};

class Npy final : public Format {
 public:
  std::string_view name() const override { return "NPY"; }

  bool ProbeContent(ConstByteSpan head) const override {
    return AsText(head).starts_with(kNpyMagic);
  }
  bool MatchesFileName(std::string_view name) const override {
    return HasExtension(name, kNpyExtension);
  }
  // The name leaves no doubt.
  bool ProbeFile(std::string_view, ConstByteSpan) const override { return true; }

  model::Result<std::shared_ptr<const Hierarchy>> Open(
      std::shared_ptr<const Source> source, const std::string& path,
      const OpenOptions& options) const override {
    const auto store = source->OpenFile(path);
    NDLFS_TRY(
        auto array,
        LoadNpyArray(store, "", StoreNameOf(path, kNpyExtension), FlatAccess::kRandom, options),
        store->Describe(""));
    return std::make_shared<NpyHierarchy>(store, std::move(array));
  }
};

}  // namespace

const Format& NpyFormat() {
  static const Npy format;
  return format;
}

}  // namespace ndlfs::backends
